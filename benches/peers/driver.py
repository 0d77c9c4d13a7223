"""Other memory systems on the same data: each installed in a virtualenv of its own and driven over JSON lines.

    python benches/peers/driver.py --data FOLDER

prints recall and speed of every peer on one LoCoMo conversation, as a check that all of them work. A bench that
compares uses `peers()`; README.md says what each peer does and does not do.
"""

import argparse
import json
import os
import queue
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
CACHE = HERE.parent / ".cache"
EMBEDDING = ("apsw", "numpy==2.4.6", "onnxruntime==1.31.1", "tokenizers==0.23.3")
"""What our embedder needs in every virtualenv, the same everywhere, so that it takes the same time everywhere."""

BATCH = 64
PATIENCE = 600.0  # seconds for one answer; a peer that needs longer is reported as failed
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "ANONYMIZED_TELEMETRY": "False", "DO_NOT_TRACK": "1"}

Item = dict[str, str]
"""What is kept: id, text, session, created_at (ISO 8601)."""


class Failed(Exception):
    """A peer that could not be installed, started, or that gave no answer; the text says which and why."""


class Package(NamedTuple):
    """What is installed once and serves one or several peers."""

    name: str
    version: str
    adapter: str
    installs: tuple[tuple[str, ...], ...]  # arguments of one `pip install` after the other; none: of npm
    extensions: bool = False  # wants a Python whose sqlite3 loads extensions

    def home(self, cache: Path) -> Path:
        """Its folder: a virtualenv, or the place of `node_modules`."""
        return cache / self.name.rpartition("/")[2]


CHROMADB = Package("chromadb", "1.5.9", "peer_chromadb.py", (("chromadb==1.5.9", *EMBEDDING),))
LANGGRAPH = Package(
    "langgraph",
    "1.2.20",
    "peer_langgraph.py",
    (("langgraph==1.2.20", "langgraph-checkpoint-sqlite==3.1.2", "sqlite-vec==0.1.9", *EMBEDDING),),
    extensions=True,
)
MEM0 = Package(
    "mem0ai",
    "2.2.1",
    "peer_mem0.py",
    (("mem0ai==2.2.1", "qdrant-client==1.20.0", "fastembed==0.9.1", "stop-words==2025.11.4", *EMBEDDING),),
)
MCP_MEMORY_SERVICE = Package(
    "mcp-memory-service",
    "12.4.0",
    "peer_mcp_memory_service.py",
    (
        # It asks for a certifi newer than the registry has. Certificates play no part here, so it is installed
        # without what it requires, and that by name.
        ("--no-deps", "mcp-memory-service==12.4.0"),
        (
            *("aiofiles", "aiohttp", "aiosqlite", "apscheduler", "authlib", "chardet", "click", "fastapi", "httpx"),
            *(
                "mcp<2",
                "psutil",
                "pyjwt[crypto]",
                "pypdf",
                "python-dotenv",
                "python-multipart",
                "pyyaml",
                "requests",
            ),
            *("sqlite-vec==0.1.9", "sse-starlette", "uvicorn", "zeroconf", *EMBEDDING),
        ),
    ),
    extensions=True,
)
MEMPALACE = Package(
    "mempalace", "3.11.0", "peer_mempalace.py", (("mempalace==3.11.0", "chromadb==1.5.9", *EMBEDDING),)
)
SERVER_MEMORY = Package("@modelcontextprotocol/server-memory", "2026.8.31", "peer_server_memory.py", ())


