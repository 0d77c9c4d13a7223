"""Where a cited text is in another text: at its place, elsewhere, partly, or not at all. Pure.

Lines are compared without what ends them and without spaces at their end, so line endings make no difference.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engram.model.evidence import Verdict

LEFT = 5
"""A text of which less than a fifth of the lines is left, and nothing that is alike, is gone."""

ALIKE = 0.5
"""Two lines that share this much of their words are the same line, reworded."""

TELLING = 3
"""Words that a line needs to be compared by them: fewer say little."""

MOST_PAIRS = 200_000
"""Pairs of equal lines up to which a longest common sequence is exact: data repeats itself without end."""

MOST_SHARED = 300_000
"""Words in common after which no further cited line is compared by its words."""

LONGEST_DEFINITION = 500
"""Characters of a line that may define a symbol: a longer one is data, or made by a program."""

KEYWORDS = (
    "def|class|function|func|fn|fun|struct|interface|type|enum|trait|impl|module|mod|namespace|package|const|let|var"
    "|val|object|protocol|extension|sub|proc|procedure|macro_rules!|record|union|static"
)
CLOSERS = re.compile(r"\s*(?:[\])}]|end\b|</|else\b|elif\b|except\b|finally\b|catch\b)")
WORD = re.compile(r"\w+")
LINES = re.compile(r"L?(\d{1,9})(?:-L?(\d{1,9}))?")


class Span(NamedTuple):
    """Lines of a text, counted from 1, the last included."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.first}-{self.last}" if self.last > self.first else str(self.first)


class Found(NamedTuple):
    """What became of a text: the verdict, the share of its lines that is lost, and where it is now."""

    verdict: Verdict
    changed: float = 0.0
    span: Span | None = None


def lines_of(text: str) -> list[str]:
    """The lines of a text as they are compared."""
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def span_of(locator: str) -> Span | None:
    """The lines that a locator names (`200-240`, `L10`); None when it names none, such as a symbol."""
    found = LINES.fullmatch(locator.strip())
    if not found:
        return None
    first = int(found[1])
    return Span(first, max(int(found[2] or first), first))


def look(cited: Sequence[str], lines: Sequence[str], locator: str) -> Found:
    """What became of cited lines in a text, as their locator places them.

    A symbol is looked for by its name, so it may stand anywhere; without a locator, so may the whole.
    """
    if not cited:
        return Found("fresh")
    place = span_of(locator) if locator else None
    named = symbol(lines, locator) if locator and place is None else None
    at = named.first if named else place.first if place else 0
    starts = occurrences(cited, lines)
    inside = [start for start in starts if named and named.first <= start <= named.last]
    if at in starts or inside or (starts and not at):
        first = at if at in starts else (inside or starts)[0]
        return Found("fresh", span=Span(first, first + len(cited) - 1))
    if starts:
        first = min(starts, key=lambda start: (abs(start - at), start))
        return Found("moved", span=Span(first, first + len(cited) - 1))
    return _partly(cited, lines, named, place)


def occurrences(cited: Sequence[str], lines: Sequence[str]) -> list[int]:
    """Every line number at which these lines stand, one after the other.

    The method of Knuth, Morris and Pratt: no line is looked at twice, however often a text repeats itself.
    """
    if len(cited) > len(lines) or cited[0] not in lines:
        return []
    borders = _borders(cited)
    found: list[int] = []
    met = 0
    for at, line in enumerate(lines):
        while met and (met == len(cited) or cited[met] != line):
            met = borders[met - 1]
        if cited[met] == line:
            met += 1
            if met == len(cited):
                found.append(at - met + 2)
    return found


def _borders(cited: Sequence[str]) -> list[int]:
    """For every beginning of a text, how many of its last lines are its first ones."""
    borders = [0]
    for line in cited[1:]:
        met = borders[-1]
        while met and cited[met] != line:
            met = borders[met - 1]
        borders.append(met + 1 if cited[met] == line else 0)
    return borders


def _partly(cited: Sequence[str], lines: Sequence[str], named: Span | None, place: Span | None) -> Found:
    telling = [at for at, line in enumerate(cited) if re.search(r"\w", line)]
    telling = telling or [at for at, line in enumerate(cited) if line]
    if not telling:
        return Found("gone", 1.0)
    counted = [cited[at] for at in telling]
    matched = common(counted, lines)
    changed = round(1 - len(matched) / len(counted), 4)
    if named is not None:
        return Found("drifted", changed, named)
    if matched and LEFT * len(matched) >= len(counted):
        pairs = [(telling[here], there) for here, there in matched]
        return Found("drifted", changed, _reach(cited, lines, pairs[0], pairs[-1], place))
    if (near := alike(counted, lines)) is not None:
        return Found("drifted", changed, Span(near + 1, min(near + len(cited), len(lines))))
    return Found("gone", 1.0)


def _reach(
    cited: Sequence[str],
    lines: Sequence[str],
    first: tuple[int, int],
    last: tuple[int, int],
    place: Span | None,
) -> Span:
    """From where to where a changed text reaches, beyond the first and the last of its lines that are as they were.

    A line at either end was changed if one stands there in its stead; else it was taken out. Above the first line
    the file may not have moved: then the text begins where it did.
    """
    (here, begin), (behind, end) = first, last
    missing = here
    while here and begin and _stands_for(lines[begin - 1], cited[here - 1]):
        here, begin = here - 1, begin - 1
    while behind + 1 < len(cited) and end + 1 < len(lines) and _stands_for(lines[end + 1], cited[behind + 1]):
        behind, end = behind + 1, end + 1
    if place and 0 < first[1] - (place.first - 1) <= missing:
        begin = min(begin, place.first - 1)
    return Span(begin + 1, end + 1)


