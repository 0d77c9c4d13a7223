"""The schema of a PostgreSQL store: tables led by the org, row-level security, and one guarded way to the words.

The application role owns nothing and bypasses nothing. Every table shows it the rows of one org only, the one set
for the transaction; without one it sees nothing. The word index is not granted to it at all: under row-level
security the text index would not be used, so it is asked through functions that name the org themselves.
"""

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import psycopg
from psycopg import errors as pg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from engram.engines.postgres_rights import CREATING, OWNING, permitted, said
from engram.engines.rows import Row
from engram.errors import Corrupt, Unavailable
from engram.model.change import UPGRADE

Connection = psycopg.Connection[tuple[Any, ...]]


class Part(NamedTuple):
    """One org's part of the database, inside one transaction.

    A statement names the org by `:org`, which is the first wall; row-level security is the second. Statements are
    sent without waiting for one another: what one got wrong is raised at the next answer, or when the transaction
    ends.
    """

    db: Connection
    org: str

    def fetch(self, statement: str, *values: Any) -> list[Row]:  # noqa: ANN401 - what PostgreSQL can hold
        """What a query answers."""
        return self._execute(statement, values).fetchall()

    def first(self, statement: str, *values: Any) -> Row | None:  # noqa: ANN401 - what PostgreSQL can hold
        """The first row of an answer, or None."""
        return self._execute(statement, values).fetchone()

    def later(self, statement: str, *values: Any) -> Callable[[], list[Row]]:  # noqa: ANN401 - the same
        """Ask now, and get the answer when it is wanted: several questions then wait only once."""
        return self._execute(statement, values).fetchall

    def run(self, statement: str, *values: Any) -> None:  # noqa: ANN401 - what PostgreSQL can hold
        """Carry out a statement whose answer nobody needs."""
        self._execute(statement, values)

    def _execute(self, statement: str, values: Sequence[Any]) -> psycopg.Cursor[Row]:
        asked, slots = _slots(statement)
        rest = iter(values)
        return self.db.execute(cast("Any", asked), [self.org if named else next(rest) for named in slots])


@functools.lru_cache(maxsize=512)
def _slots(statement: str) -> tuple[str, tuple[bool, ...]]:
    """A statement in psycopg's language, and for each of its marks whether the org goes there."""
    slots = tuple(mark != "%s" for mark in _MARKS.findall(statement))
    return _MARKS.sub("%s", statement), slots


_MARKS = re.compile(r"(?<!:):org\b|%s")

SCHEMA = "engram"
ROLE = "engram_app"
MEMBERSHIP = f"GRANT {ROLE} TO :user;"
"""What lets a user of the database serve."""

LOCK = 0x456E6772
"""What migrations take turns by."""

RECORD_COLUMNS = ("owner", "visibility", "workspace", "scope", "place", "created_at")
MEMORY_COLUMNS = (
    *RECORD_COLUMNS,
    *("updated_at", "key", "digest", "imprint", "outline", "kind", "tags", "session", "amends", "origin"),
    *("pinned", "importance", "status", "held_for", "branch", "replaced_by", "forgotten_at"),
    *("valid_from", "valid_until", "stale_at"),
)
NUMBERS = frozenset({"pinned", "importance"})

TABLES = ("org", "memory", "session", "relation", "claim", "event", "subject", "token", "place", "space", "vector",
          "lacking", "carrier", "apikey", "blob", "blob_part", "vocabulary")  # fmt: skip
"""What the application role works on; each row belongs to one org."""

LATER = ("apikey", "blob", "blob_part", "vocabulary")
"""Tables that came after the first schema."""


def m0001_records(db: Connection) -> None:
    """Records with their columns, claims, history, tokens, words and vectors."""
    for table, columns in (
        ("memory", MEMORY_COLUMNS),
        ("session", RECORD_COLUMNS),
        ("relation", RECORD_COLUMNS),
    ):
        _run(
            db,
            f"""CREATE TABLE {table} (org text COLLATE "C" NOT NULL, n bigint NOT NULL,
            id text COLLATE "C" NOT NULL, revision bigint NOT NULL, doc jsonb NOT NULL,
            {", ".join(map(_column, columns))}, PRIMARY KEY (org, id), UNIQUE (org, n))""",
        )
        _run(db, f"CREATE INDEX {table}_by_time ON {table} (org, created_at, id)")
    _run(db, "ALTER TABLE memory ADD p bigint NOT NULL")
    _run(db, "CREATE INDEX memory_by_digest ON memory (org, digest)")
    for column in ("key", "outline", "amends", "replaced_by"):
        _run(db, f"CREATE INDEX memory_by_{column} ON memory (org, {column}) WHERE {column} <> ''")
    _run(db, "CREATE INDEX memory_waiting ON memory (org, created_at, id) WHERE status = 'pending'")
    for end in ("from_id", "to_id"):
        _run(db, f"CREATE INDEX relation_by_{end} ON relation (org, (doc ->> '{end}'))")
    for statement in _REST:
        _run(db, statement)
    _guard(db)


