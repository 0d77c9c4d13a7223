"""Command lines parsed by signature: required parameters are positional, the others are options."""

import argparse
import types
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal, NamedTuple, NoReturn, Union, get_args, get_origin, get_type_hints

from engram.errors import Invalid
from engram.model.limits import parse_moment
from engram.operations.base import Operation
from engram.operations.parameters import Completions

RENDERING = {
    "recall": (("explain", "Show why each memory was found, and what it costs to read."),),
    "review": (("list", "Only list what waits; do not walk through it."),),
    "sync": (("git", "Exchange memories through a repository instead: see engram sync --git --help."),),
    "sync_git": (("git", "Through a repository: what this command does."),),
    "doctor": (("hygiene", "Tell how clean the memories are instead: see engram doctor --hygiene --help."),),
    "hygiene": (("hygiene", "How clean memories are: what this command does."),),
}
"""Options that change how an answer is shown, not what is asked."""


FREE_TEXT = ("text", "question", "query", "words")
"""Positional parameters that take a sentence."""

NEAR, NEAR_OPTION = 0.6, 0.7
"""How alike a word and the one that was meant are at least; options are short, and there are many."""

LONG_OPTION = 6

REQUIRED: Any = object()
"""The default of a parameter that has none."""


class Parameter(NamedTuple):
    """One parameter of an operation, as a command line sees it."""

    name: str
    about: str
    type: Any
    optional: bool  # None is a value: "not said"
    many: bool
    choices: tuple[str, ...]
    default: Any
    required: bool
    positional: (
        bool  # whether it stands alone, as it may in Python: what is required, and what the operation is about
    )
    marks: tuple[str, ...] = ()  # what a moment may be, beside a time
    completions: Completions = Completions()  # what it is often, or always, one of
    clears: bool = False  # the operation can empty it by --clear

    @property
    def flag(self) -> str:
        """The option's name."""
        return f"--{self.name.rstrip('_').replace('_', '-')}"  # `global_`: a word of Python's own


class _Parser(argparse.ArgumentParser):
    taken: Sequence[Parameter] = ()
    example: str = ""
    said: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        kind, colon, words = message.partition(": ")
        if colon and kind == "the following arguments are required" and (strange := self._strange()):
            kind, words = "unrecognized arguments", strange  # what is there says more than what is not
        if colon and kind == "unrecognized arguments":
            raise Invalid(self._too_much(words), f"{self._instead(words)}See {self.prog} --help.")
        if colon and kind == "the following arguments are required":
            raise Invalid(
                f"{self.prog} needs {words.upper()}.", f"For example: {self.example}. See {self.prog} --help."
            )
        raise Invalid(f"{message[:1].upper()}{message[1:]}.", f"See {self.prog} --help.")

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401 - argparse's signature
        """Refuse a word that is none of the choices, with the one that was probably meant."""
        if action.choices is None or value in action.choices:
            return
        known = [str(each) for each in action.choices]
        flag = "/".join(action.option_strings)
        hint = f"{did_you_mean(str(value), known) or self._joined(value)}Use one of: {', '.join(known)}."
        example = "" if flag else f" For example: {self.example}."
        raise Invalid(f"{flag or action.dest} cannot be {value!r}.", f"{hint}{example} See {self.prog} --help.")

    def _joined(self, value: str) -> str:
        """How two memories are named where a relation is asked for; "" where this is no second memory."""
        before = self.said[self.said.index(value) - 1] if value in self.said else "~"
        is_second = self.taken[0].name == "relation" and "~" not in before and any(map(str.isdigit, value))
        return f"Name the two as one: {before}~{value}. " if is_second else ""

    def _too_much(self, words: str) -> str:
        """That nothing takes these words: an option that is none, or more than the command is about."""
        placed = [each for each in self.taken if each.positional]
        if words.startswith("-") or not placed:
            return f"{self.prog} takes no {words}."
        return f"{self.prog} takes one {placed[-1].name}: {words!r} is left over."

    def _strange(self) -> str:
        """The first word that looks like an option and is none; "" where there is none."""
        options = self.said[: self.said.index("--")] if "--" in self.said else self.said
        for word in options:
            looks_like_one = len(word) > 1 and word.startswith("-") and " " not in word and not word[1].isdigit()
            if looks_like_one and word.partition("=")[0] not in self._option_string_actions:
                return word
        return ""

    def _instead(self, words: str) -> str:
        """What was probably meant by words that nothing takes."""
        flags = [flag for action in self._actions for flag in action.option_strings]
        if words.startswith("-"):
            word = words.split(maxsplit=1)[0].partition("=")[0]
            near = _by_letter(word, flags) or did_you_mean(word, flags)
            return _called_otherwise(word, flags) or near or _elsewhere(word)
        if "--text" in flags:
            return f'Say it with an option: --text "{words}". '
        if any(each.positional and each.name in FREE_TEXT for each in self.taken):
            return "Put a text of several words in quotes. "
        return f"For example: {self.example}. " if self.example else ""


