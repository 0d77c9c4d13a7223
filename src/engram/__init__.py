"""Engram: one trustworthy memory for every agent a person or a team runs.

>>> import engram
>>> with engram.open("ram:") as memory:
...     saved = memory.remember("We deploy on Fridays", kind="convention")
...     print(memory.recall("when do we deploy?").hits[0].memory.text)
We deploy on Fridays
"""

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
