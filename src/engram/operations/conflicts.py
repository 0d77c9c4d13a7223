"""Pairs that may contradict each other: listed, looked for, asked about and set aside until somebody judges."""

from engram.errors import Invalid
from engram.model.answers_work import Conflicts
from engram.operations import parameters as p
from engram.operations.base import Call, operation, require_between
from engram.operations.conflicting import Run
from engram.rules.access import require_person

MOST_LISTED = 200
MOST_TOKENS = 10_000_000


@operation(
    "POST /v1/conflicts",
    "engram conflicts",
    "engram conflicts --scan",
    "engram conflicts --ask --budget 20000 --dry-run",
    "engram conflicts --pair mem-0007~mem-0003",
    "engram conflicts --ignore mem-0007~mem-0003",
    writes=("scan", "ask", "ignore"),
)
def conflicts(
    call: Call,
    *,
    scope: p.OnlyScope = "",
    scan: p.ScanAll = False,
    ask: p.AskModel = False,
    pair: p.OnlyPair = "",
    ignore: p.IgnoredPair = "",
    budget: p.AskBudget = 50_000,
    words: p.WordsAlone = False,
    settled: p.OnlySettled = False,
    dry_run: p.DryRun = False,
    limit: p.Limit = 20,
    after: p.After = None,
) -> Conflicts:
    """List pairs of memories that may contradict each other.

    They are suspected, proposed, waiting for review, or judged to conflict.

    A scan compares every memory with its nearest neighbours and keeps suspected pairs as proposals; a pair that was
    judged, asked about or set aside is never proposed again. A model's verdicts are proposals too: they do nothing
    by themselves.
    """
    require_between("limit", limit, 1, MOST_LISTED)
    require_between("budget", budget, 1, MOST_TOKENS)
    if ask:
        require_person(call.request(), "ask a model about memories")
        if call.harvesting.judge is None:
            raise Invalid(
                "There is no endpoint to ask.", "Set extractor_url and extractor_model; see `engram config`."
            )
    run = Run(call, scope, words=words, dry_run=dry_run)
    if ignore:
        run.ignore(ignore)
    if scan:
        run.scan(after)
    if ask:
        run.ask(budget)
    if pair:
        return run.told_of(pair)
    return run.told(limit, None if scan else after, settled=settled)
