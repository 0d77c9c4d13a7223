"""Meeting a server: what goes to it, what comes from it, and how far both are apart. Loaded only where one does."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from engram.errors import Conflict, EngramError, Forbidden, Invalid, NotFound, Unavailable
from engram.model.answers_sync import RemoteRow, Synced
from engram.model.hashing import sha256
from engram.model.scope import GLOBAL, Scope
from engram.operations.base import Call
from engram.operations.exchanging import Exchange
from engram.operations.remote_assets import Carried, give, take
from engram.operations.replicas import Replicas
from engram.operations.syncing import SOMEBODY_NEW
from engram.rules.carrying import Reach
from engram.rules.proposals import require_public_name
from engram.sync.keys import fingerprint
from engram.sync.place import Place
from engram.sync.server import Server

GREETING = 5.0
"""Seconds that a server may take to answer to its first token."""


def greeted(name: str, url: str, token: str) -> str:
    """Try a token at a server; returns what a person should know of an answer that says nothing about it.

    Raises:
        Invalid: when the address is none, or has a credential in it.
        Unauthenticated: when the server refuses the token.
    """
    server = Server(url, "global", token, timeout=GREETING)
    require_public_name("remote's address", url, hint="Leave it out, and give the token apart: see --help.")
    if not token:
        return f"It has no token yet: engram login {url}, or see --help. "
    try:
        next(server.listed(), None)
    except Forbidden:
        return ""  # it knows the token; global memories are just not this person's to read
    except (Invalid, NotFound, Unavailable) as error:
        return f"{name} is noted, and its token could not be tried. {error.message} "
    return ""


def push(call: Call, name: str, remote: Mapping[str, Any]) -> Synced:
    """Send what is new here; `remote` is what is known of the server that goes by this name."""
    return _with_each(call, name, _meetings(call, name, remote), _push)


def pull(call: Call, name: str, remote: Mapping[str, Any]) -> Synced:
    """Take in what others sent since the last time.

    Raises:
        Conflict: when the server shows another key than the one that counts here.
    """
    meetings = _meetings(call, name, remote)
    try:
        done = _with_each(call, name, meetings, _pull)
    except EngramError as error:
        _require_known_key(call, meetings, error)
        raise
    _require_known_key(call, meetings)
    return done


def how_far(call: Call, name: str, remote: Mapping[str, Any]) -> Iterator[RemoteRow]:
    """How far this store and a server are apart, by scope."""
    for one in _meetings(call, name, remote):
        other = _other_key(call, one)
        try:
            theirs = {each.name: each.sha256 for each in one.server.listed()}
        except Forbidden as error:
            hint = error.message + (f" It shows another key: {other}." if other else "")
            yield RemoteRow(name, one.server.shown, (one.called,), hint=hint, refused=True)
            continue
        unsent = sum(_differs(one.place, file, theirs) for file in _own_files(call, one))
        new = sum(not one.place.has(file) for file in theirs)
        dry = one.exchange(call).run(dry=True)
        hint = f"events to send: {dry.wrote}; files to send: {unsent}; files to get: {new}"
        hint += f"; it shows another key: {other}" if other else ""
        yield RemoteRow(name, one.server.shown, (one.called,), unsent=dry.wrote + unsent, hint=hint)


def leave(call: Call, name: str, scope: str) -> None:
    """Forget how far an exchange went, and its mirror: nobody would take out of it what is purged later."""
    for way in (scope, f"{scope} private"):
        if call.syncing.folder:
            shutil.rmtree(_mirror(call, name, way), ignore_errors=True)
        call.syncing.ledger().part("places").pop(_place_name(name, way), None)


def _mirror(call: Call, name: str, apart: str) -> str:
    return os.path.join(call.syncing.folder, "remotes", name, sha256(apart.encode()).hexdigest()[:16])


def _place_name(name: str, apart: str) -> str:
    return f"remote:{name}/{apart}"


class Meeting(NamedTuple):
    """One scope on a remote, or the private part of one: what is known of it, its mirror, and the way there."""

    facts: dict[str, Any]
    place: Place
    server: Server
    name: str
    reach: Reach
    apart: frozenset[str] = frozenset()  # kinds that another meeting exchanges: they do not stay home

    @property
    def called(self) -> str:
        """What it is called in answers."""
        return f"{self.reach.scope}{'' if self.reach.shared else ' (private)'}"

    def exchange(self, call: Call) -> Exchange:
        """An exchange between the store and the mirror."""
        return Exchange(call, call.syncing.ledger(), self.place, self.name, self.reach, served=True)

    def told(self, done: Synced, carried: Carried) -> Synced:
        """What was done, as far as it is of interest: what goes a way of its own does not stay home."""
        stays = done.stayed.items() if self.reach.shared else ()
        stayed = {why: count for why, count in stays if why not in self.apart}
        remote = self.name.partition(":")[2].partition("/")[0]
        done = done._replace(place=f"{remote} {self.server.shown}", scope=self.called, stayed=stayed)
        told = (*done.problems, *carried.problems)
        return done._replace(attachments=carried.number, left_files=0, problems=told)


def _with_each(
    call: Call, name: str, meetings: Sequence[Meeting], work: Callable[[Call, Meeting], Synced]
) -> Synced:
    """Do the work with every scope that the server gives, whichever it refuses.

    Raises:
        Forbidden: after that, where it refused one: it says which and why, and what was done with the others.
    """
    done: list[Synced] = []
    refused: list[Forbidden] = []
    for one in meetings:
        try:
            done.append(work(call, one))
        except Forbidden as error:
            refused.append(error)
    if not refused:
        return _summed(call, done)
    told = " ".join(dict.fromkeys(error.message for error in refused))
    if went := [each for each in done if each.sent or each.files or each.applied or each.attachments]:
        rest = _summed(call, went)
        told += f" {rest.scope} went on: events sent: {rest.sent}; events taken in: {rest.applied}."
    raise Forbidden(told, f"{refused[0].hint} To leave one out: engram remote unenrol {name} SCOPE.")


def _push(call: Call, one: Meeting) -> Synced:
    done = one.exchange(call).run(take=False)
    ours = _own_files(call, one)
    files = _send(call, one, ours)
    others = [file for file in one.place.files() if file not in ours]
    for file in _lacking(one, others):  # what a purge took from them, and what a server lost
        with suppress(Forbidden, Invalid):  # it takes from nobody but the writer, and has taken the purge in
            one.server.put(file, one.place.read(file) or b"")
    given = give(call, one.server, one.reach, one.facts.setdefault("given", {}))
    return one.told(done._replace(files=files), given)


def _own_files(call: Call, one: Meeting) -> list[str]:
    """What this replica itself left in the mirror: others send theirs."""
    own = call.engine.replica()
    return [file for file in one.place.files() if file == f"replicas/{own}.json" or file.startswith(f"{own}/")]


def _send(call: Call, one: Meeting, files: Sequence[str]) -> int:
    """Send what the server lacks; returns how many files that were."""
    wanted = _lacking(one, files)
    for number, file in enumerate(wanted, 1):
        one.server.put(file, one.place.read(file) or b"")
        call.progress(number, len(wanted), "files sent")
    return len(wanted)


def _lacking(one: Meeting, files: Sequence[str]) -> list[str]:
    theirs = {each.name: each.sha256 for each in one.server.listed()} if files else {}
    return [file for file in files if _differs(one.place, file, theirs)]


def _differs(place: Place, file: str, theirs: Mapping[str, str]) -> bool:
    """Whether a server lacks a file, or has it with another content: words can be taken away."""
    return theirs.get(file) != sha256(place.read(file) or b"").hexdigest()


def _pull(call: Call, one: Meeting) -> Synced:
    mark = "after" if one.reach.shared else "private_after"
    got = 0
    for each in one.server.listed(one.facts.get(mark, 0)):
        if one.place.is_ours(each.name) and _differs(one.place, each.name, {each.name: each.sha256}):
            _get(one, each.name)
            got += 1
            call.progress(got, 0, "files got")
        one.facts[mark] = each.at
        call.syncing.ledger().keep()
    done = one.exchange(call).run(give=False)
    return one.told(done, take(call, one.server, one.reach))


def _require_known_key(call: Call, meetings: Sequence[Meeting], error: EngramError | None = None) -> None:
    """Let nobody believe that a pull took everything in while the server's own word does not count.

    `error` is what else went wrong: it is told after that, and hides nothing.

    Raises:
        Conflict: when the server shows another key than the one that counts here.
    """
    for one in meetings:
        if other := _other_key(call, one):
            raise Conflict(
                f"{one.server.shown} shows another key than the one you know: what it says was not taken in."
                f"{f' {error.message}' if error else ''}",
                f"Ask whoever runs it whether its fingerprint is {other} now (engram replicas there), then:"
                f" engram replicas accept {other} --confirm, and pull again."
                f"{f' {error.hint}' if error else ''}",
            ) from error


def _other_key(call: Call, one: Meeting) -> str:
    """The fingerprint of the key that a server shows and that does not count here; "" where its key does."""
    met = Replicas(call.syncing.ledger(), call.caller.owner)
    servers = (card for card in one.place.cards().values() if card.you is not None)
    return next((fingerprint(card.key) for card in servers if not met.accepts(card)), "")


def _get(one: Meeting, file: str) -> None:
    content = one.server.get(file)
    if file.endswith(".payload"):
        one.place.fewer(file, content)
    else:
        one.place.write(content, *file.split("/"))


def _meetings(call: Call, name: str, remote: Mapping[str, Any]) -> list[Meeting]:
    """Every scope that goes to a remote; where private memories do too, they go a way of their own."""
    scopes = remote["scopes"]
    if not scopes:
        raise Conflict(f"No scope goes to {name} yet.", f"Say which: engram remote enrol {name} SCOPE.")
    return [
        _meeting(call, name, remote, scope, private=private)
        for scope, facts in scopes.items()
        for private in ((False, True) if facts.get("private") else (False,))
    ]


def _meeting(call: Call, name: str, remote: Mapping[str, Any], scope: str, *, private: bool) -> Meeting:
    if not call.syncing.folder:
        raise Unavailable("An in-memory store cannot have a remote.", "Use a store on disk.")
    way = f"{scope} private" if private else scope
    mirror = _mirror(call, name, way)
    os.makedirs(mirror, mode=0o700, exist_ok=True)
    server = Server(remote["url"], scope, call.syncing.secret(name, remote["url"]), private=private)
    # It was told in full when it was enrolled: read anew, it might mean a project that came to be known since.
    reach = Reach(Scope.parse(scope), private, shared=not private)
    facts = remote["scopes"][scope]
    ways = {"private": bool(facts.get("private")), "global": str(GLOBAL) in remote["scopes"]}
    others = frozenset(why for why, goes in ways.items() if goes)
    return Meeting(facts, Place(mirror, ""), server, _place_name(name, way), reach, others)


def _summed(call: Call, done: list[Synced]) -> Synced:
    """Several scopes told as one."""
    call.usage.mark("sync", call.now)
    stayed: dict[str, int] = {}
    for one in done:
        for why, count in one.stayed.items():  # every project counts the same global ones
            stayed[why] = max(stayed.get(why, 0), count) if why == "global" else stayed.get(why, 0) + count
    strangers = tuple(dict.fromkeys(each for one in done for each in one.strangers))
    return Synced(
        at=call.now,
        place=done[0].place,
        scope=", ".join(dict.fromkeys(one.scope for one in done)),
        wrote=sum(one.wrote for one in done),
        sent=sum(one.sent for one in done),
        read=sum(one.read for one in done),
        applied=sum(one.applied for one in done),
        uncounted=sum(one.uncounted for one in done),
        held=sum(one.held for one in done),
        erased=sum(one.erased for one in done),
        waiting=tuple(each for one in done for each in one.waiting),
        problems=tuple(each for one in done for each in one.problems),
        stayed=stayed,
        strangers=strangers,
        attachments=sum(one.attachments for one in done),
        files=sum(one.files for one in done),
        hint=_whom_to_accept(call) if strangers else "",
    )


def _whom_to_accept(call: Call) -> str:
    """What a person does about those who are new here: a server stands for everybody whom it let in."""
    servers = Replicas(call.syncing.ledger(), call.caller.owner).servers()
    if servers:
        return (
            f"Compare the server's fingerprint, {servers[0]}, with what engram replicas shows there, then:"
            f" engram replicas accept {servers[0]} --confirm. It stands for whom it let in."
        )
    return SOMEBODY_NEW
