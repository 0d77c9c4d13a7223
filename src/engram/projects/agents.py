"""The table of agents: how each is found on this machine, and where its server, hooks and instructions live.

Only files of the person's own are named here, never one of a repository.
"""

import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from engram.errors import Invalid
from engram.projects.edits import MODULE, Block, Piece, Script
from engram.projects.edits_json import Default, Hook, Member, Row
from engram.projects.edits_toml import Table
from engram.projects.protocol import BEGIN, END, INSTRUCTIONS

EDITS = "Edit|MultiEdit|Write|NotebookEdit"
"""The tools of Claude Code that change a file: it takes what a hook says before them as context."""

SERVER = "engram"
MARK = "ENGRAM_AGENT"
"""The variable that an MCP entry of ours sets, and by which it is known again."""

PATIENCE = 10
"""Seconds an agent waits for a hook of ours; one takes a small part of one."""

SHORT = 3
"""Seconds it waits at the end of a session: Codex allows no more."""

EXECUTABLE = 0o700


class Launch(NamedTuple):
    """How an agent starts Engram: a program, and the words before the command."""

    program: str
    words: tuple[str, ...] = ()

    def line(self, *words: str) -> str:
        """A shell's command line."""
        everything = [self.program, *self.words, *words]
        if os.name == "nt":
            from subprocess import list2cmdline  # noqa: PLC0415 - Windows alone

            return list2cmdline(everything)
        from shlex import join  # noqa: PLC0415 - set-up alone

        return join(everything)


class Home(NamedTuple):
    """A person's folders, as this machine and its variables have them."""

    folder: str
    variables: Mapping[str, str]
    platform: str = sys.platform

    def at(self, *parts: str) -> str:
        """A place below the home folder."""
        return os.path.join(self.folder, *parts)

    def of(self, variable: str, *default: str) -> str:
        """The folder that a variable names, or a place below the home folder."""
        given = self.variables.get(variable, "")
        return given if os.path.isabs(given) else self.at(*default)

    def config(self, *parts: str) -> str:
        """A place below the folder for settings of programs that follow the XDG rules."""
        return os.path.join(self.of("XDG_CONFIG_HOME", ".config"), *parts)

    def roaming(self, *parts: str) -> str:
        """A place below the folder for settings of programs with a window."""
        if self.platform == "darwin":
            return self.at("Library", "Application Support", *parts)
        if self.platform == "win32":
            return os.path.join(self.of("APPDATA", "AppData", "Roaming"), *parts)
        return self.config(*parts)


class Target(NamedTuple):
    """A file, and what goes into it. `mode` is for a file that is not there yet."""

    path: str
    pieces: tuple[Piece, ...]
    mode: int = 0o600


Targets = Callable[[Home, Launch], list[Target]]


class Agent(NamedTuple):
    """One row: a name, the programs and folders that tell it is here, and what is written for it.

    The first of its targets holds the server, without which the others are of no use.
    """

    name: str
    title: str
    programs: tuple[str, ...]
    folders: Callable[[Home], list[str]]
    targets: Targets
    note: str = ""

    def found(self, home: Home) -> str:
        """What tells that the agent is on this machine: a folder or a program; "" if nothing does."""
        for folder in self.folders(home):
            if os.path.exists(folder):
                return folder
        from shutil import which  # noqa: PLC0415 - set-up alone

        return next((path for name in self.programs if (path := which(name, path=home.variables.get("PATH")))), "")


# --- pieces that several agents share ---


def _server(launch: Launch, agent: str, *path: str, **more: Any) -> Member:  # noqa: ANN401 - JSON values
    """The MCP entry in the form most agents use."""
    row = {**more, "command": launch.program, "args": [*launch.words, "mcp"], "env": {MARK: agent}}
    return Member((*path, SERVER), row, MARK)


def _instructions(front: str = "") -> Block:
    return Block(BEGIN, INSTRUCTIONS, END, front)


def _command(launch: Launch, agent: str, event: str, **more: Any) -> tuple[Row, str]:  # noqa: ANN401 - JSON
    words = ("hook", event, "--agent", agent)
    return {**more, "command": launch.line(*words)}, " ".join(words)


def _grouped(
    launch: Launch, agent: str, events: Mapping[str, str], *, second: int = 1, matcher: str = ""
) -> list[Piece]:
    """Hooks in groups, each with its own list of commands: the form of Claude Code, Codex and Gemini CLI.

    A `matcher` names the tools that they are for.
    """
    only = {"matcher": matcher} if matcher else {}
    pieces: list[Piece] = []
    for name, event in events.items():
        row, ending = _command(launch, agent, event, type="command")
        timeout = (SHORT if event == "session-end" else PATIENCE) * second
        pieces.append(Hook(("hooks", name), {**only, "hooks": [{**row, "timeout": timeout}]}, ending))
    return pieces


def _listed(launch: Launch, agent: str, events: Mapping[str, str], **more: Any) -> list[Piece]:  # noqa: ANN401
    """Hooks as a plain list of commands: the form of Cursor, VS Code and Windsurf."""
    pieces: list[Piece] = []
    for name, event in events.items():
        row, ending = _command(launch, agent, event)
        pieces.append(Hook(("hooks", name), {**row, **more}, ending))
    return pieces


