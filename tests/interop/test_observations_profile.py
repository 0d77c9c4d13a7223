"""The profile `observations`: an agent configured for that system's tools works unchanged."""

import inspect
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import pytest
from mcp import Client

from engram.errors import EngramError
from engram.interop.observations import PROFILE
from engram.model.caller import Caller
from engram.model.scope import Scope
from engram.service import Engram
from engram.surfaces.mcp.server import build
from engram.wiring import open as open_memory

START = datetime(2026, 5, 4, 9, 0, tzinfo=UTC)
PROJECT = "github.com/acme/api"
TOOLS = {tool.name: tool for tool in PROFILE.tools}

REQUIRED = {
    "mem_capture_passive": {"content"},
    "mem_compare": {"confidence", "memory_id_a", "memory_id_b", "reasoning", "relation"},
    "mem_context": set(),
    "mem_current_project": set(),
    "mem_delete": {"id"},
    "mem_doctor": set(),
    "mem_get_observation": {"id"},
    "mem_judge": {"judgment_id", "relation"},
    "mem_list_projects": set(),
    "mem_merge_projects": {"from_", "to"},
    "mem_pin": {"id"},
    "mem_review": {"action"},
    "mem_save": {"title"},
    "mem_save_prompt": {"content"},
    "mem_search": {"query"},
    "mem_session_end": {"id"},
    "mem_session_start": {"id"},
    "mem_session_summary": {"content"},
    "mem_stats": set(),
    "mem_suggest_topic_key": set(),
    "mem_timeline": {"observation_id"},
    "mem_unpin": {"id"},
    "mem_update": {"id"},
}
OPTIONAL: dict[str, dict[str, Any]] = {
    "mem_capture_passive": {"session_id": "", "source": "mcp-passive"},
    "mem_compare": {"model": ""},
    "mem_context": {"project": "", "scope": "", "max_bytes": 16384, "compact": False},
    "mem_delete": {"hard_delete": False, "expected_project": ""},
    "mem_doctor": {"project": "", "check": ""},
    "mem_get_observation": {"include_history": False, "history_cursor": 0, "project": ""},
    "mem_judge": {"reason": "", "evidence": "", "confidence": None, "session_id": ""},
    "mem_review": {"project": "", "limit": 10, "observation_id": 0, "id": 0},
    "mem_save": {
        "content": "",
        "observation": "",
        "type": "manual",
        "session_id": "",
        "scope": "project",
        "topic_key": "",
        "project": "",
        "project_choice_reason": "",
        "recovery_token": "",
        "capture_prompt": True,
    },
    "mem_save_prompt": {"session_id": "", "project": "", "project_choice_reason": "", "recovery_token": ""},
    "mem_search": {
        "type": "",
        "project": "",
        "scope": "",
        "limit": 10,
        "all_projects": False,
        "match_mode": "all",
        "response_format": "",
    },
    "mem_session_end": {"summary": ""},
    "mem_session_start": {"directory": ""},
    "mem_session_summary": {"session_id": "", "project": "", "project_choice_reason": "", "recovery_token": ""},
    "mem_stats": {"project": ""},
    "mem_suggest_topic_key": {"title": "", "content": "", "type": ""},
    "mem_timeline": {"before": 5, "after": 5, "project": ""},
    "mem_update": {
        "title": "",
        "content": "",
        "type": "",
        "scope": "",
        "topic_key": "",
        "find": "",
        "replace": None,
        "expected_project": "",
    },
}


class Clock:
    """A clock that moves a second at each look, and further when it is told to."""

    def __init__(self) -> None:
        self.time = START

    def __call__(self) -> datetime:
        self.time += timedelta(seconds=1)
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path, clock) -> Iterator[Engram]:
    with opened(tmp_path, clock) as engram:
        yield engram


def opened(folder, clock, store: str = "ram:", **variables: str) -> Engram:
    environment = {"HOME": str(folder), "ENGRAM_EMBEDDER": "none", "ENGRAM_PROJECT": PROJECT, **variables}
    agent = Caller(agent="tester", human=False)
    return open_memory(store, caller=agent, folder=folder, environment=environment, clock=clock)


def text_of(memory: Engram, tool: str, **said: Any) -> str:
    return TOOLS[tool].run(memory, **said).text


