"""Each of the four other forms goes in and comes out equal in every field it has; a chain tells what it loses."""

import json
import pickle
import sqlite3
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

from engram.errors import EngramError
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


def taken(world: World, path: Path | str, **options: Any) -> Any:
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


class Qdrant(BaseHTTPRequestHandler):
    """As much of Qdrant as a scroll needs: two points a page, and a key."""

    points: ClassVar[list[Row]] = []
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self._answer({"collections": [{"name": "mem_eval"}]})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append(self.path)
        at = int(asked["offset"] or 0)
        more = at + 2 if at + 2 < len(self.points) else None
        self._answer({"points": self.points[at : at + 2], "next_page_offset": more})

    def _answer(self, result: Row) -> None:
        allowed = self.headers.get("Authorization") == "Bearer sesame"
        body = json.dumps({"result": result} if allowed else {"status": {"error": "Forbidden"}}).encode()
        self.send_response(200 if allowed else 403)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def qdrant() -> Iterator[str]:
    rows = stores.linked_records()
    Qdrant.points = [{"id": row["id"], "payload": {k: v for k, v in row.items() if k != "id"}} for row in rows]
    Qdrant.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Qdrant)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"qdrant://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("collection", ["", "/mem_eval"])
def test_records_are_read_from_a_qdrant_that_runs(
    world: World, tmp_path: Path, qdrant: str, collection: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("QDRANT_API_KEY", "sesame")
    answer = taken(world, f"{qdrant}{collection}")
    assert (answer.form, answer.outcomes, answer.relations) == ("records", {"new": 5}, 1)
    assert set(Qdrant.asked) == {"/collections/mem_eval/points/scroll"}
    world.person.export(str(tmp_path / "again.json"), form="records")
    same(stores.linked_records(), json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))["records"])


def test_a_qdrant_that_refuses_or_is_not_there_says_so_and_nothing_is_taken_in(world: World, qdrant: str):
    for address, why in (
        (qdrant, "Forbidden"),
        ("qdrant://127.0.0.1:1/x", "refused"),
        ("qdrant:///x", "no server"),
    ):
        with pytest.raises(EngramError, match=why):
            world.person.import_(address)
    assert everything(world) == []


def test_records_are_read_from_the_folder_of_a_local_qdrant(world: World, tmp_path: Path):
    qdrant_client = pytest.importorskip("qdrant_client")
    client = qdrant_client.QdrantClient(path=str(tmp_path / "qdrant"))
    one = qdrant_client.models.VectorParams(size=2, distance=qdrant_client.models.Distance.COSINE)
    client.create_collection("mem_eval", vectors_config=one)
    rows = stores.linked_records()
    points = [
        qdrant_client.models.PointStruct(id=row["id"], vector=[0.1, 0.2], payload={**row, "id": None})
        for row in rows
    ]
    client.upsert("mem_eval", points)
    client.close()
    before = {str(one): one.read_bytes() for one in (tmp_path / "qdrant").rglob("*") if one.is_file()}
    answer = taken(world, tmp_path / "qdrant")
    assert (answer.form, answer.outcomes, answer.relations) == ("records", {"new": 5}, 1)
    assert {str(one): one.read_bytes() for one in (tmp_path / "qdrant").rglob("*") if one.is_file()} == before
    world.person.export(str(tmp_path / "again.json"), form="records")
    same(rows, json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))["records"])


def test_a_pickle_that_names_a_program_runs_nothing(world: World, tmp_path: Path):
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return Path.touch, (tmp_path / "sprung",)

    place = tmp_path / "qdrant" / "collection" / "mem"
    place.mkdir(parents=True)
    (tmp_path / "qdrant" / "meta.json").write_text("{}", encoding="utf-8")
    with sqlite3.connect(place / "storage.sqlite") as database:
        database.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
        for n, raw in enumerate((pickle.dumps(Trap()), pickle.dumps(1), b"no pickle")):
            database.execute("INSERT INTO points VALUES (?, ?)", (str(n), raw))
    database.close()
    answer = world.person.import_(str(tmp_path / "qdrant"))
    assert answer.outcomes == {"skipped": 3}
    assert not (tmp_path / "sprung").exists()


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


