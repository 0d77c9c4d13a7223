"""Answers about a team's store in words for a person: keys, whose memories are, and their workspaces."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from engram.model import answers_work as a
from engram.surfaces.render.paper import Paper, ago, count, cut, table

MOST_SHOWN = 10
"""How many memories an answer names."""


def _minted(answer: a.Minted, paper: Paper) -> Iterator[str]:
    yield f"{paper.good('✓')} Made {paper.bold(answer.row.handle)} {answer.row.name}: it can {_can(answer.row)}"
    yield f"  {answer.key}"
    yield paper.dim(f"  It speaks for {answer.row.owner} in the org {answer.org}; another org: ENGRAM_ORG=NAME.")
    if answer.doubt:
        yield paper.warn(f"  {answer.doubt}")
    if answer.row.workspace:
        yield paper.dim(f"  It opens the workspace {answer.row.workspace} alone.")
    else:
        yield paper.way(
            "  It is for no workspace: where workspaces are on, it opens nothing; name one: --workspace NAME."
        )
    yield paper.way(f"  It is shown this once. End it: engram keys revoke {answer.row.handle}")


def _keys(answer: a.Keys, paper: Paper) -> Iterator[str]:
    rows = [[one.handle, one.name, one.owner, _can(one), _opens(one), _ends(one, answer)] for one in answer.keys]
    yield from table(
        rows if any(one.workspace for one in answer.keys) else [[*row[:4], row[5]] for row in rows], paper
    )
    if not answer.keys:
        yield paper.says("No key. Make one: engram keys create NAME")


def _can(row: a.KeyRow) -> str:
    return " and ".join(row.can)


def _opens(row: a.KeyRow) -> str:
    return f"in {row.workspace}" if row.workspace else "in no workspace"


def _ends(row: a.KeyRow, answer: a.Keys) -> str:
    if row.revoked_at is not None:
        return f"revoked {ago(row.revoked_at, answer.at)}"
    if row.expires_at is None:
        return "never ends"
    ended = row.expires_at <= answer.at
    return f"{'ended' if ended else 'ends'} on {row.expires_at:%Y-%m-%d}"


def _assigned(answer: a.Assigned, paper: Paper) -> Iterator[str]:
    sign = paper.good("✓") if answer.applied else paper.dim("·")
    verb = "Gave" if answer.applied else "Would give"
    yield f"{sign} {verb} {paper.bold(answer.to)}: {_records(answer.records)}"
    for memory in answer.memories[:MOST_SHOWN]:
        yield f"  {memory.id[:13]}  {cut(memory.gist, paper.width - 18)}"
    if answer.kept_back:
        yield paper.warn(f"  {answer.kept_back} kept back: {answer.to} has the same key or text already.")
    if not answer.applied and any(answer.records.values()):
        yield paper.way("  Do it: add --apply.")


def _records(numbers: Mapping[str, int]) -> str:
    """How many records of each type, in words."""
    told = [
        count(number, type, "memories" if type == "memory" else "") for type, number in numbers.items() if number
    ]
    return ", ".join(told) or "nothing"


def _placed(answer: a.Placed, paper: Paper) -> Iterator[str]:
    sign = paper.good("✓") if answer.applied else paper.dim("·")
    verb = "Moved" if answer.applied else "Would move"
    told = f"{_records(answer.records)} of {answer.owner}"
    yield f"{sign} {verb} into {paper.bold(answer.workspace)}: {told}"
    yield from (f"  {number:>6}  {scope}" for scope, number in answer.scopes.items())
    if answer.kept_back:
        yield paper.warn(f"  {answer.kept_back} kept back: the same key or text is there already.")
    if not answer.applied and any(answer.records.values()):
        yield paper.way("  Do it: add --apply.")


RENDERERS: dict[type, Callable[[Any, Paper], Iterator[str]]] = {
    a.Minted: _minted,
    a.Keys: _keys,
    a.Assigned: _assigned,
    a.Placed: _placed,
}
