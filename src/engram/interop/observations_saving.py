"""The observation tools that save and change: mem_save, mem_update, mem_delete, pins, reviews and topic keys."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any

from engram.errors import EngramError
from engram.interop import observations_finding as finding
from engram.interop import observations_parameters as p
from engram.interop import observations_words as words
from engram.interop.fields import one_line
from engram.interop.tools import Answer, Asks, Refused, Shelf
from engram.model.answers import Remembered
from engram.model.limits import LIMITS, size
from engram.model.memory import Memory
from engram.model.scope import Scope

TOOLS = Shelf()

MOST_CANDIDATES = 3
MOST_REVIEWED = 100
PAGE = 1000


def keep(
    asks: Asks,
    place: words.Place,
    text: str,
    *,
    type: str,
    tool: str,
    scope: str = "project",
    **more: Any,  # noqa: ANN401 - what else `remember` takes
) -> Remembered:
    """Remember an observation of a type, in the place of its scope."""
    kept_in, visibility = words.home_of(place, scope)
    said = {"kind": words.kind_of(type), "scope": str(kept_in), "visibility": visibility, "source": f"tool:{tool}"}
    remembered: Remembered = asks.made_in(words.made_as(type, tool)).ask("remember", text, **said | more)
    return remembered


def session_for(asks: Asks, place: words.Place, session_id: str) -> str:
    """The session a memory is saved in: the one given, the only one under way, or that of saving by hand.

    Nothing is refused for want of a session, nor because several are under way.
    """
    if given := session_id.strip() or asks.caller.session:
        return given
    scope = {"scope": str(place.scope)} if place.name else {}
    open_ones = asks.ask("session_list", open=True, limit=2, **scope).sessions
    if len(open_ones) == 1:
        return str(open_ones[0].name)
    return f"manual-save-{place.name}" if place.name else "manual-save"


def measured(text: str) -> dict[str, Any]:
    """How long a text is and may be. What is too long is refused, so nothing is ever cut."""
    return {"original_bytes": size(text), "limit_bytes": LIMITS["text"], "truncated": False}


def waiting(asks: Asks, saved: Remembered) -> str:
    """What stands in the way of a memory that is not in use yet, and what the save took back of what waited."""
    if saved.memory.staged or saved.taken_back:
        return saved.hint
    if not saved.memory.waiting:
        return ""
    if saved.outcome == "proposed":
        return "It changes what a person approved, so it waits beside it until a person has reviewed it."
    why = saved.memory.held_for.replace("_", " ")
    return asks.says(f"It waits until a person has reviewed it{f' ({why})' if why else ''}: engram review.")


def settled(asks: Asks, memory: Memory, said: str) -> Answer:
    """A memory as it stands after the person was asked about it."""
    return words.enveloped(
        asks,
        words.stored(asks, memory),
        f"Memory #{words.number_of(memory)}: {said}",
        id=words.number_of(memory),
        sync_id=memory.id,
        state=words.state_of(asks, memory, asks.now),
        **words.due(memory),
    )


@TOOLS.tool(writes=True)
def mem_save(
    asks: Asks,
    *,
    title: p.Title,
    content: p.Content = "",
    observation: p.OldContent = "",
    type: p.Type = "manual",
    session_id: p.SessionId = "",
    scope: p.Scope = "project",
    topic_key: p.TopicKey = "",
    project: p.Project = "",
    project_choice_reason: p.Choice = "",
    recovery_token: p.Recovery = "",
    capture_prompt: Annotated[bool, "Accepted and not needed: mem_save_prompt keeps prompts."] = True,
) -> Answer:
    """Save something worth knowing later: a decision, a bug and its cause, a convention, a discovery.

    Do it right after it happened, without being asked. Where the answer lists candidates, judge each of them with
    mem_judge.
    """
    del recovery_token, capture_prompt
    text = content if content.strip() else observation
    words.require_said(title=title, content=text)
    if words.asked_scope(scope) == "project":
        place = words.place_of(asks, project, session_id, project_choice_reason)
        place = place._replace(warning="" if place.name else words.NO_PROJECT)
    else:  # what holds everywhere needs no project
        place = words.place_or_everywhere(asks, project, session_id, project_choice_reason)._replace(warning="")
    word, key = words.word_of(type), _topic(topic_key)
    more: dict[str, Any] = {"decay": words.REVIEWED[word]} if word in words.REVIEWED else {}
    if key and words.kind_of(word) == "summary":
        more["kind"] = "fact"  # each summary is a memory of its own, and a topic is revised
    _check_topic(asks, place, scope, key)
    saved = keep(
        asks,
        place,
        text,
        type=word,
        tool="mem_save",
        scope=scope,
        key=key,
        summary=one_line(title, "summary"),
        session=session_for(asks, place, session_id),
        **more,
    )
    return _saved(asks, place, saved, word)


def _topic(said: str) -> str:
    """A topic key as it is kept."""
    key = words.topic(said)
    if size(key) > LIMITS["key"]:
        raise Refused(f"topic_key is {size(key)} bytes; the limit is {LIMITS['key']}.", "Choose a shorter one.")
    return key


def _check_topic(asks: Asks, place: words.Place, scope: str, key: str) -> None:
    """Check that a topic stays in its scope: what is personal is not shared by the next save under its key.

    Both scopes are the same place here, where one owner has a key once. What was deleted gives its key up to a
    personal memory; what was personal would come back for everybody, with all it had said.
    """
    kept_in, visibility = words.home_of(place, scope)
    if not key or kept_in.level != "global":
        return
    held = asks.ask("list", scope=str(kept_in), key=key, standing=("all",)).memories
    own = [one for one in held if one.owner == asks.caller.owner and one.status != "rejected" and not one.apart]
    if not (other := [one for one in own if one.visibility != visibility]):
        return
    one = other[0]
    name, scope_of = f"Memory #{words.number_of(one)}", words.scope_of(one)
    if one.forgotten_at is None:
        raise Refused(
            f"{name} has the topic_key {key}, in scope {scope_of}.",
            "Choose another topic_key. mem_update with scope changes who reads that one.",
        )
    if visibility != "private":
        raise Refused(
            f"{name}, which was deleted, has the topic_key {key}, in scope {scope_of}.",
            "Choose another topic_key."
            f" It is free when that one is erased; ask the person to run: engram purge {one.called} --confirm",
        )


def _saved(asks: Asks, place: words.Place, saved: Remembered, type: str) -> Answer:
    memory = saved.memory
    candidates = list(_candidates(saved))
    title, kept_as = words.title_of(memory), words.type_of(memory)  # as it is kept: what is private was taken out
    lines = [f'Memory saved: "{title}" ({kept_as}) as #{words.number_of(memory)}, {saved.outcome}.']
    if memory.amends:
        changes = asks.ask("get", memory.amends).memories[0]
        topic = f", topic_key {changes.key}" if changes.key else ""
        lines.append(f"It would change memory #{words.number_of(changes)}{topic}.")
    elif not memory.key:
        with suppress(EngramError):  # a suggestion is no part of the saving
            suggested = asks.ask(
                "suggest_key", text=memory.text, summary=memory.summary, kind=type, scope=str(memory.scope)
            )
            lines.append(f"Suggested topic_key: {suggested.key}")
    if saved.redacted:
        lines.append(f"Taken out before saving: {', '.join(saved.redacted)}.")
    more: dict[str, Any] = {}
    if candidates:
        lines.append(
            f"{len(candidates)} known about the same. Judge each with mem_judge, by its judgment_id; ask the person"
            " where you are unsure."
        )
        more = {
            "judgment_status": "pending",
            "judgment_id": candidates[0]["judgment_id"],
            "candidates": candidates,
        }
    return words.enveloped(
        asks,
        place,
        lines,
        warning=waiting(asks, saved),
        id=words.number_of(memory),
        sync_id=memory.id,
        state=words.state_of(asks, memory, saved.at),
        **words.due(memory),
        truncation=measured(memory.text),
        judgment_required=bool(candidates),
        **more,
    )


def _candidates(saved: Remembered) -> Iterator[dict[str, Any]]:
    """Up to three memories of the same place that may say the same or the opposite, of which nobody judged yet."""
    memory = saved.memory
    rivals = [(one, 1.0) for one in saved.conflicts] + [(one.memory, one.score) for one in saved.candidates]
    here = [(one, score) for one, score in rivals if (one.scope, words.scope_of(one)) == _place(memory)]
    for other, score in here[:MOST_CANDIDATES]:
        candidate = {
            "id": words.number_of(other),
            "sync_id": other.id,
            "title": words.title_of(other),
            "type": words.type_of(other),
            "score": round(score, 4),
            "judgment_id": f"{memory.id}~{other.id}",
        }
        yield candidate | ({"topic_key": other.key} if other.key else {})


def _place(memory: Memory) -> tuple[Scope, str]:
    return memory.scope, words.scope_of(memory)


@TOOLS.tool(writes=True)
def mem_update(
    asks: Asks,
    *,
    id: p.Id,
    title: p.NewTitle = "",
    content: p.NewContent = "",
    type: p.Type = "",
    scope: Annotated[str, "personal or global, for what holds everywhere: to stop or begin sharing it."] = "",
    topic_key: p.TopicKey = "",
    find: Annotated[str, "A piece of the content, word for word; with replace."] = "",
    replace: Annotated[str | None, "What stands in its place, wherever it occurs."] = None,
    expected_project: p.Expected = "",
    project: Annotated[str, "An older name of expected_project: a memory stays in its project."] = "",
) -> Answer:
    """Change a memory by its number: its title, content, type, scope or topic_key, or find and replace a piece."""
    old = finding.owned(asks, id, expected_project.strip() or project)
    changes = _changes(old, title, _replaced(old.text, content, find, replace), type, scope)
    key = _new_key(asks, old, topic_key)
    if not changes and not topic_key.strip():
        raise Refused(
            "There is nothing to update.", "Give title, content, type, scope, topic_key, or find and replace."
        )
    now, proposed, warning = _changed(asks, old, changes, key)
    number, kept_as = words.number_of(old), words.type_of(now)
    named = f'#{number} "{words.title_of(now)}" ({kept_as})'
    told, more = f"Memory updated: {named}, revision {now.revision}.", {}
    if proposed:
        told = f"Change proposed: #{words.number_of(proposed)} would change {named}."
        more = {"proposal_id": words.number_of(proposed)}
    if not warning and type.strip() and words.word_of(type) != kept_as:
        warning = f"It goes by the type {kept_as} still: another word for the same kind is given when it is saved."
    return words.enveloped(
        asks,
        words.stored(asks, now),
        told,
        warning=warning,
        id=number,
        **more,
        sync_id=now.id,
        state=words.state_of(asks, now, asks.now),
    )


def _changes(old: Memory, title: str, text: str | None, type: str, scope: str) -> dict[str, Any]:
    """What `revise` is asked for; a title stays when the text alone is new."""
    changes: dict[str, Any] = {} if text is None else {"text": text, "source": "tool:mem_update"}
    if title.strip() or (text is not None and old.summary):
        changes["summary"] = one_line(title, "summary") if title.strip() else old.summary
    if type.strip():
        changes["kind"] = words.kind_of(words.word_of(type))
    if scope.strip():
        changes["visibility"] = _visibility(old, scope)
    return changes


def _changed(asks: Asks, old: Memory, changes: dict[str, Any], key: str) -> tuple[Memory, Memory | None, str]:
    """The memory after the change, what is only proposed for it, and what the client should know about that."""
    if not changes and not key:
        return old, None, ""
    revised = asks.ask("revise", old.id, key=key, **changes)
    if revised.memory.id != old.id:  # whatever waits beside it, it is as it was
        return old, revised.memory, waiting(asks, revised)
    return revised.memory, None, waiting(asks, revised)


def _replaced(old: str, content: str, find: str, replace: str | None) -> str | None:
    """The new text, or None where it stays."""
    if bool(find) != (replace is not None):
        raise Refused("find and replace go together.", "Give both, or content alone.")
    if find and content.strip():
        raise Refused("Either content or find and replace, not both.", "Give one of the two.")
    if find and find not in old:
        raise Refused(f"The content does not hold {words.cut(find, 80)!r}.", "It is compared letter by letter.")
    if find:
        return old.replace(find, replace or "")
    return content if content.strip() else None


def _visibility(old: Memory, scope: str) -> str:
    wanted = words.asked_scope(scope)
    if (wanted == "project") != (words.scope_of(old) == "project"):
        raise Refused(
            f"A memory stays where it was saved, in {old.scope}.",
            f"Save it again with scope {wanted}, and delete this one with mem_delete.",
        )
    return {"personal": "private", "global": "shared"}.get(wanted, old.visibility)


def _new_key(asks: Asks, old: Memory, topic_key: str) -> str:
    """The key to be given, "" where none is."""
    key = _topic(topic_key)
    if not key or key == old.key:
        return ""
    if old.key:
        raise Refused(
            f"Memory #{words.number_of(old)} has the topic_key {old.key}, which stays.",
            "Save it again under the new topic_key, and delete this one with mem_delete.",
        )
    held = asks.ask("list", scope=old.scope, key=key, standing=("all",)).memories
    if mine := [one for one in held if one.owner == old.owner]:
        raise Refused(
            f"Memory #{words.number_of(mine[0])} has the topic_key {key} already.",
            "Save what is new under it with mem_save, or choose another one.",
        )
    return key


@TOOLS.tool(writes=True, destructive=True)
def mem_delete(
    asks: Asks,
    *,
    id: p.Id,
    hard_delete: Annotated[bool, "Erasing for good is a person's act: this is refused, and says how."] = False,
    expected_project: p.Expected = "",
) -> Answer:
    """Delete a memory: it is hidden from every search, and a person can bring it back."""
    memory = finding.owned(asks, id, expected_project, deleted=hard_delete)
    if hard_delete:
        way = "It is hidden. Ask" if memory.forgotten_at else "Leave hard_delete out to hide it, or ask"
        raise Refused(
            "Only a person erases a memory for good.",
            f"{way} the person to run: engram purge {memory.handle} --confirm",
            error_code="forbidden",
        )
    asks.ask("forget", memory.id, reason="mem_delete")
    return Answer(f'Memory #{int(id)} "{words.title_of(memory)}" deleted. A person can restore it.')


@TOOLS.tool(writes=True, idempotent=True)
def mem_pin(asks: Asks, *, id: p.Id) -> Answer:
    """Pin a memory: it stands at the top of every context."""
    return _pinned(asks, id, pinned=True)


@TOOLS.tool(writes=True, idempotent=True)
def mem_unpin(asks: Asks, *, id: p.Id) -> Answer:
    """Take a memory from the top of every context."""
    return _pinned(asks, id, pinned=False)


def _pinned(asks: Asks, id: float, *, pinned: bool) -> Answer:
    memory = finding.owned(asks, id)
    if memory.pinned != pinned:
        asks.ask("revise", memory.id, pinned=pinned)
    said = f"Memory #{int(id)} {'pinned' if pinned else 'unpinned'}."
    return words.told({"result": said, "id": int(id), "sync_id": memory.id, "pinned": pinned})


@TOOLS.tool(writes=True)
def mem_review(
    asks: Asks,
    *,
    action: Annotated[str, "list what needs review, or mark_reviewed."],
    project: Annotated[str, "For list: only this project. Default: all of them."] = "",
    limit: Annotated[float, "For list: how many at most; default 10."] = 10,
    observation_id: Annotated[float, "For mark_reviewed: the number of the memory."] = 0,
    id: p.OldId = 0,
) -> Answer:
    """Look at memories that have not been confirmed for long, and confirm those that still hold."""
    if action == "list":
        return _to_review(asks, project, words.count(limit, 10, MOST_REVIEWED))
    if action != "mark_reviewed":
        raise Refused(f"action cannot be {action!r}.", "Use list or mark_reviewed.")
    memory = finding.owned(asks, observation_id or id)
    done = asks.ask("verify", memory.id)
    now = done.memories[0]
    number = words.number_of(memory)
    return words.enveloped(
        asks,
        words.stored(asks, now),
        f"Memory #{number} reviewed.",
        id=number,
        sync_id=now.id,
        state=words.state_of(asks, now, done.at),
        **words.due(now),
    )


def _to_review(asks: Asks, project: str, limit: int) -> Answer:
    place = words.place_of(asks, project) if project.strip() else words.ALL
    where = {"scope": str(place.scope)} if place.name else {"everywhere": True}
    page = asks.ask("list", standing=("stale",), limit=PAGE, **where)
    listed = list(page.memories)
    while page.next:
        page = asks.ask("list", standing=("stale",), limit=PAGE, after=page.next, **where)
        listed += page.memories
    listed.sort(key=lambda memory: str(memory.stale_at))  # the longest overdue first
    names = ("id", "sync_id", "title", "type", "state", "project", "review_after")
    rows = [words.row(asks, memory, page.at) for memory in listed[:limit]]
    rows = [{name: row[name] for name in names if name in row} for row in rows]
    return words.enveloped(asks, place, f"{len(listed)} need review, {len(rows)} shown.", observations=rows)


@TOOLS.tool()
def mem_suggest_topic_key(asks: Asks, *, title: p.Title = "", content: p.Content = "", type: p.Type = "") -> Answer:
    """Suggest a topic_key, so that later words about the same topic revise the same memory."""
    if not (title.strip() or content.strip()):
        raise Refused("title or content is required.", "Say what the topic is.")
    suggested = asks.ask(
        "suggest_key", summary=title, text=content, kind=words.word_of(type), scope=str(finding.somewhere(asks))
    )
    return Answer(f"Suggested topic_key: {suggested.key}")
