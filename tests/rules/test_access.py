"""Who may read and who may change what."""

import itertools
from contextlib import suppress

import pytest

from engram.errors import Forbidden, NotFound, Unconfirmed
from engram.model.caller import READER, REVIEWER, Caller
from engram.model.filter import Access
from engram.model.memory import Citation
from engram.model.scope import GLOBAL, Scope
from engram.rules.access import (
    access_of,
    require_confirmation,
    require_judge,
    require_keeper,
    require_owner,
    require_person,
    require_place,
    require_reader,
)
from engram.rules.lifecycle import verify
from engram.service import Engram
from rules.world import AGENT, CHECKER, OTHER, PERSON, World, memory, request


@pytest.fixture
def world() -> World:
    return World()


API = Scope("project", "api")


@pytest.mark.parametrize(
    ("access", "owner", "visibility", "scope", "may"),
    [
        (Access("a"), "a", "private", API, True),
        (Access("a"), "b", "private", API, False),
        (Access("a"), "b", "shared", API, True),
        (Access("a"), None, "shared", GLOBAL, False),
        (Access(""), "", "private", GLOBAL, True),
        (Access(""), None, "private", GLOBAL, False),
        (Access("a", frozenset()), "b", "shared", API, False),
        (Access("a", frozenset()), "b", "shared", GLOBAL, True),
        (Access("a", frozenset({"project:api"})), "b", "shared", API, True),
        (Access("a", frozenset({"project:api"})), "b", "shared", Scope("project", "api", run="x"), True),
        (Access("a", frozenset({"project:api"})), "b", "shared", Scope("project", "web"), False),
        (Access("a", None, "team"), "a", "private", API, False),
        (Access("a", None, "team"), "a", "private", Scope("project", "api", "team"), True),
        (Access("a", None, ""), "a", "private", API, True),
        (Access("a", None, ""), "a", "private", Scope("project", "api", "team"), False),
        (Access("a", None, ""), "b", "shared", Scope("project", "api", "team"), False),
        (Access("a"), "b", "shared", GLOBAL, True),
        (Access("a"), "b", "shared", Scope("agent", "codex"), False),
        (Access("a", agent="codex"), "b", "shared", Scope("agent", "codex"), True),
        (Access("a", agent="codex"), "b", "shared", Scope("agent", "other"), False),
        (Access("a", frozenset(), agent="codex"), "b", "shared", Scope("agent", "codex"), False),
        (Access("a", closed=frozenset({"project:api"})), "b", "shared", API, False),
        (Access("a", closed=frozenset({"project:api"})), "a", "shared", API, True),
        (Access("a", closed=frozenset({"project:api"})), "b", "shared", Scope("project", "web"), True),
        (Access("a", unowned=True), None, "private", API, True),
        (Access("a", unowned=True), "a", "shared", API, False),
        (Access("a", unowned=True, keyring=True), "a", "shared", API, False),
        (Access("a", None, "team", keyring=True), "b", "private", API, True),
        (Access("a", keyring=True), None, "private", API, False),
    ],
)
def test_one_reads_what_is_own_or_shared_and_in_reach_within_the_workspace(access, owner, visibility, scope, may):
    assert access.allows(owner, visibility, scope) is may


@pytest.mark.parametrize(
    ("access", "scope", "may"),
    [
        (Access("a"), API, True),
        (Access("a", None, ""), API, True),
        (Access("a", None, "team"), API, False),
        (Access("a", None, "team"), Scope("project", "api", "team"), True),
        (Access("a", frozenset(), "team"), Scope("project", "api", "team"), False),
        (Access("a", closed=frozenset({"project:api"})), API, False),
    ],
)
def test_what_is_shared_in_a_place_is_in_reach_within_the_workspace(access, scope, may):
    assert access.reaches(scope) is may


@pytest.mark.parametrize("role", ["", "writer"])
@pytest.mark.parametrize("name", ["pay", "PAY", "Api"])
def test_the_short_name_of_a_project_with_members_is_no_project_to_write_to(role: str, name: str):
    caller = Caller("a", org="acme", grants=(("project:api", role), ("project:github.com/acme/pay", role)))
    with pytest.raises(Forbidden, match=f"not write to project:{name}") as refused:
        require_place(caller, Scope("project", name, run="x"))
    assert "acme" not in refused.value.hint


@pytest.mark.parametrize(
    "scope",
    [
        Scope("project", "github.com/dan/pay"),
        Scope("project", "payments"),
        Scope("project", "a/b"),
        Scope("agent", "pay"),
    ],
)
def test_whole_names_and_what_is_no_project_are_not_taken_by_grants(scope: Scope):
    require_place(Caller("a", org="acme", grants=(("project:github.com/acme/pay", ""),)), scope)


