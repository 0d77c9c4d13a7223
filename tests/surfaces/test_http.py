"""The HTTP API on the wire: who speaks, what a revision guards, and what bad requests are told."""

import http.client
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from engram.errors import TABLE
from engram.service import Engram
from engram.surfaces.http.openapi import describe
from engram.surfaces.http.routes import application, resources
from engram.surfaces.server.telling import INTERNAL, Counting, Lines, Metrics, route_of
from surfaces.asgi import asked
from surfaces.driving import child
from surfaces.mcp_clients import Served, serving


class Answer(NamedTuple):
    """What came back."""

    status: int
    body: Any
    headers: dict[str, str]


def ask(served: Served, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    said = {"authorization": f"Bearer {served.token}", **{k.replace("_", "-"): v for k, v in headers.items()}}
    sent = body if isinstance(body, bytes | None) else json.dumps(body)
    connection.request(method, path, sent, {name: value for name, value in said.items() if value})
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return Answer(answer.status, json.loads(text), {k.lower(): v for k, v in answer.getheaders()})


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served"), ENGRAM_EMBEDDER="none") as one:
        yield one


def remembered(served: Served, text: str, **more: Any) -> str:
    return ask(served, "POST", "/v1/memories", {"text": text, **more}).body["memory"]["handle"]


def test_a_memory_is_saved_found_revised_and_forgotten(served: Served):
    handle = remembered(served, "The zebra runs at night")
    found = ask(served, "GET", "/v1/recall?question=zebra&limit=1").body

    assert [hit["memory"]["handle"] for hit in found["hits"]] == [handle]
    assert ask(served, "PATCH", f"/v1/memories/{handle}", {"text": "The zebra sleeps at night"}).status == 200
    assert ask(served, "POST", f"/v1/memories/{handle}/forget", {"reason": "moved"}).status == 200
    assert ask(served, "GET", "/v1/recall?question=zebra").body["hits"] == []


def test_a_revision_guards_a_change(served: Served):
    handle = remembered(served, "The giraffe is tall")
    path = f"/v1/memories/{handle}"
    tag = ask(served, "PATCH", path, {"importance": 7}).headers["etag"]
    late = ask(served, "PATCH", path, {"importance": 3}, if_match='"1"')

    assert (late.status, late.body["code"]) == (409, "conflict")
    assert ask(served, "PATCH", path, {"importance": 4}, if_match=tag).status == 200
    read = ask(served, "GET", path)
    assert read.headers["etag"] == f'"{read.body["memories"][0]["revision"]}"' != tag
    assert "etag" not in ask(served, "GET", "/v1/memories?limit=1").headers  # it is about no one memory
    assert ask(served, "GET", "/v1/stats", if_match='"1"').status == 422


def test_a_person_decides_and_an_agent_does_not(served: Served):
    handle = remembered(served, "My name is Alex", kind="identity")
    path, body = f"/v1/memories/{handle}/promote", {"confirm": True}
    refused = ask(served, "POST", path, body, engram_agent="builder")

    assert (refused.status, refused.body["code"]) == (403, "forbidden")
    assert ask(served, "POST", path, {}).status == 428
    assert ask(served, "POST", path, body).status == 200
    assert ask(served, "GET", f"/v1/memories/{handle}").body["memories"][0]["status"] == "promoted"


def test_what_an_agent_says_is_its_own_word(served: Served):
    said = ask(served, "POST", "/v1/memories", {"text": "Tea is at four"}, engram_agent="builder").body["memory"]

    assert (said["origin"], said["context"]["agent"]) == ("inferred", "builder")


def test_what_a_person_says_is_no_agents(served: Served):
    said = ask(served, "POST", "/v1/memories", {"text": "Coffee is at three"}).body["memory"]

    assert (said["origin"], said["context"]["agent"]) == ("said", "")
    assert ask(served, "GET", "/v1/search?agent=agent").body["hits"] == []


@pytest.mark.parametrize("path", ["/v1/export?path=/etc/passwd", "/v1/import", "/v1/harvest", "/v1/nothing"])
def test_what_is_about_the_servers_own_files_is_not_served(served: Served, path: str):
    for method in ("GET", "POST"):
        assert ask(served, method, path, {} if method == "POST" else None).status == 404


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/memories", b"{", 422),
        ("POST", "/v1/memories", b"[1]", 422),
        ("POST", "/v1/memories", b"\xff\xfe", 422),
        ("POST", "/v1/memories", b"[" * 100_000, 422),
        ("POST", "/v1/memories", {}, 422),
        ("POST", "/v1/memories", {"text": 7}, 422),
        ("POST", "/v1/memories", {"text": "x", "owner": "someone"}, 422),
        ("PATCH", "/v1/memories/mem-0001", {"memory": "mem-0002"}, 422),
        ("GET", "/v1/memories?limit=many", None, 422),
        ("GET", "/v1/memories?limit=0", None, 422),
        ("GET", "/v1/memories?nonsense=1", None, 422),
        ("GET", "/v1/memories/mem-9999", None, 404),
        ("GET", "/v1/memories/..%2f..%2fetc", None, 404),
        ("PUT", "/v1/memories", {}, 405),
        ("DELETE", "/v1/memories/mem-0001", None, 428),
    ],
)
def test_a_bad_request_gets_a_word_and_changes_nothing(served: Served, method, path, body, status):
    if path.endswith("/mem-0001"):
        remembered(served, "The okapi hides")  # so that there is one
    before = ask(served, "GET", "/v1/stats").body["events"]
    answer = ask(served, method, path, body)

    assert answer.status == status
    assert set(answer.body) == {"code", "message", "hint"}
    assert ask(served, "GET", "/v1/stats").body["events"] == before


