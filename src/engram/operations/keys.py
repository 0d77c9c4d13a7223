"""Keys for programs that use a team's server: made, listed and revoked."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime
from typing import cast

from engram.errors import NotFound
from engram.model.answers_work import KeyRow, Keys, Minted
from engram.model.apikey import WRITE, ApiKey
from engram.model.caller import Caller
from engram.model.change import Change
from engram.model.filter import ANYTHING, Access
from engram.model.hashing import sha256
from engram.model.limits import storable
from engram.operations import parameters as p
from engram.operations.base import Call, each, operation
from engram.ports import Engine
from engram.rules import keys as rules

PREFIX = "egk"
LONGEST = 2048
MOST_LISTED = 1000


@operation(
    "POST /v1/apikeys",
    "engram keys create ci --owner 248289761001",
    "engram keys create ci --can write --days 30",
    "engram keys create ci --owner 248289761001 --workspace team-x",
    writes=True,
    adds=True,
    human=True,
)
def keys_create(
    call: Call,
    name: p.KeyName,
    *,
    can: p.KeyCan = ("read",),
    days: p.KeyDays = 90,
    owner: p.KeyOwner = "",
    workspace: p.KeyWorkspace = "",
) -> Minted:
    """Make a key for a program.

    It is shown once, and stored as a hash. Whoever has it acts for you, as an agent: it reads what you read and, if
    it may write, writes as you. It cannot do what only a person may do, and cannot make keys.
    """
    secret = sha256("".join(call.new_id() for _ in range(4)).encode()).hexdigest()
    abilities = tuple(each(can))

    def decide() -> tuple[Change, None]:
        digest = sha256(secret.encode()).hexdigest()
        change = rules.mint(
            name, call.request(), digest=digest, can=abilities, days=days, owner=owner, workspace=workspace
        )
        return change, None

    commit, _ = call.decide_and_commit(decide)
    made = _key(call, commit.event.subjects[0], owner)
    told = json.dumps([call.caller.org, made.owner, made.id], separators=(",", ":"))
    public = urlsafe_b64encode(told.encode()).decode().rstrip("=")
    return Minted(
        at=call.now,
        key=f"{PREFIX}.{public}.{secret}",
        org=call.caller.org,
        row=_row(made),
        doubt=rules.doubt(call.caller, open_org=call.policy.open_org),
    )


@operation("GET /v1/apikeys", "engram keys list")
def keys_list(call: Call, *, owner: p.KeyOwner = "") -> Keys:
    """Show your keys, the newest first.

    Never the keys themselves. Whoever manages keys sees everybody's.
    """
    access = rules.reached(owner, call.caller)
    found = call.engine.scan("apikey", ANYTHING, access, limit=MOST_LISTED).records
    return Keys(at=call.now, keys=tuple(_row(cast("ApiKey", one)) for one in found))


@operation("POST /v1/apikeys/{key}/revoke", "engram keys revoke key-0001", writes=True, human=True)
def keys_revoke(call: Call, key: p.KeyRef, *, owner: p.KeyOwner = "") -> Keys:
    """End a key, immediately and for good.

    A key that has already ended stays as it is.
    """

    def decide() -> tuple[Change, None]:
        return rules.revoke(_key(call, key, owner), call.request()), None

    if _key(call, key, owner).revoked_at is None:
        call.decide_and_commit(decide)
    return Keys(at=call.now, keys=(_row(_key(call, key, owner)),))


def opened(engine: Engine, key: str, now: datetime) -> Caller | None:
    """Who a key speaks for at this moment; None where it opens nothing. The engine is that of the key's org."""
    from hmac import compare_digest  # noqa: PLC0415 - start-up; for servers only

    try:
        org, owner, id = spelled(key)
    except ValueError:
        return None
    found = engine.get("apikey", [id], Access(owner)).get(id)
    secret = sha256(key.rpartition(".")[2].encode()).hexdigest()
    if not isinstance(found, ApiKey) or not compare_digest(found.digest, secret) or not found.opens(now):
        return None
    return Caller(
        owner=owner,
        actor=f"{found.actor} ({found.name})",
        org=org,
        agent=found.name,
        workspace=found.workspace,
        human=False,
        writes=WRITE in found.can,
        alone=True,
        keyed=True,
    )


def spelled(key: str) -> tuple[str, str, str]:
    """The org, the owner and the id that a key names. It proves none of them.

    Raises:
        ValueError: when it is no key.
    """
    prefix, _, rest = key.partition(".")
    public, dot, _ = rest.partition(".")
    if prefix != PREFIX or not dot or len(key) > LONGEST or not key.isascii():
        raise ValueError("no key")
    try:
        told = json.loads(urlsafe_b64decode(public + "=" * (-len(public) % 4)))
    except RecursionError:
        raise ValueError("no key") from None
    if not isinstance(told, list) or len(told) != 3 or not all(isinstance(one, str) for one in told):
        raise ValueError("no key")
    org, owner, id = told
    if not owner or not all(map(storable, told)):
        raise ValueError("no key")
    return org, owner, id


def _key(call: Call, ref: str, owner: str) -> ApiKey:
    for found in call.engine.get("apikey", [ref.strip()], rules.reached(owner, call.caller)).values():
        if isinstance(found, ApiKey):
            return found
    raise NotFound(f"There is no key {ref!r}.", "See which there are: engram keys list.")


def _row(key: ApiKey) -> KeyRow:
    return KeyRow(
        handle=key.handle,
        name=key.name,
        can=key.can,
        owner=key.owner or "",
        workspace=key.workspace,
        created_at=key.created_at,
        expires_at=key.expires_at,
        revoked_at=key.revoked_at,
    )
