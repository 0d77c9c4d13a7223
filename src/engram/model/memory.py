"""The Memory record, what it cites, and where it stands at a moment."""

import functools
import re
from collections.abc import Callable, Iterable, Sized
from datetime import datetime, timedelta
from typing import Literal, get_args

from engram.errors import Invalid
from engram.model import text as words
from engram.model.hashing import sha256
from engram.model.limits import (
    LIMITS,
    LONGEST_SHOWN,
    MOST_ASSETS,
    MOST_CITATIONS,
    MOST_TAGS,
    check_choice,
    check_owner,
    check_text,
    check_time,
    check_whole,
    parse_decay,
)
from engram.model.marks import seen
from engram.model.record import Record
from engram.model.scope import GLOBAL, Scope

CitationKind = Literal["file", "commit", "url", "repo", "session", "message"]
Origin = Literal["said", "inferred"]
LearnedBy = Literal["remember", "harvest", "manual", "import"]
Visibility = Literal["private", "shared"]
Status = Literal["pending", "promoted", "rejected"]
HeldFor = Literal[
    "",
    "curated_kind",
    "conflict",
    "edits_curated_node",
    "unmerged_branch",
    "untrusted_origin",
    "review_all",
    "deleted_branch",
    "forgotten_before",
]
Standing = Literal[
    "pending", "rejected", "forgotten", "replaced", "scheduled", "expired", "stale", "staged", "live"
]

STANDINGS: tuple[Standing, ...] = get_args(Standing)
TALKS: tuple[CitationKind, ...] = ("session", "message")
"""Kinds of citation that say where a memory comes from; programs give them names, at random."""

POINTERS = frozenset({"replaced_by", "amends"})
"""Fields that name another memory."""

CURATED = 3
"""The tier of what becomes live by a person's confirmed word only."""

UNTRUSTED = ("web:", "webpage:", "url:", "www.", "output:", "transcript:")
"""Beginnings of a source whose text nobody vouches for; what names an address (SCHEME://… or //…) is a page too."""

UNVOUCHED: HeldFor = "untrusted_origin"
"""What a memory is held for that nobody vouches for."""


def is_unvouched(source: str) -> bool:
    """Whether a source says that nobody vouches for its text, in whatever letters."""
    said = seen(source).lstrip().lower()
    behind = said.split("://")[1:] + [said[2:]] * said.startswith("//")
    return said.startswith(UNTRUSTED) or any(page[:1].strip() for page in behind)


@functools.cache
def _kind_syntax() -> re.Pattern[str]:
    return re.compile(r"[a-z][a-z0-9]*(?:[_-][a-z0-9]+)*")


class Citation(Record):
    """What a memory rests on: a place in the world that can be looked at again."""

    kind: CitationKind
    ref: str
    locator: str = ""
    pin: str = ""
    excerpt: str = ""

    def _check(self) -> None:
        check_choice("citation kind", self.kind, get_args(CitationKind))
        if not self.ref.strip():
            raise Invalid("A citation needs a ref.", "Give the path, commit or address it points at.")
        check_text("ref", self.ref)
        check_text("locator", self.locator)
        check_text("pin", self.pin)
        check_text("excerpt", self.excerpt, lines=True)


class Asset(Record):
    """A binary attachment, kept by its content hash."""

    sha256: str
    name: str = ""
    media_type: str = ""
    size: int = 0

    def _check(self) -> None:
        if not re.fullmatch("[0-9a-f]{64}", self.sha256):
            raise Invalid("An asset's sha256 must be 64 lower-case hexadecimal digits.")
        check_text("name", self.name)
        check_text("name", self.media_type)
        check_whole("size", self.size, 0)


class Context(Record):
    """Where a memory was made. `word` is its kind in another system's words.

    `theirs` is what the store that it was taken from says of it and has no place here (see `interop.theirs`).
    """

    repo: str = ""
    workspace: str = ""
    worktree_path: str = ""
    base_dir: str = ""
    branch: str = ""
    commit: str = ""
    project: str = ""
    agent: str = ""
    tool: str = ""
    word: str = ""
    theirs: str = ""

    def _check(self) -> None:
        for value in self.__dict__.values():
            check_text("context", value)


