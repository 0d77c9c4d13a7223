"""Names that lead elsewhere and files that unfold: what is read stays where it is meant, and within its bounds."""

import functools
import gzip
import itertools
import json
import os
import pickle
import sqlite3
import struct
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from attacks.doors import House, house
from attacks.ledger import tried
from surfaces.driving import Driver

HIDDEN = "The vault is behind the quokka"
HONEST = "The deploy is on Fridays"
"""What is as it should be, beside each trick: where it does not come in, nothing was read, and nothing is shown."""


def came(engram: Driver) -> list[str]:
    """The texts of all there is."""
    listed = engram("list", "--everywhere", "--standing", "all", "--json")
    assert listed.code == 0, listed
    return [one["text"] for one in listed.json["memories"]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("paths")
    (folder / "secret.txt").write_text(HIDDEN)
    with house(folder) as one:
        yield one


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


# --- names ---

NAMES = (
    "../../out.txt",
    "/etc/out.txt",
    "..\\..\\out.txt",
    "C:\\out.txt",
    "out\u202etxt.exe.txt",
    ".bashrc.txt",
    "a/../out.txt",
)


@pytest.mark.parametrize("name", NAMES)
def test_an_attachment_is_fetched_into_this_folder_whatever_it_is_called(engram: Driver, name: str):
    one = engram.remember("The deploy is on Fridays")["memory"]["handle"]
    done = engram("attach", one, "-", "--name", name, "--json", stdin=b"plain words")
    here = engram.folder / "within" / "here"
    here.mkdir(parents=True)
    engram._patch.chdir(here)
    before = files(engram.folder.parent)
    called = done.json["asset"]["name"]
    assert engram("fetch", one, called).code == 0

    (new,) = files(engram.folder.parent) - before
    assert new.parent == here
    assert not new.name.startswith(".")
    tried("An attachment whose name leads out of the folder", "CLI", "stays in the folder")


PATHS = (
    "/web/static/../../../secret.txt",
    "/web/static/..%2f..%2f..%2fsecret.txt",
    "/web/static/%2e%2e/%2e%2e/secret.txt",
    "/web/static//etc/passwd",
    "/v1/../secret.txt",
    "/v1/memories/..%2f..%2fsecret.txt",
    "/v1/memories/%00",
)


def test_an_address_that_leads_to_something_is_served(home: House):
    """Without this, a server that serves nothing would pass for a safe one."""
    made = home.ask("POST", "/v1/memories", json.dumps({"text": HONEST})).json["memory"]["handle"]

    assert home.ask("GET", "/web/static/app.css").status == 200
    assert HONEST in home.ask("GET", f"/v1/memories/{made}").body


@pytest.mark.parametrize("path", PATHS)
def test_no_address_leads_out_of_what_is_served(home: House, path: str):
    answer = home.ask("GET", path)
    surface = "web" if path.startswith("/web") else "HTTP"

    assert answer.status in (404, 422)
    assert "quokka" not in answer.body
    assert "root:" not in answer.body
    tried("An address that leads out of what is served", surface, answer.status)


@pytest.mark.parametrize("path", ["secret.txt", "/etc/passwd", "../../etc/passwd", "-"])
def test_no_file_of_the_server_is_taken_for_an_attachment_or_an_import(home: House, path: str):
    one = home.ask("POST", "/v1/memories", json.dumps({"text": f"About {path}"})).json["memory"]["handle"]
    attached = home.ask(
        "POST", f"/v1/memories/{one}/assets", json.dumps({"file": path}), content_type="application/json"
    )
    imported = home.ask("POST", "/v1/import", json.dumps({"path": path}), content_type="application/json")
    shown = home.ask("GET", f"/v1/memories/{one}/assets").json["assets"]

    assert imported.status == 404
    assert attached.status != 200 or shown[0]["size"] == len(json.dumps({"file": path}))
    tried("A file of the server, named by whoever asks", "HTTP", "not read")


def test_an_export_does_not_write_through_a_link(engram: Driver):
    engram.remember("The deploy is on Fridays")
    target = engram.folder / "precious.txt"
    target.write_text("precious")
    link = engram.folder / "out.jsonl"
    link.symlink_to(target)
    done = [engram("export", str(link), *more).code for more in ((), ("--overwrite",))]

    assert done == [5, 0]
    assert target.read_text() == "precious"
    assert not link.is_symlink()  # the export took the place of the link
    assert HONEST in link.read_text()
    tried("A link where a file is to be written", "CLI", "not followed")


def test_a_link_out_of_a_folder_is_not_followed(engram: Driver):
    secret = engram.folder / "secret.md"
    secret.write_text(f"- {HIDDEN}\n")
    folder = engram.folder / "notes"
    folder.mkdir()
    (folder / "honest.md").write_text(f"- {HONEST}\n")
    (folder / "page.md").symlink_to(secret)
    (folder / "more").symlink_to(engram.folder)
    done = engram("import", str(folder), "--json")

    assert (done.code, done.json["outcomes"]) == (0, {"held": 1}), done
    (text,) = came(engram)
    assert HONEST in text
    tried("A link that leads out of a folder", "import", "not followed")


# --- archives ---


def archive(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, content in members.items():
            zipped.writestr(name, content)
    return path


@pytest.mark.parametrize("name", ["../../conversations.json", "/conversations.json", "a/../../conversations.json"])
def test_an_archive_writes_nothing_wherever_its_names_lead(engram: Driver, name: str):
    said = json.dumps([{"conversations_memory": HONEST}]).encode()
    bomb = archive(
        engram.folder / "export.zip", **{name: b"[]", "conversations.json": b"[]", "memories.json": said}
    )
    before = files(engram.folder.parent)
    done = engram("import", str(bomb), "--json")

    assert (done.code, done.json["form"], done.json["outcomes"]["held"]) == (0, "claude-ai", 1), done
    assert came(engram) == [HONEST]
    new = {path for path in files(engram.folder.parent) - before if "store.db" not in path.name}
    assert not {path for path in new if path.suffix == ".json"}
    tried("An archive whose names lead elsewhere", "import", "nothing is unpacked")


def manifest(*packed: dict[str, object]) -> bytes:
    told = {
        "format": "engram.backup.v1",
        "created_at": "2026-05-01T09:00:00Z",
        "version": "0.1.0",
        "engine": "sqlite",
        "schema": "1",
        "counts": {},
        "files": list(packed),
    }
    return json.dumps(told).encode()


NO_STORE, OTHER = "which is none of a store", "is not what it was"
BACKUPS = {
    "a name that leads out": ({"name": "../out.db", "bytes": 4, "sha256": "0" * 64}, b"evil", NO_STORE),
    "a name from the root": ({"name": "/var/out.db", "bytes": 4, "sha256": "0" * 64}, b"evil", NO_STORE),
    "more than it says": ({"name": "store.db", "bytes": 4, "sha256": "0" * 64}, b"\x00" * (64 << 20), OTHER),
}


@pytest.mark.parametrize("trick", BACKUPS)
def test_a_backup_that_lies_is_not_restored(engram: Driver, trick: str):
    packed, content, why = BACKUPS[trick]
    path = archive(engram.folder / "b.zip", **{"manifest.json": manifest(packed), str(packed["name"]): content})
    before = files(engram.folder.parent)
    done = engram("backup", "restore", str(path))

    assert (done.code, why in done.err) == (8, True), done
    assert {one for one in files(engram.folder.parent) - before if one.parent != engram.folder} == set()
    assert engram.made()("stats", "--json").json["memories"] == 0
    tried("A backup that lies about what is in it", "import", "refused")


# --- what unfolds ---


def test_an_archive_that_unfolds_without_end_is_refused(engram: Driver):
    said = b'[{"conversations_memory": "We deploy on Fridays"}'
    small = archive(engram.folder / "small.zip", **{"memories.json": said + b"]"})
    bomb = archive(engram.folder / "export.zip", **{"memories.json": said + b" " * (64 << 20) + b"]"})
    done, named = engram.made()("import", str(bomb)), engram("import", str(bomb), "--form", "claude-ai")

    assert (done.code, named.code) == (2, 2), (done, named)
    assert "would unpack to 67,108,914 bytes" in named.err
    assert engram("stats", "--json").json["memories"] == 0
    assert engram("import", str(small), "--json").json["outcomes"] == {
        "held": 1
    }  # it is the blanks that are refused
    tried("An archive that unfolds without end", "import", "nothing of it is kept")


def bundle(path: Path, point: bytes) -> Path:
    """A folder in which a local Qdrant keeps one point."""
    (path / "collection" / "memories").mkdir(parents=True)
    (path / "meta.json").write_text("{}")
    with closing(sqlite3.connect(path / "collection" / "memories" / "storage.sqlite")) as database, database:
        database.execute("CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)")
        database.execute("INSERT INTO points VALUES ('one', ?)", (point,))
    return path


class Point:
    """What is pickled for one: whatever reads it makes something of its own of the name."""

    def __init__(self, content: object) -> None:
        self.__dict__["__dict__"] = {"id": "one", "payload": {"content": "Words", "tags": content}}


POINTS = {
    "one part many times": pickle.dumps(Point(functools.reduce(lambda inner, _: [inner] * 9, range(9), "x"))),
    "a place far away": b"\x80\x04Nr" + struct.pack("<I", 1 << 28) + b".",
}


def test_a_pickle_of_a_point_is_read(engram: Driver):
    """Without this, points that are never read would pass for ones that were passed over."""
    done = engram("import", str(bundle(engram.folder / "points", pickle.dumps(Point(["x"])))), "--json")

    assert (done.code, done.json["outcomes"], came(engram)) == (0, {"held": 1}, ["Words"]), done


@pytest.mark.parametrize("trick", POINTS)
def test_a_pickle_that_unfolds_is_passed_over(engram: Driver, trick: str):
    began = time.process_time()
    done = engram("import", str(bundle(engram.folder / "points", POINTS[trick])), "--json")

    assert (done.code, done.json["outcomes"]) == (0, {"skipped": 1}), done
    assert time.process_time() - began < 5
    tried("A document of nested references", "import", "not unfolded")


SESSIONS = "CREATE TABLE sdk_sessions (id INTEGER PRIMARY KEY, memory_session_id, content_session_id, project);"
DATABASES = {
    "rows without end": (
        2,  # a view is not their table: refused as a whole
        (
            "CREATE VIEW observations AS WITH RECURSIVE more(id) AS (SELECT 1 UNION ALL SELECT id + 1"
            " FROM more) SELECT id, 'decision' AS type, 'p' AS project, 'Words' AS title FROM more;"
        ),
    ),
    "a value without end": (
        0,  # their table, of which only this row cannot be read
        (
            "CREATE TABLE observations (id INTEGER PRIMARY KEY, type, project, memory_session_id,"
            " title AS (hex(zeroblob(400000000)))); INSERT INTO observations VALUES (1, 'decision', 'p', 'm');"
        ),
    ),
}


def database_of(path: Path, tables: str) -> str:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SESSIONS + tables)
    return str(path)


def test_a_database_of_rows_is_read(engram: Driver):
    """Without this, tables that are never read would pass for ones that were not waited for."""
    named = "CREATE TABLE observations (id INTEGER PRIMARY KEY, type, project, memory_session_id, title);"
    row = f"INSERT INTO observations VALUES (1, 'decision', 'p', 'm', '{HONEST}');"
    path = database_of(engram.folder / "theirs.db", named + row)
    done = engram("import", path, "--form", "claude-mem", "--json")

    assert (done.code, done.json["outcomes"], came(engram)) == (0, {"held": 1}, [HONEST]), done


@pytest.mark.parametrize("trick", DATABASES)
def test_a_database_that_makes_what_is_read_is_not_waited_for(engram: Driver, trick: str):
    code, tables = DATABASES[trick]
    path = database_of(engram.folder / "theirs.db", tables)
    done = engram.made()("import", path, "--form", "claude-mem")

    assert done.code == code, done
    assert "cannot be read" in done.out + done.err
    assert engram("stats", "--json").json["memories"] == 0
    tried("A database that makes rows or values without end", "import", "not read")


def nested(marks: int) -> str:
    rows = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    names = "abcdefghijklmnop"[:marks]
    rows += [f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]" for old, new in itertools.pairwise(names)]
    return "\n".join(rows)


def test_a_folder_with_a_page_of_nested_references_is_taken_in_without_unfolding_it(engram: Driver):
    folder = engram.folder / "old"
    (folder / ".obsidian").mkdir(parents=True)
    (folder / "page.md").write_text(f"---\ntags: *i\n{nested(9)}\ntags: *i\n---\nWords\n")
    (folder / "more.md").write_text(f"---\n{nested(9)}\ntags: *i\n---\nMore words\n")
    (folder / "honest.md").write_text(f"---\ntags: [a]\n---\n{HONEST}\n")
    done = engram("import", str(folder), "--json")

    assert (done.code, done.json["form"]) == (0, "obsidian"), done
    assert HONEST in came(engram)
    assert "x, x" not in done.out
    assert len(done.out) < 10_000
    tried("A document of nested references", "import", "not unfolded")


def test_plain_files_with_nested_references_are_read_without_unfolding_them(engram: Driver):
    folder = engram.folder / "old"
    store = ("--store", f"files:{folder}")
    assert engram("remember", HONEST, *store).code == 0
    (folder / "events.jsonl").unlink()
    registry = folder / "memory.md"
    head, items, rest = registry.read_text().partition("items:\n")
    beside = f"{head}{nested(9)}\nmore: *i\n{items}{rest}"
    told = []
    for content in (beside, beside.replace("kind: fact", "kind: fact\n    seen: *i")):
        registry.write_text(content)
        told.append(engram("list", *store))

    assert [(done.code, HONEST in done.out) for done in told] == [(0, True), (0, True)], told
    assert "seen cannot be read" in told[1].err  # and the last good state answers
    assert not any("x, x" in done.out + done.err or len(done.out + done.err) > 10_000 for done in told)
    tried("A document of nested references", "store", "not unfolded")


@pytest.mark.parametrize("form", ["obsidian", "basic-memory", "claude-code"])
def test_a_page_whose_properties_take_in_each_other_is_passed_over(engram: Driver, form: str):
    merged = "\n".join(["m0: &m0 {x: y}", *(f"m{n}: &m{n} {{<<: [*m{n - 1}, *m{n - 1}]}}" for n in range(1, 40))])
    folder = engram.folder / "memory"  # as Claude Code calls it
    folder.mkdir()
    named = "permalink: {0}\nname: {0}\ndescription: of {0}\ntype: note\n"
    (folder / "page.md").write_text(f"---\n{named.format('page')}{merged}\n---\nWords\n")
    (folder / "honest.md").write_text(f"---\n{named.format('honest')}---\n{HONEST}\n")
    began = time.process_time()
    done = engram("import", str(folder), "--form", form, "--json")

    assert (done.code, done.json["outcomes"]) == (0, {"held": 1, "skipped": 1}), done
    assert time.process_time() - began < 5
    assert HONEST in came(engram)[0]
    tried("A document of nested references", "import", "not unfolded")


@pytest.mark.parametrize("deep", ["[" * 200_000, '{"a":' * 200_000, '[{"observations":' * 50_000])
def test_a_document_that_is_deep_gets_a_plain_word(engram: Driver, deep: str):
    path = engram.folder / "deep.json"
    path.write_text(deep)
    done = engram("import", str(path))

    assert done.code in (2, 3, 8), done
    assert "Traceback" not in done.err
    tried("A document that is nested without end", "import", "refused")


DEEP = {
    "lists": "[" * 30_000 + "]" * 30_000,
    "mappings": "{a: " * 50_000 + "}" * 50_000,
    "dashes": "\n      " + "- " * 60_000 + "x",
    "lines": "".join("\n" + " " * n + "a:" for n in range(6, 700)),
}


@pytest.mark.parametrize("deep", DEEP.values(), ids=DEEP)
def test_a_page_that_is_deep_is_passed_over(engram: Driver, deep: str):
    folder = engram.folder / "old"
    folder.mkdir()
    (folder / "deep.md").write_text(f"---\npermalink: x\na: {deep}\n---\nWords\n")
    (folder / "honest.md").write_text(f"---\ntags: [a]\n---\n{HONEST}\n")
    done = engram.made()("import", str(folder), "--json")

    assert done.code == 0, done
    assert came(engram) == [HONEST]
    assert "nested too deep" in done.out
    assert len(done.out) < 10_000
    tried("A document that is nested without end", "import", "refused")


@pytest.mark.parametrize("deep", DEEP.values(), ids=DEEP)
def test_plain_files_that_are_deep_are_refused_in_a_plain_word(engram: Driver, deep: str):
    folder = engram.folder / "old"
    store = ("--store", f"files:{folder}")
    assert engram("remember", HONEST, *store).code == 0
    registry = folder / "memory.md"
    registry.write_text(registry.read_text().replace("kind: fact", f"kind: fact\n    tags: {deep}"))
    done = engram.made()("list", *store)

    assert (done.code, HONEST in done.out) == (0, True), done  # the last good state answers
    assert "nested too deep" in done.err
    assert len(done.err) < 10_000
    tried("A document that is nested without end", "store", "refused")


def test_a_backup_whose_manifest_is_deep_gets_a_plain_word(engram: Driver):
    path = archive(engram.folder / "b.zip", **{"manifest.json": b"[" * 200_000})
    done = engram("backup", "restore", str(path))

    assert (done.code, "is damaged" in done.err) == (8, True), done
    tried("A document that is nested without end", "import", "refused")


@pytest.mark.parametrize("deep", ["[" * 200_000, '{"text":' * 200_000])
def test_a_request_that_is_deep_gets_a_plain_word(home: House, deep: str):
    answer = home.ask("POST", "/v1/memories", deep, content_type="application/json")
    told = home.ask(
        "POST", "/mcp", deep, content_type="application/json", accept="application/json, text/event-stream"
    )

    assert answer.status in (400, 422)
    assert told.status == 400
    assert home.ask("GET", "/health").status == 200
    tried("A document that is nested without end", "HTTP", answer.status)
    tried("A document that is nested without end", "MCP", told.status)


def test_a_packed_request_is_not_unpacked(home: House):
    packed = gzip.compress(b'{"text": "' + b"x" * (64 << 20) + b'"}')
    answer = home.ask("POST", "/v1/memories", packed, content_type="application/json", content_encoding="gzip")

    assert 400 <= answer.status < 500
    tried("A packed request that unfolds without end", "HTTP", answer.status)


def test_nothing_that_is_written_can_be_read_by_others(engram: Driver, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(engram.folder / "cache"))
    here = set(engram.folder.rglob("*"))
    umask = os.umask(0o022)
    try:
        one = engram.remember("The deploy is on Fridays", "--scope", "project:api/deep")["memory"]["handle"]
        engram("attach", one, "-", "--name", "notes.txt", stdin=b"plain words")
        engram("recall", "when is the deploy?", "--everywhere")
        codes = [
            engram(*words, str(engram.folder / name), *more).code
            for words, name, more in (
                (("backup", "create"), "kept.zip", ()),
                (("export",), "out.jsonl", ()),
                (("export",), "vault", ("--form", "obsidian")),
                (("views",), "AGENTS.md", ("--yes",)),
            )
        ]
        row = json.dumps({"session_id": "s", "cwd": str(engram.folder)})
        engram("hook", "session-start", stdin=row.encode())
        engram("hook", "nonsense", stdin=row.encode())
    finally:
        os.umask(umask)
    made = [path for path in engram.folder.rglob("*") if path not in here]

    assert codes == [0, 0, 0, 0]
    assert len(made) > 10
    assert [path for path in made if path.stat().st_mode & 0o077] == []
    tried("Reading as another user what was written", "CLI", "the owner's alone")
