"""A PostgreSQL store filled with the texts and vectors of `benches/speed`, a thousand memories at a time."""

import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "speed")]

import vectors  # noqa: E402 - after the path
from stores import NEWEST, _batches, _memories  # noqa: E402
from stores import Store as Wanted  # noqa: E402

from common import Bar  # noqa: E402
from engram.engines.postgres import PostgresEngine  # noqa: E402
from engram.inference import models  # noqa: E402
from engram.model.caller import LOCAL  # noqa: E402
from engram.model.change import Request  # noqa: E402
from engram.model.query import Space  # noqa: E402
from engram.rules.changes import Step, compose  # noqa: E402
from engram.wiring import new_id  # noqa: E402

MODEL = models.MODELS[models.DEFAULT]
SPACE = Space(MODEL.id, MODEL.dim)


def fill(engine: PostgresEngine, size: int) -> float:
    """Memories in a hundredth of one scope, the rest in a thousand; answers with memories a second."""
    rows = vectors.vectors(size)
    bar, done, begun = Bar(f"filling {size:,}", size), 0, time.perf_counter()
    for batch in _batches(_memories(Wanted(Path(), size, "many"))):
        request = Request(caller=LOCAL, now=NEWEST, batch=new_id(), fresh=new_id(), salt=new_id())
        engine.commit(compose("import", request, [Step(None, memory) for memory in batch]))
        floats = rows[done : done + len(batch)].astype("<f4")
        pairs = zip(batch, floats, strict=True)
        engine.put_vectors(SPACE, [(memory.id, memory.imprint, row.tobytes()) for memory, row in pairs])
        done += len(batch)
        bar.to(done)
    return size / (time.perf_counter() - begun)
