"""A store of plain files that something happened to: doctor finds it, mends what can be, and says what it did."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from engines.samples import MINE, Story, change, everything, memory
from engines.stores import open_files, wrong
from engines.test_files_format import JUNE, NOW, copied
from engram.model.record import replace

MARKED = "<<<<<<< HEAD\n{}=======\n{}>>>>>>> other\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with one memory in use and one that waits, closed."""
    engine = opened(tmp_path / "store")
    story = Story(engine)
    story.remember("We deploy on Fridays", key="deploy")
    story.remember("I pay in euros", kind="fiscal")
    engine.close()
    return tmp_path / "store"


def opened(folder: Path, **more: object):
    return open_files(folder, clock=lambda: NOW, **more)


def checked(folder: Path) -> list[str]:
    """What doctor says, and that it says it again until somebody mends it."""
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


def swap(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


# --- history ---


def test_history_that_was_tampered_with_is_found_with_the_index_in_place(folder):
    swap(folder / "events.jsonl", "We deploy on Fridays", "We deploy on Mondays")
    [told] = checked(folder)

    assert re.fullmatch(r"Event 1 \([0-9a-f]{8}\) does not fit the chain: events.jsonl was changed.", told)
    shutil.rmtree(folder.parent / "cache")
    assert told in checked(folder)


def test_what_a_line_says_beside_its_payload_is_held_against_it(folder):
    lines = (folder / "events.jsonl").read_text().splitlines()
    told = json.loads(lines[1])
    [put] = told["after"]["puts"].values()
    put["set"]["text"] = "We deploy on Mondays"
    (folder / "events.jsonl").write_text("\n".join([lines[0], json.dumps(told), *lines[2:], ""]))

    assert any("Event 1 " in each for each in checked(folder))


def test_a_history_that_was_removed_is_told_though_every_memory_is_there(folder):
    (folder / "events.jsonl").unlink()

    [told] = checked(folder)
    assert told.startswith("events.jsonl has lost 2 events: ")
    assert told.endswith(". Memories are as memory.md has them.")
    assert checked(folder) == [told]


def test_a_registry_that_was_removed_is_told_once_and_stands_in_the_trail(folder):
    (folder / "memory.md").unlink()

    engine = opened(folder)
    assert engine.check() == []
    assert [each.message for each in engine.notices()] == ["memory.md was gone; it is written again from history."]
    engine.close()
    engine = opened(folder)
    assert engine.notices() == []
    engine.close()
    last = json.loads((folder / "audit.jsonl").read_text().splitlines()[-1])
    assert (last["op"], last["id"]) == ("rewrite", None)


# --- the log ---


def test_a_log_that_was_removed_is_told_and_written_again(folder):
    before = (folder / "memory-log.md").read_text()
    (folder / "memory-log.md").unlink()

    assert checked(folder) == ["memory-log.md is gone."]
    assert mended(folder) == ["memory-log.md got what it lacked: 1 entry."]
    assert before.splitlines()[-1] in (folder / "memory-log.md").read_text()


@pytest.mark.parametrize("where", ["body", "frontmatter"])
def test_the_marks_of_a_merge_in_the_log_are_told_and_both_sides_stay(folder, where):
    log = folder / "memory-log.md"
    ours = log.read_text().splitlines(keepends=True)[-1]
    theirs = "- [fact] From there <!-- id: mem-0009 ts: 2025-06-01T00:00:00.000000Z -->\n"
    if where == "body":
        swap(log, ours, MARKED.format(ours, theirs))
    else:
        date = next(line for line in log.read_text().splitlines(keepends=True) if line.startswith("generated"))
        swap(log, date, MARKED.format(date, "generated: 2025-06-01\n"))
        log.write_text(log.read_text() + theirs)

    assert checked(folder) == ["memory-log.md has the marks of a merge."]
    assert mended(folder) == ["memory-log.md has both sides of the merge, without its marks."]
    assert log.read_text().endswith(ours + theirs)
    assert log.read_text().count("generated:") == 1
    assert "=======" not in log.read_text()


def test_the_unique_lines_of_two_logs_are_a_log_that_is_written_on_and_that_doctor_puts_right(folder):
    log = folder / "memory-log.md"
    before, theirs = log.read_text(), "- [fact] From there <!-- id: mem-0009 ts: 2026-06-01T00:00:00.000000Z -->\n"
    lines = dict.fromkeys([*before.splitlines(keepends=True), theirs])
    log.write_text("".join(lines))

    assert checked(folder) == ["memory-log.md is not as it was written: two were joined."]
    assert mended(folder) == ["memory-log.md has its head, and each entry once under the id of its memory."]
    head, ours = before.rsplit("\n- ", 1)
    assert log.read_text() == f"{head}\n{theirs}- {ours}"
    log.write_text("".join(lines))
    engine = opened(folder)
    engine.commit(change(memory("more", text="The api port is 8080"), batch="more"))
    engine.close()
    assert log.read_text().startswith(f"{head}\n- [fact] The api port is 8080 <!--")
    assert log.read_text().endswith(f"{theirs}- {ours}")


def test_what_goes_out_of_use_is_struck_out_above_its_entry(tmp_path):
    engine = opened(tmp_path / "store")
    story = Story(engine)
    forgotten, undone = story.remember("We deploy on Fridays"), story.remember("Use uv")
    story.forget(forgotten)
    drop = (("memory", undone.id),)
    engine.commit(change(drops=drop, expects={undone.id: undone.revision}, batch="undo", action="undo"))
    lines = [re.sub(r"ts: \S+", "ts: T", line) for line in log_lines(tmp_path / "store")]

    assert lines == [
        "- [fact] ~~Use uv~~ undone <!-- id: mem-0002 ts: T -->",
        "- [fact] ~~We deploy on Fridays~~ forgotten <!-- id: mem-0001 ts: T -->",
        "- [fact] Use uv <!-- id: mem-0002 ts: T -->",
        "- [fact] We deploy on Fridays <!-- id: mem-0001 ts: T -->",
    ]
    story.restore(story.read(forgotten.id))
    assert "~~" not in log_lines(tmp_path / "store")[0]
    engine.close()


@pytest.mark.parametrize(
    ("held_for", "word"), [("conflict", "held for review"), ("unmerged_branch", "undone"), ("", "undone")]
)
def test_the_log_says_of_what_waits_again_whether_a_person_has_to_look_at_it(tmp_path, held_for, word):
    engine = opened(tmp_path / "store")
    known = Story(engine).remember("Anybody releases alone")
    branch = "acme/api feature" if held_for == "unmerged_branch" else ""
    waiting = replace(known, status="pending", held_for=held_for, branch=branch, revision=known.revision + 1)
    engine.commit(change(waiting, was=known, batch="again", action="relate"))
    line = log_lines(tmp_path / "store")[0]
    engine.close()

    assert line.startswith(f"- [fact] ~~Anybody releases alone~~ {word} <!-- id: mem-0001 ")


def log_lines(folder: Path) -> list[str]:
    return [line for line in (folder / "memory-log.md").read_text().splitlines() if line.startswith("- ")]


# --- the audit trail ---


def test_a_line_of_the_trail_that_is_no_record_is_told_and_kept(folder):
    with (folder / "audit.jsonl").open("a") as file:
        file.write("{broken\n")

    assert checked(folder) == ["audit.jsonl, line 3 is not a record."]
    engine = opened(folder)
    assert [each.severity for each in engine.check(repair=True)] == ["warning"]
    assert (folder / "audit.jsonl").read_text().endswith("{broken\n")
    engine.close()


def test_the_marks_of_a_merge_in_the_trail_are_told_and_both_sides_stay(folder):
    trail = folder / "audit.jsonl"
    first, last = trail.read_text().splitlines(keepends=True)
    theirs = '{"ts": "2025-06-01T00:00:00.000000Z", "op": "promote", "id": "mem-0009"}\n'
    trail.write_text(first + MARKED.format(last, theirs))

    assert checked(folder) == ["audit.jsonl has the marks of a merge."]
    assert mended(folder) == ["audit.jsonl has both sides of the merge, without its marks."]
    assert trail.read_text() == first + last + theirs


# --- the queue ---


@pytest.mark.parametrize("damage", ["torn", "tampered"])
def test_a_queue_file_that_says_something_else_is_told_written_anew_and_kept_aside(folder, damage):
    path = folder / "queue" / "mem-0002.json"
    right = path.read_text()
    path.write_text(right[:30] if damage == "torn" else right.replace("euros", "kronor"))
    left = path.read_text()

    assert checked(folder) == ["queue/mem-0002.json does not say what waits under it."]
    assert mended(folder) == ["queue/mem-0002.json was written anew; what stood there is .bak/mem-0002.json."]
    assert path.read_text() == right
    assert (folder / ".bak" / "mem-0002.json").read_text() == left


def test_a_person_approves_what_waits_whatever_its_torn_file_says(folder):
    (folder / "queue" / "mem-0002.json").write_text('{"id": "mem-0002", "fac')
    engine = opened(folder)
    Story(engine, start=50).promote(engine.get("memory", ["mem-0002"], MINE)["mem-0002"])
    done = json.loads((folder / "queue" / "_done" / "mem-0002.json").read_text())

    assert (done["fact"], done["status"], done["dest"]) == ("I pay in euros", "promoted", "memory.md")
    engine.close()


def test_what_was_decided_and_taken_back_waits_again_and_nowhere_else(folder):
    engine = opened(folder)
    story = Story(engine, start=50)
    before = engine.get("memory", ["mem-0002"], MINE)["mem-0002"]
    story.promote(before)
    after = story.read(before.id)
    assert not (folder / "queue" / "mem-0002.json").exists()
    back = replace(before, revision=after.revision + 1)
    engine.commit(change(back, was=after, batch="undo", action="undo"))

    assert json.loads((folder / "queue" / "mem-0002.json").read_text())["status"] == "pending"
    assert not (folder / "queue" / "_done" / "mem-0002.json").exists()
    assert engine.check() == []
    engine.close()


def test_a_decision_that_history_does_not_know_is_told_and_mended(folder):
    done = folder / "queue" / "_done"
    done.mkdir(mode=0o700)
    shutil.copy(folder / "queue" / "mem-0002.json", done / "mem-0002.json")
    swap(done / "mem-0002.json", '"pending"', '"promoted"')

    assert checked(folder) == ["queue/_done/mem-0002.json tells a decision that was taken back."]
    assert mended(folder) == ["mem-0002 waits in queue/ again."]
    assert not (done / "mem-0002.json").exists()


def test_a_file_of_the_queue_that_nobody_knows_is_put_aside_and_not_lost(folder):
    (folder / "queue" / "mem-0077.json").write_text('{"id": "mem-0077", "fact": "From elsewhere"}')
    (folder / "queue" / "mem-0077.json").chmod(0o600)

    assert mended(folder) == ["queue/mem-0077.json was put aside as .bak/mem-0077.json."]
    assert "From elsewhere" in (folder / ".bak" / "mem-0077.json").read_text()


@pytest.mark.parametrize("place", ["queue", "queue/_done"])
def test_a_copy_of_a_queue_file_is_put_aside_and_not_lost(folder, place):
    (folder / place).mkdir(mode=0o700, exist_ok=True)
    name = "mem-0002 (conflicted copy).json"
    (folder / place / name).write_text("{}")
    (folder / place / name).chmod(0o600)

    assert checked(folder) == [f"{place}/{name} was left by a sync tool."]
    assert mended(folder) == [f"{place}/{name} was put aside as .bak/{name}."]
    assert (folder / ".bak" / name).read_text() == "{}"


# --- the body ---


def test_a_body_that_drifted_is_kept_aside_before_it_is_made_anew(folder):
    drifted = (folder / "memory.md").read_text() + "\nA note of mine.\n"
    (folder / "memory.md").write_text(drifted)
    [told] = mended(folder)
    kept = told.rpartition(" ")[2].rstrip(".")

    assert told.startswith("The body of memory.md was made anew; what stood there is .bak/")
    assert (folder / kept).read_text() == drifted
    last = json.loads((folder / "audit.jsonl").read_text().splitlines()[-1])
    assert (last["op"], f".bak/{last['undo_token']}.bak") == ("regenerate", kept)


def test_pages_tell_the_drift_and_write_it_only_when_asked(folder):
    right = (folder / "memory.md").read_text()
    swap(folder / "memory.md", "- We deploy on Fridays", "- We never deploy")
    engine = opened(folder)
    [page] = engine.pages()

    assert (Path(page.path).name, page.before, page.after) == (
        "memory.md",
        (folder / "memory.md").read_text(),
        right,
    )
    assert engine.pages(write=True) == [page]
    assert (folder / "memory.md").read_text() == right
    assert engine.pages() == engine.check() == []
    engine.close()


def test_a_store_of_the_june_release_is_healthy_as_it_comes(tmp_path):
    engine = open_files(copied(tmp_path, "june"), clock=lambda: JUNE)

    assert {each.severity for each in engine.check()} == {"note"}
    assert wrong(engine.check(repair=True)) == engine.check() == []
    engine.close()


# --- copies of the log ---


@pytest.mark.parametrize("more", [b"A note.\n", b"- [fact] \xff\n"])
def test_a_copy_of_the_log_keeps_everything_it_says(folder, more):
    log, copy = (folder / "memory-log.md").read_bytes(), folder / "memory-log (conflicted copy).md"
    entry = b"- [fact] From there <!-- id: mem-0009 ts: 2025-06-01T00:00:00.000000Z -->\n"
    copy.write_bytes(log + entry + more)
    [told] = mended(folder)

    assert told.startswith(f"Entries of {copy.name} went into memory-log.md; all of it is .bak/")
    assert not copy.exists()
    assert (folder / ".bak" / copy.name).read_bytes() == log + entry + more
    assert (folder / "memory-log.md").read_bytes() == log + entry


def test_items_of_a_copy_of_the_log_are_taken_in(folder):
    log, copy = (folder / "memory-log.md").read_text(), folder / "memory-log 2.md"
    copy.write_text(log.replace("---\n\n#", "items:\n  - id: mem-0009\n    fact: I like tea\n---\n\n#", 1))
    notes = mended(folder)
    engine = opened(folder)

    assert "I like tea" in {each.text for each in everything(engine)}
    assert notes[0] == f"{copy.name}: mem-0003 came with it."
    assert (folder / ".bak" / copy.name).exists()
    engine.close()


def test_a_second_copy_of_one_name_does_not_overwrite_the_first(folder):
    for n in (1, 2):
        (folder / "memory-log 2.md").write_text(f"A note, number {n}.\n")
        mended(folder)

    assert (folder / ".bak" / "memory-log 2.md").read_text() == "A note, number 1.\n"
    assert (folder / ".bak" / "memory-log 2 (2).md").read_text() == "A note, number 2.\n"


# --- erasing ---


def test_e10_a_purge_lets_go_of_the_snapshots_that_hold_it_and_of_no_other(tmp_path):
    folder = copied(tmp_path, "june")
    (folder / ".bak").mkdir(mode=0o700, exist_ok=True)
    foreign = {"0123456789ab.bak": b'{"path": "memory.md", "content": null}', "dark.bak": b"\xff\xfe\x00"}
    for name, content in foreign.items():
        (folder / ".bak" / name).write_bytes(content)
        (folder / ".bak" / name).chmod(0o600)
    engine = open_files(folder, clock=lambda: JUNE)
    story = Story(engine, start=86_400 * 150)
    made = story.remember("The quagga runs at night over the plains")
    before = {path.name for path in (folder / ".bak").iterdir()}
    story.remember("Use uv")
    done = story.purge(made)

    assert {path.name for path in (folder / ".bak").iterdir()} == before
    assert not any(b"quagga" in path.read_bytes() for path in folder.rglob("*") if path.is_file())
    assert done.traces == 0
    assert done.places == (".bak/dark.bak cannot be looked into: remove it if it may hold what was erased.",)
    engine.close()


def test_e10_a_folded_fact_in_a_snapshot_of_another_program_is_found(tmp_path):
    folder = copied(tmp_path, "june")
    (folder / ".bak").mkdir(mode=0o700, exist_ok=True)
    old = folder / ".bak" / "0123456789ab.bak"
    text = "fact: 'The deploy of the billing service goes through the\n    staging cluster first, then waits'\n"
    old.write_text(text)
    old.chmod(0o600)
    engine = open_files(folder, clock=lambda: JUNE)
    Story(engine, start=86_400 * 150).purge(engine.get("memory", ["mem-0005"], MINE)["mem-0005"])

    assert not old.exists()
    engine.close()


def test_e10_torn_lines_of_history_stay_unless_they_hold_what_was_purged(folder):
    lines = (folder / "events.jsonl").read_bytes().split(b"\n")
    kept, held = b'{"id":"half', b'{"text":"We deploy on Fridays'
    (folder / "events.jsonl").write_bytes(b"\n".join([lines[0], kept, lines[1], held, *lines[2:]]))
    engine = opened(folder)
    Story(engine, start=50).purge(engine.get("memory", ["mem-0001"], MINE)["mem-0001"])
    now = (folder / "events.jsonl").read_bytes()

    assert now.split(b"\n")[1] == kept
    assert b"Fridays" not in now
    assert len(engine.events()) == 3
    engine.close()


def test_e10_a_log_line_of_another_memory_that_only_names_the_purged_one_stays(tmp_path):
    engine = opened(tmp_path / "store")
    story = Story(engine)
    gone = story.remember("The quagga runs at night")
    story.remember("See the note (conf 1, id mem-0001) of May")
    story.remember("See <!-- id: mem-0001 ts: then --> as well")
    story.purge(gone)

    assert len(log_lines(tmp_path / "store")) == 2
    engine.close()


def test_e10_a_reason_that_says_the_same_words_is_named(tmp_path):
    engine = opened(tmp_path / "store")
    story = Story(engine)
    gone, other = story.remember("The secret falcon"), story.remember("We deploy on Fridays")
    after = replace(other, forgotten_at=NOW, revision=2)
    engine.commit(change(after, was=other, batch="b9", note={"reason": "because of The secret falcon"}))
    done = story.purge(gone)

    assert done.traces > 0
    assert done.places == (
        "The reason of event 3 says it: purge what that event is about as well (engram history).",
    )
    engine.close()


def test_e10_a_purge_reads_no_link_and_waits_for_no_pipe(tmp_path):
    engine = open_files(tmp_path / "store")
    story = Story(engine)
    gone = story.remember("The quagga runs at night")
    (tmp_path / "store" / "endless").symlink_to("/dev/zero")
    os.mkfifo(tmp_path / "store" / "pipe")

    done = story.purge(gone)

    assert (done.traces, done.places) == (0, ())
    engine.close()
