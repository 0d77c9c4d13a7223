"""Remember, get, list and revise as a caller meets them: the text alone does the right thing."""

from datetime import timedelta
from unicodedata import normalize

import pytest

import engram
from engram.errors import Conflict, Forbidden, Invalid, NotFound
from engram.model.scope import Scope
from engram.operations.bearing import MOST_NEAR, MOST_TWINS
from rules.world import AGENT, PERSON, World, texts


@pytest.fixture
def world() -> World:
    return World(home=Scope("project", "github.com/acme/api"))


def test_the_text_alone_is_enough(world):
    told = world.agent.remember("We deploy on Fridays")
    memory = told.memory
    assert (told.outcome, told.hint, told.replayed) == ("new", "", False)
    assert str(memory.scope) == "project:github.com/acme/api"
    assert (memory.kind, memory.status, memory.visibility, memory.seen) == ("fact", "promoted", "private", 1)
    assert [hit.memory.id for hit in world.agent.recall("when do we deploy").hits] == [memory.id]


def test_a_new_value_under_an_old_key_is_recalled_and_as_fresh_as_it_is(world):
    key = world.agent.remember("The limit is 100 requests", key="limit").memory.id
    world.person.verify(key)
    world.clock.pass_by(days=210)
    assert world.stands(key) == "stale"

    told = world.agent.remember("The limit is 500 requests", key="limit")
    assert (told.outcome, told.memory.id, world.stands(key)) == ("revised", key, "live")
    assert texts([hit.memory for hit in world.agent.recall("limit of requests").hits]) == [told.memory.text]
    assert world.now(key).verified_at is None
    assert "verified" not in world.agent.context().text

    world.person.undo()
    before = world.now(key)
    assert (before.text, before.reworded_at) == ("The limit is 100 requests", None)
    assert before.verified_at is not None


def test_what_an_agent_says_under_a_persons_key_is_one_proposal_of_its_newest_words(world):
    mine = world.person.remember("We deploy on Fridays", key="deploy").memory
    days = ("Mondays", "Tuesdays", "Thursdays")
    told = [world.agent.remember(f"We deploy on {day}", key="deploy") for day in days]

    assert {(each.outcome, each.memory.id) for each in told} == {("proposed", told[0].memory.id)}
    waits = world.person.list(standing=["pending"]).memories
    assert texts(waits) == ["We deploy on Thursdays"]
    by_hand = world.person.revise(mine.id, kind="decision")
    assert by_hand.outcome == "revised"
    world.person.promote(waits[0].id)
    assert (world.now(mine.id).text, world.now(mine.id).kind) == ("We deploy on Thursdays", "decision")


def test_what_an_agent_proposes_anew_changes_what_the_memory_says_by_then(world):
    mine = world.person.remember("The limit is 100", key="limit", tag=["api"]).memory
    first = world.agent.remember("The limit is 200", key="limit").memory
    world.person.revise(mine.id, text="The limit is 300", tag=["api", "team"])
    back = world.agent.revise(mine.id, text="The limit is 100", clear=["tag"])

    assert (back.outcome, back.memory.id) == ("proposed", first.id)
    assert world.now(mine.id).text == "The limit is 300"
    shown = world.person.review().candidates[0].memory
    assert (shown.text, shown.tags) == ("The limit is 100", ())
    world.person.promote(first.id)
    assert (world.now(mine.id).text, world.now(mine.id).tags) == ("The limit is 100", ())


def test_a_proposal_that_is_made_anew_leaves_what_it_does_not_speak_of_as_that_is_by_then(world):
    mine = world.person.remember("The limit is 100", key="limit").memory
    first = world.agent.revise(mine.id, kind="decision").memory
    world.person.revise(mine.id, text="The limit is 300", tag=["team"])
    world.agent.revise(mine.id, summary="A limit")
    waits = world.now(first.id)
    assert (waits.text, waits.kind, waits.summary, waits.tags) == (
        "The limit is 300",
        "decision",
        "A limit",
        ("team",),
    )

    again = world.agent.revise(mine.id, text="The limit is 100")
    assert (again.outcome, again.memory.id) == ("proposed", first.id)
    world.person.undo()
    world.person.promote(first.id)
    now = world.now(mine.id)
    assert (now.text, now.kind, now.summary, now.tags) == ("The limit is 300", "decision", "A limit", ("team",))


