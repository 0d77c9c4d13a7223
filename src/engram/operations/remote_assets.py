"""Bytes of attachments to a server and from it: they follow the chunks that name them, by the server's own routes.

A chunk names an attachment by its hash. Whoever may read the memory at the server gets its bytes there, and only
its owner gives them. What comes is what the hash says, or it is not kept.
"""

from collections.abc import Iterator

from engram.errors import Invalid
from engram.model.memory import Asset, Memory
from engram.operations.base import Call, every
from engram.operations.incoming import Incoming, outgoing
from engram.ports import Progress
from engram.rules.carrying import Reach
from engram.sync.server import Server


class Carried:
    """How many attachments went or came, and what was wrong with others."""

    def __init__(self, progress: Progress, what: str) -> None:
        self._progress, self._what = progress, what
        self.number = 0
        self.problems: list[str] = []

    def well(self) -> None:
        """One more that went well."""
        self.number += 1
        self._progress(self.number, 0, self._what)

    def ill(self, asset: Asset, memory: Memory, why: str) -> None:
        """One that did not."""
        self.problems.append(f"The attachment {asset.name} of {memory.handle} stays where it is: {why}")


def give(call: Call, server: Server, reach: Reach, given: dict[str, int]) -> Carried:
    """Send what a server lacks of the caller's own attachments; `given` keeps what needs no more asking.

    Raises:
        Unavailable, Unauthenticated, Forbidden: when the server does not take any.
    """
    done = Carried(call.progress, "attachments sent")
    for memory in _attached(call, reach):
        unsent = [
            each for each in memory.assets if _mark(memory, each) not in given and _is_here(call, memory, each)
        ]
        if memory.owner != call.caller.owner or not unsent:
            continue
        if (lacking := server.lacks(memory.id)) is None:
            continue  # it was not taken in there yet
        for asset in unsent:
            try:
                if asset.sha256 in lacking:
                    server.give(memory.id, asset, b"".join(outgoing(call, memory, asset)))
                    done.well()
                given[_mark(memory, asset)] = 1
            except Invalid as error:
                done.ill(asset, memory, error.message)
    return done


def take(call: Call, server: Server, reach: Reach) -> Carried:
    """Get what a server has of attachments that are named here and are not here.

    Raises:
        Unavailable, Unauthenticated, Forbidden: when the server does not give any.
    """
    done = Carried(call.progress, "attachments got")
    for memory in _attached(call, reach):
        for asset in (each for each in memory.assets if not _is_here(call, memory, each)):
            try:
                if _got(call, server, memory, asset):
                    done.well()
            except Invalid as error:
                done.ill(asset, memory, error.message)
    return done


def _attached(call: Call, reach: Reach) -> Iterator[Memory]:
    """Every memory in reach that has attachments, and an owner to whom they belong."""
    if call.attaching is None:
        return
    for where in reach.filters():
        for memory in every(call, where):
            if memory.assets and memory.owner is not None and reach.covers(memory.scope, memory.visibility):
                yield memory


def _is_here(call: Call, memory: Memory, asset: Asset) -> bool:
    return memory.owner is not None and call.blobs.size(memory.owner, asset.sha256) == asset.size


def _got(call: Call, server: Server, memory: Memory, asset: Asset) -> bool:
    """Get one, and keep it if it is what was named, and of a sort that is taken here; False where it is not there.

    Raises:
        Invalid: saying what it is instead.
    """
    incoming = Incoming(call)
    try:
        incoming.expect(asset.size)
        if (content := server.bytes_of(memory.id, asset)) is None:
            return False
        incoming.write(content)
        if str(incoming) != asset.sha256:
            raise Invalid("What came is not what was attached.")
        incoming.asset(asset.name, asset.media_type)
        incoming.keep(memory.owner or "")
    finally:
        incoming.close()
    return True


def _mark(memory: Memory, asset: Asset) -> str:
    return f"{memory.id} {asset.sha256}"
