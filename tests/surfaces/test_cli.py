"""The command as a person meets it: every command's plain use, help, colour and pipes."""

import json
import os
import re
import resource
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engines.samples import change, memory
from engram import __version__
from engram.engines.sqlite import SqliteEngine
from engram.errors import TABLE, Unavailable
from engram.model.query import Space
from engram.service import OPERATIONS
from engram.surfaces.cli import EXTRA
from engram.surfaces.commands.overview import sections
from engram.surfaces.parsing import RENDERING, parameters
from engram.surfaces.render.answers import render
from engram.surfaces.render.paper import WIDEST_ROW, Paper
from engram.wiring import open as open_memory
from surfaces.driving import COMMAND, Driver, at_terminal, child, environment

DEPLOY = "We deploy on Fridays"


class TestMemories:
    def test_remember_with_the_text_alone_does_the_right_thing(self, engram: Driver):
        memory = engram.remember(DEPLOY)["memory"]

        assert memory["handle"] == "mem-0001"
        assert (memory["text"], memory["kind"], memory["scope"]) == (DEPLOY, "fact", "global")
        assert (memory["confidence"], memory["origin"], memory["owner"]) == (1.0, "said", "")
        assert (memory["status"], memory["standing"], memory["visibility"]) == ("promoted", "live", "private")

    def test_remember_lands_in_the_project_of_the_folder(self, engram: Driver):
        (engram.folder / "api" / ".git").mkdir(parents=True)
        os.chdir(engram.folder / "api")

        assert engram.remember(DEPLOY)["memory"]["scope"] == "project:api"

    def test_an_exchange_from_the_folder_above_lies_in_the_one_repository_within_it(self, engram: Driver):
        (engram.folder / "work").mkdir()
        subprocess.run(["git", "init", "-q", "child"], cwd=engram.folder / "work", check=True)
        os.chdir(engram.folder / "work")
        engram.remember(DEPLOY, "--visibility", "shared")
        done = engram("sync", "--git")

        repository = engram.folder / "work" / "child"
        assert (repository / ".engram" / "sync").is_dir()
        assert not (engram.folder / "work" / ".engram").exists()
        assert f"Hand it on: cd {repository} && git add .engram && git commit" in done.out

    def test_an_agent_is_less_sure_than_a_person(self, engram: Driver):
        engram.set(ENGRAM_AGENT="bot")

        assert engram.remember(DEPLOY)["memory"]["confidence"] == 0.6

    def test_what_is_valid_until_today_is_live_today_and_a_past_day_says_that_it_is_not(self, engram: Driver):
        today = datetime.now(UTC).date()
        yesterday = today - timedelta(days=1)

        last = engram.remember("The sale ends", "--valid-until", str(today))
        gone = engram("remember", "The fair ends", "--valid-until", str(yesterday))
        ahead = engram("remember", "The market begins", "--valid-from", "2199-01-01")
        moved = engram("revise", "mem-0001", "--valid-until", str(yesterday))

        assert last["memory"]["standing"] == "live"
        assert last["memory"]["valid_until"] == f"{today}T23:59:59.999999Z"
        assert f"It is not in use: it held until {yesterday} 23:59 UTC. Without an end: engram revise" in gone.out
        assert "It is not in use yet: it holds from 2199-01-01 00:00 UTC on." in ahead.out
        assert "It is not in use: it held until" in moved.out

    def test_emptying_a_date_is_named_where_a_word_stands_for_none(self, engram: Driver):
        engram.remember(DEPLOY)

        assert "To empty it: --clear valid_until." in engram("revise", "mem-0001", "--valid-until", "none").err
        assert "--clear" not in engram("remember", "x", "--valid-until", "none").err

    def test_as_of_a_date_is_the_end_of_that_day_and_of_today_now(self, engram: Driver):
        engram.remember(DEPLOY)
        today = datetime.now(UTC).date()

        assert DEPLOY in engram("recall", "when do we deploy", "--words", "--as-of", str(today)).out
        assert DEPLOY not in engram("recall", "deploy", "--words", "--as-of", str(today - timedelta(days=1))).out
        assert engram("recall", "deploy", "--as-of", f"{today + timedelta(days=1)}").code == 2

    def test_a_long_text_is_not_echoed_whole_and_the_way_to_all_of_it_is_told(self, engram: Driver):
        text = "The harbour has many moorings. " * 24

        saved = engram("remember", text)
        found = engram("recall", "how many moorings has the harbour", "--words")

        for done, most in ((saved, 240), (found, 400)):
            line = next(line for line in done.out.splitlines() if "moorings" in line)
            assert len(line) <= most
            assert line.endswith("…")
            assert "All of it: engram get mem-0001" in done.out
        assert engram("get", "mem-0001", "--json").json["memories"][0]["text"] == text

    def test_a_file_of_another_form_than_named_is_an_error_with_the_next_step(self, engram: Driver):
        engram.remember(DEPLOY)
        engram("export", "ours.jsonl")
        (engram.folder / "other.json").write_text('{"results": [{"memory": "Likes tea"}]}', encoding="utf-8")

        ours, other = (engram("import", name, "--form", "server-memory") for name in ("ours.jsonl", "other.json"))

        assert (ours.code, other.code) == (2, 2)
        assert "reads as server-memory" in ours.err
        assert "It looks like jsonl: leave --form out." in ours.err
        assert "Leave --form out, or name another form." in other.err

    def test_an_empty_note_of_a_vault_is_passed_over_and_an_undo_counts_what_it_took_back(self, engram: Driver):
        vault = engram.folder / "vault"
        (vault / ".obsidian").mkdir(parents=True)
        for name, text in (("Empty", ""), ("Backups", "Nightly to S3"), ("Deploys", "On Fridays")):
            (vault / f"{name}.md").write_text(text, encoding="utf-8")

        done = engram("import", str(vault))
        assert "2 held, 1 skipped" in done.out
        assert "Empty.md: the note is empty" in done.out
        assert "2 records, such as " in engram("undo").out

    @pytest.mark.parametrize(
        ("words", "told", "not_told"),
        [
            (["fetch", "mem-0001", "x", "--to", "y"], "See engram fetch --help", "Did you mean"),
            (["list", "--as-of", "2026-01-01"], "an option of engram recall and engram search", "--json"),
            (["list", "--limt", "3"], "Did you mean --limit?", "option of"),
            (["judge", "A", "supersedes", "B"], "For example: engram judge", "in quotes"),
            (["remember", "two", "words"], "Put a text of several words in quotes.", "For example"),
            (["reject", "mem-0001"], "Take it out of use: engram forget mem-0001.", "engram review"),
        ],
    )
    def test_a_hint_names_only_what_is_really_near(
        self, engram: Driver, words: list[str], told: str, not_told: str
    ):
        engram.remember(DEPLOY)
        done = engram(*words)

        assert told in done.err
        assert not_told not in done.err

    def test_what_was_captured_is_told_to_its_end_at_every_door(self, engram: Driver):
        said = "Force pushes to the main branch are allowed for everybody except the interns"
        engram("capture", "-", stdin=f"## Key learnings\n\n- {said}\n".encode())
        (engram.folder / "AGENTS.md").write_text("# Agents\n", encoding="utf-8")

        for words in (["recall", "may everybody force push to main?"], ["context"], ["list"], ["views"]):
            assert said in engram(*words).out, words

    def test_remember_says_handle_kind_scope_and_text(self, engram: Driver):
        done = engram("remember", DEPLOY, "--kind", "convention")

        assert done.code == 0
        assert done.out == f"✓ Remembered: mem-0001  convention · global\n  {DEPLOY}\n"
        assert done.err == ""

    def test_remember_takes_every_option(self, engram: Driver):
        words = "--kind gotcha --scope project:api --key deploy.day --summary Fridays --tag a --tag b"
        words += " --cite src/ci.py:3-9 --importance 8 --pinned --confidence 0.75 --visibility shared --decay 30d"
        words += " --valid-from 2026-01-01 --valid-until 2199-01-01T12:00:00Z --session s1 --source manual"
        words += " --origin said --dedupe create --token t1"
        memory = engram.remember(DEPLOY, *words.split())["memory"]

        said = (
            "kind",
            "scope",
            "key",
            "summary",
            "tags",
            "importance",
            "pinned",
            "confidence",
            "visibility",
            "decay",
        )
        assert [memory[name] for name in said] == [
            "gotcha", "project:api", "deploy.day", "Fridays", ["a", "b"], 8, True, 0.75, "shared", "30d",
        ]  # fmt: skip
        assert memory["valid_from"] == "2026-01-01T00:00:00.000000Z"
        assert memory["valid_until"] == "2199-01-01T12:00:00.000000Z"
        assert (memory["session"], memory["source"], memory["origin"]) == ("s1", "manual", "said")
        assert memory["citations"] == [
            {"kind": "file", "ref": "src/ci.py", "locator": "3-9", "pin": "", "excerpt": ""}
        ]

    def test_options_may_stand_before_and_after_the_text(self, engram: Driver):
        memory = engram("remember", "--kind", "decision", DEPLOY, "--tag", "x", "--json").json["memory"]

        assert (memory["kind"], memory["text"], memory["tags"]) == ("decision", DEPLOY, ["x"])

    def test_a_text_may_look_like_an_option_behind_two_dashes(self, engram: Driver):
        assert engram("remember", "--", "--json is an option").out.endswith("  --json is an option\n")

    @pytest.mark.parametrize("words", [["--", "--json"], ["--", "-x"], ["--kind", "fact", "--", "--yes"]], ids=str)
    def test_a_text_may_be_an_option_behind_two_dashes(self, engram: Driver, words: list[str]):
        assert engram("remember", *words).code == 0
        assert [memory["text"] for memory in engram("list", "--json").json["memories"]] == [words[-1]]

    def test_remember_reads_standard_input(self, engram: Driver):
        done = engram("remember", "-", "--json", stdin="Größe: 日本語\nzweite Zeile\n".encode())

        assert done.json["memory"]["text"] == "Größe: 日本語\nzweite Zeile"

    def test_whoever_types_the_text_at_a_terminal_is_told_that_it_is_read(self, tmp_path: Path):
        code, shown = at_terminal(tmp_path, "remember", "-", keys={"until Ctrl-D": "We use tabs\n\x04"})

        assert code == 0
        assert "Reading what you type, until Ctrl-D on a line of its own." in shown
        assert "Remembered: " in shown
        assert "Reading" not in child(tmp_path, "remember", "-", stdin=b"We use spaces").err

    def test_the_same_text_again_is_counted(self, engram: Driver):
        engram.remember(DEPLOY)
        done = engram("remember", DEPLOY)

        assert "Known already: mem-0001" in done.out
        assert "Said 2 times now" in done.out

    def test_what_saying_it_again_changes_is_told_with_how_to_take_it_back(self, engram: Driver):
        engram.remember(DEPLOY)
        done = engram(
            *("remember", DEPLOY, "--key", "deploy.day", "--tag", "infra", "--importance", "9", "--pinned"),
            *("--cite", "https://example.org/x", "--valid-until", "2030-01-01"),
        )
        told = engram("history").out.splitlines()[0]

        assert "It changed: citations, importance, key, pinned, tags, valid_until." in done.out
        assert "Take it back: engram undo 2" in done.out
        for moved in (
            *("key: none → deploy.day", "tags: none → infra", "importance: 5 → 9", "pinned: False → True"),
            *("citations: none → url https://example.org/x", "valid_until: none → 2030-01-01T23:59:59.999999Z"),
        ):
            assert moved in told
        assert "It changed" not in engram("remember", DEPLOY).out

    def test_an_agent_is_told_that_a_person_may_take_back_what_it_did(self, engram: Driver):
        engram.remember(DEPLOY)
        engram.set(ENGRAM_AGENT="bot")

        assert "A person may take it back: engram undo 2" in engram("verify", "mem-0001").out

    def test_a_revision_that_changes_nothing_says_so_and_leaves_no_event(self, engram: Driver):
        engram.remember(DEPLOY, "--importance", "7")
        done = engram("revise", "mem-0001", "--importance", "7")

        assert done.out.startswith("= Nothing to change: mem-0001")
        assert "Take it back" not in done.out
        assert len(engram("history").out.splitlines()) == 1

    def test_history_of_a_long_text_is_a_line_like_that_of_a_list(self, engram: Driver):
        engram.remember("We deploy on Fridays. " * 90)

        assert max(map(len, engram("history").out.splitlines())) <= WIDEST_ROW

    def test_what_was_rejected_or_forgotten_shows_why(self, engram: Driver):
        engram.remember("My legal name is Alex", "--kind", "identity")
        engram("reject", "mem-0001", "--reason", "not true")
        engram.remember(DEPLOY)
        engram("forget", "mem-0002", "--reason", "no longer so")

        assert "not true" in engram("get", "mem-0001").out
        assert engram("get", "mem-0002", "--json").json["reasons"].popitem()[1] == "no longer so"

    def test_a_commit_cited_like_a_file_is_told_how_it_is_cited(self, engram: Driver):
        (engram.folder / "api").mkdir()
        subprocess.run(["git", "init", "-q"], cwd=engram.folder / "api", check=True)
        os.chdir(engram.folder / "api")

        assert "commit:SHA" in engram("remember", DEPLOY, "--cite", "HEAD").err

    def test_a_curated_memory_waits_and_says_what_to_do(self, engram: Driver):
        done = engram("remember", "My legal name is Alex", "--kind", "identity")

        assert done.code == 0
        assert "Waits for review: mem-0001" in done.out
        assert "curated" in done.out
        assert "engram promote mem-0001 --confirm" in done.out

    def test_a_contradiction_waits_beside_what_it_contradicts(self, engram: Driver):
        engram.remember("The port of the database is 5432")
        done = engram("remember", "The port of the database is 5433")

        assert "it contradicts something known" in done.out
        assert "Against mem-0001: The port of the database is 5432  number: 5432 → 5433" in done.out

    def test_how_a_text_contradicts_is_said_beside_the_memory_that_it_is_true_of(self, engram: Driver):
        engram.remember("The api port is 1001")
        engram.remember("The api port is 1002")
        engram("promote", "mem-0002", "--keep")
        done = engram("remember", "The api port is 1003")

        lines = {line.split(":")[0].strip(): line.rstrip() for line in done.out.splitlines() if "Against" in line}
        assert lines.keys() == {"Against mem-0001", "Against mem-0002"}
        for number, line in zip(("1001", "1002"), (lines[name] for name in sorted(lines)), strict=True):
            assert line.endswith((f"The api port is {number}", f"number: {number} → 1003"))
        assert done.out.count("number: ") == 1

    def test_a_secret_is_taken_out_and_said_so(self, engram: Driver):
        done = engram("remember", "The key is <private>hunter2</private>, ask Kim")

        assert "Taken out before storing" in done.out
        assert "hunter2" not in done.out
        assert b"hunter2" not in engram.store.read_bytes()

    def test_get_shows_everything(self, engram: Driver):
        engram.remember(DEPLOY, "--tag", "ops", "--cite", "https://example.org/x")
        done = engram("get", "mem-0001")

        assert done.code == 0
        for word in ("mem-0001", "live", DEPLOY, "ops", "url https://example.org/x", "manual", "importance 5"):
            assert word in done.out

    def test_get_takes_several_by_handle_id_and_prefix(self, engram: Driver):
        ids = [engram.remember(f"Memory number {word}")["memory"]["id"] for word in ("one", "two", "three")]
        done = engram("get", "mem-0001", ids[1], ids[2], "--json")

        assert [one["id"] for one in done.json["memories"]] == ids

    def test_list_shows_live_ones_newest_first_in_aligned_columns(self, engram: Driver):
        engram.remember(DEPLOY, "--kind", "convention")
        engram.remember("The office is in Lisbon", "--pinned")
        engram.remember("I am Alex", "--kind", "identity")
        done = engram("list")

        assert done.out == (
            "mem-0002  fact        just now  ★ The office is in Lisbon\n"
            "mem-0001  convention  just now  We deploy on Fridays\n"
        )

    def test_list_narrows_by_kind_tag_standing_and_pin(self, engram: Driver):
        engram.remember(DEPLOY, "--kind", "convention", "--tag", "ops")
        engram.remember("The office is in Lisbon", "--pinned")
        engram.remember("I am Alex", "--kind", "identity")

        def handles(*words: str) -> list[str]:
            return [one["handle"] for one in engram("list", *words, "--json").json["memories"]]

        assert handles("--kind", "convention") == ["mem-0001"]
        assert handles("--tag", "ops") == ["mem-0001"]
        assert handles("--standing", "pending") == ["mem-0003"]
        assert handles("--standing", "pending", "--standing", "live") == ["mem-0003", "mem-0002", "mem-0001"]
        assert handles("--standing", "all") == ["mem-0003", "mem-0002", "mem-0001"]
        assert handles("--pinned") == ["mem-0002"]
        assert handles("--no-pinned") == ["mem-0001"]

    def test_list_pages_with_the_cursor_it_prints(self, engram: Driver):
        for word in ("one", "two", "three"):
            engram.remember(f"Memory number {word}")
        first = engram("list", "--limit", "2")
        cursor = re.search(r"--after (\S+)", first.out)

        assert cursor
        assert engram("list", "--limit", "2", "--after", cursor[1]).out.startswith("mem-0001")

    def test_list_looks_at_other_scopes_when_asked(self, engram: Driver):
        engram.remember(DEPLOY, "--scope", "project:other")

        assert engram("list").out.startswith("No memory matches here.")
        assert DEPLOY in engram("list", "--everywhere").out
        assert DEPLOY in engram("list", "--scope", "project:other").out

    def test_revise_changes_words_and_weight(self, engram: Driver):
        engram.remember(DEPLOY)
        done = engram("revise", "mem-0001", "--text", "We deploy on Mondays", "--importance", "9", "--json")

        assert done.json["outcome"] == "revised"
        assert done.json["memory"]["text"] == "We deploy on Mondays"
        assert done.json["memory"]["importance"] == 9

    def test_revise_reads_the_new_text_from_standard_input(self, engram: Driver):
        engram.remember(DEPLOY)
        done = engram("revise", "mem-0001", "--text", "-", "--json", stdin=b"We deploy on Mondays\n")

        assert done.json["memory"]["text"] == "We deploy on Mondays"

    def test_verify_forget_and_restore_say_what_they_did_and_how_to_take_it_back(self, engram: Driver):
        engram.remember(DEPLOY)

        assert engram("verify", "mem-0001").out == f"✓ Verified mem-0001  {DEPLOY}\n  Take it back: engram undo 2\n"
        assert engram("forget", "mem-0001", "--reason", "old").out.startswith("✓ Forgot mem-0001")
        assert "No memory matches here" in engram("list").out
        assert engram("restore", "mem-0001").out.startswith("✓ Restored mem-0001")
        assert DEPLOY in engram("list").out

    def test_several_memories_are_forgotten_by_one_command_and_brought_back_by_one_undo(self, engram: Driver):
        engram.remember(DEPLOY)
        engram.remember("The office is in Lisbon")

        assert engram("forget", "mem-0001", "mem-0002").out.count("Forgot") == 2
        assert engram("undo").code == 0
        assert len(engram("list", "--json").json["memories"]) == 2

    def test_purge_prints_a_receipt_and_leaves_no_trace(self, engram: Driver):
        engram.remember("The zanzibarite clause is secret")
        done = engram("purge", "mem-0001", "--confirm")

        assert done.code == 0
        assert "Traces left: none" in done.out
        assert "Receipt: event 2" in done.out
        raw = b"".join(path.read_bytes() for path in engram.folder.glob("store.db*"))
        assert b"zanzibarite" not in raw


