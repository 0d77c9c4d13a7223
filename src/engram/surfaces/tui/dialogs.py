"""What is asked in between: a line, a text, and the keys told."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Label, Static, TextArea

KEYS = """\
[b]Everywhere[/b]
  1 2 3      inbox, search, history
  /          search
  u          take back your last decision; in history, this line
  ?          these keys
  q          leave

[b]In a list[/b]
  j k        down, up
  enter      everything about the memory

[b]On a memory[/b]
  a          approve
  b          approve, and keep what it contradicts
  e          edit; a memory that waits is approved in the new words
  m          merge into another memory
  x          reject, with a reason
  s          skip: it waits further
  v          it still holds
  f          forget
  p          pin, or let go

[b]In a text[/b]
  ctrl+s     done
  escape     leave it as it was"""


class Line(ModalScreen[str | None]):
    """Asks for a line; None where the person went away."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss(None)", "Cancel")]

    def __init__(self, question: str, value: str = "") -> None:
        super().__init__()
        self._question, self._value = question, value

    def compose(self) -> ComposeResult:
        """The question over the line."""
        with Vertical(classes="dialog"):
            yield Label(self._question, markup=False)
            yield Input(self._value)
            yield Label("enter done · escape cancel", classes="hint")

    def on_input_submitted(self, done: Input.Submitted) -> None:
        """The line as it stands."""
        self.dismiss(done.value.strip())


class Words(ModalScreen[str | None]):
    """Asks for a text in place; None where the person went away."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "done", "Done", priority=True),
        Binding("escape", "dismiss(None)", "Cancel", priority=True),
    ]

    def __init__(self, question: str, text: str) -> None:
        super().__init__()
        self._question, self._text = question, text

    def compose(self) -> ComposeResult:
        """The question over the text."""
        with Vertical(classes="dialog tall"):
            yield Label(self._question, markup=False)
            yield TextArea(self._text, soft_wrap=True, show_line_numbers=False)
            yield Label("ctrl+s done · escape cancel", classes="hint")

    def on_mount(self) -> None:
        """Whoever comes to a text goes on at its end."""
        area = self.query_one(TextArea)
        area.move_cursor(area.document.end)

    def action_done(self) -> None:
        """The text as it stands."""
        self.dismiss(self.query_one(TextArea).text.strip())


class Keys(ModalScreen[None]):
    """Every key there is."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,question_mark,q,enter", "dismiss(None)", "Close")]

    def compose(self) -> ComposeResult:
        """The table."""
        with VerticalScroll(classes="dialog tall"):
            yield Static(KEYS)
