"""The way in to a team's page: signing in with its provider, by code and PKCE."""

import base64
import hashlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.parse import urlencode

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from engram.errors import EngramError, Unauthenticated, Unavailable
from engram.model.caller import Caller
from engram.service import Engram
from engram.surfaces.server.fetching import checked_url, discovery_of, document, exchange, trouble_with
from engram.surfaces.server.identity import SCOPES, Denied, Identity
from engram.surfaces.server.limits import Limits, throttled
from engram.surfaces.server.team import origin_of
from engram.surfaces.server.telling import note
from engram.surfaces.web.app import Cookie, Entrance, onward
from engram.surfaces.web.frame import BASE, HEADERS, templates
from engram.surfaces.web.visits import Visit, Visits

LASTS = 8 * 3600.0
"""Seconds that somebody stays signed in: so long what a provider said of them is believed."""

PATIENCE = 600
"""Seconds that signing in may take."""

MOST_UNDER_WAY = 1000
STATE = "engram-login"
HOME = f"{BASE}/login"


class Client(NamedTuple):
    """How the provider knows this page, and the address at which others reach it."""

    id: str
    secret: str
    url: str

    @property
    def returns(self) -> str:
        """Where the provider sends people back to."""
        return f"{self.url}{HOME}/done"


class _Begun(NamedTuple):
    """Somebody who is at the provider now."""

    verifier: str
    workspace: str
    until: float


class Login:
    """Sends people to the provider, and takes what they bring back. Safe to use from several threads."""

    def __init__(self, identity: Identity, client: Client) -> None:
        self._identity, self._client = identity, client
        self._begun: OrderedDict[str, _Begun] = OrderedDict()

    def begin(self, workspace: str) -> tuple[str, str]:
        """The address at the provider, and the state that only this browser is told.

        Raises:
            Unavailable: when the provider does not answer.
        """
        where = self._endpoint("authorization_endpoint")
        state, verifier = secrets.token_urlsafe(32), secrets.token_urlsafe(64)
        self._begun[state] = _Begun(verifier, workspace, time.monotonic() + PATIENCE)
        while len(self._begun) > MOST_UNDER_WAY:
            self._begun.popitem(last=False)
        digest = hashlib.sha256(verifier.encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": self._client.id,
            "redirect_uri": self._client.returns,
            "scope": f"openid {' '.join(SCOPES)}",
            "resource": self._client.url,
            "state": state,
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        return f"{where}?{urlencode(asked)}", state

    def end(self, said: Mapping[str, str], state: str) -> Caller:
        """Who came back, by the same rules as for every token.

        Raises:
            Unauthenticated: when it is not who went, or the provider refused.
            Denied: when it is nobody who may be here.
            Unavailable: when the provider does not answer.
        """
        begun = self._begun.pop(state, None) if state and said.get("state") == state else None
        wrong = said.get("iss") not in (None, self._identity.issuer.url)
        if begun is None or begun.until < time.monotonic() or wrong or not said.get("code"):
            raise Unauthenticated("Signing in did not work.", "Try again; it must end in the browser it began in.")
        token = self._token(said["code"], begun.verifier)
        caller = self._identity.caller(token, {"engram-workspace": begun.workspace})
        if not caller.human:  # what a program may do, it does elsewhere
            raise Denied("not a person")
        return caller

    def _token(self, code: str, verifier: str) -> str:
        asked = {
            "grant_type": "authorization_code",
            "client_id": self._client.id,
            "code": code,
            "redirect_uri": self._client.returns,
            "code_verifier": verifier,
            "resource": self._client.url,
        }
        if self._client.secret:
            asked["client_secret"] = self._client.secret
        status, told = self._reached(partial(exchange, self._endpoint("token_endpoint"), asked))
        if status != 200 or not isinstance(told.get("access_token"), str):
            raise Unauthenticated("The provider gave no token.", "Try again, or ask who runs this memory.")
        return str(told["access_token"])

    def _endpoint(self, name: str) -> str:
        issuer = self._identity.issuer.url
        told = self._reached(partial(document, discovery_of(issuer)))
        if told.get("issuer") != issuer or not told.get(name):
            raise Unavailable("The identity provider cannot sign people in to a page.", "Ask who runs this memory.")
        return checked_url(str(told[name]), "The provider")

    def _reached(self, ask: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever was asked for
        try:
            return ask()
        except (OSError, HTTPException, ValueError) as error:
            raise Unavailable(*trouble_with(self._identity.issuer.url, error)) from None


DENIED = "Ask whoever runs this memory what they open."
WHICH = " Where they open several workspaces, say below which one."
"""What somebody is told whom the provider knows and nothing here is open to."""


def entrance(identity: Identity, client: Client, opens: Callable[[Caller], Engram], limits: Limits) -> Entrance:
    """The entrance of a team's server."""
    secure = client.url.startswith("https://")
    visits, cookie, login = Visits(LASTS), Cookie("engram", secure), Login(identity, client)
    workspaces = bool(identity.claims.workspaces)

    def page(error: EngramError | None = None, status: int = 200) -> Response:
        hint = error.hint if error else ""
        if isinstance(error, Denied):  # its own words are for programs, which send headers
            hint = DENIED + (WHICH if workspaces else "")
        text = templates().get_template("login.html").render(error=error, hint=hint, workspaces=workspaces)
        return HTMLResponse(text, status, HEADERS)

    async def ask(request: Request) -> Response:
        del request
        return page()

    async def go(request: Request) -> Response:
        _take(limits, request)
        where, state = await anyio.to_thread.run_sync(login.begin, request.query_params.get("workspace", ""))
        answer = onward(where)
        # Coming back from the provider is coming from elsewhere: a strict cookie would stay at home.
        answer.set_cookie(STATE, state, PATIENCE, path=HOME, secure=secure, httponly=True, samesite="lax")
        return answer

    async def done(request: Request) -> Response:
        _take(limits, request)
        said, state = dict(request.query_params), request.cookies.get(STATE, "")
        try:
            caller = await anyio.to_thread.run_sync(login.end, said, state)
        except (Unauthenticated, Denied) as error:
            note(request.scope, error)
            return page(error, error.http_status)
        answer = cookie.welcome(visits.begin(caller))
        answer.delete_cookie(STATE, path=HOME)
        return answer

    def opened(visit: Visit) -> Engram:
        assert visit.caller is not None
        if wait := limits.take(f"caller {visit.caller.org}\x1f{visit.caller.owner}"):
            raise throttled(wait)
        return opens(visit.caller)

    return Entrance(
        visits,
        cookie,
        origin=lambda _: origin_of(client.url),
        opens=opened,
        stranger=lambda error: page(None, error.http_status),
        way="Load it again, and sign in.",
        routes=(Route("/login", ask), Route("/login/go", go), Route("/login/done", done)),
        signs_out=True,
    )


def _take(limits: Limits, request: Request) -> None:
    if wait := limits.take(f"address {request.client.host if request.client else ''}"):
        raise throttled(wait)
