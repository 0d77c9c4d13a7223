"""The table of attacks in docs/security.md: fresh, and every test it names is there."""

import ast
import os

import pytest

from attacks.ledger import ATTACKS, PAGE, TESTS, Attack, written


def test_the_table_of_the_page_is_what_the_suite_says():
    page = PAGE.read_text(encoding="utf-8")
    if os.environ.get("ATTACKS") == "write":
        PAGE.write_text(written(page), encoding="utf-8")
        page = PAGE.read_text(encoding="utf-8")
    assert page == written(page), "run: ATTACKS=write pytest tests/attacks/test_attacks_table.py"


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.test)
def test_every_attack_of_the_table_has_its_test(attack: Attack):
    tree = ast.parse((TESTS / attack.file).read_text(encoding="utf-8"))
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert attack.test in names
