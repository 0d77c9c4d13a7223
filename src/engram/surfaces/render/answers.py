"""Answers in words for a person: one renderer for each type of answer."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from engram.model import answers as a
from engram.model.event import Event
from engram.model.memory import Memory
from engram.surfaces.render import assets, look, store, sync, team, work
from engram.surfaces.render.paper import (
    USUAL,
    WIDEST_ROW,
    Paper,
    ago,
    count,
    counts,
    cut,
    few,
    hanging,
    moment,
    plain,
    rows,
    table,
    times,
)

HELD = {
    **work.HELD,
    "": "written by hand or saved with autopromote off, and not put in force yet",
}
"""Why a memory waits → what a person reads."""

HELD_BACK = {"staged": "staged on another branch"}
"""A standing that keeps a memory out of an answer → what a person reads, where the word alone says too little."""

OUTCOMES = {
    "new": ("✓", "Remembered"),
    "revised": ("✓", "Revised"),
    "repeated": ("=", "Known already"),
    "restored": ("✓", "Remembered again"),
    "held": ("◷", "Waits for review"),
    "staged": ("✓", "Remembered on this branch"),
    "proposed": ("◷", "Proposed, waits for review"),
    "unchanged": ("=", "Nothing to change"),
}

EXCHANGED = {
    "join": "what several machines said was put together",
    "restate": "told to a place that did not know of it",
    "enrol": "a machine of theirs exchanges memories with this server from now on",
    "renew": "the store goes on under a new id: another one is a copy of it",
}
"""What happens in an exchange with other stores → what a history says of it."""

JOINED = {
    "same place": "the same was said on two machines: one is kept, the other leads to it",
    "ring": "each was said to supersede the other: the later word counts",
    "unapproved": "it waits again: nobody approved these words",
    "conflict": "it waits: it contradicts what another machine said",
}

TOLD: Mapping[str, Any] = {
    name: Memory.DEFAULTS.get(name)
    for name in (
        *("text", "status", "kind", "pinned", "key", "seen", "visibility", "importance", "summary", "tags"),
        *("citations", "confidence", "decay", "valid_from", "valid_until"),
    )
}
"""The fields whose change history tells in its one line, and what they are when nothing was said."""

MOST_LINES = 10
"""How many memories an answer about many names before it counts the rest."""

ANSWER_LINES = 4
"""How many lines of a terminal a memory may take in an answer; `engram get` shows all of it."""

FACTORS = ("pinned", "verified", "importance", "confidence")
"""What a record brings along whatever the question: the reasons that multiply a score instead of adding to it."""

NO_WORDS: Mapping[str, str] = {}

DONE = {
    "verify": "Verified",
    "forget": "Forgot",
    "restore": "Restored",
    "promote": "Promoted",
    "reject": "Rejected",
}


def render(answer: Any, paper: Paper) -> str:  # noqa: ANN401 - every type of answer
    """The answer in words, without a line break at the end, and with nothing in it that hides or steers."""
    return paper.clean("\n".join(RENDERERS[type(answer)](answer, paper)))


def _remembered(answer: a.Remembered, paper: Paper) -> Iterator[str]:
    sign, words = OUTCOMES[answer.outcome]
    memory = answer.memory
    mark = paper.warn(sign) if memory.waiting else paper.good(sign)
    again = "  (same token: nothing done again)" if answer.replayed else ""
    yield f"{mark} {words}: {paper.bold(memory.handle)}  {paper.dim(f'{memory.kind} · {memory.scope}')}{again}"
    yield from _echoed(memory, paper, min(paper.width, WIDEST_ROW) - 2, "  ")
    if answer.outcome == "repeated":
        yield paper.dim(f"  Said {times(memory.seen)} now; nothing was stored twice.")
    if answer.changed:
        yield f"  It changed: {', '.join(answer.changed)}."
    if answer.redacted:
        yield paper.warn(f"  Taken out before storing: {', '.join(answer.redacted)}.")
    if memory.waiting:
        yield paper.dim(f"  Why: {HELD[memory.held_for] if memory.held_for else 'autopromote is off'}.")
    for number, other in enumerate(answer.conflicts):
        text = cut(other.text, paper.width - 40)
        why = "" if number else f"  {paper.dim(answer.why)}"  # it is told of the first alone
        yield f"  Against {paper.bold(other.handle)}: {text}{why}"
    for rival in answer.candidates:
        text = cut(rival.memory.gist, paper.width - 50)
        yield f"  May be at odds with {paper.bold(rival.memory.handle)}: {text}  {paper.dim(rival.why)}"
    if answer.hint:
        yield paper.dim(f"  {answer.hint}")
    if (answer.outcome == "revised" or answer.changed) and not answer.replayed:
        yield paper.back(answer.event)


def _echoed(memory: Memory, paper: Paper, room: int, start: str) -> Iterator[str]:
    """What a memory says as far as there is room, and where there is not, how to see all of it."""
    line = cut(memory.gist, room)
    yield from hanging(start, line, paper)
    if line.endswith("…") and not memory.gist.rstrip().endswith("…"):
        yield paper.way(f"   All of it: engram get {memory.handle}")


def _recalled(answer: a.Recalled, paper: Paper) -> Iterator[str]:
    for number, hit in enumerate(answer.hits, 1):
        memory = hit.memory
        pin = " ★" if memory.pinned else ""
        start = f"{paper.dim(f'{number}.')} {paper.bold(memory.handle)}{pin}  "
        yield from _echoed(memory, paper, ANSWER_LINES * min(paper.width, USUAL) - 16, start)
        facts = f"{memory.kind} · {memory.scope} · {paper.voice(memory)} · {ago(memory.created_at, answer.at)}"
        yield paper.dim(f"   {facts} · {hit.relevance:.0%} relevant")
        yield from work.verdicts(hit.evidence, paper)
        if hit.marks:
            yield f"   {paper.warn(', '.join(hit.marks))}"
        if paper.explain:
            yield from (paper.dim(f"   {line}") for line in _why(hit))
    shown = [round(hit.relevance, 2) for hit in answer.hits]
    if shown != sorted(shown, reverse=True):
        yield paper.dim("Ordered by score; the percentage says how relevant each is.")
    if answer.relaxed and answer.hits and not answer.by_meaning:
        yield paper.dim("No memory has all of these words; these have some of them.")
    for line in answer.hint.splitlines():
        yield from hanging("", line, paper)
    if answer.held_back:
        held = {HELD_BACK.get(name, name): "100+" if n >= 100 else n for name, n in answer.held_back.items()}
        waits = paper.says(" Decide what is pending: engram review.") if answer.held_back.get("pending") else ""
        yield paper.dim(f"Held back: {counts(held)}.{waits}")
    if paper.explain:
        how = "words and meaning" if answer.by_meaning else "words alone"
        if answer.hits and all(hit.reasons.keys() == {"time"} for hit in answer.hits):
            how = "time alone"
        same = f"; {answer.collapsed} left out that say the same" if answer.collapsed else ""
        when = f'; "{answer.time}" was read as a time' if answer.time else ""
        near = f"; {count(answer.weak, 'memory', 'memories')} came near" if answer.weak else ""
        yield paper.dim(f"Compared by {how}{when}{same}{near}.")


def _why(hit: a.Recollection) -> Iterator[str]:
    """The parts of a score, where each search put the memory, and what it costs to read."""
    parts = {name: value for name, value in hit.reasons.items() if name not in FACTORS}
    told = [f"{name} {value:+.2f}" for name, value in sorted(parts.items(), key=lambda part: -abs(part[1]))]
    told += [f"{name} \u00d7{hit.reasons[name]:g}" for name in FACTORS if name in hit.reasons]
    yield f"why: {' · '.join(told)}"
    places = [f"{rank}. by {name}" for name, rank in hit.ranks.items()]
    yield f"     {' · '.join([f'score {hit.score:.2f}', *places, count(hit.tokens, 'token')])}"


def _listing(answer: a.Listing, paper: Paper) -> Iterator[str]:
    yield from rows(answer.memories, answer.at, paper)
    if not answer.memories:
        yield paper.says("No memory matches here. Everything there is: engram list --everywhere --standing all")
    if answer.hint:
        yield answer.hint
    if answer.next:
        yield paper.way(f"There is more: add --after {answer.next}")


def _shown(answer: a.Shown, paper: Paper) -> Iterator[str]:
    for number, memory in enumerate(answer.memories):
        if number:
            yield ""
        yield from _full(memory, answer.at, paper, answer.handles, answer.reasons.get(memory.id, ""))
        if answer.evidence:
            yield from work.verdicts(answer.evidence[number], paper, every=True)
        if told := answer.marks.get(memory.id):
            yield f"  {paper.warn(', '.join(told))}"
    for line in answer.around:
        yield ""
        yield from work.timeline(line, paper)


def _full(memory: Memory, at: datetime, paper: Paper, handles: Mapping[str, str], why: str) -> Iterator[str]:
    stands = paper.standing(memory, at)
    shown = paper.good(stands) if stands == "live" else paper.warn(stands)
    yield f"{paper.bold(memory.handle)}  {shown}  {paper.dim(f'{memory.kind} · {memory.scope} · {memory.id}')}"
    yield from (f"  {plain(line)}" for line in memory.text.splitlines())
    facts: dict[str, str] = {
        "summary": memory.summary,
        "key": memory.key,
        "tags": ", ".join(memory.tags),
        "amends": handles.get(memory.amends, memory.amends),
        "held": HELD[memory.held_for] if stands in ("pending", "staged") else "",
        "branch": plain(memory.branch.rpartition("#")[2]),
        "why": cut(why, USUAL),
        "origin": f"{memory.origin}, {memory.source}, learned by {memory.learned_by}",
        "confidence": f"{memory.effective_confidence(at):.2f} now, {memory.confidence:.2f} when learned",
        "owner": f"{memory.owner or 'local'}, {memory.visibility}",
        "weight": f"importance {memory.importance}{', pinned' if memory.pinned else ''}",
        "approved by": memory.approved_by,
        "created": f"{moment(memory.created_at)} ({ago(memory.created_at, at)})",
        "verified": moment(memory.verified_at),
        "stale": moment(memory.stale_at),
        "valid from": moment(memory.valid_from),
        "valid until": moment(memory.valid_until),
        "replaced by": handles.get(memory.replaced_by, memory.replaced_by),
        "seen": f"{times(memory.seen)}, revision {memory.revision}, tier {memory.tier}",
    }
    facts |= {f"attached {n}": assets.asset_line(each) for n, each in enumerate(memory.assets, 1)}
    facts |= {f"cites {n}": _citation(each) for n, each in enumerate(memory.citations, 1)}
    said = {name: text for name, text in facts.items() if text}
    wide = max(map(len, said))
    yield from (f"  {paper.dim(name.ljust(wide))}  {text}" for name, text in said.items())


def _citation(citation: Any) -> str:  # noqa: ANN401 - a Citation
    place = f":{citation.locator}" if citation.locator else ""
    return f"{citation.kind} {citation.ref}{place}{f' @ {citation.pin}' if citation.pin else ''}"


def _changed(answer: a.Changed, paper: Paper) -> Iterator[str]:
    again = "  (same token: nothing done again)" if answer.replayed else ""
    for checks in answer.evidence:
        yield from work.verdicts(checks, paper)
    for memory in answer.memories if answer.event else ():
        text = cut(memory.text, paper.width - 24)
        of = f"Merged {', '.join(map(paper.bold, answer.merged))} into" if answer.merged else DONE[answer.action]
        yield f"{paper.good('✓')} {of} {paper.bold(memory.handle)}  {text}{again}"
    if answer.said:
        yield f"  It said: {cut(answer.said, paper.width - 16)}"
    for memory in answer.replaced:
        yield f"  It replaces {paper.bold(memory.handle)}: {cut(memory.text, paper.width - 30)}"
    for memory in answer.kept:
        yield f"  It stays in use beside it: {paper.bold(memory.handle)}  {cut(memory.text, paper.width - 40)}"
    if answer.hint:
        yield answer.hint
    if answer.event and not answer.replayed:
        yield paper.back(answer.event)


def why_it_waits(under_review: a.UnderReview) -> str:
    """Why a memory is held, as things are now: what it contradicted may be out of use since."""
    if under_review.memory.held_for == "conflict" and not under_review.conflicts:
        if under_review.replaces:
            return "it would replace something known"
        return "it contradicted something that is out of use now"
    return HELD[under_review.memory.held_for]


def beside(under_review: a.UnderReview) -> Iterator[tuple[str, Memory]]:
    """What a reviewer must see beside a memory that waits: what becomes of it by an approval, and the memory."""
    known = {one.id for one in under_review.replaces}
    yield from (("It would replace", one) for one in under_review.replaces)
    yield from (("It conflicts with", one) for one in under_review.conflicts if one.id not in known)
    yield from (("It would not replace the curated", one) for one in under_review.spares)


def _waiting(answer: a.Waiting, paper: Paper) -> Iterator[str]:
    if not answer.candidates:
        yield "Nothing waits for review."
    for each in answer.candidates:
        memory = each.memory
        facts = f"{memory.kind} · {memory.scope} · {paper.voice(memory)} · {ago(memory.created_at, answer.at)}"
        yield f"{paper.bold(memory.handle)}  {paper.dim(facts)}"
        yield f"  {cut(memory.text, paper.width - 2)}"
        also = besides_text(memory, attached=each.amends is None)  # else what would come and go is told below
        yield from (f"  {cut(line, paper.width - 2)}" for line in also)
        yield paper.dim(f"  Why it waits: {why_it_waits(each)}.")
        if each.amends:
            yield f"  Instead of {paper.bold(each.amends.handle)}: {cut(each.amends.text, paper.width - 24)}"
            came, went = assets.moved(each.amends.assets, memory.assets)
            yield from (f"  Would attach: {assets.asset_told(one)}" for one in came)
            yield from (f"  Would take off: {assets.asset_told(one)}" for one in went)
        for word, other in beside(each):
            yield f"  {word} {paper.bold(other.handle)}: {cut(other.text, max(paper.width - len(word) - 14, 20))}"
    if any(not each.memory.held_for for each in answer.candidates):
        yield paper.way("Make live what needs no review: engram sync --apply")
    if answer.next:
        yield paper.way(f"There is more: add --after {answer.next}")


def besides_text(memory: Memory, *, attached: bool = True) -> Iterator[str]:
    """What a memory says besides its text, a line each: a reviewer approves all of it, so all of it is shown."""
    if memory.summary:
        yield f"Summary: {plain(memory.summary)}"
    if memory.tags:
        yield f"Tags: {plain(', '.join(memory.tags))}"
    for citation in memory.citations:
        yield f"Cites: {plain(_citation(citation))}"
    for asset in memory.assets if attached else ():
        yield f"Attached: {assets.asset_told(asset)}"
    if memory.pinned or memory.visibility == "shared":
        yield ", ".join([*["Pinned"] * memory.pinned, *["Shared"] * (memory.visibility == "shared")])


def _chronicle(answer: a.Chronicle, paper: Paper) -> Iterator[str]:
    lines = []
    for event in answer.events:
        names = few([name_in(answer, id) for id in event.subjects])
        what = event.action + (" (undone)" if event.id in answer.undone else "")
        who = event.actor
        if person := answer.people.get(event.replica):
            who = person if event.actor == "person" else f"{event.actor} for {person}"
        if device := answer.devices.get(event.replica):
            who = f"{who} on {device}"
        did = told(event) or next((answer.about[id] for id in event.subjects if id in answer.about), "")
        lines.append([str(event.seq), ago(event.at, answer.at), who, what, ", ".join(names), did])
    yield from table(lines, paper, last=min(paper.width, WIDEST_ROW))
    if not lines:
        yield "Nothing has happened yet."
    if answer.next:
        yield paper.way(f"There is more: add --before {answer.next}")


def name_in(answer: a.Chronicle, id: str) -> str:
    """What a record is called in history: a memory by its handle, a relation by those of its two memories."""
    ends = [answer.handles[end] for end in answer.pairs.get(id, ()) if end in answer.handles]
    return "~".join(ends) if len(ends) == 2 else answer.handles.get(id, id[:13])


def told(event: Event, words: Mapping[str, str] = NO_WORDS) -> str:
    """What an event did, in one line; `words` are those for a status that has other ones."""
    if event.payload is None:
        return "(purged)"
    note = event.note
    if note.get("reason"):
        return str(note["reason"])
    if event.action in EXCHANGED or event.action == "undo":
        return _told_by_note(event.action, note)
    verdicts = [edit for edit in event.edits if edit.type == "relation" and edit.field in ("kind", "status")]
    if verdicts:
        return str(note.get("verdict", "")) or ", ".join(
            dict.fromkeys(str(edit.new) for edit in verdicts if edit.new is not None)
        )
    changes = [edit for edit in event.edits if edit.type == "memory" and edit.field in TOLD]
    texts = [edit for edit in changes if edit.field == "text"]
    if texts and texts[0].old is None:
        return str(texts[0].new)
    moved = [assets.assets_edited(edit) for edit in event.edits if edit.field == "assets"]
    told = [
        (edit.field, *(_value(TOLD[edit.field] if v is None else v) for v in (edit.old, edit.new)))
        for edit in changes
    ]
    said = [
        (field, *((words.get(v, v) for v in values) if field == "status" else values)) for field, *values in told
    ]
    return "; ".join([*moved, *(f"{field}: {old} → {new}" for field, old, new in said)])


def _value(value: Any) -> str:  # noqa: ANN401 - any value of a field
    """The value of a field as history tells it: a list by what is in it, and what is not there as nothing."""
    if isinstance(value, list | tuple):
        return ", ".join(_cited(one) if isinstance(one, dict) else str(one) for one in value) or "none"
    return "none" if value in (None, "") else str(value)


def _cited(kept: Mapping[str, Any]) -> str:
    """A citation as history keeps it: it may be from anywhere, so no record is made of it."""
    if not (kept.get("kind") and kept.get("ref")):
        return str(kept)
    place = f":{kept['locator']}" if kept.get("locator") else ""
    return f"{kept['kind']} {kept['ref']}{place}"


def _told_by_note(action: str, note: Mapping[str, Any]) -> str:
    if action in EXCHANGED:
        why = str(note.get("why", ""))  # it may come from anywhere
        return ", ".join(words for name, words in JOINED.items() if name in why) or EXCHANGED[action]
    found = Counter(undid(note))
    return "took back " + ", ".join(f"{n} {what}" if n > 1 else what for what, n in found.items())


def undid(note: Mapping[str, Any]) -> list[str]:
    """The actions that an undo took back, as far as it notes them."""
    noted = note.get("undid")
    return [str(one) for one in noted] if isinstance(noted, list | tuple) else []


def _undone(answer: a.Undone, paper: Paper) -> Iterator[str]:
    for event in answer.events[:MOST_LINES]:
        many = (
            f"{len(event.subjects)} records, such as "
            if event.action == "import" and len(event.subjects) > 1
            else ""
        )
        did = cut(many + told(event), paper.width - 40) if told(event) else many.removesuffix(", such as ")
        yield f"{paper.good('↶')} Took back {paper.bold(event.action)} (event {event.seq}){did and f': {did}'}"
    for memory in answer.memories[:MOST_LINES]:
        text = cut(memory.text, paper.width - 30)
        yield f"  {paper.bold(memory.handle)} is {paper.standing(memory, answer.at)}: {text}"
    if (more := max(len(answer.events), len(answer.memories)) - MOST_LINES) > 0:
        yield paper.dim(f"  and {more} more")
    yield paper.dim(f"  Do it again: {answer.again}")


def _brief(answer: a.Brief, paper: Paper) -> Iterator[str]:
    if not answer.text:
        known = f"{count(answer.left_out, 'memory', 'memories')}, and none fits {answer.budget} tokens."
        yield f"Nothing to begin with: {known if answer.left_out else 'no live memory fits here.'}"
    else:
        yield answer.text
        left = f"; {answer.left_out} left out" if answer.left_out else ""
        yield paper.dim(f"{answer.tokens} of {answer.budget} tokens (estimate){left}")
    if answer.hint:
        yield answer.hint


RENDERERS: dict[type, Callable[[Any, Paper], Iterator[str]]] = {
    a.Remembered: _remembered,
    a.Recalled: _recalled,
    a.Listing: _listing,
    a.Shown: _shown,
    a.Changed: _changed,
    a.Waiting: _waiting,
    a.Chronicle: _chronicle,
    a.Undone: _undone,
    a.Brief: _brief,
    **store.RENDERERS,
    **look.RENDERERS,
    **assets.RENDERERS,
    **work.RENDERERS,
    **sync.RENDERERS,
    **team.RENDERERS,
}
