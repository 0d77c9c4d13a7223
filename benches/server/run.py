"""A server under load: recalls and saves a second, and how long they take, at 1, 16 and 64 clients.

    python benches/server/run.py [--size 10000] [--seconds 5] [--write]

`engram serve` on SQLite and on PostgreSQL, and mcp-memory-service's own HTTP server, each on the same texts with
the same vectors of the default model, which also embeds every question. Clients keep their connection and ask again
as soon as they have an answer; they share the cores with the servers. `--write` puts the table into
docs/benchmarks.md.
"""

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[1] / each) for each in ("", "speed", "peers", "postgres")]

import psycopg  # noqa: E402 - after the path
import stores  # noqa: E402
import texts  # noqa: E402
import vectors  # noqa: E402
from driver import CACHE, MCP_MEMORY_SERVICE, OFFLINE, Failed, install  # noqa: E402
from filling import ORG, filled  # noqa: E402

from common import DOCS, Bar, dated, machine, table, write_between  # noqa: E402

CLIENTS = (1, 16, 64)
PATIENCE = 1200.0

Ask = Callable[[int], tuple[str, str, dict[str, Any] | None]]
"""The method, path and body of a client's next request, by its number."""


class Server(NamedTuple):
    """One that listens: where, what it wants to be told with every request, and how it is asked."""

    name: str
    port: int
    token: str
    recall: Ask
    remember: Ask
    process: int
    store: Callable[[], int]  # bytes of its store


class Size(NamedTuple):
    """What a server takes, after it was under load."""

    server: str
    memory: float  # megabytes of its process, at its highest
    disk: float  # bytes of the store, a memory


class Row(NamedTuple):
    """One cell of the table: what was asked, by how many, and what came of it."""

    server: str
    asked: str
    clients: int
    per_second: float
    p50: float  # milliseconds
    p99: float
    failed: int


def main() -> None:
    """Measure every server, print the table, and keep it."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--size", type=int, default=10_000, help="memories in each store (10,000)")
    options.add_argument("--seconds", type=float, default=5.0, help="how long each cell is measured (5)")
    options.add_argument("--write", action="store_true", help="also write docs/benchmarks.md")
    asked = options.parse_args()
    rows: list[Row] = []
    sizes: list[Size] = []
    for start in (ours_on_sqlite, ours_on_postgres, theirs):
        with tempfile.TemporaryDirectory(prefix="engram-load-") as place, start(Path(place), asked.size) as server:
            held = server.store() / asked.size
            rows += measured(server, asked.seconds)
            sizes.append(Size(server.name, highest(server.process), held))
    told = shown(asked.size, rows, sizes)
    print(told)
    kept = {"rows": [row._asdict() for row in rows], "sizes": [size._asdict() for size in sizes]}
    dated("server", {"machine": machine(), "size": asked.size, **kept})
    if asked.write:
        write_between(DOCS / "benchmarks.md", "server", told)


def shown(size: int, rows: list[Row], sizes: list[Size]) -> str:
    """Both tables, under how busy the machine was."""
    cells = [
        (r.server, r.asked, r.clients, f"{r.per_second:.1f}", f"{r.p50:,.0f}", f"{r.p99:,.0f}", r.failed)
        for r in rows
    ]
    times = table(["server", "asked", "clients", "per second", "p50 ms", "p99 ms", "failed"], cells)
    taken = [(each.server, f"{each.memory:.0f}", f"{each.disk:,.0f}") for each in sizes]
    held = table(["server", "MB of memory at the most", "bytes on disk a memory"], taken)
    return f"{size:,} memories; the load of the machine was {machine()['load']:.0f}.\n\n{times}\n\n{held}"


def measured(server: Server, seconds: float) -> Iterator[Row]:
    """Every cell of one server, after a warm-up."""
    bar = Bar(server.name, 2 * len(CLIENTS))
    asyncio.run(loaded(server, server.recall, 4, min(seconds, 3.0)))
    for name, ask in (("recall", server.recall), ("remember", server.remember)):
        for clients in CLIENTS:
            spent, failed, took = asyncio.run(loaded(server, ask, clients, seconds))
            spent.sort()
            middle, last = (spent[int(share * (len(spent) - 1))] * 1000 if spent else 0.0 for share in (0.5, 0.99))
            yield Row(server.name, name, clients, len(spent) / took, middle, last, failed)
            bar.step()


def highest(process: int) -> float:
    """Megabytes that a process has held at the most."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


async def loaded(server: Server, ask: Ask, clients: int, seconds: float) -> tuple[list[float], int, float]:
    """Seconds of every answered request, how many were refused, and how long it went on."""
    spent: list[float] = []
    failed = 0
    begun = time.perf_counter()

    async def client(number: int) -> None:
        nonlocal failed
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        at = number
        while time.perf_counter() - begun < seconds:
            since = time.perf_counter()
            writer.write(_request(server, *ask(at)))
            status = await _answer(reader)
            if status < 300:
                spent.append(time.perf_counter() - since)
            else:
                failed += 1
            at += clients
        writer.close()

    await asyncio.gather(*(client(number) for number in range(clients)))
    return spent, failed, time.perf_counter() - begun


def _request(server: Server, method: str, path: str, body: dict[str, Any] | None) -> bytes:
    sent = json.dumps(body).encode() if body is not None else b""
    head = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: {len(sent)}\r\n"
    token = f"Authorization: Bearer {server.token}\r\n" if server.token else ""
    return f"{head}{token}Content-Type: application/json\r\n\r\n".encode() + sent


