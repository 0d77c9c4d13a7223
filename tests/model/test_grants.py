"""Who is a member of what: the table, and what it may not be."""

import pytest

from engram.errors import Invalid
from engram.model.grants import Grants

TABLE = {
    "global": {"admin": ["root"], "reviewer": ["group:leads"]},
    "project:api": {"reader": ["ada", "group:all"], "writer": ["group:core"], "admin": ["ada"]},
    "project:github.com/acme/web": {"writer": ["bob"]},
}


@pytest.mark.parametrize(
    ("names", "roles", "api", "web"),
    [
        (["nobody"], set(), "", ""),
        (["ada"], set(), "admin", ""),
        (["bob", "group:all"], set(), "reader", "writer"),
        (["eve", "group:all", "group:core"], set(), "writer", ""),
        (["root"], {"admin"}, "", ""),
        (["eve", "group:leads"], {"reviewer"}, "", ""),
        (["ADA"], set(), "", ""),
    ],
)
def test_the_greatest_role_by_any_name_counts(names, roles, api, web):
    held = (("project:api", api), ("project:github.com/acme/web", web))
    assert Grants.read(TABLE).of(names) == (frozenset(roles), held)


@pytest.mark.parametrize(
    "table",
    [
        {"api": {"reader": ["ada"]}},
        {"agent:x": {"reader": ["ada"]}},
        {"team/project:api": {"reader": ["ada"]}},
        {"project:api@run": {"reader": ["ada"]}},
        {"project:api": ["ada"]},
        {"project:api": {"owner": ["ada"]}},
        {"project:api": {"reader": "ada"}},
        {"project:api": {"reader": [7]}},
        {"project:api": {"reader": [""]}},
    ],
)
def test_a_slip_in_the_table_is_told_and_opens_nothing(table):
    with pytest.raises(Invalid):
        Grants.read(table)
