"""How recall, saving and opening grow, what they cost beside the bare thing, and what the one-bit scan misses.

    python benches/speed/run.py [--sizes 100,1000,…] [--only growth,cold,…] [--write]

    growth   open, save and warm recall at every size, all memories in one scope
    scopes   the same with a thousand scopes, asked within one that holds a hundredth of all
    cold     recall by a process of its own
    bits     the one-bit scan against exact cosines
    peers    warm recall of other memories with the same embedder

Stores and vectors are kept in `benches/.cache`; the first run takes an hour for a million memories, of which most
is embedding. Parts that did not run keep what the same day's results say. `--write` puts the tables into
docs/benchmarks.md and the plot into docs/images/growth.svg. The exit code is 1 where a bound is broken.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "peers"))

import bits
import cold
import saves
import stores
import versus
import warm

from common import DOCS, IMAGES, RESULTS, Line, dated, line_plot, machine, table, write_between

PARTS = ("growth", "scopes", "cold", "bits", "peers")
SIZES = (100, 1000, 10_000, 100_000, 1_000_000)
COLD_SIZE = 10_000
BIT_SIZES = (10_000, 100_000)
PEER_SIZES = (1000, 10_000)
OPENINGS = 11
REAL = "vectors of the model up to 100,000 memories, made-up ones beyond"

Results = dict[str, Any]


class Bound(NamedTuple):
    """One thing that must hold: ours is at most so many times the other."""

    what: str
    ours: float
    other: float
    most: float

    @property
    def ratio(self) -> float:
        """How many times."""
        return self.ours / self.other

    @property
    def holds(self) -> bool:
        """Whether it is within its bound."""
        return self.ratio <= self.most


def main() -> None:
    """Measure what was asked for, print it, and keep it."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--sizes", default=",".join(map(str, SIZES)), help="memories, separated by commas")
    options.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas")
    options.add_argument("--write", action="store_true", help="also write docs/benchmarks.md and the plot")
    chosen = options.parse_args()
    parts, sizes = chosen.only.split(","), [int(size) for size in chosen.sizes.split(",")]
    if unknown := set(parts) - set(PARTS):
        raise SystemExit(f"There is no part {min(unknown)!r}; use some of {', '.join(PARTS)}.")
    results = _of_today()
    _measure(results, parts, sizes)
    results["bounds"] = [{**each._asdict(), "ratio": each.ratio, "holds": each.holds} for each in bounds(results)]
    print("\n\n".join(f"{title}\n\n{text}" for title, text in pages(results)))
    dated("speed", results)
    if chosen.write:
        write_between(DOCS / "benchmarks.md", "speed", _markdown(results))
        IMAGES.mkdir(exist_ok=True)
        (IMAGES / "growth.svg").write_text(plot(results))
    sys.exit(any(not each.holds for each in bounds(results)))


def _of_today() -> Results:
    """What was measured today already; a part that runs again replaces its own."""
    path = RESULTS / f"speed-{datetime.now(UTC):%Y-%m-%d}.json"
    kept: Results = json.loads(path.read_text()) if path.exists() else {}
    return {**kept, "machine": machine(), "vectors": REAL, "growth": kept.get("growth", {})}


def _measure(results: Results, parts: Sequence[str], sizes: Sequence[int]) -> None:
    layouts: dict[str, stores.Layout] = {"growth": "one", "scopes": "many"}
    for part, layout in layouts.items():
        for size in sizes if part in parts else ():
            store = stores.store(size, layout)
            results["growth"][f"{layout} {size}"] = {
                "memories": size,
                "layout": layout,
                "asked": store.asked,
                "open": round(cold.opening(store, OPENINGS), 2),
                "save": saves.save(store).told(),
                **warm.ask(store).told(),
            }
            dated("speed", results)  # what was measured is kept, whatever comes after
    if "cold" in parts:
        results["cold"] = cold.ask(stores.store(COLD_SIZE, "one"))._asdict()
    if "bits" in parts:
        results["bits"] = [found._asdict() for count in BIT_SIZES for found in bits.measure(count)]
        for found in results["bits"]:
            found["shares"] = {str(size): share for size, share in found["shares"].items()}
    if "peers" in parts:
        results["peers"] = [row._asdict() for size in PEER_SIZES for row in versus.compare(size)]


