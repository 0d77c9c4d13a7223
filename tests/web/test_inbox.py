"""The inbox: every decision by keyboard and by mouse, two tabs racing, many at once, and undo."""

import re
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from engram.service import Engram
from surfaces.driving import child
from web.browsing import Site, pictures, serious, site

PLACE = "project:acme"


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("inbox")
    code = folder / "src" / "limits.py"
    code.parent.mkdir()
    code.write_text("MOST = 3\n\n\ndef retries():\n    return MOST\n")
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "Begin"]):
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], cwd=folder, check=True
        )
    with site(folder, browser, "--project", "acme") as one:
        yield one


@pytest.fixture(autouse=True)
def empty(here: Site) -> None:
    """Nothing waits when a test begins."""
    with here.memory() as memory:
        while found := memory.review().candidates:
            memory.reject([one.memory.id for one in found])


def waits(memory: Engram, text: str, **more: object) -> str:
    """Remember something curated; its handle."""
    answer = memory.remember(text, **{"kind": "rule", "scope": PLACE, **more})  # type: ignore[arg-type]
    assert answer.memory.status == "pending", answer
    return answer.memory.handle


def card(page: Page, handle: str) -> Locator:
    return page.get_by_role("article", name=handle)


def standing_of(here: Site, handle: str) -> tuple[str, str]:
    with here.memory() as memory:
        found = memory.get(handle).memories[0]
        return found.status, found.text


# One at a time


def test_a_card_says_what_would_be_attached_and_whose_word_that_is(here: Site, tmp_path: Path):
    (tmp_path / "log.txt").write_text("x" * 172)
    with here.memory() as memory:
        rule = memory.remember("Gauges are read twice", kind="rule", scope=PLACE, confirm=True).memory.handle
    with here.memory("codex") as agent:
        handle = agent.attach(rule, str(tmp_path / "log.txt")).memory.handle
    one = card(here.enter("/web/inbox"), handle)
    expect(one).to_contain_text("Would attach")
    expect(one).to_contain_text("log.txt")
    expect(one).to_contain_text("text/plain, 172 bytes")
    expect(one).to_contain_text("an agent's word")


def test_a_card_is_approved_by_a_key_and_taken_back_by_another(here: Site):
    with here.memory() as memory:
        memory.remember("The quota of the first region is 40", scope=PLACE)
        handle = memory.remember("The quota of the first region is 50", scope=PLACE).memory.handle
        other = waits(memory, "Never page anybody at night")
    page = here.enter("/web/inbox")
    expect(card(page, handle)).to_have_class(re.compile("current"))
    page.keyboard.press("a")

    expect(page.get_by_role("status")).to_contain_text(f"Approved {handle}")
    expect(page.get_by_role("status")).to_contain_text("It replaces")
    expect(card(page, handle)).to_have_count(0)
    expect(card(page, other)).to_have_class(re.compile("current"))
    assert standing_of(here, handle)[0] == "promoted"
    page.keyboard.press("u")
    expect(card(page, handle)).to_be_visible()
    assert standing_of(here, handle)[0] == "pending"


def test_the_key_of_undo_walks_back_through_decisions_and_never_does_them_again(here: Site):
    with here.memory() as memory:
        first, second = (waits(memory, f"The {name} gate is locked") for name in ("north", "south"))
    page = here.enter("/web/inbox")
    for handle in (first, second):
        page.keyboard.press("a")
        card(page, handle).get_by_role("button", name="Yes, I confirm it").click()
        expect(card(page, handle)).to_have_count(0)
    for handle in (second, first):
        page.keyboard.press("u")
        expect(page.locator("#toasts")).to_contain_text(f"Took back approve of {handle}")
        expect(card(page, handle)).to_be_visible()
    page.keyboard.press("u")
    expect(page.locator("#toasts")).to_contain_text("Nothing was decided here")
    assert [standing_of(here, handle)[0] for handle in (first, second)] == ["pending", "pending"]

    page.get_by_role("button", name="Do it again").click()
    expect(page.locator("#toasts")).to_contain_text("confirm")
    assert standing_of(here, first)[0] == "pending"
    page.locator("#toasts").get_by_role("button", name="Yes, I confirm it").click()
    expect(page.locator("#toasts")).to_contain_text(f"Took back undo of {first}")
    assert standing_of(here, first)[0] == "promoted"


def test_undo_drops_no_confirmation_of_an_edited_text(here: Site):
    with here.memory() as memory:
        first, second = (waits(memory, f"The {name} door is painted") for name in ("front", "back"))
    page = here.enter("/web/inbox")
    page.keyboard.press("a")
    card(page, first).get_by_role("button", name="Yes, I confirm it").click()
    expect(card(page, second)).to_have_class(re.compile("current"))
    page.keyboard.press("e")
    card(page, second).get_by_role("textbox", name="Text, as it will be kept").fill("The back door is green")
    page.keyboard.press("Control+Enter")
    confirm = card(page, second).get_by_role("button", name="Yes, I confirm it")
    expect(confirm).to_be_focused()
    page.keyboard.press("u")
    page.get_by_role("status").get_by_role("button", name="Undo").click()
    expect(page.locator("#toasts")).to_contain_text("A form is open")
    assert standing_of(here, first)[0] == "promoted"
    confirm.click()
    expect(page.get_by_role("status")).to_contain_text(f"Approved {second}")
    assert standing_of(here, second) == ("promoted", "The back door is green")


