"""What a memory was: every later edit taken back, and nothing where it was not there or a purge took it."""

from datetime import datetime, timedelta

import pytest

from engram.model.event import Edit, Payload
from engram.model.memory import Memory, standing
from engram.model.record import replace
from engram.rules.past import as_of
from rules.world import START, World


@pytest.fixture
def world() -> World:
    return World()


def then(world: World, ref: str, moment: datetime) -> Memory | None:
    return as_of(world.everything()[ref], world.engine.events(subject=ref, limit=1000), moment)


def as_known(memory: Memory) -> Memory:
    """A memory without what only says how often and when its record was written."""
    return replace(memory, revision=1, updated_at=memory.created_at)


def test_before_it_was_made_it_was_not(world):
    made = world.person.remember("We deploy on Fridays").memory

    assert then(world, made.id, START - timedelta(seconds=1)) is None
    assert then(world, made.id, START) == made
    assert then(world, made.id, START + timedelta(days=1)) == made


def test_each_moment_has_its_own_words(world):
    made = world.person.remember("We deploy on Fridays", tag=["ops"], summary="Fridays").memory
    moments = [world.clock()]
    for said in ({"text": "We deploy on Mondays"}, {"tag": ["ci", "cd"]}, {"clear": ["summary"]}, {"pinned": True}):
        world.clock.pass_by(hours=1)
        world.person.revise(made.id, **said)
        moments.append(world.clock())
    found = [then(world, made.id, moment) for moment in moments]

    assert as_known(found[0]) == as_known(made)
    assert [one.text for one in found] == ["We deploy on Fridays", *["We deploy on Mondays"] * 4]
    assert [one.tags for one in found] == [("ops",), ("ops",), ("ci", "cd"), ("ci", "cd"), ("ci", "cd")]
    assert [one.summary for one in found][0::3] == ["Fridays", ""]
    assert [one.pinned for one in found] == [False, False, False, False, True]


def test_between_two_edits_the_earlier_one_holds(world):
    made = world.person.remember("We deploy on Fridays").memory
    world.clock.pass_by(hours=2)
    world.person.revise(made.id, text="We deploy on Mondays")

    assert then(world, made.id, START + timedelta(hours=1)).text == "We deploy on Fridays"
    assert then(world, made.id, START + timedelta(hours=2)).text == "We deploy on Mondays"


@pytest.mark.parametrize("act", ["forget", "verify", "undo", "revise"])
def test_what_was_done_to_it_is_taken_back(world, act):
    made = world.person.remember("We deploy on Fridays").memory
    world.clock.pass_by(hours=1)
    world.person.revise(made.id, importance=9)
    before, moment = world.everything()[made.id], world.clock()
    world.clock.pass_by(hours=1)
    said = {"undo": {}, "revise": {"memory": made.id, "text": "We rest"}}.get(act, {"memory": made.id})
    world.person.ask(act, **said)

    assert world.everything()[made.id] != before
    assert as_known(then(world, made.id, moment)) == as_known(before)


def test_it_was_not_updated_after_the_moment(world):
    made = world.person.remember("We deploy on Fridays").memory
    world.clock.pass_by(hours=1)
    world.person.revise(made.id, importance=9)
    was = then(world, made.id, START)

    assert was.updated_at == made.updated_at


def test_what_waited_then_waits_in_the_past(world):
    held = world.agent.remember("My name is Alex", kind="identity").memory
    world.clock.pass_by(hours=1)
    world.person.promote(held.id, confirm=True)
    was = then(world, held.id, START)

    assert (was.status, was.held_for, was.approved_by) == ("pending", "curated_kind", "")


def test_what_was_replaced_since_stands_again(world):
    old = world.person.remember("The api port is 8080").memory
    world.clock.pass_by(hours=1)
    new = world.person.remember("The api port is 9090", confirm=True).memory

    assert world.stands(old.id) == "replaced"
    assert standing(then(world, old.id, START), START) == "live"
    assert then(world, new.id, START) is None


def test_what_a_purge_took_of_its_past_is_nobodys(world):
    kept = world.person.remember("The api port is 8080").memory
    world.clock.pass_by(hours=1)
    taken = world.person.remember("The api port is 9090", confirm=True).memory
    world.person.purge(taken.id, confirm=True)

    assert then(world, kept.id, START) is None, "the event that both share tells nothing any more"


def test_the_order_of_the_events_does_not_matter(world):
    made = world.person.remember("We deploy on Fridays").memory
    for day in ("Mondays", "Tuesdays", "Sundays"):
        world.clock.pass_by(hours=1)
        world.person.revise(made.id, text=f"We deploy on {day}")
    events, now = world.events(), world.everything()[made.id]
    moment = START + timedelta(hours=1)

    assert as_of(now, events, moment) == as_of(now, events[::-1], moment) == then(world, made.id, moment)
    assert as_of(now, events, moment).text == "We deploy on Mondays"


def test_what_was_done_to_others_by_the_same_event_is_left_alone(world):
    ids = [world.person.remember(text).memory.id for text in ("One thing", "Another thing")]
    world.clock.pass_by(hours=1)
    world.person.forget(ids)

    assert [then(world, id, START).text for id in ids] == ["One thing", "Another thing"]
    assert [then(world, id, START).forgotten_at for id in ids] == [None, None]


def test_it_keeps_the_handle_it_is_known_by(world):
    made = world.person.remember("We deploy on Fridays").memory
    world.clock.pass_by(hours=1)
    world.person.revise(made.id, text="We deploy on Mondays")
    now = world.now(made.id)

    assert as_of(now, world.events(), START).handle == now.handle == "mem-0001"


@pytest.mark.parametrize(("field", "value"), [("citations", [{"zzz": 1}]), ("key", "\0"), ("of_tomorrow", 1)])
def test_what_was_nothing_that_can_be_read_was_not_there_at_that_moment(world, field, value):
    made = world.person.remember("We deploy on Fridays").memory
    events, now = world.events(), world.everything()[made.id]
    odd = events[-1]._replace(seq=9, at=START + timedelta(hours=1))
    events += [odd._replace(payload=Payload((Edit("memory", made.id, field, value, None),)))]

    assert as_of(now, events, START) is None
    assert as_known(as_of(now, events, START + timedelta(hours=2))) == as_known(now)


def test_where_no_history_is_left_it_was_as_it_is(world):
    made = world.person.remember("We deploy on Fridays").memory

    assert as_of(made, [], START) == made


def test_what_was_undone_and_redone_was_there_before_and_was_not_between(world):
    made = world.person.remember("We deploy on Fridays").memory
    moments = [world.clock()]
    for _ in range(2):  # away, and back again
        world.clock.pass_by(hours=1)
        world.person.undo(str(world.events()[-1].seq))
        moments.append(world.clock())
    before, between, since = (then(world, made.id, moment) for moment in moments)

    assert between is None
    assert [one.text for one in (before, since)] == [made.text] * 2
