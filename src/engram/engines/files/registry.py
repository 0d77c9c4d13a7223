"""The text of memory.md: found by a quick look at its lines, changed by splicing, and never dumped whole."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from engram.engines.files.items import Item, Style, read_item
from engram.engines.files.problem import Problem, Unreadable
from engram.engines.files.scalars import read_scalar
from engram.errors import Corrupt, Invalid
from engram.model.memory import Memory, standing
from engram.model.pages import facts, one_line

SCHEMA = "memory.v1"
FENCE = "---\n"
EMPTY = "---\nschema: memory.v1\ngenerated: {date}\nitems: []\n---\n\n{body}"

_SCHEMA = re.compile(r"^schema:[ \t]*(.*)$", re.MULTILINE)
_GENERATED = re.compile(r"^generated:[ \t]*(['\"]?)(\d{4}-\d\d-\d\d)\1[ \t]*$", re.MULTILINE)
_ITEMS = re.compile(r"^items:[ \t]*(\[\]|null|~)?[ \t]*$\n?", re.MULTILINE)
_DASH = re.compile(r"^( *)-(?= |$)", re.MULTILINE)
_ID = re.compile(r" *- id: ['\"]?(mem-\d+)['\"]?\n")
_TOP = re.compile(r"\n(?=[A-Za-z_])")
_MARKS = ("\n<<<<<<< ", "\n=======\n", "\n>>>>>>> ", "\n||||||| ")
"""What git leaves where it could not merge."""


class Registry(NamedTuple):
    """A registry's text, and where its list of items begins and ends in it."""

    text: str
    start: int
    end: int
    close: int  # where the frontmatter ends
    style: Style

    @property
    def head(self) -> str:
        """What stands before the items."""
        return self.text[: self.start]

    @property
    def body(self) -> str:
        """What stands below the frontmatter."""
        return self.text[self.close + len(FENCE) :].lstrip("\n")

    @property
    def generated(self) -> str:
        """The day of the last write, or ""."""
        found = _GENERATED.search(self.head)
        return found[2] if found else ""

    def line_of(self, at: int) -> int:
        """The number of the line at a place of the text."""
        return self.text.count("\n", 0, at) + 1

    def blocks(self) -> list[tuple[int, int]]:
        """Where each item begins and ends."""
        mark = f"{self.style.indent}-"
        starts = [found.start() for found in _DASH.finditer(self.text, self.start, self.end) if found[0] == mark]
        return list(zip(starts, [*starts[1:], self.end], strict=True)) if starts else []

    def find(self, handle: str) -> tuple[int, int] | None:
        """Where the first item with this id begins and ends, if there is one."""
        dash = f"\n{self.style.indent}- "
        for written in (handle, f"'{handle}'", f'"{handle}"'):
            at = self.text.find(f"{dash}id: {written}\n", self.start - 1, self.end)
            if at >= 0:
                after = self.text.find(dash, at + 1, self.end)
                return at + 1, (after + 1 if after >= 0 else self.end)
        if self.text.find(handle, self.start, self.end) < 0:
            return None
        key = re.compile(rf"^{self.style.indent}  id:[ \t]*['\"]?{handle}['\"]?[ \t]*$", re.MULTILINE)
        if found := key.search(self.text, self.start, self.end):  # its id does not come first
            return next((span for span in self.blocks() if span[0] <= found.start() < span[1]), None)
        return None

    def span_at(self, at: int) -> tuple[int, int]:
        """Where the item around a place of the text begins and ends."""
        dash = f"\n{self.style.indent}- "
        begin, end = self.text.rfind(dash, self.start - 1, at) + 1, self.text.find(dash, at, self.end)
        return begin, end + 1 if end >= 0 else self.end

    def statuses(self) -> Iterator[tuple[tuple[int, int], str, str]]:
        """Place, id and status of every item that tells them plainly."""
        pad = f"\n{self.style.indent}  "
        for begin, end in self.blocks():
            at = self.text.find(f"{pad}status: ", begin, end)
            id = _ID.match(self.text, begin, end)
            if id and at >= 0:
                yield (begin, end), id[1], self.text[at + len(pad) + 8 : self.text.index("\n", at + 1)].strip()

    def item(self, span: tuple[int, int], now: datetime) -> Item:
        """The item at a place.

        Raises:
            Unreadable: with the line of the key that is wrong, else that where the item begins.
        """
        try:
            return read_item(self.text[span[0] : span[1]], self.style, now)
        except Invalid as error:
            key = error.message.partition(" ")[0]  # what is wrong with a value begins with its key
            at = self.text.find(f"\n{self.style.indent}  {key}:", *span)
            line = self.line_of(at + 1 if at >= 0 else span[0])
            raise Unreadable(Problem("memory.md", line, error.message, error.hint)) from None

    def spliced(self, changes: Mapping[tuple[int, int], str], added: Iterable[str], date: str, body: str) -> str:
        """The text with some items replaced (or, by "", taken out), others added, and another body."""
        pieces, at = [], self.start
        for (begin, end), text in sorted(changes.items()):
            pieces += [self.text[at:begin], text]
            at = end
        items = _spaced([*pieces, self.text[at : self.end], *added], self.style)
        head = _ITEMS.sub("items:\n" if items else "items: []\n", self.head, count=1)
        return f"{_dated(head, date)}{items}{self.text[self.end : self.close]}{FENCE}\n{body}"


