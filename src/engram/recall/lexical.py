"""Candidates by words: what a question asks for, how else that may be written, and who carries it."""

import functools
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from engram.model.filter import Access
from engram.model.query import NO_VARIANTS, Census
from engram.model.text import cjk, is_spelt, query_terms, stem, tail_term, terms
from engram.ports import Engine

MOST_TERMS = 32
"""A question longer than this is cut to its first distinct words: the rest adds cost, not answers."""

MOST_UNKNOWN = 3
"""For so many words that nobody wrote, other spellings are looked for."""

MOST_SPELLINGS = 3
SHORTEST_PIECE = 5
"""Fewer letters stand in too many words."""

COMMON = 0.2
"""A word in more than this share of a large store says little and costs most: rarer words stand for it."""

LARGE = 1000
LONG_NAME = 8

_ASCII = "abcdefghijklmnopqrstuvwxyz"  # the module that has them costs three milliseconds of every start

_SMALL = "the of did does is are what when where who how which why to for with has have had would and"
_ENGLISH = frozenset(_SMALL.split())
"""Small words that no language beside English has."""

_CLEAR = """
    alle alles als auch auf aus bei bitte dann dass deine deinem deinen deiner denn diese diesem diesen dieser
    dieses doch durch eine einem einen einer eines euch euer fuer für gibt habe haben hast hatte hatten ich ihm
    ihn ihnen ihr ihre ihrem ihren ihrer jetzt kann kannst konnte können mein meine meinem meinen meiner mich
    mir muss müssen nach nicht noch nur oder sein seine seinem seinen seiner seit sich sie sind soll sollen
    sollte ueber und uns unser unsere unserem unseren unserer unter vom wann waren warum weil welche welchem
    welchen welcher welches wem wenn werde werden weshalb wessen wie wieso wieviel wir wird wofür woher wohin
    wollen womit worden wozu wurde wurden während zum zur zwischen über
"""
_UNCLEAR = "bis da das dem den der des die dir du ein er es hat im ist man mit ob von war wen wer wo zu"
_CLEARLY_GERMAN = frozenset(_CLEAR.split())
_PERHAPS_GERMAN = frozenset(_UNCLEAR.split())
"""Small words of German: one of the first tells that a question is German; the others are also names or words of
something else (DER files, the MIT licence, a dir), so it takes two of them."""
SMALL_GERMAN = _CLEARLY_GERMAN | _PERHAPS_GERMAN

_MONTHS = "January February March April May June July August September October November December"
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday"
_CALENDAR = frozenset(f"{_MONTHS} {_DAYS}".split())

_SAID_ALOUD = """
    AFAICT AFAIK AGAIN AKA ALL ALSO ALWAYS AM ANY ASAP ATTENTION BTW CC COB EG EOD EOM EOW ETA ETC EVER EVERY
    FWIW FYI HELLO HELP HEY HI IDK IE IIRC IMHO IMO IMPORTANT IRL JUST LMAO LOL LOUD MUST NB NEED NEVER NO NOTE NOW
    OK OKAY OMG ONLY PLEASE PLS PLZ PM PPS PS QUICK RE REALLY ROFL RSVP RTFM SO SOON SORRY SOS STILL STOP TBA TBC
    TBD TBH THANKS THX TLDR TODO TY URGENT VERY VS WAIT WARNING WIP WTF WTH YES YET
"""
_ALOUD = frozenset(_SAID_ALOUD.split())
"""What people write in capitals that is neither a name nor an abbreviation of what they ask for."""

_QUOTES = (('"', '"'), ("\u201c", "\u201d"), ("\u201e", "\u201c"), ("\u00ab", "\u00bb"), ("\u300c", "\u300d"))
_BEGINNINGS = frozenset(begin for begin, _ in _QUOTES)

Count = Callable[[Sequence[str]], Census]
"""Tells how many of the memories that the asker may read carry each term."""


class Words(NamedTuple):
    """A question as an engine reads it."""

    terms: tuple[str, ...] = ()
    variants: Mapping[str, tuple[str, ...]] = NO_VARIANTS
    phrases: tuple[str, ...] = ()  # what stands in quotation marks
    required: tuple[str, ...] = ()  # the phrases that must be said; in a full question they only count more
    strange: str = ""  # the name the question begins with, where no memory carries it, however spelt
    guessed: tuple[str, ...] = ()  # the words as they were typed, where none is known but by another spelling
    apart: bool = False  # no memory can carry all the terms, since one of them is carried by none
    named: Mapping[str, tuple[str, ...]] = NO_VARIANTS  # its names and abbreviations: the terms that carry each


