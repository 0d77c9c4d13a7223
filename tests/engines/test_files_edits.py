"""A person's hand in memory.md: taken in, told with line and reason, merged with what we write, and never lost."""

import re
import shutil
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engines.asking import found
from engines.samples import MINE, Story, change, everything, later, memory
from engines.stores import open_files, wrong
from engines.test_files_format import NOW, SEED, items, store_of
from engram.engines.files import scribe
from engram.errors import Corrupt, Unavailable
from engram.model.limits import print_time
from engram.model.memory import standing
from engram.model.record import replace

HERE, TODAY = "memory.md", print_time(NOW)
FIRST = "\n    learned_by: remember\n    learned_at: 2026-01-01\n    last_verified: null\n    decay: 180d"
"""What follows in the first item, and in it alone."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with two memories of our own, closed."""
    engine = open_files(tmp_path / "store", clock=lambda: NOW)
    story = Story(engine)
    story.remember("We deploy on Fridays", key="deploy")
    story.remember("I pay in euros", kind="fiscal")
    engine.close()
    return tmp_path / "store"


def edit(folder: Path, old: str, new: str) -> str:
    text = (folder / HERE).read_text()
    assert text.count(old) == 1, old
    (folder / HERE).write_text(text.replace(old, new))
    return (folder / HERE).read_text()


