"""What parameters mean: the prose that every surface shows, written once and shared by all operations."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from engram.model.memory import Citation, Origin, Visibility
from engram.model.relation import RelationKind
from engram.model.scope import Scope

Text = Annotated[str, "What to remember, as a short statement."]
NewText = Annotated[str | None, "The new text."]
Ref = Annotated[str, "A memory's handle (mem-0001), or the beginning of its id."]
Refs = Annotated[str | Sequence[str], "Handles (mem-0001), or beginnings of ids."]
KindName = Annotated[str | None, "decision, bugfix, convention, gotcha, preference, …; fact unless said."]
Kinds = Annotated[Sequence[str], "Only these kinds."]
ScopeName = Annotated[str | Scope, "global, project:NAME or agent:NAME; this project unless said."]
InScope = Annotated[str | Scope, "global, project:NAME or agent:NAME; this project and global unless said."]
OnlyScope = Annotated[str, "Only this scope. Default: everything you may read."]
OnlyPinned = Annotated[bool | None, "Only pinned memories, or only others."]
Key = Annotated[str, "A name for a topic: the same key again revises it."]
NewKey = Annotated[str, "A name for a memory that has none; one that it has stays."]
Summary = Annotated[str | None, "A shorter form, up to 512 bytes, for lists."]
Tags = Annotated[Sequence[str] | None, "Labels."]
TagFilter = Annotated[Sequence[str], "Only with this tag."]
Cites = Annotated[Sequence[str | Citation], "What it rests on: PATH:LINES, an address or commit:SHA."]
Importance = Annotated[int | None, "1 to 10; higher comes first."]
Pinned = Annotated[bool | None, "Keep it at the top of every context."]
Confidence = Annotated[float | None, "0 to 1; default 1 for a person and 0.6 for an agent."]
Shared = Annotated[Visibility | None, "private, or shared with whoever is in reach of the scope."]
Decay = Annotated[str | None, "How long it stays fresh: 12h, 30d, 8w, 6m, 1y or none."]
ValidFrom = Annotated[datetime | None, "When it begins to hold."]
ValidUntil = Annotated[datetime | None, "When it stops to hold."]
Clear = Annotated[
    Sequence[Literal["summary", "tag", "valid_from", "valid_until"]],
    "Empty this field: summary, tag, valid_from or valid_until.",
]
Session = Annotated[str, "The session it belongs to."]
NewCites = Annotated[Sequence[str | Citation] | None, "What it rests on now: PATH:LINES, an address or commit:SHA."]
OnlyKey = Annotated[str, "Only the memory with this key."]
Since = Annotated[datetime | None, "Only what was made then or later."]
Until = Annotated[datetime | None, "Only what was made before."]
SessionName = Annotated[str, "Its id. Default: a new one."]
EndedSession = Annotated[str, "Its id. Default: the latest under way."]
OnlySession = Annotated[str, "Only this session."]
OnlyOpen = Annotated[bool | None, "Only sessions that are under way, or only those that ended."]
Agent = Annotated[str, "Who works in it."]
Folder = Annotated[str, "The folder it works in."]
Branch = Annotated[str, "The branch it works on."]
CommitId = Annotated[str, "The commit it starts from."]
Closing = Annotated[str, "Goal, discoveries, what is done, next steps, files."]
Around = Annotated[int, "How many before and after it to show too."]
Before = Annotated[int, "How many memories before it."]
Afterwards = Annotated[int, "How many memories after it."]
Transcript = Annotated[str, "A text with a section `## Key learnings`, such as an agent's last message."]
TopicText = Annotated[str, "What it is about, in full."]
TopicTitle = Annotated[str, "What it is about, in a few words."]
Verdict = Annotated[RelationKind, "supersedes hides the second."]
OtherRef = Annotated[str, "The other memory."]
RelationRef = Annotated[str, "A relation's id, or FIRST~SECOND."]
Proof = Annotated[str, "What shows it, word for word."]
OnlyJudged = Annotated[bool, "Only what was judged or replaced."]
JudgeModel = Annotated[str, "The model that judged, if one did."]
Source = Annotated[str | None, "Where it comes from, such as manual, tool:remember or import:old.md."]
Provenance = Annotated[Origin | None, "said by a person, or inferred by an agent."]
Replaces = Annotated[Sequence[str], "Memories that it puts out of use: handles or beginnings of ids."]
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
After = Annotated[str | None, "The `next` of the page before."]
Standings = Annotated[Sequence[str], "live unless said; pending, stale, expired, replaced, …; or all."]
Everywhere = Annotated[bool, "Every scope."]
Revision = Annotated[int | None, "The revision you read: if it moved since, nothing is changed."]
ContextQuery = Annotated[str, "What the session is about."]
Budget = Annotated[int, "Most tokens it may take; 0 takes the configured budget."]
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
Trust = Annotated[bool, "It is your own: an export keeps status and approval, notes go live."]
DryRun = Annotated[bool, "Only say what would happen."]
Sources = Annotated[
    str | Sequence[str], "One or more projects to merge: names, or short names; see `engram projects list`."
]
Target = Annotated[str, "The project that holds everything afterwards."]
ProjectName = Annotated[str, "A project: its name, or its short name."]
NewProjectName = Annotated[str, "The name it gets."]
Apply = Annotated[bool, "Do it. Without, only what would happen is said."]
Transcripts = Annotated[
    str | Sequence[str], "Transcripts, or folders with transcripts, such as ~/.claude/projects."
]
Harness = Annotated[str, "Only those of one agent: claude-code, codex, cursor, gemini-cli or opencode."]
HarvestProject = Annotated[
    str, "The project it belongs to. Default: that of the folder in which the talk took place."
]
Finder = Annotated[
    Literal["rules", "endpoint"], "Find statements by rules on this machine, or by the configured model."
]
MostProposed = Annotated[int, "Stop after so many; the next harvest goes on there."]
Again = Annotated[bool, "Read everything from its start, not only what is new."]
