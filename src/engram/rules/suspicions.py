"""Which known memory a new one may conflict with or supersede: a suspicion with its reason, never a verdict.

    topic       the words that say what a memory is about
    suspicion   why two memories may not both hold, and how surely; None where nothing speaks for it
    clashing    which of some memories say one thing of one topic differently
    other_word  the one word in which two short statements differ

Nothing is held or hidden by a suspicion: somebody is asked. So it may be wrong where `likeness.contradiction`,
which holds a memory, may not; but a question about every second memory would soon be answered without a look.
"""
# ruff: noqa: RUF001 - marks of other scripts are the subject here, not typing errors

import functools
import itertools
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from engram.model.memory import Memory
from engram.model.text import cjk, query_terms
from engram.rules.likeness import contradiction

LONGEST_TITLE = 240
"""Characters of a text without a summary that say what it is about."""

FEWEST = 2
"""One word in common is a coincidence, unless it is all that either says."""

SHARED = 0.55
"""The share of the shorter topic that the other has too, from which on words alone are enough."""

SHARED_PAIRS, FEWEST_PAIRS = 0.42, 4
"""The same for unspaced scripts, whose terms are pairs of characters: particles and endings break many of them."""

SHARED_BESIDE_VALUES = 0.4
"""The same where both give a number, a version or a date, and not the same one."""

NEAR = 0.88
"""How near two meanings are from which on they are suspected, common words counting a little (`WORDS_COUNT`)."""

WORDS_COUNT = 0.15
OPPOSED = 0.3
"""The least share of words in common from which a contradiction is looked for: one differs in a single value."""

ROOT = 5
"""Letters by which two words are taken for forms of one: not every language has its endings cut off by `terms`."""

LONGEST_TOPIC, LONGEST_IN_PAIRS = 8, 24
"""More telling words than this make a story: few others share its words, and meaning finds those better."""

MOST_SPACES = 16
"""More spaces than this in a sentence make it a story, without a look at its words."""

MOST_COMPARED = 40
"""Each is compared with each: twice as many would take four times as long, and a session waits for it."""

MOST_RIVALS = 2
"""What differs in one thing from more than so many others is one of a list."""

FEW_WORDS = 8
"""Statements of so many words at most are asked about where a single one differs."""

SURE = 0.95
SAME_KEY = 0.9


class Suspicion(NamedTuple):
    """Why two memories may not both hold, and how likely that is, from 0 to 1."""

    why: str
    score: float


def suspicion(new: Memory, other: Memory, near: float | None = None) -> Suspicion | None:
    """Whether a new memory may conflict with another or supersede it.

    `near` is how near they are in meaning, from 0 (nothing in common) to 1 (the same); None where nobody can tell.
    """
    if new.id == other.id or new.digest == other.digest or other.id == new.amends:
        return None
    if new.key and new.key == other.key:
        return Suspicion(f"the same key, {new.key}", SAME_KEY)
    said = _compare(new, other)
    if said.contradiction:
        return Suspicion(said.contradiction, SURE)
    together = 0.0 if near is None else near + WORDS_COUNT * said.share
    if not said.by_words and not said.other_word and together < NEAR:
        return None
    score = said.share if near is None else (said.share + near) / 2
    why = said.changed or said.other_word or _shared_words(said.common, new) or "near in meaning"
    return Suspicion(why, round(min(score, SURE), 2))


def clashing(memories: Sequence[Memory]) -> list[tuple[Memory, Memory]]:
    """The pairs among some memories of one place that say one thing of one topic differently: "30 days", "90 days".

    It is the plain part of a suspicion: another value or another word, and never mere likeness. What differs like
    that from more than two others is one of a list, and no rival of any. The first forty are compared.
    """
    about = [(memory, _topics(memory)) for memory in memories[:MOST_COMPARED]]
    pairs = [
        (one, other)
        for (one, mine), (other, theirs) in itertools.combinations(about, 2)
        if one.scope == other.scope and _meet(mine, theirs) and _differs(one, other)
    ]
    rivals = Counter(memory.id for pair in pairs for memory in pair)
    return [pair for pair in pairs if all(rivals[memory.id] <= MOST_RIVALS for memory in pair)]


def _topics(memory: Memory) -> tuple[frozenset[str], ...]:
    """What a memory is about, by its title and, where that is a summary, by its text as well."""
    named = [topic(memory), *([_topic(_beginning(memory.text))] if memory.summary else [])]
    return tuple(map(frozenset, named))


def _meet(mine: tuple[frozenset[str], ...], theirs: tuple[frozenset[str], ...]) -> bool:
    """Whether titles or texts share enough to look at both."""
    ends = (mine[0], theirs[0]), (mine[-1], theirs[-1])
    return any(_overlap(*pair) >= SHARED_BESIDE_VALUES for pair in ends)


