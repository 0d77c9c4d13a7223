"""A store that is moved, deleted, replaced, copied or held while it is in use: what is acknowledged is kept."""

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engram.errors import EngramError, Unavailable
from faults.harness import (
    TIMES,
    assert_holding,
    heard,
    opened,
    place_of,
    rescued_texts,
    tell,
    texts,
    wait_for_more,
    work,
)
from surfaces.mcp_clients import Bare

IN_FILES = ("sqlite", "files")
GONE = "is not there any more"


def said(answer: dict) -> str:
    return answer["content"][0]["text"]


def serving(folder: Path, place: str) -> Bare:
    return Bare(folder, ENGRAM_STORE=place, ENGRAM_EMBEDDER="none", XDG_CACHE_HOME=f"{folder}/cache")


@pytest.mark.parametrize("engine", IN_FILES)
def test_a_store_moved_under_a_server_refuses_until_it_is_back_and_loses_nothing(tmp_path, engine):
    place, home, kept = place_of(engine, tmp_path), tmp_path / "home", set()
    with serving(tmp_path, place) as server:
        for n in range(2 * TIMES):
            server.call("remember", text=f"Before move {n}")
            home.rename(tmp_path / "elsewhere")
            for answer in (
                server.call("remember", text=f"Meanwhile {n}"),
                server.call("recall", question="Before move"),
            ):
                assert answer["isError"]
                assert GONE in said(answer)
            assert not home.exists()
            (tmp_path / "elsewhere").rename(home)
            assert not server.call("remember", text=f"After move {n}").get("isError")
            kept |= {f"Before move {n}", f"After move {n}"}
    assert_holding(place, tmp_path, kept)
    tell("the store moved away under a server, and back: refused meanwhile", engine, 2 * TIMES)


@pytest.mark.parametrize("engine", IN_FILES)
def test_a_store_deleted_under_a_server_acknowledges_nothing_more_and_is_not_begun_anew(tmp_path, engine):
    place, home = place_of(engine, tmp_path), tmp_path / "home"
    with serving(tmp_path, place) as server:
        server.call("remember", text="Before it was deleted")
        shutil.rmtree(home)
        for name, asked in (("remember", {"text": "After that"}), ("recall", {"question": "deleted"})) * 2:
            answer = server.call(name, **asked)
            assert answer["isError"]
            assert GONE in said(answer)
        assert not home.exists()
    tell("the store deleted under a server: refused from then on", engine, 1, damaged=True)


@pytest.mark.parametrize("engine", IN_FILES)
def test_a_store_replaced_under_a_server_is_the_one_that_is_written_to(tmp_path, engine):
    place, home, other = place_of(engine, tmp_path), tmp_path / "home", tmp_path / "other"
    with opened(place_of(engine, other), other) as memory:
        memory.remember("From the other store")
    with serving(tmp_path, place) as server:
        server.call("remember", text="From the first store")
        home.rename(tmp_path / "first")
        (other / "home").rename(home)
        assert not server.call("remember", text="After it was replaced").get("isError")
        assert "From the other store" in said(server.call("recall", question="the other store"))
    assert_holding(place, tmp_path, {"From the other store", "After it was replaced"})
    (tmp_path / "again" / "home").parent.mkdir()
    (tmp_path / "first").rename(tmp_path / "again" / "home")
    assert_holding(place_of(engine, tmp_path / "again"), tmp_path / "again", {"From the first store"})
    tell("the store replaced by another under a server: the new one is written to", engine, 1)


@pytest.mark.parametrize("by_a_link", [False, True])
def test_a_log_of_sqlite_deleted_under_two_servers_loses_nothing(tmp_path, by_a_link):
    place, kept = place_of("sqlite", tmp_path), set()
    name = f"{tmp_path}/linked.db" if by_a_link else place
    if by_a_link:
        opened(place, tmp_path).close()
        Path(name).symlink_to(place)
    for n in range(2 * TIMES):
        with serving(tmp_path, name) as one, serving(tmp_path, name) as other:
            for server, text in ((one, f"One before {n}"), (other, f"Other before {n}")):
                assert not server.call("remember", text=text).get("isError")
                kept.add(text)
            Path(f"{place}-wal").unlink()
            for server, text in ((one, f"One after {n}"), (other, f"Other after {n}"), (one, f"One again {n}")):
                assert not server.call("remember", text=text).get("isError")
                kept.add(text)
            for server in (one, other):
                server.process.send_signal(signal.SIGKILL)
                server.process.wait()
        assert_holding(place, tmp_path, kept)
    tell("the `-wal` deleted under two servers, which are killed then", "sqlite", 2 * TIMES)


