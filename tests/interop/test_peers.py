"""Other systems' stores, as their own programs wrote them: each is told from the others, and read to its end."""

import json
import os
import re
import shutil
import sqlite3
import time
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engram.errors import Invalid
from engram.interop import databases
from engram.interop.forms import UNDATED, Foreign, Problem, foreign_id, look
from engram.interop.peers import bundles
from engram.interop.peers.reading import moment, pieces
from engram.model.limits import LIMITS, size
from engram.model.memory import Citation, Memory
from engram.model.relation import Relation
from engram.model.scope import GLOBAL, Scope
from engram.model.session import Session
from interop.peer_samples import (
    FORMS,
    SAMPLES,
    archive,
    claude_projects,
    database,
    everything,
    memories,
    problems,
    read,
    ties,
)


def at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)


# telling them apart


def test_every_sample_is_told_by_its_own_form_and_by_no_other(tmp_path):
    for name, (form, path) in everything(tmp_path).items():
        source = look(str(path))
        assert [each.name for each in FORMS.values() if each.recognises(source)] == [form], name


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"plain words",
        b"\x00\x01\x02",
        b"SQLite format 3\x00 but no more",
        b'{"engram":"export","version":1}\n',
        b'[{"id": 1, "content": "a row of something else"}]',
        b'{"results": [{"id": "1", "memory": 5}]}',
        b'{"type":"event","name":"x"}\n',
        b"PK\x03\x04 no zip",
    ],
)
def test_what_is_none_of_them_is_told_by_none(tmp_path, content):
    path = tmp_path / "thing.json"
    path.write_bytes(content)
    assert [form.name for form in FORMS.values() if form.recognises(look(str(path)))] == []


def test_folders_of_other_forms_and_empty_ones_are_told_by_none(tmp_path):
    for name in ("memory.md", "events.jsonl"):
        (tmp_path / name).write_text("# Notes\n\n- a note\n", "utf-8")
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path, tmp_path / "empty"):
        assert [form.name for form in FORMS.values() if form.recognises(look(str(folder)))] == []


def test_telling_and_reading_change_nothing_and_leave_nothing_beside(tmp_path):
    places = everything(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("*"))}
    for form, path in places.values():
        read(form, path)
        [each.recognises(look(str(path))) for each in FORMS.values()]
    assert {path: path.stat().st_mtime_ns for path in sorted(tmp_path.rglob("*"))} == before


# what every reader owes


@pytest.fixture
def found(tmp_path) -> dict[str, list[Foreign | Problem]]:
    return {name: read(form, path) for name, (form, path) in everything(tmp_path).items()}


def test_ids_are_the_same_each_time_and_differ_from_each_other(tmp_path, found):
    for name, (form, path) in everything_again(tmp_path).items():
        again = [one.record.id for one in read(form, path) if isinstance(one, Foreign)]
        assert again == [one.record.id for one in found[name] if isinstance(one, Foreign)]
        assert len(set(again)) == len(again), name


def everything_again(tmp_path: Path) -> dict[str, tuple[str, Path]]:
    other = tmp_path / "again"
    other.mkdir()
    return everything(other)


def test_every_record_is_nobodys_yet_and_says_where_it_comes_from(found):
    for name, things in found.items():
        records = [one.record for one in things if isinstance(one, Foreign)]
        assert records or name == "claude conversations"
        assert {record.owner for record in records} <= {""}
        kept = [record for record in records if isinstance(record, Memory)]
        assert {memory.learned_by for memory in kept} <= {"import"}
        assert all(memory.source.startswith("import:") for memory in kept)


def test_every_relation_has_both_its_ends(found):
    for things in found.values():
        records = [one.record for one in things if isinstance(one, Foreign)]
        there = {record.id for record in records if isinstance(record, Memory)}
        for record in records:
            if isinstance(record, Relation):
                assert {record.from_id, record.to_id} <= there


# server-memory


def test_a_knowledge_graph_becomes_memories_of_what_it_says_and_relations():
    things = read("server-memory", SAMPLES / "server-memory.jsonl")
    kept = memories(things)
    assert set(kept) == {
        "Ana Silva (person)",
        "Ana Silva: Prefers reviews before noon",
        "Ana Silva: Works on the billing service",
        "billing-service (project)",
        "billing-service: Written in Go",
        "billing-service: Deploys on Tuesdays",
        "billing-service: Uses PostgreSQL 16 — größer als früher 🐘",
        "Ledger (component)",
        "Ana Silva maintains billing-service",
        "billing-service depends on Ledger",
        "Ledger part of billing-service",
    }
    assert kept["billing-service: Written in Go"].kind == "project"
    assert kept["Ana Silva (person)"].context.word == "person"
    assert kept["Ledger (component)"].created_at == UNDATED
    assert ties(things) == {
        ("Ana Silva (person)", "maintains", "billing-service (project)"),
        ("billing-service (project)", "depends_on", "Ledger (component)"),
        ("Ledger (component)", "part_of", "billing-service (project)"),
    }


