"""What may happen to a memory after it was admitted."""

import pytest

from engram.errors import Conflict, Forbidden, Unconfirmed
from engram.rules import lifecycle
from rules.world import AGENT, CHECKER, PERSON, World, memory, request


@pytest.fixture
def world() -> World:
    return World()


def ports(world: World) -> tuple[str, str]:
    """A live memory, and one that contradicts it and waits."""
    live = world.agent.remember("The api port is 8080").memory
    held = world.agent.remember("The api port is 9090").memory
    return live.id, held.id


# --- promote ---


def test_promoting_what_conflicts_replaces_its_rival(world):
    live, held = ports(world)
    world.person.promote(held)
    assert (world.stands(live), world.stands(held)) == ("replaced", "live")
    assert world.now(live).replaced_by == held


def test_promoting_with_keep_keeps_both(world):
    live, held = ports(world)
    world.person.promote(held, keep=True)
    assert (world.stands(live), world.stands(held)) == ("live", "live")


def test_promoting_over_a_curated_rival_needs_a_confirmation(world):
    live = world.person.remember("The api port is 8080", kind="rule", confirm=True).memory
    held = world.agent.remember("The api port is 9090").memory
    with pytest.raises(Unconfirmed):
        world.person.promote(held.id)
    world.person.promote(held.id, keep=True)
    assert world.stands(live.id) == "live"


def test_promotion_records_who_approved_and_verifies(world):
    held = world.agent.remember("My name is Alex", kind="identity").memory
    world.clock.pass_by(days=2)
    world.person.promote(held.id, confirm=True)
    after = world.now(held.id)
    assert (after.approved_by, after.held_for, after.verified_at) == (PERSON.actor, "", world.clock())
    assert world.events()[-1].payload.note["confirmed"] == "api"


def test_an_agent_promotes_rejects_and_purges_nothing(world):
    held = world.agent.remember("My name is Alex", kind="identity").memory
    for act in (
        lambda: world.agent.promote(held.id, confirm=True),
        lambda: world.agent.reject(held.id),
        lambda: world.agent.purge(held.id, confirm=True),
        world.agent.undo,
    ):
        with pytest.raises(Forbidden):
            act()


def test_only_what_waits_can_be_promoted_or_rejected(world):
    live = world.agent.remember("We build with pnpm").memory
    for act in (world.person.promote, world.person.reject):
        with pytest.raises(Conflict, match="not pending"):
            act(live.id)
    held = world.agent.remember("My name is Alex", kind="identity").memory
    world.agent.forget(held.id)
    with pytest.raises(Conflict, match="forgotten"):
        world.person.promote(held.id, confirm=True)


def test_promoting_in_other_words_stores_those_words_without_credentials(world):
    held = world.agent.remember("My name is Alx", kind="identity").memory
    world.person.promote(held.id, text="My name is Alex <private>and so on</private>", confirm=True)
    assert world.now(held.id).text.startswith("My name is Alex")
    assert "and so on" not in world.now(held.id).text


def test_promoting_a_proposal_gives_its_content_to_what_it_amends(world):
    live = world.person.remember("My name is Alex", kind="identity", key="name", confirm=True).memory
    asked = world.agent.revise(live.id, text="My name is Alexandra", tag=["me"]).memory
    answer = world.person.promote(asked.id, confirm=True)
    after = world.now(live.id)
    assert (after.text, after.tags, after.key, after.id) == ("My name is Alexandra", ("me",), "name", live.id)
    assert answer.memories[0].id == live.id
    assert [one.text for one in world.person.list().memories] == ["My name is Alexandra"]


def test_a_proposal_to_amend_what_was_forgotten_is_refused(world):
    live = world.person.remember("My name is Alex", kind="identity", confirm=True).memory
    asked = world.agent.revise(live.id, text="My name is Alexandra").memory
    world.person.forget(live.id)
    with pytest.raises(Conflict, match="forgotten"):
        world.person.promote(asked.id, confirm=True)


def test_merging_gives_the_wording_of_the_reviewer_and_the_tags_of_both(world):
    live = world.agent.remember("We build with pnpm", kind="tooling", tag=["build"]).memory
    held = world.agent.remember("The build tool is pnpm 9", tag=["js"], source="web:example.org").memory
    world.person.promote(held.id, into=live.id, text="We build with pnpm 9")
    after = world.now(live.id)
    assert (after.text, after.kind, set(after.tags)) == ("We build with pnpm 9", "tooling", {"build", "js"})
    assert world.stands(held.id) == "replaced"


def test_a_memory_cannot_be_merged_into_itself(world):
    held = world.agent.remember("My name is Alex", kind="identity").memory
    with pytest.raises(Conflict, match="itself"):
        world.person.promote(held.id, into=held.id, confirm=True)


# --- reject ---


def test_the_reason_of_a_rejection_is_kept_in_history(world):
    held = world.agent.remember("My name is Alex", kind="identity").memory
    world.person.reject(held.id, reason="it is not")
    assert world.events()[-1].payload.note["reason"] == "it is not"


