"""The laws of an engine, E1 to E12, as one suite: an engine joins with one fixture, `new_engine`."""

from collections.abc import Callable

import pytest

from engines.laws_commits import CommitLaws
from engines.laws_records import RecordLaws
from engines.laws_vectors import VectorLaws
from engines.laws_words import WordLaws
from engram.ports import Engine

NewEngine = Callable[[], Engine]


class EngineLaws(RecordLaws, WordLaws, VectorLaws, CommitLaws):
    """What every engine keeps. A subclass gives the fixture `new_engine`, which makes an empty store."""

    @pytest.fixture
    def new_engine(self) -> NewEngine:
        raise NotImplementedError

    @pytest.fixture
    def engine(self, new_engine: NewEngine) -> Engine:
        return new_engine()
