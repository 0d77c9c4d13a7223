"""Bad input: a verdict or a clear error, never an exception, and never a read outside the repository."""

import os
import time
from pathlib import Path

import pytest

import engram
from engram.errors import Invalid, Unavailable
from engram.evidence import git, tree
from engram.evidence.cache import MOST, Cache
from engram.model.evidence import Checkout
from engram.model.memory import Citation
from engram.wiring.clock import now
from evidence.repos import API, Repo, check, checks, fill

HIDDEN = "what lies outside"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    (tmp_path / "outside.txt").write_text(HIDDEN)
    made = Repo(tmp_path / "here")
    made.write("src/api.py", API)
    made.commit()
    return made


OUT = [
    "../outside.txt",
    "src/../../outside.txt",
    "/etc/passwd",
    ".git/config",
    "src/../.git/HEAD",
    "\0",
    "src/.GIT/x",
]


@pytest.mark.parametrize("ref", OUT)
def test_a_path_that_leads_out_is_refused_when_it_is_cited(repo: Repo, ref: str):
    with pytest.raises(Invalid):
        fill(repo.desk(), ref)


@pytest.mark.parametrize("ref", OUT[:-2])
def test_a_path_that_leads_out_is_never_read(repo: Repo, ref: str, monkeypatch: pytest.MonkeyPatch):
    opened: list[str] = []
    real = os.open
    monkeypatch.setattr(os, "open", lambda path, *more: (opened.append(str(path)), real(path, *more))[1])
    found = check(repo.desk(), Citation("file", ref, "1", excerpt=HIDDEN))

    assert found.verdict == "unreachable"
    assert [path for path in opened if "outside" in path or "passwd" in path or ".git" in path] == []


def test_a_link_out_of_the_repository_is_neither_cited_nor_read(repo: Repo):
    (repo.folder / "link.txt").symlink_to("../outside.txt")
    (repo.folder / "folder").symlink_to("..")
    for ref in ("link.txt", "folder/outside.txt"):
        with pytest.raises(Invalid, match="out"):
            fill(repo.desk(), ref)
        found = check(repo.desk(), Citation("file", ref, "1", excerpt=HIDDEN))
        assert (found.verdict, HIDDEN in str(found)) == ("unreachable", False)


def test_a_file_that_becomes_a_link_out_is_not_followed(repo: Repo, tmp_path: Path):
    desk = repo.desk(tmp_path / "cache")
    inner, beside = fill(desk, "src/api.py", "3"), fill(desk, "src/api.py", "4")
    assert [one.verdict for one in checks(desk, [inner, beside])] == ["fresh", "fresh"]
    (repo.folder / "src/api.py").unlink()
    (repo.folder / "src/api.py").symlink_to(tmp_path / "outside.txt")

    assert [one.verdict for one in checks(desk, [inner, beside])] == ["unreachable", "unreachable"]


def test_a_link_within_the_repository_is_what_it_points_at(repo: Repo):
    (repo.folder / "alias.py").symlink_to("src/api.py")
    cited = fill(repo.desk(), "alias.py", "3")

    assert cited.excerpt == "TIMEOUT = 30"
    assert check(repo.desk(), cited).verdict == "fresh"


def test_a_link_to_itself_is_no_file(repo: Repo):
    (repo.folder / "loop").symlink_to("loop")

    with pytest.raises(Invalid):
        fill(repo.desk(), "loop")
    assert check(repo.desk(), Citation("file", "loop", excerpt="x")).verdict in ("gone", "unreachable")


def test_a_submodule_is_another_repository(repo: Repo, tmp_path: Path):
    library = Repo(tmp_path / "library")
    library.write("lib.py", "x = 1\n")
    library.commit()
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.folder), "sub")
    repo.commit()
    with pytest.raises(Invalid, match="another repository"):
        fill(repo.desk(), "sub/lib.py")
    cited = Citation("file", "sub/lib.py", "1", excerpt="x = 1")
    assert check(repo.desk(), cited).verdict == "unreachable"
    repo.git("submodule", "deinit", "-f", "sub")

    found = check(repo.desk(), cited)
    assert (found.verdict, found.why) == ("unreachable", "it belongs to a submodule")


@pytest.mark.parametrize("locator", ["0", "23", "1-99", "5-3", "nothing_like_it", "L999"])
def test_lines_and_symbols_that_are_not_there_are_refused(repo: Repo, locator: str):
    with pytest.raises(Invalid, match=r"src/api\.py"):
        fill(repo.desk(), "src/api.py", locator)


@pytest.mark.parametrize("ref", ["src/missing.py", "src", ""])
def test_what_is_no_file_is_refused(repo: Repo, ref: str):
    with pytest.raises(Invalid):
        fill(repo.desk(), ref)


def test_a_binary_file_is_refused_and_what_became_one_has_drifted(repo: Repo):
    repo.write("image.png", b"\x89PNG\0\0")
    with pytest.raises(Invalid, match="binary"):
        fill(repo.desk(), "image.png")
    cited = fill(repo.desk(), "src/api.py", "3")
    repo.write("src/api.py", b"\0\0")

    assert check(repo.desk(), cited).verdict == "drifted"


