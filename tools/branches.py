"""Runs the tests, and prints which lines and branches of each package they take: `make coverage`.

What a test starts as a process of its own is measured too, unless it is killed, or given no environment of ours.
The suite of faults is left out.
"""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "build" / "coverage.json"
ALL_BUT = ("--ignore=tests/faults", "-k", "not fork_beside_threads")
"""What cannot be measured. The faults kill a process at each of its calls, those to coverage's own file among them.
And of threads beside a fork, one may hold a lock of coverage's just then, and the child would wait for ever."""


def main(words: list[str]) -> int:
    """Run the tests that can be measured, or those that the words name, and print a table, whatever fails."""
    MEASURED.parent.mkdir(exist_ok=True)
    told = [f"--cov-report=json:{MEASURED}", f"--cov-report=html:{MEASURED.parent / 'coverage'}"]
    which = words or ["-n", "auto", "--dist", "worksteal", *ALL_BUT]
    command = [sys.executable, "-m", "pytest", "--cov=engram", "--cov-branch", *told, *which]
    ended = subprocess.run(command, check=False, cwd=ROOT)
    print(table(json.loads(MEASURED.read_text(encoding="utf-8"))))
    print(f"Line by line: {MEASURED.parent / 'coverage' / 'index.html'}")
    return ended.returncode


def table(measured: dict[str, dict[str, dict[str, dict[str, int]]]]) -> str:
    """How much of each package was run: lines, and the ways that each decision can go."""
    rows: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for path, file in measured["files"].items():
        parts = Path(path).parts
        package = parts[parts.index("engram") + 1] if len(parts) > parts.index("engram") + 2 else "(top)"
        names = ("covered_lines", "num_statements", "covered_branches", "num_branches")
        for name in (package, "all together"):
            rows[name] = [known + file["summary"][each] for known, each in zip(rows[name], names, strict=True)]
    together = rows.pop("all together")
    shown = [*sorted(rows.items()), ("all together", together)]
    return "\n".join(["package         lines         branches", *(_row(name, *numbers) for name, numbers in shown)])


def _row(name: str, lines: int, of_lines: int, branches: int, of_branches: int) -> str:
    parts = ((lines, of_lines), (branches, of_branches))
    return f"{name:<14}" + "".join(f"{done / whole if whole else 1:>7.1%} of {whole:<6}" for done, whole in parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
