"""The data export of Claude: what it remembers, and the knowledge of projects; conversations are not read in."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from engram.errors import EngramError
from engram.interop import markdown
from engram.interop.forms import Foreign, Form, Problem, Source
from engram.interop.peers.bundles import Bundle, base
from engram.interop.peers.claude_code import of_note
from engram.interop.peers.reading import Row, mapping, project, told
from engram.model.scope import GLOBAL, Scope

STORE = "claude-ai"
MARKS = (b'"conversations_memory"', b'"chat_messages"', b'"prompt_template"')
"""What a file of it has near its beginning: memories, conversations or projects."""

NOT_READ = "Conversations are not memories, and were left out."
_MEMORIES = re.compile(r"(?:.*/)?memories(?:\.json|/[^/]+\.json)")
_PROJECTS = re.compile(r"(?:.*/)?projects(?:\.json|/[^/]+\.json)")
_TALKS = re.compile(r"(?:.*/)?conversations(-\d+)?\.json")


def recognises(source: Source) -> bool:
    """Whether one of its files is in its form."""
    bundle = Bundle(source)
    if not (source.folder or bundle.zipped):
        return source.head.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"[", b"{") and _marked(source.head)
    names = [
        name for name in bundle.names() if any(each.fullmatch(name) for each in (_MEMORIES, _PROJECTS, _TALKS))
    ]
    return any(_marked(bundle.head(name)) for name in names[:5])


def _marked(head: bytes) -> bool:
    return any(mark in head for mark in MARKS)


def read(source: Source) -> Iterator[Foreign | Problem]:
    """The projects, then what is remembered: of a person everywhere, and in each project."""
    bundle = Bundle(source)
    single = not (source.folder or bundle.zipped)
    scopes: dict[str, Scope | None] = {}
    for name in bundle.names():
        if _PROJECTS.fullmatch(name) or (single and MARKS[2] in source.head):
            for value in _objects(bundle, name):
                yield from value if isinstance(value, list) else _project(value, scopes)
    for name in bundle.names():
        if _MEMORIES.fullmatch(name) or (single and MARKS[0] in source.head):
            for value in _objects(bundle, name):
                yield from value if isinstance(value, list) else _memories(value, scopes)
        elif _TALKS.fullmatch(name) or (single and MARKS[1] in source.head):
            yield Problem(base(name), NOT_READ)


def _objects(bundle: Bundle, name: str) -> Iterator[Mapping[str, Any] | list[Foreign | Problem]]:
    """The objects of a file: those of a list, or the one that it is; problems in a list of their own."""
    whole: dict[str, Any] = {}
    for found in bundle.elements(name):
        if isinstance(found, Problem):
            yield [found]
        elif not found[0]:
            yield mapping(found[1])
        elif found[0] in ("docs", "memory_files"):
            whole.setdefault(found[0], []).append(found[1])
        else:
            whole[found[0]] = found[1]
    if whole:
        yield whole


def _project(value: Mapping[str, Any], scopes: dict[str, Scope | None]) -> Iterator[Foreign | Problem]:
    row = Row(value)
    uuid, called = row.text("uuid"), row.text("name")
    row.get("is_private", "is_starter_project", "creator")
    if not (uuid and called):
        yield Problem("a project", "It has no name.")
        return
    scope = scopes[uuid] = project(called)
    times: dict[str, Any] = {"created": row.time("created_at"), "updated": row.time("updated_at"), "scope": scope}
    docs, shown = row.get("docs"), f"project {called}"
    described, prompt = row.text("description"), row.text("prompt_template")
    rest = row.rest()
    if described:
        yield from told(f"{shown}: description", STORE, f"{uuid}\x1fdescription", described, kind="project",
                        word="project", dropped=rest, **times)  # fmt: skip
    if prompt:
        yield from told(f"{shown}: instructions", STORE, f"{uuid}\x1finstructions", prompt, kind="rule",
                        word="instructions", origin="said", dropped=rest, **times)  # fmt: skip
    for each in docs if isinstance(docs, list) else ():
        yield from _document(shown, uuid, Row(mapping(each)), scope)


def _document(shown: str, uuid: str, row: Row, scope: Scope | None) -> Iterator[Foreign | Problem]:
    """A text that was given to a project to know."""
    called, text = row.text("filename", "file_name", "name", "path"), row.text("content", "text")
    id = row.text("uuid") or called
    at = row.time("created_at")
    if not text:
        yield Problem(f"{shown}: {called or 'a document'}", "It says nothing.")
        return
    yield from told(
        f"{shown}: {called}", STORE, f"{uuid}\x1f{id}", text, summary=called, word="knowledge", kind="project",
        created=at, scope=scope, dropped=row.rest(),
    )  # fmt: skip


def _memories(value: Mapping[str, Any], scopes: Mapping[str, Scope | None]) -> Iterator[Foreign | Problem]:
    row = Row(value)
    row.get("account_uuid")
    yield from _remembered("memories", row.text("conversations_memory"), GLOBAL)
    for uuid, text in mapping(row.get("project_memories")).items():
        if isinstance(text, str):
            yield from _remembered(f"memories of project {uuid}", text, scopes.get(uuid, project(uuid)))
    for each in value.get("memory_files") or ():
        row.get("memory_files")
        yield from _document("memories", "memory", Row(mapping(each)), GLOBAL)


def _remembered(name: str, text: str, scope: Scope | None) -> Iterator[Foreign | Problem]:
    """What it has written about somebody: each paragraph and item, under its heading."""
    try:
        found = markdown.read(text) if text else []
    except EngramError as error:
        yield Problem(name, error.message)
        return
    for each in found:
        yield from of_note(each, f"{name}, line {each.line}", STORE, str(scope), None, scope=scope)


FORM = Form(STORE, "the data export of Claude: a zip, its folder, or one of its JSON files", recognises, read)