def test_a_huge_file_is_refused_and_unreachable(repo: Repo):
    cited = fill(repo.desk(), "src/api.py", "3")
    with (repo.folder / "src/api.py").open("wb") as file:
        file.truncate(tree.LARGEST + 1)

    with pytest.raises(Invalid, match="too large"):
        fill(repo.desk(), "src/api.py", "3")
    assert check(repo.desk(), cited).verdict == "unreachable"


def test_a_pipe_is_not_waited_for(repo: Repo):
    os.mkfifo(repo.folder / "pipe")

    with pytest.raises(Invalid):
        fill(repo.desk(), "pipe")
    assert check(repo.desk(), Citation("file", "pipe", excerpt="x")).verdict == "unreachable"


def test_a_file_that_may_not_be_read_is_unreachable(repo: Repo, monkeypatch: pytest.MonkeyPatch):
    cited = fill(repo.desk(), "src/api.py", "3")

    def refused(path: str, *_: object) -> int:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "open", refused)
    assert check(repo.desk(), cited).verdict == "unreachable"


def test_a_source_that_is_not_utf8_is_cited_and_compared(repo: Repo):
    repo.write("old.c", "/* Größe */\nint groesse;\n".encode("latin-1"))
    cited = fill(repo.desk(), "old.c", "1")
    assert cited.excerpt == "/* Größe */"
    assert check(repo.desk(), cited).verdict == "fresh"
    repo.write("old.c", "/* Größe */\nint groesse2;\n".encode())

    assert check(repo.desk(), cited).verdict == "fresh", "the same words in another encoding"


def test_a_mark_that_no_memory_has_is_left_to_the_hash(repo: Repo):
    repo.write("gnu.c", "int a;\n/* \x0c */\nint b;\n")
    repo.commit()
    cited = fill(repo.desk(), "gnu.c", "1-3")
    assert cited.excerpt == ""
    assert check(repo.desk(), cited).verdict == "fresh"
    repo.write("gnu.c", "int a;\n/* \x0c */\nint c;\n")

    assert check(repo.desk(), cited).verdict == "drifted"


def test_a_repository_without_commits_pins_by_content_alone(tmp_path: Path):
    repo = Repo(tmp_path / "new")
    repo.write("a.py", "a = 1\nb = 2\n")
    cited = fill(repo.desk(), "a.py", "1")
    assert "@" not in cited.pin
    assert check(repo.desk(), cited).verdict == "fresh"
    repo.write("a.py", "b = 2\na = 1\n")
    moved = check(repo.desk(), cited)
    (repo.folder / "a.py").unlink()

    assert (moved.verdict, moved.locator) == ("moved", "2")
    assert check(repo.desk(), cited).verdict == "gone"


@pytest.mark.parametrize("pin", ["v1.2.3", "yesterday", "--help", "HEAD; rm -rf /", "@", "2026-05-01", "zzzz@yyyy"])
def test_a_pin_that_is_no_hash_leaves_the_excerpt_to_decide(repo: Repo, pin: str):
    told = Citation("file", "src/api.py", "3", pin=pin, excerpt="TIMEOUT = 30")
    bare = Citation("file", "src/api.py", "3", pin=pin)
    absent = Citation("file", "src/absent.py", "3", pin=pin)

    assert [one.verdict for one in checks(repo.desk(), [told, bare, absent])] == ["fresh", "unreachable", "gone"]


def test_without_git_on_the_machine_files_are_still_judged(repo: Repo, monkeypatch: pytest.MonkeyPatch):
    head = repo.git("rev-parse", "HEAD")
    repo_file = fill(repo.desk(), "src/api.py", "7-11")
    monkeypatch.setenv("PATH", str(repo.folder))
    again = fill(repo.desk(), "src/api.py", "7-11")
    repo.edit("src/api.py", "import os\n", "import os\nimport re\n")
    commit, bare = Citation("commit", head), Citation("file", "src/api.py", "3", pin=head)
    found = [one.verdict for one in checks(repo.desk(), [repo_file, commit, bare])]
    (repo.folder / "src/api.py").rename(repo.folder / "src/moved.py")

    assert again == repo_file
    assert fill_commit(repo, head) == commit
    assert found == ["moved", "unreachable", "unreachable"]
    assert check(repo.desk(), repo_file).verdict == "gone"
    with pytest.raises(Unavailable, match="git"):
        repo.desk().touched("HEAD")


def test_a_new_name_that_git_could_not_be_asked_for_is_asked_for_again(repo: Repo, tmp_path: Path):
    cited = fill(repo.desk(), "src/api.py", "7-11")
    repo.git("mv", "src/api.py", "src/moved.py")
    with pytest.MonkeyPatch.context() as without:
        without.setenv("PATH", str(repo.folder))
        blind = check(repo.desk(tmp_path / "cache"), cited)

    assert (blind.verdict, blind.why) == ("gone", "the file is not there, and git cannot be asked for a new name")
    assert check(repo.desk(tmp_path / "cache"), cited).verdict == "moved"


