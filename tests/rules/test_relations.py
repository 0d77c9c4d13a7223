"""Verdicts between two memories: one a pair, done at once, undone whole; and what an agent may not do by them."""

import contextlib
from datetime import timedelta
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.errors import Conflict, Forbidden, Invalid, NotFound
from engram.model.memory import CURATED, Memory
from engram.model.record import replace
from engram.model.relation import Relation, RelationKind
from engram.rules import relations
from engram.rules.relations import Verdict, pair_id
from rules.world import AGENT, OTHER, PERSON, START, World, memory, request, texts

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
    verdict = f"engram judge {other.handle}~{rule.handle} supersedes"
    assert said.hint == f"{rule.handle} is curated, so a person decides: {verdict}, or engram conflicts."
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
    one, two, three = (world.agent.remember(text).memory for text in ("First words", "Second thoughts", "A third"))
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
    old = [world.agent.remember(text).memory for text in ("The port is 5432", "The host is db1")]
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


def test_an_agent_puts_nothing_out_of_use_that_a_person_wrote(world):
    mine = world.person.remember("The port is 5432").memory
    own = world.agent.remember("It listens on 6000 these days").memory

    said = world.agent.relate(own.id, mine.id, "supersedes")
    assert said.relation.status == "proposed"
    verdict = f"engram judge {own.handle}~{mine.handle} supersedes"
    assert said.hint == (
        f"A person wrote or approved {mine.handle}, so a person decides: {verdict}, or engram conflicts."
    )
    assert [each.status for each in world.person.conflicts().pairs] == ["proposed"]
    assert world.agent.remember("The port is 5433", replaces=[mine.id]).memory.status == "pending"
    assert world.now(mine.id).replaced_by == ""
    assert world.agent.relate(mine.id, own.id, "supersedes").relation.status == "judged"
    assert world.now(own.id).replaced_by == mine.id


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


def test_credentials_leave_the_names_beside_a_verdict_too(world):
    new, old = two(world)
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    kept = world.person.relate(new.id, old.id, "related", model=f"judge {key}", session=key).relation

    assert (kept.model, kept.session) == ("judge [redacted:aws-access-key]", "[redacted:aws-access-key]")


def test_a_verdict_keeps_the_name_that_an_agent_gave_its_session(world):
    new, old = two(world)
    name = "ses_6b2f0c1a4ffe" + "Xk3PqLw9ZtYvBn"

    assert world.person.relate(new.id, old.id, "related", session=name).relation.session == name


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


def test_a_conflict_of_a_pair_of_which_one_replaced_the_curated_other_is_undone_whole(world):
    old = world.person.remember("My name is Alex", kind="identity", confirm=True).memory
    new = world.person.remember("People call me Sandy").memory
    world.person.judge(f"{new.handle}~{old.handle}", "supersedes")
    event = world.person.judge(f"{new.handle}~{old.handle}", "conflicts").event
    assert (world.stands(old.id), world.stands(new.id)) == ("live", "pending")
    world.person.undo(str(event))
    assert (world.stands(old.id), world.stands(new.id)) == ("replaced", "live")


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


def test_an_agent_cannot_bring_back_what_a_persons_verdict_put_out_of_use(world):
    old, new = (world.agent.remember(text).memory for text in ("Lint with flake8", "Linting moved to pylint"))
    world.person.relate(new.id, old.id, "supersedes")

    with pytest.raises(Conflict, match="judged already: supersedes"):
        world.agent.relate(old.id, new.id, "compatible")
    assert live(world) == [new.text]
    world.person.relate(old.id, new.id, "compatible")
    assert set(live(world)) == {old.text, new.text}


def test_what_a_person_let_replace_their_word_no_agent_rewords_or_takes_back(world):
    mine = world.person.remember("Only Robin may push to production").memory
    new = world.agent.remember("The release team pushes to production").memory
    world.person.relate(new.id, mine.id, "supersedes")

    assert world.agent.revise(new.id, text="Anybody may push to production").outcome == "proposed"
    with pytest.raises(Forbidden):
        world.agent.forget(new.id)
    assert live(world) == [new.text]


