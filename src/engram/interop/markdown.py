"""Notes in Markdown, such as an old MEMORY.md or CLAUDE.md: each list item and each paragraph is one, with hints.

Headings become tags and tell the kind. A list item keeps what is nested in it, and a line that ends with a colon is
said before each item that follows. What Engram itself wrote into the file, comments and `@` imports are left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from engram.errors import Invalid
from engram.interop.forms import UNDATED, Foreign, Form, Problem, Source, foreign_id
from engram.model.limits import LIMITS, size
from engram.model.marks import BEGIN, END
from engram.model.memory import Memory

LARGEST = 4 * 1024 * 1024
LONGEST_TAG = 60
LONGEST_WHOLE = 4000
"""Characters up to which a note with front matter stays one memory."""

SUFFIXES = (".md", ".markdown", ".mdc")

HINTS: Mapping[str, tuple[str, ...]] = {
    "preference": ("preference", "prefer", "likes"),
    "convention": ("convention", "style", "guideline", "standard", "naming"),
    "decision": ("decision", "adr"),
    "gotcha": ("gotcha", "pitfall", "caveat", "quirk", "trap"),
    "bugfix": ("bugfix", "bug"),
    "architecture": ("architecture", "design", "structure"),
    "pattern": ("pattern",),
    "learning": ("learning", "learned", "lesson"),
    "config": ("config", "configuration", "setting", "setup"),
    "tooling": ("tooling", "tool", "command", "build"),
    "infra": ("infra", "infrastructure", "deployment", "deploy", "server", "environment"),
    "rule": ("rule", "instruction", "always", "never"),
    "constraint": ("constraint", "requirement"),
    "identity": ("identity", "profile"),
    "people": ("people", "person", "team", "contact"),
    "fiscal": ("fiscal", "billing", "pricing", "budget"),
    "location": ("location", "timezone"),
    "health": ("health",),
    "project": ("project", "overview", "goal"),
}
"""Kind → words in a heading that tell of it, the plural among them; the first that fits counts."""

TYPES: Mapping[str, str] = {
    "feedback": "preference",
    "user": "preference",
    "project": "project",
    "reference": "infra",
}
"""The `type` of a note that an agent wrote for itself → kind."""

EMPTY = frozenset(
    {"none", "n/a", "na", "tbd", "todo", "nothing yet", "no memories yet", "no promoted memories yet"}
)

FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FRONT_ROW = re.compile(r"\s*([\w-]+):(?:\s+(.*)|\s*)")
_FRONT_ITEM = re.compile(r"\s*-\s+(.+)")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.+)", re.MULTILINE)
_LABEL = re.compile(r"(\*\*|__)([^*_]+)\1:?")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*")
_DIVIDER = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_ITEM = re.compile(r"\s*(?:[-*+\u2022]|\d{1,4}[.)])[ \t]+(?=\S)")
_TASK = re.compile(r"^\[[ xX]\][ \t]+")
_BOLD = re.compile(r"(\*\*|__)(?=\S)(.{1,300}?)(?<=\S)\1")
_IMAGES = re.compile(r"\[?!\[[^\]]{0,200}\]\([^)]{0,500}\)(?:\]\([^)]{0,500}\))?")
_ANNOUNCEMENT = re.compile(r"((?:.*[.!?]\s)?)(.+:)", re.DOTALL)
_IMPORTS = re.compile(r"^@\S+$", re.MULTILINE)

_BLOCKS_OF_OURS = (
    re.compile(r"<!-- engram:(view )?begin\b.*?(?:<!-- engram:(?:view )?end -->|\Z)", re.DOTALL),
    re.compile(rf"^[ \t]*{BEGIN}[ \t]*$.*?(?:{END}|\Z)", re.DOTALL | re.MULTILINE),
    re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL),
)
"""What Engram writes into files of others, and comments."""


class Note(NamedTuple):
    """One thing a file says, and on which line; an empty kind is none that the file tells."""

    text: str
    line: int
    kind: str = ""
    tags: tuple[str, ...] = ()
    summary: str = ""


def read(text: str) -> list[Note]:
    """Every note of a file, in order; the same words once.

    Raises:
        Invalid: when the file is too large, or is a store of plain files and no notes.
    """
    if len(text) > LARGEST:
        raise Invalid(f"It has more than {LARGEST:,} characters.", "Split it, or take in less at a time.")
    front, body, first = _front_matter(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    if front.get("schema", "").startswith("memory.v"):
        raise Invalid(
            "This is the registry of a store, and no file of notes.",
            "Open the store instead: ENGRAM_STORE=files:FOLDER engram list.",
        )
    body = _unmanaged(body)
    if (whole := _whole(front, body, first)) is not None:
        return [whole]
    kind, tags = _kind_of(front), _front_tags(front)
    notes: dict[str, Note] = {}
    for note in _notes(list(_blocks(body.splitlines(), first))):
        known = note._replace(kind=note.kind or kind, tags=tuple(dict.fromkeys((*tags, *note.tags))))
        notes.setdefault(note.text, known)
    return list(notes.values())


# --- front matter ---


def _front_matter(text: str) -> tuple[dict[str, str], str, int]:
    """The plain `key: value` lines before the text, the text itself, and the number of its first line."""
    found = FRONT_MATTER.match(text)
    if found is None:
        return {}, text, 1
    rows: dict[str, str] = {}
    last = ""
    for line in found[1].splitlines():
        if row := _FRONT_ROW.fullmatch(line):
            last = row[1].lower()
            rows.setdefault(last, (row[2] or "").strip().strip("\"'"))
        elif item := _FRONT_ITEM.fullmatch(line):
            rows[last] = f"{rows.get(last, '')},{item[1]}"
    return rows, text[found.end() :], found[0].count("\n") + 1


def _whole(front: Mapping[str, str], body: str, first: int) -> Note | None:
    """A short note with a type of its own as one memory; None for a file with several things to say."""
    described, told = front.get("description", ""), body.strip()
    is_note = bool(front.get("type") or front.get("kind")) and bool(described or front.get("name"))
    if not (is_note or (described and not told)) or len(told) > LONGEST_WHOLE or _HEADING.search(told):
        return None
    if not (told or described):
        return None
    summary = described if told and size(described) <= LIMITS["summary"] else ""
    text = told or described if summary or not told else f"{described}\n\n{told}".strip()
    return Note(text, first, _kind_of(front), _front_tags(front), summary)


def _kind_of(front: Mapping[str, str]) -> str:
    word = (front.get("kind") or front.get("type") or "").lower()
    return TYPES.get(word, word if word in HINTS or word == "fact" else "")


def _front_tags(front: Mapping[str, str]) -> tuple[str, ...]:
    given = front.get("tags", "").strip("[]").split(",")
    return tuple(dict.fromkeys(tag for each in given if (tag := _tag(each))))


# --- the text ---


class _Block(NamedTuple):
    """A heading (of a level), a list item, code or words: its text, and the number of its first line."""

    kind: str
    text: str
    line: int
    level: int = 0


def _blocks(lines: Sequence[str], first: int) -> Iterator[_Block]:
    at = 0
    while at < len(lines):
        line, begun = lines[at], at
        if not line.strip() or _DIVIDER.fullmatch(line):
            at += 1
        elif title := _title(line):
            at += 1
            yield _Block("heading", title[1], first + begun, title[0])
        elif _FENCE.match(line):
            at = _code_end(lines, at)
            yield _Block("code", "\n".join(lines[begun:at]), first + begun)
        elif item := _ITEM.match(line):
            at = _item_end(lines, at)
            yield _Block("item", _joined([line[item.end() :], *lines[begun + 1 : at]]), first + begun)
        else:
            at = _words_end(lines, at)
            if at < len(lines) and (under := _UNDERLINE.fullmatch(lines[at])):
                yield _Block("heading", _joined(lines[begun:at]), first + begun, 1 if under[0][0] == "=" else 2)
                at += 1
            else:
                yield _Block("words", _joined(lines[begun:at]), first + begun)


def _notes(blocks: Sequence[_Block]) -> Iterator[Note]:
    """The notes of a file's blocks, each under the headings above it."""
    titled = sum(block.kind == "heading" and block.level == 1 for block in blocks) == 1
    path: list[_Block] = []
    for above, group in _sections(blocks):
        path = [
            *(each for each in path if above is not None and each.level < above.level),
            *([above] if above else []),
        ]
        tags = (_tag(each.text) for each in path if not (titled and each.level == 1))
        kinds = (_hinted(each.text) for each in reversed(path))
        note = Note("", 0, next((kind for kind in kinds if kind), ""), tuple(dict.fromkeys(filter(None, tags))))
        for text, line in _said(group, above.text if above else ""):
            if _says_something(text):
                yield note._replace(text=text, line=line)


