"""How the memory grows and is used: by day, by kind, by agent, and how quickly it answers."""

from collections import Counter
from collections.abc import Sequence
from datetime import date, timedelta
from math import ceil
from typing import NamedTuple
from weakref import WeakKeyDictionary

from engram.model.answers_look import Growth, Proposer, Trends
from engram.model.filter import Access, Filter
from engram.model.memory import Memory, standing
from engram.operations.base import Call, every, last_event, operation
from engram.ports import Engine
from engram.rules.kinds import own_lists

MONTH = timedelta(days=30)
DAYS = 400
"""How many days of growth are told; what was made before them is in their totals alone."""

BECAME = ("approved", "rejected", "waiting", "by_itself")
"""What may become of a proposal."""

SHARES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


class _Counted(NamedTuple):
    """An answer, with whose it is and for which branch, event and day; and the ids of what was unused then."""

    stamp: tuple[Access, str, int, str]
    trends: Trends
    unused: tuple[str, ...]


_KNOWN: WeakKeyDictionary[Engine, _Counted] = WeakKeyDictionary()
"""Each engine's last answer: counting reads every memory."""


@operation("GET /v1/trends", "engram trends", "engram trends --json")
def trends(call: Call) -> Trends:
    """Show how the memory grows and is used.

    By day, kind and agent, with how long recalls took. What was recalled is counted on this machine only.
    """
    stamp = (call.access, call.caller.view, last_event(call), f"{call.now:%Y-%m-%d}")
    known = _KNOWN.get(call.engine)
    if known is None or known.stamp != stamp:
        known = _KNOWN[call.engine] = _Counted(stamp, *_counted(call))
    took, uses = call.usage.took(), call.usage.uses()
    return known.trends._replace(
        at=call.now,
        latency=_latency(took),
        took=tuple(took[-200:]),
        unused=sum(id not in uses for id in known.unused),  # a recall is no event
        done=call.usage.marks(),
    )


def _counted(call: Call) -> tuple[Trends, tuple[str, ...]]:
    """Everything that is told by one walk through what may be read."""
    standings, kinds, days = Counter[str](), Counter[str](), Counter[date]()
    became = Counter[tuple[str, str]]()
    once, again = set[int](), Counter[int]()  # numbers, for there may be very many texts
    uses, unused, lately = call.usage.uses(), list[str](), call.now - MONTH
    for memory in every(call, Filter(except_kinds=own_lists(call.policy.kinds))):
        stands = standing(memory, call.now, call.caller.view)
        standings[stands] += 1
        days[memory.created_at.date()] += 1
        became[memory.context.agent or "you", _became(memory)] += 1
        if stands == "live":
            kinds[memory.kind] += 1
            text = hash(memory.text.casefold().strip())
            if text in once:
                again[text] += 1
            else:
                once.add(text)
            if memory.created_at < lately and memory.id not in uses:
                unused.append(memory.id)
    agents = dict.fromkeys(agent for agent, _ in became)
    rows = [Proposer(name, *(became[name, what] for what in BECAME)) for name in agents]
    told = Trends(
        at=call.now,
        memories=standings.total(),
        standings=dict(standings.most_common()),
        kinds=dict(kinds.most_common()),
        growth=_growth(days),
        agents=tuple(sorted(rows, key=lambda row: -(row.approved + row.rejected + row.waiting + row.by_itself))),
        latency={},
        took=(),
        unused=len(unused),
        repeated=again.total() + len(again),
    )
    return told, tuple(unused)


def _became(memory: Memory) -> str:
    """What became of a proposal."""
    if memory.status == "promoted":
        return "approved" if memory.approved_by else "by_itself"
    return "waiting" if memory.status == "pending" else "rejected"


def _growth(days: Counter[date]) -> tuple[Growth, ...]:
    """The last days on which something was made, each with how much there was at its end."""
    total, rows = 0, []
    for day, made in sorted(days.items()):
        total += made
        rows.append(Growth(day.isoformat(), made, total))
    return tuple(rows[-DAYS:])


def _latency(took: Sequence[float]) -> dict[str, float]:
    found = sorted(took)
    if not found:
        return {}
    return {name: found[max(ceil(len(found) * share) - 1, 0)] for name, share in SHARES.items()}
