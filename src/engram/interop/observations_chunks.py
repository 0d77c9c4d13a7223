"""The chunks that a store of observations keeps in a repository: written from memories, sessions and relations.

Each chunk is one JSON object, compressed, and named by what it holds; a manifest lists them. Chunks that are there
already stay as they are, and stay listed.
"""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import chain
from typing import Any

from engram.errors import Invalid
from engram.interop import observations_export as export
from engram.interop.fields import second
from engram.interop.observations_rows import NAME, Row
from engram.interop.writing import File, Folder, Stock, Tally, Writer
from engram.model.hashing import sha256

MANIFEST = "manifest.json"
ROWS, CHARACTERS = 1000, 4 * 1024 * 1024
"""How much a chunk holds at most: so many rows, and once it has so many characters no further row."""


def _files(stock: Stock, tally: Tally, folder: Folder) -> Iterator[File]:
    manifest = _manifest(folder)
    listed = {str(each.get("id")) for each in manifest["chunks"]}
    for chunk in _chunks(stock, tally):
        raw = json.dumps(chunk, ensure_ascii=False, separators=(",", ":")).encode()
        id = sha256(raw).hexdigest()[:8]
        if id not in listed:
            listed.add(id)
            manifest["chunks"].append(_entry(id, chunk, stock.now))
        elif not folder.overwrite:
            continue
        yield File(f"chunks/{id}.jsonl.gz", [gzip.compress(raw, mtime=0)])
    yield File(MANIFEST, [json.dumps(manifest, ensure_ascii=False, indent=2), "\n"])


def _entry(id: str, chunk: dict[str, list[Row]], now: datetime) -> dict[str, Any]:
    counts = {"sessions": "sessions", "memories": "observations", "prompts": "prompts"}
    made = {"id": id, "created_by": "engram", "created_at": second(now)}
    return made | {name: len(chunk[rows]) for name, rows in counts.items()}


def _manifest(folder: Folder) -> dict[str, Any]:
    """The manifest as it is, or a new one.

    Raises:
        Invalid: when there is one that is not known here.
    """
    known = folder.read(MANIFEST)
    if known is None:
        return {"version": 1, "chunks": []}
    try:
        manifest = json.loads(known)
    except (ValueError, RecursionError):
        manifest = None
    if not isinstance(manifest, dict) or manifest.get("version") not in (1, 2) or not _listed(manifest):
        raise Invalid(f"The {MANIFEST} that is there cannot be read.", "Choose another folder.")
    return manifest


def _listed(manifest: dict[str, Any]) -> bool:
    chunks = manifest.setdefault("chunks", [])
    return isinstance(chunks, list) and all(isinstance(each, dict) for each in chunks)


def _chunks(stock: Stock, tally: Tally) -> Iterator[dict[str, list[Row]]]:
    """Sessions before what was made in them, and relations, as changes, after both their ends."""
    parts: tuple[tuple[str, Callable[[Stock, Tally], Iterator[Row]]], ...] = (
        ("sessions", export.sessions),
        ("observations", export.observations),
        ("prompts", export.prompts),
    )
    told = ((name, row) for name, rows in parts for row in rows(stock, tally))
    changes = (("mutations", _change(row)) for row in export.relations(stock, tally))
    for group in _grouped(chain(told, changes)):
        chunk: dict[str, list[Row]] = {name: [] for name, _ in parts}
        for name, row in group:
            chunk.setdefault(name, []).append(row)
        yield chunk


def _grouped(rows: Iterable[tuple[str, Row]]) -> Iterator[list[tuple[str, Row]]]:
    group: list[tuple[str, Row]] = []
    size = 0
    for row in rows:
        group.append(row)
        size += len(str(row[1].get("content", "")))
        if len(group) == ROWS or size > CHARACTERS:
            yield group
            group, size = [], 0
    if group:
        yield group


def _change(row: Row) -> Row:
    payload = json.dumps(row, ensure_ascii=False)
    return {"entity": "relation", "entity_key": row["sync_id"], "op": "upsert", "payload": payload}


WRITER = Writer(
    f"{NAME}-chunks", "The chunks that a store of observations keeps in a repository.", files=_files, shared=True
)
