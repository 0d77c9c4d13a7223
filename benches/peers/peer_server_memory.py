"""@modelcontextprotocol/server-memory: one entity per item, asked over MCP as a client would."""

import os

from serve import Adapter, Item, serve
from speaking import Spoken


class ServerMemory(Adapter):
    """One server on one file."""

    def open(self, folder: str, mode: str, home: str) -> None:  # noqa: ARG002 - one mode
        """Start it and shake hands."""
        program = os.path.join(home, "node_modules", "@modelcontextprotocol", "server-memory", "dist", "index.js")
        environment = {**os.environ, "MEMORY_FILE_PATH": os.path.join(folder, "memory.jsonl")}
        self._server = Spoken(["node", program], environment, folder)

    def add(self, items: list[Item]) -> None:
        """One call for all."""
        entities = [
            {"name": item["id"], "entityType": item["session"], "observations": [item["text"]]} for item in items
        ]
        self._server.call("create_entities", entities=entities)

    def search(self, query: str, limit: int) -> list[str]:
        """What contains the query as it stands, oldest first: it ranks nothing and knows no limit."""
        return [each["name"] for each in self._server.call("search_nodes", query=query)["entities"][:limit]]

    def everything(self) -> list[str]:
        """Every observation of the graph."""
        return [each["observations"][0] for each in self._server.call("read_graph")["entities"]]

    def close(self) -> None:
        """End it by the end of its input."""
        self._server.close()


if __name__ == "__main__":
    serve(ServerMemory())
