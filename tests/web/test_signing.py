"""Signing in to a team's page with a real provider, and what the page then shows to whom."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect

from surfaces.identities import Provider, provider
from surfaces.teams import running
from web.browsing import PATIENCE, serious

PEOPLE = {
    "ada": {"email": "ada@example.org", "email_verified": True},
    "ben": {"email": "ben@example.org", "email_verified": True},
    "cyd": {"email": "cyd@example.org", "email_verified": True},  # who saves nothing
    "dan": {"email": "dan@example.org", "email_verified": True},
}
RESOURCE = "https://memory.example.org"
SETTINGS = """
oidc_client = "app"
oidc_audience = "https://memory.example.org"
requests_per_minute = 0

[grants."project:api"]
writer = ["ada"]
reader = ["ben@example.org", "cyd@example.org"]
reviewer = ["dan@example.org"]
"""


class Team(NamedTuple):
    """A team's server, its provider, and a browser."""

    port: int
    provider: Provider
    browser: Browser

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def signed_in(self, name: str) -> Page:
        """A page of somebody who signed in by the provider's own pages."""
        context = self.browser.new_context()
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.goto(f"{self.url}/web/")
        page.goto(f"{self.url}/web/history")
        self.goes_by_the_provider(page, name)
        page.wait_for_url(f"{self.url}/web/*")
        return page

    def goes_by_the_provider(self, page: Page, name: str) -> None:
        """From the form to sign in, by the provider's own pages, to whatever the server says then."""
        page.get_by_role("button", name="Sign in").click()
        page.locator("input[name=login]").fill(name)
        page.locator("input[name=password]").fill("any")
        page.get_by_role("button").first.click()
        page.get_by_role("button", name="Continue").click()


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[Team]:
    folder = tmp_path_factory.mktemp("team")
    with (
        provider(PEOPLE, tmp_path_factory.mktemp("provider")) as known,
        running(folder, known, SETTINGS) as (port, _),
    ):
        yield Team(port, known, browser)
        for context in browser.contexts:
            context.close()


def test_somebody_signs_in_with_the_provider_and_out_again(team: Team):
    page = team.signed_in("ada")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    leave = page.get_by_role("button", name="Sign out ada@example.org")
    cookie = next(one for one in page.context.cookies() if one["name"] == "engram")

    assert (cookie["path"], cookie["sameSite"], cookie["httpOnly"]) == ("/web", "Strict", True)
    leave.click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_each_sees_what_is_theirs(team: Team):
    ada, ben = (team.provider.person(name, RESOURCE) for name in ("ada", "ben"))
    for token, text in ((ada, "Ada keeps a private quokka"), (ben, "Ben keeps a private numbat")):
        connection = http.client.HTTPConnection("127.0.0.1", team.port, timeout=20)
        connection.request("POST", "/v1/memories", f'{{"text": "{text}"}}', {"authorization": f"Bearer {token}"})
        assert connection.getresponse().status == 200
        connection.close()
    page = team.signed_in("ada")
    page.goto(f"{team.url}/web/history")

    expect(page.locator("main")).to_contain_text("quokka")
    expect(page.locator("main")).not_to_contain_text("numbat")


def test_a_role_hides_what_it_may_not_do_and_the_server_refuses_it(team: Team):
    ada = team.provider.person("ada", RESOURCE)
    connection = http.client.HTTPConnection("127.0.0.1", team.port, timeout=20)
    said = '{"text": "The api is frozen in May", "kind": "rule", "scope": "project:api", "visibility": "shared"}'
    connection.request("POST", "/v1/memories", said, {"authorization": f"Bearer {ada}"})
    id = json.loads(connection.getresponse().read())["memory"]["id"]
    reader, owner = team.signed_in("ben"), team.signed_in("ada")
    for page in (reader, owner):
        page.goto(f"{team.url}/web/memory/{id}")

    expect(reader.locator(".said")).to_have_text("The api is frozen in May")
    expect(reader.locator("main").get_by_role("button")).to_have_count(0)
    expect(owner.locator("main").get_by_role("button", name="Pin")).to_be_visible()
    expect(owner.locator("main").get_by_role("button", name="Make private")).to_be_visible()
    reader.goto(f"{team.url}/web/inbox")
    expect(reader.get_by_text("Nothing waits for you")).to_be_visible()
    csrf = reader.locator("input[name=csrf]").first.input_value()
    sends = """([path, csrf]) => fetch(path, {method: "POST", body: new URLSearchParams(
        {csrf, revision: 1, confirm: "yes"})}).then(answer => answer.status)"""
    assert reader.evaluate(sends, [f"/web/inbox/{id}/approve", csrf]) == 403
    assert reader.evaluate(sends, [f"/web/memory/{id}/pin", csrf]) == 403
    assert reader.evaluate(sends, [f"/web/memory/{id}/unshare", csrf]) == 403


