"""Vectors in the `sqlite` engine: the same answers by SQLite, by arrays and without sqlite-vec, whoever writes.

What an engine does beyond a few thousand vectors, these tests let it do beyond a few dozen.
"""

import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path

import apsw
import numpy as np
import pytest

from engines.asking import embed, found, near, want
from engines.samples import MINE, SPACE, Story, change, memory, purge, rows
from engines.stores import open_store, raw, statements
from engram.engines import sqlite_vectors
from engram.engines.sqlite import SqliteEngine
from engram.engines.sqlite_words import MOST_PLACES
from engram.model.filter import Access, Filter
from engram.model.memory import Memory
from engram.model.query import Backlog, Query, Space
from engram.model.record import replace
from engram.model.scope import Scope

CHILD = str(Path(__file__).with_name("children.py"))
CLOUD = Space("cloud", 96)
SIZE = 400
EVERYTHING = 1 << 20
Vectors = np.ndarray


def cloud(count: int, dim: int = CLOUD.dim, seed: int = 0) -> Vectors:
    """Unit vectors in clusters, all to one side of zero: as models make them, and as signs hardly tell apart."""
    dice = np.random.default_rng(seed)
    middle = np.random.default_rng(7).normal(size=(20, dim)) + 1.5
    made = middle[dice.integers(0, 20, count)] + 0.7 * dice.normal(size=(count, dim))
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype("<f4")


def named(n: int) -> Memory:
    return memory(f"id-{n:04d}", f"note {n}")


def exact(vectors: Vectors, query: Vectors, count: int = 10) -> list[str]:
    """The truth: every vector as it is kept, compared with the query."""
    scores = vectors.astype("<f2").astype("<f4") @ query
    return [f"id-{n:04d}" for n in np.argsort(-scores, kind="stable")[:count]]


def asked(engine: SqliteEngine, query: Vectors, count: int = 10, space: Space = CLOUD, **more: object) -> list[str]:
    return near(engine, query.tobytes(), space, limit=count, **more)


def fill(engine: SqliteEngine, vectors: Vectors, space: Space = CLOUD, begin: int = 0) -> None:
    known = [named(begin + n) for n in range(len(vectors))]
    engine.commit(change(*known, batch=f"fill-{begin}"))
    put(engine, vectors, space, begin)


def put(engine: SqliteEngine, vectors: Vectors, space: Space = CLOUD, begin: int = 0) -> None:
    embed(engine, *((named(begin + n), each.tobytes()) for n, each in enumerate(vectors)), space=space)


@pytest.fixture(autouse=True)
def bounds(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Set the bounds of the module for one test: small ones, unless told otherwise."""

    def set_to(**values: object) -> None:
        small = {
            "EXACT": 50,
            "HELD_AS_FLOATS": 50,
            "ROUGHLY": EVERYTHING,
            "LOOKED_AT_TWICE": 50,
            "SHORTLIST": EVERYTHING,
            "CENTRED_AT": (50,),
            "HELD": EVERYTHING,
        }
        for name, value in (small | values).items():
            monkeypatch.setattr(sqlite_vectors, name, value)

    set_to()
    return set_to


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed store with SIZE vectors, centred; never opened by a test itself."""
    path = tmp_path_factory.mktemp("filled") / "store.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite_vectors, "CENTRED_AT", (50,))
        engine = open_store(path)
        vectors = cloud(SIZE)
        fill(engine, vectors[:100])
        fill(engine, vectors[100:], begin=100)
        engine.close()
    return path


@pytest.fixture
def store(filled: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(filled, tmp_path / "store.db"))


@pytest.fixture
def engine(store: Path) -> Iterator[SqliteEngine]:
    opened = open_store(store, "copy")
    yield opened
    opened.close()


def test_of_the_places_that_were_asked_the_last_few_are_known(store: Path, bounds: Callable[..., None]):
    bounds(EXACT=0, MOST_VIEWS=2)
    kept = sqlite_vectors.Vectors()
    db = apsw.Connection(str(store))
    place, *others = (sqlite_vectors.Place(1, b"", places) for places in (None, (1,), (2,)))
    first, second = (kept.room(db, place, CLOUD.dim).view for _ in range(2))
    for other in others * 2:
        kept.room(db, other, CLOUD.dim)
    again = kept.room(db, place, CLOUD.dim).view
    db.close()

    assert first is None
    assert second is not None
    assert again is None, "what was thrown out long ago is scanned, and not made anew before it is asked twice"


class Blind:
    """A finder that does not find sqlite-vec, and passes everything else on."""

    def __init__(self, finder: object) -> None:
        self._finder = finder

    def find_spec(self, name: str, *rest: object) -> ModuleSpec | None:
        return None if name == "sqlite_vec" else self._finder.find_spec(name, *rest)


@pytest.fixture
def without_sqlite_vec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "sqlite_vec", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Blind(finder) for finder in sys.meta_path])


