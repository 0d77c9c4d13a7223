"""The laws for `sqlite`, and what erasing means for the bytes of its file."""

import math
import random
import re
import string
import struct
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from engines.asking import embed, found
from engines.laws import EngineLaws, NewEngine
from engines.samples import EAST, MINE, SPACE, START, Story, change, everything, later, memory, purge
from engines.stores import count, open_store, raw, raw_bytes, statements
from engram.engines import sqlite_file, sqlite_words
from engram.engines.sqlite import SqliteEngine
from engram.engines.sqlite_rows import fetch
from engram.errors import Conflict, Corrupt
from engram.model.change import Token, noted_at
from engram.model.codec import RECORDS
from engram.model.filter import Access, Filter
from engram.model.memory import Citation
from engram.model.query import Backlog, Query, Space
from engram.model.record import replace
from engram.model.scope import Scope

STRIPES = (3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3)
STRIPED = struct.pack("<16e", *(each / math.sqrt(sum(n * n for n in STRIPES)) for each in STRIPES))
"""A vector, and how it is kept."""


class TestSqlite(EngineLaws):
    @pytest.fixture
    def new_engine(self, tmp_path: Path) -> Iterator[NewEngine]:
        made: list[SqliteEngine] = []

        def new() -> SqliteEngine:
            made.append(SqliteEngine(tmp_path / f"{len(made)}.db", new_replica=lambda: "replica"))
            return made[-1]

        yield new
        for engine in made:
            engine.close()


def rare(dice: random.Random, length: int = 14) -> str:
    return "".join(dice.choice(string.ascii_lowercase) for _ in range(length))


def rare_text(dice: random.Random, words: int) -> str:
    return " ".join(rare(dice) for _ in range(words))


def pieces(content: bytes) -> set[bytes]:
    """Every stretch of ten characters that may be prose or a hash."""
    runs = re.findall(rb"[a-z0-9 ]{10,}", content)
    return {run[at : at + 10] for run in runs for at in range(len(run) - 9)}


def left_of(texts: list[str], path: Path) -> set[bytes]:
    """Pieces of the texts that can still be read in the raw files; a word is a piece, and longer than ten."""
    return pieces("\n".join(texts).encode()) & pieces(raw_bytes(path))


@pytest.mark.parametrize("words", [3, 60, 4000], ids=["small", "page", "overflowing"])
def test_e10_the_raw_files_keep_no_piece_of_a_purged_text(tmp_path, words):
    dice, engine = random.Random(words), open_store(tmp_path / "store.db")
    story = Story(engine)
    secret, summary, tag, excerpt = rare_text(dice, words), rare_text(dice, 5), rare(dice), rare_text(dice, 20)
    for n in range(30):
        story.remember(f"{rare_text(dice, 8)} {n}")
    token = Token("", "remember", rare(dice), rare(dice))
    cited = (Citation("file", f"{rare(dice)}.py", excerpt=excerpt),)
    gone = story.remember(secret, summary=summary, tags=(tag,), citations=cited, key="some-key", token=token)
    engine.put_vectors(Space("stripes", 16), [(gone.id, gone.imprint, struct.pack("<16f", *STRIPES))])
    for n in range(30):
        story.remember(f"{rare_text(dice, 8)} {n}")
    erased = [secret, summary, tag, excerpt, cited[0].ref, gone.digest, token.name]
    assert all(left_of([each], engine.path) for each in erased)
    assert STRIPED in raw_bytes(engine.path)

    done = story.purge(gone)

    assert done.traces == 0
    assert left_of(erased, engine.path) == set()
    assert STRIPED not in raw_bytes(engine.path)
    assert len(everything(engine)) == 60
    engine.close()
    assert left_of(erased, engine.path) == set()


def test_e10_the_raw_files_keep_no_earlier_wording_of_a_purged_memory(tmp_path):
    dice, engine = random.Random("others"), open_store(tmp_path / "store.db")
    story, texts = Story(engine), [rare_text(random.Random(n), 40 * n) for n in range(1, 6)]
    for text in texts:
        story.remember(text, key="some-key")
        story.remember(rare_text(dice, 30))
    (gone,) = [each for each in everything(engine) if each.key]
    assert gone.revision == 5

    assert story.purge(gone).traces == 0
    assert left_of(texts, engine.path) == set()
    engine.close()


