"""Small JSON documents from a provider: a trusted address, no redirects, no more than fits, and not for long."""

import json
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPSConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

from engram.errors import Invalid

LARGEST = 1024 * 1024
PATIENCE = 5.0
"""Seconds that a provider may be silent."""

LONGEST = 10.0
"""Seconds that it may take in all: what drips is never silent for long."""


def checked_url(url: str, setting: str) -> str:
    """The address itself.

    Raises:
        Invalid: when it is not https, except on this machine, or holds what no such address does.
    """
    parts = urlsplit(url)
    near = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if parts.scheme not in (("https", "http") if near else ("https",)) or not parts.hostname:
        raise Invalid(f"{setting} cannot be {url!r}.", "Give an address that begins with https://.")
    if parts.username or parts.query or parts.fragment:
        raise Invalid(f"{setting} cannot be {url!r}.", "Leave out user, question mark and number sign.")
    return url


def document(url: str) -> Mapping[str, Any]:
    """A JSON object from an address.

    Raises:
        OSError, HTTPException, ValueError, TypeError: when it cannot be had.
    """
    status, told = exchange(url)
    if status != 200:
        raise ValueError(f"status {status}")
    return told


def exchange(url: str, form: Mapping[str, str] | None = None) -> tuple[int, Mapping[str, Any]]:
    """The status and the JSON object that an address gives, or answers a form with.

    Raises:
        OSError, HTTPException, ValueError, TypeError: when it cannot be had.
    """
    parts = urlsplit(url)
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=PATIENCE)
    headers = {"Accept": "application/json", "User-Agent": "engram"}
    connection.connect()
    end = threading.Timer(LONGEST, _cut, (connection.sock,))
    end.daemon = True
    end.start()
    try:
        if form is None:
            connection.request("GET", parts.path or "/", headers=headers)
        else:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
            connection.request("POST", parts.path or "/", urlencode(form), headers)
        answer = connection.getresponse()
        body = answer.read(LARGEST + 1)
    finally:
        end.cancel()
        connection.close()
    if len(body) > LARGEST:
        raise ValueError("too long")
    told = json.loads(body)
    if not isinstance(told, dict):
        raise TypeError("no object")
    return answer.status, told


def _cut(reached: socket.socket) -> None:
    """End a connection under whoever reads from it."""
    with suppress(OSError):
        reached.shutdown(socket.SHUT_RDWR)
