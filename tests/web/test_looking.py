"""Pages to look around: search, timeline, graph, files, the next session, health and stats."""

import re
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

import engram
from engram.service import Engram
from surfaces.driving import COMMAND, environment
from web.browsing import NARROW, WIDE, Site, pictures, site

HARMFUL = "<script>alert(1)</script> **bold** \u202eevil العربية 🦊 staging"


THINGS = ("basket", "checkout", "catalogue", "search box", "invoice", "newsletter", "login form", "stock import")
DOES = (
    "is tested in the browser",
    "has its own queue",
    "keeps drafts for a while",
    "is cached at the edge",
    "shows prices with tax",
    "was written by the first team",
    "retries quietly when the network is gone",
)


class Clock:
    """Days pass as they are told to: what is remembered is of several weeks."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC) - timedelta(days=45)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    """A store with a bit of everything, of several weeks, and its page."""
    folder = tmp_path_factory.mktemp("looking")
    with site(folder, browser) as one:
        clock = Clock()
        with engram.open(str(folder / "store.db"), clock=clock) as memory:
            fill(memory, clock)
        settings = {"HOME": str(folder), "ENGRAM_EMBEDDER": "none"}
        with engram.open(str(folder / "store.db"), environment=settings) as memory:
            for question in ("deploy staging", "standup") * 6:
                memory.recall(question, scope="project:acme")
        yield one


def fill(memory: Engram, clock: Clock) -> None:
    """What a team might remember in six weeks."""
    place = {"scope": "project:acme", "session": "release-week"}
    for day in range(38):
        clock.now += timedelta(days=1)
        for number in range(day * 7 % 5):
            kind = ("decision", "gotcha", "convention", "preference")[(day + number) % 4]
            thing = THINGS[(day * 5 + number) % len(THINGS)]
            memory.remember(f"The {thing} {DOES[(day + number) % len(DOES)]}", kind=kind, scope="project:shop")
    agent, other = memory.for_agent("codex"), memory.for_agent("claude-code")
    memory.session_begin("release-week", agent="codex")
    for port in (5432, 5433, 5434):
        done = agent.remember(f"The port of the staging database is {port}", kind="infra", **place)
        if done.outcome == "held" and port == 5433:
            memory.promote(done.memory.id)
    memory.reject(agent.remember("The port of the staging database is 9", kind="infra", **place).memory.id)
    for year in (2025, 2026):
        other.remember(f"The certificate of the shop ends in {year}", scope="project:shop")
    memory.remember("Never deploy on Fridays", kind="rule", scope="project:acme")
    clock.now += timedelta(days=6)
    memory.remember("We deploy to staging after the standup", kind="convention", tag=["deploy"], **place)
    later = clock.now + timedelta(days=60)
    told = "Deploys are announced in the release channel"
    memory.remember(told, tag=["deploy"], scope="project:acme", valid_until=later)
    memory.remember("The API reads its port from api.py", cite=["api.py:1"], scope="project:acme")
    memory.remember(HARMFUL, scope="project:acme")
    memory.forget(memory.remember("We deploy to staging by hand", scope="project:acme").memory.id)


def hits(page: Page) -> list[str]:
    return page.locator("#found article .prose").all_inner_texts()


# Search


def test_hits_come_as_one_types_with_reasons_cost_and_what_was_held_back(here: Site):
    page = here.enter("/web/search")
    field = page.get_by_label("What do you want to know?")
    # The browser focuses the field when it first paints: a key before that would be typed into it.
    expect(field).to_be_focused()
    page.keyboard.press("Escape")
    expect(field).not_to_be_focused()
    page.keyboard.press("/")
    expect(field).to_be_focused()
    page.keyboard.type("staging database")
    hit = page.locator("#found article").first

    expect(hit).to_contain_text("5433")
    expect(hit.get_by_role("row", name=re.compile("^words"))).to_contain_text("+0.")
    expect(hit).to_contain_text("% relevant")
    expect(page.locator("#found")).to_contain_text("to read")
    expect(page.locator("#found")).to_contain_text("1 pending")
    expect(page).to_have_url(re.compile(r"q=staging\+database"))
    page.get_by_role("link", name="1 pending").click()
    expect(page.locator("#found")).to_contain_text("5434")


def test_what_was_held_back_is_shown_with_the_same_filters(here: Site):
    page = here.enter("/web/search?q=staging+database&scope=project:acme&kind=infra&origin=inferred")
    page.get_by_role("link", name="1 pending").click()
    expect(page.locator("#found")).to_contain_text("5434")
    expect(page.get_by_label("Kind")).to_have_value("infra")
    expect(page.get_by_label("Origin")).to_have_value("inferred")
    expect(page.get_by_role("combobox", name="Scope")).to_have_value("project:acme")
    expect(page.get_by_label("Standing")).to_have_value("pending")


@pytest.mark.parametrize("figures", [30, 5000])
@pytest.mark.parametrize(
    "path",
    [
        *("/web/search?age=", "/web/history?before=", "/web/memory/mem-0001?before=", "/web/graph?limit="),
        *("/web/next?budget=",),
    ],
)
def test_a_number_beyond_all_bounds_is_told_and_breaks_nothing(here: Site, path: str, figures: int):
    page = here.enter(path + "9" * figures)
    expect(page.get_by_role("alert")).to_contain_text("Choose one" if "age" in path else "Give a number")


@pytest.mark.parametrize("day", ["9999-12-31", "2026-02-30", "tomorrow"])
def test_a_day_that_is_none_is_told_and_breaks_nothing(here: Site, day: str):
    page = here.enter(f"/web/timeline?day={day}")
    expect(page.get_by_role("alert")).to_contain_text(f"{day!r} is not a day")


def test_filters_narrow_what_is_found(here: Site):
    page = here.enter("/web/search?q=deploy")
    expect(page.locator("#found article")).to_have_count(2)
    page.get_by_role("textbox", name="Tag").fill("deploy")
    page.get_by_label("Kind").select_option("convention")
    expect(page.locator("#found article")).to_have_count(1)
    page.get_by_label("Kind").select_option("any")
    page.get_by_role("textbox", name="Tag").fill("")
    page.get_by_label("Standing").select_option("forgotten")
    # What was asked in between may be answered first: until then there are others, and more than one.
    expect(page.locator("#found article", has_text="by hand")).to_be_visible()
    expect(page.locator("#found article")).to_have_count(1)
    page.get_by_label("Standing").select_option("live")
    page.get_by_label("Origin").select_option("inferred")
    expect(page.locator("#found")).to_contain_text("Nothing fits")


def test_who_made_it_on_which_branch_and_how_long_it_lasts_narrow_what_is_found(here: Site):
    page = here.enter("/web/search?scope=project:acme&standing=all")
    page.get_by_role("textbox", name="Agent").fill("codex")
    expect(page.locator("#found article", has_text="5434")).to_be_visible()
    expect(page.locator("#found article", has_text="standup")).to_have_count(0)
    page.get_by_role("textbox", name="Branch").fill("nowhere")
    expect(page.locator("#found")).to_contain_text("No memory passes these filters")
    page.goto(f"{here.origin}/web/search?scope=project:acme&ends=7")
    expect(page.locator("#found")).to_contain_text("No memory passes these filters")
    page.get_by_label("Ends").select_option("Within three months")
    expect(page.locator("#found article")).to_contain_text("announced in the release channel")


def test_what_was_never_used_is_shown_apart(here: Site):
    page = here.enter("/web/search?scope=project:acme")
    expect(page.locator("#found article", has_text="standup")).to_contain_text("used 12 times")
    page.get_by_label("Never used").check()
    expect(page.locator("#found article", has_text="standup")).to_have_count(0)
    expect(page.locator("#found article", has_text="api.py")).to_contain_text("never used")


def test_the_past_is_asked_by_its_day(here: Site):
    page = here.enter("/web/search?q=deploy")
    page.get_by_label("As of").fill("2020-01-31")
    expect(page.locator("#found")).to_contain_text("Nothing fits")
    page.get_by_label("As of").fill("2199-01-31")
    expect(page.locator("#found article").first).to_contain_text("deploy", ignore_case=True)
    page.get_by_label("What do you want to know?").fill("")
    expect(page.get_by_role("alert")).to_contain_text("as_of needs a question")


def test_a_view_is_saved_used_and_removed(here: Site):
    page = here.enter("/web/search")
    page.get_by_label("What do you want to know?").fill("deploy")
    page.get_by_role("textbox", name="Tag").fill("deploy")
    page.get_by_label("Name of the view").fill("Deploys")
    page.get_by_role("button", name="Save view").click()
    page.goto(f"{here.origin}/web/search")
    page.get_by_role("link", name="Deploys").click()

    expect(page.get_by_role("textbox", name="Tag")).to_have_value("deploy")
    expect(page.locator("#found article")).to_have_count(2)
    page.get_by_role("button", name="Remove the view Deploys").click()
    expect(page.get_by_role("link", name="Deploys")).to_have_count(0)


def test_filters_are_folded_away_on_a_narrow_screen_unless_one_is_set(here: Site):
    page = here.enter("/web/search?q=deploy", viewport=NARROW)
    scope = page.get_by_role("combobox", name="Scope")
    expect(scope).to_be_hidden()
    box = page.locator("#found article").first.bounding_box()
    assert box
    assert box["y"] < NARROW["height"] * 0.6
    page.locator("summary", has_text="Filters").click()
    expect(scope).to_be_visible()
    page.goto(f"{here.origin}/web/search?q=deploy&kind=convention")
    expect(scope).to_be_visible()
    page.goto(f"{here.origin}/web/search?q=deploy")
    expect(scope).to_be_hidden()
    page.set_viewport_size(WIDE)
    expect(scope).to_be_visible()


def test_a_hit_is_opened_by_its_key(here: Site):
    page = here.enter("/web/search?q=staging+database")
    page.locator("#found article").first.focus()
    page.keyboard.press("o")
    expect(page).to_have_url(re.compile("/web/memory/"))


def test_a_memory_full_of_marks_is_shown_harmlessly(here: Site):
    page = here.enter("/web/search?q=evil")
    hit = page.locator("#found article").first

    expect(hit).to_contain_text("<script>alert(1)</script>")
    expect(hit).to_contain_text("U+202E")
    expect(hit).to_contain_text("🦊")
    assert page.locator("#found script").count() == 0


def test_what_cannot_be_searched_is_told(here: Site):
    page = here.enter("/web/search?scope=Not%20a%20scope")
    expect(page.get_by_role("alert")).to_be_visible()


# Timeline


def test_the_timeline_tells_days_and_sessions(here: Site):
    page = here.enter("/web/timeline")
    session = page.get_by_role("region", name=re.compile("^release-week")).first

    expect(session).to_contain_text("codex")
    expect(session.get_by_role("listitem").first).to_be_visible()
    expect(session.locator(".scope").first).to_have_text("project:acme")
    page.locator("[data-item]").first.focus()
    page.keyboard.press("j")
    expect(page.locator("[data-item].current")).to_have_count(1)
    page.get_by_label("Up to the day").fill("2020-01-31")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("Nothing was remembered")).to_be_visible()


# Graph and files


def test_the_graph_answers_its_questions_in_a_picture_and_in_words(here: Site):
    page = here.enter("/web/graph?question=conflicts&subject=project:acme")
    expect(page.locator(".graph.wide a.node")).to_have_count(2)
    expect(page.locator(".in-words")).to_contain_text("5434")
    page.get_by_role("link", name="What replaced what?").click()
    expect(page.locator(".in-words")).to_contain_text("replaced by")
    page.locator(".graph.wide a.expand").first.click()
    expect(page).to_have_url(re.compile("question=chain&subject="))
    page.keyboard.press("4")
    expect(page).to_have_url(re.compile("question=project"))
    page.get_by_label(re.compile("^The project")).fill("project:acme")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".graph.wide .node.tag")).to_contain_text("deploy")


@pytest.mark.parametrize("question", ["chain", "project&subject=project:acme", "file&subject=api.py"])
def test_a_graph_of_few_columns_fits_its_frame_and_its_words_lead_on(here: Site, question: str):
    page = here.enter(f"/web/graph?question={question}")
    expect(page.locator(".graph.wide")).to_be_visible()
    drawing = "() => document.querySelector('.drawing')"
    assert page.evaluate(f"{drawing}.scrollWidth") <= page.evaluate(f"{drawing}.clientWidth")
    if question == "chain":
        page.locator(".in-words li", has_text="replaced by").locator("a").nth(1).click()
        expect(page).to_have_url(re.compile("/web/memory/"))


OUTSIDE = """() => [...document.querySelectorAll('.graph .node')].filter((node) => {
    const box = node.querySelector('.box').getBoundingClientRect();
    return document.elementsFromPoint(box.right + 6, box.top + 34).some((one) => one.closest('.node'));
}).length"""


def test_what_a_node_says_stays_within_it(tmp_path: Path, browser: Browser):
    with site(tmp_path, browser) as one:
        with one.memory() as memory:
            for text in ("W" * 300, "港" * 200, "🎉" * 100):
                memory.remember(f"{text} is long", scope="project:long")
        for viewport in (WIDE, NARROW):
            page = one.enter("/web/graph?question=project&subject=long", viewport=viewport)
            expect(page.locator(".graph:visible .node .node-text").first).to_be_visible()
            assert page.evaluate(OUTSIDE) == 0, viewport


def test_a_graph_is_capped_and_expands(here: Site):
    page = here.enter("/web/graph?question=project&subject=project:acme&limit=3")
    few = page.locator(".in-words li").count()
    page.get_by_role("link", name=re.compile("There is more")).click()
    expect(page.locator(".in-words li").nth(few)).to_be_visible()


def test_files_lead_to_who_cites_them(here: Site):
    page = here.enter("/web/files")
    row = page.locator(".file-row", has_text="api.py")

    expect(row).to_contain_text("The API reads its port")
    row.get_by_role("link", name="graph").click()
    expect(page.get_by_role("textbox", name=re.compile("^The file"))).to_have_value("api.py")
    expect(page.get_by_role("combobox", name="Scope")).to_have_value("project:acme")
    expect(page.locator(".in-words li")).to_contain_text("The API reads its port")


def test_files_name_their_repository_and_show_every_memory_with_its_verdict(
    tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    for words in (["init", "-q"], ["remote", "add", "origin", "https://github.com/acme/shop.git"]):
        subprocess.run(["git", *words], check=True)
    (tmp_path / "billing.py").write_text("rate = 7\nround = 2\n")
    with site(tmp_path, browser, HOME=str(tmp_path / "home")) as one:
        with one.memory() as memory:
            memory.remember("The rate is looked up once", cite=["billing.py:1"])
            for word in ("early", "late", "twice", "down", "half up", "by the cent"):
                memory.remember(f"Sums are rounded {word}", cite=["billing.py:2"])
            memory.remember("Sums of the web are whole", scope="project:github.com/acme/web", cite=["billing.py:2"])
        (one.folder / "billing.py").write_text("rate = 8\nround = 2\n")
        page = one.enter("/web/files")
        row = page.locator(".file-row", has_text="of github.com/acme/shop")

        expect(page.locator(".file-row", has_text="of github.com/acme/web")).to_contain_text("whole")
        expect(row.locator(".citing li").first).to_contain_text("drifted")
        expect(row.locator(".citing li").first).to_contain_text("The rate is looked up once")
        expect(row.locator(".citing li:visible")).to_have_count(5)
        row.get_by_text("and 2 more").click()
        expect(row.locator(".citing li:visible")).to_have_count(7)
        row.get_by_role("link", name="graph").click()
        expect(page.locator(".graph.wide .node.drifted")).to_contain_text("drifted")


# The next session


def test_the_next_session_is_told_byte_for_byte(here: Site):
    said = subprocess.run(
        [*COMMAND, "context"],
        capture_output=True,
        check=True,
        cwd=here.folder,
        env=environment(here.folder, ENGRAM_PROJECT="acme", ENGRAM_EMBEDDER="none"),
    ).stdout.decode()
    page = here.enter("/web/next?scope=project:acme")
    text = page.locator("#brief-text").text_content() or ""

    assert text.startswith("<engram-memory>")
    assert said.startswith(text + "\n")
    expect(page.get_by_label("Tokens used")).to_be_visible()


def test_pinning_reorders_and_keeping_out_is_undone(here: Site):
    page = here.enter("/web/next?scope=project:acme")
    line = page.locator(".brief-line", has_text="announced in the release channel")
    line.focus()
    page.keyboard.press("p")
    expect(page.get_by_role("status").last).to_contain_text("Pinned")
    expect(page.locator(".brief-line").first).to_contain_text("announced")
    page.locator(".brief-line", has_text="announced").get_by_role("button", name="Keep out").click()
    expect(page.get_by_role("heading", name="Kept out")).to_be_visible()
    expect(page.locator("#brief-text")).not_to_contain_text("announced")
    page.keyboard.press("u")
    expect(page.locator("#brief-text")).to_contain_text("announced")
    expect(page.get_by_role("heading", name="Kept out")).to_have_count(0)


def test_a_tab_that_is_behind_changes_nothing(here: Site):
    page = here.enter("/web/next?scope=project:acme")
    expect(page.locator(".brief-line").first).to_be_visible()
    with here.memory() as memory:
        memory.revise(memory.search("standup", everywhere=True).hits[0].memory.id, importance=7)
    page.locator(".brief-line", has_text="standup").get_by_role("button", name="More important").click()
    expect(page.get_by_role("status").last).to_contain_text("is at revision")


# Health and stats


def test_health_tells_that_the_store_is_whole_and_leads_on(here: Site):
    page = here.enter("/web/health")

    expect(page.get_by_role("heading", name="Whole")).to_be_visible()
    backup = page.get_by_role("region", name="Last backup")
    expect(backup).to_contain_text("None was made")
    backup.get_by_role("button", name="Make a backup").click()
    expect(page.locator("#toasts")).to_contain_text("A backup was made")
    expect(backup).to_contain_text("UTC")
    assert len(list((here.folder / "backups").glob("engram-*.zip"))) == 1
    page.get_by_role("region", name="Conflicts").get_by_role("button").click()
    expect(page.locator("#toasts")).to_contain_text("compared")
    page.get_by_role("link", name="Look at Never recalled").or_(
        page.get_by_role("link", name="Look at Waiting")
    ).first.click()
    expect(page).to_have_url(re.compile("/web/(search|inbox)"))


def test_stats_are_plotted_and_told(here: Site):
    page = here.enter("/web/stats")
    plots = page.locator("#plots")

    expect(plots.get_by_role("heading", name="Growth")).to_be_visible()
    expect(plots.locator("svg.chart")).to_have_count(6)
    page.get_by_role("region", name="What became of proposals").get_by_text("As a table").click()
    expect(page.get_by_role("row", name=re.compile("^codex")).first).to_contain_text("50%")


PLACES = {
    "search": "/web/search?q=staging+database",
    "timeline": "/web/timeline",
    "graph": "/web/graph?question=project&subject=project:acme",
    "files": "/web/files",
    "next": "/web/next?scope=project:acme",
    "health": "/web/health",
    "stats": "/web/stats",
}


@pytest.mark.parametrize("name", PLACES)
def test_pictures_of_looking_around(here: Site, name: str, tmp_path: Path):
    page = here.enter(PLACES[name])
    if name in ("health", "stats"):
        expect(page.get_by_text("…")).to_have_count(0)
    page.evaluate(
        "() => document.querySelectorAll('[data-fact=store]').forEach(one => one.textContent = 'engram.db')"
    )
    pictures(page, name, tmp_path)
