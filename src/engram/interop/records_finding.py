"""The record tools that find and show: search_memory, list_memory, get_memory and their kin."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, Any, cast

from engram.errors import NotFound
from engram.interop import records_parameters as p
from engram.interop.forms import foreign_id
from engram.interop.records_checks import check_count, check_cursor, check_scope, refuse, require, time_of
from engram.interop.records_rows import (
    DISCOVERIES,
    DISCOVERY,
    FAMILIES,
    RULE,
    Place,
    compact,
    label_of,
    record,
    rule_row,
    told_to,
)
from engram.interop.tools import Answer, Asks, Shelf
from engram.interop.values import EVERYTHING, as_json, kept, loud, quiet
from engram.model.answers import Listing, Recalled, Recollection
from engram.model.evidence import told
from engram.model.memory import Memory

TOOLS = Shelf()

MOST_HITS = 50
"""The most one recall answers with."""

MOST_RELATIVES = 64
MANY_RULES = 50
"""More rules than this in one scope are read by nobody."""

HIDDEN = {"forgotten": "archived", "replaced": "superseded", "expired": "expired", "scheduled": "scheduled"}
"""Standing → the state of the other system that hides a record from a search."""

FORM = "records"
"""The form in which records are taken in from where they were before."""

UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


@TOOLS.tool()
def search_memory(
    asks: Asks,
    *,
    query: p.Query = "",
    scope: p.InScope = "",
    cross_spine: p.CrossSpine = False,
    k: p.K = 8,
    tags: p.AllTags = (),
    categories: p.Categories = (),
    created_after: p.CreatedAfter = "",
    created_before: p.CreatedBefore = "",
    full: p.Full = False,
) -> Answer:
    """Find memories by meaning and words, best first; discoveries are found by search_discovery."""
    require("query", query)
    place = _asked_place(asks, scope, cross_spine=cross_spine)
    check_count("k", k)
    kinds = _kinds(categories, place)
    answer = _recalled(
        asks,
        query,
        place,
        kind=kinds,
        tag=[tag for tag in tags if tag],
        since=time_of("created_after", created_after),
        until=time_of("created_before", created_before),
    )
    found = _found(answer, _in(asks, place, kinds), k, rows_for(asks, full=full))
    return as_json(found | (_searched(asks) if cross_spine else {}) | _elsewhere(scope, categories))


@TOOLS.tool()
def list_memory(
    asks: Asks,
    *,
    scope: p.InScope = "",
    cross_spine: p.CrossSpine = False,
    limit: p.K = 20,
    tags: p.AllTags = (),
    categories: p.Categories = (),
    created_after: p.CreatedAfter = "",
    created_before: p.CreatedBefore = "",
    cursor: p.Cursor = "",
    full: p.Full = False,
) -> Answer:
    """List memories, newest first; discoveries are not among them."""
    place = _asked_place(asks, scope, cross_spine=cross_spine)
    check_count("limit", limit)
    kinds = _kinds(categories, place)
    page = listed(
        asks,
        place,
        _in(asks, place, kinds),
        limit=limit,
        after=check_cursor(cursor),
        kind=kinds,
        tag=[tag for tag in tags if tag],
        since=time_of("created_after", created_after),
        until=time_of("created_before", created_before),
    )
    return _page(page, rows_for(asks, full=full), **_elsewhere(scope, categories))


@TOOLS.tool()
def get_memory(asks: Asks, *, id: p.Id = "") -> Answer:
    """Get one record in full, in use or superseded, expired or waiting; not what was deleted or archived."""
    memory = readable(asks, id)
    relatives = asks.ask("related", memory.id, judged=True, limit=MOST_RELATIVES).relatives
    superseded = [one.memory.id for one in relatives if one.memory.replaced_by == memory.id]
    return as_json(rows_for(asks, full=True)(memory) | ({"supersedes": superseded} if superseded else {}))


@TOOLS.tool()
def search_discovery(
    asks: Asks,
    *,
    query: p.Query = "",
    scope: p.InScope = "",
    cross_spine: p.CrossSpine = False,
    kind: p.DiscoveryKind = "",
    k: p.K = 8,
) -> Answer:
    """Find discoveries, in full with their citations, each checked against the working tree where that is here."""
    require("query", query)
    place = _asked_place(asks, scope, cross_spine=cross_spine)
    if place is not None and not scope.startswith(DISCOVERY):
        raise refuse("scope", "prefix", "scope of a discovery must start with discovery:")
    if kind and kind not in DISCOVERIES:
        raise refuse("kind", "enum", "kind must be map or fact")
    check_count("k", k)
    kinds = [DISCOVERIES[kind]] if kind else list(DISCOVERIES.values())
    answer = _recalled(asks, query, place, kind=kinds)
    return as_json(
        _found(answer, lambda memory: place is None or place.holds(memory), k, rows_for(asks, full=True))
    )


@TOOLS.tool()
def list_scheduled(
    asks: Asks,
    *,
    scope: p.InScope = "",
    cross_spine: p.CrossSpine = False,
    state: Annotated[str, "scheduled, expired or all."] = "scheduled",
    limit: p.K = 20,
    created_after: p.CreatedAfter = "",
    created_before: p.CreatedBefore = "",
    cursor: p.Cursor = "",
) -> Answer:
    """List your own records that have a time window, in full: those still to come, or those that are over."""
    place = _asked_place(asks, scope, cross_spine=cross_spine)
    standings = {"scheduled": ["scheduled"], "expired": ["expired"], "all": ["scheduled", "expired", "live"]}
    if state not in standings:
        raise refuse("state", "enum", "state must be scheduled, expired or all")
    check_count("limit", limit)
    is_mine = mine(asks, place)
    page = listed(
        asks,
        place,
        lambda memory: is_mine(memory) and bool(memory.valid_from or memory.valid_until),
        limit=limit,
        after=check_cursor(cursor),
        standing=standings[state],
        since=time_of("created_after", created_after),
        until=time_of("created_before", created_before),
    )
    return _page(page, rows_for(asks, full=True))


@TOOLS.tool()
def related_memories(asks: Asks, *, id: p.Id = "", k: p.K = 8, full: p.Full = False) -> Answer:
    """Show what has to do with a record: superseded ones, shared citations and tags, and what is alike."""
    memory = readable(asks, id)
    check_count("k", k)
    row = rows_for(asks, full=full)
    answer = asks.ask("related", memory.id, limit=min(k, MOST_RELATIVES))
    rows = [{"memory": row(one.memory), "edges": list(one.edges)} for one in answer.relatives]
    return as_json({"anchor": row(answer.memory), "related": rows, "truncated": answer.truncated})


@TOOLS.tool()
def list_tags(
    asks: Asks,
    *,
    scope: Annotated[str, "Only this scope; all that you may read unless given."] = "",
    limit: Annotated[int, "How many at most."] = 100,
) -> Answer:
    """List the tags in use with their counts, the most used first."""
    place = check_scope("scope", scope).at(asks.caller) if scope else None
    check_count("limit", limit)
    page = listed(asks, place, lambda memory: place is None or place.holds(memory), limit=EVERYTHING)
    counts = Counter(tag for memory in page.memories for tag in memory.tags)
    rows = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    tags = [{"tag": tag, "count": count} for tag, count in rows[:limit]]
    return as_json({"tags": tags, "more": len(rows) > limit})


@TOOLS.tool()
def list_rules(
    asks: Asks,
    *,
    scopes: Annotated[Sequence[str], "Only these rule scopes; all that you may read unless given."] = (),
    tags: p.AllTags = (),
    full: p.Full = False,
) -> Answer:
    """List the rules that hold, oldest first; those that still wait for a person are only counted."""
    for scope in scopes:
        if not scope.startswith(RULE):
            raise refuse("scopes", "prefix", "scope of a rule must start with rule:")
    asked_for = [check_scope("scopes", scope).at(asks.caller) for scope in dict.fromkeys(scopes)]
    places: list[Place | None] = [*asked_for] or [None]
    asked: dict[str, Any] = {"kind": ["rule"], "tag": [tag for tag in tags if tag], "limit": 1000}

    def rules(standing: str) -> list[Memory]:
        pages = [listed(asks, place, _in(asks, place, ["rule"]), standing=[standing], **asked) for place in places]
        found = [told_to(asks.caller, one) for page in pages for one in page.memories]
        return sorted(found, key=lambda one: (one.created_at, one.id))

    holding = rules("live")
    crowded = [label for label, count in Counter(map(label_of, holding)).items() if count > MANY_RULES]
    answer: dict[str, Any] = {"rules": [(record if full else rule_row)(one) for one in holding]}
    if waiting := len(rules("pending")):
        answer["waiting_for_review"] = waiting
    if crowded:
        answer["advisory"] = f"More than {MANY_RULES} rules in {', '.join(crowded)}: merge or retire some."
    return as_json(answer)


def got(asks: Asks, ref: str) -> Memory | None:
    """The readable record of this id, whatever became of it: its id here, or the one it had where it came from.

    A UUID that its owner chose is its key. Where several owners chose the same one, it is the caller's own first.
    """
    is_uuid = UUID.fullmatch(ref)
    name = ref.lower() if is_uuid else ref
    for id in (name, foreign_id(FORM, name)):
        try:
            return cast("Memory", asks.ask("get", id).memories[0])
        except NotFound:
            if not is_uuid:
                return None
    named = asks.ask("list", key=name, everywhere=True, standing=["all"]).memories
    return min(named, key=lambda memory: memory.owner != asks.caller.owner, default=None)


def readable(asks: Asks, ref: str) -> Memory:
    """The record of this id; what was deleted or archived is not there.

    Raises:
        NotFound: when there is none.
    """
    require("id", ref)
    memory = got(asks, ref)
    if memory is None or memory.forgotten_at is not None:
        raise missing(ref)
    return memory


def own(asks: Asks, ref: str) -> Memory:
    """The caller's record of this id.

    Raises:
        NotFound: when there is none, in the very same words where it is another's.
    """
    memory = readable(asks, ref)
    if memory.owner != asks.caller.owner:
        raise missing(ref)
    return memory


def own_or_none(asks: Asks, ref: str) -> Memory | None:
    """The caller's record of this id, if there is one."""
    try:
        return own(asks, ref)
    except NotFound:
        return None


