"""JSON of any size, read and written piece by piece: no more than one element of a list is held at a time."""

import codecs
import io
import json
import re
from collections.abc import Collection, Iterator
from typing import IO, Any, BinaryIO, NamedTuple, Protocol, TextIO

from engram.errors import Corrupt, Invalid

CHUNK = 256 * 1024
FIRST_LINE = 1024 * 1024
"""The most bytes that a first line is looked at in one piece; of a longer one, a member after the other."""

LARGEST = 64 * 1024 * 1024
"""The most characters that one element may have: a conversation of years has a few million."""

NEAR = 16
"""Characters before the end of what was read in which a fault may only mean that the rest is still to come."""

MOST_UNPACKED = 8 * 1024**3
"""The most bytes that are unpacked of one compressed file."""

Piece = tuple[tuple[str, ...], Any]
"""The keys on the way to a value, and the value."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*("?)|[{}\[\],]', re.DOTALL)
_QUOTED = re.compile(r'(?:[^"\\]|\\.)*', re.DOTALL)
_SPACE = re.compile("[ \t\r\n\ufeff\x1e]*")
_OF_NUMBERS = "0123456789.eE+-"
_DECODER = json.JSONDecoder(strict=False)
_CUT = "It ends in the middle."


class Broken(NamedTuple):
    """Something that could not be read, and why."""

    message: str


class _Readable(Protocol):
    def read(self, size: int, /) -> str: ...


def as_text(file: BinaryIO, head: bytes) -> TextIO:
    """A file as text, by the mark it begins with; bytes that are none of its encoding become lone surrogates."""
    encoding = next((name for mark, name in _BOMS if head.startswith(mark)), "utf-8")
    errors = "replace" if encoding == "utf-16" else "surrogateescape"
    return io.TextIOWrapper(file, encoding=encoding, errors=errors, newline="")


def elements(stream: TextIO) -> Iterator[tuple[str, Any]]:
    """Every element of a list, or every member of an object with its name; of members that are lists each element.

    A `Broken` stands in the place of what could not be read.
    """
    text = _Text(stream)
    opening = text.peek()
    if opening in ("[", "{"):
        yield from ((way[-1] if way else "", value) for way, value in _value(text, (), frozenset()))
    else:
        yield "", Broken("It is neither a JSON list nor a JSON object." if opening else "It is empty.")


def pieces(file: IO[bytes], within: Collection[str] = ()) -> Iterator[Piece]:
    """Every element of the lists, and every other value, of the JSON documents in a file, one after the other.

    The objects of documents, and those under a key of `within`, are gone into; all else comes whole.

    Raises:
        Invalid: when the file is no JSON, or not UTF-8.
        Corrupt: when it ends in the middle, or an element is larger than is held at a time.
    """
    text = _Text(_Decoded(file), exact=True)
    while text.peek():
        yield from _value(text, (), frozenset(within))


def rows(path: str, lists: Collection[str]) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """The objects of a file, each with its name: one a line, in a list, or in lists under one of these keys.

    A line that is no object comes as None.

    Raises:
        Invalid, Corrupt: as `pieces`.
    """
    with open(path, "rb") as file:
        by_line = _begins_with_a_row(file, lists)
        file.seek(0)
        if by_line:
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


def _begins_with_a_row(file: IO[bytes], lists: Collection[str]) -> bool:
    """Whether the first line of a file is an object of its own, and none that holds one of these lists."""
    line = file.readline(FIRST_LINE)
    if len(line) < FIRST_LINE or line.endswith(b"\n"):
        first = _parsed(line)
        return isinstance(first, dict) and not any(name in first for name in lists)
    file.seek(0)
    text = _Text(_Decoded(file))
    if text.peek() != "{":
        return False
    text.take()
    while (mark := text.peek()) not in ("}", ""):
        if mark == ",":
            text.take()
            continue
        name = text.value()
        if not isinstance(name, str) or name in lists or text.peek() != ":":
            return False
        text.take()
        text.value()
    return mark == "}"


def _parsed(line: bytes) -> Any:  # noqa: ANN401 - any JSON value
    try:
        return json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None


def _value(text: "_Text", way: tuple[str, ...], within: frozenset[str]) -> Iterator[Piece]:
    mark = text.peek()
    if mark == "{" and (not way or way[-1] in within):
        yield from _members(text, way, within)
    elif mark == "[":
        yield from ((way, each) for each in _list(text))
    else:
        yield way, text.value()


def _members(text: "_Text", way: tuple[str, ...], within: frozenset[str]) -> Iterator[Piece]:
    text.take()
    while (mark := text.peek()) not in ("}", ""):
        if mark == ",":
            text.take()
            continue
        name = text.value() if mark == '"' else text.broken("A name of a member is not text.")
        if isinstance(name, Broken) or text.peek() != ":":
            yield way, text.broken("It is damaged: what follows cannot be read." if text.peek() else _CUT)
            return
        text.take()
        yield from _value(text, (*way, name), within)
    if not mark:
        yield way, text.broken(_CUT)
    text.take()


def _list(text: "_Text") -> Iterator[Any]:
    text.take()
    while (mark := text.peek()) not in ("]", ""):
        if mark == ",":
            text.take()
        else:
            yield text.value()
    if not mark:
        yield text.broken(_CUT)
    text.take()


class _Decoded:
    """The text of a file of UTF-8."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._decoder = file, codecs.getincrementaldecoder("utf-8")("strict")

    def read(self, size: int, /) -> str:
        """The next characters; "" at the end.

        Raises:
            Invalid: when it is not UTF-8.
        """
        while raw := self._file.read(size):
            try:
                if text := self._decoder.decode(raw):
                    return text
            except UnicodeDecodeError:
                raise Invalid("It is not UTF-8.", "Convert it first.") from None
        return ""


