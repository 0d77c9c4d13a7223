"""The page as an application: its routes, who is let in to them, and what becomes of errors."""

import logging
import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from engram.errors import EngramError, Forbidden, Invalid, NotFound, Unauthenticated
from engram.service import Engram
from engram.surfaces.server.telling import CALLER, route_of
from engram.surfaces.web import (
    cited,
    conflicts,
    graph,
    health,
    history,
    inbox,
    memory,
    next_session,
    search,
    stats,
    timeline,
)
from engram.surfaces.web.frame import BASE, HEADERS, STATIC, Asked, Look, Page, noted, templates
from engram.surfaces.web.visits import Visit, Visits

log = logging.getLogger("engram.web")

PARTS = (inbox, conflicts, memory, search, timeline, graph, cited, next_session, health, stats, history)
"""The modules that have pages: each names its TABS and its PAGES."""

FOR_GOOD = "public, max-age=31536000, immutable"
MOST_FIELDS = 5000


class Cookie(NamedTuple):
    """What a browser keeps of a visit. It goes to the page alone, from the page alone, and no script reads it."""

    name: str  # servers on one machine share a host, and must not share a cookie
    secure: bool = False  # whether it goes over TLS only

    def welcome(self, visit: Visit) -> Response:
        """Give somebody their cookie, and let them go on.

        A browser that was led here from elsewhere sends no strict cookie along a redirect; from a page it does.
        """
        answer = onward(f"{BASE}/")
        answer.set_cookie(self.name, visit.key, path=BASE, secure=self.secure, httponly=True, samesite="strict")
        return answer


class Entrance(NamedTuple):
    """How one server lets people in to its page."""

    visits: Visits
    cookie: Cookie
    origin: Callable[[Request], str]  # the only origin whose forms are taken
    opens: Callable[[Visit], Engram]  # the memory of somebody who came in; may refuse
    stranger: Callable[[EngramError], Response]  # what is shown to everybody else
    way: str  # how somebody comes in who has not
    routes: tuple[Route, ...] = ()  # by which one comes in
    signs_out: bool = False  # whether people leave again, as on a machine that is not their own

    def visit(self, request: Request) -> Visit:
        """Who sent a request.

        Raises:
            Unauthenticated: when nobody who came in did.
        """
        found = self.visits.find(request.cookies.get(self.cookie.name, ""))
        if found is None:
            raise Unauthenticated("This page is closed.", self.way)
        return found


def onward(url: str) -> Response:
    """A page that leads on to another at once."""
    text = templates().get_template("onward.html").render(url=url)
    return HTMLResponse(text, headers={**HEADERS, "Refresh": f"0; url={url}"})


def application(entrance: Entrance) -> Starlette:
    """The application to be mounted at /web."""
    tabs = [tab for part in PARTS for tab in part.TABS]
    pages = [page for part in PARTS for page in part.PAGES]
    look = Look(tabs, signs_out=entrance.signs_out)

    async def first(request: Request) -> Response:
        del request
        return RedirectResponse(BASE + tabs[0].path, 303, HEADERS)

    routes = [
        Route("/", first),
        Route("/static/{name}", _static),
        Route("/leave", _leaving(entrance), methods=["POST"]),
        *entrance.routes,
        *(Route(page.path, _answering(page, entrance, look), methods=[page.method]) for page in pages),
    ]
    routes.sort(key=lambda route: route.path.count("{"))  # /inbox/bulk is no memory called bulk
    handlers: Mapping[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
        HTTPException: _unrouted,
        EngramError: _refusing(entrance),
        Exception: _broken,
    }
    return Starlette(routes=routes, exception_handlers=handlers)


def _answering(page: Page, entrance: Entrance, look: Look) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        visit = entrance.visit(request)
        form = await sent(request, visit, entrance) if page.method == "POST" else {}
        if visit.caller is not None:
            request.scope[CALLER] = visit.caller

        def work() -> Response:
            asked = Asked(
                entrance.opens(visit),
                visit,
                look,
                request.path_params,
                _listed(request.query_params.multi_items()),
                form,
                _for_part(request),
            )
            try:
                return page.answer(asked)
            except EngramError as error:
                return asked.refused(error)

        return await anyio.to_thread.run_sync(work)

    return answer


async def sent(request: Request, visit: Visit, entrance: Entrance) -> Mapping[str, list[str]]:
    """What a form says, if a page of this visit made it.

    Raises:
        Forbidden: when another did.
        Invalid: when it is no form.
    """
    if request.headers.get("origin") != entrance.origin(request):
        raise Forbidden("Forms of other pages are not taken.", "Use the page itself.")
    try:
        pairs = parse_qsl(
            (await request.body()).decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"
        )
    except ValueError:
        raise Invalid("That is not a form.", "Load the page again, and repeat what you did.") from None
    # A browser ends the lines of a text as mail does; memories end them as files do.
    form = _listed([(name, value.replace("\r\n", "\n")) for name, value in pairs])
    visit.require((form.get("csrf") or [""])[0])
    return form


def _for_part(request: Request) -> bool:
    """Whether htmx asks, which puts the answer into a page that is there."""
    return request.headers.get("hx-request") == "true"


def _listed(pairs: list[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def _leaving(entrance: Entrance) -> Callable[[Request], Awaitable[Response]]:
    async def leave(request: Request) -> Response:
        visit = entrance.visit(request)
        await sent(request, visit, entrance)
        entrance.visits.end(visit)
        answer = RedirectResponse(f"{BASE}/", 303, HEADERS)
        answer.delete_cookie(entrance.cookie.name, path=BASE)
        return answer

    return leave


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in os.listdir(STATIC):
        raise HTTPException(404)
    return FileResponse(os.path.join(STATIC, name), headers={**HEADERS, "Cache-Control": FOR_GOOD})


def _refusing(entrance: Entrance) -> Callable[[Request, Exception], Awaitable[Response]]:
    """What is told to those who are not in, and of what fails before a memory is at hand."""

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, EngramError)
        if _for_part(request):  # it was not even begun
            return noted(error, "Nothing was changed.")
        if isinstance(error, Unauthenticated):
            return entrance.stranger(error)
        return bare(error)

    return refused


def bare(error: EngramError, status: int = 0) -> Response:
    """An error on a page without navigation: nobody's memory stands behind it."""
    text = templates().get_template("bare.html").render(error=error)
    return HTMLResponse(text, status or error.http_status, HEADERS)


async def _unrouted(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = NotFound(f"There is no page {request.url.path}.", "Go to the inbox, or back.")
    return noted(said) if _for_part(request) else bare(said, error.status_code)


async def _broken(request: Request, error: Exception) -> Response:
    """A bug: told in full to the log, and in a word on the page."""
    # Without its path, which may name what a memory is about.
    log.error("%s %s failed", request.method, route_of(request.url.path), exc_info=error)
    said = EngramError("Something broke.", "It is in the server's log. Going back and trying again may help.")
    return noted(said) if _for_part(request) else bare(said)
