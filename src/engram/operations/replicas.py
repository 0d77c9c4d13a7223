"""The stores that this one has met in exchanges: their keys, and whose word counts here.

Loaded only where somebody syncs.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from engram.ports import Ledger
from engram.rules.hearing import Trust
from engram.sync import chunks, keys
from engram.sync.place import Card

ACCEPTED, OWN, UNKNOWN, DROPPED = "accepted", "own", "unknown", "dropped"
VOUCHED = "vouched"
"""A server that was accepted says whose it is, and its word counts."""


class Replicas:
    """Whom this store has met, and whose word counts."""

    def __init__(self, ledger: Ledger, owner: str) -> None:
        self._known = ledger.part("replicas")
        self._ledger, self._owner = ledger, owner

    def meet(self, card: Card, at: str, *, server: str = "") -> bool:
        """Take note of a replica; False when it shows another key than the one that counts, which a person decides.

        `server` is the replica of the server that it was met at, which says whose it is.
        """
        trusted = [facts for facts in self._known.values() if facts["key"] == card.key]
        as_before = trusted[0]["state"] if trusted else UNKNOWN  # a copied store has a new name, and its old key
        state = OWN if card.key == self._ledger.key.public else as_before
        known = self._known.setdefault(
            card.replica, {"key": card.key, "device": card.device, "met": at, "state": state}
        )
        if known["key"] != card.key:
            if "bound" in known and "vouched_by" not in known and card.key in known.get("former", ()):
                return True  # a card of before, left in a place where the replica has not been since
            known["offered"] = card.key
            if not (server and known.get("vouched_by") == server and self._is_vouched(known)):
                return False
            self.renew(card.replica)  # by the word of the server that was believed about it before
        known.pop("offered", None)
        known["device"] = card.device
        if card.replica == server and card.you is not None:
            known["you"] = card.you
        elif server:
            known |= {"bound": card.owner or "", "vouched_by": server}
        return True

    def accepts(self, card: Card) -> bool:
        """Whether a card shows the key that counts here, or is the first of its replica."""
        return bool(self._known.get(card.replica, {"key": card.key})["key"] == card.key)

    def verify(self, replica: str, *, before: bool = False) -> chunks.Verify | None:
        """A function that checks the signatures of a replica; None when the replica has not introduced itself.

        With `before`, keys that a person has replaced since count too.
        """
        known = self._known.get(replica)
        return None if known is None else signed_by(known["key"], *(known.get("former", ()) if before else ()))

    def renew(self, replica: str) -> None:
        """Let the key that a replica shows now count in place of the one before, as a person decided."""
        known = self._known[replica]
        if offered := known.pop("offered", ""):
            former = (*known.get("former", ()), known["key"])
            known["former"] = [*dict.fromkeys(key for key in former if key != offered)]
            known["key"] = offered

    @contextmanager
    def deciding(self) -> Iterator[None]:
        """Decide about some of them: what follows goes by it at once, and where that fails, nothing was decided."""
        before = deepcopy(self._known)
        try:
            yield
        except BaseException:
            self._known.clear()
            self._known.update(before)
            raise

    def trust(self) -> Trust:
        """Whose word counts, as it stands."""
        strangers = {
            replica: int(known.get("until", 0))
            for replica, known in self._known.items()
            if known["state"] in (UNKNOWN, DROPPED) and not self._is_vouched(known)
        }
        names = {
            replica: {theirs: ours for theirs, (ours, _) in known["names"].items() if theirs != ours}
            for replica, known in self._known.items()
            if known.get("names")
        }
        return Trust(
            strangers,
            self._owner,
            {replica: told for replica, told in names.items() if told},
            {replica: known["bound"] for replica, known in self._known.items() if "bound" in known},
            {replica: {known["you"]: self._owner} for replica, known in self._known.items() if known.get("you")},
            frozenset(replica for replica, known in self._known.items() if self._is_told_of(known)),
        )

    def _is_vouched(self, known: Mapping[str, Any]) -> bool:
        """Whether a server that counts here says whose this replica is: it let it in by its credentials."""
        server = self._known.get(known.get("vouched_by", ""), {})
        return bool(known["state"] == UNKNOWN and server.get("state") == ACCEPTED)

    def _is_told_of(self, known: Mapping[str, Any]) -> bool:
        """Whether this is a server that was accepted, or a replica that one let in."""
        server = known if "you" in known else self._known.get(known.get("vouched_by", ""), {})
        return bool(server.get("state") == ACCEPTED and known["state"] in (ACCEPTED, UNKNOWN, OWN))

    def strangers(self) -> list[str]:
        """Those about whom nobody has decided, and for whom no server stands."""
        return [id for id in self._known if self.state(id) == UNKNOWN]

    def state(self, replica: str) -> str:
        """How a replica stands here."""
        known = self._known[replica]
        return VOUCHED if self._is_vouched(known) else str(known["state"])

    def servers(self) -> list[str]:
        """Servers about whom nobody has decided, by the fingerprints of their keys."""
        return [
            keys.fingerprint(known["key"])
            for id, known in self._known.items()
            if "you" in known and self.state(id) == UNKNOWN
        ]

    def learn(self, replica: str, theirs: str, ours: str, place: str) -> None:
        """Take note of what a replica calls the project of a place; of two places the first counts."""
        self._known[replica].setdefault("names", {}).setdefault(theirs, [ours, place])

    def learn_anew(self, ours: str, place: str) -> list[str]:
        """Take note that the project of a place has another name here now; returns whose words that changes."""
        changed = []
        for replica, known in self._known.items():
            for told in known.get("names", {}).values():
                if told[1] == place and told[0] != ours:
                    told[0] = ours
                    changed.append(replica)
        return list(dict.fromkeys(changed))

    def other_names(self, place: str) -> list[str]:
        """What others call the project of a place."""
        told = (item for known in self._known.values() for item in known.get("names", {}).items())
        return sorted({theirs for theirs, (ours, where) in told if where == place and theirs != ours})


def signed_by(*public: str) -> chunks.Verify:
    """A function that checks whether content was signed with one of these keys, given by their public halves."""
    return lambda content, signature: any(keys.verifies(one, content, signature) for one in public)