def test_what_is_curated_asks_twice(here: Site):
    with here.memory() as memory:
        handle = waits(memory, "Releases are signed by two people")
    page = here.enter("/web/inbox")
    page.keyboard.press("a")
    confirm = card(page, handle).get_by_role("button", name="Yes, I confirm it")
    expect(confirm).to_be_focused()
    assert standing_of(here, handle)[0] == "pending"
    page.keyboard.press("Enter")

    expect(page.get_by_role("status")).to_contain_text(f"Approved {handle}")
    assert standing_of(here, handle)[0] == "promoted"
    with here.memory() as memory:
        assert memory.get(handle).memories[0].approved_by == "person"


CONFIRMS_AT_ONCE = """() => new MutationObserver((_, watch) => {
  const confirm = document.querySelector('button[data-focus]');
  if (!confirm) return;
  watch.disconnect();
  confirm.click();
}).observe(document.body, {childList: true, subtree: true})"""


def test_whoever_confirms_in_the_moment_they_are_asked_stays_on_the_page(here: Site):
    with here.memory() as memory:
        handle = waits(memory, "Anchors are weighed by two")
    page = here.enter("/web/inbox")
    page.evaluate(CONFIRMS_AT_ONCE)
    page.keyboard.press("a")

    expect(page.locator("#toasts")).to_contain_text(f"Approved {handle}")
    expect(page).to_have_url(f"{here.origin}/web/inbox")
    assert standing_of(here, handle)[0] == "promoted"


def test_whoever_decides_in_the_moment_the_page_is_there_stays_on_it(here: Site):
    with here.memory() as memory:
        handle = waits(memory, "Flags are hoisted at eight")
    page = here.enter()
    page.add_init_script(
        "addEventListener('DOMContentLoaded', () => document.querySelector('[data-key=a]').click())"
    )
    page.goto(f"{here.origin}/web/inbox")

    expect(card(page, handle).get_by_role("button", name="Yes, I confirm it")).to_be_focused()
    expect(page).to_have_url(f"{here.origin}/web/inbox")


def test_a_card_is_approved_and_undone_by_mouse(here: Site):
    with here.memory() as memory:
        handle = waits(memory, "Backups are tried every month")
    page = here.enter("/web/inbox")
    card(page, handle).get_by_role("button", name="Approve").click()
    card(page, handle).get_by_role("button", name="Yes, I confirm it").click()
    page.get_by_role("status").get_by_role("button", name="Undo").click()

    expect(card(page, handle)).to_be_visible()
    assert standing_of(here, handle)[0] == "pending"


def test_what_was_edited_in_place_is_what_is_kept(here: Site):
    with here.memory() as memory:
        handle = waits(memory, "The owner of billing is Sam")
    page = here.enter("/web/inbox")
    page.keyboard.press("e")
    field = card(page, handle).get_by_role("textbox", name="Text, as it will be kept")
    expect(field).to_be_focused()
    field.fill("The owner of billing is Robin\nsince May")
    page.keyboard.press("Control+Enter")
    card(page, handle).get_by_role("button", name="Yes, I confirm it").click()

    expect(page.get_by_role("status")).to_contain_text(f"Approved {handle}")
    assert standing_of(here, handle) == ("promoted", "The owner of billing is Robin\nsince May")


def test_escape_leaves_an_edit_and_changes_nothing(here: Site):
    with here.memory() as memory:
        handle = waits(memory, "Tickets are closed by who opened them")
    page = here.enter("/web/inbox")
    page.keyboard.press("e")
    expect(card(page, handle).get_by_role("textbox")).to_be_focused()
    page.keyboard.type("nonsense")
    page.keyboard.press("Escape")

    expect(card(page, handle).get_by_role("textbox")).to_have_count(0)
    assert standing_of(here, handle) == ("pending", "Tickets are closed by who opened them")


def test_one_is_rejected_with_a_reason_that_history_keeps(here: Site):
    with here.memory() as memory:
        handle = waits(memory, "Passwords may be mailed")
    page = here.enter("/web/inbox")
    page.keyboard.press("x")
    expect(card(page, handle).get_by_role("textbox", name="Why?")).to_be_focused()
    page.keyboard.type("not true")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text(f"Rejected {handle}")

    assert standing_of(here, handle)[0] == "rejected"
    page.goto(f"{here.origin}/web/history")
    expect(page.locator("main")).to_contain_text("Reason: not true")


def test_one_is_merged_into_what_says_nearly_the_same(here: Site):
    with here.memory() as memory:
        known = memory.remember("The build cache of the pipeline lives on the fast disk", scope=PLACE).memory.handle
        handle = waits(memory, "The build cache of the pipeline lives on the fast disk, never delete it")
    page = here.enter("/web/inbox")
    near = card(page, handle).get_by_role("region", name=f"Nearly the same: {known}")
    expect(near.locator("ins")).to_contain_text("never delete it")
    page.keyboard.press("m")
    field = card(page, handle).get_by_role("textbox", name=f"What {known} will say")
    expect(field).to_be_focused()
    field.fill("The build cache lives on the fast disk; never delete it")
    card(page, handle).get_by_role("button", name="Merge").click()
    card(page, handle).get_by_role("button", name="Yes, I confirm it").click()

    expect(page.get_by_role("status")).to_contain_text(f"Merged {known}")
    assert standing_of(here, known) == ("promoted", "The build cache lives on the fast disk; never delete it")


