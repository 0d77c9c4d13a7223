"""What configuration lets the rules decide by."""

from collections.abc import Mapping
from typing import NamedTuple

from engram.model.memory import Visibility
from engram.rules.kinds import KINDS, Kind, lookup


class Policy(NamedTuple):
    """How much care this store asks for, and its table of kinds."""

    autopromote: bool = True
    review_all: bool = False
    kinds: Mapping[str, Kind] = KINDS
    staging: bool = True  # whether what is learned on an unmerged branch stays there for now
    visibility: Visibility = "private"  # of new memories in a project
    insights: bool = True  # whether what is noticed about a person may be kept
    open_org: bool = False  # whether tokens name orgs, and the settings name none

    def kind(self, name: str) -> Kind:
        """The row of a kind in the table as configured."""
        return lookup(name, self.kinds)
