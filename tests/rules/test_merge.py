"""Joining what several replicas did, in examples; the law itself is number nine."""

from datetime import timedelta

from engram.model.event import Draft, Edit, Event, Head, Payload, seal
from engram.rules.merge import COUNTER, STATES, Stamp, State, merge, states, told_whole
from rules.world import START


def event(replica: str, *edits: Edit, seconds: int = 0, action: str = "revise", salt: str = "") -> Event:
    draft = Draft(
        action=action,
        actor="tester",
        at=START + timedelta(seconds=seconds),
        subjects=("m",),
        payload=Payload(edits, {}, salt or f"{replica}{seconds}"),
    )
    return seal(draft, Head(replica))[0]


def edit(field: str, new: object, old: object = None) -> Edit:
    return Edit("memory", "m", field, old, new)


def test_the_later_writer_of_a_field_wins():
    early, late = event("a", edit("text", "early"), seconds=1), event("b", edit("text", "late"), seconds=2)
    assert states([early, late])["m"].values() == states([late, early])["m"].values() == {"text": "late"}


def test_at_the_same_time_the_greater_replica_wins():
    one, two = event("a", edit("text", "of a")), event("b", edit("text", "of b"))
    assert states([two, one])["m"].values() == {"text": "of b"}


def test_different_fields_of_one_memory_are_both_kept():
    one, two = event("a", edit("text", "words")), event("b", edit("pinned", new=True))
    assert states([one, two])["m"].values() == {"text": "words", "pinned": True}


def test_a_field_set_back_to_its_default_is_gone():
    one = event("a", edit("summary", "short"), seconds=1)
    two = event("b", edit("summary", None, "short"), seconds=2)
    assert states([one, two])["m"].values() == {}


def test_what_each_replica_counted_is_summed_and_arriving_twice_counts_once():
    made = event("a", edit("id", "m"), edit("text", "words"))
    seen = [event(name, edit(COUNTER, 2, 1), seconds=3) for name in "ab"]
    assert states([made, *seen, seen[0], made])["m"].values() == {"id": "m", "text": "words", "seen": 3}


def test_an_erased_memory_stays_erased_whatever_arrives_later():
    made, gone = event("a", edit("text", "words"), seconds=9), event("b", action="purge", seconds=1)
    assert states([made, gone])["m"] == states([gone, made])["m"] == State(erased=True)
    assert merge(State(erased=True), states([made])["m"]).values() == {}


def test_an_event_without_its_payload_says_nothing():
    assert states([event("a", edit("text", "words"))._replace(payload=None)]) == {}


def test_what_is_erased_has_no_values_whatever_is_known_of_it():
    assert State({"text": (Stamp("1", "a", "e"), "words")}, erased=True).values() == {}


def test_a_state_that_is_told_whole_counts_like_the_steps_to_it():
    made, again = event("a", edit("id", "m"), edit("text", "words")), event("a", edit(COUNTER, 2, 1), seconds=3)
    known = states([made, again])["m"]
    telling = event("b", seconds=9, action="tell")
    telling = telling._replace(payload=telling.payload._replace(note={STATES: {"m": told_whole(known)}}))

    assert states([telling])["m"] == known
    assert states([telling])["m"].values() == {"id": "m", "text": "words", "seen": 2}


def test_what_was_removed_and_made_again_is_counted_once():
    made = event("a", edit("id", "m"), edit("text", "words"), edit(COUNTER, 3), seconds=1)
    gone = event("a", edit("id", None, "m"), edit("text", None, "words"), edit(COUNTER, None, 3), seconds=2)
    back = event("a", edit("id", "m"), edit("text", "words"), edit(COUNTER, 3), seconds=3)

    assert states([made, gone])["m"].values() == {}
    assert states([made, gone, back])["m"].values()["seen"] == 3
