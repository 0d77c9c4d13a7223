"""Taking in what other stores hold: recognised by looking, streamed, and undone as one."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from engram.errors import Invalid, Unavailable
from engram.model.answers_store import Imported
from engram.operations import parameters as p
from engram.operations.base import Call, operation


@operation(
    "POST /v1/import",
    "engram import memories.jsonl --dry-run",
    "engram import mine.jsonl --trust",
    "engram import ~/.engram/engram.db --trust",
    "engram import MEMORY.md --dry-run",
    name="import",
    writes=True,
    adds=True,
    human=True,
    local=True,
)
def import_memories(
    call: Call,
    path: p.InPath,
    *,
    form: p.InForm = "",
    scope: p.ImportScope = "",
    trust: p.Trust = False,
    dry_run: p.DryRun = False,
) -> Imported:
    """Take in what another store or memory system holds.

    A file or a folder, whose format is detected; one `undo` takes it all back. What comes from outside waits for
    review. With --trust, for data of your own, memories keep the status they had, and those without one go live
    unless they contradict something. An interrupted import resumes when you run it again.
    """
    from engram.interop.forms import recognise  # noqa: PLC0415 - start-up
    from engram.operations.intake import Taking, called  # noqa: PLC0415 - start-up
    from engram.rules.hands import Hands  # noqa: PLC0415 - start-up

    with _at_hand(path) as file:
        source, found = recognise(file, form, called=called(path))
        taking = Taking(call, path, found, scope, trust=trust, dry_run=dry_run)
        try:
            for thing in found.read(source._replace(hands=Hands(call.policy))):
                taking.take(thing)
            done = taking.finish()
        except OSError as error:
            message = f"{called(path)} cannot be read: {error.strerror or error}."
            raise Unavailable(message, "Check the path.") from None
        except Unavailable as error:
            raise taking.stopped_by(error) from None
        except KeyboardInterrupt:
            raise KeyboardInterrupt(*taking.interrupted()) from None
        if form and set(done.outcomes) == {"skipped"} and not (done.sessions or done.relations):
            _require_fitting(file, form, done)
        return done


def _require_fitting(file: str, form: str, done: Imported) -> None:
    """Check that a file of which nothing was taken in does not look like another form than the one named.

    Raises:
        Invalid: when it does, or like none.
    """
    from engram.interop.forms import recognise  # noqa: PLC0415 - start-up
    from engram.operations.intake import called  # noqa: PLC0415 - start-up

    try:
        looks = recognise(file, "")[1].name
    except Invalid:
        looks = ""
    if looks != form:
        hint = f"It looks like {looks}: leave --form out." if looks else "Leave --form out, or name another form."
        raise Invalid(f"Nothing in {called(done.path)} reads as {form}. {done.problems[0]}", hint)


@contextmanager
def _at_hand(path: str) -> Iterator[str]:
    """The path of what is to be read; standard input is kept in a private file for as long as it is needed."""
    if path != "-":
        yield os.path.expanduser(path)
        return
    from shutil import copyfileobj  # noqa: PLC0415 - start-up
    from tempfile import NamedTemporaryFile  # noqa: PLC0415 - start-up

    if sys.stdin is None:
        raise Invalid("There is no standard input to read.", "Give the path of a file.")
    with NamedTemporaryFile(prefix="engram-") as file:
        copyfileobj(getattr(sys.stdin, "buffer", sys.stdin), file)
        file.flush()
        yield file.name
