"""What a text says was learned, and a key for a topic that goes on: both read from words alone.

Passive capture follows a rule that agents already write for: a heading `## Key learnings` (or its Spanish forms)
and a list under it. What Engram itself put into a session is marked, and is never read back as something new.
"""

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

from engram.model.hashing import sha256
from engram.model.limits import LIMITS, LONGEST_SHOWN, cut, size
from engram.model.marks import BEGIN, END

SHORTEST = 20
FEWEST_WORDS = 4
"""Bytes and words that an item has at least: less is a heading or a tick."""

SHORTEST_SUMMARY = 60
"""Characters that the first sentences of a long item have at least to stand for it."""

LONGEST_SEGMENT = 100
MOST_ITEMS = 50
"""More items in one section are a document, not what somebody learned."""

FAMILIES: dict[str, tuple[str, ...]] = {
    "architecture": ("architecture", "design", "adr", "refactor"),
    "bug": ("bug", "bugfix", "fix", "incident", "hotfix"),
    "decision": ("decision",),
    "pattern": ("pattern", "convention", "guideline"),
    "config": ("config", "setup", "infra", "infrastructure", "ci"),
    "discovery": ("discovery", "investigation", "root_cause", "root-cause"),
    "learning": ("learning", "learn"),
    "session": ("session_summary", "summary"),
}
"""Family of a topic key → the kinds that belong to it."""

SIGNS: dict[str, tuple[str, ...]] = {
    "bug": ("bug", "fix", "error", "crash", "incident", "regression", "broken"),
    "architecture": ("architecture", "design", "adr", "boundary", "refactor"),
    "decision": ("decision", "decide", "chose", "choose", "tradeoff", "trade-off"),
    "pattern": ("pattern", "convention", "naming", "guideline"),
    "config": ("config", "setup", "environment", "docker", "pipeline"),
    "discovery": ("discovery", "investigat", "root cause", "found"),
    "learning": ("learned", "learning", "lesson"),
}
"""Family of a topic key → words that tell of it, in the order they are looked for."""


def without_recalled(text: str) -> str:
    """The text without the blocks that Engram put there; one that is not closed goes to the end."""
    return _recalled().sub("", text) if BEGIN.strip("<>") in text else text


class Learned(NamedTuple):
    """What a section of learnings lists, and what of it says too little to be remembered, or is too much."""

    items: list[str]
    slight: list[str]
    beyond: int = 0


def learnings(text: str) -> list[str]:
    """The items of the last section of learnings that has any: its numbered lines, else its bullets."""
    return learned(text).items


def learned(text: str) -> Learned:
    """The items of the last section of learnings that has any, and what was left out of that section."""
    slight: list[str] = []
    for section in reversed(list(_sections(without_recalled(text)))):
        for pattern in (_numbered(), _bulleted()):
            listed = dict.fromkeys(_plain(found.group(1)) for found in map(pattern.match, section) if found)
            # A line of a brief that was copied out of its block is no news either.
            items = [item for item in listed if not _brief_mark().search(item)]
            kept = [item for item in items if _says_something(item)]
            if kept:
                slight = [item for item in items if not _says_something(item)]
                return Learned(kept[:MOST_ITEMS], slight, max(0, len(kept) - MOST_ITEMS))
            slight = slight or items
    return Learned([], slight)


def summary_of(item: str) -> str:
    """The sentences that an item of `learned` begins with, as its summary; none for one that is shown itself.

    Where the first sentence is too long, it is cut between words and never within a character.
    """
    if len(item) <= LONGEST_SHOWN:
        return ""
    room = LIMITS["summary"] - size("…")
    head = cut(item[:LONGEST_SHOWN], room)
    ends = [found.end() for found in _sentence_ends().finditer(head) if found.end() >= SHORTEST_SUMMARY]
    return head[: ends[-1]] if ends else (head.rpartition(" ")[0] or head) + "…"


