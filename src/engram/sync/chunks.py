"""A chunk: a stretch of one replica's history as an immutable, signed file, with its words in a file beside it.

`docs/sync.md` has the format. Nothing here touches a disk.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from engram.errors import EngramError, Invalid
from engram.model.codec import TRAVELLERS
from engram.model.event import Edit, Event, Payload, canonical, intact
from engram.model.hashing import sha256

SCHEMA = "engram.chunk.v1"
PAYLOADS = "engram.payloads.v1"
MOST_BYTES = 1 << 20
"""How large a chunk with its words may become before the next one begins."""

LARGEST_FILE = 64 << 20
"""No file of a place is read beyond this: one event has at most a few megabytes."""

MOST_SEEN = 1 << 40
"""Nobody said the same so often."""

NAMING = frozenset({"id", "from_id", "to_id", "replaced_by", "amends", "session", "owner", "scope", "visibility"})
"""The fields that tell which record is meant, whose it is and where: events are weighed by them before all else."""

DEEPEST = 32
"""Levels that words may be nested: no record has a third of them."""

Sign = Callable[[bytes], str]
Verify = Callable[[bytes, str], bool]


class Header(NamedTuple):
    """The first line of a chunk. It covers the positions `first` to `last`; 0 to 0 is a chunk of earlier events."""

    replica: str
    first: int
    last: int
    previous: str
    events: int
    body: str  # hash of all other lines
    reach: str = ""
    signature: str = ""

    def signed(self) -> bytes:
        """What the signature is made over."""
        return canonical({"schema": SCHEMA, **self._asdict(), "signature": ""}).encode()


class Chunk(NamedTuple):
    """A chunk that was read: its name, its header and its events, with their words as far as these are there."""

    name: str
    header: Header
    events: tuple[Event, ...]
    parts: frozenset[str]  # the ids of those that are a part of an event


class Written(NamedTuple):
    """The two files of a chunk: itself, and the words of its events."""

    name: str
    chunk: bytes
    payload: bytes


def digest(content: bytes) -> str:
    """What a file is named by."""
    return sha256(content).hexdigest()


def write(events: Sequence[tuple[Event, bool]], header: Header, sign: Sign) -> Written:
    """A chunk of events, each with whether it is a part of one."""
    lines = [canonical({"event": event.envelope(), **({"part": True} if part else {})}) for event, part in events]
    body = "".join(f"{line}\n" for line in lines)
    unsigned = header._replace(events=len(lines), body=digest(body.encode()), signature="")
    signed = unsigned._replace(signature=sign(unsigned.signed()))
    chunk = (canonical({"schema": SCHEMA, **signed._asdict()}) + "\n" + body).encode()
    name = digest(chunk)
    words = {event.id: json.loads(event.payload.print()) for event, _ in events if event.payload is not None}
    return Written(name, chunk, print_payloads(name, words))


def print_payloads(chunk: str, payloads: Mapping[str, Any]) -> bytes:
    """The file with the words of a chunk's events, a line each: the same words make the same file anywhere.

    It is the only file that ever changes, and only by losing lines, when something is purged. Nobody has to sign
    it: each event commits to its words.
    """
    lines = [canonical({"schema": PAYLOADS, "chunk": chunk})]
    lines += [canonical({"id": id, "payload": payloads[id]}) for id in sorted(payloads)]
    return "".join(f"{line}\n" for line in lines).encode()


def read_payloads(content: bytes) -> dict[str, Any]:
    """The words in a payload file, by event; a line that cannot be read tells nothing, and the others count."""
    words = {}
    for line in content.splitlines():
        try:
            told = json.loads(line)
            words[str(told["id"])] = told["payload"]
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return words


def read_header(content: bytes) -> Header:
    """The header of a chunk, unchecked.

    Raises:
        Invalid: when there is none we know.
    """
    line = content.partition(b"\n")[0]
    try:
        told = json.loads(line)
        if not isinstance(told, dict) or told.pop("schema", None) != SCHEMA:
            raise Invalid(f"it is not {SCHEMA}: another program wrote it, or a newer Engram")
        header = Header(**told)
    except (ValueError, TypeError, RecursionError):
        raise Invalid("its header cannot be read") from None
    numbers, texts = (header.first, header.last, header.events), (header.replica, header.body, header.signature)
    fits = all(isinstance(one, int) and not isinstance(one, bool) and 0 <= one < 1 << 53 for one in numbers)
    if not fits or not all(isinstance(one, str) for one in (*texts, header.previous, header.reach)):
        raise Invalid("its header makes no sense")
    return header


def read(name: str, replica: str, content: bytes, words: Mapping[str, Any], verify: Verify) -> Chunk:
    """Read and check a chunk of a replica; `words` are the payloads that were found, by event.

    Raises:
        Invalid: saying what is wrong with it. Nothing of it is to be used then.
    """
    if digest(content) != name:
        raise Invalid("its content is not what its name says: it was cut off or changed")
    header = read_header(content)
    if header.replica != replica:
        raise Invalid("it lies in another replica's folder")
    body = content.partition(b"\n")[2]
    if digest(body) != header.body or body.count(b"\n") != header.events:
        raise Invalid("its lines are not those of its header")
    if not verify(header.signed(), header.signature):
        raise Invalid("its signature is not that of the replica")
    try:
        rows = [json.loads(line) for line in body.decode().splitlines()]
        events = [_event(row["event"], words) for row in rows]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, EngramError):
        raise Invalid("one of its events cannot be read") from None
    if any(event.replica != replica for event in events):
        raise Invalid("it has events of another replica")
    parts = frozenset(event.id for event, row in zip(events, rows, strict=True) if row.get("part"))
    return Chunk(name, header, tuple(events), parts)


def _event(envelope: Mapping[str, Any], words: Mapping[str, Any]) -> Event:
    values = dict(envelope)
    at = datetime.fromisoformat(values["at"])
    if at.tzinfo is None or not _is_time(values["time"]):
        raise ValueError("a time without a zone, or of another form")
    values["at"] = at.astimezone(UTC)
    values["subjects"], values["reverses"] = tuple(values["subjects"]), tuple(values["reverses"])
    bare = Event(id="", seq=0, **values)
    texts = (bare.replica, bare.action, bare.actor, bare.owner, bare.batch, bare.prev, bare.commitment)
    if not all(isinstance(one, str) for one in (*texts, *bare.subjects, *bare.reverses)):
        raise ValueError("no text")
    event = bare._replace(id=digest(canonical(bare.envelope()).encode()))
    told = words.get(event.id)
    if told is None:
        return event
    if not _is_payload(told):
        return event
    payload = Payload(tuple(Edit(*each) for each in told["edits"]), told["note"], told["salt"])
    whole = event._replace(payload=payload)
    return whole if intact(whole) else event  # words that were not committed to are no words of this event


def _is_payload(told: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether this has the form of a payload; what its values mean is for others to find out."""
    if not isinstance(told, dict) or told.keys() != {"edits", "note", "salt"} or not isinstance(told["salt"], str):
        return False
    edits, note = told["edits"], told["note"]
    if not isinstance(edits, list) or not all(_is_edit(edit) for edit in edits) or not isinstance(note, dict):
        return False
    if not _is_shallow(told):
        return False
    states = note.get("states", {})
    return isinstance(states, dict) and all(_is_state(state) for state in states.values())


