"""`engram hook`: every agent's JSON in and out, a summary asked for once, and nothing that breaks an agent."""

import json
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import apsw
import pytest

import engram as package
from engram.projects.protocol import INSTRUCTIONS
from engram.surfaces.commands import hook as hooks
from engram.surfaces.commands.hook import MOST_LOG, MOST_READ, PATIENCE
from surfaces.driving import Driver, Result, child, environment
from surfaces.test_startup import HEAVY

BLOCK = re.compile(r"^<engram-memory>\n.*\n</engram-memory>$", re.DOTALL)
LEARNED = "Done.\n\n## Key learnings\n\n- The billing queue drops messages without a retry header\n"


class Agent:
    """An agent that calls our hooks."""

    def __init__(self, engram: Driver, name: str = "claude-code") -> None:
        self.engram, self.name = engram, name

    def __call__(self, event: str, **told: Any) -> Any:
        done = self.raw(event, json.dumps({"session_id": "s-1", "cwd": str(self.engram.folder), **told}).encode())
        return json.loads(done.out)

    def raw(self, event: str, stdin: bytes) -> Result:
        """A call that must end well whatever it was given."""
        done = self.engram("hook", event, "--agent", self.name, stdin=stdin)
        assert (done.code, done.err) == (0, "")
        return done

    def told(self, event: str, **more: Any) -> str:
        """What the model is told, in the form of Claude Code."""
        return self(event, **more).get("hookSpecificOutput", {}).get("additionalContext", "")


@pytest.fixture
def agent(engram: Driver) -> Agent:
    engram.remember("We deploy the billing service on Fridays", "--kind", "convention")
    return Agent(engram)


def logged(engram: Driver) -> list[str]:
    path = engram.folder / "data" / "engram" / "hooks.log"
    return path.read_text().splitlines() if path.exists() else []


def memories(engram: Driver, **where: Any) -> list[Any]:
    with package.open(engram.store) as memory:
        return list(memory.list(**where).memories)


def session(engram: Driver) -> Any:
    with package.open(engram.store) as memory:
        return memory.session_list(everywhere=True).sessions[0]


# --- the start of a session ---


FORMS = {
    "claude-code": ("SessionStart", lambda told: told["hookSpecificOutput"]["additionalContext"]),
    "codex": ("SessionStart", lambda told: told["hookSpecificOutput"]["additionalContext"]),
    "gemini-cli": ("SessionStart", lambda told: told["hookSpecificOutput"]["additionalContext"]),
    "vscode": ("SessionStart", lambda told: told["hookSpecificOutput"]["additionalContext"]),
    "cursor": ("sessionStart", lambda told: told["additional_context"].removeprefix(INSTRUCTIONS.strip()).strip()),
    "antigravity": ("PreInvocation", lambda told: told["injectSteps"][0]["ephemeralMessage"]),
    "cline": ("TaskStart", lambda told: told["contextModification"]),
}


@pytest.mark.parametrize("name", FORMS)
def test_a_session_starts_with_a_context_in_the_form_of_its_agent(agent: Agent, name: str):
    event, read = FORMS[name]
    agent.name = name
    answer = agent(event, hook_event_name=event, source="startup")

    assert BLOCK.match(read(answer))
    assert "We deploy the billing service on Fridays" in read(answer)
    if "hookSpecificOutput" in answer:
        assert answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"


def test_cursor_is_told_how_to_use_the_memory_because_it_has_no_file_for_it(agent: Agent):
    agent.name = "cursor"

    assert agent("sessionStart")["additional_context"].startswith("## Memory\n")


def test_a_context_stays_within_its_budget(agent: Agent):
    for number in range(30):
        agent.engram.remember(f"Service number {number} listens on port {9000 + number} of its host")
    whole = agent.told("session-start")
    agent.engram.set(ENGRAM_BUDGET="200")
    short = agent.told("session-start", session_id="s-2")

    assert len(short) < 200 * 4 < len(whole)


def test_an_empty_memory_says_nothing(engram: Driver):
    assert Agent(engram)("session-start") == {}


def test_a_session_is_begun_where_it_is_and_ended(agent: Agent):
    git = agent.engram.folder / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/topic\n")
    agent("session-start")
    begun = session(agent.engram)

    assert (begun.id, begun.agent, begun.ended_at) == ("s-1", "claude-code", None)
    assert (begun.context.base_dir, begun.context.branch) == (str(agent.engram.folder), "topic")

    assert agent("session-end", reason="exit") == {}
    assert session(agent.engram).ended_at is not None
    assert agent("session-end") == {}
    assert agent("SessionEnd", session_id="never begun") == {}
    assert logged(agent.engram) == []


