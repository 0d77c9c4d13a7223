"""What starting the command costs: no heavy library, and no warning, on the way to an answer."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "numpy", "pydantic", "mcp", "onnxruntime", "asyncio", "sqlite3", "click", "typing_extensions",
    "httpx", "starlette", "tokenizers", "psycopg", "qdrant_client", "yaml",
}  # fmt: skip

COMMANDS = {
    "--help": ["--help"],
    "--version": ["--version"],
    "remember": ["remember", "We deploy on Fridays"],
    "recall": ["recall", "when do we deploy"],
    "list --json": ["list", "--json"],
}


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
def test_a_command_starts_without_heavy_libraries_and_without_warnings(tmp_path: Path, words: list[str]):
    done = run(tmp_path, *words)
    loaded = {name.split(".")[0] for name in re.findall(r"\|\s+([\w.]+)$", done.stderr, re.MULTILINE)}
    rest = [line for line in done.stderr.splitlines() if not line.startswith("import time:")]

    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert "engram" in loaded
    assert loaded & HEAVY == set()
    assert rest == []


def test_the_driver_is_loaded_by_commands_that_open_a_store_only(tmp_path: Path):
    assert not re.search(r"\| +apsw$", run(tmp_path, "--help").stderr, re.MULTILINE)
    assert re.search(r"\| +apsw$", run(tmp_path, "list").stderr, re.MULTILINE)
