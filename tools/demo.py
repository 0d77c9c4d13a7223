"""A tour of Engram in thirty seconds, with the real command on a throw-away store."""

import os
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ENGRAM = Path(sys.executable).with_name("engram")
SLOW = sys.stdout.isatty()

TOUR = (
    (
        "Save what was learned. The text alone is enough; a kind helps.",
        (
            'remember "We deploy on Fridays after the standup" --kind convention --tag release',
            'remember "The API listens on port 8080" --kind infra',
            'remember "we deploy on fridays after the standup."',
        ),
    ),
    (
        "Some things count only once a person has approved them. Contradictions wait, too.",
        (
            'remember "My legal name is Alex Rivera" --kind identity',
            'remember "The API listens on port 9090" --kind infra',
            "review --list",
        ),
    ),
    (
        "Approve them. The new port replaces the old one; the name needs a confirmed word.",
        (
            "promote mem-0004",
            "promote mem-0003 --confirm",
        ),
    ),
    (
        "Months later: the right memory, by its words or by its meaning, with the reasons; or an honest nothing.",
        (
            'recall "when do we deploy?" --explain',
            'recall "what time of the week do releases go out"',
            'recall "which prot does the API use"',
            'recall "favourite colour"',
        ),
    ),
    (
        "Nothing is lost by accident: forget, undo, and the whole history.",
        (
            'forget mem-0001 --reason "we changed the rhythm"',
            "undo",
            "history",
        ),
    ),
    ("What an agent would read at the start of its next session.", ("context --budget 300",)),
)

NEXT = """Try it yourself:
  source .venv/bin/activate
  engram remember "…"          save something (in ~/.local/share/engram)
  engram recall "…"            find it again
  engram review                walk through what waits
  engram doctor                check the store
  engram --help                everything else; docs/start.md is the two-minute guide
"""


def main() -> int:
    """Run the tour; a command that fails ends it."""
    with tempfile.TemporaryDirectory(prefix="engram-demo-") as folder:
        environment = {**os.environ, "ENGRAM_STORE": f"{folder}/demo.db", "HOME": folder}
        for title, commands in TOUR:
            print(f"\n{_bold(title)}\n")
            for line in commands:
                print(_dim(f"$ engram {line}"), flush=True)
                done = subprocess.run([ENGRAM, *shlex.split(line)], env=environment, cwd=folder, check=False)
                if done.returncode:
                    print(f"The tour stopped: engram {line} answered {done.returncode}.", file=sys.stderr)
                    return 1
                print(flush=True)
                time.sleep(0.9 if SLOW else 0)
    print(f"{_bold('That was a throw-away store.')} {NEXT}")
    return 0


def _bold(text: str) -> str:
    return f"\x1b[1m{text}\x1b[0m" if SLOW else text


def _dim(text: str) -> str:
    return f"\x1b[2m{text}\x1b[0m" if SLOW else text


if __name__ == "__main__":
    sys.exit(main())