# --- one function for each agent: what is written where ---


def _claude_code(home: Home, launch: Launch) -> list[Target]:
    own = home.of("CLAUDE_CONFIG_DIR", ".claude")
    state = own if home.variables.get("CLAUDE_CONFIG_DIR") else home.folder
    events = {
        "SessionStart": "session-start",
        "UserPromptSubmit": "prompt-submit",
        "PreCompact": "pre-compact",
        "Stop": "stop",
        "SubagentStop": "subagent-stop",
        "SessionEnd": "session-end",
    }
    name = "claude-code"
    hooks = [*_grouped(launch, name, events), *_grouped(launch, name, {"PreToolUse": "pre-edit"}, matcher=EDITS)]
    return [
        Target(os.path.join(state, ".claude.json"), (_server(launch, name, "mcpServers", type="stdio"),)),
        Target(os.path.join(own, "settings.json"), tuple(hooks)),
        Target(os.path.join(own, "CLAUDE.md"), (_instructions(),)),
    ]


def _codex(home: Home, launch: Launch) -> list[Target]:
    own = home.of("CODEX_HOME", ".codex")
    events = {
        "SessionStart": "session-start",
        "UserPromptSubmit": "prompt-submit",
        "Stop": "stop",
        "SubagentStop": "subagent-stop",
        "SessionEnd": "session-end",
    }
    server = {"command": launch.program, "args": [*launch.words, "mcp"], "env": {MARK: "codex"}}
    return [
        Target(os.path.join(own, "config.toml"), (Table(("mcp_servers", SERVER), server, MARK),)),
        Target(os.path.join(own, "hooks.json"), tuple(_grouped(launch, "codex", events))),
        Target(os.path.join(own, "AGENTS.md"), (_instructions(),)),
    ]


def _cursor(home: Home, launch: Launch) -> list[Target]:
    events = {
        "sessionStart": "session-start",
        "beforeSubmitPrompt": "prompt-submit",
        "stop": "stop",
        "subagentStop": "subagent-stop",
        "sessionEnd": "session-end",
    }
    hooks = [Default(("version",), 1), *_listed(launch, "cursor", events, timeout=PATIENCE)]
    return [
        Target(home.at(".cursor", "mcp.json"), (_server(launch, "cursor", "mcpServers"),)),
        Target(home.at(".cursor", "hooks.json"), tuple(hooks)),
    ]


def _vscode(home: Home, launch: Launch) -> list[Target]:
    copilot = home.of("COPILOT_HOME", ".copilot")
    # An answer to a prompt does not reach its model, so it is not asked for.
    events = {"SessionStart": "session-start", "Stop": "stop", "SubagentStop": "subagent-stop"}
    hooks = [Default(("version",), 1), *_listed(launch, "vscode", events, type="command", timeout=PATIENCE)]
    front = '---\ndescription: "How to use the Engram memory"\napplyTo: "**"\n---\n\n'
    return [
        Target(home.roaming("Code", "User", "mcp.json"), (_server(launch, "vscode", "servers", type="stdio"),)),
        Target(os.path.join(copilot, "hooks", "engram.json"), tuple(hooks)),
        Target(os.path.join(copilot, "instructions", "engram.instructions.md"), (_instructions(front),)),
    ]


def _gemini_cli(home: Home, launch: Launch) -> list[Target]:
    events = {
        "SessionStart": "session-start",
        "BeforeAgent": "prompt-submit",
        "AfterAgent": "stop",
        "SessionEnd": "session-end",
    }
    name = "gemini-cli"
    # Its timeouts are in milliseconds.
    hooks = _grouped(launch, name, events, second=1000)
    return [
        Target(home.at(".gemini", "settings.json"), (_server(launch, name, "mcpServers"), *hooks)),
        Target(home.at(".gemini", "GEMINI.md"), (_instructions(),)),
    ]


def _antigravity(home: Home, launch: Launch) -> list[Target]:
    name = "antigravity"
    rows: Row = {}
    for event, word in {"PreInvocation": "pre-invocation", "Stop": "stop"}.items():
        row, _ = _command(launch, name, word, type="command")
        rows[event] = [{**row, "timeout": PATIENCE}]
    return [
        Target(home.at(".gemini", "config", "mcp_config.json"), (_server(launch, name, "mcpServers"),)),
        Target(home.at(".gemini", "config", "hooks.json"), (Member((SERVER,), rows, f"--agent {name}"),)),
        Target(home.at(".gemini", "GEMINI.md"), (_instructions(),)),
    ]


def _opencode(home: Home, launch: Launch) -> list[Target]:
    names = ("opencode.jsonc", "opencode.json")
    there = [path for name in names if os.path.lexists(path := home.config("opencode", name))]
    row = {
        "type": "local",
        "command": [launch.program, *launch.words, "mcp"],
        "enabled": True,
        "environment": {MARK: "opencode"},
    }
    return [
        Target((there or [home.config("opencode", "opencode.json")])[0], (Member(("mcp", SERVER), row, MARK),)),
        Target(home.config("opencode", "AGENTS.md"), (_instructions(),)),
    ]


