"""A real server on this machine that judges pairs of memories, or refuses, stumbles and talks nonsense."""

import json
from typing import Any

import pytest

from engram.inference.judge import LONGEST, ChatJudge
from engram.model.judgement import Judged, Judgement
from inference.test_extract import Reply, Server, refusing, saying, server  # noqa: F401 - a fixture

PAIRS = [("The port is 9090 now", "The port is 8080"), ("The lobby has plants", "Tests run at night")]
ROW = {"pair": 0, "relation": "supersedes", "confidence": 0.9, "reason": "It  moved."}


def judging(*rows: object) -> Reply:
    return saying(json.dumps({"verdicts": rows}))


def judge(server: Server, **more: Any) -> ChatJudge:  # noqa: F811 - the fixture
    return ChatJudge(server.url, "m", **{"timeout": 5.0, "pause": 0.0, **more})


def test_what_a_model_says_of_a_pair_comes_back_with_its_place(server: Server):  # noqa: F811
    server.reply = judging(ROW)
    said = judge(server).judge(PAIRS, 10_000)

    assert said.verdicts == (Judged(0, "supersedes", 0.9, "It moved."),)
    assert (said.problem, said.over) == ("", False)
    assert said.tokens > 0
    assert json.loads(server.asked[0]["messages"][1]["content"])[0] == {
        "pair": 0,
        "newer": "The port is 9090 now",
        "older": "The port is 8080",
    }


@pytest.mark.parametrize(
    "row",
    [None, 7, {}, ROW | {"pair": 2}, ROW | {"pair": True}, ROW | {"relation": "loves"}, ROW | {"relation": 1}],
)
def test_a_row_that_is_no_verdict_on_one_of_the_pairs_is_dropped(server: Server, row: object):  # noqa: F811
    server.reply = judging(row)

    assert judge(server).judge(PAIRS, 10_000).verdicts == ()


def test_only_the_beginning_of_a_long_memory_is_sent(server: Server):  # noqa: F811
    server.reply = judging()
    judge(server).judge([("x" * 5000, "y" * 5000)], 10_000)
    (row,) = json.loads(server.asked[0]["messages"][1]["content"])

    assert (len(row["newer"]), len(row["older"])) == (LONGEST, LONGEST)


def test_a_budget_is_kept_before_anything_is_sent(server: Server):  # noqa: F811
    said = judge(server).judge(PAIRS, 10)

    assert server.asked == []
    assert said.over
    assert "budget" in said.problem


@pytest.mark.parametrize("status", [401, 403, 429])
def test_after_a_refusal_nothing_more_is_asked(server: Server, status: int):  # noqa: F811
    server.reply = refusing(status)
    one = judge(server)

    assert one.judge(PAIRS, 10_000).over
    assert one.judge(PAIRS, 10_000).over
    assert len(server.asked) == 1


def test_an_answer_of_another_form_is_no_answer(server: Server):  # noqa: F811
    server.reply = saying("They conflict.")
    said = judge(server).judge(PAIRS, 10_000)

    assert said.verdicts == ()
    assert "answers wrongly" in said.problem
    assert not said.over


def test_the_cost_is_estimated_without_asking(server: Server):  # noqa: F811
    one = judge(server)

    assert 0 < one.cost(PAIRS[:1]) < one.cost(PAIRS)
    assert server.asked == []
    assert isinstance(one.judge(PAIRS, 1), Judgement)
