"""What the core costs, as ratios against the bare thing in the same run; a broken bound makes the exit code 1.

Start-up is the CPU time of whole processes (user and system), the median of many, beside `python -c pass`.
Saving is wall time per durable save, beside SQLite alone keeping the same bytes just as durably: once the very
rows a save writes (document, words, claims, event), once the document as a single row.
"""

import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent / "speed"))

import apsw
from clock import Command, processes

import engram
from common import Bar
from engram.engines import sqlite_file, sqlite_write
from engram.engines.sqlite_rows import fetch

ENGRAM = str(Path(sys.executable).with_name("engram"))
RUNS = 31
STORE_SIZE = 10_000
ROUNDS = 8
SAVES = 150


class Row(NamedTuple):
    """Milliseconds of ours and of the bare thing, and how many times as long ours may take; None bounds nothing."""

    name: str
    ours: float
    bare: float
    most: float | None

    @property
    def holds(self) -> bool:
        """Whether it is within its bound."""
        return self.most is None or self.ours <= self.bare * self.most

    def __str__(self) -> str:
        bound = "shown" if self.most is None else f"at most {self.most:g}" + ("" if self.holds else ": broken")
        return f"{self.ours:6.2f} ms  {self.bare:6.2f} ms  {self.ours / self.bare:5.2f}  {bound}"


def main() -> int:
    """Measure and print; returns the exit code."""
    with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
        rows = [*startup(Path(folder)), *saving(Path(folder))]
    width = max(len(row.name) for row in rows)
    print(f"\n{'':{width}}  {'ours':>9}  {'bare':>9}  ratio  bound")
    for row in rows:
        print(f"{row.name:{width}}  {row}")
    return int(not all(row.holds for row in rows))


def startup(folder: Path) -> Iterator[Row]:
    """CPU of `engram --help` and of a keyword recall on ten thousand memories, against a bare interpreter."""
    store, bar = folder / "startup.db", Bar("filling the store", STORE_SIZE)
    with engram.open(store) as memory:
        for text in texts(STORE_SIZE, seed=1):
            memory.remember(text)
            bar.step()
    environment = {**os.environ, "ENGRAM_STORE": str(store)}
    commands: dict[str, Command] = {
        "python -c pass": ([sys.executable, "-c", "pass"], environment),
        "engram --help": ([ENGRAM, "--help"], environment),
        "engram recall --words, 10,000 memories": (
            [ENGRAM, "recall", "bare words of a question", "--words"],
            environment,
        ),
    }
    spent = processes(commands, RUNS, Bar("starting processes", RUNS).step)
    bare = spent.pop("python -c pass")
    for name, ours in spent.items():
        yield Row(name, ours, bare, 8)


def saving(folder: Path) -> Iterator[Row]:
    """Wall time of a durable `remember` in an open process, against SQLite alone."""
    memory = engram.open(folder / "saving.db")
    rows, document = _bare_rows(folder), _bare_document(folder)
    for text in texts(500, seed=2):  # into all three, so that they stay of one size
        raw = _raw(memory, memory.remember(text))
        rows(raw)
        document(raw)
    spent: dict[str, list[float]] = {"ours": [], "rows": [], "document": []}
    bar = Bar("saving", ROUNDS)
    for turn in range(ROUNDS):
        batch = list(texts(SAVES, seed=100 + turn))
        kept: list[Any] = []
        spent["ours"].append(_wall(lambda batch=batch, kept=kept: kept.extend(map(memory.remember, batch))))
        raw = [_raw(memory, answer) for answer in kept]
        spent["rows"].append(_wall(lambda raw=raw: [rows(each) for each in raw]))
        spent["document"].append(_wall(lambda raw=raw: [document(each) for each in raw]))
        bar.step()
    memory.close()
    each = {name: statistics.median(times) / SAVES * 1000 for name, times in spent.items()}
    yield Row("remember / the same rows by bare SQLite", each["ours"], each["rows"], 3)
    yield Row("remember / its document alone, one row", each["ours"], each["document"], None)


def texts(count: int, seed: int) -> Iterator[str]:
    """Made-up notes with a vocabulary of a few thousand words, common and rare."""
    chance = random.Random(seed)
    syllables = [a + b for a in "bcdfghklmnprstvw" for b in "aeiou"]
    words = ["".join(chance.choices(syllables, k=chance.randint(1, 4))) for _ in range(4000)]
    weights = [1 / (rank + 10) for rank in range(len(words))]
    for number in range(count):
        yield " ".join(chance.choices(words, weights, k=chance.randint(8, 24))) + f" {seed}-{number}"


def _raw(memory: engram.Engram, answer: Any) -> dict[str, Any]:  # noqa: ANN401 - Remembered
    """Everything one save wrote, as plain values."""
    db = memory.engine._connection()  # type: ignore[attr-defined] # noqa: SLF001 - a bench looks inside
    id = answer.memory.id
    names = [row[1] for row in fetch(db, "PRAGMA table_info(memory)")]
    return {
        "memory": fetch(db, f"SELECT {', '.join(names)} FROM memory WHERE id = ?", id)[0],
        "words": (*sqlite_write.searchable(answer.memory), sqlite_write.place_term(1)),
        "claims": fetch(db, "SELECT name, id FROM claim WHERE id = ?", id),
        "event": fetch(db, "SELECT * FROM event WHERE seq = ?", answer.event)[0],
        "book": json.dumps(["x" * 150, {}, 1]),
    }


def _bare_rows(folder: Path) -> Callable[[dict[str, Any]], None]:
    """SQLite keeping the same rows in the same tables, with nothing read, checked or decided."""
    sqlite_file.create(folder / "rows.db")
    db = sqlite_file.connect(folder / "rows.db")
    shift = iter(range(1, 10_000_000))

    def save(raw: dict[str, Any]) -> None:
        n = next(shift)
        db.execute("BEGIN IMMEDIATE")
        marks = ",".join("?" * len(raw["memory"]))
        db.execute(f"INSERT INTO memory VALUES ({marks})", (n, *raw["memory"][1:]))
        sql = "INSERT INTO words (rowid, name, summary, tags, text, place) VALUES (?, ?, ?, ?, ?, ?)"
        db.execute(sql, (n, *raw["words"]))
        for claim in raw["claims"]:
            db.execute("INSERT INTO claim VALUES (?, ?)", claim)
        db.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?)", (n, *raw["event"][1:]))
        db.execute("INSERT INTO subject VALUES (?, ?)", (raw["memory"][1], n))
        db.execute("INSERT OR REPLACE INTO meta VALUES ('book', ?)", (raw["book"],))
        db.execute("COMMIT")

    return save


def _bare_document(folder: Path) -> Callable[[dict[str, Any]], None]:
    """SQLite keeping only the document, in a table of two columns."""
    db = apsw.Connection(str(folder / "document.db"))
    for line in (
        "PRAGMA journal_mode = WAL",
        "PRAGMA synchronous = FULL",
        "CREATE TABLE t (id TEXT PRIMARY KEY, doc)",
    ):
        db.execute(line).fetchall()

    def save(raw: dict[str, Any]) -> None:
        db.execute("BEGIN IMMEDIATE")
        db.execute("INSERT INTO t VALUES (?, ?)", (raw["memory"][1], raw["memory"][3]))
        db.execute("COMMIT")

    return save


def _wall(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


if __name__ == "__main__":
    sys.exit(main())
