"""Every regular expression of the source, and the texts that would make a bad one slow."""

import ast
import functools
import importlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from re import _constants as ops  # type: ignore[attr-defined] # the parser of the standard library
from re import _parser as parser  # type: ignore[attr-defined] # the same
from types import ModuleType
from typing import Any, NamedTuple

SOURCE = Path(__file__).resolve().parents[2] / "src"
DECLARED = 1
"""How often the name of a pattern stands in the source without being asked: where it is made."""

MOST_WAYS = 12
"""How many beginnings are kept of a pattern with choices within choices: the shortest."""

CALLS = {"compile", "match", "search", "fullmatch", "sub", "subn", "findall", "finditer", "split"}


class Found(NamedTuple):
    """A pattern, where it stands, and by which methods it is asked."""

    place: str
    pattern: re.Pattern[Any]
    methods: frozenset[str] = frozenset({"search"})

    def ask(self, text: Any) -> None:
        """Look for all that there is to be found."""
        for method in self.methods:
            if method in ("match", "fullmatch"):
                getattr(self.pattern, method)(text)
            else:
                for _ in self.pattern.finditer(text):
                    pass


def everywhere() -> tuple[list[Found], list[str]]:
    """Every pattern of the source, and the places whose pattern is only made when something is asked."""
    found: list[Found] = []
    unread: list[str] = []
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not re.search(r"\bre\.|\bcompiled\b", text):
            continue
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        module = importlib.import_module(name)
        kept = {called: list(_flat(value)) for called, value in _kept(module).items()}
        if make := getattr(module, "compiled", None):
            kept |= {
                called: list(_written(value, make)) for called, value in vars(module).items() if called[:2] != "__"
            }
        found += [
            Found(f"{name}.{called}", one, _asked(called)) for called, several in kept.items() for one in several
        ]
        made = {one.pattern for several in kept.values() for one in several}
        for node in _calls(ast.parse(text)):
            place = f"{name}:{node.lineno}"
            try:
                pattern = _evaluated(node, module)
            except NameError:
                if not any(isinstance(inner, ast.FunctionDef) and _gives(inner) for inner in _around(text, node)):
                    unread.append(place)
                continue
            if pattern.pattern not in made:
                method = node.func.attr  # type: ignore[attr-defined] # as `_calls` looked for
                found.append(Found(place, pattern, frozenset({method} - {"compile"} or {"search"})))
    return found, unread


def _written(value: Any, make: Callable[[str], re.Pattern[str]]) -> Iterator[re.Pattern[str]]:
    """What a module keeps as text and compiles when it is asked: whole patterns, parts of some, and rows of tables.

    What repeats nothing is never slow.
    """
    if isinstance(said := getattr(value, "pattern", value), str):
        if re.search(r"[*+{]", said):
            with suppress(re.error):
                yield make(said)
    elif isinstance(value, dict):
        yield from _written(list(value.values()), make)
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _written(one, make)


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in CALLS
        ):
            yield node


def _evaluated(node: ast.Call, module: ModuleType) -> re.Pattern[Any]:
    """The pattern of a call, with the names of its module."""

    def value(part: ast.expr) -> Any:
        return eval(compile(ast.Expression(part), "pattern", "eval"), dict(vars(module)))  # noqa: S307 - our own source

    flags = [one.value for one in node.keywords if one.arg == "flags"]
    placed = {
        "compile": 1,
        "match": 2,
        "search": 2,
        "fullmatch": 2,
        "findall": 2,
        "finditer": 2,
        "split": 3,
        "sub": 4,
    }
    at = placed.get(node.func.attr, 9)  # type: ignore[attr-defined] # an attribute, as `_calls` looked for
    flags += node.args[at : at + 1]
    pattern = value(node.args[0])
    return re.compile(pattern, value(flags[0]) if flags else 0)


def _gives(function: ast.FunctionDef) -> bool:
    return "Pattern" in ast.unparse(function.returns) if function.returns else False


def _around(text: str, node: ast.AST) -> Iterator[ast.AST]:
    for one in ast.walk(ast.parse(text)):
        if isinstance(one, ast.FunctionDef) and one.lineno <= node.lineno <= (one.end_lineno or 0):
            yield one


def _kept(module: ModuleType) -> dict[str, Any]:
    """What a module keeps that may be patterns, and what functions without arguments give that say they do."""
    kept: dict[str, Any] = {}
    for called, value in vars(module).items():
        inner = getattr(value, "__wrapped__", value)
        code = getattr(inner, "__code__", None)
        told = str(getattr(inner, "__annotations__", {}).get("return", ""))
        if isinstance(value, re.Pattern | tuple | list | dict):
            kept[called] = value
        elif (
            code is not None and "Pattern" in told and not code.co_argcount and inner.__module__ == module.__name__
        ):
            kept[called] = value()
    return kept


@functools.cache
def _uses() -> tuple[dict[str, set[str]], Counter[str]]:
    """By which methods what goes by a name is asked, and how often each name stands in the source otherwise."""
    whole = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    asked: dict[str, set[str]] = {}
    counted = Counter(re.findall(r"\w+", whole))
    for name, method in re.findall(
        r"\b(\w+)(?:\(\)|[^()\n]{0,40}\))?\.(match|fullmatch|search|sub|findall|finditer|split)\b", whole
    ):
        asked.setdefault(name, set()).add(method)
        counted[name] -= 1
    return asked, counted


