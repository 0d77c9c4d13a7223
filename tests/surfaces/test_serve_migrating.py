"""The form of a database and a server's start: changed by it when it is told to, and never else."""

import json
import subprocess
import uuid
from pathlib import Path

import psycopg
import pytest

from engines.servers import database_url, put_first_schema
from engram.engines.postgres_schema import MIGRATIONS, schema_of
from surfaces.driving import COMMAND, child, environment


@pytest.fixture
def url() -> str:
    """An empty database."""
    name = f"of_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(database_url(), autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}")
    return psycopg.conninfo.make_conninfo(database_url(), dbname=name)


def address_of(url: str) -> str:
    """The same database as an address that a setting can hold."""
    named = psycopg.conninfo.conninfo_to_dict(url)
    return f"postgresql://{named['user']}@/{named['dbname']}?host={named['host']}"


def schema(url: str) -> int:
    with psycopg.connect(url) as db:
        return schema_of(db)


@pytest.mark.parametrize("older", [False, True])
def test_a_server_says_that_a_database_is_not_up_to_date_and_leaves_it_so(url: str, older: bool, tmp_path: Path):
    if older:
        put_first_schema(url)
    before = schema(url)
    refused = child(tmp_path, "serve", "--port", "0", ENGRAM_STORE=address_of(url), ENGRAM_EMBEDDER="none")

    assert (refused.code, "engram migrate" in refused.err) == (7, True), refused
    assert schema(url) == before == (2 if older else 0)


@pytest.mark.parametrize("older", [False, True])
def test_servers_that_are_told_to_migrate_take_turns_and_serve(url: str, older: bool, tmp_path: Path):
    if older:
        put_first_schema(url)
    variables = environment(tmp_path, ENGRAM_STORE=address_of(url), ENGRAM_EMBEDDER="none")
    command = [*COMMAND, "serve", "--port", "0", "--json", "--migrate"]
    servers = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=variables)
        for _ in range(3)
    ]
    try:
        addresses = [json.loads(each.stdout.readline())["url"] for each in servers if each.stdout]
        assert len({*addresses}) == 3
        assert schema(url) == len(MIGRATIONS)
    finally:
        for each in servers:
            each.terminate()
        said = [each.communicate(timeout=30)[1].decode() for each in servers]
    steps = len(MIGRATIONS) - (2 if older else 0)
    assert sum(each.count("Migrating, step") for each in said) == steps, said


def test_what_is_no_database_needs_no_migration_and_says_so(tmp_path: Path):
    refused = child(tmp_path, "serve", "--port", "0", "--migrate")

    assert (refused.code, "brought up to date whenever it is opened" in refused.err) == (2, True), refused
