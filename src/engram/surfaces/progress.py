"""A progress bar on one line of a terminal, for work that takes longer than a person waits."""

import time
from typing import TextIO

WIDTH = 30
PATIENCE = 0.5
"""Seconds before a bar appears: quick work needs none."""

PACE = 0.1


class Bar:
    """Draws how far work has come. It wipes itself off where all is done; `wipe` does so in any case."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._begun = time.monotonic()
        self._drawn = 0.0

    def move(self, done: int, total: int, what: str) -> None:
        """Show that so much of so much is done; a total of 0 is one that nobody knows yet."""
        now = time.monotonic()
        over = 0 < total <= done
        if now - self._begun < PATIENCE or (now - self._drawn < PACE and not over):
            return
        if over:
            self.wipe()
        elif not total:
            self._stream.write(f"\r\x1b[K{what}: {done:,}")
            self._drawn = now
        else:
            filled = WIDTH * done // max(total, 1)
            rate = done / (now - self._begun)
            left = f"{(total - done) / rate:.0f} s left" if rate else ""
            bar = "█" * filled + "·" * (WIDTH - filled)
            self._stream.write(f"\r\x1b[K{what} {bar} {done:,} of {total:,}  {left}")
            self._drawn = now
        self._stream.flush()

    def wipe(self) -> None:
        """Take the bar off the line, whether or not the work came to its end."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = 0.0
