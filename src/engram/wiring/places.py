"""Where a process stands: its folder, and the project that memories land in by default."""

import functools
import os
from collections.abc import Callable, Mapping

from engram import config
from engram.errors import Conflict
from engram.model.caller import Caller
from engram.model.filter import Filter
from engram.model.scope import GLOBAL, Scope
from engram.ports import Engine
from engram.projects.detect import project_of
from engram.projects.names import Names
from engram.rules.access import access_of
from engram.service import Engram


def working_folder() -> str:
    """Where this process stands."""
    try:
        return os.getcwd()
    except FileNotFoundError:  # it was removed under our feet: no project, and no file of its own
        return "/"


def home_scope(
    settings: config.Settings,
    environment: Mapping[str, str],
    folder: str,
    taken: Callable[[str], bool] | None = None,
) -> Scope:
    """Where memories land by default: the project of the folder, else global.

    `taken` says whether the store holds something of a project already: a checkout that came with such a name of
    its own does not get it, until a person has accepted it (see `projects.names`).

    Raises:
        Conflict: when the folder may be several projects, or takes the name of another.
    """
    names = Names(config.data_folder(environment, needed=False), taken)
    project = settings.get("project") or project_of(folder, environment.get("HOME") or "/", names)
    return Scope("project", project) if project else GLOBAL


def holds(engine: Engine, caller: Caller, project: str) -> bool:
    """Whether there is anything of a project that this caller may read."""
    where, access = Filter(within=Scope("project", project)), access_of(caller)
    return any(engine.scan(type, where, access, limit=1).records for type in ("memory", "session"))


def seat_of(engram: Engram) -> Scope:
    """Where the person at this machine's page stands: the project of the working directory.

    Where the server was told a project, or the folder is none or may be several, it is where the server stands.
    """
    if engram.home != GLOBAL:
        return engram.home
    place = working_folder()
    try:
        return home_scope(
            config.read(os.environ, place),
            os.environ,
            place,
            functools.partial(holds, engram.engine, engram.caller),
        )
    except Conflict:
        return GLOBAL
