"""The project of a folder: its own word, else its git remote or root, a single child, its name; no git is run."""

import os
import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from engram.errors import Ambiguous, Conflict
from engram.model.evidence import Checkout
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
LARGEST = 1024 * 1024


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


def told_by(place: str) -> Told | None:
    """What a folder itself says: its own word, else what its repository tells; None when it says nothing."""
    mark = os.path.join(place, ".git")
    is_repository = os.path.exists(mark)
    remote = _remote(mark) if is_repository else ""
    plain = printable((remote or _repository(mark)) if is_repository else os.path.basename(place))
    word = own_word(place, remote)
    if not (word or is_repository):
        return None
    return Told(word or plain, place_of(place), path_in(place) if word not in ("", plain) else "")


def remote_of(root: str) -> str:
    """The identity that the remote of the repository in this folder tells; "" when it tells none."""
    return printable(_remote(os.path.join(root, ".git")))


def place_of(root: str) -> str:
    """Which place a folder is: what its remote tells, else its repository, shared by worktrees, else its path."""
    mark = os.path.join(root, ".git")
    return remote_of(root) or (_shared(mark) if os.path.exists(mark) else os.path.realpath(root))


def branch_of(folder: str | os.PathLike[str]) -> tuple[str, str]:
    """The branch and the commit a folder stands on; "" for what there is none of.

    A detached head has no branch, a new repository no commit. Where git keeps its references in its binary form
    (reftable) neither is known.
    """
    found = _mark_above(folder)
    if found is None:
        return "", ""
    try:
        own, common = _git_folders(found[1])
        return _head(own, common)
    except OSError:
        return "", ""


def checkout_of(folder: str | os.PathLike[str], default: str = "") -> Checkout | None:
    """The working tree that a folder is part of; None outside git. `default` names its default branch, if told.

    While a branch is rebased the head is detached; the work is still that branch's.
    """
    found = _mark_above(folder)
    if found is None:
        return None
    root, mark = found
    try:
        own, common = (os.path.realpath(each) for each in _git_folders(mark))
        branch, commit = _head(own, common)
    except OSError:
        return None
    return Checkout(
        root=root,
        own=own,
        common=common,
        identity=place_of(root),
        branch=branch or _rebased(own),
        commit=commit,
        default=default or _default_branch(common),
    )


class Whereabouts:
    """Where a folder stands in git, told anew whenever it is asked: branches change under a running server."""

    def __init__(self, folder: str, default: str = "") -> None:
        self._folder, self._default = folder, default
        self._head = ""
        self._stood: tuple[tuple[int, ...], str] = ((), "")  # what the head looked like, and the view that follows

    def look(self) -> Checkout | None:
        """The working tree as it is now; None outside git."""
        return checkout_of(self._folder, self._default)

    def view(self) -> str:
        """The line of work it stands on, "" on the default branch.

        Once the working tree is known it costs a look at one file from outside: git writes a head anew to move it.
        """
        if self._head and (seen := _looks(self._head)) and seen == self._stood[0]:
            return self._stood[1]
        checkout = self.look()
        if checkout is None:
            return ""
        self._head = os.path.join(checkout.own, "HEAD")
        seen = _looks(self._head)
        view = (self.look() or checkout).view  # after the look from outside, so that no move in between is missed
        # While a branch is rebased its head says nothing about it, so it is looked at each time.
        self._stood = (() if _rebased(checkout.own) else seen), view
        return view


def _looks(path: str) -> tuple[int, ...]:
    """What tells that a file is not the one it was."""
    try:
        seen = os.stat(path)
    except OSError:
        return ()
    return seen.st_mtime_ns, seen.st_ino, seen.st_size


def tip_of(common: str, reference: str) -> str:
    """The commit that a reference (`refs/heads/main`) of a repository points at; "" when there is none."""
    return _resolve(reference, common, common) if _is_reference(reference) else ""


def _mark_above(folder: str | os.PathLike[str]) -> tuple[str, str] | None:
    """The folder of a working tree and what marks it as one, looking upwards."""
    place = os.path.realpath(folder)
    while not os.path.lexists(mark := os.path.join(place, ".git")):
        if place == (place := os.path.dirname(place)):
            return None
    return place, mark


def _head(own: str, common: str) -> tuple[str, str]:
    """The branch and the commit that a checkout's head names.

    Raises:
        OSError: when it has no head.
    """
    head = _text(os.path.join(own, "HEAD")).strip()
    if not head.startswith("ref:"):
        return "", _commit(head)
    reference = head[4:].strip()
    if not _is_reference(reference):
        return "", ""
    branch = printable(reference.removeprefix("refs/heads/")) if reference.startswith("refs/heads/") else ""
    return branch, _resolve(reference, own, common)


