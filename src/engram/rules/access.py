"""Who may read and who may change what: identity comes from the Caller, and from nowhere else."""

from collections.abc import Iterable, Mapping

from engram.errors import Forbidden, Unconfirmed
from engram.model.caller import ADMIN, WRITER, Caller
from engram.model.change import Request
from engram.model.event import Event
from engram.model.filter import Access
from engram.model.memory import CURATED, Memory
from engram.model.relation import Relation
from engram.model.scope import Scope, alias_of
from engram.model.session import Session


def access_of(caller: Caller) -> Access:
    """What this caller may read."""
    closed = frozenset(place for place, role in caller.grants if not role)
    return Access(caller.owner, caller.reach, caller.workspace, closed, caller.agent)


def roles_by_short_name(caller: Caller, name: str) -> Mapping[str, str]:
    """The projects with members that go by a short name, in any capitals, each with the caller's role there.

    Grants alone decide what such a name means. If what is saved could, anybody might save under the short name of
    a project with members, and be read in its place.
    """
    short = name.lower()
    placed = ((Scope.parse(place), role) for place, role in caller.grants)
    return {one.name: role for one, role in placed if alias_of(one.name).lower() == short}


def require_place(caller: Caller, scope: Scope) -> None:
    """What is new lands in the workspace the caller stands in, or outside them all, and where it may write.

    Nothing new lands in a project whose whole name is the short name of one with members.

    Raises:
        Forbidden: for any other place. It says nothing about what is there.
    """
    if caller.workspace is not None and scope.workspace != caller.workspace:
        raise Forbidden(f"{scope} is not in your workspace.", "Leave the workspace out, or go to that one.")
    if not caller.is_in(WRITER, scope.place):
        raise Forbidden(f"You may not write to {scope}.", "Ask whoever runs this memory for the writer role there.")
    if scope.level == "project" and scope.name not in (taken := roles_by_short_name(caller, scope.name)) and taken:
        raise Forbidden(
            f"You may not write to {scope}.",
            "It is the short name of a project that has members. Give the whole name of the project you mean.",
        )


def require_writing(caller: Caller) -> None:
    """Credentials for reading only change nothing.

    Raises:
        Forbidden: for a caller that has no others.
    """
    if not caller.writes:
        raise Forbidden("These credentials are for reading only.", "Use credentials that may write.")


def require_reader(caller: Caller, scope: Scope) -> None:
    """What is shared in a place is for whoever has it in reach.

    Raises:
        Forbidden: for anyone else. It says nothing about what is there.
    """
    if not access_of(caller).reaches(scope):
        raise Forbidden(f"You may not read {scope}.", "Ask whoever runs this memory for the reader role there.")


def require_owner(caller: Caller, memory: Memory | Session | Relation) -> None:
    """Only the owner writes content; sharing grants reading alone.

    Raises:
        Forbidden: for anyone else.
    """
    if not caller.owns(memory):
        raise Forbidden(
            "This memory belongs to someone else; sharing lets you read it, not change it.",
            "Remember your own version, or ask its owner.",
        )


def require_judge(caller: Caller, memory: Memory) -> None:
    """A verdict (promote, reject, verify) comes from the owner or a reviewer.

    Raises:
        Forbidden: for anyone else.
    """
    if not caller.may_judge(memory):
        require_owner(caller, memory)


def hears(caller: Caller, event: Event, owners: Iterable[str | None]) -> bool:
    """Whether a caller is told what an event did, and why: whoever did it is, and who owns all that it is told of.

    Sharing a memory shares what it says now, not what was said about it before.
    """
    return event.owner == caller.owner or set(owners) == {caller.owner}


def require_keeper(caller: Caller, act: str) -> None:
    """The store itself is looked after by whoever runs it and, from afar, by an admin of the org.

    Raises:
        Forbidden: for other members of a team.
    """
    if not is_keeper(caller):
        raise Forbidden(f"Only an admin may {act}.", "Ask whoever runs this memory.")


def is_keeper(caller: Caller) -> bool:
    """Whether a caller looks after the store itself."""
    return not (caller.org and caller.owner) or ADMIN in caller.roles


def require_person(request: Request, act: str, command: str = "") -> None:
    """Some acts are a person's alone; with `command` they do it.

    Raises:
        Forbidden: when an agent asks.
    """
    if not request.caller.human:
        asked = f"Nothing was done. Ask the person: {command}." if command else "Ask the person to do it."
        raise Forbidden(f"Only a person may {act}.", asked)


def is_a_persons(memory: Memory) -> bool:
    """Whether a person wrote these words here, or approved them.

    What was imported is as its own program left it: agents go on with it as they did there, until a person
    approves it.
    """
    wrote = memory.origin == "said" and memory.source == "manual" and memory.learned_by != "import"
    return wrote or (memory.status == "promoted" and bool(memory.approved_by))


def is_firm(memory: Memory, caller: Caller) -> bool:
    """Whether a caller who confirms nothing can only propose to change a live memory or to put it out of use.

    A curated one stands firm against everybody, a person's word against agents.
    """
    return memory.tier == CURATED or (not caller.human and is_a_persons(memory))


def require_person_over(memory: Memory, request: Request, act: str, command: str = "") -> None:
    """What stands firm is neither hidden nor shared by an agent; `command` is the person's.

    Raises:
        Forbidden: when an agent asks.
    """
    if is_firm(memory, request.caller):
        curated = f"a curated memory (kind {memory.kind})"
        what = curated if memory.tier == CURATED else "what a person wrote or approved"
        require_person(request, f"{act} {what}: {memory.called}", command)


def is_confirmed(request: Request) -> bool:
    """Whether a person confirmed this very request."""
    return bool(request.confirmed) and request.caller.human


def require_confirmation(request: Request, why: str, hint: str = "A person confirms it: add --confirm.") -> None:
    """A curated memory changes by a person's confirmed word, by any path.

    Raises:
        Unconfirmed: without it.
    """
    if not is_confirmed(request):
        raise Unconfirmed(why, hint)
