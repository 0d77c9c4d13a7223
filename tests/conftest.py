"""What every test shares: how Hypothesis behaves, whose asserts explain themselves, no skipping in CI, a cache."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from attacks.gathering import Gathering, carried

pytest.register_assert_rewrite("engines.laws", "engines.stores")

# Whoever works on Engram itself does so on a branch, where what is remembered would be staged: tests that are about
# branches say so, and the others are the same on every branch.
os.environ.setdefault("ENGRAM_STAGING", "off")

# Disks and child processes are as slow as they are, and one law suite is run by several classes.
settings.register_profile("engram", deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile("engram")


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What is recalled here and in children that inherit the environment is counted in no cache of a person's."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


def pytest_configure(config: pytest.Config) -> None:
    """Look after the run as a whole, where all reports come together."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Gathering(config))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[None]:
    """On a bare laptop a test may skip with a word; where everything is installed, a skip is a hole."""
    report = carried((yield))
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail"):
        report.outcome, report.longrepr = "failed", f"Skipped, which CI does not allow: {report.longrepr}"
    return report
