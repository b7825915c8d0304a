"""The composition root: knits a system, its control socket and the program's signals together."""

from __future__ import annotations

import atexit
import gc
import logging
import os
import re
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

import otpy.actors.adopted
import otpy.actors.function
import otpy.places  # noqa: F401 - the places register themselves
from otpy.control.claim import NameClaim, claim_name
from otpy.control.errors import DirectoryError
from otpy.control.rights import check_rights
from otpy.control.server import ControlServer
from otpy.core.exit_codes import ExitCode
from otpy.core.number import is_number
from otpy.core.reason import Killed, Reason, RestartLimit, Shutdown, is_clean
from otpy.core.spec import ChildSpec, child
from otpy.core.text import safe_repr, visible
from otpy.errors import OtpyError, SpecError, TreeFailedError
from otpy.runtime.death import kill
from otpy.runtime.links import Monitor, watch
from otpy.runtime.system import MAX_THREADS, MAX_ZOMBIES, System

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

    from otpy.control.rights import Rights
    from otpy.core.clock import Clock
    from otpy.events.event import Event
    from otpy.runtime.stopping import Unstopped

__all__ = ["SHUTDOWN", "Application", "main", "run", "snake"]

log = logging.getLogger("otpy")

SIGNAL_GRAIN = 1.0
"""Seconds after which a signal is handled at the latest."""

GRACE = 0.5
"""Seconds after a signal in which another one is the same wish; later it ends the program at once."""

SHUTDOWN = 30.0
"""Seconds in which the whole tree must have stopped; container platforms send SIGKILL after 30."""


class Application(System):
    """A system that runs as a program: it can be waited for, looked into, and told to stop from outside."""

    def __init__(self, name: str, **options: Any) -> None:
        """Made by `run`."""
        super().__init__(name, **options)
        # A SimpleQueue, for its `put` may be called in a signal handler that interrupts its `get`.
        self._ends: SimpleQueue[Reason | None] = SimpleQueue()
        self._is_stopping = False
        self.failure: str | None = None
        self.is_stopping = False
        self.left: list[Unstopped] = []
        self.on_too_many_zombies = self._give_up

    def request_stop(self) -> None:
        """Ask the program to stop, from any thread or signal handler; returns at once."""
        self._ends.put(None)

    def wait(self) -> Reason | None:
        """Block the calling thread until the program is told to stop (None) or the root has ended (its exit reason)."""
        while True:
            # Not without end: CPython overlooks a signal that comes in the moment in which its main thread falls
            # asleep, and handles it when the thread wakes up.
            with suppress(Empty):
                ended = self._ends.get(timeout=SIGNAL_GRAIN)
                self._ends.put(ended)  # for others who wait
                return ended

    def stop(self, reason: Reason | None = None, *, timeout: float = SHUTDOWN) -> list[Unstopped]:
        """As `System.stop`."""
        self._is_stopping = True
        return super().stop(reason, timeout=timeout)

    def watch_root(self) -> None:
        """Note when the root ends by itself."""
        watch(_RootWatch(self))

    def end_start(self) -> None:
        """Kill the root if its start is not done, as when a program was told to stop while an `init` hangs."""
        if self.root is not None and self.root.is_starting():
            kill(self.root)

    def root_ended(self, reason: Reason) -> None:
        """The root has ended."""
        if self.is_stopping:
            self._ends.put(reason)
            return  # it was told to; what did not end in time is left over, no failure
        detail = reason.detail if isinstance(reason, Shutdown) else None
        gave_up = isinstance(detail, RestartLimit)
        was_late = self._is_stopping and isinstance(reason, Killed)  # the stop's own deadline; what is left says so
        if gave_up or not (is_clean(reason) or was_late):
            self.failure = self.failure or str(detail if gave_up else reason)
        self._ends.put(reason)

    def _give_up(self) -> None:
        self.failure = f"more than {self.max_zombies} killed actors still run"
        self._ends.put(None)


class _RootWatch(Monitor):
    """Tells the application of its root's end."""

    __slots__ = ("app",)

    def __init__(self, app: Application) -> None:
        super().__init__(app.root, app.root, None)
        self.app = app

    def fire(self, reason: Reason) -> None:
        root = self.app.root  # what ended before it was watched has ended for its own reason, not for `NoProc`
        self.app.root_ended(reason if root is None or root.reason is None else root.reason)


