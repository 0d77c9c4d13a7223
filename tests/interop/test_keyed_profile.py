"""The profile `keyed`: memories by key, updated in place, expiring, ranked."""

import json

import pytest

from engram.interop.keyed import PROFILE
from engram.model.caller import UNNAMED, Caller
from engram.model.scope import Scope
from engram.rules.kinds import extended
from engram.rules.policy import Policy
from interop.talking import Talk, ask, opened, over_mcp, refusal
from rules.world import START, Clock, World

PROJECT = "github.com/acme/api"
KEYS = (
    *("id", "key", "value", "summary", "category", "tags", "importance", "pinned", "expiresAt", "source", "scope"),
    *("projectId", "agentId", "sessionId", "sources", "assets", "createdAt", "updatedAt"),
)


@pytest.fixture
def world() -> World:
    return World(home=Scope("project", PROJECT))


@pytest.fixture
def alex(world: World) -> Talk:
    return Talk(PROFILE, world.agent)


@pytest.fixture
def kim(world: World) -> Talk:
    return Talk(PROFILE, world.as_(Caller(owner="kim", agent="codex", human=False)))


def saved(talk: Talk, key: str = "deploy-day", value: str = "We deploy on Fridays", **said: object) -> dict:
    return talk("save", key=key, value=value, **said)["memory"]


def values(answer: dict) -> list[str]:
    return [row["value"] for row in answer["memories"]]


def test_a_row_has_the_names_clients_know(alex):
    row = saved(alex, summary="Fridays", tags=["release"], importance=7, pinned=True, expiresAt="2026-06-01")
    assert tuple(row) == KEYS
    assert row | {"id": ""} == {
        "id": "",
        "key": "deploy-day",
        "value": "We deploy on Fridays",
        "summary": "Fridays",
        "category": "fact",
        "tags": ["release"],
        "importance": 7,
        "pinned": True,
        "expiresAt": "2026-06-01T00:00:00.000000Z",
        "source": "manual",
        "scope": "global",
        "projectId": None,
        "agentId": None,
        "sessionId": None,
        "sources": [],
        "assets": [],
        "createdAt": "2026-01-01T00:00:00.000000Z",
        "updatedAt": "2026-01-01T00:00:00.000000Z",
    }


def test_the_same_key_is_updated_in_place_and_history_keeps_what_it_said(alex, world):
    first = alex("save", key="deploy-day", value="We deploy on Fridays", importance=8, category="habit")
    world.clock.pass_by(hours=1)
    second = alex("save", key="deploy-day", value="We deploy on Thursdays")
    assert (first["outcome"], second["outcome"]) == ("created", "updated")
    assert second["memory"]["id"] == first["memory"]["id"]
    assert (second["memory"]["importance"], second["memory"]["category"]) == (8, "habit")  # what was not said stays
    assert second["memory"]["updatedAt"] > second["memory"]["createdAt"]
    assert values(alex("list")) == ["We deploy on Thursdays"]
    edits = world.person.history(first["memory"]["id"]).events[0].payload.edits
    assert ("text", "We deploy on Fridays") in [(edit.field, edit.old) for edit in edits]


def test_the_same_value_again_takes_the_new_weight(alex):
    saved(alex)
    assert saved(alex, importance=9)["importance"] == 9
    assert len(alex("list")["memories"]) == 1


@pytest.mark.parametrize(
    "said",
    [
        {"summary": "Weekly"},
        {"category": "Team Rhythm"},
        {"tags": ["b"]},
        {"tags": []},
        {"sources": [{"type": "message", "id": "m-2"}]},
        {"summary": "Weekly", "category": "habit", "tags": ["b", "a"], "importance": 2},
    ],
)
def test_the_same_value_again_is_updated_in_place_in_all_that_is_said(alex, said):
    cited = [{"type": "message", "id": "m-1"}]
    first = saved(alex, summary="Fridays", category="habit", tags=["a"], sources=cited)
    answer = alex("save", key="deploy-day", value="We deploy on Fridays", **said)
    assert answer["outcome"] == "updated"
    assert answer["memory"] == {**first, **said, "updatedAt": answer["memory"]["updatedAt"]}
    assert alex("get", key="deploy-day")["memory"] == answer["memory"]


