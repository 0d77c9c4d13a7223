"""Every table of the memory schema we grew from (memory.v1), and the words of its three siblings, as behaviour."""

from datetime import timedelta

import pytest

from engram.errors import Conflict, Forbidden, Invalid, Unconfirmed
from engram.model.memory import CURATED, Memory, standing
from engram.model.refs import print_handle
from engram.rules.kinds import AUTO, CHECKED, KINDS, lookup
from engram.rules.policy import Policy
from engram.rules.proposals import Proposal, prepare
from rules.world import AGENT, PERSON, World

AUTOMATIC = ("preference", "tooling", "project", "infra")
REVIEWED = ("identity", "fiscal", "people", "constraint", "location", "health")


@pytest.fixture
def world() -> World:
    return World()


# --- table: Memory model ---


def test_memory_id_is_assigned_by_the_store_as_mem_nnnn(world):
    told = [world.agent.remember(text).memory for text in ("First thing said", "Second thing said")]
    assert [one.handle for one in told] == ["mem-0001", "mem-0002"]
    assert print_handle("memory", 12345) == "mem-12345"
    assert world.now("mem-0002").id == told[1].id


def test_memory_fact_is_the_text_and_all_an_agent_has_to_say(world):
    told = world.agent.remember("I prefer pnpm over npm").memory
    assert told.text == "I prefer pnpm over npm"
    assert told.status == "promoted"


def test_memory_fact_is_required(world):
    for empty in ("", "  \n "):
        with pytest.raises(Invalid):
            world.agent.remember(empty)


def test_memory_kind_decides_the_tier_and_is_fact_unless_said(world):
    assert world.agent.remember("Something or other").memory.kind == "fact"
    assert world.agent.remember("Likes short answers", kind="preference").memory.tier == AUTO


def test_memory_source_tells_how_it_was_captured(world):
    assert world.agent.remember("From the agent").memory.source == "tool:remember"


def test_memory_confidence_lies_between_0_and_1_and_is_less_for_an_agent(world):
    assert world.agent.remember("An agent says this").memory.confidence == 0.6
    assert world.person.remember("A person says this").memory.confidence == 1.0
    assert world.agent.remember("An agent is fairly sure", confidence=0.85).memory.confidence == 0.85
    for wrong in (-0.01, 1.01):
        with pytest.raises(Invalid):
            world.agent.remember("An agent exaggerates", confidence=wrong)


def test_memory_confidence_falls_faster_where_it_was_low(world):
    low = world.agent.remember("A doubtful thing", confidence=0.4).memory
    high = world.agent.remember("A certain thing", confidence=0.9).memory
    later = world.clock() + timedelta(days=90)
    assert low.effective_confidence(later) / 0.4 < high.effective_confidence(later) / 0.9 < 1


def test_memory_learned_by_tells_how_it_entered(world):
    assert world.agent.remember("By the tool").memory.learned_by == "remember"


def test_memory_learned_at_is_the_moment_it_was_made_and_survives_revision(world):
    made = world.agent.remember("The first wording", key="k").memory
    world.clock.pass_by(days=3)
    later = world.agent.remember("A second wording", key="k").memory
    assert later.created_at == made.created_at
    assert later.updated_at == made.created_at + timedelta(days=3)


def test_memory_last_verified_is_empty_until_somebody_verifies_it(world):
    made = world.agent.remember("To be checked").memory
    assert made.verified_at is None
    world.clock.pass_by(days=2)
    world.agent.recall("checked")
    assert world.now(made.id).verified_at is None, "reading does not verify"
    world.person.verify(made.id)
    assert world.now(made.id).verified_at == world.clock()


def test_memory_last_verified_is_the_day_on_which_it_was_approved_by_saying_it_again(world):
    held = world.person.remember("My name is Alex", kind="identity").memory
    world.clock.pass_by(days=1)
    world.person.remember("My name is Alex", kind="identity", confirm=True)

    assert (world.stands(held.id), world.now(held.id).verified_at) == ("live", world.clock())


