"""Asking the person, through the client, about a memory that waits: approve it, word it anew, or leave it.

What needs a person's word is saved first, and waits, whatever tool saved it. Where the client can show a form, the
person is asked at once; whatever they do but approve leaves it waiting, and so does a client that never comes back.
They decide about what they were shown: a memory that moved meanwhile waits on.
"""

from datetime import datetime
from typing import Any, NamedTuple

import mcp_types as types

from engram.errors import Conflict, EngramError
from engram.interop.tools import Asks
from engram.model.answers import Remembered, UnderReview
from engram.model.caller import Caller
from engram.model.change import Finding
from engram.model.memory import Context, Memory
from engram.model.scope import Scope
from engram.service import Engram
from engram.surfaces import rewording
from engram.surfaces.render.answers import beside, besides_text
from engram.surfaces.render.paper import plain
from engram.surfaces.rewording import Tools

KEY = "memory"
ASKED_FOR = ("curated_kind", "edits_curated_node", "conflict", "forgotten_before")
"""Why a memory waits that a person is asked about at once; the rest comes up in their own review."""

WHY = {
    "curated_kind": "Memories of kind {kind} go live only when you approve them.",
    "edits_curated_node": "It would change something you wrote or approved.",
    "conflict": "It contradicts something that is remembered; approving it replaces the other.",
    "forgotten_before": "You forgot it before.",
}
MOST_AGAINST = 3


class Question(NamedTuple):
    """What the person is asked: a message, the fields they fill in, and which revision of which memory they see."""

    message: str
    schema: dict[str, Any]
    state: str


class Watching:
    """The memory as one call of a tool sees it: hints speak of tools, and what the tool saved is kept in mind."""

    def __init__(self, asks: Asks, tools: Tools, saved: list[Remembered] | None = None) -> None:
        self._asks, self._tools = asks, tools
        self._saved: list[Remembered] = [] if saved is None else saved

    @property
    def caller(self) -> Caller:
        """Who asks."""
        return self._asks.caller

    @property
    def view(self) -> str:
        """The branch it is looked from."""
        return self._asks.view

    @property
    def now(self) -> datetime:
        """The moment it is."""
        return self._asks.now

    @property
    def home(self) -> Scope:
        """Where a memory lands when no scope is given."""
        return self._asks.home

    @property
    def folder(self) -> str:
        """Where the client started this memory; "" where the client is elsewhere."""
        return self._asks.folder

    def ask(self, name: str, /, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - any operation
        """Carry out an operation by its name."""
        answer = rewording.ask(self._tools.says, name, lambda: self._asks.ask(name, *args, **kwargs))
        if isinstance(answer, Remembered):
            self._saved.append(answer)
        return answer

    def says(self, hint: str, asked: str = "") -> str:
        """A hint with tools for commands."""
        return self._tools.says(hint, asked)

    def notices(self) -> tuple[Finding, ...]:
        """What the store has to say besides answers."""
        return rewording.told(self._asks.notices(), self._tools.says)

    def made_in(self, context: Context) -> "Watching":
        """The same memory, in this context."""
        return Watching(self._asks.made_in(context), self._tools, self._saved)

    def question(self) -> Question | None:
        """What to ask the person about the last that was left waiting, if anything was."""
        return next((found for one in reversed(self._saved) if (found := self._question(one))), None)

    def _question(self, saved: Remembered) -> Question | None:
        """The question about one, beside what its approval would change or replace."""
        if question_about(saved) is None:
            return None
        try:
            waiting = self._asks.ask("review", memory=(saved.memory.id,)).candidates
        except EngramError:  # it is saved and waits, whatever fails here
            return None
        if not waiting or (saved.memory.amends and waiting[0].amends is None):
            return None
        return question_about(saved, waiting[0])


def question_about(saved: Remembered, under_review: UnderReview | None = None) -> Question | None:
    """The question about what was just saved, or None where there is nothing to ask.

    A proposal is shown below what it would change: no words of its own can stand in for that.
    """
    memory = saved.memory
    if not memory.waiting or saved.replayed or memory.held_for not in ASKED_FOR:
        return None
    asks = f"An agent wants to remember ({memory.kind}, {memory.scope}):\n\n{_quoted(memory)}"
    if under_review and (amended := under_review.amends):
        now = f"An agent wants to change {amended.called} ({amended.kind}, {amended.scope}). It says now:"
        other = f" ({memory.kind})" if memory.kind != amended.kind else ""
        asks = f"{now}\n\n{_quoted(amended)}\n\nIt would say{other}:\n\n{_quoted(memory)}"
    why = WHY[memory.held_for].format(kind=memory.kind)
    told = list(beside(under_review)) if under_review else []
    against = "".join(f"\n{word} {one.handle}: {one.text}" for word, one in told[:MOST_AGAINST])
    if (more := len(told) - MOST_AGAINST) > 0:
        against += f"\nand {more} more: {', '.join(one.handle for _, one in told[MOST_AGAINST:])}."
    return Question(
        plain(f"{asks}\n\n{why}{against}"),
        {
            "type": "object",
            "properties": {
                "decision": {
                    "type": "string",
                    "title": "Remember this?",
                    "enum": ["later", "approve", "reject"],
                    "enumNames": ["Decide later", "Approve", "Reject for good"],
                    "default": "later",
                },
                "text": {
                    "type": "string",
                    "title": "In these words",
                    "description": "What will be remembered, if you approve.",
                    "default": memory.text,
                },
            },
            "required": ["decision"],
        },
        f"{memory.id} {memory.revision}",
    )


def _quoted(memory: Memory) -> str:
    """All that a memory says, set in, so that no line of it passes for one of the form's own."""
    return "\n".join(f"  {line}" for line in (*memory.text.splitlines(), *besides_text(memory)))


def can_ask(capabilities: types.ClientCapabilities | None) -> bool:
    """Whether the client can show a form: one that names no mode of elicitation means forms."""
    elicitation = capabilities.elicitation if capabilities else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


def request(question: Question) -> types.ElicitRequest:
    """The question as the protocol carries it."""
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=question.message, requested_schema=question.schema)
    )


def decided(engram: Engram, state: str, said: object) -> tuple[Memory, str]:
    """Carry out the person's word on what they were shown; the memory as it stands afterwards, and a sentence.

    Where the memory is no longer what they saw, or somebody else decided meanwhile, nothing changes.

    Raises:
        EngramError: when it cannot be carried out for another reason; then it waits on.
    """
    result = said if isinstance(said, types.ElicitResult) else types.ElicitResult(action="cancel")
    content = result.content or {}
    id, _, seen = state.partition(" ")
    waiting = engram.get(id).memories[0]
    words = str(content.get("text") or waiting.text)
    person = engram.for_person("elicitation")
    verdict = content.get("decision") if result.action == "accept" else "later"
    try:
        if verdict == "approve":
            text = None if words == waiting.text else words
            done = person.promote(id, text=text, revision=int(seen), confirm=True)
            return done.memories[0], "The person approved it."
        if verdict == "reject":
            done = person.reject(id, reason="refused when asked", revision=int(seen))
            return done.memories[0], "The person rejected it: it will not come back."
    except Conflict as error:
        now = engram.get(id).memories[0]
        moved = now.waiting and now.revision != int(seen)
        why = "It was changed after the person saw it, so it waits on." if moved else error.message
        return now, f"The person's answer was not carried out. {why}"
    return waiting, "The person has not decided: it waits."
