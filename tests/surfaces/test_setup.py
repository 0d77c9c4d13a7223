"""`engram setup`: shows first, writes on a yes, twice is once, and takes itself back to the byte."""

import fcntl
import hashlib
import json
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from engram.errors import Conflict
from engram.projects.agents import AGENTS
from engram.surfaces.commands import journal as journals
from engram.surfaces.commands.journal import Journal, digest, write_plain
from engram.surfaces.commands.setup import LONG, Change, _carried_out
from surfaces.driving import Driver, at_terminal, environment

CONFIGS = Path(__file__).resolve().parents[1] / "projects" / "configs"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "agents.md"
NAMES = [agent.name for agent in AGENTS]
WORDS = re.compile(rb'"(?:[^"\\\\]|\\\\.)*"|//.*|[\w.]+')


@pytest.fixture
def setup(engram: Driver, monkeypatch: pytest.MonkeyPatch) -> Driver:
    """The command in a home where no program is found, with its settings in the usual places."""
    monkeypatch.setenv("PATH", str(engram.folder / "bin"))
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    return engram


def furnish(folder: Path, agent: str) -> None:
    """Put the existing settings of an agent into a home; in the tests' folder their dots are spelled out."""
    for source in sorted((CONFIGS / agent).rglob("*")):
        parts = [
            part.replace("dot-", ".", 1) if part.startswith("dot-") else part
            for part in source.relative_to(CONFIGS / agent).parts
        ]
        target = folder.joinpath(*parts)
        if source.is_dir():
            target.mkdir(exist_ok=True)
        else:
            target.write_bytes(source.read_bytes())
            target.chmod(0o640)


def picture(folder: Path) -> dict[str, tuple[int, bytes | None]]:
    """Every file and folder of a home but for Engram's own: its mode and its bytes."""
    paths = (path for path in sorted(folder.rglob("*")) if "data" not in path.relative_to(folder).parts[:1])
    return {
        str(path.relative_to(folder)): (
            stat.S_IMODE(path.stat().st_mode),
            path.read_bytes() if path.is_file() else None,
        )
        for path in paths
    }


@pytest.mark.parametrize("furnished", [True, False], ids=["with settings", "with nothing"])
@pytest.mark.parametrize("agent", NAMES)
def test_a_set_up_goes_in_once_and_comes_out_to_the_byte(setup: Driver, agent: str, furnished: bool):
    if furnished:
        furnish(setup.folder, agent)
    before = picture(setup.folder)

    first = setup("setup", agent, "--yes")
    assert first.code == 0, first.err
    once = picture(setup.folder)
    assert once != before
    assert all(once[path][0] == mode for path, (mode, _) in before.items())
    assert {mode for path, (mode, data) in once.items() if path not in before and data is not None} <= {
        0o600,
        0o700,
    }

    again = setup("setup", agent, "--yes")
    assert (again.code, again.out) == (0, "Nothing to change: all is set up.\n")
    assert picture(setup.folder) == once

    removed = setup("setup", "--remove", agent, "--yes")
    assert removed.code == 0, removed.err
    assert picture(setup.folder) == before
    assert not (setup.folder / "data" / "engram" / "setup").exists()


@pytest.mark.parametrize("agent", [name for name in NAMES if (CONFIGS / name).is_dir()])
def test_what_others_set_is_still_set(setup: Driver, agent: str):
    furnish(setup.folder, agent)
    before = picture(setup.folder)
    setup("setup", agent, "--yes")

    for path, (_, data) in before.items():
        if data is not None:
            now = iter(WORDS.findall((setup.folder / path).read_bytes()))
            assert all(word in now for word in WORDS.findall(data)), f"{path} lost words, or their order"


def test_there_are_settings_of_every_agent_to_try_it_on():
    assert {path.name for path in CONFIGS.iterdir()} == set(NAMES)


# --- showing and asking ---


