"""The command `engram serve`: this memory over HTTP on this machine, MCP at /mcp."""

import asyncio
import contextlib
import logging
import os
import socket
import sys

from engram import __version__
from engram.config import data_folder
from engram.errors import Invalid, Unavailable
from engram.interop.tools import Profile
from engram.model.scope import GLOBAL, Scope
from engram.surfaces.guard import LOOPBACK, MOST_BYTES, Guard, token_at
from engram.surfaces.mcp.command import profile
from engram.surfaces.mcp.holding import Held, leave

PORT = 7437


def run(words: list[str], *, json: bool = False) -> int:
    """Serve this memory over HTTP on this machine, MCP at /mcp.

    Usage: engram serve [--host HOST] [--port N] [--project NAME] [--profile NAME ...] [--store PATH]

    Serves this memory at http://127.0.0.1:7437/mcp until it is stopped (Ctrl-C). Every request needs the token in
    the file that is printed at the start: `Authorization: Bearer TOKEN`.

      --host HOST      127.0.0.1 unless said; ::1 or localhost. Other machines are not served.
      --port N         7437 unless said; 0 takes a free one.
      --project NAME   Where memories land and are looked for; all that holds everywhere (global) unless said, for a
                       server has many clients and no folder of theirs.
      --profile NAME   Serve the tools of another system: observations, records, memory-v1, keyed; native adds ours.
      --store PATH     Use this store instead of the configured one.

    Examples:
      engram serve
      engram serve --port 0 --json
    """
    asked = _read(words)
    token_file = os.path.join(data_folder(os.environ), "token")
    token = token_at(token_file)
    held = Held(asked.store, home=Scope("project", asked.project) if asked.project else GLOBAL)
    listening = _bound(asked.host, asked.port)
    address = _address(listening)
    try:
        app = application(held, token, asked.profiles)
        if json:
            import json as form  # noqa: PLC0415 - for machines only

            print(form.dumps({"url": f"{address}/mcp", "token_file": token_file}), flush=True)
        else:
            print(f"Serving {address}/mcp", f"Token: {token_file}", f"Memories land in: {held.home}", sep="\n")
            print("Stop with Ctrl-C.", flush=True)
        _listen(app, listening)
    finally:
        listening.close()
    leave(held)
    return 0


class Asked:
    """What a command line asks for."""

    def __init__(self) -> None:
        self.host, self.port, self.project, self.store = "127.0.0.1", PORT, "", ""
        self.profiles: list[Profile] = []


def _read(words: list[str]) -> Asked:
    asked = Asked()
    rest = list(words)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name not in ("--host", "--port", "--project", "--profile", "--store"):
            raise Invalid(f"There is no option {name!r} here.", "See engram serve --help.")
        if not equals and not rest:
            raise Invalid(f"{name} needs a value.", "See engram serve --help.")
        value = value if equals else rest.pop(0)
        if name == "--profile":
            asked.profiles += [profile(each) for each in value.split(",")]
        elif name == "--port":
            if not value.isascii() or not value.isdigit() or int(value) > 65535:
                raise Invalid(f"{value!r} is no port.", "Give a number from 0 to 65535.")
            asked.port = int(value)
        elif name == "--host":
            if value not in LOOPBACK:
                raise Invalid(f"{value} is not this machine.", f"Use one of: {', '.join(LOOPBACK)}.")
            asked.host = value
        elif name == "--project":
            asked.project = value
        else:
            asked.store = value
    return asked


def application(held: Held, token: str, profiles: list[Profile]) -> Guard:
    """The whole application: MCP at /mcp, a sign of life at /health, and the guard before both."""
    from mcp.server.transport_security import (  # noqa: PLC0415 - heavy; for servers only
        RequestBodyLimitMiddleware,
        TransportSecuritySettings,
    )
    from starlette.requests import Request  # noqa: PLC0415 - the same
    from starlette.responses import JSONResponse  # noqa: PLC0415 - the same
    from starlette.routing import Route  # noqa: PLC0415 - the same

    from engram.surfaces.mcp.server import build  # noqa: PLC0415 - the same

    async def health(request: Request) -> JSONResponse:
        del request
        return JSONResponse({"status": "ok", "version": __version__})

    app = build(held.engram, profiles).streamable_http_app(
        # The guard has checked host and origin already, by the stricter rule.
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        custom_starlette_routes=[Route("/health", health)],
    )
    # The guard goes by what a request says of its length; a body that says nothing is counted as it comes.
    return Guard(RequestBodyLimitMiddleware(app, MOST_BYTES), token)


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen()  # from here on nobody is turned away: whoever reads the address too early only waits
    except OSError as error:
        listening.close()
        raise Unavailable(
            f"Port {port} of {host} cannot be had: {error.strerror}.", "Stop what holds it, or use --port 0."
        ) from None
    return listening


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _listen(app: Guard, listening: socket.socket) -> None:
    import uvicorn  # noqa: PLC0415 - heavy; for servers only

    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=2
    )
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    server = uvicorn.Server(config)
    with contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
    print("Stopped.", file=sys.stderr)


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a line of the log tells a person something: that the stop cut a request short does not."""
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))
