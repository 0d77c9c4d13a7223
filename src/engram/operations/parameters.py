"""What parameters mean: the prose that every surface shows, written once and shared by all operations."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from engram.model.memory import Citation, Origin, Visibility

Text = Annotated[str, "What to remember, as a short statement."]
NewText = Annotated[str | None, "The new text."]
Ref = Annotated[str, "A memory: its handle (mem-0001), its id, or the beginning of its id."]
Refs = Annotated[str | Sequence[str], "One or more memories: handles (mem-0001), ids, or beginnings of ids."]
KindName = Annotated[str | None, "What kind of memory it is; see `engram kinds`."]
Kinds = Annotated[Sequence[str], "Only these kinds."]
ScopeName = Annotated[str, "Where it holds: global, project:NAME, agent:NAME. Default: the current project."]
InScope = Annotated[
    str, "Only this scope: global, project:NAME, agent:NAME. Default: the current project and global."
]
OnlyScope = Annotated[str, "Only this scope. Default: everything you may read."]
OnlyPinned = Annotated[bool | None, "Only pinned memories, or only others."]
Key = Annotated[str, "A stable name: the same key again revises the same memory."]
Summary = Annotated[str | None, "A shorter form, up to 512 bytes, for lists and contexts."]
Tags = Annotated[Sequence[str] | None, "Labels."]
TagFilter = Annotated[Sequence[str], "Only memories with this tag."]
Cites = Annotated[Sequence[str | Citation], "What it rests on: PATH, PATH:LINES, an address or commit:SHA."]
Importance = Annotated[int | None, "1 to 10; higher comes first."]
Pinned = Annotated[bool | None, "Keep it at the top of every context."]
Confidence = Annotated[float | None, "0 to 1; default 1 for a person and 0.6 for an agent."]
Shared = Annotated[Visibility | None, "private, or shared with whoever is in reach of the scope."]
Decay = Annotated[str | None, "How long it stays fresh: 12h, 30d, 8w, 6m, 1y or none."]
ValidFrom = Annotated[datetime | None, "The moment from which it holds."]
ValidUntil = Annotated[datetime | None, "The moment at which it stops to hold."]
Clear = Annotated[
    Sequence[Literal["summary", "tag", "valid_from", "valid_until"]],
    "Empty this field: summary, tag, valid_from or valid_until.",
]
Session = Annotated[str, "The session it belongs to."]
Source = Annotated[str | None, "Where it comes from, such as manual, tool:remember or import:old.md."]
Provenance = Annotated[Origin | None, "said by a person, or inferred by an agent."]
Dedupe = Annotated[Literal["merge", "create"], "create makes a memory of its own even where the same exists."]
Confirm = Annotated[bool, "Confirm as a person: needed for what is curated or cannot be undone."]
Token = Annotated[str, "Any string that names this request: a retry with it returns the first answer."]
Reason = Annotated[str, "Why; kept in history."]
Question = Annotated[str, "What you want to know, in any words."]
AsOf = Annotated[datetime | None, "Answer with what was known at that moment."]
WordsAlone = Annotated[bool, "Look for words only: quicker to start, and needs no model."]
Weak = Annotated[bool, "Also show what came near but is hardly relevant."]
ModelAction = Annotated[Literal["list", "install"], "list them, or install one from its publisher."]
Model = Annotated[str, "A model's name; see `engram models`."]
Limit = Annotated[int, "How many at most."]
After = Annotated[str | None, "Go on after this page (the `next` of the page before)."]
Standings = Annotated[
    Sequence[str], "live, pending, stale, expired, scheduled, replaced, rejected, forgotten, staged; or all."
]
Everywhere = Annotated[bool, "Every scope, not only the current project and global."]
Revision = Annotated[int | None, "The revision you read; if it moved since, nothing is changed."]
ContextQuery = Annotated[str, "What the session is about; what it calls for is added."]
Budget = Annotated[int, "Most tokens the context may take (an estimate); 0 takes the configured budget."]
MergeInto = Annotated[str, "Merge it into this memory instead: its text becomes the new wording."]
KeepBoth = Annotated[bool, "Keep live what it contradicts; otherwise the promoted one replaces it."]
EventRef = Annotated[
    str | int, "An event: its number in history, or the beginning of its id. Default: the last one."
]
Last = Annotated[int, "How many of the last actions to take back."]
HistoryOf = Annotated[str, "A memory; without one, everything."]
BeforeEvent = Annotated[int | None, "Go on before this event number."]
Fix = Annotated[bool, "Mend what can be mended: file modes and everything derived from the records."]
Overwrite = Annotated[bool, "Replace the file if it is there."]
OutPath = Annotated[str, "The file to write; - prints."]
InPath = Annotated[str, "The file to read; - reads standard input."]
Trust = Annotated[bool, "It is an export of your own: keep status and approval as they were."]
DryRun = Annotated[bool, "Only say what would happen."]
