"""Each of the four other forms goes in and comes out equal in every field it has; a chain tells what it loses."""

import json
from pathlib import Path
from typing import Any

import pytest

from engram.model.filter import ANYTHING, Access
from engram.model.memory import Memory
from interop import foreign_stores as stores
from rules.world import World

Row = dict[str, Any]


@pytest.fixture
def world() -> World:
    world = World()
    world.person.caller = world.person.caller._replace(owner="")
    return world


def taken(world: World, path: Path, **options: Any) -> Any:
    answer = world.person.import_(str(path), trust=True, **options)
    assert answer.problems == ()
    assert set(answer.outcomes) <= {"new"}
    return answer


def everything(world: World) -> list[Memory]:
    found = world.engine.scan("memory", ANYTHING, Access(""), limit=10_000).records
    return [one for one in found if isinstance(one, Memory)]


def same(told: list[Row], again: list[Row], key: str = "id", *, but: tuple[str, ...] = ()) -> None:
    """Every field of every row is there again."""
    found = {row[key]: row for row in again}
    assert sorted(found) == sorted(row[key] for row in told)
    for row in told:
        for name, value in row.items():
            if name not in but:
                assert found[row[key]].get(name) == value, (row[key], name)


# --- A ---


@pytest.mark.parametrize("form", ["list", "object", "lines", "collection"])
def test_records_come_back_with_every_key_of_their_payload(world: World, tmp_path: Path, form: str):
    rows, path = stores.linked_records(), tmp_path / "records.json"
    if form == "collection":
        stores.collection(path, rows)
    else:
        said = {"list": json.dumps(rows), "object": json.dumps({"records": rows}, indent=1)}
        path.write_text(said.get(form) or "\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    answer = taken(world, path)
    assert (answer.form, answer.outcomes, answer.relations) == ("records", {"new": 5}, 1)
    out = tmp_path / "again.json"
    told = world.person.export(str(out), form="records")
    assert told.dropped == {"verified_at": 5}  # the word that vouched for them: it was not theirs
    same(rows, json.loads(out.read_text(encoding="utf-8"))["records"])


def test_a_record_changed_here_is_given_out_as_it_is_now(world: World, tmp_path: Path):
    (tmp_path / "a.json").write_text(json.dumps(stores.records()), encoding="utf-8")
    taken(world, tmp_path / "a.json")
    one = next(one for one in everything(world) if one.kind == "decision")
    world.person.revise(one.id, text="We deploy on Tuesdays", tag=["new"], confirm=True)
    world.person.export(str(tmp_path / "b.json"), form="records")
    rows = json.loads((tmp_path / "b.json").read_text(encoding="utf-8"))["records"]
    now = next(row for row in rows if row["id"] == stores.FIRST)
    assert (now["content"], now["tags"], now["short_id"]) == ("We deploy on Tuesdays", ["new"], "0a1b2c3d4e")


# --- B ---


def test_a_store_of_plain_files_comes_back_item_by_item(world: World, tmp_path: Path):
    rows = stores.items()
    answer = taken(world, stores.memory_v1(tmp_path / "old", rows))
    assert (answer.form, answer.outcomes) == ("memory-v1", {"new": len(rows)})
    assert answer.dropped == {"audit.jsonl": 1}
    told = world.person.export(str(tmp_path / "new"), form="memory-v1")
    assert told.dropped == {}
    again = stores.read_memory_v1(tmp_path / "new")
    same(rows, again)
    assert [list(row) for row in again] == [list(row) for row in rows]
    kept = json.loads((tmp_path / "new" / "queue" / "mem-0006.json").read_text(encoding="utf-8"))
    before = json.loads((tmp_path / "old" / "queue" / "mem-0006.json").read_text(encoding="utf-8"))
    assert kept == before
    assert [one.name for one in (tmp_path / "new" / "queue").iterdir()] == ["mem-0006.json"]


def test_a_store_of_the_later_release_keeps_projects_archive_and_what_superseded_what(world: World, tmp_path: Path):
    rows = [row | {"project": "acme" if row["id"] == "mem-0001" else None} for row in stores.items()]
    rows[1] |= {
        "status": "superseded",
        "superseded_by": "mem-0001",
        "superseded_at": "2026-05-01",
        "superseded_reason": "newer",
    }
    archived = [rows.pop(6)]
    taken(world, stores.memory_v1(tmp_path / "old", rows, archived=archived))
    replaced = next(one for one in everything(world) if one.text == "yes")
    assert world.stands(replaced.id) == "replaced"
    assert world.now(replaced.replaced_by).text == "I prefer pnpm over npm"
    world.person.export(str(tmp_path / "new"), form="memory-v1")
    same(rows, stores.read_memory_v1(tmp_path / "new"))
    same(archived, stores.read_memory_v1(tmp_path / "new", "archive.md"))


def test_a_registry_as_the_documents_show_it_is_read_too(world: World, tmp_path: Path):
    folder = tmp_path / "seed"
    folder.mkdir()
    (folder / "memory.md").write_text(
        "---\nschema: memory.v1\ngenerated: 2026-01-15\nitems:\n"
        '  - id: mem-0001\n    fact: "I prefer pnpm over npm"\n    kind: tooling\n    source: tool:remember\n'
        "    confidence: 0.6\n    learned_by: remember\n    learned_at: 2026-01-15\n    last_verified: null\n"
        "    decay: 180d\n    status: promoted\n    risk_tier: 1\n    dest: memory-log.md\n\n"
        '  - id: mem-0002\n    fact: "My legal name is Alex Rivera"\n    kind: identity\n    source: manual\n'
        "    confidence: 1.0\n    learned_by: manual\n    learned_at: 2026-01-10\n    last_verified: 2026-01-15\n"
        "    decay: 365d\n    status: promoted\n    risk_tier: 3\n    dest: memory.md\n---\n\n# Memory\n",
        encoding="utf-8",
    )
    taken(world, folder / "memory.md")
    world.person.export(str(tmp_path / "new"), form="memory-v1")
    assert (tmp_path / "new" / "memory.md").read_text(encoding="utf-8").split("---\n")[1].split("items:")[1] == (
        folder / "memory.md"
    ).read_text(encoding="utf-8").split("---\n")[1].split("items:")[1]


# --- C ---


def exported(world: World, tmp_path: Path) -> dict[str, list[Row]]:
    out = tmp_path / "again.json"
    told = world.person.export(str(out), form="observations")
    assert told.dropped == {}
    document = json.loads(out.read_text(encoding="utf-8"))
    assert document["version"] == "0.2.0"
    return document


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("form", ["database", "export"])
def test_observations_come_back_with_sessions_prompts_and_relations(
    world: World, tmp_path: Path, form: str, later: bool
):
    held = stores.observed(later=later)
    if form == "database":
        with_log = stores.observations_db(tmp_path / "engram.db", held, versions="plain" if later else "")
        assert (tmp_path / "engram.db-wal").stat().st_size > 0
        answer = taken(world, tmp_path / "engram.db")
        with_log.close()
    else:
        answer = taken(world, stores.observations_json(tmp_path / "engram.json", held))
    assert (answer.form, answer.sessions, answer.relations) == ("observations", 2, 5 if later else 0)
    assert answer.outcomes == {"new": 11}
    again = exported(world, tmp_path)
    same(held["sessions"], again["sessions"])
    same(held["observations"], again["observations"])
    same(held["prompts"], again["prompts"])
    same(held.get("relations", []), again["relations"], "sync_id")


@pytest.mark.parametrize("versions", ["plain", "rich"])
def test_what_has_no_place_is_named(world: World, tmp_path: Path, versions: str):
    stores.observations_db(tmp_path / "engram.db", stores.observed(later=True), versions=versions).close()
    answer = taken(world, tmp_path / "engram.db")
    assert answer.dropped == {"observation_versions": 1, "prompt_tombstones": 1, "content beyond its limit": 1}


def test_marks_of_deleted_prompts_in_an_export_are_named_too(world: World, tmp_path: Path):
    held = stores.observed(later=True) | {"prompt_tombstones": [{"sync_id": "prompt-gone"}]}
    answer = taken(world, stores.observations_json(tmp_path / "engram.json", held))
    assert answer.dropped == {"prompt_tombstones": 1, "content beyond its limit": 1}


def test_what_supersedes_in_a_store_of_observations_hides_here(world: World, tmp_path: Path):
    held = stores.observed(later=True)
    held["observations"][4].pop("deleted_at")
    held["observations"][4].pop("topic_key")
    taken(world, stores.observations_json(tmp_path / "engram.json", held))
    old = next(one for one in everything(world) if one.text == "We use Rabbit")
    assert world.stands(old.id) == "replaced"
    same(held["observations"], exported(world, tmp_path)["observations"])


def test_the_oldest_schema_of_all_is_read_though_ids_are_missing_or_twice_there(world: World, tmp_path: Path):
    stores.oldest_db(tmp_path / "engram.db")
    answer = taken(world, tmp_path / "engram.db")
    assert answer.outcomes == {"new": 3}
    assert answer.scopes == {"global": 2, "project:api": 1}
    assert taken_again(world, tmp_path / "engram.db") == {"known": 3}


def taken_again(world: World, path: Path) -> dict[str, int]:
    return dict(world.person.import_(str(path), trust=True).outcomes)


def test_chunks_of_a_repository_say_their_last_word(world: World, tmp_path: Path):
    held = stores.observed(later=True)
    first = {name: held[name] for name in ("sessions", "observations", "prompts")}
    newer = held["observations"][1] | {"content": "The cache was warm", "updated_at": "2026-03-04 00:00:00"}
    second = {
        "sessions": [],
        "observations": [newer],
        "prompts": [],
        "mutations": [
            {"entity": "relation", "op": "upsert", "payload": json.dumps(held["relations"][1])},
            {
                "entity": "observation",
                "op": "delete",
                "payload": {"sync_id": "obs-0000000000000003", "deleted": True, "hard_delete": True},
            },
            {
                "entity": "observation",
                "op": "delete",
                "payload": {"sync_id": "obs-0000000000000004", "deleted_at": "2026-03-04 01:00:00"},
            },
        ],
    }
    stores.chunks(tmp_path / "repository" / ".engram", first, second)
    answer = taken(world, tmp_path / "repository")
    assert (answer.sessions, answer.relations, answer.outcomes) == (2, 1, {"new": 10})
    told = {one.text: one for one in everything(world)}
    assert "The cache was warm" in told
    assert "I like tabs" not in told
    assert world.stands(told["Use UTC"].id) == "forgotten"
    same([newer], [row for row in exported(world, tmp_path)["observations"] if row["id"] == 2])


# --- D ---


@pytest.mark.parametrize("form", ["list", "data", "csv"])
def test_rows_by_key_come_back(world: World, tmp_path: Path, form: str):
    rows = stores.keyed()
    path = tmp_path / ("rows.csv" if form == "csv" else "rows.json")
    if form == "csv":
        stores.keyed_csv(path, rows)
    else:
        path.write_text(json.dumps(rows if form == "list" else {"data": rows, "hasMore": False}), encoding="utf-8")
    answer = taken(world, path)
    assert (answer.form, answer.outcomes) == ("keyed", {"new": 6})
    told = world.person.export(str(tmp_path / "again.json"), form="keyed")
    assert told.dropped == {"verified_at": 6}
    same(rows, json.loads((tmp_path / "again.json").read_text(encoding="utf-8")))
    world.person.export(str(tmp_path / "again.csv"), form="keyed")
    other = World()
    assert other.person.import_(str(tmp_path / "again.csv"), trust=True).outcomes == {"new": 6}


# --- the chain ---


def test_a_chain_through_all_forms_keeps_the_words_and_tells_what_it_loses(tmp_path: Path):
    (tmp_path / "a.json").write_text(json.dumps(stores.linked_records()), encoding="utf-8")
    forms = {"memory-v1": "b", "observations": "c.json", "keyed": "d.json"}
    path, lost = tmp_path / "a.json", {}
    for form, name in forms.items():
        world = World()
        answer = world.person.import_(str(path), trust=True)
        assert answer.problems == ()
        path = tmp_path / name
        lost[form] = dict(world.person.export(str(path), form=form).dropped)
    assert lost["memory-v1"] == {
        "actor": 5,
        "time of day": 5,
        "kind": 4,
        "tags": 3,
        "scope": 3,
        "summary": 3,
        "visibility": 2,
        **{f"context.{name}": 1 for name in ("repo", "workspace", "worktree_path", "base_dir")},
        **dict.fromkeys(("citations", "valid_from", "valid_until", "relations", "forgotten_at"), 1),
    }
    assert lost["observations"] == {"source": 5, "verified_at": 5}
    assert lost["keyed"] == {"decay": 4, "replaced memories": 1}
    values = [row["value"] for row in json.loads(path.read_text(encoding="utf-8"))]
    assert sorted(values) == sorted(row["content"] for row in stores.records() if "archived_at" not in row)


def test_an_import_keeps_what_a_memory_weighs_and_when_it_was_made(world: World, tmp_path: Path):
    (tmp_path / "rows.json").write_text(json.dumps(stores.keyed()), encoding="utf-8")
    taken(world, tmp_path / "rows.json")
    one: Memory = next(one for one in everything(world) if one.key == "deploy-day")
    assert (one.importance, one.pinned, one.tags) == (9, True, ("a", "b"))
    assert (str(one.created_at), str(one.updated_at)) == ("2026-02-01 10:00:00+00:00", "2026-02-01 11:00:00+00:00")
