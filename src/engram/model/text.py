"""What a text is made of: its normal form, its digest, its terms and its size in tokens.

Three views of one text, each for one question:

* ``normalise`` / ``digest``: is this *the same* text? Conservative, because a repeat is not stored again.
* ``terms`` / ``query_terms``: by which words is it found? Generous, and equal for every engine.
* ``tokens``: how much room does it take in a prompt?

Every function accepts every string (emoji, right-to-left, NUL, lone surrogates) and never raises. Patterns
are compiled on first use, so that importing this module stays cheap on the start-up path.
"""
# ruff: noqa: RUF001, RUF002 - marks of other scripts are the subject here, not typing errors

import functools
import itertools
import re
import unicodedata

from engram.model.hashing import sha256

RECENT = 256
"""How many texts' digests and outlines are kept: one decision asks for the same ones several times."""
TERMS_VERSION = 4
"""Raised when ``terms``, outlines or the form of a scope change; engines then make anew what they derive."""
LONGEST_TERM = 64
LONG_WORD = 10
"""From this length on a plain word may be a compound, and is indexed by its end too."""
TAIL = "_"
"""What a term begins with that holds a word from its end."""
_ENDINGS = ("en", "er", "es", "em", "e", "n", "s")
OPENING = "([{<\"'“‘«„¿¡*（「『"
CLOSING = ")]}>\"'”’»“*…,;:!?.）」』。，、！？；："
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "„": "“", "「": "」", "『": "』"}
_STOPS = ".!。！"
HAN_AND_KANA = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
HANGUL = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
# Thai, Lao, Myanmar, Khmer: written without spaces as well, so they are indexed like Han.
_UNSPACED = HAN_AND_KANA + "\u0e01-\u0e59\u0e81-\u0edf\u1000-\u109f\u1780-\u17ff"
# Combining marks outside Latin, Greek and Cyrillic are letters in all but name, but FTS5 would split words at
# them. They are moved to the private use planes, which every tokenizer we know treats as letters.
_MARKS = "\U000f0000-\U0010fffd"


# --- the same text ---


def normalise(text: str) -> str:
    """The form in which two texts are compared: equal forms are the same text.

    Whitespace runs, wrapping quotes, trailing ``. ! 。 ！`` and the case of plain words (all lower, or Title
    case) do not matter. All else does: numbers, order, negations, and the case of anything that may be an
    identifier. NFC, not NFKC (x² is not x2), and lower case, not case folding (Maße are not Masse).
    """
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    text = _unwrapped(" ".join(text.split()))
    if text.islower():
        return text
    words = text.split(" ")
    for at, word in enumerate(words):
        if not word.islower():
            words[at] = _lowered(word, first=at == 0)
    text = " ".join(words)
    return text if text.isascii() else unicodedata.normalize("NFC", text)