def unmarked(text: str) -> str:
    """As a program leaves it that drops the keys of others at the top."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("as_of:"))


def opened(folder: Path, **more: object):
    return open_files(folder, clock=lambda: NOW, **more)


def by_handle(engine) -> dict:
    return {each.handle: each for each in everything(engine)}


def test_an_edit_is_picked_up_at_the_next_open_and_becomes_an_event(folder):
    edit(folder, 'fact: "We deploy on Fridays"', "fact: We deploy on zebra Mondays")
    engine = opened(folder)

    assert by_handle(engine)["mem-0001"].text == "We deploy on zebra Mondays"
    assert by_handle(engine)["mem-0001"].revision == 2
    assert found(engine, "zebra") == [by_handle(engine)["mem-0001"].id]
    last = engine.events(newest=True, limit=1)[0]
    assert (last.action, last.actor) == ("edited", "file")
    assert [(e.field, e.old, e.new) for e in last.payload.edits] == [
        ("text", "We deploy on Fridays", "We deploy on zebra Mondays"),
        ("learned_by", None, "manual"),
        ("verified_at", None, TODAY),
        ("reworded_at", None, TODAY),
    ]
    assert "- We deploy on zebra Mondays" in (folder / HERE).read_text()
    assert engine.check() == []
    engine.close()


def test_an_edit_is_picked_up_once(folder):
    edit(folder, 'fact: "We deploy on Fridays"', "fact: We deploy on Mondays")
    for cache in ("cache", "cache", "another"):
        engine = opened(folder, cache=folder.parent / cache)
        assert len(engine.events()) == 3
        engine.close()


def test_a_running_engine_sees_an_edit_at_its_next_read(folder):
    engine = opened(folder)
    edit(
        folder,
        "confidence: 1.0" + FIRST,
        "confidence: 0.3" + FIRST,
    )

    assert by_handle(engine)["mem-0001"].confidence == 0.3
    engine.close()


def test_several_edits_are_one_batch(folder):
    edit(folder, 'fact: "We deploy on Fridays"', "fact: We deploy on Mondays")
    edit(folder, 'fact: "I pay in euros"', "fact: I pay in kronor")
    engine = opened(folder)
    last = engine.events(newest=True, limit=1)[0]

    assert len(engine.events()) == 3
    assert set(last.subjects) == {each.id for each in everything(engine)}
    engine.close()


def test_an_item_added_by_hand_gets_an_id_and_the_keys_it_lacks(folder):
    edit(folder, "---\n\n# Memory", "\n  - fact: I like tea\n    kind: preference\n---\n\n# Memory")
    engine = opened(folder)
    made = by_handle(engine)["mem-0003"]

    assert (made.text, made.kind, made.status, made.learned_by) == ("I like tea", "preference", "pending", "manual")
    item = items(folder)["mem-0003"]
    assert (item["fact"], item["decay"], str(item["learned_at"])) == ("I like tea", "180d", "2026-01-20")
    assert engine.check() == []
    engine.close()


def test_an_item_taken_out_by_hand_is_forgotten_and_can_be_restored(folder):
    text = (folder / HERE).read_text()
    start = text.index("  - id: mem-0001")
    (folder / HERE).write_text(text[:start] + text[text.index("  - id: mem-0002") :])
    engine = opened(folder)
    gone = by_handle(engine)["mem-0001"]

    assert standing(gone, NOW) == "forgotten"
    assert items(folder)["mem-0001"]["status"] == "rejected"
    story = Story(engine, start=100)
    story.restore(gone)
    assert items(folder)["mem-0001"]["status"] == "promoted"
    assert engine.check() == []
    engine.close()


@pytest.mark.parametrize(
    ("status", "stands"),
    [("promoted", "live"), ("rejected", "rejected"), ("stale", "stale"), ("pending", "pending")],
)
def test_a_status_set_by_hand_is_kept(folder, status, stands):
    for handle in ("mem-0001", "mem-0002"):
        was = items(folder)[handle]["status"]
        text = (folder / HERE).read_text()
        at = text.index(f"status: {was}", text.index(f"id: {handle}"))
        (folder / HERE).write_text(text[:at] + f"status: {status}" + text[at + len(f"status: {was}") :])
    engine = opened(folder)

    assert {standing(each, NOW) for each in everything(engine)} == {stands}
    assert {item["status"] for item in items(folder).values()} == {status}
    assert engine.check() == []
    engine.close()
    again = opened(folder, cache=folder.parent / "another")
    assert {standing(each, NOW) for each in everything(again)} == {stands}
    assert len(again.events()) == 3
    again.close()


def test_what_is_stale_by_hand_lives_again_when_it_is_verified(folder):
    edit(folder, "status: promoted", "status: stale")
    engine = opened(folder)
    stale = by_handle(engine)["mem-0001"]
    fresh = replace(stale, verified_at=NOW, revision=stale.revision + 1)
    engine.commit(change(fresh, was=stale, batch="verify", action="verify"))

    assert items(folder)["mem-0001"]["status"] == "promoted"
    engine.close()


def test_what_was_reworded_is_stale_by_hand_too_and_keeps_both_moments_in_the_text(folder):
    edit(folder, 'fact: "We deploy on Fridays"', "fact: We deploy on Mondays")
    opened(folder).close()
    item = items(folder)["mem-0001"]
    assert (item["reworded_at"], str(item["last_verified"])) == (NOW, "2026-01-20")

    text = (folder / HERE).read_text()
    (folder / HERE).write_text(text.replace("status: promoted", "status: stale", 1))
    engine = opened(folder)
    assert standing(by_handle(engine)["mem-0001"], NOW) == "stale"
    assert engine.check() == []
    engine.close()


def test_a_date_changed_by_hand_is_the_date(folder):
    edit(
        folder,
        "learned_at: 2026-01-01\n    last_verified: null\n    decay: 180d",
        "learned_at: 2025-12-24\n    last_verified: 2026-01-02\n    decay: 180d",
    )
    engine = opened(folder)
    told = by_handle(engine)["mem-0001"]

    assert told.created_at == datetime(2025, 12, 24, tzinfo=UTC)
    assert told.verified_at == datetime(2026, 1, 2, tzinfo=UTC)
    engine.close()


BAD = {
    "a date with a time": (
        "learned_at: 2026-01-01\n    last_verified: null\n    decay: 180d",
        "learned_at: 2026-01-01T10:00:00Z\n    last_verified: null\n    decay: 180d",
        "learned_at",
    ),
    "a decay that is none": ("decay: 180d", "decay: soon", "decay"),
    "a confidence beyond one": (
        "confidence: 1.0" + FIRST,
        "confidence: 7" + FIRST,
        "confidence",
    ),
    "a tier there is not": ("risk_tier: 2", "risk_tier: 9", "tier"),
    "a status there is not": ("status: promoted", "status: archived", "status"),
    "a fact that is missing": ('    fact: "We deploy on Fridays"\n', "", "fact"),
    "a key twice": ("    kind: fact\n", "    kind: fact\n    kind: rule\n", "kind"),
    "an id that is none": ("id: mem-0001", "id: mem-one", "id"),
    "a line that is no key": ("    kind: fact\n", "    kind fact\n", "kind fact"),
    "a merge's marks": (
        "    kind: fact\n",
        "<<<<<<< HEAD\n    kind: fact\n=======\n    kind: rule\n>>>>>>> other\n",
        "merge",
    ),
    "an end that is missing": ("---\n\n# Memory", "\n# Memory", "---"),
    "a beginning that is missing": ("---\nschema", "schema", "---"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_edit_that_makes_no_sense_is_told_with_its_line_and_blocks_writes_and_nothing_else(folder, name):
    old, new, word = BAD[name]
    engine = opened(folder)
    text = edit(folder, old, new)
    before = {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}

    assert {each.text for each in everything(engine)} == {"We deploy on Fridays", "I pay in euros"}
    engine.close()
    engine = opened(folder)
    assert {each.text for each in everything(engine)} == {"We deploy on Fridays", "I pay in euros"}
    with pytest.raises(Corrupt, match=r"memory\.md, line \d+") as refused:
        Story(engine, start=50).remember("Use uv")
    assert word in refused.value.message
    assert [each.code for each in engine.check()] == ["registry"]
    assert {each: each.read_bytes() for each in before} == before
    (folder / HERE).write_text(
        text.replace(new, old) if new else text.replace("id: mem-0001\n", "id: mem-0001\n" + old)
    )
    Story(engine, start=50).remember("Use uv")
    assert len(everything(engine)) == 3
    assert engine.check() == []
    engine.close()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("decay: 365d", "decay: soon"),
        ('fact: "I pay in euros"', 'fact: "I pay in \\u0007 euros"'),
        ("kind: fiscal", "kind: Much too long"),
        ("risk_tier: 3", "risk_tier: 9"),
        ("confidence: 1.0" + FIRST, "confidence: 7.0" + FIRST),
        ("dest: null", "dest: null\n    state: perhaps"),
        ("dest: null", "dest: null\n    valid_from: 2026-02-01T00:00:00Z\n    valid_until: 2026-01-01T00:00:00Z"),
    ],
)
def test_the_line_that_is_told_is_that_of_the_wrong_key(folder, old, new):
    text = edit(folder, old, new)
    wrong_one = new.removesuffix(FIRST).rpartition("\n")[2]
    line = text[: text.index(wrong_one)].count("\n") + 1
    engine = opened(folder)
    with pytest.raises(Corrupt, match=f"line {line}:"):
        engine.commit(change(memory("id-9")))
    engine.close()


def test_what_cannot_be_read_is_known_to_the_next_process_too(folder):
    edit(folder, "decay: 365d", "decay: soon")
    opened(folder).close()
    engine = opened(folder)
    with pytest.raises(Corrupt, match="decay"):
        engine.commit(change(memory("id-9")))
    engine.close()


def test_bytes_that_are_no_utf_8_are_told_and_kept(folder):
    content = (folder / HERE).read_bytes().replace(b"Fridays", b"Frid\xe4ys", 1)
    (folder / HERE).write_bytes(content)
    engine = opened(folder)
    with pytest.raises(Corrupt, match="UTF-8"):
        engine.commit(change(memory("id-9")))

    assert (folder / HERE).read_bytes() == content
    assert len(everything(engine)) == 2
    engine.close()


@pytest.mark.parametrize("form", ["crlf", "bom", "both"])
def test_line_ends_and_marks_of_other_systems_are_no_edit(folder, form):
    content = (folder / HERE).read_bytes()
    content = content.replace(b"\n", b"\r\n") if form != "bom" else content
    (folder / HERE).write_bytes(b"\xef\xbb\xbf" + content if form != "crlf" else content)
    engine = opened(folder)

    assert len(engine.events()) == 2
    Story(engine, start=50).remember("Use uv")
    assert len(everything(engine)) == 3
    assert b"\r" not in (folder / HERE).read_bytes()
    assert {item["fact"] for item in items(folder).values()} == {each.text for each in everything(engine)}
    engine.close()


def test_an_editor_that_renames_is_seen_like_one_that_writes(folder):
    engine = opened(folder)
    draft = folder / ".memory.md.swp"
    draft.write_text((folder / HERE).read_text().replace("We deploy on Fridays", "We deploy on Mondays"))
    draft.chmod(0o600)
    draft.replace(folder / HERE)

    assert by_handle(engine)["mem-0001"].text == "We deploy on Mondays"
    engine.close()


def test_an_edit_and_a_write_at_once_keep_both(folder):
    engine = opened(folder)
    old = by_handle(engine)["mem-0001"]
    edit(folder, 'fact: "I pay in euros"', 'fact: "I pay in kronor"')
    engine.commit(change(replace(old, text="We deploy on Mondays", revision=2), was=old, batch="b9"))

    assert {each.text for each in everything(engine)} == {"We deploy on Mondays", "I pay in kronor"}
    assert {item["fact"] for item in items(folder).values()} == {"We deploy on Mondays", "I pay in kronor"}
    assert engine.check() == []
    engine.close()


def test_an_edit_in_the_middle_of_a_write_is_merged_item_by_item(folder):
    """Saved after the line of history was written, and before the registry was."""
    done = []

    def trace(at: str) -> None:
        if at == "indexed" and not done:
            done.append(at)
            edit(folder, "risk_tier: 2", "risk_tier: 2\n    pinned: true")
            edit(folder, 'fact: "I pay in euros"', 'fact: "I pay in kronor"')

    engine = opened(folder, trace=trace)
    old = by_handle(engine)["mem-0001"]
    engine.commit(change(replace(old, text="We deploy on Mondays", revision=2), was=old, batch="b9"))
    now = by_handle(engine)

    assert (now["mem-0001"].text, now["mem-0001"].pinned) == ("We deploy on Mondays", True)
    assert now["mem-0002"].text == "I pay in kronor"
    assert [event.action for event in engine.events()][-2:] == ["remember", "edited"]
    assert items(folder)["mem-0001"]["fact"] == "We deploy on Mondays"
    assert engine.check() == []
    engine.close()


def test_a_store_edited_while_others_write_loses_neither(folder):
    engine, stop = opened(folder), threading.Event()

    def writes() -> None:
        story = Story(engine, name="writer", start=100)
        n = 0
        while not stop.is_set():
            n += 1
            story.remember(f"note {n}")

    writer = threading.Thread(target=writes)
    writer.start()
    for n in range(12):
        with engine._folder.locked():  # as an editor that saves between two writes
            text = (folder / HERE).read_text()
            at = text.index("confidence: ", text.index("id: mem-0001"))
            (folder / HERE).write_text(text[:at] + f"confidence: 0.{n + 10}" + text[text.index("\n", at) :])
        time.sleep(0.02)
    stop.set()
    writer.join()

    assert by_handle(engine)["mem-0001"].confidence == 0.21
    assert len(everything(engine)) == len(items(folder)) > 3
    assert engine.check() == []
    engine.close()


def test_a_registry_that_never_stands_still_is_not_written_over(folder, monkeypatch):
    engine = opened(folder)
    monkeypatch.setattr(scribe, "TRIES", 2)
    stamps = iter((n, n, n) for n in range(1000))
    edit(folder, 'fact: "I pay in euros"', 'fact: "I pay in kronor"')
    monkeypatch.setattr(engine._folder, "stamp", lambda _: next(stamps))
    with pytest.raises(Unavailable, match="being edited"):
        engine.commit(change(memory("id-9")))
    engine.close()


# --- copies and duplicates ---


def test_two_memories_under_one_id_are_told_and_the_later_gets_one_of_its_own(folder):
    other = SEED[SEED.index("  - id: mem-0001") : SEED.index("\n  - id: mem-0002")]
    edit(folder, "---\n\n# Memory", f"\n{other}    uid: another-machine\n---\n\n# Memory")
    engine = opened(folder)

    assert len(everything(engine)) == 2
    assert [(each.code, each.fixable) for each in engine.check()] == [("duplicate", True)]
    [note] = engine.check(repair=True)
    assert (note.code, note.severity) == ("duplicate", "note")
    assert note.message == "memory.md: mem-0003 was mem-0001 too, and is the newer."
    assert {each.handle: each.text for each in everything(engine)} == {
        "mem-0001": "We deploy on Fridays",
        "mem-0002": "I pay in euros",
        "mem-0003": "I prefer pnpm over npm",
    }
    assert by_handle(engine)["mem-0003"].id == "another-machine"
    assert list(items(folder)) == ["mem-0001", "mem-0002", "mem-0003"]
    engine.close()


@pytest.mark.parametrize(
    "name",
    [
        "memory (Ada's conflicted copy 2026-01-19).md",
        "memory.sync-conflict-20260119-120000-ABCDEFG.md",
        "memory 2.md",
        "memory (1).md",
        "memory (conflicted copy 2026-01-19 120000).md",
        "memory-conflict-1.md",
        "memory-DESKTOP-4F2K9QX.md",
        "memory-Ada's MacBook Pro.md",
    ],
)
def test_a_copy_left_by_a_sync_tool_is_found_and_what_only_it_has_is_taken_in(folder, name):
    text = (folder / HERE).read_text().replace("I pay in euros", "I pay in kronor").replace("uid: ", "uid: other-")
    (folder / name).write_text(text)
    engine = opened(folder)

    assert [(each.code, each.severity) for each in engine.check()] == [("copy", "warning")]
    said, put_aside = (each.message for each in engine.check(repair=True))
    assert said == f"{name}: mem-0003 was mem-0002 too, and is the newer."
    assert put_aside == f"{name} was taken in; all of it is .bak/{name}."
    assert engine.check() == []
    assert sorted(each.text for each in everything(engine)) == [
        "I pay in euros",
        "I pay in kronor",
        "We deploy on Fridays",
    ]
    assert not (folder / name).exists()
    assert (folder / ".bak" / name).read_text() == text
    engine.close()


@pytest.mark.parametrize("name", ["memory-TODO.md", "memory-old.md", "memory-2025.md", "events-OLD.jsonl"])
def test_a_file_of_ones_own_beside_the_store_is_no_copy(folder, name):
    (folder / name).write_text("# What to do\n")
    engine = opened(folder)

    assert engine.check() == []
    engine.close()


def test_copies_of_the_trail_and_the_log_are_joined_by_their_lines(folder):
    audit = (folder / "audit.jsonl").read_text()
    (folder / "audit (conflicted copy).jsonl").write_text(audit + '{"ts": "2026-01-19", "op": "promote"}\n')
    log = (folder / "memory-log.md").read_text()
    entry = "- [fact] From the other one <!-- id: mem-0009 ts: 2025-06-01T00:00:00.000000Z -->\n"
    (folder / "memory-log (conflicted copy).md").write_text(log + entry)
    engine = opened(folder)
    assert wrong(engine.check(repair=True)) == []

    assert (folder / "audit.jsonl").read_text() == audit + '{"ts": "2026-01-19", "op": "promote"}\n'
    assert (folder / "memory-log.md").read_text() == log + entry
    engine.close()


def test_two_copies_joined_line_by_line_keep_the_memories_of_both(folder):
    """As git's union merge does: both wrote a memory under one id, and one text was said in both."""
    other = folder.parent / "other"
    shutil.copytree(folder, other)
    for each, text, start in ((folder, "From here", 100), (other, "From there", 200)):
        engine = open_files(each, each.name, clock=lambda: NOW)
        story = Story(engine, name=each.name, start=start)
        story.remember(text)
        story.remember("Said in both")
        engine.close()
    for name in ("events.jsonl", "audit.jsonl"):
        lines = (folder / name).read_text() + (other / name).read_text()
        (folder / name).write_text("".join(dict.fromkeys(lines.splitlines(keepends=True))))
    theirs = (other / HERE).read_text()
    added = theirs[theirs.index("  - id: mem-0003") : theirs.index("---\n\n# Memory")]
    edit(folder, "---\n\n# Memory", f"\n{added}---\n\n# Memory")
    engine = opened(folder)

    assert {each.handle: each.text for each in everything(engine)} == {
        "mem-0001": "We deploy on Fridays",
        "mem-0002": "I pay in euros",
        "mem-0003": "From here",
        "mem-0004": "Said in both",
        "mem-0005": "From there",
        "mem-0006": "Said in both",
    }
    assert [event.replica for event in engine.events()] == ["replica"] * 4 + ["other"] * 2
    assert {handle: item["fact"] for handle, item in items(folder).items()} == {
        each.handle: each.text for each in everything(engine)
    }
    assert [each.message for each in engine.check()] == ["memory-log.md lacks 2 entries."]
    assert wrong(engine.check(repair=True)) == engine.check() == []
    engine.close()


