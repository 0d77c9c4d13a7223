"""What a hook costs an agent: processor time on a store of 10,000 memories, beside a Python that does nothing.

    python benches/agents/hooks.py [--runs 15] [--write]

Each event is answered by a process of its own, by turns with the bare interpreter, in the form of Claude Code.
`--write` puts the table into docs/benchmarks.md. The exit code is 1 where the bound is broken.
"""

import argparse
import compileall
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "speed"))

import stores

import engram
from common import DOCS, dated, machine, progress, table, write_between

RUNS = 15
SIZE = 10_000
BOUND = 10.0

EVENTS: dict[str, dict[str, Any]] = {
    "session-start": {"source": "startup"},
    "prompt-submit": {"prompt": "how does the parser read its arguments?"},
    "pre-compact": {"trigger": "auto"},
    "stop": {"stop_hook_active": False, "last_assistant_message": "Done."},
    "subagent-stop": {
        "last_assistant_message": "## Key learnings\n- The parser reads its arguments from a table\n"
    },
    "session-end": {"reason": "exit"},
}


def main() -> int:
    """Measure every event by turns, print the table, and keep it; returns the exit code."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--runs", type=int, default=RUNS, help=f"answers of each ({RUNS})")
    options.add_argument("--write", action="store_true", help="also write docs/benchmarks.md")
    asked = options.parse_args()
    compileall.compile_dir(Path(engram.__file__).parent, quiet=2)
    with tempfile.TemporaryDirectory() as folder:
        store = stores.copied(stores.store(SIZE, "one"), Path(folder))
        spent: dict[str, list[float]] = {name: [] for name in ("", *EVENTS)}
        for turn in progress(range(asked.runs), "hooks"):
            for name, times in spent.items():
                times.append(_answered(name, turn, store.path, Path(folder)))
    bare = median(spent.pop(""))
    rows: list[dict[str, Any]] = [
        {"event": name, "ms": round(median(times), 1), "ratio": round(median(times) / bare, 2)}
        for name, times in spent.items()
    ]
    told = table(
        ["event", "processor, ms", "times bare Python"],
        [[row["event"], f"{row['ms']:.1f}", f"{row['ratio']:.2f}"] for row in rows],
    )
    print(f"{told}\n\npython -c pass: {bare:.1f} ms; bound {BOUND:g} times")
    dated("hooks", {"machine": machine(), "memories": SIZE, "runs": asked.runs, "bare_ms": bare, "rows": rows})
    if asked.write:
        write_between(DOCS / "benchmarks.md", "hooks", told)
    return int(any(row["ratio"] > BOUND for row in rows))


def _answered(event: str, turn: int, store: Path, folder: Path) -> float:
    """The processor time of one answer in milliseconds; of a bare interpreter where no event is named."""
    command = [sys.executable, "-c", "pass"]
    if event:
        command = [str(Path(sys.executable).with_name("engram")), "hook", event, "--agent", "claude-code"]
    told = {"session_id": f"s-{turn}", "cwd": str(folder), **EVENTS.get(event, {})}
    variables = {"HOME": str(folder), "PATH": os.environ["PATH"], "ENGRAM_STORE": str(store)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, input=json.dumps(told).encode(), env=variables, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


if __name__ == "__main__":
    sys.exit(main())
