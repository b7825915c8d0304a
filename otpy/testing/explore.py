"""Seeded exploration: one scenario, run under a thousand orders of turns, each of which can be run again exactly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from otpy.runtime.seat import here, sit
from otpy.testing.errors import ExplorationError
from otpy.testing.pool import SeededPool
from otpy.testing.run import MAX_TURNS, Run
from otpy.testing.trace import Tracer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from otpy.testing.run import Invariant, Scenario
    from otpy.testing.trace import Step

__all__ = ["explore", "replay"]

TAIL = 200
"""Steps an exploration keeps of the present run."""


def explore(
    scenario: Scenario,
    seeds: int | Iterable[int] = 1_000,
    *,
    first: int = 0,
    invariants: Sequence[Invariant] = (),
    max_turns: int = MAX_TURNS,
) -> None:
    """Run a scenario under many orders of turns, each drawn from a seed, in virtual time.

    Each seed gets a fresh system: one turn with one message at a time, in an order that the seed decides. The scenario
    runs in the calling thread, and nothing else runs until it waits inside otpy: in a call, in `wait_idle`, in
    `clock.advance`, for a monitor, a start, a gate, a probe. While it waits and nobody has anything to do, time goes on
    to the next timer by itself, except in `wait_idle`, which then returns. The same seed always gives the same run.

    After the scenario the system is stopped, and nothing may be left: no actor, name, link, monitor, timer, waiting
    caller, turn or thread. Events reach those who attach to `system.events`, and no log.

    Args:
        scenario: called with the system; it fails by raising. Its clock is `system.clock`, a `VirtualClock`.
        seeds: how many, or which.
        first: the first of them, when `seeds` says how many.
        invariants: called with the system between any two turns; they look, and never call or wait. One that raises or
            returns False is broken.
        max_turns: turns and timers one run may take; one that takes more never comes to rest.

    Raises:
        ExplorationError: names the first seed that fails, and shows its last steps.
    """
    with _Stage(invariants, max_turns, TAIL) as stage:
        for seed in range(first, first + seeds) if isinstance(seeds, int) else seeds:
            stage.play(scenario, seed)


def replay(
    scenario: Scenario, seed: int, *, invariants: Sequence[Invariant] = (), max_turns: int = MAX_TURNS
) -> list[Step]:
    """Run a scenario under one seed exactly as `explore` did, its events logged as usual, and return all its steps.

    Raises:
        ExplorationError: it fails, as it did before.
    """
    with _Stage(invariants, max_turns, None) as stage:
        stage.play(scenario, seed)
        return stage.tracer.steps()


class _Stage:
    """Where runs take place, one after another, on the same threads."""

    def __init__(self, invariants: Sequence[Invariant], max_turns: int, tail: int | None) -> None:
        self.tracer = Tracer(tail)
        self._is_quiet = tail is not None
        self._invariants = invariants
        self._max_turns = max_turns
        self._outer = here()
        if self._outer.ref is not None or self._outer.pool is not None:
            message = "explore from a test, not from an actor or another scenario: it needs the thread for itself"
            raise RuntimeError(message)
        self._pool = SeededPool()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.retire()

    def play(self, scenario: Scenario, seed: int) -> None:
        """One run."""
        run = Run(self._pool, seed, self._invariants, self._max_turns, self.tracer, is_quiet=self._is_quiet)
        sit(run.driver)
        try:
            run.play(scenario)
        except Exception as error:
            raise ExplorationError(seed, error, self.tracer.steps()) from error
        except BaseException as error:
            error.add_note(f"in an exploration, seed {seed}")
            raise
        finally:
            run.clean_up()
            sit(self._outer)
            if not self._pool.is_clean():
                self._pool.retire()
                self._pool = SeededPool()
