"""What answers are written with: lines that fit their columns, whatever letters they are of."""

import time

import pytest

from engram.surfaces.render.paper import UNCUT, cut, width_of


@pytest.mark.parametrize(
    ("text", "width", "line"),
    [
        ("short", 5, "short"),
        ("too long", 5, "too …"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),  # half a letter is none
        ("e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),  # a mark stays with its letter
        ("two\n\tlines", 20, "two lines"),
        ("a\u202eb", 20, "a\\u202eb"),
        ("anything", 0, "a…"),
    ],
)
def test_a_line_is_cut_to_the_columns_there_are(text: str, width: int, line: str):
    assert cut(text, width) == line
    assert width_of(line) <= max(width, 2)


def test_a_long_text_is_cut_in_time_in_proportion_to_what_is_kept():
    began = time.process_time()
    for _ in range(20):
        assert width_of(cut("é word " * 5000, UNCUT)) == UNCUT

    assert time.process_time() - began < 5  # a tenth of a second; looked at anew for every letter it is ten
