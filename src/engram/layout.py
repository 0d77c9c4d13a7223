"""What lies at a place, told by names alone before an engine is loaded: plain files, a database or nothing yet."""

import os
from collections.abc import Iterable

PLAIN_FILES = ("memory.md", "memory-log.md", "events.jsonl", "audit.jsonl")
"""The files of a store of plain files, by any of which it is known: each can be lost, and the others still tell."""

LOCK = ".lock"
DRAFT = ".new"
"""How names end that whatever is written has until all of it is there."""

DATABASE = "engram.db"
"""The name of a database in a folder that stands for it."""

DATABASE_ENDINGS = frozenset({".db", ".db3", ".sqlite", ".sqlite3"})
"""How the name of a database ends that is not there yet."""

_OF_TOOLS = frozenset(
    {
        *(".git", ".gitattributes", ".gitignore", ".gitkeep", ".gitmodules", ".hg", ".hgignore", ".jj", ".svn"),
        *(".stfolder", ".stignore", ".stversions", ".sync", ".SyncID", ".SyncIgnore", ".owncloudsync.log"),
        *(".DS_Store", ".localized", ".directory"),
    }
)
_BEGINS_OF_TOOLS = (".dropbox", ".syncthing.", ".sync_", ".csync_", ".nextcloudsync", "._")
"""What version control, sync tools and file managers hide in a folder; what else is hidden there is somebody's."""


def is_plain_files(folder: str) -> bool:
    """Whether something of a store of plain files lies in a folder, whichever of its files were lost."""
    return any(os.path.lexists(os.path.join(folder, name)) for name in PLAIN_FILES)


def is_vacant(names: Iterable[str]) -> bool:
    """Whether a folder with these names in it is nobody's yet: what tools hide, and a killed first save left."""
    return all(
        name in _OF_TOOLS
        or name == LOCK
        or name.startswith(_BEGINS_OF_TOOLS)
        or (name.startswith(".") and name.endswith(DRAFT))
        for name in names
    )


def is_database(path: str) -> bool:
    """Whether a database lies at a path, be it by a log alone whose file is gone."""
    return os.path.lexists(path) or has_lost_its_file(path)


def has_lost_its_file(path: str) -> bool:
    """Whether a database is gone while its log is still there, with what was last saved in it.

    Who makes a database puts its file there before a log of it: so the log is looked for first, and one that
    another process began meanwhile is not mistaken.
    """
    try:
        left = os.path.getsize(f"{path}-wal")
    except (OSError, ValueError):  # none, or no name that a file can have
        return False
    return left > 0 and not os.path.lexists(path)
