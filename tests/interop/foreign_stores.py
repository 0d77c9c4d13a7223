"""Stores of the four other systems, made as those make them: by their specifications, not by our writers."""

import csv
import gzip
import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import yaml

Row = dict[str, Any]

# --- A: records ---

FIRST, SECOND, THIRD, FOURTH = (f"{n}c1e9f0a-58cc-4372-a567-0e02b2c3d4{n}9" for n in range(1, 5))


def records() -> list[Row]:
    """Payloads of a collection: every key of a record, discoveries and rules, schedules, archives and links."""
    context = {
        "repo": "github.com/acme/api",
        "workspace": "acme",
        "worktree_path": "/src/api-wt",
        "base_dir": "/src/api",
    }
    nowhere = dict.fromkeys(context, "")
    common = {"actor": "alex@example.org", "owner": "", "visibility": "", "schema_version": 3}
    return [
        {
            "id": FIRST,
            "short_id": "0a1b2c3d4e",
            "content": "We deploy on Fridays,\nafter the tests are green.",
            "scope": "eval-2026-05:project:selfhosted-cluster",
            **context,
            "source": "user-said",
            "category": "decision",
            "tags": ["deploy", "日本語"],
            **common,
            "visibility": "shared",
            "created_at": "2026-05-01T12:00:00Z",
            "summary": "Deploy on Fridays",
            "summary_source": "client",
            "access_count": 7,
            "last_accessed_at": "2026-05-03T00:00:00Z",
        },
        {
            "id": SECOND,
            "short_id": "1a1b2c3d4e",
            "content": "The api is laid out by layers",
            "scope": "discovery:repo:github.com/acme/api",
            **nowhere,
            "source": "agent-inferred",
            "category": "discovery",
            "kind": "map",
            "tags": [],
            **common,
            "created_at": "2026-05-02T08:30:00Z",
            "summary": "Layers",
            "citations": [
                {
                    "kind": "file",
                    "ref": "src/api.py",
                    "locator": "200-240",
                    "pin": "abc123",
                    "excerpt": "def a():\n",
                },
                {"kind": "url", "ref": "https://example.org/x"},
            ],
        },
        {
            "id": THIRD,
            "content": "Never push to main",
            "scope": "rule:repo:github.com/acme/api",
            **nowhere,
            "source": "user-said",
            "category": "rule",
            "tags": ["git"],
            **common,
            "visibility": "shared",
            "created_at": "2026-05-02T09:00:00Z",
            "summary": "No pushes to main",
            "not_before": 1777600000,
            "not_after": 1893456000,
        },
        {
            "id": FOURTH,
            "content": "We deploy on Mondays",
            "scope": "any old label: of ours",
            **nowhere,
            "source": "agent-inferred",
            "category": "gotcha",
            "tags": ["deploy"],
            **common,
            "created_at": "2026-04-01T09:00:00Z",
            "archived_at": 1777900000,
            "superseded_by": FIRST,
        },
        {
            "id": "5c1e9f0a-58cc-4372-a567-0e02b2c3d459",
            "content": "We deploy on Mondays",
            "scope": "any old label: of ours",
            **nowhere,
            "source": "agent-inferred",
            "category": "preference",
            "tags": [],
            **common,
            "created_at": "2026-04-02T09:00:00Z",
        },
    ]


def linked_records() -> list[Row]:
    """The same, with the link back from the record that supersedes."""
    rows = records()
    rows[0]["supersedes"] = [FOURTH]
    return rows


def collection(path: Path, rows: list[Row]) -> Path:
    """A collection as scrolling through it answers, page after page."""
    points = [
        {"id": row["id"], "payload": {k: v for k, v in row.items() if k != "id"}, "vector": [0.1] * 8}
        for row in rows
    ]
    pages = [points[:2], points[2:]]
    answers = [
        {"result": {"points": page, "next_page_offset": page[-1]["id"]}, "status": "ok", "time": 0.001}
        for page in pages
    ]
    path.write_text("\n".join(json.dumps(answer) for answer in answers), encoding="utf-8")
    return path


# --- B: memory.v1 ---


