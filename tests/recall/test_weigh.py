"""Weighing: each part decides where all else is equal, and none of them lifts what has nothing to do with it."""

import random
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engram.model.answers import Recollection
from engram.model.memory import Memory
from engram.model.text import tokens
from engram.recall.timewords import NOTHING, TimeAsked
from engram.recall.weigh import (
    AMPLE,
    BY_AGE,
    FULL,
    MEANING,
    PER_IMPORTANCE,
    PHRASE,
    SESSION,
    WORDS,
    Asking,
    Candidate,
    asks,
    priors,
    relevance,
    weigh,
)
from engram.surfaces.render.answers import FACTORS
from rules.world import START, memory

NOW = START + timedelta(days=30)
FIT, POOR = 0.9, 0.2
"""How well a candidate fits that answers the question, and one that shares a word with it."""


def one(id: str, text: str = "We deploy on Fridays", *, words: float = FIT, **said: object) -> Candidate:
    """A candidate that was found by words, or as well by meaning."""
    meaning = said.pop("meaning", None)
    fields = {"confidence": 1.0, "decay": "none", "created_at": NOW - timedelta(days=9)} | said
    return Candidate(memory(id, text, **fields), words, meaning)


def line(number: int, text: str = "We deploy on Fridays", *, words: float = POOR, **said: object) -> Candidate:
    """A line of a session, saved as the so many-th memory."""
    id = str(said.pop("id", f"line-{number:04}"))
    return one(id, text, words=words, **({"session": "s1", "handle": f"mem-{number:04}"} | said))


def weighed(
    *pool: Candidate, question: str = "when do we deploy", time: TimeAsked = NOTHING, phrases: tuple[str, ...] = ()
) -> list[Recollection]:
    return list(weigh(pool, Asking(question, NOW, time, phrases=phrases)))


def order(*pool: Candidate, **asked: object) -> list[str]:
    return [hit.memory.id for hit in weighed(*pool, **asked)]


def reason(id: str, name: str, *pool: Candidate, **asked: object) -> float:
    return next(hit.reasons.get(name, 0.0) for hit in weighed(*pool, **asked) if hit.memory.id == id)


# --- words and meaning ---


def test_more_of_the_words_comes_first():
    assert order(one("a", words=0.4), one("b", words=0.5)) == ["b", "a"]


def test_nearer_in_meaning_comes_first():
    assert order(one("a", meaning=0.4), one("b", meaning=0.5)) == ["b", "a"]


def test_neither_words_nor_meaning_rules_alone():
    said = one("words", words=0.9, meaning=0.1)
    meant = one("meaning", words=0.0, meaning=1.0)
    both = one("zz-both", words=0.6, meaning=0.8)

    assert order(said, meant, both)[0] == "zz-both"
    assert order(said, one("m", words=0.0, meaning=0.9))[0] == "m"
    assert order(one("w", words=0.9, meaning=0.5), one("m", words=0.0, meaning=0.6))[0] == "w"


def test_what_is_below_the_floor_of_meaning_takes_nothing_away():
    below, at_it = one("b", meaning=-0.5), one("a", meaning=0.0)

    scores = [hit.score for hit in weighed(below, at_it)]

    assert scores[0] == scores[1] > 0


def test_where_the_meaning_is_not_known_yet_words_speak_for_it():
    lacking, at_it = one("b", meaning=None), one("a", meaning=0.0)

    assert [hit.memory.id for hit in weighed(lacking, at_it)] == ["b", "a"]


def test_words_count_half_against_the_best_there_is_and_half_against_the_best_there_could_be():
    pool = (one("a", words=0.5, meaning=0.0), one("b", words=0.2, meaning=0.0))

    assert reason("a", "words", *pool) == round(WORDS * 0.5 / 0.75, 3)
    assert reason("a", "words", *pool, one("c", words=1.0)) == round(WORDS * 0.5, 3)
    assert reason("a", "words", one("a", words=0.5)) == round((WORDS + MEANING) * 0.5 / 0.75, 3)


