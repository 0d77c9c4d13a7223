"""Which project a folder belongs to: by its own word, its remote, or its name; real repositories."""

import json
import os
import time
from pathlib import Path

import pytest

from engram.errors import Conflict
from engram.model.scope import Scope
from engram.projects import detect
from engram.projects.checkouts import branch_of, place_of
from engram.projects.detect import project_of, repository_of, root_of
from engram.projects.names import Names
from engram.wiring import open as open_memory
from projects.folders import git, repository


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


def test_a_submodule_without_a_remote_of_its_own_goes_by_its_name(home: Path):
    inner = repository(home / "inner")
    git(inner, "commit", "-q", "--allow-empty", "-m", "Begin")
    outer = repository(home / "outer")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "lib")

    assert project_of(outer / "lib", home) == "lib"


@pytest.mark.parametrize(("bare", "name"), [("api.git", "api"), ("api/.bare", "api")])
def test_worktrees_of_a_bare_repository_are_one_project(home: Path, bare: str, name: str):
    seed = repository(home / "seed")
    git(seed, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(home, "clone", "-q", "--bare", str(seed), bare)
    git(home / bare, "worktree", "add", "-q", str(home / "trees" / "one"), "-b", "one")
    git(home / bare, "worktree", "add", "-q", str(home / "trees" / "two"), "-b", "two")

    assert project_of(home / "trees" / "one", home) == project_of(home / "trees" / "two", home) == name


def test_a_fork_is_a_project_of_its_own(home: Path):
    api = repository(home / "api", "git@github.com:acme/api.git")
    git(api, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(home, "clone", "-q", str(api), "fork")
    git(home / "fork", "remote", "set-url", "origin", "git@github.com:kim/api.git")

    assert project_of(home / "fork", home) == "github.com/kim/api"


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
    (folder / ".engram").mkdir(parents=True, exist_ok=True)
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


@pytest.mark.parametrize(("name", "called"), [("日" * 100, "日" * 66), ("a\x1bb", "a-b")], ids=["long", "control"])
def test_any_name_can_be_made_the_name_of_a_scope(home: Path, name: str, called: str):
    say(home / "book", json.dumps({"project": name}))

    assert Scope("project", project_of(home / "book", home)).name == called


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


# --- a single child repository ---


def test_a_folder_with_one_repository_in_it_is_that_project(home: Path):
    repository(home / "work" / "api", "git@github.com:acme/api.git")
    (home / "work" / "notes").mkdir()
    (home / "work" / "README.md").write_text("Where I work")

    assert project_of(home / "work", home) == "github.com/acme/api"
    assert project_of(home / "work" / "notes", home) == ""


def test_a_child_says_its_own_word(home: Path):
    say(repository(home / "work" / "api", "git@github.com:acme/api.git"), json.dumps({"project": "acme-api"}))

    assert project_of(home / "work", home) == "acme-api"


def test_two_repositories_in_a_folder_are_a_conflict_that_lists_them(home: Path):
    repository(home / "work" / "api", "git@github.com:acme/api.git")
    repository(home / "work" / "web")

    with pytest.raises(Conflict) as refused:
        project_of(home / "work", home)
    assert refused.value.message == f"{home}/work holds several projects: github.com/acme/api, web."
    for way in ("ENGRAM_PROJECT=github.com/acme/api", "--scope=project:github.com/acme/api", "engram init NAME"):
        assert way in refused.value.hint


def test_in_a_folder_of_several_projects_the_first_way_named_is_the_scope_of_what_holds_everywhere(home: Path):
    repository(home / "work" / "api")
    repository(home / "work" / "web")

    with pytest.raises(Conflict, match="several projects") as refused:
        project_of(home / "work", home)
    assert refused.value.hint.startswith("Say where it holds: --scope=global for what holds everywhere")


def test_of_very_many_repositories_some_are_named(home: Path):
    for number in range(13):
        (home / "work" / f"r{number:02d}" / ".git").mkdir(parents=True)

    with pytest.raises(Conflict, match=r"r00, .*, r09, and 3 more\."):
        project_of(home / "work", home)


def test_worktrees_side_by_side_are_one_project(home: Path):
    api = repository(home / "work" / "api")
    git(api, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(api, "worktree", "add", "-q", str(home / "work" / "api-feature"), "-b", "feature")

    assert project_of(home / "work", home) == "api"


@pytest.mark.parametrize(
    "name", [".cache", "node_modules", "vendor", ".venv", "__pycache__", "target", "dist", "build"]
)
def test_repositories_that_are_not_ones_own_do_not_count(home: Path, name: str):
    repository(home / "work" / "api")
    repository(home / "work" / name)

    assert project_of(home / "work", home) == "api"


def test_only_direct_children_count_and_no_links(home: Path):
    repository(home / "work" / "deep" / "api")
    repository(home / "elsewhere")
    (home / "work" / "link").symlink_to(home / "elsewhere")

    assert project_of(home / "work", home) == ""


def test_a_look_that_was_cut_short_decides_nothing(home: Path, monkeypatch: pytest.MonkeyPatch):
    repository(home / "work" / "api")
    for number in range(20):
        (home / "work" / f"f{number}").mkdir()
    assert project_of(home / "work", home) == "api"

    monkeypatch.setattr(detect, "MOST_ENTRIES", 5)
    assert project_of(home / "work", home) == ""
    monkeypatch.setattr(detect, "MOST_ENTRIES", 5000)
    monkeypatch.setattr(detect, "LONGEST_LOOK", -1)
    assert project_of(home / "work", home) == ""


def test_a_full_folder_is_looked_at_within_its_time(home: Path):
    full = home / "work"
    full.mkdir()
    for number in range(4000):
        (full / f"f{number}").touch()
    began = time.perf_counter()

    assert project_of(full, home) == ""
    assert time.perf_counter() - began < 5 * detect.LONGEST_LOOK


# --- a folder's name ---


@pytest.mark.parametrize(
    "marker", ["pyproject.toml", "package.json", "Cargo.toml", "go.mod", "Makefile", "README.md"]
)
def test_a_folder_somebody_made_a_project_goes_by_its_name(home: Path, marker: str):
    (home / "work" / "api" / "src").mkdir(parents=True)
    (home / "work" / "api" / marker).touch()

    assert project_of(home / "work" / "api", home) == "api"
    assert project_of(home / "work" / "api" / "src", home) == "api"
    assert project_of(home / "work", home) == ""


def test_a_folder_that_holds_repositories_gives_its_name_to_nothing_in_it(home: Path):
    for name in ("api", "web"):
        repository(home / "work" / name)
    (home / "work" / "README.md").touch()
    (home / "work" / "notes").mkdir()

    assert project_of(home / "work" / "notes", home) == ""


@pytest.mark.parametrize(
    "folder", ["Downloads", "Desktop", "Documents", ".config/tool", "api/node_modules/left-pad", "api/vendor/lib"]
)
def test_nobodys_folder_is_no_project_by_its_name(home: Path, folder: str):
    (home / folder).mkdir(parents=True)
    (home / folder / "README.md").touch()
    (home / folder / "package.json").touch()

    assert project_of(home / folder, home) == ""


def test_what_came_with_a_project_belongs_to_it(home: Path):
    (home / "api" / "node_modules" / "left-pad").mkdir(parents=True)
    for folder in (home / "api", home / "api" / "node_modules" / "left-pad"):
        (folder / "package.json").touch()

    assert project_of(home / "api" / "node_modules" / "left-pad", home) == "api"


def test_repositories_among_ones_documents_make_no_project_of_them(home: Path):
    for name in ("api", "web"):
        repository(home / "Documents" / name)

    assert project_of(home / "Documents", home) == ""
    assert project_of(home / "Documents" / "api", home) == "api"


def test_a_file_in_the_home_folder_makes_no_project_of_what_is_below(home: Path):
    (home / "Makefile").touch()
    (home / "letters").mkdir()

    assert project_of(home, home) == ""
    assert project_of(home / "letters", home) == ""


def test_the_folder_for_temporary_files_is_never_a_project(home: Path, monkeypatch: pytest.MonkeyPatch):
    temporary = repository(home.parent / "temporary", "git@github.com:acme/stray.git")
    (temporary / "job").mkdir()
    assert project_of(temporary / "job", home) == "github.com/acme/stray"

    monkeypatch.setenv("TMPDIR", str(temporary))
    assert project_of(temporary, home) == ""
    assert project_of(temporary / "job", home) == ""
    assert project_of("/tmp", home) == ""  # noqa: S108 - the very folder
    assert project_of("/usr", home) == ""


# --- its own word ---


def test_the_key_of_other_tools_is_read_and_ours_goes_before_it(home: Path):
    say(home / "book", json.dumps({"project_name": "theirs"}))
    assert project_of(home / "book", home) == "theirs"

    say(home / "book", json.dumps({"project_name": "theirs", "project": "ours"}))
    assert project_of(home / "book", home) == "ours"

    say(home / "book", json.dumps({"project_name": "theirs", "project": ""}))
    with pytest.raises(Conflict, match="does not name a project"):
        project_of(home / "book", home)


def test_a_word_with_a_byte_order_mark_is_read(home: Path):
    say(home / "book", "\ufeff" + json.dumps({"project": "book"}))

    assert project_of(home / "book", home) == "book"


@pytest.mark.parametrize("kind", ["folder", "pipe", "dangling link", "not UTF-8", "too deep", "too large"])
def test_a_word_that_is_no_plain_file_of_text_is_a_conflict(home: Path, kind: str):
    api = repository(home / "api", "git@github.com:acme/api.git")
    path = api / ".engram" / "config.json"
    path.parent.mkdir()
    {
        "folder": path.mkdir,
        "pipe": lambda: os.mkfifo(path),
        "dangling link": lambda: path.symlink_to("nowhere"),
        "not UTF-8": lambda: path.write_bytes(b'{"project": "\xff"}'),
        "too deep": lambda: path.write_text("[" * 50_000),
        "too large": lambda: path.write_text(json.dumps({"project": "api", "more": "x" * 70_000})),
    }[kind]()

    with pytest.raises(Conflict, match="does not name a project") as refused:
        project_of(api, home)
    assert "ENGRAM_PROJECT=NAME" in refused.value.hint
    assert "--scope=project:NAME" in refused.value.hint


def test_a_repository_may_say_what_its_remote_says(home: Path):
    api = repository(home / "api", "git@github.com:acme/api.git")
    say(api, json.dumps({"project": "github.com/acme/api"}))

    assert project_of(api, home) == "github.com/acme/api"


def test_a_mark_of_git_that_is_a_pipe_is_not_waited_for(home: Path):
    (home / "odd").mkdir()
    os.mkfifo(home / "odd" / ".git")

    assert project_of(home / "odd", home) == "odd"
    assert branch_of(home / "odd") == ("", "")


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_packed_references_that_are_no_plain_file_are_not_read(home: Path, kind: str):
    api = repository(home / "api")
    packed = api / ".git" / "packed-refs"
    packed.unlink(missing_ok=True)
    os.mkfifo(packed) if kind == "pipe" else packed.symlink_to("/dev/zero")
    (api / ".git" / "HEAD").write_text("ref: refs/heads/elsewhere\n")

    assert branch_of(api) == ("elsewhere", "")


def test_the_root_of_a_folder_is_where_its_word_or_repository_stands(home: Path):
    mono = repository(home / "mono")
    (mono / "src").mkdir()
    say(mono / "web" / "x", json.dumps({"project": "web"}))
    (home / "letters").mkdir()

    assert root_of(mono / "src", home) == str(mono)
    assert root_of(mono / "web" / "x", home) == str(mono / "web" / "x")
    assert root_of(home / "letters", home) == str(home / "letters")
    for never in (home, "/", "/tmp"):  # noqa: S108 - the very folder
        with pytest.raises(Conflict, match="never a project"):
            root_of(never, home)


def test_what_is_exchanged_lies_in_the_repository_that_gives_a_folder_its_project(home: Path):
    api = repository(home / "work" / "api")
    (api / "src").mkdir()
    repository(home / "both" / "one")
    repository(home / "both" / "two")
    repository(home / "Documents" / "letters")  # as in every home: its one repository gives it no project

    assert repository_of(home / "work", home) == repository_of(api / "src", home) == str(api)
    for plain in (home / "both", home / "Documents"):
        assert repository_of(plain, home) == str(plain)


# --- names that another place has ---


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "data"


def knowing(data: Path, *names: str) -> Names:
    """The notes of a machine whose store has memories of these projects."""
    return Names(str(data), lambda name: name in names)


def test_a_new_word_counts_at_once_and_still_when_there_are_memories_of_it(home: Path, data: Path):
    say(home / "book", json.dumps({"project": "novel"}))
    assert project_of(home / "book", home, knowing(data)) == "novel"
    assert (data / "projects.json").stat().st_mode & 0o777 == 0o600

    assert project_of(home / "book", home, knowing(data, "novel")) == "novel"


def test_a_folder_keeps_its_word_when_it_becomes_a_repository(home: Path, data: Path):
    say(home / "book", json.dumps({"project": "novel"}))
    assert project_of(home / "book", home, knowing(data)) == "novel"
    repository(home / "book")

    assert project_of(home / "book", home, knowing(data, "novel")) == "novel"
    git(home / "book", "remote", "add", "origin", "git@github.com:rival/tool.git")
    with pytest.raises(Conflict, match="says that this is novel"):  # now it may be anybody's
        project_of(home / "book", home, knowing(data, "novel"))


def test_a_folder_whose_path_is_no_text_goes_by_its_word(home: Path, data: Path):
    folder = Path(os.fsdecode(os.fsencode(home) + b"/\xff"))
    try:
        folder.mkdir(parents=True)
    except OSError:
        pytest.skip("this file system has no such names")
    say(folder, json.dumps({"project": "novel"}))

    for _ in range(2):
        assert project_of(folder, home, knowing(data, *(["novel"] * data.exists()))) == "novel"
    assert json.loads((data / "projects.json").read_text()) == {"novel": [str(folder)]}


def test_a_word_never_takes_the_name_of_a_project_that_is_known_already(home: Path, data: Path):
    evil = repository(home / "evil", "git@github.com:rival/tool.git")
    say(evil, json.dumps({"project": "secret"}))

    for names in (knowing(data, "secret"), knowing(data, "secret")):
        with pytest.raises(Conflict, match="says that this is secret, which is a project that you have") as refused:
            project_of(evil, home, names)
    for way in ("engram init secret", "engram init OTHER --force", "ENGRAM_PROJECT=OTHER"):
        assert way in refused.value.hint
    knowing(data).accept("secret", place_of(str(evil)))
    assert project_of(evil, home, knowing(data, "secret")) == "secret"


def test_a_word_never_takes_the_name_that_another_place_was_given(home: Path, data: Path):
    for name in ("one", "two"):
        say(home / name, json.dumps({"project": "shared"}))
    assert project_of(home / "one", home, knowing(data)) == "shared"

    with pytest.raises(Conflict, match=f"which is what {home}/one is called"):
        project_of(home / "two", home, knowing(data))


def test_a_folder_whose_name_a_word_took_before_it_is_told_so(home: Path, data: Path):
    say(home / "evil", json.dumps({"project": "secret"}))
    assert project_of(home / "evil", home, knowing(data)) == "secret"

    with pytest.raises(Conflict, match=f"which is what {home}/evil is called"):
        project_of(repository(home / "secret"), home, knowing(data))


def test_every_clone_and_worktree_of_a_repository_goes_by_its_word(home: Path, data: Path):
    for folder in ("one", "two"):
        clone = repository(home / folder, "git@github.com:acme/api.git")
        say(clone, json.dumps({"project": "acme"}))
        assert project_of(clone, home, knowing(data, *(["acme"] if folder == "two" else []))) == "acme"
    local = repository(home / "local")
    git(local, "commit", "-q", "--allow-empty", "-m", "Begin")
    git(local, "worktree", "add", "-q", str(home / "tree"), "-b", "tree")
    for folder in (local, home / "tree"):
        say(folder, json.dumps({"project": "mine"}))
        assert project_of(folder, home, knowing(data)) == "mine"


@pytest.mark.parametrize("remote", ["", "git@github.com:acme/book.git"])
def test_what_git_or_the_folder_tells_needs_no_note(home: Path, data: Path, remote: str):
    book = repository(home / "book", remote)
    told = project_of(book, home)
    assert project_of(book, home, knowing(data, told)) == told

    say(book, json.dumps({"project": told}))
    assert project_of(book, home, knowing(data, told)) == told
    assert not data.exists()


def test_a_single_child_that_takes_a_known_name_is_refused_too(home: Path, data: Path):
    say(repository(home / "work" / "evil"), json.dumps({"project": "secret"}))

    with pytest.raises(Conflict, match="says that this is secret"):
        project_of(home / "work", home, knowing(data, "secret"))


def test_listing_several_children_gives_none_of_them_a_name(home: Path, data: Path):
    for name in ("one", "two"):
        say(repository(home / "work" / name), json.dumps({"project": f"word-{name}"}))

    with pytest.raises(Conflict, match="several projects: word-one, word-two"):
        project_of(home / "work", home, knowing(data))
    assert not data.exists()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"novel": 3}', '{"novel": null}', "[" * 50_000])
def test_notes_that_cannot_be_understood_give_nothing_away(home: Path, data: Path, text: str):
    say(home / "book", json.dumps({"project": "novel"}))
    data.mkdir()
    (data / "projects.json").write_text(text)

    with pytest.raises(Conflict, match="says that this is novel"):
        project_of(home / "book", home, knowing(data, "novel"))
    assert project_of(home / "book", home, knowing(data)) == "novel"


def test_where_no_store_can_be_asked_nothing_is_noted(home: Path, data: Path):
    say(home / "book", json.dumps({"project": "novel"}))

    assert project_of(home / "book", home, Names(str(data))) == "novel"
    assert not data.exists()
