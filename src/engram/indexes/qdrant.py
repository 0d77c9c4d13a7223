"""Candidates in Qdrant: one point a memory, found by words and by meaning at once, each org a tenant.

A point carries the memory under the keys of the `records` form, for whoever looks into the collection, and under
`engram` what questions are filtered by. Only ids leave this module.
"""

import uuid
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Protocol

from qdrant_client import QdrantClient, models

from engram.errors import Unavailable
from engram.indexes.indexed import Fed
from engram.model.codec import index as columns_of
from engram.model.filter import ANYTHING, Access, Filter
from engram.model.limits import storable
from engram.model.memory import Memory
from engram.model.query import SATURATION, Query, Space, weighed
from engram.model.scope import Scope

TIMEOUT = 5
"""Seconds that an answer is waited for: the store can answer alone."""

AVERAGE = 40.0
"""Terms of a memory of middling length: words count less in longer ones."""

ASKED = frozenset({"scopes", "within", "kinds", "except_kinds", "tags", "origin", "pinned", "standings", "owner",
                   "since", "until", "now", "view"})  # fmt: skip
"""The clauses that can be put to Qdrant."""

KEYWORDS = (
    "owner",
    "visibility",
    "workspace",
    "level",
    "place",
    "scope",
    "run",
    "kind",
    "tags",
    "flags",
    "status",
    "branch",
)
COLUMNS = ("owner", "visibility", "workspace", "place", "scope", "kind", "origin", "status", "held_for", "branch")
TIMES = ("created", "valid_from", "valid_until", "stale")

NAMES = uuid.UUID("5b0e1c1e-9a53-4a70-8f4e-3b1f64a7e0c1")


class Client(Protocol):
    """What is asked of Qdrant's client."""

    def collection_exists(self, collection_name: str) -> bool: ...  # noqa: D102
    def create_collection(self, collection_name: str, **how: Any) -> Any: ...  # noqa: ANN401, D102
    def create_payload_index(self, collection_name: str, field_name: str, **how: Any) -> Any: ...  # noqa: ANN401, D102
    def upsert(self, collection_name: str, points: Any, **how: Any) -> Any: ...  # noqa: ANN401, D102
    def delete(self, collection_name: str, points_selector: Any, **how: Any) -> Any: ...  # noqa: ANN401, D102
    def retrieve(self, collection_name: str, ids: Any, **how: Any) -> Any: ...  # noqa: ANN401, D102
    def scroll(self, collection_name: str, **how: Any) -> Any: ...  # noqa: ANN401, D102
    def query_points(self, collection_name: str, **how: Any) -> Any: ...  # noqa: ANN401, D102
    def close(self) -> None: ...  # noqa: D102


def connect(address: str, key: str = "") -> Client:
    """A client for `qdrant://HOST[:PORT]`, `qdrants://…` (over TLS), or `qdrant:FOLDER`, a small one of its own.

    Raises:
        Unavailable: when the folder is in use, or there is no such server.
    """
    scheme, _, rest = address.partition(":")
    with _in_our_words():
        if not rest.startswith("//"):
            return QdrantClient(path=rest)
        http = "https" if scheme == "qdrants" else "http"
        place = rest if ":" in rest.rpartition("@")[2].rpartition("]")[2] else f"{rest}:6333"
        return QdrantClient(url=f"{http}:{place}", api_key=key or None, timeout=TIMEOUT, check_compatibility=False)