def items() -> list[Row]:
    """The twelve keys, in every status."""

    def item(n: int, fact: str, **more: Any) -> Row:
        base = {
            "id": f"mem-{n:04d}",
            "fact": fact,
            "kind": "tooling",
            "source": "tool:remember",
            "confidence": 0.6,
            "learned_by": "remember",
            "learned_at": "2026-01-15",
            "last_verified": None,
            "decay": "180d",
            "status": "pending",
            "risk_tier": 1,
            "dest": None,
        }
        return base | more

    live = {"status": "promoted", "last_verified": "2026-01-16", "dest": "memory-log.md"}
    curated = {"kind": "identity", "risk_tier": 3, "source": "manual", "learned_by": "manual", "confidence": 1.0}
    return [
        item(1, "I prefer pnpm over npm", **live),
        item(2, "yes", **live),
        item(3, "1e3", **live),
        item(4, "A fact: with a colon, a # sign and 'quotes'; long enough to be folded onto a second line", **live),
        item(5, "My legal name is Alex Rivera", **curated, status="promoted", dest="memory.md", decay="365d"),
        item(6, "My passport is in the safe", **curated),
        item(7, "A thing nobody wants", status="rejected"),
        item(8, "Two\n\nparagraphs", kind="project", decay="2w", status="pending"),
        item(9, "My handle is alexr", kind="identity"),
        item(10, "東京 🦊 is where the server is", kind="infra", source="harness:codex:acme-api", **live),
    ]


def memory_v1(folder: Path, rows: list[Row], *, archived: list[Row] | None = None) -> Path:
    """A store as the release of June writes it: PyYAML, sorted by nothing, dashes at the margin."""
    folder.mkdir()
    for name, these in (("memory.md", rows), ("archive.md", archived or [])):
        if these or name == "memory.md":
            head = {"schema": "memory.v1", "generated": "2026-06-01", "items": these}
            front = yaml.safe_dump(head, sort_keys=False, allow_unicode=True)
            (folder / name).write_text(f"---\n{front}---\n\n# Memory\n", encoding="utf-8")
    (folder / "queue").mkdir()
    for row in rows:
        if row["status"] == "pending" and row["risk_tier"] == 3:
            envelope = {"memory": row, "dest": "memory.md", "diff": "", "reason": f"{row['kind']} needs review"}
            (folder / "queue" / f"{row['id']}.json").write_text(json.dumps(envelope, indent=2), encoding="utf-8")
    (folder / "audit.jsonl").write_text('{"ts": "2026-06-01T00:00:00+00:00"}\n', encoding="utf-8")
    return folder


def read_memory_v1(folder: Path, name: str = "memory.md") -> list[Row]:
    """The items as that release reads them, dates as text."""
    front = (folder / name).read_text(encoding="utf-8").split("---\n")[1]
    loaded = yaml.safe_load(front)
    assert loaded["schema"] == "memory.v1"
    return [
        {key: value.isoformat() if hasattr(value, "isoformat") else value for key, value in row.items()}
        for row in loaded["items"]
    ]


# --- C: observations ---

SESSIONS = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, project TEXT NOT NULL, directory TEXT NOT NULL,
  started_at TEXT NOT NULL DEFAULT (datetime('now')), ended_at TEXT, summary TEXT{more});
"""
OBSERVATIONS = """
CREATE TABLE observations (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, type TEXT NOT NULL,
  title TEXT NOT NULL, content TEXT NOT NULL, tool_name TEXT, project TEXT, scope TEXT NOT NULL DEFAULT 'project',
  topic_key TEXT, normalized_hash TEXT, revision_count INTEGER NOT NULL DEFAULT 1,
  duplicate_count INTEGER NOT NULL DEFAULT 1, last_seen_at TEXT, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
  deleted_at TEXT{more}, FOREIGN KEY (session_id) REFERENCES sessions(id));
"""
PROMPTS = """
CREATE TABLE user_prompts (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, content TEXT NOT NULL,
  project TEXT, created_at TEXT NOT NULL{more});
"""
RELATIONS = """
CREATE TABLE memory_relations (id INTEGER PRIMARY KEY AUTOINCREMENT, sync_id TEXT UNIQUE, source_id TEXT,
  target_id TEXT, relation TEXT DEFAULT 'pending', reason TEXT, evidence TEXT, confidence REAL,
  judgment_status TEXT DEFAULT 'pending', marked_by_actor TEXT, marked_by_kind TEXT, marked_by_model TEXT,
  session_id TEXT, superseded_at TEXT, superseded_by_relation_id INTEGER, created_at TEXT, updated_at TEXT);
