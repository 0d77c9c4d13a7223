"""What is left of a memory that was erased: pieces of its texts, looked for in the raw files."""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from engram.engines.files.history import Line, State, Step
from engram.model.codec import encode

TELLING = ("text", "summary", "key", "tags", "citations")
"""The fields that hold a person's words; the others are ours, and occur all over the store."""

SHORTEST = 8
"""Pieces of fewer characters occur by chance, and prove nothing."""


def needles(lines: Iterable[Line], steps: Iterable[Step], erase: Iterable[str]) -> list[bytes]:
    """Pieces of the texts about to be erased, long enough to be telling."""
    told, ids = set[str](), set(erase)
    for line in lines:
        for edit in line.event.payload.edits if line.event.payload else ():
            if edit.id in ids and edit.field in TELLING:
                told.update(_strings([edit.old, edit.new]))
    for step in steps:
        if step.before and step.id in ids:
            told.update(_strings([encode(step.before).get(name) for name in TELLING]))
    escaped = (json.dumps(text, ensure_ascii=False)[1:-1] for text in told)
    pieces = {text[at : at + 48] for text in escaped for at in range(0, max(len(text) - 11, 1), 48)}
    return [piece.encode() for piece in pieces if len(piece) >= SHORTEST]


def left(folder: str, wanted: Iterable[bytes], state: State) -> int:
    """How many pieces can still be read in the folder's files; one that another record holds is no trace."""
    held = json.dumps(state.documents, ensure_ascii=False).encode()
    mine, found = [needle for needle in wanted if needle not in held], 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError), open(os.path.join(place, name), "rb") as file:
                content = file.read()
                found += sum(needle in content for needle in mine)
    return found


def _strings(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)
