"""What a score means: rarity, shares and cosines; and which bytes are vectors."""

import math
import struct
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.errors import Invalid
from engram.model.memory import Memory
from engram.model.query import (
    SATURATION,
    Backlog,
    Census,
    Query,
    Space,
    bm25_rarity,
    check_vectors,
    cosine,
    phrase_terms,
    says_all,
    shares,
)
from engram.model.text import terms

START = datetime(2026, 1, 1, tzinfo=UTC)
SPACE = Space("model", 3)


def packed(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


# --- rarity ---


def test_the_rarer_a_term_the_more_it_tells():
    census = Census(1000, {"once": 1, "some": 100, "half": 500, "all": 1000})
    told = [census.rarity((term,)) for term in ("nobody", "once", "some", "half", "all")]

    assert told == sorted(told, reverse=True)
    assert len(set(told)) == 5
    assert told[-1] > 0


def test_a_group_tells_as_much_as_its_commonest_term():
    census = Census(100, {"rare": 1, "common": 60})

    assert census.rarity(("rare", "common")) == census.rarity(("common",)) < census.rarity(("rare",))
    assert census.rarity(()) == census.rarity(("nobody",))


@given(total=st.integers(0, 50), carriers=st.integers(0, 80))
def test_rarity_is_never_negative_even_where_counts_lag_behind(total, carriers):
    census = Census(total, {"term": carriers})

    assert census.rarity(("term",)) > 0
    assert math.isfinite(census.rarity(("term",)))


def test_the_rarest_of_a_group_sets_what_it_can_give():
    census = Census(100, {"rare": 1, "common": 60, "nobody": 0})

    assert bm25_rarity(census, ("common", "rare", "nobody")) == bm25_rarity(census, ("rare",))
    assert bm25_rarity(census, ("common",)) == pytest.approx(1e-6)  # more than half of all carry it


# --- shares ---

CENSUS = Census(100, {"rare": 1, "some": 10, "common": 60})


def highest(*groups: tuple[str, ...]) -> float:
    return (1 + SATURATION) * sum(bm25_rarity(CENSUS, group) for group in groups)


def shared(scores: list[float], groups: list[tuple[str, ...]], told: Census = CENSUS) -> list[float]:
    return shares(scores, groups, CENSUS, told)


def test_the_highest_score_there_can_be_is_one():
    asked = [("rare",), ("some",)]

    assert shared([highest(*asked), highest(*asked) / 2, 0], asked) == pytest.approx([1, 0.5, 0])
    assert shared([2 * highest(*asked)], asked) == [1]


def test_what_nobody_wrote_takes_its_part_away():
    score = highest(("rare",))
    alone = shared([score], [("rare",)])[0]
    beside = shared([score], [("rare",), ("nobody",)])[0]
    often = shared([score], [("rare",), ("nobody",), ("nothing",)])[0]

    assert alone == 1
    assert 0.3 < beside < 0.5
    assert often < beside


def test_a_variant_that_somebody_wrote_makes_a_group_known():
    score = highest(("rare",))

    assert shared([score], [("nobody", "rare")]) == pytest.approx([1])


def test_nothing_known_is_worth_nothing():
    assert shared([3.0, 1.0], [("nobody",)]) == [0, 0]
    assert shared([], [("rare",)]) == []
    assert shares([1.0], [("rare",)], Census(0, {}), Census(0, {})) == [0]


def test_what_only_others_wrote_is_as_good_as_unknown():
    score, told = highest(("rare",)), Census(100, {"rare": 1})

    assert shared([score], [("rare",), ("some",)], told) == shared([score], [("rare",), ("nobody",)])


def test_counts_that_disagree_are_no_error():
    """A commit may fall between the two counts, and remembered ones lag behind."""
    asked = [("rare",)]

    assert 0 < shares([1.0], asked, Census(3, {}), Census(3, {"rare": 1}))[0] <= 1
    assert 0 < shares([1.0], asked, Census(3, {"rare": 7}), Census(3, {"rare": 7}))[0] <= 1
    assert 0 < shares([1.0], asked, Census(0, {}), Census(1, {"rare": 1}))[0] <= 1


@given(
    scores=st.lists(st.floats(0, 1000)),
    groups=st.lists(st.lists(st.sampled_from(("rare", "some", "common", "nobody")), min_size=1).map(tuple)),
)
def test_shares_lie_between_nought_and_one_and_keep_the_order(scores, groups):
    found = shared(sorted(scores), groups)

    assert len(found) == len(scores)
    assert all(0 <= share <= 1 for share in found)
    assert found == sorted(found)


# --- phrases ---


def memory(text: str, **fields: object) -> Memory:
    return Memory(id="m", text=text, status="promoted", created_at=START, updated_at=START, **fields)


def test_every_phrase_is_said_in_one_of_a_memorys_texts():
    told = memory("We deploy on Fridays", summary="When we ship", key="deploy-day", tags=("release train",))

    assert says_all(told, ())
    assert says_all(told, ("on fridays", "WE SHIP", "deploy-day", "Release  Train"))
    assert not says_all(told, ("on fridays", "on mondays"))
    assert not says_all(told, ("fridays when",))
    assert not says_all(told, ("fact",))


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("We use C++ and C# here", "c++ and c#"),
        ("See src/api/routes.py for it", "api/routes.py"),
        ("Version 3.11.7 is out", "3.11"),
        ("Das Café öffnet", "CAFE ÖFFNET"),
        ("サーバーのポートは8080です", "ポートは8080"),
        ("서버 포트는 8080", "포트는"),
        ("to be or not to be", "to be"),
        ("snake_case_name here", "case_name"),
        ("the naming of things", "Naming of"),
    ],
)
def test_whatever_says_a_phrase_carries_its_terms(text, phrase):
    assert says_all(memory(text), (phrase,))
    assert set(phrase_terms((phrase,))) <= set(terms(text))


