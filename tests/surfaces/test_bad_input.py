"""What the command says when something is wrong: one line, the next step and the exit code of the table."""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import engram as memory
from engram.errors import TABLE
from engram.wiring import open as open_memory
from surfaces.driving import Driver, child, environment

DEPLOY = "We deploy on Fridays"
CODES = {error.code: error.exit_code for error in TABLE}


class Fault(NamedTuple):
    """A command that must fail: what it says, how it is classed, and what its hint names."""

    words: tuple[str, ...]
    code: str
    message: str
    hint: str


FAULTS = {
    "an empty text": Fault(("remember", ""), "invalid", "The text is empty", "engram remember"),
    "a blank text": Fault(("remember", " \n\t "), "invalid", "The text is empty", "engram remember"),
    "a control character": Fault(("remember", "a\x07b"), "invalid", "U+0007 at position 1", "Remove it"),
    "an escape sequence": Fault(("remember", "\x1b[31mred"), "invalid", "U+001B", "Remove it"),
    "a half character": Fault(("remember", "a\udcff"), "invalid", "not UTF-8 at position 1", "Convert it"),
    "a text too long": Fault(("remember", "x" * 65_537), "invalid", "text is 65,537 bytes", "Shorten it"),
    "a summary of two lines": Fault(("remember", "x", "--summary", "a\nb"), "invalid", "summary", ""),
    "a kind of two words": Fault(("remember", "x", "--kind", "two words"), "invalid", "kind cannot be", "kinds"),
    "a kind in capitals": Fault(("remember", "x", "--kind", "Decision"), "invalid", "'Decision'", "lower-case"),
    "an empty kind": Fault(("remember", "x", "--kind", ""), "invalid", "kind", "kinds"),
    "a scope without a name": Fault(
        ("remember", "x", "--scope", "project:"), "invalid", "'project:'", "project:NAME"
    ),
    "a scope of no level": Fault(("list", "--scope", "planet:earth"), "invalid", "'planet:earth'", "project:NAME"),
    "a date without sense": Fault(
        ("remember", "x", "--valid-until", "tomorrow"),
        "invalid",
        "--valid-until cannot be 'tomorrow'",
        "2026-05-01",
    ),
    "a day that never is": Fault(
        ("remember", "x", "--valid-from", "2026-02-30"), "invalid", "'2026-02-30'", "2026-05-01"
    ),
    "a date far ahead": Fault(
        ("remember", "x", "--valid-until", "9999-12-31T23:59:59-14:00"), "invalid", "outside 1970 to 2199", ""
    ),
    "a date before all dates": Fault(
        ("remember", "x", "--valid-from", "0001-01-01T00:00:00+14:00"), "invalid", "outside 1970 to 2199", ""
    ),
    "an end before the beginning": Fault(
        ("remember", "x", "--valid-from", "2027-01-01", "--valid-until", "2026-01-01"), "invalid", "later", ""
    ),
    "an importance of eleven": Fault(("remember", "x", "--importance", "11"), "invalid", "importance is 11", ""),
    "an importance in words": Fault(("remember", "x", "--importance", "high"), "invalid", "'high'", "number"),
    "a confidence of no number": Fault(("remember", "x", "--confidence", "nan"), "invalid", "confidence", ""),
    "a decay without sense": Fault(("remember", "x", "--decay", "5q"), "invalid", "'5q'", "180d"),
    "a visibility that is none": Fault(("remember", "x", "--visibility", "all"), "invalid", "'all'", "--help"),
    "a discovery that cites nothing": Fault(
        ("remember", "x", "--kind", "finding"), "invalid", "citation", "--cite"
    ),
    "an unknown option": Fault(("remember", "x", "--colour"), "invalid", "--colour", "engram remember --help"),
    "an abbreviated option": Fault(("remember", "x", "--pin"), "invalid", "--pin", "engram remember --help"),
    "an option without its value": Fault(("remember", "x", "--kind"), "invalid", "--kind", "--help"),
    "a missing text": Fault(("remember",), "invalid", "TEXT", "engram remember --help"),
    "a word too many": Fault(("list", "more"), "invalid", "more", "engram list --help"),
    "an empty question": Fault(("recall", "  "), "invalid", "question is empty", "engram recall"),
    "a moment to come": Fault(
        ("recall", "x", "--as-of", "2199-01-01"), "invalid", "2199-01-01 is still to come", "in the past"
    ),
    "a moment without sense": Fault(
        ("recall", "x", "--as-of", "yesterday"), "invalid", "--as-of cannot be 'yesterday'", "2026-05-01"
    ),
    "a model that is none": Fault(
        ("models", "install", "huge"), "invalid", "no model 'huge'", "snowflake-arctic-embed-s"
    ),
    "a model without a name": Fault(("models", "install"), "invalid", "model", "snowflake-arctic-embed-s"),
    "an action that models have not": Fault(("models", "burn"), "invalid", "'burn'", "engram models --help"),
    "a limit of nothing": Fault(("list", "--limit", "0"), "invalid", "limit is 0", "from 1 to 1,000"),
    "a standing that is none": Fault(("list", "--standing", "asleep"), "invalid", "'asleep'", "pending"),
    "a cursor that is none": Fault(("list", "--after", "zzz"), "invalid", "not a page cursor", "next"),
    "a budget too small": Fault(("context", "--budget", "3"), "invalid", "budget is 3", "from 50"),
    "a revision of nothing": Fault(("revise", "mem-0001"), "invalid", "Nothing to revise", "--text"),
    "a shell without completion": Fault(("completion", "csh"), "invalid", "'csh'", "bash, zsh or fish"),
    "a file that is not there": Fault(("import", "absent.jsonl"), "invalid", "is not there", "path"),
    "a folder to import": Fault(("import", "."), "invalid", "of no form", "--form"),
    "an undo of too many": Fault(("undo", "--last", "5000"), "invalid", "last is 5,000", "from 1 to 1,000"),
    "a store of another kind": Fault(("list", "--store", "redis:x"), "invalid", "is not a store", "sqlite:"),
    "a memory that is not there": Fault(("get", "mem-9999"), "not_found", "'mem-9999'", "engram list"),
    "an id that is not there": Fault(("forget", "0123456789abcdef"), "not_found", "no memory", "engram list"),
    "an event that is not there": Fault(("undo", "99"), "not_found", "no event '99'", "engram history"),
    "a promotion of what is live": Fault(("promote", "mem-0001"), "conflict", "it is live", "engram review"),
    "a restoring of what is there": Fault(("restore", "mem-0001"), "conflict", "mem-0001", ""),
    "an old revision": Fault(
        ("revise", "mem-0001", "--pinned", "--revision", "7"), "conflict", "at revision 1, not 7", "engram get"
    ),
    "a token used for something else": Fault(
        ("remember", "x", "--token", "used"), "conflict", "token was used for another request", "new token"
    ),
    "an undo of more than there is": Fault(
        ("undo", "--last", "50"), "conflict", "Cannot undo 50", "engram history"
    ),
    "a curated memory without a word": Fault(("promote", "mem-0002"), "unconfirmed", "identity", "--confirm"),
    "a purge without a word": Fault(("purge", "mem-0001"), "unconfirmed", "erases it for good", "--confirm"),
    "an export to nowhere": Fault(("export", "no/such/folder"), "unavailable", "No such file", "another place"),
}


