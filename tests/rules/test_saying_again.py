"""What becomes of words that bear on a known memory, decided without a store: revised, repeated, back again."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from engram.errors import Conflict, Forbidden
from engram.model.caller import Caller
from engram.model.memory import Citation, Context, Memory, standing
from engram.model.record import replace
from engram.model.scope import Scope
from engram.rules.admission import Admission, Known, admit, require_free_text, require_not_rejected, revise
from engram.rules.lifecycle import promote
from engram.rules.policy import Policy
from engram.rules.proposals import Proposal
from rules.world import AGENT, PERSON, START, memory, request

TEXT, OTHER_TEXT = "We deploy on Fridays", "We ship whenever the build is green"
NOW = START + timedelta(days=1)
BRANCH = "acme/api@feature"
AUTO = Policy()


def later(days: float) -> datetime:
    return START + timedelta(days=days)


def said(
    known: Known,
    *,
    caller: Caller = AGENT,
    confirmed: str = "",
    policy: Policy = AUTO,
    now: datetime = NOW,
    **fields,
) -> Admission:
    return admit(
        Proposal(**({"text": TEXT} | fields)), known, policy, request(caller, confirmed=confirmed, now=now)
    )


def again(old: Memory, **more: Any) -> Memory:
    """What becomes of a memory whose text is said again."""
    found = said(Known(twins=(old,)), **more)
    assert found.memory.id == old.id
    return found.memory


def revised(
    old: Memory,
    known: Known | None = None,
    *,
    caller: Caller = AGENT,
    confirmed: str = "",
    policy: Policy = AUTO,
    anew: bool = False,
    **fields: Any,
) -> Admission:
    proposal = Proposal(**({"text": old.text} | fields))
    asked = request(caller, confirmed=confirmed, now=NOW)
    return revise(old, proposal, known or Known(), policy, asked, anew=anew)


def approved(**fields: Any) -> Memory:
    return memory(text="My name is Alex", **({"tier": 3, "kind": "identity", "approved_by": "alex"} | fields))


# --- what was rejected, and what is taken ---


def test_rejected_text_stays_out_and_the_rejection_is_named():
    for name, fields in (("memory-1", {}), ("mem-0007", {"handle": "mem-0007"})):
        with pytest.raises(Conflict, match=rf"rejected before \({name}\)"):
            said(Known(twins=(memory(status="rejected", **fields),)))


def test_a_rejection_of_the_words_of_what_is_live_keeps_nobody_from_saying_them_again():
    refused = memory("no", status="rejected", apart=True)

    for known in (Known(twins=(refused, memory())), Known(memory(key="deploy"), (refused, memory(key="deploy")))):
        found = said(known, key="deploy" if known.keyed else "")
        assert (found.memory.id, found.outcome, found.memory.seen) == ("memory-1", "repeated", 2)


@pytest.mark.parametrize(
    ("fields", "how"),
    [
        ({"forgotten_at": START}, {}),
        ({"replaced_by": "memory-2"}, {}),
        ({"valid_until": START}, {}),
        ({"decay": "1h"}, {}),
        ({"status": "pending"}, {}),
        ({"key": "other"}, {"key": "deploy"}),
        ({}, {"apart": True}),
    ],
)
def test_a_rejection_stands_where_the_words_would_come_back_or_become_another_memory(fields, how):
    refused = memory("no", status="rejected", apart=True)
    with pytest.raises(Conflict, match="rejected before"):
        said(Known(twins=(refused, memory(**fields))), **how)


def test_another_kind_that_was_rejected_for_known_words_leaves_the_words():
    refused = memory("no", status="rejected", amends="memory-1")

    require_not_rejected(Known(twins=(memory(), refused)))
    with pytest.raises(Conflict):
        require_not_rejected(Known(twins=(refused, memory("another"))))
    with pytest.raises(Conflict):
        require_not_rejected(Known(twins=(memory(), memory("no", status="rejected"))))


def test_a_text_by_which_another_memory_goes_is_not_free():
    free = memory("old", "Older words")

    with pytest.raises(Conflict, match="memory-1 says that already"):
        require_free_text(free, TEXT, Known(twins=(memory(),)))
    with pytest.raises(Conflict, match="mem-0007 says"):
        require_free_text(free, TEXT, Known(twins=(memory(handle="mem-0007"),)))


@pytest.mark.parametrize("fields", [{"key": "k"}, {"apart": True}, {"amends": "x"}])
def test_who_goes_by_something_else_takes_a_text_from_nobody_and_keeps_it_from_nobody(fields):
    require_free_text(memory("old", "Older words", **fields), TEXT, Known(twins=(memory(),)))
    require_free_text(memory("old", "Older words"), TEXT, Known(twins=(memory(**fields),)))


def test_ones_own_text_is_always_free():
    require_free_text(memory(), TEXT, Known(twins=(memory("twin"),)))
    require_free_text(memory(text="Older words"), TEXT, Known(twins=(memory(),)))
    require_free_text(memory(), f"{TEXT}.", Known(twins=(memory("no", status="rejected"),)))


# --- a revision ---


def test_what_is_rejected_or_forgotten_is_not_revised_unless_it_is_said_anew():
    for name, fields in (("memory-1", {}), ("mem-0007", {"handle": "mem-0007"})):
        with pytest.raises(Conflict, match=f"{name} was rejected"):
            revised(memory(status="rejected", **fields), tags=("a",))
        with pytest.raises(Conflict, match=f"{name} is forgotten"):
            revised(memory(forgotten_at=START, **fields), tags=("a",))
    assert revised(memory(forgotten_at=START), text=OTHER_TEXT, anew=True).memory.forgotten_at is None


def test_other_words_under_the_key_of_what_is_forgotten_hold_when_they_say_and_not_when_the_old_ones_did():
    held = {"key": "deploy", "valid_from": START, "valid_until": later(2)}
    back = revised(memory(forgotten_at=START, **held), text=OTHER_TEXT, anew=True).memory
    until = revised(memory(forgotten_at=START, **held), text=OTHER_TEXT, anew=True, valid_until=later(9)).memory
    known = revised(memory(**held), text=OTHER_TEXT, anew=True).memory

    assert (back.valid_from, back.valid_until) == (None, None)
    assert (until.valid_from, until.valid_until) == (None, later(9))
    assert (known.valid_from, known.valid_until) == (START, later(2))


@pytest.mark.parametrize("caller", [AGENT, PERSON])
def test_other_words_under_the_key_of_what_is_expired_are_live_and_hold_when_they_say(caller):
    held = {"key": "freeze", "valid_from": START, "valid_until": NOW}
    back = revised(memory(**held), text=OTHER_TEXT, anew=True, caller=caller).memory
    until = revised(memory(**held), text=OTHER_TEXT, anew=True, caller=caller, valid_until=later(90)).memory

    assert (back.valid_from, back.valid_until, standing(back, NOW)) == (None, None, "live")
    assert (until.valid_from, until.valid_until, standing(until, NOW)) == (None, later(90), "live")
    assert revised(memory(**held), text=OTHER_TEXT, caller=PERSON).memory.valid_until == NOW


def test_a_memory_keeps_its_key_and_what_has_none_may_get_one_that_is_free():
    assert revised(memory(key="deploy"), tags=("a",)).memory.key == "deploy"
    assert revised(memory(key="deploy"), key="deploy", tags=("a",)).memory.key == "deploy"
    assert revised(memory(), key="deploy", tags=("a",)).memory.key == "deploy"
    assert revised(memory(), Known(keyed=memory()), key="deploy", tags=("a",)).memory.key == "deploy"
    for name, fields in (("memory-1", {}), ("mem-0007", {"handle": "mem-0007"})):
        with pytest.raises(Conflict, match=f"{name} goes by the key deploy"):
            revised(memory(key="deploy", **fields), key="ship")
        holder = memory(**fields)
        with pytest.raises(Conflict, match=f"{name} has the key ship"):
            revised(memory("old"), Known(keyed=holder), key="ship")


def test_weight_alone_moves_in_place_and_is_no_approval():
    waits = revised(memory(status="pending", held_for="conflict"), importance=9)
    staged = revised(memory(status="pending", held_for="unmerged_branch", branch=BRANCH), importance=9)

    assert (waits.outcome, waits.memory.status, waits.memory.held_for) == ("held", "pending", "conflict")
    assert (staged.outcome, staged.memory.branch) == ("revised", BRANCH)
    assert (revised(memory(), importance=9).outcome, revised(memory(), importance=9).memory.verified_at) == (
        "revised",
        None,
    )
    assert revised(approved(), importance=9).outcome == "revised"
    assert revised(approved(), caller=PERSON, valid_until=later(9)).outcome == "revised"
    assert revised(memory(), valid_until=later(9)).memory.valid_until == later(9)
    assert revised(approved(status="pending"), valid_until=later(9)).memory.valid_until == later(9)


def test_the_same_weight_said_anew_is_judged_like_any_word():
    found = revised(memory(status="pending", held_for="conflict"), importance=9, anew=True)

    assert (found.outcome, found.memory.status) == ("revised", "promoted")


def test_an_edit_of_what_is_curated_and_live_is_proposed_and_elsewhere_made_in_place():
    found = revised(approved(), text="My name is Alexandra")
    waits = found.memory

    assert (found.outcome, waits.status, waits.held_for) == ("proposed", "pending", "edits_curated_node")
    assert (waits.id, waits.amends, waits.key, waits.seen, waits.revision) == ("fresh-id", "memory-1", "", 1, 1)
    assert (waits.created_at, waits.verified_at, waits.approved_by, waits.handle) == (NOW, None, "", "")
    confirmed = revised(approved(), text="My name is Alexandra", caller=PERSON, confirmed="flag")
    assert (confirmed.outcome, confirmed.memory.id, confirmed.memory.verified_at) == ("revised", "memory-1", NOW)
    for out in ({"forgotten_at": START}, {"replaced_by": "x"}, {"status": "pending"}):
        held = revised(approved(**out), text="My name is Alexandra", anew=True)
        assert (held.outcome, held.memory.id, held.memory.held_for) == ("held", "memory-1", "curated_kind")


def test_what_waits_goes_on_waiting_when_its_words_change_unless_a_person_confirms():
    waits = memory(status="pending", held_for="conflict")

    still = revised(waits, text=OTHER_TEXT)
    assert (still.outcome, still.memory.status, still.memory.held_for) == ("held", "pending", "conflict")
    assert revised(waits, text=OTHER_TEXT, caller=PERSON, confirmed="flag").memory.status == "promoted"
    assert revised(waits, text=OTHER_TEXT, anew=True).memory.status == "promoted"
    assert revised(memory(), text=OTHER_TEXT).memory.status == "promoted"
    on_branch = revised(waits, text=OTHER_TEXT, branch=BRANCH)
    assert (on_branch.memory.held_for, on_branch.memory.branch) == ("conflict", "")
    curated = revised(waits, text=OTHER_TEXT, kind="identity")
    assert curated.memory.held_for == "curated_kind"


def test_a_person_alone_changes_the_words_that_nobody_vouches_for():
    doubted = memory(status="pending", held_for="untrusted_origin")

    with pytest.raises(Forbidden, match="change the words of"):
        revised(doubted, text=OTHER_TEXT)
    assert revised(doubted, text=OTHER_TEXT, caller=PERSON).memory.held_for == "untrusted_origin"
    assert revised(doubted, importance=9).memory.importance == 9


def test_an_agent_that_rewords_what_nobody_vouches_for_is_not_believed():
    doubted = memory("doubted", status="pending", held_for="untrusted_origin", source="web:example.org")
    known = Known(doubted=(doubted,))
    reworded = {"text": "On Fridays we deploy"}

    held = said(known, **reworded)
    assert (held.outcome, held.memory.held_for, held.memory.source) == (
        "held",
        "untrusted_origin",
        "web:example.org",
    )
    assert said(known, caller=PERSON, **reworded).outcome == "new"
    proposed = revised(memory(text=OTHER_TEXT), known, **reworded)
    assert (proposed.outcome, proposed.memory.held_for) == ("proposed", "untrusted_origin")
    assert revised(memory(), known, tags=("a",)).outcome == "revised"


def test_a_revision_on_a_branch_stays_there():
    staged = memory(status="pending", held_for="unmerged_branch", branch=BRANCH)
    moved = revised(staged, text=OTHER_TEXT, branch="acme/api@other", anew=True)

    assert (moved.outcome, moved.memory.branch) == ("revised", "acme/api@other")
    still = revised(staged, text=OTHER_TEXT)
    assert (still.outcome, still.memory.held_for, still.memory.branch) == ("revised", "unmerged_branch", BRANCH)
    live = revised(memory(), text=OTHER_TEXT, branch=BRANCH)
    assert (live.outcome, live.memory.branch, live.memory.held_for) == ("proposed", BRANCH, "unmerged_branch")


def test_a_proposal_made_before_in_the_same_words_is_counted():
    waits = memory("waits", "My name is Alexandra", amends="memory-1", status="pending", tier=3, kind="identity")
    found = revised(approved(), Known(twins=(waits,)), text="My name is Alexandra")

    assert (found.outcome, found.memory.id, found.memory.seen) == ("repeated", "waits", 2)
    for other in ({"amends": "x"}, {"status": "promoted"}, {"forgotten_at": START}, {"tags": ("a",)}):
        twin = memory("waits", "My name is Alexandra", **({"amends": "memory-1", "status": "pending", "tier": 3,
                      "kind": "identity"} | other))  # fmt: skip
        assert revised(approved(), Known(twins=(twin,)), text="My name is Alexandra").outcome == "proposed"


def test_an_agent_that_changes_its_mind_has_one_proposal_of_its_newest_words():
    old = memory(key="deploy", approved_by="alex", tags=("ops",))
    first = replace(revised(old, text="In other words", summary="Others", tags=("ops", "a")).memory, id="first")
    found = revised(old, Known(proposals=(first,)), text="In quite other words", tags=("ops", "b"))

    after = found.memory
    assert (found.outcome, after.id, after.amends, after.text) == (
        "proposed",
        "first",
        old.id,
        "In quite other words",
    )
    assert (after.summary, after.tags, after.held_for) == ("", ("ops", "a", "b"), "edits_curated_node")
    only_tags = revised(old, Known(proposals=(first,)), tags=("c",)).memory
    assert (only_tags.id, only_tags.text, only_tags.tags) == ("first", "In other words", ("a", "c"))


@pytest.mark.parametrize(
    "whose",
    [
        {"actor": "kim"},
        {"context": Context(agent="another")},
        {"origin": "said", "source": "manual"},
        {"held_for": "untrusted_origin"},
        {"held_for": "unmerged_branch", "branch": BRANCH},
        {"amends": "another"},
        {"forgotten_at": START},
    ],
)
def test_no_agent_rewords_what_another_proposed_or_nobody_vouches_for(whose):
    old = memory(approved_by="alex")
    fields = {"amends": old.id, "status": "pending", "actor": AGENT.actor} | whose
    waits = Known(proposals=(memory("first", "In other words", **fields),))

    assert revised(old, waits, text="In quite other words").memory.id == "fresh-id"
    mine = Known(proposals=(memory("first", "In other words", amends=old.id, status="pending", actor=AGENT.actor),))
    assert revised(old, mine, text="In quite other words").memory.id == "first"
    assert revised(old, mine, text="In quite other words", trusted=False).memory.id == "fresh-id"


def test_what_waits_by_itself_is_counted_when_an_agent_proposes_the_same_for_a_persons_memory():
    old = memory(key="deploy", approved_by="alex")
    waits = memory("waits", OTHER_TEXT, status="pending", held_for="conflict")

    found = said(Known(keyed=old, twins=(waits,), rivals=(old,)), key="deploy", text=OTHER_TEXT)
    assert (found.outcome, found.memory.id, found.memory.seen, found.memory.key) == ("repeated", "waits", 2, "")
    for other in ({"key": "k"}, {"apart": True}, {"amends": "x"}, {"status": "rejected", "amends": "memory-1"}):
        twin = Known(keyed=old, twins=(replace(waits, **other), old), rivals=(old,))
        assert said(twin, key="deploy", text=OTHER_TEXT).outcome == "proposed"
    named = revised(old, Known(twins=(waits,), rivals=(old,)), text=OTHER_TEXT)
    assert (named.outcome, named.memory.amends) == ("proposed", old.id)


def test_what_waited_in_the_words_that_go_live_under_a_key_becomes_part_of_that():
    old = memory(key="deploy", seen=2)
    waits = memory("waits", OTHER_TEXT, status="pending", held_for="conflict", seen=3)

    found = said(Known(keyed=old, twins=(waits,)), key="deploy", text=OTHER_TEXT)
    after, done = found.change.puts
    assert (found.outcome, after.id, after.text, after.seen) == ("revised", "memory-1", OTHER_TEXT, 5)
    assert (done.id, done.status, done.amends, done.replaced_by) == ("waits", "promoted", "memory-1", "memory-1")
    assert found.change.claims["waits"] == ()
    for firm in (
        {"tier": 3, "kind": "identity"},
        {"origin": "said", "source": "manual"},
        {"forgotten_at": START},
        {"held_for": "unmerged_branch", "branch": BRANCH},
    ):
        left = said(Known(keyed=old, twins=(replace(waits, **firm),)), key="deploy", text=OTHER_TEXT)
        assert [each.id for each in left.change.puts] == ["memory-1"]


def test_what_waits_because_a_person_forgot_it_is_not_let_out_as_other_words_of_something_else():
    waits = memory("waits", OTHER_TEXT, status="pending", held_for="forgotten_before", forgotten_by="alex")

    with pytest.raises(Conflict, match="A person forgot this text before") as refused:
        said(Known(keyed=memory(key="deploy"), twins=(waits,)), key="deploy", text=OTHER_TEXT)
    assert "engram review" in refused.value.hint


@pytest.mark.parametrize("whose", [{}, {"origin": "said", "source": "manual"}])
def test_memories_set_apart_under_one_key_are_no_rivals_unless_one_stands_firm(whose):
    five, six, seven = (f"The db port is {n}432" for n in (5, 6, 7))
    holder = memory("holder", five, key="db-port", **whose)
    sibling = memory("sibling", six, key="db-port", apart=True, **whose)

    created = said(Known(rivals=(holder,)), text=six, key="db-port", apart=True)
    assert (created.outcome, created.conflicts) == (("held", ("holder",)) if whose else ("new", ()))
    if not whose:
        updated = said(Known(keyed=holder, rivals=(holder, sibling)), text=seven, key="db-port")
        assert (updated.outcome, updated.memory.id, updated.conflicts) == ("revised", "holder", ())
    for other in ({"key": "another"}, {"apart": False}):
        rival = replace(sibling, **other)
        assert said(Known(rivals=(rival,)), text=seven, key="db-port").conflicts == ("sibling",)


def test_an_approval_puts_nothing_out_of_use_that_was_set_apart_under_its_key():
    waits = memory(text="The db port is 5433", key="db-port", apart=True, status="pending", held_for="review_all")
    holder = memory("holder", "The db port is 5432", key="db-port")

    change, _ = promote(waits, request(), rivals=[holder])
    assert [each.id for each in change.puts] == ["memory-1"]
    change, _ = promote(replace(waits, apart=False, key=""), request(), rivals=[holder])
    assert [each.id for each in change.puts] == ["memory-1", "holder"]


def test_an_approval_outlives_a_revision_only_where_it_was_one():
    live = memory(approved_by="alex", verified_at=START)

    kept = revised(live, text=OTHER_TEXT, caller=PERSON).memory
    assert (kept.approved_by, kept.verified_at) == ("alex", None)
    assert revised(live, text=OTHER_TEXT).memory.approved_by == ""
    assert revised(live, text=OTHER_TEXT, caller=PERSON, confirmed="flag").memory.approved_by == PERSON.name
    waits = memory(status="pending", approved_by="alex")
    assert revised(waits, text=OTHER_TEXT, anew=True).memory.approved_by == ""
    held = revised(live, text=OTHER_TEXT, policy=Policy(review_all=True)).memory
    assert (held.status, held.approved_by) == ("pending", "")


@pytest.mark.parametrize("other", [{"text": OTHER_TEXT}, {"summary": "Fridays"}, {"kind": "decision"}])
def test_nobody_has_verified_other_words_which_are_as_old_as_they_are(other):
    checked = memory(verified_at=START, summary="Days")

    after = revised(checked, **other).memory
    assert (after.verified_at, after.reworded_at, after.fresh_at) == (None, NOW, NOW)
    confirmed = revised(checked, caller=PERSON, confirmed="flag", **other).memory
    assert (confirmed.verified_at, confirmed.reworded_at) == (NOW, NOW)


def test_more_beside_the_same_words_leaves_them_verified_and_as_old_as_they_were():
    checked = memory(verified_at=START)

    for more in ({"tags": ("a",)}, {"importance": 9}, {"text": TEXT, "tags": ("a",), "anew": True}):
        after = revised(checked, **more).memory
        assert (after.verified_at, after.reworded_at) == (START, None)


def test_other_words_that_nobody_vouches_for_are_verified_by_no_confirmation():
    held = revised(memory(verified_at=START), text=OTHER_TEXT, caller=PERSON, confirmed="flag", trusted=False)

    assert (held.memory.status, held.memory.verified_at) == ("pending", None)


def test_a_proposal_is_as_old_as_itself_and_what_it_amends_as_the_words_it_gets():
    old = approved(reworded_at=START, verified_at=START)
    waits = revised(old, text="My name is Alexandra").memory
    assert (waits.reworded_at, waits.verified_at) == (None, None)

    asked = request(confirmed="flag", now=later(9))
    _, live = promote(waits, asked, amended=old, base=old)
    assert (live.text, live.reworded_at, live.verified_at) == ("My name is Alexandra", later(9), later(9))


def test_a_repeat_that_adds_a_summary_or_another_kind_has_other_words():
    with_summary = again(memory(verified_at=START, source="tool:remember"), summary="Fridays")
    of_a_kind = again(memory(verified_at=START), caller=PERSON, kind="decision")

    for after in (with_summary, of_a_kind):
        assert (after.verified_at, after.reworded_at) == (None, NOW)


def test_other_words_have_another_voice_and_the_same_words_keep_theirs():
    old = memory(origin="said", source="manual", confidence=1.0, summary="short", context=Context(tool="ruff"))

    new = revised(old, text=OTHER_TEXT, context=Context(tool="make")).memory
    assert (new.origin, new.source, new.confidence, new.summary) == ("inferred", "tool:remember", 0.6, "")
    assert new.context == Context(tool="make")
    assert revised(old, text=OTHER_TEXT).memory.context == Context(tool="ruff")
    tagged = revised(old, tags=("a",), context=Context(tool="make")).memory
    assert (tagged.origin, tagged.summary, tagged.context) == ("said", "short", Context(tool="ruff"))
    meant = revised(old, kind="decision", context=Context(tool="make")).memory
    assert meant.context == Context(tool="make")


def test_another_kind_brings_its_decay_and_its_care():
    new = revised(memory(decay="30d"), kind="map").memory
    assert (new.decay, new.tier, new.revision) == ("90d", 1, 2)
    assert revised(memory(decay="30d"), kind="fact", tags=("a",)).memory.decay == "30d"
    assert revised(memory(decay="30d"), kind="map", decay="7d").memory.decay == "7d"
    assert revised(memory(tier=1, kind="tooling"), tags=("a",)).memory.tier == 1
    assert revised(memory(tier=2), kind="tooling").memory.tier == 1


def test_nobody_makes_a_curated_memory_less_than_that_by_the_way():
    assert revised(approved(), kind="fact").memory.tier == 3
    assert revised(approved(), kind="fact", caller=PERSON, confirmed="flag").memory.tier == 2


# --- said again ---


def test_a_repeat_is_counted_and_says_what_it_adds():
    after = again(memory(seen=4, tags=("a",)), tags=("b",), key="deploy", summary="short", pinned=True)

    assert (after.seen, after.tags, after.key, after.summary, after.pinned) == (
        5,
        ("a", "b"),
        "deploy",
        "short",
        True,
    )
    assert again(memory(key="mine"), summary="short").key == "mine"
    assert again(memory(summary="first"), summary="second").summary == "first"
    assert again(memory(summary="first")).summary == "first"
    assert again(memory(importance=8)).importance == 8


def test_a_place_that_is_cited_again_is_pinned_to_what_was_seen_last():
    old, new = Citation("file", "a.py", "1-9", "old"), Citation("file", "a.py", "1-9", "new")
    other = Citation("file", "b.py")

    assert again(memory(citations=(old, other)), citations=(new,)).citations == (new, other)


@pytest.mark.parametrize(
    "how",
    [
        {"trusted": False},
        {"policy": Policy(review_all=True)},
        {"policy": Policy(autopromote=False), "trusted": False},
        {"policy": Policy(autopromote=False, review_all=True)},
        {"branch": BRANCH},
    ],
)
def test_who_would_have_to_wait_adds_nothing_by_saying_a_known_text(how):
    after = again(memory(), tags=("a",), key="deploy", **how)

    assert (after.seen, after.tags, after.key) == (2, (), "")


def test_where_nothing_goes_live_by_itself_a_repeat_still_adds():
    assert again(memory(), tags=("a",), policy=Policy(autopromote=False)).tags == ("a",)


def test_on_its_own_branch_a_repeat_adds_and_elsewhere_it_moves():
    staged = memory(status="pending", held_for="unmerged_branch", branch=BRANCH)

    assert again(staged, tags=("a",), branch=BRANCH).tags == ("a",)
    assert again(staged, tags=("a",), branch=BRANCH, trusted=False).tags == ()
    moved = again(staged, tags=("a",), branch="acme/api@other")
    assert (moved.tags, moved.branch) == ((), "acme/api@other")
    free = again(staged, tags=("a",))
    assert (free.status, free.branch, free.held_for, free.tags) == ("promoted", "", "", ("a",))
    held = memory(status="pending", held_for="conflict", branch=BRANCH)
    assert again(held, tags=("a",), branch=BRANCH).tags == ()


def test_an_agent_adds_nothing_to_what_is_curated_and_a_person_gives_it_a_key():
    name = {"text": "My name is Alex"}

    assert again(approved(), key="name", tags=("a",), **name).key == ""
    mine = again(approved(), key="name", tags=("a",), caller=PERSON, **name)
    assert (mine.key, mine.tags) == ("name", ())


def test_what_is_said_again_is_fresh_unless_nobody_vouches_or_it_takes_a_person():
    now = later(400)

    assert again(memory(), now=now).verified_at == now
    assert again(memory()).verified_at is None
    assert again(memory(), now=now, trusted=False).verified_at is None
    name = {"text": "My name is Alex", "now": now}
    assert again(approved(decay="180d"), **name).verified_at is None
    assert again(approved(decay="180d"), caller=PERSON, confirmed="flag", **name).verified_at == now


# --- what waits, said again ---


def waiting(**fields: Any) -> Memory:
    return memory(**({"status": "pending", "held_for": "conflict", "confidence": 0.3} | fields))


def test_what_waits_goes_live_when_someone_says_it_for_whom_it_would_not_wait():
    after = again(waiting(), caller=PERSON)

    assert (after.status, after.held_for, after.approved_by) == ("promoted", "", "")
    assert (after.origin, after.source, after.confidence) == ("said", "manual", 1.0)
    assert again(waiting(), caller=PERSON, confirmed="flag").approved_by == PERSON.name
    assert again(waiting(confidence=0.9)).confidence == 0.9


@pytest.mark.parametrize(
    ("fields", "how"),
    [
        ({"tier": 3, "kind": "identity"}, {}),
        ({"amends": "x"}, {}),
        ({"held_for": "untrusted_origin"}, {}),
        ({}, {"trusted": False}),
        ({}, {"policy": Policy(autopromote=False)}),
    ],
)
def test_what_waits_for_a_person_waits_whoever_else_says_it_again(fields, how):
    assert again(waiting(**fields), **how).status == "pending"


def test_a_person_vouches_for_what_came_from_outside():
    assert again(waiting(held_for="untrusted_origin"), caller=PERSON).status == "promoted"


def test_what_waited_is_verified_by_a_confirmed_word_and_where_it_would_be_stale_at_once():
    assert again(waiting(), caller=PERSON, confirmed="flag").verified_at == NOW
    assert again(waiting(), caller=PERSON).verified_at is None
    late = again(waiting(), caller=PERSON, now=later(400))
    assert (late.status, late.verified_at) == ("promoted", later(400))
    assert again(waiting(), trusted=False, now=later(400)).verified_at is None


def test_what_is_still_against_another_goes_on_waiting():
    port = "The api port is 9090"
    old = waiting(text=port)
    rival = memory("rival", "The api port is 8080")

    assert said(Known(twins=(old,), rivals=(rival,)), text=port, caller=PERSON).memory.status == "pending"
    confirmed = said(Known(twins=(old,), rivals=(rival,)), text=port, caller=PERSON, confirmed="flag")
    assert confirmed.memory.status == "pending"
    itself = said(Known(twins=(old,), rivals=(old,)), text=port, caller=PERSON)
    assert itself.memory.status == "promoted"


# --- what had left, said again ---


def test_what_was_forgotten_or_expired_returns_as_it_is_said_now():
    for out in ({"forgotten_at": START}, {"valid_until": START}):
        found = said(Known(twins=(memory(seen=3, key="deploy", **out),)), caller=PERSON)
        back = found.memory
        assert (found.outcome, back.id, back.seen, back.key) == ("restored", "memory-1", 4, "deploy")
        assert (back.forgotten_at, back.valid_until, back.verified_at) == (None, None, NOW)
        assert (back.origin, back.source, back.status) == ("said", "manual", "promoted")
    assert said(Known(twins=(memory(forgotten_at=START),)), key="deploy").memory.key == "deploy"


def test_what_a_person_forgot_waits_when_anybody_else_says_it_however_often():
    old = memory(forgotten_at=START, forgotten_by="alex")
    held = said(Known(twins=(old,)))

    assert (held.outcome, held.memory.held_for, held.memory.forgotten_by) == ("held", "forgotten_before", "alex")
    assert (held.memory.status, held.memory.forgotten_at) == ("pending", None)
    assert said(Known(twins=(old,)), branch=BRANCH).memory.held_for == "forgotten_before"
    assert said(Known(twins=(old,)), trusted=False).memory.held_for == "untrusted_origin"
    mined = said(Known(twins=(old,)), caller=PERSON, learned_by="harvest")
    assert mined.memory.held_for == "forgotten_before"
    assert again(held.memory).held_for == "forgotten_before"
    assert said(Known(twins=(old,)), apart=True).memory.held_for == "forgotten_before"
    assert said(Known(twins=(old,)), apart=True, kind="prompt").memory.status == "promoted"


def test_other_words_under_the_key_of_what_a_person_forgot_wait_too_however_often_they_are_said():
    gone = memory(key="deploy", forgotten_at=START, forgotten_by="alex")
    held = said(Known(keyed=gone), key="deploy", text=OTHER_TEXT)

    assert (held.outcome, held.memory.status, held.memory.held_for) == ("held", "pending", "forgotten_before")
    assert (held.memory.id, held.memory.forgotten_by) == ("memory-1", "alex")
    for other in (TEXT, OTHER_TEXT, "In quite other words"):
        again = said(Known(keyed=held.memory), key="deploy", text=other).memory
        assert (again.status, again.held_for, again.forgotten_by) == ("pending", "forgotten_before", "alex")
    unvouched = said(Known(keyed=gone), key="deploy", text=OTHER_TEXT, trusted=False).memory
    assert (unvouched.held_for, unvouched.forgotten_by) == ("untrusted_origin", "alex")
    mined = said(Known(keyed=gone), key="deploy", text=OTHER_TEXT, caller=PERSON, learned_by="harvest").memory
    assert mined.held_for == "forgotten_before"


def test_what_waits_because_a_person_forgot_it_waits_in_other_words_too_until_a_person_decides():
    waits = memory(status="pending", held_for="forgotten_before", forgotten_by="alex", key="deploy")

    for caller in (AGENT, PERSON):
        other = revised(waits, text=OTHER_TEXT, caller=caller).memory
        assert (other.status, other.held_for, other.forgotten_by) == ("pending", "forgotten_before", "alex")
        assert said(Known(keyed=other), key="deploy", text=OTHER_TEXT).memory.status == "pending"
    back = said(Known(keyed=waits), key="deploy", text=OTHER_TEXT, caller=PERSON).memory
    assert (back.status, back.held_for, back.forgotten_by) == ("promoted", "", "")


def test_what_is_said_again_is_verified_where_it_is_in_use_and_not_where_it_is_held():
    gone = memory(forgotten_at=START, verified_at=START)

    assert said(Known(twins=(gone,)), branch=BRANCH).memory.verified_at == NOW
    assert said(Known(twins=(gone,)), policy=Policy(review_all=True)).memory.verified_at == START
    put_away = replace(gone, forgotten_by="alex", verified_at=None)
    assert said(Known(twins=(put_away,))).memory.verified_at is None


def test_what_a_person_forgot_and_says_again_is_live():
    old = memory(forgotten_at=START, forgotten_by="alex")
    held = said(Known(twins=(old,))).memory

    assert said(Known(twins=(old,)), caller=PERSON).outcome == "restored"
    for back in (again(old, caller=PERSON), again(held, caller=PERSON)):
        assert (back.status, back.held_for, back.forgotten_by) == ("promoted", "", "")


def test_what_was_replaced_waits_for_a_person_and_comes_back_by_a_confirmed_word():
    old = memory(replaced_by="newer")

    waits = said(Known(twins=(old,)), caller=PERSON)
    assert (waits.outcome, waits.memory.held_for, waits.memory.replaced_by) == ("held", "conflict", "newer")
    back = said(Known(twins=(old,)), caller=PERSON, confirmed="flag")
    assert (back.outcome, back.memory.replaced_by, back.memory.approved_by) == ("restored", "", PERSON.name)
    unvouched = said(Known(twins=(old,)), trusted=False)
    assert unvouched.memory.held_for == "untrusted_origin"


def test_what_returns_on_a_branch_is_staged_there():
    found = said(Known(twins=(memory(forgotten_at=START, branch="old"),)), branch=BRANCH)

    assert (found.outcome, found.memory.held_for, found.memory.branch) == ("held", "unmerged_branch", BRANCH)
    held = said(Known(twins=(memory(forgotten_at=START),)), branch=BRANCH, policy=Policy(review_all=True))
    assert (held.memory.held_for, held.memory.branch) == ("review_all", "")


def test_what_returns_and_is_against_another_waits():
    old = memory(text="The api port is 9090", forgotten_at=START)
    rival = memory("rival", "The api port is 8080")
    found = said(Known(twins=(old,), rivals=(rival,)), text="The api port is 9090")

    assert (found.outcome, found.memory.held_for, found.conflicts) == ("held", "conflict", ("rival",))


# --- which known memory a text repeats ---


def test_a_text_repeats_the_memory_that_goes_by_it():
    plain, keyed = memory("plain"), memory("keyed", key="deploy")

    assert said(Known(twins=(keyed, plain))).memory.id == "plain"
    assert said(Known(twins=(keyed,))).memory.id == "keyed"
    assert said(Known(twins=(keyed,)), key="ship").outcome == "new"
    assert said(Known(twins=(plain,)), key="ship").memory.id == "plain"


@pytest.mark.parametrize("fields", [{"apart": True}, {"amends": "x", "status": "promoted"}])
def test_what_stands_apart_or_was_applied_is_not_repeated(fields):
    assert said(Known(twins=(memory(**fields),))).outcome == "new"


def test_a_proposal_that_waits_is_repeated_unless_a_key_is_said():
    waits = memory(amends="x", status="pending")

    assert said(Known(twins=(waits,))).outcome == "repeated"
    assert said(Known(twins=(waits,)), key="ship").outcome == "new"
    assert said(Known(twins=(memory(),)), apart=True).outcome == "new"


def test_the_same_words_meant_as_another_kind_are_so_by_a_persons_word():
    assert (again(memory(), kind="decision", caller=PERSON).kind, again(memory(), kind="decision").kind) == (
        "decision",
        "fact",
    )
    meant = again(memory(decay="30d"), kind="map", caller=PERSON, citations=(Citation("file", "a.py"),))
    assert (meant.tier, meant.decay) == (1, "90d")
    assert again(memory(), kind="map", decay="7d", caller=PERSON).decay == "7d"
    assert again(memory(), kind="decision", kind_if_new=True, caller=PERSON).kind == "fact"
    assert again(memory(), caller=PERSON).kind == "fact"


def test_the_same_words_become_curated_by_a_confirmed_word_only():
    assert again(memory(), kind="rule", caller=PERSON).kind == "fact"
    sure = again(memory(), kind="rule", caller=PERSON, confirmed="flag")
    assert (sure.kind, sure.tier, sure.approved_by) == ("rule", 3, PERSON.name)
    plain = again(memory(), kind="decision", caller=PERSON, confirmed="flag")
    assert (plain.kind, plain.approved_by) == ("decision", "")


# --- new ---


def test_what_is_new_takes_its_defaults_from_who_says_it_where():
    project = Scope("project", "api")
    caller = AGENT._replace(session="monday")

    assert said(Known(), scope=project, policy=Policy(visibility="shared")).memory.visibility == "shared"
    assert said(Known(), policy=Policy(visibility="shared")).memory.visibility == "private"
    assert said(Known(), caller=caller).memory.session == "monday"
    assert said(Known(), caller=caller, session="tuesday").memory.session == "tuesday"
    outside = said(Known(), caller=PERSON, trusted=False).memory
    assert (outside.origin, outside.confidence, outside.source) == ("inferred", 0.6, "manual")
    assert said(Known(), origin="said", source="web:x").memory.origin == "said"


def test_what_is_held_is_held_for_the_gravest_reason():
    every = {"kind": "rule", "policy": Policy(review_all=True), "branch": BRANCH}

    assert said(Known(), trusted=False, **every).memory.held_for == "untrusted_origin"
    assert said(Known(), **every).memory.held_for == "curated_kind"
    assert said(Known(), **every | {"kind": "fact"}).memory.held_for == "review_all"
    staged = said(Known(), branch=BRANCH)
    assert (staged.outcome, staged.memory.held_for, staged.memory.branch) == ("staged", "unmerged_branch", BRANCH)
    assert said(Known(), policy=Policy(autopromote=False)).memory.held_for == ""
    assert said(Known(), **every).memory.branch == ""


def test_only_what_says_otherwise_is_a_rival_and_it_is_told_why():
    rivals = (memory("same", "The api port is 9090"), memory("other", "The api port is 8080"))
    found = said(Known(rivals=rivals), text="The api port is 9090")

    assert (found.outcome, found.conflicts, found.why) == ("held", ("other",), "number: 8080 → 9090")
    assert said(Known(rivals=rivals[:1]), text="The api port is 9090").why == ""


def test_other_words_under_a_key_are_said_anew_whatever_became_of_the_old_ones():
    for out in ({"forgotten_at": START}, {"status": "pending", "held_for": "conflict"}):
        found = said(Known(keyed=memory(key="deploy", **out)), text=OTHER_TEXT, key="deploy")
        assert (found.outcome, found.memory.id, found.memory.status) == ("revised", "memory-1", "promoted")
        assert (found.memory.text, found.memory.forgotten_at) == (OTHER_TEXT, None)


def test_the_repository_goes_with_what_is_cited():
    here, there = Context(repo="here"), Context(repo="there")
    cited, other = (Citation("file", each) for each in ("a.py", "b.py"))

    def repo(old: Context, said: Context, *, citing: bool = True, **fields: Any) -> str:
        known = memory(context=old, citations=(cited,) if citing else ())
        return revised(known, text=OTHER_TEXT, context=said, **fields).memory.context.repo

    assert repo(here, there) == "here"
    assert repo(Context(), there) == "there"
    assert repo(here, there, citations=(other,)) == "there"
    assert repo(here, there, citations=(cited,)) == "here"
    assert repo(here, Context(branch="x"), citations=(other,)) == "here"
    assert repo(here, there, branch="there#x") == "there"
    assert repo(here, there, citations=(other,), citing=False) == "there"


def test_a_repeat_that_cites_something_brings_the_repository_where_none_was_known():
    here, there = Context(repo="here"), Context(repo="there")
    cited = (Citation("file", "a.py"),)

    def repo(old: Context, said: Context, citations: tuple[Citation, ...] | None) -> str:
        known = memory(context=old)
        proposal = Proposal(known.text, context=said, citations=citations)
        return admit(proposal, Known(twins=(known,)), AUTO, request(AGENT, now=NOW)).memory.context.repo

    assert [repo(Context(), there, cited), repo(here, there, cited), repo(here, Context(), cited)] == [
        *("there", "here", "here")
    ]
    assert repo(Context(), there, None) == ""


# --- an agent's own proposal, said otherwise or taken back ---

OURS = {"amends": "memory-1", "status": "pending", "actor": AGENT.actor}


def back(found: Admission) -> list[str]:
    """The proposals that history tells of as taken back."""
    assert len({each.id for each in found.change.puts}) == len(found.change.puts)
    return found.change.draft.payload.note.get("taken_back", [])


def test_what_waits_because_nobody_vouches_for_it_is_left_when_its_words_go_live_under_a_key():
    waits = memory("waits", OTHER_TEXT, status="pending", held_for="untrusted_origin", source="web:example.org")
    gone = memory("waits", OTHER_TEXT, status="pending", held_for="forgotten_before", forgotten_by="alex")

    for twin, how in ((waits, {"caller": PERSON}), (gone, {"caller": PERSON})):
        found = said(Known(keyed=memory(key="deploy"), twins=(twin,)), key="deploy", text=OTHER_TEXT, **how)
        assert [each.id for each in found.change.puts] == ["memory-1"]


def test_an_agent_that_says_the_text_as_it_stands_takes_back_the_words_that_it_proposed():
    old = memory(key="deploy", approved_by="alex")
    words = Known(proposals=(memory("first", "In other words", **OURS),))

    for found in (revised(old, words, worded=True), said(words._replace(keyed=old), worded=True, key="deploy")):
        (gone,) = (each for each in found.change.puts if each.id == "first")
        assert (back(found), gone.forgotten_at) == (["first"], NOW)
    for how in ({}, {"worded": True, "trusted": False}, {"worded": True, "text": f"{OTHER_TEXT} too"}):
        assert back(revised(old, words, importance=3, **how)) == []


def test_an_agent_takes_back_its_own_words_alone_whatever_else_waits_before_them():
    old = memory(key="deploy", approved_by="alex")
    theirs, tags, mine = (
        memory("theirs", "In their words", **OURS | {"actor": "kim"}),
        memory("tags", tags=("a",), **OURS),
        memory("mine", "In other words", **OURS),
    )

    found = revised(old, Known(proposals=(theirs, tags, mine)), worded=True)
    assert back(found) == ["mine"]
    assert {each.id for each in found.change.puts} == {old.id, "mine"}


def test_a_proposal_that_says_more_gets_back_the_words_that_it_was_made_for_and_waits():
    old, base = memory(approved_by="alex", summary="Newer"), memory(text="As it was", summary="Older")
    waits = memory("first", "In other words", tags=("a",), **OURS)

    found = revised(old, Known(proposals=(waits,), bases={"first": base}), worded=True)
    (after,) = (each for each in found.change.puts if each.id == "first")
    assert back(found) == ["first"]
    assert (after.text, after.summary, after.tags, after.forgotten_at) == ("As it was", "Older", ("a",), None)
    lost = revised(old, Known(proposals=(waits,), bases={"first": None}), worded=True)
    (after,) = (each for each in lost.change.puts if each.id == "first")
    assert (after.text, after.tags) == (old.text, ("a",))


def test_another_kind_for_the_words_as_they_stand_takes_back_the_words_proposed_and_only_those():
    old = memory(approved_by="alex")
    words, kind = memory("first", "In other words", **OURS), memory("first", kind="decision", **OURS)

    found = revised(old, Known(proposals=(words,)), worded=True, kind="gotcha")
    assert (found.outcome, back(found)) == ("proposed", ["first"])
    assert (found.memory.id, found.memory.text, found.memory.kind) == ("first", old.text, "gotcha")
    assert back(revised(old, Known(proposals=(words,)), kind="gotcha")) == []
    assert back(revised(old, Known(proposals=(words,)), text="In quite other words")) == []
    assert back(revised(old, Known(proposals=(kind,)), worded=True, kind="gotcha")) == []


def test_a_proposal_that_is_made_anew_as_it_was_is_counted_and_one_that_says_more_is_not():
    old, base = memory(approved_by="alex"), memory(text="As it was")
    waits = Known(proposals=(memory("first", "In other words", held_for="edits_curated_node", **OURS),),
                  bases={"first": base})  # fmt: skip

    assert revised(old, waits, text="In other words").memory.seen == 2
    assert revised(old, waits, text="In quite other words").memory.seen == 1


@pytest.mark.parametrize(("kind", "outcome"), [("summary", "held"), ("prompt", "new"), ("map", "held")])
def test_what_a_person_forgot_waits_when_an_agent_says_it_again_unless_it_tells_what_was_asked(kind, outcome):
    gone = memory(apart=True, kind=kind, forgotten_at=START, forgotten_by="alex")

    assert said(Known(twins=(gone,)), kind=kind).outcome == outcome


def test_what_is_said_again_at_the_moment_it_turns_stale_is_not_stale_yet():
    assert again(waiting(decay="1d"), caller=PERSON).verified_at is None
    assert again(waiting(decay="23h"), caller=PERSON).verified_at == NOW


def test_who_would_take_a_text_that_a_person_forgot_is_told_how_it_comes_back():
    gone = memory("gone", apart=True, forgotten_at=START, forgotten_by="alex")

    with pytest.raises(Conflict, match="A person forgot this text before: gone") as refused:
        revised(memory(text=OTHER_TEXT), Known(twins=(gone,)), text=TEXT)
    assert "engram restore gone" in refused.value.hint
