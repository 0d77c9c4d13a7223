"""Looking through memories as a person does: by words and meaning, in any standing, with every filter."""

from collections.abc import Mapping

from engram.errors import Invalid
from engram.model.answers import Recollection
from engram.model.answers_look import Found
from engram.model.filter import Filter
from engram.model.limits import MOST_TAGS, composed
from engram.model.text import tokens
from engram.operations import parameters as p
from engram.operations.base import MOST_KINDS, Call, each, operation, require_between
from engram.operations.citing import checked
from engram.operations.memories import standings
from engram.operations.recalls import asked_by
from engram.operations.remarks import remarked
from engram.operations.scopes import in_view, strange_kinds, unplaced
from engram.recall.pipeline import Question
from engram.recall.pipeline import recall as look_up
from engram.rules.insights import require_memories
from engram.rules.kinds import own_lists

MOST_FOUND = 50
MOST_PASSED_OVER = 2000
"""How many memories that were recalled before are passed over in one asking for those that never were."""

MOST_WEIGHED = 200
"""How many that fit a question are looked at for those that were never recalled."""


@operation(
    "GET /v1/search",
    'engram search "database port" --standing all',
    "engram search --unused --since 30d --everywhere",
    "engram search --agent codex --ends-by 2026-12-31",
    'engram search "who owns billing" --as-of 2026-01-31',
    human=True,
)
def search(
    call: Call,
    question: p.SearchWords = "",
    *,
    scope: p.InScope = "",
    everywhere: p.Everywhere = False,
    kind: p.Kinds = (),
    tag: p.TagFilter = (),
    origin: p.Provenance = None,
    agent: p.MadeWith = None,
    branch: p.MadeOn = None,
    standing: p.Standings = ("live",),
    since: p.Since = None,
    until: p.Until = None,
    ends_by: p.EndsBy = None,
    as_of: p.AsOf = None,
    unused: p.Unused = False,
    words: p.WordsAlone = False,
    weak: p.Weak = False,
    limit: p.Limit = 20,
    after: p.After = None,
) -> Found:
    """Look through memories in any standing, with every filter.

    `recall` answers an agent with what is live; this shows a person everything there is, with reasons, and does not
    count as use.
    """
    require_between("limit", limit, 1, MOST_FOUND)
    kinds, table = tuple(each(kind, MOST_KINDS)), call.policy.kinds
    require_memories(kinds, table)
    where = Filter(
        **in_view(call, scope, everywhere=everywhere),
        kinds=kinds,
        except_kinds=own_lists(table),
        tags=tuple(map(composed, each(tag, MOST_TAGS))),
        origin=origin,
        agent=agent,
        made_on=branch,
        since=since,
        until=until,
        ends_by=ends_by,
        now=call.now,
        view=call.caller.view,
    )
    asked = standings(standing)
    if not question.strip() and as_of is not None:
        raise Invalid(
            "as_of needs a question.",
            "Say what to look for as well.",
        )
    if question.strip():
        asking = asked_by(call, question, limit=limit, as_of=as_of, words=words, weak=weak)
        found = _found(call, asking(where)._replace(standings=asked), unused=unused)
    else:
        found = _listed(call, where._replace(standings=asked), limit, after, unused=unused)
    if as_of is None:
        found = found._replace(hits=remarked(call, found.hits))
    strange = "" if found.hits or after else strange_kinds(call, where)
    return found._replace(hint=f"{strange or found.hint} {unplaced(call, scope, everywhere=everywhere)}".strip())


def _found(call: Call, asking: Question, *, unused: bool) -> Found:
    """What fits the words, best first."""
    uses, most = call.usage.uses(), asking.limit
    found = look_up(call.engine, asking._replace(limit=max(most, MOST_WEIGHED)) if unused else asking)
    hits = [hit for hit in found.hits if not (unused and hit.memory.id in uses)]
    return _with_usage(Found(**{**found._asdict(), "hits": tuple(hits[:most])}), uses)


def _listed(call: Call, where: Filter, limit: int, after: str | None, *, unused: bool) -> Found:
    """Without words: what the filters let through, newest first, page by page."""
    uses = call.usage.uses()
    hits: list[Recollection] = []
    for _ in range(MOST_PASSED_OVER // limit):
        page = call.page(where, after=after, limit=limit - len(hits))
        after = page.next
        fresh = (one for one in page.records if not (unused and one.id in uses))
        hits += (Recollection(one, 0.0, 0.0, {}, tokens(one.gist)) for one in fresh)
        if after is None or len(hits) >= limit:
            break
    evidence = checked(call, [hit.memory for hit in hits])
    shown = tuple(hit._replace(evidence=evidence.get(hit.memory.id, ())) for hit in hits)
    return _with_usage(Found(at=call.now, query="", hits=shown, next=after), uses)


def _with_usage(found: Found, uses: Mapping[str, int]) -> Found:
    return found._replace(
        tokens=sum(hit.tokens for hit in found.hits),
        uses=tuple(uses.get(hit.memory.id, 0) for hit in found.hits),
    )
