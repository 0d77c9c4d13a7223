"""A key that opens a team's server for a program: kept as a hash, and told apart by who owns it."""

from datetime import datetime

from engram.errors import Invalid
from engram.model.limits import check_text, check_time
from engram.model.record import Record

READ, WRITE = ABILITIES = ("read", "write")


class ApiKey(Record, kw_only=True):
    """What is known of a key. The key itself was shown once, to who made it, and is kept nowhere."""

    UNCOMPARED = frozenset({"handle"})

    id: str
    name: str
    digest: str  # SHA-256 of the secret, in hexadecimal
    can: tuple[str, ...] = (READ,)
    owner: str | None = None
    actor: str = ""
    workspace: str | None = None
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    revision: int = 1
    handle: str = ""

    def _check(self) -> None:
        if not self.id or not self.name or not self.digest:
            raise Invalid("A key needs an id, a name and a hash.")
        check_text("name", self.id)
        check_text("name", self.name)
        check_text("name", self.actor)
        check_text("name", self.digest)
        if not self.can or set(self.can) - set(ABILITIES):
            raise Invalid("A key can read, or read and write.", "Use one of: " + ", ".join(ABILITIES) + ".")
        for name in ("created_at", "expires_at", "revoked_at"):
            check_time(name, getattr(self, name))

    def opens(self, now: datetime) -> bool:
        """Whether it is good at this moment."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)