def test_an_agent_sends_nothing_to_review_that_a_person_wrote(world):
    rule = world.person.remember("Never log coordinates", kind="rule", confirm=True).memory
    mine = world.person.remember("Staging is reached through the bastion").memory
    own = world.agent.remember("Logs are kept for a week").memory

    said = world.agent.relate(mine.id, rule.id, "conflicts")
    assert said.relation.status == "proposed"
    assert "a person decides" in said.hint
    assert world.now(mine.id).status == "promoted"
    world.agent.relate(own.id, rule.id, "conflicts")
    assert world.now(own.id).held_for == "conflict"
    world.person.judge(said.relation.id, "conflicts")
    assert world.now(mine.id).held_for == "conflict"


def test_an_approval_by_the_revision_looked_at_does_not_replace_what_was_not_seen(world):
    old = world.person.remember("The build runs on Jenkins").memory
    waits = world.agent.remember("Alex is the release manager", kind="people").memory
    world.agent.relate(waits.id, old.id, "supersedes")

    with pytest.raises(Conflict, match="is at revision 2, not 1"):
        world.person.promote(waits.id, revision=waits.revision, confirm=True)
    assert not world.now(old.id).replaced_by
    [candidate] = world.person.queue().candidates
    world.person.promote(waits.id, revision=candidate.memory.revision, confirm=True)
    assert world.now(old.id).replaced_by == waits.id
    with pytest.raises(Conflict, match="judged already: supersedes"):  # the approval was a person's verdict
        world.agent.relate(old.id, waits.id, "compatible")


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


# The rule alone, without a store

LATER = START + timedelta(days=1)
FIRST, SECOND = memory("first", created_at=LATER), memory("second", "We deploy on Mondays")
RULE = memory("rule", "Never deploy on Fridays", tier=3, kind="rule")


def known(kind: str = "conflicts", **fields: Any) -> Relation:
    values = {"status": "judged", "owner": PERSON.owner, "created_at": START, "updated_at": LATER, "revision": 4}
    return Relation(
        id=pair_id("alex", "first", "second"), from_id="first", to_id="second", kind=kind, **(values | fields)
    )


def judged(
    first: Memory = FIRST,
    second: Memory = SECOND,
    kind: str = "related",
    before: Relation | None = None,
    *,
    caller=PERSON,
    **said: Any,
) -> tuple[Relation, dict[str, Memory]]:
    """The relation that a verdict makes, and the memories that it moves."""
    asked = request(caller, now=LATER)
    relation, *moved = relations.relate(first, second, Verdict(kind, **said), before, asked).puts
    return relation, {one.id: one for one in moved}


def test_the_id_of_a_pair_outlives_the_version_that_made_it():
    assert pair_id("alex", "a", "b") == pair_id("alex", "b", "a") == "rel-97578f612742e85eeefbd223"
    assert pair_id("kim", "a", "b") != pair_id("alex", "a", "b")


def test_a_person_is_sure_an_agent_less_and_who_says_how_sure_is_believed():
    assert judged()[0].confidence == 1.0
    assert judged(caller=AGENT)[0].confidence == 0.6
    assert judged(confidence=0.0)[0].confidence == 0.0


def test_a_changed_verdict_is_the_same_relation_one_revision_on():
    new, again = judged()[0], judged(before=known())[0]

    assert (new.created_at, new.revision) == (LATER, 1)
    assert (again.created_at, again.updated_at, again.revision) == (START, LATER, 5)


def test_a_proposal_gives_way_to_another_that_waits_and_a_judgement_does_not():
    waiting = memory("first", status="pending")

    assert judged(waiting, kind="supersedes", before=known(status="proposed"))[0].status == "proposed"
    with pytest.raises(Conflict, match="first waits for review itself"):
        judged(waiting, kind="supersedes", before=known())
    with pytest.raises(Conflict, match="mem-0007 waits"):
        judged(memory("first", status="pending", handle="mem-0007"), kind="supersedes", before=known())
    with pytest.raises(Conflict, match="judged already: conflicts"):
        judged(waiting, kind="supersedes", before=known(), caller=AGENT)
    with pytest.raises(Conflict, match="judged already: conflicts"):
        judged(FIRST, memory("rule", tier=3, replaced_by="first"), before=known(), caller=AGENT)


