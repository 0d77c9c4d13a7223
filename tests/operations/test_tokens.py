"""Idempotency: a retry with the same token returns the first answer and does nothing again."""
# ruff: noqa: ARG005, S106 - every act takes the same arguments, and a token here is a name, no secret

from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from engram.engines.ram import RamEngine
from engram.errors import Conflict, Invalid, Unavailable, Unconfirmed
from engram.model.change import Change, Commit
from engram.operations import history, intake
from engram.service import OPERATIONS, Engram
from rules.world import World
from rules.world import __file__ as world_file


class Interrupted(RamEngine):
    """A store in which something happens just before a commit: the n-th from now."""

    def __init__(self) -> None:
        super().__init__("replica")
        self.countdown, self.happens = 0, lambda: None

    def commit(self, change: Change) -> Commit:
        self.countdown -= 1
        if self.countdown == 0:
            self.happens()
        return super().commit(change)


@pytest.fixture
def world() -> World:
    return World(engine=Interrupted())


def setting(world: World) -> dict[str, str]:
    """One memory for each thing that can be done to one."""
    person, agent = world.person, world.agent
    gone = person.remember("A forgotten thing").memory.id
    person.forget(gone)
    person.session_begin("s-1")
    person.insights_save("Asks twice")
    person.remember("An old thing", scope="project:old")
    person.remember("Another project's thing", scope="project:new")
    attached = person.remember("A thing with files").memory.id
    for file in (__file__, world_file):
        person.attach(attached, file)
    return {
        "attached": attached,
        "live": person.remember("A live thing").memory.id,
        "gone": gone,
        "held": agent.remember("My name is Alex", kind="identity").memory.id,
        "refused": agent.remember("My city is Rome", kind="location").memory.id,
        "erased": person.remember("A thing to erase").memory.id,
    }


LEARNT = """## Key learnings
- The parser drops the last line of a file without an end
"""

ACTS = {
    "capture": lambda who, refs, token: who.capture(LEARNT, token=token),
    "session_begin": lambda who, refs, token: who.session_begin(agent="codex", token=token),
    "remember": lambda who, refs, token: who.remember("A new thing", tag=["a"], token=token),
    "revise": lambda who, refs, token: who.revise(refs["live"], importance=9, token=token),
    "verify": lambda who, refs, token: who.verify(refs["live"], token=token),
    "forget": lambda who, refs, token: who.forget(refs["live"], reason="no", token=token),
    "restore": lambda who, refs, token: who.restore(refs["gone"], token=token),
    "promote": lambda who, refs, token: who.promote(refs["held"], confirm=True, token=token),
    "reject": lambda who, refs, token: who.reject(refs["refused"], reason="no", token=token),
    "purge": lambda who, refs, token: who.purge(refs["erased"], confirm=True, token=token),
    "undo": lambda who, refs, token: who.undo(token=token),
    "relate": lambda who, refs, token: who.relate(refs["live"], refs["held"], "related", token=token),
    "judge": lambda who, refs, token: who.judge(f"{refs['live']}~{refs['held']}", "scoped", token=token),
    "session_end": lambda who, refs, token: who.session_end("s-1", summary="Goal: done", token=token),
    "projects_merge": lambda who, refs, token: who.projects_merge("old", "new", apply=True, token=token),
    "projects_rename": lambda who, refs, token: who.projects_rename("old", "newer", apply=True, token=token),
    "insights_purge": lambda who, refs, token: who.insights_purge(confirm=True, token=token),
    "insights_save": lambda who, refs, token: who.insights_save("Reads first", token=token),
    "attach": lambda who, refs, token: who.attach(refs["live"], __file__, token=token),
    "detach": lambda who, refs, token: who.detach(refs["attached"], "world.py", token=token),
}
OTHER = {
    "capture": lambda who, refs, token: who.capture(LEARNT.replace("last", "first"), token=token),
    "session_begin": lambda who, refs, token: who.session_begin(agent="claude", token=token),
    "remember": lambda who, refs, token: who.remember("Another thing", tag=["a"], token=token),
    "revise": lambda who, refs, token: who.revise(refs["live"], importance=8, token=token),
    "verify": lambda who, refs, token: who.verify(refs["held"], token=token),
    "forget": lambda who, refs, token: who.forget(refs["held"], reason="no", token=token),
    "restore": lambda who, refs, token: who.restore(refs["live"], token=token),
    "promote": lambda who, refs, token: who.promote(refs["refused"], confirm=True, token=token),
    "reject": lambda who, refs, token: who.reject(refs["refused"], reason="other", token=token),
    "insights_purge": lambda who, refs, token: who.insights_purge(category="goals", confirm=True, token=token),
    "purge": lambda who, refs, token: who.purge(refs["live"], confirm=True, token=token),
    "undo": lambda who, refs, token: who.undo(last=2, token=token),
    "relate": lambda who, refs, token: who.relate(refs["live"], refs["held"], "conflicts", token=token),
    "judge": lambda who, refs, token: who.judge(f"{refs['live']}~{refs['held']}", "related", token=token),
    "session_end": lambda who, refs, token: who.session_end("s-1", summary="Goal: other", token=token),
    "projects_merge": lambda who, refs, token: who.projects_merge("new", "old", apply=True, token=token),
    "projects_rename": lambda who, refs, token: who.projects_rename("old", "newest", apply=True, token=token),
    "insights_save": lambda who, refs, token: who.insights_save("Reads last", token=token),
    "attach": lambda who, refs, token: who.attach(refs["live"], world_file, token=token),
    "detach": lambda who, refs, token: who.detach(refs["attached"], "test_tokens.py", token=token),
}
EXCHANGES = {each.name for each in OPERATIONS.values() if each.group in ("syncing", "remotes") and each.writes}
SELF_EVIDENT = EXCHANGES | {
    *("import", "reembed", "harvest", "sync"),
    *(
        "backup_restore",
        "settle",
        "conflicts",
        "keys_revoke",
        "owners_assign",
        "workspaces_assign",
        "reindex",
        "scrub",
    ),
}
"""They find their work done: what is known is counted, what is under way goes on, and what is restored is there."""

