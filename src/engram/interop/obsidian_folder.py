"""A folder of Markdown files for Obsidian, written: one file a memory, with properties, and links for relations.

Files lie in a folder for each scope. A file of ours names its memory and the checksum of what we wrote below its
properties, so that it is told from any other file, and from one that a person has changed since.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from engram.interop import obsidian_page
from engram.interop.obsidian_page import CARRIED, Link
from engram.interop.peers import notes
from engram.interop.writing import File, Folder, Stock, Tally, Writer
from engram.model.memory import Memory
from engram.model.scope import Scope

NAME = "obsidian"
LONGEST_NAME = 80
_UNSAFE = re.compile(r"[\x00-\x1f\\/:*?\"<>|#^\[\]]+")

Links = Mapping[str, list[Link]]
"""A memory's id → what it is to others, and where those lie."""


def _files(stock: Stock, tally: Tally, folder: Folder) -> Iterator[File]:
    paths = _paths(stock, folder)
    links = _links(stock, tally, paths)
    for memory in stock.memories():
        path, after = paths[memory.id], paths.get(memory.replaced_by, "")
        text = obsidian_page.write(memory, links.get(memory.id, []), _link(after), stock.now)
        if trouble := _in_the_way(folder, path, memory.id, text):
            tally.problems.append(f"{path}: {trouble}")
            continue
        tally.took(memory, CARRIED, NAME)
        yield File(path, [text])
    for _ in stock.sessions():
        tally.lost("sessions")


def _paths(stock: Stock, folder: Folder) -> dict[str, str]:
    """Where each memory lies: a name to read, and part of its id where another file has it."""
    paths: dict[str, str] = {}
    taken: set[str] = set()
    for memory in stock.memories():
        path = f"{_folder(memory.scope)}/{_name(memory)}.md"
        if path.lower() in taken or _is_of_another(folder.read(path), memory.id):
            path = f"{_folder(memory.scope)}/{_name(memory)} {memory.id.replace('-', '')[-12:]}.md"
        taken.add(path.lower())
        paths[memory.id] = path
    return paths


def _folder(scope: Scope) -> str:
    parts = [scope.workspace, scope.level, *scope.name.split("/"), scope.run]
    return "/".join(safe for part in parts if (safe := _safe(part)))


def _name(memory: Memory) -> str:
    line = (memory.summary or memory.text).strip().split("\n")[0]
    return _safe(line) or memory.id


def _safe(text: str) -> str:
    """A text as a name that every file system and every link takes: neither hidden nor a way up."""
    name = " ".join(_UNSAFE.sub(" ", text).split()).strip(". ")
    while len(name.encode()) > LONGEST_NAME:
        name = name[:-1].rstrip()
    return name


def _links(stock: Stock, tally: Tally, paths: Mapping[str, str]) -> Links:
    found: dict[str, list[Link]] = {}
    for relation in stock.relations():
        if relation.from_id in paths and relation.to_id in paths:
            tally.relations += 1
            found.setdefault(relation.from_id, []).append(Link(relation, _link(paths[relation.to_id])))
    return found


def _link(path: str) -> str:
    return path.removesuffix(".md")


def _in_the_way(folder: Folder, path: str, id: str, text: str) -> str:
    """Why a file that is there already must stay as it is, or ""."""
    known = folder.read(path)
    if known is None:
        return ""
    if _is_of_another(known, id):
        return "a file of this name is there, and is not of this memory; it was left as it is."
    if not folder.overwrite and obsidian_page.was_changed(*_parts(known), *_parts(text)):
        return "it was changed by hand, and was left as it is: take it in, or --overwrite replaces it."
    return ""


def _is_of_another(known: str | None, id: str) -> bool:
    return known is not None and _parts(known)[0].get(obsidian_page.ID) != id


def _parts(page: str) -> tuple[Mapping[str, Any], str]:
    """The properties of a page and what is below them; one whose properties cannot be read has none."""
    said, body = notes.parts(page)
    return {} if isinstance(said, str) else said, body


WRITER = Writer(
    NAME, "Markdown for Obsidian: one file a memory, with properties and links.", files=_files, shared=True
)
