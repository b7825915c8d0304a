"""What a program and its helper have of processes: to be counted when `wait_idle` says that nothing is on its way."""

from __future__ import annotations

import os
import re
import select
import threading
from typing import TYPE_CHECKING

import otpy
from support.far import Far

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["children_of", "descriptors", "has_ended", "have_helper_look", "threads_since"]

WORKER = re.compile(r"otpy-\d+")


def has_ended(pidfd: int) -> bool:
    """Wait until a process has ended."""
    ended = bool(select.select([pidfd], [], [], 20.0)[0])
    os.close(pidfd)
    return ended


def descriptors() -> int:
    """How many are open."""
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - as names


def threads_since(before: set[threading.Thread]) -> list[str]:
    """Those that run now and did not then, but for the pool's workers: one more may start whenever another is blocked.

    They are not counted, for one of an earlier test may have been about to end.
    """
    since = [thread.name for thread in threading.enumerate() if thread not in before]
    return [name for name in since if not WORKER.fullmatch(name)]


def children_of(pid: int) -> list[int]:
    """Who is a child of a process, defunct ones too."""
    with open(f"/proc/{pid}/task/{pid}/children") as listed:  # noqa: PTH123 - a line of /proc
        return [int(word) for word in listed.read().split()]


def have_helper_look(system: otpy.System, pids: Iterable[int]) -> None:
    """Wait until the helper has looked after these, which end by themselves.

    It does so as soon as it hears of an end, and in the worst case after one more of the requests that it serves.
    """
    for pid in pids:
        try:
            pidfd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        assert has_ended(pidfd)
    for _ in range(2):
        system.start(otpy.child(Far).opts(place="process")).stop()  # for which a process is made, or a spare one
        system.wait_idle()
