"""A folder in which replicas leave their chunks for one another: `.engram/sync` of a repository, or a mirror.

Each replica writes chunks into its own folder, named by their content and never changed; so two machines never
write one file with another content, and git has nothing to merge. Links are not followed.
"""

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from engram.drafts import whole_file
from engram.errors import Corrupt, Invalid, Unavailable
from engram.sync import chunks
from engram.sync.chunks import Chunk, Header, Verify, Written

HERE = os.path.join(".engram", "sync")
CARDS = "replicas"
ATTRIBUTES = "* -text\n*.payload merge=union\n"
"""Line ends are never converted. Files with words only lose lines: where two lose some at once, git keeps what
either has, and the next sync takes out what was purged."""
MOST_CARD = 16 << 10

_REPLICA = re.compile("[0-9A-Za-z][0-9A-Za-z_-]{0,99}")
_CHUNK = re.compile(r"([0-9a-f]{64})\.jsonl")
_PAYLOAD = re.compile(r"([0-9a-f]{64})\.payload")


class Card(NamedTuple):
    """How a replica introduces itself: its public key, and the name of its device.

    A server adds whose it is, where that is not who asks; and to its own, what it calls who asks.
    """

    replica: str
    key: str
    device: str
    owner: str | None = None
    you: str | None = None


def print_card(card: Card) -> bytes:
    """A card as a file."""
    told = {"schema": "engram.replica.v1", "replica": card.replica, "key": card.key, "device": card.device}
    told |= {name: value for name in ("owner", "you") if (value := getattr(card, name)) is not None}
    return (json.dumps(told, indent=2) + "\n").encode()


def read_card(replica: str, content: bytes) -> Card | None:
    """The card of a replica; None where that is none."""
    try:
        told = json.loads(content)
        key, device = told["key"], told["device"]
        more = told.get("owner"), told.get("you")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    fits = isinstance(key, str) and re.fullmatch("[0-9a-f]{64}", key) and isinstance(device, str)
    if not fits or not all(one is None or isinstance(one, str) for one in more):
        return None
    return Card(replica, key, "".join(c for c in device if c.isprintable())[:64], *more)


