"""Engram: one trustworthy memory for every agent a person or a team runs.

>>> import engram
>>> with engram.open("ram:") as memory:
...     saved = memory.remember("We deploy on Fridays", kind="convention")
...     print(memory.recall("when do we deploy?").hits[0].memory.text)
We deploy on Fridays
"""

import importlib
import typing

from engram.errors import (
    Conflict,
    Corrupt,
    EngramError,
    Forbidden,
    Invalid,
    NotFound,
    Throttled,
    Unauthenticated,
    Unavailable,
    Unconfirmed,
)

if typing.TYPE_CHECKING:
    from engram.model.caller import Caller
    from engram.model.memory import Citation, Memory, standing
    from engram.model.scope import Scope
    from engram.service import Engram
    from engram.wiring import open

__version__ = "0.1.0"

__all__ = [
    "Caller",
    "Citation",
    "Conflict",
    "Corrupt",
    "Engram",
    "EngramError",
    "Forbidden",
    "Invalid",
    "Memory",
    "NotFound",
    "Scope",
    "Throttled",
    "Unauthenticated",
    "Unavailable",
    "Unconfirmed",
    "open",
    "standing",
]

_HOMES = {
    "Caller": "engram.model.caller",
    "Citation": "engram.model.memory",
    "Engram": "engram.service",
    "Memory": "engram.model.memory",
    "Scope": "engram.model.scope",
    "open": "engram.wiring",
    "standing": "engram.model.memory",
}
"""What is loaded when it is first named: the command, which needs less, loads that by itself."""


def __getattr__(name: str) -> typing.Any:  # noqa: ANN401 - any of the public names
    if name not in _HOMES:
        raise AttributeError(f"module 'engram' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
