"""A computation started on a second core, while the caller does what it can before it needs the result."""

import os
from _thread import LockType, allocate_lock, start_new_thread
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Beside:
    """A thread that does one thing at a time and waits for the next: starting one takes longer than waking it."""

    def __init__(self) -> None:
        self.free = allocate_lock()
        self._work: Callable[[], None] | None = None
        self._handed = _held()
        self._started = False

    def hand(self, work: Callable[[], None]) -> None:
        """Have something done; only for whoever holds `free`, which whatever is done must release at its end.

        Raises:
            RuntimeError: when there may be no more threads.
        """
        if not self._started:
            start_new_thread(self._run, ())
            self._started = True
        self._work = work
        self._handed.release()

    def _run(self) -> None:
        while True:
            self._handed.acquire()
            work, self._work = self._work, None
            if work:
                work()
            del work  # what was made must not stay until the next question


def _held() -> LockType:
    lock = allocate_lock()
    lock.acquire()
    return lock


_beside = _Beside()
"""One at a time in a process. Where several questions are answered at once, the cores have work enough, and whoever
finds it busy makes theirs when it is needed."""


def _anew() -> None:
    """A process that was forked off has the thread's locks without the thread."""
    global _beside  # noqa: PLW0603 - the fork took the other one's thread
    _beside = _Beside()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_anew)


def ahead(make: Callable[[], T]) -> Callable[[], T] | None:
    """Begin to make something that mostly computes outside Python; what is returned waits for it.

    It is made once; what making raised is raised where it is waited for. None where it was not begun, since there
    is no core for it.
    """
    beside = _beside
    if CORES < 2 or not beside.free.acquire(blocking=False):
        return None
    begun, done = _held(), _held()
    made: list[T] = []
    failed: list[BaseException] = []

    def begin() -> None:
        begun.release()
        try:
            made.append(make())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            failed.append(error)
        finally:
            beside.free.release()
            done.release()

    def wait() -> T:
        with done:
            if failed:
                raise failed[0]
            return made[0]

    try:
        beside.hand(begin)
    except RuntimeError:  # there may be no more threads
        beside.free.release()
        return None
    # One thread of an interpreter runs at a time, and whoever has the turn keeps it for milliseconds. Waiting gives
    # it up until the making computes, which needs none: without this line nothing is gained.
    begun.acquire()
    return wait
