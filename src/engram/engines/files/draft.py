"""The registry's text to write: the items that one commit touches spliced in, or all items written anew."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from engram.engines.files import history
from engram.engines.files.folder import Stamp
from engram.engines.files.history import Line, State, Step
from engram.engines.files.mark import Mark, advanced
from engram.engines.files.reading import Reading, Span
from engram.engines.files.registry import Registry, body_of, respoken, with_remarks
from engram.model.change import ABSENT, Change
from engram.model.codec import encode
from engram.model.event import Event
from engram.model.items import AGES, Item, print_item, status_of
from engram.model.memory import Memory
from engram.model.record import replace
from engram.model.refs import print_handle
from engram.model.scalars import print_word


class Draft(NamedTuple):
    """A line of history, the registry it goes out from, and what it does to memories."""

    line: Line
    more: tuple[Line, ...]  # what was taken over or sealed in the same commit, after that line
    registry: Registry
    stamp: Stamp | None
    steps: list[Step]
    others: dict[str, tuple[str, ...]]  # the keys of other programs, by memory
    spans: dict[str, Span]  # where the items stand


def draft(
    registry: Registry,
    stamp: Stamp | None,
    event: Event,
    change: Change,
    numbers: Mapping[str, int],
    *,
    home: str,
    now: datetime,
    erased: Mapping[str, int],
) -> Draft:
    """Find the items that a Change touches; no other item is read. `erased` are the numbers of what it erases."""
    after = {record.id: record for record in change.puts if isinstance(record, Memory)}
    gone = [id for type, id in change.drops if type == "memory"]
    known = {id: numbers[id] for id in after if change.expects.get(id) != ABSENT}
    spans = _spans(registry, known | _numbers_of(gone, registry, now))
    items = _items(registry, spans, now)
    before = {id: item.memory for id, item in items.items()}
    documents = {id: encode(each) for id, each in before.items()}
    line, *more = history.lines_of(event, change, numbers, documents, home)
    handles = {id: item.handle for id, item in items.items()}
    handles |= {id: print_handle("memory", n) for id, n in [*erased.items(), *((id, numbers[id]) for id in after)]}
    ids = dict.fromkeys([*after, *gone, *erased])
    steps = [Step(id, handles[id], before.get(id), after.get(id)) for id in ids if id in handles]
    others = {id: item.others for id, item in items.items() if item.others}
    return Draft(line, tuple(more), registry, stamp, steps, others, spans)


def spliced(drafted: Draft, now: datetime, mark: Mark, memories: Callable[[], Sequence[Memory]]) -> str:
    """The registry's text with the items as they are now; on a new day, all that time has changed as well."""
    registry, date, steps = drafted.registry, now.date().isoformat(), drafted.steps
    body = respoken(registry.body, ((step.before, step.after) for step in steps), now)
    changes: dict[Span, str] = {}
    added = []
    if body is None or registry.generated != date:  # somebody else's body, a line that comes back, or a new day
        everyone = memories()
        known = [*everyone, *(step.before for step in steps if step.before)]
        body = with_remarks(body_of(everyone, now), registry.body, known)
        changes = _aged(registry, everyone, now)
    for step in steps:
        others = drafted.others.get(step.id, ())
        text = print_item(step.after, step.handle, now, registry.style, others) if step.after else ""
        if span := drafted.spans.get(step.id):
            changes[span] = text
        elif text:
            added.append(text)
    return registry.spliced(changes, added, date=date, mark=mark, body=body)


def renewed(
    registry: Registry,
    state: State,
    found: Reading,
    *,
    now: datetime,
    lines: Iterable[Line],
    remarks: bool = False,
) -> str:
    """The registry's text with everything brought up to date: items that are behind, what time changed, the body.

    `lines` are all that it knows now. With `remarks`, what somebody wrote into the body stays in it.
    """
    changes, added, wanted = {}, [], found.behind | found.aged
    for memory in state.memories():
        span = found.spans.get(memory.id)
        if span and memory.id not in wanted:
            continue
        text = print_item(memory, memory.handle, now, registry.style, found.others.get(memory.id, ()))
        if span:
            changes[span] = text
        elif memory.id in found.behind:
            added.append(text)
    changes |= dict.fromkeys(found.gone, "")
    body = body_of(state.memories(), now)
    if remarks:
        known = [*state.memories(), *(each.before for each in found.edited if each.before)]
        body = with_remarks(body, registry.body, known)
    mark = advanced({}, (line.event for line in lines))
    return registry.spliced(changes, added, date=now.date().isoformat(), mark=mark, body=body)


def _numbers_of(ids: Sequence[str], registry: Registry, now: datetime) -> dict[str, int]:
    """The numbers of memories that are about to go: their items name them."""
    found = {}
    for id in ids:
        at = registry.text.find(f"uid: {print_word(id)}\n", registry.start, registry.end)
        for span in registry.blocks() if at < 0 else [registry.span_at(at)]:
            item = registry.item(span, now)
            if item.memory.id == id and item.handle:
                found[id] = int(item.handle.partition("-")[2])
    return found


def _spans(registry: Registry, numbers: Mapping[str, int]) -> dict[str, Span]:
    found = {id: registry.find(print_handle("memory", n)) for id, n in numbers.items()}
    return {id: span for id, span in found.items() if span}


def _items(registry: Registry, spans: Mapping[str, Span], now: datetime) -> dict[str, Item]:
    items = {id: registry.item(span, now) for id, span in spans.items()}
    return {id: item._replace(memory=replace(item.memory, id=id)) for id, item in items.items()}


def _aged(registry: Registry, memories: Iterable[Memory], now: datetime) -> dict[Span, str]:
    """The items whose status moved on by the passing of time alone, as they are to be written."""
    known = {memory.handle: memory for memory in memories}
    changes = {}
    for span, handle, status in registry.statuses():
        memory = known.get(handle)
        if memory and memory.status == "promoted" and status in AGES and status != status_of(memory, now):
            others = registry.item(span, now).others
            changes[span] = print_item(memory, handle, now, registry.style, others)
    return changes
