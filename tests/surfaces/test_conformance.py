"""Programs of others against our server: the protocol's own conformance suite, and the inspector's command line."""

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from surfaces.driving import COMMAND, Driver, environment
from surfaces.mcp_clients import ERAS, run_node, serving, with_token

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "mcp.md"

FIXTURE = "asks for a tool, page or prompt of the suite's own example server"
UNDECLARED = "asks for a capability that we do not declare"
EXTENSION = "tests an extension that we do not offer"

EXCEPTIONS: dict[str, str] = {
    "completion-complete": UNDECLARED,
    "logging-set-level": UNDECLARED,
    "resources-subscribe": UNDECLARED,
    "resources-unsubscribe": UNDECLARED,
    "tools-call-with-logging": UNDECLARED,
    "elicitation-sep1034-defaults": FIXTURE,
    "elicitation-sep1330-enums": FIXTURE,
    "http-custom-header-server-validation": FIXTURE,
    "input-required-result-basic-elicitation": FIXTURE,
    "input-required-result-basic-list-roots": FIXTURE,
    "input-required-result-basic-sampling": FIXTURE,
    "input-required-result-capability-check": FIXTURE,
    "input-required-result-multi-round": FIXTURE,
    "input-required-result-multiple-input-requests": FIXTURE,
    "input-required-result-non-tool-request": FIXTURE,
    "input-required-result-request-state": FIXTURE,
    "input-required-result-result-type": FIXTURE,
    "input-required-result-tampered-state": FIXTURE,
    "json-schema-2020-12": FIXTURE,
    "prompts-get-embedded-resource": FIXTURE,
    "prompts-get-simple": FIXTURE,
    "prompts-get-with-args": FIXTURE,
    "prompts-get-with-image": FIXTURE,
    "resources-read-binary": FIXTURE,
    "resources-read-text": FIXTURE,
    "resources-templates-read": FIXTURE,
    "server-stateless": FIXTURE,
    "tools-call-audio": FIXTURE,
    "tools-call-elicitation": FIXTURE,
    "tools-call-embedded-resource": FIXTURE,
    "tools-call-error": FIXTURE,
    "tools-call-image": FIXTURE,
    "tools-call-mixed-content": FIXTURE,
    "tools-call-sampling": FIXTURE,
    "tools-call-simple-text": FIXTURE,
    "tools-call-with-progress": FIXTURE,
    "tasks-capability-negotiation": EXTENSION,
    "tasks-dispatch-and-envelope": EXTENSION,
    "tasks-lifecycle": EXTENSION,
    "tasks-mrtr-composition": EXTENSION,
    "tasks-mrtr-input": EXTENSION,
    "tasks-request-headers": EXTENSION,
    "tasks-request-state-removal": EXTENSION,
    "tasks-required-task-error": EXTENSION,
    "tasks-wire-fields": EXTENSION,
}
"""Scenario → why it does not apply; every other one must pass whole."""

ABSENT = (
    *(
        "There is no tool",
        "There is no prompt",
        "There is no resource",
        "Not testable",
        "' not found. Available tools",
    ),
    *("Expected InputRequiredResult with", "could not get initial InputRequiredResult"),
)
"""How a check says that the suite's own example is not there; the last two where a first round never came."""

ALWAYS = {"dns-rebinding-protection", "prompts-list", "resources-list", "server-sse-multiple-streams", "tools-list"}
PASSES = {
    "2025-11-25": ALWAYS | {"ping", "server-initialize", "server-session-lifecycle"},
    "2026-07-28": ALWAYS
    | {
        "caching",
        "http-header-validation",
        "input-required-result-unsupported-methods",
        "sep-2164-resource-not-found",
    },
}
"""What passes whole, by revision: a suite that suddenly tests nothing is no success."""


class Outcome(NamedTuple):
    """One scenario: how many checks passed, and what the failed ones said, by their names."""

    passed: int
    failed: dict[str, str]


def outcomes(folder: Path) -> dict[str, Outcome]:
    """What the suite wrote down, by scenario."""
    found = {}
    for path in folder.glob("server-*/checks.json"):
        checks: list[dict[str, Any]] = json.loads(path.read_text())
        name = path.parent.name.removeprefix("server-")[: -len("-2026-01-01T00-00-00-000Z")]
        failed = {one["id"]: str(one.get("errorMessage")) for one in checks if one["status"] == "FAILURE"}
        found[name] = Outcome(sum(one["status"] == "SUCCESS" for one in checks), failed)
    return found


