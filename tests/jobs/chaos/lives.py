"""Programs as children of this process: each forked, marked, and none left behind."""

from __future__ import annotations

import faulthandler
import os
import signal
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .standby import name_process

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["fork", "left_behind", "tell_stacks"]

MARK = "OTPY_CHAOS"
"""In the environment of all that a round starts, with its folder."""


def fork(folder: Path, name: str, live: Callable[[], int | None]) -> int:
    """Have a child do this, which ends with the status that it returns; what it says of errors is in the folder."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        os.environ[MARK] = str(folder)
        name_process(_short(folder))
        errors = os.open(folder / f"{name}.err", os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(errors, 2)
        faulthandler.register(signal.SIGUSR1, all_threads=True)
        status = live() or 0
    except BaseException:  # whatever it is, this process must not go on as its parent
        traceback.print_exc()
    finally:
        os._exit(status)


def tell_stacks(pids: Iterable[int]) -> None:
    """Have children write down where they are."""
    for pid in pids:
        os.kill(pid, signal.SIGUSR1)
    time.sleep(0.5)


def left_behind(folder: Path) -> list[str]:
    """What programs have started and left: it ends with them, whatever they died of."""
    until = time.monotonic() + 5.0
    while (left := _marked(str(folder))) and time.monotonic() < until:
        time.sleep(0.02)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return [f"left behind: {left}"] if left else []


def _marked(folder: str) -> list[int]:
    """The processes that descend from a round."""
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_named = (one / "comm").read_text().rstrip("\n") == _short(folder)
            if is_named or f"{MARK}={folder}\0".encode() in (one / "environ").read_bytes():
                found.append(int(one.name))
    return found


def _short(folder: Path | str) -> str:
    """What all processes are called that were forked and have started nothing else: as long as it may be."""
    return Path(folder).name[-15:]
