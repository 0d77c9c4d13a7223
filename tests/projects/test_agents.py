"""The table of agents: found by folder or program, and written into files of the person's own alone."""

import json
import os
import re
import shlex
import stat
import sys
import tomllib
from pathlib import Path

import pytest

from engram.errors import Invalid
from engram.projects import forms, jsonc
from engram.projects.agents import AGENTS, BY_NAME, EXECUTABLE, SHORT, Agent, Home, Launch, launch, named
from engram.projects.edits import apply
from engram.projects.protocol import BEGIN, INSTRUCTIONS, summary_request
from engram.surfaces.commands.hook import PATIENCE

START = Launch("/opt/my tools/engram")


def home(folder: Path, **variables: str) -> Home:
    return Home(str(folder), variables, "linux")


def written(agent: Agent, place: Home, start: Launch = START) -> dict[str, str]:
    """What is written for an agent that has no file yet."""
    return {target.path: apply(b"", target.pieces).decode() for target in agent.targets(place, start)}


def commands(text: str) -> list[str]:
    return re.findall(r'"command": "((?:[^"\\]|\\.)* hook [^"]*)"|^exec (.* hook .*)$', text, re.MULTILINE)


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_an_agent_gets_a_server_and_is_told_how_to_use_it(agent: Agent, tmp_path: Path):
    texts = list(written(agent, home(tmp_path)).values())

    assert any('"ENGRAM_AGENT"' in text or "ENGRAM_AGENT =" in text for text in texts)
    assert any(agent.name in text for text in texts)
    told = any(BEGIN in text for text in texts)
    assert told or (agent.name == "cursor" and any("session-start" in text for text in texts))


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_what_is_written_for_an_agent_can_be_read_by_it(agent: Agent, tmp_path: Path):
    for path, text in written(agent, home(tmp_path)).items():
        if path.endswith((".json", ".jsonc")):
            assert isinstance(json.loads(text), dict)
        elif path.endswith(".toml"):
            assert tomllib.loads(text)["mcp_servers"]["engram"]["args"] == ["mcp"]
        else:
            assert BEGIN in text or text.startswith("#!/bin/sh\n")


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_every_hook_that_is_written_names_an_event_we_know_and_its_agent(agent: Agent, tmp_path: Path):
    found = [groups for text in written(agent, home(tmp_path)).values() for groups in commands(text)]

    assert bool(found) == (agent.name not in ("opencode", "zed"))  # which have none
    for groups in found:
        words = shlex.split(json.loads(f'"{"".join(groups)}"'))

        assert words[0] == START.program
        assert words[1] == "hook"
        assert forms.read(agent.name, words[2], {}).agent == agent.name
        assert words[3:] == ["--agent", agent.name]


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_only_files_below_the_home_folder_are_written(agent: Agent, tmp_path: Path):
    for target in agent.targets(home(tmp_path), START):
        assert target.path.startswith(f"{tmp_path}{os.sep}")


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.name)
def test_an_agent_is_found_by_its_folder_or_its_program(agent: Agent, tmp_path: Path):
    place = home(tmp_path, PATH=str(tmp_path / "bin"))
    assert agent.found(place) == ""

    folder = Path(agent.folders(place)[0])
    folder.mkdir(parents=True)
    assert agent.found(place) == str(folder)

    folder.rmdir()
    program = tmp_path / "bin" / agent.programs[0]
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    assert agent.found(place) == str(program)


def test_folders_that_a_variable_moved_are_found_there(tmp_path: Path):
    moved = {
        "CLAUDE_CONFIG_DIR": str(tmp_path / "c"),
        "CODEX_HOME": str(tmp_path / "x"),
        "COPILOT_HOME": "relative",
    }
    place = home(tmp_path / "home", **moved)
    paths = [path for name in ("claude-code", "codex", "vscode") for path in written(BY_NAME[name], place)]

    assert str(tmp_path / "c" / ".claude.json") in paths
    assert str(tmp_path / "c" / "settings.json") in paths
    assert str(tmp_path / "x" / "config.toml") in paths
    assert str(tmp_path / "home" / ".copilot" / "hooks" / "engram.json") in paths


