"""What is erased, and what is left of it in the raw files: found by handles and by pieces of its texts."""

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from engram.engines.files.folder import EVENTS, Folder
from engram.engines.files.history import Journal, Line, State, Step
from engram.engines.pieces import TELLING, as_json, pieces_of
from engram.errors import Corrupt, Unavailable
from engram.model.change import noted_at
from engram.model.codec import encode, strings

PRESSED = b"\x1f\x8b"


class Erased(NamedTuple):
    """What is erased: ids and handles, and pieces of its texts, as JSON writes them and as they are read."""

    ids: frozenset[str]
    handles: frozenset[str]
    pieces: frozenset[str] = frozenset()
    plain: frozenset[str] = frozenset()

    def in_snapshot(self, content: bytes) -> bool | None:
        """Whether a snapshot, ours or another program's, may hold it; None where that cannot be told."""
        text = _unpacked(content)
        if text is None:
            return None
        names = "|".join(map(re.escape, (*self.handles, *self.ids)))
        if re.search(rf"(?<![\w-])(?:{names})(?![\w-])", text):
            return True
        flat = " ".join(text.replace("''", "'").replace('\\"', '"').split())
        return any(piece in text for piece in self.pieces) or any(piece in flat for piece in self.plain)

    def in_line(self, content: bytes) -> bool:
        """Whether a line of history that cannot be read may hold it."""
        text = content.decode("utf-8", "replace")
        return any(piece in text for piece in (*self.ids, *self.pieces))


def erased(lines: Iterable[Line], steps: Iterable[Step], ids: Iterable[str]) -> Erased:
    """What is known of what is about to be erased."""
    told, gone, handles = set[str](), frozenset(ids), set[str]()
    for line in lines:
        for edit in line.event.edits:
            if edit.id in gone and edit.field in TELLING:
                told.update(strings([edit.old, edit.new]))
    for step in steps:
        if step.id in gone:
            handles.add(step.handle)
            told.update(strings([encode(step.before).get(name) for name in TELLING] if step.before else []))
    plain = pieces_of(" ".join(text.split()) for text in told)
    return Erased(gone, frozenset(handles), pieces_of(map(as_json, told)), plain)


def rewritten(content: bytes, journal: Journal, kept: Iterable[Line], gone: Erased) -> bytes:
    """The text of history with the lines that are kept in place of its own; a torn line stays if it may."""
    left, out = iter(kept), []
    torn = set(journal.torn)
    for at, raw in enumerate(content.split(b"\n"), 1):
        if at in torn:
            out += [] if gone.in_line(raw) else [raw + b"\n"]
        elif raw.strip() and b'"schema"' not in raw[:12]:
            out += [line.print() for line in (next(left, None),) if line]
        elif raw.strip():
            out.append(raw + b"\n")
    return b"".join([*out, *(line.print() for line in left)])


def left(folder: Folder, gone: Erased, journal: Journal, state: State) -> tuple[int, list[str]]:
    """How many pieces can still be read in the folder's files, and where.

    A piece that another record also contains, or an actor's name, is not counted.
    """
    edits = [line.event.edits for line in journal.lines if line.event.payload]
    names = [line.event.envelope() for line in journal.lines]
    held = json.dumps([state.documents, edits, names], ensure_ascii=False)
    mine = [piece.encode() for piece in gone.pieces if piece not in held]
    found, places = 0, list[str]()
    for name, content in _files(folder):
        here = sum(piece in content for piece in mine)
        found += here
        if here and name == EVENTS:
            notes = [(line.event.seq, line.event.payload.print()) for line in journal.lines if line.event.payload]
            places += [noted_at(seq) for seq, told in notes if any(each.decode() in told for each in mine)]
        elif here:
            places.append(f"It is still in {name}: remove that file, or take it out by hand.")
    return found, places


def _files(folder: Folder) -> Iterator[tuple[str, bytes]]:
    """Every plain file below a folder that can be read; a link or a pipe might never end."""
    for place, _, names in os.walk(folder.path):
        for path in (os.path.join(place, name) for name in names):
            with suppress(OSError, Corrupt, Unavailable):
                if stat.S_ISREG(os.lstat(path).st_mode):
                    name = os.path.relpath(path, folder.path)
                    yield name, folder.read(name) or b""


def _unpacked(content: bytes) -> str | None:
    """The text of a snapshot, pressed or not; None where it is none."""
    import zlib  # noqa: PLC0415 - start-up: only an erasure needs it

    try:
        plain = zlib.decompress(content, 31) if content.startswith(PRESSED) else content
        return plain.decode("utf-8-sig")
    except (zlib.error, UnicodeDecodeError):
        return None
