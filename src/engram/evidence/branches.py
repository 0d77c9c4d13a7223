"""What became of a line of work: is a branch merged, open or gone? By references, logs and reachability."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from engram.evidence.git import Git
from engram.model.evidence import Checkout, Fate
from engram.model.memory import Memory

LARGEST = 4 * 1024 * 1024
"""Bytes of a log that are read, from its end."""

MOST_LOGS = 2000
"""Logs of branches in one folder that are read for a rename."""

RENAMED = re.compile(r"\tBranch: renamed refs/heads/(\S+) to refs/heads/(\S+)$", re.MULTILINE)

Tip = Callable[[str, str], str]
"""The commit of a reference of a repository."""


class Line(NamedTuple):
    """A line of work as a repository knows it: where it stands, where it began, and whether it is still there."""

    tip: str = ""
    began: str = ""
    alive: bool = False
    renamed: str = ""  # the branch that it goes by now: it was renamed, or a detached worktree was put on one


def fates(checkout: Checkout, git: Git, tip_of: Tip, memories: Sequence[Memory]) -> Mapping[str, Fate]:
    """What became of the line of work of each memory that was staged in this repository.

    Merged by reachability, that is: whether cited content is there is looked at elsewhere. Nothing counts as lost
    where history is cut short, nor what was staged in another clone.
    """
    tips = list(filter(None, (tip_of(checkout.common, ref) for ref in _defaults(checkout.default))))
    lines = {branch: _line(checkout, tip_of, branch) for branch in {memory.branch for memory in memories}}
    commits = {line.tip for line in lines.values()} | {one.context.commit for one in memories}
    asked = sorted(each for each in commits if re.fullmatch("[0-9a-f]{40,64}", each))
    known = git.objects([*asked, *tips])
    if any(tip not in known for tip in tips) or not tips:
        return {one.id: Fate("open") for one in memories}  # git cannot be asked: nobody can say
    outside = git.outside([each for each in asked if each in known], tips)
    merged = frozenset(known) - frozenset(asked if outside is None else outside)
    trunk = git.trunk(tips) if merged else frozenset()
    return {
        one.id: _fate(one, lines[one.branch], merged, trunk, ours=_same_clone(checkout, one), shallow=git.shallow)
        for one in memories
    }


def _fate(
    memory: Memory, line: Line, merged: frozenset[str], trunk: frozenset[str], *, ours: bool, shallow: bool
) -> Fate:
    made_at = memory.context.commit
    for commit in (made_at, line.tip):
        if commit in merged and _is_own(commit, made_at, line, trunk):
            return Fate("merged", "its branch was merged")
    if line.renamed:
        return Fate("renamed", "its branch has another name now", line.renamed)
    if line.alive or not ours or shallow:
        return Fate("open")
    return Fate("lost", "its branch was deleted, and no commit of its own was merged")


def _is_own(commit: str, made_at: str, line: Line, trunk: frozenset[str]) -> bool:
    """Whether a commit is work of the line itself, and not just where it began, which was merged all along."""
    if line.began:
        return commit != line.began
    if commit == line.tip and line.tip != made_at:
        return True  # it went on after the memory was made
    return commit not in trunk


def _defaults(name: str) -> tuple[str, ...]:
    return (f"refs/heads/{name}", f"refs/remotes/origin/{name}") if name else ()


def _line(checkout: Checkout, tip_of: Tip, branch: str) -> Line:
    name = branch.removeprefix(f"{checkout.identity}#")
    if name.startswith("@"):
        return _worktree(checkout, tip_of, name[1:])
    local = tip_of(checkout.common, f"refs/heads/{name}")
    tip = local or tip_of(checkout.common, f"refs/remotes/origin/{name}")
    began = _began(os.path.join(checkout.common, "logs", "refs", "heads", *name.split("/"))) if local else ""
    if tip:
        return Line(tip, began, alive=True)
    if new := _new_name(checkout.common, tip_of, name):
        log = os.path.join(checkout.common, "logs", "refs", "heads", *new.split("/"))
        renamed = "" if new == checkout.default else f"{checkout.identity}#{new}"
        return Line(tip_of(checkout.common, f"refs/heads/{new}"), _began(log), alive=True, renamed=renamed)
    left, entered = _in_heads(checkout.common, name)
    return Line(left, entered)


def _new_name(common: str, tip_of: Tip, name: str) -> str:
    """The branch that one which is gone was renamed to, by the logs of those that are there; "" if none says so."""
    renames: dict[str, str] = {}
    root = os.path.join(common, "logs", "refs", "heads")
    for folder, _, files in os.walk(root):
        for file in files[:MOST_LOGS]:
            renames.update(RENAMED.findall(_tail(os.path.join(folder, file))))
    seen = {name}
    while (name := renames.get(name, "")) and name not in seen and not tip_of(common, f"refs/heads/{name}"):
        seen.add(name)
    return "" if name in seen else name


def _worktree(checkout: Checkout, tip_of: Tip, name: str) -> Line:
    """A linked worktree on a detached head."""
    own = os.path.join(checkout.common, "worktrees", name)
    head = _tail(os.path.join(own, "HEAD")).strip()
    if not head:
        return Line()
    if head.startswith("ref: refs/heads/"):
        branch = head.removeprefix("ref: refs/heads/")
        tip = tip_of(checkout.common, f"refs/heads/{branch}")
        renamed = "" if branch == checkout.default else f"{checkout.identity}#{branch}"
        return Line(tip, _began(os.path.join(own, "logs", "HEAD")), alive=True, renamed=renamed)
    return Line(head, _began(os.path.join(own, "logs", "HEAD")), alive=True)


def _began(log: str) -> str:
    """The commit that a reference was made at, by the first line of its log."""
    words = _tail(log, whole=True).partition("\n")[0].split()
    return words[1] if len(words) > 1 and set(words[0]) == {"0"} else ""


def _in_heads(common: str, name: str) -> tuple[str, str]:
    """The commits at which a branch that is gone was last left and first entered, by the logs of the heads here."""
    left = entered = ""
    folders = [common]
    with suppress(OSError):
        folders += [entry.path for entry in os.scandir(os.path.join(common, "worktrees"))]
    for folder in folders:
        for row in _tail(os.path.join(folder, "logs", "HEAD")).splitlines():
            about, _, did = row.partition("\t")
            shas = about.split()[:2]
            if len(shas) < 2 or not did.startswith("checkout: moving from "):
                continue
            if did.endswith(f" to {name}") and not entered:
                entered = shas[1]
            if did.startswith(f"checkout: moving from {name} to "):
                left = shas[0]
    return left, entered


def _same_clone(checkout: Checkout, memory: Memory) -> bool:
    """Whether a memory was made in this very repository, and not in another clone of it."""
    return memory.context.base_dir == checkout.common


def _tail(path: str, *, whole: bool = False) -> str:
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > LARGEST and not whole:
                file.seek(size - LARGEST)
            return file.read(LARGEST).decode("utf-8", "replace")
    except OSError:
        return ""
