"""Pieces of TOML files: a table under a dotted name, put in and taken out as text."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from engram.errors import Conflict, Invalid
from engram.projects import jsonc
from engram.projects.edits import appended, cut
from engram.projects.edits_json import Row, dotted, is_ours, taken
from engram.projects.jsonc import MISSING, newline


class Table(NamedTuple):
    """A TOML table under a dotted name. It is ours if `mark` stands in it; keys that others put there are kept."""

    path: tuple[str, ...]
    value: Row
    mark: str

    def into(self, text: str) -> str:
        """Append the table, or set what is missing or outdated in it."""
        data = _toml(text)
        here = jsonc.look(data, self.path)
        if here is not MISSING and not is_ours(here, self.mark):
            raise taken(self.path)
        known: Row = {} if here is MISSING else here
        wanted = _merged(known, self.value)
        if here is MISSING:
            new = appended(text, self._written(newline(text)), newline(text))
        else:
            new = self._updated(text, {key: wanted[key] for key in self.value if known.get(key) != wanted[key]})
        holder = data
        for key in self.path[:-1]:
            holder = holder.setdefault(key, {})
            if not isinstance(holder, dict):
                raise Conflict(f"{key} is not a table.", "Rename or remove it, and run it again.")
        holder[self.path[-1]] = wanted
        if _toml_or_none(new) != data:
            raise Conflict(
                f"{dotted(self.path)} cannot be set beside what is there.", "Write its parent as a [table] header."
            )
        return new

    def out_of(self, text: str, before: str) -> str:
        """Take out the table and the tables below it, or bring back the one that was there."""
        if not is_ours(jsonc.look(_toml(text), self.path), self.mark):
            return text
        ours, theirs = self._span(text), self._span(before)
        if ours and theirs:
            return text[: ours[0]] + before[slice(*theirs)] + text[ours[1] :]
        new = text
        for start, end in reversed([(start, end) for name, start, end in _tables(text) if self._within(name)]):
            new = cut(new, start, end)
        if jsonc.look(_toml_or_none(new) or {}, self.path) is not MISSING or _toml_or_none(new) is None:
            raise Conflict(f"{dotted(self.path)} stands in a form we did not write.", "Take it out by hand.")
        return new

    def _span(self, text: str) -> tuple[int, int] | None:
        """Where the table stands under a header of its own."""
        return next(((start, end) for name, start, end in _tables(text) if name == self.path), None)

    def _within(self, name: tuple[str, ...]) -> bool:
        return name[: len(self.path)] == self.path

    def _written(self, line: str) -> str:
        rows = [f"{key} = {_toml_value(value)}" for key, value in self.value.items()]
        return line.join([f"[{dotted(self.path)}]", *rows])

    def _updated(self, text: str, rows: Row) -> str:
        for key, value in rows.items():
            span = self._span(text)
            if span is None:
                raise Conflict(f"{dotted(self.path)} stands in a form we did not write.", "Set it by hand.")
            body = text[slice(*span)]
            row = f"{key} = {_toml_value(value)}"
            old = re.search(rf"^{re.escape(key)}[ \t]*=[^\r\n]*", body, re.MULTILINE)
            if old:
                body = body[: old.start()] + row + body[old.end() :]
            else:
                head, line, rest = body.partition(newline(text))
                body = f"{head}{line or newline(text)}{row}{line}{rest}"
            text = text[: span[0]] + body + text[span[1] :]
        return text


def _merged(here: Row, wanted: Row) -> Row:
    """An object with what is wanted in it, and what else is in it kept, at every depth."""
    merged = dict(here)
    for key, value in wanted.items():
        there = here.get(key)
        merged[key] = _merged(there, value) if isinstance(value, dict) and isinstance(there, dict) else value
    return merged


def _toml(text: str) -> Row:
    import tomllib  # noqa: PLC0415 - only one agent has it

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number that is too long, and lists too deep, among them
        raise Invalid(f"It is not valid TOML: {error}.", jsonc.MEND) from None


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
