"""Values of a YAML mapping, line by line: what belongs to which key, and that no file makes reading slow."""

import contextlib
import time

import pytest

from engram.errors import Invalid
from engram.model.scalars import Stray, print_value, print_word, read_scalar, remark_of, split_fields

LONG = 40_000


def test_a_value_in_quotes_goes_on_until_they_are_closed():
    lines = ["  fact: 'It begins", "  kind: is no key here", "  and it''s over'", "  kind: fact"]

    assert split_fields(lines, 2) == [("fact", ["'It begins", *lines[1:3]]), ("kind", ["fact"])]


def test_a_quote_that_is_escaped_closes_nothing():
    lines = ['  fact: "He said \\"no', "  kind: still within", '  end"', "  kind: fact"]

    assert [name for name, _ in split_fields(lines, 2)] == ["fact", "kind"]


def test_an_empty_line_within_a_folded_value_is_part_of_it_and_one_after_it_is_not():
    lines = ["  fact: one", "", "    two", "", "  kind: fact"]

    assert split_fields(lines, 2) == [("fact", ["one", "", "    two"]), ("", [""]), ("kind", ["fact"])]


@pytest.mark.parametrize(
    ("line", "name"),
    [("my own key : x", "my own key"), ("'a: b': x", "'a: b'"), ('"é" :', '"é"'), ("über: x", "über")],
)
def test_a_key_of_several_words_is_somebody_elses_and_keeps_them(line: str, name: str):
    assert [found for found, _ in split_fields([line], 0)] == [name]


def test_a_line_that_belongs_to_no_key_is_told_by_its_number():
    with pytest.raises(Stray) as caught:
        split_fields(["  fact: one", "nothing of a key"], 2)

    assert (caught.value.n, caught.value.message) == (1, "'nothing of a key' is not a key with a value.")


@pytest.mark.parametrize(
    ("said", "value", "remark"),
    [
        ("fact # why", "fact", "# why"),
        ("a#b", "a#b", ""),
        ("a  b\t # c # d", "a  b", "# c # d"),
        ("'it''s' # one", "it's", "# one"),
        ('"a # b"', "a # b", ""),
    ],
)
def test_a_remark_behind_a_value_is_no_part_of_it(said: str, value: str, remark: str):
    assert remark_of([said]) == remark
    if not said.startswith("'") or not remark:  # in quotes, the library takes it off
        assert read_scalar([said]) == value


@pytest.mark.parametrize(
    "lines",
    [
        ['fact: "never closed', *["more of it"] * LONG],
        ["fact: 'never closed", *["", "  it's more"] * (LONG // 2)],
        ["a" + " " * LONG + "b"],
    ],
    ids=["open", "folded", "spaces"],
)
def test_splitting_takes_time_in_proportion_to_the_lines(lines: list[str]):
    began = time.process_time()
    with contextlib.suppress(Stray):
        split_fields(lines, 0)

    assert time.process_time() - began < 2


def test_a_long_row_of_spaces_within_a_value_is_read_at_once():
    value = "a" + " " * LONG + "b"
    began = time.process_time()

    assert (read_scalar([value]), remark_of([value])) == (value, "")
    assert time.process_time() - began < 2


@pytest.mark.parametrize("said", ["plain", "no", "1e3", "a: b", "", "line\nbreak", "\u2028", "tab\t"])
def test_a_word_is_read_as_it_was_written(said: str):
    assert read_scalar([print_word(said)]) == said
    assert read_scalar([print_value([said])]) == [said]


DEEP = {
    "lists": ["[a: " * 30_000 + "]" * 30_000],
    "mappings": ["{a: " * 60_000 + "}" * 60_000],
    "closers in quotes": ['["]", {a: "}", b: ' * 60_000],
    "closers behind a sign": ["", *['["x", # ]]', "{b: # }}"] * 60_000],
    "dashes": ["", "- " * 60_000 + "x"],
    "questions": ["", "? " * 60_000 + "x"],
    "lines": ["", *(" " * n + "a:" for n in range(1_000))],
}


@pytest.mark.parametrize("lines", DEEP.values(), ids=DEEP)
def test_what_is_nested_too_deep_is_refused_before_the_library_reads_it(lines: list[str]):
    began = time.process_time()
    with pytest.raises(Invalid, match="nested too deep"):
        read_scalar(lines)

    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "lines",
    [
        ["{a: " * 20 + "x" + "}" * 20],
        ["", "- " * 20 + "x"],
        ["", *("  " * n + "a:" for n in range(19)), "  " * 19 + "a: x"],
        ["", *["- [a, {b: c}]"] * 1_000],
    ],
    ids=["mappings", "dashes", "lines", "many beside each other"],
)
def test_what_a_person_would_nest_is_read(lines: list[str]):
    assert "x" in str(read_scalar(lines)) or len(read_scalar(lines)) == 1_000
