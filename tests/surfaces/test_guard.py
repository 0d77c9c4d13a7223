"""The guard of the local port: whom it lets through, and the token it asks for."""

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from engram.errors import Corrupt, EngramError, Forbidden, Invalid, Unauthenticated
from engram.surfaces.server.guard import Guard, Misdirected, token_at

TOKEN = "x" * 43
PORT = 7437
HERE = f"127.0.0.1:{PORT}"


def checked(path: str = "/mcp", *, port: int = PORT, **headers: str) -> None:
    """Put a request with these headers before the guard; one that names nothing has a good host and token."""
    said = {"host": HERE, "authorization": f"Bearer {TOKEN}", **headers}
    raw = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in said.items() if value]
    Guard(pytest.fail, TOKEN).check({"path": path, "headers": raw, "server": ("127.0.0.1", port)})


def refused(kind: type[EngramError], path: str = "/mcp", **headers: str) -> EngramError:
    """The refusal of a request; it tells the next step."""
    with pytest.raises(kind) as caught:
        checked(path, **headers)
    assert caught.value.hint
    return caught.value


# Requests


def test_a_request_of_this_machine_with_the_token_passes():
    checked()
    checked(authorization=f"bearer {TOKEN}")


@pytest.mark.parametrize("host", [HERE, f"localhost:{PORT}", f"LOCALHOST:{PORT}", f"[::1]:{PORT}"])
def test_every_name_of_this_machine_is_served(host: str):
    checked(host=host)
    checked(origin=f"http://{host}")


def test_the_port_of_the_web_need_not_be_said():
    checked(port=80, host="localhost")
    checked(port=80, host="[::1]")


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        f"evil.example:{PORT}",
        f"127.0.0.1.evil.example:{PORT}",
        f"localhost.evil.example:{PORT}",
        "127.0.0.1",
        "127.0.0.1:1",
        "127.0.0.1:",
        f"127.0.0.2:{PORT}",
        f"0.0.0.0:{PORT}",
        f"[::2]:{PORT}",
        "::1",
        f"localhost:{PORT}@evil.example",
        f"user@localhost:{PORT}",
    ],
)
def test_a_request_for_another_host_is_misdirected(host: str):
    assert refused(Misdirected, host=host).http_status == 421


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        f"https://{HERE}",
        "null",
        f"http://{HERE}.evil.example",
        "http://localhost:3000",
        "file://",
    ],
)
def test_a_page_of_another_site_is_refused_even_with_the_token(origin: str):
    assert refused(Forbidden, origin=origin).http_status == 403
    refused(Forbidden, "/health", origin=origin)


@pytest.mark.parametrize(
    "given",
    ["", "Bearer", "Bearer ", "Bearer wrong", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", "Bearer \xff\xfe"],
)
def test_no_token_or_a_wrong_one_is_unauthenticated(given: str):
    assert refused(Unauthenticated, authorization=given).http_status == 401


def test_a_sign_of_life_needs_no_token_and_the_right_host():
    checked("/health", authorization="")
    refused(Misdirected, "/health", authorization="", host="evil.example")
    refused(Unauthenticated, "/healthy", authorization="")


def test_a_request_that_says_it_is_too_long_is_refused_before_it_is_read():
    checked(content_length=str(4 * 1024 * 1024))
    refused(Invalid, content_length="10000000")
    refused(Unauthenticated, content_length="10000000", authorization="")


def test_a_refusal_is_answered_in_the_one_form_of_errors():
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def ask() -> None:
        scope = {
            "type": "http",
            "path": "/mcp",
            "headers": [(b"host", HERE.encode())],
            "server": ("127.0.0.1", PORT),
        }
        await Guard(pytest.fail, TOKEN)(scope, None, send)

    anyio.run(ask)
    start, body = sent
    headers = dict(start["headers"])
    assert start["status"] == 401
    assert headers[b"www-authenticate"].startswith(b"Bearer")
    assert headers[b"cache-control"] == b"no-store"
    assert int(headers[b"content-length"]) == len(body["body"])
    assert b'"code": "unauthenticated"' in body["body"]


# The token's file


def test_the_token_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path):
    path = tmp_path / "data" / "token"
    token = token_at(str(path))

    assert len(token) >= 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert token_at(str(path)) == token
    assert [one.name for one in path.parent.iterdir()] == ["token"]


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o604, 0o610])
def test_a_token_that_others_may_read_is_refused_with_the_command_that_mends_it(tmp_path: Path, mode: int):
    path = tmp_path / "Ada's data; all of $HOME" / "token"
    token = token_at(str(path))
    path.chmod(mode)
    with pytest.raises(Corrupt, match="Others may read") as caught:
        token_at(str(path))

    command = caught.value.hint.partition(": ")[2]
    subprocess.run(["sh", "-c", command], check=True)
    assert token_at(str(path)) == token


def test_a_link_is_not_followed(tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("x" * 40)
    elsewhere.chmod(0o600)
    for target in (elsewhere, tmp_path / "not there"):
        link = tmp_path / f"token to {target.name}"
        link.symlink_to(target)
        with pytest.raises(Corrupt, match="cannot be used"):
            token_at(str(link))
    assert not (tmp_path / "not there").exists()


def test_what_is_no_file_is_refused_and_waited_for_by_nobody(tmp_path: Path):
    (tmp_path / "folder").mkdir(mode=0o700)
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("folder", "pipe"):
        with pytest.raises(Corrupt, match="is not a file"):
            token_at(str(tmp_path / name))


@pytest.mark.parametrize("held", ["", "short\n", " " * 100])
def test_a_file_without_a_token_is_refused(tmp_path: Path, held: str):
    path = tmp_path / "token"
    path.write_text(held)
    path.chmod(0o600)
    with pytest.raises(Corrupt, match="holds no token") as caught:
        token_at(str(path))
    assert f"rm {path}" in caught.value.hint


def test_two_that_start_at_once_agree_on_one_token(tmp_path: Path):
    program = "import sys; from engram.surfaces.server.guard import token_at; print(token_at(sys.argv[1]))"
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "new" / "token")], stdout=subprocess.PIPE)
        for _ in range(6)
    ]
    tokens = [process.communicate(timeout=30)[0] for process in started]

    assert len(set(tokens)) == 1
    assert len(tokens[0].strip()) >= 32


def test_what_is_no_request_of_ours_is_not_let_in():
    sent = []

    async def ask() -> None:
        async def send(message: dict[str, object]) -> None:
            sent.append(message)

        await Guard(lambda *_: pytest.fail("it was let in"), "token")({"type": "websocket"}, None, send)

    anyio.run(ask)
    assert sent == [{"type": "websocket.close", "code": 1008}]
