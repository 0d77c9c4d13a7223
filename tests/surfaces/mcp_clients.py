"""How the tests of the MCP server drive it: the official client over every way there is, and bare bytes."""

import json
import os
import re
import select
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client

from engram.surfaces.mcp.holding import Held
from engram.surfaces.mcp.server import build
from surfaces.driving import COMMAND, PATIENCE, environment

WAYS = ("memory", "stdio", "http")
ERAS = {"auto": "2026-07-28", "legacy": "2025-11-25"}
"""How a client negotiates, and the revision that comes of it."""

NODE = Path(sys.prefix) / "node" / "node_modules"
"""Where tools/node.py puts the programs of npm."""


# The official client


@asynccontextmanager
async def connected(way: str, era: str, folder: Path, **more: Any) -> AsyncIterator[Client]:
    """A client of a new server on the store in this folder; `more` is what the client can do."""
    if way == "memory":
        held = Held(str(folder / "store.db"))
        with closing(held):
            async with Client(build(held.engram), mode=era, read_timeout_seconds=PATIENCE, **more) as client:
                yield client
    elif way == "stdio":
        async with Client(by_stdio(folder), mode=era, read_timeout_seconds=PATIENCE, **more) as client:
            yield client
    else:
        with serving(folder) as served:
            async with over_http(served, era, **more) as client:
                yield client


def by_stdio(folder: Path, *words: str, **variables: str) -> StdioServerParameters:
    """What a client needs to start `engram mcp` as its own process."""
    command = [*COMMAND, "mcp", *words]
    return StdioServerParameters(
        command=command[0], args=command[1:], env=environment(folder, **variables), cwd=folder
    )


# Over HTTP


class Served(NamedTuple):
    """A running `engram serve`: where it listens, its token, and what it had said when it ended."""

    url: str
    token: str
    process: subprocess.Popen[bytes]
    log: list[bytes]

    @property
    def port(self) -> int:
        """The port it took."""
        return int(self.url.rpartition(":")[2].partition("/")[0])


@contextmanager
def serving(folder: Path, *words: str, **variables: str) -> Iterator[Served]:
    """`engram serve` on a free port until the block ends; told to stop, it must end without a word of woe."""
    process = subprocess.Popen(
        [*COMMAND, "serve", "--port", "0", "--json", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment(folder, **variables),
    )
    try:
        assert process.stdout
        told = json.loads(process.stdout.readline())
        log: list[bytes] = []
        yield Served(told["url"], Path(told["token_file"]).read_text().strip(), process, log)
        process.terminate()
        _, said = process.communicate(timeout=PATIENCE)
        log.append(said)
        assert b"Traceback" not in said, said.decode()
    finally:
        process.kill()


@asynccontextmanager
async def over_http(served: Served, era: str, **more: Any) -> AsyncIterator[Client]:
    """A client of a server that runs already, with its token."""
    headers = {"Authorization": f"Bearer {served.token}"}
    async with create_mcp_http_client(headers=headers) as http:
        transport = streamable_http_client(served.url, http_client=http)
        async with Client(transport, mode=era, read_timeout_seconds=PATIENCE, **more) as client:
            yield client


@contextmanager
def with_token(served: Served) -> Iterator[str]:
    """An address that adds the token to what it is sent, for programs that cannot; all else passes as it is."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        threading.Thread(target=_forward_all, args=(listening, port, served), daemon=True).start()
        yield f"http://127.0.0.1:{port}/mcp"


def _forward_all(listening: socket.socket, port: int, served: Served) -> None:
    while True:
        try:
            ours, _ = listening.accept()
        except OSError:  # the block has ended
            return
        threading.Thread(target=_forward, args=(ours, port, served), daemon=True).start()


def _forward(ours: socket.socket, port: int, served: Served) -> None:
    """Pass one request on, and whatever comes back; one a connection, so that each head is seen."""
    with ours, socket.create_connection(("127.0.0.1", served.port)) as theirs:
        head = b""
        while b"\r\n\r\n" not in head:
            part = ours.recv(65536)
            if not part:
                return
            head += part
        first, _, rest = head.partition(b"\r\n")
        rest = re.sub(rb"(?i)\r\nconnection: [^\r]*", b"", b"\r\n" + rest)[2:]
        rest = rest.replace(f":{port}\r\n".encode(), f":{served.port}\r\n".encode())
        added = f"\r\nAuthorization: Bearer {served.token}\r\nConnection: close\r\n".encode()
        theirs.sendall(first + added + rest)
        other = {ours: theirs, theirs: ours}
        while True:
            for one in select.select(list(other), [], [])[0]:
                try:
                    part = one.recv(65536)
                    other[one].sendall(part)
                except OSError:
                    return
                if not part:
                    return


@contextmanager
def held(store: Path) -> Iterator[None]:
    """The store, locked for writing by somebody else."""
    with closing(sqlite3.connect(store, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        yield
        holder.execute("ROLLBACK")


# Bare bytes


class Bare:
    """`engram mcp` as a process that is fed lines: for what no well-behaved client sends."""

    def __init__(self, folder: Path, *words: str, **variables: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "mcp", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment(folder, **variables),
        )
        self._waiting = b""
        self._last = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def write(self, line: bytes) -> None:
        """Send a line as it is."""
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Send a request of the newest revision; its id."""
        self._last += 1
        meta = {
            "io.modelcontextprotocol/protocolVersion": ERAS["auto"],
            "io.modelcontextprotocol/clientInfo": {"name": "bare", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        message = {
            "jsonrpc": "2.0",
            "id": self._last,
            "method": method,
            "params": {**(params or {}), "_meta": meta},
        }
        self.write(json.dumps(message).encode())
        return self._last

    def read(self, seconds: float = PATIENCE) -> dict[str, Any]:
        """The next message; whatever is on standard output must be one."""
        return json.loads(self.line(seconds))

    def line(self, seconds: float = PATIENCE) -> bytes:
        """The next line, as it is."""
        assert self.process.stdout
        end = time.monotonic() + seconds
        while b"\n" not in self._waiting:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))
            part = os.read(self.process.stdout.fileno(), 1 << 20) if ready else b""
            if not part:
                raise TimeoutError(f"no line within {seconds} s")
            self._waiting += part
        line, _, self._waiting = self._waiting.partition(b"\n")
        return line

    def ask(
        self, method: str, params: dict[str, Any] | None = None, seconds: float = 2 * PATIENCE
    ) -> dict[str, Any]:
        """Send a request, and its answer; it must be the next message."""
        id = self.send(method, params)
        answer = self.read(seconds)
        assert answer["id"] == id, answer
        return answer

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; its result."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]

    def end(self, seconds: float = PATIENCE) -> tuple[int, bytes, bytes]:
        """End the input; the exit code, and what was still said on either stream."""
        out, err = self.process.communicate(timeout=seconds)
        return self.process.returncode, self._waiting + out, err


# Programs of npm


def run_node(program: str, *words: str, seconds: float = 240, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a program that tools/node.py put in place; skips where it is not."""
    node = NODE / ".bin" / "node"
    if not (NODE / ".bin" / program).exists() or not node.exists():
        pytest.skip("npm's programs are not installed: python tools/node.py")
    command: Sequence[str] = [str(node), str((NODE / ".bin" / program).resolve()), *words]
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=seconds, env={**kept, **variables}
    )