@pytest.fixture
def used(engram: Driver) -> Driver:
    """A store with a live memory and one that waits."""
    engram.remember(DEPLOY, "--token", "used")
    engram.remember("My name is Alex", "--kind", "identity")
    return engram


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_it_is_refused_in_one_line_with_its_exit_code(used: Driver, fault: Fault):
    before = used("history", "--json").json["events"]
    said = used(*fault.words)
    asked_for_json = used(*fault.words, "--json")

    assert said.code == asked_for_json.code == CODES[fault.code]
    assert said.out == asked_for_json.out == ""
    lines = said.err.splitlines()
    assert lines[0].startswith("engram: ")
    assert fault.message in lines[0]
    assert len(lines) <= 2
    assert set(asked_for_json.error) == {"code", "message", "hint"}
    assert asked_for_json.error["code"] == fault.code
    assert lines == [
        f"engram: {asked_for_json.error['message']}",
        *([f"  {asked_for_json.error['hint']}"] if asked_for_json.error["hint"] else []),
    ]
    assert fault.hint in asked_for_json.error["hint"]
    assert used("history", "--json").json["events"] == before


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_an_error_names_the_next_step(used: Driver, fault: Fault):
    assert used(*fault.words, "--json").error["hint"]


def test_an_agent_may_not_do_what_is_a_persons_alone(used: Driver):
    used.set(ENGRAM_AGENT="bot")
    for command, *words in (
        ("purge", "mem-0001", "--confirm"),
        ("reject", "mem-0002"),
        ("promote", "mem-0002", "--confirm"),
        ("models",),
        ("remote add", "team", "https://memory.example.org"),
        ("sync --git",),
    ):
        done = used(*command.split(), *words)

        assert done.code == CODES["forbidden"]
        assert f"Only a person may run {command}.\n" in done.err
        assert "Ask the person" in done.err


