"""The helper that forks a program's process children, forked itself before that program has threads.

It has imported already what one that Python starts would import again in each of the programs: that was half of what a
run cost. One that takes the place of it when it was killed is started as ever.
"""

from __future__ import annotations

import atexit
import ctypes
import inspect
import os
import socket
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

from otpy.places.process import helm
from otpy.places.process.helper import main

__all__ = ["name_process", "stand_by"]

PR_SET_NAME = 15


def name_process(name: str) -> None:
    """What `/proc/PID/comm` says of this process, and of those that it forks."""
    ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode(), 0, 0, 0)


def stand_by() -> None:
    """Fork one, which the first helper that this program starts is to be."""
    own, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if not pid:
        own.close()
        _become_helper(far)
    far.close()
    free = [(pid, own)]

    class Started(subprocess.Popen[bytes]):
        """The one that stands by, once."""

        def _execute_child(self, *given: Any) -> None:
            if not free:
                super()._execute_child(*given)  # type: ignore[misc]
                return
            asked = inspect.signature(super()._execute_child).bind(*given).arguments  # type: ignore[misc]
            self.pid, own = free.pop()
            with own:
                socket.send_fds(own, [b"begin"], asked["pass_fds"])
            self._child_created = True
            os.close(asked["p2cread"])

    helm.subprocess = SimpleNamespace(**{**vars(subprocess), "Popen": Started})  # type: ignore[assignment]


def _become_helper(far: socket.socket) -> None:
    """When it is told to; it ends with its program before that, and as one that was started after that."""
    code = 1
    try:
        _, handles, _, _ = socket.recv_fds(far, 16, 1)
        if handles:
            atexit._clear()  # what its children run at their end is not what the run has to do
            os.setsid()
            os.chdir("/")
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            handle = os.dup2(handles[0], 3)
            os.closerange(4, 256)
            sys.argv = ["-c", str(handle)]
            main()
        code = 0
    finally:
        os._exit(code)