def _stands_for(line: str, cited: str) -> bool:
    """Whether a line may be what became of a cited one: reworded, or at the same depth of a block."""
    if line == cited:
        return True
    words, theirs = Counter(WORD.findall(line)), Counter(WORD.findall(cited))
    if 2 * (words & theirs).total() >= ALIKE * (words.total() + theirs.total()) > 0:
        return True
    return bool(line and cited) and _indent(line) == _indent(cited) > 0


def common(cited: Sequence[str], lines: Sequence[str]) -> list[tuple[int, int]]:
    """A longest common subsequence of two lists of lines, as pairs of places.

    It is exact unless the same lines stand there again and again (MOST_PAIRS); then it is one of those that the
    rarer lines give, with what fits in between.
    """
    places: dict[str, list[int]] = {}
    for at, line in enumerate(lines):
        places.setdefault(line, []).append(at)
    counts = Counter(line for line in cited if line in places)
    if sum(count * len(places[line]) for line, count in counts.items()) <= MOST_PAIRS:
        return _longest(cited, places)
    often = MOST_PAIRS // len(counts)
    rare = {line: places[line] for line, count in counts.items() if count * len(places[line]) <= often}
    return _between(_longest(cited, rare), cited, places, len(lines))


def _longest(cited: Sequence[str], places: Mapping[str, Sequence[int]]) -> list[tuple[int, int]]:
    """A longest common subsequence, of cited lines and the places where they stand.

    The method of Hunt and Szymanski: for every length, the pair that ends such a sequence earliest.
    """
    ends: list[int] = []
    chains: list[tuple[int, int, int]] = []  # place in cited, place in lines, the chain before
    heads: list[int] = []
    for here, line in enumerate(cited):
        for there in reversed(places.get(line, ())):
            length = bisect_left(ends, there)
            chains.append((here, there, heads[length - 1] if length else -1))
            if length == len(ends):
                ends.append(there)
                heads.append(len(chains) - 1)
            else:
                ends[length], heads[length] = there, len(chains) - 1
    pairs: list[tuple[int, int]] = []
    at = heads[-1] if heads else -1
    while at >= 0:
        here, there, at = chains[at]
        pairs.append((here, there))
    return pairs[::-1]


def _between(
    pairs: Sequence[tuple[int, int]], cited: Sequence[str], places: Mapping[str, Sequence[int]], end: int
) -> list[tuple[int, int]]:
    """Pairs of places, and between any two of them what else is in order: each line where it first fits."""
    filled: list[tuple[int, int]] = []
    here = there = 0
    for next_here, next_there in [*pairs, (len(cited), end)]:
        for at in range(here, next_here):
            known = places.get(cited[at], ())
            first = bisect_left(known, there)
            if first < len(known) and known[first] < next_there:
                filled.append((at, known[first]))
                there = known[first] + 1
        filled.append((next_here, next_there))
        here, there = next_here + 1, next_there + 1
    return filled[:-1]


def alike(cited: Sequence[str], lines: Sequence[str]) -> int | None:
    """The place of the line that is most like one of the cited, where one is like it enough."""
    known = [Counter(WORD.findall(line)) for line in cited]
    telling = [words for words in known if words.total() >= TELLING] or known
    holding: dict[str, list[tuple[int, int]]] = {}
    sizes: list[int] = []
    for at, line in enumerate(lines):
        words = Counter(WORD.findall(line))
        sizes.append(words.total())
        for word, count in words.items():
            holding.setdefault(word, []).append((at, count))
    best: tuple[float, int] = (0.0, 0)
    left = MOST_SHARED
    for words in telling:
        if left <= 0:
            break
        shared: dict[int, int] = {}
        for word, count in words.items():
            for at, there in holding.get(word, ()):
                shared[at] = shared.get(at, 0) + min(count, there)
                left -= 1
        size = words.total()
        best = max(best, max(((2 * n / (size + sizes[at]), -at) for at, n in shared.items()), default=best))
    return -best[1] if best[0] >= ALIKE else None


def symbol(lines: Sequence[str], name: str) -> Span | None:
    """The lines that define a symbol, by its name (`handler`, `Server.handler`); None where nothing does.

    By keywords and indentation, as most languages are laid out: no parser is asked.
    """
    within = Span(1, len(lines))
    for part in re.split(r"\.|::|#", name):
        found = _defined(lines, part, within)
        if found is None:
            return None
        within = found
    return within


def _defined(lines: Sequence[str], name: str, within: Span) -> Span | None:
    word = rf"(?<![\w$]){re.escape(name)}(?![\w$])"
    forms = (
        rf"^\s*(?:[\w@(),*&<>\[\]:. ]*?\s)?(?:{KEYWORDS})\s+(?:\([^)]*\)\s*)?{word}",
        rf"^\s*(?:[\w<>,*&\[\]:?]+\s+)*{word}\s*\([^;]*$",
        rf"^\s*(?:export\s+|public\s+|private\s+|final\s+)*{word}\s*(?::[^=]*)?[:=](?!=)",
    )
    for form in forms:
        known = re.compile(form)
        for at in range(within.first - 1, within.last):
            line = lines[at]
            if name in line and len(line) <= LONGEST_DEFINITION and known.match(line):
                return Span(at + 1, _end(lines, at))
    return None


def _end(lines: Sequence[str], at: int) -> int:
    """The last line of what begins here: as long as lines are indented deeper, or close what was opened."""
    depth = _indent(lines[at])
    last = at
    for next_at in range(at + 1, len(lines)):
        line = lines[next_at]
        if not line:
            continue
        deeper = _indent(line) > depth
        if not deeper and not (_indent(line) == depth and CLOSERS.match(line)):
            break
        last = next_at
    return last + 1


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
