"""Actors that tests run in a process of their own: they are imported there, so they stand in a module."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
from inspect import isfunction
from pathlib import Path
from typing import Any

import otpy

__all__ = ["Far", "Near", "Odd", "greet", "stuck"]


class Near(otpy.GenServer):
    """Lives in the parent's process and remembers what it hears."""

    def init(self) -> None:
        self.heard: list[Any] = []
        self.met: list[Any] = []
        self.waiting: list[otpy.Caller] = []
        self.curious: list[otpy.Caller] = []
        self.patient: dict[otpy.Caller, int] = {}

    @otpy.call
    def add(self, one: int, other: int) -> int:
        return one + other

    @otpy.call
    def where(self) -> int:
        return os.getpid()

    @otpy.call
    def read(self) -> list[Any]:
        return list(self.heard)

    @otpy.call
    def echo(self, value: Any) -> Any:
        return value

    @otpy.call
    def met_so_far(self, count: int) -> Any:
        """Whom it has met, when these are so many."""
        assert self.caller is not None
        if len(self.met) < count:
            self.patient[self.caller] = count
            return otpy.NoReply()
        return list(self.met)

    @otpy.cast
    def note(self, what: Any) -> None:
        self.heard.append(what)

    @otpy.cast
    def meet(self, who: Any) -> None:
        self.met.append(who)
        for caller in [one for one, count in self.patient.items() if len(self.met) >= count]:
            del self.patient[caller]
            caller.reply(list(self.met))

    @otpy.call
    def wait(self) -> Any:
        """Answered when somebody says `go`."""
        assert self.caller is not None
        self.waiting.append(self.caller)
        while self.curious:
            self.curious.pop().reply(None)
        return otpy.NoReply()

    @otpy.call
    def is_waited_for(self) -> Any:
        """Answered when somebody waits."""
        assert self.caller is not None
        if self.waiting:
            return None
        self.curious.append(self.caller)
        return otpy.NoReply()

    @otpy.cast
    def go(self) -> None:
        while self.waiting:
            self.waiting.pop().reply("gone on")

    def handle_info(self, message: Any) -> None:
        self.heard.append(message)


