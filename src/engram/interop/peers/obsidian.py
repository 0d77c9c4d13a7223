"""A vault of Obsidian, or any folder of Markdown notes: properties, tags and the links between notes.

A short note is one memory, a long one several, by its headings. A link to a note that is not there is left out.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from engram.errors import Invalid
from engram.interop.forms import Foreign, Form, Problem, Source
from engram.interop.peers import notes
from engram.interop.peers.reading import Row, tied, told
from engram.model.scope import Scope

STORE = "obsidian"
MISSING = "links to notes that are not there"
OTHERS = frozenset(
    {"MEMORY.md", "memory.md", "memory-log.md", "events.jsonl", ".engram", "chunks", "manifest.json"}
)
"""What folders of other forms have."""

_TIES = re.compile(r"\n## Relations\n(?:\s*- [^\n]*\n?)*\s*\Z")
"""The relations at the end of a page that Engram wrote: they are read as links."""

CREATED = ("created", "created_at", "date created", "date_created", "date", "creation_date")
UPDATED = ("updated", "updated_at", "modified", "date modified", "date_modified", "last_modified", "lastmod")


def recognises(source: Source) -> bool:
    """Whether it has the settings of a vault, or notes and nothing of another form."""
    if not source.folder or permalinked(source):
        return False
    return ".obsidian" in source.names or notes.mostly(source, OTHERS)


def permalinked(source: Source) -> bool:
    """Whether notes carry the permalinks of basic-memory in their properties."""
    return any(
        head.startswith("---") and "\npermalink:" in head.partition("\n---")[0] for head in notes.heads(source)
    )


def read(source: Source) -> Iterator[Foreign | Problem]:
    """Every note, then the links between them."""
    names = named(source.path)
    for note in notes.every(source.path):
        yield from [note] if isinstance(note, Problem) else _note(note, names)
    for note in notes.every(source.path):
        yield from () if isinstance(note, Problem) else _links(note, names)


def named(folder: str) -> notes.Names:
    """Every note of a folder by what links may call it: path, file, title and other names."""
    names = notes.Names()
    called: list[tuple[str, tuple[str, ...]]] = []
    for note in notes.every(folder):
        if isinstance(note, Problem):
            continue
        names.add(note.path)
        row = Row(note.properties)
        called.append((note.path, (row.text("title"), row.text("permalink"), *row.words("aliases", "alias"))))
    for path, others in called:  # the name of a file goes before what another note is called beside
        names.add(path, *filter(None, others))
    return names


def _note(note: notes.Note, names: notes.Names) -> Iterator[Foreign | Problem]:
    row = Row(note.properties)
    title = row.text("title", "summary") or note.stem
    ends = [names.path_of(link) for link in note.links()]
    if ours := row.text("engram_id"):
        note = note._replace(body=_TIES.sub("", note.body))
    fields: dict[str, Any] = {
        **(_as_exported(row) if ours else {}),
        "word": row.text("kind", "type", "category"),
        "tags": [*row.words("tags", "tag"), *note.tags()],
        **dated(row, note),
        "context": {"base_dir": os.path.dirname(note.path)},
    }
    row.get("aliases", "alias", "cssclasses", "cssclass")
    fields["dropped"] = (*row.rest(), *((MISSING,) if None in ends else ()))
    yield from told_by_sections(note, STORE, note.path, title, fields)


def _as_exported(row: Row) -> dict[str, Any]:
    """What a page that Engram wrote says of its memory beside the text."""
    row.get("standing", "source", "engram_sha256")
    told = {name: row.get(name) for name in ("key", "origin", "visibility", "decay", "importance", "confidence")}
    told["pinned"] = row.get("pinned") is True
    with suppress(Invalid):  # where it was changed by hand, it holds where it is taken in
        told["scope"] = Scope.parse(row.text("scope"))
    return {name: value for name, value in told.items() if value is not None}


def _links(note: notes.Note, names: notes.Names) -> Iterator[Foreign | Problem]:
    ends = (names.path_of(link) for link in note.links())
    for end in dict.fromkeys(end for end in ends if end and end != note.path):
        yield tied(note.path, STORE, (note.path, end), "links to", at=note.written)


def dated(row: Row, note: notes.Note) -> dict[str, Any]:
    """When a note says it was made and changed; else when its file was written last."""
    created, updated = row.time(*CREATED), row.time(*UPDATED)
    return {"created": created or updated or note.written, "updated": updated or note.written}


def told_by_sections(
    note: notes.Note, store: str, their_id: str, title: str, fields: Mapping[str, Any]
) -> Iterator[Foreign | Problem]:
    """A note under its own id, and its further sections under ids made of their headings."""
    seen: Counter[str] = Counter()
    for n, (heading, said) in enumerate(notes.sections(note, title)):
        seen[heading] += 1
        if not said and n:
            continue
        again = f"\x1f{seen[heading]}" if seen[heading] > 1 else ""  # two headings of the same words
        id = f"{their_id}\x1f{heading}{again}" if n else their_id
        kept = {name: value for name, value in fields.items() if name != "key"} if n else fields
        shown = f"{note.path}, {heading}" if n else note.path
        yield from told(shown, store, id, said or heading, summary=heading, **kept)


FORM = Form(STORE, "an Obsidian vault, or any folder of Markdown notes", recognises, read, placed=False)