def test_access_is_made_from_the_caller_and_nothing_else():
    caller = Caller(owner="a", reach=frozenset({"project:api"}), workspace="team")
    assert access_of(caller) == Access("a", frozenset({"project:api"}), "team")
    member = Caller(owner="a", agent="codex", grants=(("project:api", ""), ("project:web", "reader")))
    assert access_of(member) == Access("a", closed=frozenset({"project:api"}), agent="codex")


@pytest.mark.parametrize(
    ("grants", "roles", "may"),
    [
        ((), (), {"writer"}),
        ((("project:api", ""),), (), set()),
        ((("project:api", ""),), ("admin",), set()),  # of the org, and no member here
        ((("project:api", "reader"),), (), set()),
        ((("project:api", "writer"),), (), {"writer"}),
        ((("project:api", "reviewer"),), (), {"writer", "reviewer"}),
        ((("project:api", "admin"),), (), {"writer", "reviewer"}),
        ((), ("reviewer",), {"writer", "reviewer"}),
        ((("project:web", "admin"),), (), {"writer"}),
    ],
)
def test_a_role_in_a_project_says_who_adds_to_it_and_who_judges_there(grants, roles, may):
    caller = Caller(owner="robin", grants=grants, roles=frozenset(roles))
    can = set()
    with suppress(Forbidden):
        require_place(caller, API)
        can.add("writer")
    with suppress(Forbidden):
        require_judge(caller, memory(scope=API, visibility="shared"))
        can.add("reviewer")
    assert can == may


def test_one_who_lost_the_role_may_take_away_and_say_nothing_new(world):
    member = Caller(owner="alex", grants=(("project:api", "writer"),))
    mine = world.as_(member).remember("The api is on", scope="project:api", visibility="shared").memory
    former = world.as_(member._replace(grants=(("project:api", ""),)))

    with pytest.raises(Forbidden):
        former.revise(mine.id, text="The api is off")
    with pytest.raises(Forbidden):
        former.remember("More", scope="project:api")
    former.revise(mine.id, visibility="private")
    with pytest.raises(Forbidden):
        former.revise(mine.id, visibility="shared")
    former.forget(mine.id)
    former.restore(mine.id)
    former.purge(mine.id, confirm=True)


def test_what_is_new_lands_in_the_workspace_one_stands_in():
    caller = Caller(owner="a", workspace="red")
    require_place(caller, Scope("project", "api", "red"))
    for scope in (API, Scope("project", "api", "blue"), GLOBAL):
        with pytest.raises(Forbidden):
            require_place(caller, scope)
    outside = Caller(owner="a", workspace="")
    require_place(outside, API)
    with pytest.raises(Forbidden):
        require_place(outside, Scope("project", "api", "red"))


def test_only_the_owner_writes_and_a_memory_without_owner_is_nobodys():
    require_owner(PERSON, memory())
    require_owner(AGENT, memory())
    for caller, one in itertools.product((OTHER, CHECKER), (memory(), memory(visibility="shared"))):
        with pytest.raises(Forbidden):
            require_owner(caller, one)
    with pytest.raises(Forbidden):
        require_owner(Caller(owner=""), memory(owner=None))


def test_a_verdict_comes_from_the_owner_or_a_reviewer():
    require_judge(PERSON, memory())
    require_judge(CHECKER, memory())
    with pytest.raises(Forbidden):
        require_judge(OTHER, memory())


def test_a_reviewer_verifies_what_anothers_memory_says_and_pins_nothing_of_it_anew():
    one, anew = memory(status="promoted"), (Citation(kind="file", ref="src/api.py", pin="sha256:1"),)
    for caller, citations in ((PERSON, None), (PERSON, anew), (CHECKER, None)):
        verify(one, request(caller), citations)
    with pytest.raises(Forbidden):
        verify(one, request(CHECKER), anew)


def test_what_is_shared_in_a_place_is_read_by_whoever_has_it_in_reach():
    require_reader(Caller(owner="robin"), API)
    require_reader(Caller(owner="robin", grants=(("project:api", "reader"),)), API)
    with pytest.raises(Forbidden, match="You may not read project:api"):
        require_reader(Caller(owner="robin", grants=(("project:api", ""),)), API)


def test_a_refusal_names_the_scope_with_its_workspace():
    robin = Caller(owner="robin", workspace="team-x", grants=(("project:api", ""),))
    for require, does in ((require_reader, "read"), (require_place, "write to")):
        with pytest.raises(Forbidden, match=f"You may not {does} team-x/project:api[.]"):
            require(robin, Scope("project", "api", "team-x"))


def test_the_store_itself_is_looked_after_by_who_runs_it_and_by_admins_of_the_org():
    for keeper in (Caller(), Caller(owner="alex"), Caller(org="acme")):
        require_keeper(keeper, "do it")
    require_keeper(Caller(org="acme", owner="sam", roles=frozenset({"admin"})), "do it")
    for member in (frozenset(), frozenset({"reviewer"})):
        with pytest.raises(Forbidden, match="Only an admin may do it"):
            require_keeper(Caller(org="acme", owner="alex", roles=member), "do it")