# --- damage beside the registry ---


def test_a_torn_last_line_of_history_was_never_committed(folder):
    with (folder / "events.jsonl").open("ab") as file:
        file.write(b'{"id":"half')
    engine = opened(folder)

    assert len(engine.events()) == 2
    Story(engine, start=50).remember("Use uv")
    assert len(engine.events()) == 3
    assert engine.check() == []
    engine.close()


def test_a_torn_line_in_the_middle_of_history_is_told(folder):
    lines = (folder / "events.jsonl").read_bytes().split(b"\n")
    lines.insert(2, b'{"id":"half')
    (folder / "events.jsonl").write_bytes(b"\n".join(lines))
    engine = opened(folder)

    assert len(everything(engine)) == 2
    assert [each.code for each in engine.check()] == ["history"]
    engine.close()


@pytest.mark.parametrize("cache", ["cache", "another"])
@pytest.mark.parametrize("line", [1, 2, 3, 4])
def test_a_damaged_line_in_the_middle_of_history_stops_nobody_and_loses_no_memory(folder, line, cache):
    engine = opened(folder)
    for handle in ("mem-0001", "mem-0002"):
        before = by_handle(engine)[handle]
        after = replace(before, text=f"{before.text} as ever", revision=2)
        engine.commit(change(after, was=before, batch=handle))
    kept = {handle: each.text for handle, each in by_handle(engine).items()}
    engine.close()
    lines = (folder / "events.jsonl").read_bytes().split(b"\n")
    lines[line] = lines[line][: len(lines[line]) // 2]
    (folder / "events.jsonl").write_bytes(b"\n".join(lines))
    engine = opened(folder, cache=folder.parent / cache)

    assert {handle: each.text for handle, each in by_handle(engine).items()} == kept
    assert any(f"events.jsonl, line {line + 1} is torn" in each.message for each in engine.check())
    assert Story(engine, start=50).remember("Use uv").handle == "mem-0003"
    assert lines[line] in (folder / "events.jsonl").read_bytes()
    assert {each.code for each in engine.check(repair=True)} == {"history"}
    assert len(everything(engine)) == 3
    engine.close()


@pytest.mark.parametrize("name", ["events.jsonl", "audit.jsonl"])
@pytest.mark.parametrize("cache", ["cache", "another"])
def test_a_whole_last_line_whose_end_an_editor_took_away_is_kept(folder, name, cache):
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole.removesuffix(b"\n"))
    engine = opened(folder, cache=folder.parent / cache)
    assert len(engine.events()) == len(everything(engine)) == 2
    Story(engine, start=50).remember("Use uv")

    assert (folder / name).read_bytes().startswith(whole)
    assert (folder / name).read_bytes().count(b"\n") == whole.count(b"\n") + 1
    assert engine.check() == []
    engine.close()