def saved(team: Team, name: str, **said: str) -> tuple[str, str]:
    """The id and the handle of what somebody remembers."""
    headers = {"authorization": f"Bearer {team.provider.person(name, RESOURCE)}"}
    connection = http.client.HTTPConnection("127.0.0.1", team.port, timeout=20)
    connection.request("POST", "/v1/memories", json.dumps(said), headers)
    made = json.loads(connection.getresponse().read())["memory"]
    connection.close()
    return made["id"], made["handle"]


def test_a_pair_that_is_anothers_is_shown_and_judged_by_nobody_else(team: Team):
    shared = {"scope": "project:api", "visibility": "shared"}
    first, handle = saved(team, "ada", text="Use Redis for the archive of the shop", **shared)
    second, _ = saved(team, "ada", text="Use RabbitMQ for the archive of the shop", **shared)
    reader, owner = team.signed_in("ben"), team.signed_in("ada")
    for page in (reader, owner):
        page.goto(f"{team.url}/web/search?q=archive+shop")
        expect(page.locator(".chip.warn", has_text=f"may conflict with {handle}")).to_be_visible()
    mark = f"may conflict with {handle}"
    expect(reader.get_by_role("link", name=mark)).to_have_count(0)
    owner.get_by_role("link", name=mark).click()
    expect(owner.get_by_role("button", name="Both hold")).to_be_visible()
    path = f"/web/conflicts/{first}~{second}"
    reader.goto(team.url + path)

    expect(reader.get_by_role("article")).to_contain_text("Use RabbitMQ for the archive of the shop")
    expect(reader.locator("main").get_by_role("button")).to_have_count(0)
    csrf = reader.locator("input[name=csrf]").first.input_value()
    sends = """([path, csrf, verdict]) => fetch(path, {method: "POST", body: new URLSearchParams(
        {csrf, verdict, revision: 1, other_revision: 1})}).then(answer => answer.status)"""
    for verdict in ("first", "compatible", "aside"):
        assert reader.evaluate(sends, [path, csrf, verdict]) == 403


def test_what_is_anothers_is_put_out_of_use_by_nobody_else(team: Team):
    theirs, _ = saved(team, "ada", text="The wiki is at one", scope="project:api", visibility="shared")
    own, handle = saved(team, "ben", text="The wiki moved to two", scope="global")
    page = team.signed_in("ben")
    page.goto(f"{team.url}/web/conflicts/{theirs}~{own}")
    page.get_by_role("button", name="Both hold").click()

    expect(page.get_by_role("heading", name="is compatible with")).to_be_visible()
    expect(page.get_by_role("button", name="This one holds")).to_have_count(1)
    expect(page.get_by_role("button", name=f"This one holds {handle}")).to_have_count(0)


@pytest.mark.parametrize(
    ("path", "kind", "name"),
    [("search?q=walrus", "fact", "ben"), ("next?scope=project:api", "fact", "ben"), ("inbox", "rule", "dan")],
)
def test_what_somebody_else_said_has_their_name_and_ones_own_has_none(team: Team, path: str, kind: str, name: str):
    text = f"The walrus guards the {kind} of the api"
    body = json.dumps({"text": text, "kind": kind, "scope": "project:api", "visibility": "shared"})
    headers = {"authorization": f"Bearer {team.provider.person('ada', RESOURCE)}", "engram-agent": "codex"}
    connection = http.client.HTTPConnection("127.0.0.1", team.port, timeout=20)
    connection.request("POST", "/v1/memories", body, headers)
    assert connection.getresponse().status == 200
    connection.close()
    other, owner = team.signed_in(name), team.signed_in("ada")
    for page in (other, owner):
        page.goto(f"{team.url}/web/{path}")
        expect(page.locator("main")).to_contain_text(text)

    lines = ".hit > .facts, .brief-line, .card-head"
    expect(other.locator(lines).filter(has_text="ada@example.org").first).to_be_visible()
    expect(owner.locator(lines).filter(has_text="ada@example.org")).to_have_count(0)


