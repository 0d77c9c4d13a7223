"""What git's own files tell of a working tree: its remote, branch and commit, and its place; no git is run."""

import os
from collections.abc import Iterable, Iterator

from engram.model.evidence import Checkout
from engram.projects.config_file import printable

LARGEST = 1024 * 1024


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


def checkout_of(folder: str | os.PathLike[str], default: str) -> Checkout | None:
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
        self._outside: tuple[tuple[int, ...], tuple[str, ...]] = ((), ())  # the folder, and what would mark it

    def look(self) -> Checkout | None:
        """The working tree as it is now; None outside git."""
        return checkout_of(self._folder, self._default)

    def view(self) -> str:
        """The line of work it stands on, "" on the default branch.

        Once the working tree is known it costs a look at one file from outside: git writes a head anew to move it.
        Once there is known to be none it costs a look for what would make the folder, or one above, one.
        """
        if self._head and (seen := _looks(self._head)) and seen == self._stood[0]:
            return self._stood[1]
        folder = _looks(self._folder)
        if folder and folder == self._outside[0] and not any(map(_is_there, self._outside[1])):
            return ""
        checkout = self.look()
        if checkout is None:
            self._outside = folder, tuple(_marks_above(self._folder))
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


def _is_there(path: str) -> bool:
    """Whether a path leads to something: asking for no more takes half the time where there is nothing."""
    return os.access(path, os.F_OK)


def tip_of(common: str, reference: str) -> str:
    """The commit that a reference (`refs/heads/main`) of a repository points at; "" when there is none."""
    return _resolve(reference, common, common) if _is_reference(reference) else ""


def remote_of(root: str) -> str:
    """The identity that the remote of the repository in this folder tells; "" when it tells none."""
    return printable(remote_at(os.path.join(root, ".git")))


def place_of(root: str) -> str:
    """Which place a folder is: what its remote tells, else its repository, shared by worktrees, else its path."""
    mark = os.path.join(root, ".git")
    return remote_of(root) or (_shared(mark) if os.path.exists(mark) else os.path.realpath(root))


def remote_at(mark: str) -> str:
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


def repository_name(mark: str) -> str:
    """The name of a repository without a remote, the same for all its linked worktrees.

    It is the name of the folder it is in. Where the repository lies elsewhere (a linked worktree, a submodule),
    it is that of the repository's own folder, or of the one above where that is hidden.
    """
    above, name = os.path.split(_shared(mark))
    return os.path.basename(above) if name.startswith(".") else name.removesuffix(".git")


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


def _mark_above(folder: str | os.PathLike[str]) -> tuple[str, str] | None:
    """The folder of a working tree and what marks it as one, looking upwards."""
    mark = next(filter(os.path.lexists, _marks_above(folder)), None)
    return (os.path.dirname(mark), mark) if mark else None


def _marks_above(folder: str | os.PathLike[str]) -> Iterator[str]:
    """What would mark a folder, and each one above it, as a working tree."""
    place, above = "", os.path.realpath(folder)
    while place != above:
        place, above = above, os.path.dirname(above)
        yield os.path.join(place, ".git")


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
    packed = os.path.join(common, "packed-refs")
    if not os.path.isfile(packed):  # a pipe would be waited for, and a device read without end
        return ""
    try:
        with open(packed, encoding="utf-8", errors="replace") as lines:
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
