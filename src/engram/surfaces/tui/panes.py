"""The panes of the terminal's full screen: what waits, what is found, and what was done."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rich.console import Console
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from engram.errors import EngramError
from engram.model.answers import Chronicle, Recollection, UnderReview
from engram.model.answers_look import Found
from engram.model.event import Edit, Event
from engram.model.memory import Memory
from engram.service import Engram
from engram.surfaces.render.answers import FACTORS, HELD_BACK, name_in, render
from engram.surfaces.render.paper import Paper, count, cut, few, moment, plain
from engram.surfaces.render.steps import act, did, field_named, tells, told_of, worded
from engram.surfaces.render.work import verdicts
from engram.surfaces.review import compared, differences
from engram.surfaces.review import told as waiting_told

if TYPE_CHECKING:
    from textual.timer import Timer

    from engram.surfaces.tui.app import Twin

PAGE = 50
PATIENCE = 0.2
"""Seconds without a key before what was typed is looked for."""

BAR = 24
HANGS = 2
"""Columns by which the rest of a line stands to the right of its beginning."""


def hung(text: str, console: Console, width: int) -> Text:
    """A text with colours of a terminal, in which what goes on in the next line stands a bit to the right."""
    lines = []
    for line in Text.from_ansi(text).split("\n", allow_blank=True):
        indent = len(line.plain) - len(line.plain.lstrip())
        pieces = line[indent:].wrap(console, max(width - indent - HANGS, 20)) or [Text()]
        lines += [Text(" " * (indent + (HANGS if at else 0))) + piece for at, piece in enumerate(pieces)]
    return Text("\n").join(lines)


class Rows(OptionList):
    """A list that j and k walk through."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", "Down", show=False),
        Binding("k", "cursor_up", "Up", show=False),
    ]


