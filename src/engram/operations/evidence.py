"""What memories rest on: evidence checks it, cited tells who cites a file, settle follows merged branches."""

import re
from collections import Counter
from collections.abc import Sequence

from engram.errors import Invalid
from engram.model.answers_work import Cited, Citing, Evidenced, Settled
from engram.model.change import Change
from engram.model.evidence import CHANGED, VERDICTS, WORST, Check
from engram.model.filter import Filter
from engram.model.memory import TALKS, Citation, Memory
from engram.operations import parameters as p
from engram.operations.base import Call, each, every, operation
from engram.operations.bearing import beside_of
from engram.operations.citing import checked
from engram.operations.remarks import remarks
from engram.operations.scopes import in_view, unplaced
from engram.rules.kinds import own_lists
from engram.rules.settling import released
from engram.rules.settling import settle as follow

ENTER = "Go into one of them."
"""How one of several projects is named where no scope can be given."""

BATCH = 50
"""Memories that are checked at a time, so that it can be told how far it has come."""


@operation(
    "GET /v1/evidence",
    "engram evidence",
    "engram evidence --fail-on drifted,gone",
    "engram evidence --since origin/main --json",
)
def evidence(
    call: Call, *, scope: p.InScope = "", since: p.SinceRevision = "", fail_on: p.FailOn = ()
) -> Evidenced:
    """Check whether what memories cite is still there.

    Compares what this project's live and stale memories cite with the working tree, as recall does, but for all of
    them and every kind. Changes nothing.
    """
    unwanted = _verdicts(fail_on)
    where = Filter(**in_view(call, scope), standings=("live", "stale"), now=call.now, view=call.caller.view)
    citing = [one for one in every(call, where) if one.citations]
    if since:
        files = call.evidence.touched(since)
        citing = [one for one in citing if any(cite.kind == "file" and cite.ref in files for cite in one.citations)]
    rows: list[Citing] = []
    for at in range(0, len(citing), BATCH):
        part = citing[at : at + BATCH]
        call.progress(at, len(citing), "checking citations")
        found = checked(call, part)
        rows += [Citing(one, found.get(one.id, ())) for one in part]
    call.progress(len(citing), len(citing), "checking citations")
    rows.sort(key=lambda row: WORST.index(row.verdict or "unreachable"))
    counted = Counter(check.verdict for row in rows for check in row.evidence)
    counts: dict[str, int] = {verdict: counted[verdict] for verdict in VERDICTS}
    return Evidenced(
        at=call.now,
        memories=tuple(rows),
        counts=counts,
        failed=tuple(verdict for verdict in VERDICTS if verdict in unwanted and counted[verdict]),
        since=since,
        hint=f"{_next_step(rows)} {unplaced(call, scope)}".strip(),
    )


@operation(
    "GET /v1/cited", "engram cited src/api.py", "engram cited src/api.py:200-240", "engram cited message:msg-42"
)
def cited(call: Call, file: p.FilePlace, *, scope: p.InScope = "", everywhere: p.Everywhere = False) -> Cited:
    """Show which memories cite a file, a session or a message.

    Takes a whole file or some of its lines, and includes on-demand kinds. Memories that cite the file under the
    name it had before git renamed it are shown too.
    """
    place = in_view(call, scope, everywhere=everywhere)
    where = Filter(**place, standings=("live", "stale"), now=call.now, view=call.caller.view)
    where = where._replace(except_kinds=own_lists(call.policy.kinds))
    kind, colon, source = file.partition(":")
    if colon and kind in TALKS:
        return _marked(call, _made_by(call, kind, source.strip(), where))
    ref, locator = call.evidence.named(file)
    known = [one for one in every(call, where) if any(cite.kind == "file" for cite in one.citations)]
    away = call.evidence.astray({cite.ref for one in known for cite in one.citations if cite.kind == "file"})
    citing = [one for one in known if any(_is_of(cite, ref) or cite.ref in away for cite in one.citations)]
    found = checked(call, citing)
    rows = [Citing(one, _about(one, found[one.id], ref, _lines(locator))) for one in citing]
    shown = tuple(row for row in rows if row.evidence)
    hint = unplaced(call, "", way=ENTER)
    return _marked(call, Cited(at=call.now, file=ref, locator=locator, memories=shown, hint=hint))


def _marked(call: Call, answer: Cited) -> Cited:
    return answer._replace(marks=remarks(call, [row.memory for row in answer.memories]))


@operation("POST /v1/settle", "engram settle", "engram settle --dry-run", writes=True)
def settle(call: Call, *, dry_run: p.DryRun = False) -> Settled:
    """Bring in what was learned on branches that are merged now.

    A memory made on a branch is live only there, until a commit of the branch, or the text the memory cites, is in
    the default branch. If the branch was deleted before that, a person decides. Reading never settles anything.
    """
    return settled(call, dry_run=dry_run)


