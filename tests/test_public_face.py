"""`import engram`: what it names, what it answers, and that types tell."""

import doctest
import subprocess
import sys
import types
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

import engram
from engram import errors
from engram.model import answers


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[engram.Engram]:
    with engram.open("ram:", environment={"HOME": str(tmp_path)}, folder=tmp_path) as opened:
        yield opened


def test_the_names_are_sorted_and_all_there():
    assert list(engram.__all__) == sorted(engram.__all__)
    for name in engram.__all__:
        assert hasattr(engram, name)
    meant = {
        name
        for name, value in vars(engram).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert meant == set(engram.__all__)


def test_whoever_looks_around_sees_the_public_names_alone():
    assert dir(engram) == sorted([*engram.__all__, "__version__"])


def test_every_error_of_the_table_is_named():
    assert {error.__name__ for error in (errors.EngramError, *errors.TABLE)} <= set(engram.__all__)
    assert all(issubclass(error, engram.EngramError) for error in errors.TABLE)


def test_a_star_import_brings_the_public_names():
    code = "from engram import *\nprint(Engram.__name__, open.__module__, standing.__module__)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, check=True, text=True)

    assert done.stdout == "Engram engram.wiring engram.model.memory\n"


def test_the_example_in_the_docstring_runs():
    finished = doctest.testmod(engram)

    assert (finished.failed, finished.attempted > 0) == (0, True)


def test_the_version_is_that_of_the_package():
    from importlib.metadata import version

    assert engram.__version__ == version("engram")


def test_a_memory_is_opened_and_closed_by_with(tmp_path: Path):
    with engram.open("ram:", environment={"HOME": str(tmp_path)}, folder=tmp_path) as memory:
        assert isinstance(memory, engram.Engram)
        done = memory.remember("We deploy on Fridays", kind="convention")

        assert isinstance(done, answers.Remembered)
        assert isinstance(done.memory, engram.Memory)
        assert done.memory.scope == engram.Scope()
        assert memory.recall("when do we deploy?").hits[0].memory.text == "We deploy on Fridays"


def test_results_are_typed_and_cannot_be_changed(memory: engram.Engram):
    done = memory.remember("We deploy on Fridays")

    with pytest.raises(AttributeError):
        done.outcome = "held"
    with pytest.raises(AttributeError):
        done.memory.text = "We never deploy"


def test_the_first_parameter_may_stand_alone_and_the_rest_are_named(memory: engram.Engram):
    memory.remember("We deploy on Fridays", tag=["ops"], importance=8)

    assert memory.get("mem-0001").memories[0].tags == ("ops",)
    assert memory.get(["mem-0001"]).memories[0].importance == 8
    with pytest.raises(TypeError):
        memory.remember("x", "fact")


def test_citations_are_given_as_words_or_as_records(memory: engram.Engram):
    cited = engram.Citation("commit", "abc123")
    one = memory.remember("We deploy on Fridays", cite=["src/ci.py:3-9", cited]).memory

    assert one.citations == (engram.Citation("file", "src/ci.py", "3-9"), cited)


def test_a_single_word_is_a_list_of_one(memory: engram.Engram):
    memory.remember("We deploy on Fridays", tag="ops", kind="convention")

    assert memory.list(kind="convention", tag="ops", standing="live").memories[0].tags == ("ops",)


def test_a_single_citation_is_a_list_of_one(memory: engram.Engram):
    one = memory.remember("We deploy on Fridays", cite="src/ci.py").memory

    assert one.citations == (engram.Citation("file", "src/ci.py"),)


def test_an_error_says_what_happened_and_what_to_do(memory: engram.Engram):
    with pytest.raises(engram.NotFound) as missing:
        memory.get("mem-9999")

    assert str(missing.value) == missing.value.message
    assert missing.value.hint
    assert missing.value.body() == {
        "code": "not_found",
        "message": missing.value.message,
        "hint": missing.value.hint,
    }


def test_an_operation_can_be_asked_by_name(memory: engram.Engram):
    assert memory.ask("remember", "We deploy on Fridays").memory.handle == "mem-0001"


def test_the_standing_of_a_memory_is_computed(memory: engram.Engram):
    done = memory.remember("We deploy on Fridays", decay="1h")

    assert engram.standing(done.memory, done.at) == "live"
    assert engram.standing(done.memory, done.at + timedelta(minutes=61)) == "stale"


def test_a_callers_memories_are_its_own(tmp_path: Path):
    place = {"environment": {"HOME": str(tmp_path)}, "folder": tmp_path}
    with engram.open(tmp_path / "store.db", caller=engram.Caller(owner="kim"), **place) as kim:
        kim.remember("We deploy on Fridays")
    with engram.open(tmp_path / "store.db", caller=engram.Caller(owner="lee"), **place) as lee:
        assert lee.list().memories == ()
        with pytest.raises(engram.NotFound):
            lee.get("mem-0001")


def test_a_closed_memory_says_nothing_was_lost(tmp_path: Path):
    memory = engram.open(tmp_path / "store.db", environment={"HOME": str(tmp_path)}, folder=tmp_path)
    memory.remember("We deploy on Fridays")
    memory.close()
    memory.close()

    with engram.open(tmp_path / "store.db", environment={"HOME": str(tmp_path)}, folder=tmp_path) as again:
        assert len(again.list().memories) == 1
