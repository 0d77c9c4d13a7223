"""Keys for programs: made by people, shown once, ended for good; and owners for what has none."""

from base64 import urlsafe_b64encode
from pathlib import Path

import pytest

from engines.servers import database_url
from engram.engines.ram import RamEngine
from engram.errors import Conflict, Forbidden, Invalid, NotFound
from engram.model.caller import Caller
from engram.model.filter import ANYTHING, Access
from engram.model.record import replace
from engram.model.scope import GLOBAL
from engram.operations.keys import opened, spelled
from engram.rules.policy import Policy
from engram.wiring.orgs import Orgs
from rules.world import World

ADMIN = Caller(owner="sam", actor="sam@example.org", roles=frozenset({"admin"}))
OPERATOR = Caller(org="acme")


@pytest.fixture
def world() -> World:
    return World()


def test_a_key_speaks_for_who_made_it_until_it_ends(world: World):
    made = world.person.keys_create("ci", can=["write"], days=30)
    caller = opened(world.engine, made.key, world.clock())

    assert caller is not None
    assert (caller.owner, caller.human, caller.writes, caller.alone) == ("alex", False, True, True)
    assert caller.actor == "alex@example.org (ci)"
    world.clock.pass_by(days=31)
    assert opened(world.engine, made.key, world.clock()) is None


@pytest.mark.parametrize("around", ["the key is {}", "export TEAM_KEY={}", "curl -H 'Authorization: Bearer {}' x"])
def test_a_key_that_is_told_to_a_memory_is_taken_out_whole(world: World, around: str):
    made = world.person.keys_create("ci").key
    kept = world.agent.remember(around.format(made)).memory.text

    assert kept == around.format("[redacted:engram-key]")


def test_a_key_is_kept_as_a_hash_and_its_secret_nowhere(world: World):
    made = world.person.keys_create("ci")
    secret = made.key.rpartition(".")[2]

    assert len(secret) == 64
    assert secret not in repr([world.person.keys_list(), world.person.history(), world.events()])
    assert secret not in repr(world.engine.scan("apikey", ANYTHING, Access("alex")))


def test_only_a_person_makes_a_key_and_only_for_themselves(world: World):
    with pytest.raises(Forbidden):
        world.agent.keys_create("ci")
    keyed = opened(world.engine, world.person.keys_create("ci", can=["write"]).key, world.clock())
    assert keyed is not None
    for caller in (keyed, keyed._replace(human=True)):  # even one that passed for a person
        with pytest.raises(Forbidden):
            world.as_(caller).keys_create("more")
    with pytest.raises(Forbidden):
        world.other.keys_create("theirs", owner="alex")


@pytest.mark.parametrize("days", [0, -1, 367])
def test_every_key_ends(world: World, days: int):
    with pytest.raises(Invalid):
        world.person.keys_create("ci", days=days)


def test_a_key_needs_somebody_to_speak_for(world: World):
    operator = world.as_(OPERATOR)
    with pytest.raises(Invalid):
        operator.keys_create("ci")
    made = operator.keys_create("ci", owner="alex")
    assert spelled(made.key)[:2] == ("acme", "alex")
    assert [one.name for one in world.person.keys_list().keys] == ["ci"]


def test_a_key_for_an_org_that_nobody_named_is_doubted_where_tokens_name_orgs(world: World):
    policy = Policy(open_org=True)
    told = world.as_(OPERATOR, policy).keys_create("ci", owner="alex").doubt

    assert "org_claim" in told
    assert "ENGRAM_ORG=NAME" in told
    assert world.as_(OPERATOR).keys_create("ci", owner="alex").doubt == ""
    assert world.as_(Caller(org="acme", owner="alex", actor="alex"), policy).keys_create("mine").doubt == ""


