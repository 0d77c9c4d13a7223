"""Exchanging memories with other stores through a server: the same chunks as in a repository, over HTTP."""

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engram.errors import Conflict, Invalid, NotFound, Unavailable
from engram.model.answers import RemoteList, RemoteRow, Synced
from engram.model.hashing import sha256
from engram.operations import parameters as p
from engram.operations.base import Call, operation
from engram.operations.scopes import scope_named
from engram.rules.carrying import Reach

if TYPE_CHECKING:
    from engram.operations.exchanging import Exchange
    from engram.sync.place import Place
    from engram.sync.server import Server


@operation(
    "POST /v1/remotes", "engram remote add team https://memory.example.com", writes=True, human=True, local=True
)
def remote_add(call: Call, name: p.RemoteName, url: p.RemoteUrl) -> RemoteList:
    """Name a server that keeps chunks for several machines.

    Its token is never said on the command line: it is read from ENGRAM_REMOTE_TOKEN_NAME, or from the private file
    remotes.toml beside your settings, as NAME = "token".
    """
    from engram.sync.server import Server  # noqa: PLC0415 - start-up

    if not re.fullmatch("[a-z0-9][a-z0-9_-]{0,39}", name):
        raise Invalid(f"A remote cannot be called {name!r}.", "Use a short lower-case word, such as team.")
    Server(url, "global", "")
    ledger = call.syncing.ledger()
    with ledger.locked():
        known = ledger.part("remotes")
        if name in known and known[name]["url"] != url:
            raise Conflict(f"{name} is {known[name]['url']}.", "Take another name.")
        known.setdefault(name, {"url": url, "scopes": {}})
    return _listed(call, f"Say what goes there: engram remote enrol {name} SCOPE.")


@operation("GET /v1/remotes", "engram remote list", local=True)
def remote_list(call: Call) -> RemoteList:
    """Show the servers this store exchanges chunks with, and which scopes go there."""
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
) -> RemoteList:
    """Let the shared memories of a scope go to a server and come from there; --private lets all of them."""
    ledger = call.syncing.ledger()
    with ledger.locked():
        scopes = _remote(call, name)["scopes"]
        facts = scopes.setdefault(str(scope_named(call, scope)), {"after": 0})
        facts["private"] = facts.get("private", False) if private is None else private
    return _listed(call, f"Exchange: engram remote push {name}, and engram remote pull {name}.")


@operation("POST /v1/remotes/{name}/push", "engram remote push team", writes=True, human=True, local=True)
def remote_push(call: Call, name: p.RemoteName) -> Synced:
    """Send what is new here to a server; what was broken off goes on with the next push."""
    with call.syncing.ledger().locked():
        done = _summed(call, [_push(call, name, scope) for scope in _scopes(call, name)])
    private = f"Private ones go as well after engram remote enrol {name} SCOPE --private."
    return done._replace(hint=done.hint or (private if done.stayed.get("private") else ""))


@operation("POST /v1/remotes/{name}/pull", "engram remote pull team", writes=True, human=True, local=True)
def remote_pull(call: Call, name: p.RemoteName) -> Synced:
    """Take in what others sent to a server since the last pull."""
    with call.syncing.ledger().locked():
        return _summed(call, [_pull(call, name, scope) for scope in _scopes(call, name)])


@operation("GET /v1/remotes/{name}", "engram remote status team", local=True)
def remote_status(call: Call, name: p.RemoteName) -> RemoteList:
    """Say how far this store and a server are apart."""
    rows = []
    for scope in _scopes(call, name):
        _, place, server = _meeting(call, name, scope)
        theirs = {one.name: one.sha256 for one in server.listed()}
        unsent = sum(_differs(place, file, theirs) for file in place.files())
        new = sum(not place.has(file) for file in theirs)
        dry = _exchange(call, name, scope, place).run(dry=True)
        hint = f"{dry.wrote} events and {unsent} files to send, {new} files to get"
        rows.append(RemoteRow(name, server.shown, (scope,), unsent=dry.wrote + unsent, hint=hint))
    return RemoteList(call.now, tuple(rows))


