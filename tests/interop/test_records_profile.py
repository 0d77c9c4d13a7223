"""The profile `records`: its arguments, limits, keys, values and errors, over our operations."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.strategies import scopes
from engram.interop import records_ending
from engram.interop.records import PROFILE
from engram.interop.records_rows import label_of, place_of
from engram.model.caller import Caller
from engram.model.scope import Scope
from engram.operations.base import MOST_AT_ONCE
from interop.talking import Talk, ask, opened, over_mcp, refusal, told
from rules.world import World, memory

SCOPE = "eval-2026-05:project:selfhosted-cluster"
DISCOVERY = "discovery:repo:acme"
CITED = [{"kind": "file", "ref": "src/api.py", "locator": "200-240", "pin": "abc123", "excerpt": "def route"}]
KEYS = (
    *("id", "content", "scope", "repo", "workspace", "worktree_path", "base_dir", "source", "category", "tags"),
    *("actor", "owner", "visibility", "created_at"),
)
KIM = Caller(owner="kim", actor="kim@example.org", agent="codex", human=False)
NOBODY = Caller(owner="robin", agent="codex", human=False)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def alex(world: World) -> Talk:
    return Talk(PROFILE, world.agent)


@pytest.fixture
def kim(world: World) -> Talk:
    return Talk(PROFILE, world.as_(KIM))


def stored(talk: Talk, content: str = "We deploy on Fridays", **said: object) -> str:
    wanted = {"content": content, "scope": SCOPE, "source": "user-said", "category": "decision"} | said
    return talk("store_memory", **wanted)["id"]


def discovered(talk: Talk, content: str = "The router dispatches by a table", **said: object) -> str:
    wanted = {"content": content, "kind": "map", "scope": DISCOVERY, "citations": CITED} | said
    return talk("store_discovery", **wanted)["id"]


# labels

PARTS = st.sampled_from(
    [*("repo", "project", "global", "agent", "session", "records", "discovery", "rule"), *"xü%@/: ", "%40", "ws"]
)
LABELS = st.one_of(
    st.lists(PARTS, min_size=1, max_size=6).map("".join),
    st.lists(PARTS, min_size=1, max_size=5).map(":".join),
    st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=20),
).filter(lambda label: label not in ("discovery:", "rule:"))


@given(LABELS)
def test_every_label_comes_back_as_it_was_spelled(label):
    place = place_of(label)
    kind = next(iter(place.kinds), "decision")
    assert label_of(memory(scope=place.scope, kind=kind)) == label
    assert Scope.parse(str(place.scope)) == place.scope


@given(scopes())
def test_every_scope_of_ours_has_a_label_that_leads_back_to_it(scope):
    assert place_of(label_of(memory(scope=scope, kind="decision"))).scope == scope


@pytest.mark.parametrize(
    ("label", "scope"),
    [
        (SCOPE, "project:selfhosted-cluster@eval-2026-05"),
        ("repo:github.com/acme/api", "project:github.com/acme/api"),
        ("discovery:repo:acme", "project:acme"),
        ("rule:repo:acme", "project:acme"),
        ("nightly:global", "global@nightly"),
        ("nightly:agent:bot", "project:nightly:agent:bot@records"),
        ("nightly:session:s9", "project:nightly:session:s9@records"),
        ("agent:bot@nightly", "agent:bot@nightly"),
        ("global", "global"),
        ("agent:reviewer", "agent:reviewer"),
        ("team/project:api", "team/project:api"),
        ("repo:acme:ws:feature", "project:acme:ws:feature"),
        ("project:acme", "project:project:acme@records"),
        ("just words", "project:just words@records"),
        ("a@b 100%", "project:a%40b 100%25@records"),
    ],
)
def test_labels_mean_the_scopes_they_speak_of(label, scope):
    assert str(place_of(label).scope) == scope


# storing and reading


def test_a_record_has_the_keys_of_the_page_in_their_order(alex):
    said = {"repo": "acme", "workspace": "ws", "worktree_path": "/w", "base_dir": "/b", "tags": ["release"]}
    row = alex("get_memory", id=stored(alex, **said))
    assert tuple(row)[: len(KEYS)] == KEYS
    assert row["content"] == "We deploy on Fridays"
    assert row["scope"] == SCOPE
    assert [row[name] for name in ("repo", "workspace", "worktree_path", "base_dir")] == ["acme", "ws", "/w", "/b"]
    assert (row["source"], row["category"], row["tags"]) == ("user-said", "decision", ["release"])
    assert (row["actor"], row["owner"], row["visibility"]) == ("alex@example.org", "alex", "")
    assert row["created_at"] == "2026-01-01T00:00:00.000000Z"
    assert row["short_id"] == "mem-0001"


def test_a_short_id_names_a_record_as_well(alex):
    id = stored(alex)
    assert alex("get_memory", id="mem-0001")["id"] == id


def test_a_record_that_was_imported_is_named_by_the_id_it_had(alex, kim, world, tmp_path):
    id = "6D0D0B1C-0000-4000-8000-000000000001"
    row = {**STORE, "id": id.lower(), "visibility": "shared", "created_at": "2026-01-01T00:00:00Z"}
    (tmp_path / "records.json").write_text(json.dumps([row]))
    world.person.import_(str(tmp_path / "records.json"), trust=True)
    alex("update_memory", id=id, content="We deploy on Mondays")
    assert kim("get_memory", id=id)["content"] == "We deploy on Mondays"
    found = {"content": "Hacked", "kind": "map", "scope": DISCOVERY, "citations": CITED, "id": id}
    assert kim.refusal("store_discovery", **found).startswith("field=id hint=not_found")


def test_a_writing_tool_confirms_in_a_sentence_with_the_ids(alex):
    answer = alex.answer("store_memory", content="x y", scope=SCOPE, source="user-said", category="gotcha")
    assert answer.text == f"Stored: id={answer.structured['id']} short_id=mem-0001."


def test_a_reading_tool_says_the_same_in_words_and_in_structure(alex):
    stored(alex)
    answer = alex.answer("list_memory", scope=SCOPE)
    assert json.loads(answer.text) == answer.structured


def test_what_was_inferred_comes_back_as_inferred(alex):
    assert alex("get_memory", id=stored(alex, source="agent-inferred"))["source"] == "agent-inferred"


def test_a_search_is_compact_unless_it_is_full(alex):
    stored(alex, "deploy " + "x" * 400)
    (row,) = alex("search_memory", query="deploy", scope=SCOPE)["memories"]
    assert "content" not in row
    assert row["summary"] == ("deploy " + "x" * 400)[:280] + "…"
    assert row["truncated"] is True
    (whole,) = alex("search_memory", query="deploy", scope=SCOPE, full=True)["memories"]
    assert tuple(whole)[: len(KEYS)] == KEYS
    assert 0 < whole["score"] <= 1


def test_a_search_stays_within_its_scope_and_finds_all_of_them_when_asked(alex):
    stored(alex)
    stored(alex, "We deploy by hand", scope="repo:selfhosted-cluster")
    stored(alex, "Deploys are announced", scope="plain words")

    def found(**where: object) -> set[str]:
        return {row["scope"] for row in alex("search_memory", query="deploy", **where)["memories"]}

    assert found(scope="repo:selfhosted-cluster") == {"repo:selfhosted-cluster"}  # not its run
    assert found(scope="plain words") == {"plain words"}
    everywhere = {SCOPE, "repo:selfhosted-cluster", "plain words"}
    assert found(cross_spine=True) == everywhere
    answer = alex("search_memory", query="deploy", cross_spine=True)
    assert set(answer["searched_scopes"]) == everywhere
    assert answer["scopes_truncated"] is False


def test_a_label_is_no_short_name_of_other_projects(alex):
    for repo in ("github.com/acme/api", "example.org/kim/api"):
        stored(alex, scope=f"repo:{repo}")
        assert alex("list_memory", scope="repo:api")["memories"] == []
        assert alex("search_memory", query="deploy", scope="repo:api")["memories"] == []


def test_tags_must_all_be_there_and_any_category_will_do(alex):
    stored(alex, "Deploy one", tags=["a", "b"])
    stored(alex, "Deploy two", tags=["a"], category="gotcha")

    def found(**said: object) -> list[str]:
        rows = alex("search_memory", query="deploy", scope=SCOPE, **said)["memories"]
        return sorted(row["summary"] for row in rows)

    assert found(tags=["a", ""]) == ["Deploy one", "Deploy two"]
    assert found(tags=["a", "b"]) == ["Deploy one"]
    assert found(categories=["gotcha", "preference"]) == ["Deploy two"]
    assert found(categories=["nonsense"]) == []


def test_a_window_of_creation_includes_its_beginning_and_not_its_end(world, alex):
    stored(alex, "First")
    world.clock.pass_by(days=1)
    stored(alex, "Second")

    def found(**said: object) -> list[str]:
        return [row["summary"] for row in alex("list_memory", scope=SCOPE, **said)["memories"]]

    assert found(created_after="2026-01-02T00:00:00Z") == ["Second"]
    assert found(created_before="2026-01-02T00:00:00Z") == ["First"]


def test_a_list_goes_on_at_its_cursor_without_repeating_or_skipping(world, alex):
    for number in range(7):
        stored(alex, f"Decision number {number} of many")
        discovered(alex, f"Discovery number {number}", scope="discovery:" + SCOPE)
        world.clock.pass_by(seconds=number % 2)
    seen, cursor = [], ""
    while True:
        page = alex("list_memory", scope=SCOPE, limit=3, cursor=cursor)
        seen += [row["summary"] for row in page["memories"]]
        if not (cursor := page["next_cursor"]):
            break
    assert seen == [f"Decision number {number} of many" for number in reversed(range(7))]
    for tool in ("list_memory", "list_scheduled"):
        assert alex.refusal(tool, scope=SCOPE, cursor="zzz").startswith("field=cursor hint=format")


def test_a_search_says_how_many_are_hidden_by_where_they_are_in_their_lives(alex):
    alex("schedule_memory", **(STORE | {"content": "Deploy later"}), not_before="2026-02-01")
    alex("archive_memory", ids=[stored(alex)])
    answer = alex("search_memory", query="deploy", scope=SCOPE)
    assert answer["memories"] == []
    hidden = answer["recall_gate_hidden"]
    assert hidden == {
        "total": 1,
        "archived": 0,
        "superseded": 0,
        "expired": 0,
        "scheduled": 1,
    }  # archived is silent


def test_more_than_one_search_can_give_is_accepted_and_said(alex):
    stored(alex)
    answer = alex("search_memory", query="deploy", scope=SCOPE, k=1000)
    assert len(answer["memories"]) == 1
    assert "50" in answer["note"]


# checks, in their order

STORE = {"content": "words", "scope": SCOPE, "source": "user-said", "category": "decision"}
WRONG = {
    "summary": ("s" * 513, "too_long"),
    "content": ("", "required"),
    "scope": ("", "required"),
    "source": ("someone", "enum"),
    "category": ("opinion", "enum"),
    "tags": (["t"] * 129, "too_many"),
    "citations": ([{"kind": "file", "ref": "a"}] * 51, "too_many"),
}


@pytest.mark.parametrize("count", range(len(WRONG)))
def test_the_first_wrong_field_is_the_one_that_is_named(alex, count):
    wrong = dict(list(WRONG.items())[count:])
    field, (_, code) = next(iter(wrong.items()))
    said = STORE | {name: value for name, (value, _) in wrong.items()}
    assert alex.refusal("store_memory", **said).startswith(f"field={field} hint={code}: ")


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"content": "x" * 65_537}, "field=content hint=too_long: content is 65537 bytes; the limit is 65536"),
        ({"content": " "}, "field=content hint=required: content is required"),
        ({"source": ""}, "field=source hint=required: source is required"),
        ({"category": ""}, "field=category hint=required: category is required"),
        ({"tags": ["t" * 129]}, "field=tags hint=too_long: tags is 129 bytes; the limit is 128"),
        ({"citations": [{"kind": "book", "ref": "a"}]}, "field=citations.kind hint=enum: "),
        ({"citations": [{"kind": "file"}]}, "field=citations.ref hint=required: "),
        (
            {"citations": [{"kind": "file", "ref": "a", "excerpt": "e" * 16_385}]},
            "field=citations.excerpt hint=too",
        ),
        ({"citations": [{"kind": "file", "ref": "a", "page": "9"}]}, "field=citations hint=format: "),
        ({"scope": "discovery:repo:x"}, "field=scope hint=prefix: "),
        ({"scope": "rule:repo:x"}, "field=scope hint=prefix: "),
        ({"scope": "s" * 257}, "field=scope hint=too_long: "),
        ({"scope": "a\nb"}, "field=scope hint=format: "),
        ({"summary": "one\ntwo"}, "field=summary hint=format: summary must be a single line"),
        ({"repo": "r" * 1025}, "field=repo hint=too_long: "),
        ({"idempotency_key": "k" * 513}, "field=idempotency_key hint=too_long: "),
    ],
)
def test_what_cannot_be_stored_is_refused_by_field_and_code(alex, said, error):
    assert alex.refusal("store_memory", **(STORE | said)).startswith(error)


def test_the_category_discovery_is_refused_with_the_tool_to_use(alex):
    error = alex.refusal("store_memory", **(STORE | {"category": "discovery"}))
    assert error.startswith("field=category hint=enum: ")
    assert "store_discovery" in error


@pytest.mark.parametrize(
    ("tool", "said", "error"),
    [
        ("search_memory", {"query": "", "scope": SCOPE}, "field=query hint=required"),
        ("search_memory", {"query": "q"}, "field=scope hint=conditional_required"),
        (
            *("search_memory", {"query": "q", "scope": SCOPE, "cross_spine": True}),
            "field=scope,cross_spine hint=mutually_exclusive",
        ),
        ("search_memory", {"query": "q", "scope": SCOPE, "k": 0}, "field=k hint=out_of_range"),
        ("search_memory", {"query": "q", "scope": SCOPE, "k": 1001}, "field=k hint=out_of_range"),
        ("list_memory", {"scope": SCOPE, "limit": 1001}, "field=limit hint=out_of_range"),
        ("list_memory", {"scope": SCOPE, "created_after": "soon"}, "field=created_after hint=format"),
        ("search_discovery", {"query": "q", "scope": "repo:x"}, "field=scope hint=prefix"),
        ("search_discovery", {"query": "q", "scope": DISCOVERY, "kind": "idea"}, "field=kind hint=enum"),
        ("list_scheduled", {"scope": SCOPE, "state": "soon"}, "field=state hint=enum"),
        ("get_memory", {}, "field=id hint=required"),
        ("get_memory", {"id": "mem-0099"}, "field=id hint=not_found: There is no record mem-0099."),
        ("archive_memory", {}, "field=ids hint=required"),
        ("archive_memory", {"ids": ["x"] * 1001}, "field=ids hint=too_many"),
        ("list_rules", {"scopes": ["repo:x"]}, "field=scopes hint=prefix"),
        ("delete_all", {}, "field=scope hint=required"),
        ("list_memory", {"scope": "discovery:"}, "field=scope hint=format"),
    ],
)
def test_what_cannot_be_asked_is_refused_by_field_and_code(alex, tool, said, error):
    assert alex.refusal(tool, **said).startswith(error)


# keys that name a request


def test_a_retry_with_the_same_key_returns_the_first_record(alex, world):
    first = stored(alex, idempotency_key="k" * 512)
    before = len(world.events())
    assert stored(alex, idempotency_key="k" * 512) == first
    assert len(world.events()) == before


def test_the_same_key_for_another_record_is_refused(alex):
    stored(alex, idempotency_key="k")
    error = alex.refusal("store_memory", **(STORE | {"idempotency_key": "k"}))
    assert error.startswith("field=idempotency_key hint=conflict: ")


def test_a_key_names_one_request_for_each_scope(alex):
    assert stored(alex, idempotency_key="k") != stored(alex, idempotency_key="k", scope="repo:other")


# who may do what


def test_others_read_what_is_shared_and_never_write_it(alex, kim):
    id = stored(alex)
    absent = kim.refusal("get_memory", id="mem-0099").replace("mem-0099", id)
    assert kim.refusal("get_memory", id=id) == absent
    alex("set_visibility", id=id, shared=True)
    assert kim("get_memory", id=id)["visibility"] == "shared"
    for tool, said in (
        ("update_memory", {"content": "mine now"}),
        ("delete_memory", {}),
        ("set_visibility", {"shared": False}),
    ):
        assert kim.refusal(tool, id=id, **said) == absent
    assert kim("archive_memory", ids=[id])["results"] == [{"input": id, "id": "", "outcome": "not_found"}]
    assert "Deleted 0" in kim.answer("delete_all", scope=SCOPE).text
    alex("set_visibility", id=id, shared=False)
    assert kim.refusal("get_memory", id=id) == absent


@pytest.mark.parametrize("label", [SCOPE, "repo:acme", "nightly:agent:bot", "nightly:session:s9", "just words"])
def test_what_is_shared_is_read_by_everybody_whatever_its_tier(alex, kim, label):
    id = stored(alex, scope=label)
    assert alex.answer("set_visibility", id=id, shared=True).text == "mem-0001 is shared: others can read it now."
    assert [row["id"] for row in kim("list_memory", scope=label)["memories"]] == [id]


def test_who_reads_what_is_shared_in_a_scope_of_ours_is_told(alex, kim):
    for label, readers in (("agent:bot", "sessions of that agent"), ("session:s9", "not read by others")):
        id = stored(alex, scope=label)
        assert readers in alex.answer("set_visibility", id=id, shared=True).text
        assert "hint=not_found" in kim.refusal("get_memory", id=id)


def test_a_label_means_a_scope_of_the_workspace_its_caller_stands_in(world):
    red, blue = (Talk(PROFILE, world.as_(KIM._replace(workspace=name))) for name in ("red", "blue"))
    for label in (SCOPE, "repo:acme", "global", "just words"):
        id = stored(red, scope=label)
        assert red("get_memory", id=id)["scope"] == label
        for tool, said in (("list_memory", {}), ("search_memory", {"query": "deploy"})):
            (row,) = red(tool, scope=label, **said)["memories"]
            assert (row["id"], row["scope"]) == (id, label)
            assert blue(tool, scope=label, **said)["memories"] == []
        assert "hint=not_found" in blue.refusal("get_memory", id=id)
    found = discovered(red)
    assert [row["id"] for row in red("search_discovery", query="router", scope=DISCOVERY)["memories"]] == [found]
    assert SCOPE in red("search_memory", query="deploy", cross_spine=True)["searched_scopes"]
    assert "hint=forbidden" in red.refusal("store_memory", **STORE | {"scope": "blue/project:acme"})
    newer = red("supersede_memory", **STORE | {"content": "We deploy daily"}, supersedes=[stored(red)])["id"]
    assert [row["id"] for row in red("list_memory", scope=SCOPE)["memories"]] == [newer]
    assert "Deleted 2" in red.answer("delete_all", scope=SCOPE).text


def test_anothers_shared_discovery_is_not_replaced_by_one_that_goes_by_its_id(tmp_path):
    alex, kim = (Talk(PROFILE, opened(tmp_path, name)) for name in ("alex", "kim"))
    id = discovered(alex)
    alex("set_visibility", id=id, shared=True)
    wanted = {"content": "Hacked", "kind": "map", "scope": DISCOVERY, "citations": CITED, "id": id}
    assert kim.refusal("store_discovery", **wanted).startswith("field=id hint=not_found")
    for one in (alex, kim):
        one.memory.close()


def test_what_its_owner_deleted_or_archived_is_gone_for_others(alex, kim):
    for tool, said in (("delete_memory", "id"), ("archive_memory", "ids")):
        id = stored(alex, f"Shared, then gone by {tool}")
        alex("set_visibility", id=id, shared=True)
        alex.answer(tool, **{said: id if said == "id" else [id]})
        assert "hint=not_found" in kim.refusal("get_memory", id=id)


def test_visibility_must_be_said(alex):
    id = stored(alex)
    assert alex.refusal("set_visibility", id=id).startswith("field=shared hint=required")


def test_scheduled_records_are_listed_for_their_owner_alone(alex, kim):
    id = alex("schedule_memory", **STORE, not_before="2026-02-01T00:00:00Z")["id"]
    alex("set_visibility", id=id, shared=True)
    assert kim("list_scheduled", scope=SCOPE)["memories"] == []
    assert [row["id"] for row in alex("list_scheduled", scope=SCOPE)["memories"]] == [id]


# changing


def test_an_update_replaces_content_tags_and_visibility(alex):
    id = stored(alex, tags=["a"])
    alex("update_memory", id=id, content="We deploy daily", tags=["b"], shared=True)
    row = alex("get_memory", id=id)
    assert (row["content"], row["tags"], row["visibility"]) == ("We deploy daily", ["b"], "shared")
    alex("update_memory", id=id, content="We deploy daily", tags=[])
    assert alex("get_memory", id=id)["tags"] == []


def test_an_update_leaves_where_a_record_belongs(alex):
    where = {"repo": "acme", "workspace": "ws", "worktree_path": "/w", "base_dir": "/b"}
    id = stored(alex, **where)
    alex("update_memory", id=id, content="We deploy on Mondays", tags=["x"])
    after = alex("get_memory", id=id)
    assert after["content"] == "We deploy on Mondays"
    assert {name: after[name] for name in where} == where


def test_an_update_without_content_leaves_it_as_it_is(alex):
    id = stored(alex, summary="Friday deploys")
    alex("update_memory", id=id, tags=["week"])
    alex("update_memory", id=id, shared=True)
    alex("update_memory", id=id, summary="Deploys on Fridays")
    row = alex("get_memory", id=id)
    assert (row["content"], row["source"]) == ("We deploy on Fridays", "user-said")
    assert (row["tags"], row["visibility"], row["summary"]) == (["week"], "shared", "Deploys on Fridays")
    assert alex.refusal("update_memory", id=id) == "field=content hint=required: content is required"
    assert alex.refusal("update_memory", id=id, summary="s" * 513).startswith("field=summary hint=too_long")


def test_other_words_are_those_of_whoever_says_them(alex):
    id = stored(alex, source="user-said")
    alex("update_memory", id=id, content="We deploy daily")
    assert alex("get_memory", id=id)["source"] == "agent-inferred"
    assert alex.memory.get(id).memories[0].source == "tool:update_memory"


def test_new_content_needs_a_word_about_the_old_summary(alex):
    id = stored(alex, summary="Friday deploys")
    error = alex.refusal("update_memory", id=id, content="We deploy daily")
    assert error.startswith("field=summary hint=conditional_required")
    alex("update_memory", id=id, content="We deploy daily", summary="")
    assert "summary" not in alex("get_memory", id=id)
    alex("update_memory", id=id, content="We deploy daily", summary="Daily")
    assert alex("get_memory", id=id)["summary"] == "Daily"


def test_a_deleted_record_is_gone_from_every_read_and_can_be_restored(alex):
    id = stored(alex)
    told = alex.answer("delete_memory", id=id).text
    assert "restore_memory" in told
    assert "a person erases it" in told
    assert "hint=not_found" in alex.refusal("get_memory", id=id)
    assert alex("list_memory", scope=SCOPE)["memories"] == []
    assert "hint=not_found" in alex.refusal("delete_memory", id=id)
    assert [row["outcome"] for row in alex("archive_memory", ids=[id])["results"]] == ["already_archived"]
    assert [row["outcome"] for row in alex("restore_memory", ids=[id])["results"]] == ["restored"]
    assert alex("get_memory", id=id)["content"] == "We deploy on Fridays"


def test_archiving_tells_the_outcome_of_each_id_in_order(alex):
    id = stored(alex)
    rows = alex("archive_memory", ids=[id, "mem-0099", id])["results"]
    assert [(row["id"], row["outcome"]) for row in rows] == [
        (id, "archived"),
        ("", "not_found"),
        (id, "already_archived"),
    ]
    assert "hint=not_found" in alex.refusal("get_memory", id=id)
    rows = alex("restore_memory", ids=[id, id])["results"]
    assert [row["outcome"] for row in rows] == ["restored", "not_archived"]


def test_deleting_a_scope_takes_the_callers_own_of_that_label_only(alex, kim):
    stored(alex, scope="repo:acme")
    kims = stored(kim, "Kim's own", scope="repo:acme")
    kept = [stored(alex, "Of a run", scope="r:project:acme"), discovered(alex)]
    assert "Deleted 1" in alex.answer("delete_all", scope="repo:acme").text
    assert kim("get_memory", id=kims)["content"] == "Kim's own"
    assert all(alex("get_memory", id=id) for id in kept)
    assert "Deleted 1" in alex.answer("delete_all", scope=DISCOVERY).text


def test_a_scope_without_a_persons_records_is_emptied_in_one_step(alex, world):
    for number in range(5):
        stored(alex, f"Fact number {'x' * number}", scope="repo:acme")
    before = len(world.events())
    assert "Deleted 5" in alex.answer("delete_all", scope="repo:acme").text
    assert len(world.events()) == before + 1


def test_a_scope_with_more_records_than_one_step_takes_is_emptied_in_several(alex, world, monkeypatch):
    assert records_ending.AT_ONCE <= MOST_AT_ONCE
    monkeypatch.setattr(records_ending, "AT_ONCE", 4)
    for number in range(9):
        stored(alex, f"Fact number {'x' * number}", scope="repo:acme")
    before = len(world.events())
    assert "Deleted 9" in alex.answer("delete_all", scope="repo:acme").text
    assert alex("list_memory", scope="repo:acme")["memories"] == []
    assert len(world.events()) == before + 3


def test_emptying_a_scope_takes_what_was_superseded_with_what_superseded_it(alex):
    first = stored(alex)
    second = alex("supersede_memory", **STORE | {"content": "We deploy daily"}, supersedes=[first])["id"]
    third = alex("supersede_memory", **STORE | {"content": "We deploy hourly"}, supersedes=[second])["id"]
    assert alex.answer("delete_all", scope=SCOPE).text.startswith("Deleted 3 of your records.")
    assert alex("list_memory", scope=SCOPE)["memories"] == []
    for id in (first, second, third):
        assert "hint=not_found" in alex.refusal("get_memory", id=id)


def test_emptying_a_scope_spares_what_a_person_approved(alex, world):
    for number in range(6):
        stored(alex, f"Fact number {'x' * number}", scope="repo:acme")
    world.person.remember("My name is Ada", kind="identity", scope="project:acme", confirm=True)
    told = alex.answer("delete_all", scope="repo:acme").text
    assert told.startswith("Deleted 6 ")
    assert "1 approved by a person stay" in told
    world.agent.remember("Read on a page", source="web:https://example.org", scope="project:acme")
    told = alex.answer("delete_all", scope="repo:acme").text
    assert told.endswith("1 that nobody vouches for stay until a person has decided.")
    assert [row["category"] for row in alex("list_memory", scope="repo:acme")["memories"]] == ["identity"]


# superseding


def test_a_record_takes_the_place_of_others(alex):
    old = [stored(alex), stored(alex, "Releases need two approvals")]
    new = alex("supersede_memory", **(STORE | {"content": "A bot releases"}), supersedes=[*old, "mem-0001"])
    assert new["supersedes"] == old
    assert [row["id"] for row in alex("list_memory", scope=SCOPE)["memories"]] == [new["id"]]
    assert alex("get_memory", id=old[0])["superseded_by"] == new["id"]
    assert sorted(alex("get_memory", id=new["id"])["supersedes"]) == sorted(old)
    assert "supersedes" not in alex("get_memory", id=old[0])
    related = alex("related_memories", id=new["id"])
    assert related["anchor"]["id"] == new["id"]
    assert {row["memory"]["id"] for row in related["related"] if "supersedes" in row["edges"]} == set(old)
    hidden = alex("search_memory", query="deploy", scope=SCOPE)["recall_gate_hidden"]
    assert hidden["superseded"] == 1


def test_what_contradicts_the_record_it_supersedes_takes_its_place_in_one_step(alex, world):
    old = stored(alex, "The service listens on port 5433")
    before = len(world.events())
    said = STORE | {"content": "The service listens on port 5434", "supersedes": [old]}
    answer = alex.answer("supersede_memory", **said)
    assert answer.text.endswith("Superseded 1.")
    assert [row["id"] for row in alex("list_memory", scope=SCOPE)["memories"]] == [answer.structured["id"]]
    assert alex("get_memory", id=old)["superseded_by"] == answer.structured["id"]
    assert len(world.events()) == before + 1
    world.person.undo()
    assert [row["id"] for row in alex("list_memory", scope=SCOPE)["memories"]] == [old]


def test_what_contradicts_another_record_waits_for_a_person_and_then_takes_the_place(alex, world):
    old = stored(alex, "Releases need two approvals")
    stored(alex, "The service listens on port 5433")
    said = STORE | {"content": "The service listens on port 5434", "supersedes": [old]}
    answer = alex.answer("supersede_memory", **said)
    assert "It contradicts mem-0002. It waits for a person (conflict)" in answer.text
    assert "1 of what it supersedes stay in use" in answer.text
    assert "superseded_by" not in alex("get_memory", id=old)
    world.person.promote(answer.structured["id"])
    assert alex("get_memory", id=old)["superseded_by"] == answer.structured["id"]


def test_what_a_person_approved_is_not_superseded_by_an_agent(alex, world):
    kept = world.person.remember("My name is Ada", kind="identity", scope="global", confirm=True).memory
    said = STORE | {"content": "A bot releases", "supersedes": [kept.id]}
    assert "stay in use until a person has decided" in alex.answer("supersede_memory", **said).text
    assert "superseded_by" not in alex("get_memory", id=kept.id)


def test_superseding_again_with_the_same_words_is_counted_and_changes_nothing_else(alex, world):
    old = stored(alex)
    said = STORE | {"content": "A bot releases", "supersedes": [old]}
    first = alex("supersede_memory", **said)
    before = len(world.events())
    assert alex("supersede_memory", **said) == first
    (event,) = world.events()[before:]
    assert [(edit.id, edit.field) for edit in event.payload.edits] == [(first["id"], "seen")]


def test_a_trial_of_superseding_only_says_what_it_would_do(alex, world):
    old = stored(alex)
    before = len(world.events())
    answer = alex("supersede_memory", **STORE, supersedes=["mem-0001"], validate_only=True)
    assert answer["validated"] is True
    assert answer["supersedes"] == [old]
    assert len(world.events()) == before


def test_superseding_names_all_that_are_missing_before_anything_else(alex, kim):
    theirs = stored(kim)
    kim("set_visibility", id=theirs, shared=True)
    error = alex.refusal("supersede_memory", **STORE, supersedes=["mem-0098", theirs, "mem-0099"])
    assert error == f"field=supersedes hint=not_found: There is no record mem-0098, {theirs}, mem-0099."
    assert alex.refusal("supersede_memory", **STORE).startswith("field=supersedes hint=required")


def test_what_is_superseded_already_cannot_be_superseded_by_something_else(alex):
    old = stored(alex)
    alex("supersede_memory", **(STORE | {"content": "A bot releases"}), supersedes=[old])
    error = alex.refusal("supersede_memory", **(STORE | {"content": "Nobody releases"}), supersedes=[old])
    assert error.startswith("field=supersedes hint=not_applicable")


def test_a_record_cannot_supersede_what_says_the_same(alex):
    old = stored(alex)
    said = STORE | {"content": "we deploy on fridays"}
    assert alex.refusal("supersede_memory", **said, supersedes=[old]).startswith(
        "field=content hint=not_applicable"
    )


# discoveries


def test_a_discovery_has_kind_citations_and_summary(alex):
    row = alex("get_memory", id=discovered(alex, summary="Routing"))
    assert (row["category"], row["source"], row["kind"]) == ("discovery", "agent-inferred", "map")
    assert row["citations"] == CITED
    assert row["summary"] == "Routing"
    assert row["scope"] == DISCOVERY


def test_a_checkable_claim_is_a_fact_to_them_and_a_finding_to_us(alex, world):
    id = discovered(alex, kind="fact")
    assert alex("get_memory", id=id)["kind"] == "fact"
    assert world.now(id).kind == "finding"


def test_discoveries_are_found_on_demand_and_are_never_in_lists(alex):
    id = discovered(alex)
    for said in ({"scope": DISCOVERY}, {"scope": "repo:acme"}, {"cross_spine": True}):
        assert alex("list_memory", **said)["memories"] == []
        assert alex("search_memory", query="router", **said)["memories"] == []
    asked = {"query": "router", "categories": ["discovery", "map"], "cross_spine": True}
    assert alex("search_memory", **asked)["memories"] == []
    assert "search_discovery" in alex("search_memory", **asked)["note"]
    assert "search_discovery" in alex("list_memory", scope=DISCOVERY)["note"]
    assert "note" not in alex("list_memory", scope="repo:acme")
    for said in ({"scope": DISCOVERY}, {"cross_spine": True}, {"scope": DISCOVERY, "kind": "map"}):
        (row,) = alex("search_discovery", query="router", **said)["memories"]
        assert row["id"] == id
        assert row["citations"] == CITED
    assert alex("search_discovery", query="router", scope=DISCOVERY, kind="fact")["memories"] == []
    assert alex("search_discovery", query="router", scope="discovery:repo:other")["memories"] == []


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"citations": []}, "field=citations hint=required"),
        ({"citations": CITED * 51}, "field=citations hint=too_many"),
        ({"kind": "hunch"}, "field=kind hint=enum: kind must be map or fact"),
        ({"kind": ""}, "field=kind hint=required"),
        ({"scope": "repo:acme"}, "field=scope hint=prefix: scope of a discovery must start with discovery:"),
        ({"content": ""}, "field=content hint=required"),
        ({"id": "mem-0099"}, "field=id hint=not_found"),
    ],
)
def test_a_discovery_without_what_makes_it_one_is_refused(alex, said, error):
    wanted = {"content": "c", "kind": "map", "scope": DISCOVERY, "citations": CITED} | said
    assert alex.refusal("store_discovery", **wanted).startswith(error)


def test_fifty_citations_are_accepted(alex):
    many = [{"kind": "url", "ref": f"https://example.org/{number}"} for number in range(50)]
    assert alex("get_memory", id=discovered(alex, citations=many))["citations"] == many


def test_replacing_a_discovery_keeps_its_id_age_and_visibility(alex, world):
    id = discovered(alex, summary="Old", tags=["a"])
    alex("set_visibility", id=id, shared=True)
    before = alex("get_memory", id=id)
    world.clock.pass_by(days=3)
    cites = [{"kind": "commit", "ref": "deadbeef"}]
    discovered(alex, "The router is generated", id=id, kind="fact", citations=cites)
    after = alex("get_memory", id=id)
    assert (after["content"], after["kind"], after["citations"]) == ("The router is generated", "fact", cites)
    assert (after["tags"], after["summary"]) == ([], "")
    for name in ("created_at", "visibility", "short_id"):
        assert after[name] == before[name]


def test_what_is_replaced_stays_in_its_scope_and_another_is_refused(alex):
    rule = {"content": "Never push", "scope": "rule:repo:acme", "summary": "Never push"}
    id, other = discovered(alex), {"kind": "map", "citations": CITED, "scope": "discovery:repo:web"}
    error = alex.refusal("store_discovery", content="The router is generated", id=id, **other)
    assert error.startswith("field=scope hint=not_applicable: mem-0001 stays in discovery:repo:acme")
    assert alex("get_memory", id=id)["content"] == "The router dispatches by a table"
    held = alex("store_rule", **rule)["id"]
    error = alex.refusal("store_rule", **(rule | {"scope": "rule:project:acme", "id": held}))
    assert error.startswith("field=scope hint=not_applicable: mem-0002 stays in rule:repo:acme")


def test_a_client_may_choose_the_uuid_of_a_discovery(alex, kim):
    chosen = "6D0D0B1C-0000-4000-8000-000000000001"
    first = discovered(alex, id=chosen)
    assert alex("get_memory", id=chosen)["id"] == first
    assert discovered(alex, "The router dispatches by a tree", id=chosen) == first
    assert alex("get_memory", id=chosen)["content"] == "The router dispatches by a tree"
    assert "hint=not_found" in kim.refusal("get_memory", id=chosen)
    alex("set_visibility", id=chosen, shared=True)
    assert kim("get_memory", id=chosen)["id"] == first
    theirs = discovered(kim, id=chosen)
    assert theirs != first, "another's is another one"
    assert [each("get_memory", id=chosen)["id"] for each in (alex, kim)] == [first, theirs]
    alex("archive_memory", ids=[chosen])
    assert "hint=not_found" in alex.refusal("get_memory", id=chosen)


def test_a_short_id_that_is_unknown_cannot_make_a_discovery(alex):
    said = {"content": "x", "kind": "map", "scope": DISCOVERY, "citations": CITED, "id": "mem-0042"}
    assert "hint=not_found" in alex.refusal("store_discovery", **said)


def test_only_a_discovery_is_replaced_by_a_discovery(alex):
    id = stored(alex)
    wanted = {"content": "c", "kind": "map", "scope": DISCOVERY, "citations": CITED, "id": id}
    assert alex.refusal("store_discovery", **wanted).startswith("field=id hint=not_applicable")


# time windows


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({}, "field=not_before,not_after hint=conditional_required"),
        ({"not_before": "2026-03-01", "not_after": "2026-03-01"}, "field=not_before,not_after hint=ordering"),
        ({"not_after": "2025-12-31"}, "field=not_after hint=out_of_range"),
        ({"not_after": "tomorrow"}, "field=not_after hint=format"),
        ({"not_after": "2026-03-01", "category": "discovery"}, "field=category hint=enum"),
    ],
)
def test_a_window_that_makes_no_sense_is_refused(alex, said, error):
    assert alex.refusal("schedule_memory", **(STORE | said)).startswith(error)


def test_a_record_holds_within_its_window_only(alex, world):
    window = {"not_before": "2026-02-01T00:00:00Z", "not_after": "2026-03-01T00:00:00Z"}
    id = alex("schedule_memory", **STORE, **window)["id"]

    def states() -> tuple[int, dict[str, int]]:
        listed = {
            state: len(alex("list_scheduled", scope=SCOPE, state=state)["memories"])
            for state in ("scheduled", "expired", "all")
        }
        return len(alex("list_memory", scope=SCOPE)["memories"]), listed

    assert states() == (0, {"scheduled": 1, "expired": 0, "all": 1})
    world.clock.pass_by(days=40)
    assert states() == (1, {"scheduled": 0, "expired": 0, "all": 1})
    world.clock.pass_by(days=40)
    assert states() == (0, {"scheduled": 0, "expired": 1, "all": 1})
    row = alex("get_memory", id=id)
    assert row["not_before"] == "2026-02-01T00:00:00.000000Z"
    assert row["not_after"] == "2026-03-01T00:00:00.000000Z"


# rules

RULE = {"content": "Never push to main. Open a pull request.", "scope": "rule:repo:acme", "summary": "No pushes"}


def test_a_rule_waits_for_a_person_and_then_holds(alex, kim, world):
    answer = alex.answer("store_rule", **RULE, tags=["git"])
    assert "waits for a person" in answer.text
    assert alex("list_rules") == {"rules": [], "waiting_for_review": 1}
    world.person.promote(answer.structured["id"], confirm=True)
    (row,) = kim("list_rules", scopes=["rule:repo:acme"], tags=["git"])["rules"]
    assert tuple(row) == ("short_id", "id", "summary", "tags", "scope", "created_at")
    assert (row["summary"], row["scope"]) == ("No pushes", "rule:repo:acme")
    (whole,) = kim("list_rules", full=True)["rules"]
    assert (whole["category"], whole["source"], whole["visibility"]) == ("rule", "user-said", "shared")
    assert kim("list_rules", scopes=["rule:repo:other"])["rules"] == []


def test_an_agent_neither_deletes_nor_unshares_a_rule_that_holds(alex, world):
    id = alex("store_rule", **RULE)["id"]
    world.person.promote(id, confirm=True)
    assert "field=request hint=forbidden: Only a person" in alex.refusal("delete_memory", id=id)
    assert "1 approved by a person stay" in alex.answer("delete_all", scope="rule:repo:acme").text
    assert alex.refusal("set_visibility", id=id, shared=False).startswith("field=id hint=not_applicable")
    error = alex.refusal("update_memory", id=id, content="x", shared=False)
    assert error.startswith("field=shared hint=not_applicable")
    (row,) = alex("archive_memory", ids=[id])["results"]
    assert row["outcome"].startswith("refused: Only a person")
    assert len(alex("list_rules")["rules"]) == 1


def test_a_new_wording_of_a_rule_waits_while_the_old_one_holds(alex, world):
    id = alex("store_rule", **RULE)["id"]
    world.person.promote(id, confirm=True)
    answer = alex.answer("store_rule", **(RULE | {"content": "Never push anywhere", "id": id}))
    assert "waits for a person" in answer.text
    assert [row["id"] for row in alex("list_rules")["rules"]] == [id]
    assert alex("get_memory", id=id)["content"] == RULE["content"]


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"summary": ""}, "field=summary hint=required"),
        ({"summary": "two\nlines"}, "field=summary hint=format"),
        ({"summary": "s" * 257}, "field=summary hint=too_long"),
        ({"content": "c" * 8193}, "field=content hint=too_long"),
        ({"scope": "repo:acme"}, "field=scope hint=prefix"),
        ({"scope": "rule:acme"}, "field=scope hint=prefix"),
    ],
)
def test_a_rule_that_is_none_is_refused(alex, said, error):
    assert alex.refusal("store_rule", **(RULE | said)).startswith(error)


# tags


def test_tags_are_counted_the_most_used_first(alex):
    stored(alex, "One", tags=["b", "a"])
    stored(alex, "Two", tags=["a", "c"])
    stored(alex, "Three", tags=["z"], scope="repo:other")
    rows = alex("list_tags", scope=SCOPE)
    assert rows == {"tags": [{"tag": t, "count": n} for t, n in (("a", 2), ("b", 1), ("c", 1))], "more": False}
    assert alex("list_tags", limit=1) == {"tags": [{"tag": "a", "count": 2}], "more": True}


def test_what_must_not_be_stored_is_taken_out_and_said(alex):
    answer = alex.answer("store_memory", **(STORE | {"content": "The key is <private>hunter2</private> today"}))
    assert "Taken out" in answer.text
    assert "hunter2" not in alex("get_memory", id=answer.structured["id"])["content"]


def test_nobody_without_an_owner_of_the_record_sees_it_by_any_tool(alex, world):
    stored(alex, tags=["secret-project"])
    stranger = Talk(PROFILE, world.as_(NOBODY))
    assert stranger("list_memory", cross_spine=True)["memories"] == []
    assert stranger("list_tags")["tags"] == []
    asked = stranger("search_memory", query="deploy", cross_spine=True)
    assert asked["memories"] == []
    assert asked["searched_scopes"] == []
    assert asked["recall_gate_hidden"]["total"] == 0


# over the protocol


def test_the_annotations_are_those_clients_know():
    tools = {tool.name: (tool.writes, tool.destructive, tool.idempotent) for tool in PROFILE.tools}
    new, read = (True, False, False), (False, False, True)
    gone, again = (True, True, True), (True, False, True)
    assert tools == {
        **dict.fromkeys(("store_memory", "schedule_memory", "store_discovery", "store_rule"), new),
        **dict.fromkeys(("search_memory", "list_memory", "list_scheduled", "get_memory", "list_tags"), read),
        **dict.fromkeys(("search_discovery", "list_rules", "related_memories"), read),
        **dict.fromkeys(("update_memory", "delete_memory", "delete_all"), gone),
        **dict.fromkeys(("set_visibility", "supersede_memory", "archive_memory", "restore_memory"), again),
    }


def test_a_working_day_over_mcp(tmp_path):
    async def day(ada, kim) -> None:
        tools = {tool.name: tool for tool in (await ada.list_tools()).tools}
        assert len(tools) == 19
        assert "required" not in tools["store_memory"].input_schema
        assert tools["search_memory"].input_schema["properties"]["k"]["default"] == 8

        memo = await ask(ada, "store_memory", **STORE)
        assert (await refusal(kim, "get_memory", id=memo["id"])).startswith("field=id hint=not_found")
        await told(ada, "set_visibility", id=memo["short_id"], shared=True)
        row = await ask(kim, "get_memory", id=memo["id"].upper())
        assert tuple(row)[: len(KEYS)] == KEYS
        assert (row["owner"], row["visibility"], row["scope"]) == ("ada", "shared", SCOPE)
        assert (await refusal(kim, "delete_memory", id=memo["id"])).startswith("field=id hint=not_found")

        found = {"content": "Routes are a table", "kind": "fact", "scope": DISCOVERY}
        assert (await refusal(ada, "store_discovery", **found)).startswith("field=citations hint=required")
        await ask(ada, "store_discovery", **found, citations=CITED)
        (hit,) = (await ask(ada, "search_discovery", query="table of routes", scope=DISCOVERY))["memories"]
        assert hit["citations"] == CITED
        assert [each["id"] for each in (await ask(ada, "list_memory", cross_spine=True))["memories"]] == [
            memo["id"]
        ]

        assert (await refusal(ada, "store_memory")).startswith("field=content hint=required")
        assert (await refusal(ada, "search_memory", query="q", k="many")).startswith("field=request hint=format: k")

    over_mcp(PROFILE, [opened(tmp_path, "ada"), opened(tmp_path, "kim")], day)


def test_a_label_is_kept_where_another_project_has_that_short_name(alex):
    stored(alex, scope="repo:github.com/acme/api")

    assert alex("get_memory", id=stored(alex, "Another", scope="repo:api"))["scope"] == "repo:api"
