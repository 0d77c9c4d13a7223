"""Workspaces: what was saved before there were any is moved by the operator, and verdicts hold in them.

On every engine of a team.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

import engram as package
from engines.servers import database_url, new_org, shared_database
from engram.errors import Conflict, Forbidden, Invalid
from engram.model.caller import Caller
from engram.model.change import Change
from engram.model.event import Draft, Edit, Payload
from engram.model.scope import Scope
from engram.operations.carrying import Ours
from engram.operations.joining import Joining
from engram.rules.carrying import Reach
from engram.rules.hearing import Trust
from engram.service import Engram

As = Callable[..., Engram]


@pytest.fixture(params=["store.db", "postgres"])
def as_(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[As]:
    """The memory of an org as one caller sees it; without a name, as who runs the store."""
    environment = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_STAGING": "off"}
    in_database = request.param == "postgres"
    org = new_org(shared_database()).org if in_database else "acme"
    store = database_url() if in_database else str(tmp_path / request.param)
    with ExitStack() as stack:

        def opened(owner: str = "", workspace: str | None = None) -> Engram:
            caller = Caller(org=org, owner=owner, actor=owner, workspace=workspace)
            plain = package.open(
                store, caller=Caller(org=org), environment=environment | {"ENGRAM_ORG": org}, folder=tmp_path
            )
            return stack.enter_context(plain).speaking_for(caller, "flag")

        yield opened


def before(as_: As) -> None:
    """What ada and ben saved while workspaces were off."""
    ada, ben = as_("ada"), as_("ben")
    ada.remember("The api is slow", scope="project:api", visibility="shared", key="speed", session="s-1")
    ada.remember("The web is red", scope="project:web@eval")
    ada.remember("My name is Ada", kind="identity", confirm=True)
    ada.insights_save("Reads diffs first")
    ada.session_begin("s-1", scope="project:api")
    ben.remember("Ben doubts the api", scope="project:api")


def texts(memory: Engram) -> list[str]:
    return sorted(one.text for one in memory.list(everywhere=True, standing=["all"]).memories)


def test_what_was_saved_before_is_seen_in_the_workspace_it_is_moved_to(as_: As):
    before(as_)
    red = as_("ada", "red")
    assert texts(red) == []

    planned = as_().workspaces_assign("red", "ada")
    assert (planned.applied, planned.records, texts(red)) == (False, {"memory": 4, "session": 1}, [])
    assert planned.scopes == {"global": 2, "project:api": 1, "project:web": 1}
    done = as_().workspaces_assign("red", "ada", apply=True)

    assert (done.applied, done.records, done.kept_back) == (True, planned.records, 0)
    assert texts(red) == ["My name is Ada", "The api is slow", "The web is red"]
    scopes = {one.text: str(one.scope) for one in red.list(everywhere=True, standing=["all"]).memories}
    assert scopes["The web is red"] == "red/project:web@eval"
    assert [one.memory.text for one in red.recall("slow api", everywhere=True).hits] == ["The api is slow"]
    assert [one.text for one in red.insights_list().memories] == ["Reads diffs first"]
    assert [one.name for one in red.session_list(everywhere=True).sessions] == ["s-1"]
    assert texts(as_("ada", "blue")) == texts(as_("ben", "blue")) == []
    assert texts(as_("ben", "red")) == ["The api is slow"]  # shared there; his own lies where it lay
    assert as_().workspaces_assign("red", "ada", apply=True).records == {"memory": 0, "session": 0}
    assert as_().doctor().healthy


def test_a_key_revises_in_the_workspace_what_it_named_before(as_: As):
    before(as_)
    as_().workspaces_assign("red", "ada", apply=True)
    red = as_("ada", "red")

    again = red.remember("The api is fast", scope="project:api", key="speed")
    assert (again.outcome, again.memory.text, len(texts(red))) == ("revised", "The api is fast", 3)


def test_one_project_moves_and_another_later_from_there(as_: As):
    before(as_)

    moved = as_().workspaces_assign("red", "ada", scope="project:api", apply=True)
    assert moved.records == {"memory": 1, "session": 1}
    assert as_().workspaces_assign("blue", "ada", source="red", apply=True).records == moved.records
    assert texts(as_("ada", "red")) == []
    assert texts(as_("ada", "blue")) == ["The api is slow"]


def test_what_is_there_already_is_kept_back(as_: As):
    before(as_)
    as_("ada", "red").remember("The web is red", scope="project:web@eval")

    done = as_().workspaces_assign("red", "ada", apply=True)
    assert (done.records["memory"], done.kept_back) == (3, 1)


def test_a_move_is_told_in_history_and_stays(as_: As):
    before(as_)
    as_().workspaces_assign("red", "ada", scope="project:api", apply=True)
    red = as_("ada", "red")
    (moved,) = [one for one in red.list(everywhere=True).memories if one.text == "The api is slow"]

    last = red.history(moved.handle).events[0]
    assert (last.action, last.actor) == ("assign", "person")
    with pytest.raises(Conflict, match="workspaces stay"):
        red.undo(str(last.seq))


def test_only_who_runs_the_store_moves_anything(as_: As):
    before(as_)
    for who in (as_("ada"), as_("ada", "red")):
        with pytest.raises(Forbidden):
            who.workspaces_assign("red", "ada", apply=True)
    for workspace, owner in (("", "ada"), ("a/b", "ada"), ("red", ""), ("red", " ada")):
        with pytest.raises(Invalid):
            as_().workspaces_assign(workspace, owner)


# Verdicts lie in no workspace; the memories they are about do.

OLD, NEW = "The staging database is Postgres 14", "We upgraded the staging database to Postgres 16"


def test_what_was_judged_in_a_workspace_is_told_beside_the_memory(as_: As):
    red = as_("ada", "red")
    old, new = red.remember(OLD).memory, red.remember(NEW).memory
    red.relate(new.handle, old.handle, "conflicts")

    (hit,) = red.recall("which Postgres did we upgrade staging to?", limit=1).hits
    assert (hit.memory.id, hit.marks) == (new.id, (f"conflicts with {old.handle}",))
    assert red.get(old.handle).marks == {old.id: (f"conflicts with {new.handle}",)}
    assert [pair.status for pair in red.conflicts().pairs] == ["judged"]


def test_a_pair_that_was_judged_or_set_aside_in_a_workspace_is_not_asked_about_again(as_: As):
    red = as_("ada", "red")
    red.remember(OLD)
    said = red.remember(NEW, key="staging")
    red.judge(said.candidates[0].pair, "compatible")
    third = red.remember("The staging database is called Postgres One")
    for one in third.candidates:
        red.conflicts(ignore=one.pair)

    again = red.remember("We upgraded the staging database to Postgres 17", key="staging")
    assert (again.outcome, again.candidates) == ("revised", ())
    assert red.conflicts().pairs == ()


def test_a_second_scan_of_a_workspace_proposes_nothing_twice(as_: As):
    red = as_("ada", "red")
    red.remember(OLD)
    red.remember(NEW)

    assert red.conflicts(scan=True, words=True).proposed == 1
    assert red.conflicts(scan=True, words=True).proposed == 0
    assert [pair.status for pair in red.conflicts().pairs] == ["proposed"]


def test_an_exchange_in_a_workspace_carries_verdicts_and_knows_those_it_has(as_: As):
    red = as_("ada", "red")
    scope = "red/project:api"
    old, new = (red.remember(text, scope=scope, visibility="shared").memory for text in (OLD, NEW))
    relation = red.relate(new.handle, old.handle, "compatible").relation

    assert relation.id in Ours(red.call(), Reach(Scope.parse(scope))).ids
    assert Joining(red.call(), Trust).records([relation.id]) == {relation.id: relation}


@pytest.mark.parametrize("last", [{}, {"scope": "of : no form"}, {"from_id": None}], ids=str)
@pytest.mark.parametrize("type", ["memory", "relation"])
def test_what_is_gone_and_was_told_in_no_form_is_in_no_workspace_and_breaks_no_history(as_: As, type, last):
    before(as_)
    told = {"id": "gone", "owner": "ada", **last}
    edits = tuple(Edit(type, "gone", field, value, None) for field, value in told.items())
    draft = Draft("revise", "x", datetime(2026, 5, 1, tzinfo=UTC), ("gone",), owner="ada", payload=Payload(edits))
    as_("ada").call().engine.commit(Change(draft))

    assert as_("ada", "red").history().events is not None
    assert as_("ada").history().events
