"""The command on a store of plain files: what the store has to say is said, and hand edits are taken back."""

import gzip
import json
import os
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import pytest

from engram.engines.files.folder import Folder
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


def test_what_was_written_by_hand_waits_for_that_reason_and_says_what_puts_it_in_force(
    engram: Driver, registry: Path
):
    swap(registry, "items:\n", 'items:\n  - fact: "Deploys need two approvals"\n')

    for shown in (listed := engram("review", "--list"), engram("get", "mem-0003")):
        said = " ".join(shown.out.split())
        assert "written by hand or saved with autopromote off, and not put in force yet" in said
    assert "Make live what needs no review: engram sync --apply" in listed.out
    engram("sync", "--apply")
    assert "Deploys need two approvals" in engram("list").out


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
    assert engram("undo").err.startswith("engram: There is nothing to undo.")
    shown = engram("undo", "1")

    assert shown.code == 5
    assert "Event 1 (adopted) cannot be undone: it only took in what memory.md already had." in shown.err
    assert len(json.loads(engram("list", "--json").out)["memories"]) == 2


@pytest.mark.parametrize("line", [1, 2])
def test_a_lost_line_of_history_is_said_once_by_a_read_and_until_it_is_mended_by_doctor(
    engram: Driver, registry: Path, tmp_path: Path, line: int
):
    history = registry.parent / "events.jsonl"
    lines = history.read_text().splitlines(keepends=True)
    history.write_text("".join([*lines[:line], lines[line][:-30] + "\n" * (line == 1), *lines[line + 1 :]]))
    lost = "remember mem-0001" if line == 1 else "auto_append mem-0002"

    shown = engram("list")
    assert f"({lost}, " in shown.err
    assert "engram doctor --fix" in shown.err
    assert engram("list").err == ""
    told = engram("doctor").out
    assert f"({lost}, " in told
    assert "Healthy" not in told
    assert "by hand" not in told
    assert "We deploy on Fridays" in engram("list").out
    path = str(tmp_path / "b.zip")
    assert engram("backup", "create", path).code == 0
    shown = engram("backup", "verify", path)
    assert shown.code == 0
    assert f"({lost}, " in shown.out
    assert "is healthy" not in shown.out

    assert "History goes on without what is lost" in engram("doctor", "--fix").out
    assert "✓ Healthy" in engram("doctor").out


def test_a_plain_undo_takes_back_what_was_done_and_not_what_was_adopted(engram: Driver, registry: Path):
    history = registry.parent / "events.jsonl"
    lines = history.read_text().splitlines(keepends=True)
    history.write_text("".join([lines[0], *lines[2:]]))

    assert "Took back remember (event 1)" in engram("undo").out
    assert "I pay in euros" in engram("list").out
    assert engram("undo").err.startswith("engram: There is nothing to undo.")
    assert "it only took in what memory.md already had" in engram("undo", "2").err


def test_a_body_that_was_written_into_is_shown_by_sync_though_an_item_was_changed_too(
    engram: Driver, registry: Path
):
    swap(registry, 'fact: "We deploy on Fridays"', 'fact: "We deploy on Mondays"')
    registry.write_text(registry.read_text() + "\nmy own paragraph\n")

    assert "-my own paragraph" in engram("sync").out
    assert "my own paragraph" in registry.read_text()
    assert engram("sync", "--apply").code == 0
    assert "my own paragraph" not in registry.read_text()
    assert "- We deploy on Mondays" in registry.read_text()


def test_an_undo_and_a_verification_stand_in_the_trail_and_a_reason_for_rejecting_is_kept(
    engram: Driver, registry: Path
):
    engram.remember("I pay in kronor", "--kind", "fiscal")
    assert engram("reject", "mem-0003", "--reason", "it was a joke").code == 0
    assert engram("undo").code == 0
    assert engram("verify", "mem-0002").code == 0
    rows = [json.loads(line) for line in registry.with_name("audit.jsonl").read_text().splitlines()]
    told = [("reject", "mem-0003", 3), ("undo", "mem-0003", 3), ("verify", "mem-0002", 2)]
    assert [(row["op"], row["id"], row["tier"]) for row in rows][-3:] == told
    assert "it was a joke" in registry.with_name("events.jsonl").read_text()
    assert "it was a joke" in engram("history", "mem-0003").out
    assert engram("reject", "mem-9999").code == 3


