"""The permission matrix: every caller, row and operation over HTTP and MCP, held against a grid written by hand."""

import itertools
import re
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest

from attacks.ledger import tried
from engines.samples import change, memory
from engines.servers import database_url
from engram.engines.postgres import PostgresEngine
from engram.engines.postgres_database import Database
from engram.model.scope import Scope
from engram.surfaces.http.routes import resources
from engram.surfaces.mcp.tools import SHOWN
from surfaces.identities import provider
from surfaces.matrices import (
    ABSENT,
    AGENTS,
    CALLERS,
    CELLS,
    DEEDS,
    JUDGES,
    NOBODYS,
    ONLY_READING,
    OWNER,
    OWNS,
    PENDING,
    ROWS,
    TOOLS,
    Reply,
    Wire,
    filled,
    read_grid,
)
from surfaces.teams import running

RESOURCE = "https://memory.example.org"
ANOTHERS = "Another's row, by every caller, every deed"
COUNTING = "Counting what may not be read"
NAMED = "A tenant, owner or role in an argument"
ACME, OTHER, SPACES = (f"{name}-{uuid.uuid4().hex}" for name in ("acme", "other", "spaces"))


def person(org: str, name: str, **more: Any) -> dict[str, Any]:
    return {"org": org, "email": f"{name}@example.org", "email_verified": True, **more}


PEOPLE: dict[str, dict[str, Any]] = {
    **{name: person(ACME, name) for name in ("ada", "ben", "wil", "mia", "gus", "dan")},
    "cyd": person(ACME, "cyd", groups=["leads"]),
    "eve": person(OTHER, "eve"),
    "robot": {"org": ACME},
    "amy": person(SPACES, "amy", spaces=["red", "blue"]),
    "bob": person(SPACES, "bob", spaces=["red"]),
    "col": person(SPACES, "col", spaces=["blue"]),
    "don": person(SPACES, "don"),
}
SETTINGS = """
org_claim = "org"
oidc_audience = "https://memory.example.org"
requests_per_minute = 0

[grants."project:api"]
writer = ["ada", "wil"]
reader = ["ben@example.org"]
reviewer = ["group:leads"]
admin = ["mia"]

[grants.global]
admin = ["gus"]
"""


DOORS = {"http": "The anchor of {} holds", "mcp": "A rope is coiled up beside {}"}


class Matrix(NamedTuple):
    """The rows as they were saved, one of its own for each caller at each door, and a connection for each caller.

    What a person judged at one door, no agent of theirs judges anew at another: so each has a pair of its own.
    """

    ids: dict[str, str]
    events: dict[str, int]
    own: dict[tuple[str, str], str]
    wires: dict[str, Wire]

    def names(self, caller: str, id: str, door: str) -> dict[str, str]:
        return {"row": id, "own": self.own[caller, door]}

    def owned(self, caller: str) -> int:
        """How many of these belong to whom this caller speaks for."""
        return sum(OWNER.get(one, one) == OWNER.get(caller, caller) for one, _ in self.own)

    def told_whole(self, reply: Reply, rows: set[str]) -> bool:
        """Whether the text of one of these rows is told, and not only what was asked."""
        return any(ROWS[row].body["text"] in reply.raw for row in rows)

    def words_in(self, reply: Reply) -> set[str]:
        """The rows of which anything is told: a word of its text, or its id."""
        return {name for name, row in ROWS.items() if row.word in reply.raw or self.ids[name] in reply.raw}


def unowned(org: str, row: str) -> str:
    """A row from before there were owners: only a store's own hands can make one."""
    database = Database(database_url(), most=1)
    engine = PostgresEngine(database, org, new_replica=lambda: uuid.uuid4().hex)
    made = memory(str(uuid.uuid4()), ROWS[row].body["text"], owner=None, scope=Scope(), **ROWS[row].said)
    engine.commit(change(made, batch=str(uuid.uuid4())))
    database.close()
    return made.id


@pytest.fixture(scope="module")
def matrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Matrix]:
    stack = ExitStack()
    with stack:
        known = stack.enter_context(provider(PEOPLE, tmp_path_factory.mktemp("provider")))
        folder, alone = tmp_path_factory.mktemp("team"), tmp_path_factory.mktemp("alone")
        port, _ = stack.enter_context(running(folder, known, SETTINGS, ENGRAM_STORE=database_url()))
        own_port, _ = stack.enter_context(running(alone, None, f'org = "{ACME}"', ENGRAM_STORE=database_url()))
        token = (alone / ".local" / "share" / "engram" / "token").read_text().strip()
        names = [name for name in PEOPLE if name != "robot" and PEOPLE[name]["org"] != SPACES]
        tokens = {name: known.person(name, RESOURCE) for name in names}
        tokens["robot"] = known.program("robot", RESOURCE)
        wires = {name: Wire(port, said, {}) for name, said in tokens.items()}
        wires["nobody"] = Wire(own_port, token, {})
        wires["ada's builder"] = Wire(port, tokens["ada"], {"engram-agent": "builder"})
        wires["dan's builder"] = Wire(port, tokens["dan"], {"engram-agent": "builder"})
        wires["dan's other"] = Wire(port, tokens["dan"], {"engram-agent": "other"})
        wires["ada only reading"] = Wire(port, known.person("ada", RESOURCE, "engram:read"), {})
        for can in ("read", "write"):
            made = wires["ada"].ask("POST", "/v1/apikeys", {"name": f"ci-{can}", "can": [can]})
            wires[f"{can} key of ada"] = Wire(port, made.body["key"], {})
        yield laid_out(wires)


