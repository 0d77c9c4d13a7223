"""`engram` with no command: what is here, and what to do next."""

from pathlib import Path

import pytest

from engram.service import OPERATIONS
from engram.surfaces.cli import EXTRA
from engram.surfaces.synonyms import OURS
from surfaces.driving import Driver, at_terminal


def next_steps(out: str) -> list[str]:
    return [line.split("  ")[1] for line in out.partition("Next:\n")[2].splitlines()]


def test_a_newcomer_is_told_how_to_begin_and_no_store_is_made(engram: Driver):
    done = engram()

    assert done.code == 0
    assert "Nothing is remembered yet." in done.out
    assert next_steps(done.out)[0] == 'engram remember "We deploy on Fridays"'
    assert "engram setup" in next_steps(done.out)
    assert f"The first save makes the store: {engram.store}\n" in done.out
    assert not engram.store.exists()


def test_what_waits_comes_first(engram: Driver):
    engram.remember("Never deploy on Fridays", "--kind", "rule")
    done = engram()

    assert "1 memory waits for a person." in done.out
    assert next_steps(done.out)[0] == "engram review"


def test_who_has_memories_sees_where_they_are_and_land(engram: Driver):
    engram.remember("The API listens on port 8080")
    done = engram()

    assert f"Store: {engram.store}" in done.out
    assert "In use: 1 memory\n" in done.out
    assert "New memories land in: global" in done.out
    assert "wait" not in done.out


def test_a_folder_of_several_repositories_is_told_of_and_is_no_error(
    engram: Driver, monkeypatch: pytest.MonkeyPatch
):
    work = engram.folder / "work"
    for name in ("api", "web"):
        (work / name / ".git").mkdir(parents=True)
    monkeypatch.chdir(work)
    nowhere = f"New memories land nowhere by themselves: {work} holds several projects: api, web."
    done = engram()
    assert (done.code, not engram.store.exists()) == (0, True)
    assert f"{nowhere} Say where it holds: --scope=global" in done.out
    assert next_steps(done.out)[0] == 'engram remember "We deploy on Fridays" --scope global'
    engram.remember("The API listens on port 8080", "--scope", "global")

    done = engram()
    assert done.code == 0
    assert "In use: 1 memory\n" in done.out
    assert nowhere in done.out
    shown = at_terminal(work, columns=60, HOME=str(engram.folder))[1].partition("Next:")[0]
    assert max(map(len, shown.replace(str(work), "").splitlines())) <= 60
    assert "ENGRAM_PROJECT=api." in shown
    told = engram("--json").json
    assert (told["scope"], told["live"]) == ("", 1)
    assert told["unplaced"].startswith(f"{work} holds several projects")


def test_who_connected_an_agent_is_not_asked_to(engram: Driver):
    (engram.folder / ".cursor").mkdir()
    assert engram("setup", "cursor", "--yes").code == 0

    assert "engram setup" not in next_steps(engram().out)


def test_who_has_not_got_the_model_is_told_how_to_get_it(engram: Driver):
    said = "The embedding model is not here: recall goes by words. Get it: engram models install"
    engram.set(ENGRAM_EMBEDDER="none")
    assert "embedding model" not in engram().out
    engram.set(ENGRAM_EMBEDDER="bge-micro-v2")

    assert f"{said} bge-micro-v2\n" in engram().out
    engram.remember("We use tabs")
    assert f"{said} bge-micro-v2\n" in engram().out
    assert engram("--json").json["model"] == "engram models install bge-micro-v2"


def test_a_store_of_plain_files_is_known(engram: Driver, tmp_path: Path):
    engram.set(ENGRAM_STORE=f"files:{tmp_path / 'notes'}")
    assert "Nothing is remembered yet." in engram().out

    engram.remember("We use tabs")

    assert f"Store: files:{tmp_path / 'notes'}" in engram().out


def test_a_machine_is_told_the_same_as_json(engram: Driver):
    told = engram("--json").json

    assert (told["some"], told["waiting"]) == (False, 0)
    assert told["next"][0]["command"] == 'engram remember "We deploy on Fridays"'
    assert not engram.store.exists()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("revise", "mem-0001", "Build with ninja"), 'Say it with an option: --text "Build with ninja".'),
        (("recall", "--limt", "deploy"), "Did you mean --limit?"),
        (("remember", "We", "deploy"), "Put a text of several words in quotes."),
        (("review", "--lst"), "Did you mean --list?"),
        (("recall",), 'For example: engram recall "when do we deploy".'),
        (("backup",), "Say one of: engram backup create, engram backup verify, engram backup restore."),
        (("--verison",), "Did you mean --version?"),
        (("-v",), "Did you mean --version?"),
        (("serve", "--prot", "1"), "Did you mean --port?"),
        (("remember", "Use uv", "-k", "tooling"), "Did you mean --kind or --key?"),
        (("recall", "uv", "-n", "3"), "Did you mean --limit?"),
        (("save", "Use uv"), "Here it is: engram remember TEXT."),
        (("delete", "mem-0001"), "Here it is: engram forget MEMORY."),
        (("gen-context",), "Here it is: engram views AGENTS.md."),
        (("recall", "uv", "--project", "api"), "Here it is: --scope project:NAME."),
        (("list", "--status=pending"), "Here it is: --standing."),
        (("remember", "Use uv", "--type", "tooling"), "Here it is: --kind."),
    ],
    ids=str,
)
def test_words_that_no_command_takes_get_the_hint_that_fits(engram: Driver, words: tuple[str, ...], hint: str):
    done = engram(*words)

    assert done.code == 2
    assert hint in done.err


def test_what_other_programs_call_a_command_leads_to_one_of_ours():
    known = {*(each.command for each in OPERATIONS.values()), *EXTRA}
    for word, ours in OURS.items():
        assert word not in known
        assert any(f"{ours} ".startswith(f"engram {command} ") for command in known)


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("export", "all", "--form", "keyd"), "--form cannot be 'keyd'.", "Did you mean keyed? Use one of: jsonl,"),
        (
            ("judge", "r", "supercedes"),
            "kind cannot be 'supercedes'.",
            "Did you mean supersedes? Use one of: related,",
        ),
        (
            ("judge", "mem-2", "mem-1", "supersedes"),
            "kind cannot be 'mem-1'.",
            "Name the two as one: mem-2~mem-1. Use one of: related,",
        ),
        (("graph", "zebra"), "question cannot be 'zebra'.", "Use one of: chain,"),
        (("remember", "the", "API", "is"), "engram remember takes one text: 'API is' is left over.", "in quotes"),
        (
            ("related", "mem-1", "mem-2"),
            "engram related takes one memory: 'mem-2' is left over.",
            "engram related mem-0007",
        ),
    ],
    ids=str,
)
def test_a_word_that_cannot_be_is_told_with_what_can(
    engram: Driver, words: tuple[str, ...], message: str, hint: str
):
    refused = engram(*words, "--json").error

    assert refused["message"] == message
    assert hint in refused["hint"]


@pytest.mark.parametrize(
    "words", [("recall", "uv"), ("list",), ("import", "x"), ("serve",), ("mcp",), ("tui",), ()], ids=str
)
def test_an_option_that_is_near_none_gets_no_other_suggested(engram: Driver, words: tuple[str, ...]):
    done = engram(*words, "--nope")

    assert (done.code, "takes no --nope" in done.err, "Did you mean" in done.err) == (2, True, False)


def test_a_command_without_a_text_is_not_told_to_quote_one(engram: Driver):
    done = engram("replicas", "list")

    assert (done.code, "takes no list" in done.err, "quotes" in done.err) == (2, True, False)