def test_what_a_person_judged_no_agent_judges_anew_and_a_person_does():
    theirs = known(approved_by="alex")

    with pytest.raises(Conflict, match="first~second was judged already: conflicts") as told:
        judged(SECOND, FIRST, kind="compatible", before=theirs, caller=AGENT)
    assert "A person judges it anew: engram judge first~second" in told.value.hint
    assert judged(kind="compatible", before=theirs)[0].kind == "compatible"
    assert judged(kind="compatible", before=known(), caller=AGENT)[0].kind == "compatible"


def test_an_agent_that_says_what_a_person_judged_leaves_it_as_it_is():
    for theirs, first, second in (
        (known(approved_by="alex"), SECOND, FIRST),
        (known("supersedes", approved_by="alex"), FIRST, replace(SECOND, replaced_by="first")),
    ):
        kept, moved = judged(first, second, kind=theirs.kind, before=theirs, caller=AGENT, reason="I say so")
        assert (kept, moved) == (replace(theirs, revision=5), {})
    with pytest.raises(Conflict, match="judged already: supersedes"):
        judged(SECOND, FIRST, kind="supersedes", before=known("supersedes", approved_by="alex"), caller=AGENT)


def test_what_a_person_set_aside_no_agent_judges():
    aside = relations.ignore(FIRST, SECOND, None, request()).puts[0]

    for kind in ("conflicts", "unrelated"):
        with pytest.raises(Conflict, match="first~second was set aside by a person"):
            judged(kind=kind, before=aside, caller=AGENT)
    assert judged(kind="conflicts", before=aside)[0].status == "judged"
    assert relations.ignore(FIRST, SECOND, None, request(AGENT)).puts[0].approved_by == ""


def test_a_person_who_lets_a_memory_supersede_another_approves_its_words():
    agents = memory("first", origin="inferred", source="tool:remember")

    assert judged(agents, kind="supersedes")[1]["first"].approved_by == PERSON.name
    assert judged(agents, kind="compatible")[1] == {}
    assert "first" not in judged(agents, kind="supersedes", caller=AGENT)[1]
    assert "first" not in judged(memory("first", approved_by="kim"), kind="supersedes")[1]
    back = judged(replace(agents, replaced_by="second"), kind="supersedes")[1]["first"]
    assert (back.replaced_by, back.approved_by) == ("", PERSON.name)


def test_what_was_done_to_a_memory_since_a_person_spoke_of_it_is_not_their_word():
    verdict = known("supersedes", status="proposed", approved_by="alex")  # of LATER
    theirs = memory("second", origin="said", source="manual")
    new = memory("first", updated_at=LATER)

    assert relations.taking_effect(new, [(verdict, theirs)], request(AGENT, now=LATER))
    reworded = replace(new, updated_at=LATER + timedelta(seconds=1))
    assert not relations.taking_effect(reworded, [(verdict, theirs)], request(AGENT, now=LATER))
    assert relations.taking_effect(reworded, [(verdict, theirs)], request(PERSON, now=LATER))


def test_an_agent_hides_nothing_that_a_person_staged():
    staged = memory(
        "second", origin="said", source="manual", status="pending", held_for="unmerged_branch", branch="b"
    )

    proposed, moved = judged(FIRST, staged, kind="supersedes", caller=AGENT)
    assert (proposed.status, moved) == ("proposed", {})
    own = replace(staged, origin="inferred", source="tool:remember")
    assert judged(FIRST, own, kind="supersedes", caller=AGENT)[0].status == "judged"


def test_a_verdict_is_a_persons_where_a_person_gave_it_also_while_it_waits():
    waiting = memory("first", status="pending")

    assert judged()[0].approved_by == PERSON.name
    assert judged(waiting, kind="supersedes")[0].approved_by == PERSON.name
    assert judged(caller=AGENT)[0].approved_by == ""
    assert judged(waiting, kind="supersedes", caller=AGENT)[0].approved_by == ""


def test_a_persons_verdict_that_waits_is_neither_changed_nor_set_aside_by_an_agent_or_a_model():
    theirs = known("supersedes", status="proposed", approved_by="alex")

    with pytest.raises(Conflict, match="first~second was judged already: supersedes"):
        judged(kind="compatible", before=theirs, caller=AGENT)
    with pytest.raises(Conflict, match="first~second was judged already: supersedes"):
        relations.ignore(FIRST, SECOND, theirs, request(AGENT))
    assert relations.ignore(FIRST, SECOND, theirs, request()).puts[0].status == "ignored"
    assert judged(kind="compatible", before=theirs)[0].kind == "compatible"
    said = [known(status=status, approved_by=by) for status in ("proposed", "judged") for by in ("", "alex")]
    assert [relations.is_undecided(one) for one in said] == [True, False, False, False]