def test_what_nobody_vouches_for_does_not_change_a_known_value_by_the_way(alex):
    saved(alex, summary="Fridays")
    answer = alex("save", key="deploy-day", value="We deploy on Fridays", summary="Never", source="web:page")
    assert (answer["outcome"], answer["memory"]["waitsForReview"]) == ("pending", "untrusted_origin")
    assert alex("get", key="deploy-day")["memory"]["summary"] == "Fridays"


def test_a_new_value_under_a_persons_key_is_one_row_that_waits_and_tells_the_key(alex, world):
    world.person.remember("The port is 5432", key="db-port", scope="global")
    answers = [alex("save", key="db-port", value=f"The port is {port}") for port in (5433, 5434)]

    assert {(each["outcome"], each["memory"]["key"]) for each in answers} == {("pending", "db-port")}
    assert len({each["memory"]["id"] for each in answers}) == 1
    assert alex("get", key="db-port")["memory"]["value"] == "The port is 5432"


def test_a_row_of_its_own_under_a_key_is_read_and_leaves_the_key_to_be_updated(alex):
    first = saved(alex, "db-port", "The db port is 5432")
    own = alex("save", key="db-port", value="The db port is 5433", dedupe="create")
    assert own["outcome"] == "created"
    again = alex("save", key="db-port", value="The db port is 5440")

    assert (again["outcome"], again["memory"]["id"]) == ("updated", first["id"])
    assert alex("get", key="db-port")["memory"]["value"] == "The db port is 5440"
    rows = alex("list", scope="global")
    assert sorted(values(rows)) == ["The db port is 5433", "The db port is 5440"]


def test_a_new_value_keeps_what_is_not_said_but_for_the_summary_of_the_old_one(alex):
    said = {"category": "Team Rhythm", "tags": ["a"], "importance": 9, "pinned": True}
    saved(alex, summary="Fridays", **said)
    row = saved(alex, value="We deploy on Mondays")
    assert {name: row[name] for name in said} == said
    assert row["summary"] is None
    assert values(alex("recall", query="deploy", category="Team Rhythm")) == ["We deploy on Mondays"]


def test_two_keys_are_two_memories_even_of_the_same_value(alex):
    assert saved(alex, "a")["id"] != saved(alex, "b")["id"]


def test_create_makes_a_new_row_even_where_the_key_exists(alex):
    old, new = saved(alex), saved(alex, value="We deploy daily", dedupe="create")
    assert new["id"] != old["id"]
    assert new["key"] == old["key"]
    assert sorted(values(alex("list"))) == ["We deploy daily", "We deploy on Fridays"]


def test_a_key_is_another_one_in_another_scope(alex):
    rows = [saved(alex, scope=scope) for scope in ("global", "project", "agent")]
    rows.append(saved(alex, scope="project", projectId="other"))
    assert len({row["id"] for row in rows}) == 4
    assert [(row["scope"], row["projectId"], row["agentId"]) for row in rows] == [
        ("global", None, None),
        ("project", PROJECT, None),
        ("agent", None, "codex"),
        ("project", "other", None),
    ]


def test_project_and_agent_rows_are_shared_and_global_ones_are_not(alex, kim):
    for scope in ("global", "project", "agent"):
        saved(alex, scope, f"A row for the {scope}", scope=scope)
    assert sorted(values(kim("list"))) == ["A row for the agent", "A row for the project"]
    assert sorted(row["scope"] for row in kim("recall", query="row")["memories"]) == ["agent", "project"]


def test_agents_of_several_people_that_do_not_say_their_name_share_no_rows(world):
    alex, kim = (
        Talk(PROFILE, world.as_(Caller(owner=name, agent=UNNAMED, human=False))) for name in ("alex", "kim")
    )
    said = {"key": "a", "value": "Be brief", "scope": "agent"}
    assert "Give agentId" in alex.refusal("save", **said)
    alex("save", **said, agentId="bot")
    assert "Give agentId" in kim.refusal("list", scope="agent")
    assert kim("list", scope="agent", agentId="bot")["memories"] == []
    alone = Talk(PROFILE, world.as_(Caller(agent=UNNAMED, human=False)))
    assert alone("save", **said)["memory"]["agentId"] == UNNAMED


