"""What kind of value a statement gives, and when two of them may be the same one.

Quantities compare with their like only, and in the same unit; what names something compares with any other name.
"""
# ruff: noqa: RUF001 - marks of other scripts are the subject here, not typing errors

import functools
import re

from engram.model.outline import DATE_WORDS, NUMBER_WORDS, SWITCH_WORDS

QUANTITIES = frozenset(("number", "version", "date", "time"))
NAMES = frozenset(("name", "id", "value", "address", "path"))
MONTHS = frozenset(("march", "may", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "oct", "nov", "dec"))


def bared(value: str) -> str:
    """A value without what is only style: quotes, case, a plural day, a leading zero, thousands' commas."""
    bare = value.strip("\"'`“”‘’«»„「」『』").casefold().removesuffix("'s")
    if bare.rstrip("s") in DATE_WORDS:
        return bare.rstrip("s")
    if bare[:1].isdigit():
        bare = _thousands().sub("", bare)
        if ":" in bare:
            bare = bare.lstrip("0")
    return bare


def may_mean_the_same(old: list[str], new: list[str]) -> bool:
    """Whether one value may be the other in more detail or in another notation."""
    a, b = [bared(value) for value in old], [bared(value) for value in new]
    if set(a) <= set(b) or set(b) <= set(a):
        return True
    short, long = sorted(("".join(a).replace(",", "."), "".join(b).replace(",", ".")), key=len)  # 10,50 is 10.50
    # 3.11 and 3.11.7, ~/a and ~/a/b: the longer says more, it does not say otherwise
    return short == long or long.startswith((short + ".", short + "/", short + "-", short + ":"))


def common_kind(old: list[str], new: list[str], *, measured: bool = False) -> str | None:
    """The common kind of two values; None if they cannot be compared."""
    a, b = _run_kind(old, measured=measured), _run_kind(new, measured=measured)
    if a == b:
        if a not in QUANTITIES or _unit(old) == _unit(new):
            return a
        # 12345678A and 99999999X: that many digits and a letter are no amount and its unit
        return "id" if all(_document_number().fullmatch(bared(run[-1])) for run in (old, new)) else None
    if {a, b} == {"number", "version"}:
        return "version"
    return "value" if a in NAMES and b in NAMES else None


def _run_kind(run: list[str], *, measured: bool) -> str:
    kinds = [value_kind(value) for value in run]
    for kind in ("date", "time", "address", "path", "value", "id", "name", "version"):
        if kind in kinds:
            return "number" if kind == "version" and measured else kind
    return "number"


def value_kind(value: str) -> str:
    """The kind of one value, by its form."""
    bare = bared(value)
    if value[0] in "\"'`“‘«„「『" or bare in SWITCH_WORDS:
        return "value"
    if bare in DATE_WORDS or bare in MONTHS:
        return "date"
    if bare in NUMBER_WORDS:
        return "number"
    for kind, pattern in _kinds():
        if pattern.fullmatch(bare):
            return kind
    return "name" if bare.replace("-", "").isalpha() else "id"


def _unit(run: list[str]) -> str:
    """What is left of a quantity without its amount: 30s and 1m, 2pm and 14:00, two and 2 do not compare."""
    letters = "".join(
        "@" if bare in DATE_WORDS or bare in MONTHS else "#" if bare in NUMBER_WORDS else bare
        for bare in map(bared, run)
    )
    return _amounts().sub("", letters).removeprefix("v")


@functools.cache
def _kinds() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Kinds of values by form, the most special first."""
    return tuple(
        (kind, re.compile(pattern))
        for kind, pattern in (
            ("time", r"\d{1,2}[:h]\d{2}(?::\d{2})?(?:[ap]m|z)?|\d{1,2}(?:\.\d{2})?[ap]m"),
            ("time", r"\d{1,2}[時时点](?:\d{1,2}分)?"),
            (
                "date",
                r"\d{4}-\d{1,2}(?:-\d{1,2})?|\d{1,2}/\d{1,2}(?:/\d{2,4})?|\d{1,2}\.\d{1,2}\.(?:\d{2,4})?",
            ),
            ("date", r"(?:\d+[年月日号])+|\d{1,2}(?:st|nd|rd|th)"),
            ("address", r"(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?|\w[\w+.-]*://.*|.+@.+"),
            ("address", r"localhost(?::\d+)?|[\w-]+(?:\.[\w-]*[a-z])+:\d+"),
            ("path", r"[~.]{0,2}/.*|[a-z]:\\.*|.*/.*"),
            ("version", r"v\d+(?:\.\d+)*|\d+(?:\.\d+)+(?:[-+]?(?:a|b|rc|alpha|beta|dev|post)[-.]?\d*)?"),
            ("number", r"[~<>±+-]?[$€£¥#]?\d[\d,._]*(?:%|°|€|\$|£)?(?:[a-zµ°]{1,5}(?:/[a-z]{1,4})?)?"),
            ("number", r"(?:utc|gmt)[+−-]?\d[\d:]*"),
        )
    )


@functools.cache
def _document_number() -> re.Pattern[str]:
    return re.compile(r"\d{7,}[a-z]")


@functools.cache
def _amounts() -> re.Pattern[str]:
    return re.compile(r"[\d.,:_/+−-]+")


@functools.cache
def _thousands() -> re.Pattern[str]:
    return re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


def is_count(run: list[str]) -> bool:
    """Whether a value says how many: more than two digits may as well be a year or a code."""
    bare = bared(run[0])
    return bare in NUMBER_WORDS or (bare.isdigit() and len(bare) < 3)


def is_other_version(old: str, new: str) -> bool:
    """Whether two values are versions, and not the same one; two single digits may tell two of many apart."""
    if not all(_version().fullmatch(value) for value in (old, new)):
        return False
    a, b = (value.lower().removeprefix("v").rstrip("+") for value in (old, new))
    return not may_mean_the_same([a], [b]) and max(len(a), len(b)) > 1


def is_region(value: str) -> bool:
    """Whether a value is a region as clouds name them: eu-west-1, europe-west4, us-east-1a."""
    return bool(_region().fullmatch(bared(value)))


@functools.cache
def _version() -> re.Pattern[str]:
    return re.compile(r"[vV]?\d{1,9}(?:\.(?:\d{1,9}|x)){0,3}\+?", re.ASCII)


@functools.cache
def _region() -> re.Pattern[str]:
    side = "(?:north|south|east|west|central)"
    return re.compile(rf"[a-z]{{2,14}}-(?:[a-z]{{2,8}}-)?{side}{{1,2}}-?\d{{1,2}}(?:-?[a-z])?", re.ASCII)
