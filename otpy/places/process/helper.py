"""The helper process: forks the children of one system on request, and tells how each ended.

It never has a second thread, so that a fork in it is safe whatever the program does; and it is the parent of all
children, so that it can wait for each of them: none stays behind as a defunct process.
"""

from __future__ import annotations

import ctypes
import gc
import os
import select
import signal
import socket
import struct
import sys
import traceback
from contextlib import suppress

from otpy.places.process import child

__all__ = ["ASK", "TELL", "main"]

ASK = struct.Struct(">cI")
"""To the helper: `F` start a child (its socket and its output come along), `T` send SIGTERM to its group; which."""
TELL = struct.Struct(">cIi")
"""From the helper: `B` it was started (its pidfd comes along), with its process id; `E` it has ended, with the status
that `waitpid` gave. By then nothing of its process group is left."""

PR_SET_PDEATHSIG = 1


class Helper:
    """Serves one system until that hangs up."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._children: dict[int, tuple[int, int]] = {}  # by pidfd: number, process id
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)

    def run(self) -> None:
        """Serve; returns when the parent has gone, and then nothing of the children is left."""
        while True:
            for fd, _ in self._poll.poll():
                if fd != self._control.fileno():
                    self._end(fd)
                elif not self._serve():
                    for pidfd in list(self._children):
                        self._kill_group(self._children[pidfd][1])
                    return

    def _serve(self) -> bool:
        try:
            data, fds, _, _ = socket.recv_fds(self._control, ASK.size, 2)
        except OSError:
            return False
        if len(data) < ASK.size:
            return False
        word, number = ASK.unpack(data)
        if word == b"F":
            self._fork(number, *fds)
        else:
            self._terminate(number)
        return True

    def _fork(self, number: int, line: int, output: int) -> None:
        pid = os.fork()
        if pid == 0:
            self._become_child(line, output)
        os.close(line)
        os.close(output)
        pidfd = os.pidfd_open(pid)
        self._children[pidfd] = (number, pid)
        self._poll.register(pidfd, select.POLLIN)
        self._tell(TELL.pack(b"B", number, pid), [pidfd])

    def _become_child(self, line: int, output: int) -> None:
        code = 1
        try:
            os.setsid()  # a group of its own: a terminal's Ctrl-C does not reach it, and it can be ended as a whole
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            self._control.close()
            for pidfd in self._children:
                os.close(pidfd)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.close(output)
            child.main(line)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _end(self, pidfd: int) -> None:
        number, pid = self._children.pop(pidfd)
        self._poll.unregister(pidfd)
        os.close(pidfd)
        self._kill_group(pid)  # first, while nobody else can have its number
        _, status = os.waitpid(pid, 0)
        self._tell(TELL.pack(b"E", number, status), [])

    def _terminate(self, number: int) -> None:
        for own, pid in self._children.values():
            if own == number:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(pid, signal.SIGTERM)

    def _kill_group(self, pid: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)

    def _tell(self, data: bytes, fds: list[int]) -> None:
        with suppress(OSError):  # it has gone; the next look at the socket says so
            socket.send_fds(self._control, [data], fds)


def main() -> None:
    """Serve the socket whose number was given."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=int(sys.argv[1]))
    os.set_inheritable(control.fileno(), False)  # noqa: FBT003 - it takes no keyword
    gc.collect()
    gc.freeze()  # children share these pages
    Helper(control).run()


if __name__ == "__main__":
    main()
