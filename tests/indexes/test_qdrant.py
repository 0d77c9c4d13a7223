"""The laws for an engine with Qdrant beside it, and for the index: on local mode, and on Qdrant's own engine."""

import functools
import uuid
from collections.abc import Iterator

import pytest
from qdrant_client import QdrantClient

from engines.asking import NASTY, embed, found, near
from engines.laws import EngineLaws, NewEngine
from engines.samples import EAST, MINE, NORTH, SPACE, START, Story, change, later, memory
from engines.servers import new_org, shared_database
from engram.engines.ram import RamEngine
from engram.engines.sqlite import SqliteEngine
from engram.errors import Unavailable
from engram.indexes import indexed
from engram.indexes.indexed import Fed, Indexed
from engram.indexes.qdrant import QdrantIndex, filter_of
from engram.interop.records_rows import record
from engram.model.filter import ANYTHING, Access, Filter, matches
from engram.model.memory import Memory
from engram.model.query import Query
from engram.model.scope import Scope
from engram.ports import ManyOrgs, able
from indexes.edge import EdgeClient

API = Scope("project", "api")


class Lasting(QdrantClient):
    """One for all tests: an engine that is closed does not take it along."""

    def close(self, **_: object) -> None:
        """Go on."""


@functools.cache
def client() -> QdrantClient:
    return Lasting(":memory:")


@functools.cache
def real() -> EdgeClient:
    """The engine that Qdrant itself runs on."""
    return EdgeClient()


def new_index(org: str = "", on: object = None) -> QdrantIndex:
    return QdrantIndex(on or client(), org or uuid.uuid4().hex, SPACE, name="qdrant:test", record=record)


def beside(engine: object, index: QdrantIndex | None = None) -> Indexed:
    return Indexed(engine, index or new_index(), SPACE)


def laws_on(on: object) -> Iterator[NewEngine]:
    made: list[Indexed] = []

    def new() -> Indexed:
        made.append(beside(RamEngine(), new_index(on=on)))
        return made[-1]

    yield new
    assert [engine.degraded() for engine in made] == [""] * len(made)  # it was the index that was tested


class TestRamBesideQdrant(EngineLaws):
    @pytest.fixture
    def new_engine(self) -> Iterator[NewEngine]:
        yield from laws_on(client())


class TestRamBesideQdrantsOwnEngine(EngineLaws):
    @pytest.fixture
    def new_engine(self) -> Iterator[NewEngine]:
        yield from laws_on(real())


class Unreachable:
    """A server that is gone."""

    def __getattr__(self, name: str):
        def fail(*_: object, **__: object):
            raise ConnectionError("Connection refused")

        return fail


class Watched:
    """An index of which it is told what it was asked."""

    def __init__(self, index: QdrantIndex) -> None:
        self._index, self.found = index, []

    def __getattr__(self, name: str):
        return getattr(self._index, name)

    def find(self, query: Query, access: Access, limit: int) -> list[str] | None:
        self.found.append(self._index.find(query, access, limit))
        return self.found[-1]


# --- who may read what ---

PEOPLE = ("ada", "eve", "", None)
ACCESSES = [
    Access("ada"),
    Access("eve", frozenset()),
    Access("", frozenset({"project:api"})),
    Access("ada", None, "team"),
    Access("nobody", frozenset({"project:other"}), ""),
    Access("nobody", closed=frozenset({"project:api"})),
    Access("nobody", agent="bot"),
    Access("ada", unowned=True),
]


def crowd() -> list[Memory]:
    scopes = (Scope("global"), API, Scope("project", "api", workspace="team"), Scope("agent", "bot", run="r1"))
    made = [
        memory(f"id-{owner}-{visibility}-{at}", "a zebra", owner=owner, visibility=visibility, scope=scope)
        for owner in PEOPLE
        for visibility in ("private", "shared")
        for at, scope in enumerate(scopes)
    ]
    return [
        *made,
        memory("id-forgotten", "a zebra", forgotten_at=START),
        memory("id-pending", "a zebra", status="pending"),
        memory("id-staged", "a zebra", status="pending", held_for="unmerged_branch", branch="b"),
        memory("id-replaced", "a zebra", replaced_by="id-other"),
        memory("id-scheduled", "a zebra", valid_from=later(99)),
        memory("id-expired", "a zebra", valid_until=later(5)),
        memory("id-map", "a zebra", kind="map", tags=("x", "y"), pinned=True, created_at=later(3)),
    ]