def test_a_line_of_the_trail_that_a_crash_tore_is_written_again(folder):
    path = folder / "audit.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    next((folder.parent / "cache").glob("*.mark")).unlink()  # it is written after the trail
    engine = opened(folder)
    Story(engine, start=50).remember("Use uv")

    assert engine.check() == []
    assert path.read_bytes().startswith(whole)
    engine.close()


@pytest.mark.parametrize("damage", ["missing", "half", "extra"])
def test_a_queue_that_does_not_fit_is_mended(folder, damage):
    path = folder / "queue" / "mem-0002.json"
    if damage == "missing":
        path.unlink()
    elif damage == "extra":
        (folder / "queue" / "mem-0001.json").write_text(path.read_text())
        (folder / "queue" / "mem-0001.json").chmod(0o600)
    else:
        path.write_text('{"id": "mem')
    engine = opened(folder)

    assert [each.code for each in engine.check()] == ["queue"]
    assert wrong(engine.check(repair=True)) == []
    story = Story(engine, start=50)
    story.promote(by_handle(engine)["mem-0002"])
    assert [each.name for each in (folder / "queue").glob("*.json")] == []
    engine.close()


def test_a_body_changed_by_hand_is_told_and_made_anew(folder):
    text = (folder / HERE).read_text()
    (folder / HERE).write_text(text.replace("- We deploy on Fridays", "- We never deploy"))
    engine = opened(folder)

    assert [each.code for each in engine.check()] == ["body"]
    assert wrong(engine.check(repair=True)) == []
    assert (folder / HERE).read_text() == text
    assert len(engine.events()) == 2
    engine.close()


