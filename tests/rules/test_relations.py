"""Verdicts between two memories: one a pair, done at once, undone whole; and what an agent may not do by them."""

import contextlib
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.errors import Conflict, Forbidden, Invalid, NotFound
from engram.model.relation import RelationKind
from rules.world import World, texts

KINDS = get_args(RelationKind)


@pytest.fixture
def world() -> World:
    return World()


def two(world: World, **said: object):
    old = world.person.remember("The database port is 5432", **said).memory
    new = world.person.remember("Postgres listens on port 6000 now", **said).memory
    return new, old


def live(world: World) -> list[str]:
    return texts(world.person.list(everywhere=True).memories)


def test_superseding_hides_the_other_from_every_read_and_undo_brings_it_back(world):
    new, old = two(world)
    said = world.person.relate(new.id, old.id, "supersedes", reason="it moved")

    assert said.relation.status == "judged"
    assert world.now(old.id).replaced_by == new.id
    assert live(world) == [new.text]
    assert texts(hit.memory for hit in world.person.recall("port", words=True).hits) == [new.text]
    assert old.text not in world.person.context(query="port", words=True).text
    world.person.undo()
    assert set(live(world)) == {new.text, old.text}
    with pytest.raises(NotFound):
        world.person.judge(said.relation.id, "related")


def test_there_and_back_again_leaves_one_of_the_two_in_use(world):
    new, old = two(world)
    world.person.relate(new.id, old.id, "supersedes")
    world.person.relate(old.id, new.id, "supersedes")

    assert live(world) == [old.text]
    world.person.relate(new.id, old.id, "supersedes")
    assert live(world) == [new.text]


def test_a_pair_has_one_relation_and_another_verdict_ends_what_it_did(world):
    new, old = two(world)
    first = world.person.relate(new.id, old.id, "supersedes", reason="it moved")
    second = world.person.judge(first.relation.id, "compatible")

    assert second.relation.id == first.relation.id
    assert second.relation.reason == "it moved"
    assert second.relation.revision == 2
    assert set(live(world)) == {new.text, old.text}
    assert [each.edges for each in world.person.related(new.id, judged=True).relatives] == [("compatible",)]


def test_a_pair_can_be_judged_by_naming_its_two_memories(world):
    new, old = two(world)
    said = world.agent.judge(
        f"{new.handle}~{old.handle}", "conflicts", evidence="two ports", model="m", confidence=0.4
    )

    assert (said.relation.from_id, said.relation.to_id) == (new.id, old.id)
    assert (said.relation.evidence, said.relation.model, said.relation.confidence) == ("two ports", "m", 0.4)
    assert said.relation.actor == "alex@example.org"
    assert set(live(world)) == {new.text, old.text}


def test_an_agents_word_against_a_curated_memory_is_proposed_and_does_nothing_until_a_person_says_it(world):
    rule = world.person.remember("Never deploy on Fridays", kind="rule", confirm=True).memory
    other = world.agent.remember("Deploy whenever you like").memory
    said = world.agent.relate(other.id, rule.id, "supersedes")

    assert said.relation.status == "proposed"
    assert "a person decides" in said.hint
    assert rule.text in live(world)
    assert [each.edges for each in world.person.related(rule.id, judged=True).relatives] == [("superseded_by?",)]
    world.person.judge(said.relation.id, "supersedes")
    assert rule.text not in live(world)


def test_an_agent_cannot_turn_round_what_a_person_judged_about_a_curated_memory_however_often_it_asks(world):
    rule = world.person.remember("Never deploy on Fridays", kind="rule", confirm=True).memory
    old = world.person.remember("Deploy whenever you like").memory
    world.person.relate(rule.id, old.id, "supersedes")

    for kind in ("related", "compatible", "supersedes"):
        for _ in range(3):
            with pytest.raises(Conflict):
                world.agent.relate(old.id, rule.id, kind)
    assert live(world) == [rule.text]


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.booleans()), max_size=8))
def test_no_word_of_an_agent_moves_a_curated_memory(said):
    world = World()
    rule = world.person.remember("Never deploy on Fridays", kind="rule", confirm=True).memory
    other = world.agent.remember("Deploy whenever you like").memory
    for kind, forwards in said:
        with contextlib.suppress(Conflict):
            world.agent.relate(*((other.id, rule.id) if forwards else (rule.id, other.id)), kind)

    assert world.now(rule.id).replaced_by == ""
    assert world.now(other.id).replaced_by == ""


