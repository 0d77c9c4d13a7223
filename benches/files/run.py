"""A store of plain files beside the same memories in SQLite: CPU of whole processes as the store grows.

    python benches/files/run.py                  # 100, 1,000 and 10,000 memories
    python benches/files/run.py --sizes 100 1000 --write

Both stores hold the same memories and are asked by the same commands in turn, so the ratio is what counts. It fails
where a recall of plain files takes more than three times the CPU of SQLite's. `--write` puts the table into
docs/guides/files.md.
"""

import argparse
import os
import random
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "speed"))

from clock import Command, processes

from common import DOCS, Bar, dated, machine, table, write_between
from engram.engines.files.engine import FilesEngine
from engram.engines.sqlite import SqliteEngine
from engram.model.change import Change
from engram.model.event import Draft, Payload, edits_between
from engram.model.memory import Memory
from engram.ports import Engine
from engram.rules.changes import claims_of
from engram.wiring import open as open_memory
from engram.wiring.clock import new_id

SIZES = (100, 1_000, 10_000)
RUNS = 11
MOST = 3.0
"""How many times the CPU of SQLite a recall may take."""

WORDS = [
    f"{a}{b}" for a in ("dep", "conf", "mig", "ser", "tab", "que") for b in ("loy", "ig", "rate", "ver", "le", "ue")
]


def memories(count: int) -> list[Memory]:
    """Facts of about sixty characters, one a minute."""
    dice, start = random.Random(count), datetime.now(UTC) - timedelta(days=30)
    made = []
    for n in range(count):
        at = (start + timedelta(minutes=n % 40_000)).replace(microsecond=0)
        text = f"note {n}: " + " ".join(dice.choice(WORDS) for _ in range(8))
        made.append(
            Memory(
                id=f"{n:032x}", text=text, owner="", status="promoted", kind="tooling", created_at=at, updated_at=at
            )
        )
    return made


def fill(engine: Engine, made: list[Memory]) -> None:
    """All of them, a hundred a commit."""
    for at in range(0, len(made), 100):
        some = made[at : at + 100]
        edits = tuple(edit for each in some for edit in edits_between(None, each))
        draft = Draft("import", "bench", some[-1].created_at, tuple(e.id for e in some), payload=Payload(edits))
        claims = {each.id: claims_of(each) for each in some}
        engine.commit(Change(draft, tuple(some), expects={each.id: 0 for each in some}, claims=claims))
    engine.close()


def measure(size: int, folder: Path) -> dict[str, float]:
    """CPU milliseconds of each command on each store."""
    environment = {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "ENGRAM_EMBEDDER": "none",
    }
    stores = {"sqlite": str(folder / "store.db"), "files": f"files:{folder / 'store'}"}
    made = memories(size)
    fill(SqliteEngine(folder / "store.db", new_replica=new_id), made)
    with open_memory(stores["files"], environment=environment) as opened:
        engine = opened.engine
        assert isinstance(engine, FilesEngine)
        fill(engine, made)
    commands: dict[str, Command] = {}
    for name, store in stores.items():
        own = environment | {"ENGRAM_STORE": store}
        python = [sys.executable, "-m", "engram"]
        commands[f"recall {name}"] = ([*python, "recall", "--words", "deploy server queue"], own)
        commands[f"remember {name}"] = ([*python, "remember", "We deploy on Fridays", "--dedupe", "create"], own)
    bar = Bar(f"{size:,} memories", RUNS)
    step = iter(range(1, RUNS + 1))
    return processes(commands, RUNS, lambda: bar.to(next(step)))


def main() -> None:
    """Measure, keep the numbers, and hold the bound."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES)
    parser.add_argument("--write", action="store_true")
    asked, rows = parser.parse_args(), []
    for size in asked.sizes:
        with tempfile.TemporaryDirectory() as folder:
            rows.append({"memories": size} | {k: round(v, 1) for k, v in measure(size, Path(folder)).items()})
    dated("files", {"machine": machine(), "rows": rows})
    names = list(rows[0])
    shown = table(names, [[f"{row[name]:,}" for name in names] for row in rows])
    print(shown)
    if asked.write:
        write_between(DOCS / "guides" / "files.md", "files", shown)
    slow = [row for row in rows if row["recall files"] > MOST * row["recall sqlite"]]
    sys.exit(f"A recall took more than {MOST} times the CPU of SQLite's: {slow}" if slow else 0)


if __name__ == "__main__":
    main()