def laid_out(wires: dict[str, Wire]) -> Matrix:
    """Every row saved by its owner, and one row of its own for each caller at each door."""
    ids, events = {}, {}
    for name, row in ROWS.items():
        if name.startswith("unowned"):
            ids[name] = unowned(ACME, name)
            continue
        saved = wires[row.owner or "nobody"].ask("POST", "/v1/memories", row.body)
        assert saved.status == 200, saved
        ids[name], events[name] = saved.body["memory"]["id"], saved.body["event"]
    assert wires["ada"].ask("POST", f"/v1/memories/{ids['forgotten']}/forget", {}).status == 200
    own = {}
    for caller, door in itertools.product(CALLERS, DOORS):
        body = {"text": DOORS[door].format(caller), "scope": "project:anchors"}
        saved = wires[OWNER.get(caller, caller)].ask("POST", "/v1/memories", body)
        own[caller, door] = saved.body["memory"]["id"]
    return Matrix(ids, events, own, wires)


EVERY_CALLER = pytest.mark.parametrize("caller", CALLERS)


def letters(caller: str) -> dict[str, str]:
    return {row: CELLS[caller, row] for row in ROWS}


def test_the_grid_has_every_caller_and_every_row():
    assert {row for _, row in CELLS} == set(ROWS)
    assert len(CELLS) == len(CALLERS) * len(ROWS)


def test_every_operation_that_is_served_has_its_place_in_the_matrix():
    by_row = {"reword": "promote", "unshare": "revise", "supersede": "relate", "replace": "remember"}
    placed = {by_row.get(name, name) for name in DEEDS if name != "fetch"} | {*LISTS, *PLACED, *KEPT, *OTHERS}
    assert {one.operation.name for one in resources()} == placed
    assert {tool for tool, _ in TOOLS.values()} | {"remember", "recall", "list", "context"} | {
        "session_begin",
        "session_end",
    } == set(SHOWN)


# What is asked about one row


@EVERY_CALLER
def test_every_cell_of_the_grid_holds_over_http(matrix: Matrix, caller: str):
    wrong = []
    absent = {deed: asked(matrix, caller, deed, NOBODYS) for deed in DEEDS}
    for row, letter in letters(caller).items():
        for name, deed in DEEDS.items():
            if letter in deed.spares and ("pending" not in deed.spares or row in PENDING):
                continue
            reply = asked(matrix, caller, name, matrix.ids[row])
            if letter == ABSENT:
                tried(ANOTHERS, "HTTP", told(reply))
            if (expected := deed.status(caller, row, letter)) != reply.status:
                wrong.append((row, name, expected, reply))
            # What may not be read is what is not there: in every word but the name that was asked for.
            if letter == ABSENT and nameless(reply, matrix.ids[row]) != nameless(absent[name], NOBODYS):
                wrong.append((row, name, absent[name], reply))
    matrix.wires["ada"].ask("POST", f"/v1/memories/{matrix.ids['forgotten']}/forget", {})  # its owner restored it
    assert wrong == []


def asked(matrix: Matrix, caller: str, deed: str, id: str) -> Reply:
    names, how = matrix.names(caller, id, "http"), DEEDS[deed]
    return matrix.wires[caller].ask(how.method, filled(how.path, **names), filled(how.body, **names))


def told(reply: Reply) -> str:
    """What came of asking for what is another's."""
    return {404: "absent", 403: "forbidden"}.get(reply.status, str(reply.status))


def nameless(reply: Reply, id: str) -> tuple[int, str]:
    return reply.status, reply.raw.replace(id, "ID")


@EVERY_CALLER
def test_every_cell_of_the_grid_holds_over_mcp(matrix: Matrix, caller: str):
    wrong = []
    for row, letter in letters(caller).items():
        for name, (tool, arguments) in TOOLS.items():
            if letter in DEEDS[name].spares or (name == "forget" and letter == OWNS):
                continue
            reply = matrix.wires[caller].tool(
                tool, filled(arguments, **matrix.names(caller, matrix.ids[row], "mcp"))
            )
            if letter == ABSENT:
                tried(ANOTHERS, "MCP", told(reply))
            if (expected := DEEDS[name].status(caller, row, letter)) != reply.status:
                wrong.append((row, name, expected, reply))
            if letter == ABSENT and matrix.words_in(reply) - {row}:
                wrong.append((row, name, "told of another", reply))
    assert wrong == []


@EVERY_CALLER
def test_nobody_takes_back_what_another_did(matrix: Matrix, caller: str):
    for row, letter in letters(caller).items():
        # Events are numbered by org: the number of another org's may be that of one's own, which may be undone.
        if row in matrix.events and letter != OWNS and caller != "eve" and row != "other org":
            reply = matrix.wires[caller].ask("POST", "/v1/undo", {"event": str(matrix.events[row])})
            refused = 403 if caller in AGENTS | ONLY_READING else 404 if letter == ABSENT else 403
            assert reply.status == refused, (row, reply)
            tried("Undoing what another did", "HTTP", told(reply))


