"""The forms of the `records` profile: its scope labels, and memories as its rows.

A label is any string: `repo:github.com/acme/api`, `eval-2026-05:project:cluster`, `discovery:repo:api`. Each means
one scope of ours and one family of kinds, and comes back spelled as it was given:

    repo:NAME               project:NAME
    RUN:project:NAME        project:NAME@RUN
    RUN:global              global@RUN
    our own printed form    what it says, where none of the above says the same
    anything else           project:LABEL@records, with % and @ written as %25 and %40
    discovery:LABEL         the scope of LABEL, for discoveries (map, finding)
    rule:LABEL              the scope of LABEL, for rules

A label means a scope of the workspace that its caller stands in. A shared record is for everybody there, and what
is shared with an agent or a session of ours is not: so RUN:agent:NAME and RUN:session:NAME are mere names.
"""

import re
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from engram.errors import Invalid
from engram.model.caller import Caller
from engram.model.limits import print_time
from engram.model.memory import Citation, Memory
from engram.model.record import replace
from engram.model.scope import LEVELS, Scope

DISCOVERY, RULE = "discovery:", "rule:"
DISCOVERIES = {"map": "map", "fact": "finding"}
"""The kind of a discovery → ours."""

FAMILIES: dict[str, frozenset[str]] = {DISCOVERY: frozenset(DISCOVERIES.values()), RULE: frozenset({"rule"})}
"""Beginning of a label → the kinds that live under it, and nowhere else."""

MADE = ("repo", "workspace", "worktree_path", "base_dir")
"""What of where a memory was made a record tells."""

KEPT = "records"
"""The run under which labels are kept that say nothing to us."""

RESERVED = frozenset({*LEVELS, KEPT, "repo", "discovery", "rule"})
"""First words of a label that are no run."""

TIERS = ("global", "project")
"""Levels of ours that a label can name after its run."""

LONGEST_ROW = 280
"""Characters of a text that a compact row shows."""


class Place(NamedTuple):
    """What a label means: a scope, and the kinds that live under that label."""

    scope: Scope
    kinds: frozenset[str] = frozenset()  # empty: all but those that have a family of their own

    def holds(self, memory: Memory) -> bool:
        """Whether a memory lives under this label."""
        if memory.scope != self.scope:
            return False
        return memory.kind in self.kinds if self.kinds else not _family(memory)

    def at(self, caller: Caller) -> "Place":
        """The same place in the workspace that a caller stands in, unless its label named one."""
        if not caller.workspace or self.scope.workspace:
            return self
        return self._replace(scope=replace(self.scope, workspace=caller.workspace))


def place_of(label: str) -> Place:
    """The place a label means outside every workspace; every label means another one.

    Raises:
        Invalid: when it is too long, or holds characters no scope may hold.
    """
    for family, kinds in FAMILIES.items():
        if label.startswith(family):
            return Place(_scope_of(label.removeprefix(family)), kinds)
    return Place(_scope_of(label))


def label_of(memory: Memory) -> str:
    """The label under which a memory lives: `place_of` read backwards."""
    return _family(memory) + _label_of(memory.scope)


def told_to(caller: Caller, memory: Memory) -> Memory:
    """A memory as its caller's labels tell of it: `Place.at` read backwards."""
    if not caller.workspace or memory.scope.workspace != caller.workspace:
        return memory
    return replace(memory, scope=replace(memory.scope, workspace=""))


def _family(memory: Memory) -> str:
    return next((family for family, kinds in FAMILIES.items() if memory.kind in kinds), "")


def _scope_of(label: str) -> Scope:
    return _spoken(label) or _native(label) or Scope("project", _quoted(label), run=KEPT)


def _label_of(scope: Scope) -> str:
    return _spelling(scope) or _kept(scope) or str(scope)


def _spelling(scope: Scope) -> str:
    """How the other system says this scope, if it has a way to say it."""
    if scope.workspace or scope.run in RESERVED or scope.level not in TIERS:
        return ""
    if scope.run:
        return f"{scope.run}:{scope.place}"
    return f"repo:{scope.name}" if scope.level == "project" else ""


