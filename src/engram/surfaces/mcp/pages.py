"""What an agent can read without calling a tool, and the prompts a person can start from."""

from typing import Any

from engram.interop.prompts import NOTHING, save_well, session_start, session_summary
from engram.interop.tools import Asks, Resource
from engram.interop.values import kept, loud
from engram.model.marks import marked
from engram.model.pages import by_kind, one_line, page

MOST_FACTS = 1000

PROMPTS = (
    session_start("recall", "remember"),
    save_well(
        "remember",
        "Choose a kind (decision, bugfix, convention, gotcha, preference, …), and cite (PATH:LINES) what can be"
        " looked up. Give a topic that goes on a key, so that the next word about it revises the same memory.",
    ),
    session_summary("session_end"),
)


def recall_page(asks: Asks) -> str:
    """What a session should start with."""
    return str(asks.ask("context").text) or f"{NOTHING}\n"


def facts_page(asks: Asks) -> str:
    """Every live memory in view, grouped by kind, as plain Markdown."""
    return _facts(asks)


def memory_page(asks: Asks, id: str) -> str:
    """One memory in full."""
    shown = asks.ask("get", id)
    return marked(page(shown.memories[0], shown.at, asks.view))


def project_page(asks: Asks, name: str) -> str:
    """Every live memory of one project."""
    return _facts(asks, scope=f"project:{name}")


def cited_page(asks: Asks, path: str) -> str:
    """The memories that cite a file, or some of its lines: what to know before it is edited."""
    answer = asks.ask("cited", path)
    rows = []
    for row in answer.memories:
        said = "; ".join(f"{check.cite} is {check.said}" for check in row.evidence)
        rows.append(f"- {one_line(row.memory.gist)} [{row.memory.handle}, {row.memory.kind}; {said}]")
    return marked("\n".join([f"# {path}", "", *(rows or ["No memory cites it."]), ""]))


RESOURCES = (
    Resource("memory://recall", recall_page, "recall", "What a session should start with."),
    Resource("memory://facts", facts_page, "facts", "Every live memory in view, by kind."),
    Resource("memory://memory/{id}", memory_page, "memory", "One memory in full."),
    Resource("memory://cited/{path}", cited_page, "cited", "The memories that cite a file: PATH or PATH:LINES."),
    Resource("memory://project/{name}", project_page, "project", "Every live memory of a project, by kind."),
)


def _facts(asks: Asks, **where: Any) -> str:  # noqa: ANN401 - arguments of list
    """The newest of what is listed, without what comes on demand only; where there is more, the page says so."""
    listing = kept(asks, loud(asks), limit=MOST_FACTS, **where)
    more = f"\n… and more: these are the newest {MOST_FACTS:,}. Ask for the rest.\n" if listing.next else ""
    return marked(by_kind(listing.memories) + more)