def test_e10_many_purges_among_many_memories_leave_no_piece_of_any(tmp_path):
    dice, engine = random.Random(7), open_store(tmp_path / "store.db")
    texts = [rare_text(dice, dice.randrange(2, 120)) for _ in range(250)]
    records = [memory(f"id-{n:04d}", text) for n, text in enumerate(texts)]
    for record in records:
        engine.commit(change(record, claims={record.id: (record.digest,)}, batch=record.id))
    gone = dice.sample(records, 60)
    for n, record in enumerate(gone):
        assert engine.commit(purge(record, batch=f"p{n}")).traces == 0

    assert left_of([part for record in gone for part in (record.text, record.digest)], engine.path) == set()
    assert len(everything(engine)) == 190
    assert engine.check() == []
    engine.close()


def test_e10_no_table_knows_a_purged_memory_but_history(tmp_path):
    engine = open_store(tmp_path / "store.db")
    story = Story(engine)
    gone = story.remember("The zebra runs at night", token=Token("", "remember", "t", "r"))
    engine.put_vectors(SPACE, [(gone.id, gone.imprint, EAST)])
    story.purge(gone)

    tables = ("memory", "words_docsize", "claim", "token", "vector")
    assert {table: count(engine.path, table) for table in tables} == dict.fromkeys(tables, 0)
    assert raw(engine.path, "SELECT payload FROM event WHERE seq = 1") == [(None,)]
    assert count(engine.path, "event") == 2
    engine.close()


def test_e10_a_piece_another_memory_holds_is_no_trace(tmp_path):
    engine = open_store(tmp_path / "store.db")
    text = "The zebra runs at night over the wide open plains of the north"
    engine.commit(change(memory("id-1", text), batch="b1"))
    engine.commit(change(memory("id-2", text, apart=True), batch="b2"))

    assert engine.commit(purge(memory("id-1"), batch="b3")).traces == 0
    assert engine.get("memory", ["id-2"], MINE)["id-2"].text == text
    engine.close()


def test_e10_a_purge_goes_through_all_documents_only_for_what_is_left_in_the_raw_files(tmp_path):
    """A long text has a thousand pieces, and a large store takes a second to go through."""
    engine = open_store(tmp_path / "store.db")
    text = rare_text(random.Random(3), 400)
    engine.commit(change(memory("id-1", text), batch="b1"))
    engine.commit(change(memory("id-2", text[:60]), batch="b2"))
    told = statements(engine, lambda: engine.commit(purge(memory("id-1"), batch="b3")))

    assert told.count("instr(doc, ?1)") // len(RECORDS) in (1, 2)
    assert left_of([text[100:]], engine.path) == set()
    engine.close()


def test_e10_a_reason_of_another_event_that_says_the_same_words_is_a_trace_and_is_named(tmp_path):
    engine = open_store(tmp_path / "store.db")
    story = Story(engine)
    gone, other = story.remember("The secret falcon"), story.remember("We deploy on Fridays")
    after = replace(other, forgotten_at=later(9), revision=2)
    engine.commit(change(after, was=other, batch="b9", note={"reason": "because of The secret falcon"}))
    done = story.purge(gone)

    assert b"secret falcon" in raw_bytes(engine.path)
    assert done.traces > 0
    assert done.places == (noted_at(3),)
    engine.close()


def test_e10_a_reader_that_holds_the_log_makes_the_traces_known(tmp_path, monkeypatch):
    """While another process still reads the state before, the log cannot be emptied: the answer says so."""
    monkeypatch.setattr(sqlite_file, "BUSY_MS", 50)
    engine = open_store(tmp_path / "store.db")
    story = Story(engine)
    gone = story.remember("The zebra runs at night over the wide open plains")
    other = open_store(engine.path)
    reader = other._connection()
    reader.execute("BEGIN; SELECT count(*) FROM memory").fetchall()

    assert story.purge(gone).traces > 0
    reader.execute("ROLLBACK")
    other.close()
    engine.close()
    assert left_of([gone.text], engine.path) == set()


def test_a_ref_that_is_no_unicode_names_nothing(tmp_path):
    engine = open_store(tmp_path / "store.db")

    assert engine.get("memory", ["abcd\udcff"], MINE) == {}


def test_e5_what_a_change_only_read_may_be_expected_too(tmp_path):
    engine = open_store(tmp_path / "store.db")
    engine.commit(change(memory("id-1")))
    with pytest.raises(Conflict):
        engine.commit(change(memory("id-2"), expects={"id-2": 0, "id-1": 2}, batch="b2"))
    engine.commit(change(memory("id-2"), expects={"id-2": 0, "id-1": 1}, batch="b2"))


