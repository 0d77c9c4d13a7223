"""How a text becomes a memory: new, repeated, revised, held or proposed."""

from datetime import timedelta

import pytest

from engram.errors import Conflict, Forbidden, Invalid
from engram.model.memory import Citation, Context, standing
from engram.rules.admission import Known, admit
from engram.rules.policy import Policy
from engram.rules.proposals import Proposal, prepare
from rules.world import AGENT, PERSON, START, World, memory, request


@pytest.fixture
def world() -> World:
    return World()


def decided(said: Proposal, known: Known = Known(), *, caller=AGENT, confirmed="", policy=Policy()):  # noqa: B008
    asked = request(caller, confirmed=confirmed)
    return admit(prepare(said, asked, policy), known, policy, asked)


# --- prepare ---


def test_credentials_and_private_spans_are_taken_out_of_every_text_field():
    key = "AKIAIOSFODNN7EXAMPLQ"
    said = Proposal(
        text=f"The key is {key}, <private>not this</private> and more",
        summary=f"key {key}",
        tags=("deploy", "<private>x</private>"),
        citations=(Citation("file", "a.py", excerpt=f"k = {key}"),),
    )
    clean = prepare(said, request(), Policy())
    stored = f"{clean.text} {clean.summary} {clean.tags} {clean.citations[0].excerpt}"
    assert key not in stored
    assert "not this" not in stored
    assert "and more" in clean.text
    assert clean.redacted


def test_a_text_that_is_wholly_private_is_refused():
    with pytest.raises(Invalid, match="Nothing is left"):
        prepare(Proposal(text="<private>all of it</private>"), request(), Policy())


def test_tags_are_cleaned_and_joined():
    assert prepare(Proposal(text="x", tags=(" a ", "", "b", "a")), request(), Policy()).tags == ("a", "b")


@pytest.mark.parametrize("kind", ["Fact", "two words", "", "ünicode", "-x", "x" * 65])
def test_a_kind_is_one_lower_case_word(world, kind):
    with pytest.raises(Invalid, match="kind"):
        world.agent.remember("Some words", kind=kind)


# --- new ---


def test_what_was_not_said_takes_the_default_of_caller_and_kind():
    by_agent = decided(Proposal(text="Some words")).memory
    by_person = decided(Proposal(text="Some words"), caller=PERSON).memory
    assert (by_agent.origin, by_agent.source, by_agent.confidence) == ("inferred", "tool:remember", 0.6)
    assert (by_person.origin, by_person.source, by_person.confidence) == ("said", "manual", 1.0)
    assert decided(Proposal(text="x", kind="identity")).memory.decay == "365d"


def test_owner_and_actor_come_from_the_caller_alone():
    made = decided(Proposal(text="Some words")).memory
    assert (made.owner, made.actor) == (AGENT.owner, AGENT.actor)


# --- contradiction ---


@pytest.mark.parametrize("kind", ["preference", "fact", "infra", "a-word"])
@pytest.mark.parametrize("rival", ["preference", "fact", "rule"])
def test_a_contradiction_holds_any_tier(world, kind, rival):
    world.person.remember("The api port is 8080", kind=rival, confirm=True)
    held = world.agent.remember("The api port is 9090", kind=kind)
    assert (held.outcome, held.memory.held_for) == ("held", "conflict")
    assert [one.text for one in held.conflicts] == ["The api port is 8080"]
    assert "8080" in held.why
    assert "9090" in held.why


def test_what_contradicts_only_a_memory_that_is_not_live_is_not_held(world):
    old = world.person.remember("The api port is 8080").memory
    world.person.forget(old.id)
    assert world.agent.remember("The api port is 9090").outcome == "new"


def test_what_contradicts_in_another_scope_is_not_held(world):
    world.person.remember("The api port is 8080", scope="project:one")
    assert world.agent.remember("The api port is 9090", scope="project:two").outcome == "new"


