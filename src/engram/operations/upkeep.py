"""Looking after the store: stats, doctor, kinds, export and import."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, TextIO, TypeVar

from engram.errors import Conflict, EngramError, Invalid, Moved, Unavailable
from engram.interop import jsonl
from engram.model.answers import Exported, Imported, KindRow, Kinds, Preview, Report, Stats
from engram.model.change import Change, Finding
from engram.model.filter import ANYTHING, Filter
from engram.model.hashing import sha256
from engram.model.memory import Memory, standing
from engram.model.record import replace
from engram.model.scope import Scope
from engram.model.text import digest, tokens
from engram.operations import parameters as p
from engram.operations.base import Call, every, operation
from engram.operations.memories import admit, known, standings, twins_of
from engram.operations.scopes import in_view
from engram.rules import kinds as table
from engram.rules.access import require_person
from engram.rules.admission import Known, Proposal, adopt, prepare
from engram.rules.admission import admit as decide_on
from engram.rules.likeness import contradiction
from engram.rules.redact import redact

if TYPE_CHECKING:
    from engram.interop.markdown import Note

T = TypeVar("T")

MOST_PROBLEMS = 20
MOST_SHOWN = 200
HINTS = {"pending": "Review them: engram review.", "stale": "Look at them: engram list --standing stale."}


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
    newest = call.engine.events(newest=True, limit=1)
    return Stats(
        at=call.now,
        memories=by_standing.total(),
        standings=dict(by_standing.most_common()),
        kinds=dict(by_kind.most_common()),
        scopes=dict(by_scope.most_common()),
        tokens=total,
        events=newest[0].seq if newest else 0,
        store=call.store,
    )


@operation("GET /v1/doctor", "engram doctor", "engram doctor --fix")
def doctor(call: Call, *, fix: p.Fix = False) -> Report:
    """Check the store from the disk up: files, records, index and history; and say what to do."""
    if fix:
        require_person(call.request(), "mend the store")
    findings = call.engine.check(repair=fix)
    counts: Counter[str] = Counter()
    if not any(finding.code == "integrity" for finding in findings):
        counts.update(standing(memory, call.now) for memory in every(call, ANYTHING))
    for stands, hint in HINTS.items():
        if counts[stands]:
            count = counts[stands]
            subject = "1 memory is" if count == 1 else f"{count} memories are"
            findings.append(Finding(stands, f"{subject} {stands}.", hint, severity="note"))
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
        missing = f"{backlog.lacking:,} memories have no vector yet, and are found by words alone."
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


@operation("GET /v1/export", "engram export memories.jsonl", "engram export - --standing all | gzip > all.jsonl.gz")
def export(
    call: Call,
    path: p.OutPath,
    *,
    scope: p.OnlyScope = "",
    standing: p.Standings = ("all",),
    overwrite: p.Overwrite = False,
) -> Exported:
    """Write memories as documented JSON Lines, with a checksum; everything you may read, unless narrowed."""
    where = Filter(
        **in_view(call, scope, everywhere=not scope),
        standings=standings(standing),
        now=call.now,
        view=call.caller.view,
    )
    _require_free(path, call.store, overwrite=overwrite)
    seal, count = sha256(), 0
    with _output(path) as write:
        for line in jsonl.write(every(call, where), call.now):
            seal.update(f"{line}\n".encode())
            write(f"{line}\n")
            count += 1
    return Exported(at=call.now, path=path, memories=count - 2, sha256=seal.hexdigest())


@operation(
    "POST /v1/import",
    "engram import memories.jsonl --dry-run",
    "engram import mine.jsonl --trust",
    "engram import MEMORY.md --dry-run",
    name="import",
    writes=True,
    human=True,
)
def import_memories(call: Call, path: p.InPath, *, trust: p.Trust = False, dry_run: p.DryRun = False) -> Imported:
    """Take in an export, or the notes of a Markdown file; one `undo` takes it all back.

    What comes from outside waits for review. With --trust an export keeps the status it had, and notes that
    contradict nothing go live: for what is your own.
    """
    outcomes: Counter[str] = Counter()
    problems: list[str] = []
    batch = call.new_id()
    preview: list[Preview] = []
    dry: set[str] | None = set() if dry_run else None
    for name, note, take_in in _found_in(call, path, batch, trust=trust, dry=dry):
        try:
            outcome = take_in()
        except EngramError as error:
            outcome = "skipped"
            problems.append(f"{name}: {error.message}")
        outcomes[outcome] += 1
        if dry_run and note:
            preview.append(Preview(redact(note.text).text, note.kind or "fact", outcome))
    return Imported(
        at=call.now,
        path=path,
        outcomes=dict(outcomes),
        problems=tuple(problems[:MOST_PROBLEMS]),
        batch=batch if call.engine.events(batch=batch, limit=1) else "",
        dry_run=dry_run,
        preview=tuple(preview[:MOST_SHOWN]),
    )


def _found_in(
    call: Call, path: str, batch: str, *, trust: bool, dry: set[str] | None
) -> Iterator[tuple[str, "Note | None", Callable[[], str]]]:
    """Everything in a file, read to its end first: how it is called, the note it is, and what takes it in."""
    from engram.interop import markdown  # noqa: PLC0415 - start-up

    if path.lower().endswith(markdown.SUFFIXES):
        for note in _read(path, lambda file: markdown.read(file.read(markdown.LARGEST + 1))):
            said = _noted(note, path, call.home)
            yield f"line {note.line}", note, partial(_take_in_outside, call, said, batch, trust=trust, dry=dry)
    else:
        for memory in _read(path, lambda file: list(jsonl.read(file))):
            yield memory.id[:13], None, partial(_take_in, call, memory, path, batch, trust=trust, dry=dry)


def _take_in(call: Call, memory: Memory, path: str, batch: str, *, trust: bool, dry: set[str] | None) -> str:
    """Take in one memory and say what became of it; in a dry run (`dry`), only say it."""
    if call.engine.get("memory", [memory.id], call.access):
        return "known"
    if not trust:
        return _take_in_outside(call, _outside(memory, path), batch, dry=dry)
    request = call.request(confirm=True, batch=batch)._replace(confirmed="import")

    def decide() -> tuple[Change, None]:
        owned = replace(memory, owner=call.caller.owner)
        return adopt(memory, Known(twins=twins_of(call, owned)), call.policy, request), None

    if dry is not None:
        change, _ = decide()
        claims = {claim for each in change.claims.values() for claim in each}
        here = twins_of(call, replace(memory, owner=call.caller.owner))
        taken = claims & dry or (not memory.key and any(not one.apart and not one.key for one in here))
        dry |= claims
        return "known" if taken else "new"
    try:
        call.settle(decide)
    except Moved:
        return "known"  # the same key or text is here under another id
    return "new"


def _take_in_outside(call: Call, said: Proposal, batch: str, *, dry: set[str] | None, trust: bool = False) -> str:
    """Take in what somebody wrote; where a person vouches for it (`trust`), it need not wait."""
    vouched = call._replace(channel="import")
    request = vouched.request(confirm=trust)
    prepared = prepare(said, request, call.policy)
    here = known(call, prepared)
    if any(one.status != "rejected" and not one.apart for one in here.twins):
        return "known"  # taken in before, or said here: importing the same file again changes nothing
    if trust and any(contradiction(one.text, prepared.text) for one in here.rivals):
        # An old note replaces nothing that is live, whoever vouches for it: a person looks at the two.
        trust, request, prepared = False, call.request(), prepared._replace(trusted=False)
    if dry is None:
        return admit(vouched, said, confirm=trust, batch=batch).outcome
    decision = decide_on(prepared, here, call.policy, request)
    place = f"{prepared.scope} {digest(prepared.text)}"
    outcome = "known" if place in dry and not prepared.apart else decision.outcome
    dry.add(place)
    return outcome


def _noted(note: "Note", path: str, home: Scope) -> Proposal:
    """What a note says, with what its file tells about it."""
    return Proposal(
        text=note.text,
        scope=home,
        summary=note.summary or None,
        kind=note.kind or None,
        tags=note.tags or None,
        source=_source(path),
        learned_by="import",
    )


def _outside(memory: Memory, path: str) -> Proposal:
    """What someone else's memory says, without its key, its weight among theirs, and its approval."""
    return Proposal(
        text=memory.text,
        scope=memory.scope,
        summary=memory.summary or None,
        kind=memory.kind,
        tags=memory.tags or None,
        citations=memory.citations or None,
        origin=memory.origin,
        source=_source(path),
        learned_by="import",
        confidence=memory.confidence,
        context=memory.context,
        importance=memory.importance,
        decay=memory.decay,
        valid_from=memory.valid_from,
        valid_until=memory.valid_until,
    )


