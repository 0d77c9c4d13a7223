"""Changes of files that a person sees first: as a diff, with one question, and with what stands in the way."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from engram.errors import EngramError
from engram.model.diffs import unified
from engram.surfaces.render.paper import count


class Change(Protocol):
    """What is to become of a file: its bytes before and after (None: it is not there), or why it is left alone."""

    @property
    def path(self) -> str: ...  # noqa: D102
    @property
    def before(self) -> bytes | None: ...  # noqa: D102
    @property
    def after(self) -> bytes | None: ...  # noqa: D102
    @property
    def remark(self) -> str: ...  # noqa: D102
    @property
    def error(self) -> EngramError | None: ...  # noqa: D102
    @property
    def needed(self) -> bool: ...  # noqa: D102


def diff_of(change: Change, name: str) -> Iterator[str]:
    """A change as a diff of the file under this name."""
    before, after = (
        None if data is None else data.decode(errors="replace") for data in (change.before, change.after)
    )
    return unified(name, before, after)


def agreed(changes: Sequence[Change]) -> bool:
    """Whether a person at a terminal says yes."""
    if not all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout)):
        return False
    many = sum(change.needed for change in changes)
    try:
        return input(f"Type yes to write {count(many, 'file')}: ").strip().lower() == "yes"
    except EOFError:
        return False


def complain(change: Change, name: str) -> None:
    """Why a file is left as it is."""
    if change.error is None:
        return
    print(f"{name} is left as it is. {change.error.message}", file=sys.stderr)
    if change.error.hint:
        print(f"  {change.error.hint}", file=sys.stderr)


def told(change: Change, name: str, **more: object) -> dict[str, Any]:
    """A change, for machines; `more` stands after its path."""
    return {
        "path": change.path,
        **more,
        "change": _kind(change),
        "diff": "\n".join(diff_of(change, name)) if change.needed else "",
        **({"remark": change.remark} if change.remark else {}),
        **({"error": change.error.body()} if change.error else {}),
    }


def _kind(change: Change) -> str:
    if change.error:
        return "refused"
    if not change.needed:
        return "none"
    return "create" if change.before is None else "remove" if change.after is None else "edit"
