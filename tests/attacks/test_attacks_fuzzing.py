"""Parsers on bytes that nobody of ours wrote: they answer or refuse, and nothing else is ever raised."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.doors import House, house
from attacks.ledger import tried
from attacks.targets import REFUSALS, TARGETS
from engram.interop.forms import known_forms
from surfaces.driving import Driver, Result

DOORS = {
    "files": "store",
    "journals": "store",
    "chunks": "sync",
    "payloads": "sync",
    "filters": "HTTP",
    "settings": "CLI",
    "scopes": "CLI",
    "hooks": "hook",
}
CORPUS = Path(__file__).with_name("corpus")
SEEDS = {name: [path.read_bytes() for path in sorted((CORPUS / name).glob("*"))] for name in TARGETS}

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=12,
)


@st.composite
def changed(draw: st.DrawFn, seeds: list[bytes]) -> bytes:
    """Something that was right, with a few bytes of it cut, doubled or replaced; or bytes; or any JSON."""
    sort = draw(st.sampled_from(["seed", "seed", "seed", "bytes", "json"]))
    if sort == "bytes":
        return draw(st.binary(max_size=300))
    if sort == "json" or not seeds:
        return json.dumps(draw(VALUES)).encode()
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, 4))):
        at, size = draw(st.integers(0, len(data))), draw(st.integers(0, 12))
        put = draw(
            st.sampled_from(
                [
                    b"",
                    data[at : at + size] * 2,
                    b"\x00",
                    b"\n",
                    b'"',
                    b"{",
                    b"[[",
                    b"\xff",
                    b": &a *a",
                    b"-",
                    b"9" * 30,
                ]
            )
        )
        data = data[:at] + put + data[at + size :]
    return data


@pytest.mark.parametrize("target", TARGETS)
def test_a_parser_answers_or_refuses(target: str):
    @settings(max_examples=120, derandomize=True, database=None)
    @given(changed(SEEDS[target]))
    def read(data: bytes) -> None:
        try:
            TARGETS[target](data)
        except REFUSALS:
            return

    read()
    tried(
        "Bytes that are no files, rows, chunks, filters or hooks of ours",
        DOORS.get(target, "import"),
        "a plain error",
    )


@pytest.mark.parametrize("target", TARGETS)
def test_what_was_kept_of_earlier_hunts_is_read_or_refused(target: str):
    assert SEEDS[target]
    for data in SEEDS[target]:
        try:
            TARGETS[target](data)
        except REFUSALS:
            continue


# --- the doors: what a parser raises there is told in a plain word ---

ATTACK, PLAIN = "Bytes that are no files, rows, chunks, filters or hooks of ours", "a plain error"
BYTES = {
    "deep lists": b"[" * 200_000,
    "deep objects": b'{"text":' * 200_000,
    "deep, and whole": b'{"text":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "a number of many digits": b'{"text": ' + b"9" * 5_000 + b"}",
    "no text": b'{"text": "\xff\xfe\x00"}',
    "half a sign": b'{"text": "\\ud800"}',
    "no numbers": b'{"text": NaN, "limit": -Infinity}',
    "no object": b"[1, null]",
}
"""What json, decoding or the stack refuse, and some that only we do."""

at_every_byte = pytest.mark.parametrize("sort", BYTES)


def plain(done: Result) -> bool:
    """Whether it ended as documented, in words for a person; nothing of it is put down as a fault of ours."""
    told = done.out + done.err
    return done.code in (0, 2, 3, 5, 8) and (not done.code or bool(told)) and "Traceback" not in told


@pytest.fixture
def sound(engram: Driver) -> Iterator[Driver]:
    """The command on a store with one memory, which is there in the end, and no log of unexpected errors."""
    engram.remember("The deploy is on Fridays")
    yield engram
    assert "The deploy is on Fridays" in engram("list", "--everywhere").out
    assert list(engram.folder.rglob("errors.log")) == []


@at_every_byte
def test_a_hook_answers_whatever_it_is_given(sound: Driver, sort: str):
    answers = []
    for event in (
        "session-start",
        "prompt-submit",
        "pre-edit",
        "pre-compact",
        "stop",
        "session-end",
        "subagent-stop",
    ):
        done = sound("hook", event, stdin=BYTES[sort])
        answers.append((done.code, done.err, bool(done.out.strip())))

    assert answers == [(0, "", True)] * 7
    logs = [path.read_text() for path in sound.folder.rglob("hooks.log")]
    assert not any(word in text for text in logs for word in ("RecursionError", "UnicodeDecodeError", "ValueError"))
    tried(ATTACK, "hook", PLAIN)


@at_every_byte
def test_an_import_refuses_in_a_plain_word_whatever_it_is_called(sound: Driver, sort: str):
    file = sound.folder / "theirs.json"
    file.write_bytes(BYTES[sort])
    named = {form: sound("import", str(file), "--form", form) for form in known_forms()}
    done = {"": sound("import", str(file)), **named}

    assert {form: told for form, told in done.items() if not plain(told)} == {}
    assert done[""].code == 2 or "1 skipped" in done[""].out, done[""]
    tried(ATTACK, "import", PLAIN)


@at_every_byte
def test_a_harvest_passes_over_what_is_no_transcript(sound: Driver, sort: str):
    folder = sound.folder / "talks"
    folder.mkdir()
    row = {"sessionId": "s", "uuid": "1", "timestamp": "2026-05-04T10:00:00Z", "cwd": "/x", "type": "user"}
    said = {**row, "message": {"role": "user", "content": "We decided to sign every commit with a key."}}
    honest = json.dumps(said).encode()
    (folder / "8f2c1d3a-6b0e-4b57-9c1f-2f6f3a5f7e10.jsonl").write_bytes(honest + b"\n" + BYTES[sort] + b"\n")
    for name in ("8f2c1d3a-6b0e-4b57-9c1f-2f6f3a5f7e11.jsonl", "session-1.json", "rollout-1.jsonl"):
        (folder / name).write_bytes(BYTES[sort])
    done, alone = sound("harvest", str(folder), "--json"), sound("harvest", str(folder / "session-1.json"))

    assert (done.code, len(done.json["proposed"])) == (0, 1), done
    assert (plain(alone), alone.code) == (True, 2), alone
    tried(ATTACK, "import", PLAIN)


@pytest.mark.parametrize("name", ["events.jsonl", "memory.md", "audit.jsonl"])
@at_every_byte
def test_plain_files_with_such_a_line_are_answered_from_or_named(engram: Driver, sort: str, name: str):
    engram.set(ENGRAM_STORE=f"files:{engram.folder / 'plain'}")
    engram.remember("The deploy is on Fridays")
    with (engram.folder / "plain" / name).open("ab") as file:
        file.write(BYTES[sort] + b"\n")
    listed, looked, saved = engram("list"), engram("doctor"), engram("remember", "The deploy takes an hour")

    assert (listed.code, "The deploy is on Fridays" in listed.out) == (0, True), listed
    assert [done for done in (listed, looked, saved) if not plain(done)] == []
    assert list(engram.folder.rglob("errors.log")) == []
    tried(ATTACK, "store", PLAIN)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house(tmp_path_factory.mktemp("bytes")) as one:
        yield one
    assert b"Error" not in one.served.log[0]


ASKED = (
    ("POST", "/v1/memories"),
    ("PATCH", "/v1/memories/mem-0001"),
    ("POST", "/v1/memories/mem-0001/forget"),
    ("POST", "/v1/capture"),
    ("POST", "/v1/sessions"),
    ("POST", "/v1/relations"),
    ("POST", "/v1/import"),
)


@at_every_byte
def test_a_server_refuses_in_a_plain_word(home: House, sort: str):
    home.ask("POST", "/v1/memories", '{"text": "The deploy is on Fridays"}')
    told = {asked: home.ask(*asked, BYTES[sort], content_type="application/json") for asked in ASKED}

    assert {asked: each for asked, each in told.items() if each.status not in (400, 404, 405, 422)} == {}
    assert all({"code", "message"} <= each.json.keys() for each in told.values())
    assert not any("Traceback" in each.body or "Recursion" in each.body for each in told.values())
    assert "The deploy is on Fridays" in home.ask("GET", "/v1/memories").body
    tried(ATTACK, "HTTP", PLAIN)
