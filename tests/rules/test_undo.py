"""Taking back what was done: the last step, several, any one, a batch; and saying why where it cannot be."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from engram.errors import Conflict, Forbidden, Invalid, NotFound, Unconfirmed
from engram.model.event import EDITED, Event
from engram.model.memory import Memory
from engram.rules.joining import record_of, same_record
from engram.rules.merge import states
from engram.rules.undo import reversed_by, undo
from rules.histories import changing, making, said
from rules.world import OTHER, World, memory, request, texts


@pytest.fixture
def world() -> World:
    return World()


def test_undo_takes_back_the_last_action(world):
    world.person.remember("The first thing")
    world.person.remember("The second thing")
    undone = world.person.undo()
    assert [event.action for event in undone.events] == ["remember"]
    assert len(undone.gone) == 1
    assert texts(world.person.list().memories) == ["The first thing"]


def test_undo_again_goes_one_step_further_back_and_never_back_and_forth(world):
    for text in ("The first thing", "The second thing", "The third thing"):
        world.person.remember(text)
    world.person.undo()
    world.person.undo()
    assert texts(world.person.list().memories) == ["The first thing"]


def test_undo_last_3_takes_back_three_actions_in_one_step(world):
    kept = world.person.remember("A thing to keep").memory
    world.person.revise(kept.id, importance=9)
    world.person.forget(kept.id)
    world.person.remember("Another thing")
    past = len(world.events())
    undone = world.person.undo(last=3)
    assert [event.action for event in undone.events] == ["remember", "forget", "revise"]
    assert len(world.events()) == past + 1
    assert (world.now(kept.id).importance, world.stands(kept.id)) == (5, "live")


def test_undo_of_more_than_there_is_says_how_much_there_is(world):
    with pytest.raises(Conflict, match="nothing"):
        world.person.undo()
    world.person.remember("The only thing")
    with pytest.raises(Conflict, match="only 1"):
        world.person.undo(last=2)
    for absurd in (0, -1, 1001):
        with pytest.raises(Invalid):
            world.person.undo(last=absurd)


def test_undo_of_any_event_on_which_nothing_stands(world):
    first = world.person.remember("The first thing")
    world.person.remember("The second thing")
    world.person.undo(str(first.event))
    assert texts(world.person.list().memories) == ["The second thing"]


def test_an_event_is_named_by_number_or_by_the_beginning_of_its_id(world):
    world.person.remember("The first thing")
    event = world.events()[0]
    with pytest.raises(NotFound):
        world.person.undo("99")
    with pytest.raises(NotFound):
        world.person.undo(event.id[:3])
    world.person.undo(event.id[:10])
    with pytest.raises(Conflict, match="undone already"):
        world.person.undo("1")


def test_undo_says_in_words_what_changed_since(world):
    held = world.agent.remember("My name is Alex", kind="identity")
    world.person.promote(held.memory.id, confirm=True)
    with pytest.raises(Conflict, match=r"cannot be undone: why mem-0001 waits changed since\."):
        world.person.undo(str(held.event))


def test_undo_of_an_undo_does_it_again(world):
    made = world.person.remember("A thing", tag=["x"], importance=7).memory
    undone = world.person.undo()
    world.person.undo(str(undone.event))
    assert world.now(made.id).tags == ("x",)
    assert world.now(made.id).handle != ""


def test_undo_says_that_a_later_step_stands_on_it(world):
    first = world.person.remember("The first wording", key="k")
    world.person.remember("The second wording", key="k")
    with pytest.raises(Conflict, match=r"text of mem-0001 changed since") as refused:
        world.person.undo(str(first.event))
    assert refused.value.hint == "Undo the later steps first: engram history mem-0001."


def test_what_is_done_to_a_memory_that_is_gone_names_the_event_that_removed_it(world):
    world.person.remember("The first wording", key="k")
    world.person.revise("mem-0001", importance=7)
    undone = world.person.undo("2")
    gone = world.person.undo("1")
    with pytest.raises(Conflict, match="is gone") as refused:
        world.person.undo(str(undone.event))

    assert refused.value.hint == f"Undo what removed it first: engram undo {gone.event}."
    world.person.undo(str(gone.event))
    world.person.undo(str(undone.event))
    assert world.person.list().memories[0].importance == 7


def test_undo_of_a_repeat_is_possible_whatever_was_counted_since(world):
    made = world.person.remember("A thing").memory
    second = world.person.remember("A thing")
    world.person.remember("A thing")
    world.person.undo(str(second.event))
    assert world.now(made.id).seen == 2


def test_undo_says_that_a_purge_erased_it(world):
    made = world.person.remember("A thing")
    world.person.purge(made.memory.id, confirm=True)
    for ref in (str(made.event), str(made.event + 1)):
        with pytest.raises(Conflict, match="purge"):
            world.person.undo(ref)


def test_undo_of_one_of_two_steps_on_different_fields_leaves_the_other(world):
    made = world.person.remember("A thing").memory
    first = world.person.revise(made.id, importance=9)
    world.person.revise(made.id, pinned=True)
    world.person.undo(str(first.event))
    after = world.now(made.id)
    assert (after.importance, after.pinned) == (5, True)


def test_undo_of_a_promotion_makes_it_wait_again_and_frees_what_it_replaced(world):
    old = world.agent.remember("The api port is 8080").memory
    held = world.agent.remember("The api port is 9090").memory
    world.person.promote(held.id)
    world.person.undo()
    assert (world.stands(old.id), world.stands(held.id)) == ("live", "pending")


def test_undo_of_a_batch_takes_back_all_of_it_at_once(world, tmp_path):
    elsewhere = World(name="elsewhere")
    for number in range(5):
        elsewhere.person.remember(f"Thing number {'x' * number} of five")
    elsewhere.person.export(str(tmp_path / "five.jsonl"))
    kept = world.person.remember("A thing of mine").memory
    taken = world.person.import_(str(tmp_path / "five.jsonl"))
    assert len(world.everything()) == 6
    past = len(world.events())
    world.person.undo(taken.batch)
    assert set(world.everything()) == {kept.id}
    assert len(world.events()) == past + 1


def test_undo_of_what_makes_a_curated_memory_live_needs_a_confirmation(world):
    held = world.agent.remember("My name is Alex", kind="identity").memory
    world.person.promote(held.id, confirm=True)
    undone = world.person.undo()
    with pytest.raises(Unconfirmed):
        world.person.undo(str(undone.event))


def test_undo_of_an_approval_needs_no_word_and_what_it_brings_back_was_confirmed_before(world):
    first = world.person.remember("The team lead is Ada", kind="people", confirm=True).memory
    second = world.agent.remember("The team lead is Bob", kind="people").memory
    world.person.promote(second.id, confirm=True)
    assert world.everything()[first.id].replaced_by == second.id
    undone = world.person.undo()

    assert (world.everything()[second.id].status, world.everything()[second.id].approved_by) == ("pending", "")
    assert (world.everything()[first.id].status, world.everything()[first.id].replaced_by) == ("promoted", "")
    with pytest.raises(Unconfirmed):
        world.person.undo(str(undone.event))


def test_undo_is_a_persons_alone_and_only_of_what_is_his(world):
    world.agent.remember("A thing", visibility="shared")
    with pytest.raises(Forbidden):
        world.agent.undo()
    with pytest.raises((Forbidden, Conflict)):
        world.other.undo()
    with pytest.raises((Forbidden, NotFound)):
        world.other.undo("1")


def test_undo_without_a_name_takes_back_the_callers_own_last_action(world):
    mine = world.other.remember("A thing of mine").memory
    world.person.remember("A thing of another", visibility="shared")
    undone = world.other.undo()
    assert undone.gone == (mine.id,)


def test_undo_says_that_another_memory_has_taken_the_text(world):
    made = world.person.remember("The first wording").memory
    revised = world.person.revise(made.id, text="The second wording")
    world.person.remember("The first wording")
    with pytest.raises(Conflict, match="another memory has taken"):
        world.person.undo(str(revised.event))


def test_history_shows_newest_first_and_which_events_stand_undone(world):
    made = world.person.remember("A thing").memory
    world.person.revise(made.id, importance=9)
    world.person.undo()
    told = world.person.history()
    assert [event.action for event in told.events] == ["undo", "revise", "remember"]
    assert told.undone == (told.events[1].id,)
    assert reversed_by(world.events()) == {told.events[1].id}
    assert told.handles == {made.id: "mem-0001"}
    assert [event.action for event in world.person.history(made.id, limit=1).events] == ["undo"]


def test_history_goes_on_page_by_page(world):
    for number in range(7):
        world.person.remember(f"Thing number {'x' * number} of seven")
    seen, before = [], None
    while True:
        page = world.person.history(limit=3, before=before)
        seen += [event.seq for event in page.events]
        if (before := page.next) is None:
            break
    assert seen == [7, 6, 5, 4, 3, 2, 1]


# --- the order of steps, what counts, and whose they are ---


def test_several_steps_on_one_field_are_taken_back_newest_first(world):
    kept = world.person.remember("A thing to keep", importance=5).memory
    world.person.revise(kept.id, importance=7)
    world.person.revise(kept.id, importance=9)
    world.person.undo(last=2)

    assert world.now(kept.id).importance == 5
    assert world.now(kept.id).revision == kept.revision + 3


def test_what_was_done_again_does_not_stand_undone(world):
    world.person.remember("A thing")
    world.person.undo()
    taken_back = world.events()[-1]
    world.person.undo(str(taken_back.seq))

    assert reversed_by(world.events()) == {taken_back.id}


def test_a_count_goes_back_and_forth_by_what_was_counted(world):
    kept = world.person.remember("A thing to keep").memory
    world.person.remember("A thing to keep")
    world.person.undo()
    assert world.now(kept.id).seen == 1
    world.person.undo(str(world.events()[-1].seq))

    assert world.now(kept.id).seen == 2


def test_what_was_removed_comes_back_once_and_to_its_owner_alone(world):
    kept = world.person.remember("A thing").memory
    world.person.undo()
    removal = world.events()[-1]

    assert [one.revision for one in undo([removal], {}, request()).puts] == [1]
    with pytest.raises(Forbidden):
        undo([removal], {}, request(OTHER))
    with pytest.raises(Conflict, match=rf"Event {removal.seq} \(undo\) cannot be undone: id of {kept.handle}"):
        undo([removal], {kept.id: kept}, request())


def test_a_step_on_what_is_gone_cannot_be_taken_back(world):
    kept = world.person.remember("A thing").memory
    world.person.revise(kept.id, importance=9)
    with pytest.raises(Conflict, match=rf"Event 2 \(revise\) cannot be undone: {kept.id} is gone") as refused:
        undo([world.events()[-1]], {}, request())
    assert refused.value.hint == "Undo what removed it first: engram history."


def test_what_somebody_proposes_to_change_is_not_undone(world):
    rule = world.person.remember("Never deploy on Fridays", kind="rule", confirm=True)
    proposal = world.agent.revise(rule.memory.id, text="Never deploy on Mondays").memory
    with pytest.raises(Conflict, match=f"{proposal.handle} proposes to change it"):
        world.person.undo(str(rule.event))


def test_what_has_replaced_another_since_is_not_undone_alone(world):
    old = world.person.remember("Sessions rest in Redis").memory
    new = world.person.remember("All of it lives in memory").memory
    world.person.judge(f"{new.handle}~{old.handle}", "supersedes")
    with pytest.raises(Conflict, match=f"{new.handle} has replaced {old.handle} since"):
        world.person.undo("2")
    world.person.undo(last=2)
    assert [one.id for one in world.person.list().memories] == [old.id]


def test_the_approval_of_what_has_replaced_another_since_is_not_undone_alone(world):
    old = world.person.remember("Sessions rest in Redis").memory
    new = world.agent.remember("All of it lives in memory", source="web:example.org").memory
    approved = world.person.promote(new.id).event
    judged = world.person.judge(f"{new.handle}~{old.handle}", "supersedes").event
    with pytest.raises(Conflict, match=f"{new.handle} has replaced {old.handle} since"):
        world.person.undo(str(approved))
    world.person.undo(str(judged))
    world.person.undo(str(approved))
    assert (world.stands(old.id), world.stands(new.id)) == ("live", "pending")


def test_a_reviewer_takes_back_verdicts_of_their_own_and_nothing_else(world):
    one = world.person.remember("We deploy on Fridays", visibility="shared").memory
    world.clock.pass_by(days=1)
    own = world.reviewer.verify(one.id).event
    world.reviewer.undo(str(own))
    assert world.now(one.id).verified_at == one.verified_at

    theirs = world.person.verify(one.id).event
    content = world.person.revise(one.id, importance=9).event
    for event in (theirs, content):
        with pytest.raises((Forbidden, NotFound)):
            world.reviewer.undo(str(event))


def test_what_an_editor_did_to_a_curated_memory_is_taken_back_without_a_word(world):
    rule = world.person.remember("Never deploy on Fridays", kind="rule", confirm=True).memory
    world.person.revise(rule.id, text="Deploy when you like", confirm=True)
    revised, now = world.events()[-1], world.now(rule.id)
    with pytest.raises(Unconfirmed):
        undo([revised], {rule.id: now}, request())

    (back,) = undo([revised._replace(action=EDITED)], {rule.id: now}, request()).puts
    assert back.text == "Never deploy on Fridays"


# --- what several stores changed ---

FIELDS = {"text": st.sampled_from(["one", "two", "three"]), "importance": st.integers(1, 4), "key": st.just("k")}


def as_told(events: list[Event]) -> Memory:
    """A memory as all of these events together say."""
    record = record_of(states(events)["memory-1"])
    assert isinstance(record, Memory)
    return record


@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(list(FIELDS))), min_size=1, max_size=6), st.data())
def test_undo_leaves_what_there_would_be_without_the_event_whatever_other_stores_said(told, data):
    base = making(memory(), replica="a")
    later = [
        said(who, changing(field, data.draw(FIELDS[field]), old="of before both"), seconds=at, position=at + 1)
        for at, (who, field) in enumerate(told, 1)
    ]
    events = [event._replace(seq=seq) for seq, event in enumerate((base, *later), 1)]
    assume({event.replica for event in events} == {"a", "b"})
    one = data.draw(st.sampled_from(events[1:]))
    last = {edit.field: event for event in events for edit in event.payload.edits}
    before = as_told(events)
    field = one.payload.edits[0].field

    def taken_back() -> Memory:
        return undo([one], {before.id: before}, request(), told=lambda _: events).puts[0]

    rest = as_told([event for event in events if event is not one])
    if last[field] is not one and getattr(before, field) != one.payload.edits[0].new:
        with pytest.raises(Conflict, match=f"{field} of memory-1 changed since"):
            taken_back()
    elif field in {edit.field for event in events if event is not one for edit in event.payload.edits}:
        assert same_record(taken_back(), rest)


def test_two_that_changed_one_thing_take_back_their_own_one_after_the_other():
    base = making(memory(text="before"), replica="a")._replace(seq=1)
    mine = said("a", changing("text", "mine", old="before"), seconds=2, position=2)._replace(seq=2)
    theirs = said("b", changing("text", "theirs", old="before"), seconds=1)._replace(seq=3)
    known = [base, mine, theirs]

    def back(event: Event, now: str) -> str:
        stored = memory(text=now)
        change = undo([event], {stored.id: stored}, request(), told=lambda _: known)
        edits = change.draft.payload.edits
        at = len(known) + 1
        undoing = said("a", *edits, action="undo", seconds=at, position=at)._replace(seq=at, reverses=(event.id,))
        known.append(undoing)
        return change.puts[0].text

    assert back(mine, "mine") == "theirs"
    again = known[-1]
    assert back(theirs, "theirs") == "before"
    known.pop()
    assert back(again, "theirs") == "mine"


def test_several_steps_at_once_leave_what_another_store_said_between_them():
    base = making(memory(text="before"), replica="a")._replace(seq=1)
    first = said("a", changing("text", "first", old="before"), seconds=1, position=2)._replace(seq=2)
    theirs = said("b", changing("text", "theirs", old="before"), seconds=2)._replace(seq=4)
    second = said("a", changing("text", "second", old="first"), seconds=3, position=3)._replace(seq=3)
    known, stored = [base, first, second, theirs], memory(text="second")
    change = undo([second, first], {stored.id: stored}, request(), told=lambda _: known)
    assert change.puts[0].text == "theirs"


def test_where_words_were_erased_or_an_editor_did_it_what_was_before_comes_back():
    base = making(memory(text="before"), replica="a")._replace(seq=1)
    mine = said("a", changing("text", "mine", old="before"), seconds=2, position=2)._replace(seq=2)
    theirs = said("b", changing("text", "theirs", old="before"), seconds=1)._replace(seq=3)
    lost = said("b", changing("importance", 9), seconds=0)._replace(seq=4, payload=None)
    stored = memory(text="mine")
    for event, known in ((mine, [base, mine, theirs, lost]), (mine._replace(action=EDITED), [base, mine, theirs])):
        change = undo([event], {stored.id: stored}, request(), told=lambda _, known=known: known)
        assert change.puts[0].text == "before"
