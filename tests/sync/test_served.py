"""A real server on a real database, and laptops that work offline: equal in the end, and nobody gets too much."""

import json
import shutil
import socket
import subprocess
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Timer
from typing import Any

import psycopg
import pytest

from engines.servers import database_url
from engram.errors import Conflict, Forbidden, Invalid, NotFound, Unavailable
from engram.model.change import Change
from engram.model.event import Draft, Edit, Payload
from engram.sync import chunks
from engram.sync.keys import Key
from engram.sync.place import Card, print_card
from engram.sync.server import Server
from surfaces.driving import COMMAND, PATIENCE, Result, child, environment
from surfaces.identities import provider
from surfaces.mcp_clients import serving as serving_machine
from surfaces.teams import Team
from sync.devices import Device

RESOURCE = "https://memory.example.org"
CLOSED = "project:api"
FILES = 7
"""A push of three chunks and their words, and a card."""
SETTINGS = """
org_claim = "org"
oidc_audience = "https://memory.example.org"
requests_per_minute = 0

[grants."project:api"]
writer = ["ada"]
reader = ["ben@example.org"]
"""


class Serving:
    """`engram serve` for a team, at one address however often it is killed and started again."""

    def __init__(self, folder: Path, issuer: str, org: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder, self.issuer, self.org = folder, issuer, org
        self.url = f"http://127.0.0.1:{self.port}"
        self.tokens: dict[str, str] = {}
        file = folder / ".config" / "engram" / "engram.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(SETTINGS)
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "serve", "--port", str(self.port), "--json", "--oidc-issuer", self.issuer],
            stdout=subprocess.PIPE,
            stderr=(self.folder / "log").open("ab"),
            cwd=self.folder,
            env=environment(self.folder, ENGRAM_EMBEDDER="none", ENGRAM_STORE=database_url()),
        )
        assert self.process.stdout
        assert self.process.stdout.readline(), (self.folder / "log").read_text()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE)

    def ask(self, name: str, method: str, path: str, body: Any = None) -> Any:
        team = Team(self.port, None, self.tokens, self.folder, self.folder / "log")  # type: ignore[arg-type]
        return team.ask(self.tokens[name], method, path, body)

    def words(self) -> bytes:
        """Every byte the server keeps in files."""
        return b"".join(file.read_bytes() for file in self.folder.rglob("*") if file.is_file())


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    org = f"sync-{uuid.uuid4().hex}"
    people = {
        name: {"org": org, "email": f"{name}@example.org", "email_verified": True} for name in ("ada", "ben", "dan")
    }
    with provider(people, tmp_path_factory.mktemp("provider")) as known:
        served = Serving(tmp_path_factory.mktemp("server"), known.issuer, org)
        served.tokens = {name: known.person(name, RESOURCE) for name in people}
        yield served
        served.kill()


@pytest.fixture
def web() -> str:
    """A project that has no members: everybody of the org writes there."""
    return f"project:web-{uuid.uuid4().hex[:8]}"


def laptop(tmp_path: Path, serving: Serving, name: str, owner: str, scope: str) -> Device:
    """A laptop that has accepted the server; its own memories are nobody's but its person's."""
    device = Device(
        tmp_path, name, store="sqlite:", clock=lambda: datetime.now(UTC), project=scope.partition(":")[2]
    )
    device.environment["ENGRAM_REMOTE_TOKEN_TEAM"] = serving.tokens[owner]
    device.memory.remote_add("team", serving.url)
    device.memory.remote_enrol("team", scope)
    return device


def swap(*devices: Device) -> None:
    for _ in range(2):
        for device in devices:
            device.memory.remote_push("team")
        for device in devices:
            device.memory.remote_pull("team")


def trusting_the_server(*devices: Device) -> None:
    """Each has met the server's replica, and accepts that one alone."""
    for device in devices:
        device.say(f"The {device.name} speaks first")
    swap(*devices)
    for device in devices:
        known = device.memory.call().syncing.ledger().part("replicas")
        (server,) = [id for id, facts in known.items() if "you" in facts]
        device.memory.replicas_accept(server, confirm=True)
    swap(*devices)


def state(device: Device) -> dict[str, Any]:
    """What two laptops agree on: whose a memory is each says in its own words."""
    return {id: {k: v for k, v in doc.items() if k != "owner"} for id, doc in device.state().items()}


