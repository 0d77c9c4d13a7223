"""What is begun before it is needed."""

import threading

import pytest

from engram.errors import Unavailable
from engram.inference import ahead as beside
from engram.inference.ahead import ahead
from engram.inference.lazy import Lazy
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

    assert wait() == "made"
    assert wait() == "made"
    assert len(slow.threads) == 1
    assert threading.get_ident() not in slow.threads


def test_what_making_raised_is_raised_where_it_is_waited_for():
    def fail() -> str:
        raise Unavailable("The endpoint is away.", "Wait.")

    wait = ahead(fail)
    for _ in range(2):
        with pytest.raises(Unavailable, match="away"):
            wait()


def test_a_second_one_meanwhile_is_made_by_its_asker_when_it_is_needed():
    slow, other = Slow(), Slow()
    other.go.set()
    first, second = ahead(slow), ahead(other)

    assert other.threads == []
    assert second() == "made"
    assert other.threads == [threading.get_ident()]
    slow.go.set()
    assert first() == "made"


def test_when_one_is_done_the_next_is_made_beside_again():
    slow = Slow()
    slow.go.set()
    for _ in range(3):
        ahead(slow)()

    assert len(slow.threads) == 3
    assert threading.get_ident() not in slow.threads


def test_on_one_core_nothing_is_made_beside(monkeypatch):
    monkeypatch.setattr(beside, "CORES", 1)
    slow = Slow()
    slow.go.set()
    ahead(slow)()

    assert slow.threads == [threading.get_ident()]


def test_where_no_thread_can_be_started_the_asker_makes_it(monkeypatch):
    def refuse(*_: object) -> int:
        raise RuntimeError("can't start new thread")

    slow = Slow()
    slow.go.set()
    with monkeypatch.context() as scarce:
        scarce.setattr(beside, "start_new_thread", refuse)
        ahead(slow)()
    ahead(slow)()

    assert slow.threads[0] == threading.get_ident()
    assert slow.threads[1] != threading.get_ident()


class Model:
    """A model that is loaded, and remembers who asked it."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def query(self, text: str) -> bytes:
        self.threads.append(threading.get_ident())
        return text.encode()

    def documents(self, texts: list[str]) -> list[bytes]:
        return [self.query(text) for text in texts]


def test_a_question_is_begun_beside_once_the_model_is_loaded_and_loaded_by_who_waits():
    model, loads = Model(), []

    def load() -> Model:
        loads.append(threading.get_ident())
        return model

    embedder = Lazy(Space("m", 1), latin=False, floor=0.0, load=load)
    coming = embedder.begin("first")
    assert loads == []
    assert coming() == b"first"
    assert embedder.begin("second")() == b"second"

    assert loads == [threading.get_ident()]
    assert model.threads[0] == threading.get_ident()
    assert model.threads[1] != threading.get_ident()
