"""Folders of basic-memory: notes with permalinks, and the observations and relations in their lists.

A note is a memory that tells its prose. Each observation, `- [category] text #tag (context)`, is one of its own, of
the kind that its category tells. Relations, `- type [[Target]] (context)`, and links in the prose tie notes.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from engram.interop.forms import Foreign, Form, Problem, Source
from engram.interop.peers import notes
from engram.interop.peers.obsidian import MISSING, dated, named, permalinked, told_by_sections
from engram.interop.peers.reading import Row, tied, told
from engram.model.limits import LIMITS, size

STORE, LINK = "basic-memory", "links to"
_ITEM = re.compile(r"^[ \t]*[-*+][ \t]+(.+)")
_OBSERVATION = re.compile(r"\[([^\[\]()]+)\]\s+(.+)")
_NO_CATEGORY = re.compile(r"[xX]|[^\w]|\d{1,3}:\d\d.*")
"""What stands in brackets before a task, or in a transcript."""

_RELATION = re.compile(r"""(?:"([^"]+)"|'([^']+)'|([^\s\["']+))\s+\[\[([^\[\]]+)\]\](?:\s+\(([^()]*)\))?""")
_CONTEXT = re.compile(r"\(([^()]*)\)$")
_TAG = re.compile(r"(?<!\S)#([^\s#]+)")
_WORD = re.compile(r"\S+")
_EMPTY_PART = re.compile(r"^#{1,6}[ \t]+(?:Observations|Relations)[ \t]*$\n?(?=\s*(?:^#|\Z))", re.MULTILINE)


class Observation(NamedTuple):
    """One line of a note that says something of its subject."""

    category: str
    text: str
    tags: tuple[str, ...]
    context: str


class Tie(NamedTuple):
    """One line of a note that ties it to another."""

    word: str
    target: str
    context: str


def recognises(source: Source) -> bool:
    """Whether it is a folder of notes with permalinks."""
    return source.folder and permalinked(source)


def read(source: Source) -> Iterator[Foreign | Problem]:
    """Every note with its observations, then the relations between notes."""
    yield from notes.linked(source.path, named(source.path), _note, _relations)


def _note(note: notes.Note, names: notes.Names) -> Iterator[Foreign | Problem]:
    row = Row(note.properties)
    title, key = row.text("title") or note.stem, row.text("permalink")
    prose, observations, ties = taken_apart(note)
    times = dated(row, note)
    fits = size(key) <= LIMITS["key"]
    word, tags = row.text("type"), row.words("tags")
    lost = [MISSING] if any(names.path_of(tie.target) is None for tie in ties) else []
    fields: dict[str, Any] = {
        "word": word,
        "key": key if fits else "",
        "tags": [*tags, *prose.tags()],
        "dropped": (*row.rest(), *(() if fits else ("permalink",)), *lost),
        **times,
    }
    yield from told_by_sections(prose, STORE, note.path, title, fields)
    for each in observations:
        yield from _observation(note, title, each, tags, times)


def _relations(note: notes.Note, names: notes.Names) -> Iterator[Foreign | Problem]:
    """What ties a note to others: its relations, and links in its prose to notes it has no relation to."""
    told_of: set[str] = set()
    for tie in taken_apart(note)[2]:
        end = names.path_of(tie.target)
        if end and end != note.path and not (tie.word == LINK and end in told_of):
            told_of.add(end)
            at = dated(Row(note.properties), note)["created"]
            yield tied(note.path, STORE, (note.path, end), tie.word, at=at, evidence=tie.context)


def _observation(
    note: notes.Note, title: str, each: Observation, tags: tuple[str, ...], times: dict[str, Any]
) -> Iterator[Foreign | Problem]:
    text = f"{title}: {each.text}" + (f" ({each.context})" if each.context else "")
    yield from told(
        f"{note.path}, [{each.category}]" if each.category else note.path,
        STORE,
        f"{note.path}\x1f{each.category}\x1f{each.text}",
        text,
        word=each.category,
        tags=[*tags, *each.tags],
        **times,
    )


def taken_apart(note: notes.Note) -> tuple[notes.Note, list[Observation], list[Tie]]:
    """A note without the lines that are observations or relations, and those; links in its prose come last."""
    left: list[str] = []
    observations: list[Observation] = []
    ties: list[Tie] = []
    fence = ""
    for line in note.prose.split("\n"):
        mark = line.lstrip()[:3]
        if mark in ("```", "~~~"):
            fence = "" if fence == mark else fence or mark
        listed = None if fence else _ITEM.match(line)
        item = listed[1].rstrip(" \t") if listed else ""
        if tie := _RELATION.fullmatch(item):
            ties.append(Tie(tie[1] or tie[2] or tie[3], tie[4].partition("|")[0].strip(), tie[5] or ""))
        elif found := observed(item):
            observations.append(found)
        else:
            left.append(line)
    prose = note._replace(body=_EMPTY_PART.sub("", "\n".join(left)).strip())
    return prose, observations, [*ties, *(Tie(LINK, link, "") for link in prose.links())]


def observed(item: str) -> Observation | None:
    """The observation that a list item makes: it has a category, or a tag. A task or a mere link is none."""
    found = _OBSERVATION.match(item)
    category = found[1].strip() if found else ""
    tags = tuple(_TAG.findall(item))
    if _NO_CATEGORY.fullmatch(category) or not (found or tags) or item.startswith(("[ ]", "[[")):
        return None
    text = found[2] if found else item
    context = _CONTEXT.search(text)
    text = text[: context.start()] if context else text
    return Observation(category, _untagged(text), tags, context[1].strip() if context else "")


def _untagged(text: str) -> str:
    """A text without the tags at its end, but for a first word that is one."""
    words = list(_WORD.finditer(text))
    said = [word for n, word in enumerate(words) if not n or not _TAG.fullmatch(word[0])]
    return text[said[0].start() : said[-1].end()] if said else ""


FORM = Form(STORE, "a folder of basic-memory", recognises, read, placed=False)