def test_two_laptops_work_offline_and_end_up_equal_with_one_another_and_the_server(tmp_path, serving, web):
    one, two = laptop(tmp_path, serving, "one", "ada", web), laptop(tmp_path, serving, "two", "ben", web)
    said = serving.ask(
        "ada", "POST", "/v1/memories", {"text": "Said to the server", "scope": web, "visibility": "shared"}
    )
    assert said.status == 200, said
    trusting_the_server(one, two)
    mine = one.say("The web cache lives in Redis")
    theirs = two.say("The web is red")
    swap(one, two)
    one.memory.revise(mine, text="The web cache lives in Valkey")  # offline, both at once
    two.memory.forget(theirs)
    two.say("The web cache is warm")
    swap(one, two)
    served = serving.ask("ada", "GET", f"/v1/memories?scope={web}&limit=50").body["memories"]

    assert state(one) == state(two)
    assert {m["text"] for m in served} == set(one.texts()) == set(two.texts())
    assert "Said to the server" in two.texts()
    assert one.get(mine).owner == ""
    assert two.get(mine).owner not in ("", None)
    with pytest.raises(Forbidden):
        two.memory.forget(mine)  # sharing lets others read it, not change it


def test_the_servers_history_has_the_name_of_who_pushed(tmp_path, serving, web):
    ben = laptop(tmp_path, serving, f"ben-{web[-8:]}", "ben", web)
    id = ben.say("Said by ben, offline")
    ben.memory.remote_push("team")
    replica = ben.memory.engine.replica()
    told = serving.ask("ada", "GET", f"/v1/history?memory={id}").body

    assert [event["replica"] for event in told["events"]] == [replica]
    assert told["people"] == {replica: "ben@example.org"}
    assert ben.memory.history(id).people == {}
    shown = operator(serving, "history", "--limit", "100").out
    assert f"ben@example.org on {socket.gethostname()}" in shown


def test_whoever_has_no_grant_is_refused_and_a_reader_only_reads(tmp_path, serving):
    ada, ben, dan = (laptop(tmp_path, serving, f"{name}-api", name, CLOSED) for name in ("ada", "ben", "dan"))
    for device in (ada, ben, dan):
        device.say(f"From {device.name}")
    ada.memory.remote_push("team")
    for device in (ben, dan):
        with pytest.raises(Forbidden):
            device.memory.remote_push("team")
    with pytest.raises(Forbidden):
        dan.memory.remote_pull("team")
    ben.memory.remote_pull("team")

    assert "From ada-api" in ben.texts("pending")  # nobody was accepted yet
    assert "From ada-api" not in str(dan.state())


def test_a_scope_that_is_refused_stops_no_other_and_can_be_left(tmp_path, serving, web):
    dan = laptop(tmp_path, serving, "dan-both", "dan", CLOSED)
    dan.memory.remote_enrol("team", web)
    dan.say("Said where dan may", scope=web)
    dan.say("Said where dan may not")
    told_to_the_server(serving, web, "Said by ada")
    for exchanging in (dan.memory.remote_push, dan.memory.remote_pull):
        with pytest.raises(Forbidden, match=f"refuses {CLOSED}: You may not.*{web} went on") as caught:
            exchanging("team")
        assert "engram remote unenrol team SCOPE" in caught.value.hint
        assert "workspace" not in caught.value.hint
    served = serving.ask("ada", "GET", f"/v1/memories?scope={web}&limit=50").body["memories"]
    hints = {row.scopes: row.hint for row in dan.memory.remote_status("team").remotes}

    assert {m["text"] for m in served} == {"Said where dan may", "Said by ada"}
    assert "Said by ada" in str(dan.state())
    assert f"refuses {CLOSED}" in hints[CLOSED,]
    assert hints[web,].startswith("events to send: 0; files to send: 0")
    assert dan.memory.remote_unenrol("team", CLOSED).remotes[0].scopes == (web,)
    swap(dan)
    with pytest.raises(NotFound):
        dan.memory.remote_unenrol("team", CLOSED)
    assert dan.memory.remote_remove("team").remotes == ()
    assert not [file for file in (dan.folder / "store.sync" / "remotes").rglob("*") if file.is_file()]
    dan.memory.remote_add("team", serving.url)
    dan.memory.remote_enrol("team", web)
    swap(dan)
    assert "Said by ada" in str(dan.state())


