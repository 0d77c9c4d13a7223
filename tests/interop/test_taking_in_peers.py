"""What other systems hold, taken in from end to end: previewed, waiting or trusted, known again, and undone."""

import json
from pathlib import Path

import pytest

from engram.interop.forms import known_forms, look
from engram.model.filter import ANYTHING, Access
from engram.model.memory import Memory
from engram.model.relation import Relation
from interop import foreign_stores as stores
from interop.peer_samples import everything
from rules.world import World

EMPTY = {"claude conversations"}


@pytest.fixture
def world() -> World:
    world = World()
    world.person.caller = world.person.caller._replace(owner="")
    return world


def records(world: World, type: str) -> list:
    return list(world.engine.scan(type, ANYTHING, Access(""), limit=10_000).records)


def test_every_form_that_is_known_tells_its_own_and_no_other(tmp_path: Path):
    forms = known_forms()
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    places = {name: (form, path) for name, (form, path) in everything(theirs).items()}
    places |= {
        "records": ("records", _written(tmp_path / "records.json", json.dumps(stores.records()))),
        "collection": ("records", stores.collection(tmp_path / "points.json", stores.records())),
        "memory-v1": ("memory-v1", stores.memory_v1(tmp_path / "v1", stores.items())),
        "observations": ("observations", _database(tmp_path / "engram.db")),
        "observations json": (
            "observations",
            stores.observations_json(tmp_path / "o.json", stores.observed(later=True)),
        ),
        "keyed": ("keyed", stores.keyed_csv(tmp_path / "keyed.csv", stores.keyed())),
        "notes": ("markdown", _written(tmp_path / "NOTES.md", "- A note\n")),
    }
    for name, (form, path) in places.items():
        source = look(str(path))
        assert next(each.name for each in forms.values() if each.recognises(source)) == form, name
        told = [each.name for each in forms.values() if each.recognises(source)]
        # Any Markdown file is notes; the more particular form goes first.
        assert set(told) - {"markdown"} <= {form}, name


def _written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def _database(path: Path) -> Path:
    stores.observations_db(path, stores.observed(later=True)).close()
    return path


def test_without_trust_everything_waits_and_one_undo_takes_it_back(world: World, tmp_path: Path):
    for name, (form, path) in everything(tmp_path).items():
        before = {one.id for one in records(world, "memory")}
        answer = world.person.import_(str(path))
        assert answer.form == form, name
        fresh = [one for one in records(world, "memory") if one.id not in before]
        assert {one.status for one in fresh} <= {"pending"}, name
        assert {one.held_for for one in fresh} <= {"untrusted_origin"}, name
        if answer.batch:
            world.person.undo(answer.batch)
        assert {one.id for one in records(world, "memory") if one.forgotten_at is None} == before, name


def test_with_trust_what_was_in_force_is_live_and_a_second_time_everything_is_known(tmp_path: Path):
    for name, (_, path) in everything(tmp_path).items():
        world = World()
        world.person.caller = world.person.caller._replace(owner="")
        first = world.person.import_(str(path), trust=True)
        kept = records(world, "memory")
        assert bool(kept) is (name not in EMPTY), name
        again = world.person.import_(str(path), trust=True)
        assert set(again.outcomes) <= {"known", "skipped"}, name
        assert again.batch == "", name
        assert records(world, "memory") == kept, name
        waiting = {one.text for one in kept if one.status == "pending"}
        assert len(waiting) == (2 if name.startswith("chatgpt") else 0), name
        assert first.relations == len(records(world, "relation"))


def test_what_contradicts_something_live_waits_whoever_vouches(world: World, tmp_path: Path):
    world.person.remember("billing-service: Uses PostgreSQL 15 — größer als früher 🐘", confirm=True)
    _, path = everything(tmp_path)["server-memory file"]
    world.person.import_(str(path), trust=True)
    [waiting] = [one.text for one in records(world, "memory") if one.status == "pending"]
    assert waiting == "billing-service: Uses PostgreSQL 16 — größer als früher 🐘"


