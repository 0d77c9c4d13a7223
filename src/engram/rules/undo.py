"""Taking back what was done: any event that no later change depends on, several steps at once."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from engram.errors import Conflict
from engram.model.change import Change, Request
from engram.model.codec import Document, Record, RecordType, decode, encode
from engram.model.event import ACKNOWLEDGED, ADOPTED, BOOKKEEPING, EDITED, Edit, Event
from engram.model.limits import print_time
from engram.model.memory import Memory
from engram.rules import merge
from engram.rules.access import require_judge, require_owner, require_person
from engram.rules.changes import Step, compose

VERDICTS = frozenset({"promote", "reject", "verify"})

_MADE = "owners, keys and workspaces stay as made"
LASTING = {"key": _MADE, "revoke": _MADE, "assign": _MADE, "scrub": "what held a secret is erased for good"}
"""Action → why it cannot be undone. Undoing what came before passes over it."""

COUNTERS = frozenset({"seen"})
"""Fields that grow by steps: taking one step back is possible whatever was added since."""


def _nothing(_: str) -> Sequence[Event]:
    """The default for `told`: no other store says anything of a record."""
    return ()


def _none(_: str) -> Sequence[Memory]:
    """The default for `replaced`: a memory has replaced nothing since."""
    return ()


def _nobody(_: str) -> int:
    """The default for `removed_by`: which event removed a record is unknown (0)."""
    return 0


def undo(
    events: Sequence[Event],
    current: Mapping[str, Record],
    request: Request,
    *,
    dependents: Sequence[Memory] = (),
    replaced: Callable[[str], Sequence[Memory]] = _none,
    told: Callable[[str], Sequence[Event]] = _nothing,
    removed_by: Callable[[str], int] = _nobody,
) -> Change:
    """Reverse events, newest first, in one Change; `current` holds the records they touched that still exist.

    All fields return to what they were, except revision and time of update. Where another store changed a field
    without knowing of these events, its word stays: `told` gives all that is known of a record, by its id.
    `dependents` are proposals to amend what would be gone. `replaced` gives what a memory has put out of use
    since, which would be hidden by something that is not in use itself. `removed_by` gives the event that removed
    a record.

    Raises:
        Conflict: when something later stands on one of them, it was purged, or it only took a store in as it was;
            it says which and why.
        Unconfirmed: when a curated memory would become live or change by it, and nobody confirmed. What an
            editor did to one needs no word: back comes what was approved before.
    """
    require_person(request, "undo")
    if all(event.action == EDITED for event in events):
        request, told = request._replace(confirmed=request.confirmed or "undo"), _nothing
    if dependents:
        name = dependents[0].called
        raise Conflict(
            f"Cannot undo that: {name} proposes to change it.", f"Decide about {name} first: engram review."
        )
    _require_allowed(events, current, request)
    _require_passing(events)
    states: dict[str, Document | None] = {id: encode(record) for id, record in current.items()}
    types: dict[str, RecordType] = {}
    without = _Without({event.id for event in events}, told)
    for event in sorted(events, key=lambda event: -event.seq):
        if event.payload is None or event.action == "purge":
            raise Conflict(
                f"Event {event.seq} ({event.action}) cannot be undone: a purge erased what it did.",
                "Undo another one by its number: engram history.",
            )
        touched: dict[str, list[Edit]] = {}
        for edit in event.edits:
            touched.setdefault(edit.id, []).append(edit)
            types[edit.id] = edit.type
        for id, edits in touched.items():
            if states.get(id) is None and not _removed(edits):
                raise _gone(event, id, removed_by(id))
            states[id] = _back(states.get(id), edits, event, without, _called(current.get(id), id))
    steps = [_step(types[id], current.get(id), states[id], request) for id in types]
    _require_nothing_hidden(steps, types, replaced)
    return compose(
        "undo",
        request,
        [each for each in steps if each.before or each.after],
        note={"undid": [event.action for event in events]},
        reverses=tuple(event.id for event in events),
    )


def _require_allowed(events: Sequence[Event], current: Mapping[str, Record], request: Request) -> None:
    """A reviewer takes back verdicts of their own; everything else is the owner's."""
    verdicts = all(event.action in VERDICTS and event.owner == request.caller.owner for event in events)
    allowed = require_judge if verdicts else require_owner
    for known in current.values():
        if isinstance(known, Memory):
            allowed(request.caller, known)


def _require_passing(events: Sequence[Event]) -> None:
    for event in events:
        if event.action in LASTING:
            raise Conflict(
                f"Event {event.seq} ({event.action}) cannot be undone: {LASTING[event.action]}.",
                "Undo another one by its number: engram history.",
            )
        if event.action == ADOPTED:
            raise Conflict(
                f"Event {event.seq} (adopted) cannot be undone: it only took in what memory.md already had.",
                "Forget single memories instead: engram forget ID.",
            )
        if event.action == ACKNOWLEDGED:
            raise Conflict(
                f"Event {event.seq} (acknowledge) cannot be undone: it only took note of what is lost.",
                "If a backup has the lost events, put its events.jsonl back.",
            )


def _require_nothing_hidden(
    steps: Sequence[Step], touched: Collection[str], replaced: Callable[[str], Sequence[Memory]]
) -> None:
    for before, after in steps:
        if not isinstance(before, Memory) or not _counts(before) or _counts(after):
            continue
        for other in replaced(before.id):
            if other.id in touched:
                continue
            raise Conflict(
                f"Cannot undo that: {before.called} has replaced {other.called} since.",
                f"Undo that first: engram history {other.called}.",
            )


