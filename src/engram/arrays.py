"""numpy, loaded so that its threads sleep while they have nothing to do: the one way to it."""

import os

# OpenBLAS starts its threads when numpy is loaded, and they spin while they wait for work that never comes: 100 ms
# of a second core in every `engram recall`. This lets them sleep at once; they are as many as before, for whoever
# uses them. Programs that this process starts are not told of it.
_SPIN = "OPENBLAS_THREAD_TIMEOUT"
_unset = _SPIN not in os.environ
os.environ.setdefault(_SPIN, "4")
try:
    import numpy as np
    import numpy.typing as npt
finally:
    if _unset:
        del os.environ[_SPIN]

__all__ = ["np", "npt"]
