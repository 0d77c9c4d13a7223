"""Looking for what does not fit together: history, queue, log, trail, duplicates and copies; and repairing it."""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from shlex import quote as quoted
from typing import NamedTuple

from engram.engines.files import beside, gaps, notices
from engram.engines.files.folder import AUDIT, DONE, EVENTS, LOG, QUEUE, SNAPSHOTS, Folder
from engram.engines.files.history import Journal, Line, State, Step, read_journal
from engram.engines.files.joining import join
from engram.engines.files.reading import Reading
from engram.engines.files.registry import Registry, body_of, clean, sections
from engram.errors import Corrupt
from engram.model.change import Finding
from engram.model.event import ADOPTED, BOOKKEEPING, intact
from engram.model.hashing import sha256
from engram.model.items import status_of
from engram.model.memory import Memory

DOCTOR = "engram doctor --fix"
FIX = f"Mend it: {DOCTOR}"

_LEFT = r"(?: \(.*conflict.*\)|\.sync-conflict-.*|[-_ ]conflict(?:ed)?.*| \d+| \(\d+\)|~.*| copy.*)"
"""What sync tools call the other side of a conflict: Dropbox, Syncthing, iCloud, Nextcloud and others."""

_DEVICE = r"(?-i:-(?=[A-Z0-9-]*[A-Z])[A-Z0-9][A-Z0-9-]{1,14}|-[^/]*(?:MacBook|iMac|Mac)[^/]*)"
"""The name of a device, as OneDrive appends it. Other files may be called so, too: what is in one has to tell."""

_COPY = re.compile(
    rf"(?P<stem>memory-log|memory|audit|events)(?:{_LEFT}|(?P<device>{_DEVICE}))(?P<ending>\.md|\.jsonl)",
    re.IGNORECASE,
)
_QUEUED_COPY = re.compile(rf"mem-\d+(?:{_LEFT}|{_DEVICE})\.json", re.IGNORECASE)

_ENTRY = re.compile(r"- \[.*|- .*<!-- id: .*|- .*, id mem-\d+\)\s*")
"""A line of the log's list, ours or another program's; an item of its frontmatter is none."""

_OF_ENTRY = re.compile(r"(?:<!-- id: (mem-\d+) ts: \S+ -->|, id (mem-\d+)\))\s*$")


class View(NamedTuple):
    """Everything a check looks at, as it was read under the lock."""

    folder: Folder
    journal: Journal
    state: State
    registry: Registry
    found: Reading
    now: datetime


class Flaw(NamedTuple):
    """One inconsistency; `mend` repairs it and returns a note, None when the scribe repairs it."""

    finding: Finding
    mend: Callable[[], str] | None = None


def findings(view: View) -> list[Finding]:
    """What is wrong beside the index, in the order in which it is told."""
    return [flaw.finding for flaw in _flaws(view)]


def mend(view: View) -> list[Finding]:
    """Queue, log, trail and copies brought in order, a note for each; the registry is its writer's."""
    flaws = list(_flaws(view))
    return [note(flaw.finding.code, flaw.mend()) for flaw in flaws if flaw.mend]


def note(code: str, message: str) -> Finding:
    """What a repair did."""
    return Finding(code, message, severity="note")


def _flaws(view: View) -> Iterator[Flaw]:
    yield from _history(view)
    yield from _queue(view)
    yield from _done(view)
    if drifted(view):
        fresh = all(line.event.action == ADOPTED for line in view.journal.lines)
        severity = "note" if fresh else "error"  # nothing is wrong with what another program left in its own form
        told = "The body of memory.md does not say what its items say."
        yield Flaw(Finding("body", told, FIX, severity=severity, fixable=True))
    yield from _audit(view)
    yield from _log(view)
    for span, item in view.found.twice:
        line = view.registry.line_of(span[0])
        message = f"memory.md, line {line}: {item.handle or 'its uid'} is another memory's id."
        hint = f"Keep both, the newer one under a new id: {DOCTOR}"
        yield Flaw(Finding("duplicate", message, hint, fixable=True))
    yield from _copies(view)


