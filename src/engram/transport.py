"""One request to a server on the web: a checked address, a hard deadline, no redirects, no key in messages."""

import json
import socket
import threading
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from ipaddress import ip_address
from typing import Literal, NamedTuple
from urllib.parse import SplitResult, urlsplit

from engram.errors import Invalid

LARGEST = 4 << 20
"""Bytes of an answer."""

NOTHING = 0
"""The status of a request that got no answer."""

IDLE = 4
"""Connections that are kept open for the next request."""


class Answer(NamedTuple):
    """What came back: a status and a body; or no status, and why nothing came.

    `fault` tells which kind of nothing: nobody was reached, time was over, or there was too much of it.
    """

    status: int
    body: bytes = b""
    why: str = ""
    fault: Literal["", "unreached", "late", "large"] = ""
    retry_after: str = ""
    location: str = ""


class _Words(NamedTuple):
    """What messages call the server, its address and its key."""

    called: str
    setting: str
    secret: str
    example: str


class _Request(NamedTuple):
    method: str
    target: str
    body: bytes
    kind: str
    largest: int


class Web:
    """A server that is asked one thing at a time. Safe to use from several threads.

    `setting` names the setting that holds the address and `secret` the variable that holds the key, for hints;
    `called` is what the server is to whoever set it, and `example` how its address looks. `headers` go with every
    request.
    Redirects are not followed, so the key goes to no other address. Proxies are not used.

    Raises:
        Invalid: when the address or the key cannot be used.
    """

    def __init__(
        self,
        url: str,
        path: str,
        *,
        key: str,
        timeout: float,
        setting: str,
        secret: str,
        largest: int = LARGEST,
        headers: tuple[tuple[str, str], ...] = (),
        called: str = "The endpoint",
        example: str = "https://host/v1",
    ) -> None:
        self._address = _checked(url, path, _Words(called, setting, secret, example))
        if not (key.isascii() and key.isprintable()):  # not shown: it is a secret, if a broken one
            raise Invalid(f"{called}'s key has characters that no key can have.", f"Set {secret} anew.")
        self._key, self._timeout, self._largest, self._headers = key, timeout, largest, headers
        self._idle: list[HTTPConnection] = []
        self.shown = f"{self._address.scheme}://{self._address.netloc}{self._address.path}"

    def ask(
        self,
        method: str,
        path: str = "",
        body: bytes = b"",
        *,
        query: str = "",
        kind: str = "application/json",
        largest: int = 0,
        within: float | None = None,
    ) -> Answer:
        """Ask and wait for what comes back, no longer than the timeout; whatever goes wrong is an answer.

        It runs in a thread of its own, because neither looking up a name nor an answer that drips byte by byte can
        be bounded from within. What is left behind ends when its connection is cut.
        """
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connection()
        answers: list[Answer] = []
        more = query or self._address.query
        target = self._address.path + path + (f"?{more}" if more else "")
        request = _Request(method, target, body, kind, largest or self._largest)
        worker = threading.Thread(target=lambda: answers.append(self._talk(connection, request)), daemon=True)
        worker.start()
        worker.join(self._timeout if within is None else max(0.0, within))
        if answers:
            return answers[0]
        if (open_one := connection.sock) is not None:  # looked at once: the thread may close it at any moment
            with suppress(OSError):
                open_one.shutdown(socket.SHUT_RDWR)
        return self._late()

    def post(self, value: object, within: float | None = None) -> Answer:
        """Send a value as JSON; see `ask`."""
        return self.ask("POST", body=json.dumps(value).encode(), within=within)

    def _late(self) -> Answer:
        return Answer(NOTHING, why=f"it did not answer within {self._timeout:g} seconds", fault="late")

    def said(self, body: bytes) -> str:
        """The endpoint's own words about an error, if it has some in the usual place; without the key."""
        try:
            answer = json.loads(body)
            error = answer.get("error", answer)
            words = error if isinstance(error, str) else error.get("message") or error.get("detail")
        except (ValueError, AttributeError, RecursionError):
            return ""
        return self.scrubbed(words) if isinstance(words, str) else ""

    def _talk(self, connection: HTTPConnection, request: _Request) -> Answer:
        """One exchange. A connection that both sides keep open serves the next one."""
        try:
            response = self._exchanged(connection, request)
            size = response.length or 0
            content = b"" if size > request.largest else response.read(request.largest + 1)
        except Exception as error:  # noqa: BLE001 - a thread of its own: whoever waits is told, whatever it is
            connection.close()
            if isinstance(error, TimeoutError):
                return self._late()
            why = getattr(error, "strerror", "") or str(error) or type(error).__name__
            return Answer(NOTHING, why=self.scrubbed(why), fault="unreached")
        if max(size, len(content)) > request.largest:
            connection.close()
            return Answer(NOTHING, why=f"its answer has more than {request.largest >> 20} MiB", fault="large")
        if response.will_close or len(self._idle) >= IDLE:
            connection.close()
        else:
            self._idle.append(connection)
        headers = (response.headers.get(name, "") for name in ("Retry-After", "Location"))
        return Answer(response.status, content, "", "", *headers)

    def _exchanged(self, connection: HTTPConnection, request: _Request) -> HTTPResponse:
        headers = {"Content-Type": request.kind, "Accept": request.kind, "User-Agent": "engram"}
        headers.update(self._headers)
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        asked = (request.method, request.target, request.body or None, headers)
        was_open = connection.sock is not None
        try:
            connection.request(*asked)
            return connection.getresponse()
        except (ConnectionError, HTTPException):
            if not was_open:
                raise
        connection.close()  # it was kept open from an earlier request, and the other side has closed it since
        connection.request(*asked)
        return connection.getresponse()

    def _connection(self) -> HTTPConnection:
        host, port = self._address.hostname or "", self._address.port
        if self._address.scheme == "http":
            return HTTPConnection(host, port, timeout=self._timeout)
        return HTTPSConnection(host, port, timeout=self._timeout)  # certificate and name are verified

    def scrubbed(self, text: str) -> str:
        """Foreign words in one short line, without the key."""
        clear = text.replace(self._key, "***") if self._key else text
        line = " ".join("".join(letter if letter.isprintable() else " " for letter in clear[:1000]).split())
        return line[:200].rstrip(".")


def _checked(url: str, path: str, words: _Words) -> SplitResult:
    """The address to ask, from that of an API or its own.

    Raises:
        Invalid: when it is none, carries a secret, or would send texts over the network in the clear.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        parts, host = urlsplit(""), ""
    printable = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in ("http", "https") or not host or not printable:
        raise Invalid(
            f"{words.called}'s address is not a web address.", f"Set {words.setting}, as in {words.example}."
        )
    if parts.username is not None or parts.password is not None:
        raise Invalid(
            f"{words.called}'s address carries a name or a password.",
            f"Take it out, and put the key into {words.secret}.",
        )
    if parts.scheme == "http" and not _is_here(host):
        raise Invalid(
            f"http://{host} would send what is said and remembered over the network in the clear.",
            "Use https://, or an endpoint on this machine.",
        )
    place = parts.path.rstrip("/") or "/v1"
    return parts._replace(path=place if place.endswith(path) else f"{place}{path}", fragment="")


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
