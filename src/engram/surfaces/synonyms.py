"""What other programs call a command or an option, for people who type that here."""

from collections.abc import Mapping

OURS: Mapping[str, str] = {
    **dict.fromkeys(("add", "note", "save", "store"), "engram remember TEXT"),
    **dict.fromkeys(("ask", "find", "query"), "engram recall QUESTION"),
    **dict.fromkeys(("cat", "open", "show", "view"), "engram get MEMORY"),
    **dict.fromkeys(("change", "edit", "update"), "engram revise MEMORY --text TEXT"),
    "pin": "engram revise MEMORY --pinned",
    **dict.fromkeys(("archive", "del", "delete", "remove", "rm"), "engram forget MEMORY"),
    **dict.fromkeys(("accept", "approve", "confirm"), "engram promote MEMORY"),
    **dict.fromkeys(("inbox", "pending"), "engram review"),
    **dict.fromkeys(("audit", "log"), "engram history"),
    **dict.fromkeys(("revert", "rollback"), "engram undo"),
    **dict.fromkeys(("clean", "gc", "prune"), "engram doctor --hygiene"),
    "ignore": "engram conflicts --ignore FIRST~SECOND",
    "gen-context": "engram views AGENTS.md",
    "obsidian-export": "engram export FOLDER --form obsidian",
    **dict.fromkeys(("install", "connect"), "engram setup"),
    **dict.fromkeys(("profile", "profiles"), "engram mcp --profile NAME"),
}
"""The word → what does it here, as it is typed."""

OPTIONS: Mapping[str, str] = {
    "--project": "--scope project:NAME",
    **dict.fromkeys(("--type", "--category"), "--kind"),
    **dict.fromkeys(("--topic", "--topic-key"), "--key"),
    "--title": "--summary",
    "--status": "--standing",
    "--all": "--everywhere",
}
"""The same for options, where a command has the one that is meant."""
