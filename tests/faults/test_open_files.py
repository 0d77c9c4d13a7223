"""No file may be opened any more: told in plain words with the next step, nothing half, and on it goes."""

import http.client
import json
import os
import resource
import subprocess

import pytest

from engram.errors import Unavailable
from faults.harness import assert_holding, opened, place_of, tell, texts
from surfaces.mcp_clients import COMMAND, Served, environment, serving

LIMITS = (5, 6, 7, 8)
"""How many files the command may have open: it is stopped somewhere by each of these."""

IN_FILES = ("sqlite", "files")


@pytest.mark.parametrize("engine", IN_FILES)
def test_a_command_that_may_open_no_more_files_says_so_and_leaves_nothing_half(tmp_path, engine):
    place, done, refused = place_of(engine, tmp_path), {"We deploy on Fridays"}, 0
    with opened(place, tmp_path) as memory:
        memory.remember("We deploy on Fridays")
    for limit in LIMITS:
        text = f"Note {limit} of the quiet house"
        ended = subprocess.run(
            ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *COMMAND, "remember", text, "--store", place],
            capture_output=True,
            text=True,
            check=False,
            env=environment(tmp_path),
            cwd=tmp_path,
        )
        assert "Traceback" not in ended.stderr, ended.stderr
        assert ended.returncode in (0, Unavailable.exit_code)
        if ended.returncode:
            refused += 1
            assert "open files" in ended.stderr
            assert "ulimit -n 1024" in ended.stderr
        with opened(place, tmp_path) as memory:
            kept = texts(memory)
            assert memory.doctor().healthy
        assert done <= kept <= done | {text}
        assert (text in kept) >= (ended.returncode == 0)
        assert "Nothing was written" not in ended.stderr or text not in kept
        done = kept
    assert refused > 1
    tell("no file may be opened any more: refused in plain words, nothing half", engine, refused)


@pytest.mark.parametrize("limit", [8, 12, 13, 40])
def test_a_server_that_could_open_too_few_files_does_not_start(tmp_path, limit):
    ended = subprocess.run(
        ["sh", "-c", f'ulimit -n {limit}; exec "$@"', "sh", *COMMAND, "serve", "--port", "0", "--no-open"],
        capture_output=True,
        text=True,
        check=False,
        env=environment(tmp_path),
        cwd=tmp_path,
        timeout=60,
    )

    assert (ended.returncode, ended.stdout) == (Unavailable.exit_code, "")
    assert f"this process may have {limit}" in ended.stderr
    assert "ulimit -n 1024" in ended.stderr


@pytest.mark.skipif(
    not hasattr(resource, "prlimit"), reason="the limit of another process can be read on Linux alone"
)
def test_a_server_takes_the_open_files_that_it_may_have(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, before[1]))
    try:
        with serving(tmp_path, ENGRAM_STORE=place_of("sqlite", tmp_path), ENGRAM_EMBEDDER="none") as served:
            now, most = resource.prlimit(served.process.pid, resource.RLIMIT_NOFILE)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

    assert now == min(4096, most)


@pytest.mark.skipif(
    not hasattr(resource, "prlimit"), reason="the limit of another process can be set on Linux alone"
)
def test_a_server_that_may_open_no_more_files_refuses_and_goes_on_when_it_may(tmp_path):
    place = place_of("files", tmp_path)
    with serving(tmp_path, ENGRAM_STORE=place, ENGRAM_EMBEDDER="none") as served:
        pid, client = served.process.pid, http.client.HTTPConnection("127.0.0.1", served.port, timeout=40)
        assert saved(served, client, "We deploy on Fridays")[0] == 200
        before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        here = {int(each) for each in os.listdir(f"/proc/{pid}/fd")}
        full = next(n for n in range(len(here) + 1) if n not in here)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (full, before[1]))
        status, told = saved(served, client, "Use uv")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)

        assert status == Unavailable.http_status
        assert "Too many open files" in told["message"]
        assert "ulimit -n 1024" in told["hint"]
        assert saved(served, client, "Use make")[0] == 200
        client.close()
    assert_holding(place, tmp_path, {"We deploy on Fridays", "Use make"})
    tell("no file may be opened any more: a server refuses, and goes on when it may", "files", 1)


def saved(served: Served, client: http.client.HTTPConnection, text: str) -> tuple[int, dict[str, str]]:
    """Let a server remember something, on one connection: its status and its answer."""
    headers = {"authorization": f"Bearer {served.token}", "content-type": "application/json"}
    client.request("POST", "/v1/memories", json.dumps({"text": text}), headers)
    answer = client.getresponse()
    return answer.status, json.loads(answer.read())