def test_what_says_the_words_in_quotation_marks_comes_first():
    pool = (one("a", "We deploy some Fridays"), one("b", "We deploy on Fridays"))

    assert order(*pool, phrases=("on fridays",)) == ["b", "a"]
    assert reason("b", "phrase", *pool, phrases=("on fridays",)) == PHRASE
    assert reason("a", "phrase", *pool, phrases=("on fridays",)) == reason("b", "phrase", *pool) == 0


# --- who speaks ---


def test_a_line_of_the_one_the_question_names_comes_first():
    told = (one("a", "Bob: I went to Riga"), one("b", "Ada: I went to Riga"))

    assert order(*told, question="Where did Ada go?") == ["b", "a"]
    assert order(*told, question="Where did Ada's friend go?") == ["b", "a"]
    assert order(*told, question="Where did Bob go?") == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("Adam: I went to Riga", "Where did Ada go?"),
        ("I met Ada: she was in Riga", "Where did Ada go?"),
        ("Ada: I went to Riga", "Where did they go?"),
        ("Ada:I went to Riga", "Where did Ada go?"),
    ],
)
def test_only_a_line_of_that_name_is_one(text: str, question: str):
    assert reason("a", "speaker", one("a", text), question=question) == 0


TALK = "Ada: I went to Riga\nBob: And I to Oslo"


def test_a_talk_of_several_is_a_line_of_none_of_them():
    assert reason("a", "speaker", one("a", TALK), question="Where did Ada go?") == 0
    assert reason("a", "speaker", one("a", TALK), question="Where did Bob go?") == 0


@pytest.mark.parametrize("more", ["Then home.", "Ada: Then home.", "Note: by train", "Next: come back"])
def test_a_line_that_goes_on_is_still_of_the_one_who_speaks(more: str):
    said = one("a", f"Ada: I went to Riga\n{more}")

    assert reason("a", "speaker", said, question="Where did Ada go?") > 0


@pytest.mark.parametrize("label", ["Decision", "Note", "TODO", "Incident", "Summary", "Decision log"])
def test_a_label_is_no_speaker(label: str):
    question = f"What is the latest {label.lower()} about queues?"

    assert reason("a", "speaker", one("a", f"{label}: we use NATS for queues"), question=question) == 0


def test_the_right_speaker_is_no_answer_by_itself():
    told = (one("a", "Ada: Good morning to all", words=0.1), one("b", "Bob: Ada went to Riga", words=FIT))

    assert order(*told, question="Where did Ada go?") == ["b", "a"]


# --- questions and substance ---


def test_a_statement_comes_before_a_question():
    assert order(one("a", "Do we deploy Fridays?"), one("b", "We do deploy Fridays.")) == ["b", "a"]


def test_a_question_that_fits_much_better_stays_first():
    assert order(one("b", "We eat, do we not", words=POOR), one("a", "Do we deploy?", words=FIT)) == ["a", "b"]


@pytest.mark.parametrize("text", ["Why?", "Really? Yes", "Why? " + "x" * 114, "なぜですか？", "What now? \n"])  # noqa: RUF001
def test_a_question_is_known_by_its_mark(text: str):
    assert asks(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "We deploy",
        "Why? " + "Because it was agreed upon. " * 6,
        "Why? " + "x" * 115,
        "Ada: I went to Riga\nBob: And how was it?",
        "Why?\nBecause",
        "The board is at https://example.org/d?id=3",
        "The pattern is colou?r",
    ],
)
def test_a_text_with_a_mark_somewhere_in_it_is_no_question(text: str):
    assert not asks(text)


def test_a_text_of_substance_comes_before_a_greeting():
    short, long = (
        one("a", "Hello there"),
        one("b", "We deploy on Fridays, after the tests of the night have passed"),
    )

    assert order(short, long) == ["b", "a"]


