"""The faults of tests/faults that can be done to any memory system, done to Engram and to two others alike.

    python benches/reliability/run.py             # all probes, into benches/results and docs/reliability.md
    python benches/reliability/run.py --quick     # a few of each, printed

Each system runs in processes of its own that are killed, cut off from power (simulated, see
tests/faults/tracing.py), given a full disk, or handed a damaged file. What counts is what it had acknowledged.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peers"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from driver import CACHE, MCP_MEMORY_SERVICE, OFFLINE, SERVER_MEMORY, install, program

from common import DOCS, dated, machine, table, write_between
from faults.tracing import Trace, traced

HERE = Path(__file__).resolve().parent


class System(NamedTuple):
    """A memory system: where it is installed, the Python that drives it, and the file that it keeps."""

    name: str
    version: str
    home: Path
    python: str
    file: str


class Told(NamedTuple):
    """What a system answers when it is asked for everything; its error, and what its own check found wrong."""

    texts: set[str]
    error: str
    check: str


def systems() -> list[System]:
    """Engram as it stands here, and the two others, installed where they are not yet."""
    for package in (SERVER_MEMORY, MCP_MEMORY_SERVICE):
        install(package, package.home(CACHE))
    node, service = SERVER_MEMORY.home(CACHE), MCP_MEMORY_SERVICE.home(CACHE)
    return [
        System("Engram", "", Path(), sys.executable, "home/engram.db"),
        System("server-memory", SERVER_MEMORY.version, node, sys.executable, "memory.jsonl"),
        System(
            "mcp-memory-service", MCP_MEMORY_SERVICE.version, service, str(program(service, "python")), "memory.db"
        ),
    ]


class Bench:
    """One system in one folder."""

    def __init__(self, system: System, folder: Path) -> None:
        self.system, self.folder, self.acks = system, folder, folder.parent / f"{folder.name}.acks"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._environment = {**os.environ, **OFFLINE, "HOME": str(folder), "PYTHONWARNINGS": "ignore"}
        self._environment["ENGRAM_BENCH_VECTORS"] = str(CACHE / "vectors.db")
        self._environment.pop("PYTHONPATH", None)

    def command(self, *words: object) -> list[str]:
        """A keeper, as it is started."""
        system = self.system
        return [
            system.python,
            str(HERE / "keeper.py"),
            system.name,
            str(system.home),
            *map(str, (self.folder, *words)),
        ]

    def start(self, command: list[str]) -> subprocess.Popen[str]:
        """A keeper in a group of its own, so that it and its server can be killed together."""
        return subprocess.Popen(
            command,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            process_group=0,
        )

    def write(self, name: str, count: int) -> None:
        """Let it keep so many texts."""
        self.start(self.command("write", self.acks, name, count)).communicate(timeout=600)

    def acked(self) -> list[str]:
        """What was acknowledged."""
        return [line for line in self._noted() if not line.startswith("refused")]

    def refused(self) -> list[str]:
        """What was not."""
        return [line for line in self._noted() if line.startswith("refused")]

    def _noted(self) -> list[str]:
        return self.acks.read_text().splitlines() if self.acks.exists() else []

    def tell(self) -> Told:
        """What a new process of the system finds in the store."""
        out, _ = self.start(self.command("tell")).communicate(timeout=600)
        answer = json.loads(out) if out else {"error": "it ended without a word"}
        return Told(set(answer.get("texts", ())), answer.get("error", ""), answer.get("check", ""))


Row = tuple[str, str]
"""What was counted, and how it came out."""


def killed(system: System, folder: Path, dice: random.Random, tries: int) -> list[Row]:
    """`kill -9` while it writes, again and again on one store."""
    bench, known = Bench(system, folder / "killed"), 0
    for run in range(tries):
        process = bench.start(bench.command("write", bench.acks, f"run{run}", 10_000))
        known, until = len(bench.acked()) + dice.randrange(1, 25), time.monotonic() + 60
        try:
            while len(bench.acked()) < known and time.monotonic() < until:
                time.sleep(0.002)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    told, acked = bench.tell(), set(bench.acked())
    return [("`kill -9` while it writes: acknowledged writes lost", _lost(told, acked))]


def together(system: System, folder: Path, dice: random.Random, tries: int) -> list[Row]:
    """Two processes that write to one store at once."""
    del dice
    bench = Bench(system, folder / "together")
    bench.write("first", 1)
    words = [bench.command("write", bench.acks, f"writer{n}", 10 * tries) for n in range(2)]
    for process in [bench.start(each) for each in words]:
        process.communicate(timeout=600)
    told, acked = bench.tell(), set(bench.acked())
    lost = _lost(told, acked)
    return [
        ("two processes that write at once: acknowledged writes lost", lost),
        ("two processes that write at once: errors shown", str(len(bench.refused()))),
    ]


def without_power(system: System, folder: Path, dice: random.Random, tries: int) -> list[Row]:
    """Power loss at any moment, on a strict file system and on one that never loses a name."""
    bench, log = Bench(system, folder / "power"), folder / "log"
    bench.start(traced(log, bench.command("write", bench.acks, "power", 15))).communicate(timeout=600)
    trace = Trace(log, bench.folder, bench.acks)
    rows = []
    for strict in (True, False):
        lost = unread = acked = 0
        moments = sorted(dice.randrange(trace.begun, len(trace)) for _ in range(tries))
        for n, (said, disk) in enumerate(trace.walk(moments)):
            left = Bench(system, folder / f"left{strict}{n}")
            left.folder.rmdir()
            disk.without_power(left.folder, dice if n % 2 and strict else None, names_last=not strict)
            wanted = {line for line in said.decode().splitlines() if not line.startswith("refused")}
            told = left.tell()
            acked += len(wanted)
            lost += len(wanted - told.texts)
            unread += bool(told.error)
        kept = "" if strict else ", where names are never lost"
        came = f"{lost} of {acked}" + (f", {unread} stores of {tries} unreadable" if unread else "")
        rows.append((f"power loss *(simulated)*{kept}: acknowledged writes lost", came))
    return rows


def full_disk(system: System, folder: Path, dice: random.Random, tries: int) -> list[Row]:
    """A disk that is full, and then has room again."""
    del dice
    disk = folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "none", str(disk)], check=False).returncode:
        return [("a disk that is full: acknowledged writes lost", "not done: only root may mount")]
    try:
        bench = Bench(system, disk / "store")
        bench.acks = folder / "full.acks"
        bench.write("before", 5)
        (disk / "ballast").write_bytes(bytes(shutil.disk_usage(disk).free - 150_000))
        bench.write("full" + "x" * 4000, 5 * tries)
        refused = len(bench.refused())
        (disk / "ballast").unlink()
        bench.write("after", 5)
        told, acked = bench.tell(), set(bench.acked())
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)
    return [("a disk that is full: acknowledged writes lost", f"{_lost(told, acked)}, {refused} refused")]


def flipped(content: bytearray, dice: random.Random) -> None:
    """Turn three bits around."""
    for _ in range(3):
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)


def cut(content: bytearray, dice: random.Random) -> None:
    """Take the end away."""
    del content[int(len(content) * dice.uniform(0.3, 0.99)) :]


def emptied(content: bytearray, dice: random.Random) -> None:
    """Take everything away."""
    del dice, content[:]


DAMAGES = {"bits flipped": flipped, "the tail cut off": cut, "a file of no length": emptied}


def damaged(system: System, folder: Path, dice: random.Random, tries: int) -> list[Row]:
    """A file that was damaged: does the system say so, or answer with less?"""
    bench = Bench(system, folder / "whole")
    bench.write("whole", 30)
    wanted, rows = bench.tell().texts, []
    assert len(wanted) == 30, system.name
    for name, damage in DAMAGES.items():
        silent, times = 0, 1 if damage is emptied else tries
        for n in range(times):
            copy = Bench(system, folder / f"{damage.__name__}{n}")
            shutil.copytree(bench.folder, copy.folder, dirs_exist_ok=True)
            path = copy.folder / system.file
            content = bytearray(path.read_bytes())
            damage(content, dice)
            path.write_bytes(content)
            told = copy.tell()
            silent += not told.error and not told.check and told.texts != wanted
        rows.append((f"{name}: less or other text, and not a word", f"{silent} of {times}"))
    return rows


def _lost(told: Told, acked: set[str]) -> str:
    unread = " (it cannot be read any more)" if told.error else ""
    return f"{len(acked - told.texts)} of {len(acked)}{unread}"


PROBES = (killed, together, without_power, full_disk, damaged)


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that goes again."""
    folder = Path(tempfile.mkdtemp(prefix="engram-probe-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """Do every probe to every system, and write the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--tries", type=int, default=20, help="how often each is done (20)")
    options.add_argument("--quick", action="store_true", help="a few of each, and nothing is written")
    options.add_argument("--only", default="", help="one probe")
    asked = options.parse_args()
    tries, found = 3 if asked.quick else asked.tries, systems()
    probes: list[Callable[[System, Path, random.Random, int], list[Row]]] = [
        each for each in PROBES if asked.only in each.__name__
    ]
    rows: dict[str, dict[str, str]] = {}
    for probe in probes:
        for system in found:
            with scratch() as folder:
                for what, came in probe(system, folder, random.Random(probe.__name__), tries):
                    rows.setdefault(what, {})[system.name] = came
                    print(f"{system.name:20} {what}: {came}", flush=True)
    if asked.quick or asked.only:
        return
    heads = [f"{each.name} {each.version}".strip() for each in found]
    made = table(["probe", *heads], [[what, *(came[each.name] for each in found)] for what, came in rows.items()])
    write_between(DOCS / "reliability.md", "peers", made)
    dated("reliability", {"machine": machine(), "systems": heads, "rows": rows})


if __name__ == "__main__":
    main()
