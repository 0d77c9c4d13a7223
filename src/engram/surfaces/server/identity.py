"""Who a request speaks for: a caller, made from what a provider or a key vouches for and from nothing else."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from engram.errors import EngramError, Forbidden, Invalid
from engram.model.caller import Caller
from engram.model.grants import Grants
from engram.model.limits import check_text
from engram.model.scope import Scope
from engram.surfaces.server.issuer import BadToken, Issuer

READ, WRITE = SCOPES = ("engram:read", "engram:write")
KEY = "egk."
"""What every API key begins with, and no token does."""

OpensKey = Callable[[str], Caller]
"""The caller of a key; Unauthenticated where it opens nothing."""


class Claims(NamedTuple):
    """Which claims of a token mean what; "" where nothing is looked at."""

    org: str = ""
    groups: str = "groups"
    workspaces: str = ""  # on where it names a claim: then all is within one of them, and outside them all else
    person: str = ""  # a claim that only tokens of people have
    scope: str = ""  # a scope that every token must have


class Denied(Forbidden):
    """The credentials are good, and open nothing here. It never says why, but to the server's own log."""

    def __init__(self, why: str) -> None:
        super().__init__(
            "These credentials do not open this.",
            "Ask whoever runs this memory what they open. Where they open several workspaces, the header"
            " Engram-Workspace names one.",
        )
        self.why = why


class Identity(NamedTuple):
    """How callers are told apart on one server."""

    issuer: Issuer
    opens_key: OpensKey
    claims: Claims = Claims()
    org: str = "default"
    grants: Grants = Grants({})
    serves: Callable[[str], bool] = bool  # whether an org is served here

    def caller(self, credentials: str, headers: Mapping[str, str]) -> Caller:
        """Who speaks, by a bearer token or a key, and by what its headers say of the agent and the workspace.

        Raises:
            Unauthenticated: when the credentials are bad, whatever is wrong with them.
            Denied: when they are good and not for this.
            Unavailable: when nobody can tell now.
            Invalid: when a header cannot be what it says.
        """
        if credentials.startswith(KEY):
            caller = self.opens_key(credentials)
            roles, grants = self.grants.of(_names({"sub": caller.owner}, ""))
            own = [] if caller.workspace is None else [caller.workspace]
        else:
            told = self.issuer.claims(credentials)
            caller = self._spoken_for(told)
            roles, grants = self.grants.of(_names(told, self.claims.groups))
            own = _words(told.get(self.claims.workspaces)) if self.claims.workspaces else []
        if not self.serves(caller.org):
            raise Denied("org")
        caller = caller._replace(roles=roles, grants=grants, workspace=self._stands_in(own, headers))
        return _as_agent(caller, headers.get("engram-agent", ""))

    def _stands_in(self, own: list[str], headers: Mapping[str, str]) -> str:
        """The workspace of a request. Where they are off it is outside them all (""), so that none is opened.

        Raises:
            Denied: when none of its own is meant; where they are off, for a key that was made in one, and for
                whoever asks for one.
        """
        asked = headers.get("engram-workspace", "")
        if self.claims.workspaces:
            return _chosen(own, asked)
        if asked or any(own):
            raise Denied("workspace")
        return ""

    def _spoken_for(self, told: Mapping[str, Any]) -> Caller:
        owner = told.get("sub")
        org = told.get(self.claims.org) if self.claims.org else self.org
        scopes = _words(told.get("scope", told.get("scp")))
        if not isinstance(owner, str) or not owner:
            raise BadToken("subject")
        if not isinstance(org, str) or not org:
            raise Denied("org")
        if self.claims.scope and self.claims.scope not in scopes:
            raise Denied("scope")
        service = _is_service(told, self.claims.person)
        try:
            check_text("name", owner)
            check_text("name", org)
        except EngramError:
            raise Denied("name") from None
        return Caller(
            owner=owner,
            actor=_actor(told),
            org=org,
            agent=owner if service else "",
            human=not service,
            writes=WRITE in scopes or READ not in scopes,
            alone=service,
        )


def _chosen(own: list[str], asked: str) -> str:
    """The workspace a caller stands in: the one it asks for, or the only one it has; never none.

    Raises:
        Denied: when it has not that one, or would have to say which.
    """
    asked = asked or (own[0] if len(own) == 1 else "")
    if not asked or asked not in own:
        raise Denied("workspace")
    try:
        Scope(workspace=asked)
    except Invalid:
        raise Denied("workspace") from None
    return asked


def _as_agent(caller: Caller, name: str) -> Caller:
    """The caller itself, or an agent of that name that speaks for it."""
    if not name:
        return caller
    try:
        Scope("agent", name)
    except Invalid:
        raise Invalid(f"No agent is called {name[:40]!r}.", "Send a plain name as Engram-Agent.") from None
    return caller._replace(human=False, agent=name)


def _words(value: object) -> list[str]:
    """A claim with several values: a list of texts, or one text with spaces between."""
    if isinstance(value, str):
        return value.split()
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _names(told: Mapping[str, Any], groups: str) -> list[str]:
    """What a caller goes by in grants: its subject, its groups, and an address that was verified."""
    names = [told["sub"]]
    if told.get("email_verified") is True and isinstance(told.get("email"), str):
        names.append(told["email"])
    # Nobody becomes a group by being called like one.
    own = [name for name in names if not name.startswith("group:")]
    return [*own, *(f"group:{group}" for group in _words(told.get(groups)))]


def _actor(told: Mapping[str, Any]) -> str:
    """How history names this caller: address, user name or subject, the first there is."""
    emails = () if told.get("email_verified") is False else ("email",)
    for claim in (*emails, "preferred_username", "username", "sub"):
        value = told.get(claim)
        if isinstance(value, str) and value.strip():
            try:
                check_text("name", value)
            except Invalid:
                continue
            return value
    raise BadToken("name")


def _is_service(told: Mapping[str, Any], person: str) -> bool:
    """Whether a program got this token in its own name: by client credentials, however the provider marks them."""
    if person:
        return not told.get(person)
    client = [told[name] for name in ("client_id", "azp", "cid", "appid") if name in told]
    return (
        told["sub"] in client
        or told.get("gty") == "client-credentials"
        or told.get("grant_type") == "client_credentials"
        or told.get("idtyp") == "app"
        or str(told.get("preferred_username", "")).startswith("service-account-")
    )