def suggested_key(text: str, summary: str, kind: str) -> str:
    """`family/segment`: the same topic gets the same key again, in whatever script it is written."""
    said = f"{summary} {text}".lower()
    family = _family(kind.strip().lower(), said)
    source = summary.strip() or " ".join(text.split()[:8])
    segment = "-".join(re.findall(r"[a-z0-9]+", source.lower()))[:LONGEST_SEGMENT].strip("-")
    segment = segment.removeprefix(f"{family}-")
    if segment in ("", family):
        segment = "general"
    if not source.isascii():  # what Latin letters leave of it may be the same for two topics
        whole = " ".join(source.lower().split()).encode("utf-8", "surrogatepass")
        segment = f"{segment}-u-{sha256(whole).hexdigest()[:12]}"
    return cut(f"{family}/{segment}", LIMITS["key"])


def _family(kind: str, said: str) -> str:
    for family, kinds in FAMILIES.items():
        if kind in kinds:
            return family
    for family, signs in SIGNS.items():
        if any(sign in said for sign in signs):
            return family
    return kind if kind not in ("", "manual", "fact") else "topic"


def _says_something(item: str) -> bool:
    spaceless = any(mark > "\u2e7f" for mark in item)  # a script that puts no spaces between words
    return size(item) >= SHORTEST and (spaceless or len(item.split()) >= FEWEST_WORDS)


def _sections(text: str) -> Iterator[list[str]]:
    """The lines under each heading of learnings, up to the next heading of the first three levels."""
    section: list[str] | None = None
    for line in text.splitlines():
        if _heading().fullmatch(line.strip()):
            if section is not None:
                yield section
            section = []
        elif re.match(r"#{1,3}\s", line):
            if section is not None:
                yield section
            section = None
        elif section is not None:
            section.append(line)
    if section is not None:
        yield section


def _plain(item: str) -> str:
    """One line without the marks of emphasis and code."""
    for pattern in _emphasis():
        item = pattern.sub(r"\1", item)
    return " ".join(item.split())


@functools.cache
def _sentence_ends() -> re.Pattern[str]:
    # Not after what is shortened, such as "e.g." and "vs.".
    return re.compile("(?<=\\w\\w)(?<!\\bvs)(?<!etc)[.!?](?=\\s)|[\u3002\uff01\uff1f]")


@functools.cache
def _recalled() -> re.Pattern[str]:
    # A block begins on a line of its own: a sentence that names the mark is a sentence.
    # Some agents escape what hooks give them.
    begin, end = (f"(?:{mark}|{mark.replace('<', '&lt;').replace('>', '&gt;')})" for mark in (BEGIN, END))
    return re.compile(rf"^[ \t]*{begin}[ \t\r]*$.*?(?:{end}|\Z)", re.DOTALL | re.MULTILINE)


@functools.cache
def _brief_mark() -> re.Pattern[str]:
    """What `recall.brief` puts after a line: handle, kind, whose word it is (`model.memory.voice`) and age."""
    return re.compile(
        r"\[mem-\d+, [\w-]+, (?:said(?: to an agent)?(?: by [^],]+)?|inferred(?: for [^],]+)?), [^]]+\]$"
    )


@functools.cache
def _heading() -> re.Pattern[str]:
    names = "aprendizajes(?: clave)?|(?:key )?learnings?"
    return re.compile(rf"#{{2,3}}\s+(?:{names})\s*:?", re.IGNORECASE)


@functools.cache
def _numbered() -> re.Pattern[str]:
    return re.compile(r"\s*\d{1,4}[.)]\s+(.+)")


@functools.cache
def _bulleted() -> re.Pattern[str]:
    return re.compile(r"\s*[-*]\s+(.+)")


@functools.cache
def _emphasis() -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, (r"\*\*(.+?)\*\*", r"`([^`]+)`", r"(?<![*\w])\*(?!\s)([^*]+)\*(?![*\w])")))