"""
FTS = (
    "CREATE VIRTUAL TABLE observations_fts USING fts5(title, content, content='observations', content_rowid='id');"
)
LATER = {
    "sessions": ", ownership_mode TEXT, runtime_lease_expires_at TEXT, local_creation_project TEXT",
    "observations": ", sync_id TEXT, pinned BOOLEAN NOT NULL DEFAULT 0, review_after TEXT, expires_at TEXT,"
    " embedding BLOB, embedding_model TEXT, embedding_created_at TEXT",
    "prompts": ", sync_id TEXT, source_inbox_id TEXT",
}
VERSIONS = {
    "plain": "CREATE TABLE observation_versions (id INTEGER PRIMARY KEY, observation_id INTEGER, title TEXT,"
    " content TEXT NOT NULL, version INTEGER, created_at TEXT, UNIQUE(observation_id, version));",
    "rich": "CREATE TABLE observation_versions (version_id TEXT PRIMARY KEY, observation_id INTEGER, title TEXT,"
    " content TEXT, version INTEGER, is_baseline INTEGER, history_complete INTEGER, created_at TEXT);",
}


def observed(*, later: bool) -> dict[str, list[Row]]:
    """What a store of observations holds: of the early release, or of a later one."""
    sessions = [
        {
            "id": "manual-save-api",
            "project": "api",
            "directory": "/src/api",
            "started_at": "2026-03-01 10:00:00",
            "ended_at": "2026-03-01 12:00:00",
            "summary": "Goal: the release.\nDone.",
        },
        {
            "id": "s-2",
            "project": "Web App",
            "directory": "(recovered-missing-session)",
            "started_at": "1970-01-01 00:00:00",
        },
    ]

    def row(n: int, title: str, content: str, **more: Any) -> Row:
        base = {
            "id": n,
            "session_id": "manual-save-api",
            "type": "decision",
            "title": title,
            "content": content,
            "project": "api",
            "scope": "project",
            "revision_count": 1,
            "duplicate_count": 1,
            "created_at": f"2026-03-01 10:0{n}:00",
            "updated_at": f"2026-03-01 11:0{n}:00",
        }
        return base | more

    observations = [
        row(1, "Pick a queue", "**What**: we use NATS", topic_key="architecture/queue", revision_count=4),
        row(2, "A bug", "The cache was cold", type="bugfix", tool_name="bash", duplicate_count=3),
        row(3, "Mine", "I like tabs", type="preference", scope="personal", project="api"),
        row(4, "Everywhere", "Use UTC", type="policy", scope="global", project=None),
        row(5, "Old queue", "We use Rabbit", deleted_at="2026-03-02 00:00:00", topic_key="architecture/queue"),
        row(6, "Twice", "The cache was cold", type="discovery", last_seen_at="2026-03-01T11:09:00Z"),
        row(7, "Odd", "Text ... [truncated]", type="file_change", project=None, session_id="s-2"),
        row(8, "Session summary: api", "Goal: all of it", type="session_summary"),
        row(9, "Nano", "Fractions", type="manual", created_at="2026-03-01T10:09:00.123456789Z"),
    ]
    prompts = [
        {
            "id": 1,
            "session_id": "manual-save-api",
            "content": "Please release it",
            "project": "api",
            "created_at": "2026-03-01 10:00:30",
        }
    ]
    if not later:
        return {"sessions": sessions, "observations": observations, "prompts": prompts}
    for one in observations:
        one |= {"sync_id": f"obs-{one['id']:016x}", "pinned": one["id"] == 2}
    observations[0]["review_after"] = "2026-09-01 10:01:00"
    sessions[0]["ownership_mode"] = "project_owned"
    prompts[0] |= {"sync_id": "prompt-00000000000000aa", "source_inbox_id": "inbox-1"}
    relations = [
        _relation(1, 1, 5, "supersedes", "judged", confidence=0.9, marked_by_model="a-model"),
        _relation(2, 2, 6, "not_conflict", "judged", reason="The same cache"),
        _relation(3, 3, 4, "pending", "pending", marked_by_actor=None, marked_by_kind=None),
        _relation(4, 4, 9, "conflicts_with", "judged", superseded_at="2026-03-03 00:00:00"),
        _relation(5, 9, 1, "related", "ignored"),
    ]
    relations[3]["superseded_by_relation_sync_id"] = relations[1]["sync_id"]
    return {"sessions": sessions, "observations": observations, "prompts": prompts, "relations": relations}


def _relation(n: int, first: int, second: int, verb: str, status: str, **more: Any) -> Row:
    row = {
        "sync_id": f"rel-{n:016x}",
        "source_id": f"obs-{first:016x}",
        "target_id": f"obs-{second:016x}",
        "relation": verb,
        "judgment_status": status,
        "marked_by_actor": "agent",
        "marked_by_kind": "agent",
        "created_at": "2026-03-02 00:00:00",
        "updated_at": "2026-03-02 00:00:01",
        **more,
    }
    return {name: value for name, value in row.items() if value is not None}


def observations_db(path: Path, held: dict[str, list[Row]], *, versions: str = "") -> sqlite3.Connection:
    """A database as its program leaves it; the connection stays open, and so does its log."""
    later = "relations" in held
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode = WAL")
    more = LATER if later else dict.fromkeys(LATER, "")
    for script, name in ((SESSIONS, "sessions"), (OBSERVATIONS, "observations"), (PROMPTS, "prompts")):
        db.execute(script.format(more=more[name]))
    db.execute(FTS)
    if later:
        db.execute(RELATIONS)
        db.execute("CREATE TABLE prompt_tombstones (sync_id TEXT PRIMARY KEY, session_id TEXT, deleted_at TEXT)")
        db.execute("INSERT INTO prompt_tombstones VALUES ('prompt-gone', 'manual-save-api', '2026-03-02')")
        db.execute("PRAGMA user_version = 1")
    tables = {"sessions": "sessions", "observations": "observations", "prompts": "user_prompts"}
    for name, table in tables.items():
        for row in held[name]:
            insert(db, table, row)
    for row in held.get("relations", ()):
        known = {key: value for key, value in row.items() if key != "superseded_by_relation_sync_id"}
        if (named := row.get("superseded_by_relation_sync_id")) is not None:
            known["superseded_by_relation_id"] = int(named.removeprefix("rel-"), 16)
        insert(db, "memory_relations", known)
    if versions:
        db.execute(VERSIONS[versions])
        insert(db, "observation_versions", {"observation_id": 1, "title": "t", "content": "before", "version": 1})
    db.commit()
    return db


def oldest_db(path: Path) -> None:
    """The first schema of all: ids that are no key, so that two rows share one and another has none."""
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE sessions (id TEXT PRIMARY KEY, project TEXT, directory TEXT, started_at TEXT)")
    db.execute(
        "CREATE TABLE observations (id INT, session_id TEXT, type TEXT, title TEXT, content TEXT, created_at TEXT)"
    )
    db.execute(
        "INSERT INTO sessions VALUES ('s', NULL, '', '2025-01-01 00:00:00'), ('t', X'617069', '', '2025-01-01')"
    )
    for id, session, title in ((1, "s", "One"), (1, "s", "Another"), (None, "t", "None")):
        row = (id, session, "manual", title, f"Words of {title}", "2025-01-02 00:00:00")
        db.execute("INSERT INTO observations VALUES (?, ?, ?, ?, ?, ?)", row)
    db.commit()
    db.close()


def insert(db: sqlite3.Connection, table: str, row: Row) -> None:
    """One row with the columns it has."""
    marks = ", ".join("?" * len(row))
    db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


def observations_json(path: Path, held: dict[str, list[Row]]) -> Path:
    """The export of a store: 0.1.0 of the early release, 0.2.0 of a later one."""
    version = "0.2.0" if "relations" in held else "0.1.0"
    whole = {"version": version, "exported_at": "2026-03-05T00:00:00Z", **held}
    path.write_text(json.dumps(whole, indent=2), encoding="utf-8")
    return path


def chunks(folder: Path, *contents: dict[str, Any]) -> Path:
    """The chunks of a repository, each named by what it holds."""
    (folder / "chunks").mkdir(parents=True)
    listed = []
    for content in contents:
        raw = json.dumps(content).encode()
        id = hashlib.sha256(raw).hexdigest()[:8]
        (folder / "chunks" / f"{id}.jsonl.gz").write_bytes(gzip.compress(raw))
        listed.append({"id": id, "created_by": "alex", "created_at": "2026-03-05T00:00:00Z"})
    manifest = {"version": 1, "chunks": listed}
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2), encoding="utf-8")
    return folder


# --- D: keyed ---


def keyed() -> list[Row]:
    """Rows by key: of every scope, pinned, expiring, and one key twice."""

    def row(n: int, key: str, value: str, **more: Any) -> Row:
        base = {
            "id": f"row-{n}",
            "key": key,
            "value": value,
            "summary": None,
            "category": "fact",
            "tags": [],
            "importance": 5,
            "pinned": False,
            "expiresAt": None,
            "source": "manual",
            "scope": "global",
            "projectId": None,
            "agentId": None,
            "sessionId": None,
            "createdAt": f"2026-02-0{n}T10:00:00Z",
            "updatedAt": f"2026-02-0{n}T11:00:00Z",
        }
        return base | more

    return [
        row(1, "deploy-day", "We deploy on Fridays", summary="Fridays", tags=["a", "b"], importance=9, pinned=True),
        row(2, "tone", "Be brief", category="Writing Style", source="auto"),
        row(3, "port", "The port is 8080", scope="project", projectId="prj-1", expiresAt="2199-01-01T00:00:00Z"),
        row(4, "habit", "Runs tests first", scope="agent", agentId="reviewer", category="preference"),
        row(5, "tone", "Be very brief", source="tool-x"),
        row(6, "note", 'Line one\nline two, with "quotes"', sessionId="sess-1"),
    ]


def keyed_csv(path: Path, rows: list[Row]) -> Path:
    """The rows as a spreadsheet has them."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            writer.writerow(
                {
                    name: "{" + ",".join(value) + "}"
                    if isinstance(value, list)
                    else str(value).lower()
                    if isinstance(value, bool)
                    else value
                    for name, value in row.items()
                }
            )
    return path
