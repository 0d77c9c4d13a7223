"""Credentials in every argument of every operation that writes: taken out, refused, or looked up in vain."""

from pathlib import Path

import psycopg
import pytest

from attacks.arguments import Argument, Asking, learned, writing
from attacks.ledger import tried
from attacks.test_attacks_secrets import ATTACK, KEPT, MARK, SAID, SECRET, everything
from engram.errors import EngramError
from engram.service import Engram
from faults.harness import ENGINES, opened, place_of

WORDS = {"text": SAID, "summary": SAID, "reason": SAID, "evidence": SAID}
PLACES = {"scope": f"project:{SECRET}"}
ADDRESSES = dict.fromkeys(("url", "cite"), f"https://example.org/?token={SECRET}")

UNSAID = {("keys_create", "can"), ("keys_revoke", "owner"), ("conflicts", "after")}
"""Arguments that are only compared with what is there, and are not said again in the answer."""


REFUSED = {
    *(("keys_create", name) for name in ("name", "owner", "workspace")),
    *((operation, "scope") for operation in ("remember", "session_begin", "remote_enrol")),
    ("attach", "name"),
    ("owners_assign", "to"),
    ("projects_rename", "name"),
    ("remote_add", "url"),
    ("workspaces_assign", "workspace"),
}
"""What would be kept as it is said: a name, an address."""

NAMED = {
    "memory",
    "other",
    "relation",
    "replaces",
    "event",
    "asset",
    "replica",
    "key",
    "owner",
    "project",
    "source",
}
NAMED |= {"into", "name", "scope", "pair", "ignore", "after", "file", "path", "repository"}
CLOSED = {"kind", "decay", "category", "can", "form", "harness", "media_type"}
"""Arguments that name what is there, and those that take one of a few words: nothing of them is kept."""


def given(argument: Argument, number: int) -> str:
    """What a credential stands in, as the argument would have it."""
    if argument.name in WORDS:
        said = f"{WORDS[argument.name]}, night {number}"
        return learned(said) if argument.operation == "capture" else said
    return {**PLACES, **ADDRESSES}.get(argument.name, SECRET)


def outcome(memory: Engram, asking: Asking, argument: Argument, number: int) -> str:
    """What came of it; in the words of the error where it is none of what may come of it."""
    asked = asking.beside(argument.operation) | {argument.name: argument.given(given(argument, number))}
    try:
        getattr(memory, {"import": "import_"}.get(argument.operation, argument.operation))(**asked)
    except EngramError as error:
        if "private or a credential" in error.message or "not to be kept" in error.message:
            return "refused"
        vain = SECRET.lower() in error.message.lower() or (argument.operation, argument.name) in UNSAID
        return "looked up" if vain else error.message
    return "kept"


def rows(place: str) -> bytes:
    """Every row of every table of a database, and what it keeps in bytes."""
    with psycopg.connect(place) as db:
        tables = db.execute("SELECT schemaname, tablename FROM pg_tables WHERE schemaname !~ '^(pg_|information_)'")
        return b"\n".join(
            str(row[0]).encode()
            for schema, table in tables.fetchall()
            for row in db.execute(f'SELECT t::text FROM "{schema}"."{table}" AS t').fetchall()
        )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_credential_in_any_argument_of_any_operation_is_kept_nowhere(tmp_path: Path, engine: str):
    place = place_of(engine, tmp_path)
    with opened(place, tmp_path, channel="flag") as memory:
        asking = Asking(memory, tmp_path)
        came = {each[:2]: outcome(memory, asking, each, number) for number, each in enumerate(writing())}
        kept = everything(tmp_path) + (rows(place) if engine == "postgres" else b"")

    assert {each: said for each, said in came.items() if said not in ("kept", "refused", "looked up")} == {}
    assert {each for each, said in came.items() if said == "refused"} == REFUSED
    assert {name for (_, name), said in came.items() if said == "looked up"} == NAMED | CLOSED
    for number, each in enumerate(came):
        assert came[each] != "kept" or each[1] not in WORDS or f"{MARK} for now, night {number}".encode() in kept
    for form in (SECRET.encode(), SECRET.lower().encode(), SECRET.encode().hex().encode()):
        assert form not in kept
    tried(ATTACK, "store", KEPT)
