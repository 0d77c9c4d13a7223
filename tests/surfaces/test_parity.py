"""One operation, many doors: the command and the Python method ask and answer the same."""

import inspect
import json
import re
import shutil
import typing
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client
from mcp_types import CallToolResult

import engram as package
from engram.interop.observations_words import STATES, state_of
from engram.model.answers import Answer
from engram.model.marks import marked
from engram.model.memory import standing
from engram.operations import parameters as prose
from engram.service import OPERATIONS, Engram, Operation
from engram.surfaces.http.openapi import describe
from engram.surfaces.http.routes import application, resources
from engram.surfaces.mcp.compact import compact
from engram.surfaces.mcp.pages import memory_page
from engram.surfaces.mcp.server import build
from engram.surfaces.mcp.tools import SHOWN
from engram.surfaces.parsing import parameters, parse, parser_for
from engram.surfaces.render.answers import RENDERERS, render
from engram.surfaces.render.paper import Paper
from engram.surfaces.rewording import Tools, as_routes, reword, told
from engram.surfaces.shapes import shape
from evidence.repos import Repo
from surfaces.asgi import asked
from surfaces.driving import Driver

NAMED = pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)


def method_of(operation: Operation) -> str:
    """`import` is a word of Python's own."""
    return "import_" if operation.name == "import" else operation.name


def answer_types() -> set[type]:
    return {typing.get_type_hints(operation.function)["return"] for operation in OPERATIONS.values()}


def test_the_operations_of_the_core_are_all_there():
    assert set(OPERATIONS) == {
        "remember", "get", "list", "revise", "verify", "forget", "restore", "purge", "recall", "context", "review",
        "promote", "reject", "history", "undo", "stats", "doctor", "hygiene", "scrub", "kinds", "export", "import",
        "models", "reembed",
        "reindex",
        "harvest", "session_begin", "session_end", "session_list", "timeline", "capture", "suggest_key",
        "queue", "sync", "relate", "judge", "related", "conflicts",
        "projects_list", "projects_merge", "projects_rename", "backup_create", "backup_verify", "backup_restore",
        "rescue",
        "evidence", "cited", "settle", "search", "files", "graph", "trends",
        "sync_git", "replicas", "replicas_accept", "replicas_drop", "remote_add", "remote_list",
        "remote_enrol", "remote_unenrol", "remote_remove", "remote_push", "remote_pull", "remote_status",
        "keys_create", "keys_list", "keys_revoke", "owners_assign", "workspaces_assign",
        "attach", "assets", "fetch", "detach", "insights_save", "insights_list", "insights_purge",
    }  # fmt: skip


@NAMED
def test_an_operation_is_a_method_with_its_words(operation: Operation):
    with package.open("ram:") as memory:
        method = getattr(memory, method_of(operation))

        assert callable(method)
        assert method.__doc__ == operation.function.__doc__
    bound = inspect.getattr_static(Engram, method_of(operation))
    assert bound._function is operation.function


def test_every_method_made_from_an_operation_is_in_the_table():
    bound = {name for name in vars(Engram) if hasattr(inspect.getattr_static(Engram, name), "_function")}

    assert bound == {method_of(operation) for operation in OPERATIONS.values()}


@NAMED
def test_the_command_takes_the_parameters_of_the_operation(operation: Operation):
    signature = list(inspect.signature(operation.function).parameters)[1:]
    taken = {action.dest for action in parser_for(operation)._actions}

    assert [each.name for each in parameters(operation)] == signature
    assert set(signature) <= taken
    assert taken - set(signature) <= {"help", "json", "store", "explain", "list", "git", "hygiene"}


@NAMED
def test_the_command_has_the_defaults_of_the_operation(operation: Operation):
    given = [(each.choices or ("x",))[0] for each in parameters(operation) if each.required]
    asked = parse(operation, given)
    signature = inspect.signature(operation.function)

    for each in list(signature.parameters.values())[1:]:
        if each.default is not inspect.Parameter.empty:
            assert asked[each.name] == each.default
            assert type(asked[each.name]) is type(each.default)


