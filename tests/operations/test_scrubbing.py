"""How clean a store is, told of ours and of others'; and secrets taken out of what is stored, on every engine."""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from engines.servers import database_url, new_org, shared_database
from engines.stores import open_files
from engram.engines.postgres import PostgresEngine
from engram.engines.ram import RamEngine
from engram.engines.sqlite import SqliteEngine
from engram.errors import Conflict, Forbidden, Invalid, NotFound, Unconfirmed
from engram.model.caller import Caller
from engram.model.filter import ANYTHING, Access
from engram.model.memory import Asset, Context, Memory
from engram.model.relation import Relation
from engram.model.scope import Scope
from engram.model.session import Session, session_ids
from engram.ports import Engine
from engram.rules.changes import Step, compose
from engram.rules.relations import pair_id
from interop import foreign_stores as stores
from interop.dirty_stores import DIRTY_STORES, GH, dirty_observations
from interop.peer_samples import everything as samples
from rules.world import START, World, request

KEY = "AKIA" + "IOSFODNN7EXAMPLQ"
BESIDE = "AKIA" + "Q7PLMXSESSIONRES"  # of the tests that read every row of a database that others use too
ME = Caller(owner="", actor="alex@example.org")


@pytest.fixture(params=["ram", "sqlite", "files", "postgres"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    engines = {
        "ram": lambda: RamEngine("replica"),
        "sqlite": lambda: SqliteEngine(tmp_path / "store" / "engram.db", new_replica=lambda: "replica"),
        "files": lambda: open_files(tmp_path / "store"),
        "postgres": lambda: new_org(shared_database()),
    }
    engine: Engine = engines[request.param]()
    world = World(engine=engine)
    world.person = world.as_(ME)
    yield world
    world.close()


def planted(world: World, text: str, **fields: object) -> Memory:
    """A memory that came into the store before it was known what a secret looks like."""
    values = {"owner": "", "status": "promoted", "created_at": START, "updated_at": START, "tier": 1} | fields
    memory = Memory(id=f"{world.new_id()}-planted", text=text, kind="infra", **values)  # type: ignore[arg-type]
    world.engine.commit(compose("remember", request(ME), [Step(None, memory)]))
    return memory


def kept(world: World) -> list[Memory]:
    found = world.engine.scan("memory", ANYTHING, Access(""), limit=1000).records
    return [one for one in found if isinstance(one, Memory)]


def told(world: World, tmp_path: Path) -> str:
    """Everything that can be read of a store: what it answers, and the bytes it keeps."""
    raw = b"".join(one.read_bytes() for one in tmp_path.rglob("*") if one.is_file())
    others = [world.engine.scan(type, ANYTHING, Access("")).records for type in ("session", "relation")]
    answers = repr((kept(world), others, world.events(), world.person.history()))
    return answers + raw.decode("utf-8", "replace") + rows(world)


def rows(world: World) -> str:
    """Every row of every table, where a store is a database."""
    if not isinstance(world.engine, PostgresEngine):
        return ""
    with psycopg.connect(database_url()) as db:
        names = (
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname !~ '^(pg_|information)'"
        )
        tables = [name for (name,) in db.execute(names).fetchall()]
        return "".join(text for name in tables for (text,) in db.execute(f"SELECT each::text FROM {name} each"))


def worked(world: World, **fields: object) -> Session:
    """A session that came into the store before it was known what a secret looks like."""
    values = {"id": "night shift", "name": "night shift", "owner": "", "started_at": START} | fields
    session = Session(**values)  # type: ignore[arg-type]
    world.engine.commit(compose("begin", request(ME), [Step(None, session)]))
    return session


def tied(world: World, one: Memory, other: Memory, **fields: object) -> Relation:
    """A verdict that came into the store before it was known what a secret looks like."""
    values = {"kind": "related", "status": "judged", "owner": "", "created_at": START, "updated_at": START} | fields
    relation = Relation(id=pair_id("", one.id, other.id), from_id=one.id, to_id=other.id, **values)  # type: ignore[arg-type]
    world.engine.commit(compose("relate", request(ME), [Step(None, relation)]))
    return relation


def sessions(world: World) -> list[Session]:
    found = world.engine.scan("session", ANYTHING, Access("")).records
    return [one for one in found if isinstance(one, Session)]


def test_a_scrub_leaves_the_memory_without_its_secret_and_no_trace_of_it_anywhere(world: World, tmp_path: Path):
    memory = planted(world, f"The bucket is reached with {KEY} from the office", key="bucket", tags=("s3",))
    other = world.person.remember("The bucket lies in Oslo").memory
    world.person.relate(memory.id, other.id, "compatible", reason="one bucket")
    world.person.recall("bucket office")
    assert KEY in told(world, tmp_path) or KEY in repr(world.events())
    preview = world.person.scrub(dry_run=True)
    assert ([row.memory for row in preview.memories], preview.dry_run) == ([world.now(memory.id).handle], True)
    with pytest.raises(Unconfirmed):
        world.person.scrub()
    assert world.now(memory.id).text == memory.text

    done = world.person.scrub(confirm=True)
    assert (len(done.memories), done.traces, done.remains) == (1, 0, 0)
    assert KEY not in told(world, tmp_path)
    assert KEY not in repr(done)
    with pytest.raises(NotFound):
        world.person.get(memory.id)
    [copy] = [one for one in kept(world) if one.key == "bucket"]
    assert copy.text.startswith("The bucket is reached with [redacted:")
    same = ("tags", "kind", "status", "created_at", "apart", "scope", "visibility")
    assert [getattr(copy, name) for name in same] == [getattr(memory, name) for name in same]
    [tie] = world.engine.scan("relation", ANYTHING, Access("")).records
    assert isinstance(tie, Relation)
    assert (tie.from_id, tie.to_id, tie.kind, tie.reason) == (copy.id, other.id, "compatible", "one bucket")
    assert world.person.recall("bucket office").hits[0].memory.id == copy.id
    assert world.person.doctor().healthy
    assert world.person.scrub(confirm=True).memories == ()


def test_earlier_words_that_held_a_secret_are_erased_too(world: World, tmp_path: Path):
    memory = planted(world, f"The bucket is reached with {KEY}")
    world.person.revise(memory.id, text="The bucket is reached with a key from the vault")
    gone = planted(world, f"Another one with {KEY} in it")
    world.person.undo()
    report = world.person.hygiene()
    assert {row.name: row.count for row in report.rows}["secrets"] == 2
    done = world.person.scrub(confirm=True)
    assert (len(done.memories), done.remains) == (1, 1), gone
    assert KEY not in told(world, tmp_path)
    assert [one.text for one in kept(world)] == ["The bucket is reached with a key from the vault"]


def test_a_session_loses_its_secret_and_is_still_found_by_its_name(world: World, tmp_path: Path):
    repo = Context(repo=f"https://x:{BESIDE}@example.org/api.git", branch="main")
    session = worked(world, context=repo, agent="codex", scope=Scope("project", "api"), ended_at=START)
    assert BESIDE in told(world, tmp_path)
    [row] = world.person.hygiene().rows
    assert (row.name, row.count, row.examples) == ("secrets", 1, ("session night shift",))
    preview = world.person.scrub(dry_run=True)
    assert [(one.memory, one.copy) for one in preview.sessions] == [("night shift", "night shift")]
    with pytest.raises(Unconfirmed):
        world.person.scrub()

    done = world.person.scrub(confirm=True)
    assert ([one.memory for one in done.sessions], done.memories, done.traces) == (["night shift"], (), 0)
    assert BESIDE not in told(world, tmp_path) + repr((done, preview))
    [copy] = sessions(world)
    assert copy.id == session_ids("", "night shift")[1] != session.id
    same = ("name", "agent", "scope", "started_at", "ended_at", "owner")
    assert [getattr(copy, name) for name in same] == [getattr(session, name) for name in same]
    assert copy.context.branch == "main"
    again = world.person.session_begin("night shift")
    assert (again.resumed, again.session.id) == (True, copy.id)
    assert world.person.doctor().healthy
    assert (world.person.scrub(confirm=True).sessions, world.person.hygiene().rows) == ((), ())


def test_what_agents_and_places_are_called_is_no_trace_of_what_was_said_there(world: World, tmp_path: Path):
    made = Context(agent="claude-code", project="github.com/acme/api", branch="feature/buckets")
    place = Scope("project", "github.com/acme/api")
    world.as_(ME._replace(agent="claude-code")).session_begin("the night shift")
    memory = planted(world, "The bucket is reached from afar", context=made, scope=place)
    assert world.person.purge(memory.id, confirm=True).traces == 0
    assert "from afar" not in told(world, tmp_path)


def test_a_verdict_loses_its_secret_with_one_of_its_memories(world: World, tmp_path: Path):
    one, other = (
        planted(world, "The bucket lies in Oslo"),
        planted(world, "Backups go to the bucket", key="backups"),
    )
    tied(world, one, other, reason=f"both need {BESIDE}", evidence="one bucket for all of it", theirs=f"k {BESIDE}")
    assert BESIDE in told(world, tmp_path)
    assert [row.name for row in world.person.hygiene().rows] == ["secrets"]
    done = world.person.scrub(confirm=True)
    assert (len(done.memories), done.traces, done.remains) == (1, 0, 0)
    assert BESIDE not in told(world, tmp_path)
    [relation] = world.engine.scan("relation", ANYTHING, Access("")).records
    assert isinstance(relation, Relation)
    ends = {each.text for each in kept(world) if each.id in (relation.from_id, relation.to_id)}
    assert ends == {"The bucket lies in Oslo", "Backups go to the bucket"}
    assert (relation.kind, relation.status) == ("related", "judged")
    assert relation.reason == "both need [redacted:aws-access-key]"
    assert relation.evidence == "one bucket for all of it"
    world.person.relate(relation.from_id, relation.to_id, "compatible")  # a verdict on the pair changes it
    [changed] = world.engine.scan("relation", ANYTHING, Access("")).records
    assert (changed.id, world.person.doctor().healthy) == (relation.id, True)


def test_a_reason_in_history_and_the_name_of_an_attachment_lose_their_secrets(world: World, tmp_path: Path):
    file = Asset("0" * 64, f"{BESIDE}.txt", "text/plain", 3)
    attached = planted(world, "The bucket lies in Oslo", assets=(file,))
    rejected = planted(world, "The bucket lies in Rome")
    change = compose("forget", request(ME), [Step(world.now(rejected.id), None)], note={"reason": f"not {BESIDE}"})
    world.engine.commit(change)
    assert BESIDE in told(world, tmp_path)
    done = world.person.scrub(confirm=True)
    assert (len(done.memories), done.remains, done.traces) == (1, 1, 0)
    assert BESIDE not in told(world, tmp_path)
    [copy] = kept(world)
    assert (copy.text, copy.assets[0].sha256) == (attached.text, file.sha256)
    assert copy.assets[0].name == "[redacted:aws-access-key].txt"


def test_a_dry_run_tells_of_what_only_history_holds():
    world = World(engine=RamEngine("replica"))
    world.person = world.as_(ME)
    planted(world, f"The bucket is reached with {KEY}")
    world.person.undo()
    assert (world.person.scrub(dry_run=True).remains, world.person.scrub(confirm=True).remains) == (1, 1)
    assert world.person.scrub(dry_run=True).remains == 0


def test_a_session_called_by_a_secret_is_scrubbed_and_what_cannot_be_is_told():
    world = World(engine=RamEngine("replica"))
    world.person = world.as_(ME)
    worked(world, id=f"shift {KEY}", name=f"shift {KEY}")
    done = world.person.scrub(confirm=True)
    [copy] = sessions(world)
    assert copy.id == copy.name == "shift [redacted:aws-access-key]"
    assert world.person.session_begin(f"shift {KEY}").session.id == copy.id
    assert any("engram export FILE" in place for place in done.places)
    assert KEY not in repr((done, world.person.hygiene()))
    assert world.person.hygiene().problems


def test_a_session_that_was_scrubbed_is_known_to_an_import_of_it(tmp_path: Path):
    world = World(engine=RamEngine("replica"))
    world.person = world.as_(ME)
    session = worked(world, context=Context(repo=f"https://x:{KEY}@example.org/api.git"))
    planted(world, "The bucket lies in Oslo", session=session.name)
    world.person.export(str(tmp_path / "before.jsonl"))
    world.person.scrub(confirm=True)
    [copy] = sessions(world)
    world.person.import_(str(tmp_path / "before.jsonl"), trust=True)
    assert [one.id for one in sessions(world)] == [copy.id]


def test_what_is_nothing_but_a_secret_is_erased(world: World, tmp_path: Path):
    planted(world, KEY)
    [row] = world.person.scrub(confirm=True).memories
    assert (row.copy, kept(world)) == ("", [])
    assert KEY not in told(world, tmp_path)


def test_proposals_and_what_it_replaced_stay_with_the_copy():
    world = World(engine=RamEngine("replica"))
    world.person = world.as_(ME)
    memory = planted(world, f"The key is {KEY} and so on")
    proposal = planted(world, "The key is in the vault", amends=memory.id, status="pending", held_for="conflict")
    old = planted(world, "The key is on a note", replaced_by=memory.id)
    world.person.scrub(confirm=True)
    [copy] = [one for one in kept(world) if "redacted" in one.text]
    assert (world.now(proposal.id).amends, world.now(old.id).replaced_by) == (copy.id, copy.id)
    world.person.promote(proposal.id)
    assert world.now(copy.id).text == "The key is in the vault"


def test_a_scrub_that_was_stopped_after_the_copy_goes_on():
    world = World(engine=RamEngine("replica"))
    world.person = world.as_(ME)
    memory = planted(world, f"The key is {KEY} and so on", key="k")
    commit, engine = world.engine.commit, world.engine

    def stopped(change: object, *more: object) -> object:
        if change.erase:  # type: ignore[attr-defined]
            raise Conflict("stopped", "")
        return commit(change, *more)  # type: ignore[arg-type]

    engine.commit = stopped  # type: ignore[method-assign, assignment]
    with pytest.raises(Conflict):
        world.person.scrub(confirm=True)
    engine.commit = commit  # type: ignore[method-assign]
    assert len(kept(world)) == 2
    world.person.scrub(confirm=True)
    [copy] = kept(world)
    assert (copy.key, copy.apart, copy.id != memory.id) == ("k", False, True)


def test_a_scrub_is_not_undone_and_stands_in_no_ones_way():
    world = World(engine=RamEngine("replica"))
    world.person = world.as_(ME)
    planted(world, f"The key is {KEY} and so on")
    world.person.scrub(confirm=True)
    with pytest.raises(Conflict):
        world.person.undo()
    last = world.person.history(limit=1).events[0]
    assert last.action == "scrub"
    with pytest.raises(Conflict, match="what held a secret is erased for good"):
        world.person.undo(str(last.seq))
    made = world.person.remember("Something else").memory
    world.person.undo()
    assert made.id not in {one.id for one in kept(world)}


def test_nobody_scrubs_what_is_anothers_and_no_agent_scrubs():
    world = World()
    planted(world, f"The key is {KEY}", owner="kim")
    assert world.person.scrub(confirm=True).memories == ()
    with pytest.raises(Forbidden):
        world.agent.scrub(confirm=True)


# --- the report ---


def test_a_report_tells_counts_examples_and_the_command_that_mends():
    world = World(engine=RamEngine("replica"))
    world.person = world.as_(ME)
    words = "We deploy the billing service on Fridays at noon after the nightly build is green"
    for text in (words, words.replace("nightly ", ""), "ok", f"The key is {KEY}"):
        planted(world, text)
    report = world.person.hygiene()
    rows = {row.name: row for row in report.rows}
    assert {name: row.count for name, row in rows.items()} == {"secrets": 1, "near repeats": 1, "empty words": 1}
    assert (report.junk, report.in_use, report.junk_rate) == (2, 4, 0.5)
    assert rows["empty words"].mend == "engram forget mem-0003"
    assert rows["near repeats"].examples[0].startswith("mem-0002 ~ mem-0001: We deploy")
    assert KEY not in repr(report)


def test_the_mend_of_what_nearly_repeats_another_works_where_it_waits_itself():
    world = World(engine=RamEngine("replica"))
    world.person = world.as_(ME)
    words = "We deploy the billing service on Fridays at noon after the nightly build is green"
    planted(world, words)
    waits = planted(world, words.replace("nightly ", ""), status="pending", held_for="untrusted_origin")
    assert [row.mend for row in world.person.hygiene().rows] == ["engram forget mem-0002"]

    world.person.forget(waits.id)
    assert world.person.hygiene().rows == ()


def test_a_report_holds_only_what_the_caller_may_read():
    world = World()
    world.person.remember("ok")
    assert (world.person.hygiene().memories, world.other.hygiene().memories) == (1, 0)


def test_every_store_that_can_be_read_can_be_looked_at_and_nothing_is_written(tmp_path: Path):
    world = World()
    (tmp_path / "samples").mkdir()
    paths = {name: path for name, (_, path) in samples(tmp_path / "samples").items()}
    paths["memory.v1"] = stores.memory_v1(tmp_path / "b", stores.items())
    stores.observations_db(tmp_path / "engram.db", stores.observed(later=True)).close()
    paths["observations"] = tmp_path / "engram.db"
    before = {str(one): one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()}
    looked = {name: world.person.hygiene(str(path)) for name, path in paths.items()}
    assert {str(one): one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()} == before
    assert world.events() == []
    assert all(report.form for report in looked.values())
    assert {name: report.memories for name, report in looked.items()}["observations"] == 11
    assert {row.name for row in looked["observations"].rows} == {"repeats"}


def test_the_repeats_and_secrets_of_another_store_are_told_by_their_names_there(tmp_path: Path):
    rows = [
        {"id": f"m{n}", "memory": text, "user_id": "u", "created_at": "2026-01-01T00:00:00Z", "hash": "x"}
        for n, text in enumerate(
            ("Likes tea in the morning", "Likes tea in the morning", f"AWS key {KEY} for s3", "hi")
        )
    ]
    path = tmp_path / "mem0.json"
    path.write_text(json.dumps({"results": rows}), encoding="utf-8")
    report = World().person.hygiene(str(path))
    told = {row.name: (row.count, row.examples[0].partition(":")[0]) for row in report.rows}
    assert told == {
        "secrets": (1, "memory m2"),
        "repeats": (1, "memory m1 ~ memory m0"),
        "empty words": (1, "memory m3"),
    }
    assert (report.form, report.junk) == ("mem0", 2)
    assert sum(report.secrets.values()) == 1
    assert report.hint == (
        "Nothing was written. An import leaves its secrets behind. Once imported, engram doctor --hygiene has a"
        f" command for the rest. Take it in: engram import {path} --dry-run"
    )


@pytest.mark.parametrize("made", DIRTY_STORES.values(), ids=DIRTY_STORES)
def test_the_owner_of_another_store_is_told_what_ails_it_and_the_next_step_works(tmp_path: Path, made: object):
    path = made(tmp_path)  # type: ignore[operator]
    world = World(engine=RamEngine("replica"))
    report = world.person.hygiene(str(path))
    counts = {row.name: row.count for row in report.rows if row.name not in ("stale", "expired")}
    secrets = {dirty_observations: 3}.get(made, 1)  # its session and its relation hold one too
    junk = ("recall loops", "repeats", "near repeats", "empty words")
    assert (counts, report.junk) == ({"secrets": secrets, **dict.fromkeys(junk, 1)}, 4)
    assert GH not in repr(report)
    [command] = re.findall(r"engram import (.+?) --dry-run", report.hint)
    assert shlex.split(command) == [str(path)]
    world.person.import_(shlex.split(command)[0], trust=True)
    assert GH not in told(world, tmp_path / "none")
    ours = {row.name: row for row in world.person.hygiene().rows}
    assert "secrets" not in ours
    assert all(row.mend for row in ours.values())


def test_what_cannot_be_read_of_another_store_is_counted_and_what_nobody_knows_has_a_way(tmp_path: Path):
    lines = [
        '{"type":"entity","name":"api","entityType":"project","observations":["Is written in Go"]}',
        *["{"] * 25,
    ]
    (tmp_path / "memory.jsonl").write_text("\n".join(lines), encoding="utf-8")
    problems = World().person.hygiene(str(tmp_path / "memory.jsonl")).problems
    assert (len(problems), problems[-1]) == (21, "and 5 more")
    (tmp_path / "what.json").write_text("{}", encoding="utf-8")
    with pytest.raises(Invalid) as refused:
        World().person.hygiene(str(tmp_path / "what.json"))
    assert refused.value.hint.endswith("A store of Engram's own is looked at with --store PATH.")
