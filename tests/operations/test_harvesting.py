"""Harvest: what was said in transcripts is proposed, held, cited and undoable; and nothing else gets through."""

import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from engram.errors import Conflict, Forbidden, Invalid, Unavailable
from engram.inference.extract import ChatExtractor
from engram.interop.cursors import CursorFile
from engram.model.answers_work import Harvested
from engram.model.extraction import Extracted, Extraction
from engram.model.memory import Citation
from engram.model.scope import Scope
from engram.operations.harvest import harvest
from engram.operations.harvesting import MOST_FAILURES
from engram.ports import Harvesting as Tools
from engram.service import Engram
from rules.world import World, texts

SAMPLES = Path(__file__).parents[1] / "interop" / "transcripts"
SECRET = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(cursors=CursorFile(str(tmp_path / "data" / "harvest.jsonl")))


class Model:
    """A model that answers as it was told to, and notes what it was given."""

    def __init__(self, *answers: Extraction) -> None:
        self.answers = list(answers)
        self.given: list[list[tuple[str, str]]] = []

    def cost(self, messages: Sequence[tuple[str, str]], kinds: Sequence[str]) -> int:
        return 100 * len(messages) + len(kinds)

    def extract(self, messages: Sequence[tuple[str, str]], kinds: Sequence[str]) -> Extraction:
        assert "fact" in kinds
        self.given.append(list(messages))
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def run(who: Engram, tools: Tools, *paths: object, **more: Any) -> Harvested:
    return harvest(who.call()._replace(harvesting=tools), [str(path) for path in paths], **more)


def talk(path: Path, *said: str, session: str = "s-1", role: str = "user") -> Path:
    """Add messages to a transcript of Claude Code."""
    path.parent.mkdir(parents=True, exist_ok=True)
    count = path.read_text(encoding="utf-8").count("\n") if path.exists() else 0
    with path.open("a", encoding="utf-8") as file:
        for number, text in enumerate(said, start=count + 1):
            line = {
                "type": role,
                "sessionId": session,
                "cwd": "/home/dev/code/acme-api",
                "uuid": f"{session}-m{number}",
                "message": {"role": role, "content": text},
            }
            file.write(json.dumps(line) + "\n")
    return path


# What is proposed


def test_every_harness_gives_what_was_said_and_nothing_of_tools_thoughts_side_chains_and_injections(
    world, tools, tmp_path
):
    shutil.copytree(SAMPLES, tmp_path / "all")
    for sample, name in (("opencode.sql", "db/opencode.db"), ("cursor.sql", "db/state.vscdb")):
        (tmp_path / "db").mkdir(exist_ok=True)
        with sqlite3.connect(tmp_path / name) as one:
            one.executescript((SAMPLES / sample).read_text(encoding="utf-8"))
        one.close()
    answer = run(world.person, tools, tmp_path / "all", tmp_path / "db")

    assert texts(answer.proposed) == [
        "Always run the snapshot tests before you push",
        "Always use pnpm in this repository, never npm",
        "I prefer small commits with one purpose each",
        "My editor is set to two spaces",
        "My time zone is Europe/Berlin",
        "Never trim a stream without a consumer group",
        "Retries of the worker need a jitter of their own",
        "The health check must not open a database connection",
        "The invoices are numbered per year",
        "Use Decimal instead of float for amounts",
        "We decided to keep the audit log in Postgres",
        "We decided to take all colours from the design tokens",
        "We use Redis streams for the queue",
        "We use Tailwind for the storefront",
        "Write cron times in UTC",
    ]
    assert answer.problems == ()
    assert answer.skipped["sidechain"] == 7
    assert answer.skipped["recalled"] == 1


def test_everything_is_held_for_review_and_says_where_it_comes_from(world, tools, tmp_path):
    path = talk(tmp_path / "s.jsonl", "Hello.", "My name is Alex Rivera. Always use pnpm for installs.")
    answer = run(world.person, tools, path)
    made = world.everything().values()

    assert {(one.status, one.held_for, one.learned_by) for one in made} == {
        ("pending", "untrusted_origin", "harvest")
    }
    assert {one.source for one in made} == {"harness:claude-code:acme-api"}
    assert {one.session for one in made} == {"s-1"}
    assert {str(one.scope) for one in made} == {"global", "project:acme-api"}
    assert [one.citations for one in answer.proposed] == [
        (Citation("message", "s-1", "s-1-m2", excerpt="My name is Alex Rivera."),),
        (Citation("message", "s-1", "s-1-m2", excerpt="Always use pnpm for installs."),),
    ]
    assert {one.kind for one in made} == {"identity", "convention"}
    assert (answer.files, answer.turns, answer.repeated) == (1, 2, 0)


