"""What the benches share: a bar on stderr, dated results, Markdown tables, and plots without a plotting library.

    from common import Line, dated, line_plot, machine, progress, table, write_between

    for question in progress(questions, "asking"): ...
    dated("quality", {"machine": machine(), "rows": rows})             # benches/results/quality-2026-11-16.json
    write_between(DOCS / "benchmarks.md", "quality", table(["what", "recall@5"], rows))
    (IMAGES / "growth.svg").write_text(line_plot("Warm recall", [Line("engram", points)], x="memories", y="ms"))

A bench in a folder of its own finds this file by `sys.path.insert(0, str(Path(__file__).parents[1]))`.
"""

import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

HERE = Path(__file__).resolve().parent
CACHE = HERE / ".cache"
"""Whatever is slow to make and can be made again; ignored by git."""

RESULTS = HERE / "results"
DOCS = HERE.parent / "docs"
IMAGES = DOCS / "images"


# Progress


class Bar:
    """How far a piece of work has come, on stderr: a bar on a terminal, elsewhere a line every half minute."""

    WIDTH = 24

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._done = what, max(total, 1), 0
        self._begun = self._shown = time.monotonic()
        self._live = sys.stderr.isatty()

    def to(self, done: int) -> None:
        """So many are done now."""
        self._done = done
        now, last = time.monotonic(), done >= self._total
        if not last and now - self._shown < (0.1 if self._live else 30):
            return
        self._shown = now
        full = round(self.WIDTH * min(done / self._total, 1))
        bar = "█" * full + "░" * (self.WIDTH - full)
        left = (now - self._begun) / max(done, 1) * (self._total - done)
        rest = f"{now - self._begun:.0f} s" if last else f"{left:.0f} s to go"
        line = f"{self._what:34.34} {bar} {done:,}/{self._total:,}  {rest}"
        print(f"\r{line:100}" if self._live else line, end="\n" if last or not self._live else "", file=sys.stderr)
        sys.stderr.flush()

    def step(self, count: int = 1) -> None:
        """So many more are done."""
        self.to(self._done + count)


def progress(items: Sequence[T], what: str) -> Iterator[T]:
    """The items, one after the other, with a bar."""
    bar = Bar(what, len(items))
    for item in items:
        yield item
        bar.step()


# Results


def machine() -> dict[str, Any]:
    """Where this was measured, without anything that names a host or a user."""
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
    }


