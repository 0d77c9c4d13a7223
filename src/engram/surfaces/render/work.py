"""Answers about work in words for a person: sessions, what was captured, relations, projects and what waits."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from engram.model import answers_work as a
from engram.model.answers import Timeline
from engram.model.evidence import BROKEN, Check
from engram.model.relation import judging
from engram.model.session import Session
from engram.surfaces.render.paper import Paper, ago, count, cut, few, plain, rows, table

MOST_SHOWN = 10
"""How many proposals an answer shows before it counts the rest."""

HELD = {
    "curated_kind": "this kind is curated: a person approves it first",
    "conflict": "it contradicts something known",
    "edits_curated_node": "it would change what a person wrote or approved",
    "unmerged_branch": "it was made on a branch that is not merged",
    "untrusted_origin": "it comes from outside: a person decides whether it holds",
    "review_all": "every memory is reviewed here",
    "deleted_branch": "its branch was deleted, and no commit of its own was merged",
    "forgotten_before": "a person forgot it before",
}
"""The reason why a memory is held → what a person reads."""


def _began(answer: a.Began, paper: Paper) -> Iterator[str]:
    words = "goes on" if answer.resumed else "began"
    name = paper.bold(answer.session.name)
    yield f"{paper.good('✓')} Session {name} {words}  {paper.dim(_place(answer.session))}"
    if answer.hint:
        yield paper.dim(f"  {answer.hint}")


def _ended(answer: a.Ended, paper: Paper) -> Iterator[str]:
    if answer.session:
        began = ago(answer.session.started_at, answer.at)
        yield f"{paper.good('✓')} Session {paper.bold(answer.session.name)} ended; it began {began}"
    else:
        yield f"{paper.good('✓')} No session was under way; what was said is kept"
    if answer.summary:
        yield f"  {paper.bold(answer.summary.handle)}  {cut(answer.summary.text, paper.width - 14)}"
    else:
        yield paper.way("  Nothing was said about it: --summary keeps what was done for the next one.")


def _session_list(answer: a.SessionList, paper: Paper) -> Iterator[str]:
    lines = [
        [
            one.name,
            one.agent or "-",
            ago(one.started_at, answer.at),
            "under way" if one.ended_at is None else f"ended {ago(one.ended_at, answer.at)}",
            _place(one),
        ]
        for one in answer.sessions
    ]
    yield from table(lines, paper)
    if not lines:
        yield paper.says("No session here. Every one there is: engram session list --everywhere")
    if answer.hint:
        yield answer.hint
    if answer.next:
        yield paper.way(f"There is more: add --after {answer.next}")


def _place(session: Session) -> str:
    where = [str(session.scope), session.context.branch, session.context.base_dir]
    return " · ".join(part for part in where if part)


def timeline(answer: Timeline, paper: Paper) -> Iterator[str]:
    """What was remembered around a memory, itself in the middle."""
    where = f"session {answer.session.name}" if answer.session else str(answer.memory.scope)
    yield paper.dim(f"Around {answer.memory.handle} in {where}, oldest first:")
    lines = list(rows((*answer.before, answer.memory, *answer.after), answer.at, paper))
    for number, line in enumerate(lines):
        yield f"{'▸' if number == len(answer.before) else ' '} {line}"


def _captured(answer: a.Captured, paper: Paper) -> Iterator[str]:
    if not answer.extracted and not answer.problems:
        yield "Nothing to capture: there is no list under a heading `## Key learnings`."
        return
    known = f", {answer.repeated} known already" if answer.repeated else ""
    found = count(answer.extracted, "learning")
    sign = paper.good("✓") if answer.extracted else paper.warn("·")
    yield f"{sign} {found}: {len(answer.memories)} new{known}"
    yield from (f"  {line}" for line in rows(answer.memories, answer.at, paper))
    for problem in answer.problems:
        yield paper.warn(f"  {problem}")


def _harvested(answer: a.Harvested, paper: Paper) -> Iterator[str]:
    if not (answer.files or answer.problems or answer.skipped.keys() - {"unknown"}):
        unknown = answer.skipped.get("unknown", 0)
        others = f"; {count(unknown, 'file')} of another form passed over" if unknown else ""
        yield f"{paper.warn('·')} No transcript was found{others}."
        return
    verb = "Would propose" if answer.dry_run else "Proposed"
    read = f"{count(answer.turns, 'turn')} of {count(answer.files, 'transcript')}"
    known = f", {answer.repeated} known already" if answer.repeated else ""
    yield f"{paper.good('✓')} {verb} {len(answer.proposed)} from {read}{known}"
    yield from (f"  {line}" for line in rows(answer.proposed[:MOST_SHOWN], answer.at, paper))
    if (more := len(answer.proposed) - MOST_SHOWN) > 0:
        yield paper.dim(f"  and {more} more")
    if answer.skipped:
        yield paper.dim("  Passed over: " + ", ".join(f"{number} {why}" for why, number in answer.skipped.items()))
    yield from (paper.warn(f"  {problem}") for problem in answer.problems)
    if answer.dry_run:
        yield paper.dim(f"  About {answer.tokens:,} tokens. Nothing was kept.")
    elif answer.proposed:
        yield paper.way(f"  Decide about them: engram review. Take it all back: engram undo {answer.batch}")


def _suggested(answer: a.Suggested, paper: Paper) -> Iterator[str]:
    yield answer.key
    if answer.held_by:
        yield paper.dim(f"  {answer.held_by.handle} holds it: {cut(answer.held_by.text, paper.width - 20)}")


def _related(answer: a.Related, paper: Paper) -> Iterator[str]:
    relation = answer.relation
    by_id = {one.id: one for one in answer.memories}
    first, second = (by_id[id].handle if id in by_id else id[:13] for id in (relation.from_id, relation.to_id))
    proposed = relation.status == "proposed"
    sign, words = (paper.warn("◷"), "Proposed: ") if proposed else (paper.good("✓"), "")
    yield f"{sign} {words}{paper.bold(first)} {BEARS[relation.kind][0]} {paper.bold(second)}"
    if relation.reason:
        yield f"  {cut(relation.reason, paper.width - 2)}"
    if answer.hint:
        yield paper.dim(f"  {answer.hint}")
    yield paper.back(answer.event)


BEARS = {
    "related": ("is related to", "may be related to"),
    "compatible": ("is compatible with", "may be compatible with"),
    "scoped": ("holds in another case than", "may hold in another case than"),
    "conflicts": ("conflicts with", "may conflict with"),
    "supersedes": ("supersedes", "may supersede"),
    "unrelated": ("has nothing to do with", "may have nothing to do with"),
}
"""How one memory bears on another, as it was judged and as it is suspected."""


def _of_a_pair(pair: a.Pair) -> str:
    """What is said of a pair, as a sentence."""
    first, second = pair.first.handle, pair.second.handle
    judged, suspected = BEARS[pair.kind]
    if pair.status == "held":
        then = f"; promoted, it {judged} it" if pair.kind == "supersedes" else ""
        return f"{first} waits for review: it contradicts {second}{then}"
    if pair.status == "none":
        return f"nothing was said of {first} and {second} yet"
    if pair.status == "ignored":
        return f"set aside: {first} {suspected} {second}"
    return f"{pair.status}: {first} {judged if pair.status == 'judged' else suspected} {second}"


def _conflicts(answer: a.Conflicts, paper: Paper) -> Iterator[str]:
    would = "would be " if answer.dry_run else ""
    was = "would be" if answer.dry_run else "was"
    if answer.scanned:
        compared = count(answer.scanned, "memory", "memories")
        yield f"{paper.good('✓')} {compared} compared, {count(answer.proposed, 'pair')} {would}proposed"
    if answer.asked or answer.tokens:
        cost = f"at most {answer.tokens:,} tokens" if answer.dry_run else f"{answer.tokens:,} tokens"
        yield f"{paper.good('✓')} The model {was} asked about {count(answer.asked, 'pair')}, {cost}"
    if answer.ignored:
        yield f"{paper.good('✓')} {paper.bold(answer.ignored)} {was} set aside: nobody is asked about it again"
    for each in answer.pairs:
        model = f", says {each.model}" if each.model else ""
        sure = f" ({each.confidence:.2f})" if each.confidence else ""
        said = f"{_of_a_pair(each)}{model}{sure}"
        yield f"{paper.bold(each.pair)}  {paper.dim(said)}  {cut(each.why, max(paper.width - 70, 20))}"
        for one in (each.first, each.second):
            yield f"  {one.handle}  {cut(one.gist, paper.width - 14)}"
    if not answer.pairs:
        nothing = NOTHING_FOUND if answer.scanned else paper.says(NOTHING_OPEN)
        yield "Nothing was settled yet." if answer.settled else nothing
    yield from (paper.warn(problem) for problem in answer.problems)
    yield from (paper.way(line) for line in _what_next(answer))


NOTHING_OPEN = (
    "Nothing is known that may not hold together. Look through everything, and by meaning: engram conflicts --scan"
)
NOTHING_FOUND = "Nothing is known that may not hold together."


def _what_next(answer: a.Conflicts) -> Iterator[str]:
    held = [each for each in answer.pairs if each.status == "held"]
    if held:
        waits, other = held[0].first.handle, held[0].second.handle
        yield f"Decide what is held. To replace {other}: engram promote {waits}"
        yield f"To keep both: engram promote {waits} --keep"
        yield f"To keep {other} alone: engram reject {waits}"
    open_ = [each for each in answer.pairs if each.status in ("open", "proposed", "judged", "none")]
    if open_ and not answer.settled:
        yield f"Judge one: {judging(open_[0].pair)}"
    aside = [each.pair for each in (*open_, *held) if each.status != "judged"]
    if aside and not answer.settled:
        yield f"Set one aside: engram conflicts --ignore {aside[0]}"
    if answer.next:
        yield f"There is more: add --after {answer.next}"
    if answer.rest:
        yield f"There is more to compare: engram conflicts --scan --after {answer.rest}"
    if answer.batch:
        yield f"Take it back: engram undo {answer.event or answer.batch}"


def _relatives(answer: a.Relatives, paper: Paper) -> Iterator[str]:
    lines = [[each.memory.handle, ", ".join(each.edges), each.memory.gist] for each in answer.relatives]
    yield from table(lines, paper)
    if not lines:
        yield f"Nothing has to do with {answer.memory.handle} yet."
    if answer.truncated:
        yield paper.way("There is more: --limit")


def _projects(answer: a.Projects, paper: Paper) -> Iterator[str]:
    lines = [
        [
            f"{'▸' if one.name == answer.current else ' '} {one.name}",
            one.alias if one.alias != one.name else "",
            count(one.memories, "memory", "memories"),
            count(one.sessions, "session"),
            ago(one.latest, answer.at) if one.latest else "",
        ]
        for one in answer.projects
    ]
    yield from table(lines, paper)
    if not lines:
        yield "No project holds anything yet."


def _merged(answer: a.Merged, paper: Paper) -> Iterator[str]:
    done = bool(answer.event)
    verb = {"merge": ("Would merge", "Merged"), "rename": ("Would rename", "Renamed")}[answer.action][done]
    sign = paper.good("✓") if done else paper.dim("·")
    what = f"{count(answer.memories, 'memory', 'memories')}, {count(answer.sessions, 'session')}"
    yield f"{sign} {verb} {', '.join(answer.sources)} into {paper.bold(answer.into)}: {what}"
    told = {
        "said on both sides, told once from now on": answer.repeated,
        "under a key of both sides, where the last word stays": answer.replaced,
        "rejected on one side, so they wait for review": answer.held,
        "of other owners, which stay where they are": answer.left,
    }
    yield from (f"  {number} {words}" for words, number in told.items() if number)
    if answer.hint:
        yield paper.dim(f"  {answer.hint}")


ROUTES = {
    **HELD,
    "low_risk": "low risk",
    "no_conflict": "contradicts nothing",
    "expired": "it no longer holds",
    "stale": "it is out of date: promote it if it still holds",
    "already_known": "it is known already",
    "rejected_before": "the same was rejected before",
    "nothing_to_amend": "what it would change is gone",
    "one_at_a_time": "another change to the same memory goes first",
}
"""The reason of a route → what a person reads."""


def _route(route: a.Route, paper: Paper, replaces: Sequence[str] = ()) -> list[str]:
    other = f" ({route.other.handle})" if route.other and route.other.handle not in replaces else ""
    other += f"; it would replace {', '.join(few([*replaces]))}" if replaces else ""
    memory = route.memory
    return [
        route.action,
        memory.handle,
        memory.kind,
        f"{ROUTES[route.reason]}{other}",
        cut(memory.text, paper.width),
    ]


def _routed(answer: a.Routed, paper: Paper) -> Iterator[str]:
    if not answer.routes:
        yield "Nothing waits."
    yield from table([_route(route, paper) for route in answer.routes], paper)
    told = ", ".join(f"{number} {action}" for action, number in answer.counts.items() if number)
    if told:
        yield f"{paper.good('✓')} Done: {told}" if answer.applied else f"{paper.dim('·')} Planned: {told}"
    if answer.event:
        yield paper.back(answer.event)
    for each in answer.drift:
        yield from map(plain, each.diff.split("\n"))
        yield ""
    written = set(answer.refreshed)
    for each in answer.drift:
        yield f"{'Brought' if each.path in written else 'To be brought'} up to date: {each.path}"
    yield from (paper.warn(f"  {problem}") for problem in answer.problems)
    if answer.hint:
        yield paper.dim(f"  {answer.hint}")


def _queue(answer: a.Queue, paper: Paper) -> Iterator[str]:
    if not answer.candidates:
        yield "Nothing waits for a person."
    routes = [_route(route, paper, answer.replaces.get(route.memory.id, ()))[1:] for route in answer.candidates]
    yield from table(routes, paper)
    if answer.total > len(answer.candidates):
        yield paper.way(f"{answer.total - len(answer.candidates)} more: --limit")
    if any(not route.memory.staged for route in answer.candidates):
        yield paper.way("  Decide about them: engram review.")
    if answer.hint:
        yield paper.dim(f"  {answer.hint}")


def verdicts(checks: Sequence[Check], paper: Paper, *, every: bool = False) -> Iterator[str]:
    """What became of citations, a line each; of those that are as they were only where every one is asked for."""
    for check in checks:
        if check.verdict in ("fresh", "unreachable") and not every:
            continue
        shown = paper.good(check.said) if check.verdict == "fresh" else paper.warn(plain(check.said))
        yield f"   {plain(check.cite)} is {shown}"
        yield from (f"     {plain(line)}" for line in check.diff.splitlines())


def _evidenced(answer: a.Evidenced, paper: Paper) -> Iterator[str]:
    lines = [
        [row.memory.handle, check.verdict, check.cite, check.said.removeprefix(check.verdict).lstrip(",: ")]
        for row in answer.memories
        for check in row.evidence
        if check.verdict != "fresh"
    ]
    yield from table([[*map(plain, line)] for line in lines], paper)
    told = ", ".join(f"{number} {verdict}" for verdict, number in answer.counts.items() if number)
    since = f" about files changed since {plain(answer.since)}" if answer.since else ""
    number = count(sum(answer.counts.values()), "citation")
    broken = sum(answer.counts.get(verdict, 0) for verdict in BROKEN)
    sign = paper.bad("✗") if answer.failed else paper.warn("!") if broken else paper.good("✓")
    yield f"{sign} {number} of {count(len(answer.memories), 'memory', 'memories')}{since}{told and f': {told}'}"
    if answer.hint:
        yield paper.dim(f"  {answer.hint}")


def _cited(answer: a.Cited, paper: Paper) -> Iterator[str]:
    place = plain(f"{answer.file}:{answer.locator}" if answer.locator else answer.file)
    if not answer.memories:
        yield f"No memory cites {place}."
    for row in answer.memories:
        text = cut(row.memory.gist, paper.width - 16)
        yield f"{paper.bold(row.memory.handle)}  {paper.dim(row.memory.kind)}  {text}"
        yield from verdicts(row.evidence, paper, every=True)
        if told := answer.marks.get(row.memory.id):
            yield f"  {paper.warn(', '.join(told))}"
    if answer.hint:
        yield answer.hint


def _settled(answer: a.Settled, paper: Paper) -> Iterator[str]:
    done = ("Would bring in", "Would hold for review") if answer.dry_run else ("Brought in", "Held for review")
    for words, memories in zip(done, (answer.promoted, answer.held), strict=True):
        for memory in memories:
            text = cut(memory.gist, paper.width - 30)
            yield f"{paper.good('✓')} {words} {paper.bold(memory.handle)}  {text}"
            for other in (one for one in answer.replaced if one.replaced_by == memory.id):
                yield f"  It replaces {paper.bold(other.handle)}: {cut(other.text, paper.width - 30)}"
    if not answer.promoted and not answer.held:
        yield "Nothing to settle."
    if answer.waiting:
        waits = count(answer.waiting, "memory waits", "memories wait")
        yield paper.dim(f"  {waits} on branches of which no commit is merged")
    if answer.elsewhere:
        yield paper.dim(f"  {count(answer.elsewhere, 'memory is', 'memories are')} staged in other repositories")
    if answer.event:
        yield paper.back(answer.event)
    if answer.hint:
        yield paper.dim(f"  {answer.hint}")


RENDERERS: dict[type, Callable[[Any, Paper], Iterator[str]]] = {
    a.Began: _began,
    a.Ended: _ended,
    a.SessionList: _session_list,
    Timeline: timeline,
    a.Captured: _captured,
    a.Harvested: _harvested,
    a.Suggested: _suggested,
    a.Related: _related,
    a.Relatives: _relatives,
    a.Conflicts: _conflicts,
    a.Projects: _projects,
    a.Merged: _merged,
    a.Routed: _routed,
    a.Queue: _queue,
    a.Evidenced: _evidenced,
    a.Cited: _cited,
    a.Settled: _settled,
}
