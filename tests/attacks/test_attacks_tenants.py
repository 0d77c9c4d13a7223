"""Whether another's memory is there cannot be told: the same words come back, by the same path through the code."""

import base64
import inspect
import re
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import engram as package
from attacks.ledger import tried
from engines.servers import database_url
from engram.errors import EngramError
from engram.model.caller import Caller
from engram.service import OPERATIONS, Engram

SOURCE = str(Path(package.__file__).parent)
NOBODYS = "01980000-0000-7000-8000-00000000dead"
ATTACK = "Telling by words or by work whether another's memory is there"
SAME = "the same words, the same steps"
ROUND_TRIPS = {f"{owner}.{name}" for owner in ("Cursor", "ServerCursor") for name in ("execute", "executemany")}
"""What of the driver of PostgreSQL sends a statement and waits for its answer."""

TIMES = re.compile(r"datetime\.datetime\([^()]*(?:\([^()]*\))?[^()]*\)")
"""When an answer was given: no two are given at once."""

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


STORES = ["sqlite", "ram", "postgres", "postgres, two orgs"]


class House(NamedTuple):
    """A store of two people: one has something private, the other has one memory, and may be of another org."""

    ada: Engram
    dan: Engram
    own: str
    hidden: str
    handle: str
    events: tuple[int, int]
    """What ada did before, and what she did with what is hidden."""

    @property
    def apart(self) -> bool:
        """Whether they are of two orgs, which share nothing."""
        return self.ada.caller.org != self.dan.caller.org


class Said(NamedTuple):
    """What somebody has in private."""

    text: str
    key: str
    tag: str
    session: str


SECRET = Said("The vault is behind the quokka, brass and painted", "vault.place", "brass", "heist")
OTHERWISE = Said("The chest is below the walrus, straw and polished", "chest.place", "straw", "feast")


def house(opened: Callable[[str], Engram], secret: Said, *, orgs: bool) -> House:
    """Two people of one org, or of two, as they have never met."""
    first = opened(f"house-{uuid.uuid4().hex}")
    second = opened(f"other-{uuid.uuid4().hex}") if orgs else first
    ada, dan = (
        memory.speaking_for(Caller(owner=name, org=memory.caller.org), "http")
        for name, memory in (("ada", first), ("dan", second))
    )
    ada.remember("The kettle is in the shed", scope="global")
    own = dan.remember("The wombat digs", scope="global").memory
    before = ada.remember("The spade leans on the wall", scope="global")
    text, *more = secret
    kept = ada.remember(text, scope="global", **dict(zip(("key", "tag", "session"), more, strict=True)))
    assert kept.memory.handle != own.handle  # it is nobody's in the other org, too
    return House(ada, dan, own.id, kept.memory.id, kept.memory.handle, (before.event, kept.event))


@pytest.fixture(scope="module", params=STORES)
def houses(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[House, House]]:
    """Two that differ in what is kept in private there."""
    kind, _, orgs = request.param.partition(", ")
    with ExitStack() as stack:
        made = []
        for secret in (SECRET, OTHERWISE):
            folder = tmp_path_factory.mktemp("home")
            (stands := folder / "work").mkdir()  # where nothing is made: a folder that changed is looked at again
            store = {"ram": "ram:", "sqlite": str(folder / "store.db")}.get(kind) or database_url()

            def opened(org: str, folder: Path = folder, stands: Path = stands, store: str = store) -> Engram:
                environment = {"HOME": str(folder), "ENGRAM_EMBEDDER": "none", "ENGRAM_ORG": org}
                return stack.enter_context(package.open(store, folder=stands, environment=environment))

            made.append(house(opened, secret, orgs=bool(orgs)))
        yield made[0], made[1]


@pytest.fixture
def home(houses: tuple[House, House]) -> House:
    return houses[0]


class Answered(NamedTuple):
    """What came back, without the name that was asked for, and the way to it."""

    answer: str
    steps: list[str]


