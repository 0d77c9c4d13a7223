"""Who writes the files: a line in events.jsonl is the commit, and every other file follows from it."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime

from engram.engines.files import beside, gaps, history, notices, reading, traces
from engram.engines.files.draft import Draft, draft, spliced
from engram.engines.files.folder import AUDIT, EVENTS, LOG, REGISTRY, SNAPSHOTS, TEXTS, Folder, Stamp
from engram.engines.files.history import Journal, Line, State, Step
from engram.engines.files.index import Shelf
from engram.engines.files.joining import Joined, brought_back, without_purged
from engram.engines.files.mark import advanced
from engram.engines.files.problem import Unreadable
from engram.engines.files.reading import ClaimsOf, Edited, KindOf, Reading, Scrub
from engram.engines.files.registry import (
    EMPTY,
    FENCE,
    Registry,
    body_of,
    clean,
    migrated,
    read_registry,
    with_remarks,
)
from engram.errors import Corrupt, EngramError, Unavailable
from engram.model.change import Change, Commit, Finding
from engram.model.codec import encode
from engram.model.event import ACKNOWLEDGED, ADOPTED, EDITED
from engram.model.hashing import sha256
from engram.model.items import print_item
from engram.model.memory import Memory
from engram.model.record import NONE, replace
from engram.model.refs import print_handle

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
        claims_of: ClaimsOf,
        scrub: Scrub,
        kind_of: KindOf,
        snapshots: int,
        trace: Callable[[str], None],
    ) -> None:
        self._folder, self._shelf = folder, shelf
        self._clock, self._new_id, self._claims_of = clock, new_id, claims_of
        self._scrub, self._kind_of = scrub, kind_of
        self._keep, self._trace = snapshots, trace
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
            told = self.journal().lines if change.erase else []
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
        found, places = traces.left(self._folder, gone, self.journal(), self.state())
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
                *(self.registry(), stamp, told.event, change, numbers),
                home=self._home,
                now=self._clock(),
                erased=history.numbers_of(change.erase, past),
            )
            gone = traces.erased(past, drafted.steps, change.erase) if change.erase else None
            if gone:  # while its words are known: whoever is killed after the line finds snapshots by id alone
                beside.drop_snapshots(self._folder, gone.in_snapshot)
            self._append([drafted.line, *drafted.more], gone)
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

    def _append(self, lines: Sequence[Line], gone: traces.Erased | None = None) -> None:
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

    # what follows from a line

    def _project(self, drafted: Draft, gone: traces.Erased, whose: Mapping[str, str]) -> None:
        """Bring the other files up to date with one line, by splicing."""
        line, steps = drafted.line, drafted.steps
        if steps:
            mark = drafted.registry.mark
            events = [line.event] if mark else [each.event for each in self.journal().lines]
            text = spliced(drafted, self._clock(), advanced(mark, events), lambda: self.state().memories())
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
        self._follow([(line, steps), *more], whose=whose)
        self._shelf.mark()

    def _follow(
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
            lines, state = self.journal().lines, self.state()
            if not lines:
                self._look(error)
                return error
            try:
                self._let_index_follow(lines, state)
            except Unavailable:
                self._shelf.make_do()
                self._let_index_follow(lines, state)
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
            read = reading.read(self.registry(), State(), reading.Base(), self._clock(), self._kind_of)
            found = self._with_logged(read, State())
        except Unreadable as error:
            raise error.problem.error() from None
        self._shelf.make_do()
        self._shelf.index.commit(self._change_of(self._held(found.edited), State(), ADOPTED, {}, self._new_id()))
        self._shelf.seen = self._folder.fingerprint()

    def _reconcile(self) -> bool:
        """One attempt to settle; False when the registry moved meanwhile."""
        self._folder.sweep()
        self._erase_again()
        journal, audit = self.journal(), beside.read_audit(self._folder)
        lines, gap, at = journal.lines, gaps.lost(journal, audit, met=True), beside.followed(journal.lines, audit)
        state = State.told_by(lines[:at])
        steps = [(line, state.steps(line)) for line in lines[at:]]
        # First of all: where the text cannot be read, history answers. What is lost may be known elsewhere, so
        # that nothing new may take its place in the chain.
        self._let_index_follow(lines, state, anew=bool(gap))
        self._migrate()
        absent = self._folder.stamp(REGISTRY) is None
        if absent:
            self._shelf.stamp(REGISTRY, self._folder.write(self._empty().encode(), REGISTRY))
            if lines:
                self._folder.append(beside.written_line(self._clock(), "rewrite", None), AUDIT)
                self._tell(notices.written_again())
        stamp = self._folder.stamp(REGISTRY)
        registry = self.registry()
        base = reading.base_of(registry, lines)
        found = reading.read(registry, state, base, self._clock(), self._kind_of)
        found = self._with_logged(found, state)
        kept, by_hand = gaps.parted(found.edited, gap) if lines else (found.edited, [])
        removed = reading.scrubbed(found._replace(edited=by_hand), self._scrub) if lines else {}
        if kept or gap:
            steps.append(self.take_in(found._replace(edited=kept), state, adopted=True, gap=gap))
            self._tell(notices.history_lost(gaps.listed(gap), whole=not lines) if gap else None)
        if by_hand:
            steps.append(self.take_in(found._replace(edited=by_hand), state, removed=removed))
        if at == len(lines) and not absent:  # what did not reach it before a crash is no older text
            self._tell(notices.older_text(found.kept))
        self._tell(notices.taken_out(removed, state))
        stale = base.stale or bool(gap)
        return self.rewrite(registry, stamp, state, found, steps, stale=stale, secret=bool(removed))

    def _tell(self, notice: Finding | None) -> None:
        """Let whoever asks next know."""
        if notice and notice not in self._shelf.notices:
            self._shelf.notices.append(notice)

    def _migrate(self) -> None:
        """Bring texts of an older schema to the one of today: each is kept aside first and written whole.

        Whoever is killed on the way leaves a text in the old form or in the new one; the next turn goes on.
        """
        for name in (LOG, REGISTRY):
            content = self._folder.read(name)
            text = clean(content, name) if content else ""
            if not text or (name == LOG and not text.startswith(FENCE)):
                continue  # a log may have no frontmatter
            new = migrated(text, name)
            if new != text:
                self.keep_text(text)
                self._trace("kept before migrating")
                self._shelf.stamp(name, self._folder.write(new.encode(), name))
                self._trace("migrated")

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
        more = reading.read(log, known, reading.Base(), self._clock(), self._kind_of)
        ids = {*state.documents["memory"], *(each.after.id for each in found.edited)}
        numbers = {*state.numbers["memory"].values(), *(each.number for each in found.edited)}
        fresh = [each for each in more.edited if each.after.id not in ids and each.number not in numbers]
        found.behind.update(each.after.id for each in fresh)
        found.edited.extend(fresh)
        return found

    def _let_index_follow(self, lines: list[Line], state: State, *, anew: bool = False) -> None:
        """Give the index the lines it lacks; one that knows anything else is made anew.

        With `anew` it goes on with a chain of its own.
        """
        last = self._shelf.index.events(newest=True, limit=1)
        n = last[0].seq if last else 0
        head = None if anew else history.head_of(lines, self._home)
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
            self._append(lines)

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
        state = self.state()
        self._write_history(joined.lines, before, joined.erased)
        self.settle(force=True)
        after = self.state()
        pairs = [(known.handle, now.handle) for known in state.memories() if (now := after.memory(known.id))]
        return [f"{was} is {now} now: another memory had that id before." for was, now in pairs if was != now]

    def _write_history(self, lines: Sequence[Line], before: Journal, erased: frozenset[str]) -> None:
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

    def _erase_again(self) -> None:
        """Take out what was purged here or there, and a merge of git brought back with the lines of the other."""
        journal = self.journal()
        if ids := brought_back(journal.lines):
            self._write_history(without_purged(journal.lines, ids), journal, frozenset(ids))
            self._shelf.seen = self._folder.fingerprint()

    def acknowledge(self, gap: Sequence[gaps.Lost]) -> str:
        """Take note of lost events by an event, so that history goes on without them; answers what was done."""
        batch, note = self._new_id(), gaps.note_of(gap)
        change = self._change_of([], self.state(), ACKNOWLEDGED, note, batch, actor=DOCTOR)
        done, drafted = self._log(change, ())
        assert drafted
        self._follow([(drafted.line, [])])
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
        return reading.change_of(
            edited,
            state,
            self._claims_of,
            now=self._clock(),
            batch=batch,
            salt=self._new_id(),
            action=action,
            actor=actor,
            note={name: value for name, value in note.items() if value},
        )

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
        edited = [Edited(memory, replace(memory, revision=memory.revision + 1)) for memory in memories]
        note = {"renumbered": [memory.handle for memory in memories]}
        change = self._change_of(edited, state, EDITED, note, batch)

        def witness(done: Commit, numbers: Mapping[str, int]) -> None:
            before = {memory.id: encode(memory) for memory in memories}
            line = history.line_of(done.event, change, {**numbers, **wanted}, before, self._home)
            for id in wanted:
                line.after["puts"][id]["moved"] = True
            self._append([line])
            lines.append(line)
            raise _OnlySealed

        with suppress(_OnlySealed):
            self._shelf.index.commit(change, witness)
        self._let_index_follow(self.journal().lines, self.state())
        return [(line, state.steps(line)) for line in lines]

    def _as_held(self, edited: reading.Edited) -> Memory:
        """What another program holds back, with its reason."""
        memory, handle = edited.after, print_handle("memory", edited.number or 0)
        reason = beside.held_for(self._folder, handle) if memory.status == "pending" else ""
        return replace(memory, held_for=reason) if reason else memory

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
            text = self.renewed(registry, state, found, now, remarks=not (stale or secret))
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
            self._follow(told, secret=secret)
        return True

    def renewed(
        self, registry: Registry, state: State, found: Reading, now: datetime, *, remarks: bool = False
    ) -> str:
        """The registry with everything brought up to date: items that are behind, what time changed, the body.

        With `remarks`, what somebody wrote into the body stays in it.
        """
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
        mark = advanced({}, (line.event for line in self.journal().lines))
        date, body = now.date().isoformat(), body_of(state.memories(), now)
        if remarks:
            known = [*state.memories(), *(each.before for each in found.edited if each.before)]
            body = with_remarks(body, registry.body, known)
        return registry.spliced(changes, added, date=date, mark=mark, body=body)

    # small things

    def keep_text(self, text: str) -> str:
        """Keep a text aside under a name of its own, before anything is made of it; returns the name."""
        name = f"{sha256(text.encode()).hexdigest()[: beside.TOKEN]}.bak"
        self._folder.write(text.encode(), SNAPSHOTS, name)
        return name

    def registry(self) -> Registry:
        """The registry as it stands; an empty one where there is none.

        Raises:
            Unreadable: when it makes no sense.
            Corrupt: when its schema is unknown.
        """
        content = self._folder.read(REGISTRY)
        return read_registry(clean(content, REGISTRY) if content is not None else self._empty())

    def state(self) -> State:
        """Everything that history tells."""
        return State.told_by(self.journal().lines)

    def journal(self) -> Journal:
        """The lines of history, as far as they can be read."""
        return history.read_journal(self._folder.read(EVENTS) or b"")

    def _empty(self) -> str:
        return EMPTY.format(date=self._clock().date().isoformat(), body=body_of((), self._clock()))