def test_relations_of_notes_and_graphs_are_kept(tmp_path: Path):
    expected = {"server-memory file": 2, "basic-memory folder": 1, "obsidian vault": 2, "claude code folder": 1}
    for name, (_, path) in everything(tmp_path).items():
        if name not in expected:
            continue
        world = World()
        world.person.caller = world.person.caller._replace(owner="")
        answer = world.person.import_(str(path), trust=True)
        assert answer.problems == (), name
        ties = [one for one in records(world, "relation") if isinstance(one, Relation)]
        # Two ways between the same two memories are one relation here.
        assert len(ties) == expected[name] == answer.relations, name
        assert all(one.reason for one in ties)


def test_an_end_that_is_not_there_goes_by_its_name_in_the_file_whether_it_is_a_dry_run_or_not(tmp_path: Path):
    lines = [
        {"type": "entity", "name": "Acme", "entityType": "company", "observations": ["based in Oslo"]},
        {"type": "relation", "from": "Acme", "to": "Nowhere", "relationType": "knows"},
        {"type": "else"},
    ]
    path = tmp_path / "memory.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    world = World()
    seen = [world.person.import_(str(path), dry_run=dry) for dry in (True, False)]
    for answer in seen:
        assert answer.problems[1] == 'line 2: It relates to something that is not there: "Nowhere".'
        assert answer.outcomes == {"held": 3, "skipped": len(answer.problems)}
        assert sum(answer.faults.values()) == 2


def test_a_vault_that_engram_wrote_comes_back(world: World, tmp_path: Path):
    source = World(name="source").person
    source.caller = source.caller._replace(owner="")
    source.remember("We deploy on Fridays", kind="convention", tag=["ops"], summary="Deploys", importance=8)
    source.remember("The port is 5432", scope="project:api", pinned=True)
    source.relate("mem-0001", "mem-0002", "related")
    source.export(str(tmp_path / "vault"), form="obsidian")
    answer = world.person.import_(str(tmp_path / "vault"), trust=True)
    assert (answer.form, answer.outcomes, answer.relations) == ("obsidian", {"new": 2}, 1)
    kept = {one.text: one for one in records(world, "memory")}
    deploy, port = kept["We deploy on Fridays"], kept["The port is 5432"]
    assert (deploy.kind, deploy.tags, deploy.summary, deploy.importance) == ("convention", ("ops",), "Deploys", 8)
    assert (str(port.scope), port.pinned) == ("project:api", True)


def test_a_folder_of_code_with_a_read_me_is_no_folder_of_notes(tmp_path: Path):
    for name in ("README.md", "main.py", "util.py", "setup.cfg"):
        (tmp_path / name).touch()
    source = look(str(tmp_path))
    assert [form.name for form in known_forms().values() if form.recognises(source)] == []


def test_what_mcp_memory_service_superseded_is_out_of_use_here(world: World, tmp_path: Path):
    import sqlite3

    _, path = everything(tmp_path)["mcp-memory-service database"]
    with sqlite3.connect(path) as db:
        db.execute(
            "UPDATE memories SET superseded_by = (SELECT content_hash FROM memories WHERE id = 2) WHERE id = 1"
        )
        db.execute("DELETE FROM memory_graph")
    db.close()
    world.person.import_(str(path), trust=True)
    live = [one.text for one in world.person.list(everywhere=True).memories]
    assert live == ["Decided to use ULIDs for invoice ids; größer und sortierbar"]


def test_sessions_of_claude_mem_have_their_memories(world: World, tmp_path: Path):
    _, path = everything(tmp_path)["claude-mem database"]
    answer = world.person.import_(str(path), trust=True)
    assert (answer.sessions, answer.outcomes) == (1, {"new": 5})
    [session] = records(world, "session")
    assert {one.session for one in records(world, "memory") if isinstance(one, Memory)} == {session.id}


def test_what_a_person_vouches_for_is_fresh_however_old_it_is(tmp_path: Path):
    _, path = everything(tmp_path)["claude-mem database"]
    trusting, wary = World(), World()
    for world in (trusting, wary):
        world.person.caller = world.person.caller._replace(owner="")
        world.clock.pass_by(days=1000)
    trusting.person.import_(str(path), trust=True)
    wary.person.import_(str(path))

    shown = trusting.person.list(everywhere=True, standing=["all"]).memories
    assert len(shown) == 5
    assert trusting.person.list(everywhere=True, standing=["stale"]).memories == ()
    assert all(one.created_at < trusting.clock.now for one in shown)  # when it was made is kept
    assert {one.verified_at for one in records(wary, "memory")} == {None}