def test_two_configurations_of_one_session_tell_it_once(agent: Agent):
    assert agent.told("SessionStart")
    agent.name = "vscode"
    assert agent.told("SessionStart") == ""
    assert agent.told("SessionStart", session_id="s-2")


def test_a_session_that_is_taken_up_again_is_told_again(agent: Agent):
    assert agent.told("session-start", source="startup")
    assert agent.told("session-start", source="resume")


def test_before_each_call_of_a_model_the_context_comes_once(agent: Agent):
    agent.name = "antigravity"

    assert agent("pre-invocation")["injectSteps"]
    assert agent("PreInvocation") == {}


def test_a_hook_without_a_session_or_a_folder_is_answered_too(agent: Agent):
    assert BLOCK.match(json.loads(agent.raw("session-start", b"").out)["hookSpecificOutput"]["additionalContext"])
    assert agent.told("session-start", session_id=None, cwd="/nowhere/at/all")
    assert agent.told("session-start", session_id="", cwd=17)


# --- a prompt ---


def test_a_prompt_brings_what_is_known_about_it_once(agent: Agent):
    agent.engram.remember("The staging database listens on port 5433")
    first = agent.told("prompt-submit", prompt="which port has the staging database?")

    assert BLOCK.match(first)
    assert "port 5433" in first
    assert agent.told("prompt-submit", prompt="which port has the staging database?") == ""
    assert agent.told("prompt-submit", session_id="s-2", prompt="which port has the staging database?") == first


def test_a_prompt_brings_along_what_is_against_what_it_is_told(agent: Agent):
    agent.engram.remember("The billing service runs on port 5433")
    agent.engram.remember("The port of the billing service is 5434 by now")
    agent.engram("judge", "mem-0002~mem-0003", "conflicts")
    told = agent.told("prompt-submit", prompt="which port has the billing service?")

    assert re.search(r"5433 \[mem-0002, [^]]*, conflicts with mem-0003\]", told)
    assert re.search(r"5434 by now \[mem-0003, [^]]*, conflicts with mem-0002\]", told)


def test_what_the_session_began_with_is_not_told_again(agent: Agent):
    agent.told("session-start")

    assert agent("UserPromptSubmit", prompt="when do we deploy the billing service?") == {}


@pytest.mark.parametrize("prompt", ["", "yes", "go on", "/compact now please do", "translate this poem into latin"])
def test_a_prompt_that_nothing_is_known_about_brings_nothing(agent: Agent, prompt: str):
    assert agent("prompt-submit", prompt=prompt) == {}


def test_a_prompt_goes_the_way_of_its_agent(agent: Agent):
    asked = {"prompt": "when do we deploy the billing service?"}
    agent.name = "cursor"
    assert set(agent("beforeSubmitPrompt", **asked)) == {"continue", "additional_context"}
    agent.name = "gemini-cli"
    answer = agent("BeforeAgent", hook_event_name="BeforeAgent", session_id="s-2", **asked)
    assert answer["hookSpecificOutput"]["hookEventName"] == "BeforeAgent"
    agent.name = "cline"
    told = {"taskId": "t-1", "session_id": None, "userPromptSubmit": asked}
    assert agent("UserPromptSubmit", **told)["cancel"] is False
    agent.name = "vscode"  # its model does not hear an answer to a prompt
    assert agent("UserPromptSubmit", session_id="s-3", **asked) == {}


def test_what_a_terminal_leaves_in_a_prompt_is_passed_over(agent: Agent):
    prompt = "when do we \x1b[31mdeploy\x1b[0m the billing\x00 service\ud800?\r\n" + "log line\n" * 100_000

    assert "Fridays" in agent.told("prompt-submit", prompt=prompt)
    assert (
        agent("stop", last_assistant_message="\x1b[2J" + "words " * 500_000 + LEARNED, stop_hook_active=True) == {}
    )
    assert len(memories(agent.engram, kind=["learning"], standing=["pending"])) == 1
    assert logged(agent.engram) == []


def test_a_prompt_is_not_kept(agent: Agent):
    agent("prompt-submit", prompt="when do we deploy the billing service?")

    assert memories(agent.engram, kind=["prompt"]) == []