def test_private_memories_reach_their_owners_other_laptop_and_nobody_else(tmp_path, serving, web):
    one, other, ben = (
        laptop(tmp_path, serving, name, owner, web)
        for name, owner in (("first", "ada"), ("second", "ada"), ("bens", "ben"))
    )
    for device in (one, other, ben):
        device.memory.remote_enrol("team", web, private=True)
    trusting_the_server(one, other, ben)
    one.say("The private walrus sings", visibility="private")
    swap(one, other, ben)

    def found(name: str) -> list[str]:
        return [m["text"] for m in serving.ask(name, "GET", f"/v1/memories?scope={web}&limit=50").body["memories"]]

    assert "The private walrus sings" in other.texts()
    assert "The private walrus sings" in found("ada")
    assert "walrus" not in str(ben.state()) + str(found("ben"))
    mirror = b"".join(f.read_bytes() for f in (ben.folder / "store.sync").rglob("*") if f.is_file())
    assert b"walrus" not in mirror


def fetched(device: Device, memory: str, name: str) -> bytes:
    return b"".join(device.memory.read_asset(memory, name)[1])


def test_attachments_follow_their_memory_to_the_server_and_to_the_others(tmp_path, serving, web):
    one, two = laptop(tmp_path, serving, "one", "ada", web), laptop(tmp_path, serving, "two", "ben", web)
    trusting_the_server(one, two)
    made = one.say("The plan hangs on the wall")
    (tmp_path / "plan.txt").write_text("north, then east")
    one.memory.attach(made, str(tmp_path / "plan.txt"))

    sent, again = one.memory.remote_push("team"), one.memory.remote_push("team")
    got = two.memory.remote_pull("team")

    assert (sent.attachments, again.attachments, got.attachments) == (1, 0, 1)
    assert serving.ask("ben", "GET", f"/v1/memories/{made}/assets/plan.txt").raw == b"north, then east"
    assert fetched(two, made, "plan.txt") == b"north, then east"
    assert two.memory.doctor().healthy
    assert two.memory.remote_pull("team").attachments == 0
    history = serving.ask("ada", "GET", f"/v1/history?memory={made}").body["events"]
    assert [event["actor"] for event in history] == [
        "person",
        "person",
    ]  # sending bytes is no event of the server's


def test_a_purge_that_comes_by_sync_takes_the_attachments_along(tmp_path, serving, web):
    one, two = laptop(tmp_path, serving, "one", "ada", web), laptop(tmp_path, serving, "two", "ben", web)
    trusting_the_server(one, two)
    made = one.say("The plan hangs on the wall")
    (tmp_path / "plan.txt").write_text("south, then west")
    one.memory.attach(made, str(tmp_path / "plan.txt"))
    swap(one, two)
    assert [file for file in two.folder.rglob("*") if file.is_file() and file.read_bytes() == b"south, then west"]

    one.memory.purge(made, confirm=True)
    swap(one, two)

    assert not [
        file for file in two.folder.rglob("*") if file.is_file() and file.read_bytes() == b"south, then west"
    ]
    with psycopg.connect(database_url()) as db:
        kept = db.execute("SELECT count(*) FROM engram.blob_part WHERE data = %s", [b"south, then west"]).fetchone()
    assert kept == (0,)


def test_what_a_laptop_does_not_take_is_told_and_the_rest_comes(tmp_path, serving, web):
    one, two = laptop(tmp_path, serving, "one", "ada", web), laptop(tmp_path, serving, "two", "ben", web)
    trusting_the_server(one, two)
    made = one.say("The plan hangs on the wall")
    for name, text in (("long.txt", "x" * 2000), ("short.txt", "here")):
        (tmp_path / name).write_text(text)
        one.memory.attach(made, str(tmp_path / name))
    one.memory.remote_push("team")
    two.environment["ENGRAM_ASSET_BYTES"] = "1000"
    two.open()

    got = two.memory.remote_pull("team")

    assert got.attachments == 1
    assert [problem for problem in got.problems if "long.txt" in problem and "1,000 bytes" in problem]
    assert fetched(two, made, "short.txt") == b"here"


