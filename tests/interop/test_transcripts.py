"""Transcripts in the forms in which agents keep them: whose they are, what was said, and where to go on."""

import json
import os
import random
import shutil
import sqlite3
import time
from pathlib import Path

import pytest

from engram.errors import Invalid, Unavailable
from engram.interop.cursors import SLACK, CursorFile
from engram.interop.transcripts import Conversation, Found, find, read
from engram.interop.transcripts_turns import LONGEST_TURN

SAMPLES = Path(__file__).parent / "transcripts"
CLAUDE = SAMPLES / "claude-code/projects/-home-dev-code-acme-api/8f2c1d3a-6b0e-4b57-9c1f-2f6f3a5f7e10.jsonl"
CODEX = SAMPLES / "codex/sessions/2026/05/04/rollout-2026-05-04T10-00-00-019bce9f-0a40-79e2-8351-8818e8487fb6.jsonl"
GEMINI = SAMPLES / "gemini-cli/tmp/storefront/chats/session-2026-05-04T11-00-f7cc36c0.jsonl"


def database(tmp_path: Path, sample: str, name: str) -> Path:
    """A real database, filled by a sample."""
    path = tmp_path / name
    with sqlite3.connect(path) as one:
        one.executescript((SAMPLES / sample).read_text(encoding="utf-8"))
    one.close()
    return path


def only(path: Path | str) -> Conversation:
    (one,) = find(str(path)).conversations
    return one


def said(path: Path | str, mark: str = "") -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in read(only(path), mark).turns]


def add(path: Path, *records: object) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def claude(text: str, uuid: str = "new", **more: object) -> dict[str, object]:
    return {
        "type": "user",
        "sessionId": "s",
        "cwd": "/home/dev/code/api",
        "uuid": uuid,
        "message": {"role": "user", "content": text},
        **more,
    }


# Each harness


def test_claude_code_is_read_without_thinking_tools_side_chains_and_what_the_harness_wrote():
    one = only(CLAUDE)
    reading = read(one)

    assert one[:2] == ("claude-code", "8f2c1d3a-6b0e-4b57-9c1f-2f6f3a5f7e10")
    assert (one.folder, one.project, one.aside) == ("/home/dev/code/acme-api", "acme-api", False)
    assert [turn.text.partition("\n")[0] for turn in reading.turns] == [
        "Please add a health check. Always use pnpm in this repository, never npm.",
        "I will add the route first.",
        "We decided to keep the audit log in Postgres.",
        "Done.",
    ]
    assert reading.turns[0].message == "c0de0000-0000-4000-8000-000000000003"
    assert reading.skipped == {"injected": 4, "thinking": 1, "tool": 2, "sidechain": 1}


def test_a_sub_agent_of_claude_code_is_aside_and_says_nothing():
    one = only(CLAUDE.with_suffix("") / "subagents")

    assert one.aside
    assert read(one).turns == ()


def test_codex_is_read_from_its_history_once_and_not_from_its_events():
    one = only(CODEX)
    reading = read(one)

    assert (one.harness, one.session) == ("codex", "019bce9f-0a40-79e2-8351-8818e8487fb6")
    assert (one.folder, one.project) == ("/home/dev/code/billing", "billing")
    assert [(turn.role, turn.text, turn.message) for turn in reading.turns] == [
        ("user", "No, use Decimal instead of float for amounts.", "line:7"),
        ("assistant", "Amounts are decimals now.", "line:12"),
    ]
    assert reading.skipped == {"injected": 4, "thinking": 1, "tool": 2}


def test_codex_of_old_had_no_envelopes():
    older = SAMPLES / "codex/sessions/2025"

    assert only(older).session == "5973b6c0-94b8-487b-a530-2aeb6098ae0e"
    assert said(older) == [
        ("user", "Remember that the invoices are numbered per year."),
        ("assistant", "Noted."),
    ]


def test_a_thread_that_codex_spawned_is_aside():
    found = find(str(CODEX.parent)).conversations

    assert [one.aside for one in found] == [False, True]


