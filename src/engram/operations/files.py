"""Which files memories rest on: the files of a project, who cites them, and how fresh that is."""

from collections import Counter

from engram.model.answers_look import CitedFile, CitedFiles
from engram.model.evidence import WORST, Check, Verdict
from engram.model.filter import Filter
from engram.model.memory import Memory
from engram.operations import parameters as p
from engram.operations.base import PAGE, Call, operation
from engram.operations.citing import checked
from engram.operations.scopes import in_view, unplaced
from engram.rules.kinds import own_lists

MOST_LOOKED_AT = 4 * PAGE
"""Citations have no index: of so many memories they are read at a time."""


@operation("GET /v1/files", "engram files", "engram files --scope project:github.com/acme/api --json")
def files(
    call: Call, *, scope: p.InScope = "", everywhere: p.Everywhere = False, after: p.After = None
) -> CitedFiles:
    """Show which files memories cite, and how fresh that is.

    It looks through the newest memories first; if there are more, `next` continues.
    """
    place = in_view(call, scope, everywhere=everywhere)
    own = own_lists(call.policy.kinds)
    where = Filter(**place, standings=("live", "stale"), except_kinds=own, now=call.now, view=call.caller.view)
    citing: list[Memory] = []
    looked_at = 0
    while looked_at < MOST_LOOKED_AT:
        page = call.page(where, after=after, limit=PAGE)
        looked_at += len(page.records)
        citing += [one for one in page.records if _cites_files(one)]
        if (after := page.next) is None:
            break
    rows = _by_file(citing, dict(checked(call, citing)))
    hint = "" if rows else "No memory here cites a file; --cite PATH:LINES says what one rests on."
    hint = f"{hint} {unplaced(call, scope, everywhere=everywhere)}".strip()
    return CitedFiles(at=call.now, files=tuple(rows), looked_at=looked_at, next=after, hint=hint)


def _cites_files(memory: Memory) -> bool:
    return any(cite.kind == "file" for cite in memory.citations)


def _by_file(citing: list[Memory], checks: dict[str, tuple[Check, ...]]) -> list[CitedFile]:
    """A row a file: those with the worst verdict first, then those that most memories rest on."""
    found: dict[tuple[str, str], dict[str, list[Verdict]]] = {}
    for memory in citing:
        looked = checks.get(memory.id) or (None,) * len(memory.citations)
        for cite, check in zip(memory.citations, looked, strict=False):
            if cite.kind == "file":
                by_memory = found.setdefault((cite.ref, _whose(memory)), {})
                by_memory.setdefault(memory.id, []).append(check.verdict if check else "unreachable")
    known = {memory.id: memory for memory in citing}
    rows = [_row(file, repo, known, by_memory) for (file, repo), by_memory in found.items()]
    return sorted(rows, key=lambda row: (WORST.index(row.verdict), -len(row.memories), row.file, row.repo))


def _row(file: str, repo: str, known: dict[str, Memory], by_memory: dict[str, list[Verdict]]) -> CitedFile:
    worst = {id: min(verdicts, key=WORST.index) for id, verdicts in by_memory.items()}
    ids = sorted(worst, key=lambda each: WORST.index(worst[each]))
    counted = Counter(verdict for verdicts in by_memory.values() for verdict in verdicts)
    verdicts: dict[str, int] = {verdict: counted[verdict] for verdict in WORST if verdict in counted}
    return CitedFile(file, tuple(known[id] for id in ids), verdicts, repo, tuple(worst[id] for id in ids))


def _whose(memory: Memory) -> str:
    """Whose file a memory cites: a path is the same in many repositories."""
    return memory.context.repo or (memory.scope.name if memory.scope.level == "project" else "")
