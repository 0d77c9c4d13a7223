"""What stands beside the registry: the log, the queue, the audit trail and the snapshots."""

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from shlex import quote
from typing import Any

from engram.engines.files.folder import AUDIT, DONE, LOG, QUEUE, REGISTRY, SNAPSHOTS, Folder, whole_lines
from engram.engines.files.history import Line, State, Step
from engram.engines.files.problem import Problem, Unreadable
from engram.engines.files.registry import FENCE, RESTORE, SCHEMA, clean, read_registry
from engram.errors import Corrupt, Invalid
from engram.model.items import LOG_TITLE, Style, item_in, read_item, reason_in, record_of
from engram.model.limits import EARLIEST, print_time
from engram.model.memory import CURATED, Memory
from engram.model.pages import one_line
from engram.model.refs import print_handle

LOG_HEAD = "---\nschema: memory.v1\ngenerated: {date}\n---\n\n"

TOKEN = 16
"""How long the name of a snapshot is; those of another program are shorter, and are left alone."""

_GENERATED = re.compile(r"^generated:.*$", re.MULTILINE)
_MARK = re.compile(r"^(?:<{7}|>{7}|\|{7}|={7})(?: .*)?$\n?", re.MULTILINE)
_SNAPSHOT = re.compile(rf"[0-9a-f]{{{TOKEN}}}\.(?:log\.)?bak")
_LOG_ENTRY = re.compile(r"- .*(?:<!-- id: (mem-\d+) ts: \S+ -->|, id (mem-\d+)\))\s*")


# the log


def log_entries(line: Line, steps: Iterable[Step]) -> list[str]:
    """What a line put in use by itself, as entries of memory-log.md; what it took out of use, struck out."""
    at, entries = print_time(line.event.at), []
    for step in steps:
        before, after = step.before, step.after
        if after and _in_use_by_itself(after):
            if before and _in_use_by_itself(before) and before.text == after.text:
                continue
            kind, told = after.kind, one_line(after.text)
        elif before and _in_use_by_itself(before) and not (after and after.in_use):
            kind, told = before.kind, f"~~{one_line(before.text)}~~ {_fate(after)}"
        else:
            continue
        entries.append(f"- [{kind}] {told} <!-- id: {step.handle} ts: {at} -->\n")
    return entries


def _in_use_by_itself(memory: Memory) -> bool:
    return memory.in_use and not memory.approved_by


def _fate(memory: Memory | None) -> str:
    """What became of a memory that is no longer in use, in few words.

    What a verdict sent back waits for a person; what waits for a branch again, or for nothing, was taken back.
    """
    if memory is None:
        return "undone"
    if memory.status == "pending":
        return "undone" if memory.held_for in ("", "unmerged_branch") else "held for review"
    return "forgotten" if memory.forgotten_at else "replaced" if memory.replaced_by else "rejected"


def missing_entries(text: str, entries: Iterable[str]) -> list[str]:
    """The entries that the log lacks, each known by its id and time."""
    return [entry for entry in entries if _end(entry) not in text]


def logged(text: str, entries: Sequence[str], date: str) -> str:
    """The log with new entries at its top; those it has already are not written again."""
    fresh = missing_entries(text, entries)
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


def unlogged(text: str, steps: Iterable[Step], whose: Mapping[str, str]) -> str:
    """The log without a word about some memories, in our form of entries or another program's.

    An entry is known by its handle, unless `whose` (see `owners`) says of whom it is: a handle may have been given
    to another one since, where two copies of a store were joined. Items in its frontmatter are known by handle too:
    all of them are in the registry, so that none is lost by it.
    """
    handles = {step.handle: step.id for step in steps}
    text = _without_items(text, handles)

    def is_of_them(line: str) -> bool:
        found = _LOG_ENTRY.fullmatch(line)
        named = handles.get(found[1] or found[2], "") if found else ""
        return found is not None and whose.get(_end(line), named) in handles.values()

    return "".join(line for line in text.splitlines(keepends=True) if not is_of_them(line))


