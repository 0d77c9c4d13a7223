"""Commands that write files or mend a store, killed at any of their calls: old or new, and again it works."""

import random
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import apsw
import psycopg
import pytest

from engram.service import OPERATIONS, Engram
from engram.surfaces.cli import EXTRA
from faults.harness import ENGINES, TIMES, WORKER, opened, place_of, rescued_texts, tell, texts
from faults.operating import is_there
from faults.test_killed_work import CALLS as KEPT_BY
from faults.test_killed_work import NEVER, killed, killed_at, moments_of
from faults.tracing import FAST, moments, strace
from surfaces.driving import COMMAND, environment
from surfaces.test_setup import furnish

ELSEWHERE: Mapping[str, str] = {
    "backup_create": "../operations/test_backups.py::test_killed_while_it_is_made_a_backup_is_the_old_one_or_none",
    "migrate": "test_schemas.py::test_a_kill_in_any_step_of_a_migration_is_made_up_for_and_every_row_is_there",
    "mcp": "test_taken_away.py::test_a_log_of_sqlite_deleted_under_two_servers_loses_nothing",
    "serve": "../surfaces/test_killed.py::test_what_was_acknowledged_over_http_is_stored_once_whoever_is_killed",
}
"""Commands that are killed there, and by which test."""

WRITTEN_WHOLE: Mapping[str, str] = {
    "models": "a file of a model takes its name once its hash is right; what lacks is fetched again",
    "login": "its one file takes its name when it is whole; a token that was lost is asked for again",
}
"""Commands that need another machine to write anything, and are killed nowhere."""

READING = {
    *("assets", "backup_verify", "cited", "context", "evidence", "files", "get", "graph", "history", "hygiene"),
    *("insights_list", "keys_list", "kinds", "list", "projects_list", "queue", "recall", "related"),
    *("remote_list", "remote_status", "replicas", "review", "search", "session_list", "stats", "suggest_key"),
    *("timeline", "trends"),
}
"""Operations that leave the records and files of a person as they are."""

NOTHING_KEPT = {"config", "completion", "demo", "tui"}
"""Commands that write nothing, nothing that is kept, or only by an operation."""

CALLS = "write,pwrite64,fsync,fdatasync,ftruncate,rename,link,unlink,mkdir"
OF_THE_STORE = {"pwrite64", "fdatasync", "ftruncate"}
"""Calls by which a command opens its store and writes to it: not the first that a short command is killed at."""

SHORT = 20
"""A command with fewer calls than this is killed at each of them, a longer one at some."""

DRAFT = re.compile(r"\.(\d+-[0-9a-f]{8}\.new|engram-\d+-[0-9a-f]{8})$")
"""What the name of a file ends with that has not got its name yet; a killed process leaves it there."""

OURS = ("home/", ".cache/", ".local/share/engram/", "cache/")
TEXTS = {f"Fact {n} of the quiet house" for n in range(6)}
Files = dict[str, bytes]


def files_of(folder: Path) -> Files:
    """Every file of a home by its path, but for Engram's own: its store, its cache and what set-up noted."""
    found = {str(each.relative_to(folder)): each for each in folder.rglob("*") if each.is_file()}
    return {name: each.read_bytes() for name, each in found.items() if not name.startswith(OURS)}


def finished(files: Files) -> Files:
    return {name: content for name, content in files.items() if not DRAFT.search(name)}


class Way(NamedTuple):
    """A command, and what is to be looked at where it wrote a file whose bytes are never twice the same."""

    words: tuple[str, ...]
    said: str = ""
    good: Callable[[Engram, Path], object] | None = None


def good_export(memory: Engram, path: Path) -> object:
    with opened("ram:", path.parent) as other:
        other.import_(str(path), trust=True)
        return texts(other) == texts(memory)


WAYS = {
    "setup": Way(("setup", "claude-code", "codex", "zed", "--yes")),
    "setup --remove": Way(("setup", "--remove", "--yes")),
    "init": Way(("init", "quiet-house")),
    "views": Way(("views", "AGENTS.md", "--yes")),
    "hook": Way(
        ("hook", "session-start", "--agent", "claude-code"), said='{"session_id": "s-1", "source": "startup"}'
    ),
    "export": Way(("export", "kept.jsonl", "--overwrite"), good=good_export),
    "rescue": Way(("rescue", "kept.jsonl", "--overwrite"), good=good_export),
    "fetch": Way(("fetch", "mem-0001", "plan.txt", "fetched.txt", "--overwrite")),
}


