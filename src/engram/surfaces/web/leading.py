"""Hints as the page gives them: what a command does is a link to where the page does it, any other is code."""

import re
from urllib.parse import quote

from markupsafe import Markup, escape

from engram.surfaces.guard import PAGES
from engram.surfaces.web.wording import shown

COMMAND = re.compile(
    r"`?engram (?P<name>(?:backup|remote|models|session|insights|projects|key) [a-z]+|[a-z]+)"
    r"(?: (?P<ref>mem-\d+|[0-9a-f]{8}-[0-9a-f-]{4,27}))?"
    r"(?P<rest>(?: --[a-z-]+(?:[ =][A-Za-z0-9_:-]+)?| [A-Z]+\b)*)`?"
    r"|\b(?P<handle>mem-\d{4,9})\b"
)
"""A command as hints write it: its name, the memory it is about, and whatever else; or only a memory."""

PLACES = {
    "review": ("/inbox", "the inbox"),
    "promote": ("/inbox", "the inbox"),
    "reject": ("/inbox", "the inbox"),
    "history": ("/history", "the history"),
    "undo": ("/history", "the history"),
    "list": ("/search", "the search"),
    "search": ("/search", "the search"),
    "recall": ("/search", "the search"),
    "conflicts": ("/graph?question=conflicts", "the conflicts"),
    "evidence": ("/files", "the files"),
    "files": ("/files", "the files"),
    "context": ("/next", "the next session"),
    "doctor": ("/health", "the health page"),
    "reembed": ("/health", "the health page"),
    "stats": ("/stats", "the stats"),
    "trends": ("/stats", "the stats"),
}
"""Where a command without a memory is at home."""

OF_ONE = frozenset({"history", "get", "revise", "verify", "forget", "restore", "related", "promote", "reject"})
"""Commands whose memory's own page does what they do."""


def led(hint: str) -> Markup:
    """A hint whose commands are links to where the page does the same, and whose memories are links to them."""
    parts, at = [], 0
    for found in COMMAND.finditer(hint):
        parts += [shown(hint[at : found.start()]), _way(found)]
        at = found.end()
    return Markup("").join([*parts, shown(hint[at:])])


def _way(found: re.Match[str]) -> Markup:
    name, ref, rest = found["name"], found["ref"], found["rest"] or ""
    if found["handle"]:
        return _link(f"/memory/{found['handle']}", found["handle"])
    if ref and name in OF_ONE:
        return _link(f"/memory/{quote(ref)}", ref)
    if standing := re.search(r"--standing[ =]([a-z]+)", rest):
        return _link(f"/search?standing={standing[1]}", f"what is {standing[1]}")
    if name == "conflicts" and "--scan" in rest:
        return _link(*PLACES["doctor"])
    if name in PLACES:
        return _link(*PLACES[name])
    return Markup("<code>{}</code>").format(found[0].strip("`"))


def _link(path: str, words: str) -> Markup:
    return Markup('<a href="{}">{}</a>').format(escape(PAGES + path), words)
