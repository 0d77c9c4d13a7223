"""Looking through memories as a person does: filters, standings, what was never used, and what is cited."""

from collections.abc import Iterator
from datetime import timedelta, timezone
from pathlib import Path

import pytest

import engram
from engram.errors import Forbidden, Invalid
from engram.model.answers_look import Found
from engram.model.memory import Context
from engram.service import Engram


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engram]:
    monkeypatch.chdir(tmp_path)
    settings = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_STAGING": "off"}
    with engram.open(tmp_path / "store.db", environment=settings) as opened:
        yield opened


def texts(found: Found) -> list[str]:
    return [hit.memory.text for hit in found.hits]


def test_a_search_tells_why_what_it_costs_and_what_was_held_back(memory: Engram):
    memory.remember("We deploy on Fridays after the standup")
    memory.remember("The deploy key of Kim is in the vault", kind="people")
    found = memory.search("deploy")

    assert texts(found) == ["We deploy on Fridays after the standup"]
    assert found.hits[0].reasons["words"] > 0
    assert found.tokens == found.hits[0].tokens > 0
    assert found.held_back == {"pending": 1}


def test_a_person_finds_what_is_not_live_when_asking_for_it(memory: Engram):
    memory.remember("The deploy key of Kim is in the vault", kind="people")
    memory.forget(memory.remember("We deploy on Mondays").memory.id)

    assert texts(memory.search("deploy")) == []
    assert len(memory.search("deploy", standing=["all"]).hits) == 2
    assert texts(memory.search("deploy", standing=["forgotten"])) == ["We deploy on Mondays"]
    assert memory.search("deploy", standing=["pending"]).held_back == {}


def test_recall_never_finds_what_is_not_live_whatever_search_may(memory: Engram):
    memory.remember("The deploy key of Kim is in the vault", kind="people")

    assert not memory.recall("deploy key").hits


def test_filters_narrow_a_search_and_a_list_alike(memory: Engram):
    memory.remember("Ports are odd here", tag=["net"], kind="convention")
    memory.remember("Ports are checked by CI", kind="tooling", scope="project:api")
    for question in ("ports", ""):
        assert len(memory.search(question, everywhere=True).hits) == 2
        assert texts(memory.search(question, tag=["net"])) == ["Ports are odd here"]
        assert texts(memory.search(question, kind=["tooling"], everywhere=True)) == ["Ports are checked by CI"]
        assert texts(memory.search(question, scope="project:api")) == ["Ports are checked by CI"]
        assert not memory.search(question, origin="inferred", everywhere=True).hits
        later = memory.now + timedelta(days=1)
        assert not memory.search(question, since=later, everywhere=True).hits


@pytest.mark.parametrize(
    "clause", [{"tag": [f"t{n}" for n in range(10_000)]}, {"kind": [f"k{n}" for n in range(10_000)]}]
)
def test_a_filter_of_ten_thousand_parts_is_refused_and_not_tried(memory: Engram, clause: dict[str, list[str]]):
    memory.remember("The zebra runs")
    for ask in (
        lambda: memory.list(**clause),
        lambda: memory.recall("zebra", **clause),
        lambda: memory.search("zebra", **clause),
        lambda: memory.get([f"mem-{n}" for n in range(10_001)]),
    ):
        with pytest.raises(Invalid, match="too many at once"):
            ask()
    assert memory.list(tag=[f"t{n}" for n in range(128)]).memories == ()  # what a memory may have


def test_who_made_it_and_where_narrow_a_search_and_a_list_alike(memory: Engram):
    memory.remember("Ports are odd here")
    memory.for_agent("codex").made_in(Context(agent="codex", branch="topic")).remember("Ports are even on topic")
    for question in ("ports", ""):
        assert texts(memory.search(question, agent="codex")) == ["Ports are even on topic"]
        assert texts(memory.search(question, branch="topic")) == ["Ports are even on topic"]
        assert texts(memory.search(question, agent="")) == ["Ports are odd here"]
        assert texts(memory.search(question, agent="codex", branch="main")) == []


