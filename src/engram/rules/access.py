"""Who may read and who may change what: identity comes from the Caller, and from nowhere else."""

from engram.errors import Forbidden, Unconfirmed
from engram.model.caller import REVIEWER, Caller
from engram.model.change import Request
from engram.model.filter import Access
from engram.model.memory import Memory


def access_of(caller: Caller) -> Access:
    """What this caller may read."""
    return Access(caller.owner, caller.reach, caller.workspace)


def require_owner(caller: Caller, memory: Memory) -> None:
    """Only the owner writes content; sharing grants reading alone.

    Raises:
        Forbidden: for anyone else.
    """
    if memory.owner is None or memory.owner != caller.owner:
        raise Forbidden(
            "This memory belongs to someone else; sharing lets you read it, not change it.",
            "Remember your own version, or ask its owner.",
        )


def require_judge(caller: Caller, memory: Memory) -> None:
    """A verdict (promote, reject, verify) comes from the owner or a reviewer.

    Raises:
        Forbidden: for anyone else.
    """
    if REVIEWER not in caller.roles:
        require_owner(caller, memory)


def require_person(request: Request, act: str) -> None:
    """Some acts are a person's alone.

    Raises:
        Forbidden: when an agent asks.
    """
    if not request.caller.human:
        raise Forbidden(f"Only a person may {act}.", "Ask the person to do it with the engram command.")


def require_confirmation(request: Request, why: str, hint: str = "A person confirms it: add --confirm.") -> None:
    """A curated memory changes by a person's confirmed word, by any path.

    Raises:
        Unconfirmed: without it.
    """
    if not (request.confirmed and request.caller.human):
        raise Unconfirmed(why, hint)