def test_a_purge_takes_the_words_from_the_server_and_from_the_others(tmp_path, serving, web):
    one, two = laptop(tmp_path, serving, "purger", "ada", web), laptop(tmp_path, serving, "reader", "ben", web)
    trusting_the_server(one, two)
    id = one.say("The zebra password is plum")
    swap(one, two)
    assert b"zebra" in serving.words()
    assert id in two.state()
    one.memory.purge(id, confirm=True)
    swap(one, two)

    assert id not in two.state()
    assert b"zebra" not in serving.words()
    assert serving.ask("ada", "GET", f"/v1/memories/{id}").status == 404


def test_forged_chunks_and_the_chunks_of_others_are_refused(tmp_path, serving, web):
    one, two = laptop(tmp_path, serving, "honest", "ada", web), laptop(tmp_path, serving, "forger", "ben", web)
    for device in (one, two):
        device.say(f"From {device.name}")
        device.memory.remote_push("team")
    bens = Server(serving.url, web, serving.tokens["ben"])
    event = two.memory.engine.events(limit=1)[0]
    header = chunks.Header(event.replica, 1, 1, "", 0, "", web)
    forged = chunks.write([(event, False)], header, Key().sign)
    with pytest.raises(Invalid, match="signature"):
        bens.put(f"{event.replica}/{forged.name}.jsonl", forged.chunk)
    with pytest.raises(Invalid, match="name"):
        bens.put(f"{event.replica}/{'0' * 64}.jsonl", forged.chunk)
    ada = one.memory.engine.replica()
    for name, content in (
        (f"{ada}/{forged.name}.jsonl", forged.chunk),
        (f"{ada}/{forged.name}.payload", forged.payload),
    ):
        with pytest.raises(Forbidden):
            bens.put(name, content)
    card = json.dumps({"key": Key().public, "device": "x"}).encode()
    for name in (f"replicas/{ada}.json", f"replicas/{two.memory.engine.replica()}.json", f"{ada}/y.jsonl"):
        with pytest.raises((Invalid, Forbidden)):
            bens.put(name, card)


def test_a_replica_speaks_for_its_owner_and_for_nobody_else(tmp_path, serving, web):
    one, two = laptop(tmp_path, serving, "victim", "ada", web), laptop(tmp_path, serving, "attacker", "ben", web)
    trusting_the_server(one, two)
    id = one.say("The deploy key is in the vault")
    swap(one, two)
    owner = two.get(id).owner
    edits = (Edit("memory", id, "text", "x", "The deploy key is on the wall"),)
    two.memory.engine.commit(
        Change(draft=Draft("revise", "x", datetime.now(UTC), (id,), payload=Payload(edits, {}, "s")))
    )
    fields = {"id": "bad-1", "text": "Ada says so", "scope": web, "visibility": "shared", "owner": owner}
    times = {"created_at": "2026-05-01T09:00:00.000000Z", "updated_at": "2026-05-01T09:00:00.000000Z"}
    made = tuple(Edit("memory", "bad-1", name, None, value) for name, value in (fields | times).items())
    two.memory.engine.commit(
        Change(draft=Draft("remember", "x", datetime.now(UTC), ("bad-1",), payload=Payload(made, {}, "t")))
    )
    replica, key = two.memory.engine.replica(), two.memory.call().syncing.ledger().key
    for event in two.memory.engine.events(newest=True, limit=2):
        header = chunks.Header(replica, 0, 0, "", 0, "", web)
        written = chunks.write([(event, False)], header, key.sign)
        server = Server(serving.url, web, serving.tokens["ben"])
        server.put(f"{replica}/{written.name}.payload", written.payload)
        server.put(f"{replica}/{written.name}.jsonl", written.chunk)
    done = one.memory.remote_pull("team")

    assert one.get(id).text == "The deploy key is in the vault"
    assert any("belongs to somebody else" in line for line in done.waiting)
    assert (
        serving.ask("ada", "GET", f"/v1/memories/{id}").body["memories"][0]["text"]
        == "The deploy key is in the vault"
    )
    assert one.get("bad-1").owner not in ("", owner)  # whatever it says, it is the forger's


def accepting_the_server(device: Device) -> Any:
    (server,) = [row for row in device.memory.replicas().replicas if row.device.endswith("(server)")]
    return device.memory.replicas_accept(server.fingerprint, confirm=True)


