"""What came of every attack, at every surface: written down as it is tried, and the table of docs/security.md.

A test says `tried(attack, surface, outcome)` with what it saw. `make attacks` gathers what all of them say and
writes the table; at any other time a test fails whose outcome is not the one that the page tells. A whole
run in CI fails where the page tells of what no test tried (`gathering`).
"""

import functools
import json
import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).resolve().parents[1]
PAGE = TESTS.parent / "docs" / "security.md"
BEGIN, END = "<!-- attacks: written by make attacks -->", "<!-- end of attacks -->"
GATHERED = "ATTACKS"
"""The variable that names the file in which outcomes are gathered."""

BETWEEN = " · "
SURFACES = ("CLI", "MCP", "HTTP", "web", "hook", "import", "sync", "store")


class Outcome(NamedTuple):
    """What came of an attack at a surface, and the file of the test that saw it."""

    attack: str
    surface: str
    outcome: str
    file: str


def tried(attack: str, surface: str, outcome: object) -> None:
    """Write down what came of an attack; where nothing is gathered, it must be what the page says."""
    assert surface in SURFACES
    _tried.append((attack, surface))
    said = str(outcome)
    if path := os.environ.get(GATHERED):
        file = os.environ["PYTEST_CURRENT_TEST"].partition("::")[0].removeprefix("tests/")
        with open(path, "a", encoding="utf-8") as gathered:
            gathered.write(json.dumps(Outcome(attack, surface, said, file)) + "\n")
    else:
        assert said in told().get((attack, surface), ()), f"the page does not tell of {said!r}: run make attacks"


_tried: list[tuple[str, str]] = []
"""What the test that is running tried until now."""


def drained() -> list[tuple[str, str]]:
    """What was tried since this was last asked."""
    done = list(dict.fromkeys(_tried))
    _tried.clear()
    return done


@functools.cache
def told() -> dict[tuple[str, str], frozenset[str]]:
    """What the page says came of each attack at each surface."""
    table = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| ")
    ]
    return {
        (row[0], surface): frozenset(re.sub(r" \(\d+\)$", "", one) for one in cell.split(BETWEEN))
        for row in rows[2:]  # behind the head and its line
        for surface, cell in zip(SURFACES, row[1:], strict=False)
        if cell
    }


def gathered(path: Path) -> list[Outcome]:
    """What the tests wrote down."""
    return [Outcome(*json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def table(outcomes: Iterable[Outcome]) -> str:
    """The table: a row for each attack, a column for each surface, and how often each outcome was seen."""
    known = sorted(outcomes, key=lambda one: (one.file, one.attack))
    rows = []
    for attack in dict.fromkeys(one.attack for one in known):
        mine = [one for one in known if one.attack == attack]
        cells = [_cell(one.outcome for one in mine if one.surface == surface) for surface in SURFACES]
        files = ", ".join(f"`{file}`" for file in sorted({one.file for one in mine}))
        rows.append(f"| {attack} | {' | '.join(cells)} | {files} |".replace("|  |", "| |").replace("|  |", "| |"))
    head = f"| attack | {' | '.join(SURFACES)} | test |"
    return "\n".join([BEGIN, "", head, "| --- |" + " --- |" * (len(SURFACES) + 1), *rows, "", END])


def _cell(outcomes: Iterable[str]) -> str:
    return BETWEEN.join(f"{outcome} ({times})" for outcome, times in sorted(Counter(outcomes).items()))


def written(page: str, outcomes: Iterable[Outcome]) -> str:
    """The page with the table as it is now."""
    head, _, rest = page.partition(BEGIN)
    return head + table(outcomes) + rest.partition(END)[2]
