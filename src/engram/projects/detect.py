"""The project of a folder: its own word, else its git remote, else the name of its repository; no git is run."""

import json
import os

from engram.errors import Conflict


def project_of(folder: str | os.PathLike[str], home: str | os.PathLike[str]) -> str:
    """The project's identity, such as `github.com/acme/api`; "" outside one.

    The home folder and the root of the file system are never a project.

    Raises:
        Conflict: when `.engram/config.json` cannot be understood.
    """
    place, end = os.path.realpath(folder), os.path.realpath(home)  # a linked home is still the home
    while place not in (end, os.path.dirname(place)):
        if os.path.isfile(own := os.path.join(place, ".engram", "config.json")):
            return _own_word(own, _remote(os.path.join(place, ".git")))
        if os.path.exists(mark := os.path.join(place, ".git")):
            return _safe(_remote(mark) or _repository(mark))
        place = os.path.dirname(place)
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


def _own_word(path: str, remote: str) -> str:
    try:
        name = json.loads(_text(path))["project"]
    except (OSError, ValueError, KeyError, TypeError):
        name = None
    if not isinstance(name, str) or not name.strip():
        raise Conflict(f"{path} does not name a project.", 'Write {"project": "NAME"} into it, or remove it.')
    if "/" in name and name.strip() != remote:
        raise Conflict(
            f"{path} claims to be {name.strip()}, which is not this repository.",
            "A name of its own has no slash; what has one is told by the git remote.",
        )
    return _safe(name.strip())


def _remote(mark: str) -> str:
    """The identity of `origin`, or of the only remote, read from the repository's own configuration."""
    try:
        text = _text(os.path.join(_common_folder(mark), "config"))
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
    """The name of the folder the repository is in, the same for all its linked worktrees."""
    try:
        common = os.path.realpath(_common_folder(mark))
    except OSError:
        common = mark
    return os.path.basename(os.path.dirname(common if os.path.isdir(common) else mark))


def _common_folder(mark: str) -> str:
    """The .git folder itself; linked worktrees and submodules point at theirs by a file."""
    if os.path.isdir(mark):
        return mark
    target = _text(mark).partition("gitdir:")[2].strip()
    folder = os.path.join(os.path.dirname(mark), target)
    common = os.path.join(folder, "commondir")
    return os.path.join(folder, _text(common).strip()) if os.path.isfile(common) else folder


def _text(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def _safe(name: str) -> str:
    """A name a scope can carry: `@` would begin a run, and what does not print cannot be typed."""
    clean = "".join(mark if mark.isprintable() and mark != "@" else "-" for mark in name).strip()
    return clean.encode()[:200].decode(errors="ignore")
