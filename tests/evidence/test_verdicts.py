"""Every verdict, on real repositories: what a citation is after its file was changed, moved or merged."""

from collections.abc import Callable
from pathlib import Path

import pytest

from engram.model.evidence import Check
from engram.model.memory import Citation
from evidence.repos import API, Repo, check, checks, fill

HANDLER = "src/api.py:7-11"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "here")
    made.write("src/api.py", API)
    made.write("src/other.py", "import api\n\nx = api.handler\n")
    made.commit()
    return made


def nothing(repo: Repo) -> None:
    repo.write("src/other.py", "y = 1\n")


def lines_above(repo: Repo) -> None:
    repo.edit("src/api.py", "import os\n", "import os\nimport re\n\nA = 1\n")


def other_line_ends(repo: Repo) -> None:
    repo.write("src/api.py", API.replace("\n", "\r\n"))


def spaces_at_the_end(repo: Repo) -> None:
    repo.edit("src/api.py", "    if request.bad:\n", "    if request.bad:   \n")


def one_line_of_five(repo: Repo) -> None:
    repo.edit("src/api.py", "timeout=TIMEOUT", "timeout=2 * TIMEOUT")


def a_line_between(repo: Repo) -> None:
    repo.edit("src/api.py", "    if request.bad:\n", "    log(request)\n    if request.bad:\n")


def removed(repo: Repo) -> None:
    start = API.index("def handler")
    repo.write("src/api.py", API[:start] + API[API.index("class Server") :])


def deleted(repo: Repo) -> None:
    (repo.folder / "src/api.py").unlink()


def deleted_and_committed(repo: Repo) -> None:
    deleted(repo)
    repo.commit()


def renamed(repo: Repo) -> None:
    repo.git("mv", "src/api.py", "src/server.py")


def renamed_and_committed(repo: Repo) -> None:
    renamed(repo)
    repo.commit()


def renamed_with_lines_above(repo: Repo) -> None:
    renamed(repo)
    repo.edit("src/server.py", "import os\n", "import os\nimport re\n")
    repo.commit()


def renamed_and_changed(repo: Repo) -> None:
    renamed(repo)
    repo.edit("src/server.py", "timeout=TIMEOUT", "timeout=9")
    repo.commit()


def renamed_twice(repo: Repo) -> None:
    renamed_and_committed(repo)
    repo.git("mv", "src/server.py", "web.py")
    repo.commit()


def rebased(repo: Repo) -> None:
    """The commit that was pinned is of a branch that is rebased, so it is part of no history any more."""
    repo.git("switch", "-qc", "feature", "HEAD")
    repo.write("feature.py", "f = 1\n")
    repo.commit("feature")
    repo.git("switch", "-q", "main")
    repo.write("main.py", "m = 1\n")
    repo.commit("main goes on")
    repo.git("switch", "-q", "feature")
    repo.git("rebase", "-q", "main")


def history_rewritten(repo: Repo) -> None:
    repo.git("checkout", "-q", "--orphan", "fresh")
    repo.commit("all anew")
    repo.git("branch", "-qD", "main")
    repo.git("branch", "-qm", "main")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")


def rewritten_and_renamed(repo: Repo) -> None:
    renamed(repo)
    history_rewritten(repo)


CASES: dict[str, tuple[Callable[[Repo], None], str, float, str]] = {
    "another file changed": (nothing, "fresh", 0.0, ""),
    "line ends": (other_line_ends, "fresh", 0.0, ""),
    "spaces at the end": (spaces_at_the_end, "fresh", 0.0, ""),
    "lines above it": (lines_above, "moved", 0.0, "src/api.py:10-14"),
    "one line of five": (one_line_of_five, "drifted", 0.2, "src/api.py:7-11"),
    "a line between": (a_line_between, "drifted", 0.0, "src/api.py:7-12"),
    "the function removed": (removed, "gone", 0.0, ""),
    "deleted": (deleted, "gone", 0.0, ""),
    "deleted and committed": (deleted_and_committed, "gone", 0.0, ""),
    "renamed": (renamed, "moved", 0.0, "src/server.py:7-11"),
    "renamed and committed": (renamed_and_committed, "moved", 0.0, "src/server.py:7-11"),
    "renamed, with lines above": (renamed_with_lines_above, "moved", 0.0, "src/server.py:8-12"),
    "renamed and changed": (renamed_and_changed, "drifted", 0.2, "src/server.py:7-11"),
    "renamed twice": (renamed_twice, "moved", 0.0, "web.py:7-11"),
    "rebased": (rebased, "fresh", 0.0, ""),
    "history rewritten": (history_rewritten, "fresh", 0.0, ""),
    "history rewritten, file renamed": (rewritten_and_renamed, "moved", 0.0, "src/server.py:7-11"),
}


def place(found: Check) -> str:
    return f"{found.ref}:{found.locator}" if found.ref else ""


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_span_of_lines_after(repo: Repo, tmp_path: Path, case: tuple[Callable[[Repo], None], str, float, str]):
    change, verdict, changed, now_at = case
    desk = repo.desk(tmp_path / "cache")
    cited = fill(desk, "src/api.py", "7-11")
    assert check(desk, cited).verdict == "fresh"
    change(repo)
    found = check(desk, cited)

    assert (found.verdict, found.changed, place(found)) == (verdict, changed, now_at)
    assert found.cite == HANDLER
    assert check(desk, cited) == found, "from what was kept"
    assert check(repo.desk(tmp_path / "cache"), cited) == found, "from what another process kept"
    assert check(repo.desk(), cited) == found, "from nothing"


