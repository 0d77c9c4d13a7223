"""Bytes on their way to a memory or from one: counted, hashed and looked at as they pass, never held whole."""

from collections.abc import Iterator

from engram.errors import Corrupt, Invalid, TooLarge
from engram.model.hashing import sha256
from engram.model.memory import Asset, Memory
from engram.operations.base import Call
from engram.rules import assets as rules
from engram.rules.access import require_owner, require_place, require_writing
from engram.rules.media import Look, settled

BLOCK = 256 * 1024


class Incoming:
    """Bytes that somebody sends. Nobody sees them until they are attached; close it in any case."""

    def __init__(self, call: Call) -> None:
        assert call.attaching
        self._call, self._limits = call, call.attaching
        self._stage = call.blobs.stage(call.now)
        self._seal, self._look = sha256(), Look()
        self._beginning = bytearray()
        self.size = 0

    def expect(self, size: int) -> None:
        """Hear how much will come.

        Raises:
            TooLarge: when it is more than is taken here.
        """
        if size > (most := self._limits.most_bytes):
            raise TooLarge(f"An attachment has at most {most:,} bytes.", "Attach less, or set asset_bytes.")

    def write(self, block: bytes) -> None:
        """Take in some more.

        Raises:
            TooLarge: when it is more than is taken here.
            Unavailable: when there is no room.
        """
        self.size += len(block)
        self.expect(self.size)
        self._seal.update(block)
        self._look.see(block)
        self._beginning += block[: rules.MOST_LOOKED_THROUGH - len(self._beginning)]
        self._stage.write(block)

    def asset(self, name: str, claimed: str) -> Asset:
        """What came, by its bytes.

        Raises:
            Invalid: when it is empty, or a text with a credential in it.
            Unsupported: when it is not what it is said to be, or of a type that is not taken.
        """
        rules.require_bytes(self.size)
        called = rules.name_of(name, str(self))
        asset = Asset(str(self), called, settled(self._look, called, claimed, self._limits.types), self.size)
        rules.require_no_secret(asset, bytes(self._beginning))
        return asset

    def keep(self, owner: str) -> None:
        """Keep the bytes for an owner."""
        self._stage.keep(owner, str(self), self._call.now)

    def close(self) -> None:
        """Let go of what was not kept."""
        self._stage.close()

    def __str__(self) -> str:
        """The hash of what has come so far: what names this request, where it is repeated."""
        return self._seal.hexdigest()


def receive(call: Call, memory: str) -> Incoming:
    """Begin to take in an attachment for a memory that the caller may write to.

    Raises:
        NotFound: when there is no such memory.
        Forbidden: when it is not the caller's to write to.
        Unavailable: when there is no place for attachments, or no room.
    """
    require_writing(call.caller)
    one = call.memory(memory)
    require_owner(call.caller, one)
    require_place(call.caller, one.scope)
    _ = call.blobs  # where there is no place, that is said first
    return Incoming(call)


def outgoing(call: Call, memory: Memory, asset: Asset) -> Iterator[bytes]:
    """The bytes of an attachment. The last block comes only when all of them are what was attached.

    Raises:
        NotFound: when they are not here.
        Corrupt: before the end, when they are not what was attached.
    """
    if memory.owner is None:
        raise Invalid("A memory without an owner has no attachments.")
    return _checked(asset, call.blobs.read(memory.owner, asset.sha256))


def _checked(asset: Asset, blocks: Iterator[bytes]) -> Iterator[bytes]:
    seal, last = sha256(), b""
    for block in blocks:
        seal.update(block)
        if last:
            yield last
        last = block
    if seal.hexdigest() != asset.sha256:
        raise Corrupt(f"The bytes of {asset.name} are not what was attached.", "Attach the file again.")
    yield last
