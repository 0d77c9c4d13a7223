"""The one way to numpy."""

import subprocess
import sys

import pytest

LOAD = """
import importlib.abc, os, sys

class Watching(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == "numpy":
            print("while it is loaded:", os.environ.get("OPENBLAS_THREAD_TIMEOUT"))

sys.meta_path.insert(0, Watching())
import engram.engines.sqlite_vectors
print("afterwards:", os.environ.get("OPENBLAS_THREAD_TIMEOUT"))
"""


@pytest.mark.parametrize(
    ("before", "seen"),
    [
        ({}, ["while it is loaded: 4", "afterwards: None"]),
        ({"OPENBLAS_THREAD_TIMEOUT": "26"}, ["while it is loaded: 26", "afterwards: 26"]),
    ],
)
def test_numpy_is_loaded_with_threads_that_sleep_and_nobody_else_is_told(before, seen):
    done = subprocess.run(
        [sys.executable, "-c", LOAD],
        env={"PYTHONPATH": ":".join(sys.path), **before},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == seen