def test_a_registry_that_is_gone_is_written_again_from_history(folder):
    text = (folder / HERE).read_text()
    (folder / HERE).unlink()
    engine = opened(folder)

    assert len(everything(engine)) == 2
    assert (folder / HERE).read_text() == text
    engine.close()


def test_a_history_that_is_gone_leaves_every_memory_as_the_registry_has_it(folder):
    engine = opened(folder)
    before = everything(engine)
    engine.close()
    (folder / "events.jsonl").unlink()
    again = opened(folder)

    assert everything(again) == before
    assert [event.action for event in again.events()] == ["adopted"]
    again.close()


@pytest.mark.parametrize("held_for", ["untrusted_origin", "deleted_branch", "unmerged_branch", "review_all"])
def test_a_history_that_is_gone_leaves_the_reason_for_which_a_memory_waits(folder, held_for):
    branch = "acme/api feature" if held_for == "unmerged_branch" else ""
    waiting = memory("waits", text="The cache is in ram", status="pending", held_for=held_for, branch=branch)
    engine = opened(folder)
    engine.commit(change(waiting, batch="more"))
    engine.close()
    (folder / "events.jsonl").unlink()
    shutil.rmtree(folder.parent / "cache")
    engine = opened(folder)

    assert {each.held_for for each in everything(engine) if each.id == "waits"} == {held_for}
    engine.close()


