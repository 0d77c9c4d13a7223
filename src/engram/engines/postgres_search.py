"""Candidates in PostgreSQL: by words and by meaning in one statement, each list filtered before its cut."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from engram.engines import postgres_words as words_of
from engram.engines.groups import Group, groups_of
from engram.engines.postgres_nearest import EXACT, SHARE, index_name
from engram.engines.postgres_schema import SCHEMA, Part
from engram.engines.postgres_vectors import NAMED, printed
from engram.engines.postgres_words import MOST_PLACES, Counts, Finder, Scoring, placeholders
from engram.engines.rows import Row, record_of
from engram.engines.where import Clause
from engram.engines.where import where as to_sql
from engram.model.filter import Access, Filter
from engram.model.memory import Memory
from engram.model.query import Hit, Query, Space, in_order, says_all, shares

FURTHER = 10
"""Where too few say the phrases, so many times more are looked at."""


class Reach(NamedTuple):
    """What is known before a search: the places that are asked for, of those that may be read; and the counts."""

    places: list[int] | None  # None: all there are
    counts: Counts
    carriers: Mapping[str, int]  # of each term, where it is looked for
    space: int | None  # the number of the query's space
    wide: bool  # whether so much is in reach that an index of vectors is asked, and there is one


def search(part: Part, query: Query, access: Access, *, thorough: bool = False) -> Callable[[], list[Hit] | None]:
    """Ask for what `ports.Engine.search` answers; returns a callable that gives it when the transaction has ended.

    That is None where too few were found among what carries the rare words: then a `thorough` search, which
    scores everything that matches, has to follow.
    """
    where = placeholders(to_sql(query.where, access))
    groups = groups_of(query)
    if query.limit < 1:
        return list
    if not (query.ranked or query.vector):
        return _any(part, query, groups, where, access)
    reach = _reach(part, query, access, [term for group in groups for term in group] if query.ranked else [])
    if reach.places == []:
        return list
    words, narrowed = _by_words(query, groups, reach, _asked(query, access), thorough=thorough)
    near, cosines = _by_meaning(query, where, reach)
    if not words and not near:
        return list
    statement, values = _statement(where, words, near, cosines)
    if reach.wide:
        part.run("SELECT set_config('enable_sort', 'off', true)")  # it would compare all, to have them in order
    answer = _answer(part, query, statement, values)

    def hits() -> list[Hit] | None:
        rows = answer()
        if narrowed and sum(row[2] is not None for row in rows) < query.limit:
            return None
        return _hits(rows, groups, reach.counts if query.ranked and groups else None)

    return hits


def _any(
    part: Part, query: Query, groups: Sequence[Group], where: Clause, access: Access
) -> Callable[[], list[Hit]]:
    """Whatever matches by words: where nothing has a score nothing need be known first, nor taken in order."""
    found = words_of.matching(query, groups, _asked(query, access))
    if found is None:
        return list
    clause, allowed = where
    sql = f"SELECT found.n, doc, 1.0, NULL FROM ({found[0]}) AS found {_let_through(clause)} LIMIT %s"
    answer = _answer(part, query, sql, [*found[1], *allowed, None])
    return lambda: _hits(answer(), groups, None)


def _hits(rows: Iterable[Row], groups: Sequence[Group], counts: Counts | None) -> list[Hit]:
    """Rows of number, document, score and cosine as hits; without counts a match is a match."""
    found = [(cast("Memory", record_of("memory", row)), row[2], row[3]) for row in rows]
    said = [(memory, score) for memory, score, _ in found if score is not None]
    scores = [score for _, score in said]
    told = shares(scores, groups, counts.whole, counts.told) if counts else [1.0] * len(said)
    by_words = {memory.id: share for (memory, _), share in zip(said, told, strict=True)}
    return in_order(Hit(memory, by_words.get(memory.id), cosine) for memory, _, cosine in found)


def _answer(part: Part, query: Query, statement: str, values: Sequence[Any]) -> Callable[[], list[Row]]:
    """Ask for the rows of a statement that say the phrases; returns a callable that gives them later.

    A `None` among its values stands for the limit.
    """

    def limited(most: int) -> list[Any]:
        return [most if value is None else value for value in values]

    if not query.phrases:
        return part.later(statement, *limited(query.limit))
    saying = _saying(lambda most: part.fetch(statement, *limited(most)), query)
    return lambda: saying


def _saying(ask: Callable[[int], list[Row]], query: Query) -> list[Row]:
    """The best that say the phrases."""
    most = query.limit
    while True:
        rows = ask(most)
        found = [row for row in rows if says_all(cast("Memory", record_of("memory", row)), query.phrases)]
        if len(found) >= query.limit or len(rows) < most:
            return found[: query.limit]
        most *= FURTHER


# --- what must be known first ---


def _asked(query: Query, access: Access) -> Clause:
    """The condition of the places that are asked for, of those that may be read."""
    return placeholders(to_sql(Filter(scopes=query.where.scopes, within=query.where.within), access))


def _reach(part: Part, query: Query, access: Access, terms: Sequence[str]) -> Reach:
    """Everything that a search must know first, in one round trip."""
    asked, values = _asked(query, access)
    among = f"FROM place WHERE org = :org AND ({asked})"
    places = part.later(f"SELECT array_agg(p), (SELECT count(*) FROM place WHERE org = :org) {among}", *values)
    counted = words_of.counted(part, terms, access)
    # Where they are many, terms are looked for everywhere.
    few = f"{asked} AND (SELECT count(*) {among}) <= {MOST_PLACES}"
    inside = words_of.carried(part, words_of.kept_whole(terms), few, [*values, *values])
    space = part.later(
        f"SELECT s, {INDEXED} FROM space WHERE org = :org AND {NAMED}", *(query.space or Space("", 0))
    )
    ((reached, every),) = places()
    counts = counted()
    s, indexed = (*space(), (None, False))[0]
    everywhere = reached is not None and len(reached) == every
    held = None if everywhere else (reached or [])
    narrow = held is not None and len(held) <= MOST_PLACES
    carriers = _inside(counts, inside()) if narrow else counts.whole.carriers
    wide = indexed and query.where.ids is None and _is_wide(part, s, held, counts.whole.total)
    return Reach(held, counts, carriers, s, wide)


def _inside(counts: Counts, found: Mapping[str, int]) -> dict[str, int]:
    """How many carry each term in the places that are asked for; of a term's beginning, in all that may be read."""
    told = counts.told.carriers.items()
    return {term: count if term.endswith("*") else found.get(term, 0) for term, count in told}


