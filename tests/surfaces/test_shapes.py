"""The JSON of every command: its keys and types are a promise, kept in `shapes.json`.

A difference is a decision. Having decided, write the file anew:

    SHAPES=write .venv/bin/pytest tests/surfaces/test_shapes.py
"""

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engram.service import OPERATIONS
from engram.surfaces.cli import BY_FLAG, EXTRA
from evidence.repos import Repo
from surfaces.driving import Driver

FILE = Path(__file__).with_name("shapes.json")

COUNTED = {
    "held_back",
    "standings",
    "kinds",
    "scopes",
    "outcomes",
    "handles",
    "reasons",
    "ranks",
    "note",
    "about",
    "devices",
    "replaces",
}
"""Objects whose keys are data, not fields."""

NOUNS = {
    "Memory": {"handle", "standing"},
    "Event": {"seq", "edits"},
    "Session": {"started_at", "ended_at"},
    "Relation": {"from_id", "to_id"},
}
"""Objects that many answers carry, and keys they are known by: their fields are listed once."""

ANY = {"old", "new"}
"""Fields that carry any value."""


def paths(value: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """Every field of a JSON value with its type: `memory.tags[]` → string."""
    name = at.rpartition(".")[2]
    if name in ANY:
        yield at, "any"
    elif isinstance(value, dict) and at and (noun := noun_of(value)):
        yield at, noun
    elif isinstance(value, dict):
        yield at, "object"
        if name in COUNTED and not any(isinstance(part, dict) for part in value.values()):
            yield from (pair for part in value.values() for pair in paths(part, f"{at}.*"))
            return
        for key, part in value.items():
            yield from paths(part, f"{at}.{key}".lstrip("."))
    elif isinstance(value, list):
        yield at, "array"
        for part in value:
            yield from paths(part, f"{at}[]")
    else:
        kinds = {bool: "boolean", int: "number", float: "number", str: "string", type(None): "null"}
        yield at, kinds[type(value)]


def noun_of(value: dict[str, Any]) -> str:
    return next((noun for noun, keys in NOUNS.items() if keys <= value.keys()), "")


def nouns(value: Any) -> Iterator[tuple[str, Any]]:
    """Every memory and every event inside a JSON value."""
    if isinstance(value, dict):
        if noun := noun_of(value):
            yield noun, value
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from nouns(part)


def shape_of(*values: Any) -> dict[str, str]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for value in values:
        for path, kind in paths(value):
            found[path or "."].add(kind)
    return {path: " or ".join(sorted(found[path])) for path in sorted(found)}


def tour(engram: Driver, here: Callable[[Path], None]) -> dict[str, list[Any]]:  # noqa: PLR0915 - a line a command
    """Every command once or more, so that each field has a value at least once."""
    answers: defaultdict[str, list[Any]] = defaultdict(list)

    def run(*words: str, code: int = 0) -> Any:
        done = engram(*words, "--json")
        assert done.code == code, (words, done.err)
        two = "_".join(words[:2])
        flagged = next((name for (first, flag), name in BY_FLAG.items() if first == words[0] and flag in words), "")
        answers[flagged or (two if two in OPERATIONS else words[0])].append(done.json)
        return done.json

    run("remember", "The port of the database is 5432", "--tag", "db", "--cite", "src/db.py:3", "--pinned")
    run("remember", "The port of the database is 5433")
    run("remember", "The host key is <private>x</private>", "--valid-until", "2199-01-01")
    run("remember", "I am Alex", "--kind", "identity", "--token", "t")
    run("remember", "I am Alex", "--kind", "identity", "--token", "t")
    run("recall", "port of the database")
    run("recall", "nothing like it")
    run("recall", "port", "--words")
    run("models")
    run("reembed")
    run("reindex")
    run("models")
    run("promote", "mem-0004", "--confirm")
    run("revise", "mem-0004", "--text", "I am Alex Rivera")
    run("revise", "mem-0001", "--importance", "9")
    run("review")
    run("queue")
    run("sync")
    run("review", "--limit", "1")
    run("reject", "mem-0002", "--reason", "typo")
    run("verify", "mem-0001")
    run("forget", "mem-0003")
    run("restore", "mem-0003")
    run("get", "mem-0001")
    run("list", "--standing", "all")
    run("list", "--limit", "1")
    run("context")
    (engram.folder / "plan.txt").write_text("north", encoding="utf-8")
    run("insights", "save", "Reads diffs first", "--category", "workflow")
    run("insights", "list")
    run("insights", "list", "--limit", "1", "--category", "other")
    run("insights", "purge", "--confirm")
    run("attach", "mem-0001", "plan.txt")
    run("assets", "mem-0001")
    run("fetch", "mem-0001", "plan.txt", "copy.txt")
    run("detach", "mem-0001", "plan.txt")
    run("undo", "--last", "1")
    run("purge", "mem-0003", "--confirm")
    run("history", "--limit", "50")
    run("history", "--limit", "1")
    run("stats")
    run("doctor")
    run("doctor", "--hygiene")
    run("scrub", "--dry-run")
    run("kinds")
    run("export", "all.jsonl")
    run("import", "all.jsonl")
    (engram.folder / "MEMORY.md").write_text("- Lunch is at noon\n", encoding="utf-8")
    run("import", "MEMORY.md", "--dry-run")
    (engram.folder / "more.jsonl").write_bytes((engram.folder / "all.jsonl").read_bytes())
    run("import", "more.jsonl", "--dry-run", "--store", "other.db")
    run("session", "begin", "s-1", "--agent", "tester")
    run("remember", "Logs rotate at midnight", "--session", "s-1", "--scope", "project:logs", "--tag", "ops")
    run("remember", "Logs are kept for a week", "--session", "s-1", "--scope", "project:logs", "--tag", "ops")
    first, second = (one["handle"] for one in run("list", "--scope", "project:logs")["memories"])
    run("timeline", first)
    run("get", first, "--around", "1")
    run("relate", first, second, "supersedes", "--reason", "newer")
    run("judge", f"{first}~{second}", "compatible")
    run("related", first)
    run("conflicts", "--settled")
    run("capture", "## Key learnings\n- Logs are compressed after one day\n- Logs are kept for a week\n")
    run("suggest", "key", "--summary", "Log rotation")
    told = {"role": "user", "content": "Always use pnpm."}
    line = {"type": "user", "sessionId": "s", "uuid": "u", "message": told}
    (engram.folder / "talk.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    run("harvest", "talk.jsonl")
    run("session", "end", "s-1", "--summary", "Goal: logs")
    run("session", "list", "--everywhere")
    run("projects", "list")
    run("projects", "rename", "logs", "rotation")
    run("projects", "rename", "logs", "rotation", "--apply")
    run("remember", "Rotation is nightly", "--scope", "project:nights")
    run("projects", "merge", "nights", "rotation")
    run("backup", "create", "all.zip")
    run("backup", "verify", "all.zip")
    run("backup", "restore", "all.zip", "--overwrite")
    run("rescue", "rescued.jsonl")
    engram.set(ENGRAM_PROJECT="rotation")
    (engram.folder / "repository").mkdir(exist_ok=True)
    run("sync", "--git", "repository", "--status", "--private")
    run("sync", "--git", "repository")
    run("replicas")
    run("remote", "add", "team", "https://memory.example.com")
    run("remote", "enrol", "team", "project:rotation")
    run("remote", "list")
    run("remote", "unenrol", "team", "project:rotation")
    run("remote", "add", "other", "https://other.example.com")
    run("remote", "remove", "team")
    run("keys", "create", "ci", "--owner", "ada")
    run("keys", "list", "--owner", "ada")
    run("keys", "revoke", "key-0001", "--owner", "ada")
    run("owners", "assign", "ada", "--source", "anonymous")
    run("workspaces", "assign", "team-x", "ada")
    run("config")
    repo = Repo(engram.folder / "repo")
    repo.write("a.py", "a = 1\nb = 2\n")
    repo.commit()
    here(repo.folder)
    run("remember", "a is one", "--kind", "finding", "--cite", "a.py:1")
    repo.write("a.py", "a = 2\nb = 2\n")
    run("recall", "what is a", "--kind", "finding", "--words")
    run("get", run("list", "--kind", "finding")["memories"][0]["handle"])
    run("search", "what is a", "--kind", "finding", "--words")
    run("search", "--limit", "1", "--everywhere")
    run("files", "--everywhere")
    run("graph", "chain")
    run("graph", "file", "a.py")
    run("trends")
    run("evidence")
    run("cited", "a.py:1")
    run("verify", run("cited", "a.py")["memories"][0]["memory"]["handle"], code=6)
    run("settle")
    repo.git("switch", "-qc", "side")
    repo.commit()
    run("remember", "b is two")
    repo.git("switch", "-q", "main")
    run("settle")
    repo.git("merge", "-q", "side")
    run("settle", "--dry-run")
    run("settle")
    return answers


SPOKEN = {"completion", "mcp", "serve", "hook", "setup", "views", "init", "migrate", "login", "tui", "demo"} | {
    *("remote_push", "remote_pull", "remote_status", "replicas_accept", "replicas_drop")  # they need somebody else
}
"""Commands whose answer is a script, a protocol, or told in their own tests."""


@pytest.fixture
def shapes(engram: Driver, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, str]]:
    engram.set(ENGRAM_STAGING="on")
    answers = tour(engram, monkeypatch.chdir)
    shared: dict[str, list[Any]] = {noun: [] for noun in NOUNS}
    for noun, value in nouns(list(answers.values())):
        shared[noun].append(value)
    return {name: shape_of(*values) for name, values in [*shared.items(), *sorted(answers.items())]}


def test_the_json_of_every_command_keeps_its_shape(shapes: dict[str, dict[str, str]]):
    if os.environ.get("SHAPES") == "write":
        FILE.write_text(json.dumps(shapes, indent=1) + "\n", encoding="utf-8")

    assert set(shapes) == {*NOUNS, *OPERATIONS, *EXTRA} - SPOKEN
    assert shapes == json.loads(FILE.read_text(encoding="utf-8"))


def test_an_answer_tells_its_moment_first(engram: Driver, monkeypatch: pytest.MonkeyPatch):
    for name, values in tour(engram, monkeypatch.chdir).items():
        if name != "config":
            assert all(next(iter(value)) == "at" for value in values), name


def test_json_is_readable_text_in_any_language(engram: Driver):
    assert "日本語 ñ" in engram("remember", "日本語 ñ", "--json").out
