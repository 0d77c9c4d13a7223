"""Text to vectors elsewhere: any endpoint that speaks the OpenAI form of `/v1/embeddings`."""

import json
import math
import socket
import struct
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from engram.errors import Invalid, Unavailable
from engram.model.query import Space

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

IDLE = 4
MEANWHILE = "Recall by words works meanwhile."


class _Answer(NamedTuple):
    status: int
    retry_after: str
    location: str
    body: bytes


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
        latin: bool = False,
        floor: float = 0.0,
    ) -> None:
        self._address = _checked(url)
        if not 1 <= dim <= 65_536:
            raise Invalid(f"A vector of {dim} numbers cannot be.", "Set embedder_dim to the length the model has.")
        if not (key.isascii() and key.isprintable()):  # not shown: it is a secret, if a broken one
            raise Invalid("The endpoint's key holds what no key can hold.", "Set ENGRAM_EMBEDDER_KEY anew.")
        self.space = Space(f"endpoint/{model}", dim, document_instruction)
        self.latin, self.floor = latin, floor
        self._model, self._query = model, query_instruction
        self._key, self._timeout = key, timeout
        self._shorten = False
        self._idle: list[HTTPConnection] = []
        self._shown = f"{self._address.scheme}://{self._address.netloc}{self._address.path}"

    def query(self, text: str) -> bytes:
        """The vector of a question: little-endian float32, of unit length.

        Raises:
            Unavailable: when the endpoint cannot be reached, is slow, refuses, or answers wrongly.
        """
        return self._batch([_sendable(self._query + text)])[0]

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
                f"The endpoint {self._shown} gives vectors of {given} numbers; {self.space.dim} are configured.",
                f"Set embedder_dim to {given} and run `engram reembed`. {MEANWHILE}",
            )
        return [self._unit(row) for row in rows]

    def _rows(self, texts: list[str], deadline: float) -> list[list[float]]:
        """Ask for vectors, and check that there is one of numbers for each text, put in their order."""
        asked: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._shorten:
            asked["dimensions"] = self.space.dim
        body = self._post(json.dumps(asked).encode(), deadline)
        try:
            data = json.loads(body)["data"]
            found = {int(each.get("index", place)): each["embedding"] for place, each in enumerate(data)}
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
            raise self._wrong("what it sent is no list of embeddings") from None
        if len(data) != len(texts) or sorted(found) != list(range(len(texts))):
            raise self._wrong(f"it sent {len(data)} vectors for {len(texts)} texts, or numbered them otherwise")
        rows = [found[place] for place in range(len(texts))]
        if not all(isinstance(row, list) and row and set(map(type, row)) <= {int, float} for row in rows):
            raise self._wrong("a vector holds something that is no number")
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

    def _post(self, body: bytes, deadline: float) -> bytes:
        """The body of a good answer, asked for a second time where the endpoint was busy or stumbled."""
        answer = self._within(deadline, body)
        if answer.status == 429 or answer.status >= 500:
            wished = float(answer.retry_after) if answer.retry_after.isdecimal() else 0.5
            pause = min(wished, PAUSE)
            if time.monotonic() + pause < deadline:
                time.sleep(pause)
                answer = self._within(deadline, body)
        if answer.status != 200:
            raise self._refusal(answer)
        return answer.body

    def _within(self, deadline: float, body: bytes) -> _Answer:
        """One exchange, left alone when time is up.

        It runs in a thread of its own, because neither looking up a name nor an answer that drips byte by byte can
        be bounded from within. What is left behind ends by its own timeout, or because its connection is cut.
        """
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connection()
        results: list[_Answer | Exception] = []
        worker = threading.Thread(target=_caught, args=(lambda: self._talk(connection, body), results), daemon=True)
        worker.start()
        worker.join(max(0.0, deadline - time.monotonic()))
        if not results:
            _cut(connection)
            raise Unavailable(
                f"The endpoint {self._shown} did not answer within {self._timeout:g} seconds.",
                f"Check that it runs and is not overloaded. {MEANWHILE}",
            )
        result = results[0]
        if isinstance(result, _Answer):
            return result
        connection.close()
        if isinstance(result, Unavailable):
            raise result
        if isinstance(result, OSError | HTTPException | ValueError):
            why = getattr(result, "strerror", "") or str(result) or type(result).__name__
            raise Unavailable(
                f"The endpoint {self._shown} cannot be reached: {self._scrubbed(why)}.",
                f"Check that it runs, and embedder_url. {MEANWHILE}",
            ) from None
        raise result

    def _talk(self, connection: HTTPConnection, body: bytes) -> _Answer:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "engram"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        target = self._address.path + (f"?{self._address.query}" if self._address.query else "")
        was_open = connection.sock is not None
        try:
            connection.request("POST", target, body, headers)
            response = connection.getresponse()
        except (ConnectionError, HTTPException):
            if not was_open:
                raise
            connection.close()  # it was kept open from an earlier request, and the endpoint has closed it since
            connection.request("POST", target, body, headers)
            response = connection.getresponse()
        if (response.length or 0) > LARGEST or len(content := response.read(LARGEST + 1)) > LARGEST:
            raise self._wrong(f"its answer has more than {LARGEST >> 20} MiB")
        answer = _Answer(
            response.status, response.headers.get("Retry-After", ""), response.headers.get("Location", ""), content
        )
        if not response.will_close and len(self._idle) < IDLE:
            self._idle.append(connection)
        else:
            connection.close()
        return answer

    def _connection(self) -> HTTPConnection:
        host, port = self._address.hostname or "", self._address.port
        if self._address.scheme == "http":
            return HTTPConnection(host, port, timeout=self._timeout)
        return HTTPSConnection(host, port, timeout=self._timeout)  # certificate and name are verified

    def _refusal(self, answer: _Answer) -> Unavailable:
        """What a status other than 200 means, in words. What the endpoint says about a key is not repeated."""
        status, said = answer.status, self._said(answer.body)
        if status in (401, 403):
            what = "refuses the key" if self._key else "asks for a key"
            return Unavailable(f"The endpoint {self._shown} {what}.", f"Set ENGRAM_EMBEDDER_KEY. {MEANWHILE}")
        if 300 <= status < 400:
            elsewhere = urlsplit(answer.location).netloc or "elsewhere"
            return Unavailable(
                f"The endpoint {self._shown} sends on to {self._scrubbed(elsewhere)}, which is not followed.",
                f"Set embedder_url to the address that answers. {MEANWHILE}",
            )
        if status in (400, 404, 405, 413, 422):
            return Unavailable(
                f"The endpoint {self._shown} refuses the request ({status}){said}.",
                f"Check embedder_url, embedder_model and embedder_dim. {MEANWHILE}",
            )
        return Unavailable(
            f"The endpoint {self._shown} fails or is busy ({status}){said}.", f"Try again later. {MEANWHILE}"
        )

    def _wrong(self, why: str) -> Unavailable:
        return Unavailable(
            f"The endpoint {self._shown} answers wrongly: {why}.",
            f"Check embedder_url and embedder_model. {MEANWHILE}",
        )

    def _said(self, body: bytes) -> str:
        """The endpoint's own words, where it has some in the usual place."""
        try:
            answer = json.loads(body)
            error = answer.get("error", answer)
            words = error if isinstance(error, str) else error.get("message") or error.get("detail")
        except (ValueError, AttributeError, RecursionError):
            return ""
        return f": {self._scrubbed(words)}" if isinstance(words, str) and words else ""

    def _scrubbed(self, text: str) -> str:
        """Foreign words in one short line, without the key."""
        clear = text.replace(self._key, "***") if self._key else text
        line = " ".join("".join(letter if letter.isprintable() else " " for letter in clear[:1000]).split())
        return line[:200].rstrip(".")


