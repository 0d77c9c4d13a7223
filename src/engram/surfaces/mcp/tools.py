"""The native tools: which operations an agent gets, and which of their parameters it sees."""

from collections.abc import Mapping
from typing import Any

from engram.errors import EngramError
from engram.interop.tools import Answer, Asks, Profile, Tool
from engram.model.marks import marked, unmarked
from engram.model.memory import Memory
from engram.service import OPERATIONS
from engram.surfaces.mcp.compact import compact
from engram.surfaces.mcp.pages import PROMPTS
from engram.surfaces.render.answers import render
from engram.surfaces.render.paper import Paper
from engram.surfaces.schemas import Arguments, arguments

SHOWN: Mapping[str, tuple[str, ...]] = {
    "remember": ("text", "kind", "scope", "key", "summary", "tag", "cite", "valid_until", "session", "source"),
    "recall": ("question", "kind", "scope", "since", "everywhere", "weak", "limit"),
    "get": ("memory", "around"),
    "list": ("kind", "scope", "standing", "limit", "after"),
    "revise": ("memory", "text", "summary", "kind", "tag", "cite", "pinned"),
    "verify": ("memory", "repin"),
    "forget": ("memory", "reason"),
    "relate": ("memory", "other", "kind", "reason"),
    "judge": ("relation", "kind", "reason"),
    "context": ("query", "scope", "budget"),
    "session_begin": ("session", "scope"),
    "session_end": ("session", "summary"),
}
"""Tool → the parameters an agent sees, in their order. What is human-only is absent, and stays so."""

PLAIN = frozenset(
    {"text", "question", "query", "budget", "tag", "reason", "limit", "other", "session", "summary", "everywhere"}
    | {"since", "after", "valid_until", "pinned", "source", "weak"}
)
"""Parameters whose name says it: a model needs no sentence for them, and every word is paid for in each session."""

TOLD_BY: Mapping[str, frozenset[str]] = {
    "scope": frozenset({"remember", "recall"}),
    "cite": frozenset({"remember"}),
}
"""Parameters that mean the same in every tool, and the tools that tell what: once for saving, once for finding."""

INSTRUCTIONS: Mapping[str, str] = {
    "context recall": "Start with context; recall before you ask the person or guess.",
    "remember": (
        "remember decisions, fixes, conventions and preferences as they come up: one short statement each,"
        " with its reason. Curated kinds wait until the person approves, and so does what a page or a tool said:"
        " give source web:URL or output:TOOL."
    ),
    "session_end": "End with session_end and a summary.",
}
"""Tools → what a model that has them is told once."""

TELLING = frozenset({"recall", "get", "list"})
"""Tools whose words are what was remembered before: marked, so that nobody takes them for something new.

What `context` tells is marked by itself."""

MOST = 50
"""The most rows a tool gives at a time: a model pays for each."""

WIDTH = 2000
"""Columns of a line that a model reads: as many as it takes."""


class Native:
    """A tool that is an operation of ours."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def arguments(self) -> Arguments:
        """What an agent may say: the shown part of the operation's signature."""
        told_elsewhere = {name for name, tools in TOLD_BY.items() if self.name not in tools}
        return arguments(OPERATIONS[self.name].function, SHOWN[self.name], plain=PLAIN | told_elsewhere)

    def __call__(self, asks: Asks, **said: Any) -> Answer:  # noqa: ANN401 - checked against the operation's signature
        """The operation's answer in words, and its structured twin."""
        if isinstance(limit := said.get("limit"), int):
            said["limit"] = min(limit, MOST)
        answer = asks.ask(self.name, **said)
        warnings = [f"{each.message} {each.hint}".rstrip() for each in asks.notices()]
        reader, view = asks.caller.owner, asks.view
        told = render(answer, Paper(WIDTH, says=lambda hint: asks.says(hint, self.name), reader=reader, view=view))
        text = "\n\n".join([self._framed(told), *(f"Warning: {each}" for each in warnings)])
        return Answer(text, compact(answer, reader, view) | ({"warnings": warnings} if warnings else {}))

    def _framed(self, told: str) -> str:
        """What is told between the marks; what only names memories beside what was done has none of them in it."""
        if self.name == "context":
            return told
        return marked(told) if self.name in TELLING else unmarked(told)


def settled(asks: Asks, memory: Memory, said: str) -> Answer:
    """A memory as it stands after the person was asked about it."""
    text, structured = Native("get")(asks, memory=memory.id)
    return Answer(f"{said}\n\n{text}", {**(structured or {}), "hint": said})


def failed(error: EngramError) -> Answer:
    """An error as every surface of ours shows it."""
    hint = f"\n{error.hint}" if error.hint else ""
    return Answer(f"{error.code}: {error.message}{hint}", error.body())


def native() -> Profile:
    """Our own tools, in a fixed order."""
    tools = []
    for name in SHOWN:
        operation = OPERATIONS[name]
        assert not operation.human, f"{name} is a person's"
        tools.append(
            Tool(
                name,
                Native(name),
                operation.summary,
                writes=operation.writes,
                destructive=operation.destructive,
                idempotent=not operation.writes or name in ("verify", "forget", "relate", "judge"),
            )
        )
    return Profile(
        "native",
        "Engram's own tools.",
        tuple(tools),
        failed,
        prompts=PROMPTS,
        instructions=INSTRUCTIONS,
        settled=settled,
    )
