"""The same chunks through a server, over real HTTP: pushed, pulled, broken off and gone on with."""

import subprocess

import pytest

from engram.errors import Conflict, Forbidden, Invalid, NotFound, Unauthenticated, Unavailable
from engram.surfaces.render.answers import render
from engram.surfaces.render.paper import Paper, count
from sync.chunk_server import Keeper, served
from sync.devices import Device

SCOPE = "project:acme"


@pytest.fixture
def keeper(tmp_path):
    return Keeper(tmp_path / "server")


@pytest.fixture
def url(keeper):
    with served(keeper) as address:
        yield address


@pytest.fixture
def pair(tmp_path, url):
    made = [Device(tmp_path, name, store="sqlite:") for name in ("laptop", "desktop")]
    for device in made:
        device.environment["ENGRAM_REMOTE_TOKEN_TEAM"] = "sesame"  # noqa: S105 - of a server that lives for one test
        device.say(f"The {device.name} speaks first")
        device.memory.remote_add("team", url)
        device.memory.remote_enrol("team", SCOPE)
        device.memory.remote_push("team")
    for device, other in (made, made[::-1]):
        device.memory.remote_pull("team")
        device.accept(other)
    swap(*made)
    return made


def swap(*devices: Device) -> None:
    for _ in range(2):
        for device in devices:
            device.memory.remote_push("team")
        for device in devices:
            device.memory.remote_pull("team")


def test_what_is_pushed_here_is_pulled_there(pair):
    one, two = pair
    id = one.say("We deploy on Fridays")
    one.memory.remote_push("team")
    done = two.memory.remote_pull("team")
    two.memory.revise(id, pinned=True)
    swap(one, two)

    assert done.applied == 1
    assert one.get(id).pinned
    assert one.state() == two.state()


def test_private_memories_stay_home_unless_the_scope_was_enrolled_with_them(pair, keeper):
    one, two = pair
    one.say("The private walrus", visibility="private")
    assert "engram remote enrol team SCOPE --private" in one.memory.remote_push("team").hint
    held = b"".join(file.read_bytes() for file in keeper.folder.rglob("*") if file.is_file())
    assert b"walrus" not in held
    one.memory.remote_enrol("team", SCOPE, private=True)
    swap(one, two)
    assert "The private walrus" not in two.texts()  # they lie apart, for whoever asks for them
    two.memory.remote_enrol("team", SCOPE, private=True)
    swap(one, two)

    assert "The private walrus" in two.texts()


def test_a_purge_takes_the_words_from_the_server_and_from_the_others(pair, keeper):
    one, two = pair
    id = one.say("The zebra password is plum")
    swap(one, two)
    receipt = two.memory.purge(id, confirm=True)
    swap(one, two)

    held = b"".join(file.read_bytes() for file in keeper.folder.rglob("*") if file.is_file())
    mirrors = b""
    for device in pair:
        files = (device.folder / "store.sync").rglob("*")
        mirrors += b"".join(file.read_bytes() for file in files if file.is_file())
    assert id not in one.state()
    assert b"zebra" not in held
    assert b"zebra" not in mirrors
    assert "backups" in receipt.note


def test_a_push_that_is_broken_off_goes_on_where_it_was(pair, keeper):
    one, two = pair
    for n in range(20):
        one.say(f"Number {n}: " + "word " * 12_000)  # several chunks
    keeper.fail_after = keeper.asked + 5
    with pytest.raises(Unavailable, match="the server is full"):
        one.memory.remote_push("team")
    assert one.memory.engine.replica()
    keeper.fail_after = None
    before = one.memory.remote_status("team").remotes[0].unsent
    rest = one.memory.remote_push("team")
    two.memory.remote_pull("team")

    assert before > 0
    assert (rest.wrote, rest.files) == (0, before)
    assert f"sent {count(before, 'file')} left from before" in render(rest, Paper())
    assert one.memory.remote_status("team").remotes[0].unsent == 0
    assert one.state() == two.state()


def test_a_pull_that_is_broken_off_goes_on_where_it_was(pair, keeper):
    one, two = pair
    for n in range(20):
        one.say(f"Number {n}: " + "word " * 12_000)
    one.memory.remote_push("team")
    keeper.fail_after = keeper.asked + 4
    with pytest.raises(Unavailable):
        two.memory.remote_pull("team")
    keeper.fail_after = None
    asked = keeper.asked
    two.memory.remote_pull("team")

    assert one.state() == two.state()
    assert keeper.asked > asked