def test_away_from_a_terminal_it_shows_and_writes_nothing(setup: Driver):
    furnish(setup.folder, "claude-code")
    before = picture(setup.folder)
    shown = setup("setup", "claude-code")

    assert shown.code == 0
    assert "--- ~/.claude.json\n+++ ~/.claude.json\n@@ " in shown.out
    assert '+    "engram": {' in shown.out
    assert "Nothing was written. To write 3 files: engram setup claude-code --yes" in shown.out
    assert picture(setup.folder) == before


def patched(text: str, diff: str) -> str:
    """A text with a unified diff applied: as patch(1) does it."""
    old, new, at = text.splitlines(keepends=True), [], 0
    lines = diff.splitlines()[2:]
    for index, line in enumerate(lines):
        if hunk := re.match(r"@@ -(\d+)(?:,(\d+))?", line):
            start = int(hunk[1]) - (hunk[2] != "0")
            new += old[at:start]
            at = start
        elif line.startswith(("+", " ")):
            bare = lines[index + 1 : index + 2] == ["\\ No newline at end of file"]
            new.append(line[1:] + ("" if bare else "\n"))
        if line.startswith(("-", " ")):
            assert old[at].rstrip("\n") == line[1:]
            at += 1
    return "".join(new + old[at:])


@pytest.mark.parametrize("agent", NAMES)
def test_what_is_shown_is_a_patch_of_what_is_written(setup: Driver, agent: str):
    furnish(setup.folder, agent)
    shown = {Path(file["path"]): file["diff"] for file in setup("setup", agent, "--json").json["files"]}
    before = {path: path.read_bytes().decode() if path.exists() else "" for path in shown}
    setup("setup", agent, "--yes")

    for path, diff in shown.items():  # on a terminal a line's end is not to be seen
        assert patched(before[path].replace("\r\n", "\n"), diff) == path.read_bytes().decode().replace("\r\n", "\n")


def test_a_typed_yes_writes_and_anything_else_does_not(tmp_path: Path):
    (tmp_path / ".zed").mkdir()
    code, screen = at_terminal(tmp_path, "setup", "zed", keys={"Type yes": "y\n"})
    assert (code, (tmp_path / ".config").exists()) == (0, False)
    assert "Nothing was written." in screen

    code, screen = at_terminal(tmp_path, "setup", "zed", keys={"Type yes to write 2 files: ": "yes\n"})
    assert code == 0
    assert "Wrote ~/.config/zed/settings.json" in screen
    assert "Next: restart Zed." in screen
    assert "To take it back: engram setup --remove zed" in screen


def test_without_a_name_those_that_are_found_are_set_up(setup: Driver):
    assert "No agent was found" in setup("setup", "--yes").out

    (setup.folder / ".cursor").mkdir()
    (setup.folder / ".codex").mkdir()
    told = setup("setup", "--yes")
    assert "restart Codex, Cursor." in told.out
    assert "/hooks in Codex" in told.out
    assert (setup.folder / ".cursor" / "mcp.json").exists()
    assert not (setup.folder / ".gemini").exists()


def test_a_machine_is_told_in_json(setup: Driver):
    furnish(setup.folder, "zed")
    shown = setup("setup", "zed", "--json")

    assert shown.json["written"] is False
    assert [(Path(file["path"]).name, file["change"]) for file in shown.json["files"]] == [
        ("settings.json", "edit"),
        ("AGENTS.md", "create"),
    ]
    done = setup("setup", "zed", "--yes", "--json").json
    assert done["written"] is True
    assert {file["change"] for file in setup("setup", "zed", "--json").json["files"]} == {"none"}


@pytest.mark.parametrize("words", [["emacs"], ["--force"], ["claude-code", "emacs", "--yes"]])
def test_what_is_not_known_is_refused_and_nothing_is_written(setup: Driver, words: list[str]):
    assert setup("setup", *words).code == 2
    assert picture(setup.folder) == {}


# --- what cannot be edited is left alone, and the rest is done ---


