"""The frame of every page: who is let in, what is refused, keys, themes, and history with its undo."""

import re
import subprocess
from collections.abc import Iterator
from http.cookies import SimpleCookie
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from surfaces.driving import child
from web.browsing import NARROW, Site, pictures, site


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("frame"), browser) as one:
        with one.memory() as memory:
            memory.remember("The staging database listens on port 5433", kind="infra", scope="project:acme")
            memory.remember("Never deploy on Fridays", kind="rule", scope="project:acme")
            memory.revise("mem-0001", text="The staging database listens on port 5434")
        yield one


def came_in(here: Site) -> tuple[str, str]:
    """The cookie of somebody who came in, and the token that their forms carry."""
    _, _, headers = here.ask("GET", here.link().removeprefix(here.origin))
    ((name, morsel),) = SimpleCookie(headers["set-cookie"]).items()
    cookie = f"{name}={morsel.value}"
    _, page, _ = here.ask("GET", "/web/history", cookie=cookie)
    return cookie, re.findall(r'name="csrf" value="([^"]+)"', page)[0]


# Coming in


def test_a_link_opens_the_page_once(here: Site):
    link = here.link()
    first, second = here.context().new_page(), here.context().new_page()
    first.goto(link)
    first.wait_for_url("**/web/*")
    second.goto(link)

    expect(first.get_by_role("navigation", name="Pages")).to_be_visible()
    expect(second.get_by_role("heading")).to_have_text("This link was used already, or is too old.")
    expect(second.get_by_text("engram serve --link")).to_be_visible()


def test_without_a_link_nothing_is_shown(here: Site):
    status, page, _ = here.ask("GET", "/web/history")

    assert status == 401
    assert "5433" not in page
    assert f"engram serve --link --port {urlsplit(here.origin).port}" in page


def test_a_browser_is_led_from_the_address_to_the_page(here: Site):
    page = here.enter("/")

    expect(page).to_have_url(re.compile("/web/"))
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()


def test_the_cookie_is_strict_and_goes_to_the_page_alone(here: Site):
    _, _, headers = here.ask("GET", here.link().removeprefix(here.origin))
    ((name, cookie),) = SimpleCookie(headers["set-cookie"]).items()

    assert name == f"engram-{here.served.port}"
    assert (cookie["path"], cookie["samesite"], cookie["httponly"]) == ("/web", "strict", True)


@pytest.mark.parametrize("path", ["/v1/stats", "/mcp", "/metrics", "/web/link"])
def test_a_cookie_opens_nothing_but_the_page(here: Site, path: str):
    cookie, csrf = came_in(here)
    origin = here.origin

    assert here.ask("GET", path, cookie=cookie, origin=origin)[0] == 401
    assert here.ask("POST", path, f"csrf={csrf}", cookie=cookie, origin=origin)[0] == 401


def test_a_terminal_gets_a_new_link_from_the_server_that_runs(here: Site):
    done = child(here.folder, "serve", "--link", "--port", str(here.served.port), "--json")
    page = here.context().new_page()
    page.goto(done.json["page"])

    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    nobody = child(here.folder, "serve", "--link", "--port", "1")
    assert (nobody.code, "engram serve" in nobody.err) == (7, True)


# Forms


@pytest.mark.parametrize(
    ("origin", "csrf", "why"),
    [
        ("", True, "Forms of other pages"),
        ("http://evil.example", True, "Pages of other sites"),
        ("null", True, "Pages of other sites"),
        ("own", False, "not made by this page"),
    ],
    ids=["from nowhere", "from another site", "from a page that hides itself", "without the token"],
)
def test_a_form_of_another_page_is_refused(here: Site, origin: str, csrf: bool, why: str):
    cookie, token = came_in(here)
    headers = {"origin": here.origin if origin == "own" else origin} if origin else {}
    status, text, _ = here.ask(
        "POST", "/web/undo", f"event=1&csrf={token if csrf else 'wrong'}", cookie=cookie, **headers
    )

    assert status == 403
    assert why in text


def test_what_a_page_may_load_is_its_own_alone(here: Site):
    cookie, _ = came_in(here)
    _, page, headers = here.ask("GET", "/web/history", cookie=cookie)
    policy = headers["content-security-policy"]

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"<script(?! src=)|<style| style=| on[a-z]+=|https?://", page)
    assert headers["cache-control"] == "no-store"
    assert headers["x-content-type-options"] == "nosniff"


def test_files_of_the_page_are_kept_for_good_and_nothing_else_is_served(here: Site):
    cookie, _ = came_in(here)
    _, page, _ = here.ask("GET", "/web/history", cookie=cookie)
    addresses = re.findall(r'(?:src|href)="(/web/static/[^"]+)"', page)

    assert {address.partition("?")[0].rpartition("/")[2] for address in addresses} >= {
        "app.css",
        "app.js",
        "htmx.js",
    }
    for address in addresses:
        status, _, headers = here.ask("HEAD", address)
        assert (status, "immutable" in headers["cache-control"]) == (200, True)
    for path in (
        "/web/static/..%2fapp.py",
        "/web/static/%2e%2e/app.py",
        "/web/static/missing.js",
        "/web/../v1/stats",
    ):
        assert here.ask("GET", path)[0] in (401, 404)


