"""What the arguments of the `records` tools mean: prose that several tools share."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

Content = Annotated[str, "The memory text; at most 64 KiB."]
Scope = Annotated[str, "Where it belongs: run:tier:repo or repo:NAME."]
Source = Annotated[str, "user-said or agent-inferred."]
Category = Annotated[str, "decision, preference, convention or gotcha."]
Tags = Annotated[Sequence[str], "Free-form labels."]
AllTags = Annotated[Sequence[str], "Only records with all of these tags."]
Repo = Annotated[str, "Repository name or URL."]
Workspace = Annotated[str, "Workspace identifier."]
Worktree = Annotated[str, "Path to the git worktree."]
BaseDir = Annotated[str, "Base directory of the project."]
Summary = Annotated[str, "A short form; at most 512 bytes."]
Citations = Annotated[
    Sequence[Mapping[str, Any]], "Sources: {kind: file|commit|url|repo, ref, locator, pin, excerpt}."
]
IdempotencyKey = Annotated[str, "A retry with the same key returns the first answer."]
NotBefore = Annotated[str, "Holds from this moment (RFC 3339)."]
NotAfter = Annotated[str, "Holds until this moment (RFC 3339)."]
Supersedes = Annotated[Sequence[str], "The records it takes the place of: ids or short_ids."]
ValidateOnly = Annotated[bool, "Only check, and say what would be superseded."]
Query = Annotated[str, "What to look for."]
InScope = Annotated[str, "Only this scope; required unless cross_spine."]
CrossSpine = Annotated[bool, "Every scope you may read."]
K = Annotated[int, "How many at most."]
Categories = Annotated[Sequence[str], "Only these categories."]
CreatedAfter = Annotated[str, "Created at this moment or later (RFC 3339)."]
CreatedBefore = Annotated[str, "Created before this moment (RFC 3339)."]
Full = Annotated[bool, "Whole records instead of compact rows."]
Cursor = Annotated[str, "next_cursor of the page before."]
Id = Annotated[str, "A record's id or short_id."]
Ids = Annotated[Sequence[str], "Ids or short_ids, 1 to 1000."]
DiscoveryKind = Annotated[str, "map (orientation) or fact (a checkable claim)."]
