"""Saving the items a text lists as learned, and suggesting a key for a continuing topic."""

from collections.abc import Sequence

from engram.errors import EngramError, Invalid
from engram.model.answers_work import Captured, Suggested
from engram.model.filter import Filter
from engram.model.limits import check_text
from engram.model.memory import Memory
from engram.operations import parameters as p
from engram.operations.base import Call, operation
from engram.operations.memories import admit, remembered_before
from engram.operations.scopes import scope_named
from engram.operations.sessions import at_work
from engram.rules.access import require_place
from engram.rules.capture import FEWEST_WORDS, MOST_ITEMS, SHORTEST, learned, suggested_key, summary_of
from engram.rules.proposals import MOST_READ, Proposal

SOURCE = "capture"


@operation("POST /v1/capture", "engram capture - --session 8f2c", writes=True, adds=True)
def capture(
    call: Call,
    text: p.Transcript,
    *,
    scope: p.ScopeName = "",
    session: p.OwnSession = "",
    source: p.Source = None,
    token: p.Token = "",
) -> Captured:
    """Save the items a text lists as learned.

    Each item under the heading `## Key learnings` becomes a memory; one that is already known is counted. What
    Engram itself put into the text, between its marks, is left out.
    """
    del token
    check_text("text", text, limit=MOST_READ, lines=True)
    place = scope_named(call, scope) if scope else call.home
    require_place(call.caller, place)
    items, slight, beyond = learned(text)
    batch, made_in = call.new_id(), session or at_work(call)
    made: list[Memory] = []
    repeated, problems = 0, _left_out(slight, beyond)
    for number, item in enumerate(items):
        said = Proposal(
            text=item,
            summary=summary_of(item) or None,
            kind="learning",
            kind_if_new=True,
            scope=place,
            session=made_in,
            source=source or SOURCE,
            context=call.context,
        )
        asking = call.part(number)
        earlier = asking.replayed()
        try:
            answer = remembered_before(asking, earlier) if earlier else admit(asking, said, batch=batch)
        except EngramError as error:  # one item that was rejected before must not cost the others
            problems.append(error.message)
            continue
        if answer.outcome == "repeated":
            repeated += 1
        else:
            made.append(answer.memory)
    return Captured(
        at=call.now, extracted=len(items), memories=tuple(made), repeated=repeated, problems=tuple(problems)
    )


def _left_out(slight: Sequence[str], beyond: int) -> list[str]:
    """What is said of items that were not taken up: nothing of a list goes missing without a word."""
    enough = f"Write at least {FEWEST_WORDS} words and {SHORTEST} letters."
    said = [f"Left out, for it says too little by itself: {item!r}. {enough}" for item in slight]
    if beyond:
        said.append(
            f"{beyond:,} more were left out: a list has up to {MOST_ITEMS} items. Capture the rest by itself."
        )
    return said


@operation("GET /v1/keys", 'engram suggest key --summary "JWT auth middleware" --kind architecture')
def suggest_key(
    call: Call,
    *,
    summary: p.TopicTitle = "",
    text: p.TopicText = "",
    kind: p.KindName = None,
    scope: p.ScopeName = "",
) -> Suggested:
    """Suggest a stable key for a continuing topic.

    Whatever is saved later under the same key revises the same memory.
    """
    if not (summary.strip() or text.strip()):
        raise Invalid("There is nothing to name.", 'Give a summary or a text: --summary "JWT auth middleware".')
    key = suggested_key(text, summary, kind or "")
    where = Filter(key=key, owner=call.caller.owner, scopes=(scope_named(call, scope) if scope else call.home,))
    held = call.page(where, limit=1).records
    return Suggested(at=call.now, key=key, held_by=held[0] if held else None)