# What is asked about many

LISTS = {
    "list": "/v1/memories?everywhere=true&standing=all&limit=500",
    "recall": "/v1/recall?question=quokka&everywhere=true&limit=50",
    "context": "/v1/context?query=quokka&budget=8000",
    "review": "/v1/review?limit=100",
    "queue": "/v1/queue?limit=100",
    "history": "/v1/history?limit=1000",
    "stats": "/v1/stats",
    "projects_list": "/v1/projects",
    "session_list": "/v1/sessions?everywhere=true",
    "evidence": "/v1/evidence",
    "insights_list": "/v1/insights",
    "search": "/v1/search?question=quokka&everywhere=true&standing=all",
    "files": "/v1/files?everywhere=true",
    "graph": "/v1/graph?question=conflicts",
    "trends": "/v1/trends",
    "cited": "/v1/cited?file=quokka.py",
    "suggest_key": "/v1/keys?text=The+quokka+is+called+aldera",
}
"""Every operation that answers with what it finds."""

SAID_THEMSELVES = {"suggest_key": {"private"}, "history": {"shared agent"}}
"""What an answer may name because the same owner did: the words of its question, and what its builder related."""


@EVERY_CALLER
def test_what_is_absent_is_in_no_answer_and_in_no_count(matrix: Matrix, caller: str):
    readable = {row for row, letter in letters(caller).items() if letter != ABSENT}
    replies = {name: matrix.wires[caller].ask("GET", path) for name, path in LISTS.items()}

    for name, reply in replies.items():
        assert reply.status == (403 if name == "search" and caller in AGENTS else 200), (name, reply)
        told = matrix.words_in(reply) - SAID_THEMSELVES.get(name, set())
        assert told <= readable, (name, told - readable)
    assert matrix.words_in(replies["list"]) == readable
    live = {row for row in readable if row not in PENDING | {"forgotten"}}
    assert matrix.words_in(replies["recall"]) == live
    assert replies["stats"].body["memories"] - made_by(matrix, caller) == len(readable) + matrix.owned(caller)
    judged = {row for row in PENDING if CELLS[caller, row] in (JUDGES, OWNS)}
    assert matrix.words_in(replies["review"]) == judged
    assert matrix.words_in(replies["queue"]) == judged
    projects = {row["name"] for row in replies["projects_list"].body["projects"]}
    assert ("api" in projects) == bool({"shared api", "private api"} & readable)
    tried(COUNTING, "HTTP", "in no answer and no count")


def made_by(matrix: Matrix, caller: str) -> int:
    """How many memories tests of this file made that this caller reads, beside the rows and the anchors."""
    listed = matrix.wires[caller].ask("GET", LISTS["list"]).body["memories"]
    known = {*matrix.ids.values(), *matrix.own.values()}
    return sum(1 for one in listed if one["id"] not in known)


@EVERY_CALLER
def test_what_is_absent_is_told_over_mcp_neither(matrix: Matrix, caller: str):
    readable = {row for row, letter in letters(caller).items() if letter != ABSENT}
    wire = matrix.wires[caller]
    listed = wire.tool("list", {"standing": ["all"], "limit": 50})
    found = wire.tool("recall", {"question": "quokka", "everywhere": True, "limit": 50})
    context = wire.tool("context", {"query": "quokka", "budget": 4000})

    assert matrix.words_in(found) == {row for row in readable if row not in PENDING | {"forgotten"}}
    for reply in (listed, context):
        assert matrix.words_in(reply) <= readable
    tried(COUNTING, "MCP", "in no answer and no count")


def test_an_attachment_is_read_with_its_memory_and_changed_by_its_owner(matrix: Matrix):
    plain = {"content-type": "text/plain"}
    for row in ("private", "shared api"):
        path = f"/v1/memories/{matrix.ids[row]}/assets"
        for caller in CALLERS:
            sent = matrix.wires[caller].send("POST", f"{path}?name=plan.txt", b"the plan", **plain)
            letter, reads = CELLS[caller, row], caller in ONLY_READING
            owns = 200 if letter == OWNS else 404 if letter == ABSENT else 403
            assert sent.status == (403 if reads else owns), (caller, row, sent)
        for caller in CALLERS:
            got = matrix.wires[caller].ask("GET", f"{path}/plan.txt")
            assert got.status == (404 if CELLS[caller, row] == ABSENT else 200), (caller, row, got)
            if CELLS[caller, row] != OWNS or caller in ONLY_READING:
                gone = matrix.wires[caller].ask("DELETE", f"{path}/plan.txt")
                hidden = CELLS[caller, row] == ABSENT and caller not in ONLY_READING
                assert gone.status == (404 if hidden else 403), (caller, row, gone)
        assert matrix.wires["ada"].ask("DELETE", f"{path}/plan.txt").status == 200


# Names and filters


def forms(id: str, handle: str) -> list[str]:
    """Every way to name a row that we can think of."""
    tricks = [
        "%25",
        "mem-%25",
        "mem-____",
        "*",
        "'%20OR%20'1'='1",
        "%22%20OR%201=1--",
        "..%2Fmemories",
        "%00",
        "0",
        "-1",
    ]
    return [
        id,
        id.upper(),
        id[:8],
        id[:13],
        id.replace("-", ""),
        f"%20{id}",
        handle,
        handle.upper(),
        handle[4:],
        *tricks,
    ]


