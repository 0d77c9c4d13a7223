"""Every way Engram can fail, with its exit code, its HTTP status and its next step.

EngramError
├── Invalid          a bad argument: wrong syntax, too long, no citation
├── NotFound         absent, or not readable by this caller (the two are never told apart)
├── Forbidden        readable, but not this caller's to change
├── Conflict         the state changed, is the wrong one, or a name is ambiguous
├── Unconfirmed      a curated write or an erasure that no person has confirmed
├── Unavailable      the store, a model or a server cannot be reached or written right now
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
    """The request is malformed: a bad argument, a value too long, a missing citation."""

    code, exit_code, http_status = "invalid", 2, 422

    def __init__(self, message: str, hint: str = "", field: str = "") -> None:
        super().__init__(message, hint)
        self.field = field  # the one field at fault, if only one; internal, never part of an answer


class TooLarge(Invalid):
    """The request has more bytes than are accepted."""

    http_status = 413


class Slow(Invalid):
    """The request did not arrive in time."""

    http_status = 408


class Unsupported(Invalid):
    """The bytes are of a type that is not accepted, or not of the type they claim."""

    http_status = 415


class NotFound(EngramError):
    """There is no such record, or none this caller may read."""

    code, exit_code, http_status = "not_found", 3, 404


class Forbidden(EngramError):
    """The caller may read it but not do this to it."""

    code, exit_code, http_status = "forbidden", 4, 403


class Conflict(EngramError):
    """The request does not fit the current state: it changed, is the wrong one, or a name is ambiguous."""

    code, exit_code, http_status = "conflict", 5, 409


class Ambiguous(Conflict):
    """A name or a place is ambiguous; `choices` are what it may mean."""

    def __init__(self, message: str, hint: str = "", choices: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint)
        self.choices = choices


class Moved(Conflict):
    """A commit came too late: what it was based on has changed. Reading and deciding again may succeed."""


class Unconfirmed(EngramError):
    """A person must confirm this first: a curated memory going live or changing, or an erasure."""

    code, exit_code, http_status = "unconfirmed", 6, 428


class Unavailable(EngramError):
    """The store, a model or a server cannot be used right now. The message says whether anything was written."""

    code, exit_code, http_status = "unavailable", 7, 503


class Corrupt(EngramError):
    """The store or a file is damaged, too new, or readable by others; it is left untouched."""

    code, exit_code, http_status = "corrupt", 8, 500


class Unauthenticated(EngramError):
    """The caller did not prove who it is."""

    code, exit_code, http_status = "unauthenticated", 9, 401


class Throttled(EngramError):
    """Too many requests at once: nothing was done."""

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
