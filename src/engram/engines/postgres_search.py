"""Candidates in PostgreSQL: by words through the guarded index, by meaning exactly, filtered before the cut."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, cast

from engram.engines.postgres_nearest import EXACT, SHARE, index_name
from engram.engines.postgres_schema import SCHEMA, Part
from engram.engines.postgres_vectors import NAMED, printed
from engram.engines.postgres_write import place_term
from engram.engines.rows import Row, record_of
from engram.engines.where import Clause
from engram.engines.where import where as to_sql
from engram.model.filter import ANYTHING, Access, Filter
from engram.model.memory import Memory
from engram.model.query import Census, Hit, Query, Space, bm25_rarity, in_order, phrase_terms, says_all, shares

MOST_PLACES = 64
"""Beyond so many places, matches are filtered by place afterwards: as terms they would cost more than they save."""

FURTHER = 10
"""Where too few say the phrases, so many times more are looked at."""


class Reach(NamedTuple):
    """What is known before a search: the places that are asked for, of those that may be read; and the counts."""

    places: list[int]
    whole: Census  # of all that the org has: what BM25 reckons with
    told: Census  # of what may be read
    average: float  # terms of a memory
    space: int | None  # the number of the query's space
    wide: bool  # whether so much is in reach that an index of vectors is asked, and there is one


def search(part: Part, query: Query, access: Access) -> Callable[[], list[Hit]]:
    """What answers as `ports.Engine.search` when the transaction has ended."""
    where = placeholders(to_sql(query.where, access))
    if query.limit < 1:
        return list
    groups = [(term, *query.variants.get(term, ())) for term in dict.fromkeys(query.terms)]
    scored = query.ranked and bool(groups)
    reach = _reach(part, query, access, [term for group in groups for term in group] if scored else [])
    if not reach.places:
        return list
    words, (near, cosines) = _by_words(query, groups, reach), _by_meaning(query, where, reach)
    if not words and not near:
        return list
    statement, values = _statement(where, words, near, cosines)
    if reach.wide:
        part.run("SELECT set_config('enable_sort', 'off', true)")  # it would compare all, to have them in order

    def limited(most: int) -> list[Any]:
        return [most if value is None else value for value in values]

    def hits(rows: Iterable[Row]) -> list[Hit]:
        found = [(cast("Memory", record_of("memory", row)), row[2], row[3]) for row in rows]
        said = [(memory, score) for memory, score, _ in found if score is not None]
        told = (
            shares((score for _, score in said), groups, reach.whole, reach.told) if scored else [1.0] * len(said)
        )
        by_words = {memory.id: share for (memory, _), share in zip(said, told, strict=True)}
        return in_order(Hit(memory, by_words.get(memory.id), cosine) for memory, _, cosine in found)

    if not query.phrases:
        asked = part.later(statement, *limited(query.limit))
        return lambda: hits(asked())
    saying = _saying(lambda most: part.fetch(statement, *limited(most)), query)
    return lambda: hits(saying)


def census(part: Part, terms: Sequence[str], access: Access) -> Callable[[], Census]:
    """What answers as `ports.Engine.census` when the transaction has ended."""
    allowed, values = placeholders(to_sql(ANYTHING, access))
    asked = part.later(
        "SELECT term, sum(count)::bigint FROM carrier WHERE org = :org AND term = ANY(%s)"
        f" AND p IN (SELECT p FROM place WHERE org = :org AND {allowed}) GROUP BY term"
        " UNION ALL SELECT NULL, memories FROM org WHERE org = :org",
        *(_kept_whole(terms), *values),
    )
    begun = {term: _beginning(part, term, allowed, values) for term in terms if term.endswith("*")}

    def told() -> Census:
        counts: dict[str | None, int] = {**dict.fromkeys(terms, 0), **dict(asked())}
        total = counts.pop(None, 0)
        carriers = {term: count for term, count in counts.items() if term is not None}
        return Census(total, carriers | {term: count() for term, count in begun.items()})

    return told


def containing(part: Part, piece: str, access: Access, limit: int) -> Callable[[], list[str]]:
    """What answers as `ports.Engine.containing` when the transaction has ended."""
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


def placeholders(clause: Clause) -> Clause:
    """A clause with marks as psycopg wants them; where clauses hold neither literal question nor percent marks."""
    return clause[0].replace("?", "%s"), clause[1]


def _reach(part: Part, query: Query, access: Access, terms: Sequence[str]) -> Reach:
    """Everything that a search must know first, in one round trip."""
    asked, values = placeholders(to_sql(Filter(scopes=query.where.scopes, within=query.where.within), access))
    allowed, others = placeholders(to_sql(ANYTHING, access))
    places = part.later(f"SELECT p FROM place WHERE org = :org AND ({asked})", *values)
    counts = part.later(
        "SELECT term, sum(count)::bigint, (sum(count) FILTER (WHERE p IN (SELECT p FROM place WHERE org = :org"
        f" AND {allowed})))::bigint FROM carrier WHERE org = :org AND term = ANY(%s) GROUP BY term",
        *(*others, _kept_whole(terms)),
    )
    begun = [term for term in dict.fromkeys(terms) if term.endswith("*")]
    anywhere = [_beginning(part, term) for term in begun]
    readable = [_beginning(part, term, allowed, others) for term in begun]
    totals = part.later("SELECT memories, words FROM org WHERE org = :org")
    space = part.later(
        f"SELECT s, {INDEXED} FROM space WHERE org = :org AND {NAMED}", *(query.space or Space("", 0))
    )
    ((total, words),) = totals() or ((0, 0),)
    rows = counts()
    whole = {**dict.fromkeys(terms, 0), **{term: count for term, count, _ in rows}}
    told = {**dict.fromkeys(terms, 0), **{term: count or 0 for term, _, count in rows}}
    whole.update(zip(begun, (count() for count in anywhere), strict=True))
    told.update(zip(begun, (count() for count in readable), strict=True))
    s, indexed = (*space(), (None, False))[0]
    reached = [p for (p,) in places()]
    wide = indexed and query.where.ids is None and _is_wide(part, s, reached, total)
    return Reach(reached, Census(total, whole), Census(total, told), 1 + words / max(total, 1), s, wide)


def _beginning(part: Part, term: str, allowed: str = "", values: Sequence[object] = ()) -> Callable[[], int]:
    """What tells how many carry a term that begins so: two such terms in one memory count once."""
    if not _can_be_kept(term):
        return lambda: 0
    among = f" AND memory.p IN (SELECT p FROM place WHERE org = :org AND {allowed})" if allowed else ""
    sql = (
        "SELECT count(*) FROM matching(%s, '{}', '{}', 1) AS found"
        f" JOIN memory ON memory.org = :org AND memory.n = found.n{among}"
    )
    asked = part.later(sql, _quoted(term), *values)
    return lambda: int(asked()[0][0])


def _kept_whole(terms: Sequence[str]) -> list[str]:
    return [term for term in dict.fromkeys(terms) if not term.endswith("*") and _can_be_kept(term)]


Finder = tuple[str, list[Any]]
"""What finds the numbers and scores of memories, before they are filtered: a statement and its values."""


def _statement(where: Clause, words: Finder | None, near: Finder | None, cosines: Finder | None) -> Finder:
    """One statement for the best by words, the nearest by meaning, and the cosines of what only words found.

    Each row is number, document, score and cosine, the best by words first. A `None` among the values is where the
    limit goes.
    """
    clause, allowed = where
    best = (
        "{0} AS MATERIALIZED (SELECT memory.n, id, doc::text AS doc, score FROM ({1}) AS found"
        f" JOIN memory ON memory.org = :org AND memory.n = found.n WHERE {clause} ORDER BY score DESC, id LIMIT %s)"
    )
    named = [(name, finder) for name, finder in (("worded", words), ("near", near)) if finder]
    parts = [best.format(name, sql) for name, (sql, _) in named]
    values = [value for _, (_, given) in named for value in (*given, *allowed, None)]
    if not words:
        return f"WITH {parts[0]} SELECT n, doc, NULL, score FROM near", values
    if not cosines:
        return f"WITH {parts[0]} SELECT n, doc, score, NULL FROM worded ORDER BY score DESC, id", values
    if not near:
        parts.append("near AS (SELECT NULL::bigint AS n, '' AS id, '' AS doc, NULL::float8 AS score WHERE false)")
    parts.append(f"told AS (SELECT n, score FROM ({cosines[0]}) AS found)")
    sql = (
        "SELECT n, coalesce(worded.doc, near.doc), worded.score, coalesce(near.score, told.score)"
        " FROM worded FULL JOIN near USING (n) LEFT JOIN told USING (n)"
        " ORDER BY worded.score DESC NULLS LAST, worded.id"
    )
    return f"WITH {', '.join(parts)} {sql}", [*values, *cosines[1]]


def _saying(ask: Callable[[int], list[Row]], query: Query) -> list[Row]:
    """The best that say the phrases."""
    most = query.limit
    while True:
        rows = ask(most)
        found = [row for row in rows if says_all(cast("Memory", record_of("memory", row)), query.phrases)]
        if len(found) >= query.limit or len(rows) < most:
            return found[: query.limit]
        most *= FURTHER


# --- words ---


def _by_words(query: Query, groups: Sequence[Sequence[str]], reach: Reach) -> Finder | None:
    """What finds by words, if there are any."""
    phrased = phrase_terms(query.phrases)
    if not groups and not phrased:
        return None
    expression = _within(_expression(groups, phrased, every=query.every), reach.places)
    terms = [*reach.whole.carriers]
    worths = [bm25_rarity(reach.whole, (term,)) for term in terms]
    asked = [expression, terms, worths, reach.average]
    if query.where.ids is not None:
        sql = "SELECT n, score FROM matching_among(%s::text[], %s, %s::text[], %s::double precision[], %s)"
        return sql, [_texts(query.where.ids), *asked]
    return "SELECT n, score FROM matching(%s, %s::text[], %s::double precision[], %s)", asked


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


def _texts(ids: Sequence[str]) -> list[str]:
    """The ids that can be one at all."""
    return [id for id in ids if _can_be_kept(id)]


def _can_be_kept(term: str) -> bool:
    """Whether PostgreSQL can hold such a term at all: what it cannot, nobody carries."""
    return term not in ("", "*") and "\x00" not in term and not any("\ud800" <= mark <= "\udfff" for mark in term)


# --- meaning ---

COSINES = "SELECT n, max(-(e <#> %s::halfvec)) AS score FROM vector WHERE org = :org AND s = %s AND {0} GROUP BY n"

INDEXED = (
    "EXISTS (SELECT 1 FROM pg_index WHERE indisvalid"
    f" AND indexrelid = to_regclass('{SCHEMA}.{index_name('')}' || s)) AS indexed"
)

SPARE = 4
"""Of so many times more vectors than wanted memories the best are taken: a long text has several."""


def _is_wide(part: Part, s: int, places: Sequence[int], total: int) -> bool:
    """Whether more vectors are in reach than are always compared, and a fair share of all."""
    most = max(EXACT, total // SHARE)
    some = "SELECT 1 FROM vector WHERE org = :org AND s = %s AND p = ANY(%s) LIMIT %s"
    row = part.first(f"SELECT count(*) FROM ({some}) AS each", s, places, most + 1)
    return bool(row and row[0] > most)


def _by_meaning(query: Query, where: Clause, reach: Reach) -> tuple[Finder | None, Finder | None]:
    """What finds by meaning, and what tells the cosines of what words found; None where there is nothing to ask.

    All vectors in reach are compared: through an index over everybody's, a filter as narrow as one person's
    memories would lose a quarter of the answers. Only where very many are in reach the index is asked.
    """
    if not query.vector or reach.space is None:
        return None, None
    (asked,) = printed(query.vector, dim := len(query.vector) // 4)
    told = COSINES.format("n IN (SELECT n FROM worded)"), [asked, reach.space]
    if query.phrases:
        return None, told  # what does not say them is no candidate
    if query.where.ids is not None:
        these = COSINES.format("n IN (SELECT n FROM memory WHERE org = :org AND id = ANY(%s))")
        return (these, [asked, reach.space, _texts(query.where.ids)]), told
    if not reach.wide:
        return (COSINES.format("p = ANY(%s)"), [asked, reach.space, reach.places]), told
    # The walk is one side of a join, and the filter the other, so that it goes on until enough were met that the
    # filter lets through. The number of the space is written out: the index is for that one alone.
    clause, values = where
    walk = (
        f"SELECT org, n, e::halfvec({dim}) <#> %s::halfvec({dim}) AS far FROM vector"
        f" WHERE org = :org AND s = {reach.space} AND p = ANY(%s) ORDER BY e::halfvec({dim}) <#> %s::halfvec({dim})"
    )
    allowed = f"SELECT FROM memory WHERE memory.org = walk.org AND memory.n = walk.n AND {clause} OFFSET 0"
    near = f"SELECT n, far FROM ({walk}) AS walk CROSS JOIN LATERAL ({allowed}) AS allowed LIMIT %s"
    sql = f"SELECT n, max(-far) AS score FROM ({near}) AS each GROUP BY n"
    return (sql, [asked, reach.places, asked, *values, SPARE * query.limit]), told