def _asked(called: str) -> frozenset[str]:
    """The methods by which the source asks a pattern of this name; looking everywhere where that cannot be told."""
    asked, counted = _uses()
    known = asked.get(called, set())
    return frozenset(known) if known and counted[called] <= DECLARED else frozenset({"search", *known})


def _flat(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from _flat(list(value.values()))
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _flat(one)


GENERIC = (
    " ",
    "\n",
    "\t \n",
    "a",
    "a ",
    "a-",
    "-a",
    "1",
    "1.",
    "a1",
    "<",
    "&lt;",
    "[",
    "(",
    "#",
    "*",
    "`",
    "/",
    "\\",
    '"',
    "'",
    ".",
    "a=",
    "a:",
    ":",
    "://",
    "@",
    "a@",
    "=",
    "_",
    "A",
    "Aa",
    "0x",
    "\r\n",
    ",",
    "- ",
    "> ",
    "|",
    "\u4e2d",
    "e\u0301",
    "--",
)


def attacks(pattern: re.Pattern[Any], size: int) -> Iterator[Any]:
    """Texts of a size that a pattern with too many ways to match would be slow on."""
    tree = parser.parse(pattern.pattern, pattern.flags)
    beginnings = dict.fromkeys(("", *_beginnings(tree)))
    begun = [one for one in beginnings if len(one) > 1]  # many that begin, of which none ends
    seeds = dict.fromkeys((*GENERIC, *(one for one in _pumps(tree) if one), *begun))
    for seed in seeds:
        for head in beginnings:
            text = head + (seed * (size // len(seed) + 1))[:size] + "\x00!"
            yield text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text


def _beginnings(tree: Any) -> Iterator[str]:
    """What stands before each repetition, as texts that fit: one for each way that a choice before it may go."""
    said = {""}
    for op, value in tree:
        if op in (ops.MAX_REPEAT, ops.MIN_REPEAT):
            yield from filter(None, said)
        ways = [_sample(way) for way in _ways(op, value)]
        said = set(sorted((one + way for one in said for way in ways), key=lambda one: (len(one), one))[:MOST_WAYS])


def _ways(op: Any, value: Any) -> Iterator[Any]:
    """The parts that may stand in a place: each branch of a choice, or the only one there is."""
    if op is ops.SUBPATTERN and len(value[3]) == 1:
        yield from _ways(*value[3][0])
    elif op is ops.BRANCH:
        yield from value[1]
    else:
        yield [(op, value)]


def _pumps(tree: Any) -> Iterator[str]:
    """A text that fits each repetition once, and repetitions within it."""
    for op, value in tree:
        if op in (ops.MAX_REPEAT, ops.MIN_REPEAT, getattr(ops, "POSSESSIVE_REPEAT", None)):
            yield _sample(value[2])
            yield from _pumps(value[2])
        elif op is ops.SUBPATTERN:
            yield from _pumps(value[3])
        elif op is ops.BRANCH:
            for branch in value[1]:
                yield _sample(branch)
                yield from _pumps(branch)
        elif op in (ops.ASSERT, ops.ASSERT_NOT):
            yield from _pumps(value[1])


def _sample(tree: Any) -> str:
    """The shortest text we think of that fits."""
    said = ""
    for op, value in tree:
        if op is ops.LITERAL:
            said += chr(value)
        elif op is ops.NOT_LITERAL:
            said += "a" if value != ord("a") else "b"
        elif op is ops.ANY:
            said += "a"
        elif op is ops.IN:
            said += _of_set(value)
        elif op in (ops.MAX_REPEAT, ops.MIN_REPEAT, getattr(ops, "POSSESSIVE_REPEAT", None)):
            said += _sample(value[2]) * max(1, min(value[0], 50))
        elif op is ops.SUBPATTERN:
            said += _sample(value[3])
        elif op is ops.BRANCH:
            said += _sample(value[1][0])
        elif op is getattr(ops, "ATOMIC_GROUP", None):
            said += _sample(value)
    return said


def _of_set(items: Any) -> str:
    classes = {
        ops.CATEGORY_DIGIT: "1",
        ops.CATEGORY_SPACE: " ",
        ops.CATEGORY_WORD: "a",
        ops.CATEGORY_NOT_SPACE: "a",
    }
    inverse = items[0][0] is ops.NEGATE
    for op, value in items:
        if not inverse and op is ops.LITERAL:
            return chr(value)
        if not inverse and op is ops.RANGE:
            return chr(value[0])
        if not inverse and op is ops.CATEGORY:
            return classes.get(value, ".")
    return next((one for one in "a.1 -/" if re.compile("x") and not _within(one, items)), "a")


def _within(mark: str, items: Any) -> bool:
    for op, value in items:
        if (op is ops.LITERAL and value == ord(mark)) or (op is ops.RANGE and value[0] <= ord(mark) <= value[1]):
            return True
    return False
