"""The MCP server as the official client meets it: by every way, in both eras of the protocol."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from engram.errors import Invalid
from engram.model.text import tokens
from engram.service import OPERATIONS
from engram.surfaces.mcp.server import build, instructions, registered
from engram.surfaces.mcp.tools import MOST, SHOWN, native
from surfaces.driving import Driver
from surfaces.mcp_clients import ERAS, WAYS, connected

pytestmark = pytest.mark.anyio
by_every_way = pytest.mark.parametrize("way", WAYS)
in_both_eras = pytest.mark.parametrize("era", ERAS)
PUBLISHED = Path(__file__).with_name("tools.json")
SCOPE = "project:acme-api"


@pytest.fixture
def anyio_backend() -> str:
    """The client and the server run on asyncio, as they do outside."""
    return "asyncio"


async def said(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The structured answer of a tool that must succeed."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


async def failed(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """The body of the error a tool must answer with; the text twin says the same."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    body = result.structured_content
    assert body is not None
    assert set(body) == {"code", "message", "hint"}
    assert body["code"] in result.content[0].text
    assert body["message"] in result.content[0].text
    return body


# A day of work


@by_every_way
@in_both_eras
async def test_an_agent_works_a_day_with_all_twelve_tools(engram: Driver, way: str, era: str):
    async with connected(way, era, engram.folder) as client:
        assert client.protocol_version == ERAS[era]
        assert {tool.name for tool in (await client.list_tools()).tools} == set(SHOWN)
        used = await a_day_of_work(client)

    assert used == set(SHOWN)
    assert engram("list", "--scope", SCOPE, "--json").json["memories"], "what the agent saved is the person's too"


async def a_day_of_work(client: Client) -> set[str]:
    """Begin, look, save, change one's mind, judge, forget, sum up; the tools that were used."""
    used: set[str] = set()

    async def does(tool: str, **arguments: Any) -> dict[str, Any]:
        used.add(tool)
        return await said(client, tool, **arguments)

    begun = await does("session_begin", session="monday")
    assert begun["session"]["id"] == "monday"
    assert (await does("context"))["text"] == ""

    chosen = await does(
        "remember", text="Billing uses PostgreSQL 15", kind="decision", key="billing-db", scope=SCOPE
    )
    assert chosen["outcome"] == "new"
    id = chosen["memory"]["id"]
    again = await does(
        "remember", text="Billing uses PostgreSQL 15", kind="decision", key="billing-db", scope=SCOPE
    )
    assert (again["outcome"], again["memory"]["id"]) == ("repeated", id)
    other = await does("remember", text="Invoices go out on the 3rd", scope=SCOPE, session="monday", tag="billing")

    hits = (await does("recall", question="which database does billing use?", scope=SCOPE))["hits"]
    assert hits[0]["id"] == id
    assert {"kind", "scope", "text", "score", "relevance"} <= set(hits[0])

    await does("revise", memory=id, text="Billing uses PostgreSQL 16")
    assert "verified" in (await does("verify", memory=id))["memories"][0]
    shown = (await does("get", memory=id, around=2))["memories"][0]
    assert shown["text"] == "Billing uses PostgreSQL 16"
    assert shown["full_id"] != id
    assert shown["session"] == "monday", "no call named it"

    related = await does("relate", memory=id, other=other["memory"]["id"], kind="related", reason="both bill")
    judged = await does("judge", relation=related["relation"]["id"], kind="unrelated", reason="they are not")
    assert judged["relation"]["kind"] == "unrelated"

    await does("forget", memory=other["memory"]["id"], reason="moved to the calendar")
    left = await does("list", scope=SCOPE)
    assert [memory["id"] for memory in left["memories"]] == [id]
    ended = await does(
        "session_end", session="monday", summary="Goal: choose a database. Accomplished: it is chosen."
    )
    assert ended["summary"]["kind"] == "summary"
    assert "choose a database" in (await does("context"))["text"]
    return used


