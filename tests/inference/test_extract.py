"""A real server on this machine that finds things in a talk, or refuses, stumbles, drips and talks nonsense."""

import json
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from engram.errors import Invalid
from engram.inference.extract import MOST_FOUND, ChatExtractor
from engram.model.extraction import Extracted, Extraction
from inference.serving import Reply, Server, send, serving

KEY = "sk-very-secret-0123456789"
TALK = [("user", "We deploy on Fridays."), ("assistant", "Noted.")]
KINDS = ["convention", "fact"]
ROW = {"text": "We deploy on Fridays", "kind": "convention", "confidence": 0.9, "message": 0}
FOUND = Extracted("We deploy on Fridays", "convention", 0.9, 0)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(finding(ROW)) as one:
        yield one


def saying(content: object, **more: object) -> Reply:
    body = {"choices": [{"message": {"role": "assistant", "content": content}}], **more}
    return lambda handler, _asked: send(handler, 200, json.dumps(body).encode())


def finding(*rows: object, **more: object) -> Reply:
    return saying(json.dumps({"memories": rows}), **more)


def refusing(status: int, body: object = None, **headers: str) -> Reply:
    return lambda handler, _asked: send(handler, status, json.dumps(body or {}).encode(), **headers)


def in_turn(*replies: Reply) -> Reply:
    left = list(replies)

    def reply(handler: BaseHTTPRequestHandler, asked: dict[str, Any]) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(handler, asked)

    return reply


def ask(server: Server, **more: Any) -> ChatExtractor:
    return ChatExtractor(server.url, "m", **{"timeout": 5.0, "pause": 0.0, **more})


# What is asked and answered


def test_what_a_model_finds_comes_back_with_its_message(server: Server):
    answer = ask(server).extract(TALK, KINDS)

    assert answer.found == (FOUND,)
    assert (answer.problem, answer.over, answer.dropped) == ("", False, 0)
    assert answer.tokens > 0


def test_the_request_is_what_the_api_describes(server: Server):
    ask(server, key=KEY).extract(TALK, KINDS)
    (asked,) = server.asked

    assert server.paths == ["/v1/chat/completions"]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert (asked["model"], asked["stream"], asked["temperature"]) == ("m", False, 0)
    assert [one["role"] for one in asked["messages"]] == ["system", "user"]
    assert "convention, fact" in asked["messages"][0]["content"]
    assert json.loads(asked["messages"][1]["content"]) == [
        {"message": 0, "role": "user", "text": "We deploy on Fridays."},
        {"message": 1, "role": "assistant", "text": "Noted."},
    ]


def test_without_a_key_none_is_sent(server: Server):
    ask(server).extract(TALK, KINDS)

    assert "Authorization" not in server.headers[0]


@pytest.mark.parametrize(
    "around", ["{}", "  {}\n", "```json\n{}\n```", "```\n{}\n```", "<think>hm { }</think>\n{}"]
)
def test_a_fence_or_a_thought_around_the_answer_is_taken_off(server: Server, around: str):
    server.reply = saying(around.replace("{}", json.dumps({"memories": [ROW]})))

    assert ask(server).extract(TALK, KINDS).found == (FOUND,)


@pytest.mark.parametrize(
    "content",
    [
        *("", "Here you are.", "[]", "null", '{"memories": null}', '{"memories": {"text": "x"}}', '{"other": []}'),
        *('Sure: {"memories": []}', '{"memories": []} and more', '{"memories": [', None, 7, [{"text": "{}"}]),
    ],
)
def test_an_answer_of_another_form_is_no_answer(server: Server, content: object):
    server.reply = saying(content)
    answer = ask(server).extract(TALK, KINDS)

    assert answer.found == ()
    assert "answers wrongly" in answer.problem
    assert not answer.over


@pytest.mark.parametrize("body", [b"", b"no json", b"[]", b'{"choices": []}', b'{"choices": [{}]}', b"[" * 100_000])
def test_a_body_of_another_form_is_no_answer(server: Server, body: bytes):
    server.reply = lambda handler, _asked: send(handler, 200, body)

    assert "answers wrongly" in ask(server).extract(TALK, KINDS).problem


@pytest.mark.parametrize(
    "row",
    [
        *(None, 7, "text", [], {}, {**ROW, "text": None}, {**ROW, "text": " "}, {**ROW, "text": "x" * 70_000}),
        *({**ROW, "message": 2}, {**ROW, "message": -1}, {**ROW, "message": "0"}, {**ROW, "message": True}),
        {name: value for name, value in ROW.items() if name != "message"},
    ],
)
def test_a_row_that_is_no_statement_or_cites_no_message_is_dropped(server: Server, row: object):
    server.reply = finding(row, ROW)
    answer = ask(server).extract(TALK, KINDS)

    assert (answer.found, answer.dropped) == ((FOUND,), 1)


@pytest.mark.parametrize(
    ("given", "kept"),
    [(2, 1.0), (-1, 0.0), ("high", 0.5), (None, 0.5), (True, 0.5), (float("nan"), 0.5), (0.25, 0.25)],
)
def test_a_confidence_is_a_number_from_0_to_1(server: Server, given: object, kept: float):
    server.reply = finding({**ROW, "confidence": given})

    assert ask(server).extract(TALK, KINDS).found[0].confidence == kept


