"""Questions that ask for a time and nothing else: what happened yesterday, what was decided last week."""

import functools
import re

from engram.model.text import STOP_WORDS
from engram.recall.lexical import SMALL_GERMAN, is_german, quoted
from engram.recall.timewords import TimeAsked

_THINGS = {
    "": "changes memories news notes things neues notizen änderungen",
    "decision": "decision decisions entscheidung entscheidungen",
    "learning": "learnings",
    "bugfix": "bugfixes fixes",
}
_DEEDS = {
    "": """
        added anything change changed discussed done everything happen happened new noted recorded remembered saved
        something talked work worked working written
        alles besprochen etwas gab gearbeitet geändert gemacht gemerkt geschah
        gespeichert getan neu notiert passiert
    """,
    "decision": "decide decided beschlossen entschieden",
    "learning": "learn learned learnt gelernt",
    "bugfix": "fix fixed mended behoben repariert",
}


def _by_word(table: dict[str, str]) -> dict[str, str]:
    return {word: kind for kind, line in table.items() for word in line.split()}


_NOUNS = _by_word(_THINGS)
_KINDS = _NOUNS | _by_word(_DEEDS)
"""What may be said of a time without naming a subject, and the kind of memory that is meant by it."""

_ENGLISH, _GERMAN = frozenset(("what", "which")), frozenset(("was", "welche", "welches", "gab"))
"""What a question begins with; *was* is one in German alone."""

_GERMAN_TIMES = frozenset(
    ("heute", "gestern", "vorgestern", "woche", "monat", "jahr", "zuletzt", "kürzlich", "seit")
)


def sought(question: str, time: TimeAsked) -> str | None:
    """The kind of memory that a question for a time alone is about, empty for any; None where it has a subject.

    What is no question needs a noun, if anything: *yesterday*, *latest decisions*, but not *fix this now*.
    """
    if not time.said or quoted(question):
        return None
    words = _words().findall(question.lower())
    said = set(_words().findall(time.said.lower()))
    german = is_german(question) or not _GERMAN_TIMES.isdisjoint(said)
    small, asking = (SMALL_GERMAN | _GERMAN, _GERMAN) if german else (STOP_WORDS, _ENGLISH)
    left = [word for word in words if word not in said and word not in small]
    asks = question.rstrip().endswith("?") or not asking.isdisjoint(words)
    if not all(word in (_KINDS if asks else _NOUNS) for word in left):
        return None
    if time.since is None and time.until is None and not left:
        return None  # the newest, or oldest, of what?
    return next((kind for word in left if (kind := _KINDS[word])), "")


@functools.cache
def _words() -> re.Pattern[str]:
    return re.compile(r"\w+")
