"""Exchanging memories with other stores through a server: the same chunks as in a repository, over HTTP."""

import re
from typing import Any

from engram.errors import Conflict, Invalid, NotFound
from engram.model.answers_sync import RemoteList, RemoteRow, Synced
from engram.model.scope import Scope
from engram.operations import parameters as p
from engram.operations.base import Call, operation
from engram.operations.scopes import scope_named
from engram.rules.proposals import require_public, require_public_name


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

    If the server is reachable, its token is tested.

    The token is never given on the command line: it is read from ENGRAM_REMOTE_TOKEN_NAME, or from the private file
    remotes.toml beside your settings, as NAME = "token", or is the one `engram login` got when you signed in there.
    """
    from engram.operations.meeting import greeted  # noqa: PLC0415 - start-up

    if not re.fullmatch("[a-z0-9][a-z0-9_-]{0,39}", name):
        raise Invalid(f"A remote cannot be called {name!r}.", "Use a short lower-case word, such as team.")
    require_public_name("name of the remote", name)
    ledger = call.syncing.ledger()
    with ledger.locked():
        known = ledger.part("remotes")
        if name in known and known[name]["url"] != url:
            raise Conflict(f"{name} is {known[name]['url']}.", "Take another name.")
        hint = greeted(name, url, call.syncing.secret(name, url))
        call.engine.replica()  # what is noted beside a store is found with it alone: this makes one
        known.setdefault(name, {"url": url, "scopes": {}})
    return _listed(call, f"{hint}Say what goes there: engram remote enrol {name} SCOPE.")


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
    """Exchange the memories of a scope with a server from now on.

    Its shared memories; with --private, all of them. A server knows only full names: a short name is expanded here,
    unless --exact says that it is a full name itself.
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
    """Stop exchanging the memories of a scope with a server.

    What was exchanged stays, here and there.
    """
    from engram.operations.meeting import leave  # noqa: PLC0415 - start-up

    with call.syncing.ledger().locked():
        scopes = _remote(call, name)["scopes"]
        known = scope if scope in scopes else str(scope_named(call, scope))
        if known not in scopes:
            raise NotFound(f"{known} does not go to {name}.", "See what does: engram remote list.")
        leave(call, name, known)
        del scopes[known]
    return _listed(call)


@operation("DELETE /v1/remotes/{name}", "engram remote remove team", writes=True, human=True, local=True)
def remote_remove(call: Call, name: p.RemoteName) -> RemoteList:
    """Stop exchanging with a server.

    What was exchanged stays, here and there, and so does the token.
    """
    from engram.operations.meeting import leave  # noqa: PLC0415 - start-up

    ledger = call.syncing.ledger()
    with ledger.locked():
        for scope in _remote(call, name)["scopes"]:
            leave(call, name, scope)
        del ledger.part("remotes")[name]
    return _listed(call)


@operation("POST /v1/remotes/{name}/push", "engram remote push team", writes=True, human=True, local=True)
def remote_push(call: Call, name: p.RemoteName) -> Synced:
    """Send what is new here to a server.

    An interrupted push resumes with the next one.
    """
    from engram.operations.meeting import push  # noqa: PLC0415 - start-up

    with call.syncing.ledger().locked():
        done = push(call, name, _remote(call, name))
    private = f"Private ones go as well after engram remote enrol {name} SCOPE --private."
    return done._replace(hint=done.hint or (private if done.stayed.get("private") else ""))


@operation("POST /v1/remotes/{name}/pull", "engram remote pull team", writes=True, human=True, local=True)
def remote_pull(call: Call, name: p.RemoteName) -> Synced:
    """Take in what others sent to a server since the last pull."""
    from engram.operations.meeting import pull  # noqa: PLC0415 - start-up

    with call.syncing.ledger().locked():
        return pull(call, name, _remote(call, name))


@operation("GET /v1/remotes/{name}", "engram remote status team", local=True)
def remote_status(call: Call, name: p.RemoteName) -> RemoteList:
    """Say how far this store and a server are apart."""
    from engram.operations.meeting import how_far  # noqa: PLC0415 - start-up

    return RemoteList(call.now, tuple(how_far(call, name, _remote(call, name))))


def _remote(call: Call, name: str) -> dict[str, Any]:
    known = call.syncing.ledger().part("remotes")
    if name not in known:
        raise NotFound(f"There is no remote {name!r}.", "Name one: engram remote add NAME URL.")
    found: dict[str, Any] = known[name]
    return found


def _listed(call: Call, hint: str = "") -> RemoteList:
    known = call.syncing.ledger().part("remotes")
    rows = tuple(RemoteRow(name, facts["url"], tuple(facts["scopes"])) for name, facts in sorted(known.items()))
    return RemoteList(call.now, rows, hint=hint)