def test_memory_decay_is_180d_by_default(world):
    assert world.agent.remember("Something or other").memory.decay == "180d"
    assert world.agent.remember("Only for a month", decay="30d").memory.decay == "30d"


@pytest.mark.parametrize("decay", ["180d", "30d", "365d", "12h", "8w", "6m", "2y", "none"])
def test_memory_decay_strings_that_are_read(world, decay):
    assert world.agent.remember("Something or other", decay=decay).memory.decay == decay


@pytest.mark.parametrize("decay", ["", "180", "d", "-1d", "1.5d", "180 d", "0d", "1000y", "forever", "\uff11d"])
def test_memory_decay_strings_that_are_refused(world, decay):
    with pytest.raises(Invalid, match="decay"):
        world.agent.remember("Something or other", decay=decay)


def test_memory_decay_runs_from_the_day_it_was_learned_or_last_verified(world):
    made = world.agent.remember("Only for a month", decay="30d").memory
    world.clock.pass_by(days=30)
    assert world.stands(made.id) == "live"
    world.clock.pass_by(seconds=1)
    assert world.stands(made.id) == "stale"
    world.person.verify(made.id)
    world.clock.pass_by(days=30)
    assert world.stands(made.id) == "live"
    world.clock.pass_by(seconds=1)
    assert world.stands(made.id) == "stale"


def test_memory_risk_tier_and_status_are_set_by_the_system():
    said = {"tier", "status", "approved_by", "held_for", "owner", "actor", "seen", "revision"}
    assert not said & set(Proposal._fields)


def test_memory_dest_follows_from_who_approved_it(world):
    """memory-log.md holds what promoted itself, memory.md what a person reviewed; null while it waits."""
    by_itself = world.agent.remember("I prefer pnpm over npm", kind="tooling").memory
    waiting = world.agent.remember("My legal name is Alex Rivera", kind="identity").memory
    assert (by_itself.status, by_itself.approved_by) == ("promoted", "")
    assert (waiting.status, waiting.approved_by) == ("pending", "")
    world.person.promote(waiting.id, confirm=True)
    assert world.now(waiting.id).approved_by == PERSON.actor


# --- table: risk tiers ---


@pytest.mark.parametrize("kind", AUTOMATIC)
def test_tier_1_is_promoted_by_itself(world, kind):
    assert world.agent.remember(f"Something about {kind}", kind=kind).outcome == "new"


def test_tier_2_is_promoted_unless_it_conflicts(world):
    assert world.agent.remember("The api port is 8080").memory.tier == CHECKED
    assert world.agent.remember("The api port is 9090").memory.held_for == "conflict"


@pytest.mark.parametrize("kind", REVIEWED)
def test_tier_3_always_needs_an_explicit_approval(world, kind):
    held = world.agent.remember(f"Something about {kind}", kind=kind)
    assert (held.outcome, held.memory.held_for) == ("held", "curated_kind")
    with pytest.raises(Unconfirmed):
        world.person.promote(held.memory.id)
    world.person.promote(held.memory.id, confirm=True)
    assert world.stands(held.memory.id) == "live"


# --- table: Kind ---


def test_kind_has_its_ten_values():
    assert {*AUTOMATIC, *REVIEWED} <= set(KINDS)
    assert len({*AUTOMATIC, *REVIEWED}) == 10


@pytest.mark.parametrize(
    ("kind", "tier", "by_itself"),
    [(kind, AUTO, True) for kind in AUTOMATIC] + [(kind, CURATED, False) for kind in REVIEWED],
)
def test_kind_decides_tier_and_whether_it_is_promoted_by_itself(kind, tier, by_itself):
    assert lookup(kind).tier == tier
    for autopromote in (True, False):
        told = World(policy=Policy(autopromote=autopromote)).agent.remember("Some words here", kind=kind).memory
        assert (told.status == "promoted") == (by_itself and autopromote)


# --- autopromote ---


def test_autopromote_is_on_by_default():
    assert Policy().autopromote