def test_a_new_name_is_asked_for_once(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    cited = fill(repo.desk(), "src/api.py", "7-11")
    repo.git("mv", "src/api.py", "src/moved.py")
    first = check(repo.desk(tmp_path / "cache"), cited)
    monkeypatch.setenv("PATH", str(repo.folder))

    assert (first.verdict, first.ref) == ("moved", "src/moved.py")
    assert check(repo.desk(tmp_path / "cache"), cited) == first


def test_a_text_is_found_among_thousands_of_files_of_its_name(repo: Repo):
    for at in range(300):
        repo.write(f"parts/{at}/index.js", f"export const part = {at};\n" * 3)
    repo.write("parts/lib/deep/index.js", "first line of it\nsecond line of it\n" + "rest\n" * 50)
    repo.commit("parts")
    cited = fill(repo.desk(), "parts/lib/deep/index.js", "1-2")
    (repo.folder / "parts/lib/deep/index.js").unlink()
    repo.write("other/lib/deep/index.js", "first line of it\nsecond line of it\n" + "all new\n" * 500)
    repo.git("add", "-A")

    found = check(repo.desk(), cited)

    assert (found.verdict, found.ref) == ("moved", "other/lib/deep/index.js")


def fill_commit(repo: Repo, ref: str) -> Citation:
    return repo.desk().filled(Citation("commit", ref), now())[0]


def test_a_commit_that_is_not_there_is_refused(repo: Repo):
    with pytest.raises(Invalid, match="no commit"):
        fill_commit(repo, "deadbeef")
    with pytest.raises(Invalid, match="no commit"):
        fill_commit(repo, "--all")


@pytest.mark.parametrize("revision", ["nothing-like-it", "--output=/tmp/x", "-p", "HEAD\nHEAD", ""])
def test_a_revision_that_is_none_is_refused(repo: Repo, revision: str):
    with pytest.raises(Invalid, match="no revision"):
        repo.desk().touched(revision)


def test_a_revision_of_a_repository_without_commits_is_refused_for_that(tmp_path: Path):
    with pytest.raises(Invalid, match="no revision 'HEAD'"):
        Repo(tmp_path / "new").desk().touched("HEAD")


def test_a_damaged_repository_is_no_working_tree_or_has_no_history(repo: Repo):
    cited = fill(repo.desk(), "src/api.py", "3")
    (repo.folder / ".git" / "HEAD").write_bytes(b"\xff\xfe nonsense")
    assert check(repo.desk(), cited).verdict == "fresh"
    (repo.folder / ".git" / "HEAD").unlink()

    assert check(repo.desk(), cited).verdict == "unreachable"


def test_what_was_kept_may_be_lost_cut_or_nonsense(repo: Repo, tmp_path: Path):
    desk = repo.desk(tmp_path / "cache")
    cited = fill(desk, "src/api.py", "7-11")
    repo.edit("src/api.py", "import os\n", "import os\nimport re\n")
    assert check(desk, cited).verdict == "moved"
    (kept,) = (tmp_path / "cache" / "evidence").iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    for nonsense in (b"", b"{", b'{"version": 1, "known": 7}', b"\xff", b'{"version": 99, "known": {}}'):
        kept.write_bytes(nonsense)
        assert check(repo.desk(tmp_path / "cache"), cited).verdict == "moved"
    kept.unlink()
    kept.mkdir()

    assert check(repo.desk(tmp_path / "cache"), cited).verdict == "moved"


def test_what_is_kept_stays_bounded(tmp_path: Path):
    cache = Cache(str(tmp_path / "kept.json"))
    for at in range(MOST + 10):
        cache.put(str(at), at)
    cache.save()
    again = Cache(str(tmp_path / "kept.json")).known

    assert len(again) <= MOST
    assert again[str(MOST + 9)] == MOST + 9


def test_outside_git_citations_stay_as_they_were_said(tmp_path: Path):
    with engram.open("ram:", folder=tmp_path, environment={"HOME": str(tmp_path)}) as memory:
        said = memory.remember("It is so", kind="finding", cite=["src/api.py:10-20"])
        (found,) = memory.get(said.memory.id).evidence[0]

    assert (said.memory.citations[0].pin, said.memory.citations[0].locator) == ("", "10-20")
    assert found.verdict == "unreachable"


@pytest.mark.parametrize("locator", ["9" * 60, "1-", "-1", "L", "a b", "(", "x" * 128, "\u0661-\u0662"])
def test_any_locator_gets_a_verdict(repo: Repo, locator: str):
    assert check(repo.desk(), Citation("file", "src/api.py", locator, excerpt="TIMEOUT = 30")).verdict
    assert check(repo.desk(), Citation("file", "src/api.py", locator)).verdict == "unreachable"


def test_a_git_that_never_answers_is_not_waited_for(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nexec sleep 600\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(program.parent), prepend=os.pathsep)
    monkeypatch.setattr(git, "PATIENCE", 0.2)
    asked, begun = git.Git(Checkout(str(tmp_path), str(tmp_path), str(tmp_path), "")), time.monotonic()

    assert asked.objects(["HEAD", "main"]) == {}
    assert asked.tracked() is None
    assert time.monotonic() - begun < 60