def test_whatever_stands_in_a_path_the_answer_is_in_our_form(served: Served):
    for name in ("a%0Ab", "%00", "..%2F..%2Fetc", "%F0%9F%90%9D", "x" * 4000):
        told = ask(served, "GET", f"/v1/memories/{name}")
        assert (told.status, set(told.body)) == (404, {"code", "message", "hint"}), name


def test_a_method_that_an_address_has_not_is_answered_with_all_that_it_has(served: Served):
    told = ask(served, "PUT", "/v1/memories/mem-0001/assets")
    assert (told.status, told.headers["allow"]) == (405, "GET, HEAD, POST")
    assert told.body["hint"] == "Ask it by GET or HEAD or POST. See /v1/openapi.json."
    assert ask(served, "PUT", "/v1/memories/mem-0001").headers["allow"] == "DELETE, GET, HEAD, PATCH"


def test_a_slash_at_the_end_of_an_address_sends_nobody_elsewhere(served: Served):
    handle = remembered(served, "The okapi is shy")
    found = ask(served, "GET", f"/v1/memories/{handle}/?around=1")

    assert (found.status, found.body["memories"][0]["handle"]) == (200, handle)
    assert ask(served, "POST", "/v1/memories/", {"text": "The okapi has a long tongue"}).status == 200
    assert ask(served, "POST", "/mcp/", {}, content_type="application/json").body["jsonrpc"] == "2.0"
    for path in ("/v1/", "/v1//", "/healthz//x/"):
        assert ask(served, "GET", path).status == 404, path


def test_a_link_to_the_page_of_a_server_with_a_longer_number_leads_there(tmp_path: Path):
    with serving(tmp_path, "--host", "::1", ENGRAM_EMBEDDER="none") as one:
        port = str(one.port)
        told = child(tmp_path, "serve", "--link", "--host", "::1", "--port", port, "--json").json["page"]
        connection = http.client.HTTPConnection("::1", one.port, timeout=30)
        connection.request("GET", told.removeprefix(f"http://[::1]:{port}"))
        answer = connection.getresponse()
        connection.close()

    assert (answer.status, f"engram-{port}=" in (answer.headers["set-cookie"] or "")) == (200, True)


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/v1/memories", "/v1/memories"),
        ("/v1/memories/mem-0002", "/v1/memories/{memory}"),
        ("/v1/memories/mem-0002/forget", "/v1/memories/{memory}/forget"),
        ("/v1/memories/mem-0002/assets/numbats.txt", "/v1/memories/{memory}/assets/{asset}"),
        ("/v1/sessions/end", "/v1/sessions/end"),
        ("/v1/sync/files/0195562e/one.json", "/v1/sync/files/{replica}/{name}"),
        ("/v1/openapi.json", "/v1/openapi.json"),
        ("/v1/memories/mem-0002/numbat", "/v1"),
        ("/v1/memories//forget", "/v1"),
        ("/v1/numbat", "/v1"),
        ("/v1", "/v1"),
        ("/web/memory/mem-0002", "/web/memory"),
        ("/web/numbat", "/web"),
        ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource"),
        ("/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource/mcp"),
        ("/.well-known/numbat", "other"),
        ("/", "other"),
        ("", "other"),
    ],
)
def test_a_request_is_told_of_and_counted_by_its_route_in_the_reference(path: str, route: str):
    assert route_of(path) == route


