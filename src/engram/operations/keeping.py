"""The server's end of an exchange: keeps the chunks of a scope for whoever may have them, and takes them in itself.

A server is one more replica: what machines push is part of its own store at once, and what was said to the server
lies among the chunks that they pull. Whose a replica is, its credentials say when it introduces itself; it speaks
for that owner and for nobody else. Private memories lie apart, for their owner alone.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from engram.errors import Conflict, Forbidden, Invalid, NotFound, Unavailable
from engram.model.hashing import sha256
from engram.model.scope import Scope
from engram.operations.base import Call, every, last_event
from engram.operations.exchanging import Exchange
from engram.operations.replicas import ACCEPTED, DROPPED, signed_by
from engram.ports import Ledger
from engram.rules.access import require_place, require_reader
from engram.rules.carrying import Reach, enrolled
from engram.sync import chunks, keys
from engram.sync.place import CARDS, Card, Place, print_card, read_card
from engram.sync.server import Listed

MOST_LISTED = 500
PATIENCE = 30.0
"""Seconds that a request waits for others that exchange with the same store."""


class Files(NamedTuple):
    """One page of what is kept, and whether there is more."""

    files: tuple[Listed, ...]
    more: bool


def listed(call: Call, scope: str, after: int, *, private: bool) -> Files:
    """What is kept of a scope, in the order in which it came; what this store itself has to tell lies among it.

    Raises:
        Forbidden: when the caller may not read the scope.
    """
    with _opened(call, scope, private=private) as kept:
        require_reader(call.caller, kept.reach.scope)
        if kept.is_empty():  # to ask leaves nothing behind: anybody may ask for any name
            return Files((), more=False)
        kept.bring_up_to_date()
        rows = sorted((row for row in kept.index() if row.at > after), key=lambda row: row.at)
    return Files(tuple(rows[:MOST_LISTED]), len(rows) > MOST_LISTED)


def given(call: Call, scope: str, name: str, *, private: bool) -> bytes:
    """One file.

    Raises:
        Forbidden: when the caller may not read the scope.
        NotFound: when there is none of this name.
    """
    kept = _kept(call, scope, private=private)
    require_reader(call.caller, kept.reach.scope)
    content = None
    if name.startswith(CARDS):  # whose it is may have been learnt by another process
        with _waiting_for(call.syncing.ledger()):
            content = kept.shown(name) if kept.place.is_ours(name) else None
    elif kept.place.is_ours(name):
        content = kept.shown(name)
    if content is None:
        raise NotFound(f"There is no file {name[:120]!r}.", "List what there is.")
    return content


def taken(call: Call, scope: str, name: str, content: bytes, *, private: bool) -> str:
    """Keep a file, and take in what it says; answers with the hash of what was sent once that is durable.

    Raises:
        Forbidden: when the caller may not write to the scope, or the file is another's.
        Invalid: when it is no such file, or is not what its name or its signature says.
    """
    with _opened(call, scope, private=private) as kept:
        require_place(call.caller, kept.reach.scope)
        if not kept.place.is_ours(name):
            raise Invalid(f"{name[:120]!r} is not a file of an exchange.", "Upgrade Engram.")
        if kept.shown(name) != content:
            kept.keep(name, content)
    return chunks.digest(content)


class Kept:
    """The chunks of one scope, for one request."""

    def __init__(self, call: Call, ledger: Ledger, place: Place, name: str, reach: Reach) -> None:
        self._call, self._ledger, self._name = call, ledger, name
        self.place, self.reach = place, reach

    # --- what comes ---

    def keep(self, name: str, content: bytes) -> None:
        """Check a file, write it, and take in what it says."""
        folder, _, file = name.partition("/")
        if folder == CARDS:
            self._enrol(file.removesuffix(".json"), content)
            return
        self._require_own(folder)
        if file.endswith(".payload"):
            self._keep_words(name, content)
        else:
            self._keep_chunk(folder, file.removesuffix(".jsonl"), content)

    def _enrol(self, replica: str, content: bytes) -> None:
        """A replica introduces itself: from now on it speaks for the owner whose credentials came along."""
        card = read_card(replica, content)
        if card is None or card != Card(*card[:3]) or content != print_card(card):
            raise Invalid("That is not a replica's card.", "Upgrade Engram.")
        known = self._ledger.part("replicas").get(replica)
        if replica == self._call.engine.replica():
            raise Conflict("Another store goes by this id.", "Restore the key that belongs to it.")
        if known and known.get("bound", self._owner) != self._owner:
            raise Forbidden("This replica is somebody else's.", "Use a store of your own.")
        if known and known["state"] == DROPPED:
            raise Forbidden(
                "The word of this replica does not count here any more.", "Ask whoever runs this memory."
            )
        if known and known["key"] != card.key:
            raise self._question(known, card)
        if not known or "bound" not in known:
            request = self._call.request()
            self._call.engine.commit(enrolled(card.replica, card.device, request))
        facts = {"key": card.key, "device": card.device, "met": str(self._call.now)}
        (known or facts).pop("offered", "")  # the one that counts is shown
        self._ledger.part("replicas")[replica] = {
            **(known or facts),
            "state": ACCEPTED,
            "bound": self._owner,
            "name": self._call.caller.name,
        }
        self._ledger.keep()
        self.place.introduce(card)

    def _question(self, known: dict[str, Any], card: Card) -> Conflict:
        """What is raised where a store shows another key: it lost its own, or is another one. A person decides."""
        known["offered"] = card.key
        self._ledger.keep()
        mark = keys.fingerprint(card.key)
        return Conflict(
            f"This store shows another key than before, {mark}. Whoever runs this memory lets it in again: "
            f"engram replicas accept {mark} --confirm",
            "Tell them the fingerprint that engram replicas shows on your machine, and push again.",
        )

    def _require_own(self, replica: str) -> None:
        known = self._ledger.part("replicas").get(replica, {})
        if known.get("bound") != self._owner or not self.place.has(f"{CARDS}/{replica}.json"):
            raise Forbidden(
                "Only a replica that introduced itself here, and is yours, sends chunks.", "Push again."
            )

    def _keep_words(self, name: str, content: bytes) -> None:
        """What was erased here meanwhile is not kept again."""
        chunk = name.rpartition("/")[2].removesuffix(".payload")
        if chunks.print_payloads(chunk, chunks.read_payloads(content)) != content:
            raise Invalid("That is not a file of payloads.", "Upgrade Engram.")
        self.place.fewer(name, content)

    def _keep_chunk(self, replica: str, name: str, content: bytes) -> None:
        key = self._ledger.part("replicas")[replica]["key"]
        try:
            chunks.read(name, replica, content, {}, lambda signed, mark: keys.verifies(key, signed, mark))
        except Invalid as error:
            raise Invalid(f"The chunk is refused: {error.message}.", "Push again.") from None
        self.place.write(content, replica, f"{name}.jsonl")
        self._exchange().run(give=False)
        if former := self._ledger.part("replicas")[replica].get("former"):
            self._make_way(replica, signed_by(key), signed_by(*former))

    def _make_way(self, replica: str, now: chunks.Verify, before: chunks.Verify) -> None:
        """Let go of what a replica signed with a key that was replaced, as soon as it has said it anew."""
        names = self.place.chunk_names(replica)
        anew = {id for name in names for id in self._events(replica, name, now)}
        for name in names:
            old = self._events(replica, name, before)
            if old and old <= anew:
                self.place.remove(replica, f"{name}.jsonl")
                self.place.remove(replica, f"{name}.payload")

    def _events(self, replica: str, name: str, verify: chunks.Verify) -> set[str]:
        """The events of a chunk that is signed so."""
        try:
            return {event.id for event in self.place.chunk(replica, name, verify, words=False).events}
        except Invalid:
            return set()

    # --- what goes ---

    def is_empty(self) -> bool:
        """Whether nobody has left anything here, and this store has nothing to tell either."""
        if next(self.place.files(), None) is not None:
            return False
        told = (one for where in self.reach.filters() for one in every(self._call, where))
        return not any(self.reach.covers(one.scope, one.visibility) for one in told)

    def bring_up_to_date(self) -> None:
        """Leave what this store has to tell, unless nothing has happened since the last time."""
        facts = self._ledger.part("served").setdefault(self._name, {})
        if facts.get("now") != self._now():
            if own := self._call.engine.replica():
                self.place.introduce(Card(own, self._ledger.key.public, self._call.syncing.device))
            self._exchange().run()
            facts["now"] = self._now()

    def _now(self) -> list[int]:
        """What moves when something happens: the last event, and how many files there are."""
        return [last_event(self._call), sum(1 for _ in self.place.files())]

    def index(self) -> Iterator[Listed]:
        """Every file with its mark; one that was changed gets a new mark.

        Marks are moments, in milliseconds, and go on by one where that is later: who has pulled before this folder
        was lost, or was restored from an older copy, is told all that came since.
        """
        facts = self._ledger.part("served").setdefault(self._name, {})
        known: dict[str, list[Any]] = facts.setdefault("files", {})
        moment = int(self._call.now.timestamp() * 1000)
        for name in self.place.files():
            stamp = self.place.stamp(name)
            if name not in known or known[name][2] != stamp:
                facts["at"] = max(facts.get("at", 0) + 1, moment)
                known[name] = [facts["at"], chunks.digest(self.place.read(name) or b""), stamp]
            at, sha, _ = known[name]
            yield Listed(name, at, chunks.digest(self.shown(name) or b"") if name.startswith(CARDS) else sha)

    def shown(self, name: str) -> bytes | None:
        """A file as the caller gets it: on a card stands whose the replica is, where it is not the caller's."""
        content = self.place.read(name)
        folder, _, file = name.partition("/")
        if folder != CARDS or content is None:
            return content
        replica = file.removesuffix(".json")
        card = read_card(replica, content)
        known = self._ledger.part("replicas").get(replica, {})
        if card is None or known.get("bound") == self._owner:
            return content
        mine = replica == self._call.engine.replica()
        return print_card(card._replace(you=self._owner) if mine else card._replace(owner=known.get("bound")))

    @property
    def _owner(self) -> str:
        return self._call.caller.owner

    def _exchange(self) -> Exchange:
        """An exchange with these chunks, by the caller's access and in the server's own name."""
        ours = self._call._replace(caller=self._call.caller._replace(actor="server"))
        return Exchange(ours, self._ledger, self.place, self._name, self.reach)