def test_gemini_cli_is_read_as_it_stands_after_rewriting_and_rewinding():
    one = only(GEMINI)

    assert (one.harness, one.session) == ("gemini-cli", "f7cc36c0-980c-4914-ae79-439567272478")
    assert (one.folder, one.project) == ("/home/dev/code/storefront", "storefront")
    assert said(GEMINI) == [
        ("user", "I prefer small commits with one purpose each."),
        ("assistant", "I will split the change."),
        ("user", "We use Tailwind for the storefront."),
        ("assistant", "Understood."),
    ]
    assert read(one).skipped == {"injected": 1, "thinking": 1, "tool": 1}


def test_gemini_cli_of_old_wrote_one_document_under_a_hash():
    (folder,) = [path for path in (SAMPLES / "gemini-cli/tmp").iterdir() if len(path.name) == 64]

    assert only(folder)[4:6] == ("", "")
    assert said(folder) == [("user", "My time zone is Europe/Berlin."), ("assistant", "Thank you.")]


def test_a_sub_agent_of_gemini_cli_is_aside():
    assert [one.aside for one in find(str(GEMINI.parent)).conversations] == [False, True]


def test_opencode_is_read_from_its_tree_of_files():
    one = only(SAMPLES / "opencode")

    assert (one.harness, one.session) == ("opencode", "ses_6b2f0c1a4ffeXk3PqLw9ZtYvBn")
    assert (one.folder, one.project) == ("/home/dev/code/scheduler", "scheduler")
    assert said(SAMPLES / "opencode") == [
        ("user", "From now on, write cron times in UTC."),
        ("assistant", "Times are in UTC now."),
    ]
    assert read(one).skipped == {"injected": 1, "other": 1, "thinking": 1, "tool": 1}


def test_opencode_is_read_from_its_database_but_for_the_answer_under_way(tmp_path: Path):
    path = database(tmp_path, "opencode.sql", "opencode.db")
    main, child = find(str(path)).conversations

    assert (main.session, main.folder, main.aside, child.aside) == (
        *("ses_main", "/home/dev/code/scheduler"),
        *(False, True),
    )
    assert [turn.text for turn in read(main).turns] == [
        "We use Redis streams for the queue.",
        "The queue is a stream now.",
        "Never trim a stream without a consumer group.",
    ]


def test_an_answer_that_opencode_completes_later_is_read_later(tmp_path: Path):
    path = database(tmp_path, "opencode.sql", "opencode.db")
    before = find(str(path)).conversations[0]
    mark = read(before).mark
    with sqlite3.connect(path) as one:
        done = '{"role":"assistant","time":{"created":1777885205000,"completed":1777885206000}}'
        one.execute("UPDATE message SET data = ?, time_updated = 1777885206000 WHERE id = 'msg_4'", (done,))
        one.execute("""UPDATE part SET data = '{"type":"text","text":"I am about done."}' WHERE id = 'prt_6'""")
    one.close()
    after = find(str(path)).conversations[0]

    assert after.stamp != before.stamp
    assert [turn.text for turn in read(after, mark).turns] == ["I am about done."]


def test_what_opencode_exports_is_read_too(tmp_path: Path):
    path = tmp_path / "export.json"
    info = {"id": "ses_x", "directory": "/home/dev/code/api", "time": {"created": 1, "updated": 2}}
    message = {
        "info": {"id": "msg_1", "role": "user", "time": {"created": 1}},
        "parts": [{"type": "text", "text": "Hi"}],
    }
    path.write_text(json.dumps({"info": info, "messages": [message]}), encoding="utf-8")

    assert said(path) == [("user", "Hi")]


def test_a_tree_that_a_database_has_taken_over_is_not_told_twice(tmp_path: Path):
    shutil.copytree(SAMPLES / "opencode", tmp_path / "opencode")
    database(tmp_path / "opencode", "opencode.sql", "opencode.db")

    assert {one.path for one in find(str(tmp_path)).conversations} == {str(tmp_path / "opencode/opencode.db")}


def test_the_cursor_agent_is_read_for_what_was_asked():
    main, child = find(str(SAMPLES / "cursor")).conversations

    assert (main.harness, main.session) == ("cursor", "b7a1d0c2-52f4-4b7e-8a55-0d2f5f1c9e77")
    assert (main.folder, main.project, child.aside) == ("", "home-dev-code-mobile", True)
    assert [turn.text for turn in read(main).turns] == [
        "Always run the snapshot tests before you push.",
        "I will run them.",
    ]


