"""`engram init`: a folder says which project it is; driven in folders with real repositories."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from engram.errors import Conflict, Invalid, Unavailable
from engram.projects.detect import project_of
from engram.surfaces.commands.init import run


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("ENGRAM_PROJECT", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def api(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a remote, and the process standing in a folder of it."""
    folder = home / "checkout"
    (folder / "src").mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run(["git", "remote", "add", "origin", "git@github.com:acme/api.git"], cwd=folder, check=True)
    monkeypatch.chdir(folder / "src")
    return folder


def word(folder: Path) -> dict[str, str]:
    return json.loads((folder / ".engram" / "config.json").read_text(encoding="utf-8"))


def test_a_repository_gets_the_name_it_is_given_at_its_root(home: Path, api: Path, capsys):
    assert run(["acme-api"], json=False) == 0

    assert word(api) == {"project": "acme-api"}
    assert project_of(api / "src", home) == "acme-api"
    told = capsys.readouterr().out
    assert f"This project is acme-api now: {api}/.engram/config.json" in told
    assert "Until now it was github.com/acme/api." in told
    assert "engram projects rename github.com/acme/api acme-api" in told
    assert "engram setup" not in told


def test_whoever_names_an_agent_is_told_how_one_is_connected(api: Path, capsys):
    assert run(["claude-code"], json=False) == 0

    assert word(api) == {"project": "claude-code"}
    assert "engram setup claude-code" in capsys.readouterr().out


def test_without_a_name_it_takes_the_short_one(api: Path, capsys):
    assert run([], json=True) == 0

    assert word(api) == {"project": "api"}
    assert json.loads(capsys.readouterr().out) == {
        "project": "api",
        "path": f"{api}/.engram/config.json",
        "changed": True,
        "before": "github.com/acme/api",
        "shared_with": [],
    }


def test_the_file_is_as_open_as_source_code_and_leaves_no_draft(api: Path):
    old = os.umask(0o022)
    try:
        run(["acme-api"], json=False)
    finally:
        os.umask(old)

    assert (api / ".engram").stat().st_mode & 0o777 == 0o755
    assert (api / ".engram" / "config.json").stat().st_mode & 0o777 == 0o644
    assert os.listdir(api / ".engram") == ["config.json"]


def test_a_second_init_changes_nothing(api: Path, capsys):
    run(["acme-api"], json=False)
    before = (api / ".engram" / "config.json").stat()
    capsys.readouterr()

    assert run(["acme-api"], json=False) == 0
    assert "nothing was changed" in capsys.readouterr().out
    assert (api / ".engram" / "config.json").stat().st_mtime_ns == before.st_mtime_ns
    assert run([], json=False) == 0
    assert word(api) == {"project": "acme-api"}


def test_another_name_needs_force_and_what_else_is_in_the_file_stays(api: Path):
    (api / ".engram").mkdir()
    (api / ".engram" / "config.json").write_text('{"project_name": "theirs", "more": [1]}')

    with pytest.raises(Conflict, match="says theirs already") as refused:
        run(["acme-api"], json=False)
    assert "--force" in refused.value.hint
    run(["theirs"], json=False)
    assert word(api) == {"project_name": "theirs", "more": [1]}

    run(["acme-api", "--force"], json=False)
    assert word(api) == {"project_name": "theirs", "more": [1], "project": "acme-api"}


def test_a_broken_file_is_replaced_by_force_only(home: Path, api: Path):
    (api / ".engram").mkdir()
    (api / ".engram" / "config.json").write_text("{")

    with pytest.raises(Conflict, match="cannot be understood"):
        run(["acme-api"], json=False)
    with pytest.raises(Conflict, match="does not name a project"):
        run(["--force"], json=False)
    assert (api / ".engram" / "config.json").read_text() == "{"

    run(["acme-api", "--force"], json=False)
    assert project_of(api, home) == "acme-api"


def test_a_folder_with_several_repositories_becomes_one_project_by_its_name(home: Path, monkeypatch):
    for name in ("api", "web"):
        (home / "work" / name / ".git").mkdir(parents=True)
    monkeypatch.chdir(home / "work")

    with pytest.raises(Conflict, match="several projects"):
        run([], json=False)
    run(["everything"], json=False)
    assert project_of(home / "work", home) == "everything"


def test_where_nothing_tells_a_name_none_is_invented(home: Path, monkeypatch):
    (home / "letters").mkdir()
    monkeypatch.chdir(home / "letters")

    with pytest.raises(Invalid, match="Nothing tells what"):
        run([], json=False)
    assert not (home / "letters" / ".engram").exists()
    run(["letters"], json=False)
    assert project_of(home / "letters", home) == "letters"


