"""A real server on this machine that answers well, slowly, wrongly, or not at all."""

import json
import math
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from engram import transport
from engram.errors import Invalid, Unavailable
from engram.inference import endpoint as module
from engram.inference.endpoint import Endpoint
from engram.model.query import Space
from inference.serving import Reply, Server, send, serving

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(good) as one:
        yield one


@pytest.fixture
def other() -> Iterator[Server]:
    with serving(good) as one:
        yield one


def vectors(texts: list[str], dim: int = 4) -> list[dict[str, Any]]:
    """One that tells the text's length and place, so that a test can see which text it belongs to."""
    return [
        {"object": "embedding", "index": place, "embedding": [float(len(text)), place, *[1.0] * (dim - 2)]}
        for place, text in enumerate(texts)
    ]


def good(handler: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
    send(handler, 200, json.dumps({"data": vectors(asked["input"]), "model": "m"}).encode())


def answering(body: object, status: int = 200, **headers: str) -> Reply:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda handler, _asked: send(handler, status, raw, **headers)


def first_then(first: Reply, second: Reply) -> Reply:
    replies = [first]

    def reply(handler: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        (replies.pop() if replies else second)(handler, asked)

    return reply


def ask(server: Server, dim: int = 4, **more: Any) -> Endpoint:
    return Endpoint(server.url, "m", dim, **{"timeout": 5.0, **more})


def read(vector: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(vector) // 4}f", vector)


# What is asked and answered


def test_vectors_come_in_order_and_of_unit_length(server: Server):
    found = [read(vector) for vector in ask(server).documents(["a", "bbb"])]

    assert found[0] == pytest.approx([1 / 3**0.5, 0, 1 / 3**0.5, 1 / 3**0.5])
    assert found[1] == pytest.approx([3 / 12**0.5, 1 / 12**0.5, 1 / 12**0.5, 1 / 12**0.5])
    assert all(math.hypot(*each) == pytest.approx(1) for each in found)


def test_the_request_is_what_the_api_describes(server: Server):
    ask(server, key=KEY).query("why?")

    assert server.paths == ["/v1/embeddings"]
    assert server.asked == [{"model": "m", "input": ["why?"], "encoding_format": "float"}]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert server.headers[0]["Content-Type"] == "application/json"


def test_without_a_key_none_is_sent(server: Server):
    ask(server).query("why?")

    assert "Authorization" not in server.headers[0]


def test_the_endpoint_puts_its_instruction_before_questions_and_the_caller_the_prefix_before_texts(server: Server):
    one = ask(server, query_instruction="query: ", document_instruction="passage: ")
    one.query("why?")
    one.documents([one.space.prefix + "because"])

    assert [asked["input"] for asked in server.asked] == [["query: why?"], ["passage: because"]]
    assert one.space == Space("endpoint/m", 4, "passage: ")


def test_many_texts_go_in_batches_over_one_connection(server: Server):
    texts = ["x" * (1 + number) for number in range(70)]

    found = ask(server).documents(texts)

    assert [len(asked["input"]) for asked in server.asked] == [32, 32, 6]
    assert server.connections == 1
    assert len(found) == 70
    assert [round(read(each)[0] / read(each)[2]) for each in found] == list(range(1, 71))


def test_no_texts_ask_nothing(server: Server):
    assert ask(server).documents([]) == []
    assert server.asked == []


def test_vectors_in_another_order_are_put_right_by_their_index(server: Server):
    server.reply = lambda handler, asked: send(
        handler, 200, json.dumps({"data": vectors(asked["input"])[::-1]}).encode()
    )

    found = ask(server).documents(["a", "bb", "ccc"])

    assert [round(read(each)[0] / read(each)[2]) for each in found] == [1, 2, 3]


def test_vectors_without_an_index_count_in_the_order_they_come(server: Server):
    server.reply = answering({"data": [{"embedding": [1, 0, 0, 0]}, {"embedding": [0, 2, 0, 0]}]})

    assert [read(each) for each in ask(server).documents(["a", "b"])] == [(1, 0, 0, 0), (0, 1, 0, 0)]


@pytest.mark.parametrize("text", ["", "  \n", "\0", "\ud800", "🙂", "x" * 1_000_000], ids=repr)
def test_any_text_can_be_sent(server: Server, text: str):
    assert len(ask(server).query(text)) == 16

    (sent,) = server.asked[0]["input"]
    assert sent.strip()
    assert len(sent) <= module.CUT


def test_longer_vectors_are_asked_to_be_shortened_once_and_from_then_on(server: Server):
    server.reply = lambda handler, asked: send(
        handler, 200, json.dumps({"data": vectors(asked["input"], asked.get("dimensions", 8))}).encode()
    )
    one = ask(server)

    assert len(one.query("a")) == len(one.query("b")) == 16
    assert [asked.get("dimensions") for asked in server.asked] == [None, 4, 4]


def test_threads_may_share_an_endpoint(server: Server):
    one = ask(server)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda size: one.query("x" * size), range(1, 33)))

    assert [round(read(each)[0] / read(each)[2]) for each in found] == list(range(1, 33))


def test_a_connection_that_was_closed_meanwhile_is_opened_again(server: Server):
    one = ask(server)
    one.query("a")
    (idle,) = one._web._idle
    assert idle.sock is not None
    idle.sock.shutdown(socket.SHUT_RDWR)

    assert one.query("b")


def test_the_path_may_be_whole_or_missing_and_keeps_its_query(server: Server):
    base = server.url.removesuffix("/v1")
    for url in (base, f"{base}/", f"{base}/v1/", f"{base}/v1/embeddings", f"{base}/api/embeddings?version=2"):
        Endpoint(url, "m", 4).query("a")

    assert server.paths == [*["/v1/embeddings"] * 4, "/api/embeddings?version=2"]


# What goes wrong: always Unavailable, with the next step, and never with the key


def chunked(handler: BaseHTTPRequestHandler, _asked: dict[str, Any]) -> None:
    """An answer without end."""
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    while True:
        handler.wfile.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")


def too_long(handler: BaseHTTPRequestHandler, _asked: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(1 << 40))
    handler.end_headers()


def cut_short(handler: BaseHTTPRequestHandler, _asked: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"data": [')
    handler.close_connection = True


def hang_up(handler: BaseHTTPRequestHandler, _asked: dict[str, Any]) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def nonsense(handler: BaseHTTPRequestHandler, _asked: dict[str, Any]) -> None:
    handler.wfile.write(b"220 mail.example.org ESMTP\r\n\r\n")
    handler.close_connection = True


def embedding(*numbers: object) -> dict[str, Any]:
    return {"data": [{"index": 0, "embedding": list(numbers)}]}


WRONG: dict[str, tuple[Reply, str]] = {
    "shorter vectors": (answering(embedding(1, 2)), "vectors of 2 numbers; 4 are configured"),
    "longer vectors that cannot be shortened": (answering(embedding(1, 2, 3, 4, 5)), "vectors of 5 numbers"),
    "no vector": (answering({"data": []}), "0 vectors for 1 texts"),
    "two vectors for one text": (answering({"data": vectors(["a", "b"])}), "2 vectors for 1 texts"),
    "a strange index": (answering({"data": [{"index": 7, "embedding": [1, 2, 3, 4]}]}), "numbered them otherwise"),
    "NaN": (answering(embedding(1, math.nan, 0, 0)), "no direction"),
    "infinity": (answering(embedding(1, math.inf, 0, 0)), "no direction"),
    "a number beyond any float": (answering(embedding(10**400, 1, 0, 0)), "no direction"),
    "zero": (answering(embedding(0, 0, 0, 0)), "no direction"),
    "words for numbers": (answering(embedding("1", "2", "3", "4")), "not a number"),
    "truth for numbers": (answering(embedding(True, 1, 1, 1)), "not a number"),
    "null for numbers": (answering(embedding(None, 1, 1, 1)), "not a number"),
    "nothing for numbers": (answering(embedding()), "not a number"),
    "base64 for numbers": (answering({"data": [{"embedding": "AACAPwAAAAA="}]}), "not a number"),
    "HTML": (answering(b"<html>Welcome</html>", Content_Type="text/html"), "not a list of embeddings"),
    "nothing": (answering(b""), "not a list of embeddings"),
    "a list": (answering([1, 2]), "not a list of embeddings"),
    "null": (answering(b"null"), "not a list of embeddings"),
    "no data": (answering({"object": "list"}), "not a list of embeddings"),
    "words for data": (answering({"data": "abc"}), "not a list of embeddings"),
    "bytes that are no text": (answering(b"\xff\xfe\x00"), "not a list of embeddings"),
    "brackets without end": (answering(b"[" * 200_000), "not a list of embeddings"),
    "a body without end": (chunked, "more than 16 MiB"),
    "a body of a terabyte": (too_long, "more than 16 MiB"),
    "half a body": (cut_short, "not a list of embeddings"),
    "no answer at all": (hang_up, "cannot be reached"),
    "another protocol": (nonsense, "cannot be reached"),
    "500": (
        answering({"error": {"message": f"broken by {KEY}"}}, 500, Retry_After="0"),
        r"\(500\): broken by \*\*\*",
    ),
    "503 as a page": (answering(b"<html>", 503, Retry_After="0"), r"\(503\)\."),
    "429": (answering({"error": "slow down"}, 429, Retry_After="0"), r"\(429\): slow down"),
    "400": (answering({"message": "no such\n\x1b[31mthing"}, 400), r"\(400\): no such \[31mthing\."),
    "404 with another shape": (answering({"detail": [{"loc": 1}]}, 404), r"\(404\)\."),
    "401 that repeats the key": (answering({"error": {"message": f"bad key {KEY}"}}, 401), "refuses the key"),
    "403": (answering({}, 403), "refuses the key"),
    "200 with an error inside": (answering({"error": {"message": "model not loaded"}}), "not a list of embeddings"),
}


@pytest.mark.parametrize(("reply", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_answer_is_unavailable_with_the_next_step(server: Server, reply: Reply, said: str):
    server.reply = reply

    with pytest.raises(Unavailable, match=said) as refused:
        ask(server, key=KEY).query("a")

    told = "".join(traceback.format_exception(refused.value)) + repr(refused.value.body())
    assert KEY not in told
    assert server.url in refused.value.message
    assert "Recall by words works meanwhile." in refused.value.hint
    assert all(letter.isprintable() for letter in refused.value.message)


def test_one_wrong_vector_spoils_its_batch(server: Server):
    server.reply = answering({"data": [{"embedding": [1, 2, 3, 4]}, {"embedding": [1, 2, 3]}]})

    with pytest.raises(Unavailable, match="several lengths"):
        ask(server).documents(["a", "b"])


def test_an_index_given_twice_is_refused(server: Server):
    server.reply = answering({"data": [{"index": 0, "embedding": [1, 2, 3, 4]}] * 2})

    with pytest.raises(Unavailable, match="numbered them otherwise"):
        ask(server).documents(["a", "b"])


def test_a_key_is_asked_for_where_none_was_given(server: Server):
    server.reply = answering({}, 401)

    with pytest.raises(Unavailable, match="asks for a key") as refused:
        ask(server).query("a")

    assert "ENGRAM_EMBEDDER_KEY" in refused.value.hint


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_stumble_is_tried_once_more(server: Server, status: int):
    server.reply = first_then(answering({}, status, Retry_After="0"), good)

    assert ask(server).query("a")
    assert len(server.asked) == 2


def test_what_fails_twice_is_not_tried_again(server: Server):
    server.reply = answering({}, 503, Retry_After="0")

    with pytest.raises(Unavailable):
        ask(server).query("a")

    assert len(server.asked) == 2


def test_a_refusal_is_not_tried_again(server: Server):
    server.reply = answering({}, 400)

    with pytest.raises(Unavailable):
        ask(server).query("a")

    assert len(server.asked) == 1


def test_a_long_wait_that_the_endpoint_wishes_for_is_bounded(server: Server):
    server.reply = answering({}, 429, Retry_After="86400")
    start = time.monotonic()

    with pytest.raises(Unavailable):
        ask(server, timeout=0.5).query("a")

    assert time.monotonic() - start < 2


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed_and_the_key_goes_nowhere_else(server: Server, other: Server, status: int):
    server.reply = answering({}, status, Location=f"{other.url}/embeddings")

    with pytest.raises(Unavailable, match=r"sends on to 127\.0\.0\.1"):
        ask(server, key=KEY).query("a")

    assert other.headers == []


# What takes too long


def sleeping(handler: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
    time.sleep(3)
    good(handler, asked)


def dripping_body(handler: BaseHTTPRequestHandler, _asked: dict[str, Any]) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b" ")
        time.sleep(0.05)


def dripping_head(handler: BaseHTTPRequestHandler, _asked: dict[str, Any]) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    for _ in range(100):
        handler.wfile.write(b"z")
        time.sleep(0.05)


@pytest.mark.parametrize("reply", [sleeping, dripping_body, dripping_head], ids=lambda each: each.__name__)
def test_a_slow_answer_is_given_up_when_the_time_is_over(server: Server, reply: Reply):
    server.reply = reply
    start = time.monotonic()

    with pytest.raises(Unavailable, match=r"did not answer within 0\.3 seconds"):
        ask(server, timeout=0.3).query("a")

    assert time.monotonic() - start < 1.5


def test_an_answer_that_ends_at_the_moment_it_is_given_up_is_late_all_the_same(server: Server, monkeypatch):
    class Closing(HTTPConnection):
        """Closed by the thread that talks, as soon as whoever waits has looked once."""

        looks = 0

        @property
        def sock(self) -> socket.socket | None:
            self.looks += threading.current_thread() is threading.main_thread()
            return self._kept if self.looks < 2 else None

        @sock.setter
        def sock(self, opened: socket.socket | None) -> None:
            self._kept = opened

    monkeypatch.setattr(transport, "HTTPConnection", Closing)
    server.reply = sleeping

    with pytest.raises(Unavailable, match="did not answer within"):
        ask(server, timeout=0.3).query("a")


def test_an_endpoint_answers_again_after_it_was_given_up_once(server: Server):
    server.reply = first_then(dripping_body, good)
    one = ask(server, timeout=0.3)
    with pytest.raises(Unavailable):
        one.query("a")

    assert one.query("b")


def test_a_port_that_nobody_listens_at_is_said(server: Server):
    server.close()

    with pytest.raises(Unavailable, match="cannot be reached: Connection refused"):
        ask(server).query("a")


# Addresses


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost",
        "localhost:8080/v1",
        "ftp://127.0.0.1/v1",
        "file:///etc/passwd",
        "https://",
        "https:///v1",
        "https://host:port/v1",
        "https://host:99999/v1",
        "https://ho st/v1",
        "https://host/v1\r\nX: y",
        "https://[::1/v1",
        "https://user:secret@host/v1",
        "https://secret@host/v1",
        "http://example.org/v1",
        "http://10.0.0.5:11434/v1",
        "http://0.0.0.0:8080/v1",
        "http://127.0.0.1.example.org/v1",
        "http://localhost.example.org/v1",
        "http://127.1@example.org/v1",
    ],
)
def test_an_address_that_cannot_be_used_is_refused_before_anything_is_sent(url: str):
    with pytest.raises(Invalid) as refused:
        Endpoint(url, "m", 4)

    assert refused.value.hint
    assert "secret" not in refused.value.message


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.8.8", "[::1]"])
def test_this_machine_may_be_asked_in_the_clear(host: str):
    assert Endpoint(f"http://{host}:8080/v1", "m", 4).space.dim == 4


def test_https_verifies_the_certificate_and_the_name():
    context = Endpoint("https://example.org/v1", "m", 4)._web._connection()._context

    assert context.verify_mode is ssl.CERT_REQUIRED
    assert context.check_hostname


def test_https_to_what_does_not_speak_it_is_unavailable(server: Server):
    with pytest.raises(Unavailable, match="cannot be reached"):
        Endpoint(server.url.replace("http", "https"), "m", 4, key=KEY).query("a")

    assert server.headers == []


@pytest.mark.parametrize("key", ["two\nlines", "tab\t", "ключ", "nul\0"])
def test_a_key_that_no_header_can_carry_is_refused_unseen(key: str):
    with pytest.raises(Invalid) as refused:
        Endpoint("https://example.org/v1", "m", 4, key=key)

    assert key not in str(refused.value.body())


@pytest.mark.parametrize("dim", [0, -1, 100_000])
def test_a_length_that_no_vector_has_is_refused(dim: int):
    with pytest.raises(Invalid):
        Endpoint("https://example.org/v1", "m", dim)


def test_the_key_is_in_no_description_of_the_endpoint(server: Server):
    one = ask(server, key=KEY)

    assert KEY not in f"{one!r} {one} {one.space}"


def test_an_endpoint_loads_no_model_library():
    code = "import sys, engram.inference.endpoint; print({'numpy', 'onnxruntime'} & set(sys.modules))"

    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "set()"
