"""Candidates in PostgreSQL: by words through the guarded index, by meaning exactly, filtered before the cut."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, cast

from engram.engines.postgres_schema import Part
from engram.engines.postgres_vectors import printed, space_of
from engram.engines.postgres_write import place_term
from engram.engines.rows import Row, record_of
from engram.engines.where import Clause
from engram.engines.where import where as to_sql
from engram.model.filter import ANYTHING, Access, Filter
from engram.model.memory import Memory
from engram.model.query import Census, Hit, Query, bm25_rarity, in_order, phrase_terms, says_all, shares

MOST_PLACES = 64
"""Beyond so many places, matches are filtered by place afterwards: as terms they would cost more than they save."""

FURTHER = 10
"""Where too few say the phrases, so many times more are looked at."""


class Places(NamedTuple):
    """The places that are asked for, of those that may be read; and all that may be read."""

    asked: list[int]
    readable: list[int]


class Asking(NamedTuple):
    """One question inside one transaction."""

    part: Part
    query: Query
    where: Clause
    places: Places


def search(part: Part, query: Query, access: Access) -> list[Hit]:
    """See `ports.Engine.search`."""
    where = placeholders(to_sql(query.where, access))
    if query.limit < 1:
        return []
    asking = Asking(part, query, where, _places(part, query.where, access))
    if not asking.places.asked:
        return []
    worded = _by_words(asking)
    near, cosines = _by_meaning(asking, worded)
    memories = {memory.id: memory for memory, _ in (*worded, *near)}
    by_words = {memory.id: share for memory, share in worded}
    return in_order(Hit(memory, by_words.get(id), cosines.get(id)) for id, memory in memories.items())


def census(part: Part, terms: Sequence[str], access: Access) -> Census:
    """See `ports.Engine.census`."""
    return _census(part, terms, _places(part, ANYTHING, access).readable)


def placeholders(clause: Clause) -> Clause:
    """A clause with marks as psycopg wants them; where clauses hold neither literal question nor percent marks."""
    return clause[0].replace("?", "%s"), clause[1]


def _places(part: Part, where: Filter, access: Access) -> Places:
    asked, values = placeholders(to_sql(Filter(scopes=where.scopes, within=where.within), access))
    readable, others = placeholders(to_sql(ANYTHING, access))
    sql = f"SELECT p, ({asked}) FROM place WHERE org = :org AND ({readable})"
    rows = part.fetch(sql, *values, *others)
    return Places([p for p, wanted in rows if wanted], [p for p, _ in rows])


# --- words ---


def _by_words(asking: Asking) -> list[tuple[Memory, float]]:
    """The best by words that the filter lets through, each with its share."""
    query = asking.query
    groups = [(term, *query.variants.get(term, ())) for term in dict.fromkeys(query.terms)]
    phrased = phrase_terms(query.phrases)
    if not groups and not phrased:
        return []
    expression = _within(_expression(groups, phrased, every=query.every), asking.places.asked)
    scored = query.ranked and bool(groups)
    terms = [term for group in groups for term in group] if scored else []
    whole = _census(asking.part, terms, None) if scored else Census(0, {})
    rows = _matching(asking, expression, terms, whole)
    if not scored:
        return [(memory, 1.0) for memory, _ in rows]
    told = _census(asking.part, terms, asking.places.readable)
    found = shares((score for _, score in rows), groups, whole, told)
    return [(memory, share) for (memory, _), share in zip(rows, found, strict=True)]


def _matching(asking: Asking, expression: str, terms: Sequence[str], whole: Census) -> list[tuple[Memory, float]]:
    """What matches and says the phrases, best first."""
    clause, values = asking.where
    worths = [bm25_rarity(whole, (term,)) for term in terms]
    total, words = asking.part.first("SELECT memories, words FROM org WHERE org = :org") or (
        0,
        0,
    )
    average = 1 + words / max(total, 1)
    sql = (
        "SELECT memory.n, doc::text, score FROM matching(%s, %s::text[], %s::double precision[], %s) AS found"
        f" JOIN memory ON memory.org = :org AND memory.n = found.n WHERE {clause} ORDER BY score DESC, id LIMIT %s"
    )

    def ask(most: int) -> list[Row]:
        return asking.part.fetch(sql, expression, [*terms], worths, average, *values, most)

    return _saying(ask, asking.query)


def _saying(ask: Callable[[int], list[Row]], query: Query) -> list[tuple[Memory, float]]:
    most = query.limit
    while True:
        rows = ask(most)
        found = [(cast("Memory", record_of("memory", row)), row[2]) for row in rows]
        found = [(memory, score) for memory, score in found if says_all(memory, query.phrases)]
        if len(found) >= query.limit or len(rows) < most:
            return found[: query.limit]
        most *= FURTHER


def _census(part: Part, terms: Sequence[str], places: Sequence[int] | None) -> Census:
    """How many memories of these places (None is everywhere) carry each term."""
    row = part.first("SELECT memories FROM org WHERE org = :org")
    total = int(row[0]) if row else 0
    counts = dict.fromkeys(terms, 0)
    whole = [term for term in counts if not term.endswith("*") and _can_be_kept(term)]
    among = "" if places is None else " AND p = ANY(%s)"
    also = [] if places is None else [places]
    sql = f"SELECT term, sum(count)::bigint FROM carrier WHERE org = :org AND term = ANY(%s){among} GROUP BY term"
    counts.update(part.fetch(sql, whole, *also))
    for term in (term for term in counts if term.endswith("*")):
        counts[term] = _beginning(part, term, among.replace("p =", "memory.p ="), also)
    return Census(total, counts)


def _beginning(part: Part, term: str, among: str, values: Sequence[object]) -> int:
    """How many carry a term that begins so: two such terms in one memory count once."""
    if not _can_be_kept(term):
        return 0
    sql = (
        "SELECT count(*) FROM matching(%s, '{}', '{}', 1) AS found"
        f" JOIN memory ON memory.org = :org AND memory.n = found.n{among}"
    )
    row = part.first(sql, _quoted(term), *values)
    return int(row[0]) if row else 0


def _expression(groups: Sequence[Sequence[str]], phrased: Sequence[str], *, every: bool) -> str:
    """What matches, in the language of a tsquery. Every term is quoted, so nothing in it can be an operator."""
    said = [f"({' | '.join(map(_quoted, group))})" for group in groups]
    parts = [f"({(' & ' if every else ' | ').join(said)})"] if said else []
    return " & ".join([*parts, *map(_quoted, phrased)])


def _within(expression: str, places: Sequence[int]) -> str:
    """What matches in these places, where they are few enough to be asked for."""
    if len(places) > MOST_PLACES:
        return expression
    return f"({expression}) & ({' | '.join(_quoted(place_term(p)) for p in places)})"


def _quoted(term: str) -> str:
    start = term.removesuffix("*")
    if not _can_be_kept(start):
        return "':'"  # no memory carries it
    inner = start.replace("\\", "\\\\").replace("'", "''")
    return f"'{inner}':*" if start != term else f"'{inner}'"


def _can_be_kept(term: str) -> bool:
    """Whether PostgreSQL can hold such a term at all: what it cannot, nobody carries."""
    return term not in ("", "*") and "\x00" not in term and not any("\ud800" <= mark <= "\udfff" for mark in term)


# --- meaning ---


def _by_meaning(
    asking: Asking, worded: Iterable[tuple[Memory, float]]
) -> tuple[list[tuple[Memory, float]], dict[str, float]]:
    """The nearest that the filter lets through, and the cosine of these and of what words found."""
    part, query = asking.part, asking.query
    s = space_of(part, query.space) if query.vector else None
    if s is None:
        return [], {}
    clause, values = asking.where
    (asked,) = printed(query.vector, len(query.vector) // 4)
    # Materialised, so that the planner compares all in reach: through an index over everybody's vectors, a filter
    # as narrow as one person's memories would lose a quarter of the answers.
    near = (
        "WITH near AS MATERIALIZED (SELECT n, max(-(e <#> %s::halfvec)) AS cosine FROM vector"
        " WHERE org = :org AND s = %s AND {0} GROUP BY n)"
        f" SELECT memory.n, doc::text, cosine FROM near JOIN memory ON memory.org = :org AND memory.n = near.n"
        f" WHERE {clause} ORDER BY cosine DESC, id LIMIT %s"
    )
    rows: list[Row] = []
    if not query.phrases:
        reach = near.format("p = ANY(%s)")
        rows = part.fetch(reach, asked, s, asking.places.asked, *values, query.limit)
    found = [(cast("Memory", record_of("memory", row)), float(row[2])) for row in rows]
    cosines = {memory.id: score for memory, score in found}
    if others := [memory.id for memory, _ in worded if memory.id not in cosines]:
        these = near.format("n = ANY(SELECT n FROM memory WHERE org = :org AND id = ANY(%s))")
        told = part.fetch(these, asked, s, others, *values, len(others))
        cosines |= {record_of("memory", row).id: float(row[2]) for row in told}
    return found, cosines