def test_doctor_notes_what_says_the_same_twice_and_what_may_not_both_hold(engram: Driver, registry: Path):
    assert not {"repeat", "conflict"} & noted(engram)
    item = '  - fact: "{}"\n    status: promoted\n'
    swap(registry, "\n---\n\n", "\n" + item.format("We deploy on Fridays") + "---\n\n")
    assert {"repeat", "conflict"} & noted(engram) == {"repeat"}
    told = "1 memory says what another one says, word for word: mem-0003. Keep one: engram forget mem-0003."
    assert told in engram("doctor").out
    assert engram("forget", "mem-0003").code == 0
    assert not {"repeat", "conflict"} & noted(engram)

    engram.remember("The gateway listens on port 8080")
    swap(registry, "\n---\n\n", "\n" + item.format("The gateway listens on port 9090") + "---\n\n")
    assert {"repeat", "conflict"} & noted(engram) == {"conflict"}
    shown = engram("doctor")
    assert "1 pair of memories may not both hold. Judge what is so: engram conflicts." in shown.out
    assert "✓ Healthy" in shown.out
    pair = json.loads(engram("conflicts", "--json").out)["pairs"][0]["pair"]
    assert engram("conflicts", "--ignore", pair).code == 0
    assert not {"repeat", "conflict"} & noted(engram)


def noted(engram: Driver) -> set[str]:
    return {one["code"] for one in json.loads(engram("doctor", "--json").out)["findings"]}


def git(folder: Path, *words: str) -> None:
    plain = ["-c", "user.email=ada@example.com", "-c", "user.name=Ada", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *plain, "-C", folder, *words], check=True, capture_output=True)


def test_doctor_only_looks_at_a_store_that_others_may_open_until_it_is_told_to_mend(engram: Driver, registry: Path):
    swap(registry, "We deploy on Fridays", "We deploy on Mondays")
    registry.chmod(0o644)
    store = registry.parent
    before = {path: (path.stat().st_mode, path.read_bytes()) for path in store.rglob("*") if path.is_file()}
    assert engram("list").code == 8
    shown = engram("doctor")

    assert shown.code == 8
    assert f"chmod 600 {registry}" in shown.out
    assert {path: (path.stat().st_mode, path.read_bytes()) for path in store.rglob("*") if path.is_file()} == before
    assert "✓ Healthy" in engram("doctor", "--fix").out
    assert "We deploy on Mondays" in engram("list").out


def test_what_is_kept_aside_is_private_whatever_the_file_was(registry: Path):
    registry.chmod(0o644)  # as git or an editor leaves it while another process writes
    Folder(str(registry.parent)).keep_aside("memory.md", ".bak", "0123456789abcdef.bak")

    assert (registry.parent / ".bak" / "0123456789abcdef.bak").stat().st_mode & 0o777 == 0o600


def test_a_folder_of_other_things_is_not_to_be_made_private(engram: Driver, tmp_path: Path):
    folder = tmp_path / "etc"
    folder.mkdir(mode=0o755)
    (folder / "hosts").write_text("127.0.0.1 localhost\n")
    done = engram("remember", "The port is 80", "--store", f"files:{folder}")

    assert done.code == 2
    assert "is not an Engram store" in done.err
    assert "chmod" not in done.err
    assert [each.name for each in folder.iterdir()] == ["hosts"]


UNION = "audit.jsonl merge=union\nevents.jsonl merge=union\n"


def cloned(ours: Path, theirs: Path, attributes: str = UNION) -> None:
    """Put a store under git as the guide says, and clone it."""
    (ours / ".gitignore").write_text(".lock\n.bak/\nqueue/\n.*.new\n")
    (ours / ".gitattributes").write_text(attributes)
    git(ours, "init", "-q", "-b", "main")
    git(ours, "add", "-A")
    git(ours, "commit", "-qm", "one")
    git(ours, "clone", "-q", str(ours), str(theirs))
    private(theirs)


