"""Stores of every size, built once and kept in `benches/.cache`.

They are filled through `Engine.commit` and `Engine.put_vectors`, a thousand memories at a time, with the records
and the history that `remember` would have made: one transaction each would take the greater part of an hour for a
million. What is measured on them goes through the public API.
"""

import hashlib
import itertools
import os
import shutil
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, NamedTuple

import texts
import vectors

from common import CACHE, Bar
from engram.engines import sqlite_file
from engram.engines.sqlite import SqliteEngine
from engram.inference import models
from engram.model.caller import Caller
from engram.model.change import Request
from engram.model.memory import Memory
from engram.model.query import Space
from engram.model.scope import GLOBAL, Scope
from engram.model.text import TERMS_VERSION
from engram.rules.changes import Step, compose
from engram.wiring.clock import new_id

FOLDER = CACHE / "speed" / "stores"
BATCH = 1000
SCOPES = 1000
NEWEST = datetime(2026, 11, 1, tzinfo=UTC)

Layout = Literal["one", "many"]
"""All memories in one scope; or in a thousand scopes, of which one holds a hundredth of all."""


class Store(NamedTuple):
    """A store on disk: how many memories it holds, how they lie, and the scope that is asked."""

    path: Path
    size: int
    layout: Layout

    @property
    def scope(self) -> str:
        """The scope to ask in; "" is the one that is asked by default."""
        return str(scope_of(0)) if self.layout == "many" else ""

    @property
    def asked(self) -> int:
        """How many memories that scope holds."""
        return self.size if self.layout == "one" else max(self.size // 100, 1)


def store(size: int, layout: Layout) -> Store:
    """The store of this size, built unless it is there."""
    found = Store(FOLDER / f"{layout}-{size}-{_form()}.db", size, layout)
    if not found.path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        need = size * 6000 + 50_000_000
        if shutil.disk_usage(FOLDER).free < 2 * need:
            raise SystemExit(f"A store of {size:,} memories takes {need / 1e9:.1f} GB; there is no room for it.")
        _build(found)
    return found


def copied(source: Store, folder: Path) -> Store:
    """The same store under another name, to be written to."""
    path = folder / source.path.name
    shutil.copyfile(source.path, path)
    path.chmod(0o600)
    return source._replace(path=path)


def scope_of(place: int) -> Scope:
    """The n-th of the thousand scopes; the first is the large one."""
    return Scope("project", f"p{place:04d}")


def _build(target: Store) -> None:
    draft = target.path.with_suffix(".new")
    for suffix in ("", "-wal", "-shm"):
        Path(f"{draft}{suffix}").unlink(missing_ok=True)
    engine = SqliteEngine(draft, new_replica=new_id)
    db = engine._connection()  # noqa: SLF001 - a draft that is made again after a crash needs no syncing
    db.execute("PRAGMA synchronous = OFF; PRAGMA cache_size = -400000").fetchall()
    model = models.MODELS[models.DEFAULT]
    space = Space(model.id, model.dim)
    rows = vectors.vectors(target.size)
    bar = Bar(f"building {target.size:,}, {target.layout} scope(s)", target.size)
    done = 0
    for batch in _batches(_memories(target)):
        request = Request(caller=Caller(), now=NEWEST, batch=new_id(), fresh=new_id(), salt=new_id())
        engine.commit(compose("import", request, [Step(None, memory) for memory in batch]))
        floats = rows[done : done + len(batch)].astype("<f4")
        engine.put_vectors(
            space, [(memory.id, memory.imprint, row.tobytes()) for memory, row in zip(batch, floats, strict=True)]
        )
        done += len(batch)
        bar.to(done)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    engine.close()
    os.rename(draft, target.path)


def _memories(target: Store) -> Iterator[Memory]:
    """The texts as memories that a person said, over the last hundred days."""
    large = max(target.size // 100, 1)
    for at, text in enumerate(texts.texts(target.size)):
        # The large scope's memories lie among the others, as they would.
        mine = at % 100 == 0 and at // 100 < large
        place = 0 if mine else 1 + at % (SCOPES - 1)
        made = NEWEST - timedelta(days=100) * (1 - at / target.size)
        yield Memory(
            id=_id(at),
            text=text,
            scope=GLOBAL if target.layout == "one" else scope_of(place),
            origin="said",
            owner="",
            status="promoted",
            decay="none",
            created_at=made,
            updated_at=made,
        )


def _id(at: int) -> str:
    """An id that looks like ours and is the same in every build."""
    drawn = hashlib.sha256(str(at).encode()).hexdigest()
    return f"{0x01930000 + (at >> 16):08x}-{at & 0xFFFF:04x}-7{drawn[:3]}-8{drawn[3:6]}-{drawn[6:18]}"


def _batches(memories: Iterable[Memory]) -> Iterator[list[Memory]]:
    several = iter(memories)
    while batch := list(itertools.islice(several, BATCH)):
        yield batch


def _form() -> str:
    """A short name for how stores are laid out now: another schema, text or model is another store."""
    path = FOLDER / f".form-{os.getpid()}.db"
    FOLDER.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    sqlite_file.create(path)
    db = sqlite_file.connect(path)
    schema = [sql for (sql,) in db.execute("SELECT sql FROM sqlite_master ORDER BY name") if sql]
    db.close()
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    whole = repr((schema, TERMS_VERSION, models.MODELS[models.DEFAULT].id, texts.fingerprint()))
    return hashlib.sha256(whole.encode()).hexdigest()[:8]
