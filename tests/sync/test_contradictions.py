"""What plainly contradicts something in use waits, also when it comes from a machine whose word counts."""

import pytest

from engram.surfaces.render.answers import render
from engram.surfaces.render.paper import Paper
from sync.devices import Clock, Device, exchange, trusting

EARLY, LATE = "The gateway listens on port 7000", "The gateway listens on port 7001"


@pytest.fixture
def pair(tmp_path):
    """Two machines that have met, and accepted nobody."""
    clock = Clock()
    ada, bob = (Device(tmp_path, name, clock=clock) for name in ("ada", "bob"))
    ada.say("This is ada")
    bob.say("This is bob")
    exchange(ada, bob, rounds=2)
    return ada, bob


def accept(device: Device, other: Device):
    return device.memory.replicas_accept(other.memory.engine.replica(), confirm=True)


def held(device: Device) -> list[tuple[str, str]]:
    return [(one.text, one.held_for) for one in device.memory.list(standing=("pending",)).memories]


def lively(device: Device) -> list[str]:
    return [text for text in device.texts() if text.startswith("The gateway")]


def test_accepting_a_replica_lets_the_later_of_two_contradicting_memories_wait_and_says_so(pair):
    ada, bob = pair
    bob.say(EARLY)
    ada.say(LATE)
    exchange(ada, bob, rounds=2)
    done = accept(bob, ada)

    assert (done.held, done.live) == (1, 1)  # what came into use says who ada is
    assert lively(bob) == [EARLY]
    assert held(bob) == [(LATE, "conflict")]
    assert [(one.first.text, one.second.text, one.status) for one in bob.memory.conflicts().pairs] == [
        (LATE, EARLY, "held")
    ]


def test_the_later_one_waits_where_it_is_the_own_one_and_every_machine_picks_the_same(pair):
    ada, bob = pair
    ada.say(EARLY)
    bob.say(LATE)
    exchange(ada, bob, rounds=2)
    assert accept(bob, ada).held == 1
    assert accept(ada, bob).held == 1
    exchange(ada, bob)

    assert lively(ada) == lively(bob) == [EARLY]
    assert held(ada) == held(bob) == [(LATE, "conflict")]
    assert ada.state() == bob.state()


def test_a_sync_between_machines_that_trust_one_another_holds_and_says_so(pair):
    ada, bob = pair
    trusting(ada, bob)
    ada.say(EARLY)
    bob.say(LATE)
    ada.sync()
    done = bob.fetch(ada).sync()

    assert done.held == 1
    assert lively(bob) == [EARLY]
    exchange(ada, bob)
    assert lively(ada) == [EARLY]
    assert ada.state() == bob.state()


def test_what_comes_in_one_chunk_and_contradicts_itself_is_as_it_was_there(pair):
    ada, bob = pair
    trusting(ada, bob)
    ada.say(EARLY)
    late = ada.say(LATE)
    ada.memory.promote(late, keep=True)
    exchange(ada, bob)

    assert lively(ada) == lively(bob) == [EARLY, LATE]
    assert ada.state() == bob.state()


def test_both_count_everywhere_once_a_person_keeps_both(pair):
    ada, bob = pair
    trusting(ada, bob)
    ada.say(EARLY)
    late = bob.say(LATE)
    exchange(ada, bob)
    ada.memory.promote(late, keep=True)
    exchange(ada, bob)

    assert lively(ada) == lively(bob) == [EARLY, LATE]
    assert ada.state() == bob.state()


def test_a_third_machine_holds_nothing_that_was_decided_before(tmp_path):
    clock = Clock()
    ada, bob, cyd = (Device(tmp_path, name, clock=clock) for name in ("ada", "bob", "cyd"))
    for device in (ada, bob, cyd):
        device.say(f"This is {device.name}")
    trusting(ada, bob)
    ada.say(EARLY)
    exchange(ada, bob)
    late = bob.say(LATE)  # held at once: bob knows of ada's
    bob.memory.promote(late, keep=True)
    exchange(ada, bob)
    trusting(ada, bob, cyd)

    assert lively(ada) == lively(bob) == lively(cyd) == [EARLY, LATE]
    assert ada.state() == bob.state() == cyd.state()


@pytest.mark.parametrize("verdict", ["compatible", "conflicts"])
def test_what_a_person_judged_of_the_pair_before_accepting_stays(pair, verdict):
    ada, bob = pair
    early = ada.say(EARLY)
    late = bob.say(LATE)
    exchange(ada, bob, rounds=2)
    ada.memory.relate(early, late, verdict)

    assert accept(ada, bob).held == 0
    assert lively(ada) == [EARLY, LATE]


def test_a_private_memory_holds_nothing_of_others_and_waits_itself(pair):
    ada, bob = pair
    trusting(ada, bob)
    bob.say(EARLY, visibility="private")
    ada.say(LATE)
    exchange(ada, bob)

    assert lively(ada) == lively(bob) == [LATE]
    assert held(bob) == [(EARLY, "conflict")]
    assert held(ada) == []


def test_what_a_stranger_says_still_waits_as_such_and_holds_nothing(pair):
    ada, bob = pair
    ada.say(EARLY)
    bob.say(LATE)
    exchange(ada, bob)

    assert sorted(held(bob)) == [(EARLY, "untrusted_origin"), ("This is ada", "untrusted_origin")]
    assert lively(bob) == [LATE]


def test_the_answer_of_accepting_says_how_many_wait_and_why(pair):
    ada, bob = pair
    bob.say(EARLY)
    ada.say(LATE)
    exchange(ada, bob, rounds=2)
    said = render(accept(bob, ada), Paper())

    assert "1 memory waits for review: it contradicts what is in use. Decide: engram review" in said
    assert "contradicts what another machine said" in render(bob.memory.history(), Paper())


def test_what_goes_of_a_holding_names_no_memory_that_stays_home(pair):
    ada, bob = pair
    trusting(ada, bob)
    home = bob.say("The relay listens on port 1", visibility="private")
    bob.say(EARLY)
    ada.say("The relay listens on port 2")
    late = ada.say(LATE)
    exchange(ada, bob)

    assert sorted(held(bob)) == [(LATE, "conflict"), ("The relay listens on port 1", "conflict")]
    assert held(ada) == [(LATE, "conflict")]
    noted = [e.payload.note for e in ada.memory.engine.events(subject=late, limit=50) if e.action == "join"]
    assert noted
    assert home.encode() not in b"".join(file.read_bytes() for file in bob.files())
    ada.memory.promote(late, keep=True)
    exchange(ada, bob)
    assert lively(ada) == lively(bob) == [EARLY, LATE]
