"""How far transcripts were read: a private file that is appended to, and may be deleted at any time.

Nothing depends on it but speed: what was taken in before is known by the message it cites.
"""

import json
import os
from contextlib import suppress

from engram.drafts import whole_file
from engram.errors import Unavailable

SLACK = 1_000
"""Lines that say nothing any more, before the file is written anew."""


class CursorFile:
    """Names and how far each was read: a stamp of what was there, and a mark of where to go on.

    Each is a line, and the last line of a name counts. A line that a crash tore off is passed over. Two processes
    may append at once.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._known: dict[str, tuple[str, str]] | None = None
        self._torn = False

    def get(self, name: str) -> tuple[str, str] | None:
        """The stamp and the mark that were kept under a name."""
        return self._all().get(name)

    def put(self, name: str, stamp: str, mark: str) -> None:
        """Keep how far something was read.

        Raises:
            Unavailable: when the file cannot be written.
        """
        line = json.dumps([name, stamp, mark]) + "\n"
        known = self._all()
        try:
            self._append(("\n" if self._torn else "") + line)
        except OSError as error:
            raise Unavailable(
                f"{self._path} cannot be written: {error.strerror}.",
                "Fix the permissions or the disk, or the same is read again.",
            ) from None
        known[name] = (stamp, mark)
        self._torn = False

    def _all(self) -> dict[str, tuple[str, str]]:
        if self._known is None:
            raw = self._read()
            lines = raw.splitlines()
            self._known = dict(row for row in map(_row, lines) if row)
            self._torn = bool(raw) and not raw.endswith(b"\n")
            if len(lines) > 2 * len(self._known) + SLACK:
                with suppress(OSError):
                    self._rewrite(self._known)
        return self._known

    def _read(self) -> bytes:
        try:
            with os.fdopen(os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
                return file.read()
        except OSError:
            return b""

    def _append(self, text: str) -> None:
        os.makedirs(os.path.dirname(self._path) or ".", mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW
        with os.fdopen(os.open(self._path, flags, 0o600), "wb", buffering=0) as file:
            file.write(text.encode())

    def _rewrite(self, known: dict[str, tuple[str, str]]) -> None:
        with whole_file(self._path) as file:
            for name, (stamp, mark) in known.items():
                file.write((json.dumps([name, stamp, mark]) + "\n").encode())
        self._torn = False


def _row(line: bytes) -> tuple[str, tuple[str, str]] | None:
    try:
        name, stamp, mark = json.loads(line)
    except (ValueError, TypeError, RecursionError):
        return None
    return (name, (stamp, mark)) if all(isinstance(part, str) for part in (name, stamp, mark)) else None
