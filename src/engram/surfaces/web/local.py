"""The way in to the page of one's own machine: a link that works once, printed where only its owner reads it."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from engram.service import Engram
from engram.surfaces.web.app import Cookie, Entrance, bare
from engram.surfaces.web.frame import BASE
from engram.surfaces.web.visits import Visits

LASTS = 30 * 24 * 3600.0
"""Seconds that a visit lasts; it ends with the server in any case."""


def entrance(engram: Callable[[], Engram], port: int) -> Entrance:
    """The entrance of a server at this port, to the memory of whoever has a link."""
    again = f"engram serve --link --port {port}"
    visits, cookie = Visits(LASTS, again=again), Cookie(f"engram-{port}")

    async def enter(request: Request) -> Response:
        return cookie.welcome(visits.enter(request.query_params.get("key", "")))

    async def link(request: Request) -> Response:
        """A new link for whoever has the token of this machine: the guard asks for it, and takes no cookie."""
        del request
        return JSONResponse({"path": link_of(visits)}, headers={"Cache-Control": "no-store"})

    return Entrance(
        visits,
        cookie,
        origin=_origin,
        opens=lambda _: engram(),
        stranger=bare,
        way=f"Come in by a link: {again}.",
        routes=(Route("/enter", enter), Route("/link", link, methods=["POST"])),
    )


def _origin(request: Request) -> str:
    """This machine by the name that the browser used; the guard has looked that it is one."""
    return f"http://{request.headers.get('host', '')}"


def link_of(visits: Visits) -> str:
    """The path of a new link, which works once."""
    return f"{BASE}/enter?key={visits.link()}"