def test_even_confirming_callers_and_autopromoted_kinds_wait(world, tools, tmp_path):
    run(world.reviewer, tools, talk(tmp_path / "s.jsonl", "We use Redis for queues."))

    assert {one.status for one in world.everything().values()} == {"pending"}


def test_one_undo_takes_it_all_back(world, tools, tmp_path):
    answer = run(
        world.person, tools, talk(tmp_path / "s.jsonl", "Always use pnpm for installs.", "We use Redis for queues.")
    )
    assert len(world.everything()) == 2
    events = world.person.history().events
    assert {event.batch for event in events} == {answer.batch}

    world.person.undo()

    assert world.everything() == {}


def test_what_a_person_says_of_themselves_holds_everywhere_and_is_theirs(world, tools, tmp_path):
    said = ("I prefer tabs over spaces.", "My name is Alex Rivera.", "We decided to use uv for all packages.")
    run(world.person, tools, talk(tmp_path / "a.jsonl", *said))
    found = {one.text: (str(one.scope), one.visibility, one.source) for one in world.everything().values()}

    source = "harness:claude-code:acme-api"
    assert found["I prefer tabs over spaces"] == ("global", "private", source)
    assert found["My name is Alex Rivera"] == ("global", "private", source)
    assert found["We decided to use uv for all packages"][0] == "project:acme-api"


def test_what_an_agent_says_of_a_person_stays_in_the_project(world, tools, tmp_path):
    path = talk(tmp_path / "a.jsonl", "Noted.", role="assistant")
    model = Model(Extraction((Extracted("The person prefers tabs", "preference", 0.6, 0),)))
    run(world.person, tools._replace(extractor=model), path, extractor="endpoint")

    assert [str(one.scope) for one in world.everything().values()] == ["project:acme-api"]


def test_a_project_that_is_named_holds_for_what_is_personal_too(world, tools, tmp_path):
    run(world.person, tools, talk(tmp_path / "a.jsonl", "I prefer tabs over spaces."), project="billing")

    assert [str(one.scope) for one in world.everything().values()] == ["project:billing"]


def test_a_project_can_be_named_and_holds_for_scope_and_source(world, tools, tmp_path):
    run(world.person, tools, talk(tmp_path / "s.jsonl", "Always use pnpm for installs."), project="billing")
    (one,) = world.everything().values()

    assert (str(one.scope), one.source) == ("project:billing", "harness:claude-code:billing")


def test_which_project_a_folder_is_can_be_told_from_outside(world, tmp_path):
    asked = []

    def place(folder: str) -> Scope:
        asked.append(folder)
        return Scope("project", "github.com/acme/api")

    run(world.person, Tools(place=place), talk(tmp_path / "s.jsonl", "Always use pnpm for installs."))

    assert asked == ["/home/dev/code/acme-api"]
    assert [str(one.scope) for one in world.everything().values()] == ["project:github.com/acme/api"]


def test_a_folder_that_may_be_several_projects_is_a_problem_of_its_own(world, tools, tmp_path):
    def place(folder: str) -> Scope:
        raise Conflict(f"{folder} holds several projects.")

    path = talk(tmp_path / "s.jsonl", "Always use pnpm for installs.")
    answer = run(world.person, tools._replace(place=place), path)

    assert (answer.proposed, answer.files) == ((), 0)
    assert "several projects" in answer.problems[0]
    assert len(run(world.person, tools, path).proposed) == 1  # nothing was marked as read


def test_a_talk_in_no_folder_lands_where_the_caller_is(tools):
    world = World(home=Scope("project", "here"))
    run(world.person, tools, SAMPLES / "cursor")

    assert {str(one.scope) for one in world.everything().values()} == {"project:here"}


# What is known


