"""How the tests of the command drive it: in this process, in a child, and on a terminal of its own."""

import fcntl
import io
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from engram.surfaces.cli import main
from engram.wiring import open as open_memory

COMMAND = [sys.executable, "-m", "engram.surfaces.cli"]
PATIENCE = 60
"""Seconds after which what was waited for hangs: far more than a busy machine takes."""


class Result(NamedTuple):
    """What a command left: its exit code, and what it printed where."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as a JSON value."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """The error on standard error, as JSON."""
        return json.loads(self.err)["error"]


class Driver:
    """The command in this process, standing in a folder of its own with a store of its own."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.store = folder, folder / "store.db"
        self._capsys, self._patch = capsys, monkeypatch

    def __call__(self, *words: str, stdin: bytes = b"") -> Result:
        self._capsys.readouterr()
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        try:
            code = main(list(words))
        except SystemExit as end:  # argparse ends --help so
            code = int(end.code or 0)
        captured = self._capsys.readouterr()
        return Result(code, captured.out, captured.err)

    def made(self) -> "Driver":
        """The same with a store that holds nothing: whoever only asks makes none."""
        with open_memory(self.store):
            return self

    def remember(self, text: str, *words: str) -> dict[str, Any]:
        """Remember a text that must be accepted; the answer's JSON."""
        done = self("remember", text, *words, "--json")
        assert done.code == 0, done.err
        return done.json

    def set(self, **variables: str) -> None:
        """Set environment variables for the commands that follow."""
        for name, value in variables.items():
            self._patch.setenv(name, value)


def environment(folder: Path, **more: str) -> dict[str, str]:
    """A clean environment for a child: nothing of the machine's own settings, but whether it is measured."""
    measured = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_PROCESS_")}
    return measured | {
        "HOME": str(folder),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(sys.path),
        "ENGRAM_STORE": str(folder / "store.db"),
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        **more,
    }


def child(folder: Path, *words: str, stdin: bytes = b"", **more: str) -> Result:
    """The command in a process of its own, away from any terminal."""
    done = subprocess.run(
        [*COMMAND, *words],
        input=stdin,
        capture_output=True,
        check=False,
        cwd=folder,
        env=environment(folder, **more),
        timeout=PATIENCE,
    )
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def at_terminal(
    folder: Path, *words: str, keys: Mapping[str, str] | None = None, columns: int = 100, **more: str
) -> tuple[int, str]:
    """The command on a pseudo-terminal: exit code and what the screen shows.

    `keys` maps a text the screen shows to what is typed once it is there, in order.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        [*COMMAND, *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env=environment(folder, **more),
        start_new_session=True,
    )
    os.close(theirs)
    waiting = list((keys or {}).items())
    shown, seen, end = b"", 0, time.monotonic() + PATIENCE
    while time.monotonic() < end:
        ready, _, _ = select.select([ours], [], [], 0.1)
        if ready:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not part:
                break
            shown += part
        if waiting and waiting[0][0].encode() in shown[seen:]:
            seen += shown[seen:].index(waiting[0][0].encode()) + len(waiting[0][0].encode())
            os.write(ours, waiting.pop(0)[1].encode())
    os.close(ours)
    try:
        code = process.wait(PATIENCE)
    finally:
        process.kill()
    return code, shown.decode().replace("\r\n", "\n")
