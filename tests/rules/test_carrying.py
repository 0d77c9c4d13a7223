"""What leaves a store: which records a place may have, and of an event only the part that is about those."""

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from engram.model.event import Edit, Event, Head, edits_between, intact, seal
from engram.model.filter import Filter
from engram.model.memory import Memory
from engram.model.record import replace
from engram.model.relation import Relation
from engram.model.scope import GLOBAL, Scope
from engram.model.session import Session
from engram.rules import carrying
from engram.rules.carrying import Reach, Watch
from engram.rules.merge import STATES, states
from rules.histories import changing, making, said
from rules.world import PERSON, START, memory, request

HERE, ELSEWHERE = Scope("project", "here"), Scope("project", "elsewhere")
RUN = replace(HERE, run="eval")


def shared(id: str = "memory-1", scope: Scope = HERE, **fields: Any) -> Memory:
    return memory(id, scope=scope, **({"visibility": "shared"} | fields))


def session(scope: Scope = HERE) -> Session:
    return Session(id="ses-1", owner=PERSON.owner, started_at=START, scope=scope)


def relation(first: str, second: str) -> Relation:
    return Relation(id="rel-1", from_id=first, to_id=second, kind="related", created_at=START, updated_at=START)


def telling(*records: Memory | Session | Relation) -> Event:
    """An event that tells records whole."""
    change = carrying.restated({each.id: states([making(each)])[each.id] for each in records}, request())
    return seal(change.draft, Head("mine"))[0]


# --- what a place may have ---


@pytest.mark.parametrize(
    ("reach", "covered"),
    [
        (Reach(HERE), [(HERE, "shared"), (RUN, "shared")]),
        (Reach(HERE, private=True), [(HERE, "shared"), (RUN, "shared"), (HERE, "private")]),
        (Reach(HERE, private=True, shared=False), [(HERE, "private")]),
        (Reach(HERE, everywhere=True), [(HERE, "shared"), (RUN, "shared"), (GLOBAL, "shared")]),
        (Reach(GLOBAL), [(GLOBAL, "shared")]),
    ],
)
def test_a_place_is_given_the_shared_memories_of_its_scope_and_more_where_a_person_asked(reach, covered):
    every = [(HERE, "shared"), (RUN, "shared"), (HERE, "private"), (GLOBAL, "shared"), (ELSEWHERE, "shared")]
    every.append((Scope(run="eval"), "shared"))  # a run that belongs to no project

    assert [each for each in every if reach.covers(*each)] == covered


@pytest.mark.parametrize(
    ("reach", "held"),
    [
        (Reach(HERE), [("memory", HERE), ("memory", RUN), ("session", GLOBAL)]),
        (
            Reach(HERE, everywhere=True),
            [("memory", HERE), ("memory", RUN), ("memory", GLOBAL), ("session", GLOBAL)],
        ),
        (Reach(GLOBAL), [("memory", GLOBAL), ("session", GLOBAL)]),
    ],
)
def test_through_a_place_comes_what_belongs_to_its_project_and_any_session(reach, held):
    every = [(type, scope) for type in ("memory", "session") for scope in (HERE, RUN, GLOBAL, ELSEWHERE)]

    assert [each for each in every if reach.holds(*each) and (each[0] == "memory" or each[1] == GLOBAL)] == held
    assert not reach.holds("session", ELSEWHERE)


def test_what_is_looked_through_is_the_project_and_what_holds_everywhere():
    assert Reach(HERE).filters() == [Filter(within=HERE), Filter(scopes=(GLOBAL,))]
    assert Reach(GLOBAL).filters() == [Filter(scopes=(GLOBAL,))]


def test_what_stays_home_is_counted_by_what_keeps_it():
    own, everywhere = memory("a", scope=HERE), shared("b", GLOBAL)
    private = memory("c", scope=GLOBAL)

    assert carrying.stayed([own, shared(), everywhere, private], Reach(HERE)) == {"private": 1, "global": 2}
    assert carrying.stayed([everywhere, private], Reach(HERE, everywhere=True)) == {"private": 1}
    assert carrying.stayed([private, everywhere], Reach(GLOBAL)) == {"private": 1}
    assert carrying.stayed([shared()], Reach(HERE)) == {}
    assert carrying.stayed([own, memory("d", scope=RUN)], Reach(HERE)) == {"private": 2}


