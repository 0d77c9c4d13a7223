"""The knowledge graph of `@modelcontextprotocol/server-memory`: a file of JSON lines, entities and relations.

An entity is a memory that says what it is, each of its observations one that says what is known of it. A relation
ties the two entities, and is a memory in words as well: words are what is found.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from engram.interop.forms import Foreign, Form, Problem, Source
from engram.interop.peers.reading import Row, parsed, tied, told
from engram.interop.streams import LARGEST, as_text

STORE = "server-memory"
Make = Callable[[str, Any], Iterator[Foreign | Problem]]
_FIRST = re.compile(rb'\s*\{[^\n]*"type"\s*:\s*"(?:entity|relation)"')
_MARK = re.compile(rb'"(?:entityType|relationType)"\s*:')


def recognises(source: Source) -> bool:
    """Whether the first line is an entity or a relation."""
    first = source.head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    return not source.folder and bool(_FIRST.match(first) and _MARK.search(first))


def read(source: Source) -> Iterator[Foreign | Problem]:
    """What every line says, then what ties what."""
    yield from _lines(source, _line)
    yield from _lines(source, _tie)


def _lines(source: Source, make: Make) -> Iterator[Foreign | Problem]:
    """What is made of each line, in order."""
    with open(source.path, "rb") as file, as_text(file, source.head) as text:
        number = 0
        while line := text.readline(LARGEST):
            number += 1
            value = parsed(line) if len(line) < LARGEST else None
            if line.strip():
                yield from make(f"line {number}", value)
            while len(line) == LARGEST and not line.endswith("\n"):
                line = text.readline(LARGEST)


def _line(name: str, value: Any) -> Iterator[Foreign | Problem]:  # noqa: ANN401 - any JSON
    if not isinstance(value, dict):
        yield Problem(name, "It is not a JSON object, or a very long one.")
    elif value.get("type") == "entity":
        yield from _entity(name, Row(value))
    elif value.get("type") == "relation":
        yield from _relation(name, Row(value))
    else:
        yield Problem(name, "It is neither an entity nor a relation.")


def _entity(name: str, row: Row) -> Iterator[Foreign | Problem]:
    row.get("type")
    called, word = row.text("name"), row.text("entityType")
    observations = row.get("observations") or []
    if not called or not isinstance(observations, list):
        yield Problem(name, "It has no name." if not called else "Its observations are not a list.")
        return
    shared: dict[str, Any] = {"word": word, "tags": [called]}
    yield from told(
        name, STORE, called, f"{called} ({word})" if word else called, dropped=row.rest(), apart=True, **shared
    )
    for n, said in enumerate(observations, 1):
        each = f"{name}, observation {n}"
        if isinstance(said, str) and said.strip():
            yield from told(each, STORE, f"{called}\x1f{said}", f"{called}: {said.strip()}", **shared)
        else:
            yield Problem(each, "It says nothing.")


def _relation(name: str, row: Row) -> Iterator[Foreign | Problem]:
    row.get("type")
    first, second, word = row.text("from"), row.text("to"), row.text("relationType")
    if not (first and second and word):
        yield Problem(name, "It lacks an end or a type.")
        return
    in_words = word.replace("_", " ")
    yield from told(
        name,
        STORE,
        f"{first}\x1f{word}\x1f{second}\x1f",
        f"{first} {in_words} {second}",
        tags=[first, second],
        dropped=row.rest(),
    )


def _tie(name: str, value: Any) -> Iterator[Foreign | Problem]:  # noqa: ANN401 - any JSON
    """The relation of a line, if it is one that has all it needs."""
    row = Row(value if isinstance(value, dict) and value.get("type") == "relation" else {})
    first, second, word = row.text("from"), row.text("to"), row.text("relationType")
    if first and second and word:
        yield tied(name, STORE, (first, second), word)


FORM = Form(
    STORE,
    "the JSON Lines of @modelcontextprotocol/server-memory",
    recognises,
    read,
    placed=False,
)
