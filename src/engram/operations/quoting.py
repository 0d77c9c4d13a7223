"""What a log may quote: words that somebody gave, without credentials."""

from engram.rules.redact import redact


def quotable(text: str) -> str:
    """A line for a log, with nothing private in it: a log stays where nobody looks for memories."""
    return redact(text).text