def test_a_rare_word_does_not_hide_those_who_carry_only_the_common_ones(tmp_path, monkeypatch):
    """Not every match of a common word is scored in a large store; but as many are found as were asked for."""
    monkeypatch.setattr(sqlite_words, "MOST_SCORED", 10)
    engine = open_store(tmp_path / "store.db")
    texts = ["rare", "rare common", *(f"common {n}" for n in range(60))]
    engine.commit(change(*(memory(f"id-{n:02d}", text) for n, text in enumerate(texts))))

    for limit in (1, 2, 20, 100):
        hits = found(engine, "rare", "common", every=False, limit=limit)
        assert len(hits) == min(limit, 62)
        assert set(hits[:2]) <= {"id-00", "id-01"}
    assert found(engine, "rare", "common") == ["id-01"]
    engine.close()


@pytest.mark.parametrize("small", [0, sqlite_words.SMALL], ids=["asked for", "all kept"])
def test_a_census_follows_every_change_whoever_makes_it(tmp_path, monkeypatch, small):
    monkeypatch.setattr(sqlite_words, "SMALL", small)
    monkeypatch.setattr(sqlite_words, "DRIFT", -1)  # nothing may lag behind here
    engine, other = (open_store(tmp_path / "store.db", name) for name in ("one", "other"))
    counts = lambda: dict(engine.census(("zebra", "lion", "zeb*", "l*"), MINE).carriers)  # noqa: E731
    assert set(counts().values()) == {0}
    first = memory("id-1", "a zebra")
    other.commit(change(first))
    assert counts() == {"zebra": 1, "lion": 0, "zeb*": 1, "l*": 0}
    other.commit(change(replace(first, text="a lion", revision=2), batch="b2"))
    assert counts() == {"zebra": 0, "lion": 1, "zeb*": 0, "l*": 1}
    engine.commit(change(memory("id-2", "a lion and a zebra", owner="ada"), memory("id-3", "zebra"), batch="b3"))
    assert counts() == {"zebra": 1, "lion": 1, "zeb*": 1, "l*": 1}
    assert engine.census(("zebra", "lion"), Access("ada")) == (3, {"zebra": 1, "lion": 1})
    other.commit(purge(memory("id-3", "zebra"), batch="b4"))
    assert counts() == {"zebra": 0, "lion": 1, "zeb*": 0, "l*": 1}
    for each in (engine, other):
        each.close()


def test_places_that_were_numbered_anew_by_another_process_are_found(tmp_path):
    """A repair gives places other numbers: who remembers the old ones must notice."""
    engine, other = (open_store(tmp_path / "store.db", name) for name in ("one", "other"))
    web, api = (Scope("project", name) for name in ("web", "api"))
    gone, kept = memory("id-1", "a zebra", scope=web), memory("id-2", "a zebra", scope=api, apart=True)
    engine.commit(change(gone, kept))
    embed(engine, (kept, EAST))
    query = Query(("zebra",), vector=EAST, space=SPACE, where=Filter(scopes=(api,)))
    before = engine.search(query, MINE)
    assert [hit.memory.id for hit in before] == ["id-2"]

    other.commit(purge(gone, batch="b2"))
    db = other._connection()
    db.execute("DELETE FROM words WHERE rowid = 2")  # damage, so that there is something to repair
    assert other.check(repair=True) == []
    assert fetch(db, "SELECT p FROM place") == [(1,)], "or nothing is proven"

    assert [hit.memory.id for hit in engine.search(query, MINE)] == ["id-2"]
    other.commit(change(memory("id-3", "a zebra", scope=web, apart=True), batch="b3"))
    assert [hit.memory.id for hit in engine.search(query, MINE)] == ["id-2"]
    assert engine.search(query, MINE)[0].words == pytest.approx(before[0].words, rel=1)
    for each in (engine, other):
        each.close()