@pytest.fixture
def broken_sqlite_vec(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The package is there, but its library was built for another machine."""
    package = tmp_path / "elsewhere" / "sqlite_vec"
    package.mkdir(parents=True)
    for name in ("__init__.py", "vec0.so", "vec0.dylib", "vec0.dll"):
        (package / name).write_bytes(b"no library")
    monkeypatch.delitem(sys.modules, "sqlite_vec", raising=False)
    monkeypatch.syspath_prepend(package.parent)


QUERIES = cloud(25, seed=1)
HELD = {"kept whole": EVERYTHING, "kept as codes": 0}


def recall(engine: SqliteEngine, queries: Sequence[Vectors] = QUERIES, vectors: Vectors | None = None) -> float:
    """The share of the true first ten that is found."""
    known = cloud(SIZE) if vectors is None else vectors
    return float(np.mean([len(set(asked(engine, q)) & set(exact(known, q))) / 10 for q in queries]))


# --- three ways, one answer ---


def test_the_first_search_scans_in_sqlite_and_later_ones_use_arrays(engine):
    query = QUERIES[0]
    first, second, third = (statements(engine, lambda: asked(engine, query)) for _ in range(3))

    assert "vec_distance_hamming" in first
    assert "vec_distance_hamming" not in second + third
    assert "v, code" in second
    assert "v, code" not in third


@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
def test_sqlite_and_arrays_find_the_same_exact_first_ten(bounds, store, held):
    bounds(HELD=held)
    for query in QUERIES[:4]:
        engine = open_store(store)
        expected = exact(cloud(SIZE), query)
        assert [asked(engine, query) for _ in range(3)] == [expected] * 3
        engine.close()


def test_every_way_gives_the_cosine(bounds, store):
    query, vectors = QUERIES[0], cloud(SIZE)
    for held in HELD.values():
        bounds(HELD=held)
        engine = open_store(store)
        for _ in range(3):
            hits = engine.search(Query(vector=query.tobytes(), space=CLOUD), MINE)
            true = [float(vectors[int(hit.memory.id[3:])] @ query) for hit in hits]
            assert [hit.cosine for hit in hits] == pytest.approx(true, abs=2e-3)
        engine.close()


@pytest.mark.parametrize("absence", ["without_sqlite_vec", "broken_sqlite_vec"])
@pytest.mark.parametrize("held", HELD.values(), ids=HELD)
def test_without_sqlite_vec_the_same_are_found(request, absence, bounds, store, held):
    request.getfixturevalue(absence)
    bounds(HELD=held)
    engine = open_store(store)
    told = [statements(engine, lambda: asked(engine, QUERIES[0])) for _ in range(2)]

    assert "vec_distance_hamming(" not in "\n".join(told)
    for query in QUERIES[:4]:
        assert asked(engine, query) == exact(cloud(SIZE), query)
    engine.close()


def test_a_short_list_holds_nearly_all_of_the_first_ten_whichever_way(bounds, store):
    bounds(SHORTLIST=80)
    firsts = []
    for query in QUERIES:
        engine = open_store(store)
        firsts.append(asked(engine, query))
        engine.close()
    engine = open_store(store)
    asked(engine, QUERIES[0])

    assert [asked(engine, query) for query in QUERIES] == firsts
    assert recall(engine) >= 0.97
    bounds(SHORTLIST=80, HELD=0)
    codes = open_store(store)
    asked(codes, QUERIES[0])
    assert [asked(codes, query) for query in QUERIES] == firsts
    for each in (engine, codes):
        each.close()


@pytest.mark.usefixtures("without_sqlite_vec")
def test_without_sqlite_vec_a_short_list_holds_the_same(bounds, store):
    bounds(SHORTLIST=80)
    engine = open_store(store)

    assert recall(engine) >= 0.97
    engine.close()


def test_few_vectors_are_all_compared_and_nothing_is_missed(bounds, store):
    bounds(EXACT=SIZE, SHORTLIST=1)
    engine = open_store(store)
    told = statements(engine, lambda: asked(engine, QUERIES[0]))

    assert "vec_distance_hamming" not in told
    assert recall(engine) == 1
    engine.close()


def test_a_short_list_is_as_long_as_what_was_asked_for(bounds, store):
    bounds(SHORTLIST=1)
    engine = open_store(store)
    for _ in range(2):
        assert len(asked(engine, QUERIES[0], 100)) == 100
        assert len(asked(engine, QUERIES[0], 10 * SIZE)) == SIZE
    engine.close()


@pytest.mark.parametrize("dim", [1, 7, 8, 12, 63, 64, 65, 100])
def test_any_number_of_dimensions_will_do(tmp_path, dim):
    vectors, space = cloud(90, dim), Space("odd", dim)
    engine = open_store(tmp_path / "store.db")
    fill(engine, vectors, space)
    for _ in range(3):
        for query in cloud(3, dim, seed=3):
            hits = engine.search(Query(vector=query.tobytes(), space=space, limit=90), MINE)
            true = sorted((vectors.astype("<f2").astype("<f4") @ query).tolist(), reverse=True)
            assert [hit.cosine for hit in hits] == pytest.approx(true, abs=1e-5)
    assert engine.check() == []
    engine.close()


@pytest.mark.parametrize("dim", [12, 63, 65, 100])
def test_what_is_asked_for_itself_is_on_every_short_list(bounds, tmp_path, dim):
    bounds(SHORTLIST=8, CENTRED_AT=(0,))
    vectors, space = cloud(90, dim), Space("odd", dim)
    engine = open_store(tmp_path / "store.db")
    fill(engine, vectors, space)
    for _ in range(2):
        for n in range(0, 90, 9):
            assert asked(engine, vectors[n], 1, space) == [f"id-{n:04d}"]
    engine.close()


# --- who writes beside ---

VIEWS = {
    "all compared": {"EXACT": 10 * SIZE},
    "short list of whole ones": {"SHORTLIST": 200},
    "short list of a rough one": {"ROUGHLY": 300, "SHORTLIST": 200, "HELD_AS_FLOATS": 10 * SIZE},
    "short list of all at once": {"SHORTLIST": 200, "LOOKED_AT_TWICE": 10 * SIZE},
    "short list of codes": {"SHORTLIST": 200, "HELD": 0},
}


@pytest.fixture(params=VIEWS.values(), ids=VIEWS)
def warm(request: pytest.FixtureRequest, bounds: Callable[..., None], store: Path) -> Iterator[SqliteEngine]:
    """An engine that has searched, for several readers, and keeps arrays for them."""
    bounds(**request.param)
    engine = open_store(store)
    for _ in range(3):
        for reader in (MINE, Access("ada"), Access("", frozenset())):
            asked(engine, QUERIES[0], access=reader)
    yield engine
    engine.close()


@pytest.fixture
def other(warm: SqliteEngine) -> Iterator[SqliteEngine]:
    """Another engine on the same file, as another process has one."""
    engine = open_store(warm.path)
    yield engine
    engine.close()


def test_what_another_added_is_found_at_once(warm, other):
    query = QUERIES[0]
    for n in range(SIZE, SIZE + 3):
        fill(other, query[None], begin=n)
        assert named(n).id in asked(warm, query, 1 + n - SIZE)


def test_what_another_process_added_is_found_at_once(warm):
    query = QUERIES[0]
    command = [sys.executable, CHILD, "embed", warm.path, "late-1", query.tobytes().hex(), CLOUD.model]
    subprocess.run(command, check=True)

    assert asked(warm, query, 1) == ["late-1"]


def test_what_another_revised_is_gone_until_it_has_a_new_vector(warm, other):
    query = QUERIES[0]
    first, second = exact(cloud(SIZE), query, 2)
    old = other.get("memory", [first], MINE)[first]
    new = replace(old, text="something else", revision=2)
    other.commit(change(new, batch="revised"))
    assert asked(warm, query, 1) == [second]

    embed(other, (new, query.tobytes()), space=CLOUD)

    assert asked(warm, query, 2) == [first, second]
    assert warm.search(Query(vector=query.tobytes(), space=CLOUD), MINE)[0].memory == new


def test_a_new_vector_of_the_same_text_takes_the_place_of_the_old(warm, other):
    query = QUERIES[0]
    first, second = exact(cloud(SIZE), query, 2)
    put(other, -query[None], begin=int(first[3:]))

    assert asked(warm, query, 1) == [second]
    assert asked(warm, -query, 1) == [first]


def test_vectors_that_are_gone_do_not_pile_up_in_memory(bounds, store):
    bounds()
    engine = open_store(store)
    first = exact(cloud(SIZE), QUERIES[0])
    for _ in range(3):
        asked(engine, QUERIES[0])
    (view,) = engine._searcher._vectors._views.values()
    sizes = []
    for _ in range(7):
        put(engine, cloud(SIZE))
        assert asked(engine, QUERIES[0]) == first
        sizes.append(view._held.size)
    engine.close()

    assert max(sizes) <= 2 * SIZE + sqlite_vectors.EXACT
    assert min(sizes) == SIZE


def test_what_another_moved_is_found_where_it_is_now_and_nowhere_else(warm, other):
    query = QUERIES[0]
    first, second = exact(cloud(SIZE), query, 2)
    old = other.get("memory", [first], MINE)[first]
    moves = [{"owner": "ada"}, {"visibility": "shared"}, {"scope": Scope.parse("project:api")}, {"owner": ""}]
    for revision, move in enumerate(moves, start=2):
        old = replace(old, revision=revision, **move)
        other.commit(change(old, batch=f"moved-{revision}"))
        for reader in (MINE, Access("ada"), Access("", frozenset())):
            seen = asked(warm, query, 1, access=reader) == [first]
            assert seen == reader.allows(old.owner, old.visibility, old.scope), (move, reader)
    assert asked(warm, query, 1, where=Filter(scopes=(Scope(),))) == [second]


def test_what_another_purged_is_gone(warm, other):
    query = QUERIES[0]
    ranked = exact(cloud(SIZE), query, 12)
    for n, id in enumerate(ranked[:6]):
        other.commit(purge(named(int(id[3:])), batch=f"purge-{n}"))

        assert asked(warm, query, 1) == [ranked[n + 1]]
    assert asked(warm, query, 6) == ranked[6:]


def test_what_was_added_last_and_purged_does_not_hide_what_comes_next(warm, other):
    query = QUERIES[0]
    for n in range(SIZE, SIZE + 6):
        fill(other, query[None], begin=n)
        if n % 3:
            asked(warm, query)
        other.commit(purge(named(n), batch=f"purge-{n}"))
        if n % 2:
            asked(warm, query)
    fill(other, query[None], begin=SIZE + 9)

    assert asked(warm, query, 1) == [named(SIZE + 9).id]


def test_a_second_space_takes_over_in_a_warm_engine_too(warm, other):
    turned, space = cloud(SIZE, 40, seed=5), Space("other cloud", 40)
    want(other, space)
    put(other, turned[1:], space, begin=1)
    assert asked(warm, QUERIES[0], 3) == exact(cloud(SIZE), QUERIES[0], 3)
    put(other, turned[:1], space)

    assert asked(warm, QUERIES[0]) == []
    assert warm.backlog(MINE) == Backlog(space, None, 0, 0)
    for _ in range(3):
        assert asked(warm, turned[0], 1, space) == ["id-0000"]


def test_threads_search_while_others_write(warm, other):
    """Nothing is raised, nothing found twice, and what was there all along is always found."""
    query, failures, done = QUERIES[0], [], threading.Event()
    stays = exact(cloud(SIZE), query, 1)[0]

    def searches() -> None:
        while not done.is_set():
            try:
                hits = asked(warm, query, 5)
                assert stays in hits
                assert len(set(hits)) == len(hits) == 5
            except Exception as error:  # noqa: BLE001 - whatever a thread raises must reach the test
                failures.append(error)
                return

    threads = [threading.Thread(target=searches) for _ in range(4)]
    often = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for n in range(SIZE, SIZE + 25):
            fill(other if n % 2 else warm, -query[None], begin=n)
    finally:
        done.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(often)
    assert failures == []


# --- places ---


@pytest.fixture
def neighbours(bounds: Callable[..., None], tmp_path: Path) -> Iterator[SqliteEngine]:
    """Five memories of mine, beside a stranger's with thousands of vectors that are all nearer."""
    bounds(SHORTLIST=20, CENTRED_AT=(50,))
    engine, query = open_store(tmp_path / "store.db"), QUERIES[0]
    theirs = [memory(f"their-{n:02d}", f"zebra {n}", owner="ada") for n in range(25)]
    engine.commit(change(*theirs, *(replace(named(n), text=f"one zebra {n}") for n in range(5))))
    embed(engine, *((each, query.tobytes() * 128) for each in theirs), space=CLOUD)
    far = cloud(5, seed=11)
    embed(engine, *((replace(named(n), text=f"one zebra {n}"), far[n].tobytes()) for n in range(5)), space=CLOUD)
    assert raw(engine.path, "SELECT count(*) FROM vector") == [(25 * 128 + 5,)]
    yield engine
    engine.close()


def test_thousands_of_a_strangers_vectors_push_none_of_mine_out(neighbours):
    expected = exact(cloud(5, seed=11), QUERIES[0], 5)
    for _ in range(3):
        assert asked(neighbours, QUERIES[0], 3) == expected[:3]
        assert asked(neighbours, QUERIES[0], 50) == expected
    assert set(asked(neighbours, QUERIES[0], 50, access=Access("ada"))) == {f"their-{n:02d}" for n in range(25)}


def test_thousands_that_the_filter_leaves_out_push_nobody_out(neighbours):
    """Shared ones, so that they lie in places that are read: only the filter keeps them out."""
    for n in range(25):
        theirs = memory(f"their-{n:02d}", f"zebra {n}", owner="ada", visibility="shared", revision=2)
        neighbours.commit(change(theirs, batch=f"shared-{n}"))
    for _ in range(3):
        assert asked(neighbours, QUERIES[0], 1)[0].startswith("their")
        assert len(asked(neighbours, QUERIES[0], 3, where=Filter(owner=""))) == 3
        assert len(asked(neighbours, QUERIES[0], 50, where=Filter(owner=""))) == 5


@pytest.mark.parametrize("readable", [MOST_PLACES - 1, MOST_PLACES, MOST_PLACES + 1, 2 * MOST_PLACES])
def test_more_places_than_can_be_listed_are_searched_too(bounds, tmp_path, readable):
    bounds(SHORTLIST=30)
    vectors, engine = cloud(3 * readable), open_store(tmp_path / "store.db")
    scopes = [Scope.parse(f"project:p{n}") for n in range(readable)]
    known = [replace(named(n), text=f"zebra {n}", scope=scopes[n % readable]) for n in range(3 * readable)]
    theirs = [memory(f"their-{n}", "zebra secret", owner="ada", scope=scopes[n]) for n in range(readable)]
    engine.commit(change(*known, *theirs))
    embed(engine, *zip(known, (each.tobytes() for each in vectors), strict=True), space=CLOUD)
    embed(engine, *((each, QUERIES[0].tobytes()) for each in theirs), space=CLOUD)

    for _ in range(3):
        for query in QUERIES[:3]:
            assert set(asked(engine, query)) >= set(exact(vectors, query, 2))
        assert not any(id.startswith("their") for id in asked(engine, QUERIES[0], 500))
        assert sorted(found(engine, "zebra", limit=500)) == [each.id for each in known]
        assert found(engine, "secret") == []
        assert engine.census(["zebra", "secret"], MINE).carriers == {"zebra": 3 * readable, "secret": 0}
        assert asked(engine, vectors[0], where=Filter(scopes=scopes[:1]))[0] == known[0].id
        assert len(asked(engine, vectors[0], 50, where=Filter(scopes=tuple(scopes[:2])))) == 6
    engine.close()


# --- centring ---


def centring(path: Path, space: Space = CLOUD) -> tuple[bytes, int]:
    sql = f"SELECT centre, centred FROM space WHERE model = '{space.model}'"
    return raw(path, sql)[0]


def codes(path: Path) -> list[bytes]:
    return [code for (code,) in raw(path, "SELECT code FROM vector ORDER BY v")]


def signs(vectors: Vectors, middle: Vectors | float = 0) -> list[bytes]:
    kept = vectors.astype("<f2").astype("<f4")
    return [bits.tobytes() for bits in np.packbits(kept > middle, axis=1, bitorder="little")]


def test_vectors_are_centred_once_when_there_are_enough(bounds, tmp_path):
    bounds(CENTRED_AT=(60,))
    vectors, engine = cloud(200), open_store(tmp_path / "store.db")
    fill(engine, vectors[:60])
    assert centring(engine.path) == (b"", 0)
    assert codes(engine.path) == signs(vectors[:60])

    fill(engine, vectors[60:61], begin=60)

    centre, times = centring(engine.path)
    middle = np.frombuffer(centre, "<f4")
    assert times == 1
    assert middle == pytest.approx(vectors[:61].mean(axis=0), abs=1e-3)
    assert codes(engine.path) == signs(vectors[:61], middle)

    fill(engine, vectors[61:], begin=61)
    assert centring(engine.path) == (centre, 1)
    assert codes(engine.path) == signs(vectors, middle)
    assert engine.check() == []
    engine.close()


def test_vectors_are_centred_anew_at_each_number_there_is(bounds, tmp_path):
    bounds(CENTRED_AT=(60, 120))
    vectors, engine = cloud(200), open_store(tmp_path / "store.db")
    fill(engine, vectors[:100])
    fill(engine, vectors[100:150], begin=100)
    centre, times = centring(engine.path)
    middle = np.frombuffer(centre, "<f4")

    assert times == 2
    assert middle == pytest.approx(vectors[:150].mean(axis=0), abs=1e-3)
    assert codes(engine.path) == signs(vectors[:150], middle)
    engine.close()


def test_a_second_space_is_centred_by_its_own_vectors_alone(bounds, tmp_path):
    bounds(CENTRED_AT=(60, 120))
    engine, space = open_store(tmp_path / "store.db"), Space("other cloud", 40)
    turned = cloud(150, 40, seed=5)
    fill(engine, cloud(150))
    want(engine, space)
    put(engine, turned[:50], space)
    assert centring(engine.path, space) == (b"", 0)
    put(engine, turned[50:70], space, begin=50)
    centre, times = centring(engine.path, space)

    assert times == 1
    assert np.frombuffer(centre, "<f4") == pytest.approx(turned[:70].mean(axis=0), abs=1e-3)
    engine.close()


def test_what_came_and_went_does_not_count_for_centring(bounds, tmp_path):
    bounds(CENTRED_AT=(60, 120))
    engine, vectors = open_store(tmp_path / "store.db"), cloud(30)
    fill(engine, vectors)
    for _ in range(4):
        put(engine, vectors)

    assert centring(engine.path) == (b"", 0)
    engine.close()


def test_centring_by_another_renews_the_arrays_of_a_warm_engine(bounds, tmp_path):
    """Its codes were made with the old centre: with the new one, an engine that kept them would miss most."""
    bounds(SHORTLIST=40, CENTRED_AT=(320,))
    vectors = cloud(SIZE)
    warm, other = (open_store(tmp_path / "store.db") for _ in range(2))
    fill(other, vectors[:300])
    for _ in range(3):
        asked(warm, QUERIES[0])
    before = recall(warm, vectors=vectors[:300])
    fill(other, vectors[300:], begin=300)
    assert centring(warm.path)[1] == 1
    fresh = open_store(warm.path)

    for query in QUERIES:
        assert asked(warm, query) == asked(fresh, query)
    assert recall(warm) > max(before, 0.9)
    for each in (warm, other, fresh):
        each.close()


# --- the file and the process ---


def test_the_file_stays_private_with_vectors_in_it(engine):
    engine.commit(change(memory("late-1", "late")))
    embed(engine, (memory("late-1", "late"), QUERIES[0].tobytes()), space=CLOUD)
    for _ in range(2):
        asked(engine, QUERIES[0])
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in Path(engine.path).parent.iterdir()}

    assert modes == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600}
    assert engine.check() == []


