"""What Claude Code remembers by itself of one project: MEMORY.md, and the notes in its folder that it points at.

A note with properties of its own is one memory. Of MEMORY.md, and of notes without, each item and paragraph is one;
lines of an index that point at a note with properties are left out, for the note says it.
"""

import os
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from engram.errors import EngramError
from engram.interop import markdown
from engram.interop.forms import Foreign, Form, Problem, Source
from engram.interop.peers import notes
from engram.interop.peers.reading import Row, mapping, tied, told
from engram.model.limits import LIMITS, size
from engram.model.scope import GLOBAL, Scope

STORE, INDEX, FOLDER = "claude-code", "MEMORY.md", "memory"
_OWN = re.compile(
    r"---[ \t]*\n(?=.*?^name:)(?=.*?^description:)(?=.*?^\s*type:[ \t]*\w).*?^---", re.DOTALL | re.MULTILINE
)
_POINTER = re.compile(r"^\[[^\]]*\]\(([^)\s]+\.md)\)")
_POINTED = re.compile(r"\]\(([^)\s/\\]+\.md)\)")


def recognises(source: Source) -> bool:
    """Whether it is MEMORY.md, a folder with it, or a folder of notes with its properties."""
    if not source.folder:
        return os.path.basename(source.path) == INDEX
    return ".obsidian" not in source.names and (INDEX in source.names or _only_own(source))


def _only_own(source: Source) -> bool:
    inside = [name for name in source.names if name.lower().endswith(".md")]
    heads = list(notes.heads(source, 20)) if inside else []
    return bool(heads) and all(_OWN.match(head) for head in heads)


def read(source: Source) -> Iterator[Foreign | Problem]:
    """Every note, then how they point at each other."""
    folder, only = (source.path, "") if source.folder else os.path.split(os.path.abspath(source.path))
    yield from memories(folder, only=only)


def memories(
    folder: str, *, scope: Scope = GLOBAL, only: str = "", within: str = ""
) -> Iterator[Foreign | Problem]:
    """The memories of one folder, which hold in a scope; `within` tells them from those of other folders."""
    names = notes.Names()
    there = [only, *_pointed(folder, only)] if only else _beside(folder)
    ties: list[tuple[str, str]] = []
    for path in there:
        note = notes.read(folder, path)
        if isinstance(note, Problem):
            yield note
            continue
        row = Row(note.properties)
        if _is_own(note):
            names.add(path, row.text("name"))
            ties += [(path, link) for link in note.links()]
            yield from _own(note, row, f"{within}{path}", scope)
        else:
            yield from said_in(note, f"{within}{path}", scope, folder, alone=bool(only))
    for path, link in ties:
        to = names.path_of(link)
        if to and to != path:
            yield tied(path, STORE, (f"{within}{path}", f"{within}{to}"), "links to")


def _beside(folder: str) -> list[str]:
    """The notes in a folder, not in those below; where it is not Claude's own, only those that are of its form."""
    inside = [path for path in notes.paths(folder, 1) if os.sep not in path]
    if os.path.basename(os.path.abspath(folder)) == FOLDER:
        return inside
    return [path for path in inside if path == INDEX or _is_own(notes.read(folder, path))]


def _pointed(folder: str, index: str) -> list[str]:
    """The notes beside an index that it points at, and that say themselves what they are."""
    try:
        with open(os.path.join(folder, index), encoding="utf-8", errors="replace") as file:
            names = dict.fromkeys(_POINTED.findall(file.read(notes.LARGEST)))
    except OSError:
        return []
    beside = [
        name
        for name in names
        if os.path.isfile(os.path.join(folder, name)) and not os.path.islink(os.path.join(folder, name))
    ]
    return [name for name in beside if _is_own(notes.read(folder, name))]


def _is_own(note: notes.Note | Problem) -> bool:
    return isinstance(note, notes.Note) and {"name", "description"} <= set(note.properties)


def _own(note: notes.Note, row: Row, their_id: str, scope: Scope) -> Iterator[Foreign | Problem]:
    called, described = row.text("name"), row.text("description")
    more = Row(mapping(row.get("metadata")))
    word = row.text("type", "kind") or more.text("type")
    more.get("node_type")
    at = more.time("modified") or row.time("modified", "updated", "updated_at") or note.written
    fits = size(called) <= LIMITS["key"]
    yield from told(
        note.path,
        STORE,
        their_id,
        note.prose or described,
        summary=described if note.prose else "",
        key=called if fits else "",
        word=word,
        kind=markdown.TYPES.get(word.lower(), "fact"),
        tags=row.words("tags"),
        created=row.time("created", "created_at"),
        updated=at,
        scope=scope,
        context={"agent": STORE},
        dropped=(*(() if fits else ("name",)), *row.rest(), *more.rest("metadata.")),
    )


def said_in(
    note: notes.Note, their_id: str, scope: Scope, folder: str, *, alone: bool
) -> Iterator[Foreign | Problem]:
    """Each item and paragraph of a note without properties of its own; `alone` says that its name was given."""
    try:
        found = markdown.read(note.body)
    except EngramError as error:
        yield Problem(note.path, error.message)
        return
    for each in found:
        pointer = _POINTER.match(each.text)
        if pointer and _is_own(notes.read(folder, os.path.basename(pointer[1]))):
            continue
        name = f"line {each.line}" if alone else f"{note.path}, line {each.line}"
        yield from of_note(each, name, STORE, their_id, note.written, scope=scope)


def of_note(
    note: markdown.Note,
    name: str,
    store: str,
    within: str,
    at: datetime | None,
    **fields: Any,  # noqa: ANN401
) -> Iterator[Foreign | Problem]:
    """One thing that a text in Markdown says."""
    kind: dict[str, Any] = {"kind": note.kind} if note.kind else {}
    yield from told(
        name, store, f"{within}\x1f{note.text}", note.text, summary=note.summary, tags=note.tags, created=at,
        **kind, **fields,
    )  # fmt: skip


FORM = Form(STORE, "the MEMORY.md of Claude Code, or the folder it lies in", recognises, read, placed=False)