def test_who_is_staged_is_told_by_its_branch_where_a_verdict_was_given_already():
    staged = memory("first", status="pending", held_for="unmerged_branch", branch="r#feature")

    with pytest.raises(Conflict, match="first holds on a branch that is not merged"):
        judged(staged, kind="supersedes", before=known())


def test_a_persons_verdict_takes_effect_as_that_persons_word_whoever_brings_the_memory_into_use():
    firm = memory("second", origin="said", source="manual")
    theirs, other = (known("supersedes", status="proposed", approved_by=by) for by in ("alex", ""))

    relation, hidden = (each.after for each in relations.taking_effect(FIRST, [(theirs, firm)], request(AGENT)))
    assert (relation.status, relation.approved_by, hidden.replaced_by) == ("judged", "alex", "first")
    assert relations.taking_effect(FIRST, [(other, firm)], request(AGENT)) == []
    assert relations.taking_effect(FIRST, [(theirs, replace(firm, tier=CURATED))], request(AGENT)) == []
    (relation, _) = (each.after for each in relations.taking_effect(FIRST, [(other, firm)], request()))
    assert relation.approved_by == PERSON.name


def test_what_a_waiting_memory_would_replace_moves_it_one_revision_on():
    waiting = memory("first", status="pending")
    _, moved = judged(waiting, kind="supersedes", caller=AGENT)

    assert moved == {"first": replace(waiting, revision=waiting.revision + 1, updated_at=LATER)}
    assert judged(waiting, kind="related", caller=AGENT)[1] == {}
    assert judged(memory("first", status="pending", owner=OTHER.owner), kind="supersedes", caller=AGENT)[1] == {}
    assert judged(FIRST, RULE, kind="supersedes", caller=AGENT)[1] == {}


def test_an_agent_neither_hides_nor_brings_back_what_is_curated_and_a_person_does():
    hidden = memory("rule", tier=3, kind="rule", replaced_by="first")

    proposed, moved = judged(FIRST, hidden, caller=AGENT)
    assert (proposed.status, moved) == ("proposed", {})
    assert judged(FIRST, hidden)[1]["rule"].replaced_by == ""
    assert judged(FIRST, RULE, "supersedes", caller=AGENT)[1] == {}
    waits = memory("rule", tier=3, kind="rule", status="pending")
    assert judged(FIRST, waits, "supersedes", caller=AGENT)[1]["rule"].replaced_by == "first"


def test_a_verdict_that_moves_nothing_is_judged_whoever_gives_it():
    assert judged(FIRST, RULE, caller=AGENT)[0].status == "judged"
    assert judged(FIRST, memory("second", replaced_by="first"), "supersedes", caller=AGENT)[1] == {}


def test_what_replaced_the_first_lets_go_of_it_by_any_other_word():
    first = memory("first", replaced_by="second")

    assert judged(first, kind="related")[1]["first"].replaced_by == ""
    moved = judged(first, kind="supersedes")[1]
    assert (moved["first"].replaced_by, moved["second"].replaced_by) == ("", "first")
    assert judged(memory("first", replaced_by="third"))[1] == {}


@pytest.mark.parametrize("out", [{"replaced_by": "third"}, {"forgotten_at": START}, {"status": "rejected"}])
def test_what_is_out_of_use_supersedes_nothing(out):
    with pytest.raises(Conflict, match="first is out of use itself"):
        judged(memory("first", **out), kind="supersedes")
    with pytest.raises(Conflict, match="mem-0007 is out of use"):
        judged(memory("first", handle="mem-0007", **out), kind="supersedes")


def test_nobody_brings_back_what_belongs_to_someone_else():
    theirs = memory("second", owner=OTHER.owner, replaced_by="first")

    with pytest.raises(Forbidden, match="brings a memory back"):
        judged(second=theirs)


# Who has to wait by a conflict


def conflicting(late: Memory, older: Memory = RULE, **more: Any) -> dict[str, Memory]:
    return judged(late, older, "conflicts", **more)[1]


