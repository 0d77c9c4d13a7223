"""Hints as the page gives them: what a command does is a link to where the page does it, any other is code."""

import re

from markupsafe import Markup, escape

from engram.surfaces.mentions import Mention, mentioned
from engram.surfaces.pages import place_of
from engram.surfaces.server.guard import PAGES
from engram.surfaces.web.wording import shown

HANDLE = re.compile(r"\bmem-\d{4,9}\b")
"""A memory, as hints name it."""

FIELDS = {"everywhere": "an empty scope", "weak": "“Also what came near”"}
"""What the search of the page has for an option."""


def led(hint: str) -> Markup:
    """A hint whose commands are links to where the page does the same, and whose memories are links to them.

    Two commands in a row that lead to the same place are one way.
    """
    parts: list[Markup] = []
    at = 0
    for one in mentioned(hint):
        way = _way(one)
        if not (parts and parts[-1] == way and hint[at : one.start].strip(" ,") in ("or", "and")):
            parts += [_prose(hint[at : one.start]), way]
        at = one.end
    return Markup("").join([*parts, _prose(hint[at:])])


def marked_pair(mark: str, id: str) -> Markup:
    """What is said of a memory and another, as a link to the card of the two."""
    other = HANDLE.search(mark)
    return _link(f"/conflicts/{id}~{other[0]}", mark) if other else shown(mark)


def _prose(text: str) -> Markup:
    parts, at = [], 0
    for found in HANDLE.finditer(text):
        parts += [shown(text[at : found.start()]), _link(f"/memory/{found[0]}", found[0])]
        at = found.end()
    return Markup("").join([*parts, shown(text[at:])])


def _way(one: Mention) -> Markup:
    if place := place_of(one):
        return _link(*place)
    if not one.command and (said := [FIELDS[name] for name, _ in one.options if name in FIELDS]):
        return shown(" and ".join(said))
    return Markup("<code>{}</code>").format(one.text)


def _link(path: str, words: str) -> Markup:
    return Markup('<a href="{}">{}</a>').format(escape(PAGES + path), words)
