"""Completion scripts: shells accept them, and bash completes what the command really takes."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from engram.service import OPERATIONS, Operation
from engram.surfaces.cli import EXTRA
from engram.surfaces.commands.completion import SHELLS, script
from engram.surfaces.parsing import Parameter, parameters, parser_for
from surfaces.driving import Driver, Result, child

COMMANDS = [operation.command for operation in OPERATIONS.values()]
SCRIPTS = {shell: script(shell, EXTRA) for shell in SHELLS}


def completed(*words: str) -> list[str]:
    """What bash offers after these words, the last of which is being typed."""
    line = "\n".join(
        [
            SCRIPTS["bash"],
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
    assert engram("completion", shell, "--json").json == {"shell": shell, "script": script(shell, EXTRA)}
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
        {SCRIPTS["zsh"]}
        _describe() {{ print -l -- ${{(P)@[-1]}} }}
        _files() {{ print FILES }}
        compset() {{ PREFIX=${{PREFIX#*=}} }}
        words=(engram {" ".join(repr(word) for word in words)}); CURRENT=$#words; PREFIX=$words[-1]; _engram || true
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


def offered_by_fish(folder: Path, line: str) -> list[str]:
    """What fish offers at the end of this line, in a folder."""
    told = f"{SCRIPTS['fish']}\ncomplete -C '{line}'"
    done = subprocess.run(
        ["fish", "--no-config"], input=told, cwd=folder, capture_output=True, text=True, check=True
    )
    return [each.partition("\t")[0] for each in done.stdout.splitlines()]


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not on this machine")
def test_fish_offers_commands_options_and_files(tmp_path: Path):
    def offered(line: str) -> list[str]:
        return offered_by_fish(tmp_path, line)

    (tmp_path / "old.jsonl").touch()

    assert offered("engram remem") == ["remember"]
    assert "old.jsonl" not in offered("engram ol")
    assert offered("engram backup ver") == ["verify"]
    assert offered("engram recall --ex") == ["--explain"]
    assert offered("engram import ol") == ["old.jsonl"]
    assert offered("engram backup verify ol") == ["old.jsonl"]  # which is not `engram verify`
    assert offered("engram recall ol") == offered("engram recall --tag ol") == offered("engram session ol") == []
    assert offered("engram remember x --cite ol") == ["old.jsonl"]


VALUES: dict[tuple[str, ...], set[str]] = {
    ("list", "--standing", "st"): {"stale", "staged"},
    ("list", "--kind", "dec"): {"decision"},
    ("remember", "x", "--kind", "conv"): {"convention"},
    ("remember", "x", "--origin", ""): {"said", "inferred"},
    ("remember", "x", "--visibility", ""): {"private", "shared"},
    ("revise", "mem-0001", "--clear", "valid"): {"valid_from", "valid_until"},
    ("evidence", "--fail-on", ""): {"moved", "drifted", "gone", "unreachable", "any"},
    ("export", "out", "--form", "obs"): {"observations", "observations-0.1.0", "observations-chunks", "obsidian"},
    ("import", "in", "--form", "pl"): {"plain"},
    ("harvest", "talk", "--harness", "c"): {"claude-code", "codex", "cursor"},
    ("insights", "save", "x", "--category", "to"): {"tools"},
    ("graph", "ch"): {"chain"},
    ("models", "install", "bge-m"): {"bge-micro-v2"},
    ("mcp", "--profile", "k"): {"keyed"},
    ("serve", "--profile", "na"): {"native"},
    ("serve", "--no"): {"--no-open"},
    ("setup", "cl"): {"claude-code", "cline"},
    ("completion", ""): set(SHELLS),
    ("recall", "x", "--tag", ""): set(),
    ("recall", "x", "--scope", "gl"): set(),
}
"""A command line → every value that is offered for its last word."""


@pytest.mark.parametrize("words", VALUES, ids=" ".join)
def test_bash_completes_values(words: tuple[str, ...]):
    assert set(completed(*words)) == VALUES[words]


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not on this machine")
@pytest.mark.parametrize("words", VALUES, ids=" ".join)
def test_zsh_completes_values(words: tuple[str, ...]):
    offered = {each.partition(":")[0] for each in offered_by_zsh(*words)} - {""}

    assert {word for word in offered if word.startswith(words[-1])} == VALUES[words]  # zsh itself looks at the rest


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not on this machine")
@pytest.mark.parametrize("words", VALUES, ids=" ".join)
def test_fish_completes_values(words: tuple[str, ...], tmp_path: Path):
    assert set(offered_by_fish(tmp_path, " ".join(("engram", *words)))) == VALUES[words]


def test_a_value_may_follow_an_equals_sign(tmp_path: Path):
    assert completed("list", "--standing", "=", "stal") == ["stale"]  # as bash splits it
    assert "stale" in completed("list", "--standing", "=")
    if shutil.which("zsh"):
        assert "stale" in offered_by_zsh("list", "--standing=stal")
    if shutil.which("fish"):
        assert offered_by_fish(tmp_path, "engram list --standing=stal") == ["--standing=stale"]


def test_bash_completes_files_where_a_file_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "old.jsonl").touch()
    monkeypatch.chdir(tmp_path)

    for words in (("import", "ol"), ("list", "--store", "ol"), ("remember", "x", "--cite", "ol"), ("views", "ol")):
        assert completed(*words) == ["old.jsonl"]
    for words in (("recall", "ol"), ("recall", "x", "--tag", "ol"), ("setup", "ol"), ("session", "ol")):
        assert completed(*words) == []


CLOSED = [
    (operation, parameter)
    for operation in OPERATIONS.values()
    for parameter in parameters(operation)
    if parameter.choices and not parameter.positional
]


@pytest.mark.parametrize(("operation", "parameter"), CLOSED, ids=[f"{o.name} {p.flag}" for o, p in CLOSED])
def test_every_option_with_a_closed_list_offers_all_of_it(operation: Operation, parameter: Parameter):
    assert completed(*operation.command.split(), parameter.flag, "") == list(parameter.choices)


@pytest.mark.parametrize(
    "words",
    [
        ("list", "--standing"),
        ("list", "--kind"),
        ("evidence", "--fail-on"),
        ("insights", "list", "--category"),
        ("keys", "create", "ci", "--owner", "ada", "--can"),
    ],
    ids=" ".join,
)
def test_what_is_offered_is_taken(engram: Driver, words: tuple[str, ...]):
    offered = [word for word in completed(*words, "") if word != "insight"]  # a kind that only `remember` takes

    assert offered
    for word in offered:
        assert engram.made()(*words, word).code == 0, word


def told_with(folder: Path, settings: str) -> Result:
    """What the command prints for bash where a person's settings are these."""
    own = folder / ".config" / "engram" / "engram.toml"
    own.parent.mkdir(parents=True)
    own.write_text(settings, encoding="utf-8")
    return child(folder, "completion", "bash")


def test_kinds_of_the_settings_are_offered(tmp_path: Path):
    told = told_with(tmp_path, "[kinds.recipe]\ntier = 1\n").out

    assert {"decision", "recipe"} <= set(re.split(r"[ ']", told))


def test_broken_settings_take_the_kinds_away_and_not_the_completion(tmp_path: Path):
    done = told_with(tmp_path, "[kinds.recipe]\ntier = 9\n")

    assert (done.code, done.err) == (0, "")
    assert "--kind" in done.out
    assert not {"decision", "recipe"} & set(re.split(r"[ ']", done.out))


def test_a_script_is_made_without_a_store(tmp_path: Path):
    assert child(tmp_path, "completion", "bash").code == 0
    assert list(tmp_path.rglob("*.db")) == []


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