def test_a_revoked_key_opens_nothing_and_cannot_come_back(world: World):
    made = world.person.keys_create("ci")
    with pytest.raises(NotFound):
        world.other.keys_revoke(made.row.handle)
    world.person.keys_revoke(made.row.handle)

    assert opened(world.engine, made.key, world.clock()) is None
    events = len(world.events())
    assert world.person.keys_revoke(made.row.handle).keys[0].revoked_at is not None
    assert len(world.events()) == events
    with pytest.raises(Conflict, match="owners, keys and workspaces"):
        world.person.undo(str(world.events()[-1].seq))
    world.person.remember("Something else")
    world.person.keys_create("another")
    assert [event.action for event in world.person.undo().events] == ["remember"]


def test_an_admin_looks_after_everybodys_keys(world: World):
    made = world.person.keys_create("ci")
    admin = world.as_(ADMIN)

    assert [one.name for one in admin.keys_list(owner="alex").keys] == ["ci"]
    admin.keys_revoke(made.row.handle, owner="alex")
    assert opened(world.engine, made.key, world.clock()) is None
    with pytest.raises(Forbidden):
        world.other.keys_list(owner="alex")


@pytest.mark.parametrize("caller", [ADMIN, OPERATOR])
def test_who_looks_after_keys_finds_and_ends_one_without_knowing_whose_it_is(world: World, caller: Caller):
    made = world.person.keys_create("ci")
    world.other.keys_create("theirs")
    keeper = world.as_(caller)

    assert {one.name for one in keeper.keys_list().keys} == {"ci", "theirs"}
    keeper.keys_revoke(made.row.handle)
    assert opened(world.engine, made.key, world.clock()) is None
    assert [one.name for one in world.other.keys_list().keys] == ["theirs"]
    assert [one.owner for one in keeper.keys_list(owner="alex").keys] == ["alex"]


def test_a_new_key_says_whose_it_is_and_in_which_org(world: World):
    made = world.as_(OPERATOR).keys_create("ci", owner="alex")
    assert (made.org, made.row.owner) == ("acme", "alex")


def test_the_operator_makes_a_key_for_a_workspace_and_nobody_for_another_than_their_own(world: World):
    made = world.as_(OPERATOR).keys_create("ci", owner="alex", workspace="red")
    caller = opened(world.engine, made.key, world.clock())

    assert caller is not None
    assert (made.row.workspace, caller.workspace) == ("red", "red")
    with pytest.raises(Invalid):
        world.as_(OPERATOR).keys_create("ci", owner="alex", workspace="a/b")
    member = Caller(owner="alex", actor="alex@example.org", workspace="red")
    assert world.as_(member).keys_create("ci", workspace="red").row.workspace == "red"
    for elsewhere in (member, member._replace(workspace="")):
        with pytest.raises(Forbidden, match="workspace it is made in"):
            world.as_(elsewhere).keys_create("ci", workspace="blue")


UNHELD_KEYS = (b"[" * 1400, b'["acme", "a\\u0000", "k"]', b'["\\ud800", "ada", "k"]', b'["acme", "ada", "\\udfff"]')
"""What no store can be asked for, and what is nested too deep to be read."""


def made_up(said: bytes) -> str:
    return f"egk.{urlsafe_b64encode(said).decode().rstrip('=')}.x"


@pytest.mark.parametrize(
    "key",
    [
        "",
        "egk",
        "egk.",
        "egk..",
        "egk.e30.x",
        "egk.W10.x",
        "egk.WzEsMiwzXQ.x",
        "egk.!!.x",
        "egk." + "x" * 3000,
        "egk.é.x",
        *(made_up(said) for said in UNHELD_KEYS),
    ],
)
def test_what_is_no_key_opens_nothing(world: World, key: str):
    assert opened(world.engine, key, world.clock()) is None


def forged(told: str) -> str:
    """A key that says anything."""
    return f"egk.{urlsafe_b64encode(told.encode()).decode()}.x"


@pytest.mark.parametrize(
    "told",
    [
        "[" * 1400,
        '["a", "b\\u0000", "c"]',
        '["a\\u0000", "b", "c"]',
        '["a", "b", "\\ud800"]',
        '["a", "b", "c"]',
        f'["{"a" * 300}", "b", "c"]',
    ],
)
def test_a_forged_key_opens_nothing_on_a_servers_database_and_leaves_nothing_there(tmp_path: Path, told: str):
    environment = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_ORG": "acme"}
    orgs = Orgs(database_url(), home=GLOBAL, environment=environment)
    try:
        assert orgs.opened_by(forged(told)) is None
        assert list(orgs._known) == ["acme"], "whoever names orgs at random would fill the memory"
    finally:
        orgs.close()


