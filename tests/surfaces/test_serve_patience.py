"""Clients that take their time: a head or a body that does not go on is given up, and others are served."""

import json
import socket
import time
from collections.abc import Iterator

import pytest

from surfaces.mcp_clients import Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("slow"), ENGRAM_EMBEDDER="none", ENGRAM_SLOW_SECONDS="1") as one:
        yield one


def head(served: Served, method: str, path: str, length: int) -> bytes:
    return (
        f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1:{served.port}\r\nauthorization: Bearer {served.token}\r\n"
        f"content-length: {length}\r\n\r\n"
    ).encode()


def ended(line: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    line.settimeout(10)
    said = b""
    while block := line.recv(65536):
        said += block
    return said


@pytest.mark.parametrize("said", [b"", b"GET /v1/sta", b"GET /v1/stats HTTP/1.1\r\nhost: 127"])
def test_a_head_that_does_not_come_ends_the_connection(served: Served, said: bytes):
    with socket.create_connection(("127.0.0.1", served.port)) as line:
        line.sendall(said)
        began = time.monotonic()

        assert ended(line) == b""
        assert 0.5 < time.monotonic() - began < 8


def test_a_second_head_that_does_not_come_ends_the_connection_too(served: Served):
    with socket.create_connection(("127.0.0.1", served.port)) as line:
        line.sendall(head(served, "GET", "/v1/stats", 0) + b"GET /v1/st")

        assert ended(line).count(b"HTTP/1.1 200") == 1


@pytest.mark.parametrize("path", ["/v1/memories", "/v1/memories/mem-0001/assets", "/mcp"])
def test_a_body_that_does_not_go_on_is_given_up_with_a_word(served: Served, path: str):
    with socket.create_connection(("127.0.0.1", served.port)) as line:
        line.sendall(head(served, "POST", "/v1/memories", 24) + b'{"text":"The net is out"}'[:24])
    with socket.create_connection(("127.0.0.1", served.port)) as line:
        line.sendall(head(served, "POST", path, 1000) + b'{"text": ')
        answer = ended(line)

    assert answer.split(b"\r\n")[0].split()[1] in (b"408", b"404")
    if b" 408 " in answer:
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "invalid"


def test_a_client_that_is_slow_but_goes_on_is_served(served: Served):
    body = json.dumps({"text": "The patient net holds"}).encode()
    with socket.create_connection(("127.0.0.1", served.port)) as line:
        line.sendall(head(served, "POST", "/v1/memories", len(body)))
        for at in range(0, len(body), 10):
            time.sleep(0.4)
            line.sendall(body[at : at + 10])
        line.settimeout(10)

        assert b" 200 " in line.recv(65536).split(b"\r\n")[0]


def test_others_are_served_while_many_wait(served: Served):
    lines = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(60)]
    for line in lines:
        line.sendall(head(served, "POST", "/v1/memories", 1000) + b"{")
    with socket.create_connection(("127.0.0.1", served.port)) as line:
        began = time.monotonic()
        line.sendall(head(served, "GET", "/v1/stats", 0))
        line.settimeout(10)

        assert b" 200 " in line.recv(65536)
        assert time.monotonic() - began < 5
    for line in lines:
        line.close()