def test_programs_with_a_window_keep_their_settings_where_the_system_says(tmp_path: Path):
    for platform, part in (("darwin", "Library/Application Support/Code"), ("linux", ".config/Code")):
        place = Home(str(tmp_path), {}, platform)
        assert str(tmp_path / part / "User" / "mcp.json") in written(BY_NAME["vscode"], place)
    roaming = Home(str(tmp_path), {"APPDATA": str(tmp_path / "R")}, "win32")
    assert str(tmp_path / "R" / "Zed" / "settings.json") in written(BY_NAME["zed"], roaming)
    assert not any("hooks" in path for path in written(BY_NAME["cline"], roaming))


def test_opencode_is_written_into_the_file_it_has(tmp_path: Path):
    file = tmp_path / ".config" / "opencode" / "opencode.jsonc"
    file.parent.mkdir(parents=True)
    file.write_text("{}")

    assert str(file) in written(BY_NAME["opencode"], home(tmp_path))


def test_an_older_cline_is_written_where_it_still_looks(tmp_path: Path):
    older = tmp_path / ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
    older.parent.mkdir(parents=True)
    older.write_text("{}")
    assert str(older) in written(BY_NAME["cline"], home(tmp_path))

    (tmp_path / ".cline" / "data").mkdir(parents=True)
    assert str(older) not in written(BY_NAME["cline"], home(tmp_path))


def test_a_script_can_be_run_by_its_owner_alone(tmp_path: Path):
    targets = {Path(target.path).name: target for target in BY_NAME["cline"].targets(home(tmp_path), START)}

    assert targets["TaskStart"].mode == EXECUTABLE
    assert stat.S_IMODE(EXECUTABLE) & 0o077 == 0
    assert "exec '/opt/my tools/engram' hook session-start" in apply(b"", targets["TaskStart"].pieces).decode()


def test_a_program_that_is_started_through_python_is_written_so(tmp_path: Path):
    start = Launch("/usr/bin/python3", ("-m", "engram.surfaces.cli"))
    text = written(BY_NAME["opencode"], home(tmp_path), start)[str(tmp_path / ".config/opencode/opencode.json")]

    assert jsonc.read(text)["mcp"]["engram"]["command"] == ["/usr/bin/python3", "-m", "engram.surfaces.cli", "mcp"]


def test_the_running_command_is_what_agents_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    command = tmp_path / "engram"
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(command)])
    assert launch() == Launch(str(command))

    monkeypatch.setattr(sys, "argv", ["-m"])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    assert launch() == Launch(str(tmp_path / "bin" / "python"), ("-m", "engram.surfaces.cli"))


def test_an_agent_is_known_by_the_words_people_use():
    assert [named(word).name for word in ("Claude", "copilot", "gemini", "Claude Code", "agy")] == [
        "claude-code",
        "vscode",
        "gemini-cli",
        "claude-code",
        "antigravity",
    ]
    with pytest.raises(Invalid, match="emacs"):
        named("emacs")


def test_the_instructions_are_short():
    assert len(INSTRUCTIONS) / 4 < 300


def test_a_request_names_the_session_and_does_not_end_it():
    for text in (summary_request("s-1"), summary_request("s-1", compacted=True)):
        assert "`remember` tool with kind\n`summary`" in text or "`remember` tool with kind `summary`" in text
        assert ", session `s-1`" in text
        assert "session_end" not in text
    assert "session `" not in summary_request("")
    assert "compacted" in summary_request("s-1", compacted=True)


def test_every_agent_waits_longer_for_a_hook_than_it_takes(tmp_path: Path):
    texts = [text for agent in AGENTS for path, text in written(agent, home(tmp_path)).items() if "hook" in text]
    waits = [int(found) for text in texts for found in re.findall(r'"timeout": (\d+)', text)]

    assert len(waits) >= 20
    assert min(waits) == SHORT > PATIENCE
