"""JSON that is larger than memory: the elements of its lists one by one, and what is damaged passed over."""

import codecs
import io
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, TextIO

CHUNK = 256 * 1024
LARGEST = 64 * 1024 * 1024
"""Characters of one element: a conversation of years has a few million."""

NEAR = 16
"""Characters before the end of what was read in which a fault may only mean that the rest is still to come."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*("?)|[{}\[\],]', re.DOTALL)
_QUOTED = re.compile(r'(?:[^"\\]|\\.)*', re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]*")
_OF_NUMBERS = "0123456789.eE+-"
_DECODER = json.JSONDecoder(strict=False)


class Broken(NamedTuple):
    """Something that could not be read, and why."""

    message: str


def as_text(file: BinaryIO, head: bytes) -> TextIO:
    """A file as text, by the mark it begins with; bytes that are none of its encoding become lone surrogates."""
    encoding = next((name for mark, name in _BOMS if head.startswith(mark)), "utf-8")
    errors = "replace" if encoding == "utf-16" else "surrogateescape"
    return io.TextIOWrapper(file, encoding=encoding, errors=errors, newline="")


def elements(stream: TextIO) -> Iterator[tuple[str, Any]]:
    """Every element of a list, or every member of an object with its name; of members that are lists each element.

    A `Broken` stands in the place of what could not be read. Only one element is in memory at a time.
    """
    text = _Text(stream)
    opening = text.peek()
    if opening == "[":
        yield from (("", each) for each in _list(text))
    elif opening == "{":
        yield from _members(text)
    else:
        yield "", Broken("It is neither a list nor an object of JSON." if opening else "It is empty.")


def _members(text: "_Text") -> Iterator[tuple[str, Any]]:
    text.take()
    while (mark := text.peek()) not in ("}", ""):
        if mark == ",":
            text.take()
            continue
        name = text.value() if mark == '"' else Broken("A name of a member is no text.")
        if isinstance(name, Broken) or text.peek() != ":":
            yield "", Broken("It is damaged: what follows cannot be read.")
            return
        text.take()
        if text.peek() == "[":
            yield from ((name, each) for each in _list(text))
        else:
            yield name, text.value()
    if not mark:
        yield "", Broken("It ends in the middle.")


def _list(text: "_Text") -> Iterator[Any]:
    text.take()
    while (mark := text.peek()) not in ("]", ""):
        if mark == ",":
            text.take()
        else:
            yield text.value()
    if not mark:
        yield Broken("It ends in the middle.")
    text.take()


class _Text:
    """A window over a text: read ahead as far as one value needs, and let go of behind it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._window, self._at, self._ended = "", 0, False

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
                real = not error.msg.startswith("Unterminated") and error.pos < len(self._window) - NEAR
                if real or self._ended:
                    return self._pass_over("It ends in the middle." if not real else f"It is damaged: {error.msg}.")
            else:
                after = self._window[end : end + 1]
                if self._ended or isinstance(value, dict | list | str) or (after and after not in _OF_NUMBERS):
                    self._at = end
                    return value
                if end < len(self._window) - NEAR:
                    return self._pass_over("It is damaged: no number looks like this.")
            if size > LARGEST:
                return self._pass_over(f"It has more than {LARGEST:,} characters.")
            self._read(
                max(CHUNK, size)
            )  # twice as much each time, so that a long value is not parsed a thousand times

    def _pass_over(self, why: str) -> Broken:
        """Go behind a value that cannot be read, by its brackets and quotes alone, keeping nothing of it."""
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
                    return Broken(why)
                else:
                    depth += (mark in "[{") - (mark in "]}")
            if self._ended:
                self._window, self._at = "", 0
                return Broken(why)
            self._at, moved = start if quoted else len(self._window), True
            self._read(CHUNK)
            start = 0

    def _read(self, size: int) -> None:
        more = self._stream.read(size)
        self._window, self._at = self._window[self._at :] + more, 0
        self._ended = not more