def test_what_a_server_did_not_store_does_not_count_as_sent(pair, keeper):
    one, two = pair
    one.say("We deploy on Fridays")
    keeper.lie = True
    with pytest.raises(Unavailable, match="did not confirm"):
        one.memory.remote_push("team")
    keeper.lie = False
    swap(one, two)

    assert "We deploy on Fridays" in two.texts()


def test_a_wrong_token_is_told_and_never_shown(pair, keeper):
    one, _ = pair
    keeper.token = "another"  # noqa: S105 - the same
    with pytest.raises(Unauthenticated) as caught:
        one.memory.remote_push("team")

    assert "sesame" not in f"{caught.value.message} {caught.value.hint}"


def test_the_token_may_stand_in_a_private_file(pair):
    one, _ = pair
    del one.environment["ENGRAM_REMOTE_TOKEN_TEAM"]
    one.environment["XDG_CONFIG_HOME"] = f"{one.folder}/Ada's settings"
    file = one.folder / "Ada's settings" / "engram" / "remotes.toml"
    file.parent.mkdir(parents=True)
    file.write_text('team = "sesame"\n')
    with pytest.raises(Invalid, match="read by others") as refused:
        one.memory.remote_push("team")
    subprocess.run(["sh", "-c", refused.value.hint.partition(": ")[2]], check=True)

    assert one.memory.remote_push("team").problems == ()


def test_what_a_hostile_server_lists_is_not_written_outside_the_mirror(pair, keeper):
    one, _ = pair
    home = keeper.folder / "project%3Aacme"
    with (home / "index.jsonl").open("a") as file:
        file.write('{"name": "../../../evil.jsonl", "at": 9000, "sha256": "00"}\n')
        file.write('{"name": "replicas/../x.json", "at": 9001, "sha256": "00"}\n')
    one.memory.remote_pull("team")

    assert not list(one.folder.rglob("evil*"))
    assert not list(one.folder.rglob("x.json"))


def test_remotes_are_named_checked_and_listed(pair, url):
    one, _ = pair
    (row,) = one.memory.remote_list().remotes
    assert (row.name, row.url, row.scopes) == ("team", url, (SCOPE,))
    with pytest.raises(Conflict):
        one.memory.remote_add("team", "https://elsewhere.example")
    with pytest.raises(Invalid, match="in the clear"):
        one.memory.remote_add("far", "http://memory.example.com")
    with pytest.raises(Invalid):
        one.memory.remote_add("Far away", url)
    with pytest.raises(NotFound):
        one.memory.remote_push("nobody")
    one.memory.remote_add("other", url)
    with pytest.raises(Conflict, match="No scope"):
        one.memory.remote_pull("other")


@pytest.fixture
def cloned(tmp_path, url):
    """A machine on which `acme` is short for the project of a clone."""
    device = Device(tmp_path, "cloned", store="sqlite:", project="github.com/x/acme")
    device.environment["ENGRAM_REMOTE_TOKEN_TEAM"] = "sesame"  # noqa: S105 - of a server that lives for one test
    device.memory.remote_add("team", url)
    return device


def test_enrolling_says_which_scope_a_short_name_became(cloned):
    told = cloned.memory.remote_enrol("team", "project:acme")
    assert told.remotes[0].scopes == ("project:github.com/x/acme",)
    assert told.hint.startswith("project:acme is project:github.com/x/acme here")
    assert "add --exact" in told.hint
    assert cloned.memory.remote_enrol("team", "project:github.com/x/acme").hint.startswith("Exchange:")
    assert cloned.memory.remote_unenrol("team", "project:acme").remotes[0].scopes == ()


