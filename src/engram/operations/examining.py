"""A store examined memory by memory, this one or another system's, and scrubbed of the secrets that are found."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import cast

from engram.errors import Unavailable
from engram.interop.forms import Problem, recognise
from engram.model.answers_store import Hygiene, HygieneRow, Scrubbed, ScrubRow
from engram.model.change import Change, Commit, Request
from engram.model.codec import RECORDS
from engram.model.evidence import BROKEN
from engram.model.filter import ANYTHING, Filter
from engram.model.memory import Memory
from engram.operations.base import Call, every, newest
from engram.operations.bearing import relations_of
from engram.operations.citing import checked
from engram.operations.erasing import erasure_note
from engram.rules import lifecycle, scrubbing
from engram.rules.hygiene import Examination
from engram.rules.redact import redact
from engram.rules.saying import texts

GROUP = 200
UNUSED_FOR = timedelta(days=30)
"""For how long a memory must be there, and answers be counted, before it is told that it never came back."""

MOST_PROBLEMS = 20

MENDS = {
    "secrets": "engram scrub --dry-run",
    "recall loops": "engram forget {}",
    "repeats": "engram forget {}",
    "near repeats": "engram relate {} {} supersedes",
    "said elsewhere": "engram get {} {}, and keep one that holds everywhere",
    "empty words": "engram forget {}",
    "drifted": "engram evidence",
    "stale": "engram list --standing stale, then engram verify",
    "expired": "engram list --standing expired",
    "never recalled": "engram get {}, and forget what nobody needs",
}
"""The command that mends each, for the first of them."""


def examine(call: Call, path: str) -> Hygiene:
    """Look at every memory of this store, or at what lies at a path."""
    looking = Examination(call.now, call.caller.view)
    form, problems = _look_at_theirs(call, path, looking) if path else _look_at_ours(call, looking)
    found = looking.ailments()
    rows = [
        HygieneRow(one.name, one.about, one.number, _mend(one.name, one.examples, path), one.examples)
        for one in found
    ]
    return Hygiene(
        at=call.now,
        store=path or call.store,
        form=form,
        memories=looking.memories,
        in_use=looking.in_use,
        junk=looking.junk,
        rows=tuple(rows),
        secrets=dict(looking.secrets.most_common()),
        problems=tuple(problems),
    )


def _look_at_ours(call: Call, looking: Examination) -> tuple[str, list[str]]:
    before = _secrets_in_history(call)
    since, used = call.usage.since(), call.usage.uses()
    long_ago = call.now - UNUSED_FOR
    for group in _groups(every(call, ANYTHING)):
        checks = checked(call, group)
        for memory in group:
            drifted = any(check.verdict in BROKEN for check in checks.get(memory.id, ()))
            recalled = memory.id in used or since is None or max(memory.created_at, since) > long_ago
            looking.look_at(
                memory,
                memory.called,
                drifted=drifted,
                recalled=recalled,
                earlier=before.get(memory.id, ()),
            )
        call.progress(looking.memories, 0, "looking at memories")
    return "", []


def _secrets_in_history(call: Call) -> dict[str, tuple[str, ...]]:
    """What earlier words of the caller's memories still hold that must not be kept, by their ids."""
    found: dict[str, tuple[str, ...]] = {}
    harmless: set[int] = set()
    for event in newest(call):
        if event.owner != call.caller.owner or event.payload is None:
            continue
        for edit in event.payload.edits:
            for said in texts(edit.field, (edit.old, edit.new)):
                if hash(said) in harmless or edit.id in found:
                    continue
                if kinds := redact(said.text, given=said.given).kinds:
                    found[edit.id] = kinds
                else:
                    harmless.add(hash(said))
    return found


def _groups(memories: Iterator[Memory]) -> Iterator[Sequence[Memory]]:
    while group := list(islice(memories, GROUP)):
        yield group


