"""A vault that Engram wrote, taken in again: nothing changes, and what a person changed is proposed."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from engines.strategies import whole_memories
from engram.interop import obsidian_page
from engram.interop.peers import notes
from engram.model.filter import ANYTHING, Access
from engram.model.memory import Citation, Memory
from engram.model.record import replace
from engram.model.relation import Relation
from rules.world import PERSON, START, World

WRITTEN = datetime(2020, 1, 1, tzinfo=UTC)


def filled() -> World:
    world = World(name="a")
    person = world.person
    person.remember("The port is 5432", kind="config", scope="project:api", tag=["two words", "db"], pinned=True)
    person.remember(
        "def f is there", kind="finding", cite=["docs/invoice.md:3"], summary="billing-service: Written in Go."
    )
    person.remember("Ship it", kind="prompt", session="s-1")
    person.remember("Ada leads", kind="people", confirm=True, importance=9)
    person.remember("Ends oddly\n\n## Sources\n\n- none of mine")
    person.remember("Sees [[The port is 5432]] #tagged", key="sight")
    person.remember("Twice here", dedupe="create")
    person.remember("Twice here", dedupe="create")
    person.relate("mem-0001", "mem-0002", "compatible", reason="Both are\nabout the api")
    person.relate("mem-0006", "mem-0005", "supersedes", confidence=0.9)
    person.relate("mem-0006", "mem-0007", "scoped")
    person.forget("mem-0003")
    return world


def everything(world: World) -> tuple[dict[str, Memory], dict[str, Relation]]:
    access = Access(PERSON.owner)
    memories = world.engine.scan("memory", ANYTHING, access, limit=1000).records
    relations = world.engine.scan("relation", ANYTHING, access, limit=1000).records
    return (
        {one.id: one for one in memories if isinstance(one, Memory)},
        {one.id: one for one in relations if isinstance(one, Relation)},
    )


@pytest.mark.parametrize("trust", [True, False])
def test_taking_a_vault_into_the_store_that_wrote_it_changes_nothing(tmp_path: Path, trust: bool):
    world = filled()
    before, events = everything(world), len(world.events())
    told = world.person.export(str(tmp_path / "v"), form="obsidian")
    assert told.dropped == {}
    world.clock.pass_by(days=1)
    answer = world.person.import_(str(tmp_path / "v"), trust=trust)
    assert (answer.outcomes, answer.relations, answer.problems) == ({"known": 8}, 0, ())
    assert (everything(world), len(world.events())) == (before, events)


def test_in_another_store_every_field_arrives(tmp_path: Path):
    world, other = filled(), World(name="b")
    world.person.export(str(tmp_path / "v"), form="obsidian")
    answer = other.person.import_(str(tmp_path / "v"), trust=True)
    assert (answer.outcomes, answer.problems, answer.dropped) == ({"new": 8}, (), {})
    (memories, relations), (arrived, ties) = everything(world), everything(other)
    assert {id: replace(one, revision=1) for id, one in memories.items()} == {
        id: replace(one, revision=1) for id, one in arrived.items()
    }
    assert relations == ties


def test_without_trust_all_of_it_waits_in_another_store_under_ids_of_its_own(tmp_path: Path):
    world, other = filled(), World(name="b")
    world.person.export(str(tmp_path / "v"), form="obsidian")
    answer = other.person.import_(str(tmp_path / "v"))
    memories, arrived = everything(world)[0], everything(other)[0]
    assert (answer.outcomes, answer.relations) == ({"held": 8}, 3)
    assert not memories.keys() & arrived.keys()
    assert {one.status for one in arrived.values()} == {"pending"}
    fields = ("text", "kind", "tags", "citations", "created_at", "key", "importance", "session")
    assert sorted(repr([getattr(one, name) for name in fields]) for one in memories.values()) == sorted(
        repr([getattr(one, name) for name in fields]) for one in arrived.values()
    )


@pytest.mark.parametrize("trust", [True, False])
def test_a_page_that_was_edited_is_proposed_for_the_memory_it_was_written_from(tmp_path: Path, trust: bool):
    world, vault = filled(), tmp_path / "v"
    world.person.export(str(vault), form="obsidian")
    page = vault / "project" / "api" / "The port is 5432.md"
    page.write_text(page.read_text(encoding="utf-8").replace("The port is 5432\n", "The port is 5433\n"), "utf-8")
    answer = world.person.import_(str(vault), trust=trust)
    assert answer.outcomes == {"proposed": 1, "known": 7}
    [proposal] = [one for one in everything(world)[0].values() if one.amends]
    assert (proposal.text, proposal.tags, world.now(proposal.amends).text) == (
        "The port is 5433",
        ("two words", "db"),
        "The port is 5432",
    )
    world.person.promote(proposal.id)
    again = world.person.import_(str(vault), trust=trust)
    assert again.outcomes == {"known": 8}
    assert world.now("mem-0001").text == "The port is 5433"
    assert world.person.export(str(vault), form="obsidian").problems == ()


def test_a_property_that_was_edited_is_proposed_too_and_survives_another_export(tmp_path: Path):
    world, vault = filled(), tmp_path / "v"
    world.person.export(str(vault), form="obsidian")
    page = vault / "project" / "api" / "The port is 5432.md"
    said = page.read_text(encoding="utf-8")
    page.write_text(said.replace('tags: ["two-words", "db"]', "tags:\n  - two-words\n  - sql"), "utf-8")
    assert "changed by hand" in world.person.export(str(vault), form="obsidian").problems[0]
    assert world.person.import_(str(vault)).outcomes == {"proposed": 1, "known": 7}
    assert world.person.import_(str(vault)).outcomes == {"known": 8}
    [proposal] = [one for one in everything(world)[0].values() if one.amends]
    world.person.promote(proposal.id)
    now = world.now("mem-0001")
    assert (now.text, now.tags, now.pinned) == ("The port is 5432", ("two-words", "sql"), True)


def test_a_page_that_is_older_than_its_memory_changes_nothing(tmp_path: Path):
    world = filled()
    world.person.export(str(tmp_path / "v"), form="obsidian")
    world.clock.pass_by(days=1)
    world.person.revise("mem-0001", text="The port is 1234", tag=["new"])
    answer = world.person.import_(str(tmp_path / "v"), trust=True)
    assert answer.outcomes == {"known": 8}


def test_what_a_person_ties_on_a_page_becomes_a_relation(tmp_path: Path):
    world, vault = filled(), tmp_path / "v"
    (vault).mkdir()
    (vault / "Mine.md").write_text("A note of my own about [[The port is 5432]].", encoding="utf-8")
    world.person.export(str(vault), form="obsidian")
    page = vault / "global" / "Ada leads.md"
    page.write_text(page.read_text(encoding="utf-8") + "\n## Relations\n\n- compatible [[Mine]]\n", "utf-8")
    answer = world.person.import_(str(vault), trust=True)
    assert (answer.outcomes, answer.relations) == ({"known": 8, "new": 1}, 2)
    before = filled()
    found = [one for id, one in everything(world)[1].items() if id not in everything(before)[1]]
    texts = {id: one.text for id, one in everything(world)[0].items()}
    assert sorted((texts[one.from_id][:6], one.kind, texts[one.to_id][:8]) for one in found) == [
        ("A note", "related", "The port"),
        ("Ada le", "compatible", "A note o"),
    ]


def test_an_export_of_our_own_taken_back_without_trust_knows_those_that_stand_apart(tmp_path: Path):
    world = filled()
    world.person.export(str(tmp_path / "all.jsonl"))
    events = len(world.events())
    assert world.person.import_(str(tmp_path / "all.jsonl")).outcomes == {"known": 8}
    assert len(world.events()) == events


def test_a_page_whose_properties_make_no_memory_is_named(tmp_path: Path):
    world, vault = filled(), tmp_path / "v"
    world.person.export(str(vault), form="obsidian")
    page = vault / "global" / "Ada leads.md"
    page.write_text(re.sub("importance: .*", "importance: much", page.read_text(encoding="utf-8")), "utf-8")
    answer = world.person.import_(str(vault), trust=True)
    assert answer.outcomes == {"known": 7, "skipped": 1}
    assert answer.problems[0].startswith("global/Ada leads.md: ")


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(whole_memories())
def test_any_memory_comes_back_from_its_page_as_it_was(memory: Memory):
    page = obsidian_page.write(memory, [], "", START)
    properties, body = notes.parts(page.replace("\r\n", "\n"))
    assert properties is not None
    found = obsidian_page.read(properties, body, WRITTEN)
    assert found == replace(memory, owner="", revision=1, assets=())


def test_a_source_keeps_its_excerpt_when_another_is_taken_out():
    cited = (
        Citation("file", "a b.py", "10-20 of it", "abc", "x = 1\n"),
        Citation("file", "`odd`.py", "", "", "y"),
        Citation("url", "https://example.org"),
    )
    memory = Memory(id="m", text="t", owner="", created_at=START, updated_at=START, citations=cited)
    page = obsidian_page.write(memory, [], "", START)
    properties, body = notes.parts(page)
    fewer = "".join(line for line in body.splitlines(keepends=True) if "example.org" not in line)
    assert obsidian_page.read(properties or {}, body, WRITTEN).citations == cited
    assert obsidian_page.read(properties or {}, fewer, WRITTEN).citations == cited[:2]