def test_rejecting_a_proposal_leaves_what_it_would_amend(world):
    live = world.person.remember("My name is Alex", kind="identity", confirm=True).memory
    asked = world.agent.revise(live.id, text="My name is Alexandra").memory
    world.person.reject(asked.id)
    assert (world.now(live.id).text, world.stands(live.id)) == ("My name is Alex", "live")


# --- verify ---


def test_verify_makes_a_stale_memory_live_and_refuses_what_is_not_promoted(world):
    live = world.agent.remember("We build with pnpm").memory
    world.clock.pass_by(days=181)
    world.agent.verify(live.id)
    assert world.stands(live.id) == "live"
    held = world.agent.remember("My name is Alex", kind="identity").memory
    with pytest.raises(Conflict, match="only a promoted"):
        world.person.verify(held.id)


def test_a_curated_memory_is_verified_by_a_person_only(world):
    live = world.person.remember("My name is Alex", kind="identity", confirm=True).memory
    with pytest.raises(Forbidden):
        world.agent.verify(live.id)
    world.person.verify(live.id)


# --- forget and restore ---


def test_forget_hides_from_every_read_and_restore_brings_back_the_status_it_had(world):
    live = world.agent.remember("We build with pnpm").memory
    world.agent.forget(live.id)
    assert world.agent.list().memories == ()
    assert world.agent.recall("pnpm").hits == ()
    world.agent.restore(live.id)
    assert world.stands(live.id) == "live"


def test_forgetting_twice_and_restoring_what_is_there_are_refused(world):
    live = world.agent.remember("We build with pnpm").memory
    with pytest.raises(Conflict, match="not forgotten"):
        world.agent.restore(live.id)
    world.agent.forget(live.id)
    with pytest.raises(Conflict, match="forgotten already"):
        world.agent.forget(live.id)


def test_an_agent_cannot_forget_an_approved_curated_memory(world):
    live = world.person.remember("My name is Alex", kind="identity", confirm=True).memory
    with pytest.raises(Forbidden):
        world.agent.forget(live.id)
    world.person.forget(live.id)


def test_forgetting_what_replaced_another_lets_the_other_stand_again(world):
    live, held = ports(world)
    world.person.promote(held)
    world.person.forget(held)
    assert world.now(live).replaced_by == ""
    assert world.stands(live) == "live"


def test_forgetting_an_amended_memory_leaves_nothing_of_it_live(world):
    live = world.person.remember("My name is Alex", kind="identity", confirm=True).memory
    asked = world.agent.revise(live.id, text="My name is Alexandra").memory
    world.person.promote(asked.id, confirm=True)
    world.person.forget(live.id)
    assert world.person.list(everywhere=True).memories == ()


def test_restoring_what_had_replaced_another_does_not_leave_both_live(world):
    _, held = ports(world)
    world.person.promote(held)
    world.person.forget(held)
    world.person.restore(held)
    assert len(world.person.list().memories) == 1


# --- purge ---


def test_purge_needs_a_persons_confirmation_and_says_that_it_is_final(world):
    live = world.agent.remember("We build with pnpm").memory
    with pytest.raises(Unconfirmed, match="for good"):
        world.person.purge(live.id)
    world.person.purge(live.id, confirm=True)
    assert world.everything() == {}


def test_purge_takes_the_proposals_with_it_and_frees_what_was_replaced(world):
    live, held = ports(world)
    world.person.promote(held)
    asked = world.agent.remember("The api port is 7070").memory
    world.person.purge(held, confirm=True)
    assert set(world.everything()) == {live, asked.id}
    assert world.now(live).replaced_by == ""
    name = world.person.remember("My name is Alex", kind="identity", confirm=True).memory
    proposal = world.agent.revise(name.id, text="My name is Alexandra").memory
    world.person.purge(name.id, confirm=True)
    assert proposal.id not in world.everything()


# --- rules alone ---


def test_a_reviewer_promotes_and_rejects_by_rule_and_does_neither_reword_nor_forget():
    held = memory(status="pending")
    assert lifecycle.promote(held, request(CHECKER))[1].approved_by == CHECKER.actor
    assert lifecycle.reject(held, request(CHECKER)).puts[0].status == "rejected"
    for act in (
        lambda: lifecycle.reworded(held, "Other words", request(CHECKER)),
        lambda: lifecycle.forget(held, request(CHECKER)),
        lambda: lifecycle.purge(held, request(CHECKER, confirmed="flag")),
    ):
        with pytest.raises(Forbidden):
            act()


def test_every_change_expects_the_revision_it_was_decided_on():
    held = memory(revision=7)
    for change in (lifecycle.verify(held, request(AGENT)), lifecycle.forget(held, request(AGENT))):
        assert change.expects == {held.id: 7}
        assert change.puts[0].revision == 8
