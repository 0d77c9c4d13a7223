"""One durable `remember` in an open process. The model is not loaded there: vectors follow later."""

import tempfile
from functools import partial
from pathlib import Path

import texts
from clock import Times, times
from stores import FOLDER, Store, copied

import engram

SAVES = 60
FIRST = 10


def save(store: Store) -> Times:
    """Save to a copy of the store; the copy goes afterwards."""
    found = times()
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        copy = copied(store, Path(folder))
        with engram.open(copy.path, folder="/", environment={}) as memory:
            for at, question in enumerate(texts.questions(SAVES + FIRST)):
                # No text of the store, and none that says the same but for a value: a plain new memory.
                text = f"Somebody asked on day {at}: {question}"
                if at < FIRST:
                    memory.remember(text, scope=store.scope)
                else:
                    found.take(partial(memory.remember, scope=store.scope), text)
    return found
