"""What happens in a system, as frozen values handed to whoever attached; by default they are logged."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from threading import RLock, current_thread, main_thread
from typing import TYPE_CHECKING, Any, TypeVar, overload

from otpy.core.reason import BadReturn, Crashed, Restart, told_restarts
from otpy.core.text import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from otpy.core.reason import Reason

__all__ = [
    "ActorCrashed",
    "ChildGivenUp",
    "ChildStartFailed",
    "ChildStarted",
    "ChildTerminated",
    "ChildUnstopped",
    "DeadLetter",
    "Event",
    "Events",
    "LoopBlocked",
    "MailboxGrew",
    "Neighbour",
    "Restart",
    "RestartDelayed",
    "RestartLimitReached",
    "ThreadLimitNear",
    "UnknownMessage",
    "ZombieEnded",
    "ZombieLimitReached",
    "ZombieMade",
]

log = logging.getLogger("otpy")

MAX_LINE = 600
"""Characters of one line of details in the log."""

E = TypeVar("E", bound="Event")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened to an actor, or to a whole system."""

    path: str
    """The actor's; the name alone where a name was written to; the system's name where it is about the system."""

    @property
    def level(self) -> int:
        """The level of `logging` it is logged at."""
        return logging.WARNING


@dataclass(frozen=True, slots=True, kw_only=True)
class Neighbour:
    """An actor that ends because one it is linked to crashed, for it does not trap exits. OTP: the same word."""

    path: str
    """Its path."""
    kind: str
    """Its class or function."""
    message: str | None
    """What it was handling, bounded in length."""
    queue: int
    """How many messages were waiting."""
    ancestors: tuple[str, ...]
    """Who stands above it, its parent first."""

    def __str__(self) -> str:
        return f"{self.path} ({self.kind})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorCrashed(Event):
    """An actor ended with an abnormal reason. OTP: the crash report."""

    kind: str
    """Its class or function."""
    reason: Reason
    """Why."""
    message: str | None
    """What it was handling, with its arguments; bounded in length, and without secrets."""
    queue: int
    """How many messages were still waiting."""
    hint: str | None = None
    """What usually helps against this."""
    name: str | None = None
    """Its registered name."""
    state: tuple[tuple[str, str], ...] = ()
    """Its public attributes as names and texts; bounded in number and length, and without secrets."""
    links: tuple[str, ...] = ()
    """To whom it was linked; of many some."""
    monitors: int = 0
    """How many watched it."""
    ancestors: tuple[str, ...] = ()
    """Who stands above it, its parent first."""
    traps_exits: bool = False
    """Whether exit signals reached it as messages."""
    neighbours: tuple[Neighbour, ...] = ()
    """Who ends with it, being linked and not trapping exits, directly or through others; at most 15."""
    callers: tuple[str, ...] = ()
    """Whose calls fail with it: paths, `outside` for a thread that is no actor's; of many some."""

    @property
    def level(self) -> int:
        """An error."""
        return logging.ERROR

    def __str__(self) -> str:
        during = f" during {self.message}" if self.message else ""
        lines = [f"{self.path} ({self.kind}) crashed{during}: {self.reason}"]
        if isinstance(self.reason, Crashed):
            lines.append(self.reason.traceback)
        if self.state or self.queue or self.links or self.neighbours or self.callers or self.hint or self.monitors:
            lines.extend(self._details())
        return "\n".join(lines)

    def _details(self) -> Iterator[str]:
        if self.state:
            yield shorten("state: " + ", ".join(f"{name}={text}" for name, text in self.state), MAX_LINE)
        around = [path for path in self.links if path not in self.ancestors]
        facts = [
            f"name: {self.name}" if self.name and self.name != self.path else "",
            f"{self.queue} messages waiting" if self.queue else "",
            f"linked to {', '.join(around)}" if around else "",
            f"watched by {self.monitors}" if self.monitors else "",
        ]
        if any(facts):
            yield shorten("; ".join(filter(None, facts)), MAX_LINE)
        if self.neighbours:
            yield shorten("ends with it: " + ", ".join(map(str, self.neighbours)), MAX_LINE)
        if self.callers:
            yield shorten("calls that fail: from " + ", ".join(self.callers), MAX_LINE)
        if self.hint:
            yield self.hint


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildStarted(Event):
    """A supervisor has started a child: its `init` is done. Not sent for an `Ignore`. OTP: the progress report."""

    restarts: int
    """0 at its first start."""

    @property
    def level(self) -> int:
        """Progress is of interest to few."""
        return logging.DEBUG

    def __str__(self) -> str:
        return f"{self.path} started" if not self.restarts else f"{self.path} started again (restart {self.restarts})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildTerminated(Event):
    """A child ended by itself, and its supervisor acts on it. OTP: `child_terminated`."""

    reason: Reason
    """Why."""

    @property
    def level(self) -> int:
        """An error, unless the crash itself has been reported as one: two reports of one crash hide each other."""
        return logging.DEBUG if isinstance(self.reason, Crashed | BadReturn) else logging.ERROR

    def __str__(self) -> str:
        return f"{self.path} ended: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildStartFailed(Event):
    """A child did not start, or not again; its `path` is the one it was to have. OTP: `start_error`."""

    reason: Reason
    """Why."""

    @property
    def level(self) -> int:
        """As for `ChildTerminated`: a crash of `init` has been reported in full."""
        return logging.DEBUG if isinstance(self.reason, Crashed | BadReturn) else logging.ERROR

    def __str__(self) -> str:
        return f"{self.path} did not start: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildUnstopped(Event):
    """A child that was told to stop ended otherwise than it should. OTP: `shutdown_error`."""

    reason: Reason
    """How it ended; `killed` when it outlived its `shutdown` time."""

    @property
    def level(self) -> int:
        """An error."""
        return logging.ERROR

    def __str__(self) -> str:
        return f"{self.path} did not stop as asked: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartLimitReached(Event):
    """The supervisor at `path` gives up: it stops its children and ends. OTP: `reached_max_restart_intensity`."""

    child: str
    """The id of the child whose restart was one too many."""
    max_restarts: int
    """How many it bears."""
    max_seconds: float
    """Within which time."""
    reason: Reason
    """Why the child ended."""
    restarts: tuple[Restart, ...] = ()
    """The restarts before it within that time, oldest first; the last 10."""

    @property
    def level(self) -> int:
        """An error."""
        return logging.ERROR

    def __str__(self) -> str:
        limit = f"{self.max_restarts} restarts in {self.max_seconds:g} s"
        last = f"child {self.child} ({self.reason}){told_restarts(self.restarts, self.max_restarts)}"
        return f"{self.path} gives up: reached the restart limit of {limit} with {last}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartDelayed(Event):
    """A child with a back-off ended, or did not start again: its supervisor waits before the next attempt."""

    seconds: float
    """How long."""
    reason: Reason
    """Why the child ended, or did not start."""

    @property
    def level(self) -> int:
        """The failure itself has been reported."""
        return logging.INFO

    def __str__(self) -> str:
        return f"{self.path} is to be started again in {self.seconds:.3g} s ({self.reason})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildGivenUp(Event):
    """A child passed the limit of its own and stays without a process until somebody starts it; its siblings go on."""

    max_restarts: int
    """How many restarts it was allowed."""
    max_seconds: float
    """Within which time."""
    reason: Reason
    """Why it ended last."""

    @property
    def level(self) -> int:
        """An error."""
        return logging.ERROR

    def __str__(self) -> str:
        limit = f"{self.max_restarts} restarts in {self.max_seconds:g} s"
        return f"{self.path} is given up: it reached its own limit of {limit} ({self.reason}); otpy restart starts it"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter(Event):
    """A message nobody will handle: the receiver at `path` is dead, its mailbox was full, or nobody had the name."""

    message: str
    """What it was, bounded in length."""
    why: str
    """What became of the receiver."""

    @property
    def level(self) -> int:
        """Quite ordinary around restarts."""
        return logging.DEBUG

    def __str__(self) -> str:
        return f"{self.path}: {self.message} was not handled: {self.why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownMessage(Event):
    """An actor got a message that its class does not handle, and dropped it."""

    message: str
    """What it was, bounded in length."""

    def __str__(self) -> str:
        return f"{self.path} got a message it does not handle: {self.message}"


