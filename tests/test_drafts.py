"""Files that are whole or not there."""

import errno
import os
import stat
from contextlib import nullcontext
from pathlib import Path

import pytest

from engram.drafts import private_folder, sync_folder, whole_file


def test_a_file_takes_its_name_when_all_of_it_is_written(tmp_path: Path):
    path = tmp_path / "told"
    path.write_bytes(b"before")
    with whole_file(str(path)) as file:
        file.write(b"after")

        assert path.read_bytes() == b"before"
    assert path.read_bytes() == b"after"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["told"]


def test_a_failure_leaves_what_was_there_and_nothing_beside_it(tmp_path: Path):
    path = tmp_path / "told"
    path.write_bytes(b"before")

    def broken_off() -> None:
        with whole_file(str(path)) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken_off()

    assert path.read_bytes() == b"before"
    assert os.listdir(tmp_path) == ["told"]


def test_of_two_writers_the_last_one_stays(tmp_path: Path):
    path = tmp_path / "told"
    with whole_file(str(path)) as first:
        first.write(b"first")
        with whole_file(str(path)) as second:
            second.write(b"second")

        assert path.read_bytes() == b"second"
    assert path.read_bytes() == b"first"


def synced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the files and folders that wait for the disk from now on."""
    told, sync = [], os.fsync

    def note(handle: int) -> None:
        told.append(os.fstat(handle).st_ino)
        sync(handle)

    monkeypatch.setattr(os, "fsync", note)
    return told


def test_what_is_durable_is_on_the_disk_with_its_name_and_what_is_not_waits_for_nothing(tmp_path, monkeypatch):
    told = synced(monkeypatch)
    for durable in (True, False):
        with whole_file(str(tmp_path / f"{durable}"), durable=durable) as file:
            file.write(b"told")

        assert (tmp_path / f"{durable}").read_bytes() == b"told"
    assert told == [(tmp_path / "True").stat().st_ino, tmp_path.stat().st_ino]


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EIO])
def test_a_folder_that_cannot_be_synced_is_no_failure_and_a_disk_that_fails_is(tmp_path, monkeypatch, number):
    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="Input") if number == errno.EIO else nullcontext():
        sync_folder(str(tmp_path))


def test_a_link_is_replaced_and_not_followed(tmp_path: Path):
    (tmp_path / "theirs").write_bytes(b"theirs")
    (tmp_path / "told").symlink_to(tmp_path / "theirs")
    with whole_file(str(tmp_path / "told")) as file:
        file.write(b"ours")

    assert (tmp_path / "theirs").read_bytes() == b"theirs"
    assert (tmp_path / "told").read_bytes() == b"ours"


def test_a_private_folder_is_private_with_all_that_is_made_on_the_way_to_it(tmp_path: Path):
    deep = tmp_path / "a" / "b" / "c"
    private_folder(str(deep))
    private_folder(str(deep))

    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.rglob("*")} == {0o700}
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        private_folder(str(tmp_path / "file"))
