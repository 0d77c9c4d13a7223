"""What stands beside the registry: the log, the queue, the audit trail and the snapshots."""

import json
import os
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from engram.engines.files.folder import AUDIT, DONE, LOG, QUEUE, REGISTRY, SNAPSHOTS, Folder, whole_lines
from engram.engines.files.history import Line, Step
from engram.engines.files.items import record_of, status_of
from engram.engines.files.registry import clean
from engram.model.limits import print_time
from engram.model.memory import CURATED, Memory
from engram.model.pages import one_line

LOG_TITLE = "# Memory log\n\nNewest first. Auto-captured, low-risk facts.\n\n"
LOG_HEAD = "---\nschema: memory.v1\ngenerated: {date}\n---\n\n"

TOKEN = 16
"""How long the name of a snapshot is; those of another program are shorter, and are left alone."""

_GENERATED = re.compile(r"^generated:.*$", re.MULTILINE)
_DONE = {"promote": "promote", "reject": "reject", "undo": "undo"}


# the log


def log_entries(line: Line, steps: Iterable[Step]) -> list[str]:
    """What a line put in force by itself, as entries of memory-log.md."""
    at = print_time(line.event.at)
    return [
        f"- [{step.after.kind}] {one_line(step.after.text)} <!-- id: {step.handle} ts: {at} -->\n"
        for step in steps
        if step.after and _by_itself(step.after) and not (step.before and _says_the_same(step.before, step.after))
    ]


def _by_itself(memory: Memory) -> bool:
    return memory.status == "promoted" and not memory.approved_by


def _says_the_same(before: Memory, after: Memory) -> bool:
    return _by_itself(before) and before.text == after.text


def logged(text: str, entries: Sequence[str], date: str) -> str:
    """The log with new entries at its top; those it has already are not written again."""
    fresh = [entry for entry in entries if entry[entry.rindex("<!--") :] not in text]
    if not fresh:
        return text
    if not text.startswith("---\n"):
        text = LOG_HEAD.format(date=date) + (text or LOG_TITLE)
    head, title, rest = text.partition(LOG_TITLE)
    if not title:  # somebody else's heading: ours goes above whatever is there
        close = text.index("\n---\n", 3) + 5
        head, rest = text[:close] + "\n", text[close:].lstrip("\n")
    head = _GENERATED.sub(f"generated: {date}", head, count=1)
    return f"{head}{LOG_TITLE}{''.join(fresh)}{rest}"


def unlogged(text: str, handles: Iterable[str]) -> str:
    """The log without a word about some memories, in our form of entries or another program's."""
    marks = [mark for handle in handles for mark in (f"<!-- id: {handle} ts:", f", id {handle})")]
    return "".join(line for line in text.splitlines(keepends=True) if not any(mark in line for mark in marks))


# the queue


def waits(memory: Memory) -> bool:
    """Whether a memory belongs into the queue: it waits for a person."""
    held = bool(memory.held_for) or memory.tier == CURATED
    return memory.status == "pending" and held and memory.forgotten_at is None


def envelope(memory: Memory, handle: str, now: datetime) -> bytes:
    """A memory that waits, as its file in the queue."""
    routing = {"reason": memory.held_for or "curated_kind"}
    told = record_of(memory, handle, now) | {"routing": routing}
    return (json.dumps(told, ensure_ascii=False, indent=2) + "\n").encode()


def file_in_queue(folder: Folder, step: Step, now: datetime, *, erased: bool) -> None:
    """Bring the queue up to date with one memory: in it while it waits, in `_done` with its status afterwards."""
    name = f"{step.handle}.json"
    waiting, done = folder.read(QUEUE, name), folder.read(DONE, name)
    if step.after is None:
        for where in (QUEUE, DONE) if erased else (QUEUE,):
            folder.remove(where, name)
    elif waits(step.after):
        if waiting is None or _told(waiting, "fact") != step.after.text:
            folder.write(envelope(step.after, step.handle, now), QUEUE, name, durable=False)
    elif waiting is not None:
        folder.write(_closed(waiting, status_of(step.after, now)), DONE, name, durable=False)
        folder.remove(QUEUE, name)
    elif done is not None:
        folder.write(_closed(done, status_of(step.after, now)), DONE, name, durable=False)


def _told(content: bytes, name: str) -> Any:  # noqa: ANN401 - any JSON
    """A value of an envelope, ours or the older form with the memory inside."""
    try:
        told = json.loads(content)
        return told.get("memory", told).get(name)
    except (ValueError, AttributeError):
        return None


def _closed(content: bytes, status: str) -> bytes:
    """An envelope with its final status; one that cannot be read is kept as it is."""
    try:
        told = json.loads(content)
        told.get("memory", told)["status"] = status
    except (ValueError, AttributeError, TypeError):
        return content
    return (json.dumps(told, ensure_ascii=False, indent=2) + "\n").encode()


