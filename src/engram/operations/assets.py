"""Attachments: files that belong to a memory, kept by their content and read by whoever reads the memory."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain

from engram.drafts import whole_file
from engram.errors import Conflict, Invalid
from engram.model.answers_assets import AssetRow, Assets, Attached, Fetched
from engram.model.change import Change, Request
from engram.model.event import Event
from engram.model.memory import Asset, Memory
from engram.operations import parameters as p
from engram.operations.base import Call, no_longer_there, operation, writing
from engram.operations.bearing import known
from engram.operations.blobs import tidy
from engram.operations.incoming import BLOCK, Incoming, outgoing, receive
from engram.rules import admission, lifecycle
from engram.rules import assets as rules
from engram.rules.admission import Admission
from engram.rules.proposals import Proposal, prepare


@operation(
    "POST /v1/memories/{memory}/assets",
    "engram attach mem-0001 diagram.png",
    "git log -5 | engram attach mem-0001 - --name log.txt",
    writes=True,
    local=True,
)
def attach(
    call: Call,
    memory: p.Ref,
    file: p.AttachedFile,
    *,
    name: p.AssetName = "",
    media_type: p.MediaType = "",
    revision: p.Revision = None,
    confirm: p.Confirm = False,
    token: p.Token = "",
) -> Attached:
    """Attach a file to a memory.

    Whoever may read the memory may fetch it. The type is detected from the bytes. A file whose name or declared
    type disagrees is refused, and so is one that could be run, such as a program or a script.
    """
    del token
    if (event := call.replayed()) is not None:
        return _attached_before(call, event)
    with _arriving(call, memory, file) as incoming:
        called = name or (os.path.basename(file) if isinstance(file, str) and file != "-" else "")
        asset = incoming.asset(called, media_type)
        return _attached(call, call.memory(memory), incoming, asset, _Asked("attach", revision, confirm))


@operation("GET /v1/memories/{memory}/assets", "engram assets mem-0001")
def assets(call: Call, memory: p.Ref) -> Assets:
    """Show what is attached to a memory."""
    one = call.memory(memory)
    here = [one.owner is not None and call.blobs.size(one.owner, each.sha256) is not None for each in one.assets]
    rows = (
        AssetRow(each.sha256, each.name, each.media_type, each.size, there)
        for each, there in zip(one.assets, here, strict=True)
    )
    return Assets(at=call.now, memory=one, assets=tuple(rows))


@operation(
    "GET /v1/memories/{memory}/assets/{asset}",
    "engram fetch mem-0001 diagram.png",
    "engram fetch mem-0001 9f86d0 copy.png --overwrite",
    local=True,
)
def fetch(
    call: Call, memory: p.Ref, asset: p.AssetRef, path: p.FetchOut = "", *, overwrite: p.Overwrite = False
) -> Fetched:
    """Write an attachment of a memory to a file.

    Its bytes are verified as they are written.
    """
    one = call.memory(memory)
    found = rules.found(one, asset)
    target = _target(path, rules.name_of(found.name, found.sha256), overwrite=overwrite)
    blocks = outgoing(call, one, found)
    if target == "-":
        for block in blocks:
            sys.stdout.buffer.write(block)
    else:
        _write(target, blocks)
    return Fetched(at=call.now, memory=one, asset=found, path=target)


@operation("DELETE /v1/memories/{memory}/assets/{asset}", "engram detach mem-0001 diagram.png", writes=True)
def detach(
    call: Call,
    memory: p.Ref,
    asset: p.AssetRef,
    *,
    revision: p.Revision = None,
    confirm: p.Confirm = False,
    token: p.Token = "",
) -> Attached:
    """Remove an attachment from a memory.

    `undo` brings it back for some days; after that, its bytes are deleted.
    """
    del token
    if (event := call.replayed()) is not None:
        still = [each for each in call.memory(memory).assets if asset in (each.name, each.sha256)]
        return _attached_before(call, event, still[0] if still else None)
    one = call.memory(memory)
    found = rules.found(one, asset)
    answer = _commit(
        call, one, found, lambda current: rules.without(current, found), _Asked("detach", revision, confirm)
    )
    if one.owner is not None:
        tidy(call, one.owner)
    return answer


class _Asked:
    """What a caller wants done with a file, and says beside it."""

    def __init__(self, action: str, revision: int | None, confirm: bool) -> None:
        self.action, self.revision, self.confirm = action, revision, confirm


def _attached(call: Call, one: Memory, incoming: Incoming, asset: Asset, asked: _Asked) -> Attached:
    owner = one.owner or ""
    if there := rules.known(one, asset):  # it may be that its bytes were not here
        incoming.keep(owner)
        hint = "" if there.name == asset.name else f"It is attached already, as {there.name}, and keeps that name."
        return Attached(at=call.now, memory=one, asset=there, outcome="repeated", event=0, hint=hint)
    decide = _deciding(call, one, lambda current: rules.joined(current, asset), asked)
    decide()  # whatever would refuse it does so before anything is kept
    incoming.keep(owner)
    answer = _commit(call, one, asset, lambda current: rules.joined(current, asset), asked)
    if call.blobs.size(owner, asset.sha256) is None:  # somebody tidied up and did not see it coming
        incoming.keep(owner)
    return answer


def _commit(
    call: Call, one: Memory, asset: Asset, change: Callable[[Memory], tuple[Asset, ...]], asked: _Asked
) -> Attached:
    commit, decision = call.decide_and_commit(_deciding(call, one, change, asked))
    if commit.replayed:
        return _attached_before(call, commit.event, asset)
    memory = decision.memory.known_as(commit.handles.get(decision.memory.id, ""))
    return _answer(call, memory, asset, decision.outcome, commit.event.seq)


def _deciding(
    call: Call, one: Memory, change: Callable[[Memory], tuple[Asset, ...]], asked: _Asked
) -> Callable[[], tuple[Change, Admission]]:
    request: Request = call.request(confirm=asked.confirm)

    def decide() -> tuple[Change, Admission]:
        current = call.memory(one.id)
        lifecycle.require_revision(current, asked.revision)
        said = Proposal(
            text=current.text,
            scope=current.scope,
            kind=current.kind,
            citations=current.citations or None,
            assets=change(current),
            context=call.context,
        )
        prepared = prepare(said, request, call.policy)._replace(kind=None)
        # Its words stay, and with them what they contradict: nothing about that is decided anew.
        bearing = known(call, prepared, current)._replace(rivals=())
        decision = admission.revise(current, prepared, bearing, call.policy, request)
        return rules.told_as(asked.action, decision.change), decision

    return decide


def _answer(call: Call, memory: Memory, asset: Asset, outcome: str, event: int) -> Attached:
    if outcome == "revised":
        what = "attached" if rules.known(memory, asset) else "detached"
        return Attached(at=call.now, memory=memory, asset=asset, outcome=what, event=event)
    hint = "A person decides about it: engram review."
    if call.caller.human and outcome == "proposed":
        hint = "It waits, for the memory is curated: engram review. To decide at once, say --confirm."
    return Attached(at=call.now, memory=memory, asset=asset, outcome=outcome, event=event, hint=hint)


def _attached_before(call: Call, event: Event, still: Asset | None = None) -> Attached:
    """The first answer again, with the memory as it stands; `still` is what was to be detached and is there yet."""
    note = event.note
    outcome = str(note.get("outcome", "revised"))
    for memory in call.memories(event.subjects[:1]).values():
        if asset := still or _moved(event):
            return _answer(call, memory, asset, outcome, event.seq)._replace(replayed=True)
    raise no_longer_there()


def _moved(event: Event) -> Asset | None:
    """What an event attached or, where it attached nothing, detached."""
    for edit in event.edits:
        if edit.field == "assets":
            old, new = ([Asset(**each) for each in side or ()] for side in (edit.old, edit.new))
            added = [each for each in new if each not in old]
            return (added or [each for each in old if each not in new])[-1]
    return None


@contextmanager
def _arriving(call: Call, memory: str, file: str | Incoming) -> Iterator[Incoming]:
    """The bytes of a file, all of them come in; what is not kept afterwards goes."""
    if isinstance(file, Incoming):
        yield file
        return
    if not isinstance(file, str | os.PathLike):
        raise Invalid(f"{file!r} is not a file.", "Give the path of a file.")
    blocks = _blocks(os.fspath(file))
    first = next(blocks, b"")  # a file that cannot be read is told before anything is begun
    incoming = receive(call, memory)
    try:
        for block in chain([first], blocks):
            incoming.write(block)
        yield incoming
    finally:
        incoming.close()


def _blocks(path: str) -> Iterator[bytes]:
    """The bytes of a file, or of standard input.

    Raises:
        Invalid: when it cannot be read.
    """
    if path == "-" and sys.stdin is None:
        raise Invalid("There is no standard input to read.", "Give the path of a file.")
    try:
        with nullcontext(sys.stdin.buffer) if path == "-" else open(os.path.expanduser(path), "rb") as file:
            while block := file.read(BLOCK):
                yield block
    except IsADirectoryError:
        raise Invalid(f"{path} is a folder.", "Attach a file; pack a folder first.") from None
    except FileNotFoundError:
        raise Invalid(f"There is no file {path}.", "Give the path of a file.") from None
    except OSError as error:
        raise Invalid(f"{path} cannot be read: {error.strerror}.", "Give another file.") from None


def _target(path: str, name: str, *, overwrite: bool) -> str:
    """The file to write; it replaces another only when asked to."""
    if path == "-":
        return path
    target = os.path.abspath(os.path.expanduser(path or name))
    if os.path.isdir(target):
        target = os.path.join(target, name)
    if os.path.lexists(target) and not overwrite:
        raise Conflict(f"{target} is there already.", "Choose another name, or add --overwrite.")
    return target


def _write(target: str, blocks: Iterator[bytes]) -> None:
    """Write a private file that takes its name when all of it is there and checked."""
    with writing(target), whole_file(target) as file:
        for block in blocks:
            file.write(block)
