"""One JSON request to a model's endpoint: a checked address, a hard deadline, no redirects, no key in messages."""

import json
import socket
import threading
from contextlib import suppress
from http.client import HTTPConnection, HTTPSConnection
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from engram.errors import Invalid

LARGEST = 4 << 20
"""Bytes of an answer."""

NOTHING = 0
"""The status of a request that got no answer."""


class Answer(NamedTuple):
    """What came back: a status and a body; or no status, and why nothing came."""

    status: int
    body: bytes = b""
    why: str = ""


class Post:
    """An address to which JSON is sent. Safe to use from several threads.

    `setting` names the setting that holds the address and `secret` the variable that holds the key, for hints.
    Redirects are not followed, so the key goes to no other address. Proxies are not used.

    Raises:
        Invalid: when the address or the key cannot be used.
    """

    def __init__(self, url: str, path: str, *, key: str, timeout: float, setting: str, secret: str) -> None:
        self._address = _checked(url, path, setting, secret)
        if not (key.isascii() and key.isprintable()):  # not shown: it is a secret, if a broken one
            raise Invalid("The endpoint's key holds what no key can hold.", f"Set {secret} anew.")
        self._key, self._timeout = key, timeout
        self.shown = f"{self._address.scheme}://{self._address.netloc}{self._address.path}"

    def send(self, asked: object) -> Answer:
        """Send a value and wait for what comes back, no longer than the timeout; whatever goes wrong is an answer.

        It runs in a thread of its own, because neither looking up a name nor an answer that drips byte by byte can
        be bounded from within. What is left behind ends when its connection is cut.
        """
        connection = self._connection()
        answers: list[Answer] = []
        body = json.dumps(asked).encode()
        worker = threading.Thread(target=lambda: answers.append(self._talk(connection, body)), daemon=True)
        worker.start()
        worker.join(self._timeout)
        if answers:
            return answers[0]
        if connection.sock is not None:
            with suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)
        return Answer(NOTHING, why=f"it did not answer within {self._timeout:g} seconds")

    def said(self, body: bytes) -> str:
        """The endpoint's own words about an error, if it has some in the usual place; without the key."""
        try:
            answer = json.loads(body)
            error = answer.get("error", answer)
            words = error if isinstance(error, str) else error.get("message") or error.get("detail")
        except (ValueError, AttributeError, RecursionError):
            return ""
        return self._scrubbed(words) if isinstance(words, str) else ""

    def _talk(self, connection: HTTPConnection, body: bytes) -> Answer:
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "engram"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        target = self._address.path + (f"?{self._address.query}" if self._address.query else "")
        try:
            connection.request("POST", target, body, headers)
            response = connection.getresponse()
            content = response.read(LARGEST + 1)
        except Exception as error:  # noqa: BLE001 - a thread of its own: whoever waits is told, whatever it is
            why = getattr(error, "strerror", "") or str(error) or type(error).__name__
            return Answer(NOTHING, why=self._scrubbed(why))
        finally:
            connection.close()
        if len(content) > LARGEST:
            return Answer(NOTHING, why=f"its answer has more than {LARGEST >> 20} MiB")
        return Answer(response.status, content)

    def _connection(self) -> HTTPConnection:
        host, port = self._address.hostname or "", self._address.port
        if self._address.scheme == "http":
            return HTTPConnection(host, port, timeout=self._timeout)
        return HTTPSConnection(host, port, timeout=self._timeout)  # certificate and name are verified

    def _scrubbed(self, text: str) -> str:
        """Foreign words in one short line, without the key."""
        clear = text.replace(self._key, "***") if self._key else text
        line = " ".join("".join(letter if letter.isprintable() else " " for letter in clear[:1000]).split())
        return line[:200].rstrip(".")


def _checked(url: str, path: str, setting: str, secret: str) -> SplitResult:
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
        raise Invalid("The endpoint's address is no address of the web.", f"Set {setting}, as in https://host/v1.")
    if parts.username is not None or parts.password is not None:
        raise Invalid(
            "The endpoint's address carries a name or a password.", f"Take it out, and put the key into {secret}."
        )
    if parts.scheme == "http" and not _is_here(host):
        raise Invalid(
            f"http://{host} would send what was said over the network in the clear.",
            "Use https://, or an endpoint on this machine.",
        )
    place = parts.path.rstrip("/") or "/v1"
    return parts._replace(path=place if place.endswith(path) else f"{place}{path}", fragment="")


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
