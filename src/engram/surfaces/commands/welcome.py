"""What `engram` says with no command: how much is remembered here, and what to do next."""

import os
from collections.abc import Callable
from typing import NamedTuple

from engram import config
from engram.errors import Conflict
from engram.model.scope import Scope
from engram.surfaces.commands.journal import Journal
from engram.surfaces.render.paper import at_hand, count, hanging, plain, table
from engram.wiring import open
from engram.wiring.embedders import way_to_model
from engram.wiring.places import home_scope, working_folder
from engram.wiring.stores import is_there, named

FIRST = 'remember "We deploy on Fridays"', "Save what was learned; people and agents both can"
PLACED = f"{FIRST[0]} --scope global", FIRST[1]
ASK = 'recall "when do we deploy?"', "Find it again, in other words too"
REVIEW = "review", "Decide about what waits"
DEMO = "demo", "See in thirty seconds what else it does, on a throw-away store"
CONNECT = "setup", "Connect the agents on this machine: every change is shown first"
IMPORT = "import PATH", "Bring along what another memory holds"
CHECK = "doctor", "Check the store from the disk up"
HELP = "--help", "All commands, each with examples"

MOST_LIVE, MOST_WAITING = 999, 99
"""Counted no further: this answers at once, however much there is; `engram stats` counts all."""


class Here(NamedTuple):
    """What there is to know before anything is asked."""

    store: str = ""
    scope: str = ""
    some: bool = False  # whether anything is remembered
    live: int = 0  # counted up to a bound
    waiting: int = 0  # counted up to another
    connected: bool = False  # whether set-up has written something for an agent
    there: bool = True  # whether the store has been made
    model: str = ""  # the command that gets the embedding model, where it is not here
    unplaced: str = ""  # why no scope is known here, and what to do

    def lines(self) -> list[str]:
        """Where we are, in a few words."""
        words = (
            [f"The embedding model is not here: recall goes by words. Get it: {self.model}"] if self.model else []
        )
        if not self.some:
            made = [f"The first save makes the store: {plain(self.store)}"] if self.store and not self.there else []
            return ["Nothing is remembered yet.", *made, *self._lands(), *words]
        live = _number(self.live, MOST_LIVE)
        waits = "waits" if self.waiting == 1 else "wait"
        return [
            f"Store: {plain(self.store)}",
            f"In use: {live}",
            *self._lands(),
            *([f"{_number(self.waiting, MOST_WAITING)} {waits} for a person."] if self.waiting else []),
            *words,
        ]

    def _lands(self) -> list[str]:
        if self.unplaced:
            return [f"New memories land nowhere by themselves: {plain(self.unplaced)}"]
        return [f"New memories land in: {plain(self.scope)}"] if self.scope else []

    def steps(self) -> list[tuple[str, str]]:
        """What to do next, the most useful first."""
        connect = [] if self.connected else [CONNECT]
        if not self.some:
            return [PLACED if self.unplaced else FIRST, ASK, DEMO, *connect, IMPORT, HELP]
        return [*([REVIEW] if self.waiting else []), *connect, ASK, CHECK, HELP]


def run(*, json: bool = False) -> int:
    """Say where we are and what comes next. A store that is not there yet is not made for it."""
    here = _look()
    if json:
        from json import dumps  # noqa: PLC0415 - start-up

        steps = [{"command": f"engram {command}", "about": about} for command, about in here.steps()]
        print(dumps({**here._asdict(), "next": steps}, ensure_ascii=False, indent=2))
        return 0
    paper = at_hand()
    print("engram: one trustworthy memory for every agent you run.\n")
    print("\n".join(part for line in here.lines() for part in hanging("", line, paper)))
    print("\nNext:")
    print("\n".join(table([[f"  engram {command}", about] for command, about in here.steps()], paper)))
    return 0


def _look() -> Here:
    connected = bool(Journal(os.path.join(config.data_folder(os.environ), "setup")).records)
    folder = working_folder()
    model = way_to_model(os.environ, folder)
    if not is_there():
        _, unplaced = _landing(lambda: home_scope(config.read(os.environ, folder), os.environ, folder))
        return Here(named(), there=False, connected=connected, model=model, unplaced=unplaced)
    with open() as engram:
        waiting = engram.list(standing=("pending",), everywhere=True, limit=MOST_WAITING + 1).memories
        live = engram.list(everywhere=True, limit=MOST_LIVE + 1).memories
        some = bool(live or engram.list(standing=("all",), everywhere=True, limit=1).memories)
        scope, unplaced = _landing(lambda: engram.home)
        return Here(engram.store, scope, some, len(live), len(waiting), connected, model=model, unplaced=unplaced)


def _landing(home: Callable[[], Scope]) -> tuple[str, str]:
    """Where memories land; or "", why nobody can tell, and what to do."""
    try:
        return str(home()), ""
    except Conflict as error:
        return "", f"{error.message} {error.hint}"


def _number(counted: int, most: int) -> str:
    return f"{most}+ memories" if counted > most else count(counted, "memory", "memories")
