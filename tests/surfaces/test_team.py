"""A team's server: who reads, writes and decides what, over HTTP and MCP, with tokens of a real provider."""

import base64
import json
import re
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import anyio
import pytest
from mcp.types import INTERNAL_ERROR

import engram as package
from attacks.ledger import tried
from engines.asking import NASTY, UNHELD
from engines.servers import database_url
from engram.service import OPERATIONS
from engram.surfaces.mcp.tools import SHOWN
from engram.surfaces.schemas import arguments
from surfaces.driving import child
from surfaces.identities import Provider, provider
from surfaces.mcp_clients import ERAS, Served, over_http
from surfaces.teams import Answer, Team, running

EVERYWHERE = "0.0.0.0"  # noqa: S104 - what must not be listened at
RESOURCE = "https://memory.example.org"
ACME, OTHER = f"acme-{uuid.uuid4().hex}", f"other-{uuid.uuid4().hex}"


def claims(org: str, name: str, **more: Any) -> dict[str, Any]:
    return {"org": org, "email": f"{name}@example.org", "email_verified": True, **more}


PEOPLE = {
    "ada": claims(ACME, "ada"),
    "ben": claims(ACME, "ben"),
    "cyd": claims(ACME, "cyd", groups=["leads"]),
    "dan": claims(ACME, "dan"),
    "eve": claims(OTHER, "eve"),
    "robot": {"org": ACME},
}
SETTINGS = """
org_claim = "org"
oidc_audience = "https://memory.example.org"
requests_per_minute = 0

[grants."project:api"]
writer = ["ada"]
reader = ["ben@example.org"]
reviewer = ["group:leads"]
"""


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("team")
    with provider(PEOPLE, tmp_path_factory.mktemp("provider")) as known:
        tokens = {name: known.person(name, RESOURCE) for name in PEOPLE if name != "robot"}
        tokens["robot"] = known.program("robot", RESOURCE)
        with running(folder, known, SETTINGS, ENGRAM_STORE=database_url()) as (port, log):
            yield Team(port, known, tokens, folder, log)


# Roles; the whole matrix is in test_matrix.py

ROWS = {
    "private global": ("ada", {"text": "Ada likes the quiet quokka"}),
    "shared global": ("ada", {"text": "The quokka naps at noon", "visibility": "shared"}),
    "private api": ("ada", {"text": "Ada doubts the api quokka", "scope": "project:api"}),
    "shared api": ("ada", {"text": "The api quokka is fed", "scope": "project:api", "visibility": "shared"}),
    "shared web": ("ada", {"text": "The web quokka is red", "scope": "project:web", "visibility": "shared"}),
    "shared agent": ("ada", {"text": "Builders pat the quokka", "scope": "agent:builder", "visibility": "shared"}),
    "pending api": (
        "ada",
        {"text": "The quokka is called Alex", "kind": "identity", "scope": "project:api", "visibility": "shared"},
    ),
    "private of ben": ("ben", {"text": "Ben fears the quokka"}),
    "other org": ("eve", {"text": "The other quokka sleeps", "visibility": "shared"}),
}


class Matrix(NamedTuple):
    """The rows as they were saved, and how each caller speaks."""

    team: Team
    ids: dict[str, str]
    callers: dict[str, tuple[str, dict[str, str]]]

    def http(self, caller: str, method: str, path: str, body: Any = None) -> Answer:
        token, headers = self.callers[caller]
        return self.team.ask(token, method, path, body, **headers)

    def mcp(self, caller: str, tool: str, **arguments: Any) -> dict[str, Any]:
        token, headers = self.callers[caller]
        return self.team.tool(token, tool, arguments, **headers)


@pytest.fixture(scope="module")
def matrix(team: Team) -> Matrix:
    ids = {}
    for name, (owner, body) in ROWS.items():
        saved = team.ask(team.tokens[owner], "POST", "/v1/memories", body)
        assert saved.status == 200, saved
        ids[name] = saved.body["memory"]["id"]
    made = team.ask(team.tokens["ada"], "POST", "/v1/apikeys", {"name": "ci"}).body
    plain = {name: (token, {}) for name, token in team.tokens.items()}
    agents = {
        "ada's builder": (team.tokens["ada"], {"engram_agent": "builder"}),
        "dan's builder": (team.tokens["dan"], {"engram_agent": "builder"}),
        "dan's other": (team.tokens["dan"], {"engram_agent": "other"}),
        "key of ada": (made["key"], {}),
    }
    return Matrix(team, ids, {**plain, **agents})


@pytest.mark.parametrize(
    ("caller", "scope", "status"),
    [
        ("ada", "project:api", 200),
        ("ben", "project:api", 403),
        ("cyd", "project:api", 200),
        ("dan", "project:api", 403),
        ("robot", "project:api", 403),
        ("dan's builder", "project:api", 403),
        ("eve", "project:api", 403),  # grants are the server's, for a project of that name in any org
        ("dan", "project:web", 200),
        ("robot", "project:web", 200),
        ("dan", "global", 200),
        ("key of ada", "project:api", 403),
    ],
)
def test_new_rows_come_from_writers_of_the_project(matrix: Matrix, caller: str, scope: str, status: int):
    text = f"The wombat of {caller} digs in {scope}"
    assert matrix.http(caller, "POST", "/v1/memories", {"text": text, "scope": scope}).status == status
    said = matrix.mcp(caller, "remember", text=text, scope=scope)
    assert bool(said.get("isError")) == (status != 200)