def test_a_row_of_another_member_is_theirs_to_change(alex, kim):
    row = saved(alex, scope="project")
    for tool, said in (("update", {"value": "mine"}), ("delete", {})):
        assert json.loads(kim.refusal(tool, id=row["id"], **said))["error"]["code"] == "FORBIDDEN"
    assert saved(kim, value="Mine", scope="project")["id"] != row["id"]


def test_without_a_project_a_project_row_needs_one():
    alex = Talk(PROFILE, World().agent)
    error = json.loads(alex.refusal("save", key="k", value="v", scope="project"))["error"]
    assert error["code"] == "VALIDATION_ERROR"
    assert "projectId" in error["hint"]


def test_an_expired_row_is_filtered_from_every_read(alex, world):
    row = saved(alex, "freeze", "Deploys are frozen", expiresAt="2026-01-08T00:00:00Z")
    saved(alex)
    world.clock.pass_by(days=6, hours=23)
    assert len(alex("list")["memories"]) == 2
    world.clock.pass_by(hours=1)
    assert values(alex("list")) == ["We deploy on Fridays"]
    assert values(alex("recall", query="deploys frozen")) == ["We deploy on Fridays"]
    for said in ({"id": row["id"]}, {"key": "freeze"}):
        assert json.loads(alex.refusal("get", **said))["error"]["code"] == "NOT_FOUND"


@pytest.mark.parametrize("value", ["Deploys are frozen", "Deploys are frozen again"])
def test_an_expired_row_that_is_saved_again_lives_again(alex, world, value):
    row = saved(alex, "freeze", "Deploys are frozen", expiresAt="2026-01-08T00:00:00Z")
    world.clock.pass_by(days=30)
    before = len(world.events())
    again = saved(alex, "freeze", value)
    assert len(world.events()) == before + 1
    assert (again["id"], again["expiresAt"], again["source"]) == (row["id"], None, "manual")
    assert values(alex("list")) == [value]


@pytest.mark.parametrize("value", ["We deploy on Fridays", "We deploy on Mondays"])
def test_a_deleted_row_that_is_saved_again_is_read_whatever_end_it_had(alex, world, value):
    row = saved(alex, expiresAt="2026-01-08T00:00:00Z")
    alex("delete", id=row["id"])
    world.clock.pass_by(days=30)
    assert saved(alex, value=value)["expiresAt"] is None
    assert alex("get", key="deploy-day")["memory"]["value"] == value


def test_an_end_stays_until_it_is_moved_or_taken_off(alex):
    row = saved(alex, expiresAt="2026-06-01")
    assert saved(alex, value="We deploy daily")["expiresAt"] == "2026-06-01T00:00:00.000000Z"
    assert alex("update", id=row["id"], expiresAt="2026-07-01")["memory"]["expiresAt"][:10] == "2026-07-01"
    assert saved(alex, value="We deploy hourly", expiresAt="")["expiresAt"] is None


def test_recall_gives_five_unless_asked_and_fifty_at_most(alex):
    for number in range(60):
        saved(alex, f"k{number}", f"Deploy note {number} about {number * 7919}")
    assert len(alex("recall", query="deploy note")["memories"]) == 5
    assert len(alex("recall", query="deploy note", limit=12)["memories"]) == 12
    assert len(alex("recall", query="deploy note", limit=500)["memories"]) == 50
    assert json.loads(alex.refusal("recall", query="deploy", limit=0))["error"]["code"] == "VALIDATION_ERROR"


def test_of_equally_relevant_rows_pinned_important_and_newer_ones_come_first(alex, world):
    for key, weight in {"a": {}, "b": {"importance": 9}, "c": {"pinned": True}, "d": {}}.items():
        saved(alex, key, f"Deploy {key}", **weight)
        world.clock.pass_by(minutes=1)
    rows = alex("recall", query="deploy")["memories"]
    assert len({row["relevance"] for row in rows}) == 1
    assert [row["key"] for row in rows] == ["c", "b", "d", "a"]


def test_of_very_many_that_match_alike_the_order_is_the_same_and_none_is_cut_off_before(alex, world):
    for number in range(120):
        saved(alex, f"k{number}", f"Deploy note {number} about {number * 7919}", pinned=number == 3)
        world.clock.pass_by(minutes=1)
    saved(alex, "k70", "Deploy note 70 about something else", importance=9)
    keys = [row["key"] for row in alex("recall", query="deploy note")["memories"]]
    assert keys == ["k3", "k70", "k119", "k118", "k117"]