NOWHERE = Context()


def check_kind(kind: str) -> None:
    """Check that a kind is one lower-case word, parts joined by _ or -.

    Raises:
        Invalid: when it is not.
    """
    check_text("kind", kind)
    if not _kind_syntax().fullmatch(kind):
        raise Invalid(
            f"kind cannot be {kind!r}.",
            "Use one lower-case word such as fact, decision or gotcha; see `engram kinds`.",
        )


def check_unit(name: str, value: float) -> None:
    """Check that a number lies between 0 and 1.

    Raises:
        Invalid: when it does not, or is no number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise Invalid(f"{name} is {value}; it must be between 0 and 1.", "Give a number such as 0.8.")


def check_importance(value: int) -> None:
    """Check that an importance is a whole number from 1 to 10.

    Raises:
        Invalid: when it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10:
        raise Invalid(f"importance is {value}; it must be a whole number from 1 to 10.", "5 is the middle.")


def clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags without surrounding space, empties and repetition, in the order given."""
    return tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))


def _check_id(value: str) -> None:
    if not value:
        raise Invalid("A memory needs an id.")
    check_text("key", value)


def _check_key(value: str) -> None:
    check_text("key", value)
    if value != value.strip():
        raise Invalid("key must not begin or end with a space.")


def _check_scope(value: Scope) -> None:
    if not isinstance(value, Scope):
        raise Invalid(f"scope must be a Scope, not {type(value).__name__}.")


def _check_text(value: str) -> None:
    check_text("text", value, lines=True)
    if not value.strip():
        raise Invalid("The text is empty.", 'Say what to remember: engram remember "We deploy on Fridays".')


def _check_tags(value: tuple[str, ...]) -> None:
    _check_count("tags", MOST_TAGS, value)
    for tag in value:
        check_text("tag", tag)
    if value and clean_tags(value) != value:
        raise Invalid("tags must be distinct, not empty, and without surrounding spaces.")


def _check_count(name: str, most: int, value: Sized) -> None:
    if len(value) > most:
        raise Invalid(f"There are {len(value)} {name}; the limit is {most}.", "Leave some out.")


def _check_switch(name: str, value: bool) -> None:
    if not isinstance(value, bool):
        raise Invalid(f"{name} cannot be {value!r}.", "It is true or false.")


def _check_tier(value: int) -> None:
    if isinstance(value, bool) or value not in (1, 2, CURATED):
        raise Invalid(f"tier cannot be {value!r}.", "Use one of: 1, 2, 3.")


def _one_of(field: str, choices: object) -> Callable[[str], None]:
    return functools.partial(check_choice, field, choices=get_args(choices))


_TIMES = (
    *("valid_from", "valid_until", "forgotten_at"),
    *("created_at", "updated_at", "verified_at", "reworded_at"),
)
_CHECKS: dict[str, Callable[..., object]] = {
    "id": _check_id,
    "key": _check_key,
    "scope": _check_scope,
    "session": functools.partial(check_text, "session", limit=LIMITS["name"]),
    "text": _check_text,
    "summary": functools.partial(check_text, "summary"),
    "kind": check_kind,
    "tags": _check_tags,
    "citations": functools.partial(_check_count, "citations", MOST_CITATIONS),
    "assets": functools.partial(_check_count, "assets", MOST_ASSETS),
    "amends": functools.partial(check_text, "amends", limit=LIMITS["key"]),
    "apart": functools.partial(_check_switch, "apart"),
    "origin": _one_of("origin", Origin),
    "source": functools.partial(check_text, "source"),
    "learned_by": _one_of("learned_by", LearnedBy),
    "confidence": functools.partial(check_unit, "confidence"),
    "owner": check_owner,
    "actor": functools.partial(check_text, "actor", limit=LIMITS["name"]),
    "visibility": _one_of("visibility", Visibility),
    "importance": check_importance,
    "pinned": functools.partial(_check_switch, "pinned"),
    "status": _one_of("status", Status),
    "tier": _check_tier,
    "held_for": _one_of("held_for", HeldFor),
    "approved_by": functools.partial(check_text, "approved_by", limit=LIMITS["name"]),
    "forgotten_by": functools.partial(check_text, "forgotten_by", limit=LIMITS["name"]),
    "decay": parse_decay,
    "replaced_by": functools.partial(check_text, "replaced_by", limit=LIMITS["key"]),
    "branch": functools.partial(check_text, "branch", limit=2 * LIMITS["context"]),
    "seen": functools.partial(check_whole, "seen", least=0),
    "revision": functools.partial(check_whole, "revision", least=1),
    **{name: functools.partial(check_time, name) for name in _TIMES},
}


class Memory(Record, kw_only=True):
    """One thing remembered. Fields marked S are set by the system, never by a client."""

    UNCOMPARED = frozenset({"handle"})
    CHECKS = _CHECKS

    # identity
    id: str  # S: opaque
    key: str = ""
    scope: Scope = GLOBAL
    session: str = ""
    # content
    text: str
    summary: str = ""
    kind: str = "fact"
    tags: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()
    assets: tuple[Asset, ...] = ()
    amends: str = ""  # the curated memory this one would revise
    apart: bool = False  # stands apart: claims neither key nor text (dedupe "create")
    # provenance
    origin: Origin = "inferred"
    source: str = "tool:remember"
    learned_by: LearnedBy = "remember"
    confidence: float = 0.6
    owner: str | None = None  # S: None is readable by nobody
    actor: str = ""  # S
    visibility: Visibility = "private"
    context: Context = NOWHERE
    # weight
    importance: int = 5
    pinned: bool = False
    # life
    status: Status = "pending"  # S
    tier: int = 2  # S
    held_for: HeldFor = ""  # S
    approved_by: str = ""  # S: empty when it was promoted by itself
    decay: str = "180d"
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    replaced_by: str = ""  # S
    forgotten_at: datetime | None = None  # S
    forgotten_by: str = ""  # S: the person who forgot it, until a person brings it back
    branch: str = ""  # S: repository and branch, while staged
    # time
    created_at: datetime
    updated_at: datetime  # S
    verified_at: datetime | None = None  # S: when somebody last confirmed the words it has now
    reworded_at: datetime | None = None  # S: when its text, summary or kind last changed
    seen: int = 1  # S
    revision: int = 1  # S: local; the ETag
    # The store-local alias (mem-0001): filled in by the engine that read the record, part of no equality,
    # document, export or sync.
    handle: str = ""

    def _check(self) -> None:
        self.__dict__["confidence"] = round(float(self.confidence), 2)
        if self.valid_from and self.valid_until and self.valid_from >= self.valid_until:
            order = "Give two moments in order, or only one."
            raise Invalid("valid_until must be later than valid_from.", order, field="valid_until")

    @property
    def called(self) -> str:
        """What messages call it: its handle, or where it has none yet, the beginning of its id."""
        return self.handle or self.id[:13]

    @property
    def in_use(self) -> bool:
        """Whether it was promoted, and neither forgotten nor replaced since. `standing` also asks for its dates."""
        return self.status == "promoted" and self.forgotten_at is None and not self.replaced_by

    @property
    def staged(self) -> bool:
        """Whether it waits for its branch to be merged: live for who stands on it, staged for everybody else."""
        return self.status == "pending" and self.held_for == "unmerged_branch" and self.forgotten_at is None

    @property
    def waiting(self) -> bool:
        """Whether it waits for somebody to decide: what stands as pending, whoever looks."""
        return self.status == "pending" and self.held_for != "unmerged_branch" and self.forgotten_at is None

    @property
    def stands_curated(self) -> bool:
        """Whether it is curated and approved: only a person's confirmed word changes or hides what it says."""
        return self.tier == CURATED and self.status == "promoted"

    @property
    def gist(self) -> str:
        """What it says, wherever it is one of several: the only definition of what a summary may stand for.

        A short text is shown itself, after its summary where that says something else; a long one by its summary.
        """
        text, summary = self.text.strip(), self.summary.strip()
        if not summary or _says(text, summary):
            return text if len(text) <= LONGEST_SHOWN or not summary else summary
        if len(text) > LONGEST_SHOWN or _says(summary, text):
            return summary
        return f"{summary}{'' if summary[-1] in ':.!?…' else ':'} {text}"

    @property
    def digest(self) -> str:
        """The hash of the normalised text: equal for the same statement, different for any other."""
        return words.digest(self.text)

    @property
    def imprint(self) -> str:
        """The hash of all that its vectors are made of: text, summary and tags."""
        if not self.summary and not self.tags:
            return self.digest
        parts = "\0".join((self.digest, self.summary, *self.tags))
        return sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    @property
    def fresh_at(self) -> datetime:
        """The moment its age counts from: when it was verified, else made; or got other words since."""
        seen = self.verified_at or self.created_at
        return max(seen, self.reworded_at) if self.reworded_at else seen

    @property
    def stale_at(self) -> datetime | None:
        """The last moment at which the memory is fresh, or None when it never goes stale."""
        lasts = parse_decay(self.decay)
        return None if lasts is None else self.fresh_at + lasts

    def effective_confidence(self, now: datetime) -> float:
        """Confidence after its age: it falls as the decay horizon nears, faster where it was low.

        A memory at its horizon keeps `confidence` squared; one just verified keeps all of it.
        """
        lasts = parse_decay(self.decay)
        if lasts is None:
            return self.confidence
        age = max(now - self.fresh_at, timedelta())
        return float(round(self.confidence ** (1 + min(age / lasts, 2.0)), 4))


