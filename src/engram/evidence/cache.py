"""What was found out about files earlier: a small private file that may be lost, cut or deleted at any time."""

import json
import os
from contextlib import suppress
from typing import Any

from engram.drafts import private_folder, whole_file
from engram.model.evidence import Check

VERSION = 2
MOST = 6000
"""How many things are kept; beyond that the older half is dropped."""

LARGEST = 8 * 1024 * 1024


class Cache:
    """Names and small JSON values, the newest last. It is read once, and written when something was added."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._known: dict[str, Any] | None = None
        self._added = False
        self.made: dict[str, Check] = {}
        """Verdicts as this process made them of what is kept: they are not made again for every question."""

    @property
    def known(self) -> dict[str, Any]:
        """All of it."""
        if self._known is None:
            self._known = self._read()
        return self._known

    def put(self, name: str, value: Any) -> None:  # noqa: ANN401 - a JSON value
        """Keep a value."""
        if self.known.get(name) != value:
            self.known.pop(name, None)
            self.known[name] = value
            self._added = True

    def save(self) -> None:
        """Write down what was added; where that cannot be, it is found out again next time."""
        if not self._added or not self._path:
            return
        self._added = False
        if len(self.known) > MOST:
            self._known = dict(list(self.known.items())[-MOST // 2 :])
            self.made.clear()
        with suppress(OSError, ValueError):
            told = json.dumps({"version": VERSION, "known": self._known}, ensure_ascii=True)
            private_folder(os.path.dirname(self._path))
            with whole_file(self._path, durable=False) as file:  # half of it is read as nothing
                file.write(told.encode())

    def _read(self) -> dict[str, Any]:
        try:
            if not self._path or os.path.islink(self._path) or os.path.getsize(self._path) > LARGEST:
                return {}
            with open(self._path, encoding="utf-8") as file:
                told = json.load(file)
            return dict(told["known"]) if told["version"] == VERSION else {}
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return {}
