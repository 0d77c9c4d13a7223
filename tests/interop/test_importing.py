"""Taking in other stores: what waits, what is known, what is refused, and what any file may do without harm."""

import gzip
import io
import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
import zipfile
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import Any

import pytest

import engram
from engines.samples import everything
from engines.stores import open_files
from engram.errors import EngramError, Invalid
from engram.interop import forms, streams
from engram.interop.forms import foreign_id, known_forms
from engram.interop.streams import FIRST_LINE
from engram.model.memory import Memory
from interop import foreign_stores as stores
from recall.embedders import Concepts
from rules.world import World

Row = dict[str, Any]


@pytest.fixture
def world() -> World:
    return World()


def rows_file(path: Path, rows: list[Row]) -> str:
    path.write_text(json.dumps(rows), encoding="utf-8")
    return str(path)


def records_file(path: Path, count: int, **more: Any) -> str:
    return rows_file(path, [record(n, **more) for n in range(count)])


def record(n: int, **more: Any) -> Row:
    base = {"id": f"id-{n}", "content": f"Fact number {n}", "scope": "repo:acme", "category": "decision"}
    return base | {"source": "user-said", "created_at": "2026-05-01T12:00:00Z"} | more


PLAIN: list[Row] = [
    {
        "text": "We deploy on Fridays",
        "kind": "convention",
        "tags": ["release"],
        "created_at": "2026-05-01T12:00:00Z",
    },
    {"text": "The API listens on port 8080", "scope": "project:acme/api", "colour": "blue"},
    {"kind": "fact"},
]


# --- the form is told by looking ---


def test_every_form_is_told_by_looking(tmp_path: Path):
    held = stores.observed(later=True)
    stores.observations_db(tmp_path / "engram.db", held).close()
    stores.observations_json(tmp_path / "c.json", held)
    stores.chunks(tmp_path / ".engram", {"sessions": [], "observations": [], "prompts": []})
    stores.memory_v1(tmp_path / "store", stores.items())
    stores.collection(tmp_path / "points.json", stores.records())
    rows_file(tmp_path / "rows.json", stores.keyed())
    rows_file(tmp_path / "plain.json", PLAIN)
    (tmp_path / "plain.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in PLAIN))
    stores.keyed_csv(tmp_path / "rows.csv", stores.keyed())
    (tmp_path / "notes.md").write_text("- A note\n", encoding="utf-8")
    World().person.export(str(tmp_path / "ours.jsonl"))
    told = {
        "engram.db": "observations",
        "c.json": "observations",
        ".engram": "observations",
        "store": "memory-v1",
        "store/memory.md": "memory-v1",
        "points.json": "records",
        "rows.json": "keyed",
        "rows.csv": "keyed",
        "plain.json": "plain",
        "plain.jsonl": "plain",
        "notes.md": "markdown",
        "ours.jsonl": "jsonl",
    }
    assert {name: forms.recognise(str(tmp_path / name))[1].name for name in told} == told


@pytest.mark.parametrize("content", [b"", b"hello", b"[1, 2]", b"{}", b"\x00\xff\xfe", b"PK\x03\x04broken", b"[[["])
def test_what_is_of_no_form_is_refused_and_the_forms_are_named(tmp_path: Path, content: bytes):
    (tmp_path / "thing").write_bytes(content)
    with pytest.raises(Invalid) as refused:
        forms.recognise(str(tmp_path / "thing"))
    assert "records" in refused.value.hint


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ('[{"said": "We deploy on Fridays"},\n {"said" "tabs"}]', "line 2, column 10: Expecting ':' delimiter"),
        ('{"notes": ["We deploy on Fridays",\n', "line 2, column 1: Expecting value"),
        ('{"notes": 1} and more', "line 1, column 14: Extra data"),
    ],
)
def test_where_json_of_no_form_is_broken_is_told(tmp_path: Path, content: str, where: str):
    path = tmp_path / "thing.json"
    path.write_text(content)
    with pytest.raises(Invalid) as refused:
        forms.recognise(str(path))
    assert refused.value.message == f"{path} is broken JSON: {where}."


@pytest.mark.parametrize("content", ['{"a": 1}\n{"b": 2}\n', '{"a": 1}', '["a"]'])
def test_whole_json_of_no_form_is_not_called_broken(tmp_path: Path, content: str):
    (tmp_path / "thing.json").write_text(content)
    with pytest.raises(Invalid, match="no form"):
        forms.recognise(str(tmp_path / "thing.json"))


def test_a_store_of_our_own_is_led_to_an_export(world: World, tmp_path: Path):
    path = tmp_path / "my store.db"
    with engram.open(path) as memory:
        memory.remember("We deploy on Fridays")
    with pytest.raises(Invalid) as refused:
        world.person.import_(str(path))
    assert refused.value.message == f"{path} is a store of Engram's own."
    assert refused.value.hint == (
        f"Use it as it is: --store '{path}'."
        f" To take in what it holds: engram export FILE --store '{path}', and import that file."
    )
    with pytest.raises(Invalid) as refused:
        world.person.hygiene(path=str(path))
    assert refused.value.hint == "A store of Engram's own is looked at with --store PATH."