@pytest.mark.parametrize("kind", ["preference", "fact", "a-word-of-mine"])
def test_autopromote_off_makes_tiers_1_and_2_wait_for_a_person(kind):
    world = World(policy=Policy(autopromote=False))
    held = world.agent.remember("Likes short answers", kind=kind)
    assert (held.outcome, held.memory.status, held.memory.held_for) == ("held", "pending", "")
    world.person.promote(held.memory.id)
    assert world.stands(held.memory.id) == "live"


def test_autopromote_off_is_overruled_by_a_confirmed_word():
    world = World(policy=Policy(autopromote=False))
    assert world.person.remember("Likes short answers", confirm=True).outcome == "new"
    with pytest.raises(Forbidden, match="Only a person may confirm"):
        world.agent.remember("Likes long answers too", confirm=True)


def test_review_all_holds_every_kind_and_says_why():
    held = World(policy=Policy(review_all=True)).agent.remember("Likes short answers", kind="preference").memory
    assert (held.status, held.held_for) == ("pending", "review_all")


# --- table: Status ---


def found(world: World) -> list[str]:
    return [hit.memory.text for hit in world.agent.recall("name").hits]


def test_status_pending_is_not_recalled(world):
    world.agent.remember("My name is Alex", kind="identity")
    assert found(world) == []
    assert world.agent.recall("name").held_back == {"pending": 1}


def test_status_promoted_is_recalled(world):
    held = world.agent.remember("My name is Alex", kind="identity").memory
    world.person.promote(held.id, confirm=True)
    assert found(world) == ["My name is Alex"]


def test_status_rejected_is_excluded_everywhere_and_never_resurfaces(world):
    held = world.agent.remember("My name is Alex", kind="identity").memory
    world.person.reject(held.id)
    assert found(world) == []
    assert world.agent.recall("name").held_back == {}
    assert world.agent.list(everywhere=True).memories == ()
    assert world.agent.context(query="name").text == ""
    with pytest.raises(Conflict):
        world.agent.remember("My name is Alex", kind="preference")


def test_status_stale_is_computed_and_excluded_from_recall_until_verified(world):
    made = world.agent.remember("The name of the cluster is zeus", kind="infra").memory
    world.clock.pass_by(days=181)
    assert world.now(made.id).status == "promoted", "no job flips a status"
    assert standing(world.now(made.id), world.clock()) == "stale"
    assert found(world) == []
    assert world.agent.recall("name").held_back == {"stale": 1}
    world.person.verify(made.id)
    assert found(world) == ["The name of the cluster is zeus"]


# --- table: LearnedBy ---


def test_learned_by_remember_when_a_tool_or_the_command_is_used(world):
    assert world.agent.remember("From the agent").memory.learned_by == "remember"
    assert world.person.remember("From the command").memory.learned_by == "remember"


def test_learned_by_harvest_is_never_promoted_by_itself():
    from engram.rules.admission import Known, admit
    from rules.world import request

    said = Proposal(text="Heard in a transcript", kind="preference", source="harness:codex:acme-api")
    said = prepare(said._replace(learned_by="harvest"), request(AGENT), Policy())
    held = admit(said, Known(), Policy(), request(AGENT)).memory
    assert (held.learned_by, held.source, held.status) == ("harvest", "harness:codex:acme-api", "pending")
    assert held.held_for == "untrusted_origin"


def test_learned_by_manual_when_a_person_words_it_in_review(world):
    held = world.agent.remember("My name is Alx", kind="identity").memory
    world.person.promote(held.id, text="My name is Alex", confirm=True)
    assert (world.now(held.id).learned_by, world.now(held.id).text) == ("manual", "My name is Alex")


def test_learned_by_manual_when_a_person_edits_its_words(world):
    heard = world.agent.remember("We build with npm", kind="tooling").memory
    assert world.person.revise(heard.id, pinned=True).memory.learned_by == "remember"
    assert world.agent.revise(heard.id, text="We build with yarn").memory.learned_by == "remember"
    typed = world.person.revise(heard.id, text="We build with pnpm").memory
    assert (typed.learned_by, typed.source) == ("manual", "manual")
    reworded = world.agent.revise(heard.id, text="We build with bun").memory
    assert (reworded.learned_by, reworded.source) == ("remember", "tool:remember")
    world.person.undo(last=2)
    assert (world.now(heard.id).learned_by, world.now(heard.id).source) == ("remember", "tool:remember")