def test_an_unknown_command_suggests_the_nearest(engram: Driver):
    done = engram("remeber", "x")

    assert done.code == 2
    assert done.err == "engram: There is no command 'remeber'.\n  Did you mean remember? See engram --help.\n"


@pytest.mark.parametrize(
    ("words", "near"),
    [(("session", "lst"), "Did you mean list? "), (("session", "foo"), ""), (("session", "foo", "--json"), "")],
    ids=str,
)
def test_an_unknown_second_word_is_named_and_the_known_ones_are_listed(
    engram: Driver, words: tuple[str, ...], near: str
):
    done = engram(*words)

    assert done.code == 2
    assert f"There is no command 'engram session {words[1]}'." in done.err
    assert f"{near}Say one of: engram session begin, engram session end, engram session list." in done.err


@pytest.mark.parametrize("words", [("session",), ("session", "--json")], ids=str)
def test_half_a_command_is_told_what_it_lacks(engram: Driver, words: tuple[str, ...]):
    done = engram(*words)

    assert done.code == 2
    assert "engram session needs a second word." in done.err
    assert "Say one of: engram session begin," in done.err


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("remember", "-x"), "engram remember takes no -x.", "See engram remember --help."),
        (("remember", "--knd=fact"), "engram remember takes no --knd=fact.", "Did you mean --kind? "),
        (("remember", "--kind", "fact", "--nonsense"), "engram remember takes no --nonsense.", "See engram"),
        (("remember", "--kind", "fact"), "engram remember needs TEXT.", "For example: "),
        (("remember", "--kind=fact"), "engram remember needs TEXT.", "For example: "),
        (("remember", "--"), "engram remember needs TEXT.", "For example: "),
    ],
    ids=str,
)
def test_what_is_no_option_is_told_before_what_is_lacking(
    engram: Driver, words: tuple[str, ...], message: str, hint: str
):
    done = engram(*words, "--json") if "--" not in words else engram("--json", *words)

    assert (done.code, done.error["message"]) == (2, message)
    assert done.error["hint"].startswith(hint)


@pytest.mark.parametrize("word", ["qqqq", "--nonsense", "", "日本"])
def test_an_unknown_command_without_a_near_one_points_at_help(engram: Driver, word: str):
    done = engram(word)

    assert done.code == 2
    assert "See engram --help." in done.err


def test_an_id_that_fits_two_memories_names_them(engram: Driver):
    ids = [engram.remember(f"Memory number {word}")["memory"]["id"] for word in ("one", "two")]
    done = engram("get", ids[0][:8], "--json")

    assert done.code == CODES["conflict"]
    assert "fits" in done.error["message"]
    for one in ids:
        assert one in done.error["hint"]


@pytest.mark.parametrize("raw", [b"caf\xe9", b"\xff\xfe", b"ok\xc3", b"\xed\xa0\x80"])
def test_broken_utf_8_on_standard_input_names_the_byte(engram: Driver, raw: bytes):
    done = engram("remember", "-", stdin=raw)

    assert done.code == 2
    assert "Standard input is not UTF-8: byte 0x" in done.err
    assert "iconv" in done.err


@pytest.mark.parametrize("raw", [b"", b"\n \n"])
def test_empty_standard_input_is_an_empty_text(engram: Driver, raw: bytes):
    assert "The text is empty" in engram("remember", "-", stdin=raw).err


def test_a_null_byte_on_standard_input_is_refused(engram: Driver):
    assert "U+0000" in engram("remember", "-", stdin=b"a\0b").err


def test_bytes_that_are_no_text_are_refused_as_an_argument(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-m", "engram.surfaces.cli", "remember", b"caf\xe9"],
        capture_output=True,
        check=False,
        env=environment(tmp_path),
        cwd=tmp_path,
    )

    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_a_rejected_text_cannot_return(used: Driver):
    used("reject", "mem-0002", "--reason", "not me")
    done = used("remember", "My name is Alex", "--kind", "identity")

    assert done.code == CODES["conflict"]
    assert len(done.err.splitlines()) == 2


def test_a_retry_with_the_same_token_gets_the_first_answer(used: Driver):
    again = used("remember", DEPLOY, "--token", "used", "--json")

    assert again.code == 0
    assert again.json["replayed"] is True
    assert again.json["memory"]["seen"] == 1


def test_an_export_that_is_damaged_is_refused_whole(used: Driver):
    used("export", "all.jsonl")
    text = (used.folder / "all.jsonl").read_text()
    (used.folder / "all.jsonl").write_text(text.replace("Fridays", "Mondays"))
    done = used("import", "all.jsonl", "--trust", "--store", "other.db")

    assert done.code in (CODES["invalid"], CODES["corrupt"])
    assert not (used.folder / "other.db").exists()


