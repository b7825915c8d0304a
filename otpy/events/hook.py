"""The one hook of a system: events reach the log and whoever attached."""

from __future__ import annotations

import logging
from contextlib import suppress
from threading import RLock, current_thread, main_thread
from typing import TYPE_CHECKING, Any, TypeVar, overload

from otpy.events.event import Event

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Events"]

log = logging.getLogger("otpy")

E = TypeVar("E", bound=Event)


class Events:
    """The one hook of a system: handlers by event type.

    Handlers run in the thread where the event happens and must be quick; one that raises is logged and harms nobody.
    """

    def __init__(self) -> None:
        """Start with the log as the only listener."""
        # Guards the replacement of the tables; they are read without it, whole or not at all. RLock: a signal handler
        # may attach in the middle of it.
        self._lock = RLock()
        self._all: tuple[Callable[[Any], object], ...] = ()
        self._some: dict[type[Event], tuple[Callable[[Any], object], ...]] = {}

    @overload
    def attach(self, handler: Callable[[Event], object], *, brief: bool = False) -> Callable[[], None]: ...
    @overload
    def attach(self, handler: Callable[[E], object], *types: type[E], brief: bool = False) -> Callable[[], None]: ...
    def attach(self, handler: Callable[[Any], object], *types: type[Event], brief: bool = False) -> Callable[[], None]:
        """Call `handler(event)` for each event of these types, or for all; returns a function that ends it.

        A `brief` handler does not want what costs time: without any other, and without the log, a crash report has no
        state and no arguments, and a dead letter says only what kind of message it was.
        """
        handler = _Brief(handler) if brief else handler
        with self._lock:
            if not types:
                self._all = (*self._all, handler)
            self._some = self._some | {kind: (*self._some.get(kind, ()), handler) for kind in types}

        def detach() -> None:
            with self._lock:
                self._all = tuple(h for h in self._all if h is not handler)
                self._some = {k: tuple(h for h in hs if h is not handler) for k, hs in self._some.items()}

        return detach

    def wants(self, kind: type[Event], level: int) -> bool:
        """Whether an event of this kind would reach anybody; asked before a frequent one is made."""
        return bool(self._all) or kind in self._some or log.isEnabledFor(level)

    def wants_details(self, kind: type[Event], level: int) -> bool:
        """Whether the costly parts of such an event would reach anybody."""
        if log.isEnabledFor(level):
            return True
        return any(type(handler) is not _Brief for handler in (*self._all, *self._some.get(kind, ())))

    def emit(self, event: Event) -> None:
        """Hand an event to the log and to all who attached."""
        for handler in (self._write, *self._all, *self._some.get(type(event), ())):
            try:
                handler(event)
            except BaseException as error:  # noqa: BLE001 - handlers are anybody's; `_survive` says what goes on
                _survive(error)

    def _write(self, event: Event) -> None:
        """The handler that is always there: the log."""
        level = event.level
        if log.isEnabledFor(level):
            # Not `log.log`, which would walk the stack to find this very line.
            log.handle(log.makeRecord("otpy", level, __file__, 0, "%s", (event,), None, extra={"otpy": event}))


class _Brief:
    """A handler that wants no details."""

    __slots__ = ("_handler",)

    def __init__(self, handler: Callable[[Any], object]) -> None:
        self._handler = handler

    def __call__(self, event: Event) -> None:
        self._handler(event)


def _survive(error: BaseException) -> None:
    """Nothing a handler raises may stop what it is told of: an actor's death must reach all who wait for it."""
    if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
        raise error  # somebody's Ctrl-C, which has nothing to do with the handler
    with suppress(Exception):  # where the log itself fails, there is nobody left to tell
        log.error("a handler of events failed", exc_info=error)
