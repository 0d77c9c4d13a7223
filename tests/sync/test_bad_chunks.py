"""Chunks as the world damages them: named, skipped or waiting, and never stopping the rest."""

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from attacks.ledger import tried
from sync.devices import PLACE, START, Clock, Device, exchange, trusting


@pytest.fixture
def pair(tmp_path):
    one, two = (Device(tmp_path, name) for name in ("laptop", "desktop"))
    one.say("The laptop speaks first")
    two.say("The desktop speaks first")
    trusting(one, two)
    return one, two


def sent(device: Device, *texts: str) -> list[Path]:
    """Say and send each in a chunk of its own; the chunks, oldest first."""
    made = []
    for text in texts:
        before = set(device.files())
        device.say(text)
        device.sync()
        made += [file for file in device.files() if file not in before and file.suffix == ".jsonl"]
    return made


def at(device: Device, file: Path) -> Path:
    """Where a file of one clone lies in another."""
    return device.clone / PLACE / file.parent.name / file.name


DAMAGES = {
    "truncated": lambda file: file.write_bytes(file.read_bytes()[:-40]),
    "cut inside the header": lambda file: file.write_bytes(file.read_bytes()[:40]),
    "empty": lambda file: file.write_bytes(b""),
    "re-ordered": lambda file: file.write_bytes(b"".join(file.read_bytes().splitlines(keepends=True)[::-1])),
    "a flipped byte": lambda file: file.write_bytes(file.read_bytes().replace(b"remember", b"rememeer", 1)),
    "another program's": lambda file: file.write_text('{"id":"a","content":"x"}\n'),
    "a newer form": lambda file: file.write_bytes(file.read_bytes().replace(b"chunk.v1", b"chunk.v9")),
    "a folder": lambda file: (file.unlink(), file.mkdir()),
    "a link": lambda file: (file.unlink(), file.symlink_to("/etc/passwd")),
    "deep": lambda file: file.write_text("[" * 100_000),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_chunk_is_named_and_skipped_and_the_others_are_taken_in(pair, damage):
    one, two = pair
    first, _ = sent(one, "The damaged one", "The whole one")
    two.fetch(one)
    damage(at(two, first))
    done = two.sync()

    assert "The whole one" in two.texts()
    assert "The damaged one" not in two.texts()
    assert any(first.name[:12] in problem for problem in done.problems)
    if at(two, first).is_dir():
        at(two, first).rmdir()
    at(two, first).unlink(missing_ok=True)
    two.fetch(one).sync()
    assert one.state() == two.state()


def test_a_chunk_signed_by_nobody_we_know_is_skipped_even_when_its_name_fits(pair):
    one, two = pair
    (first,) = sent(one, "We deploy on Fridays")
    content = first.read_bytes()
    head, _, body = content.partition(b"\n")
    told = json.loads(head)
    told["signature"] = "00" * 64
    forged = json.dumps(told, sort_keys=True, separators=(",", ":")).encode() + b"\n" + body
    two.fetch(one)
    at(two, first).unlink()
    from engram.sync.chunks import digest

    name = digest(forged)
    (at(two, first).parent / f"{name}.jsonl").write_bytes(forged)
    (at(two, first).parent / f"{name}.payload").write_bytes(first.with_suffix(".payload").read_bytes())
    done = two.sync()

    assert "We deploy on Fridays" not in two.texts()
    assert any("signature" in problem for problem in done.problems)
    tried("A chunk of history that nobody we know signed", "sync", "skipped")


def test_a_chunk_in_another_replicas_folder_is_foreign(pair):
    one, two = pair
    (first,) = sent(one, "We deploy on Fridays")
    stranger = one.clone / PLACE / two.memory.engine.replica()
    two.fetch(one)
    target = two.clone / PLACE / "01900000-0000-7000-8000-000000000000"
    target.mkdir()
    shutil.copy(first, target / first.name)
    done = two.sync()

    assert stranger.exists()
    assert "We deploy on Fridays" in two.texts()
    assert any("not introduced itself" in problem for problem in done.problems)


def test_files_that_are_no_chunks_are_named_and_left_alone(pair):
    one, two = pair
    sent(one, "We deploy on Fridays")
    folder = one.clone / PLACE / one.memory.engine.replica()
    (folder / "notes.txt").write_text("hello")
    two.fetch(one)
    done = two.sync()

    assert any("notes.txt" in problem for problem in done.problems)
    assert "We deploy on Fridays" in two.texts()


def test_chunks_in_any_order_and_twice_make_the_same(pair):
    one, two = pair
    id = one.say("First wording")
    one.sync()
    one.memory.revise(id, text="Second wording")
    one.sync()
    one.memory.revise(id, text="Third wording")
    one.sync()
    files = [file for file in one.files() if file.parent.name == one.memory.engine.replica()]
    for file in sorted(files, key=lambda file: file.stat().st_mtime_ns, reverse=True):  # the newest first
        if not at(two, file).exists():
            shutil.copy(file, at(two, file))
            two.sync()
    again = two.memory.call().syncing.ledger().part("places")[str(two.clone)]
    again["read"] = []  # as if it had never been read
    done = two.sync()

    assert done.applied == 0
    assert two.get(id).text == "Third wording"
    assert one.state() == two.state()


def test_what_lacks_its_beginning_waits_and_is_taken_in_when_that_comes(pair):
    one, two = pair
    (making,) = sent(one, "First wording")
    id = next(id for id, doc in one.state().items() if doc.get("text") == "First wording")
    one.memory.revise(id, text="Second wording")
    one.sync()
    two.fetch(one)
    held = at(two, making).read_bytes()
    at(two, making).unlink()
    done = two.sync()
    assert any("has not arrived" in line for line in done.waiting)
    assert id not in two.state()
    at(two, making).write_bytes(held)
    two.sync()

    assert two.get(id).text == "Second wording"
    assert one.state() == two.state()


def test_words_that_are_missing_are_waited_for(pair):
    one, two = pair
    (first,) = sent(one, "We deploy on Fridays")
    two.fetch(one)
    at(two, first).with_suffix(".payload").unlink()
    done = two.sync()
    assert any("words are not there" in line for line in done.waiting)
    two.fetch(one).sync()

    assert "We deploy on Fridays" in two.texts()


def test_words_that_an_event_did_not_commit_to_are_no_words_of_it(pair):
    one, two = pair
    (first,) = sent(one, "We deploy on Fridays")
    two.fetch(one)
    words = at(two, first).with_suffix(".payload")
    words.write_text(words.read_text().replace("Fridays", "Mondays"))
    done = two.sync()

    assert not [text for text in two.texts() if "deploy" in text]
    assert done.waiting


def test_what_is_dated_in_the_future_waits_until_its_time_has_come(tmp_path):
    clock = Clock()
    one, two = Device(tmp_path, "laptop", clock=clock), Device(tmp_path, "desktop")
    one.say("The laptop speaks first")
    two.say("The desktop speaks first")
    trusting(one, two)
    clock.now = START + timedelta(days=3)
    one.say("Said in three days")
    one.sync()
    done = two.fetch(one).sync()
    assert "Said in three days" not in two.texts()
    assert any("2026-05-04" in line for line in done.waiting)
    assert two.memory.engine.events(newest=True, limit=1)[0].time < "2026-05-02"
    two.memory._clock.now = START + timedelta(days=2, hours=12)
    two.sync()

    assert "Said in three days" in two.texts()


def test_whoever_had_a_clock_that_was_a_year_ahead_is_told_and_comes_back_by_a_new_store(tmp_path):
    fast = Clock()
    one, two = Device(tmp_path, "laptop", clock=fast), Device(tmp_path, "desktop")
    one.say("The laptop speaks first")
    two.say("The desktop speaks first")
    trusting(one, two)
    assert one.sync().problems == ()
    fast.now = START + timedelta(days=365)
    one.say("Said with a wrong clock")
    fast.now = START + timedelta(hours=1)
    one.say("Said after it was set right")
    assert "2027-05-01" in one.sync().problems[0]
    assert "2027-05-01" in two.fetch(one).sync().waiting[0]
    assert two.sync().problems == ()

    one.memory.export(str(tmp_path / "all.jsonl"))
    again = Device(tmp_path, "laptop-again", clock=fast)
    again.memory.import_(str(tmp_path / "all.jsonl"), trust=True)
    assert again.sync().problems == ()
    two.fetch(again).sync()
    two.accept(again)
    exchange(again, two)

    assert {"Said with a wrong clock", "Said after it was set right"} <= set(two.texts())


def test_a_clock_that_is_a_year_behind_only_makes_its_words_old(tmp_path):
    late = Clock()
    late.now = START - timedelta(days=365)
    one, two = Device(tmp_path, "laptop", clock=late), Device(tmp_path, "desktop")
    one.say("The laptop speaks first")
    two.say("The desktop speaks first")
    trusting(one, two)
    id = one.say("Worded a year ago, it seems")
    exchange(one, two)
    two.memory.revise(id, text="Worded today")
    one.memory.revise(id, text="Worded a year ago again")
    exchange(one, two)
    assert two.get(id).text == "Worded today"
    assert one.sync().waiting  # to that clock, everybody else speaks from the future
    late.now = START + timedelta(hours=1)
    exchange(one, two)

    assert one.state() == two.state()
    assert one.get(id).text == "Worded today"


def test_an_event_that_makes_no_sense_waits_and_harms_nothing(pair):
    one, two = pair
    from engram.model.change import Change
    from engram.model.event import Draft, Edit, Payload

    def told(id: str, **fields: object) -> Change:
        edits = tuple(Edit("memory", id, name, None, value) for name, value in {"id": id, **fields}.items())
        draft = Draft("remember", "x", START, (id,), payload=Payload(edits, {}, id))
        return Change(draft=draft)

    scope = {"scope": "project:acme", "visibility": "shared", "created_at": "2026-05-01T09:00:00.000000Z"}
    engine = one.memory.engine
    replica = engine.replica()
    for id, fields in {
        "bad-1": {"text": "x" * 70_000, **scope},
        "bad-2": {"text": "fine", "status": "emperor", **scope},
        "bad-3": {"text": "fine", "from_the_future": 1, **scope},
        "bad-4": {"text": "fine", "valid_from": 5, "valid_until": "2026-05-01T09:00:00.000000Z", **scope},
        "bad-5": {"text": "fine", "tags": 7, "context": [], **scope},
    }.items():
        event = engine.commit(told(id, **fields)).event
        _leave(one, replica, event)
    sent(one, "The good one")
    done = two.fetch(one).sync()

    assert "The good one" in two.texts()
    assert not [id for id in two.state() if id.startswith("bad")]
    assert len(done.waiting) >= 2


def _leave(device: Device, replica: str, event) -> None:
    from engram.sync import chunks
    from engram.sync.place import Place

    header = chunks.Header(replica, 0, 0, "", 0, "", "")
    key = device.memory.call().syncing.ledger().key
    Place(str(device.clone)).add(replica, chunks.write([(event, False)], header, key.sign))


def test_an_event_that_edits_what_it_does_not_name_harms_nothing(pair):
    from engram.model.change import Change
    from engram.model.event import Draft, Edit, Payload

    one, two = pair
    victim = two.say("Not for others to touch quietly")
    exchange(one, two)
    edits = (Edit("memory", "x-1", "id", None, "x-1"), Edit("memory", victim, "text", None, "Touched quietly"))
    draft = Draft("remember", "x", START, ("x-1",), payload=Payload(edits, {}, "s"))
    _leave(one, one.memory.engine.replica(), one.memory.engine.commit(Change(draft=draft)).event)
    sent(one, "The good one")
    done = two.fetch(one).sync()

    assert two.get(victim).text == "Not for others to touch quietly"
    assert "The good one" in two.texts()
    assert any("more than it says" in line for line in done.waiting)


STAMP = ["2026-05-01T09:00:00.000000Z.0000", "replica", "event"]
DEEP = json.loads("[" * 300 + "]" * 300)
WHOLE = {"type": "memory", "fields": {"id": [*STAMP, "y"]}, "counts": {}}


@pytest.mark.parametrize(
    "told",
    [
        {"edits": [["memory", "y", "seen", "a", "b"]], "note": {}, "salt": ""},
        {"edits": [], "note": {"states": {"y": {"type": "memory", "fields": {"id": 5}, "counts": {}}}}, "salt": ""},
        {"edits": [["emperor", "y", "id", None, "y"]], "note": {}, "salt": ""},
        {"edits": 5, "note": [], "salt": None},
        {
            "edits": [["relation", "y", "id", None, "y"], ["relation", "y", "from_id", None, ["a"]]],
            "note": {},
            "salt": "",
        },
        {
            "edits": [["memory", "y", "id", None, "y"], ["memory", "y", "replaced_by", None, {}]],
            "note": {},
            "salt": "",
        },
        {
            "edits": [["memory", "y", "id", None, "y"], ["memory", "y", "scope", None, ["a"]]],
            "note": {},
            "salt": "",
        },
        {"edits": [["memory", "y", "seen", 1, 2**70]], "note": {}, "salt": ""},
        {"edits": [], "note": {"states": {"y": {**WHOLE, "counts": {"a": 2**70}}}}, "salt": ""},
        {"edits": [], "note": {"states": {"y": {**WHOLE, "fields": {"id": [1, 2, 3, "y"]}}}}, "salt": ""},
        {"edits": [], "note": {"states": {"y": {**WHOLE, "fields": {"id": [*STAMP, ["y"]]}}}}, "salt": ""},
    ],
)
def test_words_of_no_form_are_no_words(pair, told):
    one, two = pair
    forge(one, told)
    sent(one, "The good one")
    done = two.fetch(one).sync()

    assert "The good one" in two.texts()
    assert done.waiting
    assert "y" not in two.state()
    tried("An event of another machine whose words have no form", "sync", "waits, harms nothing")


@pytest.mark.parametrize(
    "told",
    [
        {"edits": [["memory", "y", "id", None, "y"], ["memory", "y", "text", DEEP, "x"]], "note": {}, "salt": ""},
        {"edits": [["memory", "y", "id", None, "y"]], "note": {"reason": {"a": DEEP}}, "salt": ""},
    ],
    ids=["an edit", "a note"],
)
def test_words_nested_deeper_than_a_reader_can_go_are_no_words(pair, told):
    one, two = pair
    forge(one, told)
    done = two.fetch(one).sync()

    assert any("words are not there" in line for line in done.waiting)


def forge(one: Device, told: object) -> None:
    """An event of a machine with words of any shape that it did commit to, about the record y."""
    from engram.model.event import canonical
    from engram.sync import chunks

    event = one.memory.engine.events(newest=True, limit=1)[0]
    forged = event._replace(commitment=chunks.digest(canonical(told).encode()), payload=None, subjects=("y",))
    forged = forged._replace(id=chunks.digest(canonical(forged.envelope()).encode()))
    _leave(one, one.memory.engine.replica(), forged)
    chunk = max(one.files(), key=lambda file: file.stat().st_mtime_ns)
    words = chunk.with_suffix(".payload")
    words.write_bytes(chunks.print_payloads(chunk.stem, {forged.id: told}))


def test_an_id_that_is_a_session_there_and_a_memory_here_harms_nothing(pair):
    one, two = pair
    id = two.say("Mine by this id")
    one.memory.session_begin(id)
    one.say("In that session", session=id)
    exchange(one, two)

    assert two.get(id).text == "Mine by this id"
    assert two.memory.doctor().healthy


def test_a_link_in_place_of_the_folder_is_refused(pair, tmp_path):
    from engram.errors import Corrupt

    one, _ = pair
    shutil.rmtree(one.clone / ".engram")
    (tmp_path / "outside").mkdir()
    (one.clone / ".engram").symlink_to(tmp_path / "outside")
    with pytest.raises(Corrupt, match="symbolic link"):
        one.sync()
    assert not list((tmp_path / "outside").iterdir())
