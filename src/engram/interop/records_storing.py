"""The record tools that store and change: store_memory, update_memory, store_discovery, store_rule and kin."""

from collections.abc import Sequence
from typing import Annotated, Any, cast

from engram.errors import Conflict
from engram.interop import records_parameters as p
from engram.interop.records_checks import (
    LONGEST_RULE,
    SOURCES,
    Stored,
    check_content,
    check_discovery,
    check_ids,
    check_rule,
    check_rule_summary,
    check_stored,
    check_summary,
    check_tags,
    citations_of,
    refuse,
    require,
    window_of,
)
from engram.interop.records_finding import UUID, got, missing, own, own_or_none, rows_for
from engram.interop.records_rows import DISCOVERIES, DISCOVERY, FAMILIES, MADE, Place, label_of, told_to
from engram.interop.tools import Answer, Asks, Shelf
from engram.interop.values import as_json
from engram.model.answers import Remembered
from engram.model.memory import Context, Memory
from engram.model.text import digest

TOOLS = Shelf()

READERS = {
    "agent": "sessions of that agent can read it",
    "session": "what holds in one session is not read by others",
}
"""Level of a scope → who reads what is shared there, where it is not everybody in reach."""

SAID = ("content", "scope", "source", "category")
MORE = (
    *("tags", "repo", "workspace", "worktree_path", "base_dir", "summary", "citations"),
    "idempotency_key",
)


@TOOLS.reading(Stored, *SAID, *MORE)
def store_memory(asks: Asks, said: Stored) -> Answer:
    """Store a memory. content, scope, source and category are required. Discoveries go to store_discovery."""
    return _stored(asks, _store(asks, said, "store_memory"))


@TOOLS.reading(Stored, *SAID, "not_before", "not_after", *MORE)
def schedule_memory(asks: Asks, said: Stored) -> Answer:
    """Store a memory that holds only within a time window: give not_before, not_after or both."""
    check_stored(said)
    begin, end = window_of(said.not_before, said.not_after)
    if end is not None and end <= asks.now:
        raise refuse("not_after", "out_of_range", "not_after must be in the future")
    return _stored(asks, _store(asks, said, "schedule_memory", valid_from=begin, valid_until=end))


@TOOLS.reading(Stored, *SAID, "supersedes", "validate_only", *MORE, idempotent=True)
def supersede_memory(asks: Asks, said: Stored) -> Answer:
    """Store a memory that takes the place of others of your own."""
    targets = _targets(asks, said, check_stored(said).at(asks.caller))
    ids = [memory.id for memory in targets]
    if said.validate_only:
        return as_json({"validated": True, "supersedes": ids, "targets": [*map(rows_for(asks), targets)]})
    answer = _store(asks, said, "supersede_memory", replaces=ids)
    stored = _stored(asks, answer)
    now = asks.ask("get", ids).memories
    waiting = sum(memory.replaced_by != answer.memory.id for memory in now)
    done = [f"Superseded {len(ids) - waiting}."] if waiting < len(ids) else []
    done += [f"{waiting} of what it supersedes stay in use until a person has decided."] if waiting else []
    return Answer(" ".join((stored.text, *done)), {**(stored.structured or {}), "supersedes": ids})


@TOOLS.tool(writes=True, destructive=True, idempotent=True)
def update_memory(
    asks: Asks,
    *,
    id: p.Id = "",
    content: Annotated[str, "The new content; it stays as it is unless given."] = "",
    shared: Annotated[bool | None, "Share it with others, or keep it private."] = None,
    tags: Annotated[Sequence[str] | None, "The new tags; [] clears them."] = None,
    summary: Annotated[str | None, "The new summary; an empty one clears it."] = None,
) -> Answer:
    """Replace a record's content, tags, summary or visibility, whatever is given. Only the owner can."""
    memory = own(asks, id)
    rule = memory.kind == "rule"
    if shared is None and tags is None and summary is None:
        require("content", content)
    if said := content.strip():
        check_content(content, summary or "", **({"most": LONGEST_RULE} if rule else {}))
    check_summary(summary or "")
    check_tags(tags or ())
    if rule and summary is not None:
        check_rule_summary(summary)
    if rule and shared is False:
        raise refuse("shared", "not_applicable", "a rule is shared and stays so")
    if memory.summary and summary is None and said and content != memory.text:
        raise refuse(
            "summary", "conditional_required", "the summary belongs to the old content: give one or clear it"
        )
    cleared = [name for name, value in (("summary", summary), ("tag", tags)) if value is not None and not value]
    # Where a record belongs is its client's word, not that of whoever changes its content.
    made = asks.made_in(Context(tool="update_memory", **{name: getattr(memory.context, name) for name in MADE}))
    answer = made.ask(
        "revise",
        memory.id,
        text=content if said else None,
        source="tool:update_memory",
        summary=summary or None,
        tag=list(tags) if tags else None,
        visibility=None if shared is None else _visibility(shared=shared),
        clear=cleared,
    )
    return _stored(asks, answer, "Updated")


