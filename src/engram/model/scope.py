"""Where a memory holds: `[workspace/]level[:name][@run]`, such as `project:github.com/acme/api`."""

import functools

from engram.errors import Invalid
from engram.model.limits import check_text, composed
from engram.model.record import Record

LEVELS = ("global", "project", "agent", "session")

_FORM = "Write global, project:NAME, agent:NAME or session:ID, with an optional workspace/ before and @run after."


class Scope(Record):
    """A place in which memories hold. `Scope.parse(str(scope)) == scope`."""

    level: str = "global"
    name: str = ""
    workspace: str = ""
    run: str = ""

    def _check(self) -> None:
        if not (self.name.isascii() and self.workspace.isascii() and self.run.isascii()):
            self.__dict__.update({part: composed(self.__dict__[part]) for part in ("name", "workspace", "run")})
        if self.level not in LEVELS:
            raise Invalid(f"A scope cannot be {self.level!r}.", _FORM)
        if bool(self.name) == (self.level == "global"):
            raise Invalid(
                "The global scope takes no name." if self.name else f"Scope {self.level} needs a name.", _FORM
            )
        for part, forbidden in ((self.name, "@"), (self.workspace, "/:@"), (self.run, "/:@")):
            if part and (part != part.strip() or any(mark in part for mark in forbidden)):
                raise Invalid(f"{part!r} cannot be part of a scope.", _FORM)
        check_text("scope", str(self))

    def __str__(self) -> str:
        return (f"{self.workspace}/" if self.workspace else "") + self.place + (f"@{self.run}" if self.run else "")

    @property
    def place(self) -> str:
        """Level and name alone: what reach is granted by."""
        return f"{self.level}:{self.name}" if self.name else self.level

    @staticmethod
    @functools.lru_cache(maxsize=1024)
    def parse(text: str) -> "Scope":
        """Read the printed form.

        Raises:
            Invalid: when it is not one.
        """
        check_text("scope", text)
        rest, _, run = text.partition("@")
        head, colon, name = rest.partition(":")
        workspace, _, level = head.rpartition("/")
        if (colon and not name) or ("@" in text and not run) or ("/" in head and not workspace):
            raise Invalid(f"A scope cannot be {text!r}.", _FORM)
        if level not in LEVELS:
            raise Invalid(f"A scope cannot be {text!r}.", _FORM)
        return Scope(level, name, workspace, run)

    def contains(self, other: "Scope") -> bool:
        """Whether what is asked of this scope includes the other: itself, and its runs."""
        return (self.workspace, self.place) == (other.workspace, other.place) and self.run in ("", other.run)


def alias_of(name: str) -> str:
    """The short name of a project: what follows the last slash."""
    return name.rpartition("/")[2]


GLOBAL = Scope()
