"""Checking and repairing the files: reports what does not fit, and takes in what merges and sync tools left."""

import os
from collections.abc import Callable, Sequence
from datetime import datetime

from engram.engines.files import beside, gaps, notices, reading
from engram.engines.files import check as checks
from engram.engines.files.check import count
from engram.engines.files.draft import renewed
from engram.engines.files.folder import AUDIT, EVENTS, LOG, REGISTRY, SNAPSHOTS, Folder
from engram.engines.files.history import Line, State, read_journal
from engram.engines.files.index import Shelf
from engram.engines.files.joining import Side, fresh, join
from engram.engines.files.parting import Twin, part
from engram.engines.files.problem import Unreadable
from engram.engines.files.registry import clean, read_registry, sides, unjoined
from engram.engines.files.scribe import Scribe
from engram.errors import Corrupt
from engram.model.change import Drifted, Finding
from engram.model.hashing import sha256
from engram.model.record import replace
from engram.model.refs import handle_number
from engram.model.scope import GLOBAL
from engram.ports import Hands

_THEIRS = "memory-conflict.md"
"""Where the other side of a merge lies while the first is taken in: named as a sync tool would."""


class Mender:
    """Checks the texts of one store and brings them in order; whatever changes a memory, the scribe writes."""

    def __init__(
        self,
        scribe: Scribe,
        folder: Folder,
        shelf: Shelf,
        *,
        clock: Callable[[], datetime],
        new_id: Callable[[], str],
        hands: Hands,
        merged: Callable[[], Sequence[Side]],
    ) -> None:
        self._scribe, self._texts, self._folder, self._shelf = scribe, scribe.texts, folder, shelf
        self._clock, self._new_id, self._hands, self._merged = clock, new_id, hands, merged

    def check(self, *, repair: bool = False) -> list[Finding]:
        """See `ports.Engine.check`."""
        findings = self.modes(repair=repair)
        with self._folder.locked():
            marks = checks.marked(self._folder)
            if repair and marks and marks.mend:
                findings.append(checks.note("log", marks.mend()))
            behind = self._scribe.settle_or_look(force=True)
            if behind:
                severity = "error" if os.access(self._folder.path, os.W_OK) else "warning"
                findings.append(Finding("behind", behind.message, behind.hint, severity=severity))
            if behind and not self._texts.journal().lines:
                return findings
            if repair and self._shelf.problem:
                findings += self._untangle()
            if problem := self._shelf.problem:
                return [*findings, marks.finding if marks and problem.name == LOG else problem.finding()]
            if repair:
                findings += self._mend()
            else:
                findings += self._left_out()
            findings += self._check_index(repair=repair)
            view = self._view()
            findings += checks.findings(view)
            self._drop_notices("duplicate")
            findings += notices.by_hand(view.journal.lines, view.state, view.now)
            return [*findings, *self._secrets(view.state)]

    def pages(self, *, write: bool = False) -> list[Drifted]:
        """See `ports.Paged.pages`: the body of the registry, which follows from its items."""
        with self._folder.locked():
            behind = self._scribe.settle_or_look(force=True)
            if behind and write:
                raise behind
            if self._shelf.problem:
                raise self._shelf.problem.error()
            view = self._view()
            if behind or not checks.drifted(view):
                return []
            text = _renewed(view)
            if write:
                self._write_body(view, text)
            return [Drifted(self._folder.at(REGISTRY), view.registry.text, text)]

    # looking

    def _view(self) -> checks.View:
        journal, state, registry = self._texts.journal(), self._texts.state(), self._texts.registry()
        base, now = reading.base_of(registry, journal.lines), self._clock()
        found = reading.read(registry, state, base, now, self._hands)
        return checks.View(self._folder, journal, state, registry, found, now)

    def modes(self, *, repair: bool = False) -> list[Finding]:
        """What others may open; with `repair` it is private afterwards."""
        loose = self._folder.loose()
        if not repair:
            wanted = "Make it private: {}  (or: engram doctor --fix)"
            return [Finding("modes", e.sentence, wanted.format(e.command), fixable=True) for e in loose]
        for each in loose:
            os.chmod(each.path, each.wanted)
        return [checks.note("modes", f"{each.path} is private now (mode {each.wanted:04o}).") for each in loose]

    def _check_index(self, *, repair: bool) -> list[Finding]:
        """What is wrong with the index: it is made anew. Its history is that of the text, and told of the text."""
        found = self._wrong_in_index()
        if not (repair and found):
            again = "Make the index anew: engram doctor --fix"
            return [each._replace(hint=again, fixable=True) for each in found]
        self._shelf.renew()
        self._scribe.settle(force=True)
        return [checks.note("index", "The index was made anew."), *self._wrong_in_index()]

    def _wrong_in_index(self) -> list[Finding]:
        found, journal = self._shelf.index.check(), self._texts.journal()
        known = bool(journal.torn or gaps.missing_links(journal.lines)) or any(checks.broken(journal))
        return [each for each in found if not (known and each.code in ("history", "records"))]

    def _secrets(self, state: State) -> list[Finding]:
        """What came with a store of another program and should not be kept: it is not ours to take out unasked."""
        suspects = [replace(memory, scope=GLOBAL) for memory in state.memories() if memory.forgotten_at is None]
        found = [(memory.handle, kinds) for memory in suspects if (kinds := self._hands.secrets(memory))]
        return [notices.secret(handle, kinds) for handle, kinds in found]

    # mending

    def _untangle(self) -> list[Finding]:
        """Take both sides of a merge in memory.md in, one after the other, and part items it made one of."""
        text = clean(self._folder.read(REGISTRY) or b"", REGISTRY)
        try:
            texts = [unjoined(side) for side in sides(text) or (text,)]
        except (Unreadable, Corrupt):
            return []
        if texts == [text]:
            return []
        aside = self._texts.keep(text)
        self._folder.write(texts[-1].encode(), _THEIRS)  # whoever is killed leaves a copy, which is joined later
        for each in texts:  # each is held against what it was made from, so neither takes away what the other has
            self._folder.write(each.encode(), REGISTRY)
            self._scribe.settle(force=True)
        self._folder.remove(_THEIRS)
        self._drop_notices("older text")
        purged = self._names_purged(texts)
        if secret := purged or any(each.code == "secret" for each in self._shelf.notices):
            self._folder.remove(SNAPSHOTS, aside)
        return [notices.untangled(kept=not secret), *self._worded_twice(texts)]

    def _names_purged(self, texts: Sequence[str]) -> bool:
        """Whether one of these texts still has what was purged."""
        state = self._texts.state()
        names = {name for text in texts for name in read_registry(text).names()}
        return any(state.erased(name, name) for name in names)

    def _worded_twice(self, texts: Sequence[str]) -> list[Finding]:
        """Which memories the sides of a merge word differently: one wording counts, and both are told."""
        said: dict[str, set[str]] = {}
        for registry in map(read_registry, texts):
            for span in registry.blocks():
                memory = registry.item(span, self._clock()).memory
                said.setdefault(memory.id, set()).add(memory.text)
        return [
            notices.worded_twice(memory.handle)
            for memory in self._texts.state().memories()
            if len(said.get(memory.id, ())) > 1
        ]

    def _mend(self) -> list[Finding]:
        """Give duplicates and the items of conflict copies ids of their own, write the body anew, and the rest."""
        notes = self._take_up() + self._join()
        view = self._view()
        twins = [Twin(item) for _, item in view.found.twice]
        twins += [twin for name in checks.copies(self._folder) for twin in self._twins_in(name, view.journal.lines)]
        notes += self._part(view, twins)
        view = self._view()
        if checks.drifted(view):
            text = _renewed(view)
            notes.append(checks.note("body", self._write_body(view, text)))
        notes += checks.mend(view)
        if gap := gaps.lost(self._texts.journal(), beside.read_audit(self._folder)):
            notes.append(checks.note("history", self._scribe.acknowledge(gap)))
        self._scribe.settle(force=True)
        return notes

    def _join(self) -> list[Finding]:
        """Take the lines that only a copy of history has in among ours, where the chains allow it."""
        names = [name for name in checks.copies(self._folder) if checks.target_of(name) == EVENTS]
        notes = [note for name in names for note in self._join_history(name)]
        self._drop_notices("older text")
        return notes

    def _join_history(self, name: str) -> list[Finding]:
        try:
            theirs, journal = read_journal(self._folder.read(name) or b""), self._texts.journal()
        except Corrupt:
            return []  # of a form that nobody knows here: a check tells it
        joined = join(journal.lines, theirs)
        if joined.reason:
            return []
        moved = self._scribe.replace_history(joined, journal) if joined.came else []
        if theirs.torn:
            kept = f"it has torn lines, and is .bak/{self._folder.put_aside(name)}"
        else:
            kept = "it is gone"
            self._folder.remove(name)
        told = f"{count(joined.came, 'line')} of {name} went into events.jsonl; {kept}."
        return [checks.note("copy", told), *(checks.note("duplicate", each) for each in moved)]

    def _drop_notices(self, code: str) -> None:
        """Drop notices of this code: each side of a merge is older than both, and a finding tells its line too."""
        self._shelf.notices[:] = [each for each in self._shelf.notices if each.code != code]

    def _left_out(self) -> list[Finding]:
        """What a merge of git left out of this store: the other side has it, and nothing here tells of it."""
        return [
            Finding(
                "merge",
                f"The merge of {side.commit[:8]} left out {count(n, 'memory', 'memories')} of the other side.",
                "Take it in: engram doctor --fix. What should go, forget then: engram forget ID.",
                severity="warning",
                fixable=True,
            )
            for side in self._merged()
            if (n := len(self._unknown_of(side)))
        ]

    def _unknown_of(self, side: Side) -> set[str]:
        """The memories of another side that this store has never heard of."""
        journal, state = self._texts.journal(), self._texts.state()
        try:
            theirs = read_journal(side.files.get(EVENTS, b"")).lines
            registry = read_registry(clean(side.files.get(REGISTRY, b""), REGISTRY))
        except (Unreadable, Corrupt):
            return set()
        known = {id for line in journal.lines for id in (*line.memories, *line.event.subjects)}
        told = {id for line in fresh(journal.lines, theirs) for id, put in line.memories.items() if put}
        told |= {name for name in registry.names() if handle_number("memory", name) is None}
        return {id for id in told if id and id not in known and not state.erased(id, "")}

    def _take_up(self) -> list[Finding]:
        """Put the other side of a merge beside our files, as a sync tool would, for it is joined like that."""
        notes = []
        for side in self._merged():
            if unknown := self._unknown_of(side):
                for name in (EVENTS, REGISTRY):
                    stem, ending = os.path.splitext(name)
                    self._folder.write(side.files.get(name, b""), f"{stem}-conflict-{side.commit[:8]}{ending}")
                what = count(len(unknown), "memory", "memories")
                notes.append(
                    checks.note("merge", f"{what} of {side.commit[:8]}, which the merge left out, came back.")
                )
        return notes

    def _write_body(self, view: checks.View, text: str) -> str:
        """Write the registry with its body made anew; what stood there is kept aside."""
        token = sha256(view.registry.text.encode()).hexdigest()[: beside.TOKEN]
        beside.snapshot(self._folder, token, [REGISTRY])
        self._shelf.stamp(REGISTRY, self._folder.write(text.encode(), REGISTRY))
        self._folder.append(beside.written_line(view.now, "regenerate", token), AUDIT)
        self._shelf.mark()
        return f"The body of memory.md was made anew; what stood there is .bak/{token}.bak."

    def _twins_in(self, name: str, lines: list[Line]) -> list[Twin]:
        """The items of a conflict copy of the registry or the log; of anything else none."""
        if checks.target_of(name) not in (REGISTRY, LOG):
            return []
        try:
            copy = read_registry(clean(self._folder.read(name) or b"", name), name)
            base, now = reading.base_of(copy, lines), self._clock()
            found = (reading.as_told(copy.item(span, now), self._hands, now) for span in copy.blocks())
            return [Twin(item, name, base) for item in found]
        except (Unreadable, Corrupt):
            return []

    def _part(self, view: checks.View, twins: Sequence[Twin]) -> list[Finding]:
        """Keep both of two memories that came under one id: the newer one gets an id of its own."""
        parting = part(twins, view.state, self._hands, self._new_id)
        batch = self._new_id()  # one undo takes back all of it
        told = self._scribe.renumber(parting.renumbered, view.state, batch)
        found = view.found._replace(edited=parting.edited)
        removed = reading.scrubbed(found, self._hands)
        found.behind.update(each.after.id for each in parting.edited)
        found.behind.update(parting.renumbered)
        found.others.update(parting.others)
        found.gone.extend(span for span, _ in view.found.twice)
        stamp, state = self._folder.stamp(REGISTRY), self._texts.state()
        told += [self._scribe.take_in(found, state, batch=batch)] if found.edited else []
        if found.behind or found.gone:
            self._texts.rewrite(view.registry, stamp, state, found, told, secret=bool(removed))
        purged = {t.name for t in twins if view.state.erased(t.item.memory.id, t.item.handle)}
        names = dict.fromkeys(twin.name for twin in twins if twin.name)
        put_away = [self._put_away(name, purged=name in purged, secret=bool(removed)) for name in names]
        return [*parting.notes, *(note for note in put_away if note)]

    def _put_away(self, name: str, *, purged: bool, secret: bool) -> Finding | None:
        """Put a copy aside whose items were taken in. What was purged or taken out lies nowhere, not even aside."""
        if purged or secret:
            self._folder.remove(name)
            held = "told of what was purged" if purged else "held what must not be kept"
            return checks.note("copy", f"{name} {held}, and is gone.")
        if checks.target_of(name) == LOG:
            return None  # it is put aside when its entries are joined
        return checks.note("copy", f"{name} was taken in; all of it is .bak/{self._folder.put_aside(name)}.")


def _renewed(view: checks.View) -> str:
    return renewed(view.registry, view.state, view.found, now=view.now, lines=view.journal.lines)
