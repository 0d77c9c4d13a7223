"""Tries every attack, and writes what came of each at each surface into docs/security.md: `make attacks`."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
GATHERED = ROOT / "build" / "attacks.jsonl"


def main() -> int:
    """Run the tests that write down what they see; the page is written when all of them were run and pass.

    Where a server that a test needs is missing, the test fails here as it does in CI: what was not tried would be
    missing from the page.
    """
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    from attacks import ledger  # noqa: PLC0415 - the tests are found by the line above

    GATHERED.parent.mkdir(exist_ok=True)
    GATHERED.unlink(missing_ok=True)
    files = [str(path) for path in sorted(ledger.TESTS.rglob("test_*.py")) if "import tried" in path.read_text()]
    command = [sys.executable, "-m", "pytest", "-n", "auto", *files]
    said = {**os.environ, "CI": "1", ledger.GATHERED: str(GATHERED)}
    ended = subprocess.run(command, check=False, cwd=ROOT, env=said)
    if ended.returncode == 0:
        page = ledger.PAGE.read_text(encoding="utf-8")
        ledger.PAGE.write_text(ledger.written(page, ledger.gathered(GATHERED)), encoding="utf-8")
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main())
