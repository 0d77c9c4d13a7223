"""Every flow of the page twice, by the keyboard alone and by the mouse alone, with the same end."""

import re
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from engram.service import Engram
from surfaces.driving import child
from web.browsing import Site, serious, site

PLACE = "project:acme"
WAYS = ("keys", "mouse")
GAUGE = """LOW = 1
HIGH = 9
STEP = 2
NAME = "gauge of the harbour"
"""


class Hands(NamedTuple):
    """Somebody at a page who uses one way only."""

    page: Page
    way: str

    def does(self, item: Locator, key: str, name: str) -> None:
        """Stand at an item and press its key, or press its button."""
        if self.way == "keys":
            item.focus()
            self.page.keyboard.press(key)
        else:
            item.get_by_role("button", name=name).or_(item.get_by_role("link", name=name)).first.click()

    def asks(self, key: str, name: str) -> None:
        """Press a key of the whole page, or what it stands for."""
        if self.way == "keys":
            self.page.keyboard.press(key)
        else:
            main = self.page.get_by_role("main")
            main.get_by_role("button", name=name).or_(main.get_by_role("link", name=name)).first.click()

    def sends(self, field: Locator, text: str, name: str) -> None:
        """Write into a field that has the focus, and send its form."""
        expect(field).to_be_focused()
        field.fill(text)
        if self.way == "keys":
            self.page.keyboard.press("Control+Enter")
        else:
            self.page.get_by_role("button", name=name).first.click()

    def confirms(self, item: Locator) -> None:
        """Say yes to what is curated."""
        button = item.get_by_role("button", name="Yes, I confirm it")
        expect(button).to_be_focused()
        if self.way == "keys":
            self.page.keyboard.press("Enter")
        else:
            button.click()

    def takes_back(self) -> None:
        """Undo the last decision."""
        if self.way == "keys":
            self.page.keyboard.press("u")
        else:
            self.page.locator("#toasts").get_by_role("button", name="Undo").click()


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("both")
    (folder / "gauge.py").write_text(GAUGE)
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "Begin"]):
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], cwd=folder, check=True
        )
    with site(folder, browser, "--project", "acme") as one:
        yield one


@pytest.fixture(params=WAYS)
def hands(request: pytest.FixtureRequest, here: Site) -> Hands:
    with here.memory() as memory:
        while found := memory.review().candidates:
            memory.reject([one.memory.id for one in found])
    return Hands(here.enter(), request.param)


def waits(memory: Engram, text: str, **more: object) -> str:
    return memory.remember(text, **{"kind": "rule", "scope": PLACE, **more}).memory.handle  # type: ignore[arg-type]


def card(hands: Hands, handle: str) -> Locator:
    return hands.page.get_by_role("article", name=handle)


def stands(here: Site, handle: str) -> tuple[str, str]:
    with here.memory() as memory:
        one = memory.get(handle).memories[0]
        return one.status, one.text


# The inbox


def test_one_is_edited_in_place_approved_and_taken_back(here: Site, hands: Hands):
    with here.memory() as memory:
        handle = waits(memory, f"The crane is checked by {hands.way}")
    hands.page.goto(f"{here.origin}/web/inbox")
    hands.does(card(hands, handle), "e", "Edit")
    field = card(hands, handle).get_by_role("textbox", name="Text, as it will be kept")
    hands.sends(field, f"The crane is checked twice by {hands.way}", "Save and approve")
    hands.confirms(card(hands, handle))
    expect(hands.page.locator("#toasts")).to_contain_text(f"Approved {handle}")
    assert stands(here, handle) == ("promoted", f"The crane is checked twice by {hands.way}")
    hands.takes_back()
    expect(card(hands, handle)).to_be_visible()
    assert stands(here, handle) == ("pending", f"The crane is checked by {hands.way}")


