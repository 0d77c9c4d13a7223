"""A store in a folder that can only be read: everything is shown, and a write is refused in plain words."""

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engines.asking import found
from engines.samples import Story, everything
from engines.stores import open_files, open_store
from engines.test_files_format import DATA, JUNE
from engram.errors import Unavailable
from engram.ports import Engine

NOBODY = 65_534


def files(place: Path) -> Engine:
    return open_files(place / "store", cache=place / "cache")


def sqlite(place: Path) -> Engine:
    return open_store(place / "store" / "engram.db")


ENGINES = pytest.mark.parametrize("open_it", [files, sqlite])


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that another user may reach: those of pytest are closed to others."""
    path = Path(tempfile.mkdtemp(prefix="engram-"))
    yield path
    for each in (path, *path.rglob("*")):
        each.chmod(0o700)
    shutil.rmtree(path)


@contextmanager
def only_reading(place: Path) -> Iterator[None]:
    """Somebody who may read the store and write nothing in it; root may write anywhere, so it is somebody else."""
    root = os.geteuid() == 0
    for each in (place, *place.rglob("*")) if root else ():
        os.chown(each, NOBODY, NOBODY)
    (place / "store").chmod(0o500)
    if root:
        os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        if root:
            os.setresuid(0, 0, 0)
        (place / "store").chmod(0o700)


def filled(place: Path, open_it: Callable[[Path], Engine]) -> None:
    (place / "store").mkdir(mode=0o700)
    engine = open_it(place)
    story = Story(engine)
    story.remember("We deploy on Fridays")
    story.remember("I pay in euros", kind="fiscal")
    engine.close()


@ENGINES
@pytest.mark.parametrize("cache", [True, False])
def test_a_store_that_can_only_be_read_shows_everything(place, open_it, cache):
    filled(place, open_it)
    if not cache:
        shutil.rmtree(place / "cache", ignore_errors=True)
    with only_reading(place):
        engine = open_it(place)
        assert {each.text for each in everything(engine)} == {"We deploy on Fridays", "I pay in euros"}
        assert len(found(engine, "pay")) == 1
        assert len(engine.events()) == 2
        assert engine.check() == []
        engine.close()


@ENGINES
def test_a_store_that_can_only_be_read_refuses_a_write_in_plain_words(place, open_it):
    filled(place, open_it)
    with only_reading(place):
        engine = open_it(place)
        with pytest.raises(Unavailable, match=r"can only be read here\. Nothing was written\."):
            Story(engine, start=50).remember("Use uv")
        assert len(everything(engine)) == 2
        engine.close()
    engine = open_it(place)
    assert len(everything(engine)) == len(engine.events()) == 2
    assert Story(engine, start=90).remember("Use uv").handle == "mem-0003"
    engine.close()


def test_a_store_of_another_program_that_can_only_be_read_is_shown_as_it_is(place):
    shutil.copytree(DATA / "june", place / "store")
    for each in (place / "store").rglob("*"):
        each.chmod(0o700 if each.is_dir() else 0o600)
    with only_reading(place):
        engine = open_files(place / "store", cache=place / "cache", clock=lambda: JUNE)
        assert len(everything(engine)) == 10
        assert [each.severity for each in engine.check()] == ["warning"]
        assert engine.pages() == []
        engine.close()
    assert not (place / "store" / "events.jsonl").exists()