@by_every_way
@in_both_eras
async def test_an_agent_reads_the_pages(engram: Driver, way: str, era: str):
    engram.remember("Staging runs on PostgreSQL 16", "--scope", "global")
    engram.remember("Acme's API answers in JSON", "--scope", "project:github.com/acme/api")
    async with connected(way, era, engram.folder) as client:
        listed = {one.uri for one in (await client.list_resources()).resources}
        templates = {one.uri_template for one in (await client.list_resource_templates()).resource_templates}
        pages = {
            uri: (await client.read_resource(uri)).contents[0]
            for uri in (*listed, "memory://memory/mem-0001", "memory://project/github.com/acme/api")
        }
        encoded = await client.read_resource("memory://project/github.com%2Facme%2Fapi")

    assert listed == {"memory://recall", "memory://facts"}
    assert templates == {"memory://memory/{id}", "memory://cited/{path}", "memory://project/{name}"}
    assert {page.mime_type for page in pages.values()} == {"text/markdown"}
    for uri in ("memory://recall", "memory://facts", "memory://memory/mem-0001"):
        assert "Staging runs on PostgreSQL 16" in pages[uri].text
        assert "answers in JSON" not in pages[uri].text
    assert "answers in JSON" in pages["memory://project/github.com/acme/api"].text
    assert encoded.contents[0].text == pages["memory://project/github.com/acme/api"].text


@by_every_way
@in_both_eras
async def test_a_person_starts_from_a_prompt(engram: Driver, way: str, era: str):
    engram.remember("Staging runs on PostgreSQL 16", "--scope", "global")
    async with connected(way, era, engram.folder) as client:
        names = [one.name for one in (await client.list_prompts()).prompts]
        texts = {
            name: (await client.get_prompt(name, arguments)).messages[0].content.text
            for name, arguments in (
                ("session_start", {"about": "staging"}),
                ("save_well", {"what": "the port is 5433"}),
                ("session_summary", None),
            )
        }
        with pytest.raises(MCPError) as refused:
            await client.get_prompt("nope")

    assert names == list(texts)
    assert "Staging runs on PostgreSQL 16" in texts["session_start"]
    assert texts["save_well"].endswith("Save this: the port is 5433")
    for part in ("What", "Why", "Where", "Learned"):
        assert f"- {part}: " in texts["save_well"]
    for part in ("Goal", "Instructions", "Discoveries", "Accomplished", "Next steps", "Files"):
        assert f"{part}: " in texts["session_summary"]
    assert refused.value.error.code == types.INVALID_PARAMS
    assert "session_start" in refused.value.error.data["hint"]


# What goes wrong


@by_every_way
async def test_an_optional_argument_that_is_null_was_not_given(engram: Driver, way: str):
    async with connected(way, "auto", engram.folder) as client:
        kept = await said(
            client, "remember", text="We deploy on Fridays", scope=None, tag=None, key=None, kind=None
        )
        missing = await failed(client, "remember", text=None)
        unknown = await failed(client, "remember", text="x", colour=None)

    assert (kept["outcome"], kept["memory"]["scope"]) == ("new", "global")
    assert "text" in missing["message"]
    assert unknown["message"] == "There is no argument 'colour'."


@by_every_way
@in_both_eras
async def test_what_a_smarter_model_could_have_avoided_is_a_tool_error(engram: Driver, way: str, era: str):
    async with connected(way, era, engram.folder) as client:
        unknown = await failed(client, "remember", text="x", colour="red")
        missing = await failed(client, "remember")
        mistyped = await failed(client, "recall", question="x", limit="ten")
        absent = await failed(client, "get", memory="mem-0999")
        long = await failed(client, "remember", text="x" * 100_000)
        with pytest.raises(MCPError) as no_tool:
            await client.call_tool("promote", {"memory": "mem-0001"})
        with pytest.raises(MCPError) as no_page:
            await client.read_resource("memory://memory/mem-0999")
        with pytest.raises(MCPError) as no_name:
            await client.read_resource("memory://project/%40%40")
        with pytest.raises(MCPError) as no_address:
            await client.read_resource("memory://nothing")

    assert unknown["message"] == "There is no argument 'colour'."
    assert "text, kind, scope" in unknown["hint"]
    assert missing["message"] == "text is missing."
    assert "limit: " in mistyped["message"]
    assert (absent["code"], long["code"]) == ("not_found", "invalid")
    assert no_tool.value.error.code == types.INVALID_PARAMS
    assert "remember" in no_tool.value.error.message
    assert no_page.value.error.data["uri"] == "memory://memory/mem-0999"
    assert (no_name.value.error.code, no_name.value.error.data["code"]) == (types.INVALID_PARAMS, "invalid")
    assert no_name.value.error.data["uri"] == "memory://project/%40%40"
    assert no_address.value.error.code == types.INVALID_PARAMS