_REST = (
    # The head of the chain and the last numbers given: locked by every commit, so that history has one order.
    """CREATE TABLE org (org text COLLATE "C" PRIMARY KEY, head jsonb NOT NULL, numbers jsonb NOT NULL,
    earlier jsonb NOT NULL DEFAULT '[]', memories bigint NOT NULL DEFAULT 0, words bigint NOT NULL DEFAULT 0)""",
    """CREATE TABLE claim (org text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL, PRIMARY KEY (org, name))""",
    "CREATE INDEX claim_by_id ON claim (org, id)",
    """CREATE TABLE event (org text COLLATE "C" NOT NULL, seq bigint NOT NULL, id text NOT NULL,
    batch text COLLATE "C" NOT NULL, envelope text NOT NULL, payload text, PRIMARY KEY (org, seq))""",
    "CREATE INDEX event_by_batch ON event (org, batch, seq)",
    """CREATE TABLE subject (org text COLLATE "C" NOT NULL, id text COLLATE "C" NOT NULL, seq bigint NOT NULL,
    PRIMARY KEY (org, id, seq))""",
    """CREATE TABLE token (org text COLLATE "C" NOT NULL, owner text NOT NULL, operation text NOT NULL,
    name text NOT NULL, request text NOT NULL, seq bigint NOT NULL, PRIMARY KEY (org, owner, operation, name))""",
    "CREATE INDEX token_by_seq ON token (org, seq)",
    """CREATE TABLE place (org text COLLATE "C" NOT NULL, p bigint GENERATED ALWAYS AS IDENTITY,
    owner text COLLATE "C", visibility text NOT NULL, workspace text NOT NULL, scope text COLLATE "C" NOT NULL,
    place text NOT NULL, PRIMARY KEY (org, p))""",
    """CREATE UNIQUE INDEX place_by_name ON place (org, scope, visibility, owner, workspace) NULLS NOT DISTINCT""",
    """CREATE TABLE space (org text COLLATE "C" NOT NULL, s bigint GENERATED ALWAYS AS IDENTITY,
    model text NOT NULL, dim integer NOT NULL, prefix text NOT NULL, PRIMARY KEY (org, s))""",
    """CREATE TABLE vector (org text COLLATE "C" NOT NULL, v bigint GENERATED ALWAYS AS IDENTITY, s bigint NOT NULL,
    p bigint NOT NULL, n bigint NOT NULL, e halfvec NOT NULL, PRIMARY KEY (org, v))""",
    "CREATE INDEX vector_by_place ON vector (org, s, p)",
    "CREATE INDEX vector_by_memory ON vector (org, n, s)",
    """CREATE TABLE lacking (org text COLLATE "C" NOT NULL, s bigint NOT NULL, n bigint NOT NULL,
    PRIMARY KEY (org, s, n))""",
    # How many memories of a place carry a term: what a term is worth to one who reads these places.
    """CREATE TABLE carrier (org text COLLATE "C" NOT NULL, term text COLLATE "C" NOT NULL, p bigint NOT NULL,
    count bigint NOT NULL, PRIMARY KEY (org, term, p))""",
    """CREATE TABLE word (org text COLLATE "C" NOT NULL, n bigint NOT NULL, p bigint NOT NULL,
    terms text[] COLLATE "C" NOT NULL, counts real[] NOT NULL, length bigint NOT NULL, words tsvector NOT NULL,
    PRIMARY KEY (org, n))""",
    "CREATE INDEX word_by_term ON word USING gin (words)",
    # SQLite's name for it, so that one translation of a filter serves both.
    """CREATE FUNCTION instr(text, text) RETURNS integer LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN strpos($1, $2)""",
    """CREATE FUNCTION matching(asked text, terms text[], worths double precision[], average double precision)
    RETURNS TABLE (n bigint, score double precision) LANGUAGE sql STABLE SECURITY DEFINER ROWS 1000
    SET search_path = engram, pg_temp AS $$
      SELECT word.n, coalesce((
        SELECT sum(each.worth * found.count * 2.2
          / (found.count + 1.2 * (0.25 + 0.75 * (1 + word.length) / average)))
        FROM unnest(matching.terms, worths) AS each (term, worth)
        CROSS JOIN LATERAL (
          SELECT CASE WHEN right(each.term, 1) = '*' THEN (
              SELECT sum(one.count) FROM unnest(word.terms, word.counts) AS one (term, count)
              WHERE starts_with(one.term, left(each.term, -1)))
            ELSE word.counts[array_position(word.terms, each.term)] END::double precision
        ) AS found (count)
        WHERE found.count > 0), 0)
      FROM word
      WHERE word.org = current_setting('engram.org') AND word.words @@ asked::tsquery
    $$""",
    """CREATE FUNCTION put_words(n bigint, p bigint, terms text[], counts real[], length bigint, place text)
    RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = engram, pg_temp AS $$
      INSERT INTO word VALUES (current_setting('engram.org'), n, p, terms, counts, length,
        array_to_tsvector(terms || place))
      ON CONFLICT (org, n) DO UPDATE SET p = excluded.p, terms = excluded.terms, counts = excluded.counts,
        length = excluded.length, words = excluded.words
    $$""",
    """CREATE FUNCTION words_of(n bigint) RETURNS TABLE (p bigint, terms text[], length bigint) LANGUAGE sql STABLE
    SECURITY DEFINER SET search_path = engram, pg_temp AS $$
      SELECT word.p, word.terms, word.length FROM word
      WHERE word.org = current_setting('engram.org') AND word.n = words_of.n
    $$""",
    """CREATE FUNCTION drop_words(n bigint) RETURNS void LANGUAGE sql SECURITY DEFINER
    SET search_path = engram, pg_temp AS $$
      DELETE FROM word WHERE word.org = current_setting('engram.org') AND word.n = drop_words.n
    $$""",
    """CREATE FUNCTION worded() RETURNS TABLE (n bigint, p bigint, terms text[], length bigint) LANGUAGE sql STABLE
    SECURITY DEFINER SET search_path = engram, pg_temp AS $$
      SELECT word.n, word.p, word.terms, word.length FROM word WHERE word.org = current_setting('engram.org')
    $$""",
)


