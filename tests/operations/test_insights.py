"""Insights stay in their own list: no way of reading memories shows one, and their list shows nothing else."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import engram as package
from engines.servers import database_url, new_org, shared_database
from engram.errors import Forbidden, Invalid, NotFound, Unconfirmed
from engram.interop import keyed, memory_v1, observations, records
from engram.interop.tools import Profile
from engram.model.caller import Caller
from engram.service import Engram
from engram.surfaces.mcp.pages import RESOURCES

NOTICED = "The zebra person reads diffs first"
KNOWN = "The zebra service reads from the queue"


@pytest.fixture(params=["ram:", "store.db", "files:plain", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engram]:
    environment = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_STAGING": "off"}
    name = str(request.param)
    store = {"ram:": name, "store.db": str(tmp_path / name), "files:plain": f"files:{tmp_path / 'plain'}"}.get(name)
    if store is None:
        store, environment["ENGRAM_ORG"] = database_url(), new_org(shared_database()).org
    with package.open(store, environment=environment, folder=tmp_path) as opened:
        opened.session_begin("s-1")
        opened.remember(KNOWN, session="s-1")
        opened.insights_save(NOTICED, category="workflow", confidence=0.7, session="s-1")
        yield opened


READS: dict[str, Callable[[Engram], object]] = {
    "recall": lambda who: who.recall("zebra reads", everywhere=True, weak=True, limit=50).hits,
    "recall in the scope": lambda who: who.recall("zebra reads", scope="global@insights", weak=True).hits,
    "recall as of": lambda who: who.recall("zebra reads", as_of=who.now, everywhere=True).hits,
    "list": lambda who: who.list(everywhere=True, standing=["all"], limit=100).memories,
    "list of the session": lambda who: who.list(session="s-1", everywhere=True).memories,
    "list of the tag": lambda who: who.list(tag=["workflow"], everywhere=True).memories,
    "context": lambda who: who.context(query="zebra reads").text,
    "context of the scope": lambda who: who.context(scope="global@insights").text,
    "timeline": lambda who: who.timeline("mem-0001", before=20, after=20),
    "around": lambda who: who.get("mem-0001", around=20),
    "conflicts": lambda who: who.conflicts(scan=True, words=True),
    "related": lambda who: who.related("mem-0001"),
    "views": lambda who: who.sync(),
    "sessions": lambda who: who.session_list(everywhere=True),
    "search": lambda who: who.search("zebra reads", everywhere=True, standing="all"),
    "list by words": lambda who: who.list(saying="zebra", everywhere=True),
    "graph of what is here": lambda who: who.graph("project"),
    "graph of the scope": lambda who: who.graph("project", "global@insights"),
    "graph of chains": lambda who: who.graph("chain"),
    "files": lambda who: who.files(everywhere=True),
    "evidence": lambda who: who.evidence(),
    "review": lambda who: who.review(),
    "queue": lambda who: who.queue(),
    "hygiene": lambda who: who.hygiene(),
    **{page.uri: page.run for page in RESOURCES if "{" not in page.uri},
}


@pytest.mark.parametrize("way", READS)
def test_no_way_of_reading_memories_shows_an_insight(memory: Engram, way: str):
    assert NOTICED not in str(READS[way](memory))


def test_memories_are_found_by_the_same_words_that_find_no_insight(memory: Engram):
    assert [hit.memory.text for hit in memory.recall("zebra reads", everywhere=True).hits] == [KNOWN]
    assert [one.text for one in memory.insights_list("zebra reads").memories] == [NOTICED]
    assert [one.text for one in memory.insights_list().memories] == [NOTICED]


def test_asking_memories_for_the_kind_by_name_is_refused(memory: Engram):
    for ask in (lambda: memory.recall("zebra", kind=["insight"]), lambda: memory.list(kind=["insight"])):
        with pytest.raises(Invalid, match="list of its own"):
            ask()


CALLS: list[tuple[Profile, str, dict[str, object], bool]] = [
    (keyed.PROFILE, "recall", {"query": "zebra reads"}, True),
    (keyed.PROFILE, "list", {}, True),
    (
        records.PROFILE,
        "search_memory",
        {"query": "zebra reads", "cross_spine": True},
        True,
    ),
    (records.PROFILE, "list_memory", {"cross_spine": True}, True),
    (records.PROFILE, "list_tags", {"scope": "run:global:any"}, False),
    (observations.PROFILE, "mem_search", {"query": "zebra reads", "all_projects": True}, True),
    (observations.PROFILE, "mem_context", {}, True),
    (observations.PROFILE, "mem_stats", {}, False),
    (memory_v1.PROFILE, "recall", {"query": "zebra reads"}, True),
]


@pytest.mark.parametrize(("profile", "name", "said", "tells"), CALLS, ids=[f"{c[0].name} {c[1]}" for c in CALLS])
def test_no_tool_of_another_system_shows_an_insight(
    tmp_path: Path, profile: Profile, name: str, *, said: dict[str, object], tells: bool
):
    environment = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_STAGING": "off"}
    tool = next(tool for tool in profile.tools if tool.name == name)
    with package.open("ram:", environment=environment, folder=tmp_path) as opened:
        opened.remember(KNOWN)
        opened.insights_save(NOTICED, category="workflow")
        answer = tool.run(opened, **said).text

    assert not {NOTICED, "workflow"} & set(re.findall(f"{NOTICED}|workflow", answer))
    assert (KNOWN in answer) is tells


def test_the_same_words_as_a_memory_are_an_insight_of_their_own(memory: Engram):
    saved = memory.insights_save(KNOWN)
    again = memory.insights_save(KNOWN)

    assert (saved.outcome, again.outcome, saved.conflicts) == ("new", "repeated", ())
    assert memory.get("mem-0001").memories[0].seen == 1
    assert len(memory.insights_list().memories) == 2


def test_insights_are_counted_by_category_and_paged(memory: Engram):
    memory.insights_save("Likes short answers", category="communication_style")
    first = memory.insights_list(limit=1)
    second = memory.insights_list(limit=1, after=first.next)

    assert first.categories == {"workflow": 1, "communication_style": 1}
    assert ([one.text for one in (*first.memories, *second.memories)], second.next) == (
        ["Likes short answers", NOTICED],
        None,
    )
    assert [one.text for one in memory.insights_list(category="workflow").memories] == [NOTICED]
    with pytest.raises(Invalid, match="category"):
        memory.insights_save("x", category="gossip")


def test_an_insight_is_read_by_whom_it_is_about_and_by_nobody_else(memory: Engram):
    ada, ben = (memory.speaking_for(Caller(owner=name, org=memory.caller.org), "http") for name in ("ada", "ben"))
    ada.insights_save("Ada types fast")

    assert [one.text for one in ada.insights_list().memories] == ["Ada types fast"]
    assert ben.insights_list().memories == ben.insights_list("types fast").memories == ()
    assert ada.insights_list().memories[0].visibility == "private"


def test_the_switch_stops_capture_by_any_way_and_leaves_what_is_there_to_be_forgotten(tmp_path: Path):
    environment = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none"}
    with package.open(tmp_path / "s.db", environment=environment, folder=tmp_path) as memory:
        handle = memory.insights_save(NOTICED).memory.handle
    with package.open(tmp_path / "s.db", environment={**environment, "ENGRAM_INSIGHTS": "off"}) as memory:
        for ask in (lambda: memory.insights_save("More"), lambda: memory.remember("More", kind="insight")):
            with pytest.raises(Forbidden, match="switched off"):
                ask()
        shown = memory.insights_list()
        assert [one.text for one in shown.memories] == [NOTICED]
        assert "switched off" in shown.hint
        memory.forget(handle)
        assert memory.insights_list().memories == ()


@pytest.mark.parametrize("form", ["records", "keyed", "observations", "memory-v1", "obsidian"])
def test_a_form_of_another_system_leaves_insights_out_and_says_so(memory: Engram, tmp_path: Path, form: str):
    done = memory.export(str(tmp_path / "out"), form=form)
    written = [each for each in [tmp_path / "out", *(tmp_path / "out").rglob("*")] if each.is_file()]

    assert done.dropped["insight"] == 1
    assert all(NOTICED not in each.read_text() for each in written)
    memory.export(str(tmp_path / "all.jsonl"))
    lines = (tmp_path / "all.jsonl").read_text().splitlines()
    assert any(NOTICED in json.dumps(json.loads(line)) for line in lines)


def test_a_person_erases_all_that_was_noticed_about_them_and_nothing_else(memory: Engram):
    ben = memory.speaking_for(Caller(owner="ben", org=memory.caller.org), "http")
    ben.insights_save("Ben types slowly")
    memory.insights_save("Likes short answers", category="communication_style")
    gone = memory.insights_save("Says thanks").memory
    memory.forget(gone.id)

    with pytest.raises(Unconfirmed):
        memory.insights_purge()
    with pytest.raises(Forbidden):
        memory.speaking_for(memory.caller._replace(human=False, agent="codex"), "http").insights_purge(confirm=True)
    assert len(memory.insights_purge(category="workflow", confirm=True).erased) == 1
    assert [one.text for one in memory.insights_list().memories] == ["Likes short answers"]
    receipt = memory.insights_purge(confirm=True)

    assert gone.id in receipt.erased  # what was hidden before goes too
    assert memory.insights_list().memories == ()
    assert [one.text for one in ben.insights_list().memories] == ["Ben types slowly"]
    assert [one.text for one in memory.list(everywhere=True).memories] == [KNOWN]
    assert "short answers" not in str(memory.history(limit=100))
    with pytest.raises(NotFound):
        memory.insights_purge(confirm=True)


def test_what_replaced_another_insight_is_erased_with_it(memory: Engram):
    old = memory.insights_save("We deploy on Fridays").memory
    new = memory.insights_save("We deploy on Mondays").memory
    memory.relate(new.id, old.id, kind="supersedes")
    assert memory.get(old.id).memories[0].replaced_by == new.id
    assert {old.id, new.id} < set(memory.insights_purge(confirm=True).erased)
    assert memory.doctor().healthy


def test_insights_are_counted_beside_memories_and_not_among_them(memory: Engram):
    told = memory.stats()
    assert (told.memories, told.insights, told.kinds.get("insight"), sum(told.scopes.values())) == (1, 1, None, 1)