def held_for(folder: Folder, handle: str) -> str:
    """Why another program holds a memory, in our words; "" where it does not say."""
    content = folder.read(QUEUE, f"{handle}.json")
    try:
        told = json.loads(content) if content else {}
        reason = str(told.get("routing", told).get("reason", ""))
    except (ValueError, AttributeError):
        return ""
    if reason in ("curated_kind", "conflict", "edits_curated_node"):
        return reason
    return "conflict" if "conflict" in reason else "curated_kind" if reason else ""


# the audit trail


def audit_lines(line: Line, steps: Sequence[Step], *, snapshot: bool) -> bytes:
    """What a line did, as lines of audit.jsonl: whom and what, never a word of what a memory says."""
    event = line.event
    shared = {"event": event.id, "actor": event.actor, "batch": event.batch}
    rows: list[dict[str, Any]] = [
        {
            "ts": print_time(event.at),
            "op": _operation(line, step),
            "id": step.handle,
            "tier": known.tier if (known := step.after or step.before) else event.tier,
            "undo_token": token_of(line) if snapshot else None,
        }
        for step in steps
    ]
    rows = rows or [
        {"ts": print_time(event.at), "op": event.action, "id": None, "tier": event.tier, "undo_token": None}
    ]
    return b"".join(json.dumps(row | shared, ensure_ascii=False).encode() + b"\n" for row in rows)


def _operation(line: Line, step: Step) -> str:
    action = line.event.action
    if action in _DONE or step.after is None or step.before is not None:
        return action
    if step.after.learned_by == "harvest":
        return "harvest"
    return "auto_append" if _by_itself(step.after) and action == "remember" else action


def token_of(line: Line) -> str:
    """The name of the snapshot from before a line."""
    return line.event.id[:TOKEN]


def audited(content: bytes) -> set[str]:
    """The events that audit.jsonl has lines of."""
    return set(re.findall(r'"event": "([0-9a-f]{64})"', content.decode("utf-8", "replace")))


def last_audited(content: bytes) -> str:
    """The event of the last line that is one of ours, or ""."""
    content = whole_lines(content)
    at = content.rfind(b'"event": "')
    return content[at + 10 : at + 74].decode("ascii", "replace") if at >= 0 else ""


# the snapshots


def snapshot(folder: Folder, token: str, names: Iterable[str]) -> None:
    """Keep the files as they are before they are written, under the token that the audit trail names."""
    for name in names:
        ending = ".bak" if name == REGISTRY else ".log.bak"
        folder.keep_aside(name, SNAPSHOTS, f"{token}{ending}")


def thin_out(folder: Folder, keep: int) -> None:
    """Press all snapshots but the newest, and let go of those beyond the number to keep."""
    names = [name for name in folder.names(SNAPSHOTS) if len(name.partition(".")[0]) == TOKEN]
    if len(names) <= 1:
        return
    aged = sorted(names, key=lambda name: os.lstat(folder.at(SNAPSHOTS, name)).st_mtime_ns, reverse=True)
    newest = aged[0].partition(".")[0]
    tokens = list(dict.fromkeys(name.partition(".")[0] for name in aged))
    for name in aged:
        token = name.partition(".")[0]
        if token not in tokens[:keep]:
            folder.remove(SNAPSHOTS, name)
        elif token != newest and not _is_pressed(folder, name):
            _press(folder, name)


def _is_pressed(folder: Folder, name: str) -> bool:
    handle = os.open(folder.at(SNAPSHOTS, name), os.O_RDONLY | os.O_NOFOLLOW)
    try:
        return os.read(handle, 2) == b"\x1f\x8b"
    finally:
        os.close(handle)


def _press(folder: Folder, name: str) -> None:
    """Compress a snapshot under its own name, as later releases of the other program do."""
    import zlib  # noqa: PLC0415 - start-up: only a write needs it

    content, made = folder.read(SNAPSHOTS, name) or b"", os.lstat(folder.at(SNAPSHOTS, name)).st_mtime_ns
    press = zlib.compressobj(1, zlib.DEFLATED, 31)
    folder.write(press.compress(content) + press.flush(), SNAPSHOTS, name, durable=False)
    os.utime(folder.at(SNAPSHOTS, name), ns=(made, made))  # its age is that of what it holds


def drop_snapshots(folder: Folder) -> None:
    """Let go of every snapshot: what was purged may stand in any of them."""
    for name in folder.names(SNAPSHOTS):
        folder.remove(SNAPSHOTS, name)


def read_log(folder: Folder) -> str:
    """The text of memory-log.md, or "" where there is none."""
    content = folder.read(LOG)
    return clean(content, LOG) if content else ""


def read_audit(folder: Folder) -> bytes:
    """The audit trail as it is."""
    return folder.read(AUDIT) or b""
