"""Something computed on a second core, while whoever needs it later goes on with what can be done before."""

import os
from _thread import allocate_lock, start_new_thread
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

_beside = allocate_lock()
"""Held while something is made beside: one at a time in a process. Where several questions are answered at once,
the cores have work enough, and whoever finds this held makes theirs when it is needed."""


def ahead(make: Callable[[], T]) -> Callable[[], T]:
    """Begin to make something that mostly computes outside Python; what is returned waits for it.

    It is made once, here or there; what making raised is raised where it is waited for.
    """
    if CORES < 2 or not _beside.acquire(blocking=False):
        return make
    begun, done = allocate_lock(), allocate_lock()
    begun.acquire()
    done.acquire()
    made: list[T] = []
    failed: list[BaseException] = []

    def begin() -> None:
        begun.release()
        try:
            made.append(make())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            failed.append(error)
        finally:
            _beside.release()
            done.release()

    def wait() -> T:
        with done:
            if failed:
                raise failed[0]
            return made[0]

    try:
        start_new_thread(begin, ())
    except RuntimeError:  # there may be no more threads
        _beside.release()
        return make
    # One thread of an interpreter runs at a time, and whoever has the turn keeps it for milliseconds. Waiting gives
    # it up until the making computes, which needs none: without this line nothing is gained.
    begun.acquire()
    return wait
