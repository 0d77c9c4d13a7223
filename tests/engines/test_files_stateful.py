"""`files` against `ram`, the reference, over random histories; deleting the index changes no answer."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import rule

from engines.samples import MINE, everything
from engines.stores import open_files
from engines.strategies import ACCESSES
from engines.test_stateful import QUESTIONS, Twins, with_handles
from engram.model.filter import Access
from engram.model.query import Query
from engram.ports import Engine


class FilesTwins(Twins):
    """The same histories, with a folder of plain files as the second engine."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        super().__init__()

    def open(self, replica: str) -> Engine:
        return open_files(self.folder / "store", replica)

    def teardown(self) -> None:
        super().teardown()
        shutil.rmtree(self.folder)

    @rule(access=ACCESSES, terms=QUESTIONS)
    def ask_without_the_index(self, access, terms):
        """The text alone tells everything but vectors, which are made anew."""
        before = {each: each.read_bytes() for each in (self.folder / "store").rglob("*") if each.is_file()}
        fresh = open_files(self.folder / "store", "unused", cache=self.folder / "another cache")
        for reader in (MINE, Access("ada"), access):
            for type in ("memory", "session", "relation"):
                kept, told = (everything(engine, type, reader) for engine in (self.ram, fresh))
                assert with_handles({r.id: r for r in told}) == with_handles({r.id: r for r in kept})
            assert fresh.census(terms, reader) == self.ram.census(terms, reader)
            query = Query(terms=terms, every=False, limit=1000)
            first, second = ({h.memory: h.words for h in e.search(query, reader)} for e in (self.ram, fresh))
            assert second == pytest.approx(first)
        assert fresh.events(limit=1000) == self.ram.events(limit=1000)
        fresh.close()
        shutil.rmtree(self.folder / "another cache")
        assert {e: e.read_bytes() for e in (self.folder / "store").rglob("*") if e.is_file()} == before


TestFilesTwins = FilesTwins.TestCase
TestFilesTwins.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
del Twins
