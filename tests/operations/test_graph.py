"""Graphs that answer a question, and trends: what grew, who was accepted, how quick it was."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import engram
from engram.errors import Invalid, NotFound
from engram.model.answers_look import Graph
from engram.model.scope import Scope
from engram.service import Engram
from rules.world import PERSON, Clock, World


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engram]:
    monkeypatch.chdir(tmp_path)
    settings = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_STAGING": "off"}
    with engram.open(tmp_path / "store.db", environment=settings) as opened:
        yield opened


def told(graph: Graph) -> set[tuple[str, str, str]]:
    names = {node.id: node.memory.handle if node.memory else node.label for node in graph.nodes}
    return {(names[edge.source], edge.kind, names[edge.target]) for edge in graph.edges}


def replace_twice(memory: Engram) -> None:
    for port in (5432, 5433, 5434):
        done = memory.remember(f"The port of the database is {port}")
        if done.outcome == "held":
            memory.promote(done.memory.id)


def test_a_chain_tells_what_replaced_what_from_any_link(memory: Engram):
    replace_twice(memory)
    links = {("mem-0001", "replaced by", "mem-0002"), ("mem-0002", "replaced by", "mem-0003")}

    assert told(memory.graph("chain", "mem-0001")) == links
    assert told(memory.graph("chain", "mem-0003")) == links
    assert told(memory.graph("chain")) == links
    standings = {node.label[-4:]: node.standing for node in memory.graph("chain").nodes}
    assert standings == {"5432": "replaced", "5433": "replaced", "5434": "live"}


def test_a_memory_without_a_chain_says_so(memory: Engram):
    memory.remember("We deploy on Fridays")

    assert "replaced nothing" in memory.graph("chain", "mem-0001").hint
    with pytest.raises(NotFound):
        memory.graph("chain", "mem-0009")


def test_conflicts_are_drawn_as_pairs(memory: Engram):
    memory.remember("The port of the database is 5432")
    memory.remember("The port of the database is 5433")
    graph = memory.graph("conflicts")

    assert len(graph.nodes) == 2
    assert len(graph.edges) == 1
    assert "held" in graph.edges[0].kind


def test_a_file_is_drawn_with_who_cites_it_and_what_else_they_cite(memory: Engram, tmp_path: Path):
    (tmp_path / "a.py").write_text("a = 1\n")
    (tmp_path / "b.py").write_text("b = 1\n")
    memory.remember("a and b are one", cite=["a.py:1", "b.py:1"])
    graph = memory.graph("file", "a.py")

    assert {(source, target) for source, _, target in told(graph)} == {("mem-0001", "a.py"), ("mem-0001", "b.py")}
    assert memory.graph("file", "b.py").nodes
    with pytest.raises(Invalid, match="No file"):
        memory.graph("file")


def test_a_path_of_two_repositories_is_a_file_of_each(memory: Engram):
    for project in ("acme/api", "acme/web"):
        memory.remember(f"Settings of {project} are read once", scope=f"project:{project}", cite=["src/main.py"])
    rows = memory.files(everywhere=True).files

    assert [(row.file, row.repo, len(row.memories)) for row in rows] == [
        ("src/main.py", "acme/api", 1),
        ("src/main.py", "acme/web", 1),
    ]


def test_a_file_of_another_project_is_drawn_where_it_is_asked_for(memory: Engram):
    for project in ("acme/api", "acme/web"):
        memory.remember(f"Settings of {project} are read once", scope=f"project:{project}", cite=["src/main.py"])

    assert told(memory.graph("file", "src/main.py")) == set()
    assert {source for source, _, _ in told(memory.graph("file", "src/main.py", scope="project:acme/web"))} == {
        "mem-0002"
    }
    assert len(told(memory.graph("file", "src/main.py", everywhere=True))) == 2
    with pytest.raises(Invalid, match="takes no scope"):
        memory.graph("chain", scope="project:acme/web")


def test_the_map_of_a_project_shows_what_its_memories_share(memory: Engram):
    memory.remember("Odd ports only", tag=["net"], scope="project:api", kind="convention")
    memory.remember("Ports above 1024", tag=["net"], scope="project:api", kind="convention")
    memory.remember("Lunch is at noon")
    graph = memory.graph("project", "project:api")

    assert ("mem-0001", "tag", "net") in told(graph)
    assert ("mem-0002", "kind", "convention") in told(graph)
    assert "mem-0003" not in {source for source, _, _ in told(graph)}


def test_a_graph_is_capped_and_says_that_there_is_more(memory: Engram):
    for number in range(8):
        memory.remember(f"Fact number {number} stands alone", tag=["many"])
    graph = memory.graph("project", "global", limit=5)

    assert sum(node.kind == "memory" for node in graph.nodes) == 5
    assert graph.left_out == 1
    assert memory.graph("project", "global", limit=50).left_out == 0


def test_trends_tell_growth_kinds_and_what_became_of_proposals(memory: Engram):
    agent = memory.for_agent("codex")
    agent.remember("The port of the database is 5432")
    held = [agent.remember(f"The port of the database is {port}").memory.id for port in (5433, 5434, 5435)]
    memory.promote(held[0])
    memory.reject(held[1])
    memory.remember("We deploy on Fridays")
    memory.recall("deploy")
    trends = memory.trends()
    rows = {row.agent: row for row in trends.agents}

    assert (rows["codex"].approved, rows["codex"].rejected, rows["codex"].waiting) == (1, 1, 1)
    assert rows["codex"].acceptance == 0.5
    assert rows["you"].by_itself == 1
    assert rows["you"].acceptance is None
    assert trends.growth[-1].total == trends.memories == 5
    assert set(trends.latency) == {"p50", "p95", "p99"}
    assert len(trends.took) == 1


def test_trends_are_counted_anew_when_something_was_done(memory: Engram):
    memory.remember("We deploy on Fridays")
    assert memory.trends().memories == 1
    memory.remember("Tests run on pushes")
    assert memory.trends().memories == 2


def test_what_was_recalled_meanwhile_is_not_told_as_never_used(tmp_path: Path):
    clock = Clock()
    settings = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_STAGING": "off"}
    with engram.open(tmp_path / "store.db", folder=tmp_path, environment=settings, clock=clock) as memory:
        memory.remember("We deploy on Fridays")
        memory.remember("Tests run on pushes")
        clock.pass_by(days=40)
        assert memory.trends().unused == 2
        memory.recall("deploy")

        assert memory.trends().unused == 1


def test_trends_are_those_of_the_branch_that_is_looked_from():
    world = World(home=Scope("project", "api"))
    there = world.as_(PERSON._replace(view="repo#feature"))
    assert there.remember("We deploy on Fridays").outcome == "staged"

    assert there.trends().standings == {"live": 1}
    assert world.person.trends().standings == {"staged": 1}


def test_the_same_text_in_two_places_is_told(memory: Engram):
    memory.remember("We deploy on Fridays", scope="project:a")
    memory.remember("We deploy on Fridays", scope="project:b")

    assert memory.trends().repeated == 2


def test_trends_of_a_member_count_what_it_did_however_much_others_did_since():
    world = World()

    kims = world.other.remember("Kim's thing").memory.id

    def others_go_on() -> None:
        for _ in range(201):
            world.other.verify(kims)

    world.person.remember("Alex's first thing")
    others_go_on()
    assert world.person.trends().memories == 1
    world.person.remember("Alex's second thing")
    others_go_on()
    assert world.person.trends().memories == 2
