"""What every answer is written with: paper, columns, counts and the time that has passed."""

import functools
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple, TextIO

from engram.model.marks import UNSEEN
from engram.model.memory import Memory, Standing, standing, voice

WIDEST_ROW = 240
"""Columns that a line about one memory takes at most, also where nothing else limits it: the rest `get` tells."""


LEAST = 20
"""Columns that the last one of a table has at least; where there are fewer, it gets a line of its own."""

USUAL, UNCUT = 100, 2000
"""How many columns paper has that does not tell, and paper that nobody looks at."""


class Paper(NamedTuple):
    """What is written on: how wide it is, and whether it takes colour."""

    width: int = USUAL
    colour: bool = False
    explain: bool = False
    says: Callable[[str], str] = str  # puts the commands of a hint into the words of whoever reads it
    reader: str = ""  # the owner who reads it
    view: str = ""  # the branch that they stand on
    person: bool = True  # who reads it: a person, or an agent
    folds: bool = False  # what is wider goes on below: a terminal would break it within a word

    def standing(self, memory: Memory, at: datetime) -> Standing:
        """Where a memory stands at a moment, for whoever reads this."""
        return standing(memory, at, self.view)

    def voice(self, memory: Memory) -> str:
        """Whose word a memory is, for whoever reads this."""
        return cut(voice(memory, self.reader), USUAL)

    def paint(self, text: str, code: str) -> str:
        """Text in a colour, where there is one."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    def clean(self, text: str) -> str:
        """What was written here with nothing but our own colours to steer a terminal: see `plain`."""
        if not self.colour:
            return plain(text)
        parts = _colours().split(text)
        parts[::2] = map(plain, parts[::2])
        return "".join(parts)

    def bold(self, text: str) -> str:
        """Text that stands out."""
        return self.paint(text, "1")

    def dim(self, text: str) -> str:
        """Text that stands back."""
        return self.paint(text, "2")

    def way(self, text: str) -> str:
        """A next step, which stands back: what a renderer says itself of commands goes through here."""
        return self.dim(self.says(text))

    def back(self, event: int | str) -> str:
        """How what was done is taken back. Only a person may, so an agent is told that it is theirs to do."""
        return self.way(f"  {'Take it back' if self.person else 'A person may take it back'}: engram undo {event}")

    def good(self, text: str) -> str:
        """Something went well."""
        return self.paint(text, "32")

    def warn(self, text: str) -> str:
        """Something wants attention."""
        return self.paint(text, "33")

    def bad(self, text: str) -> str:
        """Something is wrong."""
        return self.paint(text, "31")


def at_hand(*, explain: bool = False, view: str = "", person: bool = True) -> Paper:
    """The paper that standard output is: colour and a width only where a person looks at a terminal."""
    columns = _columns()
    return Paper(columns, is_colourful(sys.stdout), explain, view=view, person=person, folds=columns < UNCUT)


def _columns() -> int:
    """The width of standard output. What is piped is not cut: a machine, or grep, reads it."""
    if sys.stdout is None or not sys.stdout.isatty():
        return UNCUT
    try:
        return int(os.environ.get("COLUMNS") or os.get_terminal_size().columns or USUAL)
    except (OSError, ValueError):
        return USUAL


def is_colourful(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal that takes colour, and nobody wished for none."""
    plainly = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return stream is not None and stream.isatty() and not plainly


