"""The `keyed` profile: save, recall, list, get, update and delete memories by key, and save insights apart.

A key names one memory within its scope and context: saving it again updates that memory in place, and history keeps
what it said before. Global memories are the caller's own; those of a project or an agent are shared with whoever is
in reach of it. A category is any word: where it is no kind of ours, it is kept beside the kind `fact`.
"""
# ruff: noqa: N803 - the arguments are named as clients name them

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, cast

from engram.errors import EngramError, Invalid, NotFound
from engram.interop import prompts
from engram.interop.forms import foreign_id
from engram.interop.keyed_rank import density
from engram.interop.keyed_rows import Categories, insight_row, row
from engram.interop.tools import Answer, Asks, Profile, Refused, Shelf
from engram.interop.values import EVERYTHING, as_json, kept, loud
from engram.model.answers import Remembered
from engram.model.caller import UNNAMED
from engram.model.limits import LIMITS, check_text, parse_time
from engram.model.memory import TALKS, Citation, Context, Memory, clean_tags, standing
from engram.model.record import replace
from engram.model.refs import read_cursor
from engram.model.scope import GLOBAL, Scope

FEW, MOST = 5, 50
"""How many a recall answers with unless asked otherwise, and at most."""

INSIGHTS = (
    *("role", "preferences", "workflow", "tools", "goals", "communication style", "domain knowledge"),
    *("pain points", "other"),
)
"""Categories of insights, as clients of the other system know them."""

CODES = {"invalid": "VALIDATION_ERROR", "unconfirmed": "FORBIDDEN", "unauthenticated": "UNAUTHORIZED"}
"""Our error code → the other system's, where it is not the same word in capitals."""

Key = Annotated[str, "A short label that names the memory."]
Value = Annotated[str, "The content."]
Summary = Annotated[str | None, "A shorter form for prompts."]
OnlyCategory = Annotated[str, "Only this category."]
Tags = Annotated[Sequence[str] | None, "Tags for filtering."]
AllTags = Annotated[Sequence[str], "Only memories with all of these tags."]
Importance = Annotated[int | None, "1 to 10; higher comes first."]
Pinned = Annotated[bool | None, "Always on, above others."]
ExpiresAt = Annotated[str | None, "When it ends (RFC 3339); an empty one means never."]
Where = Annotated[Literal["global", "project", "agent"], "Who sees it: you, the project, or sessions of the agent."]
OnlyWhere = Annotated[Literal["", "global", "project", "agent"], "Only this scope; all in view unless given."]
ProjectId = Annotated[str, "The project; the current one unless given."]
AgentId = Annotated[str, "The agent; yourself unless given."]
OnlyProject = Annotated[str, "Only this project."]
OnlyAgent = Annotated[str, "Only what is for this agent's sessions."]
SessionId = Annotated[str, "The session that it was made in; the current one unless given."]
Sources = Annotated[
    Sequence[Mapping[str, Any]], 'What produced it: {"type": "message" or "session", "id": its id}.'
]
Id = Annotated[str, "A memory's id."]

SHELF = Shelf()