def test_a_key_opens_its_org_on_a_servers_database(tmp_path: Path):
    environment = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_ORG": "acme"}
    orgs = Orgs(database_url(), home=GLOBAL, environment=environment)
    try:
        org = f"org-{tmp_path.name}"
        made = orgs.engram(org).speaking_for(Caller(org=org, owner="ada"), "http").keys_create("ci")
        caller = orgs.opened_by(made.key)

        assert caller is not None
        assert (caller.org, caller.owner) == (org, "ada")
    finally:
        orgs.close()


def test_another_secret_opens_nothing(world: World):
    key = world.person.keys_create("ci").key
    assert opened(world.engine, key[:-1] + ("0" if key[-1] != "0" else "1"), world.clock()) is None
    assert opened(RamEngine("other"), key, world.clock()) is None


def test_credentials_for_reading_change_nothing(world: World):
    reader = world.as_(world.person.caller._replace(writes=False))
    with pytest.raises(Forbidden, match="reading only"):
        reader.remember("Something")
    with pytest.raises(Forbidden, match="reading only"):
        reader.doctor(fix=True)
    assert reader.doctor().healthy
    assert reader.list().memories == ()


# Owners


def orphaned(world: World, *texts: str) -> list[str]:
    """Memories that have no owner, as a store of before there were any has them."""
    ids = []
    for text in texts:
        saved = world.as_(OPERATOR).remember(text).memory
        row = world.engine._rows["memory"][saved.id]  # no operation makes such a record
        world.engine._rows["memory"][saved.id] = row._replace(record=replace(row.record, owner=None))
        ids.append(saved.id)
    return ids


def test_what_has_no_owner_is_nobodys_until_it_is_assigned(world: World):
    ids = orphaned(world, "The first", "The second")
    operator = world.as_(OPERATOR)
    for who in (world.person, world.other, operator):
        assert who.list(everywhere=True, standing=["all"]).memories == ()

    planned = operator.owners_assign("alex")
    assert (planned.applied, planned.records["memory"]) == (False, 2)
    assert world.person.list(everywhere=True).memories == ()
    done = operator.owners_assign("alex", apply=True)
    assert (done.applied, done.records["memory"]) == (True, 2)
    assert {one.id for one in world.person.list(everywhere=True).memories} == set(ids)
    assert world.other.list(everywhere=True).memories == ()
    again = operator.owners_assign("alex", apply=True)
    assert (again.records["memory"], again.batch) == (0, "")  # nothing was done that could be undone


def test_what_was_saved_without_authentication_gets_its_owner_too(world: World):
    operator = world.as_(OPERATOR)
    operator.remember("Mine from before")
    world.person.remember("Mine already")

    assert operator.owners_assign("kim").records["memory"] == 0
    done = operator.owners_assign("kim", source="anonymous", apply=True)
    assert done.records["memory"] == 1
    assert [one.text for one in world.other.list().memories] == ["Mine from before"]
    assert operator.list().memories == ()


def test_what_the_owner_has_already_is_kept_back(world: World):
    world.person.remember("We deploy on Fridays")
    orphaned(world, "We deploy on Fridays")

    done = world.as_(OPERATOR).owners_assign("alex", apply=True)
    assert (done.records["memory"], done.kept_back) == (0, 1)


def test_only_the_operator_assigns_owners(world: World):
    for who in (world.person, world.agent, world.as_(ADMIN), world.as_(OPERATOR._replace(human=False))):
        with pytest.raises(Forbidden):
            who.owners_assign("kim")
    for name in ("", " ", " kim", "x" * 300):
        with pytest.raises(Invalid):
            world.as_(OPERATOR).owners_assign(name)