@pytest.mark.parametrize("gone", [("-shm",), ("-wal", "-shm"), ("-wal",)])
def test_what_lies_beside_a_file_of_sqlite_may_be_deleted_under_servers_and_a_third_comes(tmp_path, gone):
    """The third would begin a log or an index of its own, and each side would write over what the other did."""
    place, kept, tries = place_of("sqlite", tmp_path), set(), TIMES
    for n in range(tries):
        with serving(tmp_path, place) as one, serving(tmp_path, place) as other, serving(tmp_path, place) as third:
            for server, name in ((one, "One"), (other, "Other")):
                kept.add(told(server, f"{name} before {n}"))
            for suffix in gone:
                Path(f"{place}{suffix}").unlink()
            refused = third.call("remember", text=f"Third too early {n}")
            assert refused["isError"]
            assert "was deleted while it was in use" in said(refused)
            assert str(one.process.pid) in said(refused)
            kept |= {told(one, f"One after {n}"), told(third, f"Third after {n}"), told(other, f"Other after {n}")}
            for m in range(5):
                with ThreadPoolExecutor(3) as at_once:
                    rounds = [(one, f"One {m} of {n}"), (other, f"Other {m} of {n}"), (third, f"Third {m} of {n}")]
                    kept |= set(at_once.map(lambda each: told(*each), rounds))
            if n % 2:
                for server in (one, other, third):
                    server.process.send_signal(signal.SIGKILL)
                    server.process.wait()
        assert_holding(place, tmp_path, kept)
    tell("the `-shm`, the `-wal` or both deleted under two servers, then a third comes", "sqlite", tries)


def told(server: Bare, text: str) -> str:
    """A text that a server has acknowledged."""
    answer = server.call("remember", text=text)
    assert not answer.get("isError"), said(answer)
    return text


@pytest.mark.parametrize("moved", [("",), ("", "-wal", "-shm")])
def test_a_store_moved_under_a_server_with_a_link_left_in_its_place_is_used_where_it_is(tmp_path, moved):
    place, elsewhere = place_of("sqlite", tmp_path), tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    with serving(tmp_path, place) as server:
        kept = {told(server, "Before the move")}
        for suffix in moved:
            Path(f"{place}{suffix}").rename(elsewhere / f"engram.db{suffix}")
        Path(place).symlink_to(elsewhere / "engram.db")
        kept.add(told(server, "After the move"))
        with opened(place, tmp_path) as memory:
            kept.add(memory.remember("By another process, which follows the link").memory.text)
        kept.add(told(server, "After another one"))
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    assert_holding(str(elsewhere / "engram.db"), tmp_path, kept)
    tell("the store moved under a server, with a link left in its place: used where it is", "sqlite", 1)


def test_a_file_put_over_the_store_under_two_servers_is_the_one_that_is_written_to(tmp_path):
    """Without what lay beside it: the log of the file before is not taken for one of the new file."""
    place, other = place_of("sqlite", tmp_path), tmp_path / "other"
    with opened(place_of("sqlite", other), other) as memory:
        kept = {memory.remember("From the other store").memory.text}
    with serving(tmp_path, place) as one, serving(tmp_path, place) as two:
        told(one, "From the first store")
        told(two, "From the first store, too")
        Path(place_of("sqlite", other)).rename(place)
        kept |= {told(one, "One after it was replaced"), told(two, "Two after it was replaced")}
        kept.add(told(one, "One again"))
    assert_holding(place, tmp_path, kept)
    tell("another file put over the store under two servers: the new one is written to", "sqlite", 1)


