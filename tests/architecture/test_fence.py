"""The import fence: who may import whom, what stays pure, and what every module owes its reader."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

SRC = Path(__file__).resolve().parents[2] / "src"
FILES = sorted((SRC / "engram").rglob("*.py"))

MAY_IMPORT: dict[str, tuple[set[str], str]] = {
    "errors": (set(), "errors stand below everything"),
    "model": ({"errors"}, "nouns know errors only"),
    "transport": ({"errors"}, "the one way to a server, which knows nothing of what it carries"),
    "drafts": (set(), "the one way to put a file in its place whole, whatever is in it"),
    "layout": (
        set(),
        "the names of what lies at a place, which whoever starts must know before anything is loaded",
    ),
    "arrays": (set(), "the one way to numpy, for whoever may use it"),
    "usage": ({"drafts"}, "counts beside the store, which know nothing of what they count"),
    "rules": ({"errors", "model"}, "rules are pure functions over nouns"),
    "ports": ({"model"}, "ports say what the core asks of the world, in its own nouns"),
    "recall": ({"errors", "model", "rules", "ports"}, "recall speaks to engines and embedders through ports"),
    "operations": (
        {"errors", "drafts", "model", "rules", "recall", "ports", "evidence", "interop", "sync"},
        "operations know neither engines nor surfaces",
    ),
    "engines": (
        {"errors", "drafts", "layout", "arrays", "model", "ports"},
        "engines apply Changes: no rule lives in them, and none knows another",
    ),
    "indexes": ({"errors", "model", "ports"}, "indexes propose candidates and nothing else"),
    "inference": ({"errors", "drafts", "arrays", "model", "transport"}, "a helper of the core, wired from outside"),
    "evidence": ({"errors", "drafts", "model"}, "a helper of the core, wired from outside"),
    "sync": ({"errors", "drafts", "model", "transport"}, "a helper of the core, wired from outside"),
    "interop": ({"errors", "drafts", "model", "transport"}, "a helper of the core, wired from outside"),
    "projects": ({"errors", "drafts", "model"}, "a helper of the core, wired from outside"),
    "config": ({"errors", "layout"}, "the settings table stands alone"),
    "follower": ({"model", "recall", "ports"}, "vectors follow beside the caller, by what recall says is lacking"),
    "service": (
        {"errors", "model", "rules", "recall", "ports", "operations", "follower"},
        "the service binds one caller to one engine it was given",
    ),
    "surfaces": (
        {"errors", "drafts", "model", "service", "operations", "interop", "projects"},
        "doors make no decisions about memories",
    ),
    "__main__": ({"surfaces"}, "python -m engram is the command"),
    "face": ({"errors", "model", "service", "wiring"}, "the public face names things and makes none"),
}
"""Layer → what of ours it may import beside itself, and why. `wiring` is absent: it may import everything."""

DOORS = {
    "engram.surfaces.cli": {"wiring", "config", "face"},
    "engram.surfaces.mcp.holding": {"wiring"},
    "engram.surfaces.mcp.server": {"face"},
    "engram.surfaces.http.openapi": {"face"},
    "engram.surfaces.server.serve": {"config", "wiring"},
    "engram.surfaces.server.apps": {"face", "wiring"},
    "engram.surfaces.commands.login": {"config"},
    "engram.surfaces.tui.command": {"wiring"},
    "engram.surfaces.commands.hook": {"wiring", "config", "recall"},
    "engram.surfaces.commands.settings": {"wiring", "config"},
    "engram.surfaces.commands.setup": {"wiring", "config"},
    "engram.surfaces.commands.welcome": {"wiring", "config"},
    "engram.surfaces.commands.views": {"wiring", "config"},
    "engram.surfaces.commands.migrate": {"wiring"},
    "engram.surfaces.commands.completion": {"wiring"},
    "engram.surfaces.commands.init": {"wiring", "config"},
    "engram.surfaces.commands.journal": {"config"},
}
"""The doors that start a process must ask wiring for an Engram, or the settings where things lie; no others may."""

PURE = {"model", "rules", "recall", "ports", "errors"}
"""Layers without I/O, clock or chance."""

QUIET_MODULES = {
    "base64", "binascii", "bisect", "collections", "contextlib", "copy", "dataclasses", "datetime", "difflib",
    "enum", "functools", "hashlib", "hmac", "itertools", "json", "math", "operator", "re", "string", "struct",
    "textwrap", "types", "typing", "unicodedata",
    "_sha2", "_sha256",  # what hashlib is made of, without what it loads beside
}  # fmt: skip
"""The standard modules that neither look at the world nor change it: all that a pure layer may use."""

LOUD_CALLS = {"open", "input", "print", "exec", "eval", "__import__", "breakpoint"}
CLOCK_CALLS = {"now", "utcnow", "today"}

THIRD_PARTY = {
    "apsw": ("engram.engines.sqlite",),
    "psycopg": ("engram.engines.postgres",),
    "psycopg_pool": ("engram.engines.postgres",),
    "qdrant_client": ("engram.indexes.qdrant",),
    "numpy": ("engram.arrays",),
    "onnxruntime": ("engram.inference.embed",),
    "tokenizers": ("engram.inference.embed",),
    "mcp": ("engram.surfaces.mcp", "engram.surfaces.server.apps"),
    "textual": ("engram.surfaces.tui",),
    "rich": ("engram.surfaces.tui",),
    "mcp_types": ("engram.surfaces.mcp",),
    "pydantic": ("engram.surfaces.schemas",),
    "yaml": ("engram.model.scalars", "engram.interop.peers.notes"),
    "anyio": (
        "engram.surfaces.mcp",
        "engram.surfaces.http",
        "engram.surfaces.server.team",
        "engram.surfaces.web",
    ),
    "jwt": ("engram.surfaces.server.issuer",),
    "starlette": (
        "engram.surfaces.server.apps",
        "engram.surfaces.server.patience",
        "engram.surfaces.http",
        "engram.surfaces.web",
    ),
    "jinja2": ("engram.surfaces.web",),
    "markdown_it": ("engram.surfaces.web",),
    "markupsafe": ("engram.surfaces.web",),
    "cryptography": ("engram.sync.keys",),
    "uvicorn": ("engram.surfaces.server.serve", "engram.surfaces.server.patience"),
}
"""Foreign library → the only modules (by beginning of the name) that may import it."""

SHARED = {"where", "rows", "audit", "chain", "folders", "holders", "groups", "pieces", "salvage"}
"""What every engine may use: filters, rows, groups of terms, tampering, history that goes on, folders that last,
who has a file open, pieces of what was erased, and what is read of damaged stores."""

LONGEST_FUNCTION = 60
MARK = re.compile(r"#.*noqa: [A-Z0-9, ]*PLC0415.* - \w+")


class Import(NamedTuple):
    """One imported module, where, and whether it stands at the top of its file."""

    target: str
    line: int
    top: bool


def module_name(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


KNOWN = {module_name(path) for path in FILES}


def layer_of(module: str) -> str:
    """`engram.model.scope` → model; the package itself is the public face."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "face"