class _Text:
    """A window over a text: read ahead as far as one value needs, and let go of behind it.

    An `exact` one raises where another tells what is broken and goes on.
    """

    def __init__(self, stream: _Readable, *, exact: bool = False) -> None:
        self._stream, self._exact = stream, exact
        self._window, self._at, self._passed, self._ended = "", 0, 0, False

    def peek(self) -> str:
        """The next character that is no space; "" at the end."""
        while True:
            space = _SPACE.match(self._window, self._at)
            self._at = space.end() if space else self._at
            if self._at < len(self._window) or self._ended:
                return self._window[self._at : self._at + 1]
            self._read(CHUNK)

    def take(self) -> None:
        """Go behind the next character."""
        self._at += 1

    def value(self) -> Any:  # noqa: ANN401 - any JSON
        """The next value, or why there is none; behind it in either case."""
        while True:
            size = len(self._window) - self._at
            try:
                value, end = _DECODER.raw_decode(self._window, self._at)
            except RecursionError:
                return self._pass_over("It is nested too deeply.")
            except json.JSONDecodeError as error:
                goes_on = error.msg.startswith("Unterminated") or error.pos >= len(self._window.rstrip())
                if self._ended or not (goes_on or error.pos >= len(self._window) - NEAR):
                    return self._pass_over(_CUT if goes_on else f"It is damaged: {error.msg}.")
            except ValueError:  # no fault of the JSON: Python makes no number of so many digits
                return self._pass_over("A number in it has too many digits.")
            else:
                after = self._window[end : end + 1]
                if self._ended or isinstance(value, dict | list | str) or (after and after not in _OF_NUMBERS):
                    self._at = end
                    return value
                if end < len(self._window) - NEAR:
                    return self._pass_over("It is damaged: no number looks like this.")
            if size > LARGEST:
                return self._pass_over(f"It is too large: more than {LARGEST:,} characters.", Corrupt)
            self._read(max(CHUNK, size))  # twice as much each time: a long value is not parsed a thousand times

    def broken(self, why: str, error: type[Invalid | Corrupt] = Invalid) -> Broken:
        """What could not be read.

        Raises:
            Invalid, Corrupt: in an exact text, instead.
        """
        if self._exact:
            kind, hint = (Corrupt, "Get a complete copy of it.") if why == _CUT else (error, "Check the file.")
            raise kind(f"{why[:-1]}, after character {self._passed + self._at:,}.", hint)
        return Broken(why)

    def _pass_over(self, why: str, error: type[Invalid | Corrupt] = Invalid) -> Broken:
        """Go behind a value that cannot be read, by its brackets and quotes alone, keeping nothing of it."""
        broken = self.broken(why, error)
        depth, start, moved, quoted = 0, self._at, False, False
        while True:
            if quoted:
                start = _QUOTED.match(self._window, start).end()  # type: ignore[union-attr] # it matches anything
                quoted = self._window[start : start + 1] != '"'
                start += not quoted
            for token in () if quoted else _TOKEN.finditer(self._window, start):
                mark, start = token[0], token.end()
                if mark[0] == '"':
                    quoted = not token[1]  # a text that goes on in what is still to be read
                elif mark in "]}," and depth == 0:
                    # A bracket that closes nothing is itself what is wrong: going on before it would never end.
                    self._at = token.start() if token.start() > self._at or moved else token.end()
                    return broken
                else:
                    depth += (mark in "[{") - (mark in "]}")
            if self._ended:
                self._window, self._at = "", 0
                return broken
            self._at, moved = start if quoted else len(self._window), True
            self._read(CHUNK)
            start = 0

    def _read(self, size: int) -> None:
        more = self._stream.read(size)
        self._passed += self._at
        self._window, self._at = self._window[self._at :] + more, 0
        self._ended = not more


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