def test_the_confirmation_of_a_merge_names_what_will_say_it_and_marks_what_is_new_to_that(here: Site):
    with here.memory() as memory:
        known = memory.remember("Sluices are oiled in spring", kind="rule", scope=PLACE, confirm=True).memory.handle
    with here.memory("codex") as agent:
        handle = agent.revise(known, text="Sluices are tested in autumn").memory.handle
    page = here.enter("/web/inbox")
    page.keyboard.press("m")
    field = card(page, handle).get_by_role("textbox", name=f"What {known} will say")
    expect(field).to_have_value("Sluices are oiled in spring\nSluices are tested in autumn")
    page.keyboard.press("Control+Enter")
    told = card(page, handle).get_by_role("region", name=f"{known} will say")
    expect(told.locator("ins")).to_have_text("Sluices are tested in autumn", use_inner_text=True)
    expect(told.locator("del")).to_have_count(0)
    words, button = (
        told.bounding_box(),
        card(page, handle).get_by_role("button", name="Yes, I confirm it").bounding_box(),
    )
    assert words
    assert button
    assert button["y"] - (words["y"] + words["height"]) >= 8


def test_who_edits_goes_on_at_the_end_of_the_text(here: Site):
    with here.memory() as memory:
        handle = waits(memory, "Oars are varnished")
    page = here.enter("/web/inbox")
    page.keyboard.press("e")
    field = card(page, handle).get_by_role("textbox", name="Text, as it will be kept")
    expect(field).to_be_focused()
    page.keyboard.type(" twice")
    expect(field).to_have_value("Oars are varnished twice")


def test_whoever_takes_a_decision_back_stands_at_what_came_back(here: Site):
    with here.memory() as memory:
        handles = [waits(memory, f"Item {n} of the {word}") for n, word in enumerate(("mast", "keel", "hull"))]
    page = here.enter("/web/inbox")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(card(page, handles[1]).get_by_role("textbox", name="Why?")).to_be_focused()
    page.keyboard.press("Enter")
    expect(card(page, handles[2])).to_have_class(re.compile("current"))
    page.keyboard.press("u")
    expect(page.locator("#toasts")).to_contain_text("Took back")
    page.keyboard.press("e")  # whoever is quicker than the list means nothing else
    expect(card(page, handles[1])).to_have_class(re.compile("current"))
    expect(page.locator(".current")).to_have_count(1)
    expect(card(page, handles[2]).get_by_role("textbox")).to_have_count(0)


def test_what_is_approved_before_its_like_was_beside_it_is_shown_it_first(here: Site):
    with here.memory() as memory:
        known = memory.remember(
            "The winch of the pier is greased on Mondays by the crew", scope=PLACE
        ).memory.handle
        handle = memory.remember(
            "The winch of the pier is greased on Mondays by the crew and checked",
            scope=PLACE,
            source="web:https://example.org/w",
        ).memory.handle
    page = here.enter()
    held: list[Route] = []
    page.route("**/near", lambda route: held.append(route))  # noqa: PLW0108 - it marks what it calls
    page.goto(f"{here.origin}/web/inbox")
    expect(card(page, handle)).to_contain_text("Looking for what says nearly the same")
    expect(card(page, handle).get_by_text("Looking for what says nearly the same")).to_be_visible()
    page.keyboard.press("a")
    expect(card(page, handle).get_by_role("alert")).to_contain_text(f"Nearly the same: {known}")
    expect(card(page, handle).get_by_role("region", name=f"Nearly the same: {known}")).to_be_visible()
    assert standing_of(here, handle)[0] == "pending"
    page.keyboard.press("a")
    expect(page.get_by_role("status")).to_contain_text(f"Approved {handle}")
    for each in held:
        each.abort()


def test_looking_for_what_is_alike_moves_nothing_on_the_page(here: Site):
    with here.memory() as memory:
        handle = waits(memory, "Hatches are closed at dusk")
    page = here.enter()
    held: list[Route] = []
    page.route("**/near", lambda route: held.append(route))  # noqa: PLW0108 - it marks what it calls
    page.goto(f"{here.origin}/web/inbox")
    button = card(page, handle).get_by_role("button", name="Approve")
    looking = card(page, handle).get_by_text("Looking for what says nearly the same")
    expect(looking).to_be_visible()
    there, said = button.bounding_box(), looking.bounding_box()
    by = time.monotonic() + 60
    while not held and time.monotonic() < by:  # it is shown as asked for before the request comes by here
        page.wait_for_timeout(10)
    assert held, "the page never asked what is alike"
    held.pop().continue_()
    expect(looking).not_to_be_attached()

    assert button.bounding_box() == there
    assert there
    assert said
    assert said["y"] + said["height"] <= there["y"]


def test_what_was_beside_it_already_is_not_shown_once_more(here: Site):
    with here.memory() as memory:
        known = memory.remember(
            "The crane of the pier is painted on Tuesdays by the crew", scope=PLACE
        ).memory.handle
        handle = memory.remember(
            "The crane of the pier is painted on Tuesdays by the crew and oiled",
            scope=PLACE,
            source="web:https://example.org/c",
        ).memory.handle
    page = here.enter("/web/inbox")
    expect(card(page, handle).get_by_role("region", name=f"Nearly the same: {known}")).to_be_visible()
    expect(card(page, handle).get_by_text("Looking for")).to_have_count(0)
    page.keyboard.press("a")
    expect(page.get_by_role("status")).to_contain_text(f"Approved {handle}")