def test_one_is_merged_beside_its_own_words(here: Site, hands: Hands):
    with here.memory() as memory:
        known = memory.remember(f"Lamps are lit at dusk, {hands.way}", scope=PLACE).memory.handle
        handle = waits(memory, f"Nobody reads without a light, {hands.way}")
    hands.page.goto(f"{here.origin}/web/inbox")
    hands.does(card(hands, handle), "m", "Merge")
    expect(card(hands, handle)).to_contain_text("Nobody reads without a light")
    into = card(hands, handle).get_by_role("combobox", name="Merge into")
    hands.sends(into, known, "Look")
    both = card(hands, handle).get_by_role("textbox", name=f"What {known} will say")
    hands.sends(both, f"Lamps are lit at dusk, for reading, {hands.way}", "Merge")
    hands.confirms(card(hands, handle))
    expect(hands.page.locator("#toasts")).to_contain_text(f"Merged {known}")
    assert stands(here, known)[1] == f"Lamps are lit at dusk, for reading, {hands.way}"


def test_one_is_skipped_and_another_rejected_with_a_reason(here: Site, hands: Hands):
    with here.memory() as memory:
        first, second = (waits(memory, f"The {name} bell rings, {hands.way}") for name in ("north", "south"))
    hands.page.goto(f"{here.origin}/web/inbox")
    hands.does(card(hands, first), "s", "Skip")
    expect(card(hands, second)).to_have_class(re.compile("current"))
    hands.does(card(hands, second), "x", "Reject")
    hands.sends(card(hands, second).get_by_role("textbox", name="Why?"), "it was sold", "Reject")
    expect(hands.page.locator("#toasts")).to_contain_text(f"Rejected {second}")
    assert (stands(here, first)[0], stands(here, second)[0]) == ("pending", "rejected")


def test_many_are_chosen_looked_over_kept_in_mind_and_approved(here: Site, hands: Hands):
    with here.memory() as memory:
        handles = [waits(memory, f"Pier {name} is closed, {hands.way}") for name in ("one", "two")]
    page = hands.page
    page.goto(f"{here.origin}/web/inbox")
    for handle in handles:
        if hands.way == "keys":
            card(hands, handle).focus()
            page.keyboard.press("v")
        else:
            card(hands, handle).get_by_role("checkbox").check()
    expect(page.locator("#bulk")).to_contain_text("2 chosen")
    look = page.get_by_role("button", name="Look over and approve")
    preview = page.get_by_role("region", name="Approve 2 memories?")
    for close in (True, False):
        look.press("Enter") if hands.way == "keys" else look.click()
        expect(preview).to_be_visible()
        if not close:
            break
        page.keyboard.press("Escape") if hands.way == "keys" else preview.get_by_role("link", name="Cancel").click()
        expect(preview).to_have_count(0)
        expect(page.locator("#bulk")).to_contain_text("2 chosen")
    assert serious(page) == []
    box, all_of_them = preview.get_by_role("checkbox"), preview.get_by_role("button", name="Approve all")
    box.press("Space") if hands.way == "keys" else box.check()
    all_of_them.press("Enter") if hands.way == "keys" else all_of_them.click()
    expect(page.locator("#toasts")).to_contain_text("Approved 2 memories.")
    hands.takes_back()
    expect(card(hands, handles[0])).to_be_visible()
    assert [stands(here, handle)[0] for handle in handles] == ["pending", "pending"]


# One memory


def test_a_memory_is_edited_pinned_forgotten_and_goes_back_to_a_step(here: Site, hands: Hands):
    with here.memory() as memory:
        done = memory.remember(f"The tide turns at six, {hands.way}", scope=PLACE)
    page, handle = hands.page, done.memory.handle
    page.goto(f"{here.origin}/web/memory/{handle}")
    if hands.way == "keys":
        page.keyboard.press("e")
    else:
        page.locator("summary", has_text="Edit").click()
    field = page.get_by_role("textbox", name="Text, as it will be kept")
    hands.sends(field, f"The tide turns at seven, {hands.way}", "Save")
    expect(page.locator(".said")).to_contain_text("seven")
    hands.asks("p", "Pin")
    expect(page.locator(".head")).to_contain_text("pinned")
    hands.asks("x", "Forget")
    expect(page.locator(".head .standing")).to_have_text("forgotten")
    hands.does(page.get_by_role("article", name=f"Event {done.event}", exact=True), "b", "Back to here")
    expect(page.locator(".head .standing")).to_have_text("live")
    expect(page.locator(".said")).to_contain_text("six")


