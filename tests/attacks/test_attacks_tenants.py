"""Whether another's memory is there cannot be told: the same words come back, by the same path through the code."""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import engram as package
from attacks.ledger import tried
from engram.errors import EngramError
from engram.model.caller import Caller
from engram.service import OPERATIONS, Engram

SOURCE = str(Path(package.__file__).parent)
NOBODYS = "01980000-0000-7000-8000-00000000dead"
NEEDED: dict[str, dict[str, Any]] = {
    "relate": {"kind": "related"},
    "attach": {"file": "-"},
    "fetch": {"asset": "plan.txt"},
    "detach": {"asset": "plan.txt"},
    "reject": {"reason": "no"},
    "revise": {"text": "Something else"},
    "forget": {"reason": "no"},
}
NAMING = sorted(
    name
    for name, operation in OPERATIONS.items()
    if "memory" in inspect.signature(operation.function).parameters and name not in ("attach", "remember")
)
"""The operations that take the name of a memory; what is attached comes by a way of its own."""


class House(NamedTuple):
    """A store of two people, one of whom has something private."""

    ada: Engram
    dan: Engram
    own: str
    hidden: str
    handle: str


@pytest.fixture(params=["sqlite", "ram"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    store = "ram:" if request.param == "ram" else str(tmp_path / "store.db")
    environment = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none"}
    with package.open(store, folder=tmp_path, environment=environment) as memory:
        ada, dan = (
            memory.speaking_for(Caller(owner=name, org=memory.caller.org), "http") for name in ("ada", "dan")
        )
        hidden = ada.remember("The vault is behind the quokka", scope="global").memory
        own = dan.remember("The wombat digs", scope="global").memory
        yield House(ada, dan, own.id, hidden.id, hidden.handle)


class Answered(NamedTuple):
    """What came back, without the name that was asked for, and the way to it."""

    answer: str
    steps: list[str]


def asked(who: Engram, operation: str, name: str, **more: Any) -> Answered:
    """Ask, and note every function of ours and every statement that was run on the way."""
    steps: list[str] = []

    def note(frame: Any, event: str, called: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            steps.append(frame.f_code.co_qualname)
        elif event == "c_call" and getattr(called, "__name__", "") in ("execute", "executemany"):
            steps.append("a statement")

    sys.setprofile(note)
    try:
        answer = repr(getattr(who, operation)(memory=(name,) if operation == "review" else name, **more))
    except EngramError as error:
        answer = f"{error.code} {error.message} {error.hint}"
    finally:
        sys.setprofile(None)
    return Answered(answer.replace(name, "NAME"), steps)


def needed(operation: str, home: House) -> dict[str, Any]:
    more = dict(NEEDED.get(operation, {}))
    return {"other": home.own, **more} if operation == "relate" else more


@pytest.mark.parametrize("form", ["id", "beginning", "handle", "capitals"])
@pytest.mark.parametrize("operation", NAMING)
def test_what_is_anothers_is_answered_by_the_same_path_as_what_is_not_there(home: House, operation: str, form: str):
    forms = {
        "id": (home.hidden, NOBODYS),
        "beginning": (home.hidden[:23], NOBODYS[:23]),
        "handle": (home.handle, "mem-9999"),
        "capitals": (home.hidden.upper(), NOBODYS.upper()),
    }
    there, absent = forms[form]
    more = needed(operation, home)
    asked(home.dan, operation, absent, **more)  # what is made once is made
    hidden, nothing = asked(home.dan, operation, there, **more), asked(home.dan, operation, absent, **more)

    assert hidden.answer == nothing.answer
    assert "quokka" not in hidden.answer
    assert hidden.steps == nothing.steps
    tried(
        "Telling by words or by work whether another's memory is there", "store", "the same words, the same steps"
    )


def test_the_path_to_what_may_be_read_is_another(home: House):
    """Without this, two paths that are never looked at would pass for the same."""
    own, nothing = asked(home.dan, "get", home.own), asked(home.dan, "get", NOBODYS)

    assert own.steps != nothing.steps
    assert "wombat" in own.answer