def call(memory: Engram, tool: str, **said: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(text_of(memory, tool, **said))
    return answer


def refusal(memory: Engram, tool: str, **said: Any) -> dict[str, Any]:
    with pytest.raises(EngramError) as raised:
        TOOLS[tool].run(memory, **said)
    body: dict[str, Any] = json.loads(PROFILE.failed(raised.value).text)
    return body


def save(memory: Engram, title: str, content: str, **said: Any) -> dict[str, Any]:
    return call(memory, "mem_save", title=title, content=content, **said)


def ids(answer: dict[str, Any]) -> list[int]:
    return [row["id"] for row in answer["results"]]


# the interface


def test_every_tool_of_the_system_is_served_under_its_name():
    assert set(TOOLS) == set(REQUIRED)
    assert all(tool.about for tool in PROFILE.tools)


@pytest.mark.parametrize("name", sorted(REQUIRED))
def test_arguments_and_defaults_are_those_of_the_system(name):
    parameters = dict(list(inspect.signature(TOOLS[name].run).parameters.items())[1:])
    defaults = {key: one.default for key, one in parameters.items() if one.default is not one.empty}
    assert parameters.keys() - defaults.keys() == REQUIRED[name]
    assert OPTIONAL.get(name, {}).items() <= defaults.items()


def test_tools_that_only_read_say_so():
    writes = {tool.name for tool in PROFILE.tools if tool.writes}
    assert writes == {
        *("mem_save", "mem_update", "mem_delete", "mem_review", "mem_pin", "mem_unpin", "mem_judge", "mem_compare"),
        *("mem_session_start", "mem_session_end", "mem_session_summary", "mem_save_prompt", "mem_capture_passive"),
        "mem_merge_projects",
    }
    assert {tool.name for tool in PROFILE.tools if tool.destructive} == {"mem_delete", "mem_merge_projects"}


def test_a_client_elsewhere_is_told_no_folder_of_the_server(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    environment = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none"}
    agent = Caller(agent="tester", human=False)
    with open_memory("ram:", caller=agent, home=Scope("project", PROJECT), environment=environment) as memory:
        told = [
            text_of(memory, "mem_save", title="Deploy day", content="We deploy on Fridays."),
            text_of(memory, "mem_current_project"),
            text_of(memory, "mem_session_start", id="s-1"),
            text_of(memory, "mem_list_projects"),
        ]
        (session,) = memory.session_list().sessions

    assert [json.loads(text)["project_path"] for text in told[:3]] == ["", "", ""]
    assert json.loads(told[1])["cwd"] == ""
    assert str(tmp_path) not in "".join((*told, repr(session)))


def test_a_result_names_its_project_and_an_error_has_the_four_keys(memory, tmp_path):
    answer = save(memory, "Deploy day", "We deploy on Fridays.")
    assert list(answer)[:4] == ["project", "project_source", "project_path", "result"]
    assert (answer["project"], answer["project_source"]) == (PROJECT, "git_remote")
    assert answer["project_path"] == str(tmp_path)
    error = refusal(memory, "mem_get_observation", id=99)
    assert list(error) == ["error_code", "message", "available_projects", "hint"]
    assert (error["error_code"], error["message"]) == ("not_found", "There is no memory #99.")
    assert "mem_search" in error["hint"]
    pair = {"memory_id_a": 1, "memory_id_b": 99, "relation": "related", "confidence": 1, "reasoning": "why"}
    assert refusal(memory, "mem_compare", **pair)["message"] == "There is no memory #99."


# saving


def test_a_save_answers_with_number_state_and_length(memory):
    answer = save(memory, "Deploy day", "We deploy on Fridays.")
    assert (answer["id"], answer["state"], answer["judgment_required"]) == (1, "active", False)
    assert answer["truncation"] == {"original_bytes": 21, "limit_bytes": 65536, "truncated": False}
    assert "candidates" not in answer
    assert "judgment_id" not in answer
    assert "Suggested topic_key: " in answer["result"]
    kept = memory.get("mem-0001").memories[0]
    assert answer["sync_id"] == kept.id
    assert (kept.kind, kept.summary, str(kept.scope)) == ("fact", "Deploy day", f"project:{PROJECT}")
    assert (kept.session, kept.source) == (f"manual-save-{PROJECT}", "tool:mem_save")


def test_the_older_name_of_content_is_accepted(memory):
    answer = call(memory, "mem_save", title="Deploy day", observation="We deploy on Fridays.")
    assert memory.get("mem-0001").memories[0].text == "We deploy on Fridays."
    assert answer["id"] == 1


@pytest.mark.parametrize(
    "said",
    [{"title": " ", "content": "Something."}, {"title": "Deploy day", "content": " \n"}, {"title": "Deploy day"}],
)
def test_a_blank_title_or_content_saves_nothing(memory, said):
    assert refusal(memory, "mem_save", **said)["error_code"] == "invalid"
    assert memory.stats().memories == 0


def test_content_beyond_the_limit_is_refused_and_never_cut(memory):
    error = refusal(memory, "mem_save", title="Log", content="x" * 65537)
    assert "65,536" in error["message"]
    assert save(memory, "Log", "x" * 65536)["truncation"]["truncated"] is False


def test_a_long_title_is_cut_between_characters(memory):
    save(memory, "ü" * 400, "We deploy on Fridays.")
    title = memory.get("mem-0001").memories[0].summary
    assert title == "ü" * 254 + "…"


def test_the_same_topic_key_revises_the_same_memory(memory):
    first = save(
        memory, "Auth model", "Sessions in Redis.", type="architecture", topic_key="Architecture/Auth model"
    )
    again = save(memory, "Auth", "JWT with short expiry.", type="architecture", topic_key="architecture/auth-model")
    assert again["id"] == first["id"]
    shown = call(memory, "mem_get_observation", id=first["id"], include_history=True)
    assert "JWT with short expiry." in shown["result"]
    assert "revisions: 2" in shown["result"]
    assert shown["version_count"] == 1
    assert shown["history"][0]["version"] == 1
    assert shown["history"][0]["title"] == "Auth model"
    assert shown["history"][0]["content"] == "Sessions in Redis."
    assert shown["history_truncated"] is False


@pytest.mark.parametrize(("first", "second"), [("personal", "global"), ("global", "personal")])
def test_a_topic_of_one_scope_is_not_revised_from_another(memory, first, second):
    topic = {"topic_key": "salary/plan"}
    save(memory, "Salaries", "Mine is five thousand.", scope=first, **topic)
    error = refusal(
        memory, "mem_save", title="Salaries", content="They are in the handbook.", scope=second, **topic
    )
    assert f"Memory #1 has the topic_key salary/plan, in scope {first}." in error["message"]
    kept = memory.get("mem-0001").memories[0]
    assert (kept.text, kept.revision) == ("Mine is five thousand.", 1)
    assert kept.visibility == {"personal": "private", "global": "shared"}[first]
    assert save(memory, "Salaries", "Those of the project.", **topic)["id"] == 2
    assert save(memory, "Salaries", "Mine is six thousand.", scope=first, **topic)["id"] == 1


def test_a_deleted_personal_topic_is_not_shared_by_a_save_under_its_key_and_the_hint_can_be_followed(memory):
    topic = {"topic_key": "salary/plan"}
    save(memory, "Salaries", "Mine is five thousand.", scope="personal", **topic)
    text_of(memory, "mem_delete", id=1)
    said = {"title": "Salaries", "content": "They are in the handbook.", "scope": "global", **topic}
    error = refusal(memory, "mem_save", **said)
    assert "Memory #1, which was deleted, has the topic_key salary/plan, in scope personal." in error["message"]
    assert "mem_update" not in error["hint"]
    assert "engram purge mem-0001 --confirm" in error["hint"]

    memory.for_person("test").purge("mem-0001", confirm=True)
    assert call(memory, "mem_save", **said)["id"] == 2


def test_a_deleted_global_topic_gives_its_key_to_a_personal_one(memory):
    topic = {"topic_key": "salary/plan"}
    save(memory, "Salaries", "They are in the handbook.", scope="global", **topic)
    text_of(memory, "mem_delete", id=1)
    anew = save(memory, "Salaries", "Mine is five thousand.", scope="personal", **topic)

    kept = memory.get(f"mem-{anew['id']:04}").memories[0]
    assert (kept.text, kept.visibility, kept.key) == ("Mine is five thousand.", "private", "salary/plan")


@pytest.mark.parametrize("tool", ["mem_save", "mem_update"])
def test_a_topic_key_that_is_too_long_is_called_by_its_name(memory, tool):
    save(memory, "Deploy day", "We deploy on Fridays.")
    said = {"mem_save": {"title": "Port", "content": "It listens on 5432."}, "mem_update": {"id": 1}}[tool]
    assert (
        refusal(memory, tool, topic_key="x" * 121, **said)["message"] == "topic_key is 121 bytes; the limit is 120."
    )


def test_a_topic_is_revised_even_where_it_is_called_a_session_summary(memory):
    numbers = {
        save(memory, "State", f"Step {step} is done.", type="session_summary", topic_key="session/state")["id"]
        for step in ("one", "two")
    }
    assert numbers == {1}


def test_history_comes_in_pages_of_fifty(memory):
    for step in range(1, 61):
        save(memory, "Counter", f"The count stands at step {step}.", topic_key="topic/counter")
    newest = call(memory, "mem_get_observation", id=1, include_history=True)
    assert newest["version_count"] == 59
    assert [row["version"] for row in newest["history"]] == list(range(10, 60))
    assert newest["history_truncated"] is True
    assert newest["history_from_version"] == newest["history_cursor"] == 10
    rest = call(memory, "mem_get_observation", id=1, include_history=True, history_cursor=newest["history_cursor"])
    assert [row["version"] for row in rest["history"]] == list(range(1, 10))
    assert rest["history_truncated"] is False


@pytest.mark.parametrize(
    ("type", "kind"),
    [
        ("manual", "fact"),
        ("decision", "decision"),
        ("discovery", "learning"),
        ("finding", "learning"),
        ("passive", "learning"),
        ("session_summary", "summary"),
        ("policy", "policy"),
        ("root-cause", "root-cause"),
        ("Lessons learned!", "fact"),
        ("prompt", "fact"),
    ],
)
def test_a_type_becomes_a_kind_and_comes_back_as_it_was_said(memory, type, kind):
    save(memory, "Cache warming", "The token cache is warmed before a deploy.", type=type)
    assert memory.get("mem-0001").memories[0].kind == kind
    found = call(memory, "mem_search", query="token cache", type=type)
    assert [row["type"] for row in found["results"]] == [type.lower()]


@pytest.mark.parametrize(("type", "days"), [("decision", 180), ("policy", 365), ("preference", 90)])
def test_types_that_need_review_have_their_own_time(memory, type, days):
    save(memory, "Deploy day", "We deploy on Fridays.", type=type)
    kept = memory.get("mem-0001").memories[0]
    assert kept.stale_at == kept.created_at + timedelta(days=days)


def test_what_is_curated_waits_for_a_person_and_says_so(memory):
    answer = save(memory, "Name", "The person is called Alex.", type="identity", scope="personal")
    assert answer["state"] == "pending"
    assert "person" in answer["warning"]
    assert call(memory, "mem_search", query="Alex")["results"] == []


@pytest.mark.parametrize(
    ("scope", "kept_in", "visibility", "back"),
    [
        ("project", f"project:{PROJECT}", "shared", "project"),
        ("personal", "global", "private", "personal"),
        ("global", "global", "shared", "global"),
        (" Personal ", "global", "private", "personal"),
    ],
)
def test_scopes_there_and_back(memory, scope, kept_in, visibility, back):
    save(memory, "Editor", "The editor is set to four spaces.", scope=scope)
    kept = memory.get("mem-0001").memories[0]
    assert (str(kept.scope), kept.visibility) == (kept_in, visibility)
    (row,) = call(memory, "mem_search", query="editor spaces")["results"]
    assert row["scope"] == back
    assert ("project" in row) == (back == "project")


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        ("mem_save", {"title": "Editor", "content": "Mine has four spaces."}),
        ("mem_search", {"query": "editor"}),
        ("mem_context", {}),
        ("mem_update", {"id": 1}),
    ],
)
def test_another_scope_is_refused_and_shares_nothing(memory, tool, said):
    save(memory, "Editor", "The editor is set to four spaces.")
    error = refusal(memory, tool, scope="persnal", **said)
    assert "personal" in error["hint"]
    assert len(memory.list(standing=["all"]).memories) == 1


