"""E1 and E2: a record comes back equal, and a scan is filtering everything."""

from datetime import timedelta
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.asking import (
    DEPLOY,
    embed,
    everything_in,
    found,
    near,
    pages,
)
from engines.samples import (
    EAST,
    MINE,
    START,
    change,
    everything,
    ids,
    later,
    memory,
    purge,
    relation,
    session,
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
from engram.errors import Invalid
from engram.model.codec import type_of
from engram.model.filter import Access, Filter, matches
from engram.model.memory import STANDINGS, Citation
from engram.model.record import replace
from engram.model.scope import Scope


class RecordLaws:
    """Laws for `engine`, an empty engine of any sort."""

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

    def test_e2_a_filter_and_an_access_may_name_a_hundred_thousand(self, engine):
        many = tuple(f"id-{n}" for n in range(100_000))
        far = frozenset(f"project:{name}" for name in many)
        shared = memory("shared", owner="ada", visibility="shared", scope=Scope("project", "id-99999"))
        engine.commit(change(memory("id-7"), memory("other"), shared, session("id-7"), session("else")))
        engine.commit(change(relation("rel-1", from_id="id-99999", to_id="x"), relation("rel-2"), batch="b2"))
        engine.commit(change(relation("rel-3", from_id="x", to_id="y"), batch="b3"))
        odd = (*many, "half \ud800", "nul \0", "")

        assert ids(engine.scan("memory", Filter(ids=odd), MINE).records) == ["id-7"]
        assert ids(engine.scan("session", Filter(ids=odd), MINE).records) == ["id-7"]
        assert ids(engine.scan("relation", Filter(touches=odd), MINE).records) == ["rel-2", "rel-1"]
        assert list(engine.get("memory", odd, MINE)) == ["id-7"]
        assert found(engine, DEPLOY, where=Filter(ids=odd)) == ["id-7"]
        embed(engine, (memory("id-7"), EAST), (memory("other"), EAST))
        assert near(engine, EAST, where=Filter(ids=odd)) == ["id-7"]
        assert ids(everything(engine, access=Access("bob", far))) == ["shared"]
        assert ids(everything(engine, access=Access("bob", closed=far))) == []

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
