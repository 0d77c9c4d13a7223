"""The `memory-v1` profile: remember and recall facts about a person, and the two pages that agents read.

Facts hold everywhere, so they are kept in the global scope. A record has twelve keys in a fixed order; its dates
have no time of day, and its status is where the memory stands now. Review and forgetting are a person's.
"""

from collections import defaultdict
from datetime import datetime
from typing import Annotated, Any

from engram.errors import EngramError
from engram.interop import prompts
from engram.interop.tools import Answer, Asks, Profile, Refused, Resource, Shelf
from engram.interop.values import EVERYTHING, as_json, kept, loud
from engram.model.items import record_of
from engram.model.marks import BEGIN, END, marked, tame
from engram.model.memory import Memory
from engram.model.pages import by_kind, one_line

KINDS = (
    *("preference", "tooling", "project", "infra", "identity", "fiscal", "people", "constraint"),
    *("location", "health"),
)

MOST_HITS = 50
MOST_IN_BLOCK = 30
OPENED, CLOSED = "<!-- engram:begin -->", "<!-- engram:end -->"
"""The comments by which the other system finds its block in a context file."""

SHELF = Shelf()


@SHELF.tool(writes=True)
def remember(
    asks: Asks,
    *,
    fact: Annotated[str, "A short first-person statement about the user."],
    kind: Annotated[str, "One of: " + ", ".join(KINDS) + "."] = "preference",
    confidence: Annotated[float, "How sure it is, 0 to 1."] = 0.6,
) -> Answer:
    """Stage a fact about the user. Low-risk kinds are kept at once; the others wait for the user's review."""
    name = kind.strip().lower()
    if name not in KINDS:
        raise Refused(f"Unknown kind {name!r}.", f"Use one of: {', '.join(KINDS)}.")
    if not fact.strip():
        raise Refused("The fact is empty.", "Say what to remember, as a short statement about the user.")
    answer = asks.ask(
        "remember",
        " ".join(fact.split()),
        kind=name,
        confidence=confidence,
        scope="global",
        source="tool:remember",
    )
    memory = answer.memory
    waits = asks.says(f"It waits for review ({memory.held_for or 'by a person'}): engram review.")
    return settled(asks, memory, waits if memory.waiting else answer.hint or "It is promoted.")


def settled(asks: Asks, memory: Memory, said: str) -> Answer:
    """What was staged, and what became of it."""
    staged = f"staged {memory.handle}: [{memory.kind}] {one_line(memory.text)}"
    return Answer(f"{staged}\n{said}", {"result": staged, "memory": record(memory, asks.now)})


@SHELF.tool()
def recall(
    asks: Asks,
    *,
    query: Annotated[str, "What to look for; without it, what is surest."] = "",
    limit: Annotated[int, "How many at most."] = 20,
) -> Answer:
    """Recall promoted facts that are not stale, best first."""
    if limit < 1:
        raise Refused(f"limit is {limit}.", "Give a number from 1 on.")
    if query.strip():
        answer = asks.ask("recall", query, limit=min(limit, MOST_HITS))
        return as_json({"result": [record(hit.memory, answer.at) for hit in answer.hits]})
    at, surest = _surest(asks)
    return as_json({"result": [record(memory, at) for memory in surest[:limit]]})


def recall_page(asks: Asks) -> str:
    """What an agent should know of the user, as the block of a context file."""
    _, surest = _surest(asks)
    groups: dict[str, list[str]] = defaultdict(list)
    for memory in surest[:MOST_IN_BLOCK]:
        groups[memory.kind].append(f"- {tame(memory.text)}")
    lines = [OPENED, BEGIN, "## What engram remembers about you", ""]
    for kind in sorted(groups):
        lines += [f"**{kind}**", *groups[kind], ""]
    return "\n".join([*lines, *([] if groups else ["_No memories yet._"]), END, CLOSED]) + "\n"


def facts_page(asks: Asks) -> str:
    """Every promoted fact that is not stale, by kind: what stands below the frontmatter of memory.md, marked."""
    return marked(by_kind(_registry(asks)[1]))


def record(memory: Memory, now: datetime) -> dict[str, Any]:
    """A memory as the twelve keys of `memory.v1`, in their order."""
    return record_of(memory, memory.handle or memory.id, now)


def failed(error: EngramError) -> Answer:
    """One sentence and the next step; there is no other form."""
    return Answer(f"{error.message} {error.hint}".rstrip())


def _registry(asks: Asks) -> tuple[datetime, list[Memory]]:
    """Every live fact in view, oldest first."""
    page = kept(asks, loud(asks), limit=EVERYTHING)
    return page.at, list(reversed(page.memories))


def _surest(asks: Asks) -> tuple[datetime, list[Memory]]:
    at, memories = _registry(asks)
    return at, sorted(memories, key=lambda memory: -memory.confidence)


INSTRUCTIONS = {
    "recall": "Read memory://recall first; recall before you ask the person or guess.",
    "remember": (
        "remember what holds about the user, as a short first-person statement. Identity, money, people,"
        " constraints, location and health wait until the person approves."
    ),
}

PROMPTS = (
    prompts.session_start("recall", "remember"),
    prompts.save_well("remember", "Choose the kind that fits: " + ", ".join(KINDS) + "."),
)

PROFILE = Profile(
    "memory-v1",
    "remember and recall facts about a person; the pages memory://recall and memory://facts.",
    tuple(SHELF),
    failed,
    (
        Resource(
            "memory://recall",
            recall_page,
            "memory_recall",
            "What an agent should know of the user.",
            "text/plain",
        ),
        Resource("memory://facts", facts_page, "memory_facts", "Every promoted fact that is not stale, by kind."),
    ),
    prompts=PROMPTS,
    instructions=INSTRUCTIONS,
    settled=settled,
)
