"""Marks: those around what was recalled, so that it is never captured as new; and the tag that keeps one out."""

import functools
import re
from collections.abc import Mapping
from types import MappingProxyType

BEGIN = "<engram-memory>"
END = "</engram-memory>"

NO_CONTEXT = "no-context"
"""The tag that keeps a memory out of every context; whoever asks for it still finds it."""

LOOK_ALIKES: Mapping[str, str] = MappingProxyType({"<": "\u2039", ">": "\u203a", "```": "'''", "~~~": "'''"})
"""What could end a block → what looks like it."""

_NAME = re.compile("engram[-\u2010\u2012-\u2015\u2212\ufe58\ufe63\uff0d]memory", re.IGNORECASE)
"""The word in both marks; a model may take a mark in other letters, or with another hyphen, for one."""


def marked(text: str) -> str:
    """What was recalled between its marks, with none of its own in it, and nothing that nobody sees."""
    return f"{BEGIN}\n{unmarked(seen(text))}\n{END}"


def unmarked(text: str) -> str:
    """A text in which no mark of ours stands, in whatever letters."""
    return _NAME.sub(_otherwise, text)


def _otherwise(name: re.Match[str]) -> str:
    """The word as it is written within a block, where nothing may end it."""
    return f"{name[0][:6]}\u2011{name[0][7:]}"


def seen(text: str) -> str:
    """A text without what nobody sees: it could split a mark, turn a line around, or carry a message."""
    return _unseen().sub("", text)


def tame(text: str) -> str:
    """One line that can neither close the block, nor open another, nor hide what it says.

    Angle brackets become look-alikes, fences become quotes, what would begin a heading or a bullet is taken off,
    and so are characters that nobody sees.
    """
    plain = " ".join(seen(text).split())
    plain = _escaped().sub(lambda found: "<" if found[1] else ">", plain)
    for mark, shown in LOOK_ALIKES.items():
        plain = plain.replace(mark, shown)
    return unmarked(_handles().sub("(", _marks().sub("", plain)))


@functools.cache
def _unseen() -> re.Pattern[str]:
    """Controls but for space, marks of format but for the two joiners that words and signs need, and selectors.

    One selector after a sign chooses how it is drawn; more of them could carry a message.
    """
    controls = "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f"
    formats = "\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    others = "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ufe00-\ufe0e"
    return re.compile(f"[{controls}{formats}{others}]|(?<=[\ufe0f\\s])\ufe0f|^\ufe0f")


@functools.cache
def _escaped() -> re.Pattern[str]:
    """An angle bracket as some agents escape it, by name or by number; the first group has the opening one."""
    return re.compile("&(?:(lt;|#0*60;?|#x0*3c;?)|gt;|#0*62;?|#x0*3e;?)", re.IGNORECASE)


@functools.cache
def _handles() -> re.Pattern[str]:
    """What begins like the facts that we put after a line."""
    return re.compile(r"\[(?=mem-\d)", re.IGNORECASE)


@functools.cache
def _marks() -> re.Pattern[str]:
    return re.compile(r"^(?:[#*+>\u203a-]+ )+")