def test_a_proposal_in_words_that_stood_before_it_is_made_anew_and_can_be_taken_back(world):
    mine = world.person.remember("The limit is 100", key="limit").memory
    first = world.agent.revise(mine.id, kind="decision").memory
    world.person.revise(mine.id, text="The limit is 300")
    back = world.agent.revise(mine.id, text="The limit is 100")
    assert (back.outcome, back.memory.id, back.memory.text) == ("proposed", first.id, first.text)

    world.person.undo()
    assert world.person.review().candidates[0].memory.text == "The limit is 300"
    world.agent.revise(mine.id, text="The limit is 100")
    world.person.promote(first.id)
    assert (world.now(mine.id).text, world.now(mine.id).kind) == ("The limit is 100", "decision")


@pytest.mark.parametrize("how", ["by its key", "by its text", "revise"])
def test_an_agent_that_says_again_what_a_memory_says_takes_back_its_other_words_for_it(world, how):
    mine = world.person.remember("The limit is 100", key="limit").memory
    waits = world.agent.remember("The limit is 200", key="limit").memory
    if how != "revise":
        world.agent.remember("The limit is 100", key="limit" if how == "by its key" else "")
    else:
        world.agent.revise(mine.id, text="The limit is 100", importance=9)

    assert world.stands(waits.id) == "forgotten"
    assert world.now(mine.id).text == "The limit is 100"
    anew = world.agent.remember("The limit is 200", key="limit")
    assert (anew.outcome, anew.memory.id == waits.id) == ("proposed", False)
    world.person.undo()
    world.person.undo()
    assert world.stands(waits.id) == "pending"


def test_an_agent_that_takes_back_its_words_still_proposes_what_else_it_said(world):
    mine = world.person.remember("The limit is 100", key="limit").memory
    waits = world.agent.revise(mine.id, text="The limit is 200", kind="decision").memory
    world.agent.revise(mine.id, pinned=True)
    assert world.now(waits.id).text == "The limit is 200"
    world.agent.revise(mine.id, text="The limit is 100", tag=["api"])
    assert (world.now(waits.id).text, world.stands(waits.id)) == ("The limit is 100", "pending")
    world.person.promote(waits.id)
    now = world.now(mine.id)
    assert (now.text, now.kind, now.tags, now.pinned) == ("The limit is 100", "decision", ("api",), True)


@pytest.mark.parametrize("session", ["s-monday", "s-tuesday"])
def test_a_summary_that_repeats_what_a_memory_says_takes_no_proposal_to_change_it_back(world, session):
    world.person.remember("The limit of the gateway is 100 requests", key="limit")
    monday = world.as_(AGENT._replace(session="s-monday"))
    waits = monday.remember("The limit of the gateway is 200 requests", key="limit").memory
    later = world.as_(AGENT._replace(session=session))
    captured = later.capture("## Key Learnings\n\n- The limit of the gateway is 100 requests")

    assert captured.repeated == 1
    assert world.stands(waits.id) == "pending"
    assert [one.memory.id for one in world.person.review().candidates] == [waits.id]


def test_an_agent_that_takes_its_proposal_back_is_told_so_and_how_it_comes_back(world):
    mine = world.person.remember("The limit is 100", key="limit").memory
    waits = world.agent.remember("The limit is 200", key="limit").memory
    once = "once"
    again = world.agent.remember("The limit is 100", token=once)

    assert (again.outcome, again.memory.id, again.taken_back) == ("repeated", mine.id, ("mem-0002",))
    assert again.hint == (
        "Your proposal mem-0002 to change it was taken back; bring it back: engram restore mem-0002."
    )
    assert world.events()[-1].note["taken_back"] == [waits.id]
    replayed = world.agent.remember("The limit is 100", token=once)
    assert (replayed.replayed, replayed.taken_back, replayed.hint) == (True, again.taken_back, again.hint)

    world.agent.restore("mem-0002")
    assert world.stands(waits.id) == "pending"
    assert world.agent.remember("The limit is 90", key="limit").taken_back == ()