def test_what_stands_in_the_log_or_in_the_queue_alone_is_taken_in_too(world: World, tmp_path: Path):
    folder, (first, *rest) = tmp_path / "old", stores.items()[:3]
    stores.memory_v1(folder, [first])
    log, third = (row | {"id": f"mem-002{n}"} for n, row in enumerate(rest))
    (folder / "memory-log.md").write_text((folder / "memory.md").read_text(encoding="utf-8"), encoding="utf-8")
    stores.memory_v1(tmp_path / "log", [first | {"fact": "said otherwise here"}, log])
    (folder / "memory-log.md").write_bytes((tmp_path / "log" / "memory.md").read_bytes())
    (folder / "queue" / "_done").mkdir(parents=True, exist_ok=True)
    waits = third | {"fact": "My VAT number is 12345678A", "kind": "fiscal", "status": "pending", "risk_tier": 3}
    for name, row in (
        ("mem-0021", waits | {"routing": {"reason": "conflict"}}),
        ("mem-0001", waits | {"id": "mem-0001", "routing": {"reason": "conflict"}}),
        (
            "_done/mem-0022",
            {"memory": waits | {"id": "mem-0022", "fact": "I live in Madrid", "status": "rejected"}},
        ),
        ("_done/mem-0023", waits | {"id": "mem-0023", "fact": "promoted and in no registry", "status": "promoted"}),
    ):
        (folder / "queue" / f"{name}.json").write_text(json.dumps(row, default=str), encoding="utf-8")
    (folder / "queue" / "mem-0024.json").write_text('{"fact": 1, "id"', encoding="utf-8")

    taken(world, folder)

    assert {one.text: (one.status, one.held_for) for one in everything(world)} == {
        first["fact"]: ("promoted", ""),
        log["fact"]: (log["status"], ""),
        "My VAT number is 12345678A": ("pending", "conflict"),
        "I live in Madrid": ("rejected", ""),
    }
    (folder / "memory.md").unlink()
    assert taken(World(), folder).form == "memory-v1"


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


def test_the_export_of_the_first_release_has_what_that_release_had_and_names_the_rest(world: World, tmp_path: Path):
    held = stores.observed(later=False)
    taken(world, stores.observations_json(tmp_path / "engram.json", held))
    told = world.person.export(str(tmp_path / "again.json"), form="observations-0.1.0")
    again = json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))
    assert (told.dropped, again["version"], again.keys() - held.keys()) == ({}, "0.1.0", {"version", "exported_at"})
    for name in held:
        same(held[name], again[name])
        assert {column for row in again[name] for column in row} <= {c for row in held[name] for c in row}


def test_what_the_first_release_has_no_word_for_is_named(world: World, tmp_path: Path):
    taken(world, stores.observations_json(tmp_path / "engram.json", stores.observed(later=True)))
    told = world.person.export(str(tmp_path / "again.json"), form="observations-0.1.0")
    assert told.dropped == {
        "relations": 5,
        "pinned": 1,
        "review_after": 1,
        "ownership_mode": 1,
        "source_inbox_id": 1,
    }


def test_chunks_are_written_as_they_are_read_and_those_that_are_there_stay(world: World, tmp_path: Path):
    held = stores.observed(later=True)
    taken(world, stores.observations_json(tmp_path / "engram.json", held))
    folder = tmp_path / "repository" / ".engram"
    stores.chunks(folder, {"sessions": [], "observations": [], "prompts": []})
    before = {one.name: one.read_bytes() for one in (folder / "chunks").iterdir()}
    world.person.export(str(folder), form="observations-chunks")
    world.person.export(str(folder), form="observations-chunks")
    now = {one.name: one.read_bytes() for one in (folder / "chunks").iterdir()}
    assert (before.items() <= now.items(), len(now)) == (True, 2)
    other = World()
    answer = taken(other, tmp_path / "repository")
    assert (answer.sessions, answer.relations, answer.outcomes) == (2, 5, {"new": 11})
    other.person.export(str(tmp_path / "again.json"), form="observations")
    again = json.loads((tmp_path / "again.json").read_text(encoding="utf-8"))
    for name in ("sessions", "observations", "prompts"):
        same(held[name], again[name])
    same(held["relations"], again["relations"], "sync_id")


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
    assert lost["keyed"] == {"decay": 4, "sessions": 3, "relations": 1, "replaced memories": 1}
    values = [row["value"] for row in json.loads(path.read_text(encoding="utf-8"))]
    assert sorted(values) == sorted(row["content"] for row in stores.records() if "archived_at" not in row)


def test_an_import_keeps_what_a_memory_weighs_and_when_it_was_made(world: World, tmp_path: Path):
    (tmp_path / "rows.json").write_text(json.dumps(stores.keyed()), encoding="utf-8")
    taken(world, tmp_path / "rows.json")
    one: Memory = next(one for one in everything(world) if one.key == "deploy-day")
    assert (one.importance, one.pinned, one.tags) == (9, True, ("a", "b"))
    assert (str(one.created_at), str(one.updated_at)) == ("2026-02-01 10:00:00+00:00", "2026-02-01 11:00:00+00:00")