def _spoken(label: str) -> Scope | None:
    """The scope whose spelling this is."""
    head, _, rest = label.partition(":")
    level, _, name = rest.partition(":")
    try:
        if head == "repo":
            scope = Scope("project", rest)
        elif level in TIERS:
            scope = Scope(level, name, run=head)
        else:
            return None
    except Invalid:
        return None
    return scope if _spelling(scope) == label else None


def _native(label: str) -> Scope | None:
    """The scope of which this is our printed form, where the other system has no spelling for it."""
    try:
        scope = Scope.parse(label)
    except Invalid:
        return None
    return scope if str(scope) == label and not _spelling(scope) and not _kept(scope) else None


def _kept(scope: Scope) -> str:
    """The label that is kept in this scope's name, if one is."""
    if scope.run != KEPT or scope.level != "project" or scope.workspace:
        return ""
    label = unquote(scope.name)
    mine = _quoted(label) == scope.name and not _spoken(label) and not _native(label)
    return label if mine else ""


def _quoted(label: str) -> str:
    """A label as a name: what a name may not hold is written as in an address."""
    return re.sub(r"[%@]|^\s+|\s+$", lambda found: quote(found[0], safe=""), label)


def record(memory: Memory) -> dict[str, Any]:
    """A memory in full: the keys of a record, then those that only some records have."""
    row = keys_of(memory, memory.id, print_time(memory.created_at))
    return row | _discovered(memory) | _further(memory)


def keys_of(memory: Memory, id: str, created_at: str | None) -> dict[str, Any]:
    """The keys that every record has, in their order; nobody's has no owner, which is not an empty one."""
    row = {
        "id": id,
        "content": memory.text,
        "scope": label_of(memory),
        **{name: getattr(memory.context, name) for name in MADE},
        "source": "user-said" if memory.origin == "said" else "agent-inferred",
        "category": category_of(memory),
        "tags": list(memory.tags),
        "actor": memory.actor,
        "owner": memory.owner,
        "visibility": "shared" if memory.visibility == "shared" else "",
        "created_at": created_at,
    }
    if memory.owner is None:
        del row["owner"]
    return row


def _discovered(memory: Memory) -> dict[str, Any]:
    """What a discovery has, and another record only where it was given."""
    cited = {"citations": [citation_row(one) for one in memory.citations]}
    if memory.kind in FAMILIES[DISCOVERY]:
        kind = next(word for word, ours in DISCOVERIES.items() if ours == memory.kind)
        return {"kind": kind, **cited, "summary": memory.summary}
    return (cited if memory.citations else {}) | ({"summary": memory.summary} if memory.summary else {})


def _further(memory: Memory) -> dict[str, Any]:
    """What later revisions of the other system tell beside: a short id, and where the record is in its life."""
    times = {"not_before": memory.valid_from, "not_after": memory.valid_until, "archived_at": memory.forgotten_at}
    row: dict[str, Any] = {"short_id": memory.handle}
    row |= {name: print_time(time) for name, time in times.items() if time is not None}
    if memory.replaced_by:
        row["superseded_by"] = memory.replaced_by
    if memory.waiting:
        row["waits_for_review"] = memory.held_for or "review"
    return row


def citation_row(citation: Citation) -> dict[str, str]:
    """A citation, without what was not given."""
    said = {name: getattr(citation, name) for name in ("kind", "ref", "locator", "pin", "excerpt")}
    return {name: value for name, value in said.items() if value}


def compact(memory: Memory) -> dict[str, Any]:
    """A memory in a list: enough to know whether to get it."""
    row: dict[str, Any] = {"id": memory.id, "short_id": memory.handle, "summary": memory.summary or memory.text}
    if not memory.summary and len(memory.text) > LONGEST_ROW:
        row |= {"summary": memory.text[:LONGEST_ROW] + "…", "truncated": True}
    return row | {
        "summary_source": "client" if memory.summary else "",
        "scope": label_of(memory),
        "category": category_of(memory),
        "tags": list(memory.tags),
        "created_at": print_time(memory.created_at),
    }


def rule_row(memory: Memory) -> dict[str, Any]:
    """A rule in the list of rules."""
    names = ("short_id", "id", "summary", "tags", "scope", "created_at")
    row = compact(memory)
    return {name: row[name] for name in names}


def category_of(memory: Memory) -> str:
    """The category of a memory; our own kinds beside the four keep their names."""
    return "discovery" if memory.kind in FAMILIES[DISCOVERY] else memory.kind