async def _answer(reader: asyncio.StreamReader) -> int:
    """The status of the next answer, its body read to the end."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    if "content-length:" in head:
        await reader.readexactly(int(head.partition("content-length:")[2].split("\r\n")[0]))
    elif "chunked" in head:
        while size := int(await reader.readline(), 16):
            await reader.readexactly(size + 2)
        await reader.readline()
    return int(head.split()[1])


# --- Engram ---


@contextlib.contextmanager
def ours_on_sqlite(folder: Path, size: int) -> Iterator[Server]:
    """`engram serve` on a copy of the store that the bench of speed has built."""
    copy = stores.copied(stores.store(size, "many"), folder)
    held = lambda: copy.path.stat().st_size  # noqa: E731 - beside the other
    with _ours("Engram on SQLite", folder, {"ENGRAM_STORE": str(copy.path)}, held) as server:
        yield server


@contextlib.contextmanager
def ours_on_postgres(folder: Path, size: int) -> Iterator[Server]:
    """`engram serve` on a PostgreSQL of its own, with the index of vectors that `engram migrate` makes."""
    with filled(size) as url:

        def held() -> int:
            with psycopg.connect(url) as db:
                return int(db.execute("SELECT pg_database_size(current_database())").fetchone()[0])

        variables = {"ENGRAM_STORE": url, "ENGRAM_ORG": ORG}
        with _ours("Engram on PostgreSQL", folder, variables, held) as server:
            yield server


@contextlib.contextmanager
def _ours(name: str, folder: Path, variables: dict[str, str], held: Callable[[], int]) -> Iterator[Server]:
    home = folder / "home"
    home.mkdir()
    environment = {"HOME": str(home), "PATH": os.environ["PATH"], "ENGRAM_REQUESTS_PER_MINUTE": "0", **variables}
    command = [sys.executable, "-m", "engram", "serve", "--port", "0", "--json"]
    with _running(command, environment, folder) as (line, process):
        told = json.loads(line)
        port = int(told["url"].rpartition(":")[2].partition("/")[0])
        token = Path(told["token_file"]).read_text().strip()
        questions = texts.questions(1000)
        yield Server(
            name,
            port,
            token,
            lambda at: ("GET", f"/v1/recall?everywhere=true&limit=5&question={quote(questions[at % 1000])}", None),
            lambda at: ("POST", "/v1/memories", {"text": _saved(at)}),
            process,
            held,
        )


# --- mcp-memory-service ---


@contextlib.contextmanager
def theirs(folder: Path, size: int) -> Iterator[Server]:
    """Its HTTP server on its SQLite storage, open to anybody, as it is asked by its own page."""
    home = MCP_MEMORY_SERVICE.home(CACHE)
    install(MCP_MEMORY_SERVICE, home)
    kept = home / f"load-{size}-{texts.fingerprint()}.db"
    if not kept.exists():
        _fill_theirs(home, folder, size, kept)
    shutil.copyfile(kept, folder / "memory.db")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(home / "bin" / "python"), str(HERE.parent / "peer.py"), "serve", str(port)]
    with _running(command, _theirs(folder), folder) as (_, process):
        _listening(port)
        questions = texts.questions(1000)
        yield Server(
            f"{MCP_MEMORY_SERVICE.name} {MCP_MEMORY_SERVICE.version}",
            port,
            "",
            lambda at: ("POST", "/api/search", {"query": questions[at % 1000], "n_results": 5}),
            lambda at: ("POST", "/api/memories", {"content": _saved(at), "conversation_id": "bench"}),
            process,
            lambda: (folder / "memory.db").stat().st_size,
        )


def _theirs(folder: Path) -> dict[str, str]:
    """What its processes are told: everything in this folder, and nothing from outside."""
    return {
        **OFFLINE,
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "ENGRAM_BENCH_VECTORS": str(folder / "kept.db"),
        "MCP_MEMORY_SQLITE_PATH": str(folder / "memory.db"),
        "MCP_ALLOW_ANONYMOUS_ACCESS": "true",
        "MCP_MDNS_ENABLED": "false",
        "MCP_MEMORY_BASE_DIR": str(folder),
    }


def _fill_theirs(home: Path, folder: Path, size: int, kept: Path) -> None:
    """Its own storage filled through its own batches, with vectors that were made before; kept for the next run."""
    written, rows = folder / "texts.txt", folder / "vectors.npy"
    written.write_text("\n".join(" ".join(text.split()) for text in texts.texts(size)), encoding="utf-8")
    import numpy as np  # noqa: PLC0415 - for this file alone

    np.save(rows, vectors.vectors(size))
    command = [str(home / "bin" / "python"), str(HERE.parent / "peer.py"), "fill", str(written), str(rows)]
    subprocess.run(command, env=_theirs(folder), cwd=folder, check=True, timeout=3 * PATIENCE)
    with contextlib.closing(sqlite3.connect(folder / "memory.db")) as source:
        source.execute("VACUUM INTO ?", [str(kept)])


# --- both ---


def _saved(at: int) -> str:
    """A text that nobody has saved before: a second server must not find it known."""
    return f"Run {time.time_ns()} of client step {at} noted that the nightly job took {at % 977} seconds"


@contextlib.contextmanager
def _running(command: list[str], environment: dict[str, str], folder: Path) -> Iterator[tuple[str, int]]:
    """A process from its first line on until the block ends; the line, and its number."""
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            command, env=environment, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            assert process.stdout
            line = process.stdout.readline()
            if not line:
                raise Failed(f"{command[1]} did not start: {(folder / 'log').read_text()[-400:]}")
            yield line, process.pid
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def _listening(port: int) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.2)
    raise Failed("nobody listens")


if __name__ == "__main__":
    main()
