"""`engram migrate`: bring a team's database up to date, when somebody says so."""

import sys

from engram.errors import Invalid
from engram.surfaces.render.paper import count
from engram.wiring import stores


def run(words: list[str], *, json: bool) -> int:
    """Usage: ENGRAM_STORE=postgres://HOST/NAME engram migrate [--json]

    Make or bring up to date the schema of the configured PostgreSQL database. Nothing else does: a server or a
    command that meets an older schema says so and stops. Every step adds to the schema, is taken whole or not at
    all, and may be repeated; two at once take turns. The user needs the right to make a schema, a role and the
    extension pgvector.

    Where an org has come to hold more than 20,000 vectors it also makes an index for them, while everybody goes on
    working. Run it again when the store has grown.

    Options:
      --json  Answer in JSON, for machines.

    Example:
      ENGRAM_STORE=postgres://db.example/engram engram migrate
    """  # noqa: D415 - it is the command's help
    if words:
        raise Invalid(f"migrate takes no {words[0]!r}.", "See engram migrate --help.")
    store, steps, indexes = stores.migrate(_step)
    if json:
        from json import dumps  # noqa: PLC0415 - start-up

        print(dumps({"store": store, "steps": steps, "indexes": indexes}))
    else:
        done = [count(steps, "step")] * bool(steps) + [count(indexes, "index", "indexes")] * bool(indexes)
        print(f"✓ {store} is up to date: {' and '.join(done)}." if done else f"= {store} is up to date already.")
    return 0


def _step(done: int, total: int, what: str) -> None:
    """Tell what is under way where a person looks on: a step of a large database may take long."""
    if sys.stderr is not None and sys.stderr.isatty():
        print(f"  {done + 1} of {total}: {what}", file=sys.stderr)
