"""The laws for `ram`, the reference."""

import pytest

from engines.laws import EngineLaws, NewEngine
from engram.engines.ram import RamEngine


class TestRam(EngineLaws):
    @pytest.fixture
    def new_engine(self) -> NewEngine:
        return lambda: RamEngine("replica")