@pytest.mark.parametrize("folder", ["home", "/", "/tmp"])  # noqa: S108 - the very folder
def test_what_is_never_a_project_gets_no_name(home: Path, monkeypatch, folder):
    monkeypatch.chdir(home if folder == "home" else folder)

    with pytest.raises(Conflict, match="never a project"):
        run(["everything"], json=False)
    assert not (home / ".engram").exists()


@pytest.mark.parametrize("name", ["a@b", "tab\tbed", "x" * 201, "github.com/rival/api", "/etc"])
def test_a_name_that_cannot_be_one_is_refused(api: Path, name):
    with pytest.raises(Invalid):
        run([name], json=False)
    assert not (api / ".engram").exists()


@pytest.mark.parametrize("words", [["--wrong"], ["two", "names"], [""], ["  "]])
def test_words_that_make_no_sense_are_refused(api: Path, words):
    with pytest.raises(Invalid):
        run(words, json=False)
    assert not (api / ".engram").exists()


def test_a_repository_may_write_down_what_its_remote_says(home: Path, api: Path):
    run(["github.com/acme/api"], json=False)

    assert project_of(api, home) == "github.com/acme/api"


@pytest.mark.parametrize("linked", [".engram", ".engram/config.json"])
def test_nothing_is_written_through_a_link(home: Path, api: Path, linked):
    (home / "elsewhere").mkdir()
    (home / "elsewhere" / "config.json").write_text('{"project": "other"}')
    path = api / linked
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(home / "elsewhere" / ("config.json" if linked.endswith("json") else ""))

    with pytest.raises(Conflict, match="symbolic link"):
        run(["acme-api", "--force"], json=False)
    assert (home / "elsewhere" / "config.json").read_text() == '{"project": "other"}'


def test_a_folder_that_cannot_be_written_is_told(api: Path):
    (api / ".engram").write_text("a file in the way")

    with pytest.raises(Unavailable, match="cannot be written"):
        run(["acme-api"], json=False)


def test_a_variable_that_goes_before_it_is_told(api: Path, monkeypatch, capsys):
    monkeypatch.setenv("ENGRAM_PROJECT", "other")
    run(["acme-api"], json=False)

    assert "ENGRAM_PROJECT is set here" in capsys.readouterr().out
    assert word(api) == {"project": "acme-api"}


# --- a word that came with a checkout ---


def notes(home: Path) -> Path:
    return home / ".local" / "share" / "engram" / "projects.json"


@pytest.mark.usefixtures("api")
def test_a_name_is_noted_on_this_machine_for_its_owner_alone(home: Path):
    run(["acme-api"], json=False)

    assert json.loads(notes(home).read_text()) == {"acme-api": ["github.com/acme/api"]}
    assert notes(home).stat().st_mode & 0o777 == 0o600
    assert notes(home).parent.stat().st_mode & 0o777 == 0o700


def test_a_word_that_came_along_is_accepted_by_typing_it_only(home: Path, api: Path, capsys):
    (api / ".engram").mkdir()
    (api / ".engram" / "config.json").write_text('{"project": "secret"}')
    before = (api / ".engram" / "config.json").read_bytes()

    with pytest.raises(Conflict, match="says secret, which was not accepted") as refused:
        run([], json=False)
    assert "engram init secret" in refused.value.hint
    assert not notes(home).exists()

    run(["secret"], json=False)
    assert "nothing was changed" in capsys.readouterr().out
    assert (api / ".engram" / "config.json").read_bytes() == before
    assert json.loads(notes(home).read_text()) == {"secret": ["github.com/acme/api"]}
    run([], json=False)


def test_a_name_that_was_never_accepted_has_no_memories_to_bring_along(api: Path, capsys):
    (api / ".engram").mkdir()
    (api / ".engram" / "config.json").write_text('{"project": "secret"}')
    run(["acme-api", "--force"], json=False)

    told = capsys.readouterr().out
    assert told.startswith("✓ This project is acme-api now")
    assert "secret" not in told


@pytest.mark.usefixtures("api")
def test_two_places_of_one_name_are_told_that_they_share(home: Path, monkeypatch, capsys):
    run(["acme"], json=False)
    (home / "book").mkdir()
    monkeypatch.chdir(home / "book")
    run(["acme"], json=False)

    assert "github.com/acme/api goes by that name too: they share their memories." in capsys.readouterr().out
    assert json.loads(notes(home).read_text()) == {"acme": ["github.com/acme/api", str(home / "book")]}
