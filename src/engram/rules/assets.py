"""Which attachments a memory has, and how they are named."""

import functools
import re

from engram.errors import Conflict, Invalid, NotFound
from engram.model.change import Change
from engram.model.limits import LIMITS, cut, size
from engram.model.memory import Asset, Memory
from engram.rules.media import is_text
from engram.rules.redact import redact

SHORTEST_HASH = 4
LONGEST_NAME, LONGEST_ENDING = 120, 16
MOST_LOOKED_THROUGH = 1024 * 1024
"""Bytes at the beginning of a text that are looked through for credentials."""


def name_of(said: str, sha256: str) -> str:
    """A name for a file that means the same everywhere: one part, one line, nothing that hides its end."""
    last = said.replace("\\", "/").replace(":", "/").rpartition("/")[2]
    name = _outside().sub("", last).strip().lstrip(".").strip()
    _, dot, end = name.rpartition(".")
    ending = f".{end}" if dot and len(end) < LONGEST_ENDING else ""
    stem = name.removesuffix(ending)[: LONGEST_NAME - len(ending)]
    return cut(stem, LIMITS["name"] - size(ending)) + ending or sha256[:12]


def joined(memory: Memory, asset: Asset) -> tuple[Asset, ...]:
    """The attachments of a memory with one more; what it has already keeps its name.

    Raises:
        Conflict: when another one goes by its name.
    """
    if known(memory, asset):
        return memory.assets
    if any(one.name == asset.name for one in memory.assets):
        raise Conflict(
            f"{memory.called} has another attachment {asset.name!r}.",
            "Give this one another name, or detach the other first.",
        )
    return (*memory.assets, asset)


def known(memory: Memory, asset: Asset) -> Asset | None:
    """The attachment of a memory that has the same bytes, by whatever name; None when there is none."""
    return next((one for one in memory.assets if one.sha256 == asset.sha256), None)


def without(memory: Memory, asset: Asset) -> tuple[Asset, ...]:
    """The attachments of a memory without one."""
    return tuple(one for one in memory.assets if one.sha256 != asset.sha256)


def told_as(action: str, change: Change) -> Change:
    """A revision by which only attachments came or went, as history calls it; a proposal stays one."""
    if change.draft is None or change.draft.action != "revise":
        return change
    return change._replace(draft=change.draft._replace(action=action))


def found(memory: Memory, ref: str) -> Asset:
    """The attachment of a memory that goes by this name, or by the beginning of its hash.

    Raises:
        NotFound: when there is none.
        Conflict: when it may be several.
    """
    named = [one for one in memory.assets if one.name == ref]
    begins = ref.lower() if len(ref) >= SHORTEST_HASH else "-"
    fits = named or [one for one in memory.assets if one.sha256.startswith(begins)]
    if not fits:
        name = memory.called
        raise NotFound(f"{name} has no attachment {ref!r}.", f"See what it has: engram assets {name}.")
    if len(fits) > 1:
        raise Conflict(
            f"{ref!r} may be {len(fits)} attachments.",
            "Give the beginning of its hash: " + ", ".join(one.sha256[:12] for one in fits) + ".",
        )
    return fits[0]


def require_bytes(size: int) -> None:
    """An attachment holds something.

    Raises:
        Invalid: when it is empty.
    """
    if not size:
        raise Invalid("There is nothing in it: an attachment needs at least one byte.", "Attach another file.")


def require_no_secret(asset: Asset, beginning: bytes) -> None:
    """An attachment is kept as it is, so what a memory's own text would be rid of has no place in it or its name.

    Raises:
        Invalid: when there is a credential or something private in it.
    """
    said = beginning.decode("utf-8", "replace") if is_text(asset.media_type) else ""
    named, held = redact(asset.name).kinds, redact(said).kinds
    if named or held:
        found = ", ".join(dict.fromkeys((*named, *held)))
        where = "The name of the file" if named else asset.name
        raise Invalid(f"{where} holds what is not to be kept: {found}.", "Take it out, and attach the file again.")


@functools.cache
def _outside() -> re.Pattern[str]:
    """What repaints a line, hides its end, or has no form in UTF-8; compiled on first use (start-up)."""
    return re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
