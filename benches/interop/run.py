"""A whole import of a large file: time, memory and disk, killed half way, gone on with, and undone.

    python benches/interop/run.py                       # 64 MB
    python benches/interop/run.py --megabytes 1024 --write

The file is an export of records, made of words by chance. Every step is a process of its own, as a person runs it,
on a store of its own; the peak of its memory is what the system says. It fails where the peak is beyond MOST, or
where what was killed and gone on with is not whole. `--write` puts the table into docs/guides/interop.md.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from common import DOCS, Bar, dated, machine, table, write_between

MOST = 160
"""Megabytes of memory that an import may take, however large the file."""

WORDS = [f"{a}{b}" for a in ("dep", "conf", "mig", "ser", "tab", "que") for b in ("loy", "ig", "rate", "ver", "le")]


class Step(NamedTuple):
    """One process: how long it took, how much memory it had at most, and what it printed."""

    seconds: float
    peak: float
    said: str


def write_file(path: Path, megabytes: int, characters: int) -> int:
    """Records of so many characters until the file has so many megabytes; returns how many there are."""
    dice, count, size, bar = random.Random(6), 0, 0, Bar("writing the file", megabytes)
    with path.open("w", encoding="utf-8") as file:
        while size < megabytes << 20:
            text = f"Note {count}: " + " ".join(dice.choices(WORDS, k=characters // 7))
            row = {
                "id": f"r-{count}",
                "content": text,
                "scope": "global",
                "source": "user-said",
                "category": "fact",
            }
            size += file.write(json.dumps({**row, "tags": ["bench"], "created_at": "2026-01-01T00:00:00Z"}) + "\n")
            count += 1
            bar.to(size >> 20)
    return count


def run(environment: Mapping[str, str], *words: str, kill_after: float = 0) -> Step:
    """Run a command of Engram, and end it the hard way after so many seconds if it is still at work."""
    begun = time.monotonic()
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(
            [sys.executable, "-m", "engram", *words], env=dict(environment), stdout=out, stderr=subprocess.DEVNULL
        )
        while True:
            done, _, used = os.wait4(child.pid, os.WNOHANG)
            if done:
                break
            if kill_after and time.monotonic() - begun > kill_after:
                child.send_signal(signal.SIGKILL)
            time.sleep(0.05)
        out.seek(0)
        return Step(time.monotonic() - begun, used.ru_maxrss / 1024, out.read())


def measured(folder: Path, megabytes: int, characters: int) -> tuple[list[list[str]], int]:
    """Every step in turn, as rows of a table, and how many memories there were."""
    path, store = folder / "records.jsonl", folder / "store.db"
    environment = {**os.environ, "HOME": str(folder), "ENGRAM_STORE": str(store), "ENGRAM_PROJECT": "none"}
    count = write_file(path, megabytes, characters)
    rows: list[list[str]] = []

    def told(name: str, step: Step) -> None:
        size = sum(one.stat().st_size for one in folder.glob("store.db*")) / 2**20
        rows.append([name, f"{step.seconds:.0f} s", f"{step.peak:.0f} MB", f"{size:,.0f} MB"])
        print(" · ".join(rows[-1]), flush=True)
        if step.peak > MOST and name != "undone":  # an undo holds the names of all that it takes back
            sys.exit(f"{name} took {step.peak:.0f} MB of memory; {MOST} is the bound.")

    told("killed on the way", run(environment, "import", str(path), "--trust", kill_after=2 + megabytes / 16))
    told("gone on with", rest := run(environment, "import", str(path), "--trust", "--json"))
    outcomes = json.loads(rest.said)["outcomes"]
    if sum(outcomes.values()) != count or not outcomes.get("known"):
        sys.exit(f"It is not whole: {outcomes} of {count:,}.")
    told("undone", run(environment, "undo", json.loads(rest.said)["batch"], "--confirm"))
    return rows, count


def main() -> None:
    """Measure, print, keep what was measured, and write it down if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--megabytes", type=int, default=64)
    parser.add_argument("--characters", type=int, default=4000, help="of one memory")
    parser.add_argument("--write", action="store_true", help="put the table into docs/guides/interop.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="engram-bench-") as folder:
        rows, count = measured(Path(folder), options.megabytes, options.characters)
    heads = [f"{options.megabytes:,} MB, {count:,} memories", "time", "memory at most", "store"]
    print(table(heads, rows))
    dated("interop", {"machine": machine(), "megabytes": options.megabytes, "memories": count, "rows": rows})
    if options.write:
        write_between(DOCS / "guides" / "interop.md", "large", table(heads, rows))


if __name__ == "__main__":
    main()
