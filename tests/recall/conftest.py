"""The real default model, loaded once, for tests of what texts mean."""

import pytest

from engram.ports import Embedder
from recall.embedders import real


@pytest.fixture(scope="session")
def arctic() -> Embedder:
    return real()
