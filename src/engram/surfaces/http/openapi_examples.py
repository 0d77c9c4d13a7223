"""Examples in the description of the HTTP API: requests as the help of a command shows them, answers by type."""

import shlex
from collections.abc import Mapping
from datetime import UTC, datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from engram.errors import EngramError
from engram.model.event import Edit, Event, Payload
from engram.model.memory import Asset, Memory
from engram.model.record import Record
from engram.model.relation import Relation
from engram.model.scope import Scope
from engram.model.session import Session
from engram.service import Operation
from engram.surfaces.parsing import parameters, parse
from engram.surfaces.shapes import shape

AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
PROJECT = Scope("project", "github.com/acme/api")
REMEMBERED = Memory(
    id="0195562e-6d40-7c3a-9f5e-2b1d4c6a8e90",
    handle="mem-0001",
    scope=PROJECT,
    text="We deploy on Fridays",
    kind="convention",
    tags=("release",),
    source="manual",
    owner="248289761001",
    actor="ada@example.org",
    visibility="shared",
    status="promoted",
    created_at=AT,
    updated_at=AT,
)
HAPPENED = Event(
    id="9c" * 32,
    seq=7,
    replica="0195562e-0000-7000-8000-000000000001",
    position=7,
    prev="51" * 32,
    time="2026-03-02T09:30:00.000000Z",
    at=AT,
    actor="ada@example.org",
    action="remember",
    subjects=(REMEMBERED.id,),
    tier=1,
    batch="",
    reverses=(),
    commitment="e0" * 32,
    owner="248289761001",
    payload=Payload((Edit("memory", REMEMBERED.id, "text", None, REMEMBERED.text),)),
)
SAMPLES: Mapping[Any, Any] = {
    Memory: REMEMBERED,
    Asset: Asset("5d" * 32, "diagram.png", "image/png", 48_213),
    Relation: Relation(
        id="0195562e-7000-7000-8000-000000000002",
        from_id=REMEMBERED.id,
        to_id="0195562e-6e00-7000-8000-000000000003",
        kind="related",
        created_at=AT,
        updated_at=AT,
    ),
    Session: Session(id="8f2c", scope=PROJECT, agent="claude-code", started_at=AT),
    Event: HAPPENED,
    Scope: PROJECT,
    datetime: AT,
    int: 1,
    float: 0.87,
    bool: False,
    str: "",
    NoneType: None,
    Any: None,
}
"""One of each type; of the others, one is made of these."""