def test_answers_on_a_kept_connection_leave_at_once(served: Served):
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    taken = []
    for _ in range(30):
        began = time.perf_counter()
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        taken.append(time.perf_counter() - began)
    connection.close()
    # One that waits for an acknowledgement takes 40 ms; the quickest few tell, however busy this machine is.
    assert sorted(taken)[5] < 0.03


def test_a_bug_is_told_to_the_log_without_a_word_of_what_was_asked(caplog: pytest.LogCaptureFixture):
    def breaks(request: object) -> Engram:
        raise ZeroDivisionError(f"over {request}")

    async def mounted(scope: dict[str, Any], receive: Any, send: Any) -> None:
        with suppress(ZeroDivisionError):  # raised once more for the server, which writes it in the same form
            await application(breaks)({**scope, "root_path": "/v1"}, receive, send)

    async def asks() -> int:
        status, _ = await asked(mounted, "GET", "/v1/memories/numbat-plan/assets/numbats.txt", "question=numbat")
        return status

    assert anyio.run(asks) == 500
    (told,) = [json.loads(Lines().format(each)) for each in caplog.records if each.name == "engram.http"]
    assert (told["message"], told["error"]) == (
        "GET /v1/memories/{memory}/assets/{asset} failed",
        "ZeroDivisionError",
    )
    assert "numbat" not in json.dumps(told)


def test_a_bug_before_anything_answers_is_told_in_the_form_of_every_error(caplog: pytest.LogCaptureFixture):
    async def breaks(scope: dict[str, Any], receive: Any, send: Any) -> None:
        del receive, send
        raise ZeroDivisionError(f"over {scope['path']}")

    status, body = anyio.run(lambda: asked(Counting(breaks, Metrics()), "GET", "/v1/memories/numbat-plan"))
    assert (status, body) == (500, INTERNAL)
    (told,) = [json.loads(Lines().format(each)) for each in caplog.records if each.levelname == "ERROR"]
    assert (told["message"], told["error"]) == ("GET /v1/memories/{memory} failed", "ZeroDivisionError")
    assert "numbat" not in json.dumps(told)


@pytest.mark.parametrize("name", ["engram.http", "mcp.server.runner", "uvicorn.error", "qdrant_client", "asyncio"])
def test_whoever_logs_does_it_by_lines_of_json_that_quote_no_error(name: str):
    code = (
        "import logging; from engram.surfaces.server.telling import to_stream; to_stream()\n"
        f"try: raise ValueError('the numbat')\nexcept ValueError: logging.getLogger({name!r}).exception('it broke')"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr
    told = json.loads(said)
    assert (told["logger"], told["message"], told["error"]) == (name, "it broke", "ValueError")
    assert "numbat" not in said


def test_the_openapi_document_names_every_resource_and_every_error(served: Served):
    document = ask(served, "GET", "/v1/openapi.json").body

    assert document == json.loads(json.dumps(describe(resources())))
    told = {(path, method) for path, each in document["paths"].items() for method in each}
    exchanged = "/v1/sync/files/{replica}/{name}"
    bytes_too = {("/v1/memories/{memory}/assets", "post"), ("/v1/memories/{memory}/assets/{asset}", "get")}
    bytes_too |= {("/v1/sync/files", "get"), (exchanged, "get"), (exchanged, "put")}
    assert told == {(each.path, each.method.lower()) for each in resources()} | bytes_too
    for path in document["paths"].values():
        for each in path.values():
            assert {str(error.http_status) for error in TABLE} <= set(each["responses"])
