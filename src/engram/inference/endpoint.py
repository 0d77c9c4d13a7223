"""Text to vectors elsewhere: any endpoint that speaks the OpenAI form of `/v1/embeddings`."""

import json
import math
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from engram.errors import Invalid, Unavailable
from engram.model.query import Space
from engram.transport import NOTHING, Answer, Web

BATCH = 32
"""Texts in one request."""

CUT = 8_000
"""Characters of a text that are sent: endpoints refuse what exceeds their model, mostly 8,192 tokens or more."""

BLANK = "."
"""Stands for a text with nothing in it, which many endpoints refuse."""

LARGEST = 16 << 20
"""Bytes of an answer; a full batch of the longest vectors in use takes a quarter of it."""

PAUSE = 2.0
"""Seconds to wait at most before the one repetition."""

MEANWHILE = "Recall by words works meanwhile."


class Endpoint:
    """A model behind an address. Safe to use from several threads.

    `dim` is how long its vectors are, or shall be: where they are longer, the endpoint is asked to shorten them.
    `document_instruction` becomes the prefix of the space, which the caller puts before its texts.
    `timeout` is the most that a request takes, from looking up the name to the last byte, its repetition included.
    Redirects are not followed, so the key goes to no other address. Proxies are not used.

    Raises:
        Invalid: when the address, the length or the key cannot be used.
    """

    def __init__(
        self,
        url: str,
        model: str,
        dim: int,
        *,
        query_instruction: str = "",
        document_instruction: str = "",
        key: str = "",
        timeout: float = 10.0,
    ) -> None:
        self._web = Web(
            url,
            "/embeddings",
            key=key,
            timeout=timeout,
            setting="embedder_url",
            secret="ENGRAM_EMBEDDER_KEY",  # noqa: S106 - the name of a variable, no secret
            largest=LARGEST,
        )
        if not 1 <= dim <= 65_536:
            raise Invalid(
                f"A vector cannot have {dim} dimensions.", "Set embedder_dim to the length the model has."
            )
        self.space = Space(f"endpoint/{model}", dim, document_instruction)
        self._model, self._query = model, query_instruction
        self._keyed, self._timeout = bool(key), timeout
        self._shorten = False

    def query(self, text: str) -> bytes:
        """The vector of a question: little-endian float32, of unit length.

        Raises:
            Unavailable: when the endpoint cannot be reached, is slow, refuses, or answers wrongly.
        """
        return self._batch([_sendable(self._query + text)])[0]

    def knows(self, word: str) -> bool:  # noqa: ARG002 - what a model elsewhere learned is not known here
        """Nothing: any word may be mistyped."""
        return False

    def documents(self, texts: Sequence[str]) -> list[bytes]:
        """The vectors of texts that may answer one, in order. The space's prefix stands before them already.

        Raises:
            Unavailable: as for a question.
        """
        sendable = [_sendable(text) for text in texts]
        batches = (sendable[start : start + BATCH] for start in range(0, len(sendable), BATCH))
        return [vector for batch in batches for vector in self._batch(batch)]

    def _batch(self, texts: list[str]) -> list[bytes]:
        deadline = time.monotonic() + self._timeout
        rows = self._rows(texts, deadline)
        given = len(rows[0])
        if given > self.space.dim and not self._shorten:
            self._shorten = True  # and from now on without asking twice
            with suppress(Unavailable):  # that it cannot shorten is said below, with the length it has
                rows = self._rows(texts, deadline)
        if len(rows[0]) != self.space.dim:
            self._shorten = False
            raise Unavailable(
                f"The endpoint {self._web.shown} gives vectors of {given} numbers;"
                f" {self.space.dim} are configured.",
                f"Set embedder_dim to {given} and run `engram reembed`. {MEANWHILE}",
            )
        return [self._unit(row) for row in rows]

    def _rows(self, texts: list[str], deadline: float) -> list[list[float]]:
        """Ask for vectors, and check that there is one of numbers for each text, put in their order."""
        asked: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._shorten:
            asked["dimensions"] = self.space.dim
        body = self._asked(asked, deadline)
        try:
            data = json.loads(body)["data"]
            found = {int(each.get("index", place)): each["embedding"] for place, each in enumerate(data)}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            raise self._wrong("what it sent is not a list of embeddings") from None
        if len(data) != len(texts) or sorted(found) != list(range(len(texts))):
            raise self._wrong(f"it sent {len(data)} vectors for {len(texts)} texts, or numbered them otherwise")
        rows = [found[place] for place in range(len(texts))]
        if not all(isinstance(row, list) and row and set(map(type, row)) <= {int, float} for row in rows):
            raise self._wrong("a vector contains a value that is not a number")
        if len(set(map(len, rows))) != 1:
            raise self._wrong("its vectors are of several lengths")
        return rows

    def _unit(self, row: list[float]) -> bytes:
        try:
            length = math.hypot(*row)
        except OverflowError:
            length = math.inf
        if not 0 < length < math.inf:  # not so for what is no number, too
            raise self._wrong("a vector has no direction: it is zero, endless, or no number")
        return struct.pack(f"<{len(row)}f", *(number / length for number in row))

    def _asked(self, asked: object, deadline: float) -> bytes:
        """The body of a good answer, asked for a second time where the endpoint was busy or stumbled."""
        answer = self._web.post(asked, deadline - time.monotonic())
        if answer.status == 429 or answer.status >= 500:
            wished = float(answer.retry_after) if answer.retry_after.isdecimal() else 0.5
            pause = min(wished, PAUSE)
            if time.monotonic() + pause < deadline:
                time.sleep(pause)
                answer = self._web.post(asked, deadline - time.monotonic())
        if answer.status != 200:
            raise self._refusal(answer)
        return answer.body

    def _refusal(self, answer: Answer) -> Unavailable:
        """What a status other than 200 means, in words. What the endpoint says about a key is not repeated."""
        if answer.status == NOTHING:
            return self._nothing(answer)
        words = self._web.said(answer.body)
        status, said = answer.status, f": {words}" if words else ""
        if status in (401, 403):
            what = "refuses the key" if self._keyed else "asks for a key"
            return Unavailable(f"The endpoint {self._web.shown} {what}.", f"Set ENGRAM_EMBEDDER_KEY. {MEANWHILE}")
        if 300 <= status < 400:
            elsewhere = self._web.scrubbed(urlsplit(answer.location).netloc or "elsewhere")
            return Unavailable(
                f"The endpoint {self._web.shown} sends on to {elsewhere}, which is not followed.",
                f"Set embedder_url to the address that answers. {MEANWHILE}",
            )
        if status in (400, 404, 405, 413, 422):
            return Unavailable(
                f"The endpoint {self._web.shown} refuses the request ({status}){said}.",
                f"Check embedder_url, embedder_model and embedder_dim. {MEANWHILE}",
            )
        return Unavailable(
            f"The endpoint {self._web.shown} fails or is busy ({status}){said}.", f"Try again later. {MEANWHILE}"
        )

    def _nothing(self, answer: Answer) -> Unavailable:
        """Why nothing came back, in words."""
        if answer.fault == "large":
            return self._wrong(answer.why)
        if answer.fault == "late":
            return Unavailable(
                f"The endpoint {self._web.shown} did not answer within {self._timeout:g} seconds.",
                f"Check that it runs and is not overloaded. {MEANWHILE}",
            )
        return Unavailable(
            f"The endpoint {self._web.shown} cannot be reached: {answer.why}.",
            f"Check that it runs, and embedder_url. {MEANWHILE}",
        )

    def _wrong(self, why: str) -> Unavailable:
        return Unavailable(
            f"The endpoint {self._web.shown} answers wrongly: {why}.",
            f"Check embedder_url and embedder_model. {MEANWHILE}",
        )


def _sendable(text: str) -> str:
    """A text as any endpoint takes it: not blank, not too long, without NUL and half surrogate pairs."""
    clear = text[:CUT].replace("\0", " ").encode("utf-8", "replace").decode()
    return clear if clear.strip() else BLANK