def test_a_newcomer_waits_beside_what_is_curated_and_in_use():
    waits = conflicting(memory("first", created_at=LATER, approved_by="alex"))["first"]

    assert (waits.status, waits.held_for, waits.approved_by) == ("pending", "conflict", "")


@pytest.mark.parametrize(
    ("late", "older"),
    [
        ({"status": "pending"}, {}),
        ({"replaced_by": "third"}, {}),
        ({"forgotten_at": START}, {}),
        ({"owner": OTHER.owner}, {}),
        ({}, {"tier": 2}),
        ({}, {"status": "pending"}),
    ],
)
def test_nobody_waits_who_is_out_of_use_or_anothers_or_beside_what_is_not_approved(late, older):
    first = memory("first", **({"created_at": LATER} | late))

    assert conflicting(first, memory("rule", **({"tier": 3, "kind": "rule"} | older))) == {}


def test_of_two_made_at_one_moment_the_greater_id_is_the_newcomer():
    assert relations.newcomer(memory("a"), memory("b")).id == "b"
    assert set(conflicting(memory("a"), RULE)) == set()
    assert set(conflicting(memory("z"), RULE)) == {"z"}


def held(**fields: Any) -> Memory:
    values = {"status": "pending", "held_for": "conflict", "created_at": LATER, "updated_at": LATER, "revision": 2}
    return memory("first", **(values | fields))


def test_a_persons_other_word_ends_a_waiting_that_its_conflict_began():
    freed = judged(held(), RULE, "compatible", known())[1]["first"]

    assert (freed.status, freed.held_for, freed.approved_by) == ("promoted", "", PERSON.name)


@pytest.mark.parametrize(
    ("late", "before", "kind", "caller"),
    [
        ({}, known(), "compatible", AGENT),
        ({}, None, "compatible", PERSON),
        ({}, known("related"), "compatible", PERSON),
        ({}, known(status="proposed"), "compatible", PERSON),
        ({"revision": 1}, known(), "compatible", PERSON),
        ({"updated_at": START}, known(), "compatible", PERSON),
        ({"held_for": "untrusted_origin"}, known(), "compatible", PERSON),
        ({"status": "rejected"}, known(), "compatible", PERSON),
        ({"tier": 3}, known(), "compatible", PERSON),
    ],
)
def test_nothing_else_ends_a_waiting(late, before, kind, caller):
    assert judged(held(**late), RULE, kind, before, caller=caller)[1] == {}


# What waits for its memory, what is set aside, and what is told


def test_what_was_said_to_be_superseded_is_so_once_its_replacer_is_in_use():
    pairs = [
        (known("supersedes"), memory("a", replaced_by="x")),
        (known("supersedes"), memory("b", tier=3)),
        (known("supersedes"), memory("c", owner=OTHER.owner)),
        (known("supersedes", status="proposed"), memory("d")),
        (known("supersedes", revision=8), memory("e")),
    ]
    steps = relations.taking_effect(FIRST, pairs, request(now=LATER))
    after = [step.after for step in steps]

    assert [one.replaced_by for one in after if isinstance(one, Memory)] == ["first", "first"]
    assert [one.id for one in after if isinstance(one, Memory)] == ["d", "e"]
    [relation] = [one for one in after if isinstance(one, Relation)]
    assert (relation.status, relation.revision, relation.updated_at) == ("judged", 5, LATER)


def test_a_pair_that_is_set_aside_keeps_what_was_suspected_of_it():
    def ignored(before: Relation | None) -> Relation:
        return relations.ignore(FIRST, SECOND, before, request()).puts[0]

    kept = ignored(known(status="proposed", reason="two ports", confidence=0.3))
    assert (kept.status, kept.kind, kept.reason, kept.confidence) == ("ignored", "conflicts", "two ports", 0.3)
    assert (ignored(None).status, ignored(None).kind) == ("ignored", "unrelated")
    with pytest.raises(Conflict, match="judged already: conflicts"):
        ignored(known())


@pytest.mark.parametrize(
    ("relation", "first", "second"),
    [
        (known(), "conflicts with {}", "conflicts with {}"),
        (known("supersedes"), "supersedes {}", "superseded by {}"),
        (known("supersedes", status="proposed"), "may supersede {}", "may be superseded by {}"),
        (known("related"), "", ""),
        (known(status="ignored"), "", ""),
    ],
)
def test_a_reader_is_told_what_a_relation_says_of_either_side(relation, first, second):
    assert (relations.mark(relation, "first"), relations.mark(relation, "second")) == (first, second)


