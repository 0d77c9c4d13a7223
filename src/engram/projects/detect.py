"""The project of a folder: its own word, else its git remote or root, a single child, its name; no git is run."""

import os
import time
from collections.abc import Iterator
from typing import NamedTuple

from engram.errors import Ambiguous, Conflict
from engram.projects.checkouts import place_of, remote_at, repository_name
from engram.projects.config_file import own_word, path_in, printable
from engram.projects.names import Names

MARKERS = (
    *("AGENTS.md", "pyproject.toml", "setup.py", "package.json", "deno.json", "Cargo.toml", "go.mod", "pom.xml"),
    *("build.gradle", "build.gradle.kts", "CMakeLists.txt", "Makefile", "Gemfile", "composer.json", "mix.exs"),
    *("README", "README.md", "README.rst", "README.txt"),
)
"""Files by which a folder outside git shows that somebody made it a project."""

SKIPPED = frozenset({"node_modules", "vendor", "__pycache__", "target", "dist", "build", "site-packages"})
"""Folders with other people's work or with what was made; hidden ones, such as .venv, are left out as well."""

IN_HOME = frozenset(
    {"Applications", "Desktop", "Documents", "Downloads", "Dropbox", "Library", "Movies", "Music", "OneDrive"}
    | {"Pictures", "Public", "Templates", "Videos", "bin", "snap"}
)
IN_ROOT = frozenset(
    {"Applications", "Library", "System", "Users", "Volumes", "bin", "boot", "dev", "etc", "home", "lib", "lib64"}
    | {"media", "mnt", "opt", "private", "proc", "root", "run", "sbin", "srv", "sys", "tmp", "usr", "var"}
)
"""What stands in every home and every file system: nobody's project, unless git or its own word says so."""

TEMPORARY = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp")  # noqa: S108 - named to be left alone

LONGEST_LOOK = 0.2
MOST_ENTRIES = 2000
"""How many seconds and entries a look for child repositories may take."""

MOST_NAMED = 10


class Told(NamedTuple):
    """What a folder is called and which place it is; `word` is the file that says so, where it is its own word."""

    name: str
    place: str
    word: str = ""


def project_of(folder: str | os.PathLike[str], home: str | os.PathLike[str], names: Names | None = None) -> str:
    """The project's identity, such as `github.com/acme/api`; "" outside one.

    The home folder, the root of the file system and the folder for temporary files are never a project. `names`
    says which places may go by a plain name; without it a folder is taken at its word.

    Raises:
        Conflict: when `.engram/config.json` cannot be understood or takes the name of another project, or several
            projects lie in the folder; it says which, and how to choose.
    """
    told = _project(folder, os.path.realpath(home))  # a linked home is still the home
    if told is None:
        return ""
    if names is not None and "/" not in told.name:
        names.require(told.name, told.place, own_word=told.word)
    return told.name


def _project(folder: str | os.PathLike[str], end: str) -> Told | None:
    above = list(_upwards(folder, end))
    for place in above:
        if told := told_by(place):
            return told
    own = [place for place in above if not _everybodys(place, end)]
    if not own:
        return None
    found, whole = _repositories(own[0])
    children = {told.name: told for child in found if (told := told_by(child))}
    if children and (whole or len(children) > 1):
        return _only(own[0], children)
    named = next((place for place in own if _is_marked(place)), "")
    holds = found if named == own[0] else named and _repositories(named)[0]
    return None if holds or not named else Told(printable(os.path.basename(named)), named)


def root_of(folder: str | os.PathLike[str], home: str | os.PathLike[str]) -> str:
    """The folder whose word counts here: where the own word or the repository stands, else the folder itself.

    Raises:
        Conflict: in a folder that is never a project.
    """
    above = list(_upwards(folder, os.path.realpath(home)))
    if not above:
        place = os.path.realpath(folder)
        raise Conflict(f"{place} is never a project: everything else lies in it.", "Go into the project's folder.")
    marks = (path_in, lambda place: os.path.join(place, ".git"))
    return next((place for place in above if any(os.path.lexists(mark(place)) for mark in marks)), above[0])


def repository_of(folder: str | os.PathLike[str], home: str | os.PathLike[str]) -> str:
    """The folder in which a folder's project exchanges memories: its root, or the only repository within it.

    Raises:
        Conflict: in a folder that is never a project.
    """
    root = root_of(folder, home)
    if told_by(root) or _everybodys(root, os.path.realpath(home)):
        return root
    found, whole = _repositories(root)
    children = {told.name: child for child in sorted(found, reverse=True) if (told := told_by(child))}
    return next(iter(children.values())) if whole and len(children) == 1 else root


def told_by(place: str) -> Told | None:
    """What a folder itself says: its own word, else what its repository tells; None when it says nothing."""
    mark = os.path.join(place, ".git")
    is_repository = os.path.exists(mark)
    remote = remote_at(mark) if is_repository else ""
    plain = printable((remote or repository_name(mark)) if is_repository else os.path.basename(place))
    word = own_word(place, remote)
    if not (word or is_repository):
        return None
    return Told(word or plain, place_of(place), path_in(place) if word not in ("", plain) else "")


# which folders count


def _upwards(folder: str | os.PathLike[str], end: str) -> Iterator[str]:
    """The folder and those above it, as long as they may be a project."""
    place = os.path.realpath(folder)
    given = os.environ.get("TMPDIR", "")
    ends = {end, *TEMPORARY, *([os.path.realpath(given)] if given else [])}
    while place not in ends and place != os.path.dirname(place):
        yield place
        place = os.path.dirname(place)


def _everybodys(place: str, home: str) -> bool:
    """Whether a folder is part of the machine, of every home, or of somebody else's work."""
    above, name = os.path.split(place)
    if (above == home and name in IN_HOME) or (above == os.path.dirname(above) and name in IN_ROOT):
        return True
    below = place.removeprefix(f"{home}{os.sep}") if home != os.sep else place
    return any(part.startswith(".") or part in SKIPPED for part in below.split(os.sep))


def _is_marked(place: str) -> bool:
    return any(os.path.isfile(os.path.join(place, name)) for name in MARKERS)


def _repositories(place: str) -> tuple[list[str], bool]:
    """The repositories directly in a folder, and whether all of it could be looked at."""
    found: list[str] = []
    until, count = time.monotonic() + LONGEST_LOOK, 0
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                count += 1
                if count > MOST_ENTRIES or time.monotonic() > until:
                    return found, False
                if _may_be_repository(entry) and os.path.exists(os.path.join(entry.path, ".git")):
                    found.append(entry.path)
    except OSError:
        return [], True  # what may not be looked into tells nothing
    return found, True


def _may_be_repository(entry: os.DirEntry[str]) -> bool:
    return not entry.name.startswith(".") and entry.name not in SKIPPED and entry.is_dir(follow_symlinks=False)


def _only(place: str, children: dict[str, Told]) -> Told:
    names = sorted(children)
    if len(names) == 1:
        return children[names[0]]
    more = [f"and {len(names) - MOST_NAMED} more"] if len(names) > MOST_NAMED else []
    raise Ambiguous(
        f"{place} holds several projects: {', '.join([*names[:MOST_NAMED], *more])}.",
        f"Say where it holds: --scope=global for what holds everywhere, --scope=project:{names[0]} for one of them."
        f" Or go into one, or set ENGRAM_PROJECT={names[0]}. To make this folder a project: engram init NAME.",
        tuple(names),
    )