def dated(name: str, results: dict[str, Any]) -> Path:
    """Keep results as `benches/results/NAME-YYYY-MM-DD.json`; those of the same day are replaced."""
    RESULTS.mkdir(exist_ok=True)
    now = datetime.now(UTC)
    path = RESULTS / f"{name}-{now:%Y-%m-%d}.json"
    whole = {"bench": name, "at": f"{now:%Y-%m-%dT%H:%MZ}", **results}
    path.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n")
    return path


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; numbers to the right, a float with three digits unless it comes as text."""
    rows = [list(row) for row in rows]
    number = [
        bool(rows) and all(isinstance(row[at], int | float | None) for row in rows) for at in range(len(heads))
    ]
    lines = [
        list(heads),
        ["--:" if right else "---" for right in number],
        *([_cell(c) for c in row] for row in rows),
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|")


def write_between(path: Path, name: str, text: str) -> None:
    """Put text between `<!-- NAME:begin -->` and `<!-- NAME:end -->` of a page.

    Raises:
        SystemExit: when the page has no such marks.
    """
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    page = path.read_text()
    if begin not in page or end not in page:
        raise SystemExit(f"{path.name} lacks the marks {begin} and {end}.")
    before, _, rest = page.partition(begin)
    path.write_text(f"{before}{begin}\n\n{text.strip()}\n\n{end}{rest.partition(end)[2]}")


# Plots


class Line(NamedTuple):
    """A named series of (x, y)."""

    name: str
    points: Sequence[tuple[float, float]]


class Mark(NamedTuple):
    """An upright line at an x, with a word beside it."""

    x: float
    name: str


class Bars(NamedTuple):
    """A named series with one value per row; None leaves a gap."""

    name: str
    values: Sequence[float | None]


COLOURS = (("#0b62b8", "#6db3f8"), ("#b8460b", "#ff9d5c"), ("#1c7a43", "#5fd08d"), ("#8a2a8f", "#e28ae6"))
"""Of each series, on light and on dark."""

DASHES = ("", "7 4", "2 3", "9 3 2 3")
"""And its dashes, so that nobody needs the colours."""

WIDE = 720


def line_plot(
    title: str,
    lines: Sequence[Line],
    *,
    x: str,
    y: str,
    log_x: bool = False,
    log_y: bool = False,
    marks: Sequence[Mark] = (),
    percent: bool = False,
) -> str:
    """An SVG of lines with their names below the title; y begins at nought unless it is logarithmic."""
    left, right, top, height = 64, 40, 90, 290
    xs = [point[0] for line in lines for point in line.points] + [mark.x for mark in marks]
    ys = [point[1] for line in lines for point in line.points]
    tick_x = _log_ticks(xs) if log_x else _ticks(min(xs), max(xs))
    tick_y = _log_ticks(ys) if log_y else _ticks(min(0.0, *ys), max(ys))
    place_x = _scale([*xs] if not log_x else [*xs, *tick_x], left, WIDE - right, log=log_x)
    place_y = _scale([*tick_y, *ys], top + height, top, log=log_y)
    out = [
        _text(left - 46, 26, title, "title"),
        *_legend([line.name for line in lines], left - 46, 50, dashed=True),
    ]
    for value in tick_y:
        at = place_y(value)
        out.append(f'<path class="grid" d="M{left} {at:.1f}H{WIDE - right}"/>')
        out.append(_text(left - 8, at + 4, _said(value, percent=percent), "end"))
    for value in tick_x:
        at = place_x(value)
        out.append(f'<path class="axis" d="M{at:.1f} {top + height}v5"/>')
        out.append(_text(at, top + height + 19, _said(value), "mid"))
    out.append(f'<path class="axis" d="M{left} {top + height}H{WIDE - right}"/>')
    out.append(_text((left + WIDE - right) / 2, top + height + 39, x, "mid"))
    out.append(_text(left - 46, top - 18, y, "small"))
    for mark in marks:
        at = place_x(mark.x)
        out.append(f'<path class="mark" d="M{at:.1f} {top}V{top + height}"/>')
        out.append(_text(at, top - 6, mark.name, "small mid"))
    for index, line in enumerate(lines):
        path = "L".join(f"{place_x(a):.1f} {place_y(b):.1f}" for a, b in line.points)
        dots = "".join(f'<circle cx="{place_x(a):.1f}" cy="{place_y(b):.1f}" r="2.5"/>' for a, b in line.points)
        out.append(f'<g class="s{index % 4}"><path class="line" d="M{path}"/>{dots}</g>')
    return _svg(title, top + height + 52, out)


def bar_plot(
    title: str, rows: Sequence[str], series: Sequence[Bars], *, x: str, percent: bool = False, digits: int = 3
) -> str:
    """An SVG of lying bars, grouped by row, the value at the end of each; values below nought go to the left."""
    left, right, top, thick = 210, 64, 74, 13
    group = thick * len(series) + 12
    values = [value for one in series for value in one.values if value is not None]
    low, high = min(0.0, *values), max(0.0, *values)
    place = _scale([low, high], left + (52 if low < 0 else 0), WIDE - right, log=False)
    bottom = top + group * len(rows)
    out = [_text(18, 26, title, "title"), *_legend([one.name for one in series], 18, 50, dashed=False)]
    for at, row in enumerate(rows):
        y = top + at * group
        out.append(_text(left - 8, y + group / 2, row, "end"))
        for index, one in enumerate(series):
            value = one.values[at]
            if value is None:
                continue
            begin, end = sorted((place(0.0), place(value)))
            here = y + index * thick + 4
            out.append(
                f'<rect class="s{index % 4}" x="{begin:.1f}" y="{here:.1f}" width="{max(end - begin, 0.5):.1f}" '
                f'height="{thick - 2}"/>'
            )
            said = f"{value * 100:.1f} %" if percent else f"{round(value, digits) + 0.0:.{digits}f}"
            beside = (begin - 4, "small end") if value < 0 else (end + 4, "small")
            out.append(_text(beside[0], here + thick - 4, said, beside[1]))
    out.append(f'<path class="axis" d="M{place(0.0):.1f} {top}V{bottom}"/>')
    out.append(_text((left + WIDE - right) / 2, bottom + 22, x, "mid"))
    return _svg(title, bottom + 36, out)


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    """The whole picture. It brings its own ground, so that no page can make it illegible."""
    dashes = "".join(f".s{at} .line{{stroke-dasharray:{dash}}}" for at, dash in enumerate(DASHES) if dash)
    style = (
        ".title{font-size:16px;font-weight:600}.small{font-size:11px}"
        ".end{text-anchor:end}.mid{text-anchor:middle}.mark{stroke-dasharray:3 3}.line{fill:none;stroke-width:2}"
        f"{_theme(0)}{dashes}@media(prefers-color-scheme:dark){{{_theme(1)}}}"
    )
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {height:.0f}" role="img" '
        f'font-family="system-ui, DejaVu Sans, sans-serif" font-size="13">\n'
        f"<title>{escape(title)}</title><style>{style}</style>\n"
        f'<rect class="paper" width="{WIDE}" height="{height:.0f}" rx="6"/>\n{body}\n</svg>\n'
    )


def _theme(dark: int) -> str:
    ink, paper, faint = (("#1f2328", "#ffffff", "#d8dee4"), ("#e6edf3", "#0d1117", "#30363d"))[dark]
    series = "".join(
        f".s{at} circle,rect.s{at}{{fill:{pair[dark]}}}.s{at} .line{{stroke:{pair[dark]}}}"
        for at, pair in enumerate(COLOURS)
    )
    return f".paper{{fill:{paper}}}text{{fill:{ink}}}.axis,.mark{{stroke:{ink}}}.grid{{stroke:{faint}}}{series}"


def _text(x: float, y: float, said: str, kind: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(said)}</text>'


def _legend(names: Sequence[str], x: float, y: float, *, dashed: bool) -> Iterator[str]:
    for index, name in enumerate(names):
        sign = f'<path class="line" d="M{x:.1f} {y - 4}h26"/>' if dashed else ""
        block = "" if dashed else f'<rect class="s{index % 4}" x="{x:.1f}" y="{y - 10}" width="12" height="12"/>'
        yield f'<g class="s{index % 4}">{sign}{block}</g>' + _text(x + (32 if dashed else 17), y, name)
        x += 58 + 6.7 * len(name)


def _scale(values: Sequence[float], begin: float, end: float, *, log: bool) -> Callable[[float], float]:
    by: Callable[[float], float] = math.log10 if log else float
    low, high = by(min(values)), by(max(values))
    return lambda value: begin + (by(value) - low) / ((high - low) or 1.0) * (end - begin)


def _ticks(low: float, high: float) -> list[float]:
    """About six round numbers from low to high."""
    step = 10 ** math.floor(math.log10(((high - low) or 1.0) / 5))
    step *= next(factor for factor in (1, 2, 5, 10) if (high - low) / (step * factor) <= 6)
    first = math.ceil(low / step - 1e-9)
    return [round(number * step, 10) for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(values: Sequence[float]) -> list[float]:
    low, high = math.floor(math.log10(min(values)) + 1e-9), math.ceil(math.log10(max(values)) - 1e-9)
    return [10.0**power for power in range(low, high + 1)]


def _said(value: float, *, percent: bool = False) -> str:
    return f"{value * 100:g} %" if percent else f"{value:,.10g}"
