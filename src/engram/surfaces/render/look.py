"""Answers to a look around in words for a person: what was found, cited files, graphs and trends."""

from collections.abc import Callable, Iterator
from typing import Any

from engram.model import answers_look as a
from engram.surfaces.render.paper import Paper, ago, count, counts, cut, few, moment, table

BAR = "▁▂▃▄▅▆▇█"


def found(answer: a.Found, paper: Paper) -> Iterator[str]:
    """Hits in a table, with how relevant each is and how often it was used."""
    rows = []
    for hit, used in zip(answer.hits, answer.uses, strict=True):
        memory = hit.memory
        relevant = f"{hit.relevance:.0%}" if answer.query else ago(memory.created_at, answer.at)
        text = memory.gist
        rows.append([memory.handle, relevant, memory.kind, f"used {used}" if used else "never used", text])
    yield from table(rows, paper)
    if not rows:
        yield "Nothing fits."
    if answer.hint:
        yield answer.hint
    facts = [count(len(rows), "memory", "memories"), count(answer.tokens, "token")]
    if answer.held_back:
        facts.append(f"held back: {counts(answer.held_back)}")
    yield paper.dim(" · ".join(facts))
    if answer.next:
        yield paper.way(f"There is more: add --after {answer.next}")


def cited_files(answer: a.CitedFiles, paper: Paper) -> Iterator[str]:
    """A line a file, those first that need a look."""
    rows = []
    several = len({row.repo for row in answer.files}) > 1
    for row in answer.files:
        names = ", ".join(few([one.handle for one in row.memories]))
        rows.append([row.file, *([row.repo] if several else []), row.verdict, names, counts(row.verdicts)])
    yield from table(rows, paper)
    if answer.hint:
        yield answer.hint
    yield paper.dim(f"{count(answer.looked_at, 'memory', 'memories')} looked at.")
    if answer.next:
        yield paper.way(f"There is more: add --after {answer.next}")


def graph(answer: a.Graph, paper: Paper) -> Iterator[str]:
    """Every node, and under it whom it bears on."""
    names = {node.id: node.memory.handle if node.memory else node.label for node in answer.nodes}
    for node in answer.nodes:
        edges = [edge for edge in answer.edges if edge.source == node.id]
        if node.kind != "memory" and not edges:
            continue
        stands = f"  {paper.warn(node.standing)}" if node.standing not in ("", "live") else ""
        yield f"{paper.bold(names[node.id])}{stands}  {cut(node.label, paper.width - 24)}"
        yield from (f"  {edge.kind} → {cut(names[edge.target], paper.width - 30)}" for edge in edges)
    if answer.hint:
        yield answer.hint
    if answer.left_out:
        yield paper.way("There is more: --limit.")


def trends(answer: a.Trends, paper: Paper) -> Iterator[str]:
    """A line a subject, with a small picture of the growth."""
    yield paper.bold(count(answer.memories, "memory", "memories"))
    if answer.growth:
        most = max(day.made for day in answer.growth)
        last = answer.growth[-60:]
        drawn = "".join(BAR[(len(BAR) - 1) * day.made // most] for day in last)
        yield f"  growth       {drawn}  {last[0].day} to {last[-1].day}"
    yield f"  live kinds   {counts(answer.kinds) or 'none'}"
    for row in answer.agents:
        share = f"{row.acceptance:.0%} accepted" if row.acceptance is not None else "nothing decided"
        yield (
            f"  {cut(row.agent, 24):<12} {share}: {row.approved} approved, {row.rejected} rejected, "
            f"{row.waiting} waiting, {row.by_itself} live by themselves"
        )
    told = ", ".join(f"{name} {value:.1f} ms" for name, value in answer.latency.items())
    yield f"  recalls      {told or 'none were counted on this machine'}"
    yield f"  never used   {count(answer.unused, 'memory', 'memories')} older than a month"
    yield f"  said twice   {answer.repeated}, in different places"
    for name, at in answer.done.items():
        yield f"  last {name:<7} {moment(at)}"


RENDERERS: dict[type, Callable[[Any, Paper], Iterator[str]]] = {
    a.Found: found,
    a.CitedFiles: cited_files,
    a.Graph: graph,
    a.Trends: trends,
}
