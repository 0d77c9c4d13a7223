"""@modelcontextprotocol/server-memory: one entity per item, asked over MCP as a client would."""

import json
import os
import subprocess
from typing import Any

from serve import Adapter, Item, serve


class ServerMemory(Adapter):
    """One server on one file."""

    def open(self, folder: str, mode: str, home: str) -> None:  # noqa: ARG002 - one mode
        """Start it and shake hands."""
        program = os.path.join(home, "node_modules", "@modelcontextprotocol", "server-memory", "dist", "index.js")
        environment = {**os.environ, "MEMORY_FILE_PATH": os.path.join(folder, "memory.jsonl")}
        self._server = subprocess.Popen(
            ["node", program], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        client = {"name": "bench", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})

    def add(self, items: list[Item]) -> None:
        """One call for all."""
        entities = [
            {"name": item["id"], "entityType": item["session"], "observations": [item["text"]]} for item in items
        ]
        self._call("create_entities", {"entities": entities})

    def search(self, query: str, limit: int) -> list[str]:
        """What contains the query as it stands, oldest first: it ranks nothing and knows no limit."""
        return [each["name"] for each in self._call("search_nodes", {"query": query})["entities"][:limit]]

    def close(self) -> None:
        """End it by the end of its input."""
        self._server.communicate(timeout=10)

    def _call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        if answer.get("isError"):
            raise RuntimeError(answer["content"][0]["text"])
        structured: dict[str, Any] = answer["structuredContent"]
        return structured

    def _ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._send({"id": 1, "method": method, "params": parameters})
        assert self._server.stdout
        answer = json.loads(self._server.stdout.readline())
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        result: dict[str, Any] = answer["result"]
        return result

    def _send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin
        print(json.dumps({"jsonrpc": "2.0", **message}), file=self._server.stdin, flush=True)


if __name__ == "__main__":
    serve(ServerMemory())
