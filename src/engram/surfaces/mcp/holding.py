"""The memory a server holds: opened when it is first needed, and closed once."""

import os
import threading
from collections.abc import Mapping

from engram.model.caller import UNNAMED
from engram.model.scope import Scope
from engram.service import Engram

PATIENCE = 2.0
"""Seconds that a store may take to close when a server ends."""


class Held:
    """Opens the store at the first request, so that a server can say what it offers before, and whatever is wrong.

    A store that cannot be opened is tried again at the next request: a lock goes away, a mistake is mended. `home`
    is where memories land; the folder of this process tells it unless given. `environment` is this process's.
    """

    def __init__(
        self, store: str = "", home: Scope | None = None, environment: Mapping[str, str] | None = None
    ) -> None:
        self._store, self._environment = store, environment
        self.home = home
        self._lock = threading.Lock()
        self._engram: Engram | None = None

    def engram(self) -> Engram:
        """The memory, for an agent.

        Raises:
            EngramError: when it cannot be opened.
        """
        with self._lock:
            if self._engram is None:
                from engram.wiring import open  # noqa: PLC0415 - not before it is needed

                opened = open(
                    self._store,
                    home=self.home,
                    agent=UNNAMED,
                    channel="elicitation",
                    environment=self._environment,
                )
                self._engram = opened.preloading_when_idle()
            return self._engram

    def close(self) -> None:
        """Let go of the store."""
        with self._lock:
            if self._engram is not None:
                self._engram.close()


def leave(held: Held) -> None:
    """Let go of the store as the last thing a server does; where a call still waits for it, the process ends here.

    Nobody is left to hear that call's answer. What was acknowledged is on the disk; what was not is as if it had
    never been asked.
    """
    closing = threading.Thread(target=held.close, daemon=True)
    closing.start()
    closing.join(PATIENCE)
    if closing.is_alive():
        os._exit(0)