def read(engine: Engine, question: str, access: Access) -> Words:
    """The words of a question, with other spellings for those that no memory carries."""
    phrases = quoted(question)
    asked = asked_terms(question)[:MOST_TERMS]
    required = () if question.rstrip().endswith("?") else phrases
    if not asked:
        return Words(phrases=phrases, required=required)
    count = functools.partial(engine.census, access=access)
    census = count(asked)
    asked = _telling(asked, census)
    variants: dict[str, tuple[str, ...]] = {}
    unknown = [term for term in asked if not census.carriers.get(term)]
    last = _half_typed(question)
    for term in unknown[:MOST_UNKNOWN]:
        if found := otherwise(count, term, begun=term == last):
            variants[term] = found
    if len(unknown) == len(asked) and not variants:
        variants = _inside(engine, unknown, access)
    # A short name is one letter away from many other words: only a long one may be a misspelt one.
    lost = {term for term in unknown if term not in variants or len(term) < LONG_NAME}
    # A question is about whom it names first: where James went in Canada is asked of James.
    first = next(iter(names(question)), "")
    strange = first if lost.issuperset(query_terms(first)) else ""
    known = [term for term in asked if term in variants or term not in unknown]
    guessed = _typed(question, known) if all(_is_guessed(term, variants.get(term, ())) for term in known) else ()
    apart = any(term not in variants for term in unknown)
    named = {word: query_terms(word) for word in (*names(question), *abbreviations(question))}
    carried = {
        word: tuple(form for term in own if term not in lost for form in (term, *variants.get(term, ())))
        for word, own in named.items()
        if census.carriers.keys() >= {*own}
    }
    return Words(tuple(asked), variants, phrases, required, strange, guessed, apart, carried)


def quoted(question: str) -> tuple[str, ...]:
    """What stands in quotation marks; single ones are apostrophes too often."""
    if _BEGINNINGS.isdisjoint(question):
        return ()  # most have none, and the pattern takes as long to compile as a small store to search
    return tuple(each for found in _quoted().findall(question) for each in found if query_terms(each))


@functools.lru_cache(maxsize=64)
def is_german(question: str) -> bool:
    """Whether a question has small words of German, and none of English."""
    words = {word.lower() for word in _plain_words().findall(question[:1000]) if not word.isupper()}
    german = not words.isdisjoint(_CLEARLY_GERMAN) or len(words & _PERHAPS_GERMAN) > 1
    return german and words.isdisjoint(_ENGLISH)


def names(question: str) -> list[str]:
    """The proper names in an English question: its capitalised words, but for the first and those of the calendar.

    What is all capitals is jargon, which has synonyms; people have none. Other languages write other things with a
    capital, so a question without English small words has none.
    """
    words = _bare_words(question)
    if _ENGLISH.isdisjoint(words):
        return []
    return [word for word in words[1:] if word[0].isupper() and not word.isupper() and word not in _CALENDAR]


def abbreviations(question: str) -> list[str]:
    """What is written in capitals, digits and all (VPN, S3), in a question that is not written so throughout.

    What is only said aloud (OK, FYI, PLEASE) abbreviates nothing that is asked for.
    """
    words = _bare_words(question)
    if not any(map(str.islower, words)):
        return []
    return [word for word in words if len(word) > 1 and word.isupper() and word not in _ALOUD]


def _bare_words(question: str) -> list[str]:
    """The words of a question, each without the 's of a genitive."""
    words: list[str] = _plain_words().findall(question[:1000])
    return [word.removesuffix("'s").removesuffix("\u2019s") for word in words]


def asked_terms(question: str) -> list[str]:
    """The terms of a question, each once; the small words of its language only if there is nothing else."""
    asked = query_terms(question)
    if not is_german(question):
        return asked
    return [term for term in asked if term not in _german_terms()] or asked


@functools.cache
def _german_terms() -> frozenset[str]:
    """The small words of German as they come out of ``terms``."""
    return frozenset(terms(_CLEAR)) | frozenset(terms(_UNCLEAR))


def _telling(asked: list[str], census: Census) -> list[str]:
    """The terms without those that only add noise: single characters of a known pair, and very common words."""
    known = {term for term in asked if census.carriers.get(term)}
    paired = {letter for term in known if len(term) == 2 and cjk().match(term) for letter in term}
    asked = [term for term in asked if term not in paired]
    if census.total <= LARGE:
        return asked
    rare = [term for term in asked if census.carriers.get(term, 0) <= COMMON * census.total]
    return rare if known.intersection(rare) else asked


