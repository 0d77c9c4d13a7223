"""A store as files on this machine: its copies are checked and put back, and what is left of it is saved."""

import itertools
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from engram import config
from engram.errors import Conflict, Invalid, Unavailable
from engram.model.change import Finding
from engram.ports import ASSETS
from engram.rules.policy import Policy
from engram.wiring.stores import beside, driver, engine_of, is_made

if TYPE_CHECKING:
    from engram.model.codec import Document, RecordType


class StoreVault:
    """The vault of one store of this machine; see `ports.Vault`."""

    def __init__(
        self, place: tuple[str, str], environment: Mapping[str, str], settings: config.Settings, policy: Policy
    ) -> None:
        self._form, self._path = place
        in_files = self._form in ("sqlite", "files")
        self.place = os.path.realpath(self._path) if in_files else ""  # a link to a store stays one
        shown = f"{self._form}:{self._path if in_files else ''}"
        self.shown = self._path if self._form == "sqlite" else shown
        self._environment, self._settings, self._policy = environment, settings, policy

    def version(self) -> str:
        """See `ports.Vault.version`."""
        from engram import __version__  # noqa: PLC0415 - it imports us

        return __version__

    def check(self, form: str, folder: str) -> tuple[Mapping[str, int], Sequence[Finding]]:
        """See `ports.Vault.check`."""
        if form == "sqlite":
            from engram.engines import sqlite_copy  # noqa: PLC0415 - only the engine in use is loaded

            path = os.path.join(folder, sqlite_copy.NAME)
            counts: Mapping[str, int] = sqlite_copy.tally(path)
            engine, _ = engine_of(f"sqlite:{path}", self._environment, self._settings, self._policy, lenient=True)
        elif form == "files":
            from engram.engines.files import copying  # noqa: PLC0415 - the same

            path = os.path.join(folder, copying.STORE)
            counts = copying.tally(path)
            cache = {**self._environment, "XDG_CACHE_HOME": os.path.join(folder, "cache")}
            engine, _ = engine_of(f"files:{path}", cache, self._settings, self._policy, lenient=True)
        else:
            raise Invalid(f"A copy of the form {form!r} is not known here.", "Upgrade Engram.")
        try:
            return counts, engine.check()
        finally:
            engine.close()

    def salvage(self, now: datetime) -> "Iterator[tuple[RecordType, Document]]":
        """See `ports.Vault.salvage`."""
        if not self._is_there():
            raise Unavailable(
                f"There is no store at {self._path}.", "Look at the path (--store, ENGRAM_STORE, engram config)."
            )
        try:
            if self._form == "sqlite":
                from engram.engines import sqlite_rescue  # noqa: PLC0415 - as above

                yield from sqlite_rescue.salvage(self.place)
            elif self._form == "files":
                from engram.engines.files import rescue  # noqa: PLC0415 - as above
                from engram.rules.hands import Hands  # noqa: PLC0415 - as above

                yield from rescue.salvage(self.place, now, Hands(self._policy))
            elif self._form == "postgres":
                with driver():
                    from engram.engines import postgres_rescue  # noqa: PLC0415 - as above

                yield from postgres_rescue.salvage(self._path, self._settings.get("org"))
            else:
                raise Invalid("This store is in memory only and ends with its process.", "Use engram export.")
        except OSError as error:
            raise Unavailable(f"{self.shown} cannot be read: {error.strerror}.", "Check its permissions.") from None

    def _is_there(self) -> bool:
        """Whether anything is left of the store; a log alone still has what was written last."""
        log_alone = self._form == "sqlite" and os.path.lexists(f"{self.place}-wal")
        return log_alone or is_made(self._form, self.place)

    def put(self, form: str, folder: str, aside: str) -> str:
        """See `ports.Vault.put`."""
        from engram.engines import sqlite_copy  # noqa: PLC0415 - as above
        from engram.engines.files import copying  # noqa: PLC0415 - as above

        if form != self._form:
            raise Invalid(
                f"This is the backup of a store of the form {form}; {self.shown} is of the form {self._form}.",
                f"Restore it to a place of its own, --store {form}:PATH; export there and import here moves it on.",
            )
        engine = sqlite_copy if form == "sqlite" else copying
        there = engine.holds_anything(self.place)
        if there and not aside:
            raise Conflict(
                f"The store {self.shown} holds something.",
                "Add --overwrite to keep it aside and put this in its place.",
            )
        kept = _unused(f"{self.place}{aside}") if there else ""
        try:
            self._put_assets(os.path.join(folder, ASSETS), kept)
            engine.put(folder, self.place, kept)
        except OSError as error:
            raise Unavailable(f"{self.place} cannot be written: {error.strerror}.", "Check its folder.") from None
        return kept

    def _put_assets(self, folder: str, kept: str) -> None:
        """Attachments are added before the store that names them, and those of the old one stay with it, too."""
        from engram.engines.blobs_folder import FolderBlobs  # noqa: PLC0415 - start-up

        if kept and os.path.isdir(beside(self.place)):
            FolderBlobs(beside(kept)).take_in(beside(self.place))
        if os.path.isdir(folder):
            FolderBlobs(beside(self.place)).take_in(folder)


def _unused(path: str) -> str:
    """A path at which there is nothing: this one, or the first of those that follow it."""
    return next(each for n in itertools.count(1) if not os.path.lexists(each := path if n == 1 else f"{path}-{n}"))
