"""The bytes behind attachments: which are still needed, which may be deleted, never one being attached.

Bytes and records are not kept by one commit. So bytes are kept before the record that names them is committed, and
go in two steps: they are hidden, the records are looked at again, and only then are they erased. Whoever attaches
meanwhile looks after its commit whether the bytes are still there, and keeps them again. In any order of the two,
what a record names is there.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import timedelta

from engram.errors import NotFound, Unavailable
from engram.model import hashing
from engram.model.change import Finding
from engram.model.event import Event
from engram.model.filter import ANYTHING, Access
from engram.model.memory import Asset, Memory
from engram.operations.base import Call, every

ABANDONED = timedelta(days=1)
"""After so long nobody is still sending."""

DAMAGED = "is damaged: its bytes are not what was attached"
NOT_HERE = "is not in this store"
"""No damage: where records came through git, their bytes may lie on another machine."""


def wanted(call: Call, owner: str) -> set[str]:
    """The hashes that any memory of an owner names, in whatever standing and workspace."""
    everything = call._replace(access=Access(owner))
    return {asset.sha256 for one in every(everything, ANYTHING) if one.owner == owner for asset in one.assets}


def named_by(memories: Iterable[Memory], events: Iterable[Event]) -> set[str]:
    """The hashes that memories name, or named at some time in their history."""
    now = {asset.sha256 for one in memories for asset in one.assets}
    edits = (edit for event in events for edit in event.edits if edit.field == "assets")
    sides = (side for edit in edits for side in (edit.old, edit.new) if isinstance(side, list | tuple))
    told = (asset.get("sha256") for side in sides for asset in side if isinstance(asset, Mapping))
    return now | {sha256 for sha256 in told if isinstance(sha256, str)}  # what another store said may be anything


def tidy(call: Call, owner: str, erased: Collection[str] = ()) -> int:
    """Take away bytes that nothing needs: those named, and what has been loose for longer than an undo may take.

    Returns how many of those named went.
    """
    if call.attaching is None or not (held := call.blobs.held(owner)):
        return 0
    blobs, late = call.blobs, call.now - timedelta(days=call.attaching.days)
    blobs.clear(call.now - ABANDONED)
    old = {one.sha256 for one in held if one.sha256 in erased or one.hidden or one.at <= late}
    loose = old - wanted(call, owner) if old else set()
    back = {one.sha256 for one in held if one.hidden} - loose
    for sha256 in loose:
        blobs.hide(owner, sha256)
    needed = wanted(call, owner) if loose else set()
    for sha256 in back | (loose & needed):
        blobs.show(owner, sha256)
    for sha256 in loose - needed:
        blobs.erase(owner, sha256)
    return len((loose - needed) & set(erased))


def _wrong_with(call: Call, owner: str | None, asset: Asset) -> str:
    """What is wrong with the bytes of an attachment; nothing where they are what was attached."""
    size = None if owner is None else call.blobs.size(owner, asset.sha256)
    if owner is None or size is None:
        return NOT_HERE
    if size != asset.size:
        return f"has {size:,} bytes instead of {asset.size:,}"
    seal = hashing.sha256()
    try:
        for block in call.blobs.read(owner, asset.sha256):
            seal.update(block)
    except NotFound:  # taken away just now, or a part of it is lost
        return NOT_HERE if call.blobs.size(owner, asset.sha256) is None else DAMAGED
    except Unavailable as error:
        return f"cannot be read: {error.message}"
    return "" if seal.hexdigest() == asset.sha256 else DAMAGED


def looked_at(call: Call, memories: Iterable[Memory], *, fix: bool) -> list[Finding]:
    """What is wrong with attachments: bytes that are missing or damaged, and bytes that belong to nothing."""
    if call.attaching is None:
        return []
    blobs, findings, known = call.blobs, [], dict[tuple[str | None, str], str]()
    for one in memories:
        for asset in one.assets:
            key = one.owner, asset.sha256
            if key not in known:  # the same bytes may be attached to many
                known[key] = _wrong_with(call, one.owner, asset)
            if what := known[key]:
                again = f"Attach it again from where it lies: engram attach {one.handle} FILE."
                told = f"The attachment {asset.name} of {one.handle} {what}."
                severity = "warning" if what == NOT_HERE else "error"
                findings.append(Finding("attachment", told, again, severity=severity))
    if fix:
        tidy(call, call.caller.owner)
    held = blobs.held(call.caller.owner)
    if held and (loose := [one for one in held if one.sha256 not in wanted(call, call.caller.owner)]):
        size = sum(one.size for one in loose)
        days = call.attaching.days
        files = "1 file" if len(loose) == 1 else f"{len(loose)} files"
        told = f"No memory is left that names {files} of {size:,} bytes."
        hint = f"What is older than {days} days goes: engram doctor --fix."
        findings.append(Finding("loose", told, hint, severity="note", fixable=True))
    return findings