def _overlap(mine: frozenset[str], theirs: frozenset[str]) -> float:
    """The share of the shorter topic that the other has too."""
    return len(mine & theirs) / (min(len(mine), len(theirs)) or 1)


def _differs(new: Memory, other: Memory) -> bool:
    if new.id == other.amends or other.id == new.amends:
        return False
    return _compare(new, other).differs


class _Compared(NamedTuple):
    """How two memories look beside each other, by their words alone."""

    common: frozenset[str] = frozenset()  # the telling words that both say
    share: float = 0.0  # of the shorter topic
    contradiction: str = ""
    changed: str = ""  # the first value that they give differently
    by_words: bool = False  # enough is in common to ask whether both hold
    other_word: str = ""

    @property
    def differs(self) -> bool:
        """Whether one thing of one topic is said differently, and not only something like it."""
        return bool(self.contradiction or (self.changed and self.by_words) or self.other_word)


def _compare(new: Memory, other: Memory) -> _Compared:
    """By their titles first; a summary says what a text is about, and seldom in what two of them differ."""
    named = _beside(new, other, _title(new), _title(other))
    if named.differs or not (new.summary or other.summary):
        return named
    said = _beside(new, other, _beginning(new.text), _beginning(other.text))
    return said if said.differs or (said.by_words and not named.by_words) else named


def _beside(new: Memory, other: Memory, mine: str, theirs: str) -> _Compared:
    """Two memories by one way of naming what each is about."""
    here, there = frozenset(_topic(mine)), frozenset(_topic(theirs))
    common = here & there
    share = _overlap(here, there)
    if share >= OPPOSED and (why := contradiction(other.text, new.text)):
        return _Compared(common, share, why)
    changed = _changed_value(other.text, new.text)
    by_words = _enough(common, share, len(here | there), changed=bool(changed)) and not _apart(mine, theirs)
    differing = other_word(theirs, mine) if common else ""
    return _Compared(common, share, "", changed, by_words, differing)


@functools.lru_cache(maxsize=256)
def _topic(title: str) -> tuple[str, ...]:
    return tuple(sorted(_telling(title), key=len, reverse=True))  # the longer a word, the fewer say it


@functools.lru_cache(maxsize=256)
def _telling(title: str) -> tuple[str, ...]:
    """The terms of a title that are no values, no small words and no chores, in its order."""
    small = _small_words()
    return tuple(
        term for term in query_terms(title) if len(term) > 1 and not term[0].isdigit() and term not in small
    )


def topic(memory: Memory) -> tuple[str, ...]:
    """The terms that say what a memory is about, the most telling first: no values, no small words, no chores."""
    return _topic(_title(memory))


def is_statement(memory: Memory) -> bool:
    """Whether a memory says little enough for words to tell who else says it."""
    title = _title(memory)
    if title.count(" ") > MOST_SPACES:
        return False
    terms = _topic(title)
    return bool(terms) and len(terms) <= (LONGEST_IN_PAIRS if cjk().match(terms[-1]) else LONGEST_TOPIC)


def is_brief(memory: Memory) -> bool:
    """Whether so few words tell what a memory says that another may have only one of them in common with it."""
    title = _title(memory)
    return sum(_tells(word, title) for word in _words().findall(title)) <= FEWEST


def _tells(word: str, title: str) -> bool:
    """Whether a word of a title is one that says what it is about."""
    return not set(_telling(title)).isdisjoint(query_terms(word))


def _title(memory: Memory) -> str:
    return memory.summary or _beginning(memory.text)


def _beginning(text: str) -> str:
    """The first line of a text, as far as its first sentence where that says something."""
    line = text.lstrip().partition("\n")[0][:LONGEST_TITLE]
    found = _sentence_end().search(line, 20)
    return line[: found.start()] if found else line


def _enough(common: frozenset[str], share: float, all_of_them: int, *, changed: bool) -> bool:
    """Whether the words that two topics have in common are enough to ask whether both hold."""
    pairs = [term for term in common if cjk().match(term)]
    if 2 * len(pairs) > len(common):
        return len(common) >= FEWEST_PAIRS and share >= SHARED_PAIRS
    if len(common) < FEWEST:
        return all_of_them == 1 and bool(common)
    return share >= (SHARED_BESIDE_VALUES if changed else SHARED)


def _apart(*titles: str) -> bool:
    """Whether each begins with a word that the other does not say in any form: the same is said of two things.

    What is said of all, of none or of one alone is said of other things too.
    """
    if any(title.partition(" ")[0].casefold() in _all_or_none() for title in titles):
        return False
    mine, theirs = map(_telling, titles)
    return not (_says(theirs, mine[0]) or _says(mine, theirs[0]))


