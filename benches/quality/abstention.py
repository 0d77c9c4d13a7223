"""When to say that nothing is known: what a threshold declines, rightly and wrongly.

Four kinds of questions: those that the conversation answers (categories 1 to 4), the same asked of the next
conversation of the half, which cannot know, the same again with that conversation's speakers for names, and
category 5, which is on topic but not there. The threshold is chosen on the tuning half.
"""

from collections.abc import Sequence
from typing import Any

from conversations import Locomo, answerable
from scores import share
from stores import Found

from engram.recall import pipeline

THRESHOLDS = [round(step / 50, 2) for step in range(1, 26)]


def measure(bench: Locomo, half: str) -> dict[str, Any]:
    """The curve of a half, and what recall by default really declines."""
    answers = bench.answers(half)
    asked = {
        "answerable": [(one.default, one.weak) for one in answers if answerable(one.question)],
        "wrong conversation": [(one.default, one.weak) for one in bench.elsewhere(half)],
        "wrong, renamed": [(one.default, one.weak) for one in bench.elsewhere(half, renamed=True)],
        "category 5": [(one.default, one.weak) for one in answers if one.question.kind == "adversarial"],
    }
    peaks = {name: [_peak(weak) for _, weak in each] for name, each in asked.items()}
    declined = {name: [not default.ids for default, _ in each] for name, each in asked.items()}
    return {
        "questions": {name: len(each) for name, each in asked.items()},
        "declined": {name: share(flags) for name, flags in declined.items()},
        # The curve is drawn from relevances, the shares above from what was answered: they should agree.
        "curve differs from recall in": sum(
            (peak < pipeline.RELEVANT) != flag
            for name, each in peaks.items()
            for peak, flag in zip(each, declined[name], strict=True)
        ),
        "declined wrongly though found": share(
            bool(one.question.gold.intersection(one.weak.ids[:5])) and not one.default.ids
            for one in answers
            if answerable(one.question)
        ),
        "curve": [
            {"threshold": threshold, **{name: _below(each, threshold) for name, each in peaks.items()}}
            for threshold in sorted({*THRESHOLDS, pipeline.RELEVANT})
        ],
    }


def _peak(found: Found) -> float:
    """The relevance by which a question is declined or not: the best among the first few."""
    return max(found.relevance[: pipeline.LOOKED_AT], default=0.0)


def _below(peaks: Sequence[float], threshold: float) -> float:
    return share(peak < threshold for peak in peaks)
