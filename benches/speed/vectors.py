"""The vectors of the texts: the default model's own up to a hundred thousand, made-up ones beyond.

Embedding so many takes a quarter of an hour, so they are kept in `benches/.cache`; a stopped run goes on where it
was. Beyond, a text's vector is the mean of those of its two sentences with some noise, which no model has seen:
good enough to be scanned, and never used to judge what is found.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import texts

from common import CACHE, Bar
from engram.inference import embed, models

REAL = 100_000
NOISE = 0.5
"""Length of the noise beside a vector of length one: the nearest are then about as near as among real ones."""

STEP = 500

Floats = npt.NDArray[np.float32]
Halves = npt.NDArray[np.float16]


def vectors(count: int) -> Halves:
    """Unit vectors of the first so many texts."""
    real = _real(min(count, REAL))
    if count <= REAL:
        return real
    known = len(texts.sentences())
    chance = np.random.default_rng(texts.SEED)
    dim = real.shape[1]
    out = np.empty((count, dim), np.float16)
    out[:REAL] = real
    made = np.array(list(texts.pairs(count)))[REAL:]
    for at in range(0, len(made), 50_000):
        pair = made[at : at + 50_000]
        noise = chance.standard_normal((len(pair), dim), np.float32) * (NOISE / dim**0.5)
        mixed = (real[:known][pair[:, 0]].astype(np.float32) + real[:known][pair[:, 1]]) / 2 + noise
        out[REAL + at : REAL + at + len(pair)] = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
    return out


def asked(questions: list[str]) -> Floats:
    """The vectors of questions, as recall makes them."""
    model = embed.load(models.DEFAULT)
    return np.array([np.frombuffer(model.query(question), "<f4") for question in questions])


def kept_at() -> Path:
    """Where the real ones are kept."""
    return CACHE / "speed" / f"{models.MODELS[models.DEFAULT].id.replace('/', '-')}-{texts.fingerprint()}.npy"


def _real(count: int) -> Halves:
    path = kept_at()
    rows: Any
    if path.exists():
        rows = np.lib.format.open_memmap(path, "r+")
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = np.lib.format.open_memmap(path, "w+", np.float16, (REAL, models.MODELS[models.DEFAULT].dim))
    missing = np.flatnonzero(~rows[:count].any(axis=1))
    if len(missing):
        model = embed.load(models.DEFAULT)
        every = list(texts.texts(count))
        bar = Bar("embedding", len(missing))
        for at in range(0, len(missing), STEP):
            some = missing[at : at + STEP]
            made = model.documents([every[each] for each in some])
            rows[some] = np.frombuffer(b"".join(made), "<f4").reshape(len(some), -1)
            rows.flush()
            bar.step(len(some))
    return np.asarray(rows[:count])