@SHELF.tool(writes=True)
def save(
    asks: Asks,
    *,
    key: Key,
    value: Value,
    summary: Summary = None,
    category: Annotated[str | None, "A free-form bucket; fact unless given."] = None,
    tags: Tags = None,
    importance: Importance = None,
    pinned: Pinned = None,
    expiresAt: ExpiresAt = None,
    source: Annotated[str, "manual, auto, or a tool's own label."] = "manual",
    dedupe: Annotated[
        Literal["update", "create"], "create makes a new memory even where the key exists."
    ] = "update",
    scope: Where = "global",
    projectId: ProjectId = "",
    agentId: AgentId = "",
    sessionId: SessionId = "",
    sources: Sources = (),
) -> Answer:
    """Save a memory under a key; the same key in the same scope is updated in place."""
    _check_said(key, value)
    place = _place(asks, scope, projectId, agentId)
    categories, source = Categories(asks), source.strip() or "manual"
    said: dict[str, Any] = {
        "kind": categories.kind(category),
        "summary": summary or None,
        "tag": None if tags is None else list(tags),
        "importance": importance,
        "pinned": pinned,
        "visibility": "private" if place.level == "global" else "shared",
    }
    cited = _cited(sources)
    made = asks.made_in(Context(tool="save", word=categories.word(category)))
    if dedupe != "create" and not expiresAt and (over := _ending(asks, place, key.strip(), ends=expiresAt is None)):
        # What is saved anew lives on: an end that has come, or was taken off, is no longer its end.
        anew = {"text": value, "source": source, "cite": cited or None, "clear": ["valid_until"]}
        return _saved(asks, made.ask("revise", over.id, revision=over.revision, **anew, **said))
    answer = made.ask(
        "remember",
        value,
        session=sessionId,
        cite=cited,
        key=key.strip(),
        scope=place,
        valid_until=_time(expiresAt),
        source=source,
        origin="inferred" if source == "auto" else None,
        dedupe="create" if dedupe == "create" else "merge",
        **said,
    )
    if answer.outcome == "repeated":
        shown = row(answer.memory, categories)
        if rest := _unlike(shown, said, (category or "").strip(), cited):
            more = made.ask("revise", answer.memory.id, text=value, source=source, **rest)
            told = [one.hint for one in (answer, more) if one.taken_back and one.hint]
            back = (*answer.taken_back, *more.taken_back)
            answer = more._replace(taken_back=back, hint=" ".join(told)) if back else more
    return _saved(asks, answer)


@SHELF.tool()
def recall(
    asks: Asks,
    *,
    query: Annotated[str, "What to look for."],
    limit: Annotated[int, "How many at most; 50 is the most."] = FEW,
    scope: OnlyWhere = "",
    category: OnlyCategory = "",
    tags: AllTags = (),
    projectId: OnlyProject = "",
    agentId: OnlyAgent = "",
) -> Answer:
    """Recall memories: the closest matches first, then pinned ones, the more important and the newer."""
    _check_limit(limit)
    if not query.strip():
        raise Refused("The query is empty.", "Say what to look for, or see what there is with list.")
    categories = Categories(asks)
    where = _where(asks, category, scope, projectId, agentId)
    where["tag"] = list(tags)

    def fits(memory: Memory) -> bool:
        return categories.fits(memory, category)

    # Recall cuts to the best few by its own order, and tells what two rows say once: here every row that says the
    # words counts, in the order of full text search. What was found by meaning alone comes after, by its relevance.
    said = {one.id: one for one in kept(asks, fits, limit=EVERYTHING, saying=query, **where).memories}
    hits = [hit for hit in asks.ask("recall", query, limit=MOST, **where).hits if fits(hit.memory)]
    relevance = {hit.memory.id: round(hit.relevance, 2) for hit in hits}
    found = {hit.memory.id: hit.memory for hit in hits} | said
    close = {id: round(density(query, memory), 6) for id, memory in found.items()}

    def place(memory: Memory) -> tuple[object, ...]:
        by_words = bool(close[memory.id]) or memory.id in said
        return (-close[memory.id], 0.0 if by_words else 1 - relevance[memory.id], *_weight(memory))

    ranked = sorted(found.values(), key=place)
    shown = ranked[: min(limit, MOST)]
    rows = [{**row(memory, categories), "relevance": relevance.get(memory.id)} for memory in shown]
    return as_json({"memories": rows, "count": len(rows), "hasMore": len(ranked) > len(rows)})


