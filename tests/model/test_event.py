"""One history: chained by hash, timed by a clock that never runs backwards, committed to what it did."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.model.event import (
    BOOKKEEPING,
    Draft,
    Edit,
    Event,
    Head,
    Payload,
    canonical,
    edits_between,
    intact,
    seal,
    tick,
)
from engram.model.memory import Memory
from engram.model.record import replace

START = datetime(2026, 1, 1, tzinfo=UTC)
json_values = st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5) | st.lists(st.text(max_size=3))
edits = st.builds(
    Edit,
    st.just("memory"),
    st.text(min_size=1, max_size=4),
    st.text(min_size=1, max_size=4),
    json_values,
    json_values,
)
drafts = st.builds(
    Draft,
    action=st.sampled_from(["remember", "revise", "undo"]),
    actor=st.text(max_size=5),
    at=st.integers(-1000, 1000).map(lambda seconds: START + timedelta(seconds=seconds)),
    subjects=st.lists(st.text(min_size=1, max_size=3), max_size=2).map(tuple),
    payload=st.builds(
        Payload,
        st.lists(edits, max_size=3).map(tuple),
        st.just({}),
        st.text(st.characters(codec="ascii"), max_size=4),
    ),
)


def chain(many: list[Draft]) -> list[Event]:
    head, events = Head("replica"), []
    for draft in many:
        event, head, *_ = seal(draft, head)
        events.append(event)
    return events


def memory(**fields: object) -> Memory:
    return Memory(**({"id": "m", "text": "words", "created_at": START, "updated_at": START} | fields))


@given(st.lists(drafts, max_size=6))
def test_every_event_names_the_one_before_it_and_its_own_place(many):
    events = chain(many)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.prev for event in events] == ["", *(event.id for event in events)][: len(events)]
    assert all(intact(event) for event in events)


@given(st.lists(drafts, max_size=8))
def test_time_never_runs_backwards_whatever_the_wall_clock_does(many):
    times = [event.time for event in chain(many)]
    assert times == sorted(set(times))


def test_the_hybrid_time_is_the_wall_clock_while_it_goes_forward_and_counts_while_it_does_not():
    first = tick("", START)
    assert first == "2026-01-01T00:00:00.000000Z.000000"
    second = tick(first, START)
    assert second == "2026-01-01T00:00:00.000000Z.000001"
    assert tick(second, START - timedelta(days=1)) == "2026-01-01T00:00:00.000000Z.000002"
    assert tick(second, START + timedelta(microseconds=1)) == "2026-01-01T00:00:00.000001Z.000000"


def test_the_counter_of_the_hybrid_time_keeps_its_order_beyond_a_digit():
    time, times = tick("", START), []
    for _ in range(300):
        time = tick(time, START)
        times.append(time)
    assert times == sorted(times)


ENVELOPE = ["replica", "position", "prev", "time", "actor", "action", "subjects", "tier", "batch", "reverses"]


@pytest.mark.parametrize("field", [*ENVELOPE, "commitment", "at"])
def test_a_changed_envelope_is_seen(field):
    (event,) = chain([Draft("remember", "alex", START, ("m",), payload=Payload(salt="s"))])
    other = {"position": 7, "tier": 3, "subjects": ("n",), "reverses": ("x",), "at": START + timedelta(seconds=1)}
    assert not intact(event._replace(**{field: other.get(field, "other")}))


def test_the_local_number_is_no_part_of_the_envelope():
    (event,) = chain([Draft("remember", "alex", START, ("m",))])
    assert intact(event._replace(seq=99))


def test_a_changed_payload_is_seen_and_an_erased_one_leaves_the_chain_whole():
    payload = Payload((Edit("memory", "m", "text", None, "words"),), {"reason": "why"}, "salt")
    (event,) = chain([Draft("remember", "alex", START, ("m",), payload=payload)])
    assert intact(event._replace(payload=None))
    for forged in (
        payload._replace(salt="pepper"),
        payload._replace(note={}),
        payload._replace(edits=(Edit("memory", "m", "text", None, "other words"),)),
    ):
        assert not intact(event._replace(payload=forged))


def test_the_commitment_is_salted_so_that_content_cannot_be_guessed_from_it():
    said = Payload((Edit("memory", "m", "text", None, "yes"),))
    one, two = (chain([Draft("a", "b", START, ("m",), payload=said._replace(salt=salt))])[0] for salt in "xy")
    assert one.commitment != two.commitment


def test_the_envelope_holds_no_content():
    payload = Payload((Edit("memory", "m", "text", None, "a secret word"),), {"reason": "a secret reason"}, "salt")
    (event,) = chain([Draft("remember", "alex", START, ("m",), payload=payload)])
    assert "secret" not in canonical(event.envelope())


@given(
    st.builds(Payload, st.lists(edits, max_size=4).map(tuple), st.dictionaries(st.text(max_size=3), json_values))
)
def test_a_payload_is_read_as_it_was_printed(payload):
    assert Payload.parse(payload.print()) == payload


@given(st.dictionaries(st.text(max_size=3), json_values))
def test_equal_values_have_equal_bytes(value):
    assert canonical(dict(reversed(value.items()))) == canonical(value)


def test_edits_tell_each_changed_field_and_no_bookkeeping():
    before = memory(tags=("a",), seen=2)
    after = replace(before, text="other", tags=(), revision=9, updated_at=START + timedelta(days=1))
    told = {edit.field: (edit.old, edit.new) for edit in edits_between(before, after)}
    assert told == {"text": ("words", "other"), "tags": (["a"], None)}
    assert not BOOKKEEPING & {edit.field for edit in edits_between(None, before)}


def test_edits_of_a_whole_record_begin_with_its_id():
    assert edits_between(None, memory())[0] == Edit("memory", "m", "id", None, "m")
    assert edits_between(memory(), None)[0] == Edit("memory", "m", "id", "m", None)
    assert edits_between(None, None) == ()
    assert edits_between(memory(), memory(revision=5)) == ()
