"""Vectors that follow what was saved: made beside the caller, in a thread that lives while some are lacking."""

from _thread import allocate_lock
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from engram.model.filter import Access
from engram.ports import Embedder, Engine
from engram.recall.meaning import catch_up

if TYPE_CHECKING:
    from threading import Event, Thread

FEW = 2
"""Memories that get their vectors at a time while others are served: closing waits for these and no more."""

QUIET = 3.0
"""So many seconds without a request are a quiet moment, in which a server may load the model."""

MOST_WAITING = 64
"""The vectors of so many callers' memories wait for a quiet moment; those of others for their next request."""


class Follower:
    """Gives memories their vectors beside the caller, in a thread that lives while some lack one.

    Where the model is loaded it begins at once. Where it is not, a process that `lasts` loads it when nobody has
    asked for anything for a moment; any other never does, for nobody may wait for it.
    """

    def __init__(self, engine: Engine, embedder: Embedder | None, *, lasts: bool = False) -> None:
        self._engine, self._embedder = engine, embedder
        self._thread: Thread | None = None
        self._stopping: Event | None = None  # what wakes the thread that is at it; None where none is
        self._turn = allocate_lock()
        self._waiting: dict[Access, None] = {}  # whose memories are looked at, the latest last
        self._touched = 0.0
        self.lasts = lasts
        self.stopped = False

    def nudge(self, access: Access) -> None:
        """Begin, where something that may be read lacks a vector, now or in a quiet moment: saving never waits."""
        embedder = self._embedder
        if embedder is None or self.stopped or not (embedder.ready or self.lasts):
            return
        # What was asked for is done by now, and must not look refused because of what comes beside it.
        with suppress(Exception), self._turn:
            self._touched = monotonic()
            running = self._stopping is not None
            if embedder.ready and not running and not self._wanting(embedder, access):
                return
            self._waiting.pop(access, None)
            self._waiting[access] = None
            if len(self._waiting) > MOST_WAITING:
                del self._waiting[next(iter(self._waiting))]
            if not running:
                self._start(embedder)

    def _wanting(self, embedder: Embedder, access: Access) -> bool:
        """Whether there is something to do: some lack one, or none has one yet."""
        backlog = self._engine.backlog(access)
        return backlog.active is None or (backlog.active == embedder.space and bool(backlog.lacking))

    def _start(self, embedder: Embedder) -> None:
        import atexit  # noqa: PLC0415 - start-up; whoever gets here has long paid for it
        from threading import Event, Thread  # noqa: PLC0415 - the same

        if self._thread is None:
            # A process that ends without close() must not be torn down while the model runs in a thread.
            atexit.register(self.stop)
        stopping = Event()
        thread = Thread(target=self._run, args=(embedder, stopping), name="engram-vectors", daemon=True)
        thread.start()
        self._thread, self._stopping = thread, stopping

    def _run(self, embedder: Embedder, stopping: "Event") -> None:
        # Whatever fails here is tried again at the next occasion, and is nobody's question to answer.
        with suppress(Exception):
            while not embedder.ready and (rest := self._touched + QUIET - monotonic()) > 0:
                stopping.wait(rest)
                if self.stopped:
                    return
            while access := self._next():
                while not self.stopped and self._wanting(embedder, access):
                    if not catch_up(self._engine, embedder, access, most=FEW):
                        break
            return
        with self._turn:
            self._stopping = None

    def _next(self) -> Access | None:
        """Whose memories come next; with None the thread is done, and whoever comes from then on starts another."""
        with self._turn:
            if self._waiting and not self.stopped:
                return self._waiting.popitem()[0]
            self._stopping = None
            return None

    def stop(self) -> None:
        """Let it finish the few it is at, and begin no more."""
        self.stopped = True
        if self._thread is not None:
            import atexit  # noqa: PLC0415 - where there is a thread, it is loaded

            if (stopping := self._stopping) is not None:
                stopping.set()
            self._thread.join()
            atexit.unregister(self.stop)
