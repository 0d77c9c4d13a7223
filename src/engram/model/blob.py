"""The bytes of an attachment as they rest: their hash, how many, since when, and whether they are seen."""

from datetime import datetime
from typing import NamedTuple


class Blob(NamedTuple):
    """One owner's bytes under one hash. `hidden` ones are about to go, unless something still needs them."""

    sha256: str
    size: int
    at: datetime
    hidden: bool = False
