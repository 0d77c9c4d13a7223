"""Changes the rules a little, one place at a time, and names the changes that no test notices: `make mutate`.

    python tools/mutate.py undo merge     # these, each with the tests of its own
    python tools/mutate.py --stale        # those of which the page tells another number of changes than there are

What came of it is written into the table of docs/mutations.md, and what was left is printed, to be looked at.

mutmut says what to change: operators, comparisons, conditions, numbers, and what leaves a loop. Words and missing
values are left alone, since the type check and the tests of the pages see to those. The tests are collected once;
each change is made in a process of its own, which runs the tests that came by the changed function, the quickest
first, until one fails.
"""

import argparse
import ast
import dataclasses
import functools
import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, NamedTuple

import libcst
import pytest
from _pytest.runner import runtestprotocol
from coverage import Coverage
from hypothesis import HealthCheck, Phase, settings
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider
from mutmut.mutation import mutators

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "engram"
PACKAGES = ("rules", "recall", "model", "engines", "sync", "interop")
"""What can be tried: the rules, by their bare names, and others by their full ones, as in `recall.weigh`."""

RESULTS = ROOT / "build" / "mutants.jsonl"
PAGE = ROOT / "docs" / "mutations.md"
BEGIN, END = "<!-- mutations:begin -->", "<!-- mutations:end -->"

TESTS = ("tests/rules", "tests/operations")
"""Where a module has no tests of its own."""

ADMITTING = ("rules/admission", "rules/guards", "rules/intake", "rules/keys", "rules/saying_again")
OWN = {
    "access": ("rules/access", "rules/guards"),
    "admission": ADMITTING,
    "drafting": ADMITTING,
    "insights": ("operations/insights",),
    "lifecycle": ("rules/lifecycle", "rules/guards"),
    "likeness_values": ("rules/likeness",),
    "naming": ("operations/naming",),
    "projects": ("rules/moving_projects",),
    "redact": ("rules/redact", "rules/spoken_secrets"),
    "redact_judging": ("rules/redact", "rules/spoken_secrets"),
    "saying": ("rules/texts_said",),
    "scrubbing": ("rules/clean_copies",),
    "sessions": ("rules/session_steps",),
}
"""The tests of a module's own, where they have another name or are not all in one file."""

LEFT_OUT = "not vectors and not backups and not thousands and not hostile_text_costs and not postgres"
"""Tests that wait, or that take long and say nothing of a rule that others do not."""

WATCHED = ROOT / "build" / "lines.json"
PATIENCE = 3
"""Seconds of work beyond ten times its own after which a test that goes on and on is taken for failed."""

LATE = 255

BLANK = libcst.BaseParenthesizableWhitespace | libcst.TrailingWhitespace | libcst.EmptyLine
"""Where nothing can be changed, and of which there is the most."""

TRIED = {
    mutators.operator_number,
    mutators.operator_name,
    mutators.operator_augmented_assignment,
    mutators.operator_remove_unary_ops,
    mutators.operator_symmetric_string_methods_swap,
    mutators.operator_unsymmetrical_string_methods_swap,
    mutators.operator_keywords,
    mutators.operator_swap_op,
    mutators.operator_match,
    mutators.operator_if_exp,
}


class Place(NamedTuple):
    """Where a statement is: the function it is in, and the lines of it that are not those of others within."""

    function: str
    first: int
    last: int


class Mutant(NamedTuple):
    """One change of one function: where it is, and the line before and after."""

    module: str
    place: Place
    line: int
    before: str
    after: str
    source: str

    @property
    def name(self) -> str:
        """What is printed and remembered: the same for as long as the line and the change are."""
        return f"{self.module}.{self.place.function}: {self.before}  ->  {self.after}"


def mutants(module: str) -> Iterator[Mutant]:
    """Every change of the functions of a module."""
    source = _file(module).read_text(encoding="utf-8")
    wrapper = MetadataWrapper(libcst.parse_module(source), unsafe_skip_copy=True)
    places = wrapper.resolve(PositionProvider)
    functions = dict(_functions(ast.parse(source)))
    lines = source.splitlines(keepends=True)
    for node, new in _changes(wrapper.module):
        place = places[node]
        yield _mutant(module, functions[place.start.line], lines, place, wrapper.module.code_for_node(new))


def count(module: str) -> int:
    """How many changes of a module there are."""
    return sum(1 for _ in _changes(libcst.parse_module(_file(module).read_bytes())))


