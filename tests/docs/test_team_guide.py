"""The story of two companies, run: each request of the guide is sent, and its answer says what the page says."""

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from engines.servers import database_url
from surfaces.identities import provider
from surfaces.teams import Team, running

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "team.md"
RESOURCE = "https://memory.example.org"
ACME, GLOBEX = f"acme-{uuid.uuid4().hex}", f"globex-{uuid.uuid4().hex}"


LEFT_OUT = '"…"'
"""A list that has something in it, of which the page says no more."""


class Step(NamedTuple):
    """One request of the page, and what it tells of the answer."""

    who: str
    method: str
    path: str
    body: Any
    status: int
    told: Any


def steps() -> Iterator[Step]:
    for block in re.findall(r"^```http\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE):
        for part in block.strip().split("\n\n"):
            asked, answered = part.split("\n")
            who, _, request = asked.partition(": ")
            method, path, body = (*request.split(" ", 2), "")[:3]
            status, _, told = answered.partition(" ")
            yield Step(
                who,
                method,
                path,
                json.loads(body) if body else None,
                int(status),
                json.loads(told.replace("[…]", LEFT_OUT)),
            )


def shown(told: Any, answer: Any) -> Any:
    """The part of an answer that the page tells of."""
    if told == json.loads(LEFT_OUT):
        return told if answer else answer
    if isinstance(told, dict) and isinstance(answer, dict):
        return {name: shown(value, answer.get(name)) for name, value in told.items()}
    if isinstance(told, list) and told and isinstance(answer, list) and len(told) == len(answer):
        return [shown(one, other) for one, other in zip(told, answer, strict=True)]
    return answer


def claims(org: str, name: str, **more: Any) -> dict[str, Any]:
    return {"org": org, "email": f"{name}@example.org", "email_verified": True, **more}


def test_the_story_of_the_team_is_told_as_it_happens(tmp_path_factory: pytest.TempPathFactory):
    people = {name: claims(ACME, name) for name in ("ada", "ben", "dan")}
    people |= {"cyd": claims(ACME, "cyd", groups=["leads"]), "eve": claims(GLOBEX, "eve")}
    settings = re.findall(r"^```toml\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)[0]
    folder = tmp_path_factory.mktemp("team")
    with (
        provider(people, tmp_path_factory.mktemp("provider")) as known,
        running(folder, known, settings, ENGRAM_STORE=database_url()) as (port, log),
    ):
        tokens = {name: known.person(name, RESOURCE) for name in people}
        team = Team(port, known, tokens, folder, log)
        told = list(steps())
        for step in told:
            who, _, agent = step.who.partition(" as ")
            headers = {"engram_agent": agent} if agent else {}
            answer = team.ask(tokens[who], step.method, step.path, step.body, **headers)
            assert answer.status == step.status, (step, answer)
            assert shown(step.told, answer.body) == step.told, (step, answer)
            if "key" in (answer.body if isinstance(answer.body, dict) else {}):
                tokens["key"] = answer.body["key"]

    assert {step.who.partition(" ")[0] for step in told} == {"ada", "ben", "cyd", "dan", "eve", "key"}
