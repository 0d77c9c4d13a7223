"""Nothing speaks to a network unless it was told to: every socket of every command that a day has."""

import json
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from mcp import Client, StdioServerParameters

from engram.errors import Unavailable
from faults.tracing import strace
from surfaces.driving import COMMAND, PATIENCE, environment
from surfaces.mcp_clients import by_stdio

HOOK = json.dumps({"session_id": "s", "prompt": "when is the deploy of the service?"})
DAY = {
    "remember": (("remember", "The deploy is on Fridays"), "", "Remembered"),
    "recall": (("recall", "when do we ship?"), "", "The deploy is on Fridays"),
    "a hook": (("hook", "prompt-submit"), HOOK, "The deploy is on Fridays"),
    "doctor": (("doctor",), "", "Healthy"),
    "demo": (("demo",), "", "mem-0001"),
    "setup": (("setup", "claude-code"), "", "settings.json"),
}
"""What is asked, what is said to it, and a word of its answer: the embedding model runs where one is needed."""


WATCHED = ("--seccomp-bpf", "-e", "trace=socket,connect")


class Traced(NamedTuple):
    """What a command said, and the sockets that it and its children made: their families, and whom they reached."""

    said: str
    code: int
    families: set[str]
    reached: set[str]


def traced(folder: Path, *words: str, stdin: str = "", **variables: str) -> Traced:
    log = folder / "calls"
    done = subprocess.run(
        [*strace(log, *WATCHED), *COMMAND, *words],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment(folder, ENGRAM_STAGING="off", **variables),
        timeout=PATIENCE,
    )
    return Traced(done.stdout + done.stderr, done.returncode, *sockets(log))


def sockets(log: Path) -> tuple[set[str], set[str]]:
    """The families of all sockets, and the addresses that were reached for."""
    calls = log.read_text(encoding="utf-8")
    return set(re.findall(r"socket\((\w+)", calls)), set(
        re.findall(r'inet_(?:addr|pton)\((?:\w+, )?"([^"]+)', calls)
    )


def test_no_command_of_a_day_opens_a_socket_to_a_network(tmp_path: Path):
    told = {name: traced(tmp_path, *words, stdin=stdin) for name, (words, stdin, _) in DAY.items()}

    assert {name: done for name, done in told.items() if DAY[name][2] not in done.said or done.code} == {}
    assert {name: done.families for name, done in told.items() if done.families - {"AF_UNIX"}} == {}


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_agent_is_answered_without_a_socket_to_a_network(tmp_path: Path):
    server = by_stdio(tmp_path, ENGRAM_STAGING="off")
    command = [*strace(tmp_path / "calls", *WATCHED), server.command, *server.args]
    watched = StdioServerParameters(command=command[0], args=command[1:], env=server.env, cwd=tmp_path)
    async with Client(watched) as client:
        await client.call_tool("remember", {"text": "The deploy is on Fridays"})
        found = await client.call_tool("recall", {"question": "when do we ship?"})

    assert "The deploy is on Fridays" in found.content[0].text
    assert sockets(tmp_path / "calls")[0] <= {"AF_UNIX"}


def test_a_store_that_is_named_at_an_address_is_all_that_is_asked(tmp_path: Path):
    """Without this, a look that sees no sockets would pass for a command that makes none."""
    told = traced(tmp_path, "stats", ENGRAM_STORE="postgres://nobody@127.0.0.1:9/engram")

    assert told.code == Unavailable.exit_code, told
    assert "AF_INET" in told.families
    assert told.reached == {"127.0.0.1"}
