"""Transcripts that are rewritten as they grow: Gemini CLI, and OpenCode before its database and as it exports.

They are read whole, and a mark names the last message that was read.
"""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from engram.interop.transcripts_turns import (
    Conversation,
    Reading,
    Turn,
    base,
    marked,
    own_words,
    reading,
    role_of,
    spoken,
    text_of,
)

LARGEST = 64 << 20
HASHED = 64
"""Letters of a folder's name that is the hash of a project's path, and tells nobody anything."""

Record = Mapping[str, Any]


def load(path: str) -> Any:  # noqa: ANN401 - JSON is anything
    """The JSON value in a file; None when there is none, or it is larger than any transcript.

    Raises:
        OSError: when it cannot be read.
    """
    with open(path, "rb") as file:
        raw = file.read(LARGEST + 1)
    try:
        return json.loads(raw) if len(raw) <= LARGEST else None
    except (ValueError, RecursionError):
        return None


def describe(path: str, stamp: str, document: object) -> Conversation | None:
    """The conversation that a JSON document holds, or the session that it tells of; None when it does neither."""
    if not isinstance(document, dict):
        return None
    if isinstance(document.get("sessionId"), str) and isinstance(document.get("messages"), list):
        return gemini(path, stamp, document)
    info = document.get("info") if isinstance(document.get("messages"), list) else document
    if isinstance(info, dict) and str(info.get("id")).startswith("ses_") and "time" in info:
        folder = text_of(info.get("directory"))
        inside = _messages_folder(path, text_of(info["id"]))
        moved = f"{stamp}:{_moved(inside)}" if info is document else stamp
        aside = bool(info.get("parentID"))
        return Conversation("opencode", text_of(info["id"]), path, moved, folder, base(folder), aside)
    return None


def read(conversation: Conversation, mark: str) -> Reading:
    """What was said since the mark.

    Raises:
        OSError: when it cannot be read.
    """
    if conversation.harness == "gemini-cli":
        return _read_gemini(conversation, mark)
    document = load(conversation.path)
    if isinstance(document, dict) and isinstance(document.get("messages"), list):
        rows = [(one.get("info"), one.get("parts")) for one in document["messages"] if isinstance(one, dict)]
    else:
        rows = list(_tree(conversation))
    return opencode(rows, mark)


# --- Gemini CLI ---


def gemini(path: str, stamp: str, meta: Record) -> Conversation:
    """A conversation of Gemini CLI, in `tmp/PROJECT/chats`; a folder of its own in there is a side chain's."""
    chats, nested = os.path.dirname(path), False
    if base(chats) != "chats" and base(os.path.dirname(chats)) == "chats":
        chats, nested = os.path.dirname(chats), True
    place = os.path.dirname(chats)
    folder = _project_root(place)
    folders = meta.get("directories")
    if not folder and isinstance(folders, list) and folders:
        folder = text_of(folders[0])
    named = base(place) if base(chats) == "chats" and len(base(place)) != HASHED else ""
    aside = nested or meta.get("kind") == "subagent"
    return Conversation("gemini-cli", text_of(meta["sessionId"]), path, stamp, folder, base(folder) or named, aside)


def _project_root(place: str) -> str:
    """The folder that a project's place among the chats belongs to, where a file beside them tells it."""
    try:
        with open(os.path.join(place, ".project_root"), encoding="utf-8") as file:
            return text_of(file.read(4096).strip())
    except (OSError, UnicodeDecodeError):
        return ""


def _read_gemini(conversation: Conversation, mark: str) -> Reading:
    skipped: Counter[str] = Counter()
    turns = []
    for message in _gemini_messages(conversation.path, skipped):
        role = role_of(message.get("type"))
        skipped["thinking"] += bool(message.get("thoughts"))
        skipped["tool"] += bool(message.get("toolCalls"))
        if role is None:
            skipped["injected"] += 1
            continue
        text = own_words(role, spoken(message.get("content"), skipped), skipped)
        id, at = text_of(message.get("id")), text_of(message.get("timestamp"))
        if text:
            turns.append(Turn(role, text, id, marked(id, at), at))
    return reading(turns, mark, +skipped)