class QdrantIndex:
    """One org's points of one space; see `indexes.indexed.Index`."""

    def __init__(
        self,
        client: Client,
        org: str,
        space: Space | None,
        *,
        name: str,
        record: Callable[[Memory], Mapping[str, Any]],
        sole: bool = True,
    ) -> None:
        """Stand on a client, closed with its `sole` index; `record` tells a memory in the form that others read."""
        self.name = name
        self._client, self._org, self._space, self._record, self._sole = client, org, space, record, sole
        of = f"{space.model} {space.prefix}" if space else ""
        self._collection = f"engram-{space.dim if space else 0}-{zlib.crc32(of.encode()):08x}"
        self._ready = False

    def of(self, org: str) -> "QdrantIndex":
        """See `Index.of`."""
        return QdrantIndex(self._client, org, self._space, name=self.name, record=self._record, sole=False)

    def mark(self) -> int:
        """See `Index.mark`."""
        with self._asking() as client:
            found = client.retrieve(self._collection, [self._id("")], with_payload=True)
        return int(found[0].payload["seq"]) if found else 0

    def move(self, seq: int) -> None:
        """See `Index.move`."""
        # It carries no org among what is filtered by, so no question finds it.
        mark = models.PointStruct(id=self._id(""), payload={"seq": seq, "mark_of": self._org}, vector={})
        with self._asking() as client:
            client.upsert(self._collection, [mark], wait=True)

    def put(self, fed: Sequence[Fed]) -> None:
        """See `Index.put`."""
        with self._asking() as client:
            for revision, points in self._points(fed):
                # Two processes may follow at once: the later word stays, whoever is slower.
                older = models.Filter(must=[_range("revision", lte=revision)])
                client.upsert(self._collection, points, wait=True, update_filter=older)

    def drop(self, ids: Sequence[str]) -> None:
        """See `Index.drop`."""
        these = models.PointIdsList(points=[self._id(id) for id in ids])
        with self._asking() as client:
            client.delete(self._collection, these, wait=True)

    def bare(self, limit: int) -> list[str]:
        """See `Index.bare`."""
        where = models.Filter(must=[_is("org", self._org), _is("flags", "bare")])
        with self._asking() as client:
            points, _ = client.scroll(
                self._collection, scroll_filter=where, limit=limit, with_payload=["id"], with_vectors=False
            )
        return [point.payload["id"] for point in points]

    def find(self, query: Query, access: Access, limit: int) -> list[str] | None:
        """See `Index.find`."""
        where = filter_of(query.where, access, self._org)
        asked = self._asked(query)
        if where is None or asked is None:
            return None
        each = [models.Prefetch(query=how, using=using, filter=where, limit=limit) for using, how in asked.items()]
        with self._asking() as client:
            answer = client.query_points(
                self._collection,
                prefetch=each,
                query=models.FusionQuery(fusion=models.Fusion.RRF),
                query_filter=where,
                limit=limit * len(each),
                with_payload=["id"],
            )
        return [point.payload["id"] for point in answer.points]

    def clear(self) -> None:
        """See `Index.clear`."""
        mine = models.FilterSelector(filter=models.Filter(must=[_is("org", self._org)]))
        with self._asking() as client:
            # The mark first: whoever is stopped in between must not leave one that tells of points which are gone.
            client.delete(self._collection, models.PointIdsList(points=[self._id("")]), wait=True)
            client.delete(self._collection, mine, wait=True)

    def close(self) -> None:
        """See `Index.close`."""
        if self._sole:
            self._client.close()

    def _id(self, id: str) -> str:
        """A point's id: the same memory in two orgs is two points."""
        return str(uuid.uuid5(NAMES, f"{self._org}\n{id}"))

    def _points(self, fed: Sequence[Fed]) -> list[tuple[int, list[models.PointStruct]]]:
        """The points of memories, by their revision."""
        by_revision: dict[int, list[models.PointStruct]] = {}
        for each in fed:
            by_revision.setdefault(each.memory.revision, []).append(self._point(each))
        return [*by_revision.items()]

    def _point(self, fed: Fed) -> models.PointStruct:
        memory, vectors = fed
        vector: dict[str, Any] = {"words": _sparse(_weights(memory))}
        if vectors and self._space:
            numbers, dim = memoryview(vectors).cast("f").tolist(), self._space.dim
            vector["meaning"] = [numbers[at : at + dim] for at in range(0, len(numbers), dim)]
        bare = self._space is not None and not vectors
        payload = {**self._record(memory), "id": memory.id, "engram": told(memory, self._org, bare=bare)}
        return models.PointStruct(id=self._id(memory.id), payload=payload, vector=vector)

    def _asked(self, query: Query) -> dict[str, Any] | None:
        """The questions to ask, by the vector they are put to; None where one cannot be."""
        asked: dict[str, Any] = {}
        terms = {form for term in query.terms for form in (term, *query.variants.get(term, ()))}
        if query.every and len(query.terms) > 1 and not query.vector:
            return None  # only the store can tell who carries them all
        if any(term.endswith("*") for term in terms):
            return None  # a beginning of a word is no word
        if terms:
            asked["words"] = _sparse(dict.fromkeys(sorted(terms), 1.0))
        if query.vector:
            if query.space != self._space:
                return None
            asked["meaning"] = [memoryview(query.vector).cast("f").tolist()]
        return asked or None

    @contextmanager
    def _asking(self) -> Iterator[Client]:
        """The client, once the collection is there."""
        with _in_our_words():
            if not self._ready:
                self._prepare()
                self._ready = True
            yield self._client

    def _prepare(self) -> None:
        if self._client.collection_exists(self._collection):
            return
        multi = models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM)
        dense = models.VectorParams(
            size=self._space.dim if self._space else 1,
            distance=models.Distance.DOT,
            multivector_config=multi,
            datatype=models.Datatype.FLOAT16,
        )
        self._client.create_collection(
            self._collection,
            vectors_config={"meaning": dense} if self._space else {},
            sparse_vectors_config={"words": models.SparseVectorParams(modifier=models.Modifier.IDF)},
        )
        tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
        kinds: dict[str, Any] = {"org": tenant}
        kinds |= dict.fromkeys(KEYWORDS, models.PayloadSchemaType.KEYWORD)
        kinds |= dict.fromkeys(TIMES, models.PayloadSchemaType.FLOAT)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the small one does without, and says so each time
            for name, kind in kinds.items():
                self._client.create_payload_index(self._collection, f"engram.{name}", field_schema=kind)


