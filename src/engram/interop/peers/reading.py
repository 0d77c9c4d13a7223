"""What the readers share: another system's values as ours, and a record made of them or the reason why not."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from engram.errors import EngramError, Invalid
from engram.interop.forms import UNDATED, Foreign, Problem, foreign_id
from engram.model.limits import LIMITS, MOST_CITATIONS, MOST_TAGS, check_text, check_time, parse_time, size
from engram.model.memory import UNVOUCHED, Citation, Context, Memory
from engram.model.relation import Relation, RelationKind, RelationStatus
from engram.model.scope import GLOBAL, Scope

WORDS: Mapping[str, str] = {
    **dict.fromkeys(("preference", "preferences", "user_preference", "style"), "preference"),
    **dict.fromkeys(("person", "people", "contact", "team", "user"), "people"),
    **dict.fromkeys(("project", "repository", "repo", "product", "goal"), "project"),
    **dict.fromkeys(("decision", "decisions", "choice"), "decision"),
    **dict.fromkeys(("convention", "standard", "guideline", "practice"), "convention"),
    **dict.fromkeys(("tool", "tooling", "technology", "framework", "library", "tech"), "tooling"),
    **dict.fromkeys(("infra", "infrastructure", "server", "service", "environment", "deployment"), "infra"),
    **dict.fromkeys(("gotcha", "pitfall", "issue", "problem", "warning", "caveat"), "gotcha"),
    **dict.fromkeys(("bugfix", "bug", "fix", "error", "solution"), "bugfix"),
    **dict.fromkeys(("architecture", "design", "component"), "architecture"),
    **dict.fromkeys(("pattern", "technique", "method"), "pattern"),
    **dict.fromkeys(("config", "configuration", "setting"), "config"),
    **dict.fromkeys(("learning", "lesson", "insight", "learned"), "learning"),
    **dict.fromkeys(("identity", "profile", "bio"), "identity"),
    **dict.fromkeys(("location", "place", "address"), "location"),
    **dict.fromkeys(("health", "diet", "medical"), "health"),
    **dict.fromkeys(("constraint", "requirement", "limit"), "constraint"),
    **dict.fromkeys(("rule", "instruction", "instructions", "directive"), "rule"),
    **dict.fromkeys(("summary", "session_summary"), "summary"),
}
"""What others call a kind → what it is here; any other word is a fact, and stays in `context.word`."""

VERDICTS: Mapping[str, RelationKind] = {
    **dict.fromkeys(("contradicts", "conflicts", "conflicts_with"), "conflicts"),
    **dict.fromkeys(("supersedes", "replaces"), "supersedes"),
    "compatible": "compatible",
    "scoped": "scoped",
    "unrelated": "unrelated",
}
"""What others call a relation → its kind here; any other is `related`, and its word stays in the reason."""

WAITING: Mapping[str, Any] = {"status": "pending", "held_for": UNVOUCHED}
"""The state of what is not in force there: it waits for review, whoever vouches for the rest."""

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_EPOCH_LIMITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6))
"""Numbers below are seconds, milliseconds or microseconds since 1970: no date of an agent is older than 1973."""


class Row:
    """One thing as another system keeps it, by name; remembers what was asked for, so that the rest can be told."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self._used: set[str] = set()

    def get(self, *names: str) -> Any:  # noqa: ANN401 - any JSON
        """The first of these that says something; None when none does."""
        self._used.update(names)
        return next((self._values[name] for name in names if _said(self._values.get(name))), None)

    def text(self, *names: str) -> str:
        """The first of these as text; "" when it is none."""
        value = self.get(*names)
        if isinstance(value, str):
            return value.strip()
        return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""

    def words(self, *names: str) -> tuple[str, ...]:
        """The first of these as several texts: a list, a list written as JSON, or words between commas."""
        value = self.get(*names)
        if isinstance(value, str) and value.lstrip().startswith("["):
            value = parsed(value, value)
        given = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else []
        return tuple(str(each).strip() for each in given if isinstance(each, str | int | float))

    def time(self, *names: str) -> datetime | None:
        """The first of these that is a time; those that say something else count as not used."""
        for name in names:
            value = self._values.get(name)
            if _said(value) and (found := moment(value)):
                self._used.update(names)
                return found
        return None

    def number(self, *names: str) -> float | None:
        """The first of these as a number."""
        value = self.get(*names)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def rest(self, within: str = "") -> tuple[str, ...]:
        """The names of all that says something and was not asked for."""
        return tuple(
            f"{within}{name}" for name, value in self._values.items() if name not in self._used and _said(value)
        )


def _said(value: object) -> bool:
    return value is not None and value != "" and value not in ([], {}, 0)


def parsed(text: object, default: Any = None) -> Any:  # noqa: ANN401 - any JSON
    """The JSON value of a text; the default when it is none."""
    try:
        return json.loads(text, strict=False) if isinstance(text, str) else default
    except (ValueError, RecursionError):
        return default


def mapping(value: object) -> Mapping[str, Any]:
    """A mapping, also one written as JSON; an empty one for anything else."""
    value = parsed(value, value)
    return value if isinstance(value, dict) else {}


def moment(value: object) -> datetime | None:
    """A time as others write it: RFC 3339, a date, or seconds, milli- or microseconds since 1970."""
    try:
        if isinstance(value, datetime):
            found = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        elif isinstance(value, date):
            found = datetime(value.year, value.month, value.day, tzinfo=UTC)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            unit = next(unit for most, unit in _EPOCH_LIMITS if abs(value) < most)
            found = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value / unit)
        elif isinstance(value, str) and re.fullmatch(r"\d{9,16}(\.\d+)?", value.strip()):
            return moment(float(value))
        elif isinstance(value, str):
            found = parse_time("time", value)
        else:
            return None
        check_time("time", found)
    except (EngramError, ValueError, OverflowError, StopIteration):
        return None
    return found


