"""The laws for `files`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engines.laws import EngineLaws, NewEngine
from engines.stores import open_files
from engram.engines.files.engine import FilesEngine


class TestFiles(EngineLaws):
    @pytest.fixture
    def new_engine(self, tmp_path: Path) -> Iterator[NewEngine]:
        made: list[FilesEngine] = []

        def new() -> FilesEngine:
            made.append(open_files(tmp_path / f"{len(made)}", cache=tmp_path / "cache"))
            return made[-1]

        yield new
        for engine in made:
            engine.close()
