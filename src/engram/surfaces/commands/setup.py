"""`engram setup`: connect the agents on this machine, showing every change first; and take it back to the byte."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from engram import config
from engram.errors import Conflict, EngramError, Invalid, Unavailable
from engram.projects import edits
from engram.projects.agents import AGENTS, Agent, Home, Target, launch, named
from engram.projects.edits import Piece
from engram.surfaces.commands.journal import Journal, Record, digest, read_plain, write_plain
from engram.surfaces.commands.showing import agreed, complain, diff_of, told
from engram.surfaces.render.paper import count

NOTHING = b""
STORE = "ENGRAM_STORE"
EARLIER = "Engram was in it before it was set up: that stays."

LONG = 200
AROUND = 60
"""Characters from which a line is shown in part, and how many of what stays are shown beside what changes."""


class Change(NamedTuple):
    """What is to become of a file: its bytes before and after, and without us (None: it is not there).

    `known` is what the journal says of it, and `record` what it is to say from then on. `connects` are the agents
    whose server is in the file.
    """

    path: str
    agents: tuple[str, ...]
    connects: tuple[str, ...] = ()
    before: bytes | None = None
    after: bytes | None = None
    base: bytes | None = None
    known: Record | None = None
    record: Record | None = None
    mode: int = 0o600
    remark: str = ""
    error: EngramError | None = None

    @property
    def needed(self) -> bool:
        """Whether the file has to be written or removed."""
        return self.error is None and self.before != self.after


def run(words: list[str], *, json: bool) -> int:
    """Usage: engram setup [AGENT ...] [--yes] [--remove] [--json]

    Connect agents to this memory: the MCP server, hooks where the agent has them, and a short block of
    instructions. Without AGENT it is done for those that are found on this machine. Every change is shown as a
    diff first; it is written after a typed yes, or with --yes. Only files of your own are touched, none in a
    repository. What was there before is kept, and --remove brings it back to the byte.

    Agents: claude-code, codex, cursor, vscode, gemini-cli, antigravity, opencode, windsurf, zed, cline.

    Options:
      --yes     Write without asking.
      --remove  Take out what an earlier setup wrote, for these agents or for all.
      --json    Answer in JSON, for machines.

    Examples:
      engram setup
      engram setup claude-code --yes
      engram setup --remove
    """  # noqa: D415 - it is the command's help
    options = {word for word in words if word.startswith("-")}
    if unknown := sorted(options - {"--yes", "-y", "--remove"}):
        raise Invalid(f"setup takes no {unknown[0]}.", "See engram setup --help.")
    home = Home(config.home_folder(os.environ), os.environ)
    journal = Journal(os.path.join(config.data_folder(os.environ), "setup"))
    removing = "--remove" in options
    chosen = [named(word) for word in words if not word.startswith("-")]
    agents = _in_order(chosen) or (list(AGENTS) if removing else [one for one in AGENTS if one.found(home)])
    changes = (_removals if removing else _additions)(agents, home, journal)
    remark = "" if removing else "\n".join(filter(None, (_place_remark(), _store_remark())))
    screen = _Screen(home, agents, changes, removing, remark)
    written = False
    if not json:
        screen.show()
    if any(change.needed for change in changes) and (options & {"--yes", "-y"} or (not json and agreed(changes))):
        changes, written = _carried_out(changes, journal, removing=removing), True
    elif not any(change.needed for change in changes):
        _noted(changes, journal)
    screen = screen._replace(changes=changes)
    if json:
        screen.tell(written=written)
    else:
        screen.conclude(written=written)
    return next((change.error.exit_code for change in changes if change.error), 0)


def _place_remark() -> str:
    """What to know where agents start a program that lies in a checkout: it goes when the checkout does."""
    program = launch().program
    environment = os.path.dirname(os.path.dirname(program))
    checkout = os.path.dirname(environment)
    if not os.path.exists(os.path.join(environment, "pyvenv.cfg")):
        return ""
    if not any(os.path.exists(os.path.join(checkout, name)) for name in (".git", "pyproject.toml")):
        return ""
    return (
        f"Agents start {program}, which lies in a checkout and goes with it.\n"
        f"To let them start one that stays, install it first (pipx install {checkout}), and run its engram setup."
    )


def _store_remark() -> str:
    """What to know where this shell has a store of its own: nobody hands its variables to the agents."""
    variables = {name: value for name, value in os.environ.items() if name != STORE}
    here, there = (config.read(each, os.sep).get("store") for each in (os.environ, variables))
    if here == there:
        return ""
    return (
        f"{STORE} is set in this shell, and agents may not see it. To let them use the same store, write\n"
        f'  store = "{here if ":" in here else os.path.abspath(os.path.expanduser(here))}"\n'
        f"into {config.user_file(os.environ)}."
    )


def _in_order(chosen: Sequence[Agent]) -> list[Agent]:
    return [agent for agent in AGENTS if agent in chosen]


# --- what is to be done ---


def _additions(agents: Sequence[Agent], home: Home, journal: Journal) -> list[Change]:
    """What is written for some agents: nothing for one whose server cannot be, since the rest needs it."""
    changes = _planned(agents, home, journal)
    stopped = {name for change in changes if change.error for name in change.connects}
    if not stopped:
        return changes
    refused = [change for change in changes if change.error and not {*change.agents} - stopped]
    return refused + _planned([agent for agent in agents if agent.name not in stopped], home, journal)


def _planned(agents: Sequence[Agent], home: Home, journal: Journal) -> list[Change]:
    changes = []
    for path, (names, targets) in _by_path(agents, home).items():
        record = journal.records.get(path)
        connects = tuple(agent.name for agent in agents if agent.targets(home, launch())[0].path == path)
        change = Change(path, names, connects, mode=targets[0].mode, known=record, record=record)
        try:
            before = read_plain(path, home.folder)
            after = edits.apply(before or NOTHING, _pieces(targets))
            # What we have no record of is the person's own, even if it speaks of Engram.
            base = before if record is None else _without(before, record, _pieces(targets), journal)
        except EngramError as error:
            changes.append(change._replace(error=error))
            continue
        if record is not None:  # another agent may share the file
            record = record._replace(agents=tuple(dict.fromkeys([*record.agents, *names])))
        changes.append(change._replace(before=before, after=after, base=base, record=record))
    return changes


def _removals(agents: Sequence[Agent], home: Home, journal: Journal) -> list[Change]:
    leaving = {agent.name for agent in agents}
    ours = _by_path(agents, home)
    others = _by_path([agent for agent in AGENTS if agent.name not in leaving], home)
    changes = []
    for path in dict.fromkeys([*ours, *(path for path, one in journal.records.items() if leaving & {*one.agents})]):
        record = journal.records.get(path)
        agents_there = record.agents if record else ()
        staying = tuple(name for name in agents_there if name not in leaving)
        shared = _pieces(others[path][1]) if staying and path in others else ()
        pieces = [piece for piece in _pieces(ours[path][1]) if piece not in shared] if path in ours else []
        names = tuple(name for name in agents_there if name in leaving) or ours[path][0]
        change = Change(path, names, known=record, record=record)
        before = None
        try:
            before = read_plain(path, home.folder)
            known = None if staying else record  # what others need keeps the file from going back whole
            after = _without(before, known, pieces, journal)
            earlier = known is not None and after is not None and edits.strip(after, pieces) != after != before
            if path not in ours and after == before is not None:
                raise Conflict(
                    "It was changed since, and its agent looks elsewhere now.", "Take out engram by hand."
                )
        except EngramError as error:
            # Where no setup wrote there is nothing to take out, unless it can be read and calls Engram.
            if record is not None or (before is not None and isinstance(error, Conflict)):
                changes.append(change._replace(error=error))
            continue
        change = _removal(change._replace(before=before, after=after), record, staying)
        changes.append(change._replace(remark=EARLIER) if earlier else change)
    return changes


def _removal(change: Change, record: Record | None, staying: tuple[str, ...]) -> Change:
    """What the journal says after a removal, and what a person should know about it."""
    before, after = change.before, change.after
    untouched = record is not None and before is not None and digest(before) == record.after
    if staying and record is not None:
        left = digest(after) if untouched and after is not None else record.after
        return change._replace(record=record._replace(agents=staying, after=left))
    remark = (
        "" if untouched or record is None else "It was changed since it was set up: only our parts are taken out."
    )
    return change._replace(record=None, remark=remark if before != after else "")


def _without(now: bytes | None, record: Record | None, pieces: Sequence[Piece], journal: Journal) -> bytes | None:
    """A file as it is without us: the bytes it had if it is as we left it, else ours taken out of what it is."""
    if now is None:
        return None
    old = journal.backup(record) if record is not None else None
    if record is not None and digest(now) == record.after:
        return old
    left = edits.strip(now, pieces, old or NOTHING)
    return None if left == NOTHING and left != now and old is None else left


def _by_path(agents: Sequence[Agent], home: Home) -> dict[str, tuple[tuple[str, ...], list[Target]]]:
    """The files of several agents, each once, with those it is for."""
    start = launch()
    found: dict[str, tuple[tuple[str, ...], list[Target]]] = {}
    for agent in agents:
        for target in agent.targets(home, start):
            names, known = found.get(target.path, ((), []))
            found[target.path] = ((*names, agent.name), [*known, target])
    return found


def _pieces(targets: Iterable[Target]) -> tuple[Piece, ...]:
    """The pieces of several targets, each once: two agents may share a file and what is in it."""
    found: list[Piece] = []
    for target in targets:
        found += (piece for piece in target.pieces if piece not in found)
    return tuple(found)


# --- doing it ---


def _carried_out(changes: Sequence[Change], journal: Journal, *, removing: bool) -> list[Change]:
    """Every change made, or with what kept it from being made; an agent without its server gets nothing else."""
    done: list[Change] = []
    stopped: set[str] = set()
    with journal.held():
        for change in changes:
            if change.needed and not {*change.agents} - stopped:
                after = change._replace(error=Conflict("Its agent's server could not be written."))
            else:
                after = _made(change, journal, removing=removing)
            stopped |= {*after.connects} if after.error else set()
            done.append(after)
    return done


def _made(change: Change, journal: Journal, *, removing: bool) -> Change:
    if change.error is not None:
        return change
    try:
        if journal.records.get(change.path) != change.known:
            raise Conflict("Another engram setup was there while you looked at it.", "Run the same command again.")
        if change.needed and read_plain(change.path) != change.before:
            raise Conflict("It changed while you looked at it.", "Run the same command again.")
        if change.needed and not removing:
            _put(change, journal)
        else:
            _take_back(change, journal)
    except EngramError as error:
        return change._replace(error=error)
    except OSError as error:
        return change._replace(error=Unavailable(f"It cannot be written: {error.strerror}."))
    return change


def _noted(changes: Sequence[Change], journal: Journal) -> None:
    """Note who needs which file, where no file has to change for it."""
    news = [change for change in changes if change.error is None and change.record != change.known]
    if news:
        with journal.held():
            same = [change for change in news if journal.records.get(change.path) == change.known]
            journal.keep({change.path: change.record for change in same})


def _put(change: Change, journal: Journal) -> None:
    """Keep what was there, note what is to be, and write: whatever is cut off between leaves a way back."""
    assert change.after is not None
    agents = change.record.agents if change.record else change.agents
    journal.keep({change.path: journal.kept(change.base, agents, digest(change.after))})
    journal.keep({}, made=write_plain(change.path, change.after, change.mode))


def _take_back(change: Change, journal: Journal) -> None:
    """Bring a file back, if it has to be, and then note who still needs it."""
    if change.needed and change.after is None:
        os.unlink(change.path)
    elif change.needed and change.after is not None:
        write_plain(change.path, change.after, change.mode)
    journal.keep({change.path: change.record})


# --- what is shown ---


class _Screen(NamedTuple):
    """What a person, or a machine, is told about a set of changes."""

    home: Home
    agents: Sequence[Agent]
    changes: Sequence[Change]
    removing: bool
    remark: str = ""

    def show(self) -> None:
        """Every change as a diff, and then what is left alone and what else to know before a yes."""
        if not self.agents:
            print("No agent was found on this machine.")
            print(f"Name one: engram setup NAME. Known are {', '.join(agent.name for agent in AGENTS)}.")
        for change in self.changes:
            if change.needed:
                shown = _folded(list(diff_of(change, self._short(change.path))))
                print("\n".join([*shown, *([change.remark] if change.remark else []), ""]))
        if self.remark and any(change.needed for change in self.changes):
            print(f"{self.remark}\n")
        sys.stdout.flush()  # what is said to standard error comes after it
        for change in self.changes:
            if change.error:
                complain(change, self._short(change.path))

    def conclude(self, *, written: bool) -> None:
        """What was done, what was not, and what comes next."""
        needed = [change for change in self.changes if change.needed]
        if written:
            for change in needed:
                print(f"{self._done(change)} {self._short(change.path)}")
            print("\n".join([*([""] if needed else []), *self._left_alone(), *self._next(needed)]))
        elif needed:
            names = (agent.name for agent in self._touched(needed))
            words = " ".join([*(["--remove"] if self.removing else []), *names])
            print(f"Nothing was written. To {self._to_do(needed)}: engram setup {words} --yes")
        elif self.agents:
            else_ = " else" if any(change.error for change in self.changes) else ""
            all_ = "the rest" if else_ else "all"
            print(
                f"Nothing{else_} to take out." if self.removing else f"Nothing{else_} to change: {all_} is set up."
            )

    def tell(self, *, written: bool) -> None:
        """The same as JSON."""
        import json  # noqa: PLC0415 - set-up alone

        files = [told(each, self._short(each.path), agents=list(each.agents)) for each in self.changes]
        names = [agent.name for agent in self.agents]
        answer = {
            "agents": names,
            "files": files,
            "written": written,
            **({"remark": self.remark} if self.remark else {}),
        }
        print(json.dumps(answer, ensure_ascii=False, indent=2))

    def _left_alone(self) -> list[str]:
        """What was not done, after everything else: a refusal above a long diff is out of sight."""
        refused = [change for change in self.changes if change.error]
        if not refused:
            return []
        were = "1 file was" if len(refused) == 1 else f"{len(refused)} files were"
        stopped = {name for change in refused for name in change.connects}
        titles = [agent.title for agent in self.agents if agent.name in stopped]
        lines = [f"  {self._short(change.path)}: {change.error.message}" for change in refused if change.error]
        without = [f"Not connected: {', '.join(titles)}. Without its server nothing else is written."]
        return [f"{were} left alone:", *lines, *(without if titles else [])]

    def _touched(self, needed: Sequence[Change]) -> list[Agent]:
        """The agents that a change is for."""
        return [agent for agent in self.agents if any(agent.name in change.agents for change in needed)]

    def _to_do(self, needed: Sequence[Change]) -> str:
        """What a yes would do to how many files."""
        gone = sum(change.after is None for change in needed)
        kept = len(needed) - gone
        verb = "restore" if self.removing else "write"
        parts = [f"{verb} {count(kept, 'file')}"] * bool(kept) + [f"remove {count(gone, 'file')}"] * bool(gone)
        return " and ".join(parts)

    def _next(self, needed: Sequence[Change]) -> list[str]:
        touched = self._touched(needed)
        if not touched:
            return []
        lines = [f"Next: restart {', '.join(agent.title for agent in touched)}."]
        if not self.removing:
            lines += [agent.note for agent in touched if agent.note]
            lines.append(f"To take it back: engram setup --remove {' '.join(agent.name for agent in touched)}")
        return lines

    def _done(self, change: Change) -> str:
        if change.after is None:
            return "Removed"
        return "Restored" if self.removing and not change.remark else "Wrote"

    def _short(self, path: str) -> str:
        inside = path.startswith(self.home.folder + os.sep)
        return "~" + path[len(self.home.folder) :] if inside else path


def _folded(diff: Sequence[str]) -> list[str]:
    """A diff to be read: of a long line that changes, what changes; of a long line that stays, its beginning."""
    lines, start = list(diff), 2  # the two names come first
    while start < len(lines):
        middle = _run(lines, start, "-")
        end = _run(lines, middle, "+")
        for old, new in zip(range(start, middle), range(middle, end), strict=False):
            lines[old], lines[new] = _around(lines[old], lines[new])
        if start == end and len(lines[start]) > LONG:
            lines[start] = f"{lines[start][:LONG]}…"
        start = max(end, start + 1)
    return lines


def _run(lines: Sequence[str], start: int, mark: str) -> int:
    """Where the lines with a mark end, and the notes about a missing newline among them."""
    while start < len(lines) and lines[start].startswith((mark, "\\")):
        start += 1
    return start


def _around(old: str, new: str) -> tuple[str, str]:
    """Two versions of a line, a long one without what they share but for a few words beside what changes."""
    if max(len(old), len(new)) <= LONG:
        return old, new
    head = _alike(old[1:], new[1:]) + 1
    tail = _alike(old[head:][::-1], new[head:][::-1])
    return _middle(old, head, tail), _middle(new, head, tail)


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with that are the same."""
    pairs = zip(one, other, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _middle(line: str, head: int, tail: int) -> str:
    start, end = max(1, head - AROUND), min(len(line), len(line) - tail + AROUND)
    return line[0] + ("…" if start > 1 else "") + line[start:end] + ("…" if end < len(line) else "")
