"""Which files memories rest on: the files of a project, who cites them, and how fresh that is."""

from collections import Counter
from typing import cast

from engram.model.answers_look import CitedFile, CitedFiles
from engram.model.evidence import WORST, Check
from engram.model.filter import Filter
from engram.model.memory import Memory
from engram.operations import parameters as p
from engram.operations.base import PAGE, Call, operation
from engram.operations.citing import checked
from engram.operations.scopes import in_view
from engram.rules.insights import apart
from engram.rules.kinds import KINDS

MOST_LOOKED_AT = 4 * PAGE
"""Citations have no index: of so many memories they are read at a time."""


@operation("GET /v1/files", "engram files", "engram files --scope project:github.com/acme/api --json")
def files(
    call: Call, *, scope: p.InScope = "", everywhere: p.Everywhere = False, after: p.After = None
) -> CitedFiles:
    """Show which files memories cite, and how fresh that is.

    It looks through the newest memories first; where there are more, `next` goes on.
    """
    place = in_view(call, scope, everywhere=everywhere)
    own = apart(call.policy.kinds or KINDS)
    where = Filter(**place, standings=("live", "stale"), except_kinds=own, now=call.now, view=call.caller.view)
    citing: list[Memory] = []
    looked_at = 0
    while looked_at < MOST_LOOKED_AT:
        page = call.engine.scan("memory", where, call.access, after=after, limit=PAGE)
        looked_at += len(page.records)
        citing += [one for one in cast("tuple[Memory, ...]", page.records) if _cites_files(one)]
        if (after := page.next) is None:
            break
    rows = _by_file(citing, dict(checked(call, citing)))
    hint = "" if rows else "No memory here cites a file; --cite PATH:LINES says what one rests on."
    return CitedFiles(at=call.now, files=tuple(rows), looked_at=looked_at, next=after, hint=hint)


def _cites_files(memory: Memory) -> bool:
    return any(cite.kind == "file" for cite in memory.citations)


def _by_file(citing: list[Memory], checks: dict[str, tuple[Check, ...]]) -> list[CitedFile]:
    """A row a file: those with the worst verdict first, then those that most memories rest on."""
    found: dict[str, dict[str, Memory]] = {}
    verdicts: dict[str, Counter[str]] = {}
    for memory in citing:
        looked = checks.get(memory.id) or (None,) * len(memory.citations)
        for cite, check in zip(memory.citations, looked, strict=False):
            if cite.kind == "file":
                found.setdefault(cite.ref, {})[memory.id] = memory
                verdicts.setdefault(cite.ref, Counter())[check.verdict if check else "unreachable"] += 1
    rows = [CitedFile(file, tuple(memories.values()), dict(verdicts[file])) for file, memories in found.items()]
    return sorted(rows, key=lambda row: (WORST.index(row.verdict), -len(row.memories), row.file))
