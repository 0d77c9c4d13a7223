"""The words of a store of observations and ours: types, scopes, verbs, ids, projects, envelopes and errors.

That system keeps observations with a type, a title and a topic key, in projects, under whole numbers as ids. Here
a type is a kind, and its word is kept where the kind alone does not give it back; the title is the summary, the
topic key the key, and the number that of the memory's handle.
"""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from engram.errors import Conflict, EngramError, NotFound
from engram.interop.tools import Answer, Asks, Refused
from engram.model.memory import Context, Memory, Visibility, check_kind, standing
from engram.model.refs import handle_number, print_handle
from engram.model.relation import Relation
from engram.model.scope import GLOBAL, Scope

KINDS: Mapping[str, str] = {
    "manual": "fact",
    "session_summary": "summary",
    "passive": "learning",
    **dict.fromkeys(("discovery", "map", "finding", "insight"), "learning"),
    **dict.fromkeys(("prompt", "tool_use", "file_change", "command", "file_read", "search"), "fact"),
}
"""Type → kind, where the two differ. Nothing is saved there to be left out of a search, or refused for want of a
citation, so a discovery becomes a kind that is always found and needs none."""

TYPES: Mapping[str, str] = {
    "fact": "manual",
    "summary": "session_summary",
    "map": "discovery",
    "finding": "discovery",
}
"""Kind → type, where no word was kept."""

REVIEWED: Mapping[str, str] = {"decision": "6m", "policy": "1y", "preference": "3m"}
"""Type → how long it stays fresh, for the types that come up for review there."""

VERBS: Mapping[str, str] = {
    **{verb: verb for verb in ("related", "compatible", "scoped", "supersedes")},
    "conflicts_with": "conflicts",
    "not_conflict": "unrelated",
}
"""Verb of a judgment → kind of relation."""

STATES: Mapping[str, str] = {"live": "active", "stale": "needs_review"}
"""Standing → state; the other standings keep their word."""

STATUSES: Mapping[str, str] = {"proposed": "pending"}
CHOSEN = "user_selected_after_ambiguous_project"
CHOOSE = "Ask the person which one is meant, and call again with project set to one of available_projects."
NO_PROJECT = "This folder belongs to no project: what is saved here holds everywhere, and is private."
LONGEST_TITLE = 60


class Place(NamedTuple):
    """The project that a call is about: its name, where its memories lie, and how it was told."""

    name: str
    scope: Scope
    source: str
    warning: str = ""


ALL = Place("", Scope(), "all_projects")


# types, titles, ids and times


def word_of(type: str) -> str:
    """A type as it is compared: lower case, no space around; `manual` where none was said."""
    return type.strip().lower() or "manual"


def kind_of(type: str) -> str:
    """The kind that a type is kept as: the same word where it can be one, else a fact."""
    kind = KINDS.get(type, type)
    try:
        check_kind(kind)
    except EngramError:
        return "fact"
    return kind


def type_of(memory: Memory) -> str:
    """The type a memory goes by: the word it was saved with, as long as its kind is still of that word."""
    word = memory.context.word
    if word and kind_of(word) == memory.kind:
        return word
    return TYPES.get(memory.kind, memory.kind)


def made_as(type: str, tool: str) -> Context:
    """Where an observation was made; its word is kept only where the kind does not say it."""
    kind = kind_of(type)
    return Context(tool=tool, word="" if TYPES.get(kind, kind) == type else type)


def title_of(memory: Memory) -> str:
    """The title; without one, what a summary is of, or the beginning of the text."""
    if memory.summary:
        return memory.summary
    if memory.kind == "summary":  # kept without a title, so that a context shows what it says
        return f"Session summary: {memory.scope.name or 'global'}"
    line = " ".join(memory.text.split())
    return cut(line, LONGEST_TITLE)


def topic(key: str) -> str:
    """A topic key as it is compared: lower case, words joined by a dash."""
    return "-".join(key.lower().split())


def cut(text: str, most: int) -> str:
    """The beginning of a text; what was left out is marked."""
    return text if len(text) <= most else text[:most] + "..."


def number_of(memory: Memory) -> int:
    """The whole number that clients know a memory by."""
    return handle_number("memory", memory.handle) or 0


def ref_of(id: float) -> str:
    """The memory of a number. Numbers may come as floats.

    Raises:
        Refused: when it cannot be a number of a memory.
    """
    if isinstance(id, bool) or not isinstance(id, int | float) or not 1 <= id < 10**15 or id != int(id):
        raise Refused(f"{id!r} is not the id of a memory.", "Give the number that mem_search shows, such as 12.")
    return print_handle("memory", int(id))


def count(value: float, default: int, most: int) -> int:
    """How many: the default for what is no positive whole number, and never more than the most."""
    if not value >= 1 or not float(value).is_integer():
        return default
    return int(min(value, most))


