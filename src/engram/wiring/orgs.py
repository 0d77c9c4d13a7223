"""The memories of every org that a server serves, each opened when it is first asked for."""

import os
import threading
from collections.abc import Callable, Mapping

from engram import config
from engram.errors import Invalid
from engram.model.caller import Caller
from engram.model.scope import Scope
from engram.operations.keys import opened, spelled
from engram.ports import Engine, ManyOrgs, able
from engram.service import Engram
from engram.wiring import open, usage_of
from engram.wiring.clock import now
from engram.wiring.places import working_folder
from engram.wiring.stores import sync_folder


class Orgs:
    """The memories of every org that a server serves, each opened when it is first asked for.

    A database holds any number of orgs; every other store holds the configured one alone.
    """

    def __init__(
        self,
        store: str,
        *,
        home: Scope,
        environment: Mapping[str, str] | None = None,
        met: Callable[[str, Engram], object] | None = None,
    ) -> None:
        """Open the configured org's. Of every other, `met` is told when it is first asked for.

        Raises:
            Invalid, Corrupt, Unavailable: when the settings or the store cannot be used.
        """
        self._environment = os.environ if environment is None else environment
        settings = config.read(self._environment, working_folder())
        self.org = str(settings.get("org"))
        self._lock, self._met = threading.Lock(), met
        alone = Caller(org=self.org)
        self._first = open(
            store, home=home, caller=alone, channel="http", environment=environment
        ).preloading_when_idle()
        self._known = {self.org: self._first}

    def serves(self, org: str) -> bool:
        """Whether there is a place for this org here."""
        return org == self.org or able(self._first.engine, ManyOrgs) is not None

    def engram(self, org: str) -> Engram:
        """The memory of an org, for nobody in particular: ask it to speak for a caller.

        Raises:
            Invalid: when it is not served here.
        """
        with self._lock:
            if new := org not in self._known:
                if (engine := self._engine(org)) is None:
                    raise Invalid("This org is not served here.", "Serve a database for several: postgres://….")
                shown = f"{self._first.store.rpartition('#')[0]}#{org}"
                apart = (*sync_folder(shown, self._environment), usage_of(self._environment, shown))
                self._known[org] = self._first.on_engine(engine, shown, *apart)
            found = self._known[org]
        if new and self._met:
            self._met(org, found)
        return found

    def _engine(self, org: str) -> Engine | None:
        """What keeps the records of an org; None where it is not served here."""
        if org == self.org:
            return self._first.engine
        database = able(self._first.engine, ManyOrgs)
        return database.of(org) if database else None

    def opened_by(self, key: str) -> Caller | None:
        """Who an API key speaks for now; None where it opens nothing.

        A key that was made up names any org: nothing of that org is kept before the key has proved itself.
        """
        try:
            org = spelled(key)[0]
        except ValueError:
            return None
        engine = self._engine(org)
        return opened(engine, key, now()) if engine else None

    def unbound(self) -> str:
        """The user of the database, where row-level security does not hold that one; "" for any other store."""
        database = able(self._first.engine, ManyOrgs)
        return database.unbound() if database else ""

    def check(self) -> None:
        """Look whether the store answers.

        Raises:
            Unavailable: when it does not.
        """
        self._first.probe()

    def close(self) -> None:
        """Let go of all of them."""
        for one in list(self._known.values())[::-1]:
            one.close()