@TOOLS.tool(writes=True, idempotent=True)
def set_visibility(
    asks: Asks, *, id: p.Id = "", shared: Annotated[bool | None, "Readable by others, or private."] = None
) -> Answer:
    """Share a record of your own with others for reading, or make it private again."""
    memory = own(asks, id)
    if shared is None:
        raise refuse("shared", "required", "shared is required")
    if memory.kind == "rule":
        raise refuse("id", "not_applicable", "a rule is shared and stays so")
    asks.ask("revise", memory.id, visibility=_visibility(shared=shared))
    readers = READERS.get(memory.scope.level, "others can read it")
    return Answer(f"{memory.handle} is {f'shared: {readers}' if shared else 'private'} now.")


@TOOLS.tool(writes=True)
def store_discovery(
    asks: Asks,
    *,
    content: p.Content = "",
    kind: p.DiscoveryKind = "",
    citations: p.Citations = (),
    scope: Annotated[str, "discovery:repo:NAME."] = "",
    tags: p.Tags = (),
    summary: p.Summary = "",
    id: Annotated[str, "Replace this discovery instead of storing a new one."] = "",
) -> Answer:
    """Store what you found out about a codebase, with the sources it rests on (1 to 50 citations)."""
    place = check_discovery(content, kind, scope, summary, tags).at(asks.caller)
    cites = citations_of(citations, least=1)
    said: dict[str, Any] = {
        "kind": DISCOVERIES[kind],
        "summary": summary or None,
        "cite": cites,
        "source": "tool:store_discovery",
    }
    if (known := _replaced(asks, id)) is not None:
        if known.kind not in FAMILIES[DISCOVERY]:
            raise refuse("id", "not_applicable", "this record is not a discovery")
        _check_stays(asks, known, place)
        cleared = [] if summary else ["summary"]
        answer = asks.ask("revise", known.id, text=content, tag=list(tags), clear=cleared, **said)
        return _stored(asks, answer, "Replaced")
    made = asks.made_in(Context(tool="store_discovery"))
    where = {"scope": place.scope, "key": id.lower()}
    return _stored(asks, made.ask("remember", content, tag=list(tags) or None, **where, **said))


@TOOLS.tool(writes=True)
def store_rule(
    asks: Asks,
    *,
    content: Annotated[str, "The rule; at most 8 KiB."] = "",
    scope: Annotated[str, "rule:repo:NAME or rule:project:NAME."] = "",
    summary: Annotated[str, "The rule in one line; at most 256 bytes."] = "",
    tags: p.Tags = (),
    id: Annotated[str, "Replace this rule instead of storing a new one."] = "",
) -> Answer:
    """Store a rule the user has agreed to. It waits until a person has approved it in Engram."""
    place = check_rule(content, scope, summary, tags).at(asks.caller)
    if (known := _replaced(asks, id)) is not None:
        if known.kind != "rule":
            raise refuse("id", "not_applicable", "this record is not a rule")
        _check_stays(asks, known, place)
        cleared = [] if tags else ["tag"]
        answer = asks.ask(
            "revise",
            known.id,
            text=content,
            source="tool:store_rule",
            summary=summary,
            tag=list(tags) or None,
            clear=cleared,
        )
        return _stored(asks, answer, "Replaced")
    made = asks.made_in(Context(tool="store_rule"))
    answer = made.ask(
        "remember",
        content,
        kind="rule",
        scope=place.scope,
        key=id.lower(),
        summary=summary,
        tag=list(tags) or None,
        origin="said",
        visibility="shared",
        source="tool:store_rule",
    )
    return _stored(asks, answer)


