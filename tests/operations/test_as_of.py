"""Recall as of a moment: what was known then, in the words of then, however it stands now."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from engram.engines.ram import RamEngine
from engram.engines.sqlite import SqliteEngine
from engram.errors import Invalid, Unavailable
from engram.model.change import Change, Past
from engram.recall.pipeline import MOST_EVENTS
from recall.embedders import Concepts
from rules.world import START, World

SEA = {"harbour": 0, "haven": 0, "port": 0, "anchorage": 0, "lunch": 1, "meal": 1}


@pytest.fixture(params=["ram", "sqlite"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    engine = (
        SqliteEngine(tmp_path / "store.db", new_replica=lambda: "replica") if request.param == "sqlite" else None
    )
    world = World(embedder=Concepts(SEA), engine=engine)
    yield world
    world.close()


@pytest.fixture(params=["words", "meaning"])
def by_words(request: pytest.FixtureRequest) -> bool:
    return request.param == "words"


def found(world: World, question: str, moment: datetime | None, **said: object) -> list[str]:
    return [hit.memory.text for hit in world.person.recall(question, as_of=moment, **said).hits]


def later(world: World, **lapse: float) -> datetime:
    """A moment after all that was done so far, and before all that will be."""
    world.clock.pass_by(minutes=1)
    moment = world.clock()
    world.clock.pass_by(**(lapse or {"hours": 1}))
    return moment


def test_what_was_saved_later_is_absent(world: World, by_words: bool):
    moment = later(world)
    world.person.remember("The harbour is small")
    later(world)

    assert found(world, "harbour", moment, words=by_words) == []
    assert found(world, "harbour", None, words=by_words) == ["The harbour is small"]


def test_what_was_saved_at_that_very_moment_was_known(world: World):
    world.person.remember("The harbour is small")
    later(world)

    assert found(world, "harbour", START, words=True) == ["The harbour is small"]


@pytest.mark.parametrize("late", [False, True], ids=["made before", "made at that very moment"])
def test_what_came_from_another_store_hides_no_old_words(world: World, late: bool):
    other = World(name="other", engine=RamEngine("elsewhere"))
    known = world.person.remember("The harbour is small").memory
    moment = later(world)
    other.clock.now = moment if late else START
    other.person.remember("A thing of another store")
    world.person.revise(known.id, text="The lighthouse is tall")
    past = Past(tuple((event, None) for event in other.events()))
    world.engine.commit(Change(None, puts=tuple(other.everything().values()), past=past))

    assert found(world, "harbour", moment, words=True) == ["The harbour is small"]


def test_what_was_revised_since_has_its_old_words(world: World, by_words: bool):
    made = world.person.remember("The harbour is small").memory
    moment = later(world)
    world.person.revise(made.id, text="The harbour is large")
    later(world)

    assert found(world, "harbour", moment, words=by_words) == ["The harbour is small"]
    assert found(world, "harbour", world.clock(), words=by_words) == ["The harbour is large"]


def test_what_was_revised_since_is_found_by_its_old_words_alone(world: World, by_words: bool):
    made = world.person.remember("The harbour is small").memory
    moment = later(world)
    world.person.revise(made.id, text="Lunch is at noon")
    later(world)

    assert found(world, "harbour", moment, words=by_words) == ["The harbour is small"]
    assert found(world, "lunch", moment, words=by_words) == []


def test_what_was_revised_since_is_found_by_what_it_meant(world: World):
    made = world.person.remember("The harbour is small").memory
    moment = later(world)
    world.person.revise(made.id, text="Lunch is at noon")
    later(world)

    assert found(world, "anchorage", moment) == ["The harbour is small"]
    assert found(world, "meal", moment) == []


def test_a_phrase_must_have_been_there_then(world: World):
    made = world.person.remember("The small harbour is here").memory
    moment = later(world)
    world.person.revise(made.id, text="The harbour is large and the small boats are here")
    later(world)

    assert found(world, '"small harbour"', moment, words=True) == ["The small harbour is here"]
    assert found(world, '"harbour is large"', moment, words=True) == []
    assert found(world, '"harbour small"', moment, words=True) == []


def test_what_had_another_tag_or_kind_then_is_found_by_it(world: World):
    made = world.person.remember("The harbour is small", tag=["sea"], kind="decision").memory
    moment = later(world)
    world.person.revise(made.id, tag=["land"], kind="convention")
    later(world)

    assert found(world, "harbour", moment, words=True, tag=["sea"]) == ["The harbour is small"]
    assert found(world, "harbour", moment, words=True, tag=["land"]) == []
    assert found(world, "harbour", moment, words=True, kind=["decision"]) == ["The harbour is small"]
    assert found(world, "harbour", moment, words=True, kind=["convention"]) == []


def test_what_was_forgotten_since_is_back(world: World, by_words: bool):
    made = world.person.remember("The harbour is small").memory
    moment = later(world)
    world.person.forget(made.id)
    later(world)

    assert found(world, "harbour", moment, words=by_words) == ["The harbour is small"]
    assert found(world, "harbour", world.clock(), words=by_words) == []


def test_what_was_forgotten_then_is_absent_though_it_was_restored(world: World, by_words: bool):
    made = world.person.remember("The harbour is small").memory
    world.person.forget(made.id)
    moment = later(world)
    world.person.restore(made.id)
    later(world)

    assert found(world, "harbour", moment, words=by_words) == []


def test_what_was_replaced_since_is_back_without_what_replaced_it(world: World, by_words: bool):
    world.person.remember("The harbour closes at 8")
    moment = later(world)
    world.person.remember("The harbour closes at 9", confirm=True)
    later(world)

    assert found(world, "harbour", moment, words=by_words) == ["The harbour closes at 8"]
    assert found(world, "harbour", None, words=by_words) == ["The harbour closes at 9"]


def test_what_waited_then_is_absent_and_what_was_rejected_never_was_known(world: World, by_words: bool):
    held = world.agent.remember("My harbour is Riga", kind="identity").memory
    refused = world.agent.remember("My harbour lies in Rome", kind="location").memory
    moment = later(world)
    world.person.promote(held.id, confirm=True)
    world.person.reject(refused.id)
    later(world)

    assert found(world, "harbour", moment, words=by_words) == []
    assert found(world, "harbour", world.clock(), words=by_words) == ["My harbour is Riga"]


def test_what_expired_since_is_back_and_what_was_still_to_come_is_absent(world: World, by_words: bool):
    world.person.remember("The harbour has ended", valid_until=START + timedelta(hours=2))
    world.person.remember("The harbour has begun", valid_from=START + timedelta(hours=2))
    moment = later(world, hours=1)
    later(world, hours=5)

    assert found(world, "harbour", moment, words=by_words) == ["The harbour has ended"]
    assert found(world, "harbour", None, words=by_words) == ["The harbour has begun"]


def test_what_went_stale_since_is_back(world: World, by_words: bool):
    world.person.remember("The harbour is small", decay="1d")
    moment = later(world, days=3)

    assert found(world, "harbour", moment, words=by_words) == ["The harbour is small"]
    assert found(world, "harbour", None, words=by_words) == []


def test_what_was_purged_is_absent_at_every_moment(world: World, by_words: bool):
    made = world.person.remember("The harbour is small").memory
    moment = later(world)
    world.person.purge(made.id, confirm=True)
    later(world)

    assert found(world, "harbour", moment, words=by_words) == []


def test_what_was_undone_since_is_back(world: World, by_words: bool):
    world.person.remember("The harbour is small")
    moment = later(world)
    world.person.undo()
    later(world)

    assert found(world, "harbour", None, words=by_words) == []
    # The record itself is gone, and history alone could tell it: what was undone never was.
    assert found(world, "harbour", moment, words=by_words) == []


def test_the_words_of_then_stay_private_where_they_were(world: World, by_words: bool):
    made = world.other.remember("The harbour of the secret treasure").memory
    world.other.recall("harbour")
    moment = later(world)
    world.other.revise(made.id, text="The harbour of Riga", visibility="shared")
    later(world)
    world.person.recall("harbour")

    assert found(world, "harbour", None, words=by_words) == ["The harbour of Riga"]
    assert found(world, "harbour", moment, words=by_words) == []


def test_a_moment_that_is_still_to_come_is_refused(world: World):
    with pytest.raises(Invalid, match="still to come"):
        world.person.recall("harbour", as_of=world.clock() + timedelta(seconds=1))
    assert found(world, "harbour", world.clock()) == []


def test_a_moment_without_a_time_zone_is_refused_with_a_word(world: World):
    with pytest.raises(Invalid, match="time zone"):
        world.person.recall("harbour", as_of=datetime(2026, 1, 1))  # noqa: DTZ001 - the subject here


def test_the_record_weighs_as_it_stood_then(world: World):
    made = world.person.remember("The harbour is small").memory
    moment = later(world)
    world.person.revise(made.id, pinned=True, importance=10)
    later(world)
    hit, *_ = world.person.recall("harbour", as_of=moment, words=True).hits

    assert {"pinned", "importance"}.isdisjoint(hit.reasons)
    assert hit.memory.handle == made.handle


def test_time_words_are_meant_from_that_moment(world: World):
    for text in (
        "The harbour bell rang for fog",
        "Lunch is at noon",
        "Nadia keeps bees",
        "The printer is out of ink",
    ):
        world.person.remember(text)
    world.clock.pass_by(days=7)
    moment = later(world, days=60)
    then, now = (world.person.recall("harbour last week", as_of=when, words=True) for when in (moment, None))

    assert then.time == now.time == "last week"
    assert "time" in then.hits[0].reasons
    assert "time" not in now.hits[0].reasons


def test_nothing_is_counted_as_held_back_of_the_past(world: World):
    world.person.remember("The harbour is small", decay="1d")
    moment = later(world, days=3)

    assert world.person.recall("harbour", as_of=moment, words=True).held_back == {}


def test_asking_about_the_past_changes_nothing(world: World):
    made = world.person.remember("The harbour is small").memory
    moment = later(world)
    world.person.revise(made.id, text="The harbour is large")
    later(world)
    past = world.events()
    found(world, "harbour", moment)

    assert world.events() == past
    assert world.now(made.id).text == "The harbour is large"


class Half(Concepts):
    """An embedder that still reads questions, and no more texts."""

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        if self.asked:
            raise Unavailable("It stumbled.", "Mend it.")
        return super().documents(texts)


def test_where_the_model_cannot_read_the_words_of_then_they_count_as_words():
    world = World(embedder=Half(SEA))
    made = world.person.remember("The harbour of Oslo is small").memory
    moment = later(world)
    world.person.revise(made.id, text="Lunch is served at noon")

    assert found(world, "harbour of Oslo", moment) == ["The harbour of Oslo is small"]


def test_what_a_model_cannot_read_was_not_near_to_anything_then_either():
    world = World(embedder=Concepts(SEA))
    world.embedder.latin = True
    made = world.person.remember("\u6e2f\u306f\u5c0f\u3055\u3044").memory
    moment = later(world)
    world.person.revise(made.id, text="Lunch is served at noon")
    (hit,) = world.person.recall("zanzibar", as_of=moment, weak=True).hits

    assert "meaning" not in hit.reasons


def test_whatever_was_not_known_then_leaves_the_others_there(world: World, by_words: bool):
    known = [world.person.remember(f"The harbour of {town} is small").memory for town in ("Riga", "Oslo", "Rome")]
    for one in known:
        moment = later(world)
        world.person.forget(one.id)
        assert sorted(found(world, "harbour", moment, words=by_words)) == sorted(each.text for each in known)
        still = sorted(each.text for each in known if each is not one)
        moment = later(world)
        world.person.restore(one.id)
        assert sorted(found(world, "harbour", moment, words=by_words)) == still


def test_a_memory_that_has_some_of_its_old_words_still_is_one_answer(world: World, by_words: bool):
    made = world.person.remember("The harbour is small").memory
    moment = later(world)
    world.person.revise(made.id, text="The harbour is large")
    answer = world.person.recall("harbour", as_of=moment, words=by_words)

    assert [hit.memory.text for hit in answer.hits] == ["The harbour is small"]
    assert answer.collapsed == 0


def test_what_was_reworded_in_another_store_is_found_by_its_old_words(world: World):
    other = World(name="other", engine=RamEngine("elsewhere"))
    made = other.person.remember("The harbour is small").memory
    moment = later(other)
    other.person.revise(made.id, text="The lighthouse is tall")
    past = Past(tuple((event, None) for event in other.events()))
    world.clock.now = other.clock.now
    world.engine.commit(Change(None, puts=tuple(other.everything().values()), past=past))

    assert found(world, "harbour", moment, words=True) == ["The harbour is small"]


def test_what_was_reworded_and_then_erased_stops_no_question(world: World, by_words: bool):
    erased = world.person.remember("The harbour is small").memory
    kept = world.person.remember("The harbour of Riga is deep").memory
    moment = later(world)
    world.person.revise(kept.id, text="The lighthouse is tall")
    world.person.revise(erased.id, text="The harbour is large")
    world.person.purge(erased.id, confirm=True)
    later(world)

    assert found(world, "harbour", moment, words=by_words) == ["The harbour of Riga is deep"]


def test_what_was_merely_pinned_since_is_no_nearer_to_a_question_about_the_past(world: World):
    world.person.remember("The harbour is small")
    pinned = world.person.remember("Lunch is at noon").memory
    moment = later(world)
    world.person.revise(pinned.id, pinned=True)

    assert found(world, "harbour", moment, words=True, weak=True) == ["The harbour is small"]


def test_the_words_of_then_are_about_as_telling_as_they_were(world: World):
    for text in ("Lunch is at noon", "Nadia keeps bees", "The printer is out of ink"):
        world.person.remember(text)
    made = world.person.remember("The harbour of Oslo is small").memory

    def told(question: str, moment: datetime | None) -> float:
        return world.person.recall(question, as_of=moment, words=True).hits[0].reasons["words"]

    whole, half = (told(question, None) for question in ("small harbour", "small sauna"))
    moment = later(world)
    world.person.revise(made.id, text="Bread is made of rye")

    assert told("small harbour", moment) == pytest.approx(whole, abs=0.13)
    assert told("small sauna", moment) == pytest.approx(half, abs=0.13)


@pytest.mark.parametrize("question", ["What of Bartholomew's train?", "What of Bartholomew's next holiday?"])
def test_a_name_that_was_known_then_is_no_strange_one(world: World, question: str):
    made = world.person.remember("Bartholomew owns the release train").memory
    asked = world.person.recall(question, words=True)
    moment = later(world)
    world.person.revise(made.id, text="Nadia keeps the other car")
    then = world.person.recall(question, words=True, as_of=moment)

    assert [hit.memory.text for hit in then.hits] == ["Bartholomew owns the release train"]
    assert then.hits[0].relevance >= asked.hits[0].relevance


def test_a_question_that_the_model_cannot_read_is_asked_of_the_past_by_words():
    world = World(embedder=Concepts(SEA))
    world.embedder.latin = True
    made = world.person.remember("\u6e2f\u306f\u5c0f\u3055\u3044").memory
    moment = later(world)
    world.person.revise(made.id, text="Lunch is served at noon")

    assert found(world, "\u6e2f\u306f\u5c0f\u3055\u3044", moment) == ["\u6e2f\u306f\u5c0f\u3055\u3044"]


def test_of_a_memory_that_changed_very_often_the_latest_changes_are_taken_back():
    world = World()
    made = world.person.remember("The harbour is small").memory
    for _ in range(1000):
        world.person.revise(made.id, pinned=not world.now(made.id).pinned)
    moment = later(world)
    world.person.revise(made.id, text="The lighthouse is tall")

    assert found(world, "harbour", moment, words=True) == ["The harbour is small"]


def test_what_was_said_again_very_often_is_still_told_in_the_words_of_then():
    world = World()
    made = world.person.remember("The harbour of Riga is small").memory
    moment = later(world)
    world.person.revise(made.id, text="The harbour of Oslo is large")
    for _ in range(MOST_EVENTS):
        world.person.remember("The harbour of Oslo is large")

    assert found(world, "harbour", moment, words=True, weak=True) == ["The harbour of Riga is small"]