def test_no_ring_of_memories_hides_them_all(world):
    one, two, three = (world.person.remember(text).memory for text in ("First words", "Second thoughts", "A third"))
    world.agent.relate(one.id, two.id, "supersedes")

    with pytest.raises(Conflict, match="out of use itself"):
        world.agent.relate(two.id, three.id, "supersedes")
    world.agent.relate(three.id, one.id, "supersedes")
    assert live(world) == ["A third"]


def test_owners_judge_the_same_pair_each_for_themselves(world):
    mine = world.person.remember("Mine, and shared", visibility="shared").memory
    theirs = world.other.remember("Theirs, and shared", visibility="shared").memory
    first = world.person.relate(mine.id, theirs.id, "conflicts")
    second = world.other.relate(theirs.id, mine.id, "compatible")

    assert first.relation.id != second.relation.id
    assert [each.edges for each in world.person.related(mine.id, judged=True).relatives] == [("conflicts",)]


def test_a_verdict_takes_effect_when_what_waited_is_promoted_and_again_when_it_is_restored(world):
    old = world.person.remember("The port is 5432").memory
    waits = world.agent.remember("It listens on 6000 these days", source="web:example.org").memory
    said = world.agent.relate(waits.id, old.id, "supersedes")
    assert said.relation.status == "proposed"

    world.person.promote(waits.id)
    assert world.now(old.id).replaced_by == waits.id
    assert world.person.judge(said.relation.id, "supersedes").relation.status == "judged"
    world.person.forget(waits.id)
    assert world.now(old.id).replaced_by == ""
    world.person.restore(waits.id)
    assert world.now(old.id).replaced_by == waits.id
    world.person.undo()
    assert world.now(old.id).replaced_by == ""


def test_keeping_both_leaves_a_verdict_that_waits_without_effect(world):
    old = world.person.remember("The port is 5432").memory
    waits = world.agent.remember("It listens on 6000 these days", source="web:example.org").memory
    world.agent.relate(waits.id, old.id, "supersedes")
    world.person.promote(waits.id, keep=True)

    assert world.now(old.id).replaced_by == ""


def test_a_memory_that_replaces_others_does_so_in_one_event_and_undo_takes_all_of_it_back(world):
    old = [world.person.remember(text).memory for text in ("The port is 5432", "The host is db1")]
    past = len(world.events())
    new = world.agent.remember("The port is 5433", replaces=[one.id for one in old])

    assert new.outcome == "new"
    assert len(world.events()) == past + 1
    assert {world.now(one.id).replaced_by for one in old} == {new.memory.id}
    world.person.undo()
    assert set(live(world)) == {one.text for one in old}


def test_what_would_replace_a_curated_memory_waits_and_hides_nothing(world):
    old = world.person.remember("My city is Porto", kind="location", confirm=True).memory
    new = world.agent.remember("My city is Rome", kind="fact", replaces=[old.id])

    assert world.now(old.id).replaced_by == ""
    assert old.text in live(world)
    assert new.memory.status == "pending"


def test_an_agent_brings_back_no_curated_memory_that_a_person_forgot(world):
    rule = world.person.remember("Never deploy on Fridays", kind="rule", confirm=True).memory
    world.person.forget(rule.id)

    with pytest.raises(Forbidden):
        world.agent.restore(rule.id)
    world.person.restore(rule.id)
    assert live(world) == [rule.text]


def test_what_waits_for_review_hides_nothing(world):
    old = world.person.remember("My city is Porto", kind="location", confirm=True).memory
    waits = world.agent.remember("I live in Rome", kind="location").memory
    world.person.relate(waits.id, old.id, "supersedes")

    assert world.now(old.id).replaced_by == ""


def test_nobody_hides_what_belongs_to_someone_else(world):
    theirs = world.other.remember("Shared by another", visibility="shared").memory
    mine = world.person.remember("My own version of it").memory

    with pytest.raises(Forbidden):
        world.person.relate(mine.id, theirs.id, "supersedes")
    said = world.person.relate(mine.id, theirs.id, "conflicts")
    assert said.relation.owner == "alex"


def test_a_verdict_needs_one_memory_of_ones_own(world):
    pair = [world.other.remember(text, visibility="shared").memory.id for text in ("One thing", "Quite another")]

    with pytest.raises(Forbidden):
        world.person.relate(*pair, "related")


def test_a_relation_of_someone_else_cannot_be_seen(world):
    new, old = two(world, visibility="shared")
    said = world.person.relate(new.id, old.id, "related")

    with pytest.raises(NotFound):
        world.other.judge(said.relation.id, "conflicts")
    assert world.other.related(new.id, judged=True).relatives == ()