def test_a_reviewer_decides_for_the_team_and_history_says_who(matrix: Matrix):
    body = {"text": "The wombat is Robin", "kind": "identity", "scope": "project:api", "visibility": "shared"}
    saved = matrix.http("ada", "POST", "/v1/memories", body).body["memory"]
    path = f"/v1/memories/{saved['id']}"

    assert saved["id"] in [
        one["memory"]["id"] for one in matrix.http("cyd", "GET", "/v1/review").body["candidates"]
    ]
    for caller in ("ben", "dan", "robot", "dan's builder"):
        waiting = matrix.http(caller, "GET", "/v1/review").body["candidates"]
        assert saved["id"] not in [one["memory"]["id"] for one in waiting]
    for caller, status in {"ben": 403, "dan": 404, "eve": 404, "robot": 403, "ada's builder": 403}.items():
        assert matrix.http(caller, "POST", f"{path}/promote", {"confirm": True}).status == status
        assert matrix.http(caller, "POST", f"{path}/reject", {}).status == status
    assert matrix.http("cyd", "POST", f"{path}/promote", {"confirm": True, "text": "Another"}).status == 403
    assert matrix.http("cyd", "PATCH", path, {"text": "Another"}).status == 403
    assert matrix.http("cyd", "POST", f"{path}/promote", {"confirm": True}).status == 200

    shown = matrix.http("ada", "GET", path).body["memories"][0]
    told = matrix.http("ada", "GET", f"/v1/history?memory={saved['id']}").body["events"]
    assert (shown["text"], shown["approved_by"], shown["owner"]) == (body["text"], "cyd@example.org", "ada")
    assert [event["actor"] for event in told if event["action"] == "promote"] == ["cyd@example.org"]


def test_who_is_told_of_what_is_told_by_the_token_alone(matrix: Matrix):
    mine = matrix.http("ada", "GET", f"/v1/memories/{matrix.ids['shared api']}").body["memories"][0]

    assert (mine["owner"], mine["actor"]) == ("ada", "ada@example.org")
    for argument in ("owner", "org", "actor", "tenant"):
        assert matrix.http("dan", "POST", "/v1/memories", {"text": "x", argument: "ada"}).status == 422
        assert matrix.http("dan", "GET", f"/v1/memories?{argument}=ada").status == 422


# Credentials


MADE_UP = (
    *(json.dumps([org, "ada", "key-0001"]) for org in (ACME, OTHER, "nowhere", "", "a\0b", "\ud800", "x" * 900)),
    *(json.dumps([ACME, owner, "key-0001"]) for owner in ("", "a\0b", "\udfff")),
    "[" * 1400,
)
"""What a key says of itself proves nothing, and may be anything."""


def made_up(said: str) -> str:
    return f"egk.{base64.urlsafe_b64encode(said.encode()).decode().rstrip('=')}.x"


def test_a_refusal_never_says_why(team: Team):
    good = team.tokens["ada"]
    head, body, signature = good.split(".")
    stray = team.provider.program("stray", RESOURCE)
    bad = {
        "cut": good[:-10],
        "unsigned": f"{head}.{body}.",
        "no algorithm": f"eyJhbGciOiJub25lIn0.{body}.",
        "swapped": f"{head}.{team.tokens['eve'].split('.')[1]}.{signature}",
        "wrong audience": team.provider.person("ada", "https://elsewhere.example.org"),
        "long": "x" * 100_000,
        "no token": "nonsense",
        "no key": "egk.nonsense.nonsense",
        "empty key": "egk..",
        **{f"made-up key {at}": made_up(said) for at, said in enumerate(MADE_UP)},
    }
    answers = {name: team.ask(token, "GET", "/v1/stats") for name, token in bad.items()}

    for nothing in ("", "Bearer", "Bearer ", "Basic YWRhOnBhc3N3b3Jk"):
        answers[nothing] = team.ask("", "GET", "/v1/stats", authorization=nothing)
    assert {(one.status, one.raw, one.headers["www-authenticate"]) for one in answers.values()} == {
        (401, answers["cut"].raw, answers["cut"].headers["www-authenticate"])
    }
    without = team.ask("", "GET", "/v1/stats")
    assert (without.status, without.body["message"]) == (401, "No credentials were sent.")
    assert without.raw == team.ask("", "POST", "/mcp", {}).raw == team.ask("", "GET", "/nothing").raw
    for one in answers.values():
        tried("Unsigned, cut, swapped, foreign and very long tokens", "HTTP", one.status)
    assert {one.body["hint"] for one in (*answers.values(), without)} == {
        "Get a token from the provider, and send it: Authorization: Bearer TOKEN."
    }
    challenge = answers["cut"].headers["www-authenticate"]
    assert 'error="invalid_token"' in challenge
    assert 'error="' not in without.headers["www-authenticate"]
    assert f'resource_metadata="http://127.0.0.1:{team.port}/.well-known/oauth-protected-resource/mcp"' in challenge
    # A good token of somebody who is of no org: known, and let in nowhere.
    denied = {team.ask(stray, method, path).raw for method, path in (("GET", "/v1/stats"), ("POST", "/mcp"))}
    refused = team.ask(stray, "GET", "/v1/stats")
    assert (refused.status, len(denied)) == (403, 1)
    assert 'error="insufficient_scope"' in refused.headers["www-authenticate"]


