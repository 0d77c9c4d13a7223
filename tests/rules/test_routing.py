"""Routing what waits, as a rule: the table of routes, what a batch does to itself, and that nothing is approved."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engram.errors import Unconfirmed
from engram.model.memory import CURATED, Memory
from engram.rules.kinds import extended
from engram.rules.policy import Policy
from engram.rules.routing import REASONS, Beside, Route, carry, go_live, held, plan
from engram.surfaces.render.work import ROUTES
from rules.world import START, memory, request

POLICY = Policy(autopromote=False)
PORT = "The api port is 8080"
SOON = START + timedelta(days=1)


def waiting(id: str = "memory-1", text: str = "We deploy on Fridays", **fields: object) -> Memory:
    return memory(id, text, status="pending", **{"tier": 1, "kind": "convention"} | fields)


def route(one: Memory, beside: Beside | None = None, policy: Policy = POLICY) -> Route:
    return plan([one], {one.id: beside} if beside else {}, policy, SOON)[0]


@pytest.mark.parametrize(
    ("one", "action", "reason"),
    [
        (waiting(), "append", "low_risk"),
        (waiting(kind="fact", tier=2), "append", "no_conflict"),
        (waiting(kind="identity", tier=CURATED), "queue", "curated_kind"),
        (waiting(kind="identity", tier=CURATED, held_for="curated_kind"), "queue", "curated_kind"),
        (waiting(held_for="edits_curated_node"), "queue", "edits_curated_node"),
        (waiting(held_for="untrusted_origin"), "queue", "untrusted_origin"),
        (waiting(held_for="review_all"), "queue", "review_all"),
        (waiting(learned_by="harvest"), "queue", "untrusted_origin"),
        (waiting(learned_by="import"), "queue", "untrusted_origin"),
        (waiting(source="web:example.org"), "queue", "untrusted_origin"),
        (waiting(held_for="conflict"), "append", "low_risk"),
        (waiting(created_at=START - timedelta(days=300), decay="180d"), "skip", "stale"),
        (waiting(created_at=START - timedelta(days=300), decay="none"), "append", "low_risk"),
        (waiting(held_for="unmerged_branch", branch="api:topic"), "skip", "unmerged_branch"),
        (waiting(held_for="unmerged_branch"), "skip", "unmerged_branch"),
        (waiting(valid_until=SOON), "skip", "expired"),
        (waiting(created_at=SOON - timedelta(days=180), decay="180d"), "append", "low_risk"),
    ],
    ids=lambda value: value.held_for or value.kind if isinstance(value, Memory) else value,
)
def test_what_waits_alone_is_routed_by_what_it_is(one: Memory, action: str, reason: str):
    assert route(one) == Route(one, action, reason)


def test_where_everything_is_reviewed_everything_is_queued():
    assert route(waiting(), policy=Policy(review_all=True)).reason == "review_all"


def test_a_kind_that_became_curated_since_is_queued():
    strict = Policy(kinds=extended({"convention": {"tier": 3}}))
    assert route(waiting(), policy=strict)[1:3] == ("queue", "curated_kind")


def test_what_contradicts_something_live_is_queued_beside_it():
    rival = memory("memory-2", "The api port is 9090")
    assert route(waiting(text=PORT), Beside(rivals=(rival,)))[1:] == ("queue", "conflict", rival)


def test_what_was_replaced_and_said_again_is_queued_whatever_its_words():
    successor = memory("memory-2", "Releases are automatic now")
    one = waiting(replaced_by=successor.id)
    assert route(one, Beside(rivals=(successor,)))[1:3] == ("queue", "conflict")


def test_what_a_verdict_says_it_supersedes_is_put_out_of_use_by_a_person_only():
    old = memory("memory-2", "Releases are made by hand")
    assert route(waiting(), Beside(superseded=(old,)))[1:] == ("queue", "conflict", old)


def test_what_is_live_already_is_left_alone():
    twin = memory("memory-2", key="deploy-day")
    assert route(waiting(), Beside(twins=(twin, waiting())))[1:] == ("skip", "already_known", twin)


@pytest.mark.parametrize("gone", [{"forgotten_at": START}, {"replaced_by": "memory-3"}, {"status": "pending"}])
def test_a_twin_that_is_not_in_use_is_no_reason_to_wait(gone: dict[str, object]):
    twin = memory("memory-2", **{"key": "deploy-day"} | gone)
    assert route(waiting(), Beside(twins=(twin,))).action == "append"


def test_a_memory_that_stands_apart_has_no_twins():
    assert route(waiting(apart=True), Beside(twins=(memory("memory-2"),))).action == "append"


def test_rejected_text_does_not_come_back():
    twin = memory("memory-2", status="rejected", key="deploy-day")
    assert route(waiting(key="other"), Beside(twins=(twin,)))[1:] == ("skip", "rejected_before", twin)


# --- proposals ---


def test_a_proposal_to_change_a_live_memory_goes_live_with_it():
    amended = memory("memory-0", "We deploy on Mondays", kind="convention", tier=1, handle="mem-0001")
    one = waiting(amends=amended.id)
    beside = {one.id: Beside(amended=amended, rivals=(amended,))}
    routes = plan([one], beside, POLICY, SOON)
    change = carry(routes, beside, request())
    after = {each.id: each for each in change.puts}
    assert routes[0][1:3] == ("append", "low_risk")
    assert after["memory-0"].text == "We deploy on Fridays"
    assert after["memory-0"].approved_by == ""
    assert (after["memory-1"].status, after["memory-1"].replaced_by) == ("promoted", "memory-0")


def test_a_proposal_to_change_a_curated_memory_is_queued():
    amended = memory("memory-0", "My city is Rome", kind="location", tier=CURATED)
    assert route(waiting(amends=amended.id), Beside(amended=amended))[1:3] == ("queue", "edits_curated_node")


@pytest.mark.parametrize("theirs", [{"origin": "said", "source": "manual"}, {"approved_by": "alex"}])
def test_a_proposal_to_change_what_became_a_persons_word_since_waits(theirs: dict[str, Any]):
    amended = memory("memory-0", "We deploy on Mondays", **theirs)
    assert route(waiting(amends=amended.id), Beside(amended=amended))[1:3] == ("queue", "edits_curated_node")
    own = waiting(amends=amended.id, origin="said", source="manual")
    assert route(own, Beside(amended=amended)).action == "append"


@pytest.mark.parametrize("amended", [None, memory("memory-0", forgotten_at=START)])
def test_a_proposal_to_change_what_is_gone_is_left_alone(amended: Memory | None):
    assert route(waiting(amends="memory-0"), Beside(amended=amended))[1:3] == ("skip", "nothing_to_amend")


def test_of_two_proposals_for_one_memory_the_older_goes_first():
    amended = memory("memory-0", "We deploy on Mondays")
    first, second = waiting(amends="memory-0"), waiting("memory-2", "We deploy on Sundays", amends="memory-0")
    beside = {one.id: Beside(amended=amended) for one in (first, second)}
    routes = plan([first, second], beside, POLICY, SOON)
    assert [each.reason for each in routes] == ["low_risk", "one_at_a_time"]
    assert carry(routes, beside, request()).expects == {"memory-0": 1, "memory-1": 1}


# --- a batch ---


def test_what_goes_first_counts_as_live_for_the_next():
    one, same = waiting(text=PORT), waiting("memory-2", PORT, key="again")
    other = waiting("memory-3", "The api port is 9090")
    routes = plan([one, same, other], {}, POLICY, SOON)
    assert [(each.action, each.reason) for each in routes] == [
        ("append", "low_risk"),
        ("skip", "already_known"),
        ("queue", "conflict"),
    ]
    assert [each.other for each in routes] == [None, one, one]


def test_what_was_held_for_a_conflict_elsewhere_waits_for_a_person_for_what_it_contradicts_may_not_be_here():
    one = waiting(held_for="conflict")

    assert {each: route(one, Beside(came_by=each))[1:3] for each in ("adopted", "import", "remember")} == {
        "adopted": ("queue", "conflict"),
        "import": ("queue", "conflict"),
        "remember": ("append", "low_risk"),
    }
    assert route(waiting(), Beside(came_by="adopted")).action == "append"


def test_scopes_do_not_stand_in_each_others_way():
    one = waiting(text=PORT)
    elsewhere = waiting("memory-2", "The api port is 9090", scope=one.scope.parse("project:api"))
    assert [each.action for each in plan([one, elsewhere], {}, POLICY, SOON)] == ["append", "append"]


def test_what_goes_live_by_itself_is_approved_and_verified_by_nobody():
    one = waiting(held_for="conflict")
    (after,) = carry([route(one)], {}, request()).puts
    assert (after.status, after.held_for, after.approved_by, after.verified_at) == ("promoted", "", "", None)


def test_what_is_queued_gets_its_reason_once():
    rival = memory("memory-2", "The api port is 9090")
    queued = route(waiting(text=PORT), Beside(rivals=(rival,)))
    (after,) = carry([queued], {}, request()).puts
    assert (after.status, after.held_for) == ("pending", "conflict")
    again = [queued._replace(memory=after)]
    assert carry(again, {}, request(), last="sync") is None
    noted = carry(again, {}, request(), last="remember")
    assert (noted.draft.action, noted.draft.subjects, noted.puts) == ("sync", (after.id,), ())


def test_a_step_is_about_all_that_it_moves_what_goes_live_and_what_is_queued():
    live, queued = Route(waiting(), "append", "low_risk"), Route(waiting("memory-2"), "queue", "review_all")

    assert carry([live, queued], {}, request()).draft.subjects == ("memory-1", "memory-2")


def test_what_is_skipped_is_not_touched():
    assert carry([Route(waiting(), "skip", "already_known")], {}, request()) is None


def test_a_route_that_would_let_a_curated_memory_go_live_is_refused():
    with pytest.raises(Unconfirmed):
        carry([Route(waiting(kind="identity", tier=CURATED), "append", "low_risk")], {}, request())


def test_only_what_nothing_of_its_own_holds_is_looked_at():
    assert held(waiting(held_for="conflict"), POLICY, SOON) is None
    assert held(waiting(tier=CURATED, kind="rule"), POLICY, SOON) is not None


def test_every_reason_of_a_route_has_words_and_a_row_in_the_guide():
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "views.md").read_text(encoding="utf-8")

    assert set(ROUTES) == set(REASONS)
    assert all(f"| `{reason}` |" in guide for reason in REASONS)


def test_what_is_compared_with_itself_is_still_compared_with_the_next():
    one = waiting(text=PORT)
    rival = memory("memory-2", "The api port is 9090")

    assert route(one, Beside(rivals=(one, rival)))[1:] == ("queue", "conflict", rival)


def test_a_change_of_one_memory_does_not_keep_another_from_going_live():
    old = memory("memory-9", "We deploy on Mondays")
    first, change = waiting(), waiting("memory-2", "We deploy on Tuesdays", amends=old.id)
    done = carry(
        [Route(first, "append", "low_risk"), Route(change, "append", "low_risk")],
        {change.id: Beside(amended=old, base=old)},
        request(),
    )

    assert done is not None
    assert [one.id for one in done.puts] == ["memory-1", "memory-9", "memory-2"]


def test_a_proposal_whose_memory_is_gone_goes_live_by_itself():
    (alone,) = go_live(waiting(amends="gone"), Beside(), request())

    assert (alone.after.status, alone.after.replaced_by) == ("promoted", "")
