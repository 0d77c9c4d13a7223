"""Deciding about what one has read: named candidates, refs that mean a revision, and undo back to a step."""

from collections.abc import Iterator

import pytest

import engram
from engram.errors import Conflict, Invalid, NotFound
from engram.model.caller import Caller
from engram.service import Engram
from engram.surfaces.render.answers import render
from engram.surfaces.render.paper import Paper
from rules.world import World


@pytest.fixture
def memory() -> Iterator[Engram]:
    with engram.open("ram:") as one:
        yield one


def test_review_shows_the_named_ones_with_what_says_nearly_the_same(memory: Engram):
    known = memory.remember("The build cache lives on the fast disk").memory
    waits = memory.remember("The build cache lives on the fast disk of the runner", kind="rule").memory
    memory.remember("Nobody eats at the desk", kind="rule")
    (found,) = memory.review(memory=[waits.handle]).candidates

    assert found.memory.id == waits.id
    assert [one.id for one in found.near] == [known.id]
    assert all(not one.near for one in memory.review().candidates)
    again = memory.remember("The build cache lives on the fast disk of the runners", kind="rule").memory
    (found,) = memory.review(memory=[waits.handle]).candidates
    assert {one.id for one in found.near} == {known.id, again.id}


def test_a_page_of_the_review_is_full_though_others_judge_most_of_what_waits():
    world = World()
    for project in ("web", "web", "web", "api", "web", "api"):
        text = f"Rule {len(world.everything())} of the {project}"
        world.other.remember(text, kind="rule", scope=f"project:{project}", visibility="shared")
    judge = world.as_(Caller(owner="robin", grants=(("project:api", "reviewer"), ("project:web", "reader"))))
    first = judge.review(limit=1)
    assert [one.memory.text for one in first.candidates] == ["Rule 3 of the api"]
    rest = judge.review(limit=5, after=first.next)
    assert ([one.memory.text for one in rest.candidates], rest.next) == (["Rule 5 of the api"], None)


def test_the_queue_names_what_an_approval_would_replace(memory: Engram):
    old, known, stays = (
        memory.remember(text, kind="infra").memory
        for text in ("The build runs on Jenkins", "The api port is 8080", "The web port is 80")
    )
    curated = memory.remember("Alex runs the build", kind="people").memory
    memory.relate(curated.id, old.id, "supersedes")
    against = memory.remember("The api port is 9090", kind="infra").memory
    alone = memory.remember("Robin runs the tests", kind="people").memory

    queue = memory.queue()
    assert queue.replaces == {curated.id: (old.handle,), against.id: (known.handle,)}
    reviewed = {one.memory.id: tuple(each.handle for each in one.replaces) for one in memory.review().candidates}
    assert reviewed == {**queue.replaces, alone.id: ()}
    told = render(queue, Paper(width=200))
    assert f"a person approves it first; it would replace {old.handle} " in told
    assert f"it contradicts something known; it would replace {known.handle} " in told
    assert stays.handle not in told


def test_what_does_not_wait_is_no_candidate_by_being_named(memory: Engram):
    live = memory.remember("The lift is slow").memory

    assert memory.review(memory=[live.handle]).candidates == ()


def test_a_ref_that_means_a_revision_is_refused_once_it_moved(memory: Engram):
    first = memory.remember("Doors close at ten", kind="rule").memory
    second = memory.remember("Windows close at nine", kind="rule").memory
    memory.revise(second.handle, text="Windows close at eight")
    refs = [f"{one.id}@{one.revision}" for one in (first, second)]

    with pytest.raises(Conflict, match="revision 2, not 1"):
        memory.promote(refs, confirm=True)
    with pytest.raises(Conflict, match="revision 2, not 1"):
        memory.reject(refs)
    assert [one.status for one in memory.get([first.id, second.id]).memories] == ["pending", "pending"]
    done = memory.promote([f"{first.handle}@1", f"{second.handle}@2"], confirm=True)
    assert [one.status for one in done.memories] == ["promoted", "promoted"]


def test_history_says_which_events_undo_would_refuse(memory: Engram):
    old = memory.remember("The port is 1", kind="infra").memory
    new = memory.remember("The port is 2", kind="infra").memory
    memory.promote(new.handle)
    told = memory.history()
    promoted, proposed, said = (event.seq for event in told.events)

    assert told.final == (proposed, said)
    for seq in told.final:
        with pytest.raises(Conflict):
            memory.undo(str(seq))
    memory.undo(str(promoted))
    assert old.id in told.handles
    assert memory.history(old.handle).final == ()


def test_history_of_a_memory_says_which_steps_it_cannot_go_back_to(memory: Engram):
    old = memory.remember("The port is 1", kind="infra").memory
    new = memory.remember("The port is 2", kind="infra").memory
    memory.promote(new.handle)
    replaced, said = (event.seq for event in memory.history(old.handle).events)

    assert memory.history(old.handle).out_of_reach == (replaced,)  # it is there
    memory.purge(new.handle, confirm=True)
    told = memory.history(old.handle)
    assert said in told.out_of_reach
    for seq in told.out_of_reach:
        with pytest.raises(Conflict):
            memory.undo(str(seq), memory=old.handle)
    memory.verify(old.handle)
    within = memory.history(old.handle).events[1].seq
    assert within not in memory.history(old.handle).out_of_reach
    memory.undo(str(within), memory=old.handle)


