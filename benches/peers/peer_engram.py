"""Engram itself, asked over MCP as the other servers are: for probes that are done to it and to others alike."""

import os
import sys

from serve import Adapter, Item, serve
from speaking import Spoken

import engram


class Engram(Adapter):
    """`engram mcp` on a store of SQLite; what is in it is read, and checked, by the library."""

    def open(self, folder: str, mode: str, home: str) -> None:  # noqa: ARG002 - one mode, and installed already
        """Say where the store is; the server is started by the first that is kept."""
        self._folder, self._place = folder, os.path.join(folder, "home", "engram.db")
        self._server: Spoken | None = None

    def add(self, items: list[Item]) -> None:
        """One call for each."""
        if self._server is None:
            variables = {**os.environ, "ENGRAM_STORE": self._place, "ENGRAM_EMBEDDER": "none"}
            self._server = Spoken([sys.executable, "-m", "engram.surfaces.cli", "mcp"], variables, self._folder)
        for item in items:
            self._server.call("remember", text=item["text"])

    def search(self, query: str, limit: int) -> list[str]:
        """The texts that recall finds."""
        with self._opened() as memory:
            return [hit.memory.text for hit in memory.recall(query, limit=limit).hits]

    def everything(self) -> list[str]:
        """Every text."""
        with self._opened() as memory:
            return [each.text for each in memory.list(standing=["all"], everywhere=True, limit=1000).memories]

    def check(self) -> str:
        """What `engram doctor` says."""
        with self._opened() as memory:
            return " ".join(each.message for each in memory.doctor().findings if each.severity != "note")

    def _opened(self) -> "engram.Engram":
        variables = {"HOME": self._folder, "ENGRAM_EMBEDDER": "none"}
        return engram.open(self._place, environment=variables, folder=self._folder)


if __name__ == "__main__":
    serve(Engram())
