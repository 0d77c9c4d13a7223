"""A store that is not there: whoever only asks makes none, and is told where it was looked for."""

from pathlib import Path

import pytest

from engram.service import OPERATIONS
from engram.wiring import open as open_memory
from surfaces.driving import Driver

ASKING = [
    *(("list",), ("search", "port"), ("recall", "port"), ("context",), ("stats",), ("history",), ("doctor",)),
    *(("get", "mem-0001"), ("export", "-"), ("review",), ("doctor", "--fix"), ("models",)),
    *(("views",), ("views", "AGENTS.md", "--yes")),
]
OF_WHAT_IS_THERE = {
    "attach": ("mem-0001", "notes.txt"),
    "detach": ("mem-0001", "notes.txt"),
    "relate": ("mem-0001", "mem-0002", "related"),
    "judge": ("mem-0001~mem-0002", "related"),
    "revise": ("mem-0001", "--text", "The port is 81"),
    "verify": ("mem-0001",),
    "forget": ("mem-0001",),
    "restore": ("mem-0001",),
    "conflicts": ("--scan",),
    "purge": ("mem-0001", "--confirm"),
    "promote": ("mem-0001",),
    "reject": ("mem-0001",),
    "sync": ("--apply",),
    "settle": (),
    "undo": (),
    "scrub": ("--confirm",),
    "insights_purge": ("--confirm",),
    "keys_revoke": ("key-0001",),
    "reembed": (),
    "reindex": (),
    "owners_assign": ("ada", "--apply"),
    "workspaces_assign": ("team-x", "ada", "--apply"),
    "projects_merge": ("api", "github.com/acme/api", "--apply"),
    "projects_rename": ("api", "github.com/acme/api", "--apply"),
    "replicas_accept": ("4f1a", "--confirm"),
    "replicas_drop": ("4f1a", "--confirm"),
    "remote_enrol": ("team", "global"),
    "remote_unenrol": ("team", "global"),
    "remote_remove": ("team",),
    "remote_push": ("team",),
    "remote_pull": ("team",),
}
"""What writes only where something is there already, each with what is said to it."""
EXIT = 7