def test_a_damaged_line_of_a_graph_is_named_and_the_rest_goes_on(tmp_path):
    path = tmp_path / "memory.jsonl"
    path.write_bytes(
        b'{"type":"entity","name":"A","entityType":"x","observations":["one", 5, ""]}\n'
        b'{"type":"entity","name":"B","entityType":"x","obs\n'
        b'{"type":"entity","entityType":"x","observations":[]}\n'
        b"[1]\n\n"
        b'{"type":"relation","from":"A","to":"A","relationType":"is"}\n'
        b'{"type":"relation","from":"A","relationType":"is"}\n'
        b'{"type":"entity","name":"C","entityType":"x","observations":["\xff\xfe"],"colour":"red"}\n'
        b'{"type":"thing"}\n'
    )
    things = read("server-memory", path)
    assert set(memories(things)) == {"A (x)", "A: one", "A is A", "C (x)"}
    assert [problem.name for problem in problems(things)] == [
        "line 1, observation 2",
        "line 1, observation 3",
        "line 2",
        "line 3",
        "line 4",
        "line 7",
        "line 8, observation 1",
        "line 9",
        "line 6",
    ]
    assert ("colour",) in {one.dropped for one in things if isinstance(one, Foreign)}


# mem0


def test_a_list_of_mem0_keeps_text_dates_category_and_who_said_it():
    things = read("mem0", SAMPLES / "mem0-get-all.json")
    kept = memories(things)
    assert set(kept) == {
        "Is vegetarian and allergic to nuts",
        "Likes hiking in the Dolomites",
        "I moved to Porto last week",
        "Noted",
    }
    moved = kept["Likes hiking in the Dolomites"]
    assert (moved.created_at, moved.updated_at) == (
        at(2026, 11, 16, 9, 28, 54, 22939),
        at(2026, 11, 16, 9, 28, 54, 30279),
    )
    assert moved.context.agent == "trip"
    assert kept["Is vegetarian and allergic to nuts"].tags == ("food",)
    assert (moved.origin, kept["Noted"].origin) == ("said", "inferred")
    assert {name for one in things if isinstance(one, Foreign) for name in one.dropped} == {"user_id", "run_id"}


def test_the_history_of_mem0_tells_what_each_memory_said_last_under_the_same_ids(tmp_path):
    listed = memories(read("mem0", SAMPLES / "mem0-get-all.json"))
    told = memories(read("mem0", database(tmp_path, "mem0-history")))
    assert {text: one.id for text, one in told.items()} == {text: one.id for text, one in listed.items()}
    assert {text: one.created_at for text, one in told.items()} == {
        text: one.created_at for text, one in listed.items()
    }


@pytest.mark.parametrize("wrap", [lambda rows: rows, lambda rows: {"count": 1, "next": None, "results": rows}])
def test_the_platforms_answers_are_read_too(tmp_path, wrap):
    row = {
        "id": "m-1",
        "memory": "Prefers tea",
        "user_id": "alex",
        "categories": ["food", "user_preferences", "preferences"],
        "metadata": {"tags": ["drinks"], "mood": "calm"},
        "created_at": "2025-02-03T04:05:06-07:00",
        "updated_at": "2025-02-03T04:05:06-07:00",
        "expiration_date": "2027-01-01",
    }
    path = tmp_path / "export.json"
    path.write_text(json.dumps(wrap([row])), "utf-8")
    assert FORMS["mem0"].recognises(look(str(path)))
    [one] = read("mem0", path)
    assert isinstance(one, Foreign)
    assert isinstance(one.record, Memory)
    assert one.record.kind == "preference"
    assert one.record.tags == ("food", "user_preferences", "preferences", "drinks")
    assert one.record.created_at == at(2025, 2, 3, 11, 5, 6)
    assert one.record.valid_until == at(2027, 1, 1)
    assert one.dropped == ("user_id", "metadata.mood")


def test_the_graph_of_mem0_comes_in_words_and_what_says_nothing_is_named(tmp_path):
    path = tmp_path / "all.json"
    rows = [{"id": "1", "memory": "Is here", "user_id": "a", "hash": "h"}, {"id": "2"}, {"memory": "no id"}, 7]
    graph = [{"source": "alice", "relationship": "lives_in", "target": "porto"}, {"source": "alice"}]
    path.write_text(json.dumps({"results": rows, "relations": graph}), "utf-8")
    things = read("mem0", path)
    assert set(memories(things)) == {"Is here", "alice lives in porto"}
    assert len(problems(things)) == 4


