"""Looking for damage: history against its hashes, and what is derived against the records."""

import apsw

from engram.engines.audit import MEND, check_history, check_records, check_row
from engram.engines.rows import EVENTS, tallied
from engram.engines.sqlite_file import COLUMNS, MEMORY_COLUMNS
from engram.engines.sqlite_rows import Book, fetch, meta
from engram.model.change import LEFT, Finding
from engram.model.codec import RECORDS
from engram.model.text import TERMS_VERSION

MOST = 20
"""How many places of a damaged file are looked for."""

KEYED_BY = {"claim": "id", "vector": "n", "lacking": "n"}
"""What stands beside the memories, and by what it is tied to them."""

DRIFTED = {
    "vector": "SELECT count(*) FROM vector LEFT JOIN memory USING (n) LEFT JOIN space USING (s)"
    " WHERE vector.p IS NOT memory.p OR space.s IS NULL"
    " OR length(halves) <> 2 * dim OR length(code) <> (dim + 7) / 8",
    # In each space a memory either has a vector or lacks one.
    "lacking": "SELECT (SELECT count(*) FROM lacking WHERE s NOT IN (SELECT s FROM space))"
    " + (SELECT count(*) FROM memory CROSS JOIN space"
    " WHERE EXISTS (SELECT 1 FROM vector WHERE vector.n = memory.n AND vector.s = space.s)"
    " = EXISTS (SELECT 1 FROM lacking WHERE lacking.n = memory.n AND lacking.s = space.s))",
    "place": "SELECT count(*) FROM memory LEFT JOIN place USING (p)"
    " WHERE (memory.owner, memory.visibility, memory.workspace, memory.scope, memory.place)"
    " IS NOT (place.owner, place.visibility, place.workspace, place.scope, place.place)",
}
"""Queries that count the rows that no longer say what the memories say."""


def integrity(db: apsw.Connection) -> Finding | None:
    """What SQLite itself finds wrong with its file, in one sentence; None where it is whole."""
    told = [line for (text,) in fetch(db, f"PRAGMA integrity_check({MOST})") for line in text.split("\n")]
    places = [line for line in told if line != "ok" and not line.startswith("***")]
    if not places:
        return None
    first = next((line for line in places if not line.endswith("never used")), places[0])
    many = "1 place" if len(places) == 1 else f"{len(places)} places{' or more' if len(places) >= MOST else ''}"
    return Finding("integrity", f"The file of the store is damaged in {many}. SQLite says of one: {first}.", LEFT)


def check_told(db: apsw.Connection) -> list[Finding]:
    """What does not agree with history: nothing mends that."""
    mine, kept = _mine(db), db.execute("SELECT n, id, doc FROM memory")
    events = f"{EVENTS} ORDER BY seq"
    return [*check_history(db.execute(events), mine), *check_records(db.execute(events), kept, mine)]


def _mine(db: apsw.Connection) -> set[str]:
    """The replica that this store is, and those it was before it was copied or restored."""
    book = Book.kept(db)
    return {book.chain.head.replica, *book.chain.earlier} if book else set()


def tallies(db: apsw.Connection) -> dict[str, int]:
    """How many memories there are, how many the word index has, and how many have a vector in the space in use."""
    there = fetch(db, "SELECT 1 FROM sqlite_schema WHERE name = 'words_docsize'")
    words = "(SELECT count(*) FROM words_docsize)" if there else "NULL"
    used = "(SELECT min(s) FROM space)"
    vectors = f"(SELECT count(DISTINCT n) FROM vector WHERE s = {used})"
    return tallied(*fetch(db, f"SELECT count(*), {words}, {used}, {vectors} FROM memory")[0])


def check_derived(db: apsw.Connection) -> list[Finding]:
    """Records against what is derived from them: columns, words, claims and vectors."""
    findings = []
    kept = tallies(db)
    if kept["rows"] != kept.get("full_text") or meta(db, "terms") != TERMS_VERSION:
        findings.append(
            Finding(
                "words",
                f"{kept['rows']} memories, {kept.get('full_text', 'none')} in the word index.",
                "Rebuild it: engram doctor --fix",
                fixable=True,
            )
        )
    for type in RECORDS:
        names = list(MEMORY_COLUMNS if type == "memory" else COLUMNS)
        for n, doc, *columns in db.execute(f"SELECT n, doc, {', '.join(names)} FROM {type}"):
            if finding := check_row(type, n, doc, columns):
                findings.append(finding)
    strays = "SELECT count(*) FROM {0} WHERE NOT EXISTS (SELECT 1 FROM memory WHERE memory.{1} = {0}.{1})"
    counts = {table: fetch(db, strays.format(table, key))[0][0] for table, key in KEYED_BY.items()}
    for table, sql in DRIFTED.items():
        if table == "place" and any(finding.code == "columns" for finding in findings):
            continue  # one drift, told once: mending the columns mends the places
        counts[table] = counts.get(table, 0) + fetch(db, sql)[0][0]
    return findings + [
        Finding(table, f"{count} rows of {table} do not fit the memories.", MEND, fixable=True)
        for table, count in counts.items()
        if count
    ]