def test_a_merge_goes_where_one_says(here: Site):
    with here.memory() as memory:
        known = memory.remember("Dashboards are kept in the attic folder", scope=PLACE).memory.handle
        handle = waits(memory, "Nobody edits a dashboard by hand")
    page = here.enter("/web/inbox")
    page.keyboard.press("m")
    expect(card(page, handle).get_by_role("combobox", name="Merge into")).to_be_focused()
    page.keyboard.type(known)
    page.keyboard.press("Enter")
    expect(card(page, handle).get_by_role("textbox", name=f"What {known} will say")).to_be_focused()
    page.keyboard.press("Control+Enter")
    card(page, handle).get_by_role("button", name="Yes, I confirm it").click()

    expect(page.get_by_role("status")).to_contain_text(f"Merged {known}")
    assert (
        standing_of(here, known)[1] == "Dashboards are kept in the attic folder\nNobody edits a dashboard by hand"
    )


def test_skipping_decides_nothing_and_goes_on(here: Site):
    with here.memory() as memory:
        first, second = waits(memory, "Rule one of many"), waits(memory, "Another rule altogether")
    page = here.enter("/web/inbox")
    page.keyboard.press("s")
    expect(card(page, second)).to_have_class(re.compile("current"))
    page.keyboard.press("k")
    expect(card(page, first)).to_have_class(re.compile("current.*skipped|skipped.*current"))
    assert standing_of(here, first)[0] == "pending"


def test_cards_are_in_groups_by_session_oldest_first(here: Site):
    with here.memory() as memory:
        memory.session_begin("s-one", agent="codex", scope=PLACE)
        a = waits(memory, "First of one", session="s-one")
        b = waits(memory, "Second, of no session")
        c = waits(memory, "Third, of one again", session="s-one")
    page = here.enter("/web/inbox")
    handles = page.locator("article.candidate h3 .handle").all_inner_texts()
    group = page.get_by_role("region", name="Session s-one")

    assert handles == [a, c, b]
    expect(group.get_by_role("article")).to_have_count(2)
    expect(page.get_by_role("link", name=re.compile("^Inbox"))).to_contain_text("3")


def test_a_card_tells_origin_trust_confidence_and_evidence(here: Site):
    source = here.folder / "src" / "limits.py"
    done = child(
        here.folder, "remember", "Retries are limited to 3 everywhere", "--kind", "rule", "--confidence", "0.4",
        "--cite", "src/limits.py:1", "--cite", "src/limits.py:4-5", "--json",
        ENGRAM_AGENT="codex", ENGRAM_PROJECT="acme",
    )  # fmt: skip
    assert done.code == 0, done.err
    handle = done.json["memory"]["handle"]
    source.write_text(source.read_text().replace("MOST = 3", "MOST = 5 * FACTOR"))
    page = here.enter("/web/inbox")
    one = card(page, handle)

    expect(one).to_contain_text("inferred by an agent: codex")
    expect(one).to_contain_text("an agent's word")
    expect(one).to_contain_text("40 %")
    expect(one).to_contain_text("this kind is curated")
    evidence = one.get_by_role("region", name=f"Evidence of {handle}").get_by_role("listitem")
    expect(evidence.nth(0)).to_contain_text(re.compile("src/limits.py:1.*(drifted|gone)", re.DOTALL))
    expect(evidence.nth(0)).to_contain_text(re.compile("As it was cited.*= 3.*As it is now", re.DOTALL))
    expect(evidence.nth(1)).to_contain_text(re.compile("fresh"))
    expect(evidence.nth(1).locator("pre")).to_contain_text("return MOST")


def test_a_card_calls_what_an_agent_says_somebody_said_no_persons_word(here: Site):
    with here.memory() as memory:
        typed = waits(memory, "The user likes tea")
    done = child(
        here.folder, "remember", "The user likes coffee", "--kind", "rule", "--origin", "said", "--json",
        ENGRAM_AGENT="codex", ENGRAM_PROJECT="acme",
    )  # fmt: skip
    heard = done.json["memory"]["handle"]
    page = here.enter("/web/inbox")

    expect(card(page, typed)).to_contain_text("said by a person")
    expect(card(page, typed)).to_contain_text("a person's word")
    expect(card(page, heard)).to_contain_text("said to an agent: codex")
    expect(card(page, heard)).to_contain_text("an agent's word")
    expect(card(page, heard)).not_to_contain_text("a person's word")


def test_what_it_would_replace_stands_beside_it_word_by_word(here: Site):
    with here.memory() as memory:
        known = memory.remember("The mirror listens on port 8080", kind="infra", scope=PLACE).memory.handle
        handle = memory.remember("The mirror listens on port 9090", kind="infra", scope=PLACE).memory.handle
    page = here.enter("/web/inbox")
    beside = card(page, handle).get_by_role("region", name=f"It would replace {known}")

    expect(beside.locator("del")).to_have_text("8080")
    expect(beside.locator("ins")).to_have_text("9090")


