"""The text of memory.md: found by a quick look at its lines, changed by splicing, and never dumped whole."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from engram.engines.files.mark import Mark, parse_mark, print_mark
from engram.engines.files.problem import Problem, Unreadable
from engram.errors import Corrupt, Invalid
from engram.model.change import UPGRADE
from engram.model.items import Item, Style, halves, read_item
from engram.model.limits import EARLIEST
from engram.model.memory import Memory, standing
from engram.model.pages import by_kind, one_line
from engram.model.scalars import Stray, read_scalar

SCHEMA = "memory.v1"
RESTORE = "Put it back, or take the text from before the last write"
FENCE = "---\n"
EMPTY = "---\nschema: memory.v1\ngenerated: {date}\nitems: []\n---\n\n{body}"

_SCHEMA = re.compile(r"^(['\"]?)schema\1[ \t]*:[ \t]*(.*)$", re.MULTILINE)
_GENERATED = re.compile(r"^(['\"]?)generated\1[ \t]*:[ \t]*(['\"]?)(.*?)\2([ \t]*(?:#.*)?)$", re.MULTILINE)
_MARK = re.compile(r"^(['\"]?)as_of\1[ \t]*:[ \t]*(.*)\n", re.MULTILINE)
_ITEMS = re.compile(r"^(['\"]?)items\1[ \t]*:[ \t]*(\[\]|null|~)?[ \t]*$\n?", re.MULTILINE)
_ITEMS_KEY = re.compile(r"^(['\"]?)items\1[ \t]*:.*$", re.MULTILINE)
_DASH = re.compile(r"^( *)-(?= |$)", re.MULTILINE)
_ID = re.compile(r" *- (['\"]?)id\1[ \t]*:[ \t]*['\"]?(mem-\d+)['\"]?[ \t]*\n")
_NAMES = re.compile(r"^ *(?:- +)?(['\"]?)(u?id)\1[ \t]*:[ \t]*['\"]?([^'\"\s]+)['\"]?[ \t]*$", re.MULTILINE)
_TOP = re.compile(r"\n(?=[A-Za-z_'\"])")
_LINE = re.compile(r"(?:[A-Za-z_][\w .-]*|'[^']+'|\"[^\"]+\")[ \t]*:(?:[ \t]|$)|[ \t#]|- |$")
"""What a line of a mapping looks like: a key, something below one, a remark, or nothing."""

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
    def front(self) -> str:
        """The whole frontmatter."""
        return self.text[: self.close]

    @property
    def body(self) -> str:
        """What stands below the frontmatter."""
        return self.text[self.close + len(FENCE) :].lstrip("\n")

    @property
    def generated(self) -> str:
        """The day of the last write, or ""."""
        found = _GENERATED.search(self.head) or _GENERATED.search(self.tail)
        return found[3] if found else ""

    @property
    def tail(self) -> str:
        """What stands below the items in the frontmatter."""
        return self.text[self.end : self.close]

    @property
    def mark(self) -> dict[str, int]:
        """How much of history the text knows; empty where it does not say. Two lines of a merge count both."""
        return parse_mark(" ".join(found[2] for part in (self.head, self.tail) for found in _MARK.finditer(part)))

    def names(self) -> set[str]:
        """What all its items are called, by a quick look: the uid of each, or its id where it has none."""
        names = set()
        for span in self.blocks():
            named = {found[2]: found[3] for found in _NAMES.finditer(self.text, *span)}
            names.add(named.get("uid") or named.get("id", ""))
        return names

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
        key = rf"^{self.style.indent}(?:  |- )['\"]?id['\"]?[ \t]*:[ \t]*['\"]?{handle}['\"]?[ \t]*(?:#.*)?$"
        if found := re.compile(key, re.MULTILINE).search(self.text, self.start, self.end):  # as others write it
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
                yield (begin, end), id[2], self.text[at + len(pad) + 8 : self.text.index("\n", at + 1)].strip()

    def item(self, span: tuple[int, int], now: datetime) -> Item:
        """The item at a place.

        Raises:
            Unreadable: with the line of the key that is wrong, else that where the item begins.
        """
        try:
            return read_item(self.text[span[0] : span[1]], self.style, now)
        except Invalid as error:
            key = rf"^{self.style.indent}(?:  |- )['\"]?{re.escape(error.field)}['\"]?[ \t]*:"
            at = re.compile(key, re.MULTILINE).search(self.text, *span) if error.field else None
            line = self.line_of(at.start() if at else span[0]) + (error.n if isinstance(error, Stray) else 0)
            raise Unreadable(Problem("memory.md", line, error.message, error.hint)) from None

    def spliced(
        self, changes: Mapping[tuple[int, int], str], added: Iterable[str], *, date: str, mark: Mark, body: str
    ) -> str:
        """The text with some items replaced (or, by "", taken out), others added, another mark and another body."""
        pieces, at = [], self.start
        for (begin, end), text in sorted(changes.items()):
            pieces += [self.text[at:begin], text]
            at = end
        items = _spaced([*pieces, self.text[at : self.end], *added], self.style)
        head = _ITEMS.sub("items:\n" if items else "items: []\n", self.head, count=1)
        head, tail = _dated(head, self.tail, date, mark)
        return f"{head}{items}{tail}{FENCE}\n{body}"


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


def _dated(head: str, tail: str, date: str, mark: Mark) -> tuple[str, str]:
    """What stands around the items, with schema, day and mark: each once, wherever the file has it."""
    head, tail = _MARK.sub("", head), _MARK.sub("", tail)
    if not _SCHEMA.search(head) and not _SCHEMA.search(tail):
        head = head.replace(FENCE, f"{FENCE}schema: {SCHEMA}\n", 1)
    as_of = f"\nas_of: {print_mark(mark)}" if mark else ""

    def again(found: re.Match[str]) -> str:
        return f"{found[1]}generated{found[1]}: {found[2]}{date}{found[2]}{found[4]}{as_of}"

    for n, part in enumerate(parts := [head, tail]):
        if _GENERATED.search(part):
            parts[n] = _GENERATED.sub(again, part, count=1)
            return parts[0], parts[1]
    dated = f"generated: {date}{as_of}\n"
    schema = _SCHEMA.search(head)
    at = schema.end() + 1 if schema else len(FENCE)
    return f"{head[:at]}{dated}{head[at:]}", tail


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
        raise Unreadable(Problem(name, 1, "it does not begin with ---", RESTORE))
    close = text.find(f"\n{FENCE}", len(FENCE) - 1)
    if close < 0 and text.endswith("\n---"):
        text, close = f"{text}\n", len(text) - 4
    if close < 0:
        last = text.count("\n") + 1
        raise Unreadable(Problem(name, last, "the frontmatter is not ended by ---", RESTORE))
    close += 1
    if marks := [at for mark in _MARKS if (at := text.find(mark, 0, close)) >= 0]:
        line = text.count("\n", 0, min(marks)) + 2
        raise Unreadable(Problem(name, line, "a merge left its marks", "Take in both sides: engram doctor --fix."))
    _require_schema(text[:close], name)
    return _with_items(text, close, name)


def sides(text: str) -> tuple[str, str] | None:
    """The two texts that a merge could not join, or None where it left no marks."""
    if not any(mark in f"\n{text}" for mark in _MARKS[::2]):
        return None
    ours, theirs, now = [], [], "both"
    for line in text.splitlines(keepends=True):
        if line.startswith("<<<<<<< "):
            now = "ours"
        elif line.startswith("||||||| ") and now == "ours":
            now = "neither"
        elif line.rstrip("\n") == "=======" and now in ("ours", "neither"):
            now = "theirs"
        elif line.startswith(">>>>>>> ") and now == "theirs":
            now = "both"
        else:
            ours += [line] if now in ("both", "ours") else []
            theirs += [line] if now in ("both", "theirs") else []
    return "".join(ours), "".join(theirs)


def unjoined(text: str) -> str:
    """The text with every item that a merge made of two parted again (see `items.halves`), and all of it readable.

    Raises:
        Unreadable: when it is no registry, or an item makes no sense in any case.
        Corrupt: when its schema is unknown.
    """
    registry = read_registry(text)
    pieces, at = [], 0
    for begin, end in registry.blocks():
        pair = halves(registry.text[begin:end], registry.style)
        pieces += [registry.text[at:begin], *(pair or (registry.text[begin:end],))]
        at = end
    parted = read_registry("".join([*pieces, registry.text[at:]]))
    for span in parted.blocks():
        parted.item(span, EARLIEST)
    return parted.text


def schema_of(text: str) -> str:
    """The schema that a frontmatter names, or "" where it names none."""
    found = _SCHEMA.search(text)
    return str(read_scalar([found[2]]) or "") if found else ""


def _require_schema(front: str, name: str) -> None:
    schema = schema_of(front)
    if schema not in (SCHEMA, *MIGRATIONS):
        newer = re.fullmatch(r"memory\.v(\d+)", schema)
        raise Corrupt(
            f"{name} has schema {schema}; this Engram knows {SCHEMA}. It was left untouched.",
            UPGRADE
            if newer and int(newer[1]) > 1
            else f"Engram has no way from it to {SCHEMA}: restore the file from .bak/ or a backup.",
        )


# older forms


def _named(text: str) -> str:
    """From before there were schemas: the same items, and no word about their form."""
    return text.replace(FENCE, f"{FENCE}schema: {SCHEMA}\n", 1)


MIGRATIONS: Mapping[str, Callable[[str], str]] = {"": _named}
"""Older schema → the step that makes the next one's text of it. A new schema adds the step from the one before."""


