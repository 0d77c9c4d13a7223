"""Credentials in every write path: nothing of them is in any file or log afterwards, whatever was asked."""

import base64
import json
import re
from pathlib import Path

import pytest

import engram as package
from attacks.doors import House, house
from attacks.ledger import tried
from engram.errors import Invalid
from engram.model.filter import ANYTHING
from engram.model.memory import Context
from engram.model.record import replace
from engram.rules.changes import Step, compose, step
from surfaces.driving import Driver
from sync.devices import ON_DISK, Device, exchange, trusting

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
SAID = f"The token is {SECRET} for now"
ATTACK = "Credentials in what is saved, asked or sent"
KEPT = "in no file and no log"
MARK = "[redacted:github-token]"


def everything(folder: Path, *but: str) -> bytes:
    """Every byte of every file and its name, plain and out of hexadecimal, but for those of these names."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in but]
    names = " ".join(path.name for path in files)
    packed = [bytes.fromhex(run[: len(run) // 2 * 2]) for run in re.findall("[0-9a-f]{8,}", names)]
    return b" ".join([names.encode(), *packed, *(path.read_bytes() for path in files)])


REFUSED = [
    *((word, 2) for word in ("remember", "session", "remember", "projects", "attach", "attach")),
    ("get", 3),
    ("nonsense", 2),
]
"""What the command refuses, in this order: a scope, a name or a file with a credential, and what is not there."""


@pytest.mark.parametrize("store", ["sqlite", "files"])
def test_a_credential_is_in_no_file_whichever_way_it_came(engram: Driver, store: str):
    if store == "files":
        engram.set(ENGRAM_STORE=f"files:{engram.folder / 'plain'}")
    one = engram.remember("The deploy is on Fridays")["memory"]["handle"]
    two = engram.remember("The deploy takes an hour")["memory"]["handle"]
    engram.set(ENGRAM_KEEP_PROMPTS="on")
    asked = f"How is it used? {SAID}"
    heard = f"## Key learnings\n\n1. {SAID}, as an agent heard"
    hook = json.dumps(
        {"session_id": "s", "cwd": str(engram.folder), "prompt": asked, "last_assistant_message": heard}
    )
    named = json.dumps({"session_id": SECRET, "cwd": f"/{SECRET}", "prompt": "when do we deploy this?"})
    engram.remember("In a project", "--scope", "project:within")
    learned = f"## Key learnings\n\n1. {SAID}, which everybody should know"
    refused: list[tuple[str, int]] = []
    for words, stdin in (
        (("remember", SAID), ""),
        (("remember", "With a summary", "--summary", SAID), ""),
        (("remember", "With a tag", "--tag", SECRET), ""),
        (("remember", "With a key", "--key", SECRET), ""),
        (("remember", "With a source", "--source", SAID), ""),
        (("remember", "With a citation", "--cite", f"https://example.org/?token={SECRET}"), ""),
        (("remember", "With a session", "--session", SECRET), ""),
        (("remember", "In a scope", "--scope", f"project:{SECRET}"), ""),
        (("remember", "With a retry", "--token", SECRET), ""),
        (("revise", one, "--text", f"{SAID}, as it was"), ""),
        (("relate", one, two, "related", "--reason", SAID), ""),
        (("relate", one, two, "compatible", "--evidence", SAID), ""),
        (("relate", one, two, "scoped", "--model", SECRET, "--session", SECRET), ""),
        (("forget", one, "--reason", SAID), ""),
        (("capture", learned), ""),
        (("session", "begin", "s-9"), ""),
        (("session", "end", "s-9", "--summary", SAID), ""),
        (("session", "begin", SECRET), ""),
        (("session", "end", SECRET), ""),
        (("session", "begin", "s-10", "--agent", SECRET, "--folder", f"/{SECRET}", "--branch", SECRET), ""),
        (("session", "begin", "s-11", "--commit", SECRET), ""),
        (("session", "begin", "s-12", "--scope", f"project:{SECRET}"), ""),
        (("remember", "In a run", "--scope", f"project:api@{SECRET}"), ""),
        (("insights", "save", SAID, "--source", SAID, "--session", SECRET), ""),
        (("projects", "rename", "within", SECRET, "--apply", "--confirm"), ""),
        (("recall", SAID), ""),
        (("attach", two, "-", "--name", "notes.txt"), SAID),
        (("attach", two, "-", "--name", f"{SECRET}.txt"), "plain"),
        (("hook", "prompt-submit"), hook),
        (("hook", "subagent-stop"), hook),
        (("hook", "stop"), hook),
        (("hook", "session-end"), "{" + SAID),
        (("hook", "session-start"), named),
        (("hook", "prompt-submit"), named),
        (("hook", SECRET), named),
        (("hook", "session-start", "--agent", SECRET), hook),
        (("get", SECRET), ""),
        (("nonsense", SAID), ""),
    ):
        if (done := engram(*words, stdin=stdin.encode())).code:
            refused.append((words[0], done.code))

    assert refused == REFUSED
    listed = engram("list", "--everywhere", "--standing", "all", "--limit", "100", "--json").json["memories"]
    listed += engram("list", "--everywhere", "--standing", "all", "--kind", "prompt", "--json").json["memories"]
    kept = {one["text"] for one in listed}
    for text in (
        SAID,
        f"{SAID}, as it was",
        f"{SAID}, which everybody should know",
        f"{SAID}, as an agent heard",
        asked,
    ):
        assert text.replace(SECRET, MARK) in kept  # it came in, without
    engram.set(ENGRAM_AGENT=SECRET)
    engram.remember("Said by an agent of a strange name")

    assert SECRET.encode() not in everything(engram.folder)
    assert SECRET not in engram("history", "--limit", "100", "--json").out
    tried(ATTACK, "CLI", KEPT)
    tried(ATTACK, "hook", KEPT)


OTHERWISE = {
    "wrapped": SAID.replace(SECRET, f"{SECRET[:20]}\n{SECRET[20:]}"),
    "hidden": SAID.replace(SECRET, f"{SECRET[:12]}\u200b{SECRET[12:24]}\u00ad{SECRET[24:]}"),
    "in base64": SAID.replace(SECRET, base64.b64encode(SECRET.encode()).decode()),
    "in an address": f"git clone https://bot:{SECRET}@example.org/acme/api.git",
    "in JSON": json.dumps({"headers": {"X-Token": SECRET}}),
    "in the environment": f"export TOKEN={SECRET}; make",
    "as a private span, escaped": f"a &lt;private&gt;{SECRET[4:]}&lt;/private&gt; b",
    "as a private span, never closed": f"a <PRIVATE >{SECRET[4:]}",
    "as a private span, within another": f"a <private>x<private>y</private>{SECRET[4:]}</private> b",
}


@pytest.mark.parametrize("written", OTHERWISE)
def test_a_credential_is_known_however_it_is_written(engram: Driver, written: str):
    said = OTHERWISE[written]
    engram("remember", said)
    engram("remember", "With a summary", "--summary", " ".join(said.split()) if written != "wrapped" else "none")
    kept = everything(engram.folder).decode("utf-8", "replace")
    bare = "".join(sign for sign in kept if sign not in "\u200b\u00ad\n")

    assert "redacted:" in kept
    assert not any(piece in bare for piece in (SECRET[4:], base64.b64encode(SECRET.encode()).decode()[8:40]))
    tried("A credential that is wrapped, hidden or written otherwise", "CLI", KEPT)


# --- a server, by its three doors ---


def over_http(home: House, one: str) -> list[int]:
    """Every write of the API, and the parts of a request that a log might keep; the statuses of the writes."""
    plain = {"content_type": "text/plain"}
    learned = {"text": f"## Key learnings\n\n1. {SAID} and for good"}
    body = {"text": SAID, "summary": SAID, "tag": [SECRET], "source": SAID}
    written = [
        home.ask("POST", "/v1/memories", json.dumps(body)),
        home.ask("POST", "/v1/memories", json.dumps({"text": "With a key", "key": SECRET})),
        home.ask("PATCH", f"/v1/memories/{one}", json.dumps({"text": f"{SAID}, as it was"})),
        home.ask("POST", f"/v1/memories/{one}/assets?name=notes.txt", SAID, **plain),
        home.ask("POST", f"/v1/memories/{one}/assets?name={SECRET}.txt", "plain", **plain),
        home.ask("POST", "/v1/capture", json.dumps(learned)),
        home.ask("POST", "/v1/sessions", json.dumps({"session": "s", "agent": SECRET})),
        home.ask("POST", "/v1/sessions/end", json.dumps({"session": "s", "summary": f"{SAID}, at the end"})),
        home.ask("POST", "/v1/apikeys", json.dumps({"name": SECRET, "owner": "alex"})),
        home.ask("POST", f"/v1/memories/{one}/forget", json.dumps({"reason": SAID})),
    ]
    home.ask("GET", f"/v1/recall?question={SECRET}")
    home.ask("GET", f"/v1/memories/{SECRET}")
    home.ask("GET", f"/{SECRET}", x_request_id=SECRET, user_agent=SECRET, referer=f"https://x.example/{SECRET}")
    home.ask("GET", "/v1/memories", authorization=f"Bearer {SECRET}")
    home.ask("POST", "/v1/memories", "{" + SAID)
    return [answer.status for answer in written]


def over_mcp(home: House, one: str) -> list[int]:
    own = home.tool("remember", {"text": "The agent's own word"}).json["result"]["structuredContent"]["memory"]
    written = [
        home.tool("remember", {"text": SAID, "summary": SAID, "tag": [SECRET], "source": SAID, "key": SECRET}),
        home.tool("revise", {"memory": own["id"], "text": f"{SAID}, as it was"}),
        home.tool("relate", {"memory": own["id"], "other": one, "kind": "related", "reason": SAID}),
        home.tool("judge", {"relation": f"{own['id']}~{one}", "kind": "compatible", "reason": SAID}),
        home.tool("session_begin", {"session": "s"}),
        home.tool("session_end", {"session": "s", "summary": f"{SAID}, at the end"}),
        home.tool("forget", {"memory": own["id"], "reason": SAID}),
    ]
    home.tool("recall", {"question": SAID})
    home.tool(SECRET, {SECRET: SECRET})
    return [200 + 222 * answer.json["result"].get("isError", False) for answer in written]


def over_the_page(home: House, one: str) -> list[int]:
    waiting = home.ask("POST", "/v1/memories", json.dumps({"text": "Ada leads", "kind": "people"})).json["memory"]
    written = [
        home.form(f"/web/memory/{one}/edit", {"text": SAID, "summary": SAID, "tags": SECRET}),
        home.form(f"/web/memory/{one}/forget", {"reason": SAID}),
        home.form(f"/web/inbox/{waiting['handle']}/reject", {"reason": SAID, "revision": str(waiting["revision"])}),
        home.form(f"/web/inbox/{SECRET}/reject", {"reason": SAID, "revision": "1"}),
    ]
    cookie, _ = home.visit()
    home.ask("GET", f"/web/search?q={SECRET}", authorization="", cookie=cookie)
    home.ask("GET", f"/web/{SECRET}", authorization="", cookie=f"{cookie}; other={SECRET}")
    return [answer.status for answer in written]


BY_DOOR = {
    "HTTP": (over_http, [200, 200, 200, 422, 422, 200, 200, 200, 422, 200]),
    "MCP": (over_mcp, [200] * 7),
    "web": (over_the_page, [303, 303, 303, 404]),
}
"""The ways to write by each door, and what the writes are answered: with a credential in a file or a name, no."""


@pytest.mark.parametrize("surface", BY_DOOR)
def test_a_server_keeps_no_credential_and_logs_none(tmp_path: Path, surface: str):
    with house(tmp_path) as home:
        made = json.dumps({"text": f"The deploy is on Fridays, said over {surface}"})
        one = home.ask("POST", "/v1/memories", made).json["memory"]["handle"]
        write, answered = BY_DOOR[surface]
        assert write(home, one) == answered
        events = home.ask("GET", "/v1/history?limit=100").body

    assert MARK in events
    assert SECRET not in events
    assert MARK.encode() in everything(tmp_path)
    assert SECRET.encode() not in everything(tmp_path) + home.served.log[0]
    tried(ATTACK, surface, KEPT)


# --- what comes from elsewhere ---


def test_what_is_imported_or_harvested_leaves_its_credentials_behind(engram: Driver):
    apart = engram.folder / "apart"
    talk = apart / "talks" / "8f2c1d3a-6b0e-4b57-9c1f-2f6f3a5f7e10.jsonl"
    talk.parent.mkdir(parents=True)
    row = {"sessionId": "s", "uuid": "1", "timestamp": "2026-05-04T10:00:00Z", "cwd": "/x", "type": "user"}
    said = {"role": "user", "content": f"We decided to use the token {SECRET} for every deploy."}
    talk.write_text(json.dumps({**row, "message": said}) + "\n")
    (apart / "notes.md").write_text(f"# Conventions\n\n- We deploy with {SECRET} every day\n")
    names = ("name", "entityType", "observations", "type")
    entity = dict(zip(names, (SECRET, "person", [SAID], "entity"), strict=True))
    (apart / "memory.json").write_text(json.dumps(entity) + "\n")
    codes = [
        engram("import", str(apart / "notes.md")).code,
        engram("import", str(apart / "memory.json")).code,
        engram("harvest", str(talk.parent)).code,
    ]

    assert codes == [0, 0, 0]
    listed = engram("list", "--everywhere", "--standing", "all", "--json").json["memories"]
    assert len([one for one in listed if MARK in one["text"]]) == 3
    assert SECRET.encode() not in everything(engram.folder, talk.name, "notes.md", "memory.json")
    tried(ATTACK, "import", KEPT)


@pytest.mark.parametrize("store", ON_DISK)
def test_what_another_machine_kept_with_its_credentials_is_not_taken_in_until_it_is_scrubbed_there(
    tmp_path: Path, store: str
):
    ada, ben = (Device(tmp_path, name, store=store) for name in ("ada", "ben"))
    ada.say("Ada's own word")
    ben.say("Ben's own word")
    trusting(ada, ben)
    call = ada.memory.call()
    clean = ada.memory.remember("The token is kept in the vault").memory
    # What a release kept that did not know the form of the credential.
    call.engine.commit(compose("revise", call.request(), [step(clean, call.request(), text=SAID)]))
    exchange(ada, ben)
    told = ben.sync()

    assert SAID in ada.texts()
    assert ben.texts() == ["Ada's own word", "Ben's own word", "The token is kept in the vault"]
    assert told.waiting == ("1 event waits: it holds a secret (github-token), to be scrubbed where it comes from.",)
    assert SECRET.encode() not in everything(tmp_path / "ben", *(file.name for file in ben.files()))
    ada.memory.scrub(confirm=True)
    exchange(ada, ben)

    assert ben.texts() == ada.texts() == ["Ada's own word", "Ben's own word", SAID.replace(SECRET, MARK)]
    assert ben.sync().waiting == ()
    assert SECRET.encode() not in everything(tmp_path)
    tried(ATTACK, "sync", KEPT)


@pytest.mark.parametrize("store", ON_DISK)
def test_a_session_and_a_verdict_that_are_scrubbed_come_clean_to_other_machines(tmp_path: Path, store: str):
    ada, ben = (Device(tmp_path, name, store=store) for name in ("ada", "ben"))
    ada.say("Ada's own word")
    ben.say("Ben's own word")
    trusting(ada, ben)
    ada.memory.session_begin("night")
    one, other = (
        ada.memory.get(ada.say(text, session="night")).memories[0] for text in ("Ada's word", "Her other")
    )
    ada.memory.relate(one.id, other.id, "compatible", reason="of one night")
    call = ada.memory.call()
    session = ada.memory.session_list(everywhere=True).sessions[0]
    [tie] = call.engine.scan("relation", ANYTHING, call.access_to("relation")).records
    # What a release kept that looked for credentials in memories alone.
    leaking = replace(session, context=Context(repo=SAID), revision=session.revision + 1)
    call.engine.commit(compose("begin", call.request(), [Step(session, leaking)]))
    said = replace(tie, reason=SAID, revision=tie.revision + 1)
    call.engine.commit(compose("relate", call.request(), [Step(tie, said)]))
    exchange(ada, ben)
    assert SECRET.encode() not in everything(tmp_path / "ben", *(file.name for file in ben.files()))
    done = ada.memory.scrub(confirm=True)
    assert (len(done.memories), len(done.sessions), done.traces) == (1, 1, 0)
    exchange(ada, ben)

    assert ben.state() == ada.state()
    assert ben.sync().waiting == ()
    [copy] = ben.memory.session_list(everywhere=True).sessions
    assert (copy.name, copy.context.repo) == ("night", SAID.replace(SECRET, MARK))
    assert ben.memory.session_begin("night").resumed
    [tie] = ben.memory.call().engine.scan("relation", ANYTHING, call.access_to("relation")).records
    assert (tie.kind, tie.reason) == ("compatible", SAID.replace(SECRET, MARK))
    assert SECRET.encode() not in everything(tmp_path)
    tried(ATTACK, "sync", KEPT)


@pytest.mark.parametrize("store", ON_DISK)
def test_what_another_machine_sends_leaves_its_credentials_behind(tmp_path: Path, store: str):
    ada, ben = (Device(tmp_path, name, store=store) for name in ("ada", "ben"))
    ada.say(SAID)
    ada.say("With a source", source=SAID, summary=SAID)
    ben.say("Ben's own word")
    exchange(ada, ben)

    assert len(listed := ben.memory.list(standing=("all",)).memories) == 3
    assert SAID.replace(SECRET, MARK) in {one.text for one in listed}
    assert SECRET.encode() not in everything(tmp_path)
    tried(ATTACK, "sync", KEPT)


def test_an_attachment_with_a_credential_is_refused_and_leaves_nothing(tmp_path: Path):
    file = tmp_path / "apart.txt"
    file.write_text("x" * 5000 + f"\n{SAID}\n")
    with package.open(tmp_path / "store.db", folder=tmp_path, environment={"HOME": str(tmp_path)}) as memory:
        one = memory.remember("The deploy is on Fridays").memory
        with pytest.raises(Invalid, match="github-token"):
            memory.attach(one.id, str(file))
        assert memory.get(one.id).memories[0].assets == ()
        file.write_text("x" * 5000 + "\nThe token is elsewhere\n")
        memory.attach(one.id, str(file))
        assert [each.name for each in memory.get(one.id).memories[0].assets] == [file.name]

    assert SECRET.encode() not in everything(tmp_path, file.name)
    tried("A credential within an attached file", "store", "refused")
