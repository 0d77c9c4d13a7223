"""Recall by a process of its own, as `engram recall` is: CPU of the whole process, beside a bare one.

The bare process of a hybrid recall imports onnxruntime, loads the model file and embeds one question, and does
nothing else. Engram's own way of loading that model is shown too: it is quicker than the plain one.
"""

import compileall
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from clock import Command, middle, processes
from stores import Store

import engram
from common import Bar
from engram.inference import models

ENGRAM = str(Path(sys.executable).with_name("engram"))
RUNS = 21
QUESTION = "How do I open a compressed file?"

_BARE = """
import numpy, onnxruntime, tokenizers
tokenizer = tokenizers.Tokenizer.from_file({tokenizer!r})
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
session = onnxruntime.InferenceSession({weights!r}, options, providers=["CPUExecutionProvider"])
ids = numpy.array([tokenizer.encode({question!r}).ids], numpy.int64)
fed = dict(input_ids=ids, attention_mask=numpy.ones_like(ids), token_type_ids=numpy.zeros_like(ids))
session.run(["last_hidden_state"], fed)
"""
_LOADER = "from engram.inference import embed; embed.load({name!r}).query({question!r})"
_OPEN = """
import engram, engram.engines.sqlite, engram.wiring, engram.service, time
begun = time.process_time()
memory = engram.open({store!r}, folder="/")
memory.get("mem-0001")
print((time.process_time() - begun) * 1000)
"""


class Cold(NamedTuple):
    """Median CPU milliseconds of whole processes."""

    python: float  # that does nothing
    model: float  # onnxruntime, the model file, one embedding
    loader: float  # the same by Engram's loader
    words: float  # engram recall --words
    hybrid: float  # engram recall
    help: float  # engram --help


def ask(store: Store) -> Cold:
    """Ask one store from cold processes."""
    _compile()
    model = models.MODELS[models.DEFAULT]
    folder = models.locate(model, ())
    files = {part: os.path.join(folder, getattr(model, part).name) for part in ("weights", "tokenizer")}
    environment = _environment(store)
    python = [sys.executable, "-c"]
    question = model.query + QUESTION
    light: dict[str, Command] = {
        "python": ([*python, "pass"], environment),
        "words": ([ENGRAM, "recall", QUESTION, "--words"], environment),
        "help": ([ENGRAM, "--help"], environment),
    }
    heavy: dict[str, Command] = {
        "model": ([*python, _BARE.format(**files, question=question)], environment),
        "loader": ([*python, _LOADER.format(name=model.name, question=QUESTION)], environment),
        "hybrid": ([ENGRAM, "recall", QUESTION], environment),
    }
    # Apart, because a process starts more slowly after one that has filled the processor's caches.
    bar = Bar("starting processes", 2 * RUNS)
    return Cold(**processes(light, RUNS, bar.step), **processes(heavy, RUNS, bar.step))


def opening(store: Store, runs: int) -> float:
    """CPU milliseconds that a process spends on opening a store and reading one memory; loading Engram apart."""
    _compile()
    command = [sys.executable, "-c", _OPEN.format(store=str(store.path))]
    environment = _environment(store)
    told = [subprocess.run(command, env=environment, check=True, capture_output=True).stdout for _ in range(runs)]
    return middle([float(each) for each in told])


def _environment(store: Store) -> dict[str, str]:
    """A store and nothing else that is configured: neither a user's settings nor a project's."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ENGRAM_", "PYTHON", "XDG_"))}
    home = store.path.parent / "home"
    home.mkdir(exist_ok=True)
    return {**kept, "HOME": str(home), "ENGRAM_STORE": str(store.path)}


def _compile() -> None:
    """As set-up does, so that no start pays for it, even where Python may not write its caches."""
    compileall.compile_dir(os.path.dirname(engram.__file__), quiet=2)
