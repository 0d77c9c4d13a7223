"""What only git itself can tell: old contents, renames, and what is reachable; one process for many questions.

Every question may come back unanswered: no git on this machine, a repository that git does not trust, history that
is not here. Nobody's hooks, pagers, external diffs or monitors are run, and nothing is ever written.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, NamedTuple

from engram.model.evidence import Checkout

PATIENCE = 20.0
"""Seconds that an answer of git may take."""

LARGEST = 8 * 1024 * 1024
CHUNK = 1 << 16


class Object(NamedTuple):
    """An object of a repository, by its whole name; its data is left out where it is too large."""

    name: str
    type: str
    data: bytes | None


class Git:
    """Asks git about one checkout."""

    def __init__(self, checkout: Checkout) -> None:
        self._root = checkout.root
        self.shallow = os.path.exists(os.path.join(checkout.common, "shallow"))

    def objects(self, names: Iterable[str]) -> Mapping[str, Object]:
        """The objects of these names (a hash, `COMMIT:PATH`); what is not here is left out. One process."""
        wanted = [name for name in dict.fromkeys(names) if name and "\n" not in name and not name.startswith("-")]
        found: dict[str, Object] = {}
        if not wanted:
            return found
        from subprocess import DEVNULL, PIPE, Popen  # noqa: PLC0415 - start-up; only where git is asked
        from threading import Timer  # noqa: PLC0415 - the same

        words = self._words("cat-file", "--batch")
        try:
            with Popen(words, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=_quiet()) as git:
                assert git.stdin is not None
                assert git.stdout is not None
                late = Timer(PATIENCE, git.kill)
                late.start()
                try:
                    found.update(_objects(wanted, git.stdin, git.stdout))
                    git.stdin.close()
                finally:
                    late.cancel()
        except (OSError, ValueError):
            return found
        return found

    def tracked(self) -> Mapping[str, str] | None:
        """Every file in the index, and the name of its blob; None if git cannot say."""
        rows = self._asked("ls-files", "-s", "-z")
        if rows is None:
            return None
        files: dict[str, str] = {}
        for row in _split(rows):
            about, tab, path = row.partition("\t")
            if tab and len(about.split()) > 1:
                files[path] = about.split()[1]
        return files

    def renames(self, commit: str) -> Mapping[str, str]:
        """The files that git takes for renamed between a commit and the working tree: old path → new path."""
        rows = self._lines("diff", *_PLAIN, "--name-status", "-M", "--diff-filter=R", commit, "--")
        return dict(zip(rows[1::3], rows[2::3], strict=False))

    def changed_since(self, revision: str) -> frozenset[str] | None:
        """The files that differ between a revision and the working tree, by both names; None if git cannot say."""
        rows = self._asked("diff", *_PLAIN, "--name-only", "--no-renames", "--end-of-options", revision, "--")
        return None if rows is None else frozenset(_split(rows))

    def outside(self, commits: Sequence[str], tips: Sequence[str]) -> frozenset[str] | None:
        """Those of the commits that are not reachable from any of the tips; None if git cannot say."""
        asked = [one for one in commits if one]
        if not asked or not tips:
            return frozenset(asked)
        rows = self._asked("rev-list", "--ignore-missing", *asked, "--not", *tips)
        return None if rows is None else frozenset(asked) & frozenset(rows.decode().split())

    def trunk(self, tips: Sequence[str]) -> frozenset[str]:
        """The commits that were made on a branch itself, or became its tip: by first parents alone."""
        rows = self._asked("rev-list", "--first-parent", *tips) if tips else b""
        return frozenset((rows or b"").decode().split())

    def _lines(self, *words: str) -> list[str]:
        return _split(self._asked(*words) or b"")

    def _asked(self, *words: str) -> bytes | None:
        from subprocess import DEVNULL, PIPE, SubprocessError, run  # noqa: PLC0415 - start-up; only where git is asked

        try:
            done = run(  # our own words; what a person said stands behind --end-of-options
                self._words(*words),
                stdin=DEVNULL,
                stdout=PIPE,
                stderr=DEVNULL,
                env=_quiet(),
                check=False,
                timeout=PATIENCE,
            )
        except (OSError, ValueError, SubprocessError):
            return None
        return done.stdout if done.returncode == 0 else None

    def _words(self, *words: str) -> list[str]:
        return [
            "git",
            "--no-pager",
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.quotePath=false",
            "-C",
            self._root,
            *words,
        ]


def merged_into(folder: str, names: Sequence[str]) -> list[tuple[str, Mapping[str, bytes]]]:
    """The other sides of a merge that is under way or that the head is: each commit, and its files of a folder."""
    git = Git(Checkout(folder, folder, folder, ""))
    sides = [git.objects([revision]) for revision in ("MERGE_HEAD", "HEAD^2")]
    commits = dict.fromkeys(each.name for found in sides for each in found.values())
    told: list[tuple[str, Mapping[str, bytes]]] = []
    for commit in commits:
        found = git.objects([f"{commit}:./{name}" for name in names])
        files = {name: each.data for name in names if (each := found.get(f"{commit}:./{name}")) and each.data}
        told += [(commit, files)] if files else []
    return told


_PLAIN = ("-z", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all")


def _quiet() -> dict[str, str]:
    """The environment without what would point git elsewhere, and without locks or questions."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "LC_ALL": "C"}


def _split(rows: bytes) -> list[str]:
    return [row.decode("utf-8", "surrogateescape") for row in rows.split(b"\0") if row]


def _objects(names: Iterable[str], asked: IO[bytes], answers: IO[bytes]) -> Iterator[tuple[str, Object]]:
    """What `git cat-file --batch` answers, a name at a time; it ends where git does."""
    for name in names:
        asked.write(name.encode("utf-8", "surrogateescape") + b"\n")
        asked.flush()
        header = answers.readline().split()
        if not header:
            return  # this is no repository to it, or it took too long
        if len(header) > 2 and header[-1].isdigit():
            data = _taken(answers, int(header[-1]))
            yield name, Object(header[0].decode(), header[-2].decode(), data)


def _taken(stream: IO[bytes], size: int) -> bytes | None:
    """The bytes of an object, past the line end after it; None where it is too large, or not all of it came."""
    if size <= LARGEST:
        data = stream.read(size)
        stream.read(1)
        return data if len(data) == size else None
    left = size + 1
    while left > 0 and (piece := stream.read(min(left, CHUNK))):
        left -= len(piece)
    return None
