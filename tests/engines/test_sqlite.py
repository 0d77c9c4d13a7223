"""The laws for `sqlite`, and what erasing means for the bytes of its file."""

import math
import random
import re
import string
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.laws import EngineLaws, NewEngine, found
from engines.samples import EAST, MINE, SPACE, Story, change, everything, memory, purge
from engines.stores import count, open_store, raw, raw_bytes
from engram.engines import sqlite_file, sqlite_words
from engram.engines.sqlite import SqliteEngine
from engram.errors import Conflict
from engram.model.change import Token
from engram.model.memory import Citation
from engram.model.query import Space

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
