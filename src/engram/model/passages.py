"""What of a memory is embedded: its summary, text and tags; a long text in windows, each under the summary."""

import functools
import re

from engram.model.memory import Memory

WINDOW = 400
"""Characters of one window: two or three sentences. Longer ones say too many things for one vector to point at."""

MOST_WINDOWS = 328
"""Enough for the longest text, cut where a window is half full."""


def passages(memory: Memory) -> list[str]:
    """The texts whose vectors stand for a memory: at least one, in order."""
    tags = ", ".join(memory.tags)
    pieces = windows(memory.text)
    pieces[-1] = f"{pieces[-1]}\n{tags}" if tags else pieces[-1]
    return [f"{memory.summary}\n{piece}" for piece in pieces] if memory.summary else pieces


def windows(text: str, size: int = WINDOW) -> list[str]:
    """A text in pieces of at most `size` characters, cut after a line or a sentence where there is one."""
    if len(text) <= size:
        return [text]
    out: list[str] = []
    begin = 0
    while begin < len(text) and len(out) < MOST_WINDOWS:
        end = begin + size
        if end < len(text):
            ends = [match.end() for match in _stops().finditer(text, begin + size // 2, end)]
            end = ends[-1] if ends else end
        if piece := text[begin:end].strip():
            out.append(piece)
        begin = end
    return out or [text[:size]]


@functools.cache
def _stops() -> re.Pattern[str]:
    """Where a reader would pause: the end of a line, or of a sentence."""
    return re.compile(r"\n+|[.!?;][\"')\]]*\s+|[\u3002\uff01\uff1f\uff1b]")