@dataclass(frozen=True, slots=True, kw_only=True)
class MailboxGrew(Event):
    """An unbounded mailbox reached 10 000 or 100 000 waiting messages; said once for each of the two."""

    length: int
    """How many wait."""

    def __str__(self) -> str:
        return f"{self.path} has {self.length} messages waiting; it gets more than it can handle"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZombieMade(Event):
    """A killed actor still runs: a thread cannot be killed. It is dead to all others; what it does is fenced."""

    thread: str | None
    """The thread it keeps."""
    frame: str | None
    """Where its code is now."""

    def __str__(self) -> str:
        return f"{self.path} was killed but still runs on {self.thread} at {self.frame}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZombieEnded(Event):
    """The code of a killed actor came to its end."""

    @property
    def level(self) -> int:
        """Good news."""
        return logging.INFO

    def __str__(self) -> str:
        return f"{self.path}: the killed actor's code has ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZombieLimitReached(Event):
    """More killed actors still run than `max_zombies` allows: the program ends for its own keeper to start it again."""

    count: int
    """How many there are."""

    @property
    def level(self) -> int:
        """The program ends."""
        return logging.CRITICAL

    def __str__(self) -> str:
        return f"{self.path} ends: {self.count} killed actors still run (max_zombies)"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadLimitNear(Event):
    """Blocked actors keep 80 % or all of `max_threads` busy, or the platform gives no further thread.

    Said once for each of the two, and again after fewer than 40 % were in use.
    """

    count: int
    """Threads in use."""
    limit: int
    """`max_threads`, or `count` when the platform gave no more."""

    def __str__(self) -> str:
        return f"{self.path} uses {self.count} of {self.limit} threads: many actors block in their handlers"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopBlocked(Event):
    """A handler on the event loop has not given it back for a tenth of a second: all others there wait for it."""

    seconds: float
    """How long so far."""
    frame: str | None
    """Where its code is now."""

    def __str__(self) -> str:
        return f"{self.path} blocks the event loop for {self.seconds:.1f} s at {self.frame}"


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
        state and no arguments.
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
