"""Queries to the word index: which memories have these terms, and how common a term is."""

import json
from collections.abc import Iterator, Mapping, Sequence

import apsw

from engram.engines.groups import MOST_SCORED, Wanted, groups_of, rarest
from engram.engines.rows import Row, place_term
from engram.engines.sqlite_rows import fetch
from engram.model.limits import storable
from engram.model.query import FIELD_WEIGHTS, Census, Query, phrase_terms, shares
from engram.model.text import holds

MOST_PLACES = 32
"""Beyond so many places, matches are filtered by place afterwards: as terms they would cost more than they save."""

SMALL = 256
"""Of a store of so few memories all terms are kept, until it changes: to a question most words are unknown there,
and for each of them hundreds of spellings are looked up."""

CARRIED = 16
"""Of so many terms at once it is counted whether anybody may read what carries them."""

MOST_KEPT = 50_000
DRIFT = 0.01
"""A term is counted anew when the store has grown or shrunk by this share since."""

_WEIGHTS = ", ".join(map(str, (*FIELD_WEIGHTS, 0.0)))  # a place has no weight: it only decides what matches
_SCORED = f"SELECT rowid, -bm25(words, {_WEIGHTS}) AS score FROM words WHERE words MATCH ?"
# What only narrows stands apart, where bm25() does not count it; the plus keeps the planner from looking numbers up
# one by one.
_NARROWED = " AND +rowid IN (SELECT rowid FROM words WHERE words MATCH ?)"
_FOUND = "SELECT rowid, 1.0 FROM words WHERE words MATCH ?"
_RANKED = " ORDER BY score DESC, rowid LIMIT ?"


class Words:
    """Answers about terms for one engine, with the counts it remembers."""

    def __init__(self) -> None:
        self._counts: dict[str, tuple[int, int]] = {}  # term → carriers, and the total they were counted at
        self._all: tuple[list[Row], dict[str, int]] = ([], {})  # of a small store: its state, and every term in it

    def matches(
        self,
        db: apsw.Connection,
        query: Query,
        most: int,
        places: Sequence[int] | None,
        readable: Sequence[int] | None,
    ) -> list[Row]:
        """Number and share of so many memories that match in these places, best first; None is everywhere.

        What carries a phrase's terms need not say the phrase; whoever reads the document can tell. Shares are
        reckoned with the words of the readable places, so that they say little of what others keep.
        """
        groups, phrased = groups_of(query), phrase_terms(query.phrases)
        if not groups:
            rows = fetch(db, _SCORED + _RANKED, _within(_all_of(phrased), places), most) if phrased else []
            return [(n, 1.0) for n, _ in rows]
        whole = expression_of(query, places)
        phrases = [_all_of(phrased)] if phrased else []
        if not query.ranked:  # for a score FTS5 would read the whole list of every term
            return fetch(db, f"{_FOUND}{_NARROWED * len(phrases)} LIMIT ?", whole, *phrases, most)
        terms = [term for group in groups for term in group]
        census = self.census(db, terms, None)
        part = self._part(db, places, census.total)
        carriers = {term: count * part for term, count in census.carriers.items()}
        telling = groups if query.every else rarest(groups, carriers, Wanted(most, MOST_SCORED))
        rows = []
        if len(telling) < len(groups):
            rare = _within(_expression(telling, every=False), places)
            rows = _ranked(db, [whole, rare, *phrases], most)
        if len(rows) < most:  # nothing was rare, or too few carry it: then all that match
            rows = _ranked(db, [whole, *phrases], most)
        told = census if readable is None else self.census(db, terms, readable)
        found = shares((score for _, score in rows), groups, census, told)
        return list(zip((n for n, _ in rows), found, strict=True))

    def _part(self, db: apsw.Connection, places: Sequence[int] | None, total: int) -> float:
        """Which part of all memories these places hold, where matches are looked for in these alone."""
        if places is None or len(places) > MOST_PLACES or not total:
            return 1.0
        held = self.census(db, [place_term(p) for p in places], None)
        return min(sum(held.carriers.values()) / total, 1.0)

    def census(self, db: apsw.Connection, terms: Sequence[str], places: Sequence[int] | None) -> Census:
        """How many memories of these places (None is everywhere) carry each term."""
        total = _total(db)
        if total <= SMALL:
            every = self._every(db)
            counts = {term: every.get(term, 0) for term in terms}
            counts.update(_carriers(db, [term for term in counts if term.endswith("*")]))
            return Census(total, counts if places is None else _counted_in(db, counts, places))
        counts = dict.fromkeys(terms, 0)
        unknown = []
        for term in counts:
            known = self._counts.get(term)
            if known is None or abs(known[1] - total) > DRIFT * total:
                unknown.append(term)
            else:
                counts[term] = known[0]
        if len(self._counts) > MOST_KEPT:
            self._counts.clear()
        for term, carriers in _carriers(db, unknown):  # an unknown word is not remembered: the next may carry it
            counts[term] = carriers
            self._counts[term] = (carriers, total)
        return Census(total, counts if places is None else _counted_in(db, counts, places))

    def containing(self, db: apsw.Connection, piece: str, places: Sequence[int] | None, limit: int) -> list[str]:
        """The shortest terms that hold a piece and are carried in these places (None is everywhere).

        FTS5 keeps no index of what stands inside a term, so all terms are gone through.
        """
        if not storable(piece):
            return []
        either = "substr(term, 1, 1) <> ':' AND (instr(term, ?) OR instr(term, ?))"
        sql = f"SELECT term, doc FROM vocabulary WHERE {either} ORDER BY length(term), term"
        terms = {term: doc for term, doc in fetch(db, sql, piece, piece[::-1]) if holds(term, piece)}
        found: list[str] = []
        for some in _batches([*terms], CARRIED):
            counts = {term: terms[term] for term in some}
            carried = counts if places is None else _counted_in(db, counts, places)
            found += [term for term in some if carried[term]]
            if len(found) >= limit:
                break
        return found[: max(limit, 0)]

    def _every(self, db: apsw.Connection) -> dict[str, int]:
        """How many carry each term there is, counted anew when FTS5's own records of the index have changed."""
        state = fetch(db, "SELECT block FROM words_data WHERE id IN (1, 10)")
        if self._all[0] != state:
            self._all = (state, dict(fetch(db, "SELECT term, doc FROM vocabulary")))
        return self._all[1]