def test_what_was_cited_and_changed_stands_beside_what_it_was_and_is_cited_anew(here: Site, hands: Hands):
    code = here.folder / "gauge.py"
    code.write_text(GAUGE)
    said = child(
        here.folder, "remember", f"The gauge ends at nine, {hands.way}", "--cite", "gauge.py:1-4", "--json",
        ENGRAM_PROJECT="acme",
    )  # fmt: skip
    code.write_text(GAUGE.replace("9", "12"))
    page = hands.page
    page.goto(f"{here.origin}/web/memory/{said.json['memory']['handle']}")
    evidence = page.get_by_role("region", name=re.compile("^Evidence of"))
    expect(evidence.locator("del")).to_have_text("9")
    expect(evidence.locator("ins")).to_have_text("12")
    hands.asks("v", "It still holds")
    expect(page.locator("#toasts")).to_contain_text("Verified")
    expect(evidence).to_contain_text("fresh")
    hands.takes_back()
    expect(evidence).to_contain_text("drifted")


def test_the_history_of_what_was_replaced_is_about_itself_alone(here: Site, hands: Hands):
    with here.memory() as memory:
        old = memory.remember(f"The {hands.way} ferry costs 4", kind="infra", scope=PLACE).memory.handle
        new = memory.remember(f"The {hands.way} ferry costs 5", kind="infra", scope=PLACE).memory.handle
        promoted = memory.promote(new).event
    page = hands.page
    page.goto(f"{here.origin}/web/memory/{old}")
    step = page.get_by_role("article", name=f"Event {promoted}", exact=True)
    expect(step.locator(".edits dt")).to_have_text(["replaced by"])
    expect(step.locator(".edits").get_by_role("link")).to_have_text(new)
    expect(page.get_by_role("button", name="Undo")).to_have_count(1)
    if hands.way == "keys":
        step.get_by_role("button", name="Undo").press("Enter")
    else:
        step.get_by_role("button", name="Undo").click()
    expect(page.locator(".head .standing")).to_have_text("live")


# Looking around


def test_hits_days_files_and_nodes_are_opened(here: Site, hands: Hands):
    with here.memory() as memory:
        handle = memory.remember(
            f"The quay of {hands.way} is stone", scope=PLACE, tag=["quay"], cite=["gauge.py"]
        ).memory.handle
        memory.remember(f"The rope of {hands.way} is hemp", scope=PLACE, tag=["quay"])
    page = hands.page
    for path, item in (
        (f"/web/search?q=quay+{hands.way}", page.locator("#found article").first),
        ("/web/timeline", page.locator(".moment-row", has_text=f"quay of {hands.way}")),
        (f"/web/graph?question=project&subject={PLACE}", page.locator(".in-words li", has_text=handle)),
    ):
        page.goto(here.origin + path)
        hands.does(item, "o", handle)
        expect(page).to_have_url(re.compile("/web/memory/"))
        expect(page.locator(".said")).to_contain_text(f"The quay of {hands.way} is stone")
    page.goto(f"{here.origin}/web/files")
    hands.does(page.locator(".file-row", has_text=handle), "o", "graph")
    expect(page).to_have_url(re.compile("question=file"))
    expect(page.locator(".in-words")).to_contain_text(handle)


