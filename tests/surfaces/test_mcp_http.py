"""`engram serve`: the same server over HTTP, behind its guard, on this machine only."""

import http.client
import json
import signal
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

import engram
from surfaces.driving import Driver, child
from surfaces.mcp_clients import Served, held, over_http, serving

INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


def answered(
    served: Served, method: str = "POST", path: str = "/mcp", body: Any = b"{}", **headers: str
) -> tuple[int, dict[str, Any]]:
    """Status and JSON of one bare request; it carries the token unless it says otherwise."""
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    said = {"authorization": f"Bearer {served.token}", **headers}
    connection.request(
        method, path, body, {name.replace("_", "-"): value for name, value in said.items() if value != ""}
    )
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, json.loads(text) if text.startswith(b"{") else {"text": text.decode()}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all requests that change nothing."""
    with serving(tmp_path_factory.mktemp("served")) as one:
        yield one


# The guard, on the wire


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"authorization": ""}, 401, "unauthenticated"),
        ({"authorization": "Bearer wrong"}, 401, "unauthenticated"),
        ({"host": "evil.example"}, 421, "misdirected"),
        ({"origin": "http://evil.example"}, 403, "forbidden"),
    ],
    ids=["no token", "a wrong token", "another host", "a foreign page"],
)
@pytest.mark.parametrize("path", ["/mcp", "/", "/anything"])
def test_whoever_may_not_is_refused_on_every_path(
    served: Served, path: str, headers: dict[str, str], status: int, code: str
):
    for method in ("GET", "POST", "DELETE", "OPTIONS"):
        told, body = answered(served, method, path, **headers)
        assert (told, body["code"]) == (status, code)


def test_a_page_of_its_own_may_call(served: Served):
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}
    status, _ = answered(
        served,
        body=json.dumps(message),
        origin=f"http://127.0.0.1:{served.port}",
        content_type="application/json",
        accept="application/json, text/event-stream",
    )

    assert status == 200


def test_a_sign_of_life_says_nothing_of_the_memory(served: Served):
    status, body = answered(served, "GET", "/health", None, authorization="")

    assert status == 200
    assert set(body) == {"status", "version"}


def test_ten_megabytes_are_too_much_whether_they_say_so_or_not(served: Served):
    def parts() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * 100_000

    heads = {"content_type": "application/json", "accept": "application/json, text/event-stream"}
    assert answered(served, body=b"x" * 10_000_000, **heads)[0] == 413
    assert answered(served, body=parts(), **heads)[0] == 413
    assert answered(served, "GET", "/health", None)[0] == 200


def test_what_is_no_message_is_a_bad_request(served: Served):
    heads = {"content_type": "application/json", "accept": "application/json, text/event-stream"}
    for body in (b"{not json", b"[]", b"", b"\xff"):
        assert answered(served, body=body, **heads)[0] == 400


# The process


def test_the_token_file_is_the_owners_alone_and_stays(tmp_path: Path):
    with serving(tmp_path) as first:
        (path,) = tmp_path.rglob("token")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with serving(tmp_path) as second:
        assert second.token == first.token


def test_a_loose_token_file_stops_it_at_the_start(tmp_path: Path):
    with serving(tmp_path):
        (path,) = tmp_path.rglob("token")
    path.chmod(0o644)
    done = child(tmp_path, "serve", "--port", "0")

    assert done.code == 8
    assert f"chmod 600 {path}" in done.err


def test_a_taken_port_is_unavailable(served: Served, tmp_path: Path):
    done = child(tmp_path, "serve", "--port", str(served.port))

    assert done.code == 7
    assert str(served.port) in done.err
    assert "--port 0" in done.err


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.com", ""])  # noqa: S104 - to be refused
def test_other_machines_are_never_served(tmp_path: Path, host: str):
    done = child(tmp_path, "serve", "--host", host, "--port", "0")

    assert done.code == 2
    assert "127.0.0.1" in done.err


@pytest.mark.parametrize("port", ["-1", "65536", "http", "", "٣"])
def test_what_is_no_port_is_refused(tmp_path: Path, port: str):
    assert child(tmp_path, "serve", "--port", port).code == 2


def test_it_serves_on_the_newer_address_too(tmp_path: Path):
    if not _has_ipv6():
        assert child(tmp_path, "serve", "--host", "::1", "--port", "0").code == 7
        return
    with serving(tmp_path, "--host", "::1") as served:
        connection = http.client.HTTPConnection("::1", served.port, timeout=30)
        connection.request("GET", "/health")
        assert served.url == f"http://[::1]:{served.port}/mcp"
        assert connection.getresponse().status == 200


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_when_it_is_told_to_though_a_client_is_connected(tmp_path: Path, number: signal.Signals):
    async def stop() -> None:
        async with over_http(served, "auto") as client:
            await client.call_tool("remember", {"text": "We deploy on Fridays"})
            served.process.send_signal(number)
            await anyio.to_thread.run_sync(served.process.wait, 15)

    with serving(tmp_path) as served:
        anyio.run(stop)

    assert served.process.returncode == 0
    with engram.open(str(tmp_path / "store.db")) as memory:
        assert [one.text for one in memory.list(everywhere=True).memories] == ["We deploy on Fridays"]


def test_it_stops_when_it_is_told_to_though_a_call_waits_for_the_store(engram: Driver):
    engram.remember("We deploy on Fridays")

    async def waiting(client: Client) -> None:
        with pytest.raises(MCPError):
            await client.call_tool("remember", {"text": "Invoices go out on the 3rd"})

    async def stop(served: Served) -> None:
        async with over_http(served, "auto") as client, anyio.create_task_group() as group:
            group.start_soon(waiting, client)
            await anyio.sleep(1)  # until it waits
            served.process.terminate()
            await anyio.to_thread.run_sync(served.process.wait, 15)

    with held(engram.store), serving(engram.folder) as served:
        anyio.run(stop, served)
    assert [memory["text"] for memory in engram("list", "--json").json["memories"]] == ["We deploy on Fridays"]


def test_two_agents_over_http_and_a_person_share_one_store(engram: Driver):
    async def write(served: Served, era: str) -> None:
        async with over_http(served, era) as client:
            for number in range(10):
                result = await client.call_tool("remember", {"text": f"{era} knows fact number {number}"})
                assert not result.is_error, result.content

    async def both(served: Served) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(write, served, "auto")
            group.start_soon(write, served, "legacy")

    with serving(engram.folder) as served:
        anyio.run(both, served)
        engram.remember("The person knows one more")

    listed = engram("list", "--limit", "100", "--json").json["memories"]
    assert len(listed) == 21
    assert engram("doctor").code == 0
