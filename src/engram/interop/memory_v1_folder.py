"""Folders of `memory.v1`: a registry with frontmatter, its archive, and what waits in the queue; read and written.

Both releases are read: twelve keys, and those of a later one (`project`, `superseded_by` and kin, `archive.md`). So
is what the registry lacks: items in the frontmatter of the log, and what the queue alone tells of.
What is written are the twelve, and the others where a record came with them or belongs to a project.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from engram.errors import EngramError, Invalid
from engram.interop import theirs
from engram.interop.forms import HEAD, Foreign, Form, Hands, Problem, Source, foreign_id
from engram.interop.memory_v1 import KINDS
from engram.interop.writing import File, Folder, Stock, Tally, Writer
from engram.model.items import (
    LATER,
    LOG_TITLE,
    TWELVE,
    Style,
    item_in,
    print_record,
    read_item,
    read_record,
    reason_in,
    record_of,
)
from engram.model.memory import CURATED, UNVOUCHED, Memory, standing
from engram.model.pages import by_kind, one_line
from engram.model.record import replace
from engram.model.refs import handle_number, print_handle

NAME, SCHEMA = "memory-v1", "memory.v1"
REGISTRIES = ("memory.md", "archive.md")
LOG = "memory-log.md"
FILED = (("queue", "pending"), (os.path.join("queue", "_done"), "rejected"))
"""Where a memory may stand alone, and with which status."""

HISTORY = ("audit.jsonl", ".bak", LOG)
"""What tells of the past there and is not taken over; our own history begins with the import."""

LARGEST_ENVELOPE = 1024 * 1024
MOST_LINES = 10_000
"""Lines of one item; no memory has more."""

JUDGED = ("risk_tier", "dest")
"""Keys that say what its rules made of a record; ours may make something else of it, so they are kept."""

LIKE: dict[str, str] = {"rule": "constraint", "config": "infra", "convention": "preference", "fact": "preference"}
"""Kind of ours → one of the ten, where `project` says it less well."""

CARRIED = frozenset(
    {
        *("kind", "source", "confidence", "learned_by", "created_at", "verified_at", "decay", "status", "held_for"),
        *("approved_by", "scope", "forgotten_at", "replaced_by", "origin"),
    }
)

_DASH = re.compile(r"( *)-(?: |$)")
_SCHEMA = re.compile(r"schema:[ \t]*['\"]?([^'\"\s]*)")
_CREDITED = re.compile(r"[ \t]*superseded_by:[ \t]*['\"]?(mem-\d+)")


class _Block(NamedTuple):
    """An item as it stands in a registry."""

    file: str
    line: int
    text: str
    style: Style


# reading


def _recognises(source: Source) -> bool:
    if source.folder:
        registry = "memory.md" in source.names and _is_registry(_head(os.path.join(source.path, "memory.md")))
        return registry or (LOG in source.names and _has_items(os.path.join(source.path, LOG)))
    return _is_registry(source.head)


def _is_registry(head: bytes) -> bool:
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 6)
    return lines[0].rstrip() == b"---" and any(line.startswith((b"schema: memory.v", b"items:")) for line in lines)


def _has_items(log: str) -> bool:
    """Whether a log has a frontmatter with items; ours has none."""
    head = _head(log)
    return _is_registry(head) and b"\nitems:" in head.partition(b"\n---")[0]


def _head(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(HEAD)
    except OSError:
        return b""


def _read(source: Source) -> Iterator[Foreign | Problem]:
    """Every item of the registry, and of the archive beside it."""
    now = datetime.now(UTC)
    folder = source.path if source.folder else os.path.dirname(source.path)
    files = [os.path.join(folder, name) for name in REGISTRIES] if source.folder else [source.path]
    files = [file for file in files if os.path.isfile(file)]
    left = tuple(name for name in HISTORY if source.folder and os.path.exists(os.path.join(folder, name)))
    named = _ids_of(files, now)
    registries = tuple(files)
    files += [log] if source.folder and _has_items(log := os.path.join(folder, LOG)) else []
    known: set[str] = set()
    for file in (*files, ""):
        try:
            for block in _blocks(file) if file else _filed(folder) if source.folder else ():
                if file not in registries and _said(block, "id") in known:
                    continue
                thing = _foreign(block, folder, named, now, source.hands)
                known |= {thing.name} if isinstance(thing, Foreign) else set()
                yield thing._replace(dropped=(*thing.dropped, *left)) if isinstance(thing, Foreign) else thing
                left = () if isinstance(thing, Foreign) else left
        except UnicodeDecodeError:
            yield Problem(os.path.basename(file), "It is not UTF-8.")


def _said(block: _Block, name: str) -> str:
    """What an item says under a key, or ""."""
    try:
        return str(read_record(block.text, block.style).get(name) or "")
    except EngramError:
        return ""


def _filed(folder: str) -> Iterator[_Block]:
    """What the files of the queue tell as items: what waits, and what was rejected."""
    for place, status in FILED:
        try:
            names = sorted(os.listdir(os.path.join(folder, place)))
        except OSError:
            continue
        for name in names:
            path = os.path.join(folder, place, name)
            if not name.endswith(".json") or os.path.islink(path) or not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                text = item_in(file.read(LARGEST_ENVELOPE), Style())
            block = _Block(os.path.join(place, name), 1, text, Style())
            if text and (f"{_said(block, 'id')}.json", _said(block, "status")) == (name, status):
                yield block


def _blocks(path: str) -> Iterator[_Block]:
    """The items of a registry, one at a time.

    Raises:
        Invalid: when it is no registry, or of another schema.
    """
    name = os.path.basename(path)
    with open(path, encoding="utf-8-sig") as file:
        if file.readline().rstrip() != "---":
            raise Invalid(f"{name} does not begin with ---.", "Give a store of memory.v1.")
        number = _pass_head(file, name)
        yield from _split(enumerate(file, number + 1), name)


def _split(numbered: Iterable[tuple[int, str]], name: str) -> Iterator[_Block]:
    """The items of a list, which ends with the frontmatter or before another key."""
    lines: list[str] = []
    begun, style = 0, Style()
    for at, line in numbered:
        ended = line.rstrip() == "---" or line[:1].isalpha()
        dash = _DASH.match(line)
        fresh = dash is not None and (not begun or dash[1] == style.indent)
        if (ended or fresh) and begun:
            yield _Block(name, begun, "".join(lines), style)
        if ended:
            return
        if fresh and dash is not None:
            begun, lines, style = at, [line], Style(dash[1])
        elif begun and len(lines) < MOST_LINES:
            lines.append(line)
    raise Invalid(f"{name} ends in the middle of its frontmatter.", "Get a complete copy of it.")


def _pass_head(file: Iterable[str], name: str) -> int:
    """Go on to the items; returns the number of the last line that was read."""
    for at, line in enumerate(file, 2):
        if (found := _SCHEMA.match(line)) and found[1] != SCHEMA:
            raise Invalid(f"{name} has schema {found[1]}; {SCHEMA} is known.", "Upgrade Engram.")
        if line.startswith("items:"):
            return at
        if line.rstrip() == "---":
            break
    raise Invalid(f"{name} has no items.", "Give a store of memory.v1 with something in it.")


def _ids_of(files: Iterable[str], now: datetime) -> dict[str, str]:
    """The ids of those items that others say they were superseded by."""
    wanted: set[str] = set()
    for file in files:
        with open(file, encoding="utf-8-sig", errors="replace") as lines:
            wanted |= {found[1] for line in lines if (found := _CREDITED.match(line))}
    named: dict[str, str] = {}
    for file in files if wanted else ():
        for block in _blocks(file):
            try:
                item = read_item(block.text, block.style, now)
            except EngramError:
                continue
            if item.handle in wanted:
                named.setdefault(item.handle, _id_of(item.handle, item.memory, named=item.named))
    return named


def _id_of(handle: str, memory: Memory, *, named: bool) -> str:
    if named:
        return memory.id
    return foreign_id(NAME, f"{handle} {memory.created_at.date()} {memory.text}")


def _foreign(block: _Block, folder: str, named: dict[str, str], now: datetime, hands: Hands) -> Foreign | Problem:
    where = f"{block.file}, line {block.line}"
    try:
        item = read_item(block.text, block.style, now)
        told = _typed_keys(block)
        memory = hands.as_told(item.memory, item.status, now)
        reason = _reason(folder, item.handle) if memory.status == "pending" else None
    except EngramError as error:
        return Problem(where, error.message)
    if reason is not None:
        told["reason"] = reason
    if block.file == "archive.md":
        told["file"] = block.file
        if memory.status != "rejected" and not memory.replaced_by:
            memory = replace(memory, forgotten_at=memory.updated_at)
    if memory.status == "pending":
        memory = hands.held(memory, reason)
        # What waited there without a file waits here too: that a store is taken in approves nothing of it.
        memory = replace(memory, held_for=memory.held_for or "review_all")
    changes: dict[str, Any] = {"id": _id_of(item.handle, memory, named=item.named)}
    if memory.replaced_by:
        changes["replaced_by"] = named.get(memory.replaced_by, memory.replaced_by)
    made = replace(memory, **changes, handle="")
    row = row_of(made, item.handle, now)
    kept, dropped = theirs.keep(
        made, NAME, item.handle, told, {k: row[k] for k in told if k in row and k not in JUDGED}
    )
    return Foreign(item.handle or where, kept, tuple(dropped))


def _typed_keys(block: _Block) -> dict[str, Any]:
    """The keys of an item with the types they have; keys of programs that nobody knows are not among them."""
    said = read_record(block.text, block.style)
    told = {name: value for name, value in said.items() if name in (*TWELVE, *LATER)}
    for name, typed in (("confidence", float), ("risk_tier", int)):
        if name in told:
            told[name] = typed(told[name])
    for name in ("learned_at", "last_verified"):
        if told.get(name):
            told[name] = told[name][:10]
    return told


def _reason(folder: str, handle: str) -> str | None:
    """Why an item waits in the queue, "" where its file does not say; None where it has none there."""
    if handle_number("memory", handle) is None:
        return None
    try:
        with open(os.path.join(folder, "queue", f"{handle}.json"), "rb") as file:
            return reason_in(file.read(LARGEST_ENVELOPE)) or ""
    except OSError:
        return None


# writing


def row_of(memory: Memory, handle: str, now: datetime) -> dict[str, Any]:
    """A memory as the keys of an item. Being stale is not said: it follows from the dates there as here."""
    row = record_of(memory, handle, now)
    row["status"] = "superseded" if memory.replaced_by else memory.status
    row["kind"] = memory.kind if memory.kind in KINDS else LIKE.get(memory.kind, "project")
    if memory.scope.level == "project":
        row["project"] = memory.scope.name
    return row


def _files(stock: Stock, tally: Tally, folder: Folder) -> Iterator[File]:
    del folder
    handles = _handles(stock)
    rows: dict[str, list[tuple[int, str]]] = {name: [] for name in REGISTRIES}
    style = Style("  ", gap=True)
    waiting: list[File] = []
    log: list[tuple[str, str]] = []
    for memory in stock.memories():
        handle = handles[memory.id]
        row = _restored(memory, handles, stock.now)
        tally.took(memory, CARRIED, NAME)
        _count_losses(memory, row, tally)
        reason, file = row.pop("reason", None), row.pop("file")
        rows[file].append((handle_number("memory", handle) or 0, print_record(row, style)))
        if memory.waiting and (row["risk_tier"] == CURATED or memory.held_for == UNVOUCHED):
            waiting.append(_envelope(row, memory, reason))
        if row["dest"] == "memory-log.md" and row["status"] == "promoted":
            log.append((f"{(memory.verified_at or memory.created_at):%Y-%m-%dT%H:%M:%SZ}", _log_line(row)))
    for _ in stock.relations():
        tally.lost("relations")
    for _ in stock.sessions():
        tally.lost("sessions")
    live = (one for one in stock.memories() if standing(one, stock.now) == "live")
    yield File("memory.md", _registry(rows["memory.md"], by_kind(live), stock.now))
    if rows["archive.md"]:
        yield File("archive.md", _registry(rows["archive.md"], "# Archive\n", stock.now))
    yield from waiting
    if log:
        yield File("memory-log.md", [LOG_TITLE, *(f"- {at} · {line}\n" for at, line in sorted(log, reverse=True))])


def _handles(stock: Stock) -> dict[str, str]:
    """The id each memory gets in the registry: the one it came with, as far as it is free, or the next number."""
    wanted: dict[str, str] = {}
    taken: set[str] = set()
    for memory in stock.memories():
        handle = theirs.id_in(NAME, memory)
        if handle and handle not in taken:
            taken.add(handle)
            wanted[memory.id] = handle
        else:
            wanted[memory.id] = ""
    number = max((handle_number("memory", handle) or 0 for handle in taken), default=0)
    for id, handle in wanted.items():
        if not handle:
            number += 1
            wanted[id] = print_handle("memory", number)
    return wanted


def _restored(memory: Memory, handles: Mapping[str, str], now: datetime) -> dict[str, Any]:
    """The item of a memory, and the file it stands in: what is out of use is archived, where no release looks."""
    handle = handles[memory.id]
    row = theirs.restore(NAME, memory, row_of(memory, handle, now)) | {"id": handle}
    gone = memory.forgotten_at is not None or bool(memory.replaced_by)
    if not memory.replaced_by:
        row = {name: value for name, value in row.items() if not name.startswith("superseded_")}
    elif "superseded_by" not in row:
        row |= {"superseded_by": handles.get(memory.replaced_by, memory.replaced_by), "file": "archive.md"}
    return {"file": "archive.md" if gone and "superseded_by" not in row else "memory.md", **row}


def _count_losses(memory: Memory, row: dict[str, Any], tally: Tally) -> None:
    if row["kind"] != memory.kind:
        tally.lost("kind")
    if any(time.time() != datetime.min.time() for time in (memory.created_at, memory.verified_at) if time):
        tally.lost("time of day")
    if memory.scope.level in ("agent", "session") or memory.scope.workspace or memory.scope.run:
        tally.lost("scope")
    if memory.decay == "none":
        tally.lost("decay")
    if memory.forgotten_at is not None and memory.replaced_by:
        tally.lost("forgotten_at")


def _registry(rows: list[tuple[int, str]], body: str, now: datetime) -> Iterator[str]:
    yield f"---\nschema: {SCHEMA}\ngenerated: {now.date()}\n" + ("items:\n" if rows else "items: []\n")
    for count, (_, row) in enumerate(sorted(rows)):
        yield f"\n{row}" if count else row
    yield f"---\n\n{body}"


def _envelope(row: dict[str, Any], memory: Memory, reason: str | None) -> File:
    memory_row = {name: row[name] for name in (*TWELVE, *LATER) if name in row}
    why = f"{row['kind']} needs review" if memory.held_for == "curated_kind" else "conflict with existing memory"
    why = why if reason is None else reason
    why = UNVOUCHED if memory.held_for == UNVOUCHED else why  # nothing else there would tell of it
    document = {"memory": memory_row, "dest": "memory.md", "diff": "", "reason": why}
    return File(f"queue/{row['id']}.json", [json.dumps(document, indent=2)])


def _log_line(row: dict[str, Any]) -> str:
    about = f"conf {row['confidence']:.2f}, src {row['source']}, id {row['id']}"
    return f"[{row['kind']}] {one_line(row['fact'])} ({about})"


FORM = Form(NAME, "A store of plain files: memory.md with frontmatter.", _recognises, _read, ages=True)
WRITER = Writer(NAME, "A folder of plain files: memory.md with frontmatter, and its queue.", files=_files)
