"""Everything at once on one store: MCP servers, the command, hooks and the HTTP server; for seconds, or minutes.

`make soak MINUTES=10` sets SOAK, the seconds that it lasts on each engine.
"""

import http.client
import json
import os
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest

from engines.asking import near
from engines.samples import EAST, MINE
from engram.model.query import Backlog, Space
from faults.harness import ENGINES, EXPORTED, TIMES, embedding, note, opened, place_of, rescued, tell, texts
from faults.operating import records
from inference.serving import serving as serving_vectors
from inference.test_endpoint import good
from surfaces.mcp_clients import COMMAND, Bare, Served, environment, serving

SECONDS = float(os.environ.get("SOAK", 6 * TIMES))
PAUSE = 0.1
"""Seconds between two writes of one door: agents think, and a store is not only growing."""

READS = max(100, int(SECONDS * 10))
"""How often each agent asks in the end, when nobody writes any more."""

FIRST = "The first thing in the quiet house"
AGAIN = 10
"""How often a hook is run that waited for too long: the same text again is the same memory."""


class Soak:
    """What several doors acknowledged, and whatever they complained of."""

    def __init__(self, folder: Path, place: str) -> None:
        self.folder, self.variables = folder, {"ENGRAM_STORE": place, "ENGRAM_EMBEDDER": "none"}
        self.variables["XDG_CACHE_HOME"] = f"{folder}/cache"
        self.acked: set[str] = set()
        self.woes: list[str] = []
        self.logged = 0
        self.until = time.monotonic() + SECONDS

    def texts_of(self, name: str):
        """One text after another, as long as the soak lasts; at least two."""
        for n in range(1_000_000):
            if time.monotonic() > self.until and n > 1:
                return
            time.sleep(PAUSE)
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
        """A prompt, which reads, and what a subagent learned, which writes."""
        for text in self.texts_of("The hook"):
            self.hook("prompt-submit", prompt=text)
            learned = f"Done.\n\n## Key learnings\n\n- {text}\n"
            for _ in range(AGAIN):
                if not self.hook("subagent-stop", last_assistant_message=learned):
                    self.acked.add(text)
                    break
            else:
                self.woes.append(f"A hook gave up {AGAIN} times on: {text}")

    def hook(self, event: str, **said: str) -> list[str]:
        """Run a hook; what its log says of having given up, as it does where it waited for too long."""
        told = self.run("hook", event, "--agent", "claude-code", said=json.dumps(said))
        if not isinstance(json.loads(told), dict):
            self.woes.append(told)
        lines = [line for log in self.folder.rglob("hooks.log") for line in log.read_text().splitlines()]
        new, self.logged = lines[self.logged :], len(lines)
        self.woes += [line for line in new if "TimeoutError" not in line]
        return new

    def by_mcp(self, server: Bare, name: str) -> None:
        for text in self.texts_of(name):
            for answer in (server.call("remember", text=text), server.call("recall", question=text)):
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


def open_files(process: subprocess.Popen[bytes]) -> int:
    """How many files and connections a process has open."""
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def living_in(folder: Path) -> list[str]:
    """The processes that work in a folder: what was left behind."""
    found = []
    for each in Path("/proc").glob("[0-9]*/cwd"):
        with suppress(OSError):
            found += [each.parent.name] if os.readlink(each) == str(folder) else []
    return found


def bytes_of(place: str, folder: Path) -> int:
    """What a store takes on the disk."""
    if place.startswith("postgres"):
        with psycopg.connect(place) as db:
            return db.execute("SELECT pg_database_size(current_database())").fetchone()[0]
    return sum(each.stat().st_size for each in (folder / "home").rglob("*") if each.is_file())


def grown_by_reading(server: Bare) -> int:
    """What a server's memory grows by, in kilobytes, while it is only asked, and knows how."""
    for n in range(READS):
        if n == READS // 4:
            before = resident(server.process)
        assert not server.call("recall", question=f"Which thing {n} was heard in the house?").get("isError")
    return resident(server.process) - before


def assert_embedded(place: str, folder: Path, model: dict[str, str], count: int) -> None:
    """One door made vectors, also of what others had saved; where the rest has one too, each memory has it once."""
    with opened(place, folder, settings=model) as memory:
        done = memory.engine.backlog(MINE)
        assert done.active == Space("endpoint/small", 4)
        assert done.remaining < count
        memory.reembed()
        assert memory.engine.backlog(MINE) == Backlog(done.active)
        there = near(memory.engine, EAST, done.active, limit=count + 10)
        assert len(there) == len(set(there)) == count


@pytest.mark.parametrize("engine", ENGINES)
def test_every_door_at_once_keeps_what_it_acknowledged_and_nobody_sees_a_lock(tmp_path, engine):
    place = place_of(engine, tmp_path)
    with opened(place, tmp_path) as memory:
        memory.remember(FIRST)
    empty = bytes_of(place, tmp_path)
    soak = Soak(tmp_path, place)
    with (
        serving_vectors(good) as endpoint,
        serving(tmp_path, **soak.variables) as served,
        Bare(tmp_path, **soak.variables | (model := embedding(endpoint.url, "small"))) as one,
        Bare(tmp_path, **soak.variables) as other,
    ):
        for server in (one, other):
            server.call("recall", question="anything at all")
        processes = [one.process, other.process, served.process]
        doors = [
            threading.Thread(target=soak.by_command),
            threading.Thread(target=soak.by_hook),
            threading.Thread(target=soak.by_mcp, args=(one, "The first agent")),
            threading.Thread(target=soak.by_mcp, args=(other, "The second agent")),
            threading.Thread(target=soak.by_http, args=(served,)),
        ]
        for door in doors:
            door.start()
        time.sleep(SECONDS / 5)  # by then each has all that it ever loads
        before, written = [resident(each) for each in processes], len(soak.acked)
        handles = [open_files(each) for each in processes]
        for door in doors:
            door.join()
        grown = max(resident(each) - then for each, then in zip(processes, before, strict=True))
        opened_more = [open_files(each) - then for each, then in zip(processes, handles, strict=True)]
        by_reading = [grown_by_reading(server) for server in (one, other)]
        assert_embedded(place, tmp_path, model, len(soak.acked) + 1)
        ended = [server.end()[0] for server in (one, other)]

    assert soak.woes == []
    assert ended == [0, 0]
    assert grown < 32_000 + (len(soak.acked) - written) * 2  # kilobytes: about twice what ten minutes took
    assert max(by_reading) < 2_000 + READS // 10  # nothing stays of what was read
    assert max(opened_more) < 20
    left = living_in(tmp_path)
    assert left == []
    saved = rescued(place, tmp_path)
    with opened(place, tmp_path) as memory:
        assert texts(memory) == {FIRST, *soak.acked}
        assert memory.stats().memories == len(soak.acked) + 1  # and none of them twice
        assert saved == records(memory, EXPORTED)
        assert memory.doctor().healthy
    taken = bytes_of(place, tmp_path) - empty
    assert taken < 1_000_000 + 8_000 * len(soak.acked)  # about twice what ten minutes took
    tell("MCP servers, command, hooks and HTTP server at once: writes acknowledged", engine, len(soak.acked))
    note(
        soak=engine,
        seconds=SECONDS,
        acknowledged=len(soak.acked),
        errors=len(soak.woes),
        orphans=len(left),
        grown=grown,
        each=taken // len(soak.acked),
    )
