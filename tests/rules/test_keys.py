"""Keys for programs, as a rule: whose they are, how long they last, and how they end."""

from datetime import timedelta

import pytest

from engram.errors import Forbidden, Invalid
from engram.model.apikey import ApiKey
from engram.model.caller import ADMIN, Caller
from engram.model.filter import Access
from engram.rules.keys import LONGEST_DAYS, doubt, mint, reached, revoke
from rules.world import PERSON, START, request


def minted(
    caller: Caller = PERSON, *, name: str = "ci", days: int = 30, owner: str = "", workspace: str = ""
) -> ApiKey:
    asked = request(caller)
    change = mint(name, asked, digest="d" * 64, can=("write",), days=days, owner=owner, workspace=workspace)
    (key,) = change.puts
    assert isinstance(key, ApiKey)
    return key


@pytest.mark.parametrize("days", [1, LONGEST_DAYS])
def test_a_key_lasts_from_one_day_to_a_year(days):
    assert minted(days=days).expires_at == START + timedelta(days=days)
    for wrong in (days - 1, days + 1):
        if not 1 <= wrong <= LONGEST_DAYS:
            with pytest.raises(Invalid):
                minted(days=wrong)


def test_a_key_is_for_who_makes_it_and_the_operator_names_its_owner():
    assert minted(owner=PERSON.owner).owner == minted().owner == PERSON.owner
    assert minted(Caller(), owner="kim").owner == "kim"
    with pytest.raises(Forbidden):
        minted(owner="kim")
    with pytest.raises(Invalid):
        minted(Caller())


def test_a_key_is_for_the_workspace_it_is_made_in_and_the_operator_names_one():
    within = PERSON._replace(workspace="team")

    assert minted(within).workspace == minted(within, workspace="team").workspace == "team"
    assert (minted().workspace, minted(Caller(), owner="kim").workspace) == (None, None)
    assert minted(Caller(), owner="kim", workspace="team").workspace == "team"
    for caller in (PERSON, within):
        with pytest.raises(Forbidden, match="workspace"):
            minted(caller, workspace="another")


@pytest.mark.parametrize("word", ["name", "owner", "workspace"])
def test_no_name_of_a_key_holds_a_credential(word):
    with pytest.raises(Invalid, match="credential"):
        minted(Caller(), **{"owner": "kim", word: "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"})


def test_the_operator_is_told_where_tokens_name_orgs_that_a_key_may_be_for_none_of_them():
    assert "ENGRAM_ORG" in doubt(Caller(), open_org=True)
    assert doubt(Caller(), open_org=False) == doubt(PERSON, open_org=True) == ""


def test_a_key_names_who_made_it_and_its_owner_where_nobody_else_is_known():
    assert minted().actor == PERSON.actor
    assert minted(Caller(), owner="kim").actor == "kim"


def test_one_reaches_ones_own_keys_and_who_looks_after_the_store_those_of_all():
    admin = PERSON._replace(roles=frozenset({ADMIN}))

    assert reached("", PERSON) == reached(PERSON.owner, PERSON) == Access(PERSON.owner)
    for caller in (admin, Caller()):
        assert reached("", caller) == Access(caller.owner, keyring=True)
        assert reached("kim", caller) == Access("kim")
    with pytest.raises(Forbidden):
        reached("kim", PERSON)


def test_a_key_ends_one_revision_on_and_never_before_it_began():
    key = minted()
    (ended,) = revoke(key, request(now=START - timedelta(days=1))).puts

    assert isinstance(ended, ApiKey)
    assert (ended.revoked_at, ended.revision) == (key.created_at, key.revision + 1)
