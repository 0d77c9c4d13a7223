"""E3: what words find, in which order, and what a score means."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engines.asking import (
    ASKED_FOR,
    NASTY,
    UNHELD,
    embed,
    found,
    near,
    shares,
    terms_of,
)
from engines.samples import (
    EAST,
    MINE,
    change,
    everything,
    memory,
    purge,
)
from engines.strategies import (
    ACCESSES,
    filters,
    numbered,
    pooled_memories,
)
from engram.model.filter import Access, Filter, matches
from engram.model.memory import Context
from engram.model.query import Query
from engram.model.record import replace
from engram.model.scope import Scope
from engram.model.text import holds, query_terms, tail_term
from engram.model.text import terms as all_terms


class WordLaws:
    """Laws for `engine`, an empty engine of any sort."""

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

        assert found(engine, "zeb*") == ["id-1"]
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
            context=Context(agent=nasty, branch=nasty),
        )
        engine.commit(change(kept, memory("id-2", "another zebra", owner=nasty)))
        access = Access(nasty, closed=frozenset({nasty}), agent=nasty)
        whole = {each.id: each for each in everything(engine, access=access)}
        for where in (
            *(Filter(**{name: nasty}) for name in ("key", "session", "owner", "digest", "amends")),
            *(Filter(**{name: nasty}) for name in ("replaced_by", "held_for", "agent", "made_on")),
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

    @pytest.mark.parametrize("nothing", UNHELD)
    def test_e2_what_no_store_can_hold_names_nothing(self, engine, nothing):
        kept = memory("id-1", "a zebra", owner="ada", visibility="shared"), memory("id-2", "a zebra", owner="bob")
        engine.commit(change(*kept))
        access = Access(nothing, closed=frozenset({nothing}), agent=nothing)
        for where in (
            *(Filter(**{name: nothing}) for name in ("key", "session", "owner", "digest", "outline", "amends")),
            *(Filter(**{name: nothing}) for name in ("replaced_by", "held_for", "agent", "made_on", "near")),
            *(Filter(**{name: (nothing,)}) for name in ("tags", "kinds", "ids")),
        ):
            assert engine.scan("memory", where, access).records == ()
            assert found(engine, "zebra", where=where, access=access) == []
        everything_else = Filter(except_kinds=(nothing,))
        assert [each.id for each in engine.scan("memory", everything_else, access).records] == ["id-1"]
        assert found(engine, "zebra", where=everything_else, access=access) == ["id-1"]
        assert engine.scan("relation", Filter(touches=(nothing,)), access).records == ()
        assert engine.get("memory", [nothing], access) == {}
        assert engine.events(batch=nothing) == engine.events(subject=nothing) == []
        assert engine.containing(nothing, access) == []
        assert [str(place) for place in engine.places(access)] == ["global"]