def test_a_confirmed_word_replaces_what_it_contradicts_at_once(world):
    old = world.agent.remember("The api port is 8080").memory
    new = world.person.remember("The api port is 9090", confirm=True)
    assert new.outcome == "new"
    assert world.stands(old.id) == "replaced"
    assert world.now(old.id).replaced_by == new.memory.id


def test_text_from_an_untrusted_origin_replaces_nothing_even_when_confirmed(world):
    old = world.agent.remember("The api port is 8080").memory
    held = world.person.remember("The api port is 9090", source="web:example.org", confirm=True)
    assert held.memory.held_for == "untrusted_origin"
    assert world.stands(old.id) == "live"


# --- the same again ---


def test_a_repeat_adds_tags_and_citations_and_takes_weights_as_said(world):
    first = world.agent.remember("We build with pnpm", tag=["build"], importance=3).memory
    again = world.agent.remember(
        "We build with pnpm.", tag=["js"], cite=["package.json"], importance=8, pinned=True
    )
    assert again.outcome == "repeated"
    after = world.now(first.id)
    assert (after.text, after.seen, after.tags) == ("We build with pnpm", 2, ("build", "js"))
    assert (after.importance, after.pinned, len(after.citations)) == (8, True, 1)


def test_a_repeat_does_not_change_a_curated_memory(world):
    first = world.person.remember("My name is Alex", kind="identity", tag=["me"], confirm=True).memory
    world.agent.remember("My name is Alex", tag=["x"], importance=1)
    after = world.now(first.id)
    assert (after.tags, after.importance, after.seen) == (("me",), 5, 2)


def test_a_repeat_makes_a_stale_memory_fresh(world):
    first = world.agent.remember("We build with pnpm").memory
    world.clock.pass_by(days=181)
    world.agent.remember("We build with pnpm")
    assert world.stands(first.id) == "live"


def test_a_repeat_does_not_make_a_stale_curated_memory_fresh_unless_confirmed(world):
    first = world.person.remember("My name is Alex", kind="identity", confirm=True).memory
    world.clock.pass_by(days=366)
    world.agent.remember("My name is Alex")
    assert world.stands(first.id) == "stale"
    world.person.remember("My name is Alex", confirm=True)
    assert world.stands(first.id) == "live"


def test_a_forgotten_text_said_again_returns_under_its_id(world):
    first = world.agent.remember("We build with pnpm").memory
    world.agent.forget(first.id)
    back = world.agent.remember("We build with pnpm")
    assert (back.outcome, back.memory.id, world.stands(first.id)) == ("restored", first.id, "live")


def test_an_expired_text_said_again_returns_under_its_id(world):
    until = world.clock() + timedelta(days=1)
    first = world.agent.remember("The freeze is on", valid_until=until).memory
    world.clock.pass_by(days=2)
    assert world.agent.remember("The freeze is on").outcome == "restored"
    assert world.stands(first.id) == "live"


def test_a_replaced_text_said_again_waits_for_a_person(world):
    old = world.agent.remember("The api port is 8080").memory
    new = world.person.remember("The api port is 9090", confirm=True).memory
    back = world.agent.remember("The api port is 8080")
    assert (back.outcome, back.memory.held_for) == ("held", "conflict")
    assert world.stands(new.id) == "live"
    world.person.promote(old.id)
    assert (world.stands(old.id), world.stands(new.id)) == ("live", "replaced")


def test_other_words_under_a_key_whose_memory_was_replaced_wait_for_a_person(world):
    old = world.agent.remember("The cache is Redis", key="cache").memory
    new = world.agent.remember("Memcached holds what is cached", replaces=[old.id]).memory
    said = world.agent.remember("Valkey is what we cache with", key="cache")
    assert (said.outcome, said.memory.id, said.memory.held_for) == ("held", old.id, "conflict")
    world.person.promote(old.id)
    assert (world.stands(old.id), world.stands(new.id)) == ("live", "replaced")


