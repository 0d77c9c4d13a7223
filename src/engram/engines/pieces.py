"""What is searched for in raw files after an erasure: pieces of a record's text, long enough to identify it."""

import json
from collections.abc import Iterable

TELLING = (
    *("text", "summary", "key", "tags", "citations"),
    *("reason", "evidence", "name", "agent", "context"),  # of relations and sessions
)
"""The fields that hold words of people and programs; the others are ours, and occur all over the store."""

SHORTEST, LONGEST = 8, 48
"""Characters of a piece: fewer occur by chance, and prove nothing."""

REST = 12
"""Characters that must be left of a text for a further piece."""


def pieces_of(texts: Iterable[str]) -> frozenset[str]:
    """Texts in pieces; a text that is shorter than one is left out."""
    cut = {text[at : at + LONGEST] for text in texts for at in range(0, max(len(text) - REST + 1, 1), LONGEST)}
    return frozenset(piece for piece in cut if len(piece) >= SHORTEST)


def as_json(text: str) -> str:
    """A text as documents write it, without the quotes around it."""
    return json.dumps(text, ensure_ascii=False)[1:-1]
