"""How clean a store is, this one or another system's; and taking what is secret out of what is stored."""

from engram.model.answers_store import Hygiene, Scrubbed
from engram.operations import parameters as p
from engram.operations.base import Call, operation


@operation(
    "GET /v1/doctor/hygiene",
    "engram doctor --hygiene",
    "engram doctor --hygiene ~/.engram/engram.db",
    "engram doctor --hygiene memory.jsonl --json",
    said="doctor --hygiene",
    local=True,
)
def hygiene(call: Call, path: p.HygienePath = "") -> Hygiene:
    """Say how clean the memory is.

    Secrets, repeats, recalled blocks, and what is stale or says nothing. A path is read as it is, whichever system
    wrote it: nothing is imported, and nothing is written.
    """
    from engram.operations import examining  # noqa: PLC0415 - start-up

    return examining.examine(call, path)


@operation(
    "POST /v1/scrub",
    "engram scrub --dry-run",
    "engram scrub --confirm",
    writes=True,
    destructive=True,
    human=True,
    local=True,
)
def scrub(call: Call, *, confirm: p.Confirm = False, dry_run: p.DryRun = False) -> Scrubbed:
    """Take secrets out of all you have stored. No undo.

    Credentials and private spans, in memories, sessions, relations and their history. Each record that holds one,
    now or in an earlier wording, is replaced by a clean copy and then erased, as by `purge`.
    """
    from engram.operations import scrubbing  # noqa: PLC0415 - start-up

    return scrubbing.scrub(call, confirm=confirm, dry_run=dry_run)