def test_other_words_under_a_key_whose_memory_was_replaced_are_live_when_confirmed(world):
    old = world.agent.remember("The cache is Redis", key="cache").memory
    world.agent.remember("Memcached holds what is cached", replaces=[old.id])
    said = world.person.remember("Valkey is what we cache with", key="cache", confirm=True)
    assert (said.outcome, world.stands(old.id)) == ("revised", "live")


def test_a_replaced_memory_that_is_revised_does_not_hide_what_replaced_it(world):
    old = world.agent.remember("The api port is 8080").memory
    new = world.person.remember("The api port is 9090", confirm=True).memory
    said = world.person.revise(old.id, text="The api port is 7070", confirm=True)
    assert (world.stands(old.id), world.stands(new.id)) == ("replaced", "live")
    assert said.hint == f"It is not in use: {new.handle} has replaced it."


def test_a_forgotten_memory_said_again_keeps_the_decay_of_its_kind(world):
    first = world.person.remember("My name is Alex", kind="identity", confirm=True).memory
    world.person.forget(first.id)
    world.person.remember("My name is Alex", confirm=True)
    assert (world.now(first.id).kind, world.now(first.id).decay) == ("identity", "365d")


# --- the same key ---


def test_the_same_key_revises_in_place_and_keeps_what_was_not_said(world):
    first = world.agent.remember("Deploys are on Fridays", key="deploy", tag=["ops"], importance=8).memory
    again = world.agent.remember("Deploys are whenever we like", key="deploy")
    assert (again.outcome, again.memory.id, again.memory.tags, again.memory.importance) == (
        *("revised", first.id, ("ops",), 8),
    )


def test_the_same_key_in_another_scope_or_of_another_owner_is_another_memory(world):
    made = [
        world.person.remember("Text one", key="k"),
        world.person.remember("Text two", key="k", scope="project:api"),
        world.other.remember("Text three", key="k"),
    ]
    assert len({one.memory.id for one in made}) == 3


def test_dedupe_create_makes_a_memory_of_its_own(world):
    first = world.agent.remember("We build with pnpm", key="build").memory
    other = world.agent.remember("We build with pnpm", key="build", dedupe="create")
    assert (other.outcome, other.memory.apart) == ("new", True)
    assert other.memory.id != first.id
    assert world.agent.remember("We build with bun", key="build").memory.id == first.id


def test_a_key_of_someone_elses_memory_cannot_be_taken():
    theirs = memory(owner="kim", key="k")
    with pytest.raises(Forbidden):
        decided(Proposal(text="Some words", key="k"), Known(keyed=theirs))


# --- proposals ---


def test_an_edit_of_a_live_curated_memory_is_a_proposal_and_the_approved_text_stays(world):
    live = world.person.remember("My name is Alex", kind="identity", confirm=True).memory
    asked = world.agent.revise(live.id, text="My name is Alexandra")
    assert (asked.outcome, asked.memory.amends, asked.memory.held_for) == (
        *("proposed", live.id, "edits_curated_node"),
    )
    assert [hit.memory.text for hit in world.agent.recall("name").hits] == ["My name is Alex"]
    world.person.promote(asked.memory.id, confirm=True)
    assert [hit.memory.text for hit in world.agent.recall("name").hits] == ["My name is Alexandra"]
    assert world.stands(asked.memory.id) == "replaced"


def test_an_edit_by_key_of_a_live_curated_memory_is_a_proposal_too(world):
    live = world.person.remember("My name is Alex", kind="identity", key="name", confirm=True).memory
    asked = world.agent.remember("My name is Alexandra", key="name")
    assert (asked.outcome, asked.memory.amends) == ("proposed", live.id)
    assert world.now(live.id).text == "My name is Alex"


def test_a_confirmed_edit_of_a_curated_memory_is_made_in_place(world):
    live = world.person.remember("My name is Alex", kind="identity", confirm=True).memory
    assert world.person.revise(live.id, text="My name is Alexandra", confirm=True).outcome == "revised"
    assert world.now(live.id).text == "My name is Alexandra"


