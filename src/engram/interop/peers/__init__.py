"""Readers of other systems' memories: each module tells one form by looking, and reads it as it streams by."""

PEERS = tuple(
    f"engram.interop.peers.{name}"
    for name in (
        "server_memory",
        "mem0",
        "mcp_memory_service",
        "claude_mem",
        "claude_code",
        "claude_code_projects",
        "chatgpt",
        "claude_ai",
        "basic_memory",
        "obsidian",
    )
)
"""The modules that each have a `FORM`, the more particular first: part of `forms.FORMS`."""