class TestRecalls:
    def test_the_order_is_explained_only_where_the_percentages_are_out_of_it(self, engram: Driver):
        for text in ("The deploy is on Fridays", "The deploy of the page takes an hour", "The deploy needs a key"):
            engram.remember(text)
        with open_memory(engram.store) as memory:
            found = memory.recall("deploy", words=True)

        def told(*relevances: float) -> str:
            hits = zip(found.hits, relevances, strict=False)
            return render(found._replace(hits=tuple(hit._replace(relevance=each) for hit, each in hits)), Paper())

        why = "Ordered by score; the percentage says how relevant each is."
        assert len(found.hits) == 3
        assert why in told(1.0, 0.25, 0.41)
        assert why not in told(1.0, 0.414, 0.4141)
        assert why not in told(1.0)

    def test_another_programs_word_for_a_profile_names_the_option_here(self, engram: Driver):
        assert "engram mcp --profile NAME" in engram("profile").err

    def test_recall_finds_and_names_kind_scope_origin_age_and_relevance(self, engram: Driver):
        engram.remember(DEPLOY)
        for words in ((), ("--words",)):
            done = engram("recall", "when do we deploy?", *words)
            first, second = done.out.splitlines()

            assert first == f"1. mem-0001  {DEPLOY}"
            assert re.fullmatch(r"   fact · global · said · just now · \d+% relevant", second)

    def test_recall_explains_itself_when_asked(self, engram: Driver):
        engram.remember(DEPLOY, "--pinned", "--importance", "8")
        plain, explained = engram("recall", "deploy").out, engram("recall", "deploy", "--explain").out

        assert "why: " not in plain
        why, places, how = explained.splitlines()[2:]
        assert re.fullmatch(r"   why: (\w+ \+0\.\d\d · )+pinned ×1\.15 · importance ×1\.06", why)  # noqa: RUF001
        assert {"words", "meaning", "substance"} <= set(re.findall(r"(\w+) \+", why))
        assert re.fullmatch(r"        score \d\.\d\d · 1\. by words · 1\. by meaning · 5 tokens", places)
        assert how == "Compared by words and meaning."

    def test_recall_by_words_alone_says_so_when_it_explains(self, engram: Driver):
        engram.remember(DEPLOY)
        told = engram("recall", "deploy last week", "--words", "--explain", "--weak").out

        assert "meaning" not in told
        assert 'Compared by words alone; "last week" was read as a time.' in told

    def test_recall_of_a_time_alone_says_so_when_it_explains(self, engram: Driver):
        engram.remember(DEPLOY)
        told = engram("recall", "what happened today?", "--explain").out

        assert "100% relevant" in told
        assert 'Compared by time alone; "today" was read as a time.' in told

    def test_recall_tells_a_machine_all_it_knows(self, engram: Driver):
        engram.remember(DEPLOY)
        answer = engram("recall", "when do we deploy", "--json").json
        (hit,) = answer["hits"]

        assert list(answer) == [
            *(
                "at",
                "query",
                "hits",
                "held_back",
                "weak",
                "collapsed",
                "unsure",
                "relaxed",
                "by_meaning",
                "behind",
                "time",
            ),
            "hint",
        ]
        known = {"memory", "score", "relevance", "reasons", "tokens", "ranks", "evidence", "marks"}
        assert set(hit) == known
        assert hit["ranks"] == {"words": 1, "meaning": 1}
        assert 0 < hit["score"] <= 1
        assert 0.9 < hit["relevance"] <= 1
        assert hit["tokens"] == 5
        assert (answer["by_meaning"], answer["behind"], answer["weak"]) == (True, 0, 0)

    def test_recall_finds_what_is_said_in_other_words(self, engram: Driver):
        engram.remember("The login page times out behind the old proxy")
        engram.remember("Use pnpm instead of npm in the web project")

        assert engram("recall", "sign-in is slow").out.startswith("1. mem-0001")
        assert "Nothing is known" in engram("recall", "sign-in is slow", "--words").out

    def test_recall_declines_a_question_about_something_else_and_shows_what_came_near_on_request(
        self, engram: Driver
    ):
        engram.remember("The login page times out behind the old proxy")
        asked = "what is a good recipe for lasagne"

        assert engram("recall", asked).out.startswith(
            "Nothing relevant is known here. See what came near with --weak"
        )
        assert "1 memory came near" in engram("recall", asked, "--explain").out
        shown = engram("recall", asked, "--weak").out
        assert shown.startswith("1. mem-0001  The login page")
        assert re.search(r" \d% relevant$", shown, re.MULTILINE)

    def test_recall_counts_what_says_the_same(self, engram: Driver):
        said = "The nightly backup of the api database runs in Riga and takes about twenty minutes before a check"
        engram.remember(said)
        engram.remember(f"{said} again", "--dedupe", "create")

        assert "; 1 left out that say the same" in engram("recall", "backup", "--words", "--explain").out

    def test_recall_as_of_a_moment_tells_what_was_known_then(self, engram: Driver):
        engram.remember(DEPLOY)
        then = engram("list", "--json").json["at"]
        engram("revise", "mem-0001", "--text", "We deploy on Mondays")

        assert "Fridays" in engram("recall", "deploy", "--words", "--as-of", then).out
        assert "Mondays" in engram("recall", "deploy", "--words").out
        assert "Nothing is known" in engram("recall", "deploy", "--words", "--as-of", "2020-01-01").out

    def test_recall_says_when_nothing_is_known(self, engram: Driver):
        done = engram.made()("recall", "quantum")

        assert done.code == 0
        assert done.out.startswith("Nothing is known about that here.")

    def test_recall_counts_what_is_held_back(self, engram: Driver):
        engram.remember("I am called Alex", "--kind", "identity")

        assert "Held back: 1 pending. Decide what is pending: engram review." in engram("recall", "called Alex").out

    def test_context_fits_its_budget(self, engram: Driver):
        engram.remember(DEPLOY, "--pinned")
        done = engram("context", "--budget", "200", "--query", "deploy", "--json")

        assert DEPLOY in done.json["text"]
        assert done.json["tokens"] <= done.json["budget"] == 200

    def test_a_context_that_nothing_fits_says_how_much_there_is(self, engram: Driver):
        engram.remember(DEPLOY)
        engram.remember("The office is in Lisbon")
        told = engram("context", "--budget", "50").out

        assert told.splitlines()[0] == "Nothing to begin with: 2 memories, and none fits 50 tokens."

    def test_context_of_an_empty_store_says_so(self, engram: Driver):
        assert engram.made()("context").out == "Nothing to begin with: no live memory fits here.\n"


