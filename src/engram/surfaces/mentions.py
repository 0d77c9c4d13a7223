"""Commands and options in a sentence: found as hints write them, and told apart from prose.

A hint names a command as it is typed: `engram list --standing stale`. In backticks all that stands there is the
command. Without them its end is told by its words: a name with figures or signs in it, a placeholder in capitals,
a text in quotes, the value of an option and a word that its parameter may be belong to it; any other is prose.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from engram.service import OPERATIONS, Operation
from engram.surfaces.cli import EXTRA
from engram.surfaces.parsing import RENDERING, Parameter, parameters


class Mention(NamedTuple):
    """A command with what it is given, or options alone; `text` is how it stands there, without backticks."""

    start: int
    end: int
    text: str
    command: str = ""  # "" where only options are named
    given: tuple[str, ...] = ()  # what stands alone after it
    options: tuple[tuple[str, str], ...] = ()  # each with its value: "true" of a flag, "" where none is named
    apart: bool = False  # said of another store or machine, by a variable before it

    @property
    def operation(self) -> Operation | None:
        """The operation it is a command of; None where it is about a machine or a process."""
        return operations().get(self.command)


def mentioned(hint: str) -> Iterator[Mention]:
    """Every command and every option of a hint, in order."""
    at = 0
    while found := _begun().search(hint, at):
        closing = hint.find("`", found.end()) if found[0].startswith("`") else -1
        mention = _read(hint, found, closing)
        yield mention
        at = max(mention.end, at + 1)


@cache
def operations() -> dict[str, Operation]:
    """Every operation by the command that asks it."""
    return {each.command: each for each in OPERATIONS.values()}


@cache
def taken(operation: Operation) -> dict[str, Parameter]:
    """The parameters of an operation by the name that its option has, without the dashes."""
    return {each.flag[2:]: each for each in parameters(operation)}


@cache
def _begun() -> re.Pattern[str]:
    """What begins a mention: a command by its whole name, or an option."""
    names = sorted((*operations(), *EXTRA), key=len, reverse=True)
    return re.compile(
        r"`?(?P<apart>(?:[A-Z][A-Z_]+=\S+ )*)\bengram (?P<command>"
        + "|".join(map(re.escape, names))
        + r")(?![\w-])"
        r"|`?(?<![\w-])(?=--[a-z])"
    )


@cache
def _flags() -> frozenset[str]:
    """The options that take no value, of whatever command."""
    every = (one for each in operations().values() for one in taken(each).values())
    shown = {name for rows in RENDERING.values() for name, _ in rows}
    return frozenset({one.flag[2:] for one in every if one.type is bool} | shown | {"json", "help"})


_OPTION = re.compile(r" ?--(?P<name>[a-z][a-z-]*)(?!\w)")
_VALUE = re.compile(r'[ =](?P<value>"[^"]*"|\w(?:[^\s`",;()]*\w)?|…)')
_WORD = re.compile(r' (?P<word>"[^"]*"|\w(?:[^\s`",;()]*\w)?)')


def _read(hint: str, found: re.Match[str], closing: int) -> Mention:
    """The mention that begins here, as far as it goes."""
    at, end = found.end(), closing if closing >= 0 else len(hint)
    operation = operations().get(found["command"] or "")
    given: list[str] = []
    options: list[tuple[str, str]] = []
    while True:
        if option := _OPTION.match(hint, at, end):
            at, value = _value(hint, option, end, named=bool(found["command"]))
            options.append((option["name"], value))
        elif (
            found["command"] and (word := _WORD.match(hint, at, end)) and _belongs(word, closing, operation, given)
        ):
            at = word.end()
            given.append(word["word"].strip('"'))
        else:
            break
    start, whole = found.start(), closing >= 0
    text = hint[start + whole : end if whole else at]
    apart = bool(found["apart"])
    return Mention(start, end + 1 if whole else at, text, found["command"] or "", (*given,), (*options,), apart)


def _value(hint: str, option: re.Match[str], end: int, *, named: bool) -> tuple[int, str]:
    """Where an option ends, and its value: after an option alone a plain word is one only if joined to it.

    "Say --scope=global" names a value, "leave --since out" does not.
    """
    if option["name"] in _flags():
        return option.end(), "true"
    said = _VALUE.match(hint, option.end(), end)
    if said is None or not (named or said[0].startswith("=") or _is_argument(said["value"])):
        return option.end(), ""
    return said.end(), said["value"].strip('"')


def _is_argument(word: str) -> bool:
    """Whether a word is no prose: in quotes, with figures or signs in it, or a placeholder in capitals."""
    return word.startswith('"') or not word.isalpha() or (word.isupper() and len(word) > 1)


def _belongs(word: re.Match[str], closing: int, operation: Operation | None, given: list[str]) -> bool:
    """Whether a word after a command is one of its arguments."""
    said = word["word"]
    if closing >= 0 or _is_argument(said):
        return True
    placed = [each for each in taken(operation).values() if each.positional] if operation else []
    return len(given) < len(placed) and said in placed[len(given)].choices
