"""Purge: nothing readable remains, the chain stays whole, and a receipt proves it."""

import pytest

from engram.errors import NotFound
from engram.model.filter import ANYTHING
from engram.model.relation import Relation
from engram.operations.base import PAGE
from engram.rules.changes import Step, compose
from engram.rules.relations import pair_id
from rules.world import World


@pytest.fixture
def world() -> World:
    return World()


def test_a_receipt_names_what_was_erased_the_event_and_the_traces(world):
    made = world.person.remember("The word zanzibar is secret").memory
    receipt = world.person.purge(made.id, confirm=True)
    event = world.events()[-1]
    assert (receipt.erased, receipt.event, receipt.event_id, receipt.traces) == ((made.id,), event.seq, event.id, 0)
    assert "Exports" in receipt.note


def test_after_a_purge_neither_record_nor_history_nor_search_tells_the_text(world):
    made = world.person.remember("The word zanzibar is secret", tag=["zanzibar"], key="zanzibar").memory
    world.person.revise(made.id, text="The word zanzibar is open")
    world.person.forget(made.id, reason="zanzibar")
    world.person.purge(made.id, confirm=True)
    assert "zanzibar" not in repr(world.events())
    assert "zanzibar" not in repr(world.person.history())
    assert world.person.recall("zanzibar", everywhere=True).hits == ()
    with pytest.raises(NotFound):
        world.person.get(made.id)


def test_the_event_lines_remain_and_the_chain_stays_whole(world):
    made = world.person.remember("A thing to erase").memory
    envelopes = [event.envelope() for event in world.events()]
    world.person.purge(made.id, confirm=True)
    assert [event.envelope() for event in world.events()][: len(envelopes)] == envelopes
    assert world.person.doctor().healthy


def test_a_handle_is_never_used_again(world):
    made = world.person.remember("A thing to erase").memory
    world.person.purge(made.id, confirm=True)
    assert world.person.remember("Another thing").memory.handle == "mem-0002"


def test_a_purged_rejection_lets_the_text_be_said_again(world):
    held = world.agent.remember("My name is Alex", kind="identity").memory
    world.person.reject(held.id)
    world.person.purge(held.id, confirm=True)
    assert world.agent.remember("My name is Alex").outcome == "new"


def test_what_history_still_tells_of_a_memory_whose_making_was_undone_can_be_purged(world):
    made = world.person.remember("The word zanzibar is secret").memory
    world.person.undo()
    world.person.purge(made.id, confirm=True)
    assert "zanzibar" not in repr(world.events())


def test_every_verdict_on_a_memory_goes_with_it_however_many_there_are(world):
    made = world.person.remember("The word zanzibar is secret").memory
    call = world.person.call()
    verdicts = [
        Relation(
            id=pair_id(made.owner, made.id, f"other-{number}"),
            from_id=made.id,
            to_id=f"other-{number}",
            kind="conflicts",
            reason="zanzibar",
            owner=made.owner,
            created_at=call.now,
            updated_at=call.now,
        )
        for number in range(2 * PAGE + 1)
    ]
    world.engine.commit(compose("relate", call.request(), [Step(None, one) for one in verdicts]))
    world.person.purge(made.id, confirm=True)

    assert world.engine.scan("relation", ANYTHING, call.access, limit=1).records == ()
    assert "zanzibar" not in repr(world.events())