def test_a_memory_is_not_related_to_itself_and_a_verdict_is_one_of_the_six(world):
    new, old = two(world)
    with pytest.raises(Invalid):
        world.person.relate(new.id, new.id, "related")
    with pytest.raises(Invalid):
        world.person.relate(new.id, old.id, "hates")


def test_private_spans_and_credentials_leave_the_reason_before_it_is_stored(world):
    new, old = two(world)
    said = world.person.relate(new.id, old.id, "related", reason="see <private>the diary</private>")

    assert "diary" not in said.relation.reason


def test_related_walks_the_chain_of_what_replaced_what_and_shared_tags(world):
    first = world.person.remember("Version one of the plan", tag=["plan"]).memory
    second = world.person.remember("The second version of it all", tag=["plan"]).memory
    third = world.person.remember("A third attempt, the last", tag=["plan", "final"]).memory
    world.person.relate(second.id, first.id, "supersedes")
    world.person.relate(third.id, second.id, "supersedes")
    other = world.person.remember("Something else that is final", tag=["final"]).memory

    found = {each.memory.id: each.edges for each in world.person.related(third.id).relatives}
    assert found[second.id][0] == "supersedes"
    assert found[first.id] == ("supersedes",)
    assert "tag:final" in found[other.id]
    assert {each.memory.id: each.edges for each in world.person.related(first.id, judged=True).relatives} == {
        second.id: ("superseded_by",),
        third.id: ("superseded_by",),
    }


def test_a_purge_of_one_end_leaves_no_relation_that_can_be_read(world):
    new, old = two(world)
    world.person.relate(new.id, old.id, "related", reason="because of the secret port")
    world.person.purge(old.id, confirm=True)

    assert world.person.related(new.id, judged=True).relatives == ()
    told = [edit.new for event in world.events() if event.payload for edit in event.payload.edits]
    assert "because of the secret port" not in told


def test_forgetting_the_one_that_superseded_brings_the_other_back(world):
    new, old = two(world)
    world.person.relate(new.id, old.id, "supersedes")
    world.person.forget(new.id)

    assert live(world) == [old.text]


def test_a_stale_verdict_is_told_when_what_it_is_about_is_gone(world):
    new, old = two(world)
    world.person.relate(new.id, old.id, "supersedes", token="t")  # noqa: S106 - no secret
    world.person.undo()

    with pytest.raises(Conflict):
        world.person.relate(new.id, old.id, "supersedes", token="t")  # noqa: S106 - no secret


# A conflict with what is curated


def curated_and_newcomer(world: World):
    name = world.person.remember("The company is called Acme GmbH", kind="identity", confirm=True).memory
    world.clock.pass_by(days=1)
    return name, world.agent.remember("Acme trades under the name Borealis").memory


@pytest.mark.parametrize("who", ["agent", "person"])
def test_what_conflicts_with_a_curated_memory_waits_for_review_and_undo_ends_that(world, who):
    name, new = curated_and_newcomer(world)
    past = len(world.events())
    said = getattr(world, who).relate(new.id, name.id, "conflicts")

    assert (world.now(new.id).status, world.now(new.id).held_for) == ("pending", "conflict")
    assert world.stands(name.id) == "live"
    assert said.relation.status == "judged"
    assert "waits for review" in said.hint
    assert len(world.events()) == past + 1
    assert [one.id for one in world.person.review().candidates[0].conflicts] == [name.id]
    world.person.undo()
    assert world.stands(new.id) == "live"


def test_the_newcomer_waits_whichever_of_the_two_is_named_first(world):
    name, new = curated_and_newcomer(world)
    world.agent.relate(name.id, new.id, "conflicts")

    assert world.stands(new.id) == "pending"
    assert world.stands(name.id) == "live"


def test_a_conflict_between_others_holds_nothing(world):
    new, old = two(world)
    world.agent.relate(new.id, old.id, "conflicts")

    assert set(live(world)) == {new.text, old.text}


def test_a_persons_other_word_ends_the_waiting_and_an_agents_does_not(world):
    name, new = curated_and_newcomer(world)
    world.agent.relate(new.id, name.id, "conflicts")
    world.agent.relate(new.id, name.id, "compatible")
    assert world.stands(new.id) == "pending"
    world.person.relate(new.id, name.id, "conflicts")
    world.person.undo(last=2)
    assert world.stands(new.id) == "pending"
    world.person.relate(new.id, name.id, "compatible")
    assert world.stands(new.id) == "live"