def test_the_resource_says_who_gives_tokens_for_it(team: Team):
    for path in ("", "/mcp", "/v1"):
        told = team.ask("", "GET", f"/.well-known/oauth-protected-resource{path}")
        assert told.status == 200
        assert told.body["resource"] == f"http://127.0.0.1:{team.port}{path}"
        assert told.body["authorization_servers"] == [team.provider.issuer]


def test_a_token_for_this_servers_own_address_is_accepted(team: Team):
    token = team.provider.person("ada", f"http://127.0.0.1:{team.port}/mcp")
    assert team.ask(token, "GET", "/v1/stats").status == 200


def test_a_token_for_reading_writes_nothing(team: Team):
    token = team.provider.person("ada", RESOURCE, "engram:read")

    assert team.ask(token, "GET", "/v1/stats").status == 200
    assert team.ask(token, "POST", "/v1/memories", {"text": "no"}).status == 403
    assert team.tool(token, "remember", {"text": "no"})["structuredContent"]["code"] == "forbidden"


def test_what_is_not_served_is_told_in_the_form_of_every_error(team: Team):
    answer = team.ask(team.tokens["ada"], "GET", "/nothing")
    assert (answer.status, sorted(answer.body)) == (404, ["code", "hint", "message"])


def test_an_agent_is_told_whose_word_it_is_where_it_is_anothers(matrix: Matrix):
    theirs = matrix.mcp("ben", "recall", question="api quokka fed", scope="project:api")
    own = matrix.mcp("ada", "recall", question="api quokka fed", scope="project:api")
    began = matrix.mcp("ben", "context", query="api quokka fed", scope="project:api")
    listed = matrix.mcp("ben", "list", scope="project:api", limit=20)["content"][0]["text"]
    first, mine = (each["structuredContent"]["hits"][0] for each in (theirs, own))

    assert (first["text"], first["by"]) == ("The api quokka is fed", "ada@example.org")
    assert "· said by ada@example.org ·" in theirs["content"][0]["text"]
    assert "(said by ada@example.org) The api quokka is fed" in listed
    assert "by" not in mine
    assert "ada@example.org" not in own["content"][0]["text"]
    assert ", said by ada@example.org, today]" in began["content"][0]["text"]


def test_hints_over_http_name_routes_and_over_mcp_tools_or_the_page(matrix: Matrix):
    nothing = matrix.http("ada", "GET", "/v1/recall?question=xylophone").body["hint"]
    again = matrix.http("ada", "POST", f"/v1/memories/{matrix.ids['pending api']}/verify", {}).body["hint"]
    told = matrix.mcp("ada", "recall", question="xylophone")
    waits = matrix.mcp("ada", "remember", text="Ada is called Ada", kind="identity")

    assert nothing == "Nothing is known about that here. Try other words, or `everywhere=true`."
    assert again == "Review it first: `GET /v1/review`."
    refused = matrix.http("ada's builder", "POST", f"/v1/memories/{matrix.ids['pending api']}/promote", {})
    assert (refused.status, refused.body["hint"]) == (403, "Ask the person to do it.")
    assert told["structuredContent"]["hint"] == nothing
    page = f"the person's page http://127.0.0.1:{matrix.team.port}/web/inbox."
    assert waits["structuredContent"]["hint"] == f"A person decides about it: {page}"
    assert page in waits["content"][0]["text"]


def test_a_browser_at_the_root_is_sent_to_the_page_and_a_program_is_asked_who_it_is(team: Team):
    assert team.ask("", "GET", "/", accept="text/html,application/xhtml+xml;q=0.9").status == 307
    assert team.ask("", "GET", "/", accept="*/*").status == 401


def test_a_browser_at_the_page_is_sent_on_by_a_path_alone_whatever_stands_before_the_server(team: Team):
    said = {"accept": "text/html", "host": "memory.example.org"}
    for path in ("/web", "/web//", "/web/"):
        sent = team.ask("", "GET", path, **said)
        assert (sent.status in (303, 307), sent.headers["location"][:5]) == (True, "/web/"), path
    assert team.ask("", "GET", "/web/inbox/", **said).status == team.ask("", "GET", "/web/inbox", **said).status


def test_where_the_store_lies_is_told_to_those_alone_who_run_it(team: Team):
    assert team.ask(team.tokens["ada"], "GET", "/v1/stats").body["store"] == ""
    told = child(team.folder, "stats", ENGRAM_STORE=database_url(), ENGRAM_ORG=ACME)
    assert f"#{ACME}" in told.out


def test_a_check_says_how_much_it_did_not_look_at(matrix: Matrix):
    done = child(matrix.team.folder, "doctor", ENGRAM_STORE=database_url(), ENGRAM_ORG=ACME, ENGRAM_EMBEDDER="none")

    looked_at, held = map(int, re.findall(r"(\d+) of (\d+) memories were looked at", done.out)[0])
    assert (looked_at < held, held >= len(ROWS) - 1) == (True, True), done
    assert f"memories {looked_at} " in done.out


def test_where_tokens_tell_orgs_apart_an_exchange_wants_to_be_told_which(tmp_path: Path):
    asked = {"ENGRAM_STORE": database_url(), "ENGRAM_ORG_CLAIM": "org"}
    refused = child(tmp_path, "replicas", **asked)
    named = child(tmp_path, "replicas", **asked, ENGRAM_ORG=ACME)

    assert (refused.code, "ENGRAM_ORG=acme engram replicas" in refused.err) == (2, True), refused
    assert (named.code, "this" in named.out) == (0, True), named
    assert len([*tmp_path.rglob("key")]) == 1