SHOWN_ONCE = {"keys_create"}
"""Its answer cannot be given a second time, because nobody keeps it."""


def test_every_writing_operation_takes_a_token_but_those_that_find_their_work_done():
    writing = {name for name, operation in OPERATIONS.items() if operation.writes}
    taking = {name for name, operation in OPERATIONS.items() if "token" in signature(operation.function).parameters}
    assert writing - SELF_EVIDENT - SHOWN_ONCE == taking == set(ACTS)


@pytest.mark.parametrize("name", ACTS)
def test_a_retry_returns_the_first_answer_and_leaves_no_event(world, name):
    refs = setting(world)
    first = ACTS[name](world.person, refs, "t-1")
    past, kept = len(world.events()), world.everything()
    world.clock.pass_by(minutes=1)
    again = ACTS[name](world.person, refs, "t-1")
    assert len(world.events()) == past
    assert world.everything() == kept
    _assert_the_same(name, first, again)


@pytest.mark.parametrize("name", ACTS)
def test_a_twin_that_is_faster_by_a_moment_is_answered_alike(world, name):
    refs, told = setting(world), []
    past = len(world.events())
    world.engine.happens = lambda: told.append(ACTS[name](world.person, refs, "t-1"))
    world.engine.countdown = 1
    told.append(ACTS[name](world.person, refs, "t-1"))
    assert len(world.events()) == past + 1
    _assert_the_same(name, *told)


def _assert_the_same(name: str, first: Any, again: Any) -> None:
    if name in ("capture", "session_begin"):
        assert again._replace(at=first.at) == first
        return
    assert again.event == first.event
    if name in ("remember", "insights_save"):
        assert (again.memory, again.outcome, again.replayed) == (first.memory, first.outcome, True)
    elif name in ("purge", "insights_purge"):
        assert (again.erased, again.event_id) == (first.erased, first.event_id)
    elif name == "undo":
        assert [event.id for event in again.events] == [event.id for event in first.events]
        assert again.gone == first.gone
    elif name in ("session_end", "projects_merge", "projects_rename"):
        assert again._replace(at=first.at, hint=first.hint) == first
    elif name in ("attach", "detach"):
        assert (again.asset, again.outcome, again.replayed) == (first.asset, first.outcome, True)
    elif name != "revise":
        assert {one.id for one in again.memories} == {one.id for one in first.memories}


@pytest.mark.parametrize("name", ACTS)
def test_the_same_token_for_another_request_is_a_conflict_and_changes_nothing(world, name):
    refs = setting(world)
    ACTS[name](world.person, refs, "t-1")
    past = len(world.events())
    with pytest.raises(Conflict, match="another request"):
        OTHER[name](world.person, refs, "t-1")
    assert len(world.events()) == past


