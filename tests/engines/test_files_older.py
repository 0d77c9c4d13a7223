"""A text that is older than the store: an editor's buffer, another machine's file, both sides of a merge."""

import difflib
import gzip
import json
import re
import shutil
import threading
import time
from pathlib import Path

import pytest

from engines.samples import Story, change, everything, purge
from engines.stores import open_files
from engines.test_files_edits import HERE, by_handle, edit, opened, unmarked
from engines.test_files_edits import folder as folder  # noqa: PLC0414 - a fixture, used by name
from engines.test_files_format import NOW, SEED, front, items, store_of
from engram.engines.files import scribe
from engram.engines.files.mark import parse_mark, print_mark
from engram.engines.files.scribe import POINTS
from engram.model.change import Finding
from engram.model.memory import standing
from engram.model.record import replace


def reworded(engine, handle: str, text: str, **more: object) -> None:
    before = by_handle(engine)[handle]
    after = replace(before, text=text, revision=before.revision + 1, **more)
    engine.commit(change(after, was=before, batch=f"to {text}"))


def parted(engine) -> list[Finding]:
    """What a repair says of memories that came under one id; where it put their copies aside is another matter."""
    done = engine.check(repair=True)
    assert {each.code for each in done} <= {"duplicate", "copy"}
    return [each for each in done if each.code == "duplicate"]


def test_a_mark_comes_back_from_its_text_and_two_lines_of_a_merge_count_both():
    mark = {"0123abcd": 17, "ffff0000": 2}

    assert parse_mark(print_mark(mark)) == mark
    assert parse_mark("3@0123abcd 17@0123abcd 2@ffff0000 nonsense") == mark


def test_the_mark_says_how_far_history_was_and_stands_once(folder):
    engine = opened(folder)
    assert list(parse_mark(front(folder)["as_of"]).values()) == [2]
    Story(engine, start=50).remember("Use uv")

    assert list(parse_mark(front(folder)["as_of"]).values()) == [3]
    assert (folder / HERE).read_text().count("as_of:") == 1
    assert list(front(folder)) == ["schema", "generated", "as_of", "items"]
    engine.close()


def test_a_buffer_from_before_a_write_keeps_what_was_written_and_what_was_edited(folder):
    buffer = (folder / HERE).read_text()
    engine = opened(folder)
    Story(engine, start=50).remember("Use uv")
    reworded(engine, "mem-0001", "We deploy on Mondays", pinned=True)
    (folder / HERE).write_text(buffer.replace("I pay in euros", "I pay in kronor"))

    assert {each.text for each in everything(engine)} == {"We deploy on Mondays", "I pay in kronor", "Use uv"}
    assert by_handle(engine)["mem-0001"].pinned
    assert all(standing(each, NOW) != "forgotten" for each in everything(engine))
    last = engine.events(newest=True, limit=1)[0]
    assert {each.field for each in last.payload.edits} == {"text", "learned_by", "reworded_at"}
    assert last.payload.edits[0].new == "I pay in kronor"
    assert {item["fact"] for item in items(folder).values()} == {each.text for each in everything(engine)}
    assert engine.check() == []
    engine.close()


def test_an_editor_that_saves_old_buffers_while_others_write_takes_nothing_away(folder):
    engine, stop, written = opened(folder), threading.Event(), []

    def writes() -> None:
        story = Story(engine, name="writer", start=100)
        while not stop.is_set():
            written.append(story.remember(f"note {len(written)}").text)

    writer = threading.Thread(target=writes)
    writer.start()
    for n in range(6):
        text, so_far = (folder / HERE).read_text(), len(written)
        while len(written) < so_far + 2 and writer.is_alive():  # meanwhile others write
            time.sleep(0.01)
        at = text.index("confidence: ", text.index("id: mem-0002"))
        draft = folder / "buffer"
        draft.write_text(text[:at] + f"confidence: 0.{n + 10}" + text[text.index("\n", at) :])
        draft.replace(folder / HERE)
    stop.set()
    writer.join()

    kept = everything(engine)
    assert {each.text for each in kept} == {"We deploy on Fridays", "I pay in euros", *written}
    assert [each.text for each in kept if each.forgotten_at] == []
    assert len(items(folder)) == len(written) + 2 > 8
    engine.close()