@contextmanager
def _opened(call: Call, scope: str, *, private: bool) -> Iterator[Kept]:
    """What is kept of a scope, while nobody else exchanges with this store."""
    kept = _kept(call, scope, private=private)
    with _waiting_for(call.syncing.ledger()):
        yield kept


def _kept(call: Call, scope: str, *, private: bool) -> Kept:
    """What is kept of a scope, or of the caller's own private part of it."""
    if not call.syncing.folder:
        raise Unavailable("An in-memory store cannot serve sync.", "Serve a store on disk.")
    reach = Reach(Scope.parse(scope), private, shared=not private)
    apart = f"{scope}\x1f{call.caller.owner}" if private else scope
    mark = sha256(apart.encode()).hexdigest()[:32]
    folder = os.path.join(call.syncing.folder, "served")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return Kept(call, call.syncing.ledger(), Place(folder, mark), f"served:{mark}", reach)


@contextmanager
def _waiting_for(ledger: Ledger) -> Iterator[None]:
    """The ledger's lock, after those who had it before."""
    end = time.monotonic() + PATIENCE
    while True:
        lock = ledger.locked()
        try:
            lock.__enter__()
            break
        except Unavailable:
            if time.monotonic() > end:
                raise
            time.sleep(0.02)
    try:
        yield
    finally:
        lock.__exit__(None, None, None)
