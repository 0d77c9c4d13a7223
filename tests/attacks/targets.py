"""The parsers that read what others made: each takes bytes, and answers or refuses with an error of ours."""

import atexit
import functools
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping

from engram.engines.files.history import State, read_journal
from engram.engines.files.problem import Unreadable
from engram.engines.files.registry import clean, read_registry
from engram.engines.ram import RamEngine
from engram.engines.sqlite import SqliteEngine
from engram.errors import EngramError
from engram.interop import jsonl, markdown, transcripts
from engram.interop.forms import known_forms, recognise
from engram.interop.qdrant_points import _taken_apart
from engram.model.scope import Scope
from engram.ports import Engine
from engram.projects import forms as hooks
from engram.projects import jsonc
from engram.rules.redact import redact
from engram.service import OPERATIONS, Engram
from engram.surfaces.http.routes import _object
from engram.surfaces.schemas import arguments
from engram.surfaces.shapes import shape
from engram.sync import chunks
from rules.world import World

Target = Callable[[bytes], object]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _files(data: bytes) -> object:
    return read_registry(clean(data, "memory.md"))


def _chunk(data: bytes) -> object:
    """A chunk of a machine that signs whatever it likes: its sums are right, and what they are of is anything."""
    head, _, body = data.partition(b"\n")
    told = _object(head)
    told |= {"body": chunks.digest(body), "events": body.count(b"\n"), "first": 1, "last": body.count(b"\n")}
    content = json.dumps(told).encode() + b"\n" + body
    return chunks.read(chunks.digest(content), str(told.get("replica")), content, {}, lambda *_: True)


def _journal(data: bytes) -> object:
    """The history of plain files, and what it says became of every memory."""
    state = State()
    for line in read_journal(data).lines:
        state.tell(line)
    return state.documents


@functools.cache
def _folder() -> str:
    """A folder of this process, in memory where there is one: its files are written a million times."""
    shared = "/dev/shm"  # noqa: S108 - what is made there has a name of its own
    folder = tempfile.mkdtemp(dir=shared if os.access(shared, os.W_OK) else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _file(name: str, data: bytes) -> str:
    """The path of a file with these bytes, until the next one of the name."""
    path = os.path.join(_folder(), name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def _import(data: bytes) -> object:
    source, form = recognise(_file("theirs.jsonl", data))
    return list(form.read(source))


def _each_form(data: bytes) -> object:
    """What only one form would read, in the words of all."""
    found, path = [], _file("theirs.json", data)
    for name in known_forms():
        try:
            source, form = recognise(path, name)
            found += list(form.read(source))
        except (EngramError, OSError):
            continue
    return found


def _vault(data: bytes) -> object:
    """A page in a folder of notes, as each form of such folders reads it."""
    folder = os.path.join(_folder(), "notes")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "page.md"), "wb") as file:
        file.write(data)
    found = []
    for name in ("obsidian", "basic-memory", "claude-code"):
        source, form = recognise(folder, name)
        found += list(form.read(source))
    return found


def _settings(data: bytes) -> object:
    """The settings of an agent, with something of ours put in, added, and taken out again."""
    text, path = _text(data), ("mcpServers", "engram")
    put = jsonc.put(text, path, {"command": "engram"})
    assert jsonc.look(jsonc.read(put), path) == {"command": "engram"}
    return jsonc.read(jsonc.drop(put, path))


def _transcript(data: bytes) -> object:
    """What was said in a talk, in the form of any agent: by its lines, and as one document."""
    found = []
    for name in ("rollout-1.jsonl", "session-1.json"):
        try:
            found += [transcripts.read(one) for one in transcripts.find(_file(name, data)).conversations]
        except EngramError:
            continue
    return found


@functools.cache
def _stores() -> tuple[Engram, Engram]:
    """The same in memory and in SQLite, with something to be asked for; both are asked at one moment."""
    path = os.path.join(_folder(), "store.db")
    return _filled(RamEngine("replica")), _filled(SqliteEngine(path, new_replica=lambda: "replica"))


def _filled(engine: Engine) -> Engram:
    world = World(engine=engine)
    memory = world.person
    one = memory.remember("We deploy on Fridays", key="deploy", tag=["ops"], scope="project:api").memory
    world.clock.pass_by(days=20)
    two = memory.remember("Ada leads the team", kind="people", session="s-1").memory
    memory.relate(one.id, two.id, "related")
    world.clock.pass_by(hours=20)
    memory.remember("Deploy notes are read last week", source="web:https://example.org", tag=["ops", "web"])
    memory.remember("The team deploys at noon", kind="decision", pinned=True, valid_until="2026-01-22T02:00:00Z")
    memory.remember("The team eats at noon", scope="team-x/project:api@run", cite=["https://example.org/noon"])
    gone = memory.remember("The api has two doors", scope="project:api", importance=9).memory
    memory.forget(gone.id)
    memory.insights_save("Reads the notes first", category="tools", session="s-1")
    world.clock.pass_by(hours=6)
    return memory


ASKING = (
    "list",
    "recall",
    "context",
    "history",
    "timeline",
    "graph",
    "get",
    "related",
    "session_list",
    "insights_list",
)
"""Operations that are asked by filters, cursors, times and names."""

SALTED = r"\b[0-9a-f]{64}\b"
"""What is by chance another in each store: the sums of its events."""


def _filter(data: bytes) -> object:
    """What a request asks for, in the words of each operation that takes them: engines answer it alike."""
    said, found = _object(data), []
    for name in ASKING:
        taken = arguments(OPERATIONS[name].function)
        try:
            asked = taken.read({word: value for word, value in said.items() if word in taken.schema["properties"]})
        except EngramError:
            continue
        first, second = (_answered(store, name, asked) for store in _stores())
        assert first == second, (name, asked, first, second)
        found.append(first)
    return found


def _answered(store: Engram, name: str, asked: Mapping[str, object]) -> str:
    """What one store says, as JSON; or how it refuses."""
    try:
        answer = getattr(store, name)(**asked)
    except EngramError as error:
        return f"{type(error).__name__}: {error.message}"
    return re.sub(SALTED, "HASH", json.dumps(shape(answer, store.now, store.view), default=str))


def _hook(data: bytes) -> object:
    """What a hook is told, as each agent would tell it of each event, and what it would be answered."""
    row = json.loads(data)
    if not isinstance(row, dict):
        return None
    said = [hooks.read(agent, event, row) for agent in (*sorted(hooks.REQUESTS), "cline") for event in hooks.EVENTS]
    told = [hooks.telling(one, one.prompt) for one in said if one.event in hooks.NAMES]
    return told + [hooks.requesting(one, one.said) for one in said if one.event == "stop"]


TARGETS: Mapping[str, Target] = {
    "files": _files,
    "journals": _journal,
    "chunks": _chunk,
    "payloads": chunks.read_payloads,
    "exports": lambda data: list(jsonl.read(_text(data).splitlines(keepends=True))),
    "imports": _import,
    "forms": _each_form,
    "vaults": _vault,
    "points": _taken_apart,
    "settings": _settings,
    "transcripts": _transcript,
    "pages": lambda data: markdown.read(_text(data)),
    "filters": _filter,
    "scopes": lambda data: Scope.parse(_text(data)),
    "hooks": _hook,
    "secrets": lambda data: redact(data.decode("utf-8", "replace")),
}

REFUSALS = (EngramError, Unreadable, json.JSONDecodeError, UnicodeDecodeError, RecursionError)
"""How a parser says no: errors of ours, and what json and decoding raise, which every caller of these expects."""
