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


class Unfit(ValueError):
    """An answer that is not the document which was asked for: it says who answers, and with what."""


def checked_url(url: str, setting: str) -> str:
    """The address itself.

    Raises:
        Invalid: when it is not https, except on this machine, or holds what no such address does.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        parts, host = urlsplit(""), ""
    near = host in ("127.0.0.1", "::1", "localhost")
    if parts.scheme not in (("https", "http") if near else ("https",)) or not host:
        raise Invalid(f"{setting} cannot be {url!r}.", "Give an address that begins with https://.")
    if parts.username or parts.query or parts.fragment:
        raise Invalid(f"{setting} cannot be {url!r}.", "Leave out user, question mark and number sign.")
    return url


def discovery_of(issuer: str) -> str:
    """Where a provider tells about itself."""
    return issuer.rstrip("/") + "/.well-known/openid-configuration"


def trouble_with(issuer: str, error: Exception) -> tuple[str, str]:
    """What to say of a provider that was asked in vain, and the next step: nobody answered, or something else."""
    if isinstance(error, Unfit):
        return (
            f"The identity provider does not answer as one: {error}.",
            f"Whoever runs this memory checks oidc_issuer, which is {issuer}.",
        )
    return "The identity provider does not answer.", f"Try again soon: it is asked at {discovery_of(issuer)}."


def document(url: str) -> Mapping[str, Any]:
    """A JSON object from an address.

    Raises:
        OSError, HTTPException: when nobody answers.
        Unfit: when something else comes back.
    """
    status, told = exchange(url)
    if status != 200:
        raise Unfit(f"{url} answers with status {status}")
    return told


def exchange(url: str, form: Mapping[str, str] | None = None) -> tuple[int, Mapping[str, Any]]:
    """The status and the JSON object that an address gives, or answers a form with.

    Raises:
        OSError, HTTPException: when nobody answers.
        Unfit: when something else comes back.
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
    came = f"{url} answers with status {answer.status} and"
    if len(body) > LARGEST:
        raise Unfit(f"{came} more than {LARGEST >> 20} MiB")
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        raise Unfit(f"{came} no JSON") from None
    if not isinstance(told, dict):
        raise Unfit(f"{came} JSON that is not an object")
    return answer.status, told


def _cut(reached: socket.socket) -> None:
    """End a connection under whoever reads from it."""
    with suppress(OSError):
        reached.shutdown(socket.SHUT_RDWR)
