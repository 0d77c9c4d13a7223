"""What every profile has from the server: a person who is asked, prompts and instructions, and fewer tools."""

import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client

from engram.errors import Invalid
from engram.interop import keyed, memory_v1, observations, records
from engram.interop.tools import Profile
from engram.model.caller import Caller
from engram.model.memory import Memory
from engram.model.scope import Scope
from engram.service import Engram
from engram.surfaces.mcp import pages
from engram.surfaces.mcp.command import read
from engram.surfaces.mcp.server import build, instructions, offered, registered
from engram.surfaces.mcp.tools import native
from interop.talking import Talk, opened
from rules.world import World

PROFILES: dict[str, Profile] = {
    one.name: one for one in (native(), observations.PROFILE, records.PROFILE, memory_v1.PROFILE, keyed.PROFILE)
}
NAME = "My legal name is Alex Rivera"
SAVES: dict[str, tuple[str, dict[str, Any]]] = {
    "native": ("remember", {"text": NAME, "kind": "identity", "scope": "global"}),
    "observations": ("mem_save", {"title": "Name", "content": NAME, "type": "identity"}),
    "records": ("store_rule", {"content": NAME, "scope": "rule:repo:acme", "summary": "The name"}),
    "memory-v1": ("remember", {"fact": NAME, "kind": "identity"}),
    "keyed": ("save", {"key": "name", "value": NAME, "category": "identity"}),
}
"""Profile → a tool of it that saves something curated."""

DECIDED = {
    "approve": ("promoted", "The person approved it."),
    "reject": ("rejected", "The person rejected it"),
    "later": ("pending", "The person has not decided"),
}
"""Decision → the status that comes of it, and what the tool says."""

in_both_eras = pytest.mark.parametrize("era", ["auto", "legacy"])
in_every_profile = pytest.mark.parametrize("name", list(PROFILES))

Elicits = Callable[[Any, types.ElicitRequestFormParams], Awaitable[types.ElicitResult]]


@pytest.fixture
def agent(tmp_path: Path) -> Engram:
    return opened(tmp_path, "alex", project="acme")


def the_only(memory: Engram) -> Memory:
    (found,) = memory.list(everywhere=True, standing=["all"]).memories
    return found


def called(memory: Engram, name: str, era: str, elicits: Elicits) -> types.CallToolResult:
    """What a tool of this profile that saves something curated answers, with this person at the client."""
    tool, said = SAVES[name]

    async def work() -> types.CallToolResult:
        server = build(lambda: memory, [PROFILES[name]])
        async with Client(server, mode=era, elicitation_callback=elicits) as client:
            return await client.call_tool(tool, said)

    return anyio.run(work)


def answering(action: str = "accept", meanwhile: Callable[[], object] = lambda: None, **content: str) -> Elicits:
    async def elicits(_: object, params: types.ElicitRequestFormParams) -> types.ElicitResult:
        assert NAME in params.message
        meanwhile()
        return types.ElicitResult(action=action, content=content or None)

    return elicits


# A person who is asked


@in_both_eras
@in_every_profile
@pytest.mark.parametrize("decision", list(DECIDED))
def test_a_person_is_asked_whatever_tool_saved_what_waits(agent, name, era, decision):
    result = called(agent, name, era, answering(decision=decision))
    status, told = DECIDED[decision]

    assert not result.is_error
    assert told in result.content[0].text
    assert the_only(agent).status == status


@pytest.mark.parametrize("name", ["observations", "keyed"])
def test_where_results_are_json_the_decision_is_told_in_json(agent, name):
    body = json.loads(called(agent, name, "auto", answering(decision="approve")).content[0].text)

    shown = body if name == "observations" else body["memory"]
    assert shown["id"] in (1, the_only(agent).id)
    assert "approved" in str(body)