@pytest.mark.parametrize("marked", [True, False])
def test_a_registry_brought_back_from_an_older_copy_takes_nothing_newer_away(folder, marked):
    older = (folder / HERE).read_text()
    engine = opened(folder)
    story = Story(engine, start=50)
    story.remember("Use uv")
    old = by_handle(engine)["mem-0001"]
    engine.commit(change(replace(old, text="We deploy on Mondays", revision=2), was=old, batch="b9"))
    newer = (folder / HERE).read_text()
    engine.close()
    (folder / HERE).write_text(older if marked else unmarked(older))
    again = opened(folder)

    assert (folder / HERE).read_text().split("---\n")[1] == newer.split("---\n")[1]
    assert len(again.events()) == 4
    [told] = again.notices()
    assert told.message == "memory.md comes from an older text: 2 memories are newer, and were kept."
    assert again.notices() == []
    again.close()


def test_facts_of_forty_kilobytes_and_all_marks_survive(tmp_path):
    engine = open_files(tmp_path / "store", clock=lambda: later(5))
    texts = [
        "x" * 40_000,
        "---\nschema: evil\n---\n- id: mem-0001\n",
        "  - id: mem-0001\n    fact: no",
        "# Memory\n## fact\n- x",
    ]
    story = Story(engine)
    for text in texts:
        story.remember(text)
    engine.close()
    again = open_files(tmp_path / "store", cache=tmp_path / "another", clock=lambda: later(5))

    assert sorted(each.text for each in everything(again)) == sorted(texts)
    assert sorted(item["fact"] for item in items(tmp_path / "store").values()) == sorted(texts)
    assert again.check() == []
    assert again.get("memory", ["mem-0002"], MINE)["mem-0002"].text == texts[1]
    again.close()