# history


def _history(view: View) -> Iterator[Flaw]:
    kept = "Compare with a backup; memories are as memory.md has them."
    torn = [f"events.jsonl, line {at} is torn: what it told is not known." for at in view.journal.torn]
    for n, told in enumerate(torn):
        finding = Finding("history", told, notices.RESTORE, severity="warning", fixable=True)
        yield Flaw(finding, partial(_torn_aside, view) if n == 0 else None)
    for line in broken(view.journal):
        told = f"Event {line.event.seq} ({line.event.id[:8]}) does not fit the chain: events.jsonl was changed."
        yield Flaw(Finding("history", told, kept))
    if gap := gaps.lost(view.journal, beside.read_audit(view.folder)):
        lost = f"{count(len(gap), 'event')}: {gaps.listed(gap)}"
        told = f"events.jsonl has lost {lost}. Memories are as memory.md has them."
        yield Flaw(Finding("history", told, notices.RESTORE, severity="warning", fixable=True))


def _torn_aside(view: View) -> str:
    """Take the lines that cannot be read out of history; they are kept aside, byte for byte."""
    raw, torn = (view.folder.read(EVENTS) or b"").split(b"\n"), set(view.journal.torn)
    taken = b"".join(line + b"\n" for at, line in enumerate(raw, 1) if at in torn)
    name = f"events-torn-{sha256(taken).hexdigest()[:8]}.jsonl"
    view.folder.write(taken, SNAPSHOTS, name)
    view.folder.write(b"\n".join(line for at, line in enumerate(raw, 1) if at not in torn), EVENTS)
    return f"{count(len(torn), 'torn line')} of events.jsonl went to .bak/{name}."


def broken(journal: Journal) -> Iterator[Line]:
    """The lines that do not fit their hash, their commitment or, where this store wrote them, their chain.

    A gap is told as such (`gaps`). What came from another store may have some, for it sends only what is shared,
    and in any order.
    """
    mine, known = gaps.own(journal.lines), {line.event.id for line in journal.lines}
    last: dict[str, tuple[int, str]] = {}
    for line in journal.lines:
        event = line.event
        position, prev = last.get(event.replica, (0, ""))
        ours = event.replica in mine  # what another store says is joined with what others say: it need not agree
        linked = not ours or gaps.links(event, position, prev, known)
        if not intact(event) or not linked or (ours and not _agrees(line)):
            yield line
        last[event.replica] = (event.position, event.id)


def _agrees(line: Line) -> bool:
    """Whether what became of the records is not said otherwise than the payload, which the hash covers."""
    puts = line.after.get("puts", {})
    return not any(
        edit.field not in BOOKKEEPING and puts.get(edit.id, {}).get("set", {}).get(edit.field, edit.new) != edit.new
        for edit in line.event.edits
    )


# the queue


def _queue(view: View) -> Iterator[Flaw]:
    memories = {memory.handle: memory for memory in view.state.memories()}
    filed = set()
    for name, handle in _envelopes(view.folder, QUEUE):
        if os.path.islink(view.folder.at(QUEUE, name)):
            yield Flaw(Finding("queue", f"queue/{name} is a symbolic link.", "Replace it by the file itself."))
        elif _QUEUED_COPY.fullmatch(name):
            yield _queued_copy(view, QUEUE, name)
        else:
            yield from _misfiled(view, name, memories.get(handle))
        filed.add(handle)
    fresh = _untouched(view)
    for handle, memory in memories.items():
        if beside.waits(memory) and handle not in filed:
            severity = "note" if memory.id in fresh else "error"
            told = Finding("queue", f"{handle} waits, and is not in queue/.", FIX, severity=severity, fixable=True)
            yield Flaw(told, partial(_file, view, Step(memory.id, handle, None, memory), "was put into queue/"))