def test_a_form_can_be_named_and_an_unknown_one_is_refused(world: World, tmp_path: Path):
    path = rows_file(tmp_path / "x.json", [{"key": "a", "value": "A thing", "content": "B", "scope": "global"}])
    assert world.person.import_(path, form="keyed").outcomes == {"held": 1}
    with pytest.raises(Invalid, match="no form"):
        world.person.import_(path, form="nonsense")


@pytest.mark.parametrize("make", ["folder", "pipe", "missing"])
def test_a_path_that_holds_nothing_to_read_is_refused_at_once(world: World, tmp_path: Path, make: str):
    path = tmp_path / "thing"
    if make == "folder":
        path.mkdir()
    if make == "pipe":
        os.mkfifo(path)
    with pytest.raises(Invalid):
        world.person.import_(str(path))


def test_the_names_in_a_zip_are_looked_at_without_unpacking_it(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for n in range(1200):
            archive.writestr(f"{n}.json", "")
        archive.writestr("bomb", b"\0" * 50_000_000)
    source = forms.look(str(tmp_path / "x.zip"))
    assert len(source.names) == 1000


# --- what becomes of it ---


def test_without_trust_everything_waits_and_keeps_what_it_is(world: World, tmp_path: Path):
    path = rows_file(tmp_path / "rows.json", stores.keyed())
    answer = world.person.import_(path)
    assert answer.outcomes == {"held": 6}
    waiting = world.everything().values()
    assert {(one.status, one.held_for, one.source) for one in waiting} == {
        ("pending", "untrusted_origin", "import:rows.json")
    }
    first = next(one for one in waiting if one.key == "deploy-day")
    assert (first.importance, first.pinned, first.tags, first.owner) == (9, True, ("a", "b"), "alex")
    assert str(first.created_at) == "2026-02-01 10:00:00+00:00"


def test_a_verdict_of_an_untrusted_store_hides_nothing(world: World, tmp_path: Path):
    path = rows_file(tmp_path / "a.json", [record(1, supersedes=["id-2"]), record(2, superseded_by="id-1")])
    assert world.person.import_(path).relations == 1
    assert {world.stands(one) for one in world.everything()} == {"pending"}


def test_with_trust_curated_ones_go_live_by_the_word_import(world: World, tmp_path: Path):
    world.person.import_(str(stores.memory_v1(tmp_path / "b", stores.items())), trust=True)
    name = next(one for one in world.everything().values() if "Alex Rivera" in one.text)
    assert (name.status, name.tier, name.approved_by != "") == ("promoted", 3, True)
    assert {event.payload.note["confirmed"] for event in world.events()} == {"import"}
    waiting = next(one for one in world.everything().values() if "passport" in one.text)
    assert (waiting.status, waiting.held_for) == ("pending", "curated_kind")


def test_what_agents_kept_under_a_key_elsewhere_they_go_on_keeping_here(world: World, tmp_path: Path):
    path = rows_file(
        tmp_path / "rows.json", [{"key": "a", "value": "A thing", "scope": "global", "source": "manual"}]
    )
    world.person.import_(path, form="keyed", trust=True)
    assert world.agent.remember("Another thing", key="a").outcome == "revised"


def test_the_answer_counts_by_kind_and_scope_and_says_what_was_taken_out(world: World, tmp_path: Path):
    rows = [
        record(1),
        record(2, category="gotcha", scope="global"),
        record(3, content=f"key AKIA{'ABCDEFGH' * 2} here"),
    ]
    rows.append(record(4, content=""))
    path = rows_file(tmp_path / "a.json", [*rows, record(5, owner="kim", content="Kim's")])
    dry = world.person.import_(path, dry_run=True)
    real = world.person.import_(path)
    for answer in (dry, real):
        assert answer.outcomes == {"held": 4, "skipped": 1}
        assert answer.kinds == {"decision": 3, "gotcha": 1}
        assert answer.scopes == {"project:acme": 3, "global": 1}
        assert sum(answer.redacted.values()) == 1
        assert answer.dropped == {"owner": 1}
        assert answer.faults == {"The text is empty.": 1}
        assert answer.problems == ("row 4: The text is empty.",)
    assert [each.outcome for each in dry.preview] == ["held"] * 4
    assert all("AKIAABCD" not in one.text for one in world.everything().values())


@pytest.mark.parametrize("made", [rows_file, stores.keyed_csv])
def test_columns_as_a_database_writes_them_are_read(world: World, tmp_path: Path, made: Any):
    times = {"expires_at": "2026-02-01", "created_at": "2025-12-01", "updated_at": "2025-12-02"}
    ids = {"project_id": "acme/api", "agent_id": "", "session_id": "s-1", "workspace_id": "red", "org_id": "o"}
    row = {"id": "row-1", "key": "day", "value": "We deploy on Fridays", "scope": "project", **ids}
    row |= {name: f"{day} 00:00:00+00" for name, day in times.items()}
    agents = {"id": "row-2", "key": "a", "value": "Be brief", "scope": "agent", "agent_id": "bot"}
    made(tmp_path / "rows.any", [row, agents])
    assert world.person.import_(str(tmp_path / "rows.any"), form="keyed", trust=True).outcomes == {"new": 2}
    one, two = (world.now(foreign_id("keyed", id)) for id in ("row-1", "row-2"))
    assert (str(one.scope), one.session, str(two.scope)) == ("red/project:acme/api", "s-1", "agent:bot")
    told = (one.valid_until, one.created_at, one.updated_at)
    assert [f"{time:%Y-%m-%d}" for time in told if time] == [*times.values()]


def test_what_names_no_place_holds_where_it_is_asked_to(world: World, tmp_path: Path):
    rows = [record(1, scope="global"), record(2)]
    world.person.import_(rows_file(tmp_path / "a.json", rows), scope="project:new")
    assert sorted(str(one.scope) for one in world.everything().values()) == ["project:acme", "project:new"]


# --- again, and undone ---


@pytest.mark.parametrize("trust", [True, False])
def test_taking_a_store_in_twice_changes_nothing_the_second_time(world: World, tmp_path: Path, trust: bool):
    held = stores.observed(later=True)
    path = str(stores.observations_json(tmp_path / "c.json", held))
    world.person.import_(path, trust=trust)
    before, events = world.everything(), len(world.events())
    again = world.person.import_(path, trust=trust)
    assert (again.outcomes, again.sessions, again.relations, again.batch) == ({"known": 11}, 0, 0, "")
    assert (world.everything(), len(world.events())) == (before, events)


@pytest.mark.parametrize("trust", [True, False])
def test_one_undo_takes_back_memories_sessions_and_relations(world: World, tmp_path: Path, trust: bool):
    mine = world.person.remember("A thing of mine").memory
    path = str(stores.observations_json(tmp_path / "c.json", stores.observed(later=True)))
    answer = world.person.import_(path, trust=trust)
    assert answer.relations == 5
    world.person.undo(answer.batch)
    assert set(world.everything()) == {mine.id}
    assert world.person.session_list(everywhere=True).sessions == ()
    assert world.person.import_(path, trust=trust).outcomes == answer.outcomes


def test_an_import_in_one_step_is_taken_back_by_its_number(world: World, tmp_path: Path):
    world.person.remember("We deploy on Fridays")
    taken = world.person.import_(records_file(tmp_path / "a.json", 3), trust=True)
    world.person.remember("We test on Mondays")

    assert taken.event == 2
    world.person.undo(str(taken.event))
    assert {one.text for one in world.person.list(everywhere=True).memories} == {
        "We deploy on Fridays",
        "We test on Mondays",
    }
    assert world.person.import_(records_file(tmp_path / "b.json", 300), trust=True).event == 0


def test_an_undo_of_many_groups_goes_in_steps_and_can_be_taken_back(tmp_path: Path):
    with engram.open(tmp_path / "store.db") as memory:
        answer = memory.import_(records_file(tmp_path / "a.json", 1300), trust=True)
        assert len(memory.engine.events(batch=answer.batch, limit=1000)) == 7
        undone = memory.undo()
        assert (len(undone.gone), _taken(tmp_path / "store.db")) == (1300, 0)
        steps = memory.engine.events(newest=True, limit=4)
        assert {(one.action, one.batch) for one in steps} == {("undo", steps[0].batch)}
        memory.undo(steps[0].batch)
        assert _taken(tmp_path / "store.db") == 1300


def test_an_import_that_was_killed_goes_on_and_is_whole_in_the_end(tmp_path: Path):
    path, store = records_file(tmp_path / "a.json", 1600), tmp_path / "store.db"
    script = f"import engram; engram.open({str(store)!r}).import_({path!r}, trust=True)"
    child = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, "ENGRAM_EMBEDDER": "none"})
    while not store.exists() or _taken(store) < 400:
        assert child.poll() is None, "it was over before it could be killed"
        time.sleep(0.02)
    child.send_signal(signal.SIGKILL)
    child.wait()
    with engram.open(store) as memory:
        left = _taken(store)
        assert 400 <= left < 1600
        assert left % 200 == 0
        answer = memory.import_(path, trust=True)
        assert answer.outcomes == {"known": left, "new": 1600 - left}
        memory.undo()
        assert _taken(store) == 0