@SHELF.tool(name="list")
def list_memories(
    asks: Asks,
    *,
    scope: OnlyWhere = "",
    category: OnlyCategory = "",
    tags: AllTags = (),
    pinned: Annotated[bool | None, "Only pinned memories, or only others."] = None,
    limit: Annotated[int, "How many at most; 50 is the most."] = MOST,
    cursor: Annotated[str, "nextCursor of the page before."] = "",
    projectId: OnlyProject = "",
    agentId: OnlyAgent = "",
) -> Answer:
    """List memories that have not expired, newest first."""
    _check_limit(limit)
    categories = Categories(asks)
    page = kept(
        asks,
        lambda memory: categories.fits(memory, category),
        limit=min(limit, MOST),
        after=_cursor(cursor),
        tag=list(tags),
        pinned=pinned,
        **_where(asks, category, scope, projectId, agentId),
    )
    rows = [row(memory, categories) for memory in page.memories]
    return as_json({"memories": rows, "nextCursor": page.next, "hasMore": page.next is not None})


@SHELF.tool(name="get")
def get_memory(
    asks: Asks,
    *,
    id: Id = "",
    key: Key = "",
    scope: Where = "global",
    projectId: ProjectId = "",
    agentId: AgentId = "",
) -> Answer:
    """Get one memory by its id, or by its key and scope: your own that save updates, or else the newest."""
    if id:
        return as_json({"memory": row(_readable(asks, id), Categories(asks))})
    if not key.strip():
        raise Refused("Neither id nor key was given.", "Give one of them.")
    place = _place(asks, scope, projectId, agentId)
    found = kept(asks, loud(asks), limit=EVERYTHING, scope=place, key=key.strip()).memories
    if not found:
        raise NotFound(f"There is no memory with the key {key!r} in this scope.", "See what there is with list.")
    mine = [memory for memory in found if memory.owner == asks.caller.owner]
    named = [memory for memory in mine if not memory.apart]  # what was created beside has the key, and is not it
    return as_json({"memory": row((named or mine or found)[0], Categories(asks))})


@SHELF.tool(writes=True, idempotent=True)
def update(
    asks: Asks,
    *,
    id: Id,
    value: Annotated[str | None, "The new content."] = None,
    summary: Annotated[str | None, "The new summary; an empty one clears it."] = None,
    category: Annotated[str | None, "The new category."] = None,
    tags: Annotated[Sequence[str] | None, "The new tags; [] clears them."] = None,
    importance: Importance = None,
    pinned: Pinned = None,
    expiresAt: ExpiresAt = None,
    sources: Annotated[Sequence[Mapping[str, Any]] | None, "The new sources; [] clears them."] = None,
) -> Answer:
    """Change a memory; what is not given stays as it is."""
    _check_value(value or "")
    categories = Categories(asks)
    emptied = (("summary", summary), ("tag", tags), ("valid_until", expiresAt))
    made = asks.made_in(Context(tool="update", word=categories.word(category)))
    answer = made.ask(
        "revise",
        _readable(asks, id, expired=True).id,
        text=value,
        source="manual",
        summary=summary or None,
        kind=categories.kind(category),
        tag=list(tags) if tags else None,
        cite=None if sources is None else _cited(sources),
        importance=importance,
        pinned=pinned,
        valid_until=_time(expiresAt),
        clear=[name for name, said in emptied if said is not None and not said],
    )
    return _saved(asks, answer)


@SHELF.tool(writes=True, destructive=True, idempotent=True)
def delete(asks: Asks, *, id: Id) -> Answer:
    """Delete a memory: it is hidden from every read, and a person can restore it or erase it for good."""
    memory = _readable(asks, id, expired=True)
    asks.ask("forget", memory.id, reason="delete")
    restore = asks.says(f"To bring it back, a person runs: engram restore {memory.handle}")
    return as_json({"deleted": True, "id": memory.id, "hint": restore})