def test_beyond_what_is_ample_length_counts_no_more():
    pool = (one("a", "word " * AMPLE), one("b", "word " * 5 * AMPLE))

    assert order(*pool) == ["a", "b"]
    assert reason("a", "substance", *pool) == reason("b", "substance", *pool)


def test_length_does_not_make_up_for_fit():
    assert order(one("a", "word " * 500, words=0.3), one("b", "We deploy on Fridays", words=0.8)) == ["b", "a"]


# --- company ---


def test_the_neighbour_of_what_fits_comes_before_another_of_its_session():
    pool = (line(1, words=FIT), line(9, id="a-far"), line(2, id="b-beside"))

    assert order(*pool) == ["line-0001", "b-beside", "a-far"]


def test_a_neighbour_by_meaning_counts_too():
    pool = (line(1, words=0.0, meaning=FIT), line(9, id="a-far", meaning=0.1), line(2, id="b-beside", meaning=0.1))

    assert order(*pool) == ["line-0001", "b-beside", "a-far"]


def test_both_neighbours_gain():
    pool = (line(1), line(2, words=FIT), line(3), line(5))

    assert reason("line-0001", "neighbours", *pool) == reason("line-0003", "neighbours", *pool) > 0
    assert reason("line-0005", "neighbours", *pool) == 0


@pytest.mark.parametrize(
    ("mine", "theirs"), [({"session": "s1"}, {"session": "s2"}), ({"session": ""}, {"session": ""})], ids=str
)
def test_there_are_neighbours_within_a_session_only(mine: dict[str, str], theirs: dict[str, str]):
    pool = (line(1, words=FIT, **theirs), line(2, **mine), line(9, session="s9"))

    assert reason("line-0002", "neighbours", *pool) == 0


def test_the_line_after_a_fitting_question_is_taken_for_its_answer():
    asked = line(1, "When do we deploy the api?", meaning=0.9)
    said = line(11, "When we deploy the api we sing", meaning=0.9)
    pool = (asked, line(12, id="a-after-a-statement", meaning=0.1), line(2, id="b-after-the-question", meaning=0.1))
    found = order(*pool, said)

    assert found.index("b-after-the-question") < found.index("a-after-a-statement")


def test_the_line_before_a_question_is_not_taken_for_its_answer():
    asked = line(2, "When do we deploy the api?", meaning=0.9)
    pool = (line(1, meaning=0.1), asked, line(3, meaning=0.1))
    before, after = (reason(id, "neighbours", *pool) for id in ("line-0001", "line-0003"))

    assert after > before > 0


def test_the_answer_to_a_question_about_something_else_gains_nothing():
    pool = (line(1, "What is for lunch?", meaning=0.0, words=0.0), line(2, meaning=0.1))

    assert reason("line-0002", "neighbours", *pool) == 0


def test_the_session_of_what_fits_comes_before_a_stranger():
    pool = (line(1, words=FIT), one("a-stranger", words=POOR), line(9, id="b-of-the-session", words=POOR))

    assert order(*pool) == ["line-0001", "b-of-the-session", "a-stranger"]


def test_memories_without_a_session_share_nothing():
    pool = (line(1, words=FIT, session=""), line(9, id="z", session=""))

    assert reason("z", "session", *pool) == 0
    beside = (*pool, line(5))  # a line of a session, so that sessions count
    assert reason("z", "session", *beside) == pytest.approx(SESSION * _own("z", *beside), abs=0.001)


def test_a_session_hands_on_a_share_of_what_its_best_has():
    pool = (line(1, words=0.4), line(9, words=POOR), one("best", words=FIT))
    best = _own("line-0001", *pool)

    for id in ("line-0001", "line-0009"):
        assert reason(id, "session", *pool) == pytest.approx(SESSION * best, abs=0.001)


def _own(id: str, *pool: Candidate) -> float:
    """What one has without the share of its session."""
    (hit,) = [hit for hit in weighed(*pool) if hit.memory.id == id]
    return sum(value for name, value in hit.reasons.items() if name != "session" and name not in FACTORS)


