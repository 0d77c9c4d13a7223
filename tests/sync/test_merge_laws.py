"""Histories of three machines with partitions and any order of delivery: equal in the end, and nothing lost."""

import random
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from engram.errors import EngramError, NotFound
from sync.devices import Device, exchange, trusting

TEXTS = ["We deploy on Fridays", "The port is 8000", "The port is 9000", "The cache lives in Redis", "Ask Ada"]
POINTING = ("from_id", "to_id", "replaced_by", "amends")
NAMES = st.integers(0, 2)
WHICH = st.integers(0, 7)

STEPS = st.one_of(
    st.tuples(st.just("say"), NAMES, st.sampled_from(TEXTS), st.sampled_from(["", "", "deploy-day"])),
    st.tuples(st.just("reword"), NAMES, WHICH, st.sampled_from(TEXTS)),
    st.tuples(st.just("pin"), NAMES, WHICH),
    st.tuples(st.just("tag"), NAMES, WHICH, st.sampled_from(["a", "b"])),
    st.tuples(st.just("forget"), NAMES, WHICH),
    st.tuples(st.just("restore"), NAMES, WHICH),
    st.tuples(st.just("purge"), NAMES, WHICH),
    st.tuples(st.just("hide"), NAMES, WHICH),
    st.tuples(st.just("show"), NAMES, WHICH),
    st.tuples(st.just("relate"), NAMES, WHICH, WHICH, st.sampled_from(["supersedes", "related", "conflicts"])),
    st.tuples(st.just("undo"), NAMES),
    st.tuples(st.just("rule"), NAMES, st.sampled_from(TEXTS)),
    st.tuples(st.just("promote"), NAMES, WHICH, st.booleans()),
    st.tuples(st.just("reject"), NAMES, WHICH),
    st.tuples(st.just("session"), NAMES, st.sampled_from(["monday", "tuesday"])),
    st.tuples(st.just("sync"), NAMES),
    st.tuples(st.just("carry"), NAMES, NAMES),
    st.tuples(st.just("carry_some"), NAMES, NAMES, st.integers(0, 255)),
)


class World:
    """Three machines, and what each of them acknowledged."""

    def __init__(self, folder: Path) -> None:
        self.devices = [Device(folder, name) for name in ("ada", "bob", "cyd")]
        for device in self.devices:
            device.say(f"This is {device.name}")
        trusting(*self.devices)
        self.said: set[str] = set()
        self.purged: set[str] = set()
        self.hidden: set[str] = set()
        self.undone: set[str] = set()

    def step(self, step: tuple[Any, ...]) -> None:
        action, name, *rest = step
        try:
            getattr(self, action)(self.devices[name], *rest)
        except EngramError as error:
            assert type(error) is not EngramError, error  # noqa: PT017 - any refusal is fine, a bug is not

    def _one(self, device: Device, which: int) -> str:
        known = sorted(id for id, doc in device.state().items() if "text" in doc)
        if not known:
            raise NotFound("Everything was purged.")
        return known[which % len(known)]

    def say(self, device, text, key):
        done = device.memory.remember(text, key=key)
        self.said.add(done.memory.id)

    def rule(self, device, text):
        self.said.add(device.memory.remember(text, kind="rule").memory.id)

    def session(self, device, name):
        device.memory.session_begin(name)
        device.memory.remember(f"In {name} on {device.name}", session=name)

    def reword(self, device, which, text):
        device.memory.revise(self._one(device, which), text=text, confirm=True)

    def pin(self, device, which):
        device.memory.revise(self._one(device, which), pinned=True, confirm=True)

    def tag(self, device, which, tag):
        device.memory.revise(self._one(device, which), tag=[tag], confirm=True)

    def forget(self, device, which):
        device.memory.forget(self._one(device, which))

    def restore(self, device, which):
        device.memory.restore(self._one(device, which))

    def purge(self, device, which):
        id = self._one(device, which)
        self.purged.update(device.memory.purge(id, confirm=True).erased)

    def hide(self, device, which):
        id = self._one(device, which)
        device.memory.revise(id, visibility="private", confirm=True)
        self.hidden.add(id)

    def show(self, device, which):
        device.memory.revise(self._one(device, which), visibility="shared", confirm=True)

    def relate(self, device, which, other, verdict):
        device.memory.relate(self._one(device, which), self._one(device, other), verdict)

    def undo(self, device):
        self.undone.update(device.memory.undo(confirm=True).gone)

    def promote(self, device, which, keep):
        device.memory.promote(self._one(device, which), confirm=True, keep=keep)

    def reject(self, device, which):
        device.memory.reject(self._one(device, which))

    def sync(self, device):
        device.sync()

    def carry(self, device, other):
        device.fetch(self.devices[other])
        device.sync()

    def carry_some(self, device, other, chance):
        """Files come one by one and in any order: a chunk before its words, or before the one it goes on from."""
        dice = random.Random(chance)
        device.fetch(self.devices[other], wanted=lambda _: dice.random() < 0.5)
        device.sync()

    def settle(self) -> None:
        """What was hidden from the others differs by intent: show it again, and exchange until all is quiet."""
        for device in self.devices:
            for id, doc in device.state().items():
                if "text" in doc and doc.get("visibility") != "shared":
                    self._shown(device, id)
        exchange(*self.devices, rounds=6)

    def compared(self) -> list[dict[str, Any]]:
        """What each has, but for what one of them keeps to itself for good, being forgotten there."""
        states = [device.state() for device in self.devices]
        own = {id for s in states for id, doc in s.items() if "text" in doc and doc.get("visibility") != "shared"}
        own |= {id for s in states for id, doc in s.items() if own & {doc.get(name) for name in POINTING}}
        own |= {
            doc["session"] for s in states for id, doc in s.items() if id in own and "session" in doc
        }  # the session of a memory that stays home may stay home too
        return [{id: doc for id, doc in s.items() if id not in own} for s in states]

    def _shown(self, device: Device, id: str) -> None:
        try:
            device.memory.revise(id, visibility="shared", confirm=True)
        except EngramError as error:
            assert type(error) is not EngramError, error  # noqa: PT017 - any refusal is fine, a bug is not


# What makes one memory the twin of another is told, and the other purged, in one exchange: the words go with it.
TWIN_OF_WHAT_IS_PURGED = [
    ("purge", 1, 2),
    ("rule", 0, "We deploy on Mondays"),
    ("session", 2, "monday"),
    ("say", 1, "We deploy on Fridays", ""),
    ("reword", 2, 6, "We deploy on Mondays"),
]


@settings(max_examples=25)
@given(st.lists(STEPS, max_size=25))
@example(TWIN_OF_WHAT_IS_PURGED)
def test_three_machines_end_up_equal_and_nothing_acknowledged_is_lost(steps):
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder))
        for step in steps:
            world.step(step)
        world.settle()

        first, *others = world.compared()
        for other in others:
            assert other == first
        there = {id for device in world.devices for id in device.state()}
        lost = world.said - there - world.purged - world.undone
        assert not lost
        assert not world.purged & first.keys()
        for device in world.devices:
            assert device.memory.doctor().healthy
            done = device.sync(dry_run=True)
            assert (done.waiting, done.problems, done.read, done.wrote) == ((), (), 0, 0)
