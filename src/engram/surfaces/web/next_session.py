"""The page of the next session: what `context` would put into it now, byte for byte, and what to do about it."""

from typing import Any, NamedTuple

from starlette.responses import Response

from engram.errors import EngramError
from engram.model.answers import Brief
from engram.model.marks import NO_CONTEXT
from engram.model.memory import Memory
from engram.model.text import tokens
from engram.service import Engram
from engram.surfaces.web.frame import Asked, Page, Tab

TABS = (Tab("next", "/next", "Next session", "n"),)


class Line(NamedTuple):
    """One memory of a brief: the section it stands in, what it costs there, and the memory."""

    section: str
    tokens: int
    memory: Memory


def show(asked: Asked) -> Response:
    """What a session would begin with."""
    return asked.show("next.html", **_values(asked))


def part(asked: Asked) -> Response:
    """The same without the frame, after something was changed."""
    return asked.show("next_brief.html", **_values(asked))


def pin(asked: Asked) -> Response:
    """Pin a memory, or let it go."""
    pinned = asked.said("pinned") == "yes"
    return _revised(asked, "Pinned" if pinned else "No longer pinned", pinned=pinned)


def weigh(asked: Asked) -> Response:
    """Move a memory up or down among others: by its importance."""
    memory = asked.engram.get(asked.said("memory")).memories[0]
    step = 1 if asked.said("way") == "up" else -1
    importance = min(max(memory.importance + step, 1), 10)
    return _revised(asked, f"Importance {importance}", importance=importance)


def keep_out(asked: Asked) -> Response:
    """Keep a memory out of every context, or let it in again."""
    memory = asked.engram.get(asked.said("memory")).memories[0]
    others = [tag for tag in memory.tags if tag != NO_CONTEXT]
    out = asked.said("out") == "yes"
    return _revised(asked, "Kept out" if out else "Let in again", tag=[*others, NO_CONTEXT] if out else others)


def _revised(asked: Asked, message: str, **changes: object) -> Response:
    """Change a memory as it was seen; whoever saw an older one is refused."""
    done = asked.engram.revise(
        asked.said("memory"),
        revision=asked.number("revision"),
        **changes,  # type: ignore[arg-type] # options of revise
    )
    return asked.done("", f"{message}: {done.memory.handle}.", done.event, back="/next", now=done.memory)


def _values(asked: Asked) -> dict[str, Any]:
    scope, query = asked.project("scope"), asked.said("query").strip()
    budget = asked.number("budget") or 0
    values: dict[str, Any] = {
        "title": "Next session", "here": "next", "error": None, "brief": None, "lines": (), "kept_out": (),
        "place": str(asked.engram.home),
        "said_here": {"scope": scope, "query": query, "budget": asked.said("budget")},
    }  # fmt: skip
    try:
        engram = asked.engram.not_counting_use()
        engram = engram.standing_in(scope) if scope else engram
        brief = engram.context(query=query, budget=budget)
    except EngramError as error:
        return {**values, "error": error}
    return {**values, "at": brief.at, "brief": brief, "lines": lines(brief), "kept_out": _kept_out(engram)}


def _kept_out(engram: Engram) -> tuple[Memory, ...]:
    return engram.list(tag=[NO_CONTEXT], limit=50).memories


def lines(brief: Brief) -> list[Line]:
    """The memories of a brief in the order of its text, each with the heading above it and its cost."""
    found, section, memories = [], "", iter(brief.included)
    for line in brief.text.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        elif line.startswith("- "):
            found.append(Line(section, tokens(line + "\n"), next(memories)))
    return found


PAGES = (
    Page("GET", "/next", show),
    Page("GET", "/next/brief", part),
    Page("POST", "/next/pin", pin),
    Page("POST", "/next/weigh", weigh),
    Page("POST", "/next/keep-out", keep_out),
)