def test_what_was_changed_before_the_server_was_accepted_counts_only_where_it_is_ones_own(tmp_path, serving, web):
    ada, ben = (laptop(tmp_path, serving, f"{name}-early", name, web) for name in ("ada", "ben"))
    id = ada.say("The vault is in the cellar", kind="decision", confirm=True)
    mine = ben.say("The roof is red")
    ada.memory.remote_push("team")
    said = {"text": "The door is green", "scope": web, "visibility": "shared"}
    told = serving.ask("ada", "POST", "/v1/memories", said).body["memory"]["id"]
    ben.memory.remote_pull("team")
    for each in (id, told):
        ben.memory.promote(each, confirm=True)
        ben.memory.revise(each, text=f"Nobody knows of {each}", confirm=True)
    ben.memory.revise(mine, text="The roof is blue")
    done = accepting_the_server(ben)
    ben.memory.remote_pull("team")
    ben.memory.remote_push("team")
    ada.memory.remote_push("team")
    ada.memory.remote_pull("team")
    accepting_the_server(ada)
    swap(ada, ben)

    assert done.uncounted == 4
    assert (ben.get(id).text, ben.get(id).status) == ("The vault is in the cellar", "promoted")
    assert ben.get(told).text == "The door is green"
    assert ben.get(mine).text == ada.get(mine).text == "The roof is blue"
    assert state(ada) == state(ben)
    served = serving.ask("ada", "GET", f"/v1/memories?scope={web}&limit=50").body["memories"]
    assert {m["text"] for m in served} == set(ben.texts())


def test_a_server_killed_in_the_middle_of_a_push_has_lost_nothing_it_acknowledged(tmp_path, serving, web):
    one, two = laptop(tmp_path, serving, "pusher", "ada", web), laptop(tmp_path, serving, "puller", "ben", web)
    trusting_the_server(one, two)
    texts = [f"Number {n} of the long push: " + "word " * 12_000 for n in range(60)]
    for text in texts:
        one.say(text)
    sent: list[int] = []

    def killing(done: int, _total: int, what: str) -> None:
        if what == "files sent":
            sent.append(done)
            if done == 3:  # while the next one is on its way
                Timer(0.01, serving.kill).start()

    with pytest.raises(Unavailable):
        one.memory.watched_by(killing).remote_push("team")
    assert sent[-1] < FILES
    serving.start()
    one.memory.remote_push("team")
    two.memory.remote_pull("team")

    assert state(one) == state(two)
    assert set(texts) <= set(two.texts())
    served = serving.ask("ben", "GET", f"/v1/memories?scope={web}&limit=100").body["memories"]
    assert set(texts) <= {m["text"] for m in served}


def test_one_machine_serves_its_own_store_to_another_with_its_token(tmp_path):
    (tmp_path / "served").mkdir()
    with serving_machine(tmp_path / "served", ENGRAM_EMBEDDER="none") as served:
        one, two = (
            Device(tmp_path, name, store="sqlite:", clock=lambda: datetime.now(UTC)) for name in ("near", "far")
        )
        for device in (one, two):
            device.environment["ENGRAM_REMOTE_TOKEN_TEAM"] = served.token
            device.memory.remote_add("team", f"http://127.0.0.1:{served.port}")
            device.memory.remote_enrol("team", "project:acme")
        trusting_the_server(one, two)
        id = one.say("We deploy on Fridays")
        swap(one, two)
        two.memory.revise(id, pinned=True)
        swap(one, two)

        assert one.get(id).pinned  # with its token everybody is the same person
        assert one.state() == two.state()
        assert {row.state for row in one.memory.replicas().replicas} == {"this", "accepted", "vouched"}


def test_a_pull_says_whose_fingerprint_to_compare(tmp_path, serving, web):
    one = laptop(tmp_path, serving, "newcomer", "ada", web)
    serving.ask("ben", "POST", "/v1/memories", {"text": "Said to the server", "scope": web, "visibility": "shared"})
    hint = one.memory.remote_pull("team").hint

    (server,) = [row for row in one.memory.replicas().replicas if row.device.endswith("(server)")]
    assert f"engram replicas accept {server.fingerprint} --confirm" in hint