def make_directory(path: Path) -> None:
    path.mkdir()
    (path / "letter.txt").touch()


def make_directory_of_files(path: Path) -> None:
    path.mkdir()
    (path / "memory.md").write_text("# memory\n")


def make_foreign(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE notes (text)")
    db.close()
    path.chmod(0o600)


def make_garbage(path: Path) -> None:
    path.write_bytes(os.urandom(4096))
    path.chmod(0o600)


def make_empty(path: Path) -> None:
    path.touch(0o600)


def make_loose(path: Path) -> None:
    memory.open(path).close()
    path.chmod(0o644)


def make_newer(path: Path) -> None:
    memory.open(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    path.chmod(0o600)


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


STORES: dict[str, tuple[Callable[[Path], None], str, str, str]] = {
    "a directory of other things": (make_directory, "invalid", "is a directory", "engram.db"),
    "plain files others may read": (make_directory_of_files, "corrupt", "Others may open", "chmod 700"),
    "another program's database": (make_foreign, "corrupt", "another program's database", "ENGRAM_STORE"),
    "garbage": (make_garbage, "corrupt", "is not an Engram store", "ENGRAM_STORE"),
    "an empty file": (make_empty, "corrupt", "is an empty file; a store is never empty", "backup"),
    "a store others may read": (make_loose, "corrupt", "mode 0644", "chmod 600"),
    "a store of a newer version": (make_newer, "corrupt", "schema 99", "Upgrade"),
    "a pipe": (make_fifo, "invalid", "not a regular file", "file"),
}


@pytest.mark.parametrize("words", [("remember", DEPLOY), ("list",), ("recall", "x"), ("stats",)], ids=str)
@pytest.mark.parametrize("store", STORES.values(), ids=STORES)
def test_a_store_that_is_none_is_refused_and_left_untouched(
    engram: Driver, store: tuple[Callable[[Path], None], str, str, str], words: tuple[str, ...]
):
    make, code, message, hint = store
    make(engram.store)
    before = engram.store.read_bytes() if engram.store.is_file() else None
    done = engram(*words, "--json")

    assert done.code == CODES[code]
    assert done.error["code"] == code
    assert message in done.error["message"]
    assert hint in done.error["hint"]
    assert (engram.store.read_bytes() if engram.store.is_file() else None) == before


@pytest.mark.parametrize(
    "make", [make_foreign, make_garbage, make_empty, make_newer], ids=lambda make: make.__name__
)
def test_doctor_mends_nothing_that_is_not_ours(engram: Driver, make: Callable[[Path], None]):
    make(engram.store)
    engram.store.chmod(0o644)
    before = engram.store.read_bytes()

    assert engram("doctor", "--fix").code == 8
    assert engram.store.read_bytes() == before


def test_a_store_with_a_damaged_page_is_reported_and_never_replaced(engram: Driver):
    for number in range(40):
        engram.remember(f"Memory number {number} says {'much ' * 40}")
    raw = bytearray(engram.store.read_bytes())
    for start in range(4096, len(raw), 8192):
        raw[start : start + 2048] = os.urandom(2048)
    engram.store.write_bytes(raw)
    done = engram("list", "--limit", "100")

    assert done.code == CODES["corrupt"]
    assert "damaged" in done.err
    assert "engram rescue" in done.err
    assert engram.store.read_bytes() == raw


NOBODY = 65534 if os.getuid() == 0 else os.getuid()

DROPPED = """
import os, sys
from engram.surfaces import cli, parsing, review, shapes
from engram.surfaces.render import answers
import engram.engines.sqlite, engram.interop.jsonl, difflib, json, tomllib
user = int(sys.argv[1])
os.environ["ENGRAM_STORE"], store = "ram:", os.environ["ENGRAM_STORE"]
sys.stdout = open(os.devnull, "w")
cli.main(["remember", "warm up"])
sys.stdout = sys.__stdout__
os.environ["ENGRAM_STORE"] = store
if os.getuid() != user:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
sys.exit(cli.main(sys.argv[2:]))
"""
"""The command by a user without rights: all is loaded first, since such a user may not reach the libraries."""


@pytest.fixture
def common() -> Iterator[Path]:
    """A folder that a user without rights can reach, and owns: pytest's own is closed to others."""
    folder = Path(tempfile.mkdtemp())
    os.chown(folder, NOBODY, -1)
    yield folder
    folder.chmod(0o700)
    shutil.rmtree(folder)


def without_rights(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", DROPPED, str(NOBODY), *words],
        capture_output=True,
        check=False,
        text=True,
        env=environment(folder),
        cwd=folder,
    )


def test_a_user_with_rights_may_write(common: Path):
    assert without_rights(common, "remember", DEPLOY).returncode == 0


def test_a_read_only_folder_is_refused_with_a_way_out(common: Path):
    common.chmod(0o500)
    done = without_rights(common, "remember", DEPLOY)

    assert done.returncode == CODES["unavailable"]
    assert "A store cannot be made" in done.stderr
    assert "ENGRAM_STORE" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(common.iterdir()) == []


def test_a_store_in_a_folder_that_became_read_only_is_not_harmed(common: Path):
    assert without_rights(common, "remember", DEPLOY).returncode == 0
    before = (common / "store.db").read_bytes()
    common.chmod(0o500)
    done = without_rights(common, "remember", "The office is in Lisbon")

    assert done.returncode == CODES["unavailable"]
    assert len(done.stderr.splitlines()) == 2
    assert (common / "store.db").read_bytes() == before


def test_a_read_only_store_is_refused_with_a_way_out(common: Path):
    assert without_rights(common, "remember", DEPLOY).returncode == 0
    (common / "store.db").chmod(0o400)
    done = without_rights(common, "remember", "The office is in Lisbon")

    assert done.returncode == CODES["unavailable"]
    assert "permissions" in done.stderr


def test_an_export_into_a_read_only_folder_is_refused(common: Path):
    assert without_rights(common, "remember", DEPLOY).returncode == 0
    (common / "closed").mkdir(0o555)
    done = without_rights(common, "export", "closed/all.jsonl")

    assert done.returncode == CODES["unavailable"]
    assert "cannot be written" in done.stderr


def test_an_export_below_a_file_is_refused(used: Driver):
    done = used("export", "store.db/all.jsonl")

    assert done.code == CODES["unavailable"]
    assert "cannot be written" in done.err


def test_an_error_reaches_a_real_shell_with_its_code(tmp_path: Path):
    open_memory(tmp_path / "store.db").close()
    done = child(tmp_path, "get", "mem-0001", "--json")

    assert (done.code, done.out) == (3, "")
    assert done.error["code"] == "not_found"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        *(("ENGRAM_BUDGET", "many"), ("ENGRAM_AUTOPROMOTE", "perhaps"), ("ENGRAM_KINDS", "x")),
        ("ENGRAM_EMBEDDER_DIM", "some"),
    ],
)
def test_a_setting_that_makes_no_sense_is_named(engram: Driver, setting: str, value: str):
    engram.set(**{setting: value})
    for words in (("list",), ("config",)):
        done = engram(*words)

        assert done.code == 2
        assert setting in done.err
        assert repr(value) in done.err


