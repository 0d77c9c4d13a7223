"""The observation tools that find and show: mem_search, mem_get_observation, mem_timeline and mem_context."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, NamedTuple

from engram.errors import Conflict, NotFound
from engram.interop import observations_parameters as p
from engram.interop import observations_words as words
from engram.interop.tools import Answer, Asks, Refused, Shelf
from engram.model.answers import Recollection
from engram.model.answers_work import Relatives
from engram.model.limits import cut, size
from engram.model.marks import END
from engram.model.memory import Memory
from engram.model.scope import GLOBAL, Scope

TOOLS = Shelf()

MOST_HITS = 20
ASKED = 50
"""So many hits are asked for, since some may have to be left out afterwards: as many as there may be."""

PREVIEW = 300
MOST_RELATIVES = 64
MOST_AROUND = 50
MOST_COUNTED = 1000
SUMMED_UP = 100
VERSIONS_PAGE = 50
FEWEST_TOKENS = 50
MOST_NAMES = 8
NOTHING = "No previous session memories found."
VERDICTS = ("supersedes", "superseded_by", "conflicts", "related", "compatible", "scoped", "unrelated")


def owned(asks: Asks, id: float, project: str = "", *, deleted: bool = False) -> Memory:
    """The memory of a number, if it belongs to the project it is expected in; a deleted one only where asked for.

    Raises:
        NotFound: when there is none.
        Refused: when it belongs to another project.
    """
    memory = _fetched(asks, id, deleted=deleted)[0]
    if project.strip() and not words.is_called(memory.scope, project):
        raise Refused(
            f"Memory #{int(id)} does not belong to project {project!r}.",
            "Look at it with mem_get_observation first.",
            error_code="project_mismatch",
        )
    return memory


def _fetched(asks: Asks, id: float, *, deleted: bool = False) -> tuple[Memory, datetime]:
    try:
        shown = asks.ask("get", words.ref_of(id))
    except NotFound:
        raise NotFound(f"There is no memory #{int(id)}.", "Look for it with mem_search.") from None
    memory: Memory = shown.memories[0]
    if memory.forgotten_at is not None and not deleted:
        raise NotFound(
            f"Memory #{int(id)} was deleted.", f"A person can bring it back: engram restore {memory.handle}."
        )
    return memory, shown.at


@TOOLS.tool()
def mem_search(
    asks: Asks,
    *,
    query: Annotated[str, "What you want to know, in any words; or a topic key."],
    type: p.TypeFilter = "",
    project: p.Project = "",
    scope: p.ScopeFilter = "",
    limit: p.Limit = 10,
    all_projects: Annotated[bool, "Search every project, whatever project says."] = False,
    match_mode: Annotated[str, "all (default), or any: also show what came near but is hardly relevant."] = "all",
    response_format: Annotated[str, "compact lists results alone, with previews and relations."] = "",
) -> Answer:
    """Search what is known, best first, with previews; mem_get_observation shows one in full."""
    _require_one_of("match_mode", match_mode, ("", "all", "any"))
    _require_one_of("response_format", response_format, ("", "compact"))
    words.require_said(query=query)
    within = words.asked_scope(scope)
    everywhere = all_projects or (within == "personal" and not project.strip())
    place = words.ALL if everywhere else words.place_or_everywhere(asks, project)
    wanted = _Wanted(words.word_of(type) if type.strip() else "", within if scope.strip() else "")
    asked = _where(asks, place, wanted) | {"weak": match_mode == "any", "limit": ASKED}
    found = asks.ask("recall", query, **asked)
    hits = [hit.memory for hit in _keyed_first(asks, query, asked, found.hits) if wanted.fits(hit.memory)]
    hits = hits[: words.count(limit, 10, MOST_HITS)]
    relations = [list(verdicts(asks, memory)) for memory in hits]
    rows = [words.row(asks, memory, found.at) for memory in hits]
    if response_format == "compact":
        rows = [
            listed | _compact(memory, edges) for listed, memory, edges in zip(rows, hits, relations, strict=True)
        ]
        return words.enveloped(asks, place, f"{len(hits)} found.", results=rows)
    shown = [_shown(at, memory, edges) for at, (memory, edges) in enumerate(zip(hits, relations, strict=True), 1)]
    lines = [f"Found {len(hits)}:" if hits else f"No memories found for: {query!r}", *shown]
    if any(len(memory.text) > PREVIEW for memory in hits):
        lines.append("What ends in [preview] goes on: mem_get_observation shows all of it.")
    if stale := found.held_back.get("stale"):
        lines.append(f"{stale} more need review before they count: mem_review.")
    return words.enveloped(asks, place, lines, results=rows)


class _Wanted(NamedTuple):
    """What a search is narrowed to: as far as recall cannot be asked for it, by a look at each hit.

    That is the word of a type where its kind has several, and whether what holds everywhere is shared.
    """

    type: str
    scope: str

    def fits(self, memory: Memory) -> bool:
        return self.type in ("", words.type_of(memory)) and self.scope in ("", words.scope_of(memory))


def _where(asks: Asks, place: words.Place, wanted: _Wanted) -> dict[str, Any]:
    """The view that recall is asked for: everything, one project, or the current one and what holds everywhere."""
    where: dict[str, Any] = {}
    if wanted.type:
        kinds = {words.kind_of(wanted.type)} | {kind for kind, type in words.TYPES.items() if type == wanted.type}
        where["kind"] = sorted(kinds)
    if wanted.scope in ("personal", "global"):
        workspace = (somewhere(asks) if place is words.ALL else place.scope).workspace
        return where | {"scope": Scope(workspace=workspace)}
    if place is words.ALL:
        return where | {"everywhere": True}
    if place.name and (wanted.scope == "project" or place.scope != somewhere(asks)):
        return where | {"scope": str(place.scope)}
    return where


def somewhere(asks: Asks) -> Scope:
    """The current scope; where nobody can tell which that is, everywhere."""
    try:
        return asks.home
    except Conflict:
        return GLOBAL


def _keyed_first(
    asks: Asks, query: str, asked: dict[str, Any], hits: tuple[Recollection, ...]
) -> list[Recollection]:
    """The hits, the memory whose topic key the query is before all others."""
    if "/" not in query:
        return list(hits)
    where = {name: value for name, value in asked.items() if name in ("scope", "everywhere", "kind")}
    listed = asks.ask("list", key=words.topic(query), **where).memories
    first = {memory.id: Recollection(memory, 1.0, 1.0, {"key": 1.0}, 0) for memory in listed}
    return [*first.values(), *(hit for hit in hits if hit.memory.id not in first)]


def verdicts(asks: Asks, memory: Memory) -> Iterator[tuple[Memory, tuple[str, ...]]]:
    """The memories that somebody judged in relation to this one, and how."""
    found: Relatives = asks.ask("related", memory.id, limit=MOST_RELATIVES, judged=True)
    for relative in found.relatives:
        edges = tuple(edge for edge in relative.edges if edge.removesuffix("?") in VERDICTS)
        if edges:
            yield relative.memory, edges


def _shown(at: int, memory: Memory, edges: list[tuple[Memory, tuple[str, ...]]]) -> str:
    preview = memory.text[:PREVIEW] + (" [preview]" if len(memory.text) > PREVIEW else "")
    facts = [words.time_of(memory.created_at), f"scope: {words.scope_of(memory)}"]
    facts += [f"project: {memory.scope.name}"] if memory.scope.level == "project" else []
    facts += [f"topic: {memory.key}"] if memory.key else []
    lines = [
        f"[{at}] #{words.number_of(memory)} ({words.type_of(memory)}) {words.title_of(memory)}",
        preview,
        " | ".join(facts),
        *(_edge_line(other, edge) for other, names in edges for edge in names),
    ]
    return "\n    ".join(line for line in lines if line)


def _edge_line(other: Memory, edge: str) -> str:
    name = f"#{words.number_of(other)} ({words.title_of(other)})"
    match edge:
        case "supersedes" | "superseded_by" | "conflicts":
            return f"{edge}: {name}"
        case "conflicts?" | "supersedes?" | "superseded_by?":
            return f"conflict: contested by {name} (pending)"
    return ""


def _compact(memory: Memory, edges: list[tuple[Memory, tuple[str, ...]]]) -> dict[str, Any]:
    sides: dict[str, list[dict[str, Any]]] = {"as_source": [], "as_target": []}
    verbs = {kind: verb for verb, kind in words.VERBS.items()}
    for other, names in edges:
        for name in names:
            plain = name.removesuffix("?")
            side = "as_target" if plain == "superseded_by" else "as_source"
            relation = verbs["supersedes" if plain == "superseded_by" else plain]
            status = "pending" if name.endswith("?") else "judged"
            about = {"relation": relation, "id": words.number_of(other), "title": words.title_of(other)}
            sides[side].append(about | {"judgment_status": status})
    return {"preview": memory.text[:PREVIEW], "truncated": len(memory.text) > PREVIEW, "relations": sides}


def _require_one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        given = " or ".join(choice for choice in choices if choice)
        raise Refused(f"{name} cannot be {value!r}.", f"Use {given}, or leave it out.")


@TOOLS.tool()
def mem_get_observation(
    asks: Asks,
    *,
    id: p.Id,
    include_history: Annotated[bool, "Also show what it said before."] = False,
    history_cursor: Annotated[float, "Go on with versions before this one."] = 0,
    project: Annotated[str, "Accepted; it filters nothing."] = "",
) -> Answer:
    """Show a memory in full, by the number that mem_search gave."""
    del project
    memory, at = _fetched(asks, id)
    listed = words.row(asks, memory, at)
    lines = [
        f"#{listed['id']} [{listed['type']}] {listed['title']}",
        memory.text,
        f"Session: {memory.session}" if memory.session else "",
        f"Project: {memory.scope.name}" if memory.scope.level == "project" else "",
        f"Scope: {listed['scope']}",
        f"Topic: {memory.key}" if memory.key else "",
        f"State: {listed['state']}" if listed["state"] != "active" else "",
        f"Duplicates: {memory.seen}, revisions: {memory.revision}",
        f"Created: {words.time_of(memory.created_at)}, updated: {words.time_of(memory.updated_at)}",
    ]
    history = _history(asks, memory, history_cursor) if include_history else {}
    about = {name: value for name, value in listed.items() if name in ("id", "sync_id", "state", "review_after")}
    return words.enveloped(asks, words.stored(asks, memory), lines, **about, **history)


def _history(asks: Asks, memory: Memory, cursor: float) -> dict[str, Any]:
    """The last fifty versions before the cursor, oldest first."""
    versions: list[dict[str, Any]] = [
        {"version": number, "title": title, "content": text, "created_at": words.time_of(at)}
        for number, (title, text, at) in enumerate(reversed(list(_versions(asks, memory))[1:]), 1)
    ]
    end = words.count(cursor, len(versions) + 1, len(versions) + 1) - 1
    page = versions[max(end - VERSIONS_PAGE, 0) : end]
    start = page[0]["version"] if page else 0
    more = {"history_from_version": start, "history_cursor": start} if start > 1 else {}
    return {"version_count": len(versions), "history": page, "history_truncated": bool(more), **more}


def _versions(asks: Asks, memory: Memory) -> Iterator[tuple[str, str, datetime]]:
    """Title, text and time of all it has said, newest first, as far as history tells."""
    title, text = memory.summary, memory.text
    before: int | None = None
    while True:
        page = asks.ask("history", memory.id, limit=1000, before=before)
        for event in page.events:
            edits = {edit.field: edit for edit in event.edits if edit.id == memory.id}
            if "id" not in edits and edits.keys() & {"text", "summary"}:
                yield title, text, event.at
                title = edits["summary"].old if "summary" in edits else title
                text = edits["text"].old if "text" in edits else text
        if (before := page.next) is None:
            break
    yield title, text, memory.created_at


@TOOLS.tool()
def mem_timeline(
    asks: Asks,
    *,
    observation_id: p.Id,
    before: Annotated[float, "How many memories before it."] = 5,
    after: Annotated[float, "How many memories after it."] = 5,
    project: p.Expected = "",
) -> Answer:
    """Show what was saved around a memory, in the same session."""
    focus = owned(asks, observation_id)
    if project.strip() and not words.is_called(focus.scope, project):
        raise NotFound(f"Memory #{int(observation_id)} was not found in project {project!r}.", "Leave project out.")
    lines = [
        *_session_lines(asks, focus.session),
        *("    " + _brief(memory, 150) for memory in _around(asks, focus, "before", before)),
        ">>> " + _brief(focus, 500),
        *("    " + _brief(memory, 150) for memory in _around(asks, focus, "after", after)),
    ]
    return words.enveloped(asks, words.stored(asks, focus), lines)


def _around(asks: Asks, focus: Memory, side: str, said: float) -> list[Memory]:
    """The nearest memories on one side of a memory, oldest first; prompts are none, and crowd out none."""
    most, at = words.count(said, 5, MOST_AROUND), focus.id
    found: list[Memory] = []
    while len(found) < most:
        page = getattr(asks.ask("timeline", at, **{"before": 0, "after": 0, side: MOST_AROUND}), side)
        made = [memory for memory in page if memory.kind != "prompt"]
        found = [*made, *found] if side == "before" else [*found, *made]
        if len(page) < MOST_AROUND or not focus.session:
            break
        at = page[0 if side == "before" else -1].id
    return found[-most:] if side == "before" else found[:most]


def _session_lines(asks: Asks, session: str) -> list[str]:
    """What is known of a session: its name, how its last summary begins, and how many memories it has."""
    if not session:
        return []
    page = asks.ask("list", session=session, everywhere=True, limit=MOST_COUNTED)
    made = [memory for memory in page.memories if memory.kind != "prompt"]
    summary = next((memory.text for memory in made if memory.kind == "summary"), "")
    total = f"{len(made)}{' or more' if page.next else ''}"
    told = f"Summary: {words.cut(' '.join(summary.split()), SUMMED_UP)}" if summary else ""
    return [f"Session: {session}", told, f"Total in session: {total}"]


def _brief(memory: Memory, most: int) -> str:
    return (
        f"#{words.number_of(memory)} [{words.type_of(memory)}] {words.title_of(memory)}: "
        f"{words.cut(' '.join(memory.text.split()), most)} ({words.time_of(memory.created_at)})"
        f"{' [waits for review]' if memory.waiting else ''}"
    )


@TOOLS.tool()
def mem_context(
    asks: Asks,
    *,
    project: p.Project = "",
    scope: p.ScopeFilter = "",
    max_bytes: Annotated[float, "How long it may be in bytes; default 16384, at most 65536."] = 16384,
    compact: Annotated[bool, "Accepted: there is one line a memory in any case."] = False,
) -> Answer:
    """What a session should start with: pinned memories, rules, the last sessions, what is recent."""
    del compact
    place = words.place_or_everywhere(asks, project)
    most, stats = words.count(max_bytes, 16384, 65536), _stats_line(asks)
    left = most - size(stats) - 2
    # What holds everywhere comes with every project, so of the scopes only the project narrows anything.
    narrowed = "project" if words.asked_scope(scope) == "project" and scope.strip() else ""
    where = _where(asks, place, _Wanted("", narrowed))
    brief = asks.ask("context", budget=max(left // 4, FEWEST_TOKENS), **where)
    text = numbered(brief.text) or NOTHING
    if not brief.text and brief.left_out:
        text = f"{brief.left_out} memories, none of which fits."
    warning = "" if place.warning else brief.hint
    return words.enveloped(asks, place, _fitting(f"{_fitting(text, left)}\n\n{stats}", most), warning)


def _fitting(text: str, most: int) -> str:
    """A text of at most so many bytes, cut between characters; what is left out is marked."""
    if size(text) <= most:
        return text
    mark = "\n[truncated]"
    return (cut(text, max(most - len(mark), 0)) + mark)[: max(most, 0)]


def numbered(text: str) -> str:
    """A context with memories called by their numbers, as the other tools call them.

    What a memory itself says cannot look like that: a context has it tamed.
    """
    rest = text.replace(f"; recall finds them.)\n{END}", f"; mem_search finds them.)\n{END}")
    return re.sub(r"\[mem-0*([1-9][0-9]*),", r"[#\1,", rest)


def _stats_line(asks: Asks) -> str:
    projects = asks.ask("projects_list").projects
    names = [project.name for project in projects]
    more = f" +{len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    kinds = asks.ask("stats").kinds
    sessions, memories = sum(one.sessions for one in projects), sum(kinds.values()) - kinds.get("prompt", 0)
    listed = ", ".join(names[:MOST_NAMES]) or "none"
    return f"{sessions} sessions, {memories} observations across projects: {listed}{more}"
