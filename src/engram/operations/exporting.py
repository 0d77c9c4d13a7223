"""Giving out what is remembered, in our own form or another system's: streamed, private, whole or not at all."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from engram.drafts import private_folder, whole_file
from engram.errors import Conflict, Invalid
from engram.model.answers_store import Exported
from engram.model.filter import ANYTHING, Filter, matches
from engram.model.hashing import sha256
from engram.model.memory import Memory
from engram.model.relation import Relation
from engram.model.session import Session
from engram.operations import parameters as p
from engram.operations.base import Call, every, operation, pages, writing
from engram.operations.memories import standings
from engram.operations.scopes import in_view
from engram.ports import Copies, ManyOrgs, able
from engram.rules.access import is_keeper
from engram.rules.kinds import own_lists

if TYPE_CHECKING:
    from engram.interop.writing import File, Stock

MOST_PROBLEMS = 20


@operation(
    "GET /v1/export",
    "engram export memories.jsonl",
    "engram export - --standing all | gzip > all.jsonl.gz",
    "engram export vault --form obsidian --standing live",
    "engram export engram.json --form observations",
    local=True,
)
def export(
    call: Call,
    path: p.OutPath,
    *,
    form: p.OutForm = "jsonl",
    scope: p.OnlyScope = "",
    standing: p.Exported = ("all",),
    overwrite: p.Overwrite = False,
) -> Exported:
    """Write memories to a file, in our format or another system's.

    Our own is JSON Lines with a checksum. Everything you may read is written, unless you narrow it. The answer
    names what a format has no place for.
    """
    from engram.interop.writing import Folder, Tally, writer  # noqa: PLC0415 - start-up

    place = in_view(call, scope, everywhere=not scope)
    where = Filter(**place, standings=standings(standing), now=call.now, view=call.caller.view)
    own = own_lists(call.policy.kinds)
    made, tally = writer(form), Tally()
    if form != "jsonl":  # another system would take them for memories
        tally.dropped.update(one.kind for one in every(call, where._replace(kinds=own)))
        where = where._replace(except_kinds=own)
    stock = _stock(call, where, Filter(**place))
    if made.files is not None:
        target = _require_folder(path, overwrite=overwrite or made.shared)
        folder = Folder(lambda name: _read(os.path.join(target, name)), overwrite)
        seal = _fill(target, made.files(stock, tally, folder))
    else:
        assert made.lines
        _require_free(path, call.store, overwrite=overwrite)
        seal = _pour(path, made.lines(stock._replace(path=path), tally))
    missing = _others(call, tally.memories)
    return Exported(
        at=call.now,
        path=path,
        memories=tally.memories,
        sha256=seal,
        form=form,
        sessions=tally.sessions,
        relations=tally.relations,
        dropped=dict(tally.dropped.most_common()),
        problems=(*missing, *tally.problems[:MOST_PROBLEMS]),
        hint=every_memory(call) if missing else "",
    )


def _others(call: Call, written: int) -> list[str]:
    """A note that the store holds more than the caller may read: only for whoever looks after the store."""
    held = call.engine.tallies().get("rows", 0) if is_keeper(call.caller) else 0
    if held <= written or (others := held - sum(1 for _ in every(call, ANYTHING))) <= 0:
        return []
    return [f"{others:,} {'memory is' if others == 1 else 'memories are'} for others to read, and not in it."]


def _stock(call: Call, where: Filter, place: Filter) -> "Stock":
    """All that may be read of what was asked for; of relations, those between two memories of it."""
    from engram.interop.writing import Stock  # noqa: PLC0415 - start-up

    def find(ids: Iterable[str]) -> dict[str, Memory]:
        return call.memories(list(ids))

    def relations() -> Iterator[Relation]:
        for page in cast("Iterator[tuple[Relation, ...]]", pages(call, "relation", Filter())):
            ends = find({id for one in page for id in (one.from_id, one.to_id)})
            fits = {id for id, memory in ends.items() if matches(memory, where)}
            yield from (one for one in page if {one.from_id, one.to_id} <= fits)

    def sessions() -> Iterator[Session]:
        for page in pages(call, "session", place):
            yield from cast("tuple[Session, ...]", page)

    return Stock(lambda: every(call, where), sessions, relations, find, call.now)


def every_memory(call: Call) -> str:
    """How whoever looks after a store gets a copy of all that is in it, as a next step."""
    if able(call.engine, Copies):
        return "Copy all of them: engram backup create."
    if able(call.engine, ManyOrgs) is None:
        return "Use engram export instead."
    return "Copy the database with pg_dump, and the server's folder of sync beside it: see docs/guides/deploy.md."


def write_out(call: Call, path: str, lines: Iterable[str], *, overwrite: bool) -> str:
    """Write the lines of an export to a file that is none of the store's; returns the checksum.

    Raises:
        Conflict: when the file is there already, and may not be replaced.
    """
    _require_free(path, call.store, overwrite=overwrite)
    return _pour(path, (f"{line}\n" for line in lines))


def _pour(path: str, pieces: Iterable[str | bytes]) -> str:
    """Write text to a file or to standard output, or bytes to a file; returns the checksum."""
    seal = sha256()
    with _output(path) as write:
        for piece in pieces:
            raw = piece.encode() if isinstance(piece, str) else piece
            seal.update(raw)
            write(raw)
    return seal.hexdigest()


def _fill(folder: str, files: "Iterable[File]") -> str:
    """Write the files of a folder, each whole or not at all; returns the checksum over all of them."""
    seal = sha256()
    for file in files:
        target = os.path.join(folder, file.path)
        _require_inside(folder, target)
        with writing(target):
            private_folder(os.path.dirname(target))
        seal.update(f"{file.path}\n{_pour(target, file.content)}\n".encode())
    return seal.hexdigest()


def _require_folder(path: str, *, overwrite: bool) -> str:
    """The folder to be filled: a new or empty one, unless others' files may stand in it."""
    target = os.path.realpath(os.path.expanduser(path))
    if path == "-" or os.path.isfile(target):
        raise Invalid(f"This format is written to a folder, and {path} is not one.", "Give the path of a folder.")
    with writing(path):
        if not overwrite and os.path.isdir(target) and os.listdir(target):
            raise Conflict(f"{path} is not empty.", "Choose another folder, or add --overwrite.")
        private_folder(target)
    return target


def _require_inside(folder: str, target: str) -> None:
    """No link in the folder leads a file out of it."""
    parent = os.path.realpath(os.path.dirname(target))
    if os.path.commonpath((folder, parent)) != folder or os.path.islink(target):
        raise Invalid(f"{target} leads out of {folder}.", "Take the link out of the folder.")


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1024 * 1024)
    except OSError:
        return None


def _require_free(path: str, store: str, *, overwrite: bool) -> None:
    """An export replaces a file only when asked to, and the store never."""
    target = os.path.realpath(os.path.expanduser(path))
    if path == "-" or not os.path.lexists(target):
        return
    if target in {os.path.realpath(f"{store}{suffix}") for suffix in ("", "-wal", "-shm")}:
        raise Invalid(f"{path} is the store itself.", "Export to another file.")
    if not overwrite:
        raise Conflict(f"{path} is there already.", "Choose another name, or add --overwrite.")


@contextmanager
def _output(path: str) -> Iterator[Callable[[bytes], object]]:
    """Write to a private file that takes its name when all is written; or to standard output for `-`."""
    if path == "-":
        yield lambda raw: sys.stdout.write(raw.decode())
        return
    with writing(path), whole_file(os.path.expanduser(path)) as file:
        yield file.write
