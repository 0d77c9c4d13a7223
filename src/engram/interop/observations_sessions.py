"""The observation tools about a session: its begin, end and summary, the person's prompts, and passive capture."""

from typing import Annotated

from engram.errors import Conflict, NotFound
from engram.interop import observations_parameters as p
from engram.interop import observations_saving as saving
from engram.interop import observations_words as words
from engram.interop.tools import Answer, Asks, Refused, Shelf
from engram.model.memory import Context
from engram.model.scope import GLOBAL

TOOLS = Shelf()


@TOOLS.tool(writes=True, idempotent=True)
def mem_session_start(
    asks: Asks,
    *,
    id: Annotated[str, "The session's id, chosen by the client."],
    directory: Annotated[str, "The folder it works in."] = "",
    project: p.Project = "",
) -> Answer:
    """Begin a session, or take one up again."""
    words.require_said(id=id)
    try:
        place = words.place_of(asks, project)
    except Refused:  # a name that nobody knows keeps no session from beginning
        place = words.current(asks)
    began = asks.ask("session_begin", id, scope=str(place.scope), folder=directory or asks.folder)
    said = "taken up again" if began.resumed else "started"
    return words.enveloped(asks, place, f"Session {began.session.name} {said}.", session_id=began.session.name)


@TOOLS.tool(writes=True)
def mem_session_end(
    asks: Asks, *, id: p.Session, summary: Annotated[str, "What was done, in a few lines."] = ""
) -> Answer:
    """End a session. A session that nobody began, or that ended already, is no error, and its summary is kept."""
    words.require_said(id=id)
    try:
        asks.ask("session_end", id, summary=summary)
    except NotFound:
        if summary.strip():  # what is said is kept in any case
            asks.ask("remember", summary, kind="summary", session=id)
    except Conflict:
        if summary.strip():  # nobody can tell in which project
            words.current(asks)
            raise
    try:
        place = words.place_of(asks, session=id)
    except Refused:  # which project it is must not keep a session from ending
        place = words.Place("", GLOBAL, "ambiguous")
    return words.enveloped(asks, place, f"Session {id} ended.", session_id=id)


@TOOLS.tool(writes=True)
def mem_session_summary(
    asks: Asks,
    *,
    content: Annotated[str, "Goal, Instructions, Discoveries, Accomplished, Next Steps, Relevant Files."],
    session_id: p.SessionId = "",
    project: p.Project = "",
    project_choice_reason: p.Choice = "",
    recovery_token: p.Recovery = "",
) -> Answer:
    """Save what this session did before it ends, so that the next one can go on from there."""
    del recovery_token
    words.require_said(content=content)
    place = words.place_of(asks, project, session_id, project_choice_reason)
    saved = saving.keep(
        asks,
        place,
        content,
        type="session_summary",
        tool="mem_session_summary",
        session=saving.session_for(asks, place, session_id),
    )
    return words.enveloped(
        asks,
        place,
        f"Session summary saved as #{words.number_of(saved.memory)}.",
        warning=saving.waiting(asks, saved),
        judgment_required=False,
        id=words.number_of(saved.memory),
        sync_id=saved.memory.id,
        state=words.state_of(asks, saved.memory, saved.at),
    )


@TOOLS.tool(writes=True)
def mem_save_prompt(
    asks: Asks,
    *,
    content: Annotated[str, "What the person asked for, word for word."],
    session_id: p.SessionId = "",
    project: p.Project = "",
    project_choice_reason: p.Choice = "",
    recovery_token: p.Recovery = "",
) -> Answer:
    """Keep what the person asked for. Prompts are never in a context; the same again is kept again."""
    del recovery_token
    words.require_said(content=content)
    place = words.place_of(asks, project, session_id, project_choice_reason)
    kept = asks.made_in(Context(tool="mem_save_prompt")).ask(
        "remember",
        content,
        kind="prompt",
        scope=str(place.scope),
        visibility="private",
        origin="said",
        source="tool:mem_save_prompt",
        session=saving.session_for(asks, place, session_id),
    )
    shown = words.cut(kept.memory.text, 80)
    return words.enveloped(asks, place, f'Prompt saved: "{shown}"', truncation=saving.measured(kept.memory.text))


@TOOLS.tool(writes=True)
def mem_capture_passive(
    asks: Asks,
    *,
    content: Annotated[str, "A text with a section `## Key Learnings:` and a list under it."],
    session_id: p.SessionId = "",
    source: Annotated[str, "Where the text comes from."] = "mcp-passive",
    project: p.Project = "",
) -> Answer:
    """Save each item under the heading Key Learnings of a text; what is known already is counted."""
    words.require_said(content=content)
    place = words.place_of(asks, project, session_id)
    captured = asks.made_in(words.made_as("passive", "mem_capture_passive")).ask(
        "capture",
        content,
        scope=str(place.scope),
        session=saving.session_for(asks, place, session_id),
        source=source.strip() or "mcp-passive",
    )
    numbers = {
        "extracted": captured.extracted,
        "saved": len(captured.memories),
        "duplicates": captured.repeated,
    }
    said = " ".join(f"{name}={number}" for name, number in numbers.items())
    return words.enveloped(asks, place, f"Passive capture: {said}", warning=" ".join(captured.problems), **numbers)
