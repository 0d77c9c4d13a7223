"""What Engram adds to a file of somebody else's: each piece puts itself in and takes itself out, and no other byte.

A piece is a marked block of text or a script, one of JSON (`edits_json`), or one of TOML (`edits_toml`). Comments,
order, indentation, trailing commas, line ends, a byte order mark and a missing last newline stay as they are. What
cannot be edited safely is refused, and the file stays as it was.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from engram.errors import Conflict, Invalid
from engram.projects.jsonc import newline

BOM = "\ufeff"


class Piece(Protocol):
    """Something that can be put into a text once, and taken out again."""

    def into(self, text: str) -> str:
        """The text with the piece in it: the same text if it is there already.

        Raises:
            Invalid, Conflict: when the text cannot be read, or its place is taken by something else.
        """

    def out_of(self, text: str, before: str) -> str:
        """The text without the piece and what only the piece needed; `before` is the text as we once found it.

        Where something of the kind was there before, that comes back in its place.
        """


def apply(data: bytes, pieces: Sequence[Piece]) -> bytes:
    """A file's bytes with the pieces in it.

    Raises:
        Invalid, Conflict: when that is not possible.
    """
    text, mark = _decoded(data)
    for piece in pieces:
        text = piece.into(text)
    return (mark + text).encode()


def strip(data: bytes, pieces: Sequence[Piece], before: bytes = b"") -> bytes:
    """A file's bytes without the pieces; empty where nothing else is left of a file that was not there before.

    Raises:
        Invalid, Conflict: when that is not possible.
    """
    (found, mark), (then, _) = _decoded(data), _decoded(before)
    text = found
    for piece in reversed(pieces):
        text = piece.out_of(text, then)
    if text == found:
        return data
    return (mark + text).encode() if text.strip() or then else b""


def _decoded(data: bytes) -> tuple[str, str]:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise Invalid("It is not UTF-8 text.", "Save it as UTF-8, or move it away.") from None
    return (text[1:], BOM) if text.startswith(BOM) else (text, "")


class Block(NamedTuple):
    """A marked block of plain text or Markdown. What stands between the marks is ours.

    `front` is what a file of ours begins with, before the block.
    """

    begin: str
    text: str
    end: str
    front: str = ""

    def into(self, text: str) -> str:
        """Append the block, or replace the one that is there."""
        line = newline(text)
        block = line.join([self.begin, *self.text.strip("\n").split("\n"), self.end])
        span = self._span(text)
        if span is None:
            return appended(text, block, line) if text else f"{self.front}{block}{line}"
        return text[: span[0]] + block + text[span[1] :]

    def out_of(self, text: str, before: str) -> str:
        """Take out the block and the blank line before it, and the front where nothing else is left."""
        span, then = self._span(text), self._span(before)
        if span is None:
            return text
        if then is not None:
            return text[: span[0]] + before[slice(*then)] + text[span[1] :]
        end = span[1] + len(newline(text)) if text.startswith(newline(text), span[1]) else span[1]
        left = cut(text, span[0], end)
        return "" if not before and left.strip() == self.front.strip() else left

    def _span(self, text: str) -> tuple[int, int] | None:
        begins, ends = text.count(self.begin), text.count(self.end)
        start = text.find(self.begin)
        end = text.find(self.end, max(start, 0))
        if (begins, ends) == (0, 0):
            return None
        if (begins, ends) != (1, 1) or end < 0:
            raise Conflict(
                f"The marks {self.begin} and {self.end} do not stand there once each, in order.",
                "Leave one pair, or none, and run it again.",
            )
        return start, end + len(self.end)


SCRIPT = "#!/bin/sh\nexec {}\n"
MODULE = ("-m", "engram.surfaces.cli")
"""How a Python is asked for Engram where there is no command."""


class Script(NamedTuple):
    """A file that does nothing but call Engram with these words. One that does anything else is somebody's own."""

    line: str
    words: tuple[str, ...]

    def into(self, text: str) -> str:
        """The script, in the place of one that calls an Engram elsewhere."""
        if text.strip() and not self._is_ours(text):
            raise Conflict(
                "It is there already, and is not what setup writes.",
                f"Move it away and run it again, or let it call: {self.line}",
            )
        return SCRIPT.format(self.line)

    def out_of(self, text: str, before: str) -> str:
        """What was there before us."""
        if self._is_ours(text):
            return before
        if " ".join(self.words) in text:
            raise Conflict("It calls Engram, and is not what setup writes.", "Take out that line by hand.")
        return text

    def _is_ours(self, text: str) -> bool:
        """Whether a text is one that set-up writes, wherever Engram is installed."""
        from shlex import join, split  # noqa: PLC0415 - set-up alone

        head, _, tail = SCRIPT.partition("{}")
        line = text[len(head) : -len(tail)]
        try:
            words = split(line)
        except ValueError:
            return False
        program, *rest = words or [""]
        start = rest[: len(rest) - len(self.words)]
        ours = tuple(start) == MODULE or (not start and program.rpartition("/")[2] == "engram")
        return ours and rest == [*start, *self.words] and text == SCRIPT.format(join(words))


def appended(text: str, block: str, line: str) -> str:
    """A block at the end, after a blank line; without a last newline where the text has none."""
    if not text:
        return block + line
    if text.endswith("\n"):
        return text + line + block + line
    return text + line + line + block


def cut(text: str, start: int, end: int) -> str:
    """The text without a span of whole lines, and without the blank line that appended() put before it."""
    line = newline(text)
    head, tail = text[:start], text[end:]
    if head.endswith(line + line) or head == line:
        head = head[: -len(line)]
    if not tail and not text[start:end].endswith("\n"):
        head = head.removesuffix(line)
    return head + tail
