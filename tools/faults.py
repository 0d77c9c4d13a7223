"""Do every fault of tests/faults many times over, and write what came of it into docs/reliability.md.

    python tools/faults.py --times 5        # five times as often as in CI
    python tools/faults.py --times 50       # a soak of an hour or so
    python tools/faults.py --soak 10        # everything at once on one store, ten minutes on each engine

A single loss fails the run, and nothing is written then.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reliability.md"
ENGINES = ("sqlite", "files", "postgres")


def main() -> int:
    """Run the suite, and write the table where everything was survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5, help="how many times as often as in CI")
    parser.add_argument("--soak", type=float, default=0, help="minutes of everything at once, and nothing else")
    asked = parser.parse_args()
    if asked.soak:
        code, rows = run({"SOAK": f"{asked.soak * 60}"}, "-n", "0", "tests/faults/test_soak.py")
        name, text = "soak", soak([row for row in rows if "soak" in row])
    else:
        code, rows = run({"FAULTS": f"{asked.times}"}, "-n", "auto", "tests/faults")
        name, text = "faults", table([row for row in rows if "fault" in row], asked.times)
    if code:
        print("Something was lost: docs/reliability.md is as it was.", file=sys.stderr)
        return code
    put(name, text)
    return 0


def run(variables: dict[str, str], *words: str) -> tuple[int, list[dict[str, object]]]:
    """The exit code of the tests, and what they wrote down.

    Where something that a test needs is missing, the test fails here as it does in CI: a dash on the page says that
    a fault does not apply, and never that it was not tried.
    """
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger.jsonl"
        ledger.touch()
        environment = {**os.environ, **variables, "CI": "1", "FAULTS_LEDGER": str(ledger)}
        command = [sys.executable, "-m", "pytest", "-q", *words]
        code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
        return code, [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]


def put(name: str, text: str) -> None:
    """Write a part of the page anew: what stands between its two marks."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    PAGE.write_text(f"{before}{begin}\n\n{text}\n{end}{rest.partition(end)[2]}", encoding="utf-8")
    print(f"Wrote {PAGE.relative_to(ROOT)}.")


def table(rows: list[dict[str, object]], times: int) -> str:
    """Faults by engines, with how often each was survived, in a run that did them so many times as often as CI."""
    counts: Counter[tuple[str, str]] = Counter()
    simulated = {str(row["fault"]) for row in rows if row["simulated"]}
    damaged = {str(row["fault"]) for row in rows if row["damaged"]}
    for row in rows:
        counts[str(row["fault"]), str(row["engine"])] += int(str(row["tries"]))
    lines = [f"| fault | {' | '.join(ENGINES)} | acknowledged writes lost |", f"|---|{'--:|' * len(ENGINES)}---|"]
    for fault in dict.fromkeys(str(row["fault"]) for row in sorted(rows, key=lambda row: str(row["fault"]))):
        cells = [f"{counts[fault, engine]:,}" if counts[fault, engine] else "-" for engine in ENGINES]
        lost = "those in the bytes taken away" if fault in damaged else "0"
        lines.append(f"| {fault}{' *(simulated)*' if fault in simulated else ''} | {' | '.join(cells)} | {lost} |")
    often = "as often as `make test` does it" if times == 1 else f"{times} times as often as `make test` does it"
    return "\n".join([f"Each fault was done {often}.", "", *lines, ""])


def soak(rows: list[dict[str, object]]) -> str:
    """What minutes of everything at once came to, on each engine."""
    heads = ("engine", "minutes", "writes acknowledged", "lost", "errors shown", "processes left")
    lines = [
        f"| {' | '.join(heads)} | growth of a server's memory | bytes on the disk for a memory |",
        f"|---|{'--:|' * (len(heads) + 1)}",
    ]
    for row in rows:
        minutes, grown = float(str(row["seconds"])) / 60, int(str(row["grown"])) / 1024
        cells = (f"{minutes:.0f}", f"{row['acknowledged']:,}", "0", row["errors"], row["orphans"])
        told = " | ".join(map(str, cells))
        lines.append(f"| {row['soak']} | {told} | {grown:.0f} MB | {row['each']:,} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