def _called_otherwise(flag: str, flags: Collection[str]) -> str:
    """What an option is called here that other programs call so, where the command has it."""
    from engram.surfaces.synonyms import OPTIONS  # noqa: PLC0415 - only where something is wrong

    ours = OPTIONS.get(flag, "")
    return f"Here it is: {ours}. " if ours.partition(" ")[0] in flags else ""


def _by_letter(flag: str, flags: Iterable[str]) -> str:
    """The options that a letter may stand for, as a question: -n is a number of things everywhere."""
    begins = {"-n": "--limit"}.get(flag, f"-{flag}")
    fits = [each for each in flags if len(flag) == len("-x") and each.startswith(begins)]
    return f"Did you mean {' or '.join(fits)}? " if fits else ""


def _elsewhere(flag: str) -> str:
    """Which commands have an option; "" for a short one, which means something else in each."""
    from engram.service import OPERATIONS  # noqa: PLC0415 - only where something is wrong

    if len(flag) < LONG_OPTION:
        return ""
    named = [each.command for each in OPERATIONS.values() if any(one.flag == flag for one in parameters(each))]
    return f"It is an option of {' and '.join(f'engram {one}' for one in named)}. " if 0 < len(named) < 3 else ""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The known word that was probably meant, as a question; "" where none is near. Dashes make no two alike."""
    from difflib import get_close_matches  # noqa: PLC0415 - only where something is wrong

    bare = {each.lstrip("-"): each for each in known}
    close = get_close_matches(word.lstrip("-"), list(bare), 1, NEAR_OPTION if word.startswith("-") else NEAR)
    return f"Did you mean {bare[close[0]]}? " if close else ""


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Help as wide as the terminal, asked for directly: argparse would load shutil on every start."""

    def __init__(self, prog: str) -> None:
        from engram.surfaces.render.paper import help_width  # noqa: PLC0415 - where help is shown

        super().__init__(prog, width=help_width())

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Prose folded to the width; what is indented, as examples are, stays in its lines."""
        from engram.surfaces.render.paper import folded  # noqa: PLC0415 - where help is shown

        if max(map(len, text.splitlines()), default=0) <= width:
            return text
        lines: list[str] = []
        for paragraph in text.split("\n\n"):
            kept = paragraph.splitlines() if "\n " in paragraph else folded(paragraph, width)
            lines += [*([""] if lines else []), *(f"{indent}{line}" for line in kept)]
        return "\n".join(lines)

    def add_usage(self, usage: str | None, actions: Any, groups: Any, prefix: str | None = None) -> None:  # noqa: ANN401 - argparse's signature
        """Begin as the help of every other command does."""
        super().add_usage(usage, actions, groups, prefix or "Usage: ")


def parse(operation: Operation, words: Sequence[str]) -> dict[str, Any]:
    """The values a command line gives an operation, and those for its rendering.

    Raises:
        Invalid: when the command line cannot be understood.
    """
    parser = parser_for(operation)
    parser.said = words
    read = parser.parse_args if "--" in words else parser.parse_intermixed_args  # the latter would lose the mark
    found = vars(read(list(words)))
    return {name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}


def parser_for(operation: Operation) -> "_Parser":
    """The parser made from an operation's signature."""
    examples = "\n".join(f"  {line}" for line in operation.examples)
    parser = _Parser(
        prog=f"engram {operation.command}",
        usage=_usage(operation),
        description=_prose(operation.function.__doc__ or ""),
        epilog=f"Examples:\n{examples}",
        formatter_class=_Formatter,
        allow_abbrev=False,
        add_help=False,
    )
    parser._positionals.title, parser._optionals.title = "Arguments", "Options"  # noqa: SLF001 - argparse has no other way
    parser.taken, parser.example = parameters(operation), operation.examples[0]
    for parameter in parser.taken:
        _add(parser, parameter)
    for name, about in RENDERING.get(operation.name, ()):
        parser.add_argument(f"--{name}", action="store_true", help=about)
    parser.add_argument("--json", action="store_true", help="Answer in JSON, for machines.")
    parser.add_argument("--store", default="", metavar="PATH", help="Use this store instead of the configured one.")
    parser.add_argument("-h", "--help", action="help", help="Show this help.")
    return parser


def _usage(operation: Operation) -> str:
    """The first line of help; given here, because argparse loads half a library to make its own."""
    placed = [each for each in parameters(operation) if each.positional]
    names = [each.name.upper() if each.required else f"[{each.name.upper()}]" for each in placed]
    more = [f"{name} ..." if each.many else name for name, each in zip(names, placed, strict=True)]
    return " ".join(["engram", operation.command, *more, "[OPTIONS]"])


def parameters(operation: Operation) -> list[Parameter]:
    """The parameters of an operation, in order, without the call itself."""
    function = operation.function.__wrapped__  # type: ignore[attr-defined] # what @operation was put upon
    hints = get_type_hints(function, include_extras=True)
    code = function.__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    said = function.__defaults__ or ()
    placed = code.co_varnames[1 : code.co_argcount]
    defaults = {
        **dict(zip(placed[len(placed) - len(said) :], said, strict=True)),
        **(function.__kwdefaults__ or {}),
    }
    cleared = get_args(get_args(get_args(hints["clear"])[0])[0]) if "clear" in hints else ()
    return [
        _parameter(name, hints[name], defaults.get(name, REQUIRED), placed=name in placed)._replace(
            clears=name in cleared
        )
        for name in names
    ]


