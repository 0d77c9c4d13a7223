"""The page of one memory: all there is to know about it, and undo to any point of its history."""

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from engram.errors import Conflict, NotFound
from engram.model.answers_work import Relatives
from engram.model.memory import Memory
from engram.surfaces.http.assets import as_file
from engram.surfaces.render.steps import told_of
from engram.surfaces.shapes import shape
from engram.surfaces.web.frame import Asked, Page, Tab

TABS: tuple[Tab, ...] = ()

SAID = {
    "verify": "Verified",
    "forget": "Forgot",
    "restore": "Restored",
    "pin": "Pinned",
    "unpin": "Unpinned",
    "share": "Shared",
    "unshare": "Made private:",
}

WEIGHS: Mapping[str, Mapping[str, Any]] = {
    "pin": {"pinned": True},
    "unpin": {"pinned": False},
    "share": {"visibility": "shared"},
    "unshare": {"visibility": "private"},
}
"""What a button revises that says nothing about the words, and so approves nothing."""

AROUND = 3
STEPS = 30
EDGES = 12

WORDS = {
    "superseded_by": "replaced by",
    "supersedes": "replaces",
    "alike": "about the same",
    "conflicts": "contradicts",
}
"""An edge as it is said beside the other memory."""

NEIGHBOURS = ("before", "after")
"""Edges that say what the page tells by itself: what was remembered around it."""


def show(asked: Asked) -> Response:
    """Text, citations with verdicts, relations, history, neighbours in time, and the record itself."""
    shown = asked.engram.get(asked.path["memory"], around=AROUND, diffs=True)
    memory = shown.memories[0]
    before = asked.number("before")
    history = asked.engram.history(memory.id, limit=STEPS, before=before)
    values: dict[str, Any] = {
        "title": memory.handle,
        "here": "",
        "memory": memory,
        "history": history,
        "found": history,
        "of": memory,
        "told_of": told_of,
    }
    checks = shown.evidence[0] if shown.evidence else ()
    if asked.part and before:
        return asked.show("memory_steps.html", at=shown.at, **values)
    named = {id: history.handles.get(id) or id[:13] for id in (memory.replaced_by, memory.amends)}
    return asked.show(
        "memory.html",
        names=named,
        at=shown.at,
        evidence=checks,
        verdicts={check.verdict for check in checks},
        marks=shown.marks.get(memory.id, ()),
        around=shown.around[0],
        raw=json.dumps(shape(memory, shown.at, asked.engram.view), indent=2, ensure_ascii=False),
        error=None,
        **values,
    )


def relations(asked: Asked) -> Response:
    """What has to do with it: asked for after the page is there, for it searches."""
    found: Relatives = asked.engram.related(asked.path["memory"], limit=EDGES)
    told = [(one.memory, [_said(edge) for edge in one.edges if edge not in NEIGHBOURS]) for one in found.relatives]
    edges = [(memory, words) for memory, words in told if words]
    return asked.show(
        "memory_relations.html", at=found.at, memory=found.memory, edges=edges, truncated=found.truncated
    )


def download(asked: Asked) -> Response:
    """An attachment as a file, for whoever may read the memory."""
    return as_file(asked.engram, asked.path["memory"], asked.path["asset"])


def _said(edge: str) -> str:
    name, _, what = edge.rstrip("?").partition(":")
    said = f"{WORDS.get(name, name)}{f' {what}' if what else ''}"
    return f"perhaps {said}" if edge.endswith("?") else said


def act(asked: Asked) -> Response:
    """Verify, forget, restore, pin or share it: what the buttons of its page ask for."""
    ref, name = asked.path["memory"], asked.path["act"]
    if name not in SAID:
        raise NotFound(f"A memory has no {name!r}.", "Load the page again.")
    engram, confirm, revision = asked.engram, asked.said("confirm") == "yes", asked.number("revision")
    seen = ref if revision is None else f"{ref}@{revision}"
    if name == "verify":
        done = engram.verify(seen, repin=asked.said("repin") == "yes", confirm=confirm)
        if not done.event:
            raise Conflict("What it cites has changed, so it is not verified by a click.", done.hint)
        event = done.event
    elif name == "forget":
        event = engram.forget(seen, reason=asked.said("reason").strip()).event
    elif name == "restore":
        event = engram.restore(seen).event
    else:
        event = engram.revise(ref, **WEIGHS[name], revision=revision, confirm=confirm).event
    now = engram.get(ref).memories[0]
    return _back(asked, f"{SAID[name]} {now.handle}.", event, now)


def edit(asked: Asked) -> Response:
    """Give it other words, where nobody else did meanwhile."""
    done = asked.engram.revise(
        asked.path["memory"],
        text=asked.said("text").strip(),
        revision=asked.number("revision"),
        confirm=asked.said("confirm") == "yes",
    )
    word = {"proposed": "Proposed a change of", "unchanged": "Nothing to change in"}.get(done.outcome, "Revised")
    return _back(asked, f"{word} {done.memory.handle}.", done.event, done.memory)


def _back(asked: Asked, message: str, event: int, now: Memory) -> Response:
    return asked.done("", message, event, back=f"/memory/{asked.path['memory']}", now=now)


PAGES = (
    Page("GET", "/memory/{memory}", show),
    Page("GET", "/memory/{memory}/relations", relations),
    Page("GET", "/memory/{memory}/assets/{asset}", download),
    Page("POST", "/memory/{memory}/edit", edit),
    Page("POST", "/memory/{memory}/{act}", act),
)
