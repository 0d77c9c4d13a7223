"""The command `engram mcp`: this memory for one agent, on standard input and output."""

import contextlib
import gc
import os
import sys

import anyio

from engram.errors import Invalid
from engram.interop.tools import Profile
from engram.surfaces.mcp.holding import Held, leave
from engram.surfaces.parsing import listed, valued


def run(words: list[str], *, json: bool = False) -> int:
    """Usage: engram mcp [--profile NAME ...] [--tools LIST] [--project NAME] [--store PATH]

    Serve this memory to an agent over MCP, on standard input and output, until the input ends. An agent starts it;
    `engram setup` tells it how.

    Options:
      --profile NAME   Serve the tools of another system instead of our own: observations, records, memory-v1,
                       keyed. Repeat for more; native adds our own.
      --tools LIST     Serve only these tools, by name, with commas between them. Where no profile is named, names
                       of our own are taken as such, and all others as those of observations, which has agent and
                       admin as words for several. all means every tool.
      --project NAME   The project it works in, whatever folder it is started in; as ENGRAM_PROJECT says it.
      --store PATH     Use this store instead of the configured one.

    Examples:
      engram mcp
      engram mcp --tools remember,recall
      engram mcp --profile observations
      engram mcp --tools agent
    """  # noqa: D415 - it is the command's help
    del json
    for name in listed(valued("mcp", words, TAKEN)["--profile"]):
        require_profile(name)  # before half a second of imports
    gc.disable()  # half a second of imports leaves nothing to collect, and looking takes a tenth of the start
    from mcp.server.stdio import stdio_server  # noqa: PLC0415 - beside the server itself

    from engram.surfaces.mcp.server import build  # noqa: PLC0415 - half a second of imports, for this command only

    profiles, store, project = read(words)
    if sys.stdin is None or sys.stdout is None:
        raise Invalid("An MCP server speaks over standard input and output.", "Leave both open: agents do.")
    held = Held(store, environment={**os.environ, "ENGRAM_PROJECT": project} if project else None)
    server = build(held.engram, profiles)
    gc.enable()

    async def serve() -> None:
        async with stdio_server() as (incoming, outgoing):
            # The transport keeps the stream to itself; what anybody else prints waits in no buffer to follow later.
            with contextlib.redirect_stdout(sys.stderr):
                await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(serve)
    leave(held)
    return 0


def read(words: list[str]) -> tuple[list[Profile], str, str]:
    """The profiles, the store and the project a command line names.

    Raises:
        Invalid: when it says something else, or a profile or a tool does not exist.
    """
    from engram.surfaces.mcp.tools import SHOWN  # noqa: PLC0415 - beside the server itself

    said = valued("mcp", words, TAKEN)
    tools = listed(said["--tools"])
    names = listed(said["--profile"])
    if tools and not names:
        # Agents of another system are started with its option alone, and by the same name of the command.
        names = ["observations" if SHOWN.keys().isdisjoint(tools) else "native"]
    store, project = ((said[option] or [""])[-1] for option in ("--store", "--project"))
    return narrowed([profile(each) for each in names], tools), store, project


def narrowed(profiles: list[Profile], words: list[str]) -> list[Profile]:
    """The profiles with those tools alone that are named, each by its name or with others by a word for them.

    Raises:
        Invalid: when no tool goes by a name.
    """
    if not words or "all" in words:
        return profiles
    groups = {word: names for one in profiles for word, names in one.groups.items()}
    known = {tool.name for one in profiles for tool in one.tools}
    if unknown := [word for word in words if word not in groups and word not in known]:
        raise Invalid(
            f"There is no tool {unknown[0]!r} here.",
            "Use some of: " + ", ".join(("all", *groups, *sorted(known))) + ".",
        )
    wanted = frozenset(words).union(*(groups.get(word, ()) for word in words))
    fewer = [one._replace(tools=tuple(tool for tool in one.tools if tool.name in wanted)) for one in profiles]
    return [one for one in fewer if one.tools]


def profile(name: str) -> Profile:
    """The profile of this name.

    Raises:
        Invalid: when there is none.
    """
    from importlib import import_module  # noqa: PLC0415 - only the profiles in use are loaded

    from engram.surfaces.mcp.tools import native  # noqa: PLC0415 - the same

    if name == "native":
        return native()
    require_profile(name)
    found: Profile = import_module(f"engram.interop.{name.replace('-', '_')}").PROFILE
    return found


def require_profile(name: str) -> None:
    """There must be a profile of this name.

    Raises:
        Invalid: when there is none.
    """
    if name not in ("native", *PROFILES):
        raise Invalid(f"There is no profile {name!r}.", "Use one of: native, " + ", ".join(PROFILES) + ".")


TAKEN = ("--profile", "--tools", "--project", "--store")
PROFILES = ("observations", "records", "memory-v1", "keyed")
