"""Everything at once on one store: MCP servers, the command, hooks and the HTTP server; for seconds, or minutes."""

import http.client
import json
import os
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from faults.harness import TIMES, opened, tell, texts
from surfaces.mcp_clients import COMMAND, Bare, Served, environment, serving

SECONDS = 6 * TIMES


class Soak:
    """What several doors acknowledged, and whatever they complained of."""

    def __init__(self, folder: Path, place: str) -> None:
        self.folder, self.variables = folder, {"ENGRAM_STORE": place, "ENGRAM_EMBEDDER": "none"}
        self.acked: set[str] = set()
        self.woes: list[str] = []
        self.until = time.monotonic() + SECONDS

    def texts_of(self, name: str):
        """One text after another, as long as the soak lasts; at least two."""
        for n in range(1_000_000):
            if time.monotonic() > self.until and n > 1:
                return
            yield f"{name} heard thing {n} in the quiet house"

    def run(self, *words: str, said: str = "") -> str:
        command = [*COMMAND, *words]
        told = environment(self.folder, **self.variables)
        done = subprocess.run(
            command, input=said, capture_output=True, text=True, cwd=self.folder, env=told, check=False
        )
        if done.returncode or done.stderr:
            self.woes.append(f"{words}: {done.returncode} {done.stderr}")
        return done.stdout

    def by_command(self) -> None:
        for text in self.texts_of("The command"):
            self.run("remember", text)
            self.acked.add(text)

    def by_hook(self) -> None:
        for text in self.texts_of("The hook"):
            told = self.run("hook", "prompt-submit", "--agent", "claude-code", said=json.dumps({"prompt": text}))
            if told and not isinstance(json.loads(told), dict):
                self.woes.append(told)

    def by_mcp(self, server: Bare, name: str) -> None:
        for text in self.texts_of(name):
            answer = server.call("remember", text=text)
            if answer.get("isError"):
                self.woes.append(str(answer))
            self.acked.add(text)

    def by_http(self, served: Served) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
        headers = {"authorization": f"Bearer {served.token}", "content-type": "application/json"}
        for text in self.texts_of("The server"):
            connection.request("POST", "/v1/memories", json.dumps({"text": text}), headers)
            answer = connection.getresponse()
            if answer.status not in (200, 201):
                self.woes.append(f"{answer.status} {answer.read()!r}")
            answer.read()
            self.acked.add(text)


def resident(process: subprocess.Popen[bytes]) -> int:
    """The memory of a process, in kilobytes."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def living_in(folder: Path) -> list[str]:
    """The processes that work in a folder: what was left behind."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            found += [each.parent.name] if os.readlink(each) == str(folder) else []
    return found


@pytest.mark.parametrize("engine", ["sqlite", "files"])
def test_every_door_at_once_keeps_what_it_acknowledged_and_nobody_sees_a_lock(tmp_path, engine):
    place = {"sqlite": f"{tmp_path}/home/engram.db", "files": f"files:{tmp_path}/home/store"}[engine]
    soak = Soak(tmp_path, place)
    with (
        serving(tmp_path, **soak.variables) as served,
        Bare(tmp_path, **soak.variables) as one,
        Bare(tmp_path, **soak.variables) as other,
    ):
        for server in (one, other):
            server.call("recall", query="anything at all")
        before = [resident(each) for each in (one.process, other.process, served.process)]
        doors = [
            threading.Thread(target=soak.by_command),
            threading.Thread(target=soak.by_hook),
            threading.Thread(target=soak.by_mcp, args=(one, "The first agent")),
            threading.Thread(target=soak.by_mcp, args=(other, "The second agent")),
            threading.Thread(target=soak.by_http, args=(served,)),
        ]
        for door in doors:
            door.start()
        for door in doors:
            door.join()
        after = [resident(each) for each in (one.process, other.process, served.process)]
        ended = [server.end()[0] for server in (one, other)]

    assert soak.woes == []
    assert ended == [0, 0]
    assert max(now - then for then, now in zip(before, after, strict=True)) < 60_000
    assert living_in(tmp_path) == []
    with opened(place, tmp_path) as memory:
        assert texts(memory) >= soak.acked
        assert memory.doctor().healthy
    held = sum(each.stat().st_size for each in (tmp_path / "home").rglob("*") if each.is_file())
    assert held < 2_000_000 + 40_000 * len(soak.acked)
    tell("MCP servers, command, hooks and HTTP server at once: writes acknowledged", engine, len(soak.acked))