@pytest.fixture(scope="module", params=ERAS.values())
def conformance(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """Every scenario that a revision of the protocol requires, run against `engram serve`."""
    folder = tmp_path_factory.mktemp("conformance")
    with serving(folder) as served, with_token(served) as url:
        done = run_node(
            *("conformance", "server", "--url", url, "--requirements", request.param, "-o", str(folder / "results"))
        )
    found = outcomes(folder / "results")
    whole = {name for name, outcome in found.items() if outcome.passed and not outcome.failed}
    assert whole >= PASSES[request.param], done.stdout + done.stderr
    return found


def test_every_scenario_that_applies_passes(conformance: dict[str, Outcome]):
    failed = {name: outcome.failed for name, outcome in conformance.items() if outcome.failed}

    assert {name: why for name, why in failed.items() if name not in EXCEPTIONS} == {}


def test_an_exception_fails_for_its_reason_and_no_other(conformance: dict[str, Outcome]):
    for name, outcome in conformance.items():
        reason = EXCEPTIONS.get(name)
        for check, why in outcome.failed.items():
            if reason == FIXTURE:
                assert any(words in why for words in ABSENT), (check, why)
            if reason == UNDECLARED:
                assert "Method not found" in why, (check, why)
        assert "wire-schema-valid" not in outcome.failed, f"{name}: what we send has the form the protocol gives it"


def test_every_exception_is_still_one(conformance: dict[str, Outcome]):
    needless = {name for name in conformance if name in EXCEPTIONS and not conformance[name].failed}

    assert needless == set()


def test_the_guide_lists_every_exception_with_its_reason():
    guide = GUIDE.read_text()
    for name, reason in EXCEPTIONS.items():
        family = next(
            (f"`{start}*`" for start in ("tasks-", "input-required-result-") if name.startswith(start)), ""
        )
        assert f"`{name}`" in guide or (family and family in guide), name
        assert reason in guide, reason


# The inspector


def inspected(folder: Path, *words: str) -> dict[str, Any]:
    """What the inspector's command line prints about `engram mcp` as a process it starts."""
    variables = environment(folder)
    given = [
        part for name in ("HOME", "ENGRAM_STORE", "PYTHONPATH") for part in ("-e", f"{name}={variables[name]}")
    ]
    done = run_node(
        "mcp-inspector", "--cli", *given, *COMMAND, "mcp", *words, HOME=str(folder), PATH=os.environ["PATH"]
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_the_inspector_lists_and_calls_tools(engram: Driver):
    tools = inspected(engram.folder, "--method", "tools/list")["tools"]
    saved = inspected(
        engram.folder,
        *(
            "--method",
            "tools/call",
            "--tool-name",
            "remember",
            "--tool-arg",
            "text=We deploy on Fridays",
            "kind=convention",
        ),
    )
    found = inspected(
        engram.folder,
        *(
            "--method",
            "tools/call",
            "--tool-name",
            "recall",
            "--tool-arg",
            "question=when do we deploy?",
            "limit=3",
        ),
    )

    assert len(tools) == 12
    assert saved["structuredContent"]["outcome"] == "new"
    assert found["structuredContent"]["hits"][0]["text"] == "We deploy on Fridays"
    assert engram("list", "--kind", "convention", "--json").json["memories"]


def test_the_inspector_reads_pages_and_prompts(engram: Driver):
    engram.remember("We deploy on Fridays")
    page = inspected(engram.folder, "--method", "resources/read", "--uri", "memory://facts")
    prompt = inspected(
        engram.folder, "--method", "prompts/get", "--prompt-name", "save_well", "--prompt-args", "what=the port"
    )

    assert "We deploy on Fridays" in page["contents"][0]["text"]
    assert "Save this: the port" in prompt["messages"][0]["content"]["text"]


def test_the_inspector_finds_no_fault_with_the_schemas(engram: Driver):
    assert inspected(engram.folder, "--method", "tools/list", "--strict")["tools"]
