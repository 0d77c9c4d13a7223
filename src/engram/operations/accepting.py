"""Accepting or dropping another store: what it said is applied anew by that. Loaded only where somebody asks."""

from engram.errors import Conflict, NotFound, Unconfirmed
from engram.model.answers_sync import ReplicaList, ReplicaRow
from engram.operations.base import Call
from engram.operations.joining import Joining, Refolded
from engram.operations.replicas import ACCEPTED, DROPPED, UNKNOWN, Replicas
from engram.ports import Ledger
from engram.sync.keys import fingerprint

__all__ = ["ACCEPTED", "DROPPED", "decided", "listed"]

NEW_KEY = "new key"
"""How a replica stands that shows another key than the one that counts."""


def decided(call: Call, ref: str, state: str, *, confirm: bool) -> ReplicaList:
    """Let the word of a replica, and of those that show the same key, count or count no longer.

    Raises:
        NotFound: when there is no such replica.
        Conflict: when it may be several.
        Unconfirmed: when no person confirms it.
    """
    ledger = call.syncing.ledger()
    with ledger.locked():
        known, met = ledger.part("replicas"), Replicas(ledger, call.caller.owner)
        meant = _meant(ledger, ref)
        shown = known[meant[0]].get("offered") or known[meant[0]]["key"]
        if not call.request(confirm=confirm).confirmed:
            raise Unconfirmed(
                f"Whose word counts is a person's decision. Its fingerprint is {fingerprint(shown)}.",
                "Compare it with engram replicas on that machine, and add --confirm.",
            )
        with met.deciding():
            if state != DROPPED and not fingerprint(known[meant[0]]["key"]).startswith(ref):
                for id in meant:
                    met.renew(id)
            key = known[meant[0]]["key"]
            same = [id for id, facts in known.items() if facts["key"] == key]
            done = [_let_count(call, ledger, met, id, state) for id in same]
            vouched = [id for id, facts in known.items() if facts.get("vouched_by") in same]
            done += [Joining(call, met.trust).refold(id) for id in vouched]  # for these, a server stands
    changed, live, uncounted, held = (sum(numbers) for numbers in zip(*done, strict=True))
    now = "What it says from now on waits." if state == DROPPED else "What waited for this"
    later = "" if state == DROPPED else " is taken in by the next engram sync --git or remote pull."
    told = listed(call)._replace(changed=changed, live=live, uncounted=uncounted, held=held)
    return told._replace(hint=now + later)


def _meant(ledger: Ledger, ref: str) -> list[str]:
    """The replicas of one key that go by the beginning of their id, or of the fingerprint of a key they show."""
    known = ledger.part("replicas")
    fits = [
        id
        for id, facts in known.items()
        if id.startswith(ref)
        or any(fingerprint(key).startswith(ref) for key in (facts.get("offered") or facts["key"], facts["key"]))
    ]
    if len(ref) < 4 or not fits:
        raise NotFound(f"There is no replica {ref!r}.", "See whom you have met: engram replicas.")
    if len({known[id]["key"] for id in fits}) > 1:
        raise Conflict(f"{ref} fits {len(fits)} replicas.", "Give more of it: engram replicas.")
    return fits


def _let_count(call: Call, ledger: Ledger, met: Replicas, replica: str, state: str) -> Refolded:
    facts = ledger.part("replicas")[replica]
    was, facts["state"] = facts["state"], state
    if was == state and "bound" in facts and "vouched_by" not in facts:
        return Refolded()  # served here, and with a new key: what it said stays, and what it says comes anew
    joining = Joining(call, met.trust)
    if state == DROPPED:
        known = (event.position for event in joining.history() if event.replica == replica)
        facts["until"] = max(known, default=0) if was != UNKNOWN else 0
        return Refolded()
    facts.pop("until", None)
    return joining.refold(replica)


def listed(call: Call) -> ReplicaList:
    """The stores that were met, each by the fingerprint of its key, and whose word counts."""
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