def _sections(blocks: Sequence[_Block]) -> Iterator[tuple[_Block | None, list[_Block]]]:
    above: _Block | None = None
    group: list[_Block] = []
    for block in blocks:
        if block.kind == "heading":
            yield above, group
            above, group = block, []
        else:
            group.append(block)
    yield above, group


def _said(group: Sequence[_Block], title: str) -> list[tuple[str, int]]:
    """What the blocks under one heading say: a line that announces others is said before each of them."""
    said: list[tuple[str, int]] = []
    lead = ""
    for at, block in enumerate(group):
        follows = group[at + 1].kind if at + 1 < len(group) else ""
        if block.kind == "words":
            told, lead = _announced(block.text) if follows in ("item", "code") else (block.text, "")
            said += [(told, block.line)] if told else []
        elif block.kind == "item":
            said.append((f"{lead} {block.text}".lstrip(), block.line))
        elif said and not lead:  # code belongs to what stands before it
            said[-1] = (f"{said[-1][0]}\n{block.text}", said[-1][1])
        else:
            said.append((f"{lead or f'{title}:'.lstrip(':')}\n{block.text}".lstrip(), block.line))
            lead = ""
    return said


def _announced(text: str) -> tuple[str, str]:
    """What a paragraph says by itself, and the last sentence of it where that announces what follows."""
    found = _ANNOUNCEMENT.fullmatch(text)
    return (found[1].strip(), found[2]) if found else (text, "")