@pytest.mark.parametrize("more", [{"importance": 9}, {"tag": ["api"]}])
def test_an_agent_that_takes_back_the_words_alone_is_told_what_of_its_proposal_still_waits(world, more):
    mine = world.person.remember("The limit is 100", key="limit").memory
    waits = world.agent.revise(mine.id, text="The limit is 200", kind="decision").memory
    again = world.agent.revise(mine.id, text="The limit is 100", **more)

    assert again.taken_back == (waits.handle,)
    assert (
        "The other words that mem-0002 proposed were taken back, and what else it proposes still waits;"
        f" a person may bring them back: engram undo {again.event}."
    ) in again.hint
    world.person.undo(str(again.event))
    assert world.now(waits.id).text == "The limit is 200"


def test_taking_its_words_back_an_agent_is_told_of_no_change_to_the_memory_that_it_repeats(world):
    mine = world.person.remember("The limit is 100", key="limit", summary="How many may wait").memory
    waits = world.agent.revise(mine.id, text="The limit is 200", tag=["api"]).memory
    again = world.agent.remember("The limit is 100", key="limit")

    assert (again.outcome, again.changed) == ("repeated", ())
    assert (world.now(waits.id).text, world.now(waits.id).summary) == ("The limit is 100", "How many may wait")


def test_what_somebody_else_proposed_is_not_taken_back_by_saying_the_text_again(world):
    world.person.remember("The limit is 100", key="limit")
    theirs = world.as_(AGENT._replace(actor="kim@example.org")).remember("The limit is 200", key="limit").memory
    world.agent.remember("The limit is 100", key="limit")
    world.person.remember("The limit is 100", key="limit")

    assert world.stands(theirs.id) == "pending"


def test_the_words_of_a_proposal_that_was_forgotten_are_a_memory_of_their_own_when_they_are_said(world):
    world.person.remember("The limit is 100", key="limit")
    waits = world.agent.remember("Limits are set by the gateway", key="limit").memory
    world.agent.forget(waits.id)
    plain = world.agent.remember("Limits are set by the gateway")

    assert (plain.outcome, plain.memory.amends) == ("new", "")


def test_the_same_text_waits_once_whether_it_was_said_with_the_key_or_without_it_first(world):
    world.person.remember("Releases are cut on Mondays", key="releases")
    plain = world.agent.remember("Releases are cut on Sundays").memory
    keyed = world.agent.remember("Releases are cut on Sundays", key="releases")
    assert (keyed.outcome, keyed.memory.id, keyed.memory.seen) == ("repeated", plain.id, 2)

    world.agent.remember("The api port is 8080", key="port")
    waits = world.agent.remember("The api port is 9090").memory
    assert waits.status == "pending"
    world.agent.remember("The api port is 9090", key="port")
    assert [each.id for each in world.person.list(standing=["pending"]).memories] == [plain.id]
    again = world.agent.remember("The api port is 9090").memory
    assert (again.key, again.seen) == ("port", 3)
    world.person.undo()
    world.person.undo()
    assert world.stands(waits.id) == "pending"


def test_a_person_and_an_agent_are_told_apart_by_default(world):
    by_agent, by_person = world.agent.remember("Said by one").memory, world.person.remember("Said by two").memory
    assert (by_agent.source, by_agent.origin, by_agent.confidence) == ("tool:remember", "inferred", 0.6)
    assert (by_person.source, by_person.origin, by_person.confidence) == ("manual", "said", 1.0)
    assert by_agent.owner == by_person.owner == PERSON.owner


def test_a_curated_text_says_what_to_do_next(world):
    told = world.agent.remember("My name is Alex", kind="identity")
    assert told.outcome == "held"
    assert told.hint == "A person decides about it: engram review."
    again = world.person.remember("My name is Alex", kind="identity")
    assert again.hint == f"Decide about it: engram review, or engram promote {told.memory.handle} --confirm."


def test_a_kind_that_is_nearly_one_of_the_table_is_asked_about(world):
    told = world.person.remember("We are Foo GmbH", kind="identty")
    curated = "Did you mean the kind identity, which a person approves first?"
    assert told.hint == f"{curated} engram revise {told.memory.handle} --kind identity."
    told = world.agent.remember("The API listens on port 8080", kind="infraa")
    assert told.hint == f"Did you mean the kind infra? engram revise {told.memory.handle} --kind infra."
    told = world.agent.remember("We keep the parser", kind="desicion")
    assert told.hint == f"Did you mean the kind decision? engram revise {told.memory.handle} --kind decision."
    assert world.agent.remember("Fold the egg white in last", kind="recipe").hint == ""


