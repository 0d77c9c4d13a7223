"""A process under strace: killed or refused at its n-th call, or replayed on a disk that loses its power.

What a process wrote and synced is read from its system calls, so that the same probe is done to any program. A
`Trace` is that record; it has the disk at any moment, and what is left of the disk without power is:

- of a file what was synced; of what was written since, nothing or any part of it in pages, as the dice fall;
- of a folder the names that were synced; of later changes of names none, or those up to some moment.

A name is only safe when its folder was synced: that the file was is not enough, though many file systems keep it.
"""

import os
import random
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

PAGE = 4096
LONGEST = 64 << 20
"""What one call may write before strace would cut it short."""

CALLS = (
    "open,openat,creat,write,writev,pwrite64,pwritev,pwritev2,lseek,fsync,fdatasync,ftruncate,fallocate,"
    "rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,rmdir"
)

FAST = "--seccomp-bpf"
"""Stop a process at the calls that are asked for, and not at every one."""

FOLDER = None
"""What stands for a folder where a file has its content."""


def strace(log: Path | str, *words: str) -> list[str]:
    """The beginning of a command that runs another one under strace; a test skips where there is none."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed: python tools/debian.py")
    return ["strace", "-f", "-qq", "-o", str(log), *words]


def traced(log: Path, command: Sequence[str]) -> list[str]:
    """The command, with a record of whatever it writes."""
    return [*strace(log, FAST, "-y", "-xx", "-s", str(LONGEST), "-e", f"trace={CALLS}"), *command]


def hurt(command: Sequence[str], calls: str, how: str, when: str) -> list[str]:
    """The command, in which such calls fail (`error=EIO`) or end it (`signal=KILL`): one of them, or every n-th.

    Calls of each name are counted apart, and those of each thread: of several names the most frequent one is hurt.
    `-p PID` as the command takes a process that runs, with all that it starts from then on.
    """
    fast = (FAST,) if how.startswith("error") else ()  # which sends no signal
    return [
        *strace("/dev/null", *fast, "-e", f"trace={calls}", "-e", f"inject={calls}:{how}:when={when}"),
        *command,
    ]


class Moment(NamedTuple):
    """A call before which a process can be killed: the so many-th of its name, which is how strace counts them."""

    name: str
    nth: int
    told: str

    def kills(self, command: Sequence[str] = ()) -> list[str]:
        """The command, which ends there."""
        return hurt(command, self.name, "signal=KILL", str(self.nth))


def moments(log: Path) -> list[Moment]:
    """The calls of a record in order, but for those of other processes and threads: these are counted apart."""
    found = re.findall(r"(?m)^(\d+) +((\w+)\(.*)", log.read_text(encoding="utf-8", errors="replace"))
    counts: Counter[str] = Counter()
    made = []
    for who, told, name in found:
        if who == found[0][0]:
            counts[name] += 1
            made.append(Moment(name, counts[name], told))
    return made


class Call(NamedTuple):
    """A call that was answered: its name, its words as strace tells them, its result.

    `number` counts the answers of all; `begun` says how many there had been when this call was made.
    """

    name: str
    words: str
    result: str
    begun: int
    number: int

    @property
    def family(self) -> str:
        """What kind of call it is."""
        return _FAMILY[self.name]

    @property
    def handle(self) -> str:
        """The open file it is about, or the one that it opened."""
        return (self.result if self.family == "open" else self.words).partition("<")[0]

    def paths(self) -> list[str]:
        """The files it is about: open, or named, which is seen from the folder before it."""
        found, here = [], ""
        for open_at, named in re.findall(r'(?:\d+|AT_FDCWD)<((?:\\x..)*)>|"((?:\\x..)*)"', self.words):
            if self.family == "write":
                return [_text(open_at)]
            found.append(_text(open_at) or os.path.normpath(os.path.join(here, _text(named))))
            here = _text(open_at) or here
        return found

    def data(self) -> bytes:
        """What it writes."""
        return b"".join(_bytes(each) for each in re.findall(r'"((?:\\x..)*)"', self.words))

    def numbers(self) -> list[int]:
        """The numbers at its end, from the last to the first."""
        return [int(each) for each in reversed(re.findall(r"(?<=, )(\d+)(?=,|$)", self.words))]


class File:
    """A file: as programs see it, as it was synced, and what was done to it since, in order."""

    def __init__(self, content: bytes = b"") -> None:
        self.seen, self.synced = bytearray(content), content
        self.since: list[tuple[int, int, bytes]] = []  # when, where, what; without bytes: cut or made longer

    def write(self, when: int, at: int, data: bytes) -> None:
        _put(self.seen, at, data)
        self.since += [(when, at + step, data[step : step + PAGE]) for step in range(0, len(data), PAGE)]

    def resize(self, when: int, size: int) -> None:
        _resize(self.seen, size)
        self.since.append((when, size, b""))

    def sync(self, begun: int) -> None:
        """What was done before the sync was asked for is safe."""
        content = bytearray(self.synced)
        for _, at, data in (done := [each for each in self.since if each[0] < begun]):
            _put(content, at, data) if data else _resize(content, at)
        self.synced, self.since = bytes(content), self.since[len(done) :]

    def left(self, dice: random.Random | None) -> bytes:
        """What is there when the power comes back."""
        content = bytearray(self.synced)
        for _, at, data in self.since if dice else ():
            if dice and dice.random() < 0.5:
                _put(content, at, data) if data else _resize(content, at)
        return bytes(content)


class Disk:
    """The files below a folder, as calls change them."""

    def __init__(self, root: Path, before: Path | None = None) -> None:
        self.root = str(root)
        self.names: dict[str, File | None] = {self.root: FOLDER}
        for path in sorted(before.rglob("*")) if before else ():
            if path.is_dir() or path.is_file():
                name = os.path.join(self.root, path.relative_to(before))
                self.names[name] = FOLDER if path.is_dir() else File(path.read_bytes())
        self._kept = dict(self.names)
        self._pending: list[tuple[str, File | None, bool]] = []  # name, what it is now, whether it is
        self._places: dict[tuple[str, str], int] = {}  # an open file → where it is written next; -1: at its end

    def do(self, call: Call) -> None:
        """Let one call happen."""
        paths = [each for each in call.paths() if each == self.root or each.startswith(f"{self.root}/")]
        files = [each for each in paths if self.names.get(each, "") is not FOLDER]
        if call.family == "sync" and paths and not files:
            self._sync_folder(paths[0])
        elif call.family == "open" and files:
            self._open(call, files[-1])
        elif call.family in ("rename", "link") and files:
            self._name(files[1], self._file(files[0]))
            if call.family == "rename":
                self._unname(files[0])
        elif call.family == "unlink" and paths:
            self._unname(paths[-1])
        elif call.family == "mkdir" and files:
            self._name(files[-1], FOLDER)
        elif files and files[0] in self.names:  # else its name is gone, and with it whoever could read it
            self._change(call, files[0], self._file(files[0]))

    def _open(self, call: Call, path: str) -> None:
        if path not in self.names:
            if "O_CREAT" not in call.words and call.name != "creat":
                return
            self._name(path, File())
        if "O_TRUNC" in call.words:
            self._file(path).resize(call.number, 0)
        self._places[call.handle, path] = -1 if "O_APPEND" in call.words else 0

    def _change(self, call: Call, path: str, file: File) -> None:
        key, numbers = (call.handle, path), call.numbers()
        match call.family:
            case "sync":
                file.sync(call.begun)
            case "seek" if self._places.get(key, -1) >= 0:
                self._places[key] = int(call.result)
            case "resize":
                file.resize(call.number, numbers[0])
            case "allocate":
                file.resize(call.number, max(len(file.seen), numbers[0] + numbers[1]))
            case "write":
                data, at = call.data()[: int(call.result)], self._places.get(key, -1)
                if call.name.startswith("p"):
                    file.write(call.number, numbers[call.name == "pwritev2"], data)
                else:
                    file.write(call.number, len(file.seen) if at < 0 else at, data)
                    self._places[key] = at if at < 0 else at + len(data)

    def _sync_folder(self, folder: str) -> None:
        later = []
        for name, what, there in self._pending:
            if os.path.dirname(name) == folder:
                _set(self._kept, name, what, there=there)
            else:
                later.append((name, what, there))
        self._pending = later

    def _file(self, path: str) -> File:
        file = self.names[path]
        assert file is not FOLDER, path
        return file

    def _name(self, path: str, what: File | None) -> None:
        _set(self.names, path, what, there=True)
        self._pending.append((path, what, True))

    def _unname(self, path: str) -> None:
        _set(self.names, path, None, there=False)
        self._pending.append((path, None, False))

    def without_power(self, folder: Path, dice: random.Random | None = None, *, names_last: bool = False) -> None:
        """Write what is left into a new folder: only what was synced, or that and what chance kept of the rest.

        `names_last` is a file system that never loses a name or a change of one.
        """
        names = dict(self.names if names_last else self._kept)
        for name, what, there in self._pending[: dice.randint(0, len(self._pending))] if dice else ():
            _set(names, name, what, there=there)
        folder.mkdir(mode=0o700)
        for name, what in sorted(names.items()):
            target = folder / os.path.relpath(name, self.root)
            if name == self.root or not target.parent.is_dir():  # nothing is in a folder that is not there
                continue
            if what is FOLDER:
                target.mkdir(mode=0o700)
            else:
                target.write_bytes(what.left(dice))
                target.chmod(0o600)


_FAMILY = {
    **dict.fromkeys(("open", "openat", "creat"), "open"),
    **dict.fromkeys(("write", "writev", "pwrite64", "pwritev", "pwritev2"), "write"),
    **dict.fromkeys(("fsync", "fdatasync"), "sync"),
    **dict.fromkeys(("rename", "renameat", "renameat2"), "rename"),
    **dict.fromkeys(("link", "linkat"), "link"),
    **dict.fromkeys(("unlink", "unlinkat", "rmdir"), "unlink"),
    **dict.fromkeys(("mkdir", "mkdirat"), "mkdir"),
    "lseek": "seek",
    "ftruncate": "resize",
    "fallocate": "allocate",
}


class Trace:
    """All that a command did below a folder, and to a file of witness that no power cut takes away."""

    def __init__(self, log: Path, root: Path, witness: Path, before: Path | None = None) -> None:
        self._root, self._before = root, before
        self._calls: list[Call] = []
        self._noted: list[tuple[int, bytes]] = []
        for call in _calls(log):
            if call.family == "write" and call.paths() == [str(witness)]:
                self._noted.append((len(self._calls), call.data()))
            else:
                self._calls.append(call)

    def __len__(self) -> int:
        return len(self._calls) + 1

    @property
    def begun(self) -> int:
        """The moment of the first word of the witness."""
        return self._noted[0][0]

    @property
    def noted(self) -> list[int]:
        """The moments of all its words."""
        return [when for when, _ in self._noted]

    def walk(self, moments: Sequence[int]) -> Iterator[tuple[bytes, Disk]]:
        """After so many calls each, from the earliest on: what the witness had said, and the disk."""
        disk, done = Disk(self._root, self._before), 0
        for moment in moments:
            for call in self._calls[done:moment]:
                disk.do(call)
            done = max(done, moment)
            yield b"".join(said for when, said in self._noted if when <= moment), disk


def _calls(log: Path) -> Iterator[Call]:
    """The calls that succeeded, in the order in which they were answered."""
    under_way: dict[str, tuple[str, int]] = {}
    done = 0
    with log.open(encoding="ascii", errors="replace") as lines:
        for line in lines:
            who, _, told = line.rstrip("\n").partition(" ")
            told = told.strip()
            if told.endswith("<unfinished ...>"):
                under_way[who] = (told.removesuffix("<unfinished ...>"), done)
                continue
            begun = done
            if resumed := re.match(r"<\.\.\. \w+ resumed>", told):
                before, begun = under_way.pop(who, ("", done))
                told = before.rstrip() + told[resumed.end() :]
            whole = re.fullmatch(r"(\w+)\((.*)\) += (\d+.*)", told)
            if whole and whole[1] in _FAMILY:
                assert '"...' not in whole[2], "a write was too long for the record"
                yield Call(whole[1], whole[2], whole[3].split(" ")[0], begun, done)
                done += 1


def _set(names: dict[str, File | None], name: str, what: File | None, *, there: bool) -> None:
    if there:
        names[name] = what
    else:
        names.pop(name, None)


def _put(content: bytearray, at: int, data: bytes) -> None:
    if len(content) < at:
        content.extend(bytes(at - len(content)))
    content[at : at + len(data)] = data


def _resize(content: bytearray, size: int) -> None:
    del content[size:]
    content.extend(bytes(size - len(content)))


def _bytes(hexes: str) -> bytes:
    return bytes.fromhex(hexes.replace("\\x", ""))


def _text(hexes: str) -> str:
    return os.fsdecode(_bytes(hexes))