def test_what_is_saved_outside_of_any_project_stays_private(tmp_path, clock):
    with opened(tmp_path, clock, ENGRAM_PROJECT="") as memory:
        answer = save(memory, "Editor", "The editor is set to four spaces.")
        kept = memory.get("mem-0001").memories[0]
    assert (answer["project"], answer["project_source"]) == ("", "none")
    assert (str(kept.scope), kept.visibility, kept.session) == ("global", "private", "manual-save")


def test_a_private_span_is_taken_out_and_reported(memory):
    answer = save(memory, "Host <private>alpha</private>", "The host is <private>10.0.0.7</private> in Frankfurt.")
    assert "10.0.0.7" not in memory.get("mem-0001").memories[0].text
    assert "Taken out" in answer["result"]
    assert "alpha" not in answer["result"]


# judging


def test_a_save_offers_what_is_about_the_same_for_judgment(memory):
    save(
        memory,
        "JWT auth middleware",
        "Tokens are checked in the middleware.",
        type="decision",
        topic_key="auth/jwt",
    )
    save(memory, "Release train", "We deploy on Fridays.")
    answer = save(memory, "Auth middleware uses cookies", "Cookies replaced tokens.", type="decision")
    (candidate,) = answer["candidates"]
    assert answer["judgment_required"] is True
    assert answer["judgment_status"] == "pending"
    assert answer["judgment_id"] == candidate["judgment_id"]
    assert (candidate["id"], candidate["title"], candidate["type"]) == (1, "JWT auth middleware", "decision")
    assert candidate["topic_key"] == "auth/jwt"
    assert candidate["score"] > 0


@pytest.mark.parametrize("title", ["Middleware order", "Fix the cache", "Use the new auth"])
def test_one_shared_word_of_a_title_is_no_candidate(memory, title):
    save(memory, "Use JWT auth middleware", "Tokens are checked in the middleware.")
    assert save(memory, title, "Something else altogether.")["judgment_required"] is False


def test_at_most_three_candidates_are_offered(memory):
    for name in ("red", "green", "blue", "white"):
        save(memory, f"Auth middleware {name}", f"The {name} one checks tokens.")
    assert len(save(memory, "Auth middleware black", "It checks nothing.")["candidates"]) == 3


def test_another_scope_offers_no_candidate(memory):
    save(memory, "JWT auth middleware", "Tokens are checked in the middleware.")
    answer = save(memory, "JWT auth middleware", "My own notes about it.", scope="personal")
    assert answer["judgment_required"] is False


def test_what_contradicts_is_the_first_candidate_and_waits(memory):
    save(memory, "Port", "The API listens on port 8080.")
    answer = save(memory, "Where it listens", "The API listens on port 9090.")
    assert answer["state"] == "pending"
    assert [row["id"] for row in answer["candidates"]] == [1]


def test_a_judged_pair_is_not_offered_again(memory):
    save(memory, "JWT auth middleware", "Tokens are checked in the middleware.")
    answer = save(memory, "Auth middleware cookies", "Cookies are checked too.", topic_key="auth/cookies")
    call(memory, "mem_judge", judgment_id=answer["judgment_id"], relation="not_conflict")
    again = save(memory, "Auth middleware cookies", "Signed cookies are checked too.", topic_key="auth/cookies")
    assert again["id"] == answer["id"]
    assert again["judgment_required"] is False


@pytest.mark.parametrize(
    ("verb", "kind"),
    [
        ("related", "related"),
        ("compatible", "compatible"),
        ("scoped", "scoped"),
        ("conflicts_with", "conflicts"),
        ("supersedes", "supersedes"),
        ("not_conflict", "unrelated"),
    ],
)
def test_verbs_there_and_back(memory, verb, kind):
    save(memory, "JWT auth middleware", "Tokens are checked in the middleware.")
    answer = save(memory, "Auth middleware cookies", "Cookies are checked too.")
    row = call(memory, "mem_judge", judgment_id=answer["judgment_id"], relation=verb, reason="seen", confidence=0.9)
    row = row["relation"]
    assert (row["relation"], row["judgment_status"], row["reason"], row["confidence"]) == (
        verb,
        "judged",
        "seen",
        0.9,
    )
    assert row["source_id"] == answer["sync_id"]
    related = memory.related("mem-0002").relatives[0]
    assert (related.memory.handle, related.edges[0]) == ("mem-0001", kind)


def test_an_unknown_verb_or_confidence_is_refused(memory):
    save(memory, "JWT auth middleware", "Tokens are checked in the middleware.")
    answer = save(memory, "Auth middleware cookies", "Cookies are checked too.")
    for wrong in ({"relation": "unrelated"}, {"relation": "pending"}, {"relation": "related", "confidence": 1.5}):
        assert refusal(memory, "mem_judge", judgment_id=answer["judgment_id"], **wrong)["error_code"] == "invalid"
    assert refusal(memory, "mem_judge", judgment_id="rel-0000", relation="related")["error_code"] == "not_found"


