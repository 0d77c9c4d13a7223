"""The command on a store of plain files: what the store has to say is said, and hand edits are taken back."""

import json
from pathlib import Path

import pytest

from engram.surfaces.mcp.tools import Native
from engram.wiring import open as open_memory
from surfaces.driving import Driver

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789AB"  # noqa: S105 - a shape, no secret


@pytest.fixture
def registry(engram: Driver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """memory.md of a new store that holds a curated memory and a plain one."""
    monkeypatch.setenv("ENGRAM_STORE", f"files:{tmp_path / 'store'}")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    engram.remember("I pay in euros", "--kind", "fiscal", "--confirm")
    engram.remember("We deploy on Fridays")
    return tmp_path / "store" / "memory.md"


def swap(registry: Path, old: str, new: str) -> None:
    text = registry.read_text()
    assert old in text
    registry.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize("words", [("list",), ("recall", "deploy"), ("stats",), ("context",), ("get", "mem-0001")])
def test_reads_say_that_the_text_cannot_be_read(engram: Driver, registry: Path, words):
    swap(registry, "decay: 365d", "decay: soon")
    line = registry.read_text()[: registry.read_text().index("decay: soon")].count("\n") + 1
    said = f"memory.md, line {line}: decay cannot be 'soon'. Until it is mended, the last good state answers."

    shown = engram(*words)
    assert shown.code == 0
    assert f"engram: {said}\n" in shown.err
    told = json.loads(engram(*words, "--json").out)
    assert [each["message"] for each in told["warnings"]] == [said]
    swap(registry, "decay: soon", "decay: 365d")
    assert engram(*words).err == ""
    assert "warnings" not in json.loads(engram(*words, "--json").out)


def test_an_agent_is_told_too(registry: Path):
    swap(registry, "decay: 365d", "decay: soon")
    with open_memory(agent="codex") as memory:
        answer = Native("list")(memory)

    assert "Warning: memory.md, line" in answer.text
    assert "decay cannot be 'soon'" in answer.structured["warnings"][0]


def test_a_store_that_never_could_be_read_is_refused_with_line_and_reason(engram: Driver, tmp_path: Path):
    store = tmp_path / "other"
    store.mkdir(mode=0o700)
    (store / "memory.md").write_text("---\nschema: memory.v1\nitems:\n- fact: I like tea\n  decay: soon\n---\n")
    (store / "memory.md").chmod(0o600)

    shown = engram("list", "--store", f"files:{store}")
    assert shown.code == 8
    assert "memory.md, line 5: decay cannot be 'soon'" in shown.err
    assert "line 5" in engram("doctor", "--store", f"files:{store}").out


def test_what_was_taken_out_by_hand_is_said_once_by_the_next_command_and_by_doctor(engram: Driver, registry: Path):
    text = registry.read_text()
    registry.write_text(text[: text.index("  - id: mem-0001")] + text[text.index("  - id: mem-0002") :])
    said = "1 memory was taken out of memory.md by hand, and is forgotten."

    assert said in engram("list").err
    assert engram("list").err == ""
    assert said in engram("doctor").out
    assert engram("undo").code == 0
    assert "euros" in engram("list").out
    assert said not in engram("doctor").out


def test_a_secret_in_a_hand_edit_is_said_by_the_command_that_takes_it_in_even_where_it_fails(
    engram: Driver, registry: Path
):
    swap(registry, "We deploy on Fridays", f"We deploy with {SECRET}")
    shown = engram("get", "mem-9999")

    assert shown.code == 3
    assert "Taken out of memory.md (mem-0002): github-token." in shown.err
    assert SECRET not in registry.read_text()


def test_a_hand_edit_of_a_curated_memory_is_taken_back_without_a_word_and_done_again_with_one(
    engram: Driver, registry: Path
):
    swap(registry, 'fact: "I pay in euros"', 'fact: "I pay in kronor"')
    assert "kronor" in engram("list").out
    assert engram("undo").code == 0
    assert "euros" in engram("list").out
    again = json.loads(engram("history", "--json").out)["events"][0]["seq"]
    assert engram("undo", str(again)).code == 6
    assert engram("undo", str(again), "--confirm").code == 0
    assert "kronor" in engram("list").out


def test_the_first_opening_of_a_store_cannot_be_undone_and_says_why(engram: Driver, registry: Path):
    for name in ("events.jsonl", "audit.jsonl"):
        registry.with_name(name).unlink()
    shown = engram("undo")

    assert shown.code == 5
    assert "Event 1 (adopted) cannot be undone: it only took in what memory.md already had." in shown.err
    assert len(json.loads(engram("list", "--json").out)["memories"]) == 2