@contextmanager
def run(
    tree: Callable[..., Any] | ChildSpec,
    *args: Any,
    name: str | None = None,
    control: Rights = "operate",
    shutdown: float = SHUTDOWN,
    switch_interval: float | None = None,
    gc_freeze: bool = False,
    clock: Clock | None = None,
    seed: int | None = None,
    on_event: Callable[[Event], None] | None = None,
    max_threads: int = MAX_THREADS,
    max_zombies: int = MAX_ZOMBIES,
    control_directory: Path | str | None = None,
    redact: Callable[[str, object], object] | None = None,
) -> Iterator[Application]:
    """Run a tree as long as the `with` block lasts; its end stops the tree in reverse start order.

    In the main thread SIGTERM and SIGINT end `system.wait()`; a second one ends the program at once.

    Args:
        tree: a supervisor, any other actor class, a function, or a child spec.
        *args: for its `init`.
        name: the first part of every path; unique among the user's running programs, so a second `shop` becomes
            `shop-2`. By default the tree's own name in lower case.
        control: what other terminals of the same user may do: `off`, `read`, `operate` or `full`.
        shutdown: seconds for the whole stop.
        switch_interval: seconds a computing thread keeps the interpreter; None leaves Python's 0.005. Process-wide.
        gc_freeze: take what is there after the start out of garbage collections. Process-wide.
        clock: the system's clock; the monotonic one by default.
        seed: for `system.random`.
        on_event: called with every event from the first on, in the thread where it happens; see `otpy.events`.
        max_threads: extra threads for actors that block outside of otpy.
        max_zombies: killed actors that may still run before the program ends.
        control_directory: where the control socket goes.
        redact: `redact(name, value)` returns what may be shown of a value, as `Actor.redact`; for all actors.

    Raises:
        StartError: the tree did not start.
        TreeFailedError: on leaving the block: the root gave up or crashed.
    """
    check_rights(control)
    _check_options(name, shutdown=shutdown, max_threads=max_threads, max_zombies=max_zombies)
    spec = tree if isinstance(tree, ChildSpec) else child(tree, *args)
    wanted = name or snake(spec.id)
    claim = _claim(wanted, None if control_directory is None else Path(control_directory)) if control != "off" else None
    own = wanted if claim is None else claim.name
    options = {"max_threads": max_threads, "max_zombies": max_zombies, "redact": redact}
    system = Application(own, clock=clock, seed=seed, **options)
    if on_event is not None:
        system.events.attach(on_event)
    rights: Rights = "off" if claim is None else control
    server = ControlServer(system, rights=rights, claim=claim)
    if switch_interval is not None:
        sys.setswitchinterval(switch_interval)
    atexit.register(system.stop, timeout=shutdown)
    with _signals(system, shutdown):  # until all is stopped: a second signal may come while it is
        try:
            server.start()
            system.start_root(spec)
            system.watch_root()
            if gc_freeze:
                gc.collect()
                gc.freeze()
            yield system
        finally:
            atexit.unregister(system.stop)
            system.is_stopping = True
            system.left = system.stop(timeout=shutdown)
            server.close()
            for unstopped in system.left:
                log.error("%s", unstopped)
    if system.failure is not None:
        raise TreeFailedError(system.name, system.failure)


def _check_options(name: object, **numbers: object) -> None:
    """Refuse options that cannot work, before anything starts."""
    if name is not None and (not isinstance(name, str) or not name):
        raise SpecError("run", f"name={safe_repr(name)}: a text, or None for the tree's own name")
    for option, value in numbers.items():
        whole = option != "shutdown"
        if not (is_number(value) and value >= whole and (isinstance(value, int) or not whole)):
            wanted = "a whole number > 0" if whole else "seconds >= 0"
            raise SpecError("run", f"{option}={safe_repr(value)}: {wanted}")


def _claim(name: str, directory: Path | None) -> NameClaim | None:
    """Take a name among the user's programs; a program that cannot be looked into is still better than none."""
    try:
        return claim_name(name, directory)
    except DirectoryError as error:
        log.warning("%s runs without a control socket: %s", name, error)
        return None


def main(tree: Callable[..., Any] | ChildSpec, *args: Any, **options: Any) -> int:
    """Run a tree until it is told to stop or gives up; returns the exit code (`otpy.core.exit_codes`).

    Once the tree is up, one line on standard error says so, and how to look at it.
    """
    system: Application | None = None
    try:
        with run(tree, *args, **options) as system:
            _greet(system.name, is_open=options.get("control") != "off")
            system.wait()
    except OtpyError as error:
        log.critical("%s", error)
        return ExitCode.FAILED
    return ExitCode.LEFT_OVER if system.left else ExitCode.CLEAN


def _greet(name: str, *, is_open: bool) -> None:
    """Say that the tree is up; a standard error that is closed is no reason to fail."""
    look = f"; `otpy tree {name}` in another terminal shows it" if is_open else ""
    with suppress(OSError, ValueError, AttributeError):
        print(f"{visible(name)} runs{look}", file=sys.stderr, flush=True)  # noqa: T201 - it is for who started it


@contextmanager
def _signals(system: Application, shutdown: float) -> Iterator[None]:
    """SIGTERM and SIGINT ask the program to stop; only the main thread can say so, and only there it is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {}
    seen: list[float] = []

    def on_signal(number: int, _: FrameType | None) -> None:
        if seen and time.monotonic() - seen[0] < GRACE:
            return  # some senders signal the process and its group, which is no second wish
        if seen or os.getpid() != owner:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        seen.append(time.monotonic())
        system.request_stop()
        system.timers.after(shutdown, system.end_start)

    owner = os.getpid()
    for wanted in (signal.SIGTERM, signal.SIGINT):
        before[wanted] = signal.signal(wanted, on_signal)
    try:
        yield
    finally:
        for number, handler in before.items():
            with suppress(TypeError):  # a handler that was not set from Python cannot be set back from it
                signal.signal(number, handler)


def snake(name: str) -> str:
    """What a program is called after its tree: the id in lower case, with underscores between its words."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
