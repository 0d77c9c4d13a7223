"""The page of one memory: all there is to know, undo to any point, and texts that mean harm shown harmlessly."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from surfaces.driving import child
from web.browsing import Site, pictures, site

PLACE = "project:acme"
EVIL = """<script>window.hurt = 1</script><img src=x onerror="window.hurt = 2"><svg onload=window.hurt=3>
<hx-partial hx-target="body">gone</hx-partial><b hx-get="/web/leave" hx-trigger="load">bold</b>
<style>*{display:none}</style>
[press](javascript:window.hurt=4) [data](data:text/html,hurt) ![picture](http://evil.example/p.png "t")
[good](https://example.org/a?b=1 "a title") <https://example.org/auto> [ref]

[ref]: http://evil.example "hidden words"
&lt;entity&gt; &#x202e; \u202edesrever\u202c zero\u200bwidth \U000e0041tag
שלום עולם مرحبا بالعالم 👩‍👩‍👧 🏳️‍🌈
```python hidden info
print("x")</code></pre><script>window.hurt = 5</script>
```
{{ 7 * 7 }} {% raw %}
"""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("memory"), browser, "--project", "acme") as one:
        yield one


def remembered(here: Site, text: str, **more: object) -> str:
    with here.memory() as memory:
        return memory.remember(text, **{"scope": PLACE, **more}).memory.handle  # type: ignore[arg-type]


def opened(here: Site, handle: str) -> Page:
    return here.enter(f"/web/memory/{handle}")


def test_a_memory_tells_everything_about_itself(here: Site):
    with here.memory("codex") as memory:
        memory.session_begin("s-7", agent="codex", scope=PLACE)
        before = memory.remember("The gateway is restarted by hand", scope=PLACE, session="s-7").memory.handle
        told = memory.remember(
            "The gateway reads **its routes** from a file",
            scope=PLACE,
            session="s-7",
            tag=["gateway"],
            key="gateway",
        ).memory
        after = memory.remember("The gateway has two replicas", scope=PLACE, session="s-7", tag=["gateway"])
        memory.relate(told.id, after.memory.id, "compatible", reason="both true")
    page = opened(here, told.handle)

    expect(page.get_by_role("heading", level=1)).to_have_text(told.handle)
    expect(page.locator(".said strong")).to_have_text("its routes")
    expect(page.get_by_role("region", name="Remembered around it, in its session")).to_contain_text(before)
    relations = page.get_by_role("region", name="Has to do with")
    expect(relations).to_contain_text("compatible")
    expect(relations).to_contain_text("tag gateway")
    page.get_by_text("As JSON").click()
    expect(page.get_by_role("region", name="Record")).to_contain_text('"key": "gateway"')
    expect(page.get_by_role("complementary")).to_contain_text("s-7")


def test_history_shows_each_change_and_goes_back_to_any_point(here: Site):
    handle = remembered(here, "The cache holds 10 entries")
    with here.memory() as memory:
        first = memory.history(handle).events[0].seq
        memory.revise(handle, text="The cache holds 20 entries")
        memory.revise(handle, text="The cache holds 30 entries", pinned=True)
        memory.verify(handle)
    page = opened(here, handle)
    expect(page.get_by_role("article", name=re.compile("Event"))).to_have_count(4)
    expect(page.locator(".step ins").filter(has_text="30")).to_be_visible()
    page.get_by_role("article", name=f"Event {first}", exact=True).get_by_role(
        "button", name="Back to here"
    ).click()

    expect(page.get_by_role("status")).to_contain_text(f"Took back verify, revise (2 times) of {handle}")
    expect(page.locator(".said")).to_have_text("The cache holds 10 entries")
    with here.memory() as memory:
        assert not memory.get(handle).memories[0].pinned
    page.keyboard.press("u")
    expect(page.locator(".said")).to_have_text("The cache holds 30 entries")
    page.keyboard.press("u")
    expect(page.locator("#toasts")).to_contain_text("Nothing was decided here")
    expect(page.locator(".said")).to_have_text("The cache holds 30 entries")


def test_attachments_are_named_and_downloaded_as_files_and_history_tells_of_them(here: Site, tmp_path: Path):
    handle = remembered(here, "The gauge is drawn")
    (tmp_path / "log.txt").write_text("x" * 172)
    with here.memory() as memory:
        memory.attach(handle, str(tmp_path / "log.txt"))
    page = opened(here, handle)
    expect(page.get_by_role("region", name=f"Attachments of {handle}")).to_contain_text("text/plain, 172 bytes")
    expect(page.locator(".edits")).to_contain_text(["attached log.txt (172 bytes)"])
    link = page.get_by_role("link", name="log.txt")
    got = page.request.get(f"{here.origin}{link.get_attribute('href')}")

    assert (got.status, got.text()) == (200, "x" * 172)
    assert got.headers["content-disposition"].startswith('attachment; filename="log.txt"')
    assert got.headers["x-content-type-options"] == "nosniff"
    assert here.ask("GET", str(link.get_attribute("href")))[0] in (303, 401, 403)


def test_keys_pin_verify_forget_and_undo(here: Site):
    handle = remembered(here, "The lighthouse is painted each spring")
    page = opened(here, handle)
    page.keyboard.press("p")
    expect(page.get_by_role("status")).to_contain_text(f"Pinned {handle}")
    page.wait_for_load_state("networkidle")  # the page has come anew: a key that is pressed meanwhile may be lost
    page.keyboard.press("v")
    expect(page.get_by_role("status")).to_contain_text(f"Verified {handle}")
    page.wait_for_load_state("networkidle")
    page.keyboard.press("x")
    expect(page.get_by_role("status")).to_contain_text(f"Forgot {handle}")
    expect(page.locator(".head .standing")).to_have_text("forgotten")
    page.keyboard.press("u")
    expect(page.locator(".head .standing")).to_have_text("live")


def test_what_a_tab_did_itself_is_no_reason_to_refuse_what_it_asks_next(here: Site):
    handle = remembered(here, "The foghorn sounds twice a minute")
    page = opened(here, handle)
    page.route("**/web/memory/*", lambda route: route.abort())  # the page does not come anew in time
    page.keyboard.press("p")
    expect(page.locator("#toasts")).to_contain_text(f"Pinned {handle}")
    page.keyboard.press("v")
    expect(page.locator("#toasts")).to_contain_text(f"Verified {handle}")


def test_a_memory_says_who_reads_it_and_its_owner_shares_it_unless_somebody_was_faster(here: Site):
    handle = remembered(here, "The crane lifts nine tonnes", kind="rule")
    with here.memory("codex") as memory:
        waiting = memory.remember("The crane is oiled on Mondays", kind="rule", scope=PLACE).memory
    page, other = opened(here, handle), opened(here, handle)
    reach = page.get_by_role("region", name="Facts").locator("dt:text-is('Reach') + dd")
    expect(reach).to_have_text("private")
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_role("status")).to_contain_text(f"Shared {handle}.")
    expect(reach).to_have_text(f"shared with whoever reads {PLACE}")
    other.get_by_role("button", name="Share").click()
    expect(other.get_by_role("status")).to_contain_text("revision")
    page.get_by_role("button", name="Make private").click()
    expect(page.get_by_role("status")).to_contain_text(f"Made private: {handle}.")
    expect(reach).to_have_text("private")
    page.goto(f"{here.origin}/web/memory/{waiting.handle}")
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_role("status")).to_contain_text(f"Shared {waiting.handle}.")

    with here.memory() as memory:
        shared = memory.get(waiting.handle).memories[0]
        assert (shared.visibility, shared.status, shared.approved_by) == ("shared", "pending", waiting.approved_by)
        assert memory.get(handle).memories[0].visibility == "private"


def test_other_words_are_kept_unless_somebody_was_faster(here: Site):
    handle = remembered(here, "The harbour opens at six")
    page, other = opened(here, handle), opened(here, handle)
    for tab, text in ((page, "The harbour opens at seven"), (other, "The harbour opens at eight")):
        tab.keyboard.press("e")
        tab.get_by_role("textbox", name="Text, as it will be kept").fill(text)
        tab.get_by_role("button", name="Save").click()

    expect(page.locator(".said")).to_have_text("The harbour opens at seven")
    expect(other.get_by_role("status")).to_contain_text("revision")
    with here.memory() as memory:
        assert memory.get(handle).memories[0].text == "The harbour opens at seven"


@pytest.mark.parametrize("act", ["It still holds", "Forget"])
def test_nothing_is_said_about_words_that_were_not_on_the_page(here: Site, act: str):
    handle = remembered(here, f"The crane lifts nine tons, said before {act}")
    page = opened(here, handle)
    with here.memory() as memory:
        memory.revise(handle, text=f"The crane lifts five tons, said before {act}")
    page.get_by_role("button", name=act).click()

    expect(page.get_by_role("status")).to_contain_text("revision")
    with here.memory() as memory:
        found = memory.get(handle).memories[0]
        assert (found.verified_at, found.forgotten_at) == (None, None)


def test_letters_typed_while_editing_go_into_the_field_and_nowhere_else(here: Site):
    handle = remembered(here, "The ferry leaves at nine")
    page = opened(here, handle)
    field = page.get_by_role("textbox", name="Text, as it will be kept")
    page.keyboard.press("e")
    expect(field).to_be_focused()
    field.evaluate("field => field.blur()")
    page.keyboard.type("pxv")
    expect(field).to_be_focused()
    page.wait_for_timeout(200)
    with here.memory() as memory:
        assert [event.action for event in memory.history(handle).events] == ["remember"]
    save, cancel = (page.get_by_role("button", name=name) for name in ("Save", "Cancel"))
    below = field.bounding_box()
    for button in (save, cancel):
        box = button.bounding_box()
        assert box is not None
        assert below is not None
        assert box["y"] >= below["y"] + below["height"]
    page.keyboard.press("Escape")
    expect(field).to_be_hidden()
    page.keyboard.press("e")
    expect(field).to_have_value("The ferry leaves at nine")
    cancel.click()
    expect(field).to_be_hidden()
    page.keyboard.press("p")
    expect(page.get_by_role("status")).to_contain_text(f"Pinned {handle}")


@pytest.mark.parametrize("width", [400, 1400])
def test_a_word_goes_by_itself_covers_no_button_and_only_the_last_offers_undo(here: Site, width: int):
    handle = remembered(here, f"The mill turns at {width}")
    page = here.context(viewport={"width": width, "height": 420}).new_page()
    page.clock.install()
    page.goto(here.link())
    page.wait_for_url(lambda url: "/enter" not in url)
    page.goto(f"{here.origin}/web/memory/{handle}")
    for key, said, revision in (("p", "Pinned", 2), ("v", "Verified", 3), ("p", "Unpinned", 4)):
        page.keyboard.press(key)
        expect(page.locator(".toast").last).to_contain_text(said)
        expect(page.locator(".head")).to_contain_text(f"revision {revision}")
    expect(page.locator(".toast")).to_have_count(1)
    expect(page.locator(".toast [data-undo]")).to_have_count(1)
    covered = """() => {
      const toast = document.querySelector('.toast').getBoundingClientRect();
      const actions = document.querySelector('.actions').getBoundingClientRect();
      return actions.bottom > toast.top && actions.top < toast.bottom;
    }"""
    assert not page.evaluate(covered)
    page.locator(".toast").hover()
    page.clock.run_for(8_100)
    expect(page.locator(".toast")).to_have_count(1)
    page.mouse.move(0, 0)
    page.clock.run_for(8_100)
    expect(page.locator(".toast")).to_have_count(0)


@pytest.mark.parametrize("path", ["/web/memory/{}", "/web/inbox", "/web/history"])
def test_a_text_that_means_harm_is_shown_and_does_nothing(here: Site, path: str):
    handle = remembered(here, f"{EVIL} {path}", kind="rule")
    errors: list[str] = []
    page = here.enter()
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(here.origin + path.format(handle))
    page.wait_for_timeout(200)
    shown = page.locator("main").inner_text()

    assert page.evaluate("() => window.hurt") is None
    assert errors == []
    for text in ("<script>window.hurt = 1</script>", "onerror=", "<hx-partial", "U+202E", "U+200B", "U+E0041",
                 "{{ 7 * 7 }}", "👩‍👩‍👧", "שלום", "hidden words", "hidden info", "&#x202e;"):  # fmt: skip
        assert text in shown, text
    assert page.locator("main img, main svg, main script, main style, main iframe").count() == 0
    links = page.locator("main .prose a").evaluate_all("all => all.map(each => [each.href, each.rel])")
    assert {href for href, _ in links} <= {
        "https://example.org/a?b=1",
        "https://example.org/auto",
        "http://evil.example/p.png",
    }
    assert all("noopener" in rel for _, rel in links)


def test_a_link_says_where_it_leads(here: Site):
    handle = remembered(here, 'Read [the manual](https://example.org/manual "with care") first')
    page = opened(here, handle)

    expect(page.locator(".said")).to_have_text('Read the manual (https://example.org/manual "with care") first')


def test_a_very_long_text_is_shown_in_time(here: Site):
    handle = remembered(here, "All work and no play. " * 2_000)
    page = opened(here, handle)

    expect(page.locator(".said")).to_contain_text("All work")
    expect(page.locator(".said pre.as-stored")).to_be_visible()


def test_a_memory_that_is_not_there_is_an_error_with_a_next_step(here: Site):
    page = opened(here, "mem-9999")

    expect(page.get_by_role("heading", level=1)).to_have_text("There is no memory 'mem-9999'.")
    expect(page.get_by_role("alert")).to_contain_text("Code: not_found")


def test_pictures_of_a_memory(here: Site, tmp_path: Path):
    code = here.folder / "src" / "queue.py"
    code.parent.mkdir(exist_ok=True)
    code.write_text("def drain(queue):\n    while queue:\n        yield queue.pop()\n")
    for words in (["init", "-q", "-b", "main"], ["add", "."]):
        subprocess.run(["git", *words], cwd=here.folder, check=True)
    done = child(
        here.folder, "remember", "`drain()` empties the queue **from its end**: the newest goes first", "--kind",
        "finding", "--cite", "src/queue.py:1-3", "--tag", "queue", "--json", ENGRAM_PROJECT="acme",
    )  # fmt: skip
    handle = done.json["memory"]["handle"]
    remembered(here, "The queue is drained at midnight", tag=["queue"])
    with here.memory() as memory:
        memory.revise(handle, text="`drain()` empties the queue **from its end**: the newest job goes first")
        memory.verify(handle)
    page = opened(here, handle)
    expect(page.get_by_role("region", name="Has to do with").get_by_role("listitem").first).to_be_visible()
    pictures(page, "memory", tmp_path)