def test_a_search_shows_what_was_judged(memory):
    save(memory, "JWT auth middleware", "Tokens are checked in the middleware.")
    answer = save(memory, "Auth middleware cookies", "Cookies are checked instead.")
    call(memory, "mem_judge", judgment_id=answer["judgment_id"], relation="supersedes")
    found = call(memory, "mem_search", query="auth middleware")
    assert ids(found) == [2]
    assert "supersedes: #1 (JWT auth middleware)" in found["result"]
    (compact,) = call(memory, "mem_search", query="auth middleware", response_format="compact")["results"]
    assert compact["relations"] == {
        "as_source": [
            {"relation": "supersedes", "id": 1, "title": "JWT auth middleware", "judgment_status": "judged"}
        ],
        "as_target": [],
    }


def test_a_comparison_by_numbers_changes_the_verdict_of_the_pair(memory):
    save(memory, "JWT auth middleware", "Tokens are checked in the middleware.")
    answer = save(memory, "Auth middleware cookies", "Cookies are checked instead.")
    judged = call(memory, "mem_judge", judgment_id=answer["judgment_id"], relation="supersedes")["relation"]
    said = {"confidence": 0.8, "reasoning": "both hold", "model": "judge-1"}
    compared = call(memory, "mem_compare", memory_id_a=1.0, memory_id_b=2.0, relation="compatible", **said)
    assert compared == {"sync_id": judged["sync_id"]}
    assert set(ids(call(memory, "mem_search", query="auth middleware"))) == {1, 2}


# changing


def test_an_update_keeps_what_it_does_not_name(memory):
    save(memory, "Deploy day", "We deploy on Fridays.", type="decision")
    answer = call(memory, "mem_update", id=1.0, content="We deploy on Thursdays.")
    assert (answer["id"], answer["state"]) == (1, "active")
    kept = memory.get("mem-0001").memories[0]
    assert (kept.summary, kept.text, kept.kind, kept.revision) == (
        "Deploy day",
        "We deploy on Thursdays.",
        "decision",
        2,
    )
    call(memory, "mem_update", id=1, title="Day of deployment", type="pattern")
    kept = memory.get("mem-0001").memories[0]
    assert (kept.summary, kept.text, kept.kind) == ("Day of deployment", "We deploy on Thursdays.", "pattern")


def test_an_update_says_when_the_word_of_a_type_stays(memory):
    save(memory, "Cache", "The token cache is cold at first.", type="discovery")
    answer = call(memory, "mem_update", id=1, type="learning")
    assert "discovery still" in answer["warning"]
    assert "warning" not in call(memory, "mem_update", id=1, type="gotcha")
    assert call(memory, "mem_search", query="token cache")["results"][0]["type"] == "gotcha"


def test_what_a_person_approved_is_not_changed_by_an_update(memory):
    save(memory, "Name", "The person is called Alex.", type="identity", scope="personal")
    memory.for_person("test").promote("mem-0001", confirm=True)
    answer = call(memory, "mem_update", id=1, content="The person is called Sascha.")
    assert (answer["id"], answer["state"]) == (1, "active")
    assert "person has reviewed it" in answer["warning"]
    assert (answer["result"][:45], answer["proposal_id"]) == ('Change proposed: #2 would change #1 "Name" (i', 2)
    assert call(memory, "mem_update", id=1, content="The person is called Kim.")["proposal_id"] == 2
    assert memory.get("mem-0001").memories[0].text == "The person is called Alex."


def test_an_update_to_a_text_that_waits_by_itself_is_proposed_for_the_memory_it_names(memory):
    person = memory.for_person("test")
    kept = person.remember("The port is 8080", key="port", scope=f"project:{PROJECT}").memory
    waits = save(memory, "Port", "The port is 9090")
    answer = call(memory, "mem_update", id=1, content="The port is 9090")

    assert answer["result"].startswith("Change proposed: #3 would change #1 ")
    assert (answer["id"], answer["sync_id"], answer["proposal_id"]) == (1, kept.id, 3)
    assert memory.get("mem-0003").memories[0].amends == kept.id
    assert memory.get(f"mem-{waits['id']:04}").memories[0].seen == 1


def test_a_save_under_the_topic_of_a_persons_memory_tells_what_it_would_change(memory):
    person = memory.for_person("test")
    kept = person.remember("Tokens live an hour.", key="architecture/auth", scope=f"project:{PROJECT}").memory
    answer = save(memory, "Auth", "Tokens live a day.", topic_key="architecture/auth")

    assert f"It would change memory #{int(kept.handle[4:])}, topic_key architecture/auth." in answer["result"]
    assert "Suggested topic_key" not in answer["result"]
    assert save(memory, "Auth", "Tokens live a week.", topic_key="architecture/auth")["id"] == answer["id"]


def test_an_update_may_name_the_project_as_older_clients_do(memory):
    number = save(memory, "Cache", "The cache is cold.")["id"]
    call(memory, "mem_update", id=number, title="Warm cache", project="api")
    error = refusal(memory, "mem_update", id=number, title="Hot cache", project="web")
    assert error["error_code"] == "project_mismatch"
    assert '"Warm cache"' in call(memory, "mem_update", id=number, content="It is warm.", project=PROJECT)["result"]


def test_an_update_takes_no_topic_key_from_another_memory(memory):
    first = save(memory, "Auth", "Tokens live an hour.", topic_key="architecture/auth")["id"]
    second = save(memory, "Cache", "The cache is cold.")["id"]
    error = refusal(memory, "mem_update", id=second, topic_key="architecture/auth")
    assert f"#{first}" in error["message"]
    assert "Tokens live an hour." in call(memory, "mem_get_observation", id=first)["result"]
    call(memory, "mem_update", id=second, topic_key="architecture/cache")
    assert "architecture/cache" in call(memory, "mem_get_observation", id=second)["result"]


def test_a_personal_search_is_not_crowded_out_by_the_project(memory):
    for number in range(60):
        save(memory, f"Deploy pipeline runs {'x' * number}", f"The deploy pipeline runs {'x' * number}.")
    save(memory, "A habit", "Ask me before the deploy pipeline runs.", scope="personal")
    found = call(memory, "mem_search", query="deploy pipeline runs", scope="personal")["results"]
    assert [row["title"] for row in found] == ["A habit"]


def test_an_update_needs_something_to_change(memory):
    save(memory, "Deploy day", "We deploy on Fridays.")
    assert "nothing to update" in refusal(memory, "mem_update", id=1)["message"]


def test_find_and_replace_is_literal_and_goes_together(memory):
    save(memory, "Paths", "Use a.c, not aXc; a.c it is.")
    call(memory, "mem_update", id=1, find="a.c", replace="b")
    assert memory.get("mem-0001").memories[0].text == "Use b, not aXc; b it is."
    for wrong in ({"find": "b"}, {"replace": "c"}, {"find": "b", "replace": "c", "content": "x"}):
        assert refusal(memory, "mem_update", id=1, **wrong)["error_code"] == "invalid"
    assert refusal(memory, "mem_update", id=1, find="absent", replace="c")["error_code"] == "invalid"
    call(memory, "mem_update", id=1, find=", not aXc", replace="")
    assert memory.get("mem-0001").memories[0].text == "Use b; b it is."


