"""What a client asks to be remembered, with all out of it that must not be stored."""

from typing import Any

import pytest

from engram.errors import Invalid
from engram.model.memory import Asset, Citation, Context
from engram.model.scope import Scope
from engram.rules.kinds import Kind
from engram.rules.policy import Policy
from engram.rules.proposals import MOST_READ, Proposal, prepare, require_left, scrubbed, unrecalled
from rules.world import memory, request

KEY = "AKIA" + "IOSFODNN7EXAMPLQ"
CITED = (Citation("file", "a.py"),)


def prepared(
    text: str = "Some words", *, confirmed: str = "", policy: Policy | None = None, **said: Any
) -> Proposal:
    return prepare(Proposal(text=text, **said), request(confirmed=confirmed), policy or Policy())


def test_a_discovery_is_inferred_whoever_says_it_and_anything_else_as_said():
    assert prepared(kind="map", citations=CITED, origin="said").origin == "inferred"
    assert prepared(origin="said").origin == "said"
    assert prepared().origin is None


def test_a_discovery_needs_a_citation_and_nothing_else_does():
    for kind in ("map", "finding"):
        with pytest.raises(Invalid, match=f"A {kind} needs at least one citation"):
            prepared(kind=kind)
        with pytest.raises(Invalid):
            prepared(kind=kind, citations=())
    assert prepared(citations=CITED).citations == CITED


def test_a_prompt_stands_apart_and_so_does_what_is_asked_to():
    assert [prepared(**said).apart for said in ({"kind": "prompt"}, {"apart": True}, {})] == [True, True, False]


@pytest.mark.parametrize(
    ("said", "trusted"),
    [
        ({}, True),
        ({"trusted": False}, False),
        ({"source": "web:example.org"}, False),
        ({"source": "output:ls"}, False),
        ({"source": "https://example.org/readme"}, False),
        ({"source": "HTTP://example.org"}, False),
        ({"source": "ftp://example.org/notes"}, False),
        ({"source": "www.example.org"}, False),
        ({"source": "url:example.org"}, False),
        ({"source": "webpage:example.org"}, False),
        ({"source": "tool:fetch http://example.org"}, False),
        ({"source": "view-source:https://example.org/x"}, False),
        ({"source": "feed:https://example.org/x"}, False),
        ({"source": "page: HTTPS://example.org/x"}, False),
        ({"source": "see https://example.org/x"}, False),
        ({"source": "//example.org/x"}, False),
        ({"source": " \u200b//example.org"}, False),
        ({"source": "// see https://example.org"}, False),
        ({"source": "tool:fetch"}, True),
        ({"source": "src//api.py"}, True),
        ({"source": "// a comment"}, True),
        ({"source": "://"}, True),
        ({"source": "\ufeffweb:example.org"}, False),
        ({"source": "w\u200beb:example.org"}, False),
        ({"source": "transcript:1"}, False),
        ({"source": "manual"}, True),
        ({"learned_by": "harvest"}, False),
        ({"learned_by": "import"}, False),
    ],
)
def test_nobody_vouches_for_what_comes_from_outside(said: dict[str, Any], trusted: bool):
    assert prepared(**said).trusted is trusted


def test_a_person_vouches_for_an_import_by_a_confirmed_word_and_for_no_harvest():
    assert prepared(learned_by="import", confirmed="flag").trusted
    assert not prepared(learned_by="harvest", confirmed="flag").trusted


def test_a_text_may_have_lines_and_is_not_looked_through_without_end():
    assert prepared("First line\nsecond line").text == "First line\nsecond line"
    with pytest.raises(Invalid):
        prepared("x" * (MOST_READ + 1))


def test_the_kinds_of_the_configuration_count():
    house = Kind("recipe", 3, "30d", cited=True)
    with pytest.raises(Invalid, match="A recipe needs"):
        prepared(kind="recipe", policy=Policy(kinds={"recipe": house}))
    assert Policy().kind("identity").tier == 3


