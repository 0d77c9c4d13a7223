"""Between schemas: every step up may be killed, a newer store is refused untouched, and there is a way back.

A release of another schema is this one with fewer or more migrations (`worker.py … as VERSION`).
"""

import json
import os
import random
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import apsw
import psycopg
import pytest

from engines.samples import Story, everything
from engines.stores import wrong
from engram.engines import postgres_schema, sqlite_file
from engram.errors import Corrupt
from engram.model.codec import encode
from engram.ports import Engine
from faults.harness import ENGINES, TIMES, WORKER, opened, place_of, rescued_texts, tell, texts, work
from faults.test_killed_work import killed, old_postgres, old_sqlite
from surfaces.mcp_clients import COMMAND, environment

STEPS: dict[str, Sequence[object]] = {"sqlite": sqlite_file.MIGRATIONS, "postgres": postgres_schema.MIGRATIONS}
APART = {"sqlite": 16, "postgres": 14}
"""Every so many-th call of a step is one that it is killed at: fewer calls has no step."""


def schema_of(place: str) -> int:
    if place.startswith("postgres"):
        with psycopg.connect(place) as db:
            return postgres_schema.schema_of(db)
    db = apsw.Connection(place)
    try:
        return sqlite_file.schema_of(db)
    finally:
        db.close()


def records_of(engine: Engine) -> dict[str, str]:
    return {each.id: json.dumps(encode(each), sort_keys=True) for each in everything(engine)}


def done_as(place: str, folder: Path, version: int, *words: object) -> None:
    """Let the release of a schema do something to a store."""
    process = work(place, folder, "as", version, *words)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors


@pytest.mark.parametrize(("engine", "older"), [("sqlite", old_sqlite), ("postgres", old_postgres)])
def test_a_kill_in_any_step_of_a_migration_is_made_up_for_and_every_row_is_there(tmp_path, engine, older):
    dice, kills, last = random.Random(engine), 0, len(STEPS[engine])
    (tmp_path / "whole").mkdir(mode=0o700)
    whole = older(tmp_path / "whole")[1]()
    assert (wanted := records_of(whole))
    said = {each.text for each in everything(whole)}
    whole.close()
    for n in range(TIMES):
        (folder := tmp_path / f"{n}").mkdir(mode=0o700)
        _, opens = older(folder)
        place = f"{folder}/store.db" if engine == "sqlite" else os.environ["DATABASE"]
        for version in range(schema_of(place) + 1, last + 1):
            at = dice.randrange(1, APART[engine])
            while killed(engine, at, WORKER, place, folder, "as", version, "migrate"):
                kills, at = kills + 1, at + APART[engine]
                assert schema_of(place) in (version - 1, version)
                assert rescued_texts(place, folder) == said
            assert schema_of(place) == version
        found = opens()
        assert records_of(found) == wanted
        assert wrong(found.check()) == []
        Story(found, name="after", start=500).remember("It goes on")
        found.close()
    assert kills >= TIMES * (last - 2)  # in every step at least
    tell("`kill -9` in every step from one schema to the next, which is taken again", engine, kills)


# --- a newer store ---


def newer_files(place: str, folder: Path) -> Callable[[], object]:
    del folder
    path = Path(place.removeprefix("files:")) / "memory.md"
    path.write_text(path.read_text().replace("memory.v1", "memory.v2"))
    return path.read_bytes


def newer_sqlite(place: str, folder: Path) -> Callable[[], object]:
    done_as(place, folder, len(STEPS["sqlite"]) + 1, "migrate")
    return Path(place).read_bytes


def newer_postgres(place: str, folder: Path) -> Callable[[], object]:
    done_as(place, folder, len(STEPS["postgres"]) + 1, "migrate")

    def content() -> object:
        with psycopg.connect(place) as db:
            rows = [db.execute(f"SELECT * FROM engram.{table}").fetchall() for table in ("meta", "memory", "event")]
            return repr(rows)

    return content


NEWER = {"sqlite": newer_sqlite, "files": newer_files, "postgres": newer_postgres}


@pytest.mark.parametrize("engine", ENGINES)
def test_a_store_of_a_newer_schema_is_refused_and_not_touched_and_what_it_holds_can_be_taken_over(tmp_path, engine):
    place, folder = place_of(engine, tmp_path), tmp_path
    with opened(place, folder) as memory:
        wanted = {memory.remember(f"Note {n} from the future").memory.text for n in range(5)}
    content = NEWER[engine](place, folder)
    before = content()
    for words in (("recall", "future"), ("remember", "From the past"), ("doctor", "--fix"), ("backup", "create")):
        variables = environment(folder, ENGRAM_STORE=place, ENGRAM_EMBEDDER="none")
        done = subprocess.run(
            [*COMMAND, *words], env=variables, cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == Corrupt.exit_code, (words, done.stdout, done.stderr)
        assert "this Engram knows" in done.stderr
        assert "Upgrade Engram here" in done.stderr
        assert "engram export FILE" in done.stderr

    assert rescued_texts(place, folder) == wanted
    assert content() == before
    if engine in STEPS:  # the text of plain files alone does not make another release of this one
        done_as(place, folder, len(STEPS[engine]) + 1, "export", folder / "export.jsonl")
        with opened(place_of(engine, folder / "back"), folder / "back") as memory:
            memory.import_(str(folder / "export.jsonl"), trust=True)
            assert texts(memory) == wanted
            assert memory.doctor().healthy
    tell("a store of a newer release, opened by this one: refused, untouched", engine, 1)


def test_a_store_of_sqlite_that_a_newer_release_upgrades_takes_no_writes_of_the_older_that_has_it_open(tmp_path):
    place, newer = place_of("sqlite", tmp_path), len(STEPS["sqlite"]) + 1
    with opened(place, tmp_path) as memory:
        memory.remember("Before the upgrade")
        done_as(place, tmp_path, newer, "migrate")
        with pytest.raises(Corrupt, match=f"schema {newer}"):
            memory.remember("After the upgrade")
        assert texts(memory) == {"Before the upgrade"}
    done_as(place, tmp_path, newer, "export", tmp_path / "export.jsonl")
    told = (tmp_path / "export.jsonl").read_text()
    assert "Before the upgrade" in told
    assert "After the upgrade" not in told
    tell("a store upgraded by a newer release under an older one: refused, untouched", "sqlite", 1)


def test_a_database_that_a_newer_release_upgrades_is_served_on_by_the_older(tmp_path):
    """Its migrations only add, so that servers can be replaced one after the other."""
    place, newer = place_of("postgres", tmp_path), len(STEPS["postgres"]) + 1
    with opened(place, tmp_path) as memory:
        memory.remember("Before the upgrade")
        done_as(place, tmp_path, newer, "migrate")
        memory.remember("After the upgrade")
        assert texts(memory) == {"Before the upgrade", "After the upgrade"}
    done_as(place, tmp_path, newer, "export", tmp_path / "export.jsonl")
    assert "After the upgrade" in (tmp_path / "export.jsonl").read_text()
    tell("a database upgraded by a newer release under an older server, which goes on", "postgres", 1)
