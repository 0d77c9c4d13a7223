"""History made elsewhere and taken over: what a rebuilt index answers is what the first store answers."""

import pytest

from engines.asking import snapshot
from engines.samples import MINE, Story, change, memory, session
from engines.stores import open_any, open_store
from engram.engines.ram import RamEngine
from engram.model.change import Change, Past, Token
from engram.model.event import Head, intact
from engram.model.filter import ANYTHING as ANY


@pytest.fixture(params=["ram", "sqlite"])
def empty(request, tmp_path):
    return RamEngine("other") if request.param == "ram" else open_store(tmp_path / "other.db", "other")


@pytest.fixture(params=["ram", "sqlite", "files"])
def store(request, tmp_path):
    if request.param == "ram":
        return RamEngine("other")
    return open_any(tmp_path / ("other.db" if request.param == "sqlite" else "other"), "other")


def taken_over(first, empty, head=None, given=None):
    records = [r for type in ("memory", "session") for r in reversed(first.scan(type, ANY, MINE).records)]
    numbers = {record.id: int(record.handle.partition("-")[2]) for record in records}
    tokens = [None, Token("", "remember", "t", "r"), None, None]
    past = Past(tuple(zip(first.events(), tokens, strict=False)), head, given or {})
    empty.commit(Change(draft=None, puts=tuple(records), numbers=numbers, past=past))


def begun():
    first = RamEngine("first")
    story = Story(first)
    gone = story.remember("The zebra runs at night")
    story.remember("We deploy on Fridays")
    first.commit(change(session("session-1"), batch="s"))
    story.purge(gone)
    return first


def test_a_past_taken_over_answers_like_the_store_it_comes_from(empty):
    first = begun()
    taken_over(first, empty)

    assert snapshot(empty) == snapshot(first)
    assert empty.events(token=Token("", "remember", "t", "r"))[0].seq == 2
    assert all(map(intact, empty.events()))


def test_the_chain_goes_on_from_the_head_that_is_given(empty):
    first = begun()
    last = first.events()[-1]
    taken_over(first, empty, Head(last.replica, last.position, last.id))
    done = empty.commit(change(memory("id-9"), batch="b9"))

    assert (done.event.replica, done.event.position, done.event.prev) == ("first", 5, last.id)
    assert done.event.seq == 5
    assert done.event.time > last.time


def test_without_a_head_the_store_begins_a_chain_of_its_own(empty):
    taken_over(begun(), empty)
    done = empty.commit(change(memory("id-9"), batch="b9"))

    assert (done.event.replica, done.event.position, done.event.prev, done.event.seq) == ("other", 1, "", 5)


def test_what_is_sealed_after_a_past_goes_on_with_the_stores_own_chain(store):
    store.commit(change(memory("id-1"), batch="b1"))
    first = RamEngine("first")
    foreign = [first.commit(change(memory(f"id-{n}"), batch=f"f{n}")).event for n in (2, 3)]
    mine = change(memory("id-4"), batch="b4")
    puts = (memory("id-2"), memory("id-3"), *mine.puts)
    past = Past(tuple((event, None) for event in foreign))
    done = store.commit(mine._replace(puts=puts, expects=dict.fromkeys(("id-2", "id-3", "id-4"), 0), past=past))
    told = store.events()

    assert [(event.replica == "first", event.position) for event in told] == [
        (False, 1),
        (True, 1),
        (True, 2),
        (False, 2),
    ]
    assert done.event == told[3]
    assert done.event.prev == told[0].id
    assert done.event.replica == store.replica()
    assert set(store.get("memory", ["id-1", "id-2", "id-3", "id-4"], MINE)) == {"id-1", "id-2", "id-3", "id-4"}
    assert all(map(intact, told))
    assert [finding for finding in store.check() if finding.severity == "error"] == []


def test_a_store_takes_a_new_name_by_a_past_without_events(store):
    store.commit(change(memory("id-1"), batch="b1"))
    was = store.replica()
    done = store.commit(change(memory("id-2"), batch="b2")._replace(past=Past((), Head("anew"))))

    assert (done.event.replica, done.event.position, done.event.seq) == ("anew", 1, 2)
    assert store.replica() == "anew" != was
    assert store.check() == []


def test_a_store_without_an_event_of_its_own_is_nobody_yet(store):
    assert store.replica() == ""


def test_numbers_of_records_that_are_gone_are_not_given_again(empty):
    taken_over(begun(), empty, given={"memory": 40})

    assert empty.commit(change(memory("id-9"), batch="b9")).handles == {"id-9": "mem-0041"}


def test_what_a_witness_raises_undoes_the_commit(empty):
    empty.commit(change(memory("id-1")))
    before = snapshot(empty)
    told = []

    def refuse(done, numbers):
        told.append((done.handles, dict(numbers)))
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        empty.commit(change(memory("id-2"), session("session-2"), batch="b2"), refuse)

    assert told == [({"id-2": "mem-0002"}, {"id-2": 2, "session-2": 1})]
    assert snapshot(empty) == before
