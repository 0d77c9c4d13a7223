"""Citations as people write them: `src/api.py:200-240`, `https://…`, `commit:SHA`, `repo:URL`."""

import re
from typing import cast, get_args

from engram.model.memory import Citation, CitationKind


def parse_citation(said: str | Citation) -> Citation:
    """A citation from its written form: an optional kind, what it points at, and for files the lines.

    Raises:
        Invalid: when nothing is pointed at.
    """
    if isinstance(said, Citation):
        return said
    head, colon, rest = said.strip().partition(":")
    if colon and head in get_args(CitationKind):
        kind, ref = cast("CitationKind", head), rest
    elif re.match(r"https?://", said.strip()):
        kind, ref = "url", said.strip()
    else:
        kind, ref = "file", said.strip()
    if kind == "file" and (place := re.fullmatch(r"(.+?):(L?\d+(?:-L?\d+)?)", ref)):
        return Citation(kind, place[1], place[2])
    return Citation(kind, ref)