@pytest.mark.parametrize("point", POINTS)
def test_an_old_buffer_saved_at_any_point_of_a_write_takes_nothing_away(folder, point):
    buffer, armed = (folder / HERE).read_text(), False

    def save(at: str) -> None:
        nonlocal armed
        if armed and at == point:
            armed = False
            (folder / "buffer").write_text(buffer)
            (folder / "buffer").chmod(0o600)
            (folder / "buffer").replace(folder / HERE)

    engine = opened(folder, trace=save)
    story = Story(engine, start=100)
    story.remember("Use uv")
    armed = True
    story.remember("Use ruff")

    assert not armed
    assert len(everything(engine)) == len(items(folder)) == 4
    assert all(each.forgotten_at is None for each in everything(engine))
    assert engine.check() == []
    engine.close()


def test_of_one_memory_changed_in_a_buffer_and_by_a_write_both_fields_are_kept(folder):
    buffer = (folder / HERE).read_text()
    engine = opened(folder)
    reworded(engine, "mem-0001", "We deploy on Mondays")
    (folder / HERE).write_text(buffer.replace("risk_tier: 2", "risk_tier: 2\n    pinned: true"))

    assert (by_handle(engine)["mem-0001"].text, by_handle(engine)["mem-0001"].pinned) == (
        "We deploy on Mondays",
        True,
    )
    engine.close()


def test_where_a_buffer_and_a_write_changed_one_field_the_hand_counts(folder):
    buffer = (folder / HERE).read_text()
    engine = opened(folder)
    reworded(engine, "mem-0001", "We deploy on Mondays")
    (folder / HERE).write_text(buffer.replace('fact: "We deploy on Fridays"', 'fact: "We deploy on Sundays"'))

    assert by_handle(engine)["mem-0001"].text == "We deploy on Sundays"
    engine.close()


def test_an_item_taken_out_of_a_buffer_is_forgotten_unless_it_moved_on_meanwhile(folder):
    buffer = (folder / HERE).read_text()
    engine = opened(folder)
    Story(engine, start=50).remember("Use uv")
    start = buffer.index("  - id: mem-0001")
    (folder / HERE).write_text(buffer[:start] + buffer[buffer.index("  - id: mem-0002") :])
    assert {h: standing(m, NOW) for h, m in by_handle(engine).items()} == {
        "mem-0001": "forgotten",
        "mem-0002": "pending",
        "mem-0003": "live",
    }
    engine.close()


def test_what_a_buffer_has_and_was_undone_or_purged_meanwhile_does_not_come_back(folder):
    engine = opened(folder)
    story = Story(engine, start=50)
    undone, purged = story.remember("Use uv"), story.remember("Falcon nine")
    buffer = (folder / HERE).read_text()
    gone = change(drops=(("memory", undone.id),), expects={undone.id: 1}, batch="undo", action="undo")
    engine.commit(gone)
    story.purge(purged)
    for text in (buffer, unmarked(buffer)):
        (folder / HERE).write_text(text)
        assert "Falcon" not in {each.text for each in everything(engine)}
        assert b"Falcon" not in b"".join(each.read_bytes() for each in folder.rglob("*") if each.is_file())
    (folder / HERE).write_text(buffer)
    assert len(everything(engine)) == 2
    engine.close()


