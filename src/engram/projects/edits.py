"""What Engram adds to a file of somebody else's: each piece puts itself in and takes itself out, and no other byte.

A piece is a JSON member, a hook in a JSON list, a TOML table, a marked block of text, or a script. Comments, order,
indentation, trailing commas, line ends, a byte order mark and a missing last newline stay as they are. What cannot
be edited safely is refused, and the file stays as it was.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from engram.errors import Conflict, Invalid
from engram.projects import jsonc
from engram.projects.jsonc import MISSING, Path

BOM = "\ufeff"

Row = dict[str, Any]


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


# --- JSON ---


class Member(NamedTuple):
    """A JSON object under a name. It is ours if `mark` stands in it; keys that others put into it are kept."""

    path: Path
    value: Row
    mark: str

    def into(self, text: str) -> str:
        """Set what is missing or outdated."""
        here = jsonc.look(jsonc.read(text), self.path)
        if here is MISSING:
            return jsonc.put(text, self.path, self.value)
        if not _is_ours(here, self.mark):
            raise _taken(self.path)
        for path, value in _leaves(self.value, here):
            text = jsonc.put(text, (*self.path, *path), value)
        return text

    def out_of(self, text: str, before: str) -> str:
        """Drop the member, and the objects that were made to hold it."""
        here = jsonc.look(jsonc.read(text), self.path)
        if not _is_ours(here, self.mark):
            return text
        if (then := jsonc.look(jsonc.read(before), self.path)) is not MISSING:
            return text if here == then else jsonc.put(text, self.path, then)
        return _pruned(jsonc.drop(text, self.path), self.path[:-1], before)


class Default(NamedTuple):
    """A JSON value that a file must have, and that is left alone where it has one."""

    path: Path
    value: Any

    def into(self, text: str) -> str:
        """Set it if it is missing."""
        known = jsonc.look(jsonc.read(text), self.path) is not MISSING
        return text if known else jsonc.put(text, self.path, self.value)

    def out_of(self, text: str, before: str) -> str:
        """Drop it if it came with us and nothing else is left beside it."""
        value = jsonc.read(text)
        if jsonc.look(jsonc.read(before), self.path) is not MISSING or value != {self.path[0]: self.value}:
            return text
        return _pruned(jsonc.drop(text, self.path), (), before)


class Hook(NamedTuple):
    """A command in a list of hooks. It is ours if its `command` ends as ours does, wherever Engram is installed."""

    path: Path
    value: Row
    ending: str

    def into(self, text: str) -> str:
        """Append the hook, or set the command of the one that is there."""
        wanted = next(row["command"] for _, row in _commands(self.value, ()))
        found = self._found(jsonc.read(text))
        if not found:
            return jsonc.append(text, self.path, self.value)
        for path, row in found:
            if row["command"] != wanted:
                text = jsonc.put(text, (*path, "command"), wanted)
        return text

    def out_of(self, text: str, before: str) -> str:
        """Drop the hook, and the lists and objects that were made to hold it."""
        found, then = self._found(jsonc.read(text)), self._found(jsonc.read(before))
        for index, (path, row) in reversed(list(enumerate(found))):
            if index >= len(then):
                text = _pruned(jsonc.drop(text, path), path[:-1], before, inside=self.path)
            elif row["command"] != (command := then[index][1]["command"]):
                text = jsonc.put(text, (*path, "command"), command)
        return text

    def _found(self, value: Any) -> list[tuple[Path, Row]]:  # noqa: ANN401 - any JSON value
        held = jsonc.look(value, self.path)
        return (
            []
            if held is MISSING
            else [(path, row) for path, row in _commands(held, self.path) if row["command"].endswith(self.ending)]
        )


def _commands(value: Any, path: Path) -> Iterator[tuple[Path, Row]]:  # noqa: ANN401 - any JSON value
    """Every object within a value that has a command, and where it stands."""
    if isinstance(value, dict):
        if isinstance(value.get("command"), str):
            yield path, value
        for key, each in value.items():
            yield from _commands(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _commands(each, (*path, index))


def _pruned(text: str, path: Path, before: str, *, inside: Path = ()) -> str:
    """Drop what became empty, from a path upwards, but for what was there before.

    What stands inside a list cannot be told by its place, so below `inside` everything empty goes.
    """
    then = jsonc.read(before)
    while jsonc.look(jsonc.read(text), path) in ({}, []):
        known = len(path) <= len(inside) or not inside
        if known and before.strip() and jsonc.look(then, path) is not MISSING:
            break
        if not path:
            return ""
        text, path = jsonc.drop(text, path), path[:-1]
    return text


def _words(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        for key, each in value.items():
            yield str(key)
            yield from _words(each)
    elif isinstance(value, list):
        for each in value:
            yield from _words(each)
    else:
        yield str(value)


def _is_ours(here: Any, mark: str) -> bool:  # noqa: ANN401 - any JSON value
    return isinstance(here, dict) and any(mark in word for word in _words(here))


def _leaves(wanted: Row, here: Row) -> Iterator[tuple[Path, Any]]:
    """What is missing or otherwise in an object, each with its path; what else is in it stays, at every depth."""
    for key, value in wanted.items():
        there = here.get(key, MISSING)
        if isinstance(value, dict) and isinstance(there, dict):
            yield from (((key, *path), each) for path, each in _leaves(value, there))
        elif there != value:
            yield (key,), value


def _merged(here: Row, wanted: Row) -> Row:
    """An object with what is wanted in it, and what else is in it kept, at every depth."""
    merged = dict(here)
    for key, value in wanted.items():
        there = here.get(key)
        merged[key] = _merged(there, value) if isinstance(value, dict) and isinstance(there, dict) else value
    return merged


def _taken(path: Path) -> Conflict:
    return Conflict(f"{_dotted(path)} is set already, and not by Engram.", "Rename or remove it, and run it again.")


def _dotted(path: Path) -> str:
    return ".".join(map(str, path))


# --- TOML ---


class Table(NamedTuple):
    """A TOML table under a dotted name. It is ours if `mark` stands in it; keys that others put there are kept."""

    path: tuple[str, ...]
    value: Row
    mark: str

    def into(self, text: str) -> str:
        """Append the table, or set what is missing or outdated in it."""
        data = _toml(text)
        here = jsonc.look(data, self.path)
        if here is not MISSING and not _is_ours(here, self.mark):
            raise _taken(self.path)
        known: Row = {} if here is MISSING else here
        wanted = _merged(known, self.value)
        if here is MISSING:
            new = _appended(text, self._written(_newline(text)), _newline(text))
        else:
            new = self._updated(text, {key: wanted[key] for key in self.value if known.get(key) != wanted[key]})
        holder = data
        for key in self.path[:-1]:
            holder = holder.setdefault(key, {})
        holder[self.path[-1]] = wanted
        if _toml_or_none(new) != data:
            raise Conflict(
                f"{_dotted(self.path)} cannot be set beside what is there.", "Write its parent as a [table] header."
            )
        return new

    def out_of(self, text: str, before: str) -> str:
        """Take out the table and the tables below it, or bring back the one that was there."""
        if not _is_ours(jsonc.look(_toml(text), self.path), self.mark):
            return text
        ours, theirs = self._span(text), self._span(before)
        if ours and theirs:
            return text[: ours[0]] + before[slice(*theirs)] + text[ours[1] :]
        new = text
        for start, end in reversed([(start, end) for name, start, end in _tables(text) if self._within(name)]):
            new = _cut(new, start, end)
        if jsonc.look(_toml_or_none(new) or {}, self.path) is not MISSING or _toml_or_none(new) is None:
            raise Conflict(f"{_dotted(self.path)} stands in a form we did not write.", "Take it out by hand.")
        return new

    def _span(self, text: str) -> tuple[int, int] | None:
        """Where the table stands under a header of its own."""
        return next(((start, end) for name, start, end in _tables(text) if name == self.path), None)

    def _within(self, name: tuple[str, ...]) -> bool:
        return name[: len(self.path)] == self.path

    def _written(self, line: str) -> str:
        rows = [f"{key} = {_toml_value(value)}" for key, value in self.value.items()]
        return line.join([f"[{_dotted(self.path)}]", *rows])

    def _updated(self, text: str, rows: Row) -> str:
        for key, value in rows.items():
            span = self._span(text)
            if span is None:
                raise Conflict(f"{_dotted(self.path)} stands in a form we did not write.", "Set it by hand.")
            body = text[slice(*span)]
            row = f"{key} = {_toml_value(value)}"
            old = re.search(rf"^{re.escape(key)}[ \t]*=[^\r\n]*", body, re.MULTILINE)
            if old:
                body = body[: old.start()] + row + body[old.end() :]
            else:
                head, line, rest = body.partition(_newline(text))
                body = f"{head}{line or _newline(text)}{row}{line}{rest}"
            text = text[: span[0]] + body + text[span[1] :]
        return text


def _toml(text: str) -> Row:
    import tomllib  # noqa: PLC0415 - only one agent has it

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"It is not valid TOML: {error}.") from None


def _toml_or_none(text: str) -> Row | None:
    try:
        return _toml(text)
    except Invalid:
        return None


def _toml_value(value: Any) -> str:  # noqa: ANN401 - strings, lists of them, and tables of them
    if isinstance(value, list):
        return f"[{', '.join(map(_toml_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_toml_value(each)}' for key, each in value.items())} }}"
    import json  # noqa: PLC0415 - a basic string of TOML is written as in JSON

    return json.dumps(value, ensure_ascii=False)


_STATEMENT = re.compile(
    r"""(?:
        \"{3}(?:[^\\]|\\.)*?\"{3,5} | '{3}.*?'{3,5}          # strings over several lines
      | "(?:[^"\\\r\n]|\\.)*" | '[^'\r\n]*' | \#[^\n]*      # strings on one line, comments
      | [^"'\#\[\]{}\n]+ | (?P<open>[\[{]) | (?P<close>[\]}]) | (?P<line>\n)
    )""",
    re.VERBOSE | re.DOTALL,
)


def _tables(text: str) -> list[tuple[tuple[str, ...], int, int]]:
    """Every table's name and where it stands: from its header to the end of its last line that says something.

    The text is valid TOML, so a bracket that opens a line outside of all others opens a header.
    """
    found: list[tuple[tuple[str, ...], int, int]] = []
    for start, end in _lines(text):
        line = text[start:end]
        if line.lstrip().startswith("["):
            found.append((_header(line), start, end))
        elif line.strip() and not line.lstrip().startswith("#") and found:
            found[-1] = (*found[-1][:2], end)
    return found


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """The lines of a TOML text, each with its newline; a value over several lines is one."""
    start = depth = at = 0
    while at < len(text):
        found = _STATEMENT.match(text, at)
        at = found.end() if found else at + 1
        kind = found.lastgroup if found else None
        depth += {"open": 1, "close": -1}.get(kind or "", 0)
        if kind == "line" and depth == 0:
            yield start, at
            start = at
    if start < len(text):
        yield start, len(text)


def _header(line: str) -> tuple[str, ...]:
    name: list[str] = []
    rest: Any = _toml(line)
    while rest:
        rest = rest[0] if isinstance(rest, list) else rest
        for key in rest:
            name.append(key)
            rest = rest[key]
            break
    return tuple(name)


# --- text ---


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
        line = _newline(text)
        block = line.join([self.begin, *self.text.strip("\n").split("\n"), self.end])
        span = self._span(text)
        if span is None:
            return _appended(text, block, line) if text else f"{self.front}{block}{line}"
        return text[: span[0]] + block + text[span[1] :]

    def out_of(self, text: str, before: str) -> str:
        """Take out the block and the blank line before it, and the front where nothing else is left."""
        span, then = self._span(text), self._span(before)
        if span is None:
            return text
        if then is not None:
            return text[: span[0]] + before[slice(*then)] + text[span[1] :]
        end = span[1] + len(_newline(text)) if text.startswith(_newline(text), span[1]) else span[1]
        left = _cut(text, span[0], end)
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


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _appended(text: str, block: str, line: str) -> str:
    """A block at the end, after a blank line; without a last newline where the text has none."""
    if not text:
        return block + line
    if text.endswith("\n"):
        return text + line + block + line
    return text + line + line + block


def _cut(text: str, start: int, end: int) -> str:
    """The text without a span of whole lines, and without the blank line that _appended() put before it."""
    line = _newline(text)
    head, tail = text[:start], text[end:]
    if head.endswith(line + line) or head == line:
        head = head[: -len(line)]
    if not tail and not text[start:end].endswith("\n"):
        head = head.removesuffix(line)
    return head + tail