def ago(then: datetime, now: datetime) -> str:
    """How long ago, or how far ahead, in the largest unit that fits."""
    span = now - then
    past = span >= timedelta()
    seconds = abs(span.total_seconds())
    if seconds < 60:
        return "just now" if past else "in a moment"
    units = ((365 * 86400, "year"), (30 * 86400, "month"), (86400, "day"), (3600, "hour"), (60, "minute"))
    size, unit = next(each for each in units if seconds >= each[0])
    count = int(seconds // size)
    text = f"{count} {unit}{'' if count == 1 else 's'}"
    return f"{text} ago" if past else f"in {text}"


def width_of(text: str) -> int:
    """How many columns a terminal gives the text: East Asian wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(mark) in "WF" for mark in text)
    return len(text) + wide - sum(unicodedata.combining(mark) != 0 for mark in text)


def plain(text: str) -> str:
    """Text as it really is: marks that reorder or hide what a reader sees are shown by their number.

    So are those that steer a terminal. No memory holds them, but the name of a file may. A joiner stays where its
    neighbours are drawn by it.
    """
    if not _hiding().search(text) and (text.isascii() or text.isprintable()):
        return text
    joining = {found.start() for found in _joining().finditer(text)}
    return "".join(
        mark if _is_plain(mark) or at in joining else f"\\u{ord(mark):04x}" for at, mark in enumerate(text)
    )


def _is_plain(mark: str) -> bool:
    return mark in "\n\t" or (mark.isprintable() and not _hiding().match(mark))


@functools.cache
def _joining() -> re.Pattern[str]:
    """A joiner that words and signs need: between letters of scripts that join, and between emoji.

    One at a time, within one script: between other letters, or beside another joiner, it hides and splits.
    """
    arabic = "\u0620-\u064a\u066e-\u06d3\u06fa-\u06fc\u0710-\u072f\u0750-\u077f\u08a0-\u08c7"
    indic = "\u0900-\u0963\u0971-\u09e3\u09f0-\u0a65\u0a70-\u0ae5\u0af9-\u0b65\u0b71-\u0be5\u0c00-\u0c65"
    indic += "\u0c80-\u0ce5\u0d00-\u0d65\u0d7a-\u0de5"
    vowels, emoji = "\u064b-\u0652", "\u2600-\u27bf\U0001f000-\U0001faff"
    words = (f"(?<=[{arabic}{vowels}])[\u200c\u200d](?=[{arabic}])", f"(?<=[{indic}])[\u200c\u200d](?=[{indic}])")
    return re.compile("|".join((*words, f"(?:(?<=[{emoji}])|(?<=[{emoji}]\ufe0f))\u200d(?=[{emoji}])")))


@functools.cache
def _hiding() -> re.Pattern[str]:
    return re.compile(f"[\x00-\x08\x0b-\x1f\x7f{UNSEEN}]")


@functools.cache
def _colours() -> re.Pattern[str]:
    return re.compile("(\x1b\\[[0-9]{1,2}m)")


def cut(text: str, width: int) -> str:
    """One line of at most this many columns."""
    line = plain(" ".join(text.split()))
    if width_of(line) <= width:
        return line
    room, end = max(width - 1, 1), 0
    while end < len(line) and (room := room - width_of(line[end])) >= 0:
        end += 1
    return f"{line[:end]}…"


def table(rows: list[list[str]], paper: Paper, *, last: int | None = None) -> Iterator[str]:
    """Rows with aligned columns; the last one takes what is left of the width, or a line of its own."""
    if not rows:
        return
    widths = [max(width_of(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
    room = (last or paper.width) - sum(widths) - 2 * len(widths)
    if room < LEAST:
        yield from _stacked(rows, paper)
        return
    for row in rows:
        cells = [cell + " " * (width - width_of(cell)) for cell, width in zip(row, widths, strict=False)]
        cells[0] = paper.bold(cells[0])
        yield "  ".join([cells[0], *(paper.dim(cell) for cell in cells[1:]), cut(row[-1], room)]).rstrip()


def _stacked(rows: list[list[str]], paper: Paper) -> Iterator[str]:
    """Rows on narrow paper: what stands in the last column comes below the rest, as far as there is room."""
    for first, *more, text in rows:
        words = [paper.bold(first), *(paper.dim(cell) for cell in more if cell)]
        yield "  ".join(words)
        if text:
            yield f"  {cut(text, paper.width - 2)}"


def hanging(head: str, text: str, paper: Paper) -> Iterator[str]:
    """Text after a head. Where the paper folds, its lines begin below one another, and no command is broken."""
    hang = width_of("".join(_colours().split(head)[::2]))
    if not paper.folds or hang + width_of(text) <= paper.width:
        yield head + text
        return
    for line in folded(_with_whole_commands(text), paper.width - hang):
        yield head + line.replace("\xa0", " ")
        head = " " * hang


def _with_whole_commands(text: str) -> str:
    """Text whose commands and options hold together: they are there to be copied."""
    if "engram " not in text and "--" not in text:
        return text
    from engram.surfaces.mentions import mentioned  # noqa: PLC0415 - few lines are too wide

    for one in mentioned(text):
        text = text[: one.start] + text[one.start : one.end].replace(" ", "\xa0") + text[one.end :]
    return text


def folded(prose: str, width: int) -> list[str]:
    """Prose in lines of whole words that are at most so wide."""
    from textwrap import wrap  # noqa: PLC0415 - for help alone

    return wrap(prose, max(width, 20), break_long_words=False, break_on_hyphens=False)


def help_width() -> int:
    """How wide help is: a little less than the terminal, also where it is piped into a pager."""
    try:
        columns = int(os.environ.get("COLUMNS") or os.get_terminal_size().columns)
    except (OSError, ValueError):
        columns = 80
    return max(columns - 2, 40)


def narrowed(text: str, width: int) -> Iterator[str]:
    """The lines of a help text, folded where one is wider: paragraphs, and what is told beside an option.

    Commands of examples stay as they are: they are there to be copied.
    """
    lines = text.splitlines()
    if max(map(len, lines), default=0) <= width:
        yield from lines
        return
    shown = False  # whether these are examples
    at = 0
    while at < len(lines):
        line, at = lines[at], at + 1
        indent = len(line) - len(line.lstrip())
        shown = line.startswith("Example") or (shown and (not line or indent > 0))
        if not line or (shown and indent <= len("  ")):
            yield line
            continue
        head, gap, told = line[indent:].partition("  ")
        hang = len(line) - len(told.lstrip()) if gap and indent else 0
        while at < len(lines) and _goes_on(line, lines[at], hang or indent):
            line, at = f"{line} {lines[at].strip()}", at + 1
        first = f"{' ' * indent}{head}".ljust(hang) if hang else " " * indent
        under = " " * (hang or (len("Usage: ") if line.startswith("Usage: ") else indent))
        for part in folded(line[hang or indent :], width - len(under)):
            yield first + part
            first = under


def _goes_on(line: str, following: str, indent: int) -> bool:
    """Whether a line of help goes on in the next one, which begins at this place then.

    In a list of sentences, which is indented by two, each begins a line.
    """
    begins = len(following) - len(following.lstrip())
    return bool(following) and begins == indent and (indent != len("  ") or not line.endswith("."))


def few(names: list[str]) -> list[str]:
    """The names, or the first of them and how many more there are."""
    return names if len(names) <= 4 else [*names[:3], f"{len(names) - 3} more"]


def count(number: int, one: str, many: str = "") -> str:
    """How many of what: `1 memory`, `2 memories`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def times(number: int) -> str:
    """How often."""
    return "once" if number == 1 else f"{number} times"


def counts(numbers: Mapping[str, int | str]) -> str:
    """Several counts in a line."""
    return ", ".join(f"{n} {name}" for name, n in numbers.items())


def moment(time: datetime | None) -> str:
    """A moment to the minute; nothing for none."""
    return "" if time is None else f"{time:%Y-%m-%d %H:%M} UTC"


def rows(memories: Iterable[Memory], at: datetime, paper: Paper) -> Iterator[str]:
    """Memories a line each: handle, kind, standing if not live, age, who said it if another did, what it says."""
    lines = []
    for memory in memories:
        stands = paper.standing(memory, at)
        state = "" if stands == "live" else stands
        pin = "★ " if memory.pinned else ""
        whose = "" if memory.owner == paper.reader else f"({paper.voice(memory)}) "
        text = pin + whose + memory.gist
        lines.append([memory.handle, memory.kind, state, ago(memory.created_at, at), text])
    if not any(line[2] for line in lines):
        lines = [[*line[:2], *line[3:]] for line in lines]
    yield from table(lines, paper, last=min(paper.width, WIDEST_ROW))