def _gemini_messages(path: str, skipped: Counter[str]) -> Iterable[Record]:
    """The messages as they stand: one document of them, or a log in which a later line with the same id counts.

    What was compressed away was said all the same and stays; what the person took back is gone.
    """
    if not path.endswith(".jsonl"):
        document = load(path)
        rows = document.get("messages") if isinstance(document, dict) else None
        return [row for row in rows or () if isinstance(row, dict)]
    kept: dict[str, Record] = {}
    with open(path, "rb") as file:
        for raw in file:
            try:
                record = json.loads(raw)
            except (ValueError, RecursionError):
                skipped["damaged"] += bool(raw.strip()) and raw.endswith(b"\n")
                continue
            if isinstance(record, dict):
                _apply(record, kept)
    return kept.values()


def _apply(record: Record, kept: dict[str, Record]) -> None:
    if isinstance(back := record.get("$rewindTo"), str):
        ids = list(kept)
        for id in ids[ids.index(back) :] if back in kept else ids:
            del kept[id]
        return
    patch = record.get("$set")
    rows = patch.get("messages") if isinstance(patch, dict) else record.get("messages")
    for row in rows if isinstance(rows, list) else [record]:
        if isinstance(row, dict) and isinstance(row.get("id"), str) and "type" in row:
            kept[row["id"]] = row


# --- OpenCode ---


def opencode(rows: Iterable[tuple[object, object]], mark: str) -> Reading:
    """What was said since the mark, from messages in order, each with its parts.

    A last answer that is still being written is left for the next time.
    """
    skipped: Counter[str] = Counter()
    known = [(info, parts) for info, parts in rows if isinstance(info, dict)]
    if known and known[-1][0].get("role") == "assistant" and not _time(known[-1][0], "completed"):
        known.pop()
    turns = []
    for info, parts in known:
        role = role_of(info.get("role"))
        text = spoken(parts, skipped)
        if role is None or info.get("summary") is True or info.get("agent") == "compaction":
            skipped["injected"] += 1
            continue
        id, at = text_of(info.get("id")), _time(info, "created").zfill(15)
        if words := own_words(role, text, skipped):
            turns.append(Turn(role, words, id, marked(id, at), at))
    return reading(turns, mark, skipped)


def _time(info: Record, name: str) -> str:
    time = info.get("time")
    return text_of(time.get(name)) if isinstance(time, dict) else ""


def _tree(conversation: Conversation) -> Iterator[tuple[object, object]]:
    """The messages of a session in OpenCode's tree of files, each with its parts."""
    folder = _messages_folder(conversation.path, conversation.session)
    storage = os.path.dirname(os.path.dirname(folder))
    messages = [load(os.path.join(folder, name)) for name in _files(folder)]
    for info in sorted((one for one in messages if isinstance(one, dict)), key=_order):
        id = base(text_of(info.get("id")))
        places = (("part", id), ("part", conversation.session, id))
        found = (os.path.join(storage, *place) for place in places)
        parts = [load(os.path.join(place, name)) for place in found for name in _files(place)]
        yield info, parts


def _order(info: Record) -> tuple[str, str]:
    return _time(info, "created").zfill(15), text_of(info.get("id"))


def _messages_folder(path: str, session: str) -> str:
    """`storage/message/ID`, beside the `storage/session/PROJECT/ID.json` that tells of the session."""
    place = os.path.dirname(path)
    while base(place) not in ("session", ""):
        place = os.path.dirname(place)
    return os.path.join(os.path.dirname(place), "message", base(session))


def _files(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as there:
            return sorted(one.name for one in there if one.name.endswith(".json") and not one.is_symlink())
    except OSError:
        return []


def _moved(folder: str) -> str:
    """How many messages lie in a folder, and when the last of them was written."""
    times = [0]
    for name in _files(folder):
        with suppress(OSError):
            times.append(os.stat(os.path.join(folder, name)).st_mtime_ns)
    return f"{len(times) - 1}:{max(times)}"
