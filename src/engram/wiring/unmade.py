"""A store that is not there yet: an empty memory answers for it, and whatever is kept first makes it."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from engram.engines.ram import RamEngine
from engram.model.change import Finding
from engram.ports import Engine, Noticing, able

READS = frozenset({"get", "scan", "search", "census", "containing", "places", "lacking", "backlog", "events"})
"""What an empty memory answers as an empty store would."""


class Unmade:
    """The engine of a store that the first call which needs it makes: what is refused before leaves nothing.

    Where somebody else has made it meanwhile, that store answers.
    """

    def __init__(self, kind: type, make: Callable[[], Engine], is_made: Callable[[], bool]) -> None:
        """Stand for an engine of a `kind`; `make` opens it."""
        self._kind, self._make, self._is_made = kind, make, is_made
        self._empty = RamEngine("")
        self._engine: Engine | None = None
        self._lock = threading.Lock()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the engine has
        """All is the engine's own; to ask whether it has something makes none."""
        found = getattr(self._kind, name)
        if not callable(found):
            return found

        def asked(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as the engine has it
            empty = self._engine is None and name in READS and not self._is_made()
            return getattr(self._empty if empty else self._made(), name)(*args, **kwargs)

        return asked

    def notices(self) -> Sequence[Finding]:
        """See `ports.Noticing`; a store that is not there has nothing to say."""
        noticing = able(self._engine, Noticing) if self._engine else None
        return noticing.notices() if noticing else ()

    def close(self) -> None:
        """Let go of the store, if it was made."""
        if self._engine is not None:
            self._engine.close()

    def _made(self) -> Engine:
        with self._lock:
            if self._engine is None:
                self._engine = self._make()
            return self._engine
