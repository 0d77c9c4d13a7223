"""Where a memory holds: printing, reading and containing."""

from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.errors import Invalid
from engram.model.scope import GLOBAL, LEVELS, Scope

word = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=8)
names = st.lists(word, min_size=1, max_size=4).map("/".join) | st.sampled_from(["a:b", "a b", "日本", "x.y-z_1"])


@st.composite
def scopes(draw: st.DrawFn) -> Scope:
    level = draw(st.sampled_from(LEVELS))
    name = "" if level == "global" else draw(names)
    return Scope(level, name, draw(st.just("") | word), draw(st.just("") | word))


@given(scopes())
def test_a_scope_is_read_as_it_was_printed(scope):
    assert Scope.parse(str(scope)) == scope


@given(st.text(max_size=30))
def test_any_text_is_a_scope_that_prints_the_same_in_nfc_or_is_refused(text):
    try:
        scope = Scope.parse(text)
    except Invalid:
        return
    assert str(scope) == normalize("NFC", text)


def test_a_name_means_the_same_scope_with_its_marks_apart_or_composed():
    parts = {form: normalize(form, "Bücher") for form in ("NFC", "NFD")}
    assert len(set(parts.values())) == 2
    assert len({Scope("project", one, one, one) for one in parts.values()}) == 1
    assert len({Scope.parse(f"{one}/project:{one}@{one}") for one in parts.values()}) == 1


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("global", GLOBAL),
        ("project:acme-api", Scope("project", "acme-api")),
        ("project:github.com/acme/api", Scope("project", "github.com/acme/api")),
        ("agent:reviewer", Scope("agent", "reviewer")),
        ("session:0198-abc", Scope("session", "0198-abc")),
        ("team-x/project:acme-api", Scope("project", "acme-api", "team-x")),
        ("project:cluster@eval-2026-05", Scope("project", "cluster", run="eval-2026-05")),
        ("team/global@run", Scope("global", "", "team", "run")),
    ],
)
def test_the_forms_of_the_design_are_read(text, scope):
    assert Scope.parse(text) == scope
    assert str(scope) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "everywhere", "project", "project:", "global:x", "Project:x", "/project:x", "a/b/project:x"),
        *("project:x@", "project:x@a@b", "project: x", "project:x ", "project:a\nb", "project:\x1b[2J", "@run"),
    ],
)
def test_what_is_no_scope_is_refused_with_the_form(text):
    with pytest.raises(Invalid) as refused:
        Scope.parse(text)
    assert refused.value.hint


def test_a_scope_has_at_most_256_bytes():
    exact = "project:" + "x" * 248
    assert str(Scope.parse(exact)) == exact
    with pytest.raises(Invalid, match="257 bytes; the limit is 256"):
        Scope.parse(exact + "x")


@given(scopes(), scopes(), scopes())
def test_containing_is_reflexive_and_transitive_and_stays_in_the_workspace(one, two, three):
    assert one.contains(one)
    if one.contains(two) and two.contains(three):
        assert one.contains(three)
    if one.contains(two):
        assert one.workspace == two.workspace
    if one.contains(two) and two.contains(one):
        assert one == two


@given(scopes())
def test_global_contains_what_holds_everywhere_and_nothing_that_holds_somewhere(scope):
    assert Scope(workspace=scope.workspace).contains(scope) == (scope.level == "global")


def test_a_project_contains_its_runs_and_not_the_other_way_round():
    project, run = Scope("project", "api"), Scope("project", "api", run="eval")
    assert project.contains(run)
    assert not run.contains(project)
    assert not project.contains(Scope("project", "web"))
    assert not project.contains(GLOBAL)


def test_a_place_is_level_and_name_alone():
    assert Scope("project", "api", "team", "run").place == "project:api"
    assert Scope(workspace="team").place == "global"
