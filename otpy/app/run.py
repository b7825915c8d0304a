"""`run`: a tree that lives as long as a `with` block."""

from __future__ import annotations

import atexit
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from otpy.app.application import SHUTDOWN, Application
from otpy.app.service import service
from otpy.app.settings import Settings
from otpy.app.signals import signals
from otpy.app.winding import left_by, wind_up
from otpy.core.spec import ChildSpec, child
from otpy.errors import TreeFailedError
from otpy.runtime.seat import here
from otpy.runtime.system import LOOP_BLOCKED_AFTER, MAX_THREADS, MAX_ZOMBIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from otpy.control.rights import Rights
    from otpy.core.clock import Clock
    from otpy.events.event import Event
    from otpy.state.plan import StateFile

__all__ = ["run"]


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
    loop_blocked_after: float = LOOP_BLOCKED_AFTER,
    control_directory: Path | str | None = None,
    redact: Callable[[str, object], object] | None = None,
    state: StateFile | Path | str | None = None,
) -> Iterator[Application]:
    """Run a tree as long as the `with` block lasts; its end drains the tree, and stops it in reverse start order.

    In the main thread SIGTERM and SIGINT have the program drain, and end `system.wait()`; a second one skips what is
    left of the drain, a third one ends the program at once.

    Args:
        tree: a supervisor, any other actor class, a function, or a child spec.
        *args: for its `init`.
        name: the first part of every path; unique among the user's running programs, so a second `shop` becomes
            `shop-2`. By default the tree's own name in lower case.
        control: what other terminals of the same user may do: `off`, `read`, `operate` or `full`.
        shutdown: seconds in which the program must have drained and stopped, once it was told to.
        switch_interval: seconds a computing thread keeps the interpreter; None leaves Python's 0.005. Process-wide.
        gc_freeze: take what is there after the start out of garbage collections. Process-wide.
        clock: the system's clock; the monotonic one by default.
        seed: for `system.random`.
        on_event: called with every event from the first on, in the thread where it happens; see `otpy.events`.
        max_threads: extra threads for actors that block outside of otpy.
        max_zombies: killed actors that may still run before the program ends.
        loop_blocked_after: real seconds after which a handler that keeps an event loop is reported (`LoopBlocked`).
        control_directory: where the control socket goes.
        redact: `redact(name, value)` returns what may be shown of a value, as `Actor.redact`; for all actors.
        state: the file in which is kept what actors persist, over restarts of the program; None for none. A `StateFile`
            says more of it.

    Raises:
        StartError: the tree did not start.
        StateFileError: the file of `state` cannot be used.
        TreeFailedError: on leaving the block: the root gave up or crashed.
    """
    here().may_block()
    settings = Settings(
        name=name,
        control=control,
        shutdown=shutdown,
        switch_interval=switch_interval,
        gc_freeze=gc_freeze,
        clock=clock,
        seed=seed,
        on_event=on_event,
        max_threads=max_threads,
        max_zombies=max_zombies,
        loop_blocked_after=loop_blocked_after,
        control_directory=control_directory,
        redact=redact,
        state=state,
    )
    spec = tree if isinstance(tree, ChildSpec) else child(tree, *args)
    system, server = settings.prepare(spec)
    atexit.register(system.stop, timeout=shutdown)
    # Until all is stopped: a second signal may come while it is.
    with signals(system), service(system) as told:
        try:
            settings.open_states(system)
            server.start()
            system.start_root(spec)
            system.watch_root()
            settings.freeze()
            told.ready()
            yield system
        finally:
            told.stopping()
            atexit.unregister(system.stop)
            wind_up(system, left_by(sys.exception()))
            server.close()
    if system.failure is not None:
        raise TreeFailedError(system.name, system.failure)
