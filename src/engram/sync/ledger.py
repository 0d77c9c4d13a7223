"""What a store remembers of its exchanges, in a private file beside it: places, replicas it met, and remotes.

Losing it costs time and asks a person again whom to accept; it loses no memory.
"""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from engram.drafts import one_at_a_time, private_folder, whole_file
from engram.errors import Corrupt, Unavailable

if TYPE_CHECKING:
    from engram.sync.keys import Key

SCHEMA = "engram.sync.v1"


class Ledger:
    """The facts, loaded when the lock is taken and kept when it is let go. Without a folder they live in memory."""

    def __init__(self, folder: str = "") -> None:
        self._folder = folder
        self._facts: dict[str, Any] = {"schema": SCHEMA}
        self._key: Key | None = None
        if folder:
            self._load()

    @property
    def key(self) -> "Key":
        """The key this store signs with; made on first use."""
        if self._key is None:
            from engram.sync.keys import Key  # noqa: PLC0415 - start-up

            self._key = Key(os.path.join(self._folder, "key") if self._folder else "")
        return self._key

    def part(self, name: str) -> dict[str, Any]:
        """The facts about one thing, such as `places`, by name; to be changed in place."""
        found: dict[str, Any] = self._facts.setdefault(name, {})
        return found

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One exchange at a time; what was learnt is kept in the end, however it ends.

        A folder that was made for it and in which nothing came to be kept is taken away again.

        Raises:
            Unavailable: when another process is at it, or the folder cannot be written.
        """
        if not self._folder:
            yield
            return
        with self._lock() as made:
            self._load()
            try:
                yield
            finally:
                if made and not any(self.part(name) for name in self._facts if name != "schema"):
                    self._leave(made)
                else:
                    self.keep()

    def _leave(self, made: list[str]) -> None:
        with suppress(OSError):  # something else is in there by now
            os.unlink(self._lock_file)
            for folder in reversed(made):
                os.rmdir(folder)

    @property
    def _lock_file(self) -> str:
        return os.path.join(self._folder, "lock")

    @contextmanager
    def _lock(self) -> Iterator[list[str]]:
        """The lock, and the folders that were made for it."""
        with ExitStack() as held:
            try:
                made = private_folder(self._folder)
                held.enter_context(one_at_a_time(self._lock_file, 0.0))
            except TimeoutError:
                raise Unavailable("Another sync of this store is running.", "Wait for it to end.") from None
            except OSError as error:
                raise Unavailable(
                    f"{self._folder} cannot be written: {error.strerror}.",
                    "Fix the permissions or the disk, then try again.",
                ) from None
            yield made

    def keep(self) -> None:
        """Write the facts down, whole or not at all.

        Raises:
            Unavailable: when that cannot be done.
        """
        if not self._folder:
            return
        at = os.path.join(self._folder, "ledger.json")
        try:
            with whole_file(at) as file:
                # A place may be a path of bytes that are no text: JSON takes them escaped, and gives them back.
                file.write(json.dumps(self._facts, ensure_ascii=False, indent=1).encode(errors="backslashreplace"))
        except OSError as error:
            raise Unavailable(
                f"{at} cannot be written: {error.strerror}.",
                "Fix the permissions or the disk, then sync again.",
            ) from None

    def _load(self) -> None:
        at = os.path.join(self._folder, "ledger.json")
        try:
            with os.fdopen(os.open(at, os.O_RDONLY | os.O_NOFOLLOW), "r", encoding="utf-8") as file:
                facts = json.load(file)
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise Corrupt(
                f"{at} cannot be read: {error}.", "Remove it: you are asked again whom to accept."
            ) from None
        if not isinstance(facts, dict) or facts.get("schema") != SCHEMA:
            raise Corrupt(f"{at} is of another version.", "Upgrade Engram on this machine.")
        self._facts = facts