def otherwise(count: Count, term: str, *, begun: bool) -> tuple[str, ...]:
    """Other forms of a term that some memory carries: a typing error, a longer word, a part or a whole of it."""
    if not is_spelt(term) or len(term) < 3:
        return ()
    long = len(term) > 4 and not any(letter.isdigit() for letter in term)
    forms = [f"{term}*"] if begun or len(term) > 4 else []
    plain = _without_e(term) if long and term.isascii() else term
    if long and term.isascii():
        forms.append(f"{tail_term(term)}*")
    if plain != term:
        forms += [plain, f"{plain}*"]
    census = count(forms)
    found = [form for form in forms if census.carriers[form]]
    if long and term.isascii():
        found += _known(count, _slips(term), MOST_SPELLINGS) or _parts(count, plain)
    elif long:
        found += _known(count, _spellings(term, _letters_beside(term)), MOST_SPELLINGS)
    return tuple(found)


def _slips(term: str) -> set[str]:
    """The terms of the words that one typing error could have turned into this one."""
    near = _spellings(term, _ASCII)
    return near | {stem(one) for one in near if one[-1] in "sgde"}  # a stem leaves out -s, -ing, -ed and -e


def _is_guessed(term: str, variants: tuple[str, ...]) -> bool:
    """Whether a term is carried by no memory, and all that is looked for instead are other spellings."""
    return bool(variants) and term.isascii() and _slips(term).issuperset(variants)


def _typed(question: str, asked: Sequence[str]) -> tuple[str, ...]:
    """The words of a question that these terms come from."""
    words: list[str] = _plain_words().findall(question)
    return tuple(word for word in words if not set(asked).isdisjoint(query_terms(word)))


def _without_e(word: str) -> str:
    """The word as terms have it if its ae, oe and ue stand for umlauts."""
    return word.replace("ae", "a").replace("oe", "o").replace("ue", "u")


def _inside(engine: Engine, terms: Sequence[str], access: Access) -> dict[str, tuple[str, ...]]:
    """For words that nobody wrote, longer ones that they stand in the middle of: where nothing else was found."""
    pieces = [term for term in terms if len(term) >= SHORTEST_PIECE and term.isalnum() and not term.isdigit()]
    found = {piece: tuple(engine.containing(piece, access)) for piece in pieces[:MOST_UNKNOWN]}
    return {piece: terms for piece, terms in found.items() if terms}


def _known(count: Count, forms: Iterable[str], most: int) -> list[str]:
    census = count([*forms])
    carried = [form for form, count in census.carriers.items() if count]
    return sorted(carried, key=lambda form: (-census.carriers[form], form))[:most]


def _spellings(word: str, letters: Iterable[str]) -> set[str]:
    """Every string that one typing error could have turned into this word: a letter more, less, other, swapped."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    return {
        *(a + b[1:] for a, b in cuts if b),
        *(a + b[1] + b[0] + b[2:] for a, b in cuts if len(b) > 1),
        *(a + letter + b[1:] for a, b in cuts if b for letter in letters),
        *(a + letter + b for a, b in cuts for letter in letters),
    } - {word}


def _letters_beside(word: str) -> str:
    """The letters of the scripts that a word is written in."""
    return "".join(sorted(set().union(*(_letters_of(ord(letter) >> 7) for letter in word))))


@functools.cache
def _letters_of(block: int) -> frozenset[str]:
    """The letters among 128 neighbours of Unicode, where a script stands together, as terms have them."""
    found = (terms(chr(point)) for point in range(block << 7, (block + 1) << 7))
    return frozenset(letter for letters in found for letter in letters if letter.isalpha() and len(letter) == 1)


def _parts(count: Count, word: str) -> list[str]:
    """The two words a compound is made of, where both are known; a linking s or n belongs to neither."""
    cuts = [(word[:at], word[at:]) for at in range(4, len(word) - 3)]
    pairs = [
        (head, end) for first, end in cuts for head in (first, first.removesuffix("s"), first.removesuffix("n"))
    ]
    census = count(sorted({part for pair in pairs for part in pair}))
    both = [pair for pair in pairs if all(census.carriers[part] for part in pair)]
    return list(max(both, key=lambda pair: min(map(len, pair)))) if both else []


def _half_typed(question: str) -> str:
    """The last word, if the question may have been stopped in the middle of it."""
    if not question or not (question[-1].isalnum() or unicodedata.category(question[-1])[0] == "M"):
        return ""
    found = query_terms(question.rsplit(maxsplit=1)[-1])
    return found[-1] if found else ""


@functools.cache
def _plain_words() -> re.Pattern[str]:
    return re.compile(r"[^\W\d_][\w'\u2019-]*")


@functools.cache
def _quoted() -> re.Pattern[str]:
    return re.compile("|".join(f"{begin}([^{begin}{end}]{{2,200}}){end}" for begin, end in _QUOTES))
