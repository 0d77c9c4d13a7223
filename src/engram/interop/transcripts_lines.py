"""Transcripts that grow line by line: Claude Code, Codex and the Cursor agent.

Such a file is read from a byte on. The mark holds that place, the number of lines before it and a hash of the last
bytes before it: where these are other bytes now, the file is another one, or was cut, and is read from its start.
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

from engram.interop.transcripts_turns import (
    Conversation,
    Reading,
    Turn,
    base,
    own_words,
    role_of,
    spoken,
    text_of,
)
from engram.model.hashing import sha256

LONGEST_LINE = 32 << 20
HEAD_LINES = 40
HEAD_BYTES = (16 << 10, 1 << 20)
"""How much of a file is looked at to tell whose it is, and how much more where that does not do."""

TAIL = 256

Record = Mapping[str, Any]
Words = Callable[[Record, Counter[str]], "tuple[str, str] | None"]


def head(path: str) -> list[Record]:
    """The first records of a file, as far as they are whole.

    Raises:
        OSError: when it cannot be read.
    """
    records: list[Record] = []
    with open(path, "rb") as file:
        for size in HEAD_BYTES:
            file.seek(0)
            lines = file.read(size).split(b"\n", HEAD_LINES)[:HEAD_LINES]
            records = [record for record in map(_parsed, lines) if record]
            if any("cwd" in one or "cwd" in _payload(one) for one in records):
                break
    return records


def harness_of(records: Sequence[Record]) -> str:
    """Which harness writes such lines; empty when none of those known here does."""
    for record in records:
        for name, fits in _SIGNS:
            if fits(record):
                return name
    return ""


def describe(harness: str, path: str, stamp: str, records: Sequence[Record]) -> Conversation:
    """The conversation that a file of lines holds, from its first records and its place."""
    session, folder, project, aside = base(path).rpartition(".")[0] or base(path), "", "", False
    if harness == "claude-code":
        session = next((text_of(one["sessionId"]) for one in records if one.get("sessionId")), session)
        folder = next((text_of(one["cwd"]) for one in records if one.get("cwd")), "")
        aside = session != base(path).rpartition(".")[0] and base(path).startswith("agent-")
    elif harness == "codex":
        meta = next((one.get("payload") or one for one in records if _is_meta(one)), {})
        session = text_of(meta.get("id")) or session
        folder = text_of(meta.get("cwd"))
        source = meta.get("source")
        aside = bool(meta.get("parent_thread_id")) or (isinstance(source, dict) and "subagent" in source)
    else:
        parts = path.split(os.sep)
        aside = "subagents" in parts
        if "agent-transcripts" in parts[1:]:
            project = parts[parts.index("agent-transcripts") - 1]
    return Conversation(harness, session, path, stamp, folder, project or base(folder), aside)


def read(conversation: Conversation, mark: str) -> Reading:
    """What was said in a file since the mark; a last line that is still being written is left for the next time.

    Raises:
        OSError: when it cannot be read.
    """
    words = _WORDS[conversation.harness]
    skipped: Counter[str] = Counter()
    turns: list[Turn] = []
    with open(conversation.path, "rb") as file:
        offset, count, recent = _resumed(file, mark)
        while raw := file.readline(LONGEST_LINE):
            record = _parsed(raw)
            if record is None and not raw.endswith(b"\n") and len(raw) < LONGEST_LINE:
                break
            line, offset, recent = count + 1, offset + len(raw), (recent + raw)[-TAIL:]
            count += raw.endswith(b"\n")
            if record is None:
                skipped["damaged"] += bool(raw.strip())
                continue
            found = words(record, skipped)
            if found and (turn := _turn(found, record, line, skipped)):
                turns.append(turn._replace(mark=_mark(offset, count, recent)))
        return Reading(tuple(turns), skipped, _mark(offset, count, recent))


def _turn(found: tuple[str, str], record: Record, line: int, skipped: Counter[str]) -> Turn | None:
    role, message = role_of(found[0]), record.get("uuid") or _payload(record).get("id")
    if role is None:
        skipped["injected"] += 1
        return None
    text = own_words(role, found[1], skipped)
    at = text_of(record.get("timestamp"))
    return Turn(role, text, text_of(message) or f"line:{line}", "", at) if text else None


def _resumed(file: BinaryIO, mark: str) -> tuple[int, int, bytes]:
    """Where to go on, how many lines lie before it, and the last bytes there; the beginning if the file moved."""
    try:
        offset, count, seal = mark.split(":")
        file.seek(max(0, int(offset) - TAIL))
        recent = file.read(min(TAIL, int(offset)))
        if _mark(int(offset), int(count), recent) == mark and seal:
            return int(offset), int(count), recent
    except ValueError:
        pass
    file.seek(0)
    return 0, 0, b""


def _mark(offset: int, count: int, recent: bytes) -> str:
    return f"{offset}:{count}:{sha256(recent).hexdigest()[:16]}"


def _payload(record: Record) -> Record:
    payload = record.get("payload")
    return payload if isinstance(payload, dict) else {}


def _parsed(raw: bytes) -> Record | None:
    try:
        record = json.loads(raw.removeprefix(b"\xef\xbb\xbf"))
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


# --- what the lines of each harness say ---


def _claude_words(record: Record, skipped: Counter[str]) -> tuple[str, str] | None:
    if record.get("type") not in ("user", "assistant"):
        return None
    message = record.get("message")
    if record.get("isSidechain"):
        skipped["sidechain"] += 1
    elif not isinstance(message, dict):
        skipped["damaged"] += 1
    elif any(map(record.get, _CLAUDE_INJECTED)) or message.get("model") == "<synthetic>":
        skipped["injected"] += 1
    else:
        return str(message.get("role") or record["type"]), spoken(message.get("content"), skipped)
    return None


_CLAUDE_INJECTED = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")


def _codex_words(record: Record, skipped: Counter[str]) -> tuple[str, str] | None:
    """Items of the model's history, which every version writes; events repeat them for the eye and are left out."""
    if record.get("type") == "compacted":
        skipped["injected"] += 1
        return None
    item = record.get("payload") if record.get("type") == "response_item" else record
    if not isinstance(item, dict) or record.get("type") in ("event_msg", "session_meta", "turn_context"):
        return None
    named = str(item.get("type") or "")
    if named == "message":
        return str(item.get("role")), spoken(item.get("content"), skipped)
    if named:
        skipped["thinking" if named == "reasoning" else "tool"] += 1
    return None