def migrated(text: str, name: str = "memory.md") -> str:
    """The text in the form of today, by as many steps as it takes; the same text where there is nothing to do.

    Raises:
        Unreadable: when it is no registry.
        Corrupt: when its schema is unknown.
    """
    while (schema := schema_of(read_registry(text, name).front)) != SCHEMA:
        text = MIGRATIONS[schema](text)
    return text


def _with_items(text: str, close: int, name: str) -> Registry:
    items = _ITEMS.search(text, 0, close)
    if items is None:
        if other := _ITEMS_KEY.search(text, 0, close):
            line = text.count("\n", 0, other.start()) + 1
            raise Unreadable(Problem(name, line, "items is not a list", "Write one item a line, or []."))
        for n, each in enumerate(text[:close].split("\n")[1:], 2):
            if not _LINE.match(each):
                raise Unreadable(Problem(name, n, "the frontmatter is not a list of keys", "Write one key a line."))
        text = f"{text[:close]}items: []\n{text[close:]}"
        return _with_items(text, close + len("items: []\n"), name)
    start = items.end()
    top = _TOP.search(text, start - 1, close)
    end = top.end() if top else close
    first = _DASH.search(text, start, end)
    if first is None and text[start:end].strip():
        raise Unreadable(Problem(name, text.count("\n", 0, start) + 1, "items is not a list"))
    if first is None:
        return Registry(text, start, end, close, Style())
    several = text.find(f"\n{first[1]}- ", first.end(), end) >= 0
    gap = "\n\n" in text[start:end] if several else bool(first[1])
    return Registry(text, start, end, close, Style(first[1], gap))