def _rebased(own: str) -> str:
    """The branch that is being rebased in a checkout; "" when none is."""
    for state in ("rebase-merge", "rebase-apply"):
        try:
            return printable(_text(os.path.join(own, state, "head-name")).strip().removeprefix("refs/heads/"))
        except OSError:
            continue
    return ""


def _default_branch(common: str) -> str:
    """The branch that work is merged into: what the remote says, else the first of the usual names there is."""
    try:
        head = _text(os.path.join(common, "refs", "remotes", "origin", "HEAD")).strip()
    except OSError:
        head = ""
    if (said := head.removeprefix("ref:").strip()).startswith("refs/remotes/origin/"):
        return printable(said.removeprefix("refs/remotes/origin/"))
    for name in ("main", "master", "trunk"):
        if tip_of(common, f"refs/heads/{name}") or tip_of(common, f"refs/remotes/origin/{name}"):
            return name
    return ""


def remote_identity(url: str) -> str:
    """`host/owner/repository` of a git address in any of its forms; "" for a path on this machine."""
    rest = url.strip()
    if "://" in rest:
        scheme, _, rest = rest.partition("://")
        if scheme == "file":
            return ""
        host, _, path = rest.partition("/")
    else:
        host, colon, path = rest.partition(":")
        if not colon or "/" in host or len(host) == 1:
            return ""
    host = host.rpartition("@")[2].partition(":")[0].lower()
    path = path.strip("/").removesuffix(".git").strip("/")
    return f"{host}/{path}" if host and path else ""


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
        f"Go into one of them, or say which: ENGRAM_PROJECT={names[0]}, or --scope project:{names[0]}."
        " To make this folder a project of its own: engram init NAME.",
        tuple(names),
    )


# what a repository tells


def _remote(mark: str) -> str:
    """The identity of `origin`, or of the only remote, read from the repository's own configuration."""
    try:
        text = _text(os.path.join(_git_folders(mark)[1], "config"))
    except OSError:
        return ""
    remotes: dict[str, str] = {}
    section = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            section = line[8:-1].strip().strip('"') if line.startswith("[remote ") else ""
        elif section and line.replace(" ", "").startswith("url="):
            remotes.setdefault(section, line.partition("=")[2].strip())
    url = remotes.get("origin") or (next(iter(remotes.values())) if len(remotes) == 1 else "")
    return remote_identity(url)


def _repository(mark: str) -> str:
    """The name of a repository without a remote, the same for all its linked worktrees.

    It is the name of the folder it is in. Where the repository lies elsewhere (a linked worktree, a submodule),
    it is that of the repository's own folder, or of the one above where that is hidden.
    """
    above, name = os.path.split(_shared(mark))
    return os.path.basename(above) if name.startswith(".") else name.removesuffix(".git")


def _shared(mark: str) -> str:
    """The folder that a repository and its linked worktrees share."""
    try:
        common = os.path.realpath(_git_folders(mark)[1])
    except OSError:
        return mark
    return common if os.path.isdir(common) else mark


def _git_folders(mark: str) -> tuple[str, str]:
    """A checkout's own git folder, and the one it shares with its linked worktrees; often the same.

    Raises:
        OSError: when the mark points nowhere.
    """
    if os.path.isdir(mark):
        return mark, mark
    target = _text(mark).partition("gitdir:")[2].strip()
    own = os.path.join(os.path.dirname(mark), target)
    common = os.path.join(own, "commondir")
    return own, os.path.join(own, _text(common).strip()) if os.path.isfile(common) else own


def _is_reference(name: str) -> bool:
    parts = name.split("/")
    return parts[0] == "refs" and not any(part.startswith(".") or not part for part in parts)


def _resolve(reference: str, own: str, common: str) -> str:
    """The commit of a reference: from a file of its own, in the checkout or shared, else from the packed ones."""
    for folder in dict.fromkeys((own, common)):
        try:
            return _commit(_text(os.path.join(folder, *reference.split("/"))))
        except OSError:
            continue
    try:
        with open(os.path.join(common, "packed-refs"), encoding="utf-8", errors="replace") as lines:
            return _packed(reference, lines)
    except OSError:
        return ""


def _packed(reference: str, lines: Iterable[str]) -> str:
    for line in lines:
        commit, _, name = line.strip().partition(" ")
        if name == reference:
            return _commit(commit)
    return ""


def _commit(text: str) -> str:
    """A commit's name, if it is one: hexadecimal, of SHA-1 or SHA-256."""
    name = text.strip()
    return name if len(name) in (40, 64) and not set(name) - set("0123456789abcdef") else ""


def _text(path: str) -> str:
    """The text of a plain file.

    Raises:
        OSError: when it cannot be read, or is none: a pipe would be waited for.
    """
    if not os.path.isfile(path):
        raise FileNotFoundError(path)
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(LARGEST)