def test_the_cursor_editor_is_read_from_its_database(tmp_path: Path):
    path = database(tmp_path, "cursor.sql", "state.vscdb")
    first, child, older = find(str(path)).conversations

    assert [(one.session, one.aside) for one in (first, child, older)] == [
        *(("comp-1", False), ("comp-2", True), ("comp-3", False)),
    ]
    assert [turn.text for turn in read(first).turns] == [
        "We decided to take all colours from the design tokens.",
        "All colours come from tokens.",
    ]
    assert read(first).skipped == {"thinking": 1, "tool": 1}
    assert [turn.text for turn in read(older).turns] == ["My editor is set to two spaces.", "Good."]


def test_an_answer_that_cursor_is_still_writing_is_left(tmp_path: Path):
    path = database(tmp_path, "cursor.sql", "state.vscdb")
    with sqlite3.connect(path) as one:
        one.execute("UPDATE cursorDiskKV SET value = replace(value, 'completed', 'generating')")
    one.close()

    assert [turn.role for turn in read(find(str(path)).conversations[0]).turns] == ["user"]


# Going on


def test_only_what_was_appended_is_read_the_next_time(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    shutil.copy(CLAUDE, path)
    mark = read(only(path)).mark
    assert said(path, mark) == []
    add(path, claude("And one thing more."))

    assert said(path, mark) == [("user", "And one thing more.")]


def test_reading_goes_on_behind_any_turn():
    reading = read(only(CLAUDE))

    assert len(reading.turns) > 2
    for place, turn in enumerate(reading.turns):
        assert read(only(CLAUDE), turn.mark).turns == reading.turns[place + 1 :]


def test_the_line_that_is_being_written_is_left_and_read_when_it_is_whole(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    add(path, claude("First."))
    whole = path.read_bytes()
    line = json.dumps(claude("Second.")).encode()
    path.write_bytes(whole + line[:40])
    reading = read(only(path))
    path.write_bytes(whole + line + b"\n")

    assert [turn.text for turn in reading.turns] == ["First."]
    assert said(path, reading.mark) == [("user", "Second.")]


def test_a_last_line_without_its_end_is_read_once(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    add(path, claude("First."))
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    reading = read(only(path))
    with path.open("ab") as file:
        file.write(b"\n")
    add(path, claude("Second."))

    assert [turn.text for turn in reading.turns] == ["First."]
    assert said(path, reading.mark) == [("user", "Second.")]


@pytest.mark.parametrize("change", ["cut", "replaced", "shorter"])
def test_a_file_that_is_another_one_now_is_read_from_its_start(tmp_path: Path, change: str):
    path = tmp_path / "s.jsonl"
    add(path, claude("First."), claude("Second."))
    mark = read(only(path)).mark
    if change == "cut":
        path.write_bytes(path.read_bytes()[: len(path.read_bytes()) // 2])
    elif change == "replaced":
        path.write_bytes(path.read_bytes().replace(b"Second", b"Zweite").replace(b"First.", b"Erste."))
    else:
        path.unlink()
        add(path, claude("New."))

    assert said(path, mark)[0] == ("user", {"cut": "First.", "replaced": "Erste.", "shorter": "New."}[change])


def test_a_file_that_was_moved_is_the_same_conversation(tmp_path: Path):
    first, second = tmp_path / "a.jsonl", tmp_path / "archived" / "b.jsonl"
    add(first, claude("First."))
    before, mark = only(first), read(only(first)).mark
    second.parent.mkdir()
    os.rename(first, second)

    assert only(second).session == before.session
    assert said(second, mark) == []


@pytest.mark.parametrize("mark", ["", "nonsense", "1:2", "-5:0:abc", "99999999:1:ff", "a:b:c", '["x"]'])
def test_a_mark_of_something_else_reads_from_the_start(mark: str):
    assert len(read(only(CLAUDE), mark).turns) == 4


def test_what_was_said_after_a_turn_that_was_taken_back_is_new(tmp_path: Path):
    path = tmp_path / "chats" / "session-1.jsonl"
    path.parent.mkdir()
    meta = {"sessionId": "g", "projectHash": "x", "startTime": "2026-05-04T11:00:00Z"}
    times = {"a": "2026-05-04T11:00:01Z", "b": "2026-05-04T11:00:02Z", "c": "2026-05-04T11:00:03Z"}
    rows = {id: {"id": id, "type": "user", "content": id, "timestamp": at} for id, at in times.items()}
    add(path, meta, rows["a"], rows["b"])
    mark = read(only(path)).mark
    add(path, {"$rewindTo": "b"}, rows["c"])

    assert said(path, mark) == [("user", "c")]


# Bad input


def test_a_damaged_line_costs_nobody_else_anything(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    add(path, claude("First."))
    with path.open("ab") as file:
        file.write(b'{"type":"user","message":\xff\xfe\n[1,2]\n"text"\n\n{"type":"user","message":7}\n')
    add(path, claude("Second."))
    reading = read(only(path))

    assert [turn.text for turn in reading.turns] == ["First.", "Second."]
    assert reading.skipped == {"damaged": 4}


@pytest.mark.parametrize(
    "content",
    [None, 7, {}, [], [None, 7, [], {}], [{"type": "text"}], [{"type": "text", "text": 5}], [{"type": "image"}]],
)
def test_content_without_words_says_nothing(tmp_path: Path, content: object):
    path = tmp_path / "s.jsonl"
    add(path, claude("First."), {**claude(""), "message": {"role": "user", "content": content}})

    assert said(path) == [("user", "First.")]


def test_control_characters_do_not_get_through(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    add(path, claude("\x1b[31mred\x00 \ud800half\tand\nmore"))

    assert said(path) == [("user", "[31mred half\tand\nmore")]


def test_a_message_of_enormous_length_is_passed_over(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    add(path, claude("x" * (LONGEST_TURN + 1)), claude("Second."))

    assert read(only(path)).skipped == {"pasted": 1}
    assert said(path) == [("user", "Second.")]


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("<system-reminder>\nx\n</system-reminder>\nMine.", "Mine."),
        ("Mine.\n<task-notification>\n<status>done</status>\n</task-notification>", "Mine."),
        ("If a <b> is there, use <b>bold</b> text.", "If a <b> is there, use <b>bold</b> text."),
        ("<open and never closed>\nMine.", "<open and never closed>\nMine."),
        ("<open>\nnever closed", "<open>\nnever closed"),
        (
            "<engram-memory>\nrecalled\n</engram-memory>\nMine.",
            "<engram-memory>\nrecalled\n</engram-memory>\nMine.",
        ),
    ],
)
def test_blocks_that_a_harness_wrote_are_taken_out_of_a_persons_words(tmp_path: Path, text: str, own: str):
    path = tmp_path / "s.jsonl"
    add(path, claude(text))

    assert said(path) == [("user", own)]


def test_ten_thousand_open_tags_take_no_time(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    add(path, claude("\n".join(f"<t{count}>" for count in range(10_000))))
    begun = time.process_time()

    assert len(said(path)) == 1
    assert time.process_time() - begun < 2


def test_files_that_are_no_transcripts_are_counted_in_a_folder_and_refused_alone(tmp_path: Path):
    (tmp_path / "notes.jsonl").write_text('{"a": 1}\nno json\n', encoding="utf-8")
    (tmp_path / "empty.json").write_text("", encoding="utf-8")
    (tmp_path / "other.txt").write_text("Always use tabs.", encoding="utf-8")
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\x00" + b"junk" * 300)
    found = find(str(tmp_path))

    assert (found.conversations, found.unknown) == ((), 2)
    assert len(found.problems) == 1
    assert "broken.db" in found.problems[0]
    for name in ("notes.jsonl", "empty.json", "other.txt"):
        with pytest.raises(Invalid, match="is not a transcript"):
            find(str(tmp_path / name))


JUNK = (None, 0, -1, True, "", [], {}, "x", [None], {"a": 1}, [{"type": "text"}], "\ud800", float("inf"), "ses_x")


def garbled(value: object, chance: random.Random) -> object:
    """The same value with some of its parts gone, or turned into something else."""
    if chance.random() < 0.12:
        return chance.choice(JUNK)
    if isinstance(value, dict):
        return {name: garbled(part, chance) for name, part in value.items() if chance.random() > 0.03}
    return [garbled(part, chance) for part in value] if isinstance(value, list) else value


def garble(path: Path, chance: random.Random) -> None:
    """Garble every record of a transcript in its place."""
    if path.suffix == ".db":
        with sqlite3.connect(path) as one:
            for table, column in (("message", "data"), ("part", "data"), ("cursorDiskKV", "value")):
                if one.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
                    for row, value in one.execute(f"SELECT rowid, {column} FROM {table}").fetchall():
                        other = json.dumps(garbled(json.loads(value or "null"), chance))
                        one.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (other, row))
        one.close()
    elif path.suffix in (".json", ".jsonl"):
        records = path.read_text(encoding="utf-8")
        lines = records.splitlines() if path.suffix == ".jsonl" else [records]
        path.write_text("".join(json.dumps(garbled(json.loads(line), chance)) + "\n" for line in lines))


@pytest.mark.parametrize("seed", range(12))
def test_whatever_stands_in_a_transcript_it_can_be_looked_at(tmp_path: Path, seed: int):
    chance = random.Random(seed)
    shutil.copytree(SAMPLES, tmp_path / "all")
    database(tmp_path / "all", "opencode.sql", "a.db")
    database(tmp_path / "all", "cursor.sql", "b.db")
    for path in sorted((tmp_path / "all").rglob("*.*")):
        if path.is_file():
            garble(path, chance)
    found = find(str(tmp_path / "all"))

    assert found.problems == ()
    for one in found.conversations:
        turns = read(one).turns
        assert all(turn.text.strip() and turn.role in ("user", "assistant") for turn in turns)
        assert not turns or read(one, turns[-1].mark).turns == ()


def test_a_path_that_is_not_there_is_said_so(tmp_path: Path):
    with pytest.raises(Invalid, match="is not there"):
        find(str(tmp_path / "nothing"))


def test_one_harness_alone_can_be_wanted():
    assert {one.harness for one in find(str(SAMPLES), "codex").conversations} == {"codex"}
    with pytest.raises(Invalid, match="is not a transcript of codex"):
        find(str(CLAUDE), "codex")


def test_links_and_pipes_are_not_followed(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    add(outside / "s.jsonl", claude("First."))
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "link.jsonl").symlink_to(outside / "s.jsonl")
    (inside / "folder").symlink_to(outside)
    os.mkfifo(inside / "pipe.jsonl")

    assert find(str(inside)) == Found((), 1, ())


def test_a_database_that_is_gone_meanwhile_is_said_so(tmp_path: Path):
    path = database(tmp_path, "cursor.sql", "state.vscdb")
    one = find(str(path)).conversations[0]
    path.unlink()

    with pytest.raises(Unavailable, match="cannot be read"):
        read(one)


# How far it was read


def test_a_cursor_file_knows_what_was_put_and_is_private(tmp_path: Path):
    path = tmp_path / "state" / "cursors.jsonl"
    cursors = CursorFile(str(path))
    assert cursors.get("a") is None
    cursors.put("a", "1", "x")
    cursors.put("a", "2", "y")
    cursors.put("b", "", "z")

    again = CursorFile(str(path))
    assert (again.get("a"), again.get("b"), again.get("c")) == (("2", "y"), ("", "z"), None)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_torn_line_of_a_cursor_file_is_passed_over_and_the_next_is_whole(tmp_path: Path):
    path = tmp_path / "cursors.jsonl"
    CursorFile(str(path)).put("a", "1", "x")
    with path.open("ab") as file:
        file.write(b'["b", "1"')
    CursorFile(str(path)).put("c", "1", "z")

    again = CursorFile(str(path))
    assert (again.get("a"), again.get("b"), again.get("c")) == (("1", "x"), None, ("1", "z"))


def test_a_cursor_file_does_not_grow_for_ever(tmp_path: Path):
    path = tmp_path / "cursors.jsonl"
    path.write_bytes(b'["a", "1", "x"]\n' * (SLACK + 10))
    cursors = CursorFile(str(path))

    assert cursors.get("a") == ("1", "x")
    assert path.read_bytes() == b'["a", "1", "x"]\n'
    assert sorted(os.listdir(tmp_path)) == ["cursors.jsonl"]


def test_a_cursor_file_that_cannot_be_written_says_so_and_a_link_is_not_followed(tmp_path: Path):
    (tmp_path / "target").write_text("", encoding="utf-8")
    (tmp_path / "cursors.jsonl").symlink_to(tmp_path / "target")

    with pytest.raises(Unavailable, match="cannot be written"):
        CursorFile(str(tmp_path / "cursors.jsonl")).put("a", "1", "x")
    assert (tmp_path / "target").read_text(encoding="utf-8") == ""
