"""The rule for moving projects, without a store: who stays, who gives way, and that no text is ever lost."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.errors import Forbidden, Unconfirmed
from engram.model.memory import Memory, standing
from engram.model.scope import Scope
from engram.model.session import Session
from engram.rules.changes import claims_of
from engram.rules.projects import Plan, carry_out, plan_move
from rules.world import AGENT, OTHER, PERSON, START, memory, request

OLD, NEW = Scope("project", "old"), Scope("project", "new")


def later(hours: int):
    return START + timedelta(hours=hours)


def after(plan: Plan) -> dict[str, Memory]:
    return {step.after.id: step.after for step in plan.steps if isinstance(step.after, Memory)}


def test_a_run_stays_a_run_and_a_session_moves_too():
    run = Session(id="ses", scope=Scope("project", "old", "", "eval"), owner=PERSON.owner, started_at=START)
    plan = plan_move([memory("a", scope=OLD)], [], [run], NEW, request())

    assert [str(step.after.scope) for step in plan.steps] == ["project:new", "project:new@eval"]
    assert plan.steps[1].after.revision == 2
    assert (plan.memories, plan.sessions) == (1, 1)


def test_what_is_there_already_and_meets_nothing_is_not_touched():
    plan = plan_move([memory("a", scope=OLD)], [memory("b", "Lint with ruff", scope=NEW)], [], NEW, request())

    assert set(after(plan)) == {"a"}


@pytest.mark.parametrize(
    ("stays", "goes"),
    [
        ({"created_at": START}, {"created_at": later(1)}),
        ({"created_at": later(1)}, {"forgotten_at": later(2)}),
        ({"created_at": later(1)}, {"status": "pending"}),
        ({"created_at": later(1)}, {"valid_until": START}),
        ({"created_at": later(1)}, {"replaced_by": "another"}),
        ({"created_at": later(1), "tier": 3, "kind": "rule"}, {}),
        ({"created_at": later(1), "visibility": "shared"}, {}),
    ],
)
@pytest.mark.parametrize("which", ["moving", "there"])
def test_of_one_text_the_better_one_stays(stays, goes, which):
    one, other = ("a", "b") if which == "moving" else ("b", "a")
    scopes = {"a": OLD, "b": NEW}
    best, rest = memory(one, scope=scopes[one], **stays), memory(other, scope=scopes[other], **goes)
    moving, there = (best, rest) if which == "moving" else (rest, best)
    plan = plan_move([moving], [there], [], NEW, request(now=later(5)))
    now = {best.id: best, rest.id: rest, **after(plan)}

    assert plan.repeated == 1
    assert standing(now[best.id], later(5)) == standing(best, later(5))
    assert now[best.id].seen == 2
    assert standing(now[rest.id], later(5)) not in ("live", "pending")
    assert now[rest.id].text == rest.text


def test_what_a_twin_had_replaced_is_replaced_by_the_one_that_stays():
    twin = memory("twin", scope=OLD, created_at=later(1))
    beaten = memory("beaten", "We deploy on Mondays", scope=OLD, replaced_by="twin")
    proposal = memory("proposal", "We deploy at noon", scope=OLD, amends="twin", status="pending")
    plan = plan_move([twin, beaten, proposal], [memory("first", scope=NEW)], [], NEW, request(now=later(5)))

    assert after(plan)["beaten"].replaced_by == "first"
    assert after(plan)["proposal"].amends == "first"


def test_a_waiting_text_under_a_taken_key_goes_on_waiting():
    waits = memory("waits", "We deploy on Mondays", scope=OLD, key="deploy", status="pending", created_at=later(1))
    plan = plan_move([waits], [memory("first", scope=NEW, key="deploy")], [], NEW, request())

    assert plan.replaced == 1
    assert standing(after(plan)["waits"], START) == "pending"
    assert not after(plan)["waits"].replaced_by


def test_what_was_rejected_on_the_same_side_changes_nothing_for_its_twin():
    live = memory("live", scope=OLD)
    refused = memory("refused", scope=OLD, status="rejected", apart=True)
    plan = plan_move([live, refused], [], [], NEW, request())

    assert plan.held == 0
    assert after(plan)["live"].status == "promoted"


def test_only_ones_own_memories_move():
    with pytest.raises(Forbidden):
        plan_move([memory("a", scope=OLD, owner=OTHER.owner)], [], [], NEW, request())


def test_it_takes_a_person_and_for_approved_memories_a_confirmed_word():
    plan = plan_move([memory("a", scope=OLD, tier=3, kind="rule")], [], [], NEW, request())
    places = {"sources": [OLD], "into": NEW}

    with pytest.raises(Forbidden):
        carry_out(plan, "merge", request(AGENT, confirmed="flag"), **places)
    with pytest.raises(Unconfirmed):
        carry_out(plan, "merge", request(), **places)
    change = carry_out(plan, "merge", request(confirmed="flag"), **places)
    assert change.draft.payload.note["into"] == "project:new"
    assert change.draft.payload.note["confirmed"] == "flag"


def test_an_approved_memory_is_not_put_out_of_use_in_its_own_place_without_a_word():
    approved = memory("a", scope=NEW, tier=3, kind="rule", key="deploy")
    later_word = memory("b", "We deploy on Mondays", scope=OLD, key="deploy", created_at=later(1))
    plan = plan_move([later_word], [approved], [], NEW, request(now=later(5)))

    assert (plan.replaced, plan.curated) == (1, 1)


TEXTS = ("We deploy on Fridays", "we deploy on fridays.", "Lint with ruff", "The port is 80")


@st.composite
def holdings(draw: st.DrawFn, name: str, scope: Scope) -> list[Memory]:
    """Memories of one project that claim nothing twice, as a store would hold them."""
    held: list[Memory] = []
    taken: set[str] = set()
    for number in range(draw(st.integers(0, 6))):
        fields = {
            "key": draw(st.sampled_from(("", "", "deploy", "lint"))),
            "status": draw(st.sampled_from(("promoted", "promoted", "pending", "rejected"))),
            "forgotten_at": draw(st.sampled_from((None, None, START))),
            "tier": draw(st.sampled_from((1, 2, 3))),
            "apart": draw(st.booleans()),
            "seen": draw(st.integers(1, 3)),
            "created_at": later(draw(st.integers(0, 3))),
        }
        one = memory(f"{name}-{number}", draw(st.sampled_from(TEXTS)), scope=scope, **fields)
        if not taken.intersection(claims_of(one)):
            taken.update(claims_of(one))
            held.append(one)
    return held


@given(holdings("old", OLD), holdings("older", Scope("project", "older")), holdings("new", NEW))
def test_no_text_is_lost_no_claim_is_held_twice_and_nothing_in_use_disappears(old, older, there):
    moving = [*old, *older]
    plan = plan_move(moving, there, [], NEW, request(now=later(5)))
    change = carry_out(plan, "merge", request(now=later(5), confirmed="flag"), sources=[OLD], into=NEW)
    before = {one.id: one for one in (*moving, *there)}
    now = {**before, **after(plan)}

    assert {id: one.text for id, one in now.items()} == {id: one.text for id, one in before.items()}
    assert {str(one.scope) for one in now.values()} <= {"project:new"}
    held = [claim for one in now.values() for claim in claims_of(one)]
    assert len(held) == len(set(held))
    assert set(change.claims) == set(after(plan))
    rejected = {one.digest for one in before.values() if one.status == "rejected"}
    live = {one.digest for one in before.values() if standing(one, later(5)) == "live"}
    still = {one.digest for one in now.values() if standing(one, later(5)) in ("live", "replaced", "pending")}
    assert live <= still
    in_use = {one.digest for one in now.values() if standing(one, later(5)) in ("live", "replaced")}
    assert live - rejected <= in_use
    assert not any(one.status == "promoted" and before[one.id].status != "promoted" for one in now.values())
    assert {one.digest for one in now.values() if one.status == "rejected"} == rejected


def test_another_kind_that_was_rejected_leaves_the_words_in_use():
    mine = memory("mine", scope=OLD, key="deploy")
    refused = memory("refused", scope=OLD, status="rejected", amends="mine", kind="decision")
    first = memory("first", scope=NEW, created_at=START)
    plan = plan_move([mine, refused], [first], [], NEW, request())
    now = {"first": first, **after(plan)}

    assert plan.held == 0
    assert {id: standing(one, START) for id, one in now.items()} == {
        "mine": "live",
        "first": "live",
        "refused": "rejected",
    }
    assert now["first"].seen == 1


def test_what_both_say_is_weighed_by_both():
    mine = memory("mine", scope=OLD, seen=3, pinned=True, importance=4, created_at=later(1))
    theirs = memory("theirs", scope=NEW, seen=2, importance=7)
    refused = memory("refused", "Lint with ruff", scope=OLD, status="rejected", seen=5)
    plan = plan_move([mine, refused], [theirs], [], NEW, request(now=later(5)))
    now = after(plan)

    assert (now["theirs"].seen, now["theirs"].pinned, now["theirs"].importance) == (5, True, 7)
    assert (now["mine"].forgotten_at, now["mine"].apart) == (later(5), True)
    assert plan.repeated == 1


def test_what_is_rejected_in_one_project_waits_in_the_other_and_stands_apart():
    refused = memory("refused", scope=NEW, status="rejected")
    plan = plan_move([memory("live", scope=OLD, approved_by="alex")], [refused], [], NEW, request())
    now = after(plan)["live"]

    assert plan.held == 1
    assert (now.status, now.held_for, now.approved_by, now.apart) == ("pending", "conflict", "", True)


def test_a_rejection_keeps_its_text_from_what_is_out_of_use():
    refused = memory("refused", scope=NEW, status="rejected", created_at=later(1))
    gone = memory("gone", scope=OLD, forgotten_at=START, seen=4)
    now = after(plan_move([gone], [refused], [], NEW, request(now=later(5))))

    assert "refused" not in now
    assert (now["gone"].apart, now["gone"].forgotten_at) == (True, START)


def test_of_two_rejections_of_one_text_the_older_keeps_it():
    old = memory("z", scope=OLD, status="rejected")
    new = memory("a", scope=NEW, status="rejected", created_at=later(1))
    now = after(plan_move([old], [new], [], NEW, request(now=later(5))))

    assert (now["z"].apart, now["a"].apart) == (False, True)


@pytest.mark.parametrize("first", ["old", "new"])
def test_of_two_texts_under_one_key_the_last_word_stays(first):
    said = {"old": memory("old", scope=OLD, key="deploy"), "new": memory("new", scope=NEW, key="deploy")}
    last = next(name for name in said if name != first)
    said[last] = memory(last, "We deploy on Mondays", scope=said[last].scope, key="deploy", updated_at=later(1))
    plan = plan_move([said["old"]], [said["new"]], [], NEW, request(now=later(5)))
    now = {**said, **after(plan)}

    assert (plan.replaced, plan.repeated) == (1, 0)
    assert (now[first].replaced_by, now[first].apart) == (last, True)
    assert (now[last].replaced_by, now[last].apart) == ("", False)


def test_what_waits_under_a_key_hides_nothing_and_what_is_forgotten_is_not_replaced():
    waits = memory("waits", "We deploy on Mondays", scope=OLD, key="deploy", status="pending")
    gone = memory("gone", scope=NEW, key="deploy", forgotten_at=START)
    now = after(plan_move([waits], [gone], [], NEW, request(now=later(5))))

    assert (now["gone"].replaced_by, now["gone"].apart, now["waits"].replaced_by) == ("", True, "")


def test_several_repeats_and_replacements_are_counted_each():
    texts = {"a": "We deploy on Fridays", "b": "Lint with ruff"}
    moving = [memory(f"o{id}", text, scope=OLD, created_at=later(1)) for id, text in texts.items()]
    there = [memory(f"n{id}", text, scope=NEW) for id, text in texts.items()]
    for key in ("port", "host"):
        moving.append(memory(f"o{key}", f"The {key} is old", scope=OLD, key=key))
        there.append(memory(f"n{key}", f"The {key} is new", scope=NEW, key=key, updated_at=later(2)))
    plan = plan_move(moving, there, [], NEW, request(now=later(5)))

    assert (plan.repeated, plan.replaced, plan.held) == (2, 2, 0)


def test_the_one_that_stays_is_never_made_to_point_at_itself():
    first = memory("first", scope=NEW, replaced_by="twin", status="promoted")
    twin = memory("twin", scope=OLD, created_at=later(1), forgotten_at=START)
    plan = plan_move([twin], [first], [], NEW, request(now=later(5)))

    assert after(plan).get("first", first).replaced_by == "twin"


def test_an_approved_memory_that_only_gains_weight_needs_no_confirmation():
    approved = memory("a", scope=NEW, tier=3, kind="rule", approved_by="alex")
    plan = plan_move([memory("b", scope=OLD, created_at=later(1))], [approved], [], NEW, request(now=later(5)))

    assert after(plan)["a"].seen == 2
    assert plan.curated == 0
    waiting = memory("c", scope=OLD, tier=3, kind="rule", status="pending")
    assert plan_move([waiting], [], [], NEW, request()).curated == 0


@pytest.mark.parametrize(("number", "told"), [(1, "1 approved memory moves"), (2, "2 approved memories move")])
def test_who_is_asked_to_confirm_is_told_how_many_approved_memories_move(number, told):
    rules = [memory(f"r{n}", f"Rule number {n}", scope=OLD, tier=3, kind="rule") for n in range(number)]

    with pytest.raises(Unconfirmed, match=told):
        carry_out(plan_move(rules, [], [], NEW, request()), "merge", request(), sources=[OLD], into=NEW)
