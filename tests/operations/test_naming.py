"""Names that an earlier version kept with their marks apart: a repair composes them, on every engine."""

from collections.abc import Iterator
from pathlib import Path
from unicodedata import normalize

import pytest

from engines.servers import new_org, shared_database
from engines.stores import open_files
from engram.engines.ram import RamEngine
from engram.engines.sqlite import SqliteEngine
from engram.model.caller import Caller
from engram.model.memory import Memory
from engram.model.scope import Scope
from engram.rules.changes import Step, compose
from rules.world import OTHER, START, World, memory, request

APART, COMPOSED = normalize("NFD", "Bücher"), normalize("NFC", "Bücher")
OPERATOR = Caller(owner="", actor="alex@example.org")


@pytest.fixture(params=["ram", "sqlite", "files", "postgres"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    engines = {
        "ram": lambda: RamEngine("replica"),
        "sqlite": lambda: SqliteEngine(tmp_path / "store" / "engram.db", new_replica=lambda: "replica"),
        "files": lambda: open_files(tmp_path / "store"),
        "postgres": lambda: new_org(shared_database()),
    }
    world = World(engine=engines[request.param]())
    world.person = world.as_(OPERATOR)
    yield world
    world.close()


def keep(world: World, id: str, text: str, **fields: object) -> Memory:
    """A memory as an earlier version kept it: with its names as they were given."""
    kept = memory(id, text, **{"owner": "", **fields})
    world.engine.commit(compose("remember", request(OPERATOR, confirmed="flag"), [Step(None, kept)]))
    return kept


def old_scope(name: str) -> Scope:
    scope = Scope("project", "old")
    vars(scope)["name"] = normalize("NFD", name)
    return scope


def told(report: object) -> list[tuple[str, str]]:
    return [(one.code, one.severity) for one in report.findings]


def test_a_key_and_a_tag_are_found_after_a_repair_that_can_be_taken_back(world):
    kept = keep(world, "memory-1", "The shelf has 3 boards", key=APART, tags=(APART, COMPOSED))
    assert world.person.list(key=COMPOSED).memories == ()
    assert told(world.person.doctor()) == [("names", "warning")]

    report = world.person.doctor(fix=True)
    assert told(report) == [("names", "note")]
    for said in (APART, COMPOSED):
        assert [one.id for one in world.person.list(key=said).memories] == [kept.id]
        assert [one.id for one in world.person.list(tag=[said]).memories] == [kept.id]
    assert world.now(kept.id).tags == (COMPOSED,)
    assert world.person.remember("The shelf has 4 boards", key=APART).memory.id == kept.id
    assert world.person.doctor().findings == ()

    world.person.undo()
    world.person.undo(report.findings[0].hint.removesuffix(".").rsplit(maxsplit=1)[1])
    assert world.now(kept.id).key == APART


def test_of_two_memories_under_one_name_the_older_keeps_it_and_both_can_be_changed(world):
    older = keep(world, "memory-1", "The shelf has 3 boards", key=APART)
    later = keep(world, "memory-2", "The books are in the cellar", key=COMPOSED)

    world.person.doctor(fix=True)
    assert {one.id for one in world.person.list(key=COMPOSED).memories} == {older.id, later.id}
    assert world.person.remember("The shelf has 4 boards", key=COMPOSED).memory.id == older.id
    for one in (older, later):
        world.person.forget(one.id)
    assert told(world.person.doctor()) == []


def test_a_name_stays_with_what_is_in_use(world):
    gone = keep(world, "memory-1", "The shelf has 3 boards", key=APART, forgotten_at=START)
    used = keep(world, "memory-2", "The books are in the cellar", key=COMPOSED)

    world.person.doctor(fix=True)
    assert world.person.remember("The books are in the attic", key=COMPOSED).memory.id == used.id
    assert world.now(gone.id).apart


def test_what_an_approved_memory_is_called_is_mended_as_well(world):
    kept = keep(world, "memory-1", "My name is Alex", kind="identity", tier=3, tags=(APART,))

    world.person.doctor(fix=True)
    assert world.now(kept.id).tags == (COMPOSED,)
    assert world.stands(kept.id) == "live"


@pytest.mark.parametrize("world", ["sqlite", "files", "postgres"], indirect=True)  # ram has nothing from before
def test_a_scope_from_before_is_found_after_a_repair_and_its_memories_can_be_changed(world):
    older = keep(world, "memory-1", "The shelf has 3 boards", scope=old_scope("Bücher"))
    later = keep(world, "memory-2", "The shelf has 3 boards", scope=Scope("project", COMPOSED))
    alone = keep(world, "memory-3", "The books are in the cellar", scope=old_scope("Läden"))

    world.person.doctor(fix=True)
    assert {one.id for one in world.person.list(scope="project:Bücher").memories} == {older.id, later.id}
    assert [one.id for one in world.person.list(scope="project:Läden").memories] == [alone.id]
    again = world.person.remember("The books are in the cellar", scope="project:Läden")
    assert (again.outcome, again.memory.id) == ("repeated", alone.id)
    for one in (older, later, alone):
        world.person.forget(one.id)
    assert told(world.person.doctor()) == []


def test_whoever_has_an_identity_mends_what_is_their_own():
    world = World()
    keep(world, "memory-1", "The shelf has 3 boards", key=APART, owner=OTHER.owner, visibility="shared")

    assert told(world.person.doctor(fix=True)) == [("names", "warning")]
    assert world.now("memory-1", world.other).key == APART
    assert told(world.other.doctor(fix=True)) == [("names", "note")]


def test_names_that_are_composed_are_left_alone(world):
    world.person.remember("The shelf has 3 boards", key=COMPOSED, tag=["größe"], scope="project:Bücher")
    world.person.remember("We deploy on Fridays", key="läden", scope="project:Bücher")
    events = len(world.events())

    assert told(world.person.doctor(fix=True)) == []
    assert len(world.events()) == events
