"""The outline of a statement: what it says with its values masked, so that contradictions can be looked up."""
# ruff: noqa: RUF001 - the marks of other scripts stand here on purpose

import functools
import re
import unicodedata
from typing import NamedTuple

from engram.model.text import CLOSING, HAN_AND_KANA, OPENING, RECENT, STOP_WORDS, cjk, stem

LONGEST_STATEMENT = 600
MASK = "□"
_QUOTATIONS = ('"', "'", "`", "“", "‘", "«", "„", "「", "『")


class Statement(NamedTuple):
    """A short text as words and values.

    ``words`` are lower-cased words, the signs of assignment (``= : ->``) and one ``MASK`` for each run of
    values; ``values`` are those runs as written, in order; ``negated`` tells whether negation words, which
    are not in ``words``, turn the meaning round. Of two opposites, such as *allowed* and *forbidden*, ``words``
    have the first word of their scale; ``poles`` tell which it was: where it stands, and as it was written.
    """

    words: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    negated: bool
    poles: tuple[tuple[int, str], ...] = ()


@functools.lru_cache(maxsize=RECENT)
def outline(text: str) -> str:
    """The statement with values masked and negations removed, as a key for equality; "" if there is none.

    Texts with equal outlines and different digests make the same statement but for a number, date, time,
    name, version, negation or opposite. There is no outline for questions, for texts over 600 characters or two
    sentences, and where fewer than three words are left; a number, a switch and a negation count as one here.
    """
    found = statement(text)
    if found is None:
        return ""
    words = found.words
    return " ".join([_outlined(word) for at, word in enumerate(words) if at == 0 or word not in {"a", "an"}])


@functools.lru_cache(maxsize=RECENT)
def statement(text: str) -> Statement | None:
    """What ``outline`` is made from, or None where the outline is empty."""
    if len(text) > LONGEST_STATEMENT or text.count("\n") > 2:
        return None
    reader = _Reader()
    if "\0" in text:  # the sign for a kept quotation
        return None
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    if any(quote in text for quote in _QUOTATIONS):
        text = _quoted().sub(reader.keep, text)
    if not text.isascii():
        text = reader.spread(text)
    for chunk in text.split():
        reader.read(chunk)
    return reader.result()


