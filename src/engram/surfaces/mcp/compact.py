"""Answers as an agent reads them: what it needs to go on, in few tokens; the full record on request."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from engram.model import answers as a
from engram.model.evidence import Check, told, verdict_of
from engram.model.memory import Memory, speaker, standing
from engram.model.text import tokens
from engram.surfaces.shapes import shape

LONGEST = 600
"""Characters of a text that a list shows; more is a page, and `get` shows it whole."""

QUIET = frozenset({"handle", "id", "revision", "updated_at", "tier", "owner", "actor", "apart", "status"})
"""Fields of a full record that say nothing to an agent."""

POINTING = ("amends", "replaced_by")
"""Fields of a full record that name another memory."""


class _Look(NamedTuple):
    """When a memory is looked at, by which owner, and from which branch."""

    at: datetime
    reader: str
    view: str


def compact(answer: Any, reader: str = "", view: str = "") -> dict[str, Any]:  # noqa: ANN401 - any answer
    """The structured form of an answer: lists are rows, single memories are whole.

    A memory that is not of the owner `reader` says whose it is; where it stands is told for the branch `view`.
    """
    look = _Look(answer.at, reader, view)
    if isinstance(answer, a.Recalled):
        return _recalled(answer, look)
    if isinstance(answer, a.Shown):
        around = [
            {side: _part(getattr(line, side), look) for side in ("before", "after")} for line in answer.around
        ]
        checks = answer.evidence or [()] * len(answer.memories)
        pairs = zip(answer.memories, checks, strict=True)
        told = [
            _whole(one, look)
            | {name: answer.handles[id] for name in POINTING if (id := getattr(one, name)) in answer.handles}
            | _evidence(found)
            | _judged(answer.marks.get(one.id, ()))
            for one, found in pairs
        ]
        return {"memories": told, **({"around": around} if around else {})}
    if isinstance(answer, a.Brief):
        return {"text": answer.text, **_without_empty({"tokens": answer.tokens, "left_out": answer.left_out})}
    said = {name: _part(value, look) for name, value in answer._asdict().items() if name != "at"}
    first = next(iter(said))  # what the answer is about is said even where it is nothing
    return {first: said[first], **_without_empty(said)}


def _row(memory: Memory, look: _Look) -> dict[str, Any]:
    """A memory in a list: enough to know whether to read it, and all of it where it is short."""
    said = memory.text
    shown: dict[str, Any] = {"id": memory.handle or memory.id, "kind": memory.kind, "scope": str(memory.scope)}
    shown["origin"] = memory.origin  # a model that reads rows alone must not take an inference for a person's word
    if memory.summary:
        shown["summary"] = memory.summary
    if not memory.summary or len(said) <= LONGEST:
        shown["text"] = said if len(said) <= LONGEST else said[:LONGEST].rstrip() + "…"
    if len(said) > LONGEST:
        shown["more"] = tokens(said)
    if memory.key:
        shown["key"] = memory.key
    stands = standing(memory, look.at, look.view)
    if stands != "live":
        shown["standing"] = stands
    if stands == "pending" and memory.held_for:
        shown["held_for"] = memory.held_for
    shown["created"] = memory.created_at.date().isoformat()
    if memory.verified_at:
        shown["verified"] = memory.verified_at.date().isoformat()
    return shown | _whose(memory, look.reader)


def _whole(memory: Memory, look: _Look) -> dict[str, Any]:
    """A memory in full, without what is empty and without bookkeeping."""
    said = {name: value for name, value in shape(memory, look.at, look.view).items() if name not in QUIET}
    return {
        "id": memory.handle or memory.id,
        **_without_empty(said),
        "full_id": memory.id,
        **_whose(memory, look.reader),
    }


def _whose(memory: Memory, reader: str) -> dict[str, Any]:
    name = speaker(memory, reader)
    return {"by": name} if name else {}


def _recalled(answer: a.Recalled, look: _Look) -> dict[str, Any]:
    hits = [
        {
            **_row(hit.memory, look),
            "score": round(hit.score, 3),
            "relevance": round(hit.relevance, 2),
            **_evidence(hit.evidence),
            **_judged(hit.marks),
        }
        for hit in answer.hits
    ]
    rest = {
        "held_back": dict(answer.held_back),
        "weak": answer.weak,
        "unsure": answer.unsure,
        "behind": answer.behind,
    }
    return {"hits": hits, **_without_empty(rest | {"hint": answer.hint})}


def _evidence(checks: Sequence[Check]) -> dict[str, Any]:
    """The verdict on a memory, and on each of its citations that is not as it was."""
    verdict = verdict_of(checks)
    changed = told(check for check in checks if check.verdict not in ("fresh", "unreachable"))
    return {"evidence": verdict, **({"citations_changed": changed} if changed else {})} if verdict else {}


def _judged(marks: Sequence[str]) -> dict[str, Any]:
    return {"relations": [*marks]} if marks else {}


def _part(value: Any, look: _Look) -> Any:  # noqa: ANN401 - any part of an answer
    if isinstance(value, Memory):
        return _row(value, look)
    if isinstance(value, tuple) and not hasattr(value, "_asdict"):
        return [_part(one, look) for one in value]
    if hasattr(value, "_asdict"):
        return _without_empty({name: _part(one, look) for name, one in value._asdict().items()})
    shaped = shape(value, look.at, look.view)
    return _without_empty(shaped) if isinstance(shaped, Mapping) else shaped


def _without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    told = {name: _without_empty(one) if isinstance(one, Mapping) else one for name, one in values.items()}
    return {name: one for name, one in told.items() if one not in (None, "", [], {}, 0, False)}
