"""Transcripts of coding agents on this machine: which there are, and what was said in them since the last look.

Read are those of Claude Code, Codex, OpenCode, Gemini CLI and Cursor, in the forms in which these keep them. Whose
a file is, is told by what is in it. Nothing is ever written beside them, and no link is followed.
"""

import os
import stat
from collections.abc import Iterator
from typing import NamedTuple

from engram.errors import EngramError, Invalid
from engram.interop import transcripts_databases as databases
from engram.interop import transcripts_documents as documents
from engram.interop import transcripts_lines as lines
from engram.interop.transcripts_turns import Conversation, Reading, Turn

__all__ = ["HARNESSES", "Conversation", "Found", "Reading", "Turn", "find", "read"]

HARNESSES = ("claude-code", "codex", "cursor", "gemini-cli", "opencode")
ENDINGS = (".jsonl", ".json", ".db", ".vscdb")
PASSED = frozenset({"node_modules", ".git", "__pycache__"})


class Found(NamedTuple):
    """The conversations at a path in order of their files, how many files were none, and what could not be read."""

    conversations: tuple[Conversation, ...]
    unknown: int
    problems: tuple[str, ...]


def find(path: str, harness: str = "") -> Found:
    """Every conversation in a file, or in a folder and the folders in it; of one harness alone where it is named.

    Raises:
        Invalid: when there is no such path, or a file that was named is no transcript.
    """
    path = os.path.abspath(os.path.expanduser(path))
    if not os.path.exists(path):
        raise Invalid(f"{path} is not there.", "Give a transcript, or a folder such as ~/.claude/projects.")
    alone = not os.path.isdir(path)
    conversations: list[Conversation] = []
    unknown, problems = 0, []
    for file in [path] if alone else _files(path):
        try:
            here = _conversations(file)
        except OSError as error:
            problems.append(f"{file} cannot be read: {error.strerror}.")
            continue
        except EngramError as error:
            problems.append(error.message)
            continue
        fitting = [one for one in here if harness in ("", one.harness)]
        unknown += not fitting
        conversations += fitting
    if alone and unknown:
        whose = harness or "an agent known here"
        raise Invalid(f"{path} is not a transcript of {whose}.", f"Known are: {', '.join(HARNESSES)}.")
    return Found(tuple(conversations), unknown, tuple(problems))


def read(conversation: Conversation, mark: str = "") -> Reading:
    """What was said in a conversation since the mark, by the person and the agent alone.

    Raises:
        Unavailable: when a database cannot be read now.
        OSError: when a file cannot be read.
    """
    if conversation.path.endswith((".db", ".vscdb")) or databases.is_database(conversation.path):
        return databases.read(conversation, mark)
    if conversation.harness in ("gemini-cli", "opencode"):
        return documents.read(conversation, mark)
    return lines.read(conversation, mark)


def _files(folder: str) -> Iterator[str]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in PASSED)
        if "opencode.db" in names and "storage" in folders:
            folders.remove("storage")  # what the database has taken over would be told twice
        for name in sorted(names):
            path = os.path.join(place, name)
            if name.endswith(ENDINGS) and not os.path.islink(path):
                yield path


def _conversations(path: str) -> list[Conversation]:
    """What a file holds. Pipes and devices hold nothing: reading from them might never end."""
    state = os.stat(path)
    if not stat.S_ISREG(state.st_mode):
        return []
    stamp = f"{state.st_size}:{state.st_mtime_ns}:{state.st_ino}"
    if databases.is_database(path):
        return databases.find(path)
    if path.endswith(".json"):
        one = documents.describe(path, stamp, documents.load(path))
        return [one] if one else []
    records = lines.head(path)
    harness = lines.harness_of(records)
    if harness == "gemini-cli":
        meta = next(record for record in records if lines.harness_of([record]))
        return [documents.gemini(path, stamp, meta)]
    return [lines.describe(harness, path, stamp, records)] if harness else []