@in_both_eras
@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_what_changed_while_the_person_was_asked_waits_on(tmp_path, agent, era, decision):
    other = opened(tmp_path, "alex", project="acme")

    def rewrite() -> None:
        other.revise(the_only(other).id, text="My refunds go to account EVIL", kind="fiscal")

    result = called(agent, "native", era, answering(meanwhile=rewrite, decision=decision))

    assert "It was changed after the person saw it" in result.content[0].text
    assert (the_only(agent).status, the_only(agent).text) == ("pending", "My refunds go to account EVIL")


@in_both_eras
def test_what_somebody_else_decided_meanwhile_stands(tmp_path, agent, era):
    person = opened(tmp_path, "alex", human=True, project="acme")

    def reject() -> None:
        person.reject(the_only(person).id)

    result = called(agent, "native", era, answering(meanwhile=reject, decision="approve"))

    assert "The person's answer was not carried out." in result.content[0].text
    assert the_only(agent).status == "rejected"


@in_both_eras
def test_an_approval_that_cannot_be_kept_is_an_error(tmp_path, agent, era):
    result = called(agent, "native", era, answering(meanwhile=agent.close, decision="approve"))

    assert result.is_error
    assert result.structured_content["code"] == "unavailable"
    assert the_only(opened(tmp_path, "alex")).status == "pending"


@in_both_eras
def test_the_person_who_approved_in_a_form_is_named_and_not_the_agent(agent, era):
    called(agent, "keyed", era, answering(decision="approve"))

    assert "codex" not in the_only(agent).approved_by
    assert the_only(agent).approved_by


def test_what_is_only_read_asks_nobody(agent):
    agent.remember(NAME, kind="identity")
    asked = []

    async def work() -> None:
        async def elicits(*told: object) -> types.ElicitResult:
            asked.append(told)
            return types.ElicitResult(action="cancel")

        async with Client(build(lambda: agent, [records.PROFILE]), elicitation_callback=elicits) as client:
            await client.call_tool("get_memory", {"id": the_only(agent).id})

    anyio.run(work)
    assert asked == []


# Prompts and instructions


def spoken_of(text: str) -> set[str]:
    """The tools of any profile that a text names; plain words such as list and save may be just that."""
    names = {tool.name for profile in PROFILES.values() for tool in profile.tools}
    return {word for word in re.findall(r"[a-z_]+", text) if word in names and ("_" in word or word == "remember")}


@in_every_profile
def test_prompts_and_instructions_speak_of_tools_that_are_there(agent, name):
    profile = PROFILES[name]
    entries = registered([profile])
    told = instructions(entries)
    texts = [prompt.run(agent) for prompt in offered([profile], entries).values()]

    assert len(texts) >= 2
    assert len(profile.instructions) >= 2
    for text in (told, *texts):
        assert spoken_of(text) <= set(entries)
    assert all(any(tool in text for tool in entries) for text in texts)


@in_every_profile
def test_every_instruction_and_prompt_names_tools_of_its_profile(name):
    profile = PROFILES[name]
    tools = {tool.name for tool in profile.tools}

    assert {word for names in profile.instructions for word in names.split()} <= tools
    assert {word for prompt in profile.prompts for word in prompt.tools} <= tools


def test_a_server_with_fewer_tools_speaks_of_those_alone():
    (fewer,), *_ = read(["--tools=mem_save"])
    entries = registered([fewer])

    assert spoken_of(instructions(entries)) == {"mem_save"}
    assert list(offered([fewer], entries)) == ["save_well"]


def test_prompts_begin_with_what_is_known_in_the_profiles_own_words(agent):
    agent.remember("We deploy on Fridays")
    start = {name: profile.prompts[0].run(agent) for name, profile in PROFILES.items()}

    assert all("We deploy on Fridays" in text for text in start.values())
    assert "[#1," in start["observations"]
    assert "mem_search" in start["observations"]
    assert "[mem-0001," in start["records"]


# Pages