def test_an_import_is_a_batch_of_its_own_when_something_else_was_done_since(world: World, tmp_path: Path):
    path = rows_file(tmp_path / "a.json", [record(1), record(2)])
    first = world.person.import_(path, trust=True)
    world.person.remember("Something else")
    second = world.person.import_(rows_file(tmp_path / "b.json", [record(1), record(3)]), trust=True)
    assert first.batch != second.batch
    world.person.undo(second.batch)
    assert sorted(one.text for one in world.everything().values()) == [
        "Fact number 1",
        "Fact number 2",
        "Something else",
    ]


def _taken(store: Path) -> int:
    try:
        with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as db:
            return int(db.execute("SELECT count(*) FROM memory").fetchone()[0])
    except sqlite3.Error:
        return 0


# --- what is here already ---


def test_what_is_said_here_already_is_known_and_relations_find_it(world: World, tmp_path: Path):
    mine = world.person.remember("Fact number 2", scope="project:acme").memory
    path = rows_file(tmp_path / "a.json", [record(1, supersedes=["id-2"]), record(2)])
    answer = world.person.import_(path, trust=True)
    assert (answer.outcomes, answer.relations) == ({"new": 1, "known": 1}, 1)
    assert world.stands(mine.id) == "replaced"


def test_other_words_under_a_known_id_are_proposed_once_unless_they_are_older(world: World, tmp_path: Path):
    path = tmp_path / "a.json"
    world.person.import_(rows_file(path, stores.keyed()[:1]), trust=True)
    newer = stores.keyed()[0] | {"value": "We deploy on Mondays", "updatedAt": "2026-04-01T00:00:00Z"}
    for outcome in ("proposed", "known"):
        assert world.person.import_(rows_file(path, [newer]), trust=True).outcomes == {outcome: 1}
    waiting = [one for one in world.everything().values() if one.amends]
    assert [(one.text, one.status) for one in waiting] == [("We deploy on Mondays", "pending")]
    world.person.promote(waiting[0].id, confirm=True)
    assert world.now(foreign_id("keyed", "row-1")).text == "We deploy on Mondays"
    older = stores.keyed()[0] | {"value": "We deploy never", "updatedAt": "2025-12-31T00:00:00Z"}
    assert world.person.import_(rows_file(path, [older]), trust=True).outcomes == {"known": 1}