@NAMED
def test_an_operation_says_what_it_does_how_and_with_what(operation: Operation):
    first = operation.summary

    assert first.endswith(".")
    assert first[0].isupper()
    assert operation.examples
    for example in operation.examples:
        assert re.search(rf"(^|\| )engram {operation.command}(\s|$)", example), example
    assert operation.examples[0].startswith(f"engram {operation.command}")
    for each in parameters(operation):
        assert each.about.endswith("."), f"{operation.name} {each.name}"


@NAMED
def test_an_operation_has_a_route_and_flags_that_agree(operation: Operation):
    verb, _, path = operation.route.partition(" ")

    assert verb in ("GET", "POST", "PATCH", "DELETE")
    assert path.startswith("/v1/")
    assert (verb == "GET") is not operation.writes
    assert not operation.destructive or (operation.writes and operation.human)


def test_no_two_operations_share_a_route():
    assert len({operation.route for operation in OPERATIONS.values()}) == len(OPERATIONS)


@NAMED
def test_a_parameters_prose_is_written_once(operation: Operation):
    known = {
        typing.get_args(each)[1] for each in vars(prose).values() if typing.get_origin(each) is typing.Annotated
    }

    for each in parameters(operation):
        assert each.about in known


def test_every_type_of_answer_has_one_renderer_and_no_renderer_is_idle():
    assert set(RENDERERS) == answer_types()


def test_every_type_of_answer_tells_its_moment_first():
    for each in answer_types():
        assert each._fields[0] == "at"
        assert issubclass(each, Answer)
        assert each.__doc__


def words_of(operation: Operation, said: dict[str, Any]) -> list[str]:
    """The command line that asks what a Python call with these arguments asks."""
    alone = {each.name for each in parameters(operation) if each.positional}
    words: list[str] = []
    for name, value in said.items():
        flag = f"--{name.replace('_', '-')}"
        if name in alone:
            words += [value] if isinstance(value, str) else list(value)
        elif isinstance(value, bool):
            words += [flag if value else f"--no-{flag[2:]}"]
        elif isinstance(value, list | tuple):
            words += [part for each in value for part in (flag, str(each))]
        else:
            words += [flag, str(value)]
    return words


MASKS = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "ID"),
    (r"[0-9a-f]{64}", "HASH"),
    (r"egk\.[\w-]+", "KEY"),
    (r"rel-[0-9a-f]{24}", "RELATION"),
    (r"\d{4}-\d\d-\d\dT[\d:.]+Z", "TIME"),
    (r"\d{15,}[\w.:-]*", "CLOCK"),
    (r"before-restore-[\dT]+", "ASIDE"),
    (r"/[^\"]*/(one|two)\.db", "STORE"),
    (r"\"bytes\": \d+", '"bytes": 0'),
)
"""What differs between two equal stores: ids, hashes, moments, places, and how well they are packed."""