def test_an_agent_is_told_that_what_it_says_to_replace_stays_in_use(world):
    mine = [world.person.remember(text).memory for text in ("Sessions rest in Redis", "Tokens last an hour")]
    own = world.agent.remember("The cache is warmed at night").memory
    told = world.agent.remember("All of it lives in memory only", replaces=[own.id, *(one.id for one in mine)])

    assert (told.outcome, told.memory.status) == ("new", "promoted")
    assert told.hint == " ".join(
        f"A person wrote or approved {one.handle}, so a person decides:"
        f" engram judge {told.memory.handle}~{one.handle} supersedes, or engram conflicts."
        for one in mine
    )
    assert {one.text for one in world.person.list().memories} == {told.memory.text, *(one.text for one in mine)}
    assert world.person.remember("It lives in Redis again", replaces=[told.memory.id]).hint == ""


def test_what_was_taken_out_is_told(world):
    told = world.agent.remember("The key is AKIAIOSFODNN7EXAMPLQ for the bucket")
    assert told.redacted
    assert "AKIA" not in told.memory.text


def test_a_scope_can_be_named_and_a_wrong_one_is_refused(world):
    assert str(world.agent.remember("Everywhere the same", scope="global").memory.scope) == "global"
    with pytest.raises(Invalid):
        world.agent.remember("Nowhere", scope="somewhere")


@pytest.mark.parametrize(
    ("said", "kind", "ref", "locator"),
    [
        ("src/api.py", "file", "src/api.py", ""),
        ("src/api.py:200-240", "file", "src/api.py", "200-240"),
        ("src/api.py:L7", "file", "src/api.py", "L7"),
        ("https://example.org/a:1", "url", "https://example.org/a:1", ""),
        ("commit:abc123", "commit", "abc123", ""),
        ("repo:github.com/acme/api", "repo", "github.com/acme/api", ""),
        ("message:42", "message", "42", ""),
    ],
)
def test_citations_are_written_as_people_write_them(world, said, kind, ref, locator):
    (cited,) = world.agent.remember("Something that rests on that", cite=[said]).memory.citations
    assert (cited.kind, cited.ref, cited.locator) == (kind, ref, locator)


def test_a_memory_is_found_by_handle_id_or_prefix(world):
    made = world.agent.remember("A thing").memory
    for ref in (made.handle, "mem-1", made.id, made.id[:8], f" {made.id} "):
        assert world.now(ref).id == made.id
    for ref in ("mem-0002", made.id[:3], "", "nothing"):
        with pytest.raises(NotFound):
            world.now(ref)


def test_an_ambiguous_prefix_is_a_conflict(world):
    world.agent.remember("A thing")
    world.agent.remember("Another thing")
    with pytest.raises(Conflict):
        world.now("0000")


def test_a_list_is_newest_first_live_only_and_goes_on(world):
    made = []
    for number in range(5):
        world.clock.pass_by(seconds=1)
        made.append(world.agent.remember(f"Thing number {'x' * number} of five").memory.id)
    world.agent.forget(made[2])
    first = world.agent.list(limit=3)
    rest = world.agent.list(limit=3, after=first.next)
    assert [one.id for one in (*first.memories, *rest.memories)] == [made[4], made[3], made[1], made[0]]
    assert rest.next is None
    assert texts(world.agent.list(standing=["forgotten"]).memories) == ["Thing number xx of five"]
    assert len(world.agent.list(standing=["all"]).memories) == 5


def test_a_list_is_narrowed_by_kind_tag_session_and_pin(world):
    world.agent.remember("One", kind="infra", tag=["a", "b"], session="s1")
    world.agent.remember("Two", kind="gotcha", tag=["a"], pinned=True)
    assert texts(world.agent.list(kind=["infra"]).memories) == ["One"]
    assert texts(world.agent.list(tag=["a"]).memories) == ["One", "Two"]
    assert texts(world.agent.list(tag=["a", "b"]).memories) == ["One"]
    assert texts(world.agent.list(session="s1").memories) == ["One"]
    assert texts(world.agent.list(pinned=True).memories) == ["Two"]


