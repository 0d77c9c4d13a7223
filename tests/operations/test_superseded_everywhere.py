"""A memory that was superseded is absent from every path by which memories are read; undo brings it back to all."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engram.interop import keyed, memory_v1, observations, records
from engram.interop.tools import Profile
from engram.model.scope import Scope
from engram.operations.routing import agent_view
from engram.service import Engram
from engram.surfaces.mcp import pages
from engram.surfaces.mcp.tools import native
from engram.surfaces.render.answers import render
from engram.surfaces.render.paper import Paper
from engram.surfaces.web.app import PARTS
from engram.surfaces.web.frame import Asked, Look
from engram.surfaces.web.visits import Visit
from engram.wiring import open as open_memory

OLD = "The parser by Septentrio reads commas"
NEW = "Commas are read by another parser now"
TELLING = "Septentrio"

Read = Callable[[Engram, str], Any]


def tool(profile: Profile, name: str, **said: object) -> Read:
    """What a tool of a profile shows; `{id}` and `{number}` stand for a neighbour of the old memory."""

    def read(memory: Engram, neighbour: str) -> str:
        number = int(memory.get(neighbour).memories[0].handle.removeprefix("mem-"))
        filled = {
            key: {"{id}": neighbour, "{number}": number}.get(str(value), value) for key, value in said.items()
        }
        found = next(one for one in profile.tools if one.name == name)
        text, structured = found.run(memory, **filled)
        return f"{text} {structured}"

    return read


def searched(memory: Engram, neighbour: str) -> str:
    """What mem_search finds, without the line by which a hit names what it superseded."""
    found = tool(observations.PROFILE, "mem_search", query="commas parser")(memory, neighbour)
    return re.sub(r"supersedes: #\d+ \([^)]*\)", "", found)


def page(path: str, **said: str) -> Read:
    """What a page shows a person; its path may name a neighbour of the old memory."""
    shown = next(one for part in PARTS for one in part.PAGES if (one.method, one.path) == ("GET", path))

    def read(memory: Engram, neighbour: str) -> str:
        query = {name: [value] for name, value in said.items()}
        asked = Asked(memory, Visit("", "", 0.0), Look([]), {"memory": neighbour}, query, {}, part=False)
        return bytes(shown.answer(asked).body).decode()

    return read


def exported(memory: Engram, _neighbour: str) -> str:
    path = Path(memory.store).with_name("live.jsonl")
    memory.export(str(path), standing=("live",), overwrite=True)
    return path.read_text(encoding="utf-8")


PATHS: dict[str, Read] = {
    "recall": lambda memory, _: memory.recall("commas parser"),
    "recall of a tag": lambda memory, _: memory.recall("commas", tag=("parsing",)),
    "list": lambda memory, _: memory.list(),
    "list everywhere": lambda memory, _: memory.list(everywhere=True),
    "list by session": lambda memory, _: memory.list(session="s-1"),
    "search": lambda memory, _: memory.search("commas parser"),
    "search without words": lambda memory, _: memory.search(),
    "context": lambda memory, _: memory.context(query="commas"),
    "related of a neighbour": lambda memory, neighbour: memory.related(neighbour, limit=50).relatives,
    "timeline": lambda memory, neighbour: memory.timeline(neighbour),
    "get with what is around": lambda memory, neighbour: memory.get(neighbour, around=5),
    "who cites a file": lambda memory, _: memory.cited("src/parser.py"),
    "files": lambda memory, _: memory.files(),
    "graph of a file": lambda memory, _: memory.ask("graph", "file", "src/parser.py"),
    "graph of a project": lambda memory, _: memory.ask("graph", "project"),
    "conflicts": lambda memory, _: memory.conflicts(scan=True, dry_run=True),
    "export of what is live": exported,
    "the view in agents' files": lambda memory, _: agent_view(memory.call()).text,
    "web search": page("/search", q="commas parser"),
    "web search without words": page("/search"),
    "web timeline": page("/timeline"),
    "web graph of a file": page("/graph", question="file", subject="src/parser.py"),
    "web graph of a project": page("/graph", question="project"),
    "web files": page("/files"),
    "web next session": page("/next", query="commas"),
    "web memory": page("/memory/{memory}"),
    "web relations": page("/memory/{memory}/relations"),
    "page recall": lambda memory, _: pages.recall_page(memory),
    "page facts": lambda memory, _: pages.facts_page(memory),
    "page of the project": lambda memory, _: pages.project_page(memory, "api"),
    "tool recall": tool(native(), "recall", question="commas parser"),
    "tool list": tool(native(), "list"),
    "tool get": tool(native(), "get", memory="{id}", around=5),
    "tool context": tool(native(), "context", query="commas"),
    "mem_search": searched,
    "mem_context": tool(observations.PROFILE, "mem_context"),
    "mem_timeline": tool(observations.PROFILE, "mem_timeline", observation_id="{number}"),
    "search_memory": tool(records.PROFILE, "search_memory", query="commas parser", cross_spine=True),
    "list_memory": tool(records.PROFILE, "list_memory", cross_spine=True),
    "related_memories": tool(records.PROFILE, "related_memories", id="{id}", full=True),
    "memory.v1 recall": tool(memory_v1.PROFILE, "recall", query="commas parser"),
    "memory.v1 facts": lambda memory, _: memory_v1.facts_page(memory),
    "memory.v1 page": lambda memory, _: memory_v1.recall_page(memory),
    "keyed recall": tool(keyed.PROFILE, keyed.PROFILE.tools[1].name, query="commas parser"),
    "keyed list": tool(keyed.PROFILE, keyed.PROFILE.tools[2].name),
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Engram]:
    environment = {"HOME": str(tmp_path), "ENGRAM_EMBEDDER": "none"}
    with open_memory(tmp_path / "store.db", environment=environment, home=Scope("project", "api")) as opened:
        yield opened


@pytest.mark.parametrize("name", PATHS)
def test_a_superseded_memory_is_absent_and_undo_brings_it_back(memory: Engram, name: str):
    read = PATHS[name]
    rests = {"tag": ("parsing",), "cite": ("src/parser.py:1",), "session": "s-1", "kind": "convention"}
    old = memory.remember(OLD, **rests).memory
    neighbour = memory.remember("Lists of the parser may be nested", **rests).memory
    new = memory.remember(NEW, session="s-1", kind="convention").memory

    assert TELLING in str(read(memory, neighbour.id)), "the path shows it while it is in use"
    memory.relate(new.id, old.id, "supersedes")
    assert TELLING not in str(read(memory, neighbour.id))
    memory.undo()
    assert TELLING in str(read(memory, neighbour.id))


def test_a_superseded_memory_is_counted_as_replaced_and_no_more_among_the_live(memory: Engram):
    old, new = memory.remember(OLD, kind="convention").memory, memory.remember(NEW).memory
    before = memory.stats()
    memory.relate(new.id, old.id, "supersedes")
    after = memory.stats()

    assert (before.kinds.get("convention"), after.kinds.get("convention")) == (1, None)
    assert after.standings == {"live": 1, "replaced": 1}
    assert TELLING not in render(after, Paper())


ASKED_FOR: dict[str, Read] = {
    "search": lambda memory, _: memory.search("commas parser", standing=("replaced",)),
    "web search": page("/search", q="commas parser", standing="replaced"),
    "web timeline": page("/timeline", replaced="yes"),
    "web graph of what replaced what": page("/graph", question="chain"),
}


@pytest.mark.parametrize("name", ASKED_FOR)
def test_a_superseded_memory_is_shown_as_replaced_where_that_is_asked_for(memory: Engram, name: str):
    old, new = memory.remember(OLD).memory, memory.remember(NEW).memory
    memory.relate(new.id, old.id, "supersedes")
    found = str(ASKED_FOR[name](memory, new.id))

    assert TELLING in found
    assert "replaced" in found


def test_superseded_again_and_again_one_is_in_use(memory: Engram):
    first, second = memory.remember(OLD).memory, memory.remember(NEW).memory
    third = memory.remember("Septentrio's parser for commas is back").memory
    memory.relate(second.id, first.id, "supersedes")
    memory.relate(third.id, second.id, "supersedes")

    assert [one.id for one in memory.list().memories] == [third.id]
    assert [hit.memory.id for hit in memory.recall("commas parser").hits] == [third.id]
