"""What /openapi.json promises is so: made-up requests of every operation, right and wrong, to a real server."""

import uuid
from collections.abc import Iterator
from typing import NamedTuple

import pytest
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

from engines.servers import database_url
from engram.surfaces.http import resources
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
        schema = schemathesis.openapi.from_url(f"http://127.0.0.1:{port}/openapi.json", headers=headers)
        yield Described(schema, headers, saved["id"])


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["right", "wrong"])
@pytest.mark.parametrize("route", [f"{each.method} {each.path}" for each in resources()])
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

    ask()