FILTERS = [
    ANYTHING,
    Filter(scopes=(API,)),
    Filter(within=API),
    Filter(within=Scope("agent", "bot", run="r1")),
    Filter(kinds=("map",)),
    Filter(except_kinds=("map",)),
    Filter(tags=("x", "y")),
    Filter(pinned=True),
    Filter(pinned=False),
    Filter(owner="eve"),
    Filter(since=later(1)),
    Filter(until=later(1)),
    Filter(standings=("live",), now=later(10)),
    Filter(standings=("live",), now=later(10), view="b"),
]


@pytest.mark.parametrize("access", ACCESSES)
@pytest.mark.parametrize("where", FILTERS)
def test_an_index_answers_exactly_the_ids_that_the_filter_and_the_access_let_through(filled, where, access):
    index, made = filled
    by_words = Query(terms=("zebra",), every=False, where=where)
    wanted = {one.id for one in made if matches(one, where) and access.allows(one.owner, one.visibility, one.scope)}

    assert set(index.find(by_words, access, 100)) == wanted
    assert set(index.find(by_words._replace(vector=EAST, space=SPACE), access, 100)) == wanted


@pytest.fixture(scope="module", params=[client, real])
def filled(request) -> tuple[QdrantIndex, list[Memory]]:
    index, made = new_index(on=request.param()), crowd()
    index.put([Fed(one, EAST) for one in made])
    return index, made


def test_one_org_finds_nothing_of_another(filled):
    index, _ = filled
    for query in (Query(terms=("zebra",)), Query(vector=EAST, space=SPACE)):
        assert index.find(query, MINE, 100) != []
        assert index.of("other").find(query, MINE, 100) == []
    assert (index.of("other").mark(), index.of("other").bare(100)) == (0, [])


def test_every_org_of_a_database_has_an_index_of_its_own():
    first = beside(new_org(shared_database()))
    other = able(first, ManyOrgs).of(uuid.uuid4().hex)
    for engine, text in ((first, "a zebra"), (other, "another zebra")):
        engine.commit(change(memory("id-1", text)))

    for engine, text in ((first, "a zebra"), (other, "another zebra")):
        told = engine._index.find(Query(terms=("zebra",)), MINE, 10)
        assert [each.text for each in engine.get("memory", told, MINE).values()] == [text]
        assert (engine.degraded(), engine.index_name) == ("", "qdrant:test")
    other.close()
    assert found(first, "zebra") == ["id-1"]
    assert first.degraded() == ""


def test_a_store_of_one_org_has_no_others_with_an_index_either():
    assert able(beside(RamEngine()), ManyOrgs) is None


def test_what_cannot_be_said_in_qdrant_is_left_to_the_store(filled):
    assert filter_of(Filter(session="s"), MINE, "org") is None
    assert filter_of(Filter(standings=("stale",), now=START), MINE, "org") is None
    index, _ = filled
    assert index.find(Query(terms=("zeb",), variants={"zeb": ("zeb*",)}), MINE, 10) is None


@pytest.mark.parametrize("nasty", NASTY)
def test_nothing_in_a_string_is_more_than_a_string_to_qdrant_either(nasty):
    index = new_index(nasty)
    index.put(
        [Fed(memory("id-1", "a zebra", owner=nasty, tags=(nasty,)), EAST), Fed(memory("id-2", "zebra"), EAST)]
    )
    asked = Query(terms=("zebra",))
    access = Access(nasty, frozenset({nasty}))

    assert index.find(asked, access, 9) == ["id-1"]
    assert index.find(asked._replace(where=Filter(tags=(nasty,), owner=nasty)), access, 9) == ["id-1"]
    assert index.find(asked._replace(where=Filter(kinds=(nasty,))), access, 9) == []
    assert new_index(f"{nasty}'").find(asked, access, 9) == []
    index.clear()


def test_ten_thousand_scopes_can_be_put_to_qdrant(filled):
    index, _ = filled
    scopes = (*(Scope("project", f"p{n}") for n in range(10_000)), API)
    wanted = set(index.find(Query(terms=("zebra",), where=Filter(scopes=(API,))), MINE, 100))

    assert set(index.find(Query(terms=("zebra",), where=Filter(scopes=scopes)), MINE, 100)) == wanted != set()


