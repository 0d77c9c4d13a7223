"""Memories on branches: staged where they are made, brought in by a merge, held for review when one is lost."""

from pathlib import Path

import pytest

from engram.service import Engram
from engram.surfaces.render.answers import render
from engram.surfaces.render.paper import Paper
from evidence.repos import API, Repo


class Two:
    """A repository and a store; every look at it is a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "store.db"
        self.repo = Repo(folder / "api")
        self.repo.write("src/api.py", API)
        self.repo.commit()

    def open(self, **settings: str) -> Engram:
        return self.repo.open(self.store, **settings)

    def remember(self, text: str = "We retry five times", **said: object) -> str:
        with self.open() as memory:
            return memory.remember(text, **said).outcome  # type: ignore[arg-type] # of remember

    def sees(self, question: str = "how often do we retry", repo: Repo | None = None) -> list[str]:
        with (repo or self.repo).open(self.store) as memory:
            return [hit.memory.text for hit in memory.recall(question, words=True).hits]

    def settle(self, repo: Repo | None = None) -> tuple[int, int, int]:
        with (repo or self.repo).open(self.store) as memory:
            answer = memory.settle()
            return len(answer.promoted), len(answer.held), answer.waiting


@pytest.fixture
def two(tmp_path: Path) -> Two:
    return Two(tmp_path)


def on_feature(two: Two) -> None:
    two.repo.git("switch", "-qc", "feature")
    two.repo.write("feature.py", "def feature():\n    return 'all new'\n")
    two.repo.commit("feature")


def test_it_is_seen_on_its_branch_at_once_and_nowhere_else(two: Two, tmp_path: Path):
    on_feature(two)
    assert two.remember(kind="decision") == "staged"
    assert two.sees() == ["We retry five times"]
    two.repo.git("switch", "-q", "main")
    assert two.sees() == []
    two.repo.git("worktree", "add", "-q", str(tmp_path / "side"), "feature")

    assert two.sees(repo=Repo(tmp_path / "side", new=False)) == ["We retry five times"]


def test_who_looks_for_it_elsewhere_learns_that_it_is_there(two: Two):
    on_feature(two)
    two.remember()
    two.repo.git("switch", "-q", "main")
    with two.open() as memory:
        answer = memory.recall("retry five times", words=True)
        assert answer.held_back == {"staged": 1}
        assert "engram list --standing staged" in answer.hint
        assert [one.text for one in memory.list(standing=["staged"]).memories] == ["We retry five times"]


def test_on_the_default_branch_nothing_is_staged(two: Two):
    assert two.remember() == "new"
    assert two.settle() == (0, 0, 0)


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ({"scope": "global"}, "new"),
        ({"scope": "project:other"}, "new"),
        ({"kind": "preference"}, "new"),
        ({"kind": "summary"}, "new"),
        ({"kind": "identity"}, "held"),
        ({"kind": "decision"}, "staged"),
        ({"kind": "fact", "confirm": True}, "new"),
    ],
)
def test_what_is_not_about_the_code_of_this_project_holds_on_every_branch(
    two: Two, said: dict[str, object], outcome: str
):
    on_feature(two)

    assert two.remember(**said) == outcome


def test_it_can_be_switched_off(two: Two):
    on_feature(two)
    with two.open(ENGRAM_STAGING="off") as memory:
        assert memory.remember("We retry five times").outcome == "new"


def merge(repo: Repo) -> None:
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "--no-edit", "feature")


def fast_forward(repo: Repo) -> None:
    repo.git("switch", "-q", "main")
    repo.git("merge", "-q", "--ff-only", "feature")


def merge_and_delete(repo: Repo) -> None:
    merge(repo)
    repo.git("branch", "-qd", "feature")


def fast_forward_and_delete(repo: Repo) -> None:
    fast_forward(repo)
    repo.git("branch", "-qd", "feature")


def rebase_and_merge(repo: Repo) -> None:
    repo.git("switch", "-q", "main")
    repo.write("main.py", "m = 1\n")
    repo.commit("main goes on")
    repo.git("switch", "-q", "feature")
    repo.git("rebase", "-q", "main")
    fast_forward(repo)


def rebase_merge_and_delete(repo: Repo) -> None:
    rebase_and_merge(repo)
    repo.git("branch", "-qd", "feature")


@pytest.mark.parametrize(
    "how",
    [merge, fast_forward, merge_and_delete, fast_forward_and_delete, rebase_and_merge, rebase_merge_and_delete],
    ids=lambda how: how.__name__,
)
@pytest.mark.parametrize("when", ["before the commit", "after the commit"])
def test_a_merge_brings_it_in(two: Two, how: object, when: str):
    if when == "before the commit":
        two.repo.git("switch", "-qc", "feature")
        two.remember()
        two.repo.write("feature.py", "f = 1\n")
        two.repo.commit("feature")
    else:
        on_feature(two)
        two.remember()
    assert two.settle() == (0, 0, 1)
    how(two.repo)  # type: ignore[operator] # one of the functions above
    assert two.sees() == [], "reading settles nothing"

    assert two.settle() == (1, 0, 0)
    assert two.sees() == ["We retry five times"]
    assert two.settle() == (0, 0, 0)


@pytest.mark.parametrize("deleted", [False, True])
def test_a_squash_brings_in_what_cites_what_it_brought(two: Two, *, deleted: bool):
    on_feature(two)
    two.remember(cite=["feature.py:feature"])
    two.remember("We use gRPC here")
    two.repo.git("switch", "-q", "main")
    two.repo.git("merge", "-q", "--squash", "feature")
    two.repo.commit("squashed")
    if deleted:
        two.repo.git("branch", "-qD", "feature")

    assert two.settle() == ((1, 1, 0) if deleted else (1, 0, 1))
    assert two.sees() == ["We retry five times"]


@pytest.mark.parametrize("whole", [True, False], ids=["the whole branch", "a part of it"])
def test_a_squash_brings_in_what_cites_a_long_file_when_that_came_too(two: Two, *, whole: bool):
    on_feature(two)
    two.repo.write("long.py", "".join(f"LINE_{n} = {n}\n" for n in range(200)))
    two.repo.commit("long")
    two.remember(cite=["feature.py:feature", "long.py"])
    two.repo.git("switch", "-q", "main")
    two.repo.git("checkout", "-q", "feature", "--", "feature.py", *(["long.py"] if whole else []))
    two.repo.commit("squashed")

    assert two.settle() == ((1, 0, 0) if whole else (0, 0, 1))


@pytest.mark.parametrize("worked", [False, True], ids=["nothing committed", "work committed"])
def test_a_branch_that_was_deleted_unmerged_leaves_it_to_a_person(two: Two, *, worked: bool):
    two.repo.git("switch", "-qc", "feature")
    two.remember()
    if worked:
        two.repo.write("feature.py", "f = 1\n")
        two.repo.commit("feature")
    two.repo.git("switch", "-q", "main")
    two.repo.write("main.py", "m = 1\n")
    two.repo.commit("main goes on")
    two.repo.git("branch", "-qD", "feature")
    assert two.settle() == (0, 1, 0)
    with two.open() as memory:
        (waiting,) = memory.review().candidates
        assert waiting.memory.held_for == "deleted_branch"
        assert memory.history(limit=1).events[0].payload.note["reason"] == (
            "its branch was deleted, and no commit of its own was merged"  # also where there was none
        )
        assert memory.sync(apply=True).counts["append"] == 0, "only a person brings it back"
        memory.promote(waiting.memory.id)

    assert two.sees() == ["We retry five times"]


def test_a_branch_without_work_of_its_own_is_not_merged(two: Two):
    two.repo.git("switch", "-qc", "feature")
    two.remember()
    two.repo.git("switch", "-q", "main")

    assert two.settle() == (0, 0, 1)


@pytest.mark.parametrize("standing_on", ["feature", "main"])
def test_a_branch_that_was_renamed_takes_its_memories_along(two: Two, standing_on: str):
    on_feature(two)
    two.remember()
    two.repo.git("switch", "-q", standing_on)
    two.repo.git("branch", "-m", "feature", "better")
    two.repo.git("branch", "-m", "better", "topic/best")
    assert two.settle() == (0, 0, 1)
    two.repo.git("switch", "-q", "topic/best")
    assert two.sees() == ["We retry five times"]
    two.repo.git("switch", "-q", "main")
    assert two.sees() == []
    two.repo.git("merge", "-q", "--no-ff", "-m", "merged", "topic/best")

    assert two.settle() == (1, 0, 0)


def test_a_branch_that_was_renamed_and_then_deleted_is_lost(two: Two):
    on_feature(two)
    two.remember()
    two.repo.git("switch", "-q", "main")
    two.repo.git("branch", "-m", "feature", "better")
    two.repo.git("branch", "-qD", "better")

    assert two.settle() == (0, 1, 0)


def test_settling_can_be_undone(two: Two):
    on_feature(two)
    two.remember()
    merge(two.repo)
    two.settle()
    with two.open() as memory:
        memory.undo()

    assert two.sees() == []
    assert two.settle() == (1, 0, 0)


def test_a_merge_approves_nothing_that_contradicts_what_is_live(two: Two):
    on_feature(two)
    two.remember("The port of the database is 5433")
    two.repo.git("switch", "-q", "main")
    two.remember("The port of the database is 5432")
    merge(two.repo)

    assert two.settle() == (0, 1, 0)
    with two.open() as memory:
        assert memory.review().candidates[0].memory.held_for == "conflict"


def test_a_new_word_on_a_branch_leaves_the_old_one_to_the_others(two: Two):
    two.remember("We retry three times", key="retry")
    on_feature(two)
    two.remember("We try again five times", key="retry")
    assert two.sees("times") == ["We try again five times"]
    two.repo.git("switch", "-q", "main")
    assert two.sees("times") == ["We retry three times"]
    merge(two.repo)

    assert two.settle() == (1, 0, 0)
    assert two.sees("times") == ["We try again five times"]


def test_saying_it_on_the_default_branch_brings_it_in(two: Two):
    on_feature(two)
    two.remember()
    two.repo.git("switch", "-q", "main")

    assert two.remember() == "repeated"
    assert two.sees() == ["We retry five times"]


def test_what_waits_for_a_person_does_not_go_live_by_a_word_on_a_branch(two: Two):
    two.remember("The port of the database is 5432")
    on_feature(two)
    assert two.remember("The port of the database is 5433") == "held"
    with two.open() as memory:
        memory.revise("mem-0002", text="The port of the other database is 5433")
        assert memory.get("mem-0002").memories[0].held_for == "conflict"


# A verdict that what is staged supersedes another


def superseding(two: Two, agent: str = "", *, old: str = "") -> str:
    """An old memory on main, a new one on a branch, and the word that it supersedes the old: the answer to that."""
    with two.open(ENGRAM_AGENT=old) as memory:
        memory.remember("Lint with flake8")
    on_feature(two)
    with two.open(ENGRAM_AGENT=agent) as memory:
        memory.remember("Linting moved to ruff, and retries to five")
        return memory.relate("mem-0002", "mem-0001", "supersedes").hint


@pytest.mark.parametrize(
    ("agent", "then"),
    [
        ("", "Then it replaces the other."),
        ("codex", "Then a person decides: engram judge mem-0002~mem-0001 supersedes."),
    ],
)
def test_what_is_staged_to_replace_another_is_told_when_it_does(two: Two, agent: str, then: str):
    with two.open() as memory:
        memory.remember("Lint with flake8")
    on_feature(two)
    with two.open(ENGRAM_AGENT=agent) as memory:
        told = memory.remember("Linting moved to ruff, and retries to five", replaces=["mem-0001"])
    assert told.hint == f"mem-0002 holds on feature until that is merged: engram settle. {then}"


@pytest.mark.parametrize("who", ["", "codex"], ids=["a person", "an agent"])
@pytest.mark.parametrize("settles", ["", "codex"], ids=["settled by a person", "settled by an agent"])
def test_a_verdict_on_what_is_staged_takes_effect_with_the_merge(two: Two, who: str, settles: str):
    hint = superseding(two, who, old=who)
    assert hint == "mem-0002 holds on feature until that is merged: engram settle. Then it replaces the other."
    merge(two.repo)
    assert two.sees("lint") == ["Lint with flake8"]
    with two.open(ENGRAM_AGENT=settles) as memory:
        answer = memory.settle()
        assert [one.handle for one in answer.promoted] == ["mem-0002"]
        assert [one.handle for one in answer.replaced] == ["mem-0001"]
        assert "It replaces mem-0001: Lint with flake8" in render(answer, Paper())
    assert two.sees("lint") == ["Linting moved to ruff, and retries to five"]
    with two.open() as memory:
        memory.undo(str(answer.event))
    assert two.sees("lint") == ["Lint with flake8"]


def test_an_agents_verdict_against_a_persons_word_waits_for_a_person_after_the_merge(two: Two):
    hint = superseding(two, "codex")
    assert hint == (
        "mem-0002 holds on feature until that is merged: engram settle. "
        "Then a person decides: engram judge mem-0002~mem-0001 supersedes."
    )
    merge(two.repo)
    assert two.settle() == (1, 0, 0)
    assert set(two.sees("lint")) == {"Lint with flake8", "Linting moved to ruff, and retries to five"}
    with two.open() as memory:
        memory.judge("mem-0002~mem-0001", "supersedes")

    assert two.sees("lint") == ["Linting moved to ruff, and retries to five"]


def test_a_session_that_begins_settles_first(two: Two):
    on_feature(two)
    two.remember()
    merge(two.repo)
    with two.open() as memory:
        memory.session_begin("s-1")

    assert two.sees() == ["We retry five times"]


def test_a_session_that_begins_by_a_token_settles_first_and_begins(two: Two):
    on_feature(two)
    two.remember()
    merge(two.repo)
    with two.open() as memory:
        began, again = (memory.session_begin("s-1", token=name) for name in ("one", "one"))

    assert (began.session.name, again.session.id) == ("s-1", began.session.id)
    assert two.sees() == ["We retry five times"]


def test_another_clone_and_a_shallow_one_lose_nothing(two: Two, tmp_path: Path):
    two.repo.git("remote", "add", "origin", "https://git.example.org/acme/api.git")
    on_feature(two)
    two.remember()
    two.repo.git("switch", "-q", "main")
    for depth in ([], ["--depth", "1"]):
        place = tmp_path / f"clone{len(depth)}"
        two.repo.git(
            "clone", "-q", *depth, "--branch", "main", "--single-branch", f"file://{two.repo.folder}", str(place)
        )
        clone = Repo(place, new=False)
        clone.git("remote", "set-url", "origin", "https://git.example.org/acme/api.git")
        assert two.settle(clone) == (0, 0, 1)


def test_what_is_staged_elsewhere_is_only_counted(two: Two, tmp_path: Path):
    on_feature(two)
    two.remember()
    other = Repo(tmp_path / "other")
    other.write("a", "a")
    other.commit()
    with other.open(two.store) as memory:
        answer = memory.settle()

    assert (answer.waiting, answer.elsewhere) == (0, 1)


def test_a_detached_head_of_the_main_worktree_stages_nothing(two: Two):
    on_feature(two)
    two.repo.git("switch", "-q", "--detach")

    assert two.remember() == "new"


def test_a_detached_worktree_is_a_line_of_its_own_until_it_gets_a_branch(two: Two, tmp_path: Path):
    two.repo.git("worktree", "add", "-q", "--detach", str(tmp_path / "side"))
    side = Repo(tmp_path / "side", new=False)
    with side.open(two.store) as memory:
        assert memory.remember("We retry five times").outcome == "staged"
    assert two.sees() == []
    assert two.sees(repo=side) == ["We retry five times"]
    side.git("switch", "-qc", "named")
    assert two.settle(side) == (0, 0, 1)
    assert two.sees(repo=side) == ["We retry five times"]
    side.write("side.py", "s = 1\n")
    side.commit()
    two.repo.git("merge", "-q", "--ff-only", "named")

    assert two.settle() == (1, 0, 0)


def test_a_worktree_that_was_removed_with_its_branch_leaves_it_to_a_person(two: Two, tmp_path: Path):
    two.repo.git("worktree", "add", "-q", "-b", "feature", str(tmp_path / "side"))
    side = Repo(tmp_path / "side", new=False)
    with side.open(two.store) as memory:
        memory.remember("We retry five times")
    two.repo.git("worktree", "remove", "--force", str(tmp_path / "side"))
    assert two.settle() == (0, 0, 1), "the branch is still there"
    two.repo.git("branch", "-qD", "feature")

    assert two.settle() == (0, 1, 0)


def test_while_a_branch_is_rebased_its_memories_stay_in_sight(two: Two):
    on_feature(two)
    two.remember()
    two.repo.git("switch", "-q", "main")
    two.repo.write("feature.py", "another\n")
    two.repo.commit()
    two.repo.git("switch", "-q", "feature")
    with pytest.raises(Exception, match="rebase"):
        two.repo.git("rebase", "-q", "main")  # stops at a conflict

    assert two.sees() == ["We retry five times"]


def test_a_repository_without_commits_or_without_git_stages_nothing(tmp_path: Path):
    new = Repo(tmp_path / "new")
    with new.open(tmp_path / "store.db") as memory:
        assert memory.remember("We retry five times").outcome == "new"


def test_without_git_on_the_machine_nothing_is_lost(two: Two, monkeypatch: pytest.MonkeyPatch):
    on_feature(two)
    two.remember()
    two.repo.git("switch", "-q", "main")
    two.repo.git("branch", "-qD", "feature")
    with monkeypatch.context() as bare:
        bare.setenv("PATH", "/nowhere")
        assert two.settle() == (0, 0, 1)

    assert two.settle() == (0, 1, 0)


def test_the_default_branch_is_what_the_remote_says_or_a_setting(two: Two, tmp_path: Path):
    two.repo.git("branch", "-qm", "develop")
    two.repo.git("clone", "-q", f"file://{two.repo.folder}", str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone", new=False)
    with clone.open(tmp_path / "a.db") as memory:
        assert memory.remember("We retry five times").outcome == "new"
    with two.open(ENGRAM_DEFAULT_BRANCH="release") as memory:
        assert memory.remember("We retry five times").outcome == "staged"


def test_a_memory_that_stays_open_follows_its_folder_from_branch_to_branch(two: Two):
    with two.open() as memory:
        outcomes = [memory.remember("We retry five times").outcome]
        for branch in ("one", "two"):
            two.repo.git("switch", "-qc", branch)
            outcomes.append(memory.remember(f"On {branch} we use gRPC").outcome)
            assert [hit.memory.text for hit in memory.recall("gRPC", words=True).hits] == [
                f"On {branch} we use gRPC"
            ]
        two.repo.git("switch", "-q", "main")
        outcomes.append(memory.remember("We speak JSON").outcome)

    assert outcomes == ["new", "staged", "staged", "new"]
