"""No text makes a pattern slow: every regular expression of the source, on texts made to trip it."""

import time

import pytest

from attacks.ledger import tried
from attacks.patterns import Found, attacks, everywhere

SIZE = 6000
QUICK = 0.01
"""Seconds of work that a text of this size may cost: in proportion it is a tenth of that."""

STEEP = 3.0
"""How many times longer twice the text may take; what is not in proportion takes four times."""

BOUNDED = {
    "engram.engines.files.beside": "one line of a file of ours",
    "engram.interop.backup_file": "the name of a packed file",
    "engram.interop.markdown": "one line of a page that a person imports",
    "engram.interop.memory_v1_folder": "one line of a folder that a person imports",
    "engram.interop.obsidian_page": "one line of a page, of at most 4,096 characters",
    "engram.interop.peers.claude_code": "asked at the beginning of what a file begins with",
    "engram.interop.peers.claude_ai": "the name of a file in an export that a person imports",
    "engram.recall.timewords": "the beginning of a question, of at most 500 characters",
    "engram.rules.capture._numbered": "asked at the beginning of one line",
    "engram.rules.capture._bulleted": "asked at the beginning of one line",
    "engram.rules.harvest_words": "one sentence of a talk, of at most 400 characters",
    "engram.surfaces.mentions": "one hint of ours",
}
"""Where a pattern is not in proportion: what it sees, which is short or chosen by the person."""

WHOLE = frozenset({"engram.rules.likeness_values._kinds"})
"""Lists of patterns of which each is asked for a whole word."""

ALL, UNREAD = everywhere()
FOUND = [one._replace(methods=frozenset({"fullmatch"})) if one.place in WHOLE else one for one in ALL]
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
    steep = [
        found.place for found in looked.values() if not found.place.startswith(tuple(BOUNDED)) and is_steep(found)
    ]
    assert steep == []
    for _ in looked:
        tried("A text that makes a pattern slow", "store", "time in proportion, or bounded")
