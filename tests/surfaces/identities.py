"""A real OpenID provider beside the tests, and how people and programs get tokens of it."""

import base64
import hashlib
import http.client
import json
import re
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from surfaces.mcp_clients import NODE

SCRIPT = Path(__file__).with_name("provider.mjs")
SECRET = "a secret of the tests alone, of no worth"  # noqa: S105 - as it says
DONE = "http://127.0.0.1/done"


class Provider(NamedTuple):
    """A running provider."""

    port: int

    @property
    def issuer(self) -> str:
        """What it calls itself."""
        return f"http://127.0.0.1:{self.port}"

    def person(self, name: str, resource: str, scope: str = "engram:read engram:write") -> str:
        """The access token of a person who logs in by the provider's own pages and agrees."""
        verifier = secrets.token_urlsafe(48)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        asked = {
            "client_id": "app",
            "response_type": "code",
            "redirect_uri": DONE,
            "scope": f"openid {scope}",
            "resource": resource,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        code = _Browser(self.port).walk(f"/auth?{urlencode(asked)}", name)
        return self._token(
            grant_type="authorization_code",
            client_id="app",
            code=code,
            redirect_uri=DONE,
            code_verifier=verifier,
            resource=resource,
        )

    def agree(self, where: str, name: str) -> None:
        """Open the address that a terminal showed, sign in as `name`, and agree."""
        parts = urlsplit(where)
        _Browser(self.port).walk(f"{parts.path}?{parts.query}", name)

    def program(self, name: str, resource: str, scope: str = "engram:read engram:write") -> str:
        """The access token of a program, in its own name."""
        return self._token(
            grant_type="client_credentials", client_id=name, client_secret=SECRET, resource=resource, scope=scope
        )

    def _token(self, **fields: str) -> str:
        status, _, body = _request(
            self.port,
            "POST",
            "/token",
            urlencode(fields),
            {"content-type": "application/x-www-form-urlencoded"},
        )
        assert status == 200, body
        return str(json.loads(body)["access_token"])


class _Browser:
    """Follows redirects, keeps cookies, and fills in the two forms there are."""

    def __init__(self, port: int) -> None:
        self._port, self._cookies = port, {}

    def walk(self, path: str, name: str) -> str:
        """The code that the last redirect carries, after logging in as `name` and agreeing."""
        method, body = "GET", ""
        for _ in range(12):
            status, headers, page = self._send(method, path, body)
            if status in (302, 303):
                where = headers["location"]
                if where.startswith(DONE):
                    return parse_qs(urlsplit(where).query)["code"][0]
                parts = urlsplit(where)
                method, path, body = "GET", parts.path + (f"?{parts.query}" if parts.query else ""), ""
                continue
            assert status == 200, (status, page)
            found = re.search(r'action="([^"]+)"', page)
            if not found:  # nothing is left to fill in
                return ""
            path, method = urlsplit(found.group(1)).path, "POST"
            hidden = dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', page))
            prompt = "login" if 'name="login"' in page else "consent"
            body = urlencode({"prompt": prompt, "login": name, "password": "any", **hidden})
        raise AssertionError("The provider never came to an end.")

    def _send(self, method: str, path: str, body: str) -> tuple[int, dict[str, str], str]:
        said = {"cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}
        if body:
            said["content-type"] = "application/x-www-form-urlencoded"
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)
        connection.request(method, path, body, said)
        answer = connection.getresponse()
        text = answer.read().decode()
        for line in answer.headers.get_all("set-cookie") or ():
            name, _, value = line.partition(";")[0].partition("=")
            self._cookies[name] = value
        connection.close()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, text


def _request(
    port: int, method: str, path: str, body: str, headers: Mapping[str, str]
) -> tuple[int, dict[str, str], str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request(method, path, body, dict(headers))
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, {k.lower(): v for k, v in answer.getheaders()}, text


@contextmanager
def provider(people: Mapping[str, Mapping[str, Any]], folder: Path) -> Iterator[Provider]:
    """A provider that knows these people and programs, with the claims their tokens carry."""
    node = NODE / ".bin" / "node"
    if not (NODE / "oidc-provider").exists() or not node.exists():
        pytest.skip("npm's programs are not installed: python tools/node.py")
    # Node looks for packages beside the script, so it lies beside them for the while.
    script = Path(shutil.copy(SCRIPT, folder / "provider.mjs"))
    (folder / "node_modules").symlink_to(NODE)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [str(node), "--no-warnings", str(script), str(port), json.dumps(people)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdout
        for line in process.stdout:
            if line.strip() == b"ready":
                break
        yield Provider(port)
    finally:
        process.kill()
        process.communicate()
