"""The manual page engram(1), made from the operations' signatures and the tables the commands are made of."""

import argparse
from collections.abc import Iterator

from engram import __version__, config
from engram.operations.base import Operation
from engram.surfaces import cli
from engram.surfaces.commands.overview import CODES, MACHINE, sections
from engram.surfaces.parsing import parser_for

NOTICE = r".\" Made by tools/docs.py from the code. Do not edit: run `make docs`."


def manual() -> str:
    """The page as troff with the macros of man(7)."""
    return "\n".join((NOTICE, *_head(), *_commands(), *_settings(), *_codes(), *_end())) + "\n"


def _head() -> Iterator[str]:
    yield f'.TH ENGRAM 1 "" "engram {__version__}" "User Commands"'
    yield from (".SH NAME", r"engram \- one trustworthy memory for every AI agent a person or a team runs")
    yield from (".SH SYNOPSIS", r".B engram", r".I COMMAND", r"[\fIOPTIONS\fR]")
    yield ".SH DESCRIPTION"
    yield from _prose(
        "Engram keeps what agents and people learned in a local file, finds it again by words and by meaning, has a"
        " person review what matters, and undoes every step. With no command it says what to do next."
    )
    yield ".PP"
    yield from _prose(
        "Every command takes --help, with examples, and, but for tui, --json; those about memories --store PATH."
    )


def _commands() -> Iterator[str]:
    yield ".SH COMMANDS"
    for title, operations in sections():
        yield f".SS {_plain(title)}"
        for operation in operations:
            yield from _command(operation)
    yield f".SS {_plain(MACHINE)}"
    for name, about in cli.EXTRA.items():
        yield from (".TP", rf"\fBengram {_plain(name)}\fR", *_prose(about))


def _command(operation: Operation) -> Iterator[str]:
    parser = parser_for(operation)
    yield from (
        ".TP",
        rf"\fB{_plain((parser.usage or '').removesuffix(' [OPTIONS]'))}\fR",
        *_prose(operation.summary),
    )
    options = [action for action in parser._actions if action.option_strings and action.dest != "help"]  # noqa: SLF001 - argparse has no other way
    shown = [one for action in options if (one := _option(action)) not in ("--json", r"--store PATH")]
    if shown:
        yield from (".br", f"Options: {', '.join(map(_plain, shown))}.")


def _option(action: argparse.Action) -> str:
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else "")
    return f"{action.option_strings[0]} {value}".strip()


def _settings() -> Iterator[str]:
    yield from (".SH ENVIRONMENT", *_prose("Each setting may also stand in engram.toml: see engram config."))
    for setting in config.SETTINGS:
        yield from (".TP", rf"\fB{_plain(setting.variable)}\fR", *_prose(setting.about))


def _codes() -> Iterator[str]:
    yield ".SH EXIT STATUS"
    for code, name in CODES.items():
        yield from (".TP", rf"\fB{code}\fR", *_prose(name))


def _end() -> Iterator[str]:
    yield from (
        ".SH FILES",
        ".TP",
        r"\fI~/.local/share/engram/engram.db\fR",
        "Where memories rest unless a store is set.",
    )
    yield from (".TP", r"\fI~/.config/engram/engram.toml\fR", "Settings of a person.")
    yield from (
        ".SH EXAMPLES",
        ".nf",
        'engram remember "We deploy on Fridays"',
        'engram recall "when do we deploy?"',
    )
    yield from ("engram review", "engram undo", ".fi")


def _prose(text: str) -> list[str]:
    return [_plain(line) for line in text.strip().splitlines()]


def _plain(text: str) -> str:
    """Text in which troff sees nothing but text; a hyphen stays one, so that options can be copied."""
    shown = text.replace("\\", r"\e").replace("-", r"\-").replace("\u2026", "...")
    return rf"\&{shown}" if shown.startswith((".", "'")) else shown