def asked(folder: Path, way: Way, *before: str) -> subprocess.CompletedProcess[str]:
    variables = environment(folder, ENGRAM_STORE=place_of("sqlite", folder), ENGRAM_EMBEDDER="none")
    return subprocess.run(
        [*before, *COMMAND, *way.words],
        cwd=folder / "project",
        env=variables,
        input=way.said,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with settings of agents, a store, and files that stand where a command writes."""
    folder = tmp_path_factory.mktemp("furnished")
    for agent in ("claude-code", "codex", "zed"):
        furnish(folder, agent)
    (project := folder / "project").mkdir()
    (project / "AGENTS.md").write_text("# Rules of the house\n\nBe quiet.\n")
    (project / "plan.txt").write_text("The plan. " * 5000)
    (project / "fetched.txt").write_text("What was fetched before")
    with opened(place_of("sqlite", folder), folder) as memory:
        for text in sorted(TEXTS):
            memory.remember(text, scope="global")
        memory.attach("mem-0001", str(project / "plan.txt"))
        memory.export(str(project / "kept.jsonl"))
    return folder


@pytest.mark.parametrize("name", WAYS)
def test_a_command_that_is_killed_leaves_every_file_old_or_new_and_works_again(tmp_path, furnished, name):
    way, dice, kills, folder = WAYS[name], random.Random(name), 0, tmp_path / "home-of-one"
    start = tmp_path / "start"
    shutil.copytree(furnished, folder)
    if name == "setup --remove":
        assert asked(folder, WAYS["setup"]).returncode == 0
    shutil.copytree(folder, start)
    before = files_of(folder)
    log = tmp_path / "log"
    done = asked(folder, way, *strace(log, FAST, "-e", f"trace={CALLS}"))
    assert done.returncode == 0, done.stderr
    after, known = finished(files_of(folder)), moments(log)
    assert after != before or name == "hook"

    some = [each for each in known if each.name not in OF_THE_STORE]
    for moment in some if len(some) < SHORT else dice.choices(known, k=3 * TIMES):
        shutil.rmtree(folder)
        shutil.copytree(start, folder)
        done = asked(folder, way, *moment.kills())
        assert done.returncode in (0, -9), done.stderr
        kills += done.returncode == -9
        assert_old_or_new(folder, way, before, after)
        done = asked(folder, way)
        assert done.returncode == 0, done.stderr
        assert finished(files_of(folder)).keys() == after.keys()
        if not way.good:
            assert finished(files_of(folder)) == after
        if name == "setup":  # what was noted before the kill still leads back to the first byte
            assert asked(folder, WAYS["setup --remove"]).returncode == 0
            assert {each: finished(files_of(folder)).get(each) for each in before} == before
    assert kills >= min(len(some), 3 * TIMES)
    tell(f"`kill -9` during `engram {name}`: every file old or new, and again works", "sqlite", kills)


def assert_old_or_new(folder: Path, way: Way, before: Files, after: Files) -> None:
    with opened(place_of("sqlite", folder), folder) as memory:
        assert texts(memory) >= TEXTS
        assert memory.doctor().healthy
        found = finished(files_of(folder))
        for name in found.keys() | before.keys() | after.keys():
            if way.good and name == "project/kept.jsonl":
                assert way.good(memory, folder / name)
            else:
                assert found.get(name) in (before.get(name), after.get(name)), name


# --- a repair ---


def drift_sqlite(place: str) -> None:
    db = apsw.Connection(place)
    db.execute("DELETE FROM claim; UPDATE memory SET kind = 'nothing'; DELETE FROM place").fetchall()
    db.execute("INSERT INTO words(words) VALUES ('delete-all')")
    db.close()


def drift_files(place: str) -> None:
    store = Path(place.removeprefix("files:"))
    (store / "audit.jsonl").unlink()
    (store / "memory-log.md").unlink(missing_ok=True)
    (store / "memory.md").write_text((store / "memory.md").read_text() + "\nA note of mine.\n")
    (store / "memory.md").chmod(0o644)


def drift_postgres(place: str) -> None:
    with psycopg.connect(place) as db:
        db.execute("DELETE FROM engram.word")
        db.execute("UPDATE engram.memory SET kind = 'nothing'")


DRIFTS = {"sqlite": drift_sqlite, "files": drift_files, "postgres": drift_postgres}


def drifted(engine: str, folder: Path) -> str:
    """A store in which what follows from the rest is wrong."""
    folder.mkdir(mode=0o700)
    place = place_of(engine, folder)
    with opened(place, folder) as memory:
        for text in sorted(TEXTS):
            memory.remember(text)
        memory.remember("Robin leads", kind="people")
    DRIFTS[engine](place)
    return place


@pytest.mark.parametrize("engine", ENGINES)
def test_a_repair_that_is_killed_loses_nothing_and_the_next_one_mends_the_rest(tmp_path, engine):
    dice, kills, wanted = random.Random(engine), 0, {*TEXTS, "Robin leads"}
    first = tmp_path / "whole"
    known = moments_of(tmp_path / "log", KEPT_BY[engine], WORKER, drifted(engine, first), first, "fix")
    for n in range(TIMES):
        place = drifted(engine, folder := tmp_path / f"{n}")
        for _ in range(3):
            kills += killed_at(dice.choice(known), WORKER, place, folder, "fix")
            assert rescued_texts(place, folder) == wanted
        assert not killed(engine, NEVER, WORKER, place, folder, "fix")
        with opened(place, folder) as memory:
            assert texts(memory) == wanted
            assert [each.message for each in memory.doctor().findings if each.severity != "note"] == []
            assert len(memory.recall("quiet house", limit=20).hits) == len(TEXTS)
            assert memory.remember("Fact 1 of the quiet house").memory.seen == 2
    assert kills
    tell("`kill -9` during `engram doctor --fix`, and the next one", engine, kills)


# --- the list ---


def test_every_command_is_killed_somewhere_or_is_known_to_write_nothing():
    here = {name.partition(" ")[0] for name in WAYS} | {"doctor"}
    asking = {name for name, one in OPERATIONS.items() if not one.writes}
    known = [here, ELSEWHERE.keys(), WRITTEN_WHOLE.keys(), READING, NOTHING_KEPT]

    assert asking | EXTRA.keys() == set().union(*known)
    assert sum(map(len, known)) == len(asking | EXTRA.keys())
    assert [test for test in ELSEWHERE.values() if not is_there(test)] == []
