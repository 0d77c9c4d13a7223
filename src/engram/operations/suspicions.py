"""What a memory may conflict with or supersede, of which nobody has judged yet: looked up beside a save."""

from collections.abc import Collection

from engram.model.answers import Remembered, Rival
from engram.model.filter import Filter
from engram.model.memory import Memory
from engram.model.relation import judging
from engram.model.scope import GLOBAL, Scope
from engram.operations.base import Call
from engram.operations.relations import pair_ref
from engram.ports import Embedder
from engram.recall.rivals import Gathering, rivals
from engram.rules.kinds import quiet
from engram.rules.relations import pair_id
from engram.rules.suspicions import Suspicion, is_statement

MOST = 3
"""More questions than this nobody answers."""


def with_suspicions(call: Call, answer: Remembered) -> Remembered:
    """The answer to a save with what else is known about the same, and what to do about it.

    Whatever fails here fails nothing: the memory is saved, and there are no candidates.
    """
    memory = answer.memory
    if answer.outcome in ("repeated", "unchanged") or answer.replayed or len(answer.conflicts) >= MOST:
        return answer
    try:
        found = _beside_a_save(call, memory)
        told = unjudged(call, memory, found, [one.id for one in answer.conflicts]) if found else []
    except Exception:  # noqa: BLE001 - the save is done, and must not look refused because of what comes beside it
        return answer
    candidates = tuple(told[: MOST - len(answer.conflicts)])
    if not candidates:
        return answer
    others = " and ".join(one.pair for one in candidates[1:])
    next_step = f"Judge it: {judging(candidates[0].pair)}.{f' The same for {others}.' if others else ''}"
    return answer._replace(candidates=candidates, hint=" ".join(filter(None, (answer.hint, next_step))))


def _beside_a_save(call: Call, memory: Memory) -> list[tuple[Memory, Suspicion]]:
    """What a memory is suspected to be at odds with, as far as that is known at once.

    A model compares only where it is loaded and runs here: saving waits for none.
    """
    embedder = ready(call)
    if not is_compared(call, memory) or not (embedder or memory.key or is_statement(memory)):
        return []
    return rivals(gathering(call, memory, embedder), memory)


def ready(call: Call) -> Embedder | None:
    """The model that compares at once, for it is loaded and runs here; None where words alone do."""
    return call.embedder if call.embedder and call.embedder.ready and call.embedder.local else None


def is_compared(call: Call, memory: Memory) -> bool:
    """Whether a memory says something that another may contradict: a prompt or a summary tells of its moment."""
    return not (memory.apart or call.policy.kind(memory.kind).apart)


def gathering(call: Call, memory: Memory, embedder: Embedder | None = None, *, thorough: bool = False) -> Gathering:
    """What a memory is compared with: what is live, where it holds and everywhere."""
    on_demand = quiet(call.policy.kinds)
    itself = memory.kind in on_demand  # what comes on demand only is compared with its own kind
    everywhere = Scope(workspace=memory.scope.workspace) if memory.scope.workspace else GLOBAL
    where = Filter(
        scopes=(memory.scope,) if memory.scope == everywhere else (memory.scope, everywhere),
        kinds=(memory.kind,) if itself else (),
        except_kinds=() if itself else on_demand,
        standings=("live",),
        now=call.now,
        view=call.caller.view,
    )
    return Gathering(call.engine, call.access, where, embedder, thorough)


def unjudged(
    call: Call, memory: Memory, found: Collection[tuple[Memory, Suspicion]], but: Collection[str] = ()
) -> list[Rival]:
    """Those of the suspected that are nowhere in a relation with the memory: what was judged is not asked again."""
    asked = {pair_id(call.caller.owner, memory.id, other.id): other.id for other, _ in found}
    known = {asked[id] for id in call.engine.get("relation", asked, call.access_to("relation"))}
    return [
        Rival(other, why.why, why.score, pair_ref(memory, other))
        for other, why in found
        if other.id not in known and other.id not in but
    ]
