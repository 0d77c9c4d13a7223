"""What may come next on a command line: options, and values where they are known, from signatures and helps."""

import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import NamedTuple

from engram.interop.forms import known_forms
from engram.interop.transcripts import HARNESSES
from engram.operations.base import Operation
from engram.projects.agents import BY_NAME
from engram.service import listed
from engram.surfaces.cli import home_of
from engram.surfaces.mcp.command import PROFILES
from engram.surfaces.parsing import RENDERING, Parameter, parameters


class Values(NamedTuple):
    """What a value may be: one of some words, a file, or, where it is neither, anything."""

    words: tuple[str, ...] = ()
    files: bool = False


ANYTHING, FILES = Values(), Values(files=True)


class Option(NamedTuple):
    """An option of a command; `values` is None where it takes none."""

    flag: str
    about: str
    values: Values | None = None


class Offer(NamedTuple):
    """What one command takes: its options, and what stands alone."""

    options: tuple[Option, ...]
    placed: Values


HELP = Option("--help", "Help.")
COMMON = (Option("--json", "Answer in JSON."), Option("--store", "Use this store.", FILES), HELP)


def offers(extra: Mapping[str, str], tables: Mapping[str, Iterable[str]]) -> dict[str, Offer]:
    """Every command → what it takes; `extra` are the commands that are no operations.

    `tables` has the lists that depend on the settings: kinds and models.
    """
    lists = {**LISTS, **tables}
    return {each.command: _asked(each, lists) for each in listed()} | {name: _helped(name) for name in extra}


def _asked(operation: Operation, lists: Mapping[str, Iterable[str]]) -> Offer:
    """What an operation takes, by its signature."""
    taken = parameters(operation)
    options = [Option(one.flag, one.about, _values(one, lists)) for one in taken if not one.positional]
    shown = [Option(f"--{name}", about) for name, about in RENDERING.get(operation.name, ())]
    placed = [_values(one, lists) or ANYTHING for one in taken if one.positional]
    return Offer((*options, *shown, *COMMON), _joined(placed))


def _values(parameter: Parameter, lists: Mapping[str, Iterable[str]]) -> Values | None:
    if parameter.type is bool:
        return None
    known = parameter.completions
    words = (*parameter.choices, *known.words, *lists.get(known.of, ()))
    return Values(words, known.of == "files")


def _joined(several: Iterable[Values]) -> Values:
    found = list(several)
    return Values(tuple(word for one in found for word in one.words), any(one.files for one in found))


# --- commands that are no operations: their help is all there is to read ---

_LISTED = re.compile(r"^ +(--[a-z-]+)(?: ([A-Z]+))?  +(\S.*(?:\n {8,}(?!--)\S.*)*)", re.MULTILINE)
_USAGE = re.compile(r"Usage: .*?engram [a-z]+(.*)")


def _helped(name: str) -> Offer:
    told = import_module(f"engram.surfaces.{home_of(name)}").run.__doc__ or ""
    options = [
        Option(flag, " ".join(about.split()), _named(flag, metavar))
        for flag, metavar, about in _LISTED.findall(told)
    ]
    usage = _USAGE.match(told)
    alone = re.sub(r"\[?--[^\]]*\]?", "", usage[1]) if usage else ""
    spelt = tuple(
        word for form in re.findall(r"(?<![a-z])[a-z]++(?:\|[a-z]++)++", alone) for word in form.split("|")
    )
    placed = _joined(
        [Values(spelt), *(_named("", metavar) or ANYTHING for metavar in re.findall(r"[A-Z]+", alone))]
    )
    return Offer((*options, HELP), placed)


def _named(flag: str, metavar: str) -> Values | None:
    """What stands for a word in capitals, which some options give a meaning of their own; None without one."""
    if metavar in ("PATH", "FILE"):
        return FILES
    words = LISTS.get(flag) or LISTS.get(metavar)
    return Values(tuple(words)) if words else ANYTHING if metavar else None


# --- lists that others keep ---


LISTS: Mapping[str, Iterable[str]] = {
    "forms": tuple(known_forms()),
    "harnesses": HARNESSES,
    "AGENT": tuple(BY_NAME),
    "--profile": ("native", *PROFILES),
}
"""By what the type of a parameter, the name of an option or a word in capitals says, the words that are meant."""