def test_what_a_verdict_would_replace_stands_beside_it_on_the_card_and_over_many(here: Site):
    with here.memory() as memory:
        known = memory.remember("Backups are kept for 30 days", kind="infra", scope=PLACE).memory.handle
        rule = memory.remember("Nobody backs up by hand", kind="rule", scope=PLACE, confirm=True).memory.handle
    with here.memory("codex") as agent:
        said = agent.remember("Grafana runs at grafana.internal", source="web:example.org", scope=PLACE)
        handle = said.memory.handle
        agent.relate(handle, known, "supersedes")
        agent.relate(handle, rule, "supersedes")
    page = here.enter("/web/inbox")
    one = card(page, handle)

    expect(one.get_by_role("region", name=f"It would replace {known}")).to_contain_text("Backups are kept")
    expect(one.get_by_role("region", name=f"It would not replace the curated {rule}")).to_be_visible()
    expect(one.get_by_role("button", name="Keep both")).to_be_visible()
    page.keyboard.type("vA")
    row = page.get_by_role("dialog", name="Approve 1 memory?").get_by_role("list").first.locator("> li")
    expect(row).to_contain_text(f"It would replace {known}")
    expect(row).to_contain_text(f"It would not replace the curated {rule}")


# Two tabs


def test_a_stale_tab_cannot_overwrite_what_another_did(here: Site):
    with here.memory() as memory:
        handle = waits(memory, "The pager rotates weekly")
    stale, fresh = here.enter("/web/inbox"), here.enter("/web/inbox")
    fresh.keyboard.press("x")
    expect(fresh.get_by_role("textbox", name="Why?")).to_be_focused()
    fresh.keyboard.press("Enter")
    expect(fresh.get_by_role("status")).to_contain_text(f"Rejected {handle}")
    stale.keyboard.press("a")

    expect(stale.get_by_role("alert")).to_contain_text("Somebody else has decided about it.")
    expect(card(stale, handle)).to_contain_text("The pager rotates weekly")
    expect(card(stale, handle)).to_contain_text("rejected")
    assert standing_of(here, handle)[0] == "rejected"


def test_a_card_that_was_reworded_elsewhere_is_shown_anew_before_it_is_approved(here: Site):
    with here.memory() as memory:
        handle = waits(memory, "The lead of search is Kim")
    stale = here.enter("/web/inbox")
    with here.memory() as memory:
        memory.revise(handle, text="The lead of search is Noor")
    stale.keyboard.press("a")

    expect(card(stale, handle).get_by_role("alert")).to_contain_text("revision")
    expect(card(stale, handle)).to_contain_text("Noor")
    assert standing_of(here, handle)[0] == "pending"
    stale.keyboard.press("a")
    card(stale, handle).get_by_role("button", name="Yes, I confirm it").click()
    expect(stale.get_by_role("status")).to_contain_text(f"Approved {handle}")


def test_a_merge_overwrites_no_words_that_came_meanwhile(here: Site):
    with here.memory() as memory:
        known = memory.remember("The gate of the yard opens at six", scope=PLACE).memory.handle
        handle = memory.remember("The gate of the yard opens at seven", scope=PLACE).memory.handle
    stale = here.enter("/web/inbox")
    stale.keyboard.press("m")
    field = card(stale, handle).get_by_role("textbox", name=f"What {known} will say")
    field.fill("The gate of the yard opens at six, in winter at seven")
    with here.memory() as memory:
        memory.revise(known, text="The gate of the yard opens at five")
    stale.keyboard.press("Control+Enter")

    expect(card(stale, handle).get_by_role("alert")).to_contain_text("revision")
    expect(card(stale, handle)).to_contain_text("opens at five")
    expect(field).to_have_value("The gate of the yard opens at six, in winter at seven")
    assert standing_of(here, known)[1] == "The gate of the yard opens at five"
    card(stale, handle).get_by_role("button", name="Merge").click()
    expect(stale.get_by_role("status")).to_contain_text(f"Merged {known}")
    assert standing_of(here, known)[1] == "The gate of the yard opens at six, in winter at seven"


def test_what_contradicts_may_be_kept_beside_it(here: Site):
    with here.memory() as memory:
        known = memory.remember("The quota of the east wing is 40", scope=PLACE).memory.handle
        handle = memory.remember("The quota of the east wing is 70", scope=PLACE).memory.handle
    page = here.enter("/web/inbox")
    expect(card(page, handle).locator("[name=compared]").first).to_be_attached()  # other quotas are nearly the same
    page.keyboard.press("b")
    expect(page.get_by_role("status")).to_contain_text(f"Approved {handle}")
    expect(page.get_by_role("status")).not_to_contain_text("It replaces")
    with here.memory() as memory:
        assert {one.handle for one in memory.list(scope=PLACE, limit=100).memories} >= {known, handle}


def test_a_proposal_tells_all_it_would_change_and_only_that(here: Site):
    with here.memory() as memory:
        rule = memory.remember("Boats are counted at dusk", kind="rule", scope=PLACE, tag=["quay"], confirm=True)
    with here.memory("codex") as agent:
        handle = agent.revise(rule.memory.handle, tag=["quay", "evening"], importance=8).memory.handle
    with here.memory() as memory:  # what the proposal does not speak of changes meanwhile
        memory.revise(rule.memory.handle, text="Boats are counted at dusk and at dawn", confirm=True)
    one = card(here.enter("/web/inbox"), handle)
    expect(one).to_contain_text("leave its words as they are")
    expect(one.locator(".changes")).to_contain_text("tags")
    expect(one.locator(".changes ins").first).to_have_text("quay; evening")
    expect(one.locator(".changes")).to_contain_text("importance")
    expect(one.locator(".changes dt")).to_have_count(2)
    expect(one.locator("del", has_text="dawn")).to_have_count(0)


