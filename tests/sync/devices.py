"""Machines for tests of sync: each has a store, a clone of one repository, a clock, and commands in words."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import engram
from engram.model.codec import encode
from engram.model.filter import ANYTHING
from engram.model.memory import Memory

START = datetime(2026, 5, 1, 9, tzinfo=UTC)
PLACE = Path(".engram") / "sync"
LOCAL = {"revision", "updated_at"}
FORMS = ("ram:", "sqlite:", "files:")
ON_DISK = FORMS[1:]


class Clock:
    """A clock that a test sets forward."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now


class Device:
    """One machine. `clone` is its working tree of the shared repository."""

    def __init__(
        self,
        folder: Path,
        name: str,
        *,
        store: str = "ram:",
        clock: Callable[[], datetime] | None = None,
        project: str = "acme",
    ):
        """A machine that calls the repository's project by a name; without one, the folder tells.

        Its store is of one form, `ram:`, `sqlite:` or `files:`: where it lies is the machine's, `path`.
        """
        assert store in FORMS, f"A machine's store is one of {', '.join(FORMS)}, not {store!r}."
        self.name, self.folder = name, folder / name
        self.clone = self.folder / "clone"
        self.clone.mkdir(parents=True, exist_ok=True)
        self.environment = {
            "HOME": str(self.folder),
            **({"ENGRAM_PROJECT": project} if project else {}),
            "ENGRAM_VISIBILITY": "shared",
            "ENGRAM_EMBEDDER": "none",
        }
        self.path = store if store == "ram:" else f"{store}{self.folder / 'store'}"
        self._clock = clock or Clock()
        self.open()

    def open(self) -> None:
        """Open its store, as its environment is now."""
        self.memory = engram.open(
            self.path, folder=self.clone, environment=self.environment, clock=self._clock, channel="flag"
        )

    def say(self, text: str, **more: Any) -> str:
        return self.memory.remember(text, **more).memory.id

    def get(self, id: str) -> Memory:
        return self.memory.get(id).memories[0]

    def sync(self, **more: Any) -> Any:
        return self.memory.sync_git(str(self.clone), **more)

    def fetch(self, *others: "Device", wanted: Callable[[Path], bool] = lambda _: True) -> "Device":
        """Get the files that others have and this clone lacks, as a pull that merges does; all, or those wanted."""
        for other in others:
            for file in sorted((other.clone / PLACE).rglob("*")):
                target = self.clone / file.relative_to(other.clone)
                if file.is_file() and not target.exists() and wanted(file):
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, target)
        return self

    def accept(self, *others: "Device") -> "Device":
        """Meet others, and let their word count."""
        for other in others:
            self.memory.replicas_accept(other.memory.engine.replica(), confirm=True)
        return self

    def files(self) -> list[Path]:
        return [file for file in sorted((self.clone / PLACE).rglob("*")) if file.is_file()]

    def state(self) -> dict[str, Any]:
        """Every record, as far as it is the same everywhere."""
        call = self.memory.call()
        found = {}
        for type in ("memory", "session", "relation"):
            after = None
            while True:
                page = call.engine.scan(type, ANYTHING, call.access, after=after)
                for record in page.records:
                    found[record.id] = {k: v for k, v in encode(record).items() if k not in LOCAL}
                if (after := page.next) is None:
                    break
        used = {doc.get("session") for doc in found.values()}  # a session travels with its memories
        return {id: doc for id, doc in found.items() if "started_at" not in doc or id in used}

    def texts(self, standing: str = "live") -> list[str]:
        return sorted(m.text for m in self.memory.list(standing=(standing,), limit=200).memories)


def exchange(*devices: Device, rounds: int = 4) -> None:
    """Everything to everybody, until nothing is new."""
    for _ in range(rounds):
        for device in devices:
            device.sync()
        for device in devices:
            device.fetch(*(other for other in devices if other is not device))


def trusting(*devices: Device) -> None:
    """Let all of them count for one another; each has said something before."""
    exchange(*devices, rounds=2)
    for device in devices:
        device.accept(*(other for other in devices if other is not device))
    exchange(*devices)
