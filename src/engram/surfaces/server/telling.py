"""What a server tells those who run it: a line of JSON a request, and counters; never what a memory says."""

import json
import logging
import re
import secrets
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import MutableMapping
from typing import Any

from engram.errors import EngramError, Unavailable
from engram.model.caller import Caller
from engram.service import OPERATIONS
from engram.surfaces.http.openapi_exchange import exchange
from engram.surfaces.server.guard import METADATA, App, say

log = logging.getLogger("engram.requests")

CALLER = "engram.caller"
"""Where a request carries who speaks, from the door to what answers and what tells of it."""

NOTES = "engram.notes"
"""Where a request carries what is to stand in its line beside the rest."""

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds up to which answers are counted apart."""

INTERNAL = {"code": "internal", "message": "Internal error.", "hint": "It is in the server's log."}
"""What a client is told of a bug."""

ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""What a request may be called by whoever sends it."""

_BARE = ("/mcp", "/healthz", "/readyz", "/metrics", "/health", "/openapi.json", "/v1/openapi.json", *METADATA)

_TEMPLATES = sorted(
    (path.split("/") for path in {*(each.route.partition(" ")[2] for each in OPERATIONS.values()), *exchange()}),
    key=lambda parts: sum(part.startswith("{") for part in parts),
)
"""What is served under /v1, in parts; those with the fewest names first: /sessions/end is no session called end."""

_PAGES = ("inbox", "memory", "history", "undo", "static", "search", "timeline", "graph", "files", "next", "health",
          "stats")  # fmt: skip


def route_of(path: str) -> str:
    """The route of a path, as the reference has it: names of memories make no series of their own."""
    if path in _BARE:
        return path
    parts = path.rstrip("/").split("/")
    if parts[1:2] == ["v1"]:
        return next(("/".join(each) for each in _TEMPLATES if _fits(parts, each)), "/v1")
    if parts[1:2] == ["web"]:  # pages by their first name: those of memories are one
        return f"/web/{parts[2]}" if len(parts) > 2 and parts[2] in _PAGES else "/web"
    return "other"


def _fits(parts: list[str], template: list[str]) -> bool:
    return len(parts) == len(template) and all(
        part if said.startswith("{") else part == said for part, said in zip(parts, template, strict=True)
    )


def note(scope: MutableMapping[str, Any], error: EngramError) -> None:
    """Have the line of a request say why it was refused: its kind alone, and what it is that is unavailable."""
    why = error.message if isinstance(error, Unavailable) else getattr(error, "why", error.code)
    scope.get(NOTES, {})["why"] = why


class Metrics:
    """Counters in Prometheus' text form. Safe to use from several threads."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._within: Counter[tuple[str, float]] = Counter()
        self._seconds: dict[str, float] = {}
        self._lock = threading.Lock()
        self._begun = time.time()

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note one answered request."""
        known = method if method in ("GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS") else "other"
        with self._lock:
            self._requests[known, route, status] += 1
            self._seconds[route] = self._seconds.get(route, 0.0) + seconds
            for bound in (*(each for each in BOUNDS if seconds <= each), float("inf")):
                self._within[route, bound] += 1

    def text(self) -> str:
        """All of them."""
        with self._lock:
            lines = [
                "# HELP engram_requests_total Requests answered.",
                "# TYPE engram_requests_total counter",
                *(
                    f'engram_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}'
                    for (method, route, status), count in sorted(self._requests.items())
                ),
                "# HELP engram_request_seconds How long answers took.",
                "# TYPE engram_request_seconds histogram",
            ]
            for route, total in sorted(self._seconds.items()):
                for bound in (*BOUNDS, float("inf")):
                    said = "+Inf" if bound == float("inf") else f"{bound:g}"
                    count = self._within[route, bound]
                    lines.append(f'engram_request_seconds_bucket{{route="{route}",le="{said}"}} {count}')
                lines.append(f'engram_request_seconds_sum{{route="{route}"}} {total:.6f}')
                lines.append(f'engram_request_seconds_count{{route="{route}"}} {self._within[route, float("inf")]}')
            lines += [
                "# HELP process_start_time_seconds When this process began.",
                "# TYPE process_start_time_seconds gauge",
                f"process_start_time_seconds {self._begun:.3f}",
            ]
        return "\n".join(lines) + "\n"


class Counting:
    """An ASGI application that names every request to another, counts it, and writes a line about it."""

    def __init__(self, app: App, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:  # noqa: ANN401 - ASGI
        """Have one request answered, and tell of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"x-request-id"), "")
        id = given if ID.fullmatch(given) else secrets.token_hex(8)
        scope[NOTES] = {}
        status, begun, began = 500, False, time.perf_counter()

        async def told(message: MutableMapping[str, Any]) -> None:
            nonlocal status, begun
            if message["type"] == "http.response.start":
                status, begun = message["status"], True
                message = {**message, "headers": [*message.get("headers", ()), (b"x-request-id", id.encode())]}
            await send(message)

        try:
            await self._app(scope, receive, told)
        except Exception:
            if begun:  # there is an answer already, and whoever gave it has told
                raise
            log.exception("%s %s failed", scope["method"], route_of(scope["path"]))
            await say(told, 500, INTERNAL)
        finally:
            seconds, route = time.perf_counter() - began, route_of(scope["path"])
            self._metrics.count(scope["method"], route, status, seconds)
            log.info("request", extra={"fields": _line(scope, id, route, status, seconds)})


def _line(scope: MutableMapping[str, Any], id: str, route: str, status: int, seconds: float) -> dict[str, Any]:
    """One request for the log: neither its path, which may name what a memory is about, nor its query."""
    caller: Caller | None = scope.get(CALLER)
    who = {"org": caller.org, "owner": caller.owner, "agent": caller.agent} if caller else {}
    return {
        "request_id": id,
        "method": scope["method"],
        "route": route,
        "status": status,
        "ms": round(seconds * 1000, 1),
        **{name: value for name, value in who.items() if value},
        **scope[NOTES],
    }


class Lines(logging.Formatter):
    """A log record as a line of JSON. Of an exception only its kind and its place are told: its words may quote."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        told: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            told["error"] = type(error).__name__
            told["at"] = [
                f"{one.filename}:{one.lineno} {one.name}" for one in traceback.extract_tb(error.__traceback__)
            ]
        return json.dumps(told, ensure_ascii=False)


def to_stream(*, requests: bool = True) -> None:
    """Send what is logged to standard error, as lines of JSON: warnings, and requests.

    The libraries that serve and ask for us tell of errors as well; in any other form they would quote.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    logging.root.handlers = [handler]
    logging.root.setLevel(logging.WARNING)
    logging.getLogger("engram").setLevel(logging.INFO if requests else logging.WARNING)