def test_what_an_agent_saves_in_a_project_is_shared_where_the_server_says_so(tmp_path: Path, team: Team):
    settings = 'visibility = "shared"\n' + SETTINGS
    with running(tmp_path, team.provider, settings, ENGRAM_STORE=database_url()) as (port, _):
        sharing = team._replace(port=port)
        said = {"text": "Kafka carries the events", "scope": "project:kafka"}
        assert not sharing.tool(team.tokens["ada"], "remember", said).get("isError")
        found = sharing.tool(team.tokens["ben"], "recall", {"question": "Kafka", "scope": "project:kafka"})
        assert [one["text"] for one in found["structuredContent"]["hits"]] == ["Kafka carries the events"]


def test_pages_of_other_sites_are_refused(team: Team):
    assert team.ask(team.tokens["ada"], "GET", "/v1/stats", origin="https://evil.example.org").status == 403


def test_a_key_is_shown_once_and_ends_when_it_is_revoked(team: Team):
    ada, ben = team.tokens["ada"], team.tokens["ben"]
    made = team.ask(ada, "POST", "/v1/apikeys", {"name": "writer", "can": ["write"]}).body
    key, handle = made["key"], made["row"]["handle"]

    assert team.ask(key, "POST", "/v1/memories", {"text": "The key digs"}).body["memory"]["owner"] == "ada"
    assert team.ask(key, "POST", "/v1/apikeys", {"name": "more"}).status == 403
    assert team.ask(key, "POST", f"/v1/apikeys/{handle}/revoke", {}).status == 403
    assert key not in team.ask(ada, "GET", "/v1/apikeys").raw.decode()
    assert key.rpartition(".")[2] not in team.ask(ada, "GET", "/v1/history?limit=100").raw.decode()
    assert team.ask(ben, "POST", f"/v1/apikeys/{handle}/revoke", {}).status == 404
    assert team.ask(ben, "GET", "/v1/apikeys?owner=ada").status == 403
    forged = key.replace(key.split(".")[2], "0" * 64)
    assert team.ask(forged, "GET", "/v1/stats").status == 401
    assert team.ask(ada, "POST", f"/v1/apikeys/{handle}/revoke", {}).status == 200
    assert team.ask(key, "GET", "/v1/stats").status == 401
    assert team.ask(ada, "POST", f"/v1/apikeys/{handle}/revoke", {}).status == 200


def test_a_service_is_an_agent_whatever_it_says(team: Team):
    said = team.ask(team.tokens["robot"], "POST", "/v1/memories", {"text": "The robot hums"}).body["memory"]

    assert (said["owner"], said["origin"], said["context"]["agent"]) == ("robot", "inferred", "robot")
    assert team.ask(team.tokens["robot"], "POST", "/v1/apikeys", {"name": "x"}).status == 403


@pytest.mark.parametrize("era", ERAS)
def test_the_official_client_speaks_for_whoever_holds_the_token(team: Team, era: str):
    async def said_by(name: str) -> str:
        served = Served(f"http://127.0.0.1:{team.port}/mcp", team.tokens[name], None, [])
        async with over_http(served, era) as client:
            if name == "ada":
                await client.call_tool("remember", {"text": f"The echidna of {era} curls"})
            found = await client.call_tool("recall", {"question": "echidna", "everywhere": True})
            return str(found.structured_content)

    assert f"echidna of {era}" in anyio.run(said_by, "ada")
    assert "echidna" not in anyio.run(said_by, "ben")


# What is told of it


def test_signs_of_life_are_open_and_counters_are_not(team: Team):
    assert team.ask("", "GET", "/healthz").body["status"] == "ok"
    assert team.ask("", "GET", "/readyz").body == {"status": "ready"}
    assert team.ask("", "GET", "/metrics").status == 401
    team.ask(team.tokens["ada"], "GET", "/v1/stats")
    told = team.ask(team.tokens["ada"], "GET", "/metrics").body
    assert 'engram_requests_total{method="GET",route="/v1/stats",status="200"}' in told
    assert "ada" not in told
    document = team.ask(team.tokens["ada"], "GET", "/v1/openapi.json").body
    assert "Retry-After" in document["paths"]["/v1/recall"]["get"]["responses"]["429"]["headers"]


def logged(team: Team, awaited: str) -> dict[str, dict[str, Any]]:
    """The requests in the log by their ids, once this one is there: it is written when the answer has been sent."""
    for _ in range(100):
        lines = [json.loads(line) for line in team.log.read_text().splitlines()]
        told = {line["request_id"]: line for line in lines if line["message"] == "request"}
        if awaited in told:
            break
        time.sleep(0.05)
    return told


def test_what_was_recalled_in_one_org_is_not_told_in_another(team: Team):
    for _ in range(3):
        team.ask(team.tokens["ada"], "GET", "/v1/recall?question=numbat")
    assert len(team.ask(team.tokens["ada"], "GET", "/v1/trends").body["took"]) >= 3
    told = team.ask(team.tokens["eve"], "GET", "/v1/trends").body
    assert (told["took"], told["latency"]) == ([], {})


