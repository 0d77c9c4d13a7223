"""The page docs/reference/python.md: signatures of everything that can be asked, and what is answered."""

import inspect
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import engram
from engram.model.answers import Answer
from engram.operations.base import Operation
from engram.service import listed

WIDTH = 110

METHODS = {"import": "import_"}
"""Operations whose name Python keeps for itself."""


def python() -> Iterator[str]:
    """Signatures of everything that can be asked, and what is answered."""
    yield from (
        "# Python",
        "",
        "```python",
        "import engram",
        "",
        "with engram.open() as memory:",
        '    memory.remember("We deploy on Fridays", kind="convention")',
        '    for hit in memory.recall("when do we deploy?").hits:',
        "        print(hit.memory.text, hit.score)",
        "```",
        "",
        "## Opening",
        "",
        "```python",
        *_signature("engram.open", engram.open, skip=0),
        "```",
        "",
        *_prose(engram.open),
        "",
        f"`Engram`: {first_line(engram.Engram)}",
        "",
        "| member | what it does |",
        "|---|---|",
        *(
            f"| `{name}()` | {first_line(getattr(engram.Engram, name))} |"
            for name in ("ask", "call", "close", "confirming_by")
        ),
        "",
        "## Operations",
        "",
        "Each is a method of `Engram` and a [command](cli.md) of the same name. They raise the errors of",
        "[this table](errors.md) and nothing else on purpose. A hint names the next step as a command: the method",
        "of that name does the same.",
        "",
    )
    for operation in listed():
        yield from _method(operation)
    yield from ("## Answers", "", "Each operation has a type of answer, an immutable record.", "")
    for answer in sorted([Answer, *Answer.__subclasses__()], key=lambda each: each.__name__):
        yield from (f"### {answer.__name__}", "", first_line(answer), "", "```python")
        yield from (f"{field}: {_type(hint)}" for field, hint in get_type_hints(answer).items())
        yield from ("```", "")
    yield from (
        "## Records",
        "",
        f"`Memory`: {first_line(engram.Memory)} The [format](../format.md) lists them all.",
        "",
        *_members(engram.Memory, ("digest", "stale_at", "effective_confidence")),
        "",
        f"`standing(memory, now, view)`: {first_line(engram.standing)}",
        "",
        f"`Scope`: {first_line(engram.Scope)}",
        "",
        f"`Citation`: {first_line(engram.Citation)}",
        "",
        f"`Caller`: {first_line(engram.Caller)}",
    )


def _method(operation: Operation) -> Iterator[str]:
    name = METHODS.get(operation.name, operation.name)
    yield from (f"### {name}", "", "```python", *_signature(name, operation.function, skip=1), "```", "")
    yield from (*_prose(operation.function), "")
    hints = get_type_hints(operation.function, include_extras=True)
    for parameter in list(inspect.signature(operation.function).parameters.values())[1:]:
        if get_origin(hints[parameter.name]) is Annotated:
            yield f"- `{parameter.name}`: {get_args(hints[parameter.name])[1]}"
    yield ""


def _signature(name: str, function: Callable[..., Any], *, skip: int) -> Iterator[str]:
    hints = get_type_hints(function)
    parts, starred = [], False
    for each in list(inspect.signature(function).parameters.values())[skip:]:
        if each.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        default = "" if each.default is inspect.Parameter.empty else f" = {each.default!r}"
        parts.append(f"{each.name}: {_type(hints[each.name])}{default}")
    line = f"{name}({', '.join(parts)}) -> {_type(hints['return'])}"
    if len(line) <= WIDTH:
        yield line
        return
    yield f"{name}("
    yield from (f"    {part}," for part in parts)
    yield f") -> {_type(hints['return'])}"


def _type(hint: Any) -> str:  # noqa: ANN401, PLR0911 - any type; a line a form
    if hint is type(None):
        return "None"
    if hint is Any:
        return "Any"
    if hint is Ellipsis:
        return "..."
    if isinstance(hint, list):  # the arguments of a Callable
        return f"[{', '.join(map(_type, hint))}]"
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " | ".join(_type(part) for part in parts)
    if origin is Literal:
        return f"Literal[{', '.join(map(repr, parts))}]"
    if origin is Annotated:
        return _type(parts[0])
    if origin is not None:
        return f"{origin.__name__}[{', '.join(_type(part) for part in parts)}]"
    return str(hint.__name__)


def _members(owner: type, names: Sequence[str]) -> Iterator[str]:
    yield from ("| member | what it is |", "|---|---|")
    for name in names:
        yield f"| `{name}` | {first_line(getattr(owner, name))} |"


def _prose(thing: object) -> list[str]:
    """A docstring as Markdown: the list of what is raised becomes a sentence."""
    lines = (inspect.getdoc(thing) or "").splitlines()
    text = "\n".join(lines)
    head, _, raised = text.partition("\n\nRaises:\n")
    out = head.splitlines()
    for line in raised.splitlines():
        name, _, why = line.strip().partition(": ")
        out += ["", f"Raises `{name}` {why}"] if why else [line.strip()]
    return out


def first_line(thing: object) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]