def missing(*refs: str) -> NotFound:
    """What is said of records that are not there, by the caller's own words for them."""
    return NotFound(f"There is no record {', '.join(refs)}.", "Look for it with list_memory.")


def mine(asks: Asks, place: Place | None) -> Callable[[Memory], bool]:
    """Whether a memory is the caller's, and of this place."""
    owner = asks.caller.owner
    return lambda memory: memory.owner == owner and (place is None or place.holds(memory))


def listed(asks: Asks, place: Place | None, keep: Callable[[Memory], bool], **said: Any) -> Listing:  # noqa: ANN401
    """A page of what is kept of a place, or of every scope."""
    return kept(asks, keep, **_where(place), **said)


def rows_for(asks: Asks, *, full: bool = False) -> Callable[[Memory], dict[str, Any]]:
    """How a memory is shown to this caller: as a whole record, or as a compact row."""
    form = record if full else compact
    return lambda memory: form(told_to(asks.caller, memory))


def _where(place: Place | None) -> dict[str, Any]:
    return {"scope": place.scope} if place else {"everywhere": True}


def _in(asks: Asks, place: Place | None, kinds: Sequence[str]) -> Callable[[Memory], bool]:
    """What a search or a list of memories shows: of the place, and of no kind that comes on demand only."""
    hidden = (quiet(asks) - set(kinds)) | FAMILIES[DISCOVERY]
    return lambda memory: memory.kind not in hidden and (place is None or place.holds(memory))


