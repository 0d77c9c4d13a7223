"""JSON with comments as text: where each value stands, and edits that leave every other byte alone."""

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from engram.errors import Conflict, Invalid

Path = tuple[str | int, ...]

MISSING: Any = object()
DEEPEST = 200
MEND = "Mend it or move it away, and run the same command again."

_BLANK = re.compile(r"(?:[ \t\r\n]|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_INDENT = re.compile(r"\n([ \t]+)\S")


class Node(NamedTuple):
    """A value and where it stands. `parts` are the members of an object or the items of an array."""

    start: int
    end: int
    plain: Any
    parts: "tuple[Part, ...] | None"
    named: bool

    @property
    def value(self) -> Any:  # noqa: ANN401 - any JSON value
        """The value as Python has it; the last of two equal keys counts, as with every JSON reader."""
        if self.parts is None:
            return self.plain
        if self.named:
            return {part.key: part.node.value for part in self.parts}
        return [part.node.value for part in self.parts]


class Part(NamedTuple):
    """A member or an item: its key, where it begins, its value, and where its comma stands (-1: it has none)."""

    key: str | int
    start: int
    node: Node
    comma: int


def parse(text: str) -> Node:
    """Read JSON with comments and trailing commas.

    Raises:
        Invalid: naming the line.
    """
    node = _value(text, _skip(text, 0), 0)
    end = _skip(text, node.end)
    if end != len(text):
        raise _wrong(text, end, "something follows the value")
    return node


def read(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """The value of a text; an empty object where there is none yet.

    Raises:
        Invalid: when it is not JSON.
    """
    return parse(text).value if text.strip() else {}


def look(value: Any, path: Path) -> Any:  # noqa: ANN401 - any JSON value
    """What stands at a path within a value, or MISSING."""
    for key in path:
        if isinstance(value, dict) and isinstance(key, str):
            value = value.get(key, MISSING)
        elif isinstance(value, list) and isinstance(key, int):
            value = value[key] if key < len(value) else MISSING
        else:
            return MISSING
    return value


def put(text: str, path: Path, value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Set the value at a path, making the objects on the way.

    Raises:
        Invalid, Conflict: when the text is not JSON, or something else than an object is in the way.
    """
    if not text.strip():
        return _written(_nested(path, value), "", "  ", "\n") + "\n"
    node, depth = _follow(text, parse(text), path)
    if depth == len(path):
        indent = _line_indent(text, node.start)
        return text[: node.start] + _fit(text, value, indent, node) + text[node.end :]
    if not node.named:
        where = ".".join(map(str, path[:depth])) or "the whole"
        raise Conflict(f"{where} is not an object.")
    key, rest = path[depth], _nested(path[depth + 1 :], value)
    return _insert(text, node, lambda written: f"{json.dumps(key)}: {written}", rest)


def append(text: str, path: Path, value: Any) -> str:  # noqa: ANN401 - any JSON value
    """Add an item at the end of the array at a path, making it where there is none.

    Raises:
        Invalid, Conflict: when the text is not JSON, or something else than an array is there.
    """
    if look(read(text), path) is MISSING:
        return put(text, path, [value])
    node, _ = _follow(text, parse(text), path)
    if node.named or node.parts is None:
        raise Conflict(f"{'.'.join(map(str, path))} is not a list.")
    return _insert(text, node, lambda written: written, value)


def drop(text: str, path: Path) -> str:
    """Take out the member or item at a path, with the comma and line it came with; no change if it is absent."""
    node, depth = _follow(text, parse(text), path[:-1])
    if depth < len(path) - 1 or node.parts is None:
        return text
    index = next((place for place, part in enumerate(node.parts) if part.key == path[-1]), None)
    return text if index is None else _without(text, node, index)


# --- reading ---


def _value(text: str, at: int, depth: int) -> Node:
    if depth > DEEPEST:
        raise _wrong(text, at, "it is nested too deeply")
    mark = text[at : at + 1]
    if mark in ("{", "["):
        return _container(text, at, depth)
    if mark == '"':
        value, end = _string(text, at)
        return Node(at, end, value, None, named=False)
    if found := _PLAIN.match(text, at):
        try:
            return Node(at, found.end(), json.loads(found[0]), None, named=False)
        except ValueError:
            raise _wrong(text, at, "the number is too long") from None
    raise _wrong(text, at, "a value is missing")


def _container(text: str, start: int, depth: int) -> Node:
    named, close = text[start] == "{", "}" if text[start] == "{" else "]"
    parts: list[Part] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != close:
        if parts and parts[-1].comma < 0:
            raise _wrong(text, at, "a comma is missing")
        begin, key = at, len(parts)
        name: str | int = key
        if named:
            name, at = _string(text, at)
            at = _skip(text, at)
            if text[at : at + 1] != ":":
                raise _wrong(text, at, "a colon is missing")
            at = _skip(text, at + 1)
        node = _value(text, at, depth + 1)
        at = _skip(text, node.end)
        comma = at if text[at : at + 1] == "," else -1
        parts.append(Part(name, begin, node, comma))
        if comma >= 0:
            at = _skip(text, at + 1)
    return Node(start, at + 1, None, tuple(parts), named=named)


def _string(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] != '"':
        raise _wrong(text, at, "a quoted name is missing")
    found = _STRING.match(text, at)
    try:
        return str(json.loads(found[0] if found else "")), found.end() if found else at
    except ValueError:
        raise _wrong(text, at, "the string does not end or has a bad escape") from None


def _skip(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _wrong(text: str, at: int, what: str) -> Invalid:
    return Invalid(f"It is not valid JSON: {what}, in line {_line(text, at)}.", MEND)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _follow(text: str, node: Node, path: Path) -> tuple[Node, int]:
    """The deepest node on a path, and how many steps lead there."""
    for depth, key in enumerate(path):
        found = [part for part in node.parts or () if part.key == key]
        if len(found) > 1:
            raise Conflict(f"{key!r} stands there twice, in line {_line(text, found[1].start)} again.")
        if not found:
            return node, depth
        node = found[0].node
    return node, len(path)


# --- writing ---


def _insert(text: str, node: Node, dress: Callable[[str], str], value: Any) -> str:  # noqa: ANN401 - JSON
    parts = node.parts or ()
    indent, unit, line = _line_indent(text, node.start), _unit(text), newline(text)
    if not parts:
        inner = text[node.start + 1 : node.end - 1].rstrip()
        child = indent + unit
        new = f"{inner}{line}{child}{dress(_written(value, child, unit, line))}{line}{indent}"
        return text[: node.start + 1] + new + text[node.end - 1 :]
    last = parts[-1]
    after = last.comma + 1 if last.comma >= 0 else last.node.end
    own = "," if last.comma >= 0 else ""
    if "\n" not in text[node.start : parts[0].start]:
        new = f"{'' if own else ','} {dress(json.dumps(value, ensure_ascii=False))}{own}"
        return text[:after] + new + text[after:]
    child = _line_indent(text, parts[0].start)
    new = f"{line}{child}{dress(_written(value, child, unit, line))}{own}"
    tail = text[after : node.end - 1].rstrip()
    return text[:after] + ("" if own else ",") + tail + new + text[after + len(tail) :]


def _without(text: str, node: Node, index: int) -> str:
    parts = node.parts or ()
    part = parts[index]
    lead = len(text[: part.start].rstrip())
    if part.comma >= 0:
        end = part.comma + 1
        rest = len(text[end:]) - len(text[end:].lstrip(" \t"))
        if text[end + rest : end + rest + 1] in ("\n", "\r") or "\n" not in text[lead : part.start]:
            shorter = text[:lead] + text[end:]
        else:  # what comes next shares our line, and needs the line's beginning
            shorter = text[: part.start] + text[end + rest :]
    else:
        shorter = text[:lead] + text[part.node.end :]
        if index:
            comma = parts[index - 1].comma
            shorter = shorter[:comma] + shorter[comma + 1 :]
    close = node.end - 1 - (len(text) - len(shorter))
    if not shorter[node.start + 1 : close].strip():
        return shorter[: node.start + 1] + shorter[close:]
    return shorter


def _fit(text: str, value: Any, indent: str, old: Node) -> str:  # noqa: ANN401 - any JSON value
    """A value in the style of the one it replaces: on one line where that one was."""
    if old.parts and "\n" not in text[old.start : old.end]:
        return json.dumps(value, ensure_ascii=False)
    return _written(value, indent, _unit(text), newline(text))


def _written(value: Any, indent: str, unit: str, line: str) -> str:  # noqa: ANN401 - any JSON value
    """A value over several lines; a list of plain values stays on one."""
    child = indent + unit
    if isinstance(value, dict) and value:
        rows = [f"{child}{json.dumps(key)}: {_written(each, child, unit, line)}" for key, each in value.items()]
        return f"{{{line}{f',{line}'.join(rows)}{line}{indent}}}"
    if isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        rows = [child + _written(each, child, unit, line) for each in value]
        return f"[{line}{f',{line}'.join(rows)}{line}{indent}]"
    return json.dumps(value, ensure_ascii=False)


def _nested(path: Path, value: Any) -> Any:  # noqa: ANN401 - any JSON value
    for key in reversed(path):
        value = {key: value}
    return value


def newline(text: str) -> str:
    """How the lines of a text end."""
    return "\r\n" if "\r\n" in text else "\n"


def _unit(text: str) -> str:
    found = _INDENT.search(text)
    return found[1] if found else "  "


def _line_indent(text: str, at: int) -> str:
    """The blank beginning of the line a place is in."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]
