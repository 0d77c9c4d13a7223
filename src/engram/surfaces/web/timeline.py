"""The timeline page: what was remembered, day by day and session by session."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from starlette.responses import Response

from engram.errors import Invalid
from engram.model.memory import Memory
from engram.model.session import Session
from engram.service import Engram
from engram.surfaces.web.frame import Asked, Page, Tab
from engram.surfaces.web.sessions import sessions_of

TABS = (Tab("timeline", "/timeline", "Timeline", "t"),)

MOST = 60
STANDINGS = ("live", "pending", "stale", "staged", "expired", "scheduled")


class Stretch(NamedTuple):
    """What was remembered on one day in one session, newest first."""

    day: str
    session: str
    known: Session | None
    memories: Sequence[Memory]

    @property
    def title(self) -> str:
        """The day as people say it."""
        return f"{date.fromisoformat(self.day):%A, %-d %B %Y}"


def show(asked: Asked) -> Response:
    """A page of it, from a day or from where the page before ended; what was replaced only when asked for."""
    engram, scope, replaced = asked.engram, asked.said("scope").strip(), asked.said("replaced") == "yes"
    found = engram.list(
        scope=scope,
        everywhere=not scope,
        standing=[*STANDINGS, *(["replaced"] if replaced else [])],
        until=_end_of(asked.said("day")),
        limit=MOST,
        after=asked.said("after") or None,
    )
    template = "timeline_rows.html" if asked.part else "timeline.html"
    stretches = _stretches(engram, found.memories)
    said = {"day": asked.said("day"), "scope": scope, "replaced": "yes" if replaced else ""}
    return asked.show(
        template,
        at=found.at,
        title="Timeline",
        here="timeline",
        stretches=stretches,
        next=found.next,
        said_here=said,
    )


def _end_of(day: str) -> datetime | None:
    if not day:
        return None
    try:
        return datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(days=1)
    except (ValueError, OverflowError):
        raise Invalid(f"{day!r} is not a day.", "Write it as 2026-01-31.") from None


def _stretches(engram: Engram, memories: Sequence[Memory]) -> list[Stretch]:
    """Memories by day, and within it by session, as they follow one another."""
    groups: dict[tuple[str, str], list[Memory]] = {}
    for one in memories:
        groups.setdefault((f"{one.created_at:%Y-%m-%d}", one.session), []).append(one)
    known = sessions_of(engram, (session for _, session in groups))
    return [Stretch(day, name, known.get(name), found) for (day, name), found in groups.items()]


PAGES = (Page("GET", "/timeline", show),)