def test_a_graph_is_expanded(here: Site, hands: Hands):
    with here.memory() as memory:
        for n in range(4):
            memory.remember(f"Buoy {n} of {hands.way} blinks", scope=PLACE, tag=["buoy"])
    page = hands.page
    page.goto(f"{here.origin}/web/graph?question=project&subject={PLACE}&limit=3")
    few = page.locator(".in-words li").count()
    hands.asks("e", "There is more")
    expect(page).to_have_url(re.compile("limit=6"))
    expect(page.locator(".in-words li").nth(few)).to_be_visible()


def test_a_line_of_the_next_session_is_pinned_and_kept_out(here: Site, hands: Hands):
    with here.memory() as memory:
        memory.remember(f"The mast of {hands.way} is oak", scope=PLACE)
    page = hands.page
    page.goto(f"{here.origin}/web/next?scope={PLACE}")
    line = page.locator(".brief-line", has_text=f"mast of {hands.way}")
    hands.does(line, "p", "Pin")
    expect(line.get_by_label("pinned")).to_be_visible()
    expect(page.locator(".brief-line").first).to_contain_text("★")
    hands.does(line, "x", "Keep out")
    expect(page.locator("#brief-text", has_text=f"mast of {hands.way}")).to_have_count(0)
    hands.does(page.locator(".brief-line", has_text=f"mast of {hands.way}"), "x", "Let in")
    expect(page.locator("#brief-text")).to_contain_text(f"mast of {hands.way}")


def test_health_is_mended_and_leads_on(here: Site, hands: Hands):
    page = hands.page
    page.goto(f"{here.origin}/web/health")
    hands.does(page.get_by_role("region", name="Conflicts"), "m", "Look for")
    expect(page.locator("#toasts")).to_contain_text("compared")
    with here.memory() as memory:
        waits(memory, f"The health of {hands.way} waits")
    page.goto(f"{here.origin}/web/health")
    hands.does(page.get_by_role("region", name="Waiting"), "o", "Look at Waiting")
    expect(page).to_have_url(re.compile("/web/inbox"))


def test_numbers_are_read_as_a_table(here: Site, hands: Hands):
    with here.memory() as memory:
        memory.remember(f"The tables of {hands.way} are round", scope=PLACE)
    page = hands.page
    page.goto(f"{here.origin}/web/stats")
    table = page.get_by_role("region", name="Growth").get_by_text("As a table")
    if hands.way == "keys":
        table.focus()
        page.keyboard.press("Enter")
    else:
        table.click()
    expect(page.get_by_role("columnheader", name="In all")).to_be_visible()


# For everybody


def test_what_comes_up_in_between_is_fit_for_everybody(here: Site):
    with here.memory() as memory:
        handle = waits(memory, "A buoy is never moved")
    page = here.enter("/web/inbox")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert serious(page) == []
    page.keyboard.press("Escape")
    page.get_by_role("article", name=handle).focus()
    page.keyboard.press("a")
    expect(page.get_by_role("button", name="Yes, I confirm it")).to_be_focused()
    assert serious(page) == []
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_contain_text("Approved")
    assert serious(page) == []
    for path in ("/web/memory/mem-9999", "/web/nowhere", "/web/search?scope=Not%20one", "/web/graph?question=no"):
        page.goto(here.origin + path)
        assert serious(page) == [], path


def test_hints_lead_to_where_the_page_does_it(here: Site):
    with here.memory() as memory:
        handle = memory.remember("The weir is shut in May", scope=PLACE).memory.handle
        memory.forget(handle)
    page = here.enter(f"/web/memory/{handle}")
    sends = """([path, csrf]) => fetch(path, {method: "POST", headers: {"HX-Request": "true"},
        body: new URLSearchParams({csrf, revision: 2})}).then(answer => answer.text())"""
    csrf = page.locator("input[name=csrf]").first.input_value()
    told = page.evaluate(sends, [f"/web/memory/{handle}/forget", csrf])

    assert f'<a href="/web/memory/{handle}">{handle}</a>' in told
    assert "engram restore" not in told