def refused(setup: Driver, path: str, code: int, words: str) -> None:
    """Claude Code is set up but for one file, which is said and stays as it is; without its server it is not."""
    files = {"~/.claude.json", "~/.claude/settings.json", "~/.claude/CLAUDE.md"}
    done = setup("setup", "claude-code", "--yes")

    assert done.code == code, done.err
    assert f"{path} is left as it is." in done.err
    assert words in done.err
    rest = set() if path == "~/.claude.json" else files - {path}
    assert {line.removeprefix("Wrote ") for line in done.out.splitlines() if line.startswith("Wrote")} == rest
    if rest:
        assert f"1 file was left alone:\n  {path}: " in done.out
        assert done.out.index("left alone") > done.out.index("Wrote")
    else:
        assert "restart" not in done.out


def test_a_file_that_is_not_json_is_left_alone(setup: Driver):
    furnish(setup.folder, "claude-code")
    file = setup.folder / ".claude" / "settings.json"
    file.write_text('{"model": "opus",,}')

    refused(setup, "~/.claude/settings.json", 2, "not valid JSON")
    assert file.read_text() == '{"model": "opus",,}'


@pytest.mark.parametrize(("agent", "file"), [("cursor", "mcp.json"), ("codex", "config.toml")])
def test_a_file_that_cannot_be_understood_is_told_with_the_next_step(setup: Driver, agent: str, file: str):
    folder = setup.folder / f".{agent}"
    folder.mkdir()
    (folder / file).write_text("{,}")
    done = setup("setup", agent, "--yes")

    assert (done.code, "It is not valid" in done.err) == (2, True)
    assert "Mend it or move it away, and run the same command again." in done.err


def test_a_file_that_setup_never_wrote_to_keeps_no_removal_from_going_well(setup: Driver):
    furnish(setup.folder, "claude-code")
    before = picture(setup.folder)
    setup("setup", "claude-code", "--yes")
    foreign = setup.folder / ".cursor" / "mcp.json"
    foreign.parent.mkdir()
    foreign.write_text("{,}")
    done = setup("setup", "--remove", "--yes")

    assert (done.code, done.err) == (0, "")
    assert foreign.read_text() == "{,}"
    foreign.unlink()
    foreign.parent.rmdir()
    assert picture(setup.folder) == before
    assert "Nothing to take out." in setup("setup", "--remove", "--yes").out


def test_a_file_of_ours_that_cannot_be_understood_any_more_is_told_at_a_removal(setup: Driver):
    furnish(setup.folder, "claude-code")
    setup("setup", "claude-code", "--yes")
    (setup.folder / ".claude" / "settings.json").write_text("{,}")
    done = setup("setup", "--remove", "--yes")

    assert (done.code, "~/.claude/settings.json is left as it is." in done.err) == (2, True)


def test_a_link_is_left_alone_and_so_is_where_it_leads(setup: Driver):
    furnish(setup.folder, "claude-code")
    file, elsewhere = setup.folder / ".claude.json", setup.folder / "dotfiles.json"
    file.rename(elsewhere)
    file.symlink_to(elsewhere)
    before = elsewhere.read_bytes()

    refused(setup, "~/.claude.json", 5, "symbolic link")
    assert (file.is_symlink(), elsewhere.read_bytes()) == (True, before)


def test_a_linked_folder_is_left_alone(setup: Driver):
    furnish(setup.folder, "codex")
    (setup.folder / ".codex").rename(setup.folder / "dotfiles")
    (setup.folder / ".codex").symlink_to(setup.folder / "dotfiles")
    before = picture(setup.folder)

    assert setup("setup", "codex", "--yes").code == 5
    assert picture(setup.folder) == before


def test_a_name_that_is_taken_is_left_alone(setup: Driver):
    file = setup.folder / ".claude.json"
    file.write_text('{"mcpServers": {"engram": {"command": "another-engram"}}}')

    refused(setup, "~/.claude.json", 5, "mcpServers.engram is set already, and not by Engram.")
    assert "another-engram" in file.read_text()


