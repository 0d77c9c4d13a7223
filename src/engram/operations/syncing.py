"""Exchanging memories with other stores through a repository, and deciding whose word counts."""

import os
from shlex import quote
from typing import TYPE_CHECKING

from engram.errors import Conflict, Invalid, NotFound, Unconfirmed
from engram.model.answers_sync import ReplicaList, ReplicaRow, Synced
from engram.model.scope import GLOBAL
from engram.operations import parameters as p
from engram.operations.base import Call, operation
from engram.rules.carrying import Reach

NEW_KEY = "new key"
"""How a replica stands that shows another key than the one that counts."""

if TYPE_CHECKING:
    from engram.operations.exchanging import Exchange
    from engram.operations.joining import Refolded


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

    What is new here is left in .engram/, and what others left there is taken in.

    Shared memories of the repository's project travel, with their sessions and verdicts; private and global ones
    stay home unless asked for. It touches nothing but .engram/sync: committing, pulling and pushing are yours.
    """
    folder = call.syncing.root(os.path.abspath(os.path.join(call.syncing.here, os.path.expanduser(repository))))
    ledger = call.syncing.ledger()
    with ledger.locked():
        exchange = repository_exchange(
            call, folder, private=private, everywhere=global_, keep=not (status or dry_run)
        )
        done = exchange.run(dry=status or dry_run)
    if not (status or dry_run):
        call.usage.mark("sync", call.now)
    return done._replace(hint=_next_step(done, os.path.realpath(call.syncing.here)))


def repository_exchange(
    call: Call, folder: str, *, private: bool | None = None, everywhere: bool | None = None, keep: bool = True
) -> "Exchange":
    """An exchange with the place in a repository, and what it is given there; what is asked is remembered.

    Raises:
        Invalid: when there is no such folder.
    """
    from engram.operations.exchanging import Exchange  # noqa: PLC0415 - start-up
    from engram.sync.place import Place  # noqa: PLC0415 - start-up

    place = Place(folder)
    ledger = call.syncing.ledger()
    known = ledger.part("places")
    facts = known.get(place.root, {})
    wanted = {
        "private": facts.get("private", False) if private is None else private,
        "global": facts.get("global", False) if everywhere is None else everywhere,
    }
    scope = call.syncing.place(place.root)
    if scope == GLOBAL and not wanted["global"]:
        raise Invalid(
            f"{place.root} is not a project.", "Name the folder of a repository, or give it a name: engram init."
        )
    if keep:
        known.setdefault(place.root, {}).update(wanted)
    return Exchange(call, ledger, place, place.root, Reach(scope, wanted["private"], wanted["global"]))


def _next_step(done: Synced, here: str) -> str:
    there = "" if done.place == here else f"cd {quote(done.place)} && "
    steps = (
        (done.strangers, "Somebody new: look with engram replicas, then engram replicas accept ID --confirm."),
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
    """Show the stores that were met, and whose word counts.

    Each by the fingerprint of its key.
    """
    return _listed(call)


@operation(
    "POST /v1/replicas/{replica}/accept",
    "engram replicas accept 4f1a-22c0 --confirm",
    writes=True,
    human=True,
    local=True,
)
def replicas_accept(call: Call, replica: p.ReplicaRef, *, confirm: p.Confirm = False) -> ReplicaList:
    """Let the word of another store count like that of this one.

    What it said and had to wait is taken in. Compare the fingerprint with the one that `engram replicas` shows on
    the other machine.
    """
    from engram.operations.replicas import ACCEPTED  # noqa: PLC0415 - start-up

    return _decided(call, replica, ACCEPTED, confirm=confirm)


@operation(
    "POST /v1/replicas/{replica}/drop",
    "engram replicas drop 4f1a-22c0 --confirm",
    writes=True,
    human=True,
    local=True,
)
def replicas_drop(call: Call, replica: p.ReplicaRef, *, confirm: p.Confirm = False) -> ReplicaList:
    """Let the word of another store count no longer.

    What it said until now stays.
    """
    from engram.operations.replicas import DROPPED  # noqa: PLC0415 - start-up

    return _decided(call, replica, DROPPED, confirm=confirm)


def _decided(call: Call, ref: str, state: str, *, confirm: bool) -> ReplicaList:
    from engram.operations.replicas import DROPPED, Replicas  # noqa: PLC0415 - start-up
    from engram.sync.keys import fingerprint  # noqa: PLC0415 - start-up

    ledger = call.syncing.ledger()
    with ledger.locked():
        known = ledger.part("replicas")
        shown = {id: facts.get("offered") or facts["key"] for id, facts in known.items()}
        fits = [
            id
            for id, facts in known.items()
            if id.startswith(ref) or any(fingerprint(key).startswith(ref) for key in (shown[id], facts["key"]))
        ]
        if len(ref) < 4 or not fits:
            raise NotFound(f"There is no replica {ref!r}.", "See whom you have met: engram replicas.")
        if len({known[id]["key"] for id in fits}) > 1:
            raise Conflict(f"{ref} fits {len(fits)} replicas.", "Give more of it: engram replicas.")
        if not call.request(confirm=confirm).confirmed:
            mark = fingerprint(shown[fits[0]])
            raise Unconfirmed(
                f"Whose word counts is a person's decision. Its fingerprint is {mark}.",
                "Compare it with engram replicas on that machine, and add --confirm.",
            )
        met = Replicas(ledger, call.caller.owner)
        with met.deciding():
            if state != DROPPED and not fingerprint(known[fits[0]]["key"]).startswith(ref):
                for id in fits:
                    met.renew(id)
            key = known[fits[0]]["key"]
            same = [id for id, facts in known.items() if facts["key"] == key]
            done = [_let_count(call, id, state) for id in same]
            done += [_heard_anew(call, id) for id, facts in known.items() if facts.get("vouched_by") in same]
    changed, live, uncounted, held = (sum(numbers) for numbers in zip(*done, strict=True))
    now = "What it says from now on waits." if state == DROPPED else "What waited for this"
    later = "" if state == DROPPED else " is taken in by the next engram sync --git or remote pull."
    told = _listed(call)._replace(changed=changed, live=live, uncounted=uncounted, held=held)
    return told._replace(hint=now + later)


def _let_count(call: Call, replica: str, state: str) -> "Refolded":
    from engram.operations.joining import Joining, Refolded  # noqa: PLC0415 - start-up
    from engram.operations.replicas import DROPPED, UNKNOWN, Replicas  # noqa: PLC0415 - start-up

    ledger = call.syncing.ledger()
    facts = ledger.part("replicas")[replica]
    was, facts["state"] = facts["state"], state
    if was == state and "bound" in facts and "vouched_by" not in facts:
        return Refolded()  # served here, and with a new key: what it said stays, and what it says comes anew
    joining = Joining(call, Replicas(ledger, call.caller.owner).trust)
    if state == DROPPED:
        known = (event.position for event in joining.history() if event.replica == replica)
        facts["until"] = max(known, default=0) if was != UNKNOWN else 0
        return Refolded()
    facts.pop("until", None)
    return joining.refold(replica)


def _heard_anew(call: Call, replica: str) -> "Refolded":
    """Make anew what a replica said for which a server stands that was decided about."""
    from engram.operations.joining import Joining  # noqa: PLC0415 - start-up
    from engram.operations.replicas import Replicas  # noqa: PLC0415 - start-up

    return Joining(call, Replicas(call.syncing.ledger(), call.caller.owner).trust).refold(replica)


def _listed(call: Call) -> ReplicaList:
    from engram.operations.replicas import Replicas  # noqa: PLC0415 - start-up
    from engram.sync.keys import fingerprint  # noqa: PLC0415 - start-up

    ledger = call.syncing.ledger()
    own, device = call.engine.replica(), call.syncing.device
    rows = [ReplicaRow(own or "-", device, "this", fingerprint(ledger.key.public))]
    met = Replicas(ledger, call.caller.owner)
    for id, facts in sorted(ledger.part("replicas").items()):
        if id != own:
            called = f"{facts['device']}{' (server)' if 'you' in facts else ''}"
            rows.append(ReplicaRow(id, called, met.state(id), fingerprint(facts["key"])))
            if "offered" in facts:
                rows.append(ReplicaRow(id, called, NEW_KEY, fingerprint(facts["offered"])))
    compare = "Compare a fingerprint with the other machine's, then: engram replicas accept ID --confirm."
    nameless = "This store gets its id with the first thing it remembers; its fingerprint stands."
    unknown = any(row.state in ("unknown", NEW_KEY) for row in rows)
    return ReplicaList(call.now, tuple(rows), hint=compare if unknown else "" if own else nameless)
