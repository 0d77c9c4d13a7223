"""Real git: three clones of one repository, rejected pushes, merges without one conflict, and equal stores."""

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sync.devices import Device

pytestmark = pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")

IDENTITY = {
    **{f"GIT_{who}_{what}": "tester" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}


def git(folder: Path, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        ["git", *words], cwd=folder, env={**os.environ, **IDENTITY}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 or not check, done.stdout + done.stderr
    return done


class Clone(Device):
    """A machine whose clone is a real one."""

    rejected = 0

    def commit(self) -> None:
        git(self.clone, "add", "-A", ".engram")
        git(self.clone, "commit", "-m", f"memories of {self.name}", "--allow-empty")

    def push(self) -> None:
        """Push until it is taken; each refusal means: fetch, merge without a conflict, sync, try again."""
        for _ in range(10):
            if git(self.clone, "push", "origin", "HEAD:main", check=False).returncode == 0:
                return
            self.rejected += 1
            self.pull()
        raise AssertionError("never pushed")

    def pull(self) -> None:
        git(self.clone, "fetch", "origin")
        done = git(self.clone, "merge", "--no-edit", "origin/main")
        assert "CONFLICT" not in done.stdout
        self.sync()
        self.commit()

    def share(self) -> None:
        self.sync()
        self.commit()
        self.push()


@pytest.fixture
def clones(tmp_path):
    git(tmp_path, "init", "--bare", "--initial-branch=main", "hub.git")
    seed = tmp_path / "seed"
    seed.mkdir()
    git(tmp_path, "clone", str(tmp_path / "hub.git"), str(seed))
    (seed / "README").write_text("shared\n")
    git(seed, "add", "-A")
    git(seed, "commit", "-m", "begin")
    git(seed, "push", "origin", "HEAD:main")
    made = []
    for name, store in (("ada", "sqlite:"), ("bob", "files:"), ("cyd", "sqlite:")):
        (tmp_path / name).mkdir()
        git(tmp_path, "clone", str(tmp_path / "hub.git"), str(tmp_path / name / "clone"))
        git(tmp_path / name / "clone", "config", "core.autocrlf", "true")  # must not reach our files
        made.append(Clone(tmp_path, name, store=store))
    for one in made:
        one.say(f"This is {one.name}")
        one.share()
    for one in made:
        one.pull()
        one.accept(*(other for other in made if other is not one))
        one.push()
    return made


def quiet(clones: list[Clone]) -> None:
    for _ in range(3):
        for one in clones:
            one.pull()
            one.push()


def test_three_clones_edit_and_forget_at_once_and_end_up_equal_without_a_conflict(clones):
    ada, bob, cyd = clones
    shared = [ada.say(f"Fact number {n} of the project") for n in range(6)]
    ada.share()
    quiet(clones)
    dice = random.Random(7)
    for turn in range(3):
        for one in clones:  # nobody has seen what the others do in this turn
            one.say(f"{one.name} learnt {turn}")
            one.memory.revise(shared[dice.randrange(3)], text=f"Reworded by {one.name} in turn {turn}")
            one.sync()
            one.commit()
        dice.choice(clones).memory.forget(shared[3 + turn])
        cyd.memory.revise(shared[0], pinned=turn % 2 == 0)
        for one in dice.sample(clones, 3):
            one.share()
    quiet(clones)

    assert ada.state() == bob.state() == cyd.state()
    assert sum(one.rejected for one in clones) > 0
    assert {f"{one.name} learnt {turn}" for one in clones for turn in range(3)} <= set(ada.texts())
    assert ada.texts("forgotten")
    for one in clones:
        assert one.memory.doctor().healthy
        assert git(one.clone, "status", "--porcelain").stdout == ""


FORK = "https://github.com/me/api.git"
UPSTREAM = "https://github.com/acme/api.git"


@pytest.mark.parametrize("remotes", [(UPSTREAM, FORK), ("", "")], ids=["a fork", "a repository on this machine"])
def test_clones_whose_remotes_differ_see_one_anothers_memories(tmp_path, remotes):
    git(tmp_path, "init", "--bare", "--initial-branch=main", "hub.git")
    made = []
    for name, remote in zip(("up", "down"), remotes, strict=True):
        (tmp_path / name).mkdir()
        clone = tmp_path / name / f"{name}-clone"
        git(tmp_path, "clone", str(tmp_path / "hub.git"), str(clone))
        if remote:
            git(clone, "remote", "rename", "origin", "hub")
            git(clone, "remote", "add", "origin", remote)
        device = Device(tmp_path, name, project="")
        device.clone = clone
        device.open()
        device.say(f"Said in {name}")
        made.append(device)
    up, down = made
    names = [str(device.memory.call().home) for device in made]
    for device, other in ((up, down), (down, up), (up, down)):
        device.sync()
        git(device.clone, "add", "-A")
        git(device.clone, "commit", "-m", "memories", "--allow-empty")
        git(other.clone, "pull", str(device.clone), "HEAD", "--no-rebase")
        other.sync()
        if device.memory.engine.replica() in other.sync().strangers:
            other.accept(device)

    assert names[0] != names[1]
    assert up.texts() == down.texts() == ["Said in down", "Said in up"]
    for device, name in zip(made, names, strict=True):
        assert {str(m.scope) for m in device.memory.list(everywhere=True).memories} == {name}


def test_purges_on_two_machines_at_once_merge_and_leave_no_word_in_the_files(clones):
    ada, bob, cyd = clones
    one, two = ada.say("The zebra password is plum"), ada.say("The giraffe password is pear")
    ada.share()
    quiet(clones)
    bob.memory.purge(one, confirm=True)
    cyd.memory.purge(two, confirm=True)
    bob.share()
    cyd.share()
    quiet(clones)

    assert ada.state() == bob.state() == cyd.state()
    assert not {one, two} & ada.state().keys()
    for device in clones:
        held = b"".join(file.read_bytes() for file in device.files())
        assert b"zebra" not in held
        assert b"giraffe" not in held


def test_a_force_pushed_history_is_made_up_for_by_the_next_sync(clones):
    ada, bob, cyd = clones
    quiet(clones)
    before = git(ada.clone, "rev-parse", "HEAD").stdout.strip()
    ada.say("Said before the force push")
    ada.share()
    git(bob.clone, "push", "--force", "origin", f"{before}:main")
    git(ada.clone, "fetch", "origin")
    git(ada.clone, "reset", "--hard", "origin/main")
    ada.share()
    quiet([ada, bob, cyd])

    assert "Said before the force push" in bob.texts()
    assert ada.state() == bob.state() == cyd.state()


def test_ten_thousand_memories_are_exchanged_with_progress_and_within_bounded_memory():
    bench = Path(__file__).resolve().parents[2] / "benches" / "sync" / "run.py"
    done = subprocess.run([sys.executable, str(bench)], capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10000 taken in" in done.stdout
