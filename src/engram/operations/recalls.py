"""Finding again: recall answers a question, context prepares a session."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import cast

from engram.errors import Invalid
from engram.model.answers import Brief, Recalled
from engram.model.evidence import BROKEN, verdict_of
from engram.model.filter import Filter
from engram.model.limits import MOST_TAGS, check_text, check_time, composed, end_of_day
from engram.model.memory import Memory, Standing
from engram.operations import parameters as p
from engram.operations.absent import Unwatched
from engram.operations.base import MOST_KINDS, Call, each, operation, require_between
from engram.operations.citing import checked
from engram.operations.remarks import remarked, remarks
from engram.operations.scopes import in_view, namesake, strange_kinds, unplaced
from engram.ports import Followed, able
from engram.recall.brief import Section, brief
from engram.recall.meaning import begin
from engram.recall.pipeline import CLEAR, Question
from engram.recall.pipeline import recall as look_up
from engram.rules.access import is_keeper
from engram.rules.insights import require_memories
from engram.rules.kinds import in_context, own_lists, quiet

MOST_HITS = 50
MOST_ASKED = 1024 * 1024

ON_A_BRANCH = "Something was learned on a branch that is not merged: engram list --standing staged."
"""What a question is told to which only another branch has an answer."""


@operation(
    "GET /v1/recall",
    'engram recall "when do we deploy"',
    'engram recall "database port" --kind infra --explain',
    'engram recall "who owns billing" --as-of 2026-01-31',
)
def recall(
    call: Call,
    question: p.Question,
    *,
    scope: p.InScope = "",
    kind: p.Kinds = (),
    tag: p.TagFilter = (),
    everywhere: p.Everywhere = False,
    since: p.Since = None,
    until: p.Until = None,
    as_of: p.AsOf = None,
    words: p.WordsAlone = False,
    weak: p.Weak = False,
    limit: p.Limit = 5,
) -> Recalled:
    """Find what is known about something, by words and by meaning.

    Live memories only, best first, with reasons; if nothing is relevant, the answer says so.

    On-demand kinds (map, finding, prompt) are found only when asked for by name.
    """
    require_between("limit", limit, 1, MOST_HITS)
    stop_timer = call.usage.begin()
    asked = asked_by(call, question, limit=limit, as_of=as_of, words=words, weak=weak)
    kinds, table = tuple(each(kind, MOST_KINDS)), call.policy.kinds
    require_memories(kinds, table)
    where = Filter(
        **in_view(call, scope, everywhere=everywhere),
        kinds=kinds,
        except_kinds=own_lists(table) if kinds else quiet(table),
        tags=tuple(map(composed, each(tag, MOST_TAGS))),
        since=since,
        until=until,
        view=call.caller.view,
    )
    answer = _without_amended(look_up(call.engine, asked(where)))
    if as_of is None:
        answer = answer._replace(hits=remarked(call, answer.hits))
    stop_timer([hit.memory.id for hit in answer.hits], call.now)
    followed = able(call.engine, Followed)
    alone = _alone(call, followed.degraded()) if followed else ""
    staged = ON_A_BRANCH if not answer.hits and answer.held_back.get("staged") else ""
    instead = ""
    if not answer.hits or answer.unsure:
        instead = strange_kinds(call, where) if kinds else _on_demand(call, asked, where, sure=bool(answer.hits))
    other = "" if answer.hits else namesake(call, scope, everywhere=everywhere)
    said = (answer.hint, instead) if answer.hits else (instead or answer.hint,)
    hints = (*said, unplaced(call, scope, everywhere=everywhere), alone, staged, other)
    return answer._replace(hint="\n".join(filter(None, hints))) if instead or any(hints[1:]) else answer


def _on_demand(call: Call, asked: Callable[[Filter], Question], where: Filter, *, sure: bool) -> str:
    """A hint that memories of a kind that comes only when asked for by name would answer; "" where none would.

    With `sure`, which is for questions that have other hits, only a clear answer counts.
    """
    apart = own_lists(call.policy.kinds)
    kinds = tuple(kind for kind in quiet(call.policy.kinds) if kind not in apart)
    found = look_up(call.engine, asked(where._replace(kinds=kinds, except_kinds=apart))).hits
    if not found or (sure and found[0].relevance < CLEAR):
        return ""
    return f"What is known of it comes on demand only: engram recall QUESTION --kind {found[0].memory.kind}."


def _alone(call: Call, why: str) -> str:
    """A hint that an index beside the store did not answer; only whoever looks after the store is told why."""
    return why if not why or is_keeper(call.caller) else "The index did not answer, so the store answered alone."


@operation("GET /v1/context", "engram context", 'engram context --query "release process" --budget 800')
def context(
    call: Call,
    *,
    query: p.ContextQuery = "",
    scope: p.InScope = "",
    budget: p.Budget = 0,
    words: p.WordsAlone = False,
    with_drifted: p.WithDrifted = False,
) -> Brief:
    """Show what a session should start with, within a token budget.

    Pinned memories, rules, the last summaries, and what the query calls for; it says what it left out. Memories
    whose citations have changed or are gone are left out.
    """
    allowance = budget or call.budget
    require_between("budget", allowance, 50, 100_000)
    place = in_view(call, scope)
    stop_timer = call.usage.begin()
    on_demand = quiet(call.policy.kinds)

    def live(limit: int, **clauses: object) -> Sequence[Memory]:
        where = Filter(
            **place,
            **clauses,  # type: ignore[arg-type] # clauses of Filter, checked by it
            except_kinds=on_demand,
            standings=cast("tuple[Standing, ...]", ("live",)),
            now=call.now,
            view=call.caller.view,
        )
        return [one for one in call.page(where, limit=limit).records if in_context(one)]

    asked: Sequence[Memory] = ()
    hint = ""
    if query.strip():
        answer = recall(call._replace(usage=Unwatched()), query, scope=scope, words=words, limit=20)
        asked, hint = [hit.memory for hit in answer.hits if in_context(hit.memory)], _from_afar(answer.hint)
    sections = [
        Section("Pinned", _weightiest(live(50, pinned=True))),
        Section("Rules", _weightiest(live(50, kinds=("rule", "constraint")))),
        Section("Last sessions", live(3, kinds=("summary",))),
        Section("About this", asked),
        Section("Recent", _weightiest(live(50))),
    ]
    hints = [hint or unplaced(call, scope)]
    broken = _broken(call, sections)
    if broken and not with_drifted:
        sections = [
            Section(one.title, [each for each in one.memories if each.id not in broken]) for one in sections
        ]
        they_cite = "it cites" if len(broken) == 1 else "they cite"
        hints.append(f"{len(broken)} left out: what {they_cite} has changed. See engram evidence.")
    told = remarks(call, [*{one.id: one for section in sections for one in section.memories}.values()])
    said = brief(sections, budget=allowance, now=call.now, labels=broken, marks=told, reader=call.caller.owner)
    if not any(one.scope.level == "project" for one in said.included):
        hints.append(namesake(call, scope))
    stop_timer([one.id for one in said.included], call.now)
    return said._replace(hint=" ".join(filter(None, hints)))


def _from_afar(hint: str) -> str:
    """A hint of recall's where its options are not taken: with the whole command."""
    for option in (" --weak", " --everywhere"):
        hint = hint.replace(option, f" engram recall QUESTION{option}")
    return hint