def _misfiled(view: View, name: str, memory: Memory | None) -> Iterator[Flaw]:
    """What is wrong with one file of the queue, if something is."""
    if memory is None:
        told = Finding("queue", f"queue/{name} is there, and nothing waits under it.", FIX, fixable=True)
        yield Flaw(told, partial(_aside, view, QUEUE, name))
    elif not beside.waits(memory):
        told = Finding("queue", f"queue/{name} is there, and nothing waits under it.", FIX, fixable=True)
        yield Flaw(told, partial(_file, view, Step(memory.id, memory.handle, None, memory), "went to queue/_done/"))
    elif not beside.tells(view.folder.read(QUEUE, name) or b"", memory, memory.handle):
        told = Finding("queue", f"queue/{name} does not say what waits under it.", FIX, fixable=True)
        yield Flaw(told, partial(_refiled, view, QUEUE, name, memory))


def _done(view: View) -> Iterator[Flaw]:
    memories = {memory.handle: memory for memory in view.state.memories()}
    for name, handle in _envelopes(view.folder, DONE):
        memory, place = memories.get(handle), os.path.join(DONE, name)
        if os.path.islink(view.folder.at(place)):
            yield Flaw(Finding("queue", f"{place} is a symbolic link.", "Replace it by the file itself."))
        elif _QUEUED_COPY.fullmatch(name):
            yield _queued_copy(view, DONE, name)
        elif memory and beside.waits(memory):
            told = Finding("queue", f"{place} tells a decision that was taken back.", FIX, fixable=True)
            step = Step(memory.id, handle, None, memory)
            yield Flaw(told, partial(_file, view, step, "waits in queue/ again"))
        elif memory and not _final(view.folder.read(place) or b"", memory, view.now):
            told = Finding("queue", f"{place} tells another decision than history.", FIX, fixable=True)
            yield Flaw(told, partial(_refiled, view, DONE, name, memory))


def _final(content: bytes, memory: Memory, now: datetime) -> bool:
    """Whether an envelope tells how a memory was decided; a release of another program leaves it pending there."""
    stale = ("stale",) if memory.status == "promoted" else ()
    return beside.status_told(content) in ("pending", memory.status, status_of(memory, now), *stale)


def _envelopes(folder: Folder, place: str) -> list[tuple[str, str]]:
    """The names of the files of a queue, and the handles they go by."""
    names = [name for name in folder.names(place) if name.endswith(".json") and not name.startswith(".")]
    return [(n, n.removesuffix(".json")) for n in names if not os.path.isdir(folder.at(place, n))]


def _untouched(view: View) -> set[str]:
    """Memories of another program that nothing was done to since they were taken in."""
    adopted = {id for line in view.journal.lines if line.event.action == ADOPTED for id in line.event.subjects}
    return adopted - {
        id for line in view.journal.lines if line.event.action != ADOPTED for id in line.event.subjects
    }


def _file(view: View, step: Step, did: str) -> str:
    beside.file_in_queue(view.folder, step, view.now)
    return f"{step.handle} {did}."


def _refiled(view: View, place: str, name: str, memory: Memory) -> str:
    """Write an envelope anew; what stood there is kept aside."""
    kept = view.folder.put_aside(place, name)
    if place == QUEUE:
        beside.file_in_queue(view.folder, Step(memory.id, memory.handle, memory, memory), view.now)
    else:
        view.folder.write(beside.envelope(memory, memory.handle, view.now), place, name, durable=False)
    return f"{place}/{name} was written anew; what stood there is .bak/{kept}."


def _queued_copy(view: View, place: str, name: str) -> Flaw:
    told = f"{place}/{name} was left by a sync tool."
    finding = Finding("copy", told, f"Put it aside: {DOCTOR}", severity="warning", fixable=True)
    return Flaw(finding, partial(_aside, view, place, name))


def _aside(view: View, place: str, name: str) -> str:
    return f"{place}/{name} was put aside as .bak/{view.folder.put_aside(place, name)}."


# the body


def drifted(view: View) -> bool:
    """Whether the body says other things than the items; their order is no matter."""
    said = sections(view.registry.body)
    wanted = sections(body_of(view.state.memories(), view.now)) or {}
    if said is None:
        return True
    return {kind: sorted(lines) for kind, lines in said.items()} != {k: sorted(v) for k, v in wanted.items()}


