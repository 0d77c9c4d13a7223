"""Looking after the store: stats, doctor and kinds."""

from collections import Counter

from engram.model.answers import KindRow, Kinds, Report, Stats
from engram.model.change import Finding
from engram.model.filter import ANYTHING
from engram.model.memory import standing
from engram.model.text import tokens
from engram.operations import parameters as p
from engram.operations.base import Call, every, operation
from engram.operations.history import latest
from engram.rules import kinds as table
from engram.rules.access import require_keeper, require_person

HINTS = {"pending": "Review {}: engram review.", "stale": "Look at {}: engram list --standing stale."}


@operation("GET /v1/stats", "engram stats")
def stats(call: Call) -> Stats:
    """Count what is remembered: by standing, kind and scope."""
    by_standing: Counter[str] = Counter()
    by_kind: Counter[str] = Counter()
    by_scope: Counter[str] = Counter()
    total = 0
    for memory in every(call, ANYTHING):
        stands = standing(memory, call.now, call.caller.view)
        by_standing[stands] += 1
        if stands == "live":
            by_kind[memory.kind] += 1
            by_scope[str(memory.scope)] += 1
            total += tokens(memory.text)
    newest = latest(call)
    return Stats(
        at=call.now,
        memories=by_standing.total(),
        standings=dict(by_standing.most_common()),
        kinds=dict(by_kind.most_common()),
        scopes=dict(by_scope.most_common()),
        tokens=total,
        events=newest.seq if newest else 0,
        store=call.store,
    )


@operation("GET /v1/doctor", "engram doctor", "engram doctor --fix")
def doctor(call: Call, *, fix: p.Fix = False) -> Report:
    """Check the store from the disk up: files, records, index and history; and say what to do."""
    require_keeper(call.caller, "check the store")
    if fix:
        require_person(call.request(), "mend the store")
    findings = call.engine.check(repair=fix)
    told = {finding.message for finding in findings}
    findings += [each for each in getattr(call.engine, "notices", list)() if each.message not in told]
    counts: Counter[str] = Counter()
    if not any(finding.code == "integrity" for finding in findings):
        counts.update(standing(memory, call.now) for memory in every(call, ANYTHING))
    for stands, hint in HINTS.items():
        if counts[stands]:
            count = counts[stands]
            subject, which = ("1 memory is", "it") if count == 1 else (f"{count} memories are", "them")
            findings.append(Finding(stands, f"{subject} {stands}.", hint.format(which), severity="note"))
    findings += _vectors(call)
    facts = {"store": call.store, "memories": counts.total(), **getattr(call.engine, "facts", dict)()}
    return Report(at=call.now, findings=tuple(findings), facts=facts)


def _vectors(call: Call) -> list[Finding]:
    """What stands in the way of finding by meaning; words are found in any case."""
    backlog = call.engine.backlog(call.access)
    findings = []
    for row in call.shelf.models() if call.shelf and call.embedder else ():
        if call.embedder and call.embedder.space.model.startswith(f"{row.name}/") and row.state != "ready":
            missing = f"The model {row.name} cannot be used: {row.state}."
            get = f"Get it: engram models install {row.name}. Words are found without it."
            findings.append(Finding("model", missing, get, severity="warning"))
    if backlog.lacking:
        lack = (
            "memory has no vector yet, and is" if backlog.lacking == 1 else "memories have no vector yet, and are"
        )
        missing = f"{backlog.lacking:,} {lack} found by words alone."
        findings.append(Finding("vectors", missing, "Make them: engram reembed.", severity="note"))
    if call.embedder and backlog.active and call.embedder.space not in (backlog.active, backlog.coming):
        other = f"The vectors were made by {backlog.active.model}, but {call.embedder.space.model} is configured."
        findings.append(Finding("vectors", other, "Make them anew: engram reembed.", severity="warning"))
    return findings


@operation("GET /v1/kinds", "engram kinds")
def kinds(call: Call) -> Kinds:
    """Show the kinds a memory can be of, how much care each takes and how long it stays fresh."""
    rows = (call.policy.kinds or table.KINDS).values()
    return Kinds(at=call.now, kinds=tuple(KindRow(k.name, k.tier, k.decay, k.recall, k.about) for k in rows))
