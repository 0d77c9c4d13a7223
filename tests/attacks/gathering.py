"""A whole run of the suite in CI: whether every attack that the page tells of was tried, at its surface."""

import os
from typing import Any

import pytest

from attacks import ledger

ATTACK = "attack"
"""What a report calls an attack that was tried, on its way from the process that ran the test."""


class Gathering:
    """Of one run: what was tried, and in the end what was not. Where the run is shared, of all of its processes."""

    def __init__(self, config: pytest.Config) -> None:
        said = config.option
        narrowed = said.keyword or said.markexpr or said.deselect or said.maxfail or said.collectonly
        self._whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not narrowed
        self._tried: set[tuple[str, str]] = set()
        self._untried: list[tuple[str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what a test tried from its report."""
        self._tried |= {(value[0], value[1]) for name, value in report.user_properties if name == ATTACK}  # type: ignore[index] # as `carried` put it there

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Fail the run where a row of the page has no test any more: a skip fails in CI, so nothing is missing."""
        if os.environ.get("CI") and self._whole and not session.testsfailed:
            self._untried = sorted(ledger.told().keys() - self._tried)
        if self._untried:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name the rows."""
        for attack, surface in self._untried:
            terminalreporter.write_line(
                f"{attack} ({surface}): docs/security.md tells of it, and no test tried it."
            )


def carried(report: pytest.TestReport) -> pytest.TestReport:
    """The report of a test with what it tried."""
    if report.when == "call":
        report.user_properties += [(ATTACK, list(pair)) for pair in ledger.drained()]
    return report
