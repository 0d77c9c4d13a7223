"""How the tests of the page drive it: a real server on a real store, and Chromium before it."""

import http.client
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect, sync_playwright

import engram
from engram.service import Engram
from surfaces.mcp_clients import NODE, Served, serving

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / "docs" / "images"
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
WIDE, NARROW = {"width": 1400, "height": 900}, {"width": 400, "height": 800}
PATIENCE = 30_000
"""Milliseconds that a page may take for anything, and that something may take to come true."""

expect.set_options(timeout=PATIENCE)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser until the block ends; skips where none is installed."""
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        from debian import found
    finally:
        sys.path.pop(0)
    if not (path := found("chromium")):
        pytest.skip("Chromium is not installed: python tools/debian.py")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


class Site(NamedTuple):
    """A running server with its store, and browsers that come to it."""

    served: Served
    folder: Path
    browser: Browser
    requests: list[Request]

    @property
    def origin(self) -> str:
        """Where it is."""
        parts = urlsplit(self.served.url)
        return f"{parts.scheme}://{parts.netloc}"

    def busy(self) -> float:
        """Seconds that the server's processor has worked for it, whatever else the machine does."""
        parts = Path(f"/proc/{self.served.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self, agent: str = "") -> Engram:
        """The store itself, for this process; close it."""
        return engram.open(str(self.folder / "store.db"), agent=agent)

    def link(self) -> str:
        """A new link to the page."""
        answer = self.ask("POST", "/web/link", authorization=f"Bearer {self.served.token}")
        return self.origin + json.loads(answer[1])["path"]

    def ask(self, method: str, path: str, body: str = "", **headers: str) -> tuple[int, str, dict[str, str]]:
        """A bare request: status, body and headers of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=30)
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, {name.lower(): value for name, value in answer.getheaders()}

    def context(self, **how: Any) -> BrowserContext:
        """A browser of its own, with no cookie yet; every request it makes is noted."""
        made = self.browser.new_context(**{"viewport": WIDE, "reduced_motion": "reduce", **how})
        made.set_default_timeout(PATIENCE)
        made.on("request", lambda request: self.requests.append(request))  # noqa: PLW0108 - it marks what it calls
        return made

    def enter(self, path: str = "", **how: Any) -> Page:
        """A page of somebody who has come in by a link, at this path."""
        page = self.context(**how).new_page()
        page.goto(self.link())
        page.wait_for_url(lambda url: "/enter" not in url)
        if path:
            page.goto(self.origin + path)
        return page


@contextmanager
def site(folder: Path, browser: Browser, *words: str, **variables: str) -> Iterator[Site]:
    """A server on a new store in this folder until the block ends. No request of any browser may leave it."""
    with serving(folder, *words, **{"ENGRAM_EMBEDDER": "none", **variables}) as served:
        made = Site(served, folder, browser, [])
        yield made
        for context in browser.contexts:
            context.close()
        strays = {
            one.url for one in made.requests if not one.url.startswith((made.origin + "/", "data:", "about:"))
        }
        assert not strays, strays


def serious(page: Page) -> list[str]:
    """What axe finds wrong with a page, from serious on: rule, help and the first place."""
    script = NODE / "axe-core" / "axe.min.js"
    if not script.exists():
        pytest.skip("npm's programs are not installed: python tools/node.py")
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(script.read_text())  # not as a script of the page: its policy lets none in
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]} {one['nodes'][0]['failureSummary'][:300]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


def pictures(page: Page, name: str, folder: Path) -> None:
    """Look at a page light and dark, wide and narrow: axe finds nothing serious, nothing is wider than the screen.

    With PICTURES=write the screenshots go to docs/images as web-NAME-light-wide.png and so on.
    """
    home = PICTURES if os.environ.get("PICTURES") == "write" else folder
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        for width, size in (("wide", WIDE), ("narrow", NARROW)):
            page.set_viewport_size(size)
            page.evaluate("() => document.fonts.ready.then(() => scrollTo(0, 0))")
            page.screenshot(path=home / f"web-{name}-{theme}-{width}.png", animations="disabled", caret="hide")
            assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), (theme, width)
            assert serious(page) == [], (theme, width)
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    page.set_viewport_size(WIDE)