def test_a_second_harvest_reads_only_what_is_new(world, tools, tmp_path):
    path = talk(tmp_path / "s.jsonl", "Always use pnpm for installs.")
    run(world.person, tools, path)
    second = run(world.person, tools, path)
    talk(path, "We use Redis for queues.")
    third = run(world.person, tools, path)

    assert (second.files, second.skipped, second.proposed) == (0, {"unchanged": 1}, ())
    assert (third.turns, texts(third.proposed)) == (1, ["We use Redis for queues"])
    assert second.batch == ""


def test_where_the_cursors_are_lost_the_same_messages_change_nothing(world, tools, tmp_path):
    path = talk(tmp_path / "s.jsonl", "Always use pnpm for installs.")
    run(world.person, tools, path)
    before, events = world.everything(), len(world.events())
    answer = run(world.person, Tools(), path)
    again = run(world.person, tools, path, again=True)

    assert (answer.repeated, answer.proposed, again.repeated) == (1, (), 1)
    assert (world.everything(), len(world.events())) == (before, events)


def test_the_same_words_in_another_talk_are_counted(world, tools, tmp_path):
    talk(tmp_path / "a.jsonl", "Always use pnpm for installs.", session="s-1")
    talk(tmp_path / "b.jsonl", "Always use pnpm for installs!", session="s-2")
    answer = run(world.person, tools, tmp_path)

    assert (len(answer.proposed), answer.repeated) == (1, 1)
    assert [one.seen for one in world.everything().values()] == [2]


def test_what_was_rejected_stays_out_and_is_counted(world, tools, tmp_path):
    path = talk(tmp_path / "s.jsonl", "Always use pnpm for installs.", "We use Redis for queues.")
    first = run(world.person, tools, path)
    world.person.reject(first.proposed[0].id)
    answer = run(world.person, tools, path, again=True)

    assert answer.skipped["rejected"] == 1
    assert (answer.proposed, answer.repeated, answer.problems) == ((), 1, ())


def test_a_moved_file_is_not_read_again(world, tools, tmp_path):
    path = talk(tmp_path / "sessions" / "s.jsonl", "Always use pnpm for installs.")
    run(world.person, tools, path)
    archived = tmp_path / "archived" / "s.jsonl"
    archived.parent.mkdir()
    os.rename(path, archived)
    talk(archived, "We use Redis for queues.")

    assert run(world.person, tools, archived).turns == 1


def test_each_store_and_each_owner_reads_for_itself(world, tools, tmp_path):
    path = talk(tmp_path / "s.jsonl", "Always use pnpm for installs.")
    run(world.person, tools, path)

    assert len(run(world.other, tools, path).proposed) == 1


def test_a_harvest_that_was_enough_goes_on_where_it_stopped(world, tools, tmp_path):
    said = [f"Always use tool {number} for installs." for number in range(10)]
    talk(tmp_path / "a.jsonl", *said[:6], session="s-1")
    talk(tmp_path / "b.jsonl", *said[6:], session="s-2")
    counts = [len(run(world.person, tools, tmp_path, limit=4).proposed) for _ in range(4)]

    assert counts == [4, 4, 2, 0]
    assert len(world.everything()) == 10


# Dry run


def test_a_dry_run_says_what_would_be_and_changes_nothing(world, tools, tmp_path):
    path = talk(
        tmp_path / "s.jsonl", "Always use pnpm for installs.", "Always use pnpm for installs.", "What time is it?"
    )
    dry = run(world.person, tools, path, dry_run=True)

    assert (texts(dry.proposed), dry.repeated, dry.turns) == (["Always use pnpm for installs"], 1, 3)
    assert dry.tokens > 0
    assert (dry.dry_run, dry.batch, world.events()) == (True, "", [])
    assert len(run(world.person, tools, path).proposed) == 1


def test_a_dry_run_asks_no_model_and_says_what_asking_would_cost(world, tools, tmp_path):
    model = Model(Extraction())
    path = talk(tmp_path / "s.jsonl", "One.", "Two.")
    dry = run(world.person, tools._replace(extractor=model), path, extractor="endpoint", dry_run=True)

    assert model.given == []
    assert dry.tokens > 200


# Secrets and bad input


