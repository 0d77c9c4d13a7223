"""A home of its own for every test of the command."""

import os
from pathlib import Path

import pytest

from surfaces.driving import Driver


@pytest.fixture
def engram(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Driver:
    """The command in this process, in an empty home with a new store."""
    for name in list(os.environ):
        if name.startswith("ENGRAM_") or name in ("NO_COLOR", "VISUAL", "EDITOR"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("ENGRAM_STORE", str(tmp_path / "store.db"))
    monkeypatch.setenv("COLUMNS", "120")
    # A hook that takes too long ends its process, and here that is the one that runs the tests.
    monkeypatch.setattr("engram.surfaces.commands.hook.PATIENCE", 20.0)
    monkeypatch.chdir(tmp_path)
    return Driver(tmp_path, capsys, monkeypatch)