def test_a_key_that_is_taken_here_makes_a_proposal_and_changes_nothing(world: World, tmp_path: Path):
    mine = world.person.remember("We deploy on Sundays", key="deploy-day").memory
    answer = world.person.import_(rows_file(tmp_path / "a.json", stores.keyed()[:1]), trust=True)
    assert answer.outcomes == {"proposed": 1}
    assert world.now(mine.id).text == "We deploy on Sundays"


def test_a_text_that_was_rejected_here_stays_out(world: World, tmp_path: Path):
    world.person.reject(world.agent.remember("Fact number 1", kind="identity", scope="project:acme").memory.id)
    answer = world.person.import_(rows_file(tmp_path / "a.json", [record(1)]), trust=True)
    assert answer.outcomes == {"skipped": 1}
    assert "rejected before" in answer.problems[0]


# --- relations ---


def test_a_relation_whose_end_is_missing_is_a_problem_and_the_rest_goes_on(world: World, tmp_path: Path):
    held = stores.observed(later=True)
    held["relations"][0]["target_id"] = "obs-ffffffffffffffff"
    held["relations"][1]["target_id"] = held["relations"][1]["source_id"]
    answer = world.person.import_(str(stores.observations_json(tmp_path / "c.json", held)), trust=True)
    assert answer.relations == 3
    assert [problem.split(":")[0] for problem in answer.problems] == [
        "relation rel-0000000000000002",
        "relation rel-0000000000000001",
    ]
    assert answer.outcomes == {"new": 11, "skipped": 2}
    assert '"obs-ffffffffffffffff"' in answer.problems[1]


def test_memories_that_supersede_each_other_in_a_ring_are_not_all_hidden(world: World, tmp_path: Path):
    ring = [record(n, supersedes=[f"id-{(n + 1) % 3}"]) for n in range(3)]
    answer = world.person.import_(rows_file(tmp_path / "a.json", ring), trust=True)
    assert (answer.relations, answer.problems) == (3, ())
    assert "live" in {world.stands(one) for one in world.everything()}


# --- damage ---


def test_a_truncated_export_gives_what_it_has_and_says_that_it_ends_in_the_middle(world: World, tmp_path: Path):
    for make in (lambda path: stores.collection(path, stores.records()), _observations):
        path = make(tmp_path / "x.json")
        path.write_bytes(path.read_bytes()[:-700])
        answer = world.person.import_(str(path), dry_run=True)
        assert answer.outcomes["held"] >= 1
        assert "ends in the middle" in answer.problems[-1]


def _observations(path: Path) -> Path:
    return stores.observations_json(path, stores.observed(later=False))


def test_other_versions_and_schemas_are_named_and_refused(world: World, tmp_path: Path):
    later = stores.observations_json(tmp_path / "c.json", stores.observed(later=True))
    later.write_text(later.read_text(encoding="utf-8").replace('"0.2.0"', '"0.9.0"'), encoding="utf-8")
    stores.memory_v1(tmp_path / "b", stores.items())
    registry = tmp_path / "b" / "memory.md"
    registry.write_text(registry.read_text(encoding="utf-8").replace("memory.v1", "memory.v9"), encoding="utf-8")
    stores.chunks(tmp_path / "chunked", {"sessions": []})
    manifest = tmp_path / "chunked" / "manifest.json"
    manifest.write_text(
        manifest.read_text(encoding="utf-8").replace('"version": 1', '"version": 7'), encoding="utf-8"
    )
    db = sqlite3.connect(tmp_path / "other.db")
    db.execute("CREATE TABLE sessions (id TEXT)")
    db.execute("CREATE TABLE observations (id INTEGER, narrative TEXT)")
    db.close()
    named = {"c.json": "0.9.0", "b": "memory.v9", "chunked": "version 7", "other.db": "content"}
    for name, word in named.items():
        with pytest.raises(Invalid, match=word):
            world.person.import_(str(tmp_path / name), trust=True)
    assert world.events() == []


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_other_encodings_are_named_or_refused_and_never_taken_in_garbled(
    world: World, tmp_path: Path, encoding: str
):
    path = tmp_path / "a.json"
    path.write_bytes(json.dumps([record(1, content="Zürich")], ensure_ascii=False).encode(encoding))
    try:
        answer = world.person.import_(str(path))
    except EngramError:
        answer = None
    assert answer is None or "not UTF-8" in answer.problems[0]
    assert world.everything() == {}


