"""Single values of a YAML mapping: read as the text they are, written so that every YAML reader agrees."""

import itertools
import json
import re
from typing import Any

from engram.errors import Corrupt, Invalid

_PLAIN_KEY = re.compile(r"(['\"]?)([A-Za-z_][A-Za-z0-9_-]*)\1[ \t]*:(?:[ \t]+(.*))?$")
_OTHER_KEY = re.compile(r"('(?:''|[^'])*'|\"(?:\\.|[^\"\\])*\"|[^\W\d][^:#'\"\[\]{}]*+)[ \t]*:(?:[ \t]+(.*))?$")
"""A key that is no plain word, in quotes or of several: somebody else's."""

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./@+-]*(?::[A-Za-z0-9_./@+-]+)*")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
"""What other readers take for something else than a word."""

_BREAKS = re.compile("[\x85\u2028\u2029]")
"""What YAML takes for the end of a line, and nobody else does."""

_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""What JSON lets stand and YAML does not, or takes for the end of a line."""

_REMARK = re.compile(
    r"""(?:"(?:\\.|[^"\\])*"|'(?:''|[^'])*'|[^"'\[{|>&*!%@`#\s](?:[^ \t]|[ \t]++(?!#))*+)[ \t]++(#.*)"""
)
"""A comment behind a value on its line, bare or quoted; what stands in brackets may hold its sign itself."""

DEEPEST = 100
"""Levels of lists and mappings that the YAML library is given: it calls itself for each, in C, and dies."""

Fields = list[tuple[str, list[str]]]
"""Key and lines of its value, in order; a key of "" holds lines that belong to none."""


def split_fields(lines: list[str], indent: int) -> Fields:
    """The lines of one mapping by its keys, which stand at this indent.

    Raises:
        Stray: when a line belongs to no key.
    """
    fields: Fields = []
    quotes: list[_Quote] = []  # of each field
    for n, line in enumerate(lines):
        if fields and quotes[-1].open:  # whatever stands between quotes is part of the value
            fields[-1][1].append(line)
            quotes[-1].read(line)
            continue
        inner = line[indent:] if line[:indent].strip() == "" else ""
        if key := _key_of(inner):
            fields.append((key[0], [key[1]]))
            quotes.append(_Quote(key[1]))
        elif not line.strip() or line.lstrip().startswith("#"):
            fields.append(("", [line]))
            quotes.append(_Quote(""))
        elif fields and inner.startswith((" ", "\t", "- ")):
            while fields[-1][0] == "" and len(fields) > 1:  # an empty line inside a folded value is part of it
                _, blank = fields.pop()
                quotes.pop()
                fields[-1][1].extend(blank)
                quotes[-1].read(*blank)
            fields[-1][1].append(line)
            quotes[-1].read(line)
        elif "\t" in line[: len(line) - len(line.lstrip())]:
            raise Stray(n, "a tab stands before a key.", "Use spaces.")
        else:
            raise Stray(n, f"{line.strip()[:60]!r} is not a key with a value.")
    return fields


def _key_of(line: str) -> tuple[str, str] | None:
    """The key that a line begins with, and what stands behind it; None where it begins with none."""
    if plain := _PLAIN_KEY.match(line):
        return plain[2], plain[3] or ""
    if other := _OTHER_KEY.match(line):
        return other[1].rstrip(" \t"), other[2] or ""
    return None


