"""Sync and queue: what waits is routed as planned, by a person, once, and can be taken back."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engram.engines.ram import RamEngine
from engram.errors import Forbidden, Invalid
from engram.model.change import Change, Commit
from engram.operations import routing
from engram.operations.routing import agent_view
from engram.rules.policy import Policy
from engram.service import Engram
from rules.world import World


@pytest.fixture
def world() -> World:
    """A store where nothing goes live by itself."""
    return World(policy=Policy(autopromote=False))


def sync(who: Engram, **asked: Any) -> Any:
    return who.ask("sync", **asked)


def told(answer: Any) -> list[tuple[str, str, str]]:
    return [(route.memory.text, route.action, route.reason) for route in answer.routes]


def fill(world: World) -> None:
    world.agent.remember("We build with pnpm", kind="tooling")
    world.agent.remember("The api port is 8080")
    world.agent.remember("The api port is 9090")
    world.agent.remember("My name is Alex", kind="identity")


PLANNED = [
    ("We build with pnpm", "append", "low_risk"),
    ("The api port is 8080", "append", "no_conflict"),
    ("The api port is 9090", "queue", "conflict"),
    ("My name is Alex", "queue", "curated_kind"),
]


def test_a_plan_says_where_everything_goes_and_changes_nothing(world: World):
    fill(world)
    events = len(world.events())
    answer = sync(world.person)
    assert told(answer) == PLANNED
    assert answer.counts == {"append": 2, "queue": 2, "skip": 0}
    assert not answer.applied
    assert len(world.events()) == events


def test_applying_does_what_was_planned_in_one_event(world: World):
    fill(world)
    events = len(world.events())
    answer = sync(world.person, apply=True)
    assert told(answer) == PLANNED
    assert [route.memory.status for route in answer.routes] == ["promoted", "promoted", "pending", "pending"]
    assert [route.memory.held_for for route in answer.routes] == ["", "", "conflict", "curated_kind"]
    assert {one.approved_by for one in world.everything().values()} == {""}
    assert len(world.events()) == events + 1
    assert world.events()[-1].seq == answer.event
    assert world.events()[-1].payload.note == {"reason": "2 live, 2 for a person"}


def test_applying_twice_does_nothing_the_second_time_and_keeps_the_reasons(world: World):
    fill(world)
    sync(world.person, apply=True)
    events = len(world.events())
    again = sync(world.person, apply=True)
    assert told(again) == PLANNED[2:]
    assert (again.applied, again.event) == (True, 0)
    assert len(world.events()) == events


def test_one_undo_takes_it_back(world: World):
    fill(world)
    before = {one.id: (one.status, one.held_for) for one in world.everything().values()}
    sync(world.person, apply=True)
    world.person.undo()
    assert {one.id: (one.status, one.held_for) for one in world.everything().values()} == before


def test_undo_after_a_sync_that_only_queued_takes_back_that_step_and_not_the_one_before(world: World):
    world.agent.remember("My name is Alex", kind="identity")
    answer = sync(world.person, apply=True)
    assert told(answer) == [("My name is Alex", "queue", "curated_kind")]
    undone = world.person.ask("undo")

    assert [event.action for event in undone.events] == ["sync"]
    assert [one.text for one in world.everything().values()] == ["My name is Alex"]
    assert sync(world.person, apply=True).event > 0
    assert sync(world.person, apply=True).event == 0


def test_a_conflict_whose_other_side_is_gone_needs_nobody(world: World):
    fill(world)
    sync(world.person, apply=True)
    world.person.forget("mem-0002")
    assert ("The api port is 9090", "append", "no_conflict") in told(sync(world.person))


def test_what_somebody_imported_waits_for_a_person_however_often_it_is_synced(world: World, tmp_path: Path):
    (tmp_path / "MEMORY.md").write_text("- We build with pnpm\n", encoding="utf-8")
    world.person.import_(str(tmp_path / "MEMORY.md"))
    assert told(sync(world.person, apply=True)) == [("We build with pnpm", "queue", "untrusted_origin")]
    assert world.person.list(everywhere=True).memories == ()


def test_a_proposal_is_applied_to_what_it_amends(world: World):
    one = world.agent.remember("We deploy on Mondays", kind="convention").memory
    sync(world.person, apply=True)
    world.agent.revise(one.id, text="We deploy on Fridays")
    assert told(sync(world.person, apply=True)) == [("We deploy on Fridays", "append", "low_risk")]
    assert world.now(one.id).text == "We deploy on Fridays"


def test_a_proposal_to_change_what_a_person_approved_is_not_applied_by_routing(world: World):
    one = world.person.remember("We deploy on Mondays", kind="convention", confirm=True).memory
    world.agent.revise(one.id, text="We deploy on Fridays")
    assert told(sync(world.person, apply=True)) == [("We deploy on Fridays", "queue", "edits_curated_node")]
    assert world.now(one.id).text == "We deploy on Mondays"


def test_only_what_is_ones_own_is_routed(world: World):
    world.other.remember("We build with npm", visibility="shared")
    assert sync(world.person, apply=True).routes == ()


def test_a_scope_narrows_it(world: World):
    world.agent.remember("We build with pnpm", scope="project:api")
    world.agent.remember("We test with pytest", scope="project:web")
    answer = sync(world.person, scope="project:web", apply=True)
    assert [text for text, *_ in told(answer)] == ["We test with pytest"]


def test_an_agent_routes_nothing(world: World):
    fill(world)
    with pytest.raises(Forbidden):
        sync(world.agent, apply=True)


class Interrupted(RamEngine):
    """A store in which somebody else decides something just before the first sync is written."""

    interrupt: Callable[[], object] | None = None

    def commit(self, change: Change) -> Commit:
        if change.draft.action == "sync" and (interrupt := self.interrupt):
            self.interrupt = None
            interrupt()
        return super().commit(change)


def test_a_decision_made_while_it_was_planned_is_not_lost():
    engine = Interrupted("replica")
    world = World(policy=Policy(autopromote=False), engine=engine)
    world.agent.remember("We build with pnpm", kind="tooling")
    world.agent.remember("We test with pytest", kind="tooling")
    engine.interrupt = lambda: world.person.reject("mem-0001")
    answer = sync(world.person, apply=True)
    assert [text for text, *_ in told(answer)] == ["We test with pytest"]
    assert world.now("mem-0001").status == "rejected"
    assert world.now("mem-0002").status == "promoted"


def test_two_at_once_let_each_memory_go_live_once(world: World):
    for number in range(20):
        world.agent.remember(f"Tool number {number} is in use", kind="tooling")
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(sync(world.person, apply=True))) for _ in range(2)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(30)
    assert [answer.counts["append"] for answer in answers if answer.event] == [20]
    assert sum(event.action == "sync" for event in world.events()) == 1
    assert {one.revision for one in world.everything().values()} == {2}


# --- queue ---


def test_the_queue_shows_what_a_person_decides_and_why(world: World):
    fill(world)
    answer = world.person.ask("queue")
    assert [(route.memory.text, route.reason) for route in answer.candidates] == [
        ("The api port is 9090", "conflict"),
        ("My name is Alex", "curated_kind"),
    ]
    assert "2 more need nobody" in answer.hint


def test_a_reviewer_sees_what_others_have_shared_in_the_queue_and_routes_none_of_it(world: World):
    world.agent.remember("Kim is on the team", kind="people", visibility="shared")
    assert [one.memory.text for one in world.reviewer.ask("queue").candidates] == ["Kim is on the team"]
    assert world.other.ask("queue").candidates == ()
    assert sync(world.reviewer, apply=True).routes == ()


def test_the_queue_is_cut_and_says_how_much_there_is(world: World):
    for name in ("Alex", "Kim", "Robin"):
        world.agent.remember(f"{name} is on the team", kind="people")
    answer = world.person.ask("queue", limit=2)
    assert (len(answer.candidates), answer.total) == (2, 3)
    with pytest.raises(Invalid):
        world.person.ask("queue", limit=0)


def test_an_empty_store_has_nothing_to_route(world: World):
    assert sync(world.person, apply=True) == routing.Routed(
        world.clock(), (), applied=True, counts={"append": 0, "queue": 0, "skip": 0}
    )
    assert world.person.ask("queue").candidates == ()


# --- what agent files say ---


def test_a_view_holds_what_is_live_in_this_project_and_everywhere():
    world = World(home=World().home.parse("project:api"))
    world.person.remember("We deploy on Fridays")
    world.person.remember("I prefer pnpm", scope="global")
    world.person.remember("The web port is 80", scope="project:web")
    world.person.remember("A session went well", kind="summary")
    world.person.remember("What was asked", kind="prompt")
    world.agent.remember("Never push to main", kind="rule")
    world.person.forget(world.person.remember("We deploy by hand").memory.id)
    world.person.remember("It will be stale", decay="1d")
    world.clock.pass_by(days=2)
    said = {one.text for one in agent_view(world.person.call()).included}
    assert said == {"We deploy on Fridays", "I prefer pnpm"}


def test_a_rule_that_a_person_confirmed_is_in_the_view_and_what_is_personal_is_not():
    world = World()
    world.person.remember("Never push to main", kind="rule", confirm=True)
    world.person.remember("My name is Alex", kind="identity", confirm=True)
    told = agent_view(world.person.call())
    assert "Never push to main" in told.text
    assert "Alex" not in told.text
    assert "identity" in told.hint
