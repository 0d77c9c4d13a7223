"""Bytes of attachments in PostgreSQL: rows of a quarter of a megabyte, behind the same walls as the records."""

import secrets
from collections.abc import Iterator
from datetime import datetime

from engram.engines.postgres_database import Database
from engram.engines.postgres_schema import Part
from engram.engines.rows import Row
from engram.errors import NotFound
from engram.model.blob import Blob
from engram.model.limits import parse_time, print_time

PART = 256 * 1024

UNNAMED = "NOT EXISTS (SELECT 1 FROM blob WHERE blob.org = blob_part.org AND blob.body = blob_part.body)"
NAMED = "org = :org AND owner = %s AND sha256 = %s"


SEAL = "SELECT encode(sha256(string_agg(data, '' ORDER BY n)), 'hex') FROM blob_part WHERE org = :org AND body = %s"
"""The hash of all that is kept of a body."""


class PostgresBlobs:
    """See `ports.Blobs`."""

    def __init__(self, database: Database, org: str) -> None:
        self._database, self._org = database, org

    def stage(self, at: datetime) -> "_Stage":
        """See `ports.Blobs.stage`."""
        return _Stage(self._database, self._org, at)

    def size(self, owner: str, sha256: str) -> int | None:
        """See `ports.Blobs.size`."""
        rows = self._ask(f"SELECT size FROM blob WHERE {NAMED} AND NOT hidden", owner, sha256)
        return int(rows[0][0]) if rows else None

    def read(self, owner: str, sha256: str) -> Iterator[bytes]:
        """See `ports.Blobs.read`."""
        rows = self._ask(f"SELECT body, size FROM blob WHERE {NAMED} AND NOT hidden", owner, sha256)
        if not rows:
            raise NotFound("These bytes are not here.", "Attach the file again.")
        return self._parts(rows[0][0], int(rows[0][1]))

    def _parts(self, body: str, size: int) -> Iterator[bytes]:
        """A part at a time, each read for itself: a slow reader holds no connection."""
        at = 0
        while size > 0:
            rows = self._ask("SELECT data FROM blob_part WHERE org = :org AND body = %s AND n = %s", body, at)
            if not rows:
                raise NotFound("These bytes are not here any more.", "Attach the file again.")
            data = bytes(rows[0][0])
            at, size = at + 1, size - len(data)
            yield data

    def held(self, owner: str) -> list[Blob]:
        """See `ports.Blobs.held`."""
        rows = self._ask("SELECT sha256, size, at, hidden FROM blob WHERE org = :org AND owner = %s", owner)
        return [Blob(row[0], int(row[1]), parse_time("at", row[2]), row[3]) for row in rows]

    def hide(self, owner: str, sha256: str) -> None:
        """See `ports.Blobs.hide`."""
        self._run(f"UPDATE blob SET hidden = true WHERE {NAMED}", owner, sha256)

    def show(self, owner: str, sha256: str) -> None:
        """See `ports.Blobs.show`."""
        self._run(f"UPDATE blob SET hidden = false WHERE {NAMED}", owner, sha256)

    def erase(self, owner: str, sha256: str) -> None:
        """See `ports.Blobs.erase`."""

        def erase(part: Part) -> None:
            row = part.first(f"DELETE FROM blob WHERE {NAMED} AND hidden RETURNING body", owner, sha256)
            if row and not part.first("SELECT 1 FROM blob WHERE org = :org AND body = %s", row[0]):
                part.run("DELETE FROM blob_part WHERE org = :org AND body = %s", row[0])

        self._database.write(self._org, erase)

    def pass_on(self, owner: str, other: str, sha256: str, at: datetime) -> None:
        """See `ports.Blobs.pass_on`."""
        # Locked, so that whoever erases it meanwhile sees the second name, or is waited for.
        self._run(
            "INSERT INTO blob (org, owner, sha256, body, size, at)"
            f" SELECT org, %s, sha256, body, size, %s FROM blob WHERE {NAMED} FOR SHARE"
            " ON CONFLICT (org, owner, sha256) DO UPDATE SET at = excluded.at, hidden = false",
            *(other, print_time(at), owner, sha256),
        )

    def clear(self, before: datetime) -> None:
        """See `ports.Blobs.clear`."""
        self._run(f"DELETE FROM blob_part WHERE org = :org AND at < %s AND {UNNAMED}", print_time(before))

    def _ask(self, statement: str, *values: str | int) -> list[Row]:
        return self._database.ask(self._org, statement, *values)

    def _run(self, statement: str, *values: str) -> None:
        self._database.write(self._org, lambda part: part.run(statement, *values))


class _Stage:
    """See `ports.Stage`."""

    def __init__(self, database: Database, org: str, at: datetime) -> None:
        self._database, self._org, self._at = database, org, at
        self._body, self._waiting = secrets.token_hex(16), bytearray()
        self._n, self._size = 0, 0

    def write(self, block: bytes) -> None:
        self._waiting += block
        while len(self._waiting) >= PART:
            self._put(bytes(self._waiting[:PART]))
            del self._waiting[:PART]

    def keep(self, owner: str, sha256: str, at: datetime) -> None:
        if self._waiting:
            self._put(bytes(self._waiting))
            self._waiting.clear()
        sql = (
            "INSERT INTO blob (org, owner, sha256, body, size, at) VALUES (:org, %s, %s, %s, %s, %s)"
            " ON CONFLICT (org, owner, sha256) DO UPDATE SET at = excluded.at, hidden = false"
        )
        named = (owner, sha256, self._body, self._size, print_time(at))

        def keep(part: Part) -> None:
            old = part.first(f"SELECT body FROM blob WHERE {NAMED} FOR UPDATE", owner, sha256)
            part.run(sql, *named)
            if old and part.first(SEAL, old[0]) != (sha256,):  # what lies there is damaged: it gives way
                part.run(
                    "UPDATE blob SET body = %s, size = %s WHERE org = :org AND body = %s",
                    *(self._body, self._size, old[0]),
                )
                part.run("DELETE FROM blob_part WHERE org = :org AND body = %s", old[0])

        self._database.write(self._org, keep)

    def close(self) -> None:
        """Let go of it; what was kept stays."""
        if not self._n:
            return
        sql = f"DELETE FROM blob_part WHERE org = :org AND body = %s AND {UNNAMED}"
        self._database.write(self._org, lambda part: part.run(sql, self._body))
        self._n = 0

    def _put(self, data: bytes) -> None:

        def put(part: Part) -> None:
            # The commit that names the body waits for the disk, and with it for all that was written before.
            part.run("SET LOCAL synchronous_commit = off")
            part.run(
                "INSERT INTO blob_part (org, body, n, at, data) VALUES (:org, %s, %s, %s, %s)"
                " ON CONFLICT DO NOTHING",
                *(self._body, self._n, print_time(self._at), data),
            )

        self._database.write(self._org, put)
        self._n, self._size = self._n + 1, self._size + len(data)
