"""Reviewing at a terminal, one memory after the other: approve, keep both, edit, reject, merge, skip, undo."""

import difflib
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from engram.errors import Conflict, EngramError, Invalid, Unconfirmed
from engram.model.answers import Changed, UnderReview
from engram.model.memory import Memory
from engram.service import Engram
from engram.surfaces.render.answers import beside, besides_text, why_it_waits
from engram.surfaces.render.paper import Paper, ago, at_hand, cut, plain

KEYS = {
    "a": "approve",
    "b": "keep both",
    "e": "edit, then approve",
    "x": "reject",
    "m": "merge",
    "s": "skip",
    "u": "undo",
    "q": "quit",
    "?": "help",
}
"""What may be typed, each with Enter; only what fits is offered."""

WORDS = {
    "approve": "a",
    "both": "b",
    "edit": "e",
    "reject": "x",
    "merge": "m",
    "skip": "s",
    "undo": "u",
    "quit": "q",
}

Ask = Callable[[str], str]
Say = Callable[[str], None]


def walk(engram: Engram, *, scope: str = "", ask: Ask = input, say: Say = print) -> int:
    """Show what waits, oldest first, and do as the person says; returns the exit code.

    A curated memory is approved only by typing its handle: a reflex is no confirmation.
    """
    return _Walk(engram.confirming_by("terminal"), scope, ask, say).run()


def told(under_review: UnderReview, now: datetime, paper: Paper) -> Iterator[str]:
    """A memory that waits, beside everything a reviewer compares it with, in lines."""
    memory = under_review.memory
    facts = (
        f"{memory.kind} · {memory.scope} · {paper.voice(memory)}, {memory.source} · {ago(memory.created_at, now)}"
    )
    yield f"{paper.bold(memory.handle)}  {paper.dim(plain(facts))}"
    yield from (f"  {plain(line)}" for line in memory.text.splitlines())
    yield from (f"  {line}" for line in besides_text(memory))
    yield paper.dim(f"  Why it waits: {why_it_waits(under_review)}.")
    if old := under_review.amends:
        yield f"  It would change {paper.bold(old.handle)}:"
        was, becomes = ("\n".join((one.text, *besides_text(one))) for one in (old, memory))
        yield from differences(was, becomes, paper)
    for word, other in beside(under_review):
        yield f"  {word} {paper.bold(other.handle)}:"
        yield from differences(other.text, memory.text, paper)
    for other in under_review.near:
        also = ", and waits too" if other.waiting else ""
        yield f"  Nearly the same{also}: {paper.bold(other.handle)}"
        yield from differences(other.text, memory.text, paper)


def compared(engram: Engram, under_review: UnderReview) -> UnderReview:
    """The same with what says nearly the same: looked for when somebody looks at it."""
    return next(iter(engram.review(memory=(under_review.memory.id,)).candidates), under_review)


def differences(old: str, new: str, paper: Paper) -> Iterator[str]:
    """The lines that go and those that come."""
    for line in difflib.ndiff(old.splitlines(), new.splitlines()):
        if line[0] in "+-":
            yield f"    {(paper.good if line[0] == '+' else paper.bad)(plain(line))}"