def time_of(moment: datetime) -> str:
    """A moment in the form of that system: UTC, to the second."""
    return f"{moment:%Y-%m-%d %H:%M:%S}"


def state_of(asks: Asks, memory: Memory, at: datetime) -> str:
    """For this caller: active, needs_review, or the standing that keeps it out of use."""
    stands = standing(memory, at, asks.view)
    return STATES.get(stands, stands)


# scopes and projects


def scope_of(memory: Memory) -> str:
    """project, global or personal: what holds everywhere is personal until it is shared."""
    if memory.scope.level != "global":
        return "project"
    return "global" if memory.visibility == "shared" else "personal"


def scope_word(scope: str) -> str:
    """One of the three scopes; another word means the project, as it does there."""
    word = scope.strip().lower()
    return word if word in ("personal", "global") else "project"


def asked_scope(scope: str) -> str:
    """The scope that a client names, the project unless it names one.

    Raises:
        Refused: for another word: what was meant as personal would be kept for all of a project to read.
    """
    if scope.strip() and scope.strip().lower() not in ("project", "personal", "global"):
        raise Refused(f"scope cannot be {scope!r}.", "Use project, personal or global, or leave it out.")
    return scope_word(scope)


def home_of(place: Place, scope: str) -> tuple[Scope, Visibility]:
    """Where an observation of this scope is kept, and who may read it.

    A project's memories are for those who work in it; what is saved outside of any project stays private.
    """
    everywhere = Scope(workspace=place.scope.workspace)
    match asked_scope(scope):
        case "personal":
            return everywhere, "private"
        case "global":
            return everywhere, "shared"
    return place.scope, "shared" if place.scope.level == "project" else "private"


def place_of(asks: Asks, project: str = "", session: str = "", reason: str = "") -> Place:
    """The project a call is about: the one it names, that of its session, or the current one.

    Raises:
        Refused: when nobody can tell which project it is, or none goes by the name: none is invented.
    """
    if reason and reason != CHOSEN:
        raise Refused(
            f"project_choice_reason cannot be {reason!r}.",
            f"Use {CHOSEN}, or none.",
            error_code="invalid_project_choice",
        )
    if project.strip():
        return _named(asks, project)
    if session and (scope := _scope_of_session(asks, session)) is not None:
        return Place(scope.name, scope, "session")
    return current(asks)


def place_or_everywhere(asks: Asks, project: str = "", session: str = "", reason: str = "") -> Place:
    """As `place_of`; where the folder may be several projects and none is named, what holds everywhere.

    Raises:
        Refused: when none goes by the name.
    """
    try:
        return place_of(asks, project, session, reason)
    except Refused as error:
        if project.strip() or not isinstance(error.__cause__, Conflict):
            raise
        way = "Only what holds everywhere is shown: for one project, call again with project."
        return Place("", GLOBAL, "ambiguous", f"{error.message} {way}")


def current(asks: Asks) -> Place:
    """The project this server stands in.

    Raises:
        Refused: when several could be meant.
    """
    try:
        home = asks.home
    except Conflict as error:
        choices = choices_of(error)
        hint = CHOOSE if choices else f"{CHOOSE} {asks.says(error.hint)}"
        raise _ambiguous(error.message, choices or known_projects(asks), hint) from error
    if home.level != "project":
        return Place("", home, "none")
    return Place(home.name, home, "git_remote" if "/" in home.name else "detected")


def stored(asks: Asks, memory: Memory) -> Place:
    """The current project; where nobody can tell which that is, the one the memory was saved in."""
    try:
        return current(asks)
    except Refused:
        return Place(memory.scope.name, memory.scope, "stored_project")


def known_projects(asks: Asks) -> list[str]:
    """The names of the projects that hold something."""
    return [project.name for project in asks.ask("projects_list").projects]


def choices_of(error: EngramError) -> list[str]:
    """The projects between which somebody has to choose, where the error tells them."""
    return list(getattr(error, "choices", ()))


def is_called(scope: Scope, project: str) -> bool:
    """Whether a project goes by this name, in full or by its last part."""
    names = (_compared(scope.name), _compared(_short(scope.name)))
    return scope.level == "project" and _compared(project) in names