def m0002_keys(db: Connection) -> None:
    """API keys of a server, as records like the others."""
    _run(
        db,
        f"""CREATE TABLE apikey (org text COLLATE "C" NOT NULL, n bigint NOT NULL,
        id text COLLATE "C" NOT NULL, revision bigint NOT NULL, doc jsonb NOT NULL,
        {", ".join(map(_column, RECORD_COLUMNS))}, PRIMARY KEY (org, id), UNIQUE (org, n))""",
    )
    _run(db, "CREATE INDEX apikey_by_time ON apikey (org, created_at, id)")
    _wall(db, "apikey")


_FUNCTIONS = ("matching", "put_words", "words_of", "drop_words", "worded")


def m0003_spaces_of_all(db: Connection) -> None:
    """Let whoever runs the database see which spaces of vectors there are, to make an index for the large ones."""
    _run(db, "CREATE POLICY of_the_owner ON space FOR SELECT TO CURRENT_USER USING (true)")


def m0004_words_of_some(db: Connection) -> None:
    """Let the words of some memories be scored alone: those that an index has proposed."""
    body = next(statement for statement in _REST if "FUNCTION matching(" in statement)
    body = body.replace("FUNCTION matching(", "FUNCTION matching_among(among text[], ")
    body = body.replace("matching.terms", "matching_among.terms")
    some = "(SELECT n FROM memory WHERE memory.org = word.org AND memory.id = ANY(among))"
    _run(db, body.replace("AND word.words @@", f"AND word.n IN {some} AND word.words @@"))
    _open(db, "matching_among")


def m0005_blobs(db: Connection) -> None:
    """The bytes of attachments: names that point to bodies, and bodies in parts."""
    _run(
        db,
        """CREATE TABLE blob (org text COLLATE "C" NOT NULL, owner text COLLATE "C" NOT NULL,
        sha256 text COLLATE "C" NOT NULL, body text COLLATE "C" NOT NULL, size bigint NOT NULL,
        at text COLLATE "C" NOT NULL, hidden boolean NOT NULL DEFAULT false, PRIMARY KEY (org, owner, sha256))""",
    )
    _run(db, "CREATE INDEX blob_by_body ON blob (org, body)")
    _run(
        db,
        """CREATE TABLE blob_part (org text COLLATE "C" NOT NULL, body text COLLATE "C" NOT NULL,
        n integer NOT NULL, at text COLLATE "C" NOT NULL, data bytea NOT NULL, PRIMARY KEY (org, body, n))""",
    )
    _run(db, "ALTER TABLE blob_part ALTER data SET STORAGE EXTERNAL")  # packed bytes gain nothing by more packing
    for table in ("blob", "blob_part"):
        _wall(db, table)


