"""What finds by meaning: the models there are, and making vectors anew."""

from engram.errors import Invalid, Unavailable
from engram.model.answers_store import Models, Reembedded, Reindexed
from engram.operations import parameters as p
from engram.operations.base import Call, operation
from engram.ports import Embedder, Followed, able
from engram.recall.meaning import catch_up, require_same
from engram.rules.access import require_keeper, require_person

EVERY = 1 << 40


@operation("GET /v1/models", "engram models", "engram models install bge-micro-v2", human=True)
def models(call: Call, action: p.ModelAction = "list", name: p.Model = "") -> Models:
    """Show the embedding models, or install one.

    Shows which one is in use, and how many vectors are still missing.
    """
    if call.shelf is None:
        raise Unavailable("This memory keeps no models.", "Open it with engram.open().")
    if action == "install":
        require_keeper(call.caller, "install a model")
        call.shelf.install(name, call.progress)
    backlog = call.engine.backlog(call.access)
    lacking = backlog.remaining if backlog.coming else backlog.lacking
    rows = tuple(call.shelf.models())
    chosen = call.embedder.space.model if call.embedder else ""
    missing = [row.name for row in rows if row.state != "ready" and chosen.startswith(f"{row.name}/")]
    hint = "Make the missing vectors: engram reembed." if lacking else ""
    if missing:
        hint = f"Get the model: engram models install {missing[0]}. Until then recall goes by words."
    return Models(
        at=call.now,
        models=rows,
        embedder=chosen,
        vectors=backlog.active.model if backlog.active else "",
        lacking=lacking,
        hint=hint,
        coming=backlog.coming.model if backlog.coming else "",
    )


@operation("POST /v1/reembed", "engram reembed", writes=True)
def reembed(call: Call) -> Reembedded:
    """Make the vectors that memories lack.

    With the configured model; an interrupted run resumes. A model other than the store's takes over once all its
    vectors exist. Until then search by words works as usual, and whoever is still configured for the old model
    keeps using its vectors.
    """
    require_keeper(call.caller, "make vectors for all")
    embedder = _required(call)
    call.engine.put_vectors(embedder.space, [])  # from here on the store counts what is missing
    waiting = _count(call)
    done = 0

    def told(count: int) -> None:
        nonlocal done
        done += count
        call.progress(done, max(waiting, done), "embedding")

    made = catch_up(call.engine, embedder, call.access, most=EVERY, told=told)
    require_same(call.engine.backlog(call.access), embedder.space)
    return Reembedded(at=call.now, model=embedder.space.model, memories=made, remaining=_count(call))


@operation("POST /v1/reindex", "engram reindex", "engram reindex --fresh", writes=True)
def reindex(call: Call, *, fresh: p.Fresh = False) -> Reindexed:
    """Bring the index beside the store up to date.

    An interrupted run resumes. The index normally follows by itself; this is for one that is new, was unreachable
    or is far behind.
    """
    require_keeper(call.caller, "bring the index up to date")
    if fresh:
        require_person(call.request(), "empty the index")
    followed, upto, last = able(call.engine, Followed), 0, 0
    for upto, last in followed.reindex(fresh=fresh) if followed else ():
        call.progress(upto, last, "indexing")
    return Reindexed(at=call.now, index=followed.index_name if followed else "", upto=upto, events=last)


def _required(call: Call) -> Embedder:
    if call.embedder is None:
        raise Invalid("There is no embedder: words alone are used.", "Choose one: see `engram models`.")
    return call.embedder


def _count(call: Call) -> int:
    backlog = call.engine.backlog(call.access)
    return backlog.lacking if backlog.active == _required(call).space else backlog.remaining