@pytest.mark.parametrize("caller", ["dan", "eve", "dan's builder", "robot"])
def test_no_name_and_no_filter_reaches_what_is_anothers(matrix: Matrix, caller: str):
    wire = matrix.wires[caller]
    hidden = {row for row, letter in letters(caller).items() if letter == ABSENT}
    page = matrix.wires["ada"].ask("GET", "/v1/memories?everywhere=true&standing=all&limit=3").body
    shown = matrix.wires["ada"].ask("GET", f"/v1/memories/{matrix.ids['private']}").body["memories"][0]
    asked = [f"/v1/memories/{name}" for name in forms(shown["id"], shown["handle"])]
    asked += [f"/v1/history?memory={name}" for name in forms(shown["id"], shown["handle"])]
    asked += [
        f"/v1/memories?after={page['next']}&everywhere=true&standing=all&limit=500",
        *(f"/v1/memories?everywhere=true&standing={one}" for one in ("pending", "forgotten", "rejected", "all")),
        *(f"/v1/memories?standing=all&scope={one}" for one in SCOPES),
        *(f"/v1/recall?question=quokka&limit=50&scope={one}" for one in SCOPES),
        *(f"/v1/recall?question={row.word}&everywhere=true&weak=true" for row in ROWS.values()),
        "/v1/recall?question=quokka&everywhere=true&as_of=2100-01-01T00:00:00Z",
        "/v1/context?query=quokka&scope=project:api",
        *(f"/v1/history?before={event}&limit=1000" for event in matrix.events.values()),
    ]
    for path in asked:
        reply = wire.ask("GET", path)
        said_itself = {row for row in hidden if ROWS[row].word in path or matrix.ids[row] in path}
        assert reply.status in (200, 404, 409, 422), (path, reply)
        told = matrix.words_in(reply) & hidden - said_itself - {"shared agent"}
        assert not told, (path, told)
        assert reply.status != 200 or not said_itself or not matrix.told_whole(reply, said_itself), path
        tried("Another's row by id form, cursor, scope, filter, event or injection", "HTTP", "not told")


@pytest.mark.parametrize("caller", ["dan", "eve", "dan's builder", "robot"])
def test_no_name_and_no_filter_reaches_what_is_anothers_over_mcp(matrix: Matrix, caller: str):
    wire = matrix.wires[caller]
    hidden = {row for row, letter in letters(caller).items() if letter == ABSENT}
    page = matrix.wires["ada"].tool("list", {"standing": ["all"], "limit": 3}).body["structuredContent"]
    shown = matrix.wires["ada"].ask("GET", f"/v1/memories/{matrix.ids['private']}").body["memories"][0]
    assert matrix.wires["ada"].tool("get", {"memory": shown["handle"], "around": 3}).status == 200
    named = [unquote(name) for name in forms(shown["id"], shown["handle"])]
    asked: list[tuple[str, dict[str, Any]]] = [
        *(("get", {"memory": name, "around": 3}) for name in named),
        *(("forget", {"memory": name}) for name in named[:3]),
        *(("relate", {"memory": name, "other": NOBODYS, "kind": "related"}) for name in named[:3]),
        ("list", {"after": page["next"], "standing": ["all"], "limit": 50}),
        *(("list", {"standing": [one], "limit": 50}) for one in ("pending", "forgotten", "rejected", "all")),
        *(("list", {"standing": ["all"], "scope": one}) for one in SCOPES),
        *(("recall", {"question": "quokka", "limit": 50, "scope": one}) for one in SCOPES),
        *(("recall", {"question": row.word, "everywhere": True, "weak": True}) for row in ROWS.values()),
        ("context", {"query": "quokka", "scope": "project:api"}),
    ]
    for tool, said in asked:
        reply, words = wire.tool(tool, said), " ".join(map(str, said.values()))
        said_itself = {row for row in hidden if ROWS[row].word in words or matrix.ids[row] in words}
        assert reply.status in ((200, 404, 409, 422) if said.keys() & {"memory", "scope"} else (200,)), (
            said,
            reply,
        )
        told = matrix.words_in(reply) & hidden - said_itself - {"shared agent"}
        assert not told, (tool, said, told)
        assert reply.status != 200 or not said_itself or not matrix.told_whole(reply, said_itself), (tool, said)
        tried("Another's row by id form, cursor, scope, filter, event or injection", "MCP", "not told")


SCOPES = (
    "project:api",
    "agent:builder",
    "project:API",
    "red/project:api",
    f"{ACME}/global",
    "project:api@run",
    "global",
)


@pytest.mark.parametrize("argument", ["owner", "org", "actor", "tenant", "workspace", "agent", "caller", "roles"])
def test_who_one_is_cannot_be_said_by_an_argument(matrix: Matrix, argument: str):
    wire = matrix.wires["dan"]
    assert wire.ask("POST", "/v1/memories", {"text": "x", argument: "ada"}).status == 422
    assert wire.ask("GET", f"/v1/memories?{argument}=ada").status == 422
    assert wire.ask("GET", f"/v1/recall?question=x&{argument}=ada").status == 422
    assert wire.tool("recall", {"question": "x", argument: "ada"}).status == 422
    tried(NAMED, "HTTP", "refused")
    tried(NAMED, "MCP", "refused")


