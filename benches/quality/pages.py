"""Results as a page reads them: Markdown tables for each part, and two plots."""

from typing import Any

from common import DOCS, IMAGES, Bars, Line, Mark, bar_plot, line_plot, table, write_between

TITLES = {"even": "tuning half", "odd": "report half"}
SIX = ("recall@5", "recall@10", "any@5", "any@10", "all@5", "all@10")


def write(results: dict[str, Any]) -> None:
    """Put every part that there is into docs/benchmarks.md, and draw the plots."""
    order = ("locomo", "devmembench", "devbench", "cases", "abstention", "ablation", "peers")
    write_between(
        DOCS / "benchmarks.md",
        "quality",
        "\n\n".join(section(part, results[part], pictures=True) for part in order if part in results),
    )
    IMAGES.mkdir(exist_ok=True)
    if "abstention" in results:
        (IMAGES / "abstention.svg").write_text(abstention_plot(results["abstention"]))
    if "ablation" in results:
        (IMAGES / "ablation.svg").write_text(ablation_plot(results["ablation"]))


def section(part: str, found: dict[str, Any], *, pictures: bool = False) -> str:
    """One part in Markdown."""
    body = {
        "locomo": _locomo,
        "devmembench": _devmembench,
        "devbench": _devbench,
        "cases": _cases,
        "abstention": _abstention,
        "ablation": _ablation,
        "peers": _peers,
    }[part](found)
    if pictures and part in ("abstention", "ablation"):
        body += f"\n\n![{PICTURES[part]}](images/{part}.svg)"
    return body


PICTURES = {
    "abstention": "Share of questions declined by threshold, for answerable questions, those asked of the wrong "
    "conversation, and category 5",
    "ablation": "Change of recall at 5 when a part of the ranking is left out",
}


def _locomo(found: dict[str, Any]) -> str:
    rows, kinds, places, said = [], [], [], []
    for half, of in _halves(found):
        said.append(
            f"{TITLES[half]}: {of['conversations']} conversations, {of['memories']:,} turns, "
            f"{of['questions']} questions, {_percent(of['declined'])} declined"
        )
        for unit, title in (("turns", "turn"), ("sessions", "session"), ("whole sessions", "session saved whole")):
            for mode, scores in of[unit].items():
                if mode != "declined":
                    rows.append([TITLES[half], title, mode, *(scores[measure] for measure in SIX)])
        for kind, scores in of["by category"].items():
            turns = scores["gold turns by place"]
            places.append([TITLES[half], kind, sum(turns.values()), *turns.values(), scores["nothing in ten"]])
            kinds.append(
                [
                    TITLES[half],
                    kind,
                    scores["questions"],
                    *(scores["turns"][measure] for measure in ("recall@5", "recall@10", "any@5")),
                    *(scores["turns, corrected gold"][measure] for measure in ("recall@5", "recall@10")),
                    *(scores["sessions"][measure] for measure in ("recall@5", "recall@10")),
                ]
            )
    heads = ["half", "category", "questions", "turn recall@5", "turn recall@10", "turn any@5"]
    heads += ["corrected recall@5", "corrected recall@10", "session recall@5", "session recall@10"]
    return "\n\n".join(
        (
            "### LoCoMo",
            "Categories 1 to 4, questions with evidence. " + "; ".join(said) + ".",
            table(["half", "unit", "asked", *SIX], rows),
            "By category, as recall comes by default:",
            table(heads, kinds),
            "Where the turns that answer stand, with `weak=True`; the last column counts questions:",
            table(
                ["half", "category", "gold turns", "1-5", "6-10", "11-50", "beyond 50", "nothing in the first ten"],
                places,
            ),
        )
    )


def _devmembench(found: dict[str, Any]) -> str:
    names = ("one memory per session", "one memory per message")
    first = found[names[0]]
    rows = []
    for kind in first:
        row: list[object] = [kind, first[kind]["questions"]]
        for name in names:
            scores = found[name][kind].get("default", {})
            row += [scores.get(measure) for measure in ("any@1", "any@5", "recall@5")]
        rows.append([*row, *(_percent(found[name][kind].get("declined without answer")) for name in names)])
    heads = [
        *("questions about", "with gold", "whole: any@1", "any@5", "recall@5", "by message: any@1", "any@5"),
        *("recall@5", "whole: declined, no answer", "by message"),
    ]
    declined = {name: found[name]["all"]["declined"] for name in names}
    said = (
        "The unit is the session. The last two columns count the questions that have no answer. Of those that "
        f"have one, {_percent(declined[names[0]])} are declined with whole sessions and "
        f"{_percent(declined[names[1]])} by message."
    )
    return "\n\n".join(("### DevMemBench", said, table(heads, rows)))


def _devbench(found: dict[str, Any]) -> str:
    measures = ("any@1", "any@5", "recall@5", "mrr")
    rows = []
    for kind, of in found.items():
        if isinstance(of, dict) and "default" in of:
            rows.append([kind, of["questions"], *(of["default"][measure] for measure in measures)])
    absent = found["all"]["declined without answer"]
    return "\n\n".join(
        (
            "### DevBench",
            f"30 memories with kind and tags. Of the 5 queries without an answer, {_percent(absent)} are declined.",
            table(["queries", "count", *measures], rows),
        )
    )


