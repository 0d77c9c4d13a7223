"""What of a memory is embedded, window by window; and the imprint that tells whether its vectors still fit."""
# ruff: noqa: RUF001 - texts in other scripts are the subject here

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engram.model.limits import LIMITS
from engram.model.memory import Memory
from engram.model.passages import MOST_WINDOWS, WINDOW, passages, windows
from engram.model.text import normalise

START = datetime(2026, 1, 1, tzinfo=UTC)
SENTENCE = "Every sentence of this text has the same length, and says one thing. "


def memory(text: str = "We deploy on Fridays", **fields: object) -> Memory:
    return Memory(id="m", text=text, status="promoted", created_at=START, updated_at=START, **fields)


def bare(text: str) -> str:
    return "".join(text.split())


# --- passages ---


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, ["We deploy on Fridays"]),
        ({"summary": "When we deploy"}, ["When we deploy\nWe deploy on Fridays"]),
        ({"tags": ("release", "team")}, ["We deploy on Fridays\nrelease, team"]),
        ({"summary": "When", "tags": ("release",)}, ["When\nWe deploy on Fridays\nrelease"]),
    ],
)
def test_a_short_memory_is_one_passage_of_summary_text_and_tags(fields, expected):
    assert expected == passages(memory(**fields))


def test_a_long_memory_is_several_passages_each_under_the_summary_and_the_last_with_the_tags():
    found = passages(memory(SENTENCE * 40, summary="What it says", tags=("a", "b")))

    assert len(found) > 2
    assert all(each.startswith("What it says\nEvery sentence") for each in found)
    assert found[-1].endswith("\na, b")
    assert not any("a, b" in each for each in found[:-1])


def test_key_kind_and_scope_are_no_part_of_what_is_embedded():
    assert passages(memory(key="some-key", kind="decision", pinned=True)) == passages(memory())


# --- windows ---


def test_a_text_that_fits_stays_as_it_is():
    for text in ("x", "  kept as it is\n\n", "x" * WINDOW, ". " * (WINDOW // 2)):
        assert windows(text) == [text]


def test_a_long_text_is_cut_after_its_sentences():
    found = windows(SENTENCE * 40)

    assert all(each.endswith("one thing.") for each in found)
    assert all(len(each) > WINDOW - 2 * len(SENTENCE) for each in found[:-1])


@pytest.mark.parametrize(
    ("stop", "end"),
    [
        ("\n", "x"),
        (".\n", "."),
        ("! ", "!"),
        ("? ", "?"),
        ("; ", ";"),
        ('." ', '."'),
        (".) ", ".)"),
        ("。", "。"),
        ("！", "！"),
    ],
)
def test_a_window_ends_where_a_reader_would_pause(stop, end):
    text = ("x" * 250 + stop) * 4

    assert windows(text) == ["x" * 250 + end.replace("x", "")] * 4


def test_a_stop_early_in_a_window_does_not_make_it_short():
    found = windows("Short. " + "x" * 1000)

    assert [len(each) for each in found] == [WINDOW, WINDOW, 1007 - 2 * WINDOW]


def test_a_point_inside_a_word_is_no_stop():
    found = windows("3.14159/src.module.py " * 100)

    assert {len(each) for each in found[:-1]} <= {WINDOW, WINDOW - 1}


TEXTS = st.one_of(
    st.text(max_size=300),
    st.lists(
        st.sampled_from((SENTENCE, "word ", "x" * 90, "\n\n", " ", "。", "句子", '."  ', "\t")), max_size=60
    ).map("".join),
)


@given(text=TEXTS, size=st.integers(2, 120))
@example(text=" " * 50, size=10)
@example(text="", size=10)
def test_windows_are_short_in_order_and_leave_nothing_out(text, size):
    found = windows(text, size)

    assert found
    assert all(len(each) <= size for each in found)
    assert len(found) <= MOST_WINDOWS
    if len(found) < MOST_WINDOWS:
        assert bare("".join(found)) == bare(text)
        assert all(each.strip() for each in found) or not text.strip()


@pytest.mark.parametrize("length", [204, 205, 230, 250, 301, 399, 400, 450, 900])
def test_the_longest_text_there_can_be_is_embedded_to_its_end(length):
    text = (("x" * (length - 2) + ". ") * (1 + LIMITS["text"] // length))[: LIMITS["text"] - 5] + " done"

    assert bare("".join(windows(text))) == bare(text)


def test_the_longest_text_of_the_widest_script_is_embedded_to_its_end():
    text = ("句" * 203 + "。") * 107
    assert len(text.encode()) <= LIMITS["text"]

    assert "".join(windows(text)) == text


# --- imprint ---

SAID = st.fixed_dictionaries(
    {
        "text": st.sampled_from(("We deploy", "we deploy.", "We deploy  ", "We DEPLOY", "We deploy on", "deploy")),
        "summary": st.sampled_from(("", "a", "a b", "we deploy")),
        "tags": st.sampled_from(((), ("a",), ("a", "b"), ("b", "a"), ("a b",), ("we deploy",))),
    }
)


@given(SAID, SAID)
def test_the_imprint_is_equal_exactly_where_text_summary_and_tags_are(one, other):
    same = all(one[name] == other[name] for name in ("summary", "tags"))
    same = same and normalise(one["text"]) == normalise(other["text"])

    assert (memory(**one).imprint == memory(**other).imprint) == same


def test_the_imprint_of_a_bare_text_is_its_digest():
    assert memory().imprint == memory().digest
    assert memory(summary="When").imprint != memory().digest == memory(summary="When").digest


def test_nothing_else_of_a_memory_is_in_its_imprint():
    other = memory(key="k", kind="decision", pinned=True, importance=9, owner="ada", visibility="shared")

    assert other.imprint == memory().imprint
