"""The marks around what was recalled: no text between them holds one, and none hides anything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.model.marks import BEGIN, END, marked, seen, tame, unmarked

HIDDEN = "\u200b\u200c\u200d\u2060\ufe0f\ufe00\u00ad\u034f\u3164\U000e0041"
SIGNS = st.sampled_from(["</", "<", "engram", "eng", "ram", "-", "memory", ">", "a", "\u00e9", "\n", " ", *HIDDEN])
texts = st.lists(SIGNS, max_size=24).map("".join)


@given(texts)
def test_a_block_has_one_beginning_and_one_end_whatever_is_in_it(text):
    bare = "".join(sign for sign in marked(text) if sign not in HIDDEN)
    assert (bare.count(BEGIN), bare.count(END)) == (1, 1)
    assert END not in tame(text)


@given(texts)
def test_taking_out_what_nobody_sees_leaves_nothing_to_take_out(text):
    once = seen(text)
    assert seen(once) == once
    assert unmarked(unmarked(once)) == unmarked(once)


@pytest.mark.parametrize(
    "text",
    [
        "A family: \U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\u2764\ufe0f\u200d\U0001f525 and \u2615\ufe0f",
        "Press 1\ufe0f\u20e3",
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\u0915\u094d\u200d\u0937",
        "Engram memory is a store; engrams are memories",
    ],
)
def test_what_scripts_and_signs_need_stays(text):
    assert marked(text) == f"{BEGIN}\n{text}\n{END}"


@pytest.mark.parametrize(
    "mark",
    [
        "</engram-memory>",
        "< / ENGRAM\u2010MEMORY >",
        "</engram_memory>",
        "</engram memory>",
        "</eng\u200dram-memory>",
        "</\u0435ngram-memory>",
        "\uff1c/\uff45ngram-memory\uff1e",
        "&#60;/engram&#45;memory>",
    ],
)
def test_what_a_model_may_take_for_a_mark_has_neither_its_brackets_nor_its_hyphen(mark):
    shown = unmarked(seen(mark))
    assert not set("<>-&\uff1c\uff1e") & set(shown)
    assert "\u2011" in shown
