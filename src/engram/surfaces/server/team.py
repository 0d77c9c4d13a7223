"""The door of a team's server: who speaks, and how much, before anything else reads a request."""

from collections.abc import Callable, MutableMapping
from functools import partial
from typing import Any

import anyio.to_thread

from engram.errors import EngramError, Forbidden, Throttled, Unauthenticated
from engram.model.caller import Caller
from engram.surfaces.server.guard import (
    METADATA,
    MOST_BYTES,
    OPEN,
    App,
    Unframed,
    check_framing,
    check_length,
    is_page,
    never,
    say,
)
from engram.surfaces.server.identity import SCOPES, Denied, Identity
from engram.surfaces.server.issuer import BadToken, NoToken
from engram.surfaces.server.limits import Limits, throttled
from engram.surfaces.server.telling import CALLER, note

Scope = MutableMapping[str, Any]


class Door:
    """An ASGI application that lets a request through to another with its caller, or refuses it."""

    def __init__(
        self, app: App, identity: Identity, url: str, limits: Limits, longer: Callable[[Any], bool] = never
    ) -> None:
        """Stand before an application. What is `longer` brings so many bytes that it counts them itself."""
        self._app, self._identity, self._url, self._limits = app, identity, url.rstrip("/"), limits
        self._longer = longer

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI
        """Check one request before anything else reads it."""
        if scope["type"] == "websocket":  # nothing of ours speaks it, and what is not checked is not let in
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        try:
            check_framing(headers)
            if (document := self._metadata(scope["path"])) is not None:
                await say(send, 200, document, cache_control="public, max-age=3600")
                return
            self._check_origin(headers)
            if scope["path"] not in OPEN and not is_page(scope):
                scope[CALLER] = await self._caller(scope, headers)
            if not self._longer(scope):
                check_length(headers.get("content-length", "0"), MOST_BYTES)
        except EngramError as error:
            note(scope, error)
            await say(send, error.http_status, error.body(), **self._challenge(error))
            return
        await self._app(scope, receive, send)

    async def _caller(self, scope: Scope, headers: dict[str, str]) -> Caller:
        """Who speaks, within its limit; those who are refused have one too, by their address."""
        stranger = f"address {(scope.get('client') or ('', 0))[0]}"
        try:
            scheme, _, credentials = headers.get("authorization", "").partition(" ")
            if "authorization" not in headers:
                raise NoToken
            if scheme.lower() != "bearer" or not credentials.strip():
                raise BadToken("none given")
            look = partial(self._identity.caller, credentials.strip(), headers)
            caller = await anyio.to_thread.run_sync(look)
        except (Unauthenticated, Denied):
            if wait := self._limits.take(stranger):
                raise throttled(wait) from None
            raise
        if wait := self._limits.take(f"caller {caller.org}\x1f{caller.owner}"):
            raise throttled(wait)
        return caller

    def _check_origin(self, headers: dict[str, str]) -> None:
        origin = headers.get("origin")
        if origin is not None and origin != origin_of(self._url):
            raise Forbidden("Pages of other sites may not read this memory.", "Call it from a program instead.")

    def _metadata(self, path: str) -> dict[str, Any] | None:
        """What RFC 9728 has a client find: which resource this is, and who gives tokens for it."""
        if path not in METADATA:
            return None
        return {
            "resource": self._url + path.removeprefix(METADATA[0]),
            "authorization_servers": [self._identity.issuer.url],
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
            "resource_name": "Engram",
        }

    def _challenge(self, error: EngramError) -> dict[str, str]:
        """The headers that OAuth and MCP ask for beside an error: the same for every reason."""
        where = f'resource_metadata="{self._url}{METADATA[0]}/mcp"'
        scopes = f'scope="{self._identity.claims.scope or " ".join(SCOPES)}"'
        if isinstance(error, Unauthenticated):
            # Without credentials nothing was wrong with them, and no error is named: RFC 6750, 3.1.
            wrong = "" if isinstance(error, NoToken) else 'error="invalid_token", '
            return {"www_authenticate": f'Bearer realm="engram", {wrong}{where}, {scopes}'}
        if isinstance(error, Denied):
            return {"www_authenticate": f'Bearer realm="engram", error="insufficient_scope", {where}, {scopes}'}
        if isinstance(error, Unframed):  # what comes after it on this connection is nobody's request
            return {"connection": "close"}
        return {"retry_after": str(error.wait)} if isinstance(error, Throttled) else {}


def origin_of(url: str) -> str:
    """What a browser calls the pages at an address: its scheme, host and port."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"
