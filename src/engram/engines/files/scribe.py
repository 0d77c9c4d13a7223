"""Who writes the files: a line in events.jsonl is the commit, and every other file follows from it."""

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from engram.engines.files import beside, history, reading, traces
from engram.engines.files import check as checks
from engram.engines.files.draft import Draft, draft, spliced
from engram.engines.files.folder import (
    AUDIT,
    EVENTS,
    LOG,
    REGISTRY,
    SNAPSHOTS,
    Folder,
    Stamp,
)
from engram.engines.files.history import Journal, Line, State, Step
from engram.engines.files.index import Shelf
from engram.engines.files.items import Item, print_item
from engram.engines.files.problem import Unreadable
from engram.engines.files.reading import ClaimsOf, Edited, Reading
from engram.engines.files.registry import (
    EMPTY,
    Registry,
    body_of,
    clean,
    read_registry,
)
from engram.errors import Corrupt, EngramError, Unavailable
from engram.model.change import Change, Commit, Finding
from engram.model.codec import Document, encode
from engram.model.hashing import sha256
from engram.model.memory import Memory
from engram.model.record import replace
from engram.model.refs import print_handle

POINTS = ("begun", "appended", "indexed", "kept aside", "registry", "log", "queue", "audited")
"""The named points of a commit, in order: what crash tests kill at. From "appended" on, all of it is kept."""

ADOPTED = "adopted"
"""The event by which a store of another program is taken in: nothing of it is written."""

TRIES = 5
"""How often a registry that somebody edits meanwhile is read anew."""


