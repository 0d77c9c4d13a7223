"""Which rights a database user lacks, with the SQL that grants them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors as pg

from engram.errors import Unavailable

OWNING = "Migrate as the user who owns the schema engram."
OWNER_FIRST = "Migrate as the user who owns the database, not as the one that serves: see docs/guides/deploy.md."
CREATING = "GRANT CREATE ON DATABASE :database TO :user;"


def said(error: psycopg.Error) -> str:
    """The first line of what the database says."""
    return str(error).strip().partition("\n")[0].rstrip(".") or type(error).__name__


@contextmanager
def permitted(db: psycopg.Connection[Any], remedy: str) -> Iterator[None]:
    """Do what needs a right. In a remedy `:user` and `:database` are those of the connection.

    Raises:
        Unavailable: when the right is missing; its hint is the remedy.
    """
    try:
        yield
    except pg.InsufficientPrivilege as error:
        named = remedy.replace(":user", _quoted(db.info.user)).replace(":database", _quoted(db.info.dbname))
        hint = named if remedy == OWNING else f"As a superuser, in the database {db.info.dbname}: {named}"
        if remedy == CREATING:
            hint = f"{OWNER_FIRST} Or, {hint[0].lower()}{hint[1:]}"
        raise Unavailable(
            f"The user {db.info.user} of the database lacks a right: {said(error)}.",
            hint,
        ) from None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