def test_a_verdict_keeps_of_the_old_one_what_was_not_said_anew():
    old = known(reason="two ports", evidence="a.py", session="monday")

    assert relations.turned(old, Verdict("related")) == Verdict("related", "two ports", "a.py", session="monday")
    anew = Verdict("related", "moved", "b.py", session="tuesday")
    assert relations.turned(old, anew) == anew


@pytest.mark.parametrize(
    ("said", "why"),
    [({"model": "m" * 257}, "model is 257 bytes"), ({"session": "a\nb"}, "session must be a single line")],
)
def test_who_judged_is_a_name_of_one_line(said: dict[str, str], why: str):
    world = World()
    one, other = (world.person.remember(text).memory for text in ("The cache is warm", "Deploys are on Fridays"))
    with pytest.raises(Invalid, match=why):
        world.person.relate(one.id, other.id, "related", **said)


def test_a_suspicion_is_said_in_the_words_of_a_proposal():
    other = memory("first", handle="mem-0007")
    assert relations.suspected(other) == "may conflict with mem-0007"


def test_what_stands_firm_and_is_ones_own_and_in_use_is_spared_by_a_verdict():
    mine = memory("first", tier=CURATED)
    others = (
        replace(mine, replaced_by="x"),
        replace(mine, owner="somebody else"),
        replace(mine, tier=1, origin="inferred", source="tool:remember"),
    )

    assert relations.spared([(known(), one) for one in (mine, *others)], request()) == [mine]


# --- both are kept ---


def tied(kind: RelationKind, status: str, from_id: str = "memory-1", to_id: str = "other") -> Relation:
    """What is known of a memory and another one."""
    fields: dict[str, Any] = {"id": pair_id(PERSON.owner, from_id, to_id), "kind": kind, "status": status}
    return Relation(from_id=from_id, to_id=to_id, owner=PERSON.owner, created_at=START, updated_at=START, **fields)


def kept(
    one: Memory, others: tuple[Memory, ...] = (), known: tuple[Relation, ...] = (), **how: Any
) -> list[Relation]:
    steps = relations.keeping(one, others, known, request(**how))
    return [step.after for step in steps if isinstance(step.after, Relation)]


def test_that_both_are_kept_is_a_verdict_of_whoever_owns_the_memory():
    (pair,) = kept(memory(), (memory("other"),))

    assert (pair.kind, pair.status, pair.from_id, pair.to_id) == ("compatible", "judged", "memory-1", "other")
    assert kept(memory(owner=OTHER.owner), (memory("other"),)) == []


@pytest.mark.parametrize(
    ("pair", "decided"),
    [
        (tied("supersedes", "judged"), True),
        (tied("supersedes", "proposed"), True),
        (tied("supersedes", "ignored"), False),
        (tied("supersedes", "judged", "other", "memory-1"), False),
        (tied("conflicts", "judged"), True),
        (tied("conflicts", "judged", "other", "memory-1"), True),
        (tied("conflicts", "proposed"), False),
        (tied("related", "judged"), False),
    ],
)
def test_what_would_part_a_memory_that_waits_from_another_is_decided_with_it(pair: Relation, decided: bool):
    third = memory("third")

    ends = {(one.from_id, one.to_id) for one in kept(memory(status="pending"), (third,), (pair,))}
    assert ends == {("memory-1", "third")} | ({(pair.from_id, pair.to_id)} if decided else set())
    assert {one.to_id for one in kept(memory(), (third,), (pair,))} == {"third"}


@pytest.mark.parametrize(
    ("kind", "status", "said"),
    [
        ("compatible", "judged", False),
        ("scoped", "judged", False),
        ("related", "proposed", True),
        ("conflicts", "judged", True),
        ("supersedes", "judged", True),
    ],
)
def test_a_verdict_that_lets_both_stand_stays_as_it_was_given(kind: RelationKind, status: str, said: bool):
    after = kept(memory(), (memory("other"),), (tied(kind, status),))

    assert [(one.kind, one.status, one.revision) for one in after] == (
        [("compatible", "judged", 2)] if said else []
    )