# mcp-memory-service


def test_a_store_of_mcp_memory_service_keeps_tags_types_dates_and_edges(tmp_path):
    things = read("mcp-memory-service", database(tmp_path, "mcp-memory-service"))
    kept = memories(things)
    assert set(kept) == {
        "The staging database is refreshed every Sunday",
        "Decided to use ULIDs for invoice ids; größer und sortierbar",
    }
    staging = kept["The staging database is refreshed every Sunday"]
    assert staging.tags == ("staging", "database", "weekly")
    assert staging.created_at == at(2025, 11, 2, 8, 15, 30)
    assert staging.context.word == "observation"
    assert kept["Decided to use ULIDs for invoice ids; größer und sortierbar"].kind == "decision"
    assert {(reason) for _, reason, _ in ties(things)} == {"related", "supports"}
    assert any("metadata.quality_score" in one.dropped for one in things if isinstance(one, Foreign))


def test_its_export_tells_the_same_memories_as_its_store(tmp_path):
    stored = memories(read("mcp-memory-service", database(tmp_path, "mcp-memory-service")))
    exported = memories(read("mcp-memory-service", SAMPLES / "mcp-memory-service.json"))
    assert {one.id: (one.text, one.tags, one.created_at) for one in exported.values()} == {
        one.id: (one.text, one.tags, one.created_at) for one in stored.values()
    }


def test_what_superseded_a_memory_there_supersedes_it_here(tmp_path):
    path = database(tmp_path, "mcp-memory-service")
    with sqlite3.connect(path) as db:
        db.execute(
            "UPDATE memories SET superseded_by = (SELECT content_hash FROM memories WHERE id = 2) WHERE id = 1"
        )
        db.execute(
            "INSERT INTO beliefs (belief_hash, content, confidence, status, created_at, updated_at)"
            " VALUES ('b', 'Mondays are slow', 0.7, 'candidate', '2026-01-02T03:04:05', '2026-01-02T03:04:05')"
        )
    db.close()
    things = read("mcp-memory-service", path)
    kept = memories(things)
    old, new = (kept[text] for text in sorted(kept, reverse=True) if "Mondays" not in text)
    over = [
        one.record
        for one in things
        if isinstance(one, Foreign) and isinstance(one.record, Relation) and one.record.kind == "supersedes"
    ]
    assert [(each.from_id, each.to_id, each.status) for each in over] == [(new.id, old.id, "judged")]
    assert (kept["Mondays are slow"].held_for, kept["Mondays are slow"].confidence) == ("untrusted_origin", 0.7)


