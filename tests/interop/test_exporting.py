"""Giving memories out in other forms: pages for Obsidian, private and whole files, nothing overwritten."""

import json
import stat
from pathlib import Path

import pytest
import yaml

from engram.errors import Conflict, Invalid
from engram.interop.writing import WRITERS
from rules.world import World

LIVE_ALONE = ("keyed", "observations-0.1.0")
SHARED = ("obsidian", "observations-chunks")


@pytest.fixture
def world() -> World:
    world = World()
    old = world.person.remember("We use Rabbit: it's #1", scope="project:github.com/acme/api").memory
    new = world.person.remember(
        "We use NATS", scope="project:github.com/acme/api", tag=["queue", "two words"]
    ).memory
    world.person.relate(new.id, old.id, "supersedes")
    world.person.remember("../../etc/passwd [[x]]", cite=["src/api.py:10-20"])
    world.person.remember("We use NATS", scope="project:web", summary="CON.")
    return world


def pages(vault: Path) -> dict[str, str]:
    return {str(one.relative_to(vault)): one.read_text(encoding="utf-8") for one in vault.rglob("*.md")}


def front(page: str) -> dict[str, object]:
    return yaml.safe_load(page.split("---\n")[1])


def test_a_vault_has_one_file_a_memory_by_scope_with_properties_and_links(world: World, tmp_path: Path):
    vault = tmp_path / "vault"
    answer = world.person.export(str(vault), form="obsidian")
    found = pages(vault)
    assert (answer.memories, answer.relations, answer.problems) == (4, 1, ())
    assert set(found) == {
        "project/github.com/acme/api/We use Rabbit it's 1.md",
        "project/github.com/acme/api/We use NATS.md",
        "project/web/CON.md",
        "global/etc passwd x.md",
    }
    page = found["project/github.com/acme/api/We use NATS.md"]
    assert "- supersedes [[project/github.com/acme/api/We use Rabbit it's 1]]" in page
    said = front(page)
    assert (said["kind"], said["standing"], said["tags"]) == ("fact", "live", ["queue", "two-words"])
    assert front(found["project/github.com/acme/api/We use Rabbit it's 1.md"])["standing"] == "replaced"
    assert "- file: `src/api.py` 10-20" in found["global/etc passwd x.md"]
    modes = {stat.S_IMODE(one.stat().st_mode) for one in vault.rglob("*.md")}
    assert modes == {0o600}


def test_writing_a_vault_again_changes_only_what_changed(world: World, tmp_path: Path):
    vault = tmp_path / "vault"
    world.person.export(str(vault), form="obsidian")
    before = pages(vault)
    world.person.export(str(vault), form="obsidian")
    assert pages(vault) == before
    one = next(one for one in world.everything().values() if one.summary == "CON.")
    world.person.revise(one.id, text="We use NATS streams", summary="CON.")
    world.person.export(str(vault), form="obsidian")
    changed = {name for name, text in pages(vault).items() if before[name] != text}
    assert changed == {"project/web/CON.md"}


def test_files_of_others_and_files_changed_by_hand_are_never_overwritten(world: World, tmp_path: Path):
    vault = tmp_path / "vault"
    (vault / "project" / "web").mkdir(parents=True)
    mine = vault / "project" / "web" / "CON.md"
    mine.write_text("A page of mine", encoding="utf-8")
    world.person.export(str(vault), form="obsidian")
    assert mine.read_text(encoding="utf-8") == "A page of mine"
    assert len(pages(vault)) == 5
    page = vault / "global" / "etc passwd x.md"
    page.write_text(page.read_text(encoding="utf-8") + "\nA remark.\n", encoding="utf-8")
    answer = world.person.export(str(vault), form="obsidian")
    assert "changed by hand" in answer.problems[0]
    assert page.read_text(encoding="utf-8").endswith("A remark.\n")
    assert world.person.export(str(vault), form="obsidian", overwrite=True).problems == ()
    assert "A remark" not in page.read_text(encoding="utf-8")
    assert mine.read_text(encoding="utf-8") == "A page of mine"


