"""Taking in what other stores did: what becomes of the records, and what this store settles."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from engram.model.codec import encode
from engram.model.event import Edit, Event, Payload, edits_between
from engram.model.limits import print_time
from engram.model.memory import Memory
from engram.model.record import replace
from engram.model.scope import Scope
from engram.rules import joining
from engram.rules.hearing import Trust
from engram.rules.merge import STATES, Stamp, State, states
from rules.histories import changing, making, relation, said, session, telling
from rules.world import START, memory, request

EVERYBODY = Trust()
WARY = Trust(strangers={"stranger": 0}, owner="alex")


def later(**lapse: float) -> datetime:
    return START + timedelta(**lapse)


def joined(*fresh: Event, known: Sequence[Event] = (), current: Sequence[Any] = (), trust: Trust = EVERYBODY):
    earlier: dict[str, list[Event]] = {}
    for event in known:
        for id in event.subjects:
            earlier.setdefault(id, []).append(event)
    here = {record.id: record for record in current}
    return joining.join(earlier, fresh, here, trust, later(hours=1))


# --- what becomes of the records ---


def test_events_make_the_records_that_they_tell_of():
    made, pinned = making(memory(), replica="a"), said("b", changing("pinned", new=True), seconds=5)
    found = joined(pinned, made)

    assert found.waiting == ()
    assert found.taken == (pinned, made)
    assert found.after["memory-1"] == memory(pinned=True, updated_at=later(seconds=5))


def test_what_is_about_a_record_that_nobody_told_of_waits_and_holds_up_nothing_else():
    lone, other = said("a", changing("pinned", new=True)), making(memory("memory-2"), replica="b")
    found = joined(lone, other)

    assert [(each.event, each.why) for each in found.waiting] == [(lone, "what it is about has not arrived")]
    assert found.taken == (other,)
    assert set(found.after) == {"memory-2"}


def test_what_a_stranger_may_not_say_waits_and_so_does_what_has_not_come():
    erased = said("stranger", subjects=("memory-1",), action="purge")
    early = making(memory("memory-2"), replica="a", seconds=90_001)
    lone = said("a", changing("pinned", new=True, id="memory-3"))
    found = joined(erased, early, lone, trust=WARY)

    assert [each.event for each in found.waiting] == [erased, early, lone]
    assert "it erases" in found.waiting[0].why
    assert (found.taken, dict(found.after)) == ((), {})


def test_a_record_of_which_only_a_part_is_known_holds_up_no_other():
    half = said("a", changing("pinned", new=True, id="memory-2"))

    assert set(joined(making(memory(), replica="b"), known=[half]).after) == {"memory-1"}


def test_what_cannot_be_read_waits_with_the_reason():
    odd = said("a", changing("text", "Words"), changing("id", "memory-1"), changing("importance", 99))
    mixed = said("b", changing("id", "memory-2", id="memory-2"), changing("valid_from", 5, id="memory-2"),
                 changing("valid_until", "x", id="memory-2"))  # fmt: skip
    found = joined(odd, mixed)

    assert [each.event for each in found.waiting] == [odd, mixed]
    assert any("makes no sense" in each.why for each in found.waiting)
    assert (found.taken, dict(found.after)) == ((), {})


def test_an_event_waits_whole_where_one_of_its_records_does():
    both = said("a", *edits_between(None, memory()), changing("pinned", new=True, id="memory-2"))
    found = joined(both)

    assert [each.why for each in found.waiting] == ["what it is about has not arrived"]
    assert dict(found.after) == {}


def test_what_was_here_before_and_cannot_be_read_stays_as_it_is():
    odd = said("a", changing("id", "memory-1"), changing("text", "Words"), changing("importance", 99))
    found = joined(making(memory("memory-2"), replica="b"), known=[odd], current=[memory()])

    assert len(found.taken) == 1
    assert set(found.after) == {"memory-2"}


def test_a_purge_leaves_nothing_of_a_record():
    gone = said("a", subjects=("memory-1",), action="purge", seconds=5)

    assert joined(gone, known=[making(memory())], current=[memory()]).after == {"memory-1": None}


def test_once_a_server_says_whose_a_record_is_what_others_made_of_it_counts_no_more():
    made = making(memory(owner="alexandra"), replica="there")
    mine = said("here", changing("text", "Mine now"), seconds=5)
    laptop = said("laptop", changing("summary", "ours"), seconds=6)
    trust = Trust(owner="alex", vouched=("there",))

    (known,) = joined(made, laptop, known=[mine], trust=trust).after.values()
    assert (known.text, known.summary) == ("We deploy on Fridays", "")
    (known,) = joined(made, laptop, known=[mine], trust=EVERYBODY).after.values()
    assert (known.text, known.summary) == ("Mine now", "ours")


def test_what_a_purge_took_the_words_of_is_read_off_the_record():
    made = making(memory(), replica="a", seconds=1)
    lost = said("b", changing("summary", "short"), seconds=5)._replace(payload=None)
    now = memory(summary="short", seen=3, updated_at=later(seconds=5))
    state = joining.state_of("memory-1", [made, lost], now, EVERYBODY)

    assert state.values()["summary"] == "short"
    assert state.values()["seen"] == 3
    assert state.fields["summary"][0] == Stamp(lost.time, "b", lost.id)
    assert state.fields["text"][0].replica == "a"
    assert joining.record_of(state) == now
    assert not {"seen", "revision", "updated_at"} & state.fields.keys()


def test_where_all_words_are_lost_everything_is_read_off_the_record_but_its_revision():
    lost = making(memory(), replica="a", seconds=5)._replace(payload=None)
    now = memory(seen=3, revision=7, updated_at=later(seconds=5))

    assert joining.record_of(joining.state_of("memory-1", [lost], now, EVERYBODY)) == replace(now, revision=1)
    begun = making(session(), replica="a")._replace(payload=None)
    state = joining.state_of("ses-1", [begun], session(), EVERYBODY)
    assert (joining.record_of(state), state.type, dict(state.counts)) == (session(), "session", {})


def test_a_lost_word_that_counted_nothing_adds_nothing_to_the_count():
    made = making(memory(), replica="a", seconds=1)
    lost = said("b", changing("summary", "short"), seconds=5)._replace(payload=None)
    state = joining.state_of("memory-1", [made, lost], memory(summary="short"), EVERYBODY)

    assert list(state.counts.values()) == [1]


def test_nothing_is_read_off_a_record_whose_every_word_is_there_or_that_is_gone():
    made = making(memory(), replica="a", seconds=1)
    lost = said("b", changing("summary", "short"), seconds=5)._replace(payload=None)
    purge = said("b", subjects=("memory-1",), action="purge", seconds=6)._replace(payload=None)

    assert "summary" not in joining.state_of("memory-1", [made], memory(summary="other"), EVERYBODY).values()
    assert "summary" not in joining.state_of("memory-1", [made, lost], None, EVERYBODY).values()
    assert joining.state_of("memory-1", [made, lost, purge], memory(), EVERYBODY).erased


def test_a_record_was_last_touched_when_the_last_word_about_it_was_said():
    again = said("b", changing("seen", 2, 1), seconds=9)

    assert joined(making(memory()), again).after["memory-1"].updated_at == later(seconds=9)
    assert joined(making(session(), seconds=4)).after["ses-1"] == session()


@pytest.mark.parametrize("last", ["valid_from", "valid_until"])
def test_of_two_ends_that_do_not_fit_together_the_one_that_was_said_last_stays(last: str):
    ends = {"valid_from": print_time(later(days=9)), "valid_until": print_time(later(days=3))}
    first = next(name for name in ends if name != last)
    made = making(memory(), replica="a")
    found = joined(
        made, said("b", changing(first, ends[first]), seconds=1), said("c", changing(last, ends[last]), seconds=2)
    )

    assert (getattr(found.after["memory-1"], first), found.waiting) == (None, ())
    assert getattr(found.after["memory-1"], last) == later(days=9 if last == "valid_from" else 3)


def test_two_ends_that_are_one_moment_do_not_fit_together_and_two_in_order_do():
    end = print_time(later(days=3))
    same = joined(
        making(memory(valid_from=later(days=3)), replica="a"), said("b", changing("valid_until", end), seconds=1)
    )
    ordered = joined(
        making(memory(valid_from=START), replica="a"), said("b", changing("valid_until", end), seconds=1)
    )

    assert same.after["memory-1"].valid_from is None
    assert ordered.after["memory-1"].valid_from == START


def test_a_session_that_would_end_before_it_began_has_not_ended():
    ended = Edit("session", "ses-1", "ended_at", None, print_time(START - timedelta(days=1)))

    assert joined(making(session(), replica="a"), said("b", ended, seconds=1)).after["ses-1"].ended_at is None
    at_once = ended._replace(new=print_time(START))
    assert joined(making(session(), replica="a"), said("b", at_once, seconds=1)).after["ses-1"].ended_at == START


# --- what a store settles beside ---


def test_of_two_memories_in_one_place_the_lower_id_stays_and_the_other_leads_to_it():
    settled = joining.aliases([memory("b"), memory("a")])

    assert {id: (one.replaced_by, one.apart) for id, one in settled.moved.items()} == {"b": ("a", True)}
    assert settled.why == ("same place",)
    assert joining.aliases([memory("a"), memory("b", "Lint with ruff")]) == joining.Settling({})


TYPED = {"origin": "said", "source": "manual"}


@pytest.mark.parametrize(
    ("stays", "goes"),
    [
        ({"status": "rejected"}, {}),
        ({"status": "rejected"}, TYPED),
        ({}, {"status": "pending"}),
        ({"status": "pending", **TYPED}, {"status": "pending"}),
        ({"status": "pending"}, {"status": "pending", "held_for": "untrusted_origin"}),
        ({}, {"held_for": "untrusted_origin"}),
    ],
)
def test_a_rejection_keeps_its_place_and_what_waits_gives_way(stays: dict[str, Any], goes: dict[str, Any]):
    assert set(joining.aliases([memory("z", **stays), memory("a", **goes)]).moved) == {"a"}


WORDING = "We deploy on Mondays"


def keyed(id: str, text: str, **fields: Any) -> Memory:
    return memory(id, text, **({"key": "deploy"} | fields))


def test_the_later_wording_under_one_key_stays_whichever_memory_does():
    old, new = keyed("a", "We deploy on Fridays"), keyed("b", WORDING, tags=("ops",), updated_at=later(hours=1))
    moved = joining.aliases([old, new]).moved

    assert (moved["a"].text, moved["a"].tags, moved["a"].replaced_by) == (WORDING, ("ops",), "")
    assert moved["b"].replaced_by == "a"


@pytest.mark.parametrize(
    ("dates", "worded"),
    [
        ({"created_at": later(minutes=5)}, later(minutes=5)),
        ({"reworded_at": later(hours=1), "verified_at": later(hours=1)}, later(hours=1)),
    ],
)
def test_a_wording_that_is_taken_over_is_as_old_and_as_verified_as_it_was(dates, worded):
    old = keyed("a", "We deploy on Fridays", verified_at=START)
    new = keyed("b", WORDING, **(dates | {"updated_at": later(hours=1)}))

    stays = joining.aliases([old, new]).moved["a"]
    assert (stays.reworded_at, stays.verified_at) == (worded, new.verified_at)


def test_who_verified_other_words_elsewhere_verified_nothing_that_stands_here():
    verified = said("a", changing("verified_at", new=print_time(later(seconds=5))), seconds=5)
    worded = said(
        "b", changing("text", new=WORDING), changing("reworded_at", new=print_time(later(seconds=9))), seconds=9
    )
    made = making(memory(), replica="a")
    found = joined(made, verified, worded).after["memory-1"]
    assert (found.text, found.verified_at, found.reworded_at) == (WORDING, None, later(seconds=9))

    seen = said("a", changing("verified_at", new=print_time(later(seconds=12))), seconds=12)
    assert joined(made, verified, worded, seen).after["memory-1"].verified_at == later(seconds=12)


def test_what_was_verified_after_its_words_is_verified_whatever_the_clocks_say():
    worded = said("b", changing("reworded_at", new=print_time(later(minutes=10))), seconds=600)
    seen = said("a", changing("verified_at", new=print_time(later(seconds=12))), seconds=601)

    found = joined(making(memory(), replica="a"), worded, seen).after["memory-1"]
    assert (found.verified_at, found.reworded_at) == (later(seconds=12), later(minutes=10))


def test_a_wording_that_was_taken_back_leaves_what_was_verified_after_the_one_before():
    made = making(memory(reworded_at=START), replica="a")
    seen = said("a", changing("verified_at", new=print_time(later(seconds=5))), seconds=5)
    undone = said("b", changing("reworded_at", new=print_time(START)), seconds=9)

    assert joined(made, seen, undone).after["memory-1"].verified_at == later(seconds=5)


@pytest.mark.parametrize(
    ("stays", "goes"),
    [
        ({"updated_at": later(hours=2)}, {}),
        ({"updated_at": later(hours=1)}, {}),
        ({}, {"forgotten_at": START}),
        ({}, {"status": "pending"}),
        ({"tier": 3}, {}),
        ({}, {"tier": 3}),
    ],
)
def test_no_wording_is_taken_over_that_is_older_or_out_of_use_or_needs_a_persons_word(stays, goes):
    one = keyed("a", "We deploy on Fridays", **stays)
    other = keyed("b", WORDING, **({"updated_at": later(hours=1)} | goes))

    assert set(joining.aliases([one, other]).moved) == {"b"}


@pytest.mark.parametrize("ids", ["ab", "ba"])
def test_a_persons_word_under_a_key_stays_and_is_reworded_by_a_persons_alone(ids: str):
    mine = keyed(ids[0], "We deploy on Fridays", **TYPED)
    agents = keyed(ids[1], WORDING, updated_at=later(hours=1))
    moved = joining.aliases([mine, agents]).moved
    assert {id: one.replaced_by for id, one in moved.items()} == {agents.id: mine.id}

    typed_later = keyed("c", "We deploy on Sundays", updated_at=later(hours=2), **TYPED)
    moved = joining.aliases([mine, agents, typed_later]).moved
    stays = min(mine.id, "c")
    assert moved[stays].text == "We deploy on Sundays"
    assert {id for id, one in moved.items() if one.replaced_by == stays} == {"a", "b", "c"} - {stays}


def test_of_several_wordings_the_latest_stays():
    every = [
        keyed(id, f"We deploy at {at}", updated_at=later(hours=at)) for id, at in (("a", 1), ("b", 3), ("c", 2))
    ]

    assert joining.aliases(every).moved["a"].text == "We deploy at 3"


def test_memories_that_hide_one_another_in_a_ring_let_go_where_that_was_said_first():
    ring = {"a": memory("a", replaced_by="b"), "b": memory("b", replaced_by="c"), "c": memory("c", replaced_by="a")}
    when = {"a": 3, "b": 1, "c": 2}
    settled = joining.rings(ring, lambda each: Stamp(str(when[each]), "", ""))

    assert {id: one.replaced_by for id, one in settled.moved.items()} == {"b": ""}
    assert settled.why == ("ring",)


def test_a_chain_is_no_ring_and_each_ring_lets_go_once():
    chain = {"a": memory("a", replaced_by="b"), "b": memory("b", replaced_by="gone")}
    assert joining.rings(chain, lambda each: Stamp(each, "", "")) == joining.Settling({})
    rings = {id: memory(id, replaced_by=by) for id, by in ("ab", "ba", "cd", "dc", "ea")}
    assert set(joining.rings(rings, lambda each: Stamp(each, "", "")).moved) == {"a", "c"}


# --- how often it was said ---


def counting(**counts: dict[str, int]):
    """What is known of each memory, with what was counted of it."""
    fields = {id: {"id": (Stamp("1", "here", "e"), id)} for id in counts}
    return lambda each: State(fields.get(each, {}), counts.get(each, {}), type="memory")


def test_what_was_said_of_a_twin_counts_for_the_one_that_stays():
    twins = {"a": memory("a", seen=2), "b": memory("b", seen=3, replaced_by="a", apart=True)}
    stays, told = joining.counted(twins, counting(a={"1/x": 2}, b={"2/y": 3}))

    assert {id: one.seen for id, one in stays.items()} == {"a": 5}
    assert told["a"]["counts"] == {"2/y": 3}
    assert told["a"]["fields"]["id"][-1] == "a"


def test_a_count_that_is_known_counts_once_and_a_greater_one_for_what_is_more():
    twins = {"a": memory("a", seen=2), "b": memory("b", replaced_by="a", apart=True)}

    assert joining.counted(twins, counting(a={"1/x": 2}, b={"1/x": 2})) == ({}, {})
    stays, told = joining.counted(twins, counting(a={"1/x": 2}, b={"1/x": 3}))
    assert (stays["a"].seen, told["a"]["counts"]) == (3, {"1/x": 3})


def test_what_was_said_once_of_a_twin_counts_once():
    twins = {"a": memory("a"), "b": memory("b", replaced_by="a", apart=True)}

    assert joining.counted(twins, counting(a={"1/x": 1}, b={"2/y": 1}))[0]["a"].seen == 2


def test_the_counts_of_several_twins_come_together():
    twins = {"a": memory("a"), **{id: memory(id, replaced_by="a", apart=True) for id in "bc"}}
    stays, told = joining.counted(twins, counting(a={"1/x": 1}, b={"2/y": 2}, c={"3/z": 4, "2/y": 2}))

    assert (stays["a"].seen, told["a"]["counts"]) == (7, {"2/y": 2, "3/z": 4})


@pytest.mark.parametrize(
    "other",
    [
        {"held_for": "untrusted_origin"},
        {"apart": False},
        {"text": "Quite another thing"},
        {"owner": "kim"},
        {"replaced_by": "elsewhere"},
    ],
)
def test_only_what_a_twin_that_counts_was_seen_is_counted(other: dict[str, Any]):
    twin = replace(memory("b", replaced_by="a", apart=True), **other)

    assert joining.counted({"a": memory("a"), "b": twin}, counting(a={"1/x": 1}, b={"2/y": 2})) == ({}, {})


def test_a_twin_leads_through_others_to_the_one_that_stays_and_round_in_a_ring_to_none():
    chain = {
        "a": memory("a"),
        "b": memory("b", replaced_by="a", apart=True),
        "c": memory("c", replaced_by="b", apart=True),
    }
    stays, _ = joining.counted(chain, counting(a={"1/x": 1}, c={"2/y": 2}))
    assert {id: one.seen for id, one in stays.items()} == {"a": 3}
    keys = {"a": keyed("a", "One wording"), "b": keyed("b", "Another one", replaced_by="a", apart=True)}
    assert joining.counted(keys, counting(a={"1/x": 1}, b={"2/y": 2}))[0]["a"].seen == 3


def test_nothing_is_counted_for_a_memory_that_history_does_not_know():
    twins = {"a": memory("a"), "b": memory("b", replaced_by="a", apart=True)}

    assert joining.counted(twins, counting(b={"2/y": 2})) == ({}, {})


# --- words that nobody approved ---


def rule(text: str = "Never deploy on Fridays", **fields: Any) -> Memory:
    return memory(text=text, **({"tier": 3, "kind": "rule"} | fields))


def approving(replica: str = "a", *, seconds: int = 5, position: int = 2, **note: Any) -> Event:
    edit = changing("status", "promoted", "pending")
    return said(replica, edit, seconds=seconds, position=position, note={"confirmed": "flag"} | note)


def test_a_curated_memory_in_the_words_that_were_approved_is_approved():
    made = making(rule(status="pending"), replica="a", seconds=1)

    assert not joining.unapproved(rule(), [made, approving()])
    assert not joining.unapproved(rule(), [approving("b", digest=rule().digest)])
    assert not joining.unapproved(memory(), [])
    assert not joining.unapproved(rule(status="pending"), [])


def test_words_that_somebody_else_edited_in_before_the_approval_are_not_approved():
    made = making(rule("First words", status="pending"), replica="a", seconds=1)
    edited = said("b", changing("text", rule().text, "First words"), seconds=3)

    assert joining.unapproved(rule(), [made, edited, approving()])
    assert joining.unapproved(rule(), [made, edited, approving(digest=rule("First words").digest)])
    confirmed = said("b", changing("text", rule().text), seconds=3, note={"confirmed": "web"})
    assert not joining.unapproved(rule(), [made, confirmed, approving()])


def test_the_replica_that_approved_knew_its_own_earlier_words_and_no_later_ones():
    made = making(rule("First words", status="pending"), replica="a", seconds=1)

    def edited(position: int) -> Event:
        return said("a", changing("text", rule().text), seconds=3, position=position)

    assert not joining.unapproved(rule(), [made, edited(2), approving(position=3)])
    assert joining.unapproved(rule(), [made, edited(4), approving(position=3)])
    assert joining.unapproved(rule(), [made, edited(3), approving(position=3)])


def test_the_last_approval_counts():
    made = making(rule("First words", status="pending"), replica="a", seconds=1)
    first, last = approving(seconds=3), approving("b", seconds=9, digest=rule().digest)

    assert not joining.unapproved(rule(), [made, first, last])
    assert joining.unapproved(rule(), [made, approving(seconds=9), approving("b", digest=rule().digest)])


def test_without_any_approval_only_what_was_told_whole_is_taken_as_approved():
    made = making(rule(), replica="a")

    assert joining.unapproved(rule(), [made])
    assert joining.unapproved(rule(), [made._replace(payload=None)])
    assert joining.unapproved(rule(), [said("a", changing("status", "promoted"))])
    assert not joining.unapproved(rule(), [telling(rule(), "a")])


def test_what_is_held_again_waits_for_a_person():
    held = joining.held_again(rule(approved_by="alex"))

    assert (held.status, held.held_for, held.approved_by) == ("pending", "curated_kind", "")


# --- the Change ---


def test_what_is_taken_in_is_put_with_the_events_that_made_it():
    event = making(memory(), replica="a")
    change = joining.change_of(joined(event), {}, {}, request())

    assert (change.puts, change.expects) == ((memory(),), {"memory-1": 0})
    assert [kept for kept, _ in change.past.events] == [event]
    assert change.draft is None
    assert list(change.claims) == ["memory-1"]


def test_a_record_that_is_here_is_one_revision_on_and_one_that_says_the_same_is_left_alone():
    pinned = said("b", changing("pinned", new=True), seconds=5)
    here = memory(revision=4)
    change = joining.change_of(joined(pinned, known=[making(memory())], current=[here]), {"memory-1": here}, {},
                               request())  # fmt: skip

    assert (change.puts[0].revision, change.expects) == (5, {"memory-1": 4})
    same = joining.change_of(joined(known=[making(memory())], current=[here]), {"memory-1": here}, {}, request())
    assert same is None


def test_what_is_gone_is_dropped_and_its_words_leave_the_events():
    gone = said("a", subjects=("memory-1",), action="purge", seconds=5)
    late = said("b", changing("text", "Secret words"), seconds=3)
    here = {"memory-1": memory(revision=2)}
    found = joined(gone, late, known=[making(memory())], current=here.values())
    change = joining.change_of(found, here, {}, request(), erase=["memory-1"])

    assert (change.drops, change.expects, change.erase) == (
        (("memory", "memory-1"),),
        {"memory-1": 2},
        ("memory-1",),
    )
    assert all(event.payload is None for event, _ in change.past.events)
    assert joining.change_of(found, {}, {}, request()).drops == ()


def test_what_this_store_settles_is_told_by_an_event_of_its_own():
    found = joined(making(memory("b"), replica="a"))
    settled = {"b": replace(found.after["b"], replaced_by="a", apart=True, tier=3)}
    change = joining.change_of(found, {}, settled, request(now=later(hours=2)), why=("same place",))

    assert change.draft.subjects == ("b",)
    assert (change.draft.action, change.draft.tier) == ("join", 3)
    assert change.draft.payload.note == {"why": ["same place"]}
    assert {edit.field for edit in change.draft.payload.edits} == {"replaced_by", "apart", "tier"}
    assert change.puts[0].updated_at == later(hours=2)


def test_a_count_is_told_as_such_and_not_as_an_edit():
    here = {"memory-1": memory()}
    settled, counts = {"memory-1": memory(seen=4)}, {"memory-1": {"counts": {"1/x": 3}}}
    empty = joining.Joined((), (), {}, {})
    change = joining.change_of(empty, here, settled, request(), counts=counts)

    assert change.draft.payload == Payload((), {STATES: counts}, "salt")
    assert change.puts[0].seen == 4
    assert joining.change_of(empty, here, {"memory-1": memory()}, request()) is None


def test_records_that_moved_without_an_event_are_told_of_by_one():
    moved = joining.Joined((), (), {}, {"memory-1": memory(pinned=True)})
    change = joining.change_of(moved, {"memory-1": memory()}, {}, request())

    assert (change.draft.action, change.draft.subjects, change.past) == ("join", ("memory-1",), None)


def test_an_action_of_its_own_is_told_though_nothing_is_settled():
    change = joining.change_of(joined(making(memory(), replica="a")), {}, {}, request(), action="accept")

    assert (change.draft.action, change.draft.subjects, change.draft.tier) == ("accept", (), 0)


def test_two_records_are_the_same_whenever_they_were_touched():
    assert joining.same_record(memory(), memory(revision=9, updated_at=later(days=1)))
    assert not joining.same_record(memory(), memory(pinned=True))
    assert not joining.same_record(memory(), None)
    assert not joining.same_record(None, memory())
    assert joining.same_record(None, None)


def test_what_is_erased_replaces_nothing_and_no_verdict_is_about_it():
    assert joining.freed(memory(replaced_by="gone"), ["gone"], list).replaced_by == ""
    assert joining.freed(memory(replaced_by="there"), ["gone"], list).replaced_by == "there"
    assert joining.freed(relation("gone", "b"), ["gone"], list) is None
    assert joining.freed(relation("a", "gone"), ["gone"], list) is None
    assert joining.freed(relation("a", "b"), ["gone"], list) == relation("a", "b")
    assert encode(joining.freed(session(), ["gone"], list)) == encode(session())


def test_the_twin_of_what_is_erased_stands_for_itself_again_unless_words_that_stay_say_it_stands_apart():
    twin = memory(apart=True, replaced_by="gone")
    made_so, made_plain = making(replace(twin, replaced_by="")), making(memory())
    edits = [changing("apart", new=True), changing("replaced_by", "gone")]
    settled = said("b", *edits, action="join", subjects=(twin.id, "gone"))

    assert joining.freed(twin, ["gone"], lambda: [made_so, settled]).apart
    assert not joining.freed(twin, ["gone"], lambda: [made_plain, settled]).apart
    assert joining.freed(twin, ["other"], lambda: [made_plain]).apart


# --- memories that contradict each other ---

PORT, OTHER_PORT = "The gateway listens on port 7000", "The gateway listens on port 7001"


def early(**fields: Any) -> Memory:
    return memory("early", **({"text": PORT, "created_at": START} | fields))


def late(**fields: Any) -> Memory:
    return memory("late", **({"text": OTHER_PORT, "created_at": later(seconds=1)} | fields))


def test_of_two_that_contradict_each_other_the_later_waits_whichever_is_asked_about():
    assert joining.at_odds(early(), late()) == joining.at_odds(late(), early()) == (late(), early())


def test_a_private_one_gives_way_to_a_shared_one_and_of_two_private_ones_the_later():
    mine, shared = early(visibility="private"), late(visibility="shared")

    assert joining.at_odds(shared, mine) == joining.at_odds(mine, shared) == (mine, shared)
    both = early(visibility="private"), late(visibility="private")
    assert joining.at_odds(*both) == (both[1], both[0])


@pytest.mark.parametrize(
    "other", [{"owner": "bob"}, {"scope": Scope("project", "other")}, {"text": "Ask Ada first"}]
)
def test_nothing_waits_for_what_is_said_elsewhere_or_does_not_contradict(other: dict[str, Any]):
    assert joining.at_odds(early(), late(**other)) is None


def promoted(replica: str, *, seconds: int, position: int = 1, action: str = "promote") -> Event:
    edit = changing("status", "promoted", "pending", id="late")
    return said(replica, edit, seconds=seconds, position=position, action=action)


def against(*ids: str, seconds: int) -> Event:
    edit = changing("held_for", "conflict", id="late")
    return said("c", edit, seconds=seconds, action="join", note={"conflicts": list(ids)})


def test_what_was_held_against_a_memory_and_came_into_use_since_is_decided():
    def decided(*events: Event) -> bool:
        return joining.is_decided(late(), early(), events, [])

    assert decided(against("early", seconds=2), promoted("b", seconds=3))
    assert not decided(against("another", seconds=2), promoted("b", seconds=3))
    assert not decided(promoted("b", seconds=1), against("early", seconds=2))
    assert not decided(against("early", seconds=2)._replace(payload=None), promoted("b", seconds=3))


@pytest.mark.parametrize("noted", [7, None, True, "early", {"early": 1}, [["early"]]])
def test_what_another_store_notes_in_a_form_of_its_own_decides_nothing(noted: Any):
    odd = said("c", changing("held_for", "conflict", id="late"), action="join", note={"conflicts": noted})

    assert not joining.is_decided(late(), early(), [odd, promoted("b", seconds=3)], [])


def test_what_was_approved_where_the_other_had_been_dealt_with_before_is_decided():
    def decided(approval: Event, replica: str = "b", position: int = 1) -> bool:
        other = said(replica, changing("pinned", new=True, id="early"), position=position)
        return joining.is_decided(late(), early(), [approval], [other])

    assert decided(promoted("b", seconds=5, position=2))
    assert not decided(promoted("b", seconds=5, position=2), replica="a")
    assert not decided(promoted("b", seconds=5, position=2), position=3)
    assert not decided(promoted("b", seconds=5, position=2, action="remember"))
    both = said(
        "b", *promoted("b", seconds=5).payload.edits, changing("pinned", new=True, id="early"), action="promote"
    )
    assert not joining.is_decided(late(), early(), [both], [both])  # in one step, nobody looked at one first


def test_a_memory_that_waits_for_a_conflict_is_approved_by_nobody():
    waits = joining.held_for_conflict(late(status="promoted", approved_by="alex"))

    assert (waits.status, waits.held_for, waits.approved_by) == ("pending", "conflict", "")


def test_what_a_person_put_away_is_in_the_way_of_what_an_agent_said_and_not_of_a_person():
    away = memory("b", forgotten_at=START, forgotten_by="alex")
    agents = memory("a", origin="inferred", source="tool:remember")
    persons = memory("c", **TYPED)

    def led(*several: Memory) -> dict[str, str]:
        return {id: one.replaced_by for id, one in joining.aliases(several).moved.items()}

    assert led(away, agents) == {"a": "b"}
    assert led(away, persons) == {"b": "c"}
    assert led(replace(away, **TYPED), persons) == {"b": "c"}
    assert led(replace(away, forgotten_by=""), agents) == {"b": "a"}


def test_what_was_verified_as_it_was_worded_or_said_together_with_that_stays_verified():
    at, later = (print_time(START + timedelta(seconds=seconds)) for seconds in (5, 9))
    known = making(memory())
    worded = said("theirs", changing("reworded_at", at), seconds=20)

    def verified(*events: Event) -> datetime | None:
        return joining.record_of(states([known, *events])["memory-1"]).verified_at

    earlier = said("mine", changing("verified_at", at), seconds=10)
    assert verified(earlier, worded) == START + timedelta(seconds=5)
    assert (
        verified(said("mine", changing("verified_at", at), changing("reworded_at", later), seconds=10)) is not None
    )
    assert verified(earlier, said("theirs", changing("reworded_at", later), seconds=20)) is None
