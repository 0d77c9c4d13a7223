"""What a model found in a talk, what asking it cost, and what went wrong."""

from typing import NamedTuple


class Extracted(NamedTuple):
    """One statement that a model found: its text and kind, how sure it is, and the number of its message."""

    text: str
    kind: str
    confidence: float
    message: int


class Extraction(NamedTuple):
    """All that was found in some messages. `over` says that the model will not be asked again.

    `dropped` counts what was found and is no statement that cites one of the messages.
    """

    found: tuple[Extracted, ...] = ()
    tokens: int = 0
    dropped: int = 0
    problem: str = ""
    hint: str = ""
    over: bool = False