def test_what_ends_soon_is_found_before_it_does(memory: Engram):
    soon = memory.now + timedelta(days=5)
    memory.remember("Ports are frozen for the release", valid_until=soon)
    memory.remember("Ports are odd here")
    for question in ("ports", ""):
        assert texts(memory.search(question, ends_by=soon)) == ["Ports are frozen for the release"]
        assert texts(memory.search(question, ends_by=soon - timedelta(days=1))) == []
        assert len(memory.search(question, ends_by=soon + timedelta(days=400)).hits) == 2


def test_what_was_never_recalled_is_found_apart(memory: Engram):
    memory.remember("We deploy on Fridays")
    memory.remember("Tests run on pushes")
    memory.recall("deploy")

    assert texts(memory.search(unused=True)) == ["Tests run on pushes"]
    assert memory.search("deploy", unused=True).hits == ()
    assert memory.search("deploy").uses == (1,)


def test_what_was_never_recalled_is_found_behind_whatever_was(memory: Engram):
    for number in range(8):
        memory.remember(f"We deploy, deploy and deploy part {number}", dedupe="create")
    memory.recall("deploy", limit=8)
    memory.remember("Once in a while we deploy the docks of the old harbour by hand and by night")

    assert texts(memory.search("deploy", unused=True, limit=2)) == [
        "Once in a while we deploy the docks of the old harbour by hand and by night"
    ]


def test_without_words_pages_neither_repeat_nor_skip(memory: Engram):
    for number in range(7):
        memory.remember(f"Fact number {number} stands alone")
    seen, after = [], None
    while True:
        page = memory.search(limit=3, after=after)
        seen += texts(page)
        if (after := page.next) is None:
            break

    assert len(seen) == len(set(seen)) == 7


def test_the_past_is_searched_in_its_own_words(memory: Engram):
    memory.remember("The port is 5432", key="port")
    then = memory.now
    memory.remember("The port is 5433", key="port")

    assert texts(memory.search("port", as_of=then)) == ["The port is 5432"]
    with pytest.raises(Invalid, match="still to come"):
        memory.search("port", as_of=memory.now + timedelta(days=1))
    with pytest.raises(Invalid, match="needs a question"):
        memory.search(as_of=then)


def test_only_a_person_looks_through_everything(memory: Engram):
    with pytest.raises(Forbidden):
        memory.for_agent("codex").search("port")


def test_files_are_told_with_who_cites_them_and_the_worst_first(memory: Engram, tmp_path: Path):
    (tmp_path / "a.py").write_text("a = 1\nb = 2\n")
    (tmp_path / "b.py").write_text("c = 3\n")
    memory.remember("a is one", cite=["a.py:1"])
    memory.remember("c is three", cite=["b.py:1", "a.py:2"])
    (tmp_path / "a.py").write_text("x = 9\ny = 8\n")
    found = memory.files()

    assert found.files[0].file == "a.py"
    assert {row.file: len(row.memories) for row in found.files} == {"a.py": 2, "b.py": 1}
    assert found.looked_at == 2
    assert found.next is None


def test_a_tag_keeps_a_memory_out_of_every_context_and_nothing_else(memory: Engram):
    memory.remember("We deploy on Fridays", tag=["no-context"], pinned=True)
    memory.remember("Tests run on pushes")

    assert "Fridays" not in memory.context(query="deploy").text
    assert "Tests run" in memory.context().text
    assert texts(memory.search("deploy")) == ["We deploy on Fridays"]
    assert memory.recall("deploy").hits


@pytest.mark.parametrize("hours", [-9, 0, 5.5])
def test_a_time_of_any_zone_bounds_a_list_by_the_same_moment(memory: Engram, hours: float):
    memory.remember("We deploy on Fridays")
    zone = timezone(timedelta(hours=hours))
    before, after = ((memory.now + timedelta(minutes=by)).astimezone(zone) for by in (-1, 1))

    assert [len(memory.list(since=at).memories) for at in (before, after)] == [1, 0]
    assert [len(memory.list(until=at).memories) for at in (before, after)] == [0, 1]
