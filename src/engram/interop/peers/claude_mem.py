"""The SQLite store of claude-mem: sessions, observations, summaries, what was asked, and standing directives.

Older releases call the sessions by other names, and lack some columns; each row is read as it is.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engram.errors import Invalid
from engram.interop import databases
from engram.interop.forms import UNDATED, Foreign, Form, Problem, Source, foreign_id
from engram.interop.peers.reading import WAITING, Row, files, project, told
from engram.model.scope import GLOBAL
from engram.model.session import Session

if TYPE_CHECKING:
    from sqlite3 import Connection

STORE = "claude-mem"
Make = Callable[[Mapping[str, Any]], Iterator[Foreign | Problem]]
KINDS: Mapping[str, str] = {
    "bugfix": "bugfix",
    "decision": "decision",
    "feature": "project",
    "refactor": "architecture",
    "change": "learning",
    "discovery": "finding",
}
"""What it calls the type of an observation → kind."""

SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")
INTERNAL = ("id", "created_at", "created_at_epoch", "content_hash", "synced_at", "sync_rev", "origin_local_id")
OF_MEMORY, OF_CONTENT = ("memory_session_id", "sdk_session_id"), ("content_session_id", "claude_session_id")
"""What a session is called by its observer and by its agent; the second of each in older releases."""


NEEDED = {"sdk_sessions": ("id",), "observations": ("id", "type", "project")}


def recognises(source: Source) -> bool:
    """Whether the database has its sessions and their observations."""
    tables = databases.tables(source)
    return all(tables.get(table, frozenset()) >= set(names) for table, names in NEEDED.items())


def read(source: Source) -> Iterator[Foreign | Problem]:
    """The sessions first, then what was made in them."""
    with databases.opened(source) as database:
        databases.require(source.path, database, NEEDED)
        tables = databases.tables_of(database)
        sessions = tables["sdk_sessions"]
        by_memory, by_content = _first(OF_MEMORY, sessions), _first(OF_CONTENT, sessions)
        yield from _each(database, "sdk_sessions", _session)
        yield from _each(database, "observations", _observation, by=by_memory, content=by_content)
        if "session_summaries" in tables:
            yield from _each(database, "session_summaries", _summary, by=by_memory, content=by_content)
        if "user_prompts" in tables:
            yield from _each(
                database, "user_prompts", _prompt, by=by_content, content=by_content, more=", s.project"
            )
        if "directives" in tables:
            yield from _each(database, "directives", _directive)


def _first(names: Sequence[str], columns: frozenset[str]) -> str:
    return next((name for name in names if name in columns), names[0])


def _each(
    database: "Connection", table: str, make: Make, *, by: str = "", content: str = "", more: str = ""
) -> Iterator[Foreign | Problem]:
    """Every row of a table as what it makes, with the name of its session, and more of it, where there is one."""
    sql = f"SELECT t.* FROM {table} t"
    if by:
        sql = f"SELECT t.*, s.{content} AS session_name{more} FROM {table} t"
        sql += f" LEFT JOIN sdk_sessions s ON s.{by} = t.{by}"
    for found in databases.rows(database, f"{sql} ORDER BY t.id"):
        if isinstance(found, Problem):
            yield found
        else:
            yield from make(found)


def _session(found: Mapping[str, Any]) -> Iterator[Foreign | Problem]:
    row = Row(found)
    name, called = f"session {found['id']}", row.text(*OF_CONTENT)
    row.get("id", *OF_MEMORY, "user_prompt", "status", "worker_port", "prompt_counter")
    started = row.time("started_at_epoch", "started_at") or UNDATED
    ended = row.time("completed_at_epoch", "completed_at")
    scope = project(row.text("project"))
    try:
        record = Session(
            id=foreign_id(STORE, f"session\x1f{called}"),
            name=called,
            scope=scope or GLOBAL,
            agent={"claude": "claude-code", "": "claude-code"}.get(agent := row.text("platform_source"), agent),
            owner="",
            started_at=started,
            ended_at=ended if ended and ended >= started else None,
        )
    except Invalid as error:
        yield Problem(name, error.message)
        return
    yield Foreign(name, record, (*(() if scope else ("project",)), *row.rest()))


def _observation(found: Mapping[str, Any]) -> Iterator[Foreign | Problem]:
    row = Row(found)
    name, word = f"observation {found['id']}", row.text("type")
    title = row.text("title")
    said = [row.text("subtitle"), row.text("narrative"), row.text("text")]
    facts = "\n".join(f"- {fact}" for fact in row.words("facts") if fact)
    text = "\n\n".join(part for part in (*said, facts) if part) or title
    cited = files([*row.words("files_modified"), *row.words("files_read")])
    kind = KINDS.get(word, "learning")
    yield from told(
        name,
        STORE,
        f"observation\x1f{found['id']}\x1f{found.get('content_hash') or found.get('created_at_epoch')}",
        text,
        summary=title,
        word=word,
        kind="learning" if kind == "finding" and not cited else kind,  # a finding needs something to look at
        tags=row.words("concepts"),
        citations=cited,
        **_made(row),
    )


def _summary(found: Mapping[str, Any]) -> Iterator[Foreign | Problem]:
    row = Row(found)
    parts = ((name.replace("_", " ").capitalize(), row.text(name)) for name in SUMMARY)
    text = "\n".join(f"{part}: {said}" for part, said in parts if said)
    cited = files([*row.words("files_edited"), *row.words("files_read")])
    yield from told(
        f"summary {found['id']}",
        STORE,
        f"summary\x1f{found['id']}\x1f{found.get('created_at_epoch')}",
        text,
        word="summary",
        kind="summary",
        apart=True,
        decay="none",
        citations=cited,
        **_made(row),
    )


def _prompt(found: Mapping[str, Any]) -> Iterator[Foreign | Problem]:
    row = Row(found)
    row.get("session_db_id")
    yield from told(
        f"prompt {found['id']}",
        STORE,
        f"prompt\x1f{found['id']}\x1f{found.get('created_at_epoch')}",
        row.text("prompt_text"),
        word="prompt",
        kind="prompt",
        apart=True,
        decay="none",
        origin="said",
        **_made(row),
    )


def _directive(found: Mapping[str, Any]) -> Iterator[Foreign | Problem]:
    row = Row(found)
    active = row.text("status") == "active"
    yield from told(
        f"directive {found['id']}",
        STORE,
        f"directive\x1f{found['id']}\x1f{found.get('created_at_epoch')}",
        row.text("content"),
        word="directive",
        origin="said",
        **({} if active else WAITING),
        **_made(row),
    )


def _made(row: Row) -> dict[str, Any]:
    """When, in which project and in which session something was made; and what else there is of it."""
    created, updated = row.time("created_at_epoch", "created_at"), row.time("updated_at_epoch")
    session = row.text("session_name")
    named = row.text("merged_into_project", "project")
    row.get(*INTERNAL, *OF_MEMORY, *OF_CONTENT, "project", "scope", "source", "updated_at_epoch")
    scope = project(named) if named else GLOBAL
    return {"created": created, "updated": updated, "session": session, "scope": scope, "dropped": row.rest()}


FORM = Form(STORE, "the SQLite store of claude-mem", recognises, read)