@pytest.mark.parametrize(
    ("before", "now", "after"),
    [("manual", "remember", "remember"), ("harvest", "manual", "manual"), ("harvest", "remember", "harvest")],
)
def test_other_words_are_learned_as_they_were_said_where_a_person_typed_these_or_the_old_ones(before, now, after):
    old = memory(key="k", learned_by=before)
    said = Proposal(text="Quite other words", key="k", learned_by=now)

    assert decided(said, Known(keyed=old)).memory.learned_by == after


def test_a_revision_of_a_live_memory_that_contradicts_another_is_a_proposal(world):
    world.agent.remember("The api port is 8080")
    live = world.agent.remember("The web server has a port", key="web").memory
    asked = world.agent.revise(live.id, text="The api port is 9090")
    assert (asked.outcome, asked.memory.held_for) == ("proposed", "conflict")
    assert world.now(live.id).text == "The web server has a port"


def test_weight_alone_moves_on_a_curated_memory_without_a_confirmation(world):
    live = world.person.remember("My name is Alex", kind="identity", confirm=True).memory
    assert world.agent.revise(live.id, importance=9, pinned=True).outcome == "revised"
    assert (world.now(live.id).importance, world.stands(live.id)) == (9, "live")


def test_pinning_neither_approves_what_waits_nor_verifies_what_is_live(world):
    waits = world.agent.remember("My name is Alex", kind="identity").memory
    live = world.agent.remember("We build with pnpm").memory
    world.clock.pass_by(days=1)
    for one in (waits, live):
        world.person.revise(one.id, pinned=True, confirm=True)
    assert (world.now(waits.id).pinned, world.stands(waits.id)) == (True, "pending")
    assert world.now(live.id).pinned
    assert (world.now(live.id).approved_by, world.now(live.id).verified_at) == ("", live.verified_at)


def test_weight_moves_at_once_where_every_word_is_reviewed(world):
    live = world.agent.remember("We build with pnpm").memory
    strict = world.as_(world.agent.caller, Policy(review_all=True))
    assert strict.revise(live.id, pinned=True).outcome == "revised"


def test_a_revision_of_nothing_is_refused(world):
    live = world.agent.remember("Some words").memory
    with pytest.raises(Invalid, match="Nothing to revise"):
        world.agent.revise(live.id)


def test_a_revision_decided_on_an_older_one_is_refused(world):
    live = world.agent.remember("Some words").memory
    world.agent.revise(live.id, importance=9, revision=1)
    with pytest.raises(Conflict, match="revision 2, not 1"):
        world.agent.revise(live.id, importance=2, revision=1)


def test_a_memory_made_on_an_unmerged_branch_is_staged_and_live_on_that_branch_only():
    made = decided(Proposal(text="The new flag is on", branch="acme/api@feature")).memory
    assert standing(made, START, "acme/api@feature") == "live"
    assert standing(made, START) == "staged"
    assert (made.status, made.held_for, made.branch) == ("pending", "unmerged_branch", "acme/api@feature")


def test_other_words_keep_the_word_of_their_kind_and_what_another_store_says_of_the_record():
    made = Context(repo="acme", agent="codex", word="Team Rhythm", theirs='["keyed","row-1",1,{}]')
    old = memory(text="We deploy on Fridays", kind="team-rhythm", key="day", context=made)
    here = Context(agent="claude", tool="save")
    said = Proposal(text="We deploy on Mondays", key="day", context=here)
    after = decided(said, Known(keyed=old)).memory.context
    assert after == Context(agent="claude", tool="save", word=made.word, theirs=made.theirs)
    other = said._replace(kind="habit")
    assert decided(other, Known(keyed=old)).memory.context == Context(
        agent="claude", tool="save", theirs=made.theirs
    )