def test_an_expected_project_must_fit(memory):
    save(memory, "Deploy day", "We deploy on Fridays.")
    for tool, said in (("mem_update", {"title": "Other"}), ("mem_delete", {})):
        error = refusal(memory, tool, id=1, expected_project="web", **said)
        assert error["error_code"] == "project_mismatch"
    call(memory, "mem_update", id=1, title="Other", expected_project="API")
    text_of(memory, "mem_delete", id=1, expected_project=PROJECT)


def test_a_topic_key_is_given_once_and_then_stays(memory):
    save(memory, "Deploy day", "We deploy on Fridays.")
    call(memory, "mem_update", id=1, topic_key="Release/Deploy day")
    assert memory.get("mem-0001").memories[0].key == "release/deploy-day"
    assert save(memory, "Deploy day", "We deploy on Mondays.", topic_key="release/deploy-day")["id"] == 1
    assert "stays" in refusal(memory, "mem_update", id=1, topic_key="release/other")["message"]


def test_a_memory_does_not_move_between_scopes_but_may_be_shared(memory):
    save(memory, "Deploy day", "We deploy on Fridays.")
    save(memory, "Editor", "The editor is set to four spaces.", scope="personal")
    assert refusal(memory, "mem_update", id=1, scope="personal")["error_code"] == "invalid"
    call(memory, "mem_update", id=2, scope="global")
    assert memory.get("mem-0002").memories[0].visibility == "shared"


def test_a_deleted_memory_is_hidden_and_can_be_restored(memory):
    save(memory, "Deploy day", "We deploy on Fridays.")
    assert "Memory #1" in text_of(memory, "mem_delete", id=1)
    assert call(memory, "mem_search", query="deploy")["results"] == []
    assert refusal(memory, "mem_get_observation", id=1)["error_code"] == "not_found"
    assert refusal(memory, "mem_delete", id=1)["error_code"] == "not_found"
    memory.restore("mem-0001")
    assert ids(call(memory, "mem_search", query="deploy")) == [1]


def test_erasing_and_merging_are_a_persons_acts(memory):
    save(memory, "Deploy day", "We deploy on Fridays.")
    error = refusal(memory, "mem_delete", id=1, hard_delete=True)
    assert error["error_code"] == "forbidden"
    assert "engram purge mem-0001 --confirm" in error["hint"]
    assert ids(call(memory, "mem_search", query="deploy")) == [1]
    text_of(memory, "mem_delete", id=1)
    error = refusal(memory, "mem_delete", id=1, hard_delete=True)  # what is hidden can be erased as well
    assert error["hint"] == "It is hidden. Ask the person to run: engram purge mem-0001 --confirm"
    error = refusal(memory, "mem_merge_projects", from_="api, Api", to="acme-api")
    assert "engram projects merge api Api acme-api" in error["hint"]


def test_pinning_again_changes_nothing(memory):
    save(memory, "Deploy day", "We deploy on Fridays.")
    for tool, pinned in (("mem_pin", True), ("mem_unpin", False)):
        answer = call(memory, tool, id=1.0)
        assert set(answer) == {"result", "id", "sync_id", "pinned"}
        assert (answer["id"], answer["pinned"]) == (1, pinned)
        assert memory.get("mem-0001").memories[0].pinned is pinned
        before = memory.stats().events
        assert call(memory, tool, id=1) == answer
        assert memory.stats().events == before


def test_review_lists_what_is_due_first_and_marks_it(memory, clock):
    save(memory, "Deploy day", "We deploy on Fridays.", type="decision")
    save(memory, "Editor", "The editor is set to four spaces.", type="preference")
    save(memory, "Law", "Invoices are kept for ten years.", type="policy")
    assert call(memory, "mem_review", action="list")["observations"] == []
    clock.time += timedelta(days=200)
    listed = call(memory, "mem_review", action="list")["observations"]
    assert [row["id"] for row in listed] == [2, 1]
    assert set(listed[0]) == {"id", "sync_id", "title", "type", "state", "project", "review_after"}
    assert listed[0]["state"] == "needs_review"
    found = call(memory, "mem_search", query="editor spaces")
    assert found["results"] == []
    assert "1 more need review" in found["result"]
    marked = call(memory, "mem_review", action="mark_reviewed", observation_id=2.0)
    assert (marked["id"], marked["state"]) == (2, "active")
    assert [row["id"] for row in call(memory, "mem_review", action="list", limit=1)["observations"]] == [1]
    call(memory, "mem_review", action="mark_reviewed", id=1)
    assert call(memory, "mem_review", action="list", project="api")["observations"] == []
    assert refusal(memory, "mem_review", action="forget")["error_code"] == "invalid"


@pytest.mark.parametrize("id", [0, -1, 1.5, float("nan"), float("inf"), 1e300, True])
def test_what_is_no_number_of_a_memory_is_refused(memory, id):
    save(memory, "Deploy day", "We deploy on Fridays.")
    for tool in ("mem_get_observation", "mem_pin", "mem_delete"):
        assert refusal(memory, tool, id=id)["error_code"] == "invalid"


# finding


def test_a_search_gives_ten_and_never_more_than_twenty(memory):
    for step in range(25):
        save(memory, f"Note {step}", f"The build cache of target {'x' * step} is cold.")
    for limit, count in ((10.0, 10), (3, 3), (0, 10), (-4, 10), (20, 20), (999, 20), (float("nan"), 10)):
        assert len(call(memory, "mem_search", query="build cache", limit=limit)["results"]) == count
    assert len(call(memory, "mem_search", query="build cache")["results"]) == 10


def test_a_search_result_has_the_keys_of_the_system(memory):
    save(memory, "Deploy day", "We deploy on Fridays.", type="decision", topic_key="release/day")
    (row,) = call(memory, "mem_search", query="deploy")["results"]
    keys = {"id", "sync_id", "title", "type", "state", "scope", "pinned", "project", "topic_key", "review_after"}
    assert set(row) == keys
    answer = call(memory, "mem_search", query="deploy", response_format="compact")
    assert answer["result"] == "1 found."
    assert set(answer["results"][0]) == keys | {"preview", "truncated", "relations"}


def test_a_search_previews_three_hundred_characters(memory):
    save(memory, "Long", "deploy " * 43)
    save(memory, "Short", "We deploy on Fridays.")
    answer = call(memory, "mem_search", query="deploy")
    assert "[preview]" in answer["result"]
    assert "mem_get_observation" in answer["result"]
    rows = call(memory, "mem_search", query="deploy", response_format="compact")["results"]
    assert {row["title"]: (len(row["preview"]), row["truncated"]) for row in rows} == {
        "Long": (300, True),
        "Short": (21, False),
    }


def test_nothing_found_is_an_answer(memory):
    answer = call(memory, "mem_search", query="kubernetes")
    assert answer["results"] == []
    assert answer["result"] == "No memories found for: 'kubernetes'"


@pytest.mark.parametrize(
    "wrong", [{"match_mode": "some"}, {"response_format": "full"}, {"query": "  "}, {"project": "nowhere"}]
)
def test_a_search_checks_its_words_before_it_looks(memory, wrong):
    assert refusal(memory, "mem_search", **{"query": "deploy", **wrong})["error_code"] in (
        "invalid",
        "unknown_project",
    )