def engine_of(module: str) -> str:
    """All `sqlite*` modules are one engine, and so is a package."""
    name = module.split(".")[2] if module.count(".") > 1 else "engines"
    return next((each for each in ("sqlite", "postgres") if name.startswith(each)), name)


def imports(tree: ast.Module) -> Iterator[Import]:
    """Every import of a module, those inside functions included; those for type checkers count as well.

    A choice between two (`try: import …`) stands at the top as well, as long as no function is around it.
    """
    top = {id(node) for node in tree.body}
    for node in tree.body:
        if isinstance(node, ast.Try) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
            top |= {id(each) for each in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (Import(each.name, node.lineno, id(node) in top) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports name the whole path"
            for each in node.names:
                inner = f"{node.module}.{each.name}"
                yield Import(inner if inner in KNOWN else str(node.module), node.lineno, id(node) in top)


def trespasses(module: str, source: str) -> list[str]:
    """What a module does that its layer may not do, each with the reason."""
    tree = ast.parse(source)
    layer = layer_of(module)
    found = []
    for target, line, _ in imports(tree):
        if target.split(".")[0] == "engram":
            found += [f"{module}:{line} {fault}" for fault in _between(module, layer, target)]
        else:
            found += [f"{module}:{line} {fault}" for fault in _foreign(module, layer, target.split(".")[0])]
    if layer in PURE:
        found += [f"{module}:{line} {fault}" for line, fault in _loud(tree)]
    return found


def _between(module: str, layer: str, target: str) -> Iterator[str]:
    other = layer_of(target)
    if layer == "wiring":
        return
    if layer == other:
        shared = {engine_of(module), "engines", *SHARED}
        if layer == "engines" and engine_of(target) not in shared:
            yield f"imports {target}: engines must not know each other"
        return
    allowed, why = MAY_IMPORT[layer]
    if other not in allowed | DOORS.get(module, set()):
        yield f"imports {target}: {layer} may import {', '.join(sorted(allowed)) or 'nothing of ours'}; {why}"


def _foreign(module: str, layer: str, name: str) -> Iterator[str]:
    if name in sys.stdlib_module_names | QUIET_MODULES:
        if layer in PURE and name not in QUIET_MODULES:
            yield f"imports {name}: {layer} does no I/O and knows neither clock nor chance"
    elif not module.startswith(allowed := THIRD_PARTY.get(name, ())):
        yield f"imports {name}: only {' and '.join(allowed) or 'no module'} may"


def _loud(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Name) and node.func.id in LOUD_CALLS:
            yield node.lineno, f"calls {node.func.id}(): a pure layer does no I/O"
        if isinstance(node.func, ast.Attribute) and node.func.attr in CLOCK_CALLS:
            yield node.lineno, f"calls .{node.func.attr}(): the moment is given to a pure layer, never asked for"


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_a_module_imports_only_what_its_layer_may(path: Path):
    faults = trespasses(module_name(path), path.read_text(encoding="utf-8"))

    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_imports_stand_at_the_top_or_say_why_not(path: Path):
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    unmarked = [
        f"{module_name(path)}:{line} imports {target} late without a reason"
        for target, line, top in imports(ast.parse(source))
        if not top and not MARK.search(lines[line - 1])
    ]

    assert not unmarked, "\n".join(unmarked)


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_a_module_says_in_one_sentence_what_it_is(path: Path):
    said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    first = said.partition("\n\n")[0]

    assert first.endswith("."), f"{module_name(path)} begins with {first!r}"
    assert "\n" not in first, f"{module_name(path)}: the first sentence is one line of the tree"


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_a_function_fits_on_a_screen(path: Path):
    long = [
        f"{module_name(path)}:{node.lineno} {node.name} has {node.end_lineno - node.lineno + 1} lines"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno is not None
        and node.end_lineno - node.lineno + 1 > LONGEST_FUNCTION
    ]

    assert not long, "\n".join(long)


@pytest.mark.parametrize("path", FILES, ids=module_name)
def test_public_functions_and_classes_have_a_docstring(path: Path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = [
        f"{module_name(path)}:{node.lineno} {node.name}"
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]

    assert not bare, "\n".join(bare)


def test_what_opens_everybodys_keys_is_made_by_the_rules_of_keys_alone():
    users = {path.name for path in FILES if re.search(r"\bkeyring\b", path.read_text())}
    assert users == {
        "filter.py",
        "where.py",
        "qdrant.py",
        "keys.py",
    }  # its meaning, twice translated, and its maker
    assert "keyring" not in (SRC / "engram/operations/keys.py").read_text()


def test_what_lies_in_no_workspace_is_not_read_as_if_it_did():
    """Memories and sessions lie in a workspace; a verdict that is read with one is never found there."""
    wrong = [
        f"{module_name(path)}:{node.lineno} reads with the caller's workspace: use access_to"
        for path in FILES
        if layer_of(module_name(path)) == "operations"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "scan")
        if len(node.args) == 3 and isinstance(node.args[2], ast.Attribute) and node.args[2].attr == "access"
        if not (isinstance(node.args[0], ast.Constant) and node.args[0].value in ("memory", "session"))
    ]

    assert not wrong, "\n".join(wrong)


def test_what_a_summary_may_stand_for_is_decided_in_one_place():
    own_form = ("interop/records_rows.py", "interop/obsidian_folder.py")  # a foreign row, the name of a file
    not_shown = ("rules/suspicions.py", "operations/relations.py")  # what to compare and to search by
    pattern = re.compile(r"(\w+)\.summary or \1\.text")

    deciding = [
        str(path.relative_to(SRC / "engram"))
        for ending in ("py", "html")
        for path in (SRC / "engram").rglob(f"*.{ending}")
        if pattern.search(path.read_text(encoding="utf-8"))
    ]

    assert set(deciding) <= {*own_form, *not_shown}, "ask Memory.gist"


def test_every_layer_of_the_source_stands_in_the_table():
    assert {layer_of(module_name(path)) for path in FILES} <= {*MAY_IMPORT, "wiring"}


BREACHES = {
    "an engine that imports a rule": ("engram.engines.ram", "from engram.rules.undo import undo"),
    "an engine that imports another": ("engram.engines.ram", "from engram.engines.sqlite import SqliteEngine"),
    "an engine that imports another as a name": ("engram.engines.sqlite", "from engram.engines import ram"),
    "a shared module that imports an engine": ("engram.engines.where", "from engram.engines import sqlite_rows"),
    "an engine that imports an operation": ("engram.engines.ram", "import engram.operations.base"),
    "a rule that imports a port": ("engram.rules.undo", "from engram.ports import Engine"),
    "a rule that reads the disk": ("engram.rules.undo", "from pathlib import Path"),
    "a rule that opens a file": ("engram.rules.undo", "def f(path):\n    return open(path).read()"),
    "a rule that asks the clock": ("engram.rules.undo", "from datetime import datetime\nx = datetime.now()"),
    "a rule that imports the clock inside": ("engram.rules.undo", "def f():\n    import time"),
    "a rule that rolls dice": ("engram.rules.undo", "import random"),
    "a rule that makes ids": ("engram.rules.undo", "from uuid import uuid4"),
    "a noun that reads the environment": ("engram.model.scope", "import os"),
    "a noun that imports a rule": ("engram.model.scope", "from engram.rules import kinds"),
    "a noun that uses a driver": ("engram.model.scope", "import apsw"),
    "an error that imports a noun": ("engram.errors", "from engram.model.scope import Scope"),
    "a port that imports an engine": ("engram.ports", "from engram.engines.ram import RamEngine"),
    "a recall that imports an engine": ("engram.recall.lexical", "from engram.engines.where import where"),
    "an operation that imports an engine": ("engram.operations.base", "from engram.engines import ram"),
    "an operation that imports a surface": ("engram.operations.base", "from engram.surfaces import render"),
    "an operation that imports the wiring": ("engram.operations.base", "from engram.wiring import open"),
    "a surface that imports a rule": ("engram.surfaces.cli", "from engram.rules.kinds import KINDS"),
    "a surface that imports an engine": ("engram.surfaces.cli", "def f():\n    import engram.engines.sqlite"),
    "a renderer that opens a store": ("engram.surfaces.render", "from engram.wiring import open"),
    "a project that imports a rule": ("engram.projects.detect", "from engram.rules import kinds"),
    "a driver outside its engine": ("engram.operations.base", "import apsw"),
    "a library nobody agreed on": ("engram.config", "import yaml"),
}


@pytest.mark.parametrize("breach", BREACHES.values(), ids=BREACHES)
def test_the_fence_stops(breach: tuple[str, str]):
    assert len(trespasses(*breach)) == 1


def test_the_fence_lets_wiring_import_everything():
    source = "from engram.engines.ram import RamEngine\nfrom engram.rules import kinds\nimport os, time"

    assert trespasses("engram.wiring", source) == []


def test_a_late_import_needs_its_reason_beside_the_mark():
    assert MARK.search("    import json  # noqa: PLC0415 - start-up")
    assert not MARK.search("    import json  # noqa: PLC0415")
    assert not MARK.search("    import json")
