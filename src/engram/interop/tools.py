"""What a profile is made of: another system's tools as typed functions over our operations.

A profile is a table. Each tool is a plain function whose signature is its schema and whose body translates: names
and values of the other system into one or two operations, and their answer back into its words. Decisions stay
where they are: nothing here knows how a memory is kept.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from engram.errors import EngramError
from engram.model.caller import Caller
from engram.model.change import Finding
from engram.model.memory import Context, Memory
from engram.model.scope import Scope


class Asks(Protocol):
    """The memory as a tool sees it: one caller, and every operation by its name."""

    @property
    def caller(self) -> Caller:
        """Who asks."""
        ...

    @property
    def view(self) -> str:
        """The branch it is looked from; "" on the default branch and outside of git."""
        ...

    @property
    def now(self) -> datetime:
        """The moment it is."""
        ...

    @property
    def home(self) -> Scope:
        """Where a memory lands when no scope is given; a Conflict where the folder may be several projects."""
        ...

    @property
    def folder(self) -> str:
        """Where the client started this memory; "" where the client is elsewhere."""
        ...

    def ask(self, name: str, /, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - each operation has its own answer
        """Carry out an operation by its name."""
        ...

    def says(self, hint: str, asked: str = "") -> str:
        """A hint that names commands, in the words of whoever is there; options alone are those of `asked`."""
        ...

    def notices(self) -> tuple[Finding, ...]:
        """What the store has to say besides answers."""
        ...

    def made_in(self, context: Context) -> "Asks":
        """The same memory; what is remembered through it was made in this context."""
        ...


class Answer(NamedTuple):
    """What a tool says: text for a model, and the same as JSON where the other system gives any."""

    text: str
    structured: Mapping[str, Any] | None = None


class Tool(NamedTuple):
    """One tool: a typed function `(asks, *, argument=…) -> Answer`, and what a client is told about it."""

    name: str
    run: Callable[..., Answer]
    about: str
    writes: bool = False
    destructive: bool = False
    idempotent: bool = False
    title: str = ""
    signature: Callable[..., Any] | None = (
        None  # whose parameters are the arguments, where they are not those of `run`
    )
    shown: tuple[str, ...] | None = None  # those of them that this tool has, in their order; None: all


class Resource(NamedTuple):
    """One readable page: a fixed address, or a template with `{names}` that are passed as arguments."""

    uri: str
    run: Callable[..., str]
    name: str
    about: str
    media_type: str = "text/markdown"


class Prompt(NamedTuple):
    """A text a person can begin with: a function `(asks, *, argument="") -> str`, and what each argument means."""

    name: str
    run: Callable[..., str]
    about: str
    arguments: tuple[tuple[str, str], ...] = ()
    tools: tuple[str, ...] = ()  # those it speaks of: without them it is not offered


Failed = Callable[[EngramError], Answer]
"""An error in the other system's form."""

Settled = Callable[[Asks, Memory, str], Answer]
"""A memory that waited, as it stands after the person was asked, and a sentence that says what they decided."""


def in_words(asks: Asks, memory: Memory, said: str) -> Answer:
    """What became of a memory, in words alone."""
    del asks
    return Answer(f"{memory.handle}: {said}")


class Profile(NamedTuple):
    """Another system's tools, pages and prompts, the form of its errors, and what a model is told about it."""

    name: str
    about: str
    tools: tuple[Tool, ...]
    failed: Failed
    resources: tuple[Resource, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    instructions: Mapping[str, str] = MappingProxyType({})  # names of tools → what those who have them all are told
    groups: Mapping[str, frozenset[str]] = MappingProxyType({})  # a word for several tools → their names
    settled: Settled = in_words


class Refused(EngramError):
    """A refusal that only the other system knows; `details` are the further keys of its error form."""

    code, exit_code, http_status = "invalid", 2, 422

    def __init__(self, message: str, hint: str = "", **details: object) -> None:
        super().__init__(message, hint)
        self.details = details


class Shelf(list[Tool]):
    """Collects the tools of a profile in the order they are written."""

    def tool(
        self, *, name: str = "", writes: bool = False, destructive: bool = False, idempotent: bool = False
    ) -> Callable[[Callable[..., Answer]], Callable[..., Answer]]:
        """Mark a function as a tool; its docstring is what a model reads, and its name the tool's unless given."""

        def mark(function: Callable[..., Answer]) -> Callable[..., Answer]:
            called, idle = name or function.__name__, not writes
            self.append(Tool(called, function, _about(function), writes, destructive, idempotent or idle))
            return function

        return mark

    def reading(
        self, fields: type[tuple[Any, ...]], *shown: str, idempotent: bool = False
    ) -> Callable[[Callable[[Asks, Any], Answer]], Callable[[Asks, Any], Answer]]:
        """Mark a function that writes what it is given in a NamedTuple: the `shown` fields of it are the arguments.

        So tools that take many arguments in common write them down once.
        """

        def mark(function: Callable[[Asks, Any], Answer]) -> Callable[[Asks, Any], Answer]:
            def run(asks: Asks, **said: Any) -> Answer:  # noqa: ANN401 - checked against the fields
                return function(asks, fields(**said))

            tool = Tool(function.__name__, run, _about(function), writes=True, idempotent=idempotent)
            self.append(tool._replace(signature=fields.__new__, shown=shown))
            return function

        return mark


def _about(function: Callable[..., Any]) -> str:
    return " ".join((function.__doc__ or "").split())