def _windsurf(home: Home, launch: Launch) -> list[Target]:
    own = home.at(".codeium", "windsurf")
    hooks = _listed(launch, "windsurf", {"post_cascade_response": "agent-response"}, show_output=False)
    return [
        Target(os.path.join(own, "mcp_config.json"), (_server(launch, "windsurf", "mcpServers"),)),
        Target(os.path.join(own, "hooks.json"), tuple(hooks)),
        Target(os.path.join(own, "memories", "global_rules.md"), (_instructions(),)),
    ]


def _zed(home: Home, launch: Launch) -> list[Target]:
    own = home.roaming("Zed") if home.platform == "win32" else home.config("zed")
    return [
        Target(os.path.join(own, "settings.json"), (_server(launch, "zed", "context_servers"),)),
        Target(os.path.join(own, "AGENTS.md"), (_instructions(),)),
    ]


def _cline(home: Home, launch: Launch) -> list[Target]:
    extension = home.roaming("Code", "User", "globalStorage", "saoudrizwan.claude-dev")
    older = os.path.join(extension, "settings", "cline_mcp_settings.json")
    server = home.at(".cline", "data", "settings", "cline_mcp_settings.json")
    if os.path.lexists(older) and not os.path.lexists(home.at(".cline", "data")):
        server = older
    targets = [
        Target(server, (_server(launch, "cline", "mcpServers"),)),
        Target(home.at(".cline", "rules", "engram.md"), (_instructions(),)),
    ]
    if home.platform == "win32":  # its hooks are scripts with a first line that Windows does not know
        return targets
    events = {"TaskStart": "session-start", "UserPromptSubmit": "prompt-submit", "TaskComplete": "session-end"}
    for name, event in events.items():
        words = ("hook", event, "--agent", "cline")
        targets.append(Target(home.at(".cline", "hooks", name), (Script(launch.line(*words), words),), EXECUTABLE))
    return targets


TRUST = "Codex runs a hook after you trusted it: type /hooks in Codex and look at ours."
RULES = "Cursor keeps instructions in its settings only, so ours come with the session-start hook."

AGENTS: tuple[Agent, ...] = (
    Agent(
        "claude-code",
        "Claude Code",
        ("claude",),
        lambda home: [home.of("CLAUDE_CONFIG_DIR", ".claude"), home.at(".claude.json")],
        _claude_code,
    ),
    Agent("codex", "Codex", ("codex",), lambda home: [home.of("CODEX_HOME", ".codex")], _codex, TRUST),
    Agent("cursor", "Cursor", ("cursor", "cursor-agent"), lambda home: [home.at(".cursor")], _cursor, RULES),
    Agent("vscode", "VS Code", ("code",), lambda home: [home.roaming("Code", "User")], _vscode),
    Agent("gemini-cli", "Gemini CLI", ("gemini",), lambda home: [home.at(".gemini", "settings.json")], _gemini_cli),
    Agent(
        "antigravity",
        "Antigravity",
        ("agy", "antigravity"),
        lambda home: [home.at(".gemini", name) for name in ("config", "antigravity", "antigravity-cli")],
        _antigravity,
    ),
    Agent("opencode", "OpenCode", ("opencode",), lambda home: [home.config("opencode")], _opencode),
    Agent("windsurf", "Windsurf", ("windsurf",), lambda home: [home.at(".codeium", "windsurf")], _windsurf),
    Agent("zed", "Zed", ("zed", "zeditor"), lambda home: [home.config("zed"), home.roaming("Zed")], _zed),
    Agent(
        "cline",
        "Cline",
        ("cline",),
        lambda home: [
            home.at(".cline"),
            home.roaming("Code", "User", "globalStorage", "saoudrizwan.claude-dev"),
        ],
        _cline,
    ),
)

BY_NAME: Mapping[str, Agent] = {agent.name: agent for agent in AGENTS}
ALIASES = {
    "claude": "claude-code",
    "copilot": "vscode",
    "code": "vscode",
    "gemini": "gemini-cli",
    "agy": "antigravity",
}


def named(name: str) -> Agent:
    """An agent by its name, or by another word people use for it.

    Raises:
        Invalid: when there is none.
    """
    word = name.lower().replace("_", "-").replace(" ", "-")
    agent = BY_NAME.get(ALIASES.get(word, word))
    if agent is None:
        raise Invalid(f"There is no agent {name!r} we know how to set up.", f"Known are: {', '.join(BY_NAME)}.")
    return agent


def launch() -> Launch:
    """How an agent starts the Engram that is running now: its command, or its Python where there is no command."""
    name = "engram.exe" if os.name == "nt" else "engram"
    beside = os.path.join(os.path.dirname(sys.executable), name)
    for path in (os.path.abspath(sys.argv[0]), beside):
        if os.path.basename(path).lower() == name and os.access(path, os.X_OK) and os.path.isfile(path):
            return Launch(path)
    return Launch(sys.executable, MODULE)
