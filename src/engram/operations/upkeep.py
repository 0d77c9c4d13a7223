"""Looking after the store: stats, doctor and kinds."""

from collections import Counter
from collections.abc import Mapping

from engram.errors import Corrupt, Moved
from engram.model.answers_store import KindRow, Kinds, Report, Stats
from engram.model.change import LEFT, Finding
from engram.model.filter import ANYTHING
from engram.model.memory import Memory, standing
from engram.model.text import tokens
from engram.operations import parameters as p
from engram.operations.base import Call, every, operation
from engram.operations.blobs import looked_at
from engram.operations.conflicting import Run
from engram.operations.conflicts import MOST_LISTED
from engram.operations.history import how_many
from engram.ports import Noticing, able
from engram.rules.access import is_keeper, require_keeper, require_person, require_writing
from engram.rules.kinds import own_lists
from engram.rules.naming import Misnamed, mended

HINTS = {"pending": "Review {}: engram review.", "stale": "Look at {}: engram list --standing stale."}


@operation("GET /v1/stats", "engram stats")
def stats(call: Call) -> Stats:
    """Count what is remembered: by standing, kind and scope."""
    by_standing: Counter[str] = Counter()
    by_kind: Counter[str] = Counter()
    by_scope: Counter[str] = Counter()
    total = insights = 0
    own = own_lists(call.policy.kinds)
    for memory in every(call, ANYTHING):
        stands = standing(memory, call.now, call.caller.view)
        if memory.kind in own:
            insights += stands == "live"
            continue
        by_standing[stands] += 1
        if stands == "live":
            by_kind[memory.kind] += 1
            by_scope[str(memory.scope)] += 1
            total += tokens(memory.text)
    return Stats(
        at=call.now,
        memories=by_standing.total(),
        standings=dict(by_standing.most_common()),
        kinds=dict(by_kind.most_common()),
        scopes=dict(by_scope.most_common()),
        tokens=total,
        events=how_many(call),
        store=call.store if is_keeper(call.caller) else "",  # where it lies is no matter of those who use it
        insights=insights,
    )


@operation("GET /v1/doctor", "engram doctor", "engram doctor --fix")
def doctor(call: Call, *, fix: p.Fix = False) -> Report:
    """Check the store from the disk up, and say what to do.

    It checks files, records, index and history completely. Memories that only others may read are counted but not
    examined.
    """
    require_keeper(call.caller, "check the store")
    if fix:
        require_writing(call.caller)
        require_person(call.request(), "mend the store")
    try:
        return _looked_through(call, fix=fix)
    except Corrupt as error:  # it was told to run a check, and this is one
        damaged = Finding("damaged", error.message, LEFT)
        return Report(at=call.now, findings=(damaged,), facts={"store": call.store})


def _looked_through(call: Call, *, fix: bool) -> Report:
    """What the engine finds, and what the records and their vectors tell.

    Raises:
        Corrupt: when a record cannot be read.
    """
    findings = call.engine.check(repair=fix)
    told = {finding.message for finding in findings}
    if noticing := able(call.engine, Noticing):
        findings += [each for each in noticing.notices() if each.message not in told]
    counts: Counter[str] = Counter()
    tallies: Mapping[str, int] = {}
    counted = not any(finding.code == "integrity" for finding in findings)
    if counted:
        tallies = call.engine.tallies()
        attached: list[Memory] = []
        repeats, misnamed = _Repeats(), Misnamed()
        for memory in every(call, ANYTHING):
            stands = standing(memory, call.now)
            counts[stands] += 1
            call.progress(counts.total(), 0, "looking at memories")
            misnamed.look_at(memory)
            if memory.assets:
                attached.append(memory)
            if stands == "live" and not call.policy.kind(memory.kind).apart:  # a prompt may be said again
                repeats.look_at(memory)
        findings += looked_at(call, attached, fix=fix)
        findings += repeats.told()
        findings += _named(call, misnamed, fix=fix)
    for word, hint in HINTS.items():
        if count := counts[word]:
            subject, which = ("1 memory is", "it") if count == 1 else (f"{count} memories are", "them")
            findings.append(Finding(word, f"{subject} {word}.", hint.format(which), severity="note"))
    if not any(finding.severity == "error" for finding in findings):  # a damaged index finds no rivals
        findings += _at_odds(call)
    findings += _vectors(call)
    findings += _unread(counts.total(), tallies.get("rows", 0))
    facts = {
        "store": call.store,
        **({"memories": counts.total()} if counted else {}),
        "events": how_many(call),
        **call.engine.facts(),
    }
    return Report(at=call.now, findings=tuple(findings), facts=facts, tallies=tallies)