# --- following ---


def test_a_search_is_narrowed_to_what_the_index_found_and_scored_by_the_store():
    engine, index = RamEngine(), Watched(new_index())
    both = Indexed(engine, index, SPACE)
    for at in range(20):
        both.commit(
            change(memory(f"id-{at:02d}", f"note {at} about {'zebras' if at % 5 == 0 else 'lions'}"), batch=f"{at}")
        )
    hits = both.search(Query(terms=("zebra",), limit=2), MINE)

    assert set(index.found[-1]) == {"id-00", "id-05", "id-10", "id-15"}
    assert hits == engine.search(Query(terms=("zebra",), limit=2), MINE)


def test_what_was_saved_past_the_index_is_found_at_once():
    engine, index = RamEngine(), new_index()
    both = beside(engine, index)
    both.commit(change(memory("id-1", "a zebra"), batch="b1"))
    engine.commit(change(memory("id-2", "another zebra"), batch="b2"))  # by a process that knows no index

    assert index.mark() == 1
    assert found(both, "zebra") == found(engine, "zebra")
    assert both.degraded() == ""


def test_vectors_that_come_later_are_found_at_once_and_taken_over():
    engine, index = RamEngine(), new_index()
    both = beside(engine, index)
    records = [memory(f"id-{at}", f"note {at}") for at in range(3)]
    both.commit(change(*records))
    assert sorted(index.bare(10)) == ["id-0", "id-1", "id-2"]
    embed(engine, (records[0], EAST))
    assert near(both, EAST) == ["id-0"]
    embed(both, (records[1], NORTH))

    assert index.bare(10) == ["id-2"]
    assert near(both, NORTH)[0] == "id-1"


def test_a_memory_with_several_vectors_counts_by_its_nearest():
    both = beside(RamEngine())
    records = [memory("id-1", "long"), memory("id-2", "short")]
    both.commit(change(*records))
    embed(both, (records[0], EAST + NORTH), (records[1], EAST))

    assert near(both, NORTH)[0] == "id-1"


def test_a_point_has_the_keys_of_a_record_and_no_owner_where_it_is_nobodys():
    index, owners = new_index(), {"id-mine": "ada", "id-anonymous": "", "id-before": None}
    index.put([Fed(memory(id, f"a zebra of {id}", owner=owner), b"") for id, owner in owners.items()])
    points = client().retrieve(index._collection, [index._id(id) for id in owners], with_payload=True)
    told = {point.payload["id"]: point.payload for point in points}

    assert {id: payload.get("owner") for id, payload in told.items()} == owners
    assert "owner" not in told["id-before"]
    assert [*told["id-mine"]][:14] == [
        *("id", "content", "scope", "repo", "workspace", "worktree_path", "base_dir", "source", "category"),
        *("tags", "actor", "owner", "visibility", "created_at"),
    ]


def test_what_is_purged_leaves_the_index():
    index = new_index()
    story = Story(beside(RamEngine(), index))
    kept = story.remember("The zebra's secret")
    point = [index._id(kept.id)]
    assert client().retrieve(index._collection, point)[0].payload["content"] == "The zebra's secret"
    story.purge(kept)

    assert client().retrieve(index._collection, point) == []


@pytest.mark.parametrize("on", [client, real])
def test_of_two_that_follow_at_once_the_slower_does_not_bring_back_what_was_said_before(on):
    index = new_index(on=on())
    said = memory("id-1", "a zebra", revision=2), memory("id-1", "a lion", revision=3)
    index.put([Fed(said[1], b"")])
    index.put([Fed(said[0], b"")])  # read before the other wrote

    assert index.find(Query(terms=("lion",)), MINE, 9) == ["id-1"]
    assert index.find(Query(terms=("zebra",)), MINE, 9) == []


def test_making_the_index_goes_on_where_it_was_stopped(monkeypatch):
    monkeypatch.setattr(indexed, "BATCH", 10)
    engine, index = RamEngine(), new_index()
    for at in range(35):
        engine.commit(change(memory(f"id-{at:02d}", "a zebra"), batch=f"{at}"))
    both = beside(engine, index)
    first = next(both.reindex())
    assert first == (10, 35)
    assert index.mark() == 10
    rest = list(beside(engine, index).reindex())

    assert rest[0] == (20, 35)
    assert rest[-1] == (35, 35)
    assert len(index.find(Query(terms=("zebra",)), MINE, 100)) == 35
    assert next(iter(both.reindex(fresh=True))) == (10, 35)


