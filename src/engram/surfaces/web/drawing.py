"""Pictures of numbers and of graphs, as SVG that the page's own style colours: no script, nothing to load."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from engram.model.answers import Edge, Graph, Growth, Node, Proposer
from engram.surfaces.paper import cut, plain
from engram.surfaces.web.frame import address

BOX, LINE, GAP, ROW = 250, 46, 110, 62
"""How wide and high a node is, how far columns stand apart, and rows from one another."""

PLOT, HEIGHT = 640, 200
LEFT, BOTTOM, TOP = 66, 24, 10


class _Place(NamedTuple):
    x: float
    y: float


def bar(value: float, most: float, tone: str = "", *, width: int = 120) -> Markup:
    """One number as a bar, against the largest of its kind."""
    length = round(width * min(abs(value) / most, 1.0), 1) if most else 0
    return Markup(
        '<svg class="bar {}" width="{}" height="10" viewBox="0 0 {} 10" aria-hidden="true">'
        '<rect class="rail" width="{}" height="10" rx="3"/><rect class="fill" width="{}" height="10" rx="3"/></svg>'
    ).format(tone, width, width, width, length)


def growth(days: Sequence[Growth]) -> Markup:
    """How many memories there were at the end of each day, and how many were made on it."""
    if not days:
        return Markup("")
    most, tallest = max(day.total for day in days), max(day.made for day in days)
    wide, high = PLOT - LEFT - 32, HEIGHT - BOTTOM - TOP
    step = wide / max(len(days) - 1, 1)
    points = [(LEFT + 12 + step * at, TOP + high * (1 - day.total / most)) for at, day in enumerate(days)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    floor = HEIGHT - BOTTOM
    slim = max(min(step * 0.7, 14), 1)
    bars = [
        f'<rect class="made" x="{x - slim / 2:.1f}" y="{floor - high * 0.35 * day.made / tallest:.1f}" '
        f'width="{slim:.1f}" height="{high * 0.35 * day.made / tallest:.1f}"/>'
        for (x, _), day in zip(points, days, strict=True)
    ]
    area = f'<polygon class="area" points="{LEFT + 12},{floor} {line} {points[-1][0]:.1f},{floor}"/>'
    ends = [days[0].day, days[len(days) // 2].day, days[-1].day] if len(days) > 2 else [days[0].day]
    drawn = [_grid(most), area, *bars, f'<polyline class="line" points="{line}"/>', _below(ends)]
    return _framed("growth", "".join(drawn))


def latency(took: Sequence[float]) -> Markup:
    """How long each of the last recalls took, in the order they were asked."""
    if not took:
        return Markup("")
    most = max(took)
    wide, high = PLOT - LEFT - 8, HEIGHT - BOTTOM - TOP
    step = wide / len(took)
    slim = max(min(step * 0.8, 12), 1)
    bars = [
        f'<rect class="made" x="{LEFT + step * at:.1f}" y="{TOP + high * (1 - value / most):.1f}" '
        f'width="{slim:.1f}" height="{max(high * value / most, 1):.1f}"/>'
        for at, value in enumerate(took)
    ]
    return _framed("latency", _grid(most, " ms") + "".join(bars) + _below(["earlier", "", "latest"]))


def kinds(counts: Mapping[str, int]) -> Markup:
    """How many live memories there are of each kind: the most first, ten at most."""
    rows = list(counts.items())[:10]
    most = max((number for _, number in rows), default=1)
    parts = []
    for at, (name, number) in enumerate(rows):
        y = 8 + at * 26
        length = max((PLOT - 220) * number / most, 2)
        parts.append(
            Markup(
                '<text x="120" y="{}" class="name">{}</text>'
                '<rect class="fill" x="130" y="{}" width="{}" height="16" rx="4"/>'
                '<text x="{}" y="{}" class="number">{}</text>'
            ).format(y + 13, cut(name, 16), y, f"{length:.1f}", f"{138 + length:.1f}", y + 13, f"{number:,}")
        )
    return _sized("kinds", len(rows) * 26 + 12, parts)


def acceptance(agents: Sequence[Proposer]) -> Markup:
    """Of what each proposed: approved, live by itself, waiting, rejected; as shares of all."""
    rows = agents[:10]
    parts = []
    for at, row in enumerate(rows):
        y, x = 8 + at * 30, 130.0
        total = row.approved + row.by_itself + row.waiting + row.rejected or 1
        parts.append(Markup('<text x="120" y="{}" class="name">{}</text>').format(y + 14, cut(row.agent, 16)))
        for name in ("approved", "by_itself", "waiting", "rejected"):
            width = (PLOT - 230) * getattr(row, name) / total
            parts.append(
                Markup('<rect class="{}" x="{}" y="{}" width="{}" height="18"/>').format(
                    name.replace("_", "-"), f"{x:.1f}", y, f"{width:.1f}"
                )
            )
            x += width
        share = "nothing decided" if row.acceptance is None else f"{row.acceptance:.0%} accepted"
        parts.append(Markup('<text x="{}" y="{}" class="number">{}</text>').format(f"{x + 8:.1f}", y + 14, share))
    return _sized("acceptance", len(rows) * 30 + 10, parts)


def graph(answer: Graph) -> Markup:
    """A graph in columns: what an edge leads to stands to the right of what it comes from."""
    columns = _columns(answer)
    places = {
        id: _Place(8 + at * (BOX + GAP), 8 + row * ROW)
        for at, column in enumerate(columns)
        for row, id in enumerate(column)
    }
    width = 16 + len(columns) * BOX + max(len(columns) - 1, 0) * GAP
    height = 16 + max(map(len, columns), default=1) * ROW
    drawn = [_curve(edge, places) for edge in answer.edges if edge.source in places and edge.target in places]
    drawn += [_box(node, places[node.id]) for node in answer.nodes if node.id in places]
    return Markup(
        '<svg class="graph" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="group" aria-label="{2}">{3}</svg>'
    ).format(width, height, "The graph; the list below says the same", Markup("").join(drawn))


def _columns(answer: Graph) -> list[list[str]]:
    """Which node stands in which column, from left to right, near to what it hangs together with."""
    depth = _depths(answer)
    columns: list[list[str]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node in answer.nodes:
        columns[depth[node.id]].append(node.id)
    for at in range(1, len(columns)):
        rank = {id: place for place, id in enumerate(columns[at - 1])}
        near: dict[str, list[int]] = {}
        for edge in answer.edges:
            if edge.source in rank:
                near.setdefault(edge.target, []).append(rank[edge.source])
        places = {id: sum(found) / len(found) for id, found in near.items()}
        columns[at].sort(key=lambda each: places.get(each, len(rank)))
    return [column for column in columns if column]


def _depths(answer: Graph) -> dict[str, int]:
    """How many edges lead to each node at most; where they go in a circle, as far as a walk comes."""
    depth = {node.id: 0 for node in answer.nodes}
    for _ in range(min(len(depth), 24)):
        moved = False
        for edge in answer.edges:
            if edge.source in depth and edge.target in depth and depth[edge.target] < depth[edge.source] + 1 <= 24:
                depth[edge.target] = depth[edge.source] + 1
                moved = True
        if not moved:
            break
    return depth


def _box(node: Node, at: _Place) -> Markup:
    name = (node.memory.handle or node.id[:13]) if node.memory else node.kind
    link = address(f"/memory/{node.id}") if node.memory else ""
    if node.kind == "file":
        link = address("/graph", question="file", subject=node.label)
    label = f"{name}: {plain(node.label)}" + (f", {node.standing}" if node.standing else "")
    inside = Markup(
        '<title>{}</title><rect class="box" x="{}" y="{}" width="{}" height="{}" rx="8"/>'
        '<text class="node-name" x="{}" y="{}">{}</text><text class="node-text" x="{}" y="{}">{}</text>'
    ).format(
        label, at.x, at.y, BOX, LINE, at.x + 10, at.y + 17,
        f"{name} · {node.standing}" if node.standing else name, at.x + 10, at.y + 35, cut(node.label, 34),
    )  # fmt: skip
    tone = node.standing if node.memory else node.kind
    if not link:
        return Markup('<g class="node {}">{}</g>').format(tone, inside)
    whole = Markup('<a class="node {}" href="{}">{}</a>').format(tone, link, inside)
    return whole + _more(node, at) if node.memory else whole


def _more(node: Node, at: _Place) -> Markup:
    """The way to what hangs together with one memory."""
    assert node.memory is not None
    return Markup(
        '<a class="expand" href="{}" aria-label="+ what replaced what around {}"><circle cx="{}" cy="{}" r="10"/>'
        '<text x="{}" y="{}">+</text></a>'
    ).format(
        address("/graph", question="chain", subject=node.id), node.memory.handle,
        at.x + BOX - 14, at.y + 14, at.x + BOX - 14, at.y + 18.5,
    )  # fmt: skip


def _curve(edge: Edge, places: Mapping[str, _Place]) -> Markup:
    start, end = places[edge.source], places[edge.target]
    x1, y1, x2, y2 = start.x + BOX, start.y + LINE / 2, end.x, end.y + LINE / 2
    if x2 <= start.x:  # backwards, or within one column
        x2 = end.x + BOX
    bend = max(abs(x2 - x1) / 2, 40)
    back = x2 - bend if x2 > x1 else x2 + bend
    path = f"M{x1:.0f},{y1:.0f} C{x1 + bend:.0f},{y1:.0f} {back:.0f},{y2:.0f} {x2:.0f},{y2:.0f}"
    return Markup('<path class="edge {}" d="{}"><title>{}</title></path>').format(
        edge.kind.split(" ")[0], path, edge.kind
    )


def _grid(most: float, unit: str = "") -> str:
    rows = []
    for share in (0, 0.5, 1):
        y = TOP + (HEIGHT - BOTTOM - TOP) * (1 - share)
        rows.append(f'<line class="grid" x1="{LEFT}" x2="{PLOT - 8}" y1="{y:.1f}" y2="{y:.1f}"/>')
        value = f"{most * share:,.0f}" if most >= 10 else f"{most * share:,.1f}"
        rows.append(f'<text class="axis" x="{LEFT - 6}" y="{y + 4:.1f}">{value}{unit}</text>')
    return "".join(rows)


def _below(words: Sequence[str]) -> str:
    places = [(LEFT, "start"), ((LEFT + PLOT) / 2, "middle"), (PLOT - 8, "end")]
    return "".join(
        f'<text class="below" x="{x:.0f}" y="{HEIGHT - 6}" text-anchor="{anchor}">{word}</text>'
        for word, (x, anchor) in zip(words, places, strict=False)
    )


def _framed(name: str, inside: str) -> Markup:
    """A plot of numbers and of words of our own: nothing in it was written by anybody else."""
    drawn = f'<svg class="plot {name}" viewBox="0 0 {PLOT} {HEIGHT}" aria-hidden="true">{inside}</svg>'
    return Markup(drawn)  # noqa: S704 - see above


def _sized(name: str, height: int, parts: Sequence[Markup]) -> Markup:
    return Markup('<svg class="plot {}" viewBox="0 0 {} {}" aria-hidden="true">{}</svg>').format(
        name, PLOT, height, Markup("").join(parts)
    )