def _cursor_words(record: Record, skipped: Counter[str]) -> tuple[str, str] | None:
    message = record.get("message")
    if not isinstance(message, dict):
        return None
    return str(record.get("role")), spoken(message.get("content"), skipped)


_WORDS: Mapping[str, Words] = {"claude-code": _claude_words, "codex": _codex_words, "cursor": _cursor_words}


# --- whose lines they are ---


def _is_meta(record: Record) -> bool:
    older = "type" not in record and "timestamp" in record and isinstance(record.get("id"), str)
    return (record.get("type") == "session_meta" and isinstance(record.get("payload"), dict)) or older


def _is_codex(record: Record) -> bool:
    enveloped = isinstance(record.get("payload"), dict) and "timestamp" in record
    flat = record.get("type") == "message" and "role" in record and isinstance(record.get("content"), list)
    older = "instructions" in record or "git" in record or "record_type" in record
    return enveloped or flat or (older and (_is_meta(record) or "record_type" in record))


def _is_claude(record: Record) -> bool:
    return isinstance(record.get("type"), str) and any(
        name in record for name in ("sessionId", "parentUuid", "leafUuid", "isSidechain")
    )


def _is_gemini(record: Record) -> bool:
    return isinstance(record.get("sessionId"), str) and ("projectHash" in record or "startTime" in record)


def _is_cursor(record: Record) -> bool:
    return record.get("role") in ("user", "assistant") and isinstance(record.get("message"), dict)


_SIGNS: Sequence[tuple[str, Callable[[Record], bool]]] = (
    ("gemini-cli", _is_gemini),
    ("codex", _is_codex),
    ("claude-code", _is_claude),
    ("cursor", _is_cursor),
)
