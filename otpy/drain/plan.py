"""The phases of a drain, and when each must be over: one budget, of which each has its share. No clock is read here."""

from __future__ import annotations

from enum import StrEnum

from otpy.core.value import value

__all__ = ["ANSWERS", "SHARES", "Phase", "Plan"]


class Phase(StrEnum):
    """Where a drain is; in order."""

    QUIESCE = "quiesce"
    """Those with `handle_drain` are told: nothing more comes in from outside."""
    DRAIN = "drain"
    """What there is, is worked off."""
    CHECKPOINT = "checkpoint"
    """What `persist` returns is saved."""
    FLUSH = "flush"
    """Those with `handle_flush` get rid of what waits to be sent or written."""
    RELEASE = "release"
    """All is stopped in reverse start order; what is not finished goes back."""
    EXIT = "exit"
    """It is over."""


SHARES = {Phase.QUIESCE: 0.6, Phase.DRAIN: 0.6, Phase.CHECKPOINT: 0.8, Phase.FLUSH: 0.9, Phase.RELEASE: 1.0}
"""At which part of the budget each phase must be over; a phase that needs less leaves the rest to all that follow."""
ANSWERS = 0.5
"""Of the time for saving, what those have who are to be saved; the rest is for writing it."""


@value
class Plan:
    """When each phase must be over."""

    ends: tuple[tuple[Phase, float], ...]
    """The phases in order, and the time of the clock."""

    @classmethod
    def of(cls, now: float, budget: float) -> Plan:
        """A drain that begins now and has so many seconds."""
        return cls(tuple((phase, now + budget * share) for phase, share in SHARES.items()))

    @property
    def deadline(self) -> float:
        """When all must be over."""
        return self.ends[-1][1]

    def end(self, phase: Phase) -> float:
        """When a phase must be over."""
        return dict(self.ends).get(phase, self.deadline)

    def hastened(self, now: float, budget: float) -> Plan:
        """As somebody wants it that has come later: of two ends of a phase the earlier one holds."""
        other = Plan.of(now, budget)
        return Plan(tuple((phase, min(end, other.end(phase))) for phase, end in self.ends))
