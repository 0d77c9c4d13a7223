"""Answers about attachments and insights in words for a person."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from engram.model import answers_assets as a
from engram.model.event import Edit
from engram.model.memory import Asset
from engram.surfaces.render.paper import Paper, counts, plain, table
from engram.surfaces.render.paper import rows as lines_of

SAID = {
    "attached": "Attached",
    "detached": "Detached",
    "repeated": "Known already",
    "held": "Waits for a person",
    "proposed": "Proposed",
}


def bytes_in_words(size: int) -> str:
    """A size as people say it."""
    for unit in ("bytes", "KiB", "MiB"):
        if size < 1024 or unit == "MiB":
            break
        size = round(size / 1024)
    return f"{size:,} {'byte' if size == 1 and unit == 'bytes' else unit}"


def asset_line(asset: Asset | a.AssetRow) -> str:
    """One attachment in a line."""
    return f"{plain(asset.name)} · {asset.media_type} · {bytes_in_words(asset.size)} · {asset.sha256[:12]}"


def asset_told(asset: Asset) -> str:
    """One attachment as a reviewer or history tells it: what it is called, what it is, how large."""
    return f"{plain(asset.name)} ({asset.media_type}, {bytes_in_words(asset.size)})"


def moved(old: Iterable[Asset], new: Iterable[Asset]) -> tuple[list[Asset], list[Asset]]:
    """What comes and what goes between two sets of attachments."""
    before, after = list(old), list(new)
    return [one for one in after if one not in before], [one for one in before if one not in after]


def assets_edited(edit: Edit) -> str:
    """What an edit of the attachments did, in words."""
    old, new = ([*side] if isinstance(side, list | tuple) else [side] if side else [] for side in edit[-2:])
    told = [("attached", one) for one in new if one not in old]
    told += [("detached", one) for one in old if one not in new]
    return ", ".join(f"{word} {asset_kept(one)}" for word, one in told)


def asset_kept(kept: object, *, media: bool = False) -> str:
    """An attachment as history keeps it: it may be from anywhere, so no record is made of it."""
    if not isinstance(kept, dict) or not kept.get("name"):
        return plain(str(kept))
    size = kept.get("size", 0)
    told = bytes_in_words(size) if isinstance(size, int) and abs(size) < 1 << 63 else str(size)
    type = f"{kept.get('media_type', '')}, " if media else ""
    return plain(f"{kept['name']} ({type}{told})")


def _attached(answer: a.Attached, paper: Paper) -> Iterator[str]:
    mark = paper.warn("◌") if answer.hint else paper.good("✓")
    again = "  (same token: nothing done again)" if answer.replayed else ""
    yield f"{mark} {SAID[answer.outcome]}: {paper.bold(plain(answer.asset.name))}  {answer.memory.handle}{again}"
    yield paper.dim(f"  {asset_line(answer.asset)}")
    if answer.hint:
        yield paper.dim(f"  {answer.hint}")
    elif answer.event and not answer.replayed:
        yield paper.back(answer.event)


def _assets(answer: a.Assets, paper: Paper) -> Iterator[str]:
    rows = [
        [plain(one.name), one.media_type, bytes_in_words(one.size), one.sha256[:12], "" if one.here else "not here"]
        for one in answer.assets
    ]
    yield from table(rows, paper)
    if not rows:
        name = answer.memory.handle
        yield paper.says(f"Nothing is attached to {name}. Attach a file: engram attach {name} FILE")


def _fetched(answer: a.Fetched, paper: Paper) -> Iterator[str]:
    yield f"{paper.good('✓')} Wrote {paper.bold(plain(answer.path))}"
    yield paper.dim(f"  {asset_line(answer.asset)}")


def _insights(answer: a.Insights, paper: Paper) -> Iterator[str]:
    yield from lines_of(answer.memories, answer.at, paper)
    if not answer.memories:
        yield "Nothing was noticed that fits."
    if answer.categories:
        yield paper.dim(counts(answer.categories))
    if answer.next:
        yield paper.way(f"There is more: add --after {answer.next}")
    if answer.hint:
        yield answer.hint


RENDERERS: dict[type, Callable[[Any, Paper], Iterator[str]]] = {
    a.Attached: _attached,
    a.Assets: _assets,
    a.Fetched: _fetched,
    a.Insights: _insights,
}
