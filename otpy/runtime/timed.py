"""Calls that are timed: `System.measure` puts these in the place of callers; where nobody measures, nobody pays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from otpy.runtime.awaited import AwaitedCaller
from otpy.runtime.caller import Caller

if TYPE_CHECKING:
    from otpy.runtime.ref import Ref
    from otpy.runtime.seat import Seat
    from otpy.runtime.station import Station

__all__ = ["BOUNDS", "TimedAwaitedCaller", "TimedCaller"]

BOUNDS = (0.0001, 0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 5.0)
"""Seconds between which calls are told apart: most take some ten millionths, and none longer than its time."""


class TimedCaller(Caller):
    """A thread that waits for a reply; how long, from the request until it is woken, is noted where it is woken."""

    __slots__ = ("begun",)

    def __init__(self, seat: Seat, target: Ref[Any], message: tuple[Any, ...]) -> None:
        """Made by the calling thread."""
        super().__init__(seat, target, message)
        self.begun = target.system.clock.now()

    def note(self) -> None:
        """It waits no longer."""
        _note(self.target, self.begun)

    def wake(self) -> None:
        """It has its reply, or an error."""
        self.note()
        super().wake()

    def give_up(self) -> bool:
        """Its time is over, unless the reply came first, which then has noted it."""
        has_given_up = super().give_up()
        if has_given_up:
            self.note()
        return has_given_up


class TimedAwaitedCaller(AwaitedCaller):
    """A task that waits for a reply."""

    __slots__ = ("begun",)

    def __init__(self, spot: Station, worker: Any, asker: Seat, target: Ref[Any], message: tuple[Any, ...]) -> None:
        """Made on the loop's thread."""
        super().__init__(spot, worker, asker, target, message)
        self.begun = target.system.clock.now()

    def wake(self) -> None:
        """As above."""
        _note(self.target, self.begun)
        super().wake()


def _note(target: Ref[Any], begun: float) -> None:
    latency = target.system.latency
    if latency is not None:
        latency.observe(target.system.clock.now() - begun)
