"""Marks: those around what was recalled, so that it is never captured as new; and the tag that keeps one out."""

import functools
import re
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

BEGIN = "<engram-memory>"
END = "</engram-memory>"

NO_CONTEXT = "no-context"
"""The tag that keeps a memory out of every context; whoever asks for it still finds it."""

LOOK_ALIKES: Mapping[str, str] = MappingProxyType({"<": "\u2039", ">": "\u203a", "```": "'''", "~~~": "'''"})
"""What could end a block → what looks like it."""

UNSEEN = (
    "\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"  # marks of format
    "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # fillers
    "\u180b-\u180d\u180f\ufe00-\ufe0e\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"  # others
)
"""What nobody sees and no text needs, as a class of a pattern has it."""

JOINERS = "\u200c\u200d\ufe0f"
"""What nobody sees, and words and signs of some scripts need."""


def marked(text: str) -> str:
    """What was recalled between its marks, with none of its own in it, and nothing that nobody sees."""
    return f"{BEGIN}\n{unmarked(seen(text))}\n{END}"


def unmarked(text: str) -> str:
    """A text in which no mark of ours stands, nor what a model may take for one.

    That is the name of the marks in other letters, with another hyphen, or after a bracket with any sign in it.
    """
    parts, read = [], 0
    for found in _names().finditer(text.lower() if text.isascii() else text.translate(_PLAIN)):
        bracket, between = found.span("bracket"), found.span("between")
        parts.append(text[read : found.start()])
        if bracket[0] >= 0:
            parts.append(LOOK_ALIKES["<"])
        parts += (text[max(bracket[1], found.start()) : between[0]], "\u2011", text[between[1] : found.end("name")])
        if found["end"]:
            parts.append(LOOK_ALIKES[">"])
        read = found.end()
    return "".join((*parts, text[read:])) if read else text


def seen(text: str) -> str:
    """A text without what nobody sees: it could split a mark, turn a line around, or carry a message."""
    text = _unseen().sub("", text)
    return text if text.isascii() else _idle_joiners().sub("", _idle_selectors().sub("", text))


def tame(text: str) -> str:
    """One line that can neither close the block, nor open another, nor hide what it says.

    Angle brackets become look-alikes, fences become quotes, what would begin a heading or a bullet is taken off,
    and so are characters that nobody sees.
    """
    plain = " ".join(seen(text).split())
    plain = _escaped().sub(lambda found: "<" if found[1] else ">", plain)
    for mark, shown in LOOK_ALIKES.items():
        plain = plain.replace(mark, shown)
    return unmarked(_handles().sub("(", _marks().sub("", plain)))


@functools.cache
def _unseen() -> re.Pattern[str]:
    """Controls but for space, and what is unseen but for the joiners and the selector that words and signs need."""
    return re.compile(f"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f{UNSEEN}]")


@functools.cache
def _idle_selectors() -> re.Pattern[str]:
    """The selector that draws a sign in colour where no sign stands before it: a mark is not to be split by it."""
    signs = "\xa9\xae\u203c-\u303d\u3297\u3299\U0001f000-\U0001faff"
    return re.compile(f"(?<![0-9#*{signs}])\ufe0f|(?<=[0-9#*])\ufe0f(?!\u20e3)")


@functools.cache
def _idle_joiners() -> re.Pattern[str]:
    """The two joiners where they join nothing: only scripts and signs beyond ASCII need them, one at a time."""
    some = "[\u200c\u200d]"
    return re.compile(f"(?<![^\x00-\x7f]){some}+|{some}+(?![^\x00-\x7f])|(?<={some}){some}")


class _Plainly(dict[int, int]):
    """Each sign as a model may read it, one for one: without ornament, in Latin letters, brackets as brackets."""

    def __missing__(self, point: int) -> int:
        sign = unicodedata.normalize("NFKD", chr(point))[:1].lower()[:1]
        category = unicodedata.category(sign)
        plain = ord("-") if category == "Pd" else ord("\u0301") if category[0] == "M" else ord(sign)
        self[point] = found = _ALIKE.get(plain, plain)
        return found


_ALIKE = {
    ord(sign): ord(plain)
    for plain, signs in {
        "a": "\u0251\u03b1\u0430\u1d00",
        "e": "\u03b5\u0435\u0454\u04bd\u212e\u1d07",
        "g": "\u0261\u0262\u0581",
        "m": "\u03bc\u043c\u1d0d",
        "n": "\u0274\u03b7\u03bd\u043f\u0578",
        "o": "\u03bf\u043e\u0585\u1d0f",
        "r": "\u0280\u0433",
        "y": "\u028f\u03b3\u03c5\u0443\u04af",
        "<": "\xab\u02c2\u1438\u2039\u226a\u276e\u2770\u27e8\u3008",
        ">": "\xbb\u02c3\u1433\u203a\u226b\u276f\u2771\u27e9\u3009",
        "/": "\\\u2044\u2215\u29f8",
        "-": "\u2043\u2212\u2796\u30fc",
    }.items()
    for sign in signs
}
_PLAIN = _Plainly()


@functools.cache
def _names() -> re.Pattern[str]:
    """The word in both marks, in plain letters; a bracket before it makes one of whatever stands for its hyphen."""
    engram, memory = ("".join(f"{letter}\u0301{{0,4}}" for letter in word) for word in ("engram", "memory"))
    bracket = r"(?:(?P<bracket><|&(?:lt|#0{0,9}60|#x0{0,9}3c);?)[\s/]{0,4})?"
    between = r"(?P<between>(?(bracket)(?:&[a-z0-9#]{1,9};|[^a-z0-9<>]{0,3})|-))"
    return re.compile(rf"{bracket}(?P<name>{engram}{between}{memory})(?P<end>\s{{0,3}}>)?")


@functools.cache
def _escaped() -> re.Pattern[str]:
    """An angle bracket as some agents escape it, by name or by number; the first group has the opening one."""
    return re.compile("&(?:(lt;|#0*60;?|#x0*3c;?)|gt;|#0*62;?|#x0*3e;?)", re.IGNORECASE)


@functools.cache
def _handles() -> re.Pattern[str]:
    """What begins like the facts that we put after a line."""
    return re.compile(r"\[(?=mem-\d)", re.IGNORECASE)


@functools.cache
def _marks() -> re.Pattern[str]:
    return re.compile(r"^(?:[#*+>\u203a-]+ )+")
