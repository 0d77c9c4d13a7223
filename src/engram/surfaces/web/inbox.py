"""The inbox: what waits for a person, beside what it would change, and one key for each decision."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from starlette.responses import HTMLResponse, Response

from engram.errors import Conflict, EngramError, Invalid, NotFound, Unconfirmed
from engram.model.answers import Changed, UnderReview
from engram.model.memory import CURATED, Citation, Memory
from engram.model.session import Session
from engram.service import Engram
from engram.surfaces.render.answers import beside as stands_beside
from engram.surfaces.render.answers import why_it_waits
from engram.surfaces.render.paper import count, cut
from engram.surfaces.render.steps import worded
from engram.surfaces.web.frame import HEADERS, Asked, Page, Tab, address, gone
from engram.surfaces.web.sessions import sessions_of

TABS = (Tab("inbox", "/inbox", "Inbox", "i"),)

PAGE = 20
MOST_COUNTED = 99
MODES = ("", "edit", "merge", "reject", "confirm")

COMPARED = (
    *("summary", "kind", "tags", "citations", "importance", "pinned", "visibility"),
    *("valid_from", "valid_until", "decay"),
)
"""Fields of a proposal that are told where they differ from what it would change."""


class Group(NamedTuple):
    """What came from one session, or from none."""

    session: str
    members: list[UnderReview]
    known: Session | None = None


def show(asked: Asked) -> Response:
    """What waits, oldest first, grouped by session; a page at a time."""
    scope = asked.project("scope")
    found = asked.engram.review(limit=PAGE, scope=scope, after=asked.said("after") or None)
    after = address("/inbox", after=found.next, scope=scope) if found.next else ""
    template = "inbox_groups.html" if asked.part else "inbox.html"
    groups = grouped(asked.engram, found.candidates)
    return asked.show(
        template,
        at=found.at,
        title="Inbox",
        here="inbox",
        groups=groups,
        looked=False,
        scope=scope,
        after=after,
        mode="",
        error=None,
        why=why_it_waits,
        changes=changes,
        stands_beside=stands_beside,
    )


def grouped(engram: Engram, under_review: Sequence[UnderReview]) -> list[Group]:
    """What waits, by session, in the order in which a session first appears."""
    groups: dict[str, list[UnderReview]] = {}
    for each in under_review:
        groups.setdefault(each.memory.session, []).append(each)
    known = sessions_of(engram, groups)
    return [Group(session, members, known.get(session)) for session, members in groups.items()]


def waiting(asked: Asked) -> Response:
    """How many wait, for the navigation: 99+ where it is more."""
    found = asked.engram.list(standing=("pending",), everywhere=True, limit=MOST_COUNTED + 1).memories
    own = sum(asked.decides(one) for one in found)
    return HTMLResponse(f"{MOST_COUNTED}+" if own > MOST_COUNTED else str(own or ""), headers=HEADERS)


def card(asked: Asked) -> Response:
    """One card anew: as it is, or with a form to edit, merge or reject in it."""
    mode = asked.said("mode")
    if mode not in MODES:
        raise Invalid(f"A card has no {mode!r}.", "Load the page again.")
    return _card(asked, _under_review(asked), mode)


def _card(asked: Asked, under_review: UnderReview, mode: str, error: EngramError | None = None) -> Response:
    """A card, alone on a page where there are no scripts, with what went wrong in it."""
    others, into = _others(under_review), asked.said("into").partition("@")[0]
    return asked.show(
        "inbox_card.html" if asked.part else "inbox_one.html",
        title="Inbox",
        here="inbox",
        under_review=under_review,
        looked=True,
        mode=mode,
        others=others,
        other=asked.engram.get(into).memories[0] if into else next(iter(others), None),
        error=error,
        why=why_it_waits,
        changes=changes,
        stands_beside=stands_beside,
    )


def changes(memory: Memory, amended: Memory) -> list[tuple[str, str, str]]:
    """What a proposal changes beside the words and the attachments: field, as it is, as it would be."""
    pairs = ((name, getattr(amended, name), getattr(memory, name)) for name in COMPARED)
    return [
        (name.replace("_", " "), worded(name, _plain(old)), worded(name, _plain(new)))
        for name, old, new in pairs
        if old != new
    ]


def _plain(value: object) -> object:
    """A field as history keeps it, which is what is worded."""
    if isinstance(value, tuple):
        return [vars(one) if isinstance(one, Citation) else one for one in value]
    return value.isoformat() if isinstance(value, datetime) else value


def beside(asked: Asked) -> Response:
    """What says nearly the same as one that waits: asked for when a reader comes near it."""
    return asked.show("inbox_near.html", under_review=_under_review(asked))


def evidence(asked: Asked) -> Response:
    """What one that waits rests on, as it was and as it is now: asked for as above."""
    return asked.show("inbox_evidence.html", under_review=_under_review(asked))


def _under_review(asked: Asked) -> UnderReview:
    """The one the address is about.

    Raises:
        NotFound: when it does not wait any more.
    """
    found = asked.engram.review(memory=(asked.path["memory"],)).candidates
    if not found:
        raise NotFound("This one does not wait any more.", "Somebody has decided about it: see its history.")
    return found[0]


def _others(under_review: UnderReview) -> list[Memory]:
    """What a merge is offered with, the likeliest first; what waits itself takes nothing in."""
    told = (under_review.amends, *(one for _, one in stands_beside(under_review)), *under_review.near)
    return [one for one in told if one and one.status == "promoted"]


def approve(asked: Asked) -> Response:
    """Approve one as it is, in other words, or merged into another."""
    text = asked.said("text").strip() or None
    into = asked.said("into")
    if unseen := _unseen(asked):
        return unseen
    return _decide(
        asked,
        lambda: asked.engram.promote(
            asked.path["memory"],
            text=text,
            into=into,
            keep=asked.said("keep") == "yes",
            revision=_revision(asked),
            confirm=asked.said("confirm") == "yes",
        ),
        "Merged" if into else "Approved",
    )


def _unseen(asked: Asked) -> Response | None:
    """The card with what says nearly the same, where one is approved before that was beside it.

    What is curated is asked about once more in any case, and has it beside it then.
    """
    if asked.said("mode") or asked.said("compared") == "yes":
        return None
    found = asked.engram.review(memory=(asked.path["memory"],)).candidates
    if not found or not found[0].near or found[0].memory.tier == CURATED:
        return None
    names = ", ".join(one.handle for one in found[0].near)
    alike = Conflict(f"Nearly the same: {names}.", "Look at what stands beside it, then approve it again.")
    return _card(asked, found[0], "", alike)


def reject(asked: Asked) -> Response:
    """Refuse one, with or without a reason."""
    reason = asked.said("reason").strip()
    return _decide(
        asked,
        lambda: asked.engram.reject(asked.path["memory"], reason=reason, revision=_revision(asked)),
        "Rejected",
    )


def _revision(asked: Asked) -> int:
    if (revision := asked.number("revision")) is None:
        raise Invalid("The form does not say what it was made for.", "Load the page again.")
    return revision


def _decide(asked: Asked, ask: Callable[[], Changed], word: str) -> Response:
    """Have it decided; where that cannot be, the card says why, and nothing that was typed is lost."""
    try:
        done = ask()
    except Unconfirmed as error:
        return _again(asked, "confirm", error)
    except (Conflict, Invalid) as error:
        return _again(asked, asked.said("mode") if asked.said("mode") in MODES else "", error)
    message = f"{word} {_named(done.memories)}."
    if done.replaced:
        message += f" It replaces {', '.join(one.handle for one in done.replaced)}."
    return asked.done(_gone([asked.path["memory"]]), message, done.event, back="/inbox")


def _again(asked: Asked, mode: str, error: EngramError) -> Response:
    if not asked.part and not isinstance(error, Unconfirmed):
        raise error
    try:
        under_review = _under_review(asked)
    except NotFound:
        gone = Conflict("Somebody else has decided about it.", "Its history says who, and how.")
        return asked.show("inbox_stale.html", error=gone, memory=asked.engram.get(asked.path["memory"]).memories[0])
    return _card(asked, under_review, mode, error)


def _gone(ids: Sequence[str]) -> str:
    return gone(f"m-{each}" for each in ids)


def _named(memories: Sequence[Memory]) -> str:
    if len(memories) == 1:
        return f"{memories[0].handle}: {cut(memories[0].text, 60)}"
    return count(len(memories), "memory", "memories")


# Many at once


def preview(asked: Asked) -> Response:
    """What would become of all that are chosen, one by one, before anything is done."""
    refs, act = asked.each("chosen"), asked.said("act")
    if act not in ("approve", "reject") or not refs:
        raise Invalid("Nothing is chosen.", "Choose some with the boxes, or with the key v.")
    ids = [ref.partition("@")[0] for ref in refs]
    chosen = asked.engram.review(memory=ids, limit=len(ids)).candidates
    known = {each.memory.id: each for each in chosen}
    stale = [ref for ref in refs if not _fits(known.get(ref.partition("@")[0]), ref)]
    return asked.show(
        "inbox_preview.html",
        title="Inbox",
        here="inbox",
        chosen=chosen,
        act=act,
        stale=stale,
        changes=changes,
        stands_beside=stands_beside,
    )


def _fits(under_review: UnderReview | None, ref: str) -> bool:
    return under_review is not None and f"{under_review.memory.id}@{under_review.memory.revision}" == ref


def bulk(asked: Asked) -> Response:
    """Decide about all that are chosen at once: every one of them, or none."""
    refs = asked.each("chosen")
    if asked.said("act") == "reject":
        done = asked.engram.reject(refs, reason=asked.said("reason").strip())
    else:
        done = asked.engram.promote(refs, confirm=asked.said("confirm") == "yes")
    word = "Rejected" if asked.said("act") == "reject" else "Approved"
    closing = '<hx-partial hx-target="#preview" hx-swap="innerHTML"></hx-partial>'
    gone = _gone([ref.partition("@")[0] for ref in refs])
    return asked.done(gone + closing, f"{word} {_named(done.memories)}.", done.event, back="/inbox")


PAGES = (
    Page("GET", "/inbox", show),
    Page("GET", "/inbox/count", waiting),
    Page("POST", "/inbox/preview", preview),
    Page("POST", "/inbox/bulk", bulk),
    Page("GET", "/inbox/{memory}", card),
    Page("GET", "/inbox/{memory}/near", beside),
    Page("GET", "/inbox/{memory}/evidence", evidence),
    Page("POST", "/inbox/{memory}/approve", approve),
    Page("POST", "/inbox/{memory}/reject", reject),
)
