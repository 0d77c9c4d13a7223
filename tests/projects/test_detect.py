"""Which project a folder belongs to: by its own word, its remote, or its name; real repositories."""

import json
import subprocess
from pathlib import Path

import pytest

from engram.errors import Conflict
from engram.model.scope import Scope
from engram.projects.detect import project_of, remote_identity
from engram.wiring import open as open_memory

URLS = {
    "https://github.com/acme/api.git": "github.com/acme/api",
    "https://github.com/acme/api": "github.com/acme/api",
    "https://github.com/acme/api/": "github.com/acme/api",
    "https://github.com/acme/api.git/": "github.com/acme/api",
    "https://GitHub.com/acme/api": "github.com/acme/api",
    "https://user@github.com/acme/api.git": "github.com/acme/api",
    "https://user:secret@github.com/acme/api.git": "github.com/acme/api",
    "https://github.com:8443/acme/api.git": "github.com/acme/api",
    "http://git.example.org/group/sub/api.git": "git.example.org/group/sub/api",
    "git@github.com:acme/api.git": "github.com/acme/api",
    "github.com:acme/api": "github.com/acme/api",
    "git@git.example.org:/srv/git/api.git": "git.example.org/srv/git/api",
    "ssh://git@github.com/acme/api.git": "github.com/acme/api",
    "ssh://git@github.com:22/acme/api.git": "github.com/acme/api",
    "git://git.example.org/api.git": "git.example.org/api",
    "  git@github.com:acme/api.git\n": "github.com/acme/api",
    "/srv/git/api.git": "",
    "../api.git": "",
    "./odd:name": "",
    "file:///srv/git/api.git": "",
    "C:/Users/me/api": "",
    "https://github.com/": "",
    "": "",
}


@pytest.mark.parametrize(("url", "identity"), URLS.items())
def test_a_remote_address_tells_host_owner_and_repository(url: str, identity: str):
    assert remote_identity(url) == identity


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=Kim", "-c", "user.email=kim@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def repository(folder: Path, remote: str = "", name: str = "origin") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    if remote:
        git(folder, "remote", "add", name, remote)
    return folder


def test_a_repository_with_a_remote_is_known_by_it(home: Path):
    api = repository(home / "work" / "checkout", "git@github.com:acme/api.git")
    (api / "src" / "deep").mkdir(parents=True)

    assert project_of(api, home) == "github.com/acme/api"
    assert project_of(api / "src" / "deep", home) == "github.com/acme/api"


def test_two_repositories_of_one_name_are_two_projects(home: Path):
    ours = repository(home / "a" / "api", "git@github.com:acme/api.git")
    theirs = repository(home / "b" / "api", "git@github.com:rival/api.git")

    assert project_of(ours, home) != project_of(theirs, home)


def test_a_repository_without_a_remote_is_known_by_its_folder(home: Path):
    assert project_of(repository(home / "notes"), home) == "notes"


def test_a_remote_on_this_machine_tells_nothing(home: Path):
    assert project_of(repository(home / "notes", "/srv/git/other.git"), home) == "notes"


def test_the_only_remote_counts_whatever_it_is_called(home: Path):
    assert (
        project_of(repository(home / "x", "git@github.com:acme/api.git", "upstream"), home) == "github.com/acme/api"
    )


def test_origin_goes_before_other_remotes(home: Path):
    api = repository(home / "x", "git@github.com:rival/fork.git", "fork")
    git(api, "remote", "add", "origin", "git@github.com:acme/api.git")

    assert project_of(api, home) == "github.com/acme/api"


def test_of_several_remotes_without_origin_none_is_guessed(home: Path):
    api = repository(home / "x", "git@github.com:acme/api.git", "one")
    git(api, "remote", "add", "two", "git@github.com:rival/api.git")

    assert project_of(api, home) == "x"


def test_the_address_to_fetch_from_counts_not_the_one_to_push_to(home: Path):
    api = repository(home / "x", "git@github.com:acme/api.git")
    git(api, "remote", "set-url", "--push", "origin", "git@github.com:kim/api.git")

    assert project_of(api, home) == "github.com/acme/api"