def test_what_is_kept_of_a_store_follows_every_change_whoever_makes_it(tmp_path):
    engine, other = (open_store(tmp_path / "store.db", name) for name in ("one", "other"))
    web, api = (Scope("project", name) for name in ("web", "api"))
    told = lambda: (engine.places(MINE), engine.backlog(MINE))  # noqa: E731
    assert told() == ([], Backlog())

    first = memory("id-1", "a zebra", scope=web)
    engine.commit(change(first))
    assert told() == ([web], Backlog())
    other.commit(change(memory("id-2", "a lion", scope=api), batch="b2"))
    assert told() == ([api, web], Backlog())
    embed(other, (first, EAST))
    assert told()[1] == Backlog(SPACE, None, lacking=1)
    embed(engine, (memory("id-2", "a lion", scope=api), EAST))
    assert told()[1] == Backlog(SPACE, None, lacking=0)
    assert engine.backlog(Access("ada")).lacking == 0
    for each in (engine, other):
        each.close()


def test_what_was_read_within_a_transaction_that_is_undone_is_not_kept(tmp_path):
    engine = open_store(tmp_path / "store.db")
    web, api = (Scope("project", name) for name in ("web", "api"))
    engine.commit(change(memory("id-1", "a zebra", scope=web)))
    seen = []

    def witness(*_: object) -> None:
        seen.append(engine.places(MINE))
        raise Conflict("Not today.")

    with pytest.raises(Conflict):
        engine.commit(change(memory("id-2", "a lion", scope=api), batch="b2"), witness)
    assert seen == [[api, web]]
    assert engine.places(MINE) == [web]
    engine.close()


def test_what_is_kept_of_a_store_is_nobody_elses_to_change(tmp_path):
    engine = open_store(tmp_path / "store.db")
    engine.commit(change(memory("id-1", "a zebra", scope=Scope("project", "web"))))
    engine.places(MINE).clear()

    assert engine.places(MINE) == [Scope("project", "web")]
    assert engine.places(Access("ada")) == []


def test_a_document_with_anything_behind_it_is_damaged(tmp_path):
    engine = open_store(tmp_path / "store.db")
    engine.commit(change(memory("id-1", "a zebra")))
    engine._connection().execute("UPDATE memory SET doc = doc || '{}'")

    with pytest.raises(Corrupt, match="mem-0001"):
        engine.get("memory", ["mem-0001"], MINE)


def test_a_filter_given_as_a_list_is_asked_all_the_same(tmp_path):
    engine = open_store(tmp_path / "store.db")
    engine.commit(change(memory("id-1", "a zebra", kind="decision"), memory("id-2", "a lion")))

    for kinds in (["decision"], ("decision",)):
        assert [one.id for one in engine.scan("memory", Filter(kinds=kinds), MINE).records] == ["id-1"]


def test_one_filter_at_two_moments_is_answered_for_each(tmp_path):
    engine = open_store(tmp_path / "store.db")
    engine.commit(change(memory("id-1", "a zebra", valid_until=START + timedelta(days=2))))
    live = lambda days: Filter(standings=("live",), now=START + timedelta(days=days))  # noqa: E731

    assert [len(engine.scan("memory", live(days), MINE).records) for days in (1, 3, 1)] == [1, 0, 1]


def test_a_few_of_many_are_found_in_their_place_whatever_is_common_elsewhere(tmp_path, monkeypatch):
    """How many of a word's carriers are scored is decided by how many of them lie in the places asked."""
    monkeypatch.setattr(sqlite_words, "MOST_SCORED", 10)
    engine = open_store(tmp_path / "store.db")
    web, api = (Scope("project", name) for name in ("web", "api"))
    there = [memory(f"id-{n:03d}", f"common rare {n}", scope=web) for n in range(120)]
    here = [memory(f"my-{n}", f"common {n}", scope=api) for n in range(6)]
    engine.commit(change(*there, *here, memory("my-x", "rare", scope=api)))
    told = lambda: engine.search(Query(("rare", "common"), every=False, where=Filter(scopes=(api,))), MINE)  # noqa: E731

    assert {hit.memory.id for hit in told()} == {*(each.id for each in here), "my-x"}
    asked = statements(engine, told)
    assert asked.count("bm25(") == 1
    assert "+rowid IN" not in asked
    engine.close()


def test_closing_beside_a_thread_that_still_reads_fails_nobody(tmp_path):
    engine = open_store(tmp_path / "store.db")
    begun, answers = threading.Event(), []

    def read() -> None:
        db = engine._connections.mine()
        begun.set()
        slow = (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000) SELECT sum(i) FROM n"
        )
        answers.extend(db.execute(slow).fetchall())

    reader = threading.Thread(target=read)
    reader.start()
    begun.wait()
    engine.close()
    reader.join()

    assert answers == [(2000001000000,)]
