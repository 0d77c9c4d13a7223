"""An MCP server as a process, spoken to as a client would."""

import json
import subprocess
from typing import Any


class Spoken:
    """A server that was started and has shaken hands."""

    def __init__(self, command: list[str], environment: dict[str, str], folder: str) -> None:
        self._server = subprocess.Popen(
            command, env=environment, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        client = {"name": "bench", "version": "1"}
        self._ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
        self._send({"method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
        """What a tool answers.

        Raises:
            RuntimeError: in the server's words, when it refuses or is gone.
        """
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        if answer.get("isError"):
            raise RuntimeError(answer["content"][0]["text"])
        structured: dict[str, Any] = answer["structuredContent"]
        return structured

    def close(self) -> None:
        """End it by the end of its input."""
        self._server.communicate(timeout=10)

    def _ask(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._send({"id": 1, "method": method, "params": parameters})
        assert self._server.stdout
        line = self._server.stdout.readline()
        answer = json.loads(line) if line else {"error": {"message": "it is gone"}}
        if "error" in answer:
            raise RuntimeError(answer["error"]["message"])
        result: dict[str, Any] = answer["result"]
        return result

    def _send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin
        print(json.dumps({"jsonrpc": "2.0", **message}), file=self._server.stdin, flush=True)