# --- what can be told by its events alone ---


def watched(*events: Event, ids: Collection[str] = ("memory-1",), strangers: Collection[str] = ()) -> Watch:
    watch = Watch(Reach(HERE), "mine", ids, strangers)
    for event in events:
        watch.see(event)
    return watch


def test_what_was_always_in_reach_and_only_ours_is_told_by_its_events():
    pinned = said("mine", changing("pinned", new=True))

    assert watched(making(shared()), pinned).broken == set()
    assert watched(making(shared()), pinned).strange == set()


@pytest.mark.parametrize(
    "event",
    [
        making(memory(scope=HERE)),
        making(shared(scope=ELSEWHERE)),
        making(shared(scope=GLOBAL)),
        making(shared(), replica="theirs"),
        making(shared())._replace(payload=None),
        telling(shared()),
    ],
)
def test_what_was_out_of_reach_or_others_wrote_or_lost_its_words_is_told_whole(event: Event):
    shown = said("mine", changing("visibility", "shared", "private"), changing("scope", str(HERE)))

    assert watched(event, shown).broken == {"memory-1"}


def test_a_time_out_of_reach_is_remembered_however_it_ends():
    hidden, shown = (
        said("mine", changing("visibility", None, "shared")),
        said("mine", changing("visibility", "shared", "private")),
    )
    away, back = said("mine", changing("scope", None, str(HERE))), said("mine", changing("scope", str(HERE)))

    assert watched(making(shared()), hidden, shown).broken == {"memory-1"}
    assert watched(making(shared()), away, back).broken == {"memory-1"}


def test_only_what_is_watched_is_followed():
    both = making(shared("memory-2", ELSEWHERE), shared())
    edits = [changing("visibility", "private", id="memory-2"), changing("pinned", new=True)]

    assert watched(both).broken == set()
    assert watched(both, said("mine", *edits)).broken == set()
    assert watched(making(session(GLOBAL)), ids=("ses-1",)).broken == set()
    assert watched(making(shared("memory-2"), replica="theirs"), strangers=("theirs",)).strange == set()


def test_what_is_watched_is_followed_whatever_else_an_event_is_about():
    hidden = changing("visibility", None, "shared")
    beside = [Edit("session", "ses-1", "agent", None, "codex"), changing("pinned", new=True, id="memory-2")]

    assert watched(making(shared()), said("mine", *beside, hidden)).broken == {"memory-1"}


def test_what_a_stranger_has_a_word_in_is_for_the_stranger_to_tell():
    event = said("theirs", changing("pinned", new=True))

    assert watched(event, strangers=("theirs",)).strange == {"memory-1"}
    assert watched(event).strange == set()


# --- what has no business in a place ---


def nowhere(_: str) -> list[tuple[str, Scope]]:
    return []


@pytest.mark.parametrize(
    "event",
    [
        making(shared()),
        making(shared(scope=RUN)),
        telling(shared()),
        making(session(GLOBAL)),
        making(relation("memory-1", "memory-2")),
        telling(relation("memory-1", "memory-2")),
        said("mine", changing("pinned", new=True)),
        said("mine", changing("scope", str(HERE))),
        said("mine", changing("scope", "no scope at all")),
        said("mine", changing("id", None, "memory-1"), changing("scope", None, str(HERE))),
        making(shared())._replace(payload=None),
    ],
)
def test_what_is_about_the_project_of_a_place_has_business_there(event: Event):
    assert carrying.trespass(event, Reach(HERE), nowhere) == ""


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (making(shared(scope=ELSEWHERE)), "it is for project:elsewhere, and here is project:here"),
        (telling(shared(scope=ELSEWHERE)), "it is for project:elsewhere"),
        (making(session(ELSEWHERE)), "it is for project:elsewhere"),
        (said("mine", changing("scope", str(ELSEWHERE), str(HERE))), "it is for project:elsewhere"),
        (making(shared(scope=GLOBAL)), "it holds everywhere"),
        (telling(shared(scope=GLOBAL)), "it holds everywhere"),
        (said("mine", changing("scope", None, str(HERE))), "it holds everywhere"),
    ],
)
def test_what_is_put_elsewhere_has_no_business_in_a_place(event: Event, why: str):
    assert why in carrying.trespass(event, Reach(HERE), nowhere)