def _asked_place(asks: Asks, scope: str, *, cross_spine: bool) -> Place | None:
    """The place that is asked for; None for every scope, which is never inferred from an empty one."""
    if scope and cross_spine:
        raise refuse("scope,cross_spine", "mutually_exclusive", "give scope or cross_spine, not both")
    if not scope.strip() and not cross_spine:
        raise refuse("scope", "conditional_required", "scope is required unless cross_spine is true")
    return None if cross_spine else check_scope("scope", scope).at(asks.caller)


def _kinds(categories: Sequence[str], place: Place | None) -> list[str]:
    """The kinds to look for; a category that nothing has finds nothing."""
    return [category for category in categories if category] or sorted(place.kinds if place else ())


def _recalled(asks: Asks, query: str, place: Place | None, **said: Any) -> Recalled:  # noqa: ANN401 - of recall
    return cast("Recalled", asks.ask("recall", query, limit=MOST_HITS, **_where(place), **said))


def _found(
    answer: Recalled, keep: Callable[[Memory], bool], k: int, row: Callable[[Memory], dict[str, Any]]
) -> dict[str, Any]:
    """The hits as rows, and how many more would have matched but for where they are in their lives."""
    hits = [hit for hit in answer.hits if keep(hit.memory)][:k]
    rows = [
        {**row(hit.memory), "score": round(hit.score, 4), "relevance": round(hit.relevance, 4), **_evidence(hit)}
        for hit in hits
    ]
    counts: Counter[str] = Counter(dict.fromkeys(HIDDEN.values(), 0))
    for standing, count in answer.held_back.items():
        counts[HIDDEN.get(standing, standing)] += count
    found: dict[str, Any] = {"memories": rows, "recall_gate_hidden": {"total": counts.total(), **counts}}
    if k > MOST_HITS:
        found["note"] = f"One search answers with the best {MOST_HITS} at most; list_memory gives all."
    return found


def _evidence(hit: Recollection) -> dict[str, Any]:
    """What became of what a hit cites, where it cites something."""
    return {"evidence": hit.verdict, "citations_checked": told(hit.evidence)} if hit.evidence else {}


def _searched(asks: Asks) -> dict[str, Any]:
    """The scopes that a search over all of them looked at, as far as the latest records tell."""
    latest = asks.ask("list", everywhere=True, limit=1000)
    scopes = sorted({label_of(told_to(asks.caller, one)) for one in filter(loud(asks), latest.memories)})
    return {"searched_scopes": scopes, "scopes_truncated": latest.next is not None}


def _elsewhere(scope: str, categories: Sequence[str]) -> dict[str, str]:
    """Where discoveries are found, for who asked for them among memories."""
    asked = scope.startswith(DISCOVERY) or "discovery" in categories
    return {"note": "Discoveries are in no list or search but search_discovery."} if asked else {}


def _page(page: Listing, row: Callable[[Memory], dict[str, Any]], **more: str) -> Answer:
    return as_json({"memories": [row(one) for one in page.memories], "next_cursor": page.next or "", **more})
