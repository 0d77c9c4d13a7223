"""The texts of a store, read and written: history, the registry, and all that follows from a line of history."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from engram.engines.files import beside, history, traces
from engram.engines.files.draft import renewed
from engram.engines.files.folder import AUDIT, EVENTS, LOG, REGISTRY, SNAPSHOTS, Folder, Stamp
from engram.engines.files.history import Journal, Line, State, Step
from engram.engines.files.index import Shelf
from engram.engines.files.reading import Reading
from engram.engines.files.registry import EMPTY, FENCE, Registry, body_of, clean, migrated, read_registry
from engram.model.event import ADOPTED, Head
from engram.model.hashing import sha256
from engram.model.record import NONE
from engram.model.refs import print_handle


class Texts:
    """The files of one store; whoever writes holds its lock."""

    def __init__(
        self,
        folder: Folder,
        shelf: Shelf,
        *,
        clock: Callable[[], datetime],
        snapshots: int,
        trace: Callable[[str], None],
    ) -> None:
        """So many `snapshots` are kept of what was there before a write; `trace` is told of each."""
        self._folder, self._shelf, self._clock = folder, shelf, clock
        self._keep, self._trace = snapshots, trace

    # reading

    def registry(self) -> Registry:
        """The registry as it stands; an empty one where there is none.

        Raises:
            Unreadable: when it makes no sense.
            Corrupt: when its schema is unknown.
        """
        content = self._folder.read(REGISTRY)
        return read_registry(clean(content, REGISTRY) if content is not None else self.empty())

    def state(self) -> State:
        """Everything that history tells."""
        return State.told_by(self.journal().lines)

    def journal(self) -> Journal:
        """The lines of history, as far as they can be read."""
        return history.read_journal(self._folder.read(EVENTS) or b"")

    # writing

    def append(self, lines: Sequence[Line], gone: traces.Erased | None = None) -> None:
        """Add lines to history; with what an erasure takes away, all of it is written anew without that."""
        text = b"".join(line.print() for line in lines)
        if gone:
            journal, content = self.journal(), self._folder.read(EVENTS) or history.HEADER
            kept = history.without(journal.lines, set(gone.ids))
            told = traces.rewritten(content, journal, kept, gone) + text
            stamp = self._folder.write(told, EVENTS)
        else:
            new = self._folder.stamp(EVENTS) is None
            stamp = self._folder.append((history.HEADER if new else b"") + text, EVENTS)
        self._shelf.stamp(EVENTS, stamp)

    def follow(
        self,
        told: Sequence[tuple[Line, list[Step]]],
        *,
        secret: bool = False,
        whose: Mapping[str, str] = NONE,
    ) -> None:
        """Log, queue and audit trail, in this order: the last line of the trail says how far all of them are.

        There is no snapshot of a text that held what must not be kept (`secret`). An erasure knows `whose` the
        entries of the log are.
        """
        now, rows = self._clock(), []
        text = old = beside.read_log(self._folder)
        for line, steps in told:
            erased, as_it_was = set(line.after.get("erase", ())), line.event.action == ADOPTED
            if not as_it_was:
                text = beside.logged(text, beside.log_entries(line, steps), now.date().isoformat())
            if erased:
                text = beside.unlogged(text, [step for step in steps if step.id in erased], whose)
            if any(put.get("moved") for put in line.after.get("puts", {}).values()):
                text = "".join(self._with_ids(text.splitlines(keepends=True)))
            kept = bool(steps) and not erased and not as_it_was and not secret
            rows.append(beside.audit_lines(line, steps, snapshot=kept))
        if text != old:
            if old and not any(line.after.get("erase") for line, _ in told):
                beside.snapshot(self._folder, beside.token_of(told[-1][0]), [LOG])
            self._shelf.stamp(LOG, self._folder.write(text.encode(), LOG))
        self._trace("log")
        for line, steps in told:
            for step in steps if line.event.action != ADOPTED else ():
                beside.file_in_queue(self._folder, step, now)
        self._trace("queue")
        self._folder.append(b"".join(rows), AUDIT, durable=False)
        self._trace("audited")
        beside.thin_out(self._folder, self._keep)

    def _with_ids(self, entries: Iterable[str]) -> list[str]:
        """Lines of the log, each entry under the id that its memory has now."""
        lines = self.journal().lines
        return beside.with_ids(entries, beside.owners(lines), State.told_by(lines).numbers["memory"])

    def index(self, lines: Sequence[Line], state: State, head: Head | None, *, anew: bool = False) -> None:
        """Give the index the lines it lacks; one that knows anything else, or is wanted `anew`, is made again.

        `state` is what all lines tell. Without a head it goes on with a chain of its own.
        """
        last = self._shelf.index.events(newest=True, limit=1)
        n = last[0].seq if last else 0
        if n > len(lines) or (n and (anew or lines[n - 1].event.id != last[0].id)):
            self._shelf.renew()
            n = 0
        if n == 0 and lines:
            self._shelf.index.commit(state.whole(lines, head))
        elif n < len(lines):
            earlier = State.told_by(lines[:n])
            earlier.renumbered = False
            follows = [earlier.one(line, head) for line in lines[n:]]
            if earlier.renumbered:  # an index keeps the numbers it gave
                self._shelf.renew()
                follows = [state.whole(lines, head)]
            for change in follows:
                self._shelf.index.commit(change)

    def rewrite(
        self,
        registry: Registry,
        stamp: Stamp | None,
        state: State,
        found: Reading,
        told: list[tuple[Line, list[Step]]],
        *,
        stale: bool = False,
        secret: bool = False,
    ) -> bool:
        """Write what is behind; what a person wrote well stays as it is. False when the registry moved."""
        now = self._clock()
        touched = any(steps for line, steps in told if line.event.action != ADOPTED)
        if touched or found.behind or found.gone or stale:
            lines = self.journal().lines
            text = renewed(registry, state, found, now=now, lines=lines, remarks=not (stale or secret))
            if self._folder.stamp(REGISTRY) != stamp:
                return False
            if text != registry.text:
                if told and not secret:
                    beside.snapshot(self._folder, beside.token_of(told[-1][0]), [REGISTRY])
                self._shelf.stamp(REGISTRY, self._folder.write(text.encode(), REGISTRY))
        if told:
            if erase := [id for line, _ in told for id in line.after.get("erase", ())]:
                gone = traces.erased((), [step for _, steps in told for step in steps], erase)
                beside.drop_snapshots(self._folder, gone.in_snapshot)
            self.follow(told, secret=secret)
        return True

    def write_history(self, lines: Sequence[Line], before: Journal, erased: frozenset[str]) -> None:
        """Write these lines in place of those before; what is erased by it goes from all other files first."""
        torn, raw = set(before.torn), (self._folder.read(EVENTS) or b"").split(b"\n")
        kept = b"".join(line + b"\n" for at, line in enumerate(raw, 1) if at in torn)
        if erased:
            state, numbers = self.state(), history.numbers_of(erased, before.lines)
            steps = [Step(id, print_handle("memory", n), state.memory(id), None) for id, n in numbers.items()]
            gone = traces.erased(before.lines, steps, erased)
            beside.drop_snapshots(self._folder, gone.in_snapshot)
            log, whose = beside.read_log(self._folder), beside.owners(before.lines)
            self._folder.write(beside.unlogged(log, steps, whose).encode(), LOG)
            for step in steps:
                beside.file_in_queue(self._folder, step, self._clock())
        self._folder.write(history.HEADER + b"".join(line.print() for line in lines) + kept, EVENTS)

    def migrate(self) -> None:
        """Bring texts of an older schema to the one of today: each is kept aside first and written whole.

        Whoever is killed on the way leaves a text in the old form or in the new one; the next turn goes on.
        """
        for name in (LOG, REGISTRY):
            content = self._folder.read(name)
            text = beside.read_log(self._folder) if name == LOG else clean(content, name) if content else ""
            if not text or (name == LOG and not text.startswith(FENCE)):
                continue  # a log may have no frontmatter
            new = migrated(text, name)
            if new != text:
                self.keep(text)
                self._trace("kept before migrating")
                self._shelf.stamp(name, self._folder.write(new.encode(), name))
                self._trace("migrated")

    def keep(self, text: str) -> str:
        """Keep a text aside under a name of its own, before anything is made of it; returns the name."""
        name = f"{sha256(text.encode()).hexdigest()[: beside.TOKEN]}.bak"
        self._folder.write(text.encode(), SNAPSHOTS, name)
        return name

    def empty(self) -> str:
        """A registry with nothing in it."""
        return EMPTY.format(date=self._clock().date().isoformat(), body=body_of((), self._clock()))