@pytest.mark.parametrize("marked", [True, False])
def test_an_empty_list_forgets_only_where_the_text_says_what_it_knows(folder, marked):
    """Without its mark an empty text may as well be one from before everything."""
    text = (folder / HERE).read_text()
    text = text[: text.index("items:")] + "items: []\n---\n"
    (folder / HERE).write_text(text if marked else unmarked(text))
    engine = opened(folder)

    gone = [each for each in everything(engine) if each.forgotten_at]
    assert len(gone) == (2 if marked else 0)
    [told] = engine.notices()
    assert told.message == (
        "2 memories were taken out of memory.md by hand, and are forgotten."
        if marked
        else "memory.md comes from an older text: 2 memories are newer, and were kept."
    )
    assert len(items(folder)) == 2
    engine.close()


def test_what_was_taken_out_by_hand_is_told_by_a_check_until_it_is_back(folder):
    text = (folder / HERE).read_text()
    (folder / HERE).write_text(text[: text.index("  - id: mem-0001")] + text[text.index("  - id: mem-0002") :])
    engine = opened(folder)
    [note] = engine.check()

    assert (note.severity, note.hint) == ("note", "Bring back what should stay: engram undo 3.")
    assert note.message == "1 memory was taken out of memory.md by hand, and is forgotten."
    Story(engine, start=100).restore(by_handle(engine)["mem-0001"])
    assert engine.check() == []
    engine.close()


def test_a_program_that_drops_our_keys_takes_nothing_away(folder):
    """As another program of memory.v1 does: twelve keys, and no other."""
    engine = opened(folder)
    story = Story(engine, start=50)
    story.remember("Use uv", tags=("python",), summary="The tool")
    lines = (folder / HERE).read_text().splitlines(keepends=True)
    ours = ("as_of", "    uid", "    tags", "    summary", "    origin", "    created_at", "    key")
    text = "".join(line for line in lines if not line.startswith(ours))
    (folder / HERE).write_text(text.replace("confidence: 1.0", "confidence: 0.9", 1))
    kept = by_handle(engine)["mem-0003"]

    assert (kept.tags, kept.summary, kept.origin) == (("python",), "The tool", "said")
    assert by_handle(engine)["mem-0001"].key == "deploy"
    assert by_handle(engine)["mem-0001"].confidence == 0.9
    assert items(folder)["mem-0003"]["tags"] == ["python"]
    assert engine.check() == []
    engine.close()


def test_another_machines_file_over_ours_loses_nothing_of_either(folder):
    other = folder.parent / "other"
    shutil.copytree(folder, other)
    for each, text in ((folder, "From here"), (other, "From there")):
        engine = open_files(each, each.name, clock=lambda: NOW)
        Story(engine, name=each.name, start=100).remember(text)
        engine.close()
    shutil.copy(other / HERE, folder / HERE)
    engine = opened(folder)

    assert {each.text for each in everything(engine)} >= {"We deploy on Fridays", "I pay in euros", "From here"}
    assert all(each.forgotten_at is None for each in everything(engine))
    engine.check(repair=True)
    assert {each.text for each in everything(engine)} == {
        "We deploy on Fridays",
        "I pay in euros",
        "From here",
        "From there",
    }
    assert all(each.forgotten_at is None for each in everything(engine))
    assert engine.check() == []
    engine.close()


def test_their_file_with_both_histories_joined_forgets_nothing_of_ours(folder):
    """A merge that took their memory.md and the lines of both: their mark knows nothing of our lines before it."""
    other = folder.parent / "other"
    shutil.copytree(folder, other)
    for each, text in ((folder, "From here"), (other, "From there")):
        engine = open_files(each, each.name, clock=lambda: NOW)
        Story(engine, name=each.name, start=100).remember(text)
        engine.close()
    for name in ("events.jsonl", "audit.jsonl"):
        lines = (folder / name).read_text() + (other / name).read_text()
        (folder / name).write_text("".join(dict.fromkeys(lines.splitlines(keepends=True))))
    shutil.copy(other / HERE, folder / HERE)
    engine = opened(folder)

    assert sorted(each.text for each in everything(engine)) == [
        "From here",
        "From there",
        "I pay in euros",
        "We deploy on Fridays",
    ]
    assert all(each.forgotten_at is None for each in everything(engine))
    assert len(items(folder)) == 4
    assert [each.code for each in engine.check()] == ["log"]  # theirs was left behind
    engine.close()


