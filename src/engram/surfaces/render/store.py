"""Answers about a store as a whole in words for a person: checks, counts, erasures, copies, imports and models."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from engram.model import answers_store as a
from engram.surfaces.render.paper import WIDEST_ROW, Paper, count, counts, hanging, table


def _receipt(answer: a.Receipt, paper: Paper) -> Iterator[str]:
    yield f"{paper.good('✓')} Purged {', '.join(answer.handles or answer.erased)}"
    short = "not looked for: it is too short to be told from others"
    found = {None: short, 0: "none in the raw files of the store"}.get(answer.traces)
    yield f"  Traces left: {found or paper.bad(f'{answer.traces} found')}"
    yield from (paper.warn(f"  {place}") for place in answer.places)
    if answer.traces and not answer.places:
        yield paper.says("  Close other processes that use the store, then engram doctor --fix")
    if answer.assets:
        yield f"  {count(answer.assets, 'attachment')} went with it"
    yield f"  Receipt: event {answer.event}, {answer.event_id}"
    yield paper.dim(f"  {answer.note}")


FEW = 5
"""Memories that are shown of what ails many."""


def _hygiene(answer: a.Hygiene, paper: Paper) -> Iterator[str]:
    form = f" ({answer.form})" if answer.form else ""
    rate = f"{answer.junk_rate:.1%} junk ({answer.junk:,} of {answer.in_use:,} in use or waiting)"
    sign = paper.warn("!") if answer.rows else paper.good("✓")
    memories = count(answer.memories, "memory", "memories")
    yield f"{sign} Looked at {memories} of {answer.store}{form}: {rate}"
    for row in answer.rows:
        sorts = f" ({counts(answer.secrets)})" if row.name == "secrets" else ""
        yield f"  {row.name:<15}{row.count:>7,}  {row.about}{sorts}"
        yield from (paper.dim(f"    {example}") for example in row.examples[:FEW])
        if row.count > FEW < len(row.examples):
            yield paper.dim(f"    and {row.count - FEW:,} more")
        if row.mend:
            yield paper.dim(f"    Mend it: {row.mend}")
    yield from (paper.warn(f"  {problem}") for problem in answer.problems)
    if answer.hint:
        yield paper.says(f"  {answer.hint}")
    yield paper.dim("  Junk is what nobody would miss: repeats, near repeats, recall loops and empty words.")


def _scrubbed(answer: a.Scrubbed, paper: Paper) -> Iterator[str]:
    if not (answer.memories or answer.sessions or answer.remains):
        sign, but = (paper.warn("!"), " that can be taken out") if answer.places else (paper.good("✓"), "")
        yield f"{sign} Nothing that is stored holds a secret{but}."
        yield from (paper.warn(f"  {place}") for place in answer.places)
        return
    verb = "Would scrub" if answer.dry_run else "Scrubbed"
    yield f"{paper.good('✓')} {verb} {_scrubbed_what(answer)}: {counts(answer.removed)}"
    for row in answer.memories:
        became = f" → {row.copy}" if row.copy else "" if answer.dry_run else " → nothing was left"
        yield f"  {row.memory}{became}  {', '.join(dict.fromkeys(row.removed))}"
    for row in answer.sessions:
        became = "" if row.copy or answer.dry_run else " → nothing was left"
        yield f"  session {row.memory}{became}  {', '.join(dict.fromkeys(row.removed))}"
    if answer.remains:
        gone = count(answer.remains, "that was gone already", "that were gone already")
        yield f"  And what history told of {gone}."
    if answer.dry_run:
        yield from (paper.warn(f"  {place}") for place in answer.places)
        yield paper.way("  Do it, for good: engram scrub --confirm")
        return
    left = paper.bad(f"{answer.traces} found") if answer.traces else "none in the raw files of the store"
    yield f"  Traces left: {left}"
    yield from (paper.warn(f"  {place}") for place in answer.places)
    yield paper.dim(f"  {answer.note}")


def _scrubbed_what(answer: a.Scrubbed) -> str:
    parts = [count(len(answer.memories), "memory", "memories")] if answer.memories or not answer.sessions else []
    parts += [count(len(answer.sessions), "session")] if answer.sessions else []
    return " and ".join(parts)


def _stats(answer: a.Stats, paper: Paper) -> Iterator[str]:
    memories, events = count(answer.memories, "memory", "memories"), count(answer.events, "event")
    yield f"{paper.bold(memories)} in {answer.store}, {events}"
    yield from hanging("  by standing  ", counts(answer.standings) or "none", paper)
    yield from hanging("  live kinds   ", counts(answer.kinds) or "none", paper)
    yield from hanging("  live scopes  ", counts(answer.scopes) or "none", paper)
    yield f"  live text    {answer.tokens:,} tokens (estimate)"
    if answer.insights:
        yield f"  beside them  {count(answer.insights, 'insight')}"


def _report(answer: a.Report, paper: Paper) -> Iterator[str]:
    for finding in answer.findings:
        sign = {"error": paper.bad("✗"), "warning": paper.warn("!")}.get(finding.severity, paper.dim("·"))
        yield f"{sign} {finding.message} {paper.dim(finding.hint)}".rstrip()
    warned = sum(finding.severity == "warning" for finding in answer.findings)
    if answer.healthy and warned:
        yield f"{paper.warn('!')} Nothing is broken, but look at {'what stands' if warned == 1 else 'those'} above."
    elif answer.healthy:
        yield f"{paper.good('✓')} Healthy: the files, the records, the index and the history agree."
    if answer.tallies:
        yield f"  {agreement(answer.tallies)}"
    yield paper.dim("  " + " · ".join(f"{name} {value}" for name, value in answer.facts.items()))


def agreement(tallies: Mapping[str, int]) -> str:
    """What each part of a store has, with what they are to the one before: "rows 12 = full text 12 ≠ vectors 9"."""
    told, before = "", None
    for name, number in tallies.items():
        sign = "" if before is None else " = " if number == before else " ≠ "
        told, before = f"{told}{sign}{name.replace('_', ' ')} {number:,}", number
    return told


def _exported(answer: a.Exported, paper: Paper) -> Iterator[str]:
    if answer.path == "-":
        return
    more = [
        count(number, word)
        for number, word in ((answer.sessions, "session"), (answer.relations, "relation"))
        if number
    ]
    with_them = f", with {' and '.join(more)}" if more else ""
    memories = count(answer.memories, "memory", "memories")
    yield f"{paper.good('✓')} Wrote {memories} to {answer.path}{with_them}"
    if answer.dropped:
        yield f"  No place in this form for: {counts(answer.dropped)}"
    for problem in answer.problems:
        yield paper.warn(f"  {problem}")
    yield paper.dim(f"  sha256 {answer.sha256}")
    if answer.hint:
        yield paper.dim(f"  {answer.hint}")


def _backed_up(answer: a.BackedUp, paper: Paper) -> Iterator[str]:
    yield f"{paper.good('✓')} Wrote a backup to {answer.path} ({answer.bytes:,} bytes): {counts(answer.counts)}"
    yield paper.way(f"  Look whether it is whole: engram backup verify {answer.path}")


def _backup_report(answer: a.BackupReport, paper: Paper) -> Iterator[str]:
    for finding in answer.findings:
        yield f"{paper.bad('✗') if finding.severity == 'error' else paper.warn('!')} {finding.message}"
    if answer.healthy:
        store = "has what stands above" if answer.findings else "is healthy"
        yield f"{paper.good('✓')} Whole: every file is as it was written, and the store in it {store}."
    made = f"{answer.made_at:%Y-%m-%d %H:%M} UTC by engram {answer.version}"
    yield paper.dim(f"  {answer.engine} · made {made} · {counts(answer.counts)}")


def _backup_restored(answer: a.BackupRestored, paper: Paper) -> Iterator[str]:
    made = f"{answer.made_at:%Y-%m-%d %H:%M} UTC"
    yield f"{paper.good('✓')} {answer.store} is the store of {made} now: {counts(answer.counts)}"
    if answer.kept:
        yield paper.dim(f"  What was there is kept: {answer.kept}")


def _imported(answer: a.Imported, paper: Paper) -> Iterator[str]:
    file = "standard input" if answer.path == "-" else answer.path
    form = f" ({answer.form})" if answer.form else ""
    new = answer.sessions or answer.relations or answer.outcomes.keys() - {"known", "skipped"}
    found = answer.outcomes or new
    sign, verb = paper.good("✓") if found else paper.warn("·"), "Would take in" if answer.dry_run else "Took in"
    if found and not new:
        sign, verb = paper.good("="), "Nothing is new in"
    yield f"{sign} {verb} {file}{form}: {counts(answer.outcomes) or 'no memory'}"
    if not found and not answer.problems:
        yield paper.way(
            "  Nothing in it reads as that form: it is empty, or of another. Without --form it is looked at."
        )
    if answer.preview:
        lines = [[each.outcome, each.kind, each.text] for each in answer.preview]
        yield from table(lines, paper, last=min(paper.width, WIDEST_ROW))
    beside = {
        "session" if answer.sessions == 1 else "sessions": answer.sessions,
        "relation" if answer.relations == 1 else "relations": answer.relations,
    }
    rows = {
        "kinds": answer.kinds,
        "scopes": answer.scopes,
        "beside": {name: number for name, number in beside.items() if number},
        "taken out": answer.redacted,
        "no place for": answer.dropped,
        "problems": answer.faults,
    }
    for name, numbers in rows.items():
        if numbers:
            yield f"  {name:<13}{counts(numbers)}"
    for problem in answer.problems:
        yield paper.warn(f"  {problem}")
    if answer.hint:
        yield paper.dim(f"  {answer.hint}")
    if answer.batch and answer.outcomes.keys() & {"held", "proposed"}:
        yield paper.way("  Decide about what waits: engram review.")
    if answer.batch:
        yield paper.way(f"  Take it all back: engram undo {answer.event or answer.batch}")


def _kinds(answer: a.Kinds, paper: Paper) -> Iterator[str]:
    care = {1: "unless it conflicts", 2: "unless it conflicts", 3: "when a person confirms"}
    lines = [[row.name, care[row.tier], row.decay, row.recall.replace("_", " "), row.about] for row in answer.kinds]
    yield from table([["kind", "goes live", "fresh for", "recalled", ""], *lines], paper)


def _models(answer: a.Models, paper: Paper) -> Iterator[str]:
    lines = [
        [
            row.name,
            row.state,
            f"{row.dim}",
            f"{row.size / 1e6:.0f} MB",
            row.licence,
            "default" if row.default else "",
        ]
        for row in answer.models
    ]
    yield from table([["model", "state", "dimensions", "size", "licence", ""], *lines], paper)
    missing = any(row.state != "ready" and answer.embedder.startswith(f"{row.name}/") for row in answer.models)
    yield f"{'Chosen, and not here' if missing else 'In use'}: {answer.embedder or 'none, words alone'}"
    lacking = f", {count(answer.lacking, 'memory lacks', 'memories lack')} one" if answer.lacking else ""
    yield f"Vectors in the store: {answer.vectors or 'none yet'}{'' if answer.coming else lacking}"
    if answer.coming:
        yield f"On its way: {answer.coming}{lacking}"
    if answer.hint:
        yield paper.dim(answer.hint)


def _reembedded(answer: a.Reembedded, paper: Paper) -> Iterator[str]:
    left = f"; {count(answer.remaining, 'other lacks', 'others lack')} one still" if answer.remaining else ""
    yield f"{paper.good('✓')} {count(answer.memories, 'memory', 'memories')} got a vector of {answer.model}{left}."


def _reindexed(answer: a.Reindexed, paper: Paper) -> Iterator[str]:
    if not answer.index:
        yield "= There is no index beside this store."
        yield paper.way("Name one: ENGRAM_INDEX=qdrant://HOST engram reindex.")
        return
    yield f"{paper.good('✓')} {answer.index} is up to date with {count(answer.events, 'event')}."


RENDERERS: dict[type, Callable[[Any, Paper], Iterator[str]]] = {
    a.Receipt: _receipt,
    a.Hygiene: _hygiene,
    a.Scrubbed: _scrubbed,
    a.Stats: _stats,
    a.Report: _report,
    a.Exported: _exported,
    a.BackedUp: _backed_up,
    a.BackupReport: _backup_report,
    a.BackupRestored: _backup_restored,
    a.Imported: _imported,
    a.Kinds: _kinds,
    a.Models: _models,
    a.Reembedded: _reembedded,
    a.Reindexed: _reindexed,
}
