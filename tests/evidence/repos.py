"""Real git repositories for the tests of evidence, and memories that stand in them."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import engram
from engram.evidence.desk import Desk
from engram.model.evidence import Check
from engram.model.memory import Citation, Memory
from engram.model.scope import Scope
from engram.projects.checkouts import Whereabouts, tip_of
from engram.service import Engram
from engram.wiring.clock import now

QUIET = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "Test",
    "GIT_AUTHOR_EMAIL": "test@example.org",
    "GIT_COMMITTER_NAME": "Test",
    "GIT_COMMITTER_EMAIL": "test@example.org",
    "GIT_ALLOW_PROTOCOL": "file",
}

API = '''import os

TIMEOUT = 30
RETRIES = 5


def handler(request):
    """Answer a request."""
    if request.bad:
        raise ValueError("this request is bad")
    return request.answer(timeout=TIMEOUT)


class Server:
    """Serves."""

    def start(self, port):
        self.port = port
        self.listen(port)

    def stop(self):
        self.close()
'''


class Repo:
    """One repository (or worktree, or clone) in a folder."""

    def __init__(self, folder: Path, *, new: bool = True) -> None:
        self.folder = folder
        if new:
            folder.mkdir(parents=True, exist_ok=True)
            self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        """What git says."""
        done = subprocess.run(
            ["git", *words],
            cwd=self.folder,
            env={**{k: v for k, v in os.environ.items() if not k.startswith("GIT_")}, **QUIET},
            capture_output=True,
            check=True,
        )
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def write(self, path: str, text: str | bytes) -> Path:
        """Put a file there."""
        place = self.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode() if isinstance(text, str) else text)
        return place

    def edit(self, path: str, old: str, new: str) -> None:
        """Change a file."""
        text = (self.folder / path).read_text()
        assert old in text
        self.write(path, text.replace(old, new))

    def commit(self, message: str = "work") -> str:
        """Commit everything; returns the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def desk(self, cache: Path | None = None) -> Desk:
        """What looks at citations from here."""
        around = Whereabouts(str(self.folder))
        return Desk(str(self.folder), around.look, tip_of, str(cache or ""))

    def open(self, store: Path, folder: str = "", **settings: str) -> Engram:
        """A memory as a person has it who stands here."""
        home = store.parent
        variables = {"HOME": str(home), "PATH": os.environ["PATH"], "ENGRAM_EMBEDDER": "none", **settings}
        return engram.open(store, folder=self.folder / folder, environment=variables)


HOME = Scope("project", "here")


def citing(*citations: Citation, **more: Any) -> Memory:
    """A memory of the project that cites this."""
    at = now()
    return Memory(
        id="m-1", scope=HOME, text="x", citations=citations, owner="", created_at=at, updated_at=at, **more
    )


def checks(desk: Desk, citations: Sequence[Citation], *, diffs: bool = False) -> list[Check]:
    """The verdicts on citations, many at a time."""
    memories = [citing(each) for each in citations]
    named = [type(one)(**{**one.__dict__, "id": f"m-{at}"}) for at, one in enumerate(memories)]
    found = desk.check(named, HOME, diffs=diffs)
    return [found[one.id][0] for one in named]


def check(desk: Desk, citation: Citation) -> Check:
    """The verdict on one."""
    return checks(desk, [citation])[0]


def fill(desk: Desk, ref: str, locator: str = "") -> Citation:
    """A citation made here and now."""
    return desk.filled(Citation("file", ref, locator), now())[0]