def test_a_store_of_another_program_is_marked_by_our_first_write_and_merged_from_then_on(tmp_path):
    engine = store_of(tmp_path / "store", SEED)
    assert (tmp_path / "store" / HERE).read_text() == SEED
    buffer = SEED
    Story(engine, start=50).remember("Use uv")
    (tmp_path / "store" / HERE).write_text(buffer.replace("pnpm over npm", "uv over pip"))

    assert {each.text for each in everything(engine)} == {
        "I prefer uv over pip",
        "My legal name is Alex Rivera",
        "Use uv",
    }
    assert all(each.forgotten_at is None for each in everything(engine))
    engine.close()


# --- two sides of a merge ---

SIDES = """<<<<<<< HEAD
    fact: "We deploy on Mondays"
=======
    fact: "We deploy on Sundays"
>>>>>>> theirs
"""


def joined(folder: Path) -> tuple[Path, str, str]:
    """Two clones that each remembered something, with their histories joined line by line; and both texts."""
    other = folder.parent / "other"
    shutil.copytree(folder, other)
    for each, text, n in ((other, "From there", 100), (folder, "From here", 200)):
        engine = open_files(each, each.name, clock=lambda: NOW)
        Story(engine, name=each.name, start=n).remember(text)
        engine.close()
    for name in ("events.jsonl", "audit.jsonl"):
        lines = (folder / name).read_text() + (other / name).read_text()
        (folder / name).write_text("".join(dict.fromkeys(lines.splitlines(keepends=True))))
    return folder, (folder / HERE).read_text(), (other / HERE).read_text()


def conflicted(ours: str, theirs: str) -> str:
    """As git leaves it: common lines once, the others between marks, cut wherever lines happen to be equal."""
    left, right = ours.splitlines(keepends=True), theirs.splitlines(keepends=True)
    text = ""
    for tag, a, b, c, d in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            text += "".join(left[a:b])
        else:
            text += "<<<<<<< HEAD\n" + "".join(left[a:b]) + "=======\n" + "".join(right[c:d]) + ">>>>>>> theirs\n"
    return text


@pytest.mark.parametrize("marks", [True, False])
def test_both_sides_of_a_merge_are_taken_in_with_its_marks_or_without(folder, marks):
    folder, ours, theirs = joined(folder)
    text = conflicted(ours, theirs)
    if not marks:  # a person took them out and kept the lines of both
        text = "".join(
            line
            for line in text.splitlines(keepends=True)
            if not line.startswith(("<<<<<<<", "=======", ">>>>>>>"))
        )
    (folder / HERE).write_text(text)
    engine = opened(folder)
    [wrong] = engine.check()
    assert wrong.code == "registry"
    assert "engram doctor --fix" in wrong.hint
    notes = engine.check(repair=True)

    assert {each.severity for each in notes} == {"note"}
    assert {handle: each.text for handle, each in by_handle(engine).items()} == {
        "mem-0001": "We deploy on Fridays",
        "mem-0002": "I pay in euros",
        "mem-0003": "From there",
        "mem-0004": "From here",
    }
    assert {handle: item["fact"] for handle, item in items(folder).items()} == {
        handle: each.text for handle, each in by_handle(engine).items()
    }
    assert all(each.forgotten_at is None for each in everything(engine))
    aside = [each.read_bytes() for each in (folder / ".bak").glob("*.bak")]
    assert text in [gzip.decompress(each).decode() if each[:1] == b"\x1f" else each.decode() for each in aside]
    assert engine.check() == []
    engine.close()