def test_a_session_does_not_lift_what_does_not_fit_above_what_does():
    pool = (line(1, words=FIT), line(9, id="a-of-the-session", words=0.0), one("b-alone", words=FIT))

    assert order(*pool)[-1] == "a-of-the-session"


# --- time ---

LAST_WEEK = TimeAsked(NOW - timedelta(days=12), NOW - timedelta(days=5), "", "last week")


def made(days_ago: float, id: str, *, words: float = FIT, **said: object) -> Candidate:
    return one(id, words=words, created_at=NOW - timedelta(days=days_ago), **said)


def test_what_was_said_in_the_time_asked_for_comes_first():
    assert order(made(20, "a"), made(3, "b"), made(9, "z"), time=LAST_WEEK)[0] == "z"


def test_without_a_time_in_the_question_no_time_counts():
    assert order(made(20, "a"), made(3, "b"), made(9, "z")) == ["a", "b", "z"]


def test_a_time_with_one_end_is_a_time():
    since, until = (
        TimeAsked(NOW - timedelta(days=5), None, "", "since"),
        TimeAsked(None, NOW - timedelta(days=5), "", "before"),
    )

    assert order(made(20, "a"), made(3, "z"), time=since)[0] == "z"
    assert order(made(3, "a"), made(20, "z"), time=until)[0] == "z"


def test_the_end_of_an_interval_is_not_part_of_it():
    assert reason("a", "time", made(5, "a"), time=LAST_WEEK) == 0
    assert reason("a", "time", made(12, "a"), time=LAST_WEEK) > 0


def test_when_something_holds_counts_rather_than_when_it_was_said():
    holds = made(1, "z", valid_from=NOW - timedelta(days=9))

    assert order(made(1, "a"), holds, time=LAST_WEEK) == ["z", "a"]
    assert order(made(9, "z", valid_from=NOW - timedelta(days=1)), made(9, "zz"), time=LAST_WEEK) == ["zz", "z"]


def test_the_right_time_is_no_answer_by_itself():
    assert order(made(9, "a", words=0.1), made(20, "b", words=FIT), time=LAST_WEEK) == ["b", "a"]


@pytest.mark.parametrize(("asked", "first"), [("newest", "z-new"), ("oldest", "z-old")])
def test_the_newest_or_the_oldest_comes_first_where_it_is_asked_for(asked: str, first: str):
    pool = (made(9, "a"), made(1, "z-new"), made(30, "z-old"), made(10, "b"))

    assert order(*pool, time=TimeAsked(None, None, asked, asked))[0] == first
    assert order(*pool)[0] == "a"


def test_the_newest_has_all_that_age_is_worth_and_each_older_one_less():
    pool = (made(9, "a"), made(1, "b"))
    newest = TimeAsked(None, None, "newest", "latest")

    assert [reason(id, "age", *pool, time=newest) for id in "ba"] == [BY_AGE, BY_AGE / 2]


def test_the_newest_is_no_answer_by_itself():
    pool = (made(1, "a-new", words=0.1), made(30, "b-old", words=FIT))

    assert order(*pool, time=TimeAsked(None, None, "newest", "latest")) == ["b-old", "a-new"]


def test_age_orders_the_best_only():
    pool = [made(20 - n, f"best-{n:02}") for n in range(10)]
    latest = made(0, "latest", words=0.0)

    assert "age" not in weighed(*pool, latest, time=TimeAsked(None, None, "newest", "latest"))[-1].reasons
    assert order(*pool, latest, time=TimeAsked(None, None, "newest", "latest"))[-1] == "latest"


# --- the record ---


