"""The table of attacks in docs/security.md: every surface is tried, and the tests that it names are there."""

from attacks.ledger import BEGIN, END, PAGE, SURFACES, TESTS, Outcome, gathered, table, told


def test_the_page_has_what_came_of_attacks_at_every_surface():
    assert {surface for _, surface in told()} == set(SURFACES)
    assert len({attack for attack, _ in told()}) > 30


def test_every_test_that_the_table_names_writes_down_what_it_saw():
    shown = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    files = {part for line in shown.splitlines() for part in line.split("`")[1::2] if part.endswith(".py")}

    assert files
    assert {file for file in files if "tried(" not in (TESTS / file).read_text(encoding="utf-8")} == set()


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
