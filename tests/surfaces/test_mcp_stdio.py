"""`engram mcp` as a process: what it opens and when, what it prints, how it ends, and what it survives."""

import json
import os
import signal
import subprocess
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from surfaces.driving import COMMAND, PATIENCE, Driver, child, environment
from surfaces.mcp_clients import ERAS, Bare, Served, by_stdio, held, serving

HEAVY = ("onnxruntime", "numpy", "tokenizers", "sqlite_vec", "apsw")
"""Libraries that a process maps into its memory when it loads a model or opens a store."""


needs_proc = pytest.mark.skipif(
    not os.path.exists("/proc/self/maps"), reason="what a process holds is told on Linux only"
)


def mapped(pid: int) -> str:
    """Every file this process has mapped."""
    return Path(f"/proc/{pid}/maps").read_text()


def texts(engram: Driver) -> list[str]:
    """What the store holds, by the command."""
    return [memory["text"] for memory in engram("list", "--limit", "500", "--json").json["memories"]]


# Before a store is needed


@needs_proc
def test_tools_are_listed_before_any_model_or_store_is_opened(tmp_path: Path):
    with Bare(tmp_path) as server:
        assert len(server.ask("tools/list")["result"]["tools"]) == 12
        early = mapped(server.process.pid)
        assert not (tmp_path / "store.db").exists()
        server.call("remember", text="We deploy on Fridays")
        late = mapped(server.process.pid)

    assert [name for name in HEAVY if f"/{name}" in early] == []
    assert "/apsw" in late, "the same look finds what is there"


def wanting(folder: Path) -> tuple[str, int]:
    """Of which model the store has vectors, and how many memories lack one."""
    told = json.loads(child(folder, "models", "--json").out)
    return told["vectors"], told["lacking"]


def by_http(served: Served, text: str) -> None:
    """Save a text over HTTP."""
    headers = {"Authorization": f"Bearer {served.token}", "Content-Type": "application/json"}
    connection = HTTPConnection("127.0.0.1", served.port, timeout=PATIENCE)
    connection.request("POST", "/v1/memories", json.dumps({"text": text}), headers)
    assert connection.getresponse().status in (200, 201)
    connection.close()


def await_vectors(folder: Path) -> tuple[str, int]:
    """What the store has once there are vectors, or patience is at an end."""
    end = time.monotonic() + PATIENCE
    while not (found := wanting(folder))[0] and time.monotonic() < end:
        time.sleep(0.5)
    return found


def test_a_server_that_is_only_told_things_gives_them_vectors_when_it_stands_idle(tmp_path: Path):
    with Bare(tmp_path) as server:
        server.call("remember", text="We deploy on Fridays")
        model, lacking = await_vectors(tmp_path)

    assert (model.partition("/")[0], lacking) == ("snowflake-arctic-embed-s", 0)


def test_so_does_a_server_over_http(tmp_path: Path):
    with serving(tmp_path) as served:
        by_http(served, "We deploy on Fridays")
        model, lacking = await_vectors(tmp_path)

    assert (model.partition("/")[0], lacking) == ("snowflake-arctic-embed-s", 0)


def test_a_broken_store_leaves_the_list_of_tools_alone_and_says_what_is_wrong(tmp_path: Path):
    (tmp_path / "store.db").write_bytes(b"this is no database" * 300)
    with Bare(tmp_path) as server:
        assert server.ask("tools/list")["result"]["tools"]
        broken = server.ask("tools/call", {"name": "recall", "arguments": {"question": "anything"}})
        (tmp_path / "store.db").unlink()
        mended = server.call("remember", text="We deploy on Fridays")

    assert broken["error"]["data"]["code"] == "corrupt"
    assert "store.db" in broken["error"]["message"]
    assert not mended["isError"], "a mistake that is mended needs no new server"