def _store(asks: Asks, said: Stored, tool: str, **more: Any) -> Remembered:  # noqa: ANN401 - arguments of remember
    place = check_stored(said).at(asks.caller)
    made = Context(
        repo=said.repo,
        workspace=said.workspace,
        worktree_path=said.worktree_path,
        base_dir=said.base_dir,
        tool=tool,
    )
    arguments: dict[str, Any] = {
        "kind": said.category,
        "scope": place.scope,
        "summary": said.summary or None,
        "tag": list(said.tags) or None,
        "cite": citations_of(said.citations),
        "origin": SOURCES[said.source],
        "source": f"tool:{tool}",
        "token": said.token,
    }
    try:
        return cast("Remembered", asks.made_in(made).ask("remember", said.content, **arguments, **more))
    except Conflict as error:
        if said.token and "token" in error.message:  # the one conflict that this client's own word is for
            raise refuse("idempotency_key", "conflict", "this key was used for another record") from None
        raise


def _stored(asks: Asks, answer: Remembered, done: str = "Stored") -> Answer:
    """A short confirmation with the ids, and whatever else the caller should know."""
    memory = answer.memory
    told = {"repeated": "Known already", "restored": "Stored again"}.get(answer.outcome, done)
    notes = [f"{told}: {_ids(memory)}"]
    if memory.staged:
        notes.append(f"It holds on the branch {memory.branch.rpartition('#')[2]} until that is merged.")
    elif memory.waiting:
        against = ", ".join(one.handle for one in answer.conflicts)
        notes.append(f"It contradicts {against}." if against else "")
        notes.append(asks.says(f"It waits for a person ({memory.held_for or 'review'}): engram review."))
    if answer.redacted:
        notes.append(f"Taken out before it was stored: {', '.join(dict.fromkeys(answer.redacted))}.")
    if answer.taken_back:
        notes.append(answer.hint)
    return Answer(" ".join(note for note in notes if note), _named(memory))


def settled(asks: Asks, memory: Memory, said: str) -> Answer:
    """A record as it stands after the person was asked about it."""
    del asks
    return Answer(f"{said} {_ids(memory)}", _named(memory))


def _ids(memory: Memory) -> str:
    return f"id={memory.id} short_id={memory.handle}."


def _named(memory: Memory) -> dict[str, Any]:
    waits = {"waits_for_review": memory.held_for or "review"} if memory.waiting else {}
    return {"id": memory.id, "short_id": memory.handle, **waits}


def _replaced(asks: Asks, id: str) -> Memory | None:
    """The record to be replaced; None where a new one is stored, be it under a UUID that its owner chose."""
    if id and (known := own_or_none(asks, id)) is not None:
        return known
    if id and (not UUID.fullmatch(id) or ((found := got(asks, id)) is not None and found.key != id.lower())):
        raise missing(id)  # nor is another's replaced by one of the caller's own that goes by its id
    return None


def _check_stays(asks: Asks, known: Memory, place: Place) -> None:
    """Check that what is replaced is asked for where it is: a record does not move."""
    if known.scope != place.scope:
        label = label_of(told_to(asks.caller, known))
        raise refuse("scope", "not_applicable", f"{known.handle} stays in {label}: give that scope, or no id")


def _targets(asks: Asks, said: Stored, place: Place) -> list[Memory]:
    """The records to supersede, checked class by class in a fixed order."""
    check_ids("supersedes", said.supersedes)
    found = {ref: own_or_none(asks, ref) for ref in said.supersedes}
    if absent := [ref for ref, memory in found.items() if memory is None]:
        raise refuse("supersedes", "not_found", missing(*absent).message)
    targets = list({memory.id: memory for memory in found.values() if memory is not None}.values())
    if any(memory.kind == "rule" for memory in targets):
        raise refuse("supersedes", "not_applicable", "a rule is replaced by store_rule with its id")
    for memory in targets:
        if memory.replaced_by and not _says(asks, memory.replaced_by, said.content):
            raise refuse("supersedes", "not_applicable", f"{memory.handle} is superseded already")
        if memory.scope == place.scope and memory.digest == digest(said.content):
            raise refuse("content", "not_applicable", f"{memory.handle} says the same already")
    return targets


def _says(asks: Asks, id: str, content: str) -> bool:
    """Whether a record says just this: then superseding by it was asked for before."""
    memory = own_or_none(asks, id)
    return memory is not None and memory.digest == digest(content)


def _visibility(*, shared: bool) -> str:
    return "shared" if shared else "private"