def test_a_home_that_takes_nothing_is_said_without_a_word_of_memories(
    setup: Driver, monkeypatch: pytest.MonkeyPatch
):
    home = setup.folder / "other"
    (home / ".claude").mkdir(parents=True)
    (home / ".local").touch()
    for name in ("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    done = setup("setup", "claude-code", "--yes")

    assert done.code == 7
    assert "cannot be used" in done.err
    assert "history" not in done.err


def test_a_read_only_file_is_left_alone(setup: Driver):
    furnish(setup.folder, "claude-code")
    (setup.folder / ".claude" / "CLAUDE.md").chmod(0o444)

    refused(setup, "~/.claude/CLAUDE.md", 7, "read-only")


def test_a_folder_in_the_place_of_a_file_is_left_alone(setup: Driver):
    (setup.folder / ".claude.json").mkdir()

    refused(setup, "~/.claude.json", 5, "not a plain file")


def test_a_file_that_cannot_be_read_is_left_alone(setup: Driver):
    furnish(setup.folder, "claude-code")
    (setup.folder / ".claude.json").chmod(0)

    refused(setup, "~/.claude.json", 7, "cannot be read")


def test_a_file_that_changed_while_a_person_looked_is_left_alone_and_so_is_what_needs_it(tmp_path: Path):
    server, hooks = tmp_path / "settings.json", tmp_path / "hooks.json"
    server.write_bytes(b"{}")
    plan = [
        Change(str(server), ("zed",), ("zed",), b"{ }", b"{1}"),
        Change(str(hooks), ("zed",), (), None, b"[]"),
        Change(str(tmp_path / "other.json"), ("codex",), ("codex",), None, b"[]"),
    ]
    done = _carried_out(plan, Journal(str(tmp_path / "j")), removing=False)

    assert [type(change.error) for change in done] == [Conflict, Conflict, type(None)]
    assert (server.read_bytes(), hooks.exists()) == (b"{}", False)
    assert (tmp_path / "other.json").read_bytes() == b"[]"


def test_an_agent_whose_server_is_refused_gets_nothing_and_the_others_all(setup: Driver):
    (setup.folder / ".codex").mkdir()
    (setup.folder / ".codex" / "config.toml").write_text('mcp_servers = { x = { command = "y" } }\n')
    before = picture(setup.folder)
    done = setup("setup", "codex", "zed", "--yes")

    assert done.code == 5
    assert [line for line in done.out.splitlines() if ".codex" in line] == [
        "  ~/.codex/config.toml: mcp_servers.engram cannot be set beside what is there."
    ]
    assert "Not connected: Codex. Without its server nothing else is written.\nNext: restart Zed.\n" in done.out
    after = picture(setup.folder)
    assert {path: after[path] for path in after if path.startswith(".codex")} == before
    assert ".config/zed/AGENTS.md" in after


def test_of_two_agents_that_share_a_file_the_one_without_a_server_has_no_part_in_it(setup: Driver):
    furnish(setup.folder, "antigravity")
    (setup.folder / ".gemini" / "config" / "mcp_config.json").write_text("{,}")
    setup("setup", "gemini-cli", "antigravity", "--yes")
    manifest = json.loads((setup.folder / "data" / "engram" / "setup" / "manifest.json").read_text())

    assert manifest["files"][str(setup.folder / ".gemini" / "GEMINI.md")]["agents"] == ["gemini-cli"]


# --- backups ---


def test_the_bytes_that_were_there_are_kept_in_private(setup: Driver):
    furnish(setup.folder, "claude-code")
    before = (setup.folder / ".claude.json").read_bytes()
    setup("setup", "claude-code", "--yes")
    folder = setup.folder / "data" / "engram" / "setup"
    row = json.loads((folder / "manifest.json").read_text())["files"][str(setup.folder / ".claude.json")]

    assert row["before"] == hashlib.sha256(before).hexdigest()
    assert row["after"] == hashlib.sha256((setup.folder / ".claude.json").read_bytes()).hexdigest()
    assert (folder / f"{row['before']}.bak").read_bytes() == before
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(folder.with_name("setup.lock").stat().st_mode) == 0o600
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_of_a_file_that_was_changed_since_only_our_parts_go(setup: Driver):
    furnish(setup.folder, "claude-code")
    file = setup.folder / ".claude.json"
    before = file.read_text()
    setup("setup", "claude-code", "--yes")
    file.write_text(file.read_text().replace('"numStartups": 214', '"numStartups": 215'))
    done = setup("setup", "--remove", "claude-code", "--yes")

    assert "It was changed since it was set up: only our parts are taken out." in done.out
    assert file.read_text() == before.replace('"numStartups": 214', '"numStartups": 215')


def test_a_file_of_ours_that_others_filled_stays(setup: Driver):
    setup("setup", "windsurf", "--yes")
    rules = setup.folder / ".codeium" / "windsurf" / "memories" / "global_rules.md"
    rules.write_text("Mine.\n" + rules.read_text())
    setup("setup", "--remove", "--yes")

    assert rules.read_text() == "Mine.\n"
    assert list(rules.parent.parent.rglob("*")) == [rules.parent, rules]


def test_set_up_anew_after_a_change_still_comes_out_to_what_the_person_has(setup: Driver):
    furnish(setup.folder, "zed")
    file = setup.folder / ".config" / "zed" / "settings.json"
    before = file.read_text()
    setup("setup", "zed", "--yes")
    file.write_text(
        file.read_text().replace('"ui_font_size": 16', '"ui_font_size": 17').replace('["mcp"]', '["old"]')
    )
    assert setup("setup", "zed", "--yes").code == 0
    assert '["mcp"]' in file.read_text()
    setup("setup", "--remove", "zed", "--yes")

    assert file.read_text() == before.replace('"ui_font_size": 16', '"ui_font_size": 17')


def test_an_engram_that_moved_is_found_in_its_new_place(setup: Driver, monkeypatch: pytest.MonkeyPatch):
    furnish(setup.folder, "gemini-cli")
    before = picture(setup.folder)
    setup("setup", "gemini-cli", "--yes")
    moved = setup.folder / "data" / "engram"
    write_plain(str(moved / "engram"), b"#!/bin/sh\n", 0o700)
    monkeypatch.setattr(sys, "argv", [str(moved / "engram")])
    assert setup("setup", "gemini-cli", "--yes").code == 0
    text = (setup.folder / ".gemini" / "settings.json").read_text()
    assert text.count(f'"{moved / "engram"}') == text.count("engram hook") + 1 == 5

    setup("setup", "--remove", "--yes")
    assert picture(setup.folder) == before


@pytest.mark.parametrize("steps", [["gemini-cli antigravity"], ["gemini-cli", "antigravity"]])
def test_two_agents_share_a_file_until_the_last_one_goes(setup: Driver, steps: list[str]):
    furnish(setup.folder, "antigravity")
    file = setup.folder / ".gemini" / "GEMINI.md"
    before = file.read_bytes()
    for step in steps:
        setup("setup", *step.split(), "--yes")
    both = file.read_bytes()
    assert both.count(b"engram:begin") == 1

    setup("setup", "--remove", "gemini-cli", "--yes")
    assert file.read_bytes() == both
    setup("setup", "--remove", "antigravity", "--yes")
    assert file.read_bytes() == before


def test_what_was_written_is_taken_out_even_if_the_manifest_is_lost(setup: Driver):
    furnish(setup.folder, "opencode")
    before = picture(setup.folder)
    setup("setup", "opencode", "--yes")
    (setup.folder / "data" / "engram" / "setup" / "manifest.json").unlink()
    setup("setup", "--remove", "opencode", "--yes")

    assert picture(setup.folder) == before


@pytest.mark.parametrize("changed", [False, True])
def test_a_file_that_its_agent_left_behind_goes_back_or_is_said(setup: Driver, changed: bool):
    setup("setup", "opencode", "--yes")
    folder = setup.folder / ".config" / "opencode"
    (folder / "opencode.jsonc").write_text("{}")
    if changed:
        (folder / "opencode.json").write_text((folder / "opencode.json").read_text() + "\n")
    done = setup("setup", "--remove", "opencode", "--yes")

    assert (done.code, (folder / "opencode.json").exists()) == ((5, True) if changed else (0, False))
    assert ("its agent looks elsewhere now" in done.err) == changed


def test_a_damaged_backup_is_not_put_back(setup: Driver):
    furnish(setup.folder, "zed")
    setup("setup", "zed", "--yes")
    once = picture(setup.folder)
    backup = next((setup.folder / "data" / "engram" / "setup").glob("*.bak"))
    backup.write_bytes(b"{}")
    done = setup("setup", "--remove", "zed", "--yes")

    assert (done.code, "backup of it is gone or was changed" in done.err) == (8, True)
    assert picture(setup.folder)[".config/zed/settings.json"] == once[".config/zed/settings.json"]


def test_a_write_that_was_cut_off_after_its_record_leaves_a_way_back(setup: Driver):
    furnish(setup.folder, "zed")
    before = picture(setup.folder)
    path = setup.folder / ".config" / "zed" / "settings.json"
    journal = Journal(str(setup.folder / "data" / "engram" / "setup"))
    journal.keep({str(path): journal.kept(path.read_bytes(), ("zed",), "0" * 64)})

    assert setup("setup", "--remove", "--yes").code == 0
    assert picture(setup.folder) == before
    assert setup("setup", "zed", "--yes").code == 0
    assert setup("setup", "--remove", "zed", "--yes").code == 0
    assert picture(setup.folder) == before


def test_nothing_of_ours_is_nothing_to_take_out(setup: Driver):
    furnish(setup.folder, "claude-code")
    before = picture(setup.folder)

    assert setup("setup", "--remove", "--yes").out == "Nothing to take out.\n"
    assert picture(setup.folder) == before


def test_a_removal_asks_first_too(setup: Driver):
    setup("setup", "zed", "--yes")
    once = picture(setup.folder)

    assert (
        "Nothing was written. To remove 2 files: engram setup --remove zed --yes"
        in setup("setup", "--remove", "zed").out
    )
    assert picture(setup.folder) == once


def test_a_removal_for_all_names_only_who_was_set_up_and_what_would_be_done(setup: Driver):
    furnish(setup.folder, "cursor")
    setup("setup", "cursor", "--yes")
    done = setup("setup", "--remove")

    assert re.search(
        r"To restore \d files?( and remove \d files?)?: engram setup --remove cursor --yes\n$", done.out
    )


def test_a_file_that_is_broken_does_not_hide_that_the_rest_is_set_up(setup: Driver):
    setup("setup", "zed", "cursor", "--yes")
    (setup.folder / ".cursor" / "mcp.json").write_text("{")
    done = setup("setup", "zed", "cursor")

    assert "mcp.json is left as it is" in done.err
    assert done.out == "Nothing else to change: the rest is set up.\n"


# --- what spoke of Engram before the first set-up ---

OWN = (
    '{"mcpServers": {"engram": {"command": "/my/wrapper", "env": {"ENGRAM_AGENT": "me", "ENGRAM_STORE": "/d"}}}}\n'
)


def test_an_entry_of_a_persons_own_is_kept_and_comes_back_to_the_byte(setup: Driver):
    file = setup.folder / ".claude.json"
    file.write_text(OWN)
    assert setup("setup", "claude-code", "--yes").code == 0
    entry = json.loads(file.read_text())["mcpServers"]["engram"]
    assert entry["env"] == {"ENGRAM_AGENT": "claude-code", "ENGRAM_STORE": "/d"}

    done = setup("setup", "--remove", "--yes")
    assert "Engram was in it before it was set up: that stays." in done.out
    assert file.read_text() == OWN


def test_an_entry_of_a_persons_own_comes_back_into_a_file_that_was_changed_since(setup: Driver):
    file = setup.folder / ".claude.json"
    file.write_text(OWN)
    setup("setup", "claude-code", "--yes")
    file.write_text(file.read_text().replace('{"mcpServers"', '{"numStartups": 2, "mcpServers"'))
    setup("setup", "claude-code", "--yes")
    setup("setup", "--remove", "--yes")

    assert json.loads(file.read_text()) == {"numStartups": 2, **json.loads(OWN)}


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_script_with_lines_of_a_person_is_neither_overwritten_nor_removed(setup: Driver, when: str):
    file = setup.folder / ".cline" / "hooks" / "TaskStart"
    own = "#!/bin/sh\n/opt/my/audit.sh\nexec engram hook session-start --agent cline\n"
    if when == "before":
        write_plain(str(file), own.encode(), 0o700)
    first = setup("setup", "cline", "--yes")
    assert (first.code, "~/.cline/hooks/TaskStart is left as it is." in first.err) == (
        (5, True) if when == "before" else (0, False)
    )
    file.write_text(own)

    assert setup("setup", "cline", "--yes").code == 5
    removed = setup("setup", "--remove", "cline", "--yes")
    assert "calls Engram, and is not what setup writes" in removed.err
    assert file.read_text() == own


@pytest.mark.parametrize(
    ("agent", "path"),
    [("cline", ".cline/rules/engram.md"), ("vscode", ".copilot/instructions/engram.instructions.md")],
)
def test_a_rule_that_a_person_adds_to_our_file_stays(setup: Driver, agent: str, path: str):
    setup("setup", agent, "--yes")
    file = setup.folder / path
    file.write_text(file.read_text() + "\nNever push on Fridays.\n")

    assert setup("setup", agent, "--yes").code == 0
    assert "Never push on Fridays." in file.read_text()
    setup("setup", "--remove", agent, "--yes")
    assert "Never push on Fridays." in file.read_text()
    assert "engram:begin" not in file.read_text()


# --- two at once ---


def test_two_set_ups_at_once_keep_each_others_records_and_backups(tmp_path: Path):
    folder = tmp_path / "setup"
    waiting, other = Journal(str(folder)), Journal(str(folder))  # the first waits for its person
    other.keep({"/h/codex": other.kept(b"of codex", ("codex",), digest(b"x"))}, made=["/h/made"])
    waiting.keep({"/h/claude": waiting.kept(b"of claude", ("claude-code",), digest(b"y"))})
    now = Journal(str(folder))

    assert sorted(now.records) == ["/h/claude", "/h/codex"]
    assert [now.backup(record) for record in now.records.values()] == [b"of codex", b"of claude"]
    waiting.keep({"/h/claude": None})
    assert Journal(str(folder)).backup(now.records["/h/codex"]) == b"of codex"


def test_a_backup_is_not_lost_with_the_manifest(tmp_path: Path):
    journal = Journal(str(tmp_path / "setup"))
    record = journal.kept(b"of a person", ("codex",), digest(b"x"))
    journal.keep({"/h/codex": record})
    (tmp_path / "setup" / "manifest.json").unlink()
    later = Journal(str(tmp_path / "setup"))
    later.keep({"/h/zed": later.kept(b"more", ("zed",), digest(b"y"))})
    later.keep({"/h/zed": None})

    assert later.backup(record) == b"of a person"


def test_a_file_that_another_set_up_took_meanwhile_is_left_alone(tmp_path: Path):
    file = tmp_path / "GEMINI.md"
    file.write_bytes(b"ours")
    journal, other = (Journal(str(tmp_path / "j")) for _ in range(2))
    journal.keep({str(file): journal.kept(None, ("gemini-cli",), digest(b"ours"))})
    known = journal.records[str(file)]
    other.keep({str(file): known._replace(agents=("gemini-cli", "antigravity"))})
    plan = Change(str(file), ("gemini-cli",), before=b"ours", after=None, known=known)
    (done,) = _carried_out([plan], journal, removing=True)

    assert isinstance(done.error, Conflict)
    assert file.read_bytes() == b"ours"
    assert Journal(str(tmp_path / "j")).records[str(file)].agents == ("gemini-cli", "antigravity")


def test_a_set_up_that_another_one_keeps_out_says_so(setup: Driver, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(journals, "LONGEST_WAIT", 0.1)
    lock = setup.folder / "data" / "engram" / "setup.lock"
    lock.parent.mkdir(parents=True)
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        done = setup("setup", "zed", "--yes")
        assert (done.code, "Another engram setup is writing." in done.err) == (7, True)
        assert not (setup.folder / ".config").exists()
    assert setup("setup", "zed", "--yes").code == 0


# --- what is easy to miss ---


def test_of_a_long_line_what_changes_is_shown(setup: Driver):
    file = setup.folder / ".claude.json"
    many = {f"server-{number}": {"command": "x", "env": {"KEY": f"secret-{number}"}} for number in range(40)}
    file.write_text(json.dumps({"mcpServers": many, "last": True}))
    lines = setup("setup", "claude-code").out.partition("\n\n")[0]

    assert '"engram": {"type": "stdio"' in lines
    assert "secret-3" in lines
    assert "secret-1" not in lines
    assert max(map(len, lines.splitlines())) < 3 * LONG
    (exact,) = (
        row["diff"] for row in setup("setup", "claude-code", "--json").json["files"] if row["path"] == str(file)
    )
    assert "secret-1" in exact


def test_a_program_that_lies_in_a_checkout_is_said_with_what_makes_it_last(
    setup: Driver, monkeypatch: pytest.MonkeyPatch
):
    checkout = setup.folder / "clone"
    program = checkout / ".venv" / "bin" / "engram"
    write_plain(str(program), b"#!/bin/sh\n", 0o700)
    monkeypatch.setattr(sys, "argv", [str(program)])
    assert "checkout" not in setup("setup", "zed").out

    (checkout / ".venv" / "pyvenv.cfg").touch()
    (checkout / "pyproject.toml").touch()
    assert f"install it first (pipx install {checkout})" in setup("setup", "zed").out
    assert "goes with it" in setup("setup", "zed", "--json").json["remark"]
    assert f"Agents start {program}" in setup("setup", "zed", "--yes").out


def test_a_store_that_only_this_shell_knows_is_said(setup: Driver):
    said = setup("setup", "zed")
    assert f'  store = "{setup.store}"\ninto {setup.folder}' in said.out
    assert "engram.toml" in setup("setup", "zed", "--json").json["remark"]

    setup.set(ENGRAM_STORE="")
    assert "ENGRAM_STORE" not in setup("setup", "zed").out


def test_a_store_that_the_settings_name_too_is_not_said(setup: Driver):
    write_plain(
        str(setup.folder / ".config" / "engram" / "engram.toml"), f'store = "{setup.store}"\n'.encode(), 0o600
    )

    said = setup("setup", "zed").out
    assert "Nothing was written" in said
    assert "ENGRAM_STORE" not in said


# --- the page ---

STUB = """#!{python}
import sys
from engram.surfaces.cli import main
sys.exit(main())
"""


def recorded(folder: Path, command: str) -> str:
    """What a shell shows for a command, with the home folder as ~."""
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        capture_output=True,
        check=False,
        text=True,
        cwd=folder / "api",
        env=environment(folder, ENGRAM_STORE="") | {"PATH": f"{folder}/.local/bin:/usr/bin:/bin", "NO_COLOR": "1"},
        timeout=60,
    )
    return (done.stdout + done.stderr).replace(str(folder), "~")


def test_the_recorded_sessions_on_the_page_are_what_happens(tmp_path: Path):
    write_plain(str(tmp_path / ".local" / "bin" / "engram"), STUB.format(python=sys.executable).encode(), 0o700)
    (tmp_path / "api").mkdir()
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / "settings.json").write_text('{\n  "model": "opus"\n}\n')
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 2
    for block in blocks:
        for command, shown in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            assert recorded(tmp_path, command) == shown, command
