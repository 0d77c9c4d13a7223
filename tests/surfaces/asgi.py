"""One request to an ASGI application, without a socket between."""

import json
from typing import Any


async def asked(
    app: Any, method: str, path: str, query: str = "", body: bytes = b"", **headers: str
) -> tuple[int, Any]:
    """The status of the answer, and its JSON."""
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 9),
    }
    told: list[dict[str, Any]] = []
    sent = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> dict[str, Any]:
        return sent.pop(0) if sent else {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        told.append(message)

    await app(scope, receive, send)
    text = b"".join(message.get("body", b"") for message in told[1:])
    return told[0]["status"], json.loads(text)