def masked(value: Any) -> Any:
    text = json.dumps(value, ensure_ascii=False)
    for pattern, name in MASKS:
        text = re.sub(pattern, name, text)
    return json.loads(text)


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store with live, waiting, forgotten and replaced memories."""
    path = tmp_path_factory.mktemp("parity") / "store.db"
    with package.open(path, environment={"HOME": str(path.parent)}, folder=path.parent) as memory:
        memory.remember("We deploy on Fridays", kind="convention", tag=["ops"], pinned=True)
        memory.remember("The port of the database is 5432", cite=["src/db.py:3-9"])
        memory.remember("The port of the database is 5433")
        memory.remember("My name is Alex", kind="identity")
        memory.remember("The office is in Lisbon", importance=9)
        memory.forget("mem-0005", reason="moved")
        memory.session_begin("s-1", agent="tester")
        memory.remember("Logs rotate at midnight", session="s-1", scope="project:old", tag=["ops"])
        memory.remember("Logs are kept for a week", session="s-1", scope="project:new", tag=["ops"])
        memory.keys_create("cron", owner="ada")
        memory.insights_save("Wants to ship weekly", category="goals")
    return path


@pytest.fixture
def doors(engram: Driver, furnished: Path) -> Iterator[tuple[Driver, Engram]]:
    """Two equal stores: one for the command, one for Python."""
    for name in ("one.db", "two.db"):
        shutil.copy(furnished, engram.folder / name)
    engram.set(ENGRAM_STORE=str(engram.folder / "one.db"))
    with package.open(engram.folder / "two.db", channel="flag") as memory:
        yield engram, memory


def with_attachment(file: Path, *memories: Engram) -> None:
    for each in memories:
        each.attach("mem-0002", str(file))


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("remember", {"text": "Tea is at four"}),
    ("remember", {"text": "My town is Porto", "kind": "location", "tag": ["a", "b"], "pinned": False}),
    ("remember", {"text": "We deploy on Fridays"}),
    ("get", {"memory": ["mem-0001", "mem-0002"]}),
    ("get", {"memory": "mem-0003"}),
    ("forget", {"memory": "mem-0001"}),
    ("list", {}),
    ("list", {"standing": ["pending", "forgotten"], "limit": 2}),
    ("revise", {"memory": "mem-0002", "text": "The port of the database is 5439", "importance": 8}),
    ("verify", {"memory": "mem-0001"}),
    ("forget", {"memory": ["mem-0001", "mem-0002"], "reason": "old"}),
    ("restore", {"memory": "mem-0005"}),
    ("purge", {"memory": "mem-0002", "confirm": True}),
    ("insights_save", {"text": "Reads diffs first", "category": "workflow", "confidence": 0.7}),
    ("insights_list", {"category": "workflow", "limit": 5}),
    ("insights_list", {"question": "diffs"}),
    ("insights_purge", {"category": "goals", "confirm": True}),
    ("attach", {"memory": "mem-0001", "file": "plan.txt", "name": "the plan.txt"}),
    ("assets", {"memory": "mem-0002"}),
    ("fetch", {"memory": "mem-0002", "asset": "plan.txt", "path": "fetched.txt", "overwrite": True}),
    ("detach", {"memory": "mem-0002", "asset": "plan.txt"}),
    ("recall", {"question": "which port has the database", "limit": 3}),
    ("recall", {"question": "deploy", "kind": ["convention"], "tag": ["ops"], "everywhere": True}),
    ("recall", {"question": "deploy", "words": True, "weak": True}),
    ("context", {"query": "database", "budget": 400}),
    ("search", {"question": "port", "standing": ["all"]}),
    ("search", {"limit": 1, "unused": True}),
    ("files", {"everywhere": True}),
    ("graph", {"question": "project", "subject": "global"}),
    ("graph", {"question": "chain"}),
    ("trends", {}),
    ("evidence", {}),
    ("evidence", {"fail_on": ["drifted,gone"], "scope": "global"}),
    ("cited", {"file": "src/db.py:3"}),
    ("settle", {}),
    ("models", {}),
    ("reembed", {}),
    ("reindex", {"fresh": True}),
    ("review", {}),
    ("queue", {"limit": 5}),
    ("sync", {}),
    ("sync", {"apply": True}),
    ("remote_add", {"name": "team", "url": "https://memory.example.com"}),
    ("remote_list", {}),
    ("promote", {"memory": "mem-0004", "confirm": True}),
    ("promote", {"memory": "mem-0003", "into": "mem-0002", "text": "The ports are 5432 and 5433"}),
    ("reject", {"memory": "mem-0003", "reason": "typo"}),
    ("history", {"limit": 4}),
    ("history", {"memory": "mem-0005"}),
    ("undo", {"last": 2}),
    ("undo", {"event": "6"}),
    ("session_begin", {"session": "s-2", "agent": "tester", "branch": "main"}),
    ("session_begin", {"session": "s-1"}),
    ("session_end", {"session": "s-1", "summary": "Goal: logs"}),
    ("session_list", {"open": True, "everywhere": True}),
    ("timeline", {"memory": "mem-0007", "before": 2}),
    ("capture", {"text": "## Key learnings\n- Logs are compressed after one day\n"}),
    ("harvest", {"path": ["talk.jsonl"], "dry_run": True}),
    ("suggest_key", {"summary": "Log rotation", "kind": "config"}),
    ("relate", {"memory": "mem-0007", "other": "mem-0001", "kind": "related"}),
    ("context", {"query": "logs"}),
    ("session_begin", {"session": "s-9"}),
    ("recall", {"question": "which port has the database", "limit": 2}),
    ("remember", {"text": "Tea is at five", "kind": "preference", "tag": ["tea"], "session": "s-1"}),
    ("revise", {"memory": "mem-0001", "text": "We deploy on Thursdays", "pinned": False}),
    ("relate", {"memory": "mem-0007", "other": "mem-0006", "kind": "supersedes", "reason": "newer"}),
    ("judge", {"relation": "mem-0007~mem-0006", "kind": "compatible"}),
    ("related", {"memory": "mem-0007"}),
    ("conflicts", {"scan": True, "words": True}),
    ("list", {"since": "7d", "until": "1h", "everywhere": True}),
    ("recall", {"question": "deploy", "since": "2w"}),
    ("recall", {"question": "deploy", "as_of": "1h"}),
    ("search", {"ends_by": "1y", "since": "7d"}),
    ("remember", {"text": "Robin is away", "valid_until": "30d"}),
    ("revise", {"memory": "mem-0001", "valid_from": "2w", "valid_until": "1y"}),
    ("projects_list", {}),
    ("projects_merge", {"source": ["old"], "into": "new"}),
    ("projects_rename", {"project": "old", "name": "older", "apply": True}),
    ("keys_create", {"name": "ci", "can": ["write"], "days": 30, "owner": "ada"}),
    ("keys_list", {"owner": "ada"}),
    ("keys_revoke", {"key": "key-0001", "owner": "ada"}),
    ("owners_assign", {"to": "ada", "source": "anonymous"}),
    ("owners_assign", {"to": "ada", "source": "anonymous", "apply": True}),
    ("workspaces_assign", {"workspace": "team-x", "owner": "ada"}),
    ("workspaces_assign", {"workspace": "team-x", "owner": "ada", "apply": True}),
    ("stats", {}),
    ("doctor", {}),
    ("hygiene", {}),
    ("scrub", {"dry_run": True}),
    ("kinds", {}),
    ("export", {"path": "all.jsonl", "standing": ["live"], "overwrite": True}),
    ("import", {"path": "given.jsonl", "trust": True}),
    ("import", {"path": "given.jsonl", "dry_run": True}),
    ("rescue", {"path": "rescued.jsonl", "overwrite": True}),
    ("backup_create", {"path": "all.zip", "overwrite": True}),
    ("backup_verify", {"path": "given.zip"}),
    ("backup_restore", {"path": "given.zip", "overwrite": True}),
]


@pytest.mark.parametrize(("name", "said"), CALLS, ids=[f"{name}-{len(said)}" for name, said in CALLS])
def test_the_command_answers_what_python_answers(doors: tuple[Driver, Engram], name: str, said: dict[str, Any]):
    command, memory = doors
    operation = OPERATIONS[name]
    if name == "import":
        with package.open("ram:") as other:
            other.remember("A text from elsewhere")
            other.export(str(command.folder / "given.jsonl"))
    if name.startswith("backup"):
        memory.backup_create(str(command.folder / "given.zip"))
    if name == "harvest":
        told = {"role": "user", "content": "Always use pnpm."}
        line = {"type": "user", "sessionId": "s", "uuid": "u", "message": told}
        (command.folder / "talk.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    if operation.group == "assets":
        plan = command.folder / "plan.txt"
        plan.write_text("north, then east", encoding="utf-8")
        with package.open(command.folder / "one.db") as other:
            with_attachment(plan, other, memory)
    done = command(*operation.command.split(), *words_of(operation, said), "--json")
    answer = getattr(memory, method_of(operation))(**said)

    assert done.code == 0, done.err
    assert masked(done.json) == masked(shape(answer, answer.at, ""))
    assert type(answer) is typing.get_type_hints(operation.function)["return"]
    assert render(answer, Paper())


def test_every_operation_is_compared():
    # An exchange needs somebody else, and two stores never have the same key: tests/sync has them.
    apart = {name for name, each in OPERATIONS.items() if each.group in ("syncing", "remotes")}
    assert {name for name, _ in CALLS} | apart == set(OPERATIONS)


REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("remember", {"text": "  "}),
    ("remember", {"text": "x", "kind": "Two Words"}),
    ("get", {"memory": "mem-9999"}),
    ("promote", {"memory": "mem-0004"}),
    ("promote", {"memory": "mem-0001"}),
    ("purge", {"memory": "mem-0001"}),
    ("restore", {"memory": "mem-0001"}),
    ("undo", {"event": "99"}),
    ("list", {"limit": 0}),
]


@pytest.mark.parametrize(("name", "said"), REFUSED, ids=[f"{name}-{'-'.join(said)}" for name, said in REFUSED])
def test_the_command_refuses_what_python_refuses_in_the_same_words(
    doors: tuple[Driver, Engram], name: str, said: dict[str, Any]
):
    command, memory = doors
    done = command(name, *words_of(OPERATIONS[name], said), "--json")

    with pytest.raises(package.EngramError) as refused:
        getattr(memory, method_of(OPERATIONS[name]))(**said)
    assert done.code == refused.value.exit_code
    assert done.error == refused.value.body()


TOOLS = Tools(SHOWN)
TOOLED = [(name, said) for name, said in CALLS if name in SHOWN and set(said) <= set(SHOWN[name])]


def through_mcp(memory: Engram, name: str, said: dict[str, Any]) -> CallToolResult:
    """The answer of the tool, as a client gets it."""

    async def ask() -> CallToolResult:
        async with Client(build(lambda: memory)) as client:
            return await client.call_tool(name, said)

    return anyio.run(ask)


@pytest.fixture
def two_stores(tmp_path: Path, furnished: Path) -> Iterator[tuple[Engram, Engram]]:
    for name in ("one.db", "two.db"):
        shutil.copy(furnished, tmp_path / name)
    with package.open(tmp_path / "one.db") as first, package.open(tmp_path / "two.db") as second:
        yield first, second


@pytest.mark.parametrize(("name", "said"), TOOLED, ids=[f"{name}-{len(said)}" for name, said in TOOLED])
def test_the_tool_answers_what_python_answers(two_stores: tuple[Engram, Engram], name: str, said: dict[str, Any]):
    result = through_mcp(two_stores[0], name, said)
    answer = told(getattr(two_stores[1], method_of(OPERATIONS[name]))(**said), lambda hint: TOOLS.says(hint, name))

    assert not result.is_error
    assert masked(result.structured_content) == masked(json.loads(json.dumps(compact(answer), default=str)))
    words = render(answer, Paper(width=2000, says=lambda hint: TOOLS.says(hint, name)))
    assert result.content[0].text in (words, marked(words))


def test_every_tool_is_compared():
    assert {name for name, _ in TOOLED} == set(SHOWN)


@pytest.mark.parametrize(("name", "said"), [each for each in REFUSED if each[0] in SHOWN])
def test_the_tool_refuses_what_python_refuses_in_the_same_words(
    two_stores: tuple[Engram, Engram], name: str, said: dict[str, Any]
):
    result = through_mcp(two_stores[0], name, said)

    with pytest.raises(package.EngramError) as refused:
        getattr(two_stores[1], method_of(OPERATIONS[name]))(**said)
    assert result.is_error
    reword(refused.value, TOOLS.says, name)
    assert result.structured_content == refused.value.body()


# Over HTTP


def _served_as(each: tuple[str, dict[str, Any]]) -> bool:
    """Whether the call can be made over HTTP: what is about a machine is not served, a path names one thing."""
    resource = RESOURCES.get(each[0])
    return resource is not None and all(isinstance(each[1][name], str) for name in resource.in_path)


RESOURCES = {resource.operation.name: resource for resource in resources()}
SERVED = [each for each in CALLS if _served_as(each)]


def through_http(memory: Engram, name: str, said: dict[str, Any]) -> tuple[int, Any]:
    """Status and JSON that the application gives to one request."""
    resource, rest = RESOURCES[name], dict(said)
    path = resource.path.removeprefix("/v1")
    for part in resource.in_path:
        path = path.replace(f"{{{part}}}", urllib.parse.quote(rest.pop(part), safe=""))
    query, body = "", b""
    if resource.method in ("GET", "DELETE"):
        query = urllib.parse.urlencode(rest, doseq=True)
    else:
        body = json.dumps(rest).encode()
    return anyio.run(asked, application(lambda _: memory), resource.method, path, query, body)


@pytest.mark.parametrize(("name", "said"), SERVED, ids=[f"{name}-{len(said)}" for name, said in SERVED])
def test_http_answers_what_python_answers_and_what_the_openapi_says(
    two_stores: tuple[Engram, Engram], name: str, said: dict[str, Any]
):
    first, second = (memory.for_person("http") for memory in two_stores)
    if OPERATIONS[name].group == "assets":
        plan = Path(first.store).with_name("plan.txt")
        plan.write_text("north, then east", encoding="utf-8")
        with_attachment(plan, first, second)
    status, body = through_http(first, name, said)
    answer = told(getattr(second, method_of(OPERATIONS[name]))(**said), lambda hint: as_routes(hint, name))

    assert status == 200, body
    assert masked(body) == masked(json.loads(json.dumps(shape(answer, answer.at, ""))))
    jsonschema.validate(body, answer_schema(name))


def answer_schema(name: str) -> dict[str, Any]:
    """What the OpenAPI document says an operation answers."""
    document = describe(resources())
    resource = RESOURCES[name]
    described = document["paths"][resource.path][resource.method.lower()]["responses"]["200"]
    return {**described["content"]["application/json"]["schema"], "components": document["components"]}


def test_every_operation_that_is_served_is_compared():
    assert {name for name, _ in SERVED} == set(RESOURCES)
    assert {name for name, each in OPERATIONS.items() if each.local} == set(OPERATIONS) - set(RESOURCES)


@pytest.mark.parametrize(("name", "said"), [each for each in REFUSED if each[0] in RESOURCES])
def test_http_refuses_what_python_refuses_in_the_same_words(
    two_stores: tuple[Engram, Engram], name: str, said: dict[str, Any]
):
    first, second = (memory.for_person("http") for memory in two_stores)
    status, body = through_http(first, name, said)

    with pytest.raises(package.EngramError) as refused:
        getattr(second, method_of(OPERATIONS[name]))(**said)
    reword(refused.value, as_routes, name)
    assert (status, body) == (refused.value.http_status, refused.value.body())


# Where a memory stands


@pytest.mark.parametrize("branch", ["feature", "main"])
def test_every_door_tells_where_a_memory_stands_as_seen_from_the_branch_of_whoever_asks(
    engram: Driver, monkeypatch: pytest.MonkeyPatch, branch: str
):
    """What is remembered on a branch is live there, and staged for whoever looks from elsewhere."""
    repo = Repo(engram.folder / "api")
    repo.write("a.txt", "one")
    repo.commit()
    repo.git("switch", "-qc", "feature")
    repo.commit("feature")
    monkeypatch.chdir(repo.folder)
    engram.remember("We retry five times")
    repo.git("switch", "-q", branch)
    with repo.open(engram.store) as memory:
        listing = memory.list(standing=("all",))
        one = listing.memories[0]
        stands = standing(one, listing.at, memory.view)
        assert (stands, one.status) == ("live" if branch == "feature" else "staged", "pending")
        assert [found.id for found in memory.list(standing=(stands,)).memories] == [one.id]

        # The command, in words and as JSON.
        assert ("staged" in engram("list", "--standing", "all").out) == (stands == "staged")
        assert engram("get", one.handle).out.split()[1] == stands
        assert ("a branch that is not merged" in engram("get", one.handle).out) == (stands == "staged")
        assert engram("get", one.handle, "--json").json["memories"][0]["standing"] == stands
        assert engram("list", "--standing", "all", "--json").json["memories"][0]["standing"] == stands
        # An agent's tools, in words and as JSON, its page, and the tools of another system.
        listed = through_mcp(memory, "list", {"standing": ["all"]})
        assert listed.structured_content["memories"][0].get("standing", "live") == stands
        assert ("staged" in listed.content[0].text) == (stands == "staged")
        assert (
            through_mcp(memory, "get", {"memory": one.handle}).structured_content["memories"][0]["standing"]
            == stands
        )
        assert f"- standing: {stands}\n" in memory_page(memory, one.id)
        assert state_of(memory, one, listing.at) == STATES.get(stands, stands)
        # HTTP.
        assert through_http(memory, "get", {"memory": one.handle})[1]["memories"][0]["standing"] == stands

        forgotten = memory.forget([one.handle]).event
        assert f"{one.handle} is {stands}: " in engram("undo", str(forgotten)).out
