"""Memories from one store to another through a repository: time, files and the most memory each side takes.

    python benches/sync/run.py                  # 10,000 memories
    python benches/sync/run.py --count 1000

Each side is a process of its own, so that its peak is its own. It fails where a side takes more than `MOST_MIB`,
where a memory did not arrive, or where nobody was told how far it was.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

import engram
from engram.model.change import ABSENT, Change
from engram.model.event import Draft, Payload, edits_between
from engram.model.memory import Memory
from engram.model.scope import Scope
from engram.rules.changes import claims_of

MOST_MIB = 300
"""The most memory that a side may take, whatever the count."""


def child(folder: str, action: str, count: int) -> None:
    """One side: fill a store, sync it, or sync it again; prints what it took."""
    memory = engram.open(f"sqlite:{folder}/store.db", folder=f"{folder}/clone", channel="flag")
    if action == "fill":
        for n in range(count):
            memory.engine.commit(_saved(_memory(n, memory.now)))
        return
    told = []
    begun = time.perf_counter()
    done = memory.watched_by(lambda *said: told.append(said)).sync_git(f"{folder}/clone")
    took = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"s": took, "mib": peak, "sent": done.sent, "applied": done.applied, "told": len(told)}))


def _memory(n: int, at: datetime) -> Memory:
    text = f"Note {n}: the service number {n * 7919} listens on port {10_000 + n} behind the gate"
    scope = Scope("project", "acme")
    return Memory(
        id=f"{n:032x}", text=text, owner="", status="promoted", scope=scope, visibility="shared",
        created_at=at, updated_at=at,
    )  # fmt: skip


def _saved(memory: Memory) -> Change:
    payload = Payload(edits_between(None, memory), {}, memory.id)
    draft = Draft("remember", "bench", memory.created_at, (memory.id,), batch=memory.id, payload=payload)
    return Change(draft=draft, puts=(memory,), expects={memory.id: ABSENT}, claims={memory.id: claims_of(memory)})


def run(folder: Path, action: str, count: int) -> dict[str, float]:
    """Let a child do it; what it printed."""
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("ENGRAM_")},
        "HOME": str(folder),
        "ENGRAM_PROJECT": "acme",
        "ENGRAM_VISIBILITY": "shared",
        "ENGRAM_EMBEDDER": "none",
    }
    words = [sys.executable, __file__, "--child", str(folder), action, "--count", str(count)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    answer: dict[str, float] = json.loads(done.stdout) if done.stdout.strip() else {}
    return answer


def main() -> int:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=10_000)
    options.add_argument("--child", nargs=2, metavar=("FOLDER", "ACTION"))
    asked = options.parse_args()
    if asked.child:
        child(*asked.child, asked.count)
        return 0
    with tempfile.TemporaryDirectory() as home:
        one, two = Path(home, "one"), Path(home, "two")
        shared = Path(home, "shared")
        for folder in (one, two):
            folder.mkdir()
            (folder / "clone").mkdir()
        run(one, "fill", asked.count)
        rows = {"send": run(one, "sync", asked.count)}
        files = [file for file in (one / "clone").rglob("*") if file.is_file()]
        (one / "clone" / ".engram").rename(shared)
        shared.rename(two / "clone" / ".engram")
        rows["take in"] = run(two, "sync", asked.count)
        rows["nothing new"] = run(two, "sync", asked.count)
    size = f"{len(files)} files" if files else "no files"
    print(f"{asked.count:,} memories, {size}")
    for name, row in rows.items():
        words = f"{row['sent']:.0f} sent, {row['applied']:.0f} taken in, told {row['told']:.0f} times"
        print(f"{name:12} {row['s']:7.2f} s  {row['mib']:6.0f} MiB at most  ({words})")
    whole = rows["send"]["sent"] == rows["take in"]["applied"] == asked.count
    told = rows["send"]["told"] and rows["take in"]["told"]
    return 0 if whole and told and all(row["mib"] < MOST_MIB for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
