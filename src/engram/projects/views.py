"""The managed block in agent files: which may carry one, and how it goes in and out without touching the rest."""

import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from engram.errors import Conflict, Invalid
from engram.projects import edits
from engram.projects.edits import Block

NAMES = ("AGENTS.md", "CLAUDE.md", "CURSOR.md")
"""The files that agents look for at the root of a project."""

SUFFIXES = ("", ".md", ".mdc", ".markdown", ".txt")
"""How a file of plain words may end: a block in anything else would break it."""

BEGIN = "<!-- engram:view begin (written by engram views; engram views --remove takes it out) -->"
END = "<!-- engram:view end -->"

OLD_BEGIN, OLD_END = "<!-- engram:begin -->", "<!-- engram:end -->"
"""The marks of a block that another memory.v1 tool wrote; ours takes its place."""


class View(NamedTuple):
    """The block as a piece of a file: a view's text between our marks. It takes the place of an older one."""

    text: str

    def into(self, text: str) -> str:
        """Replace the block that is there, or append it."""
        _require_inside(self.text)
        return Block(BEGIN, self.text, END).into(_adopted(text))

    def out_of(self, text: str, before: str) -> str:
        """Take the block out, and the blank line that came with it."""
        return Block(BEGIN, "", END).out_of(_adopted(text), before)


def written(data: bytes, text: str) -> bytes:
    """A file's bytes with this view in it.

    Raises:
        Invalid, Conflict: when it is not UTF-8, or its marks do not stand there once each, in order.
    """
    return edits.apply(data, [View(text)])


def removed(data: bytes) -> bytes:
    """A file's bytes without a view; empty when nothing else is in it.

    Raises:
        Invalid, Conflict: as for `written`.
    """
    return edits.strip(data, [View("")])


def carries(data: bytes) -> bool:
    """Whether there is a view in a file: somebody asked for it once."""
    return BEGIN.encode() in data or OLD_BEGIN.encode() in data


def candidates(root: str, named: Iterable[object] = ()) -> list[str]:
    """The agent files of a project: those of the usual names that are there, and those that its settings name.

    Raises:
        Invalid: when a name leads out of the project, or to something that is no file of words.
    """
    usual = [path for name in NAMES if os.path.lexists(path := os.path.join(root, name))]
    return list(dict.fromkeys([*usual, *(_inside(root, name) for name in named)]))


def require_words(path: str) -> None:
    """Refuse a file that a block would break.

    Raises:
        Invalid: naming what may carry one.
    """
    if os.path.splitext(path)[1].lower() not in SUFFIXES:
        raise Invalid(f"{path} is neither Markdown nor plain text.", "Name a file such as AGENTS.md or GEMINI.md.")


def repeated(path: str, others: Sequence[str], data: bytes) -> str:
    """Which of the other files this one already gives to its reader, by a link or by an `@` import; "" for none."""
    if os.path.islink(path):
        target = os.path.realpath(path)
        return next((other for other in others if os.path.realpath(other) == target and other != path), "")
    folder = os.path.dirname(path)
    imports = re.findall(r"(?<![\w`])@([^\s`]+)", data.decode(errors="replace"))
    named = {os.path.normpath(os.path.join(folder, each)) for each in imports}
    return next((other for other in others if other != path and os.path.normpath(other) in named), "")


def _inside(root: str, name: object) -> str:
    if not isinstance(name, str) or not name.strip():
        raise Invalid(f"views cannot name {name!r}.", 'Write names of files: views = ["GEMINI.md"].')
    path = os.path.normpath(os.path.join(root, name))
    if not path.startswith(os.path.join(root, "")):
        raise Invalid(f"views names {name}, which is outside of {root}.", "Name files of the project only.")
    require_words(path)
    return path


def _adopted(text: str) -> str:
    """The text with a block of the older form turned into an empty one of ours, where there is none of ours yet."""
    begins = text.count(OLD_BEGIN)
    if not begins or BEGIN in text:
        return text
    start = text.find(OLD_BEGIN)
    end = text.find(OLD_END, start)  # what `engram setup` writes ends with the same mark
    if begins > 1 or end < 0:
        raise Conflict(
            f"The marks {OLD_BEGIN} and {OLD_END} do not stand there once each, in order.",
            "Leave one pair, or none, and run it again.",
        )
    return f"{text[:start]}{BEGIN}{END}{text[end + len(OLD_END) :]}"


def _require_inside(text: str) -> None:
    """A view whose text could end its own block is never written, whoever made it."""
    if "<!--" in text or "-->" in text:
        raise Invalid("The text of a view holds a comment's mark.", "This is a bug: please report it.")
