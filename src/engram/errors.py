"""Every way Engram can fail, with its exit code, its HTTP status and its next step.

EngramError
├── Invalid          a bad argument: wrong syntax, too long, no citation
├── NotFound         absent, or not readable by this caller (the two are never told apart)
├── Forbidden        readable, but not this caller's to change
├── Conflict         the state moved, is the wrong one, or a name means two things
├── Unconfirmed      a curated write that no person has confirmed
├── Unavailable      the engine or a model cannot be reached, or the store is locked
├── Corrupt          an unknown schema, an unreadable store, loose file modes
├── Unauthenticated  no token, or a bad one
└── Throttled        more requests than one caller may make

Anything else that is raised is a bug. Surfaces read this table and add nothing to it.
"""


class EngramError(Exception):
    """A failure a caller can act on: what happened, and what to do next."""

    code = "internal"
    exit_code = 1
    http_status = 500

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def body(self) -> dict[str, str]:
        """The one form in which every surface shows an error."""
        return {"code": self.code, "message": self.message, "hint": self.hint}


class Invalid(EngramError):
    """What was asked cannot be asked in this form."""

    code, exit_code, http_status = "invalid", 2, 422

    def __init__(self, message: str, hint: str = "", field: str = "") -> None:
        super().__init__(message, hint)
        self.field = field  # what of it, where one thing alone is wrong; for our own code, and no part of an answer


class TooLarge(Invalid):
    """More bytes than are taken here."""

    http_status = 413


class Slow(Invalid):
    """A request that did not come in time."""

    http_status = 408


class Unsupported(Invalid):
    """Bytes of a type that is not taken here, or that are not what they are said to be."""

    http_status = 415


class NotFound(EngramError):
    """Nothing readable goes by that name."""

    code, exit_code, http_status = "not_found", 3, 404


class Forbidden(EngramError):
    """The caller may see it and may not do this to it."""

    code, exit_code, http_status = "forbidden", 4, 403


class Conflict(EngramError):
    """Something else holds the place, or the state has moved on."""

    code, exit_code, http_status = "conflict", 5, 409


class Ambiguous(Conflict):
    """A name, or a place, means several things; `choices` are what it may mean."""

    def __init__(self, message: str, hint: str = "", choices: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint)
        self.choices = choices


class Moved(Conflict):
    """A commit came too late: what it built on is no longer so. Reading again and deciding again may succeed."""


class Unconfirmed(EngramError):
    """A curated memory becomes live by a person's confirmed word only."""

    code, exit_code, http_status = "unconfirmed", 6, 428


class Unavailable(EngramError):
    """Try again: nothing was written, and nothing is lost."""

    code, exit_code, http_status = "unavailable", 7, 503


class Corrupt(EngramError):
    """The store cannot be trusted as it is; it is left untouched."""

    code, exit_code, http_status = "corrupt", 8, 500


class Unauthenticated(EngramError):
    """The caller did not prove who it is."""

    code, exit_code, http_status = "unauthenticated", 9, 401


class Throttled(EngramError):
    """Too much at once: nothing was done."""

    code, exit_code, http_status = "throttled", 10, 429

    def __init__(self, message: str, hint: str = "", wait: int = 1) -> None:
        super().__init__(message, hint)
        self.wait = wait  # seconds


TABLE: tuple[type[EngramError], ...] = (
    Invalid,
    NotFound,
    Forbidden,
    Conflict,
    Unconfirmed,
    Unavailable,
    Corrupt,
    Unauthenticated,
    Throttled,
)