@functools.lru_cache(maxsize=RECENT)
def digest(text: str) -> str:
    """The first 32 hex characters of the SHA-256 of the normal form."""
    return sha256(normalise(text).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _unwrapped(text: str) -> str:
    """The text without wrapping quotes and final stops, unless nothing would be left."""
    while True:
        core = text.rstrip(_STOPS)
        # "cd .." and "src/." end in a path, not in a sentence: a stop must follow a word or a bracket.
        if not core or not _ends_word(core[-1]):
            core = text
        if len(core) > 2 and _QUOTES.get(core[0]) == core[-1]:
            inner = core[1:-1].strip()
            if core[0] not in inner and core[-1] not in inner:
                core = inner
        if not core or core == text:
            return text
        text = core


def _ends_word(char: str) -> bool:
    return char.isalnum() or char in ")]}\"'”’»」』%" or unicodedata.category(char)[0] == "M"


def _lowered(word: str, *, first: bool) -> str:
    """The word in lower case if its capital is only one of style, else unchanged."""
    letters = word.lstrip(OPENING).rstrip(CLOSING).replace("'", "").replace("’", "")
    if not letters.isalpha():
        return word
    # A single capital may be a name ("plan B", "vitamin C") except where a sentence has one anyway.
    plain = (letters[0].isupper() and letters[1:].islower()) if len(letters) > 1 else (first or letters == "I")
    return word.lower() if plain else word


# --- how a text is found ---


def terms(text: str) -> list[str]:
    """The index terms of a text in order of appearance, duplicates kept.

    Words are folded (case, diacritics) and, if plain English, stemmed. Identifiers, paths, versions and
    addresses give the whole, its segments and its parts; Han, kana and other unspaced scripts give single
    characters and pairs; Hangul gives words and pairs; a long plain word is given from its end as well, after
    an underscore, because compounds are asked for by their last part. A term is made of letters, digits, private
    use characters and ``_ - . / : @ # +`` only, and is one token of FTS5's ``unicode61 remove_diacritics 0
    tokenchars '_-./:@#+'``. An identifier beyond 64 characters is dropped as a whole, and a part beyond 64
    is cut into pieces of 64.
    """
    out: list[str] = []
    for word in _words(text):
        out += _terms_of(word)
    return out


def query_terms(text: str) -> list[str]:
    """The terms of a question, each once; stop words only if there is nothing else.

    A stop word is one as it is written: *own* says little, *owns* is what is asked for, and both have one stem.
    """
    every: list[str] = []
    telling: list[str] = []
    for word in _words(text):
        found, told = _asked(word) if len(word) <= LONGEST_TERM else _asked.__wrapped__(word)
        every += found
        telling += told
    return [*dict.fromkeys(telling or every)]


def _words(text: str) -> list[str]:
    """The words of a text, identifiers whole; short forms as one word."""
    if "'" in text or "’" in text:
        text = _contractions().sub(_contracted, text)
    if not text.isascii():
        text = _fold(text)
    if text.isascii():
        return _ascii_words().findall(text)
    return _any_words().findall(_unspaced_runs().sub(r" \g<0> ", text))


def holds(term: str, piece: str) -> bool:
    """Whether a term of the index holds a piece of a word, also where the word is kept from its end.

    Nothing is no piece.
    """
    return bool(piece) and (piece[::-1] if term.startswith(TAIL) else piece) in term


def is_spelt(term: str) -> bool:
    """Whether a term is a word of letters and digits, of a script that puts spaces between words."""
    if term.isascii():
        return term.isalnum()
    return bool(_any_words().fullmatch(term)) and not (_unspaced_runs().search(term) or _joints().search(term))


def says(text: str, phrase: str) -> bool:
    """Whether a text has these words in a row, whatever their case and ornaments; never the middle of a word."""
    whole, part = (" ".join(_plain(each).replace("_", " ").split()) for each in (text, phrase))
    at = whole.find(part) if part else -1
    while at >= 0:
        end = at + len(part)
        inside = (at and _same_word(whole[at - 1], part[0])) or (
            end < len(whole) and _same_word(part[-1], whole[end])
        )
        if not inside:
            return True
        at = whole.find(part, at + 1)
    return False


def _plain(text: str) -> str:
    return text.lower() if text.isascii() else _fold(text).casefold()


def _same_word(left: str, right: str) -> bool:
    """Whether two characters side by side belong to one word; unspaced scripts have no words to be inside of."""
    return (
        left.isalnum() and right.isalnum() and not (_unspaced_runs().match(left) or _unspaced_runs().match(right))
    )


def _terms_of(word: str) -> tuple[str, ...]:
    return _split(word) if len(word) <= LONGEST_TERM else _split.__wrapped__(word)


@functools.lru_cache(maxsize=4096)
def _asked(word: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The terms of one word of a question, and those of them that say more than a stop word does."""
    found = tuple(term for term in _terms_of(word) if term[0] != TAIL)
    if len(found) == 1:
        return found, () if word.lower() in _STOPPED_AS_WRITTEN else found
    stops = _stop_terms()
    return found, tuple(term for term in found if term not in stops)


@functools.lru_cache(maxsize=16384)
def _split(word: str) -> tuple[str, ...]:
    """The terms of one word; the cache pays because texts repeat their words."""
    word = word.strip("_")
    if not word:
        return ()
    if not word.isascii():
        return _split_foreign(word)
    if word.isalpha():
        if word[1:].islower() or word.isupper() or len(word) == 1:
            plain = stem(word.lower())
            return (*_cut(plain), tail_term(plain)) if LONG_WORD <= len(plain) <= LONGEST_TERM - 1 else _cut(plain)
        if word[:-1].isupper():
            return _cut(word[:-1].lower() if word[-1] == "s" else word.lower())
    parts = [stem(part.lower()) for part in _ascii_parts().findall(word)]
    return _gathered(word.lower(), parts)


def tail_term(word: str) -> str:
    """A word from its end, so that what it ends in can be looked up as a beginning; its case ending is left out."""
    bare = word
    for ending in _ENDINGS:
        if len(word) - len(ending) >= 3 and word.endswith(ending):
            bare = word.removesuffix(ending)
            break
    return TAIL + bare[::-1]


def _split_foreign(word: str) -> tuple[str, ...]:
    """The terms of a word that is not ASCII even after folding."""
    word = unicodedata.normalize("NFC", word.casefold())
    if _unspaced_runs().match(word):
        letters = _letters().findall(word)
        pairs = [a + b for a, b in itertools.pairwise(letters)]
        if "\u1100" <= word[0] <= "\u11ff" or "\ua960" <= word[0] <= "\ud7ff":
            return _cut(word) + tuple(pair for pair in pairs if pair != word)
        return tuple(letters + pairs)
    return _gathered(word, _any_parts().findall(word))


def _gathered(whole: str, parts: list[str]) -> tuple[str, ...]:
    """Whole, segments and parts of an identifier; none twice because it is its own part."""
    if len(parts) == 1 and len(parts[0]) >= len(whole):
        return _cut(whole)
    out = [whole] if len(whole) <= LONGEST_TERM else []
    segments = [segment.strip("-._") for segment in _outer_joints().split(whole)]
    if len(segments) > 1:
        out += [s for s in segments if len(s) <= LONGEST_TERM and _inner_joints().search(s)]
    for part in parts:
        out += _cut(part)
    return tuple(out)


def _cut(term: str) -> tuple[str, ...]:
    """The term, or its pieces of at most 64 characters."""
    if len(term) <= LONGEST_TERM:
        return (term,)
    return tuple(term[at : at + LONGEST_TERM] for at in range(0, len(term), LONGEST_TERM))


def stem(word: str) -> str:
    """The stem of a lower-case ASCII word: plural, -ed, -ing and a silent e; conservative, no dictionary."""
    if len(word) <= 3:
        return word
    if word[-1] == "s" and word[-2] not in "sui":
        word = _without_plural(word)
    for ending in ("ing", "ed"):
        base = word.removesuffix(ending)
        if base is not word and base != word and not word.endswith("eed"):
            word = _repaired(base, word)
            break
    # caches, cached, caching and cache must meet: beyond four letters the silent e goes everywhere.
    return word[:-1] if len(word) > 4 and word[-1] == "e" and word[-2] != "e" else word


def _without_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("xes", "ches", "shes", "sses")) else word[:-1]


def _repaired(base: str, word: str) -> str:
    """A base freed of -ed or -ing made a word again, or the word itself where nothing sensible is left."""
    if len(base) == 2 and base[0] in "aeiou" and base[1] not in "aeiou":
        return base + "e"
    if len(base) < 3 or not any(letter in "aeiouy" for letter in base):
        return word
    if base[-1] == "i":
        return base[:-1] + "y"
    if base[-1] == base[-2] and base[-1] not in "aeiouls" and len(base) > 3:
        return base[:-1]
    closed = base[0] not in "aeiou" and base[1] in "aeiouy" and base[2] not in "aeiouwxy"
    return base + "e" if len(base) == 3 and closed else base


# --- folding ---


class _Folding(dict[int, int | str | None]):
    """A self-filling translation table: marks become private, formats vanish, private turns to space."""

    def __missing__(self, point: int) -> int | str | None:
        category = unicodedata.category(chr(point))
        value: int | str | None = point
        if category == "Cf" or 0xFE00 <= point <= 0xFE0F or 0xE0100 <= point <= 0xE01EF or point == 0x20E3:
            value = " " if point == 0x200B else None
        elif category == "Co":
            value = " "
        elif category[0] == "M" or 0x19B0 <= point <= 0x19C9 or point in (0x1CF2, 0x1CF3):
            # The last two ranges are letters to Python and marks to the older tables inside SQLite.
            value = (0xF0000 if point < 0x10000 else 0x100000) + (point & 0xFFFF)
        self[point] = value
        return value


# Letters that carry their ornament inside, so that NFKD does not take it off.
_FOLDING = _Folding(
    str.maketrans("øØłŁđĐħĦı", "oOlLdDhHi")
    | {0xE6: "ae", 0xC6: "Ae", 0x153: "oe", 0x152: "Oe", 0xDF: "ss", 0x1E9E: "SS"}
)


def _fold(text: str) -> str:
    """The text without diacritics where those are ornament (Latin, Greek, Cyrillic), its case kept."""
    text = unicodedata.normalize("NFKD", text)
    text = unicodedata.normalize("NFC", _ornaments().sub("", text))
    return text.translate(_FOLDING)


@functools.cache
def _contractions() -> re.Pattern[str]:
    return re.compile(r"(?<=\w)['’](s|t|re|ve|ll|d|m)\b", re.IGNORECASE)


def _contracted(match: re.Match[str]) -> str:
    """``don't`` is found as dont, ``Alice's`` as Alice."""
    return match[1] if match[1] in "tT" else ""


@functools.cache
def _ornaments() -> re.Pattern[str]:
    bases = "0-9A-Za-z\u00c0-\u02af\u0370-\u0482\u048a-\u052f\u1d00-\u1dbf\u1e00-\u1fff\u2c60-\u2c7f\ua720-\ua7ff"
    marks = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f"
    return re.compile(f"(?<=[{bases}])[{marks}]+")


@functools.cache
def _ascii_words() -> re.Pattern[str]:
    return re.compile(r"\w+(?:[-./:@#+]{1,3}\w+)*(?:\+\+|#)?", re.ASCII)


@functools.cache
def _any_words() -> re.Pattern[str]:
    word = rf"\w[\w{_MARKS}]*"
    return re.compile(rf"{word}(?:[-./:@#+]{{1,3}}{word})*(?:\+\+|#)?")


@functools.cache
def _unspaced_runs() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}][{_UNSPACED}{_MARKS}]*|[{HANGUL}]+")


@functools.cache
def _letters() -> re.Pattern[str]:
    return re.compile(f".[{_MARKS}]{{0,31}}", re.DOTALL)


@functools.cache
def _ascii_parts() -> re.Pattern[str]:
    return re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")


@functools.cache
def _any_parts() -> re.Pattern[str]:
    return re.compile(rf"(?:[^\W\d_]|[{_MARKS}])+|\d+")


@functools.cache
def _outer_joints() -> re.Pattern[str]:
    return re.compile(r"[/:@#+]+")


@functools.cache
def _joints() -> re.Pattern[str]:
    return re.compile(r"[-./:@#+_]")


@functools.cache
def _inner_joints() -> re.Pattern[str]:
    return re.compile(r"[-._]")


def tokens(text: str) -> int:
    """The token estimate: one for each CJK character, and a quarter of the other UTF-8 bytes, rounded up."""
    if text.isascii():
        return (len(text) + 3) // 4
    rest = cjk().sub("", text)
    return len(text) - len(rest) + (len(rest.encode("utf-8", "surrogatepass")) + 3) // 4


def is_latin(text: str) -> bool:
    """Whether at least half of the letters of a text are Latin ones; true for a text without letters."""
    if text.isascii():
        return True
    letters = [char for char in text[:1000] if char.isalpha()]
    latin = sum(char <= "\u024f" or "\u1e00" <= char <= "\u1eff" for char in letters)
    return 2 * latin >= len(letters)


@functools.cache
def cjk() -> re.Pattern[str]:
    """The pattern of a Chinese, Japanese or Korean character."""
    return re.compile(f"[{HAN_AND_KANA}{HANGUL}]")


@functools.cache
def _stop_terms() -> frozenset[str]:
    """The stop words as they come out of ``terms``."""
    return frozenset(stem(word) for word in STOP_WORDS) | frozenset(_STOPPED_SHORT.split())


_STOPPED = """
    a about after again all also am an and any are as at be because been before being but by can
    could did do does doing down during each few for from further had has have having he her here
    hers him his how i if in into is it its itself just me more most my no nor not now of off on
    once only or other others our ours out over own please same she should so some such than that the their
    theirs them then there these they this those through to too under until up very was we were what
    when where which while who whom why will with would you your yours
"""
_STOPPED_SHORT = "dont doesnt didnt isnt arent wasnt werent cant couldnt wont wouldnt shouldnt hasnt havent"
STOP_WORDS = frozenset(_STOPPED.split())
_STOPPED_AS_WRITTEN = STOP_WORDS | frozenset(_STOPPED_SHORT.split())
NEGATIONS = frozenset(
    f"{_STOPPED_SHORT} not no nor never none without cannot nicht kein keine keinem keinen keiner nie ohne".split()
)
"""The terms that turn a statement into its opposite, as they come out of ``terms``."""
