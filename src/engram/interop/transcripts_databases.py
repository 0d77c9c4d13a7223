"""Transcripts in databases that an agent holds open: OpenCode's, and that of the Cursor editor.

They are opened for reading only, and never waited for long.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

from engram.errors import Unavailable
from engram.interop.databases import MAGIC, bounded
from engram.interop.transcripts_documents import opencode
from engram.interop.transcripts_turns import (
    Conversation,
    Reading,
    Role,
    Turn,
    base,
    marked,
    own_words,
    reading,
    text_of,
)

if TYPE_CHECKING:
    from sqlite3 import Connection

T = TypeVar("T")

PATIENCE = 2.0
"""Seconds to wait for an agent that is writing."""

BUBBLES: Mapping[int, Role] = {1: "user", 2: "assistant"}
THOUGHT = 30
"""What Cursor calls the capability of thinking."""


def is_database(path: str) -> bool:
    """Whether a file is an SQLite database.

    Raises:
        OSError: when it cannot be read.
    """
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def find(path: str) -> list[Conversation]:
    """The conversations in a database; none when it holds none that are known here.

    Raises:
        Unavailable: when it cannot be read now.
    """

    def look(database: "Connection") -> list[Conversation]:
        tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if {"session", "message", "part"} <= tables:
            return list(_opencode_sessions(database, path))
        return list(_composers(database, path)) if "cursorDiskKV" in tables else []

    return _asked(path, look)


def read(conversation: Conversation, mark: str) -> Reading:
    """What was said in a conversation since the mark.

    Raises:
        Unavailable: when the database cannot be read now.
    """
    look = _read_opencode if conversation.harness == "opencode" else _read_cursor
    return _asked(conversation.path, lambda database: look(database, conversation, mark))


def _asked(path: str, look: Callable[["Connection"], T]) -> T:
    import sqlite3  # noqa: PLC0415 - start-up
    from urllib.parse import quote  # noqa: PLC0415 - start-up

    try:
        address = f"file:{quote(path)}?mode=ro"
        with closing(bounded(sqlite3.connect(address, uri=True, timeout=PATIENCE))) as database:
            return look(database)
    except sqlite3.Error as error:
        raise Unavailable(f"{path} cannot be read: {error}.", "Try again when the agent is not writing.") from None


# --- OpenCode ---


def _opencode_sessions(database: "Connection", path: str) -> Iterator[Conversation]:
    rows = database.execute(
        "SELECT s.id, s.parent_id, s.directory, s.time_updated, count(m.id), max(m.time_updated)"
        " FROM session s LEFT JOIN message m ON m.session_id = s.id GROUP BY s.id ORDER BY s.time_created, s.id"
    )
    for id, parent, directory, *moved in rows:
        folder, stamp = text_of(directory), ":".join(map(str, moved))
        yield Conversation("opencode", text_of(id), path, stamp, folder, base(folder), bool(parent))


def _read_opencode(database: "Connection", conversation: Conversation, mark: str) -> Reading:
    parts: dict[str, list[object]] = {}
    messages = database.execute(
        "SELECT id, data, time_created FROM message WHERE session_id = ? ORDER BY time_created, id",
        (conversation.session,),
    ).fetchall()
    for message, data in database.execute(
        "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id", (conversation.session,)
    ):
        parts.setdefault(message, []).append(_parsed(data))
    rows = []
    for id, data, created in messages:  # what has a column of its own is no part of the document
        info = _parsed(data)
        time = info.get("time")
        times = {"created": created, **(time if isinstance(time, dict) else {})}
        rows.append(({**info, "id": id, "time": times}, parts.get(id, [])))
    return opencode(rows, mark)


# --- Cursor ---


def _composers(database: "Connection", path: str) -> Iterator[Conversation]:
    rows = database.execute(
        "SELECT key, value FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' ORDER BY key"
    )
    found = {key.partition(":")[2]: _parsed(value) for key, value in rows}
    children = (one.get("subComposerIds") for one in found.values())
    asides = {text_of(id) for ids in children if isinstance(ids, list) for id in ids}
    for id, one in found.items():
        if bubbles := _bubbles(one):
            stamp = f"{one.get('lastUpdatedAt')}:{len(bubbles)}:{one.get('status')}"
            yield Conversation("cursor", text_of(id), path, stamp, aside=id in asides)


def _read_cursor(database: "Connection", conversation: Conversation, mark: str) -> Reading:
    skipped: Counter[str] = Counter()
    composer = _parsed(_value(database, f"composerData:{conversation.session}"))
    turns: list[Turn] = []
    for header in _bubbles(composer):
        id = text_of(header.get("bubbleId"))
        bubble = _parsed(_value(database, f"bubbleId:{conversation.session}:{id}")) or header
        if turn := _bubble_turn(id, bubble, skipped):
            turns.append(turn)
    if composer.get("status") == "generating":  # the answer is still being written
        while turns and turns[-1].role == "assistant":
            turns.pop()
    return reading(turns, mark, skipped)


def _bubbles(composer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages of a composer in order: their headers, or in older ones themselves."""
    rows = composer.get("fullConversationHeadersOnly") or composer.get("conversation")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _bubble_turn(id: str, bubble: Mapping[str, Any], skipped: Counter[str]) -> Turn | None:
    kind, text = bubble.get("type"), bubble.get("text")
    role = BUBBLES.get(kind) if isinstance(kind, int) else None
    if bubble.get("capabilityType") == THOUGHT or bubble.get("thinking"):
        skipped["thinking"] += 1
        return None
    if bubble.get("toolFormerData"):
        skipped["tool"] += 1
        return None
    words = own_words(role, text, skipped) if role and isinstance(text, str) else ""
    at = text_of(bubble.get("createdAt"))
    return Turn(role, words, id, marked(id, at), at) if role and words else None


def _value(database: "Connection", key: str) -> object:
    row = database.execute("SELECT value FROM cursorDiskKV WHERE key = ?", (key,)).fetchone()
    return row[0] if row else None


def _parsed(value: object) -> dict[str, Any]:
    try:
        document = json.loads(value) if isinstance(value, str | bytes) else None
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