# The frame itself


def test_history_takes_a_step_back_and_does_it_again(here: Site):
    page = here.enter("/web/history")
    step = page.get_by_role("article", name="Event 3")
    expect(step.locator("ins")).to_contain_text("5434")
    step.get_by_role("button", name="Undo").click()

    expect(page.get_by_role("status")).to_contain_text("Took back revise of mem-")
    expect(page.get_by_role("article", name="Event 3")).to_contain_text("(undone)")
    page.get_by_role("status").get_by_role("button", name="Do it again").click()
    expect(page.get_by_role("status")).to_contain_text("Took back undo")
    expect(page.get_by_role("article", name="Event 3")).not_to_contain_text("(undone)")


def test_a_step_says_which_memory_it_was_about_and_what_that_was_before(here: Site):
    with here.memory() as memory:
        memory.remember("The quota of the north wing is 40")
        held = memory.remember("The quota of the north wing is 60").memory
        memory.promote(held.id)
        kept = memory.remember("Chalk is kept in the cellar").memory
        memory.revise(kept.id, importance=9)
    page = here.enter("/web/history")
    weighed, _, approved = (page.get_by_role("article").nth(at) for at in range(3))
    expect(weighed.locator(".about")).to_have_text("Chalk is kept in the cellar")
    expect(weighed.locator("del")).to_have_text("5")
    expect(weighed.locator("ins")).to_have_text("9")
    expect(approved).to_contain_text("The quota of the north wing is 60")
    status = approved.locator("dt", has_text="status").locator("xpath=following-sibling::dd[1]")
    expect(status).to_have_text("pending → approved")
    expect(approved.get_by_role("strong")).to_have_text("approve")
    with here.memory() as memory:
        memory.undo(last=2)


def test_a_verdict_says_which_two_memories_it_was_about_and_a_session_its_name(tmp_path: Path, browser: Browser):
    with site(tmp_path, browser) as one:
        with one.memory() as memory:
            first, second = (memory.remember(f"The {name} gate is shut").memory.handle for name in ("old", "new"))
            memory.relate(first, second, "compatible", reason="they are two")
            memory.session_begin("night-shift")
        page = one.enter("/web/history")
        began, judged = page.get_by_role("article").nth(0), page.get_by_role("article").nth(1)
        expect(began).to_contain_text("night-shift")
        for handle in (first, second):
            expect(judged.get_by_role("link", name=handle)).to_be_visible()
        expect(judged).to_contain_text("compatible")
        expect(judged).to_contain_text("they are two")
        judged.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("article").first).to_contain_text("undo")
        for handle in (first, second):
            expect(page.get_by_role("article").first.get_by_role("link", name=handle)).to_be_visible()


def test_an_undo_that_cannot_be_says_why_and_what_to_do(here: Site):
    with here.memory() as memory:
        told = memory.remember("The gate is green", scope="project:acme")
    page = here.enter("/web/history")
    expect(page.get_by_role("article", name="Event 1", exact=True).get_by_role("button")).to_have_count(0)
    with here.memory() as memory:
        memory.revise(told.memory.id, text="The gate is blue")
    step = page.get_by_role("article", name=f"Event {told.event}", exact=True)
    step.get_by_role("button", name="Undo").click()

    expect(page.get_by_role("status")).to_contain_text("cannot be undone")
    expect(page.get_by_role("status").get_by_role("link")).to_have_attribute(
        "href", f"/web/memory/{told.memory.handle}"
    )


def test_without_scripts_a_form_still_works(here: Site):
    page = here.enter("/web/history", java_script_enabled=False)
    page.get_by_role("article", name="Event 2", exact=True).get_by_role("button", name="Undo").click()

    expect(page.get_by_role("status").first).to_contain_text("Took back remember")
    page.get_by_role("status").first.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status").first).to_contain_text("Took back undo")


def test_a_question_mark_shows_the_keys_and_letters_can_be_switched_off(here: Site):
    page = here.enter("/web/history")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")

    expect(dialog).to_be_visible()
    expect(dialog).to_contain_text("Next")
    expect(dialog).to_contain_text("History")
    dialog.get_by_role("checkbox").uncheck()
    dialog.get_by_role("button", name="Close").click()
    page.keyboard.press("j")
    expect(page.locator("[data-item].current")).to_have_attribute("aria-label", re.compile("^Event"))
    assert page.evaluate("() => document.activeElement.matches('[data-item]')") is False


COMES_ANEW_WHILE_ANOTHER_PART_DOES = """line => {
  const list = line.parentElement;
  const swap = (target) => ({bubbles: true, detail: {ctx: {target}}});
  const tell = (name, target) => target.dispatchEvent(new CustomEvent(name, swap(target)));
  tell('htmx:before:swap', list);
  tell('htmx:after:swap', document.body);
  line.classList.remove('current');
  list.innerHTML = list.innerHTML;
  tell('htmx:after:swap', list);
}"""


