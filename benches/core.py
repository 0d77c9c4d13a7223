"""What the core costs, as ratios against the bare thing in the same run; `make bench` prints the table.

Start-up is the CPU time of whole processes (user and system), the median of many, beside `python -c pass`.
Saving is wall time per durable save, beside SQLite alone keeping the same bytes just as durably: once the very
rows a save writes (document, words, claims, event), once the document as a single row.
"""

import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw

import engram
from engram.engines import sqlite_file, sqlite_write
from engram.engines.sqlite_rows import fetch

ENGRAM = str(Path(sys.executable).with_name("engram"))
RUNS = 31
STORE_SIZE = 10_000
ROUNDS = 8
SAVES = 150


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
        rows = [*startup(Path(folder)), *saving(Path(folder))]
    width = max(len(name) for name, *_ in rows)
    print(f"\n{'':{width}}  {'ours':>9}  {'bare':>9}  ratio  bound")
    for name, ours, bare, unit, bound in rows:
        print(f"{name:{width}}  {ours:6.2f} {unit}  {bare:6.2f} {unit}  {ours / bare:5.2f}  {bound}")


def startup(folder: Path) -> Iterator[tuple[str, float, float, str, str]]:
    """CPU of `engram --help` and of a keyword recall on ten thousand memories, against a bare interpreter."""
    store = folder / "startup.db"
    with engram.open(store) as memory:
        for number, text in enumerate(texts(STORE_SIZE, seed=1), 1):
            memory.remember(text)
            _progress("filling the store", number, STORE_SIZE)
    environment = {**os.environ, "ENGRAM_STORE": str(store)}
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "engram --help": [ENGRAM, "--help"],
        "engram recall --words, 10,000 memories": [ENGRAM, "recall", "bare words of a question", "--words"],
    }
    # Interleaved, so that whatever else the machine does falls on all of them alike.
    spent: dict[str, list[float]] = {name: [] for name in commands}
    for run in range(RUNS):
        for name, command in commands.items():
            spent[name].append(_cpu(command, environment))
        _progress("starting processes", run + 1, RUNS)
    middle = {name: statistics.median(each) * 1000 for name, each in spent.items()}
    bare = middle.pop("python -c pass")
    for name, ours in middle.items():
        yield name, ours, bare, "ms", "at most 8"


def saving(folder: Path) -> Iterator[tuple[str, float, float, str, str]]:
    """Wall time of a durable `remember` in an open process, against SQLite alone."""
    memory = engram.open(folder / "saving.db")
    rows, document = _bare_rows(folder), _bare_document(folder)
    for text in texts(500, seed=2):  # into all three, so that they stay of one size
        raw = _raw(memory, memory.remember(text))
        rows(raw)
        document(raw)
    spent: dict[str, list[float]] = {"ours": [], "rows": [], "document": []}
    for turn in range(ROUNDS):
        batch = list(texts(SAVES, seed=100 + turn))
        kept: list[Any] = []
        spent["ours"].append(_wall(lambda batch=batch, kept=kept: kept.extend(map(memory.remember, batch))))
        raw = [_raw(memory, answer) for answer in kept]
        spent["rows"].append(_wall(lambda raw=raw: [rows(each) for each in raw]))
        spent["document"].append(_wall(lambda raw=raw: [document(each) for each in raw]))
        _progress("saving", turn + 1, ROUNDS)
    memory.close()
    each = {name: statistics.median(times) / SAVES * 1000 for name, times in spent.items()}
    yield "remember / the same rows by bare SQLite", each["ours"], each["rows"], "ms", "at most 3"
    yield "remember / its document alone, one row", each["ours"], each["document"], "ms", "shown"


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


def _cpu(command: list[str], environment: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _wall(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def _progress(what: str, done: int, of: int) -> None:
    if sys.stderr.isatty() and (done % max(of // 50, 1) == 0 or done == of):
        end = "\n" if done == of else ""
        print(f"\r{what}: {done:,} of {of:,}", end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