class _Walk:
    def __init__(self, engram: Engram, scope: str, ask: Ask, say: Say) -> None:
        self._engram, self._scope, self._ask, self._say = engram, scope, ask, say
        self._skipped: set[str] = set()
        self._decided: list[int] = []  # the events of this walk, so that undo takes back nothing else
        self._paper = at_hand(view=engram.view)

    def run(self) -> int:
        try:
            while (under_review := self._next()) is not None:
                self._show(under_review)
                if not self._decide(under_review):
                    break
            else:
                self._say("Nothing else waits." if self._decided or self._skipped else "Nothing waits for review.")
        except EOFError:
            self._say("")
        self._say(f"{len(self._decided)} decided, {len(self._skipped)} skipped.")
        return 0

    def _next(self) -> UnderReview | None:
        after = None
        while True:
            page = self._engram.review(scope=self._scope, after=after)
            for under_review in page.candidates:
                if under_review.memory.id not in self._skipped:
                    return under_review
            if (after := page.next) is None:
                return None

    def _show(self, under_review: UnderReview) -> None:
        self._say("")
        for line in told(compared(self._engram, under_review), self._engram.call().now, self._paper):
            self._say(line)

    def _decide(self, under_review: UnderReview) -> bool:
        """One answer for one memory; False ends the walk."""
        offered = self._offered(under_review)
        while True:
            said = self._ask(f"[{'/'.join(offered)}] ").strip().lower()
            key = WORDS.get(said, said)
            if key == "q":
                return False
            acts = {"a": self._approve, "b": self._keep, "e": self._edit, "x": self._reject, "m": self._merge}
            act = acts.get(key)
            try:
                if key == "s":
                    self._skipped.add(under_review.memory.id)
                    return True
                if key == "u" and self._undo():
                    return True
                if act is None:
                    if said and key not in KEYS:
                        self._say(f"There is no key {said!r}.")
                    told = " · ".join(f"{each} {KEYS[each]}" for each in offered)
                    self._say("Nothing was decided yet." if key == "u" else f"{told} (each with Enter)")
                elif event := act(under_review.memory):
                    self._decided.append(event)
                    return True
            except EngramError as error:
                self._say(self._paper.bad(error.message) + (f"\n  {error.hint}" if error.hint else ""))
                if isinstance(error, Conflict):  # what was shown may not be what is there
                    return True

    def _offered(self, under_review: UnderReview) -> list[str]:
        """The keys that fit: both can stay where there are two, and what was decided can be undone."""
        fits = {"b": bool(under_review.replaces), "u": bool(self._decided)}
        return [key for key in KEYS if fits.get(key, True)]

    def _undo(self) -> bool:
        """Take back the last decision of this walk."""
        if not self._decided:
            return False
        undone = self._engram.undo(str(self._decided[-1]), confirm=True)
        self._decided.pop()
        self._say(f"Took back {', '.join(event.action for event in undone.events)}.")
        return True

    def _approve(self, memory: Memory, **how: Any) -> int:  # noqa: ANN401 - options of promote
        """The number of the event that approved it, or 0. So are the answers of all decisions."""
        done = self._promoted(memory, **how)
        if done is None:
            return 0
        live = done.memories[0]
        self._say(self._paper.good(f"Promoted {live.handle}: {cut(live.text, 60)}"))
        for other in done.replaced:
            self._say(f"It replaces {other.handle}: {cut(other.text, 60)}")
        return done.event

    def _keep(self, memory: Memory) -> int:
        return self._approve(memory, keep=True)

    def _edit(self, memory: Memory) -> int:
        text = _edited(memory.text)
        if text == memory.text:
            self._say("Unchanged; nothing was approved.")
            return 0
        return self._approve(memory, text=text)

    def _reject(self, memory: Memory) -> int:
        reason = self._ask("Why? (may be empty) ").strip()
        done = self._engram.reject(memory.id, reason=reason, revision=memory.revision)
        self._say(f"Rejected {memory.handle}; it will not come back.")
        return done.event

    def _merge(self, memory: Memory) -> int:
        ref = self._ask("Merge into which memory? ").strip()
        if not ref:
            return 0
        other = self._engram.get(ref).memories[0]
        text = _edited(f"{other.text}\n{memory.text}")
        done = self._promoted(memory, into=f"{other.id}@{other.revision}", text=text)
        if done is None:
            return 0
        self._say(self._paper.good(f"Merged {memory.handle} into {other.handle}: {cut(text, 60)}"))
        return done.event

    def _promoted(self, memory: Memory, **how: Any) -> Changed | None:  # noqa: ANN401 - options of promote
        """Promote it; where the rules want a confirmed word, the handle is typed: a reflex is none."""
        try:
            return self._engram.promote(memory.id, revision=memory.revision, **how)
        except Unconfirmed as error:
            typed = self._ask(f"{error.message} Type {memory.handle} to confirm: ").strip().lower()
        if typed != memory.handle:
            self._say("Not confirmed; it still waits.")
            return None
        return self._engram.promote(memory.id, revision=memory.revision, **how, confirm=True)


def _edited(text: str) -> str:
    """The text as the person leaves it in $EDITOR.

    Raises:
        Invalid: when the editor fails.
    """
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="engram-") as folder:  # private: mode 0700
        file = Path(folder) / "memory.md"
        file.write_text(text + "\n", encoding="utf-8")
        try:
            subprocess.run([*shlex.split(editor), str(file)], check=True)
            return file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise Invalid(f"The editor {editor!r} failed: {error}.", "Set EDITOR to one that works.") from None