class TestModels:
    def test_models_says_of_one_that_was_chosen_and_is_not_here_how_to_get_it(self, engram: Driver):
        engram.made().set(ENGRAM_EMBEDDER="bge-micro-v2")
        lines = engram("models").out.splitlines()

        assert lines[-3].startswith("Chosen, and not here: bge-micro-v2/int8/")
        assert lines[-1] == "Get the model: engram models install bge-micro-v2. Until then recall goes by words."

    def test_models_shows_what_there_is_what_is_in_use_and_how_far_the_store_is(self, engram: Driver):
        engram.remember(DEPLOY)
        lines = engram("models").out.splitlines()

        assert lines[0].split() == ["model", "state", "dimensions", "size", "licence"]
        (default,) = [line for line in lines if line.endswith("default")]
        assert re.fullmatch(r"snowflake-arctic-embed-s +ready +384 +35 MB +Apache-2.0 +default", default)
        assert lines[-2].startswith("In use: snowflake-arctic-embed-s/int8/")
        assert lines[-1] == "Vectors in the store: none yet"
        engram("reembed")
        assert (
            engram("models").out.splitlines()[-1].startswith("Vectors in the store: snowflake-arctic-embed-s/int8/")
        )

    def test_what_lacks_a_vector_is_counted_with_the_command_that_makes_it(self, engram: Driver):
        engram.remember(DEPLOY)
        engram("reembed")
        engram.remember("The office is in Lisbon")
        told = engram("models").out

        assert ", 1 memory lacks one\n" in told
        assert told.endswith("Make the missing vectors: engram reembed.\n")

    def test_a_model_that_is_coming_is_told_apart_from_the_one_in_the_store(self, engram: Driver):
        engram.remember(DEPLOY)
        engram("reembed")
        engine = SqliteEngine(engram.store, new_replica=lambda: "replica")
        engine.put_vectors(Space("newer", 8), [])
        engine.close()
        told = engram("models").out.splitlines()

        assert told[-3].startswith("Vectors in the store: snowflake-arctic-embed-s/int8/")
        assert "lack" not in told[-3]
        assert told[-2] == "On its way: newer, 1 memory lacks one"

    def test_reembed_prints_its_answer_and_nothing_else(self, engram: Driver, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("engram.surfaces.progress.PATIENCE", 0)  # or quick work would have no bar anyway
        for word in ("one", "two", "three"):
            engram.remember(f"Memory number {word}")
        done = engram("reembed")

        assert re.fullmatch(r"✓ 3 memories got a vector of snowflake-arctic-embed-s/int8/\w+\.\n", done.out)
        assert done.err == ""
        again = engram("reembed", "--json")
        assert (again.json["memories"], again.json["remaining"], again.err) == (0, 0, "")

    def test_another_model_is_refused_with_the_command_and_words_go_on(self, engram: Driver):
        engram.remember(DEPLOY)
        engram("reembed")
        engram.set(ENGRAM_EMBEDDER="bge-micro-v2")
        done = engram("recall", "deploy", "--json")

        assert done.code == 5
        assert done.error["code"] == "conflict"
        assert "bge-micro-v2" in done.error["message"]
        assert "`engram reembed`" in done.error["hint"]
        assert DEPLOY in engram("recall", "deploy", "--words").out
        assert DEPLOY in engram("list").out
        assert DEPLOY in engram("context").out
        assert engram("remember", "The office is in Lisbon").code == 0

    def test_without_a_model_words_are_enough(self, engram: Driver):
        engram.set(ENGRAM_EMBEDDER="none")
        engram.remember(DEPLOY)

        assert engram("recall", "deploy", "--explain").out.endswith("Compared by words alone.\n")
        assert "In use: none, words alone" in engram("models").out
        refused = engram("reembed")
        assert (refused.code, refused.out) == (2, "")
        assert "There is no embedder" in refused.err

    def test_an_endpoint_that_cannot_be_reached_leaves_words_and_its_reason(self, engram: Driver):
        engram.set(
            ENGRAM_EMBEDDER="endpoint",
            ENGRAM_EMBEDDER_URL="http://127.0.0.1:9/v1",
            ENGRAM_EMBEDDER_MODEL="m",
            ENGRAM_EMBEDDER_DIM="4",
        )
        engram.remember(DEPLOY)
        done = engram("recall", "deploy")

        assert done.code == 0
        assert done.out.startswith(f"1. mem-0001  {DEPLOY}\n")
        assert "http://127.0.0.1:9/v1/embeddings cannot be reached" in done.out
        assert engram("reembed").code == 7
        assert engram("list").code == 0
        assert engram("doctor").code == 0


class TestReviews:
    def test_review_lists_what_waits_away_from_a_terminal(self, engram: Driver):
        engram.remember("I am Alex", "--kind", "identity")
        done = engram("review")

        assert "mem-0001" in done.out
        assert "Why it waits: this kind is curated" in done.out
        assert engram("review", "--list").out == done.out

    def test_review_of_nothing_says_so(self, engram: Driver):
        assert engram.made()("review").out == "Nothing waits for review.\n"

    def test_review_refuses_a_limit_that_would_hide_what_waits(self, engram: Driver):
        engram.remember("I am Alex", "--kind", "identity")

        assert engram("review", "--limit", "0").code == 2

    def test_promote_and_reject_decide(self, engram: Driver):
        engram.remember("I am Alex", "--kind", "identity")
        engram.remember("I am Kim", "--kind", "identity", "--dedupe", "create")

        assert engram("promote", "mem-0001", "--confirm").out.startswith("✓ Promoted mem-0001")
        assert engram("reject", "mem-0002", "--reason", "not me").out.startswith("✓ Rejected mem-0002")
        assert "not me" in engram("history", "mem-0002").out

    def test_promote_merges_into_another(self, engram: Driver):
        engram.remember("The port of the database is 5432")
        engram.remember("The port of the database is 5433")
        done = engram("promote", "mem-0002", "--into", "mem-0001", "--text", "The ports are 5432 and 5433")

        assert done.code == 0
        assert "The ports are 5432 and 5433" in engram("get", "mem-0001").out
        assert done.out.splitlines()[:2] == [
            "✓ Merged mem-0002 into mem-0001  The ports are 5432 and 5433",
            "  It said: The port of the database is 5432",
        ]

    def test_a_merge_that_keeps_the_words_tells_of_no_others(self, engram: Driver):
        engram.remember("The port of the database is 5432")
        engram.remember("The port of the database is 5433")
        words = ("--into", "mem-0001", "--text", "The port of the database is 5432")
        done = engram("promote", "mem-0002", *words)

        assert done.out.startswith("✓ Merged mem-0002 into mem-0001  The port of the database is 5432\n")
        assert "It said" not in done.out

    def test_what_is_kept_beside_the_promoted_is_said(self, engram: Driver):
        engram.remember("The port of the database is 5432")
        engram.remember("The port of the database is 5433")
        done = engram("promote", "mem-0002", "--keep")

        assert done.out.splitlines()[:2] == [
            "✓ Promoted mem-0002  The port of the database is 5433",
            "  It stays in use beside it: mem-0001  The port of the database is 5432",
        ]
        assert done.code == 0


class TestHistory:
    def test_history_tells_newest_first(self, engram: Driver):
        engram.remember(DEPLOY)
        engram("forget", "mem-0001", "--reason", "moved")
        lines = engram("history").out.splitlines()

        assert [line.split()[0] for line in lines] == ["2", "1"]
        assert "forget" in lines[0]
        assert "moved" in lines[0]
        assert DEPLOY in lines[1]

    def test_history_tells_what_a_revision_changed(self, engram: Driver):
        engram.remember(DEPLOY)
        engram("revise", "mem-0001", "--importance", "8", "--pinned")

        told = engram("history").out.splitlines()[0]
        assert "importance: 5 → 8" in told
        assert "pinned: False → True" in told

    def test_history_of_nothing_says_so(self, engram: Driver):
        assert engram.made()("history").out == "Nothing has happened yet.\n"

    def test_history_pages(self, engram: Driver):
        for word in ("one", "two", "three"):
            engram.remember(f"Memory number {word}")

        assert "There is more: add --before 2" in engram("history", "--limit", "2").out
        assert engram("history", "--before", "2").out.startswith("1 ")

    def test_undo_takes_back_and_can_be_undone(self, engram: Driver):
        engram.remember(DEPLOY)
        engram("forget", "mem-0001")
        undone = engram("undo")

        assert "Took back forget" in undone.out
        assert "mem-0001 is live" in undone.out
        assert engram("undo", "3").code == 0
        assert "No memory matches here" in engram("list").out

    def test_undo_takes_back_several(self, engram: Driver):
        for word in ("one", "two", "three"):
            engram.remember(f"Memory number {word}")

        assert engram("undo", "--last", "2").out.count("Took back") == 2
        assert [one["handle"] for one in engram("list", "--json").json["memories"]] == ["mem-0001"]


class TestUpkeep:
    def test_stats_count(self, engram: Driver):
        engram.remember(DEPLOY)
        engram.remember("I am Alex", "--kind", "identity")
        done = engram("stats")

        assert done.out.startswith(f"2 memories in {engram.store}, 2 events\n")
        assert "by standing  1 live, 1 pending" in done.out

    def test_doctor_finds_a_healthy_store_healthy(self, engram: Driver):
        engram.remember(DEPLOY)
        done = engram("doctor")

        assert done.code == 0
        assert "✓ Healthy" in done.out
        assert "sqlite 3." in done.out

    def test_doctor_mends_a_loose_mode(self, engram: Driver):
        engram.remember(DEPLOY)
        engram.store.chmod(0o644)

        assert engram("doctor").code == 8
        assert engram("doctor", "--fix").code == 0
        assert engram.store.stat().st_mode & 0o777 == 0o600

    def test_kinds_shows_the_table(self, engram: Driver):
        lines = engram("kinds").out.splitlines()

        assert lines[0].split() == ["kind", "goes", "live", "fresh", "for", "recalled"]
        assert any(line.startswith("identity") and "when a person confirms" in line for line in lines)

    def test_a_store_may_be_named_before_a_command_of_two_words(self, engram: Driver):
        engram("--store", str(engram.folder / "other.db"), "session", "begin", "s-1")

        told = engram("--store", str(engram.folder / "other.db"), "--json", "session", "list", "--everywhere")
        assert [each["id"] for each in told.json["sessions"]] == ["s-1"]

    def test_what_is_taken_in_from_standard_input_is_called_so(self, engram: Driver):
        assert engram("import", "-", stdin=b"nonsense").err.startswith("engram: standard input is of no form")
        told = engram("import", "-", "--dry-run", stdin=b'[{"text": "We deploy on Fridays"}]').out
        assert told.startswith("✓ Would take in standard input (plain): 1 held")

    def test_a_dry_run_shows_a_long_text_in_a_row_as_list_does(self, engram: Driver):
        (engram.folder / "long.json").write_text(json.dumps([{"text": "We deploy on Fridays. " * 90}]))

        lines = engram("import", "long.json", "--dry-run").out.splitlines()
        assert max(map(len, lines)) <= WIDEST_ROW
        assert lines[1].endswith("…")

    def test_a_backup_is_no_file_to_take_in(self, engram: Driver):
        engram.remember(DEPLOY)
        engram("backup", "create", "whole.zip")
        refused = engram("import", "whole.zip")

        assert refused.code == 2
        assert "whole.zip is a backup of a whole store" in refused.err
        assert "engram backup restore whole.zip" in refused.err

    def test_what_is_exported_can_be_taken_in_elsewhere_and_taken_back(self, engram: Driver):
        engram.remember(DEPLOY)
        done = engram("export", "all.jsonl", "--json")
        elsewhere = ("--store", str(engram.folder / "other.db"))

        assert done.json["memories"] == 1
        assert (engram.folder / "all.jsonl").stat().st_mode & 0o777 == 0o600
        told = engram("import", "all.jsonl", "--dry-run", *elsewhere).out
        assert "Would take in all.jsonl (jsonl): 1 held" in told
        assert engram("import", "all.jsonl", "--json", *elsewhere).json["outcomes"] == {"held": 1}
        assert engram("undo", *elsewhere).code == 0
        assert engram("import", "all.jsonl", "--trust", "--json", *elsewhere).json["outcomes"] == {"new": 1}
        assert DEPLOY in engram("list", *elsewhere).out

    def test_the_way_back_that_an_import_prints_works(self, engram: Driver):
        engram.remember(DEPLOY)
        engram("export", "all.jsonl")
        elsewhere = ("--store", str(engram.folder / "other.db"))
        told = re.search(r"engram undo (\S+)", engram("import", "all.jsonl", "--trust", *elsewhere).out)

        assert told
        assert engram("undo", told[1], *elsewhere).code == 0

    def test_an_import_of_what_waits_says_who_decides(self, engram: Driver):
        (engram.folder / "notes.md").write_text("- We deploy on Fridays\n")

        assert "engram review" not in engram("import", "notes.md", "--dry-run").out
        assert "Decide about what waits: engram review." in engram("import", "notes.md").out
        assert "engram review" not in engram("import", "notes.md", "--trust", "--store", "other.db").out

    def test_an_import_that_changed_nothing_offers_no_way_back(self, engram: Driver):
        engram.remember(DEPLOY)
        engram("export", "all.jsonl")

        told = engram("import", "all.jsonl").out

        assert told.startswith("= Nothing is new in all.jsonl (jsonl): 1 known\n")
        assert "engram undo" not in told

    def test_an_import_of_what_is_known_or_skipped_says_that_nothing_is_new(self, engram: Driver):
        (engram.folder / "graph.jsonl").write_text(
            '{"type":"entity","name":"Ana","entityType":"person","observations":["Leads the team"]}\n'
            '{"type":"relation","from":"Ana","to":"Ben","relationType":"manages"}\n'
        )
        first, again = (engram("import", "graph.jsonl").out for _ in range(2))

        assert first.startswith("✓ Took in graph.jsonl (server-memory): 3 held, 1 skipped\n")
        assert "problems     1 It relates to something that is not there: …\n" in first
        assert again.startswith("= Nothing is new in graph.jsonl (server-memory): 3 known, 1 skipped\n")
        assert 'not there: "Ben"' in again

    def test_an_import_in_the_wrong_form_says_that_nothing_was_read(self, engram: Driver):
        (engram.folder / "graph.jsonl").write_text('{"type":"entity","name":"Ana","entityType":"person"}\n')
        told = engram("import", "graph.jsonl", "--form", "chatgpt").out

        assert "✓" not in told
        assert "Nothing in it reads as that form" in told

    def test_the_help_of_a_word_that_begins_several_commands_lists_them(self, engram: Driver):
        done = engram("backup", "--help")

        assert done.code == 0
        assert [line.split()[2] for line in done.out.splitlines()] == ["create", "verify", "restore"]

    def test_export_prints_on_request_and_nothing_else(self, engram: Driver):
        engram.remember(DEPLOY)
        lines = [json.loads(line) for line in engram("export", "-").out.splitlines()]

        assert len(lines) == 3
        assert DEPLOY in json.dumps(lines[1])


class TestSettings:
    def test_config_shows_value_and_origin(self, engram: Driver):
        engram.set(ENGRAM_AUTOPROMOTE="off")
        folder = engram.folder / "config" / "engram"
        folder.mkdir(parents=True)
        (folder / "engram.toml").write_text("budget = 900\n")
        shown = engram("config", "--json").json

        assert shown["autopromote"] == {"value": False, "origin": "ENGRAM_AUTOPROMOTE"}
        assert shown["budget"] == {"value": 900, "origin": str(folder / "engram.toml")}
        assert shown["review_all"] == {"value": False, "origin": "default"}
        told = engram("config").out
        assert re.search(r"^autopromote +off +ENGRAM_AUTOPROMOTE ", told, re.MULTILINE)
        assert f"Your file: {folder / 'engram.toml'}" in told
        assert "New memories land in: global" in told

    @pytest.mark.parametrize(
        ("variable", "address", "shown"),
        [
            ("ENGRAM_STORE", "postgres://server:hush@10.0.0.1/engram", "postgres://10.0.0.1/engram"),
            ("ENGRAM_STORE", "postgres://server:a?hush@10.0.0.1/engram", "postgres://10.0.0.1/engram"),
            ("ENGRAM_STORE", "postgres:///engram?host=/run&password=a/b@hush", "postgres:///engram"),
            ("ENGRAM_INDEX", "qdrants://hush@10.0.0.2:6333?api_key=hush", "qdrants://10.0.0.2:6333"),
            ("ENGRAM_EMBEDDER_URL", "https://me:hush@10.0.0.3/v1", "https://10.0.0.3/v1"),
        ],
    )
    def test_config_shows_no_password(self, engram: Driver, variable: str, address: str, shown: str):
        engram.set(**{variable: address})
        told, rows = engram("config").out, engram("config", "--json")

        assert "hush" not in told + rows.out
        assert f" {shown} " in told
        assert rows.json[variable.removeprefix("ENGRAM_").lower()] == {"value": shown, "origin": variable}

    def test_config_names_the_default_store(self, engram: Driver):
        engram.set(ENGRAM_STORE="")

        assert str(engram.folder / "data" / "engram" / "engram.db") in engram("config").out

    def test_config_takes_nothing_else(self, engram: Driver):
        assert engram("config", "set").code == 2

    def test_the_version_is_one_line(self, engram: Driver):
        for word in ("--version", "-V", "version"):
            assert engram(word).out == f"engram {__version__}\n"
            assert engram(word, "--json").json == {"version": __version__}

    def test_what_is_known_already_is_not_said_to_be_taken_in(self, engram: Driver):
        engram.remember(DEPLOY)
        assert engram("export", "out.jsonl").code == 0

        assert engram("import", "out.jsonl").out.startswith("= Nothing is new in out.jsonl (jsonl): 1 known\n")

    def test_a_folder_without_transcripts_is_told_so(self, engram: Driver):
        (engram.folder / "talks").mkdir()
        assert engram("harvest", "talks").out == "· No transcript was found.\n"

        (engram.folder / "talks" / "notes.jsonl").write_text("[]\n")
        said = "· No transcript was found; 1 file of another form passed over.\n"
        assert engram("harvest", "talks").out == said

    @pytest.mark.parametrize("command", ["export", "rescue"])
    def test_what_is_written_to_standard_output_is_followed_by_no_answer(self, engram: Driver, command: str):
        engram.remember(DEPLOY)
        plain, told = engram(command, "-"), engram(command, "-", "--json")

        assert told.out.splitlines()[1] == plain.out.splitlines()[1]
        assert [next(iter(json.loads(line))) for line in told.out.splitlines()] == ["format", "memory", "footer"]


class TestDemo:
    def test_the_tour_runs_through_and_leaves_nothing_behind(self, engram: Driver):
        told = engram("demo", "--json").json

        assert told["commands"] > 10
        assert not engram.store.exists()

    def test_the_tour_takes_nothing(self, engram: Driver):
        assert engram("demo", "fast").code == 2

    def test_the_tour_waits_for_whoever_looks_on_and_ends_when_told(self, tmp_path: Path):
        code, shown = at_terminal(
            tmp_path, "demo", keys={"Enter goes on": "\n", "q ends": "", "Enter": "q\n"}, CI=""
        )

        assert code == 0
        assert "Contradictions wait, too." in shown
        assert "Approve them." not in shown
        assert "That was a throw-away store" in shown

    def test_the_tour_waits_for_nobody_in_ci(self, tmp_path: Path):
        code, shown = at_terminal(tmp_path, "demo", CI="true")

        assert code == 0
        assert "Enter goes on" not in shown
        assert "What an agent would read" in shown


class TestHelp:
    @pytest.mark.parametrize("words", [("--help",), ("-h",), ("help",)], ids=str)
    def test_help_names_every_command_with_its_sentence(self, engram: Driver, words: tuple[str, ...]):
        done = engram(*words)

        assert done.code == 0
        for operation in OPERATIONS.values():
            assert re.search(rf"^  {operation.command} +{re.escape(operation.summary)}$", done.out, re.MULTILINE)
        assert "config" in done.out
        assert "completion" in done.out
        assert "Exit codes: 0 done" in done.out

    def test_help_begins_with_what_a_newcomer_needs(self, engram: Driver):
        commands = [
            line.split()[0] for line in engram("--help").out.partition("Remember and find:\n")[2].splitlines()[:2]
        ]

        assert commands == ["remember", "recall"]

    def test_on_a_terminal_a_command_takes_one_line_of_help(self, tmp_path: Path):
        code, shown = at_terminal(tmp_path, "--help", columns=80)
        commands = [line for line in shown.splitlines() if line.startswith("  ")]

        assert code == 0
        assert len(commands) > len(OPERATIONS)
        assert max(map(len, commands)) <= 80

    @pytest.mark.parametrize("words", [("--help",), ("kinds",), ("recall", "--help"), ("list",)], ids=str)
    def test_a_narrow_terminal_gets_prose_in_lines_of_whole_words(self, tmp_path: Path, words: tuple[str, ...]):
        child(tmp_path, "remember", "The API listens on port 8080, and the page beside it on port 8081")
        _, shown = at_terminal(tmp_path, *words, columns=48)
        shown = re.sub(r"\x1b\[\d*m", "", shown)
        prose = [line for line in shown.splitlines() if not line.startswith("  engram ")]  # an example stays whole

        assert max(map(len, prose)) <= 48

    def test_help_tells_every_exit_code(self, engram: Driver):
        told = engram("--help").out.partition("Exit codes: ")[2]

        for code in (0, 1, *(each.exit_code for each in TABLE), 11, 130):
            assert re.search(rf"\b{code} \w", told)

    def test_a_hundred_columns_cut_no_sentence_of_help(self, tmp_path: Path):
        code, shown = at_terminal(tmp_path, "--help", columns=100)

        assert (code, "Usage: engram" in shown, "…" in shown) == (0, True, False)

    def test_help_asked_for_as_json_is_help(self, engram: Driver):
        assert engram("--help", "--json").out == engram("--help").out

    def test_a_store_without_a_command_is_told_what_is_missing(self, engram: Driver):
        done = engram("--store", "notes.db")

        assert done.code == 2
        assert "needs a path and a command" in done.err

    def test_config_asks_about_a_variable_that_is_nearly_a_setting(self, engram: Driver):
        engram.set(ENGRAM_STROE="elsewhere.db")

        assert "Did you mean ENGRAM_STORE?" in engram("config").out

    def test_help_tells_what_a_number_is_unless_it_is_said(self, engram: Driver):
        assert "--limit N           How many at most. Default: 5.\n" in engram("recall", "--help").out
        assert "The most tokens it may take; 0 means the configured budget.\n" in engram("context", "--help").out

    def test_every_operation_stands_in_one_section_of_help(self):
        told = [each.name for _, operations in sections() for each in operations]

        assert sorted(told) == sorted(OPERATIONS)

    @pytest.mark.parametrize("name", OPERATIONS)
    def test_help_of_a_command_shows_an_example_and_the_prose_of_every_parameter(self, engram: Driver, name: str):
        done = engram(*OPERATIONS[name].command.split(), "--help")
        told = " ".join(done.out.split())

        assert done.code == 0
        assert OPERATIONS[name].summary in told
        for example in OPERATIONS[name].examples:
            assert " ".join(example.split()) in told
        for each in parameters(OPERATIONS[name]):
            assert each.about
            assert " ".join(each.about.split()) in told
        for _, about in RENDERING.get(name, ()):
            assert about in told
        assert "--json" in told
        assert "--store PATH" in told
        assert engram("help", *OPERATIONS[name].command.split()).out == done.out

    @pytest.mark.parametrize("name", ["config", "completion"])
    def test_help_of_the_other_commands_shows_an_example(self, engram: Driver, name: str):
        done = engram(name, "--help")

        assert done.code == 0
        assert re.search(r"^Examples?:$", done.out, re.MULTILINE)

    @pytest.mark.parametrize("name", EXTRA)
    def test_help_of_the_other_commands_is_folded_to_the_terminal_and_loses_no_word(
        self, engram: Driver, name: str
    ):
        wide = engram(name, "--help").out
        engram.set(COLUMNS="60")
        narrow = engram(name, "--help").out

        assert narrow.split() == wide.split()
        commands = [line for line in wide.splitlines() if line.startswith("  ") and "engram" in line]
        assert all(len(line) < 60 for line in narrow.splitlines() if line not in commands)
        engram.set(COLUMNS="200")
        assert engram(name, "--help").out == wide

    @pytest.mark.parametrize("name", OPERATIONS)
    def test_the_examples_in_help_are_understood(self, name: str):
        import shlex

        from engram.surfaces.parsing import parse

        for example in OPERATIONS[name].examples:
            words = shlex.split(example.split("|")[-1] if "| engram" in example else example.split(" | ")[0])
            said = OPERATIONS[name].command.split()
            assert words[: len(said) + 1] == ["engram", *said]
            parse(OPERATIONS[name], words[len(said) + 1 :])


class TestTerminal:
    def test_there_is_no_colour_away_from_a_terminal(self, tmp_path: Path):
        done = child(tmp_path, "remember", DEPLOY)

        assert done.code == 0
        assert "\x1b" not in done.out

    def test_there_is_colour_on_a_terminal(self, tmp_path: Path):
        code, shown = at_terminal(tmp_path, "remember", DEPLOY)

        assert code == 0
        assert "\x1b[32m✓\x1b[0m Remembered: \x1b[1mmem-0001\x1b[0m" in shown

    @pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
    def test_a_wish_for_no_colour_is_honoured(self, tmp_path: Path, variables: dict[str, str]):
        _, shown = at_terminal(tmp_path, "remember", DEPLOY, **variables)

        assert "\x1b" not in shown
        assert "Remembered" in shown

    def test_an_error_is_red_on_a_terminal_and_plain_elsewhere(self, tmp_path: Path):
        open_memory(tmp_path / "store.db").close()
        code, shown = at_terminal(tmp_path, "get", "mem-9999")

        assert code == 3
        assert "\x1b[31mengram: There is no memory 'mem-9999'.\x1b[0m" in shown
        assert "\x1b" not in child(tmp_path, "get", "mem-9999").err
        assert "\x1b" not in at_terminal(tmp_path, "get", "mem-9999", NO_COLOR="1")[1]

    def test_an_error_is_plain_on_a_dumb_terminal(self, tmp_path: Path):
        code, shown = at_terminal(tmp_path, "get", "mem-9999", TERM="dumb")

        assert code != 0
        assert "engram: There is no" in shown
        assert "\x1b" not in shown

    def test_what_is_wider_than_the_terminal_goes_on_below_in_whole_words(self, tmp_path: Path):
        text = f"{DEPLOY} after the release meeting, never before ten o'clock in the morning"
        child(tmp_path, "remember", text, "--kind", "convention")
        for number, kind in enumerate(("infra", "gotcha", "pattern", "decision", "tooling")):
            child(tmp_path, "remember", f"Thing {number} of the shelf", "--kind", kind)
        narrow = {"columns": 60, "NO_COLOR": "1", "ENGRAM_EMBEDDER": "none"}

        found = at_terminal(tmp_path, "recall", "deploy meeting", **narrow)[1].splitlines()
        nothing = at_terminal(tmp_path, "recall", "zebra", **narrow)[1].splitlines()
        stats = at_terminal(tmp_path, "stats", **narrow)[1]
        assert " ".join(line.removeprefix("1. mem-0001").strip() for line in found[:2]) == text
        assert found[1].startswith(" " * len("1. mem-0001  "))
        assert nothing == ["Nothing is known about that here. Try other words, or", "--everywhere."]
        assert "\n               " in stats
        assert max(map(len, (*found, *nothing, *stats.splitlines()[1:]))) <= 60
        assert text in child(tmp_path, "recall", "deploy meeting", ENGRAM_EMBEDDER="none").out

    def test_a_long_text_is_cut_to_the_width_of_the_terminal(self, tmp_path: Path):
        child(tmp_path, "remember", f"{DEPLOY}, {'and so on ' * 30}")
        _, shown = at_terminal(tmp_path, "list", columns=60, NO_COLOR="1")

        assert [len(line) for line in shown.splitlines()] == [60]
        assert shown.endswith("…\n")

    def test_a_terminal_that_does_not_tell_its_width_shows_texts(self, tmp_path: Path):
        assert DEPLOY in at_terminal(tmp_path, "remember", DEPLOY, columns=0)[1]

    def test_signs_survive_an_ascii_locale(self, tmp_path: Path):
        done = child(tmp_path, "remember", DEPLOY, LANG="C", LC_ALL="C", PYTHONIOENCODING="ascii")

        assert done.code == 0
        assert done.out.startswith("✓ Remembered")


class TestProgress:
    def test_a_reembed_shows_a_bar_on_a_terminal_and_wipes_it(self, tmp_path: Path):
        engine = SqliteEngine(tmp_path / "store.db", new_replica=lambda: "replica")
        text = "is a long enough text for the model to take some time over it, " * 6  # the bar comes after a while
        engine.commit(change(*(memory(f"id-{n:03}", f"Number {n} {text}", apart=True) for n in range(140))))
        engine.close()
        code, shown = at_terminal(tmp_path, "reembed", NO_COLOR="1")

        assert code == 0
        assert re.search(r"\rembedding █+·+ (64|128) of 140  \d+ s left", shown.replace("\x1b[K", ""))
        assert re.fullmatch(r"✓ 140 memories got a vector of \S+\.\n", shown.rpartition("\x1b[K")[2])


class TestPipes:
    @pytest.mark.parametrize("words", [("export", "\udcff.jsonl"), ("views", "\udcff.md", "--yes")])
    @pytest.mark.parametrize("more", [(), ("--json",)], ids=["", "json"])
    def test_a_file_whose_name_is_no_text_is_told_by_its_bytes(self, tmp_path: Path, words, more):
        said = {"PYTHONIOENCODING": "utf-8:strict"}  # as in any locale but the plainest
        child(tmp_path, "remember", DEPLOY, **said)
        done = child(tmp_path, *words, *more, **said)

        assert (done.code, done.err) == (0, "")
        assert f"\\udcff{words[1][1:]}" in done.out
        assert os.fsencode(words[1]) in os.listdir(os.fsencode(tmp_path))

    def test_a_reader_that_leaves_after_one_line_is_no_error(self, tmp_path: Path):
        with_many = [f"Memory number {n} is about {word}" for n, word in enumerate(("tea", "oak", "sea") * 40)]
        fill = "import engram,sys\nwith engram.open() as e:\n for t in sys.stdin.read().splitlines(): e.remember(t)"
        subprocess.run(
            [COMMAND[0], "-c", fill],
            input="\n".join(with_many),
            check=True,
            env=environment(tmp_path),
            text=True,
            cwd=tmp_path,
        )
        script = f"set -o pipefail; {' '.join(COMMAND)} list --limit 120 --json | head -1"
        done = subprocess.run(
            ["bash", "-c", script],
            capture_output=True,
            check=False,
            env=environment(tmp_path),
            text=True,
            cwd=tmp_path,
        )

        assert done.stdout == "{\n"
        assert done.stderr == ""
        assert done.returncode == 0

    @pytest.mark.parametrize("words", [["list"], ["--help"], ["config"]], ids=str)
    def test_a_reader_that_never_read_is_no_error(self, tmp_path: Path, words: list[str]):
        open_memory(tmp_path / "store.db").close()
        ours, theirs = os.pipe()
        os.close(ours)
        done = subprocess.run(
            [*COMMAND, *words],
            stdout=theirs,
            stderr=subprocess.PIPE,
            check=False,
            env=environment(tmp_path),
            cwd=tmp_path,
        )
        os.close(theirs)

        assert (done.returncode, done.stderr) == (0, b"")

    def test_what_the_system_refuses_is_told_as_the_answer_or_as_what_was_asked(self, tmp_path: Path):
        def run(*words: str, stdout: int = subprocess.PIPE) -> str:
            done = subprocess.run(
                [*COMMAND, *words],
                stdout=stdout,
                stderr=subprocess.PIPE,
                check=False,
                env=environment(tmp_path),
                cwd=tmp_path,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
            )
            assert done.returncode == Unavailable.exit_code
            return done.stderr.decode()

        unsaid = "The answer could not be written: No space left on device."
        with open("/dev/full", "wb") as full:
            assert all(unsaid in run(*words, stdout=full.fileno()) for words in (["kinds", "--json"], ["--help"]))
        told = run("demo")
        assert "No usable temporary directory found" in told
        assert "answer" not in told

    def test_the_installed_command_and_the_module_are_one(self, tmp_path: Path):
        done = subprocess.run(
            ["engram", "remember", "-", "--json"],
            input="Größe\n".encode(),
            capture_output=True,
            check=False,
            env=environment(tmp_path),
            cwd=tmp_path,
        )

        assert done.returncode == 0
        assert json.loads(done.stdout)["memory"]["text"] == "Größe"
        assert child(tmp_path, "list", "--json").json["memories"][0]["text"] == "Größe"


def test_a_sync_with_nothing_shared_says_so_once_and_how_to_share(engram: Driver, monkeypatch: pytest.MonkeyPatch):
    (engram.folder / "api").mkdir()
    monkeypatch.chdir(engram.folder / "api")
    subprocess.run(["git", "init", "-q"], check=True)
    engram.remember(DEPLOY)
    told = engram("sync", "--git").out

    assert "sent nothing, took in nothing" in told
    assert "1 memory stays home, being private" in told
    assert told.count("--visibility shared") == 1
    assert told.count("--private") == 1


def test_a_list_of_keys_tells_workspaces_where_one_has_any(engram: Driver):
    engram("keys", "create", "ci", "--owner", "ada")
    assert "workspace" not in engram("keys", "list").out
    engram("keys", "create", "cron", "--owner", "ada", "--workspace", "team-x")
    told = engram("keys", "list").out.splitlines()
    assert [line.split("read")[1].partition("ends")[0].strip() for line in told] == ["in team-x", "in no workspace"]


def test_a_key_for_an_org_that_nobody_named_is_made_with_a_warning_where_tokens_name_orgs(
    engram: Driver, monkeypatch
):
    assert "org_claim" not in engram("keys", "create", "ci", "--owner", "ada").out
    monkeypatch.setenv("ENGRAM_ORG_CLAIM", "org")
    assert (
        "maybe none is of default: say which one, ENGRAM_ORG=NAME."
        in engram("keys", "create", "ci", "--owner", "ada").out
    )
    monkeypatch.setenv("ENGRAM_ORG", "acme")
    assert "org_claim" not in engram("keys", "create", "ci", "--owner", "ada").out


SEVERAL = [
    ("recall", "deploy"),
    ("context",),
    ("list",),
    ("search", "deploy"),
    ("search",),
    ("session", "list"),
    ("files",),
    ("evidence",),
    ("cited", "src/api.py"),
    ("cited", "session:night"),
    ("graph", "project"),
    ("graph", "file", "src/api.py"),
    ("views",),
    ("views", "AGENTS.md"),
]


@pytest.mark.parametrize("words", SEVERAL, ids=" ".join)
def test_a_reading_in_a_folder_of_several_projects_says_that_it_went_without_one(
    engram: Driver, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
):
    work = engram.folder / "work"
    for name in ("api", "web"):
        (work / name / ".git").mkdir(parents=True)
    engram.remember("We deploy on Fridays", "--scope", "global")
    monkeypatch.chdir(work)
    done = engram(*words)
    told = engram(*words, "--json").json["hint"]

    assert done.code == 0, done.err
    for said in (" ".join(done.out.split()), told):
        assert f"Only what holds everywhere was looked at: {work} holds several projects: api, web." in said
    if words[0] in ("list", "search", "session"):
        assert "holds everywhere" not in engram(*words, "--everywhere").out
    monkeypatch.chdir(work / "api")
    assert "holds everywhere" not in engram(*words).out
