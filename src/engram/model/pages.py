"""Memories as plain Markdown: all of them by kind, or one in full."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from engram.model.limits import print_time
from engram.model.memory import Memory, standing


def by_kind(memories: Iterable[Memory]) -> str:
    """Memories grouped by kind, a line each; in the order given."""
    groups: dict[str, list[Memory]] = defaultdict(list)
    for memory in memories:
        groups[memory.kind].append(memory)
    if not groups:
        return "# Memory\n\n_No promoted memories yet._\n"
    parts = ["# Memory"]
    for kind in sorted(groups):
        lines = "\n".join(f"- {one_line(memory.text)}" for memory in groups[kind])
        parts.append(f"## {kind}\n\n{lines}")
    return "\n\n".join(parts) + "\n"


def page(memory: Memory, now: datetime, view: str) -> str:
    """One memory in full, for a caller on the branch `view`: what it says first, then what is known about it."""
    about = {
        "id": memory.handle,
        "kind": memory.kind,
        "scope": str(memory.scope),
        "key": memory.key,
        "tags": ", ".join(memory.tags),
        "standing": standing(memory, now, view),
        "origin": memory.origin,
        "source": memory.source,
        "confidence": f"{memory.confidence:g}",
        "session": memory.session,
        "created": print_time(memory.created_at),
        "verified": print_time(memory.verified_at) if memory.verified_at else "",
    }
    lines = [f"- {name}: {value}" for name, value in about.items() if value]
    lines += [
        f"- cites: {' '.join(part for part in (each.kind, each.ref, each.locator, each.pin) if part)}"
        for each in memory.citations
    ]
    title = f"# {one_line(memory.summary)}\n\n" if memory.summary else ""
    return f"{title}{memory.text}\n\n" + "\n".join(lines) + "\n"


def one_line(text: str) -> str:
    """The text on one line, unable to end or to open a comment."""
    return " ".join(text.split()).replace("<!--", "\u2039!--").replace("-->", "--\u203a")