def test_a_memory_that_both_sides_of_a_merge_reworded_is_told_and_history_has_both_wordings(folder):
    edit(folder, '    fact: "We deploy on Fridays"\n', SIDES)
    engine = opened(folder)
    told = [each.message for each in engine.check(repair=True)]

    assert "memory.md: the sides of the merge word mem-0001 differently; the later wording counts." in told
    assert not any("mem-0002" in each for each in told)
    assert by_handle(engine)["mem-0001"].text == "We deploy on Sundays"
    assert "We deploy on Mondays" in (folder / "events.jsonl").read_text()
    assert engine.check() == []
    engine.close()


def test_a_merge_whose_taking_in_was_cut_short_is_made_up_for(folder, monkeypatch):
    folder, ours, theirs = joined(folder)
    for name in ("events.jsonl", "audit.jsonl"):  # histories were not joined: only the texts know of the other side
        lines = (folder / name).read_text().splitlines(keepends=True)
        (folder / name).write_text("".join(line for line in lines if "other" not in line))
    (folder / HERE).write_text(conflicted(ours, theirs))
    engine = opened(folder, cache=folder.parent / "another")
    settle, times = scribe.Scribe.settle, []

    def cut_short(self, *, force: bool = False) -> None:
        times.append(force)
        if len(times) == 3:  # the first finds the marks, the second takes in our side
            raise KeyboardInterrupt
        settle(self, force=force)

    monkeypatch.setattr(scribe.Scribe, "settle", cut_short)
    with pytest.raises(KeyboardInterrupt):
        engine.check(repair=True)
    monkeypatch.undo()
    engine.close()
    engine = opened(folder)
    engine.check(repair=True)

    assert {each.text for each in everything(engine)} >= {"From here", "From there"}
    assert all(each.forgotten_at is None for each in everything(engine))
    assert engine.check() == []
    engine.close()


def test_a_side_of_a_merge_that_makes_no_sense_leaves_the_text_as_it_is(folder):
    text = edit(
        folder, '    fact: "We deploy on Fridays"\n', SIDES.replace('Mondays"', 'Mondays"\n    pinned: soon')
    )
    engine = opened(folder)

    assert [each.code for each in engine.check(repair=True)] == ["registry"]
    assert (folder / HERE).read_text() == text
    engine.close()


# --- two memories under one id ---


def test_of_two_memories_under_one_id_the_older_keeps_it_whichever_was_here(folder):
    older = SEED[SEED.index("  - id: mem-0001") : SEED.index("\n  - id: mem-0002")].replace(
        "2026-01-15", "2025-06-01"
    )
    edit(folder, "---\n\n# Memory", f"\n{older}    uid: another-machine\n---\n\n# Memory")
    engine = opened(folder)
    id = by_handle(engine)["mem-0001"].id
    [note] = parted(engine)

    assert note.message == "memory.md: mem-0001 was two memories: the newer is mem-0003 now."
    assert len({event.batch for event in engine.events()[2:]}) == 1
    assert {handle: each.text for handle, each in by_handle(engine).items()} == {
        "mem-0001": "I prefer pnpm over npm",
        "mem-0002": "I pay in euros",
        "mem-0003": "We deploy on Fridays",
    }
    assert by_handle(engine)["mem-0003"].id == id
    assert {h: item["fact"] for h, item in items(folder).items()} == {
        h: m.text for h, m in by_handle(engine).items()
    }
    assert engine.check() == []
    engine.close()
    again = opened(folder, cache=folder.parent / "another")
    assert by_handle(again)["mem-0003"].text == "We deploy on Fridays"
    assert Story(again, start=300).remember("Use uv").handle == "mem-0004"
    again.close()


def test_of_one_memory_in_two_wordings_both_are_kept_and_reported(folder):
    (folder / "memory 2.md").write_text(unmarked((folder / HERE).read_text()).replace("on Fridays", "on Tuesdays"))
    engine = opened(folder)
    [note] = parted(engine)

    assert note.message == "memory 2.md: mem-0003 is the newer form of mem-0001."
    assert {handle: each.text for handle, each in by_handle(engine).items()} == {
        "mem-0001": "We deploy on Fridays",
        "mem-0002": "I pay in euros",
        "mem-0003": "We deploy on Tuesdays",
    }
    assert engine.check() == []
    engine.close()