def test_what_an_edit_is_judged_by_stays_beside_it(here: Site):
    with here.memory() as memory:
        memory.remember("The quota of the west wing is 40", scope=PLACE)
        handle = memory.remember("The quota of the west wing is 60", scope=PLACE).memory.handle
    page = here.enter("/web/inbox")
    page.keyboard.press("e")
    expect(card(page, handle).get_by_role("textbox", name="Text, as it will be kept")).to_be_focused()
    expect(card(page, handle)).to_contain_text("It would replace")
    expect(card(page, handle)).to_contain_text("Why it waits")


def test_the_buttons_of_the_card_one_stands_at_stay_in_sight(here: Site):
    """What comes into a card later, and the word in the corner, push nothing out of reach."""
    with here.memory() as memory:
        for n, name in enumerate(("alder", "birch", "cedar", "elder")):
            memory.remember(f"The sapling called {name} grows by the gate and is watered on Mondays", scope=PLACE)
            waits(memory, f"The sapling called {name} grows by the gate and is watered on day {n}")
    page = here.enter("/web/inbox", viewport={"width": 1400, "height": 700})
    page.keyboard.type("jj")
    handle = page.locator(".current .handle").first.inner_text()
    page.keyboard.press("s")
    page.keyboard.press("k")
    expect(card(page, handle)).to_have_class(re.compile("current"))
    expect(card(page, handle)).to_contain_text("Nearly the same")
    page.keyboard.press("u")
    expect(page.locator("#toasts")).not_to_be_empty()
    page.wait_for_load_state("networkidle")
    buttons = card(page, handle).locator(".actions").bounding_box()
    toast = page.locator("#toasts").bounding_box()
    assert buttons
    assert toast
    assert buttons["y"] + buttons["height"] <= toast["y"]


def test_a_card_that_is_longer_than_the_screen_has_its_buttons_in_sight(here: Site):
    with here.memory() as memory:
        steps = "\n\n".join(f"Step {n} of the release is done by hand and told in the channel" for n in range(30))
        handle = waits(memory, steps)
    page = here.enter("/web/inbox")
    one = card(page, handle)

    expect(one.get_by_role("button", name="Approve")).to_be_in_viewport(ratio=1)
    expect(one.get_by_text("Step 29")).not_to_be_in_viewport()
    one.get_by_text("Step 29").scroll_into_view_if_needed()
    expect(one.get_by_role("button", name="Approve")).to_be_in_viewport(ratio=1)


# A page that is let in no more


def test_a_page_that_was_closed_says_so_once_and_its_cards_stay(here: Site):
    """A server that was started anew knows nobody who came in before, as one knows nobody without a cookie."""
    with here.memory() as memory:
        handles = [waits(memory, f"The {name} of the tower is rung at noon") for name in ("bell", "gong")]
    page = here.enter("/web/inbox")
    expect(page.get_by_role("region", name=re.compile("Nearly the same"))).to_have_count(2)
    page.context.clear_cookies()
    page.keyboard.press("a")
    expect(page.locator("#toasts")).to_contain_text("This page is closed. Nothing was changed.")
    page.keyboard.press("e")
    page.wait_for_load_state("networkidle")

    expect(page.locator("#toasts .toast")).to_have_count(1)
    expect(page.locator("#toasts")).to_contain_text("engram serve --link")
    expect(page.locator("main")).not_to_contain_text("This page is closed")
    for handle in handles:
        expect(card(page, handle)).to_contain_text("of the tower is rung at noon")
        assert standing_of(here, handle)[0] == "pending"


def test_what_stands_before_the_server_refuses_without_taking_the_card_away(here: Site):
    with here.memory() as memory:
        handle = waits(memory, "Lanterns are lit at dusk")
    page = here.enter("/web/inbox")
    page.route("**/approve", lambda route: route.fulfill(status=502, body="<h1>Bad gateway</h1>"))
    page.keyboard.press("a")

    expect(page.locator("#toasts")).to_contain_text("The server refused that (502).")
    expect(card(page, handle)).to_contain_text("Lanterns are lit at dusk")
    expect(page.locator("main")).not_to_contain_text("Bad gateway")
    assert standing_of(here, handle)[0] == "pending"


# Many at once


def test_many_are_looked_over_and_approved_in_one_step_that_one_undo_takes_back(here: Site):
    with here.memory() as memory:
        handles = [
            waits(memory, f"Standing rule number {n} of the {word}") for n, word in enumerate(("sea", "air"))
        ]
    page = here.enter("/web/inbox")
    page.keyboard.type("vjv")
    expect(page.locator("#bulk")).to_contain_text("2 chosen")
    page.get_by_role("button", name="Look over and approve").click()
    preview = page.get_by_role("region", name="Approve 2 memories?")
    expect(preview.get_by_role("listitem")).to_have_count(2)
    assert [standing_of(here, each)[0] for each in handles] == ["pending"] * 2
    preview.get_by_role("checkbox").check()
    preview.get_by_role("button", name="Approve all").click()

    expect(page.get_by_role("status")).to_contain_text("Approved 2 memories.")
    assert [standing_of(here, each)[0] for each in handles] == ["promoted"] * 2
    page.keyboard.press("u")
    expect(card(page, handles[0])).to_be_visible()
    assert [standing_of(here, each)[0] for each in handles] == ["pending"] * 2


def test_a_key_opens_the_memory_one_stands_at(here: Site):
    with here.memory() as memory:
        waits(memory, "The first rule of the quay")
        second = waits(memory, "The second rule of the quay")
    page = here.enter("/web/inbox")
    page.keyboard.type("jo")
    expect(page.get_by_role("heading", name=second)).to_be_visible()