def test_a_cache_deleted_under_a_server_is_made_anew(tmp_path):
    place = place_of("files", tmp_path)
    with serving(tmp_path, place) as server:
        kept = {told(server, "Before the cache was deleted")}
        shutil.rmtree(tmp_path / "cache")
        kept.add(told(server, "After the cache was deleted"))
        with opened(place, tmp_path) as memory:
            kept.add(memory.remember("By another process, with a cache of its own").memory.text)
        found = said(server.call("recall", question="cache"))
        assert all(word in found for word in ("Before the cache", "After the cache", "By another process"))
    assert_holding(place, tmp_path, kept)
    tell("the cache folder deleted under a server", "files", 1)


@pytest.mark.parametrize("engine", IN_FILES)
def test_a_copy_made_by_cp_while_others_write_is_whole_or_called_damaged(tmp_path, engine):
    """No promise is made for such a copy, but that it is never taken for something else than it is."""
    place, tries = place_of(engine, tmp_path), 3 * TIMES
    writer, good = work(place, tmp_path, "write", "writer", 0.005), 0
    lines = heard(writer)
    try:
        for n in range(tries):
            wait_for_more(lines, 5)
            sure, folder = set(lines), tmp_path / f"{n}"
            folder.mkdir()
            copied = ["cp", "-r", str(tmp_path / "home"), str(folder / "home")]
            subprocess.run(copied, check=False, stderr=subprocess.DEVNULL)  # a draft may be gone before it is read
            saved = rescued_texts(place_of(engine, folder), folder)
            assert saved
            good += saved >= sure
            try:
                with opened(place_of(engine, folder), folder, lenient=True) as copy:
                    found, healthy = texts(copy), copy.doctor().healthy
            except EngramError:
                continue
            assert found >= sure or not healthy
            assert saved >= found
        assert writer.poll() is None
    finally:
        writer.kill()
        writer.wait()
    assert good
    with opened(place, tmp_path) as memory:
        assert memory.doctor().healthy
    tell("copied by `cp` while another process writes: whole, or named", engine, tries)


HOLD = {
    "sqlite": "import apsw; db = apsw.Connection(path); db.execute('BEGIN IMMEDIATE')",
    "files": "import fcntl, os; fcntl.flock(os.open(path + '/.lock', os.O_RDWR), fcntl.LOCK_EX)",
}


@pytest.fixture
def holder() -> Callable[[str, str], subprocess.Popen[str]]:
    """Starts a process that holds the lock of a store and is stopped there (Ctrl-Z), until the test ends."""
    made: list[subprocess.Popen[str]] = []

    def hold(engine: str, place: str) -> subprocess.Popen[str]:
        code = f"path = {place.removeprefix('files:')!r}; {HOLD[engine]}; print('held', flush=True); input()"
        process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        made.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        process.send_signal(signal.SIGSTOP)
        return process

    yield hold
    for process in made:
        process.kill()
        process.wait()


@pytest.mark.parametrize("engine", IN_FILES)
def test_a_stopped_process_that_holds_the_lock_stops_no_reader_and_is_named_to_a_writer(
    tmp_path, engine, holder, monkeypatch
):
    monkeypatch.setattr("engram.engines.sqlite_file.BUSY_MS", 500)
    monkeypatch.setattr("engram.engines.files.folder.PATIENCE", 0.5)
    place = place_of(engine, tmp_path)
    with opened(place, tmp_path) as memory:
        memory.remember("Before it was held")
    process = holder(engine, place)
    with opened(place, tmp_path) as memory:
        begun = time.monotonic()
        assert texts(memory) == {"Before it was held"}
        assert time.monotonic() - begun < 20
        with pytest.raises(Unavailable, match="locked by") as refused:
            memory.remember("While it was held")
        assert f"process {process.pid}" in refused.value.message
        assert "stopped" in refused.value.message
        process.send_signal(signal.SIGKILL)
        process.wait()
        memory.remember("After it was let go")
    assert_holding(place, tmp_path, {"Before it was held", "After it was let go"})
    tell("the lock held by a process that is stopped: readers go on, a writer is told by whom", engine, 1)