# What is new, and where

PLACES = """
                  global project:api project:web agent:mine
ada               o      o           o           o
ada's builder     o      o           o           o
read key of ada   .      .           .           .
write key of ada  o      o           o           o
ada only reading  .      .           .           .
ben               o      .           o           o
wil               o      o           o           o
cyd               o      o           o           o
mia               o      o           o           o
gus               o      .           o           o
dan               o      .           o           o
dan's builder     o      .           o           o
dan's other       o      .           o           o
robot             o      .           o           o
eve               o      .           o           o
nobody            o      o           o           o
"""
"""Where who may add: grants are the server's, for a project of that name in any org."""

PLACED = {
    "remember": ("/v1/memories", {"text": "The wombat of {who} digs"}),
    "capture": ("/v1/capture", {"text": "## Key learnings\n\n1. The wombat of {who} sleeps through every storm"}),
    "session_begin": ("/v1/sessions", {"session": "of {who} in {place}"}),
    "session_end": (
        "/v1/sessions/end",
        {"session": "of {who} in {place}", "summary": "The wombat of {who} is done"},
    ),
}


@EVERY_CALLER
def test_what_is_new_lands_only_where_one_may_write(matrix: Matrix, caller: str):
    wire = matrix.wires[caller]
    for (who, place), letter in read_grid(PLACES).items():
        if who != caller:
            continue
        status = 200 if letter == OWNS else 403
        for name, (path, body) in PLACED.items():
            said = {**filled(body, who=caller, place=place), "scope": place}
            assert wire.ask("POST", path, said).status == status, (name, place)
        told = {"text": f"The echidna of {caller} curls", "scope": place}
        assert wire.tool("remember", told).status == status, place
        assert wire.tool("session_begin", {"session": f"{caller}@{place}", "scope": place}).status == status
    begun = 403 if caller in ONLY_READING else 200
    assert wire.tool("session_end", {"session": f"{caller}@global", "summary": "It curls"}).status == begun


@EVERY_CALLER
def test_a_session_is_of_who_began_it(matrix: Matrix, caller: str):
    begun = matrix.wires["wil"].ask(
        "POST", "/v1/sessions", {"session": f"vombatus {caller}", "scope": "project:web"}
    )
    id = begun.body["session"]["id"]
    listed = matrix.wires[caller].ask("GET", "/v1/sessions?everywhere=true&limit=500")
    named = matrix.wires[caller].ask("GET", f"/v1/sessions?session={id}")
    ended = matrix.wires[caller].ask("POST", "/v1/sessions/end", {"session": id})

    assert (id in listed.raw, named.status == 200) == (caller == "wil", caller == "wil")
    assert ended.status == (200 if caller == "wil" else 403 if caller in ONLY_READING else 404)


def test_a_project_is_moved_by_its_owners_and_nowhere_they_may_not_write(matrix: Matrix):
    def move(caller: str, action: str, **said: str) -> int:
        return matrix.wires[caller].ask("POST", f"/v1/projects/{action}", said).status

    said = {"text": "The wombat of wil burrows", "scope": "project:api"}
    assert matrix.wires["wil"].ask("POST", "/v1/memories", said).status == 200
    assert move("ada", "rename", project="api", name="apis") == 200  # shown, not done
    assert move("wil", "rename", project="api", name="apis") == 200  # what is wil's own there
    assert move("ben", "rename", project="api", name="apis") == 403
    assert move("dan", "rename", project="api", name="apis") == 404
    assert move("eve", "rename", project="api", name="apis") == 404
    for caller in AGENTS | ONLY_READING:
        assert move(caller, "rename", project="anchors", name="elsewhere") == 403
    applied = {"project": "anchors", "name": "api", "apply": True}
    assert matrix.wires["dan"].ask("POST", "/v1/projects/rename", applied).status in (403, 409)
    merged = {"source": "anchors", "into": "api", "apply": True}
    assert matrix.wires["dan"].ask("POST", "/v1/projects/merge", merged).status == 404
    assert matrix.wires["ben"].ask("POST", "/v1/projects/merge", merged).status == 403


# Verdicts


def test_who_may_reject_does_and_the_text_does_not_come_back(matrix: Matrix):
    for caller, status in {"ben": 403, "wil": 403, "dan": 404, "eve": 404, "gus": 404, "robot": 403}.items():
        id = waiting(matrix, caller)
        assert matrix.wires[caller].ask("POST", f"/v1/memories/{id}/reject", {}).status == status, caller
        assert matrix.wires[caller].ask("POST", f"/v1/memories/{id}/promote", {"confirm": True}).status == status
    for caller in ("ada", "cyd", "mia"):
        id = waiting(matrix, caller)
        assert matrix.wires[caller].ask("POST", f"/v1/memories/{id}/reject", {"reason": "no"}).status == 200
        told = matrix.wires["ada"].ask("GET", f"/v1/history?memory={id}").body["events"]
        assert (told[0]["action"], told[0]["actor"]) == ("reject", f"{caller}@example.org")