def test_two_rows_that_say_the_same_under_two_keys_are_both_recalled(alex):
    for key in ("here", "there"):
        saved(alex, key, "We deploy on Fridays after lunch")
    assert {row["key"] for row in alex("recall", query="deploy friday")["memories"]} == {"here", "there"}


@pytest.mark.parametrize("piece", ["ploy", "iday", "Frid", "unc", "friday unch"])
def test_a_piece_of_a_word_finds_it_and_weight_orders_what_it_finds(alex, world, piece):
    for key, weight in {"a": {}, "b": {"pinned": True}, "c": {"importance": 9}, "d": {}}.items():
        saved(alex, key, f"Deployed on Fridays after lunch, says {key}", **weight)
        world.clock.pass_by(minutes=1)
    saved(alex, "other", "The port is 8080")
    assert [row["key"] for row in alex("recall", query=piece)["memories"]] == ["b", "c", "d", "a"]


def test_words_close_together_come_before_words_apart_and_those_before_a_pin(alex):
    saved(alex, "apart", "Deploy whenever somebody has the time to, and never on Fridays", pinned=True)
    saved(alex, "close", "Deploy Fridays")
    saved(alex, "twice", "Deploy Fridays, deploy Fridays")
    saved(alex, "half", "Deploy by hand", pinned=True, importance=10)
    assert [row["key"] for row in alex("recall", query="deploy fridays")["memories"]] == [
        *("twice", "close", "apart", "half")
    ]


def test_relevance_comes_before_a_pin(alex):
    saved(alex, "far", "Somebody once spoke of a deploy in passing while eating soup", pinned=True)
    saved(alex, "near", "The deploy password rotates monthly")
    rows = alex("recall", query="deploy password")["memories"]
    assert rows[0]["key"] == "near"


def test_a_row_is_found_by_its_key_category_and_tags(alex):
    saved(alex, "release-train", "Every second week", category="cadence", tags=["shipping"])
    for query in ("release train", "cadence", "shipping"):
        assert values(alex("recall", query=query)) == ["Every second week"]


def test_lists_and_recalls_are_narrowed_by_scope_category_tag_and_pin(alex):
    saved(alex, "a", "Deploy alpha", category="Team Habit", tags=["x", "y"], pinned=True)
    saved(alex, "b", "Deploy beta", scope="project", tags=["x"])
    assert values(alex("list", category="team habit")) == ["Deploy alpha"]
    assert values(alex("list", scope="project")) == ["Deploy beta"]
    assert values(alex("list", tags=["x", "y"])) == ["Deploy alpha"]
    assert values(alex("list", pinned=True)) == ["Deploy alpha"]
    assert values(alex("recall", query="deploy", scope="project")) == ["Deploy beta"]
    assert values(alex("recall", query="deploy", category="Team Habit")) == ["Deploy alpha"]
    assert values(alex("recall", query="deploy", tags=["y"])) == ["Deploy alpha"]


def test_a_recall_and_a_list_look_into_the_project_or_agent_that_is_named(alex):
    saved(alex, "here", "We deploy the api on Fridays", scope="project")
    saved(alex, "there", "We deploy the site on Mondays", scope="project", projectId="site")
    saved(alex, "mine", "We deploy by hand", scope="agent", agentId="codex")
    for tool, said in (("recall", {"query": "deploy"}), ("list", {})):
        assert values(alex(tool, projectId="site", **said)) == ["We deploy the site on Mondays"]
        assert values(alex(tool, agentId="codex", **said)) == ["We deploy by hand"]
        assert values(alex(tool, scope="project", **said)) == ["We deploy the api on Fridays"]


def test_what_is_asked_for_is_not_crowded_out_by_the_rest(alex):
    for number in range(60):
        saved(alex, f"step-{number}", f"The deploy pipeline runs step {'x' * number}", scope="project")
    saved(alex, "habit", "Ask before the deploy pipeline runs", category="team habit")
    for narrowed in ({"scope": "global"}, {"category": "Team habit"}):
        found = alex("recall", query="deploy pipeline runs", **narrowed)
        assert values(found) == ["Ask before the deploy pipeline runs"]
        assert found["count"] == 1


