"""Answers about exchanges with other stores in words for a person: what went, what came, whom it met."""

from collections.abc import Callable, Iterator
from typing import Any

from engram.model import answers_sync as a
from engram.surfaces.render.paper import Paper, count, table


def _synced(answer: a.Synced, paper: Paper) -> Iterator[str]:
    if answer.dry_run:
        yield f"{paper.dim('·')} {answer.place}  {paper.dim(answer.scope)}"
        fresh = count(answer.sent, "memory", "memories")
        yield f"  To send: {count(answer.wrote, 'event')}, {fresh} not told of yet"
        yield f"  To read: {count(answer.read, 'chunk')}"
    else:
        left = f"{count(answer.files, 'file')} left from before" if answer.files else "nothing"
        chunks = f"{count(answer.sent, 'event')} in {count(answer.wrote, 'chunk')}" if answer.wrote else left
        events = count(answer.applied, "event") if answer.applied else "nothing"
        yield f"{paper.good('✓')} {answer.place}: sent {chunks}, took in {events}  {paper.dim(answer.scope)}"
    if answer.attachments:
        yield f"  With {count(answer.attachments, 'attachment')}"
    if answer.left_files:
        stay = "stays" if answer.left_files == 1 else "stay"
        yield paper.dim(
            f"  {count(answer.left_files, 'attached file')} {stay} here: git is told their names alone."
        )
    if answer.other_names:
        yield paper.dim(f"  Others call this project {' and '.join(answer.other_names)}.")
    if answer.erased:
        yield f"  Took the words of {count(answer.erased, 'event')} out of the files: they were purged"
    for name, number in answer.stayed.items():
        stay = "stays" if number == 1 else "stay"
        yield paper.dim(f"  {count(number, 'memory', 'memories')} {stay} home, being {name}.")
    also = [word for word, asked in (("private", answer.private), ("global", answer.everywhere)) if asked]
    if also:
        yield paper.dim(f"  Sent from here as well: {' and '.join(also)} memories.")
    yield from _uncounted(answer.uncounted, paper)
    yield from _held(answer.held, paper)
    yield from (paper.warn(f"  {line}") for line in (*answer.waiting, *answer.problems))
    if answer.hint:
        yield paper.dim(f"  {answer.hint}")


def _uncounted(number: int, paper: Paper) -> Iterator[str]:
    if number:
        does = "does" if number == 1 else "do"
        yield paper.warn(f"  {count(number, 'change')} of yours to what is somebody else's {does} not count.")


def _held(number: int, paper: Paper) -> Iterator[str]:
    if number:
        wait, contradict = ("waits", "it contradicts") if number == 1 else ("wait", "they contradict")
        told = f"  {count(number, 'memory', 'memories')} {wait} for review: {contradict} what is in use."
        yield paper.warn(f"{told} {paper.says('Decide: engram review')}")


def _replicas(answer: a.ReplicaList, paper: Paper) -> Iterator[str]:
    rows = [[row.replica[:13], row.device or "-", row.state, row.fingerprint] for row in answer.replicas]
    yield from table([["replica", "device", "state", "fingerprint"], *rows], paper)
    if answer.changed:
        live = count(answer.live, "memory came", "memories came")
        yield f"{paper.good('✓')} {live} into use by it; {count(answer.changed, 'record')} changed"
    yield from _uncounted(answer.uncounted, paper)
    yield from _held(answer.held, paper)
    if answer.hint:
        yield paper.dim(f"  {answer.hint}")


def _remotes(answer: a.RemoteList, paper: Paper) -> Iterator[str]:
    rows = [[row.name, row.url, ", ".join(row.scopes) or "-", row.hint] for row in answer.remotes]
    yield from table(rows, paper)
    if not rows:
        yield paper.says("No server yet: engram remote add NAME URL")
    if answer.hint:
        yield paper.dim(f"  {answer.hint}")


RENDERERS: dict[type, Callable[[Any, Paper], Iterator[str]]] = {
    a.Synced: _synced,
    a.ReplicaList: _replicas,
    a.RemoteList: _remotes,
}
