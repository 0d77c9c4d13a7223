"""A small server of chunks, as `docs/sync.md` describes it: files in a folder, behind a token."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from engram.sync.chunks import digest

PAGE = 3


class Keeper:
    """What the server has stored, and how it is made to misbehave."""

    def __init__(self, folder: Path, token: str = "sesame") -> None:  # noqa: S107 - of a server that lives for one test
        self.folder, self.token = folder, token
        self.fail_after: int | None = None  # so many requests are answered, then none
        self.lie = False  # confirm what was never stored
        self.closed: set[str] = set()  # scopes that are refused
        self.asked = 0

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/sync/files", self.list, methods=["GET"]),
                Route("/v1/sync/files/{replica}/{name}", self.get, methods=["GET"]),
                Route("/v1/sync/files/{replica}/{name}", self.put, methods=["PUT"]),
            ]
        )

    def refusal(self, request: Request) -> Response | None:
        self.asked += 1
        if self.fail_after is not None and self.asked > self.fail_after:
            return JSONResponse({"error": "the server is full"}, 503)
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return JSONResponse({"error": "who are you?"}, 401)
        if request.query_params["scope"] in self.closed:
            return JSONResponse({"code": "forbidden", "message": "That is not yours.", "hint": ""}, 403)
        return None

    def _home(self, request: Request) -> Path:
        apart = " private" if request.query_params.get("private") else ""
        return self.folder / quote(request.query_params["scope"] + apart, safe="")

    def _index(self, home: Path) -> list[dict[str, Any]]:
        path = home / "index.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    async def list(self, request: Request) -> Response:
        if refusal := self.refusal(request):
            return refusal
        after = int(request.query_params.get("after", "0"))
        latest = {row["name"]: row for row in self._index(self._home(request))}
        rows = sorted((row for row in latest.values() if row["at"] > after), key=lambda row: row["at"])
        return JSONResponse({"files": rows[:PAGE], "more": len(rows) > PAGE})

    async def get(self, request: Request) -> Response:
        if refusal := self.refusal(request):
            return refusal
        path = self._home(request) / request.path_params["replica"] / request.path_params["name"]
        return Response(path.read_bytes()) if path.exists() else JSONResponse({}, 404)

    async def put(self, request: Request) -> Response:
        if refusal := self.refusal(request):
            return refusal
        home, name = self._home(request), f"{request.path_params['replica']}/{request.path_params['name']}"
        content = await request.body()
        if self.lie:
            return JSONResponse({"stored": "nothing"}, 201)
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        row = {"name": name, "at": len(self._index(home)) + 1, "sha256": digest(content)}
        with (home / "index.jsonl").open("a") as file:
            file.write(json.dumps(row) + "\n")
        return JSONResponse({"stored": digest(content)}, 201)


@contextmanager
def served(keeper: Keeper) -> Iterator[str]:
    """The server on a port of this machine; the address to reach it by."""
    server = uvicorn.Server(uvicorn.Config(keeper.app(), host="127.0.0.1", port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()