def test_a_row_that_cannot_be_one_is_named_and_the_others_come_in(world: World, tmp_path: Path):
    bad = [
        record(1, content=None),
        record(2, content="x" * 70_000),
        record(3, scope="a\nb"),
        record(4, citations=[{"kind": "what", "ref": "x"}]),
        record(5, not_after="tomorrow"),
        record(6, content="bell \x07"),
        record(7),
    ]
    answer = world.person.import_(rows_file(tmp_path / "a.json", bad))
    assert answer.outcomes == {"skipped": 6, "held": 1}
    assert [problem.split(":")[0] for problem in answer.problems] == [f"row {n}" for n in range(1, 7)]


def test_a_line_that_is_damaged_is_named_and_the_others_come_in(world: World, tmp_path: Path):
    lines = [json.dumps(record(n)) for n in range(3)]
    lines[1] = lines[1][:-9]
    (tmp_path / "a.jsonl").write_text("\n".join(lines), encoding="utf-8")
    answer = world.person.import_(str(tmp_path / "a.jsonl"))
    assert (answer.outcomes, answer.problems) == ({"held": 2, "skipped": 1}, ("line 2: It is not a JSON object.",))


def test_a_damaged_or_missing_chunk_is_named_and_the_others_come_in(world: World, tmp_path: Path):
    held = stores.observed(later=True)
    parts = [{"sessions": held["sessions"], "observations": [one]} for one in held["observations"][:4]]
    folder = stores.chunks(tmp_path / ".engram", *parts)
    files = [tmp_path / ".engram" / "chunks" / f"{each['id']}.jsonl.gz" for each in _manifest(folder)]
    files[0].write_bytes(files[0].read_bytes()[:-20])
    files[1].unlink()
    files[2].write_bytes(gzip.compress(b'{"observations": []}'))
    answer = world.person.import_(str(folder), trust=True)
    assert [one.text for one in world.everything().values() if one.kind != "summary"] == ["Use UTC"]
    assert len([problem for problem in answer.problems if problem.startswith("chunk")]) == 3


def test_what_names_no_project_is_of_its_sessions_in_every_form_of_the_same_store(tmp_path: Path):
    held = stores.observed(later=True)
    stores.observations_db(tmp_path / "engram.db", held).close()
    stores.observations_json(tmp_path / "export.json", held)
    rows = {name: held[name] for name in ("observations", "prompts")}
    stores.chunks(tmp_path / ".engram", rows, {"sessions": held["sessions"]})
    told = []
    for name in ("engram.db", "export.json", ".engram"):
        world = World()
        world.person.import_(str(tmp_path / name), trust=True)
        told.append(sorted((one.text, str(one.scope), one.visibility) for one in world.everything().values()))

    assert "project:Web App" in {scope for _, scope, _ in told[0]}
    assert told[0] == told[1] == told[2]


def _manifest(folder: Path) -> list[Row]:
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["chunks"]


ODD = (
    None,
    True,
    -1,
    1e300,
    float("inf"),
    10**400,
    "",
    "[" * 100_000,
    "\ud800" * 3,
    "x" * 70_000,
    [],
    [5],
    {"a": {}},
)


def _observed(rows: list[Row]) -> Row:
    return {"version": "0.2.0", "sessions": [], "observations": rows, "prompts": []}


@pytest.mark.parametrize(
    ("form", "rows", "whole"),
    [
        ("records", stores.linked_records(), list),
        ("keyed", stores.keyed(), list),
        ("plain", [{**PLAIN[0], "key": "day", "importance": 5, "summary": "Fridays"}, PLAIN[1]], list),
        ("observations", stores.observed(later=True)["observations"], _observed),
    ],
)
def test_whatever_stands_in_a_field_the_other_rows_are_read(tmp_path: Path, form: str, rows: list[Row], whole: Any):
    path, read = tmp_path / "odd.json", known_forms()[form].read
    for name in rows[0]:
        for odd in ODD:
            path.write_text(json.dumps(whole([{**rows[0], name: odd}, *rows[1:]])), encoding="utf-8")
            found = list(read(forms.look(str(path))))

            told = {one.record.text for one in _given(found) if isinstance(one.record, Memory)}
            assert {_text(row) for row in rows[1:]} <= told, (name, str(odd)[:20])


def _given(found: list[forms.Foreign | forms.Problem]) -> list[forms.Foreign]:
    return [one for one in found if isinstance(one, forms.Foreign)]


def _text(row: Row) -> str:
    return str(row.get("content") or row.get("value") or row.get("text"))


def test_a_row_of_observations_that_is_no_object_is_named(tmp_path: Path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps(_observed([None, *stores.observed(later=True)["observations"]])))  # type: ignore[list-item] # as it says
    found = known_forms()["observations"].read(forms.look(str(path)))

    assert forms.Problem("one of the observations", "It is not a JSON object.") in found


def test_a_list_of_chunks_that_makes_no_sense_brings_nothing(world: World, tmp_path: Path):
    folder = stores.chunks(tmp_path / ".engram", {"observations": []})
    for listed in (5, [5], {}, None):
        (folder / "manifest.json").write_text(json.dumps({"version": 1, "chunks": listed}))
        assert world.person.import_(str(folder)).outcomes == {}
    (folder / "manifest.json").write_text("[" * 100_000)
    with pytest.raises(EngramError, match="is not JSON"):
        world.person.import_(str(folder))


