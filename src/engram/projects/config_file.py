"""`.engram/config.json`, a project's own word about its name: read with suspicion, written whole or not at all."""

import json
import os
from typing import Any

from engram.drafts import whole_file
from engram.errors import Conflict, Invalid, Unavailable
from engram.model.limits import cut

KEYS = ("project", "project_name")
"""Where the name stands: our key, which wins, and the one that other tools write into the same file."""

LARGEST = 64 * 1024

CHOOSE = (
    "Until then say which project you mean: ENGRAM_PROJECT=NAME, or --scope=project:NAME. What holds everywhere"
    " needs none: --scope=global."
)


def path_in(folder: str) -> str:
    """Where a folder's own word would stand."""
    return os.path.join(folder, ".engram", "config.json")


def own_word(folder: str, remote: str) -> str:
    """The name a folder gives itself; "" when it says nothing. `remote` is what its git remote tells.

    Raises:
        Conflict: when there is such a file and it names no project, or claims to be another repository.
    """
    path = path_in(folder)
    if not _is_there(path):
        return ""
    try:
        name = _name(_read(path))
    except (OSError, ValueError, RecursionError):
        name = ""
    if not name:
        raise Conflict(
            f"{path} does not name a project.",
            f'Write {{"project": "NAME"}} into it (engram init NAME --force does), or remove it. {CHOOSE}',
        )
    if "/" in name and name != remote:
        raise Conflict(
            f"{path} claims to be {name}, which is not this repository.",
            f"A name of its own has no slash; one with a slash comes from the git remote. {CHOOSE}",
        )
    return printable(name)


def write(folder: str, name: str, *, remote: str = "", force: bool = False) -> bool:
    """Let a folder name its project; returns whether the file changed. What else stands in the file is kept.

    The file is meant to be committed and read by everybody who works here, so it is as open as source code:
    it holds a name and no memory.

    Raises:
        Invalid: when the name cannot be one.
        Conflict: when it says another name already, or is not a plain file, unless forced.
        Unavailable: when it cannot be written.
    """
    _check(name, remote)
    path = path_in(folder)
    for part in (os.path.dirname(path), path):
        if os.path.islink(part):
            raise Conflict(f"{part} is a symbolic link.", "Remove it: a project's own word stands in the project.")
    said = _present(path, force=force)
    if _name(said) == name:
        return False
    if said and _name(said) and not force:
        raise Conflict(
            f"{path} says {_name(said)} already.", f"To change it: engram init {name} --force, or edit the file."
        )
    try:
        _replace(path, json.dumps({**said, "project": name}, ensure_ascii=False, indent=2) + "\n")
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}.", "Check who owns the folder.") from None
    return True


def printable(name: str) -> str:
    """A name a scope can carry: `@` would begin a run, and what does not print cannot be typed."""
    clean = "".join(mark if mark.isprintable() and mark != "@" else "-" for mark in name).strip()
    return cut(clean, 200)


def _check(name: str, remote: str) -> None:
    if not name or name != printable(name):
        raise Invalid(f"A project cannot be called {name!r}.", "Use up to 200 bytes that print, without @.")
    if "/" in name and name != remote:
        raise Invalid(
            f"A project cannot call itself {name}.",
            "A name with a slash comes from the git remote: leave the slash out.",
        )


def _present(path: str, *, force: bool) -> dict[str, Any]:
    """What the file says now; empty when it is not there, or is forcibly replaced."""
    if not _is_there(path):
        return {}
    try:
        return _read(path)
    except (OSError, ValueError, RecursionError):
        if force and not os.path.isdir(path):
            return {}
        raise Conflict(f"{path} cannot be understood.", "To replace it: engram init NAME --force.") from None


def _is_there(path: str) -> bool:
    """Whether the name is taken, by whatever; a folder that hides its files from us hides an answer."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _read(path: str) -> dict[str, Any]:
    """What a file says, by key; what is JSON but no object says nothing.

    Raises:
        OSError, ValueError, RecursionError: when it is not JSON.
    """
    if not os.path.isfile(path):  # a pipe would be waited for
        raise ValueError
    with open(path, encoding="utf-8-sig") as file:
        text = file.read(LARGEST + 1)
    said = json.loads(text) if len(text) <= LARGEST else None
    return said if isinstance(said, dict) else {}


def _name(said: dict[str, Any]) -> str:
    """The name in what a file says; our key decides where it is there at all."""
    key = next((key for key in KEYS if key in said), "")
    name = said.get(key)
    return name.strip() if isinstance(name, str) else ""


def _replace(path: str, text: str) -> None:
    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o755, exist_ok=True)
    with whole_file(path, 0o644) as file:
        file.write(text.encode())
