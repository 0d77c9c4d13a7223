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
Ref = Annotated[str, "A memory's handle (mem-0001), or the beginning of its id."]
Refs = Annotated[str | Sequence[str], "Handles (mem-0001), or beginnings of ids."]
PinnedRefs = Annotated[
    str | Sequence[str], "Handles (mem-0001), or beginnings of ids; mem-0001@3 means it at revision 3 only."
]
OnlyRefs = Annotated[Sequence[str], "Only these memories, with what says nearly the same."]
KindName = Annotated[str | None, "decision, bugfix, convention, gotcha, preference, …; fact unless said.", KINDS]
NewKind = Annotated[str | None, "decision, bugfix, convention, gotcha, preference, …; as it is unless said.", KINDS]
Kinds = Annotated[Sequence[str], "Only these kinds.", KINDS]
ScopeName = Annotated[str | Scope, "global, project:NAME or agent:NAME; this project unless said."]
InScope = Annotated[str | Scope, "global, project:NAME or agent:NAME; this project and global unless said."]
OnlyScope = Annotated[str, "Only this scope. Default: everything you may read."]
OnlyPinned = Annotated[bool | None, "Only pinned memories, or only the others."]
Key = Annotated[str, "A name for a topic: the same key again revises it."]
NewKey = Annotated[str, "A name for a memory that has none; one that it has stays."]
Summary = Annotated[str | None, "A shorter form, up to 512 bytes, for lists."]
Tags = Annotated[Sequence[str] | None, "Labels."]
NewTags = Annotated[Sequence[str] | None, "Labels, in place of those it has."]
TagFilter = Annotated[Sequence[str], "Only with this tag."]
Cites = Annotated[Sequence[str | Citation], "What it rests on: PATH:LINES, an address or commit:SHA.", FILES]
Importance = Annotated[int | None, "1 to 10; higher comes first."]
Pinned = Annotated[bool | None, "Keep it at the top of every context."]
Confidence = Annotated[float | None, "0 to 1; default 1 for a person and 0.6 for an agent."]
NewConfidence = Annotated[float | None, "0 to 1."]
Shared = Annotated[Visibility | None, "private, or shared with whoever is in reach of the scope."]
Decay = Annotated[str | None, "How long it stays fresh: 12h, 30d, 8w, 6m, 1y or none."]
ValidFrom = Annotated[datetime | None, "When it begins to hold: a date, or 30d for 30 days from now.", AHEAD]
ValidUntil = Annotated[
    datetime | None,
    "When it stops holding: a date (at the end of that day), or 30d for 30 days from now.",
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
Repin = Annotated[bool, "Pin what it cites to what is there now."]
WithDrifted = Annotated[bool, "Also what cites something that has changed or is gone."]
OnlyKey = Annotated[str, "Only the memory with this key."]
Saying = Annotated[
    str, "Only memories that say all of these words, or pieces of words. Of very many, the best 2,000."
]
Since = Annotated[datetime | None, "Only what was made then or later: a date, or 7d for 7 days ago.", AGO]
Until = Annotated[datetime | None, "Only what was made before: a date, or 7d for 7 days ago.", AGO]
SessionName = Annotated[str, "Its id. Default: a new one."]
EndedSession = Annotated[str, "Its id. Default: the latest under way."]
OnlySession = Annotated[str, "Only this session."]
OnlyOpen = Annotated[bool | None, "Only sessions that are under way, or only those that ended."]
Agent = Annotated[str, "Who works in it."]
Folder = Annotated[str, "The folder it works in.", FILES]
Branch = Annotated[str, "The branch it works on."]
CommitId = Annotated[str, "The commit it starts from."]
Closing = Annotated[str, "Goal, discoveries, what is done, next steps, files."]
Around = Annotated[int, "How many before and after it to show too."]
WithDiffs = Annotated[bool, "Also how what it cites has changed, line by line."]
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
ScanAll = Annotated[bool, "Compare every memory with its nearest, and propose what may not hold together."]
AskModel = Annotated[bool, "Ask the configured model about what is proposed."]
AskBudget = Annotated[int, "Most tokens that asking may use."]
IgnoredPair = Annotated[str, "Set this pair aside for good: FIRST~SECOND."]
OnlyPair = Annotated[str, "Show only this pair, whatever was said of it: FIRST~SECOND."]
OnlySettled = Annotated[bool, "Show only what needs no verdict any more: judged, set aside, or out of use."]
JudgeModel = Annotated[str, "The model that judged, if one did."]
Source = Annotated[
    str | None, "Where it comes from; what a page or a tool said (web:URL, output:TOOL) waits for a person."
]
NewSource = Annotated[
    str | None,
    "Where the new text comes from; what a page or a tool said (web:URL, output:TOOL) waits for a person.",
]
Provenance = Annotated[Origin | None, "said by a person, or inferred by an agent."]
Replaces = Annotated[Sequence[str], "Memories that it puts out of use: handles or beginnings of ids."]
Dedupe = Annotated[Literal["merge", "create"], "create makes a memory of its own even where the same exists."]
Confirm = Annotated[bool, "Confirm as a person: needed for what is curated or cannot be undone."]
Token = Annotated[str, "Any string that names this request: a retry with it returns the first answer."]
Reason = Annotated[str, "Why; kept in history."]
Question = Annotated[str, "What you want to know, in any words."]
AsOf = Annotated[
    datetime | None,
    "Answer with what was known then: a date (at the end of that day), or 7d for 7 days ago.",
    WHOLE_DAY,
    AGO,
]
WordsAlone = Annotated[bool, "Look for words only: quicker to start, and needs no model."]
Weak = Annotated[bool, "Also show what came near but is hardly relevant."]
ModelAction = Annotated[Literal["list", "install"], "list them, or install one from its publisher."]
Model = Annotated[str, "A model's name; see `engram models`.", Completions(of="models")]
SearchWords = Annotated[str, "What to look for, in any words; nothing lists what the filters let through."]
MadeWith = Annotated[str | None, "Only what was made with this agent."]
MadeOn = Annotated[str | None, "Only what was made on this branch."]
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
After = Annotated[str | None, "The `next` of the page before."]
Standings = Annotated[Sequence[str], "live unless said; pending, stale, expired, replaced, …; or all.", STANDS]
Exported = Annotated[
    Sequence[str], "Only these: live, pending, stale, expired, replaced, …; all unless said.", STANDS
]
Everywhere = Annotated[bool, "Every scope."]
Revision = Annotated[int | None, "The revision you read: if it moved since, nothing is changed."]
ContextQuery = Annotated[str, "What the session is about."]
Budget = Annotated[int, "Most tokens it may take; 0 takes the configured budget."]
MergeInto = Annotated[
    str,
    "Merge it into this memory instead: its text becomes the new wording; mem-0001@3 means it at revision 3 only.",
]
KeepBoth = Annotated[bool, "Keep live what it contradicts; otherwise the promoted one replaces it."]
EventRef = Annotated[
    str | int, "An event: its number in history, or the beginning of its id. Default: the last one."
]
Last = Annotated[int, "How many of the last actions to take back."]
UndoOf = Annotated[str, "Take back all that was done to this memory after the event."]
HistoryOf = Annotated[str, "A memory; without one, everything."]
BeforeEvent = Annotated[int | None, "Go on before this event number."]
HygienePath = Annotated[str, "A file or folder of another store to look at, instead of your own.", FILES]
Fix = Annotated[
    bool, "Mend what can be mended: file modes, everything derived from the records, and names of an earlier form."
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
MediaType = Annotated[str, "What it is, such as image/png. Default: as its name and bytes say."]
AssetRef = Annotated[str, "An attachment: its name, or the beginning of its hash."]
FetchOut = Annotated[
    str, "Where to write it: a file or a folder, - prints it. Default: under its name, here.", FILES
]
Fresh = Annotated[bool, "Empty the index first, and make it anew."]
Overwrite = Annotated[bool, "Replace the file if it is there."]
OutPath = Annotated[str, "The file to write, or the folder for forms that are one; - prints.", FILES]
BackupOut = Annotated[
    str, "The file to write; in a folder, it is named by the moment. Default: in backups beside the store.", FILES
]
BackupIn = Annotated[str, "The file of a backup.", FILES]
Replace = Annotated[bool, "Put it in the place of a store that holds something; that one is kept aside."]
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
    "The form to write.",
]
InForm = Annotated[str, "The form it has; recognised by looking at it unless named.", Completions(of="forms")]
ImportScope = Annotated[str, "Where those memories hold that name no place of their own, such as project:NAME."]
Trust = Annotated[bool, "It is your own: memories keep their status, and what has none goes live."]
DryRun = Annotated[bool, "Only say what would happen."]
Sources = Annotated[
    str | Sequence[str], "One or more projects to merge: names, or short names; see `engram projects list`."
]
Target = Annotated[str, "The project that holds everything afterwards."]
ProjectName = Annotated[str, "A project: its name, or its short name."]
NewProjectName = Annotated[str, "The name it gets."]
Apply = Annotated[bool, "Do it. Without this, it only says what would happen."]
Transcripts = Annotated[
    str | Sequence[str], "Transcripts, or folders with transcripts, such as ~/.claude/projects.", FILES
]
Harness = Annotated[
    str, "Only those of one agent: claude-code, codex, cursor, gemini-cli or opencode.", Completions(of="harnesses")
]
HarvestProject = Annotated[
    str, "The project it belongs to. Default: that of the folder in which the talk took place."
]
Finder = Annotated[
    Literal["rules", "endpoint"], "Find statements by rules on this machine, or by the configured model."
]
MostProposed = Annotated[int, "Stop after so many proposals; the next harvest goes on there."]
Again = Annotated[bool, "Read everything from its start, not only what is new."]
Repository = Annotated[str, "The folder of the repository. Default: the one you are in.", FILES]
SyncStatus = Annotated[bool, "Only say how things stand: what would go, what came, who was met."]
WithPrivate = Annotated[bool | None, "Send private memories too; remembered for this place."]
WithGlobal = Annotated[bool | None, "Send global memories too; remembered for this place."]
ReplicaRef = Annotated[str, "A replica: the beginning of its id or of its fingerprint; see `engram replicas`."]
RemoteName = Annotated[str, "What you call the server."]
RemoteUrl = Annotated[str, "The server's address, such as https://memory.example.com."]
RemoteScope = Annotated[str, "A scope whose memories go there, such as project:github.com/acme/api."]
ExactScope = Annotated[bool, "Take the scope as a whole name, even if it is the short name of some project."]
KeyName = Annotated[str, "What the key is for, such as ci."]
KeyCan = Annotated[Sequence[str], "What it may do: read, or read and write.", Completions(("read", "write"))]
KeyDays = Annotated[int, "How many days it is valid; at most 366."]
KeyWorkspace = Annotated[
    str, "The workspace that it opens, where workspaces are on: for the operator at the machine."
]
KeyOwner = Annotated[str, "Whose it is, where it is not yours: for an admin, and for the operator at the machine."]
KeyRef = Annotated[str, "A key by its handle, such as key-0001."]
NewOwner = Annotated[str, "The subject that is to own it, as the provider calls it."]
NewWorkspace = Annotated[str, "The workspace that it is to lie in, as the provider calls it."]
WhoseRecords = Annotated[str, "The subject whose records move, as the provider calls it."]
MovedScope = Annotated[str, "Only what holds there, such as project:NAME. All of it unless said."]
FromWorkspace = Annotated[str, "The workspace that it lies in now. None unless said."]
FromOwner = Annotated[
    Literal["nobody", "anonymous"], "What has no owner at all, or what was saved while authentication was off."
]
