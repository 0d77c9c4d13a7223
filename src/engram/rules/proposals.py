"""What a client asks to be remembered: as it was said, and with all out of it that must not be stored."""

import functools
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from engram.errors import Invalid
from engram.model.change import Request
from engram.model.limits import check_text, composed
from engram.model.memory import (
    NOWHERE,
    TALKS,
    Asset,
    Citation,
    Context,
    LearnedBy,
    Memory,
    Origin,
    Visibility,
    check_kind,
    clean_tags,
    is_unvouched,
)
from engram.model.record import replace
from engram.model.scope import GLOBAL, Scope
from engram.rules.access import is_confirmed
from engram.rules.capture import without_recalled
from engram.rules.insights import require_wanted
from engram.rules.kinds import Kind
from engram.rules.policy import Policy
from engram.rules.redact import redact

MOST_READ = 1024 * 1024
"""More than this is not even looked through for secrets; what may be stored is less (see `model.limits`)."""

CLEARED: Mapping[str, tuple[str, Any]] = {
    "summary": ("summary", ""),
    "tag": ("tags", ()),
    "valid_from": ("valid_from", None),
    "valid_until": ("valid_until", None),
}
"""What a revision may empty: the name it goes by → the field, and what it is when empty."""


class Proposal(NamedTuple):
    """What a client says. None means "not said": a new memory takes the default, a revision keeps what it had."""

    text: str
    key: str = ""
    scope: Scope = GLOBAL
    session: str = ""
    summary: str | None = None
    kind: str | None = None
    tags: tuple[str, ...] | None = None
    citations: tuple[Citation, ...] | None = None
    assets: tuple[Asset, ...] | None = None
    origin: Origin | None = None
    source: str | None = None
    learned_by: LearnedBy = "remember"
    confidence: float | None = None
    visibility: Visibility | None = None
    context: Context = NOWHERE
    importance: int | None = None
    pinned: bool | None = None
    decay: str | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    branch: str = ""
    apart: bool = False
    worded: bool = False  # the text itself is said of the caller's own accord, be it the one that stands
    kind_if_new: bool = False  # the kind is meant for a new memory, and leaves a known one as it is
    trusted: bool = True
    redacted: tuple[str, ...] = ()
    cleared: tuple[str, ...] = ()  # fields a revision empties

    def said(self) -> dict[str, Any]:
        """The fields of a memory that the client spoke of."""
        names = (
            *("summary", "kind", "tags", "citations", "assets", "visibility", "confidence", "importance"),
            *("pinned", "decay", "valid_from", "valid_until"),
        )
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}


def prepare(proposal: Proposal, request: Request, policy: Policy) -> Proposal:
    """The proposal as it may be stored: private spans and credentials out, kind checked, discoveries cited.

    Raises:
        Invalid: when nothing is left to remember, or a discovery has no citation.
    """
    check_text("text", proposal.text, limit=MOST_READ, lines=True)
    if (text := unrecalled(proposal.text)) is not proposal.text:
        proposal = proposal._replace(text=text)
    changes, removed = scrubbed(proposal)
    kind = policy.kind(proposal.kind or "fact")
    check_kind(kind.name)
    require_wanted(kind, wanted=policy.insights)
    require_cited(kind, proposal.citations)
    require_left(changes["text"], removed)
    return proposal._replace(
        **changes,
        origin="inferred" if kind.cited else proposal.origin,
        apart=proposal.apart or kind.apart,
        trusted=proposal.trusted and not _from_outside(proposal, request),
        redacted=removed,
    )


def unrecalled(text: str) -> str:
    """What is said beside what was recalled: a memory that comes round again is no news.

    Raises:
        Invalid: when nothing else is said.
    """
    said = without_recalled(text)
    if said != text and not said.strip():
        raise Invalid("Nothing is left to remember: all of it was recalled from here.", "Say what is new.")
    return said


def require_cited(kind: Kind, citations: tuple[Citation, ...] | None) -> None:
    """Law 10: no discovery without a citation.

    Raises:
        Invalid: when it has none.
    """
    if kind.cited and not citations:
        raise Invalid(
            f"A {kind.name} needs at least one citation.", "Say what it rests on, such as --cite src/api.py:10-20."
        )


def require_left(text: str, removed: tuple[str, ...]) -> None:
    """Something has to be left when what is private is out.

    Raises:
        Invalid: when nothing is.
    """
    if removed and not any(part.strip(" .\n") for part in _without_marks(text, removed)):
        raise Invalid("Nothing is left to remember: all of the text is private or a credential.", "Say it without.")


def scrubbed(said: Proposal | Memory) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Every string that would be stored, without private spans and credentials; and what was taken out."""
    removed: list[str] = []

    def clean(text: str, *, given: bool = False) -> str:
        if not isinstance(text, str):
            raise Invalid(f"{text!r} is not text.", "Give text.")
        redaction = redact(text, given=given)
        removed.extend(redaction.kinds)
        return redaction.text

    def clean_citation(said: Citation) -> Citation:
        given = said.kind in TALKS
        ref, locator, pin = (clean(each, given=given) for each in (said.ref, said.locator, said.pin))
        return Citation(said.kind, ref, locator, pin, clean(said.excerpt))

    require_public(said.scope)
    changes: dict[str, Any] = {"text": clean(said.text), "key": composed(clean(said.key)).strip()}
    for name in ("summary", "source", "session"):
        if value := getattr(said, name):
            changes[name] = clean(value, given=name == "session")
    if said.tags:
        changes["tags"] = clean_tags(composed(clean(tag)) for tag in said.tags)
    if said.citations:
        changes["citations"] = tuple(map(clean_citation, said.citations))
    if said.assets:
        changes["assets"] = tuple(replace(each, name=clean(each.name, given=True)) for each in said.assets)
    if said.context is not NOWHERE:
        changes["context"] = Context(**{name: clean(value) for name, value in said.context.__dict__.items()})
    return changes, tuple(removed)


def clean_context(context: Context) -> Context:
    """Where something was made, without private spans and credentials."""
    return Context(**{name: redact(value).text for name, value in context.__dict__.items()})


def require_public(scope: Scope) -> None:
    """The name of a place is kept with everything in it.

    Raises:
        Invalid: when it holds something private or a credential.
    """
    require_public_name("scope's name", scope.name, given=scope.level == "session")
    for name in (scope.workspace, scope.run):
        require_public_name("scope's name", name)


def require_public_name(what: str, name: str, *, given: bool = True, hint: str = "Choose another name.") -> None:
    """A name or an address is kept as it is said, for it would lead nowhere without a part of it.

    Raises:
        Invalid: when it holds something private or a credential.
    """
    if name and _is_private(name, given):
        raise Invalid(f"The {what} holds something private or a credential.", hint)


@functools.lru_cache(maxsize=256)
def _is_private(name: str, given: bool) -> bool:
    return bool(redact(name, given=given).kinds)


def _from_outside(proposal: Proposal, request: Request) -> bool:
    if proposal.learned_by == "harvest":
        return True
    if proposal.learned_by == "import":
        return not is_confirmed(request)
    return is_unvouched(proposal.source or "")


def _without_marks(text: str, kinds: tuple[str, ...]) -> list[str]:
    for kind in kinds:
        text = text.replace(f"[redacted:{kind}]", "\n")
    return text.split("\n")