def test_a_change_in_a_chunk_that_makes_no_sense_is_passed_over(world: World, tmp_path: Path):
    held = stores.observed(later=True)
    odd = [{"entity": "observation", "op": "upsert", "payload": said} for said in ("[" * 100_000, "{", 5, None, [])]
    folder = stores.chunks(tmp_path / ".engram", {"observations": held["observations"], "mutations": odd})

    assert world.person.import_(str(folder)).outcomes["held"] == len(held["observations"])


@pytest.mark.parametrize("said", ["[]", "[" * 100_000, '{"routing": 5}', '{"routing": {"reason": []}}'])
def test_what_waits_in_a_queue_waits_here_whatever_its_envelope_says(world: World, tmp_path: Path, said: str):
    folder = stores.memory_v1(tmp_path / "store", stores.items())
    (folder / "queue" / "mem-0006.json").write_text(said)
    world.person.import_(str(folder), trust=True)

    (waits,) = [one for one in world.everything().values() if one.text == "My passport is in the safe"]
    assert waits.status == "pending"


@pytest.mark.parametrize(
    ("reason", "held_for"),
    [
        ("people needs review", "curated_kind"),
        ("flagged for review at capture", "curated_kind"),
        ("conflict with existing memory", "conflict"),
        ("would edit: edits_curated_node", "edits_curated_node"),
        ("untrusted_origin", "untrusted_origin"),
        ("low confidence", "review_all"),
        ("sensitive", "review_all"),
        ("unmerged_branch", "review_all"),
        ("", "review_all"),
    ],
)
@pytest.mark.parametrize("nested", [True, False])
def test_a_reason_of_another_queue_means_the_same_whether_its_store_is_opened_or_taken_in(
    world: World, tmp_path: Path, reason: str, held_for: str, nested: bool
):
    folder = stores.memory_v1(tmp_path / "store", stores.items())
    said = {"routing": {"reason": reason}} if nested else {"memory": {}, "reason": reason}
    (folder / "queue" / "mem-0009.json").write_text(json.dumps(said))
    world.person.import_(str(folder), trust=True)
    for each in [folder, *folder.rglob("*")]:
        each.chmod(0o700 if each.is_dir() else 0o600)
    engine = open_files(folder)
    opened = {one.text: one.held_for for one in everything(engine) if isinstance(one, Memory)}
    engine.close()

    assert opened["My handle is alexr"] == held_for
    assert {one.text: one.held_for for one in world.everything().values()}["My handle is alexr"] == held_for


@pytest.mark.parametrize("odd", [{"fact": "half \ud800"}, {"id": ["mem-0001"]}, {"routing": {"reason": "\ud800"}}])
def test_an_odd_file_of_a_queue_keeps_nothing_else_from_being_taken_in(world: World, tmp_path: Path, odd: Row):
    folder = stores.memory_v1(tmp_path / "store", stores.items())
    told = stores.items()[5] | {"id": "mem-0020", "fact": "My second passport is lost"} | odd
    (folder / "queue" / "mem-0020.json").write_text(json.dumps(told), encoding="utf-8")
    world.person.import_(str(folder), trust=True)

    said = {one.text for one in world.everything().values()}
    assert said >= {row["fact"] for row in stores.items()}
    assert ("My second passport is lost" in said) == ("routing" in odd)


@pytest.mark.parametrize("opened", [True, False], ids=["opened", "taken in"])
def test_what_another_program_put_aside_for_a_person_never_goes_live_by_itself(
    world: World, tmp_path: Path, opened: bool
):
    folder, row = stores.memory_v1(tmp_path / "store", []), stores.items()[7] | {"decay": "200y", "risk_tier": 2}
    reasons: tuple[Row, ...] = ({}, {"routing": {"reason": "unmerged_branch"}}, {"routing": {"reason": "conflict"}})
    for n, said in enumerate(reasons, 1):
        told = row | {"id": f"mem-{n:04d}", "fact": f"Handle number {n} is alex{n}x"} | said
        (folder / "queue" / f"mem-{n:04d}.json").write_text(json.dumps(told))
    for each in [folder, *folder.rglob("*")]:
        each.chmod(0o700 if each.is_dir() else 0o600)
    with engram.open(f"files:{folder}") if opened else nullcontext(world.person) as memory:
        if not opened:
            memory.import_(str(folder), trust=True)
        routes = memory.ask("sync", apply=True).routes
        broken = [each for each in memory.doctor().findings if each.severity == "error"]

    assert [each.reason for each in sorted(routes, key=lambda each: each.memory.text)] == [
        "review_all",
        "review_all",
        "conflict",
    ]
    assert {each.action for each in routes} == {"queue"}
    assert broken == []


def test_a_chunk_cannot_name_a_file_elsewhere(world: World, tmp_path: Path):
    folder = stores.chunks(tmp_path / ".engram", {"sessions": []})
    (folder / "manifest.json").write_text('{"version": 1, "chunks": [{"id": "../../etc"}]}', encoding="utf-8")
    answer = world.person.import_(str(folder))
    assert "is not the name of a chunk" in answer.problems[0]