def test_asking_for_a_scope_that_nobody_has_leaves_nothing_on_the_server(serving, web):
    before = sorted(serving.folder.rglob("served/*"))
    card = json.dumps({"key": "00", "device": "nobody"}).encode()
    listed = Server(serving.url, web, serving.tokens["dan"])
    closed = Server(serving.url, CLOSED, serving.tokens["dan"])

    assert list(listed.listed()) == []
    for wrong in (
        lambda: listed.get("replicas/nobody.json"),
        lambda: listed.put("replicas/nobody.json", card),
        lambda: listed.put("../up/nobody.json", card),
        lambda: closed.put("replicas/nobody.json", card),
        lambda: list(closed.listed()),
    ):
        with pytest.raises((Forbidden, Invalid, NotFound)):
            wrong()

    assert sorted(serving.folder.rglob("served/*")) == before


def told_to_the_server(serving: Serving, scope: str, text: str) -> None:
    said = serving.ask("ada", "POST", "/v1/memories", {"text": text, "scope": scope, "visibility": "shared"})
    assert said.status == 200, said


def folder_of(serving: Serving) -> Path:
    return serving.folder / ".local" / "share" / "engram" / "sync"


def accepting_what_the_server_shows_now(device: Device) -> None:
    """Do what a pull says that is refused because the server shows another key."""
    with pytest.raises(Conflict, match="another key") as caught:
        device.memory.remote_pull("team")
    (shown,) = [row.fingerprint for row in device.memory.replicas().replicas if row.state == "new key"]
    assert f"engram replicas accept {shown} --confirm" in caught.value.hint
    device.memory.replicas_accept(shown, confirm=True)


def test_a_server_that_lost_its_key_is_told_so_and_goes_on_once_its_new_one_is_accepted(tmp_path, serving):
    ada, ben = (laptop(tmp_path, serving, f"{name}-lost", name, CLOSED) for name in ("ada", "ben"))
    ada.say("Said before the loss")
    ada.memory.remote_push("team")
    for device in (ada, ben):
        device.memory.remote_pull("team")
        (server,) = [row for row in device.memory.replicas().replicas if row.device.endswith("(server)")]
        device.memory.replicas_accept(server.fingerprint, confirm=True)
        device.memory.remote_pull("team")
    serving.kill()
    shutil.rmtree(folder_of(serving))
    serving.start()
    told_to_the_server(serving, CLOSED, "Said after the loss")
    ada.say("Said offline meanwhile")

    for device in (ben, ada):  # ben may only read
        accepting_what_the_server_shows_now(device)
    pushed = ada.memory.remote_push("team")
    done = [device.memory.remote_pull("team") for device in (ada, ben)]

    assert {"Said before the loss", "Said after the loss", "Said offline meanwhile"} <= set(ben.texts())
    assert set(ben.texts()) == set(ada.texts())
    assert [each.problems for each in (pushed, *done)] == [(), (), ()]
    for device in (ada, ben):
        (row,) = device.memory.remote_status("team").remotes
        assert row.hint == "events to send: 0; files to send: 0; files to get: 0"
    swap(ada)
    assert ben.memory.remote_pull("team").problems == ()


def operator(serving: Serving, *words: str) -> Result:
    """A command of whoever runs the server, at its machine."""
    return child(serving.folder, *words, ENGRAM_STORE=database_url(), ENGRAM_ORG=serving.org)


def test_a_laptop_that_lost_its_key_is_let_in_again_by_who_runs_the_server(tmp_path, serving, web):
    ada, ben = (laptop(tmp_path, serving, f"{name}-{web[-8:]}", name, web) for name in ("ada", "ben"))
    other = f"{web}-too"
    ada.memory.remote_enrol("team", other)
    ada.say("Said elsewhere", scope=other)
    trusting_the_server(ada, ben)
    ada.memory.close()
    shutil.rmtree(ada.folder / "store.sync")
    ada.open()
    ada.memory.remote_add("team", serving.url)
    ada.memory.remote_enrol("team", web)
    ada.say("Said with a new key")
    (mine,) = [row.fingerprint for row in ada.memory.replicas().replicas if row.state == "this"]

    with pytest.raises(Invalid, match=f"engram replicas accept {mine} --confirm"):
        ada.memory.remote_push("team")
    assert "Said with a new key" not in ben.texts()
    assert f"{mine}" in operator(serving, "replicas").out
    assert operator(serving, "replicas", "accept", mine).code == 6  # nothing without a person's word
    done = operator(serving, "replicas", "accept", mine, "--confirm")
    assert (done.code, "new key" in done.out) == (0, False), done

    assert ada.memory.remote_push("team").problems == ()
    assert ben.memory.remote_pull("team").problems == ()
    assert "Said with a new key" in ben.texts()
    told_to_the_server(serving, other, "Told in the other project")  # where its old card still lies
    assert "new key" not in operator(serving, "replicas").out
    ben.say("Said back")
    ben.memory.remote_push("team")
    ada.memory.remote_pull("team")
    (server,) = [row for row in ada.memory.replicas().replicas if row.device.endswith("(server)")]
    ada.memory.replicas_accept(server.fingerprint, confirm=True)  # whom it had accepted went with its folder
    assert ada.memory.remote_pull("team").problems == ()
    assert set(ben.texts()) == set(ada.texts())


