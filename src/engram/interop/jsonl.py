"""Our own export: JSON Lines with a header, one record a line, and a footer that proves nothing is missing."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, cast

from engram.errors import Corrupt, Invalid
from engram.interop.forms import Foreign, Form, Problem, Source
from engram.interop.writing import Stock, Tally, Writer
from engram.model.codec import TRAVELLERS, Record, RecordType, Traveller, decode, encode, type_of
from engram.model.hashing import sha256
from engram.model.limits import print_time
from engram.model.relation import Relation

FORMAT = "engram.export"
VERSION = 2
COUNTS: Mapping[int, tuple[str, ...]] = {1: ("memories",), 2: ("memories", "sessions", "relations")}
"""Version → what its footer counts. The first had memories alone."""

PLURALS: Mapping[RecordType, str] = {"memory": "memories", "session": "sessions", "relation": "relations"}


def write(records: Iterable[Record], now: datetime) -> Iterator[str]:
    """The lines of an export, made as they are asked for."""
    seal = sha256()
    counts = dict.fromkeys(COUNTS[VERSION], 0)
    header = {"format": FORMAT, "version": VERSION, "exported_at": print_time(now)}
    yield _sealed(header, seal)
    for record in records:
        type = type_of(record)
        counts[PLURALS[type]] += 1
        yield _sealed({type: encode(record)}, seal)
    yield _line({"footer": {**counts, "sha256": seal.hexdigest()}})


def read(lines: Iterable[str]) -> Iterator[Traveller]:
    """The records of an export, as they come; the checksum is compared at the end.

    Raises:
        Invalid: when it is no export of ours, of a newer form, or not UTF-8 text.
        Corrupt: when a line is damaged, or the end is missing or does not agree with what came before.
    """
    seal, counts, begun, ended = sha256(), {}, False, False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        data = _bytes(line, number)
        row = _parse(line, number, begun=begun)
        if not begun:
            counts = dict.fromkeys(COUNTS[_version(row)], 0)
            begun = True
        elif "footer" in row:
            ended = row["footer"] == {**counts, "sha256": seal.hexdigest()}
            break
        elif type := next((type for type in TRAVELLERS if type in row and PLURALS[type] in counts), None):
            counts[PLURALS[type]] += 1
            yield cast("Traveller", decode(type, row[type]))
        seal.update(data)
    if not ended:
        raise Corrupt(
            "The export is incomplete or was changed: its end does not agree with its content.",
            "Make the export again, or ask for a complete copy.",
        )


def _bytes(line: str, number: int) -> bytes:
    try:
        return line.rstrip("\r\n").encode() + b"\n"
    except UnicodeEncodeError:
        raise Invalid(f"Line {number} of the export is not UTF-8 text.", "Make the export again.") from None


def _version(row: dict[str, Any]) -> int:
    if row.get("format") != FORMAT:
        raise Invalid("This is not an Engram export.", "Use a file made by `engram export`.")
    version = row.get("version")
    if not isinstance(version, int) or version not in COUNTS:
        raise Invalid(f"This export has version {version}; {VERSION} is the newest known.", "Upgrade Engram.")
    return version


def _parse(line: str, number: int, *, begun: bool) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        if not begun:
            raise Invalid("This is not an Engram export.", "Use a file made by `engram export`.")
        raise Corrupt(f"Line {number} of the export is damaged.", "Make the export again.")
    return row


def _sealed(row: dict[str, Any], seal: Any) -> str:  # noqa: ANN401 - hashlib's type has no name
    line = _line(row)
    seal.update(line.encode() + b"\n")
    return line


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def _recognises(source: Source) -> bool:
    return b'"engram.export"' in source.head.lstrip(b"\xef\xbb\xbf \t\r\n").partition(b"\n")[0]


def _read(source: Source) -> Iterator[Foreign | Problem]:
    """Every record of an export, which is proved whole before the first is given out."""
    try:
        for _ in _lines(source.path):
            pass
        for record in _lines(source.path):
            yield Foreign(record.id[:13], record, ours=_ids(record))
    except UnicodeDecodeError:
        raise Invalid(f"{source.path} is not UTF-8 text.", "Use a file made by `engram export`.") from None


def _ids(record: Traveller) -> tuple[str, ...]:
    return (record.from_id, record.to_id) if isinstance(record, Relation) else (record.id,)


def _lines(path: str) -> Iterator[Traveller]:
    with open(path, encoding="utf-8-sig") as file:
        yield from read(file)


def _write(stock: Stock, tally: Tally) -> Iterator[str]:
    def records() -> Iterator[Record]:
        for one in stock.sessions():
            tally.sessions += 1
            yield one
        for memory in stock.memories():
            tally.counted(memory)
            yield memory
        for relation in stock.relations():
            tally.relations += 1
            yield relation

    for line in write(records(), stock.now):
        yield f"{line}\n"


NAME = "jsonl"
FORM = Form(NAME, "An export of Engram: JSON Lines with a checksum.", _recognises, _read)
WRITER = Writer(NAME, "JSON Lines with a checksum: everything, for another Engram.", lines=_write)
