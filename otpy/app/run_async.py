"""`run_async`: a tree that lives as long as an `async with` block, on the event loop of its user."""

from __future__ import annotations

import atexit
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from otpy.app.body import Body
from otpy.app.loop_signals import loop_signals
from otpy.app.service import service
from otpy.app.settings import Settings
from otpy.app.winding import left_by, wind_up
from otpy.core.late import asyncio
from otpy.core.spec import ChildSpec, child
from otpy.errors import TreeFailedError
from otpy.runtime.aside import aside
from otpy.runtime.death import kill

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from typing import Unpack

    from otpy.app.application import Application
    from otpy.app.settings import RunOptions
    from otpy.control.server import ControlServer
    from otpy.places.loop_borrowed import BorrowedHome

__all__ = ["run_async"]

log = logging.getLogger("otpy")


@asynccontextmanager
async def run_async(
    tree: Callable[..., Any] | ChildSpec, *args: Any, **options: Unpack[RunOptions]
) -> AsyncIterator[Application]:
    """Run a tree as long as the `async with` block lasts, inside a program of asyncio that is already running.

    Actors of the place `loop` run on the program's own event loop, beside its other tasks; all others where they
    always do. The start and the stop are awaited; a body that is cancelled, or raises, stops the tree in order first.

    `await system.await_end()` waits until the program is told to stop, by a signal or `otpy stop`, or the root has
    ended. A body that has never asked for that is cancelled instead, also when the tree fails. SIGTERM and SIGINT are
    taken in the main thread, as far as no other part of the program has; a second one skips the drain, a third one
    ends the program at once.

    Args:
        tree: a supervisor, any other actor class, a function, or a child spec.
        *args: for its `init`.
        **options: as for `run`.

    Raises:
        StartError: the tree did not start.
        StateFileError: the file of `state` cannot be used.
        TreeFailedError: on leaving the block: the root gave up or crashed.
    """
    from otpy.places.loop_borrowed import BorrowedHome  # noqa: PLC0415 - and with it asyncio, for who uses its loop

    settings = Settings(**options)
    spec = tree if isinstance(tree, ChildSpec) else child(tree, *args)
    system, server = settings.prepare(spec)
    home = system.homes["loop"] = BorrowedHome(system)
    body = Body(system)
    unfinished = _Unfinished(system, home, settings.shutdown)
    atexit.register(unfinished.stop)
    problem: BaseException | None = None
    with loop_signals(body), service(system) as told:  # until all is stopped
        try:
            settings.open_states(system)
            server.start()
            await system.astart_root(spec)
            system.watch_root()
            settings.freeze()
            told.ready()
            body.begin()
            yield system
        except BaseException as error:  # noqa: BLE001 - it goes on when all is stopped
            problem = error
        body.end()
        told.stopping()
        problem = await _wind_up(system, server, home, left_by(problem)) or problem
        atexit.unregister(unfinished.stop)
    has_own_end = body.take_back() and isinstance(problem, asyncio.CancelledError)
    if problem is not None and not has_own_end:
        try:
            raise problem
        finally:
            del problem  # it knows this frame
    if system.failure is not None:
        raise TreeFailedError(system.name, system.failure)


async def _wind_up(
    system: Application, server: ControlServer, home: BorrowedHome, reason: str
) -> asyncio.CancelledError | None:
    """Stop everything, whoever cancels what meanwhile; returns the cancellation, which goes on afterwards."""

    def work() -> None:
        wind_up(system, reason)
        server.close()

    cancelled = None
    done = _begin(work, system)
    while not done.done():
        try:
            await asyncio.wait([done])
        except asyncio.CancelledError as error:
            cancelled = error
    try:
        await home.leave()
    except asyncio.CancelledError as error:
        cancelled = error
    done.result()
    return cancelled


def _begin(work: Callable[[], None], system: Application) -> asyncio.Future[None]:
    """Begin to stop; where no thread can be had for it, nothing can be waited for."""
    try:
        return aside(work)
    except RuntimeError:
        log.exception("%s cannot be stopped in order: it is killed", system.name)
        for ref in list(system.tops.values()):
            kill(ref)
        system.close()
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done


class _Unfinished:
    """A block that is still not left when the interpreter ends."""

    def __init__(self, system: Application, home: BorrowedHome, shutdown: float) -> None:
        self._system = system
        self._home = home
        self._shutdown = shutdown

    def stop(self) -> None:
        """Say so, and stop what can be stopped."""
        if self._system.forked:
            return  # it is the parent's
        log.error("%s: its `async with otpy.run_async(…)` block was never left", self._system.name)
        if not self._home.loop.is_running():
            self._home.lose()
        self._system.stop(timeout=self._shutdown)