# --- what is filtered by ---


def told(memory: Memory, org: str, *, bare: bool) -> dict[str, Any]:
    """What questions about a memory are filtered by."""
    columns = columns_of(memory)
    times = {"created": memory.created_at, "valid_from": memory.valid_from, "valid_until": memory.valid_until}
    forgotten, replaced = memory.forgotten_at is not None, bool(memory.replaced_by)
    flags = {"pinned": memory.pinned, "forgotten": forgotten, "replaced": replaced, "bare": bare}
    stale = columns["stale_at"]
    if isinstance(stale, str):
        times["stale"] = datetime.fromisoformat(stale)
    return {
        "org": org,
        **{name: columns[name] for name in COLUMNS},
        "level": memory.scope.level,
        "run": memory.scope.run,
        "revision": memory.revision,
        "tags": list(memory.tags),
        "flags": [name for name, holds in flags.items() if holds],
        **{name: time.timestamp() for name, time in times.items() if time is not None},
    }


def filter_of(where: Filter, access: Access, org: str) -> models.Filter | None:
    """Filter and Access in Qdrant's language; None where a clause cannot be said in it.

    It may let through more than the reference meaning does, never less: the store looks at each again.
    """
    asked = {name: value for name, value in where._asdict().items() if value != getattr(ANYTHING, name)}
    if not ASKED.issuperset(asked) or where.standings not in ((), ("live",)) or not _sayable(where, access):
        return None
    must: list[Any] = [_is("org", org), *_allowed(access)]
    must_not: list[Any] = []
    if where.scopes:
        must.append(_any("scope", [str(scope) for scope in where.scopes]))
    if where.within is not None:
        must += _within(where.within)
    if where.kinds:
        must.append(_any("kind", where.kinds))
    if where.except_kinds:
        must_not.append(_any("kind", where.except_kinds))
    must += [_is("tags", tag) for tag in where.tags]
    must += [_is(name, asked[name]) for name in ("origin", "owner") if name in asked]
    if where.pinned is not None:
        (must if where.pinned else must_not).append(_is("flags", "pinned"))
    if where.since is not None:
        must.append(_range("created", gte=where.since.timestamp()))
    if where.until is not None:
        must.append(_range("created", lt=where.until.timestamp()))
    if where.standings and where.now is not None:
        must.append(_passed(where.view))
        now = where.now.timestamp()
        must_not.append(_any("flags", ["forgotten", "replaced"]))
        must_not += [_range("valid_from", gt=now), _range("valid_until", lte=now), _range("stale", lt=now)]
    return models.Filter(must=must, must_not=must_not)