@pytest.mark.parametrize(
    ("more", "less"),
    [
        ({"pinned": True}, {}),
        ({"verified_at": NOW}, {}),
        ({"importance": 6}, {}),
        ({}, {"importance": 4}),
        ({}, {"confidence": 0.6}),
    ],
    ids=str,
)
def test_between_equals_the_record_decides(more: dict[str, object], less: dict[str, object]):
    assert order(one("a", **less), one("b", **more)) == ["b", "a"]


@pytest.mark.parametrize("importance", [1, 4, 6, 10])
def test_each_step_of_importance_is_worth_as_much(importance: int):
    factor = priors(one("a", importance=importance).memory, NOW)["importance"]

    assert factor == pytest.approx(1 + PER_IMPORTANCE * (importance - 5))


BEST = {"pinned": True, "importance": 10, "verified_at": NOW, "confidence": 1.0}


def test_no_record_makes_up_for_fit():
    assert order(one("a", words=0.3, **BEST), one("b", words=0.9, confidence=0.2, importance=1)) == ["b", "a"]


def test_no_record_makes_something_relevant():
    plain, best = weighed(one("a", words=0.1))[0], weighed(one("a", words=0.1, **BEST))[0]

    assert best.score > plain.score
    assert best.relevance == plain.relevance


def test_a_record_that_is_ordinary_has_no_factor():
    assert priors(one("a").memory, NOW) == {}


def aged(confidence: float, days: float, **said: object) -> Memory:
    return memory(
        "m",
        confidence=confidence,
        decay=str(said.pop("decay", "100d")),
        created_at=NOW - timedelta(days=days),
        **said,
    )


def factor(one: Memory, now: datetime = NOW) -> float:
    return priors(one, now).get("confidence", 1.0)


def test_confidence_falls_with_age_against_decay():
    factors = [factor(aged(0.8, days)) for days in (0, 25, 50, 100)]

    assert factors == sorted(factors, reverse=True)
    assert len(set(factors)) == 4
    assert factor(aged(0.8, 90, decay="1000d")) > factor(aged(0.8, 90))


def test_confidence_falls_faster_where_it_was_low():
    def lost(confidence: float) -> float:
        return factor(aged(confidence, 80)) / factor(aged(confidence, 0))

    assert lost(1.0) == 1.0
    assert lost(0.5) < lost(0.8) < 1


def test_confidence_does_not_fall_where_nothing_decays_or_it_was_just_verified():
    assert factor(aged(0.8, 5000, decay="none")) == factor(aged(0.8, 0))
    assert factor(aged(0.8, 90, verified_at=NOW)) == factor(aged(0.8, 0))


def test_the_older_of_two_equals_comes_last_where_they_decay():
    old, new = (
        one(id, confidence=0.6, decay="100d", created_at=NOW - timedelta(days=days))
        for id, days in (("a", 90), ("b", 1))
    )

    assert order(old, new) == ["b", "a"]


# --- what is told ---

UNIT = st.floats(0, 1)
MEANINGS = st.none() | st.floats(-1, 2)
CANDIDATES = st.lists(
    st.tuples(UNIT, MEANINGS, st.sampled_from(["", "s1", "s2"]), st.booleans(), st.integers(1, 10), UNIT),
    max_size=12,
)


def drawn(rows: Sequence[tuple]) -> list[Candidate]:
    return [
        one(
            f"id-{at:02}",
            "Why so?" if words > 0.5 else "Ada: Because " * (at + 1),
            words=words,
            meaning=meaning,
            session=session,
            handle=f"mem-{at + 1:04}",
            pinned=pinned,
            importance=importance,
            confidence=confidence,
            created_at=NOW - timedelta(days=at),
        )
        for at, (words, meaning, session, pinned, importance, confidence) in enumerate(rows)
    ]


@settings(max_examples=150)
@given(CANDIDATES, st.sampled_from(["", "newest", "oldest"]))
def test_scores_and_relevance_lie_between_0_and_1_and_the_best_comes_first(rows, ages):
    hits = weighed(*drawn(rows), question="What did Ada say?", time=LAST_WEEK._replace(order=ages))
    scores = [hit.score for hit in hits]

    assert scores == sorted(scores, reverse=True)
    assert all(0 <= hit.score <= 1 and 0 <= hit.relevance <= 1 for hit in hits)