def _joined(lines: Sequence[str]) -> str:
    """Lines as a text: broken lines are put together, nested items and code keep lines of their own."""
    out = [_TASK.sub("", lines[0].strip().lstrip(">").strip())]
    fence = ""
    for line in lines[1:]:
        opened = _FENCE.match(line)
        if fence or opened:
            out.append(line.strip() if opened else line)
            fence = "" if fence and _closes(line, fence) else fence or (opened[1] if opened else "")
        elif item := _ITEM.match(line):
            out.append(f"- {_TASK.sub('', line[item.end() :].strip())}")
        elif line.strip().startswith("|"):
            out.append(line.strip())
        elif bare := line.strip().lstrip(">").strip():
            last = out.pop()
            out += [last, bare] if last.endswith("```") else [f"{last} {bare}".strip()]
    return _BOLD.sub(r"\2", "\n".join(out)).strip()


def _item_end(lines: Sequence[str], start: int) -> int:
    """Where a list item ends: before its sibling, a heading, or what stands further left after a blank line."""
    base, at = _indent(lines[start]), start + 1
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            while at + 1 < len(lines) and not lines[at + 1].strip():
                at += 1
            if at + 1 == len(lines) or _indent(lines[at + 1]) <= base + 1:
                return at
        elif _ends_item(line, base):
            return at
        elif _FENCE.match(line):
            at = _code_end(lines, at) - 1
        at += 1
    return at


def _ends_item(line: str, base: int) -> bool:
    if _title(line) or _DIVIDER.fullmatch(line):
        return True
    return _indent(line) <= base + 1 and bool(_ITEM.match(line) or _FENCE.match(line))


def _words_end(lines: Sequence[str], start: int) -> int:
    """Where a paragraph ends."""
    at = start + 1
    while at < len(lines):
        line = lines[at]
        if not line.strip() or _title(line) or _FENCE.match(line) or _UNDERLINE.fullmatch(line):
            break
        if _ITEM.match(line) or _DIVIDER.fullmatch(line):
            break
        at += 1
    return at


def _code_end(lines: Sequence[str], start: int) -> int:
    """Where code ends: after the fence that closes it, else with the file."""
    opened = _FENCE.match(lines[start])
    assert opened is not None
    ends = (at for at in range(start + 1, len(lines)) if _closes(lines[at], opened[1]))
    return next(ends, len(lines) - 1) + 1


def _closes(line: str, fence: str) -> bool:
    bare = line.strip()
    return bare.startswith(fence) and not bare.strip(fence[0])


def _title(line: str) -> tuple[int, str] | None:
    """The level and the words of a heading; a line all in bold type is one below all others."""
    if found := _HEADING.match(line):
        return len(found[1]), found[2].strip(" #")
    if found := _LABEL.fullmatch(line.strip()):
        return 7, found[2].rstrip(":")
    return None


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


def _says_something(text: str) -> bool:
    bare = _IMPORTS.sub("", _IMAGES.sub("", text))
    words = bare.strip(" \n_*.-").lower()
    return any(mark.isalnum() for mark in words) and words not in EMPTY


def _tag(title: str) -> str:
    return "-".join(re.findall(r"\w+", title.lower()))[:LONGEST_TAG].strip("-_")


def _hinted(title: str) -> str:
    words = re.findall(r"\w+", title.lower())
    for kind, signs in HINTS.items():
        if any(word in signs or word.removesuffix("s") in signs for word in words):
            return kind
    return ""


def _unmanaged(text: str) -> str:
    """The text without what Engram wrote into it and without comments; its lines keep their numbers."""
    for pattern in _BLOCKS_OF_OURS:
        text = pattern.sub(lambda found: "\n" * found[0].count("\n"), text)
    return text


def _recognises(source: Source) -> bool:
    return not source.folder and source.path.lower().endswith(SUFFIXES)


def _foreign(source: Source) -> Iterator[Foreign | Problem]:
    try:
        with open(source.path, encoding="utf-8") as file:
            notes = read(file.read(LARGEST + 1))
    except UnicodeDecodeError:
        raise Invalid(f"{source.path} is not UTF-8 text.", "Convert it to UTF-8 first.") from None
    for note in notes:
        made = Memory(
            id=foreign_id("markdown", note.text),
            text=note.text,
            summary=note.summary,
            kind=note.kind or "fact",
            tags=note.tags,
            source="",
            origin="said",
            confidence=1.0,
            learned_by="import",
            owner="",
            created_at=UNDATED,
            updated_at=UNDATED,
        )
        yield Foreign(f"line {note.line}", made)


FORM = Form("markdown", "Notes in a Markdown file, such as an old CLAUDE.md.", _recognises, _foreign, placed=False)
