"""Who writes the files: a line in events.jsonl is the commit, and every other file follows from it."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from engram.engines.files import beside, gaps, history, notices, reading, traces
from engram.engines.files.draft import Draft, draft, spliced
from engram.engines.files.folder import AUDIT, EVENTS, LOG, QUEUE, REGISTRY, TEXTS, Folder
from engram.engines.files.history import Journal, Line, State, Step
from engram.engines.files.index import Shelf
from engram.engines.files.joining import Joined, brought_back, without_purged
from engram.engines.files.mark import advanced
from engram.engines.files.problem import Unreadable
from engram.engines.files.reading import Edited, Reading
from engram.engines.files.registry import Registry, read_registry
from engram.engines.files.texts import Texts
from engram.errors import Corrupt, EngramError, Unavailable
from engram.model.change import Change, Commit, Finding
from engram.model.codec import encode
from engram.model.event import ACKNOWLEDGED, ADOPTED, EDITED
from engram.model.hashing import sha256
from engram.model.items import Item
from engram.model.memory import Memory
from engram.model.record import NONE
from engram.model.refs import print_handle
from engram.ports import Hands

POINTS = ("begun", "appended", "indexed", "kept aside", "registry", "log", "queue", "audited")
"""The named points of a commit, in order: what crash tests kill at. From "appended" on, all of it is kept."""

DOCTOR = "doctor"
"""Who acts when the store is mended."""

TRIES = 5
"""How often a registry that somebody edits meanwhile is read anew."""


class _OnlySealed(Exception):
    """No error: an event was sealed and written, and the index follows later."""


class Scribe:
    """Applies Changes to the texts of one store, lets its index follow, and takes in what a person edited."""

    def __init__(
        self,
        folder: Folder,
        shelf: Shelf,
        *,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        hands: Hands,
        snapshots: int,
        trace: Callable[[str], None],
    ) -> None:
        self._folder, self._shelf = folder, shelf
        self._clock, self._new_id, self._hands, self._trace = clock, new_id, hands, trace
        self.texts = Texts(folder, shelf, clock=clock, snapshots=snapshots, trace=trace)
        # A copied or synced folder is another one: what is written in it goes on with a chain of its own.
        place = f"{os.uname().nodename}\0{os.stat(folder.path).st_ino}"
        self._home = sha256(place.encode()).hexdigest()[:12]

    # writing

    def commit(self, change: Change) -> Commit:
        """See `ports.Engine.commit`."""
        with self._folder.locked():
            self._folder.require_writable()
            self.settle()
            if self._shelf.problem:
                raise self._shelf.problem.error()
            self._trace("begun")
            told = self.texts.journal().lines if change.erase else []
            done, drafted = self._log(change, told)
            if drafted is None:
                return done  # a token that was known
            gone = traces.erased(told, drafted.steps, change.erase)
            try:
                self._project(drafted, gone, beside.owners(told))
            except (Unavailable, Corrupt, OSError):
                self._shelf.seen = None  # it is committed: what follows from it is made up for at the next turn
            return self._with_traces(done, gone) if change.erase else done

    def _with_traces(self, done: Commit, gone: traces.Erased) -> Commit:
        """What a commit did, with what is left of what it erased, and what could not be looked into."""
        unknown = beside.drop_snapshots(self._folder, gone.in_snapshot)
        dark = [f"{name} cannot be looked into: remove it if it may hold what was erased." for name in unknown]
        if done.traces is None:
            return done._replace(places=tuple(dark))
        found, places = traces.left(self._folder, gone, self.texts.journal(), self.texts.state())
        every = dict.fromkeys([*done.places, *places, *dark])
        return done._replace(traces=done.traces + found, places=tuple(every))

    def _log(self, change: Change, past: Sequence[Line]) -> tuple[Commit, Draft | None]:
        """Check the Change, write its line and let the index follow; all or nothing. An erasure knows the past."""
        drafts: list[Draft] = []
        done: Commit | None = None
        size = (self._folder.stamp(EVENTS) or (0, 0, 0))[1]

        def witness(told: Commit, numbers: Mapping[str, int]) -> None:
            nonlocal done
            stamp = self._folder.stamp(REGISTRY)
            drafted = draft(
                self.texts.registry(),
                stamp,
                told.event,
                change,
                numbers,
                home=self._home,
                now=self._clock(),
                erased=history.numbers_of(change.erase, past),
            )
            gone = traces.erased(past, drafted.steps, change.erase) if change.erase else None
            if gone:  # while its words are known: whoever is killed after the line finds snapshots by id alone
                beside.drop_snapshots(self._folder, gone.in_snapshot)
            self.texts.append([drafted.line, *drafted.more], gone)
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
            self._folder.cut(size, EVENTS)
        except Unavailable:
            return False
        return True

    # what follows from a line

    def _project(self, drafted: Draft, gone: traces.Erased, whose: Mapping[str, str]) -> None:
        """Bring the other files up to date with one line, by splicing."""
        line, steps = drafted.line, drafted.steps
        if steps:
            mark = drafted.registry.mark
            events = [line.event] if mark else [each.event for each in self.texts.journal().lines]
            text = spliced(drafted, self._clock(), advanced(mark, events), lambda: self.texts.state().memories())
            settled = self._shelf.seen and self._shelf.seen[TEXTS.index(REGISTRY)]
            if drafted.stamp != settled or self._folder.stamp(REGISTRY) != drafted.stamp:
                self._shelf.seen = None  # somebody edits it: read all of it again
                self.settle()
                return
            if line.after.get("erase"):
                self._folder.sweep()
                beside.drop_snapshots(self._folder, gone.in_snapshot)
            else:
                beside.snapshot(self._folder, beside.token_of(line), [REGISTRY])
            self._trace("kept aside")
            self._shelf.stamp(REGISTRY, self._folder.write(text.encode(), REGISTRY))
            self._trace("registry")
        more = ((each, list[Step]()) for each in drafted.more)
        self.texts.follow([(line, steps), *more], whose=whose)
        self._shelf.mark()

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
                self._shelf.problem, settled = beside.with_way_back(self._folder, error.problem), True
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
            lines, state = self.texts.journal().lines, self.texts.state()
            if not lines:
                self._look(error)
                return error
            try:
                self._index_follows(lines, state)
            except Unavailable:
                self._shelf.make_do()
                self._index_follows(lines, state)
            return error
        return None

    def _look(self, refused: Unavailable) -> None:
        """Let an index of this process tell what another program's registry says: nothing can be written here.

        Raises:
            Corrupt: when it cannot be read.
            Unavailable: the reason given, when there is no registry.
        """
        if self._folder.stamp(REGISTRY) is None:
            raise refused
        try:
            read = reading.read(self.texts.registry(), State(), reading.Base(), self._clock(), self._hands)
            found = self._with_filed(self._with_logged(read, State()), State())
        except Unreadable as error:
            raise beside.with_way_back(self._folder, error.problem).error() from None
        self._shelf.make_do()
        self._shelf.index.commit(self._change_of(self._held(found.edited), State(), ADOPTED, {}, self._new_id()))
        self._shelf.seen = self._folder.fingerprint()

    def _reconcile(self) -> bool:
        """One attempt to settle; False when the registry moved meanwhile."""
        self._folder.sweep()
        self._erase_again()
        journal, audit = self.texts.journal(), beside.read_audit(self._folder)
        lines, gap, at = journal.lines, gaps.lost(journal, audit, met=True), beside.followed(journal.lines, audit)
        state = State.told_by(lines[:at])
        steps = [(line, state.steps(line)) for line in lines[at:]]
        # First of all: where the text cannot be read, history answers. What is lost may be known elsewhere, so
        # that nothing new may take its place in the chain.
        self._index_follows(lines, state, anew=bool(gap))
        self.texts.migrate()
        absent = self._folder.stamp(REGISTRY) is None
        if absent:
            self._shelf.stamp(REGISTRY, self._folder.write(self.texts.empty().encode(), REGISTRY))
            if lines:
                self._folder.append(beside.written_line(self._clock(), "rewrite", None), AUDIT)
                self._tell(notices.written_again())
        stamp = self._folder.stamp(REGISTRY)
        registry = self.texts.registry()
        base = reading.base_of(registry, lines)
        found = reading.read(registry, state, base, self._clock(), self._hands)
        found = self._with_logged(found, state)
        found = found if lines else self._with_filed(found, state)
        kept, by_hand = gaps.parted(found.edited, gap) if lines else (found.edited, [])
        removed = reading.scrubbed(found._replace(edited=by_hand), self._hands) if lines else {}
        if kept or gap:
            steps.append(self.take_in(found._replace(edited=kept), state, adopted=True, gap=gap))
            self._tell(notices.history_lost(gaps.listed(gap), whole=not lines) if gap else None)
        if by_hand:
            steps.append(self.take_in(found._replace(edited=by_hand), state, removed=removed))
        if at == len(lines) and not absent:  # what did not reach it before a crash is no older text
            self._tell(notices.older_text(found.kept))
        self._tell(notices.taken_out(removed, state))
        self._tell(notices.twice(_called(item, state) for _, item in found.twice))
        stale = base.stale or bool(gap)
        return self.texts.rewrite(registry, stamp, state, found, steps, stale=stale, secret=bool(removed))

    def _tell(self, notice: Finding | None) -> None:
        """Keep a notice for whoever asks next."""
        if notice and notice not in self._shelf.notices:
            self._shelf.notices.append(notice)

    def _with_logged(self, found: Reading, state: State) -> Reading:
        """Items that stand in the log's frontmatter alone are taken in too."""
        text = beside.read_log(self._folder)
        if not text.startswith("---\n"):
            return found
        return self._with_fresh(found, read_registry(text, LOG), state)

    def _with_filed(self, found: Reading, state: State) -> Reading:
        """So is what another program keeps in the queue alone, when its store is opened first."""
        return self._with_fresh(found, read_registry(beside.filed_items(self._folder), QUEUE), state)

    def _with_fresh(self, found: Reading, registry: Registry, state: State) -> Reading:
        """Items of another text that are nowhere in the registry."""
        if not registry.blocks():
            return found
        known = State()
        known.given = {"memory": max([state.given.get("memory", 0), *(e.number or 0 for e in found.edited)])}
        more = reading.read(registry, known, reading.Base(), self._clock(), self._hands)
        ids = {*state.documents["memory"], *(each.after.id for each in found.edited)}
        numbers = {*state.numbers["memory"].values(), *(each.number for each in found.edited)}
        numbers |= {each.number for each in more.edited if state.erased(each.after.id, _handle(each))}
        fresh = [each for each in more.edited if each.after.id not in ids and each.number not in numbers]
        found.behind.update(each.after.id for each in fresh)
        found.edited.extend(fresh)
        return found

    def _index_follows(self, lines: list[Line], state: State, *, anew: bool = False) -> None:
        """Give the index the lines it lacks; `anew`, it goes on with a chain of its own."""
        self.texts.index(lines, state, None if anew else history.head_of(lines, self._home), anew=anew)

    def take_in(
        self,
        found: Reading,
        state: State,
        *,
        adopted: bool = False,
        removed: Mapping[str, tuple[str, ...]] = NONE,
        gap: Sequence[gaps.Lost] = (),
        batch: str = "",
    ) -> tuple[Line, list[Step]]:
        """Make one event of what a person's hand did; or, adopted, of what stands there and no event tells."""
        edited = self._held(found.edited) if adopted else found.edited
        kinds = [kind for each in removed.values() for kind in each]
        out = 0 if adopted else sum(each.after.id in found.taken_out for each in edited)
        note = {"taken_out": out, "redacted": kinds, **gaps.note_of(gap)}
        change = self._change_of(edited, state, ADOPTED if adopted else EDITED, note, batch or self._new_id())
        lines: list[Line] = []

        def witness(done: Commit, numbers: Mapping[str, int]) -> None:
            before = {e.before.id: encode(e.before) for e in edited if e.before}
            lines.append(history.line_of(done.event, change, numbers, before, self._home))
            self.texts.append(lines)

        done = self._shelf.index.commit(change, witness)
        self._tell(notices.forgotten(out, done.event.seq))
        if not adopted:
            asked = (each.before for each in edited if each.before and each.before.id in found.promoted)
            self._tell(notices.unasked(asked))
        return lines[0], state.steps(lines[0])

    def replace_history(self, joined: Joined, before: Journal) -> list[str]:
        """Write history with the lines of another copy among ours; what those purged goes from all other files.

        Answers with what got another id by it: an older memory of the copy has theirs. Torn lines of ours go to the
        end, for their place is gone. Whoever is killed before history is written joins the copy again.
        """
        state = self.texts.state()
        self.texts.write_history(joined.lines, before, joined.erased)
        self.settle(force=True)
        after = self.texts.state()
        pairs = [(known.handle, now.handle) for known in state.memories() if (now := after.memory(known.id))]
        return [f"{was} is {now} now: another memory had that id before." for was, now in pairs if was != now]

    def _erase_again(self) -> None:
        """Take out what was purged here or there, and a merge of git brought back with the lines of the other."""
        journal = self.texts.journal()
        if ids := brought_back(journal.lines):
            self.texts.write_history(without_purged(journal.lines, ids), journal, frozenset(ids))
            self._shelf.seen = self._folder.fingerprint()

    def acknowledge(self, gap: Sequence[gaps.Lost]) -> str:
        """Take note of lost events by an event, so that history goes on without them; answers what was done."""
        batch, note = self._new_id(), gaps.note_of(gap)
        change = self._change_of([], self.texts.state(), ACKNOWLEDGED, note, batch, actor=DOCTOR)
        done, drafted = self._log(change, ())
        assert drafted
        self.texts.follow([(drafted.line, [])])
        self._shelf.seen = None
        return f"History goes on without what is lost: {gaps.listed(gap)}. Event {done.event.seq} says so."

    def _change_of(
        self,
        edited: list[Edited],
        state: State,
        action: str,
        note: Mapping[str, object],
        batch: str,
        *,
        actor: str = "file",
    ) -> Change:
        change = self._hands.change(
            [(each.before, each.after) for each in edited],
            state.claims,
            action=action,
            actor=actor,
            now=self._clock(),
            batch=batch,
            salt=self._new_id(),
            note=note,
        )
        return change._replace(numbers={each.after.id: each.number for each in edited if each.number})

    def _held(self, edited: list[Edited]) -> list[Edited]:
        return [each._replace(after=self._as_held(each)) for each in edited]

    def renumber(self, wanted: Mapping[str, int], state: State, batch: str) -> list[tuple[Line, list[Step]]]:
        """Give memories other numbers, by one event if there are any; answers with its line.

        An index keeps the numbers it gave, so it is made anew from the text.
        """
        memories = [memory for id in wanted if (memory := state.memory(id))]
        if not memories:
            return []
        lines: list[Line] = []
        edited = [Edited(memory, memory) for memory in memories]
        note = {"renumbered": [memory.handle for memory in memories]}
        change = self._change_of(edited, state, EDITED, note, batch)

        def witness(done: Commit, numbers: Mapping[str, int]) -> None:
            before = {memory.id: encode(memory) for memory in memories}
            line = history.line_of(done.event, change, {**numbers, **wanted}, before, self._home)
            for id in wanted:
                line.after["puts"][id]["moved"] = True
            self.texts.append([line])
            lines.append(line)
            raise _OnlySealed

        with suppress(_OnlySealed):
            self._shelf.index.commit(change, witness)
        self._index_follows(self.texts.journal().lines, self.texts.state())
        return [(line, state.steps(line)) for line in lines]

    def _as_held(self, edited: reading.Edited) -> Memory:
        """The memory, held for the reason that another program gives where it waits there."""
        memory = edited.after
        if memory.status != "pending":
            return memory
        return self._hands.held(memory, beside.reason_of(self._folder, _handle(edited)))


def _called(item: Item, state: State) -> str:
    """What an item is called that may say its uid alone."""
    n = state.numbers["memory"].get(item.memory.id)
    return item.handle or (print_handle("memory", n) if n else item.memory.id)


def _handle(edited: Edited) -> str:
    """What a memory is called that gets a certain number."""
    return print_handle("memory", edited.number or 0)