@SHELF.tool(writes=True)
def save_learning_insight(
    asks: Asks,
    *,
    category: Annotated[str, f"One of: {', '.join(INSIGHTS)}."],
    insight: Annotated[str, "What you noticed about how the person works, in a short sentence."],
    source: Annotated[str, "Where it was noticed."] = "conversation",
    confidence: Annotated[float | None, "How sure you are, 0 to 1."] = None,
) -> Answer:
    """Save what you noticed about how the person works. It is theirs alone, and no recall shows it."""
    word = re.sub("[ -]+", "_", category.strip().lower())
    kept = asks.ask("insights_save", insight, category=word, source=source, confidence=confidence).memory
    return as_json({"insight": insight_row(kept)})


def failed(error: EngramError) -> Answer:
    """An error with its code in capitals, as clients of the other system know it."""
    code = CODES.get(error.code, error.code.upper())
    body = {"error": {"code": code, "message": error.message, "hint": error.hint}}
    return Answer(json.dumps(body, ensure_ascii=False), body)


def _place(asks: Asks, scope: str, project: str, agent: str) -> Scope:
    """The scope of ours: where a memory is saved, or looked for by its key.

    Raises:
        Refused: when there is no such project or agent to speak of.
    """
    workspace = asks.caller.workspace or ""
    if scope == "global":
        return replace(GLOBAL, workspace=workspace)
    if scope == "agent":
        caller = asks.caller
        # Where several people have agents, those that do not say their name share nothing.
        known = "" if caller.agent == UNNAMED and caller.owner else caller.agent
        if not (name := agent or known):
            raise Refused(
                "No agent is known here.", "Give agentId, or the agent's name in the header Engram-Agent."
            )
        return _named("agent", name, workspace)
    if project:
        return _named("project", project, workspace)
    if asks.home.level != "project":
        raise Refused("There is no current project here.", "Give projectId, or use the scope global.")
    return asks.home


def _named(level: str, name: str, workspace: str) -> Scope:
    try:
        return Scope(level, name, workspace)
    except Invalid:
        raise Refused(
            f"{level}Id cannot be {name!r}.", "Give one line without @ and without spaces around."
        ) from None


def _where(asks: Asks, category: str, scope: str, project: str, agent: str) -> dict[str, Any]:
    """What a question is narrowed to: one scope of those in view, and the kinds a category may be kept as."""
    level = scope or ("project" if project else "agent" if agent else "")
    where: dict[str, Any] = {"scope": _place(asks, level, project, agent)} if level else {}
    return where | ({"kind": Categories(asks).kinds(category)} if category.strip() else {})


def _cited(sources: Sequence[Mapping[str, Any]]) -> list[Citation]:
    """The messages and sessions that a memory links back to, as citations.

    Raises:
        Refused: when one of them is something else.
    """
    cited = []
    for one in sources:
        kind, ref = one.get("type"), one.get("id")
        if kind not in TALKS or not isinstance(ref, str) or not ref.strip() or len(one) > len(("type", "id")):
            raise Refused(
                "A source is a message or a session.", 'Give {"type": "message", "id": "…"}, or a session.'
            )
        check_text("the id of a source", ref, limit=LIMITS["ref"])
        cited.append(Citation(kind, ref.strip()))
    return cited


def _unlike(
    shown: Mapping[str, Any], said: Mapping[str, Any], category: str, cited: list[Citation]
) -> dict[str, Any]:
    """What a save says beside a value that was there already, where the row is not so yet: a repeat only adds."""
    rest: dict[str, Any] = {}
    if said["summary"] not in (None, shown["summary"]):
        rest["summary"] = said["summary"]
    if category not in ("", shown["category"]):
        rest["kind"] = said["kind"]
    if said["tag"] is not None and [*clean_tags(said["tag"])] != shown["tags"]:
        rest["tag"] = said["tag"]
    if cited and [{"type": one.kind, "id": one.ref} for one in cited] != shown["sources"]:
        rest["cite"] = cited
    return rest


