"""Attachments on the wire: streamed, checked, and never served as anything but a file."""

import base64
import hashlib
import http.client
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from surfaces.mcp_clients import Served, serving

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 400
MOST = 20 * 1024 * 1024


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("assets")
    with serving(folder, ENGRAM_EMBEDDER="none", ENGRAM_ASSET_BYTES=str(MOST)) as one:
        yield one


def send(
    served: Served, method: str, path: str, body: Any = None, **headers: str
) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    said = {"authorization": f"Bearer {served.token}", **{k.replace("_", "-"): v for k, v in headers.items()}}
    connection.request(method, path, body, said)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content, {k.lower(): v for k, v in answer.getheaders()}


@pytest.fixture
def memory(served: Served) -> str:
    said = json.dumps({"text": f"A net of {os.urandom(4).hex()}"})
    return json.loads(send(served, "POST", "/v1/memories", said)[1])["memory"]["handle"]


def attach(served: Served, memory: str, content: Any, name: str = "plan.png", **headers: str) -> tuple[int, Any]:
    path = f"/v1/memories/{memory}/assets?name={quote(name)}"
    status, body, _ = send(served, "POST", path, content, **headers)
    return status, json.loads(body)


def revision(served: Served, memory: str) -> int:
    return json.loads(send(served, "GET", f"/v1/memories/{memory}")[1])["memories"][0]["revision"]


def test_a_file_goes_up_and_comes_down_as_a_file_and_nothing_else(served: Served, memory: str):
    status, body = attach(served, memory, PNG, 'pl"an; é.png', content_type="image/png")
    assert (status, body["outcome"], body["asset"]["media_type"]) == (200, "attached", "image/png")
    status, content, headers = send(served, "GET", f"/v1/memories/{memory}/assets/{body['asset']['sha256']}")

    assert (status, content) == (200, PNG)
    assert headers["content-type"] == "application/octet-stream"
    assert headers["content-disposition"] == (
        "attachment; filename=\"pl_an_ _.png\"; filename*=UTF-8''pl%22an%3B%20%C3%A9.png"
    )
    assert headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in headers["content-security-policy"]
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["cache-control"] == "no-store"
    assert base64.b64decode(headers["content-digest"][9:-1]).hex() == hashlib.sha256(PNG).hexdigest()
    listed = json.loads(send(served, "GET", f"/v1/memories/{memory}/assets")[1])["assets"]
    assert [(one["name"], one["size"], one["here"]) for one in listed] == [('pl"an; é.png', len(PNG), True)]
    name = quote('pl"an; é.png')
    assert send(served, "DELETE", f"/v1/memories/{memory}/assets/{name}")[0] == 200
    assert send(served, "GET", f"/v1/memories/{memory}/assets/{name}")[0] == 404


def test_what_waits_at_a_curated_memory_says_so_in_the_words_of_routes(served: Served):
    said = json.dumps({"text": "Nets are mended on land", "kind": "rule", "confirm": True})
    rule = json.loads(send(served, "POST", "/v1/memories", said)[1])["memory"]["handle"]
    status, body = attach(served, rule, PNG)

    assert (status, body["outcome"]) == (200, "proposed")
    assert body["hint"] == (
        "It waits, for the memory is curated: `GET /v1/review`. To decide at once, say `confirm=true`."
    )


@pytest.mark.parametrize(
    ("content", "name", "headers", "status"),
    [
        (PNG, "plan.png", {"content_type": "text/plain"}, 415),
        (PNG, "plan.txt", {}, 415),
        (b"<!doctype html><script>x()</script>", "notes.txt", {"content_type": "text/plain"}, 415),
        (b"<svg xmlns='x'/>", "a.svg", {"content_type": "image/svg+xml"}, 415),
        (b"MZ\x90\x00\x03", "setup", {"content_type": "application/octet-stream"}, 415),
        (b"a=b", "", {"content_type": "application/x-www-form-urlencoded"}, 415),
        (b"", "a.txt", {}, 422),
        (b"hello", "a.txt", {"content_digest": "sha-256=:" + "A" * 43 + "=:"}, 422),
        (b"hello", "a.txt", {"if_match": '"99"'}, 409),
        (b"x", "a.txt", {"content_length": str(MOST + 1)}, 413),
    ],
)
def test_a_lie_about_type_size_or_content_is_refused_and_changes_nothing(
    served: Served, memory: str, content: bytes, name: str, *, headers: dict[str, str], status: int
):
    got, body = attach(served, memory, content, name, **headers)

    assert (got, set(body)) == (status, {"code", "message", "hint"})
    assert revision(served, memory) == 1
    assert leftovers(served) == []


def leftovers(served: Served) -> list[Path]:
    """What is staged on the server's disk."""
    folder = Path(f"/proc/{served.process.pid}/cwd").resolve()
    for _ in range(100):
        if not (left := list(folder.glob("store.db.assets/staged/*"))):
            break
        time.sleep(0.05)
    return left


def test_a_body_without_a_length_is_counted_as_it_comes(served: Served, memory: str):
    block = b"a line of text\n" * 70_000
    status, body = attach(served, memory, (block for _ in range(1000)), "a.txt")

    assert (status, body["code"]) == (413, "invalid")
    assert (revision(served, memory), leftovers(served)) == (1, [])
    assert attach(served, memory, iter([b"short"]), "a.txt")[0] == 200


def test_an_upload_that_breaks_off_leaves_nothing(served: Served, memory: str):
    with socket.create_connection(("127.0.0.1", served.port)) as line:
        head = (
            f"POST /v1/memories/{memory}/assets?name=a.txt HTTP/1.1\r\nhost: 127.0.0.1:{served.port}\r\n"
            f"authorization: Bearer {served.token}\r\ncontent-length: 1000000\r\n\r\n"
        )
        line.sendall(head.encode() + b"x" * 70_000)
        time.sleep(0.2)

    assert (leftovers(served), revision(served, memory)) == ([], 1)


def test_a_large_file_is_never_whole_in_memory(served: Served, memory: str):
    block = os.urandom(1024) * 1024
    content = b"\x1f\x8b" + block * 19
    before = peak(served)
    assert attach(served, memory, content, "a.gz")[0] == 200
    assert send(served, "GET", f"/v1/memories/{memory}/assets/a.gz")[1] == content

    assert peak(served) - before < 12 * 1024 * 1024


def peak(served: Served) -> int:
    """The most memory the server has ever used."""
    status = Path(f"/proc/{served.process.pid}/status").read_text()
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))


@pytest.mark.parametrize("path", ["/v1/memories/mem-9999/assets", "/v1/memories/..%2f..%2fetc/assets"])
def test_what_is_not_there_gets_no_bytes(served: Served, path: str):
    assert send(served, "POST", path, b"hello")[0] == 404
    assert send(served, "GET", f"{path}/passwd")[0] == 404
    assert send(served, "GET", path)[0] == 404


def test_a_path_of_the_servers_own_cannot_be_attached(served: Served, memory: str):
    path = f"/v1/memories/{memory}/assets?file=/etc/passwd"

    assert send(served, "POST", path, b"hello")[0] == 422
    assert send(served, "GET", f"/v1/memories/{memory}/assets/a?path=/tmp/x&overwrite=true")[0] == 404
