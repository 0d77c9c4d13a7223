"""The table of attacks in docs/security.md, and the threat model: what they name was tried, and is there."""

import os
import re
import subprocess
import sys

import pytest

from attacks.ledger import BEGIN, END, PAGE, SURFACES, TESTS, Outcome, gathered, table, told


def test_the_page_has_what_came_of_attacks_at_every_surface():
    assert {surface for _, surface in told()} == set(SURFACES)
    assert len({attack for attack, _ in told()}) > 30


def test_every_test_that_the_table_names_writes_down_what_it_saw():
    shown = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    files = {part for line in shown.splitlines() for part in line.split("`")[1::2] if part.endswith(".py")}

    assert files
    assert {file for file in files if "tried(" not in (TESTS / file).read_text(encoding="utf-8")} == set()


def test_the_threat_model_has_every_attack_and_names_nothing_that_is_not_tested():
    page = (PAGE.parent / "threat-model.md").read_text(encoding="utf-8")
    lines = page.partition("## Threats, by boundary")[2].splitlines()
    rows = [line.split(" | ")[-1] for line in lines if line.startswith("| ")]
    attacks = {attack for row in rows for attack in re.findall(r"\*([^*]+)\*", row)}
    tests = [name.split("::") for row in rows for name in re.findall(r"`([^`]+)`", row)]

    assert attacks == {attack for attack, _ in told()}
    assert len(tests) > 20
    for file, name in tests:
        assert f"def {name}(" in (TESTS / file).read_text(encoding="utf-8"), f"{file} has no {name}"
    assert all(re.search(r"[`*]", row) for row in rows if row.strip(" |") not in {"shown by", "---"})


@pytest.mark.parametrize(
    ("whole", "code"), [(("-o", "testpaths=tests/test_arrays.py"), 1), (("tests/test_arrays.py",), 0)]
)
def test_a_whole_run_in_ci_fails_where_the_page_tells_of_what_no_test_tried(whole: tuple[str, ...], code: int):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *whole]
    said = {**os.environ, "CI": "1"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=TESTS.parent, env=said)

    assert done.returncode == code, done.stdout
    assert done.stdout.count("and no test tried it.") == (len(told()) if code else 0)


def test_outcomes_are_counted_and_told_apart(tmp_path):
    lines = [
        '["A trick", "MCP", "refused", "attacks/a.py"]',
        '["A trick", "MCP", "refused", "attacks/a.py"]',
        '["A trick", "web", "403", "web/b.py"]',
    ]
    (tmp_path / "gathered").write_text("\n".join(lines))
    rows = table(gathered(tmp_path / "gathered")).splitlines()

    assert rows[4] == "| A trick | | refused (2) | | 403 (1) | | | | | `attacks/a.py`, `web/b.py` |"
    assert "A trick" not in table([Outcome("Another", "CLI", "waits", "x.py")])
