"""The history page: what was done to everything one may read, and undo for each step."""

from starlette.responses import HTMLResponse, Response

from engram.errors import Unconfirmed
from engram.model.answers import Undone
from engram.surfaces.render.paper import count, cut
from engram.surfaces.render.steps import acts, sessions_in, tells, told_of
from engram.surfaces.web.frame import DONE, HEADERS, Asked, Page, Tab

TABS = (Tab("history", "/history", "History", "h"),)

UNDONE = "engram-undone"
"""What a page hears beside when something came back, so that lists show it again."""

MOST_NAMED = 2
"""Memories that an undo names by their handles."""


def show(asked: Asked) -> Response:
    """What was done, newest first, a page at a time."""
    found = asked.engram.history(limit=20, before=asked.number("before"))
    template = "history_rows.html" if asked.part else "history.html"
    return asked.show(
        template,
        at=found.at,
        title="History",
        here="history",
        found=found,
        told_of=told_of,
        tells=tells,
        sessions_in=sessions_in,
        of=None,
    )


def undo(asked: Asked) -> Response:
    """Take one event back, or all that was done to a memory since."""
    try:
        undone = asked.engram.undo(
            asked.said("event"), memory=asked.said("memory"), confirm=asked.said("confirm") == "yes"
        )
    except Unconfirmed as error:
        event = asked.number("event")
        if not asked.part or event is None:
            raise
        question = asked.word(error.message, event, again="Yes, I confirm it", confirm="yes", tone="asks")
        return HTMLResponse(question, headers=HEADERS)
    # Going back to a step, and what is done again, are decisions like any other, and are taken back as such.
    back_to = bool(asked.said("memory"))
    anew = back_to or any(event.action == "undo" for event in undone.events)
    named = [asked.said("event"), *(str(event.seq) for event in undone.events)]  # a batch goes by its own name
    took_back = [] if back_to else list(dict.fromkeys(filter(None, named)))
    now = undone.memories[0] if len(undone.memories) == 1 else None
    came = undone.memories[0] if undone.memories else None
    answer = asked.done(
        "", told(undone), undone.event, back="/history", took_back=took_back, again=not anew, now=now, came=came
    )
    answer.headers["HX-Trigger"] = f"{DONE}, {UNDONE}"
    return answer


def told(undone: Undone) -> str:
    """What an undo did, in a line."""
    what = acts(event.action for event in undone.events)
    if len(undone.memories) == 1:
        return f"Took back {what} of {undone.memories[0].handle}: {cut(undone.memories[0].text, 60)}"
    if 1 < len(undone.memories) <= MOST_NAMED:
        return f"Took back {what} of {' and '.join(one.handle for one in undone.memories)}."
    of = f" of {count(len(undone.memories), 'memory', 'memories')}" if undone.memories else ""
    return f"Took back {what}{of}."


PAGES = (Page("GET", "/history", show), Page("POST", "/undo", undo))
