"""The stats page: how the memory grows and is used, in plots and in tables."""

from starlette.responses import Response

from engram.surfaces.web import plots as draw
from engram.surfaces.web.frame import Asked, Page, Tab

TABS = (Tab("stats", "/stats", "Stats", "a"),)


def show(asked: Asked) -> Response:
    """The page at once; the plots follow, for counting reads everything."""
    return asked.show("stats.html", title="Stats", here="stats")


def plots(asked: Asked) -> Response:
    """What was counted."""
    found = asked.engram.trends()
    return asked.show("stats_plots.html", at=found.at, found=found, draw=draw)


PAGES = (Page("GET", "/stats", show), Page("GET", "/stats/plots", plots))
