"""The data export of ChatGPT: what it was told to remember, and the custom instructions; no conversations.

Its saved memories come from a file of their own where the export has one. Else they are what it wrote down in the
conversations; whether a person has deleted one since is not told, so these wait for review whoever takes them in.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from engram.interop.forms import Foreign, Form, Problem, Source
from engram.interop.peers.bundles import Bundle, base
from engram.interop.peers.reading import WAITING, Row, mapping, moment, told

STORE = "chatgpt"
CONVERSATIONS = re.compile(r"conversations(-\d+)?\.json")
MEMORIES = ("memories.json", "memory.json")
BESIDE = frozenset({"chat.html", "user.json", "message_feedback.json", "shared_conversations.json"})
_LISTED = re.compile(r"^[ \t]*\d+\.\s+\[(\d{4}-\d\d-\d\d)\]\.?\s", re.MULTILINE)
_FENCED = re.compile(r"```(.*)```", re.DOTALL)
_FORGET = re.compile(r"\s*(?:please\s+)?forget\b", re.IGNORECASE)


class Said(NamedTuple):
    """Something worth taking in that a conversation holds: what it is, what it says, and when it was said."""

    what: str
    text: str
    at: datetime | None


def recognises(source: Source) -> bool:
    """Whether there are conversations in its form, alone or in an export."""
    bundle = Bundle(source)
    names = bundle.names()
    talks = [name for name in names if CONVERSATIONS.fullmatch(base(name))]
    if not (source.folder or bundle.zipped):
        return _talk(source.head)
    if not talks:
        return False
    beside = {base(name) for name in names}
    return _talk(bundle.head(talks[0])) or (bool(BESIDE & beside) and "users.json" not in beside)


def _talk(head: bytes) -> bool:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    return start == b"[" and b'"mapping"' in head and b'"chat_messages"' not in head


def read(source: Source) -> Iterator[Foreign | Problem]:
    """The saved memories, then the custom instructions as they were last."""
    bundle = Bundle(source)
    names, single = bundle.names(), not (source.folder or bundle.zipped)
    saved = [name for name in names if base(name) in MEMORIES]
    for name in saved:
        yield from _saved(bundle, name)
    seen: set[str] = set()
    latest: dict[str, Said] = {}
    for name in names:
        if not (single or CONVERSATIONS.fullmatch(base(name))):
            continue
        for found in bundle.elements(name):
            if isinstance(found, Problem):
                yield found
                continue
            for said in _said(mapping(found[1])):
                if said.what == "memory" and not saved and said.text not in seen:
                    seen.add(said.text)
                    yield from _memory("a conversation", said.text, said.at, **WAITING)
                elif said.what != "memory" and _later(said, latest.get(said.what)):
                    latest[said.what] = said
    for what, said in latest.items():
        kind = "rule" if what == "instructions" else "identity"
        yield from told(
            f"custom instructions: {what}", STORE, f"{what}\x1f{said.text}", said.text, word=what, kind=kind,
            created=said.at, origin="said",
        )  # fmt: skip


def _later(said: Said, known: Said | None) -> bool:
    return known is None or (said.at is not None and (known.at is None or said.at > known.at))


def _saved(bundle: Bundle, name: str) -> Iterator[Foreign | Problem]:
    n = 0
    for found in bundle.elements(name):
        if isinstance(found, Problem):
            yield found
            continue
        n += 1
        row = Row(mapping(found[1]))
        text = row.text("content", "memory", "text", "value")
        row.get("id")
        if not text:
            yield Problem(f"{name}, memory {n}", "It says nothing.")
        elif row.get("enabled") is None and mapping(found[1]).get("enabled") is False:
            yield Problem(f"{name}, memory {n}", "It was switched off there.")
        else:
            times = (
                row.time("created_at", "created_timestamp", "create_time"),
                row.time("updated_at", "update_time"),
            )
            yield from _memory(f"{name}, memory {n}", text, times[0], updated=times[1], dropped=row.rest())


def _memory(name: str, text: str, at: datetime | None, **fields: Any) -> Iterator[Foreign | Problem]:  # noqa: ANN401
    yield from told(name, STORE, f"memory\x1f{text}", text, created=at, **fields)


def _said(conversation: Mapping[str, Any]) -> Iterator[Said]:
    """What of a conversation is a memory, or an instruction that held in it."""
    for node in mapping(conversation.get("mapping")).values():
        message = mapping(mapping(node).get("message"))
        content = mapping(message.get("content"))
        at = moment(message.get("create_time")) or moment(conversation.get("create_time"))
        kind = content.get("content_type")
        if message.get("recipient") == "bio":
            if (text := _text(content)) and not _FORGET.match(text):
                yield Said("memory", text, at)
        elif kind == "model_editable_context":
            yield from _listed(str(content.get("model_set_context") or ""))
        elif kind == "user_editable_context":
            yield from _instructions(message, content, at)


def _listed(text: str) -> Iterator[Said]:
    """The items of a list, each with its day: what stands between one and the next."""
    marks = list(_LISTED.finditer(text))
    for mark, after in zip(marks, [*marks[1:], None], strict=True):
        if said := " ".join(text[mark.end() : after.start() if after else len(text)].split()):
            yield Said("memory", said, moment(mark[1]))


def _text(content: Mapping[str, Any]) -> str:
    parts = content.get("parts") if isinstance(content.get("parts"), list) else [content.get("text")]
    return "\n".join(part for part in parts or [] if isinstance(part, str)).strip()


def _instructions(message: Mapping[str, Any], content: Mapping[str, Any], at: datetime | None) -> Iterator[Said]:
    raw = mapping(mapping(message.get("metadata")).get("user_context_message_data"))
    for what, mine, wrapped in (
        ("profile", "about_user_message", "user_profile"),
        ("instructions", "about_model_message", "user_instructions"),
    ):
        text = raw.get(mine) if isinstance(raw.get(mine), str) else content.get(wrapped)
        if isinstance(text, str) and text.strip():
            inner = _FENCED.search(text)
            yield Said(what, (inner[1] if inner else text).strip(), at)


FORM = Form(STORE, "the data export of ChatGPT: a zip, its folder or conversations.json", recognises, read)