def _counts(record: Record | None) -> bool:
    """Whether a memory may stand in the place of another, as far as it is not replaced itself."""
    return isinstance(record, Memory) and record.status == "promoted" and record.forgotten_at is None


def reversed_by(events: Sequence[Event]) -> set[str]:
    """The ids of the events in this stretch of history that stand undone: undone, and not redone since."""
    undone: set[str] = set()
    for event in sorted(events, key=lambda event: -event.seq):
        if event.id not in undone:
            undone.update(event.reverses)
    return undone


class _Without:
    """What records would be without the events that are taken back, as far as several stores had a word in them."""

    def __init__(self, undone: Collection[str], told: Callable[[str], Sequence[Event]]) -> None:
        self._undone, self._told = undone, told
        self._values: dict[str, Mapping[str, Any]] = {}
        self._settled: set[tuple[str, str]] = set()

    def settles(self, edit: Edit) -> bool:
        """Whether a later one of these events has settled this field already."""
        return (edit.id, edit.field) in self._settled

    def value(self, edit: Edit) -> Any:  # noqa: ANN401 - any JSON value
        """What a field would be: what it was before, or what another store made of it meanwhile."""
        if edit.id not in self._values:
            self._values[edit.id] = self._fold(edit.id)
        if edit.field not in self._values[edit.id]:
            return edit.old
        self._settled.add((edit.id, edit.field))
        return self._values[edit.id][edit.field]

    def _fold(self, id: str) -> Mapping[str, Any]:
        """The record's fields, folded from all events that are not being undone.

        Empty if only one store wrote the record, or if a purge erased what some of its events did: what was before
        them is not known.
        """
        every = self._told(id)
        if len({event.replica for event in every}) < 2 or any(event.payload is None for event in every):
            return {}
        events = [event for event in every if event.id not in self._undone]
        # What was taken back before, and the taking back of it, are as if they had not been.
        void = reversed_by(events)
        kept = [event for event in events if event.id not in void and not event.reverses]
        return {name: value for name, (_, value) in merge.states(kept).get(id, merge.State()).fields.items()}


def _back(
    state: Document | None, edits: Sequence[Edit], event: Event, without: _Without, called: str
) -> Document | None:
    """One record as it was before the event; None when it did not exist then."""
    made = _made(edits)
    if _removed(edits):
        if state is not None:
            raise _stood_upon(event, edits[0].field, called)
        return {edit.field: edit.old for edit in edits}
    assert state is not None, "a record that is gone is refused before"
    if made:
        for name in {**made, **state}:
            if name not in BOOKKEEPING and state.get(name) != made.get(name):
                raise _stood_upon(event, name, called)
        return None
    for edit in edits:
        state = _field_back(state, edit, event, without, called)
    return state


def _field_back(state: Document, edit: Edit, event: Event, without: _Without, called: str) -> Document:
    if edit.field in COUNTERS:
        return _with(state, edit.field, state.get(edit.field, 1) - (edit.new or 1) + (edit.old or 1))
    if without.settles(edit):
        return state
    if state.get(edit.field) != edit.new:
        raise _stood_upon(event, edit.field, called)
    return _with(state, edit.field, without.value(edit))


def _made(edits: Sequence[Edit]) -> dict[str, Any]:
    """The record an event made, as a document; empty when it made none."""
    if not any(edit.field == "id" and edit.old is None for edit in edits):
        return {}
    return {edit.field: edit.new for edit in edits}


def _removed(edits: Sequence[Edit]) -> bool:
    """Whether an event took away the record that these edits of it are about."""
    return any(edit.field == "id" and edit.new is None for edit in edits)


def _called(record: Record | None, id: str) -> str:
    """What a person calls a record: a memory by its handle, while it has one."""
    return (record.handle if isinstance(record, Memory) else "") or id[:13]


def _gone(event: Event, id: str, by: int) -> Conflict:
    return Conflict(
        f"Event {event.seq} ({event.action}) cannot be undone: {id[:13]} is gone.",
        f"Undo what removed it first: engram undo {by}." if by else "Undo what removed it first: engram history.",
    )


MEANT: Mapping[str, str] = {
    "held_for": "why {} waits",
    "replaced_by": "what replaced {}",
    "forgotten_at": "whether {} is forgotten",
    "approved_by": "who approved {}",
    "learned_by": "how {} was learned",
    "amends": "what {} would change",
    "valid_from": "from when {} holds",
    "valid_until": "until when {} holds",
    "verified_at": "when {} was verified",
}
"""Fields whose name tells nobody what changed, in words."""


def _stood_upon(event: Event, field: str, called: str) -> Conflict:
    what = MEANT.get(field, f"{field} of {{}}").format(called)
    return Conflict(
        f"Event {event.seq} ({event.action}) cannot be undone: {what} changed since.",
        f"Undo the later steps first: engram history {called}.",
    )


def _with(state: Document, field: str, value: Any) -> Document:  # noqa: ANN401 - any JSON value
    return {name: old for name, old in state.items() if name != field} | ({} if value is None else {field: value})


def _step(type: RecordType, before: Record | None, state: Document | None, request: Request) -> Step:
    if state is None:
        return Step(before, None)
    moved = {**state, "revision": before.revision + 1 if before else 1}
    if type in ("memory", "relation"):
        moved["updated_at"] = print_time(request.now)
    after = decode(type, moved)
    if before is None and isinstance(after, Memory):
        require_owner(request.caller, after)
    return Step(before, after)