def test_a_scope_that_is_enrolled_exactly_is_that_one_here_and_there(pair, cloned):
    one, _ = pair
    cloned.say("This stays with the clone")
    told = cloned.memory.remote_enrol("team", SCOPE, exact=True)
    one.say("The server's own acme")
    one.memory.remote_push("team")
    sent = cloned.memory.remote_push("team")
    cloned.memory.remote_pull("team")
    cloned.accept(one)
    cloned.memory.remote_pull("team")

    assert told.remotes[0].scopes == (SCOPE,)
    assert told.hint.startswith("Exchange:")
    assert sent.sent == 0
    there = cloned.memory.list(scope=SCOPE).memories
    assert "The server's own acme" in [memory.text for memory in there]
    assert {str(memory.scope) for memory in there} == {SCOPE}
    assert cloned.memory.remote_unenrol("team", SCOPE).remotes[0].scopes == ()


def test_an_enrolled_scope_stays_the_same_when_a_project_comes_that_goes_by_it_for_short(tmp_path, url):
    device = Device(tmp_path, "late", store="sqlite:", project="elsewhere")
    device.environment["ENGRAM_REMOTE_TOKEN_TEAM"] = "sesame"  # noqa: S105 - of a server that lives for one test
    device.memory.remote_add("team", url)
    device.memory.remote_enrol("team", SCOPE)
    device.say("Nobody asked for this one", scope="project:github.com/x/acme")

    assert device.memory.remote_push("team").sent == 0


def test_an_address_that_is_none_is_told_in_the_words_of_remotes(pair):
    one, _ = pair
    with pytest.raises(Invalid) as refused:
        one.memory.remote_add("other", "notaurl")
    assert refused.value.message == "The remote's address is not a web address."
    assert refused.value.hint == "Set the address of a team's server, as in https://memory.example.com."
    with pytest.raises(Invalid, match="The remote's address carries a name or a password"):
        one.memory.remote_add("other", "https://ada:plum@memory.example.com")


def test_a_refusal_is_told_in_whole_sentences_and_only_what_moved_went_on(pair, keeper, url):
    one, _ = pair
    one.memory.remote_enrol("team", "team-x/project:shut")
    one.memory.remote_enrol("team", "project:idle")
    one.say("Said where nobody lets it in", scope="team-x/project:shut")
    keeper.closed = {"team-x/project:shut", "project:idle"}
    refusal = f"{url}/v1/sync refuses team-x/project:shut: That is not yours."
    with pytest.raises(Forbidden) as pulled:
        one.memory.remote_pull("team")
    with pytest.raises(Forbidden) as idly:
        one.memory.remote_push("team")
    one.say("Something new")
    with pytest.raises(Forbidden) as pushed:
        one.memory.remote_push("team")

    idle = f" {url}/v1/sync refuses project:idle: That is not yours."
    assert pulled.value.message == refusal + idle  # nothing was new in the third
    assert idly.value.message == refusal
    assert pushed.value.message == f"{refusal} {SCOPE} went on: events sent: 1; events taken in: 0."


def test_a_status_with_a_refused_scope_ends_as_a_push_does(pair, keeper):
    one, _ = pair
    assert one.memory.remote_status("team").exit_code == 0
    keeper.closed = {SCOPE}
    status = one.memory.remote_status("team")

    assert [row.refused for row in status.remotes] == [True]
    assert status.exit_code == Forbidden.exit_code
    assert one.memory.remote_list().exit_code == 0


def test_a_server_that_cannot_be_reached_is_told(tmp_path):
    one = Device(tmp_path, "laptop", store="sqlite:")
    one.say("Alone")
    one.memory.remote_add("team", "http://127.0.0.1:9")
    one.memory.remote_enrol("team", SCOPE)
    with pytest.raises(Unavailable, match="cannot be reached"):
        one.memory.remote_push("team")


def test_a_push_says_of_global_memories_whether_they_stay_home_and_counts_each_once(pair):
    one, two = pair
    one.say("The company rests in August", scope="global", visibility="shared")
    one.memory.remote_enrol("team", "project:other")
    assert one.memory.remote_push("team").stayed == {"global": 1}
    one.memory.remote_enrol("team", SCOPE, private=True)
    assert one.memory.remote_push("team").stayed == {"global": 1}
    for device in (one, two):
        device.memory.remote_enrol("team", "global")
    pushed = one.memory.remote_push("team")
    two.memory.remote_pull("team")

    assert pushed.stayed == {}
    assert "The company rests in August" in two.texts()
    one.say("The owner dislikes August", scope="global", visibility="private")
    assert one.memory.remote_push("team").stayed == {"private": 1}
