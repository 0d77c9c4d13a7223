"""The laws of an engine, E1 to E12, as one suite: an engine joins with one fixture, `new_engine`."""

import math
import random
from collections.abc import Callable
from datetime import timedelta
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.samples import (
    DOWN,
    EAST,
    MINE,
    NORTH,
    SPACE,
    START,
    UP,
    WEST,
    Story,
    change,
    everything,
    ids,
    later,
    memory,
    purge,
    relation,
    rows,
    session,
    vector,
)
from engines.strategies import (
    ACCESSES,
    filters,
    numbered,
    pooled_memories,
    whole_keys,
    whole_memories,
    whole_relations,
    whole_sessions,
)
from engram.errors import Conflict, EngramError, Invalid
from engram.model.caller import Caller
from engram.model.change import Token
from engram.model.codec import searchable, type_of
from engram.model.event import intact
from engram.model.filter import Access, Filter, matches
from engram.model.memory import STANDINGS, Citation, Memory
from engram.model.query import Backlog, Query, Space, cosine
from engram.model.record import replace
from engram.model.scope import Scope
from engram.model.text import holds, query_terms, tail_term
from engram.model.text import terms as all_terms
from engram.ports import Engine

NewEngine = Callable[[], Engine]

DEPLOY, FRIDAY = query_terms("deploy Friday")
WAYS = (EAST, NORTH, WEST, UP, DOWN)
ASKED_FOR = (DEPLOY, "port", FRIDAY, "8080", "café", "cafe", "金曜", "on", "nil")
PHRASED = ("a zebra", "a striped zebra", "a zebra, striped", "a lion")
SECOND, THIRD = Space("sextant", 4), Space("compass", 4, prefix="where: ")
NONSENSE = {
    "nothing": b"",
    "one byte less": EAST[:-1],
    "one number more": EAST + EAST[:4],
    "half of one": EAST[:8],
    "no number": vector(1, 0, float("nan"), 0),
    "without end": vector(1, 0, float("inf"), 0),
    "without beginning": vector(float("-inf"), 0, 0, 0),
    "a second one without end": EAST + vector(0, 0, 0, float("inf")),
}
"""Bytes that are no vectors of SPACE."""


def found(engine: Engine, *terms: str, access: Access = MINE, **asked: object) -> list[str]:
    return [hit.memory.id for hit in engine.search(Query(terms=terms, **asked), access)]


def shares(engine: Engine, *terms: str, access: Access = MINE, **asked: object) -> dict[str, float]:
    return {hit.memory.id: hit.words for hit in engine.search(Query(terms=terms, **asked), access)}


def near(
    engine: Engine, way: bytes, space: Space | None = SPACE, *, access: Access = MINE, **asked: object
) -> list[str]:
    return [hit.memory.id for hit in engine.search(Query(vector=way, space=space, **asked), access)]


def embed(engine: Engine, *embedded: tuple[Memory, bytes], space: Space = SPACE) -> int:
    return engine.put_vectors(space, rows(*embedded))


def want(engine: Engine, space: Space) -> None:
    """Say that this space is the wanted one."""
    assert engine.put_vectors(space, []) == 0


def waiting(engine: Engine, space: Space = SPACE, access: Access = MINE, **asked: object) -> list[str]:
    return [memory.id for memory in engine.lacking(space, access, **asked)]


def pages(engine: Engine, where: Filter, access: Access, size: int, *, oldest: bool = False) -> list[list[Memory]]:
    got, after = [], None
    while True:
        page = engine.scan("memory", where, access, after=after, limit=size, oldest=oldest)
        got.append(list(page.records))
        if page.next is None:
            return got
        after = page.next


def everything_in(engine: Engine, where: Filter) -> tuple[Memory, ...]:
    return engine.scan("memory", where, MINE, limit=100_000).records


def snapshot(engine: Engine) -> dict[str, object]:
    """All that reads can tell of a store, for the local caller and a stranger."""
    return {
        "records": {type: everything(engine, type) for type in ("memory", "session", "relation")},
        "handles": [record.handle for record in everything(engine)],
        "shared": everything(engine, access=Access("stranger")),
        "events": engine.events(limit=10_000),
        "words": {word: found(engine, word) for word in (DEPLOY, "port", "zebra")},
        "near": [near(engine, way) for way in WAYS],
        "backlog": engine.backlog(MINE),
    }


def terms_of(memory: Memory) -> set[str]:
    return {term for column in searchable(memory) for term in column.split()}


NASTY = (
    *("'; DROP TABLE memory; --", "x' OR '1'='1", '" OR ""="', "%", "a_b%", "\\", "?", "%s", ":org", "$1", "{0}"),
    *("a) OR (b", "zebra* NEAR(x)", "-zebra", "a & !b | c:*", "engram.org", '{"must": []}'),
)
"""Strings that mean something to a database, an index or a formatter; here they are names like any other."""


