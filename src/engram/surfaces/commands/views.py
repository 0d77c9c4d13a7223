"""`engram views`: what is remembered as a block in the files agents read; every change is shown first."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from engram import config
from engram.errors import Conflict, EngramError, Invalid, Unavailable
from engram.projects import views
from engram.projects.detect import root_of
from engram.surfaces.commands.journal import read_plain, write_plain
from engram.surfaces.commands.showing import agreed, complain, diff_of, told
from engram.surfaces.render.paper import count, plain

if TYPE_CHECKING:
    from engram.model.answers import Brief
    from engram.model.answers_work import Routed
    from engram.service import Engram

PRIVATE = 0o600
"""The mode of a file that was not there: it holds memories. One that was there keeps its own."""

MOST_NOTES = 100
"""How many Markdown files of a root are looked at for a view."""


class Change(NamedTuple):
    """What is to become of a file: its bytes before and after (None: it is not there), or why it is left alone."""

    path: str
    before: bytes | None = None
    after: bytes | None = None
    remark: str = ""
    error: EngramError | None = None

    @property
    def needed(self) -> bool:
        """Whether the file has to be written or removed."""
        return self.error is None and self.before != self.after


class Asked(NamedTuple):
    """What the words of the command mean."""

    files: tuple[str, ...] = ()
    yes: bool = False
    remove: bool = False
    store: str = ""


def run(words: list[str], *, json: bool) -> int:
    """Usage: engram views [FILE ...] [--yes] [--remove] [--store PATH] [--json]

    Put what is remembered here into the files that agents read, as a block of its own: live memories of this
    project and of everywhere, within the budget, but nothing personal. Without FILE it is done for AGENTS.md,
    CLAUDE.md and CURSOR.md where they are, and for those that the setting `views` names. What has changed is shown
    as a diff first; it is written after a typed yes, or with --yes. What stands outside of the block is never
    touched. From then on `engram sync --apply` keeps the block up to date.

    Options:
      --yes         Write without asking.
      --remove      Take the block out; a file with nothing else in it goes as well.
      --store PATH  The store to read.
      --json        Answer in JSON, for machines.

    Examples:
      engram views
      engram views AGENTS.md --yes
      engram views --remove
    """  # noqa: D415 - it is the command's help
    asked = _asked(words)
    folder = _working_folder()
    root, paths = ("", _named(asked.files, folder)) if asked.files else _found(folder)
    told = None if asked.remove else _brief(asked.store)
    changes = [_planned(path, told, root) for path in paths]
    if not asked.files:
        changes = _once(changes)
    screen = _Screen(folder, changes, asked, told)
    written = False
    if not json:
        screen.show()
    if any(change.needed for change in changes) and (asked.yes or (not json and agreed(changes))):
        changes, written = [_carried_out(change) for change in changes], True
    screen = screen._replace(changes=changes)
    (screen.tell if json else screen.conclude)(written=written)
    return next((change.error.exit_code for change in changes if change.error), 0)


def with_views(engram: "Engram", routed: "Routed") -> "Routed":
    """The answer of a sync, with the agent files whose block drifted; applied, they are brought up to date.

    Only files that carry a block already are touched, and nobody is asked.
    """
    from engram.model.answers_work import Drift  # noqa: PLC0415 - start-up
    from engram.operations.routing import agent_view, next_step  # noqa: PLC0415 - start-up

    coming = [] if routed.applied else [one.memory for one in routed.routes if one.action == "append"]
    try:
        root, found = _found(_working_folder())
        paths = [path for path in found if _carries(path, root)]
        view = agent_view(engram.call(), coming) if paths else None
    except EngramError as error:
        return routed._replace(problems=(*routed.problems, f"{error.message} {error.hint}".rstrip()))
    changes = [_planned(path, view, root) for path in paths]
    if routed.applied:
        changes = [_carried_out(change) for change in changes]
    needed = [change for change in changes if change.needed]
    drift = (*routed.drift, *(Drift(each.path, "\n".join(diff_of(each, each.path))) for each in needed))
    return routed._replace(
        drift=drift,
        refreshed=(*routed.refreshed, *(each.path for each in needed)) if routed.applied else (),
        problems=(*routed.problems, *(f"{each.path}: {each.error.message}" for each in changes if each.error)),
        hint=next_step(routed.counts, drift, applied=routed.applied),
    )


# --- what is asked ---


def _asked(words: Sequence[str]) -> Asked:
    asked = Asked()
    rest = iter(words)
    for word in rest:
        if word in ("--yes", "-y"):
            asked = asked._replace(yes=True)
        elif word == "--remove":
            asked = asked._replace(remove=True)
        elif word == "--store" or word.startswith("--store="):
            asked = asked._replace(store=word.partition("=")[2] if "=" in word else next(rest, ""))
            if not asked.store:
                raise Invalid("--store needs a path.", "See engram views --help.")
        elif word.startswith("-"):
            raise Invalid(f"views takes no {word}.", "See engram views --help.")
        else:
            asked = asked._replace(files=(*asked.files, word))
    return asked


def _named(files: Sequence[str], folder: str) -> list[str]:
    paths = [os.path.normpath(os.path.join(folder, os.path.expanduser(name))) for name in files]
    for path in paths:
        views.require_words(path)
        if not os.path.isdir(os.path.dirname(path)):
            raise Invalid(f"There is no folder {os.path.dirname(path)}.", "Make it first, or name another file.")
    return list(dict.fromkeys(paths))


def _found(folder: str) -> tuple[str, list[str]]:
    """The root of the project a folder belongs to (the folder itself outside of one), and its agent files."""
    home = os.environ.get("HOME") or "/"
    try:
        root = root_of(folder, home)
    except Conflict:
        root = folder
    known = views.candidates(root, config.read(os.environ, folder).get("views"))
    return root, [*known, *(path for path in _notes(root) if path not in known and _carries(path, root))]


def _notes(root: str) -> list[str]:
    """The Markdown files that lie in the root: one of them may have been given a view by its name."""
    try:
        names = sorted(name for name in os.listdir(root) if name.endswith(".md"))
    except OSError:
        return []
    return [os.path.join(root, name) for name in names[:MOST_NOTES]]


def _brief(store: str) -> "Brief":
    from engram.operations.routing import agent_view  # noqa: PLC0415 - start-up
    from engram.wiring import open  # noqa: PLC0415 - start-up

    with open(store, channel="flag", making="never") as engram:
        return agent_view(engram.call())


def _working_folder() -> str:
    from engram.wiring.places import working_folder  # noqa: PLC0415 - start-up

    return os.path.realpath(working_folder())


# --- what is to be done ---


def _planned(path: str, told: "Brief | None", root: str) -> Change:
    """What a file becomes with a view, or without one where nothing is told; no link below the root is followed."""
    try:
        before = read_plain(path, root)
        if told is None:
            return Change(path, before, _without(before))
        if not told.included and not views.carries(before or b""):
            return Change(path, before, before, remark="Nothing is remembered for it yet.")
        return Change(path, before, views.written(before or b"", told.text))
    except EngramError as error:
        return Change(path, error=error)


def _without(before: bytes | None) -> bytes | None:
    if before is None:
        return None
    left = views.removed(before)
    return None if not left and left != before else left


def _once(changes: Sequence[Change]) -> list[Change]:
    """The changes without those by which a view would be read twice: in a link to, or an import of, another."""
    paths = [change.path for change in changes]
    kept = []
    for change in changes:
        other = views.repeated(change.path, paths, change.before or b"")
        if other and not views.carries(change.before or b""):
            remark = f"It gives its reader {os.path.basename(other)} already."
            kept.append(Change(change.path, change.before, change.before, remark=remark))
        else:
            kept.append(change)
    return kept


def _carries(path: str, root: str) -> bool:
    try:
        return views.carries(read_plain(path, root) or b"")
    except EngramError:
        return False


def _carried_out(change: Change) -> Change:
    if not change.needed:
        return change
    try:
        if read_plain(change.path) != change.before:
            raise Conflict("It changed while you looked at it.", "Run the same command again.")
        if change.after is None:
            os.unlink(change.path)
        else:
            write_plain(change.path, change.after, PRIVATE)
    except EngramError as error:
        return change._replace(error=error)
    except OSError as error:
        return change._replace(error=Unavailable(f"It cannot be written: {error.strerror}."))
    return change


# --- what is shown ---


class _Screen(NamedTuple):
    """What a person, or a machine, is told about a set of changes."""

    folder: str
    changes: Sequence[Change]
    asked: Asked
    told: "Brief | None"

    def show(self) -> None:
        """Every change, as a diff, and what is to be known before it is agreed to."""
        if not self.changes:
            print("There is no AGENTS.md, CLAUDE.md or CURSOR.md here.")
            print("Name the file to write: engram views AGENTS.md")
        for change in self.changes:
            if change.needed:
                print("\n".join([*map(plain, diff_of(change, self._short(change.path))), ""]))
            elif change.error:
                complain(change, self._short(change.path))
            elif change.remark:
                print(f"{self._short(change.path)} is left as it is. {change.remark}")
        if self.told and self.told.hint:
            print(self.told.hint)

    def conclude(self, *, written: bool) -> None:
        """What was done, and what comes next."""
        needed = [change for change in self.changes if change.needed]
        if written:
            for change in self.changes:
                if change.needed:
                    print(f"{'Removed' if change.after is None else 'Wrote'} {self._short(change.path)}")
                elif change.error and change.before != change.after:  # it failed after it was shown
                    complain(change, self._short(change.path))
        elif needed:
            words = [*(self._short(change.path) for change in needed), *["--remove"] * self.asked.remove, "--yes"]
            print(f"Nothing was written. To write {count(len(needed), 'file')}: engram views {' '.join(words)}")
        elif self.changes and not any(change.error or change.remark for change in self.changes):
            print("Nothing to take out." if self.asked.remove else "Nothing to change: every view is up to date.")

    def tell(self, *, written: bool) -> None:
        """The same as JSON."""
        import json  # noqa: PLC0415 - start-up

        files = [told(change, self._short(change.path)) for change in self.changes]
        view = self.told
        counts = {"memories": len(view.included), "left_out": view.left_out, "tokens": view.tokens} if view else {}
        answer = {"files": files, **counts, "hint": view.hint if view else "", "written": written}
        print(json.dumps(answer, ensure_ascii=False, indent=2))

    def _short(self, path: str) -> str:
        inside = path.startswith(os.path.join(self.folder, ""))
        return os.path.relpath(path, self.folder) if inside else path