@pytest.mark.parametrize("outcome", ["new", "held", "repeated", "revised", "proposed", "restored"])
def test_a_retried_remember_tells_the_same_outcome(world, outcome):
    said = {"text": "The first text"}
    if outcome == "held":
        said = {"text": "My name is Alex", "kind": "identity"}
    elif outcome == "repeated":
        world.person.remember("The first text")
    elif outcome == "revised":
        world.agent.remember("An earlier text", key="k")
        said["key"] = "k"
    elif outcome == "proposed":
        world.person.remember("My name is Alex", kind="identity", key="k", confirm=True)
        said["key"] = "k"
    elif outcome == "restored":
        world.agent.forget(world.agent.remember("The first text").memory.id)
    told = [world.agent.remember(**said, token="t") for _ in range(2)]
    assert [one.outcome for one in told] == [outcome, outcome]
    assert [one.replayed for one in told] == [False, True]
    assert told[0].memory == told[1].memory


def test_the_same_argument_by_place_or_by_name_is_the_same_request(world):
    first = world.agent.remember("A thing", token="t")
    assert world.agent.remember(text="A thing", token="t").event == first.event


def test_tokens_of_two_owners_or_two_operations_do_not_meet(world):
    mine = world.person.remember("A thing", token="t")
    theirs = world.other.remember("A thing", token="t")
    assert mine.memory.id != theirs.memory.id
    world.person.forget(mine.memory.id, token="t")


def test_a_refused_request_does_not_use_up_its_token(world):
    held = world.agent.remember("My name is Alex", kind="identity").memory
    with pytest.raises(Unconfirmed):
        world.person.promote(held.id, token="t")
    world.person.promote(held.id, confirm=True, token="t")
    assert world.stands(held.id) == "live"


def test_several_memories_under_one_token_are_all_changed(world):
    ids = [world.person.remember(text).memory.id for text in ("One thing", "Another thing")]
    for _ in range(2):
        world.person.forget(ids, token="t")
        assert {world.stands(id) for id in ids} == {"forgotten"}


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A store with an import of six memories, which undo takes back in three steps."""
    monkeypatch.setattr(intake, "GROUP", 2)
    monkeypatch.setattr(history, "MOST_AT_ONCE", 2)
    other, world = World(name="other"), World(engine=Interrupted())
    for n in range(6):
        other.person.remember(f"Thing {n}")
    other.person.export(str(tmp_path / "all.jsonl"))
    world.person.import_(str(tmp_path / "all.jsonl"), trust=True)
    return world


def test_an_undo_in_several_steps_takes_every_one_of_them_under_its_token(imported):
    told = [imported.person.undo(token="t") for _ in range(2)]
    assert imported.everything() == {}
    assert [(len(one.events), len(one.gone), one.again) for one in told] == [(3, 6, told[0].again)] * 2
    imported.person.undo(told[1].again.rpartition(" ")[2])
    assert len(imported.everything()) == 6


def test_a_retry_goes_on_with_an_undo_that_was_stopped_between_two_steps(imported):
    def fail() -> None:
        raise Unavailable("The disk is full.")

    imported.engine.countdown, imported.engine.happens = 2, fail
    with pytest.raises(Unavailable):
        imported.person.undo(token="t")
    assert len(imported.everything()) == 4
    imported.person.undo(token="t")
    assert imported.everything() == {}


def test_a_retried_capture_takes_what_the_first_one_did_not_come_to(world):
    learnt = (
        LEARNT
        + "- The index is made anew when its version moves\n- Dates are kept in UTC everywhere in the store\n"
    )

    def fail() -> None:
        raise Unavailable("The disk is full.")

    world.engine.countdown, world.engine.happens = 2, fail
    first = world.agent.capture(learnt, token="t")
    assert (len(first.memories), first.problems) == (2, ("The disk is full.",))
    again = world.agent.capture(learnt, token="t")
    assert (len(again.memories), again.repeated, again.problems) == (3, 0, ())
    assert {one.seen for one in world.everything().values()} == {1}


def test_a_retry_is_told_where_what_it_began_was_undone_since(world):
    world.person.session_begin(token="t")
    world.person.undo()
    with pytest.raises(Conflict, match="no longer there"):
        world.person.session_begin(token="t")


def test_a_token_is_limited_in_length(world):
    world.person.remember("A thing", token="t" * 256)
    with pytest.raises(Invalid, match="token is 257 bytes"):
        world.person.remember("A thing", token="t" * 257)


def test_a_token_survives_another_caller_of_the_same_owner(world):
    def say(who: Engram) -> int:
        return who.remember("A thing", token="t").event

    assert say(world.agent) == say(world.person)