def test_what_was_recalled_is_left_out_and_alone_it_is_no_news():
    block = "<engram-memory>\n- We deploy on Fridays\n</engram-memory>\n"

    assert unrecalled(f"{block}And lint with ruff").strip() == "And lint with ruff"
    assert prepared(f"{block}And lint with ruff").text.strip() == "And lint with ruff"
    assert unrecalled(" ") == " "
    with pytest.raises(Invalid, match="recalled from here"):
        prepared(block)


def test_a_text_that_is_more_than_its_marks_is_kept():
    require_left("[redacted:private] on Fridays", ("private",))
    require_left("...", ())
    for nothing in ("[redacted:private]", "[redacted:private]. [redacted:aws-access-key] .\n"):
        with pytest.raises(Invalid, match="Nothing is left"):
            require_left(nothing, ("private", "aws-access-key"))


def test_every_string_is_cleaned_and_what_was_not_said_stays_unsaid():
    changes, removed = scrubbed(
        Proposal(text=f"text {KEY}", key=f" {KEY} ", source=f"s {KEY}", context=Context(branch=f"b {KEY}"))
    )

    assert KEY not in repr(changes)
    assert removed == ("aws-access-key",) * 4
    assert changes["key"] == "[redacted:aws-access-key]"
    assert changes["context"].branch == "b [redacted:aws-access-key]"
    assert set(scrubbed(Proposal(text="Some words"))[0]) == {"text", "key"}
    assert scrubbed(memory(tags=("a", f"<private>{KEY}</private>")))[0]["tags"] == ("a", "[redacted:private]")


def test_a_session_keeps_the_name_that_an_agent_gave_it_and_what_was_said_in_it_its_place():
    name = "ses_6b2f0c1a4ffe" + "Xk3PqLw9ZtYvBn"
    talks = (Citation("session", name), Citation("message", name, name, name, f"Use {KEY} now"))
    said = prepared(session=name, scope=Scope("session", name), citations=(*talks, Citation("url", name)))

    assert (said.session, said.scope.name, said.redacted) == (name, name, ("aws-access-key", "secret"))
    assert said.citations == (
        talks[0],
        Citation("message", name, name, name, "Use [redacted:aws-access-key] now"),
        Citation("url", "[redacted:secret]"),
    )
    assert prepared(session=KEY).session == "[redacted:aws-access-key]"


def test_a_random_run_is_a_secret_in_what_is_said_and_none_in_names_that_programs_give():
    run = "Xk3PqLw9ZtYvBn" + "6b2f0c1a4ffe"
    said = {"text": f"see {run}", "key": run, "tags": (run,), "summary": run, "context": Context(commit=run)}
    changes, removed = scrubbed(Proposal(**said, citations=(Citation("message", "m", excerpt=run),)))
    assert run not in repr(changes)
    assert set(removed) == {"secret"}

    asset = Asset("a" * 64, run, "image/png", 5)
    named = Proposal(text="Some words", assets=(asset,), scope=Scope("project", "a", workspace=run, run=run))
    assert (scrubbed(named)[0]["assets"], scrubbed(named)[1]) == ((asset,), ())


@pytest.mark.parametrize("scope", [Scope("project", "a", run=KEY), Scope("global", workspace=KEY)], ids=str)
def test_no_part_of_a_scope_is_a_secret(scope: Scope):
    with pytest.raises(Invalid, match="credential"):
        prepared(scope=scope)


@pytest.mark.parametrize("source", ["WEB:example.org", "  Output:curl", "Transcript:codex"])
def test_where_a_text_is_from_counts_in_any_letters(source: str):
    assert not prepared(source=source).trusted
    assert prepared(source=f"tool:{source}").trusted


def test_a_scope_may_have_any_name_but_a_secret():
    assert scrubbed(Proposal(text="Some words", scope=Scope("project", "api")))[1] == ()
    with pytest.raises(Invalid, match="scope's name"):
        scrubbed(Proposal(text="Some words", scope=Scope("project", KEY)))


def test_what_is_no_text_is_refused():
    with pytest.raises(Invalid, match="5 is not text"):
        scrubbed(Proposal(text="Some words", summary=5))


def test_only_what_was_said_of_a_memory_is_part_of_it():
    assert Proposal(text="Some words", pinned=False, tags=()).said() == {"pinned": False, "tags": ()}
