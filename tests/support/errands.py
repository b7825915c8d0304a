"""Kinds of jobs that processes can load: what handlers do well, and what they do badly."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

import otpy
from otpy.jobs.agents.context import current
from otpy.jobs.kind import job
from otpy.jobs.retry import Retry
from otpy.resilience import Breaker

AT_ONCE = Retry(errors=2, crashes=2, backoff=otpy.Backoff(first=0.0, most=0.0))


class RefusedError(Exception):
    """What a client's library may have for a cause, and speaks for itself."""

    def __str__(self) -> str:
        """In words of its own."""
        return f"refused by {self.args[0]}"


class ServiceError(OSError):
    """What a client's library raises: its message is that of another error."""


class OwnBaseError(BaseException):
    """What nobody expects."""


@job(retry=AT_ONCE)
def double(number: int) -> int:
    """Do some work."""
    return number * 2


@job(retry=AT_ONCE)
async def triple(number: int) -> int:
    """Await something."""
    await asyncio.sleep(0)
    return number * 3


@job(retry=AT_ONCE)
def where() -> int:
    """In which process."""
    return os.getpid()


def say(file: str, text: str) -> None:
    """Have whoever reads the named pipe know: the read returns when it has been written."""
    with Path(file).open("w") as pipe:
        pipe.write(text)


@job(killable=True, timeout=0.4, retry=Retry(errors=1))
def spin(pipe: str) -> None:
    """Loop for ever."""
    say(pipe, str(os.getpid()))
    while True:
        pass


@job(killable=True, timeout=0.4, retry=Retry(errors=1))
def sleep_in_c(pipe: str) -> None:
    """Sleep in C, with the interpreter's lock held: no other thread of the process runs."""
    say(pipe, str(os.getpid()))
    ctypes.PyDLL(None).sleep(600)


@job(killable=True, timeout=60.0, retry=Retry(errors=1))
def deaf(pipe: str) -> None:
    """Hear of nothing."""
    say(pipe, str(os.getpid()))
    while True:
        time.sleep(600)


@job(killable=True, timeout=0.4, retry=Retry(errors=1))
def leave_a_child(pipe: str) -> None:
    """Start another program and hang; whoever reads the pipe hears of both."""
    with subprocess.Popen(["/bin/sleep", "600"]) as child:
        say(pipe, f"{os.getpid()} {child.pid}")


@job(killable=True, timeout=60.0)
def attentive(pipe: str) -> str:
    """Wind up when it is cancelled."""
    say(pipe, str(os.getpid()))
    while not current().is_cancelled:
        time.sleep(0.001)
    return "not kept"


@job(retry=AT_ONCE)
def talk() -> Any:
    """Say all that a job may say."""
    own = current()
    own.progress({"at": 1})
    seen = own.resume_from
    own.checkpoint((own.attempt, "half"))
    paid = own.once("pay", lambda: f"paid in {own.attempt}")
    if own.attempt == 1:
        raise ValueError(paid)
    return seen, paid, own.key, own.token


@job(retry=AT_ONCE)
def end_badly(how: str) -> Any:
    """End in some way that is none."""
    return BAD[how]()


def _raise(error: BaseException) -> NoReturn:
    raise error


def _recurse() -> None:
    _recurse()


async def _forgotten() -> None:
    """Nobody awaits it."""


BAD: dict[str, Any] = {
    "os._exit": lambda: os._exit(3),
    "SIGSEGV": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "sys.exit": lambda: sys.exit(4),
    "SystemExit": lambda: _raise(SystemExit(5)),
    "KeyboardInterrupt": lambda: _raise(KeyboardInterrupt()),
    "a BaseException": lambda: _raise(OwnBaseError("odd")),
    "MemoryError": lambda: _raise(MemoryError("full")),
    "RecursionError": _recurse,
    "an error of its own": lambda: _raise(ServiceError(RefusedError("port 9"))),
    "CancelledError": lambda: _raise(asyncio.CancelledError()),
    "object": object,
    "lambda": lambda: lambda: None,
    "a coroutine": _forgotten,
    "a generator": lambda: (one for one in ()),
    "too much": lambda: b"0" * (2 << 20),
}


@job(killable=True, timeout=60.0, retry=AT_ONCE)
def visit(pipe: str) -> None:
    """Say where it is; the first one stays."""
    say(pipe, str(os.getpid()))
    if current().attempt == 1:
        time.sleep(600)


@job(killable=True, timeout=60.0)
async def wait_long(pipe: str) -> None:
    """Await something that never comes."""
    say(pipe, str(os.getpid()))
    await asyncio.sleep(600)


@job(retry=Retry(errors=1))
def transact() -> None:
    """Ask for a transaction."""
    with current().tx():
        pass


AILING = Breaker("ailing", failures=2)


@job(retry=Retry(errors=1), breakers=(AILING,))
@AILING
def ail() -> None:
    """Fails, through the breaker that holds it back."""
    raise ConnectionError
