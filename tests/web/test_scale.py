"""The page before a store of 100,000 memories: every answer is a page by cursor, and none takes long."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from web.browsing import Site, site
from web.filling import fill

MANY, WAITING = 100_000, 2_000
SECONDS = 1.0
"""Of the server's processor: more than any page needs, and less than to list everything."""

BYTES = 400_000


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("many")
    fill(folder / "store.db", MANY, WAITING)
    with site(folder, browser) as one:
        yield one


@pytest.fixture(scope="module")
def page(here: Site) -> Page:
    one = here.enter()
    one.context.set_default_timeout(60_000)  # a slow machine fails by the clock below, not by this one
    return one


def test_a_large_inbox_goes_on_by_cursor_and_decides_at_once(here: Site, page: Page):
    page.goto(f"{here.origin}/web/inbox")
    cards = page.locator("article.candidate")
    expect(cards).to_have_count(20)
    expect(page.get_by_role("link", name="Inbox")).to_contain_text("99+")
    page.get_by_role("link", name="More that waits").click()
    expect(cards).to_have_count(40)
    handle = cards.first.locator(".handle").inner_text()
    began = here.busy()
    page.keyboard.press("a")
    page.get_by_role("button", name="Yes, I confirm it").click()
    expect(page.get_by_role("status")).to_contain_text(f"Approved {handle}")

    assert here.busy() - began < SECONDS
    expect(cards).to_have_count(39)


@pytest.mark.parametrize(
    "path",
    [
        "/web/inbox",
        "/web/inbox/count",
        "/web/conflicts",
        "/web/conflicts/mem-0001~mem-99990",
        "/web/history",
        "/web/memory/mem-0001",
        "/web/memory/mem-99990",
        "/web/search",
        "/web/search?q=database",
        "/web/timeline",
        "/web/graph?question=project&subject=global",
        "/web/files",
        "/web/next",
        "/web/scopes",
        "/web/stats",
        "/web/health",  # last, for its check goes on when the page is there
    ],
)
def test_a_page_of_a_large_store_is_short_and_quick(here: Site, page: Page, path: str):
    began = here.busy()
    answer = page.goto(here.origin + path)
    took = here.busy() - began
    assert answer

    assert answer.status == 200
    assert len(answer.body()) < BYTES
    assert took < SECONDS, took