def m0006_pieces_of_words(db: Connection) -> None:
    """Let what stands inside a longer word be found, by the trigrams of all terms."""
    _have(db, "pg_trgm", "Install it there: it comes with the contrib modules of PostgreSQL.")
    _run(
        db,
        """CREATE TABLE vocabulary (org text COLLATE "C" NOT NULL, term text COLLATE "C" NOT NULL,
        PRIMARY KEY (org, term))""",
    )
    _run(db, "INSERT INTO vocabulary SELECT DISTINCT org, unnest(terms) FROM word")
    _run(db, "CREATE INDEX vocabulary_by_piece ON vocabulary USING gin (term gin_trgm_ops)")
    # Not forced: the function, which is the owner's, names the org itself, and else the index would not be used.
    _wall(db, "vocabulary", forced=False)
    # What a term holds is looked for as it is: nothing in a piece stands for anything but itself.
    like = r"term LIKE '%' || regexp_replace({0}, '([\\%_])', '\\\1', 'g') || '%'"
    _run(
        db,
        f"""CREATE FUNCTION holding(piece text) RETURNS TABLE (term text) LANGUAGE sql STABLE SECURITY DEFINER
        ROWS 20 SET search_path = engram, pg_temp AS $$
          SELECT term FROM vocabulary WHERE org = current_setting('engram.org')
          AND ({like.format("piece")} OR {like.format("reverse(piece)")})
          AND strpos(term, CASE WHEN starts_with(term, '_') THEN reverse(piece) ELSE piece END) > 0
        $$""",
    )
    _open(db, "holding")


def m0007_words_term_by_term(db: Connection) -> None:
    """Keep how many carry each term in all, and score term by term: for each only what carries it is looked at."""
    _run(db, "ALTER TABLE vocabulary ADD carriers bigint NOT NULL DEFAULT 0")
    counted = "SELECT org, unnest(terms) AS term, count(*) AS carriers FROM word GROUP BY 1, 2"
    _run(
        db,
        f"""UPDATE vocabulary SET carriers = counted.carriers FROM ({counted}) AS counted
        WHERE vocabulary.org = counted.org AND vocabulary.term = counted.term""",
    )
    # Not to read the whole table: its index is always worth asking, and a plan that is kept may have been made when
    # there was little in it.
    _run(
        db,
        """CREATE FUNCTION scored(terms text[], expressions text[], worths double precision[],
        average double precision) RETURNS TABLE (n bigint, score double precision) LANGUAGE sql STABLE
        SECURITY DEFINER ROWS 1000 SET search_path = engram, pg_temp SET enable_seqscan = off AS $$
          SELECT found.n, sum(each.worth * found.count * 2.2
            / (found.count + 1.2 * (0.25 + 0.75 * (1 + found.length) / average)))
          FROM unnest(scored.terms, expressions, worths) AS each (term, expression, worth)
          CROSS JOIN LATERAL (
            SELECT word.n, word.length, CASE WHEN right(each.term, 1) = '*' THEN (
                SELECT sum(one.count) FROM unnest(word.terms, word.counts) AS one (term, count)
                WHERE starts_with(one.term, left(each.term, -1)))
              ELSE word.counts[array_position(word.terms, each.term)] END::double precision AS count
            FROM word
            WHERE word.org = current_setting('engram.org') AND word.words @@ each.expression::tsquery OFFSET 0
          ) AS found
          GROUP BY found.n
        $$""",
    )
    _open(db, "scored")


def m0008_reworded(db: Connection) -> None:
    """When a memory last got other words (`reworded_at`): a field of documents, and no column."""


MIGRATIONS: tuple[Callable[[Connection], None], ...] = (
    m0001_records,
    m0002_keys,
    m0003_spaces_of_all,
    m0004_words_of_some,
    m0005_blobs,
    m0006_pieces_of_words,
    m0007_words_term_by_term,
    m0008_reworded,
)
"""Schema n is the first n of these applied in order; each only adds."""


def _column(name: str) -> str:
    return f"{name} integer" if name in NUMBERS else f'{name} text COLLATE "C"'


