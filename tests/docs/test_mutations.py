"""The page of mutations counts the changes that there are today, of every module of the rules."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "mutations.md"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("engram_mutate_tool", ROOT / "tools" / "mutate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_counts_every_change_that_there_is(tool: ModuleType):
    assert tool.stale() == [], "Run: make mutate WORDS=--stale"


def test_the_table_is_as_the_tool_writes_it(tool: ModuleType):
    assert tool.table(tool.told()) in PAGE.read_text(encoding="utf-8")


def test_modules_in_which_nothing_can_be_changed_are_named(tool: ModuleType):
    words, counted = set(re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8"))), tool.told()
    modules = {path.stem for path in (ROOT / "src" / "engram" / "rules").glob("[!_]*.py")}

    assert modules - counted.keys() <= words


def test_each_module_of_the_rules_has_tests_of_its_own(tool: ModuleType):
    assert [name for name in tool.told() if tool.own_tests(name) == list(tool.TESTS)] == []