def test_kinds_that_are_configured_to_come_on_demand_are_in_no_list():
    world = World(home=Scope("project", PROJECT), policy=Policy(kinds=extended({"diary": {"recall": "on_demand"}})))
    world.agent.remember("It rained on the office plants", kind="diary")
    alex = Talk(PROFILE, world.agent)
    assert alex("list")["memories"] == []
    assert saved(alex, category="diary")["category"] == "diary"
    assert values(alex("list", category="diary")) == ["We deploy on Fridays"]


def test_of_two_rows_with_one_key_everybody_gets_their_own(alex, kim):
    saved(alex, "port", "The port is 8080", scope="project")
    saved(kim, "port", "The port is 9090", scope="project")
    assert [each("get", key="port", scope="project")["memory"]["value"] for each in (alex, kim)] == [
        "The port is 8080",
        "The port is 9090",
    ]
    saved(kim, "host", "The host is db-1", scope="project")
    assert alex("get", key="host", scope="project")["memory"]["value"] == "The host is db-1"


def test_a_list_goes_on_at_its_cursor(alex):
    for number in range(5):
        saved(alex, f"k{number}", f"Value {number} of five")
    seen, cursor = [], ""
    while cursor is not None:
        page = alex("list", limit=2, cursor=cursor)
        seen += values(page)
        cursor = page["nextCursor"]
        assert page["hasMore"] == (cursor is not None)
    assert seen == [f"Value {number} of five" for number in reversed(range(5))]
    assert "nextCursor" in alex.refusal("list", cursor="zzz")


def test_a_recall_says_whether_it_left_something_out(alex):
    for number in range(6):
        saved(alex, f"k{number}", f"Quagga number {number}")
    few, all_of_them = alex("recall", query="quagga"), alex("recall", query="quagga", limit=6)
    assert (few["count"], few["hasMore"]) == (5, True)
    assert (all_of_them["count"], all_of_them["hasMore"]) == (6, False)


def test_other_words_have_the_source_of_who_says_them(alex):
    row = saved(alex, source="crm-bot")
    assert alex("update", id=row["id"], importance=7)["memory"]["source"] == "crm-bot"
    assert alex("update", id=row["id"], value="We deploy daily")["memory"]["source"] == "manual"
    assert saved(alex, value="We deploy hourly", source="auto")["source"] == "auto"


def test_a_row_that_is_not_there_is_told_in_the_words_of_this_profile(alex):
    for tool in ("get", "update", "delete"):
        error = json.loads(alex.refusal(tool, id="nope"))["error"]
        assert (error["code"], error["hint"]) == ("NOT_FOUND", "See what there is with list.")


@pytest.mark.parametrize(
    ("tool", "said"),
    [("save", {"key": "", "value": "v"}), ("save", {"key": "k", "value": " "}), ("recall", {"query": " "})],
)
def test_what_is_empty_is_told_in_the_words_of_this_profile(alex, tool, said):
    error = json.loads(alex.refusal(tool, **said))["error"]
    assert error["code"] == "VALIDATION_ERROR"
    assert "engram" not in error["hint"]


@pytest.mark.parametrize("category", ["Team Habit", "map", "summary", "7 habits", "Überblick", "c" * 65])
def test_a_category_is_any_word_and_comes_back_as_it_was_said(alex, category):
    row = saved(alex, category=category)
    assert row["category"] == category
    assert saved(alex, value="Another value")["id"] == row["id"]


def test_a_curated_category_waits_for_a_person(alex, world):
    answer = alex("save", key="name", value="My name is Alex", category="identity")
    assert answer["outcome"] == "pending"
    assert "engram review" in answer["hint"]
    assert alex("list")["memories"] == []
    world.person.promote(answer["memory"]["id"], confirm=True)
    assert values(alex("list")) == ["My name is Alex"]


def test_a_memory_is_got_by_id_or_by_key_and_scope(alex):
    row = saved(alex)
    saved(alex, value="Of the project", scope="project")
    assert alex("get", id=row["id"])["memory"] == row
    assert alex("get", key="deploy-day")["memory"] == row
    assert alex("get", key="deploy-day", scope="project")["memory"]["value"] == "Of the project"
    assert json.loads(alex.refusal("get"))["error"]["code"] == "VALIDATION_ERROR"
    assert json.loads(alex.refusal("get", key="deploy-day", scope="agent"))["error"]["code"] == "NOT_FOUND"


