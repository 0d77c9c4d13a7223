"""`engram demo`: a tour in thirty seconds, with the real command on a throw-away store."""

import os
import shlex
import subprocess
import sys
import tempfile
import time

from engram.errors import Invalid, Unavailable
from engram.surfaces.render.paper import at_hand

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
"""What is told, and the commands that show it."""

NEXT = """That was a throw-away store: nothing of it is left. Your own begins with the first word:
  engram remember "…"    save something
  engram recall "…"      find it again
  engram setup           connect the agents on this machine
  engram                 what is here, and what to do next"""


def run(words: list[str], *, json: bool) -> int:
    """Usage: engram demo [--json]

    See in thirty seconds what Engram does: save, review, recall, undo, and what an agent reads. The commands are
    real; the store is made for the tour and gone after it. At a terminal it waits after each part: Enter goes on, q
    ends it.

    Options:
      --json  Show nothing; answer with how many commands ran and how long it took.

    Example:
      engram demo
    """  # noqa: D415 - it is the command's help
    if words:
        raise Invalid(f"demo takes no {words[0]!r}.", "See engram demo --help.")
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="engram-demo-") as folder:
        for number, (title, commands) in enumerate(TOUR):
            if number and not json and not _goes_on():
                break
            if not json:
                print(f"\n{at_hand().bold(title)}\n", flush=True)
            for line in commands:
                _show(line, folder, quiet=json)
    if json:
        from json import dumps  # noqa: PLC0415 - start-up

        ran = sum(len(commands) for _, commands in TOUR)
        print(dumps({"commands": ran, "seconds": round(time.monotonic() - began, 2)}))
    else:
        print(NEXT)
    return 0


def _show(line: str, folder: str, *, quiet: bool) -> None:
    """Run one command of the tour as a newcomer would, in a home of its own.

    Raises:
        Unavailable: when it fails.
    """
    theirs = {name: value for name, value in os.environ.items() if not name.startswith(("ENGRAM_", "XDG_"))}
    environment = {**theirs, "HOME": folder, "ENGRAM_STORE": os.path.join(folder, "demo.db")}
    if not quiet:
        print(at_hand().dim(f"$ engram {line}"), flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "engram", *shlex.split(line)],
        env=environment,
        cwd=folder,
        stdout=subprocess.DEVNULL if quiet else None,
        check=False,
    )
    if done.returncode:
        raise Unavailable(f"The tour stopped: engram {line} answered {done.returncode}.", "Run engram doctor.")
    if not quiet:
        print(flush=True)


def _goes_on() -> bool:
    """Whether whoever looks on wants the next part; nobody is asked away from a terminal, nor in CI."""
    if os.environ.get("CI") or not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    try:
        return input(at_hand().dim("Enter goes on, q ends. ")).strip().lower() not in ("q", "quit")
    except EOFError:
        return False