def test_the_log_has_every_request_and_nothing_of_a_memory(team: Team):
    ada = team.tokens["ada"]
    team.ask(ada, "POST", "/v1/memories", {"text": "The numbat nibbles termites"}, x_request_id="numbered-1")
    answer = team.ask(ada, "GET", "/v1/recall?question=numbat", x_request_id="not an id!")

    told = logged(team, answer.headers["x-request-id"])
    assert told["numbered-1"]["status"] == 200
    assert told[answer.headers["x-request-id"]]["route"] == "/v1/recall"
    assert (told["numbered-1"]["org"], told["numbered-1"]["owner"]) == (ACME, "ada")
    assert "numbat" not in team.log.read_text()
    assert ada not in team.log.read_text()
    tried("Memory texts and tokens in the server's log", "HTTP", "not there")


def test_no_string_in_any_argument_breaks_a_tool(team: Team):
    ada = team.tokens["ada"]
    id = team.ask(ada, "POST", "/v1/memories", {"text": "The bilby listens"}).body["memory"]["id"]
    wrong = []
    for name, shown in ((one, arguments(OPERATIONS[one].function).schema) for one in SHOWN):
        needed = {"kind": "related", "memory": id, "other": id}
        whole = {each: needed.get(each, "bilby") for each in shown.get("required", ())}
        for each, schema in shown["properties"].items():
            for string in (*UNHELD, *NASTY[:3]):
                said = {**whole, each: [string] if schema.get("type") == "array" else string}
                reply = team.message(ada, "tools/call", {"name": name, "arguments": said}, mcp_name=name)
                wrong += [(name, each, string, reply)] if "result" not in reply else []
    for string in UNHELD:
        for page in ("memory", "cited", "project"):
            asked = f"memory://{page}/{quote(string.encode('utf-8', 'surrogatepass'))}"
            reply = team.message(ada, "resources/read", {"uri": asked})
            wrong += [(page, string, reply)] if reply.get("error", {}).get("code") == INTERNAL_ERROR else []
    assert wrong == []


def test_every_line_of_the_log_is_one_of_ours(team: Team):
    team.ask("", "GET", "/v1/stats", x_request_id="one-of-ours")
    logged(team, "one-of-ours")
    for line in team.log.read_text().splitlines():
        assert {"time", "level", "logger", "message"} <= set(json.loads(line))


def test_the_log_says_why_credentials_were_refused_and_shows_nothing_of_them(team: Team):
    head, body, _ = team.tokens["ada"].split(".")
    refused = {
        "none-given": ("", "none given"),
        "foreign": (team.provider.person("ada", "https://elsewhere.example.org"), "audience"),
        "tampered": (f"{head}.{body}.{'A' * 342}", "signature"),
        "no-key": ("egk.nonsense.nonsense", "key"),
        "no-org": (team.provider.program("stray", RESOURCE), "org"),
    }
    for name, (token, _) in refused.items():
        team.ask(token, "GET", "/v1/stats", x_request_id=name)

    told = logged(team, "no-org")
    assert {name: told[name]["why"] for name in refused} == {name: why for name, (_, why) in refused.items()}
    assert not [name for name, (token, _) in refused.items() if token and token in team.log.read_text()]


def test_a_server_whose_provider_calls_itself_otherwise_does_not_start(tmp_path: Path, team: Team):
    issuer = f"{team.provider.issuer}/"
    done = child(tmp_path, "serve", "--port", "0", "--oidc-issuer", issuer, "--audience", "x")
    assert done.code == 2, done
    assert f"calls itself '{team.provider.issuer}'; oidc_issuer is '{issuer}'" in done.err


def test_one_who_asks_too_much_is_told_when_to_come_back_and_others_are_not(team: Team, tmp_path: Path):
    settings = SETTINGS.replace("requests_per_minute = 0", "requests_per_minute = 8")
    with running(tmp_path, team.provider, settings, ENGRAM_STORE=database_url()) as (port, _):
        slow = team._replace(port=port)
        answers = [slow.ask(team.tokens["ada"], "GET", "/v1/kinds") for _ in range(4)]
        assert [one.status for one in answers] == [200, 200, 429, 429]
        assert answers[2].body["code"] == "throttled"
        assert 1 <= int(answers[2].headers["retry-after"]) <= 8
        assert slow.ask(team.tokens["ben"], "GET", "/v1/kinds").status == 200
        guesses = [slow.ask("nonsense", "GET", "/v1/kinds").status for _ in range(4)]
        assert guesses == [401, 401, 429, 429]
        assert slow.ask("", "GET", "/healthz").status == 200


def test_without_the_provider_nobody_is_let_in_and_nothing_else_is_said(tmp_path: Path, team: Team):
    gone = Provider(9)
    with running(tmp_path, gone, SETTINGS) as (port, log):
        alone = team._replace(port=port, log=log)
        without = alone.ask(team.tokens["ada"], "GET", "/v1/stats")
        assert without.status == 503
        tried("The provider's keys are away", "HTTP", without.status)
        assert alone.ask("", "GET", "/v1/stats").status == 401
        assert alone.ask("", "GET", "/readyz", x_request_id="ready").status == 503
        assert logged(alone, "ready")["ready"]["why"] == "The identity provider does not answer."
        assert alone.ask("", "GET", "/healthz").status == 200


# Short names of projects with members


MEMBERS = """
oidc_audience = "https://memory.example.org"
grants = {"project:api" = {writer = ["ada"]}, "project:github.com/acme/pay" = {writer = ["ada"], reader = ["ben"]}}
"""