class Pane(Vertical):
    """A list on the left, and everything about the line one stands on at its right."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("a", "app.approve", "Approve"),
        ("e", "app.edit", "Edit"),
        ("m", "app.merge", "Merge"),
        ("x", "app.reject", "Reject"),
    ]

    _shown = ""  # what the right half says, before its lines are broken
    _next: Any = None  # where the list goes on, if it does

    @property
    def twin(self) -> "Twin":
        """The program this pane is part of."""
        return cast("Twin", self.app)

    @property
    def engram(self) -> Engram:
        """The memory it shows."""
        return self.twin.engram

    def compose(self) -> ComposeResult:
        """The two halves."""
        with Horizontal():
            yield Rows()
            with VerticalScroll(classes="about", can_focus=False):
                yield Static(classes="said", markup=False)

    def focus_list(self) -> None:
        """Stand in the list."""
        self.query_one(Rows).focus()

    def reload(self) -> None:
        """Read what it shows anew."""

    def go_on(self) -> None:
        """Read on, beyond the end of the list."""

    def about(self, key: str) -> str:
        """Everything about a line, with colours of a terminal."""
        raise NotImplementedError

    def memory(self) -> Memory | None:
        """The memory one stands on."""
        return None

    def key(self) -> str:
        """What the line one stands on is about, or nothing."""
        rows = self.query_one(Rows)
        return "" if rows.highlighted is None else rows.get_option_at_index(rows.highlighted).id or ""

    def stand_at(self, key: str) -> None:
        """Stand at the line that is about this, if there is one."""
        rows = self.query_one(Rows)
        places = [place for place, option in enumerate(rows.options) if option.id == key]
        if places:
            rows.highlighted = places[0]

    def paper(self) -> Paper:
        """What is written on, as wide as the right half."""
        return Paper(max(self.query_one(".about").size.width - 4, 30), colour=True, view=self.engram.view)

    def fill(self, options: list[Option], empty: str, key: str = "") -> None:
        """Put these lines in the place of those there are, and stand where one stood."""
        rows = self.query_one(Rows)
        at = rows.highlighted or 0
        rows.clear_options()
        rows.add_options(options)
        places = [place for place, option in enumerate(options) if not option.disabled]
        same = [place for place in places if options[place].id == key]
        nearest = same or [place for place in places if place >= at] or places[-1:]
        rows.highlighted = nearest[0] if nearest else None
        if not places:
            self.show(empty)
            self.app.refresh_bindings()  # nothing is stood on, which nothing else tells

    def show(self, text: str) -> None:
        """Fill the right half."""
        self._shown = text
        self._lay_out()
        self.query_one(".about").scroll_home(animate=False)

    def on_resize(self) -> None:
        """Break the lines anew."""
        self._lay_out()

    def _lay_out(self) -> None:
        width = self.query_one(".about").scrollable_content_region.width
        self.query_one(".said", Static).update(hung(self._shown, self.app.console, width))

    @on(OptionList.OptionHighlighted)
    def _stand(self) -> None:
        if key := self.key():
            try:
                self.show(self.about(key))
            except EngramError as error:  # another program may have taken it away
                self.show(error.message)
        self.app.refresh_bindings()

    @on(OptionList.OptionHighlighted)
    def _reach_end(self, stood: OptionList.OptionHighlighted) -> None:
        if self._next and stood.option_index >= stood.option_list.option_count - 2:
            self.twin.refused_by(self.go_on)

    @on(OptionList.OptionSelected)
    def _open(self) -> None:
        if memory := self.memory():
            self.twin.open_memory(memory.id)


class Inbox(Pane):
    """What waits, oldest first, by session."""

    BINDINGS: ClassVar[list[BindingType]] = [
        ("b", "app.keep_both", "Keep both"),  # offered where it would replace something
        ("s", "skip", "Skip"),
    ]

    def __init__(self) -> None:
        super().__init__(id="inbox")
        self._waiting: dict[str, UnderReview] = {}
        self._skipped: set[str] = set()

    def reload(self) -> None:
        """What waits now."""
        key = self.key()
        self._waiting, self._next = {}, None
        self._more()
        self._list(key)

    def memory(self) -> Memory | None:
        """What one decides about."""
        under_review = self._waiting.get(self.key())
        return under_review.memory if under_review else None

    def replaces(self) -> bool:
        """Whether it would replace something if it were approved."""
        under_review = self._waiting.get(self.key())
        return bool(under_review and under_review.replaces)

    def rival(self) -> Memory | None:
        """What it would change, replace or contradicts, the first there is."""
        under_review = self._waiting[self.key()]
        return under_review.amends or next(iter((*under_review.replaces, *under_review.conflicts)), None)

    def about(self, key: str) -> str:
        """It, beside what a reviewer compares it with."""
        under_review, paper = compared(self.engram, self._waiting[key]), self.paper()
        shown = self.engram.get(key)
        memory, checks = shown.memories[0], shown.evidence[0] if shown.evidence else ()
        weight = f"confidence {memory.confidence:.2f} · importance {memory.importance} · revision {memory.revision}"
        lines = [*waiting_told(under_review, self.engram.now, paper), *verdicts(checks, paper, every=True)]
        if under_review.replaces:
            lines.append("  a replaces as it says, b keeps both.")
        return "\n".join([*lines, paper.dim(f"  {weight}")])

    def action_skip(self) -> None:
        """Leave it for later: it goes to the end of what one sees."""
        self._skipped.add(self.key())
        self._list("")

    def _more(self) -> None:
        page = self.engram.review(limit=PAGE, after=self._next)
        self._waiting |= {one.memory.id: one for one in page.candidates}
        self._next = page.next

    def _list(self, key: str) -> None:
        by_session: dict[str, list[Memory]] = {}
        for one in sorted(self._waiting.values(), key=lambda each: each.memory.id in self._skipped):
            late = "\0" if one.memory.id in self._skipped else ""
            by_session.setdefault(late + one.memory.session, []).append(one.memory)
        options = []
        for session, memories in by_session.items():
            name = plain(session.strip("\0"))
            words = [name or "Outside of a session", memories[0].context.agent if name else ""]
            words.append("skipped" if session.startswith("\0") else "")
            options.append(Option(Text(" · ".join(filter(None, words))), disabled=True))
            options += [Option(_line(one, one.kind), id=one.id) for one in memories]
        self.border_title = f"{len(self._waiting)}{'+' if self._next else ''} waiting"
        self.fill(options, "Nothing waits for review.", key)

    def go_on(self) -> None:
        """More of what waits."""
        key = self.key()
        self._more()
        self._list(key)


class Search(Pane):
    """What is known about something, as it is typed."""

    def __init__(self) -> None:
        super().__init__(id="search")
        self._hits: dict[str, Recollection] = {}
        self._told = ""
        self._pause: Timer | None = None

    def compose(self) -> ComposeResult:
        """The question over the two halves."""
        yield Input(placeholder="What do you want to know?")
        yield from super().compose()

    def focus_list(self) -> None:
        """Stand in the question, until it is answered."""
        self.query_one(Rows if self._hits else Input).focus()

    def reload(self) -> None:
        """Ask again; without a question, what was remembered last."""
        self._ask(self.query_one(Input).value.strip())

    def memory(self) -> Memory | None:
        """The hit one stands on."""
        hit = self._hits.get(self.key())
        return hit.memory if hit else None

    def about(self, key: str) -> str:
        """The hit in full, why it is there, and what it costs."""
        hit, paper = self._hits[key], self.paper()
        why = ["", *_why(hit, paper)] if hit.reasons else []
        return "\n".join([render(self.engram.get(key), paper), *why, "", paper.dim(self._told)])

    @on(Input.Changed)
    def _typed(self) -> None:
        if self._pause:
            self._pause.stop()
        self._pause = self.set_timer(PATIENCE, self.reload)

    @on(Input.Submitted)
    def _to_the_hits(self) -> None:
        self.query_one(Rows).focus()

    @work(thread=True, exclusive=True)
    def _ask(self, question: str) -> None:
        """Ask beside the screen: the first question loads the model."""
        try:
            answer = self.engram.not_counting_use().search(question, everywhere=True, limit=20)
        except EngramError as error:
            self.app.call_from_thread(self.twin.refused, error)
            return
        self.app.call_from_thread(self._found, answer)

    def _found(self, answer: Found) -> None:
        self._hits = {hit.memory.id: hit for hit in answer.hits}
        held = [f"{'100+' if n >= 100 else n} {HELD_BACK.get(name, name)}" for name, n in answer.held_back.items()]
        many = count(len(answer.hits), "hit") if answer.query else count(len(answer.hits), "memory", "memories")
        parts = [many, count(answer.tokens, "token")]
        self._told = " · ".join([*parts, f"held back: {', '.join(held)}"] if held else parts)
        self.border_title = self._told
        marks = {id: f"{hit.relevance:.0%}" if answer.query else hit.memory.kind for id, hit in self._hits.items()}
        options = [Option(_line(hit.memory, marks[id]), id=id) for id, hit in self._hits.items()]
        none = "Nothing relevant is known." if answer.query else "Nothing is remembered yet."
        self.fill(options, "\n".join(filter(None, (none, answer.hint, self._told))))


class History(Pane):
    """What was done, newest first; u takes back the line one stands on."""

    BINDINGS: ClassVar[list[BindingType]] = [("u", "undo", "Take back")]

    def __init__(self) -> None:
        super().__init__(id="history")
        self._events: dict[str, Event] = {}
        self._handles: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._about: dict[str, str] = {}
        self._undone: set[str] = set()

    def reload(self) -> None:
        """What was done till now."""
        self._events, self._next = {}, None
        self._take(self.engram.history(limit=PAGE))
        self._list("")

    def memory(self) -> Memory | None:
        """The first memory the event was about, if it is still there."""
        event = self._events.get(self.key())
        known = [id for id in event.subjects if id in self._handles] if event else []
        try:
            return self.engram.get(known[0]).memories[0] if known else None
        except EngramError:
            return None

    def about(self, key: str) -> str:
        """What the event changed, field by field."""
        event, paper = self._events[key], self.paper()
        undone = paper.warn("  taken back since") if event.id in self._undone else ""
        lines = [f"{paper.bold(f'{event.seq}  {act(event.action)}')}{undone}"]
        lines.append(paper.dim(f"{moment(event.at)} by {event.actor or 'local'}"))
        if reason := event.note.get("reason"):
            lines.append(f"Reason: {plain(str(reason))}")
        return "\n".join([*lines, *self._edits(event, paper)])

    def action_undo(self) -> None:
        """Take back the event one stands on."""
        if event := self._events.get(self.key()):
            self.twin.take_back(event)

    def _edits(self, event: Event, paper: Paper) -> Iterator[str]:
        if event.payload is None:
            yield "Purged: what it did is not known any more."
            return
        told = told_of(event, self._names)
        for part in told.parts:
            yield f"\n{paper.bold(part.name)}  {'' if tells(event) else paper.dim(self._about.get(part.id, ''))}"
            for edit in part.edits:
                yield f"  {field_named(edit.field)}"
                yield from differences(self._said(edit, edit.old), self._said(edit, edit.new), paper)
        if told.more:
            yield f"\nAnd {count(told.more, 'other memory', 'other memories')}."

    def _said(self, edit: Edit, value: object) -> str:
        """The value of a field in words: memories by their handles, attachments by their names."""
        if value is None or value in ("", []):
            return ""
        if edit.field in ("replaced_by", "amends"):
            return self._handles.get(str(value)) or str(value)[:13]
        return worded(edit.field, value)

    def _take(self, page: Chronicle) -> None:
        self._events |= {str(one.seq): one for one in page.events}
        self._handles |= dict(page.handles)
        self._about |= dict(page.about)
        self._names |= {id: name_in(page, id) for one in page.events for id in one.subjects}
        self._undone |= set(page.undone)
        self._next = page.next

    def _list(self, key: str) -> None:
        options = []
        for seq, event in self._events.items():
            names = ", ".join(few([self._names[id] for id in event.subjects]))
            line = Text(no_wrap=True, overflow="ellipsis", style="dim strike" if event.id in self._undone else "")
            line.append(f"{seq:>5} ", style="dim").append(f"{act(event.action)} {names} ", style="bold")
            line.append(cut(did(event), 80), style="dim")
            options.append(Option(line, id=seq))
        self.fill(options, "Nothing has happened yet.", key)

    def go_on(self) -> None:
        """What was done before that."""
        key = self.key()
        self._take(self.engram.history(limit=PAGE, before=self._next))
        self._list(key)


def _line(memory: Memory, mark: str) -> Text:
    """A memory in one line: its handle, a mark, and what it says."""
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{'★ ' if memory.pinned else ''}{memory.handle} ", style="bold").append(f"{mark} ", style="dim")
    return line.append(cut(memory.gist, 200))


def _why(hit: Recollection, paper: Paper) -> Iterator[str]:
    """What a score is the sum of, a bar each; then what the record brings, and the cost."""
    yield paper.bold(f"Why it is here: score {hit.score:.2f}, {hit.relevance:.0%} relevant")
    yield from bars({name: value for name, value in hit.reasons.items() if name not in FACTORS}, paper)
    yield from (f"  {name:<12} \u00d7{hit.reasons[name]:g}" for name in FACTORS if name in hit.reasons)
    yield paper.dim(f"  {count(hit.tokens, 'token')} to read")


def bars(parts: Mapping[str, float], paper: Paper) -> Iterator[str]:
    """Numbers as bars, the largest first; nothing for what is nought."""
    most = max((abs(value) for value in parts.values()), default=0.0) or 1.0
    for name, value in sorted(parts.items(), key=lambda part: -abs(part[1])):
        if length := round(BAR * abs(value) / most):
            paint = paper.good if value > 0 else paper.bad
            yield f"  {name:<12} {paint('█' * length):<{BAR}} {value:+.2f}"
