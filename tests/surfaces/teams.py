"""A running server for a team, and requests to it over HTTP and MCP."""

import http.client
import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from surfaces.driving import COMMAND, PATIENCE, environment
from surfaces.identities import Provider


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: Any
    headers: dict[str, str]
    raw: bytes


class Team(NamedTuple):
    """A running server, and everybody's tokens."""

    port: int
    provider: Provider
    tokens: dict[str, str]
    folder: Path
    log: Path

    def ask(self, token: str, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One request with this token, or with none."""
        said = {"authorization": f"Bearer {token}"} if token else {}
        said |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.request(method, path, None if body is None else json.dumps(body), said)
        answer = connection.getresponse()
        raw = answer.read()
        connection.close()
        told = {name.lower(): value for name, value in answer.getheaders()}
        return Answer(answer.status, json.loads(raw) if raw[:1] in (b"{", b"[") else raw.decode(), told, raw)

    def tool(self, token: str, name: str, arguments: dict[str, Any], **headers: str) -> dict[str, Any]:
        """One call of a tool over MCP, in the newest revision; its result."""
        told = self.message(token, "tools/call", {"name": name, "arguments": arguments}, mcp_name=name, **headers)
        return dict(told["result"])

    def message(self, token: str, method: str, params: dict[str, Any], **headers: str) -> dict[str, Any]:
        """One message over MCP, in the newest revision; what came back."""
        version = "2026-07-28"
        meta = {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        answer = self.ask(
            token,
            "POST",
            "/mcp",
            {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}},
            content_type="application/json",
            accept="application/json, text/event-stream",
            mcp_protocol_version=version,
            mcp_method=method,
            **headers,
        )
        lines = [line[5:] for line in str(answer.body).splitlines() if line.startswith("data:")]
        told: dict[str, Any] = answer.body if isinstance(answer.body, dict) else json.loads(lines[-1])
        assert answer.status == 200 or "error" in told, answer
        return told


@contextmanager
def running(folder: Path, known: Provider | None, settings: str, **variables: str) -> Iterator[tuple[int, Path]]:
    """`engram serve` until the block ends, for a team or, without a provider, for this machine; port and log."""
    file = folder / ".config" / "engram" / "engram.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(settings)
    log = folder / "log"
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            [*COMMAND, "serve", "--port", "0", "--json", *(["--oidc-issuer", known.issuer] if known else [])],
            stdout=subprocess.PIPE,
            stderr=stderr,
            cwd=folder,
            env=environment(folder, ENGRAM_EMBEDDER="none", **variables),
        )
        try:
            assert process.stdout
            line = process.stdout.readline()
            assert line, log.read_text()
            yield int(json.loads(line)["url"].rpartition(":")[2].partition("/")[0]), log
            process.terminate()
            process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