def test_nobody_takes_the_short_name_of_a_project_with_members(tmp_path_factory: pytest.TempPathFactory):
    people: dict[str, dict[str, Any]] = {"ada": {}, "ben": {}, "dan": {}}
    folder = tmp_path_factory.mktemp("named")

    def save(who: str, text: str, scope: str) -> Answer:
        body = {"text": text, "scope": scope, "visibility": "shared"}
        return team.ask(tokens[who], "POST", "/v1/memories", body)

    def read(who: str, scope: str) -> list[str]:
        told = team.ask(tokens[who], "GET", f"/v1/memories?scope={scope}").body["memories"]
        return [one["text"] for one in told]

    with provider(people, tmp_path_factory.mktemp("provider")) as known:
        tokens = {name: known.person(name, RESOURCE) for name in people}
        with running(folder, known, 'oidc_audience = "https://memory.example.org"\n') as (port, log):
            team = Team(port, known, tokens, folder, log)  # nobody is a member of anything yet
            assert save("dan", "Otters pay in pebbles", "project:pay").body["memory"]["scope"] == "project:pay"
        with running(folder, known, MEMBERS) as (port, log):
            team = Team(port, known, tokens, folder, log)
            first = save("ada", "Badgers keep the ledger", "project:pay")
            taking = [save("dan", "Send it to the heron", scope) for scope in ("project:pay", "project:PAY")]
            again = save("ada", "Badgers count at night", "project:pay")
            spoken = team.tool(tokens["ada"], "remember", {"text": "Badgers dig deep", "scope": "project:pay"})
            recalled = team.tool(tokens["ada"], "recall", {"question": "badgers ledger", "scope": "project:pay"})

            assert first.body["memory"]["scope"] == "project:github.com/acme/pay"
            assert [one.status for one in taking] == [403, 403]
            assert taking[0].body["message"] == "You may not write to project:pay."
            assert not [one for one in taking if b"acme" in one.raw], "whose short name it is, is told to members"
            assert again.body["memory"]["scope"] == "project:github.com/acme/pay"
            assert not spoken.get("isError")
            assert "Badgers keep the ledger" in json.dumps(recalled)
            assert "tters" not in json.dumps(recalled)
            everything = read("ada", "project:github.com/acme/pay")
            assert "Badgers dig deep" in everything
            assert read("ada", "project:pay") == everything
            assert sorted(read("ben", "project:pay")) == ["Badgers count at night", "Badgers keep the ledger"]
            assert save("ben", "Ben only reads", "project:pay").status == 403
            assert read("dan", "project:pay") == ["Otters pay in pebbles"]
            assert read("dan", "project:github.com/acme/pay") == []
            with pytest.raises(package.Forbidden, match="project:pay"):  # nor by what a laptop brings
                carried(folder / "laptop", team._replace(tokens={"ada": tokens["dan"]}), "project:pay")


def test_the_whole_name_of_a_project_with_members_means_nothing_else(tmp_path_factory: pytest.TempPathFactory):
    people: dict[str, dict[str, Any]] = {"ada": {}, "dan": {}}
    folder = tmp_path_factory.mktemp("named")
    with (
        provider(people, tmp_path_factory.mktemp("provider")) as known,
        running(folder, known, MEMBERS) as (port, log),
    ):
        tokens = {name: known.person(name, RESOURCE) for name in people}
        team = Team(port, known, tokens, folder, log)
        body = {"text": "The kestrel hovers", "scope": "project:github.com/acme/api", "visibility": "shared"}
        assert team.ask(tokens["dan"], "POST", "/v1/memories", body).status == 200  # an open project of its own

        said = {"text": "The kestrel dives", "scope": "project:api", "visibility": "shared"}
        assert team.ask(tokens["dan"], "POST", "/v1/memories", said).status == 403
        assert team.ask(tokens["dan"], "GET", "/v1/memories?scope=project:api").body["memories"] == []
        saved = team.ask(tokens["ada"], "POST", "/v1/memories", said)
        assert saved.body["memory"]["scope"] == "project:api"

        body |= {"text": "A pay of its own", "scope": "project:github.com/dan/pay"}
        assert team.ask(tokens["dan"], "POST", "/v1/memories", body).status == 200
        asked = team.ask(tokens["ada"], "POST", "/v1/memories", said | {"scope": "project:pay"})
        assert asked.status == 409  # asked, even where nothing is in the one with members yet
        assert "project:github.com/acme/pay, project:github.com/dan/pay" in asked.body["message"]


def test_a_server_whose_user_is_a_superuser_of_the_database_says_so_at_its_start(tmp_path: Path):
    with running(tmp_path, Provider(9), SETTINGS, ENGRAM_STORE=database_url()) as (_, log):
        lines = [json.loads(line) for line in log.read_text().splitlines()]
    (told,) = [line for line in lines if "row-level security" in line["message"]]
    assert (told["level"], told["user"]) == ("warning", "postgres")


def test_a_server_on_a_file_has_no_user_of_a_database_to_speak_of(tmp_path: Path):
    with running(tmp_path, Provider(9), SETTINGS) as (_, log):
        assert "row-level security" not in log.read_text()


# Workspaces


