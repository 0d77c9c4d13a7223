"""Rows of a store of observations ⇄ our records: observations, prompts, sessions and relations.

A row is one of its export: what a database has as NULL is absent. Its older releases lack columns, and its newer
ones have some that only matter to itself; all of them may be there or not.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from math import ceil
from typing import Any, cast

from engram.interop import observations_words as words
from engram.interop import theirs
from engram.interop.fields import flag, moment, number, one_line, project_of, text_of, time_of
from engram.interop.forms import UNDATED, foreign_id
from engram.model.limits import LONGEST_DECAY_HOURS
from engram.model.memory import Context, Memory
from engram.model.record import replace
from engram.model.relation import Relation, RelationKind, RelationStatus
from engram.model.scope import GLOBAL, Scope
from engram.model.session import Session

NAME = "observations"
Row = dict[str, Any]

PENDING = "pending"
STATUSES: Mapping[str, RelationStatus] = {"judged": "judged", PENDING: "proposed", "ignored": "ignored"}
ROWID = "_rowid"
"""Where a database says which of its rows this is: the oldest ones gave two rows one id, or none."""

DERIVED = frozenset({"normalized_hash", "embedding", "embedding_model", "embedding_created_at", "expires_at"})
"""What follows from the content, or was never used."""


def print_time(time: datetime | None) -> str | None:
    """A moment as that system writes it: UTC, to the second, with decimals only where there are some."""
    if time is None:
        return None
    return f"{time:%Y-%m-%d %H:%M:%S}" + (f".{time.microsecond:06d}" if time.microsecond else "")


def said(row: Mapping[str, Any]) -> Row:
    """A row without what is not said, and without what follows from the rest."""
    return {
        name: text_of(value) if isinstance(value, bytes) else value
        for name, value in row.items()
        if value is not None and name not in DERIVED and name != ROWID
    }


def identity(row: Mapping[str, Any]) -> str:
    """What names a row in every copy of its store: its sync id, else its number and the moment it was made."""
    return text_of(row.get("sync_id")) or f"{row.get(ROWID) or row.get('id')} {row.get('created_at')}"


def _place(row: Mapping[str, Any], session_project: str) -> tuple[Scope, str]:
    """Where an observation holds, and its project where that does not say it."""
    project = text_of(row.get("project")).strip() or session_project.strip()
    if words.scope_word(text_of(row.get("scope"))) != "project" or not project:
        return GLOBAL, project
    return project_of(project), ""


# observations


def observation(row: Mapping[str, Any], session_project: str = "") -> tuple[Memory, list[str]]:
    """The memory of an observation, and which of its fields were lost.

    Raises:
        Invalid: when it cannot be one: no content, too much of it, or no times.
    """
    id, row = identity(row), said(row)
    type = words.word_of(text_of(row.get("type")))
    scope, project = _place(row, session_project)
    created = moment(row.get("created_at"), row.get("updated_at"))
    context = replace(words.made_as(type, text_of(row.get("tool_name"))), project=project)
    made = Memory(
        id=foreign_id(NAME, id),
        key=one_line(text_of(row.get("topic_key")), "key"),
        text=text_of(row.get("content")),
        summary=one_line(text_of(row.get("title")), "summary"),
        kind=words.kind_of(type),
        scope=scope,
        visibility=_visibility(row, scope),
        session=text_of(row.get("session_id")),
        context=context,
        source=f"{NAME}:store",
        pinned=flag(row.get("pinned")),
        status="promoted",
        owner="",
        decay=_decay(created, time_of(row.get("review_after"), "review_after")),
        forgotten_at=time_of(row.get("deleted_at"), "deleted_at"),
        seen=number(row, "duplicate_count", 1, 0, 10**9),
        revision=number(row, "revision_count", 1, 1, 10**9),
        created_at=created,
        updated_at=moment(row.get("updated_at"), row.get("created_at")),
    )
    return theirs.keep(made, NAME, id, row, observation_row(made))


def _visibility(row: Mapping[str, Any], scope: Scope) -> Any:  # noqa: ANN401 - one of two words
    if scope.level == "project" or words.scope_word(text_of(row.get("scope"))) == "global":
        return "shared"
    return "private"


def _decay(created: datetime, review: datetime | None) -> str:
    """How long it stays fresh; what never comes up for review never goes stale."""
    if review is None or created == UNDATED:
        return "none"
    hours = ceil((review - created) / timedelta(hours=1))
    return f"{min(max(hours, 1), LONGEST_DECAY_HOURS)}h"


def observation_row(memory: Memory) -> Row:
    """A memory as a row of observations."""
    known = theirs.id_in(NAME, memory)
    project = memory.scope.name if memory.scope.level == "project" else memory.context.project
    row: Row = {
        "sync_id": (known if not known[:1].isdigit() else "") or f"obs-{memory.id.replace('-', '')[-16:]}",
        "session_id": memory.session or f"manual-save-{project}".rstrip("-"),
        "type": words.type_of(memory),
        "title": words.title_of(memory),
        "content": memory.text,
        "tool_name": memory.context.tool or None,
        "project": project or None,
        "scope": words.scope_of(memory),
        "topic_key": memory.key or None,
        "revision_count": memory.revision,
        "duplicate_count": memory.seen,
        "pinned": memory.pinned,
        "review_after": print_time(memory.stale_at),
        "created_at": print_time(memory.created_at),
        "updated_at": print_time(memory.updated_at),
        "deleted_at": print_time(memory.forgotten_at),
    }
    return {name: value for name, value in row.items() if value is not None}


# prompts


def prompt(row: Mapping[str, Any], session_project: str = "") -> tuple[Memory, list[str]]:
    """The memory of what a person asked for.

    Raises:
        Invalid: when it has no content, or too much.
    """
    id, row = f"prompt {identity(row)}", said(row)
    project = text_of(row.get("project")).strip() or session_project.strip()
    created = moment(row.get("created_at"))
    made = Memory(
        id=foreign_id(NAME, id),
        text=text_of(row.get("content")),
        kind="prompt",
        scope=project_of(project) if project else GLOBAL,
        session=text_of(row.get("session_id")),
        origin="said",
        source=f"{NAME}:store",
        apart=True,
        status="promoted",
        owner="",
        decay="none",
        created_at=created,
        updated_at=created,
    )
    return theirs.keep(made, NAME, id, row, prompt_row(made))


def prompt_row(memory: Memory) -> Row:
    """A memory of kind prompt as a row of prompts."""
    known = theirs.id_in(NAME, memory).removeprefix("prompt ")
    project = memory.scope.name if memory.scope.level == "project" else memory.context.project
    row: Row = {
        "sync_id": (known if not known[:1].isdigit() else "") or f"prompt-{memory.id.replace('-', '')[-16:]}",
        "session_id": memory.session or f"manual-save-{project}".rstrip("-"),
        "content": memory.text,
        "project": project or None,
        "created_at": print_time(memory.created_at),
    }
    return {name: value for name, value in row.items() if value is not None}


# sessions


def session(row: Mapping[str, Any]) -> tuple[Session, list[str]]:
    """The session of a row.

    Raises:
        Invalid: when it has no id, or ends before it began.
    """
    row = said(row)
    id, project = text_of(row.get("id")), text_of(row.get("project")).strip()
    made = Session(
        id=foreign_id(NAME, f"session {id}"),
        name=id,
        scope=project_of(project) if project else GLOBAL,
        context=Context(base_dir=text_of(row.get("directory"))),
        owner="",
        started_at=moment(row.get("started_at")),
        ended_at=time_of(row.get("ended_at"), "ended_at"),
    )
    told = {name: value for name, value in row.items() if name != "summary"}
    return theirs.keep(made, NAME, id, told, session_row(made))


def summary_id(session: str) -> str:
    """The id of the memory that keeps what was said at the end of a session."""
    return foreign_id(NAME, f"summary of {session}")


def closing(row: Mapping[str, Any]) -> Memory | None:
    """What was said at the end of a session, as a memory of its own."""
    if not text_of(row.get("summary")).strip():
        return None
    id, project = text_of(row.get("id")), text_of(row.get("project")).strip()
    ended = moment(row.get("ended_at"), row.get("started_at"))
    made = Memory(
        id=summary_id(id),
        text=text_of(row.get("summary")),
        kind="summary",
        scope=project_of(project) if project else GLOBAL,
        visibility="shared" if project else "private",
        session=id,
        source=f"{NAME}:store",
        apart=True,
        status="promoted",
        owner="",
        decay="none",
        created_at=ended,
        updated_at=ended,
    )
    return theirs.keep(made, NAME, f"summary of {id}", {}, {})[0]


def session_row(session: Session) -> Row:
    """A session as a row."""
    row: Row = {
        "id": session.name or session.id,
        "project": session.scope.name,
        "directory": session.context.base_dir,
        "started_at": print_time(session.started_at),
        "ended_at": print_time(session.ended_at),
    }
    return {name: value for name, value in row.items() if value is not None}


# relations


def relation(row: Mapping[str, Any]) -> tuple[Relation, list[str]]:
    """The relation of a row.

    Raises:
        Invalid: when its ends are missing, or are one.
    """
    row = said(row)
    verb, status = text_of(row.get("relation")), text_of(row.get("judgment_status")) or PENDING
    created = moment(row.get("created_at"), row.get("updated_at"))
    ends = [text_of(row.get(name)) for name in ("source_id", "target_id")]
    confidence = row.get("confidence")
    made = Relation(
        id=foreign_id(NAME, f"relation {identity(row)}"),
        from_id=foreign_id(NAME, ends[0]),
        to_id=foreign_id(NAME, ends[1]),
        kind=cast("RelationKind", words.VERBS.get(verb, "conflicts")),
        status=STATUSES.get(status, "ignored"),
        reason=text_of(row.get("reason")),
        evidence=text_of(row.get("evidence")),
        confidence=float(confidence) if isinstance(confidence, int | float) and 0 <= confidence <= 1 else 0.6,
        owner="",
        actor=text_of(row.get("marked_by_actor")),
        model=text_of(row.get("marked_by_model")),
        session=text_of(row.get("session_id")),
        created_at=created,
        updated_at=moment(row.get("updated_at"), row.get("created_at")),
    )
    names = dict(zip((made.from_id, made.to_id), ends, strict=True))
    return theirs.keep(made, NAME, identity(row), row, relation_row(made, names))


def relation_row(relation: Relation, names: Mapping[str, str]) -> Row:
    """A relation as a row; `names` are the sync ids of the memories it is between."""
    verbs = {kind: verb for verb, kind in words.VERBS.items()}
    row: Row = {
        "sync_id": theirs.id_in(NAME, relation) or f"rel-{relation.id[-16:]}",
        "source_id": names.get(relation.from_id),
        "target_id": names.get(relation.to_id),
        "relation": PENDING if relation.status == "proposed" else verbs[relation.kind],
        "reason": relation.reason or None,
        "evidence": relation.evidence or None,
        "confidence": relation.confidence,
        "judgment_status": words.STATUSES.get(relation.status, relation.status),
        "marked_by_actor": relation.actor or None,
        "marked_by_model": relation.model or None,
        "session_id": relation.session or None,
        "created_at": print_time(relation.created_at),
        "updated_at": print_time(relation.updated_at),
    }
    return {name: value for name, value in row.items() if value is not None}