def _sayable(where: Filter, access: Access) -> bool:
    """Whether Qdrant can be asked with these strings: one that it cannot read is no reason not to answer others."""
    said = (where.owner or "", access.owner, access.agent, *where.kinds, *where.except_kinds, *where.tags)
    return all(map(storable, said))


def _allowed(access: Access) -> list[Any]:
    """Own, or shared and in reach; and in the workspace. What has no owner is not even shared."""
    nobody = models.IsNullCondition(is_null=models.PayloadField(key="engram.owner"))
    if access.unowned:
        return [nobody]
    if access.keyring:
        return [models.Filter(must_not=[nobody])]
    shared = models.Filter(must=[_is("visibility", "shared"), _reached(access)])
    either = models.Filter(should=[_is("owner", access.owner), shared], must_not=[nobody])
    return [either] if access.workspace is None else [either, _is("workspace", access.workspace)]


def _reached(access: Access) -> models.Filter:
    """The places named; or, where none are, every project that is not closed, and the agent's own."""
    if access.reach is not None:
        return models.Filter(should=[_any("place", ["global", *sorted(access.reach)])])
    closed: list[Any] = [_any("place", sorted(access.closed))] if access.closed else []
    projects = models.Filter(must=[_is("level", "project")], must_not=closed)
    return models.Filter(should=[_any("place", ["global", f"agent:{access.agent}"]), projects])


def _passed(view: str) -> models.Filter:
    """Reviewed; or staged on the very branch that is looked from."""
    staged: list[Any] = [_is("status", "pending"), _is("held_for", "unmerged_branch"), _is("branch", view)]
    return models.Filter(should=[_is("status", "promoted"), models.Filter(must=staged)])


def _within(scope: Scope) -> list[Any]:
    clauses = [_is("workspace", scope.workspace), _is("place", scope.place)]
    if scope.run:
        clauses.append(_is("run", scope.run))
    return clauses


def _is(name: str, value: str) -> models.FieldCondition:
    return models.FieldCondition(key=f"engram.{name}", match=models.MatchValue(value=value))


def _any(name: str, values: Sequence[str]) -> models.FieldCondition:
    return models.FieldCondition(key=f"engram.{name}", match=models.MatchAny(any=[*values]))


def _range(name: str, **bounds: float) -> models.FieldCondition:
    return models.FieldCondition(key=f"engram.{name}", range=models.Range(**bounds))


# --- words ---


def _weights(memory: Memory) -> dict[str, float]:
    """How much each term of a memory counts: often said counts more, in a long text less."""
    counts, length = weighed(memory)
    long = SATURATION * (0.25 + 0.75 * length / AVERAGE)
    return {term: count * (SATURATION + 1) / (count + long) for term, count in counts.items()}


def _sparse(weights: Mapping[str, float]) -> models.SparseVector:
    """Terms as Qdrant keeps them: by number; of two that share one the heavier counts."""
    numbered: dict[int, float] = {}
    for term, weight in weights.items():
        number = zlib.crc32(term.encode(errors="surrogatepass"))
        numbered[number] = max(weight, numbered.get(number, 0.0))
    return models.SparseVector(indices=[*numbered], values=[*numbered.values()])


@contextmanager
def _in_our_words() -> Iterator[None]:
    """Whatever the client or the way to Qdrant says, as an error of ours."""
    try:
        yield
    except Exception as error:  # the client lets through what its transports and its local mode raise
        said = str(error).strip().partition("\n")[0][:200].rstrip(".") or type(error).__name__
        raise Unavailable(f"Qdrant: {said}.", "Check ENGRAM_INDEX, and whether it runs.") from error
