"""A vault of Obsidian, or any folder of Markdown notes: properties, tags and the links between notes.

A short note is one memory, a long one several, by its headings; a page that Engram wrote is the memory it was
written from. A link to a note that is not there is left out.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, cast

from engram.errors import Corrupt
from engram.interop import obsidian_page
from engram.interop.forms import Foreign, Form, Problem, Source
from engram.interop.peers import notes
from engram.interop.peers.reading import Row, tied, told
from engram.model.record import replace
from engram.model.relation import Relation

STORE = "obsidian"
MISSING = "links to notes that are not there"
OTHERS = frozenset(
    {"MEMORY.md", "memory.md", "memory-log.md", "events.jsonl", ".engram", "chunks", "manifest.json"}
)
"""What folders of other forms have."""

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
    yield from notes.linked(source.path, named(source.path), _note, _links)


def named(folder: str) -> notes.Names:
    """Every note of a folder by what links may call it: path, file, title and other names."""
    names = notes.Names()
    called: list[tuple[str, tuple[str, ...]]] = []
    for note in notes.every(folder):
        if isinstance(note, Problem):
            continue
        names.add(note.path)
        if obsidian_page.is_ours(note.properties):
            names.ours[note.path] = note.properties[obsidian_page.ID]
        row = Row(note.properties)
        called.append((note.path, (row.text("title"), row.text("permalink"), *row.words("aliases", "alias"))))
    for path, others in called:  # the name of a file goes before what another note is called beside
        names.add(path, *filter(None, others))
    return names


def _note(note: notes.Note, names: notes.Names) -> Iterator[Foreign | Problem]:
    if note.path in names.ours:
        yield _page(note)
        return
    row = Row(note.properties)
    title = row.text("title", "summary") or note.stem
    ends = [names.path_of(link) for link in note.links()]
    fields: dict[str, Any] = {
        "word": row.text("kind", "type", "category"),
        "tags": [*row.words("tags", "tag"), *note.tags()],
        **dated(row, note),
        "context": {"base_dir": os.path.dirname(note.path)},
    }
    row.get("aliases", "alias", "cssclasses", "cssclass")
    fields["dropped"] = (*row.rest(), *((MISSING,) if None in ends else ()))
    yield from told_by_sections(note, STORE, note.path, title, fields)


def _page(note: notes.Note) -> Foreign | Problem:
    """A page that Engram wrote: the memory it was written from, as it is on the page now."""
    try:
        memory = obsidian_page.read(note.properties, note.body, note.written)
    except Corrupt as error:
        return Problem(note.path, error.message)
    return Foreign(note.path, memory, ours=(memory.id,))


def _links(note: notes.Note, names: notes.Names) -> Iterator[Foreign | Problem]:
    if note.path not in names.ours or obsidian_page.was_reworded(note.properties, note.body):
        yield from _links_in_text(note, names)
    if note.path in names.ours:
        yield from _relations(note, names)


def _links_in_text(note: notes.Note, names: notes.Names) -> Iterator[Foreign | Problem]:
    text = obsidian_page.text_of(note.body) if note.path in names.ours else note.body
    ends = (names.path_of(link) for link in note._replace(body=text).links())
    for end in dict.fromkeys(end for end in ends if end and end != note.path):
        yield _tied(note, names, end, "links to")


def _relations(note: notes.Note, names: notes.Names) -> Iterator[Foreign | Problem]:
    """The relations at the end of a page that Engram wrote, and those that a person added."""

    def find(link: str) -> str:
        return names.ours.get(names.path_of(link) or "", "")

    try:
        for link, said in obsidian_page.ties(note.properties, note.body, find):
            if not isinstance(said, str):
                yield Foreign(note.path, said, ours=(said.from_id, said.to_id))
            elif (end := names.path_of(link)) and end != note.path:
                yield _tied(note, names, end, said)
    except Corrupt as error:
        yield Problem(note.path, error.message)


def _tied(note: notes.Note, names: notes.Names, end: str, word: str) -> Foreign | Problem:
    thing = tied(note.path, STORE, (note.path, end), word, at=note.written)
    if isinstance(thing, Problem):
        return thing
    first, second = (names.ours.get(path) for path in (note.path, end))
    relation = cast("Relation", thing.record)
    ends = {"from_id": first or relation.from_id, "to_id": second or relation.to_id}
    return thing._replace(record=replace(relation, **ends), ours=tuple(filter(None, (first, second))))


def dated(row: Row, note: notes.Note) -> dict[str, Any]:
    """When a note says it was made and changed; else when its file was written last."""
    created, updated = row.time(*CREATED), row.time(*UPDATED)
    return {"created": created or updated or note.written, "updated": updated or note.written}


def told_by_sections(
    note: notes.Note, store: str, their_id: str, title: str, fields: Mapping[str, Any]
) -> Iterator[Foreign | Problem]:
    """A note under its own id, and its further sections under ids made of their headings."""
    if not note.prose and not note.properties:
        yield Problem(note.path, "the note is empty")
        return
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