def test_a_topic_key_as_query_comes_first(memory):
    save(memory, "Release day and release hour", "release/day is a key in the release release release notes.")
    save(memory, "Friday", "We ship then.", topic_key="release/day")
    assert ids(call(memory, "mem_search", query="release/day"))[0] == 2


def test_scopes_narrow_a_search(memory):
    save(memory, "Editor here", "The editor is set to tabs.")
    save(memory, "Editor everywhere", "The editor is set to four spaces.", scope="personal")
    save(memory, "Editor for all", "The editor is never vim.", scope="global")
    searched = {
        scope: set(ids(call(memory, "mem_search", query="editor", scope=scope)))
        for scope in ("", "project", "personal", "global")
    }
    assert searched == {"": {1, 2, 3}, "project": {1}, "personal": {2}, "global": {3}}


def test_a_search_stays_in_its_project_unless_told(tmp_path, clock):
    store = str(tmp_path / "store.db")
    with opened(tmp_path, clock, store, ENGRAM_PROJECT="github.com/acme/web") as other:
        save(other, "Deploy of the web", "The web is deployed on Mondays.")
    with opened(tmp_path, clock, store) as memory:
        save(memory, "Deploy of the API", "The API is deployed on Fridays.")
        assert ids(call(memory, "mem_search", query="deployed")) == [2]
        assert ids(call(memory, "mem_search", query="deployed", project="web")) == [1]
        everywhere = call(memory, "mem_search", query="deployed", all_projects=True, project="ignored")
        assert set(ids(everywhere)) == {1, 2}
        assert everywhere["project_source"] == "all_projects"


def test_a_memory_is_shown_in_full(memory):
    text = "We deploy on Fridays.\n\n" + "Because. " * 200
    save(memory, "Deploy day", text, session_id="s-1", topic_key="release/day")
    result = call(memory, "mem_get_observation", id=1)["result"]
    for piece in (
        text,
        "Deploy day",
        "Session: s-1",
        f"Project: {PROJECT}",
        "Scope: project",
        "Topic: release/day",
    ):
        assert piece in result


def test_a_timeline_shows_the_session_around_a_memory(memory):
    for step in range(1, 16):
        session = "s-2" if step == 8 else "s-1"
        save(memory, f"Step {step}", f"At {'x' * step} something was done. " + "y" * 200, session_id=session)
    text_of(memory, "mem_save_prompt", content="Go on", session_id="s-1")
    lines = call(memory, "mem_timeline", observation_id=7.0)["result"].splitlines()
    numbers = [line.split("#")[1].split(" ")[0] for line in lines if "#" in line]
    assert numbers == ["2", "3", "4", "5", "6", "7", "9", "10", "11", "12", "13"]
    assert lines[:2] == ["Session: s-1", "Total in session: 14"]
    assert lines[7].startswith(">>> #7")
    assert all(("y" * 100 in line and "..." in line) or line == lines[7] for line in lines[2:])
    assert lines[7].count("y") == 200
    few = call(memory, "mem_timeline", observation_id=7, before=1, after=2)["result"].splitlines()
    assert len(few) == 6
    call(memory, "mem_session_summary", content="Goal: warm the caches. " + "z" * 200, session_id="s-1")
    summed = call(memory, "mem_timeline", observation_id=7)["result"].splitlines()
    assert summed[1].startswith("Summary: Goal: warm the caches. zzz")
    assert len(summed[1]) == len("Summary: ") + 100 + len("...")
    assert summed[2] == "Total in session: 15"
    error = refusal(memory, "mem_timeline", observation_id=7, project="web")
    assert error["error_code"] == "not_found"


def test_prompts_crowd_no_memory_out_of_a_timeline(memory):
    for step in range(1, 4):
        save(memory, f"Step {step}", f"At {'x' * step} something was done.", session_id="s-1")
        for number in range(60):
            text_of(memory, "mem_save_prompt", content=f"Go on with {step}, {number}", session_id="s-1")
    lines = call(memory, "mem_timeline", observation_id=62, before=1, after=1)["result"].splitlines()
    assert [line.split("] ")[1][:6] for line in lines[2:]] == ["Step 1", "Step 2", "Step 3"]


def test_a_context_calls_memories_by_number_and_keeps_to_its_length(memory):
    assert "No previous session memories found." in call(memory, "mem_context")["result"]
    for step in range(60):
        save(memory, f"Note {step} about {'x' * step}", f"The cache of target {'x' * step} is cold.")
    text_of(memory, "mem_save_prompt", content="Warm the caches, please.")
    result = call(memory, "mem_context")["result"]
    assert "[#60, fact" in result
    assert "mem-00" not in result
    assert "Warm the caches" not in result
    assert result.endswith(f"0 sessions, 60 observations across projects: {PROJECT}")
    for most in (1, 20, 90, 200, 400, 1000, 3000):
        assert len(call(memory, "mem_context", max_bytes=most)["result"].encode()) <= most
    assert "more did not fit; mem_search finds them.)" in call(memory, "mem_context", max_bytes=3000)["result"]
    for wrong in (0, -1, 10.5, float("nan")):
        assert call(memory, "mem_context", max_bytes=wrong)["result"] == result


# sessions, prompts, capture


def test_a_save_belongs_to_the_session_that_is_under_way(memory):
    call(memory, "mem_session_start", id="s-1", directory="/srv/api")
    save(memory, "Deploy day", "We deploy on Fridays.")
    assert memory.get("mem-0001").memories[0].session == "s-1"
    session = memory.session_list(session="s-1").sessions[0]
    assert (session.context.base_dir, session.ended_at) == ("/srv/api", None)


def test_two_open_sessions_keep_nobody_from_saving(memory):
    for name in ("s-1", "s-2"):
        call(memory, "mem_session_start", id=name)
    assert save(memory, "Deploy day", "We deploy on Fridays.")["id"] == 1
    assert memory.get("mem-0001").memories[0].session == f"manual-save-{PROJECT}"


def test_a_session_that_nobody_began_is_no_error(memory):
    assert save(memory, "Deploy day", "We deploy on Fridays.", session_id="never-begun")["id"] == 1
    assert "ended" in call(memory, "mem_session_end", id="never-begun")["result"]
    assert "ended" in call(memory, "mem_session_end", id="never-begun", summary="Goal: warm caches.")["result"]
    (kept,) = memory.list(kind=("summary",)).memories
    assert (kept.text, kept.session) == ("Goal: warm caches.", "never-begun")


def test_a_session_ends_with_its_summary_and_a_second_end_keeps_its_words(memory):
    call(memory, "mem_session_start", id="s-1")
    call(memory, "mem_session_end", id="s-1", summary="Goal: warm caches.")
    call(memory, "mem_session_end", id="s-1", summary="Next: warm more caches.")
    texts = {one.text for one in memory.list(kind=("summary",)).memories}
    assert texts == {"Goal: warm caches.", "Next: warm more caches."}
    assert "taken up again" in call(memory, "mem_session_start", id="s-1")["result"]