def test_what_never_was_in_the_project_is_not_changed_through_its_place():
    def known(id: str) -> list[tuple[str, Scope]]:
        return {"away": [("memory", ELSEWHERE)], "came": [("memory", ELSEWHERE), ("memory", HERE)]}.get(id, [])

    pinned = said("mine", changing("pinned", new=True, id="away"))
    assert carrying.trespass(pinned, Reach(HERE), known) == "it is about a memory of another project"
    assert carrying.trespass(said("mine", changing("pinned", new=True, id="came")), Reach(HERE), known) == ""
    assert carrying.trespass(making(relation("away", "memory-1")), Reach(HERE), known) != ""
    assert carrying.trespass(making(relation("memory-1", "away")), Reach(HERE), known) != ""
    assert carrying.trespass(making(relation("memory-1", "came")), Reach(HERE), known) == ""


def test_what_is_told_to_be_gone_is_nowhere():
    gone = said("mine", *edits_between(shared(scope=ELSEWHERE), None))._replace(time="9")
    state = states([making(shared(scope=ELSEWHERE)), gone])["memory-1"]
    told = seal(carrying.restated({"memory-1": state}, request()).draft, Head("mine"))[0]

    assert carrying.trespass(told, Reach(HERE), nowhere) == ""


def test_where_a_record_was_is_told_by_its_events():
    both = making(shared(), shared("memory-2", ELSEWHERE))
    moved = said("mine", changing("scope", str(ELSEWHERE), str(HERE)))

    assert carrying.scopes_told("memory-1", [both, moved]) == [("memory", HERE), ("memory", ELSEWHERE)]
    assert carrying.scopes_told("memory-2", [telling(shared(), shared("memory-2", RUN))]) == [("memory", RUN)]
    assert carrying.scopes_told("memory-1", [both._replace(payload=None)]) == []


def test_an_event_moves_what_changes_its_reach_and_not_what_it_makes():
    assert carrying.moves(said("mine", changing("visibility", "shared"))) == {"memory-1"}
    assert carrying.moves(said("mine", changing("scope", str(HERE)))) == {"memory-1"}
    assert carrying.moves(said("mine", changing("pinned", new=True))) == set()
    assert carrying.moves(making(shared())) == set()
    assert carrying.moves(said("mine", Edit("session", "ses-1", "scope", None, str(HERE)))) == set()
    assert carrying.moves(making(shared())._replace(payload=None)) == set()


# --- the part of an event that goes ---


def part(event: Event, *ids: str, only: Mapping[str, Collection[str]] | None = None) -> Event | None:
    return carrying.part_of(event, lambda each: each in ids, only=only or {})


def test_an_event_that_goes_whole_goes_as_it_is():
    event = making(shared(), shared("memory-2"), note={"reason": "both"})

    assert part(event, "memory-1", "memory-2") is event


def test_a_part_is_sealed_anew_and_tells_nothing_of_what_stays_home():
    event = making(
        shared(), memory("memory-2", "A private word"), note={"reason": "both", "confirmed": "flag"}, tier=3
    )
    goes = part(event, "memory-1")

    assert goes.subjects == ("memory-1",)
    assert {edit.id for edit in goes.payload.edits} == {"memory-1"}
    assert goes.payload.note == {"confirmed": "flag"}
    assert goes.tier == 0
    assert intact(goes)
    assert goes.id != event.id
    assert goes.payload.salt not in ("", event.payload.salt)
    assert len(goes.payload.salt) == 32
    assert part(event, "memory-1") == goes
    assert part(event, "memory-2").payload.salt != goes.payload.salt
    salted = event._replace(payload=event.payload._replace(salt="another"))
    assert part(salted, "memory-1").payload.salt != goes.payload.salt


