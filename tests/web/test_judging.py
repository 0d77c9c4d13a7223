"""Pairs of memories: every verdict by keyboard and by mouse, tabs that are behind, undo, and who may judge."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from engram.model.memory import Memory, standing
from web.browsing import NARROW, Site, pictures, site

PLACE = "project:acme"
SHOPS = (f"{first}{second}shop" for first in "abdefg" for second in "klmnop")
"""No test meets the memories of another."""


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("conflicts"), browser, "--project", "acme") as one:
        yield one


@pytest.fixture(autouse=True)
def empty(here: Site) -> None:
    """Nothing is in use, and nothing waits, when a test begins."""
    with here.memory() as memory:
        while found := memory.review().candidates:
            memory.reject([one.memory.id for one in found])
        while known := memory.list(everywhere=True).memories:
            memory.forget([one.id for one in known])


def two(here: Site, old: str = "", new: str = "", **more: object) -> tuple[Memory, Memory]:
    """Two memories that may not both hold: a person's, then an agent's."""
    shop = next(SHOPS)
    old, new = old or f"Use Redis for the queue of the {shop}", new or f"Use RabbitMQ for the queue of the {shop}"
    with here.memory() as memory, here.memory("codex") as agent:
        said = {"scope": PLACE, **more}
        return memory.remember(old, **said).memory, agent.remember(new, **said).memory  # type: ignore[arg-type]


def card(page: Page, *pair: Memory) -> Locator:
    """The card of two memories, whichever of them is named first."""
    name = "|".join(f"{one.handle} .* {other.handle}" for one, other in (pair, pair[::-1]))
    return page.get_by_role("article", name=re.compile(name))


def known(here: Site, *pair: Memory) -> tuple[str, str, str, str]:
    """What is kept of a pair: status, kind, which comes first, and why."""
    with here.memory() as memory:
        found = memory.conflicts(pair="~".join(one.id for one in pair)).pairs[0]
        return found.status, found.kind, found.first.handle, found.why


def stands(here: Site, one: Memory) -> str:
    with here.memory() as memory:
        shown = memory.get(one.id)
        return standing(shown.memories[0], shown.at)


def toast(page: Page) -> Locator:
    return page.locator("#toasts")


# The list


def test_a_pair_stands_side_by_side_with_what_differs_and_whose_word_each_is(here: Site):
    old, new = two(here, kind="decision")
    page = here.enter("/web/conflicts")
    one = card(page, old, new)

    expect(one.get_by_role("heading")).to_have_text(f"{new.handle} may conflict with {old.handle}")
    expect(one.locator(".card-head")).to_contain_text("suspected")
    expect(one.locator(".card-head")).to_contain_text("Redis → RabbitMQ")
    left, right = one.locator(".beside > div").all()
    expect(left.locator(".facts")).to_contain_text(f"{PLACE} · said · just now")
    expect(right.locator(".facts")).to_contain_text(f"{PLACE} · inferred · just now")
    for side, memory, word in ((left, old, "Redis"), (right, new, "RabbitMQ")):
        expect(side.get_by_role("link", name=memory.handle)).to_have_attribute("href", f"/web/memory/{memory.id}")
        expect(side.locator(".facts")).to_contain_text("live")
        expect(side.locator(".facts")).to_contain_text("decision")
        expect(side.locator("del, ins")).to_have_text(word)


def test_a_model_that_suggests_something_is_named(here: Site):
    old, new = two(here)
    with here.memory("codex") as agent:
        agent.relate(new.id, old.id, "supersedes", reason="the newer one says moved", model="judge-7b")
    one = card(here.enter("/web/conflicts"), old, new)

    expect(one.get_by_role("heading")).to_have_text(f"{new.handle} may supersede {old.handle}")
    expect(one.locator(".card-head")).to_contain_text("proposed")
    expect(one.locator(".card-head")).to_contain_text("says judge-7b: the newer one says moved")


@pytest.mark.parametrize(
    ("key", "button", "kind", "told"),
    [
        ("1", "This one holds {old}", "supersedes", "{old} holds; {new} is out of use."),
        ("2", "This one holds {new}", "supersedes", "{new} holds; {old} is out of use."),
        ("b", "Both hold", "compatible", "{old} and {new} both hold."),
        ("c", "Each in its own case", "scoped", "{old} and {new} hold, each in its own case."),
        ("n", "Nothing to do with each other", "unrelated", "{old} and {new} have nothing to do with each other."),
    ],
)
def test_a_person_judges_each_way_by_key_and_by_mouse(here: Site, key: str, button: str, kind: str, told: str):
    old, new = two(here)
    names = {"old": old.handle, "new": new.handle}
    page = here.enter("/web/conflicts")
    one = card(page, old, new)
    for way in ("key", "mouse"):
        expect(one).to_be_visible()
        if way == "key":
            page.keyboard.press(key)
        else:
            one.get_by_role("button", name=button.format(**names)).click()

        expect(toast(page)).to_contain_text(told.format(**names))
        expect(one).to_have_count(0)
        first = new if key == "2" else old
        assert known(here, old, new)[:3] == ("judged", kind, first.handle)
        hidden = {"1": new, "2": old}.get(key)
        assert {each.handle: stands(here, each) for each in (old, new)} == {
            each.handle: "replaced" if each is hidden else "live" for each in (old, new)
        }
        page.keyboard.press("u")
        expect(one).to_be_visible()
        assert known(here, old, new)[0] == "open"


def test_what_contradicts_is_marked_and_stays_open(here: Site):
    old, new = two(here)
    page = here.enter("/web/conflicts")
    one = card(page, old, new)
    for way in ("key", "mouse"):
        expect(one.locator(".card-head")).to_contain_text("suspected")
        if way == "key":
            page.keyboard.press("t")
        else:
            one.get_by_role("button", name="They contradict").click()

        expect(toast(page)).to_contain_text(f"{old.handle} and {new.handle} contradict each other.")
        expect(one.get_by_role("heading")).to_have_text(f"{old.handle} conflicts with {new.handle}")
        expect(one.locator(".card-head")).to_contain_text("judged")
        assert known(here, old, new)[:2] == ("judged", "conflicts")
        page.keyboard.press("u")
    expect(one.locator(".card-head")).to_contain_text("suspected")


def test_a_reason_is_kept_and_enter_in_it_judges_nothing(here: Site):
    old, new = two(here)
    page = here.enter("/web/conflicts")
    page.keyboard.press("r")
    field = card(page, old, new).get_by_role("textbox", name="Why")
    expect(field).to_be_focused()
    page.keyboard.type("both run, 2 queues")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    assert known(here, old, new)[0] == "open"
    page.keyboard.press("b")

    expect(toast(page)).to_contain_text("both hold")
    assert known(here, old, new) == ("judged", "compatible", old.handle, "both run, 2 queues")


def test_what_is_set_aside_leaves_the_list_is_among_the_settled_and_comes_back(here: Site):
    old, new = two(here)
    page = here.enter("/web/conflicts")
    page.keyboard.press("i")

    expect(toast(page)).to_contain_text(f"{old.handle} and {new.handle} are set aside")
    expect(page.get_by_text("Nothing is known that may not both hold")).to_be_visible()
    page.get_by_role("link", name="What is settled").click()
    expect(card(page, old, new).locator(".card-head")).to_contain_text("set aside")
    expect(card(page, old, new).get_by_role("button", name="Set aside")).to_have_count(0)
    page.keyboard.press("u")
    expect(card(page, old, new)).to_have_count(0)
    page.get_by_role("link", name="What is open").click()
    expect(card(page, old, new)).to_be_visible()


def test_whoever_takes_a_verdict_back_stands_at_the_pair_that_came_back(here: Site):
    first = two(here)
    second = two(here, "The gate of the yard is painted green", "The gate of the yard is painted blue")
    page = here.enter("/web/conflicts")
    expect(page.locator("article.pair")).to_have_count(2)
    expect(card(page, *second)).to_have_class(re.compile("current"))
    page.keyboard.press("b")
    expect(card(page, *second)).to_have_count(0)
    expect(card(page, *first)).to_have_class(re.compile("current"))
    page.keyboard.press("u")

    expect(card(page, *second)).to_have_class(re.compile("current"))
    page.keyboard.press("j")
    expect(card(page, *first)).to_have_class(re.compile("current"))


def test_what_was_settled_is_judged_anew_and_stays(here: Site):
    old, new = two(here)
    with here.memory() as memory:
        memory.judge(f"{new.id}~{old.id}", "supersedes")
    page = here.enter("/web/conflicts?settled=yes")
    one = card(page, old, new)
    expect(one.get_by_role("heading")).to_have_text(f"{new.handle} supersedes {old.handle}")
    page.keyboard.press("1")

    expect(one.get_by_role("heading")).to_have_text(f"{old.handle} supersedes {new.handle}")
    page.keyboard.press("b")
    expect(one.get_by_role("heading")).to_have_text(f"{old.handle} is compatible with {new.handle}")
    assert [stands(here, each) for each in (old, new)] == ["live", "live"]


def test_one_that_waits_leads_to_its_card_in_the_inbox(here: Site):
    live, waiting = two(here, "The port of the proxy is 8080", "The port of the proxy is 8081", kind="infra")
    assert waiting.status == "pending"
    page = here.enter("/web/conflicts")
    one = card(page, live, waiting)
    expect(one.get_by_role("button")).to_have_count(0)
    page.keyboard.press("a")

    expect(page).to_have_url(f"{here.origin}/web/inbox/{waiting.id}")
    expect(page.get_by_role("button", name="Approve")).to_be_visible()


def test_a_verdict_that_has_to_wait_or_lets_a_memory_wait_says_so(here: Site):
    with here.memory() as memory:
        rule = memory.remember("Never deploy on a Friday", kind="rule", scope=PLACE, confirm=True).memory
        late = memory.remember("Deploys run whenever the tests are green", scope=PLACE).memory
    page = here.enter(f"/web/conflicts/{late.handle}~{rule.handle}")
    page.keyboard.press("t")

    expect(toast(page)).to_contain_text(f"{late.handle} waits for review now")
    expect(toast(page).get_by_role("link", name="the inbox")).to_be_visible()
    assert stands(here, late) == "pending"
    page.keyboard.press("2")
    expect(page.get_by_role("alert")).to_contain_text(f"{late.handle} waits for review itself.")
    expect(page.get_by_role("alert").get_by_role("link", name=late.handle)).to_be_visible()
    assert known(here, rule, late)[:2] == ("judged", "conflicts")
    page.keyboard.press("a")
    expect(page).to_have_url(f"{here.origin}/web/inbox/{late.id}")


def test_a_long_list_goes_on_by_cursor(here: Site):
    with here.memory() as memory:
        some = [memory.remember(f"{at:c}{at:c} {at:c}ing {at:c}e", scope=PLACE).memory for at in range(97, 123)]
        for one, other in zip(some[::2], some[1::2], strict=True):
            memory.relate(one.id, other.id, "conflicts")
        for one, other in zip(some[1:-1:2], some[2::2], strict=True):
            memory.relate(one.id, other.id, "conflicts")
    page = here.enter("/web/conflicts")
    cards = page.locator("article.pair")
    expect(cards).to_have_count(20)
    page.get_by_role("link", name="More").click()

    expect(cards).to_have_count(25)
    assert len({each.get_attribute("id") for each in cards.all()}) == 25


def test_only_the_pairs_of_one_scope_are_shown(here: Site):
    old, new = two(here)
    page = here.enter("/web/conflicts")
    page.get_by_role("combobox", name="Scope").fill("other")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_text("Nothing conflicts in project:other")).to_be_visible()
    page.get_by_role("link", name="Look everywhere").click()

    expect(card(page, old, new)).to_be_visible()


# Tabs that are behind, and who may judge


@pytest.mark.parametrize("key", ["2", "b", "i"])
def test_a_tab_that_is_behind_judges_nothing_and_shows_the_words_of_now(here: Site, key: str):
    old, new = two(here)
    stale = here.enter("/web/conflicts")
    stale.keyboard.press("r")
    stale.keyboard.type("it was decided")
    stale.keyboard.press("Escape")
    with here.memory() as memory:
        memory.revise(old.id, text=old.text.replace("Redis", "Valkey"))
    stale.keyboard.press(key)
    one = card(stale, old, new)

    expect(one.get_by_role("alert")).to_contain_text(f"{old.handle} is at revision 2, not 1.")
    expect(one).to_contain_text("Use Valkey for the queue")
    expect(one.get_by_role("textbox", name="Why")).to_have_value("it was decided")
    assert known(here, old, new)[0] == "open"
    stale.keyboard.press(key)
    expect(one).to_have_count(0)
    assert known(here, old, new)[0] == ("ignored" if key == "i" else "judged")


def test_two_tabs_do_not_set_aside_what_the_other_judged(here: Site):
    old, new = two(here)
    behind = here.enter("/web/conflicts")
    with here.memory() as memory:
        memory.judge(f"{new.id}~{old.id}", "scoped")
    behind.keyboard.press("i")

    expect(behind.get_by_role("alert")).to_contain_text("was judged already: scoped.")
    expect(card(behind, old, new).locator(".card-head")).to_contain_text("judged")
    assert known(here, old, new)[:2] == ("judged", "scoped")


def test_a_form_that_says_no_verdict_or_no_revision_changes_nothing(here: Site):
    old, new = two(here)
    page = here.enter("/web/conflicts")
    csrf = page.locator("input[name=csrf]").first.input_value()
    sends = """([path, said]) => fetch(path, {method: "POST", body: new URLSearchParams(said)})
        .then(async answer => [answer.status, await answer.text()])"""
    for more, words in (
        ({"revision": 1, "other_revision": 1}, "The form says no verdict."),
        ({"verdict": "compatible", "revision": 1}, "does not say what it was made for"),
        ({"verdict": "related", "revision": 1, "other_revision": 1}, "The form says no verdict."),
    ):
        status, text = page.evaluate(sends, [f"/web/conflicts/{old.id}~{new.id}", {"csrf": csrf, **more}])
        assert (status, words in text) == (422, True)
    assert known(here, old, new)[0] == "open"


# One pair by itself


def test_marks_in_the_search_and_on_a_memory_lead_to_the_pair_and_so_does_what_it_has_to_do_with(here: Site):
    old, new = two(here)
    page = here.enter("/web/search?q=queue")
    page.get_by_role("link", name=f"may conflict with {new.handle}").click()
    expect(card(page, old, new)).to_be_visible()
    page.keyboard.press("t")
    one = card(page, old, new)
    expect(one.get_by_role("heading")).to_have_text(f"{old.handle} conflicts with {new.handle}")

    page.goto(f"{here.origin}/web/memory/{new.id}")
    page.get_by_role("link", name=f"conflicts with {old.handle}").click()
    expect(one).to_be_visible()
    page.goto(f"{here.origin}/web/memory/{new.id}")
    page.get_by_role("link", name=f"judge it beside {old.handle}").click()
    expect(one).to_be_visible()


def test_any_two_memories_are_judged_and_the_card_says_what_holds_then(here: Site):
    with here.memory() as memory:
        tea = memory.remember("Tea is at four", scope=PLACE).memory
        cake = memory.remember("The baker comes on Mondays", scope=PLACE).memory
    page = here.enter(f"/web/conflicts/{cake.handle}~{tea.handle}")
    one = card(page, tea, cake)
    expect(one.get_by_role("heading")).to_have_text(f"{cake.handle} and {tea.handle}")
    page.keyboard.press("n")

    expect(one.get_by_role("heading")).to_have_text(f"{tea.handle} has nothing to do with {cake.handle}")
    page.keyboard.press("2")
    expect(one.get_by_role("heading")).to_have_text(f"{cake.handle} supersedes {tea.handle}")
    for words in ("has nothing to do with", "and"):
        page.keyboard.press("u")
        expect(one.get_by_role("heading")).to_contain_text(words)


def test_what_is_no_pair_is_told(here: Site):
    old, _ = two(here)
    page = here.enter(f"/web/conflicts/{old.handle}~{old.handle}")
    expect(page.get_by_role("alert")).to_contain_text("A pair is of two memories.")
    page.goto(f"{here.origin}/web/conflicts/{old.handle}~mem-9999")
    expect(page.get_by_role("alert")).to_contain_text("There is no memory")


def test_without_scripts_a_pair_is_judged_too(here: Site):
    old, new = two(here)
    page = here.enter("/web/conflicts", java_script_enabled=False)
    with here.memory() as memory:
        memory.revise(old.id, text=old.text.replace("Redis", "Valkey"))
    one = card(page, old, new)
    one.get_by_role("textbox", name="Why").fill("both run")
    one.get_by_role("button", name="Both hold").click()
    expect(page.get_by_role("alert")).to_contain_text("is at revision 2, not 1.")
    expect(one.get_by_role("textbox", name="Why")).to_have_value("both run")
    one.get_by_role("button", name="Both hold").click()

    expect(page.get_by_role("status").first).to_contain_text(f"{old.handle} and {new.handle} both hold.")
    assert known(here, old, new) == ("judged", "compatible", old.handle, "both run")
    page.get_by_role("button", name="Undo").click()
    assert known(here, old, new)[0] == "open"


def test_without_scripts_too_a_verdict_says_what_waits_then(here: Site):
    with here.memory() as memory:
        rule = memory.remember("Never merge on a Sunday", kind="rule", scope=PLACE, confirm=True).memory
        late = memory.remember("Merges happen whenever somebody has read them", scope=PLACE).memory
    page = here.enter(f"/web/conflicts/{late.id}~{rule.id}", java_script_enabled=False)
    page.get_by_role("button", name="They contradict").click()
    told = page.get_by_role("status").first

    expect(told).to_contain_text(f"{rule.handle} and {late.handle} contradict each other. {late.handle} waits for")
    told.get_by_role("link", name="the inbox").click()
    expect(page.get_by_role("article", name=late.handle)).to_be_visible()


def test_pictures_of_conflicts(here: Site, tmp_path: Path):
    two(
        here, "The staging database is Postgres 14", "We upgraded the staging database to Postgres 16", kind="infra"
    )
    used = ("Use Redis for the queue of the shop", "Use RabbitMQ for the queue of the shop")
    old, new = two(here, *used, kind="decision")
    two(here, "The port of the gateway is 8080", "The port of the gateway is 8081", kind="infra")
    page = here.enter("/web/conflicts")
    expect(page.locator("article.pair")).to_have_count(3)
    pictures(page, "conflicts", tmp_path)
    page.goto(f"{here.origin}/web/conflicts/{old.id}~{new.id}")
    page.set_viewport_size(NARROW)
    page.keyboard.press("1")
    expect(toast(page)).to_contain_text("out of use")
    expect(card(page, old, new).get_by_role("button", name="Both hold")).to_be_visible()