def private(store: Path) -> None:
    for path in (store, *store.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)


def pulled(ours: Path, theirs: Path) -> None:
    """Merge theirs into ours, whatever of it conflicts."""
    git(ours, "fetch", "-q", str(theirs), "main")
    with suppress(subprocess.CalledProcessError):
        git(ours, "merge", "-q", "FETCH_HEAD")
    private(ours)


@pytest.mark.parametrize("pulls", ["the one who spoke first", "the one who spoke later"])
def test_the_later_wording_counts_whoever_merges(
    engram: Driver, registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pulls: str
):
    ours, theirs = registry.parent, tmp_path / "theirs"
    cloned(ours, theirs)
    for folder, text in ((theirs, "We deploy on Mondays"), (ours, "We deploy on Sundays")):
        monkeypatch.setenv("ENGRAM_STORE", f"files:{folder}")
        assert engram("revise", "mem-0002", "--text", text).code == 0
        git(folder, "commit", "-qam", "two")
    first, second = (ours, theirs) if pulls == "the one who spoke later" else (theirs, ours)
    pulled(first, second)
    monkeypatch.setenv("ENGRAM_STORE", f"files:{first}")
    told = engram("doctor", "--fix").out
    assert "the sides of the merge word mem-0002 differently; the later wording counts." in told
    assert "✓ Healthy" in told
    git(first, "add", "-A")
    git(first, "commit", "-qm", "merged")
    trail = (first / "audit.jsonl").read_text().splitlines()
    assert len(trail) == len(set(trail)) == 4

    pulled(second, first)
    texts = []
    for folder in (first, second):
        monkeypatch.setenv("ENGRAM_STORE", f"files:{folder}")
        assert "✓ Healthy" in engram("doctor").out
        texts.append([each["text"] for each in json.loads(engram("list", "--json").out)["memories"]])
        told = engram("history", "mem-0002").out
        assert told.index("We deploy on Sundays") < told.index("We deploy on Mondays")
    assert texts == [["We deploy on Sundays", "I pay in euros"]] * 2