def _named(asks: Asks, project: str) -> Place:
    workspace = ""
    try:
        here = asks.home
    except Conflict as error:
        choices = choices_of(error)
    else:
        if is_called(here, project) and not _is_another(asks, here, project):
            return Place(here.name, here, "explicit_override")
        workspace, choices = here.workspace, [here.name] if here.name else []
    names = list(dict.fromkeys([*choices, *known_projects(asks)]))
    wanted = _compared(project)
    fits = [name for name in names if name == project.strip()]  # two may differ by their case alone
    fits = fits or [name for name in names if _compared(name) == wanted]
    fits = fits or [name for name in names if _compared(_short(name)) == wanted]
    if len(fits) > 1:
        raise _ambiguous(f"{project!r} may mean {len(fits)} projects.", fits, f"{CHOOSE} Give its whole name.")
    if not fits:
        raise Refused(
            f"There is no project {project!r}, and none was made.",
            "Leave project out for the current one, or name one of available_projects.",
            error_code="unknown_project",
            available_projects=names,
        )
    return Place(fits[0], Scope("project", fits[0], workspace), "explicit_override")


def _is_another(asks: Asks, here: Scope, project: str) -> bool:
    """Whether a project is called just so that is not the current one, which goes by that name for short."""
    name = project.strip()
    if here.name == name:
        return False
    try:
        held = asks.ask("list", scope=str(Scope("project", name)), standing="all", limit=1).memories
    except EngramError:
        return False
    if _compared(here.name) == _compared(name):
        return any(memory.scope.name == name for memory in held)
    return any(_compared(memory.scope.name) == _compared(name) for memory in held)


def _ambiguous(message: str, choices: list[str], hint: str) -> Refused:
    return Refused(message, hint, error_code="ambiguous_project", available_projects=choices)


def _scope_of_session(asks: Asks, session: str) -> Scope | None:
    try:
        (known,) = asks.ask("session_list", session=session).sessions
    except (NotFound, Conflict):  # it may be how the ids of several others begin
        return None
    scope: Scope = known.scope
    return scope if session in (known.name, known.id) and scope.level == "project" else None


def _short(name: str) -> str:
    return name.rpartition("/")[2]


def _compared(project: str) -> str:
    """A project's name as it is compared: lower case, runs of - and of _ as one."""
    return re.sub(r"-+", "-", re.sub(r"_+", "_", project.strip().lower()))


# what is asked and answered


def require_said(**texts: str) -> None:
    """Refuse what is empty.

    Raises:
        Refused: naming the first that is.
    """
    for name, text in texts.items():
        if not text.strip():
            raise Refused(f"{name} is required.", f"Say it in {name}.")


def row(asks: Asks, memory: Memory, at: datetime) -> dict[str, Any]:
    """An observation as the results of a search list it."""
    listed: dict[str, Any] = {
        "id": number_of(memory),
        "sync_id": memory.id,
        "title": title_of(memory),
        "type": type_of(memory),
        "state": state_of(asks, memory, at),
        "scope": scope_of(memory),
        "pinned": memory.pinned,
    }
    if memory.scope.level == "project":
        listed["project"] = memory.scope.name
    if memory.key:
        listed["topic_key"] = memory.key
    return listed | due(memory)


def due(memory: Memory) -> dict[str, str]:
    """When it comes up for review, if it does."""
    return {} if memory.stale_at is None else {"review_after": time_of(memory.stale_at)}


def relation_row(relation: Relation) -> dict[str, Any]:
    """A judgment with all that is known about it."""
    verbs = {kind: verb for verb, kind in VERBS.items()}
    return {
        "sync_id": relation.id,
        "source_id": relation.from_id,
        "target_id": relation.to_id,
        "relation": verbs[relation.kind],
        "reason": relation.reason,
        "evidence": relation.evidence,
        "confidence": relation.confidence,
        "judgment_status": STATUSES.get(relation.status, relation.status),
        "marked_by_actor": relation.actor,
        "marked_by_model": relation.model,
        "session_id": relation.session,
        "created_at": time_of(relation.created_at),
        "updated_at": time_of(relation.updated_at),
    }


def told(body: Mapping[str, Any]) -> Answer:
    """A JSON object as the one text of a result."""
    return Answer(json.dumps(body, ensure_ascii=False))


def enveloped(asks: Asks, place: Place, lines: str | Iterable[str], warning: str = "", **more: object) -> Answer:
    """A result with the project it is about; what a tool has to add stands beside it."""
    result = lines if isinstance(lines, str) else "\n".join(line for line in lines if line)
    body = {
        "project": place.name,
        "project_source": place.source,
        "project_path": asks.folder,
        "result": result,
    }
    warned = " ".join(each for each in (warning, place.warning) if each)
    return told(body | ({"warning": warned} if warned else {}) | more)


def failed(error: EngramError) -> Answer:
    """An error in that system's form; a refusal may bring keys of its own."""
    details: dict[str, Any] = dict(error.details) if isinstance(error, Refused) else {}
    if (whole := details.pop("whole", None)) is not None:
        return told(whole)
    body = {
        "error_code": details.pop("error_code", error.code),
        "message": error.message,
        "available_projects": details.pop("available_projects", []),
        "hint": error.hint,
    }
    return told(body | details)
