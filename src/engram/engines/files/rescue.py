"""What can still be read in a damaged folder of plain files: what history tells, and what only the text has."""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime

from engram.engines.files.folder import EVENTS, REGISTRY, Folder
from engram.engines.files.history import State, read_journal
from engram.engines.files.problem import Unreadable
from engram.engines.files.reading import as_told
from engram.engines.files.registry import FENCE, Registry, read_registry
from engram.errors import Corrupt, EngramError, Unavailable
from engram.model.codec import RECORDS, Document, RecordType, encode
from engram.ports import Hands


def salvage(path: str, now: datetime, hands: Hands) -> Iterator[tuple[RecordType, Document]]:
    """Every record that can be read, each once; an item that makes no sense is passed over."""
    folder, state = Folder(path), State()
    with suppress(Corrupt, Unavailable):
        for line in read_journal(folder.read(EVENTS) or b"").lines:
            with suppress(KeyError, TypeError, ValueError):
                state.tell(line)
    for type in RECORDS:
        yield from ((type, document) for document in state.documents[type].values())
    known = set(state.documents["memory"])
    registry = _registry(folder)
    for span in registry.blocks() if registry else ():
        with suppress(Unreadable, EngramError):
            memory = as_told(registry.item(span, now), hands, now).memory if registry else None
            if memory and memory.id not in known and not state.erased(memory.id, ""):
                known.add(memory.id)
                yield "memory", encode(memory)


def _registry(folder: Folder) -> Registry | None:
    """The registry's text, with a frontmatter put around its items where it has lost its own."""
    try:
        text = (folder.read(REGISTRY) or b"").decode("utf-8", "replace").replace("\r\n", "\n")
    except (Corrupt, Unavailable):
        return None
    begin = text.find("items:\n")
    end = text.find(f"\n{FENCE}", max(begin, 0))
    bare = f"{FENCE}schema: memory.v1\n{text[begin : end if end >= 0 else None].rstrip()}\n{FENCE}"
    for each in (text, bare):
        with suppress(Unreadable, Corrupt):
            return read_registry(each)
    return None
