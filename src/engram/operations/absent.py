"""What stands in for a part of the world that is not there: no counting of usage, and no working tree."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

from engram.model.evidence import Check, Fate, unchecked, written
from engram.model.memory import NOWHERE, Citation, Context, Memory
from engram.model.scope import Scope
from engram.ports import Usage


class Unwatched:
    """Usage that nobody counts; what was counted elsewhere is still told."""

    def __init__(self, known: Usage | None = None) -> None:
        self._known = known

    def begin(self) -> Callable[[Sequence[str], datetime], None]:
        """See `Usage.begin`."""
        return _uncounted

    def note(self, ids: Sequence[str], at: datetime) -> None:
        """See `Usage.note`."""

    def mark(self, name: str, at: datetime) -> None:
        """See `Usage.mark`."""

    def uses(self) -> Mapping[str, int]:
        """See `Usage.uses`."""
        return self._known.uses() if self._known else {}

    def since(self) -> datetime | None:
        """See `Usage.since`."""
        return self._known.since() if self._known else None

    def took(self) -> Sequence[float]:
        """See `Usage.took`."""
        return self._known.took() if self._known else ()

    def marks(self) -> Mapping[str, datetime]:
        """See `Usage.marks`."""
        return self._known.marks() if self._known else {}


def _uncounted(ids: Sequence[str], at: datetime) -> None:
    """What nobody counts."""


class Nowhere:
    """Evidence where there is no working tree, as on a server: nothing is in reach, and nothing is refused."""

    def made_in(self) -> Context:
        """Nowhere."""
        return NOWHERE

    def named(self, said: str) -> tuple[str, str]:
        """As it is said."""
        return said, ""

    def filled(self, citation: Citation, now: datetime) -> tuple[Citation, str]:
        """As it is said; of a file that came without a pin, that nothing can check it."""
        del now
        return citation, unchecked(citation) if citation.kind == "file" and not citation.pin else ""

    def repinned(self, citation: Citation, check: Check) -> Citation:
        """As it was."""
        del check
        return citation

    def check(
        self, memories: Sequence[Memory], home: Scope | None, *, diffs: bool = False
    ) -> dict[str, tuple[Check, ...]]:
        """All of it is out of reach."""
        del home, diffs
        why = "there is no working tree here"
        return {
            one.id: tuple(Check(written(each), "unreachable", why=why) for each in one.citations)
            for one in memories
            if one.citations
        }

    def astray(self, refs: Iterable[str]) -> frozenset[str]:
        """Nobody can say."""
        del refs
        return frozenset()

    def touched(self, revision: str) -> frozenset[str]:
        """No files."""
        del revision
        return frozenset()

    def settled(self, memories: Sequence[Memory]) -> dict[str, Fate]:
        """No branches."""
        del memories
        return {}
