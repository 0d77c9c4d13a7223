"""The checks of the `records` profile, in its order and in its form of error: field, code, sentence."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, cast, get_args

from engram.errors import EngramError, Invalid
from engram.interop import records_parameters as p
from engram.interop.records_rows import DISCOVERIES, DISCOVERY, FAMILIES, RULE, Place, place_of
from engram.interop.tools import Answer, Refused
from engram.model.hashing import sha256
from engram.model.limits import KIB, LIMITS, MOST_CITATIONS, MOST_TAGS, parse_time, size
from engram.model.memory import Citation, CitationKind
from engram.model.refs import read_cursor

SOURCES = {"user-said": "said", "agent-inferred": "inferred"}
CATEGORIES = ("decision", "preference", "convention", "gotcha")
CITED = get_args(CitationKind)[:4]  # file, commit, url, repo: all that the other system can cite
LONGEST_KEY = 512
LONGEST_RULE, LONGEST_RULE_SUMMARY = 8 * KIB, 256
MOST = 1000
"""The most that a count may ask for, and the most ids of one call; more is refused, not cut."""


class Stored(NamedTuple):
    """What a client says of a record to store; each tool takes a part of it."""

    content: p.Content = ""
    scope: p.Scope = ""
    source: p.Source = ""
    category: p.Category = ""
    tags: p.Tags = ()
    repo: p.Repo = ""
    workspace: p.Workspace = ""
    worktree_path: p.Worktree = ""
    base_dir: p.BaseDir = ""
    summary: p.Summary = ""
    citations: p.Citations = ()
    idempotency_key: p.IdempotencyKey = ""
    not_before: p.NotBefore = ""
    not_after: p.NotAfter = ""
    supersedes: p.Supersedes = ()
    validate_only: p.ValidateOnly = False

    @property
    def token(self) -> str:
        """One name for this request; a key names one request for each scope."""
        if not self.idempotency_key:
            return ""
        return sha256(f"{self.scope}\0{self.idempotency_key}".encode()).hexdigest()


def refuse(field: str, code: str, sentence: str) -> Refused:
    """An error in the other system's form."""
    return Refused(sentence, field=field, code=code)


def failed(error: EngramError) -> Answer:
    """`field=<name> hint=<code>: <sentence>`, whatever went wrong."""
    said = error.details if isinstance(error, Refused) else {}
    field = said.get("field") or ("id" if error.code == "not_found" else "request")
    code = said.get("code") or ("format" if error.code == "invalid" else error.code)
    return Answer(f"field={field} hint={code}: {error.message} {error.hint}".rstrip())


def check_stored(said: Stored) -> Place:
    """Check a record in the order clients know, and say where it goes.

    Raises:
        Refused: naming the first field that is wrong.
    """
    check_content(said.content, said.summary)
    require("scope", said.scope)
    if said.scope.startswith(tuple(FAMILIES)):
        tool = "store_rule" if said.scope.startswith(RULE) else "store_discovery"
        raise refuse("scope", "prefix", f"scopes of this beginning belong to {tool}")
    place = check_scope("scope", said.scope)
    require("source", said.source)
    if said.source not in SOURCES:
        raise refuse("source", "enum", "source must be user-said or agent-inferred")
    require("category", said.category)
    if said.category not in CATEGORIES:
        other = {"discovery": "; use store_discovery", "rule": "; use store_rule"}.get(said.category, "")
        raise refuse(
            "category", "enum", f"category must be {', '.join(CATEGORIES[:-1])} or {CATEGORIES[-1]}{other}"
        )
    check_tags(said.tags)
    citations_of(said.citations)
    for name in ("repo", "workspace", "worktree_path", "base_dir"):
        check_size(name, getattr(said, name), LIMITS["context"])
    check_size("idempotency_key", said.idempotency_key, LONGEST_KEY)
    return place


def check_content(content: str, summary: str, *, most: int = LIMITS["text"]) -> None:
    """Check the summary first, so that one too long is never told as content that is missing."""
    check_summary(summary)
    require("content", content)
    check_size("content", content, most)


def check_summary(summary: str) -> None:
    """Check what is told of a record in lists: one line of it."""
    check_size("summary", summary, LIMITS["summary"])
    if "\n" in summary or "\r" in summary:
        raise refuse("summary", "format", "summary must be a single line")


def check_rule(content: str, scope: str, summary: str, tags: Sequence[str]) -> Place:
    """Check a rule and say where it goes: its summary is the one line that every session reads."""
    check_rule_summary(summary)
    check_content(content, "", most=LONGEST_RULE)
    require("scope", scope)
    if not scope.startswith((f"{RULE}repo:", f"{RULE}project:")):
        raise refuse("scope", "prefix", "scope of a rule must start with rule:repo: or rule:project:")
    check_tags(tags)
    return check_scope("scope", scope)


