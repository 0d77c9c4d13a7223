"""What /openapi.json promises is so: made-up requests of every operation, right and wrong, to a real server."""

import itertools
import json
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import anyio
import jsonschema
import pytest
import requests
import schemathesis
from hypothesis import given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.schemas import APIOperation, BaseSchema
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from starlette.routing import Route

from attacks.ledger import tried
from engines.asking import NASTY, UNHELD
from engines.servers import database_url
from engram.surfaces.http.openapi import describe
from engram.surfaces.http.openapi_examples import SAID
from engram.surfaces.http.routes import application, resources
from engram.surfaces.server.guard import Guard
from surfaces.asgi import asked
from surfaces.identities import provider
from surfaces.teams import Team, running

AUDIENCE = "https://memory.example.org"
ORG = f"schemes-{uuid.uuid4().hex}"
SETTINGS = f"""
org_claim = "org"
oidc_audience = "{AUDIENCE}"
requests_per_minute = 0
"""
EXAMPLES = 10
"""Requests of a sort for each operation: every run makes the same ones."""

DOCUMENT = describe(resources())
PATHS = DOCUMENT["paths"]

STRINGS = (*UNHELD, *NASTY[:3])

PROMISES = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)


class Described(NamedTuple):
    """A running server as its own document describes it, and something that is there to be asked about."""

    schema: BaseSchema
    headers: dict[str, str]
    memory: str
    address: str


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Described]:
    folder = tmp_path_factory.mktemp("described")
    with (
        provider({"ada": {"org": ORG}}, tmp_path_factory.mktemp("provider")) as known,
        running(folder, known, SETTINGS, ENGRAM_STORE=database_url()) as (port, log),
    ):
        token = known.person("ada", AUDIENCE)
        team = Team(port, known, {}, folder, log)
        saved = team.ask(token, "POST", "/v1/memories", {"text": "The quokka naps at noon"}).body["memory"]
        headers = {"Authorization": f"Bearer {token}"}
        address = f"http://127.0.0.1:{port}"
        schema = schemathesis.openapi.from_url(f"{address}/openapi.json", headers=headers)
        yield Described(schema, headers, saved["id"], address)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["right", "wrong"])
@pytest.mark.parametrize("route", [f"{method.upper()} {path}" for path, each in PATHS.items() for method in each])
def test_no_request_breaks_the_server_and_every_answer_is_as_documented(
    described: Described, route: str, mode: GenerationMode
):
    method, _, path = route.partition(" ")
    operation: APIOperation = described.schema[path][method]

    @settings(max_examples=EXAMPLES, derandomize=True, database=None)
    @given(data=st.data())
    def ask(data: st.DataObject) -> None:
        case = data.draw(operation.as_strategy(generation_mode=mode))
        if "memory" in case.path_parameters and data.draw(st.booleans()):
            case.path_parameters["memory"] = described.memory
        answer = case.call(headers=described.headers)
        case.validate_response(answer, checks=PROMISES)
        tried("Made-up requests of every operation", "HTTP", f"{answer.status_code // 100}xx, as documented")

    ask()


class Argument(NamedTuple):
    """One argument of an operation, and the part of a request in which it is said."""

    part: str
    name: str
    schema: dict[str, Any]
    needed: bool

    def said(self, string: str) -> Any:
        if self.part == "body":
            return [string] if self.schema.get("type") == "array" else string
        return quote(string.encode("utf-8", "surrogatepass"), safe="")


def arguments_of(told: dict[str, Any]) -> list[Argument]:
    body = told.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    needed = body.get("required", ())
    return [
        *(Argument(one["in"], one["name"], one["schema"], bool(one.get("required"))) for one in told["parameters"]),
        *(Argument("body", name, each, name in needed) for name, each in body.get("properties", {}).items()),
    ]


@pytest.mark.parametrize("route", [f"{method.upper()} {path}" for path, each in PATHS.items() for method in each])
def test_no_string_in_any_argument_breaks_the_server(described: Described, route: str):
    method, _, path = route.partition(" ")
    told = PATHS[path][method.lower()]
    taken = arguments_of({"parameters": (), **told})
    plain = {"memory": described.memory, "other": described.memory, "kind": "related"}
    for one, string in itertools.product((one for one in taken if one.part != "header"), STRINGS):
        parts: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "body": {}, "header": {}}
        for each in taken:
            if each == one or each.needed:
                said = string if each == one else plain.get(each.name, "quokka")
                parts[each.part][each.name] = each.said(said)
        query = "&".join(f"{name}={said}" for name, said in parts["query"].items())
        answer = requests.request(
            method,
            f"{described.address}{path.format(**parts['path'])}?{query}",
            data=json.dumps(parts["body"]) if "requestBody" in told else None,
            headers=described.headers,
            timeout=30,
        )
        assert answer.status_code < 500, (one.name, string, answer.text)
        assert str(answer.status_code) in told["responses"], (one.name, string, answer.text)


def described_operations() -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"{method.upper()} {path}", told) for path, methods in PATHS.items() for method, told in methods.items()
    ]


def test_every_route_that_is_served_is_described():
    def opens(request: object) -> Any:
        raise AssertionError(request)

    served = {
        f"{method} /v1{route.path}"
        for route in application(opens).routes
        if isinstance(route, Route) and route.path != "/openapi.json"
        for method in (route.methods or ()) - {"HEAD"}
    }
    assert served == {route for route, _ in described_operations()}


def test_a_description_is_set_as_text_and_not_as_code():
    assert [route for route, told in described_operations() if "\n  " in told.get("description", "")] == []


@pytest.mark.parametrize(("route", "told"), described_operations(), ids=[one for one, _ in described_operations()])
def test_an_example_is_as_its_schema_says(route: str, told: dict[str, Any]):
    components = {"components": DOCUMENT["components"]}
    shown = [one for one in told.get("parameters", ()) if "example" in one]
    bodies = [
        told.get("requestBody", {}),
        *(told["responses"][one] for one in ("200", "201") if one in told["responses"]),
    ]
    shown += [media for body in bodies for media in body.get("content", {}).values() if "example" in media]
    for one in shown:
        assert jsonschema.Draft202012Validator({**one["schema"], **components}).is_valid(one["example"]), one[
            "example"
        ]

    answers = [media for media in bodies[-1]["content"].values() if media["schema"].get("format") != "binary"]
    assert all("example" in media for media in answers), route


def test_what_examples_say_is_of_types_that_are_answered():
    assert set(SAID) <= set(DOCUMENT["components"]["schemas"])


def as_described(answer: object, status: int) -> bool:
    said = PATHS["/v1/stats"]["get"]["responses"][str(status)]["content"]["application/json"]["schema"]
    jsonschema.validate(answer, {**said, "components": DOCUMENT["components"]})
    return True


def test_a_way_of_asking_that_is_not_served_is_answered_as_described(described: Described):
    answer = requests.put(f"{described.address}/v1/stats", headers=described.headers, timeout=30)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert answer.json()["hint"] == "Ask it by GET or HEAD. See /v1/openapi.json."
    assert as_described(answer.json(), 405)


def test_a_request_for_another_host_is_answered_as_described():
    guarded = Guard(application(lambda _: pytest.fail("it was let in")), "x" * 32)
    status, answer = anyio.run(lambda: asked(guarded, "GET", "/v1/stats", host="elsewhere.example.org"))
    assert status == 421
    assert as_described(answer, 421)
