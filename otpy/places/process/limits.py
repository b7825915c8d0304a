"""What a process child may use: set in the child as the kernel's own limits; what those cannot tell is watched here."""

from __future__ import annotations

import math
import os
import resource
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from otpy.core.reason import Signalled

if TYPE_CHECKING:
    from otpy.core.spec import Options
    from otpy.places.process.child import Child

__all__ = ["MemoryWatch", "confine", "cpu_blame", "limit_texts", "limits_of", "relax", "usage"]

MEBIBYTE = 1024 * 1024
LAST_WORDS = 32 * MEBIBYTE
"""Bytes beyond the limit for an actor that has ended, to say so."""
PERIOD = 0.25
"""Seconds between two looks at what a process with a limit holds."""
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


def limits_of(options: Options) -> dict[str, float]:
    """The limits among a child's options, as the child is told of them."""
    named = {"memory": options.max_memory_bytes, "cpu": options.max_cpu, "nice": options.nice}
    return {name: value for name, value in named.items() if value is not None}


def limit_texts(options: Options | None) -> tuple[str, ...]:
    """The same for people."""
    limits = {} if options is None else limits_of(options)
    words = {"memory": "memory {:g} MiB", "cpu": "cpu {:g} s", "nice": "nice {:g}"}
    return tuple(
        [words[name].format(value / MEBIBYTE if name == "memory" else value) for name, value in limits.items()]
    )


def confine(limits: dict[str, float]) -> None:
    """Set the limits of this very process; called before any code of its actor runs, in its only thread.

    Raises:
        OSError, ValueError: the process may not have them, as where a lower one was set from outside.
    """
    if "memory" in limits:
        # What is counted there is what was asked for, in use or not; so it is the growth that is limited.
        held, asked_for = _sizes()
        most = max(int(limits["memory"]) - held, 0) + asked_for
        resource.setrlimit(resource.RLIMIT_DATA, (most, most + LAST_WORDS))
    if "cpu" in limits:
        used = sum(os.times()[:2])
        most = max(1, math.ceil(used + limits["cpu"]))
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
    if "nice" in limits:
        os.setpriority(os.PRIO_PROCESS, 0, int(limits["nice"]))


def relax() -> None:
    """Have some memory for the last words: whoever ends by a MemoryError could not say so otherwise."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


def _sizes() -> tuple[int, int]:
    """Bytes that this process holds in memory, and that it has asked for as its data."""
    facts = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
    return tuple([int(facts[name].split()[0]) * 1024 for name in ("VmRSS", "VmData")])  # type: ignore[return-value]  # two


def usage(pid: int | None) -> tuple[int, float]:
    """Bytes in memory and seconds of CPU time of a process, as Linux tells them; zeros elsewhere."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0, 0.0
    words = text.rpartition(")")[2].split()  # the name before it may hold anything
    return int(words[21]) * PAGE, (int(words[11]) + int(words[12])) / TICKS


def cpu_blame(code: int, options: Options | None) -> str:
    """What to say of an end by the signal that tells of the limit; empty for all others."""
    if -code != signal.SIGXCPU or options is None or options.max_cpu is None:
        return ""
    return f"it has used up its max_cpu of {options.max_cpu:g} s"


class MemoryWatch:
    """Looks from time to time what a process holds, and kills one that holds too much; in the thread of `Ports`.

    Most code meets a `MemoryError` before: this is for what the kernel's limit does not count, such as shared memory
    and files.
    """

    def __init__(self, child: Child, limit: int) -> None:
        """Begin to look."""
        self._child = child
        self._limit = limit
        self._look()

    def _look(self) -> None:
        child = self._child
        if child.is_over:
            return
        held, _ = usage(child.pid)
        if held <= self._limit:
            child.ports.listener.later(PERIOD, self._look)
            return
        text = f"it held {held / MEBIBYTE:.0f} MiB, more than its max_memory_bytes of {self._limit / MEBIBYTE:g} MiB"
        child.end_as(Signalled(signal.SIGKILL, text))