def test_a_session_summary_is_kept_each_time_and_is_in_the_next_context(memory):
    content = "## Goal\nWarm caches\n## Next Steps\nWarm more"
    first, second = (call(memory, "mem_session_summary", content=content, session_id="s-1") for _ in range(2))
    assert (first["id"], second["id"]) == (1, 2)
    assert (first["judgment_required"], first["state"]) == (False, "active")
    (row,) = call(memory, "mem_search", query="warm caches", type="session_summary")["results"]
    assert row["title"] == f"Session summary: {PROJECT}"
    assert "Warm more" in call(memory, "mem_context")["result"]
    assert refusal(memory, "mem_session_summary", content=" ")["error_code"] == "invalid"


def test_prompts_are_kept_each_time_and_never_found_by_a_search(memory):
    for _ in range(2):
        answer = call(memory, "mem_save_prompt", content="Warm the caches, " + "please " * 20)
    assert answer["result"] == 'Prompt saved: "' + ("Warm the caches, " + "please " * 20)[:80] + '..."'
    assert answer["truncation"]["truncated"] is False
    kept = memory.list(kind=("prompt",)).memories
    assert [(one.kind, one.origin, one.visibility) for one in kept] == [("prompt", "said", "private")] * 2
    assert call(memory, "mem_search", query="warm caches")["results"] == []


def test_passive_capture_counts_what_it_took(memory):
    text = (
        "All done.\n\n## Key Learnings:\n\n"
        "1. The token cache must be warmed before a deploy.\n2. Cookies need the SameSite attribute set.\n3. ok\n"
    )
    answer = call(memory, "mem_capture_passive", content=text, session_id="s-1")
    assert "extracted=2 saved=2 duplicates=0" in answer["result"]
    again = call(memory, "mem_capture_passive", content=text)
    assert (again["extracted"], again["saved"], again["duplicates"]) == (2, 0, 2)
    (row,) = call(memory, "mem_search", query="token cache", type="passive")["results"]
    assert row["type"] == "passive"
    kept = memory.get(f"mem-{row['id']}").memories[0]
    assert (kept.source, kept.session) == ("mcp-passive", "s-1")
    assert call(memory, "mem_capture_passive", content="Nothing learned.")["extracted"] == 0


@pytest.mark.parametrize(
    ("said", "key"),
    [
        ({"title": "JWT auth", "type": "architecture"}, "architecture/jwt-auth"),
        (
            {"content": "the login page crashed on an empty name today again"},
            "bug/the-login-page-crashed-on-an-empty-name",
        ),
    ],
)
def test_a_topic_key_is_suggested(memory, said, key):
    assert text_of(memory, "mem_suggest_topic_key", **said) == f"Suggested topic_key: {key}"


def test_a_topic_key_needs_something_to_name(memory):
    assert refusal(memory, "mem_suggest_topic_key", type="bugfix")["error_code"] == "invalid"


# projects and the store


def test_no_project_is_invented(memory):
    error = refusal(memory, "mem_save", title="Deploy day", content="We deploy on Fridays.", project="nowhere")
    assert error["error_code"] == "unknown_project"
    assert error["available_projects"] == [PROJECT]
    assert memory.stats().memories == 0
    assert save(memory, "Deploy day", "We deploy on Fridays.", project="API")["project"] == PROJECT


def test_a_short_name_of_two_projects_lists_both(tmp_path, clock):
    store = str(tmp_path / "store.db")
    for name in ("github.com/acme/api", "github.com/other/api"):
        with opened(tmp_path, clock, store, ENGRAM_PROJECT=name) as memory:
            save(memory, "Deploy day", f"We deploy {name} on Fridays.")
    with opened(tmp_path, clock, store, ENGRAM_PROJECT="web") as memory:
        error = refusal(memory, "mem_search", query="deploy", project="api")
        assert error["error_code"] == "ambiguous_project"
        assert sorted(error["available_projects"]) == ["github.com/acme/api", "github.com/other/api"]
        assert ids(call(memory, "mem_search", query="deploy", project="github.com/other/api")) == [2]
    with opened(tmp_path, clock, store) as memory:  # in one of them, its short name is enough
        assert ids(call(memory, "mem_search", query="deploy", project="api")) == [1]


def test_of_two_projects_that_differ_by_case_alone_the_whole_name_tells(tmp_path, clock):
    store = str(tmp_path / "store.db")
    for name in ("api", "API"):
        with opened(tmp_path, clock, store, ENGRAM_PROJECT=name) as memory:
            memory.remember(f"We deploy {name} on Fridays.")
    for project in ("web", "api", "API"):
        with opened(tmp_path, clock, store, ENGRAM_PROJECT=project) as memory:
            assert ids(call(memory, "mem_search", query="deploy", project="api")) == [1]
            assert ids(call(memory, "mem_search", query="deploy", project="API")) == [2]


def test_a_project_that_is_called_just_so_goes_before_the_current_one_by_its_short_name(tmp_path, clock):
    store = str(tmp_path / "store.db")
    with opened(tmp_path, clock, store, ENGRAM_PROJECT="api") as memory:
        save(memory, "Deploy day", "We deploy on Fridays.")
    with opened(tmp_path, clock, store) as memory:
        assert "engram projects merge api github.com/acme/api" in call(memory, "mem_context")["warning"]
        assert call(memory, "mem_search", query="deploy", project="api")["project"] == "api"
        assert call(memory, "mem_search", query="deploy", project=PROJECT)["project"] == PROJECT


@pytest.fixture
def between(tmp_path, clock):
    """The memory as an agent has it in a folder that holds two projects, api and web."""
    folder = tmp_path / "work"
    for name in ("api", "web"):
        (folder / name / ".git").mkdir(parents=True)
    with open_memory(
        "ram:",
        caller=Caller(agent="tester", human=False),
        folder=folder,
        environment={"HOME": str(tmp_path / "home"), "ENGRAM_EMBEDDER": "none"},
        clock=clock,
    ) as memory:
        yield memory


def test_a_folder_with_two_projects_asks_which_one_and_takes_the_answer(between):
    error = refusal(between, "mem_save", title="Deploy day", content="We deploy on Fridays.")
    assert error["error_code"] == "ambiguous_project"
    assert sorted(error["available_projects"]) == ["api", "web"]
    assert "project set to one of available_projects" in error["hint"]
    assert "ENGRAM_PROJECT" not in error["hint"]
    chosen = {"project": "web", "project_choice_reason": "user_selected_after_ambiguous_project"}
    assert save(between, "Deploy day", "We deploy on Fridays.", **chosen)["project"] == "web"
    shown = call(between, "mem_get_observation", id=1)
    assert (shown["project"], shown["project_source"]) == ("web", "stored_project")
    here = call(between, "mem_current_project")
    assert (here["project"], here["project_source"]) == ("", "ambiguous")
    assert sorted(here["available_projects"]) == ["api", "web"]
    assert here["warning"]
    assert here["error_hint"]


def test_what_is_personal_needs_no_project(between):
    saved = save(between, "Editor", "I use helix.", scope="personal")
    assert (saved["project"], saved["project_source"]) == ("", "ambiguous")
    assert "warning" not in saved
    assert call(between, "mem_search", query="helix", scope="personal")["results"][0]["scope"] == "personal"