def _look_at_theirs(call: Call, path: str, looking: Examination) -> tuple[str, list[str]]:
    """Look at another store: its form, and what cannot be read of it."""
    source, form = recognise(os.path.expanduser(path))
    problems: list[str] = []
    try:
        for thing in form.read(source):
            if isinstance(thing, Problem):
                problems += [f"{thing.name}: {thing.message}"] if len(problems) < MOST_PROBLEMS else []
            elif isinstance(thing.record, Memory):
                looking.look_at(thing.record, thing.name, ages=form.ages)
            call.progress(looking.memories, 0, "looking at memories")
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror or error}.", "Check the path.") from None
    return form.name, problems


def _mend(ailment: str, examples: Sequence[str], path: str) -> str:
    """What to do about an ailment: the command, for the first that has it."""
    if path:
        return f"engram import {path} takes them out" if ailment == "secrets" else ""
    return MENDS[ailment].format(*examples[0].partition(": ")[0].split(" ~ "))


def scrub(call: Call, *, confirm: bool, dry_run: bool) -> Scrubbed:
    """Put clean copies in the place of the caller's memories that hold a secret, and tell what was done."""
    request = call.request(confirm=confirm)
    rows: list[ScrubRow] = []
    found: Counter[str] = Counter()
    done = Counter[str]()
    places: list[str] = []
    for memory, clean in _unclean(call):
        found.update(clean.removed)
        copy = clean.copy
        if not dry_run:
            copy, commit = _replaced(call, memory, copy, request)
            done["traces"] += commit.traces or 0
            places += commit.places
        rows.append(ScrubRow(memory.called, copy.handle if copy else "", clean.removed))
        call.progress(len(rows), 0, "scrubbing")
    remains = 0 if dry_run else _erase_remains(call, request)
    return Scrubbed(
        at=call.now,
        memories=tuple(rows),
        removed=dict(found.most_common()),
        remains=remains,
        dry_run=dry_run,
        traces=done["traces"],
        places=tuple(places),
        note=erasure_note(call),
    )


def _unclean(call: Call) -> Iterator[tuple[Memory, scrubbing.Clean]]:
    """Every memory of the caller that holds a secret, now or in earlier words, and what it is without."""
    before = _secrets_in_history(call)
    for memory in list(every(call, Filter(owner=call.caller.owner))):
        clean = scrubbing.cleaned(memory, before.get(memory.id, ()))
        if clean.removed:
            yield memory, clean


def _replaced(call: Call, memory: Memory, copy: Memory | None, request: Request) -> tuple[Memory | None, Commit]:
    """Put the copy of a memory in its place: first the copy, then the erasure; who is stopped between goes on."""

    def put() -> tuple[Change, None]:
        assert copy is not None
        proposals = tuple(every(call, Filter(amends=memory.id, owner=memory.owner)))
        replaced = tuple(every(call, Filter(replaced_by=memory.id, amends="", owner=memory.owner)))
        ties = relations_of(call, memory.id)
        change = scrubbing.put_copy(memory, copy, request, relations=ties, proposals=proposals, replaced=replaced)
        return change, None

    def erased() -> tuple[Change, None]:
        return scrubbing.erase(memory, _stored(call, copy), request, relations=relations_of(call, memory.id)), None

    if copy is not None and _stored(call, copy) is None:
        call.settle(put)
    commit, _ = call.settle(erased)
    now = _stored(call, copy)
    if now is not None:
        call.engine.commit(scrubbing.tell(now, request))
    return now, commit


def _stored(call: Call, copy: Memory | None) -> Memory | None:
    found = call.engine.get("memory", [copy.id], call.access) if copy else {}
    return cast("Memory | None", found.get(copy.id)) if copy else None


def _erase_remains(call: Call, request: Request) -> int:
    """Erase what history still tells of memories that are no longer there; returns of how many."""
    found = list(_secrets_in_history(call))
    there = {id for type in RECORDS for id in call.exactly(type, found)}
    gone = [id for id in found if id not in there]
    for id in gone:
        call.engine.commit(lifecycle.purge_remains(id, request))
    return len(gone)