def test_looking_over_many_tells_which_of_them_nobody_vouches_for(here: Site):
    with here.memory() as memory:
        waits(memory, "The harbour is a rule of its own")
        page_said = memory.remember("The harbour closes at six", source="web:https://example.org/harbour")
    assert page_said.memory.held_for == "untrusted_origin"
    page = here.enter("/web/inbox")
    page.keyboard.type("vjvA")

    preview = page.get_by_role("dialog", name="Approve 2 memories?")
    expect(preview.get_by_text("untrusted", exact=True)).to_have_count(1)
    expect(preview.get_by_role("listitem").nth(1)).to_contain_text("web:https://example.org/harbour")


def test_looking_over_many_tells_all_that_each_would_replace_or_change(here: Site):
    with here.memory() as memory:
        first = memory.remember("The quota of the second region is 40", scope=PLACE).memory.handle
        second = memory.remember("The quota of the second region is 50", scope=PLACE).memory.handle
        memory.promote(second, keep=True)
        memory.remember("The quota of the second region is 60", scope=PLACE)
        rule = memory.remember("Quotas are cut in May", kind="rule", scope=PLACE, confirm=True).memory.handle
        cited = waits(memory, "Retries are capped", cite=["src/limits.py:1"])
    with here.memory("codex") as agent:
        agent.revise(rule, tag=["money"])
    page = here.enter("/web/inbox")
    page.keyboard.type("vjvjvA")

    rows = page.get_by_role("dialog", name="Approve 3 memories?").get_by_role("list").first.locator("> li")
    expect(rows.nth(0)).to_contain_text(f"It would replace {first}")
    expect(rows.nth(0)).to_contain_text(f"It would replace {second}")
    expect(rows.nth(1)).to_contain_text(cited)
    expect(rows.nth(1)).to_contain_text("src/limits.py:1 unreachable")
    expect(rows.nth(2)).to_contain_text(f"It would change {rule}")
    expect(rows.nth(2)).to_contain_text("money")


def test_looking_over_many_tells_what_says_nearly_the_same(here: Site):
    with here.memory() as memory:
        known = memory.remember("The ferry of the north shore sails at nine and at noon", scope=PLACE).memory.handle
        first = waits(memory, "The ferry of the north shore sails at nine and at noon with mail aboard")
        second = waits(memory, "The ferry of the north shore sails at nine and at noon with cattle aboard")
    page = here.enter("/web/inbox")
    page.keyboard.type("vjvA")
    rows = page.get_by_role("dialog", name="Approve 2 memories?").get_by_role("list").first.locator("> li")
    expect(rows.nth(0)).to_contain_text(f"Nearly the same: {known}")
    expect(rows.nth(0)).to_contain_text(f"Nearly the same, and waits too: {second}")
    expect(rows.nth(1)).to_contain_text(f"Nearly the same, and waits too: {first}")


def test_all_of_a_session_are_chosen_at_once_and_looked_over_where_one_stands(here: Site):
    with here.memory() as memory:
        for n, word in enumerate(("gate", "lock", "weir")):
            waits(memory, f"The {word} of the canal is number {n}", session="canal")
        alone = waits(memory, "A rule of no session at all")
    page = here.enter("/web/inbox")
    expect(page.locator(".current")).to_have_count(1)
    page.keyboard.press("V")
    expect(page.locator("#bulk")).to_contain_text("3 chosen")
    page.keyboard.press("A")
    preview = page.get_by_role("dialog", name="Approve 3 memories?")
    expect(preview.get_by_role("listitem")).to_have_count(3)
    page.keyboard.press("Escape")
    expect(preview).to_have_count(0)
    expect(page.locator("#bulk")).to_contain_text("3 chosen")
    assert page.evaluate("() => scrollY") == 0
    page.keyboard.press("V")
    expect(page.locator("#bulk")).to_be_hidden()
    page.keyboard.press("X")
    expect(page.get_by_role("dialog")).to_have_count(0)

    page.get_by_role("button", name="Choose all").click()
    page.keyboard.press("X")
    preview = page.get_by_role("dialog", name="Reject 3 memories?")
    preview.get_by_role("button", name="Reject all").click()
    expect(page.get_by_role("status")).to_contain_text("Rejected 3 memories.")
    expect(preview).to_have_count(0)
    expect(page.locator("section.group")).to_have_count(1)
    expect(card(page, alone)).to_have_class(re.compile("current"))


def test_many_are_rejected_or_none_where_one_has_moved(here: Site):
    with here.memory() as memory:
        first, second = waits(memory, "A rule to be refused"), waits(memory, "One more to be refused")
    page = here.enter("/web/inbox")
    page.keyboard.type("vjv")
    page.get_by_role("button", name="Look over and reject").click()
    preview = page.get_by_role("region", name="Reject 2 memories?")
    expect(preview).to_be_visible()
    with here.memory() as memory:
        memory.revise(second, text="One more, reworded meanwhile")
    preview.get_by_role("button", name="Reject all").click()

    expect(page.get_by_role("status")).to_contain_text("revision")
    assert [standing_of(here, each)[0] for each in (first, second)] == ["pending"] * 2


# The rest


def test_an_empty_inbox_says_so(here: Site):
    page = here.enter("/web/inbox")

    expect(page.get_by_text("Nothing waits for you")).to_be_visible()


