"""What may happen to a memory after it was admitted."""

import pytest

from engram.errors import Conflict, Forbidden, Unconfirmed
from engram.model.change import Change
from engram.model.filter import Access
from engram.model.memory import CURATED, Citation, Context, Memory
from engram.model.record import replace
from engram.model.scope import Scope
from engram.rules import lifecycle
from engram.rules.changes import Step
from engram.rules.relations import pair_id
from engram.service import Engram
from rules.world import AGENT, CHECKER, PERSON, START, World, memory, request


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


def test_promoting_with_keep_is_a_verdict_that_both_hold_and_undo_takes_both_back(world):
    live, held = ports(world)
    world.person.promote(held, keep=True)

    assert world.person.conflicts().pairs == ()
    assert [hit.marks for hit in world.person.recall("api port").hits] == [(), ()]
    assert [one.edges[0] for one in world.person.related(held).relatives if one.memory.id == live] == ["compatible"]
    kept = next(iter(world.engine.get("relation", [pair_id("alex", live, held)], Access("alex")).values()))
    assert (kept.status, kept.approved_by) == ("judged", PERSON.actor)
    assert world.events()[-1].payload.note == {"verdict": "compatible"}
    with pytest.raises(Conflict):
        world.agent.relate(held, live, "conflicts")
    world.person.undo()
    assert world.stands(held) == "pending"
    assert world.engine.get("relation", [kept.id], Access("alex")) == {}


def test_promoting_with_keep_ends_a_verdict_that_one_would_supersede_or_contradict_the_other(world):
    old = world.person.remember("The port is 5432").memory
    rule = world.person.remember("Deploys wait for the harbour master", kind="rule", confirm=True).memory
    waits = world.agent.remember("It listens on 6000 these days", source="web:example.org").memory
    world.agent.relate(waits.id, old.id, "supersedes")
    world.person.relate(waits.id, rule.id, "conflicts")
    world.person.promote(waits.id, keep=True)

    assert world.stands(old.id) == "live"
    edges = {one.memory.id: one.edges[0] for one in world.person.related(waits.id, judged=True).relatives}
    assert edges == {old.id: "compatible", rule.id: "compatible"}


def test_promoting_with_keep_leaves_a_verdict_that_lets_both_stand(world):
    live, held = ports(world)
    world.person.relate(held, live, "scoped", reason="one for each region")
    world.person.promote(held, keep=True)

    assert [one.edges[0] for one in world.person.related(held, judged=True).relatives] == ["scoped"]


def test_a_reviewer_who_keeps_both_of_another_gives_no_verdict_in_their_name(world):
    live, held = ports(world)
    for one in (live, held):
        world.person.revise(one, visibility="shared")
    world.reviewer.promote(held, keep=True)

    assert (world.stands(live), world.stands(held)) == ("live", "live")
    assert world.engine.get("relation", [pair_id("alex", live, held)], Access("alex")) == {}


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
    hints = {world.person.promote: "engram review --list", world.person.reject: f"engram forget {live.called}"}
    for act, hint in hints.items():
        with pytest.raises(Conflict, match="not pending") as refused:
            act(live.id)
        assert hint in refused.value.hint
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


def another_agent(world) -> Engram:
    """Who proposes beside the first: an agent that proposes twice has one proposal."""
    return world.as_(AGENT._replace(actor="kim@example.org"))


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_proposals_that_add_to_one_list_leave_what_both_added(world, order):
    live = world.person.remember(
        "My name is Alex", kind="identity", tag=["me", "old"], cite=["url:https://a.example"], confirm=True
    ).memory
    cited = ["url:https://a.example", "url:https://b.example"]
    asked = [
        world.agent.revise(live.id, tag=["me", "old", "home"], cite=cited).memory,
        another_agent(world).revise(live.id, tag=["me", "work"]).memory,
    ]
    for one in order:
        world.person.promote(asked[one].id, confirm=True)
    after = world.now(live.id)
    assert sorted(after.tags) == ["home", "me", "work"]  # what one took away is gone, and nothing else
    assert [one.ref for one in after.citations] == ["https://a.example", "https://b.example"]


def test_a_proposal_that_waits_shows_the_lists_as_its_approval_would_leave_them(world):
    live = world.person.remember("My name is Alex", kind="identity", tag=["me"], confirm=True).memory
    first = world.agent.revise(live.id, tag=["me", "home"]).memory
    second = another_agent(world).revise(live.id, tag=["me", "work"]).memory
    world.person.promote(first.id, confirm=True)
    (waits,) = world.person.review().candidates
    assert (waits.memory.id, waits.memory.tags) == (second.id, ("me", "home", "work"))