def _without_items(text: str, handles: Iterable[str]) -> str:
    """The log without these items in its frontmatter, where another program writes some."""
    for handle in handles if text.startswith(FENCE) else ():
        with suppress(Unreadable):
            while span := read_registry(text, LOG).find(handle):
                text = text[: span[0]] + text[span[1] :]
    return text


def owners(lines: Iterable[Line]) -> dict[str, str]:
    """The id of the memory that each entry of the log tells of, by the entry's end.

    An entry has the handle that its memory had when it was written, or the one it got when two copies were joined.
    """
    state, found = State(), dict[str, str]()
    for line in lines:
        given = {id: print_handle("memory", put["n"]) for id, put in line.memories.items() if put}
        for step in state.steps(line):
            for handle in {step.handle, given.get(step.id, step.handle)}:
                entries = log_entries(line, [step._replace(handle=handle)])
                found |= {_end(entry): step.id for entry in entries}
    return found


def with_ids(lines: Iterable[str], whose: Mapping[str, str], numbers: Mapping[str, int]) -> list[str]:
    """Lines of the log, each entry under the id that its memory has now: it may have got another in a join."""

    def named(line: str) -> str:
        n = numbers.get(whose.get(end := _end(line), ""))
        return line.replace(end, re.sub(r"mem-\d+", print_handle("memory", n), end, count=1)) if n else line

    return [named(line) for line in lines]


def _end(entry: str) -> str:
    """By what an entry is known: its id and its time."""
    return entry[entry.rindex("<!--") :].rstrip() if "<!--" in entry else ""


def is_marked(text: str) -> bool:
    """Whether git left its marks in a log that it could not merge."""
    return bool(re.search(r"^<{7} ", text, re.MULTILINE))


def unmarked(text: str) -> str:
    """A log with both sides of each merge that git left open: it is only ever added to, so nothing contradicts."""
    lines = [line for line in text.splitlines(keepends=True) if not _MARK.match(line)]
    head, title, rest = "".join(lines).partition(LOG_TITLE)
    dates = sorted(_GENERATED.findall(head))
    for extra in dates[:-1]:
        head = head.replace(f"{extra}\n", "", 1)
    return with_entries(f"{head}{title}", rest.splitlines(keepends=True))


def unmarked_trail(content: bytes) -> bytes:
    """The audit trail without the marks of a merge that git left open; every other line stays, of both sides."""
    lines = content.splitlines(keepends=True)
    return b"".join(line for line in lines if not _MARK.match(line.decode("utf-8", "replace")))


def with_entries(text: str, lines: Iterable[str]) -> str:
    """The log with further lines: entries among its own, each once and the newest first; all else below them."""
    head, title, rest = text.partition(LOG_TITLE)
    if not title:
        return text + "".join(lines)
    own = rest.splitlines(keepends=True)
    every = [*own, *(line for line in dict.fromkeys(lines) if line.strip() and line not in own)]
    entries = dict.fromkeys(line for line in every if line.startswith("- "))
    others = [line for line in every if not line.startswith("- ")]
    return head + title + "".join([*sorted(entries, key=_moment, reverse=True), *others])


def _moment(entry: str) -> str:
    """When an entry was made: ours say so at their end, those of another program at their beginning."""
    found = re.findall(r"\d{4}-\d\d-\d\dT[0-9:.]+Z", entry)
    return (found[-1] if entry.rstrip().endswith("-->") else found[0]) if found else ""


# the queue


def waits(memory: Memory) -> bool:
    """Whether a memory belongs into the queue: it waits for a person."""
    held = bool(memory.held_for) or memory.tier == CURATED
    return memory.status == "pending" and held and memory.forgotten_at is None


def envelope(memory: Memory, handle: str, now: datetime) -> bytes:
    """A memory that waits, as its file in the queue."""
    routing = {"reason": memory.held_for or "curated_kind"}
    told = _queued(memory, handle, now) | {"routing": routing}
    return (json.dumps(told, ensure_ascii=False, indent=2) + "\n").encode()