def check_rule_summary(summary: str) -> None:
    """Check the one line of a rule."""
    require("summary", summary)
    if len(summary.splitlines()) > 1 or summary != summary.strip():
        raise refuse("summary", "format", "summary of a rule must be a single line")
    check_size("summary", summary, LONGEST_RULE_SUMMARY)


def check_discovery(content: str, kind: str, scope: str, summary: str, tags: Sequence[str]) -> Place:
    """Check a discovery but for its citations, and say where it goes."""
    check_content(content, summary)
    require("kind", kind)
    if kind not in DISCOVERIES:
        raise refuse("kind", "enum", "kind must be map or fact")
    require("scope", scope)
    if not scope.startswith(DISCOVERY):
        raise refuse("scope", "prefix", "scope of a discovery must start with discovery:")
    check_tags(tags)
    return check_scope("scope", scope)


def check_scope(field: str, label: str) -> Place:
    """The place a label means."""
    if label in FAMILIES:
        raise refuse(field, "format", "scope must name something after its prefix")
    check_size(field, label, LIMITS["scope"])
    try:
        return place_of(label)
    except Invalid as error:
        raise refuse(field, "format", error.message) from None


def check_tags(tags: Sequence[str]) -> None:
    """Check how many tags there are, and how long each is."""
    if len(tags) > MOST_TAGS:
        raise refuse("tags", "too_many", f"there are {len(tags)} tags; the limit is {MOST_TAGS}")
    for tag in tags:
        check_size("tags", tag, LIMITS["tag"])


def citations_of(rows: Sequence[Mapping[str, Any]], *, least: int = 0) -> list[Citation]:
    """Citations as ours, each checked."""
    if len(rows) < least:
        raise refuse("citations", "required", "at least one citation is required")
    if len(rows) > MOST_CITATIONS:
        raise refuse("citations", "too_many", f"there are {len(rows)} citations; the limit is {MOST_CITATIONS}")
    return [_citation(row) for row in rows]


def _citation(row: Mapping[str, Any]) -> Citation:
    said = {name: row.get(name) or "" for name in ("kind", "ref", "locator", "pin", "excerpt")}
    for name, value in said.items():
        if not isinstance(value, str):
            raise refuse(f"citations.{name}", "format", f"citation {name} must be text")
    for name in ("kind", "ref"):
        require(f"citations.{name}", said[name])
    if said["kind"] not in CITED:
        raise refuse("citations.kind", "enum", f"citation kind must be one of {', '.join(CITED)}")
    for name in ("ref", "locator", "pin", "excerpt"):
        check_size(f"citations.{name}", said[name], LIMITS[name])
    if unknown := sorted(set(row) - set(said)):
        raise refuse("citations", "format", f"a citation has no {unknown[0]}")
    return Citation(**cast("Any", said))


def check_count(field: str, value: int) -> None:
    """Check a count: what is out of range is refused, not cut."""
    if not 1 <= value <= MOST:
        raise refuse(field, "out_of_range", f"{field} must be between 1 and {MOST}")


def check_cursor(cursor: str) -> str:
    """The mark of a page, which only the page before tells."""
    try:
        _ = cursor and read_cursor(cursor)
    except Invalid:
        raise refuse("cursor", "format", "cursor must be the next_cursor of the page before") from None
    return cursor


def check_ids(field: str, ids: Sequence[str]) -> None:
    """Check a list of ids."""
    if not ids:
        raise refuse(field, "required", f"at least one of {field} is required")
    if len(ids) > MOST:
        raise refuse(field, "too_many", f"there are {len(ids)} {field}; the limit is {MOST}")
    for id in ids:
        check_size(field, id, 256)


def check_size(field: str, value: str, most: int) -> None:
    """Check a length in bytes."""
    if size(value) > most:
        raise refuse(field, "too_long", f"{field} is {size(value)} bytes; the limit is {most}")


def require(field: str, value: str) -> None:
    """Check that something was said."""
    if not value.strip():
        raise refuse(field, "required", f"{field} is required")


def time_of(field: str, value: str) -> datetime | None:
    """A time, or None where none was given."""
    if not value:
        return None
    try:
        return parse_time(field, value)
    except Invalid:
        raise refuse(field, "format", f"{field} must be an RFC 3339 time") from None


def window_of(not_before: str, not_after: str) -> tuple[datetime | None, datetime | None]:
    """The two ends of a validity, at least one of them given, in order."""
    begin, end = time_of("not_before", not_before), time_of("not_after", not_after)
    if begin is None and end is None:
        raise refuse("not_before,not_after", "conditional_required", "give not_before, not_after or both")
    if begin is not None and end is not None and begin >= end:
        raise refuse("not_before,not_after", "ordering", "not_before must be earlier than not_after")
    return begin, end