class _Reader:
    """Reads a text chunk by chunk into words and values."""

    __slots__ = (
        "_break",
        "_count",
        "_ended",
        "_ends",
        "_fresh",
        "_just",
        "_kept",
        "_run",
        "negated",
        "poles",
        "values",
        "words",
    )

    def __init__(self) -> None:
        self.words: list[str] = []
        self.values: list[list[str]] = []
        self.negated = False
        self.poles: list[tuple[int, str]] = []
        self._kept: list[str] = []  # quotations, read as one value each
        self._count = 0  # words that carry meaning
        self._ends = 0  # sentence ends seen
        self._ended = False  # ... the last of them in the last chunk
        self._fresh = True  # at the start of a sentence, where a capital means nothing
        self._run = False  # the last thing read was a value
        self._break = False  # ... followed by a comma
        self._just = -1  # how many words there were at the last negation

    def result(self) -> Statement | None:
        sentences = self._ends + (not self._ended)
        if sentences > 2 or self._count < 3:
            return None
        return Statement(tuple(self.words), tuple(map(tuple, self.values)), self.negated, tuple(self.poles))

    def keep(self, match: re.Match[str]) -> str:
        """Puts a quotation aside, so that its words are not read."""
        self._kept.append(match[0])
        return f" \0{len(self._kept) - 1}\0 "

    def spread(self, text: str) -> str:
        """Puts spaces where Chinese and Japanese have none, and takes their negations out."""
        if not cjk().search(text):
            return text
        plain = _cjk_negations().sub(lambda match: _CJK_NEGATIONS.get(match[0], ""), text)
        self.negated = plain != text
        plain = plain.replace("有", "").replace("：", ": ")
        return _cjk_pieces().sub(r" \g<0> ", plain)

    def read(self, chunk: str) -> None:
        if chunk.isalpha() and chunk.islower():  # nearly all chunks of nearly all texts
            self._word(chunk, chunk)
            self._ended = False
            return
        if chunk in _SIGNS:
            self._sign(chunk)
            return
        left = chunk.lstrip(OPENING)
        core = left.rstrip(CLOSING)
        tail = left[len(core) :] or chunk
        self._ended = False
        if chunk[0] == "\0":
            self._value(self._kept[int(chunk[1:-1])])
        elif core and not (tail[0] == "," and core.lower() == "no"):
            self._core(core)
        if core != chunk:
            self._tail(tail)

    def _tail(self, tail: str) -> None:
        """What the punctuation behind a word says."""
        if "?" in tail or "？" in tail:
            self._count = -LONGEST_STATEMENT  # a question states nothing
        if any(mark in ".!。！…" for mark in tail):
            self._ends += not self._ended
            self._ended = self._fresh = True
            self._run = False
        elif tail[-1] == ":":
            self._sign(":")
        elif tail[-1] in ",;，；、":
            self._break = True

    def _sign(self, sign: str) -> None:
        self.words.append(sign)
        self._run = False

    def _word(self, word: str, written: str) -> None:
        kind = _SPECIAL.get(word)
        if kind is None:
            self.words.append(word)
            self._count += 1
            self._run = self._fresh = False
        elif kind == "value":
            self._value(written)
            self._count += word in SWITCH_WORDS
        elif kind == "pole":
            self.poles.append((len(self.words), word))
            self.words.append(SCALES[word])
            self._count += 1
            self._run = self._fresh = False
        elif kind == "ever":  # always, as the opposite of never: what is said without it is said of always too
            self._count += 1
            self._run = self._fresh = False
        elif kind == "not":
            if word == "cannot":
                self._word("can", "can")
            self._negate()
        elif not (self.negated and (kind == "aside" or self._just == len(self.words))):
            self.words.append(word)
            self._count += 1
            self._run = False

    def _negate(self) -> None:
        self.negated, self._fresh, self._run = True, False, False
        self._count += 1
        if self.words and self.words[-1] in _DO:
            self.words.pop()
            self._count -= 1
        self._just = len(self.words)

    def _value(self, value: str) -> None:
        if self._break and not value[0].isdigit():
            self._run = False
        if self._run:
            self.values[-1].append(value)
        else:
            self.words.append(MASK)
            self.values.append([value])
        self._run, self._fresh, self._break = True, False, False

    def _core(self, core: str) -> None:
        """One chunk without its punctuation."""
        if "=" in core and "://" not in core:
            for at, piece in enumerate(core.split("=")):
                if at:
                    self._sign("=")
                if piece:
                    self._piece(piece)
        else:
            self._piece(core)

    def _piece(self, core: str) -> None:
        lower = core.lower()
        if _digit().search(core):
            self._value(core)
            self._count += 1
        elif ("'" in core or "’" in core) and self._apostrophe(core):
            return
        elif core == lower and core.replace("-", "").isalpha():
            self._word(core, core)
            if not core.isascii() and cjk().match(core):
                self._count += (len(core) - 1) // 2
        elif self._is_capital_of_style(core, lower):
            self._word(lower, core)
        elif core.replace("-", "").isalpha() or _is_identifier(core, lower):
            self._value(core)
        elif any(char.isalnum() for char in core):
            self._word(lower, core)

    def _is_capital_of_style(self, core: str, lower: str) -> bool:
        if core[1:] != lower[1:] or not core.replace("-", "").isalpha():
            return False
        return self._fresh or core == "I" or (len(core) > 1 and lower in STOP_WORDS)

    def _apostrophe(self, core: str) -> bool:
        """Takes a contraction apart; False if it is none."""
        lower = core.replace("’", "'").lower()
        head, _, end = lower.partition("'")
        if lower.endswith("n't"):
            base = _SHORTENED.get(lower[:-3], lower[:-3])
            if base not in _DO:
                self._word(base, base)
            self._negate()
        elif head == "n" and end.isalpha():
            self._negate()
            self._word(end, end)
        elif end in _SUFFIXES and head.isalpha():
            self._piece(core[: len(head)])
            if end != "s" or head in _PRONOUNS:
                self._word(_SUFFIXES[end], end)
        elif len(head) <= 2 and end.isalpha():
            self._word(lower[: len(head)] + "'", head)
            self._piece(core[len(head) + 1 :])
        else:
            return False
        return True


def _is_identifier(core: str, lower: str) -> bool:
    """Whether a chunk with marks inside is a path, an address or a name of code."""
    if "/" in core:
        return core[0] in "~./" or core.count("/") > 1 or "." in core or core != lower
    if "." in core.strip("."):
        return lower not in _ABBREVIATIONS
    return core != lower or any(mark in core for mark in "_@\\#+")


@functools.lru_cache(maxsize=8192)
def _outlined(word: str) -> str:
    """A word without its inflection, so that "runs" and "does not run" meet."""
    word = _IRREGULAR.get(word, word)
    return stem(word) if word.isascii() and word.isalpha() else word


@functools.cache
def _digit() -> re.Pattern[str]:
    return re.compile(r"\d")


@functools.cache
def _cjk_negations() -> re.Pattern[str]:
    return re.compile("|".join(sorted(_CJK_NEGATIONS, key=len, reverse=True)))