def test_a_row_that_was_imported_is_got_and_changed_by_the_id_it_had(alex, world, tmp_path):
    rows = [{"id": "row-1", "key": "deploy-day", "value": "We deploy on Fridays", "category": "habit"}]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    world.person.import_(str(tmp_path / "rows.json"), trust=True)
    assert alex("update", id="row-1", value="We deploy on Mondays")["outcome"] == "updated"
    assert alex("get", id="row-1")["memory"]["value"] == "We deploy on Mondays"
    assert json.loads(alex.refusal("get", id="row-2"))["error"]["code"] == "NOT_FOUND"


def test_an_update_changes_what_is_given_and_clears_what_is_empty(alex):
    id = saved(alex, summary="Fridays", tags=["a"], importance=3)["id"]
    row = alex("update", id=id, value="We deploy daily", importance=8, pinned=True, category="habit")["memory"]
    assert [row[name] for name in ("value", "importance", "pinned", "category")] == [
        "We deploy daily",
        8,
        True,
        "habit",
    ]
    assert row["tags"] == ["a"]
    row = alex("update", id=id, tags=[], summary="Daily")["memory"]
    assert (row["tags"], row["summary"]) == ([], "Daily")
    assert alex("update", id=id, summary="")["memory"]["summary"] is None


@pytest.mark.parametrize("category", ["Ops Process", "map", "1st", "idea", "Fact"])
def test_an_update_takes_any_category_and_keeps_it_when_only_the_value_changes(alex, category):
    id = saved(alex, category="Team Rhythm")["id"]
    assert alex("update", id=id, category=category)["memory"]["category"] == category
    assert alex("update", id=id, value="We deploy on Mondays")["memory"]["category"] == category


def test_a_deleted_memory_is_gone_until_a_person_restores_it(alex, world):
    id = saved(alex)["id"]
    answer = alex("delete", id=id)
    assert answer["deleted"] is True
    assert "engram restore mem-0001" in answer["hint"]
    for tool in ("get", "delete"):
        assert json.loads(alex.refusal(tool, id=id))["error"]["code"] == "NOT_FOUND"
    world.person.restore(id)
    assert alex("get", id=id)["memory"]["value"] == "We deploy on Fridays"


def test_a_source_is_kept_and_auto_means_inferred(alex, world):
    assert saved(alex, "a", "One", source="crm-sync")["source"] == "crm-sync"
    assert saved(alex, "c", "Three", source="")["source"] == "manual"
    row = saved(alex, "b", "Two", source="auto")
    assert world.now(row["id"]).origin == "inferred"


def test_a_memory_links_back_to_the_message_and_the_session_that_produced_it(alex):
    links = [{"type": "message", "id": "msg-7"}, {"type": "session", "id": "s-1"}]
    row = saved(alex, sources=links, sessionId="s-1")
    assert (row["sources"], row["sessionId"]) == (links, "s-1")
    assert saved(alex, value="We deploy on Mondays")["sources"] == links  # what was not said stays
    assert alex("get", key="deploy-day")["memory"]["sources"] == links
    again = {"id": row["id"], "sources": [{"type": "message", "id": "msg-9"}]}
    assert alex("update", **again)["memory"]["sources"] == again["sources"]
    assert alex("update", id=row["id"], sources=[])["memory"]["sources"] == []
    for wrong in ({"type": "file", "id": "a.py"}, {"type": "message"}, {"type": "message", "id": "1", "at": "x"}):
        assert "VALIDATION_ERROR" in alex.refusal("save", key="k", value="v", sources=[wrong])


def test_a_row_names_what_is_attached_to_it(world, alex, tmp_path):
    row = saved(alex)
    (tmp_path / "plan.txt").write_text("first this, then that")
    world.person.attach(row["id"], str(tmp_path / "plan.txt"))
    (asset,) = alex("get", id=row["id"])["memory"]["assets"]
    assert asset | {"id": ""} == {"id": "", "name": "plan.txt", "mediaType": "text/plain", "size": 21}