def _is_shallow(told: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether nothing is nested deeper in it than any reader can go."""
    level = [told]
    for _ in range(DEEPEST):
        level = [part for each in level for part in (each.values() if isinstance(each, dict) else each)]
        level = [each for each in level if isinstance(each, dict | list)]
        if not level:
            return True
    return False


def _is_edit(told: Any) -> bool:  # noqa: ANN401 - any JSON
    if not isinstance(told, list) or len(told) != 5 or not all(isinstance(one, str) for one in told[:3]):
        return False
    type, _, field, old, new = told
    return type in TRAVELLERS and _is_value(field, old) and _is_value(field, new)


def _is_state(told: Any) -> bool:  # noqa: ANN401 - any JSON
    if not isinstance(told, dict) or told.keys() != {"type", "fields", "counts"} or told["type"] not in TRAVELLERS:
        return False
    fields, counts = told["fields"], told["counts"]
    if not isinstance(fields, dict) or not isinstance(counts, dict):
        return False
    stamped = all(
        isinstance(one, list) and [type(each) for each in one[:3]] == [str] * 3 and len(one) == 4
        for one in fields.values()
    )
    if not stamped or not all(_is_value("seen", one) for one in counts.values()):
        return False
    return "id" in fields and all(_is_value(name, one[3]) for name, one in fields.items())


def _is_value(field: str, value: Any) -> bool:  # noqa: ANN401 - any JSON
    """Whether a field may have it: what names a record or its place is text, and counts are counts."""
    if field == "seen":
        return value is None or (isinstance(value, int) and abs(value) < MOST_SEEN)
    return field not in NAMING or value is None or isinstance(value, str)


def _is_time(time: object) -> bool:
    """Whether this is a hybrid logical time: a moment in UTC, a point, and a count in hexadecimal."""
    if not isinstance(time, str) or len(time) < 34 or time[26:28] != "Z.":
        return False
    datetime.fromisoformat(time[:26])
    int(time[28:], 16)
    return True


def grouped(events: Iterable[tuple[Event, bool]]) -> Iterator[list[tuple[Event, bool]]]:
    """Events in groups that make chunks of a bounded size."""
    group: list[tuple[Event, bool]] = []
    size = 0
    for event, part in events:
        size += 700 + (len(event.payload.print()) if event.payload else 0)
        group.append((event, part))
        if size >= MOST_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group