def kind_of(word: str) -> str:
    """The kind that another system's word tells; `fact` when it tells none."""
    return WORDS.get(word.strip().lower().replace(" ", "_").replace("-", "_"), "fact")


def project(name: str) -> Scope | None:
    """The scope of a project of this name; None when a project cannot be called so."""
    try:
        return Scope("project", " ".join(name.split()))
    except Invalid:
        return None


def files(names: Sequence[str]) -> tuple[Citation, ...]:
    """The files of these names as citations, as many as a memory may have."""
    found: dict[str, Citation] = {}
    for name in names:
        try:
            found.setdefault(name, Citation("file", name))
        except Invalid:
            continue
    return tuple(found.values())[:MOST_CITATIONS]


def told(
    name: str,
    store: str,
    their_id: str,
    text: str,
    *,
    summary: str = "",
    word: str = "",
    tags: Sequence[str] = (),
    created: datetime | None = None,
    updated: datetime | None = None,
    scope: Scope | None = GLOBAL,
    context: Mapping[str, str] | None = None,
    dropped: Sequence[str] = (),
    **fields: Any,  # noqa: ANN401 - fields of a Memory
) -> Iterator[Foreign | Problem]:
    """One thing of another store as a memory, as several when it is too long for one, or why it is none.

    `word` is its kind there; `kind` among the fields says it in our words. Its status is left open, for these
    systems have no review: whoever takes it in says whether it counts.
    """
    lost = list(dropped)
    if scope is None:
        lost.append("project")
    if _CONTROL.search(text):
        text = _CONTROL.sub("", text)
        lost.append("control characters")
    title = " ".join(_CONTROL.sub("", summary).split())
    if size(title) > LIMITS["summary"] or title == text.strip():
        text, title = (text, "") if title == text.strip() else (f"{title}\n\n{text}", "")
    kept = fitting_tags(tags)
    if len(kept) < len(set(filter(None, (tag.strip() for tag in tags)))):
        lost.append("tags")
    begun = created or updated or UNDATED
    values: dict[str, Any] = {
        "summary": title,
        "kind": kind_of(word),
        "tags": kept,
        "scope": scope or GLOBAL,
        "source": f"import:{store}",
        "learned_by": "import",
        "owner": "",
        "created_at": begun,
        "updated_at": max(updated or begun, begun),
    } | fields
    made_in = {name: value for name, value in {"word": word, **(context or {})}.items() if value}
    for n, piece in enumerate(pieces(text.strip(), LIMITS["text"]), 1):
        try:
            values["context"] = Context(**made_in)
            id = foreign_id(store, their_id if n == 1 else f"{their_id}#{n}")
            if n > 1:
                values.pop("key", None)
            yield Foreign(name, Memory(id=id, text=piece, **values), tuple(dict.fromkeys(lost)))
        except Invalid as error:
            yield Problem(name, error.message)


def fitting_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Tags as a memory may have them, without their sign; those that do not fit are left out."""
    found: dict[str, None] = {}
    for tag in tags:
        clean = " ".join(_CONTROL.sub("", tag).split()).lstrip("#").strip()
        try:
            check_text("tag", clean)
        except Invalid:
            continue
        if clean:
            found[clean] = None
    return tuple(found)[:MOST_TAGS]


def pieces(text: str, most: int) -> Iterator[str]:
    """A text in parts of at most so many bytes: cut between paragraphs, else lines, else words, else anywhere."""
    while size(text) > most:
        end = _within(text, most)
        cuts = (text.rfind(mark, end // 2, end) for mark in ("\n\n", "\n", " "))
        cut = next((at for at in cuts if at > 0), end)
        yield text[:cut].rstrip()
        text = text[cut:].lstrip()
    yield text


def _within(text: str, most: int) -> int:
    """How many characters of a text fit into so many bytes."""
    return len(text.encode("utf-8", "surrogatepass")[:most].decode("utf-8", "ignore"))


def tied(
    name: str,
    store: str,
    ends: tuple[str, str],
    word: str,
    *,
    at: datetime | None = None,
    status: RelationStatus | None = None,
    dropped: Sequence[str] = (),
    **fields: Any,  # noqa: ANN401 - fields of a Relation
) -> Foreign | Problem:
    """A relation of another store between two of its things, or why it is none.

    What merely relates two things is taken as said. What would put one out of use is only proposed, unless that
    store has applied it.
    """
    kind = VERDICTS.get(word.strip().lower().replace(" ", "_").replace("-", "_"), "related")
    begun = at or UNDATED
    values: dict[str, Any] = {
        "kind": kind,
        "status": status or ("judged" if kind == "related" else "proposed"),
        "reason": " ".join(_CONTROL.sub("", word).split()),
        "owner": "",
        "created_at": begun,
        "updated_at": begun,
    } | fields
    first, second = (foreign_id(store, end) for end in ends)
    id = foreign_id(store, "\x1f".join(("relation", ends[0], word, ends[1])))
    try:
        relation = Relation(id=id, from_id=first, to_id=second, **values)
        return Foreign(name, relation, tuple(dropped), ends=ends)
    except Invalid as error:
        return Problem(name, error.message)