def test_with_workspaces_on_everything_is_within_one_of_the_callers(tmp_path_factory: pytest.TempPathFactory):
    people = {
        "ada": {"spaces": ["red", "blue"]},
        "ben": {"spaces": ["red"]},
        "cyd": {"spaces": ["blue"]},
        "dan": {},
    }
    settings = 'workspaces_claim = "spaces"\noidc_audience = "https://memory.example.org"\n'
    folder = tmp_path_factory.mktemp("spaces")
    with (
        provider(people, tmp_path_factory.mktemp("provider")) as known,
        running(folder, known, settings) as (port, log),
    ):
        tokens = {name: known.person(name, RESOURCE) for name in people}
        team = Team(port, known, tokens, folder, log)
        red = {"engram_workspace": "red"}
        ada = tokens["ada"]
        said = {"text": "The red panda climbs", "visibility": "shared"}
        saved = team.ask(ada, "POST", "/v1/memories", said, **red).body["memory"]
        again = team.ask(ada, "POST", "/v1/memories", {"text": "The red panda does not climb"}, **red)

        assert saved["scope"] == "red/global"
        assert again.status == 200
        assert len(team.ask(tokens["ben"], "GET", "/v1/recall?question=panda").body["hits"]) == 1
        assert team.ask(tokens["cyd"], "GET", "/v1/recall?question=panda").body["hits"] == []
        assert team.ask(tokens["cyd"], "GET", f"/v1/memories/{saved['id']}").status == 404
        assert team.ask(ada, "GET", f"/v1/memories/{saved['id']}", engram_workspace="blue").status == 404
        wrong = [
            team.ask(ada, "GET", "/v1/stats"),  # two, and none is named
            team.ask(ada, "GET", "/v1/stats", engram_workspace="green"),
            team.ask(tokens["ben"], "GET", "/v1/stats", engram_workspace="blue"),
            team.ask(tokens["dan"], "GET", "/v1/stats"),
            team.ask(tokens["dan"], "GET", "/v1/stats", engram_workspace="red"),
        ]
        assert {(one.status, one.raw) for one in wrong} == {(403, wrong[0].raw)}
        assert "the header Engram-Workspace names one" in wrong[0].body["hint"]
        assert team.ask(ada, "POST", "/v1/sessions", {"session": "s-1"}, **red).status == 200
        pair = {"memory": saved["id"], "other": again.body["memory"]["id"], "kind": "related"}
        assert team.ask(ada, "POST", "/v1/relations", pair, **red).status == 200
        assert team.ask(ada, "POST", "/v1/relations", pair, **red).status == 200
        in_project = team.ask(ada, "POST", "/v1/memories", {"text": "Bamboo", "scope": "project:zoo"}, **red)
        assert in_project.body["memory"]["scope"] == "red/project:zoo"
        assert team.ask(ada, "GET", "/v1/context?query=panda", **red).body["included"]
        other = {"text": "Elsewhere", "scope": "blue/global"}
        assert team.ask(ada, "POST", "/v1/memories", other, **red).status == 403
        assert carried(folder / "laptop", team, "red/project:zoo") == ["Bamboo grows back"]
        found = team.ask(tokens["ben"], "GET", "/v1/recall?question=bamboo&everywhere=true").body["hits"]
        assert [one["memory"]["text"] for one in found] == ["Bamboo grows back"]
        with pytest.raises(package.Forbidden, match="red/project:zoo"):  # cyd is in blue alone
            carried(folder / "another", team._replace(tokens={"ada": tokens["cyd"]}), "red/project:zoo")
        made = team.ask(ada, "POST", "/v1/apikeys", {"name": "ci"}, **red).body["key"]
        assert len(team.ask(made, "GET", "/v1/recall?question=panda").body["hits"]) >= 1
        assert team.ask(made, "GET", "/v1/stats", engram_workspace="blue").status == 403


def test_turning_workspaces_off_opens_none_of_them(tmp_path_factory: pytest.TempPathFactory):
    people = {"ada": {"spaces": ["red"]}, "ben": {"spaces": ["blue"]}}
    off = 'oidc_audience = "https://memory.example.org"\n'
    on = f'workspaces_claim = "spaces"\n{off}'
    folder = tmp_path_factory.mktemp("spaces")
    everything = "/v1/memories?everywhere=true"
    with provider(people, tmp_path_factory.mktemp("provider")) as known:
        tokens = {name: known.person(name, RESOURCE) for name in people}
        ada, ben = tokens.values()
        with running(folder, known, on) as (port, log):
            team = Team(port, known, tokens, folder, log)
            said = {"text": "The whale sings", "scope": "project:web", "visibility": "shared"}
            saved = team.ask(ben, "POST", "/v1/memories", said).body["memory"]
            key = team.ask(ben, "POST", "/v1/apikeys", {"name": "ci"}).body["key"]
            assert saved["scope"] == "blue/project:web"
            assert unseen(log) == []
        with running(folder, known, off) as (port, log):
            team = Team(port, known, tokens, folder, log)
            assert unseen(log) == [("default", "workspaces are off, and nobody is shown what lies in one")]
            for token in (ada, ben):
                for path in (everything, "/v1/memories?scope=blue/project:web", "/v1/history?limit=100"):
                    assert team.ask(token, "GET", path, engram_workspace="blue").status == 403
                    told = team.ask(token, "GET", path)
                    assert told.status == 200
                    assert saved["id"].encode() not in told.raw, path
                    assert b"whale" not in told.raw, path
                assert team.ask(token, "GET", f"/v1/memories/{saved['id']}").status == 404
                assert team.ask(token, "GET", "/v1/recall?question=whale&everywhere=true").body["hits"] == []
                assert team.ask(token, "GET", "/v1/stats").body["memories"] == 0
                there = {"text": "The whale dives", "scope": "blue/project:web"}
                assert team.ask(token, "POST", "/v1/memories", there).status == 403
                elsewhere = {"text": "The whale leaps", "visibility": "shared"}
                refused = team.ask(
                    token, "POST", "/v1/memories", elsewhere, engram_workspace="blue", x_request_id="blue"
                )
                assert refused.status == 403  # it would lie outside every workspace, for all to read
                assert logged(team, "blue")["blue"]["why"] == "workspace"
                assert team.ask(token, "POST", "/v1/undo", {}).status == 409
            assert team.ask(key, "GET", everything).status == 403
            said = {"text": "The gull cries", "scope": "project:web", "visibility": "shared"}
            outside = team.ask(ada, "POST", "/v1/memories", said).body["memory"]
            assert outside["scope"] == "project:web"
            assert [one["id"] for one in team.ask(ben, "GET", everything).body["memories"]] == [outside["id"]]
            made = team.ask(ben, "POST", "/v1/apikeys", {"name": "plain"}).body
            assert made["row"]["workspace"] is None
            assert len(team.ask(made["key"], "GET", everything).body["memories"]) == 1
        with running(folder, known, on) as (port, log):
            team = Team(port, known, tokens, folder, log)
            assert unseen(log) == [("default", "workspaces are on, and nobody is shown what lies in none")]
            assert [one["id"] for one in team.ask(ben, "GET", everything).body["memories"]] == [saved["id"]]
            assert team.ask(ada, "GET", everything).body["memories"] == []
            assert len(team.ask(key, "GET", everything).body["memories"]) == 1
            assert team.ask(made["key"], "GET", everything).status == 403


