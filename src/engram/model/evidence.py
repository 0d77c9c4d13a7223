"""What a look at the world says of a citation: its verdict, and the checkout it was looked at from."""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple, get_args

from engram.model.memory import Citation
from engram.model.record import Record

Verdict = Literal["fresh", "moved", "drifted", "gone", "unreachable"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

WORST: tuple[Verdict, ...] = ("gone", "drifted", "moved", "fresh", "unreachable")
"""What a memory counts as, by the first of these that one of its citations is."""

BROKEN: frozenset[Verdict] = frozenset({"drifted", "gone"})
"""What ranks last, and comes into no context by itself."""

CHANGED: frozenset[Verdict] = BROKEN | {"moved"}
"""What a citation has to be pinned anew for."""


class Check(Record):
    """One citation held against the world.

    `changed` is the share of the cited lines that are no longer there (drifted); `ref` and `locator` say where the
    text is now (moved), `lines` which lines that are; `why` is for a person; `diff` is filled where it was asked
    for.
    """

    cite: str
    verdict: Verdict
    changed: float = 0.0
    ref: str = ""
    locator: str = ""
    why: str = ""
    lines: str = ""
    diff: str = ""

    @property
    def said(self) -> str:
        """The verdict in a few words."""
        if self.verdict == "drifted" and self.changed:
            return f"drifted, {self.changed:.0%} changed"
        if self.verdict == "moved":
            return f"moved to {cited_as('file', self.ref, self.locator)}"
        return f"{self.verdict}: {self.why}" if self.why else self.verdict


class Checkout(NamedTuple):
    """A working tree of git, as its own files tell it; no git was asked.

    `own` is its git folder, `common` the one it shares with its linked worktrees. `branch` is "" on a detached
    head, `commit` in a repository without commits, and `default` where nobody can tell. `identity` names the
    repository on every machine: its remote, else its folder.
    """

    root: str
    own: str
    common: str
    identity: str
    branch: str = ""
    commit: str = ""
    default: str = ""

    @property
    def view(self) -> str:
        """The line of work that this checkout stands on, where that is not the default branch; "" where it is.

        A linked worktree on a detached head is a line of its own, by its name.
        """
        if not self.default or self.branch == self.default:
            return ""
        linked = self.own.rpartition("/")[2] if self.own != self.common else ""
        line = self.branch or (f"@{linked}" if linked else "")
        return f"{self.identity}#{line}" if line else ""


class Fate(NamedTuple):
    """What became of the line of work that a memory was made on: merged, open, lost, or renamed to another."""

    state: Literal["merged", "open", "lost", "renamed"]
    why: str = ""
    branch: str = ""


def cited_as(kind: str, ref: str, locator: str = "") -> str:
    """A citation as people write it."""
    place = f"{ref}:{locator}" if locator else ref
    return place if kind in ("file", "url") else f"{kind}:{place}"


def unchecked(citation: Citation) -> str:
    """What to tell of a citation that is saved where no repository is."""
    return f"No repository is here, so nothing can tell later whether {citation.ref} changed."


def written(citation: Citation) -> str:
    """The written form of a citation."""
    return cited_as(citation.kind, citation.ref, citation.locator)


def verdict_of(checks: Iterable[Check]) -> Verdict | None:
    """What a memory counts as: the worst of what its citations are; None where it cites nothing."""
    found = {check.verdict for check in checks}
    return next((verdict for verdict in WORST if verdict in found), None)


def told(checks: Iterable[Check]) -> list[dict[str, Any]]:
    """Verdicts for a machine, in few words: only what is not fresh says more than that."""
    return [{name: value for name, value in check.__dict__.items() if value not in ("", 0.0)} for check in checks]
