"""History that is torn, gone, copied or left out of a merge: told for what it is, and never taken for a hand's."""

import json
import shutil
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from engines.samples import MINE, Story, everything
from engines.stores import open_files, wrong
from engines.test_crashes import CHILD
from engines.test_files_doctor import swap
from engines.test_files_format import NOW
from engram.engines.files.joining import Side

_replicas = count(1)


def opened(folder: Path, **more: object):
    """The store, with a name of its own for whatever chain begins in it."""
    return open_files(folder, f"replica{next(_replicas)}", clock=lambda: NOW, **more)


def checked(folder: Path) -> list[str]:
    engine = opened(folder)
    told = [each.message for each in engine.check()]
    engine.close()
    return told


def mended(folder: Path) -> list[str]:
    """What doctor mends, in its own words; afterwards nothing is wrong."""
    engine = opened(folder)
    done = engine.check(repair=True)
    assert wrong(done) == []
    assert engine.check() == []
    engine.close()
    return [each.message for each in done]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with three memories of which the last was forgotten, closed: four lines below the header."""
    engine = opened(tmp_path / "store")
    story = Story(engine)
    for text in ("We deploy on Fridays", "Use uv for Python", "The quagga is extinct"):
        last = story.remember(text)
    story.forget(last)
    engine.close()
    return tmp_path / "store"


def lines_of(folder: Path) -> list[bytes]:
    return (folder / "events.jsonl").read_bytes().splitlines(keepends=True)


def torn(folder: Path, at: int) -> None:
    """Cut the end of a line, and of the last one its end too."""
    lines = lines_of(folder)
    lines[at] = lines[at][:-20] + (b"\n" if at + 1 < len(lines) else b"")
    (folder / "events.jsonl").write_bytes(b"".join(lines))


def gone(folder: Path, at: int) -> None:
    lines = lines_of(folder)
    del lines[at]
    (folder / "events.jsonl").write_bytes(b"".join(lines))


def texts(engine) -> dict[str, tuple[str, bool]]:
    return {each.handle: (each.text, each.forgotten_at is None) for each in everything(engine)}


WHOLE = {
    "mem-0001": ("We deploy on Fridays", True),
    "mem-0002": ("Use uv for Python", True),
    "mem-0003": ("The quagga is extinct", False),
}


@pytest.mark.parametrize("cache", ["cache", "another"])
@pytest.mark.parametrize("damage", [torn, gone])
@pytest.mark.parametrize("at", [1, 2, 3, 4])
def test_what_a_lost_line_did_is_adopted_and_never_taken_for_a_hands(folder, damage, at, cache):
    damage(folder, at)
    engine = opened(folder, cache=folder.parent / cache)

    assert texts(engine) == WHOLE
    [adopted] = [each for each in engine.events() if each.action not in ("remember", "forget")]
    assert adopted.action == "adopted"
    [told] = engine.notices()
    assert told.message.startswith("events.jsonl has lost ")
    assert f"mem-000{min(at, 3)}" in told.message
    assert told.hint == "Put events.jsonl back from a backup, or go on without: engram doctor --fix."
    assert engine.notices() == []
    engine.close()
    assert texts(opened(folder)) == WHOLE
    assert len(lines_of(folder)) == 5 if damage is gone or at == 4 else 6  # it is adopted once


@pytest.mark.parametrize("damage", [torn, gone])
@pytest.mark.parametrize("at", [1, 4])
def test_what_is_lost_is_told_until_it_is_acknowledged_and_that_stands_in_the_trail(folder, damage, at):
    damage(folder, at)
    told = [each for each in checked(folder) if "has lost 1 event" in each]

    assert len(told) == 1
    assert not any("by hand" in each for each in checked(folder))
    assert any("History goes on without what is lost: " in each for each in mended(folder))
    assert checked(folder) == []
    last = json.loads((folder / "audit.jsonl").read_text().splitlines()[-1])
    assert (last["op"], last["actor"], last["id"]) == ("acknowledge", "doctor", None)


def test_a_torn_line_is_kept_aside_byte_for_byte_when_it_is_acknowledged(folder):
    torn(folder, 2)
    line = lines_of(folder)[2]
    mended(folder)

    [kept] = (folder / ".bak").glob("events-torn-*.jsonl")
    assert kept.read_bytes() == line
    assert kept.stat().st_mode & 0o777 == 0o600


def test_a_hand_that_edits_beside_a_lost_line_is_still_a_hand(folder):
    gone(folder, 1)
    swap(folder / "memory.md", "Use uv for Python", "Use uv for all Python")
    engine = opened(folder)

    assert [each.action for each in engine.events()][-2:] == ["adopted", "edited"]
    assert texts(engine) == WHOLE | {"mem-0002": ("Use uv for all Python", True)}
    engine.close()
    swap(folder / "memory.md", "We deploy on Fridays", "We deploy on Mondays")  # what was lost is met by now
    engine = opened(folder)
    assert [each.action for each in engine.events()][-1] == "edited"
    engine.close()


def test_where_the_trail_is_gone_too_the_chain_tells_that_something_is_lost(folder):
    gone(folder, 1)
    (folder / "audit.jsonl").unlink()
    engine = opened(folder, cache=folder.parent / "another")

    assert texts(engine) == WHOLE
    assert [each.action for each in engine.events()][-1] == "adopted"
    assert any("has lost 1 event" in each.message for each in engine.check())
    engine.close()
    mended(folder)


def test_what_follows_a_lost_end_begins_a_chain_of_its_own(folder):
    """What is lost here may be known elsewhere: two events at one place of a chain would be a fork."""
    lost = json.loads(lines_of(folder)[4])["event"]
    gone(folder, 4)
    opened(folder).close()

    adopted = json.loads(lines_of(folder)[4])["event"]
    assert (adopted["replica"], adopted["position"]) != (lost["replica"], lost["position"])


def test_a_backup_of_history_put_back_is_taken_up_again(folder):
    before = (folder / "events.jsonl").read_bytes()
    gone(folder, 2)
    opened(folder).close()
    (folder / "events.jsonl").write_bytes(before)
    engine = opened(folder)

    assert texts(engine) == WHOLE
    [told] = [each.message for each in engine.check()]
    assert "(adopted mem-0002" in told  # what stood in its place meanwhile
    engine.close()
    mended(folder)
    assert checked(folder) == []


def test_the_trail_gets_no_line_twice_when_the_last_event_is_lost(folder):
    known = (folder / "audit.jsonl").read_bytes().splitlines()
    gone(folder, 4)
    opened(folder).close()

    assert (folder / "audit.jsonl").read_bytes().splitlines()[:-1] == known


# --- copies of history ---


def two_machines(folder: Path) -> Path:
    """The store as another machine has it, which remembered something of its own."""
    other = folder.parent / "other"
    shutil.copytree(folder, other)
    engine = open_files(other, "other")
    Story(engine, name="other", start=500).remember("From there")
    engine.close()
    return other


def test_a_copy_of_history_left_by_a_sync_tool_is_joined_by_its_lines(folder):
    other = two_machines(folder)
    engine = opened(folder)
    Story(engine, start=900).remember("From here")
    engine.close()
    copy = folder / "events (conflicted copy).jsonl"
    shutil.copy(other / "events.jsonl", copy)
    copy.chmod(0o600)

    [told] = checked(folder)
    assert told == "events (conflicted copy).jsonl was left by a sync tool."
    done = mended(folder)
    assert "1 line of events (conflicted copy).jsonl went into events.jsonl; it is gone." in done
    assert "mem-0004 is mem-0005 now: another memory had that id before." in done
    engine = opened(folder)
    assert texts(engine) == WHOLE | {"mem-0004": ("From there", True), "mem-0005": ("From here", True)}
    engine.close()
    assert not copy.exists()


def test_a_lost_line_that_a_copy_has_comes_back_at_its_place(folder):
    before = (folder / "events.jsonl").read_bytes()
    gone(folder, 2)
    (folder / "events.sync-conflict-20260101.jsonl").write_bytes(before)
    (folder / "events.sync-conflict-20260101.jsonl").chmod(0o600)
    mended(folder)

    assert b"".join(lines_of(folder)[:5]) == before
    engine = opened(folder)
    assert texts(engine) == WHOLE
    engine.close()


def test_a_copy_of_a_store_that_went_on_in_two_ways_is_told_with_the_next_step_and_left(folder):
    copy, before = folder / "events (1).jsonl", folder.parent / "before"
    before.mkdir()
    for part in ("store", "cache"):
        shutil.copytree(folder.parent / part, before / part)
    history = b""
    for text in ("From here", "From here as well"):  # twice from one and the same state
        engine = opened(folder)
        Story(engine, start=900).remember(text)
        engine.close()
        if not history:
            history = (folder / "events.jsonl").read_bytes()
            for part in ("store", "cache"):
                shutil.copytree(before / part, folder.parent / part, dirs_exist_ok=True)
    copy.write_bytes(history)
    copy.chmod(0o600)

    assert_told_and_left(folder, copy, "stand at one place of the chain.")


def test_a_copy_of_history_that_was_changed_is_told_with_the_next_step_and_left(folder):
    copy, lines = folder / "events (1).jsonl", lines_of(folder)
    engine = opened(folder)
    Story(engine, start=900).remember("From here")
    engine.close()
    copy.write_bytes(b"".join(lines_of(folder)).replace(b"From here", b"From heat"))
    copy.chmod(0o600)
    (folder / "events.jsonl").write_bytes(b"".join(lines))

    assert_told_and_left(folder, copy, "was changed.")


def assert_told_and_left(folder: Path, copy: Path, reason: str) -> None:
    engine = opened(folder)
    known = texts(engine)
    [told] = [each for each in engine.check(repair=True) if each.code == "copy"]
    assert "cannot be joined: its event " in told.message
    assert told.message.endswith(reason)
    assert told.hint.endswith(f"mv '{copy}' ~/")
    assert copy.exists()
    assert texts(engine) == known
    engine.close()


def test_what_was_purged_here_does_not_come_back_with_a_copy_of_history(folder):
    assert holding(folder) >= {"memory.md", "events.jsonl"}
    shutil.copy(folder / "events.jsonl", folder.parent / "before.jsonl")
    engine = opened(folder)
    story = Story(engine, start=900)
    story.purge(next(each for each in everything(engine) if each.handle == "mem-0003"))
    engine.close()
    shutil.copy(folder.parent / "before.jsonl", folder / "events (1).jsonl")
    (folder / "events (1).jsonl").chmod(0o600)
    mended(folder)

    assert holding(folder) == set()


def holding(folder: Path) -> set[str]:
    """The files below a folder that hold the word which is purged."""
    return {each.name for each in folder.rglob("*") if each.is_file() and b"quagga" in each.read_bytes()}


def test_what_another_machine_purged_goes_here_too_when_its_history_is_joined(folder):
    other = folder.parent / "other"
    shutil.copytree(folder, other)
    assert holding(folder) >= {"memory.md", "events.jsonl"}
    engine = open_files(other, "other")
    Story(engine, name="other", start=900).purge(
        next(each for each in everything(engine, access=MINE) if each.handle == "mem-0003")
    )
    engine.close()
    shutil.copy(other / "events.jsonl", folder / "events (1).jsonl")
    (folder / "events (1).jsonl").chmod(0o600)
    mended(folder)

    assert holding(folder) == holding(folder.parent / "cache") == set()


# --- a merge that left a side out ---


def test_what_a_merge_left_out_is_told_and_comes_back_from_the_other_side(folder):
    other = two_machines(folder)
    engine = opened(folder)
    Story(engine, start=900).remember("From here")
    engine.close()
    files = {name: (other / name).read_bytes() for name in ("events.jsonl", "memory.md")}
    engine = opened(folder, merged=lambda: [Side("0123456789", files)])

    [told] = engine.check()
    assert told.message == "The merge of 01234567 left out 1 memory of the other side."
    assert wrong(engine.check(repair=True)) == []
    assert [each for each, _ in texts(engine).values()].count("From there") == 1
    assert engine.check() == []
    engine.close()


def test_what_both_sides_of_a_merge_have_or_one_has_purged_is_not_told(folder):
    other = two_machines(folder)
    files = {name: (other / name).read_bytes() for name in ("events.jsonl", "memory.md")}
    engine = opened(folder, merged=lambda: [Side("0123456789", files)])
    engine.check(repair=True)
    Story(engine, start=900).purge(next(each for each in everything(engine) if each.text == "From there"))

    assert engine.check() == []
    engine.close()


# --- the body ---


def test_what_somebody_wrote_into_the_body_is_shown_though_an_item_was_changed_in_the_same_save(folder):
    swap(folder / "memory.md", 'fact: "Use uv for Python"', 'fact: "Use uv for all Python"')
    with (folder / "memory.md").open("a") as file:
        file.write("\nmy own paragraph\n")
    engine = opened(folder)

    [page] = engine.pages()
    assert "my own paragraph" in page.before
    assert "my own paragraph" not in page.after
    assert "- Use uv for all Python" in page.before
    assert engine.pages(write=True)
    assert engine.pages() == []
    engine.close()


def test_a_remark_in_the_body_outlives_the_writes_of_another_day(folder):
    with (folder / "memory.md").open("a") as file:
        file.write("\nmy own paragraph\n")
    swap(folder / "memory.md", "# Memory\n", "# Memory\n\nabove everything\n")
    engine = opened(folder)
    swap(folder / "memory.md", "generated: 2026", "generated: 2025")
    Story(engine, start=900).remember("From here")

    text = (folder / "memory.md").read_text()
    assert "above everything" in text
    assert "my own paragraph" in text
    [page] = engine.pages()
    assert "above everything" not in page.after
    engine.close()


def test_an_old_buffer_brings_nothing_back_by_its_body(folder):
    buffer = (folder / "memory.md").read_text()
    engine = opened(folder)
    story = Story(engine, start=900)
    made = story.remember("The dodo is extinct as well")
    buffer = (folder / "memory.md").read_text()
    story.purge(made)
    (folder / "memory.md").write_text(buffer)

    assert len(everything(engine)) == 3
    assert "dodo" not in (folder / "memory.md").read_text()
    engine.close()


def test_the_lines_of_a_section_stand_in_one_order_whoever_writes_them(folder):
    engine = opened(folder)
    story = Story(engine, start=900)
    story.remember("Tabs, not spaces")
    first = next(each for each in everything(engine) if each.handle == "mem-0001")
    story.forget(first)
    story.restore(story.read(first.id))
    body = (folder / "memory.md").read_text().split("---\n")[-1]
    engine.close()
    assert [line for line in body.splitlines() if line.startswith("- ")] == [
        "- We deploy on Fridays",
        "- Use uv for Python",
        "- Tabs, not spaces",
    ]


# --- a purge that was cut short ---


@pytest.mark.parametrize("point", ["appended", "indexed", "kept aside", "registry", "log", "queue"])
def test_e10_a_purge_that_was_killed_leaves_its_words_in_no_snapshot_without_its_id(tmp_path, point):
    """A snapshot of another program may name no id: it is found by its words, as long as those are known."""
    store, acks = tmp_path / "store", tmp_path / "acks"
    engine = open_files(store, "parent")
    engine.close()
    (store / ".bak").mkdir(mode=0o700, exist_ok=True)
    (store / ".bak" / "notes.bak").write_text("The quaggarun1-00001001 purge number is 0")
    (store / ".bak" / "notes.bak").chmod(0o600)
    command = [sys.executable, CHILD, "crash", store, acks, "1", "purge", point, "1"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == -signal.SIGKILL
    open_files(store, "parent").close()

    assert "quaggarun1-00001001" in acks.read_text()
    assert not [each for each in store.rglob("*") if each.is_file() and b"quagga" in each.read_bytes()]