class Scribe:
    """Applies Changes to the texts of one store, lets its index follow, and takes in what a person edited."""

    def __init__(
        self,
        folder: Folder,
        shelf: Shelf,
        *,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        claims_of: ClaimsOf,
        snapshots: int,
        trace: Callable[[str], None],
    ) -> None:
        self._folder, self._shelf = folder, shelf
        self._clock, self._new_id, self._claims_of = clock, new_id, claims_of
        self._keep, self._trace = snapshots, trace
        # A copied or synced folder is another one: what is written in it goes on with a chain of its own.
        place = f"{os.uname().nodename}\0{os.stat(folder.path).st_ino}"
        self._home = sha256(place.encode()).hexdigest()[:12]

    def check(self, *, repair: bool = False) -> list[Finding]:
        """See `ports.Engine.check`."""
        loose = self._folder.loose(deep=True)
        for each in loose if repair else []:
            os.chmod(each.path, each.wanted)
        findings = [
            Finding("modes", each.sentence, f"Make it private: {each.command}", fixable=True)
            for each in ([] if repair else loose)
        ]
        with self._folder.locked():
            if (behind := self.settle_or_look(force=True)) and not repair:
                findings.append(Finding("behind", behind.message, behind.hint))
            if self._shelf.problem:
                return [*findings, self._shelf.problem.finding()]
            if repair:
                self._mend()
            return [*findings, *self._check_index(repair=repair), *checks.findings(self._view())]

    def _check_index(self, *, repair: bool) -> list[Finding]:
        """What is wrong with the index: it is made anew; with history itself: that stays, and is told."""
        found = self._shelf.index.check()
        derived = [each for each in found if each.code != "history"]
        if repair and derived:
            self._shelf.renew()
            self.settle(force=True)
            found = self._shelf.index.check()
        again = "Make the index anew: engram doctor --fix"
        return [e if e.code == "history" else e._replace(hint=again, fixable=True) for e in found]

    def _view(self) -> checks.View:
        journal, state, registry, now = self._journal(), self._state(), self._registry(), self._clock()
        return checks.View(self._folder, journal, state, registry, reading.read(registry, state, {}, now), now)

    def _mend(self) -> None:
        """Give duplicates and the items of conflict copies ids of their own, write the body anew, and the rest."""
        view = self._view()
        twins = [(item, "") for _, item in view.found.twice]
        twins += [(item, name) for name in checks.copies(self._folder) for item in self._items_of(name)]
        self._part(view, twins)
        view = self._view()
        if checks.drifted(view):
            text = self._renewed(view.registry, view.state, view.found, view.now)
            self._shelf.stamp(REGISTRY, self._folder.write(text.encode(), REGISTRY))
        checks.mend(view)
        self.settle(force=True)

    def _items_of(self, name: str) -> list[Item]:
        """The items of a conflict copy of the registry; of anything else none."""
        if not name.lower().startswith("memory") or name.lower().startswith("memory-log"):
            return []
        try:
            copy = read_registry(clean(self._folder.read(name) or b"", name), name)
            return [copy.item(span, self._clock()) for span in copy.blocks()]
        except (Unreadable, Corrupt):
            return []

    def _part(self, view: checks.View, twins: Sequence[tuple[Item, str]]) -> None:
        """Keep both of two memories that came under one id: the one that came later gets an id of its own."""
        known = {memory.id: memory for memory in view.state.memories()}
        texts = {(memory.handle, memory.text) for memory in known.values()}
        n, edited = view.state.given.get("memory", 0), []
        erased = {name for item, name in twins if view.state.erased(item.memory.id, item.handle)}
        for item, _ in twins:
            if (item.handle, item.memory.text) in texts or view.state.erased(item.memory.id, item.handle):
                continue  # the same memory, and nothing to part; or one that is gone for good
            n += 1
            id = item.memory.id if item.named and item.memory.id not in known else self._new_id()
            known[id] = item.memory
            texts.add((item.handle, item.memory.text))
            edited.append(Edited(None, replace(item.memory, id=id, revision=1), n))
        found = view.found._replace(edited=edited)
        found.behind.update(each.after.id for each in edited)
        found.gone.extend(span for span, _ in view.found.twice)
        stamp = self._folder.stamp(REGISTRY)
        told = [self._take_in(found, view.state, adopted=False)] if edited else []
        if edited or found.gone:
            self._rewrite(view.registry, stamp, view.state, found, told)
        for _, name in twins:
            if name in erased and name and self._folder.stamp(name):
                os.remove(self._folder.at(name))  # what was purged lies nowhere, not even aside
            elif name and self._folder.stamp(name):
                os.replace(self._folder.at(name), self._aside(name))

    def _aside(self, name: str) -> str:
        os.makedirs(self._folder.at(SNAPSHOTS), mode=0o700, exist_ok=True)
        os.chmod(self._folder.at(name), 0o600)
        return self._folder.at(SNAPSHOTS, name)

    # writing

    def commit(self, change: Change) -> Commit:
        """See `ports.Engine.commit`."""
        with self._folder.locked():
            self.settle()
            if self._shelf.problem:
                raise self._shelf.problem.error()
            self._trace("begun")
            told = self._journal().lines if change.erase else []
            done, drafted = self._log(change, history.numbers_of(change.erase, told))
            if drafted is None:
                return done  # a token that was known
            try:
                self._project(drafted)
            except (Unavailable, Corrupt, OSError):
                self._shelf.seen = None  # it is committed: what follows from it is made up for at the next turn
            if done.traces is None:
                return done
            needles = traces.needles(told, drafted.steps, change.erase)
            return done._replace(traces=done.traces + traces.left(self._folder.path, needles, self._state()))

    def _log(self, change: Change, erased: Mapping[str, int]) -> tuple[Commit, Draft | None]:
        """Check the Change, write its line and let the index follow; all or nothing."""
        drafts: list[Draft] = []
        done: Commit | None = None
        size = (self._folder.stamp(EVENTS) or (0, 0, 0))[1]

        def witness(told: Commit, numbers: Mapping[str, int]) -> None:
            nonlocal done
            stamp = self._folder.stamp(REGISTRY)
            drafted = draft(
                *(self._registry(), stamp, told.event, change, numbers),
                home=self._home,
                now=self._clock(),
                erased=erased,
            )
            self._append(drafted.line, set(change.erase))
            drafts.append(drafted)
            done = told
            self._trace("appended")

        try:
            done = self._shelf.index.commit(change, witness)
        except EngramError:
            if done is None:
                raise
            self._shelf.seen = None
            if self._take_back(change, size):
                raise
            # The line stands, so it is committed; the next read lets the index follow.
        self._trace("indexed")
        return done, drafts[0] if drafts else None

    def _take_back(self, change: Change, size: int) -> bool:
        """Take the line away again where the index failed: nobody has seen it, for we hold the lock."""
        if change.erase:
            return False
        try:
            os.truncate(self._folder.at(EVENTS), size)
        except OSError:
            return False
        return True

    def _append(self, line: Line, erase: set[str]) -> None:
        if erase:
            kept = history.without(self._journal().lines, erase)
            stamp = self._folder.write(
                b"".join([history.HEADER, *(each.print() for each in kept), line.print()]), EVENTS
            )
        else:
            new = self._folder.stamp(EVENTS) is None
            stamp = self._folder.append((history.HEADER if new else b"") + line.print(), EVENTS)
        self._shelf.stamp(EVENTS, stamp)

    # what follows from a line

    def _project(self, drafted: Draft) -> None:
        """Bring the other files up to date with one line, by splicing."""
        line, steps = drafted.line, drafted.steps
        if steps:
            text = spliced(drafted, self._clock(), lambda: self._state().memories())
            if self._folder.stamp(REGISTRY) != drafted.stamp:
                self._shelf.seen = None  # somebody edits it: read all of it again
                self.settle()
                return
            if line.after.get("erase"):
                self._folder.sweep()
                beside.drop_snapshots(self._folder)
            else:
                beside.snapshot(self._folder, beside.token_of(line), [REGISTRY])
            self._trace("kept aside")
            self._shelf.stamp(REGISTRY, self._folder.write(text.encode(), REGISTRY))
            self._trace("registry")
        self._follow([(line, steps)])
        self._shelf.mark()

    def _follow(self, told: Sequence[tuple[Line, list[Step]]]) -> None:
        """Log, queue and audit trail, in this order: the last line of the trail says how far all of them are."""
        now, rows = self._clock(), []
        text = old = beside.read_log(self._folder)
        for line, steps in told:
            erased, as_it_was = set(line.after.get("erase", ())), line.event.action == ADOPTED
            if not as_it_was:
                text = beside.logged(text, beside.log_entries(line, steps), now.date().isoformat())
            if erased:
                text = beside.unlogged(text, [step.handle for step in steps if step.id in erased])
            kept = bool(steps) and not erased and not as_it_was
            rows.append(beside.audit_lines(line, steps, snapshot=kept))
        if text != old:
            if old and not any(line.after.get("erase") for line, _ in told):
                beside.snapshot(self._folder, beside.token_of(told[-1][0]), [LOG])
            self._shelf.stamp(LOG, self._folder.write(text.encode(), LOG))
        self._trace("log")
        for line, steps in told:
            for step in steps if line.event.action != ADOPTED else ():
                beside.file_in_queue(self._folder, step, now, erased=step.id in line.after.get("erase", ()))
        self._trace("queue")
        self._folder.append(b"".join(rows), AUDIT, durable=False)
        self._trace("audited")
        beside.thin_out(self._folder, self._keep)

    # bringing up to date

    def settle(self, *, force: bool = False) -> None:
        """Under the lock: let index and files follow from the texts, and take in what a person edited.

        Raises:
            Corrupt: when a schema is unknown.
            Unavailable: when it cannot be written.
        """
        if not force and self._shelf.is_up_to_date():
            return
        for _ in range(TRIES):
            self._shelf.seen, self._shelf.problem = self._folder.fingerprint(), None
            try:
                settled = self._reconcile()
            except Unreadable as error:
                self._shelf.problem, settled = error.problem, True
            except BaseException:
                self._shelf.seen = None
                raise
            if settled:
                self._shelf.mark()
                return
        raise Unavailable("memory.md is being edited.", "Try again when it has been saved; nothing was written.")

    def settle_or_look(self, *, force: bool = False) -> Unavailable | None:
        """Settle; where that cannot be written, let the index tell what history has, and answer why.

        Raises:
            Corrupt: when a schema is unknown.
            Unavailable: when there is no history to look at.
        """
        try:
            self.settle(force=force)
        except Unavailable as error:
            lines, state = self._journal().lines, self._state()
            if not lines:
                raise
            try:
                self._let_index_follow(lines, state)
            except Unavailable:
                self._shelf.make_do()
                self._let_index_follow(lines, state)
            return error
        return None

    def _reconcile(self) -> bool:
        """One attempt to settle; False when the registry moved meanwhile."""
        self._folder.sweep()
        lines = self._journal().lines
        done = beside.last_audited(beside.read_audit(self._folder))
        at = next((n for n, line in enumerate(lines, 1) if line.event.id == done), 0)
        state, told, before = State(), list[tuple[Line, list[Step]]](), dict[str, Document]()
        for line in lines[:at]:
            state.tell(line)
        for line in lines[at:]:
            steps = state.steps(line)
            told.append((line, steps))
            for step in steps:
                before.setdefault(step.id, encode(step.before) if step.before else {})
        self._let_index_follow(lines, state)
        if self._folder.stamp(REGISTRY) is None:
            self._shelf.stamp(REGISTRY, self._folder.write(self._empty().encode(), REGISTRY))
            before |= {id: {} for id in state.documents["memory"]}
        stamp = self._folder.stamp(REGISTRY)
        registry = self._registry()
        dropped = frozenset(step.handle for _, steps in told for step in steps if step.after is None)
        found = reading.read(registry, state, before, self._clock(), dropped)
        found = self._with_logged(found, state)
        adopted = not lines and bool(found.edited)
        if found.edited:
            told.append(self._take_in(found, state, adopted=adopted))
        return self._rewrite(registry, stamp, state, found, told)

    def _with_logged(self, found: Reading, state: State) -> Reading:
        """Items that stand in the log's frontmatter alone are taken in too."""
        text = beside.read_log(self._folder)
        if not text.startswith("---\n"):
            return found
        log = read_registry(text, LOG)
        if not log.blocks():
            return found
        known = State()
        known.given = {"memory": max([state.given.get("memory", 0), *(e.number or 0 for e in found.edited)])}
        more = reading.read(log, known, {}, self._clock())
        ids = {*state.documents["memory"], *(each.after.id for each in found.edited)}
        numbers = {*state.numbers["memory"].values(), *(each.number for each in found.edited)}
        fresh = [each for each in more.edited if each.after.id not in ids and each.number not in numbers]
        found.behind.update(each.after.id for each in fresh)
        found.edited.extend(fresh)
        return found

    def _let_index_follow(self, lines: list[Line], state: State) -> None:
        """Give the index the lines it lacks; one that knows anything else is made anew."""
        last = self._shelf.index.events(newest=True, limit=1)
        n = last[0].seq if last else 0
        head = history.head_of(lines, self._home)
        if n > len(lines) or (n and lines[n - 1].event.id != last[0].id):
            self._shelf.renew()
            n = 0
        if n == 0 and lines:
            self._shelf.index.commit(state.whole(lines, head))
        elif n < len(lines):
            earlier = State()
            for line in lines[:n]:
                earlier.tell(line)
            for line in lines[n:]:
                self._shelf.index.commit(earlier.one(line, head))

    def _take_in(self, found: Reading, state: State, *, adopted: bool) -> tuple[Line, list[Step]]:
        """Make what a person's hand did one event."""
        edited = found.edited
        if adopted:
            edited = [each._replace(after=self._as_held(each)) for each in edited]
        now = self._clock()
        change = reading.change_of(
            edited,
            state,
            self._claims_of,
            now=now,
            batch=self._new_id(),
            salt=self._new_id(),
            action=ADOPTED if adopted else "edited",
        )
        lines: list[Line] = []

        def witness(done: Commit, numbers: Mapping[str, int]) -> None:
            before = {e.before.id: encode(e.before) for e in edited if e.before}
            lines.append(history.line_of(done.event, change, numbers, before, self._home))
            self._append(lines[0], set())

        self._shelf.index.commit(change, witness)
        return lines[0], state.steps(lines[0])

    def _as_held(self, edited: reading.Edited) -> Memory:
        """What another program holds back, with its reason."""
        memory, handle = edited.after, print_handle("memory", edited.number or 0)
        reason = beside.held_for(self._folder, handle) if memory.status == "pending" else ""
        return replace(memory, held_for=reason) if reason else memory

    def _rewrite(
        self,
        registry: Registry,
        stamp: Stamp | None,
        state: State,
        found: Reading,
        told: list[tuple[Line, list[Step]]],
    ) -> bool:
        """Write what is behind; what a person wrote well stays as it is. False when the registry moved."""
        now = self._clock()
        touched = any(steps for line, steps in told if line.event.action != ADOPTED)
        if touched or found.behind or found.gone:
            text = self._renewed(registry, state, found, now)
            if self._folder.stamp(REGISTRY) != stamp:
                return False
            if text != registry.text:
                if told:
                    beside.snapshot(self._folder, beside.token_of(told[-1][0]), [REGISTRY])
                self._shelf.stamp(REGISTRY, self._folder.write(text.encode(), REGISTRY))
        if told:
            if any(line.after.get("erase") for line, _ in told):
                beside.drop_snapshots(self._folder)
            self._follow(told)
        return True

    def _renewed(self, registry: Registry, state: State, found: Reading, now: datetime) -> str:
        """The registry with everything brought up to date: items that are behind, what time changed, the body."""
        changes, added, wanted = {}, [], found.behind | found.aged
        for memory in state.memories():
            span = found.spans.get(memory.id)
            if span and memory.id not in wanted:
                continue
            others = found.others.get(memory.id, ())
            text = print_item(memory, memory.handle, now, registry.style, others)
            if span:
                changes[span] = text
            elif memory.id in found.behind:
                added.append(text)
        changes |= dict.fromkeys(found.gone, "")
        return registry.spliced(changes, added, now.date().isoformat(), body_of(state.memories(), now))

    # small things

    def _registry(self) -> Registry:
        content = self._folder.read(REGISTRY)
        return read_registry(clean(content, REGISTRY) if content is not None else self._empty())

    def _state(self) -> State:
        """Everything that history tells."""
        state = State()
        for line in self._journal().lines:
            state.tell(line)
        return state

    def _journal(self) -> Journal:
        return history.read_journal(self._folder.read(EVENTS) or b"")

    def _empty(self) -> str:
        return EMPTY.format(date=self._clock().date().isoformat(), body=body_of((), self._clock()))