def test_a_reviewer_erases_nothing_by_having_judged_it(matrix: Matrix):
    said = {"text": "The numbat eats ants", "scope": "project:api", "visibility": "shared"}
    id = matrix.wires["ada"].ask("POST", "/v1/memories", said).body["memory"]["id"]
    assert matrix.wires["cyd"].ask("POST", f"/v1/memories/{id}/verify", {}).status == 200
    assert matrix.wires["ada"].ask("PATCH", f"/v1/memories/{id}", {"visibility": "private"}).status == 200

    gone = matrix.wires["cyd"].ask("DELETE", f"/v1/memories/{id}?confirm=true")
    assert gone.status == 404
    tried("Erasing what one only reviewed", "HTTP", "absent")
    assert id not in matrix.wires["cyd"].ask("GET", "/v1/history?limit=1000").raw
    told = matrix.wires["ada"].ask("GET", f"/v1/history?memory={id}").body["events"]
    assert [(event["action"], event["purged"]) for event in told] == [
        ("revise", False),
        ("verify", False),
        ("remember", False),
    ]


def waiting(matrix: Matrix, name: str) -> str:
    said = {"scope": "project:api", "kind": "identity", "visibility": "shared"}
    body = {"text": f"The numbat of {name} is {uuid.uuid4().hex}", **said}
    return str(matrix.wires["ada"].ask("POST", "/v1/memories", body).body["memory"]["id"])


# The store itself, keys, and the rest

KEPT = {
    "doctor": ("GET", "/v1/doctor"),
    "reembed": ("POST", "/v1/reembed"),
    "reindex": ("POST", "/v1/reindex"),
    "models": ("GET", "/v1/models?action=install&name=none"),
}


@EVERY_CALLER
def test_the_store_itself_is_looked_after_by_who_runs_it_and_by_admins_of_the_org(matrix: Matrix, caller: str):
    for name, (method, path) in KEPT.items():
        status = matrix.wires[caller].ask(method, path, {} if method == "POST" else None).status
        assert (status != 403) == (caller in ("gus", "nobody")), (name, status)


OTHERS = {"keys_create", "keys_list", "keys_revoke", "sync", "settle", "conflicts", "kinds", "insights_save"} | {
    "insights_purge",
    "projects_merge",
    "projects_rename",
    "undo",
}


@EVERY_CALLER
def test_keys_are_made_by_people_for_themselves(matrix: Matrix, caller: str):
    wire = matrix.wires[caller]
    agents = caller in AGENTS | ONLY_READING
    made = wire.ask("POST", "/v1/apikeys", {"name": "more"})
    assert made.status == (403 if agents else 422 if caller == "nobody" else 200)
    for_another = wire.ask("POST", "/v1/apikeys", {"name": "more", "owner": "wil"})
    assert for_another.status == (200 if caller in ("wil", "nobody") else 403)
    assert wire.ask("GET", "/v1/apikeys?owner=wil").status == (200 if caller in ("wil", "gus", "nobody") else 403)
    handle = matrix.wires["wil"].ask("POST", "/v1/apikeys", {"name": "x"}).body["row"]["handle"]
    revoked = wire.ask("POST", f"/v1/apikeys/{handle}/revoke", {}).status
    # Whoever looks after keys (an admin, and the operator at the server's own machine) may end anybody's.
    assert revoked == (403 if agents else 200 if caller in ("wil", "gus", "nobody") else 404)


@EVERY_CALLER
def test_what_goes_by_itself_is_ones_own(matrix: Matrix, caller: str):
    wire, reads = matrix.wires[caller], caller in ONLY_READING
    readable = {row for row, letter in letters(caller).items() if letter != ABSENT}
    shown = wire.ask("POST", "/v1/sync", {})
    assert shown.status == (403 if caller in AGENTS or reads else 200)
    if shown.status == 200:
        assert matrix.words_in(shown) == {row for row in PENDING if CELLS[caller, row] == OWNS}
    for path, said, looks in (
        ("/v1/settle", {}, False),
        ("/v1/conflicts", {"scan": True}, False),
        ("/v1/conflicts", {}, True),
    ):
        reply = wire.ask("POST", path, {"dry_run": True, **said})
        assert reply.status == (403 if reads and not looks else 200), (path, said)
        assert matrix.words_in(reply) <= readable
    assert wire.ask("GET", "/v1/kinds").status == 200


@EVERY_CALLER
def test_an_insight_is_for_its_owner_alone(matrix: Matrix, caller: str):
    said = {"category": "workflow", "text": "Wil works in the mornings"}
    assert matrix.wires["wil"].ask("POST", "/v1/insights", said).status == 200
    told = matrix.wires[caller].ask("GET", "/v1/insights")
    assert (told.status, "mornings" in told.raw) == (200, caller == "wil")
    saved = matrix.wires[caller].ask("POST", "/v1/insights", {"category": "tools", "text": "Likes short answers"})
    assert (saved.status == 403) == (caller in ONLY_READING), saved
    gone = matrix.wires[caller].ask("DELETE", "/v1/insights?confirm=true")
    assert gone.status == (403 if caller in AGENTS | ONLY_READING else 200), gone
    assert ("mornings" in matrix.wires["wil"].ask("GET", "/v1/insights").raw) == (caller != "wil")


# Workspaces

