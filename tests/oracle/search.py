"""Looks for a scenario that the two sides play differently: hypothesis draws them, and shrinks what it finds."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING
from unittest import mock

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.internal.conjecture.engine import ConjectureRunner

from .beam import BeamError
from .compare import DifferentError, compare
from .generator import scenarios
from .places import POOL

if TYPE_CHECKING:
    from collections.abc import Callable

    from .beam import Beam
    from .families import Family
    from .model import Scenario
    from .places import Place

__all__ = ["Search"]


class Search:
    """One search, the same for the same seed."""

    def __init__(
        self, rounds: int, number: int, families: tuple[Family, ...] | None = None, place: Place = POOL
    ) -> None:
        """So many scenarios, drawn from a seed, with workers in a place."""
        self._rounds = rounds
        self._number = number
        self._families = place.families if families is None else families
        self._place = place
        self.played = 0
        """Scenarios played so far."""
        self.stuck: BeamError | None = None
        """The node gave no answer."""
        self.found: int | None = None
        """The first scenario that differed; those after it were tries to make it simpler."""

    def run(self, beam: Beam, *, shrinks: bool | None = None, tell: Callable[[int], object] = lambda _: None) -> None:
        """Play them; `tell` is told how many were played.

        Args:
            beam: OTP's side.
            shrinks: whether what differs is made simpler; unless given, where a scenario always does the same.
            tell: called after each.

        Raises:
            DifferentError: the simplest scenario that differs.
            BeamError: the node gave no answer to one.
        """
        shrinks = self._place.is_certain if shrinks is None else shrinks
        phases = [Phase.generate, Phase.shrink] if shrinks else [Phase.generate]

        @seed(self._number)
        @settings(
            max_examples=self._rounds,
            phases=phases,
            database=None,
            deadline=None,
            derandomize=False,
            report_multiple_bugs=False,
            suppress_health_check=list(HealthCheck),
        )
        @given(scenarios(self._families))
        def play(scenario: Scenario) -> None:
            if self.stuck is not None:
                return  # there is nothing to make simpler: each try would take its whole patience
            self.played += 1
            tell(self.played)
            try:
                compare(scenario, beam, play_here)
            except BeamError as error:
                self.stuck = error
            except DifferentError:
                self.found = self.found or self.played
                raise

        with _all_new(), self._place.open() as play_here:
            play()
        if self.stuck is not None:
            raise self.stuck


def _all_new() -> AbstractContextManager[object]:
    """Hypothesis makes most examples from the one before, by repeating a part of it; these are all to be new ones.

    With it a wrong strategy takes three times as many rounds to be found. Only the search's worth is at stake, so where
    hypothesis has no such step any more nothing happens.
    """
    if hasattr(ConjectureRunner, "generate_mutations_from"):
        return mock.patch.object(ConjectureRunner, "generate_mutations_from", return_value=None)
    return nullcontext()