def unseen(log: Path, *orgs: str) -> list[tuple[str, str]]:
    """Of which orgs a server says that something is shown to nobody: of all, or those named."""
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    told = [
        (line["org"], line["message"].partition(":")[0])
        for line in lines
        if "org" in line and line["logger"] == "engram.serve"
    ]
    return [one for one in told if not orgs or one[0] in orgs]


def test_that_workspaces_were_switched_is_told_of_every_org_that_has_something_unseen(
    tmp_path_factory: pytest.TempPathFactory,
):
    red, plain = f"red-{uuid.uuid4().hex}", f"plain-{uuid.uuid4().hex}"
    people = {"ada": {"org": red, "spaces": ["crimson"]}, "ben": {"org": plain, "spaces": ["crimson"]}}
    off = 'oidc_audience = "https://memory.example.org"\norg_claim = "org"\n'
    on = f'workspaces_claim = "spaces"\n{off}'
    folder = tmp_path_factory.mktemp("switched")
    said = {"text": "The lynx waits", "visibility": "shared"}
    with provider(people, tmp_path_factory.mktemp("provider")) as known:
        tokens = {name: known.person(name, RESOURCE) for name in people}

        def told(settings: str, *saving: str) -> list[tuple[str, str]]:
            """What a server says of the two orgs, once both have asked it twice, and some have saved."""
            with running(folder, known, settings, ENGRAM_STORE=database_url()) as (port, log):
                team = Team(port, known, tokens, folder, log)
                for name in (*people, *people):
                    assert team.ask(tokens[name], "GET", "/v1/stats").status == 200
                for name in saving:
                    assert team.ask(tokens[name], "POST", "/v1/memories", said).status == 200
            return unseen(log, red, plain)

        assert told(on, "ada") == []
        assert told(off, "ben") == [(red, "workspaces are off, and nobody is shown what lies in one")]
        assert told(on) == [(plain, "workspaces are on, and nobody is shown what lies in none")]


def carried(folder: Path, team: Team, scope: str) -> list[str]:
    """What a laptop has in a scope, once it has said something there and exchanged with the server."""
    folder.mkdir()
    environment = {"HOME": str(folder), "ENGRAM_EMBEDDER": "none", "ENGRAM_REMOTE_TOKEN_TEAM": team.tokens["ada"]}
    with package.open(folder / "store.db", folder=folder, environment=environment, channel="flag") as laptop:
        laptop.remember("Bamboo grows back", scope=scope, visibility="shared")
        laptop.remote_add("team", f"http://127.0.0.1:{team.port}")
        laptop.remote_enrol("team", scope)
        laptop.remote_push("team")
        laptop.remote_pull("team")
        return [one.text for one in laptop.list(scope=scope).memories]


# Refusals at the start


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", EVERYWHERE], "is not this machine"),
        (["--host", EVERYWHERE, "--oidc-issuer", "https://id.example.org", "--audience", "x"], "needs its address"),
        (["--oidc-issuer", "https://id.example.org"], "must be meant for this server"),
        (["--oidc-issuer", "nonsense"], "oidc_issuer cannot be"),
        (["--oidc-issuer", "https://[", "--audience", "x"], "oidc_issuer cannot be"),
        (["--oidc-issuer", "https://id.example.org", "--url", "memory.example.org"], "address cannot be"),
        (["--oidc-issuer", "http://id.example.org", "--audience", "x"], "cannot be"),
    ],
)
def test_a_server_for_the_wrong_people_does_not_start(tmp_path: Path, words: list[str], said: str):
    done = child(tmp_path, "serve", "--port", "0", *words)
    assert (done.code, said in done.err) == (2, True), done.err
