"""Looking for what does not fit together: queue, body, trail, duplicates and copies; and mending it."""

import os
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from engram.engines.files import beside
from engram.engines.files.folder import AUDIT, EVENTS, LOG, QUEUE, Folder
from engram.engines.files.history import Journal, Line, State, Step
from engram.engines.files.reading import Reading
from engram.engines.files.registry import Registry, body_of, sections
from engram.model.change import Finding

FIX = "Mend it: engram doctor --fix"

_COPY = re.compile(
    r"(?P<stem>memory|memory-log|audit|events)"
    r"(?: \(.*conflict.*\)|\.sync-conflict-.*|[-_ ]conflict(?:ed)?.*| \d+| \(\d+\)|~.*| copy.*)"
    r"(?P<ending>\.md|\.jsonl)",
    re.IGNORECASE,
)
"""What sync tools call the other side of a conflict: Dropbox, Syncthing, iCloud, Nextcloud and others."""


_ENTRY = re.compile(rb"- \[.*|- .*<!-- id: .*")
"""A line of the log's list; an item of its frontmatter is none."""


class View(NamedTuple):
    """Everything a check looks at, as it was read under the lock."""

    folder: Folder
    journal: Journal
    state: State
    registry: Registry
    found: Reading
    now: datetime


def findings(view: View) -> Iterator[Finding]:
    """What is wrong beside the index, in the order in which it is told."""
    for line in view.journal.torn:
        message = f"events.jsonl, line {line} is torn: what it told is not known."
        yield Finding("history", message, "Compare with a backup; memories are as memory.md has them.")
    yield from (finding for finding, _ in _queue(view))
    if drifted(view):
        yield Finding("body", "The body of memory.md does not say what its items say.", FIX, fixable=True)
    if missing := unaudited(view):
        yield Finding("audit", f"{len(missing)} events are not in audit.jsonl.", FIX, fixable=True)
    for span, item in view.found.twice:
        line = view.registry.line_of(span[0])
        message = f"memory.md, line {line}: {item.handle} is another memory's id."
        yield Finding("duplicate", message, f"Keep both, the newer one under a new id: {FIX[9:]}", fixable=True)
    for name in copies(view.folder):
        target = _target(name)
        by_hand = target == EVENTS or (target == LOG and _adds(view.folder, name) is None)
        hint = f"Compare it with {target}, then remove it." if by_hand else f"Join it: {FIX[9:]}"
        yield Finding("copy", f"{name} was left by a sync tool.", hint, severity="warning", fixable=not by_hand)


def mend(view: View) -> None:
    """Queue, trail and copies brought in order; what concerns the registry is its writer's."""
    for _, step in _queue(view):
        if step.after is None:
            view.folder.remove(QUEUE, f"{step.handle}.json")
        else:
            beside.file_in_queue(view.folder, step, view.now, erased=False)
    state, rows, missing = State(), [], {line.event.id for line in unaudited(view)}
    for line in view.journal.lines:
        steps = state.steps(line)
        if line.event.id in missing:
            rows.append(beside.audit_lines(line, steps, snapshot=False))
    if rows:
        view.folder.append(b"".join(rows), AUDIT)
    for name in copies(view.folder):
        _join(view.folder, name)


def _queue(view: View) -> Iterator[tuple[Finding, Step]]:
    waiting = {m.handle: m for m in view.state.memories() if beside.waits(m)}
    names = [name for name in view.folder.names(QUEUE) if name.endswith(".json")]
    filed = {name.removesuffix(".json") for name in names if not name.startswith(".")}
    for handle in sorted(waiting.keys() - filed):
        memory = waiting[handle]
        told = Finding("queue", f"{handle} waits, and is not in queue/.", FIX, fixable=True)
        yield told, Step(memory.id, handle, None, memory)
    known = {memory.handle: memory for memory in view.state.memories()}
    for handle in sorted(filed - waiting.keys()):
        told = Finding("queue", f"queue/{handle}.json is there, and nothing waits under it.", FIX, fixable=True)
        yield told, Step(handle, handle, None, known.get(handle))


def drifted(view: View) -> bool:
    """Whether the body says other things than the items; their order is no matter."""
    said = sections(view.registry.body)
    wanted = sections(body_of(view.state.memories(), view.now)) or {}
    if said is None:
        return True
    return {kind: sorted(lines) for kind, lines in said.items()} != {k: sorted(v) for k, v in wanted.items()}


def unaudited(view: View) -> list[Line]:
    """Lines of history that the trail knows nothing of."""
    told = beside.audited(beside.read_audit(view.folder))
    return [line for line in view.journal.lines if line.event.id not in told]


def copies(folder: Folder) -> list[str]:
    """Conflict copies that a sync tool left beside our files."""
    return [name for name in folder.names("") if _COPY.fullmatch(name) and not os.path.islink(folder.at(name))]


def _target(name: str) -> str:
    """The file that a copy is a copy of."""
    found = _COPY.fullmatch(name)
    assert found
    return found["stem"].lower() + found["ending"].lower()


def _join(folder: Folder, name: str) -> None:
    """Take the lines of a copy that the file itself lacks, then put it away; one with more than that stays."""
    target = _target(name)
    if target == AUDIT:
        folder.append(b"".join(line + b"\n" for line in _fresh(folder, name)), AUDIT)
    elif target == LOG and (entries := _adds(folder, name)) is not None:
        folder.write(_sorted_log(beside.read_log(folder), entries).encode(), LOG)
    else:
        return  # compared by a person; items of a registry are taken in by whoever writes it
    folder.remove(name)


def _fresh(folder: Folder, name: str) -> list[bytes]:
    """The lines of a copy that the file itself lacks."""
    known = set((folder.read(_target(name)) or b"").splitlines())
    return [line for line in (folder.read(name) or b"").splitlines() if line.strip() and line not in known]


def _adds(folder: Folder, name: str) -> list[str] | None:
    """The entries that a copy of the log adds to it; None where it says anything else that would be lost."""
    fresh = [line for line in _fresh(folder, name) if not line.startswith(b"generated:")]
    if not all(_ENTRY.fullmatch(line) for line in fresh):
        return None
    try:
        return [f"{line.decode()}\n" for line in fresh]
    except UnicodeDecodeError:
        return None


def _sorted_log(text: str, entries: Sequence[str]) -> str:
    """The log with entries of another copy among its own, the newest first."""
    head, title, rest = text.partition(beside.LOG_TITLE)
    if not title:
        return text + "".join(entries)
    lines = [line for line in rest.splitlines(keepends=True) if line.startswith("- ")]
    others = "".join(line for line in rest.splitlines(keepends=True) if not line.startswith("- "))
    return head + title + "".join(sorted({*lines, *entries}, key=_moment, reverse=True)) + others


def _moment(entry: str) -> str:
    found = re.search(r"\d{4}-\d\d-\d\dT[0-9:.]+Z", entry)
    return found[0] if found else ""
