"""What follows for staged memories from what became of their branches, and which are staged at all."""

from collections.abc import Sequence

import pytest

from engram.model.caller import Caller
from engram.model.change import Change
from engram.model.evidence import Fate
from engram.model.memory import CURATED, Memory, standing
from engram.model.record import replace
from engram.model.relation import Relation
from engram.model.scope import GLOBAL, Scope
from engram.rules.kinds import TABLE
from engram.rules.policy import Policy
from engram.rules.proposals import Proposal
from engram.rules.routing import Beside
from engram.rules.settling import ANYWHERE, settle, staged_on
from rules.world import START, World, memory, request

HERE = Scope("project", "api")
BRANCH = "github.com/acme/api#feature"


def staged(text: str = "We retry five times", **fields: object) -> Memory:
    said = {"tier": 1, "kind": "decision", "held_for": "unmerged_branch", "branch": BRANCH}
    return memory("memory-1", text, status="pending", **said | fields)


def settled(fate: Fate, one: Memory, policy: Policy | None = None, **beside: object) -> Memory:
    change = settle([one], {one.id: fate}, {one.id: Beside(**beside)}, policy or Policy(), request())  # type: ignore[arg-type]
    assert isinstance(change, Change)
    return next(each for each in change.puts if isinstance(each, Memory) and each.id == one.id)


@pytest.mark.parametrize("kind", TABLE, ids=lambda kind: kind.name)
def test_what_is_about_a_person_or_curated_is_staged_on_no_branch(kind: object):
    name = kind.name  # type: ignore[attr-defined] # a Kind
    branch = staged_on(Proposal("x", kind=name, scope=HERE), HERE, BRANCH, Policy())

    assert bool(branch) is (name not in ANYWHERE and kind.tier != CURATED)  # type: ignore[attr-defined] # a Kind


@pytest.mark.parametrize(
    ("proposal", "home", "view", "policy"),
    [
        (Proposal("x", scope=GLOBAL), HERE, BRANCH, Policy()),
        (Proposal("x", scope=Scope("project", "other")), HERE, BRANCH, Policy()),
        (Proposal("x", scope=HERE), None, BRANCH, Policy()),
        (Proposal("x", scope=HERE), HERE, "", Policy()),
        (Proposal("x", scope=HERE), HERE, BRANCH, Policy(staging=False)),
        (Proposal("x", scope=HERE, learned_by="import"), HERE, BRANCH, Policy()),
    ],
    ids=["global", "another project", "no project", "the default branch", "switched off", "brought in"],
)
def test_only_what_is_made_on_a_branch_of_this_project_is_staged(
    proposal: Proposal, home: Scope | None, view: str, policy: Policy
):
    assert staged_on(proposal, home, view, policy) == ""
    assert staged_on(Proposal("x", scope=HERE), HERE, BRANCH, Policy()) == BRANCH


def test_a_staged_memory_is_live_for_its_own_branch_alone():
    one = staged()

    assert standing(one, START, BRANCH) == "live"
    assert standing(one, START, "github.com/acme/api#other") == standing(one, START) == "staged"


def test_what_was_merged_goes_live_by_itself():
    after = settled(Fate("merged"), staged())

    assert (after.status, after.held_for, after.branch, after.approved_by) == ("promoted", "", "", "")


def test_a_merge_approves_nothing():
    rival = memory("memory-2", "The api port is 9090")

    assert settled(Fate("merged"), staged("The api port is 8080"), rivals=(rival,)).held_for == "conflict"
    assert settled(Fate("merged"), staged(kind="rule", tier=CURATED)).held_for == "curated_kind"
    assert settled(Fate("merged"), staged(), Policy(review_all=True)).held_for == "review_all"
    waits = settled(Fate("merged"), staged(), Policy(autopromote=False))
    assert (waits.status, waits.held_for, waits.branch) == ("pending", "", "")


def test_a_merge_rewords_nothing_that_a_person_reworded_meanwhile():
    mine = memory("memory-2", "We retry twice", kind="decision", origin="said", source="manual")
    after = settled(Fate("merged"), staged(amends=mine.id), amended=mine, base=replace(mine, text="We retry"))

    assert (after.status, after.held_for, after.branch) == ("pending", "edits_curated_node", "")


def test_what_was_lost_waits_for_a_person_and_is_live_nowhere():
    after = settled(Fate("lost"), staged())

    assert (after.status, after.held_for, after.branch) == ("pending", "deleted_branch", "")
    assert standing(after, START, BRANCH) == standing(after, START) == "pending"


def test_what_got_another_branch_goes_with_it():
    assert settled(Fate("renamed", branch="r#new"), staged()).branch == "r#new"


def test_an_open_branch_changes_nothing():
    one = staged()

    assert settle([one], {one.id: Fate("open")}, {}, Policy(), request()) is None
    assert settle([one], {}, {}, Policy(), request()) is None


