"""What starting the command costs: no heavy library, and no warning, on the way to an answer."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import engram
from engram.inference.models import DEFAULT, MODELS
from engram.model.query import Space
from engram.service import OPERATIONS

HEAVY = {
    "numpy", "pydantic", "mcp", "onnxruntime", "asyncio", "sqlite3", "click", "typing_extensions",
    "httpx", "starlette", "tokenizers", "psycopg", "qdrant_client", "yaml",
}  # fmt: skip

COMMANDS = {
    "--help": ["--help"],
    "--version": ["--version"],
    "recall --help": ["recall", "--help"],
    "remember": ["remember", "We deploy on Fridays"],
    "recall": ["recall", "when is lunch", "--words"],
    "recall of the past": ["recall", "when is lunch", "--words", "--explain", "--as-of", "2026-01-01"],
    "context": ["context"],
    "search": ["search", "lunch", "--words", "--standing", "all"],
    "files": ["files"],
    "graph": ["graph", "conflicts"],
    "trends": ["trends"],
    "evidence": ["evidence"],
    "cited": ["cited", "src/api.py"],
    "settle": ["settle"],
    "list --json": ["list", "--json"],
    "get": ["get", "mem-0001"],
    "revise": ["revise", "mem-0001", "--text", "Lunch is at one"],
    "verify": ["verify", "mem-0001"],
    "forget": ["forget", "mem-0001"],
    "restore": ["restore", "mem-0003"],
    "purge": ["purge", "mem-0001", "--confirm"],
    "attach": ["attach", "mem-0001", "talk.jsonl"],
    "assets": ["assets", "mem-0002"],
    "fetch": ["fetch", "mem-0002", "note.txt", "out.txt"],
    "detach": ["detach", "mem-0002", "note.txt", "--confirm"],
    "insights save": ["insights", "save", "Eats early"],
    "insights list": ["insights", "list"],
    "insights purge": ["insights", "purge", "--confirm"],
    "review": ["review", "--list"],
    "promote": ["promote", "mem-0002", "--confirm"],
    "reject": ["reject", "mem-0002"],
    "queue": ["queue"],
    "sync": ["sync", "--apply"],
    "history": ["history"],
    "undo": ["undo"],
    "stats": ["stats"],
    "doctor": ["doctor"],
    "doctor --hygiene": ["doctor", "--hygiene"],
    "scrub": ["scrub", "--dry-run"],
    "kinds": ["kinds"],
    "reindex": ["reindex"],
    "models": ["models"],
    "export": ["export", "all.jsonl"],
    "import": ["import", "given.jsonl"],
    "session begin": ["session", "begin", "s-1"],
    "session end": ["session", "end", "s-0"],
    "session list": ["session", "list"],
    "timeline": ["timeline", "mem-0001"],
    "capture": ["capture", "## Key learnings\n- Lunch moved to one o'clock today"],
    "harvest": ["harvest", "talk.jsonl", "--dry-run"],
    "suggest key": ["suggest", "key", "--summary", "Lunch"],
    "relate": ["relate", "mem-0001", "mem-0002", "related"],
    "judge": ["judge", "mem-0001~mem-0002", "related"],
    "related": ["related", "mem-0001", "--judged"],
    "conflicts": ["conflicts"],
    "projects list": ["projects", "list"],
    "projects merge": ["projects", "merge", "old", "new"],
    "projects rename": ["projects", "rename", "old", "older"],
    "backup create": ["backup", "create", "all.zip"],
    "rescue": ["rescue", "rescued.jsonl"],
    "backup verify": ["backup", "verify", "given.zip"],
    "backup restore": ["backup", "restore", "given.zip", "--overwrite"],
    "keys create": ["keys", "create", "ci", "--owner", "ada"],
    "keys list": ["keys", "list", "--owner", "ada"],
    "keys revoke": ["keys", "revoke", "key-0001", "--owner", "ada"],
    "owners assign": ["owners", "assign", "ada", "--source", "anonymous"],
    "workspaces assign": ["workspaces", "assign", "team-x", "ada"],
    "setup": ["setup", "zed"],
    "views": ["views", "AGENTS.md"],
    "hook": ["hook", "session-start"],
    "config": ["config"],
    "completion": ["completion", "bash"],
}
"""Every command, as far as it does without a model: a recall by meaning and a reembed need one."""


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a store whose memories have vectors, so that touching them would show."""
    folder = tmp_path_factory.mktemp("startup")
    with engram.open(folder / "store.db", environment={"HOME": str(folder)}, folder=folder) as memory:
        memory.remember("Lunch is at noon")
        memory.remember("My name is Alex", kind="identity")
        memory.forget(memory.remember("The office is in Lisbon").memory.id)
        memory.session_begin("s-0")
        memory.keys_create("cron", owner="ada")
        memory.insights_save("Eats late")
        memory.remember("Old lunch", scope="project:old")
        memory.remember("New lunch", scope="project:new")
        space = Space(MODELS[DEFAULT].id, MODELS[DEFAULT].dim)
        vector = struct.pack(f"<{space.dim}f", 1.0, *[0.0] * (space.dim - 1))
        found = memory.list(standing=["all"], everywhere=True).memories
        assert memory.engine.put_vectors(space, [(one.id, one.imprint, vector) for one in found]) == 5
        (folder / "note.txt").write_text("At noon", encoding="utf-8")
        memory.attach("mem-0002", str(folder / "note.txt"))
        memory.export(str(folder / "given.jsonl"))
        memory.backup_create(str(folder / "given.zip"))
    told = {"role": "user", "content": "Always use pnpm."}
    line = {"type": "user", "sessionId": "s", "uuid": "u", "message": told}
    (folder / "talk.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    return folder


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "HOME": str(folder),
        "PATH": os.environ["PATH"],
        "ENGRAM_STORE": str(folder / "store.db"),
        "PYTHONPATH": os.pathsep.join(sys.path[1:]),
    }
    command = [sys.executable, "-W", "error", "-X", "importtime", "-m", "engram.surfaces.cli", *words]
    return subprocess.run(
        command, capture_output=True, check=False, text=True, cwd=folder, env=environment, timeout=60
    )


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_a_command_starts_without_heavy_libraries_and_without_warnings(
    tmp_path: Path, furnished: Path, words: list[str]
):
    shutil.copytree(furnished, tmp_path, dirs_exist_ok=True)
    done = run(tmp_path, *words)
    loaded = {name.split(".")[0] for name in re.findall(r"\|\s+([\w.]+)$", done.stderr, re.MULTILINE)}
    rest = [line for line in done.stderr.splitlines() if not line.startswith("import time:")]

    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert "engram" in loaded
    assert loaded & HEAVY == set()
    assert rest == []


