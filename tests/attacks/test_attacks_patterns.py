"""No text makes a pattern slow: every regular expression of the source, on texts made to trip it."""

import time
from datetime import UTC, datetime

import pytest

from attacks.ledger import tried
from attacks.patterns import Found, attacks, everywhere
from engram.recall.timewords import LONGEST_READ, asked
from engram.rules.harvest import LONGEST

SIZE = 6000
QUICK = 0.01
"""Seconds of work that a text of this size may cost: in proportion it is a tenth of that."""

A_MOMENT = 0.05
"""Seconds of work that a short text may cost, however it is written."""

STEEP = 3.0
"""How many times longer twice the text may take; what is not in proportion takes four times."""

ASKED = {
    "engram.interop.markdown.FRONT_MATTER": "match",
    "engram.interop.markdown._ITEM": "match",
    "engram.interop.memory_v1_folder._DASH": "match",
    "engram.interop.peers.claude_ai": "fullmatch",
    "engram.interop.peers.notes.FRONT_MATTER": "match",
    "engram.interop.peers.claude_code._OWN": "match",
    "engram.recall.timewords_lexicon.JOINTS": "fullmatch",
    "engram.rules.capture._bulleted": "match",
    "engram.rules.capture._numbered": "match",
    "engram.rules.likeness_values._kinds": "fullmatch",
}
"""How a pattern is asked whose name tells too little of it: for a whole text, or at the beginning of one."""

SHORT = {
    "engram.recall.timewords": LONGEST_READ,
    "engram.rules.harvest_words": LONGEST,  # one sentence of a talk
    "engram.surfaces.mentions": 500,  # one hint of ours
}
"""Where a pattern may be out of proportion: so many characters are all that it is ever asked about."""

ALL, UNREAD = everywhere()


def as_asked(found: Found) -> Found:
    """The pattern with the one way in which it is asked, where that is known."""
    ways = [
        way for place, way in ASKED.items() if f"{found.place}.".startswith(f"{place}.") or found.place == place
    ]
    return found._replace(methods=frozenset(ways)) if ways else found


FOUND = [as_asked(found) for found in ALL]
MADE_LATER = {
    "engram.engines.files.registry",
    "engram.engines.files.traces",
    "engram.evidence.spans",
    "engram.interop.backup_file",
    "engram.projects.edits_toml",
}
"""Modules that make a pattern of a name they are given, escaped."""


def seconds(found: Found, text: str, times: int = 1) -> float:
    """What looking through a text costs, at its best: this machine may be busy."""
    taken = []
    for _ in range(times):
        began = time.process_time()
        found.ask(text)
        taken.append(time.process_time() - began)
    return min(taken)


def longest(found: Found) -> int:
    """The most characters that a pattern is asked about; 0 where nothing bounds it."""
    return next((most for place, most in SHORT.items() if found.place.startswith(place)), 0)


def is_slow(found: Found, size: int) -> bool:
    """Whether a text of the most characters there may be takes long."""
    texts = attacks(found.pattern, size)
    return any(seconds(found, text) > A_MOMENT and seconds(found, text, 4) > A_MOMENT for text in texts)


def is_steep(found: Found) -> bool:
    """Whether there is a text on which a pattern takes longer than in proportion."""
    for text, twice in zip(attacks(found.pattern, SIZE), attacks(found.pattern, 2 * SIZE), strict=True):
        if seconds(found, text) <= QUICK or (least := seconds(found, text, 4)) <= QUICK:
            continue
        if seconds(found, twice, 3) > STEEP * least:
            return True
    return False


def test_every_pattern_of_the_source_is_looked_at():
    looked_at = {found.place for found in FOUND}

    assert len(FOUND) > 400
    assert {
        "engram.rules.redact._WRAPPED",
        "engram.rules.redact.CONTEXT_GROUPS",
    } <= looked_at  # compiled when asked
    assert {place.partition(":")[0] for place in UNREAD} <= MADE_LATER


@pytest.mark.parametrize("module", sorted({found.place.partition(":")[0].rpartition(".")[0] for found in FOUND}))
def test_every_pattern_takes_time_in_proportion(module: str):
    looked = {
        (found.pattern.pattern, found.pattern.flags, found.methods): found
        for found in FOUND
        if found.place.partition(":")[0].rpartition(".")[0] == module
    }
    steep = [found.place for found in looked.values() if not longest(found) and is_steep(found)]
    slow = [found.place for found in looked.values() if (size := longest(found)) and is_slow(found, size)]
    assert steep == slow == []
    for _ in looked:
        tried("A text that makes a pattern slow", "store", "time in proportion, or bounded")


def test_no_long_question_makes_reading_its_time_slow():
    forms = [found for found in FOUND if found.place.endswith("timewords_dates._FORMS")]
    assert len(forms) > 5
    for found in forms:
        worst = max(attacks(found.pattern, LONGEST_READ), key=lambda text: seconds(found, text))
        began = time.process_time()
        asked(worst[:LONGEST_READ] * 200, datetime(2026, 1, 1, tzinfo=UTC))
        assert time.process_time() - began <= A_MOMENT