def test_of_two_proposals_about_one_citation_the_one_approved_last_counts(world):
    live = world.person.remember("My name is Alex", kind="identity", confirm=True).memory
    agents = [world.agent, another_agent(world)]
    asked = [
        agent.revise(live.id, cite=[Citation("file", "a.py", pin=str(pin))]).memory
        for pin, agent in enumerate(agents, 1)
    ]
    for one in asked:
        world.person.promote(one.id, confirm=True)
    assert [(one.ref, one.pin) for one in world.now(live.id).citations] == [("a.py", "2")]


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
        lambda: lifecycle.purge_all([held], request(CHECKER, confirmed="flag")),
    ):
        with pytest.raises(Forbidden):
            act()


def test_every_change_expects_the_revision_it_was_decided_on():
    held = memory(revision=7)
    for change in (lifecycle.verify(held, request(AGENT)), lifecycle.forget(held, request(AGENT))):
        assert change.expects == {held.id: 7}
        assert change.puts[0].revision == 8


# --- the rules by themselves ---


def waiting(**fields: object) -> Memory:
    return memory("memory-1", status="pending", held_for="review_all", **fields)


def put(change: Change, id: str = "memory-1") -> Memory:
    found = next(one for one in change.puts if one.id == id)
    assert isinstance(found, Memory)
    return found


def test_a_rewording_keeps_the_summary_of_the_same_words_only():
    one = waiting(summary="Fridays")

    assert lifecycle.reworded(one, None, request()) is one
    assert lifecycle.reworded(one, one.text, request()).summary == "Fridays"
    assert lifecycle.reworded(one, "We deploy on Mondays", request()).summary == ""


def test_a_promotion_puts_out_of_use_what_a_verdict_says_unless_both_are_kept():
    old, rival = memory("memory-2", "Releases are made by hand"), memory("memory-3", "The api port is 9090")
    one = waiting(text="The api port is 8080")
    out = [Step(each, replace(each, replaced_by=one.id, revision=2)) for each in (old, rival)]
    new = Step(None, memory("memory-4", "More"))
    change, live = lifecycle.promote(one, request(), rivals=[rival], superseded=[*out, new])
    both, _ = lifecycle.promote(one, request(), rivals=[rival], superseded=[*out, new], keep=True)

    assert live.status == "promoted"
    assert [each.id for each in change.puts] == ["memory-1", "memory-3", "memory-2", "memory-4"]
    assert [each.id for each in both.puts] == ["memory-1", pair_id("alex", "memory-1", "memory-3")]


def test_what_replaced_a_memory_one_after_the_other_is_replaced_by_it_when_it_is_promoted():
    second = memory("memory-2", "Releases are made by hand", replaced_by="memory-3")
    third, apart = memory("memory-3", "Releases are automatic"), memory("memory-4", "Tea is at five")
    change, _ = lifecycle.promote(waiting(replaced_by="memory-2"), request(), rivals=[second, third, apart])

    assert [each.id for each in change.puts] == ["memory-1", "memory-2", "memory-3"]


def test_an_approval_of_something_curated_says_which_words_it_is_about():
    curated = waiting(kind="rule", tier=CURATED)
    change, live = lifecycle.promote(curated, request(confirmed="flag"))

    assert change.draft.payload.note == {"digest": live.digest, "confirmed": "flag"}
    assert lifecycle.promote(waiting(tier=1), request())[0].draft.payload.note == {}


@pytest.mark.parametrize(
    ("one", "twins", "apart"),
    [
        (waiting(), [], False),
        (waiting(apart=True), [], True),
        (waiting(), [waiting()], False),
        (waiting(), [memory("memory-2")], True),
        (waiting(), [memory("memory-2", status="rejected")], False),
        (waiting(), [memory("memory-2", key="deploy")], False),
    ],
    ids=["alone", "apart before", "itself", "alive", "rejected too", "known by its key"],
)
def test_a_rejected_text_leaves_its_claim_to_a_twin_that_is_alive(one, twins, apart):
    assert put(lifecycle.reject(one, request(), twins=twins)).apart is apart