def test_between_two_projects_a_read_shows_what_holds_everywhere_and_says_so(between):
    save(between, "Deploy day", "We deploy on Fridays.", project="web")
    save(between, "Editor", "I use helix.", scope="personal")

    found, context = call(between, "mem_search", query="helix Fridays"), call(between, "mem_context")
    assert ids(found) == [2]
    assert "I use helix" in context["result"]
    assert "Fridays" not in context["result"]
    for answer in (found, context):
        assert (answer["project"], answer["project_source"]) == ("", "ambiguous")
        assert "holds several projects: api, web." in answer["warning"]
    assert ids(call(between, "mem_search", query="helix Fridays", project="web")) == [1]
    assert refusal(between, "mem_search", query="helix", project="nowhere")["error_code"] == "unknown_project"


def test_between_two_projects_a_session_begins_in_the_one_that_is_named(between):
    assert refusal(between, "mem_session_start", id="s-1")["error_code"] == "ambiguous_project"
    assert call(between, "mem_session_start", id="s-1", project="web")["project"] == "web"
    assert call(between, "mem_session_summary", content="Made it fast.", session_id="s-1")["project"] == "web"
    assert call(between, "mem_session_end", id="s-1", summary="Done.")["project"] == "web"


def test_a_session_begins_in_the_current_project_whatever_name_an_older_client_gives(memory):
    assert call(memory, "mem_session_start", id="s-1", project="nowhere")["project"] == PROJECT


def test_a_save_outside_of_any_project_says_where_it_holds(tmp_path, clock):
    with opened(tmp_path, clock, ENGRAM_PROJECT="") as memory:
        assert "belongs to no project" in save(memory, "Deploy day", "We deploy on Fridays.")["warning"]
        assert "warning" not in save(memory, "Editor", "I use helix.", scope="personal")


def test_a_reason_for_a_choice_is_the_one_that_is_known(memory):
    error = refusal(memory, "mem_save", title="Deploy", content="On Fridays.", project_choice_reason="because")
    assert error["error_code"] == "invalid_project_choice"


def test_the_current_project_and_all_projects(tmp_path, clock):
    store = str(tmp_path / "store.db")
    with opened(tmp_path, clock, store) as memory:
        assert call(memory, "mem_list_projects") == {"projects": [], "count": 0}
        call(memory, "mem_session_start", id="s-1", directory="/srv/api")
        save(memory, "Deploy day", "We deploy on Fridays.")
        save(memory, "Editor", "The editor is set to four spaces.")
        text_of(memory, "mem_save_prompt", content="Warm the caches.")
    with opened(tmp_path, clock, store, ENGRAM_PROJECT="web") as memory:
        save(memory, "Web", "The web is deployed on Mondays.")
        listed = call(memory, "mem_list_projects")
        here = call(memory, "mem_current_project")
    assert listed["count"] == 2
    assert listed["projects"][0] == {
        "name": PROJECT,
        "observation_count": 2,
        "session_count": 1,
        "prompt_count": 1,
        "directories": ["/srv/api"],
    }
    assert (here["project"], here["project_source"]) == ("web", "detected")
    assert set(here["available_projects"]) == {PROJECT, "web"}
    assert here["cwd"] == str(tmp_path)


def test_numbers_of_the_whole_store(memory):
    call(memory, "mem_session_start", id="s-1")
    save(memory, "Deploy day", "We deploy on Fridays.")
    text_of(memory, "mem_save_prompt", content="Warm the caches.")
    stats = call(memory, "mem_stats")
    assert (stats["total_sessions"], stats["total_observations"], stats["total_prompts"]) == (1, 1, 1)
    assert stats["projects"] == [PROJECT]


def test_a_healthy_store_is_told_in_the_form_of_the_system(memory, clock):
    save(memory, "Deploy day", "We deploy on Fridays.")
    clock.time += timedelta(days=400)
    report = call(memory, "mem_doctor")
    assert (report["status"], report["summary"]["error"]) == ("ok", 0)
    (stale,) = call(memory, "mem_doctor", check="stale")["checks"]
    assert set(stale) == {
        *("check_id", "result", "severity", "reason_code", "evidence", "safe_next_step", "requires_confirmation"),
    }


def test_a_damaged_store_is_an_error_with_the_whole_report(tmp_path, clock):
    store = tmp_path / "store.db"
    with opened(tmp_path, clock, str(store)) as memory:
        save(memory, "Deploy day", "We deploy on Fridays.")
        store.chmod(0o666)
        body = refusal(memory, "mem_doctor")
    assert body["status"] == "error"
    assert body["checks"]


# a working day


def test_a_whole_working_day_over_mcp(memory):
    """Context, search, get, save with a topic key twice, judge, summary and capture, as a client sees them."""

    async def day() -> None:
        async with Client(build(lambda: memory, [PROFILE])) as client:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert set(listed) == set(REQUIRED)
            schema = listed["mem_search"].input_schema
            assert schema["required"] == ["query"]
            assert schema["properties"]["limit"]["type"] == "number"
            assert schema["properties"]["limit"]["default"] == 10
            assert set(listed["mem_merge_projects"].input_schema["properties"]) == {"from", "to"}

            async def ask(name: str, **said: Any) -> dict[str, Any]:
                result = await client.call_tool(name, said)
                assert not result.is_error, result.content
                (content,) = result.content
                body: dict[str, Any] = json.loads(content.text)
                return body

            await ask("mem_session_start", id="day-1", directory="/srv/api")
            assert "No previous session" in (await ask("mem_context"))["result"]
            old = await ask("mem_save", title="JWT auth middleware", content="Tokens are checked there.")
            found = await ask("mem_search", query="auth middleware", limit=5.0)
            assert [row["id"] for row in found["results"]] == [old["id"]] == [1]
            assert "Tokens are checked there." in (await ask("mem_get_observation", id=1.0))["result"]

            topic = {"title": "Auth middleware by cookies", "type": "decision", "topic_key": "architecture/auth"}
            first = await ask("mem_save", content="Cookies instead of tokens.", **topic)
            second = await ask("mem_save", content="Signed cookies instead of tokens.", **topic)
            assert first["id"] == second["id"] == 2
            assert first["candidates"][0]["id"] == 1
            judged = await ask("mem_judge", judgment_id=first["judgment_id"], relation="supersedes", confidence=0.9)
            assert judged["relation"]["judgment_status"] == "judged"
            found = await ask("mem_search", query="auth middleware")
            assert [row["id"] for row in found["results"]] == [2]

            summary = await ask("mem_session_summary", content="## Goal\nCookies\n## Accomplished\nDone")
            assert (summary["id"], summary["judgment_required"]) == (3, False)
            learned = "## Key Learnings\n- Cookies need the SameSite attribute set.\n"
            captured = await ask("mem_capture_passive", content=learned)
            assert (captured["extracted"], captured["saved"], captured["duplicates"]) == (1, 1, 0)
            await ask("mem_session_end", id="day-1")
            assert "Cookies" in (await ask("mem_context"))["result"]

            wrong = await client.call_tool("mem_save", {"content": "No title."})
            assert wrong.is_error
            assert set(json.loads(wrong.content[0].text)) == {"error_code", "message", "available_projects", "hint"}
            merged = await client.call_tool("mem_merge_projects", {"from": "a,b", "to": "c"})
            assert merged.is_error
            assert "engram projects merge a b c" in merged.content[0].text

    anyio.run(day)
    assert {one.session for one in memory.list(limit=50).memories} == {"day-1"}