SAID: Mapping[str, Mapping[str, Any]] = {
    "Remembered": {"outcome": "new", "event": HAPPENED.seq},
    "Changed": {"action": "forget", "event": 8},
    "Receipt": {"event_id": HAPPENED.id, "event": 9, "erased": (REMEMBERED.id,), "traces": 0},
    "AssetRow": {
        "sha256": "5d" * 32,
        "name": "diagram.png",
        "media_type": "image/png",
        "size": 48_213,
        "here": True,
    },
    "Attached": {"outcome": "attached", "event": 10},
    "Recalled": {"query": "when do we deploy"},
    "Recollection": {"score": 0.91, "relevance": 0.87, "tokens": 5},
    "Brief": {"text": "# Memory\n- We deploy on Fridays (mem-0001)", "tokens": 11, "budget": 2000},
    "Found": {"query": "database port"},
    "Cited": {"file": "src/api.py", "locator": "10-20"},
    "CitedFile": {"file": "src/api.py"},
    "CitedFiles": {"looked_at": 12},
    "Captured": {"extracted": 1},
    "Suggested": {"key": "architecture/jwt-auth-middleware"},
    "Related": {"event": 11},
    "Pair": {
        "kind": "conflicts",
        "status": "proposed",
        "confidence": 0.6,
        "pair": "mem-0007~mem-0003",
        "why": "They name two ports for one service.",
    },
    "Graph": {"question": "conflicts", "subject": ""},
    "Node": {"id": REMEMBERED.id, "kind": "memory", "label": REMEMBERED.text},
    "Edge": {"source": REMEMBERED.id, "target": "0195562e-6e00-7000-8000-000000000003", "kind": "conflicts"},
    "Project": {"name": "github.com/acme/api", "alias": "api", "memories": 41, "sessions": 6},
    "Merged": {"action": "merge", "into": "github.com/acme/api", "memories": 12, "sessions": 2},
    "Reembedded": {"model": "bge-small-en-v1.5", "memories": 41, "remaining": 0},
    "Reindexed": {"index": "qdrant", "upto": 120, "events": 120},
    "Models": {"embedder": "bge-small-en-v1.5", "vectors": "bge-small-en-v1.5"},
    "ModelRow": {
        "name": "bge-small-en-v1.5",
        "state": "installed",
        "dim": 384,
        "size": 33_400_000,
        "licence": "MIT",
    },
    "Route": {"action": "queue", "reason": "curated_kind"},
    "Undone": {"event": 12},
    "Stats": {"memories": 41, "tokens": 1804, "events": 120, "store": "postgres"},
    "Trends": {"memories": 41, "unused": 9, "repeated": 3},
    "Growth": {"day": "2026-03-02", "made": 4, "total": 41},
    "Proposer": {"agent": "claude-code", "approved": 12, "rejected": 2, "waiting": 1, "by_itself": 26},
    "Finding": {"code": "backup", "message": "There is no backup yet.", "severity": "note"},
    "KindRow": {
        "name": "convention",
        "tier": 1,
        "decay": "180d",
        "recall": "always",
        "about": "How it is done here.",
    },
    "Minted": {"key": "egk.…"},
    "KeyRow": {"handle": "key-0001", "name": "ci", "owner": "248289761001", "can": ("read", "write")},
}
"""What records of these types say in an example, beside what follows from the types of their fields."""


def asked(operation: Operation) -> dict[str, Any]:
    """The arguments of that example in an operation's help which says the most; none where it has none to show."""
    said = [_arguments(operation, example) for example in operation.examples]
    return max(said, key=len, default={})


def _arguments(operation: Operation, example: str) -> dict[str, Any]:
    begins = f"engram {operation.command}"
    if not example.startswith(begins):
        return {}  # something is piped into it
    try:
        found = parse(operation, shlex.split(example.removeprefix(begins)))
    except EngramError:
        return {}
    taken = {each.name: each.default for each in parameters(operation)}
    told = {name: value for name, value in found.items() if name in taken and value != taken[name]}
    return {} if "-" in told.values() else shape({name.removesuffix("_"): told[name] for name in told}, AT, "")


def answered(kind: Any) -> Any:  # noqa: ANN401 - a type, and JSON
    """An answer of a type, as JSON."""
    return shape(_one(kind), AT, "")


def _one(kind: Any) -> Any:  # noqa: ANN401, PLR0911 - a type, and one of it; a line for each sort
    origin, inner = get_origin(kind), get_args(kind)
    if kind in SAMPLES:
        return SAMPLES[kind]
    if origin is Literal:
        return inner[0]
    if origin in (Annotated, Union, UnionType):
        return None if NoneType in inner else _one(inner[0])
    if origin is tuple and len(inner) == 2 and inner[1] is not Ellipsis:
        return tuple(map(_one, inner))
    if origin is not None and inner and not (isinstance(origin, type) and issubclass(origin, Mapping)):
        return (_one(inner[0]),)
    if isinstance(kind, type) and (issubclass(kind, Record) or hasattr(kind, "_fields")):
        return _filled(kind)
    return {}


def _filled(kind: Any) -> Any:  # noqa: ANN401 - a class of records, and one of them
    """A record: what need not be said is left unsaid."""
    hints, said = get_type_hints(kind), SAID.get(kind.__name__, {})
    unsaid: Mapping[str, Any] = getattr(kind, "_field_defaults", None) or vars(kind)
    names = getattr(kind, "FIELDS", ()) or kind._fields
    needed = [name for name in names if name in hints and name not in unsaid and name not in said]
    return kind(**said, **{name: _one(hints[name]) for name in needed})