def settled(call: Call, *, dry_run: bool = False) -> Settled:
    """Look at the branches of what is staged, and commit what follows; where somebody was faster, look again."""

    def decide() -> tuple[Change | None, Settled]:
        change, answer = _followed(call)
        return None if dry_run else change, answer._replace(dry_run=dry_run)

    commit, answer = call.decide_and_commit(decide)
    hint = "Decide about them: engram review." if answer.held and not dry_run else ""
    return answer._replace(event=commit.event.seq if commit else 0, hint=hint)


def _followed(call: Call) -> tuple[Change | None, Settled]:
    """What follows from the branches of what is staged, as they are now, and what to say of it once it is done."""
    where = Filter(standings=("staged",), owner=call.caller.owner, now=call.now)
    staged = list(every(call, where))
    fates = call.evidence.settled(staged) if staged else {}
    merged = [one for one in staged if one.id in fates and fates[one.id].state == "merged"]
    beside = {one.id: beside_of(call, released(one)) for one in merged}
    change = follow(staged, fates, beside, call.policy, call.request())
    asked = {one.id: one.handle for one in staged}
    puts = [one for one in (change.puts if change else ()) if isinstance(one, Memory)]
    after = [one.known_as(asked[one.id]) for one in puts if one.id in asked]
    promoted = tuple(one for one in after if one.status == "promoted")
    held = tuple(one for one in after if one.waiting)
    named = {other.id: other.handle for each in beside.values() for _, other in each.verdicts}
    answer = Settled(
        at=call.now,
        promoted=promoted,
        held=held,
        replaced=tuple(one.known_as(named[one.id]) for one in puts if one.replaced_by in asked and one.id in named),
        waiting=len(fates) - len(promoted) - len(held),
        elsewhere=len(staged) - len(fates),
    )
    return change, answer


def _made_by(call: Call, kind: str, source: str, where: Filter) -> Cited:
    """The memories that a message or a session made: those that cite it and, of a session, those made in it."""
    if not source:
        raise Invalid(f"Which {kind}?", f"Give its id: {kind}:ID.")
    citing = [one for one in every(call, where) if any((c.kind, c.ref) == (kind, source) for c in one.citations)]
    if kind == "session":
        known = {one.id for one in citing}
        citing += [one for one in every(call, where._replace(session=source)) if one.id not in known]
    found = checked(call, citing)
    rows = []
    for one in citing:
        checks = zip(one.citations, found.get(one.id, ()), strict=False)
        about = tuple(check for cite, check in checks if (cite.kind, cite.ref) == (kind, source))
        rows.append(Citing(one, about))
    hint = unplaced(call, "", way=ENTER)
    return Cited(at=call.now, file=f"{kind}:{source}", locator="", memories=tuple(rows), hint=hint)


def _is_of(citation: Citation, ref: str) -> bool:
    return citation.kind == "file" and citation.ref == ref


def _about(memory: Memory, checks: Sequence[Check], ref: str, asked: tuple[float, float]) -> tuple[Check, ...]:
    """The checks of a memory's citations of a file, as far as they are about some of the lines asked for."""
    found = []
    for cite, check in zip(memory.citations, checks, strict=True):
        low, high = _lines(check.lines or cite.locator)
        if ref in (check.ref, cite.ref) and cite.kind == "file" and low <= asked[1] and asked[0] <= high:
            found.append(check)
    return tuple(found)


def _lines(locator: str) -> tuple[float, float]:
    """The first and the last line that a locator names; all of them where it names none."""
    found = re.fullmatch(r"L?(\d{1,9})(?:-L?(\d{1,9}))?", locator)
    return (int(found[1]), int(found[2] or found[1])) if found else (0, float("inf"))


def _verdicts(said: Sequence[str]) -> set[str]:
    """The verdicts that are not to be; `any` is every one but fresh.

    Raises:
        Invalid: when one does not exist.
    """
    names = {name.strip() for each_said in each(said) for name in each_said.split(",") if name.strip()}
    bad = [verdict for verdict in VERDICTS if verdict != "fresh"]
    if unknown := names - {*bad, "any"}:
        raise Invalid(f"fail_on cannot be {min(unknown)!r}.", f"Use {', '.join(bad)}; or any.")
    return set(bad) if "any" in names else names


def _next_step(rows: Sequence[Citing]) -> str:
    broken = next((row.memory for row in rows if row.verdict in CHANGED), None)
    if broken is None:
        return "" if rows else "Nothing here cites anything that could be checked."
    return f"See what changed: engram verify {broken.handle}. It asks before anything is pinned anew."