def everything(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


@pytest.mark.parametrize("form", ["", "files:"])
@pytest.mark.parametrize("words", ASKING, ids=" ".join)
def test_who_only_asks_a_store_that_is_not_there_is_told_so_and_leaves_nothing(
    engram: Driver, words: tuple[str, ...], form: str, tmp_path: Path
):
    place = tmp_path / "no" / "such" / "x.db"
    before = everything(tmp_path)
    done = engram(*words, "--store", f"{form}{place}")

    assert (done.code, done.out) == (EXIT, "")
    assert f"There is no store at {place}, and none was made." in done.err
    assert "engram remember TEXT" in done.err
    assert engram(*words, "--store", f"{form}{place}", "--json").error["code"] == "unavailable"
    assert everything(tmp_path) == before


@pytest.mark.parametrize("form", ["", "files:"])
def test_nothing_is_rescued_from_a_store_that_is_not_there_and_no_export_is_left(
    engram: Driver, form: str, tmp_path: Path
):
    place = tmp_path / "typo.db"
    before = everything(tmp_path)
    done = engram("rescue", str(tmp_path / "rescued.jsonl"), "--store", f"{form}{place}")

    assert (done.code, done.out) == (EXIT, "")
    assert f"There is no store at {place}." in done.err
    assert everything(tmp_path) == before


def test_the_log_of_a_store_that_is_gone_is_still_looked_into(engram: Driver, tmp_path: Path):
    place = tmp_path / "gone.db"
    Path(f"{place}-wal").write_bytes(b"\0" * 64)

    assert engram("rescue", str(tmp_path / "rescued.jsonl"), "--store", str(place)).code == 0


@pytest.mark.parametrize("name", OF_WHAT_IS_THERE)
def test_what_changes_only_what_is_there_is_told_that_no_store_is(engram: Driver, name: str, tmp_path: Path):
    place = tmp_path / "typo.db"
    before = everything(tmp_path)
    done = engram(*OPERATIONS[name].command.split(), *OF_WHAT_IS_THERE[name], "--store", str(place))

    assert (done.code, done.out) == (EXIT, "")
    assert f"There is no store at {place}, and none was made." in done.err
    assert everything(tmp_path) == before


def test_whatever_else_writes_may_be_the_first_to_keep_something():
    apart = {"backup_restore"}  # it puts a store in place of this one
    assert {name for name, one in OPERATIONS.items() if one.writes and not one.adds} == {*OF_WHAT_IS_THERE, *apart}


def test_a_store_that_settings_name_and_is_not_there_is_told_too(engram: Driver, tmp_path: Path):
    engram.set(ENGRAM_STORE=str(tmp_path / "typo.db"))

    assert "There is no store at" in engram("list").err
    assert not (tmp_path / "typo.db").exists()


def test_a_folder_without_a_store_is_none_and_stays_as_it_is(engram: Driver, tmp_path: Path):
    folder = tmp_path / "folder"
    folder.mkdir()

    assert engram("list", "--store", f"files:{folder}").code == EXIT
    assert not any(folder.iterdir())


@pytest.mark.parametrize(
    "words", [("list",), ("recall", "port"), ("context",), ("stats",), ("doctor",), ("views",)], ids=" ".join
)
def test_first_use_at_the_default_place_is_an_empty_memory_and_makes_nothing(
    engram: Driver, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.delenv("ENGRAM_STORE")
    engram.set(XDG_DATA_HOME=str(tmp_path / "data"), HOME=str(tmp_path))

    assert engram(*words).code == 0
    assert not (tmp_path / "data" / "engram" / "engram.db").exists()
    engram.remember("The port is 80")
    assert (tmp_path / "data" / "engram" / "engram.db").exists()


def test_what_saves_makes_the_store_and_what_needs_none_asks_for_none(engram: Driver, tmp_path: Path):
    assert engram("kinds", "--store", str(tmp_path / "x.db")).code == 0
    assert not (tmp_path / "x.db").exists()
    assert OPERATIONS["remember"].writes
    assert engram("remember", "The port is 80", "--store", str(tmp_path / "x.db")).code == 0
    assert (tmp_path / "x.db").exists()


def test_a_file_that_is_no_store_is_called_that_before_its_modes_are(engram: Driver, tmp_path: Path):
    other = tmp_path / "passwd"
    other.write_text("root:x:0:0\n" * 20)
    other.chmod(0o644)
    done = engram("list", "--store", str(other))

    assert "is not an Engram store" in done.err
    assert "chmod" not in done.err


@pytest.mark.parametrize("form", ["", "files:"])
@pytest.mark.parametrize(
    "words",
    [
        ("remember", "The api is in src/api.py", "--kind", "map"),
        ("remember", "ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
        ("remember", "x" * 70_000),
        ("remember", "The port is 80", "--importance", "11"),
        ("import", "nowhere.jsonl"),
        ("remote", "add", "team", "ftp://memory.example.com"),
        ("sync", "--git"),
    ],
    ids=lambda words: " ".join(words)[:40],
)
def test_what_is_refused_makes_no_store(engram: Driver, words: tuple[str, ...], form: str, tmp_path: Path):
    place = tmp_path / "no" / "such" / "store"
    before = everything(tmp_path)
    assert engram(*words, "--store", f"{form}{place}").code in (2, 3, 5)
    assert everything(tmp_path) == before
    assert engram("remember", "The port is 80", "--store", f"{form}{place}").code == 0
    done = engram("list", "--store", f"{form}{place}")
    assert "mem-0001" in done.out
    assert "The port is 80" in done.out


@pytest.mark.parametrize("form", ["", "files:"])
def test_an_import_that_takes_in_nothing_makes_no_store(engram: Driver, form: str, tmp_path: Path):
    engram.remember("We deploy on Fridays")
    engram("export", "changed.jsonl")
    changed = tmp_path / "changed.jsonl"
    changed.write_text(changed.read_text().replace("Fridays", "Mondays"))
    (tmp_path / "notes.md").write_text("- We use tabs\n")
    (tmp_path / "broken.json").write_text('{"a":')
    place, before = f"{form}{tmp_path / 'new'}", everything(tmp_path)

    assert engram("import", "changed.jsonl", "--store", place).code == 8
    assert engram("import", "broken.json", "--store", place).code == 2
    assert "Would take in notes.md" in engram("import", "notes.md", "--dry-run", "--store", place).out
    assert everything(tmp_path) == before
    assert engram("import", "notes.md", "--store", place).code == 0
    assert "We use tabs" in engram("queue", "--store", place).out


def test_a_server_that_is_named_first_is_known_afterwards(engram: Driver):
    refused = engram("remote", "add", "Team", "http://127.0.0.1:9")
    assert (refused.code, engram.store.exists()) == (2, False)
    assert engram("remote", "add", "team", "http://127.0.0.1:9").code == 0
    assert "team" in engram("remote", "list").out


@pytest.mark.parametrize(
    "words", [("list",), ("doctor",), ("doctor", "--fix"), ("remember", "The port is 81")], ids=" ".join
)
def test_a_store_of_which_the_log_alone_is_left_is_no_store_that_is_not_there(
    engram: Driver, words: tuple[str, ...], tmp_path: Path
):
    log = Path(f"{engram.store}-wal")
    with open_memory(engram.store) as memory:
        memory.remember("The port is 80")
        left = log.read_bytes()
    engram.store.unlink()
    log.write_bytes(left)

    refused = engram(*words)
    assert refused.code == 8
    assert f"{engram.store} is gone, and its log {log} is still there" in refused.err
    assert "engram rescue FILE" in refused.err
    assert (engram.store.exists(), log.read_bytes()) == (False, left)
    assert engram("rescue", str(tmp_path / "saved.jsonl")).code == 0
    log.unlink()
    assert engram("import", str(tmp_path / "saved.jsonl"), "--trust").code == 0
    assert "The port is 80" in engram("list").out
