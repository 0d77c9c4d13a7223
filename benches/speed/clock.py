"""Timing: CPU and wall of a call, CPU of whole processes, and the middle and the tail of many."""

import math
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

Command = tuple[Sequence[str], Mapping[str, str]]
"""Arguments and environment of a process."""


class Times(NamedTuple):
    """Milliseconds of many calls of one kind, in the order they were made."""

    cpu: list[float]  # of the whole process, so that threads which wait by spinning count
    wall: list[float]

    def take(self, call: Callable[..., object], *arguments: object) -> None:
        """Make the call, and keep what it took."""
        wall, cpu = time.perf_counter(), time.process_time()
        call(*arguments)
        self.cpu.append((time.process_time() - cpu) * 1000)
        self.wall.append((time.perf_counter() - wall) * 1000)

    def told(self) -> dict[str, float]:
        """Median and 95th percentile, as results are kept."""
        return {
            "cpu": round(middle(self.cpu), 3),
            "cpu95": round(tail(self.cpu), 3),
            "wall": round(middle(self.wall), 3),
            "wall95": round(tail(self.wall), 3),
        }


def times() -> Times:
    """Nothing measured yet."""
    return Times([], [])


def middle(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)


def tail(values: Sequence[float]) -> float:
    """What 95 of a hundred stay below."""
    return sorted(values)[math.ceil(0.95 * len(values)) - 1]


def processes(commands: Mapping[str, Command], runs: int, told: Callable[[], object]) -> dict[str, float]:
    """Median CPU milliseconds (user and system) of each command as a whole process.

    They take turns, so that whatever else the machine does falls on all of them alike.
    """
    spent: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, (command, environment) in commands.items():
            spent[name].append(_cpu(command, environment))
        told()
    return {name: middle(each) * 1000 for name, each in spent.items()}


def _cpu(command: Sequence[str], environment: Mapping[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=dict(environment), cwd="/", check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
