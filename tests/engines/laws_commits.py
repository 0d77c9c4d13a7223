"""E4 to E6 and E10 to E12: commits, events, purge, access, check, and the names of records."""

import random

import pytest

from engines.asking import (
    DEPLOY,
    SECOND,
    embed,
    found,
    near,
    snapshot,
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
    Story,
    change,
    everything,
    ids,
    later,
    memory,
    purge,
    relation,
    session,
)
from engram.errors import Conflict, EngramError
from engram.model.caller import Caller
from engram.model.change import Token
from engram.model.event import intact
from engram.model.filter import Access, Filter
from engram.model.memory import Memory
from engram.model.query import Backlog, Query
from engram.model.record import replace
from engram.model.scope import Scope
from engram.ports import Engine


class CommitLaws:
    """Laws for `engine`, an empty engine of any sort."""

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
        for whose, seen in (("ada", ["id-1"]), ("bob", [])):
            for where in everyone:
                assert ids(engine.scan("memory", where, Access(whose)).records) == seen
                assert found(engine, DEPLOY, access=Access(whose), where=where) == seen
                assert near(engine, EAST, access=Access(whose), where=where) == seen

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
