"""What the buttons of the health page do: each is an operation that commands have too."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from engram.service import Engram
from engram.surfaces.render.assets import bytes_in_words
from engram.surfaces.render.paper import count


class Mended(NamedTuple):
    """What a button did, in a line, and the batch that takes back all of it, if there is one."""

    said: str
    batch: str = ""


def mended(engram: Engram) -> Mended:
    """What `doctor --fix` does."""
    report = engram.doctor(fix=True)
    return Mended("What can be mended was mended." if report.healthy else "Not all of it could be mended.")


def scanned(engram: Engram) -> Mended:
    """What `conflicts --scan` does."""
    found = engram.conflicts(scan=True)
    said = f"{count(found.scanned, 'memory', 'memories')} compared, {count(found.proposed, 'pair')} proposed."
    return Mended(said, found.batch)


def embedded(engram: Engram) -> Mended:
    """What `reembed` does."""
    done = engram.reembed()
    return Mended(f"{count(done.memories, 'memory', 'memories')} got a vector.")


def copied(engram: Engram) -> Mended:
    """What `backup create` does."""
    made = engram.backup_create()
    return Mended(f"A backup was made: {made.path}, {bytes_in_words(made.bytes)}.")


def exchanged(engram: Engram) -> Mended:
    """What `remote pull` and `remote push` do, with every server that this store exchanges with."""
    names = [row.name for row in engram.remote_list().remotes]
    came = sum(engram.remote_pull(name).applied for name in names)
    went = sum(engram.remote_push(name).sent for name in names)
    return Mended(f"Exchanged with {', '.join(names)}: {count(came, 'event')} came, {count(went, 'event')} went.")


def scrubbed(engram: Engram) -> Mended:
    """What `scrub --confirm` does."""
    done = engram.scrub(confirm=True)
    sessions = f" and {count(len(done.sessions), 'session')}" if done.sessions else ""
    return Mended(
        f"Secrets were taken out of {count(len(done.memories), 'memory', 'memories')}{sessions}, for good."
    )


MENDS: Mapping[str, Callable[[Engram], Mended]] = {
    "fix": mended,
    "scan": scanned,
    "vectors": embedded,
    "backup": copied,
    "sync": exchanged,
    "scrub": scrubbed,
}
"""What each button does, by the name it sends."""
