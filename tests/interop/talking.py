"""Speaking to a profile in its own words: tool by tool in process, or through the official client."""

import os
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest
from mcp import Client

from engram.errors import EngramError
from engram.interop.tools import Answer, Profile
from engram.model.caller import Caller
from engram.ports import Clock
from engram.service import Engram
from engram.surfaces.mcp.server import build
from engram.wiring import open as open_memory


class Talk:
    """One caller at the tools of one profile."""

    def __init__(self, profile: Profile, memory: Engram) -> None:
        self.profile, self.memory = profile, memory
        self._tools = {tool.name: tool for tool in profile.tools}

    def answer(self, name: str, **said: Any) -> Answer:
        return self._tools[name].run(self.memory, **said)

    def __call__(self, name: str, **said: Any) -> dict[str, Any]:
        return dict(self.answer(name, **said).structured or {})

    def refusal(self, name: str, **said: Any) -> str:
        """The error as the other system words it."""
        with pytest.raises(EngramError) as refused:
            self.answer(name, **said)
        return self.profile.failed(refused.value).text


def opened(
    folder: os.PathLike[str], owner: str, *, human: bool = False, project: str = "", clock: Clock | None = None
) -> Engram:
    """A store in a folder, as one caller sees it: an agent of somebody, or that person."""
    caller = Caller(owner=owner, actor=f"{owner}@example.org", agent="" if human else "codex", human=human)
    environment = {"HOME": str(folder), "ENGRAM_EMBEDDER": "none", "ENGRAM_PROJECT": project}
    return open_memory(
        os.path.join(folder, "memory.db"), caller=caller, folder=folder, environment=environment, clock=clock
    )


def over_mcp(profile: Profile, memories: list[Engram], day: Callable[..., Awaitable[None]]) -> None:
    """A day's work through an official client for each memory; the day is given the clients in their order."""

    async def work() -> None:
        async with AsyncExitStack() as stack:
            servers = [build(lambda memory=memory: memory, [profile]) for memory in memories]
            await day(*[await stack.enter_async_context(Client(server)) for server in servers])

    anyio.run(work)
    for memory in memories:
        memory.close()


async def ask(client: Client, name: str, **said: Any) -> Any:
    """The structured answer of a tool that must succeed; its text says the same."""
    result = await client.call_tool(name, said)
    assert not result.is_error, result.content
    return result.structured_content


async def told(client: Client, name: str, **said: Any) -> str:
    """The words of a tool that must succeed."""
    result = await client.call_tool(name, said)
    assert not result.is_error, result.content
    return str(result.content[0].text)


async def refusal(client: Client, name: str, **said: Any) -> str:
    """The words of a tool error."""
    result = await client.call_tool(name, said)
    assert result.is_error, result.content
    return str(result.content[0].text)
