"""An engine with an index beside it: the index proposes ids, the engine reads them again, filters and scores.

Everything but `search` is the engine's own. The index follows the engine's history and may be behind: what was
changed since is always among the candidates. Where it does not answer, is too far behind or cannot be asked that
way, the engine answers alone.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar, cast

from engram.errors import Unavailable
from engram.model.change import Change, Commit, Finding
from engram.model.filter import Access
from engram.model.memory import Memory
from engram.model.query import Hit, Query, Space
from engram.ports import Engine, ManyOrgs, able

T = TypeVar("T")

BATCH = 200
"""Events that are taken over at once."""

LAG = 1000
"""Beyond so many changes that the index has not seen, the engine answers alone."""

REST = 30.0
"""Seconds for which an index that did not answer is not asked again."""

WIDER = 3
"""So many times more candidates are asked for than wanted: the index knows less of a filter than the engine."""


class Fed(NamedTuple):
    """A memory as an index takes it over: whole, whoever owns it, with its vectors in one space."""

    memory: Memory
    vectors: bytes


class Source(Engine, Protocol):
    """An engine that an index can follow: it also tells memories whoever owns them."""

    def feed(self, ids: Sequence[str], space: Space | None) -> Mapping[str, tuple[Memory, bytes]]:
        """Memories by id as they are now, each with its vectors in a space; for an index, never for a caller."""
        ...


class Index(Protocol):
    """Where candidates are found. Bound to one org and one space; every call may raise Unavailable."""

    name: str

    def of(self, org: str) -> "Index":
        """The same for another org."""
        ...

    def mark(self) -> int:
        """The last event that was taken over."""
        ...

    def move(self, seq: int) -> None:
        """Remember how far it came."""
        ...

    def put(self, fed: Sequence[Fed]) -> None:
        """Keep these as they are now."""
        ...

    def drop(self, ids: Sequence[str]) -> None:
        """Forget these."""
        ...

    def bare(self, limit: int) -> list[str]:
        """Ids of memories that had no vector yet when they were taken over."""
        ...

    def find(self, query: Query, access: Access, limit: int) -> list[str] | None:
        """Ids of readable candidates, best first; None where the question cannot be put to it."""
        ...

    def clear(self) -> None:
        """Forget everything of this org, and how far it came."""
        ...

    def close(self) -> None:
        """Release what is held."""
        ...


class Indexed:
    """An engine whose searches are narrowed by an index first; see the module."""

    def __init__(self, engine: Source, index: Index, space: Space | None) -> None:
        """Join the two; `space` is where the vectors live that the index holds."""
        self._engine, self._index, self._space = engine, index, space
        self._following = threading.Lock()
        self._seen: int | None = None  # the last event that is known to have been taken over
        self._rests_until = 0.0
        self._why = ""

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the engine has
        """All else is the engine's own; but where a database has many orgs, each of them has an index."""
        found = getattr(self._engine, name)
        return self._of if name == "of" else found

    def _of(self, org: str) -> "Indexed":
        """See `ports.ManyOrgs.of`."""
        database = able(self._engine, ManyOrgs)
        assert database
        return Indexed(cast("Source", database.of(org)), self._index.of(org), self._space)

    def search(self, query: Query, access: Access) -> list[Hit]:
        """See `ports.Engine.search`."""
        if not isinstance(access, Access):
            raise TypeError("A read needs an Access.")
        query = query.arrived()
        ids = self._candidates(query, access)
        if ids is not None:
            query = query._replace(where=query.where._replace(ids=tuple(ids)))
        return self._engine.search(query, access)

    def commit(self, change: Change) -> Commit:
        """See `ports.Engine.commit`; the index follows at once, if it can."""
        commit = self._engine.commit(change)
        self._asked(self._follow_a_little)
        return commit

    def put_vectors(self, space: Space, rows: Sequence[tuple[str, str, bytes]]) -> int:
        """See `ports.Engine.put_vectors`."""
        kept = self._engine.put_vectors(space, rows)
        if kept:
            self._asked(self._follow_a_little)
        return kept

    def reindex(self, *, fresh: bool = False) -> Iterator[tuple[int, int]]:
        """See `ports.Followed.reindex`."""
        if fresh:
            self._index.clear()
        self._rests_until, self._why = 0.0, ""
        newest = self._engine.events(newest=True, limit=1)
        last = newest[0].seq if newest else 0
        while True:
            with self._following:
                more = self._take_over()
            yield min(self._seen or 0, last), last
            if not more:
                return

    def degraded(self) -> str:
        """See `ports.Followed.degraded`."""
        return self._why

    @property
    def index_name(self) -> str:
        """See `ports.Followed`."""
        return self._index.name

    def check(self, *, repair: bool = False) -> list[Finding]:
        """See `ports.Engine.check`; an index that cannot be asked is no damage, but told."""
        findings = self._engine.check(repair=repair)
        self._rests_until, self._why = 0.0, ""
        self._asked(self._tail)
        if self._why:
            hint = "Bring it up to date: engram reindex."
            findings.append(Finding("index", self._why, hint, severity="warning"))
        return findings

    def close(self) -> None:
        """See `ports.Engine.close`."""
        self._index.close()
        self._engine.close()

    # asking

    def _candidates(self, query: Query, access: Access) -> list[str] | None:
        """The ids among which the answer is, or None where the engine must look everywhere itself."""
        if not query.ranked or query.phrases or query.where.ids is not None or query.limit < 1:
            return None

        def ask() -> list[str] | None:
            seen, tail = self._tail()
            found = None if tail is None else self._index.find(query, access, WIDER * query.limit)
            if tail is None or found is None:
                return None
            self._seen = self._index.mark()
            # Where it is further back than before, another process makes it anew: not all was there to be found.
            return [*dict.fromkeys((*found, *tail))] if self._seen >= seen else None

        return self._asked(ask)

    def _asked(self, ask: Callable[[], T | None]) -> T | None:
        """What the index answers; None while it rests after it did not."""
        if time.monotonic() < self._rests_until:
            return None
        try:
            return ask()
        except Unavailable as error:
            self._rests_until = time.monotonic() + REST
            self._why = f"The index {self._index.name} did not answer, so the store answered alone: {error.message}"
            return None

    def _tail(self) -> tuple[int, list[str] | None]:
        """The last event that the index has surely seen, and what changed since; None where that is too much."""
        seen = self._index.mark() if self._seen is None else self._seen
        events = self._engine.events(after=seen, limit=LAG + 1)
        if len(events) > LAG and self._seen is not None:
            seen = self._index.mark()  # another process may have brought it on
            events = self._engine.events(after=seen, limit=LAG + 1)
        self._seen = seen
        bare = self._index.bare(LAG + 1) if self._space else []
        if len(events) > LAG or len(bare) > LAG:
            self._why = f"The index {self._index.name} is far behind, so the store answered alone."
            return seen, None
        self._why = ""
        return seen, [*bare, *(id for event in events for id in event.subjects)]

    # following

    def _follow_a_little(self) -> None:
        """Take over one batch, unless another thread is at it."""
        if self._following.acquire(blocking=False):
            try:
                self._take_over()
            finally:
                self._following.release()

    def _take_over(self) -> bool:
        """Take over the next events and the vectors that came later; whether there may be more."""
        seq = self._index.mark()
        events = self._engine.events(after=seq, limit=BATCH)
        bare = self._index.bare(BATCH) if self._space else []
        ids = [*dict.fromkeys((*bare, *(id for event in events for id in event.subjects)))]
        fed = [Fed(*each) for each in self._engine.feed(ids, self._space).values()] if ids else []
        changed = {id for event in events for id in event.subjects}
        news = [each for each in fed if each.memory.id in changed or each.vectors]
        known = {each.memory.id for each in fed}
        if gone := [id for id in ids if id not in known]:
            self._index.drop(gone)
        if news:
            self._index.put(news)
        if events:
            self._index.move(events[-1].seq)
        self._seen = events[-1].seq if events else seq
        return bool(events) or (len(bare) == BATCH and bool(news))
