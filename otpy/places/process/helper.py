"""The helper process: forks the children of one system on request, and tells how each ended.

It never has a second thread, so that a fork in it is safe whatever the program does; and it is the parent of all
children, so that it can wait for each of them: none stays behind as a defunct process. What a child has started and
left behind becomes the helper's own child (it is their "subreaper"), and so is waited for, too.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import gc
import os
import select
import signal
import socket
import struct
import sys
import time
import traceback
from contextlib import suppress

from otpy.places.process import inside

__all__ = ["ASK", "TELL", "main"]

ASK = struct.Struct(">cI")
"""To the helper: `F` start a child (its socket and its output come along); `T` send SIGTERM to its group, and leave
those in it the time to wind up; `K` end all of its group now; which."""
TELL = struct.Struct(">cIi")
"""From the helper: `B` it was started (its pidfd comes along), with its process id; `E` it has ended, with the status
that `waitpid` gave, and by then nothing of its process group is left; `X` it could not be started, with the errno."""

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
STUBBORN = 1.0
"""Seconds after SIGKILL in which a group must be gone; what is stuck in the kernel for longer is not waited for."""


class Group:
    """One child, and what it has started."""

    def __init__(self, number: int, pid: int, pidfd: int) -> None:
        self.number = number
        self.pid = pid
        self.pidfd = pidfd
        # Of the child itself, which is waited for at last: until then its number is not used again.
        self.has_ended = False
        self.winds_up = False
        self.killed_at = 0.0


class Helper:
    """Serves one system until that hangs up."""

    def __init__(self, control: socket.socket, wake_fd: int, told_fd: int) -> None:
        self._control = control
        self._wake_fd = wake_fd
        self._told_fd = told_fd
        self._groups: dict[int, Group] = {}  # by process id
        self._by_fd: dict[int, Group] = {}
        self._poll = select.poll()
        self._poll.register(control, select.POLLIN)
        self._poll.register(wake_fd, select.POLLIN)
        self._own_children = _adopt_orphans()

    def run(self) -> None:
        """Serve; returns when the parent has gone, and then nothing of the children is left."""
        while True:
            ready = self._poll.poll(self._patience())
            for fd, _ in ready:
                if fd == self._wake_fd:
                    os.read(fd, 4096)
                elif fd in self._by_fd:
                    self._by_fd[fd].has_ended = True
                    self._poll.unregister(fd)
                elif fd == self._control.fileno() and not self._serve():
                    for group in self._groups.values():
                        self._kill(group)
                    return
            if ready != [(self._control.fileno(), select.POLLIN)]:  # somebody has ended, or it is time to look again
                self._settle()

    def _patience(self) -> int | None:
        return 100 if any(group.killed_at for group in self._groups.values()) else None

    def _serve(self) -> bool:
        try:
            data, fds, _, _ = socket.recv_fds(self._control, ASK.size, 2)
        except OSError:
            return False
        if len(data) < ASK.size:
            return False
        word, number = ASK.unpack(data)
        if word == b"F":
            self._start(number, fds)
            return True
        for group in list(self._groups.values()):
            if group.number == number:
                self._end(group, word)
        return True

    def _start(self, number: int, fds: list[int]) -> None:
        """Fork a child, or tell why that cannot be; the helper goes on for the others."""
        try:
            line, output = fds
            self._fork(number, line, output)
        except ValueError:  # no descriptor was free for its pipe and its output
            self._tell(TELL.pack(b"X", number, errno.EMFILE), [])
        except OSError as error:
            self._tell(TELL.pack(b"X", number, error.errno or 0), [])
        finally:
            for fd in fds:
                os.close(fd)

    def _fork(self, number: int, line: int, output: int) -> None:
        own = os.getpid()
        pid = os.fork()
        if pid == 0:
            self._become_child(own, line, output)
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise
        self._groups[pid] = self._by_fd[pidfd] = Group(number, pid, pidfd)
        self._poll.register(pidfd, select.POLLIN)
        self._tell(TELL.pack(b"B", number, pid), [pidfd])

    def _become_child(self, helper: int, line: int, output: int) -> None:
        code = 1
        try:
            os.setsid()  # a group of its own: a terminal's Ctrl-C does not reach it, and it can be ended as a whole
            _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != helper:  # it was killed before this child could ask to be told
                os._exit(1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._control.close()
            signal.set_wakeup_fd(-1)  # may be done: since 3.12 asyncio does it in each forked child
            for fd in (self._told_fd, self._wake_fd, *self._by_fd):
                os.close(fd)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.close(output)
            code = inside.main(line)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)

    def _end(self, group: Group, word: bytes) -> None:
        if word == b"T":
            group.winds_up = True
            _signal(group.pid, signal.SIGTERM)
        else:
            self._kill(group)

    def _kill(self, group: Group) -> None:
        group.winds_up = False
        group.killed_at = group.killed_at or time.monotonic()
        _signal(group.pid, signal.SIGKILL)

    def _settle(self) -> None:
        """Look who has ended, and tell of each group of which nothing is left."""
        orphans = self._orphans()
        for group in [group for group in self._groups.values() if group.has_ended]:
            left = any(_group_of(orphan) == group.pid for orphan in orphans)
            if left and not group.winds_up and not group.killed_at:
                self._kill(group)  # it is told of when they have gone
            elif not left or (group.killed_at and time.monotonic() > group.killed_at + STUBBORN):
                self._bury(group)

    def _bury(self, group: Group) -> None:
        _signal(group.pid, signal.SIGKILL)  # before the wait: as long as it is not waited for, its number is its own
        _, status = os.waitpid(group.pid, 0)
        del self._groups[group.pid]
        del self._by_fd[group.pidfd]
        os.close(group.pidfd)
        self._tell(TELL.pack(b"E", group.number, status), [])

    def _orphans(self) -> list[int]:
        """What children have left behind and still runs; what of it has ended is waited for, as nobody else would."""
        try:
            with open(self._own_children) as listed:  # noqa: PTH123 - a line of /proc
                pids = [int(word) for word in listed.read().split()]
        except OSError:  # a kernel without this list: then they belong to the first process of all
            return []
        return [pid for pid in pids if pid not in self._groups and not _has_ended(pid)]

    def _tell(self, data: bytes, fds: list[int]) -> None:
        with suppress(OSError):  # it has gone; the next look at the socket says so
            socket.send_fds(self._control, [data], fds)


def _signal(pid: int, number: int) -> None:
    """Send a signal to a group whose leader nobody has waited for yet, so that the number is still its own."""
    try:
        os.killpg(pid, number)
    except ProcessLookupError:  # it has not come to make its group yet
        with suppress(ProcessLookupError):
            os.kill(pid, number)
    except PermissionError:  # they have other rights than the program
        pass


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return -1


def _adopt_orphans() -> str:
    """Become the parent of what children leave behind; returns where all own children are listed."""
    listed = f"/proc/self/task/{os.getpid()}/children"
    if os.access(listed, os.R_OK):
        _prctl(PR_SET_CHILD_SUBREAPER, 1)
    return listed


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _wake_on_ends() -> tuple[int, int]:
    """A descriptor that can be read when a child has ended, and the one that is then written to."""
    wake, told = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return wake, told


def _clear_of_standard(fd: int) -> int:
    """Have the numbers 0 to 2 be those of the standard streams, in a program that was started without any.

    Else the next pipe had such a number, and were lost to a child that gets its output there. Returns what is served.
    """
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(fd)
    while (null := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004 - the number of standard error
        os.set_inheritable(null, True)  # noqa: FBT003 - it takes no keyword
    os.close(null)
    return moved


def main() -> None:
    """Serve the socket whose number was given."""
    # A program that waits for signals has them blocked, and exec keeps it.
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    control = socket.socket(fileno=_clear_of_standard(int(sys.argv[1])))
    wake, told = _wake_on_ends()
    gc.collect()
    gc.freeze()  # children share these pages
    with control:
        Helper(control, wake, told).run()


if __name__ == "__main__":
    main()
