"""A browser for a file of tests: Playwright holds the thread's event loop, so it must be gone before others run."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from web.browsing import chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one