def bounds(results: Results) -> Iterator[Bound]:
    """Everything that must hold, of what was measured; of warm recall by the clock, for that is what one waits for.

    What is done on a second core meanwhile is not waited for: the CPU stands beside it in the table of growth.
    """
    growth = results["growth"]

    def waited(name: str) -> float | None:
        return growth[name]["hybrid"]["wall"] if name in growth else None

    small, large, ten, scoped = map(waited, ("one 1000", "one 100000", "one 10000", "many 1000000"))
    if small and large:
        yield Bound("warm recall: 100,000 memories / 1,000", large, small, 3)
    if ten and scoped:
        yield Bound("warm recall: 1,000,000 memories, a scope of 1 % / 10,000 in all", scoped, ten, 3)
    for row in growth.values():
        where = "" if row["layout"] == "one" else ", a scope of 1 %"
        name = f"warm recall / embedding + FTS5 + scan: {row['memories']:,} memories{where}"
        yield Bound(name, row["hybrid"]["wall"], row["bare"]["wall"], 1.5)
    if "cold" in results:
        spent = cold.Cold(**results["cold"])
        yield Bound("engram recall / onnxruntime + model + one embedding", spent.hybrid, spent.model, 1.3)
        yield Bound("engram recall / the same by Engram's loader", spent.hybrid, spent.loader, 1.3)
        yield Bound("engram recall --words / python -c pass", spent.words, spent.python, 8)
    for row in results.get("peers", ()):
        # What only finds the question itself inside a text does other work, and cannot be compared.
        if row["median"] and row["does"] != "keyword" and row["name"] != versus.OURS:
            name = f"warm recall / {row['name']}: {row['size']:,} memories (wall time, by turns)"
            yield Bound(name, row["ours"], row["median"], 1)


def pages(results: Results) -> Iterator[tuple[str, str]]:
    """Every table with its title."""
    if results["growth"]:
        yield "Growth (milliseconds, median and in brackets 95th percentile)", _growth(results["growth"])
    rows = [
        (each.what, f"{each.ours:.2f} ms", f"{each.other:.2f} ms", f"{each.ratio:.2f}", _said(each))
        for each in bounds(results)
    ]
    if rows:
        yield "Bounds", table(("what", "ours", "beside it", "ratio", "bound"), rows)
    if "bits" in results:
        yield "Of the true nearest, the share within a shortlist by one bit", _bits(results["bits"])
    if results.get("peers"):
        yield "Warm recall beside others (milliseconds, median and 95th percentile)", _peers(results["peers"])


def _growth(growth: Results) -> str:
    heads = (
        "memories",
        "asked among",
        "open",
        "save",
        "recall",
        "its CPU / bare",
        "by words",
        "slowest of the first 5",
    )
    rows = sorted(growth.values(), key=lambda row: (row["layout"] != "one", row["memories"]))
    return table(
        heads,
        [
            (
                f"{row['memories']:,}",
                f"{row['asked']:,}" if row["layout"] == "many" else "all",
                f"{row['open']:.1f}",
                _both(row["save"], "wall"),
                _both(row["hybrid"], "wall"),
                f"{row['hybrid']['cpu']:.1f} / {row['bare']['cpu']:.1f}",
                _both(row["words"], "wall"),
                f"{row['settling']:.0f}",
            )
            for row in rows
        ],
    )


def _both(spent: dict[str, float], kind: str) -> str:
    return f"{spent[kind]:.1f} ({spent[kind + '95']:.1f})"


def _bits(found: Sequence[Results]) -> str:
    sizes = list(found[0]["shares"])
    return table(
        ("vectors", "codes", "true first", *(f"{int(size):,}" for size in sizes)),
        [
            (
                f"{row['vectors']:,}",
                row["codes"],
                str(row["first"]),
                *(f"{row['shares'][size]:.4f}" for size in sizes),
            )
            for row in found
        ],
    )


def _peers(rows: Sequence[Results]) -> str:
    return table(
        ("memories", "what", "does", "recall", "of it embedding", "Engram by turns", "note"),
        [
            (
                f"{row['size']:,}",
                f"{row['name']} {row['version']}".strip(),
                row["does"],
                f"{row['median']:.1f} ({row['tail']:.1f})" if row["median"] else "failed",
                f"{row['embedding']:.1f}",
                f"{row['ours']:.1f}",
                row["note"],
            )
            for row in rows
        ],
    )


def _said(bound: Bound) -> str:
    return f"at most {bound.most:g}" + ("" if bound.holds else " — broken")


def _markdown(results: Results) -> str:
    told = "\n\n".join(f"### {title}\n\n{text}" for title, text in pages(results))
    return f"![How recall and saving grow](images/growth.svg)\n\n{told}"


def plot(results: Results) -> str:
    """Recall and saving over the number of memories, both axes logarithmic."""
    series = (
        ("recall", "one", "hybrid", "wall"),
        ("recall by words", "one", "words", "wall"),
        ("recall in a scope of 1 %", "many", "hybrid", "wall"),
        ("save", "one", "save", "wall"),
    )
    lines = []
    for name, layout, what, kind in series:
        rows = sorted(
            (row for row in results["growth"].values() if row["layout"] == layout), key=lambda row: row["memories"]
        )
        if points := [(float(row["memories"]), float(row[what][kind])) for row in rows]:
            lines.append(Line(name, points))
    return line_plot("How it grows", lines, x="memories in the store", y="milliseconds", log_x=True, log_y=True)


if __name__ == "__main__":
    main()
