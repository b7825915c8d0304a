"""A plugin for pytest: collects the tests once, and plays them in a fork as often as `tests.stress.again` asks.

A fork of a process that has collected, but begun no test and no fixture, is what a pytest of its own would be by then,
but for two things: the seed of hashes and the addresses are those of its parent, which is why `again` begins a new one
now and then. What belongs to a run alone it gets here: a session, so that signals to its group reach no other run;
directories for temporary files and for sockets; an output, which is also where stacks are dumped; files of capture.
"""

from __future__ import annotations

import faulthandler
import json
import os
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

GRACE = 10.0
"""Seconds in which a run that is told to end must do so, before it is killed."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--plays", type=int, metavar="DESCRIPTOR", help="the socket by which runs are ordered")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Plays(socket.socket(fileno=config.getoption("--plays"))))


class Plays:
    """Plays a run for each order, one after the other."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        line.set_inheritable(False)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """In a run: None, so that pytest goes on and plays the tests. In their parent: True, for all is done."""
        if session.testsfailed:
            return None  # it could not read some of them, and says so itself
        must_be_one_thread()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # from now on the line tells it to end, and a run is not left
        _capture(session.config).stop_global_capturing()
        self._say(tests=len(session.items))
        for order in self._orders():
            began = time.monotonic()
            sys.stdout.flush()
            pid = os.fork()
            if not pid:
                self._line.close()
                _begin(session.config, Path(order["notes"]), Path(order["output"]))
                return None
            self._say(**ended(pid, self._line, order["patience"]), seconds=time.monotonic() - began)
        return True

    def _orders(self) -> Iterator[dict[str, Any]]:
        with self._line.makefile() as lines:
            yield from map(json.loads, lines)

    def _say(self, **words: object) -> None:
        with suppress(ConnectionError):  # nobody listens any more, and the next order will not come
            self._line.sendall(json.dumps(words).encode() + b"\n")


class Notes:
    """What a run writes down at once, for it may not live to tell: which test is played, and which have failed."""

    def __init__(self, folder: Path) -> None:
        self._now = (folder / "now").open("w")
        self._failed = (folder / "failed").open("w")

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._now.seek(0)
        self._now.truncate()
        self._write(self._now, nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._write(self._failed, f"{report.nodeid}\n")

    def pytest_sessionfinish(self) -> None:
        self._now.seek(0)
        self._now.truncate()

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """Pytest has put the dump of stacks away by now, but a run can hang on its last way, too."""
        faulthandler.enable(file=2)

    def _write(self, file: Any, text: str) -> None:
        file.write(text)
        file.flush()


def must_be_one_thread() -> None:
    """Raise where there are more, of Python or not."""
    threads = [thread.name for thread in threading.enumerate()]
    tasks = Path("/proc/self/task")
    if len(threads) > 1 or (tasks.exists() and len([*tasks.iterdir()]) > 1):
        raise pytest.UsageError(f"reading the tests has started threads, which no fork has: {', '.join(threads)}")


def _capture(config: pytest.Config) -> Any:  # Any: pytest has no public name for it
    return config.pluginmanager.getplugin("capturemanager")


def _begin(config: pytest.Config, notes: Path, output: Path) -> None:
    """Be a run of its own."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.setsid()
    _redirect(output)
    temporary, sockets = notes / "t", notes / "run"
    for folder, mode in ((notes, 0o711), (temporary, 0o1777), (sockets, 0o700)):
        folder.mkdir(exist_ok=True)
        folder.chmod(mode)  # PostgreSQL runs as another user, and must get at its place among the temporary files
    os.environ.update(TMPDIR=str(temporary), XDG_RUNTIME_DIR=str(sockets))
    os.environ.pop("PYTEST_DEBUG_TEMPROOT", None)
    tempfile.tempdir = None  # asked for again by the next who wants one
    capture = _capture(config)
    capture.start_global_capturing()
    capture.suspend_global_capture()
    config.pluginmanager.register(Notes(notes))


def _redirect(output: Path) -> None:
    """Have all that went to the output of the parent, by whatever descriptor, go to this file."""
    theirs = os.fstat(2)
    new = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC)
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - numbers are wanted
        number = int(name)
        if _is_file(number, theirs):
            os.dup2(new, number, inheritable=os.get_inheritable(number))
    os.close(new)


def _is_file(number: int, file: os.stat_result) -> bool:
    try:
        return os.path.samestat(os.fstat(number), file)
    except OSError:  # the one that listed them
        return False


def ended(pid: int, line: socket.socket, patience: float) -> dict[str, object]:
    """How this run has ended, and what it took; nothing of its session is left then."""
    watch = os.pidfd_open(pid)
    seen = select.select([watch, line], [], [], patience)[0]
    if watch not in seen:
        # On SIGABRT it dumps its stacks; where nobody reads any more, its fixtures are to end what they have begun.
        os.kill(pid, signal.SIGINT if seen else signal.SIGABRT)
        select.select([watch], [], [], GRACE)
    os.kill(pid, signal.SIGKILL)
    with suppress(ProcessLookupError):  # it was too young to have a group
        os.killpg(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    os.close(watch)
    return {"status": os.waitstatus_to_exitcode(status), "hung": not seen, "processor": usage.ru_utime + usage.ru_stime}
