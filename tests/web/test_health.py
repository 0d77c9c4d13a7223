"""The health page: three numbers that must be equal, a check that is kept, and a button for what ails."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import engram
from engram.model.caller import Caller
from engram.model.change import Request
from engram.model.memory import Memory
from engram.rules.changes import Step, compose
from engram.surfaces.web import health
from engram.surfaces.web.frame import Asked, Look
from engram.surfaces.web.visits import Visit
from engram.wiring.clock import new_id
from web.browsing import Site, serious, site

KEY = "AKIA" + "IOSFODNN7EXAMPLQ"


@pytest.fixture
def here(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Site]:
    with site(tmp_path_factory.mktemp("health"), browser) as one:
        with one.memory() as memory:
            for text in ("The lamp is lit at dusk", "Ropes are coiled by hand", "Tea is at four"):
                memory.remember(text)
        yield one


def whole(page: Page) -> Locator:
    return page.locator("#sign-whole")


def numbers(page: Page) -> str:
    return " ".join(whole(page).locator(".tallies").inner_text().split())


def test_rows_full_text_and_vectors_are_told_side_by_side(here: Site):
    page = here.enter("/web/health")

    expect(whole(page)).to_contain_text("chain of 3 events is intact")
    assert numbers(page) == "rows 3 full text = 3 vectors none"
    expect(whole(page)).to_contain_text("sqlite")


def test_a_check_is_kept_until_it_is_asked_for_again_and_damage_is_mended_by_a_button(here: Site):
    page = here.enter("/web/health")
    expect(whole(page)).to_contain_text("Checked just now")
    db = apsw.Connection(str(here.folder / "store.db"))
    db.execute("DELETE FROM words WHERE rowid = 1")  # no event tells of it
    db.close()
    page.reload()
    expect(whole(page)).to_have_attribute("aria-label", "Whole")
    page.keyboard.press("j")
    page.keyboard.press("o")
    expect(whole(page)).to_have_attribute("aria-label", "Not whole")
    assert "rows 3 full text ≠ 2" in numbers(page)
    assert serious(page) == []
    whole(page).get_by_role("button", name="Mend it").click()
    expect(page.locator("#toasts")).to_contain_text("mended")
    expect(whole(page)).to_have_attribute("aria-label", "Whole")
    assert "rows 3 full text = 3" in numbers(page)


def test_who_asks_while_a_check_goes_on_waits_for_it(tmp_path: Path):
    with engram.open(str(tmp_path / "store.db")) as memory:
        for number in range(200):
            memory.remember(f"Buoy number {number} is red")
        asked = Asked(memory, Visit("", "", 0), Look(()), {}, {}, {}, part=True)
        with ThreadPoolExecutor(4) as pool:
            answers = [pool.submit(health.check, asked) for _ in range(4)]
            told = {answer.result().body for answer in answers}
        report = health._CHECKED[memory.engine].report
        assert len(told) == 1
        assert health._checked(asked, anew=False) is report


def test_what_was_checked_for_an_admin_is_shown_to_nobody_else(tmp_path: Path):
    with engram.open(str(tmp_path / "store.db")) as memory:
        admin = memory.speaking_for(Caller(org="acme", owner="gus", roles=frozenset({"admin"})), "web")
        member = memory.speaking_for(Caller(org="acme", owner="ben"), "web")
        asked = Asked(admin, Visit("", "", 0), Look(()), {}, {}, {}, part=True)
        told = bytes(health.check(asked).body).decode()

        assert "sign-whole" in told
        for _ in range(2):  # whether a check is kept or not
            refused = bytes(health.check(asked._replace(engram=member)).body).decode()
            assert "Only an admin may check the store." in refused
            assert str(tmp_path) not in refused
        assert bytes(health.check(asked).body).decode() == told


def test_what_is_said_in_two_places_leads_to_both(here: Site):
    with here.memory() as memory:
        memory.remember("The tide turns at six", scope="project:harbour")
        memory.remember("The tide turns at six", scope="project:beach")
    page = here.enter("/web/health")
    twice = page.get_by_role("region", name="Said twice")
    expect(twice).to_contain_text("2 memories")
    twice.get_by_role("link", name="Look at Said twice").click()
    row = page.get_by_role("region", name="Junk").get_by_role("definition").filter(has_text="another scope")
    expect(row.get_by_role("link")).to_have_count(2)


def test_every_near_repeat_can_be_seen_and_one_stale_memory_is_one(tmp_path: Path, browser: Browser):
    names = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath")
    old = datetime.now(UTC) - timedelta(days=500)
    with site(tmp_path, browser) as one:
        with one.memory() as memory:
            for name in names:
                said = (
                    f"On the {name} quay all of the heavy crates are stacked up by the crew of the crane before the"
                )
                for end in ("evening tide comes in", "evening tide then comes in"):
                    memory.remember(f"{said} {end}", scope=f"project:{name}", dedupe="create")
        with engram.open(str(tmp_path / "store.db"), clock=lambda: old) as memory:
            memory.remember("The lamp is lit at dusk", kind="fact")
        page = one.enter("/web/health")
        row = page.get_by_role("region", name="Junk").get_by_role("definition").filter(has_text="say nearly")

        expect(page.get_by_role("region", name="Junk")).to_contain_text("in use or waiting")
        expect(row.locator("li:visible")).to_have_count(5)
        row.get_by_text("and 3 more").click()
        expect(row.locator("li:visible")).to_have_count(8)
        expect(page.get_by_role("region", name="Stale")).to_contain_text("past its freshness")


def test_pairs_that_were_looked_for_are_taken_back_in_one_step(tmp_path: Path, browser: Browser):
    with site(tmp_path, browser) as one:
        with one.memory() as memory:
            for text in ("The staging database is Postgres 14", "We upgraded the staging database to Postgres 16"):
                memory.remember(text)
        page = one.enter("/web/health")
        page.get_by_role("region", name="Conflicts").get_by_role("button", name=re.compile("Look for")).click()
        expect(page.locator("#toasts")).to_contain_text("proposed")
        with one.memory() as memory:
            assert [pair.status for pair in memory.conflicts().pairs] == ["proposed"]
        page.locator("#toasts").get_by_role("button", name="Undo").click()
        expect(page.locator("#toasts")).to_contain_text("Took back proposal")
        with one.memory() as memory:
            assert "proposed" not in [pair.status for pair in memory.conflicts().pairs]


def test_what_is_written_is_checked_without_being_asked_for(here: Site):
    page = here.enter("/web/health")
    expect(whole(page)).to_contain_text("chain of 3 events")
    with here.memory() as memory:
        memory.remember("The bell rings twice")
    page.reload()
    expect(whole(page)).to_contain_text("chain of 4 events")


def test_secrets_are_shown_before_they_are_taken_out_for_good(here: Site):
    with here.memory() as memory:
        now = datetime.now(UTC)
        planted = Memory(
            id=new_id(), text=f"The key is {KEY}", kind="infra", owner="", status="promoted", created_at=now,
            updated_at=now,
        )  # fmt: skip
        request = Request(caller=Caller(), now=now, batch=new_id(), fresh=new_id(), salt=new_id())
        memory.engine.commit(compose("remember", request, [Step(None, planted)]))
    page = here.enter("/web/health")
    junk = page.get_by_role("region", name="Junk")
    expect(junk).to_contain_text("Secrets")
    junk.get_by_role("link", name="Show what would be taken out").click()
    expect(junk).to_contain_text("1 memory would be replaced by a clean copy")
    assert serious(page) == []
    junk.get_by_role("button", name="Take them out, for good").click()
    expect(page.locator("#toasts")).to_contain_text("Secrets were taken out of 1 memory")
    expect(junk).not_to_contain_text("Secrets")
    with here.memory() as memory:
        assert not any(KEY in one.text for one in memory.list(everywhere=True).memories)
