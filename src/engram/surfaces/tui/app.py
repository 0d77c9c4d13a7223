"""The full screen at a terminal: panes, what is done about a memory, and taking it back.

It asks the operations and decides nothing: what may not be done is refused by them, and told.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Protocol, cast

from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Footer, Header, Input, Static, Tab, Tabs

from engram.errors import EngramError, Unconfirmed
from engram.model.answers import Changed, Remembered
from engram.model.event import Event
from engram.model.memory import Memory, standing
from engram.service import Engram
from engram.surfaces.render.answers import DONE, OUTCOMES, render
from engram.surfaces.render.paper import Paper, cut
from engram.surfaces.render.steps import act, acts
from engram.surfaces.tui.dialogs import Keys, Line, Words
from engram.surfaces.tui.panes import HANGS, History, Inbox, Pane, Search, hung

STYLE = """
ContentSwitcher { height: 1fr; }
Pane { border: round $primary-darken-2; border-title-color: $text-muted; padding: 0 1; }
Pane Rows { width: 2fr; min-width: 28; border: none; background: transparent; }
Pane Rows { text-wrap: nowrap; text-overflow: ellipsis; }
Pane Rows > .option-list--option-disabled { color: $text-accent; text-style: bold; }
Pane Rows:focus { background: transparent; }
.about { width: 3fr; border-left: vkey $primary-darken-2; padding: 0 2; }
.-narrow Pane Horizontal { layout: vertical; }
.-narrow Pane Rows { width: 100%; height: 2fr; }
.-narrow .about { width: 100%; height: 3fr; border-left: none; border-top: hkey $primary-darken-2; padding: 0 1; }
.page { padding: 1 3; }
.dialog { width: 80%; max-width: 100; height: auto; padding: 1 2; border: round $accent; background: $surface; }
.dialog.tall { height: 70%; }
.dialog TextArea { height: 1fr; }
.dialog Label { width: 100%; }
.hint { color: $text-muted; }
Line, Words, Keys { align: center middle; }
Search Input { border: tall $primary-darken-2; }
"""

FITTING = {
    "approve": ("pending",),
    "merge": ("pending",),
    "reject": ("pending",),
    "verify": ("live", "stale", "staged"),
    "forget": ("live", "stale", "staged", "pending", "expired", "scheduled", "replaced"),
}
"""What can be done about a memory only as it stands so."""

ANYHOW = ("edit", "pin")
"""What can be done about a memory however it stands; the keys of everything else are told at any time."""

NARROW = 72
"""Columns below which what a line is about stands under the list, and not beside it."""

NAMES = {"inbox": "1 Inbox", "search": "2 Search", "history": "3 History"}


class Decides(Protocol):
    """An operation that changes a memory: a call with further options."""

    def __call__(self, **options: Any) -> Changed | Remembered:  # noqa: ANN401 - options of the operation
        """Do it."""


class MemoryPage(Screen[None]):
    """Everything about one memory: what it says, what it cites, its kin and its history."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("a", "app.approve", "Approve"),
        ("e", "app.edit", "Edit"),
        ("m", "app.merge", "Merge"),
        ("x", "app.reject", "Reject"),
        ("v", "app.verify", "Still holds"),
        ("f", "app.forget", "Forget"),
        ("p", "app.pin", "Pin"),
        Binding("j", "down", "Down", show=False),
        Binding("k", "up", "Up", show=False),
        ("escape", "app.leave", "Back"),
    ]

    def __init__(self, ref: str) -> None:
        super().__init__()
        self._ref = ref
        self._width = 0  # of the screen it was laid out for
        self.memory: Memory | None = None  # as it is shown

    def compose(self) -> ComposeResult:
        """One long text."""
        yield Header(icon="")
        with VerticalScroll(classes="page"):
            yield Static(classes="said", markup=False)
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Read it once."""
        self.reload()

    def reload(self) -> None:
        """Read it anew; it may be gone since."""
        engram = cast("Twin", self.app).engram
        self._width = self.app.size.width
        width = max(self._width - 10, 40)
        paper = Paper(width, colour=True, view=engram.view)
        try:
            shown = engram.get(self._ref, around=2)
            self.memory = shown.memories[0]
            kin, past = engram.related(self._ref), engram.history(self._ref)
            parts = [render(shown, paper), paper.bold("Related"), render(kin, paper)]
            parts += [paper.bold("History"), render(past, paper)]
        except EngramError as error:
            self.memory, parts = None, [error.message]
        self.query_one(".said", Static).update(hung("\n\n".join(parts), self.app.console, width + HANGS))
        self.app.refresh_bindings()

    def on_resize(self) -> None:
        """Break the lines anew, where they are longer or shorter now."""
        if self._width != self.app.size.width:
            self.reload()

    def action_down(self) -> None:
        """Read on."""
        self.query_one(VerticalScroll).scroll_down(animate=False)

    def action_up(self) -> None:
        """Read back."""
        self.query_one(VerticalScroll).scroll_up(animate=False)


class Twin(App[None]):
    """The memory, full screen."""

    TITLE = "engram"
    CSS = STYLE
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (NARROW, "-wide")]  # noqa: RUF012 - how textual declares it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("1", "show('inbox')", "Inbox", show=False),  # the tabs say these
        Binding("2", "show('search')", "Search", show=False),
        Binding("3", "show('history')", "History", show=False),
        Binding("slash", "show('search')", "Search", show=False),
        ("u", "undo", "Take back"),
        ("question_mark", "keys", "Keys"),
        Binding("escape", "leave", "Back", show=False),
        ("q", "quit", "Quit"),
    ]

    def __init__(self, engram: Engram) -> None:
        super().__init__()
        self.engram = engram
        self.sub_title = engram.store
        self._decided: list[int] = []  # the events of this visit, so that undo takes back nothing else

    def compose(self) -> ComposeResult:
        """Three panes, one of them in sight."""
        yield Header(icon="")
        yield Tabs(*(Tab(label, id=name) for name, label in NAMES.items()))
        with ContentSwitcher(initial="inbox"):
            yield Inbox()
            yield Search()
            yield History()
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Begin with what waits."""
        self.query_one(Tabs).can_focus = False
        self.action_show("inbox")

    @property
    def pane(self) -> Pane:
        """The pane in sight."""
        return self.screen_stack[0].query_one(f"#{self.screen_stack[0].query_one(ContentSwitcher).current}", Pane)

    def on_tabs_tab_activated(self, chosen: Tabs.TabActivated) -> None:
        """A tab was clicked."""
        if chosen.tab.id and chosen.tab.id != self.query_one(ContentSwitcher).current:
            self.action_show(chosen.tab.id)

    def action_show(self, name: str) -> None:
        """Bring a pane into sight, fresh."""
        if isinstance(self.screen, MemoryPage):
            self.pop_screen()
        self.query_one(ContentSwitcher).current = name
        self.query_one(Tabs).active = name
        self.call_after_refresh(self._arrive)

    def _arrive(self) -> None:
        self.refused_by(self.pane.reload)
        if isinstance(self.pane, Search):
            self.pane.query_one(Input).focus()
        else:
            self.pane.focus_list()

    def action_leave(self) -> None:
        """From a page back to its pane, from a line back to the list."""
        if isinstance(self.screen, MemoryPage):
            self.pop_screen()
        self.pane.focus_list()

    def action_keys(self) -> None:
        """Tell the keys."""
        self.push_screen(Keys())

    def open_memory(self, ref: str) -> None:
        """Show everything about one memory."""
        self.push_screen(MemoryPage(ref))

    def current(self) -> Memory | None:
        """The memory of the page, or the one the pane stands on, as it was shown."""
        return self.screen.memory if isinstance(self.screen, MemoryPage) else self.pane.memory()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key does something here: what does not fit the memory one stands on is not offered."""
        del parameters
        if action == "keep_both":
            return isinstance(self.pane, Inbox) and self.pane.replaces()
        fitting = FITTING.get(action, ())
        if not (fitting or action in ANYHOW) or not self.screen_stack or not self.screen_stack[0].query(Pane):
            return True
        memory = self.current()
        if memory is None or not fitting:
            return memory is not None
        return standing(memory, self.engram.now, self.engram.view) in fitting

    # What is done about a memory. Each passes the revision that was shown: who looked at older words is refused.

    @work
    async def action_approve(self) -> None:
        """Approve it as it is."""
        if memory := self.current():
            await self._do(memory, lambda **how: self.engram.promote(memory.id, revision=memory.revision, **how))

    @work
    async def action_keep_both(self) -> None:
        """Approve it, and leave live what it contradicts."""
        if memory := self.current():
            await self._do(
                memory, lambda **how: self.engram.promote(memory.id, keep=True, revision=memory.revision, **how)
            )

    @work
    async def action_edit(self) -> None:
        """Word it anew; what waits is approved in the new words."""
        if not (memory := self.current()):
            return
        text = await self.push_screen_wait(Words(f"{memory.handle} in other words", memory.text))
        if text is None or text == memory.text:
            self._say("Unchanged; nothing was done.")
            return
        ask = self.engram.promote if memory.waiting else self.engram.revise
        await self._do(memory, lambda **how: ask(memory.id, text=text, revision=memory.revision, **how))

    @work
    async def action_merge(self) -> None:
        """Put it into another memory, in words that say both."""
        if not (memory := self.current()):
            return
        rival = self.pane.rival() if isinstance(self.pane, Inbox) and self.screen is self.screen_stack[0] else None
        ref = await self.push_screen_wait(Line("Merge into which memory?", rival.handle if rival else ""))
        other = self.refused_by(lambda: self.engram.get(ref or "")) if ref else None
        if other is None:
            return
        both = f"{other.memories[0].text}\n{memory.text}"
        if text := await self.push_screen_wait(Words(f"{memory.handle} and {ref} in one", both)):
            into = _seen(other.memories[0])
            await self._do(
                memory,
                lambda **how: self.engram.promote(memory.id, into=into, text=text, revision=memory.revision, **how),
            )

    @work
    async def action_reject(self) -> None:
        """Refuse it for good, with a reason."""
        if memory := self.current():
            reason = await self.push_screen_wait(Line(f"Why reject {memory.handle}? (may be empty)"))
            if reason is not None:
                await self._do(
                    memory, lambda **_: self.engram.reject(memory.id, reason=reason, revision=memory.revision)
                )

    @work
    async def action_verify(self) -> None:
        """Say that it still holds; where what it cites has changed, once more beside what changed."""
        if not (memory := self.current()):
            return
        done = self.refused_by(lambda: self.engram.verify(_seen(memory)))
        if done is None or done.event or any(check.verdict == "gone" for check in done.evidence[0]):
            if done:
                self._tell(done)
            self._reload()
            return
        changed = "\n".join(check.diff for check in done.evidence[0] if check.diff)
        sure = await self.push_screen_wait(Line(f"{changed}\n\nIt still holds, cited as it is now? y or n", "y"))
        if (sure or "").lower() in ("y", "yes"):
            await self._do(memory, lambda **how: self.engram.verify(_seen(memory), repin=True, **how))

    @work
    async def action_forget(self) -> None:
        """Hide it, with a reason."""
        if memory := self.current():
            reason = await self.push_screen_wait(Line(f"Why forget {memory.handle}? (may be empty)"))
            if reason is not None:
                await self._do(memory, lambda **_: self.engram.forget(_seen(memory), reason=reason))

    @work
    async def action_pin(self) -> None:
        """Pin it, or let it go."""
        if memory := self.current():
            pinned, revision = not memory.pinned, memory.revision
            await self._do(
                memory, lambda **how: self.engram.revise(memory.id, pinned=pinned, revision=revision, **how)
            )

    def action_undo(self) -> None:
        """Take back the last decision of this visit."""
        if not self._decided:
            self._say("Nothing was decided here yet; history (3) takes back anything.")
            return
        if self._undo(str(self._decided[-1])):
            self._decided.pop()

    @work
    async def take_back(self, event: Event) -> None:
        """Take back any event, once the person said so."""
        sure = await self.push_screen_wait(Line(f"Take back {act(event.action)}, event {event.seq}? y or n", "y"))
        if (sure or "").lower() in ("y", "yes"):
            self._undo(str(event.seq))

    def refused(self, error: EngramError) -> None:
        """Tell why something was not done."""
        self.notify(f"{error.message}\n{error.hint}".strip(), severity="error", timeout=8, markup=False)

    def refused_by(self, ask: Callable[[], Any]) -> Any:  # noqa: ANN401 - any answer
        """The answer; None where it was refused, which is told."""
        try:
            return ask()
        except EngramError as error:
            self.refused(error)
            return None

    async def _do(self, memory: Memory, ask: Decides) -> None:
        """Do it; where the rules want a confirmed word, the handle is typed: a reflex is none."""
        try:
            try:
                done = ask()
            except Unconfirmed as error:
                typed = await self.push_screen_wait(Line(f"{error.message} Type {memory.handle} to confirm."))
                if (typed or "").lower() != memory.handle:
                    self._say("Not confirmed; nothing was done.")
                    return
                done = ask(confirm=True)
        except EngramError as error:
            self.refused(error)
        else:
            self._tell(done)
        self._reload()

    def _tell(self, done: Changed | Remembered) -> None:
        if done.event:
            self._decided.append(done.event)
        if isinstance(done, Remembered):
            self._say(f"{OUTCOMES[done.outcome][1]}: {done.memory.handle}. u takes it back.")
        elif done.event:
            one = done.memories[0]
            gone = f"\nIt replaces {', '.join(each.handle for each in done.replaced)}." if done.replaced else ""
            word = "Approved" if done.action == "promote" else DONE[done.action]
            self._say(f"{word} {one.handle}: {cut(one.text, 60)}{gone}\nu takes it back.")
        else:
            self._say(f"{done.memories[0].handle}: {done.hint}")

    def _undo(self, ref: str) -> bool:
        undone = self.refused_by(lambda: self.engram.undo(ref, confirm=True))
        if undone:
            self._say(f"Took back {acts(event.action for event in undone.events)}.")
            self._reload()
            if isinstance(self.pane, Inbox) and undone.memories:
                self.pane.stand_at(undone.memories[0].id)
        return undone is not None

    def _reload(self) -> None:
        if isinstance(self.screen, MemoryPage):
            self.screen.reload()
        self.refused_by(self.pane.reload)

    def _say(self, text: str) -> None:
        self.notify(text, timeout=5, markup=False)


def _seen(memory: Memory) -> str:
    """A memory as it was shown: in other words it is another, and nothing is done about that."""
    return f"{memory.id}@{memory.revision}"
