"""A running server and every way to speak to it: bare HTTP, tools over MCP, and the forms of its page."""

import http.client
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from surfaces.mcp_clients import ERAS, Served, serving


class Answer(NamedTuple):
    """What came back: status, headers with small letters, and the body."""

    status: int
    headers: dict[str, str]
    body: str

    @property
    def json(self) -> Any:
        """The body as JSON, whether it came alone or as an event."""
        lines = [line[5:] for line in self.body.splitlines() if line.startswith("data:")]
        return json.loads(lines[-1] if lines else self.body)


class House(NamedTuple):
    """A server on a store in a folder."""

    folder: Path
    served: Served

    @property
    def origin(self) -> str:
        """The only address whose pages may speak to it."""
        return f"http://127.0.0.1:{self.served.port}"

    def ask(self, method: str, path: str, body: bytes | str = b"", **headers: str) -> Answer:
        """One request with the token, unless it brings another; what is empty among the headers is left out."""
        said = {"authorization": f"Bearer {self.served.token}", **headers}
        connection = http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=30)
        named = {name.replace("_", "-"): value for name, value in said.items() if value}
        connection.request(method, path, body or None, named)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8", "replace")
        connection.close()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, text)

    def tool(self, name: str, arguments: dict[str, Any], **headers: str) -> Answer:
        """One call of a tool over MCP, as its newest revision has it; headers may say otherwise."""
        version = ERAS["auto"]
        meta = {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        params = {"name": name, "arguments": arguments, "_meta": meta}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        heads = {
            "content_type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp_protocol_version": version,
            "mcp_method": "tools/call",
            "mcp_name": name,
        }
        return self.ask("POST", "/mcp", json.dumps(message), **{**heads, **headers})

    def visit(self) -> tuple[str, str]:
        """The cookie of somebody who came in by a link, and the word that their forms carry."""
        link = self.ask("POST", "/web/link").json["path"]
        ((name, morsel),) = SimpleCookie(self.ask("GET", link, authorization="").headers["set-cookie"]).items()
        cookie = f"{name}={morsel.value}"
        page = self.ask("GET", "/web/history", authorization="", cookie=cookie).body
        return cookie, re.findall(r'name="csrf" value="([^"]+)"', page)[0]

    def form(self, path: str, fields: dict[str, str], **headers: str) -> Answer:
        """A form of the page, as a browser that came in sends it; headers may say otherwise."""
        cookie, csrf = self.visit()
        heads = {
            "authorization": "",
            "cookie": cookie,
            "origin": self.origin,
            "content_type": "application/x-www-form-urlencoded",
        }
        return self.ask("POST", path, urlencode({"csrf": csrf, **fields}), **{**heads, **headers})


@contextmanager
def house(folder: Path, **variables: str) -> Iterator[House]:
    """A server on a new store in this folder until the block ends."""
    with serving(folder, **{"ENGRAM_EMBEDDER": "none", **variables}) as served:
        yield House(folder, served)
