"""JSON of any size, read and written piece by piece: no more than one element of a list is held at a time."""

import codecs
import json
from collections.abc import Collection, Iterator
from typing import IO, Any

from engram.errors import Corrupt, Invalid

CHUNK = 256 * 1024
LARGEST = 16 * 1024 * 1024
"""The most characters that one element may have."""

MOST_UNPACKED = 8 * 1024**3
"""The most bytes that are unpacked of one compressed file."""

Piece = tuple[tuple[str, ...], Any]
"""The keys on the way to a value, and the value."""

_SPACE = " \t\r\n\ufeff\x1e"
_DECODER = json.JSONDecoder()


def pieces(file: IO[bytes], within: Collection[str] = ()) -> Iterator[Piece]:
    """Every element of the lists, and every other value, of the JSON documents in a file, one after the other.

    The objects of documents, and those under a key of `within`, are gone into; all else comes whole.

    Raises:
        Invalid: when the file is no JSON, or not UTF-8.
        Corrupt: when it ends in the middle, or an element is larger than is held at a time.
    """
    text = _Text(file)
    while text.mark():
        yield from _value(text, (), frozenset(within))


def rows(path: str, lists: Collection[str]) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """The objects of a file, each with its name: one a line, in a list, or in lists under one of these keys.

    A line that is no object comes as None.

    Raises:
        Invalid, Corrupt: as `pieces`.
    """
    with open(path, "rb") as file:
        first = _parsed(file.readline(LARGEST))
        file.seek(0)
        if isinstance(first, dict) and not any(name in first for name in lists):
            for number, line in enumerate(iter(lambda: file.readline(LARGEST), b""), 1):
                if line.strip():
                    row = _parsed(line)
                    yield f"line {number}", row if isinstance(row, dict) else None
            return
        count = 0
        for way, value in pieces(file, lists):
            if isinstance(value, dict) and (not way or way[-1] in lists):
                count += 1
                yield f"row {count}", value


def _parsed(line: bytes) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None


def _value(text: "_Text", path: tuple[str, ...], within: frozenset[str]) -> Iterator[Piece]:
    mark = text.need()
    if mark == "{" and (not path or path[-1] in within):
        yield from _object(text, path, within)
    elif mark == "[":
        yield from _list(text, path)
    else:
        yield path, text.take()


def _object(text: "_Text", path: tuple[str, ...], within: frozenset[str]) -> Iterator[Piece]:
    text.skip()
    if text.need() == "}":
        text.skip()
        return
    while True:
        key = text.take()
        if not isinstance(key, str) or text.need() != ":":
            raise text.wrong()
        text.skip()
        yield from _value(text, (*path, key), within)
        if text.next_of("}"):
            return


def _list(text: "_Text", path: tuple[str, ...]) -> Iterator[Piece]:
    text.skip()
    if text.need() == "]":
        text.skip()
        return
    while True:
        text.need()
        yield path, text.take()
        if text.next_of("]"):
            return


class _Text:
    """The text of a file with a place in it, of which only what is needed is in memory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8")()
        self._text, self._at, self._passed, self._ended = "", 0, 0, False

    def mark(self) -> str:
        """The next character that is no space, or "" at the end."""
        while True:
            while self._at < len(self._text):
                if (mark := self._text[self._at]) not in _SPACE:
                    return mark
                self._at += 1
            if not self._more():
                return ""

    def need(self) -> str:
        """The next character that is no space, where something has to come."""
        if mark := self.mark():
            return mark
        raise Corrupt(f"It ends in the middle, after {self._passed:,} characters.", "Get a complete copy of it.")

    def skip(self) -> None:
        """Pass over the character at hand."""
        self._at += 1

    def next_of(self, end: str) -> bool:
        """Pass over a comma, or over the end: then it is over."""
        mark = self.need()
        if mark not in (",", end):
            raise self.wrong()
        self.skip()
        return mark == end

    def take(self) -> Any:  # noqa: ANN401 - any JSON value
        """The whole value that begins here."""
        self.need()
        wanted = CHUNK
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except RecursionError:
                raise self.wrong() from None
            except json.JSONDecodeError:
                end = len(self._text)
                if self._ended:
                    self._fail()
            else:
                if end < len(self._text) or self._ended or self._text[end - 1] in '"]}':
                    self._at = end
                    return value
            if end - self._at > LARGEST:
                raise Corrupt(f"A value after character {self._passed:,} is too large, or has no end.", "")
            target = len(self._text) - self._at + wanted
            while len(self._text) - self._at < target and self._more():
                pass
            wanted *= 2

    def wrong(self) -> Invalid:
        """The refusal of what is no JSON."""
        return Invalid(f"It is no JSON after character {self._passed + self._at:,}.", "Check the file.")

    def _fail(self) -> None:
        """Tell a document that was cut off from one that is wrong."""
        try:
            _DECODER.raw_decode(self._text, self._at)
        except json.JSONDecodeError as error:
            cut = error.pos >= len(self._text.rstrip()) or "Unterminated" in error.msg
            self._at = len(self._text)
            if cut:
                self.need()
        raise self.wrong()

    def _more(self) -> bool:
        """Read on, and let go of what was passed."""
        if self._ended:
            return False
        try:
            raw = self._file.read(CHUNK)
            found = self._decode.decode(raw, final=not raw)
        except UnicodeDecodeError:
            raise Invalid(f"It is not UTF-8 after character {self._passed:,}.", "Convert it first.") from None
        except EOFError:
            raise Corrupt("It ends in the middle.", "Get a complete copy of it.") from None
        self._ended = not raw
        self._passed += self._at
        self._text, self._at = self._text[self._at :] + found, 0
        return not self._ended


class Unpacking:
    """A compressed file that ends with an error when it unpacks to more than anybody keeps in one."""

    def __init__(self, file: IO[bytes], most: int = MOST_UNPACKED) -> None:
        self._file, self._left = file, most

    def read(self, count: int = CHUNK) -> bytes:
        """The next bytes.

        Raises:
            Corrupt: when it is too much, or damaged.
        """
        import zlib  # noqa: PLC0415 - only for what is compressed

        try:
            raw = self._file.read(count)
        except (EOFError, OSError, zlib.error) as error:
            raise Corrupt(f"It cannot be unpacked: {error}.", "Get a complete copy of it.") from None
        self._left -= len(raw)
        if self._left < 0:
            raise Corrupt("It unpacks to more than any store holds.", "Nothing more of it was read.")
        return raw


def print_list(begin: str, rows: Iterator[Any], end: str) -> Iterator[str]:
    """A list as JSON between two texts, row by row."""
    yield begin
    for number, row in enumerate(rows):
        yield (",\n" if number else "\n") + json.dumps(row, ensure_ascii=False)
    yield f"\n{end}"
