"""A folder of Markdown files for Obsidian, written: one file a memory, with properties, and links for relations.

Files lie in a folder for each scope. A file of ours names its memory and the checksum of what we wrote below its
properties, so that it is told from any other file, and from one that a person has changed since.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from engram.interop.fields import second
from engram.interop.writing import File, Folder, Stock, Tally, Writer
from engram.model.hashing import sha256
from engram.model.memory import Memory, standing
from engram.model.scalars import print_value
from engram.model.scope import Scope

NAME = "obsidian"
LONGEST_NAME = 80
ID, SEAL = "engram_id", "engram_sha256"
CARRIED = frozenset(
    {
        *("key", "scope", "session", "summary", "kind", "tags", "citations", "origin", "source", "confidence"),
        *("actor", "importance", "pinned", "decay", "valid_from", "valid_until", "created_at", "verified_at"),
        *("replaced_by", "status", "visibility", "learned_by", "approved_by", "forgotten_at", "held_for"),
    }
)
_UNSAFE = re.compile(r"[\x00-\x1f\\/:*?\"<>|#^\[\]]+")

Links = Mapping[str, list[tuple[str, str]]]
"""A memory's id → what it is to others, and their ids."""


def _files(stock: Stock, tally: Tally, folder: Folder) -> Iterator[File]:
    paths = _paths(stock, folder)
    links = _links(stock, tally, paths)
    for memory in stock.memories():
        path, text = paths[memory.id], _page(memory, links.get(memory.id, []), paths, stock)
        if trouble := _in_the_way(folder, path, memory.id):
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
    found: dict[str, list[tuple[str, str]]] = {}
    for relation in stock.relations():
        if relation.from_id in paths and relation.to_id in paths:
            tally.relations += 1
            word = relation.kind if relation.status == "judged" else f"{relation.kind} ({relation.status})"
            found.setdefault(relation.from_id, []).append((word, relation.to_id))
    return found


def _page(memory: Memory, links: list[tuple[str, str]], paths: Mapping[str, str], stock: Stock) -> str:
    parts = [memory.text.rstrip("\n")]
    if links or memory.replaced_by in paths:
        said = [*links, *([("replaced by", memory.replaced_by)] if memory.replaced_by in paths else [])]
        parts.append("\n".join(["## Relations", "", *(f"- {word} [[{_link(paths[id])}]]" for word, id in said)]))
    if memory.citations:
        cited = (f"- {one.kind}: `{one.ref}` {one.locator} {one.pin}".rstrip() for one in memory.citations)
        parts.append("\n".join(["## Sources", "", *cited]))
    body = "\n\n".join(parts) + "\n"
    properties = _properties(memory, stock) | {ID: memory.id, SEAL: _seal(body)}
    front = "".join(f"{name}: {print_value(value)}\n" for name, value in properties.items())
    return f"---\n{front}---\n{body}"


def _link(path: str) -> str:
    return path.removesuffix(".md")


def _properties(memory: Memory, stock: Stock) -> dict[str, Any]:
    """What is known of a memory, as Obsidian lists it; what is not said is left out."""
    said = {
        "kind": memory.kind,
        "scope": str(memory.scope),
        "standing": standing(memory, stock.now),
        "key": memory.key,
        "summary": memory.summary,
        "tags": [re.sub(r"\s+", "-", tag) for tag in memory.tags],
        "origin": memory.origin,
        "source": memory.source,
        "confidence": memory.confidence,
        "importance": memory.importance,
        "pinned": memory.pinned,
        "actor": memory.actor,
        "visibility": memory.visibility,
        "session": memory.session,
        "created": second(memory.created_at),
        "updated": second(memory.updated_at),
        "verified": second(memory.verified_at),
        "valid_from": second(memory.valid_from),
        "valid_until": second(memory.valid_until),
        "decay": memory.decay,
    }
    return {name: value for name, value in said.items() if value not in (None, "", [])}


def _in_the_way(folder: Folder, path: str, id: str) -> str:
    """Why a file that is there already must stay as it is, or ""."""
    known = folder.read(path)
    if known is None:
        return ""
    if _is_of_another(known, id):
        return "a file of this name is there, and is not of this memory; it was left as it is."
    said, body = _split(known)
    if said.get(SEAL) != _seal(body) and not folder.overwrite:
        return "it was changed by hand, and was left as it is; --overwrite replaces it."
    return ""


def _is_of_another(known: str | None, id: str) -> bool:
    return known is not None and _split(known)[0].get(ID) != id


def _split(page: str) -> tuple[dict[str, str], str]:
    """The properties of a page as they stand there, and what is below them."""
    front, _, body = page.removeprefix("---\n").partition("\n---\n")
    rows = (line.partition(": ") for line in front.split("\n"))
    return {name: value.strip().strip('"') for name, _, value in rows}, body


def _seal(body: str) -> str:
    return sha256(body.encode()).hexdigest()[:32]


WRITER = Writer(
    NAME, "Markdown for Obsidian: one file a memory, with properties and links.", files=_files, shared=True
)
