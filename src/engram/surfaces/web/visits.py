"""Who is at the page: single-use links, cookies that last a while, and the token that every form carries."""

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from engram.errors import Forbidden, Unauthenticated
from engram.model.caller import Caller

MOST_VISITS = 10_000
"""So many are kept; the one that was opened first goes."""

MOST_LINKS = 20
"""So many links wait to be used; an older one opens nothing any more."""

LINK_LASTS = 15 * 60.0
"""Seconds that a link may wait."""


class Visit(NamedTuple):
    """Somebody who came in: what their forms carry, and who they are where a provider told."""

    key: str
    csrf: str
    until: float
    caller: Caller | None = None  # None: the person at this machine

    def require(self, csrf: str) -> None:
        """Let a form pass that a page of this visit made.

        Raises:
            Forbidden: for any other.
        """
        if not hmac.compare_digest(csrf.encode(), self.csrf.encode()):
            raise Forbidden("This form was not made by this page.", "Load the page again, and repeat what you did.")


class Visits:
    """The visits of one server, in its memory only: a new start asks everybody to come in again.

    Safe to use from several threads. Of links and cookies only hashes are kept.
    """

    def __init__(self, lasts: float, *, again: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        """For so many seconds each; `again` is the command that gets a new link."""
        self._lasts, self._again, self._clock = lasts, again, clock
        self._links: OrderedDict[str, float] = OrderedDict()
        self._visits: OrderedDict[str, Visit] = OrderedDict()
        self._lock = threading.Lock()

    def link(self) -> str:
        """A key that opens the page once."""
        key = secrets.token_urlsafe(32)
        with self._lock:
            self._links[_hashed(key)] = self._clock() + LINK_LASTS
            while len(self._links) > MOST_LINKS:
                self._links.popitem(last=False)
        return key

    def enter(self, key: str) -> Visit:
        """Begin a visit by a link, which is used up.

        Raises:
            Unauthenticated: when it was used before, waited too long, or was never made.
        """
        with self._lock:
            until = self._links.pop(_hashed(key), 0.0)
        if until < self._clock():
            raise Unauthenticated(
                "This link was used already, or is too old.", f"Get a new one at a terminal: {self._again}."
            )
        return self.begin(None)

    def begin(self, caller: Caller | None) -> Visit:
        """A visit of somebody who proved who they are."""
        key = secrets.token_urlsafe(32)
        visit = Visit(key, secrets.token_urlsafe(24), self._clock() + self._lasts, caller)
        with self._lock:
            self._visits[_hashed(key)] = visit
            while len(self._visits) > MOST_VISITS:
                self._visits.popitem(last=False)
        return visit

    def find(self, key: str) -> Visit | None:
        """The visit that a cookie names, while it lasts."""
        visit = self._visits.get(_hashed(key)) if key else None
        return visit if visit and visit.until > self._clock() else None

    def end(self, visit: Visit) -> None:
        """Let nobody in by this visit any more."""
        with self._lock:
            self._visits.pop(_hashed(visit.key), None)


def _hashed(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
