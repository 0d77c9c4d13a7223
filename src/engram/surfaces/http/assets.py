"""Attachments over HTTP: bytes in and out, a block at a time, and never as anything a browser would run."""

import base64
import binascii
import re
from collections.abc import Awaitable, Callable
from itertools import chain
from typing import Any
from urllib.parse import quote

import anyio
import anyio.to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from engram.errors import Invalid
from engram.model.memory import Asset
from engram.service import OPERATIONS, Engram
from engram.surfaces import rewording
from engram.surfaces.http.openapi import UPLOADED
from engram.surfaces.schemas import Arguments, arguments
from engram.surfaces.shapes import shape

Handler = Callable[[Request], Awaitable[Response]]
Said = Callable[[Request, Arguments], dict[str, Any]]

UPLOAD = re.compile(r"/v1/memories/[^/]+/assets")
STILL = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
"""What keeps a browser from making anything of the bytes but a file."""


def is_upload(scope: Any) -> bool:  # noqa: ANN401 - ASGI
    """Whether a request brings bytes of an attachment, which have a limit of their own."""
    return scope.get("method") == "POST" and UPLOAD.fullmatch(scope.get("path", "")) is not None


def routes(opens: Callable[[Request], Engram], said: Said) -> list[Route]:
    """The two routes that carry bytes."""
    return [
        Route("/memories/{memory}/assets", _attaching(opens, said), methods=["POST"]),
        Route("/memories/{memory}/assets/{asset}", _fetching(opens), methods=["GET"]),
    ]


def _attaching(opens: Callable[[Request], Engram], said: Said) -> Handler:
    taken = arguments(OPERATIONS["attach"].function, UPLOADED)

    async def attach(request: Request) -> Response:
        asked = taken.read(said(request, taken))
        engram = await anyio.to_thread.run_sync(opens, request)
        incoming = await anyio.to_thread.run_sync(engram.receive, asked["memory"])
        try:
            length = request.headers.get("content-length", "0")
            incoming.expect(int(length) if length.isdecimal() else 0)
            async for block in request.stream():
                if block:
                    await anyio.to_thread.run_sync(incoming.write, block)
            _require_promised(request, str(incoming))
            type = request.headers.get("content-type", "")
            answer = await anyio.to_thread.run_sync(
                rewording.ask,
                rewording.as_routes,
                "attach",
                lambda: engram.ask("attach", asked.pop("memory"), incoming, media_type=type, **asked),
            )
        except ClientDisconnect:
            raise Invalid("The attachment did not come whole.", "Send it again.") from None
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(incoming.close)
        headers = {"Cache-Control": "no-store", "ETag": f'"{answer.memory.revision}"'}
        return JSONResponse(shape(answer, answer.at, engram.view), headers=headers)

    return attach


def _require_promised(request: Request, sha256: str) -> None:
    """Where a client says the hash of what it sends (RFC 9530), that is what must have come."""
    for each in request.headers.get("content-digest", "").split(","):
        name, _, value = each.strip().partition("=")
        if name == "sha-256":
            try:
                promised = base64.b64decode(value.strip(":"), validate=True).hex()
            except (binascii.Error, ValueError):
                promised = ""
            if promised != sha256:
                raise Invalid("The bytes are not those that Content-Digest promises.", "Send it again.")


def _fetching(opens: Callable[[Request], Engram]) -> Handler:
    async def fetch(request: Request) -> Response:
        names = request.path_params

        def begin() -> Response:
            return as_file(opens(request), names["memory"], names["asset"])

        return await anyio.to_thread.run_sync(begin)

    return fetch


def as_file(engram: Engram, memory: str, asset: str) -> Response:
    """An attachment as the answer, which a browser keeps as a file and makes nothing else of."""
    found, blocks = engram.read_asset(memory, asset)
    first = next(blocks)  # what is wrong with a small one is told before it looks like an answer
    return StreamingResponse(chain((first,), blocks), headers=_headers(found))


def _headers(asset: Asset) -> dict[str, str]:
    digest = base64.b64encode(bytes.fromhex(asset.sha256)).decode()
    plain = re.sub(r'[^A-Za-z0-9._ -]|["\\]', "_", asset.name)
    return {
        **STILL,
        "Content-Type": "application/octet-stream",
        "Content-Length": str(asset.size),
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(asset.name, safe='')}",
        "Content-Digest": f"sha-256=:{digest}:",
    }