def test_a_key_that_is_offered_counts_for_nothing_and_for_nobody_else(tmp_path, serving, web):
    ada = laptop(tmp_path, serving, f"ada-{web[-8:]}", "ada", web)
    ada.say("Said by ada")
    ada.memory.remote_push("team")
    replica, forged = ada.memory.engine.replica(), Key()
    card = print_card(Card(replica, forged.public, "elsewhere"))
    path = f"replicas/{replica}.json"

    with pytest.raises(Forbidden):  # another person's token
        Server(serving.url, web, serving.tokens["ben"]).put(path, card)
    with pytest.raises(Invalid, match="another key than before"):
        Server(serving.url, web, serving.tokens["ada"]).put(path, card)
    ada.say("Said by ada again")

    assert ada.memory.remote_push("team").problems == ()
    assert "new key" not in operator(serving, "replicas").out  # she showed the one that counts since


def test_while_a_servers_key_is_in_question_what_it_says_does_not_count(tmp_path, serving, web):
    one = laptop(tmp_path, serving, "doubting", "ada", web)
    trusting_the_server(one)
    serving.kill()
    shutil.rmtree(folder_of(serving))
    serving.start()
    told_to_the_server(serving, web, "Who says so?")
    for _ in range(2):
        with pytest.raises(Conflict, match="another key"):
            one.memory.remote_pull("team")
    (row,) = one.memory.remote_status("team").remotes

    assert "Who says so?" not in one.texts() + one.texts("pending")
    assert "it shows another key" in row.hint
    one.say("What is pushed still arrives")
    one.memory.remote_push("team")
    served = serving.ask("ada", "GET", f"/v1/memories?scope={web}&limit=50").body["memories"]
    assert "What is pushed still arrives" in [m["text"] for m in served]


def test_another_key_of_the_server_is_told_beside_a_scope_that_it_refuses(tmp_path, serving, web):
    dan = laptop(tmp_path, serving, "dan-doubting", "dan", web)
    trusting_the_server(dan)
    dan.memory.remote_enrol("team", CLOSED)
    serving.kill()
    shutil.rmtree(folder_of(serving))
    serving.start()
    told_to_the_server(serving, web, "Who says so now?")

    with pytest.raises(Conflict, match=f"another key.* refuses {CLOSED}: You may not read {CLOSED}[.]") as caught:
        dan.memory.remote_pull("team")
    (shown,) = [row.fingerprint for row in dan.memory.replicas().replicas if row.state == "new key"]
    assert f"engram replicas accept {shown} --confirm" in caught.value.hint
    assert "engram remote unenrol team SCOPE" in caught.value.hint
    dan.memory.replicas_accept(shown, confirm=True)
    with pytest.raises(Forbidden, match=f"refuses {CLOSED}"):
        dan.memory.remote_pull("team")
    assert "Who says so now?" in dan.texts()


def test_what_is_said_after_an_older_copy_of_the_servers_folder_was_restored_still_arrives(tmp_path, serving, web):
    one = laptop(tmp_path, serving, "patient", "ada", web)
    trusting_the_server(one)
    serving.kill()
    shutil.copytree(folder_of(serving), tmp_path / "copy")
    serving.start()
    for n in range(3):
        told_to_the_server(serving, web, f"Number {n} after the copy")
        one.memory.remote_pull("team")
    serving.kill()
    shutil.rmtree(folder_of(serving))
    shutil.copytree(tmp_path / "copy", folder_of(serving))
    serving.start()
    told_to_the_server(serving, web, "Said after restoring")
    done = one.memory.remote_pull("team")

    assert "Said after restoring" in one.texts()
    assert done.problems == ()
