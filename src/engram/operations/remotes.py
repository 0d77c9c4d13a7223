"""Exchanging memories with other stores through a server: the same chunks as in a repository, over HTTP."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from engram.errors import Conflict, EngramError, Forbidden, Invalid, NotFound, Unavailable
from engram.model.answers_sync import RemoteList, RemoteRow, Synced
from engram.model.hashing import sha256
from engram.model.scope import GLOBAL, Scope
from engram.operations import parameters as p
from engram.operations.base import Call, operation
from engram.operations.scopes import scope_named
from engram.rules.carrying import Reach
from engram.rules.proposals import require_public, require_public_name

GREETING = 5.0
"""Seconds that a server may take to answer to its first token."""

if TYPE_CHECKING:
    from engram.operations.exchanging import Exchange
    from engram.operations.remote_assets import Carried
    from engram.sync.place import Place
    from engram.sync.server import Server


@operation(
    "POST /v1/remotes",
    "engram remote add team https://memory.example.com",
    writes=True,
    adds=True,
    human=True,
    local=True,
)
def remote_add(call: Call, name: p.RemoteName, url: p.RemoteUrl) -> RemoteList:
    """Name a server that keeps chunks for several machines.

    Where it answers, its token is tried.

    The token is never said on the command line: it is read from ENGRAM_REMOTE_TOKEN_NAME, or from the private file
    remotes.toml beside your settings, as NAME = "token"; else engram login has it, where you signed in there.
    """
    from engram.sync.server import Server  # noqa: PLC0415 - start-up

    if not re.fullmatch("[a-z0-9][a-z0-9_-]{0,39}", name):
        raise Invalid(f"A remote cannot be called {name!r}.", "Use a short lower-case word, such as team.")
    require_public_name("name of the remote", name)
    ledger = call.syncing.ledger()
    with ledger.locked():
        known = ledger.part("remotes")
        if name in known and known[name]["url"] != url:
            raise Conflict(f"{name} is {known[name]['url']}.", "Take another name.")
        token = call.syncing.secret(name, url)
        server = Server(url, "global", token, timeout=GREETING)
        require_public_name("remote's address", url, hint="Leave it out, and give the token apart: see --help.")
        hint = _greeting(server, name) if token else f"It has no token yet: engram login {url}, or see --help. "
        call.engine.replica()  # what is noted beside a store is found with it alone: this makes one
        known.setdefault(name, {"url": url, "scopes": {}})
    return _listed(call, f"{hint}Say what goes there: engram remote enrol {name} SCOPE.")


def _greeting(server: "Server", name: str) -> str:
    """Try a token at a server; returns what a person should know of an answer that says nothing about it.

    Raises:
        Unauthenticated: when the server refuses the token.
    """
    try:
        next(server.listed(), None)
    except Forbidden:
        return ""  # it knows the token; global memories are just not this person's to read
    except (Invalid, NotFound, Unavailable) as error:
        return f"{name} is noted, and its token could not be tried. {error.message} "
    return ""


@operation("GET /v1/remotes", "engram remote list", local=True)
def remote_list(call: Call) -> RemoteList:
    """Show the servers this store exchanges with, by scope."""
    return _listed(call)


@operation(
    "POST /v1/remotes/{name}/scopes",
    "engram remote enrol team project:github.com/acme/api",
    writes=True,
    human=True,
    local=True,
)
def remote_enrol(
    call: Call,
    name: p.RemoteName,
    scope: p.RemoteScope,
    *,
    private: p.WithPrivate = None,
    exact: p.ExactScope = False,
) -> RemoteList:
    """Let the memories of a scope go to and come from a server.

    Its shared memories; with --private, all of them. A server knows whole names alone: a short name is told in full
    here, and with --exact it is a whole name itself.
    """
    meant = Scope.parse(scope) if exact else scope_named(call, scope)
    require_public(meant)
    ledger = call.syncing.ledger()
    with ledger.locked():
        scopes = _remote(call, name)["scopes"]
        facts = scopes.setdefault(str(meant), {"after": 0})
        facts["private"] = facts.get("private", False) if private is None else private
    told = (
        ""
        if str(meant) == scope
        else f"{scope} is {meant} here; if the server has one called just so, add --exact. "
    )
    return _listed(call, f"{told}Exchange: engram remote push {name}, and engram remote pull {name}.")


@operation(
    "POST /v1/remotes/{name}/unenrol",
    "engram remote unenrol team project:github.com/acme/api",
    writes=True,
    human=True,
    local=True,
)
def remote_unenrol(call: Call, name: p.RemoteName, scope: p.RemoteScope) -> RemoteList:
    """Let the memories of a scope go to and come from a server no longer.

    What was exchanged stays, here and there.
    """
    with call.syncing.ledger().locked():
        scopes = _remote(call, name)["scopes"]
        known = scope if scope in scopes else str(scope_named(call, scope))
        if known not in scopes:
            raise NotFound(f"{known} does not go to {name}.", "See what does: engram remote list.")
        _leave(call, name, known)
    return _listed(call)


@operation("DELETE /v1/remotes/{name}", "engram remote remove team", writes=True, human=True, local=True)
def remote_remove(call: Call, name: p.RemoteName) -> RemoteList:
    """Exchange with a server no longer.

    What was exchanged stays, here and there, and so does the token.
    """
    ledger = call.syncing.ledger()
    with ledger.locked():
        for scope in list(_remote(call, name)["scopes"]):
            _leave(call, name, scope)
        del ledger.part("remotes")[name]
    return _listed(call)


def _leave(call: Call, name: str, scope: str) -> None:
    """Forget how far an exchange went, and its mirror: nobody would take out of it what is purged later."""
    for apart in (scope, f"{scope} private"):
        if call.syncing.folder:
            import shutil  # noqa: PLC0415 - start-up: it loads what packs archives

            shutil.rmtree(_mirror(call, name, apart), ignore_errors=True)
        call.syncing.ledger().part("places").pop(_place_name(name, apart), None)
    del _remote(call, name)["scopes"][scope]


def _mirror(call: Call, name: str, apart: str) -> str:
    return os.path.join(call.syncing.folder, "remotes", name, sha256(apart.encode()).hexdigest()[:16])


def _place_name(name: str, apart: str) -> str:
    return f"remote:{name}/{apart}"


@operation("POST /v1/remotes/{name}/push", "engram remote push team", writes=True, human=True, local=True)
def remote_push(call: Call, name: p.RemoteName) -> Synced:
    """Send what is new here to a server.

    What was broken off goes on with the next push.
    """
    with call.syncing.ledger().locked():
        done = _with_each(call, name, _meetings(call, name), _push)
    private = f"Private ones go as well after engram remote enrol {name} SCOPE --private."
    return done._replace(hint=done.hint or (private if done.stayed.get("private") else ""))


@operation("POST /v1/remotes/{name}/pull", "engram remote pull team", writes=True, human=True, local=True)
def remote_pull(call: Call, name: p.RemoteName) -> Synced:
    """Take in what others sent to a server since the last pull."""
    with call.syncing.ledger().locked():
        meetings = _meetings(call, name)
        try:
            done = _with_each(call, name, meetings, _pull)
        except EngramError as error:
            _require_known_key(call, meetings, error)
            raise
        _require_known_key(call, meetings)
    return done


@operation("GET /v1/remotes/{name}", "engram remote status team", local=True)
def remote_status(call: Call, name: p.RemoteName) -> RemoteList:
    """Say how far this store and a server are apart."""
    rows = []
    for one in _meetings(call, name):
        other = _other_key(call, one)
        try:
            theirs = {each.name: each.sha256 for each in one.server.listed()}
        except Forbidden as error:
            hint = error.message + (f" It shows another key: {other}." if other else "")
            rows.append(RemoteRow(name, one.server.shown, (one.called,), hint=hint, refused=True))
            continue
        unsent = sum(_differs(one.place, file, theirs) for file in _own_files(call, one))
        new = sum(not one.place.has(file) for file in theirs)
        dry = one.exchange(call).run(dry=True)
        hint = f"events to send: {dry.wrote}; files to send: {unsent}; files to get: {new}"
        hint += f"; it shows another key: {other}" if other else ""
        rows.append(RemoteRow(name, one.server.shown, (one.called,), unsent=dry.wrote + unsent, hint=hint))
    return RemoteList(call.now, tuple(rows))


class Meeting(NamedTuple):
    """One scope on a remote, or the private part of one: what is known of it, its mirror, and the way there."""

    facts: dict[str, Any]
    place: "Place"
    server: "Server"
    name: str
    reach: Reach
    apart: frozenset[str] = frozenset()  # what goes to the same server a way of its own, and so does not stay home

    @property
    def called(self) -> str:
        """What it is called in answers."""
        return f"{self.reach.scope}{'' if self.reach.shared else ' (private)'}"

    def exchange(self, call: Call) -> "Exchange":
        """An exchange between the store and the mirror."""
        from engram.operations.exchanging import Exchange  # noqa: PLC0415 - start-up

        return Exchange(call, call.syncing.ledger(), self.place, self.name, self.reach, served=True)

    def told(self, done: Synced, carried: "Carried") -> Synced:
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
    from engram.operations.remote_assets import give  # noqa: PLC0415 - start-up

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


def _differs(place: "Place", file: str, theirs: Mapping[str, str]) -> bool:
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
    from engram.operations.remote_assets import take  # noqa: PLC0415 - start-up

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
    from engram.operations.replicas import Replicas  # noqa: PLC0415 - start-up
    from engram.sync.keys import fingerprint  # noqa: PLC0415 - start-up

    met = Replicas(call.syncing.ledger(), call.caller.owner)
    servers = (card for card in one.place.cards().values() if card.you is not None)
    return next((fingerprint(card.key) for card in servers if not met.accepts(card)), "")


def _get(one: Meeting, file: str) -> None:
    content = one.server.get(file)
    if file.endswith(".payload"):
        one.place.fewer(file, content)
    else:
        one.place.write(content, *file.split("/"))


def _meetings(call: Call, name: str) -> list[Meeting]:
    """Every scope that goes to a remote; where private memories do too, they go a way of their own."""
    scopes = _remote(call, name)["scopes"]
    if not scopes:
        raise Conflict(f"No scope goes to {name} yet.", f"Say which: engram remote enrol {name} SCOPE.")
    return [
        _meeting(call, name, scope, private=private)
        for scope, facts in scopes.items()
        for private in ((False, True) if facts.get("private") else (False,))
    ]


def _meeting(call: Call, name: str, scope: str, *, private: bool) -> Meeting:
    from engram.sync.place import Place  # noqa: PLC0415 - start-up
    from engram.sync.server import Server  # noqa: PLC0415 - start-up

    if not call.syncing.folder:
        raise Unavailable("A store that is kept nowhere has no remote.", "Use a store on disk.")
    remote = _remote(call, name)
    apart = f"{scope} private" if private else scope
    mirror = _mirror(call, name, apart)
    os.makedirs(mirror, mode=0o700, exist_ok=True)
    server = Server(remote["url"], scope, call.syncing.secret(name, remote["url"]), private=private)
    # It was told in full when it was enrolled: read anew, it might mean a project that came to be known since.
    reach = Reach(Scope.parse(scope), private, shared=not private)
    facts = remote["scopes"][scope]
    ways = {"private": bool(facts.get("private")), "global": str(GLOBAL) in remote["scopes"]}
    others = frozenset(why for why, goes in ways.items() if goes)
    return Meeting(facts, Place(mirror, ""), server, _place_name(name, apart), reach, others)


def _remote(call: Call, name: str) -> dict[str, Any]:
    known = call.syncing.ledger().part("remotes")
    if name not in known:
        raise NotFound(f"There is no remote {name!r}.", "Name one: engram remote add NAME URL.")
    found: dict[str, Any] = known[name]
    return found


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
    from engram.operations.replicas import Replicas  # noqa: PLC0415 - start-up

    servers = Replicas(call.syncing.ledger(), call.caller.owner).servers()
    if servers:
        return (
            f"Compare the server's fingerprint, {servers[0]}, with what engram replicas shows there, then:"
            f" engram replicas accept {servers[0]} --confirm. It stands for whom it let in."
        )
    return "Somebody new: look with engram replicas, then engram replicas accept ID --confirm."


def _listed(call: Call, hint: str = "") -> RemoteList:
    known = call.syncing.ledger().part("remotes")
    rows = tuple(RemoteRow(name, facts["url"], tuple(facts["scopes"])) for name, facts in sorted(known.items()))
    return RemoteList(call.now, rows, hint=hint)
