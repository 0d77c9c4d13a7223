"""The graph page: one question at a time, drawn and told."""

from starlette.responses import Response

from engram.errors import EngramError
from engram.model.scope import GLOBAL
from engram.surfaces.web import drawing
from engram.surfaces.web.frame import Asked, Page, Tab

TABS = (Tab("graph", "/graph", "Graph", "r"),)

QUESTIONS = {
    "conflicts": ("What may not both hold?", "Only in this scope (may be empty)"),
    "chain": ("What replaced what?", "Around this memory (may be empty)"),
    "file": ("Which memories cite a file?", "The file, such as src/api.py"),
    "project": ("What is a project about?", "The project, such as github.com/acme/api"),
}
FEW, MOST = 24, 200


def show(asked: Asked) -> Response:
    """The answer to one question, as a drawing and as a list."""
    question = asked.said("question", "conflicts")
    limit = min(FEW if (said := asked.number("limit")) is None else said, MOST)
    subject, scope, found, error = asked.said("subject").strip(), asked.said("scope").strip(), None, None
    if question == "project":
        home = asked.engram.home
        subject = asked.project("subject") or ("" if home == GLOBAL else str(home))
    where = {"scope": scope, "everywhere": not scope} if question == "file" else {}
    try:
        if question != "file" or subject:
            found = asked.engram.not_counting_use().ask("graph", question, subject, limit=max(limit, 1), **where)
    except EngramError as refused:
        error = refused
    drawn = drawing.graph(found, scope) if found and found.nodes else ""
    names = (
        {node.id: (node.memory.handle or node.id[:13]) if node.memory else node.label for node in found.nodes}
        if found
        else {}
    )
    return asked.show(
        "graph.html",
        title="Graph",
        here="graph",
        questions=QUESTIONS,
        question=question,
        subject=subject,
        scope=scope,
        limit=limit,
        most=MOST,
        found=found,
        error=error,
        drawn=drawn,
        names=names,
        told={node.id: node.label for node in found.nodes if node.memory} if found else {},
    )


PAGES = (Page("GET", "/graph", show),)
