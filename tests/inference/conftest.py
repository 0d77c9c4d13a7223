"""The real default model, which set-up has put in place, and copies of it that a test may damage."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engram.errors import Unavailable
from engram.inference import models
from engram.inference.embed import Local, load

DEFAULT = models.MODELS[models.DEFAULT]


@pytest.fixture(scope="session")
def place() -> Path:
    """Where the default model lies."""
    try:
        return Path(models.locate(DEFAULT))
    except Unavailable as error:
        pytest.skip(f"{error.message} Run: python tools/models.py")


@pytest.fixture(scope="session")
def arctic(place: Path) -> Local:
    assert place.is_dir()
    return load(models.DEFAULT)


@pytest.fixture
def copied(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Path]:
    """A copy of the default model's files in a folder of models, and nothing packed with us beside it."""
    monkeypatch.setattr(models, "PACKED", str(tmp_path / "packed"))

    def copy() -> Path:
        folder = tmp_path / "own" / DEFAULT.name
        folder.mkdir(parents=True)
        for file in DEFAULT.files:
            shutil.copyfile(place / file.name, folder / file.name)
        return folder

    return copy
