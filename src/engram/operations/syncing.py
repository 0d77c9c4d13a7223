"""Exchanging memories with other stores through a repository, and accepting or dropping stores."""

import os
from shlex import quote

from engram.model.answers_sync import ReplicaList, Synced
from engram.operations import parameters as p
from engram.operations.base import Call, operation

SOMEBODY_NEW = "Somebody new: look with engram replicas, then engram replicas accept ID --confirm."
"""What a person does about those whose word does not count here yet."""


@operation(
    "POST /v1/sync/git",
    "engram sync --git",
    "engram sync --git ../api --status",
    "engram sync --git --private",
    said="sync --git",
    writes=True,
    adds=True,
    human=True,
    local=True,
)
def sync_git(
    call: Call,
    repository: p.Repository = "",
    *,
    private: p.WithPrivate = None,
    global_: p.WithGlobal = None,
    status: p.SyncStatus = False,
    dry_run: p.DryRun = False,
) -> Synced:
    """Exchange memories with others through a repository.

    It writes what is new here to .engram/, and reads what others left there.

    Shared memories of the repository's project are exchanged, with their sessions and verdicts; private and global
    ones only if you ask for it. It touches nothing but .engram/sync: committing, pulling and pushing are up to you.
    """
    from engram.operations.exchanging import exchange_in  # noqa: PLC0415 - start-up

    folder = call.syncing.root(os.path.abspath(os.path.join(call.syncing.here, os.path.expanduser(repository))))
    ledger = call.syncing.ledger()
    with ledger.locked():
        exchange = exchange_in(call, folder, private=private, everywhere=global_, keep=not (status or dry_run))
        done = exchange.run(dry=status or dry_run)
    if not (status or dry_run):
        call.usage.mark("sync", call.now)
    return done._replace(hint=_next_step(done, os.path.realpath(call.syncing.here)))


def _next_step(done: Synced, here: str) -> str:
    there = "" if done.place == here else f"cd {quote(done.place)} && "
    steps = (
        (done.strangers, SOMEBODY_NEW),
        (done.dry_run and (done.wrote or done.sent or done.read), "Do it: engram sync --git."),
        (
            done.wrote or done.erased,
            f"Hand it on: {there}git add .engram && git commit && git push (after git pull, sync again).",
        ),
        (
            done.stayed.get("private"),
            "Share one: engram revise ID --visibility shared. Send all private ones: engram sync --git --private.",
        ),
        (done.stayed.get("global"), "Send global ones as well: engram sync --git --global."),
    )
    return next((step for due, step in steps if due), "")


@operation("GET /v1/replicas", "engram replicas", local=True)
def replicas(call: Call) -> ReplicaList:
    """Show the stores that were met, and which are accepted.

    Each with the fingerprint of its key.
    """
    from engram.operations.accepting import listed  # noqa: PLC0415 - start-up

    return listed(call)


@operation(
    "POST /v1/replicas/{replica}/accept",
    "engram replicas accept 4f1a-22c0 --confirm",
    writes=True,
    human=True,
    local=True,
)
def replicas_accept(call: Call, replica: p.ReplicaRef, *, confirm: p.Confirm = False) -> ReplicaList:
    """Accept another store: what it decides counts here too.

    What waited for this takes effect with the next exchange. Compare the fingerprint with the one that `engram
    replicas` shows on the other machine.
    """
    from engram.operations.accepting import ACCEPTED, decided  # noqa: PLC0415 - start-up

    return decided(call, replica, ACCEPTED, confirm=confirm)


@operation(
    "POST /v1/replicas/{replica}/drop",
    "engram replicas drop 4f1a-22c0 --confirm",
    writes=True,
    human=True,
    local=True,
)
def replicas_drop(call: Call, replica: p.ReplicaRef, *, confirm: p.Confirm = False) -> ReplicaList:
    """Stop accepting another store: what it decides waits again.

    What it sent until now stays.
    """
    from engram.operations.accepting import DROPPED, decided  # noqa: PLC0415 - start-up

    return decided(call, replica, DROPPED, confirm=confirm)
