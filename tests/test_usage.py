"""What was recalled on this machine: counted beside the store, and worth losing."""

import os
import pwd
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import engram
from engram import usage
from engram.config import cache_folder
from engram.service import Engram
from engram.usage import UsageFile

AT = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    settings = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_STAGING": "off"}
    with engram.open(tmp_path / "store.db", environment=settings) as opened:
        yield opened


def test_recalls_are_counted_for_every_process_that_asks(tmp_path: Path):
    path = str(tmp_path / "usage" / "a.log")
    UsageFile(path).begin()(["one", "two"], AT)
    other = UsageFile(path)
    other.begin()(["two"], AT)

    assert other.uses() == {"one": 1, "two": 2}
    assert len(other.took()) == 2
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


def test_what_was_done_last_is_known(tmp_path: Path):
    counted = UsageFile(str(tmp_path / "a.log"))
    counted.mark("backup", datetime(2026, 1, 1, tzinfo=UTC))
    counted.mark("backup", AT)

    assert counted.marks() == {"backup": AT}


def test_a_large_file_is_folded_into_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(usage, "LARGEST", 2000)
    monkeypatch.setattr(usage, "KEPT", 5)
    counted = UsageFile(str(tmp_path / "a.log"))
    counted.mark("sync", AT)
    for _ in range(200):
        counted.begin()(["0190-abcdef"], AT)

    assert counted.uses() == {"0190-abcdef": 200}
    assert counted.marks() == {"sync": AT}
    assert counted.since() == AT
    assert (tmp_path / "a.log").stat().st_size < 2100
    assert os.listdir(tmp_path) == ["a.log"]


def test_a_file_whose_counts_alone_are_large_is_not_folded_at_every_recall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(usage, "LARGEST", 2000)
    path = tmp_path / "a.log"
    path.write_text("".join(f"c {'m' * 36}{n:04} 1\n" for n in range(100)))
    counted, written = UsageFile(str(path)), set[int]()
    for n in range(20):
        counted.begin()(["one"], AT)
        os.link(path, tmp_path / str(n))  # so that no number of a file is given twice
        written.add(path.stat().st_ino)

    assert len(written) <= 2
    assert (counted.uses()["one"], len(counted.uses())) == (20, 101)


def test_lines_that_say_nothing_are_passed_over(tmp_path: Path):
    path = tmp_path / "a.log"
    path.write_bytes(b"r 1 2.5 one\n\xff\xfe\nr x\nc one many\nm backup never\nc one 4\nr 1 2.")
    counted = UsageFile(str(path))

    assert counted.uses() == {"one": 5}
    assert list(counted.took()) == [2.5, 2.0]


def test_a_folder_that_cannot_be_written_costs_no_answer(tmp_path: Path):
    (tmp_path / "file").write_text("")
    counted = UsageFile(str(tmp_path / "file" / "a.log"))
    counted.begin()(["one"], AT)

    assert counted.uses() == {}


def test_what_is_recalled_or_put_into_a_context_counts_as_used(memory: Engram):
    first = memory.remember("We deploy on Fridays").memory.id
    memory.recall("deploy")
    memory.context()

    assert memory.call().usage.uses() == {first: 2}


def test_looking_around_counts_as_no_use_and_still_tells_the_counts(memory: Engram):
    first = memory.remember("We deploy on Fridays").memory.id
    memory.recall("deploy")
    looking = memory.not_counting_use()
    looking.recall("deploy")
    looking.context()
    looking.search("deploy")

    assert looking.search("deploy").uses == (1,)
    assert looking.call().usage.uses() == {first: 1}


def test_a_backup_and_an_exchange_are_marked(memory: Engram, tmp_path: Path):
    memory.backup_create(str(tmp_path / "b.zip"))

    assert set(memory.trends().done) == {"backup"}


def test_what_never_came_back_in_a_month_is_told_and_what_did_is_not(tmp_path: Path):
    now = datetime.now(UTC)
    settings = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_STAGING": "off"}
    with engram.open(tmp_path / "s.db", environment=settings, folder=tmp_path) as memory:
        memory.remember("The port of the database is 5432")
        memory.remember("Ada leads the team in Oslo")
        shown = memory.remember("We deploy on Fridays").memory
        memory.recall("database port")
        memory.get(shown.id)
        assert memory.hygiene().rows == ()
    later = now + timedelta(days=40)
    with engram.open(tmp_path / "s.db", environment=settings, folder=tmp_path, clock=lambda: later) as memory:
        [row] = memory.hygiene().rows
        assert (row.name, row.examples) == ("never recalled", ("mem-0002: Ada leads the team in Oslo",))


def test_what_tests_recall_is_counted_in_no_home_of_a_person(tmp_path: Path):
    with engram.open(tmp_path / "store.db") as memory:
        memory.remember("The port is 80")
        memory.recall("port", words=True)

    counted = Path(cache_folder(os.environ), "used")
    assert any(counted.iterdir())
    assert not counted.is_relative_to(pwd.getpwuid(os.getuid()).pw_dir)
