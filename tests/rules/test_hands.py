"""What a person's edit of a text means: approval, defaults, forgetting, secrets, and who of two keeps an id."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from engram.errors import Invalid
from engram.model.change import ABSENT, Change
from engram.model.event import EDITED
from engram.model.memory import CURATED, UNVOUCHED, HeldFor, Memory, standing
from engram.model.record import replace
from engram.model.scope import Scope
from engram.rules.changes import claims_of
from engram.rules.hands import Hands
from engram.rules.kinds import extended
from engram.rules.policy import Policy
from rules.world import START, memory

HANDS = Hands()
DAY = timedelta(days=1)
NOW = START + 10 * DAY
TOKEN = "ghp_abcdefghijklmnopqrstuvwxyz0123456789AB"  # noqa: S105 - a shape, no secret
ALL = frozenset({"kind", "risk_tier", "decay", "confidence", "learned_at"})


def changed(*steps: tuple[Memory | None, Memory], held: Sequence[Memory] = ()) -> Change:
    claims = {each.id: claims_of(each) for each in held}
    said = {"action": EDITED, "actor": "file", "batch": "batch", "salt": "salt", "note": {"taken_out": 1}}
    return HANDS.change(steps, claims, now=NOW, **said)


# --- a status that was set by hand ---

WAITING = {"status": "pending", "held_for": "conflict", "branch": "repo#work"}


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, "promoted"),
        ({}, "pending"),  # as it was written before it began to hold
        ({"verified_at": START - 400 * DAY}, "stale"),
        ({"verified_at": START - 400 * DAY}, "promoted"),  # as it was written before time passed
        ({"status": "pending"}, "pending"),
        ({"forgotten_at": START}, "rejected"),
        ({"replaced_by": "other"}, "superseded"),
    ],
)
def test_a_status_that_time_or_nobody_set_leaves_the_memory_itself(fields, status):
    known = memory(**fields)

    assert HANDS.as_told(known, status, NOW) is known


@pytest.mark.parametrize(
    "fields", [WAITING, {"forgotten_at": START, "forgotten_by": "kim"}, {"replaced_by": "other"}]
)
def test_what_is_promoted_by_hand_is_in_use_and_approved(fields):
    live = HANDS.as_told(memory(approved_by="", **fields), "promoted", NOW)

    assert (live.status, live.approved_by, live.held_for, live.branch) == ("promoted", "manual", "", "")
    assert (live.forgotten_at, live.forgotten_by, live.replaced_by) == (None, "", "")
    assert HANDS.as_told(memory(status="pending", approved_by="kim"), "promoted", NOW).approved_by == "kim"


@pytest.mark.parametrize(("tier", "reason"), [(2, ""), (CURATED, "curated_kind")])
def test_what_waits_by_hand_waits_as_something_new_of_its_tier_would(tier, reason):
    waits = HANDS.as_told(memory(tier=tier, approved_by="kim", forgotten_at=START), "pending", NOW)

    assert (waits.status, waits.held_for, waits.approved_by, waits.forgotten_at) == ("pending", reason, "", None)
    assert HANDS.added(memory(tier=tier, status="pending"), frozenset(), NOW).held_for == reason


def test_what_is_rejected_or_stale_by_hand_is_so_from_today_on():
    waits = memory(**WAITING)

    assert HANDS.as_told(waits, "rejected", NOW) == replace(waits, status="rejected", held_for="")
    for decay in ("180d", "none"):
        stale = HANDS.as_told(memory(decay=decay), "stale", NOW)
        assert standing(stale, NOW) in ("stale", "expired")
        assert standing(memory(decay=decay), NOW) == "live"


def test_what_is_superseded_by_nobody_known_stays_in_force():
    assert HANDS.as_told(memory(status="pending"), "superseded", NOW).status == "promoted"


# --- why it waits, in the words of an envelope ---


@pytest.mark.parametrize(
    ("reason", "hold"),
    [
        ("deleted_branch", "deleted_branch"),
        ("an old conflict", "conflict"),
        ("people needs review", "curated_kind"),
        ("flagged for review at capture", "curated_kind"),
        ("edits_curated_node: mem-0003", "edits_curated_node"),
        ("what nobody here knows", "review_all"),
    ],
)
def test_a_reason_of_an_envelope_is_one_of_ours(reason: str, hold: HeldFor):
    assert HANDS.held(memory(status="pending"), reason).held_for == hold


@pytest.mark.parametrize("reason", ["", "unmerged_branch"])
def test_an_envelope_that_says_nothing_of_use_leaves_the_reason_as_it_was(reason: str):
    waits = memory(**WAITING)

    assert HANDS.held(waits, reason) is waits


@pytest.mark.parametrize("reason", ["", "unmerged_branch"])
def test_what_has_an_envelope_without_a_reason_of_ours_waits_for_a_person_and_what_has_none_as_before(reason: str):
    waits = memory(status="pending", tier=2)

    assert HANDS.held(waits, reason).held_for == "review_all"
    assert HANDS.held(waits, None) is waits


def test_what_nobody_vouches_for_is_held_for_that_whatever_an_envelope_says():
    for reason in ("conflict", "", None):
        assert HANDS.held(memory(status="pending", source="web:example.org"), reason).held_for == UNVOUCHED


# --- an item that is new ---


def test_a_new_item_that_says_nothing_is_a_fact_said_now():
    new = HANDS.added(memory(kind="config", tier=1, decay="9d", confidence=0.2), ALL, NOW)

    assert (new.kind, new.tier, new.decay, new.confidence) == ("fact", 2, "180d", 1.0)
    assert (new.created_at, new.updated_at) == (NOW, NOW)


def test_a_new_item_keeps_what_it_says():
    said = memory(kind="config", tier=1, decay="9d", confidence=0.2)

    assert HANDS.added(said, frozenset(), NOW) == said


def test_care_and_decay_come_from_the_kinds_as_configured():
    policy = Policy(kinds=extended({"recipe": {"tier": 3, "decay": "2y"}}))
    new = Hands(policy).added(memory(kind="recipe"), frozenset({"risk_tier", "decay"}), NOW)

    assert (new.kind, new.tier, new.decay) == ("recipe", CURATED, "2y")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"status": "pending"}, "curated_kind"),
        ({"status": "pending", "held_for": "conflict"}, "conflict"),
        ({"status": "promoted"}, ""),
    ],
)
def test_a_new_item_of_a_curated_kind_that_waits_says_why(fields, reason):
    new = HANDS.added(memory(kind="rule", **fields), frozenset({"risk_tier"}), NOW)

    assert (new.tier, new.held_for) == (CURATED, reason)


def test_a_new_item_of_another_kind_waits_for_no_reason():
    assert HANDS.added(memory(kind="config", status="pending"), frozenset({"risk_tier"}), NOW).held_for == ""


# --- an item that changed ---


def test_what_was_put_in_force_is_approved_and_seen_today_and_held_for_nothing():
    waits = memory(status="pending", held_for="conflict", branch="repo#work", approved_by="", verified_at=START)
    live = HANDS.changed(waits, replace(waits, status="promoted"), NOW)

    assert (live.approved_by, live.verified_at, live.held_for, live.branch) == ("manual", NOW, "", "")


def test_other_words_are_as_old_as_the_edit_and_seen_by_whoever_wrote_them():
    known = memory(verified_at=START)
    said = replace(known, text="In other words")

    after = HANDS.changed(known, said, NOW)
    assert (after.reworded_at, after.verified_at) == (NOW, NOW)
    dated = HANDS.changed(known, replace(said, verified_at=START + DAY), NOW)
    assert (dated.reworded_at, dated.verified_at) == (NOW, START + DAY)
    assert HANDS.changed(known, replace(known, tags=("a",)), NOW).reworded_at is None


@pytest.mark.parametrize("fields", [{}, {"verified_at": START, "reworded_at": START}, WAITING])
def test_what_is_set_stale_by_hand_is_so_in_other_words_too(fields):
    known = memory(**fields)
    meant = HANDS.as_told(replace(known, text="In other words"), "stale", NOW)

    after = HANDS.changed(known, meant, NOW)
    assert (after.text, standing(after, NOW)) == ("In other words", "stale")


def test_who_approved_it_and_when_it_was_seen_may_be_said():
    waits = memory(status="pending", approved_by="", verified_at=None)
    said = replace(waits, status="promoted", approved_by="kim", verified_at=START + DAY)

    assert HANDS.changed(waits, said, NOW) == said


def test_why_it_waits_and_that_it_stands_apart_is_not_for_a_hand_to_say():
    waits = memory(status="pending", held_for="conflict", apart=True)
    said = replace(waits, text="In other words", held_for="", apart=False)

    after = HANDS.changed(waits, said, NOW)
    assert (after.text, after.status, after.held_for, after.apart) == (
        "In other words",
        "pending",
        "conflict",
        True,
    )


def test_other_words_typed_with_an_editor_are_a_persons_word():
    known = memory(source="tool:remember", learned_by="remember", origin="inferred", confidence=0.6)
    said = HANDS.changed(known, replace(known, text="In other words"), NOW)

    assert (said.source, said.learned_by, said.origin, said.confidence) == ("manual", "manual", "said", 1.0)


def test_a_hand_may_say_whose_word_it_is_and_says_nothing_of_it_by_a_tag():
    known = memory(source="tool:remember", learned_by="remember", confidence=0.6)
    said = HANDS.changed(
        known, replace(known, text="In other words", source="web:example.org", confidence=0.3), NOW
    )
    tagged = HANDS.changed(known, replace(known, tags=("a",)), NOW)

    assert (said.source, said.confidence) == ("web:example.org", 0.3)
    assert (tagged.source, tagged.confidence) == ("tool:remember", 0.6)


def test_what_was_refused_by_hand_is_approved_by_nobody():
    waits = memory(status="pending", approved_by="", verified_at=None)
    refused = HANDS.changed(waits, replace(waits, status="rejected"), NOW)

    assert (refused.status, refused.approved_by, refused.verified_at) == ("rejected", "", None)


# --- an item that is gone ---


def test_what_was_taken_out_is_forgotten_and_what_was_out_already_stays_so():
    gone = HANDS.taken_out(memory(), NOW)
    assert (gone.forgotten_at, gone.forgotten_by) == (NOW, "manual")
    assert HANDS.taken_out(memory(status="pending"), NOW).forgotten_at == NOW
    assert HANDS.taken_out(memory(forgotten_at=START), NOW) is None
    assert HANDS.taken_out(memory(status="rejected"), NOW) is None


# --- secrets ---


def test_only_new_words_lose_a_secret():
    old = memory(text=f"The key is {TOKEN}")
    said = replace(old, summary=f"A key: {TOKEN}")
    clean, kinds = HANDS.cleaned(old, said)

    assert (clean.text, TOKEN in clean.summary, bool(kinds)) == (old.text, False, True)
    assert TOKEN not in HANDS.cleaned(None, old)[0].text


def test_words_without_a_secret_are_answered_with_themselves():
    said = memory(text="No secret here")

    assert HANDS.cleaned(None, said) == (said, ())
    assert HANDS.cleaned(None, said)[0] is said


def test_a_secret_is_named_and_taken_out_of_a_text_that_is_longer_than_any_memory():
    long = "words " * 20_000

    assert HANDS.redacted(f"{long}{TOKEN}") == (f"{long}[redacted:github-token]", ("github-token",))
    assert HANDS.secrets(memory(summary=f"A key: {TOKEN}")) == ("github-token",)
    assert HANDS.secrets(memory()) == ()


def test_a_place_whose_name_is_a_secret_is_refused_where_it_is_new():
    said = memory(scope=Scope("project", TOKEN))

    with pytest.raises(Invalid):
        HANDS.cleaned(None, said)
    with pytest.raises(Invalid):
        HANDS.cleaned(memory(), said)
    assert HANDS.cleaned(said, replace(said, text="Other words"))[1] == ()


# --- two under one id ---


def test_of_two_memories_under_one_id_the_older_keeps_it():
    old, new = memory(id="old", updated_at=START), memory(id="new", updated_at=NOW)
    like = replace(old, id="like")

    assert HANDS.parted(old, new) == (old, new)
    assert HANDS.parted(new, old) == (old, new)
    assert HANDS.parted(like, old) == (like, old)


def test_what_only_the_other_side_changed_counts_however_old_it_is():
    ours = memory(updated_at=NOW)
    theirs = replace(ours, text="Their words", tags=("theirs",), updated_at=START)

    assert HANDS.joined(ours, theirs, {"text"}, moved=False) == (replace(ours, text="Their words"), None)


def test_of_two_texts_both_are_kept_and_the_older_has_the_id():
    ours = memory(updated_at=START + DAY)
    older, newer = (replace(ours, text="Their words", updated_at=at) for at in (START, NOW))
    form = replace(ours, text="Their words")

    assert HANDS.joined(ours, older, {"text"}, moved=True) == (form, ours)
    assert HANDS.joined(ours, newer, {"text"}, moved=True) == (ours, form)
    assert HANDS.joined(ours, replace(form, id="like"), {"text"}, moved=True) == (ours, form)


def test_of_all_else_the_newer_counts():
    ours = memory(updated_at=START + DAY)
    older, newer = (replace(ours, tags=("theirs",), updated_at=at) for at in (START, NOW))

    assert HANDS.joined(ours, older, {"tags"}, moved=True) == (ours, None)
    assert HANDS.joined(ours, newer, {"tags"}, moved=True) == (replace(ours, tags=("theirs",)), None)


# --- all of it as one Change ---


def test_an_edit_is_one_revision_on_and_confirmed_by_the_file():
    old, new = memory(id="old", revision=4), memory(id="new", text="New words", tier=CURATED, revision=7)
    change = changed((old, replace(old, tags=("more",))), (None, new))
    edited, made = change.puts

    assert (edited.revision, edited.updated_at) == (5, NOW)
    assert (made.revision, made.updated_at) == (1, new.updated_at)
    assert change.expects == {"old": 4, "new": ABSENT}
    assert change.draft.payload.note == {"confirmed": "file", "taken_out": 1}
    assert (change.draft.action, change.draft.actor, change.draft.at) == (EDITED, "file", NOW)
    assert (change.draft.subjects, change.draft.tier, change.draft.batch) == (("old", "new"), CURATED, "batch")
    assert [edit.field for edit in change.draft.payload.edits if edit.id == "old"] == ["tags"]


def test_what_a_hand_left_as_it_was_is_only_a_revision_on():
    old = memory(revision=4)
    (same,) = changed((old, old)).puts

    assert same == replace(old, revision=5)


def test_whom_another_memory_leaves_no_place_stands_apart():
    known, twin = memory(id="known"), memory(id="twin")
    change = changed((None, twin), held=[known])

    assert change.puts[0].apart
    assert change.claims == {"twin": ()}
    assert [each.apart for each in changed((None, known), (None, twin)).puts] == [False, True]


def test_what_the_same_edit_gives_up_is_free_for_another():
    known = memory(id="known")
    change = changed((known, replace(known, text="Other words")), (None, memory(id="twin")), held=[known])

    assert not any(each.apart for each in change.puts)
    assert change.claims == {each.id: claims_of(each) for each in change.puts}
    assert all(change.claims.values())


def test_a_refused_text_whose_place_is_taken_claims_nothing():
    known = memory(id="known")
    refused = memory(id="refused", status="rejected")
    change = changed((None, refused), held=[known])

    assert (change.puts[0].apart, change.claims["refused"]) == (True, ())


def test_a_tier_that_an_item_says_is_kept_whatever_its_kind_would_have():
    assert HANDS.added(memory(kind="config", tier=2), frozenset({"decay"}), NOW).tier == 2


def test_of_several_that_want_one_place_in_one_change_only_the_first_has_it():
    first, other, last = (memory(id, text) for id, text in (("a", "We lint"), ("b", "We test"), ("c", "We lint")))
    puts = changed((None, first), (None, other), (None, last)).puts

    assert [(each.id, each.apart) for each in puts] == [("a", False), ("b", False), ("c", True)]


def test_other_words_of_what_waits_do_not_say_that_it_was_seen():
    waits = memory(status="pending", verified_at=None)

    after = HANDS.changed(waits, replace(waits, text="In other words"), NOW)
    assert (after.status, after.reworded_at, after.verified_at) == ("pending", NOW, None)


def test_other_words_seen_a_whole_decay_ago_are_not_stale_to_the_moment():
    known = memory(decay="10d", verified_at=START + DAY)
    said = replace(known, text="In other words", verified_at=START)

    assert HANDS.changed(known, said, NOW).reworded_at == NOW
    assert HANDS.changed(known, said, NOW + DAY).reworded_at == START
