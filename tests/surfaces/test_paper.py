"""What answers are written with: lines that fit their columns, whatever letters they are of."""

import time

import pytest

from engram.surfaces.render.paper import UNCUT, cut, plain, width_of


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


@pytest.mark.parametrize(
    "text",
    [
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0628\u0631\u0648\u0645",
        "\u0915\u094d\u200d\u0937",
        "\u0d28\u0d4d\u200c\u0d28",
        "A family: \U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\u2764\ufe0f\u200d\U0001f525",
        "\U0001f44b\U0001f3fd and \U0001f469\U0001f3fd\u200d\U0001f4bb",
    ],
)
def test_a_joiner_stays_where_words_and_emoji_are_drawn_by_it(text: str):
    assert plain(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "pass\u200cword",
        "\u043f\u0430\u200d\u0440",
        "\u0645\u200c\u200c\u06cc",
        "\u0645\u200c a",
        "\u0645\u200c",
        "\u200d\U0001f468",
        "\U0001f468\u200c\U0001f469",
        "a\u200d\U0001f469",
        "\u0645\u200d\u0915",
        "\u4e2d\u200d\u6587",
    ],
)
def test_a_joiner_anywhere_else_is_shown_by_its_number(text: str):
    assert "\\u200" in plain(text)
    assert not {"\u200c", "\u200d"} & set(plain(text))