def _batches(terms: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for at in range(0, len(terms), size):
        yield terms[at : at + size]


def _ranked(db: apsw.Connection, expressions: Sequence[str], limit: int) -> list[Row]:
    """Number and score of what matches the first expression, among what matches the others too."""
    return fetch(db, _SCORED + _NARROWED * (len(expressions) - 1) + _RANKED, *expressions, limit)


def _counted_in(db: apsw.Connection, counts: Mapping[str, int], places: Sequence[int]) -> dict[str, int]:
    """The counts in these places alone; what nobody carries need not be looked for."""
    inside = dict.fromkeys(counts, 0)
    for at in range(0, len(places), MOST_PLACES):
        some = places[at : at + MOST_PLACES]
        for term in (term for term, count in counts.items() if count):
            sql = "SELECT count(*) FROM words WHERE words MATCH ?"
            inside[term] += fetch(db, sql, _within(_quoted(term), some))[0][0]
    return inside


def expression_of(query: Query, places: Sequence[int] | None) -> str:
    """What a query's terms are in FTS5's language, in these places."""
    return _within(_expression(groups_of(query), every=query.every), places)


def _expression(groups: Sequence[Sequence[str]], *, every: bool) -> str:
    """The groups in FTS5's language. Every term stands in quotes, so nothing in it can be an operator."""
    return (" AND " if every else " OR ").join(f"({' OR '.join(map(_quoted, group))})" for group in groups)


def _all_of(terms: Sequence[str]) -> str:
    return " AND ".join(map(_quoted, terms))


def _within(expression: str, places: Sequence[int] | None) -> str:
    """What matches in these places, where they are few enough to be asked for."""
    if places is None or len(places) > MOST_PLACES:
        return expression
    return f"({expression}) AND ({' OR '.join(_quoted(place_term(p)) for p in places)})"


def _quoted(term: str) -> str:
    inner = term.replace('"', '""')
    return f'"{inner[:-1]}" *' if term.endswith("*") else f'"{inner}"'


def _carriers(db: apsw.Connection, terms: Sequence[str]) -> Iterator[tuple[str, int]]:
    """How many carry each of these, of those that anything carries; one statement, for they may be hundreds."""
    for term in terms:
        if term.endswith("*"):
            found = fetch(db, "SELECT count(*) FROM words WHERE words MATCH ?", _quoted(term))[0][0]
            if found:
                yield term, found
    whole = [term for term in terms if not term.endswith("*")]
    if whole:
        sql = "SELECT term, doc FROM vocabulary WHERE term IN (SELECT value FROM json_each(?))"
        yield from fetch(db, sql, json.dumps(whole))


def _total(db: apsw.Connection) -> int:
    """How many memories are indexed: the first number of FTS5's own record of averages, a varint."""
    found = fetch(db, "SELECT block FROM words_data WHERE id = 1")
    total = 0
    for byte in bytes(found[0][0])[:9] if found else b"":
        total = total << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return total