def test_no_secret_reaches_a_model_or_the_store(world, tools, tmp_path):
    path = talk(
        tmp_path / "s.jsonl",
        f"My email is fine. Remember that the key is {SECRET} for staging. Always use pnpm with token={SECRET}.",
        "<engram-memory>\nrecalled words\n</engram-memory>\n<private>between us</private> Hello.",
    )
    model = Model(Extraction(found=(Extracted(f"The key is {SECRET}", "fact", 0.9, 0),)))
    run(world.person, tools._replace(extractor=model), path, extractor="endpoint")
    run(world.person, tools, path)
    stored = repr([*world.everything().values(), *world.events()])

    assert SECRET not in repr(model.given) + stored
    assert "[redacted:" in repr(model.given)
    assert "recalled words" not in repr(model.given)
    assert "between us" not in repr(model.given) + stored


def test_what_engram_recalled_into_a_talk_does_not_come_back(world, tools, tmp_path):
    block = "<engram-memory>\nAlways use npm for installs.\n</engram-memory>\nGo on."
    answer = run(world.person, tools, talk(tmp_path / "s.jsonl", block, "<engram-memory>\nWe use Redis for all."))

    assert (answer.proposed, answer.skipped) == ((), {"recalled": 2})


def test_a_file_that_cannot_be_read_costs_nobody_else_anything(world, tools, tmp_path):
    talk(tmp_path / "good.jsonl", "Always use pnpm for installs.")
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\x00" + b"junk" * 300)
    (tmp_path / "other.jsonl").write_text("no json\n", encoding="utf-8")
    answer = run(world.person, tools, tmp_path)

    assert len(answer.proposed) == 1
    assert answer.skipped["unknown"] == 1
    assert len(answer.problems) == 1


def test_names_from_outside_never_break_a_memory(world, tools, tmp_path):
    session = "s" * 5000
    path = talk(tmp_path / "s.jsonl", "Always use pnpm for installs.", session=session)
    answer = run(world.person, tools, path, project="a" * 200)

    assert len(answer.proposed) == 1
    assert len(answer.proposed[0].source) == 128


@pytest.mark.parametrize(
    "more",
    [{"harness": "emacs"}, {"extractor": "magic"}, {"limit": 0}, {"limit": 10**9}, {"extractor": "endpoint"}],
)
def test_what_makes_no_sense_is_refused(world, tools, tmp_path, more):
    path = talk(tmp_path / "s.jsonl", "Always use pnpm for installs.")
    with pytest.raises(Invalid):
        run(world.person, tools, path, **more)


def test_a_path_that_is_not_there_is_refused(world, tools, tmp_path):
    with pytest.raises(Invalid, match="is not there"):
        run(world.person, tools, tmp_path / "nothing")


def test_an_agent_may_not_have_files_read(world, tools, tmp_path):
    with pytest.raises(Forbidden):
        run(world.agent, tools, talk(tmp_path / "s.jsonl", "Always use pnpm for installs."))


def test_cursors_that_cannot_be_kept_are_said_once_and_lose_nothing(world, tmp_path):
    class Full:
        def get(self, name: str) -> None:
            assert name

        def put(self, name: str, stamp: str, mark: str) -> None:
            raise Unavailable(f"No space left for {len(name)}, {bool(stamp)}, {bool(mark)}.")

    talk(tmp_path / "a.jsonl", "Always use pnpm for installs.", session="s-1")
    talk(tmp_path / "b.jsonl", "We use Redis for queues.", session="s-2")
    answer = run(world.person, Tools(cursors=Full()), tmp_path)

    assert (len(answer.proposed), len(answer.problems)) == (2, 1)


def test_progress_is_told_and_ends_at_the_end(world, tools, tmp_path):
    for number in range(3):
        talk(tmp_path / f"{number}.jsonl", "Hello.", session=f"s-{number}")
    told: list[tuple[int, int, str]] = []
    run(world.person.watched_by(lambda *how: told.append(how)), tools, tmp_path)

    assert told == [(1, 3, "harvesting"), (2, 3, "harvesting"), (3, 3, "harvesting")]


# By a model


