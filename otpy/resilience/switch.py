"""What stands between the callers of a breaker and its actor: the snapshot they read, the queue that it empties.

A call looks at the snapshot that the actor has published, in its own thread and without a lock; what becomes of it
goes into a queue that the actor empties. So nobody waits for anybody, and one alone decides what it all means.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, Any

from otpy.actors.keeping import refuse_second
from otpy.core.reason import NoProc
from otpy.errors import NoProcError
from otpy.resilience.errors import BreakerOpenError
from otpy.resilience.permit import LENT
from otpy.resilience.server import BreakerServer
from otpy.resilience.snapshot import OK, UNKEPT, Probe, Snapshot, decide
from otpy.runtime.seat import here
from otpy.runtime.timers import MonotonicClock

if TYPE_CHECKING:
    from collections.abc import Callable

    from otpy.resilience.cause import Cause
    from otpy.resilience.snapshot import Outcome, State
    from otpy.runtime.ref import Ref
    from otpy.runtime.system import System

__all__ = ["Switch", "Ticket"]

Ticket = Snapshot | Probe
Report = tuple[Ticket, float, "Outcome", "Cause | None"]

log = logging.getLogger("otpy")

lent_here = LENT.get  # looked up once: it is asked at every call

BATCH = 256
"""Successes that may wait until the actor is told; a failure and a probe are told at once."""
MOST_WAITING = 10_000
"""Reports that may wait for an actor that does not come to them, as when it is suspended; then the oldest go."""
PATIENCE = 1.0
"""Seconds after which the actor is told again: what told it before may have been cut off in the middle."""


class Switch:
    """A breaker without its manners: how it stands, who keeps it, what was reported. Any thread may use it."""

    def __init__(self, name: str) -> None:
        """Be kept by nobody."""
        self.name = name
        self._snapshot = UNKEPT
        self._reports: deque[Report] = deque(maxlen=MOST_WAITING)
        self._now: Callable[[], float] = time.monotonic
        self._lock = threading.RLock()  # guards who keeps it, and `_rejected`
        self._keeper: Ref[BreakerServer] | None = None
        self._told_at: float | None = None
        self._rejected = 0
        self._checked_at = 0.0
        self._has_warned = False
        self._last_generation = 0

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

    # What calls go through: the hot path.

    def enter(self) -> Ticket:
        """Let a call begin, or raise BreakerOpenError."""
        snapshot = self._snapshot
        return snapshot if snapshot.passes else self._ask(snapshot)

    def report(self, ticket: Ticket, outcome: Outcome, cause: Cause | None = None) -> None:
        """Put an outcome where the actor finds it, with what a failure is by."""
        if not ticket.counts:
            return
        matters = outcome != OK or ticket.__class__ is Probe
        if matters and _is_dead(here().ref):
            return  # a killed actor whose code goes on: its end has been heard of, and says more
        if (lent := lent_here()) and (permit := lent.get(self)) is not None and not permit.hear(ticket, outcome):
            return
        reports = self._reports
        reports.append((ticket, self._now(), outcome, cause))
        # Successes wait: none of them changes anything but what the next failure means.
        if matters or len(reports) >= BATCH:
            self._tell()

    def now(self) -> float:
        """The time of the system that keeps it."""
        return self._now()

    def _ask(self, snapshot: Snapshot) -> Ticket:
        """The rest of `enter`, where not every call may pass."""
        keeper = self._keeper
        if keeper is not None and not keeper.is_alive():
            self._abandon(keeper)
            snapshot = self._snapshot
            if snapshot.passes:
                return snapshot
        lent = lent_here() or {}
        if snapshot is UNKEPT:
            if self not in lent:  # else its actor counts the whole of what this is in, where that was let begin
                self._warn()
            return snapshot
        seat = here()
        seat.fence()
        permit = lent.get(self)
        if permit is not None and (ticket := permit.carry(snapshot)) is not None:
            return ticket
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
            refuse_second(self._keeper, keeper, f"breaker {self.name}")
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

    def begin_look(self) -> Callable[[], Report]:
        """What takes one report after another out of the queue, until an IndexError; called by its actor alone."""
        self._told_at = None  # first this: see `_tell`
        return self._reports.popleft


def clock_of(system: System) -> Callable[[], float]:
    """What tells its time; the usual one without a step between, for it is asked at every call."""
    return time.monotonic if type(system.clock) is MonotonicClock else system.clock.now


def _is_dead(ref: Ref[Any] | None) -> bool:
    return ref is not None and ref.reason is not None
