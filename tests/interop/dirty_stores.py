"""Stores of other systems that hold what nobody asked for, as those leave it: what ails them is known."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from interop import foreign_stores as stores

GH = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
DEPLOY = "The deploy runs every Friday at noon after the nightly build is green"
DIRTY = (
    *(DEPLOY, DEPLOY, DEPLOY.replace("nightly ", "")),
    f"Deployed with {GH} to staging",
    "<claude-mem-context> what was recalled </claude-mem-context>",
    "ok",
)
"""What agents leave in any store: twice the same, nearly the same, a token, a recalled block and nothing at all."""


def dirty_observations(folder: Path) -> Path:
    held = stores.observed(later=True)
    model = held["observations"][0] | {"topic_key": None}
    held["observations"] = [
        model | {"id": n, "sync_id": f"obs-{n:016x}", "title": text.split()[0], "content": text, "project": "api"}
        for n, text in enumerate(DIRTY, 100)
    ]
    tie = stores._relation(9, 100, 103, "related", "judged", reason=f"both need {GH}")
    held |= {"prompts": [], "relations": [tie]}
    held["sessions"] = [held["sessions"][0] | {"summary": None, "directory": f"/src/{GH}", "id": "manual-save-api"}]
    stores.observations_db(folder / "engram.db", held).close()
    return folder / "engram.db"


def dirty_items(folder: Path) -> Path:
    model = stores.items()[0]
    return stores.memory_v1(
        folder / "b", [model | {"id": f"mem-{n:04d}", "fact": text} for n, text in enumerate(DIRTY, 1)]
    )


def dirty_mem0(folder: Path) -> Path:
    rows = [{"id": f"0190-{n}", "memory": text, "user_id": "u", "hash": "x"} for n, text in enumerate(DIRTY)]
    (folder / "all of mem0.json").write_text(json.dumps({"results": rows}), encoding="utf-8")
    return folder / "all of mem0.json"


def dirty_server_memory(folder: Path) -> Path:
    entity = {"type": "entity", "name": "api", "entityType": "project", "observations": DIRTY[:-1]}
    silent = {"type": "entity", "name": "ok", "entityType": "ok", "observations": []}
    (folder / "memory.jsonl").write_text(f"{json.dumps(entity)}\n{json.dumps(silent)}\n", encoding="utf-8")
    return folder / "memory.jsonl"


DIRTY_STORES: Mapping[str, Callable[[Path], Path]] = {
    "observations": dirty_observations,
    "memory-v1": dirty_items,
    "mem0": dirty_mem0,
    "server-memory": dirty_server_memory,
}
"""The form that a store is known by, and how such a store is made in a folder."""
