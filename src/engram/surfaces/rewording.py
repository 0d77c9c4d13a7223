"""Hints in the words of the door they are given at: written as commands, told to agents and programs in theirs.

An agent has tools, and a program has routes. For them a command becomes the tool or the route that does the same,
with its arguments, and an option becomes the argument of its name. What they cannot do stays a command, and says
whose it is.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from engram.errors import EngramError
from engram.model.answers import Answer
from engram.model.change import Finding
from engram.service import OPERATIONS, Operation
from engram.surfaces.mentions import Mention, mentioned, taken
from engram.surfaces.pages import place_of
from engram.surfaces.parsing import RENDERING

T = TypeVar("T")

SENTENCES = ("hint", "again", "mend")
"""The fields of answers in which commands stand."""

BYTES = {"attach": "file", "fetch": "path"}
"""Operations on files of a machine whose route carries the bytes instead: the parameter that is the file."""

_ENDED = re.compile(r"[.!?]\s+|\n")

RUNS = "for whoever runs this memory"
"""Whose a command is that changes a server, or the machine it is on."""


class Tools(NamedTuple):
    """The door of an agent: the tools it has, each with the arguments it sees, and the address of a team's page."""

    shown: Mapping[str, Sequence[str]]  # by operation
    page: str = ""

    def says(self, hint: str, asked: str = "") -> str:
        """The hint with tools for commands. Options alone are those of the operation that was asked."""
        return _reworded(hint, asked, self._said, RUNS if self.page else "for the person to run")

    def _tool(self, one: Mention, operation: Operation) -> str:
        """The mention as a tool with its arguments, or as arguments alone; "" where the agent has not got them."""
        said, shown = _arguments(one, operation), self.shown.get(operation.name)
        if said is None or shown is None or not said.keys() <= set(shown):
            return ""
        listed = ", ".join(map(_pair, said.items()))
        return f"`{operation.name}`{' with ' * bool(listed)}{listed}" if one.command else f"`{listed}`"

    def _said(self, one: Mention, operation: Operation | None, *, person: bool) -> str:
        if operation and not person and (tool := self._tool(one, operation)):
            return tool
        place = place_of(one) if self.page else None
        return f"the person's page {self.page}{place[0]}" if place else ""


def as_routes(hint: str, asked: str = "") -> str:
    """A hint for a program, with routes for commands. Options alone are those of the operation that was asked."""
    return _reworded(hint, asked, _route, RUNS)


def ask(says: Callable[[str, str], str], name: str, answer: Callable[[], T]) -> T:
    """What an operation answers, or how it fails, with its hints in other words."""
    try:
        return told(answer(), lambda hint: says(hint, name))
    except EngramError as error:
        reword(error, says, name)
        raise


def reword(error: EngramError, says: Callable[[str, str], str], asked: str = "") -> None:
    """Put the hint of an error into other words, once: where it comes by again, it is in them already."""
    if "written" not in error.__dict__:
        error.__dict__["written"] = error.hint
        error.hint = says(error.hint, asked)


def told(answer: T, says: Callable[[str], str]) -> T:
    """An answer with its hints in other words, those of its parts too. What was remembered is never touched."""
    if isinstance(answer, Answer | Finding):
        changes: dict[str, Any] = {}
        for name, part in zip(answer._fields, answer, strict=True):
            new = says(part) if name in SENTENCES and part else told(part, says)
            if new is not part:
                changes[name] = new
        return answer._replace(**changes) if changes else answer  # type: ignore[return-value] # of its own type
    if isinstance(answer, tuple) and any(isinstance(one, Answer | Finding) for one in answer[:1]):
        return tuple(told(one, says) for one in answer)  # type: ignore[return-value] # a tuple as it was
    return answer


def _reworded(hint: str, asked: str, said: Callable[..., str], theirs: str) -> str:
    """A hint with every mention in other words; what there are none for is `theirs`, which is said once."""
    parts: list[str] = []
    kept: list[int] = []
    at = 0
    for one in mentioned(hint):
        person = "person" in _sentence(hint, one)  # then it says itself whose its commands are
        operation = one.operation if one.command else OPERATIONS.get(asked)
        words = "" if one.apart else said(one, operation, person=person)
        if not words:
            kept += [] if person else [len(parts) + 1]
            alone = operation if not one.command else None
            words = f"`{one.text}`" + (f" of `engram {alone.command}`" if alone else "")
            words = hint[one.start : one.end] if person and not alone else words
        parts += [hint[at : one.start], words]
        at = one.end
    if kept:
        parts[kept[-1]] += f" ({theirs})"
    return "".join([*parts, hint[at:]])


def _sentence(hint: str, one: Mention) -> str:
    """The sentence of a hint in which a mention stands: of several, each is told to whom it is for."""
    start = max((found.end() for found in _ENDED.finditer(hint, 0, one.start)), default=0)
    end = _ENDED.search(hint, one.end)
    return hint[start : end.start() if end else len(hint)]


def _route(one: Mention, operation: Operation | None, *, person: bool) -> str:
    """A mention as a request in one line: with what stands in its path, and the rest as its query or its body."""
    del person  # it may be who calls
    said = _arguments(one, operation)
    if not one.command:
        return "`" + " ".join(map(_pair, (said or _plainly(one)).items())) + "`"
    if operation is None or said is None or (operation.local and operation.name not in BYTES):
        return ""
    said.pop(BYTES.get(operation.name, ""), None)
    method, _, path = operation.route.partition(" ")
    for name in [name for name, value in said.items() if value and f"{{{name}}}" in path]:
        path = path.replace(f"{{{name}}}", said.pop(name))
    rest = [_pair(each) for each in said.items()]
    if method == "GET":
        return f"`{method} {path}{'?' * bool(rest)}{'&'.join(rest)}`"
    return f"`{method} {path}`{' with ' * bool(rest)}{', '.join(rest)}"


def _arguments(one: Mention, operation: Operation | None) -> dict[str, str] | None:
    """What a mention gives an operation, by the names of its parameters; None where it has no such parameter."""
    if operation is None:
        return None
    known = taken(operation)
    placed = [name for name, each in known.items() if each.positional]
    looks = {name for name, _ in RENDERING.get(operation.name, ())}  # how an answer is shown is a terminal's matter
    options = {name: value for name, value in one.options if name not in looks}
    if len(one.given) > len(placed) or not options.keys() <= known.keys():
        return None
    said = dict(zip(placed, one.given, strict=False)) | options
    return {known[name].name.rstrip("_"): value for name, value in said.items()}


def _plainly(one: Mention) -> dict[str, str]:
    return {name.replace("-", "_"): value for name, value in one.options}


def _pair(said: tuple[str, str]) -> str:
    name, value = said
    quoted = f'"{value}"' if " " in value else value
    return f"{name}={quoted}" if value else name