@pytest.mark.parametrize(
    "path", ["next?scope=project:api", "conflicts", "health", "files", "timeline", "stats", "graph"]
)
def test_a_reader_is_offered_nothing_that_writes_where_nothing_is_theirs(team: Team, path: str):
    reader = team.signed_in("cyd")
    reader.goto(f"{team.url}/web/{path}")
    expect(reader.get_by_role("status").filter(has_text="…")).to_have_count(0)

    expect(reader.get_by_role("heading", level=1)).to_be_visible()
    expect(reader.locator("main form[method=post]")).to_have_count(0)


def test_nobody_copies_or_mends_the_store_of_a_team_from_its_page(team: Team):
    page = team.signed_in("ada")
    page.goto(f"{team.url}/web/health")
    expect(page.get_by_role("region", name="Last backup")).to_be_visible()
    csrf = page.locator("input[name=csrf]").first.input_value()
    mends = """([mend, csrf]) => fetch("/web/health/fix", {method: "POST", body: new URLSearchParams(
        {csrf, mend})}).then(answer => answer.status)"""

    assert page.get_by_role("button", name="Make a backup").count() == 0
    assert [page.evaluate(mends, [mend, csrf]) for mend in ("backup", "fix")] == [403, 403]


def test_a_code_that_another_browser_asked_for_opens_nothing(team: Team):
    context = team.browser.new_context()
    page = context.new_page()
    page.goto(f"{team.url}/web/login/done?code=stolen&state=guessed")

    expect(page.get_by_role("alert")).to_contain_text("Signing in did not work.")
    assert not [one for one in context.cookies() if one["name"] == "engram"]


def test_a_token_in_a_cookie_opens_neither_the_page_nor_the_operations(team: Team):
    token = team.provider.person("ada", RESOURCE)
    for path in ("/v1/stats", "/web/history"):
        connection = http.client.HTTPConnection("127.0.0.1", team.port, timeout=20)
        connection.request("GET", path, headers={"cookie": f"engram={token}"})
        assert connection.getresponse().status == 401
        connection.close()


def test_the_page_to_sign_in_is_fit_for_everybody(team: Team, tmp_path: Path):
    page = team.browser.new_page()
    page.goto(f"{team.url}/web/")
    page.screenshot(path=tmp_path / "login.png")

    assert serious(page) == []


def test_somebody_of_several_workspaces_is_asked_which_and_then_told_where_they_stand(
    tmp_path_factory: pytest.TempPathFactory, browser: Browser
):
    people = {"ada": {"spaces": ["red", "blue"]}}
    settings = 'oidc_client = "app"\noidc_audience = "https://memory.example.org"\nworkspaces_claim = "spaces"\n'
    with (
        provider(people, tmp_path_factory.mktemp("provider")) as known,
        running(tmp_path_factory.mktemp("spaces"), known, settings) as (port, _),
    ):
        spaces = Team(port, known, browser)
        unsaid, said = browser.new_context().new_page(), browser.new_context().new_page()
        for page in (unsaid, said):
            page.set_default_timeout(PATIENCE)
            page.goto(f"{spaces.url}/web/")
        said.get_by_role("textbox", name="Workspace").fill("red")
        for page in (unsaid, said):
            spaces.goes_by_the_provider(page, "ada")

        expect(unsaid.get_by_role("alert")).to_contain_text("say below which one")
        expect(unsaid.get_by_role("alert")).not_to_contain_text("header")
        expect(said.get_by_role("banner").get_by_title("The workspace you stand in")).to_have_text("red")
        for page in (unsaid, said):
            page.context.close()
