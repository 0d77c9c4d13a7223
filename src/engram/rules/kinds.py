"""The table of kinds: how much care each takes, how long it stays fresh, and when it is recalled."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from engram.errors import Invalid
from engram.model.limits import parse_decay
from engram.model.marks import NO_CONTEXT
from engram.model.memory import CURATED, Memory, check_kind

AUTO, CHECKED = 1, 2

LIKE = 0.75
"""How alike a word must be to a kind to be taken for a slip of it: *desicion* is, *infrastructure* is not."""

Recall = Literal["always", "on_demand", "own_list"]


class Kind(NamedTuple):
    """One row. Tier 1 is promoted by itself, 2 unless it conflicts, 3 by a person's confirmed word only."""

    name: str
    tier: int
    decay: str
    recall: Recall = "always"
    cited: bool = False  # needs at least one citation
    apart: bool = False  # each saving is a memory of its own: it claims neither key nor text
    about: str = ""


TABLE: tuple[Kind, ...] = (
    Kind("preference", AUTO, "180d", about="Personal style and tool choices."),
    Kind("tooling", AUTO, "180d", about="Language, framework and build-tool decisions."),
    Kind("project", AUTO, "180d", about="Project names, goals and architectural decisions."),
    Kind("infra", AUTO, "180d", about="Infrastructure topology, ports, hostnames, services."),
    Kind("convention", AUTO, "180d", about="A coding or workflow convention."),
    Kind("decision", AUTO, "180d", about="An architectural or design decision."),
    Kind("gotcha", AUTO, "180d", about="A known pitfall or non-obvious behaviour."),
    Kind("pattern", AUTO, "180d", about="A way of doing things that recurs."),
    Kind("bugfix", AUTO, "180d", about="What was broken, why, and how it was mended."),
    Kind("architecture", AUTO, "180d", about="How the parts fit together."),
    Kind("config", AUTO, "180d", about="A setting and the reason for its value."),
    Kind("learning", AUTO, "180d", about="Something learned on the way."),
    Kind("summary", AUTO, "none", apart=True, about="What a session did."),
    Kind("prompt", AUTO, "none", "on_demand", apart=True, about="What a person asked for, word for word."),
    Kind("map", AUTO, "90d", "on_demand", cited=True, about="A discovery: how a part of the code is laid out."),
    Kind("finding", AUTO, "90d", "on_demand", cited=True, about="A discovery: a checkable claim, pinned."),
    Kind("insight", AUTO, "none", "own_list", about="What was noticed about how a person works."),
    Kind("fact", CHECKED, "180d", about="Anything else worth keeping: the default."),
    Kind("identity", CURATED, "365d", about="Name, handles, pronouns, biographical facts."),
    Kind("fiscal", CURATED, "365d", about="Billing, pricing, budget and financial preferences."),
    Kind("people", CURATED, "365d", about="Contacts, teammates and relationship context."),
    Kind("constraint", CURATED, "365d", about="Hard requirements and non-negotiable rules."),
    Kind("location", CURATED, "365d", about="Physical location, time zone and geographic context."),
    Kind("health", CURATED, "365d", about="Medical, dietary and wellness information."),
    Kind("rule", CURATED, "365d", about="An instruction that every session must follow."),
)

KINDS: Mapping[str, Kind] = {kind.name: kind for kind in TABLE}

PERSONAL = frozenset({"identity", "fiscal", "people", "location", "health"})
"""Kinds about a person's life: they stay out of a file that others read."""

ABOUT_A_PERSON = PERSONAL | {"preference"}
"""Kinds that tell of a person: they hold wherever that person works."""


def lookup(name: str, kinds: Mapping[str, Kind] = KINDS) -> Kind:
    """The row of a kind; a word that is not in the table is checked (tier 2) and stays fresh for 180 days."""
    return kinds.get(name) or Kind(name, CHECKED, "180d", about="A word of your own.")


def meant(word: str, kinds: Mapping[str, Kind] = KINDS) -> str:
    """The kind that was probably meant by a word that is none; empty where it is one, or like none."""
    if word in kinds:
        return ""
    from difflib import get_close_matches  # noqa: PLC0415 - only for a kind of one's own

    return next(iter(get_close_matches(word, kinds, 1, LIKE)), "")


def quiet(kinds: Mapping[str, Kind] = KINDS) -> tuple[str, ...]:
    """The kinds that come only when they are asked for by name: never by themselves, never in a context."""
    return tuple(kind.name for kind in kinds.values() if kind.recall != "always")


def own_lists(kinds: Mapping[str, Kind]) -> tuple[str, ...]:
    """The kinds that have a list of their own, and are in no other."""
    return tuple(kind.name for kind in kinds.values() if kind.recall == "own_list")


def in_context(memory: Memory) -> bool:
    """Whether a memory may come into a context by itself: not if a person has kept it out by the tag."""
    return NO_CONTEXT not in memory.tags


def extended(rows: Mapping[str, Mapping[str, object]]) -> Mapping[str, Kind]:
    """The table with rows from configuration, each `{tier, decay, recall}` over what the kind had.

    Raises:
        Invalid: when a row makes no sense.
    """
    kinds = dict(KINDS)
    for name, row in rows.items():
        check_kind(name)
        if not isinstance(row, Mapping):
            raise Invalid(
                f"Kind {name} cannot be {row!r}.", f"Write a table: [kinds.{name}] with tier, decay, recall."
            )
        base = lookup(name, kinds)
        if unknown := set(row) - {"tier", "decay", "recall", "about"}:
            raise Invalid(
                f"Kind {name} has an unknown setting {min(unknown)!r}.",
                "Use tier, decay, recall or about.",
            )
        tier, recall = row.get("tier", base.tier), row.get("recall", base.recall)
        if (
            type(tier) is not int
            or tier not in (AUTO, CHECKED, CURATED)
            or recall not in ("always", "on_demand", "own_list")
        ):
            raise Invalid(
                f"Kind {name} cannot have tier {tier!r} and recall {recall!r}.",
                "A tier is 1, 2 or 3; recall is always, on_demand or own_list.",
            )
        decay = str(row.get("decay", base.decay))
        parse_decay(decay)
        about = str(row.get("about", base.about))
        kinds[name] = Kind(name, tier, decay, recall, base.cited, base.apart, about)
    return kinds