async def test_a_list_never_gives_more_rows_than_a_model_should_pay_for(engram: Driver):
    for number in range(MOST + 2):
        engram.remember(f"Server number {number} has the address 10.0.0.{number}")
    async with connected("memory", "auto", engram.folder) as client:
        first = await said(client, "list", limit=500)
        rest = await said(client, "list", limit=500, after=first["next"])

    assert [len(first["memories"]), len(rest["memories"])] == [MOST, 2]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2199-01-01", "2199-01-01T23:59:59.999999Z"),
        ("2199-01-01T12:00:00Z", "2199-01-01T12:00:00.000000Z"),
        ("2199-01-01T12:00:00+02:00", "2199-01-01T10:00:00.000000Z"),
    ],
)
async def test_an_agent_gives_a_date_or_a_time_of_any_zone(engram: Driver, given: str, kept: str):
    async with connected("memory", "auto", engram.folder) as client:
        made = await said(client, "remember", text="The sale ends", valid_until=given)
        shown = await said(client, "get", memory=made["memory"]["id"])

    assert shown["memories"][0]["valid_until"] == kept


async def test_rows_say_whose_word_each_memory_is_and_that_it_waits(engram: Driver):
    spoken = engram.remember("We deploy on Fridays", "--kind", "decision")["memory"]["handle"]
    async with connected("memory", "auto", engram.folder) as client:
        noted = (await said(client, "remember", text="The deploy of Fridays takes an hour"))["memory"]
        page = await said(
            client, "remember", text="Fridays are safe for a deploy", source="web:https://example.org"
        )
        waits = page["memory"]
        hits = (await said(client, "recall", question="deploy on Fridays"))["hits"]
        rows = (await said(client, "list", standing=["all"]))["memories"]
        full = await said(client, "get", memory=[spoken, noted["id"], waits["id"]], around=1)
    whose = {spoken: "said", noted["id"]: "inferred"}

    assert {one["id"]: one["origin"] for one in hits} == whose
    assert {one["id"]: one["origin"] for one in rows} == {**whose, waits["id"]: "inferred"}
    assert [one["origin"] for one in full["memories"]] == ["said", "inferred", "inferred"]
    beside = [one for line in full["around"] for side in ("before", "after") for one in line[side]]
    assert beside
    assert all(one["origin"] == whose[one["id"]] for one in beside)
    held = ("pending", "untrusted_origin")
    assert [(one.get("standing"), one.get("held_for")) for one in rows if one["id"] == waits["id"]] == [held]
    assert (waits["origin"], waits["standing"], waits["held_for"]) == ("inferred", *held)
    assert (full["memories"][2]["standing"], full["memories"][2]["held_for"]) == held


async def test_an_answer_of_nothing_still_says_what_it_is_about(engram: Driver):
    async with connected("memory", "auto", engram.folder) as client:
        assert await said(client, "list") == {"memories": []}
        assert await said(client, "context") == {"text": ""}
        assert (await said(client, "recall", question="anything?"))["hits"] == []


# Asking the person


class Person:
    """Somebody at the client, who answers a form in one way and keeps what they were shown."""

    def __init__(self, action: str, **content: str) -> None:
        self.action, self.content = action, content
        self.shown: list[types.ElicitRequestFormParams] = []

    async def __call__(self, _: object, params: types.ElicitRequestFormParams) -> types.ElicitResult:
        self.shown.append(params)
        return types.ElicitResult(action=self.action, content=self.content or None)


