"""Records to documents and back."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given

from engines.strategies import whole_memories, whole_relations, whole_sessions
from engram.errors import Corrupt
from engram.model.codec import decode, encode, index, searchable, type_of
from engram.model.memory import Asset, Citation, Context, Memory
from engram.model.relation import Relation
from engram.model.scope import Scope
from engram.model.session import Session

START = datetime(2026, 1, 1, tzinfo=UTC)

FULL = Memory(
    id="m",
    key="k",
    scope=Scope("project", "api"),
    text="zeile eins\n日本 🦉",
    summary="kurz",
    kind="map",
    tags=("a", "b"),
    citations=(Citation("file", "a.py", "1-9", "sha", "x = 1\n"),),
    assets=(Asset("0" * 64, "a.png", "image/png", 7),),
    owner="",
    visibility="shared",
    context=Context(repo="r", word="observation"),
    importance=9,
    pinned=True,
    status="promoted",
    valid_until=START + timedelta(days=9, microseconds=5),
    created_at=START,
    updated_at=START,
    seen=3,
    revision=4,
)
"""One with nearly every field set."""


def test_a_full_memory_survives_json():
    assert decode("memory", json.loads(json.dumps(encode(FULL)))) == FULL


@given(whole_memories())
def test_every_memory_comes_back_equal(one):
    assert decode("memory", json.loads(json.dumps(encode(one)))) == one


@given(whole_sessions(), whole_relations())
def test_every_session_and_relation_comes_back_equal(session, relation):
    assert decode("session", json.loads(json.dumps(encode(session)))) == session
    assert decode("relation", json.loads(json.dumps(encode(relation)))) == relation


def test_fields_at_their_default_are_left_out_and_an_empty_owner_is_not_an_absent_one():
    small = Memory(id="m", text="words", created_at=START, updated_at=START)
    assert set(encode(small)) == {"id", "text", "created_at", "updated_at"}
    owned = Memory(id="m", text="words", owner="", created_at=START, updated_at=START)
    assert encode(owned)["owner"] == ""
    assert decode("memory", encode(small)).owner is None
    assert decode("memory", encode(owned)).owner == ""


def test_a_handle_is_never_written():
    assert "handle" not in encode(FULL.known_as("mem-0001"))
    with pytest.raises(Corrupt):
        decode("memory", encode(FULL) | {"handle": "mem-0001"})


@pytest.mark.parametrize(
    "document",
    [
        {"colour": "red"},
        {"tier": 9},
        {"text": ""},
        {"text": None},
        {"scope": "nowhere"},
        {"created_at": "yesterday"},
        {"created_at": "2026-01-01T00:00:00"},
        {"created_at": 7},
        {"decay": "soon"},
        {"citations": [{"kind": "file"}]},
        {"citations": [{"kind": "file", "ref": "x", "colour": "red"}]},
        {"context": {"colour": "red"}},
        {"tags": 7},
        {"citations": 7},
        {"importance": "high"},
    ],
)
def test_an_unknown_field_or_a_broken_value_is_corrupt_and_says_what_to_do(document):
    with pytest.raises(Corrupt) as refused:
        decode("memory", encode(FULL) | document)
    assert "upgrade" in refused.value.hint


def test_a_document_without_what_is_required_is_corrupt():
    for name in ("id", "text", "created_at", "updated_at"):
        document = encode(FULL)
        del document[name]
        with pytest.raises(Corrupt):
            decode("memory", document)


def test_the_type_of_a_record():
    session = Session(id="s", started_at=START)
    relation = Relation(id="r", from_id="a", to_id="b", kind="related", created_at=START, updated_at=START)
    assert [type_of(one) for one in (FULL, session, relation)] == ["memory", "session", "relation"]
    assert index(relation)["scope"] == "global"
    assert index(session)["visibility"] == "private"


def test_the_index_tells_absent_from_empty_and_prints_times_in_order():
    columns = index(FULL)
    assert columns["owner"] == ""
    assert columns["forgotten_at"] is None
    assert columns["tags"] == "\na\nb\n"
    assert columns["valid_until"] == "2026-01-10T00:00:00.000005Z"
    assert columns["place"] == "project:api"


def test_what_is_searched_is_key_and_kind_summary_tags_and_text():
    assert [column.split()[0] for column in searchable(FULL)] == ["k", "kurz", "a", "zeil"]


SAMPLES = {
    "memory": FULL,
    "session": Session(
        id="s", name="n", owner="", started_at=START, ended_at=START, context=Context(agent="codex")
    ),
    "relation": Relation(id="r", from_id="a", to_id="b", kind="related", created_at=START, updated_at=START),
}
WRONG = (7, 1.5, float("inf"), True, "\x07", ["x"], {"x": "y"}, [["x"]], [7])
"""Values of every type that JSON has; each is wrong for most fields."""


def alike(one: object, other: object) -> bool:
    """Whether two values of JSON are of one type, all the way down."""
    if isinstance(one, int | float) and isinstance(other, int | float):
        return isinstance(one, bool) == isinstance(other, bool) and one == other
    return type(one) is type(other) and one == other


@pytest.mark.parametrize(
    ("type", "field"), [(type, field) for type, one in SAMPLES.items() for field in one.FIELDS if field != "handle"]
)
def test_a_document_with_a_value_of_a_wrong_type_is_no_record(type, field):
    document = encode(SAMPLES[type])
    for wrong in WRONG:
        try:
            made = decode(type, {**document, field: wrong})
        except Corrupt:
            continue
        assert alike(encode(made).get(field, made.DEFAULTS.get(field)), wrong), wrong
        hash(made)


def test_a_document_that_cannot_be_read_says_why_once():
    for wrong, why in (
        ({"seen": "many"}, "seen cannot be 'many'"),
        ({"colour": "red"}, "nobody knows its field 'colour'"),
    ):
        with pytest.raises(Corrupt) as refused:
            decode("memory", encode(FULL) | wrong)
        assert refused.value.message == f"A memory cannot be read: {why}."