def test_an_example_store_can_be_edited_before_we_ever_write(tmp_path):
    engine = store_of(tmp_path / "store", SEED)
    engine.close()
    edit(tmp_path / "store", "risk_tier: 1", "risk_tier: 2")
    again = opened(tmp_path / "store")

    assert by_handle(again)["mem-0001"].tier == 2
    assert [event.action for event in again.events()] == ["adopted", "edited"]
    again.close()


@pytest.mark.parametrize("dropped", ["", "uid", "id"])
def test_a_copy_of_an_item_that_keeps_its_id_or_uid_is_told_at_once_and_taken_in_without(folder, dropped):
    text = (folder / HERE).read_text()
    begin = text.index("  - id: mem-0001\n")
    item = text[begin : text.index("  - id:", begin + 1)]
    bare = re.sub("    (uid|key|created_at): .*\n", "", item.replace("We deploy on Fridays", "We test on Mondays"))
    bare = bare.replace("- id: mem-0001\n    ", "- ")
    copy = bare.replace("- ", "- id: mem-0001\n    ", 1) if dropped != "id" else bare
    uid = next(line for line in item.splitlines(keepends=True) if line.startswith("    uid:"))
    copy = f"{copy.rstrip()}\n{uid}\n" if dropped != "uid" else copy
    edit(folder, item, item + copy)

    engine = opened(folder)
    [told] = engine.notices()
    assert (told.code, told.message) == ("duplicate", "memory.md has mem-0001 twice; the second was not taken in.")
    assert [each.code for each in engine.check()] == ["duplicate"]
    assert engine.notices() == []
    edit(folder, copy, bare)
    assert [each.text for each in everything(engine)][-1] == "We test on Mondays"
    assert engine.notices() == []
    engine.close()