def test_learned_by_import_from_a_file(world, tmp_path):
    world.person.remember("Likes short answers")
    world.person.export(str(tmp_path / "old-memory.jsonl"))
    elsewhere = World(name="elsewhere")
    elsewhere.person.import_(str(tmp_path / "old-memory.jsonl"))
    (taken,) = elsewhere.everything().values()
    assert (taken.learned_by, taken.source) == ("import", "import:old-memory.jsonl")


def test_learned_by_has_no_other_value(world):
    made = world.agent.remember("Something or other").memory
    with pytest.raises(Invalid, match="learned_by"):
        Memory(id="x", text="x", learned_by="guess", created_at=made.created_at, updated_at=made.updated_at)


# --- table: Source string format ---


def test_source_is_tool_remember_for_an_agent_and_manual_for_a_person(world):
    assert world.agent.remember("From the agent").memory.source == "tool:remember"
    assert world.person.remember("From the person").memory.source == "manual"


@pytest.mark.parametrize("source", ["tool:remember", "harness:codex:acme-api", "import:old-memory.md", "manual"])
def test_source_patterns_are_kept_as_given(world, source):
    assert world.agent.remember(f"Said through {source}", source=source).memory.source == source


def test_source_of_unvouched_text_is_held(world):
    for source in ("web:example.org", "output:bash", "transcript:2026-01-01"):
        held = world.agent.remember(f"Said through {source}", kind="preference", source=source).memory
        assert held.held_for == "untrusted_origin"


# --- the words of the other systems, as kinds ---


@pytest.mark.parametrize("category", ["decision", "preference", "convention", "gotcha"])
def test_categories_of_seed_000_are_kinds_that_are_promoted_by_themselves(world, category):
    assert world.agent.remember(f"A {category} of ours", kind=category).outcome == "new"


@pytest.mark.parametrize("kind", ["map", "finding"])
def test_discoveries_of_seed_000_need_1_to_50_citations_and_are_inferred(world, kind):
    with pytest.raises(Invalid, match="citation"):
        world.agent.remember("The api is laid out by layers", kind=kind)
    found = world.person.remember(
        "The api is laid out by layers", kind=kind, origin="said", cite=[f"src/{n}.py" for n in range(50)]
    ).memory
    assert (found.origin, len(found.citations)) == ("inferred", 50)
    with pytest.raises(Invalid, match="50"):
        world.agent.remember("Too many", kind=kind, cite=[f"src/{n}.py" for n in range(51)])


@pytest.mark.parametrize(
    "kind", ["bugfix", "decision", "config", "convention", "pattern", "architecture", "learning"]
)
def test_types_of_seed_002_are_kinds(world, kind):
    assert world.agent.remember(f"What was learnt about {kind}", kind=kind).memory.kind == kind


def test_session_summaries_and_prompts_of_seed_002_never_go_stale_and_stand_apart(world):
    for kind in ("summary", "prompt"):
        first, second = (world.agent.remember("Mended the parser", kind=kind).memory for _ in range(2))
        assert first.id != second.id
        assert first.decay == "none"


@pytest.mark.parametrize("word", ["fact", "hobby", "on-call", "team_norm"])
def test_free_words_of_seed_003_are_kinds_of_tier_2(world, word):
    told = world.agent.remember(f"Something about {word}", kind=word).memory
    assert (told.kind, told.tier, told.status, told.decay) == (word, CHECKED, "promoted", "180d")


def test_the_fields_of_seed_003_have_their_place(world):
    told = world.agent.remember(
        "The value itself",
        key="label",
        summary="shorter",
        tag=["a", "b"],
        importance=9,
        pinned=True,
        valid_until=world.clock() + timedelta(days=1),
        source="auto",
    ).memory
    assert (told.key, told.summary, told.tags, told.importance, told.pinned) == (
        *("label", "shorter", ("a", "b"), 9, True),
    )
    world.clock.pass_by(days=1)
    assert world.stands(told.id) == "expired"