# the audit trail


def _audit(view: View) -> Iterator[Flaw]:
    content = beside.read_audit(view.folder)
    plain = beside.unmarked_trail(content)
    if plain != content:
        told = "audit.jsonl has the marks of a merge."
        finding = Finding("audit", told, f"Keep both sides: {DOCTOR}", fixable=True)
        yield Flaw(finding, partial(_trail_unmarked, view.folder))
        content = plain
    for at, line in enumerate(content.split(b"\n")[:-1], 1):
        if line.strip() and not _is_object(line):
            told = f"audit.jsonl, line {at} is not a record."
            hint = "It is kept, for the trail is only added to; compare with a backup."
            yield Flaw(Finding("audit", told, hint, severity="warning"))
    known = beside.audited(content)
    missing = {line.event.id for line in view.journal.lines} - known
    if missing:
        told = f"audit.jsonl does not know {count(len(missing), 'event')} of events.jsonl."
        finding = Finding("audit", told, FIX, fixable=True)
        yield Flaw(finding, partial(_audited_again, view, missing))


def _trail_unmarked(folder: Folder) -> str:
    folder.write(beside.unmarked_trail(beside.read_audit(folder)), AUDIT)
    return "audit.jsonl has both sides of the merge, without its marks."


def _audited_again(view: View, missing: set[str]) -> str:
    state, rows = State(), []
    for line in view.journal.lines:
        steps = state.steps(line)
        if line.event.id in missing:
            rows.append(beside.audit_lines(line, steps, snapshot=False))
    view.folder.append(b"".join(rows), AUDIT)
    return f"audit.jsonl got what it lacked: {count(len(missing), 'event')}."


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


# the log


def _log(view: View) -> Iterator[Flaw]:
    if marks := marked(view.folder):
        yield marks
        return
    state, entries = State(), list[str]()
    for line in view.journal.lines:
        steps = state.steps(line)
        entries += beside.log_entries(line, steps) if line.event.action != ADOPTED else []
    entries, was = _with_ids(view, entries), clean(view.folder.read(LOG) or b"", LOG)
    text = "".join(_with_ids(view, beside.read_log(view.folder).splitlines(keepends=True)))
    if missing := beside.missing_entries(text, entries):
        lacks = count(len(missing), "entry", "entries")
        told, done = f"memory-log.md lacks {lacks}.", f"memory-log.md got what it lacked: {lacks}."
        told = told if was else "memory-log.md is gone."
    elif text != was:
        told = "memory-log.md is not as it was written: two were joined."
        done = "memory-log.md has its head, and each entry once under the id of its memory."
    else:
        return
    finding = Finding("log", told, FIX, severity="warning", fixable=True)
    yield Flaw(finding, partial(_logged_again, view, text, missing, done))


def _logged_again(view: View, text: str, missing: list[str], done: str) -> str:
    text = beside.logged(text, missing, view.now.date().isoformat())
    _write_log(view.folder, beside.with_entries(text, ()))
    return done


def _with_ids(view: View, lines: Iterable[str]) -> list[str]:
    return beside.with_ids(lines, beside.owners(view.journal.lines), view.state.numbers["memory"])


def marked(folder: Folder) -> Flaw | None:
    """That git left its marks in the log, if it did; both sides stay, for the log is only ever added to."""
    text = (folder.read(LOG) or b"").decode("utf-8", "replace").replace("\r\n", "\n")
    if not beside.is_marked(text):
        return None
    finding = Finding("log", "memory-log.md has the marks of a merge.", f"Keep both sides: {DOCTOR}", fixable=True)
    return Flaw(finding, partial(_unmarked, folder, text))


def _unmarked(folder: Folder, text: str) -> str:
    _write_log(folder, beside.unmarked(text))
    return "memory-log.md has both sides of the merge, without its marks."


