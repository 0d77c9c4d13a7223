"""The memories of Claude Code for all its projects: `~/.claude`, or the folder `projects` in it.

Which project a folder is, its conversations tell: they name the folder they took place in.
"""

import os
import re
from collections.abc import Iterator

from engram.interop.forms import Foreign, Form, Problem, Source
from engram.interop.peers.claude_code import FOLDER, memories
from engram.interop.peers.reading import project
from engram.model.scope import GLOBAL, Scope

LOOKED_AT = 64 * 1024
_FOLDER = re.compile(rb'"cwd"\s*:\s*"((?:[^"\\]|\\.)+)"')


def recognises(source: Source) -> bool:
    """Whether there is a folder of memories in some of its projects."""
    return source.folder and any(True for _ in _places(source))


def read(source: Source) -> Iterator[Foreign | Problem]:
    """The memories of each project in turn."""
    for place in _places(source):
        name = os.path.basename(os.path.dirname(place))
        for found in memories(place, scope=_scope(os.path.dirname(place)), within=f"{name}/"):
            yield found._replace(name=f"{name}/{found.name}")


def _places(source: Source) -> Iterator[str]:
    inner = os.path.join(source.path, "projects")
    root = inner if "projects" in source.names and os.path.isdir(inner) else source.path
    try:
        names = sorted(os.listdir(root))
    except OSError:
        return
    for name in names:
        place = os.path.join(root, name, FOLDER)
        # A folder is called by its path, with a dash for every mark in it: it begins with one.
        if name.startswith("-") and os.path.isdir(place) and not os.path.islink(place):
            yield place


def _scope(folder: str) -> Scope:
    """The project whose conversations lie in a folder; by the folder's own name where there are none."""
    named = os.path.basename(folder).strip("-").rpartition("-")[2]
    for name in sorted(os.listdir(folder)):
        if name.endswith(".jsonl") and not os.path.islink(os.path.join(folder, name)):
            with open(os.path.join(folder, name), "rb") as file:
                if found := _FOLDER.search(file.read(LOOKED_AT)):
                    where = found[1].decode("utf-8", "replace").replace("\\\\", "/")
                    named = where.rstrip("/").rpartition("/")[2] or named
                    break
    return (project(named) if named else None) or GLOBAL


FORM = Form("claude-code-projects", "the memories of Claude Code for all projects: ~/.claude", recognises, read)