def test_a_prompt_is_kept_where_the_setting_says_so_and_each_time(agent: Agent):
    agent.engram.set(ENGRAM_KEEP_PROMPTS="on")
    for _ in range(2):
        agent("prompt-submit", prompt="Please mend the billing queue")
    kept = memories(agent.engram, kind=["prompt"], everywhere=True)

    assert [one.text for one in kept] == ["Please mend the billing queue"] * 2
    assert {one.session for one in kept} == {"s-1"}
    assert "mend the billing" not in agent.told("session-start", session_id="s-2")


# --- stopping ---

REQUESTS = {
    "claude-code": ("Stop", {}, lambda told: told["reason"] if told["decision"] == "block" else ""),
    "codex": ("Stop", {}, lambda told: told["reason"] if told["decision"] == "block" else ""),
    "gemini-cli": ("AfterAgent", {}, lambda told: told["reason"] if told["decision"] == "block" else ""),
    "vscode": ("Stop", {}, lambda told: told["hookSpecificOutput"]["reason"]),
    "cursor": ("stop", {"status": "completed", "loop_count": 0}, lambda told: told["followup_message"]),
    "antigravity": ("Stop", {}, lambda told: told["reason"] if told["decision"] == "continue" else ""),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_a_summary_is_asked_for_once_a_session(agent: Agent, name: str):
    event, more, read = REQUESTS[name]
    agent.name = name

    assert "kind `summary`, session `s-1`" in read(agent(event, **more))
    assert agent(event, **more) == {}
    assert agent(event, session_id="s-2", **more) != {}


@pytest.mark.parametrize(
    "told", [{"stop_hook_active": True}, {"session_id": ""}, {"loop_count": 1}, {"status": "aborted"}]
)
def test_a_stop_that_cannot_be_asked_is_left_in_peace(agent: Agent, told: dict[str, Any]):
    assert agent("stop", **told) == {}


def test_a_session_that_did_little_is_not_asked(agent: Agent, tmp_path: Path):
    transcript = tmp_path / "transcript.jsonl"
    transcript.write_text("{}\n")
    assert agent("stop", transcript_path=str(transcript)) == {}

    transcript.write_text("{}\n" * 30_000)
    assert agent("stop", transcript_path=str(transcript)) != {}


def test_an_agent_that_never_tells_the_end_ends_with_its_stop(agent: Agent):
    agent.name = "vscode"
    agent("SessionStart")
    agent("Stop")
    assert session(agent.engram).ended_at is None  # it was asked for a summary, and goes on
    agent("Stop", stop_hook_active=True)

    assert session(agent.engram).ended_at is not None


def test_a_compaction_is_told_what_to_keep_and_followed_by_the_request(agent: Agent):
    assert agent.raw("pre-compact", b'{"session_id": "s-1"}').out.startswith("Keep in the summary")
    assert "just compacted" in agent.told("session-start", source="compact")
    assert "just compacted" not in agent.told("session-start", source="compact")
    assert agent("stop") == {}


@pytest.mark.parametrize("name", ["codex", "cursor", "gemini-cli", "vscode", "cline"])
def test_where_nothing_can_be_said_before_a_compaction_nothing_is(agent: Agent, name: str):
    agent.name = name

    assert agent("PreCompact") == {}


# --- what was learned ---


@pytest.mark.parametrize(
    ("name", "event", "told"),
    [
        ("claude-code", "SubagentStop", {"last_assistant_message": LEARNED}),
        ("claude-code", "Stop", {"last_assistant_message": LEARNED, "stop_hook_active": True}),
        ("gemini-cli", "AfterAgent", {"prompt_response": LEARNED, "stop_hook_active": True}),
        ("cline", "TaskComplete", {"turn": {"outputText": LEARNED}, "taskId": "s-1"}),
        ("windsurf", "agent-response", {"tool_info": {"response": LEARNED}, "trajectory_id": "s-1"}),
    ],
)
def test_what_a_message_says_was_learned_is_taken_up(agent: Agent, name: str, event: str, told: dict[str, Any]):
    agent.name = name

    assert agent(event, **told) == {}
    (memory,) = memories(agent.engram, kind=["learning"], standing=["pending"])
    assert memory.text == "The billing queue drops messages without a retry header"
    assert (memory.source, memory.session) == (f"transcript:{name}", "s-1")
    assert memory.held_for == "untrusted_origin"  # nobody decided to save it
    assert memory.origin == "inferred"


def test_what_was_told_is_not_taken_up_again(agent: Agent):
    told = agent.told("session-start")
    assert "on Fridays" in told
    before = memories(agent.engram, standing=["all"])
    agent("subagent-stop", last_assistant_message=f"## Key learnings\n\n{told}\n")

    assert memories(agent.engram, standing=["all"]) == before


def test_events_are_known_by_the_words_agents_use(agent: Agent):
    for word in ("SessionStart", "session_start", "session-start", "SESSIONSTART", "sessionStart"):
        assert agent.told(word, session_id=word)


# --- whatever breaks inside ---

NONSENSE = [b"{", b"nonsense", b"[]", b'"words"', b"\xff\xfe", b"null", b'{"cwd": "\\ud800"}', b"[" * 100_000]


@pytest.mark.parametrize("event", ["session-start", "prompt-submit", "stop"])
@pytest.mark.parametrize("stdin", NONSENSE, ids=range(len(NONSENSE)))
def test_nonsense_is_answered_with_nothing_and_one_line_in_the_log(agent: Agent, event: str, stdin: bytes):
    answer = json.loads(agent.raw(event, stdin).out)

    if stdin.startswith(b'{"cwd"'):
        assert isinstance(answer, dict)
    else:
        assert answer == {}
        assert len(logged(agent.engram)) == 1


def test_an_unknown_event_is_answered_with_nothing(agent: Agent):
    assert agent("tea-time") == {}
    assert agent("") == {}
    assert "tea-time" in logged(agent.engram)[0]


def test_words_that_are_no_text_are_answered_with_nothing_and_logged_by_their_bytes(agent: Agent):
    agent.name = "\udcfe"
    assert agent.raw("\udcff", b"{}").out == "{}\n"
    assert logged(agent.engram)[-1].endswith(r"\udcfe \udcff: There is no hook event '\udcff'.")


def test_every_field_of_a_wrong_type_is_passed_over(agent: Agent):
    wrong = [None, 7, [], {}, True]
    for value in wrong:
        fields = (
            "hook_event_name",
            "session_id",
            "workspace_roots",
            "prompt",
            "source",
            "transcript_path",
            "tool_info",
        )
        for event in ("session-start", "prompt-submit", "stop", "subagent-stop", "session-end"):
            assert isinstance(agent(event, **dict.fromkeys(fields, value)), dict)
    assert logged(agent.engram) == []


def test_more_than_a_hook_may_say_is_not_read(agent: Agent):
    data = json.dumps({"prompt": "x" * MOST_READ}).encode()

    assert json.loads(agent.raw("prompt-submit", data).out) == {}
    assert f"more than {MOST_READ:,} bytes" in logged(agent.engram)[0]


def test_a_broken_store_does_not_break_the_agent(agent: Agent):
    agent.engram.store.write_bytes(b"no database" * 1000)

    assert agent("session-start") == {}
    assert len(logged(agent.engram)) == 1


def test_a_broken_settings_file_does_not_break_the_agent(agent: Agent):
    (agent.engram.folder / "repo" / ".git").mkdir(parents=True)
    (agent.engram.folder / "repo" / "engram.toml").write_text("no = toml = at all")

    assert agent("prompt-submit", cwd=str(agent.engram.folder / "repo"), prompt="when do we deploy billing?") == {}
    assert "engram.toml cannot be read" in logged(agent.engram)[0]


def test_the_log_is_private_and_stays_small(agent: Agent):
    agent("tea-time")
    path = agent.engram.folder / "data" / "engram" / "hooks.log"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text("old\n" * MOST_LOG)
    agent("tea-time")

    assert len(logged(agent.engram)) == 1
    assert path.with_name("hooks.log.1").stat().st_size == 4 * MOST_LOG


def test_what_is_kept_of_a_session_is_private_and_its_name_is_no_path(agent: Agent):
    for name in ("../../../escape", "/etc/passwd", "a\x00b", "x" * 5000, "\u202e\U0001f600"):
        agent("session-start", session_id=name)
        agent("stop", session_id=name)
    folder = agent.engram.folder / "data" / "engram" / "hooks"

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    assert not list(agent.engram.folder.rglob("*escape*"))


def test_what_is_kept_of_old_sessions_goes(agent: Agent):
    agent("session-start")
    folder = agent.engram.folder / "data" / "engram" / "hooks"
    old = set(folder.iterdir())
    for path in old:
        os.utime(path, (0, 0))
    agent("session-start", session_id="s-2")

    assert old
    assert not old & set(folder.iterdir())
    assert len({path.stem for path in folder.iterdir()}) == 1


class Locked:
    """A store that somebody else writes to for a long time."""

    def __init__(self, engram: Driver) -> None:
        self._holder = apsw.Connection(str(engram.store))

    def __enter__(self) -> None:
        self._holder.execute("BEGIN EXCLUSIVE")

    def __exit__(self, *_: object) -> None:
        self._holder.close()


LATE = [
    ("session-start", {"source": "startup"}, "Fridays"),
    ("prompt-submit", {"prompt": "when do we deploy the billing service?"}, "Fridays"),
    ("stop", {"last_assistant_message": LEARNED}, "kind `summary`"),
    ("session-end", {"session_id": "s-0"}, "{}"),
]


@pytest.mark.parametrize(("event", "told", "answer"), LATE, ids=[row[0] for row in LATE])
def test_a_locked_store_holds_up_neither_the_agent_nor_its_answer(
    agent: Agent, event: str, told: dict[str, Any], answer: str
):
    agent("session-start", session_id="s-0")
    row = {"session_id": "s-1", "cwd": str(agent.engram.folder), **told}
    begun = time.monotonic()
    with Locked(agent.engram):
        done = child(
            agent.engram.folder,
            *("hook", event, "--agent", "claude-code"),
            stdin=json.dumps(row).encode(),
            ENGRAM_KEEP_PROMPTS="on",
            XDG_DATA_HOME=str(agent.engram.folder / "data"),
        )

    assert (done.code, done.err) == (0, "")
    assert answer in done.out
    assert done.out.count("\n") == 1
    assert time.monotonic() - begun < PATIENCE + 5
    assert "not written down within 2 s" in logged(agent.engram)[-1]


def test_what_was_said_is_written_down_after_it(agent: Agent):
    done = agent("stop", last_assistant_message=LEARNED)

    assert done["decision"] == "block"
    assert len(memories(agent.engram, kind=["learning"], standing=["pending"])) == 1


def test_a_checkout_that_takes_the_name_of_a_project_is_told_nothing_of_it(agent: Agent):
    for name in ("secret", "evil"):
        (agent.engram.folder / "work" / name / ".git").mkdir(parents=True)
    agent.engram.remember("The new product is called Moonbeam", "--scope", "project:secret")
    word = agent.engram.folder / "work" / "evil" / ".engram" / "config.json"
    word.parent.mkdir()
    word.write_text('{"project": "secret"}')
    there = {"cwd": str(agent.engram.folder / "work" / "evil")}

    assert "Moonbeam" not in agent.told("session-start", **there)
    assert "Moonbeam" not in agent.told("prompt-submit", prompt="what is the new product called?", **there)
    agent("subagent-stop", last_assistant_message=LEARNED, **there)
    assert memories(agent.engram, kind=["learning"], everywhere=True) == []
    assert "says that this is secret" in logged(agent.engram)[0]


def test_a_reader_that_has_left_is_no_error(tmp_path: Path):
    command = f"'{sys.executable}' -m engram.surfaces.cli hook session-start; echo $? >&2"
    done = subprocess.run(
        ["/bin/sh", "-c", f"({command}) | true"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
        env=environment(tmp_path),
        cwd=tmp_path,
        timeout=60,
    )

    assert done.stderr.split() == [b"0"]


def test_an_interrupted_hook_says_nothing(agent: Agent, monkeypatch: pytest.MonkeyPatch):
    class Stubborn:
        """A standard input that is interrupted."""

        buffer = property(lambda _: (_ for _ in ()).throw(KeyboardInterrupt))

        def isatty(self) -> bool:
            return False

    monkeypatch.setattr(sys, "stdin", Stubborn())

    assert hooks.run(["session-start"]) == 0
    assert "KeyboardInterrupt" in logged(agent.engram)[0]


@pytest.mark.parametrize("event", ["session-start", "prompt-submit", "stop", "pre-compact", "session-end"])
def test_a_hook_starts_without_heavy_libraries(agent: Agent, event: str):
    row = {"session_id": "s", "prompt": "when do we deploy billing?", "last_assistant_message": LEARNED}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "engram.surfaces.cli", "hook", event],
        input=json.dumps(row), capture_output=True, check=True, text=True,
        env=environment(agent.engram.folder), cwd=agent.engram.folder, timeout=60,
    )  # fmt: skip
    loaded = {name.split(".")[0] for name in re.findall(r"\|\s+([\w.]+)$", done.stderr, re.MULTILINE)}

    assert loaded & (HEAVY | {"subprocess", "pathlib", "hashlib", "tomllib"}) == set()
