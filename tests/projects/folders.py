"""Folders with real repositories in them."""

import subprocess
from pathlib import Path


def git(folder: Path, *words: str) -> str:
    """What git says in a folder."""
    who = ["-c", "user.name=Kim", "-c", "user.email=kim@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def repository(folder: Path, remote: str = "", name: str = "origin") -> Path:
    """A new repository, with a remote where one is given."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    if remote:
        git(folder, "remote", "add", name, remote)
    return folder