def test_a_working_folder_that_is_gone_is_an_error_of_ours(tmp_path: Path):
    (tmp_path / "gone").mkdir()
    script = 'cd gone && rmdir ../gone && exec "$0" -m engram.surfaces.cli list'
    done = subprocess.run(
        ["bash", "-c", script, sys.executable],
        capture_output=True,
        check=False,
        text=True,
        env=environment(tmp_path),
        cwd=tmp_path,
    )

    assert done.returncode in (0, *CODES.values())
    assert "Traceback" not in done.stderr


def test_an_embedder_that_is_none_is_refused_with_the_choices(used: Driver):
    used.set(ENGRAM_EMBEDDER="huge")
    done = used("recall", "deploy", "--json")

    assert done.code == 2
    assert done.error["message"] == "There is no embedding model 'huge'."
    for name in ("snowflake-arctic-embed-s", "potion-base-8M", "endpoint", "none"):
        assert name in done.error["hint"]


def test_a_model_that_is_not_here_leaves_words_and_says_how_to_get_it(
    used: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr("engram.inference.models.PACKED", str(tmp_path / "nothing"))
    monkeypatch.setattr("engram.inference.shelf.PACKED", str(tmp_path / "nothing"))
    done = used("recall", "deploy")

    assert done.code == 0
    assert DEPLOY in done.out
    assert "is not installed" in done.out
    assert "engram models install snowflake-arctic-embed-s" in done.out
    answer, notice = used("recall", "zeppelin").out.splitlines()[
        :2
    ]  # what was asked for first, apart from the rest
    assert answer == "Nothing is known about that here. Try other words, or --everywhere."
    assert notice.startswith("The model snowflake-arctic-embed-s is not installed.")
    assert used("reembed").code == CODES["unavailable"]