# --- vectors ---


def test_one_or_more_vectors_of_a_space_are_vectors():
    check_vectors(SPACE, packed(1, 0, 0))
    check_vectors(SPACE, packed(*range(300)))
    check_vectors(Space("model", 1), packed(-1))


@pytest.mark.parametrize(
    "vectors",
    [
        b"",
        packed(1, 0),
        packed(1, 0, 0, 0),
        packed(1, 0, 0)[:-1],
        packed(1, 0, 0) + b"\0",
        packed(1, math.nan, 0),
        packed(1, 0, math.inf),
        packed(-math.inf, 0, 0),
        packed(1, 0, 0, 0, math.nan, 0),
    ],
)
def test_other_bytes_are_no_vectors_and_the_error_says_how_to_get_some(vectors):
    with pytest.raises(Invalid) as refused:
        check_vectors(SPACE, vectors)

    assert "reembed" in refused.value.hint


def test_a_space_without_dimensions_has_no_vectors():
    for vectors in (b"", packed(1)):
        with pytest.raises(Invalid):
            check_vectors(Space("model", 0), vectors)


def test_the_nearest_of_several_vectors_counts():
    east, north = packed(1, 0, 0), packed(0, 1, 0)

    assert cosine(east, east) == 1
    assert cosine(east, north) == 0
    assert cosine(east, packed(-1, 0, 0)) == -1
    assert cosine(east, packed(-1, 0, 0) + packed(0.6, 0.8, 0) + north) == pytest.approx(0.6)


def test_spaces_differ_by_model_dimension_and_prefix():
    assert Space("model", 3, "") == SPACE
    assert len({SPACE, Space("model", 4), Space("other", 3), Space("model", 3, "doc: ")}) == 4


def test_a_query_asks_for_nothing_unless_told():
    assert (Query().terms, Query().phrases, Query().vector, Query().space) == ((), (), b"", None)
    assert Backlog() == (None, None, 0, 0)