def _queued(memory: Memory, handle: str, now: datetime) -> dict[str, Any]:
    """The record of a memory as the queue tells it: what was approved stays so there, whatever became of it."""
    approved = {"status": memory.status} if memory.status == "promoted" else {}
    return record_of(memory, handle, now) | approved


def file_in_queue(folder: Folder, step: Step, now: datetime) -> None:
    """Bring the queue up to date with one memory: in it while it waits, in `_done` with its status afterwards."""
    name, after = f"{step.handle}.json", step.after
    if after is None:
        folder.remove(QUEUE, name)
        folder.remove(DONE, name)
        return
    waiting, done = folder.read(QUEUE, name), folder.read(DONE, name)
    known = next((each for each in (waiting, done) if each and tells(each, after, step.handle)), None)
    if waits(after):
        if waiting is None or known is not waiting or status_told(waiting) != "pending":
            folder.write(_enveloped(known, after, step.handle, now), QUEUE, name, durable=False)
        folder.remove(DONE, name)  # what was decided about it was taken back
    elif waiting is not None or done is not None or (step.before and waits(step.before)):
        folder.write(_enveloped(known, after, step.handle, now), DONE, name, durable=False)
        folder.remove(QUEUE, name)


def tells(content: bytes, memory: Memory, handle: str) -> bool:
    """Whether an envelope, ours or the older form with the memory inside, says what this memory says."""
    told = _record_in(content)
    return [told.get(name) for name in ("id", "fact", "kind")] == [handle, memory.text, memory.kind]


def status_told(content: bytes) -> str:
    """The status that an envelope tells, or ""."""
    return str(_record_in(content).get("status", ""))


