"""What the fields of a record say: every text that somebody worded, and which are names that programs gave."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from engram.model.event import Event
from engram.model.memory import TALKS
from engram.rules.merge import STATES

UNSAID = frozenset(
    {
        "id",
        "owner",
        "actor",
        "approved_by",
        "from_id",
        "to_id",
        "replaced_by",
        "forgotten_by",
        "amends",
        "sha256",
        "media_type",
    }
)
"""Fields that nobody words: they are made here, or by whoever vouches for a name."""

GIVEN = frozenset({"session", "name", "scope", "branch"})
"""Fields whose words may be random, because programs give them."""


class Said(NamedTuple):
    """A text, and whether it is a name that a program gave."""

    text: str
    given: bool


def texts(field: str, value: object) -> Iterator[Said]:
    """Every text in a field of a record, as JSON has it, in no order."""
    left: list[tuple[str, object, bool]] = [(field, value, False)]
    while left:  # no calls of itself: a stranger's words may be nested deeper than these could go
        name, part, given = left.pop()
        given = given or name in GIVEN
        if name in UNSAID:
            continue
        if isinstance(part, str):
            yield Said(part, given)
        elif isinstance(part, Mapping):
            talk = part.get("kind") in TALKS
            left += [(str(key), each, given or (talk and key != "excerpt")) for key, each in part.items()]
        elif isinstance(part, list | tuple):
            left += [(name, each, given) for each in part]


def told_by(event: Event) -> Iterator[tuple[str, Said]]:
    """Every text that an event tells, with the id of the record that says it; "" where a note does."""
    for edit in event.edits:
        for said in texts(edit.field, (edit.old, edit.new)):
            yield edit.id, said
    for name, noted in event.note.items():
        if name != STATES:
            for said in texts(name, noted):
                yield "", said
            continue
        for id, told in noted.items():
            for field, (*_, value) in told["fields"].items():
                for said in texts(field, value):
                    yield id, said
