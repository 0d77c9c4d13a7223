"""Marks: those around what was recalled, so that it is never captured as new; and the tag that keeps one out."""

BEGIN = "<engram-memory>"
END = "</engram-memory>"

NO_CONTEXT = "no-context"
"""The tag that keeps a memory out of every context; whoever asks for it still finds it."""

NAME, OTHERWISE = "engram-memory", "engram\u2011memory"
"""The word in both marks, and how it is written within a block, where nothing may end it."""


def marked(text: str) -> str:
    """What was recalled between its marks, with none of its own in it."""
    return f"{BEGIN}\n{text.replace(NAME, OTHERWISE)}\n{END}"
