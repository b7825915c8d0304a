"""`Breaker`: the handle of a circuit breaker, through which calls go; its actor keeps it.

A call looks at the snapshot that the actor has published, in its own thread and without a lock; what becomes of it
goes into a queue that the actor empties. So nobody waits for anybody, and one alone decides what it all means.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, Unpack

from otpy.core.reason import Exit, NoProc
from otpy.core.spec import ChildSpec
from otpy.core.text import safe_repr
from otpy.errors import NameTakenError, NoProcError, SpecError
from otpy.resilience.errors import BreakerOpenError
from otpy.resilience.guard import guarded
from otpy.resilience.matching import Errors, matcher
from otpy.resilience.permit import Permit
from otpy.resilience.rules import rules_of
from otpy.resilience.server import BreakerServer
from otpy.resilience.snapshot import EXCLUDED, FAILED, OK, SLOW, UNKEPT, Probe, Snapshot, decide
from otpy.runtime.seat import here
from otpy.runtime.timers import MonotonicClock

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Literal, NoReturn, Self

    from otpy.resilience.rules import RuleWords
    from otpy.resilience.snapshot import Outcome, State
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["Breaker"]

P = ParamSpec("P")
R = TypeVar("R")
Ticket = Snapshot | Probe
Entry = tuple["Breaker", Ticket, float, Any]

log = logging.getLogger("otpy")

BATCH = 256
"""Successes that may wait until the actor is told; a failure and a probe are told at once."""
MOST_WAITING = 10_000
"""Reports that may wait for an actor that does not come to them, as when it is suspended; then the oldest go."""
PATIENCE = 1.0
"""Seconds after which the actor is told again: what told it before may have been cut off in the middle."""


_ENTRIES: ContextVar[Entry | None] = ContextVar("otpy_breaker_entries", default=None)
"""The `with` blocks that this thread or task is in, the innermost first: whose, with what, since when, and the rest."""


class Breaker:
    """A circuit breaker: `@payments`, `with payments:`, `async with payments:`, from any thread and task.

    Make one for each service, where its functions are, and put `payments.child()` into the tree: that actor counts and
    decides. Until it runs, and when it has ended for good, all calls go through and none is counted.

    Args:
        name: for people: in errors, events and the tree.
        counts: which errors of a call say that the service is ill: a class, some, or a function that is asked.
        excludes: those of them that do not, as for an order that is refused with good reason.
        **rules: as the fields of `Rules`, which has the defaults.

    Raises:
        SpecError: the rules cannot be used; the message says why.
    """

    def __init__(
        self,
        name: str,
        *,
        counts: Errors = Exception,
        excludes: Errors = (),
        **rules: Unpack[RuleWords],
    ) -> None:
        """Make it; nothing runs yet."""
        if not isinstance(name, str) or not name or "/" in name:
            raise SpecError("Breaker", f"name={safe_repr(name)}: a text without '/'")
        self.name = name
        self.rules = rules_of(name, rules)
        self._counts = matcher(name, "counts", counts)
        self._excludes = matcher(name, "excludes", excludes)
        self.is_timed = self.rules.slow is not None
        self._snapshot = UNKEPT
        self._reports: deque[tuple[Ticket, float, Outcome]] = deque(maxlen=MOST_WAITING)
        self._now: Callable[[], float] = time.monotonic
        self._lock = threading.RLock()  # guards who keeps it, and `_rejected`
        self._keeper: Ref[BreakerServer] | None = None
        self._told_at: float | None = None
        self._rejected = 0
        self._checked_at = 0.0
        self._has_warned = False
        self._last_generation = 0

    # What users call.

    def child(self) -> ChildSpec:
        """The spec of the actor that keeps it, for the tree of the program that uses it."""
        return ChildSpec(self.name, BreakerServer, (self,))

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Have each call of a function, or of a coroutine function, go through the breaker.

        Raises:
            TypeError: it is a generator function: what it does happens later, so use `with` inside of it.
        """
        return guarded(self, function)

    def __enter__(self) -> Self:
        """Begin a call. Raises BreakerOpenError."""
        ticket = self.enter()
        begun = self._now() if self.is_timed else 0.0
        _ENTRIES.set((self, ticket, begun, _ENTRIES.get()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        entry, rest = _take_out(self, _ENTRIES.get())
        if entry is None:
            return  # left in another context than it was entered in, as a generator may; a probe's time will be over
        _ENTRIES.set(rest)
        self.leave(entry[1], entry[2], error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)

    def allow(self, *, holder: Ref[Any] | None = None) -> Permit:
        """Begin a call whose outcome is told later, maybe elsewhere: by the methods of the `Permit`.

        Args:
            holder: the actor that makes it, if it is another one than asks; its end is a probe's failure.

        Raises:
            BreakerOpenError: not now.
        """
        ticket = self.enter()
        if holder is not None and isinstance(ticket, Probe):
            ticket.holder = holder
            self._tell()
        return Permit(self, ticket, self._now() if self.is_timed else 0.0)

    @property
    def state(self) -> State:
        """How it stands: `closed`, `open`, `half_open`, `forced_open`, `forced_closed`, or `unkept`: no actor runs."""
        return self._snapshot.state

    @property
    def generation(self) -> int:
        """Which phase of its life this is: another number after each change."""
        return self._snapshot.generation

    @property
    def rejected(self) -> int:
        """How many calls it has not let through."""
        return self._rejected

    def retry_after(self) -> float | None:
        """Seconds until it is worth asking; 0.0 when it is now, None when it is forced open."""
        snapshot = self._snapshot
        if snapshot.state == "forced_open":
            return None
        return max(0.0, snapshot.until - self._now()) if snapshot.state == "open" else 0.0

    def force(self, state: Literal["open", "closed"]) -> None:
        """Hold it open, or closed, until `reset`, also over a restart of its actor; done when this returns.

        Raises:
            NoProcError: no actor keeps it.
        """
        self._kept("force").call(BreakerServer.force, state)

    async def aforce(self, state: Literal["open", "closed"]) -> None:
        """As `force`, awaited."""
        await self._kept("force").acall(BreakerServer.force, state)

    def reset(self) -> None:
        """Close it and forget all counts, also when it was forced; done when this returns. Raises NoProcError."""
        self._kept("reset").call(BreakerServer.reset)

    async def areset(self) -> None:
        """As `reset`, awaited."""
        await self._kept("reset").acall(BreakerServer.reset)

    def __reduce__(self) -> NoReturn:
        text = f"breaker {self.name!r} stays in its process: make it in the module that uses it"
        raise TypeError(text)

    def __repr__(self) -> str:
        return f"<Breaker {self.name} {self.state}>"

    # What calls go through: the hot path.

    def enter(self) -> Ticket:
        """Let a call begin, or raise BreakerOpenError."""
        snapshot = self._snapshot
        return snapshot if snapshot.passes else self._ask(snapshot)

    def leave(self, ticket: Ticket, begun: float, error: BaseException | None) -> None:
        """Tell what became of a call."""
        if not ticket.counts:
            return
        if error is None:
            is_slow = self.is_timed and self._now() - begun >= (self.rules.slow or 0.0)
            self.report(ticket, SLOW if is_slow else OK)
        else:
            self.report(ticket, FAILED if self.is_failure(error) else EXCLUDED)

    def report(self, ticket: Ticket, outcome: Outcome) -> None:
        """Put an outcome where the actor finds it."""
        if not ticket.counts:
            return
        matters = outcome != OK or ticket.__class__ is Probe
        if matters and _is_dead(here().ref):
            return  # a killed actor whose code goes on: its end has been heard of, and says more
        reports = self._reports
        reports.append((ticket, self._now(), outcome))
        # Successes wait: none of them changes anything but what the next failure means.
        if matters or len(reports) >= BATCH:
            self._tell()

    def is_failure(self, error: BaseException) -> bool:
        """Whether an error of a call speaks against the service.

        What is no `Exception` never does: a cancellation, Ctrl-C, an actor that was told to stop. Nor does another
        breaker's refusal: nothing was asked of the service.
        """
        if not isinstance(error, Exception) or isinstance(error, BreakerOpenError):
            return False
        return self._counts(error) and not self._excludes(error)

    def now(self) -> float:
        """The time of the system that keeps it."""
        return self._now()

    def _ask(self, snapshot: Snapshot) -> Ticket:
        """The rest of `enter`, where not every call may pass."""
        keeper = self._keeper
        if keeper is not None and not keeper.is_alive():
            self._abandon(keeper)
            snapshot = self._snapshot
        if snapshot is UNKEPT:
            self._warn()
            return snapshot
        seat = here()
        seat.fence()
        now = self._now()
        verdict = decide(snapshot, now)
        if isinstance(verdict, Probe):
            verdict.holder = seat.ref
            self._tell()
            return verdict
        if verdict == 0.0 and now - self._checked_at >= PATIENCE:
            self._checked_at = now
            self._tell()  # all permits are taken: now and then have it see to it that each of them comes back
        with self._lock:
            self._rejected += 1
        raise BreakerOpenError(self.name, verdict)

    def _tell(self) -> None:
        """Have the actor look, unless it is about to.

        It clears the note, then looks; who comes with something has put it there, and then reads the note. So what is
        put there while the note stands is seen. A note whose message was cut off, as by Ctrl-C, is soon too old.
        """
        keeper = self._keeper
        if keeper is None:
            return
        if not keeper.is_alive():
            self._abandon(keeper)
            return
        now = self._now()
        told_at = self._told_at
        if told_at is None or now - told_at >= PATIENCE:
            self._told_at = now
            try:
                keeper.cast(BreakerServer.look)
            except BaseException:
                self._told_at = None
                raise

    def _abandon(self, keeper: Ref[BreakerServer]) -> None:
        """Its actor has ended and could not say so yet, or this is a forked process, where it does not run."""
        if keeper.system.forked:
            self._lock = threading.RLock()  # whoever held it is not here
        self.release(keeper)

    def _warn(self) -> None:
        if not self._has_warned:
            self._has_warned = True
            log.warning("breaker %r has no actor, so calls go through: put its .child() into the tree", self.name)

    def _kept(self, what: str) -> Ref[BreakerServer]:
        keeper = self._keeper
        if keeper is None or not keeper.is_alive():
            raise NoProcError(f"breaker {self.name!r}", what, NoProc())
        return keeper

    # What its actor does with it.

    def keep(self, keeper: Ref[BreakerServer]) -> tuple[State, int]:
        """Be kept by an actor; gives how it stood before, and the first number for its phases."""
        with self._lock:
            holder = self._keeper
            if holder is not None and holder is not keeper and holder.is_alive():
                raise NameTakenError(keeper.path, Exit("already_started"), f"breaker {self.name}", holder.path)
            self._keeper, self._now = keeper, clock_of(keeper.system)
            self._told_at, self._checked_at = None, -PATIENCE
            self._reports.clear()
            self._has_warned = True
            return self._snapshot.state, self._last_generation + 2

    def release(self, keeper: Ref[BreakerServer]) -> None:
        """Be kept by nobody, if it still is by this one: what was forced stays, all else passes."""
        with self._lock:
            if self._keeper is not keeper:
                return
            self._keeper = None
            last = self._snapshot
            last.probes.clear()
            self._snapshot = last if last.state.startswith("forced") else UNKEPT
            self._reports.clear()

    def publish(self, keeper: Ref[BreakerServer], snapshot: Snapshot) -> None:
        """Show a new state; one whose actor was replaced meanwhile shows nothing."""
        with self._lock:
            if self._keeper is keeper:
                last = self._snapshot
                if last.probes is not snapshot.probes:
                    last.probes.clear()  # before the new one is seen: nobody takes a permit of a phase that is over
                self._snapshot = snapshot
                self._last_generation = snapshot.generation

    def begin_look(self) -> Callable[[], tuple[Ticket, float, Outcome]]:
        """What takes one report after another out of the queue, until an IndexError; called by its actor alone."""
        self._told_at = None  # first this: see `_tell`
        return self._reports.popleft


def clock_of(system: System) -> Callable[[], float]:
    """What tells its time; the usual one without a step between, for it is asked at every call."""
    return time.monotonic if type(system.clock) is MonotonicClock else system.clock.now


def _is_dead(ref: Ref[Any] | None) -> bool:
    return ref is not None and ref.reason is not None


def _take_out(breaker: Breaker, entries: Entry | None) -> tuple[Entry | None, Entry | None]:
    """The innermost entry of a breaker, and all others."""
    if entries is None or entries[0] is breaker:
        return entries, None if entries is None else entries[3]
    found, rest = _take_out(breaker, entries[3])
    return found, (*entries[:3], rest)
