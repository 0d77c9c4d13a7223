"""What operations on a store as a whole answer: checks, counts, erasures, copies, imports and models."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from engram.model.answers import Answer
from engram.model.change import Finding
from engram.model.record import NONE

NOT_REACHED = "Exports, backups and other copies made earlier are not touched."
"""What no erasure reaches."""


class Receipt(Answer):
    """Proof of an erasure. `traces` counts pieces of the text still found in the store's raw files.

    `places` says where they are, and names what could not be looked into.
    """

    at: datetime
    erased: tuple[str, ...]
    event: int
    event_id: str
    traces: int | None
    places: tuple[str, ...] = ()
    assets: int = 0  # attachments whose bytes went with it
    handles: tuple[str, ...] = ()  # what they were called, where that is known
    note: str = NOT_REACHED


class Stats(Answer):
    """Counts over everything the caller may read; whoever looks after the store is told of all events."""

    at: datetime
    memories: int
    standings: Mapping[str, int]
    kinds: Mapping[str, int]
    scopes: Mapping[str, int]
    tokens: int
    events: int
    store: str
    insights: int = 0  # what was noticed about the caller, which is no memory


class Report(Answer):
    """What a check found; healthy when there is no error among it.

    `tallies` are the memories that each part of the store has: rows, full_text, and vectors where a model makes
    some. In a whole store they are equal.
    """

    at: datetime
    findings: tuple[Finding, ...]
    facts: Mapping[str, Any] = NONE
    tallies: Mapping[str, int] = NONE

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong; notes and warnings are not wrong."""
        return all(finding.severity != "error" for finding in self.findings)


class HygieneRow(Answer):
    """One thing that ails some memories: what, how many, what to do about it, and the first of them."""

    name: str
    about: str
    count: int
    mend: str = ""
    examples: tuple[str, ...] = ()


class Hygiene(Answer):
    """How clean a store is, this one or another system's (`form`).

    `in_use` counts those that are in use or wait, and `junk` those of them that nobody would miss, each once: they
    repeat another one or nearly so, are a recalled block stored again, or say nothing. `secrets` are the sorts of
    secrets, each with a count.
    """

    at: datetime
    store: str
    memories: int
    in_use: int
    junk: int
    rows: tuple[HygieneRow, ...] = ()
    secrets: Mapping[str, int] = NONE
    form: str = ""
    problems: tuple[str, ...] = ()
    hint: str = ""

    @property
    def junk_rate(self) -> float:
        """The share of junk among what is in use, from 0 to 1."""
        return self.junk / self.in_use if self.in_use else 0.0


class ScrubRow(Answer):
    """A memory or session that held secrets of these sorts, and what stands in its place: "" where nothing does."""

    memory: str
    copy: str
    removed: tuple[str, ...]


class Scrubbed(Answer):
    """What a scrub took out, or in a dry run would take out: the receipt of it.

    A memory is among them too where only a relation of it held one. `remains` counts what was gone already, and of
    which history still told a secret. `traces` and `places` are as in a receipt of `purge`.
    """

    at: datetime
    memories: tuple[ScrubRow, ...]
    sessions: tuple[ScrubRow, ...] = ()
    removed: Mapping[str, int] = NONE
    remains: int = 0
    dry_run: bool = False
    traces: int = 0
    places: tuple[str, ...] = ()
    note: str = ""


class Exported(Answer):
    """How many memories went where, in which form, and the checksum of what was written.

    `dropped` names the fields of ours that the form has no place for, and how many memories say something there.
    """

    at: datetime
    path: str
    memories: int
    sha256: str
    form: str = "jsonl"
    sessions: int = 0
    relations: int = 0
    dropped: Mapping[str, int] = NONE
    problems: tuple[str, ...] = ()
    hint: str = ""


class BackedUp(Answer):
    """Where a backup lies, how large it is, and how much of what it holds."""

    at: datetime
    path: str
    bytes: int
    engine: str
    counts: Mapping[str, int]


class BackupReport(Answer):
    """What a backup is, and what is wrong with it; `healthy` says that nothing is."""

    at: datetime
    path: str
    made_at: datetime
    version: str
    engine: str
    counts: Mapping[str, int]
    findings: tuple[Finding, ...] = ()

    @property
    def healthy(self) -> bool:
        """Whether it can be restored as it was."""
        return not any(finding.severity == "error" for finding in self.findings)


class BackupRestored(Answer):
    """Which store a backup became, of which moment, and where the one that was there has gone."""

    at: datetime
    path: str
    made_at: datetime
    store: str
    counts: Mapping[str, int]
    kept: str = ""


class Preview(Answer):
    """What a dry run found in a file: what it says, of which kind, and what would become of it."""

    text: str
    kind: str
    outcome: str


class Imported(Answer):
    """What an import did, or in a dry run would do; `preview` shows the first memories one by one.

    `dropped` names fields of theirs that have no place here, `redacted` what was taken out, and `faults` the
    problems by what is wrong; each with a count.
    """

    at: datetime
    path: str
    outcomes: Mapping[str, int]
    problems: tuple[str, ...] = ()
    batch: str = ""
    dry_run: bool = False
    preview: tuple[Preview, ...] = ()
    form: str = ""
    kinds: Mapping[str, int] = NONE
    scopes: Mapping[str, int] = NONE
    sessions: int = 0
    relations: int = 0
    dropped: Mapping[str, int] = NONE
    redacted: Mapping[str, int] = NONE
    faults: Mapping[str, int] = NONE
    hint: str = ""
    event: int = 0  # of an import in one step; of one in several, and one that went on, `batch` takes it all back


class KindRow(Answer):
    """One kind as configured."""

    name: str
    tier: int
    decay: str
    recall: str
    about: str


class Kinds(Answer):
    """The table of kinds."""

    at: datetime
    kinds: tuple[KindRow, ...]


class ModelRow(Answer):
    """One embedding model: what it is, and whether it is here."""

    name: str
    state: str  # ready, absent, or what is wrong with its files
    dim: int
    size: int
    licence: str
    default: bool = False


class Models(Answer):
    """The models there are, the one in use, and how far the store's vectors are."""

    at: datetime
    models: tuple[ModelRow, ...]
    embedder: str  # the space that questions are asked in; "" when words alone do
    vectors: str  # the space that the store's vectors are in; "" when there are none
    lacking: int = 0  # memories without a vector of it, or of the one that is coming
    hint: str = ""
    coming: str = ""  # the space that takes over once nothing lacks a vector of it


class Reembedded(Answer):
    """How many memories got vectors, of which model, and how many still lack one."""

    at: datetime
    model: str
    memories: int
    remaining: int


class Reindexed(Answer):
    """Which index was brought up to date ("" is none), and to which event of how many."""

    at: datetime
    index: str
    upto: int
    events: int
