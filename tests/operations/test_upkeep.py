"""Stats, doctor and kinds."""

import pytest

from engram.errors import Forbidden
from engram.model.caller import Caller
from engram.rules.kinds import TABLE, extended
from engram.rules.policy import Policy
from rules.world import World


@pytest.fixture
def world() -> World:
    return World()


def test_stats_count_by_standing_kind_and_scope(world):
    world.agent.remember("One thing", kind="infra")
    world.agent.remember("Another thing", scope="project:api")
    world.agent.remember("My name is Alex", kind="identity")
    world.agent.forget(world.agent.remember("A third thing").memory.id)
    stats = world.agent.stats()
    assert stats.memories == 4
    assert stats.standings == {"live": 2, "pending": 1, "forgotten": 1}
    assert stats.kinds == {"infra": 1, "fact": 1}
    assert stats.scopes == {"global": 1, "project:api": 1}
    assert stats.tokens > 0
    assert stats.events == 5
    assert stats.store == "ram:"


def test_stats_of_an_empty_store_are_zero(world):
    stats = world.agent.stats()
    assert (stats.memories, stats.standings, stats.events) == (0, {}, 0)


def test_stats_count_only_what_is_readable(world):
    world.person.remember("A private thing")
    world.person.remember("A shared thing", visibility="shared")
    assert world.other.stats().memories == 1


def test_events_are_counted_as_they_may_be_read_and_in_full_for_whoever_looks_after_the_store(world):
    ann, ben = (world.as_(Caller(org="acme", owner=name, actor=name)) for name in ("ann", "ben"))
    private = ann.remember("A private thing").memory.id
    for _ in range(250):
        ann.verify(private)
    ann.remember("A shared thing", visibility="shared")
    ben.forget(ben.remember("A thing of ben's").memory.id)
    for _ in range(250):
        ann.verify(private)

    assert ben.stats().events == len(ben.history(limit=1000).events) == 3
    assert ann.stats().events == 502
    operator = world.as_(Caller())
    assert operator.stats().events == 504
    assert operator.doctor().facts["events"] == 504


def test_a_healthy_store_has_no_finding_and_what_waits_is_noted(world):
    assert world.person.doctor().findings == ()
    world.agent.remember("My name is Alex", kind="identity")
    world.agent.remember("Soon stale", decay="1d")
    world.clock.pass_by(days=2)
    report = world.person.doctor()
    assert report.healthy
    assert {(one.code, one.severity) for one in report.findings} == {("pending", "note"), ("stale", "note")}
    assert all(one.hint for one in report.findings)
    assert report.facts["memories"] == 2


def test_a_history_that_was_tampered_with_is_found(world):
    world.person.remember("A thing")
    world.person.remember("Another thing")
    world.engine._events[0] = world.engine._events[0]._replace(actor="somebody else")
    report = world.person.doctor()
    assert not report.healthy
    assert {one.code for one in report.findings} == {"history"}


def test_an_agent_may_look_and_not_mend(world):
    assert world.agent.doctor().healthy
    with pytest.raises(Forbidden):
        world.agent.doctor(fix=True)


def test_the_table_of_kinds_is_shown_as_configured():
    assert [row.name for row in World().agent.kinds().kinds] == [kind.name for kind in TABLE]
    kinds = extended({"risk": {"tier": 3, "decay": "30d", "about": "What may go wrong."}})
    shown = {row.name: row for row in World(policy=Policy(kinds=kinds)).agent.kinds().kinds}
    assert shown["risk"][1:] == (3, "30d", "always", "What may go wrong.")
