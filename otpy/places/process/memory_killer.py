"""Who sends SIGKILL: the kernel counts for each control group how many processes it has killed for want of memory."""

from __future__ import annotations

import threading
from pathlib import Path

__all__ = ["MemoryKiller"]

ROOT = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")


class MemoryKiller:
    """Tells whether the kernel has killed for want of memory in this program's control group, since it last was asked.

    Children stay in the group of their program, unless somebody moves them.
    """

    def __init__(self) -> None:
        """Count from now on."""
        self._lock = threading.Lock()  # the count is compared and replaced as one
        self._file = _find()
        self._count = _read(self._file)

    def blame(self) -> str:
        """Who has sent a SIGKILL that otpy did not send, as far as that can be known."""
        with self._lock:
            before, self._count = self._count, _read(self._file)
        if before is None or self._count is None:
            return ""
        return "the kernel's out-of-memory killer" if self._count > before else "somebody outside"


def _find() -> Path | None:
    """The file with the count: of the second version of control groups, or of the first."""
    try:
        lines = [line.split(":", 2) for line in OWN.read_text().splitlines()]
    except OSError:
        return None
    for _, kinds, path in lines:
        if kinds == "":
            tried = [ROOT / path.strip("/") / "memory.events", ROOT / "memory.events"]
        elif "memory" in kinds.split(","):
            base = ROOT / "memory"
            tried = [base / path.strip("/") / "memory.oom_control", base / "memory.oom_control"]
        else:
            continue
        for file in tried:
            if _read(file) is not None:
                return file
    return None


def _read(file: Path | None) -> int | None:
    if file is None:
        return None
    try:
        counts = dict(line.split(None, 1) for line in file.read_text().splitlines())
        return int(counts["oom_kill"])
    except (OSError, KeyError, ValueError):
        return None
