"""Insights: what was noticed about how a person works, in a list of its own that no recall looks into."""

from collections import Counter

from engram.errors import Invalid, NotFound
from engram.model.answers import Remembered
from engram.model.answers_assets import Insights
from engram.model.answers_store import Receipt
from engram.model.filter import Filter
from engram.model.limits import check_choice
from engram.model.scope import Scope
from engram.operations import parameters as p
from engram.operations.base import Call, every, operation, require_between
from engram.operations.erasing import erase
from engram.operations.memories import admit, remembered_before
from engram.recall.pipeline import Question, recall
from engram.rules.insights import CATEGORIES, KIND, RUN
from engram.rules.proposals import Proposal

MOST = 200
OFF = "Insights are switched off: nothing new is kept. Switch them on: insights = true in engram.toml."


@operation(
    "POST /v1/insights",
    'engram insights save "Reads diffs before descriptions" --category workflow',
    writes=True,
    adds=True,
)
def insights_save(
    call: Call,
    text: p.InsightText,
    *,
    category: p.InsightCategory = "other",
    confidence: p.Confidence = None,
    source: p.InsightSource = "conversation",
    session: p.Session = "",
    token: p.Token = "",
) -> Remembered:
    """Save what was noticed about how the person works.

    It is theirs alone, and comes up in no recall.
    """
    del token
    if (event := call.replayed()) is not None:
        return remembered_before(call, event)
    check_choice("category", category, CATEGORIES)
    return admit(
        call,
        Proposal(
            text=text,
            scope=_place(call),
            session=session,
            kind=KIND,
            tags=(category,),
            source=source,
            confidence=confidence,
            visibility="private",
            context=call.context,
        ),
    )


@operation("GET /v1/insights", "engram insights list", "engram insights list diffs --category workflow")
def insights_list(
    call: Call,
    question: p.InsightQuestion = "",
    *,
    category: p.OnlyCategory = "",
    limit: p.Limit = 50,
    after: p.After = None,
) -> Insights:
    """Show what was noticed about how you work.

    Newest first, or what matches a question.
    """
    require_between("limit", limit, 1, MOST)
    where = _own(call, category)._replace(standings=("live",), now=call.now, view=call.caller.view)
    hint = "" if call.policy.insights else OFF
    if question.strip():
        if after:
            raise Invalid("The answer to a question is a single page.", "Leave the cursor out.")
        asked = Question(
            question,
            where._replace(standings=(), now=None),
            call.access,
            now=call.now,
            limit=min(limit, 50),
            embedder=call.embedder,
        )
        found = tuple(hit.memory for hit in recall(call.engine, asked).hits)
        return Insights(at=call.now, memories=found, hint=hint)
    page = call.page(where, after=after, limit=limit)
    counts = {} if after else Counter(tag for one in every(call, where) for tag in one.tags)
    memories = page.records
    return Insights(at=call.now, memories=memories, next=page.next, categories=dict(counts), hint=hint)


@operation(
    "DELETE /v1/insights",
    "engram insights purge --confirm",
    "engram insights purge --category workflow --confirm",
    writes=True,
    destructive=True,
    human=True,
)
def insights_purge(
    call: Call, *, category: p.OnlyCategory = "", confirm: p.Confirm = False, token: p.Token = ""
) -> Receipt:
    """Erase what was noticed about you. It cannot be undone.

    All of it, or all of one category.
    """
    del token
    if (event := call.replayed()) is not None:
        return Receipt(at=call.now, erased=event.subjects, event=event.seq, event_id=event.id, traces=None)
    where = _own(call, category)
    if not any(True for _ in every(call, where)):
        raise NotFound("There is no such insight to erase.", "See what there is: engram insights list.")
    return erase(call, call.request(confirm=confirm), lambda: list(every(call, where)))


def _own(call: Call, category: str) -> Filter:
    """What was noticed about the caller, in whatever standing."""
    if category:
        check_choice("category", category, CATEGORIES)
    return Filter(kinds=(KIND,), tags=(category,) if category else (), owner=call.caller.owner)


def _place(call: Call) -> Scope:
    """A scope of their own: an insight neither repeats a memory nor contradicts one."""
    return Scope("global", run=RUN, workspace=call.caller.workspace or "")
