"""Export and import: all of it comes back, nothing of a damaged file is taken in, and one undo reverses it."""

import json
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import engram
from engram.errors import Conflict, Corrupt, Forbidden, Invalid, Unavailable
from engram.model.caller import Caller
from engram.model.codec import encode
from engram.model.memory import Memory
from rules.world import World, texts


def filled() -> World:
    """Memories of every standing."""
    world = World(name="source")
    person, agent = world.person, world.agent
    agent.remember("The map of the api", kind="map", cite=["src/api.py:1-9"], tag=["a"])
    person.remember("My name is Alex", kind="identity", key="name", confirm=True)
    agent.remember("My city is Rome", kind="location")
    person.reject(agent.remember("My age is a secret", kind="identity").memory.id)
    person.forget(agent.remember("A forgotten thing").memory.id)
    agent.remember("The api port is 8080", scope="project:api")
    person.remember("The api port is 9090", scope="project:api", confirm=True)
    agent.remember("日本語 and 🦉\nin two lines", summary="short", importance=9, pinned=True)
    agent.revise("mem-0002", text="My name is Alexandra")
    return world


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    path = tmp_path / "mine.jsonl"
    filled().person.export(str(path))
    return path


def known(world: World) -> dict[str, dict]:
    return {id: encode(one) | {"revision": 1} for id, one in world.everything().items()}


def test_a_trusted_import_brings_everything_back_as_it_was(world, exported):
    answer = world.person.import_(str(exported), trust=True)
    assert answer.outcomes == {"new": 9}
    assert answer.problems == ()
    assert known(world) == known(filled())


def test_a_session_comes_in_though_one_that_is_here_begins_alike(world, tmp_path):
    source, here = World(name="source").as_(Caller()), world.as_(Caller())
    source.session_begin("work-1")
    source.export(str(tmp_path / "theirs.jsonl"))
    here.session_begin("work-12")
    here.import_(str(tmp_path / "theirs.jsonl"), trust=True)

    assert {one.name for one in here.session_list().sessions} == {"work-1", "work-12"}


def test_an_import_without_trust_makes_everything_wait(world, exported):
    world.person.import_(str(exported))
    assert {one.status for one in world.everything().values()} == {"pending"}
    assert {one.held_for for one in world.everything().values()} == {"untrusted_origin"}
    assert {one.source for one in world.everything().values()} == {"import:mine.jsonl"}
    assert world.person.list(everywhere=True).memories == ()


def test_importing_twice_changes_nothing_the_second_time(world, exported):
    world.person.import_(str(exported), trust=True)
    past = len(world.events())
    assert world.person.import_(str(exported), trust=True).outcomes == {"known": 9}
    assert len(world.events()) == past


@pytest.mark.parametrize("trust", [True, False])
def test_a_dry_run_writes_nothing(world, exported, trust):
    answer = world.person.import_(str(exported), trust=trust, dry_run=True)
    assert answer.dry_run
    assert sum(answer.outcomes.values()) == 9
    assert world.everything() == {}
    assert world.events() == []


def test_a_dry_run_tells_what_the_run_will_do(world, exported):
    world.person.remember("A forgotten thing")
    world.person.reject(world.agent.remember("My city is Rome", kind="location").memory.id)
    told = world.person.import_(str(exported), dry_run=True).outcomes
    assert told == world.person.import_(str(exported)).outcomes


@pytest.mark.parametrize("trust", [True, False])
def test_one_undo_reverses_the_import(world, exported, trust):
    kept = world.person.remember("A thing of mine").memory
    world.person.import_(str(exported), trust=trust)
    world.person.undo()
    assert set(world.everything()) == {kept.id}


def test_what_is_known_here_under_another_id_is_left_alone(world, exported):
    mine = world.person.remember("A forgotten thing").memory
    answer = world.person.import_(str(exported), trust=True)
    assert answer.outcomes == {"new": 8, "known": 1}
    assert world.now(mine.id).seen == 1


def test_an_import_becomes_the_importers_own(world, exported):
    world.other.import_(str(exported), trust=True)
    assert {one.owner for one in world.everything().values()} == {"kim"}


def test_an_agent_imports_nothing(world, exported):
    with pytest.raises(Forbidden):
        world.agent.import_(str(exported), trust=True)


def test_an_export_is_private_complete_and_replaces_an_older_one_at_once(tmp_path):
    path = tmp_path / "mine.jsonl"
    path.write_text("an older one", encoding="utf-8")
    with pytest.raises(Conflict, match="there already"):
        filled().person.export(str(path))
    answer = filled().person.export(str(path), overwrite=True)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert answer.memories == 9 == len(lines) - 2
    assert lines[0]["format"] == "engram.export"
    assert lines[-1]["footer"]["memories"] == 9
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["mine.jsonl"]


def test_the_same_store_exports_the_same_bytes(tmp_path):
    paths = [tmp_path / name for name in ("one.jsonl", "two.jsonl")]
    seals = [filled().person.export(str(path)).sha256 for path in paths]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert seals[0] == seals[1]


