"""Whether a store in PostgreSQL, and one with Qdrant beside it, find as well as one file does.

    python benches/quality/engines.py --data FOLDER [--half odd] [--conversations 5] [--write]

Each LoCoMo conversation is taken out of its SQLite store (kept by `run.py`, or made) with its vectors, and put into
the others: the same records, the same vectors, the same questions. Qdrant runs in the client's local mode, in a
folder, beside the database. `--write` puts the table into docs/benchmarks.md.
"""

import argparse
import functools
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import embedded_postgres
from conversations import answerable, sound
from scores import Pair, mean, share
from sets import Corpus, locomo
from stores import Store, _Clock, _opened, filled

from common import CACHE, DOCS, Bar, dated, machine, table, write_between
from engram.engines.postgres import PostgresEngine
from engram.engines.postgres_database import Database
from engram.engines.postgres_schema import migrate
from engram.indexes.indexed import Indexed
from engram.indexes.qdrant import QdrantIndex, connect
from engram.inference.models import DEFAULT
from engram.interop.records_rows import record
from engram.model.caller import Caller
from engram.model.change import Request
from engram.model.filter import ANYTHING, Access
from engram.model.query import Space
from engram.model.scope import GLOBAL
from engram.ports import Embedder, Engine
from engram.rules.changes import Step, compose
from engram.rules.policy import Policy
from engram.service import Engram
from engram.wiring.clock import new_id

MEASURES = ("recall@5", "recall@10", "any@5", "all@10", "mrr")
ENGINES = ("sqlite", "postgres", "postgres beside Qdrant")
BATCH = 200


class Once:
    """An embedder that embeds a question once, however many stores are asked it."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.query = functools.cache(embedder.query)

    def __getattr__(self, name: str) -> object:
        """All else is the embedder's own."""
        return getattr(self._embedder, name)


class Place(NamedTuple):
    """Where the other stores rest."""

    database: Database
    folder: Path


@contextmanager
def kept(corpus: Corpus) -> Iterator[Store]:
    """The newest SQLite store of a corpus, whichever state of the program made it: what is compared is engines."""
    name = corpus.name.replace(" ", "-")
    folders = [each.parent for each in (CACHE / "quality").glob(f"{name}-{DEFAULT}/*/ids.json")]
    if not folders:
        with filled(corpus) as store:
            yield store
        return
    newest = max(folders, key=lambda each: each.stat().st_mtime)
    told = json.loads((newest / "ids.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(newest / "store.db", folder)
        with _opened(Path(folder), DEFAULT, _Clock(corpus.now)) as memory:
            yield Store(corpus, memory, told["ids"], told["outcomes"])


def moved(source: Engine, target: Engine, space: Space) -> None:
    """Put every memory of one engine into another, with its vectors."""
    access, after = Access(""), None
    while True:
        page = source.scan("memory", ANYTHING, access, after=after, limit=BATCH, oldest=True)
        memories = page.records
        request = Request(
            caller=Caller(), now=memories[-1].created_at, batch=new_id(), fresh=new_id(), salt=new_id()
        )
        target.commit(compose("import", request, [Step(None, memory) for memory in memories]))
        fed = source.feed([memory.id for memory in memories], space)
        rows = [(id, memory.imprint, vectors) for id, (memory, vectors) in fed.items() if vectors]
        target.put_vectors(space, rows)
        after = page.next
        if after is None:
            return


def beside(store: Store, place: Place) -> dict[str, Store]:
    """The same corpus in each engine."""
    embedder = Once(store.memory.call().embedder)
    engine = PostgresEngine(place.database, store.corpus.name, new_replica=new_id)
    moved(store.memory.engine, engine, embedder.space)
    client = connect(f"qdrant:{place.folder / store.corpus.name}")
    index = QdrantIndex(client, store.corpus.name, embedder.space, name="qdrant", record=record)
    both = Indexed(engine, index, embedder.space)
    for _ in both.reindex():
        pass
    engines = dict(zip(ENGINES, (store.memory.engine, engine, both), strict=True))
    return {name: Store(store.corpus, _asking(each, embedder, store), store.ids) for name, each in engines.items()}


def _asking(engine: Engine, embedder: Embedder, store: Store) -> Engram:
    clock = _Clock(store.corpus.now)
    return Engram(
        engine, caller=Caller(), clock=clock, new_id=new_id, policy=Policy(), home=GLOBAL, embedder=embedder
    )


def measured(corpora: list[Corpus], place: Place) -> dict[str, dict[str, float]]:
    """Every measure of each engine, over all questions that have an answer."""
    pairs: dict[str, list[Pair]] = {name: [] for name in ENGINES}
    first: list[tuple[str, ...]] = []
    same: dict[str, list[bool]] = {name: [] for name in ENGINES}
    for corpus in corpora:
        with kept(corpus) as store:
            stores = beside(store, place)
            bar = Bar(f"asking {corpus.name}", len(sound(store)))
            for question in sound(store):
                for name, each in stores.items():
                    found = each.ask(question.text).ids
                    pairs[name].append(Pair(found, question.gold))
                    first = [*first, found] if name == ENGINES[0] else first
                    same[name].append(found[:10] == first[-1][:10])
                bar.step()
            degraded = stores[ENGINES[2]].memory.engine.degraded()
            if degraded:
                raise SystemExit(degraded)
    return {
        name: {
            **mean(pairs[name], *MEASURES),
            "declined": share(not pair.found for pair in pairs[name]),
            "same ten": share(same[name]),
        }
        for name in ENGINES
    }


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--half", choices=("even", "odd"), default="odd")
    parser.add_argument("--conversations", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    corpora = locomo(options.data)[options.half == "odd" :: 2][: options.conversations]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = embedded_postgres.get_server(folder / "data", cleanup_mode="delete")
        stack.callback(server.cleanup)
        folder.chmod(0o755)  # the server runs as another user
        migrate(server.get_uri(), lambda *_: None)
        database = Database(server.get_uri())
        stack.callback(database.close)
        found = measured(corpora, Place(database, folder))
    heads = ["store", *MEASURES, "declined", "same first ten"]
    shown = table(heads, [[name, *row.values()] for name, row in found.items()])
    asked = sum(map(answerable, (each for corpus in corpora for each in corpus.questions)))
    shown = f"{len(corpora)} conversations, {asked} questions.\n\n{shown}"
    print(shown)
    dated("engines", {"machine": machine(), "half": options.half, "conversations": len(corpora), "found": found})
    if options.write:
        write_between(DOCS / "benchmarks.md", "engines", shown)


if __name__ == "__main__":
    main()
