"""Which questions ask for a time and nothing else."""

from datetime import UTC, datetime

import pytest

from engram.recall.periods import sought
from engram.recall.timewords import asked

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)  # a Wednesday


def kind_of(question: str) -> str | None:
    return sought(question, asked(question, NOW))


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("what did we decide last week?", "decision"),
        ("What was decided in May", "decision"),
        ("latest decisions", "decision"),
        ("what did I learn this month", "learning"),
        ("what did we fix yesterday?", "bugfix"),
        ("what happened today?", ""),
        ("what changed recently?", ""),
        ("what is new this week", ""),
        ("yesterday", ""),
        ("since Monday", ""),
        ("was haben wir letzte Woche entschieden?", "decision"),
        ("was ist gestern passiert?", ""),
    ],
)
def test_a_question_for_a_time_alone_tells_which_kind_it_is_about(question, kind):
    assert kind_of(question) == kind


@pytest.mark.parametrize(
    "question",
    [
        "what did we decide about storage last week?",
        "what did Ada do yesterday?",
        'what did we say about "last week"?',
        "what did we decide?",
        "when do we deploy?",
        "fix this now",
        "it was fixed yesterday",
        "work on it today",
        "latest",
        "is the server up now?",
        "was hat Ada gestern gemacht?",
    ],
)
def test_a_question_with_a_subject_or_without_a_time_is_no_such_question(question):
    assert kind_of(question) is None
