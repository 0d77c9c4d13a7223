"""The table of kinds, and how configuration extends it."""

import pytest

from engram.errors import Invalid
from engram.model.limits import parse_decay
from engram.model.memory import CURATED, check_kind
from engram.rules.kinds import AUTO, CHECKED, KINDS, TABLE, extended, in_context, lookup, meant, quiet
from engram.rules.policy import Policy
from rules.world import World, memory


def test_every_row_makes_sense():
    for kind in TABLE:
        check_kind(kind.name)
        parse_decay(kind.decay)
        assert kind.about.endswith(".")
    assert len(KINDS) == len(TABLE)


def test_the_design_tells_tier_and_decay():
    tiers = {tier: {kind.name for kind in TABLE if kind.tier == tier} for tier in (AUTO, CHECKED, CURATED)}
    assert tiers[CHECKED] == {"fact"}
    assert tiers[CURATED] == {"identity", "fiscal", "people", "constraint", "location", "health", "rule"}
    assert {kind.name for kind in TABLE if kind.decay == "none"} == {"summary", "prompt", "insight"}
    assert (
        {kind.name for kind in TABLE if kind.decay == "90d"}
        == {kind.name for kind in TABLE if kind.cited}
        == {"map", "finding"}
    )
    assert all(kind.decay == "365d" for kind in TABLE if kind.tier == CURATED)


def test_the_kinds_that_come_only_when_asked_for():
    assert set(quiet()) == {"prompt", "map", "finding", "insight"}


def test_a_word_that_is_not_in_the_table_is_checked():
    assert lookup("hobby")[:4] == ("hobby", CHECKED, "180d", "always")


def test_a_slip_is_taken_for_the_kind_it_is_like_and_neither_a_kind_nor_another_word_is():
    assert (meant("desicion"), meant("preferences")) == ("decision", "preference")
    assert [meant(word) for word in ("decision", "infrastructure", "hobby")] == ["", "", ""]
    assert meant("hoby", {"hobby": lookup("hobby")}) == "hobby"


def test_configuration_adds_and_changes_rows():
    kinds = extended({"risk": {"tier": 3, "decay": "30d"}, "preference": {"recall": "on_demand"}})
    assert (kinds["risk"].tier, kinds["risk"].decay) == (3, "30d")
    assert (kinds["preference"].tier, kinds["preference"].recall) == (1, "on_demand")
    world = World(policy=Policy(kinds=kinds))
    assert world.agent.remember("The vendor may vanish", kind="risk").memory.held_for == "curated_kind"
    world.agent.remember("Likes short answers", kind="preference")
    assert world.agent.recall("short answers").hits == ()
    assert len(world.agent.recall("short answers", kind=["preference"]).hits) == 1


def test_the_table_itself_is_not_changed_by_configuration():
    extended({"preference": {"tier": 3}})
    assert KINDS["preference"].tier == AUTO


def test_a_configured_discovery_still_needs_its_citation():
    world = World(policy=Policy(kinds=extended({"map": {"decay": "1y"}})))
    with pytest.raises(Invalid, match="citation"):
        world.agent.remember("How it is laid out", kind="map")


@pytest.mark.parametrize(
    "rows",
    [
        {"risk": {"tier": 0}},
        {"risk": {"tier": 4}},
        {"risk": {"tier": "1"}},
        {"risk": {"tier": True}},
        {"risk": {"tier": 1.0}},
        {"risk": {"recall": "never"}},
        {"risk": {"decay": "soon"}},
        {"risk": {"colour": "red"}},
        {"Two Words": {"tier": 1}},
    ],
)
def test_a_row_that_makes_no_sense_is_refused(rows):
    with pytest.raises(Invalid):
        extended(rows)


def test_a_tag_keeps_a_memory_out_of_every_context():
    assert in_context(memory(tags=("ops",)))
    assert not in_context(memory(tags=("no-context", "ops")))
