"""What is noticed about a person: kept apart from memories, and only where that is wanted."""

from collections.abc import Mapping, Sequence

from engram.errors import Forbidden, Invalid
from engram.rules.kinds import Kind, own_lists

KIND = "insight"
RUN = "insights"
"""The part of the global scope that insights are in."""

CATEGORIES = (
    "role", "preferences", "workflow", "tools", "goals", "communication_style", "domain_knowledge", "pain_points",
    "other",
)  # fmt: skip
"""What an insight is about: one of these words."""


def require_wanted(kind: Kind, *, wanted: bool) -> None:
    """Nothing is noticed where the person has switched it off.

    Raises:
        Forbidden: then.
    """
    if kind.recall == "own_list" and not wanted:
        raise Forbidden("Insights are switched off.", "Whoever they are about may switch them on: insights = true.")


def require_memories(asked: Sequence[str], kinds: Mapping[str, Kind]) -> None:
    """A look at memories shows no insights, not even when asked for by name.

    Raises:
        Invalid: when it asks for them.
    """
    if own := sorted(set(asked) & set(own_lists(kinds))):
        raise Invalid(f"The kind {own[0]} has a list of its own, apart from memories.", "See engram insights list.")
