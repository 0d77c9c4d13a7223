"""What an agent pays for a memory server before it has asked anything: the tokens of its tools, and its start.

    python benches/agents/run.py [--runs 7] [--write]

Each server is started by turns on an empty store, greeted in revision 2025-06-18 of MCP, and asked for its tools.
The tokens are those of the whole answer (characters / 4). The time is from the start of the process to that answer:
by the clock, and of the processor in all threads. `--write` puts the table into docs/benchmarks.md.
"""

import argparse
import compileall
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "peers"))

from driver import CACHE, MCP_MEMORY_SERVICE, OFFLINE, SERVER_MEMORY, Failed, Peer

import engram
from common import DOCS, Bar, dated, machine, table, write_between

RUNS = 7
PATIENCE = 60.0
FLOOR = "import mcp, and nothing else"


class Server(NamedTuple):
    """A memory server: how it is started, on a store in `{folder}`."""

    name: str
    version: str
    command: Sequence[str]
    variables: dict[str, str]
    note: str


class Start(NamedTuple):
    """One start: milliseconds to the list of tools, and what that list costs."""

    wall: float
    cpu: float
    tokens: int
    tools: int


def main() -> None:
    """Measure all servers by turns, print the table, and keep it."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--runs", type=int, default=RUNS, help=f"starts of each ({RUNS})")
    options.add_argument("--write", action="store_true", help="also write docs/benchmarks.md")
    chosen = options.parse_args()
    compileall.compile_dir(os.path.dirname(engram.__file__), quiet=2)  # as set-up does
    found = list(servers())
    starts: dict[str, list[Start]] = {server.name: [] for server in found}
    floors: list[float] = []
    bar = Bar("starting servers", chosen.runs * (len(found) + 1))
    for _ in range(chosen.runs):
        for server in found:
            starts[server.name].append(start(server))
            bar.step()
        floors.append(floor())
        bar.step()
    rows = [_row(server, starts[server.name]) for server in found]
    rows.append(
        {"name": FLOOR, "version": version("mcp"), "wall": round(median(floors)), "note": "what ours stands on"}
    )
    told = _table(rows)
    print(told)
    dated("agents", {"machine": machine(), "runs": chosen.runs, "rows": rows})
    if chosen.write:
        write_between(DOCS / "benchmarks.md", "agents", told)


def servers() -> Iterator[Server]:
    """Ours, and each other that can be installed here."""
    ours = str(Path(sys.executable).with_name("engram"))
    yield Server("Engram", engram.__version__, [ours, "mcp"], {"ENGRAM_STORE": "{folder}/store.db"}, "")
    node = (
        CACHE / "server-memory" / "node_modules" / "@modelcontextprotocol" / "server-memory" / "dist" / "index.js"
    )
    service = CACHE / "mcp-memory-service" / "bin" / "memory"
    others = (
        (
            SERVER_MEMORY,
            ["node", str(node)],
            {"MEMORY_FILE_PATH": "{folder}/memory.jsonl"},
            "a JSON file; no model",
        ),
        (
            MCP_MEMORY_SERVICE,
            [str(service), "server"],
            {"MCP_MEMORY_STORAGE_BACKEND": "sqlite_vec", "MCP_MEMORY_SQLITE_PATH": "{folder}/memory.db"},
            "offline, so without the model that it would load",
        ),
    )
    for package, command, variables, note in others:
        try:
            Peer(package.name, package, "", "", "").install()
        except Failed as error:
            print(f"{package.name} {error}", file=sys.stderr)
            continue
        yield Server(package.name.rpartition("/")[2], package.version, command, variables, note)


def start(server: Server) -> Start:
    """Start a server on an empty store and wait for its list of tools.

    Raises:
        RuntimeError: when it ends, or answers with an error.
    """
    with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
        variables = {name: value.format(folder=folder) for name, value in server.variables.items()}
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("ENGRAM_", "PYTHON", "XDG_"))
        }
        begun = time.perf_counter()
        process = subprocess.Popen(
            server.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={**kept, **OFFLINE, "HOME": folder, **variables},
            text=True,
        )
        try:
            client = {"name": "bench", "version": "1"}
            greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
            _ask(process, 1, "initialize", greeting)
            _send(process, {"method": "notifications/initialized"})
            listed = _ask(process, 2, "tools/list", {})
            wall, cpu = (time.perf_counter() - begun) * 1000, _cpu(process.pid)
            process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    said = json.dumps(listed, ensure_ascii=False, separators=(",", ":"))
    return Start(wall, cpu, len(said) // 4, len(listed["tools"]))


def floor() -> float:
    """Milliseconds of a process that imports the protocol's own package, by the clock."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import mcp"], check=True)
    return (time.perf_counter() - begun) * 1000


def _ask(process: subprocess.Popen[str], id: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    _send(process, {"id": id, "method": method, "params": params})
    assert process.stdout
    for line in process.stdout:
        answer = json.loads(line)
        if answer.get("id") == id:
            result: dict[str, Any] = answer["result"]
            return result
    raise RuntimeError(f"{process.args!r} ended at {method}")


def _send(process: subprocess.Popen[str], message: dict[str, Any]) -> None:
    assert process.stdin
    print(json.dumps({"jsonrpc": "2.0", **message}), file=process.stdin, flush=True)


def _cpu(pid: int) -> float:
    """Processor milliseconds of all threads so far; 0 where the system does not tell."""
    tasks = Path(f"/proc/{pid}/task")
    if not tasks.exists():
        return 0.0
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e6


def _row(server: Server, starts: Sequence[Start]) -> dict[str, Any]:
    return {
        "name": server.name,
        "version": server.version,
        "tools": starts[0].tools,
        "tokens": starts[0].tokens,
        "wall": round(median(one.wall for one in starts)),
        "cpu": round(median(one.cpu for one in starts)),
        "note": server.note,
    }


def _table(rows: Sequence[dict[str, Any]]) -> str:
    return table(
        (
            "server",
            "version",
            "tools",
            "tokens of tools/list",
            "start to first answer, ms",
            "processor, all threads, ms",
            "",
        ),
        [[row.get(key) for key in ("name", "version", "tools", "tokens", "wall", "cpu", "note")] for row in rows],
    )


if __name__ == "__main__":
    main()