def _is_wide(part: Part, s: int, places: Sequence[int] | None, total: int) -> bool:
    """Whether more vectors are in reach than are always compared, and a fair share of all."""
    if places is None:
        return total > EXACT
    most = max(EXACT, total // SHARE)
    some = "SELECT 1 FROM vector WHERE org = :org AND s = %s AND p = ANY(%s) LIMIT %s"
    row = part.first(f"SELECT count(*) FROM ({some}) AS each", s, places, most + 1)
    return bool(row and row[0] > most)


# --- the statement ---


def _statement(where: Clause, words: Finder | None, near: Finder | None, cosines: Finder | None) -> Finder:
    """One statement for the best by words, the nearest by meaning, and the cosines of what only words found.

    Each row is number, document, score and cosine, the best by words first. A `None` among the values is where the
    limit goes.
    """
    clause, allowed = where
    best = (
        "{0} AS MATERIALIZED (SELECT found.n, doc, score FROM ({1} ORDER BY score DESC, n) AS found"
        f" {_let_through(clause)} LIMIT %s)"
    )
    named = [(name, finder) for name, finder in (("worded", words), ("near", near)) if finder]
    parts = [best.format(name, sql) for name, (sql, _) in named]
    values = [value for _, (_, given) in named for value in (*given, *allowed, None)]
    if not words:
        return f"WITH {parts[0]} SELECT n, doc, NULL, score FROM near", values
    if not cosines:
        return f"WITH {parts[0]} SELECT n, doc, score, NULL FROM worded", values
    if not near:
        parts.append("near AS (SELECT NULL::bigint AS n, '' AS doc, NULL::float8 AS score WHERE false)")
    parts.append(f"told AS (SELECT n, score FROM ({cosines[0]}) AS found)")
    sql = (
        "SELECT n, coalesce(worded.doc, near.doc), worded.score, coalesce(near.score, told.score)"
        " FROM worded FULL JOIN near USING (n) LEFT JOIN told USING (n) ORDER BY worded.score DESC NULLS LAST"
    )
    return f"WITH {', '.join(parts)} {sql}", [*values, *cosines[1]]


def _let_through(clause: str) -> str:
    """A join that adds to each of `found`, as it is met, its document, if the filter lets that through.

    The join can only go from one to the other, in order and no further than the limit: documents of the best few
    are looked at, and never those of all that match.
    """
    return (
        "CROSS JOIN LATERAL (SELECT doc::text AS doc FROM memory WHERE memory.org = :org AND memory.n = found.n"
        f" AND {clause} OFFSET 0) AS allowed"
    )


def _by_words(
    query: Query, groups: Sequence[Group], reach: Reach, within: Clause, *, thorough: bool
) -> tuple[Finder | None, bool]:
    """The statement that finds by words, if there are any; and whether it looks for the rare words alone."""
    if not query.ranked or not groups:
        return words_of.matching(query, groups, within), False
    return words_of.scored(query, groups, Scoring(reach.counts, reach.carriers, reach.places, thorough))


# --- meaning ---

COSINES = "SELECT n, max(-(e <#> %s::halfvec)) AS score FROM vector WHERE org = :org AND s = %s{0} GROUP BY n"

INDEXED = (
    "EXISTS (SELECT 1 FROM pg_index WHERE indisvalid"
    f" AND indexrelid = to_regclass('{SCHEMA}.{index_name('')}' || s)) AS indexed"
)

SPARE = 4
"""Of so many times more vectors than wanted memories the best are taken: a long text has several."""


def _by_meaning(query: Query, where: Clause, reach: Reach) -> tuple[Finder | None, Finder | None]:
    """The statements that find by meaning, and that compare what words found; None where there is nothing to ask.

    All vectors in reach are compared: through an index over everybody's, a filter as narrow as one person's
    memories would lose a quarter of the answers. Only where very many are in reach the index is asked.
    """
    if not query.vector or reach.space is None:
        return None, None
    (asked,) = printed(query.vector, len(query.vector) // 4)
    told = COSINES.format(" AND n IN (SELECT n FROM worded)"), [asked, reach.space]
    if query.phrases:
        return None, told  # what does not say them is no candidate
    if query.where.ids is not None:
        these = COSINES.format(" AND n IN (SELECT n FROM memory WHERE org = :org AND id = ANY(%s))")
        return (these, [asked, reach.space, words_of.texts(query.where.ids)]), told
    if reach.wide:
        return _walk(query, where, reach, asked), told
    if reach.places is None:
        return (COSINES.format(""), [asked, reach.space]), told
    return (COSINES.format(" AND p = ANY(%s)"), [asked, reach.space, reach.places]), told


def _walk(query: Query, where: Clause, reach: Reach, asked: str) -> Finder:
    """The statement that walks the index of a space.

    The walk is one side of a join, and the filter the other, so that it goes on until enough were met that the
    filter lets through. The number of the space is written out: the index is for that one alone.
    """
    clause, values = where
    dim = len(query.vector) // 4
    inside, places = ("", []) if reach.places is None else (" AND p = ANY(%s)", [reach.places])
    walk = (
        f"SELECT org, n, e::halfvec({dim}) <#> %s::halfvec({dim}) AS far FROM vector"
        f" WHERE org = :org AND s = {reach.space}{inside} ORDER BY e::halfvec({dim}) <#> %s::halfvec({dim})"
    )
    allowed = f"SELECT FROM memory WHERE memory.org = walk.org AND memory.n = walk.n AND {clause} OFFSET 0"
    near = f"SELECT n, far FROM ({walk}) AS walk CROSS JOIN LATERAL ({allowed}) AS allowed LIMIT %s"
    sql = f"SELECT n, max(-far) AS score FROM ({near}) AS each GROUP BY n"
    return sql, [asked, *places, asked, *values, SPARE * query.limit]
