"""Where a cited text is in another, however often either repeats itself."""

from collections.abc import Callable
from itertools import pairwise
from random import Random
from time import process_time

import pytest

from engram.evidence.spans import MOST_PAIRS, Found, Span, common, look, occurrences, symbol

PATIENCE = 5.0
"""Seconds of work that nothing here comes near, and that work by the square of the lines goes far beyond."""

LOCK = [
    line
    for package in range(2500)
    for line in (f'"package-{package}": {{', f'"version": "1.{package}"', '"dev": true', '"license": "MIT"')
]
WORDS = ("self", "return", "value", "name", "get", "data", "index", "text", "size", "list")


def worked(do: Callable[[], object]) -> float:
    started = process_time()
    do()
    return process_time() - started


def prose(mark: str) -> list[str]:
    random = Random(7)
    return [" ".join([*random.choices(WORDS, k=6), f"{mark}{at}"]) for at in range(2500)]


@pytest.mark.parametrize(
    ("cited", "lines", "locator"),
    [
        (LOCK, [f"{line}," if at % 40 == 0 else line for at, line in enumerate(LOCK)], ""),
        (["0,"] * 60 + ["1,"], ["0,"] * 300_000, "1-61"),
        (["0,"] * 5000 + ["1,"], ["0,"] * 200_000, "1-5001"),
        (prose("a"), prose("b"), ""),
    ],
    ids=["a lock file", "a column", "a long column", "a file written anew"],
)
def test_a_text_that_repeats_itself_is_compared_in_little_time(
    cited: list[str], lines: list[str], locator: str
) -> None:
    assert worked(lambda: look(cited, lines, locator)) < PATIENCE


def test_a_symbol_is_not_looked_for_in_a_line_without_end() -> None:
    line = " " * 4000 + "a " * 4000 + "handler"

    assert worked(lambda: symbol([line, "def handler():"], "handler")) < PATIENCE
    assert symbol([line, "def handler():"], "handler") == (2, 2)


def test_what_is_left_of_a_lock_file_is_told_to_the_line() -> None:
    lines = [f"{line}," if at % 40 == 0 else line for at, line in enumerate(LOCK)]

    assert look(LOCK, lines, "") == Found("drifted", round(250 / len(LOCK), 4), Span(1, len(LOCK)))


def test_lines_that_stand_everywhere_are_matched_in_order() -> None:
    cited = ["}"] * 600 + ["the end"] + ["}"] * 600
    lines = ["}"] * 700 + ["the end"] + ["}"] * 500

    pairs = common(cited, lines)

    assert len(cited) * len(lines) > MOST_PAIRS
    assert len(pairs) == 600 + 1 + 500
    assert all(cited[here] == lines[there] for here, there in pairs)
    assert all(one[0] < other[0] and one[1] < other[1] for one, other in pairwise(pairs))


def test_every_occurrence_is_found_also_where_they_overlap() -> None:
    random = Random(11)
    for _ in range(500):
        lines = random.choices("ab", k=random.randint(1, 30))
        cited = random.choices("ab", k=random.randint(1, 6))
        there = range(len(lines) - len(cited) + 1)

        assert occurrences(cited, lines) == [at + 1 for at in there if lines[at : at + len(cited)] == cited]


FILE = [
    *("import os", "", "LIMIT = 10", ""),
    *("def handle(request):", "    body = request.read()", "    check(body)", "    return answer(body)", ""),
    *("def close():", "    pass", ""),
]
CITED = FILE[4:8]


@pytest.mark.parametrize(
    ("old", "new", "span"),
    [
        ("def handle(request):", "def handle(request, patience):", (5, 8)),
        ("def handle(request):", "async def answer_to(message):", (5, 8)),
        ("    return answer(body)", "    return answer(body, 200)", (5, 8)),
        ("    return answer(body)", "    raise NotImplementedError", (5, 8)),
        ("    check(body)", "    if not body:\n        raise Empty", (5, 9)),
        ("    return answer(body)", "", (5, 7)),
        ("def handle(request):\n    body = request.read()", "    body = request.read()", (5, 7)),
    ],
    ids=[
        "first",
        "first, written anew",
        "last",
        "last, written anew",
        "between",
        "last taken out",
        "first taken out",
    ],
)
def test_a_changed_text_reaches_as_far_as_it_did(old: str, new: str, span: tuple[int, int]) -> None:
    lines = "\n".join(FILE).replace(old, new).split("\n")
    found = look(CITED, lines, "5-8")

    assert (found.verdict, found.span) == ("drifted", span)


def test_a_changed_text_that_moved_reaches_over_its_first_and_last_line() -> None:
    edited = (
        "\n".join(FILE).replace("(request):", "(request, patience):").replace("answer(body)", "answer(body, 200)")
    )
    lines = [*["# a licence"] * 30, *edited.split("\n")]

    assert look(CITED, lines, "5-8").span == (35, 38)


def test_what_closes_a_changed_block_belongs_to_it() -> None:
    cited = ["function handle(request) {", "  const body = read(request)", "  return body", "}"]
    lines = ["", *cited[:2], "  return answer(body, 200, {})", "}", "", "}"]

    assert look(cited, lines, "2-5") == Found("drifted", 0.3333, Span(2, 5))


def test_a_changed_text_at_the_end_of_a_file_reaches_no_further() -> None:
    assert look(["one two three", "four five six"], ["one two three"], "1-2").span == (1, 1)
    assert look(["one two three", "four five six"], ["four five six"], "1-2").span == (1, 1)
    assert look(["PORT = 1", "HOST = 2"], ["NAME = 3", "HOST = 2", "SIZE = 9"], "7-8").span == (2, 2)
