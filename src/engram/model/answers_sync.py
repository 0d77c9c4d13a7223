"""What exchanges with other stores answer: what went, what came, and whom it met."""

from collections.abc import Mapping
from datetime import datetime

from engram.model.answers import Answer
from engram.model.record import NONE


class Synced(Answer):
    """What an exchange with a place did, or in a dry run would do.

    `waiting` says what cannot be taken in yet and why, `problems` what was skipped, `stayed` how many memories stay
    home by what keeps them, and `strangers` which replicas nobody has accepted yet.
    """

    at: datetime
    place: str
    scope: str
    wrote: int  # chunks; in a dry run, events
    sent: int  # events; in a dry run, memories that nobody was told of yet
    read: int
    applied: int
    erased: int = 0
    waiting: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    stayed: Mapping[str, int] = NONE
    private: bool = False
    everywhere: bool = False
    strangers: tuple[str, ...] = ()
    other_names: tuple[str, ...] = ()  # what others call the project that is `scope` here
    dry_run: bool = False
    hint: str = ""
    attachments: int = 0  # files that went to a server or came from it, beside the memories that name them
    uncounted: int = 0  # changes made here to memories that are others': they do not count
    files: int = 0  # files of chunks that went to a server, with those that a push before left
    left_files: int = 0  # attachments that a repository is told of by their names, and that stay here
    held: int = 0  # memories that wait for review now: they contradict what is in use


class ReplicaRow(Answer):
    """One store that takes part in an exchange, by the fingerprint of its key."""

    replica: str
    device: str
    state: str  # this, own, accepted, vouched, unknown or dropped; new key: it presents another than the accepted
    fingerprint: str


class ReplicaList(Answer):
    """The stores this one has met, itself first."""

    at: datetime
    replicas: tuple[ReplicaRow, ...]
    changed: int = 0  # records that are others than before by a decision
    live: int = 0  # memories that came into use by it
    uncounted: int = 0  # changes made here to memories that are others': they count no longer
    hint: str = ""
    held: int = 0  # memories that wait for review now: they contradict what is in use


class RemoteRow(Answer):
    """One server that chunks go to and come from, and the scopes that were enrolled."""

    name: str
    url: str
    scopes: tuple[str, ...]
    unsent: int = 0
    hint: str = ""
    refused: bool = False  # the server does not open the scope; `hint` has its words


class RemoteList(Answer):
    """The servers this store exchanges chunks with."""

    at: datetime
    remotes: tuple[RemoteRow, ...]
    hint: str = ""

    @property
    def exit_code(self) -> int:
        """What the command ends with: as a push or a pull does, where the server refuses a scope."""
        return 4 if any(row.refused for row in self.remotes) else 0
