"""Without HOME: what the system knows is used, and where it knows nothing the command says what to set."""

import json
import pwd
from pathlib import Path
from typing import NamedTuple

import pytest

import engram
from surfaces.driving import Driver


class Account(NamedTuple):
    """What the system knows of a user."""

    pw_dir: str


@pytest.fixture
def homeless(engram: Driver, monkeypatch: pytest.MonkeyPatch) -> Driver:
    """The command with no word about any folder of a person's, and no store named."""
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "ENGRAM_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ENGRAM_EMBEDDER", "none")
    (engram.folder / "elsewhere").mkdir()
    return engram


def nobody(_: int) -> Account:
    raise KeyError("no such user")


def made(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_without_a_variable_the_home_that_the_system_knows_is_used(
    homeless: Driver, monkeypatch: pytest.MonkeyPatch
):
    home = homeless.folder / "home"
    home.mkdir()
    monkeypatch.setattr(pwd, "getpwuid", lambda _: Account(str(home)))
    homeless.remember("We deploy on Fridays")
    monkeypatch.chdir(homeless.folder / "elsewhere")
    recalled = homeless("recall", "when do we deploy?")

    assert (recalled.code, "We deploy on Fridays" in recalled.out) == (0, True), recalled
    assert (home / ".local" / "share" / "engram" / "engram.db").is_file()
    assert all(name.startswith("home/") for name in made(homeless.folder))


ASKED = {
    "remember": ("remember", "We deploy on Fridays"),
    "recall": ("recall", "when do we deploy?"),
    "stats": ("stats",),
    "doctor": ("doctor",),
    "setup": ("setup", "claude-code", "--yes"),
}


@pytest.mark.parametrize("words", ASKED.values(), ids=ASKED)
def test_whoever_has_no_home_is_told_what_to_set_and_nothing_is_left_where_they_stand(
    homeless: Driver, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
):
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    done = homeless(*words)

    assert done.code == 2, done
    assert "There is no home folder" in done.err
    assert "export HOME=" in done.err
    assert "Traceback" not in done.out + done.err
    assert made(homeless.folder) == set()


@pytest.mark.parametrize("event", ["session-start", "prompt-submit", "stop", "nonsense"])
def test_a_hook_without_a_home_answers_as_if_nothing_was_known(
    homeless: Driver, monkeypatch: pytest.MonkeyPatch, event: str
):
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    row = {"session_id": "s", "cwd": str(homeless.folder), "prompt": "when do we deploy this?"}
    done = homeless("hook", event, stdin=json.dumps(row).encode())

    assert (done.code, done.json, done.err) == (0, {}, "")
    assert made(homeless.folder) == set()


def test_a_home_of_any_name_is_enough(homeless: Driver, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    homeless.set(HOME=str(homeless.folder / "home"))
    homeless.remember("We deploy on Fridays")

    assert "We deploy on Fridays" in homeless("recall", "when do we deploy?").out


@pytest.mark.parametrize("store", ["{}/x.db", "sqlite:{}/x.db", "files:{}/plain"])
def test_a_store_that_is_named_needs_no_home(homeless: Driver, monkeypatch: pytest.MonkeyPatch, store: str):
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    homeless.set(ENGRAM_STORE=store.format(homeless.folder / "elsewhere"))
    homeless.remember("We deploy on Fridays", "--cite", "src/api.py")

    assert "We deploy on Fridays" in homeless("recall", "when do we deploy?").out
    for words in (
        ("stats",),
        ("doctor",),
        ("list", "--everywhere"),
        ("history",),
        ("context",),
        ("sync", "--apply"),
    ):
        done = homeless(*words)
        assert (done.code, done.err) == (0, ""), (words, done)
    assert all(name.startswith("elsewhere/") for name in made(homeless.folder))
    assert "There is no home folder" in homeless("setup", "claude-code", "--yes").err


def test_what_is_remembered_in_this_process_needs_no_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    with engram.open("ram:", environment={"ENGRAM_EMBEDDER": "none"}, folder=tmp_path) as memory:
        memory.remember("We deploy on Fridays")
        assert [hit.memory.text for hit in memory.recall("when do we deploy?").hits] == ["We deploy on Fridays"]