def test_an_insight_is_saved_apart_and_comes_up_in_no_recall(alex, kim, world):
    kept = alex(
        "save_learning_insight", category="Communication style", insight="Likes short answers", confidence=0.7
    )
    assert kept["insight"] | {"id": ""} == {
        "id": "",
        "category": "communication_style",
        "insight": "Likes short answers",
        "source": "conversation",
        "confidence": 0.7,
        "createdAt": "2026-01-01T00:00:00.000000Z",
    }
    assert (values(alex("recall", query="short answers")), values(alex("list"))) == ([], [])
    assert [one.text for one in world.person.insights_list().memories] == ["Likes short answers"]
    assert kim.memory.insights_list().memories == ()


def test_an_insight_of_no_category_or_switched_off_is_refused_with_a_code(alex):
    assert json.loads(alex.refusal("save_learning_insight", category="gossip", insight="x"))["error"]["code"] == (
        "VALIDATION_ERROR"
    )
    off = Talk(PROFILE, World(policy=Policy(insights=False)).agent)
    said = off.refusal("save_learning_insight", category="tools", insight="Uses vim")
    assert json.loads(said)["error"]["code"] == "FORBIDDEN"


@pytest.mark.parametrize(
    "said",
    [
        {"key": " "},
        {"value": " "},
        {"importance": 11},
        {"expiresAt": "soon"},
        {"source": "s" * 129},
        {"key": "k" * 121},
    ],
)
def test_what_cannot_be_saved_is_refused_with_a_code(alex, said):
    error = json.loads(alex.refusal("save", **({"key": "k", "value": "v"} | said)))["error"]
    assert error["code"] == "VALIDATION_ERROR"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"value": "x" * 65_537}, "value is 65,537 bytes"),
        ({"value": "a\0b"}, "value contains the control character"),
        ({"sources": [{"type": "message", "id": "m" * 1025}]}, "the id of a source is 1,025 bytes"),
        ({"scope": "project", "projectId": "a@b"}, "projectId cannot be 'a@b'."),
        ({"scope": "agent", "agentId": " a"}, "agentId cannot be ' a'."),
    ],
)
def test_what_is_wrong_is_called_by_the_name_it_was_given_under(alex, said, words):
    error = json.loads(alex.refusal("save", **({"key": "k", "value": "v"} | said)))["error"]
    assert error["code"] == "VALIDATION_ERROR"
    assert words in error["message"]


def test_a_working_day_over_mcp(tmp_path):
    clock = Clock()

    async def day(client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(tools) == ["save", "recall", "list", "get", "update", "delete", "save_learning_insight"]
        assert tools["recall"].input_schema["properties"]["limit"]["default"] == 5
        assert tools["save"].input_schema["properties"]["dedupe"]["enum"] == ["update", "create"]

        first = await ask(client, "save", key="deploy-day", value="We deploy on Fridays")
        second = await ask(client, "save", key="deploy-day", value="We deploy on Thursdays")
        assert second["memory"]["id"] == first["memory"]["id"]
        third = await ask(client, "save", key="deploy-day", value="We also deploy hotfixes", dedupe="create")
        assert third["memory"]["id"] != first["memory"]["id"]

        end = "2026-01-02T01:00:00+01:00"
        await ask(client, "save", key="freeze", value="We deploy nothing until Monday", expiresAt=end)
        await ask(client, "save", key="who", value="We deploy in pairs", pinned=True, importance=9)
        found = (await ask(client, "recall", query="we deploy"))["memories"]
        assert [row["key"] for row in found][-2:] == ["who", "freeze"]  # the others say it in their key as well
        clock.now = START.replace(day=2)
        assert "freeze" not in [row["key"] for row in (await ask(client, "list"))["memories"]]
        assert "freeze" not in [row["key"] for row in (await ask(client, "recall", query="we deploy"))["memories"]]

        await ask(client, "update", id=first["memory"]["id"], pinned=True)
        await ask(client, "delete", id=third["memory"]["id"])
        error = json.loads(await refusal(client, "get", id=third["memory"]["id"]))["error"]
        assert error["code"] == "NOT_FOUND"
        assert "importance" in await refusal(client, "save", key="k", value="v", importance="high")
        assert "value is missing" in await refusal(client, "save", key="k")

    over_mcp(PROFILE, [opened(tmp_path, "ada", project=PROJECT, clock=clock)], day)