async def save_asking(engram: Driver, person: Person | None, way: str, era: str, **more: str) -> dict[str, Any]:
    """Save something curated, with this person at the client; the memory as the store has it afterwards."""
    can = {"elicitation_callback": person} if person else {}
    async with connected(way, era, engram.folder, **can) as client:
        result = await client.call_tool("remember", {"text": "My name is Ada", "kind": "identity", **more})
        assert not result.is_error, result.content
    return engram("get", "mem-0001", "--json").json["memories"][0]


@by_every_way
@in_both_eras
async def test_what_the_person_approves_is_live_and_says_how_it_was_confirmed(engram: Driver, way: str, era: str):
    person = Person("accept", decision="approve", text="My name is Ada")
    memory = await save_asking(engram, person, way, era)

    assert memory["standing"] == "live"
    assert memory["text"] == "My name is Ada"
    (asked,) = person.shown
    assert "My name is Ada" in asked.message
    assert "identity" in asked.message
    assert asked.requested_schema["required"] == ["decision"]
    assert asked.requested_schema["properties"]["text"]["default"] == "My name is Ada"
    promoted = engram("history", "--json").json["events"][0]
    assert promoted["action"] == "promote"
    assert promoted["note"]["confirmed"] == "elicitation"


@in_both_eras
async def test_the_person_is_told_what_an_approval_would_replace(engram: Driver, era: str):
    engram("remember", "Production backups are kept for 30 days", "--kind", "infra")
    person = Person("cancel")
    said = {"text": "My name is Ada", "kind": "identity"}
    async with connected("memory", era, engram.folder, elicitation_callback=person) as client:
        await client.call_tool("remember", said)
        await client.call_tool("relate", {"memory": "mem-0002", "other": "mem-0001", "kind": "supersedes"})
        await client.call_tool("remember", said)

    before, after = (one.message for one in person.shown)
    assert "mem-0001" not in before
    assert "It would replace mem-0001: Production backups are kept for 30 days" in after


@in_both_eras
async def test_the_person_may_word_it_anew(engram: Driver, era: str):
    memory = await save_asking(engram, Person("accept", decision="approve", text="I am Ada L."), "memory", era)

    assert (memory["text"], memory["standing"]) == ("I am Ada L.", "live")


@in_both_eras
async def test_what_the_person_rejects_is_rejected_for_good(engram: Driver, era: str):
    memory = await save_asking(engram, Person("accept", decision="reject"), "memory", era)

    assert memory["standing"] == "rejected"


@in_both_eras
@pytest.mark.parametrize(
    "person",
    [
        Person("accept", decision="later"),
        Person("accept", decision="certainly"),
        Person("accept"),
        Person("decline"),
        Person("cancel"),
    ],
    ids=["later", "no such decision", "an empty form", "decline", "cancel"],
)
async def test_whatever_the_person_does_but_decide_leaves_it_waiting(engram: Driver, era: str, person: Person):
    memory = await save_asking(engram, person, "memory", era)

    assert (memory["standing"], memory["held_for"]) == ("pending", "curated_kind")


@by_every_way
@in_both_eras
async def test_a_client_that_cannot_ask_leaves_it_waiting(engram: Driver, way: str, era: str):
    memory = await save_asking(engram, None, way, era)

    assert memory["standing"] == "pending"
    assert engram("review", "--list", "--json").json["candidates"]


@in_both_eras
async def test_a_change_of_what_was_approved_is_asked_about_too(engram: Driver, era: str):
    engram("remember", "My name is Ada", "--kind", "identity", "--confirm")
    person = Person("accept", decision="approve")
    async with connected("memory", era, engram.folder, elicitation_callback=person) as client:
        before = (await said(client, "get", memory="mem-0001"))["memories"][0]
        await said(client, "revise", memory="mem-0001", text="My name is Ada Lovelace")
        after = (await said(client, "get", memory="mem-0001"))["memories"][0]

    assert (before["text"], before["standing"]) == ("My name is Ada", "live")
    assert "change something you wrote or approved" in person.shown[0].message
    assert (after["text"], after["standing"]) == ("My name is Ada Lovelace", "live")


