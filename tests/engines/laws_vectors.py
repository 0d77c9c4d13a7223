"""E3: what meaning finds, alone and with words; and whose the vectors are, and which space they are of."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.asking import (
    ASKED_FOR,
    DEPLOY,
    NONSENSE,
    PHRASED,
    SECOND,
    THIRD,
    WAYS,
    embed,
    found,
    near,
    waiting,
    want,
)
from engines.samples import (
    EAST,
    MINE,
    NORTH,
    SPACE,
    UP,
    WEST,
    change,
    ids,
    later,
    memory,
    purge,
    vector,
)
from engines.strategies import (
    ACCESSES,
    filters,
    numbered,
    pooled_memories,
)
from engram.errors import Invalid
from engram.model.filter import Access, Filter, matches
from engram.model.memory import Citation
from engram.model.query import Backlog, Query, Space, cosine
from engram.model.record import replace
from engram.model.scope import Scope


class VectorLaws:
    """Laws for `engine`, an empty engine of any sort."""

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