def test_a_store_that_cannot_be_made_is_a_tool_error_with_the_next_step(tmp_path: Path):
    (tmp_path / "none").write_text("a file where a folder should be")
    with Bare(tmp_path, ENGRAM_STORE=str(tmp_path / "none" / "store.db")) as server:
        failed = server.call("recall", question="anything")

    assert failed["isError"]
    assert failed["structuredContent"]["code"] == "unavailable"
    assert str(tmp_path / "none") in failed["structuredContent"]["message"] + failed["structuredContent"]["hint"]


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_standard_input_or_output_it_says_that_it_needs_both(tmp_path: Path, closed: str):
    words = ["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, "mcp"]
    ended = subprocess.run(words, stderr=subprocess.PIPE, env=environment(tmp_path), cwd=tmp_path, check=False)

    assert ended.returncode == 2
    assert b"standard input and output" in ended.stderr


def test_two_processes_list_the_same_bytes(tmp_path: Path):
    lines = []
    for seed in ("1", "2"):
        with Bare(tmp_path, PYTHONHASHSEED=seed) as server:
            server.send("tools/list")
            lines.append(server.line())

    assert lines[0] == lines[1]


# As a process


@needs_proc
def test_it_starts_no_process_of_its_own(tmp_path: Path):
    with Bare(tmp_path) as server:
        server.call("remember", text="We deploy on Fridays")
        server.call("recall", question="when do we deploy?")
        pid = server.process.pid
        children = [
            Path(f"/proc/{pid}/task/{task}/children").read_text() for task in os.listdir(f"/proc/{pid}/task")
        ]

    assert "".join(children).split() == []


def test_it_ends_with_its_input(tmp_path: Path):
    with Bare(tmp_path) as server:
        server.call("remember", text="We deploy on Fridays")
        code, rest, errors = server.end()

    assert (code, rest, errors) == (0, b"", b"")


def test_it_ends_without_a_word_from_anybody(tmp_path: Path):
    with Bare(tmp_path) as server:
        assert server.end() == (0, b"", b"")
    assert not (tmp_path / "store.db").exists()


def test_it_ends_with_its_input_in_the_middle_of_a_call(engram: Driver):
    engram("remember", "The store is there")  # a call that is cut off before it began makes none
    with Bare(engram.folder) as server:
        server.ask("tools/list")
        server.send("tools/call", {"name": "remember", "arguments": {"text": "We deploy on Fridays"}})
        code, _, errors = server.end()

    assert (code, errors) == (0, b"")
    assert engram("doctor").code == 0
    assert set(texts(engram)) - {"We deploy on Fridays"} == {"The store is there"}


def test_it_ends_with_its_input_while_a_call_waits_for_the_store(engram: Driver):
    with Bare(engram.folder) as server:
        server.call("remember", text="We deploy on Fridays")
        with held(engram.store):
            server.send("tools/call", {"name": "remember", "arguments": {"text": "Invoices go out on the 3rd"}})
            time.sleep(0.5)  # until it waits
            code, _, errors = server.end()

    assert (code, errors) == (0, b"")
    assert texts(engram) == ["We deploy on Fridays"]
    assert engram("doctor").code == 0


def test_a_client_that_leaves_while_the_person_is_asked_leaves_it_waiting(engram: Driver):
    greeting = {
        "protocolVersion": ERAS["legacy"],
        "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "bare", "version": "1"},
    }
    call = {"name": "remember", "arguments": {"text": "My name is Ada", "kind": "identity"}}
    with Bare(engram.folder) as server:
        server.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": greeting}).encode())
        assert server.read()["result"]["protocolVersion"] == ERAS["legacy"]
        server.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        server.write(json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}).encode())
        assert server.read()["method"] == "elicitation/create"
        code, _, errors = server.end()

    assert (code, errors) == (0, b"")
    assert engram("get", "mem-0001", "--json").json["memories"][0]["standing"] == "pending"


def test_it_ends_when_it_is_told_to_stop(tmp_path: Path):
    with Bare(tmp_path) as server:
        server.ask("tools/list")
        server.process.send_signal(signal.SIGTERM)
        _, said = server.process.communicate(timeout=PATIENCE)

    assert server.process.returncode == -signal.SIGTERM
    assert said == b""


@pytest.mark.parametrize("flush", [True, False], ids=["said at once", "said at the end"])
def test_nothing_but_the_protocol_is_on_standard_output(tmp_path: Path, *, flush: bool):
    """Whatever prints in the server's process, a library or a warning, is not heard by the client."""
    (tmp_path / "sitecustomize.py").write_text(
        "import builtins, json, warnings\n"
        "whole = json.dumps\n"
        "def noisy(*values, **options):\n"
        f"    builtins.print('a stray word', flush={flush})\n"
        "    warnings.warn('a warning')\n"
        "    return whole(*values, **options)\n"
        "json.dumps = noisy\n"
    )
    path = os.pathsep.join([str(tmp_path), environment(tmp_path)["PYTHONPATH"]])
    with Bare(tmp_path, PYTHONPATH=path, PYTHONWARNINGS="always") as server:
        assert server.call("remember", text="We deploy on Fridays")["isError"] is False
        code, rest, errors = server.end()

    assert (code, rest) == (0, b"")
    assert b"a stray word" in errors
    assert b"a warning" in errors


# Bad input