@in_both_eras
async def test_who_is_asked_about_a_change_sees_which_memory_what_it_says_and_what_it_would_say(
    engram: Driver, era: str
):
    engram("remember", "The API listens on port 8080", "--kind", "infra")
    engram("remember", "The queue rests in Redis", "--kind", "infra")
    person = Person("decline")
    async with connected("memory", era, engram.folder, elicitation_callback=person) as client:
        text = "The API listens on port 9090\n\nIt says now:\n\n  nothing"
        await client.call_tool("revise", {"memory": "mem-0001", "text": text})
        await client.call_tool("revise", {"memory": "mem-0002", "summary": "Where the queue is"})

    reworded, summed = (each.message for each in person.shown)
    assert reworded.startswith(
        "An agent wants to change mem-0001 (infra, global). It says now:\n\n  The API listens on port 8080\n\n"
        "It would say:\n\n  The API listens on port 9090\n  \n  It says now:\n"
    )
    assert "It would say:\n\n  The queue rests in Redis\n  Summary: Where the queue is\n" in summed


@in_both_eras
async def test_what_a_memory_amends_or_is_replaced_by_is_told_by_its_handle(engram: Driver, era: str):
    engram("remember", "The API listens on port 8080", "--kind", "infra")
    async with connected("memory", era, engram.folder) as client:
        proposed = await said(client, "revise", memory="mem-0001", text="The API listens on port 9090")
        told = await client.call_tool("get", {"memory": proposed["memory"]["id"]})
    engram("remember", "The API moved to port 7070", "--kind", "infra", "--replaces", "mem-0001")

    assert told.structured_content["memories"][0]["amends"] == "mem-0001"
    assert re.search(r"amends +mem-0001\n", told.content[0].text)
    assert re.search(r"replaced by +mem-0003\n", engram("get", "mem-0001").out)


@in_both_eras
async def test_nobody_is_asked_about_what_goes_live_by_itself(engram: Driver, era: str):
    person = Person("accept", decision="reject")
    memory = await save_asking(engram, person, "memory", era, kind="preference")

    assert memory["standing"] == "live"
    assert person.shown == []


async def first_round(client: Client) -> types.InputRequiredResult:
    """The answer to a curated save of a client of the new era that drives the rounds by itself."""
    arguments = {"text": "My name is Ada", "kind": "identity"}
    result = await client.session.call_tool("remember", arguments, allow_input_required=True)
    assert isinstance(result, types.InputRequiredResult)
    return result


async def second_round(client: Client, state: str, **more: Any) -> types.CallToolResult:
    """Come back with an approval, and this state."""
    approval = types.ElicitResult(action="accept", content={"decision": "approve"})
    arguments = {"text": "My name is Ada", "kind": "identity", **more}
    return await client.session.call_tool(
        "remember", arguments, input_responses={"memory": approval}, request_state=state
    )


async def test_between_the_rounds_it_is_saved_and_waits(engram: Driver):
    async with connected("memory", "auto", engram.folder, elicitation_callback=Person("cancel")) as client:
        first = await first_round(client)
        waiting = engram("get", "mem-0001", "--json").json["memories"][0]
        assert first.request_state
        done = await second_round(client, first.request_state)

    assert waiting["standing"] == "pending"
    assert not done.is_error
    assert engram("get", "mem-0001", "--json").json["memories"][0]["standing"] == "live"
    assert engram("list", "--standing", "all", "--json").json["next"] is None


@pytest.mark.parametrize(
    "forged", [lambda state: state[:-2] + "zz", lambda _: "mem-0001"], ids=["changed", "made up"]
)
async def test_a_forged_state_is_refused_and_decides_nothing(engram: Driver, forged: Callable[[str], str]):
    async with connected("memory", "auto", engram.folder, elicitation_callback=Person("cancel")) as client:
        first = await first_round(client)
        assert first.request_state
        with pytest.raises(MCPError):
            await second_round(client, forged(first.request_state))

    assert engram("get", "mem-0001", "--json").json["memories"][0]["standing"] == "pending"


