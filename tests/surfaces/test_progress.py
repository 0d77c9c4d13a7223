"""A bar on one line: none for quick work, never more often than a person sees, and gone at the end."""

import io
import re

import pytest

from engram.surfaces import progress
from engram.surfaces.progress import PACE, PATIENCE, WIDTH, Bar


class Watch:
    """A clock that a test turns."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch()
    monkeypatch.setattr(progress, "time", watch)
    return watch


def test_quick_work_has_no_bar(watch: Watch):
    stream = io.StringIO()
    bar = Bar(stream)
    for done in range(1, 11):
        watch.now += PATIENCE / 20
        bar.move(done, 10, "embedding")

    assert stream.getvalue() == ""


def test_a_bar_says_how_far_it_is_and_how_long_it_takes(watch: Watch):
    stream = io.StringIO()
    bar = Bar(stream)
    watch.now += 10
    bar.move(1000, 4000, "embedding")
    drawn = stream.getvalue()

    assert drawn.startswith("\r\x1b[Kembedding ")
    assert drawn.endswith(" 1,000 of 4,000  30 s left")
    assert (drawn.count("█"), drawn.count("·")) == (WIDTH // 4, WIDTH - WIDTH // 4)
    assert "\n" not in drawn


def test_a_bar_is_drawn_no_more_often_than_a_person_sees(watch: Watch):
    stream = io.StringIO()
    bar = Bar(stream)
    watch.now += 10
    for done in range(100):
        watch.now += PACE / 10
        bar.move(done, 1000, "embedding")

    assert 9 <= stream.getvalue().count("\r") <= 11


def test_a_bar_wipes_itself_off(watch: Watch):
    stream = io.StringIO()
    bar = Bar(stream)
    watch.now += 10
    bar.move(5, 10, "embedding")
    bar.move(10, 10, "embedding")

    assert re.search(r"\r\x1b\[K$", stream.getvalue())


@pytest.mark.parametrize("total", [0, 10])
def test_a_bar_whose_work_never_told_its_end_is_wiped_off_too(watch: Watch, total: int):
    stream = io.StringIO()
    bar = Bar(stream)
    watch.now += 10
    bar.move(5, total, "looking")
    bar.wipe()
    assert stream.getvalue().endswith("\r\x1b[K")

    wiped = stream.getvalue()
    bar.wipe()
    assert stream.getvalue() == wiped


@pytest.mark.parametrize(
    ("done", "total", "drawn"),
    [(0, 0, "\r\x1b[Kembedding: 0"), (0, 10, f"\r\x1b[Kembedding {'·' * WIDTH} 0 of 10  "), (11, 10, "")],
)
def test_a_bar_survives_odd_numbers(watch: Watch, done: int, total: int, drawn: str):
    stream = io.StringIO()
    watch.now += 10
    bar = Bar(stream)
    watch.now += 10
    bar.move(done, total, "embedding")

    assert stream.getvalue() == drawn
