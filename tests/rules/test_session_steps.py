"""Sessions begin, end, and are taken up again, one revision at a time."""

from datetime import timedelta
from typing import Any

import pytest

from engram.errors import Invalid
from engram.model.caller import Caller
from engram.model.memory import NOWHERE, Context
from engram.model.scope import GLOBAL, Scope
from engram.model.session import Session, session_id
from engram.rules.sessions import at_work, begin, called, end, is_begun_in
from rules.world import AGENT, PERSON, START, request


def session(name: str = "monday", **fields: Any) -> Session:
    return Session(id=name, name=name, scope=GLOBAL, owner=PERSON.owner, started_at=START, **fields)


def test_a_session_ends_and_goes_on_one_revision_at_a_time():
    known = session(revision=3)
    (ended,) = end(known, request(now=START - timedelta(hours=1))).puts
    taken_up = begin(ended, "monday", GLOBAL, NOWHERE, request())  # type: ignore[arg-type] # a session, as it was

    assert (ended.ended_at, ended.revision) == (START, 4)  # type: ignore[union-attr] # the same
    assert taken_up is not None
    assert [(one.ended_at, one.revision) for one in taken_up.puts] == [(None, 5)]  # type: ignore[union-attr]


def test_a_session_is_of_the_agent_that_asks_else_of_the_one_that_its_context_names():
    context = Context(agent="claude")

    def agent_of(caller: Caller) -> str:
        (begun,) = begin(None, "monday", GLOBAL, context, request(caller)).puts  # type: ignore[union-attr] # it is new
        return begun.agent  # type: ignore[union-attr] # a session

    assert (agent_of(AGENT), agent_of(PERSON)) == ("codex", "claude")
    assert begin(None, "monday", GLOBAL, NOWHERE, request(AGENT)).puts[0].agent == "codex"  # type: ignore[union-attr]


def test_a_session_is_kept_without_credentials_and_under_the_name_by_which_it_is_found_again():
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    context = Context(agent=f"a {key}", base_dir=f"/home/{key}", branch=key, commit=key)
    begun = begin(None, f"monday {key}", GLOBAL, context, request())
    assert begun is not None
    (made,) = begun.puts

    assert key not in repr(begun)
    assert isinstance(made, Session)
    assert made.name == called(f"monday {key}") == "monday [redacted:aws-access-key]"
    assert made.id == session_id(PERSON.owner, made.name)
    with pytest.raises(Invalid, match="credential"):
        begin(None, "monday", Scope("project", key), NOWHERE, request())


def test_a_session_keeps_a_name_that_a_program_gave_it_at_random():
    assert called("ses_6b2f0c1a4ffe" + "Xk3PqLw9ZtYvBn").startswith("ses_6b2f")


def test_what_an_agent_says_belongs_to_the_one_session_that_it_has_under_way():
    mine, other = session(agent="codex"), session("tuesday", agent="claude")
    over, second = session("sunday", agent="codex", ended_at=START), session("friday", agent="codex")

    assert at_work([mine, other, over], AGENT) == "monday"
    assert at_work([mine, second], AGENT) == at_work([other, over], AGENT) == at_work([], AGENT) == ""
    assert at_work([session()], PERSON) == ""


def test_a_session_is_begun_in_its_own_scope_or_in_the_one_it_was_begun_from():
    here, there, elsewhere = (Scope.parse(f"project:{name}") for name in ("api", "web", "docs"))
    session = Session(
        id="s", name="monday", scope=there, owner="", started_at=START, context=Context(project=str(here))
    )

    assert [is_begun_in(session, home) for home in (here, there, elsewhere)] == [True, True, False]
