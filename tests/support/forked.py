"""Programs of Python as `subprocess.Popen` starts them, for a tenth of the price: forked from one that has begun.

Most of what a small program of the tests costs is the start of Python, the import of otpy and the end of both. One
interpreter begins for all (`support.nurse`), and each program is a copy of it: a child of the tests, with its own
status, signals, streams, folder, environment, `__main__` and end. `tests/app/test_forked.py` compares all that with
what Python itself starts. What a program could tell is that modules are there already, that the seed of `hash` is
shared, and that the collector leaves alone what was there before; a test about that uses `subprocess` itself.
"""

from __future__ import annotations

import atexit
import ctypes
import inspect
import json
import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Forked", "run"]

NURSE = (Path(__file__).parent / "nurse.py").read_text()
LOADED = (
    *("asyncio", "faulthandler", "logging", "otpy.cli.run", "otpy.cli.tree", "otpy.front", "otpy.jobs.engine"),
    *("otpy.places.process.helper", "runpy"),
)
"""What most programs import."""
AT_THE_START = ("PYTHON", "LC_", "LANG", "TZ")
"""With what the names of variables begin that an interpreter reads as it starts: others share no nurse."""
PR_SET_CHILD_SUBREAPER = 36


class Command(NamedTuple):
    """What an interpreter is to run."""

    flags: tuple[str, ...]
    """For the interpreter itself."""
    program: tuple[str, ...]
    """`-c`, `-m` or `file`, with what follows."""

    @classmethod
    def of(cls, words: Sequence[str]) -> Self:
        """Told apart from the words of a command line."""
        rest = [*map(os.fspath, words[1:])]
        flags = list[str]()
        while rest[0].startswith("-") and rest[0] not in {"-c", "-m"}:
            flags.append(rest.pop(0))
            if flags[-1] in {"-W", "-X"}:  # others have no value, or in the same word
                flags.append(rest.pop(0))
        program = rest if rest[0] in {"-c", "-m"} else ["file", *rest]
        return cls((*flags,), (*program,))


class Nurse:
    """An interpreter that becomes programs."""

    def __init__(self, flags: Sequence[str], environment: Mapping[str, str]) -> None:
        """Start it; of its variables only those of `AT_THE_START` matter."""
        self._own, theirs = socket.socketpair()
        self._busy = threading.Lock()
        with theirs:
            words = [sys.executable, *flags, "-c", NURSE, str(theirs.fileno()), *LOADED]
            self._process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, env=environment, pass_fds=[theirs.fileno()]
            )
        atexit.register(self.close)
        threads = self._own.recv(10)
        assert threads == b"1", f"an interpreter that has {threads!r} threads cannot be copied"

    def close(self) -> None:
        """Let it end."""
        self._own.close()
        self._process.wait()

    def bear(self, wish: Mapping[str, Any], handles: Sequence[int]) -> int:
        """The process id of a new program, which has just begun, with these open files under the numbers it wishes."""
        words = json.dumps(wish).encode()
        begin, tell = os.pipe()
        try:
            with self._busy, _taking_orphans():
                socket.send_fds(self._own, [len(words).to_bytes(4, "big")], [begin, *handles])
                self._own.sendall(words)
                return int(self._own.recv(20))
        finally:
            os.close(begin)
            os.close(tell)


class Forked(subprocess.Popen[Any]):
    """A program of Python, with all that `Popen` can do with one."""

    def _execute_child(self, *given: Any) -> None:
        """In the place of `fork` and `exec`."""
        asked = inspect.signature(super()._execute_child).bind(*given).arguments  # type: ignore[misc]
        command = Command.of(asked["args"])
        folder = str(Path(asked["cwd"] or ".").absolute())
        environment = {**os.environ} if asked["env"] is None else {**asked["env"]}
        streams = [asked["p2cread"], asked["c2pwrite"], asked["errwrite"]]
        opened = {own: own if theirs == -1 else theirs for own, theirs in enumerate(streams)}
        opened |= {handle: handle for handle in asked["pass_fds"]}
        wish = {
            "program": command.program,
            "words": [*map(os.fspath, asked["args"][1:])],
            "folder": folder,
            "environment": environment,
            "session": asked["start_new_session"],
            "numbers": [*opened],
        }
        self.pid = _nurse(command.flags, _at_the_start(environment, folder)).bear(wish, [*opened.values()])
        self._child_created = True
        names = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
        self._close_pipe_fds(*(asked[name] for name in names))  # type: ignore[attr-defined]


def run(command: Sequence[str], **options: Any) -> subprocess.CompletedProcess[Any]:
    """As `subprocess.run` with `capture_output=True`."""
    timeout, check = options.pop("timeout", None), options.pop("check", False)
    with Forked(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as program:
        try:
            said, complained = program.communicate(timeout=timeout)
        finally:
            program.kill()
    done = subprocess.CompletedProcess(command, program.returncode, said, complained)
    if check:
        done.check_returncode()
    return done


@cache
def _nurse(flags: Sequence[str], environment: Sequence[tuple[str, str]]) -> Nurse:
    others = {name: value for name, value in os.environ.items() if not name.startswith(AT_THE_START)}
    return Nurse(flags, others | dict(environment))


def _at_the_start(environment: Mapping[str, str], folder: str) -> tuple[tuple[str, str], ...]:
    """What an interpreter that is started in this folder reads, and in no other way a moment later."""
    read = {name: value for name, value in environment.items() if name.startswith(AT_THE_START)}
    if path := read.get("PYTHONPATH"):
        read["PYTHONPATH"] = os.pathsep.join(str(Path(folder, part)) for part in path.split(os.pathsep))
    return (*sorted(read.items()),)


@contextmanager
def _taking_orphans() -> Iterator[None]:
    """Be the parent of whom a child of ours leaves behind: whoever makes a program ends at once."""
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