def test_history_of_everything_goes_back_to_no_step(memory: Engram):
    memory.remember("The port is 1")

    assert memory.history().out_of_reach == ()


def test_undo_takes_a_memory_back_to_one_of_its_steps(memory: Engram):
    one = memory.remember("The cache holds 10 entries")
    memory.revise(one.memory.handle, text="The cache holds 20 entries")
    other = memory.remember("Something else happens between")
    memory.revise(one.memory.handle, pinned=True)
    done = memory.undo(str(one.event), memory=one.memory.handle)

    now = memory.get(one.memory.handle).memories[0]
    assert (now.text, now.pinned) == ("The cache holds 10 entries", False)
    assert memory.get(other.memory.handle).memories
    memory.undo(str(done.event))
    again = memory.get(one.memory.handle).memories[0]
    assert (again.text, again.pinned) == ("The cache holds 20 entries", True)


def test_undo_to_a_step_counts_what_was_undone_since(memory: Engram):
    one = memory.remember("The cache holds 10 entries")
    revised = memory.revise(one.memory.handle, text="The cache holds 20 entries")
    pinned = memory.revise(one.memory.handle, pinned=True)
    memory.undo(str(pinned.event))
    memory.undo(str(revised.event))
    memory.undo(str(revised.event), memory=one.memory.handle)

    assert memory.get(one.memory.handle).memories[0].text == "The cache holds 20 entries"


@pytest.mark.parametrize(("ref", "error"), [("99", NotFound), ("abc", Invalid), ("1", Conflict)])
def test_a_step_it_does_not_have_or_stands_at_is_refused(memory: Engram, ref: str, error: type[Exception]):
    one = memory.remember("The cache holds 10 entries")
    assert one.event == 1

    with pytest.raises(error):
        memory.undo(ref, memory=one.memory.handle)


def test_review_says_what_an_approval_would_replace_by_a_verdict():
    world = World()
    old = world.person.remember("Production backups are kept for 30 days", kind="infra").memory
    waits = world.agent.remember("Grafana runs at grafana.internal", source="web:example.org").memory
    (before,) = world.person.review().candidates
    assert (before.replaces, before.spares) == ((), ())
    world.agent.relate(waits.id, old.id, "supersedes")

    for whoever in (world.person, world.agent):
        (found,) = whoever.review().candidates
        assert [one.id for one in found.replaces] == [old.id]
        assert (found.conflicts, found.spares) == ((), ())
    assert [one.id for one in world.person.promote(waits.id).replaced] == [old.id]


def test_review_says_what_a_verdict_names_and_an_approval_spares():
    world = World()
    rule = world.person.remember("Nobody deploys on Fridays", kind="rule", confirm=True).memory
    waits = world.agent.remember("Deploys are free on all days", source="web:example.org").memory
    said = world.agent.relate(waits.id, rule.id, "supersedes")
    (found,) = world.person.review().candidates

    assert "curated" in said.hint
    assert "then it replaces" not in said.hint
    assert ([one.id for one in found.spares], found.replaces) == ([rule.id], ())
    assert world.person.promote(waits.id).replaced == ()


def test_review_promises_nothing_that_an_approval_does_not_do():
    world = World()
    place = {"scope": "project:api", "visibility": "shared"}
    old = world.person.remember("The port is 5432", **place).memory
    waits = world.agent.remember("It listens on 6000 these days", source="web:example.org", **place).memory
    world.agent.relate(waits.id, old.id, "supersedes")
    judge = world.as_(Caller(owner="robin", grants=(("project:api", "reviewer"),)))
    (found,) = judge.review().candidates

    assert (found.replaces, found.spares) == ((), ())
    assert judge.promote(waits.id).replaced == ()
    other = world.agent.remember("The host is db2", source="web:example.org").memory
    gone = world.person.remember("The host of it is db1").memory
    world.agent.relate(other.id, gone.id, "supersedes")
    world.person.forget(gone.id)
    (found,) = world.person.review().candidates
    assert (found.replaces, found.spares) == ((), ())


def test_a_conflict_that_was_judged_stands_beside_it_and_is_not_said_to_be_replaced():
    world = World()
    rule = world.person.remember("Nobody deploys on Fridays", kind="rule", confirm=True).memory
    late = world.agent.remember("Deploys are free on all days").memory
    world.person.relate(late.id, rule.id, "conflicts")
    (found,) = world.person.review().candidates

    assert ([one.id for one in found.conflicts], found.replaces) == ([rule.id], ())
    assert world.person.promote(late.id).replaced == ()


def test_a_proposal_in_the_words_of_another_memory_is_refused_and_names_that(memory: Engram):
    name = memory.remember("My name is Alex", kind="identity", confirm=True).memory
    other = memory.remember("People call me Sandy").memory
    proposal = memory.revise(name.id, text="My name is Sandy").memory
    with pytest.raises(Conflict, match=f"{other.handle} says that already"):
        memory.promote(proposal.id, text=other.text, confirm=True)
