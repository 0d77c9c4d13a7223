"""Looking for damage in PostgreSQL: history against its hashes, and what is derived against the records."""

import json
from collections.abc import Iterator

from engram.engines.audit import MEND, check_history, check_records, check_row, record_in
from engram.engines.postgres_schema import MEMORY_COLUMNS, RECORD_COLUMNS, Part
from engram.engines.postgres_write import Book, Place, Worded, index_words, place_number, place_of, put_columns
from engram.engines.rows import EVENTS, Row
from engram.model.change import Finding
from engram.model.codec import RECORDS, decode
from engram.model.memory import Memory

AT_ONCE = 1000
"""So many rows are read at once: an org may have more of them than fit into memory."""

UNCLAIMED = "org = :org AND NOT EXISTS (SELECT 1 FROM memory WHERE memory.org = claim.org AND memory.id = claim.id)"
"""The claims that no memory holds."""

DRIFTED = {
    "claim": f"SELECT count(*) FROM claim WHERE {UNCLAIMED}",
    "vector": "SELECT count(*) FROM vector LEFT JOIN memory USING (org, n) LEFT JOIN space USING (org, s)"
    " WHERE vector.org = :org AND (vector.p IS DISTINCT FROM memory.p OR space.s IS NULL"
    " OR vector_dims(e) <> dim)",
    # In each space a memory either has a vector or lacks one.
    "lacking": "SELECT (SELECT count(*) FROM lacking LEFT JOIN memory USING (org, n) LEFT JOIN space USING (org, s)"
    " WHERE lacking.org = :org AND (memory.n IS NULL OR space.s IS NULL))"
    " + (SELECT count(*) FROM memory JOIN space USING (org) WHERE org = :org"
    " AND EXISTS (SELECT 1 FROM vector WHERE vector.org = :org AND vector.n = memory.n AND vector.s = space.s)"
    " = EXISTS (SELECT 1 FROM lacking WHERE lacking.org = :org AND lacking.n = memory.n AND lacking.s = space.s))",
    "place": "SELECT count(*) FROM memory LEFT JOIN place USING (org, p) WHERE memory.org = :org"
    " AND (memory.owner, memory.visibility, memory.workspace, memory.scope, memory.place)"
    " IS DISTINCT FROM (place.owner, place.visibility, place.workspace, place.scope, place.place)",
    "carrier": "WITH counted AS (SELECT unnest(terms) AS term, p, count(*) AS count FROM worded() GROUP BY 1, 2)"
    " SELECT count(*) FROM counted FULL JOIN (SELECT * FROM carrier WHERE org = :org) AS carrier USING (term, p)"
    " WHERE counted.count IS DISTINCT FROM carrier.count",
    "vocabulary": "WITH carried AS"
    " (SELECT term, sum(count) AS carriers FROM carrier WHERE org = :org GROUP BY term)"
    " SELECT count(*) FROM carried FULL JOIN (SELECT * FROM vocabulary WHERE org = :org) AS vocabulary USING (term)"
    " WHERE carried.carriers IS DISTINCT FROM vocabulary.carriers",
}
"""Queries that count the rows that no longer say what the memories say."""


TALLIES = (
    "SELECT (SELECT count(*) FROM memory WHERE org = :org), (SELECT count(*) FROM worded()), used.s,"
    " (SELECT count(DISTINCT n) FROM vector WHERE org = :org AND s = used.s)"
    " FROM (SELECT min(s) AS s FROM space WHERE org = :org) AS used"
)
"""How many memories there are, how many the word index has, the space in use, and how many have a vector in it."""


def check_server(part: Part) -> list[Finding]:
    """What the server is set up to risk: a loss of power may take or damage then what was acknowledged."""
    rows = part.fetch(
        "SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes') AND setting = 'off' ORDER BY name"
    )
    risk = "a loss of power may lose or damage what was acknowledged"
    hint = "Ask whoever runs the server to set it to on."
    return [Finding("unsafe_server", f"The server has {name} = off: {risk}.", hint, "warning") for (name,) in rows]


def check_told(part: Part) -> list[Finding]:
    """What does not agree with history: nothing mends that."""
    mine, kept = Book.replicas(part), _rows(part, "SELECT n, id, doc::text FROM memory")
    first, again = (_rows(part, EVENTS, "seq") for _ in range(2))
    return [*check_history(first, mine), *check_records(again, kept, mine)]


def check_derived(part: Part) -> list[Finding]:
    """Records against what is derived from them: columns, words, claims and vectors."""
    findings = [*_check_words(part)]
    for type in RECORDS:
        names = MEMORY_COLUMNS if type == "memory" else RECORD_COLUMNS
        for n, doc, *kept in _rows(part, f"SELECT n, doc::text, {', '.join(names)} FROM {type}"):
            if finding := check_row(type, n, doc, kept):
                findings.append(finding)
    for table, sql in DRIFTED.items():
        row = part.first(sql)
        if row and row[0]:
            message = f"{row[0]} rows of {table} do not fit the memories."
            findings.append(Finding(table, message, MEND, fixable=True))
    return findings


def mend_derived(part: Part, book: Book) -> Book:
    """Make anew what is derived from the records: columns, places and words; and drop what belongs to none."""
    for (n,) in part.fetch("SELECT n FROM worded()"):
        part.run("SELECT drop_words(%s)", n)
    for table in ("carrier", "vocabulary"):
        part.run(f"DELETE FROM {table} WHERE org = :org")
    book = book._replace(memories=0, words=0)
    places: dict[Place, int] = {}
    for table in ("vector", "lacking"):
        kept = f"SELECT 1 FROM memory WHERE memory.org = :org AND memory.n = {table}.n"
        part.run(f"DELETE FROM {table} WHERE org = :org AND NOT EXISTS ({kept})")
    part.run(f"DELETE FROM claim WHERE {UNCLAIMED}")
    for type in RECORDS:
        for n, doc in _rows(part, f"SELECT n, doc::text FROM {type}"):
            record = decode(type, json.loads(doc))
            if not isinstance(record, Memory):
                put_columns(part, record, n, 0)
                continue
            if (place := place_of(record)) not in places:
                places[place] = place_number(part, place)()
            put_columns(part, record, n, places[place])
            book = index_words(part, book, n, record, places[place])
    return book


def _check_words(part: Part) -> Iterator[Finding]:
    kept = "SELECT 1 FROM memory WHERE memory.org = :org AND memory.n = worded.n"
    wrong = part.fetch(f"SELECT count(*) FROM worded() WHERE NOT EXISTS ({kept})")[0][0]
    worded = "memory LEFT JOIN LATERAL words_of(n) AS worded ON true"
    for _, doc, terms, length in _rows(part, f"SELECT n, doc::text, terms, length FROM {worded}"):
        memory = record_in("memory", doc)
        if isinstance(memory, Memory):
            wanted = Worded.of(memory)
            wrong += (terms, length) != (wanted.terms, wanted.length)
    if wrong:
        yield Finding("words", f"{wrong} memories are not in the word index as they should be.", MEND, fixable=True)


def _rows(part: Part, select: str, number: str = "n") -> Iterator[Row]:
    """All rows of an org that a query tells, which begin with their number, in the order of it."""
    asked = f"{select} WHERE org = :org AND {number} > %s ORDER BY {number} LIMIT {AT_ONCE}"
    last = 0
    while rows := part.fetch(asked, last):
        yield from rows
        last = rows[-1][0]