def _push(call: Call, name: str, scope: str) -> Synced:
    _, place, server = _meeting(call, name, scope)
    done = _exchange(call, name, scope, place).run(take=False)
    theirs = {one.name: one.sha256 for one in server.listed()}
    wanted = [file for file in place.files() if _differs(place, file, theirs)]
    for number, file in enumerate(wanted, 1):
        server.put(file, place.read(file) or b"")
        call.progress(number, len(wanted), "files sent")
    return done._replace(place=f"{name} {server.shown}")


def _differs(place: "Place", file: str, theirs: Mapping[str, str]) -> bool:
    """Whether a server lacks a file, or has it with another content: words can be taken away."""
    return theirs.get(file) != sha256(place.read(file) or b"").hexdigest()


def _pull(call: Call, name: str, scope: str) -> Synced:
    facts, place, server = _meeting(call, name, scope)
    got = 0
    for one in server.listed(facts["after"]):
        if place.is_ours(one.name) and _differs(place, one.name, {one.name: one.sha256}):
            _get(place, server, one.name)
            got += 1
            call.progress(got, 0, "files got")
        facts["after"] = one.at
        call.syncing.ledger().keep()
    return _exchange(call, name, scope, place).run(give=False)._replace(place=f"{name} {server.shown}")


def _get(place: "Place", server: "Server", file: str) -> None:
    content = server.get(file)
    if file.endswith(".payload"):
        place.fewer(file, content)
    else:
        place.write(content, *file.split("/"))


def _meeting(call: Call, name: str, scope: str) -> tuple[dict[str, Any], "Place", "Server"]:
    """What is known of a scope on a remote, the mirror of it here, and the way there."""
    from engram.sync.place import Place  # noqa: PLC0415 - start-up
    from engram.sync.server import Server  # noqa: PLC0415 - start-up

    if not call.syncing.folder:
        raise Unavailable("A store that is kept nowhere has no remote.", "Use a store on disk.")
    remote = _remote(call, name)
    mark = sha256(scope.encode()).hexdigest()[:16]
    mirror = os.path.join(call.syncing.folder, "remotes", name, mark)
    os.makedirs(mirror, mode=0o700, exist_ok=True)
    return remote["scopes"][scope], Place(mirror, ""), Server(remote["url"], scope, call.syncing.secret(name))


def _exchange(call: Call, name: str, scope: str, place: "Place") -> "Exchange":
    from engram.operations.exchanging import Exchange  # noqa: PLC0415 - start-up

    ledger = call.syncing.ledger()
    private = bool(_remote(call, name)["scopes"][scope].get("private"))
    return Exchange(call, ledger, place, f"remote:{name}/{scope}", Reach(scope_named(call, scope), private))


def _remote(call: Call, name: str) -> dict[str, Any]:
    known = call.syncing.ledger().part("remotes")
    if name not in known:
        raise NotFound(f"There is no remote {name!r}.", "Name one: engram remote add NAME URL.")
    found: dict[str, Any] = known[name]
    return found


def _scopes(call: Call, name: str) -> list[str]:
    scopes = list(_remote(call, name)["scopes"])
    if not scopes:
        raise Conflict(f"No scope goes to {name} yet.", f"Say which: engram remote enrol {name} SCOPE.")
    return scopes


def _summed(call: Call, done: list[Synced]) -> Synced:
    """Several scopes told as one."""
    stayed: dict[str, int] = {}
    for one in done:
        for why, count in one.stayed.items():
            stayed[why] = stayed.get(why, 0) + count
    strangers = tuple(dict.fromkeys(each for one in done for each in one.strangers))
    return Synced(
        at=call.now,
        place=done[0].place,
        scope=", ".join(one.scope for one in done),
        wrote=sum(one.wrote for one in done),
        sent=sum(one.sent for one in done),
        read=sum(one.read for one in done),
        applied=sum(one.applied for one in done),
        erased=sum(one.erased for one in done),
        waiting=tuple(each for one in done for each in one.waiting),
        problems=tuple(each for one in done for each in one.problems),
        stayed=stayed,
        strangers=strangers,
        hint="Somebody new: look with engram replicas, then engram replicas accept ID." if strangers else "",
    )


def _listed(call: Call, hint: str = "") -> RemoteList:
    known = call.syncing.ledger().part("remotes")
    rows = tuple(RemoteRow(name, facts["url"], tuple(facts["scopes"])) for name, facts in sorted(known.items()))
    return RemoteList(call.now, rows, hint=hint)