@pytest.mark.parametrize(
    "line",
    [b"{not json", b"", b"[]", b"null", b'"text"', b'{"jsonrpc": "2.0"}', b"\xff\xfe\x00", b"[" * 100_000],
    ids=["cut", "empty", "list", "null", "text", "no method", "no UTF-8", "deep"],
)
def test_a_line_that_is_no_message_does_not_stop_the_server(tmp_path: Path, line: bytes):
    with Bare(tmp_path) as server:
        server.ask("tools/list")
        server.write(line)
        id = server.send("tools/call", {"name": "remember", "arguments": {"text": "We deploy on Fridays"}})
        answer = server.read()
        while answer.get("id") != id:  # a word about the line itself is welcome
            assert "error" in answer
            answer = server.read()

    assert answer["result"]["isError"] is False


def test_ten_megabytes_of_arguments_are_a_tool_error(tmp_path: Path):
    with Bare(tmp_path) as server:
        failed = server.call("remember", text="x" * 10_000_000)
        after = server.call("remember", text="We deploy on Fridays")

    assert failed["isError"]
    assert failed["structuredContent"]["code"] == "invalid"
    assert len(json.dumps(failed)) < 1000, "what was too long is not said back"
    assert after["isError"] is False


def test_a_cancelled_call_leaves_the_server_and_the_store_whole(engram: Driver):
    async def cancel_some() -> None:
        async with Client(by_stdio(engram.folder)) as client:
            await client.call_tool("remember", {"text": "The first is kept"})
            for number in range(5):
                with anyio.move_on_after(0.002 * number):
                    await client.call_tool("remember", {"text": f"Number {number} may be kept"})
            await client.call_tool("remember", {"text": "The last is kept"})

    anyio.run(cancel_some)
    kept = texts(engram)
    assert "The first is kept" in kept
    assert "The last is kept" in kept
    assert engram("doctor").code == 0


def test_two_agents_at_once_lose_nothing(engram: Driver):
    async def write(name: str) -> None:
        async with Client(by_stdio(engram.folder)) as client:
            for number in range(20):
                result = await client.call_tool("remember", {"text": f"{name} knows fact number {number}"})
                assert not result.is_error, result.content

    async def both() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(write, "Ada")
            group.start_soon(write, "Grace")

    anyio.run(both)
    assert sorted(texts(engram)) == sorted(
        f"{name} knows fact number {n}" for name in ("Ada", "Grace") for n in range(20)
    )
    assert engram("doctor").code == 0


def test_a_store_that_another_process_holds_is_unavailable_until_it_lets_go(engram: Driver):
    with Bare(engram.folder) as server:
        server.call("remember", text="We deploy on Fridays")
        with held(engram.store):
            locked = server.call("remember", text="Invoices go out on the 3rd")
            found = server.call("recall", question="when do we deploy?")
        after = server.call("remember", text="Invoices go out on the 3rd")

    assert locked["isError"]
    assert locked["structuredContent"]["code"] == "unavailable"
    assert locked["structuredContent"]["hint"]
    assert found["structuredContent"]["hits"], "reading needs no lock"
    assert after["isError"] is False
    assert len(texts(engram)) == 2


# The command line


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--profile", "memory-v1", "--profile", "keyed"], "both have a tool 'recall'"),
        (["--profile", "native,memory-v1"], "both have a tool 'remember'"),
        (["--profile", "nope"], "There is no profile 'nope'"),
        (["--profile"], "--profile needs a value"),
        (["--colour"], "engram mcp takes no --colour"),
    ],
    ids=["two of others", "ours and another", "unknown", "no value", "no option"],
)
def test_a_command_line_that_makes_no_sense_is_refused_at_the_start(tmp_path: Path, words: list[str], told: str):
    done = child(tmp_path, "mcp", *words)

    assert done.code == 2
    assert told in done.err
    assert done.out == ""


@pytest.mark.parametrize("profile", ["observations", "records", "memory-v1", "keyed"])
def test_every_profile_serves_its_tools_with_instructions_that_name_it(tmp_path: Path, profile: str):
    with Bare(tmp_path, "--profile", profile) as server:
        found: dict[str, Any] = server.ask("server/discover")["result"]
        tools = server.ask("tools/list")["result"]["tools"]

    assert profile in found["instructions"]
    assert tools
    assert all(tool["inputSchema"]["additionalProperties"] is False for tool in tools)


def test_the_store_can_be_named_on_the_command_line(tmp_path: Path):
    with Bare(tmp_path, "--store", str(tmp_path / "other.db")) as server:
        server.call("remember", text="We deploy on Fridays")

    assert (tmp_path / "other.db").exists()
    assert not (tmp_path / "store.db").exists()


def test_the_project_can_be_named_on_the_command_line(tmp_path: Path):
    with Bare(tmp_path, "--tools", "agent", "--project", "github.com/acme/api") as server:
        saved = server.call("mem_save", title="Deploy day", content="We deploy on Fridays")

    assert '"project": "github.com/acme/api"' in json.dumps(saved).replace("\\", "")