@dataclass
class Peer:
    """One system in one mode. `open` before anything else; a process runs from there to `close`."""

    name: str
    package: Package
    mode: str
    does: str  # vector, hybrid, or keyword
    note: str  # what must be said beside its number
    cache: Path = CACHE
    embedding: float = field(
        default=0.0, init=False
    )  # seconds of the last search that went into embedding the query
    _process: subprocess.Popen[str] | None = field(default=None, init=False, repr=False)
    _lines: queue.Queue[str] = field(default_factory=queue.Queue, init=False, repr=False)

    @property
    def version(self) -> str:
        """The version that is installed and measured."""
        return self.package.version

    def install(self) -> None:
        """Make its virtualenv unless it is there.

        Raises:
            Failed: "did not install", with the reason.
        """
        try:
            install(self.package, self.package.home(self.cache))
        except (OSError, subprocess.SubprocessError) as error:
            raise Failed(f"did not install: {error}") from error

    def open(self, folder: Path) -> None:
        """Install it, start it, and have it make an empty store in the folder.

        Raises:
            Failed: when it cannot be installed or does not start.
        """
        self.install()
        home = self.package.home(self.cache)
        python = program(home, "python") if self.package.installs else Path(sys.executable)
        folder.mkdir(parents=True, exist_ok=True)
        # Its home is the folder too: several peers keep files there whatever they are told.
        environment = {**os.environ, **OFFLINE, "HOME": str(folder), "PYTHONWARNINGS": "ignore"}
        environment["ENGRAM_BENCH_VECTORS"] = str(self.cache / "vectors.db")
        environment.pop("PYTHONPATH", None)
        with (folder / "peer.log").open("w") as log:
            self._process = subprocess.Popen(
                [str(python), str(HERE / self.package.adapter)],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._lines = queue.Queue()
        threading.Thread(target=_read, args=(self._process, self._lines), daemon=True).start()
        try:
            self._ask(op="open", folder=str(folder), mode=self.mode, home=str(home))
        except Failed as error:
            self.close()
            raise Failed(f"did not start: {error}; {_last_line(folder / 'peer.log')}") from error

    def add(self, items: Sequence[Item]) -> float:
        """Keep the items; the seconds it took.

        Many fill the store, and reuse vectors that any peer made before. One is a save as a user makes it, with
        its embedding: measure by giving one at a time.
        """
        batches = [list(items[at : at + BATCH]) for at in range(0, len(items), BATCH)]
        return sum(float(self._ask(op="add", items=batch)["ms"]) for batch in batches) / 1000

    def search(self, query: str, limit: int) -> tuple[list[str], float]:
        """The ids it finds, best first, and the seconds of its own search, the query's embedding included."""
        answer = self._ask(op="search", query=query, limit=limit)
        self.embedding = answer["embed_ms"] / 1000
        return answer["ids"], answer["ms"] / 1000

    def embed(self, query: str) -> float:
        """The seconds one query's embedding takes alone, in this peer's process; 0 where it embeds nothing."""
        return float(self._ask(op="embed", query=query)["embed_ms"]) / 1000

    def close(self) -> None:
        """End its process; its files stay."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.communicate('{"op": "close"}\n', timeout=30)
        except (subprocess.TimeoutExpired, OSError, ValueError):
            process.kill()
            process.wait()

    def _ask(self, **request: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
        process = self._process
        if process is None or process.stdin is None:
            raise Failed(f"{self.name} is not open")
        try:
            print(json.dumps(request), file=process.stdin, flush=True)
            line = self._lines.get(timeout=PATIENCE)
        except queue.Empty:
            process.kill()
            raise Failed(f"no answer to {request['op']} within {PATIENCE:.0f} s") from None
        except OSError as error:
            raise Failed(f"its process ended: {error}") from error
        if not line:
            raise Failed(f"its process ended at {request['op']}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"].strip().splitlines()[0])
        return answer


def peers(cache: Path = CACHE) -> list[Peer]:
    """Every peer there is, each in the modes it has; nothing is installed or started yet."""
    rows = [
        ("chromadb", CHROMADB, "", "vector", "a vector database: no memory semantics"),
        ("langgraph SqliteStore", LANGGRAPH, "sqlite", "vector", "a store for agents; exact scan in SQL"),
        ("langgraph InMemoryStore", LANGGRAPH, "memory", "vector", "keeps nothing: gone with the process"),
        ("mem0ai", MEM0, "vector", "vector", "infer=False, as installed: no keyword part without more packages"),
        ("mem0ai hybrid", MEM0, "hybrid", "hybrid", "infer=False; BM25 only re-scores what vectors found"),
        ("mcp-memory-service", MCP_MEMORY_SERVICE, "semantic", "vector", "its default; every search writes"),
        ("mcp-memory-service hybrid", MCP_MEMORY_SERVICE, "hybrid", "hybrid", "every search writes"),
        ("MemPalace", MEMPALACE, "vector", "hybrid", "its default: BM25 re-ranks what vectors found"),
        ("MemPalace union", MEMPALACE, "union", "hybrid", "BM25 finds too; its English stop words on"),
        ("server-memory", SERVER_MEMORY, "", "keyword", "finds the whole query as a substring; ranks nothing"),
    ]
    return [Peer(name, package, mode, does, note, cache) for name, package, mode, does, note in rows]


def install(package: Package, home: Path) -> None:
    """Make the folder from nothing unless it holds exactly this; a half-made one is never taken for whole."""
    stamp, wanted = home / ".made-by-bench", json.dumps([package.version, package.installs])
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(f"installing {package.name} {package.version} ...", file=sys.stderr, flush=True)
    if stamp.exists():
        shutil.rmtree(home)
    home.mkdir(parents=True)  # fails where the folder is somebody else's
    stamp.touch()
    if package.installs:
        _run([_python(extensions=package.extensions), "-m", "venv", str(home)])
        for arguments in package.installs:
            _run([str(program(home, "pip")), "install", "--quiet", "--disable-pip-version-check", *arguments])
    else:
        if not shutil.which("npm") or not shutil.which("node"):
            raise OSError("npm and node are not on the PATH")
        _run(
            [
                "npm",
                "install",
                "--prefix",
                str(home),
                "--no-audit",
                "--no-fund",
                f"{package.name}@{package.version}",
            ]
        )
    stamp.write_text(wanted)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "error" in line.lower()] or done.stderr.splitlines()
        raise OSError(said[-1][:300] if said else f"{command[0]} ended with {done.returncode}")


def _python(*, extensions: bool) -> str:
    """This Python; where extensions are asked for, the first on the PATH whose sqlite3 loads them, if any does."""
    if not extensions:
        return sys.executable
    names = ("python3", "python3.11", "python3.12", "python3.13")
    places = [os.path.join(folder, name) for folder in os.get_exec_path() for name in names]
    able = (
        "import sqlite3, sys, venv; "
        "sys.exit(sys.version_info < (3, 11) or not hasattr(sqlite3.Connection, 'enable_load_extension'))"
    )
    for place in (sys.executable, *filter(os.path.exists, places)):
        if subprocess.run([place, "-c", able], capture_output=True, check=False).returncode == 0:
            return place
    return sys.executable


def program(home: Path, name: str) -> Path:
    """A program of a virtualenv."""
    return home / ("Scripts" if os.name == "nt" else "bin") / name


def _read(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    assert process.stdout
    for line in process.stdout:
        lines.put(line)
    lines.put("")  # the end: whoever waits for an answer waits in vain


def _last_line(log: Path) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:300] if lines else "it said nothing"


SINGLES = 30  # the last items are added one by one, to see what a single save costs


class Question(NamedTuple):
    """A question and the ids of the turns that answer it."""

    text: str
    gold: frozenset[str]


def locomo(data: Path, position: int) -> tuple[list[Item], list[Question]]:
    """One conversation, turn by turn, and its questions of categories 1 to 4 that have evidence."""
    conversation = json.loads((data / "locomo" / "locomo10.json").read_text())[position]
    items = list(_turns(conversation["conversation"]))
    known = {item["id"] for item in items}
    questions = []
    for each in conversation["qa"]:
        gold = frozenset(re.findall(r"D\d+:\d+", " ".join(each.get("evidence", ())))) & known
        if each["category"] != 5 and gold:
            questions.append(Question(each["question"], gold))
    return items, questions


def _turns(conversation: dict[str, Any]) -> Iterator[Item]:
    for session in sorted((key for key in conversation if re.fullmatch(r"session_\d+", key)), key=_number):
        when = datetime.strptime(conversation[f"{session}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        for turn in conversation[session]:
            photo = f" [shared a photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield {
                "id": turn["dia_id"],
                "text": f"{turn['speaker']}: {turn['text']}{photo}",
                "session": session,
                "created_at": when.isoformat(),
            }


def _number(session: str) -> int:
    return int(session.rpartition("_")[2])


def measure(peer: Peer, items: list[Item], questions: list[Question], folder: Path) -> dict[str, float]:
    """Fill an empty store with the items and ask all questions; shares of 1, and milliseconds.

    Raises:
        Failed: at the first thing the peer cannot do.
    """
    peer.open(folder)
    try:
        peer.add(items[:-SINGLES])
        adds = [peer.add([item]) for item in items[-SINGLES:]]
        for question in questions[:5]:
            peer.search(question.text, 10)  # warm
        found = []
        for number, question in enumerate(questions, 1):
            ids, seconds = peer.search(question.text, 10)
            found.append((ids, question.gold, seconds, peer.embedding))
            _progress(peer.name, number, len(questions))
        alone = [peer.embed(question.text) for question in questions[:30]]
    finally:
        peer.close()
    return {
        "recall@5": statistics.mean(len(gold & set(ids[:5])) / len(gold) for ids, gold, *_ in found),
        "recall@10": statistics.mean(len(gold & set(ids)) / len(gold) for ids, gold, *_ in found),
        "any@5": statistics.mean(bool(gold & set(ids[:5])) for ids, gold, *_ in found),
        "search ms": statistics.median(seconds for *_, seconds, _ in found) * 1000,
        "in embed ms": statistics.median(embedding for *_, embedding in found) * 1000,
        "embed ms": statistics.median(alone) * 1000,
        "add ms": statistics.median(adds) * 1000,
    }


def main() -> None:
    """Run every peer on one conversation and print the table."""
    options = argparse.ArgumentParser(description="All peers on one LoCoMo conversation, turn by turn.")
    options.add_argument("--data", type=Path, required=True, help="the folder that holds locomo/locomo10.json")
    options.add_argument("--conversation", type=int, default=1, help="its position in the file (1)")
    options.add_argument("--cache", type=Path, default=CACHE, help="where virtualenvs are made (benches/.cache)")
    options.add_argument("--only", default="", help="peers whose name contains this")
    chosen = options.parse_args()
    items, questions = locomo(chosen.data, chosen.conversation)
    print(f"LoCoMo conversation {chosen.conversation}: {len(items)} turns, {len(questions)} questions (1-4)\n")
    heads = ("recall@5", "recall@10", "any@5", "search ms", "in embed ms", "embed ms", "add ms")
    print(f"{'peer':26} {'version':10} {'does':8} " + " ".join(f"{head:>11}" for head in heads))
    for peer in peers(chosen.cache.resolve()):
        if chosen.only.lower() not in peer.name.lower():
            continue
        begun = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="engram-peer-") as folder:
            try:
                row = measure(peer, items, questions, Path(folder))
            except Failed as failure:
                print(f"{peer.name:26} {peer.version:10} {peer.does:8} {failure}", flush=True)
                continue
        cells = " ".join(f"{row[head]:11.3f}" if "@" in head else f"{row[head]:11.2f}" for head in heads)
        print(f"{peer.name:26} {peer.version:10} {peer.does:8} {cells}  {peer.note}", flush=True)
        print(f"  {time.perf_counter() - begun:.0f} s in all", file=sys.stderr)


def _progress(what: str, done: int, of: int) -> None:
    if sys.stderr.isatty() and (done % max(of // 50, 1) == 0 or done == of):
        end = "\n" if done == of else ""
        print(f"\r{what}: {done:,} of {of:,}", end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
