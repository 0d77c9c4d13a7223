"""The Change that a rule answers with: what it writes, claims and erases, and what it may not do without a word."""

import pytest

from engram.errors import Conflict, Forbidden, Unconfirmed
from engram.model.caller import Caller
from engram.model.change import ABSENT
from engram.model.memory import CURATED, Memory
from engram.model.record import replace
from engram.model.scope import Scope
from engram.model.session import Session
from engram.rules.changes import Step, claims_of, compose, differ, join, step
from rules.world import PERSON, START, memory, request

API = Scope("project", "api")
SHUT_OUT = Caller(owner=PERSON.owner, grants=(("project:api", ""),))


def rule(**fields: object) -> Memory:
    return memory("memory-3", "Never deploy on Fridays", kind="rule", tier=CURATED, **fields)


def session(**fields: object) -> Session:
    return Session(id="session-1", name="monday", scope=API, owner=PERSON.owner, started_at=START, **fields)


# --- what it writes ---


def test_a_change_puts_what_is_new_and_drops_what_is_gone():
    made, old = memory("memory-1"), memory("memory-2", revision=4)
    change = compose("test", request(), [Step(None, made), Step(old, None)])

    assert change.puts == (made,)
    assert change.drops == (("memory", "memory-2"),)
    assert change.expects == {"memory-1": ABSENT, "memory-2": 4}
    assert change.draft.subjects == ("memory-1", "memory-2")
    assert change.erase == ()
    assert {edit.id for edit in change.draft.payload.edits} == {"memory-1", "memory-2"}


def test_a_step_changes_what_it_names_and_is_one_revision_on():
    moved = step(memory(revision=4), request(now=START.replace(year=2027)), pinned=True)

    assert moved.before == memory(revision=4)
    assert moved.after == memory(revision=5, pinned=True, updated_at=START.replace(year=2027))


def test_an_erasure_tells_what_it_erased_by_id_alone():
    kept, gone = memory("memory-1"), memory("memory-2", "A secret")
    change = compose("purge", request(), [Step(gone, None), step(kept, request(), importance=9)], erase=True)

    assert change.draft.subjects == change.erase == ("memory-2",)
    assert {edit.id for edit in change.draft.payload.edits} == {"memory-1"}


def test_an_event_has_the_highest_tier_it_touched_and_none_without_a_memory():
    both = compose("test", request(confirmed="flag"), [Step(None, rule()), Step(None, memory(tier=1))])

    assert both.draft.tier == CURATED
    assert both.draft.payload.note == {"confirmed": "flag"}
    assert compose("begin", request(), [Step(None, session())]).draft.tier == 0


# --- several as one ---


def test_changes_that_are_joined_happen_together_and_tell_what_was_taken_out_of_each():
    one = compose(
        "remember", request(), [Step(None, memory("memory-1"))], note={"outcome": "new", "redacted": ["a"]}
    )
    two = compose("other", request(), [Step(None, memory("memory-2", "More"))], note={"redacted": ["b"]})
    both = join([one, two])

    assert both.draft.action == "remember"
    assert both.draft.payload.note == {"outcome": "new", "redacted": ["a", "b"]}
    assert both.puts == (*one.puts, *two.puts)
    assert join([compose("test", request(), [Step(None, memory())])]).draft.payload.note == {}


def test_two_changes_of_one_memory_are_not_joined():
    first, second = (compose("test", request(), [step(memory(), request(), importance=each)]) for each in (7, 9))
    with pytest.raises(Conflict, match="Two of these would change memory-1"):
        join([first, second])


# --- claims ---


def test_a_memory_claims_its_key_else_its_text_and_a_rejected_one_its_text_whatever_its_key():
    by_text, by_key = claims_of(memory()), claims_of(memory(key="deploy"))

    assert by_text[0].endswith(f"digest\x1f{memory().digest}")
    assert by_key[0].endswith("key\x1fdeploy")
    assert claims_of(memory(key="deploy", status="rejected")) == by_text


@pytest.mark.parametrize("fields", [{"apart": True}, {"amends": "memory-9"}, {"apart": True, "status": "rejected"}])
def test_what_stands_apart_and_what_proposes_claims_nothing(fields):
    assert claims_of(memory(**fields)) == ()


# --- what needs a word, or a place ---


def test_what_is_curated_becomes_live_and_changes_by_a_confirmed_word_only():
    for needs in (Step(None, rule()), step(rule(), request(), text="Deploy when you like")):
        with pytest.raises(Unconfirmed):
            compose("test", request(), [Step(None, session()), needs])
        compose("test", request(confirmed="flag"), [needs])


def test_what_is_curated_is_weighed_and_put_out_of_use_without_one():
    weighed, ended = {"importance": 9}, {"status": "rejected", "text": "Deploy when you like"}
    for changes in (weighed, ended):
        (put,) = compose("test", request(), [step(rule(), request(), **changes)]).puts
        assert {name: getattr(put, name) for name in changes} == changes


@pytest.mark.parametrize(
    "said",
    [
        Step(None, memory(scope=API)),
        step(memory(scope=API), request(), text="We deploy on Mondays"),
        step(memory(), request(), scope=API),
        step(memory(scope=API), request(), visibility="shared"),
        Step(None, session()),
        Step(session(), replace(session(), scope=API, revision=2)),
    ],
    ids=["new", "other words", "moved there", "shared", "a session", "a session goes on"],
)
def test_nothing_new_is_said_where_one_may_not_write(said):
    goes_on = isinstance(said.before, Session)
    if goes_on:
        compose("test", request(SHUT_OUT), [said])
    else:
        with pytest.raises(Forbidden):
            compose("test", request(SHUT_OUT), [said])


@pytest.mark.parametrize("changes", [{"importance": 9}, {"visibility": "private"}, {"status": "rejected"}])
def test_what_one_has_there_may_be_weighed_and_taken_away(changes):
    shared = memory(scope=API, visibility="shared")

    (put,) = compose("test", request(SHUT_OUT), [step(shared, request(), **changes)]).puts
    assert {name: getattr(put, name) for name in changes} == changes


def test_a_field_differs_where_it_is_given_another_value_and_not_where_it_is_given_its_own_or_none():
    known = memory(text="Old", importance=5)

    assert differ(("text", "importance"), known, {"importance": 6, "text": "Old"})
    assert not differ(("text", "importance"), known, {"text": "Old", "importance": 5})
    assert not differ(("text",), known, {"importance": 6})
