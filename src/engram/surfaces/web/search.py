"""The search page: as you type, with every filter, and with why each hit is there."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any

from starlette.responses import Response

from engram.errors import EngramError, Invalid
from engram.model.answers import Recollection
from engram.model.memory import STANDINGS
from engram.surfaces.render.answers import FACTORS
from engram.surfaces.web import plots
from engram.surfaces.web.frame import Asked, Page, Tab
from engram.surfaces.web.leading import HANDLE

TABS = (Tab("search", "/search", "Search", "s"),)

AGES = {
    "": "Any age",
    "1": "Made today",
    "7": "Made this week",
    "30": "Made this month",
    "-30": "Older than a month",
    "-180": "Older than half a year",
}
ENDS = {"": "Any time", "7": "Within a week", "30": "Within a month", "90": "Within three months"}
MOST = 20


FIELDS = (
    *("q", "scope", "kind", "tag", "origin", "agent", "branch", "standing", "age", "ends", "as_of"),
    *("unused", "weak"),
)
"""What the form can say."""


def show(asked: Asked) -> Response:
    """What fits what was said so far."""
    engram = asked.engram.not_counting_use()
    found, error = None, None
    try:
        found = engram.search(asked.said("q").strip(), **_filters(asked, engram.now))
    except EngramError as refused:
        error = refused
    template = "search_hits.html" if asked.part else "search.html"
    most = (
        max((abs(value) for hit in found.hits for value in _parts(hit.reasons).values()), default=1) if found else 1
    )
    return asked.show(
        template,
        at=found.at if found else None,
        title="Search",
        here="search",
        found=found,
        error=error,
        most=most,
        parts_of=_parts,
        factors=FACTORS,
        bar=plots.bar,
        ages=AGES,
        ends=ENDS,
        standings=(*STANDINGS, "all"),
        kinds=[row.name for row in engram.kinds().kinds],
        said_here=_said(asked),
        pair_is_mine=_judging(asked, found.hits if found else ()),
    )


def scopes(asked: Asked) -> Response:
    """The projects there are, to choose from."""
    return asked.show("scopes.html", found=[str(one) for one in asked.engram.places()])


def _filters(asked: Asked, now: datetime) -> dict[str, Any]:
    """The options of the search that was asked for."""
    days, left = _listed(asked, "age", AGES), _listed(asked, "ends", ENDS)
    span = timedelta(days=abs(int(days))) if days else None
    standing = asked.said("standing", "live")
    filters: dict[str, Any] = {
        "scope": asked.said("scope").strip(),
        "everywhere": not asked.said("scope").strip(),
        "kind": [kind for kind in asked.each("kind") if kind],
        "tag": [tag.strip() for tag in asked.said("tag").split(",") if tag.strip()],
        "origin": asked.said("origin") or None,
        "agent": asked.said("agent").strip() or None,
        "branch": asked.said("branch").strip() or None,
        "standing": [standing or "live"],
        "since": now - span if span and not days.startswith("-") else None,
        "until": now - span if span and days.startswith("-") else None,
        "ends_by": now + timedelta(days=int(left)) if left else None,
        "as_of": _moment(asked.said("as_of"), now),
        "unused": asked.said("unused") == "yes",
        "weak": asked.said("weak") == "yes",
        "limit": MOST,
        "after": asked.said("after") or None,
    }
    return filters


def _listed(asked: Asked, name: str, choices: Mapping[str, str]) -> str:
    """What was chosen of a list."""
    if (chosen := asked.said(name)) not in choices:
        raise Invalid(f"{chosen!r} is not among the choices of {name}.", "Choose one of the list.")
    return chosen


def _moment(day: str, now: datetime) -> datetime | None:
    """The end of a day, or now where that is still to come."""
    if not day:
        return None
    try:
        return min(datetime.combine(datetime.fromisoformat(day).date(), time.max, UTC), now)
    except ValueError:
        raise Invalid(f"{day!r} is not a day.", "Write it as 2026-01-31.") from None


def _parts(reasons: Any) -> dict[str, float]:  # noqa: ANN401 - a mapping of a hit
    """What a score is the sum of, the largest first; nothing for what is nought."""
    parts = {name: value for name, value in reasons.items() if name not in FACTORS and abs(value) >= 0.005}
    return dict(sorted(parts.items(), key=lambda part: -abs(part[1])))


def _judging(asked: Asked, hits: Sequence[Recollection]) -> Callable[[Recollection, str], bool]:
    """Whether the pair that a mark of a hit tells of is this person's to judge: one of the two is theirs.

    What somebody judged or proposed is marked for them alone; what is suspected are two hits.
    """
    others = {hit.memory.handle for hit in hits if not asked.owns(hit.memory)}

    def mine(hit: Recollection, mark: str) -> bool:
        of_another = bool(others.intersection(HANDLE.findall(mark)))
        return asked.engram.caller.writes and (asked.owns(hit.memory) or not of_another)

    return mine


def _said(asked: Asked) -> dict[str, str]:
    """What the form says, to be said again by links."""
    return {name: asked.said(name) for name in FIELDS}


PAGES = (Page("GET", "/search", show), Page("GET", "/scopes", scopes))
