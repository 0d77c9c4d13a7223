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
    assert "mem-0002~mem-0001  open: mem-0002 may conflict with mem-0001" in listed.out
    for verb in ("supersedes", "conflicts", "compatible", "scoped", "related", "unrelated"):
        assert verb in said.out.rpartition("engram judge")[2]
        assert verb in listed.out.rpartition("engram judge")[2]
    assert "engram conflicts --ignore mem-0002~mem-0001" in listed.out


def test_new_words_that_are_at_odds_with_something_can_still_be_taken_back(engram: Driver):
    engram("remember", OLD)
    engram("remember", "We like the staging database")
    said = engram("revise", "mem-0002", "--text", NEW)

    assert "engram judge mem-0002~mem-0001 supersedes" in said.out
    assert "Take it back: engram undo 3" in said.out


def test_a_pair_is_set_aside_and_judged_by_the_command(engram: Driver):
    engram("remember", OLD)
    engram("remember", NEW)
    aside = engram("conflicts", "--ignore", "mem-0002~mem-0001").out

    assert "✓ mem-0002~mem-0001 was set aside" in aside
    assert "Take it back: engram undo 3" in aside
    assert "Nothing is known" in engram("conflicts").out
    assert "set aside: mem-0002" in engram("conflicts", "--settled").out
    engram("judge", "mem-0002~mem-0001", "conflicts")
    assert "conflicts with mem-0002" in engram("recall", "staging database", "--words").out
    assert "conflicts with mem-0002" in engram("get", "mem-0001").out


def test_one_pair_is_shown_and_judged_in_the_words_that_were_read(engram: Driver):
    engram("remember", OLD)
    engram("remember", "Tea is at four")
    shown = engram("conflicts", "--pair", "mem-0001~mem-0002").out
    engram("revise", "mem-0001", "--text", "The staging database is Postgres 15")
    refused = engram("judge", "mem-0002@1~mem-0001@1", "unrelated")
    judged = engram("judge", "mem-0002@1~mem-0001@2", "unrelated")

    assert "mem-0002~mem-0001  nothing was said of mem-0002 and mem-0001 yet" in shown
    assert "engram judge mem-0002~mem-0001 supersedes" in shown
    assert (refused.code, judged.code) == (5, 0)
    assert "mem-0001 is at revision 2, not 1." in refused.err


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

    assert "Decide what is held. To replace mem-0001: engram promote mem-0002\n" in shown
    assert "To keep both: engram promote mem-0002 --keep\n" in shown
    assert "To keep mem-0001 alone: engram reject mem-0002\n" in shown
    assert "engram judge" not in shown
    assert "mem-0002 waits for review itself" in said
    assert "Take it back: engram undo 3" in said
    assert "curated" not in said
    assert "It replaces mem-0001" in engram("promote", "mem-0002").out


def test_a_held_pair_stands_once_in_the_list_whatever_was_said_of_it(engram: Driver):
    engram.remember("The API listens on port 8080")
    engram.remember("The API listens on port 9090")  # waits: it contradicts the first
    engram("judge", "mem-0002~mem-0001", "supersedes")  # a proposal, until it is promoted
    listed = engram("conflicts").out
    engram("conflicts", "--ignore", "mem-0002~mem-0001")

    assert listed.count("mem-0002~mem-0001  ") == 1
    assert "mem-0002 waits for review: it contradicts mem-0001; promoted, it supersedes it" in listed
    assert "Nothing is known" in engram("conflicts").out
    assert "mem-0002" in engram("review").out  # setting a pair aside decides about no memory


def test_a_dry_scan_shows_the_list_that_the_scan_shows(engram: Driver):
    engram.remember("The API listens on port 8080")
    engram.remember("The API listens on port 9090")
    engram("remember", OLD)
    engram("remember", NEW)
    dry = engram("conflicts", "--scan", "--words", "--dry-run").out
    real = engram("conflicts", "--scan", "--words").out

    def shown(out: str) -> list[str]:
        return [line for line in out.splitlines() if line.startswith("mem-")]

    assert len(shown(dry)) == 2
    assert shown(dry) == shown(real)


def test_who_has_just_looked_through_everything_is_not_told_to_do_so(engram: Driver):
    engram("remember", OLD)
    engram("remember", "Tea is at four")

    assert "engram conflicts --scan" in engram("conflicts").out
    scanned = engram("conflicts", "--scan").out
    assert "Nothing is known that may not hold together." in scanned
    assert "--scan" not in scanned


def test_settled_pairs_are_shown_alone(engram: Driver):
    engram("remember", OLD)
    engram("remember", NEW)
    engram.remember("The API listens on port 8080")
    engram.remember("The API listens on port 9090")
    engram("judge", "mem-0002~mem-0001", "compatible")
    settled = engram("conflicts", "--settled").out

    assert "judged: mem-0002 is compatible with mem-0001" in settled
    assert "mem-0004" not in settled
    assert "engram judge" not in settled


def test_a_verdict_is_told_as_a_sentence(engram: Driver):
    engram("remember", OLD)
    engram("remember", NEW)
    said = [engram("judge", "mem-0002~mem-0001", verb).out for verb in ("conflicts", "compatible", "scoped")]

    assert "✓ mem-0002 conflicts with mem-0001" in said[0]
    assert "✓ mem-0002 is compatible with mem-0001" in said[1]
    assert "✓ mem-0002 holds in another case than mem-0001" in said[2]


def test_every_hint_of_an_undo_works_as_it_is_printed(engram: Driver):
    engram.remember("My name is Alex", "--kind", "identity")
    engram("promote", "mem-0001", "--confirm")
    undone = engram("undo", "2").out
    again = undone.rpartition("Do it again: engram ")[2].split()

    assert again == ["undo", "3", "--confirm"]
    redone = engram(*again)
    assert redone.code == 0
    assert "Do it again: engram undo 4\n" in redone.out  # back to waiting: nothing to confirm


def test_nothing_to_undo_is_said_without_a_number(engram: Driver):
    refused = engram.made()("undo")

    assert refused.code == 5
    assert "There is nothing to undo." in refused.err