# the body

Sections = dict[str, list[str]]

NOBODY = "_No promoted memories yet._"
"""What the body says where it says nothing."""


def body_of(memories: Iterable[Memory], now: datetime) -> str:
    """The page below the frontmatter: promoted memories that are not stale, by kind."""
    return by_kind(each for each in memories if standing(each, now) == "live")


def sections(body: str) -> Sections | None:
    """The lines of a body by kind, those above the first under "", or None where it is none of ours."""
    head, *parts = body.split("\n## ")
    title, *above = head.split("\n")
    if title != "# Memory":
        return None
    found: Sections = {"": [line for line in above if line and line != NOBODY]}
    for part in parts:
        kind, _, rest = part.partition("\n")
        found[kind.strip()] = [line for line in rest.split("\n") if line]
    return {kind: lines for kind, lines in found.items() if lines}


def respoken(body: str, steps: Iterable[tuple[Memory | None, Memory | None]], now: datetime) -> str | None:
    """The body with what memories say now in place of what they said before; None where it must be made anew.

    The lines of a section stand in the order of their ids, whoever writes them: what is new comes last, and what
    comes back has its place among the others.
    """
    said = sections(body)
    if said is None:
        return None
    for before, after in steps:
        place = _taken_back(said, before, now) if before else None
        if after is None or standing(after, now) != "live":
            continue
        lines = said.setdefault(after.kind, [])
        if place and place[0] == after.kind:
            lines.insert(place[1], f"- {one_line(after.text)}")
        elif before is None or not lines:
            lines.append(f"- {one_line(after.text)}")
        else:
            return None
    return print_sections(said)


def _taken_back(said: Sections, memory: Memory, now: datetime) -> tuple[str, int] | None:
    """Take out what a memory said; answers where that stood."""
    line, lines = f"- {one_line(memory.text)}", said.get(memory.kind, [])
    spoke = standing(memory, now) in ("live", "stale", "expired")  # the last two, when the body was written
    if not spoke or line not in lines:
        return None
    at = lines.index(line)
    del lines[at]
    return memory.kind, at


def with_remarks(page: str, body: str, known: Iterable[Memory]) -> str:
    """A page made anew, with what stood in the old body and no memory says or said: somebody wrote it there.

    It stays until a person has seen that it would be written over.
    """
    said, fresh = sections(body), sections(page)
    if said is None or fresh is None:
        return page
    ours = {f"- {one_line(memory.text)}" for memory in known}
    remarks = {kind: [line for line in lines if line not in ours] for kind, lines in said.items()}
    if not any(remarks.values()):
        return page
    return print_sections({kind: fresh.get(kind, []) + remarks.get(kind, []) for kind in {**fresh, **remarks}})


def print_sections(said: Sections) -> str:
    """The same page from its lines."""
    told = {kind: "\n".join(said[kind]) for kind in sorted(said) if said[kind]}
    parts = [f"## {kind}\n\n{lines}" if kind else lines for kind, lines in told.items()]
    nobody = [] if any(told) else [NOBODY]
    return "\n\n".join(["# Memory", *parts, *nobody]) + "\n"
