"""What is begun before it is needed."""

import os
import signal
import threading

import pytest

from engram.errors import Unavailable
from engram.inference import ahead as beside
from engram.inference.ahead import ahead
from engram.inference.lazy import LazyEmbedder
from engram.model.query import Space

PATIENCE = 20.0  # seconds; what waits longer hangs


class Slow:
    """Computes until it is let go, and remembers in which threads."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.threads: list[int] = []

    def __call__(self) -> str:
        self.threads.append(threading.get_ident())
        assert self.go.wait(PATIENCE)
        return "made"


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr(beside, "CORES", 2)


def test_it_is_made_once_while_its_asker_goes_on():
    slow = Slow()
    wait = ahead(slow)  # returns, though it is still being made
    slow.go.set()

    assert wait is not None
    assert wait() == "made"
    assert wait() == "made"
    assert len(slow.threads) == 1
    assert threading.get_ident() not in slow.threads


def test_what_making_raised_is_raised_where_it_is_waited_for():
    def fail() -> str:
        raise Unavailable("The endpoint is away.", "Wait.")

    wait = ahead(fail)
    assert wait is not None
    for _ in range(2):
        with pytest.raises(Unavailable, match="away"):
            wait()


def test_a_second_one_meanwhile_is_left_to_its_asker():
    slow, other = Slow(), Slow()
    first = ahead(slow)

    assert ahead(other) is None
    slow.go.set()
    assert first is not None
    assert first() == "made"
    assert other.threads == []


def made_beside(slow: Slow) -> None:
    wait = ahead(slow)
    assert wait is not None
    assert wait() == "made"


def test_one_thread_makes_them_one_after_the_other():
    slow = Slow()
    slow.go.set()
    for _ in range(3):
        made_beside(slow)

    assert len(slow.threads) == 3
    assert len(set(slow.threads) - {threading.get_ident()}) == 1


def test_on_one_core_nothing_is_made_beside(monkeypatch):
    monkeypatch.setattr(beside, "CORES", 1)

    assert ahead(Slow()) is None


def test_where_no_thread_can_be_started_it_is_left_to_the_asker_and_tried_again(monkeypatch):
    def refuse(*_: object) -> int:
        raise RuntimeError("can't start new thread")

    slow = Slow()
    slow.go.set()
    with monkeypatch.context() as scarce:
        scarce.setattr(beside, "_beside", beside._Beside())
        scarce.setattr(beside, "start_new_thread", refuse)
        assert ahead(slow) is None
        scarce.undo()
        made_beside(slow)

    assert len(slow.threads) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_process_that_was_forked_off_has_a_thread_of_its_own():
    slow = Slow()
    waiting = ahead(slow)  # the thread is busy, and stays behind
    child = os.fork()
    if not child:  # nothing of the test runner must run in here
        quick = Slow()
        quick.go.set()
        signal.alarm(int(PATIENCE))
        wait = ahead(quick)
        os._exit(0 if wait and wait() == "made" and len(quick.threads) == 1 else 1)
    slow.go.set()

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert waiting is not None
    assert waiting() == "made"


class Model:
    """A model that is loaded, and remembers who asked it."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def query(self, text: str) -> bytes:
        self.threads.append(threading.get_ident())
        return text.encode()

    def documents(self, texts: list[str]) -> list[bytes]:
        return [self.query(text) for text in texts]


def test_a_question_is_begun_beside_once_the_model_is_loaded_and_loaded_by_who_asks():
    model, loads = Model(), []

    def load() -> Model:
        loads.append(threading.get_ident())
        return model

    embedder = LazyEmbedder(Space("m", 1), latin=False, floor=0.0, load=load)
    assert embedder.begin("first") is None
    assert loads == []
    assert embedder.query("first") == b"first"
    coming = embedder.begin("second")
    assert coming is not None
    assert coming() == b"second"

    assert loads == [threading.get_ident()]
    assert model.threads[0] == threading.get_ident()
    assert model.threads[1] != threading.get_ident()


def test_a_model_that_fails_again_and_again_keeps_nothing_of_what_was_asked():
    class Failing(Model):
        def query(self, text: str) -> bytes:
            raise Unavailable(f"It does not answer {text}.")

    embedder = LazyEmbedder(Space("m", 1), latin=False, floor=0.0, load=Failing)
    depths = []
    for _ in range(5):
        with pytest.raises(Unavailable, match="does not answer first") as failed:
            embedder.query("first" if not depths else "another")
        depths.append(len(failed.traceback))

    assert depths[1:] == depths[1:2] * 4