def _unread(looked_at: int, held: int) -> list[Finding]:
    """That there is more than was looked at, and how much."""
    if held <= looked_at:
        return []
    told = f"{looked_at:,} of {held:,} memories were looked at: the others are for others to read."
    return [Finding("unread", told, "Files, index and history were checked whole.", severity="note")]


def _named(call: Call, misnamed: Misnamed, *, fix: bool) -> list[Finding]:
    """Names in the form of an older version, brought into ours.

    Whoever has an identity mends their own memories; whoever runs the store mends all.
    """
    found = misnamed.found()
    mine = [one for one in found if call.caller.owner in ("", one[0].owner)]
    batch, done = call.new_id(), 0
    for memory, named in mine if fix else ():
        try:
            call.engine.commit(mended(memory, named, call.request(batch=batch)))
            done += 1
        except Moved:  # somebody changed it meanwhile
            continue
    findings = []
    if done:
        told = f"The names of {_memories(done)} were composed."
        findings.append(Finding("names", told, f"Take it back: engram undo {batch}.", severity="note"))
    if left := len(found) - done:
        kept = "was" if left == 1 else "were"
        told = f"{_memories(left)} {kept} named by an earlier version, in another form of the same letters."
        findings.append(Finding("names", told, "Mend it: engram doctor --fix.", severity="warning", fixable=True))
    return findings


def _memories(count: int) -> str:
    return "1 memory" if count == 1 else f"{count:,} memories"


class _Repeats:
    """Live memories that say in one place what another of the same owner says there, word for word."""

    def __init__(self) -> None:
        self._said: set[tuple[str | None, str, str]] = set()
        self._count, self._newest = 0, ""

    def look_at(self, memory: Memory) -> None:
        """Count one of them; the oldest comes first."""
        said = memory.owner, str(memory.scope), memory.digest
        if said in self._said:
            self._count, self._newest = self._count + 1, memory.handle or memory.id
        self._said.add(said)

    def told(self) -> list[Finding]:
        if not self._count:
            return []
        says = "1 memory says" if self._count == 1 else f"{self._count:,} memories say"
        told = f"{says} what another one says, word for word: {self._newest}."
        return [Finding("repeat", told, f"Keep one: engram forget {self._newest}.", severity="note")]


def _at_odds(call: Call) -> list[Finding]:
    """Pairs that may not both hold, as `engram conflicts` lists them; nothing is looked through or kept for it."""
    said = Run(call, "", words=True, dry_run=True).told(MOST_LISTED, None, settled=False)
    if not (count := len(said.pairs)):
        return []
    many = f"{count}{' or more' if said.next else ''} pairs of memories"
    told = f"{'1 pair of memories' if count == 1 else many} may not both hold."
    return [Finding("conflict", told, "Judge what is so: engram conflicts.", severity="note")]


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
    """Show the kinds a memory can be of, and how each is treated.

    Whether it goes live by itself, how long it stays fresh, and whether it is recalled unasked.
    """
    rows = call.policy.kinds.values()
    return Kinds(at=call.now, kinds=tuple(KindRow(k.name, k.tier, k.decay, k.recall, k.about) for k in rows))
