"""Completion scripts: shells accept them, and bash completes what the command really takes."""

import shutil
import subprocess
from pathlib import Path

import pytest

from engram.service import OPERATIONS
from engram.surfaces.cli import EXTRA
from engram.surfaces.completion import SHELLS, script
from engram.surfaces.parsing import parser_for
from surfaces.driving import Driver

COMMANDS = [operation.command for operation in OPERATIONS.values()]


def completed(*words: str) -> list[str]:
    """What bash offers after these words, the last of which is being typed."""
    line = "\n".join(
        [
            script("bash", EXTRA),
            f"COMP_WORDS=({' '.join(repr(word) for word in ('engram', *words))})",
            f"COMP_CWORD={len(words)}",
            "_engram",
            'printf "%s\\n" "${COMPREPLY[@]}"',
        ]
    )
    done = subprocess.run(["bash", "--norc", "-c", line], capture_output=True, check=True, text=True)
    return done.stdout.split()


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_prints_a_script_for(engram: Driver, shell: str):
    done = engram("completion", shell)

    assert done.code == 0
    assert done.out == script(shell, EXTRA) + "\n"
    for name in (*COMMANDS, *EXTRA):
        assert name.partition(" ")[0] in done.out


@pytest.mark.parametrize("words", [(), ("bash", "zsh")], ids=str)
def test_without_one_shell_it_says_which_there_are(engram: Driver, words: tuple[str, ...]):
    done = engram("completion", *words)

    assert (done.code, done.out) == (2, "")
    assert "Use bash, zsh or fish." in done.err


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shutil.which(shell)])
def test_every_shell_of_this_machine_accepts_its_script(shell: str):
    done = subprocess.run([shell, "-n"], input=script(shell, EXTRA), capture_output=True, check=False, text=True)

    assert (done.returncode, done.stderr) == (0, "")


def offered_by_zsh(*words: str) -> list[str]:
    """What zsh would show after these words: its own part is played by functions that print what they are given."""
    talk = f"""
        compdef() {{ : }}
        {script("zsh", EXTRA)}
        _describe() {{ print -l -- ${{(P)@[-1]}} }}
        _files() {{ print FILES }}
        words=(engram {" ".join(repr(word) for word in words)}); CURRENT=$#words; PREFIX=$words[-1]; _engram
    """
    done = subprocess.run(["zsh", "-f", "-c", talk], capture_output=True, check=True, text=True)
    return done.stdout.splitlines()


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not on this machine")
def test_zsh_offers_commands_with_what_they_mean_then_options_or_files():
    remember = OPERATIONS["remember"]

    assert f"remember:{remember.summary}" in offered_by_zsh("re")
    assert "demo:" + EXTRA["demo"] in offered_by_zsh("")
    assert offered_by_zsh("backup", "") == ["create", "verify", "restore"]
    assert [each.partition(":")[0] for each in offered_by_zsh("doctor", "--")] == [
        *("--fix", "--hygiene", "--json", "--store", "--help"),
    ]
    assert offered_by_zsh("import", "") == ["FILES"]


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not on this machine")
def test_fish_offers_commands_options_and_files(tmp_path: Path):
    def offered(line: str) -> list[str]:
        told = f"{script('fish', EXTRA)}\ncomplete -C '{line}'"
        done = subprocess.run(
            ["fish", "--no-config"], input=told, cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return [each.partition("\t")[0] for each in done.stdout.splitlines()]

    (tmp_path / "old.jsonl").touch()

    assert offered("engram remem") == ["remember"]
    assert "old.jsonl" not in offered("engram ol")
    assert offered("engram backup ver") == ["verify"]
    assert offered("engram recall --ex") == ["--explain"]
    assert offered("engram import ol") == ["old.jsonl"]


def test_every_line_for_fish_is_a_complete_command_with_closed_quotes():
    for line in script("fish", EXTRA).splitlines():
        assert line.startswith("complete -c engram ")
        assert line.replace("\\'", "").count("'") % 2 == 0


def test_bash_is_told_which_command_it_completes():
    told = f"{script('bash', EXTRA)}\ncomplete -p engram"
    done = subprocess.run(["bash", "--norc", "-c", told], capture_output=True, check=True, text=True)

    assert done.stdout == "complete -F _engram engram\n"


def test_bash_completes_commands():
    assert set(completed("re")) == {
        "remember",
        "revise",
        "restore",
        "recall",
        "reembed",
        "reindex",
        "review",
        "reject",
    } | {
        "relate",
        "related",
        "remote",
        "rescue",
        "replicas",
    }
    assert completed("mod") == ["models"]
    assert set(completed("conf")) == {"config", "conflicts"}
    assert set(completed("")) == {*(name.partition(" ")[0] for name in COMMANDS), *EXTRA}
    assert completed("session", "") == ["begin", "end", "list"]
    assert completed("session", "be") == ["begin"]


def test_bash_completes_the_options_of_a_command():
    assert completed("remember", "--vis") == ["--visibility"]
    assert completed("recall", "deploy", "--ex") == ["--explain"]
    assert completed("doctor", "--") == ["--fix", "--hygiene", "--json", "--store", "--help"]


def accepted(name: str) -> set[str]:
    return {word for action in parser_for(OPERATIONS[name])._actions for word in action.option_strings}


@pytest.mark.parametrize("name", OPERATIONS)
def test_bash_offers_only_what_the_command_takes(name: str):
    assert set(completed(*OPERATIONS[name].command.split(), "--")) <= accepted(name)


@pytest.mark.parametrize("name", OPERATIONS)
def test_bash_offers_all_that_the_command_takes(name: str):
    assert {word for word in accepted(name) if not word.startswith("--no-")} - {"-h"} <= set(
        completed(*OPERATIONS[name].command.split(), "--")
    )