def _changes(module: libcst.Module) -> Iterator[tuple[libcst.CSTNode, libcst.CSTNode]]:
    """What may stand instead of what within the functions of a module."""
    operators = [each for each in mutators.mutation_operators if each[1] in TRIED]
    for body in _bodies(module.body):
        for node in _nodes(body):
            for kind, operator in operators:
                if isinstance(node, kind):
                    yield from ((node, new) for new in operator(node))


def _bodies(statements: Iterable[libcst.CSTNode]) -> Iterator[libcst.CSTNode]:
    """What the functions among some statements do, and those of classes."""
    for one in statements:
        if isinstance(one, libcst.ClassDef):
            yield from _bodies(one.body.body)
        elif isinstance(one, libcst.FunctionDef):
            yield from one.body.body[one.get_docstring() is not None :]


def _dotted(module: str) -> str:
    return module if "." in module else f"rules.{module}"


def _file(module: str) -> Path:
    return SOURCE.joinpath(*_dotted(module).split(".")).with_suffix(".py")


def _mutant(module: str, within: Place, lines: list[str], place: CodeRange, new: str) -> Mutant:
    """The module with other words at one place."""
    first, last = place.start.line - 1, place.end.line
    old = "".join(lines[first:last])
    tail = len(lines[last - 1]) - place.end.column
    changed = old[: place.start.column] + new + old[len(old) - tail :]
    before, after = (" ".join(some.split()) for some in (old, changed))
    return Mutant(module, within, first + 1, before, after, "".join([*lines[:first], changed, *lines[last:]]))


def _nodes(node: libcst.CSTNode) -> Iterator[libcst.CSTNode]:
    """A node and all within it, but for what types say; by its fields, since `children` copies what it answers."""
    yield node
    for field in _fields(type(node)):
        value = getattr(node, field)
        for child in value if isinstance(value, tuple | list) else (value,):
            if isinstance(child, libcst.CSTNode) and not isinstance(child, libcst.Annotation | BLANK):
                yield from _nodes(child)


@functools.cache
def _fields(kind: type[libcst.CSTNode]) -> tuple[str, ...]:
    return tuple(each.name for each in dataclasses.fields(kind))


