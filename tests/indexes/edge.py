"""Qdrant's own engine in this process, asked through the few calls of its client that the index makes."""

import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import qdrant_edge as edge
from qdrant_client import models


class EdgeClient:
    """One shard for each collection, in a folder that the process leaves behind for the system to clear."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp())
        self._shards: dict[str, edge.EdgeShard] = {}

    def collection_exists(self, collection_name: str) -> bool:
        return collection_name in self._shards

    def create_collection(self, collection_name: str, *, vectors_config: Any, sparse_vectors_config: Any) -> None:
        multi = edge.MultiVectorConfig(comparator=edge.MultiVectorComparator.MaxSim)
        dense = {
            name: edge.EdgeVectorParams(size=each.size, distance=edge.Distance.Dot, multivector_config=multi)
            for name, each in vectors_config.items()
        }
        sparse = {name: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf) for name in sparse_vectors_config}
        config = edge.EdgeConfig(vectors=dense, sparse_vectors=sparse)
        self._shards[collection_name] = edge.EdgeShard.create(str(self._folder / collection_name), config)

    def create_payload_index(self, collection_name: str, field_name: str, *, field_schema: Any) -> None:
        kinds = {"keyword": "Keyword", "float": "Float", "bool": "Bool"}
        named = getattr(field_schema, "type", field_schema).value
        kind = getattr(edge.PayloadSchemaType, kinds[named])
        self._shards[collection_name].update(edge.UpdateOperation.create_field_index(field_name, kind))

    def upsert(
        self, collection_name: str, points: list[models.PointStruct], update_filter: Any = None, **_: Any
    ) -> None:
        made = [
            edge.Point(each.id, {k: _vector(v) for k, v in each.vector.items()}, each.payload) for each in points
        ]
        self._shards[collection_name].update(
            edge.UpdateOperation.upsert_points(made, update_filter and _filter(update_filter))
        )

    def delete(self, collection_name: str, points_selector: Any, **_: Any) -> None:
        if isinstance(points_selector, models.PointIdsList):
            gone = edge.UpdateOperation.delete_points(points_selector.points)
        else:
            gone = edge.UpdateOperation.delete_points_by_filter(_filter(points_selector.filter))
        self._shards[collection_name].update(gone)

    def retrieve(self, collection_name: str, ids: list[str], **_: Any) -> list[Any]:
        return self._shards[collection_name].retrieve(ids, with_payload=True, with_vector=False)

    def scroll(self, collection_name: str, *, scroll_filter: Any, limit: int, **_: Any) -> tuple[list[Any], None]:
        asked = edge.ScrollRequest(limit=limit, filter=_filter(scroll_filter), with_payload=True, with_vector=False)
        points, _next = self._shards[collection_name].scroll(asked)
        return points, None

    def query_points(self, collection_name: str, *, prefetch: Any, query_filter: Any, limit: int, **_: Any) -> Any:
        each = [
            edge.Prefetch(
                limit=one.limit, query=edge.Query.Nearest(_vector(one.query), one.using), filter=_filter(one.filter)
            )
            for one in prefetch
        ]
        asked = edge.QueryRequest(
            limit=limit, prefetches=each, query=edge.Fusion.Rrf(2), filter=_filter(query_filter), with_payload=True
        )
        return SimpleNamespace(points=self._shards[collection_name].query(asked))

    def close(self) -> None:
        """Go on: one for all tests."""


def _vector(given: Any) -> Any:
    if isinstance(given, models.SparseVector):
        return edge.SparseVector(indices=given.indices, values=given.values)
    return given


def _filter(given: Any) -> edge.Filter:
    parts = {
        name: [_condition(one) for one in getattr(given, name) or ()] for name in ("must", "should", "must_not")
    }
    return edge.Filter(**{name: each for name, each in parts.items() if each})


def _condition(given: Any) -> Any:
    if isinstance(given, models.Filter):
        return _filter(given)
    if isinstance(given, models.IsNullCondition):
        return edge.IsNullCondition(given.is_null.key)
    if given.range is not None:
        return edge.FieldCondition(given.key, range=edge.RangeFloat(**given.range.model_dump()))
    if isinstance(given.match, models.MatchAny):
        return edge.FieldCondition(given.key, match=edge.MatchAny(given.match.any))
    return edge.FieldCondition(given.key, match=edge.MatchValue(given.match.value))