class Far(otpy.GenServer):
    """Does what it is told, in another process."""

    def init(self, *args: Any, how: str = "", traps: bool = False, **kwargs: Any) -> Any:
        self.args, self.kwargs = args, kwargs
        self.log: list[Any] = []
        self.trap_exit = traps
        self.near: Any = None
        match how:
            case "ignore":
                return otpy.Ignore()
            case "stop":
                return otpy.Stop(otpy.Exit("no"))
            case "fail":
                return otpy.Fail(otpy.Exit("not now"))
            case "crash":
                raise ValueError("bad luck")
            case "exit":
                os._exit(4)
            case "hang":
                otpy.sleep(1e6)
        return None

    @otpy.call
    def given(self) -> Any:
        return self.args, self.kwargs

    @otpy.call
    def where(self) -> tuple[int, int, int]:
        return os.getpid(), os.getppid(), os.getpgid(0)

    @otpy.call
    def path(self) -> str:
        return self.ref.path

    @otpy.call
    def has_compiled(self, name: str) -> bool:
        """Whether there is the maker of a decision already, which is compiled when it is first asked for."""
        return isfunction(vars(getattr(otpy, name))["__init__"])

    @otpy.call
    def echo(self, value: Any, *, twice: bool = False) -> Any:
        return (value, value) if twice else value

    @otpy.call
    def read(self) -> list[Any]:
        return list(self.log)

    @otpy.cast
    def note(self, value: Any) -> None:
        self.log.append(value)

    @otpy.call
    def uncarriable(self) -> Any:
        return object()

    @otpy.call
    def later(self) -> Any:
        caller = self.caller
        assert caller is not None
        self.send_after(0.0, ("reply", 1))
        self.caller_of_later = caller
        return otpy.NoReply()

    @otpy.call
    def nobody(self) -> Any:
        return otpy.NoReply()

    @otpy.call
    def end(self, how: str, value: Any = None) -> Any:
        match how:
            case "raise":
                raise ValueError(value)
            case "os_exit":
                os._exit(value)
            case "half":
                os.write(_pipe(), value)
                os._exit(5)
            case "segfault":
                ctypes.string_at(0)
            case "stop":
                return otpy.Stop(value, "bye")
            case "spin":
                while True:
                    pass
        return None

    @otpy.cast
    def spin(self) -> None:
        while True:
            pass

    @otpy.call
    def write(self, data: bytes) -> None:
        """Speak out of turn on the pipe to the parent."""
        os.write(_pipe(), data)

    @otpy.call
    def close_pipe(self) -> None:
        pipe = socket.socket(fileno=os.dup(_pipe()))
        pipe.shutdown(socket.SHUT_WR)
        otpy.sleep(1e6)

    @otpy.call
    def helper(self) -> int:
        """Start a process of its own; returns its id."""
        return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1e6)"]).pid

    @otpy.call
    def say(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stderr.write(f"{text}\n")

    @otpy.call
    def meet(self, near: Any) -> None:
        self.near = near

    @otpy.call
    def ask_near(self, one: int, other: int) -> int:
        return int(self.near.call(Near.add, one, other))

    @otpy.call
    def tell_near(self, value: Any) -> None:
        self.near.cast(Near.note, value)
        self.near.tell(("told", value))

    @otpy.call
    def tell_near_later(self, value: Any) -> None:
        self.send_after(0.02, ("for near", value))

    @otpy.call
    def signal_parent(self, pid: int, *, forever: bool = False) -> Any:
        os.kill(pid, signal.SIGUSR1)
        return otpy.NoReply() if forever else None

    @otpy.call
    def ask_by_name(self, name: str) -> int:
        return int(self.system.ref(otpy.Name(name, Near)).call(Near.add, 1, 2))

    @otpy.call
    def send_odd(self) -> str:
        try:
            self.near.tell(object())
        except otpy.OtpyError as error:
            return type(error).__name__
        return "sent"

    @otpy.cast
    def wait_for(self, near: Any) -> None:
        """Be in this message until somebody tells the other one to go on."""
        near.within(None).call(Near.wait)

    @otpy.call
    def watch_near(self) -> None:
        self.monitor(self.near)

    @otpy.call
    def near_again(self) -> Any:
        return self.near

    @otpy.call
    def me(self) -> Any:
        return self.ref

    def handle_call(self, request: Any, caller: otpy.Caller) -> Any:
        return ("asked", request)

    def handle_info(self, message: Any) -> Any:
        match message:
            case ("reply", value):
                self.caller_of_later.reply(value)
            case ("for near", value):
                self.near.tell(value)
            case otpy.Down(reason=reason):
                self.log.append(("down", reason))
            case otpy.ExitSignal(reason=reason):
                self.log.append(("exit", reason))
            case "stop":
                return otpy.Stop(otpy.Exited(7))
            case _:
                self.log.append(message)
        return None

    def terminate(self, reason: otpy.Reason) -> None:
        if self.args and isinstance(self.args[0], Path):
            self.args[0].write_text(str(reason))


class Odd:
    """Is carried into the child by a pickle, and not into it when `bad`."""

    def __init__(self, value: int, *, bad: bool = False) -> None:
        self.value = value
        self.bad = bad

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Odd) and other.value == self.value

    def __hash__(self) -> int:
        return self.value

    def __reduce__(self) -> Any:
        return (_refuse, ()) if self.bad else (Odd, (self.value,))


def _refuse() -> None:
    raise RuntimeError("not here")


def _pipe() -> int:
    """The descriptor of the pipe to the parent."""
    found = [int(name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208 - names are wanted
    sockets = [fd for fd in found if fd > 2 and _is_socket(fd)]
    assert len(sockets) == 1
    return sockets[0]


def _is_socket(fd: int) -> bool:
    try:
        return os.readlink(f"/proc/self/fd/{fd}").startswith("socket")  # noqa: PTH115 - as above
    except OSError:
        return False


def greet(near: Any) -> None:
    """A function as a child: says where it runs, and returns."""
    near.tell(("pid", os.getpid()))


def stuck() -> None:
    """A function that never comes back."""
    while True:
        pass