def test_two_that_merged_one_another_have_the_same_memory(
    engram: Driver, registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    ours, theirs, copy = registry.parent, tmp_path / "theirs", tmp_path / "copy"
    cloned(ours, theirs)
    for folder in (theirs, ours):
        monkeypatch.setenv("ENGRAM_STORE", f"files:{folder}")
        engram.remember(f"Written in {folder.name}")
        assert engram("revise", "mem-0002", "--text", f"We deploy as {folder.name} says").code == 0
        git(folder, "commit", "-qam", "two")
    git(ours, "clone", "-q", str(ours), str(copy))
    told = []
    for folder, other in ((ours, theirs), (theirs, copy)):
        pulled(folder, other)
        monkeypatch.setenv("ENGRAM_STORE", f"files:{folder}")
        assert "✓ Healthy" in engram("doctor", "--fix").out
        told.append(json.loads(engram("list", "--json").out)["memories"])

    assert told[0] == told[1]
    assert {each["handle"]: each["text"] for each in told[0]} == {
        "mem-0001": "I pay in euros",
        "mem-0002": "We deploy as store says",
        "mem-0003": "Written in theirs",
        "mem-0004": "Written in store",
    }


@pytest.mark.parametrize("pulls", ["the one who purged", "the other one"])
def test_what_one_side_of_a_merge_purged_is_gone_from_both(
    engram: Driver, registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pulls: str
):
    ours, theirs = registry.parent, tmp_path / "theirs"
    cloned(ours, theirs)
    assert engram("purge", "mem-0002", "--confirm").code == 0
    git(ours, "commit", "-qam", "purged")
    monkeypatch.setenv("ENGRAM_STORE", f"files:{theirs}")
    engram.remember("Written over there")
    assert engram("revise", "mem-0002", "--text", "We deploy on Fridays at noon").code == 0
    git(theirs, "commit", "-qam", "two")
    here, there = (ours, theirs) if pulls == "the one who purged" else (theirs, ours)
    pulled(here, there)
    monkeypatch.setenv("ENGRAM_STORE", f"files:{here}")

    assert "✓ Healthy" in engram("doctor", "--fix").out
    texts = [each["text"] for each in json.loads(engram("list", "--json").out)["memories"]]
    assert texts == ["Written over there", "I pay in euros"]
    held = [path for path in here.rglob("*") if ".git" not in path.parts and path.is_file()]
    assert not [path.name for path in held if "Fridays" in unpacked(path)]


def unpacked(path: Path) -> str:
    content = path.read_bytes()
    return (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode()


@pytest.mark.parametrize("attributes", ["", UNION])
def test_a_merge_of_git_that_kept_our_side_forgets_nothing_of_the_other(
    engram: Driver, registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attributes: str
):
    ours, theirs = registry.parent, tmp_path / "theirs"
    cloned(ours, theirs, attributes)
    for folder, text in ((theirs, "Written over there"), (ours, "Written over here")):
        monkeypatch.setenv("ENGRAM_STORE", f"files:{folder}")
        engram.remember(text)
        git(folder, "commit", "-qam", "two")
    git(ours, "fetch", "-q", str(theirs), "main")
    git(ours, "merge", "-q", "-s", "ours" if not attributes else "recursive", "-X", "ours", "FETCH_HEAD")

    told = engram("doctor").out
    assert ("left out 1 memory of the other side" in told) == (not attributes)
    assert engram("doctor", "--fix").code == 0
    listed = engram("list").out
    assert "Written over there" in listed
    assert "Written over here" in listed
    assert "✓ Healthy" in engram("doctor").out


def test_what_a_sync_lets_go_live_is_audited_as_appended_by_itself(engram: Driver, registry: Path):
    engram.set(ENGRAM_AUTOPROMOTE="off")
    engram.remember("I prefer tabs", "--kind", "preference")
    engram.remember("My name is Alex", "--kind", "identity")
    assert engram("sync", "--apply").code == 0

    rows = [json.loads(line) for line in registry.with_name("audit.jsonl").read_text().splitlines()]
    assert [(row["op"], row["id"]) for row in rows[-3:]] == [
        ("remember", "mem-0003"),
        ("remember", "mem-0004"),
        ("auto_append", "mem-0003"),
    ]
    assert "I prefer tabs" in registry.with_name("memory-log.md").read_text()


@pytest.mark.parametrize("pressed", [False, True])
def test_a_registry_that_lost_its_beginning_comes_back_by_the_command_that_is_told(
    engram: Driver, *, pressed: bool
):
    folder = engram.folder / "my notes"
    store = ("--store", f"files:{folder}")
    for text in ("The gate is read at nine", "Tea is at four", "The port is 5432"):
        assert engram("remember", text, *store).code == 0
    kept = [path for path in (folder / ".bak").iterdir() if ".log." not in path.name]
    newest = max(kept, key=lambda path: path.stat().st_mtime_ns)
    before = newest.read_text()
    if pressed:
        newest.write_bytes(gzip.compress(newest.read_bytes()))
        os.utime(newest, ns=(time.time_ns(), time.time_ns()))
    (folder / "memory.md").write_text("oh no\n")
    told = engram("remember", "More", *store)

    assert told.code == 8
    assert f"/{newest.name}" in told.err
    command = " ".join(told.err.split()).split("`")[1]
    assert command.startswith("zcat < " if pressed else "cp ")
    subprocess.run(["/bin/sh", "-c", command], check=True)
    assert (folder / "memory.md").read_text() == before
    assert engram("list", *store).code == 0


def test_a_registry_without_a_snapshot_is_said_to_be_put_back_from_a_backup(engram: Driver):
    folder = engram.folder / "old"
    folder.mkdir(mode=0o700)
    (folder / "memory.md").write_text("oh no\n")
    (folder / "memory.md").chmod(0o600)

    told = engram("list", "--store", f"files:{folder}")
    assert "Put it back from a backup" in told.err
