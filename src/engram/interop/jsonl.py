"""Our own export: JSON Lines with a header, one memory a line, and a footer that proves nothing is missing."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from engram.errors import Corrupt, Invalid
from engram.model.codec import decode, encode
from engram.model.hashing import sha256
from engram.model.limits import print_time
from engram.model.memory import Memory

FORMAT = "engram.export"
VERSION = 1


def write(memories: Iterable[Memory], now: datetime) -> Iterator[str]:
    """The lines of an export, made as they are asked for."""
    seal = sha256()
    count = 0
    header = {"format": FORMAT, "version": VERSION, "exported_at": print_time(now)}
    yield _sealed(header, seal)
    for memory in memories:
        count += 1
        yield _sealed({"memory": encode(memory)}, seal)
    yield _line({"footer": {"memories": count, "sha256": seal.hexdigest()}})


def read(lines: Iterable[str]) -> Iterator[Memory]:
    """The memories of an export, as they come; the checksum is compared at the end.

    Raises:
        Invalid: when it is no export of ours, or of a newer form.
        Corrupt: when a line is damaged, or the end is missing or does not agree with what came before.
    """
    seal, count, begun, ended = sha256(), 0, False, False
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row = _parse(line, number, begun=begun)
        if not begun:
            _require_ours(row)
            begun = True
        elif "footer" in row:
            ended = row["footer"] == {"memories": count, "sha256": seal.hexdigest()}
            break
        elif "memory" in row:
            count += 1
            memory = decode("memory", row["memory"])
            assert isinstance(memory, Memory)
            yield memory
        seal.update(line.rstrip("\r\n").encode() + b"\n")
    if not ended:
        raise Corrupt(
            "The export is incomplete or was changed: its end does not agree with its content.",
            "Make the export again, or ask for a complete copy.",
        )


def _require_ours(row: dict[str, Any]) -> None:
    if row.get("format") != FORMAT:
        raise Invalid("This is no export of Engram.", "Use a file made by `engram export`.")
    if row.get("version") != VERSION:
        raise Invalid(
            f"This export has version {row.get('version')}; version {VERSION} is known.", "Upgrade Engram."
        )


def _parse(line: str, number: int, *, begun: bool) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        if not begun:
            raise Invalid("This is no export of Engram.", "Use a file made by `engram export`.")
        raise Corrupt(f"Line {number} of the export is damaged.", "Make the export again.")
    return row


def _sealed(row: dict[str, Any], seal: Any) -> str:  # noqa: ANN401 - hashlib's type has no name
    line = _line(row)
    seal.update(line.encode() + b"\n")
    return line


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))
