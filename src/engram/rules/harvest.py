"""Which sentences of a talk are worth proposing as memories, by rules: what somebody says outright, no more.

A sentence counts when it begins like a statement that is meant to last ("always use …", "we decided …",
"my … is …", "remember that …", "no, use … instead"), in English, German or Spanish. What is asked, supposed,
quoted, pasted, meant for the moment, or points at something on the screen is left out: a reviewer's patience is
worth more than the sentence that was missed. An agent's words count for what it decided with the person, and for
its list of learnings.
"""

import functools
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from engram.rules import harvest_words as words
from engram.rules.capture import learnings, without_recalled
from engram.rules.kinds import ABOUT_A_PERSON

LONGEST_TALK = 4_000
"""Characters of a message by a person that are still talk; more was pasted, and only its learnings are read."""

SHORTEST, LONGEST = 12, 400
FEWEST_WORDS = 3
FEWEST_OF_A_DECISION = 5
"""Words: "we decided to wait" is no decision to keep."""

MOST_A_TURN = 20
EXCERPT = 200

SURE, LIKELY, GUESSED = 0.8, 0.7, 0.6
"""Confidence in what a person said outright, in a correction, and in what an agent says was decided or learned."""


class Statement(NamedTuple):
    """A sentence worth proposing: the memory's text and kind, how sure that is, and the words it was taken from."""

    text: str
    kind: str
    confidence: float
    excerpt: str


def statements(role: Literal["user", "assistant"], said: str) -> list[Statement]:
    """What of a message is worth proposing, in its order and without repetition."""
    talk = without_recalled(said)
    found = [Statement(item, "learning", GUESSED, item[:EXCERPT]) for item in learnings(talk)]
    if role == "assistant" or len(talk) <= LONGEST_TALK:
        judged = [one for one in map(_judge, _sentences(talk)) if one]
        decided = [one._replace(confidence=GUESSED) for one in judged if one.kind == "decision"]
        found += judged if role == "user" else decided
    return list({one.text: one for one in reversed(found)}.values())[::-1][:MOST_A_TURN]


def says_something(text: str) -> bool:
    """Whether a text that a model found can be a memory: a sentence of some length, with nothing taken out."""
    size = SHORTEST <= len(text) <= LONGEST and (len(text.split()) >= FEWEST_WORDS or not text.isascii())
    bare = re.fullmatch(r"(?:/|~/)\S+", text.strip())
    return bool(size and not bare and "[redacted:" not in text and not text.rstrip().endswith("?"))


def holds_everywhere(text: str, kind: str) -> bool:
    """Whether something a person said holds wherever they work: it is about them, and names no place of work.

    "I prefer tabs" goes along from project to project; "I prefer tabs in this repo" does not.
    """
    return kind in ABOUT_A_PERSON and not words.local().search(text)


def _judge(sentence: str) -> Statement | None:
    """The statement that a sentence makes, if it makes one."""
    core = words.lead().sub("", sentence)
    if not (SHORTEST <= len(core) <= LONGEST) or core.endswith(("?", ":")) or not words.opening().match(core):
        return None
    if words.passing().search(sentence) or "[redacted:" in sentence:
        return None
    for pattern, kind in words.cues():
        if found := pattern.match(core):
            return _stated(found, kind, SURE, sentence)
    for pattern in words.corrections() if words.denial().match(sentence) else ():
        if found := pattern.match(core):
            return _stated(found, "convention", LIKELY, sentence)
    return None


def _stated(found: re.Match[str], kind: str, confidence: float, sentence: str) -> Statement | None:
    text = (found.groupdict().get("fact") or found.string).rstrip(" .!;,")
    fewest = FEWEST_OF_A_DECISION if kind == "decision" else FEWEST_WORDS
    if len(text.split()) < fewest or words.pointing().search(text):
        return None
    text = text[0].upper() + text[1:]
    closer = (finer for pattern, finer in words.closer() if pattern.match(text))
    return Statement(text, next(closer, kind) if kind == "fact" else kind, confidence, sentence[:EXCERPT])


def _sentences(talk: str) -> Iterator[str]:
    """The sentences of prose: no code, no quotes, no tables, no headings. A bare "No." belongs to what follows."""
    for line in _fenced().sub("\n", talk).splitlines():
        if _not_prose().match(line):
            continue
        plain = _bullet().sub("", line).replace("**", "").replace("`", "").replace("\u2019", "'")
        denial = ""
        for sentence in _ends().split(" ".join(plain.split())):
            if words.denial().fullmatch(sentence):
                denial = "No, "
                continue
            yield denial + sentence
            denial = ""


@functools.cache
def _fenced() -> re.Pattern[str]:
    return re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)


@functools.cache
def _not_prose() -> re.Pattern[str]:
    return re.compile(r"\s*(?:>|\||#{1,6}\s|\$\s|@@|\+\+\+|---|<)|\s{4,}\S|\t")


@functools.cache
def _bullet() -> re.Pattern[str]:
    return re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")


@functools.cache
def _ends() -> re.Pattern[str]:
    """Between sentences, and at dashes between clauses; not after the shorter forms that end in a dot."""
    return re.compile(
        r"(?<!\s)\s+[\u2013\u2014]\s+|(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!z\.B\.)(?<!etc\.)(?<!vs\.)(?<!p\.ej\.)\s+"
    )
