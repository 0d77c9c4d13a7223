"""Sessions as pages head their groups with them: who worked there and since when, where that is known."""

from collections.abc import Iterable, Mapping

from engram.errors import Conflict, NotFound
from engram.model.session import Session
from engram.service import Engram


def sessions_of(engram: Engram, names: Iterable[str]) -> Mapping[str, Session]:
    """The sessions of these names that are known; a memory may name one that never was."""
    found = {}
    for name in {*names} - {""}:
        try:
            known = engram.session_list(session=name).sessions[0]
        except (NotFound, Conflict):  # it may be how the ids of several others begin
            continue
        if known.name == name:
            found[name] = known
    return found