def test_a_copy_that_is_only_older_adds_nothing_and_one_that_moved_on_alone_is_taken_in(folder):
    text = (folder / HERE).read_text()
    engine = opened(folder)
    reworded(engine, "mem-0001", "We deploy on Mondays")
    (folder / "memory 2.md").write_text(text.replace("I pay in euros", "I pay in kronor"))
    [note] = parted(engine)

    assert note.message == "memory 2.md: mem-0002 has the newer text now."
    assert {each.text for each in everything(engine)} == {"We deploy on Mondays", "I pay in kronor"}
    engine.close()


@pytest.mark.parametrize("newer", [True, False])
def test_the_same_text_with_another_kind_is_reported_and_the_newer_counts(folder, newer):
    text = unmarked((folder / HERE).read_text())
    at = text.index("created_at: ", text.index("id: mem-0001"))
    moment = "2026-01-19" if newer else "2025-01-01"
    text = text[:at] + f"tags: [ours]\n    updated_at: {moment}T00:00:00.000000Z\n    " + text[at:]
    (folder / "memory 2.md").write_text(text)
    engine = opened(folder)
    [note] = parted(engine)

    assert note.message == (
        "memory 2.md: mem-0001 has the newer tags now."
        if newer
        else "memory 2.md: mem-0001 keeps its tags: the other was older."
    )
    assert by_handle(engine)["mem-0001"].tags == (("ours",) if newer else ())
    assert len(everything(engine)) == 2
    engine.close()


def test_a_second_copy_of_the_same_name_does_not_take_the_place_of_the_first(folder):
    text = (folder / HERE).read_text()
    for n, day in enumerate(("Mondays", "Tuesdays"), 1):
        other = text.replace("on Fridays", f"on {day}").replace("uid: ", f"uid: other{n}-")
        (folder / "memory 2.md").write_text(other)
        engine = opened(folder)
        engine.check(repair=True)
        engine.close()

    assert "on Mondays" in (folder / ".bak" / "memory 2.md").read_text()
    assert "on Tuesdays" in (folder / ".bak" / "memory 2 (2).md").read_text()


def test_where_two_copies_of_a_store_were_joined_the_log_has_each_entry_once_under_the_id_of_its_memory(folder):
    folder, _, _ = joined(folder)
    shutil.copy(folder.parent / "other" / "memory-log.md", folder / "memory-log 2.md")
    engine = opened(folder)
    engine.check(repair=True)
    told = re.findall(r"^- \[\w+\] (.*) <!-- id: (\S+)", (folder / "memory-log.md").read_text(), re.MULTILINE)

    assert len(told) == len(set(told)) == len({id for _, id in told})
    assert all(by_handle(engine)[id].text == text for text, id in told)
    assert {"mem-0003", "mem-0004"} <= {id for _, id in told}
    engine.close()


@pytest.mark.parametrize(("purged", "stays"), [("mem-0003", "mem-0004"), ("mem-0004", "mem-0003")])
def test_a_purge_of_one_that_shared_its_id_leaves_the_other_with_its_id_and_its_entry(folder, purged, stays):
    folder, _, _ = joined(folder)
    shutil.copy(folder.parent / "other" / "memory-log.md", folder / "memory-log 2.md")
    engine = opened(folder)
    engine.check(repair=True)
    gone, kept = by_handle(engine)[purged], by_handle(engine)[stays]
    engine.commit(purge(gone))

    log = (folder / "memory-log.md").read_text()
    assert gone.text not in log
    assert kept.text in log
    assert engine.check() == []
    engine.close()
    last = json.loads((folder / "audit.jsonl").read_text().splitlines()[-1])
    assert (last["op"], last["id"]) == ("purge", purged)
    again = open_files(folder, cache=folder.parent / "another cache", clock=lambda: NOW)
    assert by_handle(again)[stays].text == kept.text
    assert again.check() == []
    again.close()