def test_a_list_is_bounded_by_how_long_ago_something_was_made(world):
    for text in ("The oldest", "The middle one", "The newest"):
        world.agent.remember(text)
        world.clock.pass_by(days=10)

    def told(**bounds: str) -> list[str]:
        return [one.text for one in world.agent.list(**bounds).memories]

    assert told(since="2w") == ["The newest"]
    assert told(until="2w") == ["The middle one", "The oldest"]
    assert told(since="21d", until="15d") == ["The middle one"]


def test_how_long_something_holds_is_counted_from_now_and_a_retry_is_the_same_request(world):
    said = {"text": "Robin is away", "valid_until": "30d", "token": "once"}
    first = world.agent.remember(**said).memory
    assert first.valid_until == first.created_at + timedelta(days=30)
    world.clock.pass_by(days=1)

    again = world.agent.remember(**said)
    assert (again.replayed, again.memory) == (True, first)


def test_a_list_looks_at_the_project_and_global_unless_told_otherwise(world):
    world.agent.remember("Here")
    world.agent.remember("Everywhere", scope="global")
    world.agent.remember("Of the agent", scope="agent:codex")
    world.agent.remember("Elsewhere", scope="project:web")
    assert texts(world.agent.list().memories) == ["Everywhere", "Here", "Of the agent"]
    assert texts(world.person.list().memories) == ["Everywhere", "Here"]
    assert texts(world.agent.list(scope="project:web").memories) == ["Elsewhere"]
    assert len(world.agent.list(everywhere=True).memories) == 4


@pytest.mark.parametrize("wrong", [{"limit": 0}, {"limit": 1001}, {"standing": ["fresh"]}, {"after": "x"}])
def test_a_list_that_makes_no_sense_is_refused(world, wrong):
    world.agent.remember("A thing")
    with pytest.raises(Invalid):
        world.agent.list(**wrong)


def test_validity_is_half_open(world):
    start, end = world.clock() + timedelta(days=1), world.clock() + timedelta(days=2)
    made = world.agent.remember("The freeze is on", valid_from=start, valid_until=end).memory
    assert world.stands(made.id) == "scheduled"
    world.clock.pass_by(days=1)
    assert world.stands(made.id) == "live"
    world.clock.pass_by(days=1)
    assert world.stands(made.id) == "expired"


def test_what_is_shared_can_be_read_and_not_written_by_others(world):
    made = world.agent.remember("For all of us", visibility="shared").memory
    assert world.now(made.id, world.other).text == "For all of us"
    with pytest.raises(Forbidden):
        world.other.revise(made.id, text="Mine now")


def test_several_memories_are_judged_at_once(world):
    held = [world.agent.remember(f"My friend is called {name}", kind="people").memory.id for name in ("Al", "Bo")]
    done = world.person.promote(held, confirm=True)
    assert {one.id for one in done.memories} == set(held)
    assert {world.stands(id) for id in held} == {"live"}


def test_doing_something_to_no_memory_is_refused(world):
    with pytest.raises(Invalid):
        world.agent.forget([])


def test_the_public_face_opens_a_ram_store(tmp_path):
    with engram.open("ram:", folder=tmp_path, environment={"HOME": str(tmp_path)}) as memory:
        memory.remember("We deploy on Fridays", kind="convention")
        assert memory.recall("when do we deploy?").hits[0].memory.text == "We deploy on Fridays"


def test_a_revision_gives_a_key_to_what_has_none_and_changes_none(world):
    plain = world.person.remember("Logs rotate at midnight").memory
    keyed = world.person.remember("Logs are kept for a week", key="config/keeping").memory
    revised = world.person.revise(plain.id, key="config/logs", text="Logs rotate at one")

    assert (revised.memory.key, revised.memory.text) == ("config/logs", "Logs rotate at one")
    assert world.person.remember("Logs rotate at two", key="config/logs").memory.id == plain.id
    for id, key in ((plain.id, "config/other"), (keyed.id, "config/logs")):
        with pytest.raises(Conflict):
            world.person.revise(id, key=key)
    other = world.person.remember("Something without a name").memory
    with pytest.raises(Conflict, match="has the key"):
        world.person.revise(other.id, key="config/logs")