def test_what_is_verified_is_promoted_or_staged_and_may_be_cited_anew():
    staged = memory(status="pending", held_for="unmerged_branch", branch="api#topic")
    cited = (Citation("url", "https://example.org"),)

    assert put(lifecycle.verify(staged, request())).verified_at == START
    assert put(lifecycle.verify(memory(), request(), cited)).citations == cited
    for wrong, hint in (
        (memory(forgotten_at=START), "Restore it first: engram restore memory-1."),
        (waiting(), "Review it first: engram review."),
        (memory(status="rejected"), "If the rejection was a mistake, undo it: engram history memory-1."),
        (waiting(forgotten_at=START), "Restore it first: engram restore memory-1."),
    ):
        with pytest.raises(Conflict) as refused:
            lifecycle.verify(wrong, request())
        assert refused.value.hint == hint


def test_forgetting_what_is_rejected_is_refused_with_the_command_that_erases_it():
    with pytest.raises(Conflict) as refused:
        lifecycle.forget(memory(status="rejected"), request())
    assert refused.value.hint == "To erase it: engram purge memory-1 --confirm."


def test_a_reviewer_verifies_what_is_anothers_and_only_its_owner_cites_it_anew():
    theirs = memory(visibility="shared", scope=Scope("project", "api"))

    assert put(lifecycle.verify(theirs, request(CHECKER))).verified_at == START
    with pytest.raises(Forbidden):
        lifecycle.verify(theirs, request(CHECKER), (Citation("url", "https://example.org"),))


def test_what_comes_back_beside_something_that_contradicts_it_waits():
    gone = memory(text="The api port is 8080", forgotten_at=START, approved_by="alex")
    rival, old = memory("memory-2", "The api port is 9090"), memory("memory-3", "The api port is 7070")
    out = [Step(old, replace(old, replaced_by=gone.id, revision=2))]
    held, back = (lifecycle.restore(gone, request(), rivals=each, superseded=out) for each in ([rival], []))

    assert [one.id for one in held.puts] == ["memory-1"]
    assert (put(held).status, put(held).held_for, put(held).forgotten_at) == ("pending", "conflict", None)
    assert [one.id for one in back.puts] == ["memory-1", "memory-3"]
    waits = lifecycle.restore(waiting(forgotten_at=START), request(), superseded=out)
    assert [one.id for one in waits.puts] == ["memory-1"]


def test_an_agent_restores_what_is_curated_only_where_it_was_never_approved():
    lifecycle.restore(waiting(kind="rule", tier=CURATED, forgotten_at=START), request(AGENT))
    with pytest.raises(Forbidden):
        lifecycle.restore(memory(kind="rule", tier=CURATED, forgotten_at=START), request(AGENT))


def test_what_a_person_forgot_no_agent_restores():
    gone = put(lifecycle.forget(memory(), request(PERSON)))
    assert gone.forgotten_by == PERSON.name
    assert put(lifecycle.forget(memory(), request(AGENT))).forgotten_by == ""
    assert put(lifecycle.forget(waiting(forgotten_by="alex"), request(AGENT))).forgotten_by == "alex"

    with pytest.raises(Forbidden, match="Only a person may restore what a person forgot") as told:
        lifecycle.restore(gone, request(AGENT))
    assert told.value.hint == "Nothing was done. Ask the person: engram restore memory-1."
    back = put(lifecycle.restore(gone, request(PERSON)))
    assert (back.forgotten_at, back.forgotten_by) == (None, "")


def test_a_purge_says_what_it_would_erase_and_erases_it():
    one, two = memory(), memory("memory-2", "More")
    for ones, remains, said in (
        ([one], (), "Purging memory-1 "),
        ([], ("memory-9-and-so-on",), "Purging memory-9-and- "),
        ([one, two], (), "Purging 2 memories "),
        ([one, two], ("memory-9",), "Purging 3 memories "),
    ):
        with pytest.raises(Unconfirmed, match=said):
            lifecycle.purge_all(ones, request(), remains=remains)
    sure = request(confirmed="flag")

    assert lifecycle.purge_all([one, two], sure).erase == ("memory-1", "memory-2")
    both = lifecycle.purge_all([one], sure, remains=("memory-9",))
    assert both.erase == ("memory-1", "memory-9")
    assert both.draft is not None
    assert both.draft.subjects == ("memory-1", "memory-9")
    assert both.draft.payload.edits == (), "an erasure told what it erased"
    with pytest.raises(Forbidden):
        lifecycle.purge_all((), request(AGENT, confirmed="flag"), remains=("memory-9",))