def test_an_export_is_narrowed_by_scope_and_standing_and_holds_only_what_is_readable(tmp_path, world):
    source = filled()
    path = str(tmp_path / "some.jsonl")
    source.person.export(path, scope="project:api", standing=["live"])
    world.person.import_(path, trust=True)
    assert texts(list(world.everything().values())) == ["The api port is 9090"]
    assert source.other.export(path, overwrite=True).memories == 0


def test_an_export_never_replaces_the_store_itself(tmp_path):
    store = tmp_path / "store.db"
    with engram.open(store) as memory:
        memory.remember("We build with pnpm")
        for name in ("store.db", "store.db-wal"):
            with pytest.raises(Invalid, match="the store itself"):
                memory.export(str(tmp_path / name), overwrite=True)
        assert memory.list(everywhere=True).memories


def test_an_export_that_cannot_be_written_says_so_and_leaves_no_draft(tmp_path):
    with pytest.raises(Unavailable):
        filled().person.export(str(tmp_path / "missing" / "mine.jsonl"))
    assert list(tmp_path.iterdir()) == []


# --- damage ---


def refused(path: Path, *kinds: type[Exception]) -> None:
    world = World()
    for trust in (True, False):
        with pytest.raises(kinds):
            world.person.import_(str(path), trust=trust)
    assert world.events() == []


def test_a_truncated_export_is_corrupt_and_nothing_is_written(exported):
    lines = exported.read_bytes().splitlines(keepends=True)
    for cut in range(1, len(lines)):
        exported.write_bytes(b"".join(lines[:cut]))
        refused(exported, Corrupt)


def test_a_line_that_is_missing_twice_there_or_swapped_is_seen(exported):
    lines = exported.read_bytes().splitlines(keepends=True)
    first, second, third, *rest = lines
    for damaged in ((first, third, *rest), (first, second, second, third, *rest), (first, third, second, *rest)):
        exported.write_bytes(b"".join(damaged))
        refused(exported, Corrupt)


@settings(max_examples=60)
@given(data=st.data())
def test_any_damaged_byte_is_seen(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("damaged") / "mine.jsonl"
    filled().person.export(str(path))
    body = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(body) - 2).filter(lambda at: body[at] != ord("\n")))
    body[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(bytes(body))
    refused(path, Corrupt, Invalid)


@pytest.mark.parametrize(
    "content", ["", "\n", "hello", "{}", '{"format":"other"}', "[1]", '{"schema":"memory.v1"}']
)
def test_what_is_no_export_is_refused(tmp_path, content):
    path = tmp_path / "other.jsonl"
    path.write_text(content, encoding="utf-8")
    refused(path, Invalid, Corrupt)


def test_an_export_of_a_newer_form_is_refused(exported):
    exported.write_text(
        exported.read_text(encoding="utf-8").replace('"version":2', '"version":3'), encoding="utf-8"
    )
    refused(exported, Invalid)


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path):
    refused(tmp_path / "missing.jsonl", Invalid)
    (tmp_path / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    refused(tmp_path / "binary.jsonl", Invalid)


def test_a_memory_that_the_rules_refuse_is_skipped_and_named(world, exported):
    world.person.reject(world.agent.remember("My city is Rome", kind="location").memory.id)
    answer = world.person.import_(str(exported))
    assert answer.outcomes["skipped"] == 1
    assert "rejected before" in answer.problems[0]


def test_every_memory_of_an_export_stands_as_its_document(exported):
    for line in exported.read_text(encoding="utf-8").splitlines()[1:-1]:
        assert set(json.loads(line)["memory"]) <= set(Memory.FIELDS) - {"handle"}


@pytest.mark.parametrize("kind", ["fact", "rule"])
def test_a_trusted_import_holds_what_contradicts_something_known_here(world, tmp_path, kind):
    source, path = World(name="source"), tmp_path / "mine.jsonl"
    source.person.remember("The gateway listens on port 7000", kind=kind, confirm=True)
    source.person.export(str(path))
    world.person.remember("The gateway listens on port 7001")
    answer = world.person.import_(str(path), trust=True)

    assert answer.outcomes == {"held": 1}
    assert [(one.text, one.held_for, one.approved_by) for one in world.everything().values() if one.held_for] == [
        ("The gateway listens on port 7000", "conflict", "")
    ]


def test_a_trusted_import_leaves_what_was_kept_side_by_side_there(world, tmp_path):
    source, path = World(name="source"), tmp_path / "mine.jsonl"
    source.person.remember("The gateway listens on port 7000")
    late = source.person.remember("The gateway listens on port 7001").memory
    source.person.promote(late.id, keep=True)
    source.person.export(str(path))

    assert world.person.import_(str(path), trust=True).outcomes == {"new": 2}
    assert known(world) == known(source)


def test_a_trusted_import_of_what_is_out_of_use_there_is_as_it_was(world, tmp_path):
    source, path = World(name="source"), tmp_path / "mine.jsonl"
    source.person.forget(source.person.remember("The gateway listens on port 7000").memory.id)
    source.person.export(str(path))
    world.person.remember("The gateway listens on port 7001")

    assert world.person.import_(str(path), trust=True).outcomes == {"new": 1}
    assert {one.held_for for one in world.everything().values()} == {""}