def _write_log(folder: Folder, text: str) -> None:
    """Write the log; what stood there is kept aside."""
    if old := folder.read(LOG):
        beside.snapshot(folder, sha256(old).hexdigest()[: beside.TOKEN], [LOG])
    folder.write(text.encode(), LOG)


# copies


def copies(folder: Folder) -> list[str]:
    """Conflict copies that a sync tool left beside our files."""
    found = [name for name in folder.names("") if not os.path.islink(folder.at(name))]
    return [
        name
        for name in found
        if (match := _COPY.fullmatch(name)) and (not match["device"] or _is_ours(folder, name))
    ]


def _is_ours(folder: Folder, name: str) -> bool:
    """Whether a file begins as the one does that it would be a copy of."""
    begins = 2 if name.lower().endswith(".md") else 1
    copy, ours = ((folder.read(each) or b"").splitlines()[:begins] for each in (name, target_of(name)))
    return bool(copy) and copy == ours


def target_of(name: str) -> str:
    """The file that a copy is a copy of."""
    found = _COPY.fullmatch(name)
    assert found
    return found["stem"].lower() + found["ending"].lower()


def _copies(view: View) -> Iterator[Flaw]:
    joins = {AUDIT: _joined_trail, LOG: _joined_log}
    for name in copies(view.folder):
        target, told, hint = target_of(name), f"{name} was left by a sync tool.", f"Join it: {DOCTOR}"
        reason = _parted_ways(view, name) if target == EVENTS else ""
        if reason:
            told = f"{name} was left by a sync tool, and cannot be joined: {reason}."
            move = f"mv {quoted(view.folder.at(name))} ~/"
            hint = f"events.jsonl goes on, and memory.md has every memory. Move it out of the store: {move}"
        finding = Finding("copy", told, hint, severity="warning", fixable=not reason)
        yield Flaw(finding, partial(joins[target], view, name) if target in joins else None)


def _parted_ways(view: View, name: str) -> str:
    """Why a copy of history cannot be joined, or ""."""
    try:
        return join(view.journal.lines, read_journal(view.folder.read(name) or b"")).reason
    except Corrupt as error:
        return error.message.rstrip(".")


def _joined_trail(view: View, name: str) -> str:
    """Take the lines of a copy of the trail that the trail lacks; nothing else is in it."""
    known = set(beside.read_audit(view.folder).splitlines())
    lines = (view.folder.read(name) or b"").splitlines()
    fresh = [line for line in dict.fromkeys(lines) if line.strip() and line not in known]
    view.folder.append(b"".join(line + b"\n" for line in fresh), AUDIT)
    view.folder.remove(name)
    return f"{count(len(fresh), 'line')} of {name} went into audit.jsonl."


def _joined_log(view: View, name: str) -> str:
    """Take the entries of a copy of the log; whatever else it says is kept aside, unless it was purged."""
    text = (view.folder.read(name) or b"").decode("utf-8", "replace").replace("\r\n", "\n")
    lines = [line for line in text.splitlines(keepends=True) if _ENTRY.fullmatch(line.rstrip("\n"))]
    purged = [line for line in lines if _is_purged(line, view.state)]
    fresh = [line for line in lines if "\ufffd" not in line and line not in purged]
    log = beside.read_log(view.folder)
    ended = (line if line.endswith("\n") else f"{line}\n" for line in fresh)
    joined = beside.with_entries(log, _with_ids(view, ended))
    if joined != log:
        _write_log(view.folder, joined)
    if purged:
        view.folder.remove(name)  # what was purged lies nowhere, not even aside
        return f"Entries of {name} went into memory-log.md; it told of what was purged, and is gone."
    return f"Entries of {name} went into memory-log.md; all of it is .bak/{view.folder.put_aside(name)}."


def _is_purged(entry: str, state: State) -> bool:
    found = _OF_ENTRY.search(entry)
    return found is not None and state.erased("", found[1] or found[2])


def count(number: int, one: str, many: str = "") -> str:
    """A number of things, in words."""
    return f"{number} {one if number == 1 else many or one + 's'}"