@pytest.mark.parametrize(
    ("change", "verdict"),
    [(lines_above, "fresh"), (one_line_of_five, "drifted"), (removed, "gone"), (renamed, "moved")],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_a_symbol_is_looked_for_by_its_name(repo: Repo, change: Callable[[Repo], None], verdict: str):
    desk = repo.desk()
    cited = fill(desk, "src/api.py", "handler")
    change(repo)

    assert cited.excerpt.startswith("def handler(request):\n")
    assert cited.excerpt.endswith("timeout=TIMEOUT)")
    assert check(desk, cited).verdict == verdict


def test_a_method_is_named_with_its_class(repo: Repo):
    cited = fill(repo.desk(), "src/api.py", "Server.stop")

    assert cited.excerpt == "    def stop(self):\n        self.close()"


def test_a_constant_that_got_another_value_has_drifted_and_is_not_gone(repo: Repo):
    desk = repo.desk()
    cited = fill(desk, "src/api.py", "L3")
    repo.edit("src/api.py", "TIMEOUT = 30", "TIMEOUT = 60")
    found = check(desk, cited)

    assert (found.verdict, found.changed, found.locator) == ("drifted", 1.0, "3")


def test_a_whole_file_is_told_by_its_hash(repo: Repo):
    repo.write("long.txt", "".join(f"line {n}\n" for n in range(100)))
    repo.commit()
    desk = repo.desk()
    cited = fill(desk, "long.txt")
    before = check(desk, cited)
    repo.write("long.txt", "".join(f"line {n}\n" for n in range(75)))
    after = check(desk, cited)

    assert cited.excerpt == ""
    assert before.verdict == "fresh"
    assert (after.verdict, after.changed) == ("drifted", 0.25)


def test_a_squash_merge_leaves_what_it_brought_fresh(repo: Repo):
    repo.git("switch", "-qc", "feature")
    repo.write("new.py", "def fresh():\n    return 'new'\n")
    repo.commit()
    cited = fill(repo.desk(), "new.py", "fresh")
    repo.git("switch", "-q", "main")
    assert check(repo.desk(), cited).verdict == "gone"
    repo.git("merge", "-q", "--squash", "feature")
    repo.commit("squashed")
    repo.git("branch", "-qD", "feature")

    assert check(repo.desk(), cited).verdict == "fresh"


def test_a_shallow_clone_judges_by_what_it_has(repo: Repo, tmp_path: Path):
    old = repo.git("rev-parse", "HEAD")
    kept, bare = fill(repo.desk(), "src/api.py", "7-11"), Citation("file", "src/api.py", "7-11", pin=old)
    one_line_of_five(repo)
    repo.commit()
    repo.git("clone", "-q", "--depth", "1", f"file://{repo.folder}", str(tmp_path / "shallow"))
    shallow = Repo(tmp_path / "shallow", new=False)
    commit = Citation("commit", old)

    assert [one.verdict for one in checks(repo.desk(), [kept, bare, commit])] == ["drifted", "drifted", "fresh"]
    found = checks(shallow.desk(), [kept, bare, commit])
    assert [one.verdict for one in found] == ["drifted", "unreachable", "unreachable"]
    assert found[2].why == "this clone is shallow"


def test_each_worktree_is_judged_by_its_own_files(repo: Repo, tmp_path: Path):
    cited = fill(repo.desk(), "src/api.py", "7-11")
    repo.git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Repo(tmp_path / "side", new=False)
    one_line_of_five(side)

    assert check(side.desk(), cited).verdict == "drifted"
    assert check(repo.desk(), cited).verdict == "fresh"


def test_what_a_pinned_commit_said_is_read_from_git(repo: Repo):
    pinned = Citation("file", "src/api.py", "7-11", pin=repo.git("rev-parse", "HEAD"))
    lines_above(repo)
    repo.commit()
    found = check(repo.desk(), pinned)

    assert (found.verdict, found.locator) == ("moved", "10-14")


def test_commits_and_revisions_are_there_or_not(repo: Repo):
    head = repo.git("rev-parse", "HEAD")
    known, short, absent = Citation("commit", head), Citation("commit", head[:8]), Citation("commit", "0" * 40)
    identity = repo.desk().made_in().repo
    ours, strange = Citation("repo", identity, pin=f"@{head}"), Citation("repo", identity, pin="@" + "1" * 40)

    found = [one.verdict for one in checks(repo.desk(), [known, short, absent, ours, strange])]
    assert found == ["fresh", "fresh", "gone", "fresh", "gone"]


def test_what_is_elsewhere_is_unreachable(repo: Repo):
    desk = repo.desk()
    url, talk = Citation("url", "https://example.org/"), Citation("session", "s-1")
    other = Citation("repo", "github.com/acme/other", pin="@" + "1" * 40)

    assert [one.verdict for one in checks(desk, [url, talk, other])] == ["unreachable"] * 3


def test_an_edit_that_keeps_size_and_time_to_the_second_is_seen(repo: Repo, tmp_path: Path):
    import os

    desk = repo.desk(tmp_path / "cache")
    cited = fill(desk, "src/api.py", "3")
    path = repo.folder / "src/api.py"
    assert check(desk, cited).verdict == "fresh"
    seen = path.stat()
    repo.edit("src/api.py", "TIMEOUT = 30", "TIMEOUT = 31")
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))

    assert check(desk, cited).verdict == "drifted"


def test_a_file_that_was_renamed_and_then_edited_is_looked_at_again(repo: Repo, tmp_path: Path):
    desk = repo.desk(tmp_path / "cache")
    cited = fill(desk, "src/api.py", "7-11")
    renamed(repo)
    assert check(desk, cited).verdict == "moved"
    repo.edit("src/server.py", "timeout=TIMEOUT", "timeout=9")

    assert check(desk, cited).verdict == "drifted"
