"""How memories are connected, one question at a time: what replaced what, what conflicts, who cites a file."""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from engram.errors import Invalid
from engram.model.answers_look import Edge, Graph, Node
from engram.model.evidence import WORST
from engram.model.filter import Filter
from engram.model.memory import Memory, standing
from engram.operations import parameters as p
from engram.operations.base import Call, operation, require_between
from engram.operations.conflicting import Run
from engram.operations.evidence import cited
from engram.operations.relations import chain
from engram.operations.scopes import in_view, unplaced
from engram.rules.kinds import own_lists

MOST_NODES = 200
MOST_HUBS = 12
"""Files and tags that a project's map shows, the most shared first."""


@operation(
    "GET /v1/graph",
    "engram graph conflicts",
    "engram graph chain mem-0003",
    "engram graph file src/api.py",
    "engram graph file src/api.py --scope project:github.com/acme/api",
    "engram graph project project:github.com/acme/api --json",
)
def graph(
    call: Call,
    question: p.GraphQuestion,
    subject: p.GraphSubject = "",
    *,
    scope: p.CitedIn = "",
    everywhere: p.CitedEverywhere = False,
    limit: p.Limit = 40,
) -> Graph:
    """Show how memories are connected.

    It answers one question: which memory replaced which, which may contradict each other, which cite a file, or
    what a project is about.
    """
    require_between("limit", limit, 1, MOST_NODES)
    draw = _Drawing(call, limit)
    citing: Callable[[str], None] = partial(draw.file, scope=scope, everywhere=everywhere)
    ask = {"chain": draw.chain, "conflicts": draw.conflicts, "file": citing, "project": draw.project}
    if question not in ask:
        raise Invalid(f"There is no graph of {question!r}.", f"Use one of: {', '.join(ask)}.")
    if question != "file" and (scope or everywhere):
        raise Invalid(f"A graph of {question} takes no scope beside its subject.", "Leave it out.")
    ask[question](subject.strip())
    return Graph(
        at=call.now,
        question=question,
        subject=subject.strip(),
        nodes=tuple(draw.nodes.values()),
        edges=tuple(dict.fromkeys(draw.edges)),
        left_out=draw.left_out,
        hint=draw.hint,
    )


class _Drawing:
    """A graph as it grows to its limit."""

    def __init__(self, call: Call, limit: int) -> None:
        self._call, self._limit = call, limit
        self.nodes: dict[str, Node] = {}
        self.edges: list[Edge] = []
        self.left_out = 0
        self.hint = ""
        self._shown = 0  # memories; what they share does not count

    def chain(self, subject: str) -> None:
        """What replaced what: around one memory, or whatever was replaced last."""
        if subject:
            focus = self._call.memory(subject)
            found = [focus, *(one for one, _ in chain(self._call, focus))]
        else:
            where = self._within({}, standings=("replaced",))
            found = self._scanned(where, self._limit)
            found += self._got({one.replaced_by for one in found if one.replaced_by})
        self._memories(found)
        self._edges((one.id, one.replaced_by, "replaced by") for one in found if one.replaced_by)
        proposals = (one for one in found if one.amends and (one.waiting or one.staged))
        self._edges((one.id, one.amends, "would change") for one in proposals)
        if len(found) < 2:
            self.hint = "It replaced nothing, and nothing replaced it." if subject else "Nothing was replaced yet."

    def conflicts(self, subject: str) -> None:
        """Which may not both hold."""
        page = Run(self._call, subject, words=False, dry_run=True).told(self._limit, None, settled=False)
        for pair in page.pairs:
            if self._memories([pair.first, pair.second]):
                self._edges([(pair.first.id, pair.second.id, f"{pair.kind} ({pair.status})")])
        self.left_out += int(page.next is not None)
        self.hint = "" if page.pairs else "Nothing conflicts; to look for it: engram conflicts --scan."

    def file(self, subject: str, *, scope: str, everywhere: bool) -> None:
        """Who cites a file, and what else they cite."""
        if not subject:
            raise Invalid("No file was named.", "Name one, such as src/api.py; engram files lists them.")
        found = cited(self._call, subject, scope=scope, everywhere=everywhere)
        file = self._add(Node(f"file:{found.file}", "file", found.file))
        for row in sorted(found.memories, key=lambda row: WORST.index(row.verdict or "unreachable")):
            if self._memories([row.memory]):
                node = self.nodes[row.memory.id]
                self.nodes[node.id] = node._replace(verdict=row.verdict or "")
                self._edges([(row.memory.id, file, f"cites, {row.verdict or 'unchecked'}")])
                others = {cite.ref for cite in row.memory.citations if cite.kind == "file"} - {found.file}
                for other in sorted(others)[:3]:
                    self._edges([(row.memory.id, self._add(Node(f"file:{other}", "file", other)), "cites")])
        self.hint = f"{'' if found.memories else f'No memory cites {found.file}.'} {found.hint}".strip()

    def project(self, subject: str) -> None:
        """What a project is about: its newest memories, by the files and tags they share."""
        found = self._scanned(self._where(subject, standings=("live",)), self._limit)
        hubs: Counter[tuple[str, str]] = Counter()
        for one in found:
            hubs.update({*(("tag", tag) for tag in one.tags), *(("kind", one.kind),)})
            hubs.update({("file", cite.ref) for cite in one.citations if cite.kind == "file"})
        shown = {hub for hub, count in hubs.most_common(MOST_HUBS + 6) if count > 1 or hub[0] == "kind"}
        for kind, name in sorted(shown):
            self._add(Node(f"{kind}:{name}", kind, name))
        self._memories(found)
        for one in found:
            own = [("kind", one.kind), *(("tag", tag) for tag in one.tags)]
            own += [("file", cite.ref) for cite in one.citations if cite.kind == "file"]
            self._edges((one.id, f"{kind}:{name}", kind) for kind, name in own if (kind, name) in shown)
        self.hint = f"{'' if found else 'Nothing live is here.'} {unplaced(self._call, subject)}".strip()

    def _where(self, scope: str, **clauses: object) -> Filter:
        return self._within(in_view(self._call, scope), **clauses)

    def _within(self, place: dict[str, Any], **clauses: Any) -> Filter:  # noqa: ANN401 - clauses of Filter
        own = own_lists(self._call.policy.kinds)
        return Filter(**place, **clauses, except_kinds=own, now=self._call.now, view=self._call.caller.view)

    def _scanned(self, where: Filter, limit: int) -> list[Memory]:
        page = self._call.page(where, limit=limit)
        self.left_out += int(page.next is not None)
        return list(page.records)

    def _got(self, ids: Iterable[str]) -> list[Memory]:
        return list(self._call.memories(list(ids)).values())

    def _memories(self, memories: Iterable[Memory]) -> bool:
        """Put memories in, as far as they fit; whether all did."""
        whole = True
        for one in memories:
            stands = standing(one, self._call.now, self._call.caller.view)
            node = Node(one.id, "memory", one.gist, stands, one)
            if one.id not in self.nodes and self._shown >= self._limit:
                self.left_out += 1
                whole = False
            else:
                self._shown += one.id not in self.nodes
                self._add(node)
        return whole

    def _add(self, node: Node) -> str:
        self.nodes.setdefault(node.id, node)
        return node.id

    def _edges(self, edges: Iterable[tuple[str, str, str]]) -> None:
        self.edges += [Edge(*edge) for edge in edges if edge[0] in self.nodes and edge[1] in self.nodes]