def asked(who: Engram, operation: str, said: object = None, **more: Any) -> Answered:
    """Ask, and note every function of ours and every statement that was run on the way."""
    steps: list[str] = []

    def note(frame: Any, event: str, called: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(SOURCE):
            steps.append(code.co_qualname)
        elif (event == "c_call" and getattr(called, "__name__", "") in ("execute", "executemany")) or (
            event == "call" and code.co_qualname in ROUND_TRIPS
        ):
            steps.append("a statement")

    sys.setprofile(note)
    try:
        answer = repr(getattr(who, operation)(**more))
    except EngramError as error:
        answer = f"{error.code} {error.message} {error.hint}"
    finally:
        sys.setprofile(None)
    return Answered(TIMES.sub("NOW", answer.replace(str(said), "NAME")), steps)


def settled(who: Engram, operation: str, said: object = None, **more: Any) -> Answered:
    """Ask once what is made once and then kept, and then ask."""
    asked(who, operation, **more)
    return asked(who, operation, said, **more)


def about(who: Engram, operation: str, name: str, **more: Any) -> Answered:
    """Ask an operation about a memory by a name."""
    return asked(who, operation, name, memory=(name,) if operation == "review" else name, **more)


def told_alike(hidden: Answered, nothing: Answered, *, by_work: bool = True) -> None:
    """Nothing is told by the words of an answer, nor by the work for it."""
    assert hidden.answer == nothing.answer
    if by_work:
        assert hidden.steps == nothing.steps
    tried(ATTACK, "store", SAME if by_work else "the same words")


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
    about(home.dan, operation, absent, **more)  # what is made once is made
    hidden, nothing = about(home.dan, operation, there, **more), about(home.dan, operation, absent, **more)

    assert "quokka" not in hidden.answer
    told_alike(hidden, nothing)


FILTERED: dict[str, tuple[str, dict[str, Any]]] = {
    "list by key": ("list", {"key": SECRET.key, "everywhere": True}),
    "list by tag": ("list", {"tag": SECRET.tag, "everywhere": True}),
    "list by session": ("list", {"session": SECRET.session, "everywhere": True}),
    "sessions": ("session_list", {"session": SECRET.session, "everywhere": True}),
    "a key that is not taken": ("suggest_key", {"text": SECRET.text}),
}
WORDED: dict[str, tuple[str, dict[str, Any]]] = {
    "recall by its words": ("recall", {"question": SECRET.text, "everywhere": True}),
    "recall by a word": ("recall", {"question": "quokka", "everywhere": True}),
    "recall by a part of a word": ("recall", {"question": "quokk", "everywhere": True, "weak": True}),
    "recall by a word misspelt": ("recall", {"question": "qoukka", "everywhere": True}),
    "recall by words alone": ("recall", {"question": "quokka", "everywhere": True, "words": True}),
    "recall of one's own beside it": ("recall", {"question": "does the wombat dig a quokka", "weak": True}),
    "context": ("context", {"query": SECRET.text}),
    "list by what it says": ("list", {"saying": "quokka", "everywhere": True}),
    "search": ("search", {"question": "wombat quokka", "everywhere": True}),
    "graph": ("graph", {"question": "quokka", "everywhere": True}),
}
"""What another has, asked for by its words and by filters."""


@pytest.mark.parametrize("way", [*FILTERED, *WORDED])
def test_what_another_has_is_looked_for_as_what_nobody_has(houses: tuple[House, House], way: str):
    """Within an org the words of all are counted together: there a question of words has the same answer alone."""
    operation, said = {**FILTERED, **WORDED}[way]
    hidden, nothing = (settled(house.dan, operation, house.own, **said) for house in houses)

    assert "wombat digs" in hidden.answer or "wombat" not in str(said)
    told_alike(hidden, nothing, by_work=way in FILTERED or houses[0].apart)


@pytest.mark.parametrize("way", [*FILTERED, *WORDED])
def test_what_is_looked_for_is_found_by_whose_it_is(home: House, way: str):
    """Without this, a question that finds nothing for anybody would pass for one that tells nobody of another's."""
    operation, said = {**FILTERED, **WORDED}[way]
    found = asked(home.ada, operation, **said).answer

    assert {"session_list": SECRET.session}.get(operation, "quokka") in found


def moved(cursor: str, id: str) -> str:
    """The cursor at an id that differs in its last digit alone: it is nobody's, and as old."""
    read = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
    assert id in read
    nobodys = read.replace(id, id[:-1] + ("0" if id[-1] != "0" else "1"))
    return base64.urlsafe_b64encode(nobodys.encode()).decode().rstrip("=")


@pytest.mark.parametrize("operation", ["list", "search", "review"])
def test_a_cursor_at_anothers_row_goes_on_like_one_at_no_row(home: House, operation: str):
    more: dict[str, Any] = {"limit": 1} if operation == "review" else {"limit": 1, "everywhere": True}
    listed = home.ada.list(limit=1, everywhere=True)
    assert [one.id for one in listed.memories] == [home.hidden]
    cursor = str(listed.next)
    there, absent = cursor, moved(cursor, home.hidden)
    hidden, nothing = (settled(home.dan, operation, one, after=one, **more) for one in (there, absent))

    told_alike(hidden, nothing)


def test_history_goes_on_before_what_another_did_as_if_it_was_something_else(houses: tuple[House, House]):
    home, other = houses
    before, hidden = (settled(home.dan, "history", before=event, limit=5) for event in home.events)
    nothing = settled(other.dan, "history", before=other.events[1], limit=5)

    assert hidden.answer == before.answer
    assert hidden.steps == nothing.steps
    tried(ATTACK, "store", SAME)


def test_undoing_what_another_did_is_answered_as_undoing_what_never_was(home: House):
    """Within an org that others are busy can be told by the numbers of events."""
    never = home.events[1] + 10_000
    hidden, nothing = (settled(home.dan, "undo", one, event=str(one)) for one in (home.events[1], never))

    told_alike(hidden, nothing, by_work=home.apart)


@pytest.mark.parametrize("operation", ["relate", "remember"])
def test_a_row_that_is_named_as_the_other_one_is_answered_the_same(home: House, operation: str):
    def ask(name: str) -> Answered:
        if operation == "relate":
            return asked(home.dan, "relate", name, memory=home.own, other=name, kind="supersedes")
        return asked(home.dan, "remember", name, text="A newer place", replaces=(name,), scope="global")

    ask(NOBODYS)
    hidden, nothing = ask(home.hidden), ask(NOBODYS)

    told_alike(hidden, nothing)


def test_the_path_to_what_may_be_read_is_another(home: House):
    """Without this, two paths that are never looked at would pass for the same."""
    own, nothing = about(home.dan, "get", home.own), about(home.dan, "get", NOBODYS)

    assert own.steps != nothing.steps
    assert "wombat" in own.answer