def test_a_linked_worktree_is_the_same_project(home: Path):
    api = repository(home / "api", "git@github.com:acme/api.git")
    git(api, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(api, "worktree", "add", "-q", str(home / "elsewhere" / "feature"), "-b", "feature")

    assert (home / "elsewhere" / "feature" / ".git").is_file()
    assert project_of(home / "elsewhere" / "feature", home) == "github.com/acme/api"


def test_a_linked_worktree_without_a_remote_is_the_same_project(home: Path):
    api = repository(home / "api")
    git(api, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(api, "worktree", "add", "-q", str(home / "feature"), "-b", "feature")

    assert project_of(home / "feature", home) == project_of(api, home) == "api"


def test_a_submodule_is_a_project_of_its_own(home: Path):
    inner = repository(home / "inner")
    git(inner, "commit", "-q", "--allow-empty", "-m", "Begin")
    outer = repository(home / "outer", "git@github.com:acme/outer.git")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "lib")
    git(outer / "lib", "remote", "set-url", "origin", "git@github.com:acme/lib.git")

    assert project_of(outer / "lib", home) == "github.com/acme/lib"
    assert project_of(outer, home) == "github.com/acme/outer"


def test_outside_a_repository_there_is_no_project(home: Path):
    (home / "letters").mkdir()

    assert project_of(home / "letters", home) == ""


def test_the_home_folder_and_the_root_are_never_a_project(home: Path):
    repository(home, "git@github.com:kim/dotfiles.git")
    (home / "letters").mkdir()

    assert project_of(home, home) == ""
    assert project_of(home / "letters", home) == ""
    assert project_of(Path("/"), home) == ""


def test_a_repository_above_the_home_folder_does_not_reach_into_it(home: Path):
    repository(home.parent, "git@github.com:acme/machine.git")
    (home / "letters").mkdir()

    assert project_of(home / "letters", home) == ""


def test_a_linked_home_folder_is_never_a_project(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    repository(home, "git@github.com:kim/dotfiles.git")
    (tmp_path / "link").symlink_to(home)
    monkeypatch.chdir(tmp_path / "link")

    with open_memory("ram:", environment={"HOME": str(tmp_path / "link")}) as memory:
        assert str(memory.home) == "global"


def test_a_home_folder_with_a_slash_at_its_end_is_never_a_project(home: Path):
    repository(home, "git@github.com:kim/dotfiles.git")

    assert project_of(str(home), f"{home}/") == ""


def say(folder: Path, text: str) -> None:
    (folder / ".engram").mkdir(parents=True)
    (folder / ".engram" / "config.json").write_text(text, encoding="utf-8")


def test_a_projects_own_word_goes_before_its_remote(home: Path):
    api = repository(home / "api", "git@github.com:acme/api.git")
    say(api, json.dumps({"project": " acme-api "}))

    assert project_of(api, home) == "acme-api"


def test_a_projects_own_word_needs_no_repository(home: Path):
    say(home / "book", json.dumps({"project": "book"}))
    (home / "book" / "chapter").mkdir()

    assert project_of(home / "book" / "chapter", home) == "book"


def test_the_nearest_word_counts(home: Path):
    mono = repository(home / "mono", "git@github.com:acme/mono.git")
    say(mono / "web", json.dumps({"project": "web"}))

    assert project_of(mono / "web", home) == "web"
    assert project_of(mono, home) == "github.com/acme/mono"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"project": ""}', '{"project": "  "}', '{"project": 3}', "1"]
)
def test_a_word_that_cannot_be_understood_is_a_conflict(home: Path, text: str):
    say(home / "book", text)

    with pytest.raises(Conflict, match="does not name a project") as refused:
        project_of(home / "book", home)
    assert str(home / "book" / ".engram" / "config.json") in refused.value.message
    assert "remove it" in refused.value.hint


@pytest.mark.parametrize("name", ["a@b", "two words", "日本", "x:y"])
def test_a_project_can_be_the_name_of_a_scope(home: Path, name: str):
    say(home / "book", json.dumps({"project": name}))
    scope = Scope("project", project_of(home / "book", home))

    assert Scope.parse(str(scope)) == scope


def test_a_project_cannot_claim_to_be_another_repository(home: Path):
    say(home / "book", json.dumps({"project": "github.com/acme/secret"}))
    with pytest.raises(Conflict, match="not this repository"):
        project_of(home / "book", home)


@pytest.mark.parametrize("name", ["日" * 100, "a\x1bb"])
def test_any_folder_name_can_be_the_name_of_a_scope(home: Path, name: str):
    say(home / "book", json.dumps({"project": name}))

    Scope("project", project_of(home / "book", home))


def test_a_repository_whose_configuration_is_unreadable_goes_by_its_folder(home: Path):
    (home / "odd").mkdir()
    (home / "odd" / ".git").write_text("gitdir: /nowhere/at/all\n")

    assert project_of(home / "odd", home) == "odd"


@pytest.mark.parametrize(
    "config",
    [
        '[remote "origin"]\n\turl=git@github.com:acme/api.git\n',
        '[remote "origin"]\n\turl = git@github.com:acme/api.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
        '[core]\n\tbare = false\n[url "x"]\n\tinsteadOf = y\n[remote "origin"]\nurl  =  github.com:acme/api.git\n',
    ],
)
def test_the_configuration_is_read_in_its_common_forms(home: Path, config: str):
    (home / "api" / ".git").mkdir(parents=True)
    (home / "api" / ".git" / "config").write_text(config)

    assert project_of(home / "api", home) == "github.com/acme/api"