class EngineLaws:
    """What every engine keeps. A subclass gives the fixture `new_engine`, which makes an empty store."""

    @pytest.fixture
    def new_engine(self) -> NewEngine:
        raise NotImplementedError

    @pytest.fixture
    def engine(self, new_engine: NewEngine) -> Engine:
        return new_engine()

    # --- E1: a record comes back equal ---

    @settings(max_examples=60)
    @given(record=st.one_of(whole_memories(), whole_sessions(), whole_relations(), whole_keys()))
    def test_e1_any_record_comes_back_equal(self, new_engine, record):
        engine, type = new_engine(), type_of(record)
        engine.commit(change(record, expects={record.id: 0}))

        back = engine.get(type, [record.id], Access("me"))[record.id]

        assert back == record
        assert everything(engine, type, Access("me")) == (record,)
        engine.close()

    @pytest.mark.parametrize(
        "text",
        [
            "👩‍👩‍👧‍👦 and 🏳️‍🌈",
            "שלום עולם، مرحبا بالعالم",
            "漢字とカナ、한국어, ภาษาไทย",
            "e\u0301 is not é, and Zalgo: h\u0337\u0321e\u0338\u0322",
            "line one\nline two\r\nline three\n\n\ttabbed\n",
            "  leading and trailing spaces stay  ",
            'quotes " and \' and \\ and \\u0000 and {"json": [1]} and %s ?1 :name',
            "\u200bzero width\u200d \ufeff \u2028separators\u2029",
            "\U0010fffd\U000f0000 private use",
        ],
    )
    def test_e1_text_of_every_script_comes_back_to_the_letter(self, engine, text):
        excerpt = Citation("file", "a.py", excerpt=text)
        engine.commit(change(memory("id-1", text, citations=(excerpt,), tags=("ταγ", "标签"))))

        back = engine.get("memory", ["id-1"], MINE)["id-1"]

        assert (back.text, back.citations[0].excerpt, back.tags) == (text, text, ("ταγ", "标签"))

    def test_e1_a_record_of_one_mebibyte_comes_back_equal(self, engine):
        cited = tuple(Citation("file", f"f{n}.py", excerpt=f"{n:02d}" + "é" * 8191) for n in range(50))
        text = ("word " * 13108)[: 64 * 1024 - 1] + "."
        big = memory("id-1", text, citations=cited)
        engine.commit(change(big))

        assert engine.get("memory", ["id-1"], MINE)["id-1"] == big
        assert found(engine, "word") == ["id-1"]

    def test_e1_none_is_not_empty(self, engine):
        engine.commit(change(memory("id-none", owner=None), memory("id-empty", owner="")))
        engine.commit(change(memory("id-open"), memory("id-ends", valid_until=later(9)), batch="b2"))
        got = engine.get("memory", ["id-none", "id-empty", "id-open", "id-ends"], MINE)

        assert sorted(got) == ["id-empty", "id-ends", "id-open"]
        assert got["id-empty"].owner == ""
        assert got["id-open"].valid_until is None
        assert got["id-ends"].valid_until == later(9)

    def test_e1_a_revision_comes_back_and_the_old_one_is_gone(self, engine):
        old = memory("id-1", "The port is 8080", tags=("old",), pinned=True)
        new = replace(old, text="The zebra is 9090", tags=(), pinned=False, revision=2)
        engine.commit(change(old))
        engine.commit(change(new, batch="b2"))

        assert everything(engine) == (new,)
        assert (found(engine, "port"), found(engine, "zebra")) == ([], ["id-1"])
        assert engine.scan("memory", Filter(tags=("old",)), MINE).records == ()

    # --- E2: scan equals filtering everything with `matches` ---

    @settings(max_examples=60)
    @given(
        pool=st.lists(pooled_memories(), max_size=14),
        asked=st.lists(st.tuples(filters(), ACCESSES), min_size=1, max_size=12),
        size=st.integers(1, 5),
        oldest=st.booleans(),
    )
    def test_e2_scan_equals_filtering_everything_with_matches(self, new_engine, pool, asked, size, oldest):
        engine, records = new_engine(), numbered(pool)
        for at, record in enumerate(records):
            engine.commit(change(record, batch=f"b{at}"))
        for where, access in asked:
            expected = sorted(
                (
                    each
                    for each in records
                    if matches(each, where) and access.allows(each.owner, each.visibility, each.scope)
                ),
                key=lambda each: (each.created_at, each.id),
                reverse=not oldest,
            )
            got = pages(engine, where, access, size, oldest=oldest)

            assert [each for page in got for each in page] == expected
            assert all(len(page) == size for page in got[:-1])
            assert everything(engine, access=Access("nobody", frozenset(), "nowhere")) == ()
        engine.close()

    def test_e2_a_standing_begins_and_ends_at_the_same_instant_for_all(self, engine):
        edge, tick = later(3600), timedelta(microseconds=1)
        lives = [
            {"status": "promoted"},
            {"status": "pending", "held_for": "conflict"},
            {"status": "pending", "held_for": "unmerged_branch", "branch": "repo#topic"},
            {"status": "rejected"},
            {"status": "promoted", "forgotten_at": START},
            {"status": "promoted", "replaced_by": "id-0001"},
        ]
        spans = [
            {"valid_from": begins, "valid_until": ends, "decay": decay, "verified_at": verified}
            for begins in (None, edge)
            for ends in (None, edge, edge + tick)
            for decay in ("none", "1h")
            for verified in (None, START + tick)
            if begins is None or ends != edge
        ]
        both = [memory(f"id-{n:04d}", **life, **span) for n, (life, span) in enumerate(product(lives, spans))]
        engine.commit(change(*both))
        seen = set()
        for now, view in product((edge - tick, edge, edge + tick, edge + 2 * tick), ("", "repo#topic")):
            for standing in STANDINGS:
                where = Filter(standings=(standing,), now=now, view=view)
                found = {record.id for record in everything_in(engine, where)}

                assert found == {each.id for each in both if matches(each, where)}, (standing, now, view)
                seen |= {standing} if found else set()
        assert seen == set(STANDINGS)

    @pytest.mark.parametrize("oldest", [False, True])
    def test_e2_paging_neither_repeats_nor_skips_while_records_are_committed(self, engine, oldest):
        first = [memory(f"id-{n:03d}", f"note {n}", created_at=later(n // 3)) for n in range(20)]
        for record in first:
            engine.commit(change(record, batch=record.id))
        seen, after, more = [], None, 100
        while True:
            page = engine.scan("memory", Filter(), MINE, after=after, limit=3, oldest=oldest)
            seen += ids(page.records)
            if page.next is None:
                break
            after = page.next
            for when in (START - timedelta(1), later(3), later(9000)):
                if more < 118:
                    engine.commit(change(memory(f"id-{more}", f"note {more}", created_at=when), batch=f"b{more}"))
                more += 1

        assert len(seen) == len(set(seen))
        assert {each.id for each in first} <= set(seen)
        assert [each for each in seen if each < "id-100"] == sorted(ids(first), reverse=not oldest)

    def test_e2_a_record_that_moves_on_stays_in_its_place(self, engine):
        for n in range(6):
            engine.commit(change(memory(f"id-{n}", f"note {n}", created_at=later(n)), batch=f"b{n}"))
        page = engine.scan("memory", Filter(), MINE, limit=3)
        revised = replace(page.records[0], revision=2, updated_at=later(100), pinned=True)
        engine.commit(change(revised, batch="again"))
        engine.commit(purge(page.records[2], batch="gone"))

        rest = engine.scan("memory", Filter(), MINE, after=page.next, limit=3)

        assert ids(rest.records) == ["id-2", "id-1", "id-0"]
        assert rest.next is None

    @pytest.mark.parametrize("cursor", ["x", "!!!", "bm90IGpzb24", "WzEsMl0", "e30", "W10", "naïve", "A" * 101])
    def test_e2_a_bad_cursor_is_invalid(self, engine, cursor):
        with pytest.raises(Invalid):
            engine.scan("memory", Filter(), MINE, after=cursor)

    def test_e2_sessions_and_relations_are_scanned_too(self, engine):
        engine.commit(change(*(session(f"ses-{n}x", started_at=later(n)) for n in range(5)), batch="b1"))
        engine.commit(change(*(relation(f"rel-{n}x", created_at=later(n)) for n in range(3)), batch="b2"))

        assert ids(everything(engine, "session")) == [f"ses-{n}x" for n in (4, 3, 2, 1, 0)]
        assert ids(engine.scan("session", Filter(ids=("ses-2x", "none")), MINE).records) == ["ses-2x"]
        assert ids(engine.scan("relation", Filter(), MINE, oldest=True, limit=2).records) == ["rel-0x", "rel-1x"]
        assert everything(engine, "relation", Access("stranger")) == ()
        assert everything(engine, "memory") == ()

    @settings(max_examples=40)
    @given(pool=st.lists(pooled_memories(), max_size=14), accesses=st.lists(ACCESSES, min_size=1, max_size=4))
    def test_e2_the_places_are_the_scopes_of_what_may_be_read(self, new_engine, pool, accesses):
        engine, records = new_engine(), numbered(pool)
        if records:
            engine.commit(change(*records))
        for access in accesses:
            assert engine.places(access) == sorted(
                {one.scope for one in everything(engine, access=access)}, key=str
            )

    def test_e2_a_scope_with_nothing_but_a_session_is_a_place(self, engine):
        engine.commit(change(session("ses-1", owner="ada", scope=Scope("project", "api"))))

        assert engine.places(Access("ada")) == [Scope("project", "api")]
        assert engine.places(Access("bob")) == []

    def test_e2_a_place_is_known_as_soon_as_something_moves_there(self, engine):
        here, there = Scope("project", "api"), Scope("project", "web")
        first = memory("id-1", scope=here)
        engine.commit(change(first))
        engine.commit(change(replace(first, scope=there, revision=2), batch="b2"))

        assert there in engine.places(MINE)
        assert set(engine.places(MINE)) <= {here, there}

    # --- E3: search ---

    @settings(max_examples=40)
    @given(
        pool=st.lists(pooled_memories(), max_size=14),
        asked=st.lists(st.tuples(filters(), ACCESSES), min_size=1, max_size=6),
        words=st.lists(st.sampled_from(ASKED_FOR), min_size=1),
        how=st.tuples(st.booleans(), st.integers(1, 20)),
    )
    def test_e3_search_obeys_filter_and_access_and_is_ordered(self, new_engine, pool, asked, words, how):
        engine, records, (every, limit) = new_engine(), numbered(pool), how
        if records:
            engine.commit(change(*records))
        fits = all if every else any
        for where, access in asked:
            hits = engine.search(Query(terms=tuple(words), every=every, where=where, limit=limit), access)
            expected = {
                each.id
                for each in records
                if matches(each, where)
                and access.allows(each.owner, each.visibility, each.scope)
                and fits(word in terms_of(each) for word in words)
            }

            assert len(hits) == min(len(expected), limit)
            assert {hit.memory.id for hit in hits} <= expected
            assert hits == sorted(hits, key=lambda hit: (-hit.words, hit.memory.id))
            assert all(0 < hit.words <= 1 for hit in hits)
            assert {hit.memory for hit in hits} <= set(records)
        engine.close()

    def test_e3_a_committed_record_is_found_at_once_by_each_of_its_texts(self, engine):
        record = memory("id-1", "The zebra runs", summary="stripes", key="animal-key", kind="gotcha", tags=("zoo",))
        assert found(engine, "zebra") == []

        engine.commit(change(record))

        for word in ("zebra", "stripe", "animal", "gotcha", "zoo"):
            assert found(engine, *query_terms(word)) == ["id-1"], word

    def test_e3_equal_scores_are_ordered_by_id(self, engine):
        order = [3, 1, 4, 0, 5, 9, 2, 6]
        for n in order:
            engine.commit(change(memory(f"id-{n}", "the same zebra", apart=True), batch=f"b{n}"))
        hits = engine.search(Query(terms=("zebra",)), MINE)

        assert len({hit.words for hit in hits}) == 1
        assert [hit.memory.id for hit in hits] == sorted(f"id-{n}" for n in order)

    def test_e3_every_term_must_be_there_or_any_of_them(self, engine):
        texts = {"id-ab": "alpha beta", "id-a": "alpha only", "id-b": "beta only", "id-c": "gamma"}
        engine.commit(change(*(memory(id, text) for id, text in texts.items())))

        assert found(engine, "alpha", "beta") == ["id-ab"]
        assert set(found(engine, "alpha", "beta", every=False)) == {"id-ab", "id-a", "id-b"}
        assert found(engine, "alpha", "beta", every=False)[0] == "id-ab"
        assert found(engine, "alpha", "delta") == []
        assert found(engine) == []
        assert found(engine, every=False) == []

    def test_e3_a_term_said_twice_counts_once(self, engine):
        engine.commit(change(memory("id-a", "alpha only"), memory("id-ab", "alpha beta")))

        assert found(engine, "alpha", "alpha", "beta") == ["id-ab"]

    @pytest.mark.parametrize(
        "text",
        [
            "C++ and C#",
            "a.b.c/d_e-f:g@h",
            "NEAR AND OR NOT",
            "rock'n'roll \"x\" * ^ ( ) { }",
            "日本語",
            "한국어",
            "٣٤",
            "é",
            "-x",
            "+1",
            "name:x",
            "ﬁne Straße",
            "हिन्दी",
            "x²",
            "☕🏳️‍🌈 a",
        ],
    )
    def test_e3_a_text_is_found_by_its_own_terms_however_odd(self, engine, text):
        engine.commit(change(memory("id-1", text), memory("id-2", "something else entirely")))
        for term in query_terms(text):
            assert found(engine, term) == ["id-1"], term
        assert found(engine, *query_terms(text)) == ["id-1"]

    @settings(max_examples=60)
    @given(text=st.text(max_size=60))
    def test_e3_no_query_text_makes_search_fail(self, new_engine, text):
        engine = new_engine()
        engine.commit(change(memory("id-1", "something else entirely, NEAR and AND")))
        for every in (True, False):
            found(engine, *query_terms(text), every=every)
            found(engine, *(f"{term}*" for term in query_terms(text)), every=every, phrases=(text,))
        found(engine, phrases=(text, text[1:]))
        engine.census([*query_terms(text), *(f"{term}*" for term in query_terms(text))], MINE)
        engine.close()

    def test_e3_the_limit_keeps_the_best(self, engine):
        many = [memory(f"id-{n:02d}", "zebra " + "padding words here " * n) for n in range(12)]
        engine.commit(change(*many))

        assert found(engine, "zebra", limit=4) == found(engine, "zebra")[:4]
        assert len(found(engine, "zebra", limit=100)) == 12

    def test_e3_strangers_records_do_not_push_out_ones_own(self, engine):
        engine.commit(change(*(memory(f"id-{n:02d}", "zebra zebra", owner="ada") for n in range(20))))
        engine.commit(change(memory("mine-1", "one zebra among many other words of no weight"), batch="b2"))

        assert found(engine, "zebra", limit=1) == ["mine-1"]

    # --- E3: words asked for in other ways, and what a score means ---

    def test_e3_a_variant_counts_as_the_term_itself(self, engine):
        texts = {"id-1": "color of the zebra", "id-2": "colour of the horse", "id-3": "the zebra alone"}
        engine.commit(change(*(memory(id, text) for id, text in texts.items())))
        engine.commit(change(*(memory(f"pad-{n}", f"padding {n}") for n in range(9)), batch="b2"))
        both = {"variants": {"color": ("colour",)}}

        assert set(found(engine, "color", **both)) == {"id-1", "id-2"}
        assert found(engine, "color", "zebra", **both) == ["id-1"]
        assert found(engine, "color", "hors", **both) == ["id-2"]
        assert found(engine, "colour", **both) == ["id-2"]
        assert shares(engine, "color", **both)["id-2"] == pytest.approx(shares(engine, "colour")["id-2"])

    def test_e3_variants_stand_for_a_term_that_nobody_wrote(self, engine):
        engine.commit(change(memory("id-1", "the zebra"), *(memory(f"id-{n}", f"note {n}") for n in range(2, 9))))
        asked = {"variants": {"zeebra": ("zebra", "zabra*")}}

        assert shares(engine, "zeebra", **asked) == shares(engine, "zebra") != {}
        assert found(engine, "zeebra") == []

    def test_e3_a_term_with_a_star_is_every_term_that_begins_so(self, engine):
        texts = {"id-1": "deployment", "id-2": "deploy", "id-3": "redeploy", "id-4": "dep", "id-5": "depot"}
        engine.commit(change(*(memory(id, text) for id, text in texts.items())))

        assert set(found(engine, "deploy*")) == {"id-1", "id-2"}
        assert set(found(engine, "dep*")) == {"id-1", "id-2", "id-4", "id-5"}
        assert found(engine, "deploy*", "deployment") == ["id-1"]
        assert found(engine, "x", every=False, variants={"x": ("depo*",)}) == ["id-5"]
        assert found(engine, "deploym") == found(engine, "ploy*") == []

    def test_e3_a_star_does_not_reach_into_places_or_columns(self, engine):
        engine.commit(change(memory("id-1", "zebra", scope=Scope.parse("project:zoo"))))

        for term in ("proj*", "zoo*", "text*", "tags*", "1*"):
            assert found(engine, term) == [], term

    def test_e3_a_compound_is_found_by_its_end(self, engine):
        engine.commit(change(memory("id-1", "Der Dienst braucht eine Datenbankverbindung.")))

        assert found(engine, f"{tail_term('verbindung')}*") == ["id-1"]
        assert found(engine, f"{tail_term('verbindungen')}*") == ["id-1"]
        assert found(engine, f"{tail_term('datenbank')}*") == []

    def test_e3_a_phrase_must_stand_in_a_row(self, engine):
        texts = {
            "id-1": "The quick brown fox jumps",
            "id-2": "The brown quick fox jumps",
            "id-3": "quick and brown",
            "id-4": "QUICK\n  Brown!",
            "id-5": "quick brownies",
        }
        engine.commit(change(*(memory(id, text) for id, text in texts.items())))
        both = ("quick brown", "fox jumps")

        assert set(found(engine, phrases=("quick brown",))) == {"id-1", "id-4"}
        assert set(found(engine, phrases=("Quick  BROWN",))) == {"id-1", "id-4"}
        assert found(engine, phrases=both) == ["id-1"]
        assert set(found(engine, "fox", phrases=("fox jumps",))) == {"id-1", "id-2"}
        assert found(engine, "and", phrases=("quick brown",)) == []
        assert set(found(engine, "the", "and", every=False, phrases=("quick brown",))) == {"id-1"}
        assert found(engine, phrases=("brown the",)) == []

    def test_e3_a_phrase_stands_in_one_text_of_a_memory(self, engine):
        apart = memory("id-1", "zebra", summary="stripes", tags=("red", "green"), key="some-key")
        whole = memory("id-2", "other", summary="zebra stripes", tags=("red green",))
        engine.commit(change(apart, whole))

        assert found(engine, phrases=("zebra stripes",)) == found(engine, phrases=("red green",)) == ["id-2"]
        assert found(engine, phrases=("some-key",)) == ["id-1"]

    @pytest.mark.parametrize(
        ("text", "phrase"),
        [
            ("We use C++ and C#.", "C++ and"),
            ("Run `make test` first", "make test"),
            ("It is in src/api/routes.py now", "src/api/routes.py"),
            ("Das Café öffnet um neun", "cafe offnet"),
            ("サーバーのポートは8080です", "ポートは8080"),
            ("서버 포트는 8080", "포트는 8080"),
            ("the and of it", "and of"),
            ("version 3.11.7 is out", "version 3.11"),
        ],
    )
    def test_e3_a_phrase_of_any_script_is_found(self, engine, text, phrase):
        engine.commit(change(memory("id-1", text), memory("id-2", "something else entirely")))

        assert found(engine, phrases=(phrase,)) == ["id-1"]

    def test_e3_a_phrase_decides_who_is_found_and_never_the_score(self, engine):
        texts = ["alpha beta", "beta alpha", "alpha", "alpha beta gamma", *(f"padding {n}" for n in range(20))]
        engine.commit(change(*(memory(f"id-{n:02d}", text) for n, text in enumerate(texts))))
        without = shares(engine, "alpha", "beta", every=False)
        having = shares(engine, "alpha", "beta", every=False, phrases=("alpha beta",))

        assert having == {id: pytest.approx(without[id]) for id in ("id-00", "id-03")}

    def test_e3_a_score_by_words_is_a_share_of_what_the_question_could_give(self, engine):
        padding = [memory(f"pad-{n:02d}", f"padding words {n}") for n in range(30)]
        stuffed = memory("id-4", "zebra " * 40, key="zebra", summary="zebra", tags=("zebra",))
        texts = {"id-1": "zebra giraffe", "id-2": "zebra", "id-3": "giraffe and a long text about other things"}
        engine.commit(change(stuffed, *(memory(id, text) for id, text in texts.items()), *padding))
        got = shares(engine, "zebra", "giraff", every=False)

        assert all(0 < share <= 1 for share in got.values())
        assert got["id-1"] > got["id-2"]
        assert max(got["id-1"], got["id-4"]) < 1
        assert shares(engine, "zebra")["id-4"] > 0.8
        assert list(got.values()) == sorted(got.values(), reverse=True)

    def test_e3_a_rare_word_that_nobody_wrote_takes_its_part_away(self, engine):
        padding = [memory(f"pad-{n:02d}", f"padding words {n}") for n in range(30)]
        engine.commit(change(memory("id-1", "the zebra and the giraffe"), *padding))
        known = shares(engine, "zebra", "giraff", every=False)["id-1"]
        partly = shares(engine, "zebra", "giraff", "gryphon", every=False)["id-1"]
        hardly = shares(engine, "zebra", "giraff", "gryphon", "hydra", "sphinx", every=False)["id-1"]

        assert known > partly > hardly > 0

    def test_e3_a_word_that_everybody_writes_takes_little_away(self, engine):
        padding = [memory(f"pad-{n:02d}", f"padding {n}") for n in range(40)]
        engine.commit(change(memory("id-1", "the zebra"), *padding))
        alone = shares(engine, "zebra")["id-1"]
        common = shares(engine, "zebra", "pad", every=False)["id-1"]
        rare = shares(engine, "zebra", "gryphon", every=False)["id-1"]

        assert alone >= common > rare

    def test_e3_a_word_is_worth_its_share_as_soon_as_somebody_writes_it(self, engine):
        """Also in a store that has looked for it in vain, and that one more memory hardly makes larger."""
        engine.commit(change(*(memory(f"id-{n:03d}", f"note {n}") for n in range(200))))
        assert found(engine, "zebra") == found(engine, "zeb*") == []

        engine.commit(change(memory("id-new", "the zebra"), batch="b2"))

        assert shares(engine, "zebra")["id-new"] > 0.3
        assert shares(engine, "zeb*")["id-new"] > 0.3

    def test_e3_a_word_is_worth_its_share_as_soon_as_somebody_revises_to_it(self, engine):
        engine.commit(change(*(memory(f"id-{n}", f"note {n}") for n in range(3))))
        assert found(engine, "zebra") == []

        engine.commit(change(memory("id-1", "the zebra", revision=2), batch="b2"))

        assert shares(engine, "zebra")["id-1"] > 0.3

    def test_e3_the_census_counts_who_carries_a_term(self, engine):
        assert engine.census(["zebra", "zeb*"], MINE) == (0, {"zebra": 0, "zeb*": 0})
        assert engine.census([], MINE) == (0, {})
        engine.commit(
            change(
                memory("id-1", "zebra zebra", key="zebra", tags=("zebra",), summary="a zebra"),
                memory("id-2", "zebu and zebra", status="rejected"),
                memory("id-3", "zebu", scope=Scope.parse("project:zoo")),
                memory("id-4", "other", kind="decision", key="zeal"),
            )
        )
        terms = ("zebra", "zebu", "zeb*", "ze*", "z*", "decision", "nobody", "nobo*", "zeb")
        expected = dict(zip(terms, (2, 2, 3, 4, 4, 1, 0, 0, 0), strict=True))

        assert engine.census(terms, MINE) == (4, expected)

    def test_e3_the_census_tells_nothing_of_what_may_not_be_read(self, engine):
        engine.commit(
            change(
                memory("id-1", "zebra"),
                memory("id-2", "zebra secret", owner="ada"),
                memory("id-3", "zebra shared", owner="ada", visibility="shared", scope=Scope.parse("project:api")),
                memory("id-4", "zebra nobodys", owner=None),
            )
        )
        terms = ("zebra", "secret", "secr*", "shar", "shar*", "nobody", "nobo*")
        counts = lambda *access: list(engine.census(terms, Access(*access)).carriers.values())  # noqa: E731

        for _ in range(2):  # whatever an engine remembers of one reader's counts is none of another's
            assert counts("") == [2, 0, 0, 1, 1, 0, 0]
            assert counts("ada") == [2, 1, 1, 1, 1, 0, 0]
            assert counts("bob", frozenset()) == [0, 0, 0, 0, 0, 0, 0]
            assert counts("bob", frozenset({"project:api"})) == [1, 0, 0, 1, 1, 0, 0]
            assert counts("ada", None, "team") == [0, 0, 0, 0, 0, 0, 0]

    def test_e3_the_census_forgets_what_was_revised_or_purged(self, engine):
        first = [memory(f"id-{n}", f"zebra word{n}") for n in range(4)]
        engine.commit(change(*first))
        engine.commit(change(replace(first[1], text="giraffe", revision=2), batch="b2"))
        engine.commit(purge(first[2], batch="b3"))

        assert engine.census(["zebra", "giraff", "word1", "word2", "word3", "word*"], MINE) == (
            3,
            {"zebra": 2, "giraff": 1, "word1": 0, "word2": 0, "word3": 1, "word*": 2},
        )

    @pytest.mark.parametrize("piece", ["zebr", "ployme", "nter", "5%", "_", "", "%", "'", "ñerat"])
    def test_e3_a_piece_of_a_word_is_held_by_the_terms_that_contain_it(self, engine, piece):
        texts = (
            "zebracrossing",
            "a zebra in the redeployment centre",
            "printer_interval",
            "5% of 5% remain",
            "compañeraten",
        )
        engine.commit(change(*(memory(f"id-{n}", text) for n, text in enumerate(texts))))
        terms = {term for text in texts for term in all_terms(text)} | set(all_terms("fact"))
        wanted = sorted((term for term in terms if holds(term, piece)), key=lambda term: (len(term), term))

        assert engine.containing(piece, MINE, limit=5) == wanted[:5]
        assert engine.containing(piece, MINE, limit=0) == []

    def test_e3_a_piece_tells_nothing_of_what_may_not_be_read_or_is_gone(self, engine):
        kept = [
            memory("id-1", "crossings"),
            memory("id-2", "undercrossed", owner="ada"),
            memory("id-3", "crossroads", owner="ada", visibility="shared", scope=Scope.parse("project:api")),
            memory("id-4", "crossing nobodys", owner=None),
            memory("id-5", "crossbow"),
        ]
        engine.commit(change(*kept))
        engine.commit(change(replace(kept[0], text="a road", revision=2), batch="b2"))
        engine.commit(purge(kept[4], batch="b3"))

        for _ in range(2):
            assert engine.containing("cros", Access("")) == engine.containing("cros", Access("bob"))
            assert [term for term in engine.containing("cros", Access("")) if term[0] != "_"] == ["crossroad"]
            assert "undercross" in engine.containing("cros", Access("ada"))
            assert engine.containing("cros", Access("bob", frozenset())) == []

    def test_e2_ten_thousand_scopes_in_one_filter_are_a_filter_like_any_other(self, engine):
        asked = tuple(Scope("project", f"p{n}") for n in range(10_000))
        kept = memory("id-1", "a zebra", scope=asked[7777]), memory("id-2", "a zebra", scope=Scope("project", "q"))
        engine.commit(change(*kept))
        embed(engine, *((each, EAST) for each in kept))
        where = Filter(scopes=asked)

        assert engine.scan("memory", where, MINE).records == (kept[0].known_as("mem-0001"),)
        assert found(engine, "zebra", where=where) == ["id-1"]
        assert near(engine, EAST, where=where) == ["id-1"]

    @pytest.mark.parametrize("nasty", NASTY)
    def test_e2_nothing_in_a_string_is_more_than_a_string(self, engine, nasty):
        kept = memory(
            *("id-1", f"a zebra {nasty}"),
            key=nasty,
            tags=(nasty,),
            session=nasty,
            owner=nasty,
            scope=Scope("project", "zoo"),
        )
        engine.commit(change(kept, memory("id-2", "another zebra", owner=nasty)))
        access = Access(nasty, closed=frozenset({nasty}), agent=nasty)
        whole = {each.id: each for each in everything(engine, access=access)}
        for where in (
            *(Filter(**{name: nasty}) for name in ("key", "session", "owner", "digest", "amends")),
            *(Filter(**{name: nasty}) for name in ("replaced_by", "held_for")),
            *(Filter(tags=(nasty,)), Filter(kinds=(nasty,)), Filter(ids=(nasty, "id-1")), Filter(near=nasty)),
            *(Filter(scopes=(kept.scope,)), Filter(within=kept.scope)),
        ):
            wanted = {id for id, each in whole.items() if matches(each, where)}
            assert {each.id for each in engine.scan("memory", where, access).records} == wanted
            assert set(found(engine, "zebra", where=where, access=access)) == wanted
        assert engine.get("memory", [nasty], access) == {}
        assert set(found(engine, nasty, access=access)) <= {"id-1"}
        assert set(found(engine, phrases=(nasty,), access=access)) <= {"id-1"}
        assert engine.census([nasty], access).carriers[nasty] <= 1
        assert all(holds(term, nasty) for term in engine.containing(nasty, access))
        assert len(whole) == 2
        assert engine.check() == []

    # --- E3: search by meaning ---

    @settings(max_examples=40)
    @given(
        pool=st.lists(
            st.tuples(pooled_memories(), st.lists(st.sampled_from(WAYS), max_size=3).map(b"".join)), max_size=14
        ),
        asked=st.lists(st.tuples(filters(), ACCESSES, st.sampled_from(WAYS)), min_size=1, max_size=6),
        limit=st.integers(1, 20),
    )
    def test_e3_meaning_obeys_filter_and_access_and_is_ordered(self, new_engine, pool, asked, limit):
        engine, records = new_engine(), numbered([each for each, _ in pool])
        vectors = {each.id: some for each, (_, some) in zip(records, pool, strict=True) if some}
        if records:
            engine.commit(change(*records))
        assert embed(engine, *((each, vectors[each.id]) for each in records if each.id in vectors)) == len(vectors)
        for where, access, way in asked:
            hits = engine.search(Query(vector=way, space=SPACE, where=where, limit=limit), access)
            expected = {
                each.id: cosine(way, vectors[each.id])
                for each in records
                if each.id in vectors
                and matches(each, where)
                and access.allows(each.owner, each.visibility, each.scope)
            }

            assert [hit.cosine for hit in hits] == sorted(expected.values(), reverse=True)[:limit]
            assert {hit.memory.id: hit.cosine for hit in hits}.items() <= expected.items()
            assert hits == sorted(hits, key=lambda hit: (-hit.cosine, hit.memory.id))
            assert {hit.memory for hit in hits} <= set(records)
        engine.close()

    def test_e3_the_nearest_come_first_with_their_cosine(self, engine):
        ways = {"id-1": NORTH, "id-2": WEST, "id-3": EAST, "id-4": UP, "id-5": vector(0.6, 0.8, 0, 0)}
        engine.commit(change(*(memory(id) for id in ways)))
        embed(engine, *((memory(id), way) for id, way in ways.items()))
        hits = engine.search(Query(vector=EAST, space=SPACE), MINE)

        assert [hit.memory.id for hit in hits] == ["id-3", "id-5", "id-4", "id-1", "id-2"]
        assert [hit.cosine for hit in hits] == pytest.approx([1, 0.6, 0.5, 0, -1], abs=1e-3)
        assert near(engine, EAST, limit=2) == ["id-3", "id-5"]

    def test_e3_equally_near_ones_are_ordered_by_id(self, engine):
        order = [3, 1, 4, 0, 5, 9, 2, 6]
        for n in order:
            engine.commit(change(memory(f"id-{n}", f"note {n}"), batch=f"b{n}"))
        embed(engine, *((memory(f"id-{n}", f"note {n}"), NORTH) for n in reversed(order)))

        assert near(engine, UP) == sorted(f"id-{n}" for n in order)

    def test_e3_a_memory_with_several_vectors_counts_once_by_its_nearest(self, engine):
        engine.commit(change(memory("id-1"), memory("id-2"), memory("id-3")))
        several = {"id-1": WEST + UP + NORTH, "id-2": WEST, "id-3": NORTH + WEST + NORTH + WEST}
        embed(engine, *((memory(id), ways) for id, ways in several.items()))
        hits = engine.search(Query(vector=EAST, space=SPACE), MINE)

        assert [(hit.memory.id, hit.cosine) for hit in hits] == [("id-1", 0.5), ("id-3", 0.0), ("id-2", -1.0)]
        assert near(engine, NORTH, limit=1) == ["id-1"]
        assert near(engine, WEST, limit=2) == ["id-1", "id-2"]

    @pytest.mark.parametrize("count", [1, 4])
    def test_e3_one_memory_with_very_many_vectors_pushes_nobody_out(self, engine, count):
        others = [memory(f"id-{n}", f"note {n}") for n in range(4)]
        engine.commit(change(memory("big-1", "a long text"), *others))
        embed(engine, (memory("big-1", "a long text"), EAST * 128), *((each, UP) for each in others))

        assert near(engine, EAST, limit=count + 1) == ["big-1", *ids(others[:count])]

    def test_e3_another_space_or_none_finds_nothing(self, engine):
        engine.commit(change(memory("id-1")))
        embed(engine, (memory("id-1"), EAST))
        others = (SECOND, THIRD, Space("Compass", 4), Space("compass", 4, " "), None)

        assert [near(engine, EAST, space) for space in others] == [[]] * len(others)
        assert near(engine, EAST + EAST, Space("compass", 8)) == []
        assert near(engine, EAST) == ["id-1"]

    def test_e3_meaning_finds_nothing_where_there_is_nothing(self, engine):
        assert near(engine, EAST) == []
        engine.commit(change(memory("id-1")))
        assert near(engine, EAST) == []
        engine.put_vectors(SPACE, [])
        assert near(engine, EAST) == []
        assert near(engine, EAST, where=Filter(ids=("id-1",))) == []

    @pytest.mark.parametrize("limit", [0, 1])
    def test_e3_no_more_are_found_than_asked_for(self, engine, limit):
        engine.commit(change(memory("id-1"), memory("id-2", "We deploy on Mondays")))
        embed(engine, (memory("id-1"), EAST), (memory("id-2", "We deploy on Mondays"), NORTH))

        assert len(near(engine, EAST, limit=limit)) == len(found(engine, DEPLOY, limit=limit)) == limit

    def test_e3_only_those_asked_for_by_id_are_compared(self, engine):
        records = [memory(f"id-{n}", f"note {n}", owner="ada" if n == 3 else "") for n in range(5)]
        engine.commit(change(*records))
        embed(engine, *((each, NORTH + UP if each.id == "id-4" else EAST) for each in records))
        among = lambda *ids, **more: near(engine, EAST, where=Filter(ids=ids), **more)  # noqa: E731

        assert among("id-4", "id-1", "id-3", "absent") == ["id-1", "id-4"]
        assert among("id-4", "id-1", limit=1) == ["id-1"]
        assert among("id-3", access=Access("ada")) == ["id-3"]
        assert among("id-3") == among() == among("absent") == []
        assert near(engine, EAST, SECOND, where=Filter(ids=("id-1",))) == []

    # --- E3: by words and by meaning together ---

    @settings(max_examples=40)
    @given(
        pool=st.lists(
            st.tuples(pooled_memories(), st.lists(st.sampled_from(WAYS), max_size=3).map(b"".join)), max_size=14
        ),
        asked=st.lists(
            st.tuples(filters(), ACCESSES, st.sampled_from(WAYS), st.lists(st.sampled_from(ASKED_FOR), max_size=3)),
            min_size=1,
            max_size=6,
        ),
        limit=st.integers(1, 5),
    )
    def test_e3_both_together_find_what_either_finds_and_every_hit_tells_its_cosine(
        self, new_engine, pool, asked, limit
    ):
        engine, records = new_engine(), numbered([each for each, _ in pool])
        vectors = {each.id: some for each, (_, some) in zip(records, pool, strict=True) if some}
        if records:
            engine.commit(change(*records))
        embed(engine, *((each, vectors[each.id]) for each in records if each.id in vectors))
        for where, access, way, words in asked:
            by_words = Query(terms=tuple(words), every=False, where=where, limit=limit)
            by_meaning = Query(vector=way, space=SPACE, where=where, limit=limit)
            worded, near = (engine.search(each, access) for each in (by_words, by_meaning))
            hits = engine.search(by_words._replace(vector=way, space=SPACE), access)

            assert {hit.memory.id: hit.words for hit in hits if hit.words is not None} == {
                hit.memory.id: hit.words for hit in worded
            }
            assert {hit.memory.id for hit in hits} == {hit.memory.id for hit in (*worded, *near)}
            for hit in hits:
                told = cosine(way, vectors[hit.memory.id]) if hit.memory.id in vectors else None
                assert hit.cosine == told
            found = [hit for hit in hits if hit.words is not None]
            assert found == sorted(found, key=lambda hit: (-hit.words, hit.memory.id))
            assert hits[len(found) :] == sorted(
                (hit for hit in hits if hit.words is None), key=lambda hit: (-hit.cosine, hit.memory.id)
            )
        engine.close()

    def test_e3_what_words_found_tells_its_cosine_however_far_off_it_is(self, engine):
        """What the filter or the access leaves out stays out, and what has no vector has no cosine."""
        ways = [vector(1 - n / 10, math.sqrt(1 - (1 - n / 10) ** 2), 0, 0) for n in range(10)]
        kinds = {0: "decision", 6: "decision"}
        worded = {4: "zebra one", 6: "zebra two", 8: "zebra three", 9: "zebra four"}
        records = [memory(f"id-{n}", worded.get(n, f"note {n}"), kind=kinds.get(n, "fact")) for n in range(10)]
        records[8] = replace(records[8], owner="ada")
        engine.commit(change(*records, memory("id-x", "zebra without a vector", kind="fact")))
        embed(engine, *zip(records[:9], ways, strict=False), (records[9], WEST + ways[9]))

        def told(limit: int, access: Access = MINE, **more: object) -> dict[str, tuple[bool, float | None]]:
            query = Query(("zebra",), vector=EAST, space=SPACE, limit=limit, **more)
            hits = engine.search(query, access)
            return {
                hit.memory.id: (hit.words is not None, None if hit.cosine is None else round(hit.cosine, 2))
                for hit in hits
            }

        near, far = {"id-1": (False, 0.9), "id-2": (False, 0.8)}, {"id-4": (True, 0.6), "id-9": (True, 0.1)}
        for _ in range(2):
            assert told(3, where=Filter(kinds=("fact",))) == {
                **far,
                "id-x": (True, None),
                **near,
                "id-3": (False, 0.7),
            }
            assert told(1, where=Filter(kinds=("decision",))) == {"id-6": (True, 0.4), "id-0": (False, 1.0)}
            assert told(5, access=Access("ada")) == {"id-8": (True, 0.2)}
            assert told(5, where=Filter(ids=("id-9", "id-1", "absent"))) == {
                "id-9": (True, 0.1),
                "id-1": near["id-1"],
            }

    def test_e3_beside_phrases_meaning_finds_nothing_by_itself(self, engine):
        engine.commit(change(*(memory(f"id-{n}", text) for n, text in enumerate(PHRASED))))
        embed(
            engine,
            *((memory(f"id-{n}", text), way) for n, (text, way) in enumerate(zip(PHRASED, WAYS, strict=False))),
        )
        said = Query(("zebra",), phrases=("striped zebra",), vector=WAYS[0], space=SPACE)
        for _ in range(2):
            hits = engine.search(said, MINE)
            assert {hit.memory.id: hit.cosine for hit in hits} == {"id-1": cosine(WAYS[0], WAYS[1])}
            alone = engine.search(said._replace(terms=()), MINE)
            assert [(hit.memory.id, hit.words) for hit in alone] == [("id-1", 1.0)]
            assert alone[0].cosine == hits[0].cosine

    def test_e3_a_vector_that_is_still_being_made_finds_what_a_ready_one_does(self, engine):
        records = [memory(f"id-{n}", text) for n, text in enumerate(("a zebra", "a lion", "stripes"))]
        engine.commit(change(*records))
        embed(engine, *zip(records, WAYS, strict=False))
        ready = Query(("zebra",), every=False, vector=WAYS[2], space=SPACE)
        coming = ready._replace(vector=b"", coming=lambda _: WAYS[2])
        for query in (ready, ready._replace(terms=()), ready._replace(ranked=False)):
            asked = coming._replace(terms=query.terms, ranked=query.ranked)
            assert engine.search(asked, MINE) == engine.search(query, MINE)
        never = engine.search(coming._replace(coming=lambda _: b""), MINE)
        assert [(hit.memory.id, hit.cosine) for hit in never] == [("id-0", None)]

    def test_e3_a_space_that_is_not_the_stores_leaves_the_words(self, engine):
        engine.commit(change(memory("id-1", "a zebra")))
        embed(engine, (memory("id-1", "a zebra"), EAST))
        for space in (SECOND, None):
            hits = engine.search(Query(("zebra",), vector=EAST, space=space), MINE)
            assert [(hit.memory.id, hit.cosine) for hit in hits] == [("id-1", None)]

    def test_e3_what_is_not_ranked_is_the_same_without_a_score(self, engine):
        texts = ("a zebra", "zebra zebra", "a grey zebra", "a lion", "a grey lion")
        engine.commit(change(*(memory(f"id-{n}", text) for n, text in enumerate(texts))))
        for every, phrases in ((True, ()), (False, ()), (False, ("grey zebra",))):
            query = Query(("zebra", "grey"), every=every, phrases=phrases)
            ranked, found = (engine.search(query._replace(ranked=each), MINE) for each in (True, False))
            assert {hit.memory for hit in found} == {hit.memory for hit in ranked} != set()
            assert {hit.words for hit in found} == {1.0}
        assert len(engine.search(Query(("zebra",), ranked=False, limit=2), MINE)) == 2

    def test_e3_what_is_near_but_not_asked_for_pushes_nobody_out(self, engine):
        others = [memory(f"id-{n:03d}", f"note {n}", kind="fact") for n in range(60)]
        strangers = [memory(f"xx-{n:03d}", f"note {n}", owner="ada") for n in range(60)]
        mine = memory("mine-1", "something else", kind="decision")
        engine.commit(change(*others, *strangers, mine))
        embed(engine, *((each, EAST) for each in (*others, *strangers)), (mine, WEST))

        assert near(engine, EAST, limit=1, where=Filter(kinds=("decision",))) == ["mine-1"]
        assert near(engine, EAST, limit=100)[-1] == "mine-1"

    # --- vectors: whose they are, and who lacks one ---

    @pytest.mark.parametrize(
        "change_of",
        [{"text": "We deploy on Mondays"}, {"summary": "when"}, {"tags": ("release",)}, {"tags": ("b", "a")}],
        ids=["text", "summary", "tags", "order of tags"],
    )
    def test_the_vectors_of_what_a_memory_said_before_are_gone(self, engine, change_of):
        first = memory("id-1", tags=("a", "b"))
        engine.commit(change(first, memory("id-2")))
        embed(engine, (first, EAST + NORTH), (memory("id-2"), EAST))
        assert (near(engine, EAST), waiting(engine)) == (["id-1", "id-2"], [])

        second = replace(first, revision=2, **change_of)
        engine.commit(change(second, batch="b2"))

        assert (near(engine, EAST), waiting(engine)) == (["id-2"], ["id-1"])
        assert engine.backlog(MINE) == Backlog(SPACE, None, 1, 0)
        assert engine.lacking(SPACE, MINE) == [second]
        assert (embed(engine, (first, EAST)), embed(engine, (second, NORTH))) == (0, 1)
        assert (near(engine, NORTH, limit=1), waiting(engine)) == (["id-1"], [])
        engine.commit(change(replace(first, revision=3), batch="b3"))
        assert (near(engine, EAST), waiting(engine)) == (["id-2"], ["id-1"])  # nothing is kept for a way back

    @pytest.mark.parametrize(
        "change_of",
        [
            {"verified_at": later(9)},
            {"pinned": True},
            {"status": "rejected"},
            {"status": "pending", "held_for": "conflict"},
            {"importance": 9},
            {"kind": "decision"},
            {"key": "some-key"},
            {"forgotten_at": later(9)},
            {"replaced_by": "id-2"},
            {"valid_until": later(9)},
            {"citations": (Citation("file", "a.py", excerpt="words"),)},
            {"text": "we deploy on fridays."},
            {"scope": Scope.parse("project:api")},
            {"visibility": "shared"},
            {"owner": "ada"},
            {"owner": None},
            {"scope": Scope.parse("team/project:api@run"), "visibility": "shared", "owner": "ada"},
        ],
        ids=str,
    )
    def test_a_change_of_anything_else_keeps_the_vectors_and_moves_them_at_once(self, engine, change_of):
        first = memory("id-1")
        engine.commit(change(first))
        embed(engine, (first, EAST + UP))
        readers = [Access(owner, reach) for owner in ("", "ada", "bob") for reach in (None, frozenset())]
        for reader in readers:
            near(engine, EAST, access=reader)  # so that whatever an engine keeps for them must move too

        second = replace(first, revision=2, **change_of)
        engine.commit(change(second, batch="b2"))

        for reader in readers:
            may = reader.allows(second.owner, second.visibility, second.scope)
            assert near(engine, EAST, access=reader) == (["id-1"] if may else [])
            assert near(engine, EAST, access=reader, where=Filter(scopes=(second.scope,))) == ["id-1"] * may
            if second.scope != first.scope:
                assert near(engine, EAST, access=reader, where=Filter(scopes=(first.scope,))) == []
        assert engine.backlog(MINE) == Backlog(SPACE, None, 0, 0)
        assert {finding.code for finding in engine.check()} <= {"records"}  # a change made by hand tells half of it

    def test_a_memory_that_comes_back_into_reach_is_near_again(self, engine):
        record = memory("id-1")
        engine.commit(change(record))
        embed(engine, (record, EAST))
        for revision, owner in enumerate(("ada", "", "ada", ""), start=2):
            engine.commit(change(replace(record, owner=owner, revision=revision), batch=f"b{revision}"))
            assert near(engine, EAST) == (["id-1"] if owner == "" else [])
            assert near(engine, EAST, access=Access("ada")) == (["id-1"] if owner == "ada" else [])

    def test_vectors_put_again_take_the_place_of_the_old(self, engine):
        engine.commit(change(memory("id-1")))
        embed(engine, (memory("id-1"), EAST + NORTH))
        assert embed(engine, (memory("id-1"), WEST)) == 1
        hits = engine.search(Query(vector=EAST, space=SPACE), MINE)

        assert [(hit.memory.id, hit.cosine) for hit in hits] == [("id-1", -1.0)]

    @pytest.mark.parametrize("nonsense", NONSENSE.values(), ids=NONSENSE)
    def test_what_is_no_vector_is_refused_and_nothing_of_it_is_kept(self, engine, nonsense):
        engine.commit(change(memory("id-1"), memory("id-2")))
        with pytest.raises(Invalid) as refused:
            embed(engine, (memory("id-1"), EAST), (memory("id-2"), nonsense))

        assert refused.value.hint
        assert engine.backlog(MINE) == Backlog()
        assert near(engine, EAST) == []
        embed(engine, (memory("id-1"), NORTH))
        with pytest.raises(Invalid):
            embed(engine, (memory("id-1"), EAST), (memory("id-2"), nonsense))
        with pytest.raises(Invalid):
            embed(engine, (memory("id-1"), EAST), (memory("id-2"), nonsense), space=SECOND)
        assert engine.backlog(MINE) == Backlog(SPACE, None, 1, 0)
        assert engine.search(Query(vector=NORTH, space=SPACE), MINE)[0].cosine == 1

    def test_a_space_without_dimensions_holds_nothing(self, engine):
        engine.commit(change(memory("id-1")))
        with pytest.raises(Invalid):
            embed(engine, (memory("id-1"), b""), space=Space("point", 0))
        with pytest.raises(Invalid):
            embed(engine, (memory("id-1"), EAST), space=Space("point", 0))

    def test_rows_that_fit_no_memory_are_dropped_and_the_others_kept(self, engine):
        engine.commit(change(memory("id-1"), memory("id-2", "note 2"), memory("id-3", "note 3", owner="ada")))
        moved = memory("id-2", "another text")
        theirs = memory("id-3", "note 3")

        assert embed(engine, *((each, EAST) for each in (memory("absent"), memory("id-1"), moved, theirs))) == 2
        assert near(engine, EAST) == ["id-1"]
        assert near(engine, EAST, access=Access("ada")) == ["id-3"]
        assert waiting(engine) == ["id-2"]
        assert len(engine.events()) == 1

    def test_those_that_lack_a_vector_are_told_the_oldest_first(self, engine):
        for n in (5, 3, 8, 1, 9, 2):
            owner = {3: "ada", 8: "ada"}.get(n, "")
            shared = "shared" if n == 8 else "private"
            engine.commit(change(memory(f"id-{n}", f"note {n}", owner=owner, visibility=shared), batch=f"b{n}"))

        assert waiting(engine) == waiting(engine, SECOND) == ["id-5", "id-8", "id-1", "id-9", "id-2"]
        assert waiting(engine, access=Access("ada")) == ["id-3", "id-8"]
        assert waiting(engine, access=Access("ada", None, "team")) == []
        embed(engine, (memory("id-8", "note 8"), EAST), (memory("id-1", "note 1"), EAST))
        assert waiting(engine) == ["id-5", "id-9", "id-2"]
        assert waiting(engine, limit=2) == ["id-5", "id-9"]
        assert waiting(engine, access=Access("ada")) == ["id-3"]
        engine.commit(change(replace(memory("id-5", "note 5"), pinned=True, revision=2), batch="again"))
        assert waiting(engine) == ["id-5", "id-9", "id-2"]

    def test_nothing_lacks_a_vector_in_a_space_that_is_not_the_stores(self, engine):
        engine.commit(change(memory("id-1"), memory("id-2")))
        embed(engine, (memory("id-1"), EAST))
        assert (waiting(engine), waiting(engine, SECOND)) == (["id-2"], [])

        want(engine, SECOND)

        assert (waiting(engine, SECOND), waiting(engine, THIRD)) == (["id-1", "id-2"], [])

    def test_the_backlog_counts_what_is_missing_and_may_be_read(self, engine):
        told = lambda *access: engine.backlog(Access(*access))[2:]  # noqa: E731 - one word for one act
        assert engine.backlog(MINE) == Backlog()
        records = [memory(f"id-{n}", f"note {n}", owner=("", "ada", None)[n % 3]) for n in range(9)]
        engine.commit(change(*records))
        assert engine.backlog(MINE) == Backlog()
        embed(engine, (records[0], EAST + NORTH), (records[1], EAST), (records[2], EAST))
        assert engine.backlog(MINE) == Backlog(SPACE, None, 2, 0)
        want(engine, SECOND)
        assert engine.backlog(Access("ada")) == Backlog(SPACE, SECOND, 2, 3)
        assert (told(""), told("bob"), told("", None, "team")) == ((2, 3), (0, 0), (0, 0))
        embed(engine, *((each, EAST) for each in records[3:]))
        assert (told(""), told("ada")) == ((0, 3), (0, 3))
        engine.commit(change(memory("id-x", "note x"), batch="b2"))
        engine.commit(change(replace(records[0], text="anew", revision=2), batch="b3"))
        assert (told(""), told("ada")) == ((2, 4), (0, 3))
        engine.commit(purge(memory("id-x"), batch="b4"))
        engine.commit(purge(records[1], batch="b5"))
        assert (told(""), told("ada")) == ((1, 3), (0, 2))

    # --- vectors: one space takes over from another ---

    def test_a_second_space_takes_over_only_when_nothing_lacks(self, engine):
        records = [memory(f"id-{n}", f"note {n}") for n in range(3)]
        engine.commit(change(*records))
        embed(engine, *((each, EAST) for each in records))
        want(engine, SECOND)

        assert embed(engine, (records[0], NORTH), space=SECOND) == 1
        assert engine.backlog(MINE) == Backlog(SPACE, SECOND, 0, 2)
        assert waiting(engine, SECOND) == ["id-1", "id-2"]
        assert near(engine, EAST) == ["id-0", "id-1", "id-2"]
        engine.commit(change(memory("id-3", "note 3"), batch="b2"))
        assert engine.backlog(MINE) == Backlog(SPACE, SECOND, 1, 3)
        embed(engine, (memory("id-3", "note 3"), EAST))
        embed(engine, *((each, NORTH) for each in records[1:]), space=SECOND)
        assert engine.backlog(MINE) == Backlog(SPACE, SECOND, 0, 1)
        assert near(engine, EAST) == ["id-0", "id-1", "id-2", "id-3"]
        assert waiting(engine, SECOND) == ["id-3"]

        embed(engine, (memory("id-3", "note 3"), NORTH), space=SECOND)

        assert engine.backlog(MINE) == Backlog(SECOND, None, 0, 0)
        assert near(engine, NORTH, SECOND) == ["id-0", "id-1", "id-2", "id-3"]
        assert (near(engine, EAST), waiting(engine, SPACE)) == ([], [])
        assert engine.check() == []

    def test_rows_of_a_space_that_nobody_wants_are_dropped(self, engine):
        """Whoever still embeds with the model of before does not turn the store back."""
        engine.commit(change(memory("id-1"), memory("id-2")))
        embed(engine, (memory("id-1"), EAST))

        assert embed(engine, (memory("id-1"), NORTH), (memory("id-2"), NORTH), space=SECOND) == 0
        assert engine.backlog(MINE) == Backlog(SPACE, None, 1, 0)
        assert near(engine, NORTH, SECOND) == []
        want(engine, SECOND)
        assert embed(engine, (memory("id-1"), NORTH), (memory("id-2"), NORTH), space=SECOND) == 2
        assert embed(engine, (memory("id-1"), EAST), (memory("id-2"), EAST)) == 0
        assert engine.backlog(MINE) == Backlog(SECOND, None, 0, 0)
        assert near(engine, NORTH, SECOND) == ["id-1", "id-2"]

    def test_a_third_space_takes_the_place_of_the_coming_one(self, engine):
        records = [memory(f"id-{n}", f"note {n}") for n in range(2)]
        engine.commit(change(*records))
        embed(engine, *((each, EAST) for each in records))
        want(engine, SECOND)
        embed(engine, (records[0], NORTH), space=SECOND)

        want(engine, THIRD)

        assert engine.backlog(MINE) == Backlog(SPACE, THIRD, 0, 2)
        assert embed(engine, (records[1], UP), space=THIRD) == 1
        assert (near(engine, NORTH, SECOND), waiting(engine, SECOND)) == ([], [])
        assert embed(engine, (records[1], NORTH), space=SECOND) == 0
        assert near(engine, EAST) == ["id-0", "id-1"]
        want(engine, SECOND)
        assert engine.backlog(MINE) == Backlog(SPACE, SECOND, 0, 2)
        assert near(engine, UP, THIRD) == near(engine, NORTH, SECOND) == []
        embed(engine, *((each, NORTH) for each in records), space=SECOND)
        assert engine.backlog(MINE) == Backlog(SECOND, None, 0, 0)

    def test_going_back_to_the_active_space_ends_the_coming_one(self, engine):
        records = [memory(f"id-{n}", f"note {n}") for n in range(2)]
        engine.commit(change(*records))
        embed(engine, (records[0], EAST))
        want(engine, SECOND)
        embed(engine, (records[0], NORTH), space=SECOND)
        embed(engine, (records[1], EAST))
        assert engine.backlog(MINE) == Backlog(SPACE, SECOND, 0, 1)

        want(engine, SPACE)

        assert engine.backlog(MINE) == Backlog(SPACE, None, 0, 0)
        assert near(engine, EAST) == ["id-0", "id-1"]
        assert (near(engine, NORTH, SECOND), waiting(engine, SECOND)) == ([], [])
        assert engine.check() == []

    def test_wanting_the_same_space_again_changes_nothing(self, engine):
        records = [memory(f"id-{n}", f"note {n}") for n in range(2)]
        engine.commit(change(*records))
        embed(engine, (records[0], EAST))
        want(engine, SPACE)
        assert engine.backlog(MINE) == Backlog(SPACE, None, 1, 0)
        want(engine, SECOND)
        embed(engine, (records[0], NORTH), space=SECOND)

        want(engine, SECOND)

        assert engine.backlog(MINE) == Backlog(SPACE, SECOND, 1, 1)
        assert (near(engine, EAST), near(engine, NORTH, SECOND)) == (["id-0"], ["id-0"])

    def test_a_revision_while_a_space_is_coming_lacks_in_both(self, engine):
        records = [memory(f"id-{n}", f"note {n}") for n in range(2)]
        engine.commit(change(*records))
        embed(engine, *((each, EAST) for each in records))
        want(engine, SECOND)
        embed(engine, (records[0], NORTH), space=SECOND)
        revised = replace(records[0], text="anew", revision=2)
        engine.commit(change(revised, batch="b2"))

        assert engine.backlog(MINE) == Backlog(SPACE, SECOND, 1, 2)
        embed(engine, (revised, NORTH), (records[1], NORTH), space=SECOND)
        assert engine.backlog(MINE) == Backlog(SECOND, None, 0, 0)

    def test_a_space_may_begin_with_no_rows(self, engine):
        """So that a store counts what is missing before the first vector is made."""
        want(engine, SPACE)
        assert engine.backlog(MINE) == Backlog(SPACE, None, 0, 0)
        want(engine, SECOND)
        assert engine.backlog(MINE) == Backlog(SECOND, None, 0, 0)
        engine.commit(change(memory("id-1"), memory("id-2")))
        assert engine.backlog(MINE) == Backlog(SECOND, None, 2, 0)
        want(engine, SPACE)
        assert engine.backlog(MINE) == Backlog(SECOND, SPACE, 2, 2)

    def test_a_purge_of_the_last_that_lacked_one_lets_the_coming_space_take_over(self, engine):
        engine.commit(change(memory("id-1"), memory("id-2")))
        embed(engine, (memory("id-1"), EAST), (memory("id-2"), EAST))
        want(engine, SECOND)
        embed(engine, (memory("id-1"), NORTH), space=SECOND)
        engine.commit(purge(memory("id-2"), batch="b2"))
        want(engine, SECOND)

        assert engine.backlog(MINE) == Backlog(SECOND, None, 0, 0)
        assert (near(engine, EAST), near(engine, NORTH, SECOND)) == ([], ["id-1"])

    # --- E4: a refused or failed commit leaves no trace ---

    def refusals(self) -> dict[str, object]:
        """Changes that a store holding `id-1` (revision 1, claim `c`) must refuse."""
        other = memory("id-2", "The zebra is new", created_at=later(1))
        token = Token("", "remember", "t2", "request")
        return {
            "a wrong revision": change(other, memory("id-1", "zebra", revision=7), token=token),
            "a record that should not exist": change(other, memory("id-1", "zebra"), token=token),
            "a record that should exist": change(other, memory("id-3", "zebra", revision=2), token=token),
            "a dropped record that moved": change(
                other,
                drops=(("memory", "id-1"),),
                expects={"id-2": 0, "id-1": 4},
                erase=("id-1",),
                token=token,
            ),
            "a taken claim": change(other, claims={"id-2": ("free", "c")}, token=token),
            "a session that should exist": change(other, session("ses-1", revision=2), token=token),
        }

    def test_e4_a_refused_commit_leaves_no_trace(self, engine):
        kept = memory("id-1", "We deploy on Fridays", visibility="shared")
        engine.commit(change(kept, claims={"id-1": ("c",)}))
        embed(engine, (kept, EAST + UP))
        before = snapshot(engine)

        for name, refused in self.refusals().items():
            with pytest.raises(Conflict):
                engine.commit(refused)
            assert snapshot(engine) == before, name
            assert engine.events(token=refused.token) == []
        assert engine.check() == []

    def test_e4_what_was_refused_took_no_handle_claim_or_token(self, engine):
        engine.commit(change(memory("id-1"), claims={"id-1": ("c",)}))
        for refused in self.refusals().values():
            with pytest.raises(Conflict):
                engine.commit(refused)
        token = Token("", "remember", "t2", "another request")
        done = engine.commit(change(memory("id-9", "fresh"), claims={"id-9": ("free",)}, token=token, batch="b9"))

        assert done.handles == {"id-9": "mem-0002"}
        assert (done.event.seq, done.event.position, done.replayed) == (2, 2, False)

    # --- E5: a wrong expectation or a taken claim raises Conflict ---

    def test_e5_two_writers_on_one_revision_meet_a_conflict(self, engine):
        engine.commit(change(memory("id-1")))
        engine.commit(change(memory("id-1", "first", revision=2), batch="b2"))
        with pytest.raises(Conflict) as refused:
            engine.commit(change(memory("id-1", "second", revision=2), batch="b3"))

        assert refused.value.hint
        assert engine.get("memory", ["id-1"], MINE)["id-1"].text == "first"

    def test_e5_a_claim_another_record_holds_is_refused(self, engine):
        engine.commit(change(memory("id-1"), claims={"id-1": ("a", "b")}))
        for name in ("a", "b"):
            with pytest.raises(Conflict):
                engine.commit(change(memory("id-2"), claims={"id-2": ("z", name)}, batch="b2"))
        engine.commit(change(memory("id-2"), claims={"id-2": ("z",)}, batch="b3"))

        assert ids(everything(engine)) == ["id-2", "id-1"]

    def test_e5_a_record_keeps_its_own_claim(self, engine):
        engine.commit(change(memory("id-1"), claims={"id-1": ("a",)}))
        engine.commit(change(memory("id-1", "more", revision=2), claims={"id-1": ("a", "b")}, batch="b2"))
        with pytest.raises(Conflict):
            engine.commit(change(memory("id-2"), claims={"id-2": ("b",)}, batch="b3"))

    def test_e5_a_claim_given_up_is_free(self, engine):
        engine.commit(change(memory("id-1"), claims={"id-1": ("a",)}))
        engine.commit(change(memory("id-1", revision=2), claims={"id-1": ()}, batch="b2"))
        engine.commit(change(memory("id-2"), claims={"id-2": ("a",)}, batch="b3"))
        with pytest.raises(Conflict):
            engine.commit(change(memory("id-1", revision=3), claims={"id-1": ("a",)}, batch="b4"))

    @pytest.mark.parametrize("first", ["id-1", "id-2"])
    def test_e5_a_claim_freed_in_the_same_change_may_be_taken(self, engine, first):
        engine.commit(change(memory("id-1"), claims={"id-1": ("a",)}))
        moves = {"id-1": ("b",), "id-2": ("a",)}
        puts = [memory("id-1", revision=2), memory("id-2")]
        order = sorted(moves, key=lambda each: each != first)
        engine.commit(change(*puts, claims={id: moves[id] for id in order}, batch="b2"))
        with pytest.raises(Conflict):
            engine.commit(change(memory("id-3"), claims={"id-3": ("a",)}, batch="b3"))
        with pytest.raises(Conflict):
            engine.commit(change(memory("id-3"), claims={"id-3": ("b",)}, batch="b3"))

    def test_e5_a_claim_of_a_record_dropped_in_the_same_change_may_be_taken(self, engine):
        engine.commit(change(memory("id-1"), claims={"id-1": ("a",)}))
        swap = change(
            memory("id-2"),
            drops=(("memory", "id-1"),),
            expects={"id-1": 1, "id-2": 0},
            claims={"id-2": ("a",)},
            batch="b2",
        )
        engine.commit(swap)

        assert ids(everything(engine)) == ["id-2"]
        with pytest.raises(Conflict):
            engine.commit(change(memory("id-3"), claims={"id-3": ("a",)}, batch="b3"))

    def test_e5_two_records_of_one_change_cannot_hold_one_claim(self, engine):
        both = change(memory("id-1"), memory("id-2"), claims={"id-1": ("a",), "id-2": ("a",)})
        with pytest.raises(Conflict):
            engine.commit(both)

        assert everything(engine) == ()

    def test_e5_a_claim_its_holder_keeps_cannot_be_taken_in_the_same_change(self, engine):
        engine.commit(change(memory("id-1"), claims={"id-1": ("a",)}))
        theft = change(
            memory("id-1", revision=2), memory("id-2"), claims={"id-1": ("a",), "id-2": ("a",)}, batch="b2"
        )
        with pytest.raises(Conflict):
            engine.commit(theft)

        assert ids(everything(engine)) == ["id-1"]

    def test_e5_a_token_answers_again_with_the_first_event(self, engine):
        token = Token("", "remember", "t1", "request")
        first = engine.commit(change(memory("id-1"), token=token))
        again = engine.commit(change(memory("id-2", "never kept"), token=token, batch="b2", at=later(9)))

        assert (first.replayed, again.replayed) == (False, True)
        assert again.event == first.event
        assert ids(everything(engine)) == ["id-1"]
        assert engine.events(token=token) == engine.events() == [first.event]

    def test_e5_a_token_is_answered_even_where_the_change_no_longer_fits(self, engine):
        token = Token("", "remember", "t1", "request")
        asked = change(memory("id-1"), claims={"id-1": ("a",)}, token=token)
        first = engine.commit(asked)

        assert engine.commit(asked) == first._replace(replayed=True)

    def test_e5_a_token_used_for_another_request_is_a_conflict(self, engine):
        engine.commit(change(memory("id-1"), token=Token("", "remember", "t1", "request")))
        other = Token("", "remember", "t1", "another request")
        with pytest.raises(Conflict):
            engine.commit(change(memory("id-2"), token=other, batch="b2"))
        with pytest.raises(Conflict):
            engine.events(token=other)

        assert len(engine.events()) == 1

    def test_e5_a_token_belongs_to_its_owner_and_operation(self, engine):
        names = [("", "remember"), ("ada", "remember"), ("", "revise")]
        for n, (owner, operation) in enumerate(names):
            token = Token(owner, operation, "t1", f"request {n}")
            assert not engine.commit(change(memory(f"id-{n}"), token=token, batch=f"b{n}")).replayed

        assert len(engine.events()) == 3

    # --- E6: events ---

    def test_e6_events_are_numbered_in_commit_order_and_chained(self, engine):
        commits = [engine.commit(change(memory(f"id-{n}"), batch=f"b{n}", at=later(n))) for n in range(12)]
        events = engine.events()

        assert [each.event for each in commits] == events
        assert [each.seq for each in events] == [each.position for each in events] == list(range(1, 13))
        assert [each.prev for each in events] == ["", *(each.id for each in events[:-1])]
        assert len({each.replica for each in events}) == 1
        assert all(map(intact, events))

    def test_e6_hybrid_time_never_runs_backwards_though_the_clock_does(self, engine):
        moments = [5, 5, 3, 4, 5, 90, 1, 0, 89, 90, 91]
        for n, moment in enumerate(moments):
            engine.commit(change(memory(f"id-{n}"), batch=f"b{n}", at=later(moment)))
        events = engine.events()

        assert [each.at for each in events] == [later(moment) for moment in moments]
        assert [each.time for each in events] == sorted({each.time for each in events})
        assert len({each.time for each in events}) == len(moments)

    def test_e6_events_are_selected_by_place_subject_and_batch(self, engine):
        engine.commit(change(memory("id-1"), memory("id-2"), batch="one"))
        engine.commit(change(memory("id-1", revision=2), batch="two"))
        engine.commit(change(memory("id-3"), session("ses-x"), batch="two"))
        seqs = lambda **asked: [event.seq for event in engine.events(**asked)]  # noqa: E731

        assert seqs() == [1, 2, 3]
        assert seqs(newest=True) == [3, 2, 1]
        assert (seqs(after=1), seqs(after=3, newest=True), seqs(after=3)) == ([2, 3], [2, 1], [])
        assert (seqs(limit=2), seqs(limit=2, newest=True)) == ([1, 2], [3, 2])
        assert (seqs(subject="id-1"), seqs(subject="ses-x"), seqs(subject="id")) == ([1, 2], [3], [])
        assert (seqs(batch="two"), seqs(batch="two", subject="id-3"), seqs(batch="")) == ([2, 3], [3], [])
        assert seqs(after=2, newest=True, subject="id-1") == [1]

    def test_e6_envelopes_never_change_even_after_a_purge(self, engine):
        story = Story(engine)
        first = story.remember("The zebra runs at night")
        story.remember("The zebra runs at night")
        story.remember("We deploy on Fridays")
        story.forget(story.read(first.id))
        before = engine.events()

        story.purge(story.read(first.id))
        after = engine.events()

        assert [each.envelope() for each in after[:-1]] == [each.envelope() for each in before]
        assert [each.id for each in after[:-1]] == [each.id for each in before]
        assert all(map(intact, after))
        assert [each.payload is None for each in after] == [True, True, False, True, False]

    def test_e6_a_payload_comes_back_as_it_was_written(self, engine):
        story = Story(engine)
        admission = story.admission(story.request(), "Use uv ☕, never pip", tags=("a", "b"), importance=9)
        done = engine.commit(admission.change)

        assert engine.events()[0].payload == done.event.payload == admission.change.draft.payload
        assert {edit.field for edit in done.event.payload.edits} >= {"id", "text", "tags", "importance"}

    # --- E10: purge ---

    def test_e10_after_a_purge_nothing_of_the_record_can_be_read(self, engine):
        story = Story(engine)
        token = Token("", "remember", "t1", "request")
        kept = story.remember("We deploy on Fridays")
        gone = story.remember("The zebra runs at night", key="animal", tags=("zoo",), token=token)
        assert embed(engine, (gone, EAST + NORTH), (kept, WEST)) == 2
        assert near(engine, EAST) == [gone.id, kept.id]

        done = story.purge(gone)

        assert done.traces == 0
        assert done.handles == {}
        for ref in (gone.id, gone.handle, gone.id[:-1]):
            assert engine.get("memory", [ref], MINE) in ({}, {ref: kept})
        assert everything(engine) == (kept,)
        assert [found(engine, word) for word in ("zebra", "animal", "zoo", "night")] == [[]] * 4
        assert engine.scan("memory", Filter(digest=gone.digest), MINE).records == ()
        assert near(engine, EAST) == near(engine, NORTH) == [kept.id]
        assert near(engine, EAST, where=Filter(ids=(gone.id,))) == []
        assert engine.backlog(MINE) == Backlog(SPACE, None, 0, 0)
        assert embed(engine, (gone, EAST)) == 0
        assert engine.events(token=token) == []

    def test_e10_the_event_line_remains_without_content(self, engine):
        story = Story(engine)
        gone = story.remember("The zebra runs at night")
        story.purge(gone)
        events = engine.events(subject=gone.id)

        assert [each.action for each in events] == ["remember", "purge"]
        assert events[0].payload is None
        assert "zebra" not in str(events)
        assert engine.check() == []

    def test_e10_a_purged_handle_and_claim_and_token(self, engine):
        """The handle is never given again; claim and token are free."""
        story = Story(engine)
        token = Token("", "remember", "t1", "request")
        first = story.remember("The zebra runs at night", token=token)
        story.purge(first)
        second = story.remember("The zebra runs at night", token=token)

        assert (first.handle, second.handle) == ("mem-0001", "mem-0002")
        assert second.id != first.id
        assert second.seen == 1
        assert engine.get("memory", ["mem-0001"], MINE) == {}

    def test_e10_an_event_that_spoke_of_several_loses_its_payload_when_one_is_purged(self, engine):
        engine.commit(change(memory("id-1", "The zebra"), memory("id-2", "We deploy")))
        engine.commit(purge(memory("id-1"), batch="b2"))

        assert [each.payload is None for each in engine.events()] == [True, False]
        assert ids(everything(engine)) == ["id-2"]
        assert found(engine, "zebra") == []

    def test_e10_who_takes_a_purged_id_inherits_no_vector(self, engine):
        engine.commit(change(memory("id-1"), memory("id-2")))
        embed(engine, (memory("id-1"), EAST), (memory("id-2"), NORTH))
        near(engine, EAST)
        engine.commit(purge(memory("id-1"), batch="b2"))
        engine.commit(change(memory("id-1"), batch="b3"))

        assert (near(engine, EAST), waiting(engine)) == (["id-2"], ["id-1"])

    def test_e10_a_vector_of_another_text_is_dropped(self, engine):
        first = memory("id-1", "The zebra runs at night")
        second = replace(first, text="The zebra sleeps", revision=2)
        engine.commit(change(first))

        assert engine.put_vectors(SPACE, [("id-1", second.imprint, EAST), ("absent", first.imprint, EAST)]) == 0
        assert engine.put_vectors(SPACE, [("id-1", first.imprint, EAST)]) == 1
        engine.commit(change(second, batch="b2"))
        assert engine.put_vectors(SPACE, [("id-1", first.imprint, EAST)]) == 0
        assert len(engine.events()) == 2
        assert engine.check() == []

    # --- E11: access ---

    @pytest.mark.parametrize("access", [None, "", (), ("", None, None), {}])
    def test_e11_a_read_without_an_access_raises(self, engine, access):
        record = memory("id-1", visibility="shared")
        engine.commit(change(record, session("ses-1"), relation("rel-1")))
        embed(engine, (record, EAST))
        reads = [
            lambda: engine.search(Query(terms=(DEPLOY,)), access),
            lambda: engine.search(Query(terms=(DEPLOY,), every=False), access),
            lambda: engine.search(Query(vector=EAST, space=SPACE), access),
            lambda: engine.search(Query(vector=EAST, space=SPACE, where=Filter(ids=("id-1",))), access),
            lambda: engine.search(Query(), access),
            lambda: engine.census((DEPLOY,), access),
            lambda: engine.containing("ploy", access),
            lambda: engine.places(access),
            lambda: engine.lacking(SPACE, access),
            lambda: engine.lacking(SECOND, access),
            lambda: engine.backlog(access),
            *(lambda kind=kind: engine.scan(kind, Filter(), access) for kind in ("memory", "session", "relation")),
            *(lambda kind=kind: engine.get(kind, ["id-1"], access) for kind in ("memory", "session", "relation")),
            *(lambda ref=ref: engine.get("memory", [ref], access) for ref in ("mem-0001", "id-1x", "nope")),
        ]
        for read in reads:
            with pytest.raises(TypeError):
                read()

    @pytest.mark.parametrize(
        "call", ["get", "scan", "search", "census", "containing", "places", "lacking", "backlog"]
    )
    def test_e11_access_is_no_optional_argument(self, engine, call):
        asked = {
            "get": ("memory", ["id-1"]),
            "scan": ("memory", Filter()),
            "search": (Query(terms=("x",)),),
            "census": (("x",),),
            "containing": ("x",),
            "places": (),
            "lacking": (SPACE,),
            "backlog": (),
        }
        with pytest.raises(TypeError):
            getattr(engine, call)(*asked[call])

    def readable(self, engine: Engine, record: Memory, access: Access) -> set[bool]:
        """What each way to read says: one answer, or the engine contradicts itself."""
        refs = (record.id, "mem-0001", record.id[:-3])
        return {
            *(record in engine.get("memory", [ref], access).values() for ref in refs),
            record in everything(engine, access=access),
            record in engine.scan("memory", Filter(ids=(record.id,)), access, oldest=True).records,
            record.id in found(engine, DEPLOY, access=access),
            record.id in found(engine, phrases=("we deploy",), access=access),
            record.id in near(engine, NORTH, access=access),
            record.id in near(engine, EAST, access=access, where=Filter(ids=(record.id,))),
            record.id in waiting(engine, SECOND, access=access),
            engine.backlog(access).remaining == 1,
            engine.census((DEPLOY,), access).carriers[DEPLOY] == 1,
            engine.containing(DEPLOY, access) == [DEPLOY],
            record.scope in engine.places(access),
        }

    @pytest.mark.parametrize(
        ("whose", "access", "may"),
        [
            (("ada", "private", "global"), Access("ada"), True),
            (("ada", "private", "global"), Access("bob"), False),
            (("ada", "private", "global"), Access(""), False),
            (("", "private", "global"), Access(""), True),
            (("", "private", "global"), Access("ada"), False),
            (("ada", "shared", "global"), Access("bob"), True),
            (("ada", "shared", "global"), Access("bob", frozenset()), True),
            (("ada", "shared", "project:api"), Access("bob"), True),
            (("ada", "shared", "project:api"), Access("bob", frozenset()), False),
            (("ada", "shared", "project:api"), Access("bob", frozenset({"project:web", "agent:api"})), False),
            (("ada", "shared", "project:api@run"), Access("bob", frozenset({"project:api"})), True),
            (("ada", "private", "project:api"), Access("bob", frozenset({"project:api"})), False),
            (("ada", "private", "project:api"), Access("ada", frozenset()), True),
            (("ada", "shared", "team/project:api"), Access("bob", None, "team"), True),
            (("ada", "shared", "team/project:api"), Access("bob", None, "other"), False),
            (("ada", "shared", "team/project:api"), Access("bob", None, ""), False),
            (("ada", "private", "team/project:api"), Access("ada", None, "other"), False),
            (("ada", "private", "global"), Access("ada", None, "team"), False),
            (("ada", "shared", "global"), Access("bob", None, ""), True),
            (("ada", "shared", "project:api"), Access("bob", closed=frozenset({"project:api"})), False),
            (("ada", "shared", "project:api@run"), Access("bob", closed=frozenset({"project:api"})), False),
            (("ada", "shared", "project:apis"), Access("bob", closed=frozenset({"project:api"})), True),
            (("ada", "private", "project:api"), Access("ada", closed=frozenset({"project:api"})), True),
            (("ada", "shared", "agent:builder"), Access("bob"), False),
            (("ada", "shared", "agent:builder"), Access("bob", agent="builder"), True),
            (("ada", "shared", "agent:builder"), Access("bob", agent="Builder"), False),
            (("ada", "private", "agent:builder"), Access("bob", agent="builder"), False),
            (("ada", "shared", "agent:project:x"), Access("bob"), False),
            (("ada", "shared", "session:s"), Access("bob"), False),
            (("ada", "shared", "session:s"), Access("ada"), True),
            ((None, "private", "team/project:api"), Access("", unowned=True), True),
            (("", "shared", "global"), Access("", unowned=True), False),
            (("ben", "private", "team/project:api"), Access("", keyring=True), True),
            ((None, "private", "global"), Access("", keyring=True), False),
            ((None, "private", "global"), Access(""), False),
            ((None, "shared", "global"), Access(""), False),
            ((None, "shared", "global"), Access("ada"), False),
        ],
    )
    def test_e11_who_may_read_may_by_every_way_and_who_may_not_by_none(self, engine, whose, access, may):
        owner, visibility, scope = whose
        record = memory("some-id-01", owner=owner, visibility=visibility, scope=Scope.parse(scope))
        engine.commit(change(record))
        embed(engine, (record, EAST))
        want(engine, SECOND)

        assert self.readable(engine, record, access) == {may}

    def test_e11_sessions_and_relations_are_their_owners_alone(self, engine):
        engine.commit(change(session("ses-a", owner="ada"), relation("rel-a", owner="ada")))
        for type, id in (("session", "ses-a"), ("relation", "rel-a")):
            handle = f"{id[:3]}-0001"
            assert set(engine.get(type, [id, handle], Access("ada"))) == {id, handle}
            assert engine.get(type, [id, handle], Access("bob")) == {}
            assert engine.get(type, [id], Access("")) == {}

    def test_e11_a_filter_cannot_widen_access(self, engine):
        engine.commit(change(memory("id-1", owner="ada")))
        embed(engine, (memory("id-1"), EAST))
        everyone = (Filter(owner="ada"), Filter(ids=("id-1",)), Filter(within=Scope()), Filter(kinds=("fact",)))
        for where in everyone:
            assert engine.scan("memory", where, Access("bob")).records == ()
            assert found(engine, DEPLOY, access=Access("bob"), where=where) == []
            assert near(engine, EAST, access=Access("bob"), where=where) == []

    # --- E12: check ---

    def test_e12_check_of_an_empty_store_finds_nothing(self, engine):
        assert engine.check() == []
        assert engine.check(repair=True) == []

    @pytest.mark.parametrize("seed", range(3))
    def test_e12_check_of_a_healthy_store_finds_nothing_whatever_happened(self, engine, seed):
        dice, story = random.Random(seed), Story(engine, caller=Caller(actor="Ada"))
        texts = [f"The {thing} is {n}" for thing in ("port", "zebra", "limit") for n in range(6)]
        for _ in range(120):
            known = everything(engine)
            try:
                if not known or dice.random() < 0.5:
                    kind = dice.choice(("fact", "identity", "decision"))
                    key = dice.choice(("", "", "k1", "k2"))
                    story.remember(dice.choice(texts), kind=kind, key=key, confirmed=dice.choice(("", "flag")))
                else:
                    act = dice.choice((story.forget, story.restore, story.promote, story.reject, story.purge))
                    act(dice.choice(known))
            except EngramError:
                continue  # the rules or a claim refused it, which is no business of a check

        assert engine.check() == []
        assert len(engine.events(limit=1000)) > 40
        before = snapshot(engine)
        assert engine.check(repair=True) == []
        assert snapshot(engine) == before

    # --- names: handles, prefixes, refs ---

    def test_handles_count_up_per_type_and_stay(self, engine):
        first = engine.commit(change(memory("id-1"), memory("id-2"), session("ses-x"), relation("rel-x")))
        again = engine.commit(change(memory("id-1", "more", revision=2), memory("id-3"), batch="b2"))

        assert first.handles == {"id-1": "mem-0001", "id-2": "mem-0002"}
        assert again.handles == {"id-1": "mem-0001", "id-3": "mem-0003"}
        assert {each.id: each.handle for each in everything(engine)} == first.handles | again.handles
        assert everything(engine, "session")[0].handle == "ses-0001"
        assert everything(engine, "relation")[0].handle == "rel-0001"

    def test_a_wanted_number_is_given_and_the_next_goes_on_from_it(self, engine):
        first = engine.commit(change(memory("id-1"), memory("id-2"))._replace(numbers={"id-1": 7}))
        later = engine.commit(change(memory("id-3"), batch="b2")._replace(numbers={"id-3": 3}))
        last = engine.commit(change(memory("id-4"), batch="b3"))

        assert first.handles == {"id-1": "mem-0007", "id-2": "mem-0008"}
        assert later.handles == {"id-3": "mem-0003"}
        assert last.handles == {"id-4": "mem-0009"}
        assert engine.get("memory", ["mem-0007"], MINE)["mem-0007"].id == "id-1"

    def test_a_wanted_number_that_another_record_has_is_refused(self, engine):
        engine.commit(change(memory("id-1")))
        before = snapshot(engine)
        for wanted in ({"id-2": 1}, {"id-2": 5, "id-3": 5}):
            with pytest.raises(Conflict):
                engine.commit(change(memory("id-2"), memory("id-3"), batch="b2")._replace(numbers=wanted))

        assert snapshot(engine) == before

    def test_a_wanted_number_of_a_record_that_has_one_changes_nothing(self, engine):
        engine.commit(change(memory("id-1")))
        done = engine.commit(change(memory("id-1", "more", revision=2), batch="b2")._replace(numbers={"id-1": 9}))

        assert done.handles == {"id-1": "mem-0001"}

    def test_get_answers_by_the_ref_given(self, engine):
        engine.commit(change(memory("abcdef-1"), memory("uvwxyz-1")))
        refs = ["abcdef-1", "mem-0001", "MEM-1", "mem-00002", "uvwx", "absent", "mem-0009", "uvw", "", "ses-0001"]
        got = engine.get("memory", refs, MINE)

        assert {ref: record.id for ref, record in got.items()} == {
            "abcdef-1": "abcdef-1",
            "mem-0001": "abcdef-1",
            "MEM-1": "abcdef-1",
            "mem-00002": "uvwxyz-1",
            "uvwx": "uvwxyz-1",
        }
        assert engine.get("memory", [], MINE) == {}
        assert engine.get("session", ["mem-0001", "abcdef-1"], MINE) == {}

    def test_an_ambiguous_prefix_is_a_conflict_among_the_readable_only(self, engine):
        engine.commit(change(memory("abcd-1"), memory("abcd-2"), memory("efgh-1"), memory("efgh-2", owner="ada")))
        with pytest.raises(Conflict) as refused:
            engine.get("memory", ["abcd"], MINE)

        assert "abcd-1" in refused.value.hint
        assert engine.get("memory", ["efgh"], MINE)["efgh"].id == "efgh-1"
        assert engine.get("memory", ["efgh"], Access("ada"))["efgh"].id == "efgh-2"
        assert engine.get("memory", ["efgh"], Access("bob")) == {}

    def test_a_whole_id_is_never_ambiguous(self, engine):
        engine.commit(change(memory("abcd"), memory("abcdef")))

        assert engine.get("memory", ["abcd"], MINE)["abcd"].id == "abcd"

    @pytest.mark.parametrize(
        "ref", ["%%%%", "____", "abc%", "abc_", "' OR 1", "ABCD", "abcd\x00", "*" * 5, "\U0010ffff" * 4]
    )
    def test_a_prefix_is_no_pattern(self, engine, ref):
        engine.commit(change(memory("abcd-1")))

        assert engine.get("memory", [ref], MINE) == {}