def _functions(tree: ast.AST, within: str = "") -> Iterator[tuple[int, Place]]:
    """The lines of bodies of functions, each with its statement and the outermost function around it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{within}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            told = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
            for one in node.body[told:]:
                yield from _statements(one, within + node.name)


def _statements(node: ast.stmt, function: str) -> Iterator[tuple[int, Place]]:
    """The lines of a statement, and then those of the statements within it, which are nearer."""
    last = node.end_lineno or node.lineno
    inner = [one for one in ast.walk(node) if isinstance(one, ast.stmt) and one is not node]
    head = min((one.lineno - 1 for one in inner), default=last)
    for line in range(node.lineno, last + 1):
        yield line, Place(function, node.lineno, max(head, node.lineno))
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.stmt):
            yield from _statements(one, function)
        elif isinstance(one, ast.ExceptHandler | ast.match_case):
            for each in one.body:
                yield from _statements(each, function)


# --- running ---


class Test(NamedTuple):
    """A test, and how long it takes."""

    seconds: float
    item: pytest.Item


class Runner:
    """Takes the place of pytest's own loop: the tests once, to see what they come by, then each mutant."""

    def __init__(self, modules: list[str], workers: int, budget: float) -> None:
        self.modules = modules
        self.budget = budget
        self.workers = workers
        self.tests: dict[tuple[str, int], set[Test]] = {}
        self.killers: dict[str, list[str]] = defaultdict(list)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        """Few examples, always the same, and no search for the smallest that fails."""
        settings.register_profile(
            "mutants",
            deadline=None,
            max_examples=30,
            derandomize=True,
            database=None,
            phases=[Phase.explicit, Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what runs the model: its threads do not come along into a process that is forked."""
        items[:] = [item for item in items if "arctic" not in getattr(item, "fixturenames", ())]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try what was not tried before, or not noticed then."""
        self._watch(session.items)
        known = results()
        asked = [one for module in self.modules for one in mutants(module) if known.get(one.name) != "killed"]
        children = []
        for worker in range(self.workers):
            child = os.fork()
            if not child:
                self._try(asked[worker :: self.workers])
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
        return True

    def _watch(self, items: list[pytest.Item]) -> None:
        """Which lines each test comes by; what was seen of files that are as they were is kept."""
        known = json.loads(WATCHED.read_text()) if WATCHED.exists() else {}
        changed = max(path.stat().st_mtime for package in PACKAGES for path in (SOURCE / package).rglob("*.py"))
        seen: dict[tuple[str, int], set[Test]] = defaultdict(set)
        for item in items:
            stamp = max(item.path.stat().st_mtime, changed)
            if known.get(item.nodeid, [0])[0] != stamp:
                known[item.nodeid] = [stamp, *_watched(item)]
            _, seconds, lines = known[item.nodeid]
            for module, passed in lines.items():
                for line in passed:
                    seen[module, line].add(Test(seconds, item))
        WATCHED.write_text(json.dumps(known))
        self.tests = dict(seen)
        print(f"{len(items)} tests come by {len(seen)} lines", flush=True)

    def _try(self, asked: list[Mutant]) -> None:
        """Write down what came of each, one line after the other, so that a run can be ended at any time."""
        with RESULTS.open("a", encoding="utf-8") as file:
            for mutant in asked:
                outcome = self._outcome(mutant)
                file.write(json.dumps([mutant.name, outcome, mutant.line]) + "\n")
                file.flush()

    def _outcome(self, mutant: Mutant) -> str:
        lines = range(mutant.place.first, mutant.place.last + 1)
        passing = set().union(*(self.tests.get((mutant.module, line), ()) for line in lines))
        code, function = _code(mutant), _function(mutant)
        if not passing or code is None or function is None:
            return "untested"
        killers = self.killers[mutant.module]  # who noticed one is likely to notice the next
        tests = sorted(passing, key=lambda one: (one.item.nodeid not in killers[-20:], one.seconds))
        child = os.fork()
        if not child:
            _work(function, code, tests, self.budget)
        failed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if 0 < failed <= min(len(tests), LATE - 1):
            killers.append(tests[failed - 1].item.nodeid)
        return "killed" if failed else "survived"


def results() -> dict[str, str]:
    """What came of each mutant when it was tried last."""
    if not RESULTS.exists():
        return {}
    return {name: outcome for name, outcome, _ in map(json.loads, RESULTS.read_text().splitlines())}


def _watched(item: pytest.Item) -> tuple[float, dict[str, list[int]]]:
    """How long a test takes, and the lines of each module that it comes by."""
    _forget()
    started = time.process_time()
    # Without the project's own settings: they would put one more layer around `os._exit` for each test.
    only = [f"{SOURCE / package}/*" for package in PACKAGES]
    watching = Coverage(data_file=None, config_file=False, include=only)
    with watching.collect():
        reports = runtestprotocol(item, log=False)
    if any(report.failed for report in reports):
        raise pytest.UsageError(f"{item.nodeid} fails as it is")
    data = watching.get_data()
    lines = {_module(Path(file)): sorted(data.lines(file) or ()) for file in data.measured_files()}
    return round(time.process_time() - started, 4), lines


def _module(file: Path) -> str:
    return ".".join(file.relative_to(SOURCE).with_suffix("").parts).removeprefix("rules.")


def _work(function: FunctionType, code: CodeType, tests: list[Test], budget: float) -> None:
    """In a process of its own: make the change, and end with the place of the first test that fails."""
    signal.signal(signal.SIGVTALRM, lambda *_: os._exit(LATE))
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    function.__code__ = code
    _forget()
    ends = time.process_time() + budget
    for at, test in enumerate(tests, 1):
        if time.process_time() > ends:
            break
        signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE + 10 * test.seconds)
        try:
            failed = any(report.failed for report in runtestprotocol(test.item, log=False))
        except BaseException:  # noqa: BLE001 - whatever it was, it was noticed
            failed = True
        if failed:
            os._exit(min(at, LATE - 1))
    os._exit(0)


def _forget() -> None:
    """Empty every cache: what was kept of an earlier call would hide what a function does now."""
    for name, module in list(sys.modules.items()):
        if name.startswith(tuple(f"engram.{package}." for package in PACKAGES)):
            for each in vars(module).values():
                if hasattr(each, "cache_clear"):
                    each.cache_clear()


def _code(mutant: Mutant) -> CodeType | None:
    """The changed function, as it is compiled; None where the change is no Python."""
    try:
        whole = compile(mutant.source, str(_file(mutant.module)), "exec")
    except SyntaxError:
        return None
    waiting = [whole]
    while waiting:
        for one in waiting.pop().co_consts:
            if isinstance(one, CodeType):
                if one.co_qualname == mutant.place.function:
                    return one
                waiting.append(one)
    return None


def _function(mutant: Mutant) -> FunctionType | None:
    found: Any = importlib.import_module(f"engram.{_dotted(mutant.module)}")
    for name in mutant.place.function.split("."):
        found = vars(found).get(name) if isinstance(found, type) else getattr(found, name, None)
    found = getattr(found, "fget", found)
    found = getattr(found, "__func__", found)
    found = getattr(found, "__wrapped__", found)
    return found if isinstance(found, FunctionType) else None


def main(words: list[str]) -> int:
    """Try the named modules, or all of the rules; what was tried before and noticed is not tried again."""
    os.chdir(ROOT)
    RESULTS.parent.mkdir(exist_ok=True)
    asked = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    asked.add_argument("module", nargs="*", help="such as undo or recall.weigh; by default all of the rules")
    asked.add_argument("--stale", action="store_true", help="the rules that the page counts otherwise")
    asked.add_argument("--budget", type=float, default=30, help="seconds of tests for each change")
    asked.add_argument("--tests", nargs="+", help="where to look for tests; by default in those of its own")
    asked.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked.add_argument("--report", action="store_true", help="only tell what came of it")
    said = asked.parse_args(words)
    modules = said.module or (stale() if said.stale else known_modules())
    if said.report:
        report(modules)
        return 0
    if said.tests:
        runner = Runner(modules, said.workers, said.budget)
        ended = int(pytest.main(["-q", "-p", "no:cacheprovider", "-k", LEFT_OUT, *said.tests], plugins=[runner]))
        report(modules)
        return ended
    for module in modules:  # each in a process of its own: pytest collects once
        if _file(module).exists():
            more = ["--budget", f"{said.budget}", "--workers", f"{said.workers}", "--tests", *own_tests(module)]
            ended = subprocess.run([sys.executable, __file__, module, *more], check=False).returncode
            if ended:
                return ended
        if "." not in module:
            write(module)
    return 0


def known_modules() -> list[str]:
    """The modules of the rules in which something can be changed."""
    return sorted(_counted())


def _counted() -> dict[str, int]:
    counts = {path.stem: count(path.stem) for path in (SOURCE / "rules").glob("*.py")}
    return {module: changes for module, changes in counts.items() if changes}


def own_tests(module: str) -> list[str]:
    """The files that test a module itself; the rules and the operations, where there are none."""
    package, _, name = _dotted(module).rpartition(".")
    files = [f"tests/{path.replace('/', '/test_')}.py" for path in OWN.get(module, (f"{package}/{name}",))]
    return files if all((ROOT / file).exists() for file in files) else list(TESTS)


# --- the page ---


def told() -> dict[str, tuple[int, int]]:
    """What the page says of each module: how many changes, and how many of them are noticed."""
    found = re.findall(r"^\| `(\w+)` \| ([\d,]+) \| ([\d,]+) \|", _table(), re.MULTILINE)
    return {
        name: (int(changes.replace(",", "")), int(noticed.replace(",", ""))) for name, changes, noticed in found
    }


def stale() -> list[str]:
    """The modules of which the page tells another number of changes than there are, or nothing, or too much."""
    said, today = told(), _counted()
    return sorted(name for name in said.keys() | today if said.get(name, (0, 0))[0] != today.get(name, 0))


def write(module: str) -> None:
    """Tell on the page what came of a module of the rules; the rows of others stay."""
    rows, known = told(), results()
    rows.pop(module, None)
    if _file(module).exists() and (outcomes := [known.get(one.name) for one in mutants(module)]):
        rows[module] = (len(outcomes), outcomes.count("killed"))
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{table(rows)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    print(
        f"Wrote the row of {module} into {PAGE.relative_to(ROOT)}: tell there why what is left is left.", flush=True
    )


def table(rows: Mapping[str, tuple[int, int]]) -> str:
    """How many changes of each module there are, how many are noticed, and how many are left; and of all."""
    lines = ["| module | changes | noticed | left, and looked at |", "| --- | ---: | ---: | ---: |"]
    both = tuple(sum(row[at] for row in rows.values()) for at in (0, 1))
    for name, (changes, noticed) in [*((f"`{name}`", rows[name]) for name in sorted(rows)), ("together", both)]:
        lines.append(f"| {name} | {changes:,} | {noticed:,} | {changes - noticed:,} |")
    return "\n".join([*lines, ""])


def _table() -> str:
    return PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


def report(modules: list[str]) -> None:
    """Print what no test noticed, and how many were noticed, by module."""
    known = results()
    for module in modules:
        mine = [(one, known.get(one.name, "untried")) for one in mutants(module)]
        counted = Counter(outcome for _, outcome in mine)
        print(
            f"{module}: {counted.pop('killed', 0)} of {len(mine)} noticed"
            + (f", {dict(counted)}" if counted else "")
        )
        for mutant, outcome in mine:
            if outcome != "killed":
                print(f"  {outcome} {mutant.line}: {mutant.before}\n      -> {mutant.after}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
