"""Do every fault of tests/faults many times over, and write what came of it into docs/reliability.md.

    python tools/faults.py --times 5        # five times as often as in CI
    python tools/faults.py --times 50       # a soak of an hour or so

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
BEGIN, END = "<!-- faults:begin -->", "<!-- faults:end -->"


def main() -> int:
    """Run the suite, and write the table where everything was survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5, help="how many times as often as in CI")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "ledger.jsonl"
        environment = {**os.environ, "FAULTS": str(asked.times), "FAULTS_LEDGER": str(ledger)}
        words = [sys.executable, "-m", "pytest", "-q", "-n", "auto", "tests/faults"]
        code = subprocess.run(words, cwd=ROOT, env=environment, check=False).returncode
        rows = [json.loads(line) for line in ledger.read_text(encoding="utf-8").splitlines()]
    if code:
        print("Something was lost: docs/reliability.md is as it was.", file=sys.stderr)
        return code
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table(rows)}\n{END}{rest.split(END)[1]}", encoding="utf-8")
    print(f"Wrote {PAGE.relative_to(ROOT)}.")
    return 0


def table(rows: list[dict[str, object]]) -> str:
    """Faults by engines, with how often each was survived."""
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
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(main())
