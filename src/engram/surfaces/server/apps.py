"""What `engram serve` serves: the page, /v1, MCP and signs of life behind one guard, for one machine or a team."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from mcp.server.lowlevel import Server
from mcp.server.transport_security import RequestBodyLimitMiddleware, TransportSecuritySettings
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse
from starlette.routing import Mount, Route

from engram import __version__
from engram.errors import EngramError, Unavailable
from engram.interop.tools import Profile
from engram.model.caller import UNNAMED, Caller
from engram.model.grants import Grants
from engram.service import Engram
from engram.surfaces.http import routes as http
from engram.surfaces.http.assets import is_upload
from engram.surfaces.http.routes import Opens
from engram.surfaces.mcp.holding import Held
from engram.surfaces.mcp.server import build
from engram.surfaces.server.guard import MOST_BYTES, PAGES, App, Guard
from engram.surfaces.server.identity import Claims, Identity
from engram.surfaces.server.issuer import BadToken, Issuer
from engram.surfaces.server.limits import Limits
from engram.surfaces.server.team import Door
from engram.surfaces.server.telling import CALLER, Counting, Metrics, note
from engram.surfaces.web import app as web
from engram.surfaces.web import local, signing
from engram.surfaces.web.app import Entrance

if TYPE_CHECKING:
    from engram.surfaces.server.serve import Asked
    from engram.wiring.orgs import Orgs


def for_machine(
    held: Held, person: Callable[[], Engram], token: str, profiles: list[Profile], port: int
) -> tuple[Counting, str]:
    """The whole application for one machine, and the path of a link to its page, which works once.

    `person` opens the memory of whoever is at the page.
    """
    metrics, entrance = Metrics(), local.entrance(person, port)
    app = _served(build(held.engram, profiles), _speaker(held), metrics, lambda: held.engram().probe(), entrance)
    return Counting(_bare(Guard(app, token, longer=is_upload)), metrics), local.link_of(entrance.visits)


def for_team(orgs: "Orgs", asked: "Asked", url: str) -> Counting:
    """The whole application for a team: for whoever the provider vouches for.

    Raises:
        Invalid: when a setting cannot be what it says.
    """
    get, metrics = asked.settings.get, Metrics()
    issuer = Issuer(asked.issuer, [asked.audience, url, f"{url}/mcp", f"{url}/v1"])
    issuer.check()

    def opens_key(key: str) -> Caller:
        found = orgs.opened_by(key)
        if found is None:
            raise BadToken("key")
        return found

    def speaks(request: Request) -> Engram:
        caller: Caller = request.scope[CALLER]
        return orgs.engram(caller.org).speaking_for(caller, "http")

    def speaks_to_agent(request: Request) -> Engram:
        caller: Caller = request.scope[CALLER]
        agent = caller._replace(human=False, agent=caller.agent or UNNAMED)
        return orgs.engram(caller.org).speaking_for(agent, "elicitation")

    def ready() -> None:
        orgs.check()
        issuer.ready()

    claims = Claims(*(get(name) for name in ("org_claim", "groups_claim", "workspaces_claim", "person_claim")))
    identity = Identity(
        issuer,
        opens_key,
        claims._replace(scope=get("required_scope")),
        orgs.org,
        Grants.read(get("grants")),
        orgs.serves,
    )
    server = build(lambda: orgs.engram(orgs.org), asked.profiles, speaks=speaks_to_agent, page=f"{url}{PAGES}")
    limits = Limits(get("requests_per_minute"))
    entrance = signing.entrance(
        identity,
        signing.Client(get("oidc_client"), os.environ.get("ENGRAM_OIDC_SECRET", ""), url.rstrip("/")),
        lambda caller: orgs.engram(caller.org).speaking_for(caller, "web"),
        limits,
    )
    app = _served(server, speaks, metrics, ready, entrance, alone=True)
    return Counting(_bare(Door(app, identity, url, limits, is_upload)), metrics)


def _served(
    server: Server[Any],
    speaks: Opens,
    metrics: Metrics,
    ready: Callable[[], object],
    entrance: Entrance,
    *,
    alone: bool = False,
) -> App:
    """What stands behind a guard. With `alone`, requests of MCP stand for themselves: none joins another's."""
    routes = [
        Route("/", _to_the_page),
        Route(PAGES, _to_the_page),
        Mount(PAGES, web.application(entrance)),
        Route("/health", _health),
        Route("/healthz", _health),
        Route("/readyz", _readiness(ready)),
        Route("/metrics", _counters(metrics)),
        Route("/openapi.json", http.openapi),
    ]
    app = server.streamable_http_app(
        # The guard has checked host and origin already, by the stricter rule.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        custom_starlette_routes=cast("list[Route]", routes),
        stateless_http=alone,
    )
    app.add_exception_handler(HTTPException, http.unrouted)
    return _counted(_mounted(http.BASE, http.application(speaks), app))


def _to_the_page(request: Request) -> RedirectResponse:
    del request
    return RedirectResponse(f"{PAGES}/", 307)


def _health(request: Request) -> JSONResponse:
    del request
    return JSONResponse({"status": "ok", "version": __version__})


def _readiness(ready: Callable[[], object]) -> Callable[[Request], JSONResponse]:
    def readiness(request: Request) -> JSONResponse:
        try:
            ready()
        except EngramError as error:
            note(request.scope, error)
            return JSONResponse(error.body(), Unavailable.http_status)
        return JSONResponse({"status": "ready"})

    return readiness


def _counters(metrics: Metrics) -> Callable[[Request], PlainTextResponse]:
    def counters(request: Request) -> PlainTextResponse:
        del request
        return PlainTextResponse(metrics.text(), media_type="text/plain; version=0.0.4")

    return counters


def _bare(app: App) -> App:
    """Every path without a slash at its end, before anybody looks at it; the page's own alone has one.

    A router would send a client to the other form by scheme and host, and only what stands before this port knows
    those.
    """

    async def served(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI
        path = scope.get("path", "")
        if path.endswith("/") and path not in ("/", f"{PAGES}/"):
            scope["path"] = path.rstrip("/") or "/"
        await app(scope, receive, send)

    return served


def _counted(app: App) -> App:
    """The guard goes by what a request says of its length; a body that says nothing is counted as it comes."""
    counted = RequestBodyLimitMiddleware(app, MOST_BYTES)

    async def served(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI
        await (app if is_upload(scope) else counted)(scope, receive, send)  # an upload counts itself

    return served


def _mounted(base: str, inner: App, outer: App) -> App:
    """One application under a path, another everywhere else; a library's own mount lets no line break through."""

    async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI
        if scope["type"] == "http" and scope["path"].startswith(f"{base}/"):
            await inner({**scope, "root_path": scope.get("root_path", "") + base}, receive, send)
        else:
            await outer(scope, receive, send)

    return app


def _speaker(held: Held) -> Opens:
    """Who a request speaks for: the person whose token it carries, unless it says which agent it is."""

    def opens(request: Request) -> Engram:
        agent = request.headers.get("engram-agent", "")
        return held.engram().for_agent(agent) if agent else held.engram().for_person("http")

    return opens