SPACE_ROWS = {
    "red private": ("amy in red", {"text": "The panda is called rotvald"}),
    "red shared": ("amy in red", {"text": "The panda is called scarlan", "visibility": "shared"}),
    "red project": (
        "amy in red",
        {"text": "The panda is called tizianr", "scope": "project:zoo", "visibility": "shared"},
    ),
    "blue shared": ("amy in blue", {"text": "The panda is called umbrazu", "visibility": "shared"}),
    "blue project": (
        "amy in blue",
        {"text": "The panda is called vestibl", "scope": "project:zoo", "visibility": "shared"},
    ),
    "red of bob": ("bob", {"text": "The panda is called wintora", "visibility": "shared"}),
}
SPACE_GRID = """
                  red-private red-shared red-project blue-shared blue-project red-of-bob
amy in red        o           o          o           .           .            r
amy in blue       .           .          .           o           o            .
key in red        o           o          o           .           .            r
bob               .           r          r           .           .            o
col               .           .          .           r           r            .
"""
OUTSIDE = ("amy nowhere", "amy in green", "bob in blue", "don", "don in red", "key in blue")
"""Who stands in no workspace of its own: nothing is open to it."""


@pytest.fixture(scope="module")
def spaces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, Wire], dict[str, str]]]:
    settings = SETTINGS.replace("[grants", 'workspaces_claim = "spaces"\n[grants', 1)
    folder = tmp_path_factory.mktemp("spaces")
    with (
        provider(PEOPLE, tmp_path_factory.mktemp("provider")) as known,
        running(folder, known, settings, ENGRAM_STORE=database_url()) as (port, _),
    ):
        tokens = {name: known.person(name, RESOURCE) for name in ("amy", "bob", "col", "don")}
        wires = {name: Wire(port, token, {}) for name, token in tokens.items()}
        for caller in ("amy in red", "amy in blue", "amy in green", "bob in blue", "don in red"):
            who, _, place = caller.partition(" in ")
            wires[caller] = Wire(port, tokens[who], {"engram-workspace": place})
        wires["amy nowhere"] = wires.pop("amy")
        key = wires["amy in red"].ask("POST", "/v1/apikeys", {"name": "ci", "can": ["write"]}).body["key"]
        wires["key in red"] = Wire(port, key, {})
        wires["key in blue"] = Wire(port, key, {"engram-workspace": "blue"})
        ids = {}
        for name, (caller, body) in SPACE_ROWS.items():
            ids[name] = wires[caller].ask("POST", "/v1/memories", body).body["memory"]["id"]
        yield wires, ids


@pytest.mark.parametrize("caller", dict.fromkeys(caller for caller, _ in read_grid(SPACE_GRID)))
def test_a_workspace_bounds_every_read_and_write(spaces: tuple[dict[str, Wire], dict[str, str]], caller: str):
    wires, ids = spaces
    cells = {row: letter for (who, row), letter in read_grid(SPACE_GRID).items() if who == caller}
    readable = {row for row, letter in cells.items() if letter != ABSENT}
    word = {row: str(body["text"]).split()[-1] for row, (_, body) in SPACE_ROWS.items()}
    for name, path in LISTS.items():
        reply = wires[caller].ask("GET", path.replace("quokka", "panda"))
        told = {row for row in ids if word[row] in reply.raw or ids[row] in reply.raw}
        assert told <= readable, (name, told - readable)
        assert name not in ("list", "recall") or told == readable, name
    listed = wires[caller].ask("GET", LISTS["list"]).body["memories"]
    assert wires[caller].ask("GET", "/v1/stats").body["memories"] == len(listed)
    for row, letter in cells.items():
        for name in ("get", "timeline", "related", "history", "revise", "verify", "purge"):
            deed = DEEDS[name]
            reply = wires[caller].ask(deed.method, filled(deed.path, row=ids[row]), deed.body)
            agent = deed.human and caller.startswith("key")
            assert reply.status == (403 if agent else deed.status(caller, row, letter)), (name, row, reply)
        assert wires[caller].tool("get", {"memory": ids[row]}).status == (404 if letter == ABSENT else 200)
    elsewhere = "blue" if "red" in caller or caller == "bob" else "red"
    for scope in (f"{elsewhere}/global", f"{elsewhere}/project:zoo"):
        assert wires[caller].ask("POST", "/v1/memories", {"text": "Elsewhere", "scope": scope}).status == 403
        found = wires[caller].ask("GET", f"/v1/memories?scope={scope}")
        assert found.status != 200 or found.body["memories"] == []
        tried("Another workspace of one's own", "HTTP", "absent")


def test_what_was_done_in_one_workspace_is_neither_told_nor_taken_back_in_another(
    spaces: tuple[dict[str, Wire], dict[str, str]],
):
    wires, _ = spaces
    said = {"text": "The panda is called xanthip"}
    saved = wires["amy in red"].ask("POST", "/v1/memories", said).body
    id = saved["memory"]["id"]
    told = wires["amy in blue"].ask("GET", "/v1/history?limit=100")

    assert not re.search(f"xanthip|{id}", told.raw)
    taken = wires["amy in blue"].ask("POST", "/v1/undo", {"event": str(saved["event"])})
    assert taken.status == 404
    last = wires["amy in blue"].ask("POST", "/v1/undo", {})
    assert id not in last.raw
    assert wires["amy in red"].ask("GET", f"/v1/memories/{id}").status == 200
    assert "xanthip" in wires["amy in red"].ask("GET", "/v1/history?limit=100").raw
    assert wires["amy in blue"].ask("DELETE", f"/v1/memories/{id}?confirm=true").status == 404
    undone = wires["amy in red"].ask("POST", "/v1/undo", {"event": str(saved["event"])})
    assert undone.status == 200
    assert "xanthip" not in wires["amy in blue"].ask("GET", "/v1/history?limit=100").raw  # gone, and still not told
    assert wires["amy in blue"].ask("DELETE", f"/v1/memories/{id}?confirm=true").status == 404
    assert wires["amy in red"].ask("DELETE", f"/v1/memories/{id}?confirm=true").status == 200


