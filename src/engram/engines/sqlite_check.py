"""Looking for damage: history against its hashes, and what is derived against the records."""

import json

import apsw

from engram.engines.sqlite_file import COLUMNS, MEMORY_COLUMNS
from engram.engines.sqlite_rows import EVENTS, event_of, fetch, meta
from engram.model.change import Finding
from engram.model.codec import RECORDS, Document, decode, index
from engram.model.event import BOOKKEEPING, intact
from engram.model.refs import print_handle
from engram.model.text import TERMS_VERSION


def check_history(db: apsw.Connection) -> list[Finding]:
    """Every envelope against its hash, every payload against its commitment, every link of every chain."""
    findings: list[Finding] = []
    last: dict[str, tuple[int, str]] = {}
    for row in db.execute(f"{EVENTS} ORDER BY seq"):
        event = event_of(row)
        position, prev = last.get(event.replica, (0, ""))
        if not intact(event) or (event.position, event.prev) != (position + 1, prev):
            findings.append(
                Finding(
                    "history",
                    f"Event {event.seq} ({event.id[:8]}) does not fit the chain: history was changed.",
                    "Compare with a backup; what follows it is unaffected.",
                )
            )
        last[event.replica] = (event.position, event.id)
    return findings


def check_records(db: apsw.Connection) -> list[Finding]:
    """Every memory against what history says it became; what a purge took from history cannot be compared."""
    told: dict[str, Document] = {}
    unknown: set[str] = set()
    for row in db.execute(f"{EVENTS} ORDER BY seq"):
        event = event_of(row)
        if event.payload is None:
            unknown.update(event.subjects)
            continue
        for edit in event.payload.edits:
            told.setdefault(edit.id, {})[edit.field] = edit.new
    findings = []
    here = {id for (id,) in db.execute("SELECT id FROM memory")}
    lost = [id for id, said in told.items() if said.get("id") and "text" in said and id not in here | unknown]
    for id in lost:
        message = f"{id[:13]} is in history, but no longer in the store: it was removed from outside."
        findings.append(Finding("records", message, "Restore a backup."))
    for n, doc in db.execute("SELECT n, doc FROM memory"):
        kept = json.loads(doc)
        said = told.get(kept["id"], {})
        names = {name for name in {**kept, **said} if kept.get(name) != said.get(name)} - BOOKKEEPING
        if names and kept["id"] not in unknown:
            handle, fields = print_handle("memory", n), ", ".join(sorted(names))
            message = f"{handle} is not what history made it: {fields} was changed from outside."
            findings.append(Finding("records", message, "Compare with a backup, or forget it."))
    return findings


def _document(doc: str) -> Document | None:
    """The document, or None where it is none of a memory's, a session's or a relation's."""
    try:
        kept = json.loads(doc)
    except ValueError:
        return None
    return kept if isinstance(kept, dict) and isinstance(kept.get("id"), str) else None


def check_derived(db: apsw.Connection) -> list[Finding]:
    """Records against what is derived from them: columns, words, claims and vectors."""
    findings = []
    kept = fetch(db, "SELECT count(*) FROM memory")[0][0]
    there = fetch(db, "SELECT 1 FROM sqlite_schema WHERE name = 'words_docsize'")
    indexed = fetch(db, "SELECT count(*) FROM words_docsize")[0][0] if there else "none"
    if kept != indexed or meta(db, "terms") != TERMS_VERSION:
        findings.append(
            Finding(
                "words",
                f"{kept} memories, {indexed} in the word index.",
                "Rebuild it: engram doctor --fix",
                fixable=True,
            )
        )
    for type in RECORDS:
        names = list(MEMORY_COLUMNS if type == "memory" else COLUMNS)
        for n, doc, *kept in db.execute(f"SELECT n, doc, {', '.join(names)} FROM {type}"):
            handle = print_handle(type, n)
            if _document(doc) is None:
                findings.append(Finding("records", f"The document of {handle} is damaged.", "Restore a backup."))
            elif list(index(decode(type, json.loads(doc))).values()) != kept:
                findings.append(
                    Finding("columns", f"The columns of {handle} differ from its document.", fixable=True)
                )
    strays = "SELECT count(*) FROM {0} WHERE NOT EXISTS (SELECT 1 FROM memory WHERE memory.id = {0}.id)"
    counts = {table: fetch(db, strays.format(table))[0][0] for table in ("claim", "vector")}
    return findings + [
        Finding(table, f"{count} rows of {table} belong to no memory.", fixable=True)
        for table, count in counts.items()
        if count
    ]
