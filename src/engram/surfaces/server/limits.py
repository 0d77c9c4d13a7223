"""How much one caller may ask for: a bucket of requests that fills again with time."""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from engram.errors import Throttled

MOST_KNOWN = 100_000
"""How many buckets are kept; the one that was asked least recently goes, and begins full again."""


class Limits:
    """A bucket for every name. Safe to use from several threads."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Allow so many requests a minute, a quarter of them at once; 0 allows any number."""
        self._rate, self._most = per_minute / 60, max(1.0, per_minute / 4)
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, name: str) -> int:
        """Count a request; answers with the seconds until the next one is allowed, 0 where this one is."""
        if not self._rate:
            return 0
        now = self._clock()
        with self._lock:
            left, at = self._buckets.pop(name, (self._most, now))
            left = min(self._most, left + (now - at) * self._rate)
            wait = 0 if left >= 1 else math.ceil((1 - left) / self._rate)
            self._buckets[name] = (left if wait else left - 1, now)
            if len(self._buckets) > MOST_KNOWN:
                self._buckets.popitem(last=False)
        return wait


def throttled(wait: int) -> Throttled:
    """What one is told who asks too much."""
    return Throttled("Too many requests.", f"Try again in {wait} s.", wait)
