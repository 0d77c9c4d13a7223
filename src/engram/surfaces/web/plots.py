"""Numbers as pictures: SVG that the page's own style colours and stretches, with its labels as text beside it."""

from collections.abc import Sequence
from datetime import date, timedelta
from math import ceil, floor, log10
from typing import NamedTuple

from markupsafe import Markup

from engram.model.answers_look import Growth, Proposer

WIDE, HIGH = 600, 100
"""The field that is drawn on; a page stretches it to the room there is."""

MOST_BARS = 60
SPANS = {1: "day", 7: "week", 28: "four weeks", 91: "quarter", 364: "year"}
"""How many days one bar may stand for, and what that is called."""

BECAME = ("approved", "by_itself", "waiting", "rejected")


class Plot(NamedTuple):
    """A field, the numbers at its side from the top down, and the words below it from left to right."""

    field: Markup
    scale: Sequence[str]
    below: Sequence[str]
    about: str = ""  # what one bar stands for, or why some are cut


def bar(value: float, most: float, tone: str = "", *, width: int = 120) -> Markup:
    """One number as a bar, against the largest of its kind."""
    length = round(width * min(abs(value) / most, 1.0), 1) if most else 0
    return Markup(
        '<svg class="bar {}" width="{}" height="10" viewBox="0 0 {} 10" preserveAspectRatio="none" '
        'aria-hidden="true"><rect class="rail" width="{}" height="10"/>'
        '<rect class="fill" width="{}" height="10"/></svg>'
    ).format(tone, width, width, width, length)


def grown(days: Sequence[Growth]) -> Plot:
    """How many memories there were, from the first day to the last."""
    first, span = _day(days[0]), max((_day(days[-1]) - _day(days[0])).days, 1)
    top = _round(max(day.total for day in days))
    points, y = [], float(HIGH)
    for day in days:  # in steps: between two days on which something was made nothing was
        x = WIDE * (_day(day) - first).days / span
        points += [(x, y), (x, y := HIGH * (1 - day.total / top))]
    points.append((WIDE, y))
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    area = f'<polygon class="area" points="0,{HIGH} {line} {WIDE},{HIGH}"/>'
    return Plot(_field(f'{area}<polyline class="line" points="{line}"/>'), _scale(top), _ends(days))


def made(days: Sequence[Growth]) -> Plot:
    """How many were made in each stretch of time, of a length that leaves the bars apart."""
    first, span = _day(days[0]), (_day(days[-1]) - _day(days[0])).days + 1
    size = next((size for size in SPANS if span / size <= MOST_BARS), max(SPANS))
    counts = [0] * ceil(span / size)
    for day in days:
        counts[(_day(day) - first).days // size] += day.made
    top = _round(max(counts))
    return Plot(_bars(counts, top), (f"{top:,}", "0"), _ends(days), SPANS[size])


def latency(took: Sequence[float]) -> Plot:
    """How long each of the last recalls took, in the order they were asked; few that took far longer are cut."""
    usual = sorted(took)[ceil(len(took) * 0.95) - 1]
    top = _round(max(took) if max(took) <= 2 * usual else usual)
    longer = sum(value > top for value in took)
    about = f"{longer} took longer than {top:g} ms, and {'is' if longer == 1 else 'are'} cut" if longer else ""
    return Plot(_bars(took, top), _scale(top, " ms"), ("earlier", "latest"), about)


def shares(row: Proposer) -> Markup:
    """Of what one proposed: approved, live by itself, waiting, rejected; as shares of all."""
    total = sum(getattr(row, name) for name in BECAME) or 1
    parts, x = [], 0.0
    for name in BECAME:
        width = WIDE * getattr(row, name) / total
        parts.append(f'<rect class="{name.replace("_", "-")}" x="{x:.1f}" width="{width:.1f}" height="{HIGH}"/>')
        x += width
    return _field("".join(parts))


def _bars(values: Sequence[float], top: float) -> Markup:
    step = WIDE / max(len(values), 12)
    rows = []
    for at, value in enumerate(values):
        high = HIGH * min(value / top, 1)
        rows.append(
            f'<rect class="{"cut" if value > top else "made"}" x="{step * (at + 0.1):.1f}" y="{HIGH - high:.1f}" '
            f'width="{step * 0.8:.1f}" height="{high:.1f}"/>'
        )
    return _field("".join(rows))


def _field(inside: str) -> Markup:
    """A field of numbers and of words of our own: nothing in it was written by anybody else."""
    drawn = f'<svg class="chart" viewBox="0 0 {WIDE} {HIGH}" preserveAspectRatio="none" aria-hidden="true">'
    return Markup(f"{drawn}{inside}</svg>")  # noqa: S704 - see above


def _round(most: float) -> float:
    """The next number that is easily read: 1, 2, 4, 6 or 10 of its size."""
    if most <= 0:
        return 1
    size = 10.0 ** floor(log10(most))
    top = next(step * size for step in (1, 2, 4, 6, 10) if most <= step * size)
    return top if size < 1 else ceil(top)


def _scale(top: float, unit: str = "") -> tuple[str, str, str]:
    return f"{top:,g}{unit}", f"{top / 2:,g}{unit}", "0"


def _ends(days: Sequence[Growth]) -> tuple[str, ...]:
    first, last = _day(days[0]), _day(days[-1])
    if (last - first).days < 2:
        return tuple(f"{day:%-d %b %Y}" for day in dict.fromkeys((first, last)))
    return tuple(f"{day:%-d %b %Y}" for day in (first, first + timedelta(days=(last - first).days // 2), last))


def _day(row: Growth) -> date:
    return date.fromisoformat(row.day)
