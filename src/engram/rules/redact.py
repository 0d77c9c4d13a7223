"""What must not be kept: private spans and credentials are taken out of a text before anything is stored.

Each reader reports spans: the tags `<private>…</private>`, armoured keys, a table of credential shapes, and a
gate for long unlabelled tokens that look random. The spans are united and replaced by marks. A text that
changed is read again until nothing more is found, so the answer is stable by construction: taking something
out may join what stood around it to a new secret.

Nothing is compiled when the module is imported, and a plain text leaves before any pattern is tried.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from math import log2
from typing import NamedTuple

from engram.model.marks import JOINERS, UNSEEN
from engram.rules.redact_judging import compiled, worded
from engram.rules.redact_shapes import CONTEXT_GROUPS, SIGNS, SPOKEN, TOKEN_GROUPS, Group


class Redaction(NamedTuple):
    """Text that may be stored, and what was taken out of it."""

    text: str
    kinds: tuple[str, ...]


def redact(text: str, *, given: bool = False) -> Redaction:
    """Replace private spans and credentials by marks `[redacted:KIND]`; `kinds` lists them in order.

    Idempotent. A text that still changes after several readings was built to confuse and is withheld whole. A name
    that a program has `given`, such as a session's, is random by nature: only what has a known form is taken out.
    """
    marks: list[_Span] = []
    for _ in range(_READINGS):
        found = _found(text, given=given)
        if not found:
            return Redaction(text, tuple(mark.kind for mark in marks))
        text, marks = _replaced(text, _united([*marks, *found]))
    return Redaction(_mark("unreadable"), ("unreadable",))


_READINGS = 8


class _Span(NamedTuple):
    """A piece of text to replace; of two that overlap, the kind of the lower rank stays."""

    start: int
    end: int
    rank: int
    kind: str


def _mark(kind: str) -> str:
    """What stands for a removed span; the empty kind is a tag that is dropped without a trace."""
    return f"[redacted:{kind}]" if kind else ""


def _united(spans: Iterable[_Span]) -> list[_Span]:
    """The same ground covered by spans that do not overlap, in order."""
    united: list[_Span] = []
    for span in sorted(spans):
        if united and span.start < united[-1].end:
            last = united[-1]
            best = min(last, span, key=lambda one: one.rank)
            united[-1] = _Span(last.start, max(last.end, span.end), best.rank, best.kind)
        else:
            united.append(span)
    return united


def _replaced(text: str, spans: list[_Span]) -> tuple[str, list[_Span]]:
    """The text with every span replaced, and where the marks now stand."""
    pieces: list[str] = []
    marks: list[_Span] = []
    read = written = 0
    for span in spans:
        mark = _mark(span.kind)
        start = written + span.start - read
        pieces += (text[read : span.start], mark)
        read, written = span.end, start + len(mark)
        if mark:
            marks.append(_Span(start, written, span.rank, span.kind))
    pieces.append(text[read:])
    return "".join(pieces), marks


def _found(text: str, *, given: bool) -> list[_Span]:
    """Every span to replace, in no order: in the text as it stands, and as a reader sees it."""
    spans = _standing(text, given=given)
    if not text.isascii() and compiled(_HIDDEN).search(text):
        spans += _beneath(text, _HIDDEN, lambda bare: _standing(bare, given=given))
    if not text.isascii() and compiled(_WIDE).search(text):
        spans += _shaped(_narrow(text), given=given)
    if "\n" in text and compiled(_WRAPPED).search(text):
        whole = {span.start for span in spans}
        wrapped = _beneath(
            text, _BREAK, lambda bare: _by_table(bare, bare.lower(), TOKEN_GROUPS, _TOKEN_RANK, _CASED)
        )
        spans += [span for span in wrapped if span.start not in whole]  # what is whole ends with its line
    return spans


_HIDDEN = f"[{UNSEEN}{JOINERS}]+"

# Letters and digits of full width, or of mathematics: each stands for one of ASCII.
_WIDE = "[０-９Ａ-Ｚａ-ｚ\U0001d400-\U0001d7ff]{3}"  # noqa: RUF001
_BREAK = r"(?<=[A-Za-z0-9_-])\r?\n(?=[A-Za-z0-9_-])"

# A run that a narrow window may have broken, with another after it that is no word of a sentence.
_WRAPPED = r"[A-Za-z0-9_.-]{8}\r?\n(?=[A-Za-z0-9_-]{8})"


def _narrow(text: str) -> str:
    """The text with such signs as the plain ones that they stand for, one for one: what stands where stays."""
    from unicodedata import normalize  # noqa: PLC0415 - start-up; few texts have any

    wide = compiled("[！-～\U0001d400-\U0001d7ff]")  # noqa: RUF001
    return wide.sub(lambda one: normalize("NFKC", one[0]), text)


def _beneath(text: str, between: str, find: Callable[[str], Iterable[_Span]]) -> Iterator[_Span]:
    """What is found in a text without what stands between its letters, where it stands in the text itself."""
    from bisect import bisect_right  # noqa: PLC0415 - start-up; few texts have anything between their letters

    cuts, gone = [], [0]
    for gap in compiled(between).finditer(text):
        cuts.append(gap.start() - gone[-1])
        gone.append(gone[-1] + len(gap[0]))
    for span in find(compiled(between).sub("", text)):
        start, last = (at + gone[bisect_right(cuts, at)] for at in (span.start, span.end - 1))
        yield span._replace(start=start, end=last + 1)


def _standing(text: str, *, given: bool) -> list[_Span]:
    """The spans in a text as it stands; the cheap questions come first, for most texts hold nothing."""
    return [*(_private(text) if "private" in text.lower() else ()), *_shaped(text, given=given)]


def _shaped(text: str, *, given: bool) -> list[_Span]:
    """The credentials in a text, by what they look like or stand beside."""
    spans: list[_Span] = []
    lowered = text.lower()
    if "-begin" in lowered or "- begin" in lowered:
        spans += _key_blocks(text)
    if _any(SIGNS, text) or _any(SPOKEN, lowered):
        spans += _by_table(text, lowered, CONTEXT_GROUPS, _CONTEXT_RANK, _UNCASED)
    if compiled(_LONG_RUN).search(text):
        spans += _by_table(text, lowered, TOKEN_GROUPS, _TOKEN_RANK, _CASED)
        spans += [] if given else _random_runs(text)
    return spans


def _any(anchors: Iterable[str], lowered: str) -> bool:
    for anchor in anchors:  # noqa: SIM110 (a generator here would double the cost of a plain text)
        if anchor in lowered:
            return True
    return False


# --- Private spans ---

_PRIVATE_RANK = 0

# White space is bounded, and attributes end before the next tag, so that a row of half-open tags costs no more than
# its length. In the second form the brackets are written otherwise: by name, by number, or full in width.
_PRIVATE_TAG = (
    r"<\s{0,9}(/?)\s{0,9}private(?:[\s/][^<>]*+)?>"
    r"|(?:＜|&lt;|&#0{0,5}60;|&#x0{0,5}3c;|\\u003c|%3c)\s{0,9}(/?)\s{0,9}private\s{0,9}"  # noqa: RUF001
    r"(?:＞|&gt;|&#0{0,5}62;|&#x0{0,5}3e;|\\u003e|%3e)"  # noqa: RUF001
)


def _private(text: str) -> Iterator[_Span]:
    """Outermost private spans; one that is never closed reaches to the end of the text.

    A closing tag without an opening one is dropped: what it was meant to close cannot be known. One that is
    written otherwise and stands alone is a mention, and stays; so does one in code marks that nothing closes.
    """
    depth = start = 0
    plainly = False
    for tag in _meant(text):
        if not (tag[1] or tag[2]):
            start = start if depth else tag.start()
            plainly = tag[2] is None or (plainly and depth > 0)
            depth += 1
        elif depth == 0:
            if tag[1]:
                yield _Span(*tag.span(), _PRIVATE_RANK, "")
        else:
            depth -= 1
            if depth == 0:
                yield _Span(start, tag.end(), _PRIVATE_RANK, "private")
    if depth and plainly:
        yield _Span(start, len(text), _PRIVATE_RANK, "private")


def _meant(text: str) -> list[re.Match[str]]:
    """The tags of a text, but for those that only speak of one: alone in code marks, and closed by no tag.

    A closing tag belongs to the nearest opening one before it that is still open, mention or not: where it might
    close what is private, it does.
    """
    tags = list(compiled(_PRIVATE_TAG, re.IGNORECASE | re.ASCII).finditer(text))
    if "`" not in text:
        return tags
    left_open: list[int] = []
    for place, tag in enumerate(tags):
        if not (tag[1] or tag[2]):
            left_open.append(place)
        elif left_open:
            left_open.pop()
    mentions = {place for place in left_open if _in_code_marks(text, tags[place])}
    return [tag for place, tag in enumerate(tags) if place not in mentions]


def _in_code_marks(text: str, tag: re.Match[str]) -> bool:
    return text.endswith("`", 0, tag.start()) and text.startswith("`", tag.end())


# --- Key blocks ---

_BLOCK_RANK = 1
_BLOCK_EDGE = r"-{4,5} ?(BEGIN|END) ((?:[A-Z0-9]{1,12} ){0,4})PRIVATE KEY(?: BLOCK)? ?-{4,5}"

# The body of a block that was cut off: header lines, and runs of base64 divided by real or written line ends.
_BLOCK_BODY = (
    r"(?:(?:[\s>|#\"',]|\\[nr])++(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\n]{0,200}+"
    r"|[A-Za-z0-9+/=]{16,}+))++(?:(?:[\s>|#\"',]|\\[nr])*+[A-Za-z0-9+/=]*+\s*+\Z)?+"
)


def _key_blocks(text: str) -> Iterator[_Span]:
    """Private keys in PEM or PGP armour, and what is there of one whose END line is missing.

    The mere mention of a BEGIN line, with no key after it, stays.
    """
    edges = list(compiled(_BLOCK_EDGE).finditer(text))
    for place, edge in enumerate(edges):
        if edge[1] == "END":
            continue
        following = edges[place + 1] if place + 1 < len(edges) else None
        kind = "pgp-private-key" if "PGP" in edge[2] else "private-key"
        if following is not None and following[1] == "END":
            yield _Span(edge.start(), following.end(), _BLOCK_RANK, kind)
        elif body := compiled(_BLOCK_BODY).match(text, edge.end()):
            yield _Span(edge.start(), body.end(), _BLOCK_RANK, kind)


# --- The tables ---

_TOKEN_RANK = 10
_CONTEXT_RANK = 100
_GATE_RANK = 1000

_CASED, _UNCASED = re.ASCII, re.ASCII | re.IGNORECASE


def _by_table(text: str, lowered: str, table: tuple[Group, ...], rank: int, flags: int) -> Iterator[_Span]:
    """The secrets that a table finds; an earlier shape, the more exact one, ranks before a later."""
    for anchors, then, shapes in table:
        before = lowered[: max(*map(lowered.rfind, then), 0)] if then else lowered
        if not _any(anchors, before):
            continue
        for place, shape in shapes:
            for start, end in _matches(compiled(shape.pattern, flags), shape.judge, text):
                while end < len(text) and text[end] in shape.tail:
                    end += 1  # noqa: PLW2901 - as far as the secret may reach
                yield _Span(start, end, rank + place, shape.kind)


# A value is known by its beginning; with no bound, a row of labels would be judged over and over.
_JUDGED = 64


def _matches(pattern: re.Pattern[str], judge: Callable[[str], bool], text: str) -> Iterator[tuple[int, int]]:
    """Where the secrets stand. A value that was refused is searched again: it may hold the next label."""
    place = 0
    while match := pattern.search(text, place):
        start, end = match.span(match.lastindex or 0)
        if judge(text[start : min(end, start + _JUDGED)]):
            yield start, end
            place = match.end()
        else:
            place = start if start > match.start() else match.end()


# --- The gate for what no table knows ---

_LONG_RUN = r"[A-Za-z0-9+/_-]{20}"
_GATED_RUN = r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}={0,2}"

# Random to look at, and yet public: addresses up to their query, checksums, embedded data, public keys.
_PUBLIC = (
    r"(?:https?|git|ssh|s3|gs|file)://(?:(?![?#\"'`<>])[!-~])+"
    r"|(?<![A-Za-z0-9])(?:sha(?:1|224|256|384|512)|md5|h1)[-:=][A-Za-z0-9+/_-]+"
    r"|;base64,[A-Za-z0-9+/=]+"
    r"|(?<![A-Za-z0-9+/])AAAA[BCE][23]N[A-Za-z0-9+/=]+"
    r"|-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}(?:CERTIFICATE|PUBLIC KEY|REQUEST|SIGNATURE|MESSAGE)"
    r"(?: BLOCK)?-----(?:\\[nr]|[A-Za-z0-9+/=\s])*+"
)


def _random_runs(text: str) -> Iterator[_Span]:
    """Long runs that look random and stand in nothing public."""
    public: list[tuple[int, int]] | None = None
    for run in compiled(_GATED_RUN).finditer(text):
        start, end = run.span()
        if not _looks_random(run[0]):
            continue
        if public is None:
            public = [found.span() for found in compiled(_PUBLIC, re.ASCII | re.IGNORECASE).finditer(text)]
            public.reverse()
        while public and public[-1][1] <= start:
            public.pop()
        if not (public and public[-1][0] <= start):
            yield _Span(start, end, _GATE_RANK, "secret")


# A checksum within a name: `build_5114f85…`.
_HASH = r"(?<![A-Za-z0-9])[0-9a-f]{7,}+(?![A-Za-z0-9])"


def _looks_random(run: str) -> bool:
    """Whether the run mixes both cases and digits and holds no words, as a whole or in one segment."""
    run = compiled(_HASH).sub("", run)
    if compiled(r"[a-z]").search(run) is None or compiled(r"[A-Z]").search(run) is None:
        return False
    if compiled(r"[0-9]").search(run) is None:
        return False
    if len(run) >= 20 and not worded(run) and _entropy(run) >= 3.7:
        return not compiled(r"[0-9a-fA-F_/-]+").fullmatch(run)
    return "/" in run and any(len(part) >= 24 and _looks_random(part) for part in run.split("/"))


def _entropy(run: str) -> float:
    """Shannon entropy in bits per character."""
    total = len(run)
    return -sum(count / total * log2(count / total) for count in Counter(run).values())