def test_what_unpacks_without_end_is_stopped():
    bomb = gzip.GzipFile(fileobj=io.BytesIO(gzip.compress(b"[" + b" " * 30_000_000)))
    unpacking = streams.Unpacking(bomb, most=1_000_000)
    with pytest.raises(EngramError, match="more than any store holds"):
        list(iter(unpacking.read, b""))


def test_a_value_without_end_is_not_held_in_memory():
    class Endless(io.BytesIO):
        def read(self, count: int | None = -1) -> bytes:
            return super().read(count) or b"x" * (count or 1)

    with pytest.raises(EngramError, match="too large"):
        list(streams.pieces(Endless(b'{"a": "')))


def test_a_database_that_its_program_has_open_is_read_with_its_log_and_left_alone(world: World, tmp_path: Path):
    db = stores.observations_db(tmp_path / "engram.db", stores.observed(later=True))
    db.execute("BEGIN IMMEDIATE")
    stores.insert(db, "sessions", {"id": "not yet", "project": "p", "directory": "d", "started_at": "2026-01-01"})
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    answer = world.person.import_(str(tmp_path / "engram.db"), trust=True)
    assert (answer.sessions, answer.outcomes) == (2, {"new": 11})
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before
    db.close()


def test_a_damaged_database_is_refused(world: World, tmp_path: Path):
    stores.observations_db(tmp_path / "engram.db", stores.observed(later=True)).close()
    body = bytearray((tmp_path / "engram.db").read_bytes())
    body[4096:] = b"\x5a" * (len(body) - 4096)
    (tmp_path / "engram.db").write_bytes(bytes(body))
    with pytest.raises(EngramError):
        world.person.import_(str(tmp_path / "engram.db"))


# --- size ---


def test_a_file_of_a_hundred_megabytes_is_streamed_within_bounded_memory(tmp_path: Path):
    """A file far larger than the memory it may take: the process would die if it held it."""
    path = tmp_path / "big.json"
    filler = "words of a long memory " * 2600
    with path.open("w", encoding="utf-8") as file:
        file.write('{"records": [')
        for n in range(1800):
            file.write(("," if n else "") + json.dumps(record(n, content=f"Fact {n} {filler}"[:60_000])))
        file.write("]}")
    assert path.stat().st_size > 100_000_000
    script = textwrap.dedent(f"""
        def most():  # not ru_maxrss: a process begins with that of the one that started it
            with open("/proc/self/status") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

        import engram
        from engram.surfaces import cli
        memory = engram.open("ram:")
        base = most()
        answer = memory.import_({str(path)!r}, dry_run=True)
        print(answer.outcomes["held"], (most() - base) // 1024)
    """)
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=250)
    held, grown = map(int, out.stdout.split())
    assert held == 1800
    assert grown < 60, f"it grew by {grown} MB"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ('{"id": "a", "content": "WORDS"}\n{"id": "b", "content": "short"}\n', ["line 1", "line 2"]),
        ('{"id": "a", "content": "WORDS"}', ["line 1"]),
        ('{"note": "WORDS", "records": [{"id": "a"}, {"id": "b"}]}', ["row 1", "row 2"]),
        ('{"records": [{"id": "a", "content": "WORDS"}]}', ["row 1"]),
        ('[{"id": "a", "content": "WORDS"}, {"id": "b"}]', ["row 1", "row 2"]),
    ],
)
@pytest.mark.parametrize("size", [10, FIRST_LINE])
def test_rows_are_told_by_their_first_line_however_long_it_is(
    tmp_path: Path, text: str, rows: list[str], size: int
):
    path = tmp_path / "rows.json"
    path.write_text(text.replace("WORDS", "w" * size))

    assert [name for name, row in streams.rows(str(path), ("records",)) if row] == rows


@pytest.mark.parametrize("dry_run", [True, False])
def test_an_import_is_told_how_far_it_came(world: World, tmp_path: Path, dry_run: bool):
    path = rows_file(tmp_path / "a.json", [record(n) for n in range(450)])
    told: list[tuple[int, int, str]] = []
    world.person.watched_by(lambda *said: told.append(said)).import_(path, dry_run=dry_run)

    assert [done for done, _, _ in told] == [200, 400, 450, 450]
    assert told[-1][:2] == (450, 450)


def test_nothing_of_the_import_is_loaded_before_it_is_asked_for():
    late = ("engram.interop.forms", "engram.interop.writing", "engram.operations.intake", "uuid", "csv")
    script = f"import sys, engram.service; print([m for m in {late!r} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_recognising_loads_neither_yaml_nor_a_database(tmp_path: Path):
    path = rows_file(tmp_path / "a.json", [record(1)])
    script = (
        "import sys; from engram.interop.forms import recognise; "
        f"recognise({path!r}); print([m for m in ('yaml', 'sqlite3') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_an_id_is_the_same_whenever_a_thing_is_read():
    assert foreign_id("records", "x") == foreign_id("records", "x")
    assert len({foreign_id("records", "x"), foreign_id("records", "y"), foreign_id("keyed", "x")}) == 3


def test_a_memory_of_another_store_is_never_somebody_elses(world: World, tmp_path: Path):
    world.other.import_(rows_file(tmp_path / "a.json", [record(1, owner="alex")]), trust=True)
    assert [one.owner for one in world.everything().values()] == ["kim"]
    assert world.person.list(everywhere=True).memories == ()
    mine: Memory = world.person.remember("Fact number 1", scope="project:acme").memory
    assert mine.owner == "alex"


def test_two_records_of_one_id_in_a_file_lose_neither_text(world: World, tmp_path: Path):
    row = {"id": "7", "category": "preference", "created_at": "2026-01-01T00:00:00Z"}
    rows = [row | {"content": "Tabs are four spaces wide"}, row | {"content": "Reviews happen before noon"}]
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows), encoding="utf-8")

    first = world.person.import_(str(path), form="records", trust=True)
    again = world.person.import_(str(path), form="records", trust=True)
    assert first.outcomes == {"new": 1, "proposed": 1}
    assert again.outcomes == {"known": 2}


