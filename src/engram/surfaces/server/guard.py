"""Who may speak to a local port: one guard for everything served over HTTP on this machine.

A page in a browser can make requests to this machine, and a name in the DNS can point here. So every request must
name this machine as its host, must not come from a foreign page, and must carry the token that only the user's own
files hold. Processes of the same user are not defended against: they can read the token, and the store.
"""

import contextlib
import hmac
import json
import os
import secrets
import stat
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from shlex import quote
from typing import Any

from engram.errors import Corrupt, EngramError, Forbidden, Slow, TooLarge, Unauthenticated

App = Callable[[Any, Any, Any], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MOST_BYTES = 4 * 1024 * 1024
OPEN = ("/health", "/healthz", "/readyz")
"""Paths that say nothing about the memory, and need no token."""


def never(scope: Any) -> bool:  # noqa: ANN401 - ASGI
    """Nothing is longer than the limit."""
    del scope
    return False


PAGES = "/web"
"""Under which the page lies. It asks for a cookie of its own, which is accepted nowhere else."""

LINK = f"{PAGES}/link"
"""Where whoever has the token gets a link to the page."""

METADATA = tuple(f"/.well-known/oauth-protected-resource{part}" for part in ("", "/mcp", "/v1"))
"""Where a client of a team's server finds who gives tokens for it, or for a part of it."""


def is_page(scope: MutableMapping[str, Any]) -> bool:
    """Whether a request is for the page, which looks itself who sends it; a browser may ask for it at / too."""
    path: str = scope["path"]
    if path == "/" and scope["method"] == "GET":
        return any(name == b"accept" and b"text/html" in value for name, value in scope["headers"])
    return (path == PAGES or path.startswith(f"{PAGES}/")) and path != LINK


class Misdirected(EngramError):
    """The request names a host that is not this one."""

    code, exit_code, http_status = "misdirected", 2, 421


class Unframed(EngramError):
    """The request says in two ways where it ends: whoever stands in between may believe the other."""

    code, exit_code, http_status = "invalid", 2, 400


def token_at(path: str) -> str:
    """The token in this file; where there is none it is made, readable by its owner only.

    Raises:
        Corrupt: when others may read the file, or it is a link, empty or no file at all.
    """
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    if not os.path.lexists(path):
        _make(path)
    return _read(path)


def _make(path: str) -> None:
    """Write a token beside, and give it its name unless somebody was quicker: nobody ever reads half of one."""
    beside = f"{path}.{secrets.token_hex(8)}"
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(beside, path)
    finally:
        os.unlink(beside)


def _read(path: str) -> str:
    again = f"Remove it, and a new one is made: rm {quote(path)}"
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise Corrupt(f"The token file {path} cannot be used: {error.strerror}.", again) from None
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode):
            raise Corrupt(f"The token file {path} is not a file.", again)
        if mode & 0o077:
            raise Corrupt(f"Others may read the token file {path}.", f"Close it: chmod 600 {quote(path)}")
        token = os.read(handle, 1024).decode("ascii", "replace").strip()
    finally:
        os.close(handle)
    if len(token) < 16:
        raise Corrupt(f"The token file {path} holds no token.", again)
    return token


class Guard:
    """An ASGI application that lets a request through to another, or says why not."""

    def __init__(
        self, app: App, token: str, *, most_bytes: int = MOST_BYTES, longer: Callable[[Any], bool] = never
    ) -> None:
        """Guard an application. What is `longer` brings so many bytes that it counts them itself."""
        self._app, self._token, self._most, self._longer = app, token, most_bytes, longer

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI
        """Check one request before anything else reads it."""
        if scope["type"] == "websocket":  # nothing of ours speaks it, and what is not checked is not let in
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self.check(scope)
        except EngramError as error:
            await refuse(error, send)
            return
        await self._app(scope, receive, send)

    def check(self, scope: MutableMapping[str, Any]) -> None:
        """Let the request pass.

        Raises:
            Unframed: when it says in two ways where it ends.
            Misdirected: when its host is not this machine.
            Forbidden: when a foreign page sent it.
            Unauthenticated: when it carries no token, or a wrong one.
            TooLarge: when it is too long.
        """
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        check_framing(headers)
        port = scope["server"][1] if scope.get("server") else None
        host = headers.get("host", "")
        if not _is_here(host, port):
            raise Misdirected(
                f"{host or 'No host'} is not served here.", "Use the address that engram serve printed."
            )
        origin = headers.get("origin")
        if origin is not None and (not origin.startswith("http://") or not _is_here(origin[7:], port)):
            raise Forbidden("Pages of other sites may not read this memory.", "Call it from a program instead.")
        if scope["path"] in OPEN:
            return
        if not is_page(scope):
            self._check_token(headers.get("authorization", ""))
        if not self._longer(scope):
            check_length(headers.get("content-length", "0"), self._most)

    def _check_token(self, said: str) -> None:
        scheme, _, given = said.partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self._token.encode()):
            raise Unauthenticated(
                "This memory needs its token.",
                "Send `Authorization: Bearer TOKEN`; engram serve says where it lies.",
            )


def check_framing(headers: Mapping[str, str]) -> None:
    """Refuse a request that says both how long it is and that it comes in chunks.

    Raises:
        Unframed: then.
    """
    if "content-length" in headers and "transfer-encoding" in headers:
        raise Unframed("The request has both a length and chunks.", "Send Content-Length or Transfer-Encoding.")


def check_length(said: str, most: int) -> None:
    """Refuse a request that says it is too long.

    Raises:
        TooLarge: then.
    """
    if said.isdigit() and (len(said) > 18 or int(said) > most):
        raise TooLarge(f"A request has at most {most:,} bytes.", "Send less at a time.")


def _is_here(host: str, port: int | None) -> bool:
    """Whether `name:port` is this machine by one of its own names, at the port that was asked."""
    name, colon, number = host.rpartition(":")
    if not colon or name.endswith(":") or host.endswith("]"):
        name, number = host, "80"
    return name.strip("[]").lower() in LOOPBACK and (port is None or number == str(port))


async def refuse(error: EngramError, send: Any) -> None:  # noqa: ANN401 - ASGI
    """Answer a request with an error, in the one form that every surface shows."""
    headers: dict[str, str] = {}
    if error.http_status == Unauthenticated.http_status:
        headers["www_authenticate"] = 'Bearer realm="engram"'
    if isinstance(error, Unframed | Slow):  # what comes after it on this connection is nobody's request
        headers["connection"] = "close"
    await say(send, error.http_status, error.body(), **headers)


async def say(send: Any, status: int, body: Mapping[str, Any], **headers: str) -> None:  # noqa: ANN401 - ASGI
    """A whole answer in JSON, which nobody keeps unless its headers say so; an underscore in a name is a dash."""
    said = json.dumps(body).encode()
    lines = {"content_type": "application/json", "content_length": str(len(said)), "cache_control": "no-store"}
    raw = [
        (name.replace("_", "-").encode(), value.encode("latin-1", "replace"))
        for name, value in {**lines, **headers}.items()
    ]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": said})