def test_what_waits_for_another_reason_is_not_let_through_by_a_verdict(world):
    name = world.person.remember("The company is called Acme GmbH", kind="identity", confirm=True).memory
    world.person.remember("The API listens on port 8080")
    world.clock.pass_by(days=1)
    held = world.agent.remember("The API listens on port 9090").memory
    world.person.relate(held.id, name.id, "conflicts")
    world.person.relate(held.id, name.id, "unrelated")

    assert world.stands(held.id) == "pending"


def test_what_a_newcomer_had_replaced_stands_again_while_it_waits(world):
    name, new = curated_and_newcomer(world)
    old = world.agent.remember("Acme used to trade as Septentrio").memory
    world.agent.relate(new.id, old.id, "supersedes")
    world.agent.relate(new.id, name.id, "conflicts")

    assert world.stands(old.id) == "live"
    world.person.promote(new.id)
    assert (world.stands(new.id), world.stands(old.id)) == ("live", "replaced")


def test_between_two_curated_ones_an_agents_word_waits(world):
    name, _ = curated_and_newcomer(world)
    late = world.person.remember("Acme signs as Borealis AG", kind="identity", confirm=True).memory

    assert world.agent.relate(late.id, name.id, "conflicts").relation.status == "proposed"
    assert world.stands(late.id) == "live"
    assert world.person.relate(late.id, name.id, "conflicts").relation.status == "judged"
    assert world.stands(late.id) == "pending"


def test_a_person_who_would_let_a_waiting_one_supersede_is_told_to_promote_it(world):
    name, new = curated_and_newcomer(world)
    world.person.relate(new.id, name.id, "conflicts")

    with pytest.raises(Conflict, match="waits for review itself"):
        world.person.relate(new.id, name.id, "supersedes")


# A, then B, then A again


def test_forgetting_a_link_of_a_chain_brings_nothing_back(world):
    first, second, third = (
        world.agent.remember(text).memory
        for text in ("Lint with flake8", "Linting moved to pylint", "We lint by means of ruff")
    )
    world.agent.relate(second.id, first.id, "supersedes")
    world.agent.relate(third.id, second.id, "supersedes")
    world.agent.forget(second.id)

    assert live(world) == [third.text]
    world.agent.restore(second.id)
    assert live(world) == [third.text]
    world.agent.forget(third.id)
    assert set(live(world)) <= {second.text, first.text}


def test_what_is_promoted_again_replaces_all_that_came_after_it(world):
    first, second, third = (
        world.agent.remember(text).memory
        for text in ("Lint with flake8", "Linting moved to pylint", "We lint by means of ruff")
    )
    world.agent.relate(second.id, first.id, "supersedes")
    world.agent.relate(third.id, second.id, "supersedes")
    again = world.agent.remember("Lint with flake8")

    assert (again.memory.id, again.outcome) == (first.id, "held")
    assert live(world) == [third.text]
    world.person.promote(first.id)
    assert live(world) == [first.text]
    world.person.undo()
    assert live(world) == [third.text]


def test_a_ring_of_conflicts_is_shown_whole_from_each_of_its_memories(world):
    one, two_, three = (
        world.agent.remember(text).memory
        for text in ("Lint with flake8", "Linting moved to pylint", "We lint by means of ruff")
    )
    for first, second in ((one, two_), (two_, three), (three, one)):
        world.agent.relate(first.id, second.id, "conflicts")

    for each in (one, two_, three):
        found = world.agent.related(each.id, judged=True).relatives
        assert {relative.memory.id for relative in found} == {one.id, two_.id, three.id} - {each.id}


# What has to do with a memory


def test_related_walks_citations_tags_and_neighbours_and_names_each_edge(world):
    focus = world.agent.remember("The parser is strict", tag=("parsing",), cite=("src/parser.py:10",)).memory
    world.clock.pass_by(minutes=1)
    citing = world.agent.remember("Commas end a list", cite=("src/parser.py:99",)).memory
    world.clock.pass_by(minutes=1)
    tagged = world.agent.remember("Lists may be nested", tag=("parsing",)).memory
    found = {one.memory.id: one.edges for one in world.agent.related(focus.id, limit=20).relatives}

    assert found[citing.id][:1] == ("cites:src/parser.py",)
    assert "after" in found[citing.id]
    assert "tag:parsing" in found[tagged.id]
