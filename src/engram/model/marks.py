"""Marks: those around what was recalled, so that it is never captured as new; and the tag that keeps one out."""

import re

BEGIN = "<engram-memory>"
END = "</engram-memory>"

NO_CONTEXT = "no-context"
"""The tag that keeps a memory out of every context; whoever asks for it still finds it."""

_NAME = re.compile("engram-memory", re.IGNORECASE)
"""The word in both marks; a model may take a mark in other letters for one."""


def marked(text: str) -> str:
    """What was recalled between its marks, with none of its own in it."""
    return f"{BEGIN}\n{_NAME.sub(_otherwise, text)}\n{END}"


def _otherwise(name: re.Match[str]) -> str:
    """The word as it is written within a block, where nothing may end it."""
    return name[0].replace("-", "\u2011")