@functools.cache
def _cjk_pieces() -> re.Pattern[str]:
    number = r"\d+(?:[.:/-]\d+)*"
    # Begun at the first digit only: a long row of them is looked at once.
    dated = rf"(?<!\d)(?<!\d[.:/-])(?:{number}[年月日号時时点分秒])+(?:{number})?"
    return re.compile(f"{dated}|[{HAN_AND_KANA}]+|[。！？，、；]")


@functools.cache
def _quoted() -> re.Pattern[str]:
    return re.compile(
        r"\"[^\"\n]+\"|`[^`\n]+`|(?<!\w)'[^'\n]+'(?!\w)|“[^”]+”|‘[^’]+’(?!\w)|«[^»]+»|„[^“”]+[“”]|「[^」]+」|『[^』]+』"
    )


_SIGNS = frozenset(("=", ":=", "==", ":", "->", "=>", "→", "⇒"))
_DO = frozenset(("do", "does", "did"))
_SHORTENED = {"ca": "can", "wo": "will", "sha": "shall"}
_IRREGULAR = {"has": "have", "does": "do", "goes": "go"}
_SUFFIXES = {"s": "is", "re": "are", "m": "am", "ve": "have", "ll": "will"}
_PRONOUNS = frozenset(("it", "that", "there", "he", "she", "what", "here"))
_ABBREVIATIONS = frozenset(("e.g", "i.e", "z.b", "d.h", "p.ex", "p.m", "a.m", "u.a"))
_CJK_NEGATIONS = {
    "从来不": "", "从不": "", "不再": "", "并不": "", "没有": "", "没": "", "不": "",
    "ではありません": "です", "じゃありません": "です", "ではない": "である", "じゃない": "だ",
    "ませんでした": "ました", "ません": "ます", "していない": "している", "されない": "される",
    "しない": "する", "いない": "いる", "できない": "できる",
}  # fmt: skip
_NEGATIONS = (
    "not never no cannot nicht kein keine keinen keinem keiner keines nie niemals nunca jamás ne pas jamais"
    " não non niet geen nooit ikke inte не никогда"
)
# March and May are left out: in lower case they are verbs, with a capital they are values anyway.
_DATES = (
    "january february april june july august september october november december"
    " monday tuesday wednesday thursday friday saturday sunday"
    " mondays tuesdays wednesdays thursdays fridays saturdays sundays"
    " januar februar märz mai juni juli oktober dezember"
    " montag dienstag mittwoch donnerstag freitag samstag sonntag"
    " montags dienstags mittwochs donnerstags freitags samstags sonntags"
    " enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
    " lunes martes miércoles jueves viernes sábado domingo"
    " janvier février avril juin juillet août septembre octobre novembre décembre"
    " lundi mardi mercredi jeudi vendredi samedi dimanche"
)
_NUMBERS = (
    "two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty hundred"
    " thousand zwei drei vier fünf sechs sieben acht neun zehn"
)
_OPPOSITES = (
    "on / off",
    "allowed permitted erlaubt gestattet / forbidden prohibited disallowed banned verboten untersagt",
    "required mandatory obligatory erforderlich verpflichtend / optional voluntary freiwillig",
    "after / before",
    "nach / vor",
    "aktiviert eingeschaltet / deaktiviert ausgeschaltet",
    "open offen / closed geschlossen",
    "public öffentlich / private privat",
    "internal intern / external extern",
    "synchronous synchron / asynchronous asynchron",
    "ascending aufsteigend / descending absteigend",
    "up / down",
)
"""Scales, each with the words of either end: a statement with the one contradicts that with the other."""

_EVER = "always immer siempre toujours sempre altijd alltid всегда"
_NEAR_AND_FAR = tuple(tuple(end.split() for end in scale.split("/")) for scale in _OPPOSITES)

SCALES = {word: near[0] for near, far in _NEAR_AND_FAR for word in (*near, *far)}
"""Each word of a scale → the first word of it."""

FAR = frozenset(word for _, far in _NEAR_AND_FAR for word in far)
"""The words at the second end of their scales."""

_LEFTOVERS = "longer mehr plus más mais"  # no longer, nicht mehr, ne ... plus: only behind their negation
DATE_WORDS = frozenset(_DATES.split())
NUMBER_WORDS = frozenset(_NUMBERS.split())
SWITCH_WORDS = frozenset(("true", "false", "enabled", "disabled"))
_SPECIAL = {
    **dict.fromkeys(_NEGATIONS.split(), "not"),
    **dict.fromkeys(_LEFTOVERS.split(), "after"),
    **dict.fromkeys(("any", "anymore"), "aside"),
    **dict.fromkeys(_EVER.split(), "ever"),
    **dict.fromkeys(SCALES, "pole"),
    **dict.fromkeys(DATE_WORDS | NUMBER_WORDS | SWITCH_WORDS, "value"),
}