def test_a_view_only_narrows_and_is_nobodys_argument():
    world = World(home=HERE)
    caller = Caller(owner="alex", view=BRANCH)
    made = world.as_(caller).remember("We retry five times")
    seen = {
        view: [hit.memory.id for hit in world.as_(caller._replace(view=view)).recall("retry", words=True).hits]
        for view in (BRANCH, "", "github.com/acme/api#other")
    }

    assert made.outcome == "staged"
    assert seen == {BRANCH: [made.memory.id], "": [], "github.com/acme/api#other": []}


# --- several at once, and what is known beside ---


def all_settled(*ones: Memory, **beside: Beside) -> tuple[Memory, ...]:
    change = settle(ones, {one.id: Fate("merged") for one in ones}, beside, Policy(), request())
    return change.puts if change else ()  # type: ignore[return-value] # memories alone


def test_everything_of_a_branch_goes_live_together():
    one, two = staged(), replace(staged("We log every retry"), id="memory-2")

    assert [(each.id, each.status) for each in all_settled(one, two)] == [
        ("memory-1", "promoted"),
        ("memory-2", "promoted"),
    ]


def test_what_is_known_already_waits_for_a_person():
    after = settled(Fate("merged"), staged(), twins=(memory("memory-2", "We retry five times"),))

    assert (after.status, after.held_for, after.branch) == ("pending", "conflict", "")


def test_a_change_is_made_to_what_it_changes():
    old = memory("memory-9", "We retry thrice", tier=1, kind="decision")
    beside = Beside(amended=old, base=old)
    new, done = all_settled(staged(amends=old.id), **{"memory-1": beside})

    assert (new.id, new.text, new.status) == (old.id, "We retry five times", "promoted")
    assert (done.status, done.replaced_by) == ("promoted", old.id)


def verdict(replacer: Memory, other: Memory, **said: object) -> tuple[Relation, Memory]:
    ends = {"from_id": replacer.id, "to_id": other.id, "created_at": START, "updated_at": START}
    return Relation(id=f"{replacer.id}~{other.id}", kind="supersedes", **ends | said), other  # type: ignore[arg-type]


def after_merge(*verdicts: tuple[Relation, Memory], ones: Sequence[Memory], **more: object) -> dict[str, Memory]:
    said = {one.id: Beside(verdicts=tuple(v for v in verdicts if v[0].from_id == one.id), **more) for one in ones}
    puts = all_settled(*ones, **said)
    assert len({each.id for each in puts}) == len(puts), "no record is written twice"
    return {each.id: each for each in puts}


def test_a_verdict_on_what_was_merged_takes_effect_and_no_contradiction_with_what_goes_is_left():
    one, old = staged("The api port is 8080"), memory("old", "The api port is 9090")
    after = after_merge(verdict(one, old), ones=[one], rivals=(old,))

    assert (after[one.id].status, after["old"].replaced_by, after["old"].revision) == ("promoted", one.id, 2)
    assert after[f"{one.id}~old"].status == "judged"


def test_an_agents_verdict_against_a_persons_word_stays_a_proposal_whoever_settles():
    one, old = staged(), memory("old", origin="said", source="manual")

    assert set(after_merge(verdict(one, old), ones=[one])) == {one.id}
    assert set(after_merge(verdict(one, old, approved_by="alex"), ones=[one])) == {one.id, "old", f"{one.id}~old"}


def test_what_is_not_live_by_the_merge_replaces_nothing():
    old = memory("old")
    for one in (staged(kind="rule", tier=CURATED), staged(amends="memory-9")):
        assert "old" not in after_merge(verdict(one, old), ones=[one], amended=memory("memory-9"))
    one = staged()
    beside = {one.id: Beside(verdicts=(verdict(one, old),))}
    change = settle([one], {one.id: Fate("merged")}, beside, Policy(autopromote=False), request())
    assert change is not None
    assert [each.id for each in change.puts] == [one.id]


def test_what_goes_live_by_the_same_merge_may_be_replaced_at_once_and_no_ring_hides_all():
    a, b, c = (replace(staged(text), id=id) for id, text in (("a", "One"), ("b", "Two"), ("c", "Three")))
    after = after_merge(verdict(a, b), verdict(b, c), verdict(c, a), ones=[a, b, c])

    assert [(after[id].status, after[id].replaced_by) for id in "abc"] == [
        ("promoted", "c"),
        ("promoted", "a"),
        ("promoted", ""),
    ]
    assert {after[id].revision for id in "abc"} == {2}
    assert "b~c" not in after, "what is out of use replaces nothing"
    both = after_merge(verdict(a, memory("old")), verdict(b, memory("old")), ones=[a, b])
    assert both["old"].replaced_by == "a"


def test_of_two_changes_to_one_memory_the_second_stays_where_it_is():
    old = memory("memory-9", "We retry thrice", tier=1, kind="decision")
    beside = Beside(amended=old, base=old)
    first, second = staged(amends=old.id), replace(staged("We never retry", amends=old.id), id="memory-2")
    put = all_settled(first, second, **{"memory-1": beside, "memory-2": beside})

    assert [each.id for each in put] == ["memory-9", "memory-1"]
