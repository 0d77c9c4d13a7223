"""Queries to the word index in PostgreSQL: who has which terms, how common each is, and what finds by them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from engram.engines.groups import MOST_SCORED, Group, Wanted, rarest
from engram.engines.postgres_schema import Part
from engram.engines.rows import place_term
from engram.engines.where import LISTED, Clause
from engram.engines.where import where as to_sql
from engram.model.filter import ANYTHING, Access
from engram.model.limits import storable
from engram.model.query import Census, Query, bm25_rarity, phrase_terms

MOST_PLACES = 64
"""Beyond so many places, matches are filtered by place afterwards: as terms they would cost more than they save."""

AHEAD = 2
"""So many times what is wanted must be carried by the terms that are looked for alone: a filter takes some away."""

Finder = tuple[str, list[Any]]
"""A statement and its values: it finds the numbers and scores of memories, before they are filtered."""


class Counts(NamedTuple):
    """How common terms are, and how long a memory is."""

    whole: Census  # of all that the org has: what BM25 reckons with
    told: Census  # of what may be read
    average: float  # terms of a memory


def counted(part: Part, terms: Sequence[str], access: Access) -> Callable[[], Counts]:
    """Ask for the counts of these terms; returns a callable that gives the answer later.

    The vocabulary knows them for all memories together. Only where some may not be read, the counts of those that
    may are added up, place by place.
    """
    allowed, values = placeholders(to_sql(ANYTHING, access))
    hidden = f"EXISTS (SELECT 1 FROM place WHERE org = :org AND ({allowed}) IS NOT TRUE)"
    kept = kept_whole(terms)
    totals = part.later(f"SELECT memories, words, {hidden} FROM org WHERE org = :org", *values)
    everywhere = part.later("SELECT term, carriers FROM vocabulary WHERE org = :org AND term = ANY(%s)", kept)
    readable = carried(part, kept, f"{allowed} AND {hidden}", [*values, *values])
    begun = [term for term in dict.fromkeys(terms) if term.endswith("*")]
    all_begun = [_beginning(part, term) for term in begun]
    told_begun = [_beginning(part, term, allowed, values) for term in begun]

    def told() -> Counts:
        ((total, words, some_hidden),) = totals() or ((0, 0, False),)
        whole = {**dict.fromkeys(terms, 0), **dict(everywhere())}
        mine = {**dict.fromkeys(terms, 0), **readable()} if some_hidden else {**whole}
        whole.update(zip(begun, (count() for count in all_begun), strict=True))
        mine.update(zip(begun, (count() for count in told_begun), strict=True))
        return Counts(Census(total, whole), Census(total, mine), 1 + words / max(total, 1))

    return told


def carried(part: Part, terms: Sequence[str], where: str, values: Sequence[object]) -> Callable[[], dict[str, int]]:
    """Ask how many carry each term in the places of a condition; returns a callable that gives the answer later."""
    asked = part.later(
        "SELECT term, sum(count)::bigint FROM carrier WHERE org = :org AND term = ANY(%s)"
        f" AND p IN (SELECT p FROM place WHERE org = :org AND {where}) GROUP BY term",
        *(terms, *values),
    )
    return lambda: dict(asked())


def containing(part: Part, piece: str, access: Access, limit: int) -> Callable[[], list[str]]:
    """Ask for what `ports.Engine.containing` answers; returns a callable that gives it later."""
    allowed, values = placeholders(to_sql(ANYTHING, access))
    if not _can_be_kept(piece) or limit < 1:
        return list
    asked = part.later(
        "SELECT term FROM holding(%s) WHERE EXISTS (SELECT 1 FROM carrier WHERE org = :org"
        " AND carrier.term = holding.term AND count > 0"
        f" AND p IN (SELECT p FROM place WHERE org = :org AND {allowed}))"
        " ORDER BY char_length(term), term LIMIT %s",
        *(piece, *values, limit),
    )
    return lambda: [term for (term,) in asked()]


def _beginning(part: Part, term: str, allowed: str = "", values: Sequence[object] = ()) -> Callable[[], int]:
    """Ask how many carry a term that begins so; returns a callable that gives the answer later.

    Two such terms in one memory count once.
    """
    if not _can_be_kept(term):
        return lambda: 0
    among = f" AND memory.p IN (SELECT p FROM place WHERE org = :org AND {allowed})" if allowed else ""
    sql = (
        "SELECT count(*) FROM matching(%s, '{}', '{}', 1) AS found"
        f" JOIN memory ON memory.org = :org AND memory.n = found.n{among}"
    )
    asked = part.later(sql, _quoted(term), *values)
    return lambda: int(asked()[0][0])


def placeholders(clause: Clause) -> Clause:
    """A clause as psycopg wants it: its marks (it holds none as literals), and lists that are given whole."""
    listed = clause[0].replace(LISTED, "SELECT json_array_elements_text(?::json)")
    return listed.replace("?", "%s"), clause[1]


# --- what finds ---


def matching(query: Query, groups: Sequence[Group], within: Clause) -> Finder | None:
    """The statement that finds all that match, with no score; `within` is the condition of the places asked for.

    None where there is nothing to look for.
    """
    expression = _expression(groups, phrase_terms(query.phrases), every=query.every)
    if not expression:
        return None
    places = f"SELECT quote_literal(':' || p) AS term FROM place WHERE org = :org AND {within[0]}"
    few = (
        f"(SELECT ' & (' || string_agg(term, ' | ') || ')' FROM ({places} LIMIT {MOST_PLACES + 1}) AS place"
        f" HAVING count(*) <= {MOST_PLACES})"
    )
    asked, values = f"%s || coalesce({few}, '')", [f"({expression})", *within[1]]
    if query.where.ids is None:
        return f"SELECT n, score FROM matching({asked}, '{{}}', '{{}}', 1)", values
    return (
        f"SELECT n, score FROM matching_among(%s::text[], {asked}, '{{}}', '{{}}', 1)",
        [texts(query.where.ids), *values],
    )


class Scoring(NamedTuple):
    """What the words of a question are scored with."""

    counts: Counts
    carriers: Mapping[str, int]  # of each term, in the places that are asked for
    places: Sequence[int] | None  # None: everywhere
    thorough: bool  # whether everything that matches is scored, however common its words are


def scored(query: Query, groups: Sequence[Group], by: Scoring) -> tuple[Finder, bool]:
    """The statement that finds by words, with scores; and whether it looks for the rare words alone."""
    terms = [term for term, count in by.counts.whole.carriers.items() if count]
    worths = [bm25_rarity(by.counts.whole, (term,)) for term in terms]
    if query.where.ids is not None:
        expression = _expression(groups, phrase_terms(query.phrases), every=query.every)
        sql = "SELECT n, score FROM matching_among(%s::text[], %s, %s::text[], %s::double precision[], %s)"
        return (sql, [texts(query.where.ids), expression, terms, worths, by.counts.average]), False
    conditions = [*map(_quoted, phrase_terms(query.phrases)), *_within(by.places)]
    if query.every:
        conditions.append(f"({_expression(groups, (), every=True)})")
    whole = query.every or by.thorough
    telling = groups if whole else rarest(groups, by.carriers, Wanted(AHEAD * query.limit, MOST_SCORED))
    rare = {term for group in telling for term in group}
    narrowed = len(telling) < len(groups)
    beside = [*conditions, f"({_expression(telling, (), every=False)})"] if narrowed else conditions
    expressions = [" & ".join((_quoted(term), *(conditions if term in rare else beside))) for term in terms]
    sql = "SELECT n, score FROM scored(%s::text[], %s::text[], %s::double precision[], %s)"
    return (sql, [terms, expressions, worths, by.counts.average]), narrowed


def _expression(groups: Sequence[Group], phrased: Sequence[str], *, every: bool) -> str:
    """The groups in the language of a tsquery. Every term is quoted, so nothing in it can be an operator."""
    said = [f"({' | '.join(map(_quoted, group))})" for group in groups]
    parts = [f"({(' & ' if every else ' | ').join(said)})"] if said else []
    return " & ".join([*parts, *map(_quoted, phrased)])


def _within(places: Sequence[int] | None) -> list[str]:
    """The condition that it lies in these places, where they are few enough to be asked for."""
    if places is None or len(places) > MOST_PLACES:
        return []
    return [f"({' | '.join(_quoted(place_term(p)) for p in places)})"]


def _quoted(term: str) -> str:
    start = term.removesuffix("*")
    if not _can_be_kept(start):
        return "':'"  # no memory carries it
    inner = start.replace("\\", "\\\\").replace("'", "''")
    return f"'{inner}':*" if start != term else f"'{inner}'"


def kept_whole(terms: Sequence[str]) -> list[str]:
    """Each of these terms once that stands for itself and may be carried."""
    return [term for term in dict.fromkeys(terms) if not term.endswith("*") and _can_be_kept(term)]


def texts(ids: Sequence[str]) -> list[str]:
    """The ids that can be one at all."""
    return [id for id in ids if _can_be_kept(id)]


def _can_be_kept(term: str) -> bool:
    """Whether PostgreSQL can hold such a term at all: what it cannot, nobody carries."""
    return term not in ("", "*") and storable(term)