def test_an_older_store_without_the_later_columns_is_read(tmp_path):
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE TABLE memories (id INTEGER PRIMARY KEY, content_hash TEXT, content TEXT, tags TEXT,"
            " memory_type TEXT, metadata TEXT, created_at REAL, updated_at REAL, created_at_iso TEXT,"
            " updated_at_iso TEXT)"
        )
        row = (1, "h", "An old one", "a, b", None, "not json", None, None, "2024-01-02T03:04:05Z", None)
        db.execute("INSERT INTO memories VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    db.close()
    assert FORMS["mcp-memory-service"].recognises(look(str(path)))
    [one] = memories(read("mcp-memory-service", path)).values()
    assert (one.tags, one.created_at) == (("a", "b"), at(2024, 1, 2, 3, 4, 5))


# claude-mem


def test_a_store_of_claude_mem_keeps_sessions_observations_summaries_and_prompts(tmp_path):
    things = read("claude-mem", database(tmp_path, "claude-mem"))
    records = [one.record for one in things if isinstance(one, Foreign)]
    [session] = [record for record in records if isinstance(record, Session)]
    assert (session.name, session.agent, session.scope) == ("content-1", "claude-code", Scope("project", "billing"))
    kept = [record for record in records if isinstance(record, Memory)]
    assert [memory.kind for memory in kept] == ["bugfix", "finding", "decision", "summary", "prompt"]
    assert {memory.session for memory in kept} == {session.name}
    assert {memory.scope for memory in kept} == {Scope("project", "billing")}
    fixed, discovered, _, summary, prompt = kept
    assert fixed.summary == "Invoice test waited for a clock"
    assert fixed.text.endswith("- The clock is injected now\n- The test takes 40 ms")
    assert fixed.tags == ("problem-solution", "testing")
    assert fixed.citations == (Citation("file", "src/invoice.py"), Citation("file", "tests/test_invoice.py"))
    assert fixed.created_at == at(2026, 3, 4, 10, 20, 30)
    assert discovered.text == "Größe der Rechnung"
    assert summary.text.startswith("Request: Fix the flaky invoice test\nInvestigated:")
    assert (prompt.text, prompt.origin) == ("Fix the flaky invoice test", "said")
    assert {name for one in things if isinstance(one, Foreign) for name in one.dropped} == {
        "prompt_number",
        "discovery_tokens",
    }


def test_an_older_claude_mem_with_other_names_of_columns_tells_the_same(tmp_path):
    path = database(tmp_path, "claude-mem")
    new = memories(read("claude-mem", path))
    with sqlite3.connect(path) as db:
        for table in ("sdk_sessions", "observations", "session_summaries"):
            db.execute(f"ALTER TABLE {table} RENAME COLUMN memory_session_id TO sdk_session_id")
        for table in ("sdk_sessions", "user_prompts"):
            db.execute(f"ALTER TABLE {table} RENAME COLUMN content_session_id TO claude_session_id")
    db.close()
    assert FORMS["claude-mem"].recognises(look(str(path)))
    assert memories(read("claude-mem", path)) == new


def test_a_directive_is_a_rule_and_a_finding_without_a_file_is_a_learning(tmp_path):
    path = database(tmp_path, "claude-mem")
    with sqlite3.connect(path) as db:
        db.execute("UPDATE observations SET files_read = '[]' WHERE id = 2")
        db.execute(
            "CREATE TABLE directives (id INTEGER PRIMARY KEY, scope TEXT, project TEXT, content TEXT, status TEXT,"
            " source TEXT, created_at TEXT, created_at_epoch INTEGER, updated_at_epoch INTEGER)"
        )
        when = "2026-01-01T00:00:00Z", 1767225600000, 1767225600000
        for id, status in ((1, "active"), (2, "archived")):
            row = (id, "global", None, f"Never push on Fridays {id}", status, "manual", *when)
            db.execute("INSERT INTO directives VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
    db.close()
    kept = memories(read("claude-mem", path))
    assert kept["Größe der Rechnung"].kind == "learning"
    rule, old = kept["Never push on Fridays 1"], kept["Never push on Fridays 2"]
    assert (rule.kind, rule.held_for, rule.scope) == ("rule", "", GLOBAL)
    assert old.held_for == "untrusted_origin"


# databases as such


def test_a_database_is_read_while_its_program_writes_and_with_what_stands_in_its_log(tmp_path):
    path = database(tmp_path, "mcp-memory-service")
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("UPDATE memories SET content = 'Said a moment ago' WHERE id = 1")
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("UPDATE memories SET content = 'Not committed' WHERE id = 2")
    kept = memories(read("mcp-memory-service", path))
    writer.execute("ROLLBACK")
    writer.close()
    assert "Said a moment ago" in kept
    assert "Not committed" not in kept


def test_a_log_that_was_left_behind_is_read_from_a_copy(tmp_path):
    path = database(tmp_path, "mcp-memory-service")
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute("UPDATE memories SET content = 'Said a moment ago' WHERE id = 1")
    crashed = tmp_path / "crashed.db"
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{path}{suffix}", f"{crashed}{suffix}")
    writer.close()
    assert "Said a moment ago" in memories(read("mcp-memory-service", crashed))
    assert sorted(os.listdir(tmp_path)) == ["crashed.db", "crashed.db-wal", "mcp-memory-service.db"]


def test_a_damaged_database_tells_a_problem_and_what_could_be_read(tmp_path):
    path = tmp_path / "big.db"
    shutil.copyfile(database(tmp_path, "mcp-memory-service"), path)
    with sqlite3.connect(path) as db:
        for n in range(2000):
            db.execute(
                "INSERT INTO memories (content_hash, content, created_at) VALUES (?, ?, ?)",
                (f"h{n}", f"Memory number {n} " * 20, 1.7e9),
            )
    db.close()
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2 : len(raw) // 2 + 40_000] = b"\xff" * 40_000
    path.write_bytes(raw)
    things = read("mcp-memory-service", path)
    assert problems(things)
    assert memories(things)


def test_a_database_that_cannot_be_opened_is_refused_with_a_reason(tmp_path):
    path = tmp_path / "no.db"
    path.write_bytes(databases.MAGIC + b"nothing of the kind" * 100)
    assert databases.tables(look(str(path))) == {}
    with pytest.raises(Invalid, match="cannot be read"):
        read("claude-mem", path)


# notes


def test_a_vault_keeps_properties_tags_and_links():
    things = read("obsidian", SAMPLES / "obsidian")
    kept = {memory.summary: memory for memory in memories(things).values()}
    billing = kept["Billing Service"]
    assert billing.text.startswith("Invoices are made by a worker")
    assert "nobody reads" not in billing.text
    assert billing.tags == ("billing", "service/core", "money")
    assert billing.kind == "architecture"
    assert (billing.created_at, billing.updated_at) == (at(2025, 6, 1), at(2026, 1, 15, 7, 30))
    assert kept["2026-01-16"].created_at == at(2026, 1, 16)
    ends = {(kept_by(things, one.from_id), kept_by(things, one.to_id)) for one in relations(things)}
    assert ends == {
        ("Billing Service", "Invoice Worker"),
        ("Invoice Worker", "Billing Service"),
        ("2026-01-16", "Billing Service"),
    }
    assert {name for one in things if isinstance(one, Foreign) for name in one.dropped} == {
        "status",
        "links to notes that are not there",
    }


DEEP = {
    "lists": "a: " + "[" * 30_000 + "]" * 30_000,
    "mappings": "a: " + "{a: " * 30_000 + "}" * 30_000,
    "dashes": "a:\n  " + "- " * 60_000 + "x",
    "lines": "\n".join(" " * n + "a:" for n in range(700)),
}


@pytest.mark.parametrize("deep", DEEP.values(), ids=DEEP)
def test_a_note_with_properties_that_are_nested_too_deep_is_a_problem_with_its_line(tmp_path, deep: str):
    (tmp_path / "deep.md").write_text(f"---\ntitle: x\n{deep}\n---\n# Hi\nSome text")
    (tmp_path / "fine.md").write_text("---\na: " + "[" * 20 + "x" + "]" * 20 + "\n---\nThe gate is read at nine")

    things = read("obsidian", tmp_path)
    said = [memory.text for memory in memories(things).values()]
    assert said == ["The gate is read at nine"]
    assert [one.name for one in problems(things)] == ["deep.md"]
    assert re.fullmatch(r"Its properties are nested too deep, on line \d+\.", problems(things)[0].message)


def test_a_note_with_more_properties_than_are_read_is_a_problem(tmp_path):
    (tmp_path / "many.md").write_text("---\na:\n" + "- b\n" * 500_000 + "---\nSome text")
    began = time.process_time()

    assert [one.message for one in problems(read("obsidian", tmp_path))] == [
        "Its properties have more than 262,144 characters."
    ]
    assert time.process_time() - began < 1


def relations(things: list[Foreign | Problem]) -> list[Relation]:
    return [one.record for one in things if isinstance(one, Foreign) and isinstance(one.record, Relation)]


def kept_by(things: list[Foreign | Problem], id: str) -> str:
    return next(memory.summary for memory in memories(things).values() if memory.id == id)


def test_a_long_note_is_told_by_its_headings(tmp_path):
    long = "word " * 900
    parts = ["# Guide", "An opening.", "## Set up", long, "```sh\n# no heading\n```", "## Run", "Run it."]
    parts += ["## Run", "Again."]
    (tmp_path / "Guide.md").write_text("\n\n".join(parts), "utf-8")
    told = memories(read("obsidian", tmp_path))
    assert len({memory.id for memory in told.values()}) == len(told) == 4
    kept = {text.split()[0]: memory.summary for text, memory in told.items()}
    assert kept == {"An": "Guide", "word": "Guide > Set up", "Run": "Guide > Run", "Again.": "Guide > Run"}
    assert any(text.endswith("# no heading\n```") for text in told)


def test_notes_that_cannot_be_read_are_named_and_links_out_of_the_folder_not_followed(tmp_path):
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "good.md").write_text("Good.", "utf-8")
    (vault / "bytes.md").write_bytes(b"\xff\xfe\x00bad")
    (vault / "yaml.md").write_text("---\na: [1\nb: }\n---\ntext\n", "utf-8")
    (vault / "huge.md").write_bytes(b"x" * (4 * 1024 * 1024 + 1))
    (vault / "empty.md").write_text("---\ntags: [a]\n---\n", "utf-8")
    (tmp_path / "secret.md").write_text("A secret.", "utf-8")
    (vault / "link.md").symlink_to(tmp_path / "secret.md")
    (vault / "folder").symlink_to(tmp_path)
    things = read("obsidian", vault)
    assert set(memories(things)) == {"Good.", "empty"}
    assert {problem.name for problem in problems(things)} == {"bytes.md", "yaml.md", "huge.md"}


def test_a_note_of_basic_memory_gives_its_prose_its_observations_and_its_relations():
    things = read("basic-memory", SAMPLES / "basic-memory")
    kept = memories(things)
    brewing = next(memory for memory in kept.values() if memory.key == "coffee/coffee-brewing-methods")
    assert brewing.text.startswith("Pour over is what we use")
    assert "[method]" not in brewing.text
    assert "- [ ] buy filters" in brewing.text
    assert brewing.tags == ("coffee", "brewing")
    title = "Coffee Brewing Methods"
    decided = kept[f"{title}: We buy beans from one roaster only (agreed in May)"]
    assert (decided.kind, decided.context.word) == ("decision", "decision")
    assert decided.tags == ("coffee", "brewing", "supply", "cost")
    assert kept[f"{title}: Ethiopian beans with lighter roasts (personal experience)"].kind == "preference"
    assert kept[f"{title}: A bare item with a #tag only"].tags == ("coffee", "brewing", "tag")
    assert f"{title}: Pour over gives more clarity than French press" in kept
    ends = {(kept_by(things, one.from_id), one.reason, kept_by(things, one.to_id)) for one in relations(things)}
    assert ends == {
        (title, "relates_to", "Coffee Bean Origins"),
        ("Coffee Bean Origins", "part_of", title),
    }
    assert any("links to notes that are not there" in one.dropped for one in things if isinstance(one, Foreign))


# Claude Code


def test_notes_of_claude_code_keep_name_description_type_and_links():
    things = read("claude-code", SAMPLES / "claude-code")
    kept = {memory.key or memory.text: memory for memory in memories(things).values()}
    assert set(kept) == {
        "testing-style",
        "deploy-notes",
        "Always run `make check` before a commit",
        "The worker reads one queue only.",
        "[Gone](gone.md) — the file was deleted",
    }
    style = kept["testing-style"]
    assert (style.kind, style.summary) == ("preference", "No mocks of our own code: use the in-memory engine")
    assert style.updated_at == at(2026, 7, 29, 13, 16, 34, 420000)
    assert kept["deploy-notes"].kind == "project"
    assert kept["The worker reads one queue only."].kind == "architecture"
    assert [(one.from_id, one.to_id) for one in relations(things)] == [(style.id, kept["deploy-notes"].id)]


def test_a_folder_that_merely_has_a_memory_md_gives_no_other_documents(tmp_path):
    shutil.copytree(SAMPLES / "claude-code", tmp_path / "repo")
    (tmp_path / "repo" / "README.md").write_text("- A document\n", "utf-8")
    (tmp_path / "repo" / "docs").mkdir()
    (tmp_path / "repo" / "docs" / "guide.md").write_text("- A guide\n", "utf-8")
    kept = set(memories(read("claude-code", tmp_path / "repo")))
    assert kept == set(memories(read("claude-code", SAMPLES / "claude-code")))
    (tmp_path / "repo").rename(tmp_path / "memory")
    assert set(memories(read("claude-code", tmp_path / "memory"))) == kept | {"A document"}


def test_memory_md_alone_brings_the_notes_it_points_at_and_no_others():
    folder = SAMPLES / "claude-code"
    kept = memories(read("claude-code", folder / "MEMORY.md"))
    keys = {memory.key for memory in kept.values()}
    assert keys == {"", "testing-style"}


def test_memories_of_several_projects_hold_each_in_its_own(tmp_path):
    things = read("claude-code-projects", claude_projects(tmp_path))
    scopes = {one.record.scope for one in things if isinstance(one, Foreign) and isinstance(one.record, Memory)}
    assert scopes == {Scope("project", "billing-service"), Scope("project", "web")}
    assert len(memories(things)) * 2 == len(
        [one for one in things if isinstance(one, Foreign) and isinstance(one.record, Memory)]
    )


# data exports


@pytest.mark.parametrize("packed", [False, True])
def test_an_export_of_chatgpt_gives_what_it_remembers_and_the_last_instructions(tmp_path, packed):
    path = archive(tmp_path, "chatgpt") if packed else SAMPLES / "chatgpt"
    kept = memories(read("chatgpt", path))
    assert {text: memory.created_at for text, memory in kept.items()} == {
        "Is vegetarian.": at(2025, 7, 1, 11, 40, 2, 250000),
        "Lives in Porto since July and speaks Portuguese.": at(2025, 7, 15),
        "Preferred name: Ana": at(2025, 7, 1, 11, 40, 0, 500000),
        "Answer briefly, in English.": at(2025, 7, 31, 22, 13, 22),
    }
    assert (kept["Is vegetarian."].status, kept["Is vegetarian."].held_for) == ("pending", "untrusted_origin")
    assert kept["Preferred name: Ana"].kind == "identity"
    assert kept["Answer briefly, in English."].kind == "rule"


def test_a_file_of_saved_memories_goes_before_what_the_conversations_say(tmp_path):
    folder = tmp_path / "export"
    shutil.copytree(SAMPLES / "chatgpt", folder)
    saved = [
        {"id": "1", "content": "Has a dog", "created_at": "2026-01-02T03:04:05Z", "mood": "x"},
        {"id": "2", "content": "Was switched off", "enabled": False},
        {"id": "3"},
    ]
    (folder / "memories.json").write_text(json.dumps(saved), "utf-8")
    things = read("chatgpt", folder)
    kept = memories(things)
    assert set(kept) == {"Has a dog", "Preferred name: Ana", "Answer briefly, in English."}
    assert (kept["Has a dog"].held_for, kept["Has a dog"].created_at) == ("", at(2026, 1, 2, 3, 4, 5))
    assert len(problems(things)) == 2


@pytest.mark.parametrize("packed", [False, True])
def test_an_export_of_claude_gives_memories_and_the_knowledge_of_projects(tmp_path, packed):
    path = archive(tmp_path, "claude-ai") if packed else SAMPLES / "claude-ai"
    things = read("claude-ai", path)
    trip = Scope("project", "Trip to Portugal")
    assert {text: memory.scope for text, memory in memories(things).items()} == {
        "Planning a trip": trip,
        "Answer with prices in euro.": trip,
        "# Budget\n\n900 euro in all.": trip,
        "The trip begins in Lisbon on 4 May.": trip,
        "Ana builds a billing service in Go.": GLOBAL,
        "Prefers short answers": GLOBAL,
        "Größer ist nicht besser": GLOBAL,
    }
    assert memories(things)["Answer with prices in euro."].kind == "rule"
    assert memories(things)["Prefers short answers"].kind == "preference"
    assert problems(things) == [Problem("conversations.json", "Conversations are not memories, and were left out.")]


def test_projects_in_one_file_and_memories_as_one_object_are_read_too(tmp_path):
    folder = tmp_path / "export"
    shutil.copytree(SAMPLES / "claude-ai", folder)
    [alone] = (folder / "projects").iterdir()
    (folder / "projects.json").write_text(f"[{alone.read_text('utf-8')}]", "utf-8")
    shutil.rmtree(folder / "projects")
    told = json.loads((folder / "memories.json").read_text("utf-8"))[0]
    told["memory_files"] = [{"path": "work.md", "content": "Works from home"}]
    (folder / "memories.json").write_text(json.dumps(told), "utf-8")
    expected = set(memories(read("claude-ai", SAMPLES / "claude-ai"))) | {"Works from home"}
    assert set(memories(read("claude-ai", folder))) == expected


def test_an_export_that_is_cut_off_or_damaged_tells_what_it_can(tmp_path):
    whole = (SAMPLES / "chatgpt" / "conversations.json").read_text("utf-8")
    path = tmp_path / "conversations.json"
    path.write_text(whole[: whole.index('"model_set_context"')], "utf-8")
    things = read("chatgpt", path)
    assert "Is vegetarian." in memories(things)
    assert problems(things)
    path.write_text(whole.replace('"title": "Trip plans",', '"title": nope,'), "utf-8")
    things = read("chatgpt", path)
    assert "Lives in Porto since July and speaks Portuguese." in memories(things)
    assert [problem.name for problem in problems(things)] == ["conversations.json, element 1"]


def test_a_file_of_conversations_may_have_any_name(tmp_path):
    path = tmp_path / "my chats.json"
    shutil.copyfile(SAMPLES / "chatgpt" / "conversations.json", path)
    assert FORMS["chatgpt"].recognises(look(str(path)))
    assert memories(read("chatgpt", path)) == memories(read("chatgpt", SAMPLES / "chatgpt" / "conversations.json"))


def test_an_archive_that_would_unpack_to_far_too_much_is_not_unpacked(tmp_path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr("conversations.json", '[{"mapping": {}}' + " " * 50_000_000 + "]")
        zipped.writestr("user.json", "{}")
    things = read("chatgpt", path)
    assert not memories(things)
    assert "would unpack to 50,000,0" in problems(things)[0].message


def test_thousands_of_pictures_do_not_hide_what_an_export_says(tmp_path):
    folder, path = tmp_path / "export", tmp_path / "export.zip"
    shutil.copytree(SAMPLES / "chatgpt", folder)
    with zipfile.ZipFile(path, "w") as zipped:
        for n in range(1500):
            (folder / f"a-{n}.png").touch()
            zipped.writestr(f"a-{n}.png", b"")
        for name in ("conversations.json", "user.json"):
            zipped.write(folder / name, name)
    for place in (folder, path):
        assert FORMS["chatgpt"].recognises(look(str(place)))
        assert len(memories(read("chatgpt", place))) == 4


def test_a_damaged_archive_is_told_as_a_problem(tmp_path):
    path = archive(tmp_path, "chatgpt")
    raw = bytearray(path.read_bytes())
    raw[60:200] = bytes(140)
    path.write_bytes(raw)
    assert problems(read("chatgpt", path))
    source = look(str(path))
    assert bundles.Bundle(source).head("not there") == b""


# values


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1766599200, at(2025, 12, 24, 18)),
        (1766599200000, at(2025, 12, 24, 18)),
        ("1766599200.5", at(2025, 12, 24, 18, 0, 0, 500000)),
        ("2025-12-24T18:00:00Z", at(2025, 12, 24, 18)),
        ("2025-12-24 18:00:00", at(2025, 12, 24, 18)),
        ("2025-12-24", at(2025, 12, 24)),
        ("yesterday", None),
        (-5, None),
        (10**18, None),
        (float("nan"), None),
        (True, None),
        ([], None),
        (None, None),
    ],
)
def test_times_are_read_as_others_write_them(value, expected):
    assert moment(value) == expected