def test_a_session_of_which_nothing_is_left_goes_and_the_last_decision_says_so(here: Site):
    with here.memory() as memory:
        first, second = waits(memory, "Ropes are coiled", session="quay"), waits(memory, "Nets are dried")
        third = waits(memory, "Buoys are painted")
    page = here.enter("/web/inbox")
    expect(page.get_by_role("region", name="Session quay")).to_contain_text("1 memory waits")
    expect(page.get_by_role("region", name="Outside of a session")).to_contain_text("2 memories wait")
    for handle in (first, second, third):
        page.keyboard.press("a")
        card(page, handle).get_by_role("button", name="Yes, I confirm it").press("Enter")
        expect(card(page, handle)).to_have_count(0)
        if handle == first:
            expect(page.get_by_role("region", name="Session quay")).to_have_count(0)
        if handle == second:
            expect(page.get_by_role("region", name="Outside of a session")).to_contain_text("1 memory waits")
    expect(page.get_by_text("Nothing waits for you")).to_be_visible()


def test_only_what_waits_in_one_scope_is_shown(here: Site):
    with here.memory() as memory:
        ours = waits(memory, "Sails are mended ashore", scope="project:harbour")
        theirs = waits(memory, "Bread is baked at four")
    page = here.enter("/web/inbox")
    expect(page.get_by_role("main").get_by_text("Scope", exact=True)).to_be_in_viewport(ratio=1)
    page.keyboard.press("/")
    page.keyboard.type("harbour")
    page.keyboard.press("Enter")
    expect(card(page, ours)).to_be_visible()
    expect(card(page, theirs)).to_have_count(0)
    expect(page.get_by_role("combobox", name="Scope")).to_have_value("project:harbour")
    page.keyboard.press("x")
    expect(card(page, ours).get_by_role("textbox", name="Why?")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Nothing waits in project:harbour")).to_be_visible()
    page.get_by_role("link", name="Look everywhere").click()
    expect(card(page, theirs)).to_be_visible()


def test_who_walks_beyond_the_last_card_is_taken_to_what_follows(here: Site):
    with here.memory() as memory:
        for n in range(22):
            waits(memory, f"Rule {n} of {'abcdefghijklmnopqrstuvwxyz'[n] * 4}", session="long")
    page = here.enter("/web/inbox")
    cards = page.locator("article.candidate")
    expect(cards).to_have_count(20)
    group = page.get_by_role("region", name="Session long")
    expect(group).to_contain_text("20 memories shown so far")
    expect(group).not_to_contain_text("memories wait")
    expect(group.get_by_role("button", name="Choose all shown")).to_be_visible()
    cards.last.click(position={"x": 300, "y": 5})
    page.keyboard.press("j")
    expect(cards).to_have_count(22)
    expect(group.get_by_role("button", name=re.compile("Choose all(?! shown)"))).to_be_visible()
    expect(cards.nth(20)).to_have_class(re.compile("current"))
    page.keyboard.type("VA")
    preview = page.get_by_role("dialog", name="Approve 22 memories?")
    expect(preview.get_by_role("button", name="Approve all")).to_be_visible()
    expect(preview).not_to_contain_text("moved since")
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="Session long")).to_have_count(1)
    expect(page.get_by_role("region", name="Session long")).to_contain_text("22 memories wait")


def test_more_than_a_page_waits_and_comes_by_cursor(here: Site):
    with here.memory() as memory:
        for n in range(23):
            # None is like another: what comes to stand beside a card would move the link while it is pressed.
            waits(memory, " ".join("abcdefghijklmnopqrstuvwxyz"[n] * length for length in (4, 5, 6)))
    page = here.enter("/web/inbox")
    expect(page.locator("article.candidate")).to_have_count(20)
    page.get_by_role("link", name="More that waits").click()

    expect(page.locator("article.candidate")).to_have_count(23)


def test_without_scripts_one_is_approved_too(here: Site):
    with here.memory() as memory:
        handle = waits(memory, "Doors are closed at ten")
    page = here.enter("/web/inbox", java_script_enabled=False)
    card(page, handle).get_by_role("button", name="Approve").click()
    page.get_by_role("button", name="Yes, I confirm it").click()

    expect(page.get_by_role("status").first).to_contain_text(f"Approved {handle}")
    assert standing_of(here, handle)[0] == "promoted"


def test_pictures_of_the_inbox(here: Site, tmp_path: Path):
    with here.memory("codex") as agent, here.memory() as memory:
        agent.session_begin("2026-11-16-limits", agent="codex", scope=PLACE)
        memory.remember("The staging database listens on port 5433", kind="infra", scope=PLACE)
        agent.remember(
            "The staging database listens on port 5434", kind="infra", scope=PLACE, session="2026-11-16-limits"
        )
    text = "Requests are retried **at most 3 times**, then the queue hears:\n\n- by `retries()`\n- never by hand"
    child(
        here.folder, "remember", text, "--kind", "rule", "--session", "2026-11-16-limits",
        "--cite", "src/limits.py:4-5", "--confidence", "0.8", "--tag", "limits",
        ENGRAM_AGENT="codex", ENGRAM_PROJECT="acme",
    )  # fmt: skip
    with here.memory() as memory:
        memory.remember("Robin reviews what goes to production", kind="people", scope=PLACE)
    page = here.enter("/web/inbox")
    page.wait_for_timeout(300)
    pictures(page, "inbox", tmp_path)
    for key in "emx":
        page.keyboard.press(key)
        expect(page.locator("[data-focused]")).to_be_focused()
        assert serious(page) == []
        page.keyboard.press("Escape")
        expect(page.locator("[data-focused]")).to_have_count(0)
