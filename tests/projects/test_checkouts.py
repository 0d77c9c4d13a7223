"""What git's own files tell of a working tree: remotes, branches and commits of real repositories."""

from pathlib import Path

import pytest

from engram.projects.checkouts import Whereabouts, branch_of, remote_identity
from projects.folders import git, repository

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


def test_the_branch_and_commit_are_those_git_tells(home: Path):
    api = repository(home / "api")
    git(api, "checkout", "-q", "-b", "feature/deep-one")
    assert branch_of(api) == ("feature/deep-one", "")

    git(api, "commit", "-q", "--allow-empty", "-m", "Begin")
    (api / "src").mkdir()
    assert branch_of(api / "src") == ("feature/deep-one", git(api, "rev-parse", "HEAD"))


def test_packed_references_are_read(home: Path):
    api = repository(home / "api")
    git(api, "checkout", "-q", "-b", "main")
    git(api, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(api, "tag", "-a", "v1", "-m", "One")
    git(api, "pack-refs", "--all")
    assert not (api / ".git" / "refs" / "heads" / "main").exists()

    assert branch_of(api) == ("main", git(api, "rev-parse", "HEAD"))


def test_a_linked_worktree_stands_on_its_own_branch(home: Path):
    api = repository(home / "api")
    git(api, "checkout", "-q", "-b", "main")
    git(api, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(api, "worktree", "add", "-q", str(home / "tree"), "-b", "feature")
    git(home / "tree", "commit", "-q", "--allow-empty", "-m", "More")

    assert branch_of(home / "tree") == ("feature", git(home / "tree", "rev-parse", "HEAD"))
    assert branch_of(api) == ("main", git(api, "rev-parse", "HEAD"))


def test_a_submodule_stands_on_its_own_commit(home: Path):
    inner = repository(home / "inner")
    git(inner, "commit", "-q", "--allow-empty", "-m", "Begin")
    outer = repository(home / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "lib")

    assert branch_of(outer / "lib")[1] == git(inner, "rev-parse", "HEAD")


def test_a_detached_head_has_a_commit_and_no_branch(home: Path):
    api = repository(home / "api")
    git(api, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(api, "checkout", "-q", "--detach")

    assert branch_of(api) == ("", git(api, "rev-parse", "HEAD"))


@pytest.mark.parametrize(
    "head",
    ["", "nonsense", "ref: refs/heads/.invalid", "ref: ../../secret", "ref: refs/../../secret", "ref: x", "ref:"],
)
def test_a_head_that_tells_nothing_gives_nothing(home: Path, head: str):
    (home / "secret").write_text("a" * 40)
    (home / "api" / ".git").mkdir(parents=True)
    (home / "api" / ".git" / "HEAD").write_text(head)

    assert branch_of(home / "api") == ("", "")


def test_outside_a_repository_there_is_no_branch(home: Path):
    assert branch_of(home) == ("", "")
    assert branch_of("/") == ("", "")


@pytest.mark.parametrize("where", ["", ".."], ids=["itself", "above"])
def test_a_folder_that_becomes_part_of_a_repository_is_seen_at_the_next_look(home: Path, where: str):
    folder = home / "notes" / "daily"
    folder.mkdir(parents=True)
    around = Whereabouts(str(folder), "main")
    assert [around.view(), around.view()] == ["", ""]

    git(folder / where, "init", "--quiet", "--initial-branch", "feature")

    assert around.view().endswith("feature")


def test_a_link_that_leads_into_a_repository_from_now_on_is_followed(home: Path):
    (home / "plain").mkdir()
    repository(home / "tree")
    git(home / "tree", "switch", "--quiet", "--create", "feature")
    link = home / "here"
    link.symlink_to(home / "plain")
    around = Whereabouts(str(link), "main")
    assert [around.view(), around.view()] == ["", ""]

    link.unlink()
    link.symlink_to(home / "tree")

    assert around.view().endswith("feature")