def test_no_other_extension_can_be_loaded_after_a_search(engine):
    asked(engine, QUERIES[0])
    with pytest.raises(apsw.Error):
        engine._connection().execute("SELECT load_extension('anything')").fetchall()


def test_words_are_kept_and_found_without_numpy(tmp_path):
    """Starting numpy costs more than a whole search by words."""
    code = (
        "import sys\n"
        "from engines.samples import MINE, change, memory\n"
        "from engines.stores import open_store\n"
        "from engram.model.query import Query\n"
        f"engine = open_store({str(tmp_path / 'store.db')!r})\n"
        "engine.commit(change(memory('id-1', 'the zebra')))\n"
        "assert engine.search(Query(terms=('zebra',)), MINE)\n"
        "engine.backlog(MINE)\n"
        "assert 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def test_a_story_with_vectors_comes_back_after_closing(tmp_path):
    path = tmp_path / "store.db"
    engine = open_store(path)
    kept = Story(engine).remember("We deploy on Fridays")
    engine.put_vectors(SPACE, rows((kept, cloud(1, 4)[0].tobytes())))
    engine.close()
    engine = open_store(path)

    assert asked(engine, cloud(1, 4)[0], 1, SPACE) == [kept.id]
    assert engine.backlog(MINE) == Backlog(SPACE, None, 0, 0)
    engine.close()