def test_nothing_goes_of_an_event_that_is_about_nothing_that_does_or_has_lost_its_words():
    assert part(making(shared()), "memory-2") is None
    assert part(making(shared())._replace(payload=None), "memory-1") is None
    assert part(said("mine", subjects=("memory-1",)), "memory-1") is None


def test_an_erasure_goes_even_without_its_words():
    gone = said("mine", subjects=("memory-1", "memory-2"), action="purge")._replace(payload=None)

    assert part(gone, "memory-1").subjects == ("memory-1",)
    assert part(gone, "memory-3") is None


def test_of_what_has_left_only_the_named_fields_still_go():
    event = said("mine", changing("visibility", None, "shared"), changing("text", "A private word", "Other words"))
    goes = part(event, only={"memory-1": ("visibility",)})

    assert [edit.field for edit in goes.payload.edits] == ["visibility"]
    assert part(said("mine", changing("text", "A private word")), only={"memory-1": ("visibility",)}) is None
    beside = said("mine", changing("text", "Mine", id="memory-2"), changing("text", "A private word"))
    other = part(beside, "memory-2", only={"memory-1": ("visibility",)})
    assert (other.subjects, [edit.id for edit in other.payload.edits]) == (("memory-2",), ["memory-2"])
    hidden = said("mine", changing("visibility", None, "shared"))
    assert part(hidden, only={"memory-1": ("visibility",)}).subjects == ("memory-1",)
    mixed = said("mine", changing("visibility", "shared", id="memory-2"), changing("text", "A private word"))
    assert part(mixed, "memory-2", only={"memory-1": ("visibility",)}).subjects == ("memory-2",)


@pytest.mark.parametrize("field", ["replaced_by", "amends"])
def test_no_field_goes_that_names_what_stays_home(field: str):
    naming = said("mine", changing(field, "memory-2"), changing("pinned", new=True))
    freeing = said("mine", changing(field, None, "memory-2"), changing("pinned", new=True))

    for event in (naming, freeing):
        assert [edit.field for edit in part(event, "memory-1").payload.edits] == ["pinned"]
        assert part(event, "memory-1", "memory-2") is event


def test_what_is_told_whole_goes_without_what_names_others():
    event = telling(shared(replaced_by="memory-2", amends="memory-3"), shared("memory-2"))
    goes = part(event, "memory-1", "memory-3")
    told = goes.payload.note[STATES]

    assert list(told) == ["memory-1"]
    assert "replaced_by" not in told["memory-1"]["fields"]
    assert told["memory-1"]["fields"]["amends"][-1] == "memory-3"
    assert told["memory-1"]["fields"]["text"][-1] == shared().text
    assert part(event, "memory-4") is None


def test_that_a_memory_is_no_longer_replaced_is_told():
    freed = said("mine", changing("replaced_by", None, "memory-2"))._replace(time="9")
    state = states([making(shared(replaced_by="memory-2")), freed])["memory-1"]
    told = seal(carrying.restated({"memory-1": state}, request()).draft, Head("mine"))[0]

    assert part(told, "memory-1") is told


def test_the_digest_that_was_approved_goes_with_the_memory_it_is_of():
    event = said(
        "mine",
        changing("status", "promoted"),
        changing("replaced_by", "memory-1", id="memory-2"),
        note={"digest": "abc", "reason": "x"},
    )

    assert part(event, "memory-1").payload.note == {"digest": "abc"}
    beside = said(
        "mine", *event.payload.edits, changing("pinned", new=True, id="memory-2"), note=event.payload.note
    )
    assert "digest" not in part(beside, "memory-2").payload.note


# --- events that change no record ---


def test_telling_records_whole_and_enrolling_change_no_record():
    told = carrying.restated({"memory-1": states([making(shared())])["memory-1"]}, request())
    enrolled = carrying.enrolled("replica-2", "laptop", request())

    assert (told.draft.action, told.draft.subjects, told.puts) == ("restate", ("memory-1",), ())
    assert enrolled.draft.payload.note == {"replica": "replica-2", "device": "laptop"}
    assert (enrolled.draft.subjects, enrolled.puts) == ((), ())