def _says(text: str, other: str) -> bool:
    """Whether a text has all the words of another in a row, or begins with those of one that was cut."""
    said, sought = (" ".join(_plain_words().findall(one.casefold())) for one in (text, other))
    return said.startswith(sought) if other.endswith(("…", "...")) else f" {sought} " in f" {said} "


@functools.cache
def _plain_words() -> re.Pattern[str]:
    return re.compile(r"\w+")


HEARD = ("tool:", "harness:")
"""How the sources begin through which agents save."""


def speaker(memory: Memory, reader: str) -> str:
    """The name of whoever a memory comes from; "" where that is the owner `reader` who reads it.

    It is another's text: whoever shows it makes it harmless first.
    """
    return "" if memory.owner == reader else memory.actor or memory.owner or "somebody"


def voice(memory: Memory, reader: str) -> str:
    """Whose word a memory is: its origin, with the name behind it where it is not the reader's own."""
    name = speaker(memory, reader)
    if memory.origin == "inferred":
        return f"inferred for {name}" if name else "inferred"
    return f"said {'to an agent ' if is_hearsay(memory) else ''}{f'by {name}' if name else ''}".rstrip()


def is_hearsay(memory: Memory) -> bool:
    """Whether an agent alone says that somebody said it: no person has approved it."""
    return memory.origin == "said" and memory.source.startswith(HEARD) and not memory.approved_by


def standing(memory: Memory, now: datetime, view: str = "") -> Standing:  # noqa: PLR0911 - one line a standing
    """Where a memory stands at a moment, for a caller on the branch `view`.

    This is the only definition; engines translate it, and the filter clause "live" means `== "live"`.
    """
    if memory.forgotten_at is not None:
        return "forgotten"
    if memory.status == "rejected":
        return "rejected"
    if memory.waiting:
        return "pending"
    if memory.staged and memory.branch != view:
        return "staged"
    if memory.replaced_by:
        return "replaced"
    if memory.valid_from is not None and now < memory.valid_from:
        return "scheduled"
    if memory.valid_until is not None and now >= memory.valid_until:
        return "expired"
    stale_at = memory.stale_at
    if stale_at is not None and now > stale_at:
        return "stale"
    return "live"
