"""What may not hold together, at the command line and over MCP."""

from engram.surfaces.mcp.compact import compact
from rules.world import World
from surfaces.driving import Driver

OLD = "The staging database is Postgres 14"
NEW = "We upgraded the staging database to Postgres 16"


def test_a_save_says_what_it_may_be_at_odds_with_and_the_list_shows_it(engram: Driver):
    engram("remember", OLD)
    said = engram("remember", NEW)

    assert "May be at odds with mem-0001" in said.out
    assert "engram judge mem-0002~mem-0001 supersedes" in said.out
    listed = engram("conflicts")
    assert "mem-0002~mem-0001  open: conflicts" in listed.out
    assert "engram conflicts --ignore mem-0002~mem-0001" in listed.out


def test_a_pair_is_set_aside_and_judged_by_the_command(engram: Driver):
    engram("remember", OLD)
    engram("remember", NEW)
    engram("conflicts", "--ignore", "mem-0002~mem-0001")

    assert "Nothing is known" in engram("conflicts").out
    assert "ignored" in engram("conflicts", "--settled").out
    engram("judge", "mem-0002~mem-0001", "conflicts")
    assert "conflicts with mem-0002" in engram("recall", "staging database", "--words").out
    assert "conflicts with mem-0002" in engram("get", "mem-0001").out


def test_an_agent_reads_candidates_and_verdicts_in_few_words():
    world = World()
    world.agent.remember(OLD)
    saved = compact(world.agent.remember(NEW))

    (candidate,) = saved["candidates"]
    assert candidate["memory"]["text"] == OLD
    assert (candidate["why"], candidate["pair"]) == ("14 → 16", "mem-0002~mem-0001")
    assert "engram judge mem-0002~mem-0001" in saved["hint"]
    world.agent.judge("mem-0002~mem-0001", "conflicts")
    found = compact(world.agent.recall("staging database", words=True))
    assert [hit["relations"] for hit in found["hits"]] == [["conflicts with mem-0002"], ["conflicts with mem-0001"]]
    assert compact(world.agent.get("mem-0001"))["memories"][0]["relations"] == ["conflicts with mem-0002"]


def test_a_verdict_for_what_waits_itself_says_what_makes_it_count(engram: Driver):
    engram.remember("The API listens on port 8080")
    engram.remember("The API listens on port 9090")  # waits: it contradicts the first
    shown = engram("conflicts").out
    said = engram("judge", "mem-0002~mem-0001", "supersedes").out

    assert "engram promote mem-0002 replaces mem-0001 (with --keep both stay); engram reject mem-0002" in shown
    assert "engram judge" not in shown
    assert "mem-0002 waits for review itself" in said
    assert "curated" not in said
    assert "It replaces mem-0001" in engram("promote", "mem-0002").out
