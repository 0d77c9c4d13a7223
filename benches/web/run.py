"""What the page weighs, and when a reader sees something useful: in Chromium, before a store of 100,000 memories.

    python benches/web/run.py [--memories 100000] [--runs 5] [--write]

Weight is what the server sends for a page with an empty cache, and again with a full one. The first useful paint is
when the largest piece of content stands on the screen; a page is whole when the last part that follows by itself is
there, such as the check of the store on Health. All times count from the click. The server's own time is that of
its processor, with every part that follows: what a page costs, whatever else the machine does. What is counted or
checked once and then kept shows in the longest. `--write` puts the table into docs/benchmarks.md.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from playwright.sync_api import BrowserContext, Page

from common import DOCS, dated, machine, progress, table, write_between
from web.browsing import Site, chromium, site
from web.filling import fill

MANY, WAITING, RUNS = 100_000, 2_000, 5
PATIENCE = 300_000
"""Milliseconds that the whole of a page may take: the check of the store reads all of it."""

PAINTED = """() => new Promise(done => {
  const paints = performance.getEntriesByType('paint');
  const asked = performance.getEntriesByType('resource').filter(each => each.initiatorType === 'fetch');
  const told = {
    first: paints.find(each => each.name === 'first-contentful-paint')?.startTime,
    whole: Math.max(0, ...asked.map(each => each.responseEnd)),
  };
  new PerformanceObserver(list => done({...told, useful: list.getEntries().at(-1).startTime}))
    .observe({type: 'largest-contentful-paint', buffered: true});
})"""


def main() -> None:
    """Measure every page, print the table, and keep it."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--memories", type=int, default=MANY, help=f"memories in the store ({MANY:,})")
    options.add_argument("--runs", type=int, default=RUNS, help=f"looks at each page ({RUNS})")
    options.add_argument("--write", action="store_true", help="also write docs/benchmarks.md")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        fill(Path(folder) / "store.db", asked.memories, min(WAITING, asked.memories // 10))
        with site(Path(folder), browser) as here:
            pages = paths(here)
            rows = [measure(here, name, path, asked.runs) for name, path in progress(pages, "pages")]
    heads = (
        *("page", "KB, first look", "KB, later", "requests", "first paint ms", "useful paint ms", "whole ms"),
        *("server ms", "longest"),
    )
    fields = ("page", "first", "later", "requests", "paint", "useful", "whole", "server", "longest")
    text = table(heads, [[row[field] for field in fields] for row in rows])
    print(f"\n{asked.memories:,} memories\n\n{text}")
    dated("web", {"machine": machine(), "memories": asked.memories, "runs": asked.runs, "pages": rows})
    if asked.write:
        said = f"{asked.memories:,} memories; the median of {asked.runs} looks."
        write_between(DOCS / "benchmarks.md", "web", f"{said}\n\n{text}")


def paths(here: Site) -> list[tuple[str, str]]:
    """Every page that the navigation names, and that of one memory."""
    page = here.enter("/web/history")
    tabs = page.locator("nav a").evaluate_all("all => all.map(a => [a.firstChild.textContent.trim(), a.pathname])")
    page.context.close()
    return [*((str(name), str(path)) for name, path in tabs), ("A memory", "/web/memory/mem-5000")]


def measure(here: Site, name: str, path: str, runs: int) -> dict[str, Any]:
    """One page: its weight with an empty cache and a full one, and when it is painted."""
    first, later, paints, worked = [], [], [], []
    for _ in range(runs):
        context = here.context()
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(here.link())  # this loads files too, so the cache is emptied before the look that counts
        page.wait_for_load_state("networkidle")
        for looks, empty in ((first, True), (later, False)):
            began = here.busy()
            looks.append(weighed(context, page, here.origin + path, empty=empty))
            worked.append((here.busy() - began) * 1000)
        paints.append(page.evaluate(PAINTED))
        context.close()
    return {
        "page": name,
        "first": round(median(size for size, _ in first) / 1024),
        "later": round(median(size for size, _ in later) / 1024),
        "requests": int(median(count for _, count in first)),
        "paint": round(median(one["first"] for one in paints)),
        "useful": round(median(one["useful"] for one in paints)),
        "whole": round(max(median(one["whole"] for one in paints), median(one["useful"] for one in paints))),
        "server": round(median(worked)),
        "longest": round(max(worked)),
    }


def weighed(context: BrowserContext, page: Page, url: str, *, empty: bool) -> tuple[int, int]:
    """Bytes that came over the wire for a page, and in how many answers."""
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    if empty:
        session.send("Network.clearBrowserCache")
    sizes: list[int] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(int(event["encodedDataLength"])))
    page.goto(url)
    page.wait_for_load_state("networkidle")
    session.detach()
    came = [size for size in sizes if size]
    return sum(came), len(came)


if __name__ == "__main__":
    main()