def test_every_command_is_started_but_those_that_make_vectors_or_sign():
    said = {" ".join(words) for words in COMMANDS.values()}
    signing = {each.command for each in OPERATIONS.values() if each.group in ("syncing", "remotes")}
    commands = {operation.command for operation in OPERATIONS.values()} - {"reembed"} - signing

    assert [each for each in commands if not any(f"{one} ".startswith(f"{each} ") for one in said)] == []


def test_a_recall_by_meaning_loads_the_model_and_nothing_else_that_is_heavy(tmp_path: Path):
    engram.open(tmp_path / "store.db").close()
    done = run(tmp_path, "recall", "when is lunch")
    loaded = {name.split(".")[0] for name in re.findall(r"\|\s+([\w.]+)$", done.stderr, re.MULTILINE)}

    assert done.returncode == 0, done.stderr
    assert loaded & HEAVY == {"numpy", "onnxruntime", "tokenizers"}


def test_the_driver_is_loaded_by_commands_that_open_a_store_only(tmp_path: Path):
    assert not re.search(r"\| +apsw$", run(tmp_path, "--help").stderr, re.MULTILINE)
    engram.open(tmp_path / "store.db").close()
    assert re.search(r"\| +apsw$", run(tmp_path, "list").stderr, re.MULTILINE)
