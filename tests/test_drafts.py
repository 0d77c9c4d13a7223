"""Files that are whole or not there."""

import os
import stat
from pathlib import Path

import pytest

from engram.drafts import private_folder, whole_file


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


def test_a_link_is_replaced_and_not_followed(tmp_path: Path):
    (tmp_path / "theirs").write_bytes(b"theirs")
    (tmp_path / "told").symlink_to(tmp_path / "theirs")
    with whole_file(str(tmp_path / "told")) as file:
        file.write(b"ours")

    assert (tmp_path / "theirs").read_bytes() == b"theirs"
    assert (tmp_path / "told").read_bytes() == b"ours"


def test_what_can_be_made_again_waits_for_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    with whole_file(str(tmp_path / "cached"), durable=False) as file:
        file.write(b"told")

    assert (tmp_path / "cached").read_bytes() == b"told"
    assert synced == []
    with whole_file(str(tmp_path / "kept")) as file:
        file.write(b"told")

    assert len(synced) == 1


def test_a_private_folder_is_private_with_all_that_is_made_on_the_way_to_it(tmp_path: Path):
    deep = tmp_path / "a" / "b" / "c"
    private_folder(str(deep))
    private_folder(str(deep))

    assert {stat.S_IMODE(each.stat().st_mode) for each in tmp_path.rglob("*")} == {0o700}
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        private_folder(str(tmp_path / "file"))