class Place:
    """Everything that lies in one place. Nothing that is wrong with a file of another replica ever raises."""

    def __init__(self, folder: str, inside: str = HERE) -> None:
        """A place in a folder that exists.

        Raises:
            Invalid: when there is no such folder.
            Corrupt: when a link leads out of it.
        """
        if not os.path.isdir(folder):
            raise Invalid(f"There is no folder {folder}.", "Name the folder of a repository.")
        self.root = os.path.realpath(folder)
        self.path = os.path.join(self.root, inside) if inside else self.root
        at = self.root
        for part in inside.split(os.sep) if inside else ():
            at = os.path.join(at, part)
            if os.path.islink(at):
                raise Corrupt(f"{at} is a symbolic link.", "Replace it by a folder: what is shared stays inside.")

    # who is there

    def cards(self) -> dict[str, Card]:
        """Every replica that has introduced itself here."""
        found = {}
        for name in self._names(CARDS):
            replica, dot, kind = name.rpartition(".")
            if dot and kind == "json" and _REPLICA.fullmatch(replica):
                card = self._card(replica)
                found.update({replica: card} if card else {})
        return found

    def _card(self, replica: str) -> Card | None:
        return read_card(replica, self._read(MOST_CARD, CARDS, f"{replica}.json") or b"")

    def introduce(self, card: Card) -> None:
        """Leave our own card."""
        content = print_card(card)
        if self._read(MOST_CARD, CARDS, f"{card.replica}.json") != content:
            self.write(content, CARDS, f"{card.replica}.json")
        if self._read(MOST_CARD, ".gitattributes") != ATTRIBUTES.encode():
            self.write(ATTRIBUTES.encode(), ".gitattributes")

    def replicas(self) -> list[str]:
        """Every replica that has a folder here."""
        return [name for name in self._names() if name != CARDS and _REPLICA.fullmatch(name)]

    # what lies there

    def chunk_names(self, replica: str) -> list[str]:
        """The chunks of a replica, by name."""
        return [found[1] for name in self._names(replica) if (found := _CHUNK.fullmatch(name))]

    def strays(self, replica: str) -> list[str]:
        """Files in a replica's folder that are neither a chunk nor its words."""
        names = self._names(replica)
        return [name for name in names if not (_CHUNK.fullmatch(name) or _PAYLOAD.fullmatch(name))]

    def header(self, replica: str, name: str) -> Header:
        """The header of a chunk, unchecked.

        Raises:
            Invalid: when it cannot be read.
        """
        return chunks.read_header(self._read(64 << 10, replica, f"{name}.jsonl", whole=False) or b"")

    def chunk(self, replica: str, name: str, verify: Verify, *, words: bool = True) -> Chunk:
        """A chunk with its words, or without where nobody asks for them.

        Raises:
            Invalid: saying what is wrong with it.
        """
        content = self._read(chunks.LARGEST_FILE, replica, f"{name}.jsonl")
        if content is None:
            raise Invalid("it cannot be read")
        said = chunks.read_payloads(self._words(replica, name)) if words else {}
        return chunks.read(name, replica, content, said, verify)

    def add(self, replica: str, written: Written) -> None:
        """Leave a chunk: its words first, so that whoever sees the chunk sees them too."""
        self.write(written.payload, replica, f"{written.name}.payload")
        self.write(written.chunk, replica, f"{written.name}.jsonl")

    def erase(self, replica: str, chunk: str, gone: Iterable[str]) -> int:
        """Take the words of some events out of the file of a chunk; returns how many events lost theirs."""
        words = chunks.read_payloads(self._words(replica, chunk))
        lost = words.keys() & set(gone)
        if lost:
            kept = {id: told for id, told in words.items() if id not in lost}
            self.write(chunks.print_payloads(chunk, kept), replica, f"{chunk}.payload")
        return len(lost)

    def fewer(self, name: str, content: bytes) -> None:
        """Take over a file with words from elsewhere; of one that is here already only what both have is kept."""
        replica, _, file = name.partition("/")
        chunk = file.removesuffix(".payload")
        words = chunks.read_payloads(content)
        if self.has(name):
            here = chunks.read_payloads(self._words(replica, chunk))
            words = {id: told for id, told in words.items() if id in here}
        self.write(chunks.print_payloads(chunk, words), replica, file)

    def _words(self, replica: str, chunk: str) -> bytes:
        return self._read(chunks.LARGEST_FILE, replica, f"{chunk}.payload") or b""

    # files

    def files(self) -> Iterator[str]:
        """Every file that is ours, by its path inside the place, cards first."""
        for name in sorted(self._names(CARDS)):
            yield f"{CARDS}/{name}"
        for replica in sorted(self.replicas()):
            names = self._names(replica)
            yield from (f"{replica}/{name}" for name in sorted(names) if _PAYLOAD.fullmatch(name))
            yield from (f"{replica}/{name}" for name in sorted(names) if _CHUNK.fullmatch(name))

    def is_ours(self, name: str) -> bool:
        """Whether this can be the path of a file in a place; what a server says is not believed."""
        folder, _, file = name.partition("/")
        if folder == CARDS:
            return bool(file.endswith(".json") and _REPLICA.fullmatch(file.removesuffix(".json")))
        return bool(_REPLICA.fullmatch(folder) and (_CHUNK.fullmatch(file) or _PAYLOAD.fullmatch(file)))

    def has(self, name: str) -> bool:
        """Whether one of `files` is there."""
        return os.path.isfile(os.path.join(self.path, *name.split("/")))

    def stamp(self, name: str) -> list[int]:
        """What tells from outside that one of `files` was written anew."""
        seen = os.stat(os.path.join(self.path, *name.split("/")))
        return [seen.st_mtime_ns, seen.st_size, seen.st_ino]

    def read(self, name: str) -> bytes | None:
        """The content of one of `files`."""
        return self._read(chunks.LARGEST_FILE, *name.split("/"))

    def write(self, content: bytes, *parts: str) -> None:
        """Write a file whole or not at all.

        Raises:
            Unavailable: when it cannot be written.
        """
        at = os.path.join(self.path, *parts)
        try:
            os.makedirs(os.path.dirname(at), mode=0o700, exist_ok=True)
            if os.path.islink(os.path.dirname(at)):
                raise Corrupt(f"{os.path.dirname(at)} is a symbolic link.", "Replace it by a folder.")
            with whole_file(at) as file:
                file.write(content)
        except OSError as error:
            raise Unavailable(
                f"{at} cannot be written: {error.strerror}.",
                "Fix the permissions or the disk, then sync again.",
            ) from None

    def remove(self, *parts: str) -> None:
        """Remove a file, if it is there."""
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(self.path, *parts))

    def _names(self, *parts: str) -> list[str]:
        at = os.path.join(self.path, *parts)
        if os.path.islink(at):
            return []
        try:
            return sorted(os.listdir(at))
        except OSError:
            return []

    def _read(self, most: int, *parts: str, whole: bool = True) -> bytes | None:
        """The beginning of a regular file; None where there is none, or where it is larger than it may be."""
        at = os.path.join(self.path, *parts)
        try:
            if os.path.islink(os.path.dirname(at)):
                return None
            with os.fdopen(os.open(at, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    return None
                content = file.read(most + 1)
        except OSError:
            return None
        return None if whole and len(content) > most else content[:most]
