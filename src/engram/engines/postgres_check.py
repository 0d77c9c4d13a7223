"""Looking for damage in PostgreSQL: history against its hashes, and what is derived against the records."""

import json
from collections.abc import Iterator

from engram.engines.audit import MEND, check_history, check_records, check_row, record_in
from engram.engines.postgres_schema import MEMORY_COLUMNS, RECORD_COLUMNS, Part
from engram.engines.postgres_write import Book, Place, Worded, index_words, place_number, place_of, put_columns
from engram.engines.rows import EVENTS, event_of
from engram.model.change import Finding
from engram.model.codec import RECORDS, decode
from engram.model.event import Event
from engram.model.memory import Memory

DRIFTED = {
    "claim": "SELECT count(*) FROM claim WHERE org = :org AND id NOT IN (SELECT id FROM memory)",
    "vector": "SELECT count(*) FROM vector LEFT JOIN memory USING (org, n) LEFT JOIN space USING (org, s)"
    " WHERE vector.org = :org AND (vector.p IS DISTINCT FROM memory.p OR space.s IS NULL"
    " OR vector_dims(e) <> dim)",
    # In each space a memory either has a vector or lacks one.
    "lacking": "SELECT (SELECT count(*) FROM lacking LEFT JOIN memory USING (org, n) LEFT JOIN space USING (org, s)"
    " WHERE lacking.org = :org AND (memory.n IS NULL OR space.s IS NULL))"
    " + (SELECT count(*) FROM memory CROSS JOIN space WHERE memory.org = :org"
    " AND EXISTS (SELECT 1 FROM vector WHERE vector.n = memory.n AND vector.s = space.s)"
    " = EXISTS (SELECT 1 FROM lacking WHERE lacking.n = memory.n AND lacking.s = space.s))",
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
"""What counts the rows that no longer say what the memories say."""


TALLIES = (
    "SELECT (SELECT count(*) FROM memory WHERE org = :org), (SELECT count(*) FROM worded()), used.s,"
    " (SELECT count(DISTINCT n) FROM vector WHERE org = :org AND s = used.s)"
    " FROM (SELECT min(s) AS s FROM space WHERE org = :org) AS used"
)
"""How many memories there are, how many the word index has, the space in use, and how many have a vector in it."""


def check_told(part: Part) -> list[Finding]:
    """What does not agree with history: nothing mends that."""
    kept = part.fetch("SELECT n, id, doc::text FROM memory WHERE org = :org")
    mine = Book.replicas(part)
    return [*check_history(_events(part), mine), *check_records(_events(part), kept, mine)]


def check_derived(part: Part) -> list[Finding]:
    """Records against what is derived from them: columns, words, claims and vectors."""
    findings = [*_check_words(part)]
    for type in RECORDS:
        names = MEMORY_COLUMNS if type == "memory" else RECORD_COLUMNS
        for n, doc, *kept in part.fetch(f"SELECT n, doc::text, {', '.join(names)} FROM {type} WHERE org = :org"):
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
    strays = "org = :org AND n NOT IN (SELECT n FROM memory)"
    for table in ("vector", "lacking"):
        part.run(f"DELETE FROM {table} WHERE {strays}")
    part.run("DELETE FROM claim WHERE org = :org AND id NOT IN (SELECT id FROM memory)")
    for type in RECORDS:
        rows = part.fetch(f"SELECT n, doc::text FROM {type} WHERE org = :org ORDER BY n")
        for n, doc in rows:
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
    worded = {n: (terms, length) for n, _, terms, length in part.fetch("SELECT n, p, terms, length FROM worded()")}
    wrong = 0
    for n, doc in part.fetch("SELECT n, doc::text FROM memory WHERE org = :org"):
        kept, memory = worded.pop(n, None), record_in("memory", doc)
        if isinstance(memory, Memory):
            wanted = Worded.of(memory)
            wrong += kept != (wanted.terms, wanted.length)
    if wrong + len(worded):
        message = f"{wrong + len(worded)} memories are not in the word index as they should be."
        yield Finding("words", message, MEND, fixable=True)


def _events(part: Part) -> Iterator[Event]:
    for row in part.fetch(f"{EVENTS} WHERE org = :org ORDER BY seq"):
        yield event_of(row)