def _record_in(content: bytes) -> dict[str, Any]:
    try:
        told = json.loads(content)
        record = told.get("memory", told)
    except (ValueError, AttributeError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _enveloped(known: bytes | None, memory: Memory, handle: str, now: datetime) -> bytes:
    """The envelope of a memory as it is now: one of another program keeps its form, and what else it says."""
    if known is None:
        return envelope(memory, handle, now)
    told, record = json.loads(known), _queued(memory, handle, now)
    inner = told.get("memory", told)
    inner |= {name: value for name, value in record.items() if name in inner}
    # Half a pair of surrogates, which JSON can spell and UTF-8 cannot, is spelled again as it was.
    return (json.dumps(told, ensure_ascii=False, indent=2) + "\n").encode(errors="backslashreplace")


def reason_of(folder: Folder, handle: str) -> str | None:
    """Why another program holds a memory, in its words; "" where its file does not say, None where it has none."""
    try:
        content = folder.read(QUEUE, f"{handle}.json")
    except Corrupt:  # a link: it is not followed, and `doctor` tells of it
        return ""
    return None if content is None else reason_in(content) or ""


def filed_items(folder: Folder) -> str:
    """What the files of the queue tell, as the text of a registry: what waits, and what was rejected.

    A registry of another program may hold only what was promoted. A file that tells of no memory, or of another
    one than its name, is left out; `doctor` tells of it.
    """
    found = ""
    for place, status in ((QUEUE, "pending"), (DONE, "rejected")):
        for name in folder.names(place):
            path = folder.at(place, name)
            if not name.endswith(".json") or os.path.islink(path) or not os.path.isfile(path):
                continue
            block = item_in(folder.read(place, name) or b"", Style())
            with suppress(Invalid):
                item = read_item(block, Style(), EARLIEST)
                found += block if (f"{item.handle}.json", item.status) == (name, status) else ""
    return f"{FENCE}schema: {SCHEMA}\nitems:\n{found}{FENCE}"


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
    action, after = line.event.action, step.after
    if after is None:
        return action
    if step.before is not None and step.before.in_use and after.replaced_by:
        return "replace"  # by what the same line put in use
    if action == "sync" and step.before is not None and step.before.status == "pending":
        return "auto_append" if _in_use_by_itself(after) else action
    if action != "remember" or step.before is not None:
        return action
    if after.learned_by == "harvest":
        return "harvest"
    return "auto_append" if _in_use_by_itself(after) else action


def written_line(now: datetime, word: str, token: str | None) -> bytes:
    """That a file was written although nothing was decided, as a line of audit.jsonl."""
    row = {"ts": print_time(now), "op": word, "id": None, "tier": None, "undo_token": token}
    return json.dumps(row).encode() + b"\n"


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


def followed(lines: Sequence[Line], content: bytes) -> int:
    """How many lines the other files have followed, by the trail: up to its last one that is not lost.

    Where git joined two trails, the last line of the trail need not be the latest that is told there.
    """
    if lines and lines[-1].event.id == last_audited(content):
        return len(lines)
    known = audited(whole_lines(content))
    return max((n for n, line in enumerate(lines, 1) if line.event.id in known), default=0)


# the snapshots


def snapshot(folder: Folder, token: str, names: Iterable[str]) -> None:
    """Keep the files as they are before they are written, under the token that the audit trail names."""
    for name in names:
        ending = ".bak" if name == REGISTRY else ".log.bak"
        folder.keep_aside(name, SNAPSHOTS, f"{token}{ending}")


def with_way_back(folder: Folder, problem: Problem) -> Problem:
    """A problem; where the whole text is to be put back, with the command that does so from the newest snapshot."""
    if problem.hint != RESTORE:
        return problem
    names = [name for name in folder.names(SNAPSHOTS) if _SNAPSHOT.fullmatch(name) and ".log." not in name]
    if not names:
        return problem._replace(hint="Put it back from a backup.")
    newest = max(names, key=lambda name: os.lstat(folder.at(SNAPSHOTS, name)).st_mtime_ns)
    kept, registry = quote(folder.at(SNAPSHOTS, newest)), quote(folder.at(REGISTRY))
    command = f"zcat < {kept} > {registry}" if _is_pressed(folder, newest) else f"cp {kept} {registry}"
    return problem._replace(hint=f"{RESTORE}: `{command}`.")


def thin_out(folder: Folder, keep: int) -> None:
    """Press all snapshots but the newest, and let go of those beyond the number to keep."""
    names = [name for name in folder.names(SNAPSHOTS) if _SNAPSHOT.fullmatch(name)]
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


def drop_snapshots(folder: Folder, holds: Callable[[bytes], bool | None]) -> list[str]:
    """Let go of every snapshot that holds what was purged; answers with those of which that cannot be told."""
    unknown = []
    for name in folder.names(SNAPSHOTS):
        place = os.path.join(SNAPSHOTS, name)
        plain = os.path.isfile(folder.at(place)) and not os.path.islink(folder.at(place))
        told = holds(folder.read(place) or b"") if plain else None
        if told is None:
            unknown.append(place)
        elif told:
            folder.remove(place)
    return unknown


def read_log(folder: Folder) -> str:
    """The text of memory-log.md, with its head put right, or "" where there is none."""
    content = folder.read(LOG)
    return _headed(clean(content, LOG)) if content else ""


def _headed(text: str) -> str:
    """A log whose frontmatter ends, also where the unique lines of two were joined: then no line is there twice."""
    front, title, rest = text.partition(LOG_TITLE.partition("\n")[0] + "\n")
    if not (title and front.startswith(FENCE)) or f"\n{FENCE}" in front:
        return text
    entries = (line for line in rest.splitlines(keepends=True) if line.strip() and line not in LOG_TITLE)
    return f"{front.rstrip()}\n{FENCE}\n{LOG_TITLE}{''.join(sorted(entries, key=_moment, reverse=True))}"


def read_audit(folder: Folder) -> bytes:
    """The audit trail as it is."""
    return folder.read(AUDIT) or b""
