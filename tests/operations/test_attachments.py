"""Attachments of a memory: attached, fetched, taken back, purged, backed up, and none lost to who tidies up."""

import hashlib
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import engram as package
from engines.servers import database_url, new_org, shared_database
from engram.errors import Conflict, Corrupt, Forbidden, Invalid, NotFound, TooLarge, Unconfirmed, Unsupported
from engram.model.caller import Caller
from engram.model.memory import Asset
from engram.operations import blobs as bytes_of
from engram.service import Engram
from engram.surfaces.render.answers import render
from engram.surfaces.render.paper import Paper
from engram.surfaces.review import told as reviewed

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 3000
HASH = hashlib.sha256(PNG).hexdigest()


class Clock:
    """The time, which only moves when told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 6, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["ram:", "store.db", "files:plain", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[Engram]:
    environment = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_STAGING": "off"}
    name = str(request.param)
    store = name.replace("plain", str(tmp_path / "plain")) if "plain" in name else str(tmp_path / name)
    if name == "postgres":
        store, environment["ENGRAM_ORG"] = database_url(), new_org(shared_database()).org
    store = name if name == "ram:" else store
    with package.open(store, environment=environment, folder=tmp_path, clock=clock) as opened:
        yield opened


@pytest.fixture
def picture(tmp_path: Path) -> str:
    path = tmp_path / "plan.png"
    path.write_bytes(PNG)
    return str(path)


def told(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def held(memory: Engram) -> list[str]:
    return sorted(one.sha256 for one in memory.call().blobs.held(memory.caller.owner))


def fetched(memory: Engram, ref: str, asset: str) -> bytes:
    return b"".join(memory.read_asset(ref, asset)[1])


def test_history_says_what_was_attached_and_detached(memory: Engram, picture: str):
    memory.remember("The net is drawn")
    memory.attach("mem-0001", picture)
    memory.detach("mem-0001", "plan.png")
    memory.undo()

    done = [event.action for event in memory.history("mem-0001").events]
    assert done == ["undo", "detach", "attach", "remember"]
    assert memory.get("mem-0001").memories[0].assets[0].name == "plan.png"


def test_what_is_attached_is_fetched_again_to_the_byte(memory: Engram, picture: str, tmp_path: Path):
    memory.remember("The net is drawn")
    done = memory.attach("mem-0001", picture)
    got = memory.fetch("mem-0001", "plan.png", str(tmp_path / "copy.png"))

    assert done.outcome == "attached"
    assert done.asset == got.asset == Asset(HASH, "plan.png", "image/png", len(PNG))
    assert (tmp_path / "copy.png").read_bytes() == PNG
    assert (tmp_path / "copy.png").stat().st_mode & 0o777 == 0o600
    assert [(row.name, row.here) for row in memory.assets("mem-0001").assets] == [("plan.png", True)]
    assert memory.get("mem-0001").memories[0].assets == (done.asset,)
    assert memory.doctor().findings == ()


def test_the_same_file_again_is_known_and_kept_once(memory: Engram, picture: str):
    memory.remember("The net is drawn")
    memory.remember("The net is wide")
    first = memory.attach("mem-0001", picture)
    again = memory.attach("mem-0001", picture)
    memory.attach("mem-0002", picture, name="other.png")

    assert (again.outcome, again.event, held(memory)) == ("repeated", 0, [HASH])
    assert memory.history(limit=1).events[0].seq > first.event
    memory.purge("mem-0001", confirm=True)
    assert fetched(memory, "mem-0002", "other.png") == PNG
    assert memory.purge("mem-0002", confirm=True).assets == 1
    assert held(memory) == []


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("lie.png", b"hello", Unsupported),
        ("page.html", b"<!doctype html>", Unsupported),
        ("empty.txt", b"", Invalid),
        ("large.txt", b"x" * 2001, TooLarge),
    ],
)
def test_what_is_refused_leaves_nothing(tmp_path: Path, name: str, content: bytes, error: type[Exception]):
    environment = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none", "ENGRAM_ASSET_BYTES": "2000"}
    (tmp_path / name).write_bytes(content)
    with package.open(tmp_path / "s.db", environment=environment, folder=tmp_path) as memory:
        memory.remember("The net is drawn")
        with pytest.raises(error):
            memory.attach("mem-0001", str(tmp_path / name))
        with pytest.raises(NotFound):
            memory.attach("mem-0009", told(tmp_path / "a.txt", "a"))

        assert memory.get("mem-0001").memories[0].revision == 1
    assert [each for each in (tmp_path / "s.db.assets").rglob("*") if each.is_file()] == []


def test_what_is_detached_comes_back_by_undo_and_goes_after_some_days(memory: Engram, picture: str, clock: Clock):
    memory.remember("The net is drawn")
    memory.attach("mem-0001", picture)
    gone = memory.detach("mem-0001", HASH[:8])
    assert (gone.outcome, memory.assets("mem-0001").assets, held(memory)) == ("detached", (), [HASH])
    memory.undo()
    assert fetched(memory, "mem-0001", "plan.png") == PNG
    memory.detach("mem-0001", "plan.png")
    clock.now += timedelta(days=6)
    memory.doctor(fix=True)
    assert held(memory) == [HASH]
    assert [each.code for each in memory.doctor().findings] == ["loose"]
    clock.now += timedelta(days=2)
    memory.doctor(fix=True)
    assert held(memory) == []


def test_a_purge_takes_along_what_was_ever_attached(memory: Engram, picture: str, tmp_path: Path):
    memory.remember("The net is drawn")
    memory.attach("mem-0001", picture)
    memory.attach("mem-0001", told(tmp_path / "a.txt", "a"))
    memory.detach("mem-0001", "plan.png")

    assert memory.purge("mem-0001", confirm=True).assets == 2
    assert held(memory) == []


def test_a_curated_memory_gets_an_attachment_by_a_persons_word_only(memory: Engram, picture: str):
    memory.remember("I am Alex", kind="identity", confirm=True)
    asked = memory.attach("mem-0001", picture)
    assert (asked.outcome, memory.assets("mem-0001").assets) == ("proposed", ())
    assert "--confirm" in asked.hint
    assert fetched(memory, asked.memory.handle, "plan.png") == PNG
    memory.promote(asked.memory.handle, confirm=True)
    assert fetched(memory, "mem-0001", "plan.png") == PNG


def test_an_agents_attachment_to_a_curated_memory_waits_as_the_agents_own_word(memory: Engram, picture: str):
    memory.remember("I am Alex", kind="identity", confirm=True)
    agent = memory.speaking_for(memory.caller._replace(human=False, agent="x"), "cli")
    asked = agent.attach("mem-0001", picture).memory
    worded = agent.revise("mem-0001", text="I am Alexander").memory
    assert (asked.origin, asked.source, asked.confidence) == (worded.origin, worded.source, worded.confidence)
    assert (asked.origin, asked.confidence) == ("inferred", 0.6)
    live = memory.promote(asked.handle, confirm=True).memories[0]
    assert (live.handle, live.origin, live.confidence, len(live.assets)) == ("mem-0001", "said", 1.0, 1)
    gone = agent.detach("mem-0001", "plan.png").memory
    assert (gone.status, gone.origin, gone.confidence) == ("pending", "inferred", 0.6)


def test_a_reviewer_sees_what_would_be_attached_and_taken_off(memory: Engram, picture: str, tmp_path: Path):
    memory.remember("I am Alex", kind="identity", confirm=True)
    memory.attach("mem-0001", told(tmp_path / "a.txt", "abc"), confirm=True)
    memory.attach("mem-0001", picture)
    memory.detach("mem-0001", "a.txt")
    answer = memory.review()
    listed = render(answer, Paper())
    assert "Would attach: plan.png (image/png, 750 KiB)" in listed
    assert "Would take off: a.txt (text/plain, 3 bytes)" in listed
    shown = "\n".join(line for one in answer.candidates for line in reviewed(one, answer.at, Paper()))
    assert "+ Attached: plan.png (image/png, 750 KiB)" in shown
    assert "- Attached: a.txt (text/plain, 3 bytes)" in shown


def test_the_same_bytes_by_another_name_are_there_already_and_keep_their_name(memory: Engram, picture: str):
    memory.remember("The net is drawn")
    memory.attach("mem-0001", picture)
    again = memory.attach("mem-0001", picture, name="other.png")
    assert (again.outcome, again.event, again.asset.name) == ("repeated", 0, "plan.png")
    assert "plan.png" in again.hint
    assert fetched(memory, "mem-0001", "plan.png") == PNG


def test_history_tells_what_was_attached_in_words(memory: Engram, tmp_path: Path):
    memory.remember("The net is drawn")
    memory.attach("mem-0001", told(tmp_path / "log.txt", "x" * 172))
    memory.detach("mem-0001", "log.txt")
    lines = render(memory.history("mem-0001"), Paper())
    assert "attached log.txt (172 bytes)" in lines
    assert "detached log.txt (172 bytes)" in lines


def test_a_purge_names_what_it_erased_by_its_handle(memory: Engram):
    memory.remember("The net is drawn")
    done = memory.purge("mem-0001", confirm=True)
    assert done.handles == ("mem-0001",)
    assert render(done, Paper()).splitlines()[0] == "✓ Purged mem-0001"


def test_several_memories_are_purged_at_once_or_not_at_all(memory: Engram, picture: str):
    for text in ("The word zanzibar is secret", "The word yucatan is secret", "The lift is slow"):
        memory.remember(text)
    memory.attach("mem-0002", picture)
    memory.relate("mem-0001", "mem-0002", "supersedes")
    undone = memory.remember("The word xanadu is secret").memory
    memory.undo()

    with pytest.raises(NotFound):
        memory.purge(["mem-0001", "mem-0099"], confirm=True)
    with pytest.raises(Unconfirmed, match="Purging 3 memories"):
        memory.purge(["mem-0001", "mem-0002", undone.id])
    assert memory.get(["mem-0001", "mem-0002"]).memories
    with pytest.raises(Invalid, match="No memory was named"):
        memory.purge([], confirm=True)
    done = memory.purge(["mem-0001", "mem-0002", "mem-0001", undone.id], confirm=True)
    assert set(done.handles) == {"mem-0001", "mem-0002"}
    assert (undone.id in done.erased, done.traces, done.assets) == (True, 0, 1)
    assert [one.text for one in memory.list(standing=["all"]).memories] == ["The lift is slow"]
    told = repr([event.payload for event in memory.history(limit=100).events])
    assert not any(word in told for word in ("zanzibar", "yucatan", "xanadu"))
    assert memory.doctor().healthy


def test_a_rescue_says_that_attachments_are_not_in_it(tmp_path: Path, picture: str):
    environment = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none"}
    with package.open(tmp_path / "s.db", environment=environment, folder=tmp_path) as memory:
        memory.remember("The net is drawn")
        memory.attach("mem-0001", picture)
        assert memory.rescue(str(tmp_path / "out.jsonl")).dropped == {"attached files": 1}


def test_approving_one_attachment_takes_no_other_off(memory: Engram, picture: str, tmp_path: Path):
    memory.remember("I am Alex", kind="identity", confirm=True)
    first = memory.attach("mem-0001", picture).memory.handle
    second = memory.attach("mem-0001", told(tmp_path / "a.txt", "a")).memory.handle
    memory.promote(first, confirm=True)
    assert "Would take off" not in render(memory.review(), Paper())
    memory.promote(second, confirm=True)
    assert [one.name for one in memory.assets("mem-0001").assets] == ["plan.png", "a.txt"]


def test_two_files_of_one_name_are_told_apart(memory: Engram, tmp_path: Path):
    memory.remember("The net is drawn")
    memory.attach("mem-0001", told(tmp_path / "a.txt", "one"))

    with pytest.raises(Conflict):
        memory.attach("mem-0001", told(tmp_path / "a.txt", "two"))
    assert [one.size for one in memory.assets("mem-0001").assets] == [3]
    assert len(held(memory)) == 1


def test_a_retry_with_its_token_gets_the_first_answer(memory: Engram, picture: str):
    memory.remember("The net is drawn")
    first = memory.attach("mem-0001", picture, token="t")  # noqa: S106 - no secret
    again = memory.attach("mem-0001", picture, token="t")  # noqa: S106 - no secret
    gone = memory.detach("mem-0001", "plan.png", token="d")  # noqa: S106 - no secret
    twice = memory.detach("mem-0001", "plan.png", token="d")  # noqa: S106 - no secret

    assert (again.event, again.outcome, again.replayed) == (first.event, "attached", True)
    assert (twice.event, twice.asset, twice.replayed) == (gone.event, gone.asset, True)


def test_who_may_not_read_a_memory_gets_nothing_of_its_files_and_a_hash_opens_nothing(memory: Engram, picture: str):
    ada, ben = (memory.speaking_for(Caller(owner=name, org=memory.caller.org), "http") for name in ("ada", "ben"))
    private = ada.remember("The net is drawn").memory.id
    shared = ada.remember("The net is wide", visibility="shared").memory.id
    own = ben.remember("The net is mine").memory.id
    for ref in (private, shared):
        ada.attach(ref, picture)

    for refused in (
        lambda: ben.assets(private),
        lambda: ben.read_asset(private, "plan.png"),
        lambda: ben.receive(private),
        lambda: ben.attach(private, picture),
        lambda: ben.detach(private, "plan.png"),
    ):
        with pytest.raises(NotFound):
            refused()
    assert fetched(ben, shared, "plan.png") == PNG
    for refused in (lambda: ben.receive(shared), lambda: ben.detach(shared, "plan.png")):
        with pytest.raises(Forbidden):
            refused()
    reader = memory.speaking_for(Caller(owner="ada", org=memory.caller.org, writes=False), "http")
    for refused in (lambda: reader.receive(private), lambda: reader.attach(private, picture)):
        with pytest.raises(Forbidden):
            refused()
    # A record that names the hash, as a sync or an import could bring it, names nothing of Ada's.
    forge(ben, own, Asset(HASH, "stolen.png", "image/png", len(PNG)))
    assert [row.here for row in ben.assets(own).assets] == [False]
    with pytest.raises(NotFound):
        ben.read_asset(own, "stolen.png")


def forge(memory: Engram, id: str, asset: Asset) -> None:
    """Put an attachment into a record past every operation."""
    from engram.model.record import replace
    from engram.rules.changes import Step, compose

    call = memory.call()
    one = call.memory(id)
    call.engine.commit(
        compose("forge", call.request(), [Step(one, replace(one, assets=(asset,), revision=one.revision + 1))])
    )


def test_bytes_that_are_not_what_was_attached_never_come_whole(tmp_path: Path, picture: str):
    environment = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none"}
    with package.open(tmp_path / "s.db", environment=environment, folder=tmp_path) as memory:
        memory.remember("The net is drawn")
        memory.attach("mem-0001", picture)
        file = next((tmp_path / "s.db.assets").rglob(HASH))
        file.write_bytes(PNG[:-1] + b"\x00")
        got: list[bytes] = []
        with pytest.raises(Corrupt):
            got.extend(memory.read_asset("mem-0001", "plan.png")[1])
        with pytest.raises(Corrupt):
            memory.fetch("mem-0001", "plan.png", str(tmp_path / "out.png"))

        assert sum(map(len, got)) < len(PNG)
        assert not list(tmp_path.glob("out.png*"))
        memory.attach("mem-0001", picture)
        assert fetched(memory, "mem-0001", "plan.png") == PNG
        file.unlink()
        findings = memory.doctor().findings
        assert [(each.code, each.severity) for each in findings] == [("attachment", "warning")]
        memory.attach("mem-0001", picture)
        assert memory.doctor().findings == ()


def test_what_is_attached_while_another_tidies_up_is_there_afterwards(memory: Engram, picture: str, monkeypatch):
    memory.remember("The net is drawn")
    memory.remember("The net is wide")
    memory.attach("mem-0001", picture)
    looked: list[int] = []
    real: Callable = bytes_of.wanted

    def wanted(call, owner):
        found = real(call, owner)
        looked.append(1)
        if len(looked) == 1:  # the purge has looked, and knows of nobody; now somebody attaches the same bytes
            memory.attach("mem-0002", picture)
        return found

    monkeypatch.setattr(bytes_of, "wanted", wanted)
    assert memory.purge("mem-0001", confirm=True).assets == 0
    assert fetched(memory, "mem-0002", "plan.png") == PNG


def test_attachments_of_many_at_once_are_all_there(memory: Engram, tmp_path: Path):
    memory.remember("The net is drawn")
    files = [told(tmp_path / f"{n}.txt", f"text {n}") for n in range(6)]
    threads = [threading.Thread(target=memory.attach, args=("mem-0001", file)) for file in files]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    names = [one.name for one in memory.assets("mem-0001").assets]
    assert sorted(names) == [f"{n}.txt" for n in range(6)]
    assert [fetched(memory, "mem-0001", name) for name in sorted(names)] == [f"text {n}".encode() for n in range(6)]


def test_an_owner_who_is_assigned_gets_the_files_too(memory: Engram, picture: str):
    memory.remember("The net is drawn")
    memory.attach("mem-0001", picture)
    memory.owners_assign("ada", source="anonymous", apply=True)
    ada = memory.speaking_for(Caller(owner="ada", org=memory.caller.org), "http")

    assert fetched(ada, "mem-0001", "plan.png") == PNG


def test_an_export_names_attachments_and_says_that_their_bytes_stay(memory: Engram, picture: str, tmp_path: Path):
    memory.remember("The net is drawn")
    memory.attach("mem-0001", picture)
    done = memory.export(str(tmp_path / "all.jsonl"))

    assert done.dropped == {"attached files": 1}
    assert HASH in (tmp_path / "all.jsonl").read_text()


@pytest.mark.parametrize("form", ["store.db", "files:plain"])
def test_a_backup_holds_the_files_and_brings_them_back(tmp_path: Path, picture: str, form: str):
    environment = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none"}

    def opened(folder: str) -> Engram:
        (tmp_path / folder).mkdir(exist_ok=True)
        scheme, _, name = form.rpartition(":")
        store = f"{scheme}:{tmp_path / folder / name}" if scheme else str(tmp_path / folder / name)
        return package.open(store, environment=environment, folder=tmp_path)

    with opened("one") as memory:
        memory.remember("The net is drawn")
        memory.attach("mem-0001", picture)
        memory.backup_create(str(tmp_path / "all.zip"))
        assert memory.backup_verify(str(tmp_path / "all.zip")).healthy
    with opened("two") as other:
        other.remember("Something else")
        other.attach("mem-0001", told(tmp_path / "a.txt", "a"))
        kept = other.backup_restore(str(tmp_path / "all.zip"), overwrite=True).kept
    with opened("two") as other:
        assert fetched(other, "mem-0001", "plan.png") == PNG
        assert [each.code for each in other.doctor().findings if each.severity != "note"] == []
    with package.open(f"{form.rpartition(':')[0]}:{kept}".lstrip(":"), environment=environment) as aside:
        assert fetched(aside, "mem-0001", "a.txt") == b"a"


def test_a_file_that_cannot_be_read_is_named(memory: Engram, tmp_path: Path):
    saved = memory.remember("The lift is slow").memory
    (tmp_path / "loop").symlink_to(tmp_path / "loop")

    for path, why in (
        (tmp_path / "loop", "Too many levels"),
        (tmp_path / ("x" * 300), "File name too long"),
        ("/proc/self/mem", "Input/output error"),
    ):
        with pytest.raises(Invalid, match=f"{path} cannot be read: {why}"):
            memory.attach(saved.id, str(path))
    assert memory.assets(saved.id).assets == ()