def test_a_text_that_is_too_long_for_one_memory_becomes_several(tmp_path):
    path = tmp_path / "memory.jsonl"
    said = "größer " * 30_000
    path.write_text(json.dumps({"type": "entity", "name": "N", "entityType": "t", "observations": [said]}), "utf-8")
    kept = [one.record for one in read("server-memory", path) if isinstance(one, Foreign)][1:]
    assert len({memory.id for memory in kept}) == len(kept) > 1
    assert all(isinstance(memory, Memory) and size(memory.text) <= LIMITS["text"] for memory in kept)
    assert " ".join(memory.text for memory in kept).split() == f"N: {said}".split()


def test_text_without_a_gap_is_cut_anywhere_and_nothing_is_lost():
    assert "".join(pieces("ö" * 1000, 99)) == "ö" * 1000


def test_control_characters_are_taken_out_and_named(tmp_path):
    path = tmp_path / "memory.jsonl"
    row = {"type": "entity", "name": "N", "entityType": "t", "observations": ["red \x1b[31mtext"]}
    path.write_text(json.dumps(row), "utf-8")
    [_, one] = read("server-memory", path)
    assert isinstance(one, Foreign)
    assert one.record.text == "N: red [31mtext"
    assert one.dropped == ("control characters",)


def test_what_would_put_a_memory_out_of_use_is_only_proposed(tmp_path):
    path = tmp_path / "memory.jsonl"
    rows = [{"type": "entity", "name": name, "entityType": "", "observations": []} for name in "AB"]
    rows.append({"type": "relation", "from": "A", "to": "B", "relationType": "replaces"})
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    [tie] = relations(read("server-memory", path))
    assert (tie.kind, tie.status, tie.reason) == ("supersedes", "proposed", "replaces")
    assert tie.from_id == foreign_id("server-memory", "A")