def test_a_workspace_bounds_files_exchanges_and_pages(spaces: tuple[dict[str, Wire], dict[str, str]]):
    wires, ids = spaces
    red, blue = wires["amy in red"], wires["amy in blue"]
    files = f"/v1/memories/{ids['red project']}/assets"
    plain = {"content-type": "text/plain"}
    assert red.send("POST", f"{files}?name=plan.txt", b"the tizianr plan", **plain).status == 200
    for method, path in (("GET", files), ("GET", f"{files}/plan.txt"), ("DELETE", f"{files}/plan.txt")):
        assert blue.ask(method, path).status == 404
    assert blue.send("POST", f"{files}?name=more.txt", b"more", **plain).status == 404
    assert red.ask("GET", f"{files}/plan.txt").raw == "the tizianr plan"

    for scope in ("red/project:zoo", "red/global", "project:zoo", "global"):
        for private in ("true", "false"):
            asked = f"/v1/sync/files?scope={scope}&private={private}"
            assert (blue.ask("GET", asked).status, wires["col"].ask("GET", asked).status) == (403, 403)
    (name,) = {
        each["name"]
        for each in red.ask("GET", "/v1/sync/files?scope=red/project:zoo").body["files"]
        if each["name"].endswith(".payload")
    }
    assert "tizianr" in red.ask("GET", f"/v1/sync/files/{name}?scope=red/project:zoo").raw
    assert blue.ask("GET", f"/v1/sync/files/{name}?scope=red/project:zoo").status == 403
    assert blue.ask("GET", f"/v1/sync/files/{name}?scope=blue/project:zoo").status == 404

    pages = [f"memory://memory/{ids['red project']}", "memory://facts", "memory://recall", "memory://project/zoo"]
    told = {wire: " ".join(map(wire.page, pages)) for wire in (red, blue)}
    assert ("tizianr" in told[red], "tizianr" in told[blue]) == (True, False)


def test_what_was_judged_in_one_workspace_is_told_there_and_in_no_other(
    spaces: tuple[dict[str, Wire], dict[str, str]],
):
    wires, ids = spaces
    red, blue = wires["amy in red"], wires["amy in blue"]
    said = {"memory": ids["red private"], "other": ids["red shared"], "kind": "conflicts", "reason": "yolanth"}
    made = red.ask("POST", "/v1/relations", said).body
    asked = ("/v1/graph?question=conflicts", "/v1/history?limit=100")
    for path in asked:
        assert ids["red private"] in red.ask("GET", path).raw
        assert not re.search(f"yolanth|{ids['red private']}|{made['relation']['id']}", blue.ask("GET", path).raw)
    assert ids["red private"] in red.ask("POST", "/v1/conflicts", {}).raw
    assert ids["red private"] not in blue.ask("POST", "/v1/conflicts", {}).raw
    marks = {hit["memory"]["id"]: hit["marks"] for hit in red.ask("GET", "/v1/recall?question=panda").body["hits"]}
    judged_marks = [one for one in marks[ids["red private"]] if not one.startswith("may ")]
    assert [one.split()[0] for one in judged_marks] == ["conflicts"]
    judged = blue.ask("POST", f"/v1/relations/{made['relation']['id']}/judge", {"kind": "related"})
    assert (judged.status, ids["red private"] in judged.raw) == (404, False)

    assert blue.ask("POST", "/v1/undo", {"event": str(made["event"])}).status == 404
    assert red.ask("POST", "/v1/undo", {"event": str(made["event"])}).status == 200
    assert not re.search(f"yolanth|{made['relation']['id']}", blue.ask("GET", asked[1]).raw)  # gone, and not told


def test_a_token_stands_for_a_request_in_one_workspace(spaces: tuple[dict[str, Wire], dict[str, str]]):
    wires, _ = spaces
    said = {"text": "The panda is called zibeline", "token": "once"}
    saved = [wires[f"amy in {place}"].ask("POST", "/v1/memories", said).body for place in ("red", "blue", "red")]
    assert [one["memory"]["scope"] for one in saved] == ["red/global", "blue/global", "red/global"]
    assert saved[0]["event"] == saved[2]["event"] != saved[1]["event"]


def test_whoever_stands_in_no_workspace_of_its_own_gets_one_answer(
    spaces: tuple[dict[str, Wire], dict[str, str]],
):
    wires, ids = spaces
    asked = [("GET", path) for path in LISTS.values()] + [("GET", f"/v1/memories/{ids['red shared']}")]
    replies = [wires[caller].ask(*one) for caller in OUTSIDE for one in asked]
    assert {reply.status for reply in replies} == {403}
    assert len({reply.raw for reply in replies}) == 1
    assert replies[0].body["code"] == "forbidden"