def _parameter(name: str, hint: Any, default: Any, *, placed: bool) -> Parameter:  # noqa: ANN401 - a type, and a value
    kind, about = (get_args(hint)[0], get_args(hint)[1]) if get_origin(hint) is Annotated else (hint, "")
    parts = list(get_args(kind)) if get_origin(kind) in (Union, types.UnionType) else [kind]
    optional = type(None) in parts
    many = any(get_origin(part) is Sequence for part in parts)
    plain = [part for part in parts if part is not type(None) and get_origin(part) is not Sequence]
    base = plain[0] if plain else str
    choices = tuple(get_args(base)) if get_origin(base) is Literal else ()
    each = [get_args(part)[0] for part in parts if get_origin(part) is Sequence]
    words = tuple(word for one in each if get_origin(one) is Literal for word in get_args(one))
    marks = get_args(hint)[2:] if about else ()
    completions = next((mark for mark in marks if isinstance(mark, Completions)), Completions(words))
    read = str if choices else base
    return Parameter(
        name, about, read, optional, many, choices, default, default is REQUIRED, placed or default is REQUIRED,
        tuple(mark for mark in marks if isinstance(mark, str)), completions=completions,
    )  # fmt: skip


def _prose(docstring: str) -> str:
    """A docstring without the indentation of the code around it."""
    return "\n".join(line.removeprefix("    ") for line in docstring.strip().splitlines())


def _add(parser: argparse.ArgumentParser, parameter: Parameter) -> None:
    about = parameter.about.replace("%", "%%")
    if type(parameter.default) is int and parameter.default:
        about += f" Default: {parameter.default:,}."
    if parameter.many and not parameter.positional:
        about += " Repeat for more."
    if parameter.name == "text" and parameter.required:
        about += " - reads it from standard input."
    if parameter.positional:
        count = "+" if parameter.many else None if parameter.required else "?"
        one_of = parameter.choices or None
        parser.add_argument(parameter.name, nargs=count, default=parameter.default, choices=one_of, help=about)
    elif parameter.type is bool:
        action: Any = argparse.BooleanOptionalAction if parameter.optional else "store_true"
        parser.add_argument(
            parameter.flag, dest=parameter.name, action=action, default=parameter.default, help=about
        )
    elif parameter.many:
        parser.add_argument(
            parameter.flag, action=_Append, default=parameter.default, metavar=_shown(parameter), help=about
        )
    else:
        parser.add_argument(
            parameter.flag,
            type=_reader(parameter),
            choices=parameter.choices or None,
            default=parameter.default,
            metavar=None if parameter.choices else _shown(parameter),
            help=about,
        )


class _Append(argparse.Action):
    """Collect repeated options; the first one said replaces the default instead of joining it."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:  # noqa: ANN401, ARG002 - argparse's signature
        said = getattr(namespace, self.dest)
        setattr(namespace, self.dest, [values] if said is self.default else [*said, values])


def _shown(parameter: Parameter) -> str:
    return {int: "N", float: "X", datetime: "YYYY-MM-DD"}.get(parameter.type, parameter.name.upper())


def _reader(parameter: Parameter) -> Callable[[str], Any]:
    name = parameter.flag

    def number(text: str) -> int | float:
        try:
            return int(text) if parameter.type is int else float(text)
        except ValueError:
            raise Invalid(f"{name} cannot be {text!r}.", "Give a number.") from None

    def moment(text: str) -> datetime | str:
        try:
            return parse_moment(name, text, parameter.marks)
        except Invalid as error:
            emptied = f" To empty it: --clear {parameter.name}." if parameter.clears else ""
            raise Invalid(error.message, error.hint + emptied) from None

    return {int: number, float: number, datetime: moment}.get(parameter.type, str)


def valued(command: str, words: Sequence[str], names: Sequence[str]) -> dict[str, list[str]]:
    """What is said for each option of a command that takes nothing but options with a value, in order.

    Raises:
        Invalid: when it says something else, or an option has no value.
    """
    said: dict[str, list[str]] = {name: [] for name in names}
    rest = list(words)
    while rest:
        name, equals, value = rest.pop(0).partition("=")
        if name not in said:
            raise Invalid(
                f"engram {command} takes no {name}.", f"{did_you_mean(name, names)}See engram {command} --help."
            )
        if not equals and not rest:
            raise Invalid(f"{name} needs a value.", f"See engram {command} --help.")
        said[name].append(value if equals else rest.pop(0))
    return said


def listed(values: Sequence[str]) -> list[str]:
    """Values that are given several times, or with commas between them."""
    return [one.strip() for value in values for one in value.split(",") if one.strip()]
