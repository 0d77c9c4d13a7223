"""Keys for programs: who may have one made, what it is, and that none makes another."""

from datetime import datetime, timedelta

from engram.errors import Forbidden, Invalid
from engram.model.apikey import READ, ApiKey
from engram.model.caller import ADMIN, Caller
from engram.model.change import Change, Request
from engram.model.filter import Access
from engram.model.record import replace
from engram.model.scope import Scope
from engram.rules.access import require_person
from engram.rules.changes import Step, compose
from engram.rules.proposals import require_public, require_public_name

LONGEST_DAYS = 366


def mint(
    name: str,
    request: Request,
    *,
    digest: str,
    can: tuple[str, ...],
    days: int,
    owner: str = "",
    workspace: str = "",
) -> Change:
    """A new key for its caller, where that one stands; or by the operator of a store for somebody, somewhere.

    Raises:
        Forbidden: to a key, an agent, and to whoever asks for another's or for another workspace.
        Invalid: when nobody would own it, no workspace can be called so, a name holds a credential, or it would
            never end.
    """
    caller = request.caller
    require_person(request, "make a key")
    if caller.keyed:
        raise Forbidden("A key cannot create other keys.", "Make it as a person.")
    if owner and caller.owner and owner != caller.owner:
        raise Forbidden("A key is for whoever makes it.", "Leave the owner out.")
    if workspace and caller.owner and workspace != caller.workspace:
        raise Forbidden("A key is for the workspace it is made in.", "Leave the workspace out, or go to that one.")
    require_public(Scope(workspace=workspace))
    require_public_name("name of the key", name)
    require_public_name("name of the owner", owner)
    if not (whose := caller.owner or owner):
        raise Invalid("A key needs an owner.", "Name the subject it speaks for: --owner SUBJECT.")
    if not 1 <= days <= LONGEST_DAYS:
        raise Invalid(
            f"A key lasts from 1 to {LONGEST_DAYS} days, not {days}.",
            "Choose a number in between, and make a new key before it ends.",
        )
    made = ApiKey(
        id=request.fresh,
        name=name,
        digest=digest,
        can=tuple(dict.fromkeys((READ, *can))),
        owner=whose,
        actor=caller.actor or whose,
        workspace=caller.workspace or workspace or None,
        created_at=request.now,
        expires_at=request.now + timedelta(days=days),
    )
    return compose("key", request, [Step(None, made)])


def doubt(caller: Caller, *, open_org: bool) -> str:
    """A warning when the key's org was only the default, in a store where tokens name orgs; "" where it was not."""
    if not open_org or caller.owner:
        return ""
    return f"Tokens name orgs here (org_claim), and maybe none is of {caller.org}: say which one, ENGRAM_ORG=NAME."


def revoke(key: ApiKey, request: Request) -> Change:
    """The end of a key, at once and for good."""
    require_person(request, "revoke a key")
    ended = replace(key, revoked_at=_not_before(key, request.now), revision=key.revision + 1)
    return compose("revoke", request, [Step(key, ended)])


def reached(owner: str, caller: Caller) -> Access:
    """Whose keys are meant: one's own; another's or everybody's for an admin of the org and the store's operator.

    Raises:
        Forbidden: for anyone else who names another.
    """
    looks_after = not caller.owner or ADMIN in caller.roles
    if owner and owner != caller.owner and not looks_after:
        raise Forbidden("These keys are somebody else's.", "Leave the owner out.")
    return Access(owner or caller.owner, keyring=looks_after and not owner)


def _not_before(key: ApiKey, now: datetime) -> datetime:
    return max(now, key.created_at)
