"""A store examined memory by memory, this one or another system's."""

import os
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice
from shlex import quote

from engram.errors import Unavailable
from engram.interop.forms import Problem, recognise
from engram.model.answers_store import Hygiene, HygieneRow
from engram.model.evidence import BROKEN
from engram.model.filter import ANYTHING
from engram.model.memory import Memory
from engram.operations.base import Call, every
from engram.operations.citing import checked
from engram.operations.scrubbing import TOO_FIRM, held_by, numbers, shown
from engram.rules.hands import Hands
from engram.rules.hygiene import Examination
from engram.rules.scrubbing import hidden

GROUP = 200
UNUSED_FOR = timedelta(days=30)
"""For how long a memory must be there, and answers be counted, before it is told that it never came back."""

MOST_PROBLEMS = 20
"""How many things that cannot be read are told one by one."""

OURS = "A store of Engram's own is looked at with --store PATH."

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
        HygieneRow(one.name, one.about, one.number, _mend(call, one.name, one.examples, path), one.examples)
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
        hint=_next_step(path, rows) if path else "",
    )


def _next_step(path: str, rows: Sequence[HygieneRow]) -> str:
    """How another system's store is taken in, and what becomes of what ails it."""
    found = {row.name for row in rows}
    stays = " An import leaves its secrets behind." if "secrets" in found else ""
    rest = " Once imported, engram doctor --hygiene has a command for the rest." if found - {"secrets"} else ""
    return f"Nothing was written.{stays}{rest} Take it in: engram import {quote(path)} --dry-run"


def _look_at_ours(call: Call, looking: Examination) -> tuple[str, list[str]]:
    held = held_by(call)
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
                earlier=held.memories.get(memory.id, ()),
            )
        call.progress(looking.memories, 0, "looking at memories")
    for session, kinds in held.sessions:
        looking.look_beside(f"session {shown(session)}", "", kinds)
    for relation, kinds in held.loose:
        looking.look_beside(f"relation {relation.id}", "its memories are gone", kinds)
    for id, kinds in held.gone.items():
        looking.look_beside(id[:13], "it is gone, but history still tells it", kinds)
    return "", [TOO_FIRM.format(numbers(held.firm))] if held.firm else []


def _groups(memories: Iterator[Memory]) -> Iterator[Sequence[Memory]]:
    while group := list(islice(memories, GROUP)):
        yield group


def _look_at_theirs(call: Call, path: str, looking: Examination) -> tuple[str, list[str]]:
    """Look at another store: its form, and what cannot be read of it."""
    source, form = recognise(os.path.expanduser(path), way=OURS, own=OURS)
    problems: list[str] = []
    unread = 0
    try:
        for thing in form.read(source._replace(hands=Hands(call.policy))):
            if isinstance(thing, Problem):
                unread += 1
                problems += [f"{thing.name}: {thing.message}"] if unread <= MOST_PROBLEMS else []
            elif isinstance(thing.record, Memory):
                looking.look_at(thing.record, thing.name, ages=form.ages)
            elif kinds := hidden(thing.record):
                looking.look_beside(thing.name, "", kinds)
            call.progress(looking.memories, 0, "looking at memories")
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror or error}.", "Check the path.") from None
    return form.name, [*problems, *([f"and {unread - MOST_PROBLEMS:,} more"] if unread > MOST_PROBLEMS else [])]


def _mend(call: Call, ailment: str, examples: Sequence[str], path: str) -> str:
    """What to do about an ailment: the command, for the first that has it."""
    if path:
        return f"engram import {quote(path)}" if ailment == "secrets" else ""
    names = examples[0].partition(": ")[0].split(" ~ ")
    if ailment == "near repeats" and call.memory(names[0]).status == "pending":
        ailment = "repeats"  # what waits itself replaces nothing, whatever is said of it
    return MENDS[ailment].format(*names)