def _cases(found: dict[str, Any]) -> str:
    measures = ("any@1", "any@5", "mrr")
    rows = []
    for kind, of in found.items():
        if not isinstance(of, dict):
            continue
        if "default" in of:
            scores = [of["default"][measure] for measure in measures]
            rows.append([kind, of["questions"], *scores, _percent(of["declined"])])
        if "declined without answer" in of:
            rows.append([kind, of["without answer"], None, None, None, _percent(of["declined without answer"])])
    return "\n\n".join(
        (
            "### Cases of our own",
            "From `benches/quality/cases`: of what is *absent* all should be declined, of the others none.",
            table(["class", "cases", *measures, "declined"], rows),
        )
    )


def _abstention(found: dict[str, Any]) -> str:
    threshold = found["threshold"]
    names = ("answerable", "wrong conversation", "wrong, renamed", "category 5")
    rows = []
    for half, of in _halves(found):
        for point in of["curve"]:
            if point["threshold"] == threshold or round(point["threshold"] * 100) in (
                2,
                6,
                10,
                14,
                20,
                26,
                30,
                40,
                50,
            ):
                chosen = (
                    f"**{point['threshold']:g}**" if point["threshold"] == threshold else f"{point['threshold']:g}"
                )
                rows.append([TITLES[half], chosen, *(_percent(point[name]) for name in names)])
    really = "; ".join(
        f"{TITLES[half]}: "
        + ", ".join(f"{_percent(of['declined'][name])} of {of['questions'][name]} {name}" for name in names)
        + f" ({_percent(of['declined wrongly though found'])} of the answerable had an answer among the first five)"
        for half, of in _halves(found)
    )
    said = (
        f"Share of questions declined by threshold of relevance; {threshold:g} is in use. "
        "*Wrong, renamed* asks the wrong conversation with the names of its own speakers put into the question, so "
        "that no unknown name gives it away. "
        f"Really declined by recall as it comes: {really}."
    )
    heads = ["half", "threshold", *(f"{name} declined" for name in names)]
    return "\n\n".join(("### Abstention", said, table(heads, rows)))


def _ablation(found: dict[str, Any]) -> str:
    rows = []
    for row in found["rows"]:
        cells: list[object] = [row["name"]]
        for half in ("even", "odd"):
            of = row.get(half)
            for unit in ("turns", "sessions"):
                cells += [of[unit]["recall@5"], of[unit]["recall@10"]] if of else [None, None]
        rows.append([*cells, row["cases"]["any@1"]])
    heads = ["ranking"]
    for title in ("tuning", "report"):
        heads += [f"{title}: turns @5", "@10", "sessions @5", "@10"]
    said = (
        "recall@5 and @10 of LoCoMo with `weak=True`, and any@1 over our own cases. Reciprocal rank fusion (RRF) "
        "joins the same two lists by place and uses nothing else. The last rows are the other embedding models, "
        "everything else as it is."
    )
    return "\n\n".join(("### What each part is worth", said, table([*heads, "cases any@1"], rows)))


def _peers(found: dict[str, Any]) -> str:
    parts = ["### Beside others"]
    for half, of in _halves(found):
        rows = []
        for row in of["rows"]:
            name = f"{row['name']} {row.get('version', '')}".strip()
            if "failed" in row:
                rows.append([name, row["does"], None, None, None, "", "", row["failed"]])
                continue
            duel = row.get("against", {})
            rows.append(
                [
                    name,
                    row["does"],
                    *row["all"].values(),
                    duel.get("only Engram", ""),
                    duel.get("only the peer", ""),
                    row["note"],
                ]
            )
        heads = ["system", "does", "recall@5", "recall@10", "any@5", "only Engram", "only it", "note"]
        losses = "\n".join(f"- {loss}" for loss in of["losses"]) or "- nowhere in these measures"
        said = (
            f"LoCoMo turns, {TITLES[half]}, {of['questions']} questions, all with the same embedder. All are given "
            "the session and the time of each turn; only Engram ranks by them. *only Engram* counts the questions "
            "of which Engram has an answer among its first five and the peer has none; *only it* the reverse."
        )
        parts += [
            said,
            table(heads, rows),
            f"Where Engram (as it comes) is behind, over all or in a category:\n\n{losses}",
        ]
    return "\n\n".join(parts)


def abstention_plot(found: dict[str, Any]) -> str:
    """The curve of the report half, and of the tuning half where that is all there is."""
    half = "odd" if "odd" in found else "even"
    curve = found[half]["curve"]
    names = {
        "answerable": "answerable",
        "wrong conversation": "wrong conversation",
        "wrong, renamed": "wrong, with known names",
        "category 5": "category 5: on topic",
    }
    lines = [Line(title, [(point["threshold"], point[name]) for point in curve]) for name, title in names.items()]
    return line_plot(
        f"Questions declined by threshold (LoCoMo, {TITLES[half]})",
        lines,
        x="threshold of relevance",
        y="declined",
        marks=[Mark(found["threshold"], f"in use: {found['threshold']:g}")],
        percent=True,
    )


def ablation_plot(found: dict[str, Any]) -> str:
    """What recall@5 of turns and sessions loses in points, on the half that nothing was chosen on."""
    half = "odd" if "odd" in found["rows"][0] else "even"
    whole, *rows = [row for row in found["rows"] if half in row]
    series = [
        Bars(
            f"{unit}, recall@5",
            [100 * (row[half][unit]["recall@5"] - whole[half][unit]["recall@5"]) for row in rows],
        )
        for unit in ("turns", "sessions")
    ]
    return bar_plot(
        f"What recall@5 changes by, in points (LoCoMo, {TITLES[half]})",
        [row["name"] for row in rows],
        series,
        x="points against recall as it is",
        digits=1,
    )


def _halves(found: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [(half, found[half]) for half in TITLES if half in found]


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value * 100:.1f} %"
