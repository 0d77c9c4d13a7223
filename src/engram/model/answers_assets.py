"""What operations on attachments and insights answer."""

from collections.abc import Mapping
from datetime import datetime

from engram.model.answers import Answer
from engram.model.memory import Asset, Memory
from engram.model.record import NONE


class Insights(Answer):
    """What was noticed about a person: a page, or what fits a question; the first page counts by category."""

    at: datetime
    memories: tuple[Memory, ...]
    next: str | None = None
    categories: Mapping[str, int] = NONE
    hint: str = ""


class AssetRow(Answer):
    """One attachment of a memory; `here` says whether its bytes are in this store."""

    sha256: str
    name: str
    media_type: str
    size: int
    here: bool


class Assets(Answer):
    """What is attached to a memory."""

    at: datetime
    memory: Memory
    assets: tuple[AssetRow, ...]


class Attached(Answer):
    """What became of attaching or detaching: outcome is attached, detached, repeated, held or proposed."""

    at: datetime
    memory: Memory
    asset: Asset
    outcome: str
    event: int
    replayed: bool = False
    hint: str = ""


class Fetched(Answer):
    """Where an attachment was written, with the hash that was checked on the way."""

    at: datetime
    memory: Memory
    asset: Asset
    path: str
