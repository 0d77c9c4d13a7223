"""Who else has a file open, as far as the system tells: for whoever waits for a lock in vain."""

import os
from contextlib import suppress

PROCESSES = "/proc"
MOST = 3


def held_by(path: str | os.PathLike[str]) -> str:
    """A sentence that names the other processes that have a file open, with a blank before it; or nothing.

    Only Linux tells, and only of the processes of the same user; one that was stopped never lets go by itself.
    """
    told: list[str] = []
    with suppress(OSError):
        wanted = os.stat(path)
        others = [each for each in os.listdir(PROCESSES) if each.isdigit() and int(each) != os.getpid()]
        told = [_named(each) for each in others if _has_open(each, (wanted.st_dev, wanted.st_ino))]
    if not told:
        return ""
    more = f" and {len(told) - MOST} more" if len(told) > MOST else ""
    return f" It is open in {', '.join(told[:MOST])}{more}."


def _has_open(process: str, wanted: tuple[int, int]) -> bool:
    folder = f"{PROCESSES}/{process}/fd"
    with suppress(OSError):  # another user's, or gone by now
        for handle in os.listdir(folder):
            with suppress(OSError):
                found = os.stat(f"{folder}/{handle}")
                if (found.st_dev, found.st_ino) == wanted:
                    return True
    return False


def _named(process: str) -> str:
    """The number of a process and what it is called, and whether it was stopped."""
    try:
        with open(f"{PROCESSES}/{process}/stat", encoding="utf-8", errors="replace") as file:
            name, _, rest = file.read().partition("(")[2].rpartition(")")
    except OSError:
        return f"process {process}"
    return f"process {process} ({name}{', which is stopped' if rest.split()[:1] == ['T'] else ''})"
