"""Vectors follow what was saved: never waited for, never mixed, made anew at any time and after any stop."""

import atexit
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from engines.samples import change
from engines.stores import assert_whole
from engram import follower
from engram.engines.ram import RamEngine
from engram.engines.sqlite import SqliteEngine
from engram.errors import Conflict, Forbidden, Invalid, Unavailable
from engram.model.answers_store import ModelRow
from engram.model.filter import Access
from engram.model.query import Space
from engram.ports import Engine
from engram.recall.meaning import BATCH, CATCH_UP
from engram.rules.access import access_of
from recall.embedders import Concepts
from rules.world import PERSON, World, memory

SEA = {"harbour": 0, "haven": 0, "port": 0, "anchorage": 0, "lunch": 1, "meal": 1}
PATIENCE = 20


@pytest.fixture(params=["ram", "sqlite"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    if request.param == "ram":
        yield RamEngine("replica")
        return
    engine = SqliteEngine(tmp_path / "store.db", new_replica=lambda: "replica")
    yield engine
    engine.close()


@pytest.fixture
def world(engine: Engine) -> Iterator[World]:
    world = World(engine=engine, embedder=Concepts(SEA))
    yield world
    world.settle()


def fill(world: World, count: int, text: str = "The harbour of ship") -> None:
    """Save many at once: what is asked for here is what comes after."""
    said = [memory(f"id-{text[4:9]}-{n:04}", f"{text} {'x' * (n + 1)}", apart=True) for n in range(count)]
    world.engine.commit(change(*said))


def with_model(world: World, name: str, **said: object) -> World:
    """The same store, opened with another model."""
    other = World(engine=world.engine, embedder=Concepts(SEA, model=name, **said))
    other.clock, other.new_id = world.clock, world.new_id
    other.person, other.other = other.as_(world.person.caller), other.as_(world.other.caller)
    return other


def texts(world: World, question: str, **said: object) -> list[str]:
    return [hit.memory.text for hit in world.person.recall(question, **said).hits]


# --- vectors follow ---


def test_saving_never_waits_for_the_model(world: World):
    made = world.person.remember("The harbour is small").memory
    world.person.revise(made.id, text="The harbour is large")

    assert world.embedder.embedded == []
    assert not world.embedder.ready
    assert texts(world, "harbour", words=True) == ["The harbour is large"]


def test_the_first_recall_gives_what_was_saved_its_vectors(world: World):
    world.person.remember("The harbour is small")
    answer = world.person.recall("anchorage")

    assert [hit.memory.text for hit in answer.hits] == ["The harbour is small"]
    assert (answer.by_meaning, answer.behind, answer.hint) == (True, 0, "")
    assert world.engine.backlog(access_of(world.person.caller)) == (world.embedder.space, None, 0, 0)


def test_the_first_recall_gives_no_more_than_a_few_and_says_how_many_lack(world: World):
    fill(world, CATCH_UP + 8)
    answer = world.person.recall("anchorage")

    assert len(answer.hits) == 5
    assert answer.behind == 8
    assert "8 memories have no vector yet: engram reembed." in answer.hint
    assert len(world.embedder.embedded) >= CATCH_UP


def test_what_lacks_a_vector_is_found_by_its_words_all_the_same(world: World):
    fill(world, CATCH_UP, "The lunch of ship")
    world.person.remember("The zanzibar harbour is last")
    answer = world.person.recall("zanzibar")

    assert answer.behind == 1
    assert answer.hits[0].memory.text == "The zanzibar harbour is last"
    assert answer.hits[0].ranks == {"words": 1}


def test_text_summary_and_tags_are_embedded_and_a_long_text_in_windows(world: World):
    world.person.remember("The harbour is small", summary="In short", tag=["sea", "ship"])
    world.person.remember("A sentence of a long text. " * 100)
    world.person.recall("anchorage")
    first, *windows = world.embedder.embedded

    assert first == "In short\nThe harbour is small\nsea, ship"
    assert len(windows) > 2
    assert all(len(window) <= 800 for window in windows)


def test_a_long_text_is_found_by_what_any_part_of_it_means(world: World):
    world.person.remember(
        "Nothing of note happens here. " * 60 + "The haven is small. " + "Nor does it there. " * 60
    )
    world.person.remember("The lunch is small")

    assert texts(world, "anchorage")[0].startswith("Nothing of note")


def test_a_revision_gets_a_vector_of_its_own(world: World):
    made = world.person.remember("The harbour is small").memory
    world.person.recall("anchorage")
    world.person.revise(made.id, summary="About lunch")
    world.settle()
    world.person.recall("anchorage")

    assert world.embedder.embedded[-1] == "About lunch\nThe harbour is small"


def test_a_change_that_leaves_the_words_keeps_the_vector(world: World):
    made = world.person.remember("The harbour is small").memory
    world.person.recall("anchorage")
    for act in ({"pinned": True}, {"importance": 9}):
        world.person.revise(made.id, **act)
    world.person.verify(made.id)
    world.person.recall("anchorage")

    assert world.embedder.embedded == ["The harbour is small"]


# --- beside the caller ---


def test_what_is_saved_once_the_model_is_loaded_gets_its_vector_by_itself(world: World):
    world.person.recall("anchorage")
    world.person.remember("A first harbour")
    world.person.recall("anchorage")
    world.settle()
    world.person.remember("A second harbour")
    world.settle()

    assert world.engine.backlog(access_of(world.person.caller)).lacking == 0
    assert "A second harbour" in world.embedder.embedded


def test_the_rest_of_a_backlog_follows_beside_the_caller(world: World):
    fill(world, CATCH_UP + 30)
    world.person.recall("anchorage")
    world.settle()

    assert world.engine.backlog(access_of(world.person.caller)).lacking == 0


def test_who_stays_makes_vectors_in_a_quiet_moment(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(follower, "QUIET", 0.05)
    world.person.preloading_when_idle()
    world.person.remember("A first harbour")
    world.other.remember("A second harbour")
    world.settle()

    assert world.embedder.embedded == ["A first harbour"], "whoever only comes and goes loads no model"


def test_a_quiet_moment_serves_everybody_who_asked_before(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(follower, "QUIET", 0.2)
    staying = world.person.preloading_when_idle()
    staying.remember("A first harbour")
    staying.speaking_for(world.other.caller, "http").remember("A second harbour")
    world.settle()

    assert sorted(world.embedder.embedded) == ["A first harbour", "A second harbour"]


def test_who_closes_does_not_wait_for_a_quiet_moment(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(follower, "QUIET", 600.0)
    world.person.preloading_when_idle().remember("A first harbour")
    closing = threading.Thread(target=world.person.close)
    closing.start()
    closing.join(PATIENCE)

    assert not closing.is_alive()
    assert world.embedder.embedded == []


def test_in_a_quiet_moment_where_nothing_lacks_no_model_is_loaded(world: World, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(follower, "QUIET", 0.05)
    world.person.preloading_when_idle().list()
    world.settle()

    assert not world.embedder.ready


class Slow(Concepts):
    """An embedder that holds on to its texts until it is let go."""

    def __init__(self) -> None:
        super().__init__(SEA)
        self.let_go, self.holds, self.slow = threading.Event(), threading.Event(), False

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        if self.slow:
            self.holds.set()
            assert self.let_go.wait(PATIENCE)
        return super().documents(texts)


@pytest.mark.parametrize("through", ["itself", "watched", "confirming"])
def test_closing_waits_for_whoever_makes_vectors_also_through_a_copy(tmp_path: Path, through: str):
    slow = Slow()
    world = World(engine=SqliteEngine(tmp_path / "store.db", new_replica=lambda: "replica"), embedder=slow)
    ours = world.person
    ours.remember("A first harbour")
    ours.recall("anchorage")
    slow.slow = True
    world.engine.commit(
        change(memory("id-2", "A second harbour", apart=True))
    )  # a save would wait for the model itself
    {"itself": ours, "watched": ours.watched_by(print), "confirming": ours.confirming_by("flag")}[through].list()
    assert slow.holds.wait(PATIENCE)
    closing = threading.Thread(target=ours.close)
    closing.start()
    closing.join(0.1)
    still_open = closing.is_alive()
    slow.let_go.set()
    closing.join(PATIENCE)

    assert still_open
    assert not any(thread.name == "engram-vectors" for thread in threading.enumerate())
    assert_whole(tmp_path / "store.db", Access(PERSON.owner))


def test_closing_waits_for_no_more_than_the_few_at_hand(tmp_path: Path):
    slow = Slow()
    world = World(engine=SqliteEngine(tmp_path / "store.db", new_replica=lambda: "replica"), embedder=slow)
    fill(world, CATCH_UP + 100)
    world.person.recall("anchorage", words=True)
    slow.ready, slow.slow = True, False
    world.engine.put_vectors(slow.space, [])
    slow.slow = True
    world.person.list()
    assert slow.holds.wait(PATIENCE)
    closing = threading.Thread(target=world.person.close)
    closing.start()
    closing.join(0.1)
    slow.let_go.set()
    closing.join(PATIENCE)

    assert not closing.is_alive()
    assert len(slow.embedded) < 50


def test_what_another_saves_while_vectors_are_made_gets_its_own_as_well(engine: Engine):
    slow = Slow()
    world = World(engine=engine, embedder=slow)
    slow.ready = slow.slow = True
    theirs = world.person.speaking_for(world.other.caller, "http")
    for who, owner in ((world.person, PERSON.owner), (theirs, world.other.caller.owner)):
        engine.commit(change(memory(f"id-of-{owner}", f"The harbour of {owner}", owner=owner)))
        who.list()
        assert slow.holds.wait(PATIENCE)
    slow.let_go.set()
    world.settle()

    assert len(slow.embedded) == 2
    assert engine.backlog(access_of(theirs.caller)).lacking == 0


def test_however_often_vectors_were_made_the_end_of_the_process_waits_for_them_once(world: World):
    world.embedder.ready = True
    before = atexit._ncallbacks()
    for number in range(5):
        world.person.remember(f"A harbour of number {number}", dedupe="create")
        world.settle()

    assert len(world.embedder.embedded) >= 5
    assert atexit._ncallbacks() - before == 1


def test_a_model_that_fails_beside_the_caller_disturbs_nobody(world: World):
    world.person.remember("A first harbour")
    world.person.recall("anchorage")
    world.embedder.broken = "It stumbled."
    world.person.remember("A second harbour")
    world.settle()
    world.embedder.broken = ""

    assert texts(world, "anchorage second") == ["A second harbour", "A first harbour"]


def test_many_threads_save_and_ask_at_once(world: World):
    world.person.recall("anchorage")
    failed: list[BaseException] = []

    def use(name: str) -> None:
        try:
            for number in range(4):
                world.person.remember(f"The harbour of {name * (number + 1)}", dedupe="create")
                world.person.recall("anchorage")
        except BaseException as error:  # noqa: BLE001 - told by the test itself
            failed.append(error)

    threads = [threading.Thread(target=use, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    world.settle()
    world.person.reembed()

    assert failed == []
    assert world.engine.backlog(access_of(world.person.caller)).lacking == 0
    assert len(texts(world, "anchorage", limit=50)) == 16


def test_a_write_that_is_done_is_not_refused_for_what_comes_beside_it(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    world.person.recall("anchorage")

    def fail() -> None:
        raise Unavailable("The store is locked.", "Try again.")

    monkeypatch.setattr(world.engine, "backlog", fail)
    assert world.person.remember("A first harbour").outcome == "new"


def test_what_of_others_lacks_a_vector_is_not_told(world: World):
    world.person.remember("A harbour of mine")
    world.person.recall("anchorage")
    for number in range(3):
        world.other.remember(f"A harbour of theirs {'x' * (number + 1)}")
    world.settle()
    answer = world.person.recall("anchorage")

    assert (answer.behind, answer.hint) == (0, "")


# --- reembed ---


def test_after_reembed_nothing_lacks(world: World):
    fill(world, 2 * BATCH + 3)
    answer = world.person.reembed()

    assert (answer.model, answer.memories, answer.remaining) == ("concepts", 2 * BATCH + 3, 0)
    assert world.engine.backlog(access_of(world.person.caller)) == (world.embedder.space, None, 0, 0)
    assert world.person.recall("anchorage").behind == 0


def test_a_second_reembed_finds_its_work_done(world: World):
    fill(world, 3)
    world.person.reembed()
    done = list(world.embedder.embedded)

    assert world.person.reembed().memories == 0
    assert world.embedder.embedded == done


def test_reembed_tells_how_far_it_is(world: World):
    fill(world, 2 * BATCH + 3)
    told: list[tuple[int, int, str]] = []
    world.person.watched_by(lambda *said: told.append(said)).reembed()

    assert [done for done, _, _ in told] == [BATCH, 2 * BATCH, 2 * BATCH + 3]
    assert {(total, what) for _, total, what in told} == {(2 * BATCH + 3, "embedding")}


def test_reembed_of_an_empty_store_does_nothing(world: World):
    assert world.person.reembed()[2:] == (0, 0)


def test_reembed_leaves_no_event(world: World):
    fill(world, 3)
    past = world.events()
    world.person.reembed()

    assert world.events() == past


def test_reembed_reaches_only_what_its_caller_may_read(world: World):
    world.person.remember("The harbour is mine")
    world.other.remember("The harbour is theirs")

    assert world.person.reembed().memories == 1
    assert world.embedder.embedded == ["The harbour is mine"]


def test_reembed_without_an_embedder_says_so(engine: Engine):
    with pytest.raises(Invalid, match="no embedder") as refused:
        World(engine=engine).person.reembed()
    assert "engram models" in refused.value.hint


def test_a_reembed_that_fails_midway_keeps_what_it_made_and_goes_on(world: World):
    fill(world, BATCH + 10)
    embed = world.embedder.documents

    def stumble(batch: Sequence[str]) -> list[bytes]:
        if world.embedder.embedded:
            raise Unavailable("It stumbled.", "Try again.")
        return embed(batch)

    world.embedder.documents = stumble
    with pytest.raises(Unavailable, match="stumbled"):
        world.person.reembed()
    assert world.engine.backlog(access_of(world.person.caller)).lacking == 10
    world.embedder.documents = embed

    assert world.person.reembed().memories == 10


KILLED = """
import sys, time
from engram.engines.sqlite import SqliteEngine
from recall.embedders import Concepts
from rules.world import World

class Slow(Concepts):
    def documents(self, texts):
        time.sleep(0.3 if self.embedded else 0)
        return super().documents(texts)

engine = SqliteEngine(sys.argv[1], new_replica=lambda: "replica")
world = World(engine=engine, embedder=Slow({"harbour": 0}))
world.person.watched_by(lambda done, total, what: print(done, total, flush=True)).reembed()
"""


def test_a_reembed_that_is_killed_goes_on_where_it_was(tmp_path: Path):
    path = tmp_path / "store.db"
    world = World(engine=SqliteEngine(path, new_replica=lambda: "replica"), embedder=Concepts({"harbour": 0}))
    fill(world, 3 * BATCH)
    world.engine.close()
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path)],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline().split() == [str(BATCH), str(3 * BATCH)]
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == -signal.SIGKILL
    assert_whole(path, Access(PERSON.owner))
    world = World(engine=SqliteEngine(path, new_replica=lambda: "replica"), embedder=Concepts({"harbour": 0}))
    left = world.engine.backlog(access_of(world.person.caller)).lacking

    assert BATCH <= left <= 2 * BATCH
    assert world.person.recall("harbour", words=True).hits
    assert world.person.reembed()[2:] == (left, 0)
    world.person.close()
    assert_whole(path, Access(PERSON.owner))


# --- another model ---


@pytest.fixture
def made(world: World) -> World:
    """A store whose vectors are all there, by the model named concepts."""
    for text in ("The harbour is small", "The lunch is small"):
        world.person.remember(text)
    fill(world, BATCH - 1, "The meal of")
    world.person.reembed()
    return world


def test_another_model_than_the_stores_is_an_error_with_its_command(made: World):
    with pytest.raises(Conflict) as refused:
        with_model(made, "newer").person.recall("anchorage")
    assert refused.value.message == "This store's vectors were made by concepts, but newer is configured."
    assert "`engram reembed`" in refused.value.hint
    assert "--words" in refused.value.hint


@pytest.mark.parametrize("said", [{"name": "concepts", "dim": 16}, {"name": "other"}], ids=str)
def test_a_space_is_a_model_and_a_length(made: World, said: dict[str, object]):
    with pytest.raises(Conflict):
        with_model(made, **said).person.recall("anchorage")


def test_a_space_has_its_prefix(made: World):
    other = with_model(made, "concepts")
    other.embedder.space = Space("concepts", 8, "passage: ")

    with pytest.raises(Conflict):
        other.person.recall("anchorage")
    other.person.reembed()
    assert all(text.startswith("passage: ") for text in other.embedder.embedded)


def test_words_do_not_mind_another_model(made: World):
    assert texts(with_model(made, "newer"), "harbour", words=True) == ["The harbour is small"]


def test_a_context_with_a_question_asks_for_the_right_model_or_for_words(made: World):
    other = with_model(made, "newer").person

    with pytest.raises(Conflict):
        other.context(query="anchorage")
    assert "The harbour is small" in other.context(query="harbour", words=True).text
    assert other.context().text


def test_a_context_says_why_its_question_was_answered_by_words(world: World):
    world.person.remember("The harbour is small")
    world.embedder.broken = "The endpoint is silent."

    assert "The endpoint is silent." in world.person.context(query="harbour").hint
    assert world.person.context().hint == ""


def test_nothing_is_changed_by_asking_with_another_model(made: World):
    other = with_model(made, "newer")
    with pytest.raises(Conflict):
        other.person.recall("anchorage")
    other.person.remember("The lunch is saved meanwhile")

    assert other.embedder.embedded == other.embedder.asked == []
    assert made.engine.backlog(access_of(made.person.caller)).active == made.embedder.space
    assert made.engine.backlog(access_of(made.person.caller)).coming is None


def test_while_another_model_is_coming_words_and_the_old_vectors_go_on(made: World):
    new = with_model(made, "newer")
    embed = new.embedder.documents

    def stumble(batch: Sequence[str]) -> list[bytes]:
        if new.embedder.embedded:
            raise Unavailable("It stumbled.", "Try again.")
        return embed(batch)

    new.embedder.documents = stumble
    with pytest.raises(Unavailable):
        new.person.reembed()
    assert made.engine.backlog(access_of(made.person.caller)) == (made.embedder.space, new.embedder.space, 0, 1)

    by_old = made.person.recall("anchorage")
    assert (by_old.by_meaning, by_old.hits[0].memory.text) == (True, "The harbour is small")
    by_new = new.person.recall("harbour")
    assert (by_new.by_meaning, by_new.hits[0].memory.text) == (False, "The harbour is small")
    assert "still being made" in by_new.hint
    assert by_new.behind == 1
    with_shelf = World(engine=made.engine, embedder=made.embedder, shelf=Shelf()).person.models()
    assert (with_shelf.vectors, with_shelf.coming, with_shelf.lacking) == ("concepts", "newer", 1)
    assert texts(new, "harbour", words=True) == ["The harbour is small"]

    new.embedder.documents = embed
    assert new.person.reembed()[2:] == (1, 0)
    assert made.engine.backlog(access_of(made.person.caller)) == (new.embedder.space, None, 0, 0)
    assert texts(new, "anchorage") == ["The harbour is small"]
    with pytest.raises(Conflict, match="were made by newer, but concepts is configured"):
        made.person.recall("anchorage")


def test_what_is_saved_while_another_model_is_coming_gets_both(made: World):
    new = with_model(made, "newer")
    made.engine.put_vectors(new.embedder.space, [])
    made.person.remember("An anchorage saved meanwhile")
    made.settle()

    assert "An anchorage saved meanwhile" in texts(made, "haven")
    assert made.engine.backlog(access_of(made.person.caller)) == (
        made.embedder.space,
        new.embedder.space,
        0,
        BATCH + 2,
    )
    new.person.reembed()
    assert "An anchorage saved meanwhile" in texts(new, "haven")


def test_a_model_that_was_given_up_is_waited_for_no_more(made: World):
    shelf = World(engine=made.engine, embedder=made.embedder, shelf=Shelf())
    shelf.engine.put_vectors(Space("newer", 8), [])
    shelf.person.reembed()  # with the old one, which is configured again

    told = shelf.person.models()
    assert (told.vectors, told.lacking, told.hint) == ("concepts", 0, "")


# --- a model or an endpoint that fails ---


def test_where_the_model_fails_words_answer_and_nothing_is_half_written(world: World):
    world.person.remember("The harbour is small")
    world.embedder.broken = "The endpoint is silent."
    answer = world.person.recall("harbour")

    assert [hit.memory.text for hit in answer.hits] == ["The harbour is small"]
    assert not answer.by_meaning
    assert "The endpoint is silent. Mend it." in answer.hint
    assert world.engine.backlog(access_of(world.person.caller)).active is None
    assert world.engine.check() == []


def test_where_the_model_fails_later_the_vectors_that_are_there_stay(world: World):
    world.person.remember("The harbour is small")
    world.person.recall("harbour")
    world.person.remember("The harbour is large", dedupe="create", scope="project:x")
    world.embedder.broken = "The endpoint is silent."
    world.settle()
    answer = world.person.recall("harbour")

    assert answer.by_meaning is False
    assert answer.hits
    world.embedder.broken = ""
    assert world.person.recall("anchorage").by_meaning


@pytest.mark.parametrize("wrong", [b"", b"\0" * 12, b"\0\0\xc0\x7f" * 8], ids=["none", "short", "not a number"])
def test_vectors_that_are_none_are_not_kept(world: World, wrong: bytes):
    world.person.remember("The harbour is small")
    world.embedder.documents = lambda batch: [wrong for _ in batch]

    with pytest.raises(Invalid):
        world.person.reembed()
    assert world.engine.backlog(access_of(world.person.caller)).lacking == 1
    assert world.engine.check() == []


# --- what is told about models ---


class Shelf:
    """A shelf with one model, that installs what it is asked for."""

    def __init__(self) -> None:
        self.installed: list[str] = []

    def models(self) -> list[ModelRow]:
        return [ModelRow("tiny", "ready", 8, 1_000, "MIT", default=True)]

    def install(self, name: str, progress: Callable[[int, int, str], None]) -> str:
        if name != "tiny":
            raise Invalid(f"There is no model {name!r}.", "Use one of: tiny.")
        progress(500, 1000, "bytes")
        self.installed.append(name)
        return "/somewhere"


def test_models_tells_what_is_in_use_and_how_far_the_store_is(engine: Engine):
    world = World(engine=engine, embedder=Concepts(SEA), shelf=Shelf())
    assert world.person.models()[1:] == (
        (ModelRow("tiny", "ready", 8, 1_000, "MIT", default=True),),
        "concepts",
        "",
        0,
        "",
        "",
    )
    fill(world, CATCH_UP + 2)
    world.person.recall("anchorage")
    world.settle()
    told = world.person.models()

    assert (told.vectors, told.lacking, told.hint) == ("concepts", 0, "")
    world.embedder.ready = False
    world.person.remember("One more harbour")
    told = world.person.models()
    assert told.lacking == 1
    assert "engram reembed" in told.hint


def test_models_installs_by_name_and_tells_how_far_it_is(engine: Engine):
    world = World(engine=engine, embedder=Concepts(SEA), shelf=Shelf())
    told: list[tuple[int, int, str]] = []
    world.person.watched_by(lambda *said: told.append(said)).models("install", "tiny")

    assert world.shelf.installed == ["tiny"]
    assert told == [(500, 1000, "bytes")]
    with pytest.raises(Invalid, match="no model 'huge'"):
        world.person.models("install", "huge")


def test_an_agent_installs_no_model(engine: Engine):
    with pytest.raises(Forbidden):
        World(engine=engine, shelf=Shelf()).agent.models("install", "tiny")


def test_a_memory_without_a_shelf_says_so(engine: Engine):
    with pytest.raises(Unavailable, match="keeps no models"):
        World(engine=engine).person.models()


def test_doctor_notes_what_lacks_a_vector_and_warns_of_another_model(made: World):
    assert made.person.doctor().findings == ()
    made.embedder.ready = False
    made.person.remember("One more harbour")
    (finding,) = made.person.doctor().findings
    assert (finding.code, finding.severity) == ("vectors", "note")
    assert "engram reembed" in finding.hint
    severities = {one.severity for one in with_model(made, "newer").person.doctor().findings}

    assert severities == {"note", "warning"}
    assert with_model(made, "newer").person.doctor().healthy


def test_doctor_says_that_the_configured_model_is_not_there():
    rows = [ModelRow("concepts", "absent", 8, 1, "MIT"), ModelRow("other", "absent", 8, 1, "MIT")]
    world = World(embedder=Concepts({}, model="concepts/int8/0"), shelf=Rows(rows))

    found = [finding for finding in world.person.doctor().findings if finding.code == "model"]

    assert [finding.severity for finding in found] == ["warning"]
    assert "engram models install concepts" in found[0].hint


class Rows:
    """A shelf that shows these models and can get none."""

    def __init__(self, rows):
        self.rows = rows

    def models(self):
        return self.rows
