"""The reference meaning of a filter, clause by clause."""

from datetime import UTC, datetime, timedelta

import pytest

from engram.errors import Invalid
from engram.model.filter import ANYTHING, COMMON, Filter, matches, matches_any
from engram.model.memory import Context, Memory
from engram.model.outline import outline
from engram.model.record import replace
from engram.model.relation import Relation
from engram.model.scope import GLOBAL, Scope
from engram.model.session import Session
from engram.model.text import digest

START = datetime(2026, 1, 1, tzinfo=UTC)
LATER = START + timedelta(days=1)

ONE = Memory(
    id="one",
    key="k",
    scope=Scope("project", "api", run="r"),
    session="s",
    text="The api port is 8080",
    kind="infra",
    tags=("a", "b"),
    origin="said",
    owner="alex",
    amends="two",
    replaced_by="three",
    pinned=True,
    held_for="conflict",
    status="promoted",
    context=Context(agent="codex", branch="topic"),
    valid_until=LATER,
    decay="10d",
    created_at=START,
    updated_at=START,
)


@pytest.mark.parametrize(
    ("holds", "fails"),
    [
        ({"ids": ("one", "x")}, {"ids": ("x",)}),
        ({"ids": None}, {"ids": ()}),
        ({"scopes": (GLOBAL, ONE.scope)}, {"scopes": (Scope("project", "api"),)}),
        ({"within": Scope("project", "api", run="r")}, {"within": GLOBAL}),
        ({"within": Scope("project", "api")}, {"within": Scope("project", "api", run="q")}),
        ({"kinds": ("fact", "infra")}, {"kinds": ("fact",)}),
        ({"except_kinds": ("fact",)}, {"except_kinds": ("infra",)}),
        ({"tags": ("a", "b")}, {"tags": ("a", "c")}),
        ({"origin": "said"}, {"origin": "inferred"}),
        ({"pinned": True}, {"pinned": False}),
        ({"owner": "alex"}, {"owner": ""}),
        ({"session": "s"}, {"session": "t"}),
        ({"key": "k"}, {"key": ""}),
        ({"digest": digest("the api port is 8080.")}, {"digest": digest("other")}),
        ({"outline": outline("The api port is 9090")}, {"outline": "other"}),
        ({"amends": "two"}, {"amends": ""}),
        ({"replaced_by": "three"}, {"replaced_by": ""}),
        ({"held_for": "conflict"}, {"held_for": ""}),
        ({"touches": ()}, {"touches": ("one",)}),
        ({"agent": "codex"}, {"agent": ""}),
        ({"made_on": "topic"}, {"made_on": "main"}),
        ({"ends_by": LATER}, {"ends_by": LATER - timedelta(seconds=1)}),
        ({"since": START}, {"since": LATER}),
        ({"until": LATER}, {"until": START}),
        ({"standings": ("replaced", "live"), "now": LATER}, {"standings": ("live",), "now": LATER}),
    ],
)
def test_each_clause(holds, fails):
    assert matches(ONE, Filter(**holds))
    assert not matches(ONE, Filter(**fails))


def test_what_ends_by_a_moment_is_stale_or_expired_by_then():
    fades = replace(ONE, valid_until=None)
    stale_at = START + timedelta(days=10)

    assert not matches(fades, Filter(ends_by=stale_at))
    assert matches(fades, Filter(ends_by=stale_at + timedelta(seconds=1)))
    assert not matches(replace(fades, decay="none"), Filter(ends_by=START + timedelta(days=9999)))


def test_no_clause_is_anything_and_all_clauses_must_hold():
    assert matches(ONE, ANYTHING)
    assert not matches(ONE, Filter(kinds=("infra",), key="other"))


def test_a_standing_needs_its_moment_and_a_name_that_is_one():
    with pytest.raises(Invalid, match="moment"):
        matches(ONE, Filter(standings=("live",)))
    with pytest.raises(Invalid, match="fresh"):
        matches(ONE, Filter(standings=("fresh",), now=START))


def test_what_is_near_is_the_same_text_or_the_same_statement_but_for_a_value():
    for near in ("the api port is 8080.", "The api port is 9090"):
        assert matches(ONE, Filter(near=near))
    assert not matches(ONE, Filter(near="The web port is 8080"))


def test_texts_that_are_no_statements_are_not_near_for_that():
    plain = replace(ONE, text="Who owns the release train?")

    assert outline(plain.text) == outline("Hello") == ""
    assert matches(plain, Filter(near=plain.text))
    assert not matches(plain, Filter(near="Hello"))


SESSION = Session(id="s", scope=Scope("project", "api"), owner="alex", started_at=START)
RELATION = Relation(
    id="r", from_id="a", to_id="b", kind="related", owner="alex", created_at=START, updated_at=LATER
)


@pytest.mark.parametrize(
    ("record", "holds", "fails"),
    [
        *((one, {"ids": (one.id, "x")}, {"ids": ("x",)}) for one in (SESSION, RELATION)),
        *((one, {"ids": None}, {"ids": ()}) for one in (SESSION, RELATION)),
        *((one, {"owner": "alex"}, {"owner": ""}) for one in (SESSION, RELATION)),
        *((one, {"since": START}, {"since": LATER}) for one in (SESSION, RELATION)),
        *((one, {"until": LATER}, {"until": START}) for one in (SESSION, RELATION)),
        (SESSION, {"scopes": (GLOBAL, SESSION.scope)}, {"scopes": (GLOBAL,)}),
        (SESSION, {"within": SESSION.scope}, {"within": GLOBAL}),
        (SESSION, {"touches": ()}, {"touches": ("s",)}),
        (RELATION, {"scopes": (GLOBAL,)}, {"scopes": (SESSION.scope,)}),
        (RELATION, {"within": GLOBAL}, {"within": SESSION.scope}),
        (RELATION, {"touches": ("x", "a")}, {"touches": ("r",)}),
        (RELATION, {"touches": ("b",)}, {"touches": ("x",)}),
        (ONE, {"kinds": ("infra",)}, {"kinds": ("fact",)}),
    ],
)
def test_each_clause_that_every_record_answers(record, holds, fails):
    assert matches_any(record, Filter(**holds))
    assert not matches_any(record, Filter(**fails))


@pytest.mark.parametrize("name", sorted(set(Filter._fields) - COMMON))
@pytest.mark.parametrize("record", [SESSION, RELATION], ids=["session", "relation"])
def test_sessions_and_relations_are_not_asked_what_only_memories_have(record, name):
    with pytest.raises(Invalid, match=f"by {name}[.]"):
        matches_any(record, Filter(**{name: ("x",)}))
    assert matches_any(record, Filter(now=LATER, view="b"))


def test_a_view_makes_what_is_staged_on_that_branch_live():
    fields = {"id": "x", "text": "words", "created_at": START, "updated_at": START}
    staged = Memory(**fields, held_for="unmerged_branch", branch="b")
    assert matches(staged, Filter(standings=("live",), now=LATER, view="b"))
    assert not matches(staged, Filter(standings=("live",), now=LATER))