def test_whoever_stands_at_a_line_stands_there_when_the_list_comes_anew_beside_another_part(here: Site):
    page = here.enter("/web/next?scope=project:acme")
    line = page.locator(".brief-line", has_text="staging database")
    line.focus()
    expect(page.locator("[data-item].current")).to_contain_text("staging database")
    line.evaluate(COMES_ANEW_WHILE_ANOTHER_PART_DOES)

    expect(page.locator("[data-item].current")).to_contain_text("staging database")


def test_j_and_k_move_and_g_goes(here: Site):
    page = here.enter("/web/history")
    labels = page.locator("[data-item]").evaluate_all("all => all.map(each => each.getAttribute('aria-label'))")
    page.keyboard.press("j")
    expect(page.locator("[data-item].current")).to_have_attribute("aria-label", labels[1])
    page.keyboard.press("k")
    expect(page.locator("[data-item].current")).to_have_attribute("aria-label", labels[0])
    page.goto(f"{here.origin}/web/history?before=2")
    page.keyboard.type("gh")
    expect(page).to_have_url(f"{here.origin}/web/history")


@pytest.mark.parametrize("width", [1400, 1100, 900])
def test_every_page_is_named_in_sight_unless_the_screen_is_a_telephones(here: Site, width: int):
    page = here.enter("/web/history", viewport={"width": width, "height": 700})

    assert page.locator(".top nav").evaluate("row => row.scrollWidth <= row.clientWidth")
    page.set_viewport_size(NARROW)
    expect(page.get_by_role("link", name="History")).to_be_in_viewport()


def test_light_and_dark_follow_the_system_until_somebody_chooses(here: Site):
    page = here.enter("/web/history", color_scheme="dark")
    ground = "() => getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Light or dark").click()
    light = page.evaluate(ground)
    page.reload()

    assert dark != light
    assert page.evaluate(ground) == light


def test_the_first_tab_skips_to_the_content(here: Site):
    page = here.enter("/web/history")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()


def test_an_unknown_page_says_so(here: Site):
    page = here.enter("/web/nowhere")

    expect(page.get_by_role("heading")).to_have_text("There is no page /web/nowhere.")


def test_pictures_of_history(here: Site, tmp_path):
    pictures(here.enter("/web/history"), "history", tmp_path)


def test_the_page_stands_in_the_project_of_the_folder_it_was_started_in(tmp_path: Path, browser: Browser):
    for words in (["init", "-q"], ["remote", "add", "origin", "https://github.com/acme/api.git"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    with site(tmp_path, browser, HOME=str(tmp_path / "home")) as one:
        with one.memory() as memory:
            memory.remember("The api listens on 8080", scope="project:github.com/acme/api")
            memory.remember("The shop listens on 9090", scope="project:github.com/acme/shop")
        page = one.enter("/web/next")
        expect(page.locator("#brief")).to_contain_text("8080")
        expect(page.locator("#brief")).not_to_contain_text("9090")
        page.get_by_label("Project").fill("github.com/acme/shop")
        expect(page.locator("#scopes option")).not_to_have_count(0)
        page.get_by_role("button", name="Show").click()
        expect(page.locator("#brief")).to_contain_text("9090")
        page.goto(f"{one.origin}/web/graph?question=project")
        expect(page.get_by_role("main")).to_contain_text("8080")
        expect(page.get_by_role("main")).not_to_contain_text("9090")


def test_the_page_sees_what_holds_on_the_branch_of_the_folder_it_was_started_in(tmp_path: Path, browser: Browser):
    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], cwd=tmp_path, check=True
        )

    git("init", "-q", "-b", "main")
    git("remote", "add", "origin", "https://github.com/acme/api.git")
    git("commit", "-q", "--allow-empty", "-m", "Begin")
    with site(tmp_path, browser, HOME=str(tmp_path / "home")) as one:
        git("checkout", "-q", "-b", "fresh-cache")
        told = ["remember", "The cache is off here", "--kind", "gotcha"]
        assert child(tmp_path, *told, HOME=str(tmp_path / "home")).code == 0
        page = one.enter("/web/next")
        expect(page.locator("#brief")).to_contain_text("The cache is off here")
        said = child(tmp_path, "context", "--json", HOME=str(tmp_path / "home")).json
        assert page.locator("#brief-text").text_content() == said["text"]
        page.goto(f"{one.origin}/web/search?q=cache")
        expect(page.get_by_role("article")).to_contain_text("live")
        git("checkout", "-q", "main")
        page.goto(f"{one.origin}/web/next")
        expect(page.get_by_role("main")).not_to_contain_text("The cache is off here")
        page.goto(f"{one.origin}/web/search?q=cache")
        page.get_by_role("link", name="1 staged").click()
        expect(page.get_by_role("article")).to_contain_text("staged")