def test_pages_leave_out_what_comes_on_demand_and_say_where_they_end(agent, monkeypatch):
    agent.remember("Warm the caches, please", kind="prompt")
    for number in range(3):
        agent.remember(f"Server {'x' * number} is cold")
    assert "Warm" not in pages.facts_page(agent)
    assert "and more" not in pages.facts_page(agent)
    monkeypatch.setattr(pages, "MOST_FACTS", 2)
    for text in (pages.facts_page(agent), pages.project_page(agent, "acme")):
        assert text.count("is cold") == 2
        assert text.endswith("… and more: these are the newest 2. Ask for the rest.\n\n</engram-memory>")


# Fewer tools


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (["--tools=agent"], 19),
        (["--tools", "admin"], 4),
        (["--tools=agent, admin"], 23),
        (["--tools=all,mem_save"], 23),
        (["--tools="], 12),
        (["--tools=remember,recall"], 2),
        (["--profile", "observations", "--tools=mem_save,mem_search"], 2),
        (["--profile=observations,native", "--tools=agent,recall"], 20),
        (["--profile=records", "--tools=get_memory"], 1),
    ],
)
def test_only_the_tools_that_are_named_are_served(words, count):
    profiles, *_ = read(words)

    assert len(registered(profiles or [native()])) == count


@pytest.mark.parametrize(
    "words", [["--tools=nope"], ["--tools=recall,rember"], ["--profile=records", "--tools=agent"]]
)
def test_a_tool_that_is_not_there_is_refused_at_the_start(words):
    with pytest.raises(Invalid, match="There is no tool"):
        read(words)


ON_A_BRANCH: dict[str, tuple[str, dict[str, Any], str, dict[str, str]]] = {
    "observations": (
        "mem_save",
        {"title": "Retries", "content": "We retry five times"},
        "mem_timeline",
        {"observation_id": "id"},
    ),
    "records": (
        "store_memory",
        {"content": "We retry five times", "scope": "repo:acme", "source": "user-said", "category": "gotcha"},
        "get_memory",
        {"id": "id"},
    ),
    "keyed": ("save", {"key": "retries", "value": "We retry five times", "scope": "project"}, "get", {"id": "id"}),
}
"""Profile → a tool that saves into the project, and one that shows what was saved."""


@pytest.mark.parametrize("name", list(ON_A_BRANCH))
def test_no_tool_says_that_what_is_live_on_the_branch_waits_for_a_person(name: str):
    world = World(home=Scope("project", "acme"))
    talk = Talk(PROFILES[name], world.as_(Caller(human=False, view="acme#feature")))
    saves, said, shows, refs = ON_A_BRANCH[name]
    answer = talk.answer(saves, **said)
    one = the_only(talk.memory)
    assert (one.staged, one.waiting) == (True, False)
    id = 1 if name == "observations" else one.id
    answers = [answer, talk.answer(shows, **dict.fromkeys(refs, id))]
    told = "\n".join(f"{each.text}\n{json.dumps(each.structured)}" for each in answers)

    assert "feature" in answer.text
    assert not re.search(r"waits|pending", told)


PORT = "The port is 8080"
SAYS_AGAIN: dict[str, tuple[str, dict[str, Any]]] = {
    "native": ("remember", {"text": PORT}),
    "observations": ("mem_save", {"title": "Port", "content": PORT, "scope": "global"}),
    "records": (
        "store_memory",
        {"content": PORT, "scope": "global", "source": "agent-inferred", "category": "decision"},
    ),
    "memory-v1": ("remember", {"fact": PORT}),
    "keyed": ("save", {"key": "port", "value": PORT, "pinned": True}),
}
"""Profile → a tool of it that says a memory's own words again."""


@in_every_profile
def test_an_agent_that_takes_its_proposal_back_is_told_so_by_every_tool_that_saves(name: str):
    world = World()
    mine = world.person.remember(PORT, key="port").memory
    waits = world.agent.revise(mine.id, text="The port is 9090").memory
    saves, said = SAYS_AGAIN[name]
    answer = Talk(PROFILES[name], world.agent).answer(saves, **said)

    assert world.stands(waits.id) == "forgotten"
    told = (
        f"Your proposal {waits.handle} to change it was taken back; bring it back: engram restore {waits.handle}."
    )
    assert told in answer.text