def test_a_key_and_a_tag_are_the_same_with_their_marks_apart_or_composed(world):
    composed, apart = (normalize(form, "Bücher") for form in ("NFC", "NFD"))
    first = world.person.remember("The shelf has 3 boards", key=composed, tag=[composed])
    again = world.person.remember("The shelf has 3 boards of oak", key=apart, tag=[composed, apart])
    assert (again.outcome, again.memory.id, again.memory.tags) == ("revised", first.memory.id, (composed,))
    for said in (composed, apart):
        assert len(world.person.list(key=said, tag=[said]).memories) == 1
        assert len(world.person.recall("shelf", tag=[said]).hits) == 1
        assert len(world.person.search("shelf", tag=[said]).hits) == 1


def test_a_text_is_counted_again_however_many_stand_apart_beside_it(world):
    first = world.person.remember("We deploy on Fridays").memory
    for _ in range(MOST_TWINS + 1):
        world.clock.pass_by(minutes=1)
        world.person.remember("We deploy on Fridays", dedupe="create")
    again = world.person.remember("We deploy on Fridays")

    assert (again.outcome, again.memory.id, again.memory.seen) == ("repeated", first.id, 2)


def test_a_rejected_text_is_not_restored_however_many_stand_apart_beside_it(world):
    gone = world.person.remember("We deploy on Fridays", dedupe="create").memory
    held = world.agent.remember("We deploy on Fridays", source="web:example.org", dedupe="create").memory
    for _ in range(MOST_TWINS + 1):
        world.clock.pass_by(minutes=1)
        world.person.remember("We deploy on Fridays", dedupe="create")
    world.person.forget(gone.id)
    world.person.reject(held.id)

    with pytest.raises(Conflict, match="rejected before"):
        world.person.restore(gone.id)


def test_a_key_revises_its_memory_however_many_stand_apart_under_it(world):
    first = world.person.remember("We deploy on Fridays", key="deploy").memory
    for number in range(MOST_TWINS + 1):
        world.clock.pass_by(minutes=1)
        world.person.remember(f"We deployed {number} times", key="deploy", dedupe="create")
    again = world.person.remember("We deploy on Mondays now", key="deploy")

    assert (again.outcome, again.memory.id, again.memory.text) == ("revised", first.id, "We deploy on Mondays now")


def test_a_contradiction_is_seen_behind_many_that_wait(world):
    world.person.remember("The database listens on port 5432")
    for port in range(6000, 6001 + MOST_NEAR):
        world.clock.pass_by(minutes=1)
        told = world.agent.remember(f"The database listens on port {port}")

        assert (told.outcome, told.memory.held_for) == ("held", "conflict")


def test_a_contradiction_is_seen_behind_the_same_said_of_other_things(world):
    for number in range(1, 12):
        world.clock.pass_by(minutes=1)
        assert world.agent.remember(f"Service {number} listens on port {8000 + number}").outcome == "new"
    told = world.agent.remember("Service 1 listens on port 9999")

    assert (told.outcome, told.why) == ("held", "number: 8001 → 9999")


def test_other_words_under_the_key_of_what_is_expired_are_live_and_recalled(world):
    freeze = world.agent.remember("The freeze is until Monday", key="freeze", valid_until="2d").memory.id
    world.clock.pass_by(days=5)
    told = world.agent.remember("The freeze is until Friday", key="freeze")

    assert (told.outcome, told.memory.id, told.memory.valid_until) == ("revised", freeze, None)
    assert world.stands(freeze) == "live"
    assert texts([hit.memory for hit in world.agent.recall("freeze").hits]) == ["The freeze is until Friday"]


def test_an_agents_words_under_the_key_of_a_persons_expired_memory_are_live_once_they_are_approved(world):
    freeze = world.person.remember("The freeze is until Monday", key="freeze", valid_until="2d").memory.id
    world.clock.pass_by(days=5)
    told = world.agent.remember("The freeze is until Friday", key="freeze")
    world.person.promote(told.memory.id)

    assert told.outcome == "proposed"
    assert (world.now(freeze).text, world.stands(freeze)) == ("The freeze is until Friday", "live")