def _ending(asks: Asks, place: Scope, key: str, *, ends: bool) -> Memory | None:
    """The caller's memory of this key that has an end; where the end stands (`ends`), only if it has come."""
    wanted = ["expired"] if ends else ["live", "scheduled", "expired"]
    found = asks.ask("list", scope=place, key=key, standing=wanted).memories
    mine = (one for one in found if one.owner == asks.caller.owner and not one.apart)
    return next((one for one in mine if one.valid_until is not None), None)


def _saved(asks: Asks, answer: Remembered) -> Answer:
    outcomes = {
        "new": "created",
        "restored": "created",
        "revised": "updated",
        "repeated": "updated",
        "unchanged": "updated",
        "staged": "created",
    }
    outcome = "pending" if answer.memory.waiting else outcomes.get(answer.outcome, "pending")
    shown = row(answer.memory, Categories(asks))
    if answer.memory.amends:  # a proposal claims no key: what it would change has it
        shown["key"] = asks.ask("get", answer.memory.amends).memories[0].key
    said: dict[str, Any] = {"memory": shown, "outcome": outcome}
    if answer.memory.staged or answer.taken_back:
        said["hint"] = answer.hint
    elif answer.memory.waiting:
        why = answer.memory.held_for or "review"
        said["hint"] = asks.says(f"It waits for a person ({why}): engram review.")
    return as_json(said)


def settled(asks: Asks, memory: Memory, said: str) -> Answer:
    """A memory as it stands after the person was asked about it."""
    outcomes = {"promoted": "updated", "rejected": "rejected"}
    outcome = outcomes.get(memory.status, "pending")
    return as_json({"memory": row(memory, Categories(asks)), "outcome": outcome, "hint": said})


def _readable(asks: Asks, id: str, *, expired: bool = False) -> Memory:
    """The memory of this id, or of the one it had where it was imported from.

    What was deleted is not there, nor is what has expired unless it is asked for.
    """
    absent = NotFound(f"There is no memory {id!r}.", "See what there is with list.")
    try:
        answer = asks.ask("get", id)
    except NotFound:
        try:
            answer = asks.ask("get", foreign_id(PROFILE.name, id))
        except NotFound:
            raise absent from None
    memory = cast("Memory", answer.memories[0])
    gone = {"forgotten", "rejected"} | (set() if expired else {"expired"})
    if standing(memory, answer.at, asks.view) in gone:
        raise absent
    return memory


def _check_said(key: str, value: str) -> None:
    if not key.strip():
        raise Refused("The key is empty.", "Give a short label, such as deploy-day.")
    if not value.strip():
        raise Refused("The value is empty.", "Say what to keep under the key.")
    _check_value(value)


def _check_value(value: str) -> None:
    check_text("value", value, limit=LIMITS["text"], lines=True)


def _time(said: str | None) -> datetime | None:
    return parse_time("expiresAt", said) if said else None


def _weight(memory: Memory) -> tuple[bool, int, float]:
    """What puts one of two equally relevant memories first."""
    return (not memory.pinned, -memory.importance, -memory.updated_at.timestamp())


def _cursor(said: str) -> str | None:
    try:
        _ = said and read_cursor(said)
    except Invalid:
        raise Refused("That is not a cursor.", "Give the nextCursor of the page before, or none.") from None
    return said or None


def _check_limit(limit: int) -> None:
    if limit < 1:
        raise Refused(f"limit is {limit}.", f"Give a number from 1 to {MOST}.")


INSTRUCTIONS = {
    "recall": "recall before you ask the person or guess.",
    "save": (
        "save what a later session should know, under a key: saving the key again updates it. Names, money, people,"
        " health and rules wait until the person approves."
    ),
}

PROMPTS = (
    prompts.session_start("recall", "save"),
    prompts.save_well(
        "save", "Give it a key that names its topic, so that the next word about it updates the same memory."
    ),
)

PROFILE = Profile(
    "keyed",
    "save, recall, list, get, update and delete memories by key; save insights apart.",
    tuple(SHELF),
    failed,
    prompts=PROMPTS,
    instructions=INSTRUCTIONS,
    settled=settled,
)