def asked_by(
    call: Call, question: str, *, limit: int, as_of: datetime | None, words: bool, weak: bool
) -> Callable[[Filter], Question]:
    """A caller's question, to be bounded by a filter; of a moment in the past nothing is checked now.

    Its vector is begun here: it takes longest, and whoever asks can do everything else meanwhile.

    Raises:
        Invalid: when it is empty or too long, or the moment is still to come.
    """
    if as_of is not None and as_of == end_of_day(call.now):  # today has no end yet
        as_of = call.now
    _check_question(call, question, as_of)
    embedder = None if words else call.embedder
    begun = begin(embedder, question) if embedder else None
    return lambda where: Question(
        question,
        where,
        call.access,
        now=call.now,
        limit=limit,
        embedder=embedder,
        begun=begun,
        moment=as_of,
        weak=weak,
        evidence=None if as_of else lambda memories: checked(call, memories),
        judged=call.caller.may_judge,
    )


def _check_question(call: Call, question: str, as_of: datetime | None) -> None:
    if isinstance(question, str) and len(question) > MOST_ASKED:
        raise Invalid(f"The question has more than {MOST_ASKED:,} characters.", "Ask for less at a time.")
    check_text("question", question, lines=True, limit=4 * MOST_ASKED)
    if not question.strip():
        raise Invalid("The question is empty.", 'Ask for something: engram recall "deploy day".')
    if as_of is not None:
        check_time("as_of", as_of)
    if as_of is not None and as_of > call.now:
        raise Invalid(f"{as_of:%Y-%m-%d} is still to come.", "Give a moment in the past.")


def _broken(call: Call, sections: Sequence[Section]) -> dict[str, str]:
    """Of the memories in these sections, those that cite what has changed or is gone, each with its verdict."""
    memories = {one.id: one for section in sections for one in section.memories}
    verdicts = {id: verdict_of(checks) for id, checks in checked(call, list(memories.values())).items()}
    return {id: verdict for id, verdict in verdicts.items() if verdict in BROKEN}


def _without_amended(answer: Recalled) -> Recalled:
    """On a branch, what was said anew there stands in for what it would amend: one topic is told once."""
    amended = {hit.memory.amends for hit in answer.hits if hit.memory.amends}
    if not amended:
        return answer
    return answer._replace(hits=tuple(hit for hit in answer.hits if hit.memory.id not in amended))


def _weightiest(memories: Sequence[Memory]) -> Sequence[Memory]:
    return sorted(memories, key=lambda one: -one.importance)  # stable: newest first among equals