class Stray(Invalid):
    """A line that belongs to no key, by its number among its lines."""

    def __init__(self, n: int, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.n = n


class _Quote:
    """The quote that a value begins with, followed line by line; `open` until another one closes it."""

    def __init__(self, first: str) -> None:
        self._mark = first.lstrip()[:1] if first.lstrip()[:1] in ("'", '"') else ""
        self.open = False
        self.read(first)

    def read(self, *lines: str) -> None:
        """Go on by some lines of the value."""
        for line in lines if self._mark else ():
            said = re.sub(r"\\.", "", line) if self._mark == '"' else line
            self.open ^= said.count(self._mark) % 2 == 1


def read_scalar(lines: list[str]) -> Any:  # noqa: ANN401, PLR0911 - one for each form
    """A value as it was meant: text stays text, whatever a YAML reader would make of `no` or `1e3`.

    Raises:
        Invalid: when it cannot be read.
    """
    first = lines[0].strip(" \t")
    if any(map(_BREAKS.search, lines)):
        return _by_library(lines)
    if len(lines) == 1:
        if first in ("", "null", "~", "Null", "NULL") or first.startswith("!!null "):
            return None
        if first[0] == "'" and first.endswith("'") and len(first) > 1 and "'" not in first[1:-1].replace("''", ""):
            return first[1:-1].replace("''", "'")
        if first[0] in '"[{':
            try:
                return json.loads(first)
            except RecursionError:
                raise Invalid("it is nested too deep.") from None
            except ValueError:
                return _by_library(lines)
        if first[0] not in "'|>&*!%@`":
            return re.sub(r"(?<![ \t])[ \t]++#.*$", "", first)
    elif first and (text := _unfolded(lines)) is not None:
        return text
    return _by_library(lines)


def remark_of(lines: list[str]) -> str:
    """The comment that a person wrote behind a value, or ""."""
    found = _REMARK.fullmatch(lines[0]) if len(lines) == 1 else None
    return found[1] if found else ""


def _unfolded(lines: list[str]) -> str | None:
    """A text folded over several lines, bare or in single quotes; None where it is written in another way."""
    parts = [line.strip(" \t") for line in lines]
    text = parts[0]
    for before, part in itertools.pairwise(parts):
        if not part:
            text += "\n"
        else:
            text += part if not before else f" {part}"
    if text[0] == "'" and text.endswith("'") and "'" not in text[1:-1].replace("''", ""):
        return text[1:-1].replace("''", "'")
    bare = text[0] not in "'\"[{|>&*!%@`-?#" and " #" not in text and ": " not in text
    return text if bare and not text.endswith(":") else None


def _by_library(lines: list[str]) -> Any:  # noqa: ANN401 - as above
    """What is folded over several lines, or written as only a person would."""
    try:
        import yaml  # type: ignore[import-untyped] # noqa: PLC0415 - start-up: what we write needs no library
    except ImportError:
        raise Corrupt("A value is folded over several lines.", "Install PyYAML to read it.") from None
    text = "value: " + "\n".join([lines[0], *(f"  {line}" for line in lines[1:])]) + "\n"
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # every value as text
    try:
        if deep_line(text, loader):
            raise Invalid("it is nested too deep.")
        return yaml.load(text, Loader=loader)["value"]  # noqa: S506 - a base loader makes nothing but text
    except RecursionError:
        raise Invalid("it is nested too deep.") from None
    except yaml.YAMLError as error:
        reason = getattr(error, "problem", None) or "it is not YAML"
        raise Invalid(f"{reason}.") from None


def deep_line(text: str, loader: Any) -> int:  # noqa: ANN401 - a class of a library without types
    """The line on which a YAML text is nested deeper than may be read, counted from 1; 0 where nowhere.

    The library's parser keeps its place on the heap: only what it would make of the text is made by recursion.

    Raises:
        yaml.YAMLError: when the text is no YAML up to there.
    """
    import yaml  # noqa: PLC0415 - start-up

    depth = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                return int(event.start_mark.line) + 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
    return 0


def print_quoted(text: str) -> str:
    """A text in double quotes on one line: JSON and YAML alike."""
    return _UNPRINTABLE.sub(lambda odd: f"\\u{ord(odd[0]):04x}", json.dumps(text, ensure_ascii=False))


def print_word(text: str) -> str:
    """A text bare where nobody can take it for something else, else quoted."""
    bare = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    return text if bare or _UUID.fullmatch(text) or _TIME.fullmatch(text) else print_quoted(text)


def print_value(value: Any) -> str:  # noqa: ANN401 - any JSON
    """Any value on one line."""
    if isinstance(value, str):
        return print_word(value)
    return _UNPRINTABLE.sub(lambda odd: f"\\u{ord(odd[0]):04x}", json.dumps(value, ensure_ascii=False))
