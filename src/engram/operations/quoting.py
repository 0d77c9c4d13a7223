"""What a log may quote: words that somebody gave, without credentials."""

from engram.rules.redact import redact


def quotable(text: str) -> str:
    """A line for a log: it stays where nobody looks for memories, so nothing private may be in it."""
    return redact(text).text
