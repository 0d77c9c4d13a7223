"""Records from before there were owners, given to somebody: nothing else about them changes."""

from datetime import timedelta

import pytest

from engram.errors import Forbidden, Invalid
from engram.model.caller import Caller
from engram.model.memory import CURATED
from engram.model.record import replace
from engram.model.scope import Scope
from engram.rules.owners import assign, place_in, require_operator, require_workspace
from rules.world import AGENT, PERSON, START, memory, request

CREDENTIAL = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_even_what_is_curated_gets_its_owner_without_another_word():
    old = memory(owner="", kind="rule", tier=CURATED, revision=3)
    later = START + timedelta(days=1)
    change = assign([old], "kim", request(now=later))
    (new,) = change.puts

    assert (new.owner, new.revision, new.updated_at) == ("kim", 4, later)
    assert change.draft.payload.note == {"to": "kim", "confirmed": "owners"}
    assert assign([old], "kim", request(confirmed="flag")).draft.payload.note["confirmed"] == "flag"


def test_who_runs_the_store_names_an_owner_and_nobody_else_does():
    require_operator(request(Caller()), "kim")
    for nobody in ("", "  ", " kim", CREDENTIAL):
        with pytest.raises(Invalid):
            require_operator(request(Caller()), nobody)
    for other in (PERSON, AGENT):
        with pytest.raises(Forbidden):
            require_operator(request(other), "kim")


def test_who_runs_the_store_moves_somebodys_records_into_a_workspace():
    require_workspace(request(Caller()), "team", "kim")
    for workspace, owner in (("", "kim"), ("a/b", "kim"), (CREDENTIAL, "kim"), ("team", "")):
        with pytest.raises(Invalid):
            require_workspace(request(Caller()), workspace, owner)
    with pytest.raises(Forbidden):
        require_workspace(request(PERSON), "team", "kim")


def test_what_is_moved_into_a_workspace_holds_in_the_same_project_there():
    old = memory(scope=Scope("project", "api"), revision=3)
    later = START + timedelta(days=1)
    change = place_in([old], "team", request(now=later))

    assert change.puts == (replace(old, scope=Scope("project", "api", "team"), revision=4, updated_at=later),)
    assert change.draft.payload.note == {"workspace": "team", "confirmed": "owners"}
