"""A graph as SVG that the page's own style colours: no script, nothing to load."""

from collections.abc import Mapping
from typing import NamedTuple

from markupsafe import Markup

from engram.model.answers_look import Edge, Graph, Node
from engram.surfaces.render.paper import cut, plain
from engram.surfaces.web.frame import address


class Size(NamedTuple):
    """How wide a node is and how far columns stand apart, at least, and how much room there is for all of them."""

    name: str
    box: int
    gap: int
    room: int

    def of(self, columns: int) -> "Size":
        """The size for so many columns: where these are few, nodes are wider, and then stand further apart."""
        between = max(columns - 1, 1)
        box = min(max(self.box, (self.room - self.gap * (columns - 1)) // max(columns, 1)), WIDEST)
        return self._replace(box=box, gap=min(max(self.gap, (self.room - box * columns) // between), FURTHEST))

    @property
    def letters(self) -> int:
        """How many letters a line of a node has room for."""
        return round((self.box - 20) / 6.4)


SIZES = (Size("wide", 250, 110, 1092), Size("narrow", 156, 30, 342))
"""Each graph is drawn for a screen with room and for one without; a page shows the one that fits."""

WIDEST = 420
"""A node that is wider says no more."""

FURTHEST = 260
"""Columns that stand further apart are hard to see together."""

LINE, ROW = 62, 76
"""How high a node is, and how far rows stand apart."""


class _Place(NamedTuple):
    x: float
    y: float


def graph(answer: Graph, scope: str = "") -> Markup:
    """A graph in columns: what an edge leads to stands to the right of what it comes from.

    A file leads on to what else cites it in the same scope.
    """
    columns = _columns(answer)
    return Markup("").join(_drawn(answer, columns, size.of(len(columns)), scope) for size in SIZES)


def _drawn(answer: Graph, columns: list[list[str]], size: Size, scope: str) -> Markup:
    places = {
        id: _Place(8 + at * (size.box + size.gap), 8 + row * ROW)
        for at, column in enumerate(columns)
        for row, id in enumerate(column)
    }
    width = 16 + len(columns) * size.box + max(len(columns) - 1, 0) * size.gap
    height = 16 + max(map(len, columns), default=1) * ROW
    edges = (edge for edge in answer.edges if edge.source in places and edge.target in places)
    drawn = [_curve(edge, places, size) for edge in edges]
    drawn += [_box(node, places[node.id], size, scope) for node in answer.nodes if node.id in places]
    return Markup(
        '<svg class="graph {3}" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="group" '
        'aria-label="The graph; the list below says the same">{2}</svg>'
    ).format(width, height, Markup("").join(drawn), size.name)


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


def _box(node: Node, at: _Place, size: Size, scope: str) -> Markup:
    name = (node.memory.handle or node.id[:13]) if node.memory else node.kind
    link = address(f"/memory/{node.id}") if node.memory else ""
    if node.kind == "file":
        link = address("/graph", question="file", subject=node.label, scope=scope)
    stands = [each for each in (node.standing, node.verdict) if each]
    label = ", ".join([f"{name}: {plain(node.label)}", *stands])
    inside = Markup(
        '<title>{}</title><rect class="box" x="{}" y="{}" width="{}" height="{}" rx="8"/>'
        '<svg x="{}" y="{}" width="{}" height="{}"><text class="node-name" x="0" y="17">{}</text>{}</svg>'
    ).format(
        label, at.x, at.y, size.box, LINE, at.x + 10, at.y, size.box - 14, LINE,
        " · ".join([name, *stands]), _lines(node.label, size),
    )  # fmt: skip
    tone = " ".join(stands) if node.memory else node.kind
    if not link:
        return Markup('<g class="node {}">{}</g>').format(tone, inside)
    whole = Markup('<a class="node {}" href="{}">{}</a>').format(tone, link, inside)
    return whole + _more(node, at, size) if node.memory else whole


def _lines(label: str, size: Size) -> Markup:
    return Markup("").join(
        Markup('<text class="node-text" x="0" y="{}">{}</text>').format(35 + 16 * row, line)
        for row, line in enumerate(broken(label, size.letters))
    )


def broken(label: str, room: int) -> list[str]:
    """The beginning of a label on two lines of so many letters, broken between words where there are any."""
    line = plain(" ".join(label.split()))
    first = cut(line, room)
    if first == line:
        return [line]
    kept = first[:-1]
    if " " in kept and not line[len(kept) :].startswith(" "):
        kept = kept.rpartition(" ")[0]
    return [kept.rstrip(), cut(line[len(kept) :], room)]


def _more(node: Node, at: _Place, size: Size) -> Markup:
    """The way to what hangs together with one memory."""
    assert node.memory is not None
    return Markup(
        '<a class="expand" href="{}" aria-label="+ what replaced what around {}"><circle cx="{}" cy="{}" r="10"/>'
        '<text x="{}" y="{}">+</text></a>'
    ).format(
        address("/graph", question="chain", subject=node.id), node.memory.handle,
        at.x + size.box - 14, at.y + 14, at.x + size.box - 14, at.y + 18.5,
    )  # fmt: skip


def _curve(edge: Edge, places: Mapping[str, _Place], size: Size) -> Markup:
    start, end = places[edge.source], places[edge.target]
    x1, y1, x2, y2 = start.x + size.box, start.y + LINE / 2, end.x, end.y + LINE / 2
    if x2 <= start.x:  # backwards, or within one column
        x2 = end.x + size.box
    bend = max(abs(x2 - x1) / 2, min(size.gap, 40))
    back = x2 - bend if x2 > x1 else x2 + bend
    path = f"M{x1:.0f},{y1:.0f} C{x1 + bend:.0f},{y1:.0f} {back:.0f},{y2:.0f} {x2:.0f},{y2:.0f}"
    return Markup('<path class="edge {}" d="{}"><title>{}</title></path>').format(
        edge.kind.split(" ")[0], path, edge.kind
    )
