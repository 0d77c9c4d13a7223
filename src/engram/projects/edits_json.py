"""Pieces of JSON files: a member of an object, a value that must be there, and a hook in a list."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from engram.errors import Conflict
from engram.projects import jsonc
from engram.projects.jsonc import MISSING, Path

Row = dict[str, Any]


class Member(NamedTuple):
    """A JSON object under a name. It is ours if `mark` stands in it; keys that others put into it are kept."""

    path: Path
    value: Row
    mark: str

    def into(self, text: str) -> str:
        """Set what is missing or outdated."""
        here = jsonc.look(jsonc.read(text), self.path)
        if here is MISSING:
            return jsonc.put(text, self.path, self.value)
        if not is_ours(here, self.mark):
            raise taken(self.path)
        for path, value in _leaves(self.value, here):
            text = jsonc.put(text, (*self.path, *path), value)
        return text

    def out_of(self, text: str, before: str) -> str:
        """Drop the member, and the objects that were made to hold it."""
        here = jsonc.look(jsonc.read(text), self.path)
        if not is_ours(here, self.mark):
            return text
        if (then := jsonc.look(jsonc.read(before), self.path)) is not MISSING:
            return text if here == then else jsonc.put(text, self.path, then)
        return _pruned(jsonc.drop(text, self.path), self.path[:-1], before)


class Default(NamedTuple):
    """A JSON value that a file must have, and that is left alone where it has one."""

    path: Path
    value: Any

    def into(self, text: str) -> str:
        """Set it if it is missing."""
        known = jsonc.look(jsonc.read(text), self.path) is not MISSING
        return text if known else jsonc.put(text, self.path, self.value)

    def out_of(self, text: str, before: str) -> str:
        """Drop it if it came with us and nothing else is left beside it."""
        value = jsonc.read(text)
        if jsonc.look(jsonc.read(before), self.path) is not MISSING or value != {self.path[0]: self.value}:
            return text
        return _pruned(jsonc.drop(text, self.path), (), before)


class Hook(NamedTuple):
    """A command in a list of hooks. It is ours if its `command` ends as ours does, wherever Engram is installed."""

    path: Path
    value: Row
    ending: str

    def into(self, text: str) -> str:
        """Append the hook, or set the command of the one that is there."""
        wanted = next(row["command"] for _, row in _commands(self.value, ()))
        found = self._found(jsonc.read(text))
        if not found:
            return jsonc.append(text, self.path, self.value)
        for path, row in found:
            if row["command"] != wanted:
                text = jsonc.put(text, (*path, "command"), wanted)
        return text

    def out_of(self, text: str, before: str) -> str:
        """Drop the hook, and the lists and objects that were made to hold it."""
        found, then = self._found(jsonc.read(text)), self._found(jsonc.read(before))
        for index, (path, row) in reversed(list(enumerate(found))):
            if index >= len(then):
                text = _pruned(jsonc.drop(text, path), path[:-1], before, inside=self.path)
            elif row["command"] != (command := then[index][1]["command"]):
                text = jsonc.put(text, (*path, "command"), command)
        return text

    def _found(self, value: Any) -> list[tuple[Path, Row]]:  # noqa: ANN401 - any JSON value
        held = jsonc.look(value, self.path)
        return (
            []
            if held is MISSING
            else [(path, row) for path, row in _commands(held, self.path) if row["command"].endswith(self.ending)]
        )


def _commands(value: Any, path: Path) -> Iterator[tuple[Path, Row]]:  # noqa: ANN401 - any JSON value
    """Every object within a value that has a command, and where it stands."""
    if isinstance(value, dict):
        if isinstance(value.get("command"), str):
            yield path, value
        for key, each in value.items():
            yield from _commands(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _commands(each, (*path, index))


def _pruned(text: str, path: Path, before: str, *, inside: Path = ()) -> str:
    """Drop what became empty, from a path upwards, but for what was there before.

    What stands inside a list cannot be told by its place, so below `inside` everything empty goes.
    """
    then = jsonc.read(before)
    while jsonc.look(jsonc.read(text), path) in ({}, []):
        known = len(path) <= len(inside) or not inside
        if known and before.strip() and jsonc.look(then, path) is not MISSING:
            break
        if not path:
            return ""
        text, path = jsonc.drop(text, path), path[:-1]
    return text


def _leaves(wanted: Row, here: Row) -> Iterator[tuple[Path, Any]]:
    """What is missing or otherwise in an object, each with its path; what else is in it stays, at every depth."""
    for key, value in wanted.items():
        there = here.get(key, MISSING)
        if isinstance(value, dict) and isinstance(there, dict):
            yield from (((key, *path), each) for path, each in _leaves(value, there))
        elif there != value:
            yield (key,), value


def is_ours(here: Any, mark: str) -> bool:  # noqa: ANN401 - any JSON value
    """Whether a value holds our mark, in a key or in what it says."""
    return isinstance(here, dict) and any(mark in word for word in _words(here))


def _words(value: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        for key, each in value.items():
            yield str(key)
            yield from _words(each)
    elif isinstance(value, list):
        for each in value:
            yield from _words(each)
    else:
        yield str(value)


def taken(path: Path) -> Conflict:
    """Why a place is left alone that somebody else has."""
    return Conflict(f"{dotted(path)} is set already, and not by Engram.", "Rename or remove it, and run it again.")


def dotted(path: Path) -> str:
    """A path as people write it."""
    return ".".join(map(str, path))