async def test_a_second_round_without_the_answer_leaves_it_waiting(engram: Driver):
    other = {"another": types.ElicitResult(action="accept", content={"decision": "approve"})}
    async with connected("memory", "auto", engram.folder, elicitation_callback=Person("cancel")) as client:
        first = await first_round(client)
        arguments = {"text": "My name is Ada", "kind": "identity"}
        done = await client.session.call_tool(
            "remember", arguments, input_responses=other, request_state=first.request_state
        )

    assert not done.is_error
    assert engram("get", "mem-0001", "--json").json["memories"][0]["standing"] == "pending"


async def test_a_state_serves_the_call_it_was_given_to_and_no_other(engram: Driver):
    async with connected("memory", "auto", engram.folder, elicitation_callback=Person("cancel")) as client:
        first = await first_round(client)
        assert first.request_state
        with pytest.raises(MCPError):
            await second_round(client, first.request_state, text="My name is Mallory")

    assert engram("get", "mem-0001", "--json").json["memories"][0]["standing"] == "pending"


# What a client is told


async def listed(engram: Driver) -> dict[str, Any]:
    """The result of tools/list as it goes over the wire."""
    async with connected("memory", "auto", engram.folder) as client:
        return (await client.list_tools()).model_dump(mode="json", by_alias=True, exclude_none=True)


async def test_the_published_tools_change_by_decision_only(engram: Driver):
    tools = (await listed(engram))["tools"]

    assert tools == json.loads(PUBLISHED.read_text()), f"If this is meant, write it to {PUBLISHED.name}."


async def test_all_tools_together_cost_a_session_little(engram: Driver):
    whole = json.dumps(await listed(engram), ensure_ascii=False, separators=(",", ":"))

    assert len(SHOWN) <= 12
    assert tokens(whole) < 1500


async def test_every_tool_is_closed_to_what_it_does_not_know(engram: Driver):
    for tool in (await listed(engram))["tools"]:
        assert tool["inputSchema"]["additionalProperties"] is False, tool["name"]


async def test_annotations_say_what_a_tool_may_do(engram: Driver):
    hints = {tool["name"]: tool["annotations"] for tool in (await listed(engram))["tools"]}

    reads = {name for name, one in hints.items() if one.get("readOnlyHint")}
    assert reads == {"recall", "get", "list", "context"}
    assert all(one["openWorldHint"] is False for one in hints.values())
    assert {name for name, one in hints.items() if one.get("destructiveHint")} <= {"forget", "revise"}
    for name in set(hints) - reads:
        assert "destructiveHint" in hints[name], f"{name}: without it a client must fear the worst"


async def test_what_only_a_person_may_do_is_no_tool(engram: Driver):
    human = {name for name, operation in OPERATIONS.items() if operation.human}

    assert human
    assert not human & {tool["name"] for tool in (await listed(engram))["tools"]}


async def test_the_lists_may_be_kept_by_one_client_and_nobody_between(engram: Driver):
    async with connected("memory", "auto", engram.folder) as client:
        answers = [await client.list_tools(), await client.list_resources(), await client.list_prompts()]
        page = await client.read_resource("memory://recall")

    assert {one.cache_scope for one in (*answers, page)} == {"private"}
    assert all(one.ttl_ms for one in answers)
    assert page.ttl_ms == 0


async def test_the_instructions_are_short_and_speak_of_what_is_there(engram: Driver):
    async with connected("memory", "auto", engram.folder) as client:
        told = client.instructions or ""

    assert told == instructions(registered([native()]))
    assert tokens(told) < 120
    said_plainly = {"kinds"}  # an operation elsewhere, and here the plain word
    named = {word for word in re.findall(r"[a-z_]+", told) if word in OPERATIONS} - said_plainly
    assert named
    assert named <= set(SHOWN)


def test_a_server_without_a_tool_does_not_speak_of_it():
    profile = native()
    fewer = profile._replace(tools=tuple(tool for tool in profile.tools if tool.name in ("recall", "get")))

    told = instructions(registered([fewer]))
    assert told.startswith("Long-term memory")
    assert "remember" not in told
    assert "session_end" not in told


def test_two_profiles_with_a_tool_of_one_name_are_refused_together():
    with pytest.raises(Invalid, match="both have a tool 'remember'"):
        build(pytest.fail, [native(), native()._replace(name="another")])
