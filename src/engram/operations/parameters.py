"""What parameters mean: the prose that every surface shows, written once and shared by all operations."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal, NamedTuple

from engram.model.evidence import VERDICTS
from engram.model.limits import AGO, AHEAD, WHOLE_DAY
from engram.model.memory import STANDINGS, Citation, Origin, Visibility
from engram.model.relation import RelationKind
from engram.model.scope import Scope
from engram.operations.incoming import Incoming
from engram.rules.insights import CATEGORIES


class Completions(NamedTuple):
    """What is known of a value where its type says too little, for completing what is typed; it checks nothing.

    Some words, or the words `of` a list that somebody else keeps: kinds, models, forms, harnesses; or files.
    """

    words: tuple[str, ...] = ()
    of: str = ""


KINDS, FILES = Completions(of="kinds"), Completions(of="files")
STANDS = Completions((*STANDINGS, "all"))

Text = Annotated[str, "What to remember, as a short statement."]
NewText = Annotated[str | None, "The new text."]
Ref = Annotated[str, "A memory's handle (mem-0001) or start of its id."]
Refs = Annotated[str | Sequence[str], "Handles (mem-0001) or starts of ids."]
PinnedRefs = Annotated[
    str | Sequence[str], "Handles (mem-0001) or starts of ids; mem-0001@3 means it at revision 3 only."
]
OnlyRefs = Annotated[Sequence[str], "Only these memories, with what says nearly the same."]
KindName = Annotated[str | None, "decision, bugfix, convention, gotcha, preference, …; default: fact.", KINDS]
NewKind = Annotated[str | None, "decision, bugfix, convention, gotcha, preference, …; default: unchanged.", KINDS]
Kinds = Annotated[Sequence[str], "Only these kinds.", KINDS]
ScopeName = Annotated[str | Scope, "global, project:NAME or agent:NAME; default: this project."]
InScope = Annotated[str | Scope, "global, project:NAME or agent:NAME; default: this project and global."]
OnlyScope = Annotated[str, "Only this scope. Default: everything you may read."]
OnlyPinned = Annotated[bool | None, "Only pinned memories, or only unpinned ones."]
Key = Annotated[str, "A stable topic name; saving under it again revises the memory."]
NewKey = Annotated[str, "A key for a memory that has none. An existing key cannot be changed."]
Summary = Annotated[str | None, "A shorter form, up to 512 bytes, for lists."]
Tags = Annotated[Sequence[str] | None, "Labels."]
NewTags = Annotated[Sequence[str] | None, "Labels, replacing those it has."]
TagFilter = Annotated[Sequence[str], "Only with this tag."]
Cites = Annotated[Sequence[str | Citation], "What it rests on: PATH:LINES, an address or commit:SHA.", FILES]
Importance = Annotated[int | None, "1 to 10; higher comes first."]
Pinned = Annotated[bool | None, "Keep it at the top of every context."]
Confidence = Annotated[float | None, "0 to 1; default 1 for a person and 0.6 for an agent."]
NewConfidence = Annotated[float | None, "0 to 1."]
Shared = Annotated[Visibility | None, "private, or shared with everyone who may read the scope."]
Decay = Annotated[str | None, "How long it stays fresh: 12h, 30d, 8w, 6m, 1y or none."]
ValidFrom = Annotated[datetime | None, "When it starts to apply: a date, or 30d for 30 days from now.", AHEAD]
ValidUntil = Annotated[
    datetime | None,
    "When it stops applying: a date (at the end of that day), or 30d for 30 days from now.",
    WHOLE_DAY,
    AHEAD,
]
Clear = Annotated[
    Sequence[Literal["summary", "tag", "valid_from", "valid_until"]],
    "Empty this field: summary, tag, valid_from or valid_until.",
]
Session = Annotated[str, "The session it belongs to."]
OwnSession = Annotated[str, "The session it belongs to. Default: for an agent, the one it has under way here."]
NewCites = Annotated[
    Sequence[str | Citation] | None, "What it rests on now: PATH:LINES, an address or commit:SHA.", FILES
]
FailOn = Annotated[
    Sequence[str],
    "Exit with 11 if a citation is drifted, gone, moved or unreachable; any means each of them.",
    Completions((*VERDICTS[1:], "any")),
]
SinceRevision = Annotated[str, "Only what cites files that have changed since this commit, branch or tag."]
FilePlace = Annotated[
    str, "A file of this repository, with lines or without: src/api.py:10-20; or session:ID, message:ID.", FILES
]
Repin = Annotated[bool, "Update citations to what is there now."]
WithDrifted = Annotated[bool, "Include memories whose citations have changed or are gone."]
OnlyKey = Annotated[str, "Only the memory with this key."]
Saying = Annotated[str, "Only memories that contain all of these words or parts of words (at most the best 2,000)."]
Since = Annotated[datetime | None, "Only what was saved then or later: a date, or 7d for 7 days ago.", AGO]
Until = Annotated[datetime | None, "Only what was saved before: a date, or 7d for 7 days ago.", AGO]
SessionName = Annotated[str, "Its id. Default: a new one."]
EndedSession = Annotated[str, "Its id. Default: the latest one still open."]
OnlySession = Annotated[str, "Only this session."]
OnlyOpen = Annotated[bool | None, "Only open sessions, or only ended ones."]
Agent = Annotated[str, "Who works in it."]
Folder = Annotated[str, "The folder it works in.", FILES]
Branch = Annotated[str, "The branch it works on."]
CommitId = Annotated[str, "The commit it starts from."]
Closing = Annotated[str, "Goal, discoveries, what is done, next steps, files."]
Around = Annotated[int, "Also show this many saved before and after it."]
WithDiffs = Annotated[bool, "Also show how the cited text has changed, as a diff."]
Before = Annotated[int, "How many memories before it."]
Afterwards = Annotated[int, "How many memories after it."]
Transcript = Annotated[str, "A text with a section `## Key learnings`, such as an agent's last message."]
TopicText = Annotated[str, "What it is about, in full."]
TopicTitle = Annotated[str, "What it is about, in a few words."]
Verdict = Annotated[RelationKind, "supersedes takes the second out of use."]
OtherRef = Annotated[str, "The other memory."]
RelationRef = Annotated[str, "A relation's id, or FIRST~SECOND."]
Proof = Annotated[str, "What shows it, word for word."]
OnlyJudged = Annotated[bool, "Only judged pairs and replacements."]
ScanAll = Annotated[
    bool, "Compare every memory with its nearest neighbours, and propose pairs that may contradict each other."
]
AskModel = Annotated[bool, "Ask the configured model about what is proposed."]
AskBudget = Annotated[int, "The most tokens the model may use."]
IgnoredPair = Annotated[str, "Set this pair aside for good: FIRST~SECOND."]
OnlyPair = Annotated[str, "Show only this pair, whatever its verdict: FIRST~SECOND."]
OnlySettled = Annotated[bool, "Show only pairs that no longer need a verdict: judged, set aside, or out of use."]
JudgeModel = Annotated[str, "The model that judged, if one did."]
Source = Annotated[
    str | None, "Where it comes from; what a page or a tool said (web:URL, output:TOOL) waits for a person."
]
NewSource = Annotated[
    str | None,
    "Where the new text comes from; what a page or a tool said (web:URL, output:TOOL) waits for a person.",
]
Provenance = Annotated[Origin | None, "said by a person, or inferred by an agent."]
Replaces = Annotated[Sequence[str], "Memories it takes out of use: handles or starts of ids."]
Dedupe = Annotated[Literal["merge", "create"], "create stores a separate memory even if the same one exists."]
Confirm = Annotated[bool, "Confirm as a person: needed for what is curated or cannot be undone."]
Token = Annotated[
    str, "Idempotency token: a retry with the same token returns the first answer and does nothing again."
]
Reason = Annotated[str, "Why; kept in history."]
Question = Annotated[str, "What you want to know, in any words."]
AsOf = Annotated[
    datetime | None,
    "Answer with what was known then: a date (at the end of that day), or 7d for 7 days ago.",
    WHOLE_DAY,
    AGO,
]
WordsAlone = Annotated[bool, "Look for words only: quicker to start, and needs no model."]
Weak = Annotated[bool, "Also show weak matches."]
ModelAction = Annotated[Literal["list", "install"], "list them, or install one from its publisher."]
Model = Annotated[str, "A model's name; see `engram models`.", Completions(of="models")]
SearchWords = Annotated[str, "What to look for, in any words. Leave it out to list everything the filters match."]
MadeWith = Annotated[str | None, "Only what was saved by this agent."]
MadeOn = Annotated[str | None, "Only what was saved on this branch."]
EndsBy = Annotated[
    datetime | None,
    "Only what will be stale or expired by then: a date (at the end of that day), or 30d for 30 days from now.",
    WHOLE_DAY,
    AHEAD,
]
Unused = Annotated[bool, "Only what was never recalled on this machine."]
GraphQuestion = Annotated[
    Literal["chain", "conflicts", "file", "project"],
    "chain: what replaced what; conflicts; file: who cites it; project: its map.",
]
CitedIn = Annotated[str, "Of a file: the scope of the memories that cite it."]
CitedEverywhere = Annotated[bool, "Of a file: what cites it in every scope."]
GraphSubject = Annotated[str, "The memory, the file or the project it is about.", FILES]
Limit = Annotated[int, "How many at most."]
After = Annotated[str | None, "The `next` value of the previous page."]
Standings = Annotated[Sequence[str], "pending, stale, expired, replaced, …, or all; default: live.", STANDS]
Exported = Annotated[Sequence[str], "Only these: live, pending, stale, expired, replaced, …; default: all.", STANDS]
Everywhere = Annotated[bool, "Every scope."]
Revision = Annotated[int | None, "The revision you read; refused if the memory has changed since."]
ContextQuery = Annotated[str, "What the session is about."]
Budget = Annotated[int, "The most tokens it may take; 0 means the configured budget."]
MergeInto = Annotated[
    str,
    "Merge it into this memory instead: its text becomes the new wording; mem-0001@3 means it at revision 3 only.",
]
KeepBoth = Annotated[bool, "Keep what it contradicts live; otherwise the promoted memory replaces it."]
EventRef = Annotated[str | int, "An event: its number in history or the start of its id. Default: the last one."]
Last = Annotated[int, "How many of the last actions to undo."]
UndoOf = Annotated[str, "Undo everything done to this memory after the event."]
HistoryOf = Annotated[str, "A memory; without one, everything."]
BeforeEvent = Annotated[int | None, "Only events before this number."]
HygienePath = Annotated[str, "The file or folder of another store to check instead of your own.", FILES]
Fix = Annotated[
    bool, "Repair what can be repaired: file modes, indexes and other derived data, and names in an older form."
]
InsightText = Annotated[str, "What was noticed, in a short sentence."]
InsightCategory = Annotated[
    str,
    "role, preferences, workflow, tools, goals, communication_style, domain_knowledge, pain_points or other.",
    Completions(CATEGORIES),
]
OnlyCategory = Annotated[str, "Only insights of this category.", Completions(CATEGORIES)]
InsightSource = Annotated[str, "Where it was noticed."]
InsightQuestion = Annotated[str, "Words to look for. Default: everything."]
AttachedFile = Annotated[str | Incoming, "The file to attach; - reads standard input.", FILES]
AssetName = Annotated[str, "What it is called. Default: the name of the file."]
MediaType = Annotated[str, "What it is, such as image/png. Default: detected from its name and bytes."]
AssetRef = Annotated[str, "An attachment: its name or the start of its hash."]
FetchOut = Annotated[
    str, "The file or folder to write it to; - writes to standard output. Default: under its name, here.", FILES
]
Fresh = Annotated[bool, "Empty the index first and rebuild it."]
Overwrite = Annotated[bool, "Replace an existing file."]
OutPath = Annotated[
    str, "The file to write (a folder, for formats that are folders); - writes to standard output.", FILES
]
BackupOut = Annotated[
    str,
    "The file or folder to write; in a folder, the file is named by time. Default: in backups beside the store.",
    FILES,
]
BackupIn = Annotated[str, "The file of a backup.", FILES]
Replace = Annotated[bool, "Put it in place of a store that is not empty; that store is kept aside."]
InPath = Annotated[str, "The file or folder to read, or qdrant://HOST/COLLECTION; - reads standard input.", FILES]
OutForm = Annotated[
    Literal[
        "jsonl",
        "records",
        "memory-v1",
        "observations",
        "observations-0.1.0",
        "observations-chunks",
        "keyed",
        "obsidian",
    ],
    "The format to write.",
]
InForm = Annotated[str, "Its format. Default: detected.", Completions(of="forms")]
ImportScope = Annotated[str, "The scope for memories that name none, such as project:NAME."]
Trust = Annotated[bool, "Treat it as your own data: memories keep their status, and those without one go live."]
DryRun = Annotated[bool, "Only show what would happen."]
Sources = Annotated[
    str | Sequence[str], "One or more projects to merge: names, or short names; see `engram projects list`."
]
Target = Annotated[str, "The project that holds everything afterwards."]
ProjectName = Annotated[str, "A project: its name, or its short name."]
NewProjectName = Annotated[str, "The name it gets."]
Apply = Annotated[bool, "Do it. Without this, it only shows what would happen."]
Transcripts = Annotated[
    str | Sequence[str], "Transcripts, or folders with transcripts, such as ~/.claude/projects.", FILES
]
Harness = Annotated[
    str, "Only those of one agent: claude-code, codex, cursor, gemini-cli or opencode.", Completions(of="harnesses")
]
HarvestProject = Annotated[
    str, "The project it belongs to. Default: that of the folder the conversation took place in."
]
Finder = Annotated[
    Literal["rules", "endpoint"], "Find statements by rules on this machine, or by the configured model."
]
MostProposed = Annotated[int, "Stop after this many proposals; the next harvest resumes there."]
Again = Annotated[bool, "Read everything from its start, not only what is new."]
Repository = Annotated[str, "The folder of the repository. Default: the one you are in.", FILES]
SyncStatus = Annotated[bool, "Only show the state: what would be sent, what came in, which stores were met."]
WithPrivate = Annotated[bool | None, "Send private memories too; remembered for this place."]
WithGlobal = Annotated[bool | None, "Send global memories too; remembered for this place."]
ReplicaRef = Annotated[str, "A replica: the start of its id or of its fingerprint; see `engram replicas`."]
RemoteName = Annotated[str, "What you call the server."]
RemoteUrl = Annotated[str, "The server's address, such as https://memory.example.com."]
RemoteScope = Annotated[str, "A scope whose memories go there, such as project:github.com/acme/api."]
ExactScope = Annotated[bool, "Take the scope as a whole name, even if it is the short name of some project."]
KeyName = Annotated[str, "What the key is for, such as ci."]
KeyCan = Annotated[Sequence[str], "What it may do: read, or read and write.", Completions(("read", "write"))]
KeyDays = Annotated[int, "How many days it is valid; at most 366."]
KeyWorkspace = Annotated[
    str, "The workspace it gives access to, if workspaces are on; only for the operator at the machine."
]
KeyOwner = Annotated[str, "Whose it is, if not yours; only for an admin or the operator at the machine."]
KeyRef = Annotated[str, "A key by its handle, such as key-0001."]
NewOwner = Annotated[str, "The subject that will own it, by the name the provider uses."]
NewWorkspace = Annotated[str, "The workspace to move it to, by the name the provider uses."]
WhoseRecords = Annotated[str, "The subject whose records move, by the name the provider uses."]
MovedScope = Annotated[str, "Only what is in this scope, such as project:NAME. Default: all of it."]
FromWorkspace = Annotated[str, "The workspace it is in now. Default: none."]
FromOwner = Annotated[
    Literal["nobody", "anonymous"], "Records without an owner, or those saved while authentication was off."
]
