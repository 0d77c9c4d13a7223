"""The laws for `files`."""

import errno
import fcntl
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.laws import EngineLaws, NewEngine
from engines.stores import open_files
from engram.engines.files.engine import FilesEngine
from engram.engines.files.folder import Folder
from engram.errors import Unavailable


class TestFiles(EngineLaws):
    @pytest.fixture
    def new_engine(self, tmp_path: Path) -> Iterator[NewEngine]:
        made: list[FilesEngine] = []

        def new() -> FilesEngine:
            made.append(open_files(tmp_path / f"{len(made)}", cache=tmp_path / "cache"))
            return made[-1]

        yield new
        for engine in made:
            engine.close()


def test_whoever_waited_while_the_folder_was_replaced_has_the_lock_of_the_new_one(tmp_path):
    path = tmp_path / "store"
    first = Folder(str(path))
    first.make()
    waiting, inside, done = threading.Event(), threading.Event(), threading.Event()

    def wait() -> None:
        waiting.set()
        with Folder(str(path)).locked():
            inside.set()
            done.wait(10)

    waiter = threading.Thread(target=wait)
    with first.locked():
        waiter.start()
        waiting.wait(10)
        assert not inside.wait(0.2)
        path.rename(tmp_path / "aside")
        path.mkdir(0o700)
    assert inside.wait(10)
    with pytest.raises(Unavailable, match="locked by another process"), Folder(str(path)).locked(0.1):
        pass
    done.set()
    waiter.join()
    with first.locked(0.1):
        assert os.path.samefile(path, first.path)


@pytest.mark.parametrize("failure", [OSError(errno.ENOLCK, "No locks available"), KeyboardInterrupt()], ids=type)
def test_a_lock_that_cannot_be_had_leaves_no_file_open(tmp_path, monkeypatch, failure):
    def refuse(*_: object) -> None:
        raise failure

    folder = Folder(str(tmp_path / "store"))
    folder.make()
    before = os.listdir("/dev/fd")
    expected = Unavailable if isinstance(failure, OSError) else KeyboardInterrupt
    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", refuse)
        with pytest.raises(expected), folder.locked():
            pass

    assert os.listdir("/dev/fd") == before
    with folder.locked(0.1):
        pass