@settings(max_examples=80)
@given(CANDIDATES, st.integers(0, 99))
def test_the_order_of_the_candidates_changes_nothing(rows, seed):
    pool = drawn(rows)
    mixed = random.Random(seed).sample(pool, len(pool))

    assert weighed(*pool) == weighed(*mixed)


def test_equals_come_by_their_id():
    assert order(*(one(id) for id in "dbca")) == ["a", "b", "c", "d"]


@settings(max_examples=100)
@given(UNIT, UNIT, st.floats(-1, 2), st.floats(-1, 2))
def test_relevance_rises_with_words_and_with_meaning(words, more_words, meaning, more_meaning):
    words, more_words = sorted((words, more_words))
    meaning, more_meaning = sorted((meaning, more_meaning))

    assert (
        0 <= relevance(words, meaning) <= relevance(more_words, meaning) <= relevance(more_words, more_meaning) <= 1
    )
    assert 0 <= relevance(words, None) <= relevance(more_words, None) <= 1


def test_relevance_tells_an_answer_from_something_else():
    assert relevance(0.9, 0.9) > 0.95
    assert relevance(0.0, 0.1) < 0.05
    assert relevance(0.0, 0.9) > 0.9, "the same in other words"
    assert relevance(0.6, None) > 0.95
    assert relevance(0.0, None) < 0.1


@pytest.mark.parametrize(
    ("words", "meaning", "german", "told"),
    [
        (0.1, None, False, 0.401),
        (0.2, None, False, 0.832),
        (0.1, 0.2, False, 0.289),
        (0.2, 0.1, False, 0.214),
        (0.2, -0.9, False, 0.002),
        (0.2, 0.4, True, 0.525),
        (0.3, 0.2, True, 0.332),
    ],
)
def test_relevance_is_on_the_curve_that_was_measured(words, meaning, german, told):
    assert relevance(words, meaning, german=german) == told


def test_a_word_that_is_only_spelt_alike_is_worth_little_and_its_meaning_as_much_as_ever():
    assert relevance(0.6, 0.1) > 0.9
    assert relevance(0.6, 0.1, guessed=True) < 0.2
    assert relevance(0.0, 0.6, guessed=True) == relevance(0.0, 0.6)


def test_a_question_that_names_what_nobody_knows_needs_a_very_good_fit():
    assert relevance(0.3, 0.3, strange=True) < 0.1
    assert relevance(0.3, 0.3) > 0.9
    assert relevance(0.9, 0.9, strange=True) > 0.9


def test_a_german_question_needs_a_word_in_common_or_nearly_the_same_meaning():
    assert relevance(0.0, 0.5, german=True) < 0.2 < relevance(0.0, 0.5)
    assert relevance(0.2, 0.35, german=True) > 0.2
    assert relevance(0.0, 0.9, german=True) > 0.9


@settings(max_examples=60)
@given(CANDIDATES)
def test_the_parts_that_are_told_add_up_to_the_score(rows):
    for hit in weighed(*drawn(rows)):
        total = sum(value for name, value in hit.reasons.items() if name not in FACTORS)
        for name in FACTORS:
            total *= hit.reasons.get(name, 1.0)

        assert hit.score == pytest.approx(max(min(total / FULL, 1.0), 0.0), abs=0.01)


def test_what_a_hit_costs_is_what_would_be_read():
    assert weighed(one("a", "word " * 100))[0].tokens == tokens("word " * 99 + "word")
    assert weighed(one("a", "word " * 100, summary="short"))[0].tokens == tokens("short")
    assert weighed(one("a", "word " * 9, summary="short"))[0].tokens == tokens("short: " + "word " * 8 + "word")


def test_nothing_is_weighed_of_nothing():
    assert weighed() == []
