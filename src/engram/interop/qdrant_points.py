"""The points of a Qdrant collection: of a server that runs, or of the folder in which its client keeps a local one.

Nothing of Qdrant is needed for it. A local folder keeps its points pickled, and a pickle may hold any program: it
is taken apart with classes that do nothing, so that whatever it names, nothing of it runs.
"""

import io
import json
import os
import pickle
from collections.abc import Iterator, Mapping
from typing import Any, Self
from urllib.parse import quote, urlsplit

from engram.errors import Invalid, Unavailable
from engram.interop.databases import copied, require
from engram.interop.forms import Source

SCHEMES = {"qdrant": "http", "qdrants": "https"}
SECRET = "QDRANT_API_KEY"  # noqa: S105 - the name of a variable, not what it holds
PORT, PAGE, TIMEOUT, LARGEST = 6333, 64, 60.0, 128 << 20

MOST_PARTS = 100_000
"""Values in a point: a record has a few dozen."""

Named = Iterator[tuple[str, dict[str, Any] | None]]
"""What a point is called, and the point; None where it is none."""


def is_address(path: str) -> bool:
    """Whether a path is the address of a Qdrant that runs."""
    return path.partition("://")[0] in SCHEMES


def is_folder(source: Source) -> bool:
    """Whether a folder holds the collections of a local Qdrant."""
    return source.folder and {"meta.json", "collection"} <= {*source.names}


def points(source: Source) -> Named:
    """Every point, one after the other.

    Raises:
        Invalid: when there is no such collection.
        Unavailable: when the server cannot be reached.
        Corrupt: when a folder is damaged.
    """
    return _running(source.path) if is_address(source.path) else _kept(source.path)


# a server


def _running(address: str) -> Named:
    server, collection = _server(address)
    offset: Any = None
    while True:
        asked = {"limit": PAGE, "with_payload": True, "with_vector": False, "offset": offset}
        said = _ask(server, "POST", f"collections/{quote(collection, safe='')}/points/scroll", asked)
        for point in said.get("points") or ():
            yield f"point {point.get('id')}" if isinstance(point, dict) else "a point", point
        if (offset := said.get("next_page_offset")) is None:
            return


def _server(address: str) -> tuple[str, str]:
    """The server's address, and the collection: the only one, where none is named."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port or PORT
    except ValueError:
        host, port = "", PORT
    if not host:
        raise Invalid(f"{address} names no server.", "Say qdrant://HOST/COLLECTION.")
    server = f"{SCHEMES[parts.scheme]}://{f'[{host}]' if ':' in host else host}:{port}"
    if name := parts.path.strip("/"):
        return server, name
    names = [str(each.get("name")) for each in _ask(server, "GET", "collections").get("collections") or ()]
    if len(names) == 1:
        return server, names[0]
    there = f"It has: {', '.join(sorted(names))}." if names else "It has none."
    raise Invalid(f"{address} names no collection.", f"Say {address.rstrip('/')}/COLLECTION. {there}")


def _ask(server: str, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
    from engram.transport import Web  # noqa: PLC0415 - start-up

    web = Web(
        f"{server}/{path}",
        "",
        key=os.environ.get(SECRET, ""),
        timeout=TIMEOUT,
        setting="the address",
        secret=SECRET,
        largest=LARGEST,
    )
    answer = web.ask(method, body=json.dumps(body).encode() if body else b"")
    if answer.status != 200:
        why = answer.why or _reason(answer.body) or f"it answered {answer.status}"
        hint = f"Set {SECRET}." if answer.status in (401, 403) else "Check the address, and that Qdrant runs."
        raise Unavailable(f"{server} did not give its points: {web.scrubbed(why)}.", hint)
    try:
        result = json.loads(answer.body)["result"]
    except (ValueError, KeyError, TypeError, RecursionError):
        result = None
    if not isinstance(result, dict):
        raise Unavailable(f"{server} does not answer as Qdrant does.", "Check the address.")
    return result


def _reason(body: bytes) -> str:
    try:
        return str(json.loads(body)["status"]["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""


# a folder


def _kept(folder: str) -> Named:
    place = os.path.join(folder, "collection")
    for name in sorted(os.listdir(place)):
        path = os.path.join(place, name, "storage.sqlite")
        if os.path.isfile(path) and not os.path.islink(os.path.join(place, name)):
            yield from _stored(path, name)


def _stored(path: str, collection: str) -> Named:
    with copied(path) as database:
        require(path, database, {"points": ("id", "point")})
        for number, raw in database.execute("SELECT rowid, point FROM points ORDER BY rowid"):
            point = _taken_apart(raw)
            shown = f"{collection}, point {point.get('id') if point else number}"
            yield shown, point


def _taken_apart(raw: object) -> dict[str, Any] | None:
    """The fields of a pickled point, without making anything of what the pickle names."""
    try:
        found = _Inert(io.BytesIO(raw)).load() if isinstance(raw, bytes) else None
    except Exception:  # noqa: BLE001 - what is made up fails in any way
        return None
    if not isinstance(found, _Thing):
        return None
    id, payload = found.fields.get("id"), found.fields.get("payload")
    plain = isinstance(id, str | int) and (payload is None or isinstance(payload, dict))
    return {"id": str(id), "payload": payload or {}} if plain and _is_small(payload) else None


def _is_small(payload: object) -> bool:
    """Whether something has few parts: a pickle may name one part many times, and itself."""
    left, parts = [payload], 0
    while left:
        parts += 1
        one = left.pop()
        inner = [*one.values()] if isinstance(one, dict) else one if isinstance(one, list | tuple | set) else ()
        if parts + len(left) + len(inner) > MOST_PARTS:
            return False
        left += inner
    return True


class _Thing:
    """Whatever a pickle names: it keeps what it is given, and does nothing."""

    def __new__(cls, *_: object, **__: object) -> Self:
        return super().__new__(cls)

    def __init__(self, *_: object, **__: object) -> None:
        self.fields: Mapping[str, Any] = {}

    def __setstate__(self, state: object) -> None:
        given = state.get("__dict__") if isinstance(state, dict) else None
        self.fields = given if isinstance(given, dict) else {}


class _Inert(pickle._Unpickler):  # noqa: SLF001 - the other makes room for as many places as ten bytes name
    """Reads a pickle in which every name stands for a thing that does nothing."""

    def find_class(self, _module: str, _name: str) -> type[_Thing]:
        return _Thing