def _source(path: str) -> str:
    return f"import:{os.path.basename(path)}"[:120]


def _read(path: str, reader: Callable[[TextIO], list[T]]) -> list[T]:
    """All of a file, checked to its end before the first memory is taken in."""
    try:
        if path == "-" and sys.stdin is None:
            raise Invalid("There is no standard input to read.", "Give the path of a file.")
        if path == "-":
            return reader(sys.stdin)
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            return reader(file)
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.", "Check the path.") from None
    except UnicodeDecodeError:
        raise Invalid(
            f"{path} is not UTF-8 text.", "Use a file made by `engram export`, or notes in Markdown."
        ) from None


def _require_free(path: str, store: str, *, overwrite: bool) -> None:
    """An export replaces a file only when asked to, and the store never."""
    target = os.path.realpath(os.path.expanduser(path))
    if path == "-" or not os.path.lexists(target):
        return
    if target in {os.path.realpath(f"{store}{suffix}") for suffix in ("", "-wal", "-shm")}:
        raise Invalid(f"{path} is the store itself.", "Export to another file.")
    if not overwrite:
        raise Conflict(f"{path} is there already.", "Choose another name, or add --overwrite.")


@contextmanager
def _output(path: str) -> Iterator[Callable[[str], object]]:
    """Write to a private file that takes its name when all is written; or to standard output for `-`."""
    if path == "-":
        yield sys.stdout.write
        return
    target = os.path.expanduser(path)
    draft = f"{target}.{os.getpid()}.new"
    try:
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as file:
            yield file.write
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror}.", "Choose another place.") from None
    finally:
        with suppress(OSError):
            os.unlink(draft)
