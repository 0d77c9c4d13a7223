"""What it costs to hold citations against the working tree: recall with and without, by turns, in one run.

    python benches/evidence/run.py [--runs 40] [--write]

A repository of 200 files and a store in which 50 memories answer a question, with no, one, two, five and ten
citations each. Every question is asked without verification, then with it (all kept from before), then with it from
nothing (no file was read before); medians of processor time, by words alone. `cited` looks for one file among 2,000
memories.
`--write` puts the table into docs/benchmarks.md. The exit code is 1 where a bound is broken.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "speed"))

from clock import Times, times

import engram
from common import DOCS, Bar, dated, machine, table, write_between
from engram.evidence.desk import Desk
from engram.model.evidence import Check
from engram.model.filter import Filter
from engram.model.memory import Memory
from engram.operations.scopes import current_project
from engram.ports import Evidence
from engram.projects.checkouts import Whereabouts, tip_of
from engram.recall.pipeline import Question, recall
from engram.service import Engram

RUNS = 40
FILES, LINES = 200, 300
CITATIONS = (0, 1, 2, 5, 10)
HITS = 50
MANY = 2_000
STEPS = (7919, 104_729, 1_299_709, 15_485_863)
"""Primes that make words of nobody's, so that none of the many contradicts another."""

MOST_MS = 10.0
"""The most that 50 hits with 5 citations each may add when all is kept: a few milliseconds."""

MOST_IDLE = 1.1
"""How many times as long a recall may take for being able to verify, where nothing is cited."""


def main() -> int:
    """Measure, print, keep, and compare with the bounds."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--runs", type=int, default=RUNS, help=f"questions of each kind ({RUNS})")
    options.add_argument("--write", action="store_true", help="also write docs/benchmarks.md")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        repository(base / "api")
        bar = Bar("asking", chosen.runs * len(CITATIONS))
        rows = [measured(base, count, chosen.runs, bar) for count in CITATIONS]
        finding = looked_up(base, max(chosen.runs // 8, 3))
    told = table(
        ["citations", "recall without", "with, kept", "adds", "ratio", "with, from nothing"],
        [
            [
                f"{HITS} x {row['citations']}",
                f"{row['without']:.2f} ms",
                f"{row['kept']:.2f} ms",
                f"{row['adds']:.2f} ms",
                f"{row['ratio']:.2f}",
                f"{row['cold']:.1f} ms",
            ]
            for row in rows
        ],
    )
    print(told)
    print(f"\ncited, one file among {MANY:,} memories: {finding:.0f} ms")
    dated("evidence", {"machine": machine(), "runs": chosen.runs, "rows": rows, "cited": round(finding, 1)})
    if chosen.write:
        write_between(DOCS / "benchmarks.md", "evidence", told)
    return broken(rows)


def broken(rows: Sequence[Mapping[str, Any]]) -> int:
    """Say which bounds do not hold."""
    of = {row["citations"]: row for row in rows}
    faults = []
    if of[5]["adds"] > MOST_MS:
        faults.append(f"5 citations each add {of[5]['adds']:.1f} ms; at most {MOST_MS:.0f}")
    if of[0]["ratio"] > MOST_IDLE:
        faults.append(f"without citations it takes {of[0]['ratio']:.2f} times as long; at most {MOST_IDLE}")
    print("\n".join(faults) or "All bounds hold.")
    return 1 if faults else 0


def repository(folder: Path) -> None:
    """Files of made-up code, committed."""
    for number in range(FILES):
        path = folder / f"src/part{number % 20}/file{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"value_{number}_{line} = compute({line})\n" for line in range(LINES)))
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "all"]):
        subprocess.run([*git, *words], cwd=folder, check=True)
    for path in folder.rglob("*.py"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    time.sleep(2.5)  # a file that was touched just now is read again each time, in case it is touched once more


def opened(base: Path, store: str) -> Engram:
    """A memory of somebody who stands in the repository."""
    variables = {"HOME": str(base), "PATH": os.environ["PATH"], "ENGRAM_EMBEDDER": "none"}
    return engram.open(base / store, folder=base / "api", environment=variables)


def cites(at: int, count: int) -> list[str]:
    """So many places, in files of their own."""
    files = [(at * count + each) % FILES for each in range(count)]
    first = 1 + at % (LINES - 20)
    return [f"src/part{number % 20}/file{number}.py:{first}-{first + 9}" for number in files]


def measured(base: Path, count: int, runs: int, bar: Bar) -> dict[str, Any]:
    """Recall with 50 hits that cite so much each: without, with what was kept, and from nothing."""
    without, kept, cold = times(), times(), times()
    with opened(base, f"cites{count}.db") as memory:
        for at in range(HITS):
            memory.remember(f"Values of module {at} are computed lazily", kind="gotcha", cite=cites(at, count))
        for _ in range(runs):
            bare, judged = asked(memory, None), asked(memory, memory.call().evidence)
            without.take(recall, memory.engine, bare)
            kept.take(recall, memory.engine, judged)
            if len(cold.wall) < 5:
                first = Desk(str(base / "api"), Whereabouts(str(base / "api")).look, tip_of)
                cold.take(recall, memory.engine, asked(memory, first))
            bar.step()
        hits = recall(memory.engine, asked(memory, memory.call().evidence)).hits
        assert len(hits) == HITS
        assert all(check.verdict == "fresh" for hit in hits for check in hit.evidence)
    return row(count, without, kept, cold)


def row(count: int, without: Times, kept: Times, cold: Times) -> dict[str, Any]:
    """Medians, and what they come to."""
    bare, with_kept = median(without.cpu), median(kept.cpu)
    return {
        "citations": count,
        "without": round(bare, 3),
        "kept": round(with_kept, 3),
        "adds": round(median(b - a for a, b in zip(without.cpu, kept.cpu, strict=True)), 3),
        "ratio": round(with_kept / bare, 3),
        "cold": round(median(cold.cpu), 2),
    }


def asked(memory: Engram, desk: Evidence | None) -> Question:
    """The question, with or without somebody who looks at what is cited."""
    call = memory.call()
    home = current_project(call)

    def look(memories: Sequence[Memory]) -> Mapping[str, tuple[Check, ...]]:
        assert desk is not None
        return desk.check([one for one in memories if one.citations], home)

    where = Filter(scopes=(home,) if home else ())
    question = "how are the values of a module computed"
    return Question(question, where, call.access, call.now, HITS, evidence=look if desk else None)


def looked_up(base: Path, runs: int) -> float:
    """Milliseconds to find who cites a file, among many memories of which a tenth cite something."""
    found = times()
    with opened(base, "many.db") as memory:
        bar = Bar("saving", MANY)
        for at in range(MANY):
            words = " ".join("".join(chr(97 + int(digit)) for digit in str((at + 11) * step)) for step in STEPS)
            memory.remember(words, cite=cites(at, 1) if at % 10 == 0 else ())
            bar.step()
        assert memory.stats().standings == {"live": MANY}
        for _ in range(runs):
            found.take(memory.cited, "src/part3/file3.py")
    return float(median(found.cpu))


if __name__ == "__main__":
    sys.exit(main())