def test_a_record_whose_secret_was_taken_out_is_known_again(world: World, tmp_path: Path):
    key = "AKIA" + "IOSFODNN7EXAMPLE"
    row = {"id": "7", "content": f"The key is {key} for now", "created_at": "2026-01-01T00:00:00Z"}
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([row]), encoding="utf-8")

    assert world.person.import_(str(path), form="records", trust=True).redacted
    assert world.person.import_(str(path), form="records", trust=True).outcomes == {"known": 1}


def _strangers(folder: Path) -> None:
    """Files that are of no form at all, or broken."""
    with closing(sqlite3.connect(folder / "other.db")) as database:
        database.execute("CREATE TABLE foo (a)")
    (folder / "cut.db").write_bytes((folder / "other.db").read_bytes()[:1500])
    (folder / "header.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    (folder / "empty").touch()
    (folder / "text.txt").write_text("hello\nworld")
    (folder / "bytes").write_bytes(bytes(range(256)) * 50)
    (folder / "list.json").write_text('[1, 2, "x", null, {"a": [[]]}]')
    (folder / "object.json").write_text('{"a": 1}')
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "bad.zip").write_bytes(b"PK\3\4" + b"junk" * 40)
    (folder / "odd.csv").write_text('a,b\n"unclosed,1\n')
    (folder / "folder").mkdir()
    (folder / "folder" / "x.bin").write_bytes(b"\0\1")
    (folder / "store").mkdir()
    (folder / "store" / "memory.md").write_bytes(b"---\nschema: memory.v1\nitems: [1, {a: b}\n---\n\xff\xfe")


@pytest.mark.parametrize("form", ["", *known_forms()])
def test_what_is_of_no_form_is_refused_or_passed_over_in_words_whatever_form_is_named(tmp_path: Path, form: str):
    _strangers(tmp_path)
    for path in sorted(tmp_path.iterdir()):
        world = World()
        with suppress(EngramError):
            answer = world.person.import_(str(path), form=form, trust=True)
            assert set(answer.outcomes) <= {"new", "skipped"}, path.name


# --- a plain list ---


def test_a_plain_list_needs_a_text_in_each_and_keeps_what_else_it_says(world: World, tmp_path: Path):
    path = rows_file(tmp_path / "mine.json", PLAIN)
    taken = world.person.import_(path, trust=True)
    first, second = sorted(world.person.list(everywhere=True).memories, key=lambda one: one.text)[::-1]

    assert (taken.outcomes, taken.dropped) == ({"new": 2, "skipped": 1}, {"colour": 1})
    assert (first.text, first.kind, first.tags) == ("We deploy on Fridays", "convention", ("release",))
    assert f"{first.created_at:%Y-%m-%d}" == "2026-05-01"
    assert (str(first.scope), str(second.scope)) == ("global", "project:acme/api")
    assert "row 3" in str(taken.problems)


def test_a_plain_list_read_again_brings_nothing_new_and_waits_without_trust(world: World, tmp_path: Path):
    path = rows_file(tmp_path / "mine.json", PLAIN[:2])

    assert world.person.import_(path).outcomes == {"held": 2}
    assert world.person.import_(path).outcomes == {"known": 2}


def test_a_transcript_with_texts_deep_inside_is_no_plain_list(tmp_path: Path):
    line = {"type": "assistant", "message": {"content": [{"type": "text", "text": "Done."}]}}
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps(line))

    assert not known_forms()["plain"].recognises(forms.look(str(path)))


def test_what_has_no_time_stays_in_the_order_of_the_file(world: World, tmp_path: Path):
    said = [f"Fact number {n}" for n in range(300)]
    path = rows_file(tmp_path / "mine.json", [{"text": text} for text in said])
    world.person.import_(path, trust=True)

    assert [one.text for one in world.person.list(limit=300).memories] == said[::-1]  # the newest first
    assert world.person.import_(path, trust=True).outcomes == {"known": 300}


@pytest.mark.parametrize(("count", "told"), [(40, True), (3, False)])
def test_an_import_says_that_vectors_are_missing_where_recall_would_not_make_them_by_the_way(
    tmp_path: Path, count: int, told: bool
):
    path = rows_file(tmp_path / "mine.json", [{"text": f"Fact number {n}"} for n in range(count)])
    world = World(embedder=Concepts({}))

    assert "engram reembed" not in world.person.import_(path, dry_run=True).hint
    assert ("engram reembed" in world.person.import_(path).hint) == told
    assert world.person.import_(path).hint == ""  # nothing is new
    assert World().person.import_(path).hint == ""
