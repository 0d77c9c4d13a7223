"""Citations as people write them (`src/api.py:200-240`, `commit:SHA`, `https://…`), filled in and looked at."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast, get_args

from engram.errors import Conflict, Invalid
from engram.model.evidence import CHANGED, Check
from engram.model.memory import NOWHERE, Citation, CitationKind, Context, Memory
from engram.model.record import replace
from engram.model.scope import Scope
from engram.operations.base import Call
from engram.operations.scopes import current_project
from engram.rules.proposals import Proposal
from engram.rules.redact import redact
from engram.rules.settling import staged_on

SYMBOL = r"[A-Za-z_$][\w$]*(?:(?:\.|::|#)[A-Za-z_$][\w$]*)*"
"""A name in a program, with what it stands in: `handler`, `Server.handler`."""


class Filled(NamedTuple):
    """Citations with their pins, what to tell about them, and the repository they are of."""

    citations: tuple[Citation, ...]
    warnings: tuple[str, ...] = ()
    repo: str = ""

    def made_in(self, context: Context) -> Context:
        """A context that also says which repository is cited."""
        return replace(context, repo=self.repo) if self.repo and not context.repo else context


class Anew(NamedTuple):
    """What became of the citations of memories, and, by id, what they would be pinned to."""

    evidence: tuple[tuple[Check, ...], ...]
    citations: Mapping[str, tuple[Check, ...]]

    def of(self, call: Call, memory: Memory) -> tuple[Citation, ...] | None:
        """The citations of a memory, pinned to what is there now; None where nothing of it moved.

        Raises:
            Conflict: when one is gone.
        """
        checks = self.citations.get(memory.id)
        if checks is None:
            return None
        if lost := self.gone(memory):
            raise Conflict(f"{lost.cite} is gone: there is nothing to pin.", cite_else(memory))
        pairs = zip(memory.citations, checks, strict=True)
        return tuple(_without_secrets(call.evidence.repinned(each, check)) for each, check in pairs)

    def gone(self, memory: Memory) -> Check | None:
        """The first of what a memory cites that is not there any more."""
        return next((each for each in self.citations.get(memory.id, ()) if each.verdict == "gone"), None)


def cite_else(memory: Memory) -> str:
    """What to do about a memory that cites what is gone."""
    name = memory.called
    return f"Cite something else: engram revise {name} --cite PATH; or forget it: engram forget {name}."


def parse_citation(said: str | Citation) -> Citation:
    """A citation from its written form: an optional kind, what it points at, and for files the lines.

    Raises:
        Invalid: when nothing is pointed at.
    """
    if isinstance(said, Citation):
        return said
    head, colon, rest = said.strip().partition(":")
    if colon and head in get_args(CitationKind):
        kind, ref = cast("CitationKind", head), rest
    elif re.match(r"https?://", said.strip()):
        kind, ref = "url", said.strip()
    else:
        kind, ref = "file", said.strip()
    if kind == "file" and (place := re.fullmatch(rf"(.+?):(L?\d+(?:-L?\d+)?|{SYMBOL})", ref)):
        return Citation(kind, place[1], place[2])
    return Citation(kind, ref)


def filled(call: Call, said: str | Citation | Sequence[str | Citation], scope: Scope) -> Filled:
    """Citations as they are kept: what is of this working tree gets its pin and excerpt by itself.

    What is about another project stays as it was said. A record that came with a citation's parts is kept as it
    is where they cannot be found here; words are taken at their word, and must fit.

    Raises:
        Invalid: when a file is not there, outside the repository or binary, or has no such lines.
    """
    cites = [said] if isinstance(said, str | Citation) else said
    if not cites:
        return Filled(())
    parsed = tuple(map(parse_citation, cites))
    home = current_project(call)
    if scope.level == "project" and (home is None or scope.place != home.place):
        return Filled(parsed)
    found: list[Citation] = []
    warnings: list[str] = []
    for one, given in zip(parsed, cites, strict=True):
        try:
            citation, warning = call.evidence.filled(one, call.now)
        except Invalid:
            if isinstance(given, str):
                raise
            citation, warning = one, ""
        found.append(_without_secrets(citation))
        warnings += [warning] if warning else []
    of_here = any(one != other and one.kind == "file" for one, other in zip(found, parsed, strict=True))
    return Filled(tuple(found), tuple(warnings), call.evidence.made_in().repo if of_here else "")


def _without_secrets(citation: Citation) -> Citation:
    """An excerpt that holds a credential is not kept at all: its hash still tells whether it changed."""
    return replace(citation, excerpt="") if citation.excerpt and redact(citation.excerpt).kinds else citation


def staged(call: Call, proposal: Proposal, kind: str | None = None) -> Proposal:
    """The proposal, staged on the branch that the caller stands on where that is not merged yet."""
    if not call.caller.view:
        return proposal
    meant = proposal if kind is None else proposal._replace(kind=kind)
    branch = staged_on(meant, current_project(call), call.caller.view, call.policy)
    if not branch:
        return proposal
    here = {name: value for name, value in call.evidence.made_in().__dict__.items() if value}
    known = {name: value for name, value in proposal.context.__dict__.items() if value}
    return proposal._replace(branch=branch, context=replace(NOWHERE, **(here | known)))


def checked(call: Call, memories: Sequence[Memory], *, diffs: bool = False) -> Mapping[str, tuple[Check, ...]]:
    """What became of the citations of memories, by id; nothing is looked at where nothing is cited."""
    citing = [memory for memory in memories if memory.citations]
    return call.evidence.check(citing, current_project(call), diffs=diffs) if citing else {}


def pinned_anew(call: Call, memories: Sequence[Memory]) -> Anew:
    """What would have to be pinned anew for these memories to hold, with the differences."""
    found = checked(call, memories, diffs=True)
    moved = {id: checks for id, checks in found.items() if any(check.verdict in CHANGED for check in checks)}
    return Anew(tuple(found.get(one.id, ()) for one in memories), moved)