def test_nothing_is_missed_while_another_process_makes_the_index_anew(monkeypatch):
    monkeypatch.setattr(indexed, "BATCH", 2)
    engine, index = RamEngine(), new_index()
    here, there = beside(engine, index), beside(engine, index)
    for n in range(7):
        here.commit(change(memory(f"id-{n}", f"zebra {n}"), batch=f"b{n}"))
    every = [f"id-{n}" for n in range(7)]
    assert sorted(found(here, "zebra")) == every

    for _ in there.reindex(fresh=True):
        assert sorted(found(here, "zebra")) == every
    assert sorted(found(here, "zebra")) == sorted(found(there, "zebra")) == every


def test_an_index_that_was_cleared_in_part_says_that_it_has_seen_nothing(monkeypatch):
    engine, index = RamEngine(), new_index()
    both = beside(engine, index)
    both.commit(change(memory("id-1", "a zebra")))
    delete, gone = client().delete, []

    def once(*asked: object, **how: object) -> object:
        if gone:
            raise ConnectionError("stopped")
        gone.append(delete(*asked, **how))
        return gone[0]

    with monkeypatch.context() as patch:
        patch.setattr(client(), "delete", once)
        with pytest.raises(Unavailable, match="stopped"):
            next(both.reindex(fresh=True))

    assert index.mark() == 0
    assert found(beside(engine, index), "zebra") == ["id-1"]


def test_an_index_that_is_far_behind_is_not_asked_and_it_is_said(monkeypatch):
    monkeypatch.setattr(indexed, "LAG", 5)
    engine = RamEngine()
    for at in range(8):
        engine.commit(change(memory(f"id-{at}", "a zebra"), batch=f"{at}"))
    both = beside(engine)
    assert len(found(both, "zebra")) == 8
    assert "far behind" in both.degraded()
    assert "engram reindex" in both.check()[0].hint
    list(both.reindex())

    embed(engine, *((record, EAST) for record, _ in engine.feed([f"id-{at}" for at in range(8)], SPACE).values()))
    list(both.reindex())
    assert len(found(both, "zebra")) == 8
    assert both.degraded() == ""


# --- when it is gone ---


def test_a_store_answers_alone_when_qdrant_is_gone_and_says_so(monkeypatch):
    engine, index = RamEngine(), new_index(on=Unreachable())
    both = beside(engine, index)
    both.commit(change(memory("id-1", "a zebra")))

    assert found(both, "zebra") == ["id-1"]
    assert "did not answer" in both.degraded()
    assert [finding.code for finding in both.check()] == ["index"]
    with pytest.raises(Unavailable):
        list(both.reindex())
    index._client = client()
    monkeypatch.setattr(indexed.time, "monotonic", lambda: 1e12)
    assert found(both, "zebra") == ["id-1"]
    assert both.degraded() == ""


def test_a_store_of_one_file_can_have_an_index_too(tmp_path):
    engine = SqliteEngine(tmp_path / "store.db", new_replica=lambda: "replica")
    both = beside(engine)
    records = [memory("id-1", "a zebra"), memory("id-2", "a lion")]
    both.commit(change(*records))
    embed(both, (records[0], EAST), (records[1], NORTH))

    assert engine.feed(["id-1"], SPACE)["id-1"][1] == EAST
    assert near(both, NORTH)[0] == "id-2"
    assert found(both, "zebra") == ["id-1"]
    both._engine.close()


def test_a_database_scores_what_the_index_proposes_as_it_scores_all():
    engine = new_org(shared_database())
    both = beside(engine)
    records = [memory(f"id-{at}", f"note {at} of the zebra {'and the lion' * at}") for at in range(6)]
    both.commit(change(*records))
    embed(both, *((one, EAST if at % 2 else NORTH) for at, one in enumerate(records)))
    asked = Query(terms=("zebra", "lion"), every=False, vector=NORTH, space=SPACE, limit=10)

    assert engine.feed(["id-1"], SPACE)["id-1"] == (both.get("memory", ["id-1"], MINE)["id-1"], EAST)
    assert both.search(asked, MINE) == engine.search(asked, MINE)
    assert len(both.search(asked, MINE)) == 6
    assert both.degraded() == ""