def _checked(url: str) -> SplitResult:
    """The address of embeddings, from that of an API or its own.

    Raises:
        Invalid: when it is none, carries a secret, or would send texts over the network in the clear.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        parts, host = urlsplit(""), ""
    if (
        parts.scheme not in ("http", "https")
        or not host
        or not (url.isascii() and url.isprintable() and " " not in url)
    ):
        raise Invalid(
            "The endpoint's address is no address of the web.", "Set embedder_url, as in https://host/v1."
        )
    if parts.username is not None or parts.password is not None:
        raise Invalid(
            "The endpoint's address carries a name or a password.",
            "Take it out, and put the key into ENGRAM_EMBEDDER_KEY.",
        )
    if parts.scheme == "http" and not _is_here(host):
        raise Invalid(
            f"http://{host} would send what is remembered over the network in the clear.",
            "Use https://, or an endpoint on this machine.",
        )
    path = parts.path.rstrip("/") or "/v1"
    return parts._replace(path=path if path.endswith("/embeddings") else f"{path}/embeddings", fragment="")


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _sendable(text: str) -> str:
    """A text as any endpoint takes it: not blank, not too long, without NUL and half surrogate pairs."""
    clear = text[:CUT].replace("\0", " ").encode("utf-8", "replace").decode()
    return clear if clear.strip() else BLANK


def _caught(work: Callable[[], _Answer], results: list[_Answer | Exception]) -> None:
    try:
        results.append(work())
    except Exception as error:  # noqa: BLE001 - raised again by whoever waits for it
        results.append(error)


def _cut(connection: HTTPConnection) -> None:
    if connection.sock is not None:
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)