def test_what_a_purged_memory_had_replaced_is_handed_on_to_what_stays():
    sure = request(confirmed="flag")
    old = memory("memory-2", "Older", replaced_by="memory-1")
    kept = lifecycle.purge_all([memory(replaced_by="memory-9")], sure, replaced=[old])
    ring = lifecycle.purge_all([memory(replaced_by="memory-2")], sure, replaced=[old])

    assert put(kept, "memory-2").replaced_by == "memory-9"
    assert put(ring, "memory-2").replaced_by == ""


def test_what_a_forgotten_memory_had_replaced_is_handed_on_too():
    old = memory("memory-2", "Older", replaced_by="memory-1")
    handed = lifecycle.forget(memory(replaced_by="memory-9"), request(), replaced=[old])
    freed = lifecycle.forget(memory(replaced_by="memory-2"), request(), replaced=[old], reason="two\nlines")

    assert put(handed, "memory-2").replaced_by == "memory-9"
    assert put(freed, "memory-2").replaced_by == ""


def test_a_change_that_was_decided_on_another_revision_is_refused():
    lifecycle.require_revision(memory(revision=3), 3)
    lifecycle.require_revision(memory(revision=3), None)
    with pytest.raises(Conflict, match="memory-1 is at revision 3, not 2"):
        lifecycle.require_revision(memory(revision=3), 2)


def test_what_is_merged_keeps_the_summary_of_the_same_words_only():
    other = memory("memory-2", "We deploy on Mondays", summary="Mondays")
    same, _ = lifecycle.merge_into(waiting(), other, other.text, request())
    new, _ = lifecycle.merge_into(waiting(), other, "We deploy twice a week", request())

    assert put(same, "memory-2").summary == "Mondays"
    assert (put(new, "memory-2").text, put(new, "memory-2").summary) == ("We deploy twice a week", "")


def test_a_proposal_that_is_applied_replaces_its_rivals_and_not_what_it_amends():
    amended = memory("memory-2", "The api port is 7070")
    rival = memory("memory-3", "The api port is 9090")
    one = waiting(text="The api port is 8080", amends=amended.id)
    change, live = lifecycle.promote(one, request(), amended=amended, base=amended, rivals=[amended, rival])

    assert [(each.id, each.replaced_by) for each in change.puts] == [
        ("memory-2", ""),
        ("memory-1", "memory-2"),
        ("memory-3", "memory-2"),
    ]
    assert (live.id, live.text) == ("memory-2", one.text)


def test_a_proposal_changes_what_it_says_otherwise_and_whose_word_it_is_only_with_the_words():
    base = memory("memory-2", source="manual")
    tagged = replace(base, id="memory-1", tags=("ops",), source="tool:remember")
    worded = replace(tagged, text="We deploy on Mondays")

    assert set(lifecycle.proposed(tagged, base, base)) == {"tags"}
    assert set(lifecycle.proposed(worded, base, base)) == {"tags", "text", "source"}


def test_what_is_compared_with_itself_or_with_a_ring_of_others_is_decided_all_the_same():
    one = waiting(text="The api port is 8080", replaced_by="memory-2")
    ring = [memory("memory-2", "Two", replaced_by="memory-3"), memory("memory-3", "Three", replaced_by="memory-2")]
    change, _ = lifecycle.promote(one, request(), rivals=[one, *ring])

    assert [each.id for each in change.puts] == ["memory-1", "memory-2", "memory-3"]


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ({"status": "rejected"}, "rejected"),
        ({}, "live"),
        ({"replaced_by": "memory-2"}, "replaced"),
        ({"status": "rejected", "forgotten_at": START}, "forgotten"),
    ],
)
def test_what_does_not_wait_is_refused_with_the_standing_it_has(fields, state):
    with pytest.raises(Conflict, match=f"it is {state}, not pending"):
        lifecycle.promote(memory(**fields), request())


def test_what_an_approval_cites_brings_the_repository_it_is_of_where_none_was_known():
    cited, other = (Citation("file", each) for each in ("a.py", "b.py"))
    here, there = Context(repo="here"), Context(repo="there")

    def after(amended: Context, said: Context, *citations: Citation) -> Context:
        base = memory("a", "We lint", status="promoted", citations=(cited,), context=amended)
        waits = replace(base, id="p", amends="a", status="pending", citations=citations, context=said)
        return lifecycle.promote(waits, request(PERSON), amended=base, base=base)[1].context

    assert after(Context(), there, cited, other) == there
    assert after(here, there, cited, other) == here
    assert after(Context(), there, cited) == Context()
    assert after(here, Context(), cited, other) == here
    assert after(Context(branch="x"), Context(branch="y"), cited, other) == Context(branch="x")
