"""Which scopes a question looks at: the current project and global, one scope by name, or all."""

from typing import Any

from engram.model.scope import GLOBAL, Scope
from engram.operations.base import Call


def in_view(call: Call, scope: str, *, everywhere: bool = False) -> dict[str, Any]:
    """The scope clauses of a filter, for what was asked.

    Raises:
        Invalid: when the scope's name is none.
    """
    if scope:
        return {"within": Scope.parse(scope)}
    if everywhere:
        return {}
    seen = [call.home, GLOBAL]
    if call.caller.agent:
        seen.append(Scope("agent", call.caller.agent))
    return {"scopes": tuple(dict.fromkeys(seen))}