# --- what is made to take long ---


LONG = 100_000
SLOW = {
    "what begins a comment": "<!--" * LONG,
    "a heading of blanks": f"# a{' ' * LONG}b",
    "an item of blanks": f"- a{' ' * LONG}b",
    "blanks before brackets": f"- [fact] a{' ' * LONG}b",
    "tags that are not the last words": f"- [fact] a{' #t' * LONG} b",
}


@pytest.mark.parametrize("body", SLOW.values(), ids=SLOW)
@pytest.mark.parametrize("form", ["obsidian", "basic-memory"])
def test_no_note_takes_longer_than_in_proportion_to_its_size(tmp_path: Path, form: str, body: str):
    (tmp_path / "note.md").write_text(f"---\npermalink: note\n---\n{body}\n", "utf-8")
    began = time.process_time()
    found = read(form, tmp_path)

    assert found
    assert time.process_time() - began < 10  # it is a second; out of proportion it is minutes


def test_no_list_of_chatgpt_takes_longer_than_in_proportion_to_its_size(tmp_path: Path):
    content = {
        "content_type": "model_editable_context",
        "model_set_context": "1. [2024-05-01]. Tea" + "\n" * LONG + "x",
    }
    talk = {"mapping": {"a": {"message": {"content": content}}}, "create_time": 1714550000}
    (tmp_path / "conversations.json").write_text(json.dumps([talk]), "utf-8")
    began = time.process_time()

    assert list(memories(read("chatgpt", tmp_path / "conversations.json"))) == ["Tea x"]
    assert time.process_time() - began < 10