def test_what_a_model_finds_is_held_and_cites_its_message(world, tools, tmp_path):
    path = talk(tmp_path / "s.jsonl", "Hello.", "We ship on Fridays, by the way.")
    found = (Extracted("The team ships on Fridays", "convention", 0.55, 1), Extracted("ok", "fact", 0.9, 0))
    model = Model(Extraction(found=found, tokens=321, dropped=1))
    answer = run(world.person, tools._replace(extractor=model), path, extractor="endpoint")
    (one,) = answer.proposed

    assert (one.text, one.kind, one.confidence, one.origin) == (
        "The team ships on Fridays",
        "convention",
        0.55,
        "inferred",
    )
    assert (one.status, one.held_for) == ("pending", "untrusted_origin")
    assert one.citations == (Citation("message", "s-1", "s-1-m2", excerpt="We ship on Fridays, by the way."),)
    assert (answer.tokens, answer.skipped) == (321, {"trivial": 2})


def test_a_long_talk_is_asked_about_in_parts_and_no_part_twice(world, tools, tmp_path):
    path = talk(tmp_path / "s.jsonl", *[f"{number} " + "word " * 1500 for number in range(5)])
    model = Model(Extraction(tokens=1))
    equipped = tools._replace(extractor=model)
    run(world.person, equipped, path, extractor="endpoint")
    asked = [text.split()[0] for part in model.given for _, text in part]
    run(world.person, equipped, path, extractor="endpoint")

    assert len(model.given) > 1
    assert asked == ["0", "1", "2", "3", "4"]


def test_a_model_that_is_over_stops_the_harvest_and_what_was_found_stays(world, tools, tmp_path):
    for number in range(3):
        talk(tmp_path / f"{number}.jsonl", f"Talk number {number}.", session=f"s-{number}")
    model = Model(
        Extraction(found=(Extracted("The team ships on Fridays", "fact", 0.5, 0),)),
        Extraction(problem="It refuses the key.", hint="Set it.", over=True),
    )
    answer = run(world.person, tools._replace(extractor=model), tmp_path, extractor="endpoint")
    assert (len(answer.proposed), answer.problems) == (1, ("It refuses the key. Set it.",))
    assert len(model.given) == 2

    later = Model(Extraction())
    run(world.person, tools._replace(extractor=later), tmp_path, extractor="endpoint")
    assert [part[0][1] for part in later.given] == ["Talk number 1.", "Talk number 2."]


def test_an_answer_that_is_no_use_leaves_the_talk_for_the_next_time_and_a_row_of_them_ends_it(
    world, tools, tmp_path
):
    for number in range(6):
        talk(tmp_path / f"{number}.jsonl", f"Talk number {number}.", session=f"s-{number}")
    model = Model(Extraction(problem="Nonsense."))
    answer = run(world.person, tools._replace(extractor=model), tmp_path, extractor="endpoint")

    assert len(model.given) == MOST_FAILURES
    assert answer.proposed == ()
    later = Model(Extraction())
    run(world.person, tools._replace(extractor=later), tmp_path, extractor="endpoint")
    assert len(later.given) == 6


def test_rules_and_a_model_each_read_for_themselves(world, tools, tmp_path):
    path = talk(tmp_path / "s.jsonl", "Always use pnpm for installs.")
    run(world.person, tools, path)
    model = Model(Extraction())
    run(world.person, tools._replace(extractor=model), path, extractor="endpoint")

    assert len(model.given) == 1


def test_a_real_endpoint_is_asked_without_secrets_and_what_it_finds_is_held(world, tools, tmp_path):
    sent: list[bytes] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(self.rfile.read(int(self.headers["Content-Length"])))
            row = {"text": "The team ships on Fridays", "kind": "convention", "confidence": 0.9, "message": 0}
            content = json.dumps({"memories": [row]})
            body = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        model = ChatExtractor(f"http://127.0.0.1:{server.server_port}/v1", "m", timeout=5.0)
        path = talk(tmp_path / "s.jsonl", f"We ship on Fridays. The token is {SECRET}.")
        answer = run(world.person, tools._replace(extractor=model), path, extractor="endpoint")
    finally:
        server.shutdown()
        server.server_close()

    assert [(one.text, one.status) for one in answer.proposed] == [("The team ships on Fridays", "pending")]
    assert SECRET.encode() not in b"".join(sent)
    assert b"We ship on Fridays" in sent[0]
