"""The far end of a peer: one process in the peer's own virtualenv, answering one JSON line per request.

An adapter is a class with `open`, `add`, `search` and `close`; `serve` does the rest. Times are taken here, around
the peer's own call, so that neither the pipe nor JSON is in them.
"""

import json
import os
import sys
import time
import traceback
from abc import ABC, abstractmethod
from typing import Any, Protocol

Item = dict[str, str]
"""What is kept: id, text, session, created_at (ISO 8601)."""


class Embeds(Protocol):
    """An embedder that counts the seconds its queries took, and may reuse vectors while a store is filled."""

    spent: float
    filling: bool

    def query(self, text: str) -> object:
        """The vector of a question."""


class Adapter(ABC):
    """One peer, as the driver drives it."""

    embedder: Embeds | None = None

    @abstractmethod
    def open(self, folder: str, mode: str, home: str) -> None:
        """Make an empty store in the folder; `home` is where the peer is installed."""

    @abstractmethod
    def add(self, items: list[Item]) -> None:
        """Keep them, as durably as the peer does; a single item by the call its users would make for one."""

    @abstractmethod
    def search(self, query: str, limit: int) -> list[str]:
        """The ids of what is found, best first."""

    def everything(self) -> list[str]:
        """All that is kept, as text: for those whose store is hurt by the bench of reliability."""
        raise NotImplementedError

    def check(self) -> str:
        """What its own check of its store finds wrong; nothing where it is well, or has none."""
        return ""

    def close(self) -> None:  # noqa: B027 - not every peer has something to let go of
        """Let go of the store."""


def serve(adapter: Adapter) -> None:
    """Answer until `close` or the end of the input; an error is an answer too."""
    # Libraries print. Whatever they print goes to the log, and only answers go to the driver.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = _answer(adapter, request)
        except Exception as error:  # noqa: BLE001 - the driver reports it and goes on with the next peer
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)
        if request["op"] == "close":
            return


def _answer(adapter: Adapter, request: dict[str, Any]) -> dict[str, Any]:
    embedder = adapter.embedder
    spent = embedder.spent if embedder else 0.0
    if embedder:
        embedder.filling = len(request.get("items", ())) > 1
    begun = time.perf_counter()
    answer: dict[str, Any] = {}
    match request["op"]:
        case "open":
            adapter.open(request["folder"], request["mode"], request["home"])
        case "add":
            adapter.add(request["items"])
        case "search":
            answer["ids"] = adapter.search(request["query"], request["limit"])
        case "embed" if embedder:
            embedder.query(request["query"])
        case "close":
            adapter.close()
    answer["ms"] = (time.perf_counter() - begun) * 1000
    answer["embed_ms"] = (embedder.spent - spent) * 1000 if embedder else 0.0
    return answer
