"""Requests that nobody of ours sends: other hosts, other sites, borrowed tokens, headers that lie, forged forms."""

import socket
from collections.abc import Callable, Iterator

import pytest

from attacks.doors import Answer, House, house
from attacks.ledger import tried


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("requests")) as one:
        assert one.ask("POST", "/v1/memories", '{"text": "The vault is behind the quokka"}').status == 200
        yield one


Door = Callable[..., Answer]
DOORS: dict[str, Callable[[House], Door]] = {
    "HTTP": lambda home: lambda **headers: home.ask("GET", "/v1/memories", **headers),
    "MCP": lambda home: lambda **headers: home.tool("list", {}, **headers),
    "web": lambda home: lambda **headers: home.form("/web/undo", {"event": "1"}, **headers),
}
at_every_door = pytest.mark.parametrize("surface", DOORS)


def refused(answer: Answer, status: int) -> int:
    """The status, which must be this one, with nothing of a memory beside it."""
    assert answer.status == status, answer
    assert "quokka" not in answer.body
    return answer.status


def test_what_is_as_it_should_be_is_answered(home: House):
    """Without this, a door that is always shut would pass for a safe one."""
    assert "quokka" in DOORS["HTTP"](home)().body
    assert "quokka" in DOORS["MCP"](home)().body
    made = home.ask("POST", "/v1/memories", '{"text": "A word to take back"}').json["event"]
    assert home.form("/web/undo", {"event": str(made)}).status in (200, 303)


@at_every_door
@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "127.0.0.1:1", "localhost", "[::1]@evil.example", "2130706433"],
)
def test_a_name_that_was_made_to_lead_here_opens_nothing(home: House, surface: str, host: str):
    tried("A DNS name that leads to this machine", surface, refused(DOORS[surface](home)(host=host), 421))


@at_every_door
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://localhost:3000"])
def test_a_page_of_another_site_opens_nothing(home: House, surface: str, origin: str):
    tried("A page of another site, with all that opens", surface, refused(DOORS[surface](home)(origin=origin), 403))


@at_every_door
@pytest.mark.parametrize("borrowed", ["none", "cut", "as a password", "in the address", "the cookie of the page"])
def test_what_opens_one_door_opens_no_other(home: House, surface: str, borrowed: str):
    cookie, csrf = home.visit()
    token = home.served.token
    said = {
        "none": {},
        "cut": {"authorization": f"Bearer {token[:-1]}"},
        "as a password": {"authorization": f"Basic {token}"},
        "in the address": {},
        "the cookie of the page": {"cookie": cookie},
    }[borrowed]
    if surface == "web":
        named = f"Bearer {token}" if borrowed == "none" else said.get("authorization", "")
        cookies = {"cookie": f"token={token}" if borrowed != "none" else "none=none"}
        answer = home.form("/web/undo", {"event": "1", "csrf": csrf}, authorization=named, **cookies)
    elif borrowed == "in the address":
        path = "/v1/memories" if surface == "HTTP" else "/mcp"
        answer = home.ask("GET", f"{path}?token={token}&access_token={token}", authorization="")
    else:
        answer = DOORS[surface](home)(**{"authorization": "", **said})
    tried("A token or cookie that is not for this, or not whole", surface, refused(answer, 401))


FORGED = {"no word": "", "a made-up word": "A" * 43, "the word of another visit": "another"}


@pytest.mark.parametrize("forged", FORGED)
def test_a_form_without_the_word_of_its_visit_is_not_taken(home: House, forged: str):
    csrf = home.visit()[1] if forged == "the word of another visit" else FORGED[forged]
    tried("A form that another page made (CSRF)", "web", refused(home.form("/web/undo", {"csrf": csrf}), 403))


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_nothing_is_changed_by_following_a_link(home: House, method: str):
    cookie, csrf = home.visit()
    history = "/v1/history?limit=100"
    before = home.ask("GET", history).json["events"]
    answer = home.ask(method, f"/web/undo?event=1&csrf={csrf}", authorization="", cookie=cookie, origin=home.origin)

    assert before
    assert home.ask("GET", history).json["events"] == before
    tried("A link that would change something", "web", refused(answer, 405))


LIES = {
    "another method": {"mcp_method": "tools/list"},
    "another tool": {"mcp_name": "remember"},
    "another revision": {"mcp_protocol_version": "2025-06-18"},
    "a revision that is none": {"mcp_protocol_version": "tomorrow"},
}


@pytest.mark.parametrize("lie", LIES)
def test_headers_that_say_other_than_the_message_are_refused(home: House, lie: str):
    answer = home.tool("list", {}, **LIES[lie])
    tried("Headers that say other than the message", "MCP", refused(answer, 400))


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_a_form_cannot_pass_for_a_message(home: House, kind: str):
    """What a page of another site may send without asking a browser first."""
    answer = home.tool("list", {}, content_type=kind)
    tried("A simple request of a browser that passes for a message", "MCP", refused(answer, answer.status))
    assert 400 <= answer.status < 500


WITHIN = "GET /v1/memories HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\r\n"
ENDS = {
    "two lengths": "Content-Length: 4\r\nContent-Length: 60\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a length and chunks": "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and a length": "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n",
    "chunks of a kind": "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "a folded line": "Transfer-Encoding:\r\n chunked\r\nContent-Length: 0\r\n\r\n",
    "a name with a space": "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "a length with a sign": "Content-Length: +0\r\n\r\n",
}


def test_two_requests_that_say_where_they_end_are_both_answered(home: House):
    """Without this, a connection that ends after any request would pass for a safe one."""
    inner = WITHIN.format(port=home.served.port, token=home.served.token)
    last = inner.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")
    with socket.create_connection(("127.0.0.1", home.served.port), timeout=30) as wire:
        wire.sendall((inner + last).encode())
        told = b"".join(iter(lambda: wire.recv(65536), b"")).decode()

    assert (told.count("HTTP/1.1 200"), told.count('"memories"')) == (2, 2)


@pytest.mark.parametrize("path", ["/v1/memories", "/mcp", "/healthz", "/web/inbox"])
@pytest.mark.parametrize("ends", ENDS)
def test_a_request_that_says_in_two_ways_where_it_ends_is_the_last_on_its_connection(
    home: House, ends: str, path: str
):
    """Two that read one connection must not disagree about where a request ends."""
    inner = WITHIN.format(port=home.served.port, token=home.served.token)
    outer = inner.replace("GET /v1/memories", f"POST {path}").removesuffix("\r\n")
    with socket.create_connection(("127.0.0.1", home.served.port), timeout=30) as wire:
        wire.sendall((outer + ENDS[ends] + inner).encode())
        told = b"".join(iter(lambda: wire.recv(65536), b"")).decode()

    assert told.count("HTTP/1.1 ") == 1
    assert '"memories"' not in told
    tried("A request within a request", "HTTP", refused(Answer(int(told.split()[1]), {}, told), 400))
