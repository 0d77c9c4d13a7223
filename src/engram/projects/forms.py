"""How each agent's hooks speak: what their JSON says, and the JSON they expect back."""

import os
from typing import Any, NamedTuple

from engram.errors import Invalid

Row = dict[str, Any]

EVENTS = {
    "sessionstart": "start",
    "taskstart": "start",
    "taskresume": "start",
    "preinvocation": "start",
    "promptsubmit": "prompt",
    "userpromptsubmit": "prompt",
    "userpromptsubmitted": "prompt",
    "beforesubmitprompt": "prompt",
    "beforeagent": "prompt",
    "preedit": "edit",
    "pretooluse": "edit",
    "beforetool": "edit",
    "precompact": "compact",
    "precompress": "compact",
    "stop": "stop",
    "afteragent": "stop",
    "sessionend": "end",
    "taskcomplete": "end",
    "taskcancel": "end",
    "subagentstop": "said",
    "agentresponse": "said",
    "postcascaderesponse": "said",
}
"""An event's name, in small letters alone → what it is to us."""

NAMES = {"start": "SessionStart", "prompt": "UserPromptSubmit", "edit": "PreToolUse", "stop": "Stop"}
"""What an event is to us → its name in an answer, where the agent's JSON did not say it."""

DEAF = frozenset({("windsurf", "start"), ("windsurf", "prompt"), ("vscode", "prompt"), ("codex", "edit")})
"""Agent and event: answers to these do not reach the model."""

REQUESTS = frozenset({"claude-code", "codex", "cursor", "vscode", "gemini-cli", "antigravity"})
"""Agents whose stop can be answered with a request to go on."""

CONTROLS = dict.fromkeys([*range(9), 11, 12, *range(14, 32), *range(127, 160)])
"""Characters that terminals leave in what is pasted, and that no memory has."""

NO_END = frozenset({"vscode", "antigravity"})
"""Agents that tell of a stop and never of the end of a session."""


SAID = ("last_assistant_message", "prompt_response", "response", "outputText", "summary", "result")
"""Where agents put what a model said last."""


class Asked(NamedTuple):
    """What an agent's hook told. `again` says that it stops for the second time, after a request of a hook."""

    agent: str
    event: str
    called: str
    session: str = ""
    folder: str = ""
    prompt: str = ""
    said: str = ""
    source: str = ""
    transcript: str = ""
    again: bool = False
    file: str = ""

    @property
    def often(self) -> bool:
        """Whether the agent tells it before each call of its model."""
        return _folded(self.called) == "preinvocation"

    @property
    def hears(self) -> bool:
        """Whether what is answered reaches the model."""
        return (self.agent, self.event) not in DEAF

    @property
    def requestable(self) -> bool:
        """Whether this stop can be answered with a request, and was not already."""
        return self.agent in REQUESTS and not self.again


def read(agent: str, event: str, row: Row) -> Asked:
    """What a hook's JSON says, whichever agent wrote it.

    Raises:
        Invalid: when the event is not known.
    """
    known = EVENTS.get(_folded(event))
    if known is None:
        raise Invalid(
            f"There is no hook event {event!r}.", "Use session-start, prompt-submit, stop or session-end."
        )
    inner = row.get("tool_info"), row.get("userPromptSubmit"), row.get("turn")
    tool = row.get("tool_input") or row.get("toolInput") or row
    rows = [row, *(each for each in inner if isinstance(each, dict))]
    return Asked(
        agent=agent,
        event=known,
        called=_text(row, "hook_event_name", "hookEventName", "hookName", "agent_action_name") or event,
        session=_text(
            row, "session_id", "sessionId", "conversation_id", "conversationId", "taskId", "trajectory_id"
        ),
        folder=_folder(row),
        prompt=next((text for each in rows if (text := _text(each, "prompt", "user_prompt"))), ""),
        said=next((text for each in rows if (text := _text(each, *SAID))), ""),
        source=_text(row, "source"),
        transcript=_text(row, "transcript_path", "transcriptPath", "agent_transcript_path"),
        again=row.get("stop_hook_active") is True or _repeated(row),
        file=_text(tool, "file_path", "filePath", "path", "notebook_path") if isinstance(tool, dict) else "",
    )


def telling(asked: Asked, text: str) -> Row:
    """The answer that puts a text before the model."""
    if not text or not asked.hears:
        return {}
    if asked.agent == "cursor":
        go_on = {"continue": True} if asked.event == "prompt" else {}
        return {**go_on, "additional_context": text}
    if asked.agent == "antigravity":
        return {"injectSteps": [{"ephemeralMessage": text}]}
    if asked.agent == "cline":
        return {"cancel": False, "contextModification": text}
    return {"hookSpecificOutput": {"hookEventName": _name(asked), "additionalContext": text}}


def requesting(asked: Asked, text: str) -> Row:
    """The answer to a stop that asks the model to do one thing more."""
    if asked.agent == "cursor":
        return {"followup_message": text}
    if asked.agent == "antigravity":
        return {"decision": "continue", "reason": text}
    block = {"decision": "block", "reason": text}
    return {"hookSpecificOutput": {"hookEventName": _name(asked), **block}} if asked.agent == "vscode" else block


def _folded(word: str) -> str:
    return "".join(mark for mark in word.lower() if mark.isalnum())


def _name(asked: Asked) -> str:
    return asked.called if _folded(asked.called) in EVENTS and asked.called[:1].isupper() else NAMES[asked.event]


def _text(row: Row, *keys: str) -> str:
    """The first of some fields that is a text, without what cannot be said in one: controls and half characters."""
    found = next((value for key in keys if isinstance(value := row.get(key), str) and value), "")
    return found.encode(errors="replace").decode().translate(CONTROLS)


def _folder(row: Row) -> str:
    """The folder an agent works in: the one it names, else the first it has open; "" if there is none such."""
    roots: Any = next(
        (row[key] for key in ("workspace_roots", "workspaceRoots", "workspacePaths") if row.get(key)), []
    )
    first = roots[0] if isinstance(roots, list) and roots else ""
    for place in (_text(row, "cwd"), first):
        if isinstance(place, str) and os.path.isabs(place) and os.path.isdir(place):
            return place
    return ""


def _repeated(row: Row) -> bool:
    """Cursor counts how often a stop was answered with more to do, and says whether the turn was cut short."""
    count = row.get("loop_count", 0)
    return (isinstance(count, int) and count > 0) or row.get("status", "completed") not in ("completed", "")