def _spaced(pieces: Sequence[str], style: Style) -> str:
    """The pieces in a row: an empty line between items where the file has them, and none after the last."""
    kept = [piece for piece in pieces if piece]
    for n, piece in enumerate(kept[:-1]):
        if not piece.endswith("\n"):
            kept[n] = f"{piece}\n"
        if style.gap and not kept[n].endswith("\n\n"):
            kept[n] += "\n"
    joined = "".join(kept)
    return f"{joined.rstrip(chr(10))}\n" if joined.strip() else ""


def _dated(head: str, date: str) -> str:
    if not _SCHEMA.search(head):
        head = head.replace(FENCE, f"{FENCE}schema: {SCHEMA}\n", 1)
    if not _GENERATED.search(head):
        return _SCHEMA.sub(lambda found: f"{found[0]}\ngenerated: {date}", head, count=1)
    return _GENERATED.sub(lambda found: f"generated: {found[1]}{date}{found[1]}", head, count=1)


def clean(content: bytes, name: str) -> str:
    """The text of a file as any system may have left it: no byte order mark, and lines ended in one way.

    Raises:
        Unreadable: when it is no UTF-8.
    """
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Unreadable(Problem(name, line, "it is not UTF-8", "Convert the file to UTF-8.")) from None


def read_registry(text: str, name: str = "memory.md") -> Registry:
    """Find the items of a registry's text; none of them is read yet.

    Raises:
        Unreadable: when it is none, with line and reason.
        Corrupt: when its schema is unknown.
    """
    if not text.startswith(FENCE):
        raise Unreadable(Problem(name, 1, "it does not begin with ---", "Restore it from a backup."))
    close = text.find(f"\n{FENCE}", len(FENCE) - 1)
    if close < 0 and text.endswith("\n---"):
        text, close = f"{text}\n", len(text) - 4
    if close < 0:
        last = text.count("\n") + 1
        raise Unreadable(Problem(name, last, "the frontmatter is not ended by ---", "Restore it from a backup."))
    close += 1
    if marks := [at for mark in _MARKS if (at := text.find(mark, 0, close)) >= 0]:
        line = text.count("\n", 0, min(marks)) + 2
        raise Unreadable(Problem(name, line, "a merge left its marks", "Keep one of the two sides."))
    _require_schema(text[:close], name)
    return _with_items(text, close, name)


def _require_schema(head: str, name: str) -> None:
    found = _SCHEMA.search(head)
    schema = read_scalar([found[1]]) if found else SCHEMA
    if schema != SCHEMA:
        raise Corrupt(
            f"{name} has schema {schema}; this Engram knows {SCHEMA}. It was left untouched.",
            "Upgrade Engram on this machine.",
        )


def _with_items(text: str, close: int, name: str) -> Registry:
    items = _ITEMS.search(text, 0, close)
    if items is None:
        if other := re.search(r"^items:.*$", text[:close], re.MULTILINE):
            line = text.count("\n", 0, other.start()) + 1
            raise Unreadable(Problem(name, line, "items is no list", "Write one item a line, or []."))
        text = f"{text[:close]}items: []\n{text[close:]}"
        return _with_items(text, close + len("items: []\n"), name)
    start = items.end()
    top = _TOP.search(text, start - 1, close)
    end = top.end() if top else close
    first = _DASH.search(text, start, end)
    if first is None and text[start:end].strip():
        raise Unreadable(Problem(name, text.count("\n", 0, start) + 1, "items is no list"))
    if first is None:
        return Registry(text, start, end, close, Style())
    several = text.find(f"\n{first[1]}- ", first.end(), end) >= 0
    gap = "\n\n" in text[start:end] if several else bool(first[1])
    return Registry(text, start, end, close, Style(first[1], gap))


# the body

Sections = dict[str, list[str]]


def body_of(memories: Iterable[Memory], now: datetime) -> str:
    """The page below the frontmatter: promoted memories that are not stale, by kind."""
    return facts(each for each in memories if standing(each, now) == "live")


def sections(body: str) -> Sections | None:
    """The lines of a body by kind, or None where it is none of ours."""
    head, *parts = body.split("\n## ")
    if head.split("\n")[0] != "# Memory":
        return None
    found: Sections = {}
    for part in parts:
        kind, _, rest = part.partition("\n")
        found[kind.strip()] = [line for line in rest.split("\n") if line]
    return found


def respoken(body: str, before: Iterable[Memory], after: Iterable[Memory], now: datetime) -> str | None:
    """The body without what memories said before, with what they say now; None where it must be made anew."""
    said = sections(body)
    if said is None:
        return None
    for memory in before:
        line = f"- {one_line(memory.text)}"
        spoke = standing(memory, now) in ("live", "stale", "expired")  # the last two, when the body was written
        if spoke and line in said.get(memory.kind, ()):
            said[memory.kind].remove(line)
    for memory in after:
        if standing(memory, now) == "live":
            said.setdefault(memory.kind, []).append(f"- {one_line(memory.text)}")
    return print_sections(said)


def print_sections(said: Sections) -> str:
    """The same page from its lines."""
    parts = [f"## {kind}\n\n" + "\n".join(said[kind]) for kind in sorted(said) if said[kind]]
    return "\n\n".join(["# Memory", *(parts or ["_No promoted memories yet._"])]) + "\n"
