"""A question to a model elsewhere, answered in JSON within a budget: any endpoint with `/v1/chat/completions`.

Asking never raises. A reply says what came, what it cost and what went wrong; and once the budget is used up, or
the endpoint refuses the key or asks to slow down, that it is over: nothing more is sent then.
"""

import json
import re
import time
from typing import Any, NamedTuple

from engram.model.text import tokens
from engram.transport import NOTHING, Answer, Web

REFUSED = (401, 403, 429)
"""Statuses after which asking again would do harm."""

FENCE = re.compile(r"\A```(?:json)?[ \t\r]*\n(.*)\n```\Z", re.DOTALL)
THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


class Reply(NamedTuple):
    """The list that was asked for, or why there is none; `over` says that nothing will be asked again."""

    rows: list[object] | None = None
    tokens: int = 0
    problem: str = ""
    hint: str = ""
    over: bool = False


class Chat:
    """A model behind an address. What it is sent goes there as it is: whoever calls has taken the secrets out.

    `name` is used in the message that the budget is used up; `again` begins its hint.

    Raises:
        Invalid: when the address or the key cannot be used.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        name: str,
        again: str,
        key: str = "",
        timeout: float = 60.0,
        most_calls: int = 200,
        most_tokens: int = 1_000_000,
        pause: float = 1.0,
    ) -> None:
        self._web = Web(
            url,
            "/chat/completions",
            key=key,
            timeout=timeout,
            setting="extractor_url",
            secret="ENGRAM_EXTRACTOR_KEY",  # noqa: S106 - the name of a variable, no secret
        )
        self._model, self._pause, self._name, self._again = model, pause, name, again
        self._calls_left, self.tokens_left = most_calls, most_tokens
        self._tuned = True  # until an endpoint refuses the settings that only some models take
        self._over: Reply | None = None

    def ask(self, task: str, said: str, *, listed: str, room: int) -> Reply:
        """The list called `listed` of the JSON that comes back, in at most `room` tokens."""
        if self._over is not None:
            return self._over
        needed = cost(task, said, room)
        if self._calls_left < 1 or self.tokens_left < needed:
            return self._end(f"The budget of the {self._name} is used up.", f"{self._again} to go on, or raise it.")
        answer, spent = self._answer(task, said, room, needed)
        if answer.status in REFUSED:
            return self._refusal(answer)._replace(tokens=spent)
        if answer.status != 200:
            return Reply(
                tokens=spent, problem=self._trouble(answer), hint="Check extractor_url and extractor_model."
            )
        rows = _rows(answer.body, listed)
        if rows is None:
            wrong = (
                f"The endpoint {self._web.shown} answers wrongly: what it sent is not the JSON it was asked for."
            )
            return Reply(tokens=spent, problem=wrong, hint="Try a model that follows instructions more closely.")
        return Reply(rows, spent)

    def _answer(self, task: str, said: str, room: int, needed: int) -> tuple[Answer, int]:
        """Ask, and once more where the endpoint stumbled or did not take a setting; and what that cost."""
        answer, spent = self._send(task, said, room), needed
        again = answer.status >= 500 or (answer.status in (400, 422) and self._tuned)
        if again and self._calls_left > 0 and self.tokens_left >= needed:
            if answer.status < 500:
                self._tuned = False
            else:
                time.sleep(self._pause)
            answer, spent = self._send(task, said, room), spent + needed
        if answer.status == 200:
            used = _usage(answer.body)
            spent += used - needed if used else 0
        self.tokens_left -= spent
        return answer, spent

    def _send(self, task: str, said: str, room: int) -> Answer:
        self._calls_left -= 1
        asked: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": "system", "content": task}, {"role": "user", "content": said}],
            "stream": False,
        }
        if self._tuned:
            asked |= {"temperature": 0, "max_tokens": room}
        return self._web.post(asked)

    def _refusal(self, answer: Answer) -> Reply:
        if answer.status == 429:
            said = self._web.said(answer.body)
            problem = f"The endpoint {self._web.shown} asks to slow down{f': {said}' if said else ''}."
            return self._end(problem, f"{self._again} later: it goes on where it stopped.")
        return self._end(
            f"The endpoint {self._web.shown} refuses the key, or asks for one.", "Set ENGRAM_EXTRACTOR_KEY."
        )

    def _end(self, problem: str, hint: str) -> Reply:
        self._over = Reply(problem=problem, hint=hint, over=True)
        return self._over

    def _trouble(self, answer: Answer) -> str:
        if answer.status == NOTHING:
            return f"The endpoint {self._web.shown} cannot be used: {answer.why}."
        said = self._web.said(answer.body)
        return f"The endpoint {self._web.shown} answers with {answer.status}{f': {said}' if said else ''}."


def cost(task: str, said: str, room: int) -> int:
    """The most tokens that asking takes, by estimate."""
    return tokens(task) + tokens(said) + room


def _usage(body: bytes) -> int:
    """The tokens that the endpoint counted itself; 0 where it does not say."""
    try:
        used = json.loads(body)["usage"]["total_tokens"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return 0
    return used if isinstance(used, int) and not isinstance(used, bool) and used > 0 else 0


def _rows(body: bytes, listed: str) -> list[object] | None:
    """The list of an answer; None when it is not of the form that was asked for."""
    try:
        content = json.loads(body)["choices"][0]["message"]["content"]
        plain = THOUGHT.sub("", content).strip()
        fenced = FENCE.match(plain)
        rows = json.loads(fenced[1] if fenced else plain)[listed]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return None
    return rows if isinstance(rows, list) else None
