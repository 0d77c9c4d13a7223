"""The operations over HTTP: resources under /v1, a route each, read from their signatures."""

import functools
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route

from engram.errors import EngramError, Invalid
from engram.model.memory import Memory
from engram.service import Engram, Operation, listed
from engram.surfaces import rewording
from engram.surfaces.http import assets as http_assets
from engram.surfaces.http import sync_files
from engram.surfaces.http.openapi import describe
from engram.surfaces.schemas import Arguments, arguments
from engram.surfaces.server.telling import INTERNAL, note, route_of
from engram.surfaces.shapes import shape

log = logging.getLogger("engram.http")

Opens = Callable[[Request], Engram]
"""Gives the memory to whoever sends a request, as the credentials say."""

BASE = "/v1"
NOT_ALLOWED, NOT_FOUND = 405, 404


class Resource(NamedTuple):
    """One operation as a resource: how it is called, and what it takes from where."""

    operation: Operation
    method: str
    path: str
    arguments: Arguments

    @property
    def in_path(self) -> tuple[str, ...]:
        """The parameters that stand in the path."""
        return tuple(part[1:-1] for part in self.path.split("/") if part.startswith("{"))


def resources() -> list[Resource]:
    """Every operation that is not about files of the machine it runs on."""
    found = []
    for operation in listed():
        if not operation.local:
            method, _, path = operation.route.partition(" ")
            found.append(Resource(operation, method, path, arguments(operation.function)))
    return found


async def openapi(request: Request) -> Response:
    """The description of everything that is served under /v1."""
    del request
    return _described()


@functools.cache
def _described() -> Response:
    return JSONResponse(describe(resources()))


def application(opens: Opens) -> Starlette:
    """The application to be mounted at /v1."""
    served = resources()
    routes = sync_files.routes(opens)
    routes += [
        Route(each.path.removeprefix(BASE), _answering(each, opens), methods=[each.method]) for each in served
    ]
    routes += http_assets.routes(opens, _beside_bytes)
    # Longest first: /sessions/end is no session called end.
    routes.sort(key=lambda route: route.path.count("{"))
    handlers: Mapping[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
        HTTPException: unrouted,
        EngramError: _refused,
        ClientDisconnect: _left,
        Exception: _broken,
    }
    return Starlette(routes=[Route("/openapi.json", openapi), *routes], exception_handlers=handlers)


def _answering(resource: Resource, opens: Opens) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        said = resource.arguments.read(await _said(resource, request))
        return await anyio.to_thread.run_sync(lambda: _answer(opens(request), resource, said))

    return answer


def _answer(engram: Engram, resource: Resource, said: Mapping[str, Any]) -> Response:
    name = resource.operation.name
    found = rewording.ask(rewording.as_routes, name, lambda: engram.ask(name, **said))
    headers = {"Cache-Control": "no-store"}
    if (memory := _about(found, resource)) is not None:
        headers["ETag"] = f'"{memory.revision}"'
    return JSONResponse(shape(found, found.at, engram.view), headers=headers)


def _about(found: object, resource: Resource) -> Memory | None:
    """The one memory that an answer is about, or that was read by its address."""
    one = getattr(found, "memory", None)
    if one is None and resource.method == "GET" and "memory" in resource.in_path:
        several: tuple[object, ...] = getattr(found, "memories", ())
        one = several[0] if len(several) == 1 else None
    return one if isinstance(one, Memory) else None


async def _said(resource: Resource, request: Request) -> dict[str, Any]:
    """The arguments of a request: from its path, and from its query or its body; a revision from If-Match."""
    taken = resource.arguments.schema["properties"]
    if resource.method == "GET" or (resource.method == "DELETE" and not await request.body()):
        said = _queried(request, taken)
    else:
        said = _object(await request.body())
    return _completed(said, request, taken)


def _beside_bytes(request: Request, arguments: Arguments) -> dict[str, Any]:
    """The arguments of a request whose body is no JSON: from its path, its query and If-Match."""
    taken = arguments.schema["properties"]
    return _completed(_queried(request, taken), request, taken)


def _queried(request: Request, taken: Mapping[str, Any]) -> dict[str, Any]:
    query = request.query_params
    return {name: _of_query(query.getlist(name), taken.get(name, {})) for name in query}


def _completed(said: dict[str, Any], request: Request, taken: Mapping[str, Any]) -> dict[str, Any]:
    for name, value in request.path_params.items():
        if name in said:
            raise Invalid(f"{name} stands in the address already.", "Leave it out.")
        said[name] = value
    if (match := request.headers.get("if-match")) is not None:
        if "revision" not in taken or not (number := match.strip().strip('"')).isdecimal() or len(number) > 18:
            raise Invalid(
                f"If-Match: {match[:40]} is not an ETag of a memory.", "Send the ETag of the memory as you read it."
            )
        said["revision"] = int(number)
    return said


def _of_query(values: list[str], schema: Mapping[str, Any]) -> str | list[str]:
    return values if schema.get("type") == "array" or len(values) > 1 else values[0]


def _object(body: bytes) -> dict[str, Any]:
    try:
        said = json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise Invalid("The body is not JSON.", 'Send an object: {"text": …}.') from None
    if not isinstance(said, dict):
        raise Invalid("The body is not a JSON object.", 'Send an object: {"text": …}.')
    return said


def problem(error: EngramError) -> Response:
    """An error in the one form that every surface shows."""
    return JSONResponse(error.body(), error.http_status, headers={"Cache-Control": "no-store"})


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, EngramError)
    note(request.scope, error)
    rewording.reword(error, rewording.as_routes)
    return problem(error)


async def unrouted(request: Request, error: Exception) -> Response:
    """The answer to a path or a method that nothing here serves."""
    assert isinstance(error, HTTPException)
    code = {NOT_FOUND: "not_found", NOT_ALLOWED: "invalid"}.get(error.status_code, "invalid")
    said = f"{request.method} {request.url.path} is not served here."
    headers = dict(error.headers or {})
    ways = ""
    if error.status_code == NOT_ALLOWED:
        served = _ways(request)
        headers["Allow"] = ", ".join(served)
        ways = f"Ask it by {' or '.join(served)}. "
    body = {"code": code, "message": said, "hint": f"{ways}See {BASE}/openapi.json."}
    return JSONResponse(body, error.status_code, headers=headers)


def _ways(request: Request) -> list[str]:
    """How an address is asked, in order: Starlette knows those of one route of it alone, and in no order."""
    fitting = [each for each in request.app.routes if each.matches(request.scope)[0] != Match.NONE]
    return sorted({way for each in fitting if isinstance(each, Route) for way in each.methods or ()})


async def _left(request: Request, error: Exception) -> Response:
    """Whoever asked has gone before all was said: there is nobody to answer, and nothing was done."""
    del request, error
    return problem(Invalid("The request did not come whole.", "Send it again."))


async def _broken(request: Request, error: Exception) -> Response:
    """A bug: told in full to the log, and in a word to the client."""
    # Without its path, which may name what a memory is about.
    log.error("%s %s failed", request.method, route_of(request.url.path), exc_info=error)
    return JSONResponse(INTERNAL, 500)