def other_word(old: str, new: str) -> str:
    """The one word that two short statements do not share, as "Redis → RabbitMQ"; "" where more or less differs.

    Of what is said of two things nobody is asked, unless only one can do it: a parser has one owner.
    """
    before, after = _words().findall(old), _words().findall(new)
    if len(before) != len(after):  # "We use Redis for the queue", "Use RabbitMQ for the queue"
        before, after = _without_we(before), _without_we(after)
    if len(before) != len(after) or len(after) > FEW_WORDS:
        return ""
    places = [at for at, pair in enumerate(zip(before, after, strict=True)) if len({*map(str.casefold, pair)}) > 1]
    if len(places) != 1 or not (_tells(before[at := places[0]], old) and _tells(after[at], new)):
        return ""
    subject = all(word.casefold() in _articles() for word in after[:at])
    if subject and not (at + 1 < len(after) and after[at + 1].casefold() in _by_one()):
        return ""
    return f"{before[at]} → {after[at]}"


def _without_we(words: list[str]) -> list[str]:
    """What is to be done, said as what we do."""
    return words[1:] if [word.casefold() for word in words[:1]] == ["we"] else words


def _says(terms: Sequence[str], word: str) -> bool:
    return any(term == word or term[:ROOT] == word[:ROOT] for term in terms)


def _changed_value(old: str, new: str) -> str:
    """The first value that the texts give differently, where either gives exactly as many; "" where none is."""
    before, after = _values().findall(old[:LONGEST_TITLE]), _values().findall(new[:LONGEST_TITLE])
    if len(before) != len(after):
        return ""
    return next((f"{a} → {b}" for a, b in zip(before, after, strict=True) if a != b), "")


def _shared_words(common: frozenset[str], new: Memory) -> str:
    """The common words as the new memory writes them; pairs of characters say nothing to a reader."""
    words = [word for word in _words().findall(_title(new)) if not cjk().match(word)]
    said = [word for word in dict.fromkeys(words) if not common.isdisjoint(query_terms(word))]
    return f"both about {', '.join(said[:3])}" if said else "about the same" if common else ""


@functools.cache
def _sentence_end() -> re.Pattern[str]:
    return re.compile(r"[.!?;](?=\s)|[。！？；]")


@functools.cache
def _values() -> re.Pattern[str]:
    # With the name it ends, if it does: "eu-west-1" is told, and not "1".
    named = r"(?<!\w)(?<!\w-)(?:[A-Za-z]\w*-)*+"
    return re.compile(rf"{named}v?\d[\d.,:/-]*\d|{named}v?\d", re.ASCII)


@functools.cache
def _words() -> re.Pattern[str]:
    return re.compile(r"(?<![\w/.@+#-])[\w/.@+#-]*\w")


@functools.cache
def _all_or_none() -> frozenset[str]:
    return frozenset(_ALL_OR_NONE.split())


@functools.cache
def _articles() -> frozenset[str]:
    return frozenset(_ARTICLES.split())


@functools.cache
def _by_one() -> frozenset[str]:
    """Verbs of what only one does at a time: where two are said to do it, somebody is asked."""
    return frozenset(_BY_ONE.split())


@functools.cache
def _small_words() -> frozenset[str]:
    """Words that any two texts may share, as they come out of `terms`: chores, small words of some languages."""
    return frozenset(_SMALL.split())


_ARTICLES = "the a an our my der die das unser unsere mein meine el la los las le les"

_BY_ONE = "owns leads maintains manages heads besitzt leitet betreut verantwortet"

_ALL_OR_NONE = """
    all any each every everybody everyone everything no nobody none nothing only
    alle allen alles jede jeder jedes kein keine keiner niemand nur
    todo toda todos todas cada nadie ningún ninguna solo sólo
    tout toute tous toutes chaque aucun aucune personne seul seule seuls seules
    somente apenas nenhum nenhuma ogni tutti nessuno alleen iedere
"""

_SMALL = """
    use add updat fix implement new now sinc need mov chang switch replac own
    der die das den dem des ein eine einen einem einer und oder ist sind wird werden wurde war auf im am zu zum zur
    von vom mit fur bei nach seit aus als auch nur nicht kein keine ab um wir jetzt
    el la los las un una unos unas es son esta en de del al por para con se su sus que ya desde solo cada
    le les une des du et ou est sont au aux dans sur pour par avec il elle on ne pas depuis ce cette chaqu
    os um uma em na nos nas do da dos das com foi ao lo gli di della che per si sono non nel nella
    het een of zijn op van voor met te nu jest sa
"""