def _guard(db: Connection) -> None:
    """Row-level security, forced, and what the application role may do: rows yes, tables and the word index no."""
    found = db.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [ROLE]).fetchone()
    if not found:
        with permitted(db, f"CREATE ROLE {ROLE} NOLOGIN; {MEMBERSHIP}"):
            _run(db, f"CREATE ROLE {ROLE} NOLOGIN NOBYPASSRLS")
            _run(db, f"GRANT {ROLE} TO CURRENT_USER")
    _run(db, f"GRANT USAGE ON SCHEMA {SCHEMA} TO {ROLE}")
    for table in TABLES:
        if table not in LATER:
            _wall(db, table)
    _run(db, "CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL)")
    _run(db, f"GRANT SELECT ON meta TO {ROLE}")
    for function in _FUNCTIONS:
        _open(db, function)


def _open(db: Connection, function: str) -> None:
    """Let the application role call a function, and nobody else."""
    _run(db, f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC")
    _run(db, f"GRANT EXECUTE ON FUNCTION {function} TO {ROLE}")


def _wall(db: Connection, table: str, *, forced: bool = True) -> None:
    """Show the application role the rows of one org only; and, where it is forced, the owner of the tables too."""
    _run(db, f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    if forced:
        _run(db, f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    _run(db, f"CREATE POLICY of_one_org ON {table} USING (org = current_setting('engram.org', true))")
    _run(db, f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {ROLE}")


def migrate(url: str, progress: Callable[[int, int, str], None]) -> int:
    """Bring the schema up to date, one committed step at a time; answers with the number of steps taken.

    Two that migrate at once take turns. A step that was cut off is taken again.

    Raises:
        Corrupt: when the schema is newer than this program knows, or only half there; nothing is touched.
        Unavailable: when the database cannot be reached, lacks pgvector, or does not let this user do it.
    """
    taken = 0
    with connected(url) as db:
        db.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        while (version := require_known(schema_of(db))) < len(MIGRATIONS):
            step = MIGRATIONS[version]
            progress(version, len(MIGRATIONS), (step.__doc__ or "").partition("\n")[0])
            with permitted(db, OWNING), db.transaction():
                with permitted(db, CREATING):
                    _run(db, f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
                _have(db, "vector", "Install it there: github.com/pgvector/pgvector.")
                _run(db, f"SET LOCAL search_path = {SCHEMA}, public")
                step(db)
                _run(db, "DELETE FROM meta WHERE name = 'schema'")
                db.execute("INSERT INTO meta VALUES ('schema', %s)", [str(version + 1)])
            taken += 1
    return taken


def _have(db: Connection, extension: str, remedy: str) -> None:
    """Have an extension in the database.

    Raises:
        Unavailable: when the server does not have it (its hint is the remedy), or this user may not make it.
    """
    try:
        with permitted(db, f"CREATE EXTENSION {extension};"):
            _run(db, f"CREATE EXTENSION IF NOT EXISTS {extension}")
    except (pg.FeatureNotSupported, pg.UndefinedFile):
        raise Unavailable(f"The server of the database lacks the extension {extension}.", remedy) from None


def connected(url: str, *, seconds: int = 10) -> Connection:
    """A connection of its own, for work beside the pool.

    Raises:
        Unavailable: when the database does not answer.
    """
    try:
        return psycopg.connect(writable(url), autocommit=True, connect_timeout=seconds)
    except psycopg.Error as error:
        raise Unavailable(f"The database cannot be reached: {said(error)}.", "Check ENGRAM_STORE.") from None


def writable(url: str) -> str:
    """An address that leads to a server which takes writes, unless it says otherwise itself."""
    if "target_session_attrs" in conninfo_to_dict(url):
        return url
    return make_conninfo(url, target_session_attrs="read-write")


def schema_of(db: Connection) -> int:
    """The number of migrations the store has had; 0 where there is none yet.

    Raises:
        Corrupt: when it has tables of ours but no number, as a restore leaves them that did not end.
    """
    there = db.execute("SELECT to_regclass('engram.meta')").fetchone()
    row = None
    if there and there[0] is not None:
        row = db.execute("SELECT value FROM engram.meta WHERE name = 'schema'").fetchone()
    if row:
        return int(row[0])
    of_ours = "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = ANY(%s) LIMIT 1"
    if db.execute(of_ours, [SCHEMA, [*TABLES]]).fetchone():
        raise Corrupt(
            "The database has tables of Engram but no schema number. It was left untouched.",
            "A restore that failed leaves it so: restore into an empty database. See docs/guides/deploy.md.",
        )
    return 0


def require_known(version: int) -> int:
    """The version itself.

    Raises:
        Corrupt: when it is newer than this program knows.
    """
    if version > len(MIGRATIONS):
        raise Corrupt(
            f"The database has schema {version}; this Engram knows {len(MIGRATIONS)}. It was left untouched.",
            UPGRADE,
        )
    return version


def _run(db: Connection, statement: str) -> None:
    db.execute(cast("Any", statement))
