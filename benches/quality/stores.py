"""Stores filled through the public API, as a user would fill them, and kept for the next run."""

import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sets import Corpus, Item

import engram
from common import CACHE, Bar
from engram.inference.models import DEFAULT, MODELS, PACKED

SHAPING = ("engines", "inference", "model", "operations", "rules")
"""The parts of the program that decide what a store holds: another state of them, another store."""

DEEP = 50
"""How many hits are asked for: the most there are."""


OLD = 6 * 3600
"""After so many seconds nobody uses a store any more that a newer one has replaced."""


class Found(NamedTuple):
    """An answer: ids of items, best first, each with its relevance; nothing where the question was declined."""

    ids: tuple[str, ...]
    relevance: tuple[float, ...]

    def groups(self, of: dict[str, str]) -> list[str]:
        """The sessions of what was found: the place of a session is the place of its best hit."""
        return list(dict.fromkeys(of[id] for id in self.ids))


@dataclass
class _Clock:
    """Tells the time it is set to."""

    at: datetime

    def __call__(self) -> datetime:
        return self.at


@dataclass
class Store:
    """One corpus in one store, ready to be asked at the corpus's own moment."""

    corpus: Corpus
    memory: engram.Engram
    ids: dict[str, str]  # of a memory → of the item
    outcomes: dict[str, int] = field(default_factory=dict)

    def ask(self, question: str, *, weak: bool = False, words: bool = False) -> Found:
        """Recall, as anybody would; `weak` also gives what is not relevant, `words` does without meaning."""
        answer = self.memory.recall(question, limit=DEEP, weak=weak, words=words)
        if answer.behind:
            raise SystemExit(f"{self.corpus.name}: {answer.behind} memories have no vector. {answer.hint}")
        return Found(
            tuple(self.ids[hit.memory.id] for hit in answer.hits), tuple(hit.relevance for hit in answer.hits)
        )


@contextmanager
def filled(corpus: Corpus, embedder: str = DEFAULT) -> Iterator[Store]:
    """The corpus in a store, with vectors; made at the first time and found again as long as nothing changed."""
    name = f"{corpus.name.replace(' ', '-')}-{embedder}"
    folder = CACHE / "quality" / name / _key(corpus, embedder)
    if not (folder / "ids.json").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _fill(corpus, folder, embedder)
        _tidy(folder)
    kept = json.loads((folder / "ids.json").read_text())
    with _opened(folder, embedder, _Clock(corpus.now)) as memory:
        yield Store(corpus, memory, kept["ids"], kept["outcomes"])


def installed() -> list[str]:
    """The embedding models whose files came with the program, the default first."""
    there = [name for name in MODELS if (Path(PACKED) / name / MODELS[name].weights.name).exists()]
    return sorted(there, key=lambda name: name != DEFAULT)


def _opened(folder: Path, embedder: str, clock: _Clock) -> engram.Engram:
    """A memory that knows nothing of this machine's settings, project and own store."""
    return engram.open(
        folder / "store.db",
        clock=clock,
        folder="/",
        environment={"HOME": str(folder), "ENGRAM_EMBEDDER": embedder},
    )


def _fill(corpus: Corpus, folder: Path, embedder: str) -> None:
    clock = _Clock(corpus.now)
    ids: dict[str, str] = {}
    outcomes: Counter[str] = Counter()
    with _opened(folder, embedder, clock) as memory:
        for item in corpus.items:
            clock.at = item.at
            answer = _save(memory, item)
            ids[answer.memory.id] = item.id
            outcomes[answer.outcome] += 1
        clock.at = corpus.now
        bar = Bar(f"embedding {corpus.name}", len(corpus.items))
        memory.watched_by(lambda done, _of, _what: bar.to(done)).reembed()
    (folder / "ids.json").write_text(json.dumps({"ids": ids, "outcomes": outcomes}))


def _save(memory: engram.Engram, item: Item) -> engram.model.answers.Remembered:
    # These are old notes, kept for good: without decay="none" those of more than half a year would be stale by the
    # end of their conversation. Every turn is a memory of its own, even the second "Bye!".
    return memory.remember(
        item.text,
        kind=item.kind,
        key=item.key,
        summary=item.summary,
        tag=item.tags or None,
        session=item.group,
        decay="none",
        dedupe="create",
    )


def _tidy(folder: Path) -> None:
    """Remove what other content or another program left beside it, unless somebody may still be using it."""
    for other in folder.parent.iterdir():
        if other != folder and time.time() - other.stat().st_mtime > OLD:
            shutil.rmtree(other, ignore_errors=True)


def _key(corpus: Corpus, embedder: str) -> str:
    """What no store of other content, of another model or by another program shares."""
    return hashlib.sha256(repr((corpus.items, MODELS[embedder].id, _program())).encode()).hexdigest()[:16]


@cache
def _program() -> str:
    """Which program fills the stores."""
    digest = hashlib.sha256()
    for part in SHAPING:
        for path in sorted((Path(engram.__file__).parent / part).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