@pytest.mark.parametrize("kind", ["unheard-of", None, 7, ["fact"], {}])
def test_a_kind_that_is_not_known_is_a_fact(server: Server, kind: object):
    server.reply = finding({**ROW, "kind": kind})

    assert ask(server).extract(TALK, KINDS).found[0].kind == "fact"


def test_of_very_many_rows_only_some_are_taken(server: Server):
    server.reply = finding(*[ROW] * 500)
    answer = ask(server).extract(TALK, KINDS)

    assert (len(answer.found), answer.dropped) == (MOST_FOUND, 500 - MOST_FOUND)


# When it must stop


@pytest.mark.parametrize("status", [401, 403, 429])
def test_after_a_refusal_nothing_more_is_sent(server: Server, status: int):
    server.reply = refusing(status, {"error": {"message": f"bad key {KEY}"}})
    extractor = ask(server, key=KEY)
    first, second = extractor.extract(TALK, KINDS), extractor.extract(TALK, KINDS)

    assert first.over
    assert second.over
    assert len(server.asked) == 1
    assert KEY not in first.problem + first.hint


def test_a_budget_of_requests_is_kept(server: Server):
    extractor = ask(server, most_calls=2)
    answers = [extractor.extract(TALK, KINDS) for _ in range(4)]

    assert [answer.over for answer in answers] == [False, False, True, True]
    assert len(server.asked) == 2
    assert "budget" in answers[2].problem


def test_a_budget_of_tokens_is_kept_before_anything_is_sent(server: Server):
    extractor = ask(server, most_tokens=100)

    assert extractor.extract(TALK, KINDS).over
    assert server.asked == []


def test_what_the_endpoint_counts_goes_before_the_estimate(server: Server):
    server.reply = finding(ROW, usage={"total_tokens": 7})
    needed = ask(server).cost(TALK, KINDS)
    extractor = ask(server, most_tokens=needed + 7)

    assert [extractor.extract(TALK, KINDS).tokens for _ in range(2)] == [7, 7]
    assert extractor.extract(TALK, KINDS).over


def test_a_repetition_counts_towards_the_budget(server: Server):
    server.reply = refusing(500)
    extractor = ask(server, most_calls=1)

    assert extractor.extract(TALK, KINDS).problem
    assert len(server.asked) == 1


def test_the_cost_is_estimated_without_asking(server: Server):
    short, long = ask(server).cost(TALK, KINDS), ask(server).cost([("user", "word " * 4000)], KINDS)

    assert long > short + 4000
    assert server.asked == []


# What goes wrong


def test_an_endpoint_that_stumbled_is_asked_once_more(server: Server):
    server.reply = in_turn(refusing(503), finding(ROW))

    assert ask(server).extract(TALK, KINDS).found == (FOUND,)
    assert len(server.asked) == 2


def test_an_endpoint_that_does_not_take_a_setting_is_asked_without_it(server: Server):
    server.reply = in_turn(refusing(400, {"error": {"message": "temperature is not supported"}}), finding(ROW))
    extractor = ask(server)
    extractor.extract(TALK, KINDS)
    extractor.extract(TALK, KINDS)

    assert ["temperature" in asked for asked in server.asked] == [True, False, False]


@pytest.mark.parametrize("status", [302, 400, 404, 500])
def test_an_endpoint_that_fails_is_said_so_and_may_be_asked_again(server: Server, status: int):
    server.reply = refusing(status, {"error": {"message": "no such model"}}, Location="http://127.0.0.1:1/")
    answer = ask(server).extract(TALK, KINDS)

    assert str(status) in answer.problem
    assert "no such model" in answer.problem
    assert not answer.over


def test_an_endpoint_that_is_not_there_is_said_so():
    answer = ChatExtractor("http://127.0.0.1:9/v1", "m", timeout=2.0).extract(TALK, KINDS)

    assert "cannot be used" in answer.problem
    assert isinstance(answer, Extraction)


def test_an_answer_that_drips_is_not_waited_for(server: Server):
    def drip(handler: BaseHTTPRequestHandler, _asked: object) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        for _ in range(100):
            handler.wfile.write(b" ")
            handler.wfile.flush()
            time.sleep(0.1)

    server.reply = drip
    begun = time.monotonic()
    answer = ask(server, timeout=0.5).extract(TALK, KINDS)

    assert "did not answer within 0.5 seconds" in answer.problem
    assert time.monotonic() - begun < 4


def test_an_answer_that_is_too_large_is_no_answer(server: Server):
    server.reply = lambda handler, _asked: send(handler, 200, b" " * (5 << 20))

    assert "MiB" in ask(server).extract(TALK, KINDS).problem


@pytest.mark.parametrize(
    "url",
    ["", "ftp://host/v1", "host", "http://example.org/v1", "https://user:pw@host/v1", "http://[::1", "https://"],
)
def test_an_address_that_cannot_be_used_is_refused(url: str):
    with pytest.raises(Invalid):
        ChatExtractor(url, "m")


def test_a_broken_key_is_refused_and_not_shown():
    with pytest.raises(Invalid) as refused:
        ChatExtractor("https://host/v1", "m", key="sk-broken\n0123")

    assert "broken" not in refused.value.message
