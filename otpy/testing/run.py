"""One run of an exploration: one scenario under one seed, in a system of its own."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from otpy.core.reason import Killed
from otpy.errors import ActorExit
from otpy.runtime.death import kill
from otpy.testing.leftovers import leftovers
from otpy.testing.pool import Driver
from otpy.testing.system import SeededSystem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from otpy.testing.pool import SeededPool
    from otpy.testing.system import VirtualSystem
    from otpy.testing.trace import Tracer

    Scenario = Callable[[VirtualSystem], object]
    Invariant = Callable[[VirtualSystem], object]

__all__ = ["MAX_TURNS", "Run"]

MAX_TURNS = 100_000
"""Turns and timers one run may take, unless the test says otherwise: far more than any small scenario needs."""

LAST_TURNS = 10_000
"""Turns in which the actors of a failed run must let go."""


class Run:
    """Owns the run's system, its clock, and the seat of the scenario's thread."""

    def __init__(
        self,
        pool: SeededPool,
        seed: int,
        invariants: Sequence[Invariant],
        max_turns: int,
        tracer: Tracer,
        *,
        is_quiet: bool,
    ) -> None:
        """Prepare everything; nothing runs yet."""
        self._pool = pool
        self._invariants = invariants
        self._max_turns = self._turns_left = max_turns
        self._tracer = tracer
        self._system = SeededSystem(pool, seed, is_quiet=is_quiet)
        self._is_done = False
        self.driver = Driver(pool, self._system.timers)
        tracer.begin(self._system.clock.now)
        self._system.events.attach(tracer.note_event)
        pool.begin(
            self.driver, seed, check=self._check, step=self._step, note=tracer.note, suspended=self._system.suspended
        )

    def play(self, scenario: Scenario) -> None:
        """Run the scenario, stop the system, and see what is left; in the thread that sits on `driver`."""
        system = self._system
        scenario(system)
        self._raise_failure()
        late = system.stop()
        system.wait_idle()
        self._raise_failure()
        left = [*map(str, late), *leftovers(system)]
        if left:
            message = f"left behind: {'; '.join(left)}"
            raise AssertionError(message)
        self._is_done = True
        system.end_loop()

    def clean_up(self) -> None:
        """After a failure: end what still runs, as far as it can be ended."""
        if self._is_done:
            return
        system = self._system
        with system.lock:
            system.stopped = True
        if self.driver.tok:
            self._invariants, self._turns_left = (), LAST_TURNS
            self._pool.failure = None
            for ref in system.living():
                kill(ref)
            for slot in self._pool.waiting():
                slot.break_off(ActorExit(Killed()))
            with suppress(Exception):
                system.wait_idle()
                system.cancel_tasks()
                system.wait_idle()
        system.close()
        system.end_loop()

    def _raise_failure(self) -> None:
        """The scenario may have caught what ended the run."""
        if self._pool.failure is not None:
            raise self._pool.failure

    def _check(self) -> None:
        self._count()
        for invariant in self._invariants:
            if invariant(self._system) is False:
                message = f"invariant broken: {getattr(invariant, '__name__', invariant)}"
                raise AssertionError(message)

    def _step(self) -> bool:
        try:
            self._count()
        except RuntimeError as error:
            self._pool.fail(error)
            return bool(self._pool.queue)
        if not self._system.clock.step():
            return False
        self._tracer.note_time()
        return True

    def _count(self) -> None:
        self._turns_left -= 1
        if self._turns_left < 0:
            message = f"not at rest after {self._max_turns} turns and timers: does something go on for ever?"
            raise RuntimeError(message)