def test_an_agent_is_no_person_and_its_confirmation_does_not_count():
    require_person(request(PERSON), "do it")
    for command, step in (
        ("", "Ask the person to do it."),
        ("engram do", "Nothing was done. Ask the person: engram do."),
    ):
        with pytest.raises(Forbidden, match="Only a person may do it") as refused:
            require_person(request(AGENT), "do it", command)
        assert refused.value.hint == step
    require_confirmation(request(PERSON, confirmed="terminal"), "why")
    for asked in (request(PERSON), request(AGENT, confirmed="terminal")):
        with pytest.raises(Unconfirmed):
            require_confirmation(asked, "why")


def test_what_is_not_readable_is_told_like_what_is_absent(world):
    private = world.person.remember("A private thing").memory
    with pytest.raises(NotFound) as hidden:
        world.other.get(private.id)
    world.person.purge(private.id, confirm=True)
    with pytest.raises(NotFound) as absent:
        world.other.get(private.id)
    assert hidden.value.body() == absent.value.body()


def test_sharing_lets_others_read_and_taking_it_back_hides_it_again(world):
    mine = world.person.remember("A thing to share").memory
    assert world.other.recall("share").hits == ()
    world.person.revise(mine.id, visibility="shared")
    assert [hit.memory.id for hit in world.other.recall("share").hits] == [mine.id]
    with pytest.raises(Forbidden):
        world.other.revise(mine.id, text="Something else")
    world.person.revise(mine.id, visibility="private")
    assert world.other.recall("share").hits == ()


def test_what_waits_is_counted_for_its_owner_and_for_whoever_reviews_it(world):
    world.agent.remember("My name is Alex", kind="identity", visibility="shared")
    world.agent.remember("My other name is a secret", kind="identity")
    assert world.person.recall("name").held_back == {"pending": 2}
    assert world.other.recall("name").held_back == {}
    assert world.other.review().candidates == ()
    assert world.reviewer.recall("name").held_back == {"pending": 1}
    assert len(world.reviewer.review().candidates) == 1


def test_a_reviewer_of_one_project_is_told_of_what_waits_there_alone(world):
    here, there = Scope("project", "api"), Scope("project", "web")
    for place in (here, there):
        world.person.remember(f"Alex leads {place.name}", kind="people", visibility="shared", scope=place)
    checker = world.as_(OTHER._replace(grants=((here.place, REVIEWER), (there.place, READER))))

    assert checker.recall("leads", scope=here).held_back == {"pending": 1}
    assert checker.recall("leads", scope=there).held_back == {}
    assert checker.search("leads", everywhere=True).held_back == {"pending": 1}


def test_history_of_what_is_private_is_not_shown_to_others(world):
    world.person.remember("A private thing")
    assert world.other.history().events == ()


def test_a_reason_is_told_to_whoever_gave_it_and_to_the_owner_and_to_nobody_else(world):
    forgotten = world.person.remember("We deploy on Fridays", visibility="shared").memory
    rejected = world.person.remember("Alex leads the api", kind="people", visibility="shared").memory
    world.person.forget(forgotten.id, reason="Kim complained, do not tell her")
    world.reviewer.reject(rejected.id, reason="Robin leads it")

    def told(who: Engram) -> list[str]:
        reasons = [who.get(one.id).reasons.get(one.id, "") for one in (forgotten, rejected)]
        noted = {str((one.payload.note or {}).get("reason", "")) for one in who.history().events if one.payload}
        assert noted - {""} == set(reasons) - {""}
        return reasons

    assert told(world.person) == ["Kim complained, do not tell her", "Robin leads it"]
    assert told(world.reviewer) == ["", "Robin leads it"]
    assert told(world.other) == ["", ""]


def test_of_what_was_done_at_once_to_memories_of_several_each_owner_is_told_the_envelope_alone(world):
    mine, hers = (
        who.remember(f"{name} leads the api", kind="people", visibility="shared").memory
        for who, name in ((world.person, "Alex"), (world.other, "Kim"))
    )
    world.reviewer.reject([mine.id, hers.id], reason="Robin leads it")
    for who in (world.person, world.other):
        assert [one.payload.edits for one in who.history().events if one.action == "reject"] == [()]
    assert world.person.get(mine.id).reasons == {mine.id: "Robin leads it"}


def test_history_of_what_is_private_is_not_shown_to_another_owner_of_the_same_name(world):
    one = world.as_(Caller(owner="a", agent="codex", human=False))
    two = world.as_(Caller(owner="b", agent="codex", human=False))
    one.remember("A private thing")
    assert two.history().events == ()


def test_another_owner_of_the_same_name_cannot_purge_the_history_of_a_memory(world):
    one, two = (world.as_(Caller(owner=owner)) for owner in "ab")
    mine = one.remember("A private thing").memory
    with pytest.raises(NotFound):
        two.purge(mine.id, confirm=True)
    assert world.events()[0].payload is not None
