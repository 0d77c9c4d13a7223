"""The conflicts page: pairs that may not both hold, side by side, and one key for each verdict."""

from collections.abc import Iterable
from typing import NamedTuple

from starlette.responses import Response

from engram.errors import Conflict, EngramError, Forbidden, Invalid, Unconfirmed
from engram.model.answers_work import Pair
from engram.model.memory import Memory
from engram.model.relation import RelationKind
from engram.surfaces.render.work import BEARS
from engram.surfaces.web.frame import Asked, Page, Tab, address, gone
from engram.surfaces.web.wording import compared

TABS = (Tab("conflicts", "/conflicts", "Conflicts", "c"),)

PAGE = 20

STANDS = {
    "open": ("suspected", "warn"),
    "proposed": ("proposed", "warn"),
    "judged": ("judged", "good"),
    "ignored": ("set aside", ""),
    "held": ("waits for review", "warn"),
}
VERDICTS: dict[str, tuple[RelationKind, str]] = {
    "first": ("supersedes", "{0} holds; {1} is out of use."),
    "second": ("supersedes", "{0} holds; {1} is out of use."),
    "compatible": ("compatible", "{0} and {1} both hold."),
    "scoped": ("scoped", "{0} and {1} hold, each in its own case."),
    "conflicts": ("conflicts", "{0} and {1} contradict each other."),
    "unrelated": ("unrelated", "{0} and {1} have nothing to do with each other."),
}
"""What a button sends → the verdict it gives, and what is told then."""

ASIDE = "aside"

LEAST_SAME = 0.4
"""What two texts have in common at least, of the shorter, for their differences to be marked."""


class Card(NamedTuple):
    """A pair as it is shown: the older memory first, whichever way it is judged."""

    pair: Pair
    sides: tuple[Memory, Memory]

    @classmethod
    def of(cls, pair: Pair) -> "Card":
        """The card of a pair."""
        older, newer = sorted((pair.first, pair.second), key=lambda memory: (memory.created_at, memory.id))
        return cls(pair, (older, newer))

    @property
    def id(self) -> str:
        """What the card is called on the page, whichever way the pair is judged."""
        return _name(one.id for one in self.sides)

    @property
    def path(self) -> str:
        """Where the pair has a page of its own, which takes verdicts too."""
        return f"/conflicts/{self.sides[0].id}~{self.sides[1].id}"

    @property
    def stands(self) -> tuple[str, str] | None:
        """The status of the pair as a chip says it, and its tone; None where nothing is known."""
        if (self.pair.status, self.pair.kind) == ("judged", "conflicts"):
            return "judged", "bad"
        return STANDS.get(self.pair.status)

    @property
    def apart(self) -> bool:
        """Whether so little is the same that a mark on all that differs would tell nothing."""
        older, newer = (one.text for one in self.sides)
        same = sum(_letters(span.text) for span in compared(older, newer) if span.kind == "same")
        return same < LEAST_SAME * min(_letters(older), _letters(newer))

    @property
    def said(self) -> tuple[str, str, str]:
        """What is known of the two: the name of one, how it bears on the other, and the name of that."""
        judged, suspected = BEARS[self.pair.kind]
        words = {"held": "contradicts", "judged": judged, "none": "and"}.get(self.pair.status, suspected)
        return self.pair.first.called, words, self.pair.second.called


def _name(ids: Iterable[str]) -> str:
    return f"p-{'-'.join(sorted(ids))}"


def _letters(text: str) -> int:
    return len("".join(text.split()))


def show(asked: Asked) -> Response:
    """What waits for a verdict, or what was settled, a page at a time."""
    scope, settled = asked.project("scope"), asked.said("settled") == "yes"
    found = asked.engram.conflicts(scope=scope, settled=settled, limit=PAGE, after=asked.said("after") or None)
    said = {"scope": scope, "settled": "yes" if settled else ""}
    return asked.show(
        "conflicts_rows.html" if asked.part else "conflicts.html",
        at=found.at,
        title="Conflicts",
        here="conflicts",
        cards=[Card.of(pair) for pair in found.pairs],
        scope=scope,
        settled=settled,
        said_here=said,
        more=address("/conflicts", after=found.next, **said) if found.next else "",
        stays=settled,
        error=None,
        reason="",
    )


def one(asked: Asked) -> Response:
    """Any two memories, with what is known of them."""
    return _one(asked, stays=True)


def _one(asked: Asked, error: EngramError | None = None, *, stays: bool, reason: str = "") -> Response:
    """One card, alone on a page where there are no scripts, with what went wrong in it."""
    found = asked.engram.conflicts(pair=asked.path["pair"])
    return asked.show(
        "conflicts_card.html" if asked.part else "conflicts_one.html",
        at=found.at,
        status=error.http_status if error and not asked.part else 200,
        title="Conflicts",
        here="conflicts",
        card=Card.of(found.pairs[0]),
        stays=stays,
        error=error,
        reason=reason,
    )


def judge(asked: Asked) -> Response:
    """Say how the two bear on one another, or set them aside; where that cannot be, the card says why.

    A card leaves the list of what is open with its pair. Any other stays, and says what holds now.
    """
    stays = asked.said("stays") == "yes"
    try:
        told = _settled(asked)
    except (Conflict, Forbidden, Invalid, Unconfirmed) as error:
        return _one(asked, error, stays=stays, reason=asked.said("reason"))
    if stays or told.is_open:
        body = bytes(_one(asked, stays=stays).body).decode()
    else:
        body = gone([_name(asked.path["pair"].split("~"))])
    back = f"/conflicts/{asked.path['pair']}" if stays else "/conflicts"
    return asked.done(body, told.message, told.event, back=back, hint=told.hint)


class Told(NamedTuple):
    """What became of a verdict, and the event that takes it back."""

    message: str
    event: int
    hint: str = ""
    is_open: bool = False  # whether the pair is still among those that wait for a word


def _settled(asked: Asked) -> Told:
    first, second = _seen(asked)
    said, reason = asked.said("verdict"), asked.said("reason").strip()
    if said == ASIDE:
        done = asked.engram.conflicts(ignore=f"{first}~{second}", pair=asked.path["pair"])
        names = done.ignored.replace("~", " and ")
        return Told(f"{names} are set aside: nobody is asked about them again.", done.event)
    if said not in VERDICTS:
        raise Invalid("The form says no verdict.", "Press the button of one.")
    kind, words = VERDICTS[said]
    judged = asked.engram.relate(*((second, first) if said == "second" else (first, second)), kind, reason=reason)
    known = {memory.id: memory.called for memory in judged.memories}
    proposed = judged.relation.status == "proposed"
    if proposed:
        words = "Proposed: {0} supersedes {1}."
    message = words.format(known[judged.relation.from_id], known[judged.relation.to_id])
    return Told(message, judged.event, judged.hint, proposed or kind == "conflicts")


def _seen(asked: Asked) -> list[str]:
    """The two memories, each at the revision that was on the page."""
    ids, revisions = asked.path["pair"].split("~"), (asked.number("revision"), asked.number("other_revision"))
    if len(ids) != len(revisions) or None in revisions:
        raise Invalid("The form does not say what it was made for.", "Load the page again.")
    return [f"{id}@{revision}" for id, revision in zip(ids, revisions, strict=True)]


PAGES = (
    Page("GET", "/conflicts", show),
    Page("GET", "/conflicts/{pair}", one),
    Page("POST", "/conflicts/{pair}", judge),
)
