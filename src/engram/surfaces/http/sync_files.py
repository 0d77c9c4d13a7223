"""The files of an exchange over HTTP: what there is, one file down, one file up; see docs/sync.md."""

from collections.abc import Awaitable, Callable

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from engram.errors import Forbidden, Invalid
from engram.model.refs import is_number
from engram.operations import keeping
from engram.operations.base import Call
from engram.service import Engram

Opens = Callable[[Request], Engram]
HEADERS = {"Cache-Control": "no-store"}


def routes(opens: Opens) -> list[Route]:
    """The routes, below the base of the others."""
    one = "/sync/files/{replica}/{name}"
    return [
        Route("/sync/files", _calling(opens, _list), methods=["GET"]),
        Route(one, _calling(opens, _get), methods=["GET"]),
        Route(one, _calling(opens, _put), methods=["PUT"]),
    ]


def _calling(
    opens: Opens, work: Callable[[Call, Request, bytes], Response]
) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        body = await request.body() if request.method == "PUT" else b""
        return await anyio.to_thread.run_sync(lambda: work(opens(request).call(), request, body))

    return answer


def _list(call: Call, request: Request, body: bytes) -> Response:
    del body
    after = request.query_params.get("after", "0")
    if not is_number(after):
        raise Invalid(f"after cannot be {after[:40]!r}.", "Give the last `at` that you have, or 0.")
    found = keeping.listed(call, _scope(request), int(after), private=_private(request))
    return JSONResponse({"files": [one._asdict() for one in found.files], "more": found.more}, headers=HEADERS)


def _get(call: Call, request: Request, body: bytes) -> Response:
    del body
    content = keeping.given(call, _scope(request), _name(request), private=_private(request))
    return Response(content, media_type="application/octet-stream", headers=HEADERS)


def _put(call: Call, request: Request, body: bytes) -> Response:
    if not call.caller.writes:
        raise Forbidden("These credentials are for reading only.", "Use others.")
    stored = keeping.taken(call, _scope(request), _name(request), body, private=_private(request))
    return JSONResponse({"stored": stored}, 201, headers=HEADERS)


def _scope(request: Request) -> str:
    scope = request.query_params.get("scope", "")
    if not scope:
        raise Invalid("Which scope?", "Add ?scope=project:NAME.")
    return scope


def _private(request: Request) -> bool:
    return request.query_params.get("private", "") == "true"


def _name(request: Request) -> str:
    return f"{request.path_params['replica']}/{request.path_params['name']}"