def test_no_link_in_a_vault_leads_out_of_it(world: World, tmp_path: Path):
    vault, outside = tmp_path / "vault", tmp_path / "outside"
    vault.mkdir()
    outside.mkdir()
    (vault / "global").symlink_to(outside)
    with pytest.raises(Invalid, match="leads out"):
        world.person.export(str(vault), form="obsidian")
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("form", sorted(WRITERS))
def test_every_form_is_written_whole_private_and_only_where_nothing_is(world: World, tmp_path: Path, form: str):
    path = tmp_path / "out"
    answer = world.person.export(str(path), form=form)
    assert (answer.form, answer.memories) == (form, 3 if form in LIVE_ALONE else 4)
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    assert {stat.S_IMODE(one.stat().st_mode) for one in files} == {0o600}
    if form not in SHARED:
        with pytest.raises(Conflict):
            world.person.export(str(path), form=form)
    again = world.person.export(str(path), form=form, overwrite=True)
    assert again.sha256 == answer.sha256


def test_an_export_holds_only_what_the_caller_may_read(world: World, tmp_path: Path):
    for form in WRITERS:
        assert world.other.export(str(tmp_path / form), form=form).memories == 0


def test_a_folder_form_needs_a_folder(world: World, tmp_path: Path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for path in ("-", str(tmp_path / "file")):
        with pytest.raises(Invalid, match="written to a folder"):
            world.person.export(path, form="memory-v1")


def test_our_own_export_brings_sessions_and_relations_along(world: World, tmp_path: Path):
    world.person.session_begin("s-1", scope="project:web")
    answer = world.person.export(str(tmp_path / "all.jsonl"))
    assert (answer.memories, answer.sessions, answer.relations) == (4, 1, 1)
    for trust in (True, False):
        elsewhere = World()
        taken = elsewhere.person.import_(str(tmp_path / "all.jsonl"), trust=trust)
        assert (sum(taken.outcomes.values()), taken.sessions, taken.relations) == (4, 1, 1)
        again = elsewhere.person.import_(str(tmp_path / "all.jsonl"), trust=trust)
        assert (again.outcomes, again.sessions, again.relations) == ({"known": 4}, 0, 0)


def test_a_narrowed_export_has_only_relations_between_what_it_holds(world: World, tmp_path: Path):
    path = tmp_path / "live.jsonl"
    answer = world.person.export(str(path), standing=["live"])
    assert (answer.memories, answer.relations) == (3, 0)
    assert "Rabbit" not in path.read_text(encoding="utf-8")


def test_what_waits_or_is_gone_is_told_as_having_no_place(tmp_path: Path):
    world = World()
    world.agent.remember("My city is Rome", kind="location")
    world.person.remember("We use NATS", key="queue")
    answer = world.person.export(str(tmp_path / "d.json"), form="keyed")
    assert answer.dropped["pending memories"] == 1
    assert [row["key"] for row in json.loads((tmp_path / "d.json").read_text(encoding="utf-8"))] == ["queue"]


OTHERS = sorted(WRITERS.keys() - {"jsonl"})


def test_what_rows_by_key_tell_in_part_is_told_as_having_no_place(tmp_path: Path):
    world = World()
    world.person.remember("Mine alone", key="a", scope="project:api", visibility="private")
    world.person.remember("Of one run", key="b", scope="project:api@nightly", visibility="shared")
    world.person.remember("As a file says", key="c", cite=["src/api.py:10-20"])
    world.person.remember(
        "Said in a message", key="d", cite=["message:m-1"], scope="red/project:api", visibility="shared"
    )
    told = world.person.export(str(tmp_path / "rows.json"), form="keyed").dropped
    in_part = ("visibility", "scope", "citations")
    assert {name: told[name] for name in in_part} == dict.fromkeys(in_part, 1)
    rows = {row["key"]: row for row in json.loads((tmp_path / "rows.json").read_text())}
    assert (rows["d"]["projectId"], rows["d"]["workspaceId"]) == ("api", "red")


@pytest.mark.parametrize("form", OTHERS)
def test_relations_and_sessions_are_written_or_told_as_having_no_place(tmp_path: Path, form: str):
    world = World()
    world.person.session_begin("monday")
    first = world.person.remember("We deploy on Mondays", session="monday").memory
    second = world.person.remember("The release train leaves at noon", session="monday").memory
    world.person.relate(first.id, second.id, "related")
    told = world.person.export(str(tmp_path / "out"), form=form)

    assert told.relations + told.dropped.get("relations", 0) == 1
    assert told.sessions + told.dropped.get("sessions", 0) == 1
