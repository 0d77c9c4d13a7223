"""Finding again: recall answers a question, context prepares a session."""

from collections.abc import Sequence
from typing import cast

from engram.errors import Invalid
from engram.model.answers import Brief, Recalled
from engram.model.filter import Filter
from engram.model.limits import check_text
from engram.model.memory import Memory, Standing
from engram.operations import parameters as p
from engram.operations.base import Call, each, operation, require_between
from engram.operations.scopes import in_view
from engram.recall.brief import Section, brief
from engram.recall.pipeline import recall as answer
from engram.rules.kinds import KINDS, quiet

MOST_HITS = 50
MOST_ASKED = 1024 * 1024


@operation(
    "GET /v1/recall",
    'engram recall "when do we deploy"',
    'engram recall "database port" --kind infra --explain',
)
def recall(
    call: Call,
    question: p.Question,
    *,
    scope: p.InScope = "",
    kind: p.Kinds = (),
    tag: p.TagFilter = (),
    everywhere: p.Everywhere = False,
    limit: p.Limit = 5,
) -> Recalled:
    """Find what is known about something: live memories only, best first, with the reasons.

    Kinds that come on demand only (map, finding, prompt, insight) are found when they are asked for by name.
    """
    require_between("limit", limit, 1, MOST_HITS)
    check_text("text", question, lines=True, limit=MOST_ASKED)
    if not question.strip():
        raise Invalid("The question is empty.", 'Ask for something: engram recall "deploy day".')
    kinds = tuple(each(kind))
    where = Filter(
        **in_view(call, scope, everywhere=everywhere),
        kinds=kinds,
        except_kinds=() if kinds else quiet(call.policy.kinds or KINDS),
        tags=tuple(each(tag)),
        view=call.caller.view,
    )
    return answer(call.engine, question, where, call.access, now=call.now, limit=limit)


@operation("GET /v1/context", "engram context", 'engram context --query "release process" --budget 800')
def context(
    call: Call,
    *,
    query: p.ContextQuery = "",
    scope: p.InScope = "",
    budget: p.Budget = 0,
) -> Brief:
    """What a session should start with, within a token budget: pinned, rules, last summaries, what is asked for."""
    allowance = budget or call.budget
    require_between("budget", allowance, 50, 100_000)
    place = in_view(call, scope)
    on_demand = quiet(call.policy.kinds or KINDS)

    def live(limit: int, **clauses: object) -> Sequence[Memory]:
        where = Filter(
            **place,
            **clauses,  # type: ignore[arg-type] # clauses of Filter, checked by it
            except_kinds=on_demand,
            standings=cast("tuple[Standing, ...]", ("live",)),
            now=call.now,
            view=call.caller.view,
        )
        return cast("Sequence[Memory]", call.engine.scan("memory", where, call.access, limit=limit).records)

    asked: Sequence[Memory] = ()
    if query.strip():
        asked = [hit.memory for hit in recall(call, query, scope=scope, limit=20).hits]
    sections = [
        Section("Pinned", _weightiest(live(50, pinned=True))),
        Section("Rules", _weightiest(live(50, kinds=("rule", "constraint")))),
        Section("Last sessions", live(3, kinds=("summary",))),
        Section("About this", asked),
        Section("Recent", _weightiest(live(50))),
    ]
    return brief(sections, budget=allowance, now=call.now)


def _weightiest(memories: Sequence[Memory]) -> Sequence[Memory]:
    return sorted(memories, key=lambda one: -one.importance)  # stable: newest first among equals
