"""A view for a file that agents read: live memories within a budget, by kind; the same input gives the same bytes.

A view says nothing of ages: it changes only when what is remembered changes.
"""

import functools
import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from engram.model.answers import Brief
from engram.model.marks import BEGIN, END, tame
from engram.model.memory import CURATED, Memory
from engram.model.text import tokens
from engram.recall.brief import NOTE
from engram.rules.kinds import PERSONAL

HEADING = "## What Engram remembers"
NOTHING = "_Nothing yet._"


def view(memories: Sequence[Memory], *, budget: int, now: datetime) -> Brief:
    """The text of a view. What weighs most gets in; within its kind, what is oldest comes first.

    `left_out` counts what did not fit; `hint` says what is kept out because it is personal.
    """
    open_to_all = [one for one in memories if one.kind not in PERSONAL]
    kept_out = len(memories) - len(open_to_all)
    spent = tokens(_written({}, 9999)) + 1
    chosen: dict[str, list[tuple[Memory, str]]] = defaultdict(list)
    for memory in sorted(open_to_all, key=_weight):
        line = _line(memory)
        cost = tokens(f"{line}\n") + (0 if memory.kind in chosen else tokens(f"\n**{memory.kind}**\n\n"))
        if spent + cost <= budget:
            spent += cost
            chosen[memory.kind].append((memory, line))
    included = tuple(memory for kind in sorted(chosen) for memory, _ in _in_order(chosen[kind]))
    left_out = len(open_to_all) - len(included)
    text = _written({kind: [line for _, line in _in_order(chosen[kind])] for kind in sorted(chosen)}, left_out)
    hint = f"Personal memories stay out of files: {kept_out} ({', '.join(sorted(PERSONAL))})." if kept_out else ""
    return Brief(
        at=now, text=text, tokens=tokens(text), budget=budget, included=included, left_out=left_out, hint=hint
    )


def _written(groups: dict[str, list[str]], left_out: int) -> str:
    lines = [BEGIN, "", HEADING, "", NOTE]
    for kind, group in groups.items():
        lines += ["", f"**{kind}**", "", *group]
    if not groups:
        lines += ["", NOTHING]
    if left_out:
        lines += ["", f"({left_out} more did not fit; recall finds them.)"]
    return "\n".join([*lines, "", END])


def _weight(memory: Memory) -> tuple[bool, bool, int, float, str]:
    """What sorts first gets in first: pinned, what a person confirmed, the important, the new."""
    return (
        not memory.pinned,
        memory.tier != CURATED,
        -memory.importance,
        -memory.created_at.timestamp(),
        memory.id,
    )


def _in_order(chosen: Sequence[tuple[Memory, str]]) -> list[tuple[Memory, str]]:
    """By age: what is new comes last, so that it moves no other line."""
    return sorted(chosen, key=lambda each: (each[0].created_at, each[0].id))


def _line(memory: Memory) -> str:
    return f"- {_inert(tame(memory.gist))}"


def _inert(line: str) -> str:
    """A line in which no `@path` is an import: some agents read the file it names, unless it is code.

    Runs of backticks become one, and where they do not pair for certain none is left, so that every reader of
    Markdown sees the same code here as we do.
    """
    single = _ticks().sub("`", line)
    if single.count("`") % 2 or "\\`" in single:
        single = single.replace("`", "'")
    parts = single.split("`")
    parts[::2] = [_imports().sub(r" `\g<0>` ", part) for part in parts[::2]]
    return " ".join("`".join(parts).split())


@functools.cache
def _ticks() -> re.Pattern[str]:
    return re.compile("`{2,}")


@functools.cache
def _imports() -> re.Pattern[str]:
    return re.compile(r"(?:(?<!\\)\\+|(?<!\w))@\S+")
